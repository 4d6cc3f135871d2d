"""What is known of unsigned numbers: sums of unknowns, how small they get, what a branch adds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf

MOST_FACTS = 32
"""How many of the last facts about sums a proof looks at."""

Key = object
"""Names an unknown number; equal keys are equal numbers."""


@dataclass(frozen=True, slots=True)
class Sum:
    """`constant + sum(factor * unknown)`, as whole numbers that never wrap."""

    factors: Mapping[Key, int]
    constant: int

    @classmethod
    def of(cls, constant: int) -> Sum:
        return cls({}, constant)

    @property
    def key(self) -> Key:
        return frozenset(self.factors.items()), self.constant

    def plus(self, other: Sum, times: int = 1) -> Sum:
        factors = dict(self.factors)
        for key, factor in other.factors.items():
            factors[key] = factors.get(key, 0) + times * factor
        kept = {key: factor for key, factor in factors.items() if factor}
        return Sum(kept, self.constant + times * other.constant)

    def times(self, factor: int) -> Sum:
        return Sum.of(0).plus(self, factor)


@dataclass(frozen=True, slots=True)
class Unknown:
    """The limits of a number.

    `starts` says that some lane has the lowest one, as long as no more than so many conditions keep
    nobody knows which lanes away. A condition on a number that `is_mixed` from others does.
    """

    low: float = 0
    high: float = inf
    starts: int | None = None
    is_mixed: bool = False


@dataclass(slots=True)
class Bounds:
    """What holds of the unknowns at one place of a kernel, and can be taken back."""

    unknowns: dict[Key, Unknown] = field(default_factory=dict)
    relations: dict[Key, tuple[Sum, ...]] = field(default_factory=dict)
    facts: list[Sum] = field(default_factory=list)
    doubts: int = 0
    closed: int = 0  # conditions that nobody fulfils
    _undo: list[Callable[[], object]] = field(default_factory=list)

    def unknown(self, key: Key, limits: Unknown, relations: Iterable[Sum] = ()) -> Sum:
        """A number of its own within limits; `relations` are sums that are never below 0."""
        if key not in self.unknowns:
            self.unknowns[key] = limits
            self.relations[key] = tuple(relations)
        return Sum({key: 1}, 0)

    def low(self, total: Sum) -> float:
        """What a sum is at least."""
        found: float = total.constant
        for key, factor in total.factors.items():
            limits = self.unknowns[key]
            found += factor * (limits.low if factor > 0 else limits.high)
        return found

    def high(self, total: Sum) -> float:
        """What a sum is at most."""
        return -self.low(total.times(-1))

    def is_whole(self, total: Sum) -> bool:
        """Whether a sum is proved not to be below 0."""
        if self.low(total) >= 0:
            return True
        known = [fact for key in total.factors for fact in self.relations[key]]
        known += self.facts[-MOST_FACTS:]
        return any(self.low(total.plus(fact, -1)) >= 0 for fact in known)

    def is_below_somewhere(self, total: Sum) -> bool:
        """Whether a sum is certain to be below 0 in some lane."""
        if self.closed:
            return False
        for key, factor in total.factors.items():
            starts = self.unknowns[key].starts
            if factor < 0 or starts is None or starts < self.doubts:
                return False
        return self.low(total) < 0 and not self.is_whole(total)

    def learn(self, fact: Sum) -> None:
        """A sum is not below 0 from here on."""
        self.facts.append(fact)
        self._undo.append(self.facts.pop)
        if self.high(fact) < 0:
            self._close()
        if any(self.unknowns[key].is_mixed for key in fact.factors):
            self.doubt()
        for key, factor in fact.factors.items():
            limits = self.unknowns[key]
            alone = len(fact.factors) == 1 and abs(factor) == 1
            if alone and factor > 0:
                self._change(key, replace(limits, low=max(limits.low, -fact.constant)))
            elif alone:
                self._change(key, replace(limits, high=min(limits.high, fact.constant)))
            elif factor > 0:  # who has the lowest is not known any more
                self._change(key, replace(limits, starts=None))

    def doubt(self) -> None:
        """Nobody knows which lanes come by from here on."""
        self.doubts += 1
        self._undo.append(self._trust)

    def _trust(self) -> None:
        self.doubts -= 1

    def _close(self) -> None:
        self.closed += 1
        self._undo.append(self._open)

    def _open(self) -> None:
        self.closed -= 1

    def _change(self, key: Key, limits: Unknown) -> None:
        self._undo.append(partial(self.unknowns.__setitem__, key, self.unknowns[key]))
        self.unknowns[key] = limits
        if limits.low > limits.high:
            self._close()

    def mark(self) -> int:
        return len(self._undo)

    def back_to(self, mark: int) -> None:
        """Forget what was learnt since."""
        while len(self._undo) > mark:
            self._undo.pop()()
