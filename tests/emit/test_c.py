from dataclasses import replace

import pytest

from vyre import ir, kernels
from vyre.analysis import analyse
from vyre.emit import CUDA, OPENCL, WordLayout, bundle, emit
from vyre.errors import InvalidInput, UnsupportedFeature
from vyre.ir import BufferDecl, DataType, Options, Program
from vyre.model import Code, Order, Schedule

F32 = DataType.F32


def source(program: Program, code: Code | None = None, dialect=OPENCL, **more):
    return emit(program, code or Code(), dialect, analyse(program), **more)


# Reductions are held to their meaning under every schedule; their text is the tree written out.
@pytest.mark.parametrize("kernel", kernels.MAPS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("dialect", [OPENCL, CUDA], ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("checked", [True, False], ids=["checked", "unchecked"])
def test_the_source_of_a_bundled_kernel_is_as_reviewed(kernel, dialect, checked, golden):
    text = source(kernel.program, Code(checked=checked), dialect).text

    form = "checked" if checked else "unchecked"
    golden(f"{kernel.name}.{form}.{'cl' if dialect is OPENCL else 'cu'}", text)


def test_the_workgroup_size_is_not_in_the_source():
    program = kernels.saxpy.program

    assert source(program).text == source(program.with_workgroup_size((1, 1, 1))).text


def test_workgroup_memory_starts_as_zeros_and_whole_groups_enter(golden):
    program = Program.wrapped(
        [BufferDecl.write("out", 0, DataType.F32), BufferDecl.workgroup("tile", 64, DataType.F32)],
        (64, 1, 1),
        [
            ir.store("tile", ir.local_id(), ir.f32(1)),
            ir.barrier(),
            ir.store("out", ir.gid(), ir.load("tile", ir.u32(63) - ir.local_id())),
        ],
    )

    golden("workgroup_memory.cl", source(program).text)


def test_every_float_and_integer_corner_has_its_helper(golden):
    x, k = ir.load("x", ir.gid()), ir.load("k", ir.gid())
    program = Program.wrapped(
        [
            BufferDecl.read("x", 0, DataType.F16),
            BufferDecl.read("k", 1, DataType.I16),
            BufferDecl.read_write("y", 2, DataType.BF16),
            BufferDecl.read_write("m", 3, DataType.I64),
        ],
        (64, 1, 1),
        [
            ir.store("y", ir.gid(), ir.binary(ir.BinaryOp.MIN, x, ir.unary(ir.UnaryOp.TANH, x))),
            ir.store("m", ir.cast(DataType.I32, ir.gid()), ir.cast(DataType.I64, k // k)),
            ir.let("old", ir.atomic(ir.AtomicOp.MAX, "m", 0, ir.cast(DataType.I64, x))),
        ],
    )

    golden("corners.cl", source(program).text)
    golden("corners.cu", source(program, dialect=CUDA).text)


def test_bits_and_functions_are_called_by_their_names_in_each_dialect(golden):
    f32, f64 = DataType.F32, DataType.F64
    i16, u16, i64, u64 = DataType.I16, DataType.U16, DataType.I64, DataType.U64
    i, n, a, b = (ir.var(name) for name in ("i", "n", "a", "b"))
    extended = [op for op in ir.UnaryOp if op.value > 0xFF]
    pairs = (ir.BinaryOp.HYPOT, ir.BinaryOp.COPYSIGN, ir.BinaryOp.MOD)
    both = (("a", a), ("b", b))
    program = Program.wrapped(
        [
            BufferDecl.read_write("x", 0, f32),
            BufferDecl.read_write("y", 1, f64),
            BufferDecl.read_write("k", 2, u16),
        ],
        (64, 1, 1),
        [
            ir.let("i", ir.gid()),
            ir.let("a", ir.load("x", i)),
            ir.let("b", ir.load("y", i)),
            *(ir.assign(name, ir.unary(op, v)) for op in extended for name, v in both),
            *(ir.assign(name, ir.binary(op, v, v * v)) for op in pairs for name, v in both),
            ir.let("n", ir.bitcast(DataType.U32, ir.bitcast(f32, a) * a)),
            ir.store("x", i, ir.bitcast(f32, ir.bitcast(DataType.I32, a)) + ir.bitcast(f32, n)),
            ir.store("y", i, ir.bitcast(f64, ir.bitcast(u64, ir.bitcast(i64, b)))),
            ir.store("k", i, ir.bitcast(u16, -ir.bitcast(i16, ir.load("k", i)))),
        ],
    )

    golden("bits.cl", source(program).text)
    golden("bits.cu", source(program, dialect=CUDA).text)


def test_a_programs_names_have_a_space_of_their_own():
    program = Program.wrapped(
        [BufferDecl.write("float", 0, DataType.U32)],
        (64, 1, 1),
        [
            ir.let("at", ir.gid()),
            ir.let("len_float", ir.var("at") + 1),
            ir.let("naïve", ir.var("len_float")),
            ir.store("float", ir.var("at") * 2, ir.var("naïve")),
        ],
    )

    body = source(program).body

    assert "u32 v_at = (u32)get_global_id(0);" in body
    assert "u32 v_len_float = v_at + 1u;" in body
    assert "u32 v_na_ve = v_len_float;" in body
    assert "if ((v_at * 2u) < len_float) p_float[v_at * 2u] = v_na_ve;" in body


def test_no_compiler_contracts_a_fast_math_kernel_by_itself():
    program = Program.wrapped([], (1, 1, 1), [], Options(fast_math=True))

    assert "#pragma OPENCL FP_CONTRACT OFF" in source(program).text


def test_kernels_with_and_without_fast_math_share_a_build():
    exact = Program.wrapped([], (1, 1, 1), [])
    fast = Program.wrapped([], (1, 1, 1), [], Options(fast_math=True))

    text = bundle([source(exact, entry="one"), source(fast, entry="two")])

    assert text.count("FP_CONTRACT OFF") == 1
    assert "one(" in text
    assert "two(" in text


def test_several_kernels_share_one_source_with_each_helper_once():
    first = source(kernels.nbody.program, entry="one")
    second = source(kernels.nbody.program, Code(items=2), entry="two")

    text = bundle([first, second])

    assert text.count("static inline f32 inverse_sqrt_f32(") == 1
    assert text.index("__kernel void one(") < text.index("__kernel void two(")


def test_two_kernels_of_one_name_are_refused():
    made = source(kernels.saxpy.program)

    with pytest.raises(InvalidInput) as caught:
        bundle([made, made])

    assert str(caught.value) == (
        "two kernels of one build are named 'vyre_kernel'\nFix: name each its own"
    )


def test_what_has_no_device_code_is_named():
    program = Program.wrapped([], (1, 1, 1), [ir.let("v", ir.call("some.op"))])

    with pytest.raises(UnsupportedFeature) as caught:
        source(program)

    assert str(caught.value) == (
        "let v = some.op(): no device code for some.op()\n"
        "Fix: leave it out, or run the program elsewhere"
    )


def test_two_accesses_that_read_alike_are_both_checked_unless_both_are_proved():
    """The same text in two loops: one stays inside, the other does not."""
    store = ir.store("out", ir.var("k") + ir.gid() * 4, ir.u32(1))
    program = Program.wrapped(
        [BufferDecl.write("out", 0, DataType.U32)],
        (64, 1, 1),
        [ir.loop("k", 0, 4, [store]), ir.loop("k", ir.gid(), 0xFFFF_FFFF, [store])],
    )

    body = source(program, Code(checked=False)).body

    assert body.count("* 4u)) < len_out) p_out[") == 2


def test_a_variable_may_be_called_like_a_buffer():
    program = Program.wrapped(
        [BufferDecl.write("k", 0, DataType.U32)],
        (64, 1, 1),
        [ir.loop("k", 0, 4, [ir.store("k", ir.var("k"), ir.var("k"))])],
    )

    body = source(program).body

    assert "__global u32* restrict p_k," in body
    assert "for (u32 v_k = 0u; v_k < 4u; ++v_k) {" in body
    assert "if (v_k < len_k) p_k[v_k] = v_k;" in body


SEVERAL = [
    (kernels.saxpy, Code(items=4, vector=4, checked=False), "vector"),
    (kernels.stencil5, Code(items=4, vector=2, checked=False), "strided_vectors"),
    (kernels.polynomial, Code(items=4, unroll=4, checked=False), "jam"),
    (kernels.nbody, Code(items=2, order=Order.BLOCKED, checked=False), "blocked"),
    (kernels.mandelbrot, Code(items=2), "in_turn"),
    (kernels.histogram, Code(items=2, checked=False), "atomics"),
]


@pytest.mark.parametrize(("kernel", "code", "form"), SEVERAL, ids=[form for *_, form in SEVERAL])
@pytest.mark.parametrize("dialect", [OPENCL, CUDA], ids=lambda dialect: dialect.name)
def test_several_items_per_invocation_are_as_reviewed(kernel, code, form, dialect, golden):
    text = source(kernel.program, code, dialect).text

    golden(f"{kernel.name}.{form}.{'cl' if dialect is OPENCL else 'cu'}", text)


def test_an_early_return_leaves_one_item_only(golden):
    program = Program.wrapped(
        [BufferDecl.read("x", 0, DataType.F32), BufferDecl.write("out", 1, DataType.F32)],
        (64, 1, 1),
        [
            ir.let("v", ir.load("x", ir.gid())),
            ir.if_(ir.var("v") < 0.0, [ir.return_()]),
            ir.store("out", ir.gid(), ir.unary(ir.UnaryOp.SQRT, ir.var("v"))),
        ],
    )

    golden("early_return.cl", source(program, Code(items=4, checked=False)).text)


def test_vectors_fill_the_items():
    with pytest.raises(InvalidInput) as caught:
        source(kernels.saxpy.program, Code(items=6, vector=4))

    assert str(caught.value) == ("6 items in vectors of 4\nFix: use a multiple of the vector width")


@pytest.mark.parametrize(
    ("element", "dialect", "width", "fitting"),
    [
        (DataType.F32, CUDA, 8, "2, 4"),
        (DataType.F64, CUDA, 16, "2, 4"),
        (DataType.I16, CUDA, 16, "2, 4, 8"),
        (DataType.U8, CUDA, 6, "2, 4, 8, 16"),
        (DataType.U8, OPENCL, 5, "2, 4, 8, 16"),
    ],
)
def test_a_vector_that_has_no_type_is_refused(element, dialect, width, fitting):
    i = ir.gid()
    decls = [BufferDecl.read("x", 0, element), BufferDecl.write("y", 1, element)]
    program = Program.wrapped(decls, (64, 1, 1), [ir.store("y", i, ir.load("x", i))])

    with pytest.raises(UnsupportedFeature) as caught:
        source(program, Code(items=width, vector=width, checked=False), dialect)

    assert str(caught.value) == (
        f"vectors of {width} {element} in {dialect.name}\n"
        f"Fix: use Code(vector=1), or one of {fitting} elements"
    )


def test_workgroups_that_work_together_have_one_item():
    program = Program.wrapped([], (8, 1, 1), [ir.barrier()])

    with pytest.raises(UnsupportedFeature) as caught:
        source(program, Code(items=2))

    assert str(caught.value) == (
        "2 items for a program whose workgroups work together\nFix: use one item per invocation"
    )


@pytest.mark.parametrize("dialect", [OPENCL, CUDA], ids=lambda dialect: dialect.name)
@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (ir.binary(ir.BinaryOp.SHUFFLE, ir.gid(), ir.u32(1)), "shuffle(gid(0), 1u32)"),
        (ir.unary(ir.UnaryOp.UNPACK4_LOW, ir.gid()), "unpack4_low(gid(0))"),
        (
            ir.atomic(ir.AtomicOp.LRU_UPDATE, "k", 0, ir.u32(1)),
            "atomic_lru_update(k[0u32], 1u32)",
        ),
    ],
)
def test_an_operator_that_has_no_c_is_refused(dialect, expr, text):
    decls = [BufferDecl.read_write("k", 0, DataType.U32)]
    program = Program.wrapped(decls, (64, 1, 1), [ir.let("a", expr)])

    with pytest.raises(UnsupportedFeature) as caught:
        source(program, dialect=dialect)

    assert str(caught.value) == (
        f"let a = {text}: no device code for {text}\n"
        "Fix: leave it out, or run the program elsewhere"
    )


def test_streamed_stores_are_told_to_the_caches():
    program = kernels.saxpy.program

    plain = source(program, Code(items=4, vector=4, checked=False), CUDA).body
    streamed = source(program, Code(items=4, vector=4, checked=False, streamed=True), CUDA).body

    assert "__stcs" not in plain
    assert "__stcs((float4*)(p_out + (v0_i)), make_float4(" in streamed
    assert "__stcs(p_out + (v_i), " in streamed  # the last items, one by one
    assert "p_out[" not in streamed


def test_what_workgroups_share_is_stored_as_ever():
    program = Program.wrapped(
        [BufferDecl.write("out", 0, DataType.F32), BufferDecl.workgroup("tile", 64, DataType.F32)],
        (64, 1, 1),
        [
            ir.store("tile", ir.local_id(), ir.f32(1)),
            ir.barrier(),
            ir.store("out", ir.gid(), ir.load("tile", ir.u32(63) - ir.local_id())),
        ],
    )

    assert source(program, Code(streamed=True), CUDA).body.count("__stcs") == 1


@pytest.mark.parametrize(
    ("kernel", "dialect", "why"),
    [
        (kernels.saxpy, OPENCL, "the device has no such stores"),
        (kernels.histogram, CUDA, "nothing is stored"),
    ],
    ids=["opencl", "atomics alone"],
)
def test_streamed_stores_that_there_are_none_of_are_refused(kernel, dialect, why):
    with pytest.raises(UnsupportedFeature) as caught:
        source(kernel.program, Code(streamed=True), dialect)

    assert str(caught.value) == f"streamed stores: {why}\nFix: use streamed=False"


@pytest.mark.parametrize(
    ("code", "bounds"),
    [
        (Code(items=4, vector=4, lines=2), "256"),
        (Code(items=4, vector=4, lines=4), "256, 4"),
        (Code(items=4, vector=4, lines=8), "256, 4"),
        (Code(items=4, vector=4), "256"),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value.items} by {value.lines}",
)
def test_lines_that_hold_much_ask_for_room(code, bounds):
    schedule = Schedule((32, 8, 1), replace(code, checked=False, fitted=True))

    text = source(kernels.stencil5.program, schedule.code, CUDA).text

    assert f"__launch_bounds__({bounds}) vyre_kernel(" in text


def test_small_workgroups_ask_for_no_more_of_them_than_run_at_once():
    code = Code(items=4, vector=4, lines=4, checked=False, fitted=True)
    schedule = Schedule((8, 1, 1), code)

    text = source(kernels.stencil5.program, schedule.code, CUDA).text

    assert "__launch_bounds__(8, 32) vyre_kernel(" in text


def test_what_holds_more_than_there_are_registers_asks_for_nothing():
    taps = [
        ir.load("x", ir.flat_index("x", ir.gid(1) + down, ir.gid(0) + right))
        for down in range(9)
        for right in range(9)
    ]
    program = Program.wrapped(
        [
            BufferDecl.read("x", 0, DataType.F32).with_shape(0, 0),
            BufferDecl.write("out", 1, DataType.F32).with_shape(0, 0),
        ],
        (64, 1, 1),
        [ir.store("out", ir.flat_index("out", ir.gid(1), ir.gid(0)), sum(taps[1:], taps[0]))],
    )
    schedule = Schedule((32, 8, 1), Code(items=4, vector=4, lines=4, checked=False, fitted=True))

    assert "__launch_bounds__(256) " in source(program, schedule.code, CUDA).text


def test_a_kernel_takes_the_words_that_it_names_in_their_order():
    program, layout = kernels.stencil5.program, WordLayout.of(kernels.stencil5.program)
    schedule = Schedule((32, 8, 1), Code(checked=False, fitted=True))

    found = source(program, schedule.code, CUDA)

    assert found.words == (layout.dim("x", 0), layout.dim("x", 1), layout.dim("out", 1))
    assert "typedef struct { u32 w[3]; } vyre_words3;" in found.header
    assert "const u32 dim1_out = words.w[2];" in found.body


@pytest.mark.parametrize("dialect", [OPENCL, CUDA], ids=lambda dialect: dialect.name)
def test_a_kernel_that_names_no_words_takes_none(dialect):
    schedule = Schedule((64, 1, 1), Code(checked=False, fitted=True))

    found = source(kernels.saxpy.program, schedule.code, dialect)

    assert found.words == ()
    assert "words" not in found.text


def test_vectors_may_be_wider_than_items_where_workgroups_bring_them():
    program = Program.wrapped(
        [BufferDecl.read("x", 0, DataType.F32).with_shape(0, 0), BufferDecl.write("out", 1, F32)],
        (64, 1, 1),
        [
            ir.let("s", ir.f32(0)),
            ir.loop(
                "k",
                ir.u32(0),
                ir.buf_dim("x", 1),
                [
                    ir.assign(
                        "s", ir.var("s") + ir.load("x", ir.flat_index("x", ir.gid(), ir.var("k")))
                    )
                ],
            ),
            ir.store("out", ir.gid(), ir.var("s")),
        ],
    )
    schedule = Schedule((8, 1, 1), Code(vector=4, depth=64, loaders=3, checked=False))

    text = source(program, schedule.code, CUDA).body

    assert "float4 ahead_x[" in text
    assert "p_out[column0] = value_0;" in text  # of one item
    with pytest.raises(InvalidInput) as caught:
        source(program, Code(vector=4, checked=False), CUDA)
    assert str(caught.value) == "1 items in vectors of 4\nFix: use a multiple of the vector width"


@pytest.mark.parametrize("op", [ir.BinaryOp.MIN, ir.BinaryOp.MAX])
def test_the_larger_and_the_smaller_are_found_without_branches(op):
    x = ir.load("x", ir.gid())
    program = Program.wrapped(
        [BufferDecl.read("x", 0, DataType.F64), BufferDecl.write("out", 1, DataType.F64)],
        (64, 1, 1),
        [ir.store("out", ir.gid(), ir.binary(op, x, x + x))],
    )

    (helper,) = source(program, dialect=CUDA).helpers.values()

    assert "if (" not in helper
