"""Assignments of a kernel: variables, elements of arrays, and workgroup memory."""

from __future__ import annotations

import ast
from math import prod

from vyre.ir.declare import BufferDecl
from vyre.ir.expr import Atomic, Expr, Load, Var
from vyre.ir.node import Assign, Let, Store
from vyre.ir.types import DataType
from vyre.ir.walk import expressions
from vyre.lang.arrays import Arrays
from vyre.lang.exits import BROKEN, RESULT, result_name
from vyre.lang.expressions import chain_of
from vyre.lang.extents import extents_of
from vyre.lang.intrinsics import Structural, find_intrinsic
from vyre.lang.params import Edge, Types, instead_of
from vyre.lang.scopes import Bound, Buffer, Declared, Hoistable, Local, Missing
from vyre.lang.several import Parts, count_of, form_of, leaves, places
from vyre.lang.source import Pointed
from vyre.lang.tables import Table
from vyre.lang.tuples import names_of
from vyre.lang.values import PLACEHOLDER, Restart, Value, Variable, fits

ENDED = -1
"""Of a loop that is spelled out: no round comes after this one."""


class Assignments(Arrays):
    """Turns assignments into IR."""

    depths: list[int]  # how deep rounds are nested that are spelled out, or ENDED; innermost last

    def assignment(self, node: ast.Assign) -> None:
        if self.is_shared(node.value):
            self.shared_memory(node)
            return
        if self.is_local(node.value):
            self.local_array(node)
            return
        if isinstance(node.targets[0], ast.Name) and node.targets[0].id == RESULT:
            self.keep_result(node, self.several(node.value))
            return
        if isinstance(node.targets[0], ast.Name) and node.targets[0].id == BROKEN and self.ends():
            return
        unpacking = next((target for target in node.targets if names_of(target)), None)
        if unpacking is not None:
            self.unpack(node, self.several(node.value, unpacking))
            return
        value = self.expression(node.value)
        if len(node.targets) > 1 and value.constant is None:
            value = self.spill(value, "value")
        for target in node.targets:
            self.assign(target, value)

    def ends(self) -> bool:
        """Whether a round that is spelled out breaks whatever the data, so that no other comes."""
        if self.depths[-1] != self.names.depth:
            return False
        self.depths[-1] = ENDED
        return True

    def unpack(self, node: ast.Assign, parts: Parts) -> None:
        """`a, b = x, y`: every value is computed before the first name changes."""
        pairs = [pair for target in node.targets for pair in self.pairs(node, target, parts)]
        changing = len(pairs) > len(leaves(parts)) or any(
            self.changes_something(target) for target, _ in pairs
        )
        kept = dict[int, Value]()
        for target, value in pairs:
            if id(value) not in kept:
                spilled = changing and self.is_changeable(value)
                kept[id(value)] = self.spill(value, _spill_name(target)) if spilled else value
        for target, value in pairs:
            self.assign(target, kept[id(value)])

    def pairs(self, node: Pointed, target: ast.expr, parts: Parts) -> list[tuple[ast.expr, Value]]:
        """Which name or element takes which value."""
        names = names_of(target)
        if isinstance(target, ast.Starred) or (
            not names and isinstance(target, (ast.Tuple, ast.List))
        ):
            raise self.error(
                target, f"{self.text(target)} takes no fixed number of values", "name each value"
            )
        if isinstance(parts, Value):
            if names:
                raise self.error(
                    parts.node,
                    f"{self.text(parts.node)} is one value for {_names(len(names))}",
                    "write as many values as names: a, b = x, y",
                )
            return [(target, parts)]
        if not names:
            raise self.error(
                target,
                f"{self.text(target)} is one name for {count_of(form_of(parts))}",
                "write a name for each value: a, b = x, y",
            )
        starred = next((name for name in names if isinstance(name, ast.Starred)), None)
        if starred is not None:
            return self.pairs(node, starred, parts)
        if len(names) != len(parts):
            raise self.error(
                node,
                f"{count_of(form_of(parts))} for {_names(len(names))}",
                "write one for each",
            )
        return [
            pair
            for name, part in zip(names, parts, strict=True)
            for pair in self.pairs(node, name, part)
        ]

    def keep_result(self, node: ast.Assign, parts: Parts) -> None:
        """Give what a function returns to the variables that hold its result."""
        form, key = form_of(parts), self.frame.call
        if form != (expected := self.frame.result):
            # A tuple that is written out is one; what is in it may turn out to be more.
            is_open = expected is None or (form is not None and len(form) == len(expected))
            if is_open and key not in self.decisions.results:
                self.decisions.results[key] = form
                raise Restart
            raise self.error(
                node,
                f"{self.frame.source.name!r} returns {count_of(form)} here and "
                f"{count_of(expected)} on another path",
                "return as many values on every path",
            )
        # One after the other is right: no value of theirs reads the result.
        for place, value in zip(places(form), leaves(parts), strict=True):
            name = ast.copy_location(ast.Name(result_name(place), ast.Store()), node)
            self.bind(name, value)

    def changes_something(self, target: ast.expr) -> bool:
        entry = self.frame.env.get(target.id) if isinstance(target, ast.Name) else None
        return isinstance(target, ast.Subscript) or isinstance(entry, (Bound, Hoistable))

    def is_changeable(self, value: Value) -> bool:
        """Whether assigning to a name or an element could change `value` before it is used."""
        if value.dtype is None:
            return bool(value.needs)
        return any(isinstance(part, (Var, Load)) for part in expressions(value.expr))

    def assign(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name():
                self.bind(target, value)
            case ast.Subscript():
                named, indices = chain_of(target)
                held = self.written_local(named, target)
                if held is not None:
                    self.put(target, held, indices, value)
                else:
                    self.store(target, value)
            case _:
                raise self.error(
                    target, f"{self.text(target)} is not a name or an element", "write out[i] = ..."
                )

    def bind(self, target: ast.Name, value: Value) -> None:
        """Give a name a value: a new variable where none is in sight, else a new value of it."""
        name = target.id
        entry = self.frame.env.get(name)
        if isinstance(entry, Hoistable) and entry.depth != self.names.depth:
            self.decide_hoisted(entry, name)
            entry = Bound(entry.variable)
        match entry:
            case Bound(variable) | Declared(variable):
                expr = self.give(variable, value)
                self.out.append(Assign(variable.ir_name, expr))
            case Buffer() | Local() | Table():
                raise self.error(
                    target,
                    f"{name!r} is an array, and this would replace it",
                    f"write {name}[i] = ..., or use another name",
                )
            case _:
                variable = self.variable(name, self.frame.key(target))
                self.let(variable, value)
        self.frame.env[name] = Bound(variable)

    def let(self, variable: Variable, value: Value) -> None:
        expr = self.give(variable, value)
        match self.out[-1:]:
            case [Let(name, Atomic() as atomic)] if expr == Var(name) and name not in self.aliased:
                self.out[-1] = Let(variable.ir_name, atomic)  # the author's name for its result
            case _:
                self.out.append(Let(variable.ir_name, expr))

    def give(self, variable: Variable, value: Value) -> Expr:
        """What to store for `value` in a variable, by the type it has, takes, or leaves open."""
        if variable.dtype is not None:
            return self.fit(value, variable.dtype, self.called(variable))
        if value.dtype is None:
            variable.collect(value, self.frame.source)
            return PLACEHOLDER
        if variable.is_open:
            numbers = (constant.value for constant, _ in variable.constants)
            if not all(fits(number, value.dtype) for number in numbers):
                raise self.mixed(value, variable.default, self.called(variable))
            self.decide_types([variable], value.dtype)
        variable.dtype = value.dtype
        return value.expr

    def called(self, variable: Variable) -> str:
        if variable.name == RESULT:
            return f"the result of {self.frame.source.name}"
        if variable.name.startswith(f"{RESULT} "):
            place = variable.name.removeprefix(f"{RESULT} ")
            return f"value {place} of the result of {self.frame.source.name}"
        return variable.name

    def annotated(self, node: ast.AnnAssign) -> None:
        """`s: f64 = 0` fixes a variable's type."""
        if not isinstance(node.target, ast.Name):
            raise self.error(node, "only a name takes a type", "write out[i] = ...")
        name = node.target.id
        dtype = self.static(node.annotation)
        if isinstance(dtype, DataType) and isinstance(self.named(node.annotation), Types):
            dtype = dtype.computed  # of f16 a variable is f32, as a load is
        if not isinstance(dtype, DataType) or dtype != dtype.computed or not dtype.is_scalar:
            raise self.error(
                node.annotation,
                f"{self.text(node.annotation)} is not a type of variables",
                f"write {name}: {instead_of(dtype)} = ...",
            )
        if node.value is None:
            raise self.error(
                node, f"{name!r} gets a type and no value", f"write {name}: {dtype} = 0"
            )
        value = self.expression(node.value)
        if isinstance(self.frame.env.get(name), (Bound, Declared, Buffer, Local, Table)):
            fitted = Value.typed(node.value, dtype, self.fit(value, dtype, name))
            self.bind(node.target, fitted)
            return
        variable = self.variable(name, self.frame.key(node.target))
        variable.dtype = dtype
        self.out.append(Let(variable.ir_name, self.fit(value, dtype, name)))
        self.frame.env[name] = Bound(variable)

    def augmented(self, node: ast.AugAssign) -> None:
        """`s += x` and `out[i] += x`; the index is computed once."""
        whole = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
        if isinstance(node.target, ast.Name):
            left, right = self.values(node.target, node.value)
            self.bind(node.target, self.binary(whole, node.op, left, right))
            return
        if not isinstance(node.target, ast.Subscript):
            raise self.error(
                node, "this changes neither a name nor an element", "write out[i] += x"
            )
        named, indices = chain_of(node.target)
        held = self.written_local(named, node.target)
        if held is not None:
            self.put_more(node, held, indices)
            return
        buffer = self.written(node.target)
        self.check_readable(buffer, node.target)
        if buffer.edge is not Edge.ZERO:
            text = self.text(node.target)
            raise self.error(
                node,
                f'{buffer.name!r} is read with "{buffer.edge}" beyond its edge and written '
                "without, and this does both at one index",
                f"write them apart: v = {text}, and then {text} = ...",
            )
        at = Value.typed(node.target, DataType.U32, self.position(buffer, node.target))
        at = self.once(at, "at")
        mark, before = len(self.out), self.effects
        found = self.noted(Load(buffer.name, at.expr), node.target)
        left = Value.typed(node.target, buffer.decl.element, found)
        right = self.expression(node.value)
        if self.effects != before:
            left = self.spill(left, "before", mark)
        value = self.binary(whole, node.op, left, right)
        element = buffer.decl.element.computed
        expr = self.fit(value, element, self.text(node.target))
        self.effect(node, "a store")
        self.out.append(Store(buffer.name, at.expr, expr))

    def store(self, target: ast.Subscript, value: Value) -> None:
        buffer = self.written(target)
        mark, before = len(self.out), self.effects
        position = self.position(buffer, target)
        if self.effects != before and value.dtype and self.reads_changing_memory(value.expr):
            value = self.spill(value, "value", mark)
        expr = self.fit(value, buffer.decl.element.computed, self.text(target))
        self.effect(target, "a store")
        self.out.append(Store(buffer.name, position, expr))

    def written_local(self, named: ast.expr, target: ast.Subscript) -> Local | None:
        """The invocation's own array that a subscript writes to, if it is one."""
        held = self.held(named) or self.table(named)
        if isinstance(held, Table):
            raise self.error(
                target,
                f"{held.name} is a table from outside the kernel, which never changes",
                f"copy what you need of it into t = vyre.local(f32, {len(held.values)})",
            )
        return held if isinstance(held, Local) else None

    def written(self, target: ast.Subscript) -> Buffer:
        """The array that a subscript writes to."""
        buffer = self.buffer(target.value)
        if buffer is None:
            self.expression(target.value)  # says what is wrong with a name that is not there
            raise self.error(
                target, f"{self.text(target.value)} is not an array", "store to an array parameter"
            )
        if not buffer.is_writable:
            raise self.error(
                target,
                f"{buffer.name!r} is an In, which is read and never written",
                f"declare it {buffer.as_inout}, or write to an Out",
            )
        return buffer

    def is_shared(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Call):
            return False
        found = find_intrinsic(self.static(node.func))
        return found is not None and found.operation is Structural.SHARED

    def shared_memory(self, node: ast.Assign) -> None:
        """`tile = vyre.shared(f32, 256)` declares workgroup memory, of one axis or more."""
        assert isinstance(node.value, ast.Call)
        self.check_workgroup(node.value, "shared")
        target = node.targets[0]
        at_top = self.names.depth == 1 and not self.frame.path
        if not at_top or len(node.targets) != 1 or not isinstance(target, ast.Name):
            raise self.misplaced_shared(node.value)
        if not isinstance(self.frame.env.get(target.id), Missing | None):
            raise self.error(
                target, f"{target.id!r} has a value already", "use another name for the memory"
            )
        written_type, written_count = self.arguments(node.value, ("dtype", "count"))
        dtype = self.static(written_type)
        if not isinstance(dtype, DataType) or not dtype.is_scalar or dtype.is_bool:
            raise self.error(
                written_type,
                f"{self.text(written_type)} is not an element type of workgroup memory",
                "write vyre.shared(f32, 256)",
            )
        extents = extents_of(self, self.expression, written_count)
        name = self.names.fresh(target.id, anywhere=True)
        decl = BufferDecl.workgroup(name, prod(extents[0]), dtype)
        if len(extents[0]) > 1:
            decl = decl.with_shape(*extents[0])
        self.frame.env[target.id] = self.declare(decl, extents)
        self.is_placed = True


def _names(count: int) -> str:
    return "1 name" if count == 1 else f"{count} names"


def _spill_name(target: ast.expr) -> str:
    return target.id if isinstance(target, ast.Name) else "value"
