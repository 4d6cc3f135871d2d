"""Statements and expressions over many lanes in lockstep, with masks where they part ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from vyre.backend.reference import functions
from vyre.backend.reference.columns import Columns, Places
from vyre.backend.reference.convert import convert
from vyre.backend.reference.folding import Elements, fold, fold_blocks, joined, result
from vyre.backend.reference.fused import fma
from vyre.backend.reference.lanes import LANES_AT_ONCE, Lanes, picked
from vyre.backend.reference.memory import Cells, Mask, Update, flat_index, load, store, update
from vyre.backend.reference.said import Log
from vyre.errors import InvalidProgram
from vyre.ir import arithmetic
from vyre.ir.arithmetic import Operator, Value
from vyre.ir.expr import (
    Array,
    Atomic,
    Binary,
    BinaryOp,
    Bitcast,
    BufDim,
    BufLen,
    Cast,
    Element,
    Expr,
    FlatIndex,
    Fma,
    Id,
    Lit,
    Load,
    Ordering,
    Put,
    Select,
    Unary,
    UnaryOp,
    Var,
)
from vyre.ir.fold import BLOCK
from vyre.ir.node import (
    Assign,
    Barrier,
    Block,
    Break,
    Continue,
    If,
    Let,
    Loop,
    Node,
    Print,
    Reduce,
    Region,
    Return,
    Store,
    Trap,
    While,
    Yield,
)
from vyre.ir.storage import COMPUTED
from vyre.ir.types import Tag
from vyre.ir.walk import all_expressions

_BINARY: Mapping[BinaryOp, Operator] = {**arithmetic.BINARY, **functions.BINARY}
_UNARY: Mapping[UnaryOp, Operator] = {**arithmetic.UNARY, **functions.UNARY}


@dataclass(slots=True)
class _Rounds:
    """The lanes that left the innermost loop, or the present round of it."""

    broken: Mask = False
    continued: Mask = False


class Machine:
    """Runs statements for one chunk of lanes.

    `read_names` are the names that anything in the program looks at: the old value of an atomic
    bound to another name need not be found. What lanes say goes to the log.
    """

    def __init__(
        self,
        lanes: Lanes,
        memory: Mapping[str, Cells],
        read_names: frozenset[str],
        log: Log,
    ) -> None:
        self._lanes, self._memory, self._read_names = lanes, memory, read_names
        self._log = log
        self._names: dict[str, Value] = {}
        self._yielded: Value = np.zeros(0)  # the element of each lane that is a round, and who
        self._has_yielded: Mask = False  # has one
        self._arrays: dict[str, Columns] = {}

    def run(self, nodes: Sequence[Node]) -> None:
        self._list(nodes, True, _Rounds())

    def _list(self, nodes: Sequence[Node], mask: Mask, rounds: _Rounds) -> Mask:
        """Runs the lanes of `mask`; the ones that come out at the end."""
        for node in nodes:
            if mask is False:
                break
            mask = self._step(node, mask, rounds)
        return mask

    def _step(self, node: Node, mask: Mask, rounds: _Rounds) -> Mask:
        match node:
            # No name hides another in a valid program, so that one table serves all lists.
            case Let(name, Atomic() as expr):
                is_read = name in self._read_names
                self._names[name] = self._atomic(expr, mask, is_read=is_read)
            case Let(name, Array() as array):
                self._arrays[name] = Columns.of(array)
            case Assign(name, Array() as array):
                self._arrays[name].refill(array, self._lanes, mask)
            case Assign(name, Put(_, indices, expr)):
                places = tuple(self._value(index, mask) for index in indices)
                self._put(node, self._arrays[name], places, self._value(expr, mask), mask)
            case Let(name, expr):
                self._names[name] = self._value(expr, mask)
            case Assign(name, expr):
                value = self._value(expr, mask)
                self._names[name] = (
                    value if mask is True else np.where(mask, value, self._names[name])
                )
            case Store(_, at, expr):
                index, value = self._value(at, mask), self._value(expr, mask)
                self._store(node, index, value, mask)
            case If(cond, then, otherwise):
                test = self._value(cond, mask)
                yes = self._list(then, both(mask, test), rounds)
                no = self._list(otherwise, both(mask, ~test), rounds)
                return either(yes, no)
            case Block(body) | Region(_, body):
                return self._list(body, mask, rounds)
            case Loop():
                return self._loop(node, mask)
            case While(cond, body):
                return self._while(cond, body, mask)
            case Reduce(name):
                self._names[name] = self._reduce(node, mask)
            case Yield(expr):
                np.copyto(self._yielded, self._value(expr, mask), where=mask)
                self._has_yielded = either(self._has_yielded, mask)
            case Break():
                rounds.broken = either(rounds.broken, mask)
                return False
            case Continue():
                rounds.continued = either(rounds.continued, mask)
                return False
            case Return():
                return False
            case Barrier(ordering):
                self._barrier(ordering, mask)
            case Print(_, exprs):
                values = [self._value(expr, mask) for expr in exprs]
                self._log.print(node, values, self._lanes, mask)
            case Trap():
                self._log.fail(node, self._lanes, mask)
                # Others may wait for these lanes at a barrier, so there they go on.
                return mask if self._lanes.grouped else False
            case _:
                raise AssertionError(f"{type(node).__name__} was not refused")
        return mask

    def _loop(self, node: Loop, mask: Mask) -> Mask:
        start, stop = self._value(node.start, mask), self._value(node.stop, mask)
        if start.ndim == stop.ndim == 0:
            return self._uniform_rounds(node, start, stop, mask)
        return self._lane_rounds(node, start, stop, mask)

    def _uniform_rounds(self, node: Loop, start: Value, stop: Value, mask: Mask) -> Mask:
        broken: Mask = False
        for count in range(int(start), int(stop)):
            if mask is False:
                break
            self._names[node.var] = np.asarray(count, start.dtype)
            mask, left = self._round(node.body, mask)
            broken = either(broken, left)
        return either(mask, broken)

    def _lane_rounds(self, node: Loop, start: Value, stop: Value, mask: Mask) -> Mask:
        done: Mask = False
        count, one = start, start.dtype.type(1)
        while mask is not False:
            more = count < stop
            done = either(done, both(mask, ~more))
            mask = both(mask, more)
            self._names[node.var] = count
            mask, left = self._round(node.body, mask)
            done = either(done, left)
            count = count + one
        return done

    def _while(self, cond: Expr, body: tuple[Node, ...], mask: Mask) -> Mask:
        done: Mask = False
        while mask is not False:
            more = self._value(cond, mask)
            done = either(done, both(mask, ~more))
            mask, left = self._round(body, both(mask, more))
            done = either(done, left)
        return done

    def _round(self, body: tuple[Node, ...], mask: Mask) -> tuple[Mask, Mask]:
        """One round of a loop: the lanes that go on to the next one, and those that broke out."""
        rounds = _Rounds()
        mask = self._list(body, mask, rounds)
        return either(mask, rounds.continued), rounds.broken

    def _reduce(self, node: Reduce, mask: Mask) -> Value:
        """What a reduction comes to, for every lane of `mask`."""
        rounds = self._value(node.rounds, mask)
        if self._agrees(node, rounds):
            return self._folded(node, rounds.reshape(1), np.zeros(1, np.intp)).reshape(())
        lanes = np.arange(self._lanes.count) if mask is True else np.flatnonzero(mask)
        rounds = np.broadcast_to(rounds, self._lanes.count)[lanes]
        most = int(rounds.max())
        step = max(1, LANES_AT_ONCE // min(max(most, 1), BLOCK))
        found = np.zeros(self._lanes.count, COMPUTED[node.result.tag])
        for first in range(0, lanes.size, step):
            some = slice(first, first + step)
            found[lanes[some]] = self._folded(node, rounds[some], lanes[some])
        return found

    def _agrees(self, node: Reduce, rounds: Value) -> bool:
        """Whether all lanes see the same rounds with the same elements."""
        if rounds.ndim:
            return False
        for part in all_expressions(node.body):
            match part:
                case Var(name) if name in self._names and self._names[name].ndim:
                    return False
                case Var(name) if name in self._arrays and not self._arrays[name].is_shared:
                    return False
                case Id(kind, axis) if self._lanes.id(kind, axis).ndim:
                    return False
                case Load(buffer) if self._memory[buffer].base is not None:
                    return False
                case _:
                    pass
        return True

    def _folded(self, node: Reduce, rounds: Value, lanes: NDArray[np.intp]) -> Value:
        """What so many rounds of each of some lanes come to."""
        most = int(rounds.max())
        step = max(1, LANES_AT_ONCE // (BLOCK * lanes.size)) * BLOCK
        runs = [range(first, min(first + step, most)) for first in range(0, most, step)]
        blocks = [
            fold_blocks(node.op, self._elements(node, rounds, lanes, run))
            for run in runs or [range(0)]
        ]
        folded: Value = result(node.op, node.dtype, fold(node.op, joined(blocks)))[0]
        return folded

    def _elements(
        self, node: Reduce, rounds: Value, lanes: NDArray[np.intp], run: range
    ) -> Elements:
        """The elements of a run of rounds: each round of each lane runs as a lane of its own."""
        places = np.tile(lanes, len(run))
        memory = {name: cells.picked(places) for name, cells in self._memory.items()}
        inner = self._beside(self._lanes.picked(places), memory)
        read = {part.name for part in all_expressions(node.body) if isinstance(part, Var)}
        inner._names = {name: picked(self._names[name], places) for name in read & {*self._names}}
        inner._arrays = {name: self._arrays[name].picked(places) for name in read & {*self._arrays}}
        number = np.repeat(np.arange(run.start, run.stop, dtype=np.uint32), lanes.size)
        inner._names[node.var] = number
        inner._yielded = np.zeros(places.size, COMPUTED[node.dtype.tag])
        inner._list(node.body, _settled(number < np.tile(rounds, len(run))), _Rounds())
        has_yielded = np.broadcast_to(inner._has_yielded, places.size)
        found = Elements(inner._yielded, has_yielded, number)
        return found.each(lambda array: array.reshape(len(run), lanes.size))

    def _beside(self, lanes: Lanes, memory: Mapping[str, Cells]) -> Machine:
        """A machine of the same kind for other lanes."""
        return Machine(lanes, memory, self._read_names, self._log)

    def _barrier(self, ordering: Ordering, mask: Mask) -> None:
        """Lanes in lockstep need no waiting; what is checked is that none is missing."""
        if not isinstance(mask, np.ndarray):
            return
        if ordering is Ordering.GRID_SYNC:
            size, where = self._lanes.count, "the grid"
        else:
            size, where = prod(self._lanes.workgroup), "one workgroup"
        for reached in np.count_nonzero(mask.reshape(-1, size), axis=1):
            if 0 < reached < size:
                raise InvalidProgram(
                    f"a barrier is reached by {reached} of the {size} lanes of {where}",
                    "move the barrier out of the branch or loop that some lanes leave out, "
                    "and return after the last barrier only",
                )

    def _value(self, expr: Expr, mask: Mask) -> Value:
        match expr:
            case Var(name):
                return self._names[name]
            case Lit():
                return _literal(expr)
            case Binary(op, left, right):
                return _BINARY[op](self._value(left, mask), self._value(right, mask))
            case Load(_, at):
                return self._load(expr, self._value(at, mask), mask)
            case Id(kind, axis):
                return self._lanes.id(kind, axis)
            case Unary(op, operand):
                return _UNARY[op](self._value(operand, mask))
            case Cast(target, operand):
                return convert(self._value(operand, mask), target)
            case Bitcast(target, operand):
                return self._value(operand, mask).view(COMPUTED[target.tag])
            case Select(cond, true, false):
                test = self._value(cond, mask)
                yes, no = self._value(true, mask), self._value(false, mask)
                if test.ndim == 0:
                    return yes if test else no
                return np.where(test, yes, no)
            case Fma(a, b, c):
                return fma(self._value(a, mask), self._value(b, mask), self._value(c, mask))
            case Element(array, indices):
                places = tuple(self._value(index, mask) for index in indices)
                held = self._arrays[array.name] if isinstance(array, Var) else _table(array)
                return self._element(expr, held, places, mask)
            case Atomic():
                return self._atomic(expr, mask, is_read=True)
            case FlatIndex(buffer, indices):
                places = tuple(self._value(index, mask) for index in indices)
                return flat_index(self._memory[buffer].shape, places)
            case BufLen(buffer):
                return np.asarray(self._memory[buffer].length, np.uint32)
            case BufDim(buffer, axis):
                return np.asarray(self._memory[buffer].shape[axis], np.uint32)
            case _:
                raise AssertionError(f"{type(expr).__name__} was not refused")

    def _atomic(self, expr: Atomic, mask: Mask, *, is_read: bool) -> Value:
        index = self._value(expr.index, mask)
        expected = None if expr.expected is None else self._value(expr.expected, mask)
        change = Update(
            op=expr.op,
            index=index,
            value=self._value(expr.value, mask),
            expected=expected,
            is_read=is_read,
        )
        return self._update(expr, change, mask)

    # -- what touches memory, for whoever watches

    def _load(self, expr: Load, index: Value, mask: Mask) -> Value:  # noqa: ARG002  # loads are total
        return load(self._memory[expr.buffer], index, self._lanes)

    def _element(self, expr: Element, held: Columns, places: Places, mask: Mask) -> Value:  # noqa: ARG002  # loads are total
        return held.at(places)

    def _put(self, node: Assign, held: Columns, places: Places, value: Value, mask: Mask) -> None:  # noqa: ARG002  # for whoever tells of it
        held.put(places, value, self._lanes, mask)

    def _store(self, node: Store, index: Value, value: Value, mask: Mask) -> None:
        store(self._memory[node.buffer], index, value, self._lanes, mask)

    def _update(self, expr: Atomic, change: Update, mask: Mask) -> Value:
        return update(self._memory[expr.buffer], change, self._lanes, mask)


@lru_cache(maxsize=256)
def _table(array: Expr) -> Columns:
    """Constants, which nothing changes."""
    assert isinstance(array, Array), "an element is of a name or of constants"
    return Columns.of(array)


def _literal(lit: Lit) -> Value:
    dtype = COMPUTED[lit.dtype.tag]
    if lit.dtype.tag in (Tag.F32, Tag.F64):  # by its bits, which are more than its value (NaN)
        return np.asarray(lit.bits, f"u{dtype.itemsize}").view(dtype)
    return np.asarray(lit.value, dtype)


def both(mask: Mask, test: Value) -> Mask:
    """The lanes of a mask of which a test holds."""
    if test.ndim == 0:
        return mask if test else False
    return _settled(test if mask is True else test & mask)


def either(a: Mask, b: Mask) -> Mask:
    """The lanes of one mask or the other."""
    if a is False or b is True:
        return b
    if b is False or a is True:
        return a
    return _settled(np.logical_or(a, b))


def _settled(lanes: Value) -> Mask:
    """A plain bool where all lanes or none are set, so that uniform paths stay cheap."""
    count = np.count_nonzero(lanes)
    return lanes if 0 < count < lanes.size else bool(count)
