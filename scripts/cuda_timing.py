"""Times single launches on a CUDA device in one way that could hang: `cuda_timing.py TASK`.

Each task is a function below, and prints its figures as JSON; `check_cuda.py --only timing` runs
all of them, each in a process of its own that is ended when it takes too long.
"""

import json
import signal
import sys
import threading
import time
from collections.abc import Callable
from random import Random
from statistics import median
from typing import Any, Self

import numpy as np

import vyre
from vyre import kernels
from vyre.backend.base import Job
from vyre.model import Code
from vyre.runtime.devices.launcher import words_of

TIMED_SIZES = (1 << 14, 1 << 18, 1 << 20, 1 << 22, 1 << 24)


class Saxpy:
    """A launch of saxpy on memory of our own."""

    def __init__(self, n: int = 1 << 14) -> None:
        self.device = vyre.open("cuda:0")
        self.backend: Any = self.device.backend
        self.binary = self.device.binary(kernels.saxpy.program, Code())
        self.arrays = [self.device.array(np.ones(n, np.float32)) for _ in range(3)]
        words = words_of(self.binary.layout, (n, 1, 1), dict.fromkeys(("x", "y", "out"), (n,)))
        values = [array.argument for array in self.arrays] + [np.float32(2.5)]
        self.place = (self.binary, (-(-n // 256), 1, 1), (256, 1, 1), values, words)

    def timed(self) -> tuple[int, bool]:
        """One launch on an idle stream: its time, and whether it is rough."""
        ticket = self.backend.launch(*self.place, timed=True)
        ticket.wait()
        return ticket.elapsed_ns(), ticket.rough

    def prepared(self) -> Self:
        """With a gate; the first times are taken without."""
        for _ in range(20):
            self.timed()
        return self


def gated_times_are_those_of_many_in_a_row() -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for n in TIMED_SIZES:
        launch = Saxpy(n).prepared()
        many = median(launch.backend.time_block(*launch.place, 64) for _ in range(9))
        taken = [launch.timed() for _ in range(200)]
        rough = sum(rough for _, rough in taken)
        single = sorted(ns for ns, rough in taken if not rough)
        assert rough <= 20, f"{rough} of 200 times over {n} are rough"
        one = median(single)
        spread = median(abs(ns - one) for ns in single)
        figures[f"2^{n.bit_length() - 1}: one, MAD, in a row, rough"] = (
            *(round(one), round(spread), round(many)),
            rough,
        )
        assert abs(one - many) <= 1_000 + 0.1 * many, f"{one} ns alone, {many:.0f} in a row, {n}"
        assert spread <= 300 + 0.05 * one, f"times over {n} spread by {spread} ns around {one}"
    return figures


def a_gate_outlasts_loads_and_waits_of_others() -> dict[str, Any]:
    """Two threads time, a third loads code, a fourth waits for the device."""
    launch = Saxpy().prepared()
    program = kernels.gelu.program
    jobs = [Job(program, Code(items=items), launch.device.facts(program)) for items in (1, 2, 4)]
    made = launch.backend.compile_only(jobs)
    over = threading.Event()
    counts = dict.fromkeys(("timed", "rough", "loaded", "waited"), 0)
    failed: list[BaseException] = []

    def until_over(task: Callable[[], None]) -> None:
        try:
            while not over.is_set():
                task()
        except BaseException as error:  # noqa: BLE001  # shown below
            failed.append(error)

    def time_one() -> None:
        _, rough = launch.timed()
        counts["timed"] += 1
        counts["rough"] += rough

    def load() -> None:
        launch.backend.load(jobs, made)
        counts["loaded"] += 1

    def wait() -> None:
        launch.backend.synchronize()
        counts["waited"] += 1

    tasks = (time_one, time_one, load, wait)
    threads = [threading.Thread(target=until_over, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    time.sleep(5)
    over.set()
    for thread in threads:
        thread.join()
    assert not failed, failed
    assert min(counts.values()) > 0, counts
    return counts


def an_interrupt_leaves_no_gate_closed() -> dict[str, Any]:
    """At any moment of a launch; after each, the device comes to rest at once."""
    launch = Saxpy().prepared()
    rng, slowest, interrupts = Random(0), 0.0, 0

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, interrupt)
    for _ in range(2000):
        try:
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(2e-6, 6e-5))
            while True:
                launch.backend.launch(*launch.place, timed=True)
        except KeyboardInterrupt:
            interrupts += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        began = time.perf_counter()
        launch.backend.synchronize()
        slowest = max(slowest, time.perf_counter() - began)
    assert slowest < 0.05, f"the device came to rest after {slowest:.3f} s"
    return {"interrupts": interrupts, "slowest rest, us": round(slowest * 1e6)}


def a_driver_that_runs_one_by_one_is_not_kept_waiting() -> dict[str, Any]:
    """With CUDA_LAUNCH_BLOCKING a launch returns when it has run: no gate can be opened behind."""
    launch = Saxpy()
    began = time.perf_counter()
    rough = sum(launch.timed()[1] for _ in range(500))
    took = time.perf_counter() - began
    assert took < 2, f"500 launches took {took:.1f} s"
    return {"rough of 500": rough, "us each": round(took * 2000)}


def a_capture_elsewhere_stays_valid() -> dict[str, Any]:
    """While launches are timed on the default stream, another thread captures on its own."""
    import torch

    launch = Saxpy().prepared()
    over = threading.Event()
    counts = {"timed": 0}

    def time_them() -> None:
        while not over.is_set():
            launch.backend.launch(*launch.place, timed=True).elapsed_ns()
            counts["timed"] += 1

    timing = threading.Thread(target=time_them)
    timing.start()
    try:
        for _ in range(100):
            x = torch.ones(1000, device="cuda")
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = x + x
            graph.replay()
            torch.cuda.synchronize()
            assert float(y.sum()) == 2000.0
    finally:
        over.set()
        timing.join()
    return counts


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]]()))
