"""What a program with reductions does at a launch, walk by walk.

A walk goes once over the rounds of reductions that are computed together. What is said of it is per
round: operations, and accesses by how far apart they lie from round to round and from result to
result. What is left beside all walks is done once for each position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from vyre.analysis.forms import Launch, Linear, Poly, extent_of
from vyre.analysis.reader import GUESSED_ROUNDS, LOAD, Touch, read, read_for
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import Binary, Select, Unary, Var
from vyre.ir.fold import BLOCK, LANES, Folding
from vyre.ir.known import COUNTS
from vyre.ir.loops import rounds_of
from vyre.ir.node import Loop, Node, Reduce, While
from vyre.ir.program import Program
from vyre.ir.serial import Together, together
from vyre.ir.walk import bodies, expressions, statements
from vyre.model import Dim3
from vyre.plan import simd
from vyre.plan.geometry import ceil_div
from vyre.plan.launch_numbers import NumberNotKnown
from vyre.plan.shares import without

_WRITTEN_OUT = 8
"""Rounds inside of others that are written out, each under a condition where no copy knows more."""

Number = Callable[[Poly], int | None]
"""What a launch makes of a form, where it knows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """An access of a round, or of a position."""

    kind: str
    size: int  # bytes of an element
    step: int | None  # bytes from one round to the next; None: anywhere
    apart: int | None  # bytes from one result along x to the next
    times: float  # in a round
    array: float  # bytes of the whole array
    again: bool  # an earlier walk has read the array as well


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """Rounds that reductions go over together."""

    rounds: int
    is_told: bool  # how many there are; nobody knows what data or positions say
    times: float  # that an invocation goes over them
    is_ordered: bool  # the order of elements shows, so that blocks of rounds stay whole
    states: int  # numbers that a lane keeps
    inner: float  # rounds of further reductions in a round, but for few that are written out
    inner_lanes: float  # of which an invocation goes through each by itself
    operations: float  # of a round
    functions: float
    accesses: tuple[Access, ...]

    @property
    def is_along(self) -> bool:
        """Whether it reads rounds that lie closer in memory than results."""
        return any(a.step and a.apart and a.step < a.apart for a in self.accesses)

    @property
    def is_beside(self) -> bool:
        """Whether it reads results that lie closer in memory than rounds."""
        return any(a.step and a.apart and a.apart < a.step for a in self.accesses)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walks:
    """All walks of a program, and what a position does beside them."""

    extent: Dim3
    walks: tuple[Walk, ...]
    operations: float
    functions: float
    accesses: tuple[Access, ...]
    footprint: float  # bytes of all arrays

    @property
    def longest(self) -> Walk:
        """The walk of most rounds, or one whose rounds nobody knows."""
        return max(self.walks, key=lambda walk: (not walk.is_told, walk.rounds))


def walks_of(program: Program, launch: Launch) -> Walks:
    """What an invocation of a program does in a launch."""

    def number(poly: Poly) -> int | None:
        try:
            return poly.at(launch)
        except (KeyError, NumberNotKnown):
            return None

    def told(one: Reduce) -> int | None:
        form = read(program).rounds.get(one.name)
        return None if form is None else number(form.offset)

    def rounds(one: Reduce) -> int:
        known = told(one)
        return GUESSED_ROUNDS if known is None else max(known, 0)

    groups = _groups(program)
    names = [frozenset(one.name for one in group.reductions) for group, _ in groups]
    whole = read_for(program, number)
    left = read_for(without(program, frozenset[str]().union(*names)), number)
    rests = [read_for(without(program, some), number) for some in names]
    counters = frozenset(one.var for group, _ in groups for one in group.reductions)
    places = _Places({decl.name: decl for decl in program.buffers}, counters, number)
    by_walk: list[dict[object, Touch]] = [{} for _ in (*groups, None)]
    others = zip(*(rest.touches for rest in rests), strict=True)
    for touch, without_it in zip(whole.touches, others, strict=True):
        # An element that is the same in every round is loaded once: the compiler sees to it.
        inside = (at for at, one in enumerate(without_it) if one.rounds < touch.rounds)
        place = -1 if _is_fixed(touch) else next(inside, -1)
        by_walk[place].setdefault(places.key(touch), touch)
    walks, seen = [], set[str]()
    for (group, times), rest, found in zip(groups, rests, by_walk, strict=False):
        folded = [Folding(one.op, one.dtype) for one in group.reductions]
        inner = [
            count
            for outer in group.reductions
            for one in _inner(outer)
            if (count := rounds(one)) > _WRITTEN_OUT and count not in COUNTS
        ]
        own = rounds(group.reductions[0])
        many = max(own * times, 1.0)
        walks.append(
            Walk(
                rounds=own,
                is_told=told(group.reductions[0]) is not None,
                times=times,
                is_ordered=any(one.is_ordered for one in folded),
                states=sum(len(one.state) for one in folded),
                inner=float(sum(inner)),
                inner_lanes=float(sum(min(one, LANES) * ceil_div(one, BLOCK) for one in inner)),
                operations=(whole.operations - rest.operations) / many + sum(map(_joining, folded)),
                functions=(whole.transcendental - rest.transcendental) / many,
                accesses=tuple(places.access(one, many, seen) for one in found.values()),
            )
        )
        seen |= {touch.buffer for touch in found.values()}
    arrays = {touch.buffer for touch in whole.touches}
    return Walks(
        extent=simd.extent_of(launch),
        walks=tuple(walks),
        operations=float(left.operations),
        functions=float(left.transcendental),
        accesses=tuple(places.access(touch, 1.0, seen) for touch in by_walk[-1].values()),
        footprint=sum(map(places.bytes_of, arrays)),
    )


@lru_cache(maxsize=256)
def _groups(program: Program) -> tuple[tuple[Together, float], ...]:
    """Reductions that are in no other's rounds, as they are walked, and how often they are."""

    def within(nodes: Sequence[Node], times: float) -> Iterator[tuple[Together, float]]:
        for part in together(nodes):
            if isinstance(part, Together):
                yield part, times
                yield from within(part.others, times)
                continue
            known = rounds_of(part) if isinstance(part, Loop) else None
            often = (known or GUESSED_ROUNDS) if isinstance(part, (Loop, While)) else 1
            for inner in bodies(part):
                yield from within(inner, times * often)

    return tuple(within(program.entry, 1.0))


@lru_cache(maxsize=64)
def _joining(folding: Folding) -> int:
    """Operations for taking an element in, beyond the one that a reading counts."""
    state = [Var(str(at)) for at, _ in enumerate(folding.state)]
    element = folding.element(Var("value"), Var("round"))
    joined = (part for one in folding.followed(tuple(state), element) for part in expressions(one))
    return len({part for part in joined if isinstance(part, (Binary, Unary, Select))}) - 1


def _inner(reduction: Reduce) -> list[Reduce]:
    return [node for node in statements(reduction.body) if isinstance(node, Reduce)]


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the accesses of a launch go."""

    buffers: Mapping[str, BufferDecl]
    counters: frozenset[str]  # of the rounds of walks
    number: Number

    def key(self, touch: Touch) -> object:
        """What accesses of one element in one round have in common."""
        forms = [
            (
                form.offset,
                frozenset(form.gids().items()),
                frozenset(
                    ("" if c.name in self.counters else c.name, factor)
                    for c, factor in form.counters().items()
                ),
            )
            if isinstance(form, Linear)
            else form
            for form in touch.indices
        ]
        return touch.kind, touch.buffer, tuple(forms)

    def access(self, touch: Touch, passes: float, seen: set[str]) -> Access:
        """How an access walks through its array."""
        decl = self.buffers[touch.buffer]
        size = decl.element.min_bytes
        step: int | None = 0
        apart: int | None = 0
        for form, pitch in zip(touch.indices, self._pitches(touch), strict=True):
            if not isinstance(form, Linear) or step is None or apart is None:
                step = apart = None
                continue
            apart += size * pitch * (self._told(form.gids().get(0)))
            for counter, factor in form.counters().items():
                if counter.name in self.counters:
                    step += size * pitch * self._told(factor)
        return Access(
            kind=touch.kind,
            size=size,
            step=step if step is None else abs(step),
            apart=apart if apart is None else abs(apart),
            times=1.0 if _is_fixed(touch) else touch.rounds / passes,
            array=self.bytes_of(touch.buffer),
            again=touch.buffer in seen,
        )

    def bytes_of(self, buffer: str) -> float:
        decl = self.buffers[buffer]
        dims = [self.number(extent_of(decl, axis)) or 1 for axis in range(decl.rank)]
        return float(prod(dims)) * decl.element.min_bytes

    def _told(self, poly: Poly | None) -> int:
        return 0 if poly is None else self.number(poly) or 0

    def _pitches(self, touch: Touch) -> list[int]:
        """Elements from one index to the next, of each axis."""
        decl = self.buffers[touch.buffer]
        pitches = [1]
        for axis in range(len(touch.indices) - 1, 0, -1):
            pitches.append(pitches[-1] * (self.number(extent_of(decl, axis)) or 1))
        return pitches[::-1]


def _is_fixed(touch: Touch) -> bool:
    """Whether all rounds around an access load the same element."""
    forms = touch.indices
    return touch.kind == LOAD and all(
        isinstance(form, Linear) and not form.counters() for form in forms
    )
