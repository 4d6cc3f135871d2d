"""What differs between the items of one invocation, and what they can do together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from functools import lru_cache

from vyre.ir.expr import (
    Alike,
    Atomic,
    Call,
    Expr,
    Id,
    IdKind,
    Lane,
    Load,
    OpaqueExpr,
    Subgroup,
    Var,
)
from vyre.ir.node import Assign, Break, Continue, If, Let, Loop, Node, Return, While
from vyre.ir.program import Program
from vyre.ir.walk import bodies, expressions, operands, statements

Ids = frozenset[tuple[IdKind, int]]

ITEMS: Ids = frozenset({(IdKind.INVOCATION, 0)})
"""What differs between the items of one invocation."""

MOST_NAMES = 64
"""Names of a loop that items go through side by side, where each has its own of them.

What registers one loop takes a kernel takes, however seldom it goes there: 255 for four items of
the nearest of centres of any number of axes, 112 where few axes alone are side by side (ptxas 13).
"""


@dataclass(frozen=True, slots=True)
class Variation:
    """The names whose values differ from item to item; all others are computed once for all."""

    names: Set[str]
    written: frozenset[str]  # buffers whose elements may change meanwhile
    ids: Ids = ITEMS
    returns: bool = False  # whether an item that ends early leaves the loops around it
    most_names: int | None = None  # of a loop that items go through side by side

    def varies(self, expr: Expr) -> bool:
        """Whether `expr` may differ between items."""
        if isinstance(expr, Alike):
            return False
        return any(self._part(part) for part in expressions(expr))

    def _part(self, part: Expr) -> bool:
        match part:
            case Id(kind, axis):
                return (kind, axis) in self.ids
            case Var(name):
                return name in self.names
            case Load(buffer):
                return buffer in self.written
            case Atomic() | Call() | OpaqueExpr() | Subgroup() | Lane():
                return True
            case _:
                return False

    def apart(self, node: Node) -> bool:
        """Whether the items must run `node` one after the other: their ways may part in it."""
        if isinstance(node, (If, While, Loop)) and any(self.varies(e) for e in operands(node)):
            return True
        if not isinstance(node, (While, Loop)):
            return False
        if self.most_names is not None and names_in(node) > self.most_names:
            return True
        return self._leaves(node.body) or (self.returns and self._ends(node.body))

    def _ends(self, nodes: Iterable[Node]) -> bool:
        """Whether some items may end among `nodes` where others go on."""
        for node in nodes:
            ends = any(isinstance(inner, Return) for inner in statements((node,)))
            if ends and isinstance(node, (If, While, Loop)):
                if any(self.varies(e) for e in operands(node)):
                    return True
                if isinstance(node, (While, Loop)) and self._leaves(node.body):
                    return True
            if ends and any(self._ends(body) for body in bodies(node)):
                return True
        return False

    def _leaves(self, nodes: Iterable[Node]) -> bool:
        """Whether some items may leave the loop around `nodes` where others stay."""
        for node in nodes:
            match node:
                case If(cond) if self.varies(cond):
                    if any(
                        isinstance(inner, (Break, Continue))
                        for inner in _of_this_loop((*node.then, *node.otherwise))
                    ):
                        return True
                case Loop() | While():
                    continue
                case _:
                    pass
            if any(self._leaves(body) for body in bodies(node)):
                return True
        return False


def _of_this_loop(nodes: Iterable[Node]) -> Iterable[Node]:
    """The statements inside `nodes` that no inner loop encloses."""
    for node in nodes:
        yield node
        if not isinstance(node, (Loop, While)):
            for body in bodies(node):
                yield from _of_this_loop(body)


@lru_cache(maxsize=256)
def variation(
    program: Program,
    ids: Ids = ITEMS,
    *,
    returns: bool = False,
    known: frozenset[str] = frozenset(),
    most_names: int | None = None,
) -> Variation:
    """What varies, found by letting it spread from ids and `known` names until nothing new does."""
    written = frozenset(d.name for d in program.buffers if d.is_written or d.is_shared)
    names = set(known)
    found = Variation(names, written, ids, returns, most_names)
    before = -1
    while len(names) > before:
        before = len(names)
        _spread(program.entry, found, names, parted=False)
    return replace(found, names=frozenset(names))


def _spread(nodes: Iterable[Node], known: Variation, names: set[str], *, parted: bool) -> None:
    """Adds names that vary to those of `known`: what follows goes by them at once."""
    for node in nodes:
        inside = parted or known.apart(node)
        match node:
            case Let(name, value) | Assign(name, value) if parted or known.varies(value):
                names.add(name)
            case Loop(var) if inside:
                names.add(var)
            case _:
                pass
        for body in bodies(node):
            _spread(body, known, names, parted=inside)


@dataclass(frozen=True, slots=True)
class Differences:
    """What differs between positions along each of several axes."""

    by_axis: Mapping[int, Variation]
    axes_of: Mapping[str, frozenset[int]]  # the axes along which a name differs; none: not listed

    def axes(self, expr: Expr) -> frozenset[int]:
        """The axes along which `expr` may differ."""
        return frozenset(axis for axis, found in self.by_axis.items() if found.varies(expr))

    def apart(self, node: Node) -> bool:
        """Whether positions must run `node` one after the other."""
        return any(found.apart(node) for found in self.by_axis.values())


ALIKE = Differences({}, {})
"""Of a single position."""


@lru_cache(maxsize=256)
def differences(
    program: Program, axes: tuple[int, ...], most_names: int | None = None
) -> Differences:
    """What differs along each axis.

    What ways that part assign differs along all of them: each position has its own then. A loop
    with more names than `most_names` is one of those ways.
    """
    parted: frozenset[str] = frozenset()
    while True:
        found = {
            axis: variation(
                program,
                frozenset({(IdKind.INVOCATION, axis)}),
                known=parted,
                most_names=most_names,
            )
            for axis in axes
        }
        names = frozenset(
            name for each in found.values() for name in _given_apart(program.entry, each)
        )
        if names <= parted:
            every = frozenset().union(*(each.names for each in found.values()))
            return Differences(
                found,
                {
                    name: frozenset(axis for axis, each in found.items() if name in each.names)
                    for name in every
                },
            )
        parted |= names


def _given_apart(nodes: Iterable[Node], known: Variation, *, inside: bool = False) -> Iterable[str]:
    """The names that statements give which positions run one after the other."""
    for node in nodes:
        apart = inside or known.apart(node)
        if apart and isinstance(node, (Let, Assign)):
            yield node.name
        if apart and isinstance(node, Loop):
            yield node.var
        for body in bodies(node):
            yield from _given_apart(body, known, inside=apart)


def names_in(loop: While | Loop) -> int:
    """How many names a loop binds."""
    return sum(isinstance(node, Let) for node in statements(loop.body))


def returns_early(program: Program) -> bool:
    """Whether an invocation can end before its last statement."""
    return any(isinstance(node, Return) for node in statements(program.entry))
