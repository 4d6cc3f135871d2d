"""Program -> canonical bytes, wire revision 4, and the fingerprint made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from blake3 import blake3

from vyre.errors import WireError
from vyre.ir.declare import MOST_AXES, BufferDecl, Hints, Named, Options
from vyre.ir.expr import (
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
    Id,
    IdKind,
    Lit,
    Load,
    OpaqueExpr,
    Put,
    Select,
    Subgroup,
    Unary,
    UnaryOp,
    Var,
)
from vyre.ir.extension import (
    BINARY_OPS,
    EXTENSION_TAG,
    ID_CODES,
    UNARY_OPS,
    ExprExtension,
    NodeExtension,
    is_native_literal,
)
from vyre.ir.node import (
    AllGather,
    AllReduce,
    Assign,
    AsyncCopy,
    AsyncWait,
    Barrier,
    Block,
    Break,
    Broadcast,
    Continue,
    If,
    IndirectDispatch,
    Let,
    Loop,
    Node,
    OpaqueNode,
    Print,
    Reduce,
    ReduceScatter,
    Region,
    Resume,
    Return,
    Store,
    Trap,
    While,
    Yield,
)
from vyre.ir.structure import Encodable, exact_hash
from vyre.ir.types import DataType, Tag
from vyre.ir.walk import MAX_DEPTH, size_of

MAGIC = b"VYRE"
VERSION = 4
FLAGS = 4
HEADER_BYTES = 40
METADATA_OP_ID = "vyre.program.metadata"
METADATA_MAGIC = b"VYRE-META"

MAX_BYTES = 64 << 20
MAX_STRING = 1 << 20
MAX_BUFFERS = 16_384
MAX_NODES = 1_000_000
MAX_ARGS = 4_096
MAX_TYPE_DEPTH = 16

LITERAL_TAGS = {DataType.U32: 0, DataType.I32: 1, DataType.BOOL: 2, DataType.F32: 15}
ID_TAGS = {IdKind.INVOCATION: 6, IdKind.WORKGROUP: 7, IdKind.LOCAL: 8}
OP_IDS = {
    0: "vyre.node.let",
    1: "vyre.node.assign",
    2: "vyre.node.store",
    3: "vyre.node.if",
    4: "vyre.node.loop",
    5: "vyre.node.return",
    6: "vyre.node.block",
    7: "vyre.node.barrier",
    8: "vyre.node.indirect_dispatch",
    9: "vyre.node.async_load",
    10: "vyre.node.async_wait",
    11: "vyre.node.region",
    12: "vyre.node.async_store",
    13: "vyre.node.trap",
    14: "vyre.node.resume",
    15: "vyre.node.all_reduce",
    16: "vyre.node.all_gather",
    17: "vyre.node.reduce_scatter",
    18: "vyre.node.broadcast",
    EXTENSION_TAG: "vyre.node.opaque",
}
"""The record id of each statement's tag."""

_FALLBACK_DOMAIN = b"VYRE-PROGRAM-CANONICAL-WIRE-HASH-ERROR\0"


def encode(program: Encodable) -> bytes:
    """The bytes of a program that is canonical already.

    Raises:
        WireError: the program cannot be written down, for the reason it says.
    """
    check_declarations(program)
    _check_list(program.entry)
    _check_size(size_of(program.entry).parts)  # each has a byte at least
    options = _options(program)
    body = bytearray(_leb(len(program.entry) + (options is not None) + 1))
    body += _record(METADATA_OP_ID, _metadata(program))
    for node in program.entry:
        payload = _flatten(node)
        body += _record(OP_IDS[payload[0]], payload)
        _check_size(len(body))
    if options is not None:
        body += _record(OP_IDS[EXTENSION_TAG], options)
    body += _leb(len(program.buffers))
    for index, decl in enumerate(program.buffers):
        body += _region(index, decl)
    written = [index for index, decl in enumerate(program.buffers) if decl.is_written]
    body += _leb(len(written)) + b"".join(_leb(index) for index in written)
    _check_size(HEADER_BYTES + len(body))
    return header(body) + body


def fingerprint(program: Encodable) -> bytes:
    """BLAKE3 of a canonical program's bytes, or of why it has none and of what it is."""
    try:
        return blake3(encode(program)).digest()
    except WireError as error:
        # vyre's form of it, with our own digest of the program: vyre's cannot be had from outside,
        # so these fingerprints, and no others, differ from vyre's for a program both can hold.
        text = error.problem.encode("utf-8", "surrogatepass")
        digest = exact_hash(program).hex().encode()
        return blake3(_FALLBACK_DOMAIN + text + b"\0" + digest).digest()


def header(body: bytes | bytearray) -> bytes:
    """What stands before a body: magic, version, flags and the body's own digest."""
    words = VERSION.to_bytes(2, "little") + FLAGS.to_bytes(2, "little")
    return MAGIC + words + blake3(body).digest()


def check_declarations(program: Encodable) -> None:
    """Raise WireError for a workgroup or a buffer that has no wire form."""
    if min(program.workgroup_size) < 1:
        raise WireError(
            f"workgroup size {program.workgroup_size} has an axis below 1",
            "give every axis at least 1",
        )
    if len(program.buffers) > MAX_BUFFERS:
        raise WireError(
            f"{len(program.buffers)} buffers; the wire format allows {MAX_BUFFERS}",
            "pack several arrays into one buffer",
        )
    for decl in program.buffers:
        if decl.is_shared and decl.count == 0:
            raise WireError(
                f"workgroup buffer {decl.name!r} has count 0", "give it a count with with_count"
            )
        if decl.live_out and decl.count == 0:
            raise WireError(
                f"live-out buffer {decl.name!r} has count 0",
                "give it a count with with_count, or declare it with BufferDecl.write",
            )
        if decl.output_range is not None:
            _check_range(decl, *decl.output_range)
        if decl.shape and not 2 <= len(decl.shape) <= MOST_AXES:
            raise WireError(
                f"shape {decl.shape} of buffer {decl.name!r}", f"use 2 to {MOST_AXES} extents"
            )


def _check_range(decl: BufferDecl, start: int, stop: int) -> None:
    size = decl.static_byte_len
    if not 0 <= start <= stop or (size is not None and stop > size):
        holds = "a run-time number of" if size is None else str(size)
        raise WireError(
            f"output range {start}..{stop} of buffer {decl.name!r}, which holds {holds} bytes",
            "give a range that starts no later than it stops and stays inside the buffer",
        )


@dataclass(frozen=True, slots=True)
class _Sized:
    """Parts that their length in bytes precedes."""

    parts: Sequence[_Part]


_Part = bytes | Expr | Node | _Sized


def _layout(item: Expr | Node) -> Sequence[_Part]:
    """How one expression or statement is written: bytes, and the parts inside it, in order."""
    return _node(item) if isinstance(item, Node) else _expr(item)


def stream(item: Expr) -> Iterator[bytes]:
    """The bytes of `item` piece by piece, so that a comparison can stop at the first difference."""
    stack: list[_Part] = [item]
    while stack:
        match stack.pop():
            case bytes(data):
                yield data
            case _Sized(parts):
                data = b"".join(_flatten(part) for part in parts)
                yield _u32(len(data)) + data
            case part:
                stack.extend(reversed(_layout(part)))


def _flatten(item: _Part) -> bytes:
    out = bytearray()
    stack: list[tuple[_Part | int, int]] = [(item, 1)]
    while stack:
        part, depth = stack.pop()
        match part:
            case bytes():
                out += part
                _check_size(len(out))
            case int():
                out[part - 4 : part] = _u32(len(out) - part)
            case _Sized(parts):
                out += bytes(4)
                stack.append((len(out), depth))
                stack.extend((inner, depth) for inner in reversed(parts))
            case _:
                if depth > MAX_DEPTH:
                    raise WireError(
                        f"statements and expressions nest deeper than {MAX_DEPTH}",
                        "split long expressions with let",
                    )
                stack.extend((inner, depth + 1) for inner in reversed(_layout(part)))
    return bytes(out)


def _node(node: Node) -> Sequence[_Part]:
    match node:
        case Let(name, value):
            return b"\x00" + _string(name), value
        case Assign(name, value):
            return b"\x01" + _string(name), value
        case Store(buffer, index, value):
            return b"\x02" + _string(buffer), index, value
        case If(cond, then, otherwise):
            return b"\x03", cond, *_nodes(then), *_nodes(otherwise)
        case Loop(name, start, stop, body):
            return b"\x04" + _string(name), start, stop, *_nodes(body)
        case Return():
            return (b"\x05",)
        case Block(body):
            return b"\x06", *_nodes(body)
        case Barrier(ordering):
            return (bytes((7, ordering)),)
        case IndirectDispatch(buffer, offset):
            return (b"\x08" + _string(buffer) + _uint(offset, 8),)
        case AsyncCopy(is_store, source, destination, offset, size, token):
            names = _string(source) + _string(destination)
            return (b"\x0c" if is_store else b"\x09") + names, offset, size, _string(token)
        case AsyncWait(token):
            return (b"\x0a" + _string(token),)
        case Region(generator, body, source):
            return b"\x0b" + _string(generator) + _optional_string(source), *_nodes(body)
        case Trap(address, token):
            return b"\x0d", address, _string(token)
        case Resume(token):
            return (b"\x0e" + _string(token),)
        case AllReduce(buffer, op, group):
            return (b"\x0f" + _string(buffer) + bytes((op,)) + _u32(group),)
        case AllGather(source, destination, group):
            return (b"\x10" + _string(source) + _string(destination) + _u32(group),)
        case ReduceScatter(source, destination, op, group):
            names = _string(source) + _string(destination)
            return (b"\x11" + names + bytes((op,)) + _u32(group),)
        case Broadcast(buffer, root, group):
            return (b"\x12" + _string(buffer) + _u32(root) + _u32(group),)
        case While(cond, body):
            return _extension(NodeExtension.WHILE, cond, *_nodes(body))
        case Break():
            return _extension(NodeExtension.BREAK)
        case Continue():
            return _extension(NodeExtension.CONTINUE)
        case Reduce(name, op, dtype, var, rounds, body):
            head = _string(name) + bytes((op.value,)) + _dtype_bytes(dtype) + _string(var)
            return _extension(NodeExtension.REDUCE, head, rounds, *_nodes(body))
        case Yield(value):
            return _extension(NodeExtension.YIELD, value)
        case Print():
            return _extension(NodeExtension.PRINT, *_printed(node))
        case OpaqueNode(kind, payload):
            return _extension(_foreign(kind, NodeExtension), payload)
        case _:
            raise _without_form(node)


def _expr(expr: Expr) -> Sequence[_Part]:
    match expr:
        case Lit(dtype, bits):
            if not is_native_literal(expr):
                payload = bytes((dtype.tag,)) + bits.to_bytes(dtype.bits // 8, "little")
                return _extension(ExprExtension.LIT, payload)
            return (bytes((LITERAL_TAGS[dtype],)) + _uint(bits, 1 if dtype.is_bool else 4),)
        case Var(name):
            return (b"\x03" + _string(name),)
        case Load(buffer, index):
            return b"\x04" + _string(buffer), index
        case BufLen(buffer):
            return (b"\x05" + _string(buffer),)
        case Id(kind, axis):
            if kind in ID_TAGS:
                return (bytes((ID_TAGS[kind], axis)),)
            return _extension(ExprExtension.ID, bytes((ID_CODES[kind], axis)))
        case Binary(op, left, right):
            return b"\x09" + _operator(op), left, right
        case Unary(op, operand):
            return b"\x0a" + _operator(op), operand
        case Call(op_id, args):
            return b"\x0b" + _string(op_id) + _count(args), *args
        case Select(cond, true, false):
            return b"\x0c", cond, true, false
        case Cast(target, value):
            return b"\x0d" + _dtype_bytes(target), value
        case Atomic(op, buffer, index, value, expected, ordering):
            compared: Sequence[_Part] = (b"\0",) if expected is None else (b"\x01", expected)
            return bytes((14, op.value, ordering)) + _string(buffer), index, *compared, value
        case Fma(a, b, c):
            return b"\x10", a, b, c
        case Subgroup(op, args):
            return bytes((op.value,)), *args
        case FlatIndex(buffer, indices):
            return _extension(ExprExtension.FLAT_INDEX, _string(buffer) + _count(indices), *indices)
        case BufDim(buffer, axis):
            return _extension(ExprExtension.BUF_DIM, _string(buffer) + _u32(axis))
        case Bitcast(target, value):
            return _extension(ExprExtension.BITCAST, _dtype_bytes(target), value)
        case Array(dtype, shape, data):
            extents = b"".join(_u32(extent, "extent") for extent in shape)
            return _extension(ExprExtension.ARRAY, bytes((dtype.tag, len(shape))) + extents + data)
        case Element(array, indices):
            return _extension(ExprExtension.ELEMENT, array, _count(indices), *indices)
        case Put(array, indices, value):
            return _extension(ExprExtension.PUT, array, _count(indices), *indices, value)
        case OpaqueExpr(kind, payload):
            return _extension(_foreign(kind, ExprExtension), payload)
        case _:
            raise _without_form(expr)


def _operator(op: BinaryOp | UnaryOp) -> bytes:
    if op in BINARY_OPS or op in UNARY_OPS:
        return bytes((EXTENSION_TAG,)) + _u32(op.value)
    return bytes((op.value,))


def _extension(kind: str, *parts: _Part) -> Sequence[_Part]:
    return bytes((EXTENSION_TAG,)) + _string(kind), _Sized(parts)


def _foreign(kind: str, ours: Iterable[str]) -> str:
    if kind in tuple(ours):
        raise WireError(
            f"opaque extension of kind {kind!r}, which is Vyre's own",
            "build it with the builder of vyre.ir that stands for it",
        )
    return kind


def _without_form(item: object) -> WireError:
    return WireError(
        f"{type(item).__name__} has no wire form", "use the expressions and statements of vyre.ir"
    )


def _printed(node: Print) -> Iterator[_Part]:
    yield _count(node.values) + _string(node.texts[0])
    shown = zip(node.values, node.dtypes, node.formats, node.texts[1:], strict=True)
    for value, dtype, form, text in shown:
        yield _dtype_bytes(dtype)
        yield value
        yield _string(form) + _string(text)


def _nodes(nodes: tuple[Node, ...]) -> Sequence[_Part]:
    _check_list(nodes)
    return _u32(len(nodes)), *nodes


def _check_list(nodes: tuple[Node, ...]) -> None:
    if len(nodes) > MAX_NODES:
        raise WireError(
            f"{len(nodes)} statements in one list; the wire format allows {MAX_NODES}",
            "use a loop, or split the program",
        )


def _count(args: tuple[Expr, ...]) -> bytes:
    if len(args) > MAX_ARGS:
        raise WireError(
            f"{len(args)} arguments; the wire format allows {MAX_ARGS}",
            "pass them through a buffer",
        )
    return _u32(len(args))


def _options(program: Encodable) -> bytes | None:
    """The record that holds options and shapes, or None where all of them are the default."""
    shaped = [(index, decl.shape) for index, decl in enumerate(program.buffers) if decl.shape]
    if program.options == Options() and not shaped:
        return None
    names = program.options.unique_writes
    if len(names) > MAX_BUFFERS:
        raise WireError(
            f"{len(names)} names in unique_writes; the wire format allows {MAX_BUFFERS}",
            "name each buffer once",
        )
    payload = bytes((program.options.fast_math,)) + _u32(len(names))
    payload += b"".join(_string(name) for name in names) + _u32(len(shaped))
    for index, shape in shaped:
        payload += (
            _u32(index)
            + bytes((len(shape),))
            + b"".join(_u32(extent, "extent") for extent in shape)
        )
    if program.options.among:
        payload += _u32(len(program.options.among))
        payload += b"".join(_named(one) for one in program.options.among)
    kind = bytes((EXTENSION_TAG,)) + _string(NodeExtension.OPTIONS)
    return kind + _u32(len(payload)) + payload


def _named(one: Named) -> bytes:
    """A workgroup that is named, and the extents of what goes by it."""
    data = b"".join(_u32(size, "workgroup") for size in one.workgroup) + _u32(len(one.extents))
    for name, extents in one.extents:
        data += _string(name) + bytes((len(extents),))
        data += b"".join(_u32(extent, "extent") for extent in extents)
    return data


def _record(op_id: str, payload: bytes) -> bytes:
    name = op_id.encode()
    return _leb(len(name)) + name + _leb(len(payload)) + payload + _leb(0)


def _metadata(program: Encodable) -> bytes:
    out = bytearray(METADATA_MAGIC + _optional_string(program.entry_op_id))
    out += b"".join(_u32(axis, "workgroup size") for axis in program.workgroup_size)
    out += bytes((program.non_composable,)) + _leb(len(program.buffers))
    for decl in program.buffers:
        out += _string(decl.name) + _u32(decl.binding, f"binding of buffer {decl.name!r}")
        out += _u32(decl.count, f"count of buffer {decl.name!r}")
        out += (
            bytes((decl.is_output, decl.live_out)) + _range_bytes(decl) + _hints_bytes(decl.hints)
        )
        _check_size(len(out))
    return bytes(out)


def _region(index: int, decl: BufferDecl) -> bytes:
    shape = _leb(decl.count) + _region_dtype(decl.element)
    hints = _hints_bytes(decl.hints)
    tags = bytes((decl.kind, decl.access, decl.element.tag, 0))
    return _leb(index) + tags + _leb(len(shape)) + shape + _leb(len(hints)) + hints


def _region_dtype(dtype: DataType) -> bytes:
    cast_form = _dtype_bytes(dtype)
    if dtype.tag in (Tag.ARRAY, Tag.HANDLE, Tag.OPAQUE):
        return _leb(dtype.params[0])
    return cast_form[1:]


def _range_bytes(decl: BufferDecl) -> bytes:
    if decl.output_range is None:
        return b"\0"
    start, stop = decl.output_range
    return b"\x01" + _leb(start) + _leb(stop)


def _hints_bytes(hints: Hints) -> bytes:
    axis = (
        b"\0"
        if hints.coalesce_axis is None
        else b"\x01" + _uint(hints.coalesce_axis, 1, "coalesce axis")
    )
    return axis + _u32(hints.alignment, "alignment") + bytes((hints.locality,))


def _dtype_bytes(dtype: DataType, depth: int = 1) -> bytes:
    """A type as a cast names it: its tag, its element type, its numbers."""
    if depth > MAX_TYPE_DEPTH:
        raise WireError(f"type nested deeper than {MAX_TYPE_DEPTH}", "use a type of fewer levels")
    element, params = dtype.element, dtype.params
    inner = b"" if element is None else _dtype_bytes(element, depth + 1)
    words = b"".join(_u32(n) for n in params)
    match dtype.tag:
        case Tag.VEC:
            good, numbers = len(params) == 1, b"".join(_uint(n, 1) for n in params)
        case Tag.TENSOR_SHAPED | Tag.DEVICE_MESH:
            good, numbers = True, _u32(len(params)) + words
        case Tag.SPARSE_BSR:
            good, numbers = len(params) == 2, words
        case Tag.QUANTIZED:
            good = len(params) == 4
            numbers = b"".join(_uint(n, 4 if i % 2 else 1) for i, n in enumerate(params))
        case Tag.ARRAY | Tag.HANDLE | Tag.OPAQUE:
            good, numbers = len(params) == 1, words
        case _:
            good, numbers = not params, b""
    if not good or (element is not None) != (dtype.tag in ELEMENT_TAGS):
        raise WireError(f"type {dtype} lacks a part or has one too many", "give it its own parts")
    return bytes((dtype.tag,)) + inner + numbers


ELEMENT_TAGS = frozenset(
    {Tag.VEC, Tag.TENSOR_SHAPED, Tag.SPARSE_CSR, Tag.SPARSE_COO, Tag.SPARSE_BSR, Tag.QUANTIZED}
)
"""The types that hold another type."""


def _leb(value: int) -> bytes:
    """`value` in the fewest groups of seven bits, lowest first."""
    _check_uint(value, 8, "number")
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _u32(value: int, what: str = "number") -> bytes:
    return _uint(value, 4, what)


def _string(text: str) -> bytes:
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise WireError(
            f"name {text!r} is not Unicode text", "use a name without surrogates"
        ) from error
    if len(data) > MAX_STRING:
        raise WireError(
            f"name of {len(data)} bytes; the wire format allows {MAX_STRING}", "use a shorter name"
        )
    return _u32(len(data)) + data


def _optional_string(text: str | None) -> bytes:
    return b"\0" if text is None else b"\x01" + _string(text)


def _uint(value: int, size: int, what: str = "number") -> bytes:
    _check_uint(value, size, what)
    return value.to_bytes(size, "little")


def _check_uint(value: int, size: int, what: str) -> None:
    if not 0 <= value < 1 << 8 * size:
        raise WireError(
            f"{what} {value} does not fit in {8 * size} bits", f"use 0 to {(1 << 8 * size) - 1}"
        )


def _check_size(size: int) -> None:
    if size > MAX_BYTES:
        raise WireError(
            f"more than {MAX_BYTES} bytes; the wire format allows no more",
            "use loops, or split the program",
        )
