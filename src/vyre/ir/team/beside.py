"""Several results of one team: what rounds read for each of them alike is read once.

A team goes through the statements of neighbours along x together, so that their reductions are over
the same rounds. Those beyond the extent do the last position's work again, and store nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from vyre.ir.expr import Binary, BinaryOp, Expr, Id, IdKind, Load, Var
from vyre.ir.node import If, Let, Node, Reduce, Store
from vyre.ir.program import Program
from vyre.ir.serial import Fresh, u32
from vyre.ir.team.loops import stored_to
from vyre.ir.text import statement_text
from vyre.ir.walk import all_expressions, rebuild, rebuild_node, statements

_X = Id(IdKind.INVOCATION, 0)
_EXTENT = Id(IdKind.EXTENT, 0)


@dataclass(frozen=True, slots=True)
class Copy:
    """What a program's statements are for one of the results."""

    position: Expr
    names: Mapping[str, str]
    texts: Mapping[str, str]  # what statements are called, by what they were called

    def moved(self, expr: Expr) -> Expr:
        """An expression as it stands there."""
        return rebuild(expr, self.part)

    def part(self, part: Expr) -> Expr:
        """A part of it, whose own parts are as they stand there."""
        if part == _X:
            return self.position
        if isinstance(part, Var) and part.name in self.names:
            return Var(self.names[part.name])
        return part

    def of(self, node: Node) -> Node:
        """A statement as it stands there."""
        return self._named(
            rebuild_node(node, self.part, lambda inner: tuple(map(self._named, inner)))
        )

    def _named(self, node: Node) -> Node:
        parts = {
            field: self.names[name]
            for field in ("name", "var")
            if (name := getattr(node, field, "")) in self.names
        }
        return replace(node, **parts) if parts else node  # type: ignore[type-var]  # every Node is a dataclass


@dataclass(frozen=True, slots=True)
class Beside:
    """A program whose invocations stand for several positions along x each."""

    program: Program
    copies: tuple[Copy, ...]


def why_not_beside(nodes: Sequence[Node]) -> str | None:
    """Why a team cannot go through the statements of several positions together."""
    if not all(isinstance(node, (Let, Reduce, Store)) for node in nodes):
        return "it does more than to reduce, and to store what that comes to"
    names = [node.name for node in nodes if isinstance(node, (Let, Reduce))]
    if len(set(names)) < len(names):
        return "a name of it stands for one thing and then for another"
    if not any(part == _X for part in all_expressions(nodes)):
        return "it asks for no position along x"
    return None


def beside(
    program: Program, nodes: Sequence[Node], count: int, fresh: Fresh, *, beyond: bool = False
) -> Beside:
    """The program for so many positions of each invocation.

    Where invocations come by that are beyond the extent, they do the last position's work again,
    and what becomes of its stores is up to others.
    """
    assert why_not_beside(nodes) is None, program
    left = fresh("left")
    made: list[Node] = []
    here: Expr = _X
    last = Binary(BinaryOp.SUB, _EXTENT, u32(1))
    differ = differing(nodes)
    if beyond:
        within = fresh("position")
        made.append(Let(within, Binary(BinaryOp.MIN, _X, last)))
        here = Var(within)
    made.append(Let(left, Binary(BinaryOp.SUB, last, here)))
    copy = Copy(here, {}, {})
    copies = [replace(copy, texts=called(nodes, [copy.of(node) for node in nodes]))]
    for number in range(1, count):
        position, names = fresh("position"), {name: fresh(name) for name in sorted(differ)}
        away = Binary(BinaryOp.MIN, u32(number), Var(left))
        made.append(Let(position, Binary(BinaryOp.ADD, here, away)))
        copy = Copy(Var(position), names, {})
        copies.append(replace(copy, texts=called(nodes, [copy.of(node) for node in nodes])))
    waiting: list[Node] = []  # stores, behind all that does not read what they store
    for node in nodes:
        assert isinstance(node, (Let, Reduce, Store)), node
        several = [copy.of(node) for copy in copies]
        if not isinstance(node, Store) and node.name not in differ:
            several = several[:1]
        if isinstance(node, Store):
            first, *others = several
            waiting.append(first)
            for number, other in enumerate(others, 1):
                waiting.append(If(Binary(BinaryOp.LE, u32(number), Var(left)), (other,)))
            continue
        if _reads(node) & set(stored_to(waiting)):
            made += waiting
            waiting = []
        made += several
    return Beside(replace(program, entry=(*made, *waiting)), tuple(copies))


def called(before: Sequence[Node], now: Sequence[Node]) -> dict[str, str]:
    """What statements are called now, by what they were called."""
    pairs = zip(statements(before), statements(now), strict=True)
    return {statement_text(old): statement_text(new) for old, new in pairs}


def differing(nodes: Sequence[Node]) -> set[str]:
    """The names whose values go by the position."""
    found, stored = set[str](), set(stored_to(nodes))
    for node in nodes:
        if isinstance(node, (Let, Reduce)) and any(
            part == _X
            or (isinstance(part, Var) and part.name in found)
            or (isinstance(part, Load) and part.buffer in stored)
            for part in all_expressions((node,))
        ):
            found.add(node.name)
    return found


def _reads(node: Node) -> set[str]:
    return {part.buffer for part in all_expressions((node,)) if isinstance(part, Load)}
