from __future__ import annotations

from dataclasses import replace

import pytest
from blake3 import blake3

from vyre import ir
from vyre.errors import WireError
from vyre.ir import encode as wire
from vyre.ir.expr import (
    Atomic,
    Binary,
    Call,
    Expr,
    Lit,
    OpaqueExpr,
    Subgroup,
    SubgroupOp,
    Unary,
    Var,
)
from vyre.ir.node import (
    AllGather,
    AllReduce,
    AsyncCopy,
    AsyncWait,
    Broadcast,
    CollectiveOp,
    IndirectDispatch,
    Node,
    OpaqueNode,
    ReduceScatter,
    Resume,
    Trap,
)
from vyre.ir.types import Tag

U32, F32, F64 = ir.DataType.U32, ir.DataType.F32, ir.DataType.F64
OUT = ir.BufferDecl.read_write("out", 0, U32).with_count(1)


def program(*entry: Node, buffers: tuple[ir.BufferDecl, ...] = (), **more: object) -> ir.Program:
    return replace(ir.Program(buffers, (1, 1, 1), entry), **more)  # type: ignore[arg-type]  # by name


def payload(node: Node) -> bytes:
    """The bytes of one statement, cut out of a program that holds nothing else."""
    data = program(node).to_wire()[40:]
    op_id = data.index(b"vyre.node.")
    start = op_id + data[op_id - 1]
    assert data[start] < 0x80, "a payload of up to 127 bytes"
    return data[start + 1 : start + 1 + data[start]]


def spelled(expr: Expr) -> bytes:
    return payload(ir.let("", expr))[5:]


def refusal(broken: ir.Program) -> str:
    with pytest.raises(WireError) as caught:
        broken.to_wire()
    return str(caught.value)


class TestGoldenVectors:
    def test_the_empty_program_is_137_known_bytes(self):
        data = ir.Program.empty().to_wire()

        body = (
            b"\x02"  # two records
            b"\x15vyre.program.metadata\x18VYRE-META\x00"
            b"\x01\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00"
            b"\x10vyre.node.region\x1b\x0b\x11\x00\x00\x00vyre.program.root\x00\x00\x00\x00\x00\x00"
            b"\x00\x00"  # no buffers, no outputs
        )
        assert len(data) == 137
        assert data == b"VYRE\x04\x00\x04\x00" + blake3(body).digest() + body

    def test_the_empty_program(self):
        found = ir.Program.empty().fingerprint().hex()

        assert found == "e9c73a19370c3ab436e0f4fb950b3c8fa366dd3f2779ab59e5a563cc75f7c2f6"

    def test_an_empty_program_of_another_workgroup(self):
        found = ir.Program.wrapped([], (64, 1, 1), []).fingerprint().hex()

        assert found == "d4d3dd011826abf09974279ffe53201c522208f0b87e2df67c86fa6edbdd37b8"

    def test_an_output_of_4096_elements(self):
        output = ir.BufferDecl.output("out", 0, U32).with_count(4096)

        found = ir.Program.wrapped([output], (32, 1, 1), []).fingerprint().hex()

        assert found == "16a3b5c250a06f7949bf3197d46c7695c79dee2530bdac2de479f64b1e9c8d7d"

    def test_a_store_of_42(self):
        """The vector that vyre pins in its own tests."""
        stores = ir.Program.wrapped([OUT], (1, 1, 1), [ir.store("out", 0, 42)])

        assert len(stores.to_wire()) == 194
        assert stores.fingerprint().hex() == (
            "c1f2ccf5754f0e561c767f6d6e2a847947d70e4bd0593b617d53f5aee5cc0428"
        )


X = b"\x01\x00\x00\x00x"
Y = b"\x01\x00\x00\x00y"
V = b"\x03\x01\x00\x00\x00v"
ONE = b"\x00\x01\x00\x00\x00"
v = Var("v")


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (ir.let("x", v), b"\x00" + X + V),
        (ir.assign("x", v), b"\x01" + X + V),
        (ir.store("x", 1, v), b"\x02" + X + ONE + V),
        (
            ir.if_(v, [ir.return_()], [ir.barrier(), ir.return_()]),
            b"\x03" + V + b"\x01\0\0\0\x05" + b"\x02\0\0\0\x07\x04\x05",
        ),
        (ir.loop("x", 1, v, [ir.return_()]), b"\x04" + X + ONE + V + b"\x01\0\0\0\x05"),
        (ir.block([ir.let("x", v)]), b"\x06\x01\0\0\0\x00" + X + V),
        (ir.barrier(ir.Ordering.GRID_SYNC), b"\x07\x05"),
        (IndirectDispatch("x", 258), b"\x08" + X + b"\x02\x01\0\0\0\0\0\0"),
        (AsyncCopy(False, "x", "y", ir.u32(1), v, "x"), b"\x09" + X + Y + ONE + V + X),
        (AsyncCopy(True, "x", "y", ir.u32(1), v, "x"), b"\x0c" + X + Y + ONE + V + X),
        (AsyncWait("x"), b"\x0a" + X),
        (ir.region("x", []), b"\x0b" + X + b"\0\0\0\0\0"),
        (ir.region("x", [], "y"), b"\x0b" + X + b"\x01" + Y + b"\0\0\0\0"),
        (Trap(v, "x"), b"\x0d" + V + X),
        (Resume("x"), b"\x0e" + X),
        (AllReduce("x", CollectiveOp.MAX, 2), b"\x0f" + X + b"\x03\x02\0\0\0"),
        (AllGather("x", "y", 2), b"\x10" + X + Y + b"\x02\0\0\0"),
        (ReduceScatter("x", "y", CollectiveOp.SUM, 2), b"\x11" + X + Y + b"\x01\x02\0\0\0"),
        (Broadcast("x", 3, 2), b"\x12" + X + b"\x03\0\0\0\x02\0\0\0"),
        (OpaqueNode("x", b"ab"), b"\x80" + X + b"\x02\0\0\0ab"),
        (
            ir.while_(v, [ir.return_()]),
            b"\x80\x0d\0\0\0vyre.py.while\x0b\0\0\0" + V + b"\x01\0\0\0\x05",
        ),
        (
            ir.reduce_("x", ir.ReduceOp.MIN, F32, "y", rounds=v, body=[ir.return_()]),
            b"\x80\x0e\0\0\0vyre.py.reduce\x17\0\0\0"
            + (X + b"\x03\x0b" + Y + V + b"\x01\0\0\0\x05"),
        ),
        (ir.yield_(v), b"\x80\x0d\0\0\0vyre.py.yield\x06\0\0\0" + V),
        (ir.break_(), b"\x80\x0d\0\0\0vyre.py.break\0\0\0\0"),
        (ir.continue_(), b"\x80\x10\0\0\0vyre.py.continue\0\0\0\0"),
    ],
)
def test_a_statement_is_its_tag_and_its_fields_in_order(node: Node, expected: bytes):
    assert payload(node) == expected


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (ir.u32(1), ONE),
        (ir.i32(-1), b"\x01\xff\xff\xff\xff"),
        (ir.bool_(True), b"\x02\x01"),
        (ir.f32(1.0), b"\x0f\0\0\x80\x3f"),
        (ir.f32(float("nan")), b"\x0f\0\0\xc0\x7f"),
        (v, V),
        (ir.load("x", v), b"\x04" + X + V),
        (ir.buf_len("x"), b"\x05" + X),
        (ir.gid(1), b"\x06\x01"),
        (ir.workgroup_id(2), b"\x07\x02"),
        (ir.local_id(0), b"\x08\x00"),
        (v - 1, b"\x09\x02" + V + ONE),
        (Binary(ir.BinaryOp.POW, v, v), b"\x09\x80\x03\0\0\x80" + V + V),
        (~v, b"\x0a\x02" + V),
        (Unary(ir.UnaryOp.ERFC, v), b"\x0a\x80\x09\0\0\x80" + V),
        (Call("x", (v, v)), b"\x0b" + X + b"\x02\0\0\0" + V + V),
        (ir.select(v, 1, v), b"\x0c" + V + ONE + V),
        (ir.cast(F32, v), b"\x0d\x0b" + V),
        (ir.atomic(ir.AtomicOp.ADD, "x", 1, v), b"\x0e\x01\x00" + X + ONE + b"\0" + V),
        (
            Atomic(ir.AtomicOp.COMPARE_EXCHANGE, "x", ir.u32(1), v, ir.u32(1), ir.Ordering.ACQ_REL),
            b"\x0e\x08\x03" + X + ONE + b"\x01" + ONE + V,
        ),
        (ir.fma(v, 1, v), b"\x10" + V + ONE + V),
        (Subgroup(SubgroupOp.ADD, (v,)), b"\x11" + V),
        (Subgroup(SubgroupOp.SHUFFLE, (v, ir.u32(1))), b"\x12" + V + ONE),
        (Subgroup(SubgroupOp.BALLOT, (v,)), b"\x13" + V),
        (Subgroup(SubgroupOp.LOCAL_ID), b"\x14"),
        (Subgroup(SubgroupOp.SIZE), b"\x15"),
        (OpaqueExpr("x", b"ab"), b"\x80" + X + b"\x02\0\0\0ab"),
        (ir.extent(2), b"\x80\x0a\0\0\0vyre.py.id\x02\0\0\0\x00\x02"),
        (ir.workgroup_size(1), b"\x80\x0a\0\0\0vyre.py.id\x02\0\0\0\x01\x01"),
        (
            ir.flat_index("x", v, 1),
            b"\x80\x12\0\0\0vyre.py.flat_index\x14\0\0\0" + X + b"\x02\0\0\0" + V + ONE,
        ),
        (ir.buf_dim("x", 1), b"\x80\x0f\0\0\0vyre.py.buf_dim\x09\0\0\0" + X + b"\x01\0\0\0"),
        (ir.bitcast(F32, v), b"\x80\x0f\0\0\0vyre.py.bitcast\x07\0\0\0\x0b" + V),
        (Lit(U32, 7), b"\x00\x07\0\0\0"),
        (ir.lit(ir.DataType.U8, 7), b"\x80\x0b\0\0\0vyre.py.lit\x02\0\0\0\x0e\x07"),
        (ir.lit(F64, 1.0), b"\x80\x0b\0\0\0vyre.py.lit\x09\0\0\0\x0c\0\0\0\0\0\0\xf0\x3f"),
        (ir.f32(-0.0), b"\x80\x0b\0\0\0vyre.py.lit\x05\0\0\0\x0b\0\0\0\x80"),
        (Lit(F32, 1), b"\x80\x0b\0\0\0vyre.py.lit\x05\0\0\0\x0b\x01\0\0\0"),
    ],
)
def test_an_expression_is_its_tag_and_its_fields_in_order(expr: Expr, expected: bytes):
    assert spelled(expr) == expected


TYPES = [
    (ir.DataType.array(300), b"\x08\x2c\x01\0\0", b"\xac\x02"),
    (ir.DataType(Tag.HANDLE, None, (5,)), b"\x13\x05\0\0\0", b"\x05"),
    (ir.DataType(Tag.OPAQUE, None, (128,)), b"\x80\x80\0\0\0", b"\x80\x01"),
    (ir.DataType.vec(F32, 4), b"\x14\x0b\x04", b"\x0b\x04"),
    (
        ir.DataType(Tag.TENSOR_SHAPED, F32, (2, 3)),
        b"\x15\x0b\x02\0\0\0\x02\0\0\0\x03\0\0\0",
        b"\x0b\x02\0\0\0\x02\0\0\0\x03\0\0\0",
    ),
    (ir.DataType(Tag.SPARSE_CSR, F32), b"\x16\x0b", b"\x0b"),
    (ir.DataType(Tag.SPARSE_COO, F32), b"\x17\x0b", b"\x0b"),
    (
        ir.DataType(Tag.SPARSE_BSR, F32, (8, 4)),
        b"\x18\x0b\x08\0\0\0\x04\0\0\0",
        b"\x0b\x08\0\0\0\x04\0\0\0",
    ),
    (
        ir.DataType(Tag.DEVICE_MESH, None, (2,)),
        b"\x1e\x01\0\0\0\x02\0\0\0",
        b"\x01\0\0\0\x02\0\0\0",
    ),
    (
        ir.DataType(Tag.QUANTIZED, ir.DataType.I8, (1, 2, 3, 4)),
        b"\x1f\x10\x01\x02\0\0\0\x03\x04\0\0\0",
        b"\x10\x01\x02\0\0\0\x03\x04\0\0\0",
    ),
    (ir.DataType.BF16, b"\x0a", b""),
]


@pytest.mark.parametrize(("dtype", "in_a_cast", "in_the_table"), TYPES)
def test_a_type_is_spelled_in_casts_and_in_the_region_table(
    dtype: ir.DataType, in_a_cast: bytes, in_the_table: bytes
):
    buffer = ir.BufferDecl.read("x", 0, dtype).with_count(300)

    table = program(buffers=(buffer,)).to_wire()
    shape = b"\xac\x02" + in_the_table
    hints = b"\x00\x00\x00\x00\x00\x01"
    assert spelled(ir.cast(dtype, v)) == b"\x0d" + in_a_cast + V
    assert table.endswith(
        bytes((1, 0, 4, 0, dtype.tag, 0, len(shape))) + shape + b"\x06" + hints + b"\x00"
    )


def test_metadata_holds_the_names_counts_flags_ranges_and_hints():
    buffer = replace(
        ir.BufferDecl.output("x", 7, U32).with_count(300),
        output_range=(4, 1200),
        hints=ir.Hints(coalesce_axis=2, alignment=64, locality=ir.Locality.RANDOM),
    )

    data = program(buffers=(buffer,), entry_op_id="y", non_composable=True).to_wire()

    hints = b"\x01\x02\x40\0\0\0\x02"
    assert b"VYRE-META\x01" + Y + b"\x01\0\0\0" * 3 + b"\x01\x01" + X in data
    assert X + b"\x07\0\0\0\x2c\x01\0\0\x01\x01\x01\x04\xb0\x09" + hints in data
    assert data.endswith(b"\x07" + hints + b"\x01\x00")  # and buffer 0 is the one output


def test_options_and_shapes_are_one_more_record_at_the_end():
    plain = program(buffers=(OUT,))
    shaped = replace(OUT, shape=(2, 0), count=0)
    options = ir.Options(fast_math=True, unique_writes=("x",))

    data = program(buffers=(shaped,), options=options).to_wire()

    fields = b"\x01\x01\0\0\0" + X + b"\x01\0\0\0\0\0\0\0\x02\x02\0\0\0\0\0\0\0"
    record = b"\x80\x0f\0\0\0vyre.py.options" + bytes((len(fields), 0, 0, 0)) + fields
    assert b"\x10vyre.node.opaque" + bytes((len(record),)) + record + b"\0" in data
    assert b"vyre.node.opaque" not in plain.to_wire()


@pytest.mark.parametrize(
    "options", [ir.Options(fast_math=True), ir.Options(unique_writes=("out",))]
)
def test_options_change_the_fingerprint(options: ir.Options):
    assert program(options=options).fingerprint() != program().fingerprint()


def test_the_order_of_declaration_does_not_change_the_fingerprint():
    other = ir.BufferDecl.read("x", 1, F32)

    assert (
        program(buffers=(OUT, other)).fingerprint() == program(buffers=(other, OUT)).fingerprint()
    )


def deep(levels: int) -> ir.Program:
    expr: Expr = ir.u32(1)
    for _ in range(levels - 2):
        expr = ~expr
    return program(ir.let("x", expr))


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        (
            program(workgroup_size=(64, 0, 1)),
            "workgroup size (64, 0, 1) has an axis below 1\nFix: give every axis at least 1",
        ),
        (
            program(buffers=(ir.BufferDecl.workgroup("w", 0, U32),)),
            "workgroup buffer 'w' has count 0\nFix: give it a count with with_count",
        ),
        (
            program(buffers=(ir.BufferDecl.output("o", 0, U32),)),
            "live-out buffer 'o' has count 0\n"
            "Fix: give it a count with with_count, or declare it with BufferDecl.write",
        ),
        (
            program(buffers=(replace(OUT, output_range=(0, 5)),)),
            "output range 0..5 of buffer 'out', which holds 4 bytes\n"
            "Fix: give a range that starts no later than it stops and stays inside the buffer",
        ),
        (
            program(buffers=(replace(OUT, count=0, output_range=(8, 4)),)),
            "output range 8..4 of buffer 'out', which holds a run-time number of bytes\n"
            "Fix: give a range that starts no later than it stops and stays inside the buffer",
        ),
        (
            program(buffers=(replace(OUT, shape=(1, 1, 1, 1, 1)),)),
            "shape (1, 1, 1, 1, 1) of buffer 'out'\nFix: use 2 to 4 extents",
        ),
        (
            program(buffers=(replace(OUT, binding=-1),)),
            "binding of buffer 'out' -1 does not fit in 32 bits\nFix: use 0 to 4294967295",
        ),
        (
            program(buffers=(OUT,) * 16_385),
            "16385 buffers; the wire format allows 16384\nFix: pack several arrays into one buffer",
        ),
        pytest.param(
            program(ir.block([ir.let("a", 1), *([ir.return_()] * 1_000_000)])),
            "1000001 statements in one list; the wire format allows 1000000\n"
            "Fix: use a loop, or split the program",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            program(*[ir.return_()] * 1_000_001),
            "1000001 statements in one list; the wire format allows 1000000\n"
            "Fix: use a loop, or split the program",
            marks=pytest.mark.slow,
        ),
        (
            program(ir.let("x", Call("f", (v,) * 4_097))),
            "4097 arguments; the wire format allows 4096\nFix: pass them through a buffer",
        ),
        (
            program(options=ir.Options(unique_writes=("x",) * 16_385)),
            "16385 names in unique_writes; the wire format allows 16384\n"
            "Fix: name each buffer once",
        ),
        (
            program(ir.let("x" * 1_048_577, v)),
            "name of 1048577 bytes; the wire format allows 1048576\nFix: use a shorter name",
        ),
        (
            program(ir.let("\ud800", v)),
            "name '\\ud800' is not Unicode text\nFix: use a name without surrogates",
        ),
        (
            program(*[OpaqueNode("x", bytes(1 << 25))] * 2),
            "more than 67108864 bytes; the wire format allows no more\n"
            "Fix: use loops, or split the program",
        ),
        (
            program(OpaqueNode("x", bytes(1 << 26))),
            "more than 67108864 bytes; the wire format allows no more\n"
            "Fix: use loops, or split the program",
        ),
        (
            deep(201),
            "statements and expressions nest deeper than 200\nFix: split long expressions with let",
        ),
        (
            deep(20_000),
            "statements and expressions nest deeper than 200\nFix: split long expressions with let",
        ),
        (
            program(OpaqueNode("vyre.py.while", b"")),
            "opaque extension of kind 'vyre.py.while', which is Vyre's own\n"
            "Fix: build it with the builder of vyre.ir that stands for it",
        ),
        (
            program(ir.let("x", OpaqueExpr("vyre.py.lit", b""))),
            "opaque extension of kind 'vyre.py.lit', which is Vyre's own\n"
            "Fix: build it with the builder of vyre.ir that stands for it",
        ),
        (
            program(ir.let("x", ir.cast(ir.DataType(Tag.VEC), v))),
            "type vec lacks a part or has one too many\nFix: give it its own parts",
        ),
        (
            program(ir.let("x", ir.buf_dim("b", -1))),
            "number -1 does not fit in 32 bits\nFix: use 0 to 4294967295",
        ),
    ],
)
def test_what_has_no_bytes_is_refused_but_has_a_name(broken: ir.Program, expected: str):
    assert refusal(broken) == expected
    assert len(broken.fingerprint()) == 32


def test_a_type_of_too_many_levels_is_refused():
    dtype = U32
    for _ in range(16):
        dtype = ir.DataType(Tag.SPARSE_CSR, dtype)

    expected = "type nested deeper than 16\nFix: use a type of fewer levels"
    assert refusal(program(ir.let("x", ir.cast(dtype, v)))) == expected


def test_a_subclass_of_ones_own_is_refused():
    class Mine(Expr):
        __slots__ = ()
        __dataclass_fields__ = {}  # noqa: RUF012  # what dataclasses.fields reads

    class Yours(Node):
        __slots__ = ()
        __dataclass_fields__ = {}  # noqa: RUF012  # as above

    fix = "Fix: use the expressions and statements of vyre.ir"
    assert refusal(program(ir.let("x", Mine()))) == f"Mine has no wire form\n{fix}"
    assert refusal(program(Yours())) == f"Yours has no wire form\n{fix}"


def test_depth_200_is_the_most_that_has_bytes():
    assert ir.from_wire(deep(200).to_wire()) == deep(200)


def test_programs_without_bytes_that_differ_in_a_name_have_different_fingerprints():
    """The fingerprint is identity, so the name-free hash cannot stand in for the bytes."""
    first, second = (program(buffers=(ir.BufferDecl.output(n, 0, U32),)) for n in "ab")
    third = replace(first, workgroup_size=(2, 1, 1))

    assert len({first.fingerprint(), second.fingerprint(), third.fingerprint()}) == 3


def test_a_fingerprint_without_bytes_names_the_error_and_the_program():
    broken = program(workgroup_size=(0, 1, 1))

    text = b"workgroup size (0, 1, 1) has an axis below 1"
    digest = wire.exact_hash(broken).hex().encode()
    domain = b"VYRE-PROGRAM-CANONICAL-WIRE-HASH-ERROR\0"
    assert broken.fingerprint() == blake3(domain + text + b"\0" + digest).digest()
