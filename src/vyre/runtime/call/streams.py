"""On which stream a call on known arrays runs, and what it has to wait for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from vyre.backend.base import Backend, Memory
from vyre.errors import InvalidInput
from vyre.runtime.arrays.array import AnyArray
from vyre.runtime.arrays.foreign import ForeignArray, handle_of

Current = Callable[[], int]
"""The stream that is current in a library, or that an array says it is on."""


def streams_of(arrays: Iterable[AnyArray]) -> tuple[Current, ...]:
    """How to ask each library for its current stream, each once; none where it has no opinion."""
    found: dict[object, Current] = {}
    for array in arrays:
        if not isinstance(array, ForeignArray):
            continue
        told, kind, ordinal = array.seen.stream, array.kind, array.seen.device
        if told is not None:  # and part of what arrays are told apart by
            found[told] = partial(int, handle_of(told))
        elif kind.stream(ordinal) is not None:
            found[kind.name] = partial(kind.stream, ordinal)  # type: ignore[assignment]  # it has one
    return tuple(found.values())


class Order:
    """The order of calls on arrays of one kind each: where they run, and after what."""

    __slots__ = ("_use_on", "backend", "currents", "has_streams", "own")

    def __init__(self, backend: Backend, arrays: Sequence[AnyArray]) -> None:
        self.backend = backend
        self.currents = streams_of(arrays)
        self.has_streams = backend.streams is not None
        self._use_on = backend.streams.use_on if backend.streams is not None else _as_it_is
        self.own = tuple(
            number
            for number, array in enumerate(arrays)
            if self.has_streams and not isinstance(array, ForeignArray)
        )

    def where(self, stream: Any) -> int | None:
        """The stream to run on, which then follows what libraries have done on theirs.

        None where the call needs the long way: its libraries are on different streams, or `stream`
        is none, or the device has none.
        """
        if stream is not None:
            return self._asked(stream)
        where: int | None = None
        for current in self.currents:
            at = current()
            if where is not None and at != where:
                return None
            where = at
        return where or 0

    def _asked(self, stream: Any) -> int | None:
        if not self.has_streams:
            return None
        try:
            where = handle_of(stream)
        except InvalidInput:
            return None
        for current in self.currents:
            before = current()
            if before != where:
                self._use_on(_Used(before), where)
        return where

    def follow(self, memories: Iterable[Memory], where: int) -> None:
        """Let that stream wait for what was done to Vyre's own memory elsewhere."""
        for memory in memories:
            if memory.stream != where:
                self._use_on(memory, where)


class _Used:
    """Memory that was used on a stream; whose it is does not matter."""

    __slots__ = ("stream",)

    def __init__(self, stream: int) -> None:
        self.stream = stream


def _as_it_is(memory: Memory, stream: int) -> None:
    """Nothing is to be ordered where there is one stream."""
