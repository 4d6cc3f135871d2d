"""Device memory that frees itself, and copies between host and device."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vyre.backend.cuda.context import Context
from vyre.errors import DeviceFailed

CHUNK = 4 << 20
"""Bytes of one of two pinned buffers: copies on the host overlap those to the device."""

_KEPT_SHARE = 16  # of the device's memory stays with us when it is freed, to be had again at once

Bytes = NDArray[np.uint8]


class CudaMemory:
    """An allocation; what runs on the stream when it is dropped may still use it."""

    __slots__ = ("_pool", "address", "nbytes", "stream")

    def __init__(self, pool: Pool, address: int, nbytes: int) -> None:
        self._pool, self.address, self.nbytes = pool, address, nbytes
        self.stream = 0  # where it was used last

    def __index__(self) -> int:
        return self.address

    def __del__(self) -> None:
        self._pool.free(self)


class CudaPart:
    """A part of an allocation, which lives as long as this."""

    __slots__ = ("_whole", "address", "nbytes", "stream")

    def __init__(self, whole: CudaMemory, start: int, nbytes: int) -> None:
        self._whole, self.address, self.nbytes = whole, whole.address + start, nbytes
        self.stream = whole.stream  # where it was used last

    def __index__(self) -> int:
        return self.address


class Pool:
    """Memory in the order of a stream: neither taking nor freeing it waits for the device."""

    def __init__(self, context: Context, number: int, total_bytes: int, stream: Any) -> None:
        self._context, self._number, self._total, self._stream = (
            context,
            number,
            total_bytes,
            stream,
        )
        self._made: Any = None
        self._making = threading.Lock()

    def alloc(self, nbytes: int) -> CudaMemory:
        """Fresh memory, ordered on the device's own stream."""
        context = self._context
        driver, size = context.driver, max(nbytes, 4)
        with context.current():
            pool = self._pool()
            answer = driver.cuMemAllocFromPoolAsync(size, pool, self._stream)
            if answer[0] == driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
                # What was freed may wait for its stream, or lie in pieces.
                context.value("wait for memory", driver.cuCtxSynchronize())
                context.value("trim its memory", driver.cuMemPoolTrimTo(pool, 0))
                answer = driver.cuMemAllocFromPoolAsync(size, pool, self._stream)
            if answer[0] == driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
                raise self._exhausted(size)
            return CudaMemory(self, int(context.value("allocate memory", answer)), nbytes)

    def free(self, memory: CudaMemory) -> None:
        """Give it back after what its streams still have to do; errors have nobody to go to."""
        context = self._context
        if context.is_forked:
            return
        try:
            with context.current():
                if memory.stream:  # a stream that may be gone, so that no event can order the two
                    context.driver.cuCtxSynchronize()
                context.driver.cuMemFreeAsync(memory.address, self._stream)
        except DeviceFailed:
            pass  # the context is lost, and the memory with it

    def _pool(self) -> Any:
        """Our own pool: the default one belongs to everybody, and keeps nothing."""
        if self._made is None:
            with self._making:
                if self._made is None:
                    self._made = self._make()
        return self._made

    def _make(self) -> Any:
        driver = self._context.driver
        props = driver.CUmemPoolProps()
        props.allocType = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        props.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        props.location.id = self._number
        pool = self._context.value("make a pool of memory", driver.cuMemPoolCreate(props))
        threshold = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        kept = driver.cuuint64_t(self._total // _KEPT_SHARE)
        self._context.value("keep memory", driver.cuMemPoolSetAttribute(pool, threshold, kept))
        return pool

    def _exhausted(self, size: int) -> DeviceFailed:
        free, total = self._context.value("ask for memory", self._context.driver.cuMemGetInfo())
        return DeviceFailed(
            f"{self._context.model} has no {size:,} bytes for one array: {free:,} of {total:,} "
            "are free",
            "split the arrays, or free those no longer needed; torch.cuda.empty_cache() and "
            "cupy.get_default_memory_pool().free_all_blocks() free what those libraries keep",
        )


class Staging:
    """Two pinned buffers through which host arrays travel in pieces."""

    def __init__(self, context: Context, stream: Any) -> None:
        self._context, self._stream = context, stream
        self._lock = threading.Lock()
        self._half_done = False  # a copy that no event tells of may use the buffers
        self._buffers: list[tuple[int, Bytes, Any]] = []  # address, the same as an array, its event

    def upload(self, address: int, host: Bytes) -> None:
        """Copy to the device, in the stream's order; `host` may be changed when this returns."""
        driver, value = self._context.driver, self._context.value
        with self._lock, self._context.current():
            self._prepare()
            for turn, start in enumerate(range(0, host.size, CHUNK)):
                piece = host[start : start + CHUNK]
                pinned, view, done = self._buffers[turn % 2]
                value("copy to it", driver.cuEventSynchronize(done))
                view[: piece.size] = piece
                sent = driver.cuMemcpyHtoDAsync(address + start, pinned, piece.size, self._stream)
                value("copy to it", sent)
                value("copy to it", driver.cuEventRecord(done, self._stream))
            self._half_done = False

    def download(self, address: int, host: Bytes) -> None:
        """Copy from the device, after everything before in the stream, and wait for it."""
        driver, value = self._context.driver, self._context.value
        starts = range(0, host.size, CHUNK)
        with self._lock, self._context.current():
            self._prepare()
            for turn in range(len(starts) + 1):
                if turn < len(starts):  # ask for the next piece before waiting for the last
                    size = min(CHUNK, host.size - starts[turn])
                    pinned, _, done = self._buffers[turn % 2]
                    asked = driver.cuMemcpyDtoHAsync(
                        pinned, address + starts[turn], size, self._stream
                    )
                    value("copy from it", asked)
                    value("copy from it", driver.cuEventRecord(done, self._stream))
                if turn > 0:
                    piece = host[starts[turn - 1] : starts[turn - 1] + CHUNK]
                    _, view, done = self._buffers[(turn - 1) % 2]
                    value("copy from it", driver.cuEventSynchronize(done))
                    piece[:] = view[: piece.size]
            self._half_done = False

    def _prepare(self) -> None:
        driver, value = self._context.driver, self._context.value
        if self._half_done:
            value("finish a copy", driver.cuStreamSynchronize(self._stream))
        self._half_done = True
        untimed = driver.CUevent_flags.CU_EVENT_DISABLE_TIMING
        while len(self._buffers) < 2:
            event = value("make an event", driver.cuEventCreate(int(untimed)))
            asked = driver.cuMemHostAlloc(CHUNK, driver.CU_MEMHOSTALLOC_PORTABLE)
            pinned = int(value("pin host memory", asked))
            raw = (ctypes.c_uint8 * CHUNK).from_address(pinned)
            self._buffers.append((pinned, np.ctypeslib.as_array(raw), event))
