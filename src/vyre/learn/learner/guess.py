"""How far calls may go on a guess, and what they run where that is far enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf

from vyre.learn.events import Effect, Moment
from vyre.learn.learner.settle import settled
from vyre.learn.pace import Pace
from vyre.learn.standing import PROVISIONAL, Advanced, Standing
from vyre.model import Config, Reason
from vyre.policy.charged import SURE_OF


def bounded(standing: Standing, at: Moment) -> Standing:
    """The standing with how far calls may go on a guess; it is the default's turn where they did.

    What was enqueued counts, not what has ended: callers may be thousands of launches ahead.
    """
    decision, policy = standing.decision, standing.policy
    assert policy is not None
    if not standing.is_on_a_guess:
        return replace(standing, limit=inf)
    limit = standing.told + policy.allowance(decision.config)
    if limit > at.dispatches or standing.default not in standing.ready:
        return replace(standing, limit=limit)
    ahead = at.dispatches - standing.told
    return replace(
        held_back(standing),
        policy=policy.ran(decision.config, ahead) if ahead > 0 else policy,
        told=max(at.dispatches, standing.told),
    )


def held_back(standing: Standing) -> Standing:
    """The standing where calls run the default, because what they ran may have cost enough."""
    guess, times = standing.decision.config, "until more of its times are back"
    if guess == standing.default:
        return replace(standing, limit=inf)
    spent = f"what {guess.text} may cost is spent" + ("" if standing.is_over else f", {times}")
    return replace(standing, decision=standing.falls_back(spent), limit=inf)


def default_is_overdue(standing: Standing, pace: Pace) -> bool:
    """Whether the default was hardly timed, and runs where a guess was to run, or would have times.

    Where a guess has none, its times say whether anything has.
    """
    default, runs = standing.default, standing.decision.config
    wanted = runs == default or has_no_times(standing, runs, pace)
    few = standing.timed.get(default, 0) < SURE_OF
    return standing.guesses and wanted and few and default in standing.ready


def has_no_times(standing: Standing, config: Config, pace: Pace) -> bool:
    """Whether a config only gives times that are none."""
    return standing.strikes.get(config, 0) >= pace.strikes


def left_alone(standing: Standing, took: str, pace: Pace) -> Advanced:
    """Keep what was remembered for this very workload, or guessed, else run the default."""
    effects: tuple[Effect, ...] = ()
    if standing.guesses:
        if standing.decision.reason in PROVISIONAL:
            why = f"{took}, so the guess decides"
            standing = replace(standing, decision=replace(standing.decision, detail=why))
        standing = replace(standing, limit=inf)
    elif standing.decision.reason is not Reason.REMEMBERED:
        standing, effects = settled(standing, standing.falls_back(took), pace)
    return standing.over(f"{took}; tuning on purpose measures many in a row"), effects


def fallen(standing: Standing, reasons: Mapping[Config, str]) -> Standing:
    """The standing without what cannot be launched, before it began or after it is over."""
    guess, failures = standing.decision.config, {**reasons, **standing.failures}
    if standing.is_on_a_guess and guess in reasons:
        left = standing.falls_back(f"{guess.text}: {reasons[guess]}")
        return replace(standing, decision=left, failures=failures, limit=inf)
    return standing if standing.is_over else replace(standing, failures=failures)
