"""The constants of the guess for processors, and how far it was off on kernels left out.

Written by `python scripts/fit_lanes.py` from benchmarks/data/spaces-cpu1.json.gz, benchmarks/data/spaces-cpu12.json.gz.
`model.Constants` says what each one is.
"""

from __future__ import annotations

RISK = 0.205

CONSTANTS: dict[str, float] = {
    "launch": 8712.0,
    "wake": 2661.0,
    "operation": 0.1442,
    "heavy": 3.105,
    "function": 51.98,
    "conversion": 1.544,
    "check": 0.3482,
    "scalar": 0.5743,
    "scalar_function": 0.9931,
    "skipped": 0.4416,
    "waits": 1.378,
    "narrow": 0.3246,
    "load": 0.1509,
    "store": 0.5201,
    "broadcast": 0.2407,
    "single": 0.1029,
    "gather": 0.2392,
    "small": 0.4923,
    "scatter": 0.5507,
    "split": 0.1319,
    "spill": 0.07565,
    "step": 0.07647,
    "round": 0.2113,
    "chained": 0.6788,
    "series": 8.016,
    "added": 0.9258,
    "staged": 0.5491,
    "near": 0.3832,
    "far": 1.62,
    "far_shared": 0.03186,
    "memory": 0.9613,
    "cache": 91960000.0,
    "count": 0.2495,
    "waiting": 0.04553,
    "counted": 0.4711,
    "crowded": 1.025,
    "masked": 0.4723,
    "atomic": 6.0,
    "edge": 0.3343,
    "tile": 29.39,
    "piece": 79.73,
    "late": 0.4448,
    "uneven": 0.2681,
    "clear": 1.06,
    "flush": 4.563,
    "overlap": 0.6776,
    "overlap_far": 0.8747,
}
