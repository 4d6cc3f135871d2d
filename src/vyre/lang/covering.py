"""Which arrays a kernel reads at its positions, so that a call knows whose shape it covers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from vyre.ir.expr import Atomic, Cast, Expr, FlatIndex, Id, IdKind, Load, Var
from vyre.ir.node import (
    Assign,
    Break,
    Continue,
    Let,
    Loop,
    Node,
    Reduce,
    Return,
    Store,
    While,
)
from vyre.ir.program import Program
from vyre.ir.walk import bodies, operands, post_order, statements

_POSITIONS = (IdKind.INVOCATION, IdKind.LOCAL, IdKind.WORKGROUP)


@dataclass(frozen=True, slots=True, order=True)
class Along:
    """An axis of an array that is read at the position itself; axes count as NumPy's do."""

    array: str
    axis: int
    position: int  # the axis of the dispatch


@dataclass(frozen=True, slots=True)
class Covering:
    """What a program says about the arrays whose shape a call might cover."""

    along: tuple[Along, ...] = ()
    placed: frozenset[str] = frozenset()  # arrays at whose places the position has a part


def covering_of(program: Program, rank: int) -> Covering:
    """How a program of `rank` axes reads its arrays by position."""
    items = list(post_order(program.entry))
    expressions = [item for item in items if isinstance(item, Expr)]
    positioned = _positioned(program.entry, expressions)
    lets = _bound_once(program.entry)
    along, placed = set[Along](), set[str]()
    for item in items:
        if not isinstance(item, (Load, Store, Atomic)):
            continue
        if id(item.index) in positioned:
            placed.add(item.buffer)
        index = item.index
        indices = index.indices if isinstance(index, FlatIndex) else (index,)
        for axis, part in enumerate(indices):
            found = part
            while isinstance(found, Cast) or (isinstance(found, Var) and found.name in lets):
                found = found.value if isinstance(found, Cast) else lets[found.name]
            if isinstance(found, Id) and found.kind is IdKind.INVOCATION:
                along.add(Along(item.buffer, axis, rank - 1 - found.axis))
    return Covering(tuple(sorted(along)), frozenset(placed))


def _bound_once(nodes: Sequence[Node]) -> dict[str, Expr]:
    """Names that stand for one expression wherever they are seen."""
    bound = [node for node in statements(nodes) if isinstance(node, (Let, Assign))]
    counts = Counter(node.name for node in bound)
    counts.update(node.var for node in statements(nodes) if isinstance(node, (Loop, Reduce)))
    return {node.name: node.value for node in bound if counts[node.name] == 1}


def _positioned(nodes: Sequence[Node], expressions: Sequence[Expr]) -> set[int]:
    """The expressions, by id, in which the position has a part, also by way of conditions."""
    names = set[str]()
    while True:
        found = set[int]()
        for expr in expressions:  # children come before their parents
            own = isinstance(expr, Id) and expr.kind in _POSITIONS
            own = own or (isinstance(expr, Var) and expr.name in names)
            if own or any(id(part) in found for part in operands(expr)):
                found.add(id(expr))
        before = len(names)
        _spread(nodes, found, names, under=False)
        if len(names) == before:
            return found


def _spread(nodes: Sequence[Node], found: set[int], names: set[str], *, under: bool) -> bool:
    """Add the names whose value goes by what was found; whether anything in `nodes` does."""
    some = False
    for node in nodes:
        here = under or any(id(part) in found for part in operands(node))
        inside = [_spread(body, found, names, under=here) for body in bodies(node)]
        if any(inside) and isinstance(node, (Loop, While)) and _is_left(node):
            here = True  # how many rounds there are may go by what is found in one
            _spread(node.body, found, names, under=True)
        if here and isinstance(node, (Loop, Reduce)):
            names.add(node.var)
        if (here or any(inside)) and isinstance(node, (Let, Assign, Reduce)):
            names.add(node.name)
        some = some or here or any(inside)
    return some


def _is_left(loop: Loop | While) -> bool:
    """Whether something in a loop ends a round of it, or all of them."""
    return any(isinstance(node, (Break, Continue, Return)) for node in statements(loop.body))
