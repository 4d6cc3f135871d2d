"""The one spelling of a program: order of buffers, order of operands, no needless blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace

from vyre.errors import WireError
from vyre.ir.declare import BufferDecl
from vyre.ir.encode import MAX_BYTES, stream
from vyre.ir.expr import Binary, BinaryOp, Expr, Lit
from vyre.ir.node import Block, Let, Node, Reduce
from vyre.ir.types import DataType
from vyre.ir.walk import post_order, size_of

# Operands of these change places freely.
_ORDERED = frozenset(
    {BinaryOp.WRAP_ADD, BinaryOp.SAT_ADD, BinaryOp.SAT_MUL, BinaryOp.ABS_DIFF}
    | {BinaryOp.BIT_AND, BinaryOp.BIT_OR, BinaryOp.BIT_XOR}
    | {BinaryOp.EQ, BinaryOp.NE, BinaryOp.AND, BinaryOp.OR}
)
# Of these only literals move: vyre leaves `a + b` as its author wrote it.
_LITERALS_MOVE = _ORDERED | {BinaryOp.ADD, BinaryOp.MUL, BinaryOp.MIN, BinaryOp.MAX}

_BINDING = (Let, Reduce)  # what binds a name that ends with the list around it

_QUIET_NAN = Lit(DataType.F32, 0x7FC0_0000)


def canonical_buffers(buffers: Iterable[BufferDecl]) -> tuple[BufferDecl, ...]:
    """The buffers in the order of the wire: shorter names first, roughly; see `_buffer_key`."""
    return tuple(sorted(buffers, key=_buffer_key))


def canonical_entry(entry: Iterable[Node]) -> tuple[Node, ...]:
    """The statements with operands in order and with blocks that bind nothing taken apart."""
    nodes = tuple(entry)
    if size_of(nodes).parts > MAX_BYTES:
        return nodes  # it has no bytes, and the encoder says so
    done: dict[int, Expr | Node] = {}
    for item in post_order(nodes):
        done[id(item)] = _settled(_with_parts(item, done))
    return _spliced(done[id(node)] for node in nodes)


def _with_parts(item: Expr | Node, done: Mapping[int, Expr | Node]) -> Expr | Node:
    """`item` made of the parts that are done; itself where none of them changed."""
    changes: dict[str, object] = {}
    for field in fields(item):  # type: ignore[arg-type]  # every Expr and Node is a dataclass
        old = getattr(item, field.name)
        new: object = old
        if isinstance(old, (Expr, Node)):
            new = done[id(old)]
        elif isinstance(old, tuple) and old and isinstance(old[0], Expr):
            new = tuple(done[id(part)] for part in old)
        elif isinstance(old, tuple) and old and isinstance(old[0], Node):
            new = _spliced(done[id(part)] for part in old)
        if new is not old:
            changes[field.name] = new
    return replace(item, **changes) if changes else item  # type: ignore[type-var]  # as above


def _spliced(nodes: Iterable[Expr | Node]) -> tuple[Node, ...]:
    out: list[Node] = []
    for node in nodes:
        assert isinstance(node, Node)
        if isinstance(node, Block) and not any(isinstance(part, _BINDING) for part in node.body):
            out.extend(node.body)
        else:
            out.append(node)
    return tuple(out)


def _settled(item: Expr | Node) -> Expr | Node:
    match item:
        case Lit(DataType.F32, bits) if bits & 0x7FFF_FFFF > 0x7F80_0000:
            return _QUIET_NAN
        case Binary(op, left, right) if op in _LITERALS_MOVE and _swaps(op, left, right):
            return Binary(op, right, left)
        case _:
            return item


def _swaps(op: BinaryOp, left: Expr, right: Expr) -> bool:
    if isinstance(left, Lit) != isinstance(right, Lit):
        return isinstance(left, Lit)
    return (isinstance(left, Lit) or op in _ORDERED) and _precedes(right, left)


def _precedes(first: Expr, second: Expr) -> bool:
    """Whether `first` comes before `second` byte by byte, looking no further than it has to."""
    if first is second:
        return False
    try:
        ours, theirs = b"", b""
        left, right = stream(first), stream(second)
        while ours == theirs:
            # No expression's bytes begin another's, so both end together or not at all.
            ours, theirs = next(left, b""), next(right, b"")
            if not ours and not theirs:
                return False
    except WireError:
        return False  # it has no bytes, and the encoder says so
    return ours < theirs


def _buffer_key(decl: BufferDecl) -> bytes:
    """Bytes that order buffers: the name's length as it lies in memory comes first."""
    name = decl.name.encode("utf-8", "surrogatepass")
    start, stop = decl.output_range or (0, 0)
    axis = decl.hints.coalesce_axis
    element: DataType | None = decl.element
    dtype = b""
    while element is not None:
        dtype += bytes((element.tag,)) + b"".join(_word(n) for n in element.params)
        element = element.element
    return b"".join(
        (
            _word(len(name)),
            name,
            _word(decl.binding),
            bytes((decl.access, decl.kind)),
            dtype,
            _word(decl.count),
            bytes((decl.is_output, decl.live_out, decl.output_range is not None)),
            _word(start) + _word(stop),
            b"\0" if axis is None else b"\x01" + _word(axis),
            _word(decl.hints.alignment) + bytes((decl.hints.locality,)),
            b"".join(_word(n) for n in decl.shape),
        )
    )


def _word(value: int) -> bytes:
    # what does not fit is for the encoder to refuse; here it only needs some place
    return (value & 0xFFFF_FFFF).to_bytes(4, "little")
