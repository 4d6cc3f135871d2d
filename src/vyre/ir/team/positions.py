"""A row of positions along x as one loop, behind what does not depend on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from vyre.ir.expr import Expr, Id, IdKind, Load, Var
from vyre.ir.node import Assign, Block, Let, Loop, Node, Reduce, Region, Return, Store
from vyre.ir.program import Program
from vyre.ir.serial import Fresh, u32
from vyre.ir.text import statement_text
from vyre.ir.walk import all_expressions, names_of, rebuild_node, statements


@dataclass(frozen=True, slots=True)
class Rows:
    """A program whose invocations stand for a row of positions each."""

    program: Program
    texts: Mapping[str, Sequence[str]]  # what statements are called now, by what they were called
    x: str  # the name of the position along x


def by_rows(program: Program, fresh: Fresh) -> Rows | None:
    """The program with a loop over the positions along x, behind what does not depend on them."""
    across = Id(IdKind.INVOCATION, 0)
    nodes = unwrapped(program.entry)
    if any(isinstance(node, Return) for node in statements(nodes)):
        return None
    if not any(part == across for part in all_expressions(nodes)):
        return None
    changed = {node.name for node in statements(nodes) if isinstance(node, Assign)}
    written = {node.buffer for node in statements(nodes) if isinstance(node, Store)}
    before, behind, differs = list[Node](), list[Node](), set[str]()

    def depends(node: Node) -> bool:
        return any(
            part == across
            or (isinstance(part, Var) and part.name in differs | changed)
            or (isinstance(part, Load) and part.buffer in written)
            for part in all_expressions((node,))
        )

    for node in nodes:
        bound = set(names_of((node,)))
        if isinstance(node, (Let, Reduce)) and not bound & changed and not depends(node):
            before.append(node)
        else:
            behind.append(node)
            differs |= bound
    if any(isinstance(node, Reduce) for node in statements(behind)):
        return None
    x = fresh("x")
    body = tuple(rebuild_node(node, partial(moved_to, x)) for node in behind)
    texts = {
        statement_text(old): (statement_text(new),)
        for old, new in zip(statements(behind), statements(body), strict=True)
    }
    row = Loop(x, u32(0), Id(IdKind.EXTENT, 0), body)
    return Rows(replace(program, entry=(*before, row)), texts, x)


def moved_to(x: str, expr: Expr) -> Expr:
    """An expression, with the name `x` for the position along x."""
    return Var(x) if expr == Id(IdKind.INVOCATION, 0) else expr


def unwrapped(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """A program's statements without the lists that only hold them."""
    match nodes:
        case (Region(body=body) | Block(body=body),):
            return unwrapped(body)
        case _:
            return tuple(nodes)
