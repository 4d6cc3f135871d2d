"""What to do once something is heard: what calls launch, what is fetched, and what is asked."""

from __future__ import annotations

from dataclasses import replace

from vyre.learn.events import Moment, Wake, Woke
from vyre.learn.learner.fetch import fetch_ahead
from vyre.learn.learner.guess import bounded, default_is_overdue, without_failed
from vyre.learn.learner.led import is_led
from vyre.learn.learner.settle import kept, settled, unproven
from vyre.learn.pace import Pace
from vyre.learn.standing import Advanced, Phase, Standing, Wanted, then
from vyre.model import Reason
from vyre.policy.base import NothingToTry


def decide_next(standing: Standing, at: Moment, pace: Pace) -> Advanced:
    """Decide what calls launch from now on, and what to ask for next."""
    policy = standing.policy
    assert policy is not None
    mask = policy.mask(standing.ready) if standing.mask is None else standing.mask
    standing = replace(standing, mask=mask)
    try:
        keep, choice = policy.incumbent(mask), policy.choose(mask)
    except NothingToTry as error:
        if standing.ledger.fetching:  # something is to come
            return without_failed(standing), ()
        return standing.over(error.problem), ()
    inherited = unproven(standing, keep, pace)
    if inherited is None:
        standing, effects = kept(standing, keep, pace)
    else:
        standing, effects = settled(standing, inherited, pace)
    ask = choice.config
    if inherited is not None and not choice.measures and not standing.timed.get(inherited.config):
        ask = inherited.config  # it has to show first whether it still holds
    standing = bounded(standing, at)
    standing, effects = then(fetch_ahead(standing, at, pace), effects)
    overdue = default_is_overdue(standing, pace)
    if overdue:
        ask = standing.default  # it is launched anyway
        if standing.wanted is not None and standing.wanted.phase is not Phase.LAUNCHED:
            standing = replace(standing, wanted=None)
    probing = choice.reason is Reason.PROBE
    standing = replace(standing, next=ask, because=choice.detail, probing=probing)
    # What is asked for instead is what calls launch, or what is to be weighed as it comes.
    led = ask == choice.config and is_led(standing, choice, keep, standing.decision.config, pace)
    resting = not (choice.measures or overdue or standing.ledger.fetching)
    return then(_planned(standing, Wanted(config=ask, led=led), at, pace, resting=resting), effects)


def _planned(
    standing: Standing, wanted: Wanted, at: Moment, pace: Pace, *, resting: bool
) -> Advanced:
    """Plan to ask for this where it is ready and nothing else is waited for."""
    ask = wanted.config
    if standing.wanted is not None:
        return standing, ()
    if ask in standing.ready:
        asks = standing.asks + 1
        standing, when_s = _when(standing, at, pace, resting=resting)
        # What no call has taken by now is not wanted any more: there is a better question.
        under_way = tuple(one for one in standing.beside if one.phase is Phase.LAUNCHED)
        standing = replace(standing, wanted=wanted, beside=under_way, asks=asks)
        return standing, (Wake(when_s, Woke(asks)),)
    if standing.broken and not standing.ledger.fetching:
        return standing.over(f"{ask.text} cannot be compiled: {standing.broken}"), ()
    return standing, ()


def _when(standing: Standing, at: Moment, pace: Pace, *, resting: bool) -> tuple[Standing, float]:
    """When to ask next: soon while there is something to learn, ever later while not."""
    began_s = at.now_s if standing.began_s is None else standing.began_s
    worked_s = at.worked_s + pace.rough_s * standing.rough
    owed = (worked_s - pace.advance_s) / pace.share - (at.now_s - began_s)
    rest_s = min(max(pace.slower * standing.resting_s, pace.shortest_s), pace.resting_s)
    rest_s = rest_s if resting else 0.0
    return replace(standing, resting_s=rest_s), at.now_s + max(owed, rest_s)
