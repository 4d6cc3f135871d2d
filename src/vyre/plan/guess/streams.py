"""How a program's accesses walk through arrays at a launch.

Accesses of one array with the same strides are one stream: a stencil's loads are one, with how many
columns and rows it reaches. Streams that differ in their array alone are one, of several copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from vyre.analysis.facts import MemoryAccess, Pattern
from vyre.analysis.forms import Linear, Poly, extent_of
from vyre.analysis.reader import ATOMIC, LOAD, Touch
from vyre.emit.wanted import in_vectors
from vyre.emit.windows import window_of
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import Expr, Var
from vyre.model import Dim3
from vyre.plan.guess.shapes import LINE

MOST_TAPS = 64
"""Elements around a position that are told apart; a loop over more is a walk through memory."""

Number = Callable[[Poly], int | None]
"""What a launch makes of a form, where it knows it."""


Offset = tuple[int, ...]
"""Along the axes of an array, the fastest first."""

Steps = tuple[Offset, Offset, Offset]
_NOWHERE: Steps = ((0,), (0,), (0,))


@dataclass(frozen=True, slots=True)
class Brought:
    """What moves along each axis of an array whose elements workgroups bring (`emit.staging`)."""

    moves: tuple[int | None, ...]  # an axis of the launch, the round of a loop, or nothing
    aligned: bool  # vectors of it begin where vectors of the array do


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """What a position loads from, or stores to, one array with the same strides."""

    kind: str
    size: int  # bytes of an element
    strides: Dim3 | None  # elements from one position to the next along each axis; None: anywhere
    taps: float  # accesses of a position, in one round of the loop that walks
    columns: int  # different places along x among them
    rows: int  # different rows
    reach: Dim3  # from the first to the last of them along each axis
    vectors: float  # the share that wide code accesses in vectors
    shifted: float  # the share that begins off the lines of a cache
    rounds: float  # of the loop that walks through memory, else 1
    walk: int  # elements from one of its rounds to the next
    footprint: float  # bytes of the whole array, or of all arrays
    parted: bool  # some invocations come by and others do not
    steps: Steps = _NOWHERE  # along the axes of the array, of a position along x, y and z
    offsets: tuple[Offset, ...] = ((0,),)  # of the taps
    wide: bool = False  # several positions of a thread access it in vectors
    in_turn: bool = False  # positions of a thread come by one after the other
    checked: float = 0.0  # the share of taps that test their index where a thread has one position
    followed: bool = False  # threads far from the borders need no tests, where they have several
    brought: Brought | None = None  # how workgroups bring it to memory of their own, if they can
    fixed: tuple[int, ...] = ()  # where all of it lies, if all positions read the same places
    copies: int = 1  # such streams, of several arrays


@dataclass(frozen=True, slots=True)
class Written:
    """What a program's text tells of its accesses, whatever is launched."""

    buffers: Mapping[str, BufferDecl]
    together: frozenset[str]  # the statements that all items come by side by side
    segments: frozenset[str]  # the variables of loops from one loaded number to another
    brought: Mapping[str, Brought]  # the arrays that workgroups can bring to their own memory

    def is_segment(self, index: Expr) -> bool:
        """Whether an access walks a part of its array that loaded numbers bound."""
        return isinstance(index, Var) and index.name in self.segments


def streams_of(
    accesses: Sequence[tuple[Touch, MemoryAccess]],
    written: Written,
    positions: int,
    number: Number,
) -> tuple[Stream, ...]:
    """The streams of a program's accesses.

    Args:
        accesses: what touches an array, and what is proved of it.
        written: what the program's text tells of them.
        positions: of the launch.
        number: what the launch makes of a form.
    """
    lengths: dict[float, float] = {}  # of segments, by how many rounds were supposed
    merged: dict[tuple[object, ...], list[_Place]] = {}
    for touch, access in accesses:
        decl = written.buffers[touch.buffer]
        if decl.is_shared:
            continue
        place = _placed(
            touch, access, decl, number, in_turn=touch.statement not in written.together
        )
        if touch.kind == LOAD and place.strides is not None:
            place = replace(place, brought=written.brought.get(touch.buffer))
        if place.strides is None and written.is_segment(touch.index):
            place = _segment(place, positions)
            lengths[touch.rounds] = place.rounds
        merged.setdefault(place.key, []).append(place)
    found = (_merged(places) for places in merged.values())
    return _counted(
        replace(one, rounds=lengths.get(one.rounds, one.rounds)) if one.strides is None else one
        for one in found
    )


def _segment(place: _Place, positions: int) -> _Place:
    """Each position has its own part of the array, one after the other: their mean length tells."""
    length = max(1.0, place.footprint / place.size / positions)
    return replace(
        place,
        key=(*place.key, "segment"),
        strides=(round(length), 0, 0),
        rounds=length,
        walk=1,
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where one access goes, as a launch has it."""

    key: tuple[object, ...]
    touch: Touch
    size: int
    strides: Dim3 | None
    offsets: tuple[Offset, ...]  # of its taps
    pitches: tuple[int, ...]
    vector: bool
    rounds: float
    walk: int
    footprint: float
    steps: Steps = _NOWHERE
    wide: bool = False
    in_turn: bool = False
    checked: bool = False
    followed: bool = False
    brought: Brought | None = None
    fixed: tuple[int, ...] = ()

    @property
    def shifted(self) -> float:
        """The share of its taps that begin off the lines of a cache."""
        if any(pitch * self.size % LINE for pitch in self.pitches[1:]):
            return 1.0
        off = sum(offset[0] * self.size % LINE != 0 for offset in self.offsets)
        return off / len(self.offsets)


def _placed(
    touch: Touch, access: MemoryAccess, decl: BufferDecl, number: Number, *, in_turn: bool
) -> _Place:
    size = decl.element.min_bytes
    dims = [number(extent_of(decl, axis)) or 1 for axis in range(decl.rank)]
    footprint = float(prod(dims)) * size
    vector = (
        access.pattern is Pattern.CONTIGUOUS
        and access.in_bounds is not None
        and touch.kind != ATOMIC
        and not in_turn
    )
    found = _forms(touch, dims, number)
    checked = access.in_bounds is None
    if found is None:
        key = (touch.buffer, touch.kind, None, not touch.by_all)
        anywhere = access.pattern is not Pattern.UNIFORM
        strides = None if anywhere else (0, 0, 0)
        return _Place(
            key, touch, size, strides, ((0,),), (1,), False, touch.rounds, 0, footprint,
            in_turn=in_turn, checked=checked,
        )  # fmt: skip
    strides, steps, offsets, pitches, rounds, walk = found
    place = (touch.buffer, touch.kind, strides, rounds, walk, not touch.by_all)
    side_by_side = in_vectors(access, 1) and not in_turn
    return _Place(
        place, touch, size, strides, offsets, pitches, vector, rounds, walk, footprint,
        steps=steps,
        wide=side_by_side and (touch.kind == LOAD or not checked),
        in_turn=in_turn,
        checked=checked,
        followed=checked and _is_followed(access),
        fixed=() if in_turn or checked or any(strides) or walk or rounds > 1.0
        else _flat(offsets, pitches, decl),
    )  # fmt: skip


def _flat(offsets: Iterable[Offset], pitches: Sequence[int], decl: BufferDecl) -> tuple[int, ...]:
    """Places from the first element of an array, where the text of a program tells its rows."""
    if decl.rank > 1 and not all(decl.shape[1:]):
        return ()
    return tuple(sum(map(prod, zip(offset, pitches, strict=True))) for offset in offsets)


def _is_followed(access: MemoryAccess) -> bool:
    """Whether a window of positions tells that no check is needed, but along the rows."""
    last = len(access.forms) - 1
    return all(
        access.by_axis[axis] is not None
        or window_of(access, axis) is not None
        or (axis == last and axis > 0 and isinstance(access.forms[axis], Linear))
        for axis in range(last + 1)
    )


def _forms(
    touch: Touch, dims: list[int], number: Number
) -> tuple[Dim3, Steps, tuple[Offset, ...], tuple[int, ...], float, int] | None:
    """Strides, steps, offsets, pitches, rounds and walk of an access; None: it goes anywhere."""
    flat = len(touch.indices) == 1
    pitches = [1]
    for dim in reversed([] if flat else dims[1:]):
        pitches.append(pitches[-1] * dim)
    strides, offsets = [0, 0, 0], [(0,) * len(pitches)]
    steps = [[0] * len(pitches) for _ in range(3)]
    # An element that is the same in every round is loaded once: the compiler sees to it.
    same = touch.kind == LOAD and not any(map(_counts, touch.indices))
    rounds, walk, taken = 1.0 if same else float(touch.rounds), 0, 1
    for axis, (form, pitch) in enumerate(zip(reversed(touch.indices), pitches, strict=True)):
        if not isinstance(form, Linear):
            return None
        for gid, factor in form.gids().items():
            steps[gid][axis] += number(factor) or 0
            strides[gid] += (number(factor) or 0) * pitch
        shift = number(form.offset) or 0
        offsets = [_moved(one, axis, shift) for one in offsets]
        for counter, factor in form.counters().items():
            start, stop = number(counter.start), number(counter.stop)
            step = number(factor) or 0
            trips = 16 if start is None or stop is None else max(stop - start, 0)
            if 0 < trips * taken <= MOST_TAPS and trips <= 16 and start is not None:
                offsets = [
                    _moved(one, axis, step * (start + k)) for one in offsets for k in range(trips)
                ]
                taken *= trips
            else:
                walk = walk or step * pitch
    return (
        (strides[0], strides[1], strides[2]),
        (tuple(steps[0]), tuple(steps[1]), tuple(steps[2])),
        tuple(offsets),
        tuple(pitches),
        rounds / taken,
        walk,
    )


def _counts(form: object) -> bool:
    """Whether an index goes by the rounds of a loop."""
    return isinstance(form, Linear) and bool(form.counters())


def _moved(offset: Offset, axis: int, by: int) -> Offset:
    return (*offset[:axis], offset[axis] + by, *offset[axis + 1 :])


def _counted(streams: Iterable[Stream]) -> tuple[Stream, ...]:
    """Streams that differ in their array alone as one, so that each kind is reckoned once."""
    alike: dict[Stream, list[float]] = {}
    for stream in streams:
        alike.setdefault(replace(stream, footprint=0.0), []).append(stream.footprint)
    return tuple(
        replace(stream, footprint=sum(sizes), copies=len(sizes)) for stream, sizes in alike.items()
    )


def _merged(places: list[_Place]) -> Stream:
    first = places[0]
    offsets = {offset for place in places for offset in place.offsets}
    taps = sum(len(place.offsets) for place in places)
    # The same element loaded twice is loaded once: the compiler sees to it.
    if first.touch.kind == LOAD and first.strides is not None:
        taps = len(offsets)
    rows = {offset[1:] for offset in offsets}
    reach = [
        max(o[axis] for o in offsets) - min(o[axis] for o in offsets)
        for axis in range(len(first.pitches))
    ] + [0, 0]
    return Stream(
        kind=first.touch.kind,
        size=first.size,
        strides=first.strides,
        taps=taps,
        columns=len({offset[0] for offset in offsets}),
        rows=len(rows),
        reach=(reach[0], reach[1], reach[2]),
        vectors=sum(place.vector for place in places) / len(places),
        shifted=sum(place.shifted for place in places) / len(places),
        rounds=max(1.0, *(place.rounds for place in places)),  # a loop may have none at this launch
        walk=abs(first.walk),
        footprint=first.footprint,
        parted=not first.touch.by_all,
        steps=first.steps,
        offsets=tuple(sorted(offsets)),
        wide=all(place.wide for place in places),
        in_turn=all(place.in_turn for place in places),
        checked=sum(place.checked for place in places) / len(places),
        followed=all(place.followed or not place.checked for place in places),
        brought=first.brought,
        fixed=_fixed(places),
    )


def _fixed(places: list[_Place]) -> tuple[int, ...]:
    known = {place for one in places for place in one.fixed}
    return tuple(sorted(known)) if all(one.fixed for one in places) else ()
