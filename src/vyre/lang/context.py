"""The state of one pass over a kernel, and how values of several types come together."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import isfinite
from typing import TypeVar

from vyre.errors import LanguageError
from vyre.ir.declare import Access, BufferDecl, Dim3
from vyre.ir.expr import (
    Array,
    Atomic,
    BufDim,
    BufLen,
    Element,
    Expr,
    FlatIndex,
    Id,
    Lit,
    Load,
    Var,
)
from vyre.ir.node import Let, Node
from vyre.ir.types import DataType, int_range
from vyre.ir.walk import expressions
from vyre.lang.params import Types
from vyre.lang.scopes import Buffer, Frame, Held, Hoistable, Local, Names
from vyre.lang.source import Place, Pointed, Source
from vyre.lang.tables import NoTable, Table, is_table, read_table
from vyre.lang.unknown import fix_for_name
from vyre.lang.values import (
    PLACEHOLDER,
    Decisions,
    Key,
    Number,
    Value,
    Variable,
    fits,
    is_narrow,
    reach,
)

Item = TypeVar("Item", Expr, Node)

NOTHING = object()
"""What a name stands for that no Python scope knows."""


class Context:
    """One pass: what was decided before, the statements so far, and the names in sight."""

    def __init__(
        self,
        frame: Frame,
        decisions: Decisions,
        workgroup: Dim3 | None,
        *,
        fast_math: bool = False,
        chosen: Mapping[Types, DataType] | None = None,
    ) -> None:
        self.frame = frame
        self.decisions = decisions
        self.workgroup = workgroup
        self.workgroups: tuple[Dim3, ...] = () if workgroup is None else (workgroup,)
        self.fast_math = fast_math
        self.decided_types = chosen or {}  # the types that this translation is for
        self.names = Names()
        self.out: list[Node] = []
        self.places: dict[int, Place] = {}
        self.buffers: dict[str, BufferDecl] = {}
        self.by_workgroup: dict[str, tuple[tuple[int, ...], ...]] = {}
        self.variables: list[Variable] = []
        self.aliased: set[str] = set()  # IR names that a function's parameter stands for
        self.tables_made: dict[tuple[int, DataType], tuple[Table, Array]] = {}
        self.tables_used: dict[int, Table] = {}
        self.tables_read: dict[int, tuple[object, Table]] = {}
        self.local_bytes = 0  # of all arrays of one invocation
        self.effects = 0  # counts what must not move past a load
        self.has_signed_positions = False
        self.unpacked: list[tuple[Place, str, int]] = []  # positions, and how many names took them
        self.reducing: str | None = None  # whose elements are computed here, as it is called
        self.is_placed = False  # whether the kernel asks for a position, so that it has several
        self.asserts = 0  # so far, each of which has a number
        self.is_stale = False  # whether this pass decided something that its start did not know

    def decide_types(self, variables: Iterable[Variable], dtype: DataType) -> None:
        """Know the type of variables in the next pass; this one goes on, to find out more.

        What such a variable was given takes the same type: one by one they would take a pass each.
        """
        open_ = list(variables)
        while open_:
            variable = open_.pop()
            if variable.dtype is None:
                variable.dtype = self.decisions.types[variable.key] = dtype
                self.is_stale = True
                open_ += [source for source in variable.sources if source.takes(dtype)]

    def decide_hoisted(self, entry: Hoistable, name: str) -> None:
        """Bind a name before the statement in whose branches it gets its value."""
        self.decisions.hoisted.setdefault(entry.statement, set()).add(name)
        self.is_stale = True

    def decide_rank(self, rank: int) -> None:
        self.decisions.rank = rank
        self.is_stale = True

    def effect(self, node: Pointed, what: str) -> None:
        """Something happens here that must not move past a load, nor stand in an element."""
        if self.reducing is not None:
            raise self.error(
                node,
                f"{what} inside {self.reducing}, whose elements are computed in any order",
                "write a for loop, or do it before or after this line",
            )
        self.effects += 1

    def error(self, node: Pointed, problem: str, fix: str) -> LanguageError:
        return self.frame.source.error(node, problem, fix, self.frame.called_from)

    def text(self, node: ast.expr) -> str:
        return self.frame.source.text(node)

    def known_as(self, node: ast.expr, known: object) -> str:
        """What the author wrote for a constant, and what it is where that does not show it."""
        text = self.text(node)
        return text if known is None or text == repr(known) else f"{text}, which is {known!r},"

    @contextmanager
    def nested(self) -> Iterator[list[Node]]:
        """Statements go into a list of their own, with names of their own."""
        outer, self.out = self.out, []
        try:
            with self.names.scope():
                yield self.out
        finally:
            self.out = outer

    def variable(self, name: str, key: Key, ir_name: str | None = None) -> Variable:
        dtype = self.decisions.types.get(key)
        grows = name in self.frame.growing
        made = Variable(name, ir_name or self.names.fresh(name), key, dtype, grows=grows)
        self.variables.append(made)
        return made

    def spill(self, value: Value, name: str, at: int | None = None) -> Value:
        """`value`, computed once: bound to a fresh name here, or at an earlier place."""
        # Anywhere: it may be bound before lists that have names of their own already.
        bound = self.names.fresh(name, anywhere=True)
        expr = value.expr if value.dtype else PLACEHOLDER
        self.out.insert(len(self.out) if at is None else at, Let(bound, expr))
        if value.dtype is not None:
            return Value.typed(value.node, value.dtype, Var(bound))
        return replace(value, build=lambda _: Var(bound), constant=None, is_product=False)

    def once(self, value: Value, name: str) -> Value:
        """`value`, safe to use twice."""
        if value.constant is not None or (value.dtype is not None and self.is_simple(value.expr)):
            return value
        return self.spill(value, name) if value.dtype is not None or value.needs else value

    def is_simple(self, expr: Expr) -> bool:
        """Whether `expr` costs nothing and means the same when read again."""
        match expr:
            case Lit() | Var() | Id() | BufLen() | BufDim():
                return True
            case FlatIndex(indices=indices):
                # Analysis reads more from an index that stands in the load or store itself.
                return all(self.is_simple(index) for index in indices)
            case Load(buffer):
                return self.access(buffer) is Access.UNIFORM
            case _:
                return False

    def reads_changing_memory(self, expr: Expr) -> bool:
        return any(
            isinstance(part, Atomic)
            or (isinstance(part, Element) and isinstance(part.array, Var))
            or (
                isinstance(part, Load)
                and self.access(part.buffer) not in (Access.UNIFORM, Access.READ_ONLY)
            )
            for part in expressions(expr)
        )

    def access(self, buffer: str) -> Access:
        return self.buffers[buffer].access

    def declare(self, decl: BufferDecl, extents: tuple[tuple[int, ...], ...] = ()) -> Buffer:
        """A buffer of the kernel; `extents` are those it has in each workgroup, if they differ."""
        self.buffers[decl.name] = decl
        if len(set(extents)) > 1:
            self.by_workgroup[decl.name] = extents
        return Buffer(decl, extents)

    def fit(self, value: Value, dtype: DataType, other: str, *, is_operand: bool = False) -> Expr:
        """`value` as a `dtype`, the type of what `other` names, or an error that names both.

        `is_operand` says that `other` is a value too, which might be cast instead.
        """
        if value.dtype is not None:
            if value.dtype != dtype:
                raise self.mixed(value, dtype, other, is_operand=is_operand)
            return value.expr
        literals = list(value.constants)
        literals += [constant for variable in value.needs for constant, _ in variable.constants]
        fit_all = all(fits(constant.value, dtype) for constant in literals)
        ranged = any(variable.is_ranged for variable in value.needs)
        if value.constant is not None and not fit_all and not dtype.is_bool:
            raise self.unfit(value, value.constant, dtype, other, is_operand=is_operand)
        whole = ranged or value.is_whole
        if not fit_all or (whole and not dtype.is_int) or (value.is_float and dtype.is_int):
            raise self.mixed(value, dtype, other, is_operand=is_operand)
        if is_narrow(dtype) and value.needs:
            self.check_reduced(value, dtype, other, is_operand=is_operand)
            if not is_operand:
                self.check_narrow(value, dtype, other)
        elif is_narrow(dtype) and not is_operand and all(map(isfinite, reach(value))):
            self.check_narrow(value, dtype, other)  # of literals, as far as they are followed
        self.decide_types(value.needs, dtype)
        return PLACEHOLDER if value.needs else value.build(dtype)

    def check_reduced(self, value: Value, dtype: DataType, other: str, *, is_operand: bool) -> None:
        """Refuse a reduction of open elements that would become a small number."""
        reduced = next((variable for variable in value.needs if variable.is_reduced), None)
        if reduced is None:
            return
        wide = DataType.I32 if dtype.is_signed else DataType.U32
        cast, side = (wide, other) if is_operand else (dtype, self.text(value.node))
        call = f"{cast}({'...' if side == 'this' else side})"
        raise self.error(
            value.node,
            f"{reduced.name} would be {dtype} as {other} is, and comes to 32 or 64 bits",
            f"write {call}" + ("" if is_operand else f" to keep the low {dtype.bits} bits"),
        )

    def check_narrow(self, value: Value, dtype: DataType, other: str) -> None:
        """Refuse an open value that would become a small number by where it goes."""
        text = self.text(value.node)
        growing = next((variable for variable in value.needs if variable.grows), None)
        if growing is not None:
            raise self.error(
                value.node,
                f"{growing.name} would be {dtype} as {other} is, and what it counts up to may not "
                "fit",
                f"write {dtype}({text}) to keep the low {dtype.bits} bits, or say it where it "
                f"begins, for example {growing.name}: {dtype} = 0",
            )
        if isinstance(value.node, ast.Name):
            return
        low, high = int_range(dtype)
        least, most = reach(value)
        if least < low or most > high:
            beyond = most if most > high else least
            known = f"be {beyond}" if isfinite(beyond) else "not fit"
            raise self.error(
                value.node,
                f"{text} may {known}, and {other} is {dtype}",
                f"write {dtype}({text}) to keep the low {dtype.bits} bits",
            )

    def mixed(
        self, value: Value, dtype: DataType, other: str, *, is_operand: bool = False
    ) -> LanguageError:
        mine, text = value.default, self.text(value.node)
        sides = f"{other} is {dtype} and {text} is {mine}"
        if dtype.is_bool:
            return self.error(value.node, sides, f"compare it, for example {text} != 0")
        cast, side = dtype, text
        if is_operand and loses_less(mine, dtype):
            cast, side = mine, other
        side = "..." if side == "this" else side
        return self.error(value.node, sides, f"cast one side, for example {cast}({side})")

    def unfit(
        self, value: Value, number: Number, dtype: DataType, other: str, *, is_operand: bool
    ) -> LanguageError:
        if dtype.is_int:
            low, high = int_range(dtype)
            fix = f"use a whole number from {low} to {high}"
            if is_operand:
                wider = DataType.F32 if isinstance(number, float) else DataType.I64
                fix += f", or cast, for example {wider}({'...' if other == 'this' else other})"
        elif isinstance(number, int):
            fix = f"write {dtype}({self.text(value.node)}) to have it rounded"
        else:
            fix = f"use a number that {dtype} has"
        problem = f"{other} is {dtype}, which has no value {number!r}"
        return self.error(value.node, problem, fix)

    def settle(self, value: Value) -> tuple[Expr, DataType]:
        """`value` where nothing else decides its type: i32 or f32 if it has none."""
        dtype = value.default
        if value.dtype is None and value.needs:
            return PLACEHOLDER, dtype  # a later pass knows
        self.check_default_type(value)
        return self.fit(value, dtype, self.text(value.node)), dtype

    def check_default_type(self, value: Value) -> None:
        """Refuse one of several literals that has no type, and does not fit the default one."""
        dtype = value.default
        if value.dtype is not None or value.constant is not None or dtype.is_float:
            return
        for constant in value.constants:
            if not fits(constant.value, dtype):
                text = self.text(value.node)
                wider = DataType.I64 if fits(constant.value, DataType.I64) else DataType.U64
                raise self.error(
                    value.node,
                    f"{text} may be {constant.value}, and is {dtype} by default",
                    f"cast it, for example {wider}({'...' if text == 'this' else text})",
                )

    def combine(
        self,
        node: ast.expr,
        values: Sequence[Value],
        build: Callable[[DataType, tuple[Expr, ...]], Expr],
        result: DataType | None = None,
    ) -> Value:
        """One value of several that must share a type; `result`, where that is another one."""
        known = next((value for value in values if value.dtype is not None), None)
        if known is not None and known.dtype is not None:
            dtype, name = known.dtype, self.text(known.node)
            # An augmented assignment's own target cannot be cast.
            free = not isinstance(getattr(known.node, "ctx", None), ast.Store)
            parts = tuple(
                value.expr if value is known else self.fit(value, dtype, name, is_operand=free)
                for value in values
            )
            return Value.typed(node, result or dtype, self.noted(build(dtype, parts), node))
        is_float = any(value.is_float for value in values)
        for value in values:
            if is_float and not value.is_float:
                self.refuse_whole(value, values)
        needs = tuple(dict.fromkeys(v for value in values for v in value.needs))
        joined = Value(
            node,
            None,
            lambda dtype: build(dtype, tuple(value.build(dtype) for value in values)),
            is_float,
            tuple(constant for value in values for constant in value.constants),
            needs,
            is_whole=any(value.is_whole for value in values),
        )
        if result is None:
            return joined
        if needs:
            return Value.typed(node, result, PLACEHOLDER)
        dtype = joined.default
        parts = tuple(self.fit(value, dtype, self.text(node)) for value in values)
        return Value.typed(node, result, build(dtype, parts))

    def noted(self, item: Item, node: Pointed) -> Item:
        """`item`, whose place in the source is known from now on."""
        place = Place(item, self.frame.source, node, self.frame.called_from)
        self.places.setdefault(id(item), place)
        return item

    def refuse_whole(self, value: Value, values: Sequence[Value]) -> None:
        """What is made of whole numbers, or counts in them, never turns into a float by itself."""
        if value.is_whole or any(variable.is_ranged for variable in value.needs):
            other = next(other for other in values if other.is_float)
            raise self.mixed(value, DataType.F32, self.text(other.node))

    def static(self, node: ast.expr) -> object:
        """The Python object that `node` names while translating, or NOTHING."""
        found = self.named(node)
        return self.decided_types.get(found, found) if isinstance(found, Types) else found

    def named(self, node: ast.expr) -> object:
        """What `node` names in Python: of a type that is left open, still that."""
        match node:
            case ast.Name(id=name):
                if name in self.frame.env or name in self.frame.assigned:
                    return NOTHING
                return captured(self.frame.source, name)
            case ast.Attribute(value=base, attr=attr):
                owner = self.static(base)
                return NOTHING if owner is NOTHING else getattr(owner, attr, NOTHING)
            case ast.Subscript(value=base, slice=ast.Constant(value=int() as index)):
                owner = self.static(base)
                found = isinstance(owner, tuple) and index < len(owner)
                return owner[index] if found and isinstance(owner, tuple) else NOTHING
            case _:
                return NOTHING

    def no_name(self, node: ast.Name) -> LanguageError:
        around = [*self.frame.env, *self.frame.assigned]
        around += [name for name in self.frame.source.fn.__globals__ if not name.startswith("__")]
        around += self.frame.source.fn.__code__.co_freevars
        return self.error(node, f"no name {node.id!r} here", fix_for_name(node.id, around))

    def buffer(self, node: ast.expr) -> Buffer | None:
        """The array that `node` names, if it does."""
        entry = self.frame.env.get(node.id) if isinstance(node, ast.Name) else None
        return entry if isinstance(entry, Buffer) else None

    def held(self, node: ast.expr) -> Held | None:
        """The array that a name of the kernel stands for: a parameter, its own, or a table."""
        entry = self.frame.env.get(node.id) if isinstance(node, ast.Name) else None
        return entry if isinstance(entry, (Buffer, Local, Table)) else None

    def table(self, node: ast.expr) -> Table | None:
        """The table around the kernel that `node` names, if it does."""
        value = self.static(node)
        if not is_table(value):
            return None
        if id(value) not in self.tables_read:
            found = read_table(self.text(node), value)
            if isinstance(found, NoTable):
                raise self.error(node, found.problem, found.fix)
            self.tables_read[id(value)] = value, found
        return self.tables_read[id(value)][1]


def captured(source: Source, name: str) -> object:
    """What `name` stands for outside the function: in a scope around it, its module, or Python."""
    fn = source.fn
    if name in fn.__code__.co_freevars and fn.__closure__ is not None:
        cell = fn.__closure__[fn.__code__.co_freevars.index(name)]
        try:
            return cell.cell_contents
        except ValueError:  # not assigned yet
            return NOTHING
    if name in fn.__globals__:
        return fn.__globals__[name]
    return getattr(builtins, name, NOTHING)


def loses_less(dtype: DataType, other: DataType) -> bool:
    """Whether a cast to `dtype` keeps more numbers of `other` than the cast the other way.

    Of one width the signed type does: positions and sizes fit it, and a number below 0 fits no
    other. Of two floats neither does that is not meant: a table of doubles is often an oversight.
    """
    if dtype.is_float or other.is_float:
        return not other.is_float
    return (dtype.bits, dtype.is_signed) > (other.bits, other.is_signed)
