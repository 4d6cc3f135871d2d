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
        "missed": (0.228, 0.41),
        "constants": {
            "launch": 829.7,
            "block": 11.28,
            "block_some": 19.36,
            "block_all": 10.42,
            "rest": 24.96,
            "rest_some": 40.77,
            "free": 15.92,
            "free_some": 21.38,
            "single": 106.3,
            "take": 3.475,
            "keep": 1.847,
            "lonely": 11.72,
            "begun": 189.7,
            "long": 79.36,
            "far": 0.27,
            "missing": 2.248,
            "computed": 2.809,
            "spread": 0.6154,
            "agreed": 44.6,
            "met": 12.65,
            "meeting": 113.7,
            "walk": 26.9,
            "ordered": 28.55,
            "placed": 9.813,
            "start": 47.46,
            "warp": 4.543,
            "turn": 0.9035,
            "operation": 0.1196,
            "function": 1.549,
            "inner": 8.806,
            "load": 0.2155,
            "agreeing": 6.314,
            "looking": 1.253,
            "walking": 3.554,
            "team": 2.453,
            "line": 0.522,
            "fetched": 1.966e-05,
            "request": 0.005464,
            "kept": 203200.0,
            "memory": 0.0002448,
            "cache": 19850000.0,
            "cliff": 2.245,
            "room": 63670000.0,
            "group": 0.5792,
            "handed": 1.56,
            "last_wave": 0.7826,
            "uneven": 1.213,
            "arrival": 1062.0,
            "folded": 40.19,
            "folded_met": 10.45,
            "relaunch": 1500.0,
            "overlap": 2.004,
            "overlap_memory": 1.012,
        },
    },
)
