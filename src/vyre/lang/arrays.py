"""Arrays of one invocation, and tables of constants: declared, read and written."""

from __future__ import annotations

import ast

from vyre.errors import LanguageError
from vyre.ir.expr import Array, Atomic, Call, Cast, Element, Expr, Load, OpaqueExpr, Put, Var
from vyre.ir.node import Assign, Let
from vyre.ir.types import DataType
from vyre.ir.validate import MOST_ARRAY_BYTES, MOST_TABLE_BYTES
from vyre.ir.walk import expressions
from vyre.lang.intrinsics import Structural, find_intrinsic
from vyre.lang.params import MAX_RANK
from vyre.lang.scopes import Local, Missing
from vyre.lang.tables import Table
from vyre.lang.tuples import Tuples
from vyre.lang.values import Constant, Number, Value

_SHORT = 12  # parts of an index that emitters may write twice
_COMPUTED = (Load, Element, Atomic, Call, OpaqueExpr)


class Arrays(Tuples):
    """Turns arrays of one invocation and tables into values and statements."""

    # -- elements

    def element(self, held: Local | Table, indices: list[ast.expr], node: ast.expr) -> Value:
        if isinstance(held, Table):
            return self.looked_up(held, indices, node)
        places, _ = self.places_of(held, indices, node)
        return Value.typed(node, held.dtype, self.noted(Element(Var(held.ir_name), places), node))

    def looked_up(self, table: Table, indices: list[ast.expr], node: ast.expr) -> Value:
        places, numbers = self.places_of(table, indices, node)
        if all(number is not None for number in numbers):
            flat = 0
            for number, extent in zip(numbers, table.shape, strict=True):
                flat = flat * extent + int(number or 0)
            constant = table.values[flat]
            if table.dtype is None or table.dtype.is_bool:
                return Value.literal(node, constant)
            return Value.typed(node, table.dtype, self.made(table, table.dtype).element(flat))
        if table.dtype is not None:
            whole = self.made(table, table.dtype)
            return Value.typed(node, table.dtype, self.noted(Element(whole, places), node))
        is_float = any(isinstance(number, float) for number in table.values)
        return Value(
            node,
            None,
            lambda dtype: self.noted(Element(self.made(table, dtype), places), node),
            is_float,
            tuple(Constant(number, node) for number in dict.fromkeys(table.values)),
        )

    def made(self, table: Table, dtype: DataType) -> Array:
        """The constants of a table in a type that fits them."""
        key = id(table.values), dtype
        if key not in self.tables_made:
            whole = not dtype.computed.is_float
            values = (number if whole else float(number) for number in table.values)
            self.tables_made[key] = table, Array.of(dtype.computed, table.shape, values)
        return self.tables_made[key][1]

    def check_room(self, table: Table, node: ast.expr) -> None:
        """Refuse tables that do not fit where devices keep constants."""
        self.tables_used[id(table.values)] = table
        size = sum(_bytes(used) for used in self.tables_used.values())
        if size > MOST_TABLE_BYTES:
            kind = table.dtype or DataType.F32
            rank = "" if table.rank == 1 else f", {table.rank}"
            raise self.error(
                node,
                f"{table.name} has {_bytes(table):,} bytes, and the tables of this kernel "
                f"{size:,}; {MOST_TABLE_BYTES:,} allowed",
                f"pass it as {table.name}: In[{kind}{rank}]",
            )

    def places_of(
        self, held: Local | Table, indices: list[ast.expr], node: ast.expr
    ) -> tuple[tuple[Expr, ...], list[Number | None]]:
        """The index along each axis, and the numbers among them that are known."""
        self.check_indices(held, indices, node)
        if isinstance(held, Table):
            self.check_room(held, node)
        values = [self.short(value) for value in self.values(*indices)]
        places = tuple(self.index(held, axis, value) for axis, value in enumerate(values))
        return places, [value.constant for value in values]

    def short(self, value: Value) -> Value:
        """An index that costs nothing to be written twice: once to check it, once to use it."""
        if value.dtype is None:
            return value
        parts = list(expressions(value.expr))
        if len(parts) <= _SHORT and not any(isinstance(part, _COMPUTED) for part in parts):
            return value
        return self.once(value, "at")

    def put(
        self, target: ast.Subscript, held: Local, indices: list[ast.expr], value: Value
    ) -> None:
        """`t[k] = v`."""
        mark, before = len(self.out), self.effects
        places, _ = self.places_of(held, indices, target)
        if self.effects != before and value.dtype and self.reads_changing_memory(value.expr):
            value = self.spill(value, "value", mark)
        self.set(target, held, places, value)

    def put_more(self, node: ast.AugAssign, held: Local, indices: list[ast.expr]) -> None:
        """`t[k] += v`; the index is computed once."""
        assert isinstance(node.target, ast.Subscript)
        self.check_indices(held, indices, node.target)
        values = [self.once(value, "at") for value in self.values(*indices)]
        places = tuple(self.index(held, axis, value) for axis, value in enumerate(values))
        mark, before = len(self.out), self.effects
        before_it = self.noted(Element(Var(held.ir_name), places), node.target)
        left = Value.typed(node.target, held.dtype, before_it)
        right = self.expression(node.value)
        if self.effects != before:
            left = self.spill(left, "before", mark)
        whole = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
        self.set(node.target, held, places, self.binary(whole, node.op, left, right))

    def set(
        self, target: ast.Subscript, held: Local, places: tuple[Expr, ...], value: Value
    ) -> None:
        expr = self.fit(value, held.dtype.computed, self.text(target))
        if held.dtype != held.dtype.computed:
            expr = Cast(held.dtype, expr)  # a store rounds
        self.changes(target, held)
        self.out.append(Assign(held.ir_name, Put(Var(held.ir_name), places, expr)))

    def changes(self, target: ast.expr, held: Local) -> None:
        """An element of an array changes; an element of a sum may change its own arrays alone."""
        if self.reducing != held.within:
            self.effect(target, f"a change of the array {held.name!r}")
        self.effects += 1

    def check_indices(self, held: Local | Table, indices: list[ast.expr], node: ast.expr) -> None:
        if len(indices) != held.rank:
            example = ", ".join(("i", "j", "k")[: held.rank])
            axes = "1 axis" if held.rank == 1 else f"{held.rank} axes"
            raise self.error(
                node,
                f"{held.name!r} has {axes} and is indexed with {len(indices)}",
                f"write {held.name}[{example}]",
            )

    # -- declarations

    def is_local(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Call):
            return False
        found = find_intrinsic(self.static(node.func))
        return found is not None and found.operation is Structural.LOCAL

    def local_array(self, node: ast.Assign) -> None:
        """`t = vyre.local(f32, 4)` is an array of zeros from here on."""
        assert isinstance(node.value, ast.Call)
        target = node.targets[0]
        if len(node.targets) != 1 or not isinstance(target, ast.Name):
            raise self.misplaced_local(node.value)
        written_type, written_shape = self.arguments(node.value, ("dtype", "shape"))
        dtype = self.static(written_type)
        if not isinstance(dtype, DataType) or not dtype.is_scalar:
            raise self.error(
                written_type,
                f"{self.text(written_type)} is not an element type of arrays",
                "write vyre.local(f32, 4)",
            )
        shape = self.extents_of(written_shape)
        name, entry = target.id, self.frame.env.get(target.id)
        constants = Array(dtype.computed, shape)
        if isinstance(entry, Local):
            if (entry.dtype, entry.shape) != (dtype, shape):
                raise self.error(
                    target,
                    f"{name!r} is an array of {entry.dtype}{list(entry.shape)} already",
                    "use another name for the other array",
                )
            self.changes(target, entry)
            self.out.append(Assign(entry.ir_name, constants))
            return
        if not isinstance(entry, Missing | None):
            raise self.error(
                target, f"{name!r} has a value already", "use another name for the array"
            )
        self.local_bytes += constants.count * constants.element_bytes
        if self.local_bytes > MOST_ARRAY_BYTES:
            raise self.error(
                written_shape,
                f"the arrays of one invocation would have {self.local_bytes:,} bytes; "
                f"{MOST_ARRAY_BYTES:,} allowed",
                "use fewer or smaller elements, or an InOut array with a part for each element",
            )
        made = Local(name, self.names.fresh(name), dtype, shape, self.reducing)
        self.out.append(Let(made.ir_name, constants))
        self.frame.env[name] = made

    def extents_of(self, node: ast.expr) -> tuple[int, ...]:
        static = self.static(node)
        if isinstance(node, ast.Tuple):
            found = [self.expression(part).constant for part in node.elts]
        elif isinstance(static, tuple):
            found = [self.constant(node, part).constant for part in static]
        else:
            found = [self.expression(node).constant]
        extents = tuple(
            extent
            for extent in found
            if isinstance(extent, int) and not isinstance(extent, bool) and extent >= 1
        )
        if len(extents) != len(found) or not 1 <= len(extents) <= MAX_RANK:
            known = tuple(found) if isinstance(static, tuple) or len(found) != 1 else found[0]
            shape = self.known_as(node, None if None in found else known)
            raise self.error(
                node,
                f"the shape {shape} is not 1 to {MAX_RANK} constant whole numbers from 1",
                "write vyre.local(f32, 4) or vyre.local(f32, (4, 4))",
            )
        return extents

    def misplaced_local(self, node: ast.Call) -> LanguageError:
        return self.error(
            node,
            "vyre.local() is not the whole of an assignment to one name",
            "write t = vyre.local(f32, 4) on a line of its own",
        )


def _bytes(table: Table) -> int:
    size = 4 if table.dtype is None else table.dtype.computed.bits // 8
    return len(table.values) * size
