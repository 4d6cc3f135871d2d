import pytest

from vyre import ir
from vyre.errors import InvalidProgram
from vyre.ir import AtomicOp, BinaryOp, BufferDecl, DataType, Hints, Options, Program, UnaryOp
from vyre.ir.validate import Problem, validate

U32, F32 = DataType.U32, DataType.F32
WITH_BITS = "u8, u16, u32, u64, i8, i16, i32, i64, f32, f64"


def problems(*nodes: ir.Node, buffers: tuple[BufferDecl, ...] = ()) -> tuple[Problem, ...]:
    base = (
        BufferDecl.read("x", 0, F32),
        BufferDecl.write("out", 1, F32),
        BufferDecl.read_write("sum", 2, U32).with_count(4),
        BufferDecl.uniform("a", 3, F32).with_count(1),
    )
    return validate(Program((*base, *buffers), (64, 1, 1), tuple(nodes)))


def only(*nodes: ir.Node) -> tuple[str, str, str]:
    (found,) = problems(*nodes)
    return found.place, found.problem, found.fix


def test_a_right_program_has_no_problems():
    i = ir.var("i")

    assert (
        problems(
            ir.let("i", ir.gid()),
            ir.if_(i < ir.buf_len("x"), [ir.store("out", i, ir.load("a", 0) * ir.load("x", i))]),
            ir.let("old", ir.atomic(AtomicOp.ADD, "sum", i % 4, ir.u32(1))),
            ir.loop("k", 0, 4, [ir.if_(ir.var("k").eq(2), [ir.break_()])]),
            ir.while_(ir.bool_(False), [ir.continue_()]),
            ir.return_(),
        )
        == ()
    )


def test_every_problem_is_reported_at_once():
    program = Program(
        (
            BufferDecl.read("x", 0, F32),
            BufferDecl.read("x", 0, F32),
            BufferDecl.workgroup("tile", 0, F32),
            BufferDecl.output("o", 1, U32),
            BufferDecl.read("h", 2, U32).with_hints(Hints(alignment=3)),
        ),
        (0, 1, 1),
        (ir.store("nowhere", 0, ir.var("y")),),
        options=Options(unique_writes=("x",)),
    )

    assert [(item.place, item.problem, item.fix) for item in validate(program)] == [
        ("workgroup_size[0]", "size 0", "give each axis 1 to 4294967295"),
        ("buffer 'x'", "declared 2 times", "give each buffer its own name"),
        ("binding 0", "shared by 'x', 'x'", "give each buffer its own binding number"),
        ("buffer 'tile'", "workgroup memory of count 0", "give it a positive count"),
        (
            "buffer 'o'",
            "a live-out buffer of count 0",
            "give it a positive count, or declare it write",
        ),
        ("buffer 'h'", "alignment 3", "use 0 or a power of two"),
        (
            "unique_writes",
            "'x' is not a written buffer; written: o",
            "name a buffer that the program writes",
        ),
        (
            "entry[0] store to 'nowhere'",
            "no name 'y' here",
            "bind it with let before this statement",
        ),
        (
            "entry[0] store to 'nowhere'",
            "no buffer 'nowhere'; declared: h, o, tile, x",
            "declare it, or use a declared name",
        ),
    ]


def test_check_raises_one_error_that_lists_them_all():
    program = Program((), (0, 1, 0), ())

    with pytest.raises(InvalidProgram) as caught:
        ir.check(program)

    assert str(caught.value) == (
        "the program has 2 problems:\n"
        "  workgroup_size[0]: size 0\n"
        "  workgroup_size[2]: size 0\n"
        "Fix: give each axis 1 to 4294967295"
    )


@pytest.mark.parametrize(
    ("node", "problem", "fix"),
    [
        (
            ir.let("v", ir.u32(1) + ir.f32(1.0)),
            "add of u32 and f32",
            "cast one side, to u32 or to f32",
        ),
        (ir.let("v", ir.load("x", ir.f32(1))), "index of 'x' is f32", "index with a whole number"),
        (
            ir.let("v", ir.load("x", ir.i32(-1))),
            "index -1 of 'x' is negative",
            "index from 0; there is no counting from the end",
        ),
        (
            ir.let("v", ir.load("out", 0)),
            "load from write_only buffer 'out'",
            "declare it read_write to read it back",
        ),
        (
            ir.store("x", 0, ir.f32(1)),
            "store to read_only buffer 'x'",
            "declare it read_write",
        ),
        (
            ir.store("out", 0, ir.u32(1)),
            "'out' holds f32, the value is u32",
            "cast the value to f32",
        ),
        (ir.if_(ir.u32(1), []), "the condition is u32", "compare it with something"),
        (
            ir.loop("k", ir.u32(0), ir.i32(4), []),
            "the loop runs from u32 to i32",
            "count in one integer type",
        ),
        (ir.break_(), "there is no loop around it", "use it inside a loop"),
        (ir.let("v", -ir.bool_(True)), "negate of bool", "give it a number"),
        (ir.let("v", ir.unary(UnaryOp.SQRT, ir.u32(4))), "sqrt of u32", "give it a float"),
        (ir.let("v", ir.unary(UnaryOp.CBRT, ir.i32(8))), "cbrt of i32", "give it a float"),
        (
            ir.let("v", ir.binary(BinaryOp.COPYSIGN, ir.u32(1), ir.u32(1))),
            "copysign of u32 and u32",
            "give it two floats",
        ),
        (
            ir.let("v", ir.bitcast(DataType.U64, ir.f32(1))),
            "bitcast from f32 to u64",
            f"give it 64 bits: one of {WITH_BITS}",
        ),
        (
            ir.let("v", ir.bitcast(DataType.U32, ir.bool_(True))),
            "bitcast from bool to u32",
            f"give it 32 bits: one of {WITH_BITS}",
        ),
        *(
            (
                ir.let("v", ir.bitcast(dtype, ir.u32(1))),
                f"bitcast to {dtype}",
                f"name one of {WITH_BITS}",
            )
            for dtype in (DataType.BOOL, DataType.F16, DataType.BF16, DataType.VEC2_U32)
        ),
        (
            ir.let("v", ir.select(ir.bool_(True), ir.u32(1), ir.f32(1))),
            "select between u32 and f32",
            "cast one side",
        ),
        (
            ir.let("v", ir.u32(1) << ir.f32(1)),
            "shl of u32 by f32",
            "shift a whole number by u32 or u32",
        ),
        (
            ir.let("v", ir.fma(ir.f32(1), ir.f64(1), ir.f32(1))),
            "fma of f32, f64",
            "give it three values of one float type",
        ),
        (
            ir.let("v", ir.atomic(AtomicOp.OR, "x", 0, ir.u32(1))),
            "atomic or on read_only buffer 'x'",
            "declare it read_write",
        ),
        (
            ir.let("v", ir.atomic(AtomicOp.COMPARE_EXCHANGE, "sum", 0, ir.u32(1))),
            "atomic compare_exchange without an expected value",
            "give an expected value to compare_exchange alone",
        ),
        (
            ir.let("v", ir.flat_index("x", 0, 0)),
            "2 indices into buffer 'x' of rank 1",
            "give one index per axis",
        ),
        (
            ir.let("v", ir.binary(BinaryOp.POW, ir.u32(1), ir.u32(2))),
            "pow of u32 and u32",
            "give it two floats",
        ),
    ],
)
def test_a_wrong_statement_is_named_with_a_fix(node: ir.Node, problem: str, fix: str):
    found = problems(node)

    assert (problem, fix) in [(item.problem, item.fix) for item in found]
    assert all(item.place.startswith("entry[0]") for item in found)


def test_bits_are_seen_as_any_type_of_their_width():
    floats = [
        ir.bitcast(U32, ir.load("x", 0)),
        ir.bitcast(F32, ir.bitcast(DataType.I32, ir.load("x", 0))),
        ir.bitcast(DataType.I64, ir.f64(1)),
        ir.bitcast(DataType.F64, ir.bitcast(DataType.U64, ir.f64(1))),
        ir.bitcast(DataType.I8, ir.lit(DataType.U8, 200)),
        ir.bitcast(DataType.U16, ir.lit(DataType.I16, -1)),
    ]

    assert problems(*(ir.let(f"v{n}", expr) for n, expr in enumerate(floats))) == ()


def test_bits_of_a_name_that_is_not_there_are_one_problem():
    assert only(ir.let("v", ir.bitcast(U32, ir.var("w"))))[1] == "no name 'w' here"


def test_an_atomic_on_a_half_is_refused():
    half = BufferDecl.read_write("h", 9, DataType.F16)

    (found,) = problems(ir.let("v", ir.atomic(AtomicOp.ADD, "h", 0, ir.f32(1))), buffers=(half,))

    assert str(found) == (
        "entry[0] let 'v': atomic add on f32 buffer 'h'\n"
        "  Fix: use a 32- or 64-bit integer; floats can add, min, max and exchange"
    )


def test_a_name_is_bound_once_and_keeps_its_type():
    assert only(ir.let("v", 1), ir.let("v", 2)) == (
        "entry[1] let 'v'",
        "'v' is bound already",
        "use assign, or another name",
    )
    assert only(ir.let("v", 1), ir.assign("v", 1.5)) == (
        "entry[1] assign 'v'",
        "'v' is u32, the value is f32",
        "cast the value to u32",
    )
    assert only(ir.assign("v", 1)) == (
        "entry[0] assign 'v'",
        "no name 'v' here",
        "bind it with let before this statement",
    )


def test_a_name_ends_with_its_list():
    assert only(ir.if_(True, [ir.let("v", 1)]), ir.assign("v", 2)) == (
        "entry[1] assign 'v'",
        "no name 'v' here",
        "bind it with let before this statement",
    )


def test_a_loop_counter_is_not_assigned():
    assert only(ir.loop("k", 0, 4, [ir.assign("k", 1)])) == (
        "entry[0].body[0] assign 'k'",
        "'k' counts a loop",
        "copy it with let and change the copy",
    )


def test_what_nests_too_deep_is_one_problem():
    deep = ir.u32(1)
    for _ in range(300):
        deep = deep + 1

    assert only(ir.let("v", deep)) == (
        "entry",
        "statements and expressions nest 302 deep; 200 allowed",
        "split long expressions with let",
    )


def test_what_no_backend_sees_into_is_not_a_type_problem():
    assert problems(ir.let("v", ir.call("some.op", ir.u32(1)) + ir.f32(1))) == ()
