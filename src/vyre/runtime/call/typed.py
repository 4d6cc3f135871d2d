"""One kernel for several types: which of them a call is of, by its arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from vyre.analysis import Facts
from vyre.errors import InvalidInput
from vyre.ir.program import Program
from vyre.ir.types import DataType
from vyre.lang import Param, Role, Translation
from vyre.lang.params import Types
from vyre.learn.explain import Explanation
from vyre.model import Decision, Schedule, html_rows
from vyre.plain import shown
from vyre.runtime.call.kernel import Function, Kernel
from vyre.runtime.call.launch import Launch

Chosen = tuple[DataType, ...]

_BY_NAME = {
    "bool": DataType.U8,
    "bfloat16": DataType.BF16,
    **{
        f"{word}{dtype.bits}": dtype
        for word, kinds in (
            ("uint", (DataType.U8, DataType.U16, DataType.U32, DataType.U64)),
            ("int", (DataType.I8, DataType.I16, DataType.I32, DataType.I64)),
            ("float", (DataType.F16, DataType.F32, DataType.F64)),
        )
        for dtype in kinds
    },
}
"""What arrays of NumPy, CuPy and torch call their types."""

Make = Callable[[Mapping[Types, DataType]], Translation]
"""Translates the function for these types."""


class TypedKernels(Kernel):
    """A function that is a kernel for each type, or each few, that its parameters leave open.

    `scale[f32]` is one of them; a call takes the types from its arrays.
    """

    def __init__(self, function: Function, variables: Mapping[str, Types], make: Make) -> None:
        self._variables = variables
        self._order = tuple(dict.fromkeys(variables.values()))
        self._make = make
        self._made: dict[Chosen, Kernel] = {}
        self._function = function
        super().__init__(function, self.first._translation)

    @property
    def example(self) -> str:
        """The first type of each list, as it is written."""
        return ", ".join(str(one.members[0]) for one in self._order)

    @property
    def first(self) -> Kernel:
        """The kernel for the first type of each list."""
        return self._for(tuple(one.members[0] for one in self._order))

    def __getitem__(self, types: DataType | Chosen) -> Kernel:
        """The kernel for these types, in the order in which its parameters name them."""
        given = types if isinstance(types, tuple) else (types,)
        asked: tuple[object, ...] = given  # whatever was written there
        fits = len(asked) == len(self._order) and all(
            isinstance(member, DataType) and member in one.members
            for member, one in zip(asked, self._order, strict=True)
        )
        if not fits:
            listed = "; ".join(map(str, self._order))
            raise InvalidInput(
                f"{self.name}[{', '.join(map(_shown, given))}]; its types are {listed}",
                f"write {self.name}[{self.example}]",
            )
        return self._for(given)

    def _for(self, types: Chosen) -> Kernel:
        found = self._made.get(types)
        if found is None:
            translation = self._make(dict(zip(self._order, types, strict=True)))
            found = self._made[types] = _OneOfThem(self._function, translation, (self, types))
        return found

    def _of(self, arrays: Sequence[object], out: object, named: Mapping[str, object]) -> Kernel:
        """The kernel that a call is of."""
        params = self._translation.params
        given = _given(params, arrays, out, named)
        chosen: dict[Types, tuple[DataType, str]] = {}
        for name, value in given.items():
            variable = self._variables.get(name)
            found = None if variable is None else _type_of(value, variable)
            if variable is None or found is None:
                continue
            if found not in variable.members:
                raise InvalidInput(
                    f"{name} of {self.name} is {_name_of(value)}, not one of {variable}",
                    f"convert it to one of them, or add it to {variable!r}",
                )
            before, other = chosen.setdefault(variable, (found, name))
            if before != found:
                raise InvalidInput(
                    f"{other} of {self.name} is {before} and {name} is {found}, and they have one "
                    f"type per call",
                    f"convert one, or give {name} another vyre.types({variable}) of its own",
                )
        if len(chosen) == len(self._order):
            return self._for(tuple(chosen[one][0] for one in self._order))
        if any(name in self._variables and not _is_scalar(params, name) for name in given):
            return self.first  # which says what is wrong
        missing = next(one for one in self._order if one not in chosen)
        names = [name for name, one in self._variables.items() if one is missing]
        raise InvalidInput(
            f"no array of this call says which of {missing} {', '.join(names)} of {self.name} is",
            f"pass an array of one of them, or call {self.name}[{self.example}](...)",
        )

    @property
    def program(self) -> Program:
        self._refuse("program")

    @property
    def facts(self) -> Facts:
        self._refuse("facts")

    def source(self, schedule: Schedule | None = None) -> str:  # noqa: ARG002  # as every kernel's
        self._refuse("source()")

    def _refuse(self, what: str) -> NoReturn:
        raise InvalidInput(
            f"{self.name} has a program for each of {'; '.join(map(str, self._order))}",
            f"name one: {self.name}[{self.example}].{what}",
        )

    def __call__(self, /, *arrays: object, **named: Any) -> Any:
        return self._of(arrays, named.get("out"), named)(*arrays, **named)

    def prepare(self, /, *arrays: object, **named: Any) -> Launch:
        return self._of(arrays, named.get("out"), named).prepare(*arrays, **named)

    def explain(self, /, *arrays: object, **named: Any) -> Explanation:
        if not arrays and not named:
            self._refuse("explain()")
        return self._of(arrays, named.get("out"), named).explain(*arrays, **named)

    def tune(self, /, *arrays: object, **named: Any) -> Decision:
        return self._of(arrays, named.get("out"), named).tune(*arrays, **named)

    def check(self, /, *arrays: object, **named: Any) -> Any:
        return self._of(arrays, named.get("out"), named).check(*arrays, **named)

    def __repr__(self) -> str:
        params = ", ".join(map(self._declared, self._translation.params))
        return f"<vyre.kernel {self.name}({params})>"

    def _declared(self, param: Param) -> str:
        variable = self._variables.get(param.name)
        if variable is None:
            return str(param)
        return str(param).replace(str(param.dtype), f"types({variable})", 1)

    def _repr_html_(self) -> str:
        return html_rows(repr(self).strip("<>"), ())


class _OneOfThem(Kernel):
    """The kernel for some types, which a pickle finds by the name of all."""

    def __init__(
        self, function: Function, translation: Translation, origin: tuple[TypedKernels, Chosen]
    ) -> None:
        super().__init__(function, translation)
        self._origin = origin

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return operator.getitem, self._origin


def _given(
    params: Sequence[Param], arrays: Sequence[object], out: object, named: Mapping[str, object]
) -> dict[str, object]:
    """A call's arguments by parameter, as far as they can be told apart."""
    inputs = [param.name for param in params if param.role in (Role.IN, Role.INOUT)]
    outputs = [param.name for param in params if param.role is Role.OUT]
    outs = out if isinstance(out, (tuple, list)) else () if out is None else (out,)
    found = dict(zip(inputs, arrays, strict=False)) | dict(zip(outputs, outs, strict=False))
    return found | {param.name: named[param.name] for param in params if param.name in named}


def _is_scalar(params: Sequence[Param], name: str) -> bool:
    return any(param.name == name and param.role is Role.SCALAR for param in params)


def _name_of(value: object) -> str:
    return str(getattr(value, "dtype", "")).rpartition(".")[2]


def _type_of(value: object, variable: Types) -> DataType | None:
    """The type of an array's elements; None for what is no array, or of no type that kernels know.

    The patterns of a bfloat16 travel as uint16.
    """
    if getattr(value, "shape", None) is None:
        return None
    found = _BY_NAME.get(_name_of(value))
    if found == DataType.U16 and found not in variable.members:
        return DataType.BF16 if DataType.BF16 in variable.members else found
    return found


def _shown(thing: object) -> str:
    return str(thing) if isinstance(thing, DataType) else shown(thing)
