"""Expressions of a kernel: names, operators, comparisons, conditions and loads."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from math import prod
from types import ModuleType

import numpy as np

from vyre.errors import LanguageError
from vyre.ir.expr import (
    Atomic,
    Binary,
    BinaryOp,
    BufDim,
    BufLen,
    Expr,
    FlatIndex,
    Lit,
    Load,
    Select,
    Unary,
    UnaryOp,
    Var,
)
from vyre.ir.node import Assign, If, Let, Node
from vyre.ir.types import DataType
from vyre.ir.walk import expressions
from vyre.lang.context import NOTHING
from vyre.lang.edges import at_edge, place_at
from vyre.lang.fusing import factors
from vyre.lang.intrinsics import Function, find_intrinsic
from vyre.lang.operators import COMPARISONS, SYMBOLS, Operators, whole
from vyre.lang.params import Edge
from vyre.lang.scopes import (
    Alias,
    Bound,
    Buffer,
    Declared,
    Held,
    Hoistable,
    Local,
    Missing,
)
from vyre.lang.tables import Table, is_table
from vyre.lang.unknown import fix_for_member, fix_for_text
from vyre.lang.values import Value, fits, zero

SPLIT_EVERY = 40  # levels of one expression before a part of it is bound to a name
DEEPEST = 500  # levels of one expression that are read at all

_UNSUPPORTED: dict[type[ast.AST], tuple[str, str]] = {
    ast.List: ("a list", "use vyre.local(dtype, count), or an array parameter"),
    ast.Tuple: ("a tuple", "use one name for each value"),
    ast.Dict: ("a dict", "use an array parameter"),
    ast.Set: ("a set", "use an array parameter"),
    ast.Lambda: ("a lambda", "write it as a def under @vyre.function"),
    ast.ListComp: ("a comprehension", "write a for loop over range()"),
    ast.SetComp: ("a comprehension", "write a for loop over range()"),
    ast.DictComp: ("a comprehension", "write a for loop over range()"),
    ast.GeneratorExp: (
        "a generator outside a reduction",
        "write sum() of it, or min, max, any, all, vyre.prod, vyre.argmin or vyre.argmax",
    ),
    ast.JoinedStr: ("an f-string", "give it to print(), or make text of numbers on the host"),
    ast.NamedExpr: ("an assignment inside an expression", "assign on a line of its own"),
    ast.Await: ("await", "remove it; a kernel runs to its end"),
    ast.Yield: ("yield", "store results in an Out array"),
    ast.YieldFrom: ("yield", "store results in an Out array"),
    ast.Starred: ("a starred value", "write each value out"),
    ast.Slice: ("a slice", "loop over range() and use one index at a time"),
}


class Expressions(Operators, ABC):
    """Turns expressions into values; calls are left to whoever extends it."""

    _level = 0

    @abstractmethod
    def call(self, node: ast.Call) -> Value: ...

    @abstractmethod
    def element(self, held: Local | Table, indices: list[ast.expr], node: ast.expr) -> Value: ...

    def expression(self, node: ast.expr) -> Value:
        """The value of `node`; what must happen before it goes to the statements so far."""
        self._level += 1
        try:
            value = self._expression(node)
        except RecursionError:
            if self._level <= SPLIT_EVERY:
                raise  # it is not the expression that is deep
            raise self.too_long(node) from None
        else:
            if value.is_product and not isinstance(node, (ast.BinOp, ast.UnaryOp)):
                value = replace(value, is_product=False)  # a name, a call or a choice of one
            return self.part(value)
        finally:
            self._level -= 1

    def too_long(self, node: ast.expr) -> LanguageError:
        return self.error(node, "this expression is too long", "split it over several assignments")

    def part(self, value: Value) -> Value:
        """`value`, bound to a name now and then, so that no expression nests too deep."""
        split = self._level % SPLIT_EVERY == 0 and value.dtype is not None
        if split and value.is_product:
            return self.by_factors(value, "part")
        return self.once(value, "part") if split else value

    def by_factors(self, value: Value, name: str, at: int | None = None) -> Value:
        """A product whose factors are bound to names, so that it can still fuse."""
        found = factors(value.expr)
        if found is None or value.dtype is None or not value.dtype.is_float:
            return self.spill(value, name, at)
        *sides, negative = found
        made = list[Expr]()
        for side in sides:
            if self.is_simple(side):
                made.append(side)
                continue
            made.append(self.spill(Value.typed(value.node, value.dtype, side), name, at).expr)
            at = None if at is None else at + 1
        product: Expr = Binary(BinaryOp.MUL, *made)
        product = Unary(UnaryOp.NEGATE, product) if negative else product
        return replace(Value.typed(value.node, value.dtype, product), is_product=True)

    def _expression(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=value):
                return self.constant(node, value)
            case ast.Name():
                return self.name(node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Subscript():
                return self.subscript(node)
            case ast.UnaryOp():
                return self.unary(node)
            case ast.BinOp():
                return self.chain(node)
            case ast.BoolOp():
                return self.logical(node)
            case ast.Compare():
                return self.comparison(node)
            case ast.IfExp():
                return self.conditional(node)
            case ast.Call():
                return self.call(node)
            case _:
                kind = type(node)
                what, fix = _UNSUPPORTED.get(kind, (kind.__name__, "write it another way"))
                raise self.error(node, f"{what} is not part of the kernel language", fix)

    def values(self, *nodes: ast.expr | Value) -> list[Value]:
        """The values of `nodes`, evaluated left to right as Python does."""
        found: list[Value] = []
        for node in nodes:
            mark, before = len(self.out), self.effects
            value = node if isinstance(node, Value) else self.expression(node)
            if self.effects != before:
                found = self.kept_before(found, mark)
            found.append(value)
        return found

    def kept_before(self, values: list[Value], mark: int) -> list[Value]:
        """What was read before `mark`, read before it also from memory that changes."""
        kept = list[Value]()
        for value in values:
            if value.dtype and self.reads_changing_memory(value.expr):
                count = len(self.out)
                keep = self.by_factors if value.is_product else self.spill
                kept.append(keep(value, "before", mark))
                mark += len(self.out) - count
            else:
                kept.append(value)
        return kept

    def chain(self, node: ast.BinOp) -> Value:
        """`a + b + c` and so on from the left, in a loop: a sum may have hundreds of terms."""
        links = [node]
        while isinstance(links[-1].left, ast.BinOp):
            links.append(links[-1].left)
        self._level += len(links) - 1
        if self._level > DEEPEST:
            raise self.too_long(node)
        value = None
        for link in reversed(links):
            left, right = self.values(link.left if value is None else value, link.right)
            value = self.binary(link, link.op, left, right)
            if link is not node:
                value = self.part(value)
                self._level -= 1
        assert value is not None, "a chain has a link"
        return value

    def constant(self, node: ast.expr, value: object) -> Value:
        """A number of the kernel's own, or one that it takes from the Python around it."""
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, (bool, int, float)):
            number = value if isinstance(value, bool) else _plain(value)
            return Value.literal(node, number)
        if isinstance(value, str):
            raise self.error(
                node,
                "a string is not part of the kernel language",
                fix_for_text(value) or "compute with numbers; make text of them on the host",
            )
        text = self.text(node)
        if isinstance(value, DataType):
            raise self.error(node, f"{text} is a type, not a value", f"call it: {text}(x)")
        if find_intrinsic(value) or isinstance(value, Function) or callable(value):
            raise self.error(node, f"{text} is a function, not a value", f"call it: {text}(...)")
        if isinstance(value, np.ndarray):
            raise self.error(
                node,
                f"{text} is a whole array outside the kernel",
                f"index it: {text}[k], or pass it as {text}: In[f32]",
            )
        if isinstance(value, (tuple, list)):
            kind = type(value).__name__
            raise self.error(node, f"{text} is a whole {kind}", f"index it: {text}[k]")
        if isinstance(value, Mapping):
            raise self.error(
                node,
                f"{text} is a {type(value).__name__}, and a kernel computes with numbers",
                f"take what it needs of it out around the kernel, n = {text}[...], and use n",
            )
        if isinstance(value, ModuleType):
            raise self.error(node, f"{text} is a module", "use a number or a function of it")
        kind = "not a number" if value is None else f"a {type(value).__name__}"
        raise self.error(
            node,
            f"{text} is {kind}, and a kernel computes with numbers",
            "use a number, or pass an array as a parameter",
        )

    def name(self, node: ast.Name) -> Value:
        entry = self.frame.env.get(node.id)
        if isinstance(entry, Hoistable):
            self.decide_hoisted(entry, node.id)
            entry = self.frame.env[node.id] = Bound(entry.variable)
        match entry:
            case Bound(variable):
                if variable.dtype is not None:
                    return Value.typed(node, variable.dtype, Var(variable.ir_name))
                name = variable.ir_name
                return Value(node, None, lambda _: Var(name), variable.is_float, (), (variable,))
            case Alias(value):
                return value.at(node)
            case Missing(reason, fix):
                raise self.error(node, reason, fix)
            case Buffer() | Local() | Table():
                raise self.error(node, f"{node.id!r} is a whole array", f"index it: {node.id}[i]")
            case None | Declared():
                pass
        if node.id in self.frame.assigned:
            raise self.error(
                node,
                f"{node.id!r} has no value yet",
                f"give {node.id} a value before this line",
            )
        found = self.static(node)
        if found is NOTHING:
            raise self.no_name(node)
        return self.constant(node, found)

    def attribute(self, node: ast.Attribute) -> Value:
        held = self.held(node.value)
        if held is not None:
            match node.attr:
                case "size":
                    return self.length(node, held)
                case "ndim":
                    return Value.literal(node, held.rank)
                case "shape":
                    raise self.error(
                        node,
                        f"{self.text(node)} is a tuple",
                        f"take one axis: {self.text(node)}[0]",
                    )
                case _:
                    raise self.error(
                        node,
                        f"an array has no {node.attr!r} in a kernel",
                        "use its shape, ndim or size, or index it",
                    )
        value = self.static(node)
        if value is not NOTHING:
            return self.constant(node, value)
        owner = self.static(node.value)
        if owner is NOTHING:
            self.expression(node.value)  # says what is wrong with a name that is not there
            raise self.error(
                node,
                f"{self.text(node.value)} is a number, and numbers have no attributes here",
                "use a function such as vyre.abs(x)",
            )
        text = self.text(node.value)
        fix = fix_for_member(node.attr, owner, text)
        raise self.error(node, f"{text} has no {node.attr!r}", fix)

    def length(self, node: ast.expr, held: Held) -> Value:
        """The number of elements of an array."""
        if all(held.extents):
            return Value.literal(node, prod(held.extents))
        return Value.typed(node, DataType.U32, BufLen(held.name))

    def axis_extent(self, node: ast.expr, held: Held, axis: int) -> Value:
        """The size of an array along one axis, outermost first."""
        if not 0 <= axis < held.rank:
            raise self.error(
                node,
                f"axis {axis} of {held.name!r}, which has {_axes(held.rank)}",
                "use axis 0" if held.rank == 1 else f"use 0 to {held.rank - 1}",
            )
        if held.extents[axis]:
            return Value.literal(node, held.extents[axis])
        if held.rank == 1:
            return Value.typed(node, DataType.U32, BufLen(held.name))
        return Value.typed(node, DataType.U32, BufDim(held.name, axis))

    def subscript(self, node: ast.Subscript) -> Value:
        match node.value:
            case ast.Attribute(value=base, attr="shape") if held := self.held(base):
                axis = self.expression(node.slice).constant
                if not isinstance(axis, int) or isinstance(axis, bool):
                    raise self.error(
                        node.slice, "the axis of a shape is not a constant", "write x.shape[0]"
                    )
                return self.axis_extent(node, held, axis)
        buffer = self.buffer(node.value)
        if buffer is not None:
            position = self.position(buffer, node, edge=buffer.edge)
            self.check_readable(buffer, node)
            found = self.noted(Load(buffer.name, position), node)
            return Value.typed(node, buffer.decl.element, found)
        value = self.static(node)
        if value is not NOTHING and not is_table(value):
            return self.constant(node, value)
        named, indices = chain_of(node)
        held = self.held(named) or self.table(named)
        if isinstance(held, (Local, Table)):
            return self.element(held, indices, node)
        self.expression(node.value)
        raise self.error(
            node, f"{self.text(node.value)} is a number, not an array", "index an array parameter"
        )

    def check_readable(self, buffer: Buffer, node: ast.expr) -> None:
        if not buffer.is_readable:
            raise self.error(
                node,
                f"{buffer.name!r} is an Out, which is written and never read",
                f"declare it {buffer.as_inout}",
            )

    def position(self, buffer: Buffer, node: ast.Subscript, *, edge: Edge = Edge.ZERO) -> Expr:
        """The index of a subscript as the IR counts it; `edge` is where a load goes beyond it."""
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return self.flat(buffer, indices, node, edge=edge)

    def flat(
        self,
        buffer: Buffer,
        indices: list[ast.expr],
        node: ast.expr,
        *,
        edge: Edge = Edge.ZERO,
    ) -> Expr:
        rank = buffer.decl.rank
        if len(indices) != rank:
            example = ", ".join(("i", "j", "k", "l")[:rank])
            raise self.error(
                node,
                f"{buffer.name!r} has {_axes(rank)} and is indexed with {len(indices)}",
                f"write {buffer.name}[{example}]",
            )
        values = self.values(*indices)
        found = tuple(
            self.index(buffer, axis, value)
            if edge is Edge.ZERO
            else self.index_at_edge(buffer, axis, value, edge, node)
            for axis, value in enumerate(values)
        )
        return found[0] if rank == 1 else FlatIndex(buffer.name, found)

    def index(self, buffer: Held, axis: int, value: Value) -> Expr:
        self.check_index(value)
        number, extent = value.constant, buffer.extents[axis]
        if number is not None and number < 0:
            size = "len({0})" if axis == 0 else "{0}.shape[" + str(axis) + "]"
            raise self.error(
                value.node,
                f"index {number} of {buffer.name!r} is negative",
                f"count from the start: {size.format(buffer.name)} - {-number}",
            )
        if number is not None and extent and number >= extent:
            raise self.error(
                value.node,
                f"index {number} of {buffer.name!r} is out of bounds; it has {extent}",
                f"use an index from 0 to {extent - 1}",
            )
        if number is not None:
            return self.fit(value, DataType.U32, f"the index of {buffer.name}")
        return self.settle(value)[0]

    def check_index(self, value: Value) -> None:
        if value.is_float or not value.default.is_int:
            raise self.error(
                value.node,
                f"the index {self.text(value.node)} is {value.default}",
                "index with a whole number, for example u32(...)",
            )

    def index_at_edge(
        self, buffer: Buffer, axis: int, value: Value, edge: Edge, node: ast.expr
    ) -> Expr:
        """The index of a load from an array that goes on beyond its edge."""
        self.check_index(value)
        number, size = value.constant, buffer.extents[axis]
        if number is not None and size and (found := place_at(edge, int(number), size)) is not None:
            return Lit.of(DataType.U32, found)
        if number is not None and number < 0 and edge is Edge.BROADCAST:
            return self.index(buffer, axis, value)  # says what is wrong with it
        if number is not None:
            fitting = DataType.U32 if fits(number, DataType.U32) else DataType.I32
            expr, dtype = self.fit(value, fitting, f"the index of {buffer.name}"), fitting
        else:
            settled, dtype = self.settle(value)
            expr = self.once(Value.typed(value.node, dtype, settled), "at").expr
        extent = self.axis_extent(value.node, buffer, axis)
        size_expr = self.fit(extent, DataType.U32, f"the size of {buffer.name}")
        return at_edge(edge, expr, dtype, size_expr, lambda made: self.noted(made, node))

    def unary(self, node: ast.UnaryOp) -> Value:
        value = self.expression(node.operand)
        number = value.constant
        sign = SYMBOLS[type(node.op)]
        if isinstance(node.op, ast.Not):
            self.check_bool(value)
            if number is not None:
                return Value.literal(node, not number)
            return Value.typed(node, DataType.BOOL, Unary(UnaryOp.LOGICAL_NOT, value.expr))
        if value.is_bool:
            raise self.error(
                node,
                f"{sign} of {self.text(value.node)}, which is bool",
                "use not, or cast it, for example i32(...)",
            )
        if isinstance(node.op, ast.Invert):
            self.check_int(value, sign)
            if number is not None:
                return Value.literal(node, ~int(number))
            made = self.combine(node, [value], lambda _, parts: Unary(UnaryOp.BIT_NOT, *parts))
            return whole(made)
        if isinstance(node.op, ast.UAdd):
            return value
        if number is not None:
            return Value.literal(node, -number)
        made = self.combine(node, [value], lambda _, parts: Unary(UnaryOp.NEGATE, *parts))
        return replace(made, is_product=True) if value.is_product else made

    def comparison(self, node: ast.Compare) -> Value:
        for op in node.ops:
            if type(op) not in COMPARISONS:
                is_membership = isinstance(op, (ast.In, ast.NotIn))
                raise self.error(
                    node,
                    f"{'in' if is_membership else 'is'} is not part of the kernel language",
                    self.instead_of_in(node) if is_membership else "compare with ==",
                )
        left, *rest = self.values(node.left, *node.comparators)
        found: Value | None = None
        for position, (op, right) in enumerate(zip(node.ops, rest, strict=True)):
            if position + 1 < len(rest):
                right = self.once(right, "middle")
            pair = self.compare(node, op, left, right)
            found = pair if found is None else self.both(node, BinaryOp.AND, found, pair)
            if position % SPLIT_EVERY == SPLIT_EVERY - 1:
                found = self.once(found, "part")
            left = right
        assert found is not None, "a comparison has two sides"
        return found

    def instead_of_in(self, node: ast.Compare) -> str:
        """How to say that a value is one of several, or none of them."""
        value, among = self.text(node.left), self.text(node.comparators[0])
        known = isinstance(node.comparators[0], (ast.Tuple, ast.List)) or is_table(
            self.static(node.comparators[0])
        )
        if len(node.ops) > 1 or not known or "this" in (value, among):
            return "compare each value with =="
        used = {part.id for part in ast.walk(node.left) if isinstance(part, ast.Name)}
        name = next(letter for letter in ("v", "w", "value_2") if letter not in used)
        if isinstance(node.ops[0], ast.NotIn):
            return f"write all({value} != {name} for {name} in {among})"
        return f"write any({value} == {name} for {name} in {among})"

    def logical(self, node: ast.BoolOp) -> Value:
        """`and`, `or`: loads are total, so both sides may be evaluated; effects may not."""
        op = BinaryOp.AND if isinstance(node.op, ast.And) else BinaryOp.OR
        first, *rest = node.values
        found = self.expression(first)
        self.check_bool(found)
        for position, part in enumerate(rest):
            if found.constant is not None and bool(found.constant) is (op is BinaryOp.OR):
                return found
            if position % SPLIT_EVERY == SPLIT_EVERY - 1:
                found = self.once(found, "part")
            with self.nested() as before:
                right = self.expression(part)
                self.check_bool(right)
            if self.absorb(before):
                found = self.both(node, op, found, right)
                continue
            bound = self.names.fresh("test", anywhere=True)
            self.out.append(Let(bound, found.expr))
            test: Expr = Var(bound)
            test = test if op is BinaryOp.AND else Unary(UnaryOp.LOGICAL_NOT, test)
            self.out.append(If(test, (*before, Assign(bound, right.expr))))
            found = Value.typed(node, DataType.BOOL, Var(bound))
        return found

    def absorb(self, *lists: list[Node]) -> bool:
        """Take over lists without effects: loads are total, so any path may run them."""
        nodes = [node for one in lists for node in one]
        lets = [node for node in nodes if isinstance(node, Let)]
        names = [node.name for node in lets]
        effects = any(isinstance(part, Atomic) for let in lets for part in expressions(let.value))
        if effects or len(lets) < len(nodes) or not self.names.take(names):
            return False
        self.out += lets
        return True

    def conditional(self, node: ast.IfExp) -> Value:
        test = self.expression(node.test)
        self.check_bool(test)
        if test.constant is not None:
            return self.expression(node.body if test.constant else node.orelse)
        with self.nested() as then:
            true = self.expression(node.body)
        with self.nested() as otherwise:
            false = self.expression(node.orelse)
        return self.chosen(node, test, (then, true), (otherwise, false))

    def chosen(
        self,
        node: ast.expr,
        test: Value,
        then: tuple[list[Node], Value],
        otherwise: tuple[list[Node], Value],
    ) -> Value:
        """One of two values, each with the statements before it."""
        cond, sides = test.expr, [then[1], otherwise[1]]
        if self.absorb(then[0], otherwise[0]):
            return self.combine(node, sides, lambda _, parts: Select(cond, *parts))
        (value,) = self.branch(node, cond, (then[0], [then[1]]), (otherwise[0], [otherwise[1]]))
        return value

    def branch(
        self,
        node: ast.expr,
        cond: Expr,
        then: tuple[list[Node], list[Value]],
        otherwise: tuple[list[Node], list[Value]],
    ) -> list[Value]:
        """Values that are chosen between, on sides that do something, as a statement."""
        joined = [
            self.combine(node, [one, other], lambda _, parts: parts[0])
            for one, other in zip(then[1], otherwise[1], strict=True)
        ]
        if any(value.dtype is None and value.needs for value in joined):
            return joined  # a later pass knows their types
        types = [value.default for value in joined]
        bound = [self.names.fresh("chosen", anywhere=True) for _ in joined]
        self.out += [Let(*pair) for pair in zip(bound, map(zero, types), strict=True)]
        lists = []
        for nodes, sides in (then, otherwise):
            given = [
                Assign(name, self.fit(side, dtype, self.text(node)))
                for name, side, dtype in zip(bound, sides, types, strict=True)
            ]
            lists.append((*nodes, *given))
        self.out.append(If(cond, *lists))
        return [
            Value.typed(node, dtype, Var(name)) for name, dtype in zip(bound, types, strict=True)
        ]


def chain_of(node: ast.expr) -> tuple[ast.expr, list[ast.expr]]:
    """What is indexed, and all indices: `t[i, j]` and `t[i][j]` are the same element."""
    indices: list[ast.expr] = []
    while isinstance(node, ast.Subscript):
        own = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        indices = [*own, *indices]
        node = node.value
    return node, indices


def _axes(rank: int) -> str:
    return "1 axis" if rank == 1 else f"{rank} axes"


def _plain(number: int | float) -> int | float:
    """A plain int or float, also of an enumeration's member."""
    return int(number) if isinstance(number, int) else float(number)
