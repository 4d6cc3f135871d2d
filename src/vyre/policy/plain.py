"""Any policy as a learner uses it: what it asks for is timed, what it settles on is launched."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from math import inf, log
from random import Random
from statistics import median

from vyre.model import Config, Failed, Outcome, Reason, Timed, config_order
from vyre.policy.base import Choice, NothingToTry, Policy, Ready
from vyre.policy.budget import Budget
from vyre.policy.measured import is_time

_REMEMBERED = 15  # times per config, for medians
_ENOUGH = 3  # times of what is ready, while it waits for what is not


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """A `Chooser` of a policy that knows no budget: while it is open, the default is launched.

    It hears only what is of its space, and neither a time that is none nor one of what failed.
    """

    policy: Policy
    space: tuple[Config, ...]
    default: Config
    word: str  # what the policy is called
    budget: Budget = field(default_factory=Budget)
    times: Mapping[Config, tuple[float, ...]] = field(default_factory=dict)
    failed: frozenset[Config] = frozenset()
    tells: int = 0
    first: Policy | None = field(default=None, compare=False, repr=False)  # before it was told

    def __post_init__(self) -> None:
        if self.first is None:
            object.__setattr__(self, "first", self.policy)

    def mask(self, ready: Collection[Config]) -> frozenset[Config]:
        return frozenset(ready)

    def choose(self, ready: Ready = None) -> Choice:
        config = self._asked(ready)
        settled = self.policy.settled
        times = self.times.get(config, ())
        if config == settled and times:
            return self.incumbent(ready)
        if len(times) >= _ENOUGH and self.wanted(1, ready):
            waiting = f"{self.word} waits for what is not ready"
            return self._because(config, Reason.COLD_START, waiting)
        return self._because(config, Reason.PROBE, f"asked for by {self.word}", measures=True)

    def choose_batch(self, count: int, ready: Ready = None) -> tuple[Choice, ...]:  # noqa: ARG002
        """One: what such a policy asks for next depends on what comes of it."""
        return (self.choose(ready),)

    def incumbent(self, ready: Ready = None) -> Choice:
        settled = self.policy.settled
        if settled is None or (ready is not None and settled not in ready):
            if self.default in self.failed:
                asked = self._asked(ready)
                return self._because(asked, Reason.COLD_START, f"{self.word} is still open")
            open_ = f"{self.word} is still open"
            return self._because(self.default, Reason.COLD_START, open_)
        if settled == self.default:
            return self._because(settled, Reason.DEFAULT, f"chosen by {self.word}")
        return self._because(settled, Reason.ADOPTED, f"chosen by {self.word}")

    def wanted(self, count: int, ready: Ready = (), *, cost: float = 0.0) -> tuple[Config, ...]:
        """What it asks for, if that is not ready; what making it so costs, it does not weigh."""
        if not count or cost == inf:
            return ()
        asked = self._asked(None)
        return () if ready is None or asked in ready else (asked,)

    def allowance(self, config: Config) -> float:  # noqa: ARG002  # it knows no budget
        """As many as there are."""
        return inf

    def ran(self, config: Config, dispatches: int) -> Plain:
        return replace(self, budget=self.budget.ran(self._cost(config), dispatches))

    def paid(self, cost: float, lost: float) -> Plain:
        return replace(self, budget=self.budget.paid(cost, lost))

    def tell(self, outcome: Outcome) -> Plain:
        config = outcome.config
        if config not in self.space or config in self.failed or not _says_something(outcome):
            return self
        told = replace(self, policy=self.policy.tell(outcome), tells=self.tells + 1)
        match outcome:
            case Failed():
                times = {one: kept for one, kept in self.times.items() if one != config}
                return replace(told, times=times, failed=self.failed | {config})
            case Timed(elapsed_ns=elapsed):
                kept = (*self.times.get(config, ()), elapsed)[-_REMEMBERED:]
                told = replace(told, times={**self.times, config: kept})
                return replace(told, budget=told.budget.ran(told._cost(config)))

    def anew(self) -> Plain:
        """The policy from its beginning, but for what failed: it has no memory to keep times in."""
        policy = self.first
        assert policy is not None  # made above
        for config in sorted(self.failed, key=config_order):
            policy = policy.tell(Failed(config, "it failed before"))
        return replace(self, policy=policy, times={})

    def ratios(self) -> dict[Config, float]:
        base = self.times.get(self.default)
        if not base:
            return {}
        return {
            config: log(median(times) / median(base))
            for config, times in self.times.items()
            if len(times) > 1
        }

    def _asked(self, ready: Ready) -> Config:
        # The same tells, the same choice: a policy has no generator of its own.
        config = self.policy.ask(Random(self.tells), ready)
        if ready is not None and config not in ready:
            if self.default in self.failed:
                raise NothingToTry.of("config that is ready")
            return self.default
        return config

    def _cost(self, config: Config) -> float:
        """Its time in default dispatches."""
        own, base = self.times.get(config), self.times.get(self.default)
        return median(own) / median(base) if own and base else 1.0

    def _because(
        self, config: Config, reason: Reason, detail: str, *, measures: bool = False
    ) -> Choice:
        gain = 1.0 / self._cost(config)
        return Choice(
            config=config,
            reason=reason,
            detail=detail,
            gain=gain,
            confidence=None,
            measures=measures,
            binding=True,
        )


def _says_something(outcome: Outcome) -> bool:
    return isinstance(outcome, Failed) or is_time(outcome.elapsed_ns)
