"""What may run on a guess, before the default was timed beside it, and what that may cost."""

from __future__ import annotations

from math import exp, inf

_AT_ONCE = 1.0  # dispatches of the fastest that the first time of the default may cost
_SHARE = 0.015  # of the dispatches since its last time, that another may cost
_FARTHEST = 10.0  # log times are cut here before they are raised to a time

SURE = 1.645
"""Standard deviations below which nineteen in twenty lie."""


def times_slower(log_ratio: float) -> float:
    """By how many dispatches one is longer than another, where its log time is so much more.

    >>> round(times_slower(0.6931), 3)
    1.0
    """
    return exp(min(log_ratio, _FARTHEST)) - 1.0


def default_fits(extra: float, since: int, *, timed: bool) -> bool:
    """Whether a time of the default is worth what it costs those who wait for the fastest.

    >>> default_fits(0.85, 2, timed=False), default_fits(400.0, 1000, timed=False)
    (True, False)

    Args:
        extra: dispatches of the fastest that one of the default takes, beyond its own.
        since: dispatches since the default was timed, or all so far.
        timed: whether it was.
    """
    if not timed and extra <= _AT_ONCE:
        return True
    return extra <= _SHARE * since


def launches_within(left: float, loss: float) -> float:
    """How many launches that may each lose so much fit into what is left.

    >>> launches_within(14.0, 0.1), launches_within(3.0, -0.2)
    (140.0, inf)
    """
    return inf if loss <= 0.0 else max(left, 0.0) / loss
