"""What cannot be launched, and is never tried again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from vyre.learn.events import Effect, Moment, Record
from vyre.learn.learner.next import decide_next
from vyre.learn.pace import Pace
from vyre.learn.standing import Advanced, Standing, then
from vyre.model import Config, Failed


def drop(standing: Standing, reasons: Mapping[Config, str], at: Moment, pace: Pace) -> Advanced:
    """Never try these again, and go on with others."""
    standing, effects = without(standing, reasons)
    if standing.is_over:
        return standing, effects
    return then(decide_next(standing, at, pace), effects)


def without(standing: Standing, reasons: Mapping[Config, str]) -> Advanced:
    """The standing without what cannot be launched; over, where that is the default."""
    policy, effects = standing.policy, list[Effect]()
    assert policy is not None
    if standing.wanted is not None and standing.wanted.config in reasons:
        standing = replace(standing, wanted=None)
    beside = tuple(one for one in standing.beside if one.config not in reasons)
    standing = replace(standing, beside=beside)
    for config, reason in reasons.items():
        if config not in standing.failures:
            failure = Failed(config, reason)
            policy = policy.tell(failure)
            effects.append(Record(failure, standing.size))
    standing = replace(
        standing,
        policy=policy,
        ready=standing.ready - reasons.keys(),
        mask=None,
        failures={**reasons, **standing.failures},
    )
    if standing.default in reasons:
        why = f"the default cannot be timed: {reasons[standing.default]}"
        if standing.decision.config in reasons:  # then calls say themselves why it cannot run
            standing = replace(standing, decision=standing.falls_back(why))
        return standing.over(why), tuple(effects)
    return standing, tuple(effects)
