"""Which reads of a program a workgroup can bring to its own memory, and how they lie there.

Lanes that read the same elements (the rows and columns of a product, the bodies of a sum over all
of them) then read memory once; lanes that would each walk a row of their own, or read across rows,
then read it in the order in which it lies.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TypeGuard

from vyre.analysis import Facts
from vyre.analysis.facts import MemoryAccess
from vyre.analysis.forms import ONE, ZERO, Counter, Gid, Linear, Poly
from vyre.analysis.reader import LOAD
from vyre.emit.accesses import Spot, spot_of
from vyre.emit.dialect import WARP, WIDTHS
from vyre.emit.items import Items
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import Atomic, Call, Expr, Id, IdKind, OpaqueExpr, Subgroup
from vyre.ir.node import Assign, Block, If, Let, Loop, Node, Region, Store
from vyre.ir.program import Program
from vyre.ir.types import DataType
from vyre.ir.walk import all_expressions, bodies, statements
from vyre.model import Code

ROUND = -1
"""What moves along an axis of an array: a loop's round, or the position along an axis."""

_WORDS = (DataType.U32, DataType.I32)
_PLAIN = (Let, Assign, Store, If, Loop, Block, Region)
_SHARING = (Atomic, Call, OpaqueExpr, Subgroup)
_VECTOR_BYTES = 16


@dataclass(frozen=True, slots=True)
class Stage:
    """A read that is brought: by axis of its array, what moves along it and from where."""

    buffer: str
    size: int  # bytes of an element in memory
    moves: tuple[int | None, ...]
    offsets: tuple[Poly, ...]
    signed: tuple[bool, ...]  # whether an index beyond 2**31 counts as negative
    loop: str | None  # the name of the counter, where a loop's rounds move it
    aligned: bool  # rounds begin at a multiple of what a vector holds
    positive: bool  # no round is below 0
    proved: tuple[bool, ...]  # whether positions within the extent need no check along an axis

    def begins_inside(self, axis: int) -> bool:
        """Whether no index along an axis is before 0, which wraps around."""
        return self.offsets[axis] == ZERO and (self.positive or self.moves[axis] != ROUND)


@lru_cache(maxsize=256)
def why_not_together(program: Program) -> str | None:
    """Why no workgroup may run the program together, as filling its memory asks for."""
    for node in statements(program.entry):
        if not isinstance(node, _PLAIN):
            word = type(node).__name__.lower()
            return f"it has a {word}, so that some lanes may end before others"
    if any(isinstance(expr, _SHARING) for expr in all_expressions(program.entry)):
        return "lanes beyond the extent would take part in what others see"
    if any(decl.is_shared for decl in program.buffers):
        return "it has workgroup memory of its own"
    return None


def why_no_stages(program: Program, facts: Facts) -> str | None:
    """Why a workgroup cannot bring what the program reads."""
    why_not = why_not_together(program)
    if why_not is None and not stages(program, facts):
        return "lanes share no reads that are known beforehand"
    return why_not


def stages(program: Program, facts: Facts) -> dict[Spot, Stage]:
    """The reads that can be brought, with how."""
    if why_not_together(program) is not None:
        return {}
    loops = _outermost_loops(program)
    axes = {expr.axis for expr in all_expressions(program.entry) if _is_position(expr)}
    found: dict[Spot, Stage | None] = {}
    for access in facts.accesses:
        stage = _stage(access, program.buffer(access.buffer), loops, axes)
        spot = spot_of(access)
        found[spot] = stage if found.get(spot, stage) == stage else None
    return {spot: stage for spot, stage in found.items() if stage is not None}


def _is_position(expr: Expr) -> TypeGuard[Id]:
    return isinstance(expr, Id) and expr.kind is IdKind.INVOCATION


def _outermost_loops(program: Program) -> dict[str, Loop]:
    """The loops that every invocation comes by once, by their counters; each name counts once."""
    names: Tally[str] = Tally()
    for node in statements(program.entry):
        match node:
            case Let(name) | Loop(name):
                names[name] += 1
            case _:
                pass

    def outermost(nodes: tuple[Node, ...]) -> Iterator[Loop]:
        for node in nodes:
            if isinstance(node, Loop) and names[node.var] == 1:
                yield node
            if isinstance(node, (Block, Region)):
                yield from outermost(bodies(node)[0])

    return {loop.var: loop for loop in outermost(program.entry)}


def _stage(
    access: MemoryAccess, decl: BufferDecl, loops: dict[str, Loop], axes: set[int]
) -> Stage | None:
    """How an access is brought, if neighbours share it or read across memory; `axes` are used."""
    if access.kind != LOAD or decl.is_written or decl.is_shared or not decl.element.is_scalar:
        return None
    moves: list[int | None] = []
    counter: Counter | None = None
    for form in access.forms:
        if not isinstance(form, Linear) or form.dtype not in _WORDS or len(form.terms) > 1:
            return None
        moves.append(None)
        for variable, factor in form.terms.items():
            if factor != ONE:
                return None
            if isinstance(variable, Gid):
                moves[-1] = variable.axis
            elif isinstance(variable, Counter) and counter is None:
                counter, moves[-1] = variable, ROUND
            else:
                return None
    moving = [move for move in moves if move is not None]
    if len(set(moving)) < len(moving):
        return None
    if counter is not None and (counter.name not in loops or counter.dtype not in _WORDS):
        return None
    across = 0 in moves and moves[-1] != 0
    shared = counter is not None and not axes <= set(moving)
    if not (across and moves[-1] is not None) and not shared:
        return None
    forms = [form for form in access.forms if isinstance(form, Linear)]
    element = decl.element
    stored = 4 if element.is_bool else element.min_bytes
    begins = counter.start.constant if counter is not None else 0
    unsigned = counter is None or counter.dtype == DataType.U32
    return Stage(
        buffer=decl.name,
        size=stored,
        moves=tuple(moves),
        offsets=tuple(form.offset for form in forms),
        signed=tuple(form.dtype == DataType.I32 for form in forms),
        loop=None if counter is None else counter.name,
        aligned=begins is not None and begins % 16 == 0,
        positive=unsigned or (begins is not None and begins >= 0),
        proved=tuple(item is not None and not item.is_guarded for item in access.by_axis),
    )


@dataclass(frozen=True, slots=True)
class Arrangement:
    """How a stage lies in workgroup memory: rounds, then lines, then columns, the last fastest."""

    stage: Stage
    sizes: tuple[int, ...]  # of what is brought at once, by axis of the array
    strides: tuple[int, ...]  # in workgroup memory, by axis of the array
    length: int  # elements in all
    brought: int  # elements that are loaded at once
    read: int  # and that a lane reads at once

    def stride(self, move: int) -> int:
        """How far apart two lie that differ by one along `move`; 0 where it does not move."""
        return sum(s for s, own in zip(self.strides, self.stage.moves, strict=True) if own == move)

    @property
    def halves(self) -> int:
        """One is filled while the other is read."""
        return 2 if self.stage.loop is not None else 1

    @property
    def bytes(self) -> int:
        return self.halves * self.length * self.stage.size


def arranged(stage: Stage, code: Code) -> Arrangement:
    """How a stage lies for a code that has its workgroup."""
    assert code.group is not None
    items = Items.of(code)
    x, y, z = (size * each for size, each in zip(code.group, items.counts, strict=True))
    span = {0: x, 1: y, 2: z, ROUND: code.depth, None: 1}
    sizes = tuple(span[move] for move in stage.moves)
    last = stage.moves[-1]
    # A lane that has a row of its own reads several rounds of it at once.
    walks = last == ROUND and 0 in stage.moves and len(items) == 1
    order = [m for m in ((2, 1, 0, ROUND) if walks else (2, ROUND, 1, 0)) if m in stage.moves]
    read = _read_at_once(order[-1], items, code, stage.size)
    turned = last is not None and last != order[-1]
    pad = _VECTOR_BYTES // stage.size if walks else 0
    if turned:  # lanes that bring neighbours write a column each, apart from the others' banks
        pad = read if read > 1 else 1 - span[order[-1]] % 2
    strides: dict[int | None, int] = {None: 0}
    reach = 1
    for move in reversed(order):
        strides[move] = reach
        reach *= span[move] + (pad if move == order[-1] else 0)
    return Arrangement(
        stage=stage,
        sizes=sizes,
        strides=tuple(strides[move] for move in stage.moves),
        length=reach,
        brought=_brought_at_once(stage, sizes, code, pad=0 if turned else pad),
        read=read,
    )


def _read_at_once(fast: int, items: Items, code: Code, size: int) -> int:
    """Neighbours that a lane reads in one access of workgroup memory."""
    if fast == 0:
        own = code.at_once
        return own if own in WIDTHS and own * size <= _VECTOR_BYTES else 1
    if fast == 1:
        return next((w for w in (4, 2) if items.counts[1] % w == 0 and w * size <= 16), 1)
    return 1


def _brought_at_once(stage: Stage, sizes: tuple[int, ...], code: Code, *, pad: int) -> int:
    """Neighbours that a lane loads in one access of the array; a launch sees to their alignment."""
    width, last = code.vector, stage.moves[-1]
    offset = stage.offsets[-1]
    starts = offset.constant is not None and offset.constant % width == 0
    even = sizes[-1] % width == 0 and (last != ROUND or stage.aligned) and pad % width == 0
    fits = width in WIDTHS and width <= 4 and width * stage.size <= _VECTOR_BYTES
    return width if not code.checked and fits and starts and even and last is not None else 1


def bytes_of(arrangements: Iterable[Arrangement]) -> int:
    """The workgroup memory that they take, each beginning where a vector may."""
    return sum(-(-one.bytes // _VECTOR_BYTES) * _VECTOR_BYTES for one in arrangements)


def lanes_of(code: Code) -> tuple[int, int, int]:
    """Lanes that are launched for a workgroup, the first that loads, and how many do."""
    assert code.group is not None
    own = prod(code.group)
    every = own * (1 + code.loaders)
    # A warp that computes and loads does one after the other.
    first = -(-own // WARP) * WARP
    first = 0 if not code.loaders else first if first < every else own
    return every, first, every - first
