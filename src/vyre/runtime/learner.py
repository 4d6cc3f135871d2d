"""Learns how to run one workload from the dispatches that happen anyway.

Calls take what is asked for and leave tickets; everything else happens on the desk's thread. One
launch is asked for at a time: the next depends on what came of it.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import exp, log
from statistics import median

from vyre import substrate
from vyre.backend.base import Ticket
from vyre.errors import VyreError
from vyre.model import Config, Decision, DeviceKind, Failed, Reason, Timed, Workload, scheduled
from vyre.plan.guess import order
from vyre.plan.space import Space
from vyre.policy.base import NothingToTry
from vyre.policy.measured import is_time
from vyre.policy.natural_live import Choice, Mask, NaturalGradient
from vyre.policy.trend import Trend
from vyre.runtime.call.launcher import Launcher, Numbers
from vyre.runtime.call.tune import space_of
from vyre.runtime.compile.ahead import Ahead
from vyre.runtime.compile.helper import CompileHelper
from vyre.runtime.desk import Desk, Work
from vyre.runtime.inheritance import Inherited, Known, inherit
from vyre.runtime.recorder import Recorder
from vyre.runtime.site import Site
from vyre.runtime.tally import Tally

logger = logging.getLogger("vyre.learning")

MOST_SCHEDULES = 128
"""Schedules that a learner chooses from; what the guess ranks below them is left out."""

SHARE = {DeviceKind.CPU: 0.002, DeviceKind.GPU: 0.03}
ADVANCE_S = {DeviceKind.CPU: 0.002, DeviceKind.GPU: 0.1}
"""The share of time that the desk works on a workload at most, and what it may work in advance.

Callers share its interpreter, and on a CPU their kernels its cores: a caller waits there for about
twice as long as the desk works (measured). Beside a GPU the host waits for the device as a rule,
so a workload is learned quickly while it is new."""

MARGIN = 1.02
"""A gain below this is left: what is found by chance among many schedules is of that size."""

_RESTING_S = 1.0  # at most between two looks at a settled choice
_SLOWER = 1.4  # by how much that grows from one look to the next
_SHORTEST_S = 5e-4
_ENOUGH = 3  # times of the default that say how long it takes
_ROUGH, _ROUGH_S = 16, 1e-3  # rough times that say so, and what each counts as work
_ENOUGH_S = 0.05  # of launches must have been seen before anything is compiled for them
_PER_SEEN = 2.0  # seconds of compiling beside a GPU per second of launches
_NEWS = 0.05  # by how much a remembered gain must have changed to be written again
_KEPT_BACK = 4.0  # default dispatches of the budget that compiling leaves to probes
_STRIKES = 3  # times that are none, from one schedule, until it is dropped
_TROUBLE = 3  # pieces of work that fail in a row until learning ends
_LOST_S, _LOST_AT_LATEST_S = 1.0, 60.0  # between two looks at what was asked for
_LOST_AFTER = 16  # calls after that which took it, by which it should have been heard of


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a learner knows, for whoever asks; replaced as a whole."""

    decision: Decision
    default: Config
    asked: Config | None = None
    asked_because: str = ""
    policy: NaturalGradient | None = field(default=None, repr=False)
    space: Space | None = None
    failures: Mapping[Config, str] = field(default_factory=dict)
    timings: int = 0
    probes: int = 0
    explored_s: float = 0.0
    spent_s: float = 0.0
    saved_s: float = 0.0  # against the default; below 0 where it was lost
    default_ns: float | None = None
    pending: int = 0
    compiled: int = 0
    compiling_s: float = 0.0
    stopped: str = ""  # why nothing more is learned


class Learner:
    """One workload's learner; a `site.Teacher`."""

    def __init__(
        self,
        desk: Desk,
        launcher: Launcher,
        numbers: Numbers,
        alignment: Mapping[str, int],
        recorder: Recorder,
        helper: CompileHelper,
        *,
        workload: Workload,
        known: Decision | None,
        neighbours: Callable[[Workload], Iterable[Known]],
    ) -> None:
        """Learn for `workload`, launching what is `known`, or the default, until more is."""
        self.workload, self.name = workload, launcher.kernel.name
        self._desk, self._launcher, self._numbers = desk, launcher, numbers
        self._alignment, self._recorder = alignment, recorder
        self._neighbours = neighbours
        # -- read by calls
        self.default = launcher.default(numbers)
        self.best = self.default if known is None else known.config
        self.asked: deque[Config] = deque()
        self._tally = Tally()
        self.tick = self._tally.tick
        self.standing = Standing(decision=known or self._cold_start(), default=self.default)
        self._sites: weakref.WeakSet[Site] = weakref.WeakSet()
        self._joining = threading.Lock()
        # -- of the desk's thread alone
        self._ahead = Ahead(launcher, numbers, helper, lambda: self._post(self._answered))
        self._policy: NaturalGradient | None = None
        self._ready = {self.best}  # by the call that made us
        self._inherited: Decision | None = known
        self._timed: Counter[Config] = Counter()
        self._strikes: Counter[Config] = Counter()  # times of each that were none
        self._trouble = 0  # pieces of work that failed since the last time was learned from
        self._launched: set[Config] = {self.default}  # before; its first launch is not timed
        self._default_ns: deque[int] = deque(maxlen=9)
        self._trend = Trend()
        self._rough = 0  # times that said too little
        self._told = 0  # dispatches that the policy has heard of
        self._outstanding: Config | None = None  # asked for, and not heard of
        self._asks = 0  # so far
        self._watched = False  # whether what was asked for was launched
        self._looking = False  # whether somebody looks after it
        self._probing = False
        self._certain: Decision | None = None  # what was last remembered
        self._resting_s = 0.0
        self._began, self._worked_s = time.monotonic(), 0.0
        self._mask: Mask | None = None  # of what is ready
        self._post(self._start)

    @property
    def dispatches(self) -> int:
        """How many calls there have been; looking counts none."""
        return self._tally.value

    # -- what calls use

    def joined(self, site: Site) -> None:
        with self._joining:
            self._sites.add(site)

    def taking(self) -> None:
        def look_after() -> None:
            if not self._looking:
                self._look_after(self._asks, self.dispatches, _LOST_S)

        self._post(look_after)

    def ran(self, config: Config, ticket: Ticket, size: int) -> None:
        rough = ticket.rough

        def heard(came: int | VyreError | None) -> None:
            self._do(lambda: self._heard(config, came, size, rough=rough))

        def watch() -> None:
            self._watched = True
            self._desk.watch(ticket, heard)

        self._post(watch)

    def fell(self, config: Config, reason: str) -> None:
        self._post(lambda: self._drop({config: reason}))

    def skipped(self) -> None:
        self._post(self._skipped)

    def stop(self, why: str) -> None:
        """Leave the choice as it is, and learn no more."""
        self._post(lambda: self._stop(why))

    def take(self, decision: Decision) -> None:
        """Launch what was decided elsewhere."""
        remembered = replace(decision, reason=Reason.REMEMBERED)
        self._post(lambda: self._settle(remembered))

    def _post(self, work: Work) -> None:
        self._desk.post(lambda: self._do(work))

    # -- what follows runs on the desk's thread

    def _do(self, work: Work) -> None:
        """Do this; whatever goes wrong, learning goes on, or says why it does not."""
        try:
            work()
        except Exception as error:
            logger.exception("%s: a piece of learning failed", self.name)
            self._trouble += 1
            if self._policy is None or self._trouble >= _TROUBLE:
                self._stop(f"learning failed: {error!r}")
            else:
                self._post(self._skipped)

    def _start(self) -> None:
        launcher, numbers = self._launcher, self._numbers
        self._recorder.name(self.workload, self.name, launcher.device.info)
        space = space_of(launcher, numbers, self._alignment)
        inherited = inherit(self.workload, space, self._recorder, self._neighbours(self.workload))
        guess = order(space, launcher.facts, launcher.device.info, numbers)
        candidates = _shortened(guess, self.default, inherited)
        self.standing = replace(self.standing, space=space, failures=inherited.failures)
        if candidates == (self.default,):
            self._stop("there is one schedule only")
            return
        self._policy = NaturalGradient(
            space=candidates,
            default=self.default,
            remembered=inherited.ratios,
            step=substrate.step,
        )
        self._find_ready()
        self._start_from(inherited.decision)
        if self.default not in self._ready:
            self._ahead.fetch([self.default])
        self._next()

    def _start_from(self, decision: Decision | None) -> None:
        """Begin with what was decided before or nearby, as soon as it can run."""
        if decision is None or decision.config == self.best:
            return
        if decision.config in self._ready:
            self._inherited = decision
            self._settle(decision)
        elif decision.config != self.default:
            self._inherited = decision
            self._ahead.fetch([decision.schedule])

    def _heard(
        self,
        config: Config,
        elapsed: int | VyreError | None,
        size: int,
        *,
        rough: bool = False,
    ) -> None:
        """The time that was asked for, or why there is none; None where nobody knows."""
        if self._outstanding == config:  # else it was given up, and another is asked for
            self._outstanding = None
        if self._policy is None:
            return
        if elapsed is None:
            self._next()
        elif isinstance(elapsed, VyreError):
            self._drop({config: elapsed.problem})
        elif not is_time(elapsed):
            self._struck(config, f"the device gave a time of {elapsed} ns")
        elif config not in self._launched:  # the first launch also loads the code
            self._launched.add(config)
            cost = elapsed / median(self._default_ns) if self._default_ns else 1.0
            self._policy = replace(self._policy, budget=self._policy.budget.ran(cost))
            self._told += 1
            self._next()
        elif rough and elapsed < self._launcher.device.backend.shortest_ns:
            self._told += 1
            self._rough += 1
            if self._rough < _ROUGH or self._timed[self.default]:
                self._next(_ROUGH_S)
            else:
                self._leave_alone(
                    f"{elapsed / 1e3:.1f} us are too short for an idle device's timer"
                )
        else:
            # Of this thread alone: on a busy machine the wall's clock goes on while others work.
            began = time.thread_time()
            self._learn(config, elapsed, size)
            self._trouble = 0
            if self._is_unfelt:
                took = median(self._default_ns) / 1e3
                self._leave_alone(f"{took:.1f} us are little beside what a call costs")
            else:
                self._next(time.thread_time() - began)

    @property
    def _is_unfelt(self) -> bool:
        """Whether launches are so short that callers would not notice a faster one."""
        unfelt = self._launcher.device.backend.unfelt_ns
        return len(self._default_ns) >= _ENOUGH and median(self._default_ns) < unfelt

    def _leave_alone(self, took: str) -> None:
        """Keep what was remembered for this very workload, else go back to the default."""
        if self.standing.decision.reason is not Reason.REMEMBERED:
            self._settle(replace(self._cold_start(), reason=Reason.DEFAULT, detail=took))
        self._stop(f"{took}; kernel.tune measures many in a row")

    def _struck(self, config: Config, reason: str) -> None:
        """A clock may go wrong once; one that does again says nothing of this schedule."""
        self._told += 1
        self._strikes[config] += 1
        if self._strikes[config] < _STRIKES:
            self._next(_ROUGH_S)
        else:
            self._drop({config: reason})

    def _skipped(self) -> None:
        """A call could not launch what was asked for: its size compiles to something else."""
        self._outstanding = None
        self._next()

    def _learn(self, config: Config, elapsed: int, size: int) -> None:
        assert self._policy is not None
        untimed = self.dispatches - 1 - self._told
        if untimed > 0:
            self._policy = self._policy.ran(self.best, untimed)
            self._told += untimed
        self._trend = self._trend.told(config, size, log(elapsed))
        comparable = exp(log(elapsed) - self._trend.level(size))
        self._policy = self._policy.tell(Timed(config, comparable))
        self._told += 1
        self._timed[config] += 1
        if config == self.default:
            self._default_ns.append(elapsed)
        explored = self._probing and config != self.best
        self.standing = replace(
            self.standing,
            timings=self.standing.timings + 1,
            probes=self.standing.probes + explored,
            explored_s=self.standing.explored_s + explored * elapsed * 1e-9,
        )
        self._recorder.record(self.workload, Timed(config, float(elapsed)), size)

    def _drop(self, reasons: Mapping[Config, str]) -> None:
        """Never try these again."""
        if self._outstanding in reasons:
            self._outstanding = None
        known = self.standing.failures
        for config, reason in reasons.items():
            if config not in known and self._policy is not None:
                logger.info("%s: %s is dropped: %s", self.name, config.text, reason)
                self._recorder.record(self.workload, Failed(config, reason), self._elements)
                self._policy = self._policy.tell(Failed(config, reason))
        self._ready -= reasons.keys()
        self._mask = None
        self.standing = replace(self.standing, failures={**reasons, **known})
        if self.default in reasons:
            self._stop(f"the default cannot be timed: {reasons[self.default]}")
        else:
            self._next()

    @property
    def _elements(self) -> int:
        x, y, z = self._numbers.extent
        return x * y * z

    def _answered(self) -> None:
        """The compile helper has said something."""
        if self._policy is None:
            return
        answered = self._ahead.take()
        self._find_ready()
        inherited = self._inherited
        if inherited is not None and inherited.config in self._ready and self._holds(inherited):
            self._settle(inherited)
        failed: dict[Config, str] = {
            s: why for s in self._policy.space if (why := answered.refused.get(scheduled(s).code))
        }
        failed.update(answered.failed.items())
        if failed:
            self._drop(failed)
        else:
            self._next()

    def _find_ready(self) -> None:
        assert self._policy is not None
        warm = {
            s for s in self._policy.space if self._launcher.is_warm(self._numbers, scheduled(s))
        }
        self._ready |= warm - self.standing.failures.keys()
        self._mask = None

    def _next(self, worked_s: float = 0.0) -> None:
        """Decide what calls launch from now on, and what to ask for next."""
        policy = self._policy
        if policy is None:
            return
        if self._mask is None:
            self._mask = policy.mask(self._ready)
        try:
            keep, choice = policy.incumbent(self._mask), policy.choose(self._mask)
        except NothingToTry as error:
            self._stop(error.problem)
            return
        ask, inherited = choice.config, self._inherited
        if inherited is not None and self._holds(inherited):
            if not choice.measures:
                ask = inherited.config  # it has to show first whether it still holds
        elif keep.config != self.default and keep.gain < MARGIN:
            little = f"nothing is faster by {MARGIN - 1:.0%}"
            self._settle(replace(self._cold_start(), reason=Reason.DEFAULT, detail=little))
        else:
            self._settle(keep)
        self._compile_ahead()
        self._probing = choice.reason is Reason.PROBE
        self._publish(ask, choice.detail)
        if self._outstanding is None and ask in self._ready:
            self._outstanding = ask
            self._asks += 1
            number, resting = self._asks, not choice.measures and not self._ahead.pending
            when = self._when(worked_s, resting=resting)
            self._desk.at(when, lambda: self._do(lambda: self._ask(ask, number)))
        elif self._outstanding is None and self._ahead.broken and not self._ahead.pending:
            self._stop(f"{ask.text} cannot be compiled: {self._ahead.broken}")

    def _when(self, worked_s: float, *, resting: bool) -> float:
        """When to ask next: soon while there is something to learn, ever later while not."""
        now = time.monotonic()
        self._worked_s += worked_s
        kind = self._launcher.device.info.kind
        owed = (self._worked_s - ADVANCE_S[kind]) / SHARE[kind] - (now - self._began)
        self._resting_s = min(max(_SLOWER * self._resting_s, _SHORTEST_S), _RESTING_S)
        if not resting:
            self._resting_s = 0.0
        return now + max(owed, self._resting_s)

    def _holds(self, inherited: Decision) -> bool:
        """Whether what was inherited is still neither confirmed nor refuted here."""
        config = inherited.config
        return (
            config in self._ready
            and config != self.default
            and not self._timed[config]
            and config not in self.standing.failures
        )

    def _ask(self, config: Config, ask: int) -> None:
        if self._policy is None or ask != self._asks or self._outstanding != config:
            return  # something else is asked for by now
        if config not in self._ready:
            self._skipped()
            return
        self._watched = False
        self.asked.append(config)

    def _look_after(self, ask: int, taken_at: int, after_s: float) -> None:
        """Ask anew, in a while, where a call took what was asked for and never said more.

        An interrupt may end a call between any two of its steps.
        """

        def look() -> None:
            waits = self._policy is not None and self._outstanding is not None and not self._watched
            if not waits or ask != self._asks or self.asked:
                self._looking = False
            elif self.dispatches - taken_at >= _LOST_AFTER:
                self._looking = False
                self._skipped()
            else:
                self._look_after(ask, taken_at, min(2 * after_s, _LOST_AT_LATEST_S))

        self._looking = True
        self._desk.at(time.monotonic() + after_s, lambda: self._do(look))

    def _settle(self, choice: Choice | Decision) -> None:
        """Launch this from now on, and remember it where it is certain."""
        decision = choice
        if isinstance(choice, Choice):
            decision = Decision(
                workload=self.workload,
                config=choice.config,
                reason=choice.reason,
                detail=choice.detail,
                gain=choice.gain,
                confidence=choice.confidence,
                default=self.default,
            )
        assert isinstance(decision, Decision)
        self.standing = replace(self.standing, decision=decision)
        if decision.config != self.best:
            self.best = decision.config
            with self._joining:
                for site in self._sites:
                    site.best = None
        if decision.reason not in (Reason.ADOPTED, Reason.TAKEN_BACK):
            return
        before, self._certain = self._certain, decision
        if before is None or before.config != decision.config:
            logger.info(
                "%s: %s: %s: %s",
                self.name,
                decision.reason,
                decision.config.text,
                decision.detail,
            )
        elif abs(_log_gain(decision) - _log_gain(before)) < _NEWS:
            self._certain = before
            return
        self._recorder.put(decision)

    def _compile_ahead(self) -> None:
        """Hand the next candidates to the helper, while they can still pay."""
        policy, ahead = self._policy, self._ahead
        if policy is None or ahead.pending or ahead.broken or not self._default_ns:
            return
        default_s = median(self._default_ns) * 1e-9
        seen_s = policy.budget.spent * default_s
        info = self._launcher.device.info
        if seen_s < _ENOUGH_S:
            return
        charge = 0.0
        if not ahead.bundles:
            pass  # the first bundle is free, or nothing could ever be learned
        elif info.kind is DeviceKind.CPU:
            # There, a compiler takes time from the kernels: what it takes is a loss like others.
            charge = ahead.cost_s / max(info.compute_units, 1) / default_s
            if charge > policy.budget.left - _KEPT_BACK:
                return
        elif ahead.spent_s + ahead.cost_s > _PER_SEEN * seen_s:
            return
        wanted = policy.wanted(16, self._mask, cost=charge)
        if wanted:
            ahead.fetch(map(scheduled, wanted))
            budget = replace(policy.budget, lost=policy.budget.lost + charge)
            self._policy = replace(policy, budget=budget)

    def _publish(self, ask: Config, because: str) -> None:
        policy = self._policy
        assert policy is not None
        default_ns = median(self._default_ns) if self._default_ns else None
        self.standing = replace(
            self.standing,
            asked=ask,
            asked_because=because,
            policy=policy,
            spent_s=policy.budget.spent * (default_ns or 0.0) * 1e-9,
            saved_s=-policy.budget.lost * (default_ns or 0.0) * 1e-9,
            default_ns=default_ns,
            pending=self._ahead.pending,
            compiled=self._ahead.bundles,
            compiling_s=self._ahead.spent_s,
        )

    def _stop(self, why: str) -> None:
        self._policy = None
        self.asked.clear()
        self._ahead.cancel()
        self.standing = replace(self.standing, stopped=why, asked=None, pending=0)

    def _cold_start(self) -> Decision:
        return Decision(
            workload=self.workload,
            config=self.default,
            reason=Reason.COLD_START,
            detail="nothing is known yet; the default is measured first",
        )


def _log_gain(decision: Decision) -> float:
    return log(decision.gain) if decision.gain else 0.0


def _shortened(
    guess: Iterable[Config], default: Config, inherited: Inherited
) -> tuple[Config, ...]:
    """What to choose from in the order of the guess: its first, the remembered, the default."""
    ordered = [s for s in dict.fromkeys((*guess, default)) if s not in inherited.failures]
    must = {default, *inherited.ratios}
    room = max(MOST_SCHEDULES - len(must), 0)
    kept = set([s for s in ordered if s not in must][:room]) | must
    return tuple(s for s in ordered if s in kept)
