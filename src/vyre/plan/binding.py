"""Which buffer stands where in a launch: its role, its number, its size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from vyre.errors import InvalidInput, InvalidProgram
from vyre.ir.declare import Access, BufferDecl, MemoryKind
from vyre.ir.program import Program
from vyre.model import U32_MAX


class BindingRole(StrEnum):
    """What a launch does with a buffer."""

    INPUT = "input"
    OUTPUT = "output"
    INPUT_OUTPUT = "input-output"
    UNIFORM = "uniform"
    SHARED = "shared"
    PERSISTENT = "persistent"

    @classmethod
    def of(cls, decl: BufferDecl) -> BindingRole:
        """Tell the role of a buffer: where it lives counts before how it is accessed."""
        if decl.is_shared:
            return cls.SHARED
        if decl.kind is MemoryKind.PERSISTENT:
            return cls.PERSISTENT
        if decl.is_output or decl.live_out:
            return cls.OUTPUT
        return _ROLE_OF_ACCESS[decl.access]

    @property
    def takes_input(self) -> bool:
        return self in (BindingRole.INPUT, BindingRole.INPUT_OUTPUT, BindingRole.UNIFORM)

    @property
    def gives_output(self) -> bool:
        return self in (BindingRole.OUTPUT, BindingRole.INPUT_OUTPUT)


_ROLE_OF_ACCESS = {
    Access.READ_ONLY: BindingRole.INPUT,
    Access.READ_WRITE: BindingRole.INPUT_OUTPUT,
    Access.WRITE_ONLY: BindingRole.OUTPUT,
    Access.UNIFORM: BindingRole.UNIFORM,
    Access.WORKGROUP: BindingRole.SHARED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """One buffer of a launch.

    `element_count` 0 means that nothing said how long it is. `shape` is the declared one of an
    array of several axes, with zeros where only its rank is declared.
    """

    name: str
    binding: int
    buffer_index: int
    role: BindingRole
    element_size: int
    preferred_alignment: int
    element_count: int
    static_byte_len: int | None = None
    input_index: int | None = None
    output_index: int | None = None
    shape: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for what, value in (("binding", self.binding), ("element_count", self.element_count)):
            if not 0 <= value <= U32_MAX:
                raise InvalidInput(f"{what} {value} of buffer {self.name!r}", f"use 0 to {U32_MAX}")

    @property
    def is_shared(self) -> bool:
        return self.role is BindingRole.SHARED

    @property
    def rank(self) -> int:
        return len(self.shape) or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingPlan:
    """All buffers of a launch by binding number, and which of them go in and come out.

    The three index tuples hold positions in `program.buffers`, in declaration order.

    >>> from vyre.ir import BufferDecl, DataType
    >>> x = BufferDecl.read("x", 0, DataType.F32)
    >>> plan = BindingPlan.from_input_lengths(Program.wrapped([x], (64, 1, 1), []), [28])
    >>> plan.bindings[0].element_count
    7
    """

    bindings: tuple[Binding, ...]
    input_indices: tuple[int, ...]
    output_indices: tuple[int, ...]
    shared_indices: tuple[int, ...]

    @classmethod
    def build(cls, program: Program) -> BindingPlan:
        """Bind the buffers as declared, before any input is known."""
        return _plan(program, None)

    @classmethod
    def from_borrowed_inputs(
        cls, program: Program, inputs: Sequence[bytes | bytearray | memoryview]
    ) -> BindingPlan:
        """Bind these inputs, one per buffer that takes one, in declaration order.

        Raises:
            InvalidInput: their number or the length of one does not fit the program.
        """
        lengths = [memoryview(data).nbytes for data in inputs]
        _check_inputs(program, lengths, _exact)
        return _plan(program, lengths)

    @classmethod
    def from_input_lengths(cls, program: Program, lengths: Sequence[int]) -> BindingPlan:
        """Bind inputs that are already on the device, by their bytes.

        Such a buffer may be longer than declared: it may have been made for a larger launch.

        Raises:
            InvalidInput: their number or one of them does not fit the program.
        """
        _check_inputs(program, lengths, _at_least)
        return _plan(program, lengths)

    def fingerprint(self) -> tuple[tuple[int, BindingRole, int], ...]:
        """Name each binding's number, role and element size: equal where a layout can be reused."""
        return tuple(sorted((b.binding, b.role, b.element_size) for b in self.bindings))


def _plan(program: Program, lengths: Sequence[int] | None) -> BindingPlan:
    bindings: list[Binding] = []
    inputs: list[int] = []
    outputs: list[int] = []
    shared: list[int] = []
    for index, decl in enumerate(program.buffers):
        role = BindingRole.of(decl)
        count, input_index, output_index = decl.count, None, None
        if role is BindingRole.SHARED:
            shared.append(index)
        if role.takes_input:
            input_index = len(inputs)
            inputs.append(index)
            if count == 0 and lengths is not None:
                count = _element_count(decl, lengths[input_index])
        if role.gives_output or decl.live_out:
            output_index = len(outputs)
            outputs.append(index)
        bindings.append(
            Binding(
                name=decl.name,
                binding=decl.binding,
                buffer_index=index,
                role=role,
                element_size=decl.element.min_bytes,
                preferred_alignment=_alignment(decl),
                element_count=count,
                static_byte_len=decl.static_byte_len,
                input_index=input_index,
                output_index=output_index,
                shape=decl.shape,
            )
        )
    return BindingPlan(
        bindings=tuple(sorted(bindings, key=lambda item: item.binding)),
        input_indices=tuple(inputs),
        output_indices=tuple(outputs),
        shared_indices=tuple(shared),
    )


def _alignment(decl: BufferDecl) -> int:
    hint = decl.hints.alignment
    if hint < 0 or hint & (hint - 1):
        raise InvalidProgram(
            f"buffer {decl.name!r} asks for alignment {hint}", "use 0 or a power of two"
        )
    return max(hint, decl.element.min_bytes, 1)


def _element_count(decl: BufferDecl, length: int) -> int:
    """Count the whole elements in `length` bytes; 0 for a type without a fixed size."""
    bits = decl.element.bit_width
    count = length * 8 // bits if bits else 0
    if count > U32_MAX:
        raise InvalidInput(
            f"input {decl.name!r} has {count} elements; {U32_MAX} allowed", "split the input"
        )
    return count


Fits = Callable[[int, int], str | None]
"""What an input of so many bytes should be instead, given the declared bytes."""


def _exact(length: int, declared: int) -> str | None:
    return None if length == declared else f"exactly {declared} bytes"


def _at_least(length: int, declared: int) -> str | None:
    return None if length >= declared else f"at least {declared} bytes"


def _check_inputs(program: Program, lengths: Sequence[int], fits: Fits) -> None:
    taking = [decl for decl in program.buffers if BindingRole.of(decl).takes_input]
    if len(lengths) != len(taking):
        names = ", ".join(decl.name for decl in taking) or "none"
        raise InvalidInput(
            f"{len(lengths)} inputs given; the program takes {len(taking)} ({names})",
            f"pass {len(taking)} inputs, in the order of the declarations",
        )
    for decl, length in zip(taking, lengths, strict=True):
        size = decl.element.min_bytes
        if length < 0 or (size > 1 and length % size):
            raise InvalidInput(
                f"input {decl.name!r} is {length} bytes, not whole {decl.element} elements",
                f"pass a multiple of {size} bytes" if size > 1 else "pass a length of at least 0",
            )
        declared = decl.static_byte_len
        wanted = None if declared is None else fits(length, declared)
        if wanted is not None:
            raise InvalidInput(
                f"input {decl.name!r} is {length} bytes; {decl.count} elements of {decl.element}"
                f" declared",
                f"pass {wanted}",
            )
