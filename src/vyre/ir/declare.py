"""What a program declares: its buffers, and what its author states beside the code."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import NamedTuple

from vyre.errors import InvalidInput
from vyre.ir.types import DataType

Dim3 = tuple[int, int, int]

MOST_AXES = 4
"""Of an array; a dispatch has three."""


class Access(IntEnum):
    """How a program may touch a buffer; the value is the wire tag."""

    READ_ONLY = 0
    READ_WRITE = 1
    UNIFORM = 2
    WORKGROUP = 3
    WRITE_ONLY = 4


class MemoryKind(IntEnum):
    """Where a buffer lives; the value is the wire tag."""

    GLOBAL = 0
    SHARED = 1
    UNIFORM = 2
    LOCAL = 3
    READONLY = 4
    PUSH = 5
    PERSISTENT = 6


class Locality(IntEnum):
    """How a buffer is expected to be walked; the value is the wire tag."""

    STREAMING = 0
    TEMPORAL = 1
    RANDOM = 2


_KIND_OF_ACCESS = {
    Access.READ_ONLY: MemoryKind.READONLY,
    Access.UNIFORM: MemoryKind.UNIFORM,
    Access.WORKGROUP: MemoryKind.SHARED,
    Access.READ_WRITE: MemoryKind.GLOBAL,
    Access.WRITE_ONLY: MemoryKind.GLOBAL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What is expected of a buffer; never needed for a right result."""

    coalesce_axis: int | None = None
    alignment: int = 0
    locality: Locality = Locality.TEMPORAL


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferDecl:
    """A buffer as a program declares it. `count` 0 means: sized at run time.

    `shape` fixes the extents of an array of several axes, or with zeros only their number; it is an
    extension and empty for a plain, one-dimensional buffer. What is `kept` is memory of a launch
    through which workgroups find each other's results, or of a workgroup, and nothing asks for what
    lies beyond; only forms that devices see have it.
    """

    name: str
    binding: int
    access: Access
    kind: MemoryKind
    element: DataType
    count: int = 0
    is_output: bool = False
    live_out: bool = False
    output_range: tuple[int, int] | None = None
    hints: Hints = field(default_factory=Hints)
    shape: tuple[int, ...] = ()
    kept: bool = False

    @classmethod
    def storage(cls, name: str, binding: int, access: Access, element: DataType) -> BufferDecl:
        return cls(
            name=name,
            binding=binding,
            access=access,
            kind=_KIND_OF_ACCESS[access],
            element=element,
        )

    @classmethod
    def read(cls, name: str, binding: int, element: DataType) -> BufferDecl:
        return cls.storage(name, binding, Access.READ_ONLY, element)

    @classmethod
    def read_write(cls, name: str, binding: int, element: DataType) -> BufferDecl:
        return cls.storage(name, binding, Access.READ_WRITE, element)

    @classmethod
    def write(cls, name: str, binding: int, element: DataType) -> BufferDecl:
        return cls.storage(name, binding, Access.WRITE_ONLY, element)

    @classmethod
    def uniform(cls, name: str, binding: int, element: DataType) -> BufferDecl:
        return cls.storage(name, binding, Access.UNIFORM, element)

    @classmethod
    def output(cls, name: str, binding: int, element: DataType) -> BufferDecl:
        """A buffer that leaves the pipeline; it needs a count before it has bytes."""
        return replace(cls.read_write(name, binding, element), is_output=True, live_out=True)

    @classmethod
    def workgroup(cls, name: str, count: int, element: DataType) -> BufferDecl:
        return cls.storage(name, 0, Access.WORKGROUP, element).with_count(count)

    def with_count(self, count: int) -> BufferDecl:
        return replace(self, count=count)

    def with_kind(self, kind: MemoryKind) -> BufferDecl:
        return replace(self, kind=kind)

    def with_hints(self, hints: Hints) -> BufferDecl:
        return replace(self, hints=hints)

    def with_shape(self, *shape: int) -> BufferDecl:
        """The same buffer as an array of that shape; zeros leave an extent to the run time."""
        if not 2 <= len(shape) <= MOST_AXES:
            raise InvalidInput(
                f"shape {shape} of buffer {self.name!r}", f"use 2 to {MOST_AXES} extents"
            )
        count = 1
        for extent in shape:
            count *= extent
        return replace(self, shape=shape, count=count)

    @property
    def rank(self) -> int:
        return len(self.shape) or 1

    @property
    def is_shared(self) -> bool:
        return self.kind is MemoryKind.SHARED or self.access is Access.WORKGROUP

    @property
    def is_written(self) -> bool:
        return self.access in (Access.READ_WRITE, Access.WRITE_ONLY)

    @property
    def is_scalar_argument(self) -> bool:
        """Whether backends pass it by value: a uniform of one element."""
        return self.access is Access.UNIFORM and self.count == 1

    @property
    def static_byte_len(self) -> int | None:
        bits = self.element.bit_width
        return None if self.count == 0 or bits is None else (bits * self.count + 7) // 8


class Named(NamedTuple):
    """A workgroup that an author names, and the extents that workgroup memory has in it.

    `extents` holds, by name, the arrays whose size goes by the workgroup; others are as declared.
    """

    workgroup: Dim3
    extents: tuple[tuple[str, tuple[int, ...]], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a kernel's author states beside its code; part of its identity, and an extension."""

    fast_math: bool = False
    unique_writes: tuple[str, ...] = ()
    among: tuple[Named, ...] = ()  # workgroups that compute the same; the declared one first
