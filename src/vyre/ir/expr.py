"""Expressions: what an invocation computes, as frozen values with operators."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, IntEnum
from math import prod

from vyre.errors import InvalidInput
from vyre.ir.types import DataType, int_range


class BinaryOp(Enum):
    """Two operands; the value is the wire tag. Tags from 0x8000_0001 are our extensions."""

    ADD = 0x01
    SUB = 0x02
    MUL = 0x03
    DIV = 0x04
    MOD = 0x05
    BIT_AND = 0x06
    BIT_OR = 0x07
    BIT_XOR = 0x08
    SHL = 0x09
    SHR = 0x0A
    EQ = 0x0B
    NE = 0x0C
    LT = 0x0D
    GT = 0x0E
    LE = 0x0F
    GE = 0x10
    AND = 0x11
    OR = 0x12
    ABS_DIFF = 0x13
    MIN = 0x14
    MAX = 0x15
    SAT_ADD = 0x16
    SAT_SUB = 0x17
    SAT_MUL = 0x18
    SHUFFLE = 0x19
    BALLOT = 0x1A
    WAVE_REDUCE = 0x1B
    WAVE_BROADCAST = 0x1C
    ROT_L = 0x1D
    ROT_R = 0x1E
    WRAP_ADD = 0x1F
    WRAP_SUB = 0x20
    MUL_HIGH = 0x21
    FLOOR_DIV = 0x8000_0001
    FLOOR_MOD = 0x8000_0002
    POW = 0x8000_0003
    ATAN2 = 0x8000_0004
    HYPOT = 0x8000_0005
    COPYSIGN = 0x8000_0006


class UnaryOp(Enum):
    """One operand; the value is the wire tag. Tags from 0x8000_0001 are our extensions."""

    NEGATE = 0x01
    BIT_NOT = 0x02
    LOGICAL_NOT = 0x03
    POPCOUNT = 0x04
    CLZ = 0x05
    CTZ = 0x06
    REVERSE_BITS = 0x07
    COS = 0x08
    SIN = 0x09
    ABS = 0x0A
    SQRT = 0x0B
    FLOOR = 0x0C
    CEIL = 0x0D
    ROUND = 0x0E
    TRUNC = 0x0F
    SIGN = 0x10
    IS_NAN = 0x11
    IS_INF = 0x12
    IS_FINITE = 0x13
    EXP = 0x14
    LOG = 0x15
    LOG2 = 0x16
    EXP2 = 0x17
    TAN = 0x18
    ACOS = 0x19
    ASIN = 0x1A
    ATAN = 0x1B
    TANH = 0x1C
    SINH = 0x1D
    COSH = 0x1E
    INVERSE_SQRT = 0x1F
    UNPACK4_LOW = 0x20
    UNPACK4_HIGH = 0x21
    UNPACK8_LOW = 0x22
    UNPACK8_HIGH = 0x23
    RECIPROCAL = 0x24
    LOG10 = 0x8000_0001
    LOG1P = 0x8000_0002
    EXPM1 = 0x8000_0003
    ASINH = 0x8000_0004
    ACOSH = 0x8000_0005
    ATANH = 0x8000_0006
    CBRT = 0x8000_0007
    ERF = 0x8000_0008
    ERFC = 0x8000_0009


class AtomicOp(Enum):
    """A read-modify-write of one element; the value is the wire tag."""

    ADD = 0x01
    OR = 0x02
    AND = 0x03
    XOR = 0x04
    MIN = 0x05
    MAX = 0x06
    EXCHANGE = 0x07
    COMPARE_EXCHANGE = 0x08
    COMPARE_EXCHANGE_WEAK = 0x09
    FETCH_NAND = 0x0A
    LRU_UPDATE = 0x0B


class Ordering(IntEnum):
    """Memory ordering of atomics and barriers; the value is the wire tag."""

    RELAXED = 0
    ACQUIRE = 1
    RELEASE = 2
    ACQ_REL = 3
    SEQ_CST = 4
    GRID_SYNC = 5


class Expr:
    """Any expression. `==` compares structure; `.eq` and its kin build comparisons.

    A plain Python number beside an expression becomes a literal: a bool `bool`, a non-negative int
    `u32`, a negative int `i32`, a float `f32`. Write `ir.i32(1)` and the like for another type.
    """

    __slots__ = ()

    def __add__(self, other: Operand) -> Expr:
        return Binary(BinaryOp.ADD, self, lift(other))

    def __radd__(self, other: Operand) -> Expr:
        return Binary(BinaryOp.ADD, lift(other), self)

    def __sub__(self, other: Operand) -> Expr:
        return Binary(BinaryOp.SUB, self, lift(other))

    def __rsub__(self, other: Operand) -> Expr:
        return Binary(BinaryOp.SUB, lift(other), self)

    def __mul__(self, other: Operand) -> Expr:
        return Binary(BinaryOp.MUL, self, lift(other))

    def __rmul__(self, other: Operand) -> Expr:
        return Binary(BinaryOp.MUL, lift(other), self)

    def __truediv__(self, other: Operand) -> Expr:
        return Binary(BinaryOp.DIV, self, lift(other))

    def __floordiv__(self, other: Operand) -> Expr:
        return Binary(BinaryOp.FLOOR_DIV, self, lift(other))

    def __mod__(self, other: Operand) -> Expr:
        return Binary(BinaryOp.MOD, self, lift(other))

    def __and__(self, other: Operand) -> Expr:
        return Binary(BinaryOp.BIT_AND, self, lift(other))

    def __or__(self, other: Operand) -> Expr:
        return Binary(BinaryOp.BIT_OR, self, lift(other))

    def __xor__(self, other: Operand) -> Expr:
        return Binary(BinaryOp.BIT_XOR, self, lift(other))

    def __lshift__(self, other: Operand) -> Expr:
        return Binary(BinaryOp.SHL, self, lift(other))

    def __rshift__(self, other: Operand) -> Expr:
        return Binary(BinaryOp.SHR, self, lift(other))

    def __lt__(self, other: Operand) -> Expr:
        return Binary(BinaryOp.LT, self, lift(other))

    def __le__(self, other: Operand) -> Expr:
        return Binary(BinaryOp.LE, self, lift(other))

    def __gt__(self, other: Operand) -> Expr:
        return Binary(BinaryOp.GT, self, lift(other))

    def __ge__(self, other: Operand) -> Expr:
        return Binary(BinaryOp.GE, self, lift(other))

    def __neg__(self) -> Expr:
        return Unary(UnaryOp.NEGATE, self)

    def __invert__(self) -> Expr:
        return Unary(UnaryOp.BIT_NOT, self)

    def eq(self, other: Operand) -> Expr:
        return Binary(BinaryOp.EQ, self, lift(other))

    def ne(self, other: Operand) -> Expr:
        return Binary(BinaryOp.NE, self, lift(other))


@dataclass(frozen=True, slots=True)
class Lit(Expr):
    """A constant, kept as its bit pattern so that equality is exact (NaN, -0.0).

    >>> Lit.of(DataType.F32, 1.5).value
    1.5
    """

    dtype: DataType
    bits: int

    def __post_init__(self) -> None:
        if not self.dtype.is_scalar or not 0 <= self.bits < 1 << self.dtype.bits:
            raise InvalidInput(
                f"{self.bits:#x} is not a bit pattern of {self.dtype}",
                f"use Lit.of(DataType.{self.dtype.tag.name}, value)",
            )
        if self.dtype.is_bool and self.bits > 1:
            raise InvalidInput(f"{self.bits:#x} is not a bool", "use Lit.of(DataType.BOOL, value)")

    @classmethod
    def of(cls, dtype: DataType, value: complex) -> Lit:
        """The literal of `dtype` nearest to `value`; an integer out of range is refused."""
        if dtype.is_bool:
            return cls(dtype, int(bool(value)))
        if dtype.is_int:
            low, high = int_range(dtype)
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise InvalidInput(
                    f"{value!r} is not a value of {dtype}",
                    f"use a whole number from {low} to {high}",
                )
            return cls(dtype, value & ((1 << dtype.bits) - 1))
        if not isinstance(value, (int, float)):
            raise InvalidInput(f"{value!r} is not a value of {dtype}", "use a real number")
        return cls(dtype, float_bits(dtype, float(value)))

    @property
    def value(self) -> int | float | bool:
        if self.dtype.is_bool:
            return bool(self.bits)
        if self.dtype.is_float:
            return bits_float(self.dtype, self.bits)
        low, high = int_range(self.dtype)
        return self.bits if self.bits <= high else self.bits + 2 * low


@dataclass(frozen=True, slots=True)
class Var(Expr):
    """The value of a name bound by `Let` or by a loop."""

    name: str


@dataclass(frozen=True, slots=True)
class Load(Expr):
    """One element; out of bounds it is 0."""

    buffer: str
    index: Expr


@dataclass(frozen=True, slots=True)
class BufLen(Expr):
    """The number of elements of a buffer, as u32."""

    buffer: str


class IdKind(Enum):
    """Which position an invocation can ask for; axis 0 is the fastest one."""

    INVOCATION = "gid"
    WORKGROUP = "workgroup_id"
    LOCAL = "local_id"
    EXTENT = "extent"  # the dispatched shape: an extension
    WORKGROUP_SIZE = "workgroup_size"  # the launched shape: an extension


@dataclass(frozen=True, slots=True)
class Id(Expr):
    """A position or a size of the launch along one axis, as u32."""

    kind: IdKind
    axis: int = 0

    def __post_init__(self) -> None:
        if self.axis not in (0, 1, 2):
            raise InvalidInput(f"axis {self.axis} of {self.kind.value}", "use axis 0, 1 or 2")


@dataclass(frozen=True, slots=True)
class Binary(Expr):
    """An operator and two operands."""

    op: BinaryOp
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Unary(Expr):
    """An operator and one operand."""

    op: UnaryOp
    operand: Expr


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A call by operation id; nothing here can see into it."""

    op_id: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Select(Expr):
    """`true` where `cond` holds, else `false`; both sides are evaluated."""

    cond: Expr
    true: Expr
    false: Expr


@dataclass(frozen=True, slots=True)
class Cast(Expr):
    """A value converted to `target`; to f16 or bf16 it is rounded and stays f32."""

    target: DataType
    value: Expr


@dataclass(frozen=True, slots=True)
class Bitcast(Expr):
    """The bits of a value as `target`, a type of the same width: an extension.

    Which of the bit patterns of NaN a NaN has is not defined.
    """

    target: DataType
    value: Expr


@dataclass(frozen=True, slots=True)
class Fma(Expr):
    """`a * b + c` with one rounding."""

    a: Expr
    b: Expr
    c: Expr


@dataclass(frozen=True, slots=True)
class Atomic(Expr):
    """A read-modify-write of one element; its value is what stood there before."""

    op: AtomicOp
    buffer: str
    index: Expr
    value: Expr
    expected: Expr | None = None
    ordering: Ordering = Ordering.RELAXED


@dataclass(frozen=True, slots=True)
class FlatIndex(Expr):
    """The row-major position of `indices` in a buffer of that rank, each axis checked.

    Where one of them is out of bounds it is 2**32 - 1, an index that no buffer has. An extension.
    """

    buffer: str
    indices: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Array(Expr):
    """An array of constants, row by row: an extension.

    `data` holds the bit patterns of its first elements, little-endian, each in as many bytes as the
    type has (a bool in one); those behind them are 0. It ends in no element that is 0 itself, so
    that equal arrays are equal values.

    >>> Array.of(DataType.F32, (2, 2), (1.0, 0.0, 0.0, 0.0)).data.hex()
    '0000803f'
    """

    dtype: DataType
    shape: tuple[int, ...]
    data: bytes = b""

    def __post_init__(self) -> None:
        plain = self.dtype.is_scalar and self.dtype == self.dtype.computed
        if not plain or not 1 <= len(self.shape) <= 3 or min(self.shape) < 1:
            raise InvalidInput(
                f"an array of {self.dtype} with the extents {self.shape}",
                "use a bool, integer, f32 or f64 type and 1 to 3 extents from 1",
            )
        size = self.element_bytes
        whole = len(self.data) % size == 0 and len(self.data) <= size * self.count
        if not whole or (self.data and not any(self.data[-size:])):
            raise InvalidInput(
                f"{len(self.data)} bytes for {self.count} elements of {self.dtype}",
                "use Array.of(dtype, shape, values)",
            )
        if self.dtype.is_bool and max(self.data, default=0) > 1:
            raise InvalidInput("an array of bools with other bytes than 0 and 1", "use Array.of")

    @classmethod
    def of(cls, dtype: DataType, shape: tuple[int, ...], values: Iterable[complex]) -> Array:
        """The array of these values, row by row, each as `Lit.of` reads it."""
        size = 1 if dtype.is_bool else dtype.bits // 8
        data = b"".join(Lit.of(dtype, value).bits.to_bytes(size, "little") for value in values)
        if len(data) != size * prod(shape):
            raise InvalidInput(
                f"{len(data) // size} values for the extents {shape}", f"give {prod(shape)} values"
            )
        kept = len(data.rstrip(b"\0"))
        return cls(dtype, shape, data[: -(-kept // size) * size])

    @property
    def element_bytes(self) -> int:
        """The bytes that `data` has for one element."""
        return 1 if self.dtype.is_bool else self.dtype.bits // 8

    @property
    def count(self) -> int:
        return prod(self.shape)

    @property
    def type(self) -> DataType:
        return DataType.shaped(self.dtype, self.shape)

    def element(self, place: int) -> Lit:
        """The constant at a place, counted row by row."""
        size = self.element_bytes
        return Lit(
            self.dtype, int.from_bytes(self.data[place * size : (place + 1) * size], "little")
        )


@dataclass(frozen=True, slots=True)
class Element(Expr):
    """One element of an array; where an index is out of bounds it is 0: an extension.

    The array is constants, or a name that holds one.
    """

    array: Expr
    indices: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Put(Expr):
    """An array with one element replaced; where an index is out of bounds, as it was: an extension.

    It is what a name that holds the array is assigned, and stands nowhere else, so that the one
    element changes in place.
    """

    array: Expr
    indices: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class BufDim(Expr):
    """The extent of a buffer along one axis of its array, outermost first, as u32: an extension."""

    buffer: str
    axis: int


class SubgroupOp(Enum):
    """What a subgroup can be asked; the value is the wire tag."""

    ADD = 17
    SHUFFLE = 18
    BALLOT = 19
    LOCAL_ID = 20
    SIZE = 21


@dataclass(frozen=True, slots=True)
class Subgroup(Expr):
    """An operation across the lanes of a subgroup: on the wire, not on a backend here."""

    op: SubgroupOp
    args: tuple[Expr, ...] = ()

    def __post_init__(self) -> None:
        wants = {SubgroupOp.SHUFFLE: 2, SubgroupOp.ADD: 1, SubgroupOp.BALLOT: 1}.get(self.op, 0)
        if len(self.args) != wants:
            raise InvalidInput(
                f"subgroup {self.op.name.lower()} with {len(self.args)} operands",
                f"give it {wants}",
            )


@dataclass(frozen=True, slots=True)
class Lane(Expr):
    """An invocation's number among the lanes of its team, as u32.

    This and the four that follow stand in forms of programs that devices alone see.
    """


@dataclass(frozen=True, slots=True)
class FromLane(Expr):
    """What the lane has whose number in its row of 32 differs in the bits of `away`.

    All lanes of the row come by.
    """

    value: Expr
    away: int


@dataclass(frozen=True, slots=True)
class Alike(Expr):
    """What a lane of a row has, as one value for all: where they have it alike, of whichever.

    All lanes of the row come by.
    """

    value: Expr
    lane: int = 0


@dataclass(frozen=True, slots=True)
class Share(Expr):
    """A workgroup's number among those that share the rounds of one result, as u32."""


@dataclass(frozen=True, slots=True)
class Ahead(Expr):
    """A number so much ahead of another, both u32, where the sum does not begin again at 0.

    So the element at it is so many behind the other's, and is found from there.
    """

    start: Expr
    by: Expr


@dataclass(frozen=True, slots=True)
class OpaqueExpr(Expr):
    """An extension that this version does not know, kept byte for byte."""

    kind: str
    payload: bytes


Operand = Expr | int | float | bool


def lift(value: Operand) -> Expr:
    """`value` as an expression; see `Expr` for the type that a plain number gets."""
    match value:
        case Expr():
            return value
        case bool():
            return Lit.of(DataType.BOOL, value)
        case int():
            return Lit.of(DataType.U32 if value >= 0 else DataType.I32, value)
        case float():
            return Lit.of(DataType.F32, value)
    raise InvalidInput(
        f"{value!r} is not an expression", "use an ir expression or a bool, int or float"
    )


def float_bits(dtype: DataType, value: float) -> int:
    """The bit pattern of `value` rounded to a float type, ties to even."""
    if dtype == DataType.F64:
        return _unpack("<Q", struct.pack("<d", value))
    if dtype == DataType.F16:
        return _unpack("<H", _pack_rounded("<e", value, 65520.0))
    bits = _unpack("<I", _pack_rounded("<f", value, 3.4028235677973366e38))
    if dtype == DataType.F32:
        return bits
    if value != value:
        return 0x7FC0
    # bfloat16 is the upper half of an f32. Rounding twice is exact enough only from the f32
    # pattern, which is what the devices do too.
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) & 0xFFFF


def bits_float(dtype: DataType, bits: int) -> float:
    """The value of a float type's bit pattern."""
    match dtype:
        case DataType.F64:
            return float(struct.unpack("<d", struct.pack("<Q", bits))[0])
        case DataType.F16:
            return float(struct.unpack("<e", struct.pack("<H", bits))[0])
        case DataType.BF16:
            bits <<= 16
        case _:
            pass
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])


def _pack_rounded(form: str, value: float, overflow: float) -> bytes:
    """`struct.pack`, but what is too large becomes infinity as IEEE 754 rounds it."""
    if abs(value) >= overflow:
        value = float("inf") if value > 0 else float("-inf")
    return struct.pack(form, value)


def _unpack(form: str, data: bytes) -> int:
    return int(struct.unpack(form, data)[0])
