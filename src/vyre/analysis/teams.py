"""A program with reductions as a code has it written: by invocations alone, or by teams."""

from __future__ import annotations

from dataclasses import replace

from vyre.analysis.facts import Facts, in_order
from vyre.errors import InvalidInput, UnsupportedFeature
from vyre.ir.fold import BLOCK, LANES
from vyre.ir.program import Program
from vyre.ir.team import (
    covers_rows,
    team,
    why_no_team,
    why_none_abreast,
    why_none_beside,
    why_none_bring,
    why_not_shared,
    why_nothing_kept,
)
from vyre.ir.team.abreast import MOST_ABREAST
from vyre.ir.team.bringing import LEAST_TEAMS, MOST_TEAMS
from vyre.model import Code, Order


def formed(
    program: Program, facts: Facts, code: Code, *, rounds_in_order: bool = False
) -> tuple[Program, Facts]:
    """The program that a code writes down, and what is proved of it.

    Args:
        program: as it is called, with its reductions.
        facts: what is proved of it.
        code: how it is written down.
        rounds_in_order: whether invocations that are alone take many rounds as they are numbered,
            and keep what the lanes of a block have in an array; else they go lane by lane.

    Raises:
        UnsupportedFeature: lanes cannot share what an invocation does.
        InvalidInput: there are no teams of so many lanes, or not so many of them for a result.
    """
    if not is_team(code):
        if facts.alone is not None and rounds_in_order:
            return in_order(program, facts)
        return facts.alone or (program, facts)
    refuse_teams(program, code)
    brings = teams_beside(code) if code.depth else 0
    made = team(program, code.lanes, code.shares, code.keeps, code.items, code.abreast, brings)
    # Each round is gone through where it was proved that it may be, by whichever lane.
    accesses = tuple(
        replace(access, statement=text, index=index)
        for access in facts.accesses
        for text, index in made.places(access.statement, access.index)
    )
    return made.program, replace(
        facts, accesses=accesses, counters={}, written_out=None, alone=None
    )


def is_team(code: Code) -> bool:
    """Whether lanes, or whole workgroups, share what an invocation does, or are said to."""
    said = code.lanes, code.across, code.shares, code.keeps, code.abreast
    return said != (1, False, 1, 0, 1)


def refuse_teams(program: Program, code: Code) -> None:
    """Refuse teams that there are none of.

    Raises:
        UnsupportedFeature: lanes cannot share what an invocation does.
        InvalidInput: there are no teams of so many lanes, or not so many of them for a result.
    """
    why_not = why_no_team(program)
    if why_not is not None:
        raise UnsupportedFeature(f"teams of {code.lanes} lanes: {why_not}", "use Code(lanes=1)")
    if code.lanes == 1 and code.shares > 1:
        given = f"lanes={LANES}, shares={code.shares}"
        raise InvalidInput(f"{code.shares} shares of a result without a team", f"use Code({given})")
    if code.lanes > 1 and (code.lanes % LANES or code.lanes & (code.lanes - 1)):
        raise InvalidInput(
            f"teams of {code.lanes} lanes", f"use a power of two from {LANES} on, or 1"
        )
    if code.shares & (code.shares - 1):
        raise InvalidInput(f"{code.shares} shares of a result", "use a power of two")
    if code.across != covers_rows(program):
        who = "an invocation" if code.lanes == 1 else "a team"
        does = "stands" if code.across else "does not stand"
        fix = f"use across={not code.across}"
        raise InvalidInput(f"{who} that {does} for a row of positions along x", fix)
    if code.keeps:
        _refuse_keeping(program, code)
    if code.items > 1:
        _refuse_beside(program, code)
    if code.abreast > 1:
        _refuse_abreast(program, code)
    if code.depth:
        _refuse_bringing(program, code)
    if code.shares > 1 and (why_not := why_not_shared(program)) is not None:
        raise UnsupportedFeature(f"{code.shares} shares of a result: {why_not}", "use shares=1")


def _refuse_keeping(program: Program, code: Code) -> None:
    """Refuse lanes that keep what nobody asks for again, or that the fixed tree does not let them.

    Raises:
        UnsupportedFeature: no round computes again what an earlier one has.
        InvalidInput: there are no lanes that could keep so much.
    """
    what = f"{code.keeps} rounds kept by each lane"
    if (why_not := why_nothing_kept(program)) is not None:
        raise UnsupportedFeature(f"{what}: {why_not}", "use keeps=0")
    if code.keeps & (code.keeps - 1) or code.keeps > LANES:
        raise InvalidInput(what, f"use a power of two up to {LANES}")
    if code.lanes == 1:
        raise InvalidInput(f"{what} of no team", f"use lanes={LANES}")
    if code.shares > 1:
        raise InvalidInput(f"{what}, and {code.shares} shares of a result", "use one of the two")
    if code.lanes > LANES and code.keeps != LANES:
        fix = f"use keeps={LANES}: a row of lanes has a block of rounds, {LANES} of each"
        raise InvalidInput(f"{what} of {code.lanes}", fix)


def _refuse_beside(program: Program, code: Code) -> None:
    """Refuse several results of one team where it can have one alone.

    Raises:
        UnsupportedFeature: a team cannot go through what several positions do together.
        InvalidInput: something else that the code says needs one result of a team.
    """
    what = f"{code.items} items of a team"
    if (why_not := why_none_beside(program)) is not None:
        raise UnsupportedFeature(f"{what}: {why_not}", "use items=1")
    if code.lanes == 1:
        raise InvalidInput(f"{code.items} items without a team", "use items=1")
    if code.shares > 1 or code.keeps:
        raise InvalidInput(f"{what} that shares a result, or keeps rounds", "use items=1")
    if code.order is not Order.BLOCKED:
        fix = "use order=Order.BLOCKED: the results of a team are side by side"
        raise InvalidInput(f"{what}, {code.order.value}", fix)
    if code.items > MOST_BESIDE:
        raise InvalidInput(what, f"use at most {MOST_BESIDE}")


def _refuse_abreast(program: Program, code: Code) -> None:
    """Refuse teams abreast where they would not all go the same way, or have no row of lanes.

    Raises:
        UnsupportedFeature: teams of a workgroup may part.
        InvalidInput: there are no such teams.
    """
    what = f"{code.abreast} teams abreast"
    if (why_not := why_none_abreast(program)) is not None:
        raise UnsupportedFeature(f"{what}: {why_not}", "use abreast=1")
    if code.abreast & (code.abreast - 1) or code.abreast > MOST_ABREAST:
        raise InvalidInput(what, f"use a power of two up to {MOST_ABREAST}")
    if code.lanes != LANES:
        lanes = "1 lane" if code.lanes == 1 else f"{code.lanes} lanes"
        raise InvalidInput(f"{what}, of {lanes} each", f"use lanes={LANES}")
    if code.keeps or code.items > 1:
        has = f"{code.keeps} rounds kept" if code.keeps else f"{code.items} results"
        raise InvalidInput(f"{what}, of {has} each", "use abreast=1")


def _refuse_bringing(program: Program, code: Code) -> None:
    """Refuse to bring together what rounds read where teams may part, or are no such teams.

    Raises:
        UnsupportedFeature: teams of a workgroup may part, or read nothing alike.
        InvalidInput: there are no such teams.
    """
    what = f"depth {code.depth} of teams"
    if (why_not := why_none_bring(program)) is not None:
        raise UnsupportedFeature(f"{what}: {why_not}", "use depth=0")
    if code.depth != BLOCK:
        fix = f"use depth={BLOCK}: teams go through a block of rounds together"
        raise InvalidInput(what, fix)
    if code.lanes != LANES:
        raise InvalidInput(f"{what}, of {code.lanes} lanes each", f"use lanes={LANES}")
    if code.keeps or code.shares > 1 or code.abreast > 1:
        raise InvalidInput(
            f"{what} that share a result, keep rounds or stand abreast", "use depth=0"
        )
    if code.group is None:
        raise InvalidInput(f"{what} for no workgroup", "take the code of a schedule")
    count = teams_beside(code)
    if code.group[1:] != (1, 1) or code.group[0] % LANES or count not in TEAMS_THAT_BRING:
        raise InvalidInput(
            f"{what} in workgroups {code.group}",
            f"use (x, 1, 1), with x one of {', '.join(str(n * LANES) for n in TEAMS_THAT_BRING)}",
        )


def teams_beside(code: Code) -> int:
    """How many teams stand side by side in the workgroup that a code is for."""
    return 0 if code.group is None else code.group[0] // code.lanes


TEAMS_THAT_BRING = tuple(
    1 << power for power in range(LEAST_TEAMS.bit_length() - 1, MOST_TEAMS.bit_length())
)
"""Teams of a workgroup that bring what they read together: each lane has as much of a block."""

MOST_BESIDE = 8
"""Results of a team: each takes registers of its own for all that its rounds compute."""
