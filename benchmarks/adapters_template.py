"""What a template's calls come to: its choice against the best there is, results, and the host.

A product of matrices in tiles, and a sum of neighbours; 500 calls each, spread over half a
minute. The settled choice is timed beside every other in turns; 1.02 of the best is allowed. With
--dry a few calls of small ones, on the first OpenCL device, to see that the script runs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import vyre
from vyre import settings
from vyre.adapter.template.templated import Template
from vyre.model import Knobs
from vyre.testing import provenance

ALLOWED = 1.02

SECONDS = 28
"""Over which the calls of a template are spread: its configs are compiled beside them."""

WORDS = {
    "cuda": {
        "KERNEL": 'extern "C" __global__',
        "GLOBAL": "",
        "LOCAL": "__shared__",
        "BARRIER": "__syncthreads()",
        "LX": "threadIdx.x",
        "LY": "threadIdx.y",
        "GX": "blockIdx.x",
        "GY": "blockIdx.y",
    },
    "opencl": {
        "KERNEL": "__kernel",
        "GLOBAL": "__global",
        "LOCAL": "__local",
        "BARRIER": "barrier(CLK_LOCAL_MEM_FENCE)",
        "LX": "get_local_id(0)",
        "LY": "get_local_id(1)",
        "GX": "get_group_id(0)",
        "GY": "get_group_id(1)",
    },
}

PRODUCT = """
KERNEL void product(GLOBAL float *c, GLOBAL const float *a, GLOBAL const float *b, int n) {
    LOCAL float left[block_size_y * rows][depth], right[depth][block_size_x];
    const int x = GX * block_size_x + LX, top = GY * block_size_y * rows;
    const int lane = LY * block_size_x + LX, lanes = block_size_x * block_size_y;
    float sum[rows];
    for (int r = 0; r < rows; r++) sum[r] = 0;
    for (int k = 0; k < n; k += depth) {
        for (int i = lane; i < block_size_y * rows * depth; i += lanes)
            left[i / depth][i % depth] = a[(top + i / depth) * n + k + i % depth];
        for (int i = lane; i < depth * block_size_x; i += lanes)
            right[i / block_size_x][i % block_size_x] =
                b[(k + i / block_size_x) * n + GX * block_size_x + i % block_size_x];
        BARRIER;
        for (int j = 0; j < depth; j++)
            for (int r = 0; r < rows; r++)
                sum[r] += left[LY + r * block_size_y][j] * right[j][LX];
        BARRIER;
    }
    for (int r = 0; r < rows; r++) c[(top + LY + r * block_size_y) * n + x] = sum[r];
}
"""

NEIGHBOURS = """
KERNEL void neighbours(GLOBAL float *c, GLOBAL const float *a, int n) {
    const int first = GX * block_size_x * items + LX;
    for (int k = 0; k < items; k++) {
        const int i = first + k * block_size_x;
        if (i < n) c[i] = a[i > 0 ? i - 1 : 0] + a[i] + a[i < n - 1 ? i + 1 : i];
    }
}
"""


def spoken(text: str, language: str) -> str:
    for word, said in WORDS[language].items():
        text = text.replace(word, said)
    return text


def cells(device: vyre.Device, language: str, *, dry: bool) -> list[dict[str, Any]]:
    """Each template, and the arguments of its calls."""
    n, long = (64, 4096) if dry else (1024, 1 << 24)
    random = np.random.default_rng(0)
    square = [device.array(random.random((n, n), dtype=np.float32)) for _ in range(3)]
    lines = [device.array(random.random(long, dtype=np.float32)) for _ in range(2)]
    product = vyre.template(
        spoken(PRODUCT, language),
        "product",
        params={
            "block_size_x": [16] if dry else [16, 32, 64],
            "block_size_y": [4] if dry else [4, 8, 16],
            "rows": [1, 2] if dry else [1, 2, 4],
            "depth": [16],
        },
        restrictions="block_size_x * block_size_y <= 1024",
        grid_div_x="block_size_x",
        grid_div_y=("block_size_y", "rows"),
        language=language,
    )
    neighbours = vyre.template(
        spoken(NEIGHBOURS, language),
        "neighbours",
        params={
            "block_size_x": [32, 64] if dry else [64, 128, 256, 512],
            "items": [1] if dry else [1, 2, 4, 8],
        },
        grid_div_x=("block_size_x", "items"),
        language=language,
    )
    return [
        {"template": product, "arguments": (*square, n), "size": (n, n)},
        {"template": neighbours, "arguments": (*lines, long), "size": long},
    ]


def measured(
    cell: dict[str, Any], device: vyre.Device, *, calls: int, blocks: int, pause_s: float
) -> dict[str, Any]:
    """The calls of one template, and then every configuration beside its choice."""
    template: Template = cell["template"]
    arguments, size = cell["arguments"], cell["size"]
    template(*arguments, size=size)
    first = np.asarray(arguments[0])
    differed, began = 0, time.perf_counter()
    for number in range(calls):
        template(*arguments, size=size)
        if number % 25 == 0:
            differed += not np.array_equal(np.asarray(arguments[0]), first)
        time.sleep(pause_s)
    spent_s = time.perf_counter() - began
    (entry,) = template._calls._entries.values()
    choice = entry.chosen
    bound = template._known(arguments, size, None)[1]
    bound = bound._replace(values=tuple(getattr(one, "argument", one) for one in bound.held))
    starts, wrong = {}, {}
    for knobs in template.space.configs:
        try:
            starts[knobs] = entry.made.make(knobs)
            starts[knobs](bound, 0)
        except vyre.VyreError as error:
            wrong[knobs.text] = error.problem
            starts.pop(knobs, None)
            continue
        differed += not np.array_equal(np.asarray(arguments[0]), first)
    times: dict[Knobs, list[float]] = {knobs: [] for knobs in starts}
    for _ in range(blocks):
        for knobs, start in starts.items():
            ticket = entry.place.time(0, lambda start=start: start(bound, 0))
            ticket.wait()
            times[knobs].append(float(ticket.elapsed_ns()))
    device.synchronize()
    middle = {knobs: median(found) for knobs, found in times.items()}
    best = min(middle, key=lambda knobs: middle[knobs])
    return {
        "template": template.name,
        "configs": len(template.space.configs),
        "failed": wrong,
        "calls": calls,
        "seconds": round(spent_s, 2),
        "choice": choice.text,
        "best": best.text,
        "default_us": round(middle[template.space.configs[0]] / 1e3, 2),
        "choice_us": round(middle[choice] / 1e3, 2),
        "best_us": round(middle[best] / 1e3, 2),
        "ratio": round(middle[choice] / middle[best], 4),
        "differed": differed,
    }


def host_us(cell: dict[str, Any], device: vyre.Device, count: int) -> tuple[float, float]:
    """What a call takes of the host, as long as the device keeps up; and its launch alone."""
    template, arguments, size = cell["template"], cell["arguments"], cell["size"]
    with vyre.mode("off"):
        template(*arguments, size=size)
        entry, bound, _ = template._known(arguments, size, None)
        values = tuple(getattr(one, "argument", one) for one in bound.held)
        whole = _took_us(device, count, lambda: template(*arguments, size=size))
        start, given = entry.site.best, bound._replace(values=values)
        return whole, _took_us(device, count, lambda: start(given, 0))


def _took_us(device: vyre.Device, count: int, act: Callable[[], object]) -> float:
    """The quickest of five rounds, per call; what is on its way ends between them."""
    took = []
    for _ in range(5):
        act()
        device.synchronize()
        began = time.perf_counter()
        for _ in range(count):
            act()
        took.append((time.perf_counter() - began) / count)
        device.synchronize()
    return round(min(took) * 1e6, 2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dry", action="store_true", help="small, on OpenCL")
    parser.add_argument("--out", type=Path, help="where to write the result as JSON")
    options = parser.parse_args()
    language = "opencl" if options.dry else "cuda"
    device = vyre.open(language)
    calls, blocks, count = (12, 2, 5) if options.dry else (500, 15, 500)
    listed = cells(device, language, dry=options.dry)
    pause_s = 0.0 if options.dry else SECONDS / calls
    rows = [measured(cell, device, calls=calls, blocks=blocks, pause_s=pause_s) for cell in listed]
    small = dict(listed[1], size=1)
    host, launch = host_us(small, device, count)
    print(f"{'template':<12}{'default':>10}{'choice':>10}{'best':>10}{'ratio':>8}  choice")
    for row in rows:
        print(
            f"{row['template']:<12}{row['default_us']:>10}{row['choice_us']:>10}"
            f"{row['best_us']:>10}{row['ratio']:>8}  {row['choice']}; {row['differed']} differ"
        )
    print(f"a call takes {host} us of the host, {launch} of them what launches it")
    if options.out is not None:
        found = {"rows": rows, "host_us": host, "launch_us": launch, "allowed": ALLOWED}
        provenance.save(options.out, found, device=device.info.model)
    held = all(row["ratio"] <= ALLOWED and not row["differed"] for row in rows)
    return 0 if held or options.dry else 1


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        settings.preset("VYRE_CACHE_DIR", folder)  # nothing is remembered from before
        sys.exit(main())
