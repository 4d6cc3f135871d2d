"""Which reads go through workgroup memory, why others do not, and how they lie there."""

import pytest

from vyre import ir
from vyre.analysis import analyse
from vyre.emit import CUDA, emit
from vyre.emit.staging import ROUND, arranged, bytes_of, lanes_of, stages, why_not_together
from vyre.errors import InvalidInput, UnsupportedFeature
from vyre.ir import AtomicOp, BufferDecl, DataType, Program
from vyre.model import Code, Schedule

F32, F64, U32, U8 = DataType.F32, DataType.F64, DataType.U32, DataType.U8
X, Y, Z, K = ir.gid(0), ir.gid(1), ir.gid(2), ir.var("k")
S = ir.var("s")
NONE = ir.lit(DataType.U64, 0)


def program(*body, rank=2, element=F32) -> Program:
    """`a` and `b` are read, the sum `s` is stored."""
    first, second = BufferDecl.read("a", 0, element), BufferDecl.read("b", 1, F32)
    if rank > 1:
        first, second = (decl.with_shape(*(0,) * rank) for decl in (first, second))
    made = Program.wrapped(
        [
            first,
            second,
            BufferDecl.write("out", 2, F32),
            BufferDecl.read_write("old", 3, F32),
            BufferDecl.read_write("bins", 4, U32),
            BufferDecl.uniform("n", 5, U32).with_count(1),
        ],
        (16, 16, 1),
        [ir.let("s", ir.f32(0)), *body, ir.store("out", Y * ir.extent(0) + X, S)],
    )
    ir.check(made)
    return made


def a(*place) -> ir.Expr:
    return ir.load("a", ir.flat_index("a", *place) if len(place) > 1 else place[0])


def add(*values) -> ir.Node:
    return ir.assign("s", sum(values, S))


def rounds(*body, start=0, stop=None) -> ir.Node:
    return ir.loop("k", start, ir.buf_len("b") if stop is None else stop, body)


def found(made: Program):
    return list(stages(made, analyse(made)).values())


def moves(made: Program):
    return [stage.moves for stage in found(made)]


def test_the_factors_of_a_product_are_brought():
    b = ir.load("b", ir.flat_index("b", K, X))
    made = program(rounds(ir.assign("s", S + a(Y, K) * b)))

    left, right = found(made)

    assert (left.buffer, left.moves, left.loop) == ("a", (1, ROUND), "k")
    assert (right.buffer, right.moves, right.loop) == ("b", (ROUND, 0), "k")
    assert left.aligned
    assert left.size == right.size == 4


def test_what_all_lanes_read_in_a_loop_is_brought():
    assert moves(program(rounds(add(a(K))), rank=1)) == [(ROUND,)]


def test_a_row_of_each_lane_is_brought_by_columns():
    out = ir.store("out", X, S)
    made = Program.wrapped(
        [BufferDecl.read("a", 0, F32).with_shape(0, 0), BufferDecl.write("out", 1, F32)],
        (16, 1, 1),
        [ir.let("s", ir.f32(0)), ir.loop("k", 0, ir.buf_dim("a", 1), [add(a(X, K))]), out],
    )

    assert moves(made) == [(0, ROUND)]


def test_what_is_read_across_is_brought_once():
    (stage,) = found(program(add(a(X, Y))))

    assert (stage.moves, stage.loop) == ((0, 1), None)


def test_an_index_may_be_shifted_by_a_number():
    (stage,) = found(program(add(a(X + 1, Y - ir.buf_dim("a", 0)))))

    assert [str(offset) for offset in stage.offsets] == ["1", "-1*a.shape[0]"]
    assert stage.moves == (0, 1)


def test_an_axis_may_stand_still():
    assert moves(program(rounds(add(a(ir.u32(3), X, K))), rank=3)) == [(None, 0, ROUND)]


@pytest.mark.parametrize(
    "body",
    [
        [add(a(Y, X))],
        [add(a(Y - 1, X), a(Y + 1, X))],
        [rounds(add(a(Y * 2, K)))],
        [rounds(add(a(Y + X, K)))],
        [rounds(add(a(Y, K * 2)))],
        [rounds(add(a(K, K)))],
        [add(a(X, X))],
        [add(a(ir.u32(0), ir.u32(1)))],
        [rounds(add(a(ir.load("bins", X), K)))],
        [rounds(ir.loop("j", 0, 9, [add(a(Y, ir.var("j")))]))],
        [rounds(add(a(Y, K)), stop=X)],
        [rounds(add(a(Y, K)), stop=ir.load("bins", Y))],
        [ir.if_(X < 3, [rounds(add(a(Y, K)))])],
        [ir.loop("k", NONE, ir.lit(DataType.U64, 9), [add(a(Y, ir.cast(U32, K)))])],
    ],
    ids=[
        "side by side",
        "neighbours",
        "every other row",
        "a diagonal",
        "every other column",
        "a round twice",
        "a position twice",
        "nothing moves",
        "anywhere",
        "an inner loop",
        "rounds of each lane",
        "rounds that memory says",
        "a loop under a branch",
        "a counter of 64 bits",
    ],
)
def test_what_is_not_shared_or_not_known_is_not_brought(body):
    assert moves(program(*body)) == []


def test_what_changes_is_not_brought():
    assert moves(program(rounds(add(ir.load("old", K))))) == []


def test_accesses_that_read_alike_and_are_not_are_not_brought():
    made = program(rounds(add(a(Y, K)), start=0), rounds(add(a(Y, K)), start=4))

    assert moves(made) == []


def test_rounds_that_begin_anywhere_are_not_aligned():
    def aligned(start):
        (stage,) = found(program(rounds(add(a(Y, K)), start=start)))
        return stage.aligned

    assert aligned(ir.u32(0))
    assert aligned(ir.u32(32))
    assert not aligned(ir.u32(3))
    assert not aligned(ir.load("n", 0))


WHY = {
    "while": (
        ir.while_(S < 1.0, [add(ir.f32(1))]),
        "it has a while, so that some lanes may end before others",
    ),
    "return": (
        ir.if_(X < 3, [ir.return_()]),
        "it has a return, so that some lanes may end before others",
    ),
    "break": (
        rounds(ir.if_(S > 3.0, [ir.break_()])),
        "it has a break, so that some lanes may end before others",
    ),
    "atomic": (
        ir.let("was", ir.atomic(AtomicOp.ADD, "bins", X, ir.u32(1))),
        "lanes beyond the extent would take part in what others see",
    ),
}


@pytest.mark.parametrize("form", WHY)
def test_what_a_workgroup_cannot_run_together_is_said(form):
    node, why = WHY[form]
    made = program(rounds(add(a(Y, K))), node)

    assert why_not_together(made) == why
    assert moves(made) == []
    with pytest.raises(UnsupportedFeature) as caught:
        emit(made, Schedule((16, 16, 1), Code(depth=4)).code, CUDA, analyse(made))
    assert str(caught.value) == f"depth 4: {why}\nFix: use depth 0"


def test_workgroup_memory_of_its_own_is_said():
    made = Program.wrapped(
        [BufferDecl.write("out", 0, F32), BufferDecl.workgroup("tile", 64, F32)],
        (64, 1, 1),
        [ir.store("tile", X, ir.f32(1)), ir.store("out", X, ir.load("tile", X))],
    )

    assert why_not_together(made) == "it has workgroup memory of its own"


def refusal(code) -> str:
    made = program(rounds(add(a(Y, K))))
    with pytest.raises((UnsupportedFeature, InvalidInput)) as caught:
        emit(made, code, CUDA, analyse(made))
    return str(caught.value)


def test_a_depth_needs_something_to_bring():
    made = program(add(a(Y, X)))

    with pytest.raises(UnsupportedFeature) as caught:
        emit(made, Schedule((16, 16, 1), Code(depth=4)).code, CUDA, analyse(made))

    assert str(caught.value) == (
        "depth 4: lanes share no reads that are known beforehand\nFix: use depth 0"
    )


def test_a_depth_needs_a_workgroup_of_one_plane():
    assert refusal(Code(depth=4)) == (
        "depth 4 of a code for no workgroup\nFix: take the code of a schedule"
    )
    assert refusal(Schedule((8, 4, 2), Code(depth=4)).code) == (
        "depth 4 for workgroups (8, 4, 2), which are wider than 1 along z\n"
        "Fix: use a workgroup of one plane"
    )


def laid_out(made, workgroup, **parts):
    (stage,) = found(made)
    return arranged(stage, Schedule(workgroup, Code(checked=False, **parts)).code)


LEFT = program(rounds(add(a(Y, K))))
RIGHT = program(rounds(add(a(K, X))))
ACROSS = program(add(a(X, Y)))
ALL = program(rounds(add(a(K))), rank=1)


def test_rows_of_a_product_lie_as_they_do_in_memory():
    made = laid_out(RIGHT, (16, 16, 1), items=4, vector=4, depth=8)

    assert (made.sizes, made.strides, made.length) == ((8, 64), (64, 1), 512)
    assert (made.brought, made.read, made.halves, made.bytes) == (4, 4, 2, 4096)


def test_columns_of_a_product_are_turned_and_padded():
    made = laid_out(LEFT, (16, 16, 1), items=4, vector=4, lines=4, depth=8)

    assert (made.sizes, made.strides, made.length) == ((64, 8), (1, 68), 8 * 68)
    assert (made.brought, made.read) == (4, 4)


@pytest.mark.parametrize(
    ("lines", "read", "stride"), [(1, 1, 17), (2, 2, 34), (3, 1, 49), (6, 2, 98)]
)
def test_what_is_turned_has_a_row_that_no_two_lanes_meet_in(lines, read, stride):
    made = laid_out(LEFT, (16, 16, 1), lines=lines, depth=8)

    assert (made.read, made.strides) == (read, (1, stride))


def test_what_all_share_has_one_element_a_round():
    made = laid_out(ALL, (64, 1, 1), items=2, depth=32)

    assert (made.sizes, made.length, made.bytes) == ((32,), 32, 2 * 32 * 4)
    assert (made.stride(ROUND), made.stride(0)) == (1, 0)


def test_what_no_loop_brings_is_there_once():
    made = laid_out(ACROSS, (32, 8, 1), lines=4, depth=1)

    assert (made.sizes, made.strides, made.halves) == ((32, 32), (1, 33), 1)
    assert made.bytes == 32 * 33 * 4


@pytest.mark.parametrize(
    ("made", "parts"),
    [
        (RIGHT, {"items": 4, "vector": 4, "checked": True}),
        (RIGHT, {"items": 8, "vector": 8}),
        (LEFT, {"items": 4, "vector": 4, "depth": 6}),
        (program(rounds(add(a(K, X + 1)))), {"items": 4, "vector": 4}),
        (program(rounds(add(a(K, X + ir.buf_dim("a", 0))))), {"items": 4, "vector": 4}),
        (program(rounds(add(a(Y, K)), start=3)), {"items": 4, "vector": 4}),
    ],
    ids=["checked", "too wide", "depth of no vector", "shifted", "by a number", "from anywhere"],
)
def test_elements_come_one_by_one_where_vectors_would_not_be_whole(made, parts):
    (stage,) = found(made)
    code = Code(**({"depth": 8, "checked": False} | parts))

    assert arranged(stage, Schedule((16, 16, 1), code).code).brought == 1


def test_elements_of_f64_come_in_twos():
    made = program(rounds(ir.assign("s", S + ir.cast(F32, a(K, X)))), element=F64)

    assert laid_out(made, (16, 16, 1), items=2, vector=2, depth=8).brought == 2
    assert laid_out(made, (16, 16, 1), items=4, vector=4, depth=8).brought == 1


@pytest.mark.parametrize("width", [3, 5, 6, 7, 12])
def test_elements_are_read_one_by_one_where_no_vector_has_so_many(width):
    made = program(rounds(ir.assign("s", S + ir.cast(F32, a(K, X)))), element=U8)

    found = laid_out(made, (16, 16, 1), items=width, vector=width, depth=8)

    assert (found.brought, found.read) == (1, 1)


def test_memory_of_several_begins_where_vectors_may():
    made = program(rounds(ir.assign("s", S + ir.cast(F32, a(Y, K)))), element=U8)
    (stage,) = found(made)
    one = arranged(stage, Schedule((1, 3, 1), Code(depth=1)).code)

    assert one.bytes == 2 * 3
    assert bytes_of([one]) == 16
    assert bytes_of([one, one]) == 32


@pytest.mark.parametrize(
    ("group", "loaders", "lanes"),
    [
        ((64, 1, 1), 0, (64, 0, 64)),
        ((64, 1, 1), 1, (128, 64, 64)),
        ((8, 1, 1), 31, (256, 32, 224)),
        ((16, 1, 1), 1, (32, 16, 16)),
        ((1, 1, 1), 2, (3, 1, 2)),
        ((48, 1, 1), 1, (96, 64, 32)),
    ],
)
def test_loaders_begin_with_a_warp_where_there_are_enough(group, loaders, lanes):
    assert lanes_of(Schedule(group, Code(depth=1, loaders=loaders)).code) == lanes


def test_what_is_declared_is_what_is_counted():
    made = program(rounds(add(a(Y, K), ir.load("b", ir.flat_index("b", K, X)))))
    code = Schedule((16, 8, 1), Code(items=2, vector=2, lines=2, depth=4, checked=False)).code
    layouts = [arranged(stage, code) for stage in found(made)]

    text = emit(made, code, CUDA, analyse(made)).body

    for one in layouts:
        assert f"f32 near_{one.stage.buffer}[{one.halves * one.length}];" in text
