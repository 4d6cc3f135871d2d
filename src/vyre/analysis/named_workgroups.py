"""What is refused of kernels whose author names several workgroups, before any of them runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from vyre.analysis.barriers import Words, check_barriers
from vyre.ir.among import declared_for, size_in, workgroups_of
from vyre.ir.expr import Atomic, Binary, BinaryOp, Expr, Id, IdKind, Var
from vyre.ir.node import Assign, Let, Loop, Node, Store
from vyre.ir.program import Program
from vyre.ir.walk import expressions, operands, statements
from vyre.lang.among import written
from vyre.lang.source import Places

Axes = frozenset[int]


def check_workgroups(program: Program, places: Places | None = None) -> None:
    """Nothing, or an error where a barrier is wrong in some workgroup, or results go by it.

    Args:
        program: a valid one, for one workgroup or for several that are named.
        places: where its statements are written, if they are.

    Raises:
        LanguageError: at the line, for a program whose places are known.
        InvalidProgram: with the statement, for others.
    """
    named = workgroups_of(program)
    if not named:
        check_barriers(program, places)
        return
    for workgroup in named:
        note = f" (in workgroup {written(workgroup)})" if workgroup != named[0] else ""
        check_barriers(declared_for(program, workgroup), places, note)
    for node, buffer in _by_workgroup(program):
        raise Words(program, places or Places()).error(
            node,
            f"{buffer} is indexed by workgroup_id(), so that its shape depends on the workgroup, "
            "and this kernel names several",
            "index it by vyre.gid(), add up with an atomic, or declare one workgroup alone: "
            f"workgroup={written(named[0])}",
        )


def _by_workgroup(program: Program) -> Iterator[tuple[Node, str]]:
    """Statements that write where the number of a workgroup says, and the array."""
    shared = {decl.name for decl in program.buffers if decl.is_shared}
    reached = _Reached(program)
    for node in statements(program.entry):
        touched = [part for part in expressions(node) if isinstance(part, Atomic)]
        places = [(part.buffer, part.index) for part in touched]
        if isinstance(node, Store):
            places.append((node.buffer, node.index))
        for buffer, index in places:
            if buffer not in shared and reached.axes(index):
                yield node, buffer


class _Reached:
    """Which values hold the number of a workgroup, other than times what a workgroup covers.

    `workgroup_id() * workgroup_size()` is a position, the same however positions are divided.
    """

    def __init__(self, program: Program) -> None:
        self._named = [
            (one.workgroup, _shapes(declared_for(program, one.workgroup)))
            for one in program.options.among
        ]
        given: list[tuple[str, tuple[Expr, ...]]] = []
        for node in statements(program.entry):
            match node:
                case Let(name, value) | Assign(name, value):
                    given.append((name, (value,)))
                case Loop(name, start, stop):
                    given.append((name, (start, stop)))
                case _:
                    pass
        times = Counter(name for name, _ in given)
        self._fixed = {name: parts[0] for name, parts in given if times[name] == 1}
        self._names: dict[str, Axes] = dict.fromkeys(times, frozenset())
        settled = False
        while not settled:
            settled = True
            for name, parts in given:
                found = self._names[name].union(*(self.axes(part) for part in parts))
                settled = settled and found == self._names[name]
                self._names[name] = found

    def axes(self, expr: Expr) -> Axes:
        """The axes whose workgroup's number reaches a value."""
        match expr:
            case Id(IdKind.WORKGROUP, axis):
                return frozenset({axis})
            case Var(name):
                return self._names.get(name, frozenset())
            case Binary(BinaryOp.MUL, left, right):
                a, b = self.axes(left), self.axes(right)
                kept = {axis for axis in a if not self._covers(right, axis)}
                return frozenset(kept | {axis for axis in b if not self._covers(left, axis)})
            case _:
                none: Axes = frozenset()
                return none.union(*(self.axes(part) for part in operands(expr)))

    def _covers(self, expr: Expr, axis: int) -> bool:
        """Whether a value is the same multiple of the workgroup's size in all that are named."""
        times = set()
        for workgroup, shapes in self._named:
            size = size_in(expr, workgroup, shapes, self._fixed)
            if not size or size % workgroup[axis]:
                return False
            times.add(size // workgroup[axis])
        return len(times) == 1


def _shapes(program: Program) -> Mapping[str, tuple[int, ...]]:
    return {decl.name: decl.shape or (decl.count,) for decl in program.buffers if decl.is_shared}
