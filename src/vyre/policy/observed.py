"""A space of schedules, and what the times of its launches say so far."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from math import erf, exp, sqrt
from typing import Self

import numpy as np
from numpy.typing import NDArray

from vyre.errors import InvalidInput
from vyre.model import Config
from vyre.policy.belief import Belief, Prior, Remembered
from vyre.policy.evidence import GAPS, NOISE, RECENT, WINDOW, agreeing, locate, moved, noise_of
from vyre.policy.learned import Times, is_surprisingly_low, learned, learned_anew
from vyre.policy.natural_step import FAR

Mask = NDArray[np.bool_]
Ready = Collection[Config] | Mask | None
"""What is compiled; None means all."""

FIRST = 3
"""Times of the default that agree, before anything else is tried where no times are expected."""

_FIRST_AT_MOST = 8  # of them, where they do not come to agree
_LUCK = 2.0  # times the noise, by which a single time may be too good
_BORNE_OUT = 3.0  # times the noise: how much slower its own times may be than what is believed
_CONTRADICTED = 4.0  # standard deviations from what is remembered, at which that is forgotten
_KEPT = 2  # times of each schedule that outlast a change
_ANEW = 256  # tells after which rounding is cleared


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What is believed of one schedule: log(time / time of the default), to +-`spread`."""

    config: Config
    timings: int  # that this rests on, beside what others tell
    ratio: float
    spread: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Schedules by their places in a space, and what is believed of them.

    What launches cost (`Charged`) and what is launched (`Settled`) build on it, each a value that
    adds its own fields and asks only those below.
    """

    space: tuple[Config, ...]
    default: Config
    expected: tuple[float, ...] = ()
    remembered: Mapping[Config, Remembered] = field(default_factory=dict)
    prior: Prior = field(default_factory=Prior)
    times: Times = ()  # log times over `origin` of each, the latest
    gaps: tuple[float, ...] = ()  # between consecutive times of one schedule, the latest
    failed: frozenset[int] = frozenset()
    origin: float | None = None  # the first log time
    dispatches: int = 0
    default_at: int = 0  # how many there had been when the default was last timed
    left_at: float | None = None  # the default's log time before a change, until it is known anew
    noise: float = NOISE
    noise_before: float = NOISE  # what is believed of it before any time was repeated
    belief: Belief = field(default=None, compare=False, repr=False)  # type: ignore[assignment]  # made below
    place: Mapping[Config, int] = field(default_factory=dict, compare=False, repr=False)
    base: int = field(default=0, compare=False, repr=False)
    """The default's place, found once: a hash of it costs more than all else that asks."""

    def __post_init__(self) -> None:
        if self.place:  # one that was told something
            return
        if len(set(self.space)) < len(self.space):
            raise InvalidInput("a space that holds a schedule twice", "give each schedule once")
        if self.default not in self.space:
            raise InvalidInput(
                f"the default {self.default} is not in the space",
                "add it to the space, or name one that is",
            )
        if self.expected and len(self.expected) != len(self.space):
            raise InvalidInput(
                f"{len(self.expected)} expected times of {len(self.space)} schedules",
                "give one for each, or none",
            )
        object.__setattr__(self, "place", {one: at for at, one in enumerate(self.space)})
        object.__setattr__(self, "base", self.place[self.default])
        object.__setattr__(self, "belief", self._believed_first())
        object.__setattr__(self, "times", ((),) * len(self.space))

    def table(self) -> tuple[Row, ...]:
        """What is believed of each schedule that did not fail, in the order of the space."""
        difference, variance = self.belief.against(self.base)
        return tuple(
            Row(
                config=config,
                timings=len(self.times[place]),
                ratio=float(difference[place]),
                spread=sqrt(variance[place]),
            )
            for place, config in enumerate(self.space)
            if place not in self.failed
        )

    def ratios(self) -> dict[Config, float]:
        """Log times over the default's, of what was timed more than once."""
        return {row.config: row.ratio for row in self.table() if row.timings > 1}

    def mask(self, ready: Collection[Config]) -> Mask:
        """What is ready as `ask`, `choose` and `wanted` take it quickest."""
        found: Mask = np.array([config in ready for config in self.space], np.bool_)
        return found

    def _heard(self, place: int, log_ns: float) -> Self:
        """The policy after one more time, with all that follows from it for what is believed."""
        origin = log_ns if self.origin is None else self.origin
        before, time = self.times[place], log_ns - origin
        gaps = (*self.gaps, abs(time - before[-1]))[-GAPS:] if before else self.gaps
        told = replace(
            self,
            origin=origin,
            times=_put(self.times, place, (*before, time)[-WINDOW:]),
            gaps=gaps,
            dispatches=self.dispatches + 1,
            default_at=self.dispatches + 1 if place == self.base else self.default_at,
        )
        noise = noise_of(gaps, self.noise_before)
        if not 0.8 < noise / self.noise < 1.25:
            return told._believed_anew(noise)
        return told._believed(place)

    def _believed(self, place: int) -> Self:
        times, guessed = self.times[place], bool(self.expected)
        if guessed and len(times) == 1 and is_surprisingly_low(self.belief, place, *times):
            # What disturbs a measurement makes it longer: if anything is off, it is the others.
            return self._believed_anew(self.noise)
        belief = learned(self.belief, place, times, self.noise, low_is_true=guessed)
        if self.dispatches % _ANEW == 0:
            belief = belief.anew()
        return self if belief is self.belief else replace(self, belief=belief)

    def _believed_anew(self, noise: float) -> Self:
        """The policy with all times heard again."""
        belief = learned_anew(self.belief, self.times, noise, low_is_true=bool(self.expected))
        return replace(self, belief=belief, noise=noise)

    def _believed_first(self) -> Belief:
        inside = {self.place[s]: kept for s, kept in self.remembered.items() if s in self.place}
        return Belief.of(self.space, self.prior, inside, self.base, self.expected)

    def _without(self, place: int) -> Self:
        """The policy without the times of what failed, which is not to be launched again."""
        return replace(
            self,
            failed=self.failed | {place},
            times=_put(self.times, place, ()),
            belief=self.belief.seen(place, 0.0, 0.0),
        )

    def _reminded(self, place: int) -> Self:
        """The policy without what it remembers of a schedule, where the times of now deny it."""
        config, base = self.space[place], self.times[self.base]
        known = self.remembered.get(config)
        if known is None or place == self.base or len(self.times[place]) < 2 or not base:
            return self
        (now, sure), (default, sure_too) = (
            locate(times, self.noise) for times in (self.times[place], base)
        )
        apart = sqrt(known.spread**2 + 1 / sure + 1 / sure_too)
        if abs(now - default - known.log_ratio) <= _CONTRADICTED * apart:
            return self
        others = {s: kept for s, kept in self.remembered.items() if s != config}
        forgot = replace(self, remembered=others)
        return replace(forgot, belief=forgot._believed_first())._believed_anew(self.noise)

    def _changed(self, place: int, keep: int | None) -> Self:
        """The policy after looking for a change of speed, which reopens the question.

        If the default moved as well, the machine did, and other evidence moves along. Whether that
        still holds has to be seen, so little of it is kept, but of `keep` all.
        """
        base, times = self.base, self.times
        if self.left_at is not None and place == base and self._default_is_known:
            shift = locate(times[base], self.noise)[0] - self.left_at
            return replace(self, left_at=None)._moved(shift, keep=keep)
        if not moved(times[place], self.noise):
            return self
        told = replace(self, times=_put(times, place, times[place][-RECENT:]))
        if place == base:
            shift = (
                locate(told.times[base], self.noise)[0]
                - locate(times[base][:-RECENT], self.noise)[0]
            )
            return told._moved(shift, keep=None)
        if base in self.failed or not times[base]:
            return told._believed(place)
        left_at = locate(times[base], self.noise)[0]
        return replace(told, times=_put(told.times, base, ()), left_at=left_at)._believed(place)

    def _moved(self, shift: float, keep: int | None) -> Self:
        base = self.base
        times = tuple(
            kept if place in (base, keep) else tuple(time + shift for time in kept[-_KEPT:])
            for place, kept in enumerate(self.times)
        )
        return replace(self, times=times)._believed_anew(self.noise)

    @property
    def _default_is_known(self) -> bool:
        times = self.times[self.base]
        if self.expected:
            return bool(times)
        return agreeing(times, self.noise) >= FIRST or len(times) >= _FIRST_AT_MOST

    def _able(self, ready: Ready) -> Mask:
        if ready is None:
            able = np.ones(len(self.space), np.bool_)
        else:
            able = ready.copy() if isinstance(ready, np.ndarray) else self.mask(frozenset(ready))
            able[self.base] |= not self.expected
        able[list(self.failed)] = False
        return able

    def _fastest(self, able: Mask) -> int | None:
        """The fastest of what was timed, as far as its own times bear out what is believed."""
        mean, timed = self.belief.mean, self.belief.precision > 0.0
        borne_out = self.belief.located - mean <= _BORNE_OUT * self.noise
        borne_out[self.base] = True
        places = np.flatnonzero(able & timed & borne_out)
        if not places.size:
            places = np.flatnonzero(able & timed)
        return int(places[np.argmin(mean[places])]) if places.size else None

    def _cost(self, place: int) -> float:
        """Its time in default dispatches: as it was timed, whatever others make one expect."""
        times, base = self.times[place], self.belief.mean[self.base]
        time = locate(times, self.noise)[0] if times else self.belief.mean[place]
        if self.expected and self.times[self.base]:
            base = locate(self.times[self.base], self.noise)[0]
        return 1.0 if place == self.base else exp(min(float(time - base), FAR))

    def _confidence(self, place: int) -> float:
        """How sure one may be that it is faster than the default.

        What is expected orders what to try; how sure one may be, the times alone must say as well.
        """
        believed, timed = self._believed_faster(place), self._timed_faster(place)
        return believed if timed is None else min(believed, timed)

    def _believed_faster(self, place: int) -> float:
        difference, variance = self.belief.against(self.base)
        if variance[place] == 0.0:
            return 0.5
        return float(1 + erf(-difference[place] / sqrt(2 * variance[place]))) / 2

    def _timed_faster(self, place: int) -> float | None:
        """The same by the times of the two alone, where the guess expects something of them."""
        times, base = self.times[place], self.times[self.base]
        if not self.expected or not times or not base:
            return None
        (here, known), (there, known_too) = locate(times, self.noise), locate(base, self.noise)
        if len(times) == 1:  # the luckiest of many that were tried, perhaps
            known /= _LUCK**2
        return (1 + erf((there - here) / sqrt(2 / known + 2 / known_too))) / 2


def _put(times: Times, place: int, kept: tuple[float, ...]) -> Times:
    return (*times[:place], kept, *times[place + 1 :])
