"""What a team's rounds compute more than once, so that it can be kept between them.

A softmax goes over a row three times: for its greatest element, for a sum, and to store. Each time
it reads the row again, and twice it takes the same exponentials. Where each lane has the same few
rounds every time, what they come to fits into registers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from vyre.ir.expr import Binary, BinaryOp, Expr, Lit, Load, Unary, UnaryOp, Var
from vyre.ir.loops import ACTS
from vyre.ir.node import Let, Loop, Node, Reduce, While
from vyre.ir.program import Program
from vyre.ir.serial import Together, together
from vyre.ir.team.loops import is_shared, stored_to
from vyre.ir.types import DataType
from vyre.ir.typing import TRANSCENDENTAL, Scope, TypeProblem, type_of
from vyre.ir.walk import (
    all_expressions,
    expressions,
    names_of,
    operands,
    outermost,
    rebuild,
    size_of,
    statements,
)

MOST_PARTS = 80
"""Statements and expressions of a round: they are written for each round of a lane."""

MOST_KEPT = 2
"""Values of a round that are kept: each takes a register for every round of a lane."""

ROUND = " round"  # no name of a program has a space in it
_DEAR = TRANSCENDENTAL | {UnaryOp.SQRT, UnaryOp.INVERSE_SQRT}


@dataclass(frozen=True, slots=True)
class Body:
    """A round of a walk: what counts it, and its statements."""

    counter: str
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Walk:
    """One of the times that lanes go over the same rounds: by reductions, or to store."""

    rounds: Expr
    bodies: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """What rounds of several walks compute, and where the first of them does."""

    means: Expr
    """Itself, in terms that all walks share."""
    dtype: DataType
    walk: int  # the place of its part
    body: Body
    node: int  # the place of the statement in it
    found: Expr  # as it stands there


@dataclass(frozen=True, slots=True)
class Again:
    """A program's statements, which of them are walks, and what those compute more than once."""

    parts: tuple[Node | Together, ...]
    walks: Mapping[int, Walk]  # by the place of their part
    values: tuple[Value, ...]

    @property
    def first(self) -> int:
        """The place of the first walk."""
        return min(self.walks)


@dataclass(slots=True)
class Meanings:
    """What expressions of a round mean, whatever its names are."""

    body: Body
    of_names: dict[str, Expr] = field(default_factory=dict)
    _once: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.of_names[self.body.counter] = Var(ROUND)
        bound = Counter(names_of(self.body.nodes))
        self._once = frozenset(name for name, times in bound.items() if times == 1)

    def of(self, expr: Expr) -> Expr:
        """An expression with its names' meanings in their place."""

        def meant(part: Expr) -> Expr:
            return self.of_names.get(part.name, part) if isinstance(part, Var) else part

        return rebuild(expr, meant)

    def bind(self, node: Node) -> None:
        """Go on behind a statement."""
        if isinstance(node, Let) and node.name in self._once:
            means = self.of(node.value)
            if size_of((means,)).parts <= MOST_PARTS:
                self.of_names[node.name] = means


def again_in(
    nodes: Sequence[Node], program: Program, x: str | None, stored: Mapping[str, int]
) -> Again | None:
    """What the walks of statements compute again; None where that is nothing."""
    parts = tuple(together(nodes))
    once = {name for name, times in Counter(names_of(nodes)).items() if times == 1}
    walks = dict(_walks(parts, program, x, stored, once))
    if len(walks) < 2:
        return None
    lasting = {name: dtype for name, dtype in _types(parts, program).items() if name in once}
    scope = Scope({**lasting, ROUND: DataType.U32}, {d.name: d for d in program.buffers})
    seen: dict[Expr, Value] = {}
    used: dict[Expr, Value] = {}
    for place, walk in walks.items():
        new: dict[Expr, Value] = {}
        for body in walk.bodies:
            meanings = Meanings(body)
            for number, node in enumerate(body.nodes):
                for expr in outermost(node, lambda part: meanings.of(part) in seen):  # noqa: B023  # asked at once
                    known = seen[meanings.of(expr)]
                    used[known.means] = known
                for expr in (part for whole in operands(node) for part in expressions(whole)):
                    means = meanings.of(expr)
                    if _is_worth(means, scope) and means not in seen:
                        dtype = type_of(means, scope, _unheard)
                        assert dtype is not None, means
                        new.setdefault(means, Value(means, dtype, place, body, number, expr))
                meanings.bind(node)
        seen |= new
    return Again(parts, walks, tuple(used.values())[:MOST_KEPT]) if used else None


def _walks(
    parts: Sequence[Node | Together],
    program: Program,
    x: str | None,
    stored: Mapping[str, int],
    once: Collection[str],
) -> Iterator[tuple[int, Walk]]:
    """The walks of so many rounds as are known before the first of them.

    What names say that are given more than `once` may be another number by then.
    """
    before: set[str] = set()
    begun = False
    for place, part in enumerate(parts):
        walk = _walk_of(part, x, stored)
        if walk is not None and _names(walk.rounds) <= before and _may_keep(walk, program):
            yield place, walk
            begun = True
        elif isinstance(part, Let) and part.name in once and not begun:
            before.add(part.name)


def _walk_of(part: Node | Together, x: str | None, stored: Mapping[str, int]) -> Walk | None:
    if isinstance(part, Together):
        return Walk(part.rounds, tuple(Body(one.var, one.body) for one in part.reductions))
    if not isinstance(part, Loop) or part.start != Lit.of(DataType.U32, 0):
        return None
    if part.var == x or is_shared(part, stored):
        return Walk(part.stop, (Body(part.var, part.body),))
    return None


def _may_keep(walk: Walk, program: Program) -> bool:
    """Whether rounds are few enough statements, which read nothing that they have stored."""
    nodes = [node for body in walk.bodies for node in body.nodes]
    inside = list(statements(nodes))
    if any(isinstance(node, (Loop, While, Reduce)) for node in inside):
        return False
    loads = [part for part in expressions(walk.rounds) if isinstance(part, Load)]
    if not all(program.buffer(load.buffer).is_scalar_argument for load in loads):
        return False
    written: set[str] = set()
    for node in nodes:
        read = {part.buffer for part in all_expressions((node,)) if isinstance(part, Load)}
        if read & written:
            return False
        written.update(stored_to((node,)))
    return size_of(nodes).parts <= MOST_PARTS


def needed(lets: Sequence[Node], found: Expr) -> tuple[Let, ...]:
    """The statements among some that bind what an expression needs."""
    wanted = {part.name for part in expressions(found) if isinstance(part, Var)}
    kept: list[Let] = []
    for node in reversed(lets):
        assert isinstance(node, Let), node
        if node.name in wanted:
            kept.append(node)
            wanted |= {part.name for part in expressions(node.value) if isinstance(part, Var)}
    return tuple(reversed(kept))


def _names(expr: Expr) -> set[str]:
    return {part.name for part in expressions(expr) if isinstance(part, Var)}


def _types(parts: Sequence[Node | Together], program: Program) -> dict[str, DataType]:
    """The types of names that stand beside the walks."""
    decls = {decl.name: decl for decl in program.buffers}
    found: dict[str, DataType] = {}
    for part in parts:
        nodes = (*part.reductions, *part.others) if isinstance(part, Together) else (part,)
        for node in nodes:
            if isinstance(node, Reduce):
                found[node.name] = node.result
            elif isinstance(node, Let):
                dtype = type_of(node.value, Scope(found, decls), _unheard)
                if dtype is not None:
                    found[node.name] = dtype
    return found


def _is_worth(means: Expr, scope: Scope) -> bool:
    """Whether it differs between rounds and takes its time, and means the same in all walks."""
    match means:
        case Load(buffer):
            dear = not scope.buffers[buffer].is_scalar_argument
        case Unary(op):
            dear = op in _DEAR
        case Binary(BinaryOp.DIV):
            dear = True
        case _:
            dear = False
    names = _names(means) if dear else set()
    plain = not any(isinstance(part, ACTS) for part in expressions(means))
    return ROUND in names and names <= scope.names.keys() and plain


def _unheard(problem: TypeProblem) -> None:
    """What is wrong with a program is told elsewhere."""
