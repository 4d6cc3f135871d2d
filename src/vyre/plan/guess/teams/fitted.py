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
        "missed": (0.226, 0.46),
        "constants": {
            "launch": 829.6,
            "block": 11.27,
            "block_some": 19.35,
            "block_all": 10.42,
            "rest": 24.95,
            "rest_some": 40.76,
            "free": 15.92,
            "free_some": 21.38,
            "single": 106.2,
            "take": 3.467,
            "keep": 1.847,
            "lonely": 11.72,
            "begun": 189.7,
            "long": 79.3,
            "far": 0.2701,
            "missing": 2.248,
            "computed": 2.809,
            "spread": 0.6162,
            "agreed": 44.62,
            "met": 12.65,
            "meeting": 113.7,
            "walk": 26.92,
            "ordered": 28.55,
            "placed": 9.812,
            "start": 47.46,
            "warp": 4.543,
            "turn": 0.9029,
            "operation": 0.1196,
            "function": 1.548,
            "inner": 8.806,
            "load": 0.2157,
            "agreeing": 6.313,
            "looking": 1.254,
            "walking": 3.55,
            "team": 2.458,
            "line": 0.522,
            "fetched": 1.966e-05,
            "request": 0.005464,
            "kept": 203400.0,
            "memory": 0.0002447,
            "cache": 19860000.0,
            "cliff": 2.244,
            "room": 63670000.0,
            "group": 0.5792,
            "handed": 1.56,
            "last_wave": 0.7829,
            "uneven": 1.213,
            "arrival": 1062.0,
            "folded": 40.19,
            "folded_met": 10.47,
            "relaunch": 1501.0,
            "overlap": 2.004,
            "overlap_memory": 1.012,
        },
    },
)
