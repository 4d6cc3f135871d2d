"""Which numbers no compiler can know: those that arithmetic makes of what is in memory.

A compiler folds functions of constants to other bits than a device gives. What depends on a float
that is loaded without a check, from an array that nothing writes, through nothing but sums,
products and quotients is no constant under any schedule: IEEE 754 lets nothing of it cancel out.
A check could tell the compiler that 0 is read, and comparisons what a number is: where there are
any of what is loaded, nothing counts as unknown.
"""

from __future__ import annotations

from collections.abc import Iterable

from vyre.analysis.facts import MemoryAccess
from vyre.ir.expr import Atomic, Binary, BinaryOp, Expr, Fma, Load, Unary, UnaryOp, Var
from vyre.ir.node import Assign, Let, Loop
from vyre.ir.program import Program
from vyre.ir.typing import COMPARISONS
from vyre.ir.walk import all_expressions, expressions, operands, statements

_ARITHMETIC = (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.DIV)


def _compares_data(program: Program) -> bool:
    """Whether anything that comes from memory is compared."""
    scalars = {decl.name for decl in program.buffers if decl.is_scalar_argument}
    given = [n for n in statements(program.entry) if isinstance(n, (Let, Assign))]
    loaded: set[str] = set()

    def is_loaded(expr: Expr) -> bool:
        return any(
            (isinstance(part, Load) and part.buffer not in scalars)
            or isinstance(part, Atomic)
            or (isinstance(part, Var) and part.name in loaded)
            for part in expressions(expr)
        )

    while new := {node.name for node in given if is_loaded(node.value)} - loaded:
        loaded |= new
    every = all_expressions(program.entry)
    found = (part for part in every if isinstance(part, Binary) and part.op in COMPARISONS)
    return any(map(is_loaded, found))


class Unknowable:
    """Tells of expressions of a program whether no compiler can know them."""

    def __init__(
        self, program: Program, accesses: Iterable[MemoryAccess], *, checked: bool
    ) -> None:
        self.loads: set[tuple[str, Expr]] = set()
        self.names: frozenset[str] = frozenset()
        if checked or _compares_data(program):
            return
        found = list(accesses)
        known = {(a.buffer, a.index) for a in found if a.in_bounds is None}
        for access in found:
            decl = program.buffer(access.buffer)
            plain = not (decl.is_written or decl.is_shared or decl.is_scalar_argument)
            if plain and decl.element.is_float and (access.buffer, access.index) not in known:
                self.loads.add((access.buffer, access.index))
        self._spread(program)

    def _spread(self, program: Program) -> None:
        """Find the names whose values are unknown wherever they are given."""
        given: dict[str, list[Expr]] = {}
        for node in statements(program.entry):
            match node:
                case Let(name, value) | Assign(name, value):
                    given.setdefault(name, []).append(value)
                case Loop(var, start):
                    given.setdefault(var, []).append(start)
                case _:
                    pass
        while True:
            names = frozenset(name for name, all_of in given.items() if all(map(self, all_of)))
            if names == self.names:
                return
            self.names = names

    def __call__(self, expr: Expr) -> bool:
        match expr:
            case Load(buffer, index):
                return (buffer, index) in self.loads
            case Var(name):
                return name in self.names
            case Binary(op) if op in _ARITHMETIC:
                pass
            case Unary(UnaryOp.NEGATE) | Fma():
                pass
            case _:
                return False
        return any(map(self, operands(expr)))
