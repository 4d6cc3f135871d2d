"""Numbers that are no sums and products of others, and what comparisons tell of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from vyre.analysis.forms import Counter, Gid, Launch, Linear, Variable, wrapped
from vyre.ir.arithmetic import BINARY, UNARY
from vyre.ir.expr import BinaryOp, UnaryOp
from vyre.ir.storage import STORAGE
from vyre.ir.types import DataType

MOST_WEIGHT = 40
"""How many numbers one may be made of, counted wherever they stand; beyond that it is any."""


class Way(StrEnum):
    """How a number is made that no operator makes."""

    SELECT = "select"  # the first where what is `known` holds, else the second
    CAST = "cast"  # the same number in another type, if that has it
    LOAD = "load"  # what an array holds that nothing writes
    ANY = "any"  # nothing is known of it


@dataclass(frozen=True, slots=True)
class Known:
    """What holds where an invocation comes by: two numbers of one type, compared."""

    op: BinaryOp  # LT, LE, EQ or NE
    left: Linear
    right: Linear

    @property
    def is_uniform(self) -> bool:
        return self.left.is_uniform and self.right.is_uniform

    @property
    def scalars(self) -> frozenset[str]:
        return self.left.scalars | self.right.scalars

    def variables(self) -> Iterator[Variable]:
        """All that it is about, also inside what that is made of."""
        yield from variables(self.left)
        yield from variables(self.right)

    def holds(self, launch: Launch) -> bool:
        """Whether it holds of a launch; all invocations must see both numbers alike."""
        left, right = self.left.number(launch), self.right.number(launch)
        match self.op:
            case BinaryOp.LT:
                return left < right
            case BinaryOp.LE:
                return left <= right
            case BinaryOp.EQ:
                return left == right
            case _:
                return left != right

    def __str__(self) -> str:
        signs = {BinaryOp.LT: "<", BinaryOp.LE: "<=", BinaryOp.EQ: "==", BinaryOp.NE: "!="}
        return f"{self.left} {signs[self.op]} {self.right}"


@dataclass(frozen=True, slots=True)
class Made:
    """A number of type `dtype` that is made of others.

    `known` holds where a choice takes its first operand, `otherwise` where it takes the second.
    """

    how: BinaryOp | UnaryOp | Way
    operands: tuple[Linear, ...]
    dtype: DataType
    label: str = ""  # tells those apart that are made alike
    known: tuple[Known, ...] = ()
    otherwise: tuple[Known, ...] = ()

    def __lt__(self, other: Made) -> bool:
        return repr(self) < repr(other)

    @property
    def weight(self) -> int:
        tests = ((test.left, test.right) for test in (*self.known, *self.otherwise))
        parts = (*self.operands, *(part for pair in tests for part in pair))
        return 1 + sum(part.weight for part in parts)

    @property
    def scalars(self) -> frozenset[str]:
        tests = (test.scalars for test in (*self.known, *self.otherwise))
        return frozenset[str]().union(*(part.scalars for part in self.operands), *tests)

    def variables(self) -> Iterator[Variable]:
        """Itself, and all that it is made of."""
        yield self
        for operand in self.operands:
            yield from variables(operand)
        for test in (*self.known, *self.otherwise):
            yield from test.variables()

    def at(self, launch: Launch) -> int:
        """Its value for a launch, by the meaning of the IR's operators."""
        values = [operand.number(launch) for operand in self.operands]
        if self.how is Way.SELECT:
            return values[not all(test.holds(launch) for test in self.known)]
        if self.how is Way.CAST:
            return wrapped(values[0], self.dtype)
        table = BINARY if isinstance(self.how, BinaryOp) else UNARY
        held = (
            np.asarray(value, STORAGE[operand.dtype])
            for value, operand in zip(values, self.operands, strict=True)
        )
        with np.errstate(all="ignore"):
            return int(table[self.how](*held))  # type: ignore[index]  # the table of its kind

    def __str__(self) -> str:
        name = self.how.name.lower() if isinstance(self.how, (BinaryOp, UnaryOp)) else self.how
        inner = ", ".join(map(str, (*self.known, *self.operands)))
        return f"{self.label or name}({inner})" if inner else self.label or str(name)


def variables(form: Linear) -> Iterator[Variable]:
    """The variables of a form, and all that these are made of."""
    for variable in form.terms:
        if isinstance(variable, Made):
            yield from variable.variables()
        else:
            yield variable


def is_plain(form: Linear) -> bool:
    """Whether a form counts with positions and counters alone."""
    return all(isinstance(variable, (Gid, Counter)) for variable in form.terms)
