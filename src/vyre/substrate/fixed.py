"""The integer arithmetic of a step on the host: the bits that every device gives, too.

Numbers are 16.16 fixed point. All functions take one row of candidates, or many rows at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vyre.errors import InvalidInput

Ints = NDArray[np.int64]

ONE = 1 << 16
"""One, in 16.16: what the probabilities of a row add up to, exactly."""

ABSENT = (1 << 63) - 1
"""The cost of a candidate that is not there, such as the padding of a short row."""

HOTTEST = (1 << 64) - 1
"""The temperature that stands for infinity."""

I32_MIN, I32_MAX = -(1 << 31), (1 << 31) - 1

LOG2_E = 1_549_082_005
"""The binary logarithm of e, with 30 bits after the point."""

HALVING = (744_261_118, 257_941_235, 59_596_874, 10_326_122, 1_428_012, 159_872, 12_137)
"""Of (1 - 2**-x) / x for x from 0 to 1: a polynomial of alternating signs, 30 bits after the point.

It interpolates at Chebyshev's points and is off by at most 2**-33.
"""

FRACTION = 24
"""Bits after the point of an exponent: so few that rounding never turns two weights around."""

DROPPED = 40
"""An exponent from which on a weight is 0, whatever its fraction."""


def softmax_q16(pre_exp: NDArray[Any]) -> NDArray[np.uint32]:
    """The weights of a row as probabilities that add up to exactly `ONE`.

    Each share is rounded down; what that leaves, fewer units than candidates, goes to the largest
    weights, a unit each, the first of equals first. A row of zeros counts as one of equals.

    >>> softmax_q16(np.array([65536, 131072, 65536])).tolist()
    [16384, 32768, 16384]
    """
    weight = np.asarray(pre_exp).astype(np.uint64)
    total = weight.sum(axis=-1, keepdims=True, dtype=np.uint64)
    count = weight.shape[-1]
    weight = np.where(total == 0, np.uint64(1), weight)
    share = (weight << np.uint64(16)) // np.where(total == 0, np.uint64(count), total)
    left = ONE - share.sum(axis=-1, keepdims=True).astype(np.int64)
    order = np.argsort(-weight.astype(np.int64), axis=-1, kind="stable")
    unit = np.zeros(weight.shape, np.uint64)
    np.put_along_axis(unit, order, (np.arange(count) < left).astype(np.uint64), axis=-1)
    return (share + unit).astype(np.uint32)


def weights_q16(costs: NDArray[Any], temperatures: NDArray[Any]) -> NDArray[np.uint32]:
    """The weight exp(-(cost - least) / temperature) of each cost of a row, in 16.16.

    The least cost weighs exactly `ONE`; a larger cost never weighs more than a smaller one.

    Args:
        costs: whole numbers of any one unit, from -2**63; `ABSENT` weighs nothing.
        temperatures: one per row in the costs' unit. At 0 only the least cost weighs anything, at
            `HOTTEST` all weigh the same.
    """
    cost = np.asarray(costs).astype(np.int64)
    above = cost.view(np.uint64) - cost.min(axis=-1, keepdims=True).view(np.uint64)
    temperature = np.asarray(temperatures).astype(np.uint64)[..., np.newaxis]
    # Both lose the bits in which the distance is longer than 32, so that no product overflows.
    length = _bit_length(above)
    shift = np.maximum(length, np.uint64(32)) - np.uint64(32)
    cooled = np.broadcast_to(temperature, above.shape) >> shift
    scaled = (above >> shift) * np.uint64(LOG2_E)
    exponent = scaled // np.maximum(cooled, np.uint64(1)) >> np.uint64(30 - FRACTION)
    halved = power_of_half_q16(np.where(temperature == HOTTEST, np.uint64(0), exponent))
    cold = np.where(above == 0, np.uint64(ONE), np.uint64(0))
    weight = np.where(cooled == 0, cold, halved)
    return np.where(cost == ABSENT, np.uint64(0), weight).astype(np.uint32)


def power_of_half_q16(exponent: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Two to the minus `exponent`, which has `FRACTION` bits after its point, in 16.16."""
    whole = np.minimum(exponent >> np.uint64(FRACTION), np.uint64(DROPPED))
    fraction = exponent & np.uint64((1 << FRACTION) - 1)
    slope = np.full(exponent.shape, HALVING[-1], np.uint64)
    for coefficient in HALVING[-2::-1]:
        slope = np.uint64(coefficient) - (slope * fraction >> np.uint64(FRACTION))
    power = np.uint64(1 << 30) - (slope * fraction >> np.uint64(FRACTION))
    rounded: NDArray[np.uint64] = (power + (np.uint64(1 << 13) << whole)) >> (np.uint64(14) + whole)
    return rounded


def precondition_q16(matrix_q16: NDArray[Any], gradient_q16: NDArray[Any]) -> NDArray[np.int32]:
    """The product of a signed matrix and a signed vector per row, each term rounded down.

    Entries are 16.16 within 32 bits; the exact sum is cut to what those can hold.

    >>> precondition_q16(np.array([[65536, -32768], [0, 65536]]), np.array([40000, 25536])).tolist()
    [27232, 25536]
    """
    matrix, gradient = np.asarray(matrix_q16), np.asarray(gradient_q16)
    terms = matrix.astype(np.int64) * gradient.astype(np.int64)[..., np.newaxis, :] >> 16
    total: Ints = terms.sum(axis=-1)
    return np.clip(total, I32_MIN, I32_MAX).astype(np.int32)


def step(matrix_q16: Ints, weights_q16: Ints) -> Ints:
    """The step that a policy takes as an argument: `precondition_q16` of one row, as int64.

    >>> step(np.array([[65536, -32768], [0, 65536]]), np.array([40000, 25536])).tolist()
    [27232, 25536]

    Raises:
        InvalidInput: an entry is not within the 32 bits that a device has for it.
    """
    for name, values in (("matrix entry", matrix_q16), ("weight", weights_q16)):
        least, most = int(values.min(initial=0)), int(values.max(initial=0))
        if least < I32_MIN or most > I32_MAX:
            wrong = least if least < I32_MIN else most
            raise InvalidInput(
                f"a {name} of {wrong}; {I32_MIN} to {I32_MAX} allowed",
                "use signed 16.16 numbers of 32 bits",
            )
    return precondition_q16(matrix_q16, weights_q16).astype(np.int64)


def to_q16(values: NDArray[np.float64]) -> NDArray[np.int32]:
    """The nearest 16.16 numbers, halves to even, cut to 32 bits."""
    scaled = np.rint(np.asarray(values, np.float64) * ONE)
    return np.clip(scaled, I32_MIN, I32_MAX).astype(np.int32)


def _bit_length(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    filled = values
    for step in (1, 2, 4, 8, 16, 32):
        filled = filled | (filled >> np.uint64(step))
    return np.bitwise_count(filled).astype(np.uint64)
