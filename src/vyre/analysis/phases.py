"""Which loads from workgroup memory may meet a write between two barriers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from vyre.ir.expr import Atomic, Expr, Lit, Load
from vyre.ir.node import Barrier, Break, Continue, If, Loop, Node, Reduce, Return, Store, While
from vyre.ir.program import Program
from vyre.ir.walk import bodies, expressions, operands


@dataclass(frozen=True, slots=True)
class _Way:
    """How one statement or list may be left: what happened on the way since the last barrier."""

    tail: int = 0  # accesses with a path from them to this way out that meets no barrier
    open: bool = False  # whether a path from the beginning to this way out meets no barrier

    def __or__(self, other: _Way) -> _Way:
        return _Way(self.tail | other.tail, self.open or other.open)

    def after(self, before: _Way) -> _Way:
        """This way out of what follows `before`."""
        return _Way(self.tail | (before.tail if self.open else 0), before.open and self.open)


@dataclass(frozen=True, slots=True)
class _Span:
    """A statement or a list, by what is touched at its ends. Accesses are bits of a number."""

    head: int = 0  # accesses with a path to them from the beginning that meets no barrier
    end: _Way = _Way(open=True)
    breaks: _Way = _Way()
    continues: _Way = _Way()

    def __or__(self, other: _Span) -> _Span:
        return _Span(
            self.head | other.head,
            self.end | other.end,
            self.breaks | other.breaks,
            self.continues | other.continues,
        )


def unsettled(program: Program) -> frozenset[int]:
    """The identities of loads that meet a write of another lane on a path without a barrier.

    Lanes whose ways part are not told apart here: what they bring back differs for that reason.
    """
    phases = _Phases({decl.name for decl in program.buffers if decl.is_shared})
    phases.list(program.entry)
    return frozenset(phases.identities(phases.dirty))


@dataclass(slots=True)
class _Phases:
    shared: set[str]
    accesses: list[Expr | Node] = field(default_factory=list)
    loads: dict[str, int] = field(default_factory=dict)
    writes: dict[str, int] = field(default_factory=dict)
    dirty: int = 0

    def identities(self, bits: int) -> Iterator[int]:
        while bits:
            lowest = bits & -bits
            yield id(self.accesses[lowest.bit_length() - 1])
            bits ^= lowest

    def list(self, nodes: Sequence[Node]) -> _Span:
        whole = _Span()
        for node in nodes:
            whole = self.then(whole, self.statement(node))
        return whole

    def then(self, first: _Span, second: _Span) -> _Span:
        self.dirty |= self.meeting(first.end.tail, second.head)
        return _Span(
            first.head | (second.head if first.end.open else 0),
            second.end.after(first.end),
            first.breaks | second.breaks.after(first.end),
            first.continues | second.continues.after(first.end),
        )

    def meeting(self, some: int, others: int) -> int:
        """The loads of either side that a write of the other one meets."""
        found = 0
        if some and others:
            for buffer, writes in self.writes.items():
                loads = self.loads.get(buffer, 0)
                found |= (others & loads if some & writes else 0) | (
                    some & loads if others & writes else 0
                )
        return found

    def touched(self, node: Node) -> _Span:
        """What a statement touches itself, in its expressions and as a store."""
        found = 0
        for part in (item for operand in operands(node) for item in expressions(operand)):
            if isinstance(part, (Load, Atomic)) and part.buffer in self.shared:
                found |= self.number(part, part.buffer, is_write=isinstance(part, Atomic))
        if isinstance(node, Store) and node.buffer in self.shared:
            found |= self.number(node, node.buffer, is_write=True)
        self.dirty |= self.meeting(found, found)
        return _Span(found, _Way(found, open=True))

    def number(self, access: Expr | Node, buffer: str, *, is_write: bool) -> int:
        bit = 1 << len(self.accesses)
        self.accesses.append(access)
        kind = self.writes if is_write else self.loads
        kind[buffer] = kind.get(buffer, 0) | bit
        return bit

    def statement(self, node: Node) -> _Span:
        own = self.touched(node)
        match node:
            case Barrier():
                return _Span(end=_Way())
            case Return():
                return _Span(end=_Way())
            case Break():
                return _Span(end=_Way(), breaks=_Way(open=True))
            case Continue():
                return _Span(end=_Way(), continues=_Way(open=True))
            case If(_, then, otherwise):
                return self.then(own, self.list(then) | self.list(otherwise))
            case Loop(_, start, stop, body):
                sure = isinstance(start, Lit) and isinstance(stop, Lit) and start.value < stop.value
                return self.then(own, self.rounds(self.list(body), _Span(), sure=sure))
            case While(_, body):
                return self.rounds(self.list(body), own, sure=False)
            case Reduce(rounds=many, body=body):
                sure = isinstance(many, Lit) and many.value > 0
                return self.then(own, self.rounds(self.list(body), _Span(), sure=sure))
            case _:
                for body in bodies(node):
                    own = self.then(own, self.list(body))
                return own

    def rounds(self, body: _Span, test: _Span, *, sure: bool) -> _Span:
        """A loop that evaluates `test` before every round; `sure` says that it runs one."""
        one = self.then(test, body)
        again = one.end | one.continues
        self.dirty |= self.meeting(again.tail, one.head)
        # After the last round the test is evaluated once more, and there is no barrier in it.
        out = again if sure else again | test.end
        return _Span(one.head, replace(out, tail=out.tail | test.end.tail) | one.breaks)
