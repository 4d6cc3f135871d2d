"""Teams that share one result: of how many rounds, in how many launches, and in what memory."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import prod

from vyre.analysis.forms import Launch
from vyre.analysis.reader import read
from vyre.ir.expr import Expr, Lit
from vyre.ir.fold import BLOCK
from vyre.ir.node import Let, Node, Reduce
from vyre.ir.program import Program
from vyre.ir.storage import STORAGE
from vyre.ir.team import relay_of, team, why_not_shared
from vyre.ir.team.relay import Relay
from vyre.ir.team.shares import BLOCKS, ONE, SHARES
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

MOST_SHARES = 1 << 16
"""Teams of one result."""


def results_of(code: Code, launch: Launch) -> int:
    """How many results teams find in a launch, or rows of them."""
    x, *others = simd.extent_of(launch)
    return prod(others) * (1 if code.across else x)


def rounds_to_share(program: Program, launch: Launch) -> dict[str, int] | None:
    """The rounds that teams of a result can share, by their reductions.

    None where there are none, or where nobody knows before a launch.
    """
    if why_not_shared(program) is not None:
        return None
    known = read(program).rounds
    found: dict[str, int] = {}
    for leg in shared_relay(program).legs:
        name = leg.group.reductions[0].name
        form = known.get(name)
        if form is None:
            return None
        try:
            found[name] = form.number(launch)
        except (KeyError, NumberNotKnown):
            return None
    return found


def rounds_of(program: Program, launch: Launch) -> int | None:
    """The rounds of a launch's longest reduction; None where nobody knows before it."""
    forms = list(read(program).rounds.values())
    try:
        known = [form.number(launch) for form in forms if form is not None]
    except (KeyError, NumberNotKnown):
        return None
    return max(known) if known and len(known) == len(forms) else None


def shared_relay(program: Program) -> Relay:
    """What teams that share a result do one after the other."""
    found = relay_of(program)
    assert found is not None, "something is shared"
    return found


def why_not_shares(program: Program, code: Code, launch: Launch) -> str | None:
    """Why teams cannot share a result of a launch as a code says."""
    if code.shares == 1:
        return None
    why_not = why_not_shared(program)
    if why_not is not None:
        return why_not
    if code.shares & (code.shares - 1) or code.shares > MOST_SHARES:
        return f"that is no power of two up to {MOST_SHARES:,}"
    if rounds_to_share(program, launch) is None:
        return "only its data tells how many rounds there are"
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

    def elements(kind: str, reduction: str) -> int:
        blocks = ceil_div(rounds[reduction], BLOCK) if kind == BLOCKS else 1
        return {ONE: 1, BLOCKS: max(blocks, 1), SHARES: code.shares}[kind]

    return tuple(
        results * elements(one.elements, one.reduction) * STORAGE[one.dtype].itemsize
        for one in team(program, code.lanes, code.shares, columns=code.abreast).kept
    )


def launches_of(program: Program, code: Code) -> int:
    """How often a program is launched for one call: teams wait for each other by ending."""
    return 1 if code.shares == 1 else shared_relay(program).launches


def without_shared(program: Program) -> Program:
    """The program as its last team goes through it: what is shared has no rounds any more."""
    legs = shared_relay(program).legs
    return without(program, frozenset(r.name for leg in legs for r in leg.group.reductions))


@lru_cache(maxsize=256)
def without(program: Program, names: frozenset[str]) -> Program:
    """The program with reductions that have no rounds any more."""

    def emptied(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        found: list[Node] = []
        for node in nodes:
            if isinstance(node, Reduce) and node.name in names:
                # What says how many there are is done all the same.
                found.append(Let(f"{node.name} rounds", node.rounds))
                node = replace(node, rounds=Lit.of(DataType.U32, 0))
            found.append(node)
        return tuple(found)

    entry = emptied(tuple(rebuild_node(node, _same, emptied) for node in program.entry))
    return replace(program, entry=entry)


def _same(expr: Expr) -> Expr:
    return expr
