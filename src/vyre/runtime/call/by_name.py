"""Kernels by their names: what a pickle of one holds, as of a function."""

from __future__ import annotations

import importlib
import sys
from functools import reduce
from typing import Any

from vyre.errors import InvalidInput

_FIX = "define it at the top of a module that both processes import, under its own name"


def name_of(kernel: Any) -> tuple[str, str]:
    """The module and the qualified name under which another process finds this very kernel.

    Raises:
        InvalidInput: something else is there, or nothing.
    """
    module, name = kernel.__module__, kernel.__qualname__
    if _at(sys.modules.get(module), name) is not kernel:
        raise InvalidInput(
            f"{kernel.name} cannot be pickled: it is not what {module}.{name} names", _FIX
        )
    return module, name


def found(module: str, name: str, kind: type) -> Any:
    """What has that name in a module, in this process.

    Raises:
        InvalidInput: there is no such module, or nothing of that kind.
    """
    try:
        holder = importlib.import_module(module)
    except ImportError as error:
        raise InvalidInput(f"no kernel {module}.{name} here: {error}", _FIX) from error
    here = _at(holder, name)
    if not isinstance(here, kind):
        raise InvalidInput(f"no kernel {module}.{name} here", _FIX)
    return here


def _at(holder: object, name: str) -> object:
    return reduce(lambda part, attribute: getattr(part, attribute, None), name.split("."), holder)
