"""Tuples, lists and NumPy arrays around a kernel as tables of constants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from vyre.ir.types import DataType
from vyre.lang.params import MAX_RANK

Number = int | float | bool


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers that a kernel looks up, as they were when it was made.

    Those of a NumPy array have its type; those of a tuple or a list take any type that fits them
    all, as literals do.
    """

    name: str
    shape: tuple[int, ...]
    values: tuple[Number, ...]  # row by row
    dtype: DataType | None  # of the elements; None while they are open to a type

    @property
    def extents(self) -> tuple[int, ...]:
        return self.shape

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def element(self) -> DataType | None:
        return self.dtype


@dataclass(frozen=True, slots=True)
class NoTable:
    """Why something is no table, and what to do about it."""

    problem: str
    fix: str


_ROWS = (tuple, list)
_DTYPES = {
    "bool": DataType.BOOL,
    **{f"{word}{bits}": getattr(DataType, f"{word[0].upper()}{bits}")
       for word in ("uint", "int") for bits in (8, 16, 32, 64)},
    "float16": DataType.F16,
    "float32": DataType.F32,
    "float64": DataType.F64,
}  # fmt: skip  # one entry a line


def is_table(value: object) -> bool:
    """Whether something around a kernel is meant as a table, if it may be one."""
    return isinstance(value, (*_ROWS, np.ndarray))


def read_table(name: str, value: object) -> Table | NoTable:
    """The numbers of a tuple, a list or an array, copied."""
    if isinstance(value, np.ndarray):
        return _of_array(name, value)
    assert isinstance(value, _ROWS), "whoever asks has asked is_table"
    return _of_rows(name, value)


def _of_array(name: str, value: np.ndarray) -> Table | NoTable:
    dtype = _DTYPES.get(value.dtype.name)
    if dtype is None or isinstance(value, np.ma.MaskedArray):
        kind = "masked" if isinstance(value, np.ma.MaskedArray) else value.dtype
        return NoTable(
            f"{name} is an array of {kind}, and a table holds plain numbers",
            f"convert it outside the kernel, for example {name}.astype(np.float32)",
        )
    return _checked(Table(name, value.shape, tuple(value.ravel().tolist()), dtype))


def _of_rows(name: str, value: tuple[object, ...] | list[object]) -> Table | NoTable:
    shape: list[int] = []
    inner: object = value
    while isinstance(inner, _ROWS):
        shape.append(len(inner))
        inner = inner[0] if inner else None
    try:
        values = tuple(_leaves(value, shape))
    except _Unlike as unlike:
        return NoTable(
            f"{name} is a {type(value).__name__} in which {unlike}, and a table holds numbers, "
            "row by row",
            "give all rows the same length, and put nothing but numbers in them",
        )
    kinds = {isinstance(number, bool) for number in values}
    if len(kinds) > 1:
        return NoTable(
            f"{name} mixes bools and numbers", "write 0 and 1, or True and False, throughout"
        )
    return _checked(Table(name, tuple(shape), values, DataType.BOOL if kinds == {True} else None))


class _Unlike(Exception):
    """What stands in a tuple where a number or a row should."""


def _leaves(value: object, shape: list[int]) -> Iterator[Number]:
    if not shape:
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, bool):
            yield value
        elif isinstance(value, (int, float)):
            yield int(value) if isinstance(value, int) else float(value)
        else:
            raise _Unlike(f"one entry is {_shown(value)}")
        return
    if not isinstance(value, _ROWS):
        raise _Unlike(f"{_shown(value)} stands where others have a row")
    if len(value) != shape[0]:
        raise _Unlike(f"one row has {len(value)} entries and another {shape[0]}")
    for part in value:
        yield from _leaves(part, shape[1:])


def _shown(value: object) -> str:
    if value is None or isinstance(value, (int, float, str, complex)):
        return repr(value)[:40]
    return f"a {type(value).__name__}"


def _checked(table: Table) -> Table | NoTable:
    name = table.name
    if not table.values or not table.shape:
        return NoTable(f"{name} has no elements", "give the table one at least")
    if table.rank > MAX_RANK:
        return NoTable(
            f"{name} has {table.rank} axes; {MAX_RANK} allowed",
            f"reshape it to {MAX_RANK} axes or fewer outside the kernel",
        )
    assert len(table.values) == prod(table.shape)
    return table
