"""What to do about an argument that cannot be used: whoever does exactly that loses nothing.

A cast may cut off what it cannot hold, and a copy of what is written takes the results away from
the array that the caller looks at. So such advice says when it holds, or how to get them back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from vyre.ir.storage import STORAGE

_NUMBERS = "biuf"


def conversion(
    name: str,
    have: np.dtype[Any] | str,
    wanted: np.dtype[Any],
    cast: str,
    *,
    written: bool,
) -> str:
    """What to do about an array of another type.

    Args:
        name: the parameter.
        have: the array's type, by its name where NumPy has none.
        wanted: how the parameter is held.
        cast: the expression that converts the array.
        written: whether the kernel writes it.
    """
    if written:
        return (
            f"make {name} an array of {wanted.name} from the start: "
            f"the results of a converted copy would not be in {name}"
        )
    dtype = have if isinstance(have, np.dtype) else _parsed(have)
    if dtype is None:  # of a library's own, such as bfloat16
        return f"pass {cast}, or declare it for {have}"
    if dtype.kind == "c":
        return f"declare two arrays, and pass {name}.real and {name}.imag"
    if dtype.kind == "O":
        return f"pass an array of numbers, such as numpy.array({name}.tolist())"
    if dtype.kind in "mM":
        return f"declare it for int64, and pass {name}.view(numpy.int64)"
    if dtype.names:
        return f"pass one of its fields, such as {name}[{dtype.names[0]!r}]"
    if dtype.kind not in _NUMBERS:
        return "pass an array of numbers"
    if dtype.name == wanted.name:  # but for its byte order
        return f"pass {cast}"
    declare = f"declare it for {'uint8' if dtype.kind == 'b' else dtype.name}"
    can_declare = dtype.newbyteorder("=") in STORAGE.values() or dtype.kind == "b"
    if wanted.kind == "f" or np.can_cast(dtype, wanted):
        return f"pass {cast}" + (f", or {declare}" if can_declare else "")
    whole = "is" if dtype.kind in "iu" else "is whole and"
    limits = np.iinfo(wanted)
    fits = f"pass {cast} if all of it {whole} from {limits.min} to {limits.max}"
    return f"{declare}, or {fits}" if can_declare else fits


def written_back(make: str, back: str) -> str:
    """How to use an array that is written and cannot be used as it lies.

    >>> written_back("numpy.ascontiguousarray(x)", "x[...] = c")
    'pass c = numpy.ascontiguousarray(x), and then copy the result back: x[...] = c'
    """
    return f"pass c = {make}, and then copy the result back: {back}"


def kept_copy(name: str) -> str:
    """How to use an array that is written and must not be."""
    return f"pass a copy that you keep, c = {name}.copy(): the result is in c, not in {name}"


def _parsed(name: str) -> np.dtype[Any] | None:
    try:
        return np.dtype(name)
    except TypeError:
        return None
