"""What a learner knows: everything that deciding about a workload rests on, as one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import inf
from typing import Any

from vyre.learn.events import Effect, Moment
from vyre.learn.ledger import Ledger
from vyre.learn.subject import Opening, Question
from vyre.model import Config, Decision, Reason
from vyre.policy.base import Chooser
from vyre.policy.charged import FREE
from vyre.policy.provisional import launches_within
from vyre.policy.trend import Trend

PROVISIONAL = (Reason.COLD_START, Reason.TRANSFERRED)
"""Why something is launched that was not weighed against the default here."""


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
    led: bool = False  # by a launch of the same, which is not timed


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
    untold: Mapping[Config, str] = field(default_factory=dict)  # of those, what is to be recorded
    strikes: Mapping[Config, int] = field(default_factory=dict)  # times in a row that were none
    timed: Mapping[Config, int] = field(default_factory=dict)  # how often each was
    launched: frozenset[Config] = frozenset()  # before: a first launch also loads code
    trend: Trend = field(default_factory=Trend, repr=False)
    ledger: Ledger = field(default_factory=Ledger)
    wanted: Wanted | None = None
    beside: tuple[Wanted, ...] = ()  # asked for at once with that, and not heard of
    because: str = ""  # why that is wanted
    next: Config | None = None  # what is wanted next, ready or not
    probing: bool = False
    asks: int = 0
    looking: bool = False  # whether a launch that was taken is looked after
    rough: int = 0  # times that said too little
    told: int = 0  # dispatches that the policy has heard of
    limit: float = inf  # dispatches after which the default runs, if nothing is heard by then
    last_at: Moment | None = None  # when a time was last heard
    clock: str = ""  # the state of the clocks that times are of
    other_clock: tuple[str, int] = ("", 0)  # another state, and how many times in a row were of it
    trouble: int = 0  # pieces of work that failed since the last time was learned from
    broken: str = ""  # why nothing can be fetched any more
    awaited: tuple[Config, ...] = ()  # the first of each fetch that is under way
    began_s: float | None = None
    resting_s: float = 0.0
    stopped: str = ""  # why nothing more is learned

    @classmethod
    def of(
        cls,
        workload: Any,
        default: Config,
        known: Decision | None = None,
        opening: Opening | None = None,
    ) -> Standing:
        """What is known of a workload before it was looked at: what is remembered, or a guess."""
        if known is None and opening is not None:
            return cls._opened(workload, default, opening)
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

    @classmethod
    def _opened(cls, workload: Any, default: Config, opening: Opening) -> Standing:
        guess = Decision(
            workload=workload,
            config=opening.config,
            reason=opening.reason,
            detail=opening.detail,
            default=default,
        )
        wanted = tuple(Wanted(config=one, phase=Phase.ASKED) for one in opening.timed)
        return cls(
            decision=guess,
            default=default,
            ready=frozenset((opening.config, *opening.timed, *([default] * opening.default_ready))),
            launched=frozenset((opening.config,)),
            wanted=wanted[0] if wanted else None,
            beside=wanted[1:],
            limit=launches_within(FREE, opening.risk) if opening.config != default else inf,
        )

    @property
    def is_over(self) -> bool:
        """Whether nothing more is learned."""
        return bool(self.stopped)

    @property
    def guesses(self) -> bool:
        """Whether calls began with what a guess expects to be fast."""
        return self.question is not None and bool(self.question.expected)

    @property
    def is_on_a_guess(self) -> bool:
        """Whether calls launch something else than the default that was not weighed against it."""
        return self.decision.reason in PROVISIONAL and self.decision.config != self.default

    @property
    def asked_for(self) -> tuple[Wanted, ...]:
        """Every launch whose time is wanted."""
        return (*(() if self.wanted is None else (self.wanted,)), *self.beside)

    def falls_back(self, why: str) -> Decision:
        """The decision to launch the default."""
        return Decision(
            workload=self.decision.workload,
            config=self.default,
            reason=Reason.DEFAULT,
            detail=why,
        )

    def anew(self) -> Standing:
        """The standing to begin with again, in a fork of the process that had begun.

        It launches the same. What was under way there is not heard of, and weighed anew.
        """
        decision, known = self.decision, None
        if decision.reason not in (*PROVISIONAL, Reason.DEFAULT):
            known = decision = replace(decision, reason=Reason.REMEMBERED)
        return Standing(
            decision=decision,
            default=self.default,
            inherited=known,
            ready=self.ready,
            failures=self.failures,
            untold=self.untold,
            launched=self.launched,
            ledger=replace(self.ledger, fetching=0),
            asks=self.asks,
            told=self.told,
            limit=self.limit,
            stopped=self.stopped,
        )

    def over(self, why: str) -> Standing:
        """The standing when nothing more is learned."""
        return replace(
            self,
            policy=None,
            wanted=None,
            beside=(),
            next=None,
            mask=None,
            stopped=why,
            ledger=replace(self.ledger, fetching=0),
        )


Advanced = tuple[Standing, tuple[Effect, ...]]
"""What is known after an event, and what is to be done about it."""


def then(advanced: Advanced, before: tuple[Effect, ...]) -> Advanced:
    """The same, with what is to be done before."""
    standing, effects = advanced
    return standing, (*before, *effects)
