"""A race between two variants of a program: paired times decide, and the winner is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from random import Random
from statistics import median

from vyre.errors import InvalidInput
from vyre.stats import Interval, ratio_interval
from vyre.store.exchange.autotune_store import AutotuneStore
from vyre.store.keys import AutotuneKey
from vyre.store.records import AutotuneRecord
from vyre.store.specialization import SpecCacheKey

LEAST_PAIRS = 8
"""Pairs below which no race is decided; the number is that of the Rust crate's own window."""


class VariantKind(StrEnum):
    """The two sides of a race."""

    CONSERVATIVE = "conservative"
    SPECULATIVE = "speculative"


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantKeys:
    """Under which keys the two variants are kept.

    `exact` keys never collide; the Rust crate's own fold may give both variants one key.
    """

    conservative: SpecCacheKey
    speculative: SpecCacheKey
    adapter_id: str
    exact: bool = True

    def key(self, kind: VariantKind) -> AutotuneKey:
        of = AutotuneKey.exact if self.exact else AutotuneKey.of
        spec = self.conservative if kind is VariantKind.CONSERVATIVE else self.speculative
        return of(spec, self.adapter_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantRace:
    """Times of two variants, taken in turns, and what compiling them cost.

    The nth time of one side was taken beside the nth of the other. Compiling counts as much as its
    share in `serves` dispatches. `least_pairs=1` decides on a single pair, as the Rust crate does.
    """

    conservative_dispatch_ns: tuple[int, ...]
    speculative_dispatch_ns: tuple[int, ...]
    conservative_compile_ns: int = 0
    speculative_compile_ns: int = 0
    serves: int = 1
    conservative_record: AutotuneRecord
    speculative_record: AutotuneRecord
    least_pairs: int = LEAST_PAIRS

    def __post_init__(self) -> None:
        pairs = len(self.conservative_dispatch_ns)
        if pairs != len(self.speculative_dispatch_ns) or pairs == 0:
            raise InvalidInput(
                f"{pairs} conservative and {len(self.speculative_dispatch_ns)} speculative times",
                "take them in pairs, one of each side in turns",
            )
        numbers = (*self.conservative_dispatch_ns, *self.speculative_dispatch_ns)
        numbers += (self.conservative_compile_ns, self.speculative_compile_ns)
        if min(numbers) < 0 or min(self.serves, self.least_pairs) < 1:
            raise InvalidInput(
                f"a race with a time of {min(numbers)} ns, serving {self.serves} dispatches, "
                f"decided on {self.least_pairs} pairs",
                "give times from 0, and at least 1 dispatch and 1 pair",
            )

    @property
    def conservative_total_ns(self) -> Fraction:
        """Compiling and as many median dispatches as it serves, exactly."""
        dispatch = median(map(Fraction, self.conservative_dispatch_ns))
        return self.conservative_compile_ns + dispatch * self.serves

    @property
    def speculative_total_ns(self) -> Fraction:
        dispatch = median(map(Fraction, self.speculative_dispatch_ns))
        return self.speculative_compile_ns + dispatch * self.serves

    @property
    def interval(self) -> Interval:
        """The conservative side's time over the speculative's, compiling included, with 99 %."""
        top, bottom = (
            [ns + compile_ns / self.serves or 1e-9 for ns in times]
            for times, compile_ns in (
                (self.conservative_dispatch_ns, self.conservative_compile_ns),
                (self.speculative_dispatch_ns, self.speculative_compile_ns),
            )
        )
        return ratio_interval(top, bottom, Random(0), 0.99)

    @property
    def winner(self) -> VariantKind | None:
        """The faster side; None while the times cannot tell them apart.

        A tie goes to the conservative side.
        """
        if len(self.conservative_dispatch_ns) < self.least_pairs:
            return None
        faster = self.speculative_total_ns < self.conservative_total_ns
        found = self.interval
        if faster and found.low > 1:
            return VariantKind.SPECULATIVE
        if not faster and found.high <= 1:
            return VariantKind.CONSERVATIVE
        return None

    @property
    def saved_ns(self) -> Fraction:
        """By how much the totals differ, over the dispatches served."""
        return abs(self.conservative_total_ns - self.speculative_total_ns)


@dataclass(frozen=True, slots=True)
class VariantDecision:
    """Who won, what that saves, and where it is kept; no winner yet, nothing kept."""

    winner: VariantKind | None
    saved_ns: Fraction
    autotune_key: AutotuneKey | None
    interval: Interval


def time_in_turns(
    conservative: Callable[[], int], speculative: Callable[[], int], pairs: int = 4 * LEAST_PAIRS
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Times of both sides for a race: in pairs, each side going first in every other one.

    Args:
        conservative: Runs its variant once, and gives the nanoseconds it took.
        speculative: The same for the other.
        pairs: How many of each; one more of each comes before them and is dropped.
    """
    times: tuple[list[int], list[int]] = ([], [])
    sides = (conservative, speculative)
    for pair in range(pairs + 1):
        for side in (0, 1) if pair % 2 else (1, 0):
            times[side].append(sides[side]())
    return tuple(times[0][1:]), tuple(times[1][1:])


def record_variant_race(
    store: AutotuneStore, keys: VariantKeys, race: VariantRace
) -> VariantDecision:
    """Keep the winner's record, and forget the loser's, so that no stale winner stays behind.

    An undecided race changes nothing: take more pairs.
    """
    winner = race.winner
    if winner is None:
        return VariantDecision(None, Fraction(0), None, race.interval)
    speculative = winner is VariantKind.SPECULATIVE
    loser = VariantKind.CONSERVATIVE if speculative else VariantKind.SPECULATIVE
    key = keys.key(winner)
    if keys.key(loser) != key:
        store.forget(keys.key(loser))
    store.put(key, race.speculative_record if speculative else race.conservative_record)
    return VariantDecision(winner, race.saved_ns, key, race.interval)
