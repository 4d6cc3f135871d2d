"""Teams that share one result: of how many rounds, and what memory they need for it."""

from __future__ import annotations

from math import prod

from vyre.analysis.forms import Launch
from vyre.analysis.reader import read
from vyre.ir.fold import BLOCK
from vyre.ir.program import Program
from vyre.ir.storage import STORAGE
from vyre.ir.team import shared_part, team, why_not_shared
from vyre.ir.team.shares import BLOCKS, MOST_ROUNDS, ONE, SHARES
from vyre.model import Code
from vyre.plan import simd
from vyre.plan.geometry import ceil_div
from vyre.plan.launch_numbers import NumberNotKnown

MOST_BYTES = 64 << 20
"""Of memory in which teams keep what they have found for each other."""


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
    needed = sum(room_for(program, code, launch))
    if needed > MOST_BYTES:
        return f"it takes {needed:,} bytes to keep what they find, and {MOST_BYTES:,} are allowed"
    return None


def room_for(program: Program, code: Code, launch: Launch) -> tuple[int, ...]:
    """The bytes of each array in which the teams of a launch keep what they find for each other."""
    if code.shares == 1:
        return ()
    x, *others = simd.extent_of(launch)
    results = prod(others) * (1 if code.across else x)
    rounds = rounds_to_share(program, launch)
    assert rounds is not None, "nobody shares what is not known"
    elements = {ONE: 1, BLOCKS: max(ceil_div(rounds, BLOCK), 1), SHARES: code.shares}
    return tuple(
        results * elements[one.elements] * STORAGE[one.dtype].itemsize
        for one in team(program, code.lanes, code.shares).kept
    )
