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
        "missed": (0.298, 1.00),
        "constants": {
            "launch": 871.7,
            "block": 12.46,
            "block_some": 19.91,
            "block_all": 10.83,
            "rest": 23.87,
            "rest_some": 40.33,
            "free": 17.42,
            "free_some": 24.68,
            "single": 107.6,
            "take": 3.304,
            "keep": 1.721,
            "lonely": 2.259,
            "begun": 5.084,
            "long": 83.32,
            "far": 0.1678,
            "missing": 1.83,
            "computed": 1.735,
            "spread": 0.3107,
            "agreed": 94.7,
            "met": 12.15,
            "meeting": 92.08,
            "walk": 22.63,
            "ordered": 26.94,
            "placed": 8.844,
            "start": 38.19,
            "warp": 3.381,
            "turn": 0.6505,
            "operation": 0.07864,
            "function": 1.464,
            "inner": 0.8339,
            "load": 0.3886,
            "agreeing": 4.285,
            "looking": 1.151,
            "walking": 4.965,
            "team": 2.479,
            "line": 0.4005,
            "fetched": 9.53e-06,
            "request": 0.004397,
            "kept": 275300.0,
            "memory": 0.0002307,
            "cache": 21570000.0,
            "cliff": 2.207,
            "room": 67500000.0,
            "group": 0.5802,
            "handed": 1.727,
            "last_wave": 0.604,
            "uneven": 1.396,
            "arrival": 1131.0,
            "folded": 38.24,
            "folded_met": 6.575,
            "relaunch": 1500.0,
            "overlap": 2.643,
            "overlap_memory": 0.5666,
        },
    },
)
