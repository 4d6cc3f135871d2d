"""asin, acos, atan and atan2.

The coefficients are from `scripts/fit_functions.py`.
"""

from __future__ import annotations

from math import nan

from vyre.ir.functions.code import Real, fma, polynomial, select, sqrt
from vyre.ir.functions.formats import F32, flipped, format_of, sign_of, with_sign
from vyre.ir.functions.reduction import pi_halves

# atan_f32: atan(x) on [1b-20, 1], error 2^-28.5
ATAN_F32 = (
    -0.333333,
    0.19998536,
    -0.14264126,
    0.109516546,
    -0.08402056,
    0.0579358,
    -0.031157766,
    0.010904537,
    -0.001791502,
)
# asin_f32: asin(x) on [1b-20, 0.5], error 2^-31.7
ASIN_F32 = (0.1666666, 0.075005166, 0.044514995, 0.031821825, 0.014391219, 0.03757677)
# atan_f64: atan(x) on [1b-20, 1], error 2^-60.2
ATAN_F64 = (
    -0.33333333333333287,
    0.19999999999990623,
    -0.142857142850454,
    0.11111111086684274,
    -0.09090908551248625,
    0.07692299757426632,
    -0.06666584096128653,
    0.05881718418991949,
    -0.05259444245162666,
    0.04744963508275303,
    -0.04286495726852011,
    0.03821238317242875,
    -0.03278949159748785,
    0.026157293145511927,
    -0.018620318909601318,
    0.011322813252729923,
    -0.005615693890762995,
    0.002153140906106532,
    -0.0005933972967347011,
    0.00010397289632539013,
    -8.663617048732442e-06,
)
# asin_f64: asin(x) on [1b-20, 0.5], error 2^-59.9
ASIN_F64 = (
    0.1666666666666676,
    0.07499999999970867,
    0.04464285717455937,
    0.03038194270993964,
    0.022372214933961018,
    0.017351612884649172,
    0.013980810970570013,
    0.011398984899684038,
    0.01077987180695492,
    0.0037077638034966154,
    0.02170432480537779,
    -0.02099485776370035,
    0.03262611099622905,
)


def _quotient(over: Real, under: Real) -> tuple[Real, Real]:
    """A quotient of at most 1 and a term for it that its tangent's arc is less by."""
    ratio = over / under
    square = ratio * ratio
    terms = ATAN_F32 if format_of(over) is F32 else ATAN_F64
    return ratio, polynomial(square, terms) * square * ratio


def atan(x: Real) -> Real:
    """The arc tangent; beyond 1 it is pi / 2 less that of the inverse."""
    a = abs(x)
    steep = a > 1.0
    over, under = select(steep, a.lift(1.0), a), select(steep, a, 1.0)
    ratio, tail = _quotient(over, under)
    quarter, rest = pi_halves(x)
    result = select(steep, quarter - (ratio + (tail - rest)), ratio + tail)
    return with_sign(result, sign_of(x))


def atan2(y: Real, x: Real) -> Real:
    """The angle of the point (x, y), by the rules of C for zeros and infinities."""
    a, b = abs(y), abs(x)
    steep = a > b
    over, under = select(steep, b, a), select(steep, a, b)
    same = a.eq(b)  # both may be 0, or infinite
    both_zero = under.eq(0.0)
    ratio, tail = _quotient(
        select(same, select(both_zero, over.lift(0.0), 1.0), over), select(same, 1.0, under)
    )
    quarter, rest = pi_halves(x)
    behind = sign_of(x).ne(0)
    # The arc is turned about by multiples of pi / 2: which one, and whether it is taken off.
    base = select(steep, x.lift(quarter), select(behind, x.lift(2.0 * quarter), 0.0))
    base_rest = select(steep, x.lift(rest), select(behind, x.lift(2.0 * rest), 0.0))
    back = sign_of(x) ^ select(steep, sign_of(x.lift(-0.0)), 0)
    arc, arc_tail = flipped(ratio, back), flipped(tail, back)
    result = base + (arc + (arc_tail + base_rest))
    result = select(base.eq(0.0), arc + arc_tail, result)
    result = with_sign(abs(result), sign_of(y))
    return select(x.is_nan() | y.is_nan(), nan, result)


def _arc(x: Real) -> tuple[Real, Real, Real]:
    """Whether |x| > 1/2, and an s and a tail with asin s = s + tail.

    Where |x| > 1/2, s is sqrt((1 - |x|) / 2), and acos |x| is twice its arc sine.
    """
    a = abs(x)
    outer = a > 0.5
    half = fma(a, -0.5, 0.5)
    square = select(outer, half, a * a)
    root = sqrt(half)
    s = select(outer, root, a)
    terms = ASIN_F32 if format_of(x) is F32 else ASIN_F64
    tail = polynomial(square, terms) * square * s
    return outer, s, tail


def asin(x: Real) -> Real:
    """The arc sine; beyond 1/2 it is pi / 2 less twice that of a root."""
    outer, s, tail = _arc(x)
    quarter, rest = pi_halves(x)
    high = quarter - (s + s)
    low = ((quarter - high) - (s + s)) + (rest - tail * 2.0)
    return with_sign(select(outer, high + low, s + tail), sign_of(x))


def acos(x: Real) -> Real:
    """The arc cosine: pi / 2 less the arc sine, or twice that of a root, or pi less that."""
    outer, s, tail = _arc(x)
    quarter, rest = pi_halves(x)
    sign = sign_of(x)
    arc, arc_tail = flipped(s, sign), flipped(tail, sign)
    inner = quarter - arc
    inner = inner + (((quarter - inner) - arc) + (rest - arc_tail))
    double, double_tail = s + s, tail * 2.0
    left = (2.0 * quarter - double) + (2.0 * rest - double_tail)
    return select(outer, select(x < 0.0, left, double + double_tail), inner)
