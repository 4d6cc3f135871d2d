"""Ways as what is learned about: their question, their steps, and how their times are taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import Any, NoReturn

import numpy as np

from vyre.backend.base import Ticket
from vyre.learn.subject import Question
from vyre.model import Config, DeviceKind, Workload
from vyre.plan.fusion import STRIPE_ITEMS
from vyre.policy.measured import LONGEST_NS
from vyre.policy.ways import Way, way_of
from vyre.runtime.arrays.array import DeviceArray
from vyre.runtime.speculation.programs import Piece, Programs, Tail

SLICES = {DeviceKind.CPU: (8192, 64), DeviceKind.GPU: (1 << 20, 16)}
"""The least items of a slice, and which share of a call it is otherwise."""

CLOSE = 1.5
"""Slices tell ways apart that differ by more; closer ones are compared over whole calls."""

LAUNCH_NS = {DeviceKind.CPU: 25_000, DeviceKind.GPU: 4_000}
"""What a second launch adds to a call beside its time on the device.

On PoCL 25 to 40 us, measured; on GPUs a few, a guess. Slices are too short to be charged for it.
"""


@dataclass(frozen=True, slots=True)
class WaySubject:
    """The ways that can run calls of one size, at one hit rate, on one device."""

    programs: Programs
    name: str
    workload: Workload
    able: tuple[Way, ...]  # the guess first
    refused: tuple[str, ...] = ()

    def question(self) -> Question:
        info = self.programs.device.info
        kind = info.kind
        candidates = tuple(way.knobs for way in self.able)
        return Question(
            workload=self.workload,
            name=self.name,
            device=info,
            default=candidates[0],
            candidates=candidates,
            refused=self.refused,
            warm=True,
            share=2 / SLICES[kind][1],
        )

    def is_ready(self, config: Config) -> bool:
        return way_of(config) in self.programs.able

    def fetch(self, configs: Sequence[Config], done: Callable[[], object]) -> NoReturn:
        raise AssertionError(f"{configs} were built before anything was asked, {done} aside")


@dataclass(frozen=True, slots=True)
class Items:
    """What a step runs on: a call's arrays and scalars, and where it counts."""

    arrays: Mapping[str, DeviceArray]
    scalars: Mapping[str, np.generic]
    items: int
    tail: Tail | None = None


@dataclass(frozen=True, slots=True)
class WayStep:
    """All items of a call, run one way."""

    programs: Programs
    way: Way

    def start(self, arguments: Sequence[Any], stream: int) -> list[Ticket]:
        return self._run(arguments, stream, timed=False)

    def timed(self, arguments: Sequence[Any], stream: int) -> Taken:
        """The whole call, timed."""
        kind = self.programs.device.info.kind
        pieces = (self._run(arguments, stream, timed=True),)
        return Taken(self.way, pieces, LAUNCH_NS[kind])

    def sliced(self, arguments: Sequence[Any], stream: int, best: Way) -> Taken | None:
        """A slice of the call this way, one like it the best known way, and all the rest as well.

        A way that is much slower costs little so. None, and nothing is launched, where a call is
        too small for that. The slices lie in stripes side by side: items differ.
        """
        (given,) = arguments
        least, share = SLICES[self.programs.device.info.kind]
        size = max(least, given.items // share)
        size -= size % STRIPE_ITEMS
        rest = given.items - 2 * size
        if size == 0 or rest < 2 * size:
            return None
        pieces = (
            Piece(self.way, 0, size, 0, 2),
            Piece(best, 0, size, 1, 2),
            Piece(best, 2 * size, rest),
        )
        times = tuple(self._piece(piece, given, stream, timed=True) for piece in pieces)
        return Taken(self.way, times, 0, share=size / given.items, scale=given.items / rest)

    def _run(self, arguments: Sequence[Any], stream: int, *, timed: bool) -> list[Ticket]:
        (given,) = arguments
        return self._piece(Piece(self.way, 0, given.items), given, stream, timed=timed)

    def _piece(self, piece: Piece, given: Items, stream: int, *, timed: bool) -> list[Ticket]:
        assert stream == 0
        return self.programs.run(
            piece, given.arrays, given.scalars, given.items, tail=given.tail, timed=timed
        )


@dataclass(frozen=True, slots=True)
class Taken:
    """The times of a call's pieces: a ticket for all of them together."""

    way: Way  # that is asked about
    pieces: tuple[list[Ticket], ...]
    launch_ns: int
    share: float = 1.0  # of the call, that was run the way that is asked about
    scale: float = 1.0  # of a whole call to its last piece

    @property
    def rough(self) -> bool:
        return False

    def wait(self) -> None:
        for launched in self.pieces:
            for ticket in launched:
                ticket.wait()

    def elapsed_ns(self) -> int | None:
        """What the call would take this way; 0 where a clock is wrong."""
        times = []
        for launched in self.pieces:
            total = 0.0
            for ticket in launched:
                elapsed = ticket.elapsed_ns()
                if elapsed is None:
                    return None
                total += elapsed + self.launch_ns if 0 <= elapsed <= LONGEST_NS else nan
            times.append(total)
        if len(times) == 1:
            found = times[0]
        else:
            own, like, rest = times
            found = own / like * rest * self.scale if like > 0 else nan
        return round(found) if 0 < found < inf else 0

    @property
    def ratio(self) -> float:
        """How many times the best way's time it took, by slices; read when it has ended."""
        own, like, _ = (sum(t.elapsed_ns() or 0 for t in launched) for launched in self.pieces)
        return own / like if like else inf


@dataclass(frozen=True, slots=True)
class WaySteps:
    """Makes steps for calls of one size."""

    programs: Programs
    default: Way

    def __call__(self, config: Config | None, *, if_ready: bool = False) -> WayStep:  # noqa: ARG002  # all are ready
        return WayStep(self.programs, self.default if config is None else way_of(config))

    def is_capturing(self, stream: int) -> bool:
        return self.programs.device.backend.is_capturing(stream)


@dataclass(frozen=True, slots=True)
class Told:
    """The ticket of a launch whose time is known."""

    ns: int

    @property
    def rough(self) -> bool:
        return False

    def wait(self) -> None:
        """It has ended."""

    def elapsed_ns(self) -> int:
        return self.ns
