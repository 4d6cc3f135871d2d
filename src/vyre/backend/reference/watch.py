"""Runs a program as the reference does, and notes where it does what is seldom meant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vyre.backend.reference.columns import Columns, Places
from vyre.backend.reference.convert import convert
from vyre.backend.reference.lanes import Lanes
from vyre.backend.reference.machine import Machine, both
from vyre.backend.reference.memory import Cells, Mask, Update, flat_index
from vyre.backend.reference.said import Log, positions
from vyre.backend.reference.shadow import Shadow
from vyre.emit.spoken import position_of
from vyre.ir.arithmetic import Value
from vyre.ir.declare import Dim3
from vyre.ir.expr import (
    Atomic,
    Binary,
    BinaryOp,
    Cast,
    Element,
    Expr,
    FlatIndex,
    IdKind,
    Load,
    Ordering,
    Select,
    Var,
)
from vyre.ir.node import Assign, Let, Node, Reduce, Store
from vyre.ir.walk import all_expressions

KEPT = 3
"""Positions that are kept of each finding."""


class Doubt(StrEnum):
    """What is seldom meant; the value is the word by which it is accepted."""

    LOADS = "loads"
    STORES = "stores"
    UNWRITTEN = "unwritten"
    CASTS = "casts"
    RACES = "races"


@dataclass(slots=True)
class Found:
    """One kind of doubt at one place: how often, and the first positions with what was there."""

    doubt: Doubt
    item: Expr | Node
    statement: Node
    count: int = 0
    places: list[tuple[Dim3, str]] = field(default_factory=list)


class Stop(Exception):
    """Ends a run at the first finding."""


@dataclass(slots=True)
class Watch:
    """What a run is watched for, and what was found."""

    doubts: frozenset[Doubt]
    stop: bool = False
    is_written: Callable[[Expr], bool] = lambda _: True  # whether a cast is an author's
    gid: Callable[[Dim3], str] = str  # a position as its author counts it
    found: dict[tuple[Doubt, int], Found] = field(default_factory=dict)

    def note(self, event: _Event, lanes: Lanes, mask: Mask) -> None:
        """The lanes of an event that are in a mask, counted."""
        chosen = np.flatnonzero(event.lanes & mask)
        if not chosen.size or event.doubt not in self.doubts:
            return
        key = event.doubt, id(event.item)
        found = self.found.get(key)
        if found is None:
            found = self.found[key] = Found(event.doubt, event.item, event.statement)
        found.count += chosen.size
        where = positions(lanes)
        for lane in chosen[: KEPT - len(found.places)] if len(found.places) < KEPT else ():
            place = position_of(int(where[lane]), lanes.extent)
            found.places.append((place, event.detail(int(lane))))
        if self.stop:
            raise Stop


@dataclass(frozen=True, slots=True)
class _Event:
    """Lanes of which something is doubtful, once their value is used."""

    doubt: Doubt
    item: Expr | Node
    statement: Node
    lanes: NDArray[np.bool_]
    detail: Callable[[int], str]


class Watched(Machine):
    """A machine that tells a watch.

    What a name was given is doubtful only for lanes that look at it: a program computes both sides
    of a choice, and its author one.
    """

    def __init__(
        self,
        lanes: Lanes,
        memory: Mapping[str, Cells],
        read_names: frozenset[str],
        log: Log,
        watch: Watch,
        shadows: Mapping[str, Shadow],
    ) -> None:
        super().__init__(lanes, memory, read_names, log)
        self._watch, self._shadows = watch, shadows
        self._statement: Node | None = None
        self._waiting: dict[str, list[_Event]] = {}  # by name, until somebody looks at it
        self._sink: list[_Event] | None = None
        self._axes: dict[int, tuple[Value, ...]] = {}  # the indices of accesses along each axis
        self._epochs = np.zeros(lanes.count, np.int64)  # barriers that each lane came by

    def _beside(self, lanes: Lanes, memory: Mapping[str, Cells]) -> Watched:
        made = Watched(lanes, memory, self._read_names, self._log, self._watch, self._shadows)
        assert lanes.picked_from is not None, "others are some of these"
        made._epochs = self._epochs[lanes.picked_from[1]]
        made._statement = self._statement
        return made

    # -- statements

    def _step(self, node: Node, mask: Mask, rounds: Any) -> Mask:
        self._statement = node
        match node:
            case Let(name):
                before, self._sink = self._sink, []
                result = super()._step(node, mask, rounds)
                self._waiting[name], self._sink = self._sink, before
                return result
            case Reduce(body=body):
                for part in all_expressions(body):
                    if isinstance(part, Var):
                        self._look(part.name, mask)
            case _:
                pass
        return super()._step(node, mask, rounds)

    def _barrier(self, ordering: Ordering, mask: Mask) -> None:
        super()._barrier(ordering, mask)
        self._epochs[np.broadcast_to(np.asarray(mask), self._lanes.count)] += 1

    # -- values

    def _value(self, expr: Expr, mask: Mask) -> Value:
        match expr:
            case Var(name):
                self._look(name, mask)
            case Select(cond, true, false):
                test = self._value(cond, mask)
                yes = self._value(true, both(mask, test))
                no = self._value(false, both(mask, ~test))
                if test.ndim == 0:
                    return yes if test else no
                return np.where(test, yes, no)
            case Binary(BinaryOp.AND | BinaryOp.OR as op, left, right):
                first = self._value(left, mask)
                if first.dtype != np.bool_:
                    second = self._value(right, mask)
                    return first & second if op is BinaryOp.AND else first | second
                goes_on = first if op is BinaryOp.AND else ~first
                second = self._value(right, both(mask, goes_on))
                return first & second if op is BinaryOp.AND else first | second
            case Cast(target, operand):
                value = self._value(operand, mask)
                converted = convert(value, target)
                self._check_cast(expr, value, converted, mask)
                return converted
            case FlatIndex(buffer, indices):
                places = tuple(self._value(index, mask) for index in indices)
                self._axes[id(expr)] = places
                return flat_index(self._memory[buffer].shape, places)
            case _:
                pass
        return super()._value(expr, mask)

    def _look(self, name: str, mask: Mask) -> None:
        """Somebody looks at a name: what is doubtful of it is so from now on."""
        for event in self._waiting.get(name, ()):
            if mask is not True:
                event = replace(event, lanes=event.lanes & mask)
            self._tell(event)

    def _tell(self, event: _Event) -> None:
        if self._sink is not None:
            self._sink.append(event)
        else:
            self._watch.note(event, self._lanes, True)

    def _doubt(
        self, doubt: Doubt, item: Expr | Node, lanes: Value, detail: Callable[[int], str]
    ) -> None:
        if lanes.any():
            assert self._statement is not None
            whole = np.broadcast_to(lanes, self._lanes.count)
            self._tell(_Event(doubt, item, self._statement, whole, detail))

    def _check_cast(self, expr: Cast, value: Value, converted: Value, mask: Mask) -> None:
        if not expr.target.is_int or value.dtype == np.bool_ or not self._watch.is_written(expr):
            return
        if value.dtype.kind == "f":
            ends, whole = np.iinfo(converted.dtype), np.trunc(value)
            changed = np.isnan(value) | (whole >= float(ends.max + 1)) | (whole < float(ends.min))
        else:
            same_width = value.dtype.itemsize == converted.dtype.itemsize
            if same_width and _wraps_on_purpose(expr.value):
                return
            changed = (converted.astype(value.dtype) != value) | ((value < 0) != (converted < 0))

        def detail(lane: int) -> str:
            return f"{_at(value, lane)} becomes {_at(converted, lane)}"

        self._doubt(Doubt.CASTS, expr, changed & mask, detail)

    # -- arrays of an invocation, and tables

    def _element(self, expr: Element, held: Columns, places: Places, mask: Mask) -> Value:
        outside = self._covered(mask) & ~held.within(places)
        self._doubt(Doubt.LOADS, expr, outside, _name_of(expr.array, places, held.shape))
        return super()._element(expr, held, places, mask)

    def _put(self, node: Assign, held: Columns, places: Places, value: Value, mask: Mask) -> None:
        outside = self._covered(mask) & ~held.within(places)
        self._doubt(Doubt.STORES, node, outside, _name_of(Var(node.name), places, held.shape))
        super()._put(node, held, places, value, mask)

    # -- memory

    def _load(self, expr: Load, index: Value, mask: Mask) -> Value:
        cells, shadow = self._memory[expr.buffer], self._shadows.get(expr.buffer)
        lanes = self._taking_part(cells, mask)
        inside = np.broadcast_to(cells.within(index), self._lanes.count)
        name = self._named(expr.buffer, expr.index, index, cells)
        self._doubt(Doubt.LOADS, expr, lanes & ~inside, name)
        if shadow is not None:
            chosen = np.flatnonzero(np.broadcast_to(np.asarray(mask), lanes.shape) & inside)
            at = np.broadcast_to(cells.address(index), self._lanes.count)[chosen]
            if cells.base is not None:
                self._doubt(Doubt.UNWRITTEN, expr, self._spread(chosen, ~shadow.is_set[at]), name)
            self._race(expr, name, chosen, *shadow.read(at, *self._tags(chosen)))
        return super()._load(expr, index, mask)

    def _store(self, node: Store, index: Value, value: Value, mask: Mask) -> None:
        cells, shadow = self._memory[node.buffer], self._shadows.get(node.buffer)
        lanes = self._taking_part(cells, mask)
        inside = np.broadcast_to(cells.within(index), self._lanes.count)
        name = self._named(node.buffer, node.index, index, cells)
        self._doubt(Doubt.STORES, node, lanes & ~inside, name)
        if shadow is None:
            super()._store(node, index, value, mask)
            return
        chosen = np.flatnonzero(np.broadcast_to(np.asarray(mask), lanes.shape) & inside)
        at = np.broadcast_to(cells.address(index), self._lanes.count)[chosen]
        before = cells.data[at]
        given = np.broadcast_to(value, self._lanes.count)[chosen]
        super()._store(node, index, value, mask)
        self._race(
            node, name, chosen, *shadow.wrote(at, *self._tags(chosen), before, cells.data, given)
        )

    def _update(self, expr: Atomic, change: Update, mask: Mask) -> Value:
        cells, shadow = self._memory[expr.buffer], self._shadows.get(expr.buffer)
        lanes = self._taking_part(cells, mask)
        inside = np.broadcast_to(cells.within(change.index), self._lanes.count)
        name = self._named(expr.buffer, expr.index, change.index, cells)
        sink, self._sink = self._sink, None  # it happens, whether its result is looked at or not
        self._doubt(Doubt.STORES, expr, lanes & ~inside, name)
        if shadow is not None:
            chosen = np.flatnonzero(np.broadcast_to(np.asarray(mask), lanes.shape) & inside)
            at = np.broadcast_to(cells.address(change.index), self._lanes.count)[chosen]
            self._race(expr, name, chosen, *shadow.changed(at, *self._tags(chosen)))
        self._sink = sink
        return super()._update(expr, change, mask)

    def _taking_part(self, cells: Cells, mask: Mask) -> NDArray[np.bool_]:
        """The lanes of a mask; of an array, those within the extent: others are dropped anyway."""
        if cells.base is None:
            return self._covered(mask)
        return np.broadcast_to(np.asarray(mask), self._lanes.count)

    def _covered(self, mask: Mask) -> NDArray[np.bool_]:
        """The lanes of a mask that are within the extent."""
        lanes = np.broadcast_to(np.asarray(mask), self._lanes.count)
        if self._lanes.grouped:
            for axis in range(3):
                inside = self._lanes.id(IdKind.INVOCATION, axis) < self._lanes.extent[axis]
                lanes = lanes & inside
        return lanes

    def _tags(self, chosen: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which invocations some lanes are, and how many barriers they came by."""
        return numbers(self._lanes)[chosen], self._epochs[chosen]

    def _spread(self, chosen: NDArray[np.intp], which: Value) -> Value:
        lanes = np.zeros(self._lanes.count, np.bool_)
        lanes[chosen[which]] = True
        return lanes

    def _race(
        self,
        item: Expr | Node,
        name: Callable[[int], str],
        chosen: NDArray[np.intp],
        others: NDArray[np.int64],
        how: NDArray[np.int8],
    ) -> None:
        """Lanes that meet others at an element; -1 where they meet nobody."""
        met = others >= 0
        if not met.any():
            return
        place = {int(lane): number for number, lane in enumerate(chosen)}
        rank = self._lanes

        def detail(lane: int) -> str:
            number = place[lane]
            other = self._watch.gid(where_of(rank, int(others[number])))
            return f"{name(lane)}, also {HOW[int(how[number])]} by {other}"

        sink, self._sink = self._sink, None  # it happens, whether the value is looked at or not
        self._doubt(Doubt.RACES, item, self._spread(chosen, met), detail)
        self._sink = sink

    def _named(self, buffer: str, at: Expr, index: Value, cells: Cells) -> Callable[[int], str]:
        """How an element is called that a lane touches, and how many there are."""
        return _name_of(Var(buffer), self._axes.get(id(at), (index,)), cells.shape)


def _name_of(array: Expr, axes: Places, shape: tuple[int, ...]) -> Callable[[int], str]:
    size = " x ".join(str(extent) for extent in shape)
    called = array.name if isinstance(array, Var) else "table"

    def name(lane: int) -> str:
        found = [_at(axis, lane) for axis in axes]
        text = f"{called}[{', '.join(str(one) for one in found)}] of {size}"
        wrapped = [_wrapped(one) for one in found]
        if wrapped == found:
            return text
        return f"{text}, wrapped from {', '.join(str(one) for one in wrapped)}"

    return name


HOW = ("written", "read", "changed by an atomic")


def numbers(lanes: Lanes) -> NDArray[np.int64]:
    """Which invocations lanes are, counted over the launch."""
    if lanes.picked_from is not None:
        outer, places = lanes.picked_from
        return numbers(outer)[places]
    return np.arange(lanes.first, lanes.first + lanes.count, dtype=np.int64)


def where_of(lanes: Lanes, number: int) -> Dim3:
    """The position of an invocation by its number."""
    while lanes.picked_from is not None:
        lanes = lanes.picked_from[0]
    one = replace(lanes, first=number, count=1)
    x, y, z = (int(one.id(IdKind.INVOCATION, axis).reshape(-1)[0]) for axis in range(3))
    return x, y, z


def shadows_of(memory: Mapping[str, Cells], workgroup: Dim3) -> dict[str, Shadow]:
    """Who touched the elements of some buffers, nobody so far."""
    size = prod(workgroup)
    return {name: Shadow(cells.data.size, size) for name, cells in memory.items()}


def _at(value: Value, lane: int) -> Any:
    return value[lane] if value.ndim else value[()]


def _wrapped(index: Any) -> int:
    """What an index was before it wrapped, if it looks as if it did."""
    bits = 8 * index.dtype.itemsize
    number = int(index)
    return number - (1 << bits) if number >= 1 << (bits - 1) else number


def _wraps_on_purpose(expr: Expr) -> bool:
    """Whether a difference is cast to its own width, which is how one says that it may wrap."""
    return isinstance(expr, Binary) and expr.op is BinaryOp.SUB
