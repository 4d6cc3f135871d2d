"""Checks a CUDA device: --only kernels,teams,programs,arrays,timing,cost --count 5000 --json PATH.

kernels   every bundled kernel, every schedule of its space, at odd sizes, against the reference
teams     kernels with reductions by teams of every kind, against the reference
programs  generated programs against the reference, the codes taking turns
arrays    CuPy and torch without copies, streams in order, captures, out=, errors that say so
timing    times behind a gate against those of many launches in a row, and that nothing hangs
cost      what a launch costs the host, side by side with cuda.core, and what compiling takes

`--small` keeps to small sizes and few schedules, for compute-sanitizer. A table comes last.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import numpy as np

import vyre
from vyre import kernels, settings
from vyre.analysis import analyse
from vyre.backend import reference
from vyre.backend.base import Job, Unbuilt
from vyre.backend.cuda import nvrtc
from vyre.emit import CUDA, bundle, emit
from vyre.errors import DeviceFailed, InvalidInput
from vyre.ir.types import DataType
from vyre.kernels.samples import sample
from vyre.model import Code, Order
from vyre.plan.geometry import tile_grid
from vyre.runtime.arrays import foreign
from vyre.runtime.devices.launcher import words_of
from vyre.testing import provenance, reducers
from vyre.testing.compare import apart, differences, provable
from vyre.testing.programs import Case, generate
from vyre.testing.schedules import in_teams, space_for

CODES = (
    Code(),
    Code(checked=False),
    Code(items=3, order=Order.BLOCKED),
    Code(items=4, vector=2, checked=False),
    Code(items=4, vector=4, unroll=4, checked=False),
    Code(items=8),
)
EPSILON = 2.0**-23
BATCH = 16


@dataclass
class Section:
    """What one section found."""

    name: str
    checked: int = 0
    failed: list[str] = field(default_factory=list)
    seconds: float = 0.0
    figures: dict[str, Any] = field(default_factory=dict)


# -- bundled kernels


def sizes_of(name: str, *, small: bool) -> tuple[int, ...]:
    if small:
        return (1, 31, 1023)
    large = {"polynomial": 62_501, "mandelbrot": 62_501, "nearest": 62_501, "nbody": 2_003}
    return (1, 31, 1023, 4099, large.get(name, 1_000_003))


def case_of(name: str, size: int) -> Case:
    """A call of a bundled kernel over `size` elements, or an odd rectangle of about as many."""
    more = {"nbody": (size // 4 + 1) ** 2}
    more |= dict.fromkeys(("polynomial", "mandelbrot", "nearest"), 16 * size)
    made = sample(name, more.get(name, size), seed=size)
    translation = getattr(kernels, name)._translation
    program = translation.program
    outer = int(size**0.5) | 1
    rectangle = (outer, max(1, size // outer) | 1)
    by_rows = any(p.role.name == "OUT" and p.rank == 2 for p in translation.params)
    if by_rows:
        made = sample(name, 4 * (rectangle[0] + 1) * (rectangle[1] + 1) * 2, seed=size)
    given = iter(made.arrays)
    arrays: dict[str, Any] = {}
    for param in translation.params:
        role = param.role.name
        if role == "SCALAR":
            decl = program.buffer(param.name)
            kind = np.float32 if decl.element == DataType.F32 else np.uint32
            arrays[param.name] = np.array([made.options[param.name]], kind)
        elif role == "OUT":
            shape = rectangle if param.rank == 2 else 1 if name == "dot" else size
            kind = np.uint32 if param.dtype == DataType.U32 else np.float32
            arrays[param.name] = np.full(shape, 7, kind)  # so that a lost write shows
        else:
            whole = next(given)
            cut = whole if param.count else whole[:size]
            if param.rank == 2 and not param.count:
                cut = np.resize(whole, rectangle)
            arrays[param.name] = np.ascontiguousarray(cut)
    if name == "gather":
        arrays["index"] = arrays["index"] % np.uint32(size)
    extent = (rectangle[1], rectangle[0], 1) if by_rows else (size, 1, 1)
    if name == "dot":  # it asks for no position, and runs once
        extent = (1, 1, 1)
    return Case(program=program, arrays=arrays, extent=extent)


def beyond(name: str, case: Case, buffer: str, expected: Any, found: Any) -> Any:
    """The positions that are wrong: by bits, or by a bound where functions may differ."""
    if name not in ("gelu", "exp_log", "row_softmax"):
        return apart(case.program.buffer(buffer).element, expected, found)
    x = np.abs(case.arrays["x"].astype(np.float64))
    # tanh is within 5 units and is multiplied by x / 2; a softplus adds 1 to what exp gives; a
    # share is an exponential over a sum of them.
    allowed = {"gelu": 3 * x * EPSILON, "exp_log": 5 * EPSILON, "row_softmax": 0.0}[name]
    allowed = allowed + (8 if name == "row_softmax" else 4) * EPSILON * np.abs(expected)
    wrong = ~(np.abs(expected.astype(np.float64) - found) <= allowed)
    return np.flatnonzero(wrong & ~(np.isnan(expected) & np.isnan(found)))


def check_kernel(place: str, name: str, small: bool) -> tuple[int, list[str], dict[str, Any]]:
    device = vyre.open(place)
    checked, failed = 0, []
    most_registers, spilled = 0, 0
    for size in sizes_of(name, small=small):
        case = case_of(name, size)
        expected = case.copies()
        reference.run(case.program, expected, case.extent)
        legal = space_for(device, case).legal
        if small:
            legal = Random(size).sample(legal, min(12, len(legal)))
        codes = list(dict.fromkeys(schedule.code for schedule in legal))
        built = dict(
            zip(codes, device.binaries([(case.program, code) for code in codes]), strict=True)
        )
        first: dict[str, Any] = {}
        for schedule in legal:
            binary = built[schedule.code]
            where = f"{name} over {case.extent}, {schedule}"
            if isinstance(binary, Unbuilt):
                failed.append(f"{where}: {binary.reason} {binary.log[-300:]}")
                continue
            resources = getattr(binary, "resources", None)
            if resources is not None:
                most_registers = max(most_registers, resources.registers)
                spilled = max(spilled, resources.local_bytes)
            if prod(schedule.block) > binary.max_threads:
                continue
            found = case.copies()
            words = words_of(binary.layout, case.extent, {n: a.shape for n, a in found.items()})
            grid = tile_grid(case.extent, schedule)
            device.run(binary, grid, schedule.block, found, case.program, words)
            checked += 1
            for decl in case.program.buffers:
                if not decl.is_written:
                    continue
                got = found[decl.name]
                bad = beyond(name, case, decl.name, expected[decl.name], got)
                if bad.size:
                    at = bad[0]
                    failed.append(
                        f"{where}: {bad.size} wrong in {decl.name}, first at {at}: "
                        f"{expected[decl.name].flat[at]!r} expected, {got.flat[at]!r} found"
                    )
                same = first.setdefault(decl.name, got)
                if apart(decl.element, same, got).size:
                    failed.append(f"{where}: other bits in {decl.name} than the first schedule's")
    return checked, failed, {name: {"most_registers": most_registers, "local_bytes": spilled}}


def check_kernels(given: argparse.Namespace) -> Section:
    section = Section("kernels")
    work = [(given.device, kernel.name, given.small) for kernel in kernels.ALL]
    for checked, failed, figures in in_processes(check_kernel, work, given, section):
        section.checked += checked
        section.failed += failed
        section.figures |= figures
    return section


# -- teams


def check_calls(place: str, seed: int) -> tuple[int, list[str]]:
    """Kernels with reductions on some arrays, under a few schedules of each kind of teams."""
    device, checked, failed = vyre.open(place), 0, list[str]()
    for call in reducers.calls(seed):
        rng = Random(f"{seed} {call}")
        drawn = [*in_teams(call.space(device), rng), *call.pinned(device, rng)]
        checked += len(drawn)
        failed += reducers.deviations(call, device, drawn)
    return checked, failed


def check_teams(given: argparse.Namespace) -> Section:
    section = Section("teams")
    seeds = range(given.seed, given.seed + (1 if given.small else 12))
    work = [(given.device, seed) for seed in seeds]
    for checked, failed in in_processes(check_calls, work, given, section):
        section.checked += checked
        section.failed += failed
    return section


# -- generated programs


def check_seeds(
    place: str, first: int, last: int, until: float
) -> tuple[int, list[str], dict[str, Any]]:
    device = vyre.open(place)
    checked, failed = 0, []
    for start in range(first, last, BATCH):
        if time.time() > until:
            break
        seeds = range(start, min(start + BATCH, last))
        cases = [generate(Random(seed)) for seed in seeds]
        code = CODES[start // BATCH % len(CODES)]
        free = [provable(device, case, code) for case in cases]
        for suited, form in ((True, code), (False, replace(code, checked=True))):
            mine = [number for number, fits in enumerate(free) if fits is suited]
            found = differences(device, [cases[number] for number in mine], (form,))
            failed += [f"seed {seeds[mine[item.case]]}: {item}" for item in found]
        checked += len(seeds)
    return checked, failed, {}


def check_programs(given: argparse.Namespace) -> Section:
    section = Section("programs")
    share = 4 * BATCH
    until = time.time() + given.seconds
    work = [
        (given.device, first, min(first + share, given.seed + given.count), until)
        for first in range(given.seed, given.seed + given.count, share)
    ]
    for checked, failed, _ in in_processes(check_seeds, work, given, section):
        section.checked += checked
        section.failed += failed
    if section.checked < given.count:
        section.failed.append(f"only {section.checked} of {given.count} within {given.seconds} s")
    return section


def in_processes(
    task: Callable[..., Any],
    work: list[tuple[Any, ...]],
    given: argparse.Namespace,
    section: Section,
) -> Iterable[Any]:
    """What each piece of work gives; one that dies is a failure."""
    if given.processes == 1:
        for item in work:
            yield task(*item)
        return
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(given.processes, len(work)), mp_context=spawn) as pool:
        waiting = {pool.submit(task, *item): item for item in work}
        for done in as_completed(waiting):
            try:
                yield done.result()
            except Exception as error:  # noqa: BLE001  # whatever it was, it is what we look for
                section.failed.append(f"{task.__name__}{waiting[done]}: {error!r}")


# -- arrays of other libraries, streams, captures, errors


N = 100_003


def saxpy_binary(device: vyre.Device) -> Any:
    return device.binary(kernels.saxpy.program, Code())


def launch_saxpy(device: vyre.Device, arrays: Any, a: float, stream: int, **more: Any) -> Any:
    """Launch saxpy on foreign arrays x, y, out by the backend alone."""
    seen = {
        name: foreign.view(
            array, where=f"{name} of saxpy", dtype=DataType.F32, written=name == "out"
        )
        for name, array in zip(("x", "y", "out"), arrays, strict=True)
    }
    binary = saxpy_binary(device)
    n = seen["x"].size
    words = words_of(binary.layout, (n, 1, 1), {name: array.shape for name, array in seen.items()})
    values = [seen[name].argument if name in seen else np.float32(a) for name in binary.arguments]
    grid = (-(-n // 256), 1, 1)
    backend: Any = device.backend
    return backend.launch(binary, grid, (256, 1, 1), values, words, stream=stream, **more)


def torch_arrays() -> Any:
    import torch

    x, y = torch.randn(N, device="cuda"), torch.randn(N, device="cuda")
    return torch, x, y, torch.zeros(N, device="cuda")


def want(x: Any, y: Any, a: float) -> Any:
    return np.float32(a) * x + y


def torch_by_the_backend(device: vyre.Device) -> None:
    torch, x, y, out = torch_arrays()
    launch_saxpy(device, (x, y, out), 2.5, torch.cuda.current_stream().cuda_stream).wait()
    assert np.array_equal(out.cpu().numpy(), want(x.cpu().numpy(), y.cpu().numpy(), 2.5))


def cupy_by_the_backend(device: vyre.Device) -> None:
    import cupy

    x, y, out = cupy.random.rand(3, N, dtype=cupy.float32)
    launch_saxpy(device, (x, y, out), -1.5, cupy.cuda.get_current_stream().ptr).wait()
    assert np.array_equal(out.get(), want(x.get(), y.get(), -1.5))


def torch_by_a_call(device: vyre.Device) -> None:  # noqa: ARG001  # the array says which
    torch, x, y, out = torch_arrays()
    made = kernels.saxpy(x, y, a=2.5)
    assert type(made) is torch.Tensor
    assert made.device == x.device
    assert kernels.saxpy(x, y, a=2.5, out=out) is out
    expected = want(x.cpu().numpy(), y.cpu().numpy(), 2.5)
    assert np.array_equal(made.cpu().numpy(), expected)
    assert np.array_equal(out.cpu().numpy(), expected)
    for turn in range(20):  # the short way
        kernels.saxpy(x, y, a=float(turn), out=out)
        assert np.array_equal(out.cpu().numpy(), want(x.cpu().numpy(), y.cpu().numpy(), turn))
    view, target = x[1:], torch.zeros(N - 1, device="cuda")
    kernels.saxpy(view, y[1:], a=1.0, out=target)  # an unaligned one
    assert np.array_equal(target.cpu().numpy(), (x + y).cpu().numpy()[1:])


def cupy_by_a_call(device: vyre.Device) -> None:  # noqa: ARG001  # the array says which
    import cupy

    x, y, out = cupy.random.rand(3, N, dtype=cupy.float32)
    made = kernels.saxpy(x, y, a=2.5)
    assert type(made) is cupy.ndarray
    assert kernels.saxpy(x, y, a=2.5, out=out) is out
    expected = want(x.get(), y.get(), 2.5)
    assert np.array_equal(made.get(), expected)
    assert np.array_equal(out.get(), expected)


def numpy_by_a_call(device: vyre.Device) -> None:  # noqa: ARG001  # the default one
    x = np.random.default_rng(0).standard_normal(5_000_011).astype(np.float32)
    assert np.array_equal(kernels.saxpy(x, x, a=2.5), want(x, x, 2.5))


def sleep_on(torch: Any, stream: Any) -> None:
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)  # about 0.1 s


def the_current_stream_is_respected(device: vyre.Device) -> None:
    """A slow fill on a side stream, then our kernel there: it must see what was filled."""
    torch, x, y, out = torch_arrays()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    sleep_on(torch, side)
    with torch.cuda.stream(side):
        x.fill_(3.0)
        began = time.perf_counter()
        launch_saxpy(device, (x, y, out), 2.0, side.cuda_stream)
        took = time.perf_counter() - began
        result = out.clone()
    side.synchronize()
    assert took < 0.05, f"the launch waited {took:.3f} s for the stream"
    assert np.array_equal(result.cpu().numpy(), want(np.float32(3), y.cpu().numpy(), 2.0))


def the_current_stream_is_respected_by_a_call(device: vyre.Device) -> None:  # noqa: ARG001
    torch, x, y, out = torch_arrays()
    kernels.saxpy(x, y, a=2.0, out=out)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    sleep_on(torch, side)
    with torch.cuda.stream(side):
        x.fill_(3.0)
        began = time.perf_counter()
        kernels.saxpy(x, y, a=2.0, out=out)
        took = time.perf_counter() - began
        result = out.clone()
    side.synchronize()
    assert took < 0.05, f"the call waited {took:.3f} s for the stream"
    assert np.array_equal(result.cpu().numpy(), want(np.float32(3), y.cpu().numpy(), 2.0))


def own_arrays_follow_onto_a_stream(device: vyre.Device) -> None:
    torch, *_ = torch_arrays()
    backend: Any = device.backend
    side = torch.cuda.Stream()
    mine = device.array(np.arange(N, dtype=np.float32))
    sleep_on(torch, side)
    backend.use_on(mine.memory, side.cuda_stream)
    backend.clear(mine.memory, mine.nbytes, stream=side.cuda_stream)
    assert not np.asarray(mine).any(), "downloading did not wait for the side stream"


def a_capture_stays_valid(device: vyre.Device) -> None:
    torch, x, y, out = torch_arrays()
    kernels_before = launch_saxpy(device, (x, y, out), 1.0, 0, timed=True)
    kernels_before.wait()
    pending = launch_saxpy(device, (x, y, out), 1.0, 0, timed=True)
    graph = torch.cuda.CUDAGraph()
    backend: Any = device.backend
    with torch.cuda.graph(graph):
        stream = torch.cuda.current_stream().cuda_stream
        assert backend.is_capturing(stream)
        assert not backend.is_capturing(0)
        ticket = launch_saxpy(device, (x, y, out), 2.0, stream, timed=True)
        assert ticket.elapsed_ns() is None
        pending.elapsed_ns()  # polling elsewhere must not end the capture
        # Loading new code must not, either.
        kernel, code = kernels.gelu.program, Code(items=7)
        (built,) = backend.build([Job(kernel, code, device.facts(kernel))])
        assert not isinstance(built, Unbuilt)
    out.zero_()
    graph.replay()
    torch.cuda.synchronize()
    assert np.array_equal(out.cpu().numpy(), want(x.cpu().numpy(), y.cpu().numpy(), 2.0))


def a_capture_of_a_call_stays_valid(device: vyre.Device) -> None:  # noqa: ARG001
    torch, x, y, out = torch_arrays()
    for _ in range(3):
        kernels.saxpy(x, y, a=3.0, out=out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernels.saxpy(x, y, a=3.0, out=out)
    out.zero_()
    graph.replay()
    torch.cuda.synchronize()
    assert np.array_equal(out.cpu().numpy(), want(x.cpu().numpy(), y.cpu().numpy(), 3.0))


def times_come_without_waiting(device: vyre.Device) -> None:
    torch, x, y, out = torch_arrays()
    torch.cuda._sleep(100_000_000)
    ticket = launch_saxpy(device, (x, y, out), 1.0, 0, timed=True)
    assert ticket.elapsed_ns() is None, "a launch behind a sleeping stream has no time yet"
    ticket.wait()
    elapsed = ticket.elapsed_ns()
    assert 500 < elapsed < 1_000_000, f"{elapsed} ns for a small saxpy"
    assert ticket.elapsed_ns() == elapsed


def other_threads_launch(device: vyre.Device) -> None:
    _, x, y, out = torch_arrays()
    failed: list[BaseException] = []

    def run() -> None:
        try:
            for _ in range(200):
                launch_saxpy(device, (x, y, out), 4.0, 0)
            launch_saxpy(device, (x, y, out), 4.0, 0).wait()
        except BaseException as error:  # noqa: BLE001  # shown below
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed
    assert np.array_equal(out.cpu().numpy(), want(x.cpu().numpy(), y.cpu().numpy(), 4.0))


def raises(kind: type[Exception], words: str, task: Callable[[], Any]) -> None:
    said = "nothing"
    try:
        task()
    except kind as error:
        said = str(error)
    assert words in said, f"{words!r} expected, {said!r} raised"
    assert "Fix:" in said


def bad_arrays_are_refused(device: vyre.Device) -> None:  # noqa: ARG001  # the array says
    torch, x, y, _ = torch_arrays()

    def seen(array: Any) -> Callable[[], Any]:
        return lambda: foreign.view(array, where="x of k", dtype=DataType.F32, written=False)

    raises(InvalidInput, "not contiguous", seen(x[::2]))
    raises(InvalidInput, "float64", seen(x.double()))
    raises(InvalidInput, "host memory", seen(x.cpu()))
    raises(InvalidInput, "requires grad", seen(x.clone().requires_grad_()))
    raises(InvalidInput, "not a CUDA stream", lambda: foreign.handle_of("main"))
    import cupy

    other = cupy.zeros(N, cupy.float32)
    views = {"x": seen(x)(), "y": seen(other)()}
    assert foreign.stream_for(views) == 0
    with torch.cuda.stream(torch.cuda.Stream()):
        raises(InvalidInput, "different streams", lambda: foreign.stream_for(views))
    assert foreign.overlap(seen(x)(), seen(x[1:])())
    assert not foreign.overlap(seen(x)(), seen(y)())


def too_much_memory_is_refused(device: vyre.Device) -> None:
    raises(DeviceFailed, "bytes for one array", lambda: device.backend.alloc(1 << 40))
    whole = np.ones(1000, np.float32)
    assert np.array_equal(np.asarray(device.array(whole)), whole), "the device works on"


def memory_comes_back(device: vyre.Device) -> None:
    total = device.info.memory_bytes
    for _ in range(12):
        device.empty(total // 3, np.uint8)
    device.synchronize()


def transfers_are_exact(device: vyre.Device) -> None:
    for size in (1, 3, 4 << 20, (4 << 20) + 1, 33_000_001):
        host = np.random.default_rng(size).integers(0, 256, size, np.uint8)
        there = device.array(host)
        assert np.array_equal(np.asarray(there.copy()), host), size


def a_wide_workgroup_of_a_heavy_kernel_is_refused(device: vyre.Device) -> None:
    binary = saxpy_binary(device)
    words = bytes(4 * binary.layout.count)
    memory = device.zeros(4, np.float32)
    values = [memory.argument] * 3 + [np.float32(0)]
    raises(
        DeviceFailed,
        "launch grid",
        lambda: device.backend.launch(binary, (1, 1, 1), (2048, 1, 1), values, words),
    )


ARRAYS = (
    transfers_are_exact,
    numpy_by_a_call,
    torch_by_the_backend,
    cupy_by_the_backend,
    times_come_without_waiting,
    the_current_stream_is_respected,
    own_arrays_follow_onto_a_stream,
    a_capture_stays_valid,
    other_threads_launch,
    bad_arrays_are_refused,
    too_much_memory_is_refused,
    memory_comes_back,
    a_wide_workgroup_of_a_heavy_kernel_is_refused,
    torch_by_a_call,
    cupy_by_a_call,
    the_current_stream_is_respected_by_a_call,
    a_capture_of_a_call_stays_valid,
)


def check_arrays(given: argparse.Namespace) -> Section:  # noqa: ARG001  # as the others
    section = Section("arrays")
    device = vyre.open("cuda:0")
    for task in ARRAYS:
        section.checked += 1
        try:
            task(device)
        except Exception:  # noqa: BLE001  # whatever it was, it is what we look for
            section.failed.append(f"{task.__name__}: {traceback.format_exc(limit=-3).strip()}")
    return section


# -- times of single launches


TIMING: dict[str, dict[str, str]] = {
    "gated_times_are_those_of_many_in_a_row": {},
    "a_gate_outlasts_loads_and_waits_of_others": {},
    "an_interrupt_leaves_no_gate_closed": {},
    "a_driver_that_runs_one_by_one_is_not_kept_waiting": {"CUDA_LAUNCH_BLOCKING": "1"},
    "a_capture_elsewhere_stays_valid": {},
}
HANGS_S = 60.0
"""More than any of them takes; it ends one that hangs."""


def check_timing(given: argparse.Namespace) -> Section:  # noqa: ARG001  # as the others
    """Each task of `cuda_timing.py`, in a process of its own."""
    section = Section("timing")
    script = str(Path(__file__).with_name("cuda_timing.py"))
    for task, variables in TIMING.items():
        section.checked += 1
        print(f"  {task.replace('_', ' ')} ...", flush=True)  # each may take up to a minute
        try:
            done = subprocess.run(  # noqa: S603  # our own script
                [sys.executable, script, task],
                env=settings.for_child(variables),
                capture_output=True,
                text=True,
                timeout=HANGS_S,
            )
        except subprocess.TimeoutExpired:
            section.failed.append(f"{task}: it hangs")
            continue
        if done.returncode:
            section.failed.append(f"{task}: {done.stderr.strip()[-800:]}")
        else:
            section.figures |= json.loads(done.stdout.splitlines()[-1])
    return section


# -- what a launch costs


def cost_us(task: Callable[[], Any], finish: Callable[[], Any], rounds: int = 200) -> list[float]:
    """Host time of one launch, a figure for each of many short bursts that fit the queue."""
    found = []
    for _ in range(rounds):
        finish()
        began = time.perf_counter_ns()
        for _ in range(100):
            task()
        found.append((time.perf_counter_ns() - began) / 100 / 1000)
    return found


def core_launch(source: str, entry: str, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """The same kernel by cuda.core."""
    from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

    device = Device(0)
    device.set_current()
    options = ProgramOptions(arch=f"sm_{device.arch}", fma=False)
    kernel = Program(source, "c++", options).compile("cubin").get_kernel(entry)
    config, stream = LaunchConfig(grid=1, block=256), device.default_stream
    return lambda: launch(stream, config, kernel, *arguments)


def check_cost(given: argparse.Namespace) -> Section:  # noqa: ARG001  # as the others
    section = Section("cost")
    device = vyre.open("cuda:0")
    backend: Any = device.backend
    binary = saxpy_binary(device)
    arrays = [device.array(np.ones(256, np.float32)) for _ in range(3)]
    words = words_of(binary.layout, (256, 1, 1), dict.fromkeys(("x", "y", "out"), (256,)))
    values = [array.argument for array in arrays] + [np.float32(2.5)]
    place = (binary, (1, 1, 1), (256, 1, 1), words)
    bound, fixed = backend.bind(*place), backend.fix(*place, values)
    x, y, out = arrays
    plain = (
        'extern "C" __global__ void k(const float* x, const float* y, float* out, float a)'
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < 256) out[i] = a * x[i] + y[i]; }"
    )
    tasks: dict[str, Callable[[], Any]] = {
        "fixed": fixed,
        "bound": lambda: bound(values),
        "launch": lambda: backend.launch(*place[:3], values, words),
        "prepared": kernels.saxpy.prepare(x, y, a=2.5, out=out),
        "call on Vyre's arrays": lambda: kernels.saxpy(x, y, a=2.5, out=out),
    }
    more: dict[str, Callable[[], Callable[[], Any]]] = {
        "cuda.core.launch": lambda: core_launch(plain, "k", tuple(values)),
        "call on torch's": torch_call,
        "call on CuPy's": cupy_call,
        "timed launch": lambda: lambda: backend.launch(*place[:3], values, words, timed=True),
    }
    for name, make in more.items():
        try:
            tasks[name] = make()
            tasks[name]()
        except Exception as error:  # noqa: BLE001  # shown, and the rest goes on
            tasks.pop(name, None)
            section.failed.append(f"{name}: {error!r}")
    found: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(5):  # in turns, so that a slow moment falls on all
        for name, task in tasks.items():
            found[name] += cost_us(task, device.synchronize, 40)
    section.checked = len(tasks)
    section.figures = {name: round(median(times), 3) for name, times in found.items()}
    section.figures["first dispatch, ms"] = first_dispatch_ms()
    section.figures |= compiling_ms()
    return section


def compiling_ms() -> dict[str, float]:
    """What NVRTC takes for one code of gelu and for five: as one program, or each on a thread."""
    program = kernels.gelu.program
    facts, given = analyse(program), nvrtc.options("sm_90")
    codes = (Code(items=4, vector=4, checked=False), *CODES[:3], Code(items=8))
    sources = [emit(program, code, CUDA, facts, f"k{n}") for n, code in enumerate(codes)]

    def on_threads() -> tuple[float, float]:
        began, ended = time.perf_counter(), {}

        def compile_one(number: int) -> None:
            nvrtc.compile(sources[number].text, given)
            ended[number] = time.perf_counter() - began

        threads = [threading.Thread(target=compile_one, args=(n,)) for n in range(len(codes))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return ended[0], max(ended.values())

    def alone(text: str) -> float:
        began = time.perf_counter()
        nvrtc.compile(text, given)
        return time.perf_counter() - began

    one = min(alone(sources[0].text) for _ in range(5))
    five = min(alone(bundle(sources)) for _ in range(3))
    apart_s = [on_threads() for _ in range(3)]
    found = {
        "NVRTC, one code": one,
        "NVRTC, five codes": five,
        "NVRTC, five threads, its first": min(first for first, _ in apart_s),
        "NVRTC, five threads, all": min(last for _, last in apart_s),
    }
    return {f"{name}, ms": round(1e3 * seconds, 1) for name, seconds in found.items()}


def torch_call() -> Callable[[], Any]:
    import torch

    x, y, out = (torch.ones(256, device="cuda") for _ in range(3))
    return lambda: kernels.saxpy(x, y, a=2.5, out=out)


def cupy_call() -> Callable[[], Any]:
    import cupy

    x, y, out = (cupy.ones(256, cupy.float32) for _ in range(3))
    return lambda: kernels.saxpy(x, y, a=2.5, out=out)


def first_dispatch_ms() -> float:
    """A kernel that no cache holds, on arrays that are there: until its result is."""

    @vyre.kernel
    def fresh(x: vyre.In[vyre.f32], out: vyre.Out[vyre.f32]) -> None:
        i = vyre.gid()
        out[i] = x[i] * SALT + 1.5

    device = vyre.open("cuda:0")
    x = device.array(np.ones(1000, np.float32))
    device.synchronize()
    began = time.perf_counter()
    np.asarray(fresh(x))
    return round((time.perf_counter() - began) * 1000, 1)


SALT = float(np.float32(int.from_bytes(os.urandom(3), "little")))
SECTIONS = {
    "kernels": check_kernels,
    "teams": check_teams,
    "programs": check_programs,
    "arrays": check_arrays,
    "timing": check_timing,
    "cost": check_cost,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(SECTIONS))
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=400)
    parser.add_argument("--processes", type=int, default=min(12, os.cpu_count() or 1))
    parser.add_argument("--device", default="cuda:0", help="for kernels and programs")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    sections = []
    for name in given.only.split(","):
        began = time.monotonic()
        section = SECTIONS[name](given)
        section.seconds = round(time.monotonic() - began, 1)
        sections.append(section)
        for line in section.failed[:40]:
            print(f"{name}: {line}", flush=True)
    info = vyre.open(given.device).info
    if given.json:
        about = f"{info.model}, driver {info.driver}, {info.compiler}"
        provenance.save(given.json, [vars(one) for one in sections], device=about)
    print(f"\n{info.model}, driver {info.driver}, {info.compiler}")
    for one in sections:
        print(f"{one.name:10} {one.checked:6} checked {len(one.failed):4} failed {one.seconds:8} s")
        if one.name in ("timing", "cost"):
            for name, value in one.figures.items():
                print(f"    {name:36} {value}")
    return 1 if any(one.failed for one in sections) else 0


if __name__ == "__main__":
    sys.exit(main())
