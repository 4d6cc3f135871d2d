"""What makes a kernel of a function: `@vyre.kernel`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import overload

from vyre.analysis import check_workgroups
from vyre.errors import InvalidInput, VyreError
from vyre.ir.types import DataType
from vyre.lang import Among, Role, Translation, translate
from vyre.lang.params import Types
from vyre.lang.source import Source, find_source
from vyre.lang.translate import type_variables
from vyre.runtime.call.kernel import CALL_WORDS, Function, Kernel
from vyre.runtime.call.typed import TypedKernels


@overload
def kernel(fn: Function) -> Kernel: ...
@overload
def kernel(
    *,
    workgroup: int | Sequence[int] | Among | None = None,
    fast_math: bool = False,
    unique_writes: str | Iterable[str] = (),
) -> Callable[[Function], Kernel]: ...
def kernel(
    fn: Function | None = None,
    *,
    workgroup: int | Sequence[int] | Among | None = None,
    fast_math: bool = False,
    unique_writes: str | Iterable[str] = (),
) -> Kernel | Callable[[Function], Kernel]:
    """Make a kernel of a function that says what one element does.

    Args:
        fn: The function; its parameters say what it reads, writes and takes by value.
        workgroup: The shape to launch by default, and always where the kernel's meaning needs it;
            or `vyre.among(...)`, shapes of which you state that they compute the same.
        fast_math: Trade accuracy for speed, by rule: a sum fuses with the product that is written
            in it (`a*b + c` is `fma(a, b, c)`), and CUDA's quotients, roots and functions of f32
            are its approximate ones. No schedule changes a bit.
        unique_writes: Outputs, or one, of which you state that no element is written by two
            invocations.
    """

    def translated(source: Source, types: Mapping[Types, DataType]) -> Translation:
        translation = translate(
            source,
            workgroup=workgroup,
            fast_math=fast_math,
            unique_writes=unique_writes,
            types=types,
        )
        check_workgroups(translation.program, translation.places)
        for param in translation.params:
            if param.name in CALL_WORDS and not (param.name == "out" and param.role is Role.OUT):
                raise InvalidInput(
                    f"parameter {param.name!r} of {translation.name} has a name that every call "
                    f"uses itself: {', '.join(sorted(CALL_WORDS))}",
                    "rename the parameter",
                )
        return translation

    def make(function: Function) -> Kernel:
        try:
            source = find_source(function)
            variables = type_variables(source)
            if not variables:
                return Kernel(function, translated(source, {}))
            return TypedKernels(function, variables, partial(translated, source))
        except VyreError as error:
            raise error.at_caller() from error.__cause__

    if fn is None:
        return make
    try:
        return make(fn)
    except VyreError as error:
        raise error.at_caller() from error.__cause__
