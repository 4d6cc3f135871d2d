"""What every policy is: a value that is asked what to try next, and told what came of it."""

from __future__ import annotations

from random import Random
from typing import Protocol, Self

from vyre.errors import VyreError
from vyre.model import Config, Outcome


class NothingToTry(VyreError):
    """Every schedule of a space has failed."""


class Policy(Protocol):
    """Chooses what to launch next. A value: `tell` returns a new policy, the old one stands.

    It keeps no clock and no generator of its own, so the same outcomes and the same `rng` give the
    same choices. What has failed is not asked for again; when all has, `ask` raises NothingToTry.
    """

    def ask(self, rng: Random) -> Config: ...
    def tell(self, outcome: Outcome) -> Self: ...
