"""The shell around a learner: it tells it what happens, and does what it says.

Calls take what is asked for and leave tickets; everything else happens on the desk's thread.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from vyre.backend.base import Ticket
from vyre.errors import VyreError
from vyre.learn.desk import Desk
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
    What,
    Woke,
)
from vyre.learn.inheritance import Known, inherit
from vyre.learn.learner.advance import advance
from vyre.learn.pace import Pace
from vyre.learn.recorder import Recorder
from vyre.learn.standing import PROVISIONAL, Phase, Standing
from vyre.learn.subject import (
    LATE_S,
    SOON_S,
    Fetched,
    Fetching,
    Later,
    Opening,
    Subject,
    asked,
)
from vyre.learn.tally import Tally
from vyre.model import Clocks, Config, Decision, Failed, Workload
from vyre.policy.natural_step import Step as NaturalStep
from vyre.policy.natural_step import natural_step_q16
from vyre.policy.table import DEFAULT_POLICY

logger = logging.getLogger("vyre.learning")

_STRETCH = 32
"""Calls between two looks at how far they may go."""


class _CameIn(Protocol):
    """What came of a launch, once it is known at which clocks it was heard."""

    def __call__(self, *, clocks: Clocks | None) -> Ran | Lost | Fell: ...


class Decider:
    """Decides what the sites of one workload launch, as its learner says."""

    def __init__(
        self,
        desk: Desk,
        subject: Subject,
        recorder: Recorder,
        *,
        name: str,
        workload: Workload,
        default: Config,
        size: int,
        known: Decision | None = None,
        opening: Opening | None = None,
        pace: Pace | None = None,
        policy: str = DEFAULT_POLICY,
        step: NaturalStep = natural_step_q16,
        clocks: Callable[[], Clocks | None] = lambda: None,
        prepare_timing: Callable[[], bool] = lambda: True,
        neighbours: Callable[[Workload], Iterable[Known]] = lambda _: (),
        guess: Callable[[], Decision | None] = lambda: None,
    ) -> None:
        """Learn for `workload`, launching what is `known`, guessed, or the default till then."""
        self.workload, self.name, self.policy = workload, name, policy
        self._desk, self._subject, self._recorder = desk, subject, recorder
        self._pace, self._step, self._clocks = pace or Pace(), step, clocks
        self._size, self._neighbours, self._guess = size, neighbours, guess
        self._prepare_timing = prepare_timing
        # -- read by calls
        self.standing = Standing.of(workload, default, known, opening)
        self.best = self.standing.decision.config
        self.asked: deque[Config] = deque()
        self._leads: set[Config] = set()  # of what is asked, which are asked once more after that
        self._opening = opening.timed if known is None and opening is not None else ()
        self._tally = Tally(self._reached)
        self.tick = self._tally.tick
        self._sites: weakref.WeakSet[Any] = weakref.WeakSet()
        self._joining = threading.RLock()  # a call in a signal's handler may come here, too
        # -- of the desk's thread alone
        self._fetching: list[Fetching] = []
        self._came_in: list[_CameIn] = []
        self._worked_s = 0.0
        self._prepares = False  # what times launches: it comes when no caller would wait for it
        # The first calls are timed before anything else is done beside them.
        self._begins_later = bool(self._opening)
        self._ran_before: list[tuple[Config, Ticket, int, float]] = []
        self._was_forked = False  # from a process that had begun, and hears what comes of it
        _deciders.add(self)
        self._post(self._recall if self._begins_later else self._begin)

    @property
    def dispatches(self) -> int:
        """How many calls there have been; looking counts none."""
        return self._tally.value

    # -- what calls use

    def joined(self, site: Any) -> None:
        """Let a site hear of each new choice."""
        with self._joining:
            self._sites.add(site)

    def _reached(self, dispatches: int) -> int:
        """How far calls may go before this is asked again; what they go too far on is held back."""
        if dispatches == 0 and self._opening:
            return 1  # the first launch also loads what it needs, and says little
        opening, self._opening = self._opening, ()  # once, though an interrupt may come next
        self.asked.extend(opening)
        stretch = len(opening) or _STRETCH
        if self._begins_later and self.asked:  # where an interrupt took one of them
            stretch = len(self.asked)
        elif self._begins_later:
            self._post(self._begin)  # again where an interrupt comes next, which does no harm
            self._begins_later = False
        if self._was_forked:
            self._post(self._begin_anew)
            self._was_forked = False
        self._desk.called(stretch, self._tally)
        standing = self.standing
        if dispatches < standing.limit:
            return int(min(standing.limit, dispatches + stretch))
        default = standing.default
        if self.best != default and default in standing.ready:
            self._launch(default)
            self._post(lambda: self._happened(Spent()))
        return dispatches + _STRETCH

    def _launch(self, config: Config) -> None:
        """Let calls launch this from now on."""
        self.best = config
        with self._joining:
            for site in self._sites:
                site.best = None

    def taking(self) -> None:
        """A call is about to take what is asked for."""
        if not self._begins_later:
            self._post(lambda: self._happened(Took()))

    def ran(self, config: Config, ticket: Ticket, size: int, share: float = 1.0) -> None:
        """A launch that was asked for is under way, so much of it as was asked."""
        if config in self._leads:  # its time would be that after another config
            self._leads.discard(config)
        elif self._begins_later:
            self._ran_before.append((config, ticket, size, share))
        else:
            self._post(lambda: self._watch(config, ticket, size, share))

    def fell(self, config: Config, reason: str) -> None:
        """A launch failed: one that was asked for, or of what was chosen."""
        if config == self.best != self.standing.default:
            self._launch(self.standing.default)  # by every call from now on, heard or not
        self._post(lambda: self._happened(Fell({config: reason})))

    def is_guess(self, config: Config) -> bool:
        """Whether calls launch this on a guess, before it was ever timed."""
        standing = self.standing
        provisional = standing.decision.reason in PROVISIONAL
        return provisional and config != standing.default and not standing.timed.get(config)

    def skipped(self) -> None:
        """What was asked for is not launched after all."""
        self._post(lambda: self._happened(Lost()))

    def stop(self, why: str) -> None:
        """Leave the choice as it is, and learn no more."""
        self._post(lambda: self._happened(Ended(why)))

    def take(self, decision: Decision) -> None:
        """Launch what was decided elsewhere."""
        self._post(lambda: self._happened(Decided(decision)))

    def _post(self, work: Callable[[], None]) -> None:
        self._desk.post(lambda: self._do(work))

    # -- what follows runs on the desk's thread

    def _do(self, work: Callable[[], None]) -> None:
        """Do this; whatever goes wrong, the learner hears of it."""
        try:
            work()
        except Exception as error:
            logger.exception("%s: a piece of learning failed", self.name)
            self._happened(Broke(repr(error)))

    def _watch(self, config: Config, ticket: Ticket, size: int, share: float) -> None:
        """Tell the learner that a launch is under way, and what came of it."""

        def heard(came: int | VyreError | None) -> None:
            if not self._came_in:  # what comes until then is told together
                self._desk.at(time.monotonic(), lambda: self._do(self._tell))
            rough = ticket.rough
            if rough and not self._prepares:
                self._do(self._prepare)
            early = rough and self._prepares
            ran = partial(self._heard, config, came, size, share, rough=rough, early=early)
            self._came_in.append(ran)

        self._happened(Launched(config))
        self._desk.watch(ticket, heard)

    def _prepare(self, pause_s: float = SOON_S) -> None:
        """Have launches to come timed well, as soon as no caller would wait for what that loads.

        A launch was timed by now: no first one waits for this either.
        """
        self._prepares = not self.standing.is_over and not self._prepare_timing()
        if self._prepares:
            again = partial(self._prepare, min(2 * pause_s, LATE_S))
            self._desk.at(time.monotonic() + pause_s, lambda: self._do(again))

    def _recall(self) -> None:
        """Begin at once, without the turns, where this very workload was decided before."""
        if self._begins_later and (self._recorder.get(self.workload) or self._guess()):
            self._opening, self._begins_later = (), False
            self.standing = replace(self.standing, wanted=None, beside=())
            self.asked.clear()
            self._begin()

    def _begin(self) -> None:
        beginning = self._beginning()

        def go_on() -> None:
            if next(beginning, self) is None:  # there is more
                self._desk.at(time.monotonic(), lambda: self._do(go_on))

        self._desk.soon(lambda: self._do(go_on))

    def _begin_anew(self) -> None:
        """Begin again: nothing that was under way in the process before the fork is heard of."""
        if self._begins_later or self.standing.is_over:
            return
        self._fetching, self._came_in, self._ran_before = [], [], []
        self._prepares = False
        self.asked.clear()
        self._leads.clear()
        self.standing = self.standing.anew()
        self._begin()

    def _beginning(self) -> Iterator[None]:
        """Find out what there is to learn, and begin, in pieces: callers share the interpreter."""
        question = yield from asked(self._subject)
        self._recorder.name(self.workload, self.name, question.device)
        neighbours = self._neighbours(self.workload)
        legal, default = question.candidates, question.default
        inherited = inherit(self.workload, legal, default, self._recorder, neighbours)
        yield
        if inherited.decision is None and (guess := self._guess()) is not None:
            inherited = replace(inherited, decision=guess if guess.config in legal else None)
        ready = frozenset(filter(self._subject.is_ready, legal))
        began = Began(question, inherited, ready, self._size, self.policy, self._step)
        self._happened(began)
        for before in self._ran_before:
            self._watch(*before)
        self._ran_before = []
        self._tell()

    def _heard(
        self,
        config: Config,
        came: float | VyreError | None,
        size: int,
        share: float,
        *,
        rough: bool,
        early: bool,
        clocks: Clocks | None,
    ) -> Ran | Lost | Fell:
        """The time that was asked for, or why there is none; None where nobody knows."""
        if came is None:
            return Lost(config)
        if isinstance(came, VyreError):
            return Fell({config: came.problem})
        clock, throttled = ("", ()) if clocks is None else (clocks.state, clocks.throttled)
        return Ran(config, came, size, rough, clock, throttled, share, early)

    def _tell(self) -> None:
        """Tell the learner all that has come in: the clocks are looked at once, too."""
        if self.standing.question is None and not self.standing.is_over:
            return  # they are told when it has begun
        came, self._came_in = self._came_in, []
        clocks = self._clocks()
        heard = [one(clocks=clocks) for one in came]
        times = tuple(one for one in heard if isinstance(one, Ran))
        if times:
            self._happened(Heard(times) if len(times) > 1 else times[0])
        for one in heard:
            if not isinstance(one, Ran):
                self._happened(one)

    def _came(self) -> None:
        """Something was fetched."""
        if self.standing.question is None or self.standing.is_over:
            return
        taken = [(one, _taken(one, self.name)) for one in self._fetching]
        self._fetching = [one for one, came in taken if not isinstance(came, Fetched)]
        again = [came.after_s for _, came in taken if isinstance(came, Later)]
        if again:
            self._desk.at(time.monotonic() + min(again), lambda: self._do(self._came))
        fetched = tuple(came for _, came in taken if isinstance(came, Fetched))
        if fetched:
            self._came_of(fetched)

    def _came_of(self, fetched: tuple[Fetched, ...]) -> None:
        assert self.standing.question is not None
        candidates = self.standing.question.candidates
        ready = frozenset(filter(self._subject.is_ready, candidates))
        self._happened(Came(fetched, ready, len(self._fetching)))

    def _fetch(self, configs: Sequence[Config]) -> None:
        """Have these made ready; where not even asking for it works, nothing more can be."""
        try:
            self._fetching.append(self._subject.fetch(configs, lambda: self._post(self._came)))
        except Exception as error:
            logger.exception("%s: nothing can be made ready", self.name)
            self._came_of((Fetched(broken=repr(error)),))

    def _happened(self, what: What) -> None:
        """Tell the learner, and do what it says."""
        at = Moment(now_s=time.monotonic(), worked_s=self._worked_s, dispatches=self._tally.value)
        # Of this thread alone: on a busy machine the wall's clock goes on while others work.
        began = time.thread_time()
        standing, effects = advance(self.standing, Event(what, at), self._pace)
        if not isinstance(what, Began):  # once, and not again and again
            self._worked_s += time.thread_time() - began
        self.standing = standing
        if standing.decision.config != self.best:
            self._launch(standing.decision.config)
        if standing.wanted is None or standing.wanted.phase is Phase.PLANNED:
            self.asked.clear()  # nothing that was asked for before is wanted any more
            self._leads.clear()
        if standing.is_over:
            self._opening, self._begins_later = (), False
            for fetching in self._fetching:
                fetching.cancel()
            self._fetching = []
        for effect in effects:
            self._carry_out(effect)

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Ask(config, led):
                if led:
                    self._leads.add(config)
                    self.asked.append(config)
                self.asked.append(config)
            case Fetch(configs):
                self._fetch(configs)
            case Record(outcome, size):
                if isinstance(outcome, Failed):
                    dropped, why = outcome.config.text, outcome.reason
                    logger.info("%s: %s is dropped: %s", self.name, dropped, why)
                self._recorder.record(self.workload, outcome, size)
            case Put(decision, news):
                if news:
                    reason, text = decision.reason, decision.config.text
                    logger.info("%s: %s: %s: %s", self.name, reason, text, decision.detail)
                self._recorder.put(decision)
            case Wake(at_s, event):
                self._desk.at(at_s, lambda: self._do(lambda: self._woke(event)))

    def _woke(self, event: Woke | Looked) -> None:
        if isinstance(event, Looked):
            event = replace(event, still_asked=bool(self.asked))
        self._happened(event)


def _taken(fetching: Fetching, name: str) -> Fetched | Later | None:
    try:
        return fetching.taken()
    except Exception as error:
        logger.exception("%s: nobody knows what was made ready", name)
        return Fetched(broken=repr(error))


_deciders: weakref.WeakSet[Decider] = weakref.WeakSet()


def _after_fork() -> None:
    for decider in tuple(_deciders):
        decider._joining = threading.RLock()  # whoever held it was not copied
        decider._was_forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
