"""A program's statements as legs of a relay: reductions that teams share, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from vyre.ir.expr import Expr, Lit, Load, Var
from vyre.ir.fold import BLOCK
from vyre.ir.node import Assign, Let, Loop, Node, Reduce, Return, Store
from vyre.ir.serial import Together, together
from vyre.ir.team.loops import is_shared, stored_to
from vyre.ir.walk import all_expressions, expressions, statements


@dataclass(frozen=True, slots=True)
class Leg:
    """Reductions over the same rounds, which teams share, and what each team does before."""

    before: tuple[Node, ...]
    group: Together


@dataclass(frozen=True, slots=True)
class Relay:
    """What teams that share a result do one after the other, and what is left then.

    What is left is one team's, the last to come by, or of all of them where it `spreads`: it only
    stores what the reductions came to, or in loops whose rounds any lane may do.
    """

    legs: tuple[Leg, ...]
    behind: tuple[Node, ...]
    spreads: bool

    @property
    def launches(self) -> int:
        """How often a program is launched: teams do not wait for each other but by ending."""
        return len(self.legs) + self.spreads


def relay_through(
    nodes: Sequence[Node], x: str | None, stored: Mapping[str, int], scalars: frozenset[str]
) -> Relay | None:
    """How teams share a program's statements; None where there is no reduction to share.

    Reductions are shared whose rounds a launch decides, or which have many written down; where
    there are none of these, the one that has most. Each stands before anything that is stored, and
    under no condition: what is done once would be done by each team.

    Args:
        nodes: the statements.
        x: what counts the positions of a row, where a team stands for one.
        stored: how often arrays are stored to.
        scalars: arrays that are passed by value.
    """
    shared, rest = _divided(nodes)
    found: list[Leg] = []
    before: list[Node] = []
    for part in shared:
        if isinstance(part, Together):
            found.append(Leg(tuple(before), part))
            before = list(part.others)
        else:
            before.append(part)
    if not found:
        return None
    behind = (*before, *rest)
    every = [node for leg in found for node in leg.before]
    spreads = _spreads(every, behind, x, stored, scalars)
    return Relay(tuple(found), behind, spreads)


def _divided(nodes: Sequence[Node]) -> tuple[list[Node | Together], tuple[Node, ...]]:
    """What is done before anything is stored, with groups that are shared, and the rest."""
    parts = list(together(nodes))
    end = next((place for place, part in enumerate(parts) if _ends(part)), len(parts))
    head, rest = parts[:end], _nodes(parts[end:])
    if end < len(parts) and isinstance(ended := parts[end], Together):
        # Its reductions stand before what is stored among them.
        head, rest = [*head, Together(ended.reductions, ())], _nodes(parts[end + 1 :])
        rest = (*ended.others, *rest)
    groups = [part for part in head if isinstance(part, Together)]
    many = [group for group in groups if _rounds(group) > BLOCK]
    chosen = many or sorted(groups, key=_rounds)[-1:]
    shared: list[Node | Together] = []
    for part in head:
        if isinstance(part, Together) and not any(part is one for one in chosen):
            shared += (*part.reductions, *part.others)
        else:
            shared.append(part)
    return shared, rest


def _rounds(group: Together) -> float:
    return float(group.rounds.value) if isinstance(group.rounds, Lit) else float("inf")


def _ends(part: Node | Together) -> bool:
    """Whether what follows a part cannot be shared any more."""
    inner = part.others if isinstance(part, Together) else (part,)
    return any(isinstance(node, (Store, Return, Reduce)) for node in statements(inner))


def _nodes(parts: Sequence[Node | Together]) -> tuple[Node, ...]:
    found: list[Node] = []
    for part in parts:
        found += (*part.reductions, *part.others) if isinstance(part, Together) else (part,)
    return tuple(found)


def _spreads(
    before: Sequence[Node],
    behind: Sequence[Node],
    x: str | None,
    stored: Mapping[str, int],
    scalars: frozenset[str],
) -> bool:
    """Whether all teams may do what is left, each a part of it.

    Nothing that a team reads by itself may lie where another one stores: a loop's rounds read what
    they store themselves and what nothing else stores to, and all else reads no array.
    """

    def is_loop(node: Node) -> bool:
        return isinstance(node, Loop) and (node.var == x or is_shared(node, stored))

    loops = [node for node in behind if is_loop(node)]
    others = [node for node in behind if not is_loop(node)]
    plain = all(isinstance(node, (Let, Store)) for node in others)
    if not loops or not plain or any(_arrays((*before, *others), scalars)):
        return False
    once = any(isinstance(node, Store) for node in others)
    if once and any(_reads_one_place(loop, scalars) for loop in loops):
        return False  # a caller may pass one array for what is stored once and what is read
    return not any(
        read in set(stored_to([other for other in behind if other is not loop]))
        for loop in loops
        for read in _arrays((loop,), scalars)
    )


def _reads_one_place(loop: Node, scalars: frozenset[str]) -> bool:
    """Whether the rounds of a loop may all read one element of an array."""
    assert isinstance(loop, Loop), loop
    moving = {loop.var}
    for node in statements(loop.body):
        if isinstance(node, (Let, Assign)) and _mentions(node.value, moving):
            moving.add(node.name)
    loads = (part for part in all_expressions((loop,)) if isinstance(part, Load))
    arrays = (load for load in loads if load.buffer not in scalars)
    return any(not _mentions(load.index, moving) for load in arrays)


def _mentions(expr: Expr, names: set[str]) -> bool:
    return any(isinstance(part, Var) and part.name in names for part in expressions(expr))


def _arrays(nodes: Sequence[Node], scalars: frozenset[str]) -> Iterator[str]:
    """The arrays that statements read."""
    for part in all_expressions(nodes):
        if isinstance(part, Load) and part.buffer not in scalars:
            yield part.buffer
