from vyre import ir
from vyre.ir import AtomicOp, BinaryOp, BufferDecl, DataType, Program, UnaryOp
from vyre.ir.text import expr_text, statement_text


def test_a_program_reads_like_the_kernel_it_came_from():
    i = ir.var("i")
    program = Program.wrapped(
        (
            BufferDecl.read("x", 0, DataType.F32),
            BufferDecl.write("out", 1, DataType.F32).with_shape(0, 0),
            BufferDecl.uniform("a", 2, DataType.F32).with_count(1),
        ),
        (64, 1, 1),
        [
            ir.let("i", ir.gid()),
            ir.if_(
                i < ir.buf_len("x"),
                [ir.store("out", ir.flat_index("out", i, 0), (ir.load("a", 0) + 1.0) * 2.0)],
                [ir.return_()],
            ),
            ir.loop("k", 0, 4, [ir.continue_()]),
            ir.while_(True, []),
            ir.barrier(),
        ],
    )

    assert ir.to_text(program) == (
        "program workgroup (64, 1, 1)\n"
        "  read x: f32[:] @0\n"
        "  write out: f32[:, :] @1\n"
        "  uniform a: f32[1] @2\n"
        "region vyre.program.root:\n"
        "  let i = gid(0)\n"
        "  if i < len(x):\n"
        "    out[i, 0u32] = (a[0u32] + 1.0) * 2.0\n"
        "  else:\n"
        "    return\n"
        "  for k in 0u32 .. 4u32:\n"
        "    continue\n"
        "  while True:\n"
        "    pass\n"
        "  barrier seq_cst\n"
    )


def test_parentheses_stand_only_where_they_are_needed():
    a, b, c = ir.var("a"), ir.var("b"), ir.var("c")

    assert expr_text(a - (b - c)) == "a - (b - c)"
    assert expr_text((a - b) - c) == "a - b - c"
    assert expr_text(-(a + b) * c) == "-(a + b) * c"
    assert expr_text(ir.binary(BinaryOp.MIN, a, b)) == "min(a, b)"
    assert expr_text(ir.unary(UnaryOp.LOG1P, a + b)) == "log1p(a + b)"
    assert expr_text(ir.bitcast(DataType.U32, a + b) >> 23) == "bitcast[u32](a + b) >> 23u32"


def test_an_atomic_and_a_statement_have_a_line_each():
    old = ir.let("old", ir.atomic(AtomicOp.ADD, "sum", ir.gid(), ir.u32(1)))

    assert statement_text(old) == "let old = atomic_add(sum[gid(0)], 1u32)"
