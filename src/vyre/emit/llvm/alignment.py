"""Where vectors begin: at a line of the cache, of the array that they are stored to.

NumPy's larger arrays begin 16 bytes behind one, so that each vector of 64 bytes would be two
accesses: saxpy of 2**16 takes 16.4 us then, and 8.5 at lines (Emerald Rapids, one core). Arrays of
one call mostly begin alike, so what suits the output suits its inputs.
"""

from __future__ import annotations

from dataclasses import dataclass

from vyre.analysis.aliasing import own_position
from vyre.analysis.reader import STORE, read
from vyre.emit.layout import arguments_of
from vyre.emit.llvm.builder import Builder
from vyre.emit.llvm.memory import Buffer, element_bytes
from vyre.ir.expr import Id, IdKind
from vyre.ir.program import Program
from vyre.ir.walk import all_expressions

LINE = 64
LONG_ROW = 1024  # positions, of which the few before a line are a small part


@dataclass(frozen=True, slots=True)
class Lines:
    """The array whose lines decide, and whether tiles may be moved to begin at them."""

    name: str
    rank: int
    movable: bool

    def first(self, b: Builder, held: Buffer) -> str:
        """The first position of a row that begins a line, found where the function begins."""
        size = element_bytes(held)
        at = b.first(f"ptrtoint ptr {held.pointer} to i64")
        before = b.first(f"and i64 {b.first(f'sub i64 0, {at}')}, {LINE - 1}")
        found = b.first(f"trunc i64 {b.first(f'udiv i64 {before}, {size}')} to i32")
        if self.rank == 1:
            return found
        pitch = b.first(f"mul i32 {held.dims[-1].registers[0]}, {size}")
        odd = b.first(f"and i32 {pitch}, {LINE - 1}")
        alike = b.first(f"icmp eq i32 {odd}, 0")
        return b.first(f"select i1 {alike}, i32 {found}, i32 0")

    def next(self, b: Builder, held: Buffer, start: str, stop: str) -> str:
        """The first position from `start` on that begins a line; `start` where rows are short."""
        lanes = LINE // element_bytes(held)
        away = b.op(f"and i32 {b.op(f'sub i32 {self.first(b, held)}, {start}')}, {lanes - 1}")
        # What wrapped would begin in another tile, whose positions were run twice then.
        found = b.call("i32", "llvm.uadd.sat.i32", ["i32", "i32"], [start, away])
        if self.rank == 1:
            return found
        long = b.op(f"icmp ugt i32 {b.op(f'sub i32 {stop}, {start}')}, {LONG_ROW - 1}")
        return b.op(f"select i1 {long}, i32 {found}, i32 {start}")


def lines_of(program: Program) -> Lines | None:
    """By which array vectors are aligned: the first of which each position stores its own."""
    names = [decl.name for decl in arguments_of(program) if decl.is_written]
    stored = {
        touch.buffer: touch
        for touch in read(program).touches
        if touch.kind == STORE and (own_position(touch) or (1,))[-1] == 0
    }
    found = next((name for name in names if name in stored), None)
    if found is None:
        return None
    ids = [expr for expr in all_expressions(program.entry) if isinstance(expr, Id)]
    alone = all(one.kind in (IdKind.INVOCATION, IdKind.EXTENT) for one in ids)
    rank = program.buffer(found).rank
    return Lines(found, rank, movable=alone and rank == 1)
