"""Asks a CUDA device how short launches can be timed alone, and what loading code costs callers.

    PYTHONPATH=src python scripts/gpu_experiments.py --only times,felt,costs,loads,gil,live,eager

times   ways to time one launch, on idle and busy streams, against graph replays
felt    what timing every launch adds to the device's own time
costs   what each call of the driver costs the host
loads   the calls of one thread while another loads cubins, by each way to load
eager   the same where CUDA_MODULE_LOADING=EAGER
gil     the calls of one thread while another works in Python
live    slow calls of a program that learns, and what ran beside them

Every experiment stands alone: one that fails says so, and the others go on. Tables are printed, and
everything is written to experiments.json in $OUT, or in the working directory.
"""

# ruff: noqa: BLE001, TID251, TRY004  # one experiment that fails must not end the others

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

os.environ["VYRE_CACHE_DIR"] = tempfile.mkdtemp()  # nothing is known beforehand

import numpy as np
from cuda.bindings import driver

from vyre import kernels
from vyre.analysis import analyse
from vyre.backend.base import Job, Unbuilt
from vyre.backend.cuda import found, nvrtc
from vyre.emit import CUDA, bundle, emit
from vyre.ir.types import DataType
from vyre.model import Code, Schedule
from vyre.plan.geometry import tile_grid
from vyre.runtime.devices.launcher import words_of

POWERS = (14, 16, 18, 19, 20, 21, 22, 23)
SCHEDULES = (
    ("256", Schedule((256, 1, 1), Code())),
    ("128v4", Schedule((128, 1, 1), Code(items=4, vector=4, checked=False))),
    ("1024i8", Schedule((1024, 1, 1), Code(items=8))),
)
MORE = """
extern "C" __global__ void spin(unsigned long long ns) {
    unsigned long long begun, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begun));
    do { asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); } while (now - begun < ns);
}
extern "C" __global__ void empty() {}
"""
TOGETHER = 100  # launches of a graph whose replays are the truth
LOADED = 20  # cubins

clock = time.perf_counter_ns


def ok(answer: tuple[Any, ...]) -> Any:
    """What a call of the driver gave."""
    code, *values = answer
    if code:
        raise RuntimeError(f"the driver answered {code!r}")
    return values[0] if len(values) == 1 else values


def quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return float(ordered[min(len(ordered) - 1, int(share * len(ordered)))])


def spread(values: Sequence[float]) -> float:
    """The median distance from the median."""
    middle = median(values)
    return median(abs(one - middle) for one in values)


# -- kernels and streams


@dataclass
class Kernel:
    """A launch that is ready but for its stream."""

    name: str
    function: Any
    grid: tuple[int, int, int]
    workgroup: tuple[int, int, int]
    address: int
    kept: Any  # what lies at the address
    truth_ns: float = 0.0
    ready: Any = None  # a graph of its own
    node_params: Any = field(default=None, repr=False)

    def launch(self, stream: Any) -> tuple[Any, ...]:
        answer: tuple[Any, ...] = driver.cuLaunchKernel(
            self.function, *self.grid, *self.workgroup, 0, stream, self.address, 0
        )
        return answer

    def params(self) -> Any:
        if self.node_params is None:
            made = driver.CUDA_KERNEL_NODE_PARAMS()
            made.func = self.function
            made.gridDimX, made.gridDimY, made.gridDimZ = self.grid
            made.blockDimX, made.blockDimY, made.blockDimZ = self.workgroup
            made.sharedMemBytes = 0
            made.kernelParams = self.address
            self.node_params = made
        return self.node_params


class Bench:
    """The device with its kernels, streams and events."""

    def __init__(self) -> None:
        (self.backend, *_) = found(Path(tempfile.mkdtemp()), driver)
        self.backend.synchronize()
        self.context = self.backend._context
        with self.context.current():
            self.stream = ok(driver.cuStreamCreate(0))
            self.legacy = self.backend._legacy
            self.pair = (ok(driver.cuEventCreate(0)), ok(driver.cuEventCreate(0)))
            image = self.compiled(MORE)
            module = ok(driver.cuModuleLoadData(image))
            self.spin_function = ok(driver.cuModuleGetFunction(module, b"spin"))
            self.empty_function = ok(driver.cuModuleGetFunction(module, b"empty"))
            for function in (self.spin_function, self.empty_function):
                ok(driver.cuFuncLoad(function))
        self._spin_ns = ctypes.c_uint64(0)
        self._spin_arguments = (ctypes.c_void_p * 1)(ctypes.addressof(self._spin_ns))
        self._memory: dict[str, Any] = {}

    def compiled(self, text: str) -> bytes:
        options = nvrtc.options(self.backend._builder._architecture, fast_math=False)
        made = nvrtc.compile(text, options)
        if isinstance(made, Unbuilt):
            raise RuntimeError(f"{made.reason} {made.log}")
        return made.image

    def spin(self, us: float, stream: Any) -> None:
        """Keep one thread of the device busy for so long."""
        self._spin_ns.value = int(1000 * us)
        at = ctypes.addressof(self._spin_arguments)
        ok(driver.cuLaunchKernel(self.spin_function, 1, 1, 1, 1, 1, 1, 0, stream, at, 0))

    def wait(self, stream: Any) -> None:
        ok(driver.cuStreamSynchronize(stream))

    def saxpys(self, powers: Sequence[int] = POWERS) -> list[Kernel]:
        """Saxpy at these sizes, with each schedule, and two kernels that do nothing."""
        program = kernels.saxpy.program
        facts = analyse(program)
        built = self.backend.build([Job(program, one.code, facts) for _, one in SCHEDULES])
        for one in built:
            if isinstance(one, Unbuilt):
                raise RuntimeError(f"{one.reason} {one.log}")
        buffers = [decl for decl in program.buffers if not decl.is_scalar_argument]
        most = 4 << max(powers)
        for decl in buffers:
            if decl.name not in self._memory:
                memory = self._memory[decl.name] = self.backend.alloc(4 << max(POWERS))
                self.backend.clear(memory, most)
        self.backend.synchronize()
        made = []
        for power in powers:
            size = 1 << power
            for (name, schedule), binary in zip(SCHEDULES, built, strict=True):
                arguments = [self._argument(program.buffer(one)) for one in binary.arguments]
                shapes = {decl.name: (size,) for decl in buffers}
                words = words_of(binary.layout, (size, 1, 1), shapes)
                frame = binary.frames.make(words)
                binary.frames.pack(frame[0], 0, *arguments)
                grid = tile_grid((size, 1, 1), schedule)
                made.append(
                    Kernel(
                        f"2^{power} {name}",
                        binary.function,
                        grid,
                        schedule.workgroup,
                        frame[1],
                        frame,
                    )
                )
        return made

    def empties(self) -> list[Kernel]:
        return [
            Kernel("empty 1", self.empty_function, (1, 1, 1), (32, 1, 1), 0, None),
            Kernel("empty 1024", self.empty_function, (1024, 1, 1), (256, 1, 1), 0, None),
        ]

    def _argument(self, decl: Any) -> Any:
        if decl.is_scalar_argument:
            return np.float32(2.5) if decl.element == DataType.F32 else np.uint32(2)
        return self._memory[decl.name].address

    def truth(self, kernel: Kernel) -> float:
        """Nanoseconds of one launch among many in a row, by graph replays."""
        blocks = self.backend._blocks
        return median(blocks.time(kernel.launch, TOGETHER) for _ in range(5))


# -- ways to time one launch


class Watch:
    """A graph of three nodes: an event, a kernel, an event."""

    def __init__(self, kernel: Kernel) -> None:
        self.pair = (ok(driver.cuEventCreate(0)), ok(driver.cuEventCreate(0)))
        graph = ok(driver.cuGraphCreate(0))
        self.before = ok(driver.cuGraphAddEventRecordNode(graph, [], 0, self.pair[0]))
        self.node = ok(driver.cuGraphAddKernelNode(graph, [self.before], 1, kernel.params()))
        self.after = ok(driver.cuGraphAddEventRecordNode(graph, [self.node], 1, self.pair[1]))
        self.ready = ok(driver.cuGraphInstantiate(graph, 0))
        self.graph = graph

    def destroy(self) -> None:
        ok(driver.cuGraphExecDestroy(self.ready))
        ok(driver.cuGraphDestroy(self.graph))
        for event in self.pair:
            ok(driver.cuEventDestroy(event))


@dataclass(frozen=True)
class Timing:
    """One time: the device's, the host's for asking, and whether all was asked before it began."""

    device_ns: float
    host_ns: int
    ahead: bool


class Ways:
    """Ways to time one launch of a kernel on a stream, as it is."""

    def __init__(self, bench: Bench, first: Kernel) -> None:
        self.bench = bench
        self.shared = Watch(first)
        self.other = (ok(driver.cuEventCreate(0)), ok(driver.cuEventCreate(0)))
        self._turn = count()
        self._number = 0
        flags = driver.CU_MEMHOSTALLOC_DEVICEMAP | driver.CU_MEMHOSTALLOC_PORTABLE
        self.word_at = int(ok(driver.cuMemHostAlloc(4096, flags)))
        self.word = ctypes.c_uint32.from_address(self.word_at)
        self.word.value = 0

    def _taken(self, pair: Any, began: int, ended: int) -> Timing:
        not_ready = driver.CUresult.CUDA_ERROR_NOT_READY
        ahead = driver.cuEventQuery(pair[0])[0] == not_ready
        ok(driver.cuEventSynchronize(pair[1]))
        return Timing(ok(driver.cuEventElapsedTime(*pair)) * 1e6, ended - began, ahead)

    def events(self, kernel: Kernel, stream: Any) -> Timing:
        """As it is done today."""
        pair = self.bench.pair
        began = clock()
        driver.cuStreamQuery(stream)
        driver.cuEventRecord(pair[0], stream)
        answer = kernel.launch(stream)
        driver.cuEventRecord(pair[1], stream)
        ended = clock()
        ok(answer)
        return self._taken(pair, began, ended)

    def graph(self, kernel: Kernel, stream: Any) -> Timing:
        """A graph for all kernels, told anew what to launch."""
        watch, params = self.shared, kernel.params()
        began = clock()
        told = driver.cuGraphExecKernelNodeSetParams(watch.ready, watch.node, params)
        answer = driver.cuGraphLaunch(watch.ready, stream)
        ended = clock()
        ok(told)
        ok(answer)
        return self._taken(watch.pair, began, ended)

    def graph_own(self, kernel: Kernel, stream: Any) -> Timing:
        """A graph of its own for each launch, never told anything."""
        if kernel.ready is None:
            kernel.ready = Watch(kernel)
        watch = kernel.ready
        began = clock()
        answer = driver.cuGraphLaunch(watch.ready, stream)
        ended = clock()
        ok(answer)
        return self._taken(watch.pair, began, ended)

    def graph_events(self, kernel: Kernel, stream: Any) -> Timing:
        """A graph for all kernels, told anew what to launch and which events to record."""
        watch, params = self.shared, kernel.params()
        pair = self.other if next(self._turn) % 2 else watch.pair
        record = driver.cuGraphExecEventRecordNodeSetEvent
        began = clock()
        told = driver.cuGraphExecKernelNodeSetParams(watch.ready, watch.node, params)
        first = record(watch.ready, watch.before, pair[0])
        last = record(watch.ready, watch.after, pair[1])
        answer = driver.cuGraphLaunch(watch.ready, stream)
        ended = clock()
        for one in (told, first, last, answer):
            ok(one)
        taken = self._taken(pair, began, ended)
        ok(record(watch.ready, watch.before, watch.pair[0]))
        ok(record(watch.ready, watch.after, watch.pair[1]))
        return taken

    def gate(self, kernel: Kernel, stream: Any) -> Timing:
        """Events as today, behind a gate on the stream that the host opens when all is asked."""
        pair = self.bench.pair
        self._number += 1
        flags = int(driver.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_GEQ)
        began = clock()
        shut = driver.cuStreamWaitValue32(stream, self.word_at, self._number, flags)
        try:
            driver.cuEventRecord(pair[0], stream)
            answer = kernel.launch(stream)
            driver.cuEventRecord(pair[1], stream)
        finally:
            self.word.value = self._number
        ended = clock()
        ok(shut)
        ok(answer)
        return self._taken(pair, began, ended)

    def behind(self, kernel: Kernel, stream: Any) -> Timing:
        """Events as today, behind a kernel that only takes time."""
        pair = self.bench.pair
        began = clock()
        self.bench.spin(12, stream)
        driver.cuEventRecord(pair[0], stream)
        answer = kernel.launch(stream)
        driver.cuEventRecord(pair[1], stream)
        ended = clock()
        ok(answer)
        return self._taken(pair, began, ended)

    def block(self, kernel: Kernel, stream: Any, launches: int) -> Timing:
        """Events around a run of launches; the time of one."""
        pair = self.bench.pair
        began = clock()
        driver.cuEventRecord(pair[0], stream)
        for _ in range(launches):
            answer = kernel.launch(stream)
        driver.cuEventRecord(pair[1], stream)
        ended = clock()
        ok(answer)
        taken = self._taken(pair, began, ended)
        return Timing(taken.device_ns / launches, taken.host_ns // launches, taken.ahead)


Way = Callable[[Kernel, Any], Timing]


def ways_and_states(ways: Ways) -> dict[str, tuple[Way, Callable[[Kernel], Any]]]:
    """What to measure: a way, and what brings a stream into its state and gives it."""
    bench = ways.bench

    def idle(kernel: Kernel, stream: Any = None) -> Any:
        stream = bench.stream if stream is None else stream
        ok(kernel.launch(stream))  # so that caches are as they are in a row
        bench.wait(stream)
        return stream

    def rested(kernel: Kernel) -> Any:
        stream = idle(kernel)
        time.sleep(1e-3)
        return stream

    def busy(kernel: Kernel, us: float = 60) -> Any:
        ok(kernel.launch(bench.stream))
        bench.spin(us, bench.stream)
        return bench.stream

    def legacy(kernel: Kernel) -> Any:
        return idle(kernel, bench.legacy)

    def eight(kernel: Kernel, stream: Any) -> Timing:
        return ways.block(kernel, stream, 8)

    def many(kernel: Kernel, stream: Any) -> Timing:
        return ways.block(kernel, stream, 32)

    return {
        "events idle": (ways.events, idle),
        "graph idle": (ways.graph, idle),
        "graph_own idle": (ways.graph_own, idle),
        "graph_events idle": (ways.graph_events, idle),
        "gate idle": (ways.gate, idle),
        "behind idle": (ways.behind, idle),
        "events rested": (ways.events, rested),
        "graph rested": (ways.graph, rested),
        "gate rested": (ways.gate, rested),
        "events legacy": (ways.events, legacy),
        "graph legacy": (ways.graph, legacy),
        "events busy": (ways.events, busy),
        "graph busy": (ways.graph, busy),
        "block8 busy": (eight, lambda kernel: busy(kernel, 100)),
        "block32 busy": (many, lambda kernel: busy(kernel, 300)),
        "block8 idle": (eight, idle),
        "block32 idle": (many, idle),
    }


def times(bench: Bench, *, rounds: int) -> dict[str, Any]:
    """Every way in every state for every kernel, all taking turns."""
    with bench.context.current():
        some = [*bench.empties(), *bench.saxpys()]
        for kernel in some:
            kernel.truth_ns = bench.truth(kernel)
        ways = ways_and_states(Ways(bench, some[0]))
        errors: dict[str, str] = {}
        for name, (way, state) in tuple(ways.items()):
            try:
                for kernel in some:
                    way(kernel, state(kernel))
            except Exception as error:
                errors[name] = repr(error)
                del ways[name]
                bench.wait(bench.stream)
        taken: dict[str, dict[str, list[Timing]]] = {
            name: {kernel.name: [] for kernel in some} for name in ways
        }
        random, order = Random(1), list(ways)
        gc.disable()
        for _ in range(rounds):
            for kernel in random.sample(some, len(some)):
                random.shuffle(order)
                for name in order:
                    way, state = ways[name]
                    taken[name][kernel.name].append(way(kernel, state(kernel)))
        gc.enable()
        again = {kernel.name: bench.truth(kernel) for kernel in some}
    return {
        "truth_ns": {kernel.name: kernel.truth_ns for kernel in some},
        "truth_again_ns": again,
        "errors": errors,
        "programmatic_event": programmatic(bench, some[-1]),
        "ways": {name: summed(some, by_kernel) for name, by_kernel in taken.items()},
    }


def summed(some: Sequence[Kernel], by_kernel: dict[str, list[Timing]]) -> dict[str, Any]:
    """What a way says of each kernel, and how good that is on the whole."""
    rows = {}
    for kernel in some:
        taken = by_kernel[kernel.name]
        device = [one.device_ns for one in taken]
        rows[kernel.name] = {
            "ns": median(device),
            "mad_ns": spread(device),
            "p90_ns": quantile(device, 0.9),
            "least_ns": min(device),
            "bias_ns": median(device) - kernel.truth_ns,
            "host_ns": median(one.host_ns for one in taken),
            "ahead": sum(one.ahead for one in taken) / len(taken),
        }
    seen = np.array([rows[kernel.name]["ns"] for kernel in some])
    true = np.array([kernel.truth_ns for kernel in some])
    slope, fixed = np.polyfit(true, seen, 1, w=1.0 / true)
    ticks = sorted({round(one.device_ns) for taken in by_kernel.values() for one in taken})
    return {
        "kernels": rows,
        "fixed_ns": float(fixed),
        "slope": float(slope),
        "worst_ns": float(np.abs(seen - fixed - slope * true).max()),
        "bias_ns": float(np.median(seen - true)),
        "mad_ns": median(row["mad_ns"] for row in rows.values()),
        "host_ns": median(row["host_ns"] for row in rows.values()),
        "ahead": float(np.mean([row["ahead"] for row in rows.values()])),
        "right": right(some, by_kernel),
        "tick_ns": min((b - a for a, b in pairwise(ticks)), default=0),
    }


def right(some: Sequence[Kernel], by_kernel: dict[str, list[Timing]]) -> float | None:
    """How often one time of each puts two schedules of a size in order, 3 % or more apart."""
    shares = []
    for one in some:
        for other in some:
            if one.name.split()[0] != other.name.split()[0] or one.name.startswith("empty"):
                continue
            if one.truth_ns * 1.03 < other.truth_ns:
                quick = np.array([taken.device_ns for taken in by_kernel[one.name]])
                slow = np.array([taken.device_ns for taken in by_kernel[other.name]])
                less = (quick[:, None] < slow[None, :]).mean()
                shares.append(less + (quick[:, None] == slow[None, :]).mean() / 2)
    return float(np.mean(shares)) if shares else None


def programmatic(bench: Bench, kernel: Kernel) -> str:
    """Whether a launch's own completion event can be one that keeps time."""
    try:
        attribute = driver.CUlaunchAttribute()
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT
        attribute.value.launchCompletionEvent.event = bench.pair[0]
        attribute.value.launchCompletionEvent.flags = 0
        config = driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = kernel.grid
        config.blockDimX, config.blockDimY, config.blockDimZ = kernel.workgroup
        config.hStream = bench.stream
        config.attrs, config.numAttrs = [attribute], 1
        with bench.context.current():
            (code,) = driver.cuLaunchKernelEx(config, kernel.function, kernel.address, 0)
            bench.wait(bench.stream)
        return str(getattr(code, "name", code))
    except Exception as error:
        return repr(error)


def show_times(result: dict[str, Any]) -> None:
    print(
        f"{'way':18}{'bias':>7}{'fixed':>7}{'slope':>7}{'worst':>7}{'mad':>6}{'host':>7}"
        f"{'ahead':>6}{'right':>6}{'tick':>5}   (ns)"
    )
    for name, row in result["ways"].items():
        share = "-" if row["right"] is None else f"{row['right']:.3f}"
        print(
            f"{name:18}{row['bias_ns']:7.0f}{row['fixed_ns']:7.0f}{row['slope']:7.3f}"
            f"{row['worst_ns']:7.0f}{row['mad_ns']:6.0f}{row['host_ns']:7.0f}{row['ahead']:6.2f}"
            f"{share:>6}{row['tick_ns']:5.0f}"
        )
    main = [
        name
        for name in (
            "events idle",
            "graph idle",
            "graph rested",
            "gate idle",
            "events busy",
            "graph busy",
            "block32 busy",
        )
        if name in result["ways"]
    ]
    print(f"{'median +- mad, ns':12}{'truth':>14}" + "".join(f"{name:>14}" for name in main))
    for kernel, truth in result["truth_ns"].items():
        cells = [result["ways"][name]["kernels"][kernel] for name in main]
        shown = "".join(f"{cell['ns']:>9.0f}{cell['mad_ns']:>5.0f}" for cell in cells)
        print(f"{kernel:12}{truth:>7.0f}{result['truth_again_ns'][kernel]:>7.0f}{shown}")
    print("programmatic event:", result["programmatic_event"], "errors:", result["errors"])


# -- what timing adds


def felt(bench: Bench) -> dict[str, Any]:
    """Device time of many launches enqueued ahead, each timed by some way."""
    launches, found_ns = 64, {}
    with bench.context.current():
        kernel = bench.saxpys((18,))[0]
        empty = bench.empties()[0]
        watch = Watch(kernel)
        start, end, *inner = (ok(driver.cuEventCreate(0)) for _ in range(4))

        def plain(one: Kernel) -> None:
            one.launch(bench.stream)

        def events(one: Kernel) -> None:
            driver.cuEventRecord(inner[0], bench.stream)
            one.launch(bench.stream)
            driver.cuEventRecord(inner[1], bench.stream)

        def graph(one: Kernel) -> None:
            driver.cuGraphExecKernelNodeSetParams(watch.ready, watch.node, one.params())
            driver.cuGraphLaunch(watch.ready, bench.stream)

        ways = {"plain": plain, "events": events, "graph": graph}
        for one in (kernel, empty):
            taken: dict[str, list[float]] = {name: [] for name in ways}
            for _ in range(30):
                for name, way in ways.items():
                    bench.spin(3000, bench.stream)
                    ok(driver.cuEventRecord(start, bench.stream))
                    for _ in range(launches):
                        way(one)
                    ok(driver.cuEventRecord(end, bench.stream))
                    ok(driver.cuEventSynchronize(end))
                    taken[name].append(1e6 * ok(driver.cuEventElapsedTime(start, end)) / launches)
            found_ns[one.name] = {name: median(some) for name, some in taken.items()}
    return found_ns


def costs(bench: Bench) -> dict[str, Any]:
    """Host nanoseconds of calls of the driver, in Python."""
    stream, pair = bench.stream, bench.pair
    found_ns: dict[str, float] = {}

    def each(name: str, call: Callable[[], Any], times: int = 200, *, busy: bool = False) -> None:
        try:
            taken = []
            for _ in range(times):
                if busy:
                    bench.spin(100, stream)
                began = clock()
                call()
                taken.append(clock() - began)
                if busy or len(taken) % 50 == 0:
                    bench.wait(stream)
            found_ns[name] = median(taken)
        except Exception as error:
            print(f"costs of {name}: {error!r}")

    with bench.context.current():
        kernel = bench.saxpys((14,))[0]
        watch, made = Watch(kernel), []
        context = bench.context
        each("nothing", lambda: None)
        each("launch idle", lambda: kernel.launch(stream))
        each("launch busy", lambda: kernel.launch(stream), busy=True)
        each("record", lambda: driver.cuEventRecord(pair[0], stream))
        each("stream query idle", lambda: driver.cuStreamQuery(stream))
        each("stream query busy", lambda: driver.cuStreamQuery(stream), busy=True)
        each("event query done", lambda: driver.cuEventQuery(pair[0]))
        each("elapsed", lambda: driver.cuEventElapsedTime(*pair))
        each("is capturing", lambda: driver.cuStreamIsCapturing(stream))
        each("context current", lambda: context.current().__enter__())
        each(
            "set params",
            lambda: driver.cuGraphExecKernelNodeSetParams(watch.ready, watch.node, kernel.params()),
        )
        each("graph launch idle", lambda: driver.cuGraphLaunch(watch.ready, stream))
        each("graph launch busy", lambda: driver.cuGraphLaunch(watch.ready, stream), busy=True)
        each(
            "set event",
            lambda: driver.cuGraphExecEventRecordNodeSetEvent(
                watch.ready, watch.before, watch.pair[0]
            ),
        )
        each("make a watch idle", lambda: made.append(Watch(kernel)), 50)
        each("make a watch busy", lambda: made.append(Watch(kernel)), 50, busy=True)
        each("destroy a watch", lambda: made.pop().destroy(), 50)
        each("node params", lambda: replaced(kernel))
    return found_ns


def replaced(kernel: Kernel) -> Any:
    kernel.node_params = None
    return kernel.params()


def show_felt(result: dict[str, Any]) -> None:
    for name, row in result.items():
        print(name, {way: round(ns) for way, ns in row.items()}, "ns a launch, enqueued ahead")


def show_costs(result: dict[str, Any]) -> None:
    print(", ".join(f"{name} {ns / 1000:.2f}" for name, ns in result.items()), "(us, median)")


# -- callers


@dataclass
class Calls:
    """Launches of one thread: when each began, and how long it took its host."""

    began: list[int] = field(default_factory=list)
    took: list[int] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        us = [one / 1000 for one in self.took]
        return {
            "calls": len(us),
            "p50_us": quantile(us, 0.5),
            "p99_us": quantile(us, 0.99),
            "p999_us": quantile(us, 0.999),
            "max_us": max(us),
            "over_50us": sum(one > 50 for one in us),
            "over_1ms": sum(one > 1000 for one in us),
            "lost_ms": sum(one - 50 for one in us if one > 50) / 1000,
        }


def flat_out(
    bench: Bench, launch: Callable[[], Any], calls: Calls, until: Callable[[], bool]
) -> None:
    """Launch as fast as the host can on a stream that is kept busy, 64 to 128 launches ahead."""
    stream = bench.stream
    ring = [ok(driver.cuEventCreate(0)) for _ in range(3)]
    began, took = calls.began.append, calls.took.append
    for turn in count():
        for _ in range(64):
            start = clock()
            launch()
            took(clock() - start)
            began(start)
        ok(driver.cuEventRecord(ring[turn % 3], stream))
        if until():
            break
        if turn >= 1:
            ok(driver.cuEventSynchronize(ring[(turn - 1) % 3]))
    bench.wait(stream)


def beside(
    bench: Bench, launch: Callable[[], Any], work: Callable[[], object], calls: Calls
) -> None:
    """Launch flat out while another thread works."""
    done = threading.Event()
    failed: list[str] = []

    def run() -> None:
        try:
            time.sleep(5e-3)
            with bench.context.current():
                work()
            time.sleep(5e-3)
        except Exception:
            failed.append(traceback.format_exc())
        finally:
            done.set()

    thread = threading.Thread(target=run)
    gc.collect()
    gc.disable()
    thread.start()
    try:
        flat_out(bench, launch, calls, done.is_set)
    finally:
        thread.join()
        gc.enable()
    if failed:
        raise RuntimeError(failed[0])


# -- loading

Log = list[tuple[str, int, int]]
Load = Callable[[bytes, Sequence[bytes], Log], Any]


def step(log: Log, name: str, call: Callable[..., Any], *arguments: Any) -> Any:
    began = clock()
    answer = call(*arguments)
    log.append((name, began, clock()))
    return ok(answer)


def describe(function: Any, log: Log) -> None:
    names = driver.CUfunction_attribute
    for name in (
        names.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
        names.CU_FUNC_ATTRIBUTE_NUM_REGS,
        names.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
        names.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
    ):
        step(log, "attribute", driver.cuFuncGetAttribute, name, function)


def by_module(image: bytes, entries: Sequence[bytes], log: Log) -> Any:
    """As it is done today."""
    module = step(log, "load", driver.cuModuleLoadData, image)
    for entry in entries:
        function = step(log, "get", driver.cuModuleGetFunction, module, entry)
        step(log, "func load", driver.cuFuncLoad, function)
        describe(function, log)
    return module


def by_module_later(image: bytes, entries: Sequence[bytes], log: Log) -> Any:
    """Without asking for the function itself."""
    module = step(log, "load", driver.cuModuleLoadData, image)
    for entry in entries:
        step(log, "get", driver.cuModuleGetFunction, module, entry)
    return module


def by_module_and_unload(image: bytes, entries: Sequence[bytes], log: Log) -> Any:
    """As today, and given back, so that its memory can serve again."""
    module = by_module(image, entries, log)
    step(log, "unload", driver.cuModuleUnload, module)


def by_library(image: bytes, entries: Sequence[bytes], log: Log) -> Any:
    return _by_library(image, entries, log, [])


def by_library_preserved(image: bytes, entries: Sequence[bytes], log: Log) -> Any:
    """The image stays where it is, so that nothing is copied."""
    _kept.append(image)
    return _by_library(image, entries, log, [driver.CUlibraryOption.CU_LIBRARY_BINARY_IS_PRESERVED])


_kept: list[Any] = []


def _by_library(image: bytes, entries: Sequence[bytes], log: Log, options: list[Any]) -> Any:
    values = [1 for _ in options]
    library = step(
        log, "load", driver.cuLibraryLoadData, image, [], [], 0, options, values, len(options)
    )
    for entry in entries:
        kernel = step(log, "get", driver.cuLibraryGetKernel, library, entry)
        function = step(log, "kernel to function", driver.cuKernelGetFunction, kernel)
        step(log, "func load", driver.cuFuncLoad, function)
        describe(function, log)
    return library


LOADS: dict[str, Load] = {
    "module": by_module,
    "module, no func load": by_module_later,
    "module, unloaded": by_module_and_unload,
    "library": by_library,
    "library, preserved": by_library_preserved,
}


def jobs() -> list[Job]:
    """Programs and codes to load, all different."""
    made = []
    for items in (1, 2, 4, 8):
        for kernel in kernels.ALL:
            program = kernel.program
            job = Job(program, Code(items=items), analyse(program))
            try:
                emit(job.program, job.code, CUDA, job.facts)
            except Exception:  # noqa: S112  # a code that this program does not allow
                continue
            made.append(job)
    return made[:LOADED]


@dataclass
class Images:
    """Cubins of one kernel each, and one of all."""

    jobs: list[Job]
    single: list[tuple[bytes, list[bytes]]]
    together: tuple[bytes, list[bytes]]


def images(bench: Bench) -> Images:
    wanted = jobs()
    sources = [
        emit(job.program, job.code, CUDA, job.facts, f"vyre_kernel_{number}")
        for number, job in enumerate(wanted)
    ]
    texts = [*(source.text for source in sources), bundle(sources)]
    with ThreadPoolExecutor(8) as pool:
        *single, together = pool.map(bench.compiled, texts)
    entries = [source.entry.encode() for source in sources]
    return Images(
        wanted,
        [(image, [entry]) for image, entry in zip(single, entries, strict=True)],
        (together, entries),
    )


def loads(bench: Bench, *, rounds: int) -> dict[str, Any]:
    """Loading alone, behind running work, and beside a caller."""
    with bench.context.current():
        ready = images(bench)
        kernel = bench.saxpys((21,))[0]
        alone, behind = loaded_alone(bench, ready)

    def launch() -> None:
        answer = kernel.launch(bench.stream)
        if answer[0]:
            ok(answer)

    pieces: dict[str, Callable[[Log], None]] = {"nothing": lambda log: _paced(log, [lambda: 0])}
    for name, load in LOADS.items():
        pieces[name] = lambda log, load=load: _paced(
            log, [lambda one=one: load(*one, log) for one in ready.single]
        )
    for name, load in (("together, module", by_module), ("together, library", by_library)):
        pieces[name] = lambda log, load=load: _paced(log, [lambda: load(*ready.together, log)])
    pieces["backend.build"] = lambda log: _paced(
        log, [lambda job=job: _built(bench, job, log) for job in ready.jobs]
    )
    bench.backend.compile_only(ready.jobs[:1])
    for job in ready.jobs:  # so that builds find everything on disk
        bench.backend.compile_only([job])
    calls: dict[str, Calls] = {name: Calls() for name in pieces}
    logs: dict[str, Log] = {name: [] for name in pieces}
    errors: dict[str, str] = {}
    for _ in range(rounds):
        for name, piece in pieces.items():
            if name in errors:
                continue
            try:
                with bench.context.current():
                    beside(bench, launch, partial(piece, logs[name]), calls[name])
            except Exception as error:
                errors[name] = str(error)[-400:]
    return {
        "mode": os.environ.get("CUDA_MODULE_LOADING", "default"),
        "bytes": {
            "single": [len(image) for image, _ in ready.single],
            "together": len(ready.together[0]),
        },
        "alone_us": alone,
        "behind_5ms_us": behind,
        "beside": {
            name: calls[name].summary()
            | {"steps": steps(logs[name]), "blamed": blamed(calls[name], logs[name])}
            for name in pieces
            if name not in errors and calls[name].took
        },
        "errors": errors,
    }


def _paced(log: Log, work: Sequence[Callable[[], Any]]) -> None:
    """Pieces of work, with rests between them as a learner has."""
    for number in range(LOADED):
        if number < len(work):
            began = clock()
            work[number]()
            log.append(("whole", began, clock()))
        time.sleep(1e-3)


def _built(bench: Bench, job: Job, log: Log) -> None:
    began = clock()
    (built,) = bench.backend.build([job])
    log.append(("build", began, clock()))
    _kept.append(built)


def loaded_alone(bench: Bench, ready: Images) -> tuple[dict[str, Any], dict[str, Any]]:
    """Each way on an idle device, and while a kernel of 5 ms runs on another stream."""
    alone: dict[str, Any] = {}
    behind: dict[str, Any] = {}
    flags = int(driver.CUstream_flags.CU_STREAM_NON_BLOCKING)
    apart = ok(driver.cuStreamCreate(flags))
    for name, load in LOADS.items():
        for into, busy in ((alone, None), (behind, apart), (behind, bench.stream)):
            key = name if busy is not bench.stream else f"{name}, blocking stream"
            log: Log = []
            try:
                for image, entries in ready.single[:8]:
                    bench.backend.synchronize()
                    if busy is not None:
                        bench.spin(5000, busy)
                    load(image, entries, log)
                into[key] = steps(log)
            except Exception as error:
                into[key] = repr(error)
            bench.backend.synchronize()
    return alone, behind


def steps(log: Log) -> dict[str, Any]:
    """Microseconds of each step: the median and the longest."""
    by_name: dict[str, list[float]] = {}
    for name, began, ended in log:
        by_name.setdefault(name, []).append((ended - began) / 1000)
    return {name: (round(median(some)), round(max(some))) for name, some in by_name.items()}


def blamed(calls: Calls, log: Log) -> dict[str, Any]:
    """Slow calls by the step that ran longest beside each: how many, and the longest in us."""
    found_us: dict[str, list[float]] = {}
    inner = sorted(one for one in log if one[0] != "whole")
    inner.sort(key=lambda one: one[1])
    starts = [one[1] for one in inner]
    for began, took in zip(calls.began, calls.took, strict=True):
        if took > 50_000:
            ended, best, most = began + took, "nothing", 0
            for name, first, last in inner[max(0, bisect_left(starts, began) - 3) :]:
                if first > ended:
                    break
                overlap = min(last, ended) - max(first, began)
                if overlap > most:
                    best, most = name, overlap
            found_us.setdefault(best, []).append(took / 1000)
    return {name: (len(some), round(max(some))) for name, some in found_us.items()}


def show_loads(result: dict[str, Any]) -> None:
    size = result["bytes"]
    print(
        f"CUDA_MODULE_LOADING={result['mode']}; cubins of {median(size['single'])} bytes, "
        f"together {size['together']}; errors {result['errors']}"
    )
    for name in ("alone_us", "behind_5ms_us"):
        for way, row in result[name].items():
            print(f"  {name[:-3]:11} {way:34} {row}")
    show_beside(result["beside"])
    for name, row in result["beside"].items():
        print(f"  {name:22} steps {row['steps']} slow calls {row['blamed']}")


def show_beside(rows: dict[str, Any]) -> None:
    print(
        f"{'beside':34}{'calls':>8}{'p50':>7}{'p99':>8}{'p99.9':>9}{'max us':>9}"
        f"{'>50us':>6}{'>1ms':>5}{'lost ms':>8}"
    )
    for name, row in rows.items():
        print(
            f"{name:34}{row['calls']:>8}{row['p50_us']:>7.2f}{row['p99_us']:>8.1f}"
            f"{row['p999_us']:>9.1f}{row['max_us']:>9.0f}{row['over_50us']:>6}"
            f"{row['over_1ms']:>5}{row['lost_ms']:>8.1f}"
        )


# -- the interpreter's lock


def neighbours() -> dict[str, Callable[[], object]]:
    """Pieces of work of the learner's kind, each some milliseconds long at most."""
    random = np.random.default_rng(0)
    matrix = random.standard_normal((128, 128))
    matrix = matrix @ matrix.T + 128 * np.eye(128)
    told = {"rows": [{"name": f"row {n}", "values": [n, n / 3, str(n)]} for n in range(3000)]}
    base = sqlite3.connect(
        Path(tempfile.mkdtemp()) / "rows.sqlite3", check_same_thread=False, isolation_level=None
    )
    base.execute("PRAGMA journal_mode=WAL")
    base.execute("CREATE TABLE rows (name TEXT, value REAL)")
    program = kernels.gelu.program
    facts = analyse(program)

    def python() -> int:
        until, total = time.perf_counter() + 3e-3, 0
        while time.perf_counter() < until:
            total += 1
        return total

    def belief() -> Any:
        column = matrix[:, 3]
        for _ in range(4):
            lower = matrix - np.outer(column * 1e-3, column)
            np.linalg.solve(lower, matrix[:, :8])
        return np.linalg.eigh(matrix[:32, :32])

    def written() -> None:
        base.execute("BEGIN")
        base.executemany("INSERT INTO rows VALUES (?, ?)", [(str(n), n) for n in range(200)])
        base.execute("COMMIT")

    return {
        "sleep": lambda: time.sleep(1e-3),
        "python 3 ms": python,
        "belief": belief,
        "json": lambda: json.loads(json.dumps(told)),
        "sqlite": written,
        "emit": lambda: emit(program, Code(items=4), CUDA, facts),
    }


def gil(bench: Bench, *, seconds: float) -> dict[str, Any]:
    """A caller beside a thread that works in Python, at several switch intervals."""
    with bench.context.current():
        kernel = bench.saxpys((21,))[0]
    unlocked = locked_launch(kernel, bench.stream)

    def launch() -> None:
        kernel.launch(bench.stream)

    ways: list[tuple[str, float, Callable[[], Any]]] = [
        (f"interval {1000 * interval:g} ms", interval, launch) for interval in (5e-3, 5e-4, 5e-5)
    ]
    if unlocked is not None:
        ways.append(("5 ms, lock kept", 5e-3, unlocked))
    rows: dict[str, Any] = {}
    usual = sys.getswitchinterval()
    for name, piece in neighbours().items():
        for label, interval, call in ways:
            pieces: list[int] = []

            def work(piece: Callable[[], object] = piece, pieces: list[int] = pieces) -> None:
                until = time.perf_counter() + seconds
                while time.perf_counter() < until:
                    began = time.thread_time_ns()
                    piece()
                    pieces.append(time.thread_time_ns() - began)
                    time.sleep(1e-3)

            calls = Calls()
            sys.setswitchinterval(interval)
            try:
                with bench.context.current():
                    beside(bench, call, work, calls)
                rows[f"{name}, {label}"] = calls.summary() | {
                    "pieces": len(pieces),
                    "piece_us": median(pieces) / 1000,
                }
            except Exception as error:
                print(f"gil {name}, {label}: {error!r}")
            finally:
                sys.setswitchinterval(usual)
    return rows


def locked_launch(kernel: Kernel, stream: Any) -> Callable[[], Any] | None:
    """A launch that keeps the interpreter's lock, if libcuda is found by its name."""
    try:
        function = ctypes.PyDLL("libcuda.so.1").cuLaunchKernel
    except (OSError, AttributeError):
        return None
    word = ctypes.c_uint
    function.argtypes = [
        ctypes.c_void_p,
        *[word] * 7,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_void_p,
    ]
    handle, where = int(kernel.function), int(stream)
    grid, workgroup, address = kernel.grid, kernel.workgroup, kernel.address
    return lambda: function(handle, *grid, *workgroup, 0, where, address, None)


def show_gil(result: dict[str, Any]) -> None:
    show_beside(
        {f"{name} ({row['pieces']}x{row['piece_us']:.0f}us)": row for name, row in result.items()}
    )


# -- live

Interval = tuple[int, int, str, int]
"""When it began and ended, what it was, and the processor's time."""


def watched() -> list[tuple[Any, str]]:
    """What the threads beside callers do, as attributes to put a watch around."""
    from vyre.backend.cuda import build as cuda_build
    from vyre.learn import decider, desk, recorder
    from vyre.policy import belief
    from vyre.runtime.compile import helper
    from vyre.runtime.devices import launcher, subject

    return [
        (desk.Desk, "_do"),
        (desk, "_came_of"),
        (decider.Decider, "_begin"),
        (decider.Decider, "_heard"),
        (decider.Decider, "_came"),
        (decider.Decider, "_fetch"),
        (decider, "advance"),
        (decider, "inherit"),
        (subject.ProgramSubject, "question"),
        (subject, "order"),
        (subject.BundleFetching, "taken"),
        (launcher.Launcher, "prepare"),
        (launcher.Launcher, "space"),
        (cuda_build.Builder, "_compile"),
        (cuda_build.Builder, "_load"),
        (cuda_build.Builder, "_binary"),
        (cuda_build, "_sources"),
        (helper, "to_request"),
        (recorder.Recorder, "_write"),
        (recorder.Recorder, "record"),
        (recorder.Recorder, "put"),
        (belief.Belief, "of"),
        (belief.Belief, "seen"),
        (belief.Belief, "anew"),
    ]


def watch(into: list[Interval]) -> None:
    """Have everything watched tell when it ran."""
    for owner, name in watched():
        given = owner.__dict__[name]
        inner = given.__func__ if isinstance(given, classmethod) else given
        label = f"{owner.__name__.rpartition('.')[2]}.{name}"

        def wrapper(*args: Any, _inner: Any = inner, _label: str = label, **more: Any) -> Any:
            if threading.current_thread() is threading.main_thread():
                return _inner(*args, **more)
            began, used = clock(), time.thread_time_ns()
            try:
                return _inner(*args, **more)
            finally:
                into.append((began, clock(), _label, time.thread_time_ns() - used))

        setattr(owner, name, classmethod(wrapper) if isinstance(given, classmethod) else wrapper)
    begun = [0]

    def collected(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            begun[0] = clock()
        else:
            now = clock()
            into.append((begun[0], now, f"gc {info['generation']}", now - begun[0]))

    gc.callbacks.append(collected)


def live(place: str, *, seconds: float) -> dict[str, Any]:
    """Calls that learn, each timed; what ran beside the slowest."""
    import vyre
    from vyre.kernels.samples import sample
    from vyre.learn import process

    into: list[Interval] = []
    watch(into)
    device = vyre.open(place)
    result: dict[str, Any] = {}
    for name, size in (("saxpy", 1 << 21), ("gelu", 1 << 20), ("stencil9", 1 << 22)):
        kernel, given = getattr(kernels, name), sample(name, size)
        arrays = [device.array(array) for array in given.arrays]
        out = kernel(*arrays, **given.options)
        device.synchronize()
        into.clear()
        calls, until = Calls(), time.monotonic() + seconds
        while time.monotonic() < until:
            for _ in range(50):
                start = clock()
                kernel(*arrays, out=out, **given.options)
                calls.took.append(clock() - start)
                calls.began.append(start)
            device.synchronize()
        learners = process.deciders().all()
        standing = learners[-1].standing if learners else None
        heard = list(into)
        result[name] = calls.summary() | {
            "timings": sum(standing.timed.values()) if standing else 0,
            "ready": len(standing.ready) if standing else 0,
            "stopped": standing.stopped if standing else "left alone",
            "slowest": list(slowest(calls, heard, 12)),
            "work": worked(heard),
        }
    return result


def slowest(calls: Calls, heard: list[Interval], most: int) -> Iterator[tuple[float, str]]:
    """The slowest calls, and what ran for most of each, the innermost first."""
    ranked = sorted(zip(calls.took, calls.began, strict=True), reverse=True)[:most]
    for took, began in ranked:
        beside_it = sorted(
            (min(ended, began + took) - max(start, began), start - ended, label)
            for start, ended, label, _ in heard
            if start < began + took and ended > began
        )
        mostly = [(length, label) for overlap, length, label in beside_it if overlap > 0.3 * took]
        inner = [label for _, label in sorted(mostly, reverse=True)]
        yield took / 1000, " < ".join(inner[:4]) or "nothing"


def worked(heard: list[Interval]) -> dict[str, Any]:
    """How often each ran, and the longest and all of its processor time, in us."""
    by_label: dict[str, list[float]] = {}
    for _, _, label, used in heard:
        by_label.setdefault(label, []).append(used / 1000)
    ordered = sorted(by_label.items(), key=lambda item: -sum(item[1]))
    return {label: (len(some), round(max(some)), round(sum(some))) for label, some in ordered}


def show_live(result: dict[str, Any]) -> None:
    show_beside(result)
    for name, row in result.items():
        print(f"  {name}: {row['timings']} times, {row['ready']} ready, {row['stopped']!r}")
        for us, label in row["slowest"][:6]:
            print(f"    {us:9.0f} us  {label}")
        print("    count, longest us, all us:", dict(list(row["work"].items())[:12]))


# -- all


def eager(path: Path) -> dict[str, Any]:
    """The loading experiment in a process that loads eagerly."""
    into = path.with_name("eager")
    into.mkdir(exist_ok=True)
    command = [sys.executable, __file__, "--only", "loads", "--rounds-loads", "3"]
    env = {**os.environ, "CUDA_MODULE_LOADING": "EAGER", "OUT": str(into), "QUIET": "1"}
    subprocess.run(command, env=env, check=True, timeout=60)  # noqa: S603  # ourselves
    read: dict[str, Any] = json.loads((into / "experiments.json").read_text())["loads"]
    return read


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", default="times,felt,costs,loads,gil,live,eager")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--rounds-loads", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each cell of `gil`")
    parser.add_argument("--live-seconds", type=float, default=4.0)
    parser.add_argument("--device", default="cuda", help="of `live`")
    given = parser.parse_args()
    path = Path(os.environ.get("OUT", ".")) / "experiments.json"
    benches: list[Bench] = []

    def bench() -> Bench:
        if not benches:
            benches.append(Bench())
        return benches[0]

    experiments: dict[str, tuple[Callable[[], dict[str, Any]], Callable[[dict[str, Any]], None]]]
    experiments = {
        "times": (lambda: times(bench(), rounds=given.rounds), show_times),
        "felt": (lambda: felt(bench()), show_felt),
        "costs": (lambda: costs(bench()), show_costs),
        "loads": (lambda: loads(bench(), rounds=given.rounds_loads), show_loads),
        "gil": (lambda: gil(bench(), seconds=given.seconds), show_gil),
        "live": (lambda: live(given.device, seconds=given.live_seconds), show_live),
        "eager": (lambda: eager(path), show_loads),
    }
    result: dict[str, Any] = {"python": sys.version.split()[0]}
    for name in given.only.split(","):
        began = time.monotonic()
        print(f"== {name}", flush=True)
        try:
            run, show = experiments[name]
            result[name] = run()
            result[name + "_s"] = round(time.monotonic() - began, 1)
            if not os.environ.get("QUIET"):
                show(result[name])
        except Exception:
            result[name + "_error"] = traceback.format_exc()
            print(result[name + "_error"][-1500:])
        print(f"   {name} took {time.monotonic() - began:.1f} s", flush=True)
        path.write_text(json.dumps(result, indent=1, default=str))


if __name__ == "__main__":
    main()
