"""Canonical bytes -> Program; whatever the bytes are, the answer is a program or a WireError."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeVar

from blake3 import blake3

from vyre.errors import InvalidInput, WireError
from vyre.ir.declare import (
    MOST_AXES,
    Access,
    BufferDecl,
    Hints,
    Locality,
    MemoryKind,
    Named,
    Options,
)
from vyre.ir.encode import (
    ELEMENT_TAGS,
    FLAGS,
    HEADER_BYTES,
    ID_TAGS,
    LITERAL_TAGS,
    MAGIC,
    MAX_ARGS,
    MAX_BUFFERS,
    MAX_BYTES,
    MAX_NODES,
    MAX_STRING,
    MAX_TYPE_DEPTH,
    METADATA_MAGIC,
    METADATA_OP_ID,
    OP_IDS,
    VERSION,
    check_declarations,
)
from vyre.ir.expr import (
    Array,
    Atomic,
    AtomicOp,
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
    Ordering,
    Put,
    Select,
    Subgroup,
    SubgroupOp,
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
    CollectiveOp,
    Continue,
    If,
    IndirectDispatch,
    Let,
    Loop,
    Node,
    OpaqueNode,
    Print,
    Reduce,
    ReduceOp,
    ReduceScatter,
    Region,
    Resume,
    Return,
    Store,
    Trap,
    While,
    Yield,
)
from vyre.ir.program import Program
from vyre.ir.types import DataType, Tag
from vyre.ir.walk import MAX_DEPTH

_FIX = "decode bytes as Program.to_wire wrote them, whole and unchanged"


def from_wire(data: bytes) -> Program:
    """The program that `data` spells; its own bytes are `data` again where `data` is canonical.

    Raises:
        WireError: the bytes are not a program, at the place and for the reason it says.
    """
    data = bytes(data)
    _check_header(data)
    reader = _Reader(data, HEADER_BYTES, len(data))
    records = reader.leb(MAX_NODES + 2, "records")
    if records < 1:
        raise reader.error("no metadata record")
    meta = _metadata(_record(reader, METADATA_OP_ID))
    entry: list[Node] = []
    extras: _Extras | None = None
    for index in range(records - 1):
        node = _top_level(reader, is_last=index == records - 2)
        if isinstance(node, _Extras):
            extras = node
        else:
            entry.append(node)
    if len(entry) > MAX_NODES:
        raise reader.error(f"{len(entry)} statements in one list; {MAX_NODES} allowed")
    buffers = _regions(reader, meta.buffers)
    _output_set(reader, buffers)
    reader.finish("the program")
    if extras is not None:
        buffers = _shaped(reader, buffers, extras.shapes)
    program = Program(
        buffers,
        meta.workgroup_size,
        tuple(entry),
        meta.entry_op_id,
        meta.non_composable,
        Options() if extras is None else extras.options,
    )
    check_declarations(program)
    return program


def _check_header(data: bytes) -> None:
    if len(data) > MAX_BYTES:
        raise WireError(f"{len(data)} bytes; a program has at most {MAX_BYTES}", _FIX)
    if data[:4] != MAGIC:
        raise WireError(f"starts with {data[:4]!r}, not with {MAGIC!r}", _FIX)
    if len(data) < HEADER_BYTES:
        raise WireError(f"{len(data)} bytes; the header alone has {HEADER_BYTES}", _FIX)
    version = int.from_bytes(data[4:6], "little")
    if version != VERSION:
        raise WireError(
            f"wire revision {version}; this reads revision {VERSION}",
            f"write the program with revision {VERSION}",
        )
    flags = int.from_bytes(data[6:8], "little")
    if flags != FLAGS:
        raise WireError(f"header flags {flags:#x}; revision {VERSION} has {FLAGS:#x}", _FIX)
    if blake3(memoryview(data)[HEADER_BYTES:]).digest() != data[8:HEADER_BYTES]:
        raise WireError("the body does not match its digest", _FIX)


_Choice = TypeVar("_Choice", bound=Enum)


class _Reader:
    """A window of the bytes, read from front to back."""

    __slots__ = ("at", "data", "end")

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self.data, self.at, self.end = data, at, end

    def error(self, problem: str) -> WireError:
        return WireError(f"byte {self.at}: {problem}", _FIX)

    def take(self, size: int, what: str) -> bytes:
        if size > self.end - self.at:
            raise self.error(f"{what} of {size} bytes; {self.end - self.at} are left")
        self.at += size
        return self.data[self.at - size : self.at]

    def uint(self, size: int, what: str) -> int:
        return int.from_bytes(self.take(size, what), "little")

    def u8(self, what: str) -> int:
        return self.uint(1, what)

    def u32(self, what: str) -> int:
        return self.uint(4, what)

    def flag(self, what: str) -> bool:
        value = self.u8(what)
        if value > 1:
            raise self.error(f"{what} {value}, not 0 or 1")
        return value == 1

    def leb(self, most: int, what: str) -> int:
        """A number of at most `most`, in no more groups of seven bits than it needs."""
        value = 0
        for shift in range(0, 70, 7):
            byte = self.u8(what)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if byte == 0 and shift:
                    raise self.error(f"{what} written longer than needed")
                if value > most:
                    break
                return value
        raise self.error(f"{what} above {most}")

    def count(self, most: int, what: str) -> int:
        """A u32 number of things that take a byte each at least."""
        value = self.u32(f"number of {what}")
        if value > most:
            raise self.error(f"{value} {what}; {most} allowed")
        if value > self.end - self.at:
            raise self.error(f"{value} {what} in {self.end - self.at} bytes")
        return value

    def text(self, size: int, what: str) -> str:
        if size > MAX_STRING:
            raise self.error(f"{what} of {size} bytes; {MAX_STRING} allowed")
        try:
            return self.take(size, what).decode()
        except UnicodeDecodeError as error:
            raise self.error(f"{what} is not UTF-8") from error

    def string(self, what: str) -> str:
        return self.text(self.u32(f"length of {what}"), what)

    def optional_string(self, what: str) -> str | None:
        return self.string(what) if self.flag(f"flag of {what}") else None

    def choice(self, kind: type[_Choice], what: str) -> _Choice:
        value = self.u8(what)
        try:
            return kind(value)
        except ValueError as error:
            raise self.error(f"unknown {what} {value:#04x}") from error

    def window(self, size: int, what: str) -> _Reader:
        """The next `size` bytes as a reader of their own; this one goes on behind them."""
        if size > self.end - self.at:
            raise self.error(f"{what} of {size} bytes; {self.end - self.at} are left")
        self.at += size
        return _Reader(self.data, self.at - size, self.at)

    def finish(self, what: str) -> None:
        if self.at != self.end:
            raise self.error(f"{self.end - self.at} bytes too many after {what}")


@dataclass(frozen=True, slots=True)
class _Meta:
    """The metadata record; its buffers lack what the region table adds."""

    entry_op_id: str | None
    workgroup_size: tuple[int, int, int]
    non_composable: bool
    buffers: tuple[BufferDecl, ...]


@dataclass(frozen=True, slots=True)
class _Extras:
    """The record of options and shapes."""

    options: Options
    shapes: tuple[tuple[int, tuple[int, ...]], ...]


def _record(reader: _Reader, op_id: str | None = None) -> _Reader:
    """The payload of the next record, whose id must be `op_id`, or that of its statement's tag."""
    found = reader.text(reader.leb(MAX_STRING, "length of record id"), "record id")
    payload = reader.window(reader.leb(MAX_BYTES, "record length"), "record")
    if reader.leb(MAX_BYTES, "operand count") != 0:
        raise reader.error("a record with operands")
    if op_id is None and payload.at < payload.end:
        op_id = OP_IDS.get(payload.data[payload.at])
    if found != op_id:
        raise payload.error(f"record {found!r} does not hold what it says")
    return payload


def _metadata(reader: _Reader) -> _Meta:
    if reader.take(len(METADATA_MAGIC), "metadata magic") != METADATA_MAGIC:
        raise reader.error("metadata without its magic")
    op_id = reader.optional_string("operation id")
    x, y, z = (reader.u32("workgroup size") for _ in range(3))
    non_composable = reader.flag("non-composable flag")
    count = reader.leb(MAX_BUFFERS, "number of buffers")
    buffers = tuple(_declared(reader) for _ in range(count))
    reader.finish("the metadata")
    return _Meta(op_id, (x, y, z), non_composable, buffers)


def _declared(reader: _Reader) -> BufferDecl:
    return BufferDecl(
        name=reader.string("buffer name"),
        binding=reader.u32("binding"),
        count=reader.u32("count"),
        is_output=reader.flag("output flag"),
        live_out=reader.flag("live-out flag"),
        output_range=_range(reader),
        hints=_hints(reader),
        # the region table tells these
        access=Access.READ_ONLY,
        kind=MemoryKind.READONLY,
        element=DataType.U32,
    )


def _range(reader: _Reader) -> tuple[int, int] | None:
    if not reader.flag("range flag"):
        return None
    most = (1 << 64) - 1
    return reader.leb(most, "start of range"), reader.leb(most, "end of range")


def _hints(reader: _Reader) -> Hints:
    axis = reader.u8("coalesce axis") if reader.flag("axis flag") else None
    alignment = reader.u32("alignment")
    return Hints(
        coalesce_axis=axis, alignment=alignment, locality=reader.choice(Locality, "locality")
    )


def _regions(reader: _Reader, declared: tuple[BufferDecl, ...]) -> tuple[BufferDecl, ...]:
    if reader.leb(MAX_BUFFERS, "number of regions") != len(declared):
        raise reader.error(f"the region table does not have {len(declared)} entries")
    return tuple(_region(reader, index, decl) for index, decl in enumerate(declared))


def _region(reader: _Reader, index: int, decl: BufferDecl) -> BufferDecl:
    if reader.leb(MAX_BUFFERS, "region index") != index:
        raise reader.error(f"region {index} has another index")
    kind = reader.choice(MemoryKind, "memory kind")
    access = reader.choice(Access, "access")
    tag = reader.choice(Tag, "type")
    if reader.u8("reserved byte") != 0:
        raise reader.error("the reserved byte of a region is not 0")
    shape = reader.window(reader.leb(MAX_BYTES, "length of shape"), "shape")
    count = shape.leb(0xFFFF_FFFF, "count")
    if tag in (Tag.ARRAY, Tag.HANDLE, Tag.OPAQUE):
        element = DataType(tag, None, (shape.leb(0xFFFF_FFFF, "type parameter"),))
    else:
        element = _dtype_of(shape, tag, 1)
    shape.finish("a shape")
    hints = reader.window(reader.leb(MAX_BYTES, "length of hints"), "hints")
    if count != decl.count or _hints(hints) != decl.hints:
        raise reader.error(f"region {index} disagrees with the metadata of buffer {decl.name!r}")
    hints.finish("hints")
    return replace(decl, kind=kind, access=access, element=element)


def _output_set(reader: _Reader, buffers: tuple[BufferDecl, ...]) -> None:
    written = [index for index, decl in enumerate(buffers) if decl.is_written]
    count = reader.leb(MAX_BUFFERS, "number of outputs")
    if [reader.leb(MAX_BUFFERS, "output index") for _ in range(count)] != written:
        raise reader.error(f"the output set is not {written}, the buffers that can be written")


def _top_level(reader: _Reader, *, is_last: bool) -> Node | _Extras:
    payload = _record(reader)
    start = payload.at
    is_extension = payload.u8("statement tag") == EXTENSION_TAG
    if is_extension and is_last and payload.string("extension kind") == NodeExtension.OPTIONS:
        inner = payload.window(payload.u32("payload length"), "payload")
        payload.finish("the options")
        return _options(inner)
    payload.at = start
    node = _node(payload, 1)
    payload.finish("a statement")
    return node


def _options(reader: _Reader) -> _Extras:
    fast_math = reader.flag("fast_math")
    names = reader.count(MAX_BUFFERS, "names in unique_writes")
    unique = tuple(reader.string("name in unique_writes") for _ in range(names))
    shapes: list[tuple[int, tuple[int, ...]]] = []
    for _ in range(reader.count(MAX_BUFFERS, "shapes")):
        index = reader.u32("buffer index")
        rank = reader.u8("rank")
        if not 2 <= rank <= MOST_AXES or (shapes and index <= shapes[-1][0]):
            raise reader.error(f"shape of rank {rank} for buffer {index}")
        shapes.append((index, tuple(reader.u32("extent") for _ in range(rank))))
    among: tuple[Named, ...] = ()
    if reader.at != reader.end:
        count = reader.count(MAX_BUFFERS, "workgroups")
        among = tuple(_named(reader) for _ in range(count))
        if not among:
            raise reader.error("no workgroups where some are named")
    reader.finish("the options")
    options = Options(fast_math=fast_math, unique_writes=unique, among=among)
    if options == Options() and not shapes:
        raise reader.error("a record of options that says nothing")
    return _Extras(options, tuple(shapes))


def _named(reader: _Reader) -> Named:
    x, y, z = (reader.u32("workgroup") for _ in range(3))
    found: list[tuple[str, tuple[int, ...]]] = []
    for _ in range(reader.count(MAX_BUFFERS, "arrays of a workgroup")):
        name, rank = reader.string("name of an array"), reader.u8("rank")
        if not 1 <= rank <= 3:
            raise reader.error(f"{rank} extents of {name!r}")
        found.append((name, tuple(reader.u32("extent") for _ in range(rank))))
    return Named((x, y, z), tuple(found))


def _shaped(
    reader: _Reader,
    buffers: tuple[BufferDecl, ...],
    shapes: tuple[tuple[int, tuple[int, ...]], ...],
) -> tuple[BufferDecl, ...]:
    out = list(buffers)
    for index, shape in shapes:
        if index >= len(out):
            raise reader.error(f"a shape for buffer {index} of {len(out)}")
        out[index] = replace(out[index], shape=shape)
    return tuple(out)


# The readers below call each other at most three frames deep per level of nesting, so MAX_DEPTH
# levels stay within Python's stack. Plain loops, since a comprehension is a frame of its own.


def _nodes(reader: _Reader, depth: int) -> tuple[Node, ...]:
    nodes: list[Node] = []
    for _ in range(reader.count(MAX_NODES, "statements")):
        nodes.append(_node(reader, depth))  # noqa: PERF401  # see above
    return tuple(nodes)


def _args(reader: _Reader, depth: int) -> tuple[Expr, ...]:
    args: list[Expr] = []
    for _ in range(reader.count(MAX_ARGS, "arguments")):
        args.append(_expr(reader, depth))  # noqa: PERF401  # see above
    return tuple(args)


def _node(reader: _Reader, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise reader.error(f"statements and expressions nest deeper than {MAX_DEPTH}")
    inner = depth + 1
    match reader.u8("statement tag"):
        case 0:
            return Let(reader.string("name"), _expr(reader, inner))
        case 1:
            return Assign(reader.string("name"), _expr(reader, inner))
        case 2:
            return Store(reader.string("buffer"), _expr(reader, inner), _expr(reader, inner))
        case 3:
            return If(_expr(reader, inner), _nodes(reader, inner), _nodes(reader, inner))
        case 4:
            name = reader.string("name")
            start, stop = _expr(reader, inner), _expr(reader, inner)
            return Loop(name, start, stop, _nodes(reader, inner))
        case 5:
            return _RETURN
        case 6:
            return Block(_nodes(reader, inner))
        case 7:
            return Barrier(reader.choice(Ordering, "ordering"))
        case 8:
            return IndirectDispatch(reader.string("buffer"), reader.uint(8, "offset"))
        case (9 | 12) as tag:
            source, destination = reader.string("source"), reader.string("destination")
            offset, size = _expr(reader, inner), _expr(reader, inner)
            token = reader.string("token")
            return AsyncCopy(tag == 12, source, destination, offset, size, token)
        case 10:
            return AsyncWait(reader.string("token"))
        case 11:
            generator = reader.string("generator")
            source_region = reader.optional_string("source region")
            return Region(generator, _nodes(reader, inner), source_region)
        case 13:
            return Trap(_expr(reader, inner), reader.string("token"))
        case 14:
            return Resume(reader.string("token"))
        case 15:
            name = reader.string("buffer")
            return AllReduce(name, reader.choice(CollectiveOp, "collective"), reader.u32("group"))
        case 16:
            source, destination = reader.string("source"), reader.string("destination")
            return AllGather(source, destination, reader.u32("group"))
        case 17:
            source, destination = reader.string("source"), reader.string("destination")
            op = reader.choice(CollectiveOp, "collective")
            return ReduceScatter(source, destination, op, reader.u32("group"))
        case 18:
            return Broadcast(reader.string("buffer"), reader.u32("root"), reader.u32("group"))
        case 0x80:
            return _node_extension(reader, inner)
        case tag:
            raise reader.error(f"unknown statement tag {tag:#04x}")


def _node_extension(reader: _Reader, depth: int) -> Node:
    kind = reader.string("extension kind")
    payload = reader.window(reader.u32("payload length"), "payload")
    node: Node
    match kind:
        case NodeExtension.WHILE:
            node = While(_expr(payload, depth), _nodes(payload, depth))
        case NodeExtension.BREAK:
            node = _BREAK
        case NodeExtension.CONTINUE:
            node = _CONTINUE
        case NodeExtension.REDUCE:
            name = payload.string("name")
            op, dtype = payload.choice(ReduceOp, "reduction"), _dtype(payload, 1)
            var, rounds = payload.string("counter"), _expr(payload, depth)
            node = Reduce(name, op, dtype, var, rounds, _nodes(payload, depth))
        case NodeExtension.YIELD:
            node = Yield(_expr(payload, depth))
        case NodeExtension.PRINT:
            node = _printed(payload, depth)
        case NodeExtension.OPTIONS:
            raise payload.error("options that are not the last record")
        case _:
            node = OpaqueNode(kind, payload.take(payload.end - payload.at, "payload"))
    payload.finish(f"extension {kind!r}")
    return node


def _expr(reader: _Reader, depth: int) -> Expr:
    if depth > MAX_DEPTH:
        raise reader.error(f"statements and expressions nest deeper than {MAX_DEPTH}")
    inner = depth + 1
    match reader.u8("expression tag"):
        case (0 | 1 | 15) as tag:
            return Lit(_LITERAL_TYPES[tag], reader.u32("literal"))
        case 2:
            return _BOOLS[reader.flag("literal")]
        case 3:
            return Var(reader.string("name"))
        case 4:
            return Load(reader.string("buffer"), _expr(reader, inner))
        case 5:
            return BufLen(reader.string("buffer"))
        case (6 | 7 | 8) as tag:
            return _id(reader, _ID_KINDS[tag])
        case 9:
            op = _operator(reader, BinaryOp, _BINARY_OPS)
            return Binary(op, _expr(reader, inner), _expr(reader, inner))
        case 10:
            return Unary(_operator(reader, UnaryOp, _UNARY_OPS), _expr(reader, inner))
        case 11:
            return Call(reader.string("operation id"), _args(reader, inner))
        case 12:
            return Select(_expr(reader, inner), _expr(reader, inner), _expr(reader, inner))
        case 13:
            return Cast(_dtype(reader, 1), _expr(reader, inner))
        case 14:
            atomic = reader.choice(AtomicOp, "atomic")
            ordering = reader.choice(Ordering, "ordering")
            buffer, index = reader.string("buffer"), _expr(reader, inner)
            expected = _expr(reader, inner) if reader.flag("flag of expected") else None
            return Atomic(atomic, buffer, index, _expr(reader, inner), expected, ordering)
        case 16:
            return Fma(_expr(reader, inner), _expr(reader, inner), _expr(reader, inner))
        case (17 | 19) as tag:
            return Subgroup(SubgroupOp(tag), (_expr(reader, inner),))
        case 18:
            return Subgroup(SubgroupOp.SHUFFLE, (_expr(reader, inner), _expr(reader, inner)))
        case (20 | 21) as tag:
            return _LANES[tag]
        case 0x80:
            return _expr_extension(reader, inner)
        case tag:
            raise reader.error(f"unknown expression tag {tag:#04x}")


def _printed(reader: _Reader, depth: int) -> Print:
    count = reader.count(MAX_ARGS, "values")
    texts, values = [reader.string("text")], list[Expr]()
    dtypes, formats = list[DataType](), list[str]()
    for _ in range(count):
        dtypes.append(_dtype(reader, 1))
        values.append(_expr(reader, depth))
        formats.append(reader.string("format"))
        texts.append(reader.string("text"))
    return Print(tuple(texts), tuple(values), tuple(dtypes), tuple(formats))


def _expr_extension(reader: _Reader, depth: int) -> Expr:
    kind = reader.string("extension kind")
    payload = reader.window(reader.u32("payload length"), "payload")
    expr: Expr
    match kind:
        case ExprExtension.LIT:
            expr = _literal(payload)
        case ExprExtension.ID:
            code = payload.u8("code of a launch size")
            if code not in _SIZE_KINDS:
                raise payload.error(f"unknown code {code} of a launch size")
            expr = _id(payload, _SIZE_KINDS[code])
        case ExprExtension.FLAT_INDEX:
            expr = FlatIndex(payload.string("buffer"), _args(payload, depth))
        case ExprExtension.BUF_DIM:
            expr = BufDim(payload.string("buffer"), payload.u32("axis"))
        case ExprExtension.BITCAST:
            expr = Bitcast(_dtype(payload, 1), _expr(payload, depth))
        case ExprExtension.ARRAY:
            expr = _array(payload)
        case ExprExtension.ELEMENT:
            expr = Element(_expr(payload, depth), _args(payload, depth))
        case ExprExtension.PUT:
            expr = Put(_expr(payload, depth), _args(payload, depth), _expr(payload, depth))
        case _:
            expr = OpaqueExpr(kind, payload.take(payload.end - payload.at, "payload"))
    payload.finish(f"extension {kind!r}")
    return expr


def _literal(reader: _Reader) -> Lit:
    dtype = DataType(reader.choice(Tag, "type"))
    if not dtype.is_scalar or dtype.is_bool:
        raise reader.error(f"an extended literal of type {dtype}")
    lit = Lit(dtype, reader.uint(dtype.bits // 8, "literal"))
    if is_native_literal(lit):
        raise reader.error(f"an extended literal of type {dtype} that has a tag of its own")
    return lit


def _array(reader: _Reader) -> Array:
    dtype = DataType(reader.choice(Tag, "type"))
    shape = tuple(reader.u32("extent") for _ in range(reader.u8("rank")))
    data = reader.take(reader.end - reader.at, "elements")
    try:
        return Array(dtype, shape, data)
    except InvalidInput as error:
        raise reader.error(error.problem) from None


def _id(reader: _Reader, kind: IdKind) -> Id:
    axis = reader.u8("axis")
    if axis > 2:
        raise reader.error(f"axis {axis} of {kind.value}")
    return _IDS[kind, axis]


def _operator(reader: _Reader, kind: type[_Choice], extended: Mapping[int, _Choice]) -> _Choice:
    if reader.at < reader.end and reader.data[reader.at] != EXTENSION_TAG:
        return reader.choice(kind, "operator")
    reader.u8("operator")
    code = reader.u32("extended operator")
    op = extended.get(code)
    if op is None:
        raise reader.error(f"unknown extended operator {code:#x}")
    return op


def _dtype(reader: _Reader, depth: int) -> DataType:
    return _dtype_of(reader, reader.choice(Tag, "type"), depth)


def _dtype_of(reader: _Reader, tag: Tag, depth: int) -> DataType:
    """A type whose tag has been read: its element type, then its numbers."""
    if depth > MAX_TYPE_DEPTH:
        raise reader.error(f"type nested deeper than {MAX_TYPE_DEPTH}")
    element = _dtype(reader, depth + 1) if tag in ELEMENT_TAGS else None
    match tag:
        case Tag.VEC:
            widths: tuple[int, ...] = (1,)
        case Tag.TENSOR_SHAPED | Tag.DEVICE_MESH:
            widths = (4,) * reader.count(MAX_BYTES, "axes")
        case Tag.SPARSE_BSR:
            widths = (4, 4)
        case Tag.QUANTIZED:
            widths = (1, 4, 1, 4)
        case Tag.ARRAY | Tag.HANDLE | Tag.OPAQUE:
            widths = (4,)
        case _:
            return DataType(tag, element)
    return DataType(tag, element, tuple(reader.uint(size, "type parameter") for size in widths))


_LITERAL_TYPES = {tag: dtype for dtype, tag in LITERAL_TAGS.items()}
_ID_KINDS = {tag: kind for kind, tag in ID_TAGS.items()}
_SIZE_KINDS = {code: kind for kind, code in ID_CODES.items()}
_BINARY_OPS = {op.value: op for op in BINARY_OPS}
_UNARY_OPS = {op.value: op for op in UNARY_OPS}

# What a byte or two spell is made once and shared: 64 MiB of it would be gigabytes of objects.
_RETURN, _BREAK, _CONTINUE = Return(), Break(), Continue()
_BOOLS = {value: Lit.of(DataType.BOOL, value) for value in (False, True)}
_IDS = {(kind, axis): Id(kind, axis) for kind in IdKind for axis in range(3)}
_LANES = {op.value: Subgroup(op) for op in (SubgroupOp.LOCAL_ID, SubgroupOp.SIZE)}
