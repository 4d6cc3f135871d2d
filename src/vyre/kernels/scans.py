"""Prefix sums along an axis, the same bits on every device: `cumsum`.

The sum at an element is of itself and of all before it, in this order. Elements 1024*m to
1024*m + 1023 of a line are block m, which has 32 groups of 32 elements. A group is summed up in
order. What the groups before it come to, summed up in order, is added to each sum of a group that
is not the first of its block. What the blocks come to is summed up by the same rule, as a line of
its own, and what stands before a block in that is added last to each sum of a block that is not the
first.
"""

from __future__ import annotations

from math import prod
from operator import index
from typing import Any

import numpy as np

from vyre.errors import InvalidInput
from vyre.kernels.scan_blocks import BLOCK, GROUP, TYPES, kernels_for
from vyre.plain import shown
from vyre.runtime.arrays.array import DeviceArray, is_masked
from vyre.runtime.arrays.foreign import ForeignArray, result_of, view
from vyre.runtime.arrays.foreign_kinds import kind_of
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.opened import default

Shape = tuple[int, ...]


def cumsum(x: Any, axis: int = -1, *, exclusive: bool = False, out: Any = None) -> Any:
    """The sums of all elements up to each one, along an axis; the type stays what it is.

    >>> cumsum(np.array([[1, 2, 3], [4, 5, 6]], np.int32)).tolist()
    [[1, 3, 6], [4, 9, 15]]
    >>> cumsum(np.array([1.0, 2.0, 3.0]), exclusive=True).tolist()
    [0.0, 1.0, 3.0]

    Args:
        x: an array of NumPy, of a device, of CuPy or of torch, of 32 or 64 bits. What kernels do
            with one, this does: device arrays stay there, and the call returns at once.
        axis: along which to sum up; counted from the end where it is below 0.
        exclusive: whether an element's sum is that of the elements before it alone: the inclusive
            sums, moved on by one place, and 0 in front.
        out: the array to write, of the shape and type of `x`, or `x` itself.

    Returns:
        The sums, in `out` where that is given. Whole numbers wrap.

    Raises:
        InvalidInput: there is no such axis, no kernel for the type, or `out` does not fit.
    """
    if not isinstance(exclusive, (bool, np.bool_)):
        raise InvalidInput(f"exclusive= of cumsum is {shown(exclusive)}", "pass True or False")
    if kind_of(x) is None and not isinstance(x, (np.ndarray, DeviceArray)):
        x = _as_numpy(x)
    name = _type_of(x, "x")
    shape = tuple(int(size) for size in x.shape)
    along = _axis(axis, shape)
    if out is not None:
        _check_out(x, out, name, shape)
    if isinstance(x, np.ndarray):
        return _of_numpy(x, out, along, exclusive=bool(exclusive))
    found = like(x, shape, name) if out is None else out
    if prod(shape):
        lines = _lines(shape, along)
        _scan(_reshaped(x, lines), _reshaped(found, lines), name, shift=int(exclusive))
    return found


def _of_numpy(x: Any, out: Any, along: int, *, exclusive: bool) -> Any:
    """The sums of an array of the host, which goes to a device as a whole and comes back so."""
    dtype = x.dtype.newbyteorder("=")
    target = out
    if out is None or not (out.flags.c_contiguous and out.flags.aligned and out.dtype.isnative):
        target = np.empty(x.shape, dtype)
    if x.size:
        lines, name = _lines(x.shape, along), dtype.name
        given = np.ascontiguousarray(x, dtype).reshape(lines)
        device = default()
        if device.backend.uses_host_memory:
            _scan(given, target.reshape(lines), name, shift=int(exclusive))
        else:
            made = device.empty(lines, dtype)
            _scan(device.array(given), made, name, shift=int(exclusive))
            target[...] = np.asarray(made).reshape(x.shape)
    if out is None or target is out:
        return target
    out[...] = target
    return out


def _scan(x: Any, out: Any, name: str, *, shift: int) -> None:
    """Write the sums along the middle axis of three; `shift` moves them on by so many places."""
    outer, count, inner = x.shape
    blocks = -(-count // BLOCK)
    kernels = kernels_for(name)
    by_columns = inner > 1 or _is_of_processor(x)
    if by_columns:
        covered: Shape = (outer, blocks, inner)
        totals, scan = kernels.column_totals, kernels.column_sums
    else:
        x, out = _reshaped(x, (outer, count)), _reshaped(out, (outer, count))
        covered = (outer, blocks * GROUP)
        totals, scan = kernels.row_totals, kernels.row_sums
    middle = (outer, blocks, inner) if by_columns else (outer, blocks)
    before = like(x, (1,) * len(middle) if blocks == 1 else middle, name)
    if blocks > 1:
        totals(x, out=before, shape=covered)
        lines = (outer, blocks, inner)
        # A call on one array for both takes 90 us longer on a processor than one on two (measured).
        summed = like(x, middle, name) if by_columns and inner == 1 else before
        _scan(_reshaped(before, lines), _reshaped(summed, lines), name, shift=0)
        before = summed
    scan(x, before, out=out, shape=covered, shift=shift)


def _is_of_processor(x: Any) -> bool:
    """Whether rows are best walked block by block: a processor has no lanes that would wait."""
    device = default() if isinstance(x, np.ndarray) else getattr(x, "device", None)
    return isinstance(device, Device) and device.info.simd is not None


def like(x: Any, shape: Shape, name: str) -> Any:
    """A new array of the kind of `x`, where that is."""
    if isinstance(x, np.ndarray):
        return np.empty(shape, name)
    if isinstance(x, DeviceArray):
        return x.device.empty(shape, name)
    dtype = TYPES[name]
    seen = view(x, where="x of cumsum", dtype=dtype, written=False)
    assert isinstance(seen, ForeignArray)
    return result_of(seen.zeros(shape, dtype))


def _reshaped(array: Any, shape: Shape) -> Any:
    """The same elements in another shape, where they are."""
    if type(array) is DeviceArray:
        return DeviceArray(array.device, array.memory, shape, array.dtype)
    return array.reshape(shape)


def _lines(shape: Shape, axis: int) -> Shape:
    """The shape as three axes, of which the middle one is summed up along."""
    return prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])


def _as_numpy(x: object) -> Any:
    try:
        return np.asarray(x)
    except (TypeError, ValueError, RuntimeError):
        raise InvalidInput(
            f"x of cumsum is a {type(x).__name__}", "pass an array of numbers"
        ) from None


def _type_of(array: Any, what: str) -> str:
    """What NumPy calls the type of an array's elements.

    Raises:
        InvalidInput: there is no kernel for it, or the array cannot be used.
    """
    if is_masked(array):
        raise InvalidInput(
            f"{what} of cumsum is a masked array, whose mask would be lost",
            "pass x.filled(value) with what stands for the masked elements",
        )
    kind = kind_of(array)
    name = str(kind.see(array).dtype) if kind is not None else array.dtype.name
    if name not in TYPES:
        wider = {"f": "float32", "b": "uint32", "u": "uint32", "i": "int32"}.get(name[0], "float64")
        raise InvalidInput(
            f"{what} of cumsum is {name}; it sums up {', '.join(TYPES)}",
            f"convert it first, for example {what}.astype(numpy.{wider})",
        )
    return name


def _axis(axis: object, shape: Shape) -> int:
    """An axis counted from the first."""
    try:
        along = None if isinstance(axis, (bool, np.bool_)) else index(axis)  # type: ignore[arg-type]  # or it raises
    except TypeError:
        along = None
    if not shape:
        raise InvalidInput("x of cumsum is one number, which has no axis", "pass an array")
    if along is None or not -len(shape) <= along < len(shape):
        has = f"{len(shape)} axes" if len(shape) > 1 else "1 axis"
        raise InvalidInput(
            f"axis {shown(axis)} of cumsum; x has {has}",
            f"use a whole number from {-len(shape)} to {len(shape) - 1}",
        )
    return along % len(shape)


def _check_out(x: Any, out: Any, name: str, shape: Shape) -> None:
    """Refuse an array that the sums do not fit into."""
    same = type(out) is type(x) or (isinstance(x, np.ndarray) and isinstance(out, np.ndarray))
    if not same:
        raise InvalidInput(
            f"out of cumsum is a {type(out).__name__}, and x a {type(x).__name__}",
            "pass both as arrays of one library",
        )
    found, given = _type_of(out, "out"), tuple(int(size) for size in out.shape)
    if found != name or given != shape:
        raise InvalidInput(
            f"out of cumsum is {found}{list(given)}, and x {name}{list(shape)}",
            "pass an array of the shape and type of x, or leave out= out",
        )
    if isinstance(out, np.ndarray) and not out.flags.writeable:
        raise InvalidInput(
            "out of cumsum is written, but its array is read-only", "pass one that can be written"
        )
