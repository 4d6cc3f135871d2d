"""A program for teams, and how it came of the one it was made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from vyre.ir.expr import Expr, Id, IdKind
from vyre.ir.fold import LANES
from vyre.ir.loops import ACTS
from vyre.ir.node import (
    Assign,
    Block,
    Break,
    Continue,
    If,
    Let,
    Loop,
    Reduce,
    Region,
    Return,
    Store,
    While,
    Yield,
)
from vyre.ir.program import Program
from vyre.ir.serial import Fresh, has_reductions
from vyre.ir.team.loops import is_read_before, stored_to
from vyre.ir.team.positions import by_rows, moved_to, unwrapped
from vyre.ir.team.writer import Writer
from vyre.ir.walk import all_expressions, rebuild, statements

_SHARED = (
    *(Let, Assign, Store, If, Loop, While, Break, Continue, Return, Block, Region, Reduce),
    Yield,
)
"""Statements that all lanes of a team can go through for one invocation."""


def why_no_team(program: Program) -> str | None:
    """Why lanes cannot share what an invocation of a program does."""
    if not has_reductions(program):
        return "there is no reduction"
    parts = list(all_expressions(program.entry))
    if program.runs_whole_workgroups:
        return "its workgroups work together already"
    others = (n for n in statements(program.entry) if not isinstance(n, _SHARED))
    other = next(others, None)
    if other is not None:
        return f"of {type(other).__name__.lower()} there is one for each invocation"
    if any(isinstance(part, ACTS) for part in parts):
        return "it has atomics, or calls what nobody here can see into"
    ids = {part.kind for part in parts if isinstance(part, Id)}
    if ids & {IdKind.LOCAL, IdKind.WORKGROUP, IdKind.WORKGROUP_SIZE}:
        return "it asks for its place in a workgroup"
    for decl in program.buffers:
        if not is_read_before(decl.name, unwrapped(program.entry)):
            return f"it may read {decl.name!r} where it has stored to it"
    return None


@dataclass(frozen=True, slots=True)
class Team:
    """A program for teams, and how it came of the one it was made of."""

    program: Program
    texts: Mapping[str, Sequence[str]]  # what statements are called now, by what they were called
    x: str | None  # the name of the position along x, where a team stands for a row of them

    def moved(self, expr: Expr) -> Expr:
        """An expression as it stands in the program for teams."""
        return expr if self.x is None else rebuild(expr, partial(moved_to, self.x))


@lru_cache(maxsize=256)
def team(program: Program, lanes: int) -> Team:
    """The same program for teams of so many lanes, a multiple of 32."""
    assert why_no_team(program) is None, program
    assert lanes % LANES == 0, lanes
    fresh = Fresh(program)
    rows = by_rows(program, fresh)
    source = program if rows is None else rows.program
    stored = Counter(stored_to(source.entry))
    x = None if rows is None else rows.x
    work = Writer(fresh, rows=lanes // LANES, stored=stored, x=x)
    entry = work.plain(source.entry)
    buffers = (*program.buffers, *work.shared(len(program.buffers)))
    texts: dict[str, Sequence[str]] = dict(work.texts)
    if rows is not None:
        for before, now in rows.texts.items():
            texts.setdefault(before, now)
    made = replace(program, entry=entry, buffers=buffers)
    return Team(made, texts, x)


@lru_cache(maxsize=256)
def covers_rows(program: Program) -> bool:
    """Whether no reduction depends on x, along which there are positions."""
    return why_no_team(program) is None and by_rows(program, Fresh(program)) is not None
