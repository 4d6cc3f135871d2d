"""What was probably meant by a name that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from math import isinf, isnan
from types import ModuleType

from vyre.ir.types import SCALARS
from vyre.lang.intrinsics import INTRINSICS

_IMPORTS = {
    "math": "import math",
    "np": "import numpy as np",
    "numpy": "import numpy",
    "vyre": "import vyre",
}
_CONSTANTS = ("inf", "nan", "pi", "tau")
_TYPES = ("bool_", *(str(dtype) for dtype in SCALARS if not dtype.is_bool))


def fix_for_name(name: str, around: Iterable[str]) -> str:
    """What to do about a name that nothing `around` has a value for.

    >>> fix_for_name("sqrt", ["x", "out"])
    "write vyre.sqrt, or give 'sqrt' a value before this line, or make it a parameter"
    >>> fix_for_name("np", ["x", "n"])
    'write import numpy as np at the top of the file'
    """
    if name in _IMPORTS:
        return f"write {_IMPORTS[name]} at the top of the file"
    known = dict.fromkeys(around)
    close = difflib.get_close_matches(name, [*known, *INTRINSICS, *_TYPES], n=1)
    meant = f"math.{name}" if name in _CONSTANTS else None
    if meant is None and close:
        meant = repr(close[0]) if close[0] in known else f"vyre.{close[0]}"
    either = f"write {meant}, or " if meant else ""
    return f"{either}give {name!r} a value before this line, or make it a parameter"


def fix_for_text(text: str) -> str | None:
    """How a number that a text holds is written in a kernel; of other texts nothing.

    >>> fix_for_text("-inf"), fix_for_text("NaN"), fix_for_text("1e3"), fix_for_text("red")
    ('write -math.inf', 'write math.nan', 'write 1000.0', None)
    """
    try:
        number = float(text)
    except ValueError:
        return None
    if isnan(number):
        return "write math.nan"
    if isinf(number):
        return f"write {'-' if number < 0 else ''}math.inf"
    return f"write {number!r}"


def fix_for_member(name: str, owner: object, written: str) -> str:
    """What to do about a name that `owner`, which stands there as `written`, has not.

    >>> fix_for_member("sqr", __import__("math"), "math")
    'write math.sqrt'
    """
    if name in _CONSTANTS:
        return f"write math.{name}"
    holds_names = isinstance(owner, (ModuleType, type))
    members = [one for one in dir(owner) if not one.startswith("_")] if holds_names else []
    if close := difflib.get_close_matches(name, members, n=1):
        return f"write {written}.{close[0]}"
    return f"use a name that {written} has"
