"""Compiles what recordings ask for in processes beside the one that measures."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import spaces_kernels
from spaces_sample import sampled

import vyre
from vyre.backend.base import Compiled, Job, Unbuilt
from vyre.errors import VyreError
from vyre.model import Code, Schedule
from vyre.runtime.call.dispatch import Dispatcher

TOGETHER = 4
"""Codes of one build: each build begins anew, and a large one keeps what waits for it waiting."""

ALIGNED = 64
"""Bytes that every array of a device begins at a multiple of."""

Plan = Mapping[int, list[Schedule]]
"""What is measured of a kernel, by size."""


class Ahead:
    """What to measure of each kernel and its compiled codes, as they come, in the order asked."""

    def __init__(self, device: str, cells: Sequence[tuple[str, int]], most: int, jobs: int) -> None:
        self._device = device
        self._pool = ProcessPoolExecutor(
            jobs,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_end_with_parent,
        )
        sizes: dict[str, list[int]] = defaultdict(list)
        for name, size in cells:
            sizes[name].append(size)
        self._plans = {
            name: self._pool.submit(plan, device, name, some, most) for name, some in sizes.items()
        }
        self._codes: dict[str, list[tuple[list[Code], Future[list[Compiled | Unbuilt]]]]] = {}

    def plan(self, name: str) -> Plan:
        """What to measure of a kernel; compilers then begin with it, and with the next ones."""
        self._begin()
        return self._plans[name].result()

    def compiled(self, name: str) -> dict[Code, Compiled]:
        """A kernel's codes that could be compiled, once all were tried."""
        self.plan(name)
        self._ask(name)
        found: dict[Code, Compiled] = {}
        for codes, future in self._codes[name]:
            try:
                made = future.result()
            except BrokenProcessPool:
                continue
            pairs = zip(codes, made, strict=True)
            found |= {code: one for code, one in pairs if isinstance(one, Compiled)}
        self._begin()
        return found

    def _begin(self) -> None:
        """Hand on the codes of every kernel whose plan is there."""
        for name, future in self._plans.items():
            if future.done() and future.exception() is None:
                self._ask(name)

    def _ask(self, name: str) -> None:
        if name in self._codes:
            return
        schedules = (s for some in self._plans[name].result().values() for s in some)
        codes = list(dict.fromkeys(schedule.code for schedule in schedules))
        batches = [codes[at : at + TOGETHER] for at in range(0, len(codes), TOGETHER)]
        self._codes[name] = [
            (batch, self._pool.submit(compile_ahead, self._device, name, batch))
            for batch in batches
        ]

    def close(self) -> None:
        """End them, whatever they are at."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def plan(device_name: str, name: str, sizes: Sequence[int], most: int) -> Plan:
    """What to measure of a kernel at each size; needs no device of its own."""
    device = vyre.open(device_name)
    return {size: planned(device, name, size, most) for size in sizes}


def planned(device: vyre.Device, name: str, size: int, most: int) -> list[Schedule]:
    """What to measure of a kernel at a size, without its arrays on the device."""
    kernel, given = spaces_kernels.called(name, size)
    dispatcher = Dispatcher(kernel._translation)
    bound = dispatcher.bind(given.arrays, None, given.shape, None, given.options)
    numbers, alignment, _ = bound.numbered
    launcher = dispatcher.launcher(device)
    space = launcher.space(numbers, dict.fromkeys(alignment, ALIGNED))
    ordered: Sequence[Any] = launcher.guess(space, numbers).ordered
    return sampled(space.legal, ordered, name, most)


def compile_ahead(device_name: str, name: str, codes: list[Code]) -> list[Compiled | Unbuilt]:
    """Leave codes in the cache, in a process of its own."""
    device = vyre.open(device_name)
    program = spaces_kernels.called(name, 64)[0].program
    jobs = [Job(program, code, device.facts(program)) for code in codes]
    try:
        return list(device.backend.compile_only(jobs))  # type: ignore[attr-defined]  # CUDA's
    except VyreError as error:  # of one that cannot be emitted
        if len(codes) == 1:
            return [Unbuilt(error.problem)]
        return [made for code in codes for made in compile_ahead(device_name, name, [code])]


def _end_with_parent() -> None:
    """See to it that no process stays behind when the measuring one is killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None, "only a child is initialised"

    def watch() -> None:
        parent.join()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
