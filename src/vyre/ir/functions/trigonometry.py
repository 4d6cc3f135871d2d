"""sin, cos and tan.

On [-pi/4, pi/4] both sine and cosine are polynomials; the quadrant says which of them and with
which sign. The coefficients are from `scripts/fit_functions.py`.
"""

from __future__ import annotations

from vyre.ir.functions.code import Real, fma, polynomial, select
from vyre.ir.functions.formats import F32, flipped, format_of, sign_of
from vyre.ir.functions.reduction import Reduced, reduce

# sin_f32: sin(x) on [1b-20, 0.78545], error 2^-27.9
SIN_F32 = (-0.16666655, 0.008332189, -0.00019518287)
# cos_f32: cos(x) on [1b-20, 0.78545], error 2^-33.0
COS_F32 = (0.041666646, -0.0013887311, 2.4432566e-05)
# sin_f64: sin(x) on [1b-20, 0.78545], error 2^-62.9
SIN_F64 = (
    -0.16666666666666666,
    0.0083333333333331,
    -0.00019841269841057134,
    2.7557319129301462e-06,
    -2.5052085979926536e-08,
    1.6056250178595083e-10,
    -7.484942490701474e-13,
)
# cos_f64: cos(x) on [1b-20, 0.78545], error 2^-68.5
COS_F64 = (
    0.041666666666666664,
    -0.0013888888888888447,
    2.4801587301259425e-05,
    -2.755731910073109e-07,
    2.0876731785924043e-09,
    -1.146801404692723e-11,
    4.6454239718467155e-14,
)


def _sine(at: Reduced, square: Real) -> tuple[Real, Real]:
    """The sine of the reduced argument as a sum of two floats."""
    tail = _sine_tail(at, square)
    total = at.high + tail
    return total, (at.high - total) + tail


def _cosine(at: Reduced, square: Real) -> tuple[Real, Real]:
    """The cosine of the reduced argument as a sum of two floats."""
    terms = COS_F32 if format_of(square) is F32 else COS_F64
    half = square * 0.5
    near = 1.0 - half
    tail = fma(polynomial(square, terms), square * square, -(at.high * at.low))
    lost = fma(at.high, at.high, -square)
    tail = ((1.0 - near) - half) + fma(lost, -0.5, tail)
    total = near + tail
    return total, (near - total) + tail


def _circular(x: Real, turn: int) -> Real:
    """sin(|x| + turn * pi / 2)."""
    form = format_of(x)
    at = reduce(abs(x))
    square = at.high * at.high
    sine = at.high + _sine_tail(at, square)
    cosine = _short_cosine(square) if form is F32 else _cosine(at, square)[0]
    quadrant = at.quadrant + turn if turn else at.quadrant
    result = select((quadrant & 1).ne(0), cosine, sine)
    return flipped(result, (quadrant << (form.width - 2)) & form.sign_bit)


def _sine_tail(at: Reduced, square: Real) -> Real:
    terms = SIN_F32 if format_of(square) is F32 else SIN_F64
    return fma(polynomial(square, terms), square * at.high, at.low)


def _short_cosine(square: Real) -> Real:
    """The cosine without its last quarter of a unit, which f32 can do without."""
    return fma(square, fma(polynomial(square, COS_F32), square, -0.5), 1.0)


def sin(x: Real) -> Real:
    """The sine."""
    return flipped(_circular(x, 0), sign_of(x))


def cos(x: Real) -> Real:
    """The cosine."""
    return _circular(x, 1)


def tan(x: Real) -> Real:
    """The tangent: a quotient of two sums of two floats."""
    at = reduce(abs(x))
    square = at.high * at.high
    sine, cosine = _sine(at, square), _cosine(at, square)
    odd = (at.quadrant & 1).ne(0)
    over, over_rest = select(odd, cosine[0], sine[0]), select(odd, cosine[1], sine[1])
    under, under_rest = select(odd, sine[0], cosine[0]), select(odd, sine[1], cosine[1])
    inverse = 1.0 / under
    ratio = over * inverse
    left = fma(-ratio, under, over) + fma(-ratio, under_rest, over_rest)
    result = fma(left, inverse, ratio)
    form = format_of(x)
    sign = (at.quadrant << (form.width - 1)) ^ sign_of(x)
    return select(abs(x) < 2.0 ** -(form.mantissa // 2 + 2), x, flipped(result, sign))
