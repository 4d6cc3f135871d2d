"""Whole numbers and bools of many lanes at once, by the meaning of the IR's operators."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vyre.ir.arithmetic import BINARY, UNARY, Value
from vyre.ir.expr import BinaryOp, UnaryOp


def size(number: int) -> Value | None:
    """A size as a value; None where it comes at run time."""
    return np.asarray(number, np.uint32) if number else None


def flat(shape: tuple[int, ...], parts: Sequence[Value | None]) -> Value | None:
    """The row-major position in an array; -1 where an axis is out of bounds."""
    place: Value = np.asarray(0, np.int64)
    inside: Value = np.asarray(True)
    for extent, part in zip(shape, parts, strict=True):
        if part is None or not extent:
            return None
        inside = inside & (part >= 0) & (part < extent)
        place = place * extent + part.astype(np.int64)
    return np.where(inside, place, -1)


def together(op: BinaryOp, left: Value | None, right: Value | None) -> Value | None:
    """What an operator gives, lane by lane; None where an operand is not known, or no number."""
    if left is None or right is None or op not in BINARY:
        return None
    return np.asarray(BINARY[op](left, right))


def alone(op: UnaryOp, operand: Value | None) -> Value | None:
    """The same for an operator of one operand."""
    return None if operand is None or op not in UNARY else np.asarray(UNARY[op](operand))
