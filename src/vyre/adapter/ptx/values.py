"""A kernel in PTX as values: its steps in order, and where its labels and variables are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Register:
    """One that the kernel declares; those of inner braces have names of their own."""

    name: str


@dataclass(frozen=True, slots=True)
class Special:
    """One that the device gives, such as `%tid.x`."""

    name: str


@dataclass(frozen=True, slots=True)
class Number:
    """A constant."""

    text: str


@dataclass(frozen=True, slots=True)
class Symbol:
    """The address of a variable, by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class Address:
    """A place in memory: so many bytes behind a base."""

    base: Register | Symbol
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Nowhere:
    """`_`, in the place of a result that nobody asks for."""


@dataclass(frozen=True, slots=True)
class Several:
    """Registers and constants side by side: a vector, or two results."""

    parts: tuple[Register | Number | Nowhere, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """A word that names no register: a label, a function, or nothing that is known."""

    name: str


@dataclass(frozen=True, slots=True)
class Unclear:
    """An operand that is not read."""

    text: str


Operand = Register | Special | Number | Symbol | Address | Several | Nowhere | Target | Unclear


@dataclass(frozen=True, slots=True)
class Step:
    """An instruction.

    Args:
        opcode: its first word, such as `ld`.
        kinds: the words behind it, such as `global` and `f32`.
        operands: in order.
        guard: the predicate under which it is taken, if there is one.
    """

    opcode: str
    kinds: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Register | None = None

    @property
    def text(self) -> str:
        """What it is called.

        >>> Step("ld", ("global", "f32"), ()).text
        'ld.global.f32'
        """
        return ".".join((self.opcode, *self.kinds))


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A kernel.

    Args:
        name: as it is called in the text.
        steps: in the order of the text.
        labels: the number of the step at which each stands.
        spaces: where the variables that it may name are: `global`, `const`, `local`, `param`, …
        sizes: bytes of its parameters.
    """

    name: str
    steps: tuple[Step, ...]
    labels: Mapping[str, int]
    spaces: Mapping[str, str]
    sizes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Unread:
    """Why a kernel cannot be read, in words that end a sentence about it."""

    reason: str
