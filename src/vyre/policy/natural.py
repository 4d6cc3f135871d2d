"""The natural-gradient suggestion in 16.16 fixed point, bit for bit as the Rust crate computes it.

A softmax over measured times is multiplied by a caller's matrix; the largest entry is suggested.
The arithmetic is kept for parity: ties go to the later candidate, the last one takes what rounding
leaves over, the matrix is unsigned. The policy that learns from live dispatches does not use it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import index

from vyre.errors import InvalidInput
from vyre.model import U32_MAX, Dim3

Q16_ONE = 1 << 16
"""One, in 16.16 fixed point."""

_U64_MAX = (1 << 64) - 1
_MOST_CANDIDATES = 0xFFFF  # the largest count whose square fits the 32-bit sizes of a device buffer


class NaturalGradientTuningError(InvalidInput):
    """Input from which the natural gradient cannot suggest anything."""


class EmptyMeasurements(NaturalGradientTuningError):
    """Nothing was measured."""


class ZeroTemperature(NaturalGradientTuningError):
    """A softmax without a temperature."""


class FisherMatrixShape(NaturalGradientTuningError):
    """A matrix that does not have a row and a column for each measurement."""


@dataclass(frozen=True, slots=True)
class TuningMeasurement:
    """A workgroup size, and how long a dispatch took with it."""

    workgroup_size: Dim3
    elapsed_ns: int

    def __post_init__(self) -> None:
        if not 0 <= self.elapsed_ns <= _U64_MAX:
            raise InvalidInput(
                f"elapsed_ns {self.elapsed_ns} of workgroup {self.workgroup_size}"
                " is outside 0 to 2**64 - 1",
                "give the time as a whole number of nanoseconds, at least 0",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class NaturalGradientStep:
    """What to try next, what was fastest, and the numbers the choice was made from."""

    selected_workgroup_size: Dim3
    best_measured_workgroup_size: Dim3
    best_measured_elapsed_ns: int
    policy_weights_q16: tuple[int, ...]
    natural_gradient_q16: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NaturalGradientPolicy:
    """A softmax policy over measured times; a higher temperature explores more.

    >>> times = [TuningMeasurement((64, 1, 1), 12_000), TuningMeasurement((128, 1, 1), 8_000)]
    >>> NaturalGradientPolicy().suggest(times, identity_fisher_q16(2)).selected_workgroup_size
    (128, 1, 1)
    """

    temperature_ns: int = 10_000

    def __post_init__(self) -> None:
        # Zero is left to `suggest`, which reports it after an empty list of measurements.
        if not 0 <= self.temperature_ns <= _U64_MAX:
            raise InvalidInput(
                f"temperature_ns {self.temperature_ns} is outside 1 to 2**64 - 1",
                "use a positive whole number of nanoseconds, such as 10_000",
            )

    def suggest(
        self, measurements: Sequence[TuningMeasurement], fisher_inv_sqrt_q16: Sequence[int]
    ) -> NaturalGradientStep:
        """Choose the workgroup size to try next.

        Args:
            measurements: the candidates; the best measured is the first of the fastest.
            fisher_inv_sqrt_q16: row-major n by n matrix, 16.16, entries from 0 to 2**32 - 1.

        Raises:
            EmptyMeasurements, ZeroTemperature, FisherMatrixShape: checked in this order.

        """
        count = len(measurements)
        if count == 0:
            raise EmptyMeasurements(
                "no measurements to suggest from", "measure at least one candidate first"
            )
        if self.temperature_ns == 0:
            raise ZeroTemperature("temperature_ns is 0", "use a positive temperature_ns")
        if len(fisher_inv_sqrt_q16) != count * count:
            raise FisherMatrixShape(
                f"a Fisher matrix of {len(fisher_inv_sqrt_q16)} cells for {count} measurements,"
                f" which need {count * count}",
                f"pass a row-major {count} by {count} matrix, such as identity_fisher_q16({count})",
            )

        best = min(measurements, key=lambda measurement: measurement.elapsed_ns)
        weights = softmax_weights_q16([m.elapsed_ns for m in measurements], self.temperature_ns)
        gradient = precondition_q16(fisher_inv_sqrt_q16, weights)
        # The last of equal maxima, as the crate's iterator picks it.
        selected = max(range(count), key=lambda i: (gradient[i], i))
        return NaturalGradientStep(
            selected_workgroup_size=measurements[selected].workgroup_size,
            best_measured_workgroup_size=best.workgroup_size,
            best_measured_elapsed_ns=best.elapsed_ns,
            policy_weights_q16=weights,
            natural_gradient_q16=gradient,
        )


def identity_fisher_q16(count: int) -> tuple[int, ...]:
    """Return the `count` by `count` identity in 16.16, row by row.

    >>> identity_fisher_q16(2)
    (65536, 0, 0, 65536)
    """
    if not 0 <= count <= _MOST_CANDIDATES:
        raise InvalidInput(
            f"an identity matrix for {count} candidates; {_MOST_CANDIDATES} allowed",
            f"pass between 0 and {_MOST_CANDIDATES} candidates",
        )
    cells = [0] * (count * count)
    for i in range(count):
        cells[i * count + i] = Q16_ONE
    return tuple(cells)


def softmax_weights_q16(elapsed_ns: Sequence[int], temperature_ns: int) -> tuple[int, ...]:
    """Give each time a probability in 16.16; they add up to exactly one.

    >>> softmax_weights_q16([12_000, 8_000, 10_000], 4_000)
    (12211, 33193, 20132)
    """
    fastest = min(elapsed_ns)
    temperature = float(temperature_ns)
    weights = [math.exp(-float(elapsed - fastest) / temperature) for elapsed in elapsed_ns]
    # Not sum(): since Python 3.12 it compensates for rounding, which would change the last bit.
    total = 0.0
    for weight in weights:
        total += weight

    left = Q16_ONE
    rounded = []
    for weight in weights[:-1]:
        share = min(_round_half_up(weight / total * Q16_ONE), left)
        rounded.append(share)
        left -= share
    return (*rounded, left)


def precondition_q16(matrix_q16: Sequence[int], gradient_q16: Sequence[int]) -> tuple[int, ...]:
    """Multiply in 16.16: each product is floored, each row capped at 2**32 - 1."""
    # index() turns NumPy's fixed-width integers into Python's, which cannot wrap.
    matrix = _u32_cells(matrix_q16, "matrix")
    gradient = _u32_cells(gradient_q16, "gradient")
    n = len(gradient)
    return tuple(
        min(sum((matrix[row + i] * gradient[i]) >> 16 for i in range(n)), U32_MAX)
        for row in range(0, n * n, n or 1)
    )


def _u32_cells(cells: Iterable[int], name: str) -> tuple[int, ...]:
    values = tuple(index(cell) for cell in cells)
    for i, value in enumerate(values):
        if not 0 <= value <= U32_MAX:
            raise InvalidInput(
                f"{name} cell {i} is {value}; 0 to {U32_MAX} allowed",
                "use unsigned 16.16 numbers",
            )
    return values


def _round_half_up(value: float) -> int:
    """Round halves of a value from 0 upwards; round() would take them to even."""
    whole = math.floor(value)
    return whole + (value - whole >= 0.5)
