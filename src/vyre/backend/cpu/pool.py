"""Threads that run tasks: native code inside threads of Python that never come back to it.

They sleep, spin and work without the interpreter. So nothing stops them when it ends: the process
ends around them, whatever they do. The code and the pool's memory are never freed for that reason.
"""

from __future__ import annotations

import _thread
import ctypes
import os
import struct
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress

from vyre.backend.base import Unbuilt
from vyre.backend.cpu import compiler, pool_ir
from vyre.backend.cpu.objects import Host, Objects
from vyre.errors import InvalidInput
from vyre.settings import MOST_THREADS

SPIN_US = 100
"""How long a helper looks for the next job before it sleeps; waking it takes some 50 µs."""

PATIENCE_US = 20
"""How long a caller looks for the end of others' pieces before it lets go of its core."""

KINDNESS_US = 1
"""How long a thread that has done its share leaves the others theirs before it takes of them.

saxpy of 2**20 on 16 cores: 35 us with none, 23 with 1 or 2, 32 with 8, for it then waits itself.
"""

STACK_BYTES = 4 << 20
"""Of each helper; a task may take 2 MiB."""

Entry = Callable[[int], int]

_BLOCK = struct.Struct("<QQQqq")
_starting = threading.Lock()
_pools: weakref.WeakSet[Pool] = weakref.WeakSet()  # that a fork leaves without threads


class Pool:
    """Runs tasks over ranges with up to `threads` threads, the caller's among them.

    Any number of threads may call at once. `entry` is the quickest way: it takes the address of a
    block of `block_bytes` (see `block`), which must stay as it is until it returns; if it returns
    1, call `start`, for it was alone.
    """

    def __init__(self, addresses: tuple[int, ...], threads: int, *, cores: int) -> None:
        if not 1 <= threads <= MOST_THREADS:
            raise InvalidInput(f"a pool of {threads} threads", fix=f"use 1 to {MOST_THREADS}")
        self.threads = threads
        run, helper, stop, pause = addresses
        self.address = _allocated(pool_ir.POOL_BYTES)
        self.entry_address = run
        self.entry: Entry = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(run)
        self._helper = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(helper)
        self._stop = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(stop)
        self._lock = threading.Lock()
        rounds = _rounds_per_us(pause)
        spin_us = SPIN_US if threads <= cores else SPIN_US // 20
        self._set(pool_ir.THREADS, threads)
        self._set(pool_ir.SPIN, int(rounds * spin_us))
        self._set(pool_ir.PATIENCE, int(rounds * PATIENCE_US))
        self._set(pool_ir.KINDNESS, int(rounds * KINDNESS_US))
        _pools.add(self)

    def block(self, task: int, context: int, count: int, grain: int) -> bytes:
        """What `entry` reads: `void task(ptr context, i64 first, i64 last)` over [0, count)."""
        return _BLOCK.pack(self.address, task, context, count, grain)

    def run(self, task: int, context: int, count: int, grain: int) -> None:
        """Call the task with pieces of [0, count), of at most `grain` items; returns after all.

        Raises:
            InvalidInput: a negative count, or a grain below 1.
        """
        if count < 0 or grain < 1:
            raise InvalidInput(
                f"a count of {count} in pieces of {grain}",
                fix="use a count of at least 0 and a grain of at least 1",
            )
        if count > grain and self.threads > 1 and not self._get(pool_ir.ASKED):
            self.start()
        block = ctypes.create_string_buffer(self.block(task, context, count, grain))
        self.entry(ctypes.addressof(block))

    def start(self) -> None:
        """Start the helpers, unless that was done before; fewer where the system has no more."""
        with self._lock:
            if self._get(pool_ir.STOP):
                return
            for number in range(self._get(pool_ir.ASKED), self.threads - 1):
                self._set(pool_ir.ASKED, number + 1)
                # None can be had at the interpreter's end, or where a limit is reached.
                with suppress(RuntimeError, MemoryError):
                    _start_thread(self._helper, self.address, number)

    @property
    def helpers(self) -> int:
        """How many threads are there besides the callers."""
        return self._get(pool_ir.ALIVE)

    def close(self) -> None:
        """Let the helpers end once they have nothing to do; callers then work alone."""
        with self._lock:
            self._stop(self.address)

    def _forget_helpers(self) -> None:
        """In a forked child, where they are not: the memory stays where blocks point to."""
        held = ctypes.string_at(self.address, pool_ir.POOL_BYTES)[pool_ir.SETTINGS]
        ctypes.memset(self.address, 0, pool_ir.POOL_BYTES)
        ctypes.memmove(self.address + pool_ir.SETTINGS.start, held, len(held))
        self._lock = threading.Lock()

    def _get(self, offset: int) -> int:
        return ctypes.c_int32.from_address(self.address + offset).value

    def _set(self, offset: int, value: int) -> None:
        ctypes.c_int32.from_address(self.address + offset).value = value


def opened(objects: Objects, host: Host, threads: int, *, cores: int) -> Pool | Unbuilt:
    """A pool of its own on this machine; its threads start with the first job for more than one."""
    # It is written as it should be: optimising makes it no faster, and takes 30 ms.
    loaded = objects.load(
        pool_ir.text(host.target), pool_ir.FUNCTIONS, host, level=compiler.AS_WRITTEN
    )
    return loaded if isinstance(loaded, Unbuilt) else Pool(loaded, threads, cores=cores)


def _allocated(nbytes: int) -> int:
    """Zeros at an address divisible by 128, for ever."""
    allocate = ctypes.pythonapi.PyMem_RawCalloc
    allocate.restype, allocate.argtypes = ctypes.c_void_p, (ctypes.c_size_t, ctypes.c_size_t)
    found = allocate(1, nbytes + 128)
    if not found:
        raise MemoryError
    return int(-(-found // 128) * 128)


def _rounds_per_us(pause: int) -> float:
    """How often the processor's pause fits into a microsecond: 5 to 100 times, by the model."""
    wait = ctypes.CFUNCTYPE(None, ctypes.c_int64)(pause)
    wait(100)
    fastest = 1 << 62
    for _ in range(3):  # the fastest, because others may take the core in between
        before = time.perf_counter_ns()
        wait(500)
        fastest = min(fastest, time.perf_counter_ns() - before)
    return 500_000 / max(fastest, 1)


def _start_thread(helper: Callable[[int, int], None], address: int, number: int) -> None:
    # The size is the process's: whoever else starts a thread meanwhile has a larger one.
    with _starting:
        before = threading.stack_size(STACK_BYTES)
        try:
            _thread.start_new_thread(helper, (address, number))
        finally:
            threading.stack_size(before)


def _after_fork() -> None:
    global _starting
    _starting = threading.Lock()
    for pool in list(_pools):
        pool._forget_helpers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
