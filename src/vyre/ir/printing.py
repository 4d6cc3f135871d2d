"""What programs say while they run: texts with values in them, by Python's formats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vyre.ir.node import Print, Trap
from vyre.ir.program import Program
from vyre.ir.types import DataType
from vyre.ir.walk import statements


def speaks(program: Program) -> bool:
    """Whether a launch of it may say something: print, or fail an assertion."""
    return any(isinstance(node, (Print, Trap)) for node in statements(program.entry))


def prints(program: Program) -> tuple[Print, ...]:
    """What it may print, in the order in which it is written."""
    return tuple(node for node in statements(program.entry) if isinstance(node, Print))


def traps(program: Program) -> tuple[Trap, ...]:
    """Where it may stop, in the order in which it is written."""
    return tuple(node for node in statements(program.entry) if isinstance(node, Trap))


def why_not_shown(dtype: DataType, form: str) -> str | None:
    """Why values of a type are not shown by a format; None where they are.

    >>> why_not_shown(DataType.F32, ".2f")
    >>> why_not_shown(DataType.F32, "d")
    "Unknown format code 'd' for object of type 'float'"
    >>> why_not_shown(DataType.I32, "c")
    'not every i32 is a letter, as every u8 is'
    """
    if form.endswith("c") and dtype.is_int and dtype != DataType.U8:
        return f"not every {dtype} is a letter, as every u8 is"
    try:
        format(1.0 if dtype.is_float else dtype.is_bool or 1, form)
    except ValueError as error:
        return str(error)
    return None


def shown(value: np.generic[Any], form: str) -> str:
    """One value as Python would show it: a f32 by its own shortest digits.

    >>> shown(np.float32(0.1), ""), shown(np.float32(0.1), ".3f"), shown(np.uint8(7), "3d")
    ('0.1', '0.100', '  7')
    """
    return format(value.item(), form) if form else str(value)


def line(node: Print, values: Sequence[np.generic[Any]]) -> str:
    """What one invocation prints."""
    text = node.texts[0]
    for value, form, after in zip(values, node.formats, node.texts[1:], strict=True):
        text += shown(value, form) + after
    return text
