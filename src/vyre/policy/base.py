"""What every policy is: a value that is asked what to try next, and told what came of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol, Self

from vyre.errors import VyreError
from vyre.model import Config, Outcome, Reason
from vyre.policy.budget import Budget


class NothingToTry(VyreError):
    """Every config of a space has failed."""

    @classmethod
    def of(cls, what: str) -> NothingToTry:
        """The error where every one of these has failed."""
        return cls(f"every {what} has failed", "look at the reasons of the failures")


Ready = Collection[Config] | None
"""What can be launched at once; None means all."""


class Policy(Protocol):
    """Chooses what to launch next. A value: `tell` returns a new policy, the old one stands.

    It keeps no clock and no generator of its own, so the same outcomes and the same `rng` give the
    same choices. What has failed is not asked for again; when all has, `ask` raises NothingToTry.
    """

    def ask(self, rng: Random, ready: Ready = None) -> Config: ...
    def tell(self, outcome: Outcome) -> Self: ...
    @property
    def settled(self) -> Config | None:
        """What is to be launched from now on; None while that is open."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What to launch next, and why; `gain` and `confidence` are against the default."""

    config: Config
    reason: Reason
    detail: str
    gain: float  # believed time of the default / of this
    confidence: float | None  # that this is faster; None where nobody asks how sure it is
    measures: bool = False  # wanted for its time once, not from now on
    binding: bool = False  # holds however little it gains


class Chooser(Protocol):
    """A policy as a learner uses it, which launches many times between two times that it hears."""

    @property
    def space(self) -> tuple[Config, ...]: ...
    @property
    def budget(self) -> Budget: ...
    def mask(self, ready: Collection[Config]) -> Any:
        """What is ready in the form that the others take quickest."""
        ...

    def choose(self, ready: Any = None) -> Choice:
        """What to time next, and why."""
        ...

    def choose_batch(self, count: int, ready: Any = None) -> tuple[Choice, ...]:
        """What to time at once, before a time of any is back; the first is what `choose` says."""
        ...

    def incumbent(self, ready: Any = None) -> Choice:
        """What to launch while nothing is timed."""
        ...

    def wanted(self, count: int, ready: Any = (), *, cost: float = 0.0) -> tuple[Config, ...]:
        """What is not ready and most worth making so, if that costs so many dispatches."""
        ...

    def allowance(self, config: Config) -> float:
        """How many launches of this may be under way before more is known of what they lose."""
        ...

    def ran(self, config: Config, dispatches: int) -> Self:
        """The policy after dispatches that were not timed."""
        ...

    def paid(self, cost: float, lost: float) -> Self:
        """The policy after something took `cost` default dispatches, of which some were lost."""
        ...

    def tell(self, outcome: Outcome) -> Self: ...
    def anew(self) -> Self:
        """The policy when times no longer compare with those so far: they are memories now."""
        ...

    def ratios(self) -> dict[Config, float]:
        """Log times over the default's, of what was timed more than once."""
        ...
