"""All the ways in which a program breaks the rules, each with its place and a fix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import prod
from types import EllipsisType

from vyre.errors import InvalidProgram
from vyre.ir.declare import Access, BufferDecl, Named
from vyre.ir.expr import (
    Array,
    Atomic,
    Binary,
    Call,
    Element,
    Expr,
    Lit,
    Load,
    OpaqueExpr,
    Put,
    Subgroup,
    Unary,
    UnaryOp,
    Var,
)
from vyre.ir.node import (
    Assign,
    Block,
    Break,
    Continue,
    If,
    Let,
    Loop,
    Node,
    Print,
    Reduce,
    ReduceOp,
    Region,
    Store,
    While,
    Yield,
)
from vyre.ir.printing import why_not_shown
from vyre.ir.program import Program
from vyre.ir.types import DataType
from vyre.ir.typing import WAVE, Scope, TypeProblem, type_of
from vyre.ir.walk import (
    MAX_DEPTH,
    MAX_PARTS,
    all_expressions,
    bodies,
    expressions,
    operands,
    size_of,
    statements,
)

_U32_MAX = 0xFFFF_FFFF
_MOST_AXES = 3

MOST_ARRAY_BYTES = 4_096
"""Of all arrays of one invocation: 256 lanes that wait for each other have 1 MiB on a CPU's stack,
and a GPU keeps what is not in registers in memory of its own."""

MOST_TABLE_BYTES = 32_768
"""Of all constant tables of a program: every device has room for 64 KiB of constants."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One broken rule: where, what, and what to do about it."""

    place: str
    problem: str
    fix: str

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}\n  Fix: {self.fix}"


def validate(program: Program) -> tuple[Problem, ...]:
    """Every problem of `program`, declarations first; empty when it is valid.

    >>> validate(Program.empty())
    ()
    """
    found = [*_workgroup(program), *_buffers(program), *_options(program), *_among(program)]
    size = size_of(program.entry)
    if size.depth > MAX_DEPTH:
        found.append(
            Problem(
                "entry",
                f"statements and expressions nest {size.depth} deep; {MAX_DEPTH} allowed",
                "split long expressions with let",
            )
        )
    if size.parts > MAX_PARTS:
        found.append(
            Problem(
                "entry",
                f"{size.parts} statements and expressions, shared ones counted wherever they "
                f"stand; {MAX_PARTS} allowed",
                "bind what is used again with let, and use loops",
            )
        )
    if size.depth > MAX_DEPTH or size.parts > MAX_PARTS:
        return tuple(found)  # what follows reads every part, and goes as deep as they nest
    found += _arrays(program)
    walk = _Walk({decl.name: decl for decl in reversed(program.buffers)}, found)
    walk.body(program.entry, "entry", _Around())
    return tuple(found)


def check(program: Program) -> None:
    """Nothing, or one error that lists every problem.

    Raises:
        InvalidProgram: the program breaks a rule.
    """
    problems = validate(program)
    if problems:
        lines = "\n".join(f"  {item.place}: {item.problem}" for item in problems)
        fixes = "; ".join(dict.fromkeys(item.fix for item in problems))
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise InvalidProgram(f"the program has {count}:\n{lines}", fixes)


def _workgroup(program: Program) -> Iterator[Problem]:
    for axis, size in enumerate(program.workgroup_size):
        if not 1 <= size <= _U32_MAX:
            yield Problem(
                f"workgroup_size[{axis}]", f"size {size}", f"give each axis 1 to {_U32_MAX}"
            )


def _buffers(program: Program) -> Iterator[Problem]:
    names = Counter(decl.name for decl in program.buffers)
    bindings = Counter(decl.binding for decl in program.buffers if not decl.is_shared)
    for name, times in names.items():
        if times > 1:
            yield Problem(
                f"buffer {name!r}", f"declared {times} times", "give each buffer its own name"
            )
    for binding, times in sorted(bindings.items()):
        if times > 1:
            sharing = [d.name for d in program.buffers if d.binding == binding and not d.is_shared]
            yield Problem(
                f"binding {binding}",
                f"shared by {', '.join(repr(name) for name in sharing)}",
                "give each buffer its own binding number",
            )
    for decl in program.buffers:
        for problem, fix in _one_buffer(decl):
            yield Problem(f"buffer {decl.name!r}", problem, fix)


def _one_buffer(decl: BufferDecl) -> Iterator[tuple[str, str]]:
    if not decl.name:
        yield "the name is empty", "name the buffer"
    if not 0 <= decl.binding <= _U32_MAX:
        yield f"binding {decl.binding}", f"use 0 to {_U32_MAX}"
    if not 0 <= decl.count < _U32_MAX:
        yield f"count {decl.count}", f"use 0 (sized at run time) to {_U32_MAX - 1}"
    if decl.is_shared and decl.count == 0:
        yield "workgroup memory of count 0", "give it a positive count"
    if decl.live_out and decl.count == 0:
        yield "a live-out buffer of count 0", "give it a positive count, or declare it write"
    alignment = decl.hints.alignment
    if alignment < 0 or alignment & (alignment - 1):
        yield f"alignment {alignment}", "use 0 or a power of two"
    if decl.shape and decl.count != prod(decl.shape):
        yield f"count {decl.count} with shape {decl.shape}", f"use count {prod(decl.shape)}"
    if decl.shape and any(decl.shape) and not all(decl.shape):
        yield f"shape {decl.shape}", "fix every extent, or none"
    if decl.output_range is not None:
        start, end = decl.output_range
        size = decl.static_byte_len
        if not 0 <= start <= end or (size is not None and end > size):
            limit = "its size" if size is None else f"{size} bytes"
            yield f"output range {start}..{end}", f"use a range that rises and ends within {limit}"


def _options(program: Program) -> Iterator[Problem]:
    writable = {decl.name for decl in program.buffers if decl.is_written}
    for name in program.options.unique_writes:
        if name not in writable:
            known = ", ".join(sorted(writable)) or "none"
            yield Problem(
                "unique_writes",
                f"{name!r} is not a written buffer; written: {known}",
                "name a buffer that the program writes",
            )


def _among(program: Program) -> Iterator[Problem]:
    """Workgroups that are named: the declared one first, each once, of the arrays there are."""
    among = program.options.among
    if not among:
        return
    if among[0] != Named(program.workgroup_size, tuple(_declared(program, among[0]))):
        yield Problem(
            "among", "the first is not as the program declares it", "name what is declared first"
        )
    if len({one.workgroup for one in among}) < len(among):
        yield Problem("among", "a workgroup that is named twice", "name each once")
    for one in among:
        if not all(1 <= size <= _U32_MAX for size in one.workgroup):
            yield Problem("among", f"workgroup {one.workgroup}", f"give each axis 1 to {_U32_MAX}")
        if [name for name, _ in one.extents] != [name for name, _ in among[0].extents]:
            yield Problem("among", "workgroups of different arrays", "give all of them the same")
        for name, extents in one.extents:
            if not 1 <= len(extents) <= _MOST_AXES or not 1 <= prod(extents) < _U32_MAX:
                yield Problem("among", f"{name!r} of extents {extents}", "give each at least 1")


def _declared(program: Program, one: Named) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The arrays that a named workgroup tells of, as the program declares them."""
    shared = {decl.name: decl for decl in program.buffers if decl.is_shared}
    for name, _ in one.extents:
        if name in shared:
            yield name, shared[name].shape or (shared[name].count,)


Say = Callable[[str, str], None]

_COMPUTING = (Let, Assign, If, Loop, While, Break, Continue, Block, Region, Reduce, Yield)
"""Statements that only compute: what the rounds of a reduction may hold."""

_NUMBERS = (
    DataType.F32,
    DataType.F64,
    DataType.I32,
    DataType.U32,
    DataType.I64,
    DataType.U64,
)
"""The types that elements of a reduction come together in; those of `any` and `all` are bools."""


@dataclass(frozen=True, slots=True)
class _Around:
    """What is around a statement: a loop to leave, a reduction, and whether its round ends here."""

    in_loop: bool = False
    reduction: Reduce | None = None
    is_end: bool = False


@dataclass(frozen=True, slots=True)
class _Walk:
    """The statement rules, over the buffers of one program."""

    buffers: dict[str, BufferDecl]
    found: list[Problem]
    names: dict[str, DataType | None] = field(default_factory=dict)
    hidden: list[tuple[str, DataType | EllipsisType | None]] = field(default_factory=list)
    loop_vars: list[str] = field(default_factory=list)
    inner: list[set[str]] = field(default_factory=list)  # names that each open reduction binds

    def body(
        self,
        nodes: tuple[Node, ...],
        place: str,
        around: _Around,
        *,
        counter: tuple[str, DataType | None] | None = None,
    ) -> None:
        """Look at a list; its loop's counter and the names that it binds end with it."""
        mark = len(self.hidden)
        if counter is not None:
            self.bind(*counter)
        for position, node in enumerate(nodes):
            is_end = around.is_end and position == len(nodes) - 1
            self.statement(node, f"{place}[{position}]", replace(around, is_end=is_end))
        while len(self.hidden) > mark:
            name, before = self.hidden.pop()
            if before is ...:
                del self.names[name]
            else:
                self.names[name] = before

    def bind(self, name: str, dtype: DataType | None) -> None:
        self.hidden.append((name, self.names.get(name, ...)))
        self.names[name] = dtype
        if self.inner:
            self.inner[-1].add(name)

    def statement(self, node: Node, place: str, around: _Around) -> None:
        names = self.names

        def say(problem: str, fix: str) -> None:
            self.found.append(Problem(f"{place} {_title(node)}", problem, fix))

        def report(item: TypeProblem) -> None:
            say(item.problem, item.fix)

        def typed(expr: Expr) -> DataType | None:
            for part in expressions(expr):
                if isinstance(part, (Load, Atomic)) and _is_negative(part.index):
                    say(*_negative(repr(part.buffer), part.index))
                if isinstance(part, (Element, Put)):
                    for index in filter(_is_negative, part.indices):
                        say(*_negative("an array", index))
                if isinstance(part, Put) and not (isinstance(node, Assign) and part is node.value):
                    say("a put that is not the whole of an assignment", "assign it to the array")
                if around.reduction is not None and (acts := _acts(part)):
                    say(f"{acts} in a round of a reduction, which only computes", _BEFORE)
            return type_of(expr, Scope(names, self.buffers), report)

        def check_free(name: str) -> None:
            if name in names:
                say(f"{name!r} is bound already", "use assign, or another name")

        if around.reduction is not None and not isinstance(node, _COMPUTING):
            say("the rounds of a reduction only compute", _BEFORE)
        match node:
            case Let(name, value):
                found = typed(value)
                check_free(name)
                if found is not None and found.is_shaped and not isinstance(value, Array):
                    say(f"{name!r} would be another name of an array", "copy its elements")
                self.bind(name, found)
            case Assign(name, value):
                found, bound = typed(value), names.get(name)
                if found is not None and found.is_shaped and not _is_own(name, value):
                    say(f"{name!r} would be another name of an array", "copy its elements")
                if name not in names:
                    say(f"no name {name!r} here", "bind it with let before this statement")
                elif name in self.loop_vars:
                    say(f"{name!r} counts a loop", "copy it with let and change the copy")
                elif self.inner and name not in self.inner[-1]:
                    say(
                        f"{name!r} is bound outside of the reduction around it",
                        "copy it with let in the round and change the copy, or use a loop",
                    )
                elif found is not None and bound is not None and found != bound:
                    say(f"{name!r} is {bound}, the value is {found}", f"cast the value to {bound}")
            case Store(buffer, index, value):
                # The same index rules as a load's, but another access rule.
                at, found = typed(index), typed(value)
                self.store(buffer, index, at, found, say)
            case If(cond) | While(cond):
                found = typed(cond)
                if found is not None and not found.is_bool:
                    say(f"the condition is {found}", "compare it with something")
            case Loop(var, start, stop):
                first, last = typed(start), typed(stop)
                check_free(var)
                if first is not None and last is not None and (first != last or not first.is_int):
                    say(f"the loop runs from {first} to {last}", "count in one integer type")
                self.loop_vars.append(var)
                counter = (var, first or last)
                within = replace(around, in_loop=True, is_end=False)
                self.body(node.body, place + ".body", within, counter=counter)
                self.loop_vars.pop()
                return
            case Reduce():
                self.reduction(node, place, typed(node.rounds), say)
                check_free(node.name)
                self.bind(node.name, node.result)
                return
            case Yield(value):
                self.yielded(typed(value), around, say)
            case Print(texts, values, dtypes, formats):
                found_types = [typed(value) for value in values]
                if not len(texts) - 1 == len(values) == len(dtypes) == len(formats):
                    say(
                        f"{len(texts)} texts, {len(dtypes)} types and {len(formats)} formats for "
                        f"{len(values)} values",
                        "give a type and a format for each value, and one more text",
                    )
                    return
                for found, dtype, form in zip(found_types, dtypes, formats, strict=True):
                    if found is not None and found != dtype:
                        say(f"a value is {found}, printed as {dtype}", f"print it as {found}")
                    elif why_not_shown(dtype, form) is not None:
                        say(f"no {dtype} is shown by format {form!r}", "use a format of Python's")
            case Break() | Continue():
                if not around.in_loop:
                    say("there is no loop around it", "use it inside a loop")
            case _:
                for expr in operands(node):
                    typed(expr)
        within = replace(
            around,
            in_loop=around.in_loop or isinstance(node, While),
            is_end=around.is_end and isinstance(node, If),
        )
        for label, nodes in zip(("then", "otherwise"), bodies(node), strict=False):
            name = label if isinstance(node, If) else "body"
            self.body(nodes, f"{place}.{name}", within)

    def reduction(self, node: Reduce, place: str, rounds: DataType | None, say: Say) -> None:
        """Look at the head and the rounds of a reduction."""
        op, dtype = node.op.name.lower(), node.dtype
        if rounds is not None and rounds != DataType.U32:
            say(f"{rounds} rounds", "count them in u32")
        if node.op in (ReduceOp.ANY, ReduceOp.ALL):
            if not dtype.is_bool:
                say(f"{op} of {dtype}", "compare its elements with something")
        elif dtype not in _NUMBERS:
            known = ", ".join(str(one) for one in _NUMBERS)
            say(f"{op} of {dtype}", f"cast its elements to one of {known}")
        if node.var in self.names:
            say(f"{node.var!r} is bound already", "use another name for its counter")
        self.loop_vars.append(node.var)
        self.inner.append(set())
        within = _Around(reduction=node, is_end=True)
        self.body(node.body, place + ".body", within, counter=(node.var, DataType.U32))
        self.inner.pop()
        self.loop_vars.pop()

    def yielded(self, found: DataType | None, around: _Around, say: Say) -> None:
        if around.reduction is None:
            say("there is no reduction around it", "use it at the end of a reduction's body")
            return
        if not around.is_end:
            say(
                "it is not the end of a round",
                "put it last in the reduction's body, or last in a side of an if that is last",
            )
        wanted = around.reduction.dtype
        if found is not None and found != wanted:
            say(f"elements are {wanted}, the value is {found}", f"cast the value to {wanted}")

    def store(
        self, buffer: str, index: Expr, at: DataType | None, found: DataType | None, say: Say
    ) -> None:
        decl = self.buffers.get(buffer)
        if decl is None:
            known = ", ".join(self.buffers) or "none"
            say(f"no buffer {buffer!r}; declared: {known}", "declare it, or use a declared name")
            return
        if decl.access in (Access.READ_ONLY, Access.UNIFORM):
            say(f"store to {decl.access.name.lower()} buffer {buffer!r}", "declare it read_write")
        if at is not None and not at.is_int:
            say(f"index of {buffer!r} is {at}", "index with a whole number")
        if _is_negative(index):
            say(*_negative(repr(buffer), index))
        element = decl.element.computed
        if found is not None and found != element:
            say(f"{buffer!r} holds {element}, the value is {found}", f"cast the value to {element}")


def _is_own(name: str, value: Expr) -> bool:
    """Whether an array is given a name that holds one already: constants, or its own elements."""
    return isinstance(value, Array) or (isinstance(value, Put) and value.array == Var(name))


def _arrays(program: Program) -> Iterator[Problem]:
    """The bytes of all arrays, of which devices have few."""
    bound = [n.value for n in statements(program.entry) if isinstance(n, Let)]
    held = [value for value in bound if isinstance(value, Array)]
    tables = {e.array for e in all_expressions(program.entry) if isinstance(e, Element)}
    constants = [array for array in tables if isinstance(array, Array)]
    for what, arrays, most in (
        ("arrays of an invocation", held, MOST_ARRAY_BYTES),
        ("constant tables", constants, MOST_TABLE_BYTES),
    ):
        size = sum(array.count * array.element_bytes for array in arrays)
        if size > most:
            yield Problem(
                "entry", f"{size:,} bytes of {what}; {most:,} allowed", "use a buffer for them"
            )


def _title(node: Node) -> str:
    match node:
        case Let(name) | Assign(name):
            return f"{type(node).__name__.lower()} {name!r}"
        case Store(buffer):
            return f"store to {buffer!r}"
        case Loop(var):
            return f"loop {var!r}"
        case Reduce(name):
            return f"reduction {name!r}"
        case _:
            return type(node).__name__.lower()


_BEFORE = "do that before or after the reduction, or use a loop"


def _acts(expr: Expr) -> str | None:
    """What an expression does beside computing, in words."""
    match expr:
        case Atomic(_, buffer):
            return f"an atomic on {buffer!r}"
        case Call(op_id):
            return f"a call of {op_id!r}"
        case OpaqueExpr(kind):
            return f"expression {kind!r} of an unknown extension"
        case Subgroup(op):
            return f"subgroup operation {op.name.lower()}"
        case Binary(op) if op in WAVE:
            return f"wave operation {op.name.lower()}"
        case _:
            return None


def _is_negative(index: Expr) -> bool:
    match index:
        case Lit(value=value):
            return value < 0
        case Unary(UnaryOp.NEGATE, Lit(dtype, value=value)):
            return dtype.is_signed and value > 0
        case _:
            return False


def _negative(buffer: str, index: Expr) -> tuple[str, str]:
    shown = index.value if isinstance(index, Lit) else "a negated literal"
    return (
        f"index {shown} of {buffer} is negative",
        "index from 0; there is no counting from the end",
    )
