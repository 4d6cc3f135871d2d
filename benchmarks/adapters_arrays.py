"""Blocks learned for kernels of CuPy, Numba and PyOpenCL: choices, results, host time.

    python benchmarks/adapters_arrays.py [--out FILE] [--calls 500] [--dry]

Each kernel is called so often, beginning with nothing, then every block that is offered is timed
in turns: `choice` is the time of what was learned by that of the best, which is chosen by the even
rounds and timed by the odd ones. `differ` counts blocks, and calls on the way, whose results are
not those of the library's own launch, bit by bit. `host` is what a call takes of the host beyond
the library's own, on arrays so small that the device waits, in microseconds; `still` is that where
nothing is learned. A figure beyond its
limit is marked. A kernel that fails says so, and the others are measured; figures are written as
they come. `--dry` goes the same way without a GPU, by stand-ins of the libraries' names: nothing is
timed there that means anything.
"""

from __future__ import annotations

import argparse
import importlib
import platform
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import numpy as np
from measure import picked

import vyre
from vyre import settings
from vyre.errors import VyreError
from vyre.learn import process
from vyre.plain import plain
from vyre.testing import provenance, stand_ins

LIMITS = {"choice": 1.02, "differ": 0, "host": 2.0}
ROUNDS, IN_A_ROW, HOST_ROUNDS, HOST_CALLS = 9, 8, 60, 200
SMALL = 1024

RAW = """
extern "C" __global__ void escape(const float *re, const float *im, int *count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = 0.0f, y = 0.0f;
    int k = 0;
    while (k < 256 && x * x + y * y <= 4.0f) {
        float next = x * x - y * y + re[i];
        y = 2.0f * x * y + im[i];
        x = next;
        ++k;
    }
    count[i] = k;
}
"""
OPENCL = """
kernel void axpy(global const float *x, global float *y, float a, int n) {
    int i = get_global_id(0);
    if (i < n) y[i] = a * x[i] + 1.0f;
}
"""


@dataclass
class Case:
    """A kernel on arrays of one size.

    Args:
        tuned: the kernel, as Vyre has it.
        calls: what holds its kinds of calls.
        call: makes a call of a kernel, tuned or not.
        plain: the library's own.
        out: what was written, on the host.
        clear: makes what is written what it was.
        wait: until the device has done all.
        elapsed_us: the time of launches in a row, by the device's clock.
        arguments: of a start of an adapter's.
    """

    tuned: Any
    calls: Any
    call: Callable[[Any], object]
    plain: Any
    out: Callable[[], Any]
    clear: Callable[[], object]
    wait: Callable[[], object]
    elapsed_us: Callable[[Callable[[], object], int], float]
    arguments: Callable[[], tuple[Any, ...]]


@dataclass
class Figures:
    """What came of a kernel."""

    default: str = ""
    chosen: str = ""
    best: str = ""
    choice: float = 0.0
    gain: float = 0.0
    differ: int = 0
    host: float = 0.0
    own: float = 0.0
    still: float = 0.0
    blocks: dict[str, float] = field(default_factory=dict)
    failed: str = ""


def measure(
    found: Figures, make: Callable[[int], Case], size: int, calls: int, *, dry: bool
) -> None:
    """Fill in the figures, one after the other."""
    case = make(size)
    case.clear()
    case.call(case.plain)
    case.wait()
    wanted = case.out()

    def differs() -> bool:
        case.wait()
        return not np.array_equal(case.out().view(np.uint8), wanted.view(np.uint8))

    for number in range(calls):
        if number % 50 == 0:
            case.clear()
        case.call(case.tuned)
        if number % 50 == 0:
            found.differ += differs()
        case.wait()
    assert process.deciders().desk.drained(60)
    entry = list(case.calls._entries.values())[-1]
    configs = entry.call.subject.question().candidates
    starts = {one.text: entry.made(one) for one in configs}
    times: dict[str, list[float]] = {name: [] for name in starts}
    for name, start in tuple(starts.items()):
        case.clear()
        try:
            start(case.arguments(), 0)
        except VyreError:  # calls drop it, too
            del starts[name], times[name]
            continue
        found.differ += differs()
        case.elapsed_us(lambda: start(case.arguments(), 0), 2)  # noqa: B023  # at once
    for _ in range(3 if dry else ROUNDS):
        for name, start in starts.items():
            launch = lambda: start(case.arguments(), 0)  # noqa: B023, E731  # at once
            times[name].append(case.elapsed_us(launch, IN_A_ROW))
    found.default, found.chosen = configs[0].text, entry.chosen.text
    found.best, best_us = picked(times)
    found.choice = max(1.0, median(times[found.chosen][1::2]) / best_us)
    found.gain = median(times[found.default]) / median(times[found.chosen])
    found.blocks = {name: median(taken) for name, taken in times.items()}
    found.own, found.host, found.still = host_us(make(SMALL), calls, dry=dry)


def host_us(case: Case, calls: int, *, dry: bool) -> tuple[float, float, float]:
    """What a call of the library's takes of the host, and what the tuned one takes beyond.

    The last is that where nothing is learned.
    """
    for _ in range(calls):
        case.call(case.tuned)
        case.wait()
    assert process.deciders().desk.drained(60)
    sides: dict[str, list[float]] = {"plain": [], "tuned": [], "still": []}
    for _ in range(3 if dry else HOST_ROUNDS):
        for name in sides:
            kernel = case.plain if name == "plain" else case.tuned
            with vyre.mode("off") if name == "still" else nullcontext():
                case.call(kernel)
                case.wait()
                begun = time.perf_counter_ns()
                for _ in range(HOST_CALLS):
                    case.call(kernel)
                sides[name].append((time.perf_counter_ns() - begun) / HOST_CALLS / 1000)
                case.wait()
    beyond = [
        median(b - a for a, b in zip(sides["plain"], sides[name], strict=True))
        for name in ("tuned", "still")
    ]
    return median(sides["plain"]), beyond[0], beyond[1]


# -- CuPy


def cupy_events(cupy: Any, *, dry: bool) -> Callable[[Callable[[], object], int], float]:
    def elapsed_us(launch: Callable[[], object], times: int) -> float:
        if dry:
            return by_the_host(launch, times)
        first, last = cupy.cuda.Event(), cupy.cuda.Event()
        first.record()
        for _ in range(times):
            launch()
        last.record()
        last.synchronize()
        return float(1000 * cupy.cuda.get_elapsed_time(first, last) / times)

    return elapsed_us


def a_while() -> None:
    """As long as a device may work."""
    time.sleep(5e-4)


def by_the_host(launch: Callable[[], object], times: int) -> float:
    begun = time.perf_counter_ns()
    for _ in range(times):
        launch()
    return (time.perf_counter_ns() - begun) / times / 1000


def points(size: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    re, im = rng.uniform(-2, 1, size), rng.uniform(-1.5, 1.5, size)
    return re.astype(np.float32), im.astype(np.float32)


def waiting(cupy: Any, *, dry: bool) -> Callable[[], object]:
    return a_while if dry else cupy.cuda.Device().synchronize


def raw(cupy: Any, adapter: Any, *, dry: bool) -> Callable[[int], Case]:
    kernel = cupy.RawKernel(RAW, "escape")
    made = adapter.tuned(kernel, size=lambda *args: args[-1])

    def case(size: int) -> Case:
        re, im = map(cupy.asarray, points(size))
        count = cupy.asarray(np.zeros(size, np.int32))
        args = (re, im, count, np.int32(size))
        grid, block = (-(-size // 1024),), (1024,)
        return Case(
            tuned=made,
            calls=made._calls,
            call=lambda one: one(grid, block, args),
            plain=kernel,
            out=count.get,
            clear=lambda: None if dry else count.fill(-1),
            wait=waiting(cupy, dry=dry),
            elapsed_us=cupy_events(cupy, dry=dry),
            arguments=lambda: (args, None, grid, size),
        )

    return case


def elements(cupy: Any, adapter: Any, *, dry: bool) -> Callable[[int], Case]:
    operation = "y = 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)))"
    kernel = cupy.ElementwiseKernel("float32 x", "float32 y", operation, "gelu")
    made = adapter.tuned(kernel)

    def case(size: int) -> Case:
        x = cupy.asarray(points(size)[0])
        y = cupy.asarray(np.zeros(size, np.float32))
        return Case(
            tuned=made,
            calls=made._calls,
            call=lambda one: one(x, y),
            plain=kernel,
            out=y.get,
            clear=lambda: None if dry else y.fill(-1),
            wait=waiting(cupy, dry=dry),
            elapsed_us=cupy_events(cupy, dry=dry),
            arguments=lambda: ((x, y), -1, None),
        )

    return case


# -- Numba


def jitted(cuda: Any, adapter: Any, *, dry: bool) -> Callable[[int], Case]:
    def smooth(x: Any, y: Any, n: int) -> None:
        i = cuda.grid(1)
        if 0 < i < n - 1:
            y[i] = 0.25 * x[i - 1] + 0.5 * x[i] + 0.25 * x[i + 1]

    kernel = stand_ins.Dispatcher(smooth) if dry else cuda.jit(smooth)
    made = adapter.tuned(kernel, size=lambda *args: args[-1])

    def elapsed_us(launch: Callable[[], object], times: int) -> float:
        if dry:
            return by_the_host(launch, times)
        first, last = cuda.event(timing=True), cuda.event(timing=True)
        first.record()
        for _ in range(times):
            launch()
        last.record()
        last.synchronize()
        return float(1000 * cuda.event_elapsed_time(first, last) / times)

    def case(size: int) -> Case:
        held, nothing = points(size)[0], np.zeros(size, np.float32)
        put = stand_ins.ndarray if dry else cuda.to_device
        x, y = put(held), put(nothing)
        grid, block = -(-size // 32), 32
        return Case(
            tuned=made,
            calls=made.calls,
            call=lambda one: one[grid, block](x, y, size),
            plain=kernel,
            out=y.get if dry else y.copy_to_host,
            clear=lambda: None if dry else y.copy_to_device(nothing),
            wait=a_while if dry else cuda.synchronize,
            elapsed_us=elapsed_us,
            arguments=lambda: made[grid, block].arguments((x, y, size)),
        )

    return case


# -- PyOpenCL


def opencl() -> Callable[[int], Case]:
    import pyopencl as cl

    from vyre.adapter import opencl as adapter

    devices = [one for platform in cl.get_platforms() for one in platform.get_devices()]
    device = next((one for one in devices if one.type & cl.device_type.GPU), devices[0])
    context = cl.Context([device])
    properties = cl.command_queue_properties.PROFILING_ENABLE
    queue = cl.CommandQueue(context, properties=properties)
    program = cl.Program(context, OPENCL).build()
    kernel = cl.Kernel(program, "axpy")
    kernel.set_scalar_arg_dtypes([None, None, np.float32, np.int32])
    made = adapter.tuned(kernel)

    def elapsed_us(launch: Callable[[], object], times: int) -> float:
        taken = 0
        for _ in range(times):
            event: Any = launch()
            event.wait()
            taken += event.profile.end - event.profile.start
        return taken / times / 1000

    def case(size: int) -> Case:
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        host = np.zeros(size, np.float32)
        x, y = (cl.Buffer(context, flags, hostbuf=one) for one in (points(size)[0], host))
        args = (x, y, 2.0, size)

        def out() -> Any:
            cl.enqueue_copy(queue, host, y)
            return host.copy()

        return Case(
            tuned=made,
            calls=made._calls,
            call=lambda one: one(queue, (size,), None, *args),
            plain=kernel,
            out=out,
            clear=lambda: cl.enqueue_fill_buffer(queue, y, np.float32(-1), 0, 4 * size).wait(),
            wait=queue.finish,
            elapsed_us=elapsed_us,
            arguments=lambda: (queue, args, None, None),
        )

    return case


# -- all of them


@contextmanager
def libraries(*, dry: bool) -> Iterator[dict[str, Callable[[], tuple[Callable[[int], Case], int]]]]:
    """What makes each kernel, and the elements that it is called with."""
    with ExitStack() as stack:
        if dry:
            launches = stand_ins.Launches(times_ns=lambda one: 1e6 + 1e3 * abs(one.block[0] - 256))
            stack.enter_context(mock.patch.object(stand_ins, "LAUNCHES", launches))
            stack.enter_context(stand_ins.cupy_by_name(launches.place))

        def with_cupy() -> tuple[Any, Any]:
            return importlib.import_module("cupy"), importlib.import_module("vyre.cupy")

        def with_numba() -> tuple[Any, Any]:
            cuda = importlib.import_module("numba.cuda")
            if dry:
                place = launches.place()
                device = importlib.import_module("vyre.adapter.numba.device")
                for name, given in (("place", lambda: place), ("current", lambda: 0)):
                    stack.enter_context(mock.patch.object(device, name, given))
            return cuda, importlib.import_module("vyre.numba")

        yield {
            "cupy raw": lambda: (raw(*with_cupy(), dry=dry), SMALL * 4 if dry else 1 << 23),
            "cupy elements": lambda: (elements(*with_cupy(), dry=dry), SMALL if dry else 1 << 27),
            "numba": lambda: (jitted(*with_numba(), dry=dry), SMALL if dry else 1 << 27),
            "pyopencl": lambda: (opencl(), SMALL if dry else 1 << 24),
        }


def table(found: dict[str, Any]) -> str:
    heads = {"choice": 8, "gain": 8, "differ": 8, "host us": 9, "still": 7, "own us": 8}
    lines = [" " * 14 + "".join(f"{name:>{width}}" for name, width in heads.items()) + "  chosen"]
    for name, one in found.items():
        if isinstance(one, str):
            lines.append(f"{name:<14}{one}")
            continue
        beyond = [what for what, most in LIMITS.items() if getattr(one, what) > most]
        marked = f"  BEYOND ITS LIMIT: {', '.join(beyond)}" if beyond else ""
        marked += f"  FAILED: {one.failed}" if one.failed else ""
        lines.append(
            f"{name:<14}{one.choice:>8.3f}{one.gain:>8.2f}{one.differ:>8}{one.host:>9.2f}"
            f"{one.still:>7.2f}{one.own:>8.2f}"
            f"  {one.chosen} of {one.default}, best {one.best}{marked}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, help="where the figures go, as JSON")
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--only", help="names of kernels, with commas between")
    parser.add_argument("--dry", action="store_true", help="by stand-ins, without a GPU")
    given = parser.parse_args()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        settings.preset("VYRE_CACHE_DIR", folder)  # nothing is remembered from before
        with libraries(dry=given.dry) as kernels:
            for name, make in kernels.items():
                if given.only and name not in given.only.split(","):
                    continue
                try:
                    case, size = make()
                except Exception as error:  # noqa: BLE001  # a library has its own for no device
                    found[name] = plain(f"left out: {type(error).__name__}: {error}")
                    continue
                figures = found[name] = Figures()
                try:
                    measure(figures, case, size, given.calls, dry=given.dry)
                except Exception as error:  # noqa: BLE001  # whatever it is, the others are measured
                    traceback.print_exc()
                    figures.failed = plain(f"{type(error).__name__}: {error}")
                save(given.out, found, dry=given.dry)
        process.recorder().flush()
    save(given.out, found, dry=given.dry)
    print(table(found))
    if any(isinstance(one, Figures) and one.failed for one in found.values()):
        raise SystemExit(1)


def save(out: Path | None, found: dict[str, Any], *, dry: bool) -> None:
    if out is None:
        return
    figures = {name: one if isinstance(one, str) else vars(one) for name, one in found.items()}
    provenance.save(out, figures, limits=LIMITS, dry=dry, host=platform.node())


if __name__ == "__main__":
    main()
