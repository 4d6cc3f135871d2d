"""Teams that share one result: of how many rounds, and what memory they need for it."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import prod

from vyre.analysis.forms import Launch
from vyre.analysis.reader import read
from vyre.ir.expr import Expr, Lit
from vyre.ir.fold import BLOCK
from vyre.ir.node import Node, Reduce
from vyre.ir.program import Program
from vyre.ir.storage import STORAGE
from vyre.ir.team import shared_part, team, why_not_shared
from vyre.ir.team.shares import BLOCKS, MOST_ROUNDS, ONE, SHARES
from vyre.ir.types import DataType
from vyre.ir.walk import rebuild_node
from vyre.model import Code
from vyre.plan import simd
from vyre.plan.geometry import ceil_div
from vyre.plan.launch_numbers import NumberNotKnown

MOST_BYTES = 64 << 20
"""Of memory in which teams keep what they have found for each other."""


MOST_RESULTS = 4096
"""Results of a launch that teams share: more of them leave no device idle."""


def results_of(code: Code, launch: Launch) -> int:
    """How many results teams find in a launch, or rows of them."""
    x, *others = simd.extent_of(launch)
    return prod(others) * (1 if code.across else x)


def rounds_to_share(program: Program, launch: Launch) -> int | None:
    """The rounds that teams of a result can share; None where there are none, or nobody knows."""
    if why_not_shared(program) is not None:
        return None
    part = shared_part(program)
    assert part is not None, "that is why they can be shared"
    form = read(program).rounds.get(part.group.reductions[0].name)
    try:
        return None if form is None else form.number(launch)
    except (KeyError, NumberNotKnown):
        return None


def why_not_shares(program: Program, code: Code, launch: Launch) -> str | None:
    """Why teams cannot share a result of a launch as a code says."""
    if code.shares == 1:
        return None
    why_not = why_not_shared(program)
    if why_not is not None:
        return why_not
    rounds = rounds_to_share(program, launch)
    if rounds is None:
        return "only its data tells how many rounds there are"
    if rounds > MOST_ROUNDS:
        return f"{rounds:,} rounds, of which {MOST_ROUNDS:,} can be shared"
    if (results := results_of(code, launch)) > MOST_RESULTS:
        return f"it has {results:,} results, and of {MOST_RESULTS:,} at most each can be shared"
    needed = sum(room_for(program, code, launch))
    if needed > MOST_BYTES:
        return f"it takes {needed:,} bytes to keep what they find, and {MOST_BYTES:,} are allowed"
    return None


def room_for(program: Program, code: Code, launch: Launch) -> tuple[int, ...]:
    """The bytes of each array in which the teams of a launch keep what they find for each other."""
    if code.shares == 1:
        return ()
    results, rounds = results_of(code, launch), rounds_to_share(program, launch)
    assert rounds is not None, "nobody shares what is not known"
    elements = {ONE: 1, BLOCKS: max(ceil_div(rounds, BLOCK), 1), SHARES: code.shares}
    return tuple(
        results * elements[one.elements] * STORAGE[one.dtype].itemsize
        for one in team(program, code.lanes, code.shares).kept
    )


@lru_cache(maxsize=256)
def without_shared(program: Program) -> Program:
    """The program as its last team goes through it: what is shared has no rounds any more."""
    part = shared_part(program)
    assert part is not None, "something is shared"
    names = {reduction.name for reduction in part.group.reductions}

    def emptied(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        return tuple(
            replace(node, rounds=Lit.of(DataType.U32, 0))
            if isinstance(node, Reduce) and node.name in names
            else node
            for node in nodes
        )

    entry = emptied(tuple(rebuild_node(node, _same, emptied) for node in program.entry))
    return replace(program, entry=entry)


def _same(expr: Expr) -> Expr:
    return expr
