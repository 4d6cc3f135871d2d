"""Loops over what is known while translating, spelled out round by round."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from vyre.ir.node import Let
from vyre.ir.types import DataType
from vyre.lang.assignments import ENDED, Assignments
from vyre.lang.exits import BROKEN, CONTINUED, Round
from vyre.lang.intrinsics import Function
from vyre.lang.scopes import (
    Alias,
    Bound,
    Buffer,
    Declared,
    Local,
    Missing,
    after_loop,
    assigned_names,
)
from vyre.lang.several import Parts, arranged, form_of, leaves
from vyre.lang.tables import Table
from vyre.lang.tuples import names_of
from vyre.lang.values import Value, zero

MOST_ROUNDS = 1024
"""Of loops over tuples in one kernel: each is spelled out, and loops in loops multiply."""

_INDEXED = "write for k in range(...): and index with k"


class Loops(Assignments):
    """Turns loops over tuples and the like into their rounds."""

    spelled = 0  # rounds so far

    @abstractmethod
    def block(self, body: Sequence[ast.stmt]) -> bool: ...

    def is_range(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and self.static(node.func) is range

    def spelled_out(self, node: ast.For) -> bool:
        """`for w in (0.25, 0.5):` as its rounds; whether control goes on after it."""
        items = [self.kept(parts) for parts in self.sequence(node.iter)]
        self.check_loop_name(node.target)
        env, path, depth = self.frame.env, self.frame.path, self.names.depth
        mark, goes_on = env.mark(), True
        if id(node) not in self.decisions.rounds:  # the same statements in every pass
            self.decisions.rounds[id(node)] = Round.of(node)
        body = self.decisions.rounds[id(node)]
        if body.breaks:
            self.flag(BROKEN, node, "left")
        for number, parts in enumerate(items):
            self.count_round(node)
            self.frame.path = (*path, id(node), number)
            guarded = body.breaks and number > 0  # by whether a round before it broke
            self.depths.append(depth + guarded)
            before = env.mark()
            for target, value in self.pairs(node.iter, node.target, parts):
                self.bind_round(node, target, value)
            if body.continues:
                self.flag(CONTINUED, node, "skipped")
            goes_on = self.block([body.guarded] if guarded else body.statements)
            after_loop(env, env.taken_back(before), node.lineno)
            self.frame.path = path
            if self.depths.pop() == ENDED or not goes_on:
                break
        env.taken_back(mark)
        for name in (*assigned_names(node.body), *assigned_names([node])):
            if name not in env:
                after_loop(env, [name], node.lineno)
        for target in self.loop_names(node.target):
            env[target.id] = Missing(
                f"{target.id!r} goes through the loop of line {node.lineno} and has no value after "
                "it",
                f"copy {target.id} in the loop into a variable that has a value before it",
            )
        return goes_on

    def flag(self, name: str, node: ast.AST, ir_name: str) -> None:
        """Make a variable of the translation's own that says whether something was left."""
        made = self.variable(name, self.frame.key(node, name), self.names.fresh(ir_name))
        made.dtype = DataType.BOOL
        self.out.append(Let(made.ir_name, zero(DataType.BOOL)))
        self.frame.env[name] = Bound(made)

    def count_round(self, node: ast.For) -> None:
        self.spelled += 1
        if self.spelled > MOST_ROUNDS:
            raise self.error(
                node.iter,
                f"loops over tuples spell out as more than {MOST_ROUNDS:,} rounds",
                "loop over range(), and pass what it goes through as an array",
            )

    def kept(self, parts: Parts) -> Parts:
        """What a round is given, as it was before the first one."""
        values = [
            self.spill(value, "item") if self.is_changeable(value) else value
            for value in leaves(parts)
        ]
        return arranged(form_of(parts), iter(values))

    def bind_round(self, node: ast.For, target: ast.expr, value: Value) -> None:
        assert isinstance(target, ast.Name), "the names of the loop were looked at"
        if target.id in assigned_names(node.body):
            variable = self.variable(target.id, self.frame.key(node, target.id))
            self.let(variable, value)
            self.frame.env[target.id] = Bound(variable)
        else:
            self.frame.env[target.id] = Alias(value)

    def check_loop_name(self, target: ast.expr) -> None:
        for name in self.loop_names(target):
            if isinstance(self.frame.env.get(name.id), (Bound, Declared, Buffer, Local, Table)):
                raise self.error(
                    name,
                    f"{name.id!r} has a value already, and the loop would replace it",
                    "use another name for the loop's variable",
                )

    def loop_names(self, target: ast.expr) -> list[ast.Name]:
        if isinstance(target, ast.Name):
            return [target]
        names = names_of(target)
        if not names:
            raise self.error(
                target,
                f"{self.text(target)} is not a name that a loop can give values to",
                "write for v in ...: or for a, b in ...:",
            )
        return [name for one in names for name in self.loop_names(one)]

    def sequence(self, node: ast.expr, *, of_generator: bool = False) -> list[Parts]:
        """What a loop or a generator goes through, one for each round."""
        target = self.static(node.func) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and any(
            target is one for one in (enumerate, zip, reversed, range)
        ):
            return self.sequence_of_call(node, target, of_generator=of_generator)
        entry = self.held(node)
        if isinstance(entry, Table):
            return list(self.entries(node, entry))
        known = isinstance(node, (ast.Tuple, ast.List)) or isinstance(target, Function)
        known = known or (isinstance(node, ast.Attribute) and node.attr == "shape")
        if known or isinstance(self.static(node), (tuple, list, np.ndarray)):
            parts = self.several(node)
            if not isinstance(parts, Value):
                return list(parts)
        is_part = self.is_part(node)
        raise self.error(
            node,
            f"a {'generator' if of_generator else 'loop'} runs over range() or a tuple, and "
            f"{self.text(node)} is neither",
            self.instead_of_part(node) if is_part else self.instead_of_other(node),
        )

    def instead_of_other(self, node: ast.expr) -> str:
        """How a loop runs over what is no array and no tuple."""
        match node:
            case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), keywords=[]) if (
                called.endswith("range")  # NumPy's arange, prange and such
            ):
                return f"write for k in range({', '.join(map(self.short_text, node.args))})"
            case ast.Call(args=[ast.Call(func=inner) as over]) if self.static(inner) is range:
                return f"write for k in {self.short_text(over)}"
            case _:
                pass
        is_call = isinstance(node, ast.Call) and self.static(node.func) is not len
        of_values = (
            isinstance(part, (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.JoinedStr))
            or (isinstance(part, ast.Constant) and isinstance(part.value, str))
            or (isinstance(part, ast.Call) and self.static(part.func) is range)
            or isinstance(self.static(part), (tuple, list, dict, set, np.ndarray))
            for part in ast.walk(node)
            if isinstance(part, ast.expr)
        )
        if is_call or any(of_values):
            return (
                "make a tuple of it outside the kernel, VALUES = (...), and write for v in VALUES"
            )
        text = self.text(node)
        return f"write for k in range({'...' if text == 'this' else text})"

    def entries(self, node: ast.expr, table: Table, at: tuple[int, ...] = ()) -> tuple[Parts, ...]:
        """The numbers of a table that was handed to a function, row by row."""
        numbers = range(table.shape[len(at)])
        if len(at) + 1 < table.rank:
            return tuple(self.entries(node, table, (*at, number)) for number in numbers)
        indices = [
            [ast.copy_location(ast.Constant(value), node) for value in (*at, number)]
            for number in numbers
        ]
        return tuple(self.element(table, [*one], node) for one in indices)

    def sequence_of_call(
        self, node: ast.Call, target: object, *, of_generator: bool
    ) -> list[Parts]:
        """`enumerate`, `zip` and `reversed` of what is known, and a range in them."""
        if target is range:
            return self.known_range(node)
        if target is zip:
            return self.zipped(node, of_generator=of_generator)
        if target is reversed:
            (inner,) = self.arguments(node, ("x",))
            if isinstance(inner, ast.Call) and self.static(inner.func) is range:
                return self.known_range(inner, self.instead_of_reversed(inner))[::-1]
            return self.sequence(inner, of_generator=of_generator)[::-1]
        given = self.matched(node, ("iterable", "start"), ("start",))
        start = self.expression(given["start"]).constant if "start" in given else 0
        if not isinstance(start, int) or isinstance(start, bool):
            raise self.error(
                given["start"],
                f"enumerate() starts at {self.text(given['start'])}, which is not a constant whole "
                "number",
                "write a number",
            )
        items = self.sequence(given["iterable"], of_generator=of_generator)
        return [(Value.literal(node, start + n), item) for n, item in enumerate(items)]

    def instead_of_reversed(self, node: ast.Call) -> str:
        """How a loop counts down to 0 from what only a call knows, below which u32 has nothing."""
        match node.args:
            case [ast.Name() | ast.Call() | ast.Attribute() | ast.Subscript() as stop]:
                n = self.short_text(stop)
                return f"write for j in range({n}): and in it k = {n} - 1 - j"
            case _:
                return _INDEXED

    def known_range(self, node: ast.Call, fix: str = _INDEXED) -> list[Parts]:
        given = self.range_of(node, "a loop")
        start, stop = given.start.constant, given.stop.constant
        if not isinstance(start, int) or not isinstance(stop, int):
            raise self.error(
                node,
                f"{self.text(node)} is spelled out here, and its bounds are not constants",
                fix,
            )
        found = range(start, stop, given.step)
        if len(found) > MOST_ROUNDS:
            raise self.error(
                node,
                f"{self.text(node)} has {len(found):,} rounds; {MOST_ROUNDS:,} are spelled out",
                _INDEXED,
            )
        return [Value.literal(node, number) for number in found]

    def zipped(self, node: ast.Call, *, of_generator: bool) -> list[Parts]:
        strict = False
        for word in node.keywords:
            known = isinstance(word.value, ast.Constant) and isinstance(word.value.value, bool)
            if word.arg != "strict" or not known:
                raise self.error(
                    word.value,
                    f"zip() has no parameter {word.arg!r} with such a value",
                    "write zip(a, b), or zip(a, b, strict=True)",
                )
            strict = ast.literal_eval(word.value)
        sides = [self.sequence(side, of_generator=of_generator) for side in node.args]
        lengths = [len(side) for side in sides]
        if strict and len({*lengths}) > 1:
            raise self.error(
                node,
                f"zip() of {' and '.join(map(str, lengths))} values, and strict=True",
                "give each side as many values, or leave strict out to stop at the shortest",
            )
        return [tuple(items) for items in zip(*sides, strict=False)]
