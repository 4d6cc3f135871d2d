"""Runs what is certain of a program's first workgroup, and finds lanes that meet in its memory.

Value are known per lane as far as they follow from constants and positions; what depends on memory
or on the launch is not. A branch on something unknown is followed where all lanes take it together,
and left out where each goes its own way. So what is found here happens, but not all that happens is
found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from vyre.analysis.lane_values import alone, flat, size, together
from vyre.ir.arithmetic import Value
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import (
    Atomic,
    Binary,
    BinaryOp,
    Bitcast,
    BufDim,
    BufLen,
    Cast,
    Expr,
    FlatIndex,
    Id,
    IdKind,
    Lit,
    Load,
    Select,
    Unary,
    Var,
)
from vyre.ir.node import (
    Assign,
    Barrier,
    Break,
    Continue,
    If,
    Let,
    Loop,
    Node,
    Reduce,
    Return,
    Store,
    While,
    Yield,
)
from vyre.ir.program import Program
from vyre.ir.storage import COMPUTED
from vyre.ir.types import DataType
from vyre.ir.walk import all_expressions, bodies, operands, statements

MOST_LANES = 1024
MOST_STEPS = 4000
MOST_TOUCHES = 200
MOST_ELEMENTS = 1 << 16
"""Lanes that are looked at, statements that are run, touches that are kept between barriers, and
elements of a memory: beyond them nothing is certain."""

MOST_ROUNDS = 16
"""Rounds of a loop that are run where their number is known; two of one where it is not."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two lanes that touch one element between the same two barriers, one of them to write it."""

    buffer: str
    element: int
    earlier: Touch
    later: Touch
    lanes: tuple[int, int]  # of the earlier and of the later touch
    next_round: bool  # whether it is the next round of a loop that meets the one before


def missing_barrier(program: Program, varying: frozenset[int]) -> Meeting | None:
    """The first meeting of lanes that is certain, if there is one.

    Args:
        program: a valid one, all of whose barriers are reached by all lanes.
        varying: the identities of the statements whose condition, bounds or stored value may differ
            between lanes.
    """
    lanes = min(prod(program.workgroup_size), MOST_LANES)
    if lanes < 2 or not any(decl.is_shared for decl in program.buffers):
        return None
    try:
        with np.errstate(all="ignore"):
            _Run(program, varying, lanes).list(program.entry, np.ones(lanes, np.bool_))
    except _Met as met:
        return met.meeting
    except _Lost:
        return None
    return None


class _Met(Exception):
    def __init__(self, meeting: Meeting) -> None:
        super().__init__()
        self.meeting = meeting


class _Lost(Exception):
    """From here on nothing is certain, or too much has been run."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Touch:
    """What some lanes do to some elements: lane by lane, and for each element its outermost lanes.

    `alike` says that whoever writes an element writes the same there; lanes of one kin write the
    same wherever that is.
    """

    node: Node
    step: int
    buffer: str
    writes: bool
    is_atomic: bool
    alike: bool
    kin: Value | None
    lanes: Value
    elements: Value
    lowest: Value
    highest: Value

    def includes(self, lane: int, element: int) -> bool:
        return bool(np.any((self.lanes == lane) & (self.elements == element)))

    def meets(self, later: Touch) -> tuple[int, int, int] | None:
        """An element, a lane of this touch and another one of a later touch that meet there."""
        if self.buffer != later.buffer or not (self.writes or later.writes):
            return None
        if self.is_atomic and later.is_atomic:
            return None
        low, high = self.lowest[later.elements], self.highest[later.elements]
        others = np.where(low == later.lanes, high, low)
        for place in np.flatnonzero((high >= 0) & (others != later.lanes)):
            element, lane, other = (int(v[place]) for v in (later.elements, later.lanes, others))
            if not self.is_harmless(later, lane, other, element):
                return element, other, lane
        return None

    def is_harmless(self, later: Touch, lane: int, other: int, element: int) -> bool:
        """Whether nobody can tell in which order the two of them come."""
        if self.is_atomic or later.is_atomic or not self.writes:
            return False
        if not later.writes:
            return self.alike and self.includes(lane, element)
        if self.kin is not None and self is later and self.kin[lane] == self.kin[other]:
            return True
        if self.node is later.node or _stored(self) == _stored(later) is not None:
            return later.alike
        # Who wrote first writes again, so that what is written second stands in the end.
        return later.alike and later.includes(other, element)


def _stored(touch: Touch) -> Lit | None:
    value = touch.node.value if isinstance(touch.node, Store) else None
    return value if isinstance(value, Lit) else None


@dataclass(slots=True)
class _Loop:
    """The lanes that left a loop, or the present round of it."""

    broken: Mask
    continued: Mask


class _Run:
    """The statements of a program over the lanes of one workgroup."""

    def __init__(self, program: Program, varying: frozenset[int], lanes: int) -> None:
        self.buffers: Mapping[str, BufferDecl] = {decl.name: decl for decl in program.buffers}
        self.workgroup, self.varying = program.workgroup_size, varying
        self.everyone = np.arange(lanes)
        self.order = {id(node): place for place, node in enumerate(statements(program.entry))}
        self.values: dict[str, Value | None] = {}
        self.touches: list[Touch] = []
        self.loops: list[_Loop] = []
        self.steps = 0

    # -- statements

    def list(self, nodes: Sequence[Node], mask: Mask) -> Mask:
        """Run the lanes of `mask`; the ones that come out at the end."""
        for node in nodes:
            if not mask.any():
                break
            self.steps += 1
            if self.steps > MOST_STEPS:
                raise _Lost
            mask = self.statement(node, mask)
        return mask

    def statement(self, node: Node, mask: Mask) -> Mask:
        match node:
            case Let(name, value):
                self.values[name] = self.value(value, mask, node)
            case Assign(name, value):
                self.assign(name, self.value(value, mask, node), mask)
            case Store(buffer, index, value):
                at = self.value(index, mask, node)
                self.value(value, mask, node)
                self.touch(node, buffer, at, mask, writes=True)
            case If():
                return self.branches(node, mask)
            case Loop() | While():
                return self.rounds(node, mask)
            case Reduce(name):
                mask = self.rounds(node, mask)
                self.values[name] = None
            case Yield(value):
                self.value(value, mask, node)
            case Break():
                self.loops[-1].broken |= mask
                return np.zeros_like(mask)
            case Continue():
                self.loops[-1].continued |= mask
                return np.zeros_like(mask)
            case Return():
                return np.zeros_like(mask)
            case Barrier():
                self.touches = []
            case _:
                for expr in operands(node):
                    self.value(expr, mask, node)
                for body in bodies(node):
                    mask = self.list(body, mask)
        return mask

    def assign(self, name: str, value: Value | None, mask: Mask) -> None:
        before = self.values.get(name)
        if mask.all():
            self.values[name] = value
        elif value is None or before is None:
            self.values[name] = None
        else:
            self.values[name] = np.where(mask, value, before)

    def branches(self, node: If, mask: Mask) -> Mask:
        test = self.value(node.cond, mask, node)
        if test is not None:
            yes = self.list(node.then, mask & test)
            return yes | self.list(node.otherwise, mask & ~test)
        for body in (node.then, node.otherwise):
            if id(node) not in self.varying:
                self.suppose(body, mask)
            elif any(_exits(body)):
                raise _Lost  # nobody knows who is left
        self.forget(node.then, node.otherwise)
        return mask

    def suppose(self, body: Sequence[Node], mask: Mask) -> None:
        """Run what all lanes may run together or not, and go back to before it."""
        values, touches = dict(self.values), self.touches
        loops = [(loop.broken.copy(), loop.continued.copy()) for loop in self.loops]
        self.touches = list(touches)
        self.list(body, mask)
        self.values, self.touches = values, touches
        for loop, (broken, continued) in zip(self.loops, loops, strict=True):
            loop.broken, loop.continued = broken, continued

    def forget(self, *lists: Sequence[Node]) -> None:
        """Know nothing that statements may have changed which may have run, or may not."""
        for node in (node for one in lists for node in statements(one)):
            if isinstance(node, Assign):
                self.values[node.name] = None
            if isinstance(node, Barrier):
                self.touches = []

    def rounds(self, node: _Repeated, mask: Mask) -> Mask:
        """Run some rounds of a loop: all of them, where they are few and known."""
        if not self.matters(node):
            self.forget(node.body)
            return mask
        bounds = [self.value(expr, mask, node) for expr in _bounds(node)]
        loop = _Loop(np.zeros_like(mask), np.zeros_like(mask))
        self.loops.append(loop)
        outside = np.zeros_like(mask)
        inside, is_over, known = mask, False, True
        for number in range(MOST_ROUNDS):
            test = self.goes_on(node, bounds, number, inside)
            if test is None:
                known = False
                break
            outside, inside = outside | (inside & ~test), inside & test
            if not inside.any():
                is_over = True
                break
            inside = self.round(node, bounds, number, inside)
        if not known and id(node) not in self.varying:
            # All lanes go on together: a loop is written to run more than once.
            values, touches = dict(self.values), list(self.touches)
            for further in range(2):
                inside = self.round(node, bounds, number + further, inside)
            self.values, self.touches, inside = values, touches, mask
        self.loops.pop()
        if not is_over:
            if any(isinstance(inner, Return) for inner in statements(node.body)):
                raise _Lost
            self.forget(node.body)
            return mask
        return outside | loop.broken

    def matters(self, node: _Repeated) -> bool:
        """Whether a loop touches workgroup memory, waits, or ends lanes."""
        return any(
            isinstance(part, (Barrier, Return))
            or (isinstance(part, (Load, Atomic, Store)) and self.buffers[part.buffer].is_shared)
            for part in (*statements([node]), *all_expressions([node]))
        )

    def goes_on(
        self, node: _Repeated, bounds: Sequence[Value | None], number: int, mask: Mask
    ) -> Value | None:
        """Which lanes have a further round, if that is known."""
        if isinstance(node, While):
            return self.value(node.cond, mask, node)
        start, stop = bounds
        if start is None or stop is None:
            return None
        return start.astype(np.int64) + number < stop.astype(np.int64)

    def round(
        self, node: _Repeated, bounds: Sequence[Value | None], number: int, mask: Mask
    ) -> Mask:
        if not isinstance(node, While):
            start = bounds[0]
            self.values[node.var] = None if start is None else start + start.dtype.type(number)
        loop = self.loops[-1]
        loop.continued = np.zeros_like(mask)
        return self.list(node.body, mask) | loop.continued

    # -- memory

    def touch(
        self,
        node: Node,
        buffer: str,
        at: Value | None,
        mask: Mask,
        *,
        writes: bool = False,
        is_atomic: bool = False,
    ) -> None:
        """Note which lanes touch which elements, and whether they meet any that did before."""
        decl = self.buffers[buffer]
        if not decl.is_shared or at is None:
            return
        if decl.count > MOST_ELEMENTS:
            raise _Lost
        index = np.broadcast_to(at, mask.shape).astype(np.int64)
        lanes = self.everyone[mask & (index >= 0) & (index < decl.count)]
        if not lanes.size:
            return
        elements = index[lanes]
        lowest, highest = np.full(decl.count, MOST_LANES), np.full(decl.count, -1)
        np.minimum.at(lowest, elements, lanes)
        np.maximum.at(highest, elements, lanes)
        made = Touch(
            node=node,
            step=self.steps,
            buffer=buffer,
            writes=writes,
            is_atomic=is_atomic,
            alike=isinstance(node, Store) and id(node) not in self.varying,
            kin=self.kin(node) if isinstance(node, Store) and writes else None,
            lanes=lanes,
            elements=elements,
            lowest=lowest,
            highest=highest,
        )
        for earlier in (*self.touches, made):
            met = earlier.meets(made)
            if met is not None:
                element, *pair = met
                again = self.is_next_round(earlier, made)
                raise _Met(Meeting(buffer, element, earlier, made, (pair[0], pair[1]), again))
        self.touches.append(made)
        if len(self.touches) > MOST_TOUCHES:
            raise _Lost

    def kin(self, node: Store) -> Value | None:
        """A number for each lane: lanes of one number store the same, as far as anybody knows.

        None where what is known does not tell lanes apart, so that something else does.
        """
        known = [np.broadcast_to(one, self.everyone.shape) for one in self.leaves(node.value, node)]
        varying = [one for one in known if np.any(one != one[0])]
        if not varying:
            return None
        numbered = [np.unique(one, return_inverse=True)[1] for one in varying]
        return np.unique(np.stack(numbered), axis=1, return_inverse=True)[1].ravel()

    def leaves(self, expr: Expr, node: Node) -> Iterator[Value]:
        """The largest parts of an expression whose values are known; places stand for loads."""
        found = self.value(expr, np.zeros_like(self.everyone, np.bool_), node)
        if found is not None:
            yield found
            return
        for part in operands(expr):
            yield from self.leaves(part, node)

    def is_next_round(self, earlier: Touch, later: Touch) -> bool:
        before, after = (self.order[id(touch.node)] for touch in (earlier, later))
        return after < before or (after == before and earlier.step != later.step)

    # -- expressions

    def value(self, expr: Expr, mask: Mask, node: Node) -> Value | None:
        """What is known of an expression; its loads and atomics happen on the way."""
        match expr:
            case Lit(dtype):
                return None if dtype.is_float else np.asarray(expr.value, COMPUTED[dtype.tag])
            case Var(name):
                return self.values.get(name)
            case Id(kind, axis):
                return self.position(kind, axis)
            case BufLen(buffer):
                return size(self.buffers[buffer].count)
            case BufDim(buffer, axis):
                shape = self.buffers[buffer].shape or (self.buffers[buffer].count,)
                return size(shape[axis])
            case Load(buffer, index):
                self.touch(node, buffer, self.value(index, mask, node), mask)
                return None
            case Atomic(_, buffer, index, value, expected):
                at = self.value(index, mask, node)
                for part in (value, expected):
                    if part is not None:
                        self.value(part, mask, node)
                self.touch(node, buffer, at, mask, writes=True, is_atomic=True)
                return None
            case FlatIndex(buffer, indices):
                parts = [self.value(index, mask, node) for index in indices]
                return flat(self.buffers[buffer].shape, parts)
            case Select(cond, true, false):
                test = self.value(cond, mask, node)
                # Nobody sees what the side gives that is not taken.
                yes = self.value(true, _where(mask, test), node)
                no = self.value(false, _where(mask, None if test is None else ~test), node)
                if test is None or yes is None or no is None:
                    return None
                return np.where(test, yes, no)
            case Binary(BinaryOp.AND | BinaryOp.OR as op, left, right):
                first = self.value(left, mask, node)
                open_ = first if op is BinaryOp.AND or first is None else ~first
                return together(op, first, self.value(right, _where(mask, open_), node))
            case Binary(op, left, right):
                return together(op, self.value(left, mask, node), self.value(right, mask, node))
            case Unary(op, operand):
                inner = self.value(operand, mask, node)
                return alone(op, inner)
            case Cast(target, value) | Bitcast(target, value):
                inner = self.value(value, mask, node)
                whole = target.is_int or target.is_bool
                return inner.astype(COMPUTED[target.tag]) if inner is not None and whole else None
            case _:
                for part in operands(expr):
                    self.value(part, mask, node)
                return None

    def position(self, kind: IdKind, axis: int) -> Value | None:
        """A position in the first workgroup, where lanes count from 0 in it and in all."""
        match kind:
            case IdKind.LOCAL | IdKind.INVOCATION:
                stride = prod(self.workgroup[:axis])
                return (self.everyone // stride % self.workgroup[axis]).astype(np.uint32)
            case IdKind.WORKGROUP:
                return np.asarray(0, np.uint32)
            case IdKind.WORKGROUP_SIZE:
                return size(self.workgroup[axis])
            case IdKind.EXTENT:
                return None


_Repeated = Loop | Reduce | While
"""What has rounds."""


def _bounds(node: _Repeated) -> tuple[Expr, ...]:
    """Where a counter starts and before what it stops."""
    match node:
        case Loop(_, start, stop):
            return start, stop
        case Reduce(rounds=many):
            return Lit.of(DataType.U32, 0), many
        case While():
            return ()


def _exits(nodes: Sequence[Node]) -> Iterator[Node]:
    """The statements by which lanes leave a list for good."""
    for node in nodes:
        if isinstance(node, (Return, Break, Continue)):
            yield node
        inside = [exit_ for body in bodies(node) for exit_ in _exits(body)]
        is_loop = isinstance(node, (Loop, While))
        yield from (exit_ for exit_ in inside if isinstance(exit_, Return) or not is_loop)


def _where(mask: Mask, test: Value | None) -> Mask:
    return np.zeros_like(mask) if test is None else mask & test
