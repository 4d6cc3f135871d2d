"""Steps on a device: inputs are checked, one dispatch runs, outputs are decoded exactly.

Every function takes one row of candidates, or many: then each row is a workload of its own, and one
dispatch serves them all. Shorter rows are padded, with weight 0 or with cost `ABSENT`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vyre.errors import DeviceFailed, InvalidInput
from vyre.ir import Program
from vyre.model import U32_MAX
from vyre.plan import DispatchConfig
from vyre.substrate import programs
from vyre.substrate.fixed import ABSENT, HOTTEST, I32_MAX, I32_MIN

Array = NDArray[Any]
Dispatch = Callable[[Program, Sequence[bytes | Array], DispatchConfig], list[Array]]
"""Runs a program on inputs and gives its outputs, both in the order of the declarations."""

_U32, _I32, _I64, _U64 = (np.dtype(name) for name in ("<u4", "<i4", "<i8", "<u8"))


@dataclass(slots=True)
class Scratch:
    """Arrays that calls of the same size fill again instead of making new ones."""

    _arrays: dict[str, Array] = field(default_factory=dict)

    def filled(self, name: str, values: ArrayLike, dtype: np.dtype[Any]) -> Array:
        """An array of little-endian `values`, end to end."""
        given = np.asarray(values)
        held = self._arrays.get(name)
        if held is None or held.size != given.size or held.dtype != dtype:
            held = self._arrays[name] = np.empty(given.size, dtype)
        held[...] = given.reshape(-1)
        return held

    def zeros(self, name: str, count: int, dtype: np.dtype[Any]) -> Array:
        """An array of zeros."""
        return self.filled(name, np.broadcast_to(np.uint8(0), count), dtype)


def pick_config_pre_exp(
    dispatch: Dispatch,
    pre_exp: ArrayLike,
    *,
    scratch: Scratch | None = None,
    out: NDArray[np.uint32] | None = None,
) -> NDArray[np.uint32]:
    """The probability of each candidate, in 16.16, from weights exp(-cost / temperature) in 16.16.

    They add up to exactly 65536; `fixed.softmax_q16` says how.

    Raises:
        InvalidInput: there are no candidates, too many, or a weight is not an unsigned 16.16.
        DeviceFailed: the device gave other outputs than the program has.
    """
    rows = _Rows.of(pre_exp)
    weights = _whole(pre_exp, "weight", 0, U32_MAX, "use unsigned 16.16 numbers")
    held = Scratch() if scratch is None else scratch
    inputs = [
        held.filled("pre_exp", weights, _U32),
        held.zeros("out", rows.cells, _U32),
        held.filled("size", rows.n, _U32),
    ]
    return rows.run(dispatch, programs.softmax_step(rows.n), inputs, (_U32,), out)


def config_gradient_magnitude(
    dispatch: Dispatch,
    pre_exp: ArrayLike,
    *,
    scratch: Scratch | None = None,
    out: NDArray[np.uint32] | None = None,
) -> NDArray[np.uint32]:
    """How fast the soft minimum falls with each cost: as fast as its candidate is probable."""
    return pick_config_pre_exp(dispatch, pre_exp, scratch=scratch, out=out)


def pick_config(
    dispatch: Dispatch,
    costs: ArrayLike,
    temperature: float | Sequence[float] | Array,
    *,
    scratch: Scratch | None = None,
    out: NDArray[np.uint32] | None = None,
) -> NDArray[np.uint32]:
    """The probability of each candidate, in 16.16, from whole costs and their temperature.

    Args:
        dispatch: such as `device.dispatch`.
        costs: of any one unit; `ABSENT` is no candidate.
        temperature: in the costs' unit, for all rows or one for each. At 0 the least costs share
            the probability, at infinity all candidates do.
        scratch: arrays to use again.
        out: where to write the result.

    Raises:
        InvalidInput: there are no candidates, too many, or a number is out of range.
        DeviceFailed: the device gave other outputs than the program has.
    """
    rows = _Rows.of(costs)
    whole = _whole(costs, "cost", -ABSENT - 1, ABSENT, "use whole numbers of 64 bits")
    heat = _temperatures(temperature, rows)
    held = Scratch() if scratch is None else scratch
    inputs = [
        held.filled("costs", whole, _I64),
        held.filled("temperatures", heat, _U64),
        held.zeros("out", rows.cells, _U32),
        held.filled("size", rows.n, _U32),
    ]
    return rows.run(dispatch, programs.pick_step(rows.n), inputs, (_U32,), out)


def config_gradient(
    dispatch: Dispatch,
    costs: ArrayLike,
    temperature: float | Sequence[float] | Array,
    *,
    scratch: Scratch | None = None,
) -> NDArray[np.int32]:
    """How the soft minimum of the costs falls with each of them, in signed 16.16."""
    return -pick_config(dispatch, costs, temperature, scratch=scratch).astype(np.int32)


def pick_best_config(
    dispatch: Dispatch, costs: ArrayLike, *, scratch: Scratch | None = None
) -> NDArray[np.uint32]:
    """The position of the least cost of each row, the first of equals."""
    rows = _Rows.of(costs)
    whole = _whole(costs, "cost", -ABSENT - 1, ABSENT, "use whole numbers of 64 bits")
    held = Scratch() if scratch is None else scratch
    inputs = [
        held.filled("costs", whole, _I64),
        held.zeros("best", rows.count, _U32),
        held.filled("size", rows.n, _U32),
    ]
    best = rows.outputs(dispatch, programs.best_step(rows.n), inputs, (_U32,), rows.count)[0]
    return best.copy().reshape(rows.shape[:-1])


def precondition_gradient(
    dispatch: Dispatch,
    matrix: ArrayLike,
    gradient: ArrayLike,
    *,
    scratch: Scratch | None = None,
    out: NDArray[np.int32] | None = None,
) -> NDArray[np.int32]:
    """Each row's matrix times its gradient, all in signed 16.16; overflow stops at the ends.

    Raises:
        InvalidInput: a shape does not fit, or an entry is not a signed 16.16.
        DeviceFailed: the device gave other outputs than the program has.
    """
    rows = _Rows.of(gradient)
    cells = rows.matrix(matrix)
    vector = _signed(gradient, "gradient entry")
    held = Scratch() if scratch is None else scratch
    inputs = [
        held.filled("matrix", cells, _I32),
        held.filled("gradient", vector, _I32),
        held.zeros("product", rows.cells, _I32),
        held.filled("size", rows.n, _U32),
    ]
    return rows.run(dispatch, programs.precondition(rows.n), inputs, (_I32,), out)


def natural_config_gradient_magnitude(
    dispatch: Dispatch,
    pre_exp: ArrayLike,
    matrix: ArrayLike,
    *,
    scratch: Scratch | None = None,
    out: NDArray[np.int32] | None = None,
) -> NDArray[np.int32]:
    """Each row's probabilities times its inverse Fisher square root, in one dispatch.

    Args:
        dispatch: such as `device.dispatch`.
        pre_exp: weights in 16.16, as for `pick_config_pre_exp`.
        matrix: n by n for each row, signed 16.16; nested or end to end.
        scratch: arrays to use again.
        out: where to write the result.

    Raises:
        InvalidInput: there are no candidates, too many, or a shape or a number does not fit.
        DeviceFailed: the device gave other outputs than the program has.
    """
    rows = _Rows.of(pre_exp)
    cells = rows.matrix(matrix)
    weights = _whole(pre_exp, "weight", 0, U32_MAX, "use unsigned 16.16 numbers")
    held = Scratch() if scratch is None else scratch
    inputs = [
        held.filled("pre_exp", weights, _U32),
        held.filled("matrix", cells, _I32),
        held.zeros("out", rows.cells, _U32),
        held.zeros("product", rows.cells, _I32),
        held.filled("size", rows.n, _U32),
    ]
    return rows.run(dispatch, programs.natural_step(rows.n), inputs, (_U32, _I32), out)


def step_on(dispatch: Dispatch) -> Callable[[Array, Array], NDArray[np.int64]]:
    """The policy's step on a device: a signed matrix times weights, both in 16.16.

    It gives the bits of `step`, and keeps its arrays from call to call.
    """
    held = Scratch()

    def run(matrix_q16: Array, weights_q16: Array) -> NDArray[np.int64]:
        product = precondition_gradient(dispatch, matrix_q16, weights_q16, scratch=held)
        return product.astype(np.int64)

    return run


@dataclass(frozen=True, slots=True)
class _Rows:
    """One row or many, of `n` candidates each."""

    shape: tuple[int, ...]

    @classmethod
    def of(cls, values: ArrayLike) -> _Rows:
        try:
            shape = np.shape(values)
        except ValueError:
            raise InvalidInput(
                "rows of different lengths", "pad them with weight 0 or cost ABSENT"
            ) from None
        if len(shape) not in (1, 2):
            raise InvalidInput(
                f"candidates in an array of shape {shape}",
                "give one row of them, or a row for each workload",
            )
        if 0 in shape:
            raise InvalidInput(
                f"no candidates in an array of shape {shape}", "give at least one candidate"
            )
        if shape[-1] > programs.MOST_CANDIDATES:
            raise InvalidInput(
                f"{shape[-1]} candidates in a row; {programs.MOST_CANDIDATES} allowed",
                f"give at most {programs.MOST_CANDIDATES} candidates",
            )
        rows = cls(shape)
        _check_cells(rows.cells, shape)
        return rows

    @property
    def n(self) -> int:
        return self.shape[-1]

    @property
    def count(self) -> int:
        return self.shape[0] if len(self.shape) == 2 else 1

    @property
    def cells(self) -> int:
        return self.n * self.count

    def matrix(self, values: ArrayLike) -> Array:
        """The signed cells of a matrix for each row."""
        size = self.cells * self.n
        _check_cells(size, (*self.shape, self.n))
        if np.size(values) != size:
            raise InvalidInput(
                f"a matrix of {np.size(values)} cells for {self.count} by {self.n} candidates,"
                f" which need {size}",
                f"give a row-major {self.n} by {self.n} matrix for each row",
            )
        return _signed(values, "matrix entry")

    def run(
        self,
        dispatch: Dispatch,
        program: Program,
        inputs: Sequence[Array],
        dtypes: Sequence[np.dtype[Any]],
        out: Array | None,
    ) -> Array:
        """The last output, in the shape of the rows."""
        if out is not None and (out.shape != self.shape or out.dtype != dtypes[-1]):
            raise InvalidInput(
                f"out is {out.dtype.name}{list(out.shape)};"
                f" the result is {dtypes[-1].name}{list(self.shape)}",
                "give an array of that shape and type, or none",
            )
        found = self.outputs(dispatch, program, inputs, dtypes, self.cells)[-1]
        if out is None:
            return found.copy().reshape(self.shape)
        out[...] = found.reshape(self.shape)
        return out

    def outputs(
        self,
        dispatch: Dispatch,
        program: Program,
        inputs: Sequence[Array],
        dtypes: Sequence[np.dtype[Any]],
        cells: int,
    ) -> list[Array]:
        """All outputs of one dispatch, each of exactly `cells` little-endian elements."""
        given = dispatch(program, inputs, DispatchConfig(grid_override=(self.count, 1, 1)))
        if len(given) != len(dtypes):
            raise DeviceFailed(
                f"the dispatch gave {len(given)} outputs; the program has {len(dtypes)}",
                "return an array for each written buffer, in the order of the declarations",
            )
        for array, dtype in zip(given, dtypes, strict=True):
            if array.nbytes != cells * dtype.itemsize:
                raise DeviceFailed(
                    f"the dispatch gave an output of {array.nbytes} bytes;"
                    f" {cells * dtype.itemsize} are due",
                    "return each written buffer whole",
                )
        return [
            np.ascontiguousarray(array).reshape(-1).view(dtype)
            for array, dtype in zip(given, dtypes, strict=True)
        ]


def _check_cells(cells: int, shape: tuple[int, ...]) -> None:
    if cells > U32_MAX:
        raise InvalidInput(
            f"{cells} cells in an array of shape {shape}; {U32_MAX} allowed",
            "dispatch fewer rows at a time",
        )


def _signed(values: ArrayLike, what: str) -> Array:
    return _whole(values, what, I32_MIN, I32_MAX, "use signed 16.16 numbers of 32 bits")


def _whole(values: ArrayLike, what: str, low: int, high: int, fix: str) -> Array:
    """Whole numbers within a range, as an array."""
    given = np.asarray(values)
    if given.dtype.kind not in "iu":
        raise InvalidInput(f"a {what} of type {given.dtype.name}", fix)
    least, most = int(given.min()), int(given.max())
    if least < low or most > high:
        wrong = least if least < low else most
        raise InvalidInput(f"a {what} of {wrong}; {low} to {high} allowed", fix)
    return given


def _temperatures(temperature: float | Sequence[float] | Array, rows: _Rows) -> Array:
    given = np.atleast_1d(np.asarray(temperature, object)).tolist()
    if len(given) not in (1, rows.count):
        raise InvalidInput(
            f"{len(given)} temperatures for {rows.count} rows", "give one, or one for each row"
        )
    fix = "use 0 for the best alone, a positive whole number, or infinity for all alike"
    words = []
    for value in given:
        if not value >= 0 or (value != math.inf and value != int(value)):
            raise InvalidInput(f"temperature {value}", fix)
        words.append(HOTTEST if value == math.inf else min(int(value), HOTTEST))
    return np.broadcast_to(np.array(words, np.uint64), rows.count)
