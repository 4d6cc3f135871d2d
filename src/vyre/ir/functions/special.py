"""erf and erfc.

The coefficients are from `scripts/fit_functions.py`.
"""

from __future__ import annotations

from vyre.ir.functions import exponential
from vyre.ir.functions.code import Real, at_most, fma, polynomial, select
from vyre.ir.functions.formats import sign_of, with_sign

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


def erf_single(x: Real) -> Real:
    """x (1 + polynomial) near 0, and 1 - e**polynomial beyond."""
    a = abs(x)
    near = fma(polynomial(a * a, ERF_NEAR_F32), a, a)
    clamped = at_most(a, 3.9375)
    power = fma(polynomial(clamped, ERF_FAR_F32), clamped, -clamped)
    far = 1.0 - exponential.exp_normal(power)
    return with_sign(select(a < 0.9277, near, far), sign_of(x))
