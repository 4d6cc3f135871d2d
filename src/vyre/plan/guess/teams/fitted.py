"""The constants of the guess for reductions, by GPU; what it lost on kernels left out.

Written by `python scripts/fit_teams.py` from benchmarks/data/spaces-h200-reductions.json.gz.
`model.Constants` says what each one is.
"""

from __future__ import annotations

from typing import Any

DEVICES: tuple[dict[str, Any], ...] = (
    {
        "model": "NVIDIA H200",
        "units": 132,
        "unit_threads": 2048,
        "missed": (0.170, 0.05),
        "constants": {
            "launch": 1095.0,
            "block": 12.68,
            "rest": 8.917,
            "free": 14.54,
            "lonely": 11.72,
            "begun": 167.7,
            "long": 65.25,
            "far": 0.3106,
            "missing": 2.925,
            "computed": 3.919,
            "spread": 0.8057,
            "agreed": 56.72,
            "met": 18.21,
            "meeting": 52.51,
            "walk": 33.06,
            "ordered": 39.49,
            "placed": 71.92,
            "start": 58.08,
            "warp": 3.325,
            "turn": 1.139,
            "operation": 0.1288,
            "function": 2.22,
            "inner": 10.46,
            "load": 0.1756,
            "agreeing": 6.494,
            "looking": 0.6455,
            "walking": 12.27,
            "team": 3.389,
            "line": 0.6092,
            "fetched": 5.005e-05,
            "request": 0.005984,
            "kept": 199500.0,
            "memory": 0.0002801,
            "cache": 58560000.0,
            "cliff": 5.892,
            "room": 78090000.0,
            "group": 0.6475,
            "handed": 1.617,
            "last_wave": 0.4852,
            "uneven": 0.9366,
            "arrival": 1052.0,
            "folded": 36.19,
            "folded_met": 41.6,
            "relaunch": 1500.0,
            "overlap": 2.395,
            "overlap_memory": 2.147,
        },
    },
)
