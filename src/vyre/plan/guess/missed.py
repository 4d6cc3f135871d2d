"""How far guesses were off on kernels that no constant was fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

_FARTHEST = 10.0  # log times are cut here before they are raised to a time


@dataclass(frozen=True, slots=True)
class Missed:
    """By how much log time 19 of 20 guesses on kernels left out of the fit were at most slower.

    It grows with the gain that was expected, a line: who expects much is further off.

    >>> Missed(0.04, 0.5).risk(0.02), Missed(0.04, 0.5).risk(1.0)
    (0.030454533953516938, 0.0)
    """

    least: float
    share: float  # of the gain expected

    def risk(self, gain: float) -> float:
        """What one launch may lose, in dispatches of the default."""
        slower = self.least + self.share * gain - gain
        return max(0.0, exp(min(slower, _FARTHEST)) - 1.0)
