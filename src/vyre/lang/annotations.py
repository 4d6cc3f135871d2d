"""What stands beside a function's parameters, also where it is written as text."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from types import FrameType, FunctionType

import numpy as np

from vyre.ir.types import DataType, int_range
from vyre.lang.context import captured
from vyre.lang.params import ArrayType, Role
from vyre.lang.source import Source
from vyre.lang.values import Number, fits
from vyre.plain import shown


def parameters_of(source: Source) -> list[ast.arg]:
    """The parameters of a function, in order; each is plain, as a kernel's must be."""
    args = source.tree.args
    for star, what in ((args.vararg, "*"), (args.kwarg, "**")):
        if star is not None:
            raise source.error(
                star,
                f"{what}{star.arg} takes any number of arguments",
                "name each parameter",
            )
    return [*args.posonlyargs, *args.args, *args.kwonlyargs]


@dataclass(frozen=True, slots=True)
class Default:
    """The number that a parameter has where a call gives none, and where it is written."""

    node: ast.expr
    number: Number


def defaults_of(source: Source) -> dict[str, Default]:
    """The default values of a function's parameters, which are numbers.

    Raises:
        LanguageError: one is something else.
    """
    args, fn = source.tree.args, source.fn
    plain = [*args.posonlyargs, *args.args]
    written = dict(zip(reversed(plain), reversed(args.defaults), strict=False))
    written |= {
        parameter: node
        for parameter, node in zip(args.kwonlyargs, args.kw_defaults, strict=True)
        if node is not None
    }
    held: dict[str, object] = {**(fn.__kwdefaults__ or {})}
    count = len(fn.__defaults__ or ())
    names = [parameter.arg for parameter in plain]
    held |= dict(zip(names[len(names) - count :], fn.__defaults__ or (), strict=True))
    found = {}
    for parameter, node in written.items():
        value = held[parameter.arg]
        if isinstance(value, np.generic):
            value = value.item()
        if not isinstance(value, (bool, int, float)):
            if parameter.annotation is not None:
                refuse_default_of_array(source, parameter, node)
            raise source.error(
                node,
                f"the default of {parameter.arg!r} is {shown(value)}, which is no number",
                "give it a number, or none, and pass it in the call",
            )
        found[parameter.arg] = Default(node, value if isinstance(value, bool) else _plain(value))
    return found


def _plain(number: int | float) -> int | float:
    return int(number) if isinstance(number, int) else float(number)


def refuse_default_of_array(source: Source, parameter: ast.arg, default: ast.expr) -> None:
    """An array is passed, or made by the call where it is an output."""
    annotation = annotation_of(source, parameter)
    if isinstance(annotation, ArrayType):
        is_made = annotation.role is Role.OUT
        raise source.error(
            default,
            f"{parameter.arg!r} is an array, and only numbers have a default",
            "leave the default out: a call makes the outputs that it is not given"
            if is_made
            else "leave the default out, and pass the array in the call",
        )


def check_default(source: Source, name: str, default: Default, dtype: DataType) -> None:
    """Refuse a default that its parameter's type does not have."""
    number = default.number
    if dtype.is_bool:
        if not isinstance(number, bool):
            raise source.error(
                default.node,
                f"the default {number!r} of {name!r} is not a bool",
                "write True or False",
            )
        return
    if isinstance(number, bool):
        raise source.error(
            default.node,
            f"the default {number!r} of {name!r} is a bool, and its type is {dtype}",
            f"write {int(number)}, or declare it {name}: bool_",
        )
    if fits(number, dtype):
        return
    if dtype.is_int:
        low, high = int_range(dtype)
        fix = f"write a whole number from {low} to {high}"
        fix += f", or declare it {name}: f32" if isinstance(number, float) else ""
    else:
        fix = f"write a number that {dtype} has"
        fix += "" if dtype == DataType.F64 else f", or declare it {name}: f64"
    raise source.error(
        default.node, f"the default {number!r} of {name!r} is no value of {dtype}", fix
    )


def annotation_of(source: Source, parameter: ast.arg) -> object:
    """What the annotation of a parameter stands for; None where there is none.

    Raises:
        LanguageError: the annotation names something that is not there.
    """
    if parameter.annotation is None:
        return None
    # Names around a function may be gone when it is translated for further types.
    if parameter.arg in source.annotations:
        return source.annotations[parameter.arg]
    try:
        value: object = source.fn.__annotations__.get(parameter.arg)
        while isinstance(value, str):
            value = eval(value, source.fn.__globals__, _Around(source))  # noqa: S307  # the author's own code, as Python would run it
    except NameError as error:
        raise source.error(
            parameter.annotation,
            f"the type of {parameter.arg!r} is not known here: {error}",
            "import or define it before the function",
        ) from None
    source.annotations[parameter.arg] = value
    return value


class _Around(dict[str, object]):
    """The names around a function, found when asked for."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.source = source

    def __missing__(self, name: str) -> object:
        fn = self.source.fn
        if name in fn.__code__.co_freevars:
            return captured(self.source, name)
        # A name that only a text annotation uses is not captured by the function. While its
        # definition runs, which is when a decorator is called, the scope around it still exists.
        frame = _defining_frame(fn)
        if frame is not None and name in frame.f_locals:
            return frame.f_locals[name]
        raise KeyError(name)


def _defining_frame(fn: FunctionType) -> FrameType | None:
    frame = inspect.currentframe()
    while frame is not None and fn.__code__ not in frame.f_code.co_consts:
        frame = frame.f_back
    return frame
