"""LLVM IR as text: registers, labels, and the spelling of types and constants."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

from vyre.emit.llvm.features import Features
from vyre.emit.llvm.values import Shape, Value
from vyre.ir.expr import BinaryOp, UnaryOp, bits_float
from vyre.ir.types import DataType

BOOL, U32, U64, F32, F64 = (
    DataType.BOOL,
    DataType.U32,
    DataType.U64,
    DataType.F32,
    DataType.F64,
)
TRUE = Value(BOOL, Shape.UNIFORM, ("true",), is_constant=True)


def scalar_type(dtype: DataType) -> str:
    """LLVM's name of what a value is computed in."""
    if dtype.is_bool:
        return "i1"
    if dtype.is_float:
        return {32: "float", 64: "double"}[dtype.computed.bits]
    return f"i{dtype.bits}"


def stored_type(dtype: DataType) -> str:
    """LLVM's name of an element in memory: a bool is a word, a half its pattern."""
    if dtype.is_float and dtype.bits > 16:
        return scalar_type(dtype)
    return f"i{dtype.bits}"


def float_constant(value: float) -> str:
    """A float as LLVM writes it exactly: the bits of the f64 that equals it."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def float_of(text: str) -> float:
    """The float that `float_constant` wrote."""
    return float(struct.unpack("<d", struct.pack("<Q", int(text, 16)))[0])


def constant(dtype: DataType, bits: int) -> str:
    """A literal of a type by its bit pattern."""
    if dtype.is_bool:
        return "true" if bits else "false"
    if dtype.is_float:
        return float_constant(bits_float(dtype, bits))
    low = 1 << (dtype.bits - 1)
    return str(bits - 2 * low if dtype.is_signed and bits >= low else bits)


MOST_UNROLLED = 16
"""Rounds of a loop that are written out at most, however many a code asks for.

LLVM compares each access with each other: a loop that stores exp of its counter takes 0.3 s to
compile with 8 rounds, 0.6 with 16, 2.4 with 32 and 42 with 64 (LLVM 22, Emerald Rapids).
"""


@dataclass(slots=True)
class Parts:
    """What the functions of one module share: declarations, functions, and notes on loops."""

    features: Features
    declared: dict[str, None] = field(default_factory=dict)
    needed: dict[tuple[UnaryOp | BinaryOp, DataType, int], None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    most_lanes: int = 0  # that a workgroup may have; 0 where that is any number
    halves: bool = False  # whether numbers are rounded to f16 by the processor

    def unrolled(self, rounds: int) -> str:
        """What a loop's last branch says for its rounds to be unrolled, as far as that pays."""
        number, rounds = len(self.notes), min(rounds, MOST_UNROLLED)
        self.notes.append(f"!{number} = distinct !{{!{number}, !{number + 1}}}")
        self.notes.append(f'!{number + 1} = !{{!"llvm.loop.unroll.count", i32 {rounds}}}')
        return f", !llvm.loop !{number}"


class Builder:
    """Writes the instructions of one function for `width` lanes and `rows` rows side by side."""

    def __init__(self, parts: Parts, width: int, rows: int = 1) -> None:
        self.parts, self.width, self.rows = parts, width, rows
        self.lines: list[str] = []
        self.entry: list[str] = []  # what is done once, before anything else
        self._names = count(1)

    def one_lane(self) -> Builder:
        """A builder of the same function for what is one for all lanes."""
        other = Builder(self.parts, 1)
        other.lines, other.entry, other._names = self.lines, self.entry, self._names
        return other

    def where_it_begins(self) -> Builder:
        """A builder of what the function does once, before anything else; it takes no branches."""
        other = self.one_lane()
        other.lines = self.entry
        return other

    # -- text

    def name(self) -> str:
        return f"t{next(self._names)}"

    def emit(self, line: str) -> None:
        self.lines.append(f"  {line}")

    def op(self, text: str) -> str:
        """The register of an instruction's result."""
        register = f"%{self.name()}"
        self.emit(f"{register} = {text}")
        return register

    def first(self, text: str) -> str:
        """The register of what is computed once, where the function begins."""
        register = f"%{self.name()}"
        self.entry.append(f"  {register} = {text}")
        return register

    def alloca(self, kind: str) -> str:
        return self.first(f"alloca {kind}")

    def place(self, label: str) -> None:
        self.lines.append(f"{label}:")

    def jump(self, label: str, note: str = "") -> None:
        self.emit(f"br label %{label}{note}")

    def branch(self, test: str, yes: str, no: str) -> None:
        self.emit(f"br i1 {test}, label %{yes}, label %{no}")

    def call(self, result: str, function: str, types: Sequence[str], given: Sequence[str]) -> str:
        """A call of a function that LLVM has, which is declared with it."""
        self.parts.declared[f"declare {result} @{function}({', '.join(types)})"] = None
        arguments = ", ".join(f"{t} {a}" for t, a in zip(types, given, strict=True))
        text = f"call {result} @{function}({arguments})"
        if result == "void":
            self.emit(text)
            return ""
        return self.op(text)

    # -- types

    def type(self, dtype: DataType, shape: Shape = Shape.VECTOR) -> str:
        kind = scalar_type(dtype)
        return kind if shape is not Shape.VECTOR else self.vector(kind)

    def vector(self, kind: str) -> str:
        return f"<{self.width} x {kind}>"

    def suffix(self, kind: str, shape: Shape = Shape.VECTOR) -> str:
        """What the name of an overloaded function of LLVM ends in."""
        short = {"float": "f32", "double": "f64", "half": "f16"}.get(kind, kind)
        return f"v{self.width}{short}" if shape is Shape.VECTOR else short

    def number(self, dtype: DataType, text: str, shape: Shape) -> str:
        """A constant as an operand of that shape."""
        return text if shape is not Shape.VECTOR else f"splat ({scalar_type(dtype)} {text})"

    # -- values

    def literal(self, dtype: DataType, bits: int) -> Value:
        text = constant(dtype, bits)
        return Value(dtype.computed, Shape.UNIFORM, (text,), is_constant=True)

    def map(self, dtype: DataType, shape: Shape, make: Callable[..., str], *values: Value) -> Value:
        """What `make` gives of the values' registers, once or for each row."""
        rows = max(len(value.registers) for value in values)
        registers = tuple(make(*(value.at(row) for value in values)) for row in range(rows))
        return Value(dtype, shape, registers)

    def alike(self, *values: Value) -> tuple[Shape, tuple[Value, ...]]:
        """The values in one shape: scalars if all are, else vectors."""
        if all(value.shape is Shape.UNIFORM for value in values):
            return Shape.UNIFORM, values
        return Shape.VECTOR, tuple(self.vectors(value) for value in values)

    def vectors(self, value: Value) -> Value:
        """The value with an element for each lane."""
        if value.shape is Shape.VECTOR or self.width == 1:
            return value
        kind = scalar_type(value.dtype)
        if value.is_constant:
            return Value(value.dtype, Shape.VECTOR, (f"splat ({kind} {value.registers[0]})",))
        found = self.map(value.dtype, Shape.VECTOR, lambda r: self.splat(kind, r), value)
        if value.shape is Shape.UNIFORM:
            return found
        lanes = self.lanes(kind)
        add = f"add {self.vector(kind)}"
        return self.map(value.dtype, Shape.VECTOR, lambda r: self.op(f"{add} {r}, {lanes}"), found)

    def splat(self, kind: str, register: str) -> str:
        whole = self.vector(kind)
        one = self.op(f"insertelement {whole} poison, {kind} {register}, i64 0")
        zeros = f"<{self.width} x i32> zeroinitializer"
        return self.op(f"shufflevector {whole} {one}, {whole} poison, {zeros}")

    def lanes(self, kind: str) -> str:
        """0, 1, 2 … as a vector."""
        return "<" + ", ".join(f"{kind} {lane}" for lane in range(self.width)) + ">"

    # -- masks: None is every lane

    def both(self, one: Value | None, other: Value | None) -> Value | None:
        if one is None or other is None:
            return other if one is None else one
        a, b = self.vectors(one), self.vectors(other)
        kind = self.type(BOOL)
        return self.map(BOOL, Shape.VECTOR, lambda x, y: self.op(f"and {kind} {x}, {y}"), a, b)

    def neither(self, mask: Value) -> Value:
        """The lanes that are not in a mask."""
        kind = self.type(BOOL, mask.shape)
        true = self.number(BOOL, "true", mask.shape)
        return self.map(BOOL, mask.shape, lambda r: self.op(f"xor {kind} {r}, {true}"), mask)

    def mask(self, value: Value | None) -> Value:
        """A mask as a vector."""
        return self.vectors(TRUE if value is None else value)

    def any(self, mask: Value) -> str:
        """Whether some lane of some row is in a mask."""
        kind = self.type(BOOL)
        total = mask.registers[0]
        for register in mask.registers[1:]:
            total = self.op(f"or {kind} {total}, {register}")
        return self.call("i1", f"llvm.vector.reduce.or.{self.suffix('i1')}", [kind], [total])
