from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre import ir
from vyre.errors import WireError
from vyre.ir.encode import HEADER_BYTES, header
from vyre.ir.expr import BinaryOp, Expr, Lit, OpaqueExpr, Ordering, UnaryOp, Var
from vyre.ir.node import Node, OpaqueNode
from vyre.ir.types import SCALARS

U32, F32 = ir.DataType.U32, ir.DataType.F32
FIX = "Fix: decode bytes as Program.to_wire wrote them, whole and unchanged"
OUT = ir.BufferDecl.read_write("out", 0, U32).with_count(1)


def _load_fuzz_wire() -> ModuleType:
    path = Path(__file__).parents[2] / "scripts" / "fuzz_wire.py"
    spec = importlib.util.spec_from_file_location("fuzz_wire", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["fuzz_wire"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


fuzz_wire = _load_fuzz_wire()


def refusal(data: bytes) -> str:
    with pytest.raises(WireError) as caught:
        ir.from_wire(data)
    return str(caught.value)


def sealed(body: bytes) -> bytes:
    return header(body) + body


def patched(program: ir.Program, old: bytes, new: bytes) -> bytes:
    """The program's bytes with one place changed and the digest made to match."""
    body = program.to_wire()[HEADER_BYTES:]
    assert body.count(old) == 1, f"{body.count(old)} places"
    assert len(old) == len(new), "record lengths would not match"
    return sealed(body.replace(old, new))


def let(value: Expr) -> ir.Program:
    return ir.Program((), (1, 1, 1), (ir.let("here", value),))


def with_node(payload: bytes, op_id: bytes = b"vyre.node.let") -> bytes:
    """A program of one record, its payload as given."""
    meta = ir.Program.empty().to_wire()[HEADER_BYTES + 1 :]
    meta = meta[: meta.index(b"\x10vyre.node.region")]
    record = bytes((len(op_id),)) + op_id + _leb(len(payload)) + payload + b"\0"
    return sealed(b"\x02" + meta + record + b"\0\0")


def _leb(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes((value & 0x7F | 0x80,))
        value >>= 7
    return out + bytes((value,))


NAME = b"\x00\x01\x00\x00\x00x"  # let x


@pytest.mark.parametrize("program", fuzz_wire.programs())
def test_bytes_come_back_as_the_canonical_program_and_as_the_same_bytes(program: ir.Program):
    wire = program.to_wire()

    found = ir.from_wire(wire)

    assert found == program.canonical()
    assert found.buffers == program.canonical().buffers
    assert found.to_wire() == wire
    assert found.fingerprint() == program.fingerprint()


def literals() -> st.SearchStrategy[Expr]:
    return st.sampled_from(SCALARS).flatmap(
        lambda dtype: st.integers(0, 1 if dtype.is_bool else (1 << dtype.bits) - 1).map(
            lambda bits: Lit(dtype, bits)
        )
    )


def exprs() -> st.SearchStrategy[Expr]:
    names = st.text(max_size=4)
    leaf: st.SearchStrategy[Expr] = st.one_of(
        literals(),
        names.map(Var),
        names.map(ir.buf_len),
        st.builds(OpaqueExpr, names, st.binary(max_size=6)),
        st.builds(ir.extent, st.integers(0, 2)),
        st.builds(ir.gid, st.integers(0, 2)),
    )
    return st.recursive(
        leaf,
        lambda part: st.one_of(
            st.builds(ir.binary, st.sampled_from(BinaryOp), part, part),
            st.builds(ir.unary, st.sampled_from(UnaryOp), part),
            st.builds(ir.select, part, part, part),
            st.builds(ir.cast, st.sampled_from(SCALARS), part),
            st.builds(ir.bitcast, st.sampled_from(SCALARS), part),
            st.builds(ir.load, names, part),
            st.lists(part, max_size=3).map(lambda parts: ir.flat_index("b", *parts)),
            st.lists(part, max_size=3).map(lambda parts: ir.call("f", *parts)),
        ),
        max_leaves=12,
    )


EXPRS = exprs()


def nodes() -> st.SearchStrategy[Node]:
    names = st.text(max_size=4)
    leaf: st.SearchStrategy[Node] = st.one_of(
        st.builds(ir.let, names, EXPRS),
        st.builds(ir.yield_, EXPRS),
        st.builds(ir.store, names, EXPRS, EXPRS),
        st.builds(OpaqueNode, names, st.binary(max_size=6)),
        st.builds(ir.barrier, st.sampled_from(Ordering)),
        st.sampled_from([ir.return_(), ir.break_(), ir.continue_()]),
    )
    return st.recursive(
        leaf,
        lambda part: st.one_of(
            st.lists(part, max_size=3).map(ir.block),
            st.builds(ir.region, names, st.lists(part, max_size=3), st.none() | names),
            st.builds(ir.if_, EXPRS, st.lists(part, max_size=3), st.lists(part, max_size=3)),
            st.builds(ir.while_, EXPRS, st.lists(part, max_size=3)),
            st.builds(
                ir.reduce_,
                names,
                st.sampled_from(ir.ReduceOp),
                st.sampled_from(fuzz_wire.TYPES),
                names,
                rounds=EXPRS,
                body=st.lists(part, max_size=3),
            ),
            st.builds(ir.loop, names, EXPRS, EXPRS, st.lists(part, max_size=3)),
        ),
        max_leaves=6,
    )


NODES = nodes()


@st.composite
def programs(draw: st.DrawFn) -> ir.Program:
    elements = st.sampled_from(fuzz_wire.TYPES)
    buffers = [
        replace(
            ir.BufferDecl.storage(
                draw(st.text(max_size=3)), draw(st.integers(0, 9)), draw(access), draw(elements)
            ),
            count=draw(st.integers(1, 1000)),
            is_output=draw(st.booleans()),
            live_out=draw(st.booleans()),
            hints=ir.Hints(coalesce_axis=draw(st.none() | st.integers(0, 255))),
            shape=draw(st.sampled_from([(), (2, 3), (0, 0, 0)])),
        )
        for access in [st.sampled_from(ir.Access)] * draw(st.integers(0, 4))
    ]
    return ir.Program(
        tuple(buffers),
        (draw(st.integers(1, 1024)), 1, 1),
        tuple(draw(st.lists(NODES, max_size=3))),
        draw(st.none() | st.text(max_size=5)),
        draw(st.booleans()),
        ir.Options(
            fast_math=draw(st.booleans()),
            unique_writes=tuple(draw(st.lists(st.text(max_size=3), max_size=2))),
        ),
    )


@given(programs())
def test_every_program_comes_back_from_its_bytes(program: ir.Program):
    wire = program.to_wire()

    found = ir.from_wire(wire)

    assert found == program.canonical()
    assert found.to_wire() == wire


@given(st.binary(max_size=300))
def test_any_body_with_a_right_digest_is_a_program_or_a_wire_error(body: bytes):
    try:
        program = ir.from_wire(sealed(body))
    except WireError:
        return
    assert fuzz_wire.comes_back(program)


def test_damaged_programs_decode_or_are_refused():
    """A share of scripts/fuzz_wire.py."""
    outcome = fuzz_wire.fuzz(3_000, seed=2)

    assert outcome.failures == []
    assert outcome.decoded > 100
    assert outcome.refused > 2_000


def test_unknown_extensions_are_kept_byte_for_byte():
    expr, node = OpaqueExpr("not.ours", b"\0\xff"), OpaqueNode("vyre.py.later", b"\x01")
    program = ir.Program((), (1, 1, 1), (ir.let("x", expr), node))

    assert ir.from_wire(program.to_wire()).entry == (ir.let("x", expr), node)


def test_a_program_that_is_not_canonical_decodes_as_it_stands():
    """Negative zero under the native tag is how vyre itself would have written it."""
    body = with_node(NAME + b"\x0f\0\0\0\x80")

    assert ir.from_wire(body).entry == (ir.let("x", ir.f32(-0.0)),)
    assert ir.from_wire(ir.from_wire(body).to_wire()).entry == (ir.let("x", ir.f32(-0.0)),)


EMPTY = ir.Program.empty().to_wire()


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "starts with b'', not with b'VYRE'"),
        (b"ELF!" + EMPTY[4:], "starts with b'ELF!', not with b'VYRE'"),
        (EMPTY[:39], "39 bytes; the header alone has 40"),
        (EMPTY[:6] + b"\x05\0" + EMPTY[8:], "header flags 0x5; revision 4 has 0x4"),
        (EMPTY[:-1], "the body does not match its digest"),
        (EMPTY + b"\0", "the body does not match its digest"),
        (bytes((1 << 26) + 1), "67108865 bytes; a program has at most 67108864"),
    ],
)
def test_a_wrong_header_is_refused(data: bytes, problem: str):
    assert refusal(data) == f"{problem}\n{FIX}"


def test_another_revision_is_refused_by_name():
    assert refusal(EMPTY[:4] + b"\x06\0" + EMPTY[6:]) == (
        "wire revision 6; this reads revision 4\nFix: write the program with revision 4"
    )


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (sealed(b""), "byte 40: records of 1 bytes; 0 are left"),
        (sealed(b"\0"), "byte 41: no metadata record"),
        (sealed(b"\x82\0"), "byte 42: records written longer than needed"),
        (sealed(b"\xff" * 12), "byte 50: records above 1000002"),
        (sealed(EMPTY[40:] + b"\0"), "byte 137: 1 bytes too many after the program"),
        (sealed(b"\x01\x01x\0\0"), "byte 44: record 'x' does not hold what it says"),
        (
            patched(ir.Program.empty(), b"\x15vyre.program", b"\x7fvyre.program"),
            "byte 42: record id of 127 bytes; 95 are left",
        ),
        (
            patched(ir.Program.empty(), b"VYRE-META", b"VYRE-BETA"),
            "byte 73: metadata without its magic",
        ),
        (
            patched(ir.Program.empty(), b"META\0", b"META\2"),
            "byte 74: flag of operation id 2, not 0 or 1",
        ),
    ],
)
def test_damage_is_refused_with_its_place(data: bytes, problem: str):
    assert refusal(data) == f"{problem}\n{FIX}"


def test_a_record_id_that_is_not_text_is_refused():
    place = HEADER_BYTES + 1 + 48 + 1 + 11  # behind the count, the metadata record and the id

    data = with_node(b"\x05", b"vyre.node.\xff")
    assert refusal(data) == f"byte {place}: record id is not UTF-8\n{FIX}"


LIT = b"\x80\x0b\0\0\0vyre.py.lit"
ID = b"\x80\x0a\0\0\0vyre.py.id"
OPTIONS = b"\x80\x0f\0\0\0vyre.py.options\x09\0\0\0"


@pytest.mark.parametrize(
    ("payload", "place", "problem"),
    [
        (b"\x16", 1, "unknown expression tag 0x16"),
        (b"\x02\x02", 2, "literal 2, not 0 or 1"),
        (b"\x06\x03", 2, "axis 3 of gid"),
        (b"\x09\x22", 2, "unknown operator 0x22"),
        (b"\x09\x80\x01\0\0\0", 6, "unknown extended operator 0x1"),
        (b"\x0a\x80\x0a\0\0\x80", 6, "unknown extended operator 0x8000000a"),
        (b"\x09", 1, "operator of 1 bytes; 0 are left"),
        (b"\x0a\x25", 2, "unknown operator 0x25"),
        (b"\x0d\x20", 2, "unknown type 0x20"),
        (b"\x0d" + b"\x16" * 20, 18, "type nested deeper than 16"),
        (b"\x0d\x1e\xff\xff\xff\0", 6, "16777215 axes in 0 bytes"),
        (b"\x0e\x0c", 2, "unknown atomic 0x0c"),
        (b"\x03\xff\xff\xff\xff", 5, "name of 4294967295 bytes; 1048576 allowed"),
        (b"\x03\xff\0\0\0", 5, "name of 255 bytes; 0 are left"),
        (b"\x03\x01\0\0\0\xff", 6, "name is not UTF-8"),
        (b"\x0b\0\0\0\0\x01\x10\0\0", 9, "4097 arguments; 4096 allowed"),
        (b"\x0b\0\0\0\0\xff\x0f\0\0", 9, "4095 arguments in 0 bytes"),
        (b"\x14\x14", 1, "1 bytes too many after a statement"),
        (LIT + b"\x02\0\0\0\x06\x01", 21, "an extended literal of type bool"),
        (LIT + b"\x01\0\0\0\x0d", 21, "an extended literal of type tensor"),
        (
            LIT + b"\x05\0\0\0\x01\0\0\0\0",
            25,
            "an extended literal of type u32 that has a tag of its own",
        ),
        (
            LIT + b"\x03\0\0\0\x0e\0\0",
            22,
            "1 bytes too many after extension 'vyre.py.lit'",
        ),
        (ID + b"\x02\0\0\0\x02\0", 20, "unknown code 2 of a launch size"),
        (ID + b"\x02\0\0\0\0\x03", 21, "axis 3 of extent"),
        (ID + b"\x09\0\0\0\0\0", 19, "payload of 9 bytes; 2 are left"),
    ],
)
def test_a_damaged_expression_is_refused_with_its_place(payload: bytes, place: int, problem: str):
    data = with_node(NAME + payload)

    assert refusal(data) == f"byte {data.index(payload) + place}: {problem}\n{FIX}"


@pytest.mark.parametrize(
    ("op_id", "payload", "place", "problem"),
    [
        (b"let", b"\x13", 0, "record 'vyre.node.let' does not hold what it says"),
        (b"let", b"\x01", 0, "record 'vyre.node.let' does not hold what it says"),
        (b"block", b"\x06\x01\0\0\0\x13", 6, "unknown statement tag 0x13"),
        (b"block", b"\x06\x41\x42\x0f\0", 5, "1000001 statements; 1000000 allowed"),
        (b"block", b"\x06\x09\0\0\0", 5, "9 statements in 0 bytes"),
        (b"barrier", b"\x07\x06", 2, "unknown ordering 0x06"),
        (b"return", b"\x05\x05", 1, "1 bytes too many after a statement"),
        (b"opaque", OPTIONS + bytes(9), 33, "a record of options that says nothing"),
        (
            b"block",
            b"\x06\x01\0\0\0" + OPTIONS + b"\x01" + bytes(8),
            29,
            "options that are not the last record",
        ),
        (
            b"block",
            b"\x06\x01\0\0\0" * 200 + b"\x05",
            1000,
            "statements and expressions nest deeper than 200",
        ),
        (
            b"let",
            NAME + b"\x0a\x01" * 199 + b"\x14",
            404,
            "statements and expressions nest deeper than 200",
        ),
    ],
)
def test_a_damaged_statement_is_refused_with_its_place(
    op_id: bytes, payload: bytes, place: int, problem: str
):
    data = with_node(payload, b"vyre.node." + op_id)

    start = len(data) - len(b"\0" + b"\0\0") - len(payload)
    assert refusal(data) == f"byte {start + place}: {problem}\n{FIX}"


def test_too_many_statements_at_the_top_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("vyre.ir.decode.MAX_NODES", 3)
    most = ir.Program((), (1, 1, 1), (ir.return_(),) * 3, options=ir.Options(fast_math=True))
    one_more = ir.Program((), (1, 1, 1), (ir.return_(),) * 4)

    assert ir.from_wire(most.to_wire()) == most
    assert refusal(one_more.to_wire()).endswith(f": 4 statements in one list; 3 allowed\n{FIX}")


SHAPED = ir.Program(
    (replace(OUT, shape=(1, 1)), ir.BufferDecl.read("x", 1, F32)),
    (1, 1, 1),
    (),
    options=ir.Options(unique_writes=("x",)),
)
# buffers are sorted by name length, so "x" is buffer 0 and "out" buffer 1
SHAPE = b"\x01\0\0\0\x01\0\0\0\x02\x01\0\0\0\x01\0\0\0"


def test_a_shape_for_a_buffer_that_is_not_there_is_refused():
    data = patched(SHAPED, SHAPE, SHAPE.replace(b"\x01\0\0\0\x02", b"\x09\0\0\0\x02"))

    assert refusal(data).endswith(f"a shape for buffer 9 of 2\n{FIX}")


def test_a_shape_of_another_rank_is_refused():
    data = patched(SHAPED, SHAPE, SHAPE.replace(b"\x02", b"\x05"))

    assert refusal(data).endswith(f"shape of rank 5 for buffer 1\n{FIX}")


ONE = ir.Program((OUT,), (1, 1, 1), ())
TABLE = b"\x01\x00\x00\x01\x01\x00\x01\x01\x06\x00\x00\x00\x00\x00\x01\x01\x00"


@pytest.mark.parametrize(
    ("at", "byte", "problem"),
    [
        (0, 2, "the region table does not have 1 entries"),
        (1, 1, "region 0 has another index"),
        (2, 7, "unknown memory kind 0x07"),
        (3, 5, "unknown access 0x05"),
        (3, 0, "the output set is not [], the buffers that can be written"),
        (4, 0, "unknown type 0x00"),
        (5, 1, "the reserved byte of a region is not 0"),
        (7, 2, "region 0 disagrees with the metadata of buffer 'out'"),
        (10, 1, "region 0 disagrees with the metadata of buffer 'out'"),
        (14, 3, "unknown locality 0x03"),
        (15, 0, "the output set is not [0], the buffers that can be written"),
        (16, 1, "the output set is not [0], the buffers that can be written"),
    ],
)
def test_a_region_table_that_disagrees_with_the_rest_is_refused(at: int, byte: int, problem: str):
    table = bytearray(TABLE)
    table[at] = byte

    message = refusal(patched(ONE, TABLE, bytes(table)))
    assert message.split(": ", 1)[1] == f"{problem}\n{FIX}"


def test_declarations_that_cannot_be_written_cannot_be_read():
    zero = b"VYRE-META\0\x00\0\0\0"

    assert refusal(patched(ONE, b"VYRE-META\0\x01\0\0\0", zero)) == (
        "workgroup size (0, 1, 1) has an axis below 1\nFix: give every axis at least 1"
    )
