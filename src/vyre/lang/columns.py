"""Generators over what is known value by value: what their names stand for in a round."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from vyre.ir.expr import Array, Binary, BinaryOp, Element, Expr, Lit, Select, Var
from vyre.ir.types import DataType
from vyre.lang.loops import Loops
from vyre.lang.ranges import Rounds
from vyre.lang.several import Parts, arranged, count_of, form_of, leaves
from vyre.lang.tables import Table
from vyre.lang.values import Constant, Number, Value, fits, literal


class Columns(Loops):
    """Turns tuples that a reduction goes through into values that go by its round."""

    def listed(self, node: ast.expr) -> tuple[Parts, ...]:
        """What a generator goes through, computed once, before its first round."""
        items = self.sequence(node, of_generator=True)
        forms = dict.fromkeys(map(form_of, items))
        if len(forms) > 1:
            first, other, *_ = forms
            raise self.error(
                node,
                f"{self.text(node)} holds {count_of(first)} in one place and {count_of(other)} in "
                "another",
                "give each round as many values",
            )
        return tuple(
            arranged(form_of(item), iter([self.once(value, "item") for value in leaves(item)]))
            for item in items
        )

    def columns(
        self, over: ast.expr, target: ast.expr, items: tuple[Parts, ...], var: str
    ) -> list[tuple[ast.Name, Value]]:
        """The names of a generator, and what each stands for in round `var`."""
        if not items:  # no round runs; the lines of one are looked at all the same
            nothing = Value.literal(over, 0)
            return [(name, nothing) for name in self.loop_names(target)]
        values = zip(*(leaves(item) for item in items), strict=True)
        made = arranged(form_of(items[0]), iter([self.column(over, one, var) for one in values]))
        found = list[tuple[ast.Name, Value]]()
        for name, value in self.pairs(over, target, made):
            assert isinstance(name, ast.Name), "the names of the generator were looked at"
            found.append((name, value))
        return found

    def column(self, node: ast.expr, values: Sequence[Value], var: str) -> Value:
        """One of several values, by the round that `var` counts."""
        numbers = [value.constant for value in values if value.constant is not None]
        if len(values) == 1:
            return values[0]
        if len(numbers) == len(values):
            return self.column_of_numbers(node, numbers, var)
        types = {value.dtype for value in values}
        literals = [value.expr for value in values if value.dtype is not None]
        if len(types) == 1 and all(isinstance(one, Lit) for one in literals) and literals:
            (dtype,) = types
            assert dtype is not None, "literals of a type have one"
            table = [one.value for one in literals if isinstance(one, Lit)]
            whole = Array.of(dtype, (len(table),), table)
            return Value.typed(node, dtype, Element(whole, (Var(var),)))
        return self.combine(node, values, lambda _, parts: _chosen(parts, var))

    def column_of_numbers(self, node: ast.expr, numbers: Sequence[Number], var: str) -> Value:
        """Numbers as a table, or computed where they are evenly apart."""
        kinds = {isinstance(number, bool) for number in numbers}
        if len(kinds) > 1:
            raise self.error(
                node,
                f"{self.text(node)} mixes bools and numbers",
                "write 0 and 1, or True and False, throughout",
            )
        dtype = DataType.BOOL if True in kinds else None
        table = Table(self.text(node), (len(numbers),), tuple(numbers), dtype)
        if dtype is not None:
            self.check_room(table, node)
            return Value.typed(node, dtype, Element(self.made(table, dtype), (Var(var),)))
        if len({*numbers}) == 1 and isinstance(numbers[0], int):
            return Value.literal(node, numbers[0])
        even = _evenly_apart(numbers)
        if even is None:
            self.check_room(table, node)

        def build(dtype: DataType) -> Expr:
            if even is not None and dtype.is_int and fits(abs(even.step), dtype):
                count = Lit.of(DataType.U32, len(even))
                rounds = Rounds(dtype, literal(dtype, even.start), even.step, count)
                return rounds.value(Var(var), DataType.U32)
            return Element(self.made(table, dtype), (Var(var),))

        is_float = any(isinstance(number, float) for number in numbers)
        constants = tuple(Constant(number, node) for number in dict.fromkeys(numbers))
        return Value(node, None, build, is_float, constants)


def _evenly_apart(numbers: Sequence[Number]) -> range | None:
    """Whole numbers as the range that they are, if they are one."""
    whole = [number for number in numbers if isinstance(number, int)]
    if len(whole) < len(numbers) or whole[0] == whole[1]:
        return None
    step = whole[1] - whole[0]
    found = range(whole[0], whole[0] + step * len(whole), step)
    return found if [*found] == whole else None


def _chosen(parts: Sequence[Expr], var: str, first: int = 0) -> Expr:
    """The part of the round that `var` counts, found by halves; `first` is that of the first."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    before = Binary(BinaryOp.LT, Var(var), Lit.of(DataType.U32, first + half))
    return Select(
        before, _chosen(parts[:half], var, first), _chosen(parts[half:], var, first + half)
    )
