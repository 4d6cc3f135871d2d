"""From a call's arguments to arrays by name, all checked before anything runs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any

import numpy as np

from vyre.errors import InvalidInput
from vyre.ir.declare import Dim3
from vyre.ir.storage import STORAGE
from vyre.ir.types import DataType, int_range
from vyre.lang import Param, Role, Translation
from vyre.lang.covering import Along
from vyre.lang.params import Edge
from vyre.plain import shown
from vyre.runtime.arrays.advice import conversion, kept_copy, written_back
from vyre.runtime.arrays.array import AnyArray, DeviceArray, extents_of, is_masked
from vyre.runtime.arrays.foreign import ForeignArray, view

Shape = tuple[int, ...]

MOST_ELEMENTS = 0xFFFF_FFFE
"""The longest array: indices are 32 bits, and the last one means "out of bounds"."""


MOST_SIGNED = 1 << 31
"""Elements along an axis that have a position as i32."""


class CopyWarning(UserWarning):
    """An argument had to be copied for the call."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """A call's arguments by parameter name, and the shape it covers, which is () for one element.

    Outputs that were not given are missing from `arrays`; `out_shape` says what to make. What is
    written and could not be used as it lies is a copy there, and `originals` has what was given.
    """

    arrays: Mapping[str, AnyArray]
    scalars: Mapping[str, np.generic]
    covered: Shape
    extent: Dim3
    originals: Mapping[str, np.ndarray[Any, Any]]


def read(
    kernel: Translation,
    positional: Sequence[object],
    named: Mapping[str, object],
    out: object,
    shape: int | Sequence[int] | None,
) -> Arguments:
    """The call's arguments, or an error that names what is wrong with which one."""
    given = _match(kernel, positional, named, out)
    arrays: dict[str, AnyArray] = {}
    scalars: dict[str, np.generic] = {}
    originals: dict[str, np.ndarray[Any, Any]] = {}
    for param in kernel.params:
        if param.role is Role.SCALAR:
            scalars[param.name] = scalar(kernel, param, given[param.name])
        elif param.name in given:
            found = arrays[param.name] = _array(kernel, param, given[param.name])
            if isinstance(found, np.ndarray):
                used = arrays[param.name] = _contiguous(kernel, param, found)
                if used is not found and param.role is not Role.IN:
                    originals[param.name] = found
    if originals:
        _refuse_shared(kernel, {**arrays, **originals})
    _same_place(kernel, arrays)
    covered = _shape(kernel, arrays, shape)
    extent = _extent(kernel, covered)
    if kernel.has_signed_positions and max(extent) > MOST_SIGNED:
        raise InvalidInput(
            f"{kernel.name} takes positions as i32 (vyre.sgid), and {max(extent)} elements along "
            f"an axis are covered; i32 has places for {MOST_SIGNED}",
            "split the call, or use vyre.gid() in the kernel",
        )
    return Arguments(arrays, scalars, covered, extent, originals)


def out_shape(kernel: Translation, param: Param, covered: Shape) -> Shape:
    """The shape of an output that the call must make."""
    if param.count:
        return param.shape
    if kernel.rank == 0 and not covered:
        return (1,) * param.rank  # it runs once, and its author said nothing else
    if param.rank == (kernel.rank or len(covered)):
        return covered
    raise InvalidInput(
        f"{param.name} of {kernel.name} has {param.rank} axes, the call covers {covered}",
        "pass out= with the array to write",
    )


def unpacked(outputs: Sequence[Any]) -> Any:
    """What a call returns for its outputs."""
    return None if not outputs else outputs[0] if len(outputs) == 1 else tuple(outputs)


def scalar(kernel: Translation, param: Param, value: object) -> np.generic:
    """A number as its parameter's type holds it."""
    where = f"{param.name} of {kernel.name}"
    dtype = param.dtype
    if isinstance(value, (np.generic, np.ndarray)) and _is_number(value):
        value = value.item()
    if dtype.is_bool:
        if not isinstance(value, bool):
            raise InvalidInput(f"{where} is {shown(value)}, not a bool", "pass True or False")
    elif dtype.is_int:
        low, high = int_range(dtype)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise InvalidInput(
                f"{where} is {shown(value)}, not a value of {dtype}",
                f"pass a whole number from {low} to {high}",
            )
    else:
        if isinstance(value, complex):
            raise InvalidInput(
                f"{where} is {shown(value)}, which is complex",
                "pass a float, and another for the imaginary part",
            )
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise InvalidInput(f"{where} is {shown(value)}, not a number", "pass a float")
        largest = float(np.finfo(STORAGE[dtype]).max)
        if largest < abs(value) < inf:
            wider = "" if dtype == DataType.F64 else ", or declare it f64"
            raise InvalidInput(
                f"{where} is {shown(value)}, too large for {dtype}",
                f"pass a number up to {largest:g}{wider}",
            )
    made: np.generic = STORAGE[dtype].type(value)
    return made


def _is_number(value: np.generic | np.ndarray[Any, Any]) -> bool:
    """Whether it is one number: not one of a span of time, nor one that a mask hides."""
    return value.ndim == 0 and value.dtype.kind in "biufcO" and not is_masked(value)


def _match(
    kernel: Translation, positional: Sequence[object], named: Mapping[str, object], out: object
) -> dict[str, object]:
    """What was given, by parameter name."""
    inputs = [param for param in kernel.params if param.role in (Role.IN, Role.INOUT)]
    outputs = [param for param in kernel.params if param.role is Role.OUT]
    known = {param.name: param for param in kernel.params}
    if len(positional) > len(inputs):
        names = ", ".join(param.name for param in inputs) or "none"
        scalars = [param.name for param in kernel.params if param.role is Role.SCALAR]
        by_name = [f"{name}=" for name in scalars if name not in named]
        if outputs and out is None:
            by_name.append("out=")
        arrays = "array" if len(inputs) == 1 else "arrays"
        hint = f"; pass {' and '.join(by_name)} by name" if by_name else ""
        raise InvalidInput(
            f"{kernel.name} takes {len(inputs)} input {arrays} ({names}), {len(positional)} given",
            f"pass {len(inputs)} {arrays}{hint}",
        )
    given: dict[str, object] = {
        param.name: value for param, value in zip(inputs, positional, strict=False)
    }
    for name, value in named.items():
        if name not in known:
            raise InvalidInput(
                f"{kernel.name} has no parameter {name!r}; it has {', '.join(known)}",
                "use one of its parameters' names",
            )
        if name in given:
            raise InvalidInput(f"{kernel.name} got {name!r} twice", "pass it once")
        given[name] = value
    if out is not None:
        values = tuple(out) if isinstance(out, (tuple, list)) else (out,)
        if len(values) != len(outputs):
            names = ", ".join(param.name for param in outputs) or "none"
            raise InvalidInput(
                f"out= has {len(values)} arrays; {kernel.name} writes {len(outputs)} ({names})",
                "pass one array per output, in a tuple",
            )
        for param in outputs:
            if param.name in given:
                raise InvalidInput(
                    f"{kernel.name} got {param.name!r} by its name and in out=", "pass it once"
                )
        given |= {param.name: value for param, value in zip(outputs, values, strict=True)}
    for param in kernel.params:
        if param.default is not None:
            given.setdefault(param.name, param.default)
    missing = [
        param.name
        for param in kernel.params
        if param.role is not Role.OUT and param.name not in given
    ]
    if missing:
        raise InvalidInput(
            f"{kernel.name} is missing {', '.join(missing)}",
            f"pass {', '.join(f'{name}=' for name in missing)}",
        )
    return given


def _array(kernel: Translation, param: Param, value: object) -> AnyArray:
    where = f"{param.name} of {kernel.name}"
    wanted = STORAGE[param.dtype]
    if not isinstance(value, (np.ndarray, DeviceArray)):
        written = param.role is not Role.IN
        value = view(value, where=where, dtype=param.dtype, written=written) or value
    if not isinstance(value, (np.ndarray, DeviceArray)):
        if value is None:
            raise InvalidInput(
                f"{where} is None, not an array",
                "pass the array itself: a kernel that changes arrays in place returns None",
            )
        raise InvalidInput(
            f"{where} is a {type(value).__name__}, not an array",
            _of_bytes(param, value, wanted) or _to_array(param, wanted),
        )
    if isinstance(value, np.ndarray):
        if is_masked(value):
            raise InvalidInput(
                f"{where} is a masked array, and a kernel does not see its mask",
                f"pass {param.name}.filled(value) with what stands for the masked elements"
                if param.role is Role.IN
                else f"pass {param.name}.data to write every element, masked or not",
            )
        value = _same_bits(param, value)
    flags = value.dtype == np.bool_ and param.dtype == DataType.U8  # of a device; see DeviceArray
    if value.dtype != wanted and not flags and not isinstance(value, ForeignArray):
        same = value.dtype.name == wanted.name  # but for its byte order
        raise InvalidInput(
            f"{where} is {value.dtype.str if same else value.dtype.name}, "
            f"not {param.dtype} ({wanted.str if same else wanted.name})",
            _to_type(param, value, wanted),
        )
    if param.rank > 1 and value.ndim != param.rank:
        raise InvalidInput(
            f"{where} has {value.ndim} dimensions, {param.rank} declared",
            f"pass an array of {param.rank} dimensions",
        )
    if param.count and value.shape != param.shape:
        raise InvalidInput(
            f"{where} has shape {value.shape}, {param.shape} declared",
            f"pass an array of shape {param.shape}",
        )
    if value.size > MOST_ELEMENTS:
        raise InvalidInput(
            f"{where} has {value.size} elements; {MOST_ELEMENTS} allowed", "split the array"
        )
    return value


def _to_type(param: Param, value: AnyArray, wanted: np.dtype[Any]) -> str:
    """How to convert an array, or what of it a kernel can take."""
    name, written = param.name, param.role is not Role.IN
    cast = f"{name}.astype(numpy.{wanted.name})"
    if isinstance(value, DeviceArray):
        if value.dtype.kind not in "biuf" and not written:
            return f"make arrays of numbers of numpy.asarray({name}), and those device.array again"
        cast = f"device.array(numpy.asarray({name}, dtype=numpy.{wanted.name}))"
    return conversion(name, value.dtype, wanted, cast, written=written)


def _of_bytes(param: Param, value: object, wanted: np.dtype[Any]) -> str | None:
    """How bytes and texts are read: asarray would make one string of them."""
    if param.role is not Role.IN or not isinstance(value, (bytes, bytearray, str)):
        return None
    if not isinstance(value, str):
        return f"pass numpy.frombuffer({param.name}, numpy.{wanted.name})"
    if param.dtype == DataType.U8:
        return f"pass numpy.frombuffer({param.name}.encode(), numpy.uint8)"
    return f"pass an array of {wanted.name}"


def _to_array(param: Param, wanted: np.dtype[Any]) -> str:
    # With a dtype of whole numbers, NumPy would cut fractions off.
    typed = f", dtype=numpy.{wanted.name}" if wanted.kind == "f" else ""
    make = f"numpy.asarray({param.name}{typed})"
    if param.role is Role.IN:
        return f"pass {make}"
    return f"make it an array first, {param.name} = {make}: the results are written to it"


def _same_bits(param: Param, value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """NumPy's bool is a u8, and a bfloat16 from elsewhere travels as its pattern."""
    if value.dtype == np.bool_ and param.dtype == DataType.U8:
        return value.view(np.uint8)
    if value.dtype.name == "bfloat16" and param.dtype == DataType.BF16:
        return value.view(np.uint16)
    return value


_said: set[tuple[str, str]] = set()


def _contiguous(
    kernel: Translation, param: Param, value: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    where = f"{param.name} of {kernel.name}"
    if param.role is not Role.IN and not value.flags.writeable:
        raise InvalidInput(f"{where} is written, but its array is read-only", kept_copy(param.name))
    if value.flags.c_contiguous and value.flags.aligned:
        return value
    how, make = f"not contiguous (strides {value.strides})", "numpy.ascontiguousarray({name})"
    if value.flags.c_contiguous:
        how, make = "not aligned to its elements", "{name}.copy()"
    make = make.format(name=param.name)
    fix, back = f"pass {make}", ""
    if param.role is not Role.IN:
        if _elements_share(value):
            raise InvalidInput(
                f"{where} is written, and elements of its array share memory (strides "
                f"{value.strides})",
                kept_copy(param.name),
            )
        fix, back = written_back(make, f"{param.name}[...] = c"), " there and back"
    if (kernel.name, param.name) not in _said:
        _said.add((kernel.name, param.name))
        warnings.warn(
            f"{where} is {how}, so it is copied{back} for each call.\nFix: {fix}",
            CopyWarning,
            stacklevel=6,
        )
    return value.copy(order="C")


def _elements_share(value: np.ndarray[Any, Any]) -> bool:
    """Whether two places of an array may be the same bytes."""
    axes = [(abs(step), n) for step, n in zip(value.strides, value.shape, strict=True) if n > 1]
    reach = value.itemsize  # bytes from the first of what the axes so far go through to its end
    for step, count in sorted(axes):
        if step < reach:
            return bool(value.size)
        reach += step * (count - 1)
    return False


MOST_WORK = 100_000
"""How long NumPy looks whether two strided arrays share an element; beyond, they count as if."""


def _refuse_shared(kernel: Translation, arrays: Mapping[str, AnyArray]) -> None:
    """Refuse two arrays that are both written and share an element."""
    written = [
        (param.name, array)
        for param in kernel.params
        if param.role is not Role.IN and isinstance(array := arrays.get(param.name), np.ndarray)
    ]
    for number, (first, one) in enumerate(written):
        for second, other in written[number + 1 :]:
            if _share(one, other):
                raise InvalidInput(
                    f"{first} and {second} of {kernel.name} are both written and share memory",
                    "pass arrays that do not overlap",
                )


def _share(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    try:
        return np.shares_memory(one, other, max_work=MOST_WORK)  # type: ignore[arg-type]  # any int
    except np.exceptions.TooHardError:
        return True


def _same_place(kernel: Translation, arrays: Mapping[str, AnyArray]) -> None:
    """Refuse a call whose arrays live in different places."""
    places = {
        name: array.device.name if isinstance(array, DeviceArray) else "the host"
        for name, array in arrays.items()
    }
    if len(set(places.values())) > 1:
        listed = ", ".join(f"{name} on {place}" for name, place in places.items())
        raise InvalidInput(
            f"the arrays of {kernel.name} live in different places: {listed}",
            _to_one_place(kernel, places),
        )


def _to_one_place(kernel: Translation, places: Mapping[str, str]) -> str:
    """Which arrays to move: not those whose results would then be elsewhere."""
    written = {
        p.name: places[p.name] for p in kernel.params if p.role is not Role.IN and p.name in places
    }
    if not written:
        return "move them to one device with device.array(x), or to the host with numpy.asarray(x)"
    name, place = next(iter(written.items()))
    if len(set(written.values())) > 1:
        return f"make what is written, {', '.join(written)}, in one place, and pass that"
    move = "numpy.asarray(x)" if place == "the host" else "device.array(x)"
    return f"move what is read to where {name} is, with {move}"


def _shape(
    kernel: Translation, arrays: Mapping[str, AnyArray], shape: int | Sequence[int] | None
) -> Shape:
    """What the dispatch covers: `shape=`, else the shape of `out=`, else that of the inputs.

    A kernel that asks for no position runs once; `shape=` says what its outputs are.
    """
    if shape is not None:
        return _stated_shape(kernel, shape)
    if kernel.rank == 0:
        return ()
    for roles, what in (((Role.OUT,), "outputs"), ((Role.IN, Role.INOUT), "inputs")):
        shapes = {
            param.name: arrays[param.name].shape
            for param in kernel.params
            if param.role in roles
            and param.name in arrays
            and param.rank == kernel.rank
            and not param.count
        }
        if len(set(shapes.values())) == 1:
            _check_covered(kernel, arrays, shapes)
            return _stated_shape(kernel, next(iter(shapes.values())))
        if shapes and (common := _broadcast(kernel, shapes)) is not None:
            return _stated_shape(kernel, common)
        if shapes:
            listed = ", ".join(f"{name} {found}" for name, found in shapes.items())
            raise InvalidInput(
                f"the {what} of {kernel.name} differ in shape: {listed}",
                _to_one_shape(shapes, written=what == "outputs"),
            )
    raise InvalidInput(
        f"no array of this call says how many elements {kernel.name} covers",
        _to_a_shape(kernel, arrays),
    )


def _to_a_shape(kernel: Translation, arrays: Mapping[str, AnyArray]) -> str:
    """What `shape=` may say: what each position indexes, where that is of one size."""
    sizes: dict[int, dict[int, Along]] = {}
    for found in _indexed(kernel, arrays):
        size = arrays[found.array].shape[found.axis]
        sizes.setdefault(found.position, {}).setdefault(size, found)
    if set(sizes) != set(range(kernel.rank)) or any(len(found) > 1 for found in sizes.values()):
        return "pass shape= with the shape to cover"
    shape, places = zip(*(next(iter(sizes[axis].items())) for axis in sorted(sizes)), strict=True)
    covered = " and ".join(f"axis {place.axis} of {place.array}" for place in places)
    return (
        f"pass shape={shape[0] if len(shape) == 1 else shape} to cover {covered}, or another shape"
    )


def _indexed(kernel: Translation, arrays: Mapping[str, AnyArray]) -> list[Along]:
    """Which axes of this call's arrays positions index, where they are not led back at an edge."""
    edges = {param.name: param.edge for param in kernel.params if not param.count}
    return [
        found
        for found in kernel.covering.along
        if edges.get(found.array) is Edge.ZERO and found.array in arrays
    ]


def _check_covered(
    kernel: Translation, arrays: Mapping[str, AnyArray], shapes: Mapping[str, Shape]
) -> None:
    """Refuse the shape of arrays that positions do not index, where they index other extents."""
    if not kernel.covering.placed.isdisjoint(shapes):
        return
    shape = next(iter(shapes.values()))
    for found in _indexed(kernel, arrays):
        size = arrays[found.array].shape[found.axis]
        if size != shape[found.position]:
            own = (*shape[: found.position], size, *shape[found.position + 1 :])
            meant, other = (one[0] if len(one) == 1 else one for one in (own, shape))
            raise InvalidInput(
                f"{kernel.name} would cover {other}, the shape of {' and '.join(shapes)}, which "
                f"positions do not index; they index axis {found.axis} of {found.array}, which has "
                f"{size}",
                f"pass shape={meant} to cover what {found.array} has, or shape={other}",
            )


def _broadcast(kernel: Translation, shapes: Mapping[str, Shape]) -> Shape | None:
    """The shape that arrays share once those that broadcast do; None where they do not."""
    spread = {param.name for param in kernel.params if param.edge is Edge.BROADCAST}
    try:
        common = np.broadcast_shapes(*shapes.values())
    except ValueError:
        return None
    fits = all(name in spread or shape == common for name, shape in shapes.items())
    return common if fits else None


def _to_one_shape(shapes: Mapping[str, Shape], *, written: bool) -> str:
    """How to make arrays agree; beyond an array's end there are zeros, and nothing is written."""
    if written:
        return "pass outputs of one shape; what is written beyond the end of one is dropped"
    try:
        common = np.broadcast_shapes(*shapes.values())
    except ValueError:
        common = None
    make = "arrays of one shape"
    for name, shape in shapes.items():
        if common is not None and shape != common:
            make = f"numpy.broadcast_to({name}, {common}).copy()"
    return (
        f"pass {make} where elements at one place belong together, else shape= with the shape to "
        "cover; beyond the end of an array are zeros"
    )


def _stated_shape(kernel: Translation, shape: int | Sequence[int]) -> Shape:
    covered = extents_of(shape)
    if kernel.rank > 1 and len(covered) != kernel.rank:
        raise InvalidInput(
            f"shape {shown(covered)} has {len(covered)} axes; "
            f"{kernel.name} uses gid of {kernel.rank}",
            f"pass a shape of {kernel.rank} axes",
        )
    if prod(covered) > MOST_ELEMENTS:
        raise InvalidInput(
            f"shape {shown(covered)} is {shown(prod(covered))} elements; {MOST_ELEMENTS} allowed",
            "split the call",
        )
    return covered


def _extent(kernel: Translation, covered: Shape) -> Dim3:
    """The covered shape along x, y, z: the last axis is the fastest one."""
    if kernel.rank == 0:
        return (1, 1, 1)
    if kernel.rank == 1:
        return (prod(covered), 1, 1)
    x, y, z = (*reversed(covered), 1, 1)[:3]
    return (x, y, z)
