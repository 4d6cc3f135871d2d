"""erf and erfc.

The coefficients are from `scripts/fit_functions.py`.
"""

from __future__ import annotations

from vyre.ir.functions import exponential
from vyre.ir.functions.code import Real, at_most, fma, polynomial, select
from vyre.ir.functions.formats import F32, F64, format_of, power_of_two, scaled, sign_of, with_sign

# erf_near_f32: erf(x) on [1b-20, 0.9277], error 2^-25.8
ERF_NEAR_F32 = (
    0.12837915,
    -0.37612492,
    0.112817675,
    -0.026764356,
    0.0049894312,
    -0.0005970263,
)
# erf_far_f32: log(erfc(x))+x on [0.9277, 3.93], error 2^-27.4
ERF_FAR_F32 = (
    -0.12865649,
    -0.6351185,
    -0.10629183,
    0.023809902,
    -0.0036653052,
    0.000328475,
    -1.180273e-05,
)
# erf_f64: erf(x) on [1b-20, 0.66], error 2^-56.3
ERF_F64 = (
    0.1283791670955126,
    -0.37612638903184,
    0.11283791670969583,
    -0.026866170649072083,
    0.0052239776852386075,
    -0.0008548332573666184,
    0.00012055664114532883,
    -1.4938608202722848e-05,
    1.6792841228626998e-06,
    -2.1666511231142524e-07,
    6.320120691447603e-08,
    -2.0361211806997042e-08,
)
# erfcx_f32: (1+2a) e^(a^2) erfc(a) - 1.25 of (a-4)/(a+4) on [-1, 0.45], error 2^-29.8
ERFCX_F32 = (
    -0.017004881,
    -0.13962114,
    0.015379599,
    0.068098046,
    -0.10103694,
    0.093720295,
    -0.06636224,
    0.03721599,
    -0.01600826,
    0.0050782026,
    -0.0011112294,
    -0.0006353467,
)
# erfcx_f64: the same on [-1, 0.75], error 2^-59.4
ERFCX_F64 = (
    -0.01700488137444749,
    -0.13962111684056253,
    0.0153796521026199,
    0.06809705425469378,
    -0.10103906603631972,
    0.09373283499831377,
    -0.06633036581175124,
    0.03716751553811173,
    -0.016197734064631642,
    0.00503196997091021,
    -0.0007577732318232419,
    -0.00019925664080859106,
    0.00015062138898416883,
    -2.4399489562768144e-05,
    -1.1221127096517972e-05,
    5.710661026231958e-06,
    2.9206315307243184e-07,
    -8.274501665714465e-07,
    7.65705090572361e-08,
    1.128017028448562e-07,
    -1.8859653429795142e-08,
    -1.6214527340371804e-08,
    1.689546807597545e-09,
    1.9675326280327247e-09,
    2.4757367039980427e-10,
)


def erf_single(x: Real) -> Real:
    """Near 0 x (1 + polynomial), and 1 - e**polynomial beyond."""
    a = abs(x)
    near = fma(polynomial(a * a, ERF_NEAR_F32), a, a)
    clamped = at_most(a, 3.9375)
    power = fma(polynomial(clamped, ERF_FAR_F32), clamped, -clamped)
    far = 1.0 - exponential.exp_normal(power)
    return with_sign(select(a < 0.9277, near, far), sign_of(x))


def _complement(x: Real, most: float) -> tuple[Real, Real]:
    """A y and a whole number n with erfc(min(|x|, most)) = y 2**n.

    erfc(a) = e**(-a a) p / (1 + 2 a), where p is a polynomial in (a - 4) / (a + 4). Each factor
    but the first roundings is kept in two floats.
    """
    of = exponential.family(x)
    a = at_most(abs(x), most)
    square = a * a
    whole, r, _ = exponential.reduce(-square)
    lost = fma(a, a, -square)
    grown = fma(polynomial(r, of.exp), r * r, r)
    grown = grown - fma(lost, grown, lost)
    power = grown + 1.0
    power_low = (1.0 - power) + grown
    terms = ERFCX_F32 if format_of(x) is F32 else ERFCX_F64
    place, less = _centred(a)
    inner = polynomial(place, terms)
    over = inner + 1.25
    # At its left end the polynomial is so steep that the rounding of its argument shows.
    slope = select(place < -0.5, fma(place, -3.5, -1.75), 0.0)
    over_low = ((1.25 - over) + inner) + less * slope
    under = fma(a, 2.0, 1.0)
    under_low = fma(a, 2.0, 1.0 - under)
    inverse = 1.0 / under
    ratio = over * inverse
    ratio_low = (fma(-ratio, under, over) + fma(-ratio, under_low, over_low)) * inverse
    return fma(power, ratio, fma(power, ratio_low, power_low * ratio)), whole


def _centred(a: Real) -> tuple[Real, Real]:
    """The quotient (a - 4) / (a + 4), and what rounding it lost."""
    inverse = 1.0 / (a + 4.0)
    near = (a - 4.0) * inverse
    left = fma(-near, a, fma(near + 1.0, -4.0, a))
    place = fma(left, inverse, near)
    return place, fma(left, inverse, near - place)


def erfc(x: Real) -> Real:
    """What erf(x) leaves of 1, with its own digits where that is tiny."""
    value, whole = _complement(x, 10.25 if format_of(x) is F32 else 27.5)
    right = scaled(value, whole)
    return select(x < 0.0, 2.0 - right, right)


def erf_double(x: Real) -> Real:
    """Near 0 x (1 + polynomial), and 1 - erfc beyond."""
    a = abs(x)
    near = fma(polynomial(a * a, ERF_F64), a, a)
    value, whole = _complement(x, 6.0)
    far = 1.0 - value * power_of_two(whole, F64)
    return with_sign(select(a < 0.66, near, far), sign_of(x))
