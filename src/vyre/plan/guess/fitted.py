"""The constants of the guess, by device, and how far it was off on kernels left out.

Written by `python scripts/fit_guess.py` from benchmarks/data/spaces-h200.json.gz.
`model.Constants` says what each one is.
"""

from __future__ import annotations

from typing import Any

DEVICES: tuple[dict[str, Any], ...] = (
    {
        "model": "NVIDIA H200",
        "units": 132,
        "unit_threads": 2048,
        "missed": (0.13, 0.43),
        "spread": 0.110,
        "constants": {
            "launch": 856.5,
            "operation": 2.746,
            "heavy": 16.97,
            "function": 10.46,
            "conversion": 24.49,
            "wide": 1.015,
            "part": 0.0518,
            "load": 7.612,
            "store": 29.5,
            "address": 1.686,
            "check": 0.3965,
            "check_run": 7.784,
            "item": 1.718,
            "thread": 3.431,
            "issue": 0.001816,
            "line_loaded": 0.3686,
            "line_stored": 1.239,
            "fetched": 6.157e-05,
            "walked": 1.621e-05,
            "stored": 4.257e-05,
            "memory": 0.0001648,
            "scattered": 0.01438,
            "torn": 0.1841,
            "kept": 1037000.0,
            "refetched": 0.8896,
            "cache": 30230000.0,
            "near_wait": 39.42,
            "far_wait": 128.7,
            "more_inputs": 0.03739,
            "start": 40.91,
            "warp": 6.781,
            "chained": 4.024,
            "round": 14.77,
            "own": 1.178,
            "one_by_one": 1.198,
            "group": 0.5588,
            "first": 8.611,
            "uneven": 0.6881,
            "last_wave": 0.5361,
            "last_group": 0.546,
            "drain": 0.07295,
            "near_atomic": 0.01433,
            "crowded": 1.882,
            "clear": 0.3476,
            "far_add": 0.01151,
            "same_add": 0.3983,
            "barrier": 34.16,
            "atomic": 0.0994,
            "register": 1.1,
            "registers": 0.0,
            "overlap": 2.247,
            "overlap_memory": 1.333,
            "overlap_groups": 3.39,
        },
    },
)
