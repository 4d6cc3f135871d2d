"""How a kernel's parameters are written: type names, In, Out, InOut, and what they declare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import prod
from typing import Any, ClassVar

from vyre.errors import InvalidInput, LanguageError
from vyre.ir.declare import MOST_AXES, BufferDecl
from vyre.ir.types import DataType

bool_ = DataType.BOOL
u8 = DataType.U8
u16 = DataType.U16
u32 = DataType.U32
u64 = DataType.U64
i8 = DataType.I8
i16 = DataType.I16
i32 = DataType.I32
i64 = DataType.I64
f16 = DataType.F16
bf16 = DataType.BF16
f32 = DataType.F32
f64 = DataType.F64

MAX_RANK = 3
"""Axes of a dispatch."""

_U32_MAX = 0xFFFF_FFFF


class Edge(StrEnum):
    """What a load gives where its index is not one of the array."""

    ZERO = "zero"
    CLAMP = "clamp"  # the nearest element
    WRAP = "wrap"  # as if the array went on from its start
    BROADCAST = "broadcast"  # along an axis of size 1, its one element; else 0


@dataclass(frozen=True, slots=True, eq=False)
class Types:
    """One type per call, of those listed: what `vyre.types(f32, f64)` gives."""

    members: tuple[DataType, ...]

    def __str__(self) -> str:
        return ", ".join(map(str, self.members))

    def __repr__(self) -> str:
        return f"vyre.types({self})"

    def __call__(self, *_args: Any, **_kwargs: Any) -> Any:  # kernels use it as a cast
        raise LanguageError(
            f"a cast to one of {self} works inside a kernel only",
            "call it in a function under @vyre.kernel or @vyre.function",
        )


def types(*members: object) -> Types:
    """A name for a type that each call decides: `T = vyre.types(f32, f64)`, `x: In[T]`.

    >>> types(f32, f64)
    vyre.types(f32, f64)
    """
    found = []
    for member in members:
        if isinstance(member, DataType) and member.is_scalar and not member.is_bool:
            found.append(member)
        else:
            raise InvalidInput(
                f"{spell(member)} in vyre.types() is not an element type of arrays",
                "name types such as vyre.types(f32, f64)",
            )
    if not found or len({*found}) < len(found):
        given = ", ".join(map(str, found)) or "nothing"
        raise InvalidInput(
            f"vyre.types() of {given}, which is not each type once",
            "name types such as vyre.types(f32, f64)",
        )
    return Types(tuple(found))


class Role(StrEnum):
    """What a kernel does with a parameter."""

    IN = "in"
    OUT = "out"
    INOUT = "inout"
    SCALAR = "scalar"


@dataclass(frozen=True, slots=True)
class ArrayType:
    """`In[...]`, `Out[...]` or `InOut[...]` as written; `read_parameter` checks what is inside."""

    role: Role
    arguments: tuple[object, ...]


def variable_of(annotation: object) -> Types | None:
    """What decides the type of a parameter in each call, where that is left open."""
    match annotation:
        case Types():
            return annotation
        case ArrayType(_, (Types() as found, *_)):
            return found
        case _:
            return None


def decided(annotation: object, chosen: Mapping[Types, DataType]) -> object:
    """An annotation with the types that a call decides."""
    found = variable_of(annotation)
    if found is None or found not in chosen:
        return annotation
    if isinstance(annotation, ArrayType):
        return ArrayType(annotation.role, (chosen[found], *annotation.arguments[1:]))
    return chosen[found].computed


class _Array:
    role: ClassVar[Role]

    def __class_getitem__(cls, arguments: object) -> ArrayType:
        return ArrayType(cls.role, arguments if isinstance(arguments, tuple) else (arguments,))


class In(_Array):
    """An array that a kernel reads: `In[f32]`, `In[f32, (3, 3)]`, `In[f32, 2, "clamp"]`."""

    role = Role.IN


class Out(_Array):
    """An array that a kernel writes and never reads: `Out[f32]`, `Out[u32, (256,)]`."""

    role = Role.OUT


class InOut(_Array):
    """An array that a kernel reads and writes: `InOut[u32]`."""

    role = Role.INOUT


_WORDS = {Role.IN: "In", Role.OUT: "Out", Role.INOUT: "InOut"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
    """One parameter of a kernel. `shape` is empty where the size comes at run time."""

    name: str
    role: Role
    dtype: DataType
    rank: int = 1  # 0 for a scalar
    shape: tuple[int, ...] = ()
    edge: Edge = Edge.ZERO
    default: int | float | bool | None = None  # of a scalar that a call need not name

    @property
    def count(self) -> int:
        """The fixed number of elements; 0 where it comes at run time."""
        return prod(self.shape) if self.shape else 0

    def __str__(self) -> str:
        if self.role is Role.SCALAR:
            given = "" if self.default is None else f" = {self.default!r}"
            return f"{self.name}: {self.dtype}{given}"
        size = f", {self.shape}" if self.shape else f", {self.rank}" if self.rank > 1 else ""
        edge = "" if self.edge is Edge.ZERO else f', "{self.edge}"'
        return f"{self.name}: {_WORDS[self.role]}[{self.dtype}{size}{edge}]"

    def declare(self, binding: int) -> BufferDecl:
        """The buffer that carries this parameter in a program."""
        match self.role:
            case Role.SCALAR:
                return BufferDecl.uniform(self.name, binding, self.dtype).with_count(1)
            case Role.IN:
                decl = BufferDecl.read(self.name, binding, self.dtype)
            case Role.OUT:
                decl = BufferDecl.write(self.name, binding, self.dtype)
            case Role.INOUT:
                decl = BufferDecl.read_write(self.name, binding, self.dtype)
        if self.rank > 1:
            return decl.with_shape(*(self.shape or (0,) * self.rank))
        return decl.with_count(self.count)


@dataclass(frozen=True, slots=True)
class Refused:
    """Why an annotation declares nothing, and what to write instead."""

    problem: str
    fix: str


_INSTEAD = {float: "f32", int: "i32", bool: "bool_"}


def instead_of(thing: object) -> str:
    """The type to write where a writer of Python would write one of its own."""
    return _INSTEAD.get(thing, "f32") if isinstance(thing, type) else "f32"


def read_parameter(name: str, annotation: object) -> Param | Refused:
    """The parameter that `name: annotation` declares, or what is wrong with it."""
    match annotation:
        case DataType():
            return _scalar(name, annotation)
        case ArrayType(role, arguments):
            return _array(name, role, arguments)
        case type() if issubclass(annotation, _Array):
            word = annotation.__name__
            return Refused(f"{word} of {name!r} has no element type", f"write {word}[f32]")
        case _:
            scalar = instead_of(annotation)
            return Refused(
                f"{spell(annotation)} is not a type of kernels",
                f"write {name}: {scalar} for a scalar, {name}: In[f32] for an array",
            )


def spell(thing: object) -> str:
    """A value as a reader of the kernel would write it."""
    return thing.__name__ if isinstance(thing, type) else str(thing)


def _scalar(name: str, dtype: DataType) -> Param | Refused:
    if dtype in (f16, bf16):
        return Refused(f"scalar {name!r} is {dtype}, which is for arrays", f"write {name}: f32")
    if not dtype.is_scalar:
        return Refused(f"scalar {name!r} is {dtype}", f"write {name}: f32 or another number type")
    return Param(name=name, role=Role.SCALAR, dtype=dtype, rank=0)


def _array(name: str, role: Role, arguments: tuple[object, ...]) -> Param | Refused:
    word = _WORDS[role]
    dtype = arguments[0] if arguments else None
    if not isinstance(dtype, DataType):
        instead = "u8" if dtype is bool else instead_of(dtype)
        return Refused(
            f"{spell(dtype)} is not an element type",
            f"write {word}[{instead}]",
        )
    if dtype.is_bool:
        return Refused(f"array {name!r} holds bool_", f"write {word}[u8]; NumPy bools bind to it")
    if not dtype.is_scalar:
        return Refused(f"array {name!r} holds {dtype}", f"write {word}[f32]")
    edge: Edge | Refused = Edge.ZERO
    sizes = arguments[1:]
    if sizes and isinstance(sizes[-1], str):
        edge = _edge(role, dtype, sizes[-1])
        sizes = sizes[:-1]
    if isinstance(edge, Refused):
        return edge
    rank: int | None = 1
    shape: tuple[object, ...] = ()
    match sizes:
        case ():
            pass
        case (int() as size,) if not isinstance(size, bool) and 1 <= size <= MOST_AXES:
            rank = size
        case (tuple() as extents,) if 1 <= len(extents) <= MOST_AXES:
            rank, shape = len(extents), extents
        case (int() as size,) if size > MOST_AXES:
            return Refused(
                f"{word}[{dtype}, {size}] has {size} axes; an array has 1 to {MOST_AXES}, and a "
                "fixed size is a tuple",
                f"write {word}[{dtype}, ({size},)]",
            )
        case _:
            rank = None
    fixed = tuple(n for n in shape if isinstance(n, int) and not isinstance(n, bool) and n > 0)
    if rank is None or len(fixed) != len(shape) or prod(fixed) >= _U32_MAX:
        given = ", ".join(spell(argument) for argument in arguments)
        return Refused(
            f"{word}[{given}] is not 1 to {MOST_AXES} axes of fewer than {_U32_MAX} elements",
            f"write {word}[f32], {word}[f32, 2] or {word}[f32, (3, 3)]",
        )
    return Param(name=name, role=role, dtype=dtype, rank=rank, shape=fixed, edge=edge)


def _edge(role: Role, dtype: DataType, word: str) -> Edge | Refused:
    """What stands for loads beyond the edge, where it makes sense."""
    kind = _WORDS[role]
    if word not in list(Edge):
        known = ", ".join(f'"{edge}"' for edge in Edge)
        return Refused(
            f'"{word}" says nothing about loads beyond an edge; known: {known}',
            f'write {kind}[{dtype}, "clamp"], or leave it out',
        )
    if role is Role.OUT and word != Edge.ZERO:
        return Refused(
            f'"{word}" is about loads, and an Out is never read',
            f"write Out[{dtype}]; what is stored beyond its edge is dropped",
        )
    if role is Role.INOUT and word == Edge.BROADCAST:
        return Refused(
            '"broadcast" reads one element in many places, and an InOut is written',
            f"write InOut[{dtype}], or In where it is only read",
        )
    return Edge(word)
