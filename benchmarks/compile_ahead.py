"""What compiling variants costs the dispatches beside it: in-process, in the helper, not at all.

saxpy is called on resident arrays once a millisecond and waited for, while candidates for another
kernel are compiled: on a thread of this process, in the compile helper, or none. As learning does,
a thread loads what the helper has made ready, one by one. A call that had to wait for an earlier
one counts from when it was due, so a stall counts for as long as it lasts.
The sides take turns, block by block; each figure is a percentile over the calls of all blocks.
"""

import argparse
import threading
import time
from collections.abc import Callable, Iterator
from itertools import cycle, product
from typing import Any

import numpy as np
from measure import save

import vyre
from vyre import ir, kernels
from vyre.ir import BufferDecl, DataType, Program
from vyre.model import Code, Order
from vyre.runtime.compile.bundle import Bundle, Warm
from vyre.runtime.compile.helper import CompileHelper, Ready
from vyre.runtime.devices.compile_server import compile_bundle

WIDTHS = (32, 64, 128, 256, 512)
EXTENT = 1 << 14  # small, so that warming launches take no time of their own
PERIOD_S = 1e-3


CODES = tuple(
    Code(items=items, vector=vector, unroll=unroll, order=order, checked=False)
    for unroll, items, vector, order in product((1, 4), (2, 4, 8, 16), (1, 4, 8), Order)
    if items % vector == 0
)


def fresh(count: int) -> Iterator[list[Bundle]]:
    """Candidates that no cache has seen: codes of a kernel with a literal of its own."""
    literal = time.time_ns() % (1 << 22)
    while True:
        literal += 1
        program = variant(literal)
        yield [
            Bundle(
                program=program,
                codes=(code,),
                warm=(Warm(0, (width, 1, 1), (EXTENT // (width * code.items), 1, 1)),),
            )
            for code, width in zip(CODES[:count], cycle(WIDTHS), strict=False)
        ]


def variant(literal: int) -> Program:
    x = BufferDecl.read("x", 0, DataType.F32)
    out = BufferDecl.write("out", 1, DataType.F32)
    value = ir.var("value")
    return Program.wrapped(
        [x, out],
        (64, 1, 1),
        [
            ir.let("value", ir.load("x", ir.gid())),
            *(ir.assign("value", value * value + ir.f32(float(literal))) for _ in range(8)),
            ir.store("out", ir.gid(), value),
        ],
    )


class Bench:
    """The dispatches, and the ways to compile beside them."""

    def __init__(self, device: vyre.Device, n: int, variants: int) -> None:
        self.device, self.variants, self.bundles = device, variants, fresh(variants)
        self.x, self.y, self.out = (device.array(np.zeros(n, np.float32)) for _ in range(3))
        self.helper = CompileHelper(device)

    def take(self) -> list[Bundle]:
        """New candidates, of a kernel that is known here, as it is once it was called."""
        bundles = next(self.bundles)
        self.device.facts(bundles[0].program)
        return bundles

    def calls(self, done: Callable[[], bool]) -> list[float]:
        """Seconds of each call until `done`."""
        times = []
        due = time.perf_counter()
        while not done():
            start = due
            early = due - time.perf_counter()
            if early > 0:
                time.sleep(early)
                start = time.perf_counter()
            kernels.saxpy(self.x, self.y, a=2.5, out=self.out)
            self.device.synchronize()
            times.append(time.perf_counter() - start)
            due += PERIOD_S
        return times

    def beside_thread(self, bundles: list[Bundle]) -> list[float]:
        def work() -> None:
            for bundle in bundles:
                compile_bundle(self.device, bundle)

        return self.beside(work)

    def beside(self, work: Callable[[], None]) -> list[float]:
        thread = threading.Thread(target=work)
        thread.start()
        return self.calls(lambda: not thread.is_alive())

    def nothing(self) -> list[float]:
        end = time.perf_counter() + 0.1 * self.variants
        return self.calls(lambda: time.perf_counter() > end)

    def in_process(self) -> list[float]:
        return self.beside_thread(self.take())

    def in_helper(self) -> list[float]:
        bundles = self.take()

        def work() -> None:
            for bundle, pending in [(one, self.helper.submit(one)) for one in bundles]:
                answer = pending.wait()
                assert isinstance(answer, Ready), answer
                self.device.binaries([(bundle.program, code) for code in bundle.codes])

        return self.beside(work)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--variants", type=int, default=30)
    parser.add_argument("--size", type=int, default=1 << 12)
    given = parser.parse_args()
    device = vyre.open("opencl")
    bench = Bench(device, given.size, given.variants)
    sides = [
        ("nothing is compiled", bench.nothing),
        ("compiled on a thread of this process", bench.in_process),
        ("compiled in the helper, then loaded", bench.in_helper),
    ]
    bench.nothing()
    bench.helper.submit(bench.take()[0]).wait()
    times: dict[str, list[float]] = {title: [] for title, _ in sides}
    for _ in range(given.blocks):
        for title, run in sides:
            times[title] += run()
    results: list[dict[str, Any]] = []
    for title, found in times.items():
        p50, p99, worst = (1e3 * value for value in np.percentile(found, (50, 99, 100)))
        results.append(
            {
                "what": title,
                "calls": len(found),
                "p50_ms": round(p50, 4),
                "p99_ms": round(p99, 4),
                "max_ms": round(worst, 2),
                "over_10_ms": sum(value > 0.01 for value in found),
            }
        )
        print(
            f"{title:<45} p50 {p50:7.3f} ms  p99 {p99:7.3f} ms  max {worst:7.2f} ms"
            f"  ({len(found)} calls)"
        )
    bench.helper.close()
    nothing, _, helper = (row["p99_ms"] for row in results)
    print(f"p99 beside the helper / p99 beside nothing: {helper / nothing:.2f} (limit 3)")
    path = save(
        "compile_ahead",
        results,
        device=f"{device.info.model}, {device.info.compiler}",
        blocks=given.blocks,
        variants=given.variants,
        size=given.size,
    )
    print(f"saved to {path.name}")


if __name__ == "__main__":
    main()
