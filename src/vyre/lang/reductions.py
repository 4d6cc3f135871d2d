"""Reductions of a kernel: what the elements of a generator over `range()` come to."""

from __future__ import annotations

import ast
from abc import ABC
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from vyre.errors import LanguageError
from vyre.ir.expr import Binary, BinaryOp, Cast, Expr, Lit, Select, Var
from vyre.ir.node import NOWHERE, If, Let, Node, Reduce, ReduceOp, Yield
from vyre.ir.types import DataType
from vyre.lang.ranges import Range, Ranges, Rounds
from vyre.lang.scopes import Bound
from vyre.lang.values import PLACEHOLDER, Value, Variable, is_narrow, zero

_COLLECTIONS = (ast.List, ast.Tuple, ast.Set, ast.Dict)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)
_OF_TWO = {
    ReduceOp.SUM: "a + b",
    ReduceOp.PROD: "a * b",
    ReduceOp.MIN: "min(a, b)",
    ReduceOp.MAX: "max(a, b)",
    ReduceOp.ANY: "a or b",
    ReduceOp.ALL: "a and b",
    ReduceOp.ARGMIN: "0 if a <= b else 1",
    ReduceOp.ARGMAX: "0 if a >= b else 1",
}
_OF_NOTHING = {
    ReduceOp.MIN: "infinity, or the largest whole number",
    ReduceOp.MAX: "minus infinity, or the smallest whole number",
}


@dataclass(frozen=True, slots=True)
class _Call:
    """A call that reduces: as written, how its elements come together, and what they are."""

    node: ast.Call
    op: ReduceOp
    called: str  # as the author calls it
    element: ast.expr
    target: ast.Name
    over: ast.expr
    tests: tuple[ast.expr, ...]


@dataclass(frozen=True, slots=True)
class _Count:
    """What a reduction counts: a range of values, and its rounds once their type is known."""

    found: Range
    dtype: DataType | None
    rounds: Rounds | None
    count: Expr

    @property
    def is_plain(self) -> bool:
        """Whether the values are the rounds themselves."""
        return self.dtype == DataType.U32 and self.found.step == 1 and _is_zero(self.found.start)


class Reductions(Ranges, ABC):
    """Turns `sum(... for k in range(n))` and its like into statements, and names for results."""

    def holds_elements(self, node: ast.Call) -> bool:
        """Whether a function of several values is called with one thing that holds them."""
        match node.args:
            case [ast.GeneratorExp(), *_]:
                return True
            case [only]:
                kinds = (*_COLLECTIONS, *_COMPREHENSIONS)
                return isinstance(only, kinds) or self.buffer(only) is not None
            case _:
                return False

    def reduction(self, node: ast.Call, op: ReduceOp) -> Value:
        """What the elements of a generator come to, computed where the call stands."""
        call = self.reducing_call(node, op)
        key = self.frame.key(call.target, call.target.id)
        # The bounds belong to what is around the generator, also where its name hides another.
        count = self.count_of(call, key)
        name = self.names.fresh(op.name.lower(), anywhere=True)
        env, mark = self.frame.env, self.frame.env.mark()
        with self.nested() as body, self.only_computing(call.called):
            counts = self.variable(call.target.id, key)
            var = self.count_with(counts, count)
            env[call.target.id] = Bound(counts)
            test = self.test_of(call)
            with self.nested() as inner:
                element = self.expression(call.element)
                result, value = self.folded(call, name, element)
                inner.append(self.noted(Yield(value), call.element))
        env.taken_back(mark)
        nodes: tuple[Node, ...] = (*body, *inner)
        rounds = count.count
        if test is not None and test.constant is None:
            nodes = (*body, If(test.expr, tuple(inner)))
        elif test is not None and not test.constant:
            rounds = zero(DataType.U32)  # no round has an element
        for made in (*nodes, *inner):
            self.noted(made, call.element)
        reduced = Reduce(name, op, element_type(op, result), var, rounds, nodes)
        self.out.append(self.noted(reduced, node))
        is_sure = bool(count.found.length) and (test is None or bool(test.constant))
        return self.place(call, count, counts, name, is_sure=is_sure) if op.finds else result

    # -- what is written

    def reducing_call(self, node: ast.Call, op: ReduceOp) -> _Call:
        """The parts of a call that reduces, each of which has its place in the language."""
        called = self.text(node.func)
        self.check_further(node, op, called)
        if not node.args:
            raise self.error(
                node, f"{called}() of nothing", f"write {called}(x[k] for k in range(len(x)))"
            )
        generator = node.args[0]
        if not isinstance(generator, ast.GeneratorExp):
            raise self.no_generator(generator, op, called)
        clause = generator.generators[0]
        if len(generator.generators) > 1:
            nested = f"nest them: {called}({called}(x[i, j] for j in range(n)) for i in range(m))"
            flat = "count in one: for p in range(m * n), with p // n and p % n for the two"
            raise self.error(
                generator.generators[1].target,
                f"a second for in one {called}()",
                flat if op.finds else nested,
            )
        if clause.is_async:
            raise self.error(
                clause.target,
                "async for is not part of the kernel language",
                "write for k in range(...)",
            )
        if not isinstance(clause.target, ast.Name):
            raise self.error(
                clause.target,
                f"a generator counts with one name, and {self.text(clause.target)} is not one",
                "write for k in range(...), and compute the others from k",
            )
        for part in ast.walk(generator):
            if isinstance(part, ast.NamedExpr):
                raise self.error(
                    part,
                    f"an assignment inside {called}() is not part of the kernel language",
                    "compute the element in a function under @vyre.function, and call that",
                )
        return _Call(
            node, op, f"{called}()", generator.elt, clause.target, clause.iter, (*clause.ifs,)
        )

    def check_further(self, node: ast.Call, op: ReduceOp, called: str) -> None:
        """Refuse what stands behind the generator in a call."""
        further: list[tuple[str, ast.expr]] = [("", argument) for argument in node.args[1:]]
        further += [(word.arg or "**", word.value) for word in node.keywords]
        for word, argument in further:
            text = "..." if self.text(argument) == "this" else self.text(argument)
            sums = op in (ReduceOp.SUM, ReduceOp.PROD)
            match word:
                case "start" | "" if sums:
                    sign = "+" if op is ReduceOp.SUM else "*"
                    raise self.error(
                        argument,
                        f"{called}() begins with its first element, and takes no other start",
                        f"write {text} {sign} {called}(...)",
                    )
                case "default" if op in _OF_NOTHING:
                    test = "n > 0"
                    generator = node.args[0] if node.args else None
                    if isinstance(generator, ast.GeneratorExp) and generator.generators[0].ifs:
                        test = "any(c(k) for k in range(n))"
                    raise self.error(
                        argument,
                        f"{called}() of no elements is {_OF_NOTHING[op]}, and takes no default",
                        f"write {called}(...) if {test} else {text}",
                    )
                case "key":
                    finds = (
                        "vyre.argmax" if op in (ReduceOp.MAX, ReduceOp.ARGMAX) else "vyre.argmin"
                    )
                    raise self.error(
                        argument,
                        f"{called}() compares its elements themselves, and takes no key",
                        f"write k = {finds}(key(k) for k in range(n)), and use k",
                    )
                case "":
                    fix = (
                        f"write {called}({text}, {called}(...))"
                        if op in _OF_NOTHING
                        else "remove it"
                    )
                    raise self.error(
                        argument,
                        f"{text} stands behind the elements of {called}()",
                        fix,
                    )
                case _:
                    raise self.error(
                        argument,
                        f"{called}() has no further parameter {word!r}",
                        f"write {called}(x[k] for k in range(len(x)))",
                    )

    def no_generator(self, given: ast.expr, op: ReduceOp, called: str) -> LanguageError:
        text, buffer = self.text(given), self.buffer(given)
        example = f"{called}(x[k] for k in range(len(x)))"
        if buffer is not None:
            return self.error(
                given,
                f"{called}() of {text}, which is a whole array",
                f"say which elements: {called}({elements_of(text, buffer.decl.rank)})",
            )
        if isinstance(given, _COMPREHENSIONS):
            return self.error(
                given,
                f"{called}() of a comprehension, which would be kept in memory",
                f"leave its brackets out: {example}",
            )
        if isinstance(given, _COLLECTIONS):
            kind = type(given).__name__.lower()
            return self.error(
                given, f"{called}() of a {kind}", f"write {_OF_TWO[op]} of its values, or {example}"
            )
        if isinstance(given, ast.Call) and self.static(given.func) is range:
            return self.error(
                given,
                f"{called}() takes a generator, and {text} is not one",
                f"write {called}(k for k in {'range(...)' if text == 'this' else text})",
            )
        match given:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Slice(lower, upper, None)):
                first = "" if lower is None else f"{self.text(lower)}, "
                last = f"len({name})" if upper is None else self.text(upper)
                example = f"{called}({name}[k] for k in range({first}{last}))"
            case _:
                pass
        return self.error(
            given, f"{called}() takes a generator, and {text} is not one", f"write {example}"
        )

    # -- what it means

    def count_of(self, call: _Call, key: tuple[object, ...]) -> _Count:
        """What the generator counts; its bounds are computed here, before the first round."""
        found = self.range_of(call.over, "a generator", _over(self.text(call.over)))
        dtype = found.known.dtype if found.known is not None else self.decisions.types.get(key)
        if dtype is None:
            return _Count(found, None, None, PLACEHOLDER)
        exprs = self.bounds(found, dtype, call.target.id)
        rounds = self.rounds(found, dtype, exprs, self.once)
        return _Count(found, dtype, rounds, self.in_u32(call, found, rounds))

    def in_u32(self, call: _Call, found: Range, rounds: Rounds) -> Expr:
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

    def test_of(self, call: _Call) -> Value | None:
        """Whether a round has an element; several conditions are tested one after the other."""
        if not call.tests:
            return None
        first, *others = call.tests
        whole = ast.copy_location(ast.BoolOp(ast.And(), [*call.tests]), first)
        value = self.expression(whole if others else first)
        self.check_bool(value)
        return value

    def folded(self, call: _Call, name: str, element: Value) -> tuple[Value, Expr]:
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

    def check_wide(self, call: _Call, element: Value, dtype: DataType) -> None:
        if is_narrow(dtype):
            text = self.text(element.node)
            wide = DataType.I32 if dtype.is_signed else DataType.U32
            raise self.error(
                element.node,
                f"{call.called} takes numbers of 32 or 64 bits, and {text} is {dtype}",
                f"cast it, for example {wide}({'...' if text == 'this' else text})",
            )

    def place(
        self, call: _Call, count: _Count, counts: Variable, name: str, *, is_sure: bool
    ) -> Value:
        """The value that the generator's variable has in the round that was found; of none, 0."""
        if count.rounds is None:
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


def elements_of(array: str, rank: int) -> str:
    """The generator of an array's elements along its last axis."""
    others = "".join(f"{axis}, " for axis in "hij"[4 - rank :])
    size = f"len({array})" if rank == 1 else f"{array}.shape[{rank - 1}]"
    return f"{array}[{others}k] for k in range({size})"


def _over(text: str) -> str:
    """How to count what was named instead of a range."""
    return (
        f"write for k in range(len({text})), and {text}[k]"
        if text.isidentifier()
        else ("write for k in range(n), and compute with k")
    )


def _is_zero(value: Value) -> bool:
    return value.constant == 0
