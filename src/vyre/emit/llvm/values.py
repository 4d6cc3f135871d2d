"""Values of one body of LLVM IR: what the lanes hold, and how alike they are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from vyre.ir.types import DataType


class Shape(Enum):
    """How the values of neighbouring lanes relate."""

    UNIFORM = "uniform"  # one for all: a scalar
    LINEAR = "linear"  # the first lane's, and one more for each lane after it: a scalar as well
    VECTOR = "vector"  # one for each


@dataclass(frozen=True, slots=True)
class Value:
    """One register for all rows that run side by side, or one for each of them."""

    dtype: DataType
    shape: Shape
    registers: tuple[str, ...]
    is_constant: bool = False
    never_wraps: bool = False  # a position of the dispatch, which fits its type

    def at(self, row: int) -> str:
        return self.registers[row if len(self.registers) > 1 else 0]

    @property
    def is_scalar(self) -> bool:
        """Whether one plain number serves all lanes and rows."""
        return self.shape is Shape.UNIFORM and len(self.registers) == 1


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a name that is given several values keeps them: a place in memory for each row."""

    dtype: DataType
    shape: Shape
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StagedAt:
    """Where a loop finds what it loads in each round: a vector every `stride` bytes from `base`."""

    var: str  # the loop's counter
    start: Value
    base: str
    stride: str
