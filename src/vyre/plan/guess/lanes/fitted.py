"""The constants of the guess for processors, and what it may lose on kernels left out.

Written by `python scripts/fit_lanes.py` from:
    benchmarks/data/spaces-cpu1.json.gz
    benchmarks/data/spaces-cpu12.json.gz
`model.Constants` says what each one is.
"""

from __future__ import annotations

RISK = 0.205

CONSTANTS: dict[str, float] = {
    "launch": 8651.0,
    "wake": 2637.0,
    "operation": 0.1412,
    "heavy": 2.967,
    "function": 51.82,
    "conversion": 1.577,
    "check": 0.3562,
    "scalar": 0.5663,
    "scalar_function": 0.9692,
    "skipped": 0.4351,
    "waits": 1.413,
    "narrow": 0.3498,
    "load": 0.166,
    "store": 0.4612,
    "broadcast": 0.1911,
    "single": 0.1008,
    "gather": 0.2301,
    "small": 0.4804,
    "scatter": 0.5476,
    "split": 0.1547,
    "spill": 0.08469,
    "step": 0.0721,
    "round": 0.2319,
    "chained": 0.635,
    "series": 7.601,
    "added": 0.9989,
    "staged": 0.5472,
    "near": 0.396,
    "far": 1.633,
    "far_shared": 0.03141,
    "memory": 0.9393,
    "cache": 99160000.0,
    "count": 0.2503,
    "waiting": 0.0437,
    "counted": 0.4709,
    "crowded": 1.014,
    "masked": 0.4624,
    "atomic": 6.0,
    "edge": 0.5779,
    "tile": 26.06,
    "piece": 81.81,
    "late": 0.4515,
    "uneven": 0.2899,
    "clear": 1.057,
    "flush": 4.714,
    "overlap": 0.6533,
    "overlap_far": 0.8805,
}
