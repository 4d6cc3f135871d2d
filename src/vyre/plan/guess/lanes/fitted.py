"""The constants of the guess for processors, and how far it was off on kernels left out.

Written by `python scripts/fit_lanes.py` from x.
`model.Constants` says what each one is.
"""

from __future__ import annotations

RISK = 0.193

CONSTANTS: dict[str, float] = {
    "launch": 9082.0,
    "wake": 2493.0,
    "operation": 0.1994,
    "heavy": 1.517,
    "function": 34.55,
    "conversion": 0.9987,
    "check": 0.2227,
    "scalar": 0.3742,
    "scalar_function": 1.061,
    "skipped": 0.4115,
    "waits": 0.04821,
    "load": 0.04086,
    "store": 0.5253,
    "broadcast": 0.05788,
    "single": 0.0904,
    "gather": 0.3719,
    "small": 0.2754,
    "scatter": 1.761,
    "split": 0.05504,
    "spill": 0.2,
    "step": 0.02769,
    "round": 0.1483,
    "chained": 0.3683,
    "added": 0.7916,
    "staged": 0.4642,
    "near": 0.3085,
    "far": 1.243,
    "far_shared": 0.06632,
    "count": 0.293,
    "waiting": 0.01285,
    "counted": 0.5259,
    "crowded": 0.5729,
    "masked": 0.4109,
    "atomic": 6.0,
    "edge": 0.4139,
    "tile": 31.65,
    "piece": 91.87,
    "late": 0.5323,
    "uneven": 0.187,
    "clear": 1.099,
    "flush": 3.963,
    "overlap": 0.5318,
    "overlap_far": 0.2964,
}
