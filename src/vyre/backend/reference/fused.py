"""The fused multiply-add, exact to the last bit without wider numbers than f64."""

from __future__ import annotations

import numpy as np

from vyre.ir.arithmetic import Value

_TIE = 0x1000_0000  # the bits of an f64 beyond an f32, halfway between two of them
_BEYOND = 0x1FFF_FFFF
_LEAST_SINGLE = 2.0**-126
_SPLITTER = 2.0**27 + 1.0
_SAFE_HIGH = 2.0**480
_SAFE_LOW = 2.0**-480
_APART = 160  # powers of two between product and addend, beyond which only a sign is left
_LEAST_BITS = -1074
_A_LITTLE_MORE = 1.0 + 2.0**-20


def fma(a: Value, b: Value, c: Value) -> Value:
    """`a * b + c`, rounded once."""
    return _double(a, b, c) if a.dtype == np.float64 else _single(a, b, c)


def _single(a: Value, b: Value, c: Value) -> Value:
    """By way of f64, in which the product is exact and the sum nearly."""
    product = np.multiply(a, b, dtype=np.float64)
    total = np.asarray(product + c)
    nearest: Value = total.astype(np.float32)
    # Rounding twice is wrong only if the first rounding made a tie of what was none.
    doubtful = (total.view(np.int64) & _BEYOND) == _TIE
    doubtful |= (np.abs(total) < _LEAST_SINGLE) & (total != 0)
    if not doubtful.any():
        return nearest
    shape = total.shape
    some = [np.broadcast_to(part, shape)[doubtful] for part in (product, total, c)]
    nearest[doubtful] = _to_odd(some[0], some[2].astype(np.float64), some[1]).astype(np.float32)
    return nearest


def _to_odd(a: Value, b: Value, total: Value) -> Value:
    """`a + b`, whose nearest is `total`, with an odd last bit wherever it is not exact.

    The last bit then says that something was lost, and rounding once more takes no neighbour of
    a tie for the tie itself.
    """
    lost = _lost(a, b, total)
    even = (np.asarray(total).view(np.int64) & 1) == 0
    inexact = np.isfinite(total) & (lost != 0)
    towards = np.nextafter(total, np.copysign(np.inf, lost))
    odd: Value = np.where(inexact & even, towards, total)
    return odd


def _lost(a: Value, b: Value, total: Value) -> Value:
    shift = total - a
    rest: Value = (a - (total - shift)) + (b - shift)
    return rest


def _two_sum(a: Value, b: Value) -> tuple[Value, Value]:
    total = a + b
    return total, _lost(a, b, total)


def _two_product(a: Value, b: Value) -> tuple[Value, Value]:
    """The product and what rounding it lost, by halves of 26 bits."""
    product = a * b
    a_high, b_high = _upper(a), _upper(b)
    a_low, b_low = a - a_high, b - b_high
    lost = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, lost


def _upper(a: Value) -> Value:
    wide = a * _SPLITTER
    half: Value = wide - (wide - a)
    return half


def _terms(a: Value, b: Value, c: Value) -> tuple[Value, Value]:
    """`a * b + c` as a nearest float and a rest rounded to odd, far from both ends of the range.

    The sum of the two rounds as the exact result does (Boldo and Melquiond, 2008).
    """
    high, low = _two_product(a, b)
    upper, lower = _two_sum(c, low)
    total, rest = _two_sum(high, upper)
    return total, _to_odd(lower, rest, lower + rest)


def _double(a: Value, b: Value, c: Value) -> Value:
    high, low = _two_product(a, b)
    total, rest = _two_sum(high, c)
    total = np.asarray(total)
    more = rest + low
    nearest = np.asarray(total + more)
    zero = nearest == 0
    if zero.any():
        nearest[zero] = total[zero]  # which has the right sign
    # The second sum is rounded too: that matters next to a tie alone.
    over = more - (nearest - total)
    doubtful = nearest + over * _A_LITTLE_MORE != nearest
    if not (_all_tame(a) and _all_tame(b) and _all_tame(c)):
        doubtful = doubtful | ~(_is_tame(a) & _is_tame(b) & _is_tame(c))
    if not doubtful.any():
        return nearest
    some = [np.broadcast_to(part, nearest.shape)[doubtful] for part in (a, b, c)]
    nearest[doubtful] = _any_double(*some)
    return nearest


def _all_tame(a: Value) -> bool:
    """Whether no step of a sum or product of such numbers comes near an end of the range."""
    size = np.abs(a)
    if not size.max() < _SAFE_HIGH:
        return False
    least = size.min() or np.where(size == 0, 1.0, size).min()
    return bool(least > _SAFE_LOW)


def _is_tame(a: Value) -> Value:
    size = np.abs(a)
    tame: Value = ((size > _SAFE_LOW) & (size < _SAFE_HIGH)) | (size == 0)
    return tame


def _any_double(a: Value, b: Value, c: Value) -> Value:
    """Every operand: the mantissas are scaled to near 1 and the result back, rounded once."""
    simple = a * b + c  # right for zeros, infinities and NaN
    usual = np.isfinite(a) & np.isfinite(b) & np.isfinite(c) & (a != 0) & (b != 0)
    part_a, power_a = np.frexp(np.where(usual, a, 1.0))
    part_b, power_b = np.frexp(np.where(usual, b, 1.0))
    part_c, power_c = np.frexp(np.where(usual, c, 1.0))
    power = power_a + power_b
    apart = np.where(c == 0, 0, power_c - power)
    # Where c is far above, the product is scaled to lie just below it; else c to the product.
    power = np.where(apart > _APART, power_c - _APART, power)
    addend = np.ldexp(part_c, np.clip(apart, -_APART, _APART))
    total, rest = _terms(part_a, part_b, addend)
    result = _scaled_back(total, rest, power)
    infinite = np.isinf(c) & np.isfinite(a) & np.isfinite(b)  # even if a * b alone overflows
    return np.where(usual, result, np.where(infinite, c, simple))


def _scaled_back(total: Value, rest: Value, power: Value) -> Value:
    """`(total + rest) * 2**power`, rounded once, subnormal results as well."""
    _, size = np.frexp(total)
    # Beside this constant the last bit of a sum is the last bit that a subnormal result has.
    room = np.clip(_LEAST_BITS - power, -1000, 200)
    guard = np.copysign(np.ldexp(1.0, room + 52), total)
    upper, lower = _two_sum(guard, total)
    lower = _to_odd(lower, rest, lower + rest)
    subnormal = np.ldexp((upper + lower) - guard, power)
    normal = np.ldexp(total + rest, power)
    small = (size + power < -1021) & (total != 0)
    result: Value = np.where(small, np.copysign(subnormal, total), normal)
    return result
