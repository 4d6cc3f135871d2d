"""Which statements all lanes of a workgroup take as one, and which names live past them."""

from __future__ import annotations

from collections.abc import Sequence

from vyre.ir.expr import Var
from vyre.ir.node import Assign, Barrier, Break, Continue, Loop, Node, Return, While
from vyre.ir.walk import all_expressions, bodies, statements


def names_in(nodes: Sequence[Node]) -> frozenset[str]:
    """The names that statements read or change."""
    read = {e.name for e in all_expressions(nodes) if isinstance(e, Var)}
    return frozenset(read | {n.name for n in statements(nodes) if isinstance(n, Assign)})


def _leaves_outer(node: Node) -> bool:
    """Whether a break or continue in a statement is of a loop around it."""
    if isinstance(node, (Break, Continue)):
        return True
    if isinstance(node, (Loop, While)):
        return False
    return any(_leaves_outer(inner) for body in bodies(node) for inner in body)


def holds(nodes: Sequence[Node], kind: type[Node]) -> bool:
    """Whether there is such a statement among them, however deep."""
    return any(isinstance(node, kind) for node in statements(nodes))


def is_together(node: Node, *, waits: bool) -> bool:
    """Whether all lanes take a statement as one: a barrier, or what leads all past one.

    Where `waits`, a barrier may follow, so that lanes return together or not at all.
    """
    return holds((node,), Barrier) or _leaves_outer(node) or (waits and holds((node,), Return))


def changed_in_phases(nodes: Sequence[Node], *, waits: bool = False) -> frozenset[str]:
    """Names that a statement changes which runs once for every vector of lanes."""
    found: set[str] = set()
    for number, node in enumerate(nodes):
        later = waits or holds(nodes[number + 1 :], Barrier)
        if is_together(node, waits=later):
            again = isinstance(node, (Loop, While)) and holds((node,), Barrier)
            for body in bodies(node):
                found |= changed_in_phases(body, waits=later or again)
        elif not isinstance(node, Assign):
            found |= {part.name for part in statements((node,)) if isinstance(part, Assign)}
    return frozenset(found)
