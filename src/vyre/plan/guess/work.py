"""What one position of a program does at a launch, in numbers that costs under any schedule follow.

Everything here is known before anything is compiled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod

from vyre.analysis import Facts
from vyre.analysis.forms import Launch, Linear, Poly, Symbol
from vyre.analysis.reader import Reading, Touch, read, read_for
from vyre.emit.lanes import variation
from vyre.emit.staging import stages
from vyre.emit.windows import window_of
from vyre.ir.accuracy import ULP_BOUND
from vyre.ir.expr import Binary, BinaryOp, Expr, Id, Load, Unary, UnaryOp, Var
from vyre.ir.node import Assign, Let, Loop, Node, Store, While
from vyre.ir.program import Program
from vyre.ir.text import statement_text
from vyre.ir.walk import bodies, expressions, statements
from vyre.model import Dim3
from vyre.plan.guess.streams import Brought, Stream, Written, streams_of
from vyre.plan.launch_numbers import NumberNotKnown


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one position costs, and how many there are."""

    extent: Dim3
    streams: tuple[Stream, ...]
    operations: float  # all rounds of all loops, each as one
    heavy: float  # divisions and roots
    functions: float  # such as exp and sin
    converted: float  # elements that are unpacked or packed in steps
    chain: float  # of the operations, those in loops that load nothing: each waits for the last
    parted: float  # of the operations, those that some invocations skip
    looped: bool  # a loop whose length differs between neighbours
    wide: bool  # elements of 8 bytes
    counters: int  # elements that a group of several items adds up on its own
    held: int  # registers for the names that every item has of its own
    checked: float  # accesses that test their index
    proved: float  # those that do not, where the code says so
    placing: float = 0.0  # of the operations, those that only say where an element is
    fast: bool = False  # functions and divisions are the device's own instructions
    passing: bool = False  # lanes side by side may pass elements on to each other

    @property
    def positions(self) -> int:
        return prod(self.extent)


def work_of(program: Program, facts: Facts, launch: Launch) -> Work:
    """What one position of a program does in a launch."""

    def number(poly: Poly) -> int | None:
        try:
            return poly.at(launch)
        except (KeyError, NumberNotKnown):
            return None

    proved = _Proved(program, facts)
    reading = _reading(program, tuple(map(number, _asked(program))))
    x, y, z = (max(launch.value(Symbol("extent", axis=axis)), 1) for axis in range(3))
    buffers = {decl.name: decl for decl in program.buffers}
    accesses = list(zip(reading.touches, facts.accesses, strict=True))
    streams = streams_of(accesses, _written(proved), x * y * z, number)
    counts = reading.counts
    loops = [node for node in statements(program.entry) if isinstance(node, (Loop, While))]
    walks = any(s.rounds > 1 for s in streams)
    checked = sum(touch.rounds for touch, access in accesses if access.in_bounds is None)
    wide = any(decl.element.min_bytes == 8 for decl in program.buffers)
    return Work(
        extent=(x, y, z),
        streams=streams,
        operations=reading.operations,
        heavy=sum(counts.get(op, 0) for op in _HEAVY),
        functions=sum(_FUNCTIONS.get(op, 1.0) * n for op, n in counts.items() if op in ULP_BOUND),
        converted=sum(
            t.rounds
            for t in reading.touches
            if buffers[t.buffer].element.computed != buffers[t.buffer].element
        ),
        chain=0.0 if walks or not loops else reading.operations,
        parted=reading.parted,
        looped=any(variation(program).apart(node) for node in loops),
        wide=wide,
        counters=sum(facts.counters.values()),
        held=_held(program) * (2 if wide else 1),
        checked=checked,
        proved=sum(touch.rounds for touch in reading.touches) - checked,
        placing=min(sum(map(_placing, reading.touches)), reading.operations),
        fast=program.options.fast_math,
        passing=_passing(proved),
    )


_HEAVY = (
    BinaryOp.DIV,
    BinaryOp.MOD,
    BinaryOp.FLOOR_DIV,
    BinaryOp.FLOOR_MOD,
    UnaryOp.SQRT,
)
_FUNCTIONS: Mapping[BinaryOp | UnaryOp, float] = {
    UnaryOp.EXP: 0.5,
    UnaryOp.EXP2: 0.5,
    UnaryOp.ERFC: 3.0,
    UnaryOp.ERF: 2.0,
    BinaryOp.POW: 4.0,
    UnaryOp.SIN: 1.5,
    UnaryOp.COS: 1.5,
    UnaryOp.TAN: 2.5,
}
"""Where a function takes more or less than the others, such as a logarithm."""


def _placing(touch: Touch) -> float:
    """Operations of an index that a form stands for, so that neighbours share them."""
    if not all(isinstance(form, Linear) for form in touch.indices):
        return 0.0
    parts = expressions(touch.index)
    return touch.rounds * sum(isinstance(part, (Binary, Unary)) for part in parts)


@dataclass(frozen=True, slots=True)
class _Proved:
    """A program, and what is proved of it: equal programs have equal proofs."""

    program: Program
    facts: Facts = field(compare=False)

    @property
    def out(self) -> tuple[Program, Facts]:
        """The same with its small loops written out."""
        return self.facts.written_out or (self.program, self.facts)


@lru_cache(maxsize=256)
def _passing(proved: _Proved) -> bool:
    """Whether no window follows positions along x: lanes of a warp then all look inside, or none.

    Windows along the rows of an array are checked element by element instead.
    """
    return not any(
        found is not None and found[0] == 0
        for access in proved.out[1].accesses
        for axis in range(len(access.forms))
        for found in (window_of(access, axis),)
    )


def _brought(proved: _Proved) -> dict[str, Brought]:
    """The arrays that a workgroup can bring to its own memory, and what moves along their axes."""
    return {
        stage.buffer: Brought(
            stage.moves, stage.aligned and (stage.offsets[-1].constant or 0) % 4 == 0
        )
        for stage in stages(*proved.out).values()
    }


@lru_cache(maxsize=256)
def _written(proved: _Proved) -> Written:
    program = proved.program
    loops = [node for node in statements(program.entry) if isinstance(node, Loop)]
    loaded = {
        node.name
        for node in statements(program.entry)
        if isinstance(node, Let) and _loads(node.value)
    }

    def is_loaded(bound: Expr) -> bool:
        return _loads(bound) or (isinstance(bound, Var) and bound.name in loaded)

    segments = {node.var for node in loops if is_loaded(node.start) and is_loaded(node.stop)}
    return Written(
        {decl.name: decl for decl in program.buffers},
        _together(program),
        frozenset(segments),
        _brought(proved),
    )


def _loads(value: Expr) -> bool:
    return any(isinstance(one, Load) for one in expressions(value))


@lru_cache(maxsize=256)
def _together(program: Program) -> frozenset[str]:
    """The statements that all items of an invocation come by side by side, so that vectors serve.

    What is in the condition of a branch, or under one, is done item by item.
    """
    varied = variation(program)
    found: set[str] = set()

    def body(nodes: Iterable[Node]) -> None:
        for node in nodes:
            if varied.apart(node):
                continue
            if isinstance(node, (Let, Assign, Store)):
                found.add(statement_text(node))
            for inner in bodies(node):
                body(inner)

    body(program.entry)
    return frozenset(found)


@lru_cache(maxsize=256)
def _held(program: Program) -> int:
    """The names that each of several items has of its own, beside its position."""
    nodes = list(statements(program.entry))
    places = {node.name for node in nodes if isinstance(node, Let) and isinstance(node.value, Id)}
    varied = variation(program)
    in_turn = any(varied.apart(node) for node in nodes if isinstance(node, (Loop, While)))
    return 0 if in_turn else len(varied.names - places)


@lru_cache(maxsize=256)
def _asked(program: Program) -> tuple[Poly, ...]:
    """The loop lengths that only a launch knows."""
    asked: dict[Poly, None] = {}

    def number(poly: Poly) -> None:
        asked[poly] = None

    read_for(program, number)
    return tuple(asked)


@lru_cache(maxsize=256)
def _reading(program: Program, lengths: tuple[int | None, ...]) -> Reading:
    asked = _asked(program)
    if not asked:
        return read(program)
    known = dict(zip(asked, lengths, strict=True))
    return read_for(program, lambda poly: known.get(poly))
