"""The ways to run a prefilter and a confirm, as configs, and the hit rates they are learned by.

How fast a way is depends on how many items hit, and that can change from call to call. So what is
learned is kept by hit rate, and a rate that was seen before needs no new search.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from math import log2

from vyre.model import Config, Knobs

FINEST_RATE = 2.0**-14

_WAY = "way"


class Way(StrEnum):
    """How a prefilter and a confirm are run together."""

    SERIAL = "serial"  # list the hits, then confirm those
    GATED = "gated"  # confirm where the prefilter says yes, in one program
    EAGER = "eager"  # confirm everything, commit where the prefilter says yes

    @property
    def knobs(self) -> Knobs:
        """The way as a config."""
        return _KNOBS[self]


_KNOBS = {way: Knobs(((_WAY, way.value),)) for way in Way}


def way_of(config: Config) -> Way:
    """The way that a config stands for.

    >>> way_of(Way.GATED.knobs)
    <Way.GATED: 'gated'>
    """
    assert isinstance(config, Knobs)
    return Way(str(config[_WAY]))


def regime_of(rate: float, known: Collection[int] = ()) -> int:
    """The regime that a hit rate belongs to: one that is known and near, or a new one.

    Regimes lie along the logarithm of the odds, in half doublings; one serves rates of half to
    twice its odds.

    >>> regime_of(0.5), regime_of(0.6), regime_of(0.6, known={0}), regime_of(0.0)
    (0, 1, 0, -28)
    """
    inside = min(max(rate, FINEST_RATE), 1 - FINEST_RATE)
    place = round(2 * log2(inside / (1 - inside)))
    near = [one for one in known if abs(one - place) <= 1]
    return min(near, key=lambda one: (abs(one - place), one)) if near else place
