"""The constants of the guess for processors, and what it may lose on kernels left out.

Written by `python scripts/fit_lanes.py` from:
    benchmarks/data/spaces-cpu1.json.gz
    benchmarks/data/spaces-cpu12.json.gz
`model.Constants` says what each one is.
"""

from __future__ import annotations

MISSED = (0.176, 0.68)  # as `Missed` has it

CONSTANTS: dict[str, float] = {
    "launch": 8470.0,
    "wake": 2734.0,
    "operation": 0.1684,
    "heavy": 4.264,
    "function": 43.09,
    "conversion": 1.498,
    "check": 0.3299,
    "scalar": 0.5015,
    "scalar_function": 0.9709,
    "skipped": 0.431,
    "waits": 7.801,
    "narrow": 0.3753,
    "load": 0.15,
    "store": 0.4645,
    "broadcast": 0.1809,
    "single": 0.09695,
    "gather": 0.2307,
    "small": 0.4897,
    "scatter": 0.5463,
    "split": 0.1481,
    "spill": 0.07279,
    "step": 0.07227,
    "round": 0.2257,
    "chained": 0.5668,
    "series": 7.569,
    "added": 1.006,
    "staged": 0.5473,
    "near": 0.392,
    "far": 1.606,
    "far_shared": 0.03126,
    "memory": 0.9385,
    "cache": 96500000.0,
    "count": 0.2493,
    "waiting": 0.04374,
    "counted": 0.4714,
    "crowded": 1.013,
    "masked": 0.4612,
    "atomic": 6.0,
    "edge": 0.5767,
    "tile": 26.35,
    "piece": 83.4,
    "late": 0.4435,
    "uneven": 0.2942,
    "clear": 1.057,
    "flush": 4.691,
    "overlap": 0.6366,
    "overlap_far": 0.8835,
}
