"""Learns how to run one workload from the dispatches that happen anyway: deciding alone, no effect.

`advance` takes what is known and what has happened, and gives what is known then and what is to be
done about it. One launch is waited for at a time: the next depends on what came of it. A few more
may be asked for with it, each for what those before it leave open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp, inf, log

from vyre.learn.events import (
    Ask,
    Began,
    Broke,
    Came,
    Decided,
    Effect,
    Ended,
    Event,
    Fell,
    Fetch,
    Heard,
    Launched,
    Looked,
    Lost,
    Moment,
    Put,
    Ran,
    Record,
    Spent,
    Took,
    Wake,
    Woke,
)
from vyre.learn.inheritance import Inherited
from vyre.learn.pace import Pace
from vyre.learn.standing import Phase, Standing, Wanted
from vyre.learn.subject import Question
from vyre.model import Config, Decision, Failed, Reason, Timed
from vyre.policy import table
from vyre.policy.base import Choice, NothingToTry
from vyre.policy.measured import is_time
from vyre.policy.natural_live import SURE_OF

_PROVISIONAL = (Reason.COLD_START, Reason.TRANSFERRED)
"""Why something is launched that was not weighed against the default here."""

Advanced = tuple[Standing, tuple[Effect, ...]]


def advance(standing: Standing, event: Event, pace: Pace) -> Advanced:
    """What is known after an event, and what is to be done about it."""
    at, what = event.at, event.what
    if standing.began_s is None:
        standing = replace(standing, began_s=at.now_s)
    match what:
        case Began() if standing.question is None and not standing.is_over:
            return _begin(standing, what, at, pace)
        case Decided(decision):
            return _settled(standing, replace(decision, reason=Reason.REMEMBERED), pace)
        case Ended(why):
            return _stopped(standing, why), ()
        case Broke(error) if not standing.is_over:
            return _broken(standing, error, at, pace)
        case Began() | Broke():  # once is enough
            return standing, ()
        case Spent() if standing.policy is None and at.dispatches >= standing.limit:
            return _held_back(standing), ()  # nothing is weighed yet, or ever
        case Fell(reasons) if standing.policy is None:
            return _fallen(standing, reasons), ()
        case _ if standing.policy is None:
            return standing, ()
        case Woke(ask):
            return _asked(standing, ask, at, pace)
        case Took():
            return _look_after(standing, at, pace)
        case Looked():
            return _looked(standing, what, at, pace)
        case Launched(config):
            return _under_way(standing, config), ()
        case Ran():
            return _heard(standing, (what,), at, pace)
        case Heard(times):
            return _heard(standing, times, at, pace)
        case Spent():
            return _next(standing, at, pace)
        case Lost(config):
            return _next(_given_up(standing, config), at, pace)
        case Fell(reasons):
            return _dropped(standing, reasons, at, pace)
        case Came():
            return _came(standing, what, at, pace)


def _asked_for(standing: Standing) -> tuple[Wanted, ...]:
    """Every launch whose time is wanted."""
    return (*(() if standing.wanted is None else (standing.wanted,)), *standing.beside)


def _begin(standing: Standing, event: Began, at: Moment, pace: Pace) -> Advanced:
    question, inherited = event.question, event.inherited
    if standing.failures:  # what fell before this
        fallen = {**inherited.failures, **standing.failures}
        inherited = replace(inherited, failures=fallen)
    started = standing.inherited
    launched = (standing.decision.config, *(one.config for one in _asked_for(standing)))
    candidates = _shortened(question, inherited, launched, pace)
    # Calls run the default anyway, so that it failed once keeps nobody from timing it.
    failures = {one: why for one, why in inherited.failures.items() if one != standing.default}
    standing = replace(
        standing,
        question=question,
        size=event.size,
        failures=failures,
        ready=(standing.ready | event.ready) - failures.keys(),
        launched=standing.launched | (frozenset(candidates) if question.warm else frozenset()),
    )
    if started is not None and started.config not in candidates:
        left = f"{started.config.text} is no candidate here"
        standing = replace(standing, inherited=None, decision=_default(standing, left))
    if candidates == (standing.default,):
        return _stopped(standing, "there is one candidate only"), ()
    given = table.Given(
        space=candidates,
        default=standing.default,
        size=event.size,
        remembered=inherited.ratios,
        step=event.step,
        share=question.share,
        expected=_expected(question, candidates),
        risk=question.risk,
        noise=question.noise,
    )
    standing = replace(standing, policy=table.make(event.policy, given))
    decision = inherited.decision
    if given.expected and decision is not None and decision.reason is Reason.TRANSFERRED:
        decision = None  # what others measured corrects what is expected, and no more
    standing, effects = _started_from(standing, decision, pace)
    if standing.default not in standing.ready:
        standing, effects = _fetching(standing, (*effects, Fetch((standing.default,))))
    if given.expected and candidates[0] not in standing.ready:
        best = tuple(one for one in candidates if one not in standing.ready)
        standing, effects = _fetching(standing, (*effects, Fetch(best[: pace.together])))
    if standing.wanted is not None:  # an interrupt may have lost what the first calls took
        standing, looks = _look_after(standing, at, pace)
        effects = (*effects, *looks)
    return _then(_next(standing, at, pace), effects)


def _started_from(standing: Standing, decision: Decision | None, pace: Pace) -> Advanced:
    """Begin with what was decided before or nearby, as soon as it can run."""
    if decision is None or decision.config == standing.decision.config:
        return standing, ()
    if decision.config in standing.ready:
        return _settled(replace(standing, inherited=decision), decision, pace)
    if decision.config != standing.default:
        fetch = Fetch((decision.config,))
        return _fetching(replace(standing, inherited=decision), (fetch,))
    return standing, ()


def _heard(standing: Standing, times: tuple[Ran, ...], at: Moment, pace: Pace) -> Advanced:
    """Times that were asked for; what follows from them is decided once, after the last."""
    effects: tuple[Effect, ...] = ()
    for event in times:
        standing, more = _told(standing, event, at, pace)
        effects = (*effects, *more)
        if standing.is_over:
            return standing, effects
    return _then(_next(standing, at, pace), effects)


def _told(standing: Standing, event: Ran, at: Moment, pace: Pace) -> Advanced:
    """The standing after the time of one launch."""
    config, elapsed = event.config, event.elapsed_ns
    standing = _given_up(standing, config)
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
        if standing.rough < pace.rough or standing.timed.get(standing.default):
            return standing, ()
        short = f"{elapsed / 1e3:.1f} us are too short for an idle device's timer"
        return _left_alone(standing, short, pace)
    standing = replace(_learned(standing, event, at), trouble=0)
    record = Record(Timed(config, float(elapsed), clock=event.clock), event.size)
    guesses = _guesses(standing)
    took = elapsed if guesses else standing.ledger.default_ns
    enough = standing.ledger.timings if guesses else len(standing.ledger.default_times)
    if enough >= pace.enough and took and took < pace.unfelt_ns:
        little = f"{took / 1e3:.1f} us are little beside what a call costs"
        return _then(_left_alone(standing, little, pace), (record,))
    return standing, (record,)


def _loads_too(standing: Standing, config: Config, elapsed: float, pace: Pace) -> bool:
    """Whether what a first launch loads may be most of its time: not where it is the fastest."""
    if config in standing.launched or elapsed >= pace.loaded_ns:
        return False
    return not (_guesses(standing) and elapsed < standing.ledger.fastest_ns)


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


def _learned(standing: Standing, event: Ran, at: Moment) -> Standing:
    """The standing after a time that compares with others."""
    policy, config, elapsed = standing.policy, event.config, event.elapsed_ns
    assert policy is not None
    best, told = standing.decision.config, standing.told
    untimed = at.dispatches - 1 - told
    if untimed > 0:
        policy, told = policy.ran(best, untimed), told + untimed
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
    if strikes[config] < pace.strikes:
        return standing, ()
    if _guesses(standing) and not standing.ledger.timings:
        return _left_alone(standing, reason, pace)  # of nothing, so others would fare no better
    return _without(standing, {config: reason})


def _left_alone(standing: Standing, took: str, pace: Pace) -> Advanced:
    """Keep what was remembered for this very workload, or guessed, else run the default."""
    effects: tuple[Effect, ...] = ()
    if _guesses(standing):
        if standing.decision.reason in _PROVISIONAL:
            why = f"{took}, so the guess decides"
            standing = replace(standing, decision=replace(standing.decision, detail=why))
        standing = replace(standing, limit=inf)
    elif standing.decision.reason is not Reason.REMEMBERED:
        standing, effects = _settled(standing, _default(standing, took), pace)
    return _stopped(standing, f"{took}; tuning on purpose measures many in a row"), effects


def _guesses(standing: Standing) -> bool:
    """Whether calls began with what a guess expects to be fast."""
    return standing.question is not None and bool(standing.question.expected)


def _dropped(standing: Standing, reasons: Mapping[Config, str], at: Moment, pace: Pace) -> Advanced:
    """Never try these again, and go on with others."""
    standing, effects = _without(standing, reasons)
    return (standing, effects) if standing.is_over else _then(_next(standing, at, pace), effects)


def _fallen(standing: Standing, reasons: Mapping[Config, str]) -> Standing:
    """The standing without a guess that cannot be launched, before it began or after it is over."""
    guess, failures = standing.decision.config, {**reasons, **standing.failures}
    is_guess = standing.decision.reason in _PROVISIONAL and guess != standing.default
    if not is_guess or guess not in reasons:
        return standing
    left = _default(standing, f"{guess.text}: {reasons[guess]}")
    return replace(standing, decision=left, failures=failures, limit=inf)


def _without(standing: Standing, reasons: Mapping[Config, str]) -> Advanced:
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
            standing = replace(standing, decision=_default(standing, why))
        return _stopped(standing, why), tuple(effects)
    return standing, tuple(effects)


def _came(standing: Standing, event: Came, at: Moment, pace: Pace) -> Advanced:
    """Something has been fetched."""
    worked = [one for one in event.fetched if not one.broken]
    ledger = replace(
        standing.ledger,
        fetching=event.fetching,
        fetches=standing.ledger.fetches + len(worked),
        fetched_s=standing.ledger.fetched_s + sum(one.took_s for one in worked),
    )
    broken = next((one.broken for one in event.fetched if one.broken), standing.broken)
    ready = (standing.ready | event.ready) - standing.failures.keys()
    standing = replace(standing, ledger=ledger, broken=broken, ready=ready, mask=None)
    assert standing.policy is not None
    known = frozenset(standing.policy.space)
    every = (item for one in event.fetched for item in one.failed.items())
    failed = {config: str(why) for config, why in every if config in known}
    if not event.fetching:
        # Asked for again and again, what never gets ready would keep the thread busy for ever.
        ended = ready | failed.keys()
        left = [one for one in standing.awaited if one in known and one not in ended]
        failed |= dict.fromkeys([] if broken else left, "it was fetched, and is not ready")
        standing = replace(standing, awaited=())
    if failed:
        return _dropped(standing, failed, at, pace)
    return _next(standing, at, pace)


def _next(standing: Standing, at: Moment, pace: Pace) -> Advanced:
    """Decide what calls launch from now on, and what to ask for next."""
    policy = standing.policy
    assert policy is not None
    mask = policy.mask(standing.ready) if standing.mask is None else standing.mask
    standing = replace(standing, mask=mask)
    try:
        keep, choice = policy.incumbent(mask), policy.choose(mask)
    except NothingToTry as error:
        return _stopped(standing, error.problem), ()
    ask, inherited, effects = choice.config, standing.inherited, tuple[Effect, ...]()
    if inherited is not None and _holds(standing, inherited, keep, pace):
        standing, effects = _settled(standing, inherited, pace)
        if not choice.measures and not standing.timed.get(inherited.config):
            ask = inherited.config  # it has to show first whether it still holds
    elif keep.config not in standing.ready and standing.decision.config in standing.ready:
        pass  # no call waits for what is on its way
    elif keep.config != standing.default and keep.gain < pace.margin and not keep.binding:
        left = _default(standing, f"nothing is faster by {pace.margin - 1:.0%}")
        standing, effects = _settled(standing, _taken_back(standing, left, keep), pace)
    else:
        kept = _taken_back(standing, _decision(standing, keep), keep)
        standing, effects = _settled(standing, kept, pace)
    standing = _bounded(standing, at)
    standing, effects = _then(_compiled_ahead(standing, at, pace), effects)
    overdue = _default_is_overdue(standing)
    if overdue:
        ask = standing.default  # it is launched anyway
        if standing.wanted is not None and standing.wanted.phase is not Phase.LAUNCHED:
            standing = replace(standing, wanted=None)
    probing = choice.reason is Reason.PROBE
    standing = replace(standing, next=ask, because=choice.detail, probing=probing)
    if standing.wanted is None and ask in standing.ready:
        asks, rests = standing.asks + 1, not choice.measures and not overdue
        resting = rests and not standing.ledger.fetching
        standing, when_s = _when(standing, at, pace, resting=resting)
        # What no call has taken by now is not wanted any more: there is a better question.
        under_way = tuple(one for one in standing.beside if one.phase is Phase.LAUNCHED)
        standing = replace(standing, wanted=Wanted(config=ask), beside=under_way, asks=asks)
        effects = (*effects, Wake(when_s, Woke(asks)))
    elif standing.wanted is None and standing.broken and not standing.ledger.fetching:
        why = f"{ask.text} cannot be compiled: {standing.broken}"
        return _stopped(standing, why), effects
    return standing, effects


def _default_is_overdue(standing: Standing) -> bool:
    """Whether the default runs where a guess was to run, and was hardly timed."""
    default = standing.default
    runs = _guesses(standing) and standing.decision.config == default
    return runs and standing.timed.get(default, 0) < SURE_OF and default in standing.ready


def _bounded(standing: Standing, at: Moment) -> Standing:
    """The standing with how far calls may go on a guess; it is the default's turn where they did.

    What was enqueued counts, not what has ended: callers may be thousands of launches ahead.
    """
    decision, policy = standing.decision, standing.policy
    assert policy is not None
    if decision.reason not in _PROVISIONAL or decision.config == standing.default:
        return replace(standing, limit=inf)
    limit = standing.told + policy.allowance(decision.config)
    if limit > at.dispatches or standing.default not in standing.ready:
        return replace(standing, limit=limit)
    ahead = at.dispatches - standing.told
    return replace(
        _held_back(standing),
        policy=policy.ran(decision.config, ahead) if ahead > 0 else policy,
        told=max(at.dispatches, standing.told),
    )


def _held_back(standing: Standing) -> Standing:
    """The standing where calls run the default, because what they ran may have cost enough."""
    guess, times = standing.decision.config, "until more of its times are back"
    if guess == standing.default:
        return replace(standing, limit=inf)
    spent = f"what {guess.text} may cost is spent" + ("" if standing.is_over else f", {times}")
    return replace(standing, decision=_default(standing, spent), limit=inf)


def _when(standing: Standing, at: Moment, pace: Pace, *, resting: bool) -> tuple[Standing, float]:
    """When to ask next: soon while there is something to learn, ever later while not."""
    began_s = at.now_s if standing.began_s is None else standing.began_s
    worked_s = at.worked_s + pace.rough_s * standing.rough
    owed = (worked_s - pace.advance_s) / pace.share - (at.now_s - began_s)
    rest_s = min(max(pace.slower * standing.resting_s, pace.shortest_s), pace.resting_s)
    rest_s = rest_s if resting else 0.0
    return replace(standing, resting_s=rest_s), at.now_s + max(owed, rest_s)


def _holds(standing: Standing, inherited: Decision, keep: Choice, pace: Pace) -> bool:
    """Whether what was inherited is still neither confirmed nor refuted here.

    Its own times say nothing as long as the default is launched only to be timed.
    """
    config, timed = inherited.config, standing.timed
    if config == standing.default or config not in standing.ready or config in standing.failures:
        return False
    cold = keep.config == standing.default and keep.reason is Reason.COLD_START
    return not timed.get(config) or (cold and timed.get(standing.default, 0) < pace.enough)


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


def _asked(standing: Standing, ask: int, at: Moment, pace: Pace) -> Advanced:
    wanted = standing.wanted
    if wanted is None or ask != standing.asks or wanted.phase is not Phase.PLANNED:
        return standing, ()  # something else is wanted by now
    if wanted.config not in standing.ready:
        return _next(replace(standing, wanted=None), at, pace)
    asked, beside = replace(wanted, phase=Phase.ASKED), standing.beside
    more: tuple[Wanted, ...] = ()
    if pace.at_once > 1 and not beside:
        assert standing.policy is not None
        batch = [
            choice.config for choice in standing.policy.choose_batch(pace.at_once, standing.mask)
        ]
        able = (config for config in batch[1:] if config in standing.ready)
        more = tuple(Wanted(config=config, phase=Phase.ASKED) for config in able)
    effects = tuple(Ask(one.config) for one in (asked, *more))
    return replace(standing, wanted=asked, beside=beside or more), effects


def _under_way(standing: Standing, config: Config) -> Standing:
    wanted, beside = standing.wanted, standing.beside
    if wanted is not None and wanted.config == config and wanted.phase is Phase.ASKED:
        return replace(standing, wanted=replace(wanted, phase=Phase.LAUNCHED))
    taken = Wanted(config=config, phase=Phase.ASKED)
    if taken not in beside:
        return standing  # it was given up before, and another is asked for
    at = beside.index(taken)
    now = replace(taken, phase=Phase.LAUNCHED)
    return replace(standing, beside=(*beside[:at], now, *beside[at + 1 :]))


def _given_up(standing: Standing, config: Config | None) -> Standing:
    """The standing when a launch is no longer waited for: this one, or whichever it was."""
    wanted, beside = standing.wanted, standing.beside
    if wanted is not None and config in (None, wanted.config):
        return replace(standing, wanted=None)
    left = next((one for one in beside if one.config == config), None)
    if config is None or left is None:  # it was given up before, and another is asked for
        return standing
    at = beside.index(left)
    return replace(standing, beside=beside[:at] + beside[at + 1 :])


def _look_after(standing: Standing, at: Moment, pace: Pace) -> Advanced:
    """Ask anew, in a while, where a call took what was asked for and never said more.

    An interrupt may end a call between any two of its steps.
    """
    if standing.looking:
        return standing, ()
    look = Looked(standing.asks, at.dispatches, pace.lost_s)
    return replace(standing, looking=True), (Wake(at.now_s + pace.lost_s, look),)


def _looked(standing: Standing, event: Looked, at: Moment, pace: Pace) -> Advanced:
    wanted = standing.wanted
    if wanted is None or wanted.phase is not Phase.ASKED or event.still_asked:
        return replace(standing, looking=False), ()
    if event.ask != standing.asks:  # a later one was taken meanwhile
        return _look_after(replace(standing, looking=False), at, pace)
    if at.dispatches - event.taken_at >= pace.lost_after:
        return _next(replace(standing, looking=False, wanted=None, beside=()), at, pace)
    after_s = min(2 * event.after_s, pace.lost_at_latest_s)
    return standing, (Wake(at.now_s + after_s, replace(event, after_s=after_s)),)


def _settled(standing: Standing, decision: Decision, pace: Pace) -> Advanced:
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


def _compiled_ahead(standing: Standing, at: Moment, pace: Pace) -> Advanced:
    """Fetch the next candidates, while they can still pay."""
    policy, ledger = standing.policy, standing.ledger
    if policy is None or ledger.fetching or standing.broken:
        return standing, ()
    if _guesses(standing) and ledger.fastest_ns < inf:  # the default may never be timed
        default_s = ledger.fastest_ns * 1e-9
        seen_s = at.dispatches * default_s
    elif ledger.default_ns is not None:
        default_s = ledger.default_ns * 1e-9
        seen_s = policy.budget.spent * default_s
    else:
        return standing, ()
    if seen_s < pace.enough_s:
        return standing, ()
    cost_s, charge = ledger.fetch_cost_s(pace.first_fetch_s), 0.0
    if not ledger.fetches:
        pass  # the first is free, or nothing could ever be learned
    elif pace.cores:
        # There, a compiler takes time from the kernels: what it takes is a loss like others.
        charge = cost_s / pace.cores / default_s
        if charge > policy.budget.left - pace.kept_back:
            return standing, ()
    elif ledger.fetched_s + cost_s > pace.per_seen * seen_s:
        return standing, ()
    wanted = policy.wanted(pace.together, standing.mask, cost=charge)
    if not wanted:
        return standing, ()
    standing = replace(standing, policy=policy.paid(0.0, charge))
    return _fetching(standing, (Fetch(wanted),))


def _fetching(standing: Standing, effects: tuple[Effect, ...]) -> Advanced:
    """The standing with fetches among the effects counted as under way."""
    more = tuple(effect.configs[0] for effect in effects if isinstance(effect, Fetch))
    ledger = replace(standing.ledger, fetching=standing.ledger.fetching + len(more))
    return replace(standing, ledger=ledger, awaited=(*standing.awaited, *more)), effects


def _broken(standing: Standing, error: str, at: Moment, pace: Pace) -> Advanced:
    """Whatever goes wrong, learning goes on, or says why it does not."""
    standing = replace(standing, trouble=standing.trouble + 1, wanted=None, beside=())
    if standing.policy is None or standing.trouble >= pace.trouble:
        return _stopped(standing, f"learning failed: {error}"), ()
    return _next(standing, at, pace)


def _stopped(standing: Standing, why: str) -> Standing:
    ledger = replace(standing.ledger, fetching=0)
    return replace(
        standing,
        policy=None,
        wanted=None,
        beside=(),
        next=None,
        mask=None,
        stopped=why,
        ledger=ledger,
    )


def _decision(standing: Standing, choice: Choice) -> Decision:
    weighed = not _guesses(standing) or standing.timed.get(standing.default, 0) >= SURE_OF
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


def _default(standing: Standing, detail: str) -> Decision:
    return Decision(
        workload=standing.decision.workload,
        config=standing.default,
        reason=Reason.DEFAULT,
        detail=detail,
    )


def _then(advanced: Advanced, before: tuple[Effect, ...]) -> Advanced:
    standing, effects = advanced
    return standing, (*before, *effects)


def _expected(question: Question, candidates: tuple[Config, ...]) -> tuple[float, ...]:
    """What the guess expects of the candidates that are left, which stand in its order."""
    left, expected = list(reversed(candidates)), list[float]()
    for one, at in zip(question.candidates, question.expected, strict=False):
        if left and one is left[-1]:
            left.pop()
            expected.append(at)
    return tuple(expected)


def _log_gain(decision: Decision) -> float:
    return log(decision.gain) if decision.gain and decision.gain < inf else 0.0


def _shortened(
    question: Question, inherited: Inherited, launched: Sequence[Config], pace: Pace
) -> tuple[Config, ...]:
    """What to choose from in the order of the guess: its first, the known, the default."""
    most = min(pace.guessed, pace.candidates) if question.expected else pace.candidates
    must: set[Config] = {question.default, *inherited.ratios, *launched}
    if inherited.decision is not None:
        must.add(inherited.decision.config)
    # There may be hundreds, of which the first few are kept, and a caller waits as long.
    room, missing, kept = max(most - len(must), 0), len(must), list[Config]()
    for one in question.candidates:
        if one in must:
            missing -= 1
        elif room and one not in inherited.failures:
            room -= 1
        else:
            continue
        if one == question.default or one not in inherited.failures:
            kept.append(one)
        if not room and not missing:
            break
    return tuple(kept)
