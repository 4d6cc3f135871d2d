"""What stands beside a function's parameters, also where it is written as text."""

from __future__ import annotations

import ast
import inspect
from types import FrameType, FunctionType

from vyre.lang.context import captured
from vyre.lang.source import Source


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
    for default in (*args.defaults, *args.kw_defaults):
        if default is not None:
            raise source.error(
                default,
                "a default argument is not part of the kernel language",
                "pass it in the call",
            )
    return [*args.posonlyargs, *args.args, *args.kwonlyargs]


def annotation_of(source: Source, parameter: ast.arg) -> object:
    """What the annotation of a parameter stands for; None where there is none.

    Raises:
        LanguageError: the annotation names something that is not there.
    """
    if parameter.annotation is None:
        return None
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
