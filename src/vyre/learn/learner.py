"""Learns how to run one workload from the dispatches that happen anyway: deciding alone, no effect.

`advance` takes what is known and what has happened, and gives what is known then and what is to be
done about it. One launch is asked for at a time: the next depends on what came of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import exp, inf, log
from typing import Any

from vyre.learn.inheritance import Inherited
from vyre.learn.ledger import Ledger
from vyre.learn.pace import Pace
from vyre.learn.subject import Fetched, Question
from vyre.model import Config, Decision, Failed, Outcome, Reason, Timed
from vyre.policy import table
from vyre.policy.base import Choice, Chooser, NothingToTry
from vyre.policy.measured import is_time
from vyre.policy.natural_step import Step as NaturalStep
from vyre.policy.natural_step import natural_step_q16
from vyre.policy.trend import Trend

# -- what happens


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When something happens."""

    now_s: float  # of a clock that never goes back
    worked_s: float = 0.0  # on this workload so far, by the thread that learns
    dispatches: int = 0  # so far


@dataclass(frozen=True, slots=True)
class Began:
    """What is to be learned is known, and what was known of it before."""

    question: Question
    inherited: Inherited
    ready: frozenset[Config]
    size: int
    policy: str = table.DEFAULT_POLICY
    step: NaturalStep = natural_step_q16


@dataclass(frozen=True, slots=True)
class Woke:
    """The time has come to ask for a launch."""

    ask: int


@dataclass(frozen=True, slots=True)
class Took:
    """A call is about to take what was asked for."""


@dataclass(frozen=True, slots=True)
class Looked:
    """The time has come to look after a launch that was taken."""

    ask: int
    taken_at: int  # dispatches
    after_s: float
    still_asked: bool = False  # whether nobody took it after all


@dataclass(frozen=True, slots=True)
class Launched:
    """What was asked for is under way, and its time will be heard of."""

    config: Config


@dataclass(frozen=True, slots=True)
class Ran:
    """The time of a launch that was asked for."""

    config: Config
    elapsed_ns: float
    size: int
    rough: bool = False  # the host's time may be a part of it
    clock: str = ""  # the state of the device's clocks; empty where it does not tell
    throttled: tuple[str, ...] = ()  # why the device was held back, if it was
    share: float = 1.0  # of the dispatch, that ran so


@dataclass(frozen=True, slots=True)
class Lost:
    """A launch that was asked for was not made, or its time will never be known."""

    config: Config | None = None  # of the launch, where it was made


@dataclass(frozen=True, slots=True)
class Fell:
    """Configs that cannot be launched, and why."""

    reasons: Mapping[Config, str]


@dataclass(frozen=True, slots=True)
class Came:
    """Something that was fetched is ready now, or never will be."""

    fetched: tuple[Fetched, ...]
    ready: frozenset[Config]
    fetching: int  # still under way


@dataclass(frozen=True, slots=True)
class Decided:
    """Something else has decided, such as a sweep."""

    decision: Decision


@dataclass(frozen=True, slots=True)
class Ended:
    """Nothing more is to be learned."""

    why: str


@dataclass(frozen=True, slots=True)
class Broke:
    """A piece of learning failed."""

    error: str


What = Began | Woke | Took | Looked | Launched | Ran | Lost | Fell | Came | Decided | Ended | Broke


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens, and when."""

    what: What
    at: Moment


# -- what is to be done about it


@dataclass(frozen=True, slots=True)
class Ask:
    """Let the next call launch this, and time it."""

    config: Config


@dataclass(frozen=True, slots=True)
class Fetch:
    """Make the first of these ready, and of the others what comes with it."""

    configs: tuple[Config, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """Remember what came of a dispatch of `size` elements."""

    outcome: Outcome
    size: int


@dataclass(frozen=True, slots=True)
class Put:
    """Remember a decision, because of what is new about it."""

    decision: Decision
    news: bool  # whether it is for another config than before


@dataclass(frozen=True, slots=True)
class Wake:
    """Tell of an event at a time, as of `Moment.now_s`."""

    at_s: float
    event: Woke | Looked


Effect = Ask | Fetch | Record | Put | Wake

# -- what is known


class Phase(StrEnum):
    """How far a launch is that is wanted."""

    PLANNED = "planned"  # for a time that is to come
    ASKED = "asked"  # of the next call
    LAUNCHED = "launched"  # its time will be heard of


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A launch whose time is wanted."""

    config: Config
    phase: Phase = Phase.PLANNED


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a learner knows; `decision` is what calls launch.

    >>> from vyre.model import Knobs, Workload
    >>> workload = Workload(fingerprint=b"", buckets=(), traits=(), device="", toolchain="")
    >>> standing = Standing.of(workload, Knobs.of({"BLOCK": 64}))
    >>> standing.decision.reason.value, standing.is_over
    ('cold start', False)
    """

    decision: Decision
    default: Config
    question: Question | None = None  # once it has begun
    size: int = 0  # of a dispatch, about
    policy: Chooser | None = field(default=None, repr=False)  # until it is over
    ready: frozenset[Config] = frozenset()
    mask: Any = field(default=None, compare=False, repr=False)  # of it, for the policy
    inherited: Decision | None = None  # what is launched on the word of others
    certain: Decision | None = None  # what was last remembered
    failures: Mapping[Config, str] = field(default_factory=dict)
    strikes: Mapping[Config, int] = field(default_factory=dict)  # times in a row that were none
    timed: Mapping[Config, int] = field(default_factory=dict)  # how often each was
    launched: frozenset[Config] = frozenset()  # before: a first launch also loads code
    trend: Trend = field(default_factory=Trend, repr=False)
    ledger: Ledger = field(default_factory=Ledger)
    wanted: Wanted | None = None
    because: str = ""  # why that is wanted
    next: Config | None = None  # what is wanted next, ready or not
    probing: bool = False
    asks: int = 0
    looking: bool = False  # whether a launch that was taken is looked after
    rough: int = 0  # times that said too little
    told: int = 0  # dispatches that the policy has heard of
    last_at: Moment | None = None  # when a time was last heard
    clock: str = ""  # the state of the clocks that times are of
    other_clock: tuple[str, int] = ("", 0)  # another state, and how many times in a row were of it
    trouble: int = 0  # pieces of work that failed since the last time was learned from
    broken: str = ""  # why nothing can be fetched any more
    began_s: float | None = None
    resting_s: float = 0.0
    stopped: str = ""  # why nothing more is learned

    @classmethod
    def of(cls, workload: Any, default: Config, known: Decision | None = None) -> Standing:
        """What is known of a workload before it was looked at: what is remembered, if anything."""
        cold = Decision(
            workload=workload,
            config=default,
            reason=Reason.COLD_START,
            detail="nothing is known yet; the default is measured first",
        )
        decision = known or cold
        return cls(
            decision=decision,
            default=default,
            inherited=known,
            ready=frozenset((decision.config,)),  # by the call that made us
            launched=frozenset((default,)),
        )

    @property
    def is_over(self) -> bool:
        """Whether nothing more is learned."""
        return bool(self.stopped)


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
            return _heard(standing, what, at, pace)
        case Lost(config):
            return _next(_given_up(standing, config), at, pace)
        case Fell(reasons):
            return _dropped(standing, reasons, at, pace)
        case Came():
            return _came(standing, what, at, pace)


def _begin(standing: Standing, event: Began, at: Moment, pace: Pace) -> Advanced:
    question, inherited = event.question, event.inherited
    started = standing.inherited
    candidates = _shortened(question, inherited, started, pace)
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
    )
    standing = replace(standing, policy=table.make(event.policy, given))
    standing, effects = _started_from(standing, inherited.decision, pace)
    if standing.default not in standing.ready:
        standing, effects = _fetching(standing, (*effects, Fetch((standing.default,))))
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


def _heard(standing: Standing, event: Ran, at: Moment, pace: Pace) -> Advanced:
    """The time that was asked for."""
    config, elapsed = event.config, event.elapsed_ns
    standing = _given_up(standing, config)
    assert standing.policy is not None
    if config in standing.failures:  # one that was launched before it was dropped
        return _next(replace(standing, told=standing.told + 1), at, pace)
    if not is_time(elapsed):
        return _struck(standing, config, f"the device gave a time of {elapsed} ns", at, pace)
    if config not in standing.launched:  # the first launch also loads the code
        cost = elapsed / (standing.ledger.default_ns or elapsed)
        standing = replace(
            standing,
            launched=standing.launched | {config},
            policy=standing.policy.paid(cost, cost - 1.0),
            told=standing.told + 1,
        )
        return _next(standing, at, pace)
    if event.throttled:
        standing = replace(standing, ledger=standing.ledger.held_back(event.throttled))
    standing, comparable = _clocked(standing, event, pace)
    if not comparable:
        return _next(replace(standing, told=standing.told + 1), at, pace)
    if event.rough and elapsed < pace.shortest_ns:
        standing = replace(standing, told=standing.told + 1, rough=standing.rough + 1)
        if standing.rough < pace.rough or standing.timed.get(standing.default):
            return _next(standing, at, pace)
        short = f"{elapsed / 1e3:.1f} us are too short for an idle device's timer"
        return _left_alone(standing, short, pace)
    standing = replace(_learned(standing, event, at), trouble=0)
    record = Record(Timed(config, float(elapsed), clock=event.clock), event.size)
    took = standing.ledger.default_ns
    if len(standing.ledger.default_times) >= pace.enough and took and took < pace.unfelt_ns:
        little = f"{took / 1e3:.1f} us are little beside what a call costs"
        return _then(_left_alone(standing, little, pace), (record,))
    return _then(_next(standing, at, pace), (record,))


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


def _struck(standing: Standing, config: Config, reason: str, at: Moment, pace: Pace) -> Advanced:
    """A time that is none: one says little, a few in a row say that the config is no good."""
    strikes = {**standing.strikes, config: standing.strikes.get(config, 0) + 1}
    standing = replace(standing, strikes=strikes, told=standing.told + 1)
    if strikes[config] < pace.strikes:
        return _next(standing, at, pace)
    return _dropped(standing, {config: reason}, at, pace)


def _left_alone(standing: Standing, took: str, pace: Pace) -> Advanced:
    """Keep what was remembered for this very workload, else go back to the default."""
    effects: tuple[Effect, ...] = ()
    if standing.decision.reason is not Reason.REMEMBERED:
        standing, effects = _settled(standing, _default(standing, took), pace)
    return _stopped(standing, f"{took}; tuning on purpose measures many in a row"), effects


def _dropped(standing: Standing, reasons: Mapping[Config, str], at: Moment, pace: Pace) -> Advanced:
    """Never try these again."""
    policy, effects = standing.policy, list[Effect]()
    assert policy is not None
    if standing.wanted is not None and standing.wanted.config in reasons:
        standing = replace(standing, wanted=None)
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
    return _then(_next(standing, at, pace), tuple(effects))


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
    failed = {config: why for config, why in every if config in known}
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
    standing, effects = _then(_compiled_ahead(standing, pace), effects)
    probing = choice.reason is Reason.PROBE
    standing = replace(standing, next=ask, because=choice.detail, probing=probing)
    if standing.wanted is None and ask in standing.ready:
        asks, resting = standing.asks + 1, not choice.measures and not standing.ledger.fetching
        standing, when_s = _when(standing, at, pace, resting=resting)
        standing = replace(standing, wanted=Wanted(config=ask), asks=asks)
        effects = (*effects, Wake(when_s, Woke(asks)))
    elif standing.wanted is None and standing.broken and not standing.ledger.fetching:
        why = f"{ask.text} cannot be compiled: {standing.broken}"
        return _stopped(standing, why), effects
    return standing, effects


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
    asked = replace(wanted, phase=Phase.ASKED)
    return replace(standing, wanted=asked), (Ask(wanted.config),)


def _under_way(standing: Standing, config: Config) -> Standing:
    wanted = standing.wanted
    if wanted is None or wanted.config != config:
        return standing  # it was given up before, and another is asked for
    return replace(standing, wanted=replace(wanted, phase=Phase.LAUNCHED))


def _given_up(standing: Standing, config: Config | None) -> Standing:
    """The standing when a launch is no longer waited for: this one, or whichever it was."""
    wanted = standing.wanted
    if wanted is None or (config is not None and wanted.config != config):
        return standing  # it was given up before, and another is asked for
    return replace(standing, wanted=None)


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
        return _next(replace(standing, looking=False, wanted=None), at, pace)
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


def _compiled_ahead(standing: Standing, pace: Pace) -> Advanced:
    """Fetch the next candidates, while they can still pay."""
    policy, ledger = standing.policy, standing.ledger
    default_ns = ledger.default_ns
    if policy is None or ledger.fetching or standing.broken or default_ns is None:
        return standing, ()
    default_s = default_ns * 1e-9
    seen_s = policy.budget.spent * default_s
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
    wanted = policy.wanted(16, standing.mask, cost=charge)
    if not wanted:
        return standing, ()
    standing = replace(standing, policy=policy.paid(0.0, charge))
    return _fetching(standing, (Fetch(wanted),))


def _fetching(standing: Standing, effects: tuple[Effect, ...]) -> Advanced:
    """The standing with fetches among the effects counted as under way."""
    more = sum(isinstance(effect, Fetch) for effect in effects)
    ledger = replace(standing.ledger, fetching=standing.ledger.fetching + more)
    return replace(standing, ledger=ledger), effects


def _broken(standing: Standing, error: str, at: Moment, pace: Pace) -> Advanced:
    """Whatever goes wrong, learning goes on, or says why it does not."""
    standing = replace(standing, trouble=standing.trouble + 1, wanted=None)
    if standing.policy is None or standing.trouble >= pace.trouble:
        return _stopped(standing, f"learning failed: {error}"), ()
    return _next(standing, at, pace)


def _stopped(standing: Standing, why: str) -> Standing:
    ledger = replace(standing.ledger, fetching=0)
    return replace(
        standing, policy=None, wanted=None, next=None, mask=None, stopped=why, ledger=ledger
    )


def _decision(standing: Standing, choice: Choice) -> Decision:
    return Decision(
        workload=standing.decision.workload,
        config=choice.config,
        reason=choice.reason,
        detail=choice.detail,
        gain=choice.gain,
        confidence=choice.confidence,
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


def _log_gain(decision: Decision) -> float:
    return log(decision.gain) if decision.gain and decision.gain < inf else 0.0


def _shortened(
    question: Question, inherited: Inherited, started: Decision | None, pace: Pace
) -> tuple[Config, ...]:
    """What to choose from in the order of the guess: its first, the remembered, the default."""
    default: Config = question.default
    ordered = [one for one in question.candidates if one not in inherited.failures]
    decided = [one.config for one in (inherited.decision, started) if one is not None]
    must: set[Config] = {default, *inherited.ratios, *decided}
    room = max(pace.candidates - len(must), 0)
    kept = set(_first(ordered, must, room)) | must
    return tuple(one for one in dict.fromkeys((*ordered, default)) if one in kept)


def _first(ordered: Iterable[Config], but: set[Config], count: int) -> list[Config]:
    return [one for one in ordered if one not in but][:count]
