"""Reductions in the rounds of others, of which a copy knows how many rounds they have.

The distance of a point from many centres is a few rounds for each centre, as many for all. Where
their number is a literal they are written out, and a compiler finds what no centre changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from vyre.ir.expr import Expr, Lit, Load, Var
from vyre.ir.loops import ACTS
from vyre.ir.node import Node, Reduce
from vyre.ir.types import DataType
from vyre.ir.walk import bodies, expressions, rebuild_node, size_of, statements

COUNTS = (2, 3, 4, 8, 16)
"""The numbers of rounds that are worth a copy of all rounds around."""

COUNTS_IN_ORDER = (2, 3, 4)
"""The same where the order of those around shows, each copy of which is four loops in each other.

PoCL 3.0 takes 1.8 s for a sum of sums without copies, and 7.6 with one for each of `COUNTS`.
"""

MOST_IN_COPY = 2_048
"""Statements and expressions of a copy, with all in it that is not written out for its number.

Of simple elements those of a sum around others have 900, and 1,600 where another one stands beside.
"""


def rounds_inside(
    rounds: Sequence[Node],
    changing: Collection[str],
    scalars: Collection[str],
    others: Collection[Expr],
) -> Expr | None:
    """How many rounds most reductions in some rounds have, where that is the same in all of these.

    Args:
        rounds: the statements of the rounds around.
        changing: names that have another value in each of those.
        scalars: numbers of a launch, which any statement may read.
        others: numbers of rounds that are not asked for.
    """
    found = Counter(
        node.rounds
        for node in statements(rounds)
        if isinstance(node, Reduce)
        and not isinstance(node.rounds, Lit)
        and node.rounds not in others
        and _is_fixed(node.rounds, changing, scalars)
    )
    return found.most_common(1)[0][0] if found else None


def _is_fixed(expr: Expr, changing: Collection[str], scalars: Collection[str]) -> bool:
    return not any(
        isinstance(part, ACTS)
        or (isinstance(part, Var) and part.name in changing)
        or (isinstance(part, Load) and part.buffer not in scalars)
        for part in expressions(expr)
    )


def with_rounds(reduction: Reduce, rounds: Expr, number: int) -> Reduce:
    """A reduction in whose rounds those that have so many rounds have a literal number of them."""
    literal = Lit.of(DataType.U32, number)

    def known(nodes: Iterable[Node]) -> tuple[Node, ...]:
        return tuple(
            replace(node, rounds=literal)
            if isinstance(node, Reduce) and node.rounds == rounds
            else node
            for node in nodes
        )

    body = (rebuild_node(node, lambda part: part, known) for node in reduction.body)
    return replace(reduction, body=known(body))


def written_parts(nodes: Iterable[Node]) -> int:
    """The parts of statements, where reductions of a literal number of rounds are written out.

    >>> written_parts([])
    0
    """
    return sum(_parts(node) for node in nodes)


def _parts(node: Node) -> int:
    inner = [part for body in bodies(node) for part in body]
    each = written_parts(inner)
    if isinstance(node, Reduce) and isinstance(node.rounds, Lit):
        each *= int(node.rounds.value)
    return size_of((node,)).parts - size_of(inner).parts + each
