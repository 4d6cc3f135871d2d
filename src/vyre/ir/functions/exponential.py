"""exp, exp2 and expm1.

x = n ln 2 + r with n whole and |r| <= ln 2 / 2; e**r is a polynomial and 2**n an exponent.
The coefficients are from `scripts/fit_functions.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from vyre.ir.functions.code import Real, at_least, at_most, fma, polynomial, select
from vyre.ir.functions.formats import format_of, power_of_two, scaled, to_bits
from vyre.ir.types import DataType

LOG2_E = 1.4426950408889634
# exp_f32: exp(x) on [-0.34665, 0.34665], error 2^-28.2
EXP_F32 = (0.4999999, 0.16666521, 0.041668963, 0.008368673, 0.0013782494)
# exp2_f32: 2^x on [-0.5, 0.5], error 2^-28.0
EXP2_F32 = (0.6931472, 0.24022645, 0.05550359, 0.009618834, 0.0013391302, 0.00015241285)
# expm1_f32: expm1(x) on [-0.34665, 0.34665], error 2^-30.9
EXPM1_F32 = (0.5, 0.16666667, 0.04166648, 0.008333212, 0.0013933348, 0.00019940324)
# exp_f64: exp(x) on [-0.34665, 0.34665], error 2^-57.9
EXP_F64 = (
    0.5000000000000011,
    0.16666666666666424,
    0.04166666666652699,
    0.008333333333487045,
    0.0013888888944338317,
    0.0001984126952252916,
    2.4801492449198554e-05,
    2.755757217331257e-06,
    2.763045883205698e-07,
    2.5004550712842454e-08,
)
# exp2_f64: 2^x on [-0.5, 0.5], error 2^-59.3
EXP2_F64 = (
    0.6931471805599453,
    0.24022650695910067,
    0.05550410866482293,
    0.00961812910763081,
    0.0013333558146165767,
    0.00015403530389348797,
    1.5252734035994523e-05,
    1.321548990799145e-06,
    1.0177985790815143e-07,
    7.053799333844959e-09,
    4.465539461628596e-10,
    2.7187549207389003e-11,
)
# expm1_f64: expm1(x) on [-0.34665, 0.34665], error 2^-61.5
EXPM1_F64 = (
    0.5,
    0.16666666666666677,
    0.04166666666666659,
    0.008333333333321459,
    0.0013888888888935926,
    0.00019841269886497145,
    2.4801587213025372e-05,
    2.755724388009847e-06,
    2.7557373679319773e-07,
    2.5109140411190703e-08,
    2.08831770812039e-09,
)


@dataclass(frozen=True, slots=True)
class Exponential:
    """What the functions of this family need for one float type."""

    ln2_high: float
    ln2_low: float
    exp: tuple[float, ...]  # e**r = 1 + r + r * r * polynomial
    exp2: tuple[float, ...]  # 2**r = 1 + r * polynomial
    expm1: tuple[float, ...]  # as `exp`, with a smaller relative error near 0
    highest: float  # e**x is infinite from here on
    highest_half: float  # e**x / 2 is infinite from here on
    lowest: float  # e**x is 0 from here on
    lowest_m1: float  # e**x - 1 is -1 from here on


SINGLE = Exponential(
    ln2_high=0.693147182464599609375,
    ln2_low=-1.9046542121259335545e-9,
    exp=EXP_F32,
    exp2=EXP2_F32,
    expm1=EXPM1_F32,
    highest=89.0,
    highest_half=89.5,
    lowest=-104.0,
    lowest_m1=-18.0,
)

DOUBLE = Exponential(
    ln2_high=0.6931471805599453,
    ln2_low=2.3190468138462996e-17,
    exp=EXP_F64,
    exp2=EXP2_F64,
    expm1=EXPM1_F64,
    highest=710.0,
    highest_half=710.5,
    lowest=-746.0,
    lowest_m1=-40.0,
)


def family(x: Real) -> Exponential:
    """The constants for the type of `x`."""
    return SINGLE if x.dtype == DataType.F32 else DOUBLE


def reduce(x: Real) -> tuple[Real, Real, Real]:
    """The bits of n + magic, r, and what rounding r lost."""
    form, of = format_of(x), family(x)
    rounded = fma(x, LOG2_E, form.magic)
    n = rounded - form.magic
    start = fma(n, -of.ln2_high, x)  # exact
    r = fma(n, -of.ln2_low, start)
    return to_bits(rounded), r, fma(n, -of.ln2_low, start - r)


def exp(x: Real) -> Real:
    """The power x of e."""
    of = family(x)
    whole, r, _ = reduce(at_least(at_most(x, of.highest), of.lowest))
    y = fma(polynomial(r, of.exp), r * r, r) + 1.0
    return scaled(y, whole)


def exp_normal(x: Real) -> Real:
    """e**x where that neither overflows nor is subnormal."""
    of = family(x)
    whole, r, _ = reduce(x)
    y = fma(polynomial(r, of.exp), r * r, r) + 1.0
    form = format_of(x)
    return y * power_of_two(whole, form)


def exp2(x: Real) -> Real:
    """The power x of 2."""
    form, of = format_of(x), family(x)
    clamped = at_least(at_most(x, form.bias + 2.0), -(form.bias + form.mantissa + 1.0))
    rounded = clamped + form.magic
    r = clamped - (rounded - form.magic)
    y = fma(polynomial(r, of.exp2), r, 1.0)
    return scaled(y, to_bits(rounded))


def expm1(x: Real) -> Real:
    """The power x of e, less 1: exact near 0 too."""
    form, of = format_of(x), family(x)
    whole, r, lost = reduce(at_least(at_most(x, of.highest), of.lowest_m1))
    tail = fma(polynomial(r, of.expm1), r * r, lost)
    # Half of 2**n, as 2**n itself can overflow where the result does not.
    half = power_of_two(whole, form, -1)
    result = fma(tail, half, fma(r, half, half - 0.5))
    tiny = abs(x) < 2.0 ** -(form.mantissa + 2)
    return select(tiny, x, result + result)
