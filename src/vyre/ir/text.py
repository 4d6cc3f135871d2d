"""A program as text for people: declarations, then statements in Python's manner."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from blake3 import blake3

from vyre.ir.declare import Access, BufferDecl, Named
from vyre.ir.expr import (
    Ahead,
    Alike,
    Array,
    Atomic,
    Binary,
    BinaryOp,
    Bitcast,
    BufDim,
    BufLen,
    Call,
    Cast,
    Element,
    Expr,
    FlatIndex,
    Fma,
    FromLane,
    Id,
    Lane,
    Lit,
    Load,
    OpaqueExpr,
    Put,
    Select,
    Share,
    Subgroup,
    Unary,
    UnaryOp,
    Var,
)
from vyre.ir.node import (
    Arrive,
    Assign,
    Barrier,
    Block,
    Break,
    Continue,
    If,
    Let,
    Loop,
    Meet,
    Node,
    OpaqueNode,
    Print,
    Reduce,
    Region,
    Return,
    Store,
    Trap,
    While,
    Yield,
)
from vyre.ir.program import Program
from vyre.ir.types import DataType

_INFIX = {
    BinaryOp.OR: ("or", 1),
    BinaryOp.AND: ("and", 2),
    BinaryOp.EQ: ("==", 3),
    BinaryOp.NE: ("!=", 3),
    BinaryOp.LT: ("<", 3),
    BinaryOp.GT: (">", 3),
    BinaryOp.LE: ("<=", 3),
    BinaryOp.GE: (">=", 3),
    BinaryOp.BIT_OR: ("|", 4),
    BinaryOp.BIT_XOR: ("^", 5),
    BinaryOp.BIT_AND: ("&", 6),
    BinaryOp.SHL: ("<<", 7),
    BinaryOp.SHR: (">>", 7),
    BinaryOp.ADD: ("+", 8),
    BinaryOp.SUB: ("-", 8),
    BinaryOp.MUL: ("*", 9),
    BinaryOp.DIV: ("/", 9),
    BinaryOp.FLOOR_DIV: ("//", 9),
}
_PREFIX = {UnaryOp.NEGATE: "-", UnaryOp.BIT_NOT: "~", UnaryOp.LOGICAL_NOT: "not "}
_ATOM = 20

_ROLE = {
    Access.READ_ONLY: "read",
    Access.READ_WRITE: "read_write",
    Access.UNIFORM: "uniform",
    Access.WORKGROUP: "workgroup",
    Access.WRITE_ONLY: "write",
}


def to_text(program: Program) -> str:
    """The whole program, one statement a line.

    >>> print(to_text(Program.empty()), end="")
    program workgroup (1, 1, 1)
    region vyre.program.root:
      pass
    """
    head = f"program workgroup {program.workgroup_size}"
    if program.entry_op_id is not None:
        head += f" op {program.entry_op_id}"
    if program.non_composable:
        head += " non_composable"
    if program.options.fast_math:
        head += " fast_math"
    if program.options.unique_writes:
        head += f" unique_writes {', '.join(program.options.unique_writes)}"
    if program.options.among:
        head += f" among {', '.join(_named(one) for one in program.options.among)}"
    lines = [head, *(f"  {_buffer(decl)}" for decl in program.buffers), *_body(program.entry, 0)]
    return "\n".join(lines) + "\n"


def expr_text(expr: Expr) -> str:
    """One expression, with no more parentheses than it needs."""
    return _expr(expr)[0]


def statement_text(node: Node) -> str:
    """One statement's first line."""
    return next(_statement(node, 0)).strip()


def _named(one: Named) -> str:
    arrays = " ".join(f"{name}{list(extents)}" for name, extents in one.extents)
    return f"{one.workgroup}{' with ' if arrays else ''}{arrays}"


def _buffer(decl: BufferDecl) -> str:
    if decl.shape:
        size = ", ".join(str(extent) if extent else ":" for extent in decl.shape)
    else:
        size = str(decl.count) if decl.count else ":"
    flags = " output" if decl.is_output else ""
    flags += " live_out" if decl.live_out else ""
    return f"{_ROLE[decl.access]} {decl.name}: {decl.element}[{size}] @{decl.binding}{flags}"


def _body(nodes: tuple[Node, ...], level: int) -> Iterator[str]:
    if not nodes:
        yield "  " * level + "pass"
    for node in nodes:
        yield from _statement(node, level)


def _statement(node: Node, level: int) -> Iterator[str]:
    pad = "  " * level
    match node:
        case Let(name, value):
            yield f"{pad}let {name} = {expr_text(value)}"
        case Assign(name, value):
            yield f"{pad}{name} = {expr_text(value)}"
        case Store(buffer, index, value):
            yield f"{pad}{buffer}[{_index(buffer, index)}] = {expr_text(value)}"
        case If(cond, then, otherwise):
            yield f"{pad}if {expr_text(cond)}:"
            yield from _body(then, level + 1)
            if otherwise:
                yield f"{pad}else:"
                yield from _body(otherwise, level + 1)
        case Loop(var, start, stop, body):
            yield f"{pad}for {var} in {expr_text(start)} .. {expr_text(stop)}:"
            yield from _body(body, level + 1)
        case While(cond, body):
            yield f"{pad}while {expr_text(cond)}:"
            yield from _body(body, level + 1)
        case Reduce(name, op, dtype, var, rounds, body):
            what = f"{op.name.lower()} of {dtype}"
            yield f"{pad}let {name} = {what} for {var} in 0 .. {expr_text(rounds)}:"
            yield from _body(body, level + 1)
        case Yield(value):
            yield f"{pad}yield {expr_text(value)}"
        case Break() | Continue() | Return():
            yield pad + type(node).__name__.lower()
        case Block(body):
            yield f"{pad}block:"
            yield from _body(body, level + 1)
        case Region(generator, body, source):
            yield f"{pad}region {generator}{f' from {source}' if source else ''}:"
            yield from _body(body, level + 1)
        case Barrier(ordering):
            yield f"{pad}barrier {ordering.name.lower()}"
        case Meet():
            yield f"{pad}meet"
        case Arrive(name, shares, buffer, index):
            yield f"{pad}let {name} = last of {shares} at {buffer}[{expr_text(index)}]"
        case Print():
            yield f"{pad}print {printed_text(node)}"
        case Trap(address, token):
            yield f"{pad}trap {token!r} at {expr_text(address)}"
        case OpaqueNode(kind, payload):
            yield f"{pad}opaque {kind} ({len(payload)} bytes)"
        case _:
            parts = [_field(getattr(node, item.name)) for item in fields(node)]  # type: ignore[arg-type]  # every Node is a dataclass
            yield f"{pad}{type(node).__name__}({', '.join(parts)})"


def printed_text(node: Print) -> str:
    """What is printed, as an f-string would have it."""
    shown = repr(node.texts[0])[1:-1]
    for value, form, text in zip(node.values, node.formats, node.texts[1:], strict=True):
        shown += f"{{{expr_text(value)}{':' if form else ''}{form}}}{repr(text)[1:-1]}"
    return f'"{shown}"'


def _field(value: object) -> str:
    return expr_text(value) if isinstance(value, Expr) else str(value)


def _index(buffer: str, index: Expr) -> str:
    match index:
        case FlatIndex(owner, indices) if owner == buffer:
            return ", ".join(expr_text(part) for part in indices)
        case _:
            return expr_text(index)


def _expr(expr: Expr) -> tuple[str, int]:
    """The text of `expr` and how tightly it binds."""
    match expr:
        case Lit(dtype):
            shown = str(expr.value)
            return (shown, _ATOM) if dtype.is_bool else (f"{shown}{_suffix(dtype)}", _ATOM)
        case Var(name):
            return name, _ATOM
        case Load(buffer, index):
            return f"{buffer}[{_index(buffer, index)}]", _ATOM
        case BufLen(buffer):
            return f"len({buffer})", _ATOM
        case BufDim(buffer, axis):
            return f"{buffer}.shape[{axis}]", _ATOM
        case FlatIndex(buffer, indices):
            return _call(f"flat_index[{buffer}]", *indices)
        case Id(kind, axis):
            return f"{kind.value}({axis})", _ATOM
        case Binary(op, left, right) if op in _INFIX:
            sign, binds = _INFIX[op]
            return f"{_within(left, binds)} {sign} {_within(right, binds + 1)}", binds
        case Binary(op, left, right):
            return _call(op.name.lower(), left, right)
        case Unary(op, operand) if op in _PREFIX:
            return f"{_PREFIX[op]}{_within(operand, 10)}", 10
        case Unary(op, operand):
            return _call(op.name.lower(), operand)
        case Call(op_id, args):
            return _call(op_id, *args)
        case Select(cond, true, false):
            return _call("select", cond, true, false)
        case Cast(target, value):
            return _call(str(target), value)
        case Bitcast(target, value):
            return _call(f"bitcast[{target}]", value)
        case Array(dtype, shape, data):
            # Statements are known by their text, and the text of a table would be long.
            contents = f" #{blake3(data).hexdigest(8)}" if data else ""
            return f"{dtype}[{', '.join(map(str, shape))}]{contents}", _ATOM
        case Element(array, indices):
            return f"{expr_text(array)}[{', '.join(map(expr_text, indices))}]", _ATOM
        case Put(array, indices, value):
            place = ", ".join(map(expr_text, indices))
            return f"put({expr_text(array)}[{place}], {expr_text(value)})", _ATOM
        case Fma(a, b, c):
            return _call("fma", a, b, c)
        case Atomic(op, buffer, index, value, expected):
            given = (value,) if expected is None else (expected, value)
            shown = ", ".join(expr_text(part) for part in given)
            return f"atomic_{op.name.lower()}({buffer}[{_index(buffer, index)}], {shown})", _ATOM
        case Subgroup(op, args):
            return _call(f"subgroup_{op.name.lower()}", *args)
        case OpaqueExpr(kind, payload):
            return f"opaque[{kind}]({len(payload)} bytes)", _ATOM
        case Lane():
            return "lane()", _ATOM
        case Share():
            return "share()", _ATOM
        case FromLane(value, away):
            return f"from_lane({expr_text(value)}, {away})", _ATOM
        case Alike(value, lane):
            return f"alike({expr_text(value)}{f', {lane}' if lane else ''})", _ATOM
        case Ahead(start, by):
            return _call("ahead", start, by)
        case _:
            raise AssertionError(f"no text for {type(expr).__name__}")


def _suffix(dtype: DataType) -> str:
    return "" if dtype == DataType.F32 else str(dtype)


def _call(name: str, *args: Expr) -> tuple[str, int]:
    return f"{name}({', '.join(expr_text(arg) for arg in args)})", _ATOM


def _within(expr: Expr, binds: int) -> str:
    text, own = _expr(expr)
    return text if own >= binds else f"({text})"
