"""Launches that are timed after one of the same, because what is chosen follows itself as well."""

from __future__ import annotations

from vyre.learn.pace import Pace
from vyre.learn.standing import Standing
from vyre.model import Config
from vyre.policy.base import Choice


def is_led(standing: Standing, choice: Choice, keep: Choice, after: Config, pace: Pace) -> bool:
    """Whether a launch is to follow another of the same, which is not timed.

    A short launch takes more or less time after one of another config. That matters once a first
    time has come near what is kept: what is much slower stays so, and a try of it would cost twice.

    Args:
        standing: what is known.
        choice: what is to be timed.
        keep: what is launched while nothing is.
        after: what would be launched right before it.
        pace: below what time a launch counts as short.
    """
    question = standing.question
    if choice.config == after or standing.ledger.fastest_ns >= pace.led_ns:
        return False
    if not standing.timed.get(choice.config):
        return False
    is_whole = question is not None and question.share == 1.0  # a slice follows another slice
    return is_whole and keep.gain <= pace.led_within * choice.gain
