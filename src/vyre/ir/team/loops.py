"""What lanes of a team may do in whatever order: loops that only store, each round elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from vyre.ir.expr import Binary, BinaryOp, Cast, Expr, FlatIndex, Lit, Load, Var
from vyre.ir.node import Assign, Break, Continue, Let, Loop, Node, Reduce, Return, Store
from vyre.ir.types import DataType
from vyre.ir.walk import all_expressions, expressions, names_of, statements

_COUNTED = (DataType.U32, DataType.I32)


def is_read_before(buffer: str, nodes: Sequence[Node]) -> bool:
    """Whether all that is read of an array is read before it is stored to.

    That is so where one statement stores to it, none behind it reads it, and the rounds of a loop
    read of it what they store themselves.
    """

    def reads(node: Node) -> list[Load]:
        found = (part for part in all_expressions((node,)) if isinstance(part, Load))
        return [load for load in found if load.buffer == buffer]

    stores = [
        (place, store)
        for place, node in enumerate(nodes)
        for store in statements((node,))
        if isinstance(store, Store) and store.buffer == buffer
    ]
    if not stores or not any(map(reads, nodes)):
        return True
    (place, store), *more = stores
    if more or any(map(reads, nodes[place + 1 :])):
        return False
    node = nodes[place]
    if node is store:
        return True
    once = Counter({buffer: 1})
    return (
        isinstance(node, Loop)
        and is_shared(node, Counter(stored_to((node,))) | once)
        and all(load.index == store.index for load in reads(node))
    )


def stored_to(nodes: Sequence[Node]) -> Iterator[str]:
    """The array of each store among statements."""
    return (node.buffer for node in statements(nodes) if isinstance(node, Store))


def is_shared(loop: Loop, stored: Mapping[str, int], around: frozenset[str] = frozenset()) -> bool:
    """Whether the rounds of a loop only store, each elsewhere, so that any lane may do any.

    Where a loop around it gives the names `around` other values, each time it comes by, and lanes
    do not wait for each other meanwhile, the lane that stores to a place has to be the same one
    each time: an earlier value could come last.
    """
    inside = tuple(statements(loop.body))
    leaves = (Break, Continue, Return, Reduce)
    if not isinstance(loop.start, Lit) or loop.start.dtype not in _COUNTED:
        return False
    if any(isinstance(node, leaves) for node in inside):
        return False
    own = {node.name for node in inside if isinstance(node, Let)}
    own |= {node.var for node in inside if isinstance(node, Loop)}
    changed = {node.name for node in inside if isinstance(node, Assign)}
    if changed - own or loop.var in changed:
        return False  # a round leaves something to the next
    bindings = Counter(names_of(loop.body))
    fixed, moving = {loop.var} | own | around, {loop.var}
    for node in inside:
        # A name that is bound on two ways may be another place on each.
        if isinstance(node, Let) and bindings[node.name] == 1:
            moving |= {node.name} if _moves(node.value, moving, fixed) else set()
    places: dict[str, list[Expr]] = {}
    for node in inside:
        if isinstance(node, Store):
            places.setdefault(node.buffer, []).append(node.index)
    # Of two stores to one array, those of different rounds could meet but where both go one way.
    return bool(places) and all(
        stored[name] == len(indices)
        and len(set(indices)) == 1
        and _moves(indices[0], moving, fixed)
        for name, indices in places.items()
    )


def _moves(index: Expr, moving: set[str], inside: set[str]) -> bool:
    """Whether an index is another one in each round, whatever else is in it."""
    if isinstance(index, FlatIndex):
        return any(_moves(part, moving, inside) for part in index.indices)
    match index:
        case Var(name):
            return name in moving
        case Cast(target, value):
            return target in _COUNTED and _moves(value, moving, inside)
        case Binary(BinaryOp.ADD, left, right):
            return (_moves(left, moving, inside) and _stays(right, inside)) or (
                _moves(right, moving, inside) and _stays(left, inside)
            )
        case Binary(BinaryOp.SUB, left, right):
            return _moves(left, moving, inside) and _stays(right, inside)
        case _:
            return False


def _stays(expr: Expr, inside: set[str]) -> bool:
    return not any(
        isinstance(part, Load) or (isinstance(part, Var) and part.name in inside)
        for part in expressions(expr)
    )
