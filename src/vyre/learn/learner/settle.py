"""What calls launch from now on, and whether others are to hear of it."""

from __future__ import annotations

from dataclasses import replace
from math import inf, log

from vyre.learn.events import Put
from vyre.learn.pace import Pace
from vyre.learn.standing import Advanced, Standing
from vyre.model import Decision, Reason
from vyre.policy.base import Choice
from vyre.policy.charged import SURE_OF


def settled(standing: Standing, decision: Decision, pace: Pace) -> Advanced:
    """Launch this from now on, and remember it where it is certain."""
    standing = replace(standing, decision=decision)
    if decision.reason not in (Reason.ADOPTED, Reason.TAKEN_BACK):
        return standing, ()
    before = standing.certain
    news = before is None or before.config != decision.config
    gained = 0.0 if before is None else abs(_log_gain(decision) - _log_gain(before))
    if not news and gained < pace.news:
        return standing, ()
    return replace(standing, certain=decision), (Put(decision, news),)


def unproven(standing: Standing, keep: Choice, pace: Pace) -> Decision | None:
    """What was inherited, as long as it is neither confirmed nor refuted here.

    Its own times say nothing as long as the default is launched only to be timed.
    """
    inherited, default, timed = standing.inherited, standing.default, standing.timed
    if inherited is None or inherited.config == default:
        return None
    config = inherited.config
    if config not in standing.ready or config in standing.failures:
        return None
    cold = keep.config == default and keep.reason is Reason.COLD_START
    is_open = not timed.get(config) or (cold and timed.get(default, 0) < pace.enough)
    return inherited if is_open else None


def kept(standing: Standing, keep: Choice, pace: Pace) -> Advanced:
    """Launch what the policy keeps, if it can run, and the default where that gains too little."""
    if keep.config not in standing.ready and standing.decision.config in standing.ready:
        return standing, ()  # no call waits for what is on its way
    if keep.config != standing.default and keep.gain < pace.margin and not keep.binding:
        decision = standing.falls_back(f"nothing is faster by {pace.margin - 1:.0%}")
    else:
        decision = _decision(standing, keep)
    return settled(standing, _taken_back(standing, decision, keep), pace)


def _taken_back(standing: Standing, decision: Decision, keep: Choice) -> Decision:
    """The decision as one that others hear of, where it refutes what is remembered."""
    before, policy = standing.certain, standing.policy
    if before is None and standing.inherited is not None:
        before = standing.inherited if standing.inherited.reason is Reason.REMEMBERED else None
    assert policy is not None
    if decision.reason is not Reason.DEFAULT or before is None or before.config == decision.config:
        return decision
    if keep.binding:  # it may not have looked at times at all
        refuted = policy.ratios().get(before.config, -inf) >= 0.0
    else:
        refuted = bool(standing.timed.get(before.config))
    if not refuted:
        return decision
    why = f"{before.config.text} does not hold: {decision.detail}"
    return replace(decision, reason=Reason.TAKEN_BACK, detail=why)


def _decision(standing: Standing, choice: Choice) -> Decision:
    weighed = not standing.guesses or standing.timed.get(standing.default, 0) >= SURE_OF
    return Decision(
        workload=standing.decision.workload,
        config=choice.config,
        reason=choice.reason,
        detail=choice.detail,
        # What a guess expects is no gain: that takes a time of the default.
        gain=choice.gain if weighed else None,
        confidence=choice.confidence if weighed else None,
        default=standing.default,
    )


def _log_gain(decision: Decision) -> float:
    return log(decision.gain) if decision.gain and decision.gain < inf else 0.0
