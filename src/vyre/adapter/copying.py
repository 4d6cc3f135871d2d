"""Copies of what a call is given: who works on purpose changes nothing of the caller's."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from vyre.errors import InvalidInput
from vyre.plain import shown
from vyre.runtime.arrays.array import DeviceArray
from vyre.runtime.arrays.foreign_kinds import kind_of


def copied(value: Any) -> Any:
    """A copy of an argument that shares no memory with it.

    Raises:
        InvalidInput: nobody knows how to copy it.

    >>> x = np.zeros(3)
    >>> np.shares_memory(copied((x, 1))[0], x)
    False
    """
    if isinstance(value, np.ndarray):
        return value.copy(order="K")
    if isinstance(value, DeviceArray):
        return value.device.array(np.asarray(value))
    if kind_of(value) is not None:
        for name in ("clone", "copy"):  # torch's, then CuPy's and those like it
            function = getattr(value, name, None)
            if callable(function):
                return function()
    try:
        return copy.deepcopy(value)
    except Exception as error:
        raise InvalidInput(
            f"{shown(value)} cannot be copied: {type(error).__name__}: {error}",
            "pass arrays and plain values, or call it and let it learn",
        ) from error


def all_copied(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """A copy of each argument."""
    return tuple(map(copied, arguments))
