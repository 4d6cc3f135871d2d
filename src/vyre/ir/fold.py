"""The one order in which the elements of a reduction come together, whoever computes it.

Element j is that of round j. Rounds 1024·m to 1024·m + 1023 are block m. In a block, lane l of 32
folds its elements (j modulo 32 = l) in order, beginning with its first; then, for h = 16,
8, 4, 2 and 1, lane l < h takes what it has with what lane l + h has. A round without an element, a
lane without any and a block without any are absent, and absent with x is x. Where there are several
blocks, what they come to, in order and absent ones in place, are the elements of the next fold.
"""

from __future__ import annotations

from dataclasses import dataclass

from vyre.ir.expr import (
    Binary,
    BinaryOp,
    Bitcast,
    Expr,
    Lit,
    Select,
    Unary,
    UnaryOp,
)
from vyre.ir.node import NOWHERE, ReduceOp
from vyre.ir.types import DataType, int_range

LANES = 32
"""Lanes of a block."""

BLOCK = 1024
"""Rounds of a block."""

HALVES = (16, 8, 4, 2, 1)
"""How far apart the lanes are that come together, step by step."""


def levels(rounds: int) -> int:
    """How often blocks are folded until one is left: of no rounds, and of one block, once.

    >>> levels(1024), levels(1025), levels(2**32 - 1)
    (1, 2, 4)
    """
    count = 1
    while rounds > BLOCK:
        rounds, count = -(-rounds // BLOCK), count + 1
    return count


@dataclass(frozen=True, slots=True)
class Folding:
    """How the elements of a reduction come together, in the operations of the IR.

    On the way an element is a state of one value, or of two where its place is looked for: a whole
    number that is least for what is looked for, and the round. What is absent has a state as well,
    with which any other is what it was, bit for bit.
    """

    op: ReduceOp
    dtype: DataType
    positive: bool = False  # no element is negative, nor -0; the states are the same in either case

    @property
    def is_ordered(self) -> bool:
        """Whether another order would show: floats round as they are added and multiplied."""
        return self.dtype.is_float and self.op in (ReduceOp.SUM, ReduceOp.PROD)

    @property
    def absent(self) -> tuple[Lit, ...]:
        """The state of nothing."""
        match self.op:
            case ReduceOp.SUM:
                return (Lit.of(self.dtype, -0.0 if self.dtype.is_float else 0),)
            case ReduceOp.PROD:
                return (Lit.of(self.dtype, 1),)
            case ReduceOp.MIN | ReduceOp.MAX if self.dtype.is_float:
                return (Lit.of(self.dtype, float("nan")),)
            case ReduceOp.MIN | ReduceOp.MAX:
                return (self._furthest(self.dtype),)
            case ReduceOp.ANY | ReduceOp.ALL:
                return (Lit.of(self.dtype, self.op is ReduceOp.ALL),)
            case ReduceOp.ARGMIN | ReduceOp.ARGMAX:
                return (_largest(self._key), Lit(DataType.U32, NOWHERE))

    @property
    def tells_nothing(self) -> bool:
        """Whether a state does not say by itself that there was no element at all."""
        return self.dtype.is_float and self.op in (ReduceOp.SUM, ReduceOp.MIN, ReduceOp.MAX)

    @property
    def of_nothing(self) -> Lit:
        """The result of no element at all."""
        match self.op:
            case ReduceOp.SUM:
                return Lit.of(self.dtype, 0)
            case ReduceOp.MIN | ReduceOp.MAX if self.dtype.is_float:
                endless = float("inf") if self.op is ReduceOp.MIN else float("-inf")
                return Lit.of(self.dtype, endless)
            case _:
                return self.absent[-1]

    def element(self, value: Expr, at: Expr) -> tuple[Expr, ...]:
        """The state of one element, a name or a number, of the round `at`."""
        return (self._key_of(value), at) if self.op.finds else (value,)

    def _key_of(self, value: Expr) -> Expr:
        """A whole number that is the less the sooner a value is what is looked for."""
        is_least = self.op is ReduceOp.ARGMIN
        if not self.dtype.is_float:
            return value if is_least else Unary(UnaryOp.BIT_NOT, value)
        if self.positive and is_least:
            # In order as they stand, and every NaN is above infinity, whatever its sign.
            whole = DataType.U64 if self._key == DataType.I64 else DataType.U32
            some = Binary(BinaryOp.MIN, Bitcast(whole, value), Lit.of(whole, self._behind))
            return Bitcast(self._key, some)
        key: Expr = Bitcast(self._key, value)
        if not self.positive:
            # As whole numbers, negative floats are in the wrong order; -0 is before +0 then.
            sign = Lit.of(DataType.U32, self.dtype.bits - 1)
            rest = Lit.of(self._key, (1 << (self.dtype.bits - 1)) - 1)
            turned = Binary(BinaryOp.BIT_AND, Binary(BinaryOp.SHR, key, sign), rest)
            key = Binary(BinaryOp.BIT_XOR, key, turned)
        if not is_least:
            key = Unary(UnaryOp.BIT_NOT, key)
        return Select(Unary(UnaryOp.IS_NAN, value), Lit.of(self._key, self._behind), key)

    def join(self, one: tuple[Expr, ...], other: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The state of what two states stand for, the first of which stands first."""
        match self.op:
            case ReduceOp.ARGMIN | ReduceOp.ARGMAX:
                less = Binary(BinaryOp.LT, other[0], one[0])
                same = Binary(BinaryOp.EQ, other[0], one[0])
                before = Binary(BinaryOp.LT, other[1], one[1])
                taken = Binary(BinaryOp.OR, less, Binary(BinaryOp.AND, same, before))
                return Select(taken, other[0], one[0]), Select(taken, other[1], one[1])
            case _:
                return (Binary(_JOINED[self.op], one[0], other[0]),)

    def followed(self, one: tuple[Expr, ...], element: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The state of what a state and an element stand for that is of a later round than all.

        Of equal floats the first stays, and no element has the key of nothing; of whole numbers the
        last may have.
        """
        if not (self.op.finds and self.dtype.is_float):
            return self.join(one, element)
        less = Binary(BinaryOp.LT, element[0], one[0])
        return Select(less, element[0], one[0]), Select(less, element[1], one[1])

    def result(self, state: tuple[Expr, ...], some: Expr | None) -> Expr:
        """What a state comes to; `some` says whether there was an element, where it is asked."""
        if some is None or not self.tells_nothing:
            return state[-1]
        return Select(some, state[0], self.of_nothing)

    @property
    def state(self) -> tuple[DataType, ...]:
        """The types of a state."""
        return (self._key, DataType.U32) if self.op.finds else (self.dtype,)

    @property
    def _key(self) -> DataType:
        if not self.dtype.is_float:
            return self.dtype
        return DataType.I64 if self.dtype.bits == DataType.F64.bits else DataType.I32

    @property
    def _behind(self) -> int:
        """The key of NaN: behind that of every number, and before that of nothing at all."""
        return Lit.of(self.dtype, float("inf")).bits + 1

    def _furthest(self, dtype: DataType) -> Lit:
        low, high = int_range(dtype)
        return Lit.of(dtype, high if self.op is ReduceOp.MIN else low)


_JOINED = {
    ReduceOp.SUM: BinaryOp.ADD,
    ReduceOp.PROD: BinaryOp.MUL,
    ReduceOp.MIN: BinaryOp.MIN,
    ReduceOp.MAX: BinaryOp.MAX,
    ReduceOp.ANY: BinaryOp.OR,
    ReduceOp.ALL: BinaryOp.AND,
}


def _largest(dtype: DataType) -> Lit:
    return Lit.of(dtype, int_range(dtype)[1])
