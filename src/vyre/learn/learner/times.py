"""What the time of a launch says: nothing that compares, something to learn, or the end."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log

from vyre.learn.events import Effect, Moment, Ran, Record
from vyre.learn.learner.drop import without
from vyre.learn.learner.guess import has_no_times, left_alone
from vyre.learn.learner.next import decide_next
from vyre.learn.learner.wanted import given_up
from vyre.learn.pace import Pace
from vyre.learn.standing import Advanced, Standing, then
from vyre.model import Config, Timed
from vyre.policy.measured import is_time


def heard(standing: Standing, times: tuple[Ran, ...], at: Moment, pace: Pace) -> Advanced:
    """Times that were asked for; what follows from them is decided once, after the last."""
    effects: tuple[Effect, ...] = ()
    for left, event in zip(reversed(range(len(times))), times, strict=True):
        # Each is a dispatch, and those after it have not been told: they do not count twice.
        then_at = replace(at, dispatches=max(at.dispatches - left, 0))
        standing, more = _told(standing, event, then_at, pace)
        effects = (*effects, *more)
        if standing.is_over:
            return standing, effects
    return then(decide_next(standing, at, pace), effects)


def _told(standing: Standing, event: Ran, at: Moment, pace: Pace) -> Advanced:
    """The standing after the time of one launch."""
    config, elapsed = event.config, event.elapsed_ns
    led = any(one.led for one in standing.asked_for if one.config == config)
    standing = given_up(standing, config)
    assert standing.policy is not None
    if config in standing.failures:  # one that was launched before it was dropped
        return replace(standing, told=standing.told + 1), ()
    if not is_time(elapsed):
        return _struck(standing, config, f"the device gave a time of {elapsed} ns", pace)
    if _loads_too(standing, config, elapsed, pace):
        cost = elapsed / (standing.ledger.default_ns or elapsed)
        standing = replace(
            standing,
            launched=standing.launched | {config},
            policy=standing.policy.paid(cost, cost - 1.0),
            told=standing.told + 1,
        )
        return standing, ()
    if event.throttled:
        standing = replace(standing, ledger=standing.ledger.held_back(event.throttled))
    standing, comparable = _clocked(standing, event, pace)
    if not comparable:
        return replace(standing, told=standing.told + 1), ()
    if event.rough and elapsed < pace.shortest_ns:
        standing = replace(standing, told=standing.told + 1, rough=standing.rough + 1)
        if event.early or standing.rough < pace.rough or standing.timed.get(standing.default):
            return standing, ()
        short = f"{elapsed / 1e3:.1f} us are too short for an idle device's timer"
        return left_alone(standing, short, pace)
    standing = replace(_learned(standing, event, at, led=led), trouble=0)
    record = Record(Timed(config, float(elapsed), clock=event.clock), event.size)
    guesses = standing.guesses
    took = elapsed if guesses else standing.ledger.default_ns
    enough = standing.ledger.timings if guesses else len(standing.ledger.default_times)
    if enough >= pace.enough and took and took < pace.unfelt_ns:
        little = f"{took / 1e3:.1f} us are little beside what a call costs"
        return then(left_alone(standing, little, pace), (record,))
    return standing, (record,)


def _loads_too(standing: Standing, config: Config, elapsed: float, pace: Pace) -> bool:
    """Whether what a first launch loads may be most of its time: not where it is the fastest."""
    if config in standing.launched or elapsed >= pace.loaded_ns:
        return False
    return not (standing.guesses and elapsed < standing.ledger.fastest_ns)


def _clocked(standing: Standing, event: Ran, pace: Pace) -> tuple[Standing, bool]:
    """Whether a time compares with those before: not where the device's clocks have changed.

    A few in a row that agree with each other say that what was learned is of another machine.
    """
    if not event.clock or event.clock == standing.clock:
        return replace(standing, other_clock=("", 0)), True
    if not standing.clock:
        return replace(standing, clock=event.clock, other_clock=("", 0)), True
    other, count = standing.other_clock
    count = count + 1 if event.clock == other else 1
    if count < pace.clocks:
        return replace(standing, other_clock=(event.clock, count)), False
    assert standing.policy is not None
    held = standing.decision if standing.decision.config != standing.default else None
    return (
        replace(
            standing,
            policy=standing.policy.anew(),
            mask=None,
            inherited=held,  # it has to show whether it still holds
            timed={},
            ledger=replace(standing.ledger, default_times=()),
            clock=event.clock,
            other_clock=("", 0),
        ),
        True,
    )


def _learned(standing: Standing, event: Ran, at: Moment, *, led: bool) -> Standing:
    """The standing after a time that compares with others, and the launch that led to it."""
    policy, config, elapsed = standing.policy, event.config, event.elapsed_ns
    assert policy is not None
    best, told = standing.decision.config, standing.told
    untimed = at.dispatches - 1 - told - led
    if untimed > 0:
        policy, told = policy.ran(best, untimed), told + untimed
    if led:
        policy, told = policy.ran(config, 1), told + 1
    trend = standing.trend.told(config, event.size, log(elapsed))
    comparable = exp(log(elapsed) - trend.level(event.size))
    idle_ns = _idle_ns(standing.last_at, at, elapsed)
    policy = policy.tell(Timed(config, comparable, idle_ns=idle_ns, share=event.share))
    ledger = standing.ledger.heard(
        float(elapsed),
        default=config == standing.default,
        probe=standing.probing and config != best,
    )
    return replace(
        standing,
        policy=policy,
        trend=trend,
        told=told + 1,
        timed={**standing.timed, config: standing.timed.get(config, 0) + 1},
        launched=standing.launched | {config},
        strikes={one: count for one, count in standing.strikes.items() if one != config},
        ledger=replace(ledger, spent=policy.budget.spent, lost=policy.budget.lost),
        last_at=at,
    )


def _idle_ns(before: Moment | None, at: Moment, elapsed_ns: float) -> float:
    """How long the device had nothing to do for each launch since, if all took about as long."""
    if before is None:
        return 0.0
    launches = max(at.dispatches - before.dispatches, 1)
    return max((at.now_s - before.now_s) * 1e9 / launches - elapsed_ns, 0.0)


def _struck(standing: Standing, config: Config, reason: str, pace: Pace) -> Advanced:
    """A time that is none: one says little, a few in a row say that the config is no good."""
    strikes = {**standing.strikes, config: standing.strikes.get(config, 0) + 1}
    standing = replace(standing, strikes=strikes, told=standing.told + 1)
    if not has_no_times(standing, config, pace):
        return standing, ()
    if not standing.guesses or standing.ledger.timings:
        return without(standing, {config: reason})
    default = standing.default
    to_come = default in standing.ready or default in standing.awaited
    if to_come and not has_no_times(standing, default, pace):
        return standing, ()  # it says whether anything has times
    return left_alone(standing, reason, pace)  # of nothing, so others would fare no better
