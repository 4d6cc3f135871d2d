"""Runs machine code for some x86-64 on a processor that has its instructions."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from random import Random

import numpy as np
from numpy.typing import NDArray

from vyre.backend.base import Unbuilt
from vyre.backend.cpu import loader
from vyre.backend.cpu.target import Target
from vyre.testing.guarded import guarded
from vyre.testing.launches import Made, Subject, Way, make, pieces

Arrays = Mapping[str, NDArray[np.generic]]

_TASK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def run(target: Target, wanted: Sequence[tuple[Subject, Way]]) -> Iterator[Arrays | Unbuilt]:
    """What each case's arrays hold after its launch; they lie between forbidden pages.

    Raises:
        UnsupportedFeature: a program holds something that there is no code for.
    """
    for number, (subject, way) in enumerate(wanted):
        made = make(subject, way, target)
        yield made if isinstance(made, Unbuilt) else _ran(made, target, at_end=number % 2 == 0)


def _ran(made: Made, target: Target, *, at_end: bool) -> Arrays | Unbuilt:
    loaded = _loaded(made.data, made.entry, target)
    if isinstance(loaded, Unbuilt):
        return loaded
    arrays = {name: guarded(array, at_end=at_end) for name, array in made.case.arrays.items()}
    places = {name: int(array.__array_interface__["data"][0]) for name, array in arrays.items()}
    data = made.frame(places)
    frame = ctypes.create_string_buffer(data, len(data) + 16)
    first = -ctypes.addressof(frame) % 16
    ctypes.memmove(ctypes.addressof(frame) + first, data, len(data))
    task = _TASK(loaded)
    for begin, end in pieces(made.groups, Random(made.groups)):
        task(ctypes.addressof(frame) + first, begin, end)
    return {name: array.copy() for name, array in arrays.items()}


@lru_cache(64)  # loaded code stays for good
def _loaded(data: bytes, entry: str, target: Target) -> int | Unbuilt:
    found = loader.load(data, [entry], target)
    return found if isinstance(found, Unbuilt) else found[0]
