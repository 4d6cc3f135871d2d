"""Whole numbers and bools of many lanes at once, by the meaning of the IR's operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vyre.ir.expr import BinaryOp, UnaryOp
from vyre.ir.storage import STORAGE
from vyre.ir.types import DataType

Values = NDArray[Any]
"""One value per lane, or one that all share."""


def numpy(dtype: DataType) -> np.dtype[Any]:
    """How the values of a type of whole numbers, or bool, are held."""
    return np.dtype(np.bool_) if dtype.is_bool else STORAGE[dtype]


def size(number: int) -> Values | None:
    """A size as a value; None where it comes at run time."""
    return np.asarray(number, np.uint32) if number else None


def flat(shape: tuple[int, ...], parts: Sequence[Values | None]) -> Values | None:
    """The row-major position in an array; -1 where an axis is out of bounds."""
    place: Values = np.asarray(0, np.int64)
    inside: Values = np.asarray(True)
    for extent, part in zip(shape, parts, strict=True):
        if part is None or not extent:
            return None
        inside = inside & (part >= 0) & (part < extent)
        place = place * extent + part.astype(np.int64)
    return np.where(inside, place, -1)


def together(op: BinaryOp, left: Values | None, right: Values | None) -> Values | None:
    """What an operator gives, lane by lane; None where an operand is not known, or no number."""
    if left is None or right is None or op not in _BINARY:
        return None
    return np.asarray(_BINARY[op](left, right))


def alone(op: UnaryOp, operand: Values | None) -> Values | None:
    """The same for an operator of one operand."""
    return None if operand is None or op not in _UNARY else np.asarray(_UNARY[op](operand))


def _divided(divide: Callable[..., Any]) -> Callable[..., Any]:
    """A division that gives 0 where it is by 0."""

    def quotient(left: Values, right: Values) -> Values:
        by = np.where(right == 0, right.dtype.type(1), right)
        return np.asarray(np.where(right == 0, left.dtype.type(0), divide(left, by)))

    return quotient


def _shifted(shift: Callable[..., Any]) -> Callable[..., Any]:
    """A shift by a count that is taken modulo the width."""

    def moved(left: Values, right: Values) -> Values:
        count = right.astype(np.int64) % (8 * left.dtype.itemsize)
        return np.asarray(shift(left, count.astype(left.dtype)))

    return moved


def _truncated(left: Values, right: Values) -> Values:
    floor = np.floor_divide(left, right)
    below = (floor < 0) & (floor * right != left)
    return np.where(below, floor + floor.dtype.type(1), floor)


_BINARY: Mapping[BinaryOp, Callable[..., Any]] = {
    BinaryOp.ADD: np.add,
    BinaryOp.WRAP_ADD: np.add,
    BinaryOp.SUB: np.subtract,
    BinaryOp.WRAP_SUB: np.subtract,
    BinaryOp.MUL: np.multiply,
    BinaryOp.DIV: _divided(_truncated),
    BinaryOp.MOD: _divided(np.fmod),
    BinaryOp.FLOOR_DIV: _divided(np.floor_divide),
    BinaryOp.FLOOR_MOD: _divided(np.mod),
    BinaryOp.BIT_AND: np.bitwise_and,
    BinaryOp.BIT_OR: np.bitwise_or,
    BinaryOp.BIT_XOR: np.bitwise_xor,
    BinaryOp.SHL: _shifted(np.left_shift),
    BinaryOp.SHR: _shifted(np.right_shift),
    BinaryOp.MIN: np.minimum,
    BinaryOp.MAX: np.maximum,
    BinaryOp.EQ: np.equal,
    BinaryOp.NE: np.not_equal,
    BinaryOp.LT: np.less,
    BinaryOp.LE: np.less_equal,
    BinaryOp.GT: np.greater,
    BinaryOp.GE: np.greater_equal,
    BinaryOp.AND: np.logical_and,
    BinaryOp.OR: np.logical_or,
}
_UNARY: Mapping[UnaryOp, Callable[..., Any]] = {
    UnaryOp.NEGATE: np.negative,
    UnaryOp.BIT_NOT: np.invert,
    UnaryOp.LOGICAL_NOT: np.logical_not,
}
