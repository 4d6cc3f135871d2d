"""The two float formats that definitions are written for, and tricks with their bits."""

from __future__ import annotations

from dataclasses import dataclass

from vyre.ir.functions.code import Real
from vyre.ir.types import DataType


@dataclass(frozen=True, slots=True)
class Format:
    """How a float type is laid out."""

    dtype: DataType
    whole: DataType  # the signed integer of the same width
    mantissa: int  # stored bits
    bias: int

    @property
    def width(self) -> int:
        return self.dtype.bits

    @property
    def magic(self) -> float:
        """What rounds a number to a whole one, which it leaves in the lowest bits, when added."""
        return 1.5 * 2.0**self.mantissa

    @property
    def magic_bits(self) -> int:
        return ((self.bias + self.mantissa) << self.mantissa) + (1 << (self.mantissa - 1))

    @property
    def sign_bit(self) -> int:
        return -(1 << (self.width - 1))

    @property
    def least_normal(self) -> float:
        return 2.0 ** (1 - self.bias)


F32 = Format(DataType.F32, DataType.I32, 23, 127)
F64 = Format(DataType.F64, DataType.I64, 52, 1023)


def format_of(x: Real) -> Format:
    """The format of a recorded float."""
    return F32 if x.dtype == DataType.F32 else F64


def to_bits(x: Real) -> Real:
    """The bits of a float as a signed integer."""
    return x.bits(format_of(x).whole)


def from_bits(bits: Real) -> Real:
    """The float that a signed integer is the bits of."""
    return bits.bits(DataType.F32 if bits.dtype == DataType.I32 else DataType.F64)


def to_real(whole: Real) -> Real:
    """A small signed integer as a float of its width."""
    if whole.dtype == DataType.I32:
        return whole.cast(DataType.F32)
    # Few machines convert vectors of 64-bit integers; all of them add.
    return from_bits(whole + F64.magic_bits) - F64.magic


def power_of_two(whole: Real, form: Format, shift: int = 0) -> Real:
    """2.0 ** (whole + shift), of whose integer only the lowest bits matter."""
    return from_bits((whole << form.mantissa) + ((form.bias + shift) << form.mantissa))


def scaled(y: Real, whole: Real) -> Real:
    """`y * 2.0 ** whole` for `y` near 1, rounded once also where it is subnormal.

    `whole` may have `magic_bits` in it: half of those are shifted out as well.
    """
    form = format_of(y)
    half = whole >> 1
    return y * power_of_two(half, form) * power_of_two(whole - half, form)


def sign_of(x: Real) -> Real:
    """The sign bit alone."""
    return to_bits(x) & format_of(x).sign_bit


def with_sign(magnitude: Real, sign: Real) -> Real:
    """A float that is not negative, with a sign bit."""
    return from_bits(to_bits(magnitude) | sign)


def flipped(x: Real, sign: Real) -> Real:
    """A float, negated where the sign bit is set."""
    return from_bits(to_bits(x) ^ sign)


def two_sum(a: Real, b: Real) -> tuple[Real, Real]:
    """`a + b` rounded, and what rounding lost."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)
