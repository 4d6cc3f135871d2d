"""The arguments of a call of a template: arrays where they are, and numbers of the right types."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from vyre.adapter.template.recipe import Recipe
from vyre.adapter.template.signature import Parameter, Unread
from vyre.adapter.template.sizes import Size
from vyre.errors import InvalidInput
from vyre.plain import shown
from vyre.runtime.arrays.array import DeviceArray, is_masked
from vyre.runtime.arrays.foreign import view_as_it_is

Value = DeviceArray | np.ndarray[Any, Any] | np.generic

_BOOL = "bool"

Described = tuple[tuple[str, str, Any], ...]
"""Arguments as `("array", dtype, elements)` or `("number", dtype, value)`."""


def taken(recipe: Recipe, given: Sequence[Any]) -> tuple[Value, ...]:
    """A call's arguments, each checked against what the source says of it.

    Raises:
        InvalidInput: one is no argument, or not of the type that the kernel takes.
    """
    parameters = recipe.parameters
    if parameters is not None and len(parameters) != len(given):
        names = ", ".join(one.name for one in parameters) or "none"
        raise InvalidInput(
            f"{recipe.name} takes {len(parameters)} arguments ({names}), {len(given)} given",
            f"pass {len(parameters)}; the size of the problem is size=",
        )
    if parameters is None:
        return tuple(_taken(recipe, None, n, one) for n, one in enumerate(given))
    return tuple(
        _taken(recipe, parameter, n, one)
        for n, (parameter, one) in enumerate(zip(parameters, given, strict=True))
    )


def written(recipe: Recipe, number: int) -> bool:
    """Whether a kernel may write to an argument, as far as its source tells."""
    parameters = recipe.parameters
    return parameters is None or not parameters[number].is_const


def name_of(recipe: Recipe, number: int) -> str:
    """An argument's name for people."""
    parameters = recipe.parameters
    return f"argument {number}" if parameters is None else parameters[number].name


def _taken(recipe: Recipe, parameter: Parameter | None, number: int, value: Any) -> Value:
    kind = type(value)
    if kind is DeviceArray or (kind is np.ndarray and value.ndim):
        found: DeviceArray | np.ndarray[Any, Any] | None = value
    else:
        where = f"{name_of(recipe, number)} of {recipe.name}"
        if isinstance(value, np.ndarray) and value.ndim == 0 and not is_masked(value):
            value = value[()]
        if isinstance(value, (np.generic, int, float)):
            return _number(recipe, parameter, where, value)
        writes = written(recipe, number)
        found = view_as_it_is(value, where=where, written=writes) or value
    if isinstance(found, (np.ndarray, DeviceArray)):
        _check_array(recipe, parameter, number, found)
        return found
    raise InvalidInput(
        f"{name_of(recipe, number)} of {recipe.name} is {shown(value)}",
        "pass an array of a device, NumPy, CuPy or torch, or a number",
    )


def _check_array(
    recipe: Recipe,
    parameter: Parameter | None,
    number: int,
    value: np.ndarray[Any, Any] | DeviceArray,
) -> None:
    if parameter is not None:
        if not parameter.is_pointer and parameter.number:
            raise InvalidInput(
                f"{parameter.name} of {recipe.name} is an array, and the source says "
                f"{parameter.said}",
                "pass a number",
            )
        if parameter.number and not _fits(value.dtype, np.dtype(parameter.number)):
            raise InvalidInput(
                f"{parameter.name} of {recipe.name} is {value.dtype.name}, and the source says "
                f"{parameter.said}",
                f"pass an array of {np.dtype(parameter.number).name}",
            )
    if isinstance(value, np.ndarray):
        where = f"{name_of(recipe, number)} of {recipe.name}"
        if is_masked(value) or value.dtype.hasobject or not value.dtype.isnative:
            raise InvalidInput(
                f"{where} is an array of {value.dtype.str}, of which a kernel sees only the bytes",
                "pass an array of plain numbers without a mask",
            )
        if not (value.flags.c_contiguous and value.flags.aligned):
            raise InvalidInput(
                f"{where} is not contiguous (strides {value.strides})",
                "pass numpy.ascontiguousarray of it, and copy back what is written",
            )
        if not value.flags.writeable and written(recipe, number):
            raise InvalidInput(
                f"{where} may be written, and its array is read-only",
                "pass a copy, or declare the parameter const in the source",
            )


def _fits(given: np.dtype[Any], said: np.dtype[Any]) -> bool:
    """Whether elements are what a source says: signs may differ, and bytes may be anything."""
    if said.itemsize == 1:
        return True
    if given.kind == "c":  # a vector of two
        return said.kind == "f" and given.itemsize == 2 * said.itemsize
    if said.itemsize != given.itemsize:
        return False
    # Halves, and 16-bit floats that NumPy does not have, travel as whole numbers too.
    return (given.kind == "f") == (said.kind == "f") or said.itemsize == 2


def _number(recipe: Recipe, parameter: Parameter | None, where: str, value: Any) -> np.generic:
    """A number as the kernel takes it."""
    if parameter is not None and parameter.is_pointer:
        raise InvalidInput(
            f"{where} is {shown(value)}, and the source says {parameter.said}", "pass an array"
        )
    said = parameter.number if parameter is not None else ""
    if isinstance(value, np.generic):
        exact: np.generic = np.uint8(value) if isinstance(value, np.bool_) else value
        if exact.dtype.kind not in "iuf" or exact.dtype.itemsize > 8:
            raise InvalidInput(f"{where} is {shown(value)}", "pass a number of at most 64 bits")
        if said and (exact.dtype.itemsize, exact.dtype.kind == "f") != (
            np.dtype(said).itemsize,
            np.dtype(said).kind == "f",
        ):
            assert parameter is not None
            raise InvalidInput(
                f"{where} is numpy.{exact.dtype.name}, and the source says {parameter.said}",
                f"pass numpy.{np.dtype(said).name}, or a number of Python's",
            )
        if parameter is not None and parameter.said == _BOOL and exact not in (0, 1):
            raise _beyond(where, parameter, np.dtype(said), value)
        return exact
    if not said:
        why = (
            recipe.signature.why
            if isinstance(recipe.signature, Unread)
            else f"{where} is {parameter.said if parameter else ''}".strip()
        )
        raise InvalidInput(
            f"{where} is {shown(value)}, and its type is not known: {why}",
            "pass a number of NumPy's, such as numpy.int32(5) or numpy.float32(0.5)",
        )
    assert parameter is not None
    return _converted(where, parameter, np.dtype(said), value)


def _converted(where: str, parameter: Parameter, dtype: np.dtype[Any], value: Any) -> np.generic:
    made: np.generic
    if dtype.kind == "f":
        try:
            with np.errstate(over="ignore"):
                made = dtype.type(value)
        except OverflowError:  # a whole number beyond any float
            made = dtype.type("inf")
        if np.isinf(made) and abs(value) != float("inf"):
            raise InvalidInput(
                f"{where} is {shown(value)}, too large for {parameter.said}",
                "pass a smaller number",
            )
        return made
    low, high = _range(parameter, dtype)
    if not isinstance(value, int) or not low <= value <= high:
        raise _beyond(where, parameter, dtype, value)
    made = dtype.type(value)
    return made


def _beyond(where: str, parameter: Parameter, dtype: np.dtype[Any], value: Any) -> InvalidInput:
    low, high = _range(parameter, dtype)
    return InvalidInput(
        f"{where} is {shown(value)}, not a value of {parameter.said}",
        f"pass a whole number from {low} to {high}",
    )


def _range(parameter: Parameter, dtype: np.dtype[Any]) -> tuple[int, int]:
    """The least and the greatest whole number that a kernel takes for what it was."""
    if parameter.said == _BOOL:  # any other byte is neither true nor false to a compiler
        return 0, 1
    return np.iinfo(dtype).min, np.iinfo(dtype).max


def teller(recipe: Recipe, number: int, like: Any) -> Callable[[Any], Hashable]:
    """What of numbers of one's type tells calls apart that are not alike: doublings of whole ones.

    And of no others: what it gives of those is the same for all.
    """
    if isinstance(like, np.generic):
        return _bits if isinstance(like, (np.integer, np.bool_)) else type
    _, dtype = _declared(recipe, number)
    return type if dtype.kind == "f" else int.bit_length


def converter(recipe: Recipe, number: int, like: Any) -> Callable[[Any], np.generic]:
    """What makes numbers the kernel's own that are of one's type, and as `teller` tells like it.

    Raises:
        InvalidInput: by what it gives: a number is beyond what the kernel takes.
    """
    if isinstance(like, np.bool_):
        return np.uint8
    if isinstance(like, np.generic):
        declared = recipe.parameters and recipe.parameters[number]
        if declared and declared.said == _BOOL:
            named = f"{declared.name} of {recipe.name}"
            return lambda value: _number(recipe, declared, named, value)
        return _as_it_is
    parameter, dtype = _declared(recipe, number)
    where = f"{parameter.name} of {recipe.name}"
    make: Callable[[Any], np.generic] = dtype.type
    low: float
    high: float
    if dtype.kind == "f":
        high = float(np.finfo(dtype).max)
        low = -high
    elif dtype.kind == "i" and like.bit_length() < 8 * dtype.itemsize:
        return make  # all of so many bits fit
    else:
        low, high = _range(parameter, dtype)

    def convert(value: Any) -> np.generic:
        if low <= value <= high:
            return make(value)
        return _converted(where, parameter, dtype, value)

    return convert


def _declared(recipe: Recipe, number: int) -> tuple[Parameter, np.dtype[Any]]:
    assert recipe.parameters is not None, "such a number is refused where nothing says its type"
    parameter = recipe.parameters[number]
    return parameter, np.dtype(parameter.number)


def _bits(value: Any) -> int:
    return int(value).bit_length()


def _as_it_is(value: np.generic) -> np.generic:
    return value


class Bound(NamedTuple):
    """What one launch is given: the problem's size, and the arguments as the driver has them."""

    size: Size | None
    values: tuple[Any, ...]
    held: tuple[Value, ...]  # the same, as arrays and numbers


def arguments_in(held: Sequence[Value]) -> tuple[Any, ...]:
    """Arguments that are on the device already, as the driver has them."""
    return tuple([one.argument if isinstance(one, DeviceArray) else one for one in held])


def described(held: Sequence[Value]) -> Described:
    """Arguments as a value that keeps no memory."""
    return tuple(
        ("number", one.dtype.str, one.item())
        if isinstance(one, np.generic)
        else ("array", "u1" if one.dtype == np.bool_ else one.dtype.str, one.size)
        for one in held
    )


def types_in(said: Described) -> tuple[np.dtype[Any] | None, ...]:
    """The types of numbers among arguments; None is an array."""
    return tuple(np.dtype(one[1]) if one[0] == "number" else None for one in said)
