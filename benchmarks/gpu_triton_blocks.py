"""What Triton's autotuner chooses from for each kernel of the GPU suite."""

from __future__ import annotations

from collections.abc import Sequence

ROW = [
    {"BLOCK": block, "warps": warps}
    for block, warps in (
        *((128, 2), (256, 2), (256, 4), (512, 2), (512, 4), (1024, 2)),
        *((1024, 4), (1024, 8), (2048, 4), (2048, 8), (4096, 4), (4096, 8)),
    )
]
TILES = [
    {"BLOCK": block, "ROWS": rows, "warps": warps}
    for block, rows, warps in (
        *((128, 1, 4), (256, 1, 4), (512, 1, 4), (1024, 1, 4), (128, 4, 4), (256, 2, 4)),
        *((256, 4, 4), (256, 4, 8), (512, 2, 4), (512, 4, 8), (1024, 2, 8), (64, 8, 4)),
    )
]
TILED = ("stencil5", "filter3", "transpose", "row_sums")
"""Kernels over rows and columns."""

CONFIGURATIONS: dict[str, Sequence[dict[str, int]]] = {
    "stencil5": TILES,
    "filter3": TILES,
    "transpose": [
        {"BLOCK": block, "ROWS": rows, "warps": warps}
        for block, rows, warps in (
            *((32, 32, 4), (32, 32, 8), (64, 32, 4), (32, 64, 4), (64, 64, 4), (64, 64, 8)),
            *((128, 32, 4), (32, 128, 4), (128, 64, 8), (128, 128, 8)),
        )
    ],
    "row_sums": [
        {"BLOCK": block, "ROWS": rows, "warps": warps}
        for block, rows, warps in (
            *((1024, 1, 4), (1024, 1, 8), (2048, 1, 8), (512, 2, 4), (1024, 2, 8), (512, 4, 4)),
            *((256, 4, 4), (256, 8, 4), (128, 8, 4), (128, 16, 4)),
        )
    ],
    "product": [
        {"BLOCK": block, "ROWS": rows, "DEPTH": depth, "warps": warps}
        for block, rows, depth, warps in (
            *((64, 64, 16, 4), (64, 64, 32, 4), (128, 64, 16, 4), (128, 64, 32, 8)),
            *((128, 128, 16, 8), (128, 128, 32, 8), (256, 128, 16, 8)),
        )
    ],
    "gray_u8": [
        {"BLOCK": block, "warps": warps}
        for block, warps in (
            *((512, 4), (1024, 2), (1024, 4), (2048, 4), (4096, 4), (4096, 8), (8192, 4)),
            *((8192, 8), (16384, 8), (16384, 16)),
        )
    ],
    "histogram": [
        {"BLOCK": block, "ROUNDS": rounds, "warps": warps}
        for block, rounds, warps in (
            *((1024, 1, 4), (1024, 4, 4), (1024, 16, 4), (2048, 1, 4), (2048, 4, 4), (2048, 16, 4)),
            *(
                (2048, 16, 8),
                (4096, 1, 8),
                (4096, 4, 8),
                (4096, 16, 8),
                (4096, 16, 4),
                (8192, 8, 8),
            ),
        )
    ],
    "mandelbrot": [
        {"BLOCK": block, "STEP": step, "warps": warps}
        for block, warps in ((32, 1), (64, 1), (64, 2), (128, 2), (128, 4), (256, 4))
        for step in (5, 10)
    ],
    "nbody": [
        {"BLOCK": block, "OTHERS": others, "warps": warps}
        for block, others, warps in (
            *((16, 64, 2), (32, 32, 2), (32, 32, 4), (32, 64, 4), (64, 16, 4), (64, 32, 4)),
            *((64, 64, 8), (128, 8, 4), (128, 16, 4), (128, 32, 8), (256, 8, 4), (256, 16, 8)),
        )
    ],
}
