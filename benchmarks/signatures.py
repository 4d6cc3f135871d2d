"""What a repeated call costs the host for any signature: how arrays, outputs and numbers come.

    python benchmarks/signatures.py [--device cuda:0] [--libraries numpy,vyre,torch,cupy]

Each row is a way to write a call, each column a library whose arrays it takes; a figure is the
median of the host's microseconds over bursts of calls that fit a device's queue, the ways taking
turns. Beside each stands its ratio to `cuda.core.launch` of the same kernel where CUDA is there,
else to the same call prepared once, with the 95 % interval in the JSON file, and the A/A interval
(a way against itself) of each.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count, cycle
from statistics import median
from typing import Any

import numpy as np
from measure import halves, ratio, save

import vyre
from vyre import In, InOut, Out, f32, i32, u32

ELEMENTS = 1 << 10
BURST, BURSTS, BLOCKS = 200, 3, 11
NEW = 3000
"""Sets of arrays that come one after the other: more than a kernel takes note of."""

SOURCE = r"""
extern "C" __global__ void scaled(const float* x, float* out, float a, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i];
}
extern "C" __global__ void saxpy(const float* x, const float* y, float* out, float a, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i] + y[i];
}
extern "C" __global__ void spread(const float* x, const float* y, const float* z, float* low,
                                  float* high, float a, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { low[i] = a * x[i] - y[i]; high[i] = a * x[i] + z[i]; }
}
extern "C" __global__ void mixed(const float* w, const float* x, const float* y, const float* z,
                                 float* low, float* high, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { low[i] = w[i] * x[i]; high[i] = y[i] * z[i]; }
}
"""
"""The kernels for those who take source: what Vyre emits, but for how it passes sizes."""


@vyre.kernel
def scaled(x: In[f32], out: Out[f32], a: f32):
    i = vyre.gid()
    out[i] = a * x[i]


@vyre.kernel
def saxpy(x: In[f32], y: In[f32], out: Out[f32], a: f32):
    i = vyre.gid()
    out[i] = a * x[i] + y[i]


@vyre.kernel
def spread(x: In[f32], y: In[f32], z: In[f32], low: Out[f32], high: Out[f32], a: f32):
    i = vyre.gid()
    low[i] = a * x[i] - y[i]
    high[i] = a * x[i] + z[i]


@vyre.kernel
def mixed(w: In[f32], x: In[f32], y: In[f32], z: In[f32], low: Out[f32], high: Out[f32]):
    i = vyre.gid()
    low[i] = w[i] * x[i]
    high[i] = y[i] * z[i]


@vyre.kernel
def bumped(x: InOut[f32], a: f32):
    i = vyre.gid()
    x[i] = x[i] + a


@vyre.kernel
def raised(x: In[f32], out: Out[f32], k: i32):
    i = vyre.gid()
    out[i] = x[i] + f32(k)


@vyre.kernel
def shifted(x: In[f32], out: Out[f32], k: u32):
    i = vyre.gid()
    out[i] = x[i + k]


Run = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Library:
    """Whose arrays a call takes."""

    name: str
    make: Callable[[], Any]
    again: Callable[[Any], Any] | None  # another array where the first one is
    stream: Any = None


@dataclass(frozen=True, slots=True)
class Way:
    """A way to write a call."""

    run: Run
    like: str  # the kernel that it is measured against


def ways(library: Library) -> dict[str, Way]:
    """Every way to write a call on arrays of a library."""
    u, v, w, x, y, z = (library.make() for _ in range(6))
    some, more = cycle([1.5, 2.5, 3.5]), count(1)
    outs, few = [y, z], cycle([1, 2, 3])
    found = {
        "1 array, in place": Way(lambda: bumped(x, a=2.5), "scaled"),
        "2 arrays": Way(lambda: scaled(x, out=y, a=2.5), "scaled"),
        "2 arrays, a whole number": Way(lambda: raised(x, out=y, k=3), "scaled"),
        "2 arrays, ever-new whole numbers": Way(lambda: raised(x, out=y, k=next(more)), "scaled"),
        "2 arrays, whole numbers in an index": Way(
            lambda: shifted(x, out=y, k=next(few)), "scaled"
        ),
        "3 arrays": Way(lambda: saxpy(x, y, out=z, a=2.5), "saxpy"),
        "3 arrays, numbers that change": Way(lambda: saxpy(x, y, out=z, a=next(some)), "saxpy"),
        "3 arrays, two named": Way(lambda: saxpy(x=x, y=y, out=z, a=2.5), "saxpy"),
        "3 arrays, one named": Way(lambda: saxpy(x, y=y, out=z, a=2.5), "saxpy"),
        "3 arrays, out=(z,)": Way(lambda: saxpy(x, y, out=(z,), a=2.5), "saxpy"),
        "3 arrays, shape=": Way(lambda: saxpy(x, y, out=z, a=2.5, shape=ELEMENTS), "saxpy"),
        "3 arrays, out= left out": Way(lambda: saxpy(x, y, a=2.5), "saxpy"),
        "5 arrays, out=(y, z)": Way(lambda: spread(u, v, w, out=(y, z), a=2.5), "spread"),
        "5 arrays, out=[y, z]": Way(lambda: spread(u, v, w, out=outs, a=2.5), "spread"),
        "5 arrays, numbers that change": Way(
            lambda: spread(u, v, w, out=(y, z), a=next(some)), "spread"
        ),
        "5 arrays, all named": Way(lambda: spread(x=u, y=v, z=w, low=y, high=z, a=2.5), "spread"),
        "5 arrays, out= left out": Way(lambda: spread(u, v, w, a=2.5), "spread"),
        "6 arrays, out=(y, z)": Way(lambda: mixed(u, v, w, x, out=(y, z)), "mixed"),
    }
    if library.again is not None:
        again = library.again
        threes = cycle([tuple(map(again, (x, y, z))) for _ in range(NEW)])
        fives = cycle([tuple(map(again, (u, v, w, y, z))) for _ in range(NEW)])

        def three() -> Any:
            x, y, z = next(threes)
            return saxpy(x, y, out=z, a=2.5)

        def five() -> Any:
            u, v, w, y, z = next(fives)
            return spread(u, v, w, out=(y, z), a=2.5)

        found["3 arrays, ever new"] = Way(three, "saxpy")
        found["5 arrays, ever new"] = Way(five, "spread")
    if library.stream is not None:
        stream = library.stream
        found["3 arrays, stream="] = Way(lambda: saxpy(x, y, out=z, a=2.5, stream=stream), "saxpy")
        found["5 arrays, out=(y, z), stream="] = Way(
            lambda: spread(u, v, w, out=(y, z), a=2.5, stream=stream), "spread"
        )
    return found


def prepared(library: Library) -> dict[str, Run]:
    """The same calls bound once: what is left is the launch."""
    u, v, w, x, y, z = (library.make() for _ in range(6))
    return {
        "scaled": scaled.prepare(x, out=y, a=2.5),
        "saxpy": saxpy.prepare(x, y, out=z, a=2.5),
        "spread": spread.prepare(u, v, w, out=(y, z), a=2.5),
        "mixed": mixed.prepare(u, v, w, x, out=(y, z)),
    }


def cuda_core(address_of: Callable[[Any], int], library: Library) -> dict[str, Run]:
    """`cuda.core.launch` of each kernel, on as many arrays."""
    core = importlib.import_module("cuda.core")
    device = core.Device(0)
    device.set_current()
    options = core.ProgramOptions(arch=f"sm_{device.arch}", fma=False)
    cubin = core.Program(SOURCE, "c++", options).compile("cubin")
    config = core.LaunchConfig(grid=-(-ELEMENTS // 256), block=256)
    kept = [library.make() for _ in range(6)]
    arrays, last, a = [address_of(one) for one in kept], np.uint32(ELEMENTS), np.float32(2.5)
    given: dict[str, tuple[Any, ...]] = {
        "scaled": (*arrays[:2], a, last),
        "saxpy": (*arrays[:3], a, last),
        "spread": (*arrays[:5], a, last),
        "mixed": (*arrays, last),
    }

    def launch(name: str) -> Run:
        kernel, arguments, start = cubin.get_kernel(name), given[name], core.launch
        stream = device.default_stream
        return lambda _kept=kept: start(stream, config, kernel, *arguments)

    return {name: launch(name) for name in given}


def libraries(device: vyre.Device, wanted: list[str]) -> list[Library]:
    """Those that are there and have arrays on the device."""
    ones = np.ones(ELEMENTS, np.float32)
    on_cuda = device.info.backend == "cuda"
    found = [Library("vyre", lambda: device.array(ones), None, 0 if on_cuda else None)]
    if device.backend.uses_host_memory and device is vyre.open():
        found.insert(0, Library("numpy", ones.copy, lambda x: x[...]))
    if on_cuda:
        found += [made for made in (_torch(), _cupy()) if made is not None]
    return [one for one in found if one.name in wanted]


def _torch() -> Library | None:
    if importlib.util.find_spec("torch") is None:
        return None
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        return None
    make = lambda: torch.ones(ELEMENTS, device="cuda")  # noqa: E731  # as short as it gets
    return Library("torch", make, lambda x: x.view(-1), torch.cuda.current_stream())


def _cupy() -> Library | None:
    if importlib.util.find_spec("cupy") is None:
        return None
    cupy = importlib.import_module("cupy")
    make = lambda: cupy.ones(ELEMENTS, cupy.float32)  # noqa: E731  # as short as it gets
    return Library("cupy", make, lambda x: x.view(), cupy.cuda.get_current_stream())


def measured(sides: dict[str, Run], wait: Run) -> dict[str, list[float]]:
    """Seconds of a call of each side, block by block, the sides taking turns."""
    for run in sides.values():
        for _ in range(3):
            burst(run, wait)
    times: dict[str, list[float]] = {name: [] for name in sides}
    order = list(sides)
    collects = gc.isenabled()
    gc.disable()
    for _ in range(BLOCKS):
        for name in order:
            times[name].append(median(burst(sides[name], wait) for _ in range(BURSTS)))
        order.append(order.pop(0))
    if collects:
        gc.enable()
    return times


def burst(run: Run, wait: Run) -> float:
    """Seconds of one call among many, the device idle before."""
    wait()
    start = time.perf_counter()
    for _ in range(BURST):
        run()
    return (time.perf_counter() - start) / BURST


def table(library: Library, against: dict[str, Run], device: vyre.Device) -> dict[str, Any]:
    """Every way on the arrays of a library, beside what it is measured against."""
    rows = ways(library)
    sides = {name: way.run for name, way in rows.items()}
    sides |= {f"against: {name}": run for name, run in against.items()}
    times = measured(sides, device.synchronize)
    found: dict[str, Any] = {}
    for name, way in rows.items():
        own = times[name]
        found[name] = {
            "us": round(1e6 * median(own), 3),
            **ratio(own, times[f"against: {way.like}"]),
            "a_a": halves(own),
        }
    found["against"] = {
        name: {
            "us": round(1e6 * median(times[f"against: {name}"]), 3),
            "a_a": halves(times[f"against: {name}"]),
        }
        for name in against
    }
    return found


def show(results: dict[str, dict[str, Any]], what: str) -> None:
    names = list(dict.fromkeys(name for found in results.values() for name in found))
    print(f"us of a call, and times {what}")
    print(f"{'':<36}" + "".join(f"{library:>18}" for library in results))
    for name in names:
        if name == "against":
            continue
        cells = [
            f"{found[name]['us']:9.2f} {found[name]['ratio']:6.2f}x" if name in found else "-"
            for found in results.values()
        ]
        print(f"{name:<36}" + "".join(f"{cell:>18}" for cell in cells))
    for library, found in results.items():
        listed = ", ".join(f"{name} {one['us']:.2f}" for name, one in found["against"].items())
        print(f"{what} beside {library}: {listed}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--device", help="such as cuda:0; the default one without it")
    parser.add_argument("--libraries", default="numpy,vyre,torch,cupy")
    parser.add_argument("--mode", default="off", help="natural, to learn while it is measured")
    parser.add_argument("--name", default="signatures", help="of the file of results")
    given = parser.parse_args()
    vyre.mode(given.mode)
    device = vyre.open(given.device)
    on_cuda = device.info.backend == "cuda"
    results = {}
    for library in libraries(device, given.libraries.split(",")):
        against = prepared(library)
        if on_cuda:
            own = Library("vyre", lambda: device.array(np.ones(ELEMENTS, np.float32)), None)
            against = cuda_core(lambda array: array.memory.address, own)
        results[library.name] = table(library, against, device)
    show(results, "cuda.core.launch" if on_cuda else "prepared")
    path = save(given.name, results, device=f"{device.info.model}, {device.info.compiler}")
    print(f"saved to {path.name}")


if __name__ == "__main__":
    main()
