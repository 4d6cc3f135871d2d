"""The arguments of a launch as the driver takes them: pointers to values in one buffer."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from vyre.emit.layout import taken

_FORMATS = {
    "u1": "B7x",
    "u2": "H6x",
    "u4": "I4x",
    "u8": "Q",
    "i1": "b7x",
    "i2": "h6x",
    "i4": "i4x",
    "i8": "q",
    "f2": "e6x",
    "f4": "f4x",
    "f8": "d",
}

_NUMBER = struct.Struct("<I")

Answer = tuple[Any, ...]
"""What the driver says: its code first, 0 where all is well."""

Frame = tuple[Any, int, Any]
"""A buffer for values, the address of the pointers into it, and these pointers."""


class Frames:
    """Buffers for the arguments of one kernel, each lent to one launch at a time.

    The driver has copied the arguments when a launch returns, so a buffer serves again. Taking one
    is an atomic pop, so threads and signal handlers never share one, and no lock is needed.

    Args:
        dtypes: of each scalar, None for a buffer, in the order of the parameters.
        words: the places of those of a launch's words that come last.
    """

    __slots__ = ("_count", "_places", "_put", "_size", "free", "pack")

    def __init__(self, dtypes: Sequence[np.dtype[Any] | None], words: tuple[int, ...]) -> None:
        slots = ["Q" if dtype is None else _FORMATS[dtype.str[1:]] for dtype in dtypes]
        self._count, self._places, self._size = len(slots), words, 4 * len(words)
        self._put = struct.Struct(f"{self._size}s").pack_into
        self.pack = struct.Struct(f"<{''.join(slots)}").pack_into  # (frame[0], 0, *arguments)
        self.free: list[Frame] = []

    def in_turn(self, start: partial[Answer], frame: Frame, launches: int) -> InTurn:
        """A launch that is several, each with its number as the last argument."""
        return InTurn(start, frame[0], 8 * (self._count - 1), launches)

    def take(self, words: bytes) -> Frame:
        """A frame that nobody else uses, with these words; `free.append` gives it back."""
        try:
            frame = self.free.pop()
        except IndexError:
            return self.make(words)
        self._put(frame[0], 8 * self._count, taken(words, self._places))
        return frame

    def make(self, words: bytes) -> Frame:
        """A new frame with these words."""
        own = taken(words, self._places)
        assert len(own) == self._size, f"{len(words)} bytes of words, {self._places} expected"
        end = 8 * self._count
        buffer = ctypes.create_string_buffer(end + self._size)
        start = ctypes.addressof(buffer)
        pointers = (ctypes.c_void_p * (self._count + 1))(*range(start, start + end + 1, 8))
        self._put(buffer, end, own)
        return buffer, ctypes.addressof(pointers), pointers


class InTurn:
    """Several launches as one: each has its number, from 0, as the last argument.

    The first that is refused is the last; what has run by then has written to no array of a caller.
    """

    __slots__ = ("_buffer", "_launches", "_place", "_start")

    def __init__(self, start: partial[Answer], buffer: Any, place: int, launches: int) -> None:
        self._start, self._buffer, self._place, self._launches = start, buffer, place, launches

    def __call__(self, *given: Any) -> Answer:
        answer: Answer = ()
        for number in range(self._launches):
            _NUMBER.pack_into(self._buffer, self._place, number)
            answer = self._start(*given)
            if answer[0]:
                break
        return answer

    @property
    def args(self) -> tuple[Any, ...]:
        """What is launched, as the launch of which it is several has it."""
        return self._start.args
