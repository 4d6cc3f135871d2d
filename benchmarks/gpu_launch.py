"""What a launch costs the host: saxpy over 2^14 resident elements, every way to launch it.

Launches are made in bursts that fit the queue, and only the bursts are timed: a full queue would
make the host wait for the device, and every way would look the same.
"""

from __future__ import annotations

import gc
import importlib
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import gpu_cells
import numpy as np
import torch
from cuda.bindings import driver
from gpu_vyre import Target
from measure import halves, ratio

POWER = 14
BURST = 200
BURSTS = 10
BLOCKS = 25

SOURCE = r"""
extern "C" __global__ void plain(const float* x, const float* y, float* out, float a, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i] + y[i];
}
"""
"""The kernel for those who take source: what Vyre emits, but for how it passes sizes."""

Run = Callable[[], Any]


def measured() -> dict[str, Any]:
    """Microseconds of host time for each way, and the ratios that matter."""
    ways, errors = _ways()
    times: dict[str, list[float]] = {name: [] for name in ways}
    order = list(ways)
    for run in ways.values():
        _burst(run)
    collects = gc.isenabled()
    gc.disable()
    for _ in range(BLOCKS):
        for name in order:
            times[name].append(median(_burst(ways[name]) for _ in range(BURSTS)))
        order.append(order.pop(0))
    if collects:
        gc.enable()
    pairs = [
        ("prepared", "cuda_core"),
        ("call_resident", "cuda_core"),
        ("call_resident", "triton"),
        ("call", "cuda_core"),
        ("call", "triton"),
        ("prepared", "cu_launch_kernel"),
    ]
    return {
        "us": {name: round(1e6 * median(some), 4) for name, some in times.items()},
        "ratios": {
            f"{top} / {bottom}": ratio(times[top], times[bottom])
            for top, bottom in pairs
            if top in times and bottom in times
        },
        "a_a": {name: halves(some) for name, some in times.items()},
        "errors": errors,
    }


def _burst(run: Run) -> float:
    """Seconds of one launch among many, the device idle before."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(BURST):
        run()
    return (time.perf_counter() - start) / BURST


def _ways() -> tuple[dict[str, Run], dict[str, str]]:
    """Every way that works here, each called once, and why others do not."""
    cell = gpu_cells.make(torch, "saxpy", POWER)
    target = Target(cell)
    with_learning(target)
    makers: dict[str, Callable[[Target], Run]] = {
        "prepared": _prepared,
        "call": _call,
        "cuda_core": _cuda_core,
        "cu_launch_kernel": _driver,
        "cupy_raw": _cupy_raw,
        "triton": _triton,
        "torch_add": _torch_add,
    }
    ways: dict[str, Run] = {}
    errors: dict[str, str] = {}
    expected = gpu_cells.results(cell, target.run_of(target.default))
    for name, make in makers.items():
        try:
            ways[name] = _checked(cell, make(target), expected)
        except Exception as error:  # noqa: BLE001  # told, and the others are measured
            errors[name] = f"{type(error).__name__}: {error}"[:400]
    ways["call_resident"] = _resident(target)
    return ways, errors


def _resident(target: Target) -> Run:
    """The plain call on Vyre's own arrays."""
    x, y = (target.device.array(array.cpu().numpy()) for array in target.cell.arrays)
    out, kernel = target.device.zeros(x.shape, x.dtype), target.kernel
    for _ in range(20):
        for _ in range(BURST):
            kernel(x, y, out=out, a=2.5)
        target.device.synchronize()
    assert np.array_equal(out, np.float32(2.5) * np.asarray(x) + np.asarray(y))
    return lambda: kernel(x, y, out=out, a=2.5)


def _checked(cell: gpu_cells.Cell, run: Run, expected: tuple[Any, ...]) -> Run:
    """A way to launch, after it has computed what it should."""

    def once() -> None:
        run()

    off = gpu_cells.apart(cell, expected, gpu_cells.results(cell, once))
    if off > 1:
        raise AssertionError(f"its result is {off:.3g} of the allowed distance away")
    return run


def with_learning(target: Target) -> None:
    """Call until what learns is at rest: calls to come are those of a program that runs on."""
    for _ in range(10):
        for _ in range(20):
            for _ in range(BURST):
                target.call()
            torch.cuda.synchronize()
        time.sleep(0.1)


def _prepared(target: Target) -> Run:
    cell = target.cell
    run: Run = target.kernel.prepare(*cell.arrays, out=cell.out, **cell.options)
    return run


def _call(target: Target) -> Run:
    cell = target.cell
    (x, y), out, kernel = cell.arrays, cell.out, target.kernel
    return lambda: kernel(x, y, out=out, a=2.5)


def _cuda_core(target: Target) -> Run:
    cell = target.cell
    core = importlib.import_module("cuda.core")
    device = core.Device(0)
    device.set_current()
    options = core.ProgramOptions(arch=f"sm_{device.arch}", fma=False)
    kernel = core.Program(SOURCE, "c++", options).compile("cubin").get_kernel("plain")
    n = cell.arrays[0].numel()
    config = core.LaunchConfig(grid=-(-n // 256), block=256)
    addresses = [tensor.data_ptr() for tensor in (*cell.arrays, cell.out)]
    arguments = (*addresses, np.float32(2.5), np.uint32(n))
    stream, launch = device.default_stream, core.launch
    return lambda: launch(stream, config, kernel, *arguments)


def _driver(target: Target) -> Run:
    made = target.launcher.prepare(target.numbers, target.alignment, target.default)
    frames = made.binary.frames
    frame = frames.make(made.words)
    frames.pack(frame[0], 0, *target.arguments)
    start, function = driver.cuLaunchKernel, made.binary.function
    sizes = (*made.grid, *made.workgroup)
    stream = driver.CUstream(driver.CU_STREAM_LEGACY)
    return lambda kept=frame: start(function, *sizes, 0, stream, kept[1], 0)


def _cupy_raw(target: Target) -> Run:
    cell = target.cell
    cupy, peer = importlib.import_module("cupy"), importlib.import_module("gpu_cupy")
    kernel = cupy.RawKernel(SOURCE, "plain", options=("--fmad=false",))
    n = cell.arrays[0].numel()
    arrays = [peer.view(tensor) for tensor in (*cell.arrays, cell.out)]
    arguments = (*arrays, np.float32(2.5), np.uint32(n))
    grid, block = (-(-n // 256),), (256,)
    return lambda: kernel(grid, block, arguments)


def _triton(target: Target) -> Run:
    cell = target.cell
    peer = importlib.import_module("gpu_triton")
    (x, y), out = cell.arrays, cell.out
    n = x.numel()
    grid = (-(-n // 1024),)
    return lambda: peer.saxpy[grid](x, y, out, 2.5, n, BLOCK=1024, num_warps=4)


def _torch_add(target: Target) -> Run:
    cell = target.cell
    (x, y), out = cell.arrays, cell.out
    return lambda: torch.add(y, x, alpha=2.5, out=out)
