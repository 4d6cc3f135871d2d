"""A program for teams, and how it came of the one it was made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from vyre.ir.serial import Fresh, Serial, has_reductions
from vyre.ir.team.abreast import Columns, abreast, why_not_abreast
from vyre.ir.team.again import Again, again_in
from vyre.ir.team.beside import Copy, beside, why_not_beside
from vyre.ir.team.bringing import Bringing, why_nothing_brought
from vyre.ir.team.dealing import Dealing
from vyre.ir.team.keeping import Keeping
from vyre.ir.team.loops import is_read_before, stored_to
from vyre.ir.team.positions import Rows, by_rows, moved_to, unwrapped
from vyre.ir.team.relay import Relay, relay_through
from vyre.ir.team.shares import Kept, Sharing
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
    kept: tuple[Kept, ...] = ()  # the arrays through which teams that share a result find it
    copies: tuple[Copy, ...] = ()  # what it is for each of several results, where there are any

    def places(self, statement: str, index: Expr) -> Iterator[tuple[str, Expr]]:
        """Where what stands in a statement of the program stands now, and as what."""
        if not self.copies:
            for text in self.texts.get(statement, (statement,)):
                yield text, self.moved(index)
        for copy in self.copies:
            own = copy.texts.get(statement, statement)
            for text in self.texts.get(own, (own,)):
                yield text, copy.moved(index)

    def moved(self, expr: Expr) -> Expr:
        """An expression as it stands in the program for teams."""
        return expr if self.x is None else rebuild(expr, partial(moved_to, self.x))


@lru_cache(maxsize=256)
def team(
    program: Program,
    lanes: int,
    shares: int = 1,
    keeps: int = 0,
    items: int = 1,
    columns: int = 1,
    brings: int = 0,
) -> Team:
    """The same program for teams of so many lanes, a multiple of 32; so many share a result.

    Lanes keep what they compute again of so many rounds of theirs, and have the rounds of so many
    results side by side. In each row of a workgroup so many teams have a lane; or so many teams of
    a workgroup bring together what their rounds read.

    Of a single lane it is an invocation that stands for a row of positions.
    """
    assert why_no_team(program) is None, program
    assert lanes % LANES == 0 or lanes == 1, lanes
    fresh = Fresh(program)
    rows = by_rows(program, fresh)
    source = program if rows is None else rows.program
    if lanes == 1:
        assert rows is not None, program
        alone = Serial(fresh)
        row = replace(source, entry=alone.plain(source.entry))
        return Team(row, {**rows.texts, **alone.texts}, rows.x)
    kind: Callable[..., Writer] = Writer
    if shares > 1 and columns == 1:
        parts = _relay(program, rows)
        assert parts is not None, program
        kind = partial(Sharing, shares=shares, relay=parts)
    copies: tuple[Copy, ...] = ()
    if items > 1 or brings:
        several = beside(source, unwrapped(source.entry), items, fresh, beyond=bool(brings))
        source, copies = several.program, several.copies
        kind = Dealing if kind is Writer else kind
    if brings:
        decls = {decl.name: decl for decl in program.buffers}
        kind = partial(Bringing, teams=brings, nodes=source.entry, decls=decls)
    if columns > 1:
        within = abreast(unwrapped(source.entry), fresh)
        source, copies = replace(source, entry=within.nodes), (within.copy,)
        kind = partial(Columns, abreast=columns, shares=shares)
        if shares > 1:
            stores, scalars = Counter(stored_to(within.nodes)), _scalars(program)
            parts = relay_through(within.nodes, None, stores, scalars)
            assert parts is not None, program
            kind = partial(kind, relay=parts)
    stored = Counter(stored_to(source.entry))
    x = None if rows is None else rows.x
    if keeps:
        again = _again(program, rows)
        assert again is not None, program
        assert shares == 1, program
        decls = {decl.name: decl for decl in program.buffers}
        kind = partial(Keeping, again=again, keeps=keeps, decls=decls)
    work = kind(fresh, rows=lanes // LANES, stored=stored, x=x)
    entry = work.entry(unwrapped(source.entry))
    binding = max((decl.binding for decl in program.buffers), default=-1) + 1
    made = replace(program, entry=entry, buffers=(*program.buffers, *work.memory(binding)))
    texts: dict[str, Sequence[str]] = dict(work.texts)
    if rows is not None:
        for before, now in rows.texts.items():
            texts.setdefault(before, now)
    room = tuple(work.room) if isinstance(work, Sharing) else ()
    return Team(made, texts, x, room, copies)


def why_not_shared(program: Program) -> str | None:
    """Why teams cannot share what one of them does for a result."""
    why_not = why_no_team(program)
    if why_not is not None:
        return why_not
    if relay_of(program) is None:
        return "no reduction stands before all that it stores, and under no condition"
    return None


@lru_cache(maxsize=256)
def relay_of(program: Program) -> Relay | None:
    """What teams that share a result of a program do one after the other."""
    return _relay(program, by_rows(program, Fresh(program)))


def why_none_beside(program: Program) -> str | None:
    """Why a team cannot have several results side by side."""
    if (why_not := why_no_team(program)) is not None:
        return why_not
    if covers_rows(program):
        return "a team stands for a row of positions"
    return why_not_beside(unwrapped(program.entry))


def why_none_abreast(program: Program) -> str | None:
    """Why teams cannot stand abreast."""
    if (why_not := why_no_team(program)) is not None:
        return why_not
    if covers_rows(program):
        return "a team stands for a row of positions"
    return why_not_abreast(unwrapped(program.entry))


def why_none_bring(program: Program) -> str | None:
    """Why teams side by side cannot bring together what their rounds read."""
    if (why_not := why_no_team(program)) is not None:
        return why_not
    if covers_rows(program):
        return "a team stands for a row of positions"
    return why_nothing_brought(program, unwrapped(program.entry))


def why_nothing_kept(program: Program) -> str | None:
    """Why lanes of a team have nothing to keep of their rounds."""
    why_not = why_no_team(program)
    if why_not is None and _again(program, by_rows(program, Fresh(program))) is None:
        return "no round of one loop computes what a round of an earlier one has"
    return why_not


def _again(program: Program, rows: Rows | None) -> Again | None:
    source = program if rows is None else rows.program
    nodes = unwrapped(source.entry)
    x = None if rows is None else rows.x
    return again_in(nodes, source, x, Counter(stored_to(nodes)))


def _relay(program: Program, rows: Rows | None) -> Relay | None:
    source = program if rows is None else rows.program
    x = None if rows is None else rows.x
    nodes = unwrapped(source.entry)
    return relay_through(nodes, x, Counter(stored_to(nodes)), _scalars(program))


def _scalars(program: Program) -> frozenset[str]:
    return frozenset(decl.name for decl in program.buffers if decl.is_scalar_argument)


@lru_cache(maxsize=256)
def covers_rows(program: Program) -> bool:
    """Whether no reduction depends on x, along which there are positions."""
    return why_no_team(program) is None and by_rows(program, Fresh(program)) is not None
