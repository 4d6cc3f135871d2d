"""Compiles the codes of the GPU suite in processes beside the one that measures."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterable
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from gpu_kernels import kernel_of

import vyre
from vyre.backend.base import Job, Unbuilt
from vyre.model import Code

MOST_JOBS = 12


class Compilers:
    """Processes that leave compiled codes in the cache, where the measuring one finds them."""

    def __init__(self, device: str, jobs: int | None = None) -> None:
        cores = os.cpu_count() or 2
        self._device = device
        self._pool = ProcessPoolExecutor(
            jobs or max(1, min(MOST_JOBS, cores - 2)),
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_end_with_parent,
        )
        self._asked: dict[tuple[str, bool, Code], Future[bool]] = {}

    def compile(
        self, kernel: str, fast_math: bool, codes: Iterable[Code], limit_s: float
    ) -> set[Code]:
        """What of these codes is in the cache by the limit."""
        asked = {code: self._ask(kernel, fast_math, code) for code in codes}
        wait(asked.values(), limit_s)
        return {code for code, future in asked.items() if _is_ready(future)}

    def _ask(self, kernel: str, fast_math: bool, code: Code) -> Future[bool]:
        key = (kernel, fast_math, code)
        if key not in self._asked:
            try:
                self._asked[key] = self._pool.submit(_compile, self._device, *key)
            except BrokenProcessPool as error:  # as is told of those that were under way
                self._asked[key] = Future()
                self._asked[key].set_exception(error)
        return self._asked[key]

    def close(self) -> None:
        """End them, whatever they are at."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _is_ready(future: Future[bool]) -> bool:
    return future.done() and future.exception() is None and future.result()


def _compile(device_name: str, kernel: str, fast_math: bool, code: Code) -> bool:
    """Leave a code in the cache; whether it can be compiled."""
    device = vyre.open(device_name)
    program = kernel_of(kernel, fast_math).program
    (made,) = device.backend.compile_only([Job(program, code, device.facts(program))])  # type: ignore[attr-defined]  # CUDA's
    return not isinstance(made, Unbuilt)


def _end_with_parent() -> None:
    """See to it that no process stays behind when the measuring one is killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None, "only a child is initialised"

    def watch() -> None:
        parent.join()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
