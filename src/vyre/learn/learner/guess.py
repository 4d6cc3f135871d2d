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

    Where others have none, its times say whether anything has.
    """
    default = standing.default
    silent = any(has_no_times(standing, one, pace) for one in standing.strikes)
    wanted = silent or standing.decision.config == default
    few = standing.timed.get(default, 0) < SURE_OF
    return standing.guesses and wanted and few and default in standing.ready


def without_failed(standing: Standing) -> Standing:
    """The standing where calls run the default if what they ran cannot be launched."""
    runs = standing.decision.config
    if runs == standing.default or runs not in standing.failures:
        return standing
    left = standing.falls_back(f"{runs.text}: {standing.failures[runs]}")
    return replace(standing, decision=left, limit=inf)


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
    guess, on_it = standing.decision.config, standing.is_on_a_guess
    if standing.is_over and not (on_it and guess in reasons):
        return standing
    new = {one: why for one, why in reasons.items() if one not in standing.failures}
    standing = replace(
        standing,
        failures={**new, **standing.failures},
        untold={**new, **standing.untold},
    )
    if not on_it or guess not in reasons:
        return standing
    left = standing.falls_back(f"{guess.text}: {reasons[guess]}")
    return replace(standing, decision=left, limit=inf)
