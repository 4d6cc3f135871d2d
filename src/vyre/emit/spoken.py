"""What a program says, as stores to a log: program -> program, and log -> what was said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vyre.ir.declare import BufferDecl, Dim3
from vyre.ir.expr import (
    Atomic,
    AtomicOp,
    Binary,
    BinaryOp,
    Bitcast,
    Cast,
    Expr,
    Id,
    IdKind,
    Lit,
    Select,
    Var,
)
from vyre.ir.node import If, Let, Node, Print, Return, Store, Trap
from vyre.ir.printing import line, prints, traps
from vyre.ir.program import Program
from vyre.ir.storage import COMPUTED
from vyre.ir.types import DataType
from vyre.ir.walk import statements

LOG_WORDS = 1 << 24
"""Of one launch, 64 MiB of which only what is written takes memory."""

_U32, _U64 = DataType.U32, DataType.U64
_HEAD = 3  # words of a record before its values: which print, from 1, and the position
NEXT, LOST, FIRST = 0, 1, 2
"""The words of a log: where the next record goes, how many had no room, and the first record."""

NONE_FAILED = np.uint64(0xFFFF_FFFF_FFFF_FFFF)


@dataclass(frozen=True, slots=True)
class Said:
    """What the invocations of a launch said, in the order of their positions."""

    lines: tuple[str, ...] = ()
    lost: int = 0  # lines that had no room
    failed: tuple[int, int] | None = None  # the lowest position, and the number of its assertion


@dataclass(frozen=True, slots=True)
class Spoken:
    """A program whose prints and assertions write to two buffers of their own, the last ones."""

    program: Program
    said: Program  # as it was
    extra_words: int

    def memory(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """What the two buffers hold before a launch."""
        log = np.zeros(LOG_WORDS, np.uint32)
        log[NEXT] = FIRST
        return log, np.full(1, NONE_FAILED)

    def words(self, words: bytes, plain: int) -> bytes:
        """A launch's words with room for the lengths of the two; `plain` come before extents."""
        return words[: 4 * plain] + bytes(4 * self.extra_words) + words[4 * plain :]

    def read(self, log: NDArray[Any], failed: NDArray[Any]) -> Said:
        """What a launch left there."""
        found = int(failed[0])
        number = len(traps(self.said))
        where = None if found == int(NONE_FAILED) else divmod(found, number)
        records = sorted(self._records(log), key=lambda record: record[0])
        return Said(tuple(text for _, text in records), int(log[LOST]), where)

    def _records(self, log: NDArray[Any]) -> Iterator[tuple[int, str]]:
        known = prints(self.said)
        at, end = FIRST, int(log[NEXT])
        while at < end:
            if at >= LOG_WORDS or not log[at]:  # claimed, and there was no room for it
                break
            node = known[int(log[at]) - 1]
            position = int(log[at + 1]) | int(log[at + 2]) << 32
            values, place = [], at + _HEAD
            for dtype in node.dtypes:
                words = _words(dtype)
                values.append(_value(log[place : place + words], dtype))
                place += words
            yield position, line(node, values)
            at += _size(node)


def spoken(program: Program) -> Spoken:
    """The program that says the same to a log.

    A record is taken whole or not at all: its words are claimed by one addition. What does not fit
    any more is counted.
    """
    lower = _Lower(program)
    binding = max((decl.binding for decl in program.buffers), default=-1) + 1
    log = BufferDecl.read_write(lower.log, binding, _U32).with_count(LOG_WORDS)
    failed = BufferDecl.read_write(lower.failed, binding + 1, _U64).with_count(1)
    made = replace(
        program, buffers=(*program.buffers, log, failed), entry=lower.body(program.entry)
    )
    return Spoken(made, program, 2)


class _Lower:
    """Rewrites statements, with names of its own that are nobody else's."""

    def __init__(self, program: Program) -> None:
        self.whole = program.runs_whole_workgroups
        self.traps = len(traps(program))
        self.trap_number, self.print_number = count(), count()
        self.taken = {decl.name for decl in program.buffers}
        for node in statements(program.entry):
            self.taken |= {
                value
                for name in ("name", "var")
                if isinstance(value := getattr(node, name, None), str)
            }
        self.log, self.failed = self.fresh("log"), self.fresh("failed")

    def fresh(self, name: str) -> str:
        found = next(
            made for number in count() if (made := f"{name}{number or ''}") not in self.taken
        )
        self.taken.add(found)
        return found

    def body(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        return tuple(made for node in nodes for made in self.node(node))

    def node(self, node: Node) -> Iterator[Node]:
        match node:
            case Print():
                yield from self.inside(self.printed(node, next(self.print_number)))
            case Trap():
                yield from self.inside(self.trapped(next(self.trap_number)))
            case _:
                changed = {
                    name: self.body(getattr(node, name))
                    for name in ("then", "otherwise", "body")
                    if hasattr(node, name)
                }
                yield replace(node, **changed) if changed else node  # type: ignore[type-var]  # every Node is a dataclass

    def inside(self, nodes: Sequence[Node]) -> Iterator[Node]:
        """Statements that lanes beyond the extent leave out, where such lanes run."""
        if not self.whole:
            yield from nodes
            return
        test: Expr = _below(0)
        for axis in (1, 2):
            test = Binary(BinaryOp.AND, test, _below(axis))
        yield If(test, tuple(nodes))

    def printed(self, node: Print, number: int) -> list[Node]:
        values = [
            (self.fresh("said"), value, dtype)
            for value, dtype in zip(node.values, node.dtypes, strict=True)
        ]
        made: list[Node] = [Let(name, value) for name, value, _ in values]
        words: list[Expr] = [Lit.of(_U32, number + 1), *_halves(_position())]
        for name, _, dtype in values:
            words += _spelled(Var(name), dtype)
        at, so_far, unread = self.fresh("at"), self.fresh("so_far"), self.fresh("unread")
        zero = Lit.of(_U32, 0)
        size = Lit.of(_U32, len(words))
        last = Lit.of(_U32, LOG_WORDS - len(words))
        # Read by an atomic, so that no compiler takes it for a value that stays.
        made.append(Let(so_far, Atomic(AtomicOp.OR, self.log, zero, zero)))
        lost = Atomic(AtomicOp.ADD, self.log, Lit.of(_U32, LOST), Lit.of(_U32, 1))
        goes = [
            Let(at, Atomic(AtomicOp.ADD, self.log, zero, size)),
            If(
                Binary(BinaryOp.LE, Var(at), last),
                tuple(
                    Store(self.log, Binary(BinaryOp.ADD, Var(at), Lit.of(_U32, n)), word)
                    for n, word in enumerate(words)
                ),
                (Let(unread, lost),),
            ),
        ]
        full = self.fresh("unread")
        return [
            *made,
            If(Binary(BinaryOp.LE, Var(so_far), last), tuple(goes), (Let(full, lost),)),
        ]

    def trapped(self, number: int) -> list[Node]:
        key = Binary(
            BinaryOp.ADD,
            Binary(BinaryOp.MUL, _position(), Lit.of(_U64, self.traps)),
            Lit.of(_U64, number),
        )
        note = Let(self.fresh("unread"), Atomic(AtomicOp.MIN, self.failed, Lit.of(_U32, 0), key))
        return [note] if self.whole else [note, Return()]


def _below(axis: int) -> Expr:
    return Binary(BinaryOp.LT, Id(IdKind.INVOCATION, axis), Id(IdKind.EXTENT, axis))


def _position() -> Expr:
    """Where in the extent an invocation is, x fastest, as u64."""
    x, y, z = (Cast(_U64, Id(IdKind.INVOCATION, axis)) for axis in range(3))
    wide, high = (Cast(_U64, Id(IdKind.EXTENT, axis)) for axis in range(2))
    plane = Binary(BinaryOp.ADD, y, Binary(BinaryOp.MUL, z, high))
    return Binary(BinaryOp.ADD, x, Binary(BinaryOp.MUL, plane, wide))


def _halves(value: Expr) -> list[Expr]:
    """The two words of a u64, the low one first."""
    high = Binary(BinaryOp.SHR, value, Lit.of(_U64, 32))
    return [Cast(_U32, value), Cast(_U32, high)]


def _spelled(value: Expr, dtype: DataType) -> list[Expr]:
    """A value as words."""
    if dtype.is_bool:
        return [Select(value, Lit.of(_U32, 1), Lit.of(_U32, 0))]
    if dtype.bits <= 32:
        if dtype.is_float:
            return [Bitcast(_U32, value)]
        return [value if dtype == _U32 else Cast(_U32, value)]
    if dtype == _U64:
        return _halves(value)
    return _halves(Bitcast(_U64, value) if dtype.is_float else Cast(_U64, value))


def _words(dtype: DataType) -> int:
    return 2 if not dtype.is_bool and dtype.bits > 32 else 1


def _size(node: Print) -> int:
    return _HEAD + sum(_words(dtype) for dtype in node.dtypes)


def _value(words: NDArray[Any], dtype: DataType) -> np.generic[Any]:
    """What `_spelled` made words of."""
    kind = COMPUTED[dtype.tag]
    if dtype.is_bool:
        return np.bool_(words[0])
    if dtype.is_float or _words(dtype) > 1:
        found: np.generic[Any] = words.view(kind)[0]
        return found
    narrow: np.generic[Any] = words.astype(kind)[0]
    return narrow


def position_of(place: int, extent: Dim3) -> Dim3:
    """The coordinates of a position in the extent, x first."""
    x, y, _ = extent
    return place % x, place // x % y, place // (x * y)
