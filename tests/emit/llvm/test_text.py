"""The text of small kernels is as reviewed: lanes, edges, masks, rows and phases."""

import re

from vyre import ir, kernels
from vyre.analysis import analyse
from vyre.emit.llvm import Features, emit_llvm
from vyre.ir import BufferDecl, DataType, Program
from vyre.model import Code, Order

F16, F32, U32 = DataType.F16, DataType.F32, DataType.U32
AVX2 = Features(vector_bytes=32)


def text(program, code, features=AVX2):
    return emit_llvm(program, code, features, analyse(program)).text


def functions(module, *names):
    """Only those functions, without the task that is alike in all modules."""
    found = {}
    for part in re.split(r"^(?=define )", module, flags=re.MULTILINE)[1:]:
        name = re.search(r"@(\w+)\(", part)[1]
        found[name] = part[: part.index("\n}\n") + 3]
    return "".join(found[name] for name in names)


def grid(*body, **buffers):
    decls = [
        BufferDecl.storage(name, number, access, F32).with_shape(0, 0)
        for number, (name, access) in enumerate(buffers.items())
    ]
    return Program.wrapped(decls, (64, 1, 1), body)


READ, WRITE = ir.Access.READ_ONLY, ir.Access.WRITE_ONLY
ROW, COLUMN = ir.gid(1), ir.gid(0)


def test_a_whole_module_is_tasks_of_tiles_of_vectors(golden):
    golden("saxpy.v16.ll", text(kernels.saxpy.program, Code(vector=16, checked=False)))


def test_one_lane_has_no_edges(golden):
    made = text(kernels.saxpy.program, Code(checked=False))

    assert "@edge" not in made
    golden("saxpy.v1.ll", functions(made, "tile"))


def test_an_edge_has_no_more_lanes_than_a_register(golden):
    made = text(kernels.saxpy.program, Code(vector=64, checked=False))

    golden("saxpy.v64.ll", functions(made, "edge", "tile"))


def test_a_stencil_is_checked_at_its_margins_alone(golden):
    around = [ir.load("x", COLUMN + ir.u32(away % 2**32)) for away in (-1, 0, 2)]
    program = Program.wrapped(
        [BufferDecl.read("x", 0, F32), BufferDecl.write("out", 1, F32)],
        (64, 1, 1),
        [ir.store("out", COLUMN, around[0] + around[1] * around[2])],
    )

    golden("margins.ll", functions(text(program, Code(vector=8)), "edge", "tile"))


def test_rows_side_by_side_share_what_they_load(golden):
    """A transposed sum: `x[i, j] + b[0, j]`, four rows, all rows of a panel before the next."""
    first = ir.load("b", ir.flat_index("b", ir.u32(0), COLUMN))
    own = ir.load("x", ir.flat_index("x", ROW, COLUMN))
    program = grid(
        ir.store("out", ir.flat_index("out", ROW, COLUMN), own + first), x=READ, b=READ, out=WRITE
    )
    code = Code(vector=8, rows=4, order=Order.BLOCKED)

    golden("rows.ll", functions(text(program, code), "tile"))


def test_what_the_rows_of_a_panel_share_is_brought_together(golden):
    k = ir.var("k")
    a, b = ir.load("a", ir.flat_index("a", ROW, k)), ir.load("b", ir.flat_index("b", k, COLUMN))
    program = grid(
        ir.let("sum", ir.f32(0)),
        ir.loop("k", ir.u32(0), ir.buf_dim("a", 1), [ir.assign("sum", ir.var("sum") + a * b)]),
        ir.store("out", ir.flat_index("out", ROW, COLUMN), ir.var("sum")),
        a=READ,
        b=READ,
        out=WRITE,
    )
    code = Code(vector=8, rows=2, order=Order.BLOCKED, staged=True, checked=False)

    golden("staged.ll", functions(text(program, code), "tile", "vyre_task"))


def test_lanes_leave_a_loop_by_masks(golden):
    n = ir.var("n")
    program = Program.wrapped(
        [BufferDecl.read_write("x", 0, U32)],
        (64, 1, 1),
        [
            ir.let("n", ir.load("x", COLUMN)),
            ir.while_(ir.binary(ir.BinaryOp.LT, n, ir.u32(100)), [ir.assign("n", n * 3 + 1)]),
            ir.store("x", COLUMN, n),
        ],
    )

    golden("parting.ll", functions(text(program, Code(vector=8)), "tile"))


def test_a_barrier_parts_two_loops_over_the_lanes(golden):
    program = Program.wrapped(
        [BufferDecl.write("out", 0, F32), BufferDecl.workgroup("line", 64, F32)],
        (64, 1, 1),
        [
            ir.let("own", ir.local_id()),
            ir.store("line", ir.var("own"), ir.cast(F32, COLUMN)),
            ir.barrier(),
            ir.store("out", COLUMN, ir.load("line", ir.u32(63) - ir.var("own"))),
        ],
    )

    golden("barrier.ll", functions(text(program, Code(vector=16)), "group_rows", "vyre_task"))


def test_a_thread_counts_in_tables_of_its_own(golden):
    program = Program.wrapped(
        [BufferDecl.read("x", 0, U32), BufferDecl.read_write("bins", 1, U32).with_count(4)],
        (64, 1, 1),
        [ir.let("old", ir.atomic(ir.AtomicOp.ADD, "bins", ir.load("x", COLUMN), ir.u32(1)))],
    )

    golden("counters.ll", functions(text(program, Code(unroll=2)), "tile", "vyre_task"))


def test_halves_are_converted_by_hand_where_the_processor_cannot(golden):
    program = Program.wrapped(
        [BufferDecl.read("x", 0, F16), BufferDecl.write("out", 1, F16)],
        (64, 1, 1),
        [ir.store("out", COLUMN, -ir.load("x", COLUMN))],
    )
    features = Features(vector_bytes=16, fma=False, half=False)

    golden("halves.ll", functions(text(program, Code(vector=4), features), "tile"))
