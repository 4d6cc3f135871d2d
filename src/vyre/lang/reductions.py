"""Reductions of a kernel: what the elements of a generator come to."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from vyre.ir.expr import Binary, BinaryOp, Cast, Expr, Lit, Select, Var
from vyre.ir.node import NOWHERE, If, Let, Node, Reduce, ReduceOp, Yield
from vyre.ir.types import DataType
from vyre.lang.generators import EXTREMES, GeneratorCall, Generators
from vyre.lang.ranges import Range, Rounds, reinterpreted
from vyre.lang.scopes import Alias, Bound
from vyre.lang.several import Parts
from vyre.lang.values import PLACEHOLDER, Key, Value, Variable, is_narrow, literal, zero


@dataclass(frozen=True, slots=True)
class _Count:
    """What a reduction counts: a range of values, and its rounds once their type is known."""

    name: ast.Name
    key: Key
    found: Range
    dtype: DataType | None
    rounds: Rounds | None
    count: Expr
    is_reversed: bool = False

    @property
    def length(self) -> int | None:
        return self.found.length

    @property
    def is_plain(self) -> bool:
        """Whether the values are the rounds themselves."""
        counts_up = self.found.step == 1 and not self.is_reversed
        return self.dtype == DataType.U32 and counts_up and self.found.start.constant == 0


@dataclass(frozen=True, slots=True)
class _Listed:
    """What a reduction goes through that is known value by value: a tuple, a table, `zip` ..."""

    items: tuple[Parts, ...]
    count: Expr

    @property
    def length(self) -> int:
        return len(self.items)


_Over = _Count | _Listed


class Reductions(Generators, ABC):
    """Turns `sum(... for k in range(n))` and its like into statements, and names for results."""

    @abstractmethod
    def listed(self, node: ast.expr) -> tuple[Parts, ...]: ...

    @abstractmethod
    def columns(
        self, over: ast.expr, target: ast.expr, items: tuple[Parts, ...], var: str
    ) -> list[tuple[ast.Name, Value]]: ...

    def reduction(self, node: ast.Call, op: ReduceOp) -> Value:
        """What the elements of a generator come to, computed where the call stands."""
        call = self.reducing_call(node, op)
        # The bounds belong to what is around the generator, also where its name hides another.
        over = self.over(call)
        further = None
        if call.further is not None:  # Python computes it behind the bounds, before any element
            kept = self.once(Value.typed(call.over, DataType.U32, over.count), "count")
            over = replace(over, count=kept.expr)
            further = replace(self.expression(call.further), is_product=False)
        name = self.names.fresh(op.name.lower(), anywhere=True)
        with self.rounds_of(call, over) as (body, var):
            test = self.test_of(call)
            with self.nested() as inner:
                element = self.expression(call.element)
                result, value = self.folded(call, name, element)
                dtype = element_type(op, result)
                inner.append(self.noted(Yield(value), call.element))
            if op.finds:
                is_sure = bool(over.length) and (test is None or bool(test.constant))
                result = self.place(call, over, name, is_sure=is_sure)
        nodes: tuple[Node, ...] = (*body, *inner)
        rounds = over.count
        if test is not None and test.constant is None:
            nodes = (*body, If(test.expr, tuple(inner)))
        elif test is not None and not test.constant:
            rounds = zero(DataType.U32)  # no round has an element
        for made in (*nodes, *inner):
            self.noted(made, call.element)
        reduced = Reduce(name, op, dtype, var, rounds, nodes)
        self.out.append(self.noted(reduced, node))
        if further is None:
            return result
        if op in EXTREMES:
            return self.or_default(call, over, test, result, further)
        added = ast.Add() if op is ReduceOp.SUM else ast.Mult()
        return replace(self.binary(node, added, further, result), is_product=False)

    @contextmanager
    def rounds_of(self, call: GeneratorCall, over: _Over) -> Iterator[tuple[list[Node], str]]:
        """A list for what happens in a round, and the name that counts rounds in it."""
        env, mark = self.frame.env, self.frame.env.mark()
        with self.nested() as body, self.only_computing(call.called):
            if isinstance(over, _Count):
                counts = self.variable(over.name.id, over.key)
                var = self.count_with(counts, over)
                env[over.name.id] = Bound(counts)
            else:
                var = self.names.fresh("round")
                for name, value in self.columns(call.over, call.target, over.items, var):
                    env[name.id] = Alias(value)
            yield body, var
        env.taken_back(mark)

    def over(self, call: GeneratorCall) -> _Over:
        """What the generator runs over; its bounds are computed here, before the first round."""
        call_of_range = self.range_in(call.over)
        if call_of_range is None:
            return self.listed_by(call)
        assert isinstance(call.target, ast.Name), "a range has one name"
        is_reversed = call_of_range is not call.over
        key = self.frame.key(call.target, call.target.id)
        found = self.range_of(call_of_range, "a generator")
        dtype = found.known.dtype if found.known is not None else self.decisions.types.get(key)
        if dtype is None:
            return _Count(call.target, key, found, None, None, PLACEHOLDER, is_reversed)
        exprs = self.bounds(found, dtype, call.target.id)
        rounds = self.rounds(found, dtype, exprs, self.once)
        rounds = self.from_the_end(found, rounds) if is_reversed else rounds
        count = self.in_u32(call, found, rounds)
        return _Count(call.target, key, found, dtype, rounds, count, is_reversed)

    def listed_by(self, call: GeneratorCall) -> _Listed:
        if call.op.finds:
            raise self.error(
                call.over,
                f"{call.called} gives the k of for k in range(), and this runs over other values",
                "name the values outside the kernel, VALUES = (...), and write for k in "
                "range(len(VALUES)), with VALUES[k] for the value",
            )
        items = self.listed(call.over)
        return _Listed(items, Lit.of(DataType.U32, len(items)))

    def from_the_end(self, found: Range, rounds: Rounds) -> Rounds:
        """The same rounds, the last one first."""
        kept = self.once(Value.typed(found.node, rounds.counter, rounds.count), "count").expr
        one = Lit.of(rounds.counter, 1)
        distance = reinterpreted(Binary(BinaryOp.SUB, kept, one), rounds.counter, rounds.dtype)
        if isinstance(kept, Lit):
            distance = literal(rounds.dtype, max(kept.value - 1, 0))
        if abs(rounds.step) != 1:
            distance = Binary(BinaryOp.MUL, distance, Lit.of(rounds.dtype, abs(rounds.step)))
        op = BinaryOp.ADD if rounds.step > 0 else BinaryOp.SUB
        last = Value.typed(found.node, rounds.dtype, Binary(op, rounds.origin, distance))
        return Rounds(rounds.dtype, self.once(last, "last").expr, -rounds.step, kept)

    def in_u32(self, call: GeneratorCall, found: Range, rounds: Rounds) -> Expr:
        """How many rounds there are, as reductions count them."""
        count = rounds.count
        if found.length is not None:
            if found.length > NOWHERE:
                raise self.error(
                    call.over,
                    f"{found.length:,} rounds of {call.called}; {NOWHERE:,} allowed",
                    "split the range",
                )
            return Lit.of(DataType.U32, found.length)
        if rounds.counter.bits > DataType.U32.bits:
            count = Binary(BinaryOp.MIN, count, Lit.of(rounds.counter, NOWHERE))
        return count if rounds.counter == DataType.U32 else Cast(DataType.U32, count)

    def count_with(self, counts: Variable, count: _Count) -> str:
        """Give the generator's variable its value in a round; the name that counts rounds."""
        counts.is_ranged, counts.dtype, counts.grows = True, count.dtype, False
        if count.rounds is None:
            for bound in (count.found.start, count.found.stop):
                counts.collect(bound, self.frame.source)
            return counts.ir_name
        if count.is_plain:
            return counts.ir_name
        var = self.names.fresh("round")
        self.out.append(Let(counts.ir_name, count.rounds.value(Var(var), DataType.U32)))
        return var

    def test_of(self, call: GeneratorCall) -> Value | None:
        """Whether a round has an element; several conditions are tested one after the other."""
        if not call.tests:
            return None
        first, *others = call.tests
        whole = ast.copy_location(ast.BoolOp(ast.And(), [*call.tests]), first)
        value = self.expression(whole if others else first)
        self.check_bool(value)
        return value

    def or_default(
        self, call: GeneratorCall, over: _Over, test: Value | None, result: Value, default: Value
    ) -> Value:
        """The least or the greatest, or another value where there is no element at all."""
        always = test is None or bool(test.constant)
        never = test is not None and test.constant is not None and not test.constant
        if never or (always and over.length is not None):
            which = int(never or not over.length)
            return self.combine(call.node, [result, default], lambda _, parts: parts[which])
        some: Expr = Binary(BinaryOp.NE, over.count, zero(DataType.U32))
        if not always:
            name = self.names.fresh("some", anywhere=True)
            with self.rounds_of(call, over) as (body, var):
                again = self.test_of(call)
                assert again is not None, "without one an element is sure"
                body.append(Yield(again.expr))
            for made in body:
                self.noted(made, call.tests[0])
            found = Reduce(name, ReduceOp.ANY, DataType.BOOL, var, over.count, tuple(body))
            self.out.append(self.noted(found, call.node))
            some = Var(name)
        return self.combine(call.node, [result, default], lambda _, parts: Select(some, *parts))

    def folded(self, call: GeneratorCall, name: str, element: Value) -> tuple[Value, Expr]:
        """The value that elements come to under `name`, and what one yields for it."""
        node, op = call.node, call.op
        if op in (ReduceOp.ANY, ReduceOp.ALL):
            self.check_bool(element)
            return Value.typed(node, DataType.BOOL, Var(name)), element.expr
        if op is ReduceOp.SUM and element.is_bool:
            count = Cast(DataType.U32, element.expr)
            return Value.typed(node, DataType.U32, Var(name)), self.noted(count, element.node)
        self.check_number(element, call.called)
        if element.dtype is None and op.finds:
            expr, dtype = self.settle(element)
            return Value.typed(node, dtype, Var(name)), expr
        if element.dtype is not None:
            self.check_wide(call, element, element.dtype)
            return Value.typed(node, element.dtype, Var(name)), element.expr
        variable = self.variable(call.called, self.frame.key(node, "elements"), name)
        variable.is_reduced = True
        if variable.dtype is not None:
            self.check_wide(call, element, variable.dtype)
            value = self.fit(element, variable.dtype, call.called)
            return Value.typed(node, variable.dtype, Var(name)), value
        variable.collect(element, self.frame.source)
        needs = (variable,)
        return Value(node, None, lambda _: Var(name), variable.is_float, (), needs), PLACEHOLDER

    def check_wide(self, call: GeneratorCall, element: Value, dtype: DataType) -> None:
        if is_narrow(dtype):
            text = self.text(element.node)
            wide = DataType.I32 if dtype.is_signed else DataType.U32
            raise self.error(
                element.node,
                f"{call.called} takes numbers of 32 or 64 bits, and {text} is {dtype}",
                f"cast it, for example {wide}({'...' if text == 'this' else text})",
            )

    def place(self, call: GeneratorCall, count: _Over, name: str, *, is_sure: bool) -> Value:
        """The value that the generator's variable has in the round that was found; of none, 0."""
        assert isinstance(count, _Count), "places are those of ranges"
        if count.rounds is None:
            entry = self.frame.env[count.name.id]
            assert isinstance(entry, Bound), "it counts"
            counts = entry.variable
            return Value(call.node, None, lambda _: Var(counts.ir_name), needs=(counts,))
        dtype, found = count.rounds.dtype, Var(name)
        value = found if count.is_plain else count.rounds.value(found, DataType.U32)
        if not is_sure:
            nowhere = Binary(BinaryOp.EQ, found, Lit.of(DataType.U32, NOWHERE))
            value = Select(nowhere, zero(dtype), value)
        return Value.typed(call.node, dtype, value)

    @contextmanager
    def only_computing(self, called: str) -> Iterator[None]:
        """What is translated here is an element, or decides about one: it has no effects."""
        outer, self.reducing = self.reducing, called
        try:
            yield
        finally:
            self.reducing = outer


def element_type(op: ReduceOp, result: Value) -> DataType:
    """The type of the elements, as the value that they come to has it before places are made."""
    return DataType.BOOL if op in (ReduceOp.ANY, ReduceOp.ALL) else result.default
