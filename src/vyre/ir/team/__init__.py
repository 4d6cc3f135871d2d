"""Reductions shared by a team: lanes that stand where an invocation would, and go its way together.

What they compute is the same in each, but in the rounds of a reduction, of which each lane has its
own, and in loops that only store, each round elsewhere. Several teams may share one result.
"""

from vyre.ir.team.abreast import group_bytes
from vyre.ir.team.form import (
    Team,
    covers_rows,
    relay_of,
    team,
    why_no_team,
    why_none_abreast,
    why_none_beside,
    why_none_bring,
    why_not_shared,
    why_nothing_kept,
)
from vyre.ir.team.keeping import rounds_kept

__all__ = [
    "Team",
    "covers_rows",
    "group_bytes",
    "relay_of",
    "rounds_kept",
    "team",
    "why_no_team",
    "why_none_abreast",
    "why_none_beside",
    "why_none_bring",
    "why_not_shared",
    "why_nothing_kept",
]
