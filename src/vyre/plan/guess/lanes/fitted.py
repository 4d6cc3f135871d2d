"""The constants of the guess for processors, and how far it was off on kernels left out.

Written by `python scripts/fit_lanes.py` from benchmarks/data/spaces-cpu1.json.gz, benchmarks/data/spaces-cpu12.json.gz.
`model.Constants` says what each one is.
"""

from __future__ import annotations

RISK = 0.425

CONSTANTS: dict[str, float] = {
    "launch": 10140.0,
    "wake": 2869.0,
    "operation": 0.2254,
    "heavy": 2.332,
    "function": 23.32,
    "conversion": 1.534,
    "check": 0.9237,
    "scalar": 0.2156,
    "scalar_function": 1.307,
    "skipped": 0.3636,
    "waits": 0.02834,
    "load": 0.05964,
    "store": 0.8867,
    "broadcast": 0.03883,
    "single": 0.04626,
    "gather": 0.142,
    "small": 0.3182,
    "scatter": 0.7358,
    "split": 0.0983,
    "spill": 0.2,
    "step": 0.09194,
    "round": 0.1042,
    "chained": 0.4114,
    "added": 0.3909,
    "staged": 0.5333,
    "near": 0.133,
    "far": 0.09163,
    "far_shared": 0.0368,
    "count": 8.74,
    "crowded": 7.434,
    "waiting": 0.04029,
    "atomic": 6.0,
    "edge": 0.4755,
    "tile": 38.81,
    "piece": 74.44,
    "late": 0.3658,
    "uneven": 0.3599,
    "clear": 1.033,
    "flush": 88.86,
    "overlap": 1.44,
    "overlap_far": 0.6294,
}
