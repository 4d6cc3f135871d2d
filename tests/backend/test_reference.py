"""How the reference runs programs: lanes that part ways, chunks, arguments and refusals."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from vyre import ir
from vyre.backend.reference import lanes, run
from vyre.errors import InvalidInput, InvalidProgram, UnsupportedFeature
from vyre.ir import AtomicOp, BinaryOp, BufferDecl, DataType, MemoryKind, Ordering, UnaryOp
from vyre.ir.expr import OpaqueExpr, Subgroup, SubgroupOp
from vyre.ir.node import (
    AllGather,
    AllReduce,
    AsyncCopy,
    AsyncWait,
    Broadcast,
    CollectiveOp,
    IndirectDispatch,
    OpaqueNode,
    ReduceScatter,
    Resume,
    Trap,
)
from vyre.testing.programs import race_free

U32, I32, F32 = DataType.U32, DataType.I32, DataType.F32
ME, N = ir.gid(), ir.var("n")


def program(*body, buffers=(), workgroup=(64, 1, 1)):
    out = BufferDecl.read_write("out", 0, U32)
    return ir.Program.wrapped([out, *buffers], workgroup, body)


def result(*body, lanes=6, buffers=(), workgroup=(64, 1, 1), **arrays):
    """What the statements leave in `out`, one element per lane and zeros before."""
    out = np.zeros(lanes, np.uint32)
    built = program(*body, buffers=buffers, workgroup=workgroup)
    ir.check(built)
    run(built, {"out": out, **arrays}, (lanes, 1, 1))
    return out.tolist()


def count(value=1):
    return ir.assign("n", N + value)


SHOW = ir.store("out", ME, N)


def test_lanes_take_their_own_side_of_an_if():
    found = result(ir.if_(ME < 2, [ir.store("out", ME, 7)], [ir.store("out", ME, ME * 10)]))

    assert found == [7, 7, 20, 30, 40, 50]


def test_an_assignment_changes_the_lanes_that_reach_it():
    found = result(
        ir.let("n", 1), ir.if_((ME % 2).eq(0), [count(10), ir.if_(ME > 3, [count(100)])]), SHOW
    )

    assert found == [11, 1, 11, 1, 111, 1]


def test_a_loop_counts_to_its_bound_in_each_lane():
    assert result(ir.let("n", 0), ir.loop("k", 1, 5, [count(ir.var("k"))]), SHOW) == [10] * 6
    assert result(ir.let("n", 0), ir.loop("k", 2, ME, [count(ir.var("k"))]), SHOW) == [
        *(0, 0, 0, 2, 5, 9)
    ]
    assert result(ir.let("n", 0), ir.loop("k", ME, 3, [count()]), SHOW) == [3, 2, 1, 0, 0, 0]


def test_a_loop_that_starts_at_or_after_its_bound_runs_no_round():
    assert result(ir.let("n", 0), ir.loop("k", 5, 5, [count()]), SHOW) == [0] * 6
    assert result(ir.let("n", 0), ir.loop("k", 7, 5, [count()]), SHOW) == [0] * 6


def test_a_loop_variable_can_be_negative_and_of_any_integer_type():
    rounds = [ir.if_(ir.var("k") < ir.i32(0), [count()])]
    assert result(ir.let("n", 0), ir.loop("k", ir.i32(-3), ir.i32(2), rounds), SHOW) == [3] * 6
    byte, last = DataType.U8, ir.lit(DataType.U8, 255)
    start = ir.cast(byte, ME) + ir.lit(byte, 250)
    assert result(ir.let("n", 0), ir.loop("k", start, last, [count()]), SHOW) == [5, 4, 3, 2, 1, 0]


def test_the_bounds_of_a_loop_are_evaluated_once():
    body = [ir.assign("m", ir.var("m") + 1), count()]
    found = result(ir.let("n", 0), ir.let("m", 3), ir.loop("k", 0, ir.var("m"), body), SHOW)

    assert found == [3] * 6


def test_break_leaves_the_innermost_loop_alone():
    inner = ir.loop("j", 0, 10, [ir.if_(ir.var("j") >= ME, [ir.break_()]), count()])
    found = result(ir.let("n", 0), ir.loop("k", 0, 2, [inner, count(100)]), SHOW)

    assert found == [200, 202, 204, 206, 208, 210]


def test_continue_skips_the_rest_of_one_round():
    body = [ir.if_((ir.var("k") % 2).eq(ME % 2), [ir.continue_()]), count(ir.var("k"))]

    assert result(ir.let("n", 0), ir.loop("k", 0, 5, body), SHOW) == [4, 6, 4, 6, 4, 6]
    assert result(ir.let("n", 0), ir.loop("k", 0, ME, body), SHOW) == [0, 0, 1, 2, 4, 6]


def test_a_while_loop_ends_lane_by_lane():
    double = [ir.assign("n", N * 2)]

    assert result(ir.let("n", ME + 1), ir.while_(N < 10, double), SHOW) == [16, 16, 12, 16, 10, 12]


def test_a_while_loop_that_never_ends_by_itself_can_be_broken_out_of():
    body = [count(), ir.if_(N > ME, [ir.break_()]), ir.if_(N > 3, [ir.return_()])]

    assert result(ir.let("n", 0), ir.while_(ir.bool_(True), body), SHOW) == [1, 2, 3, 4, 0, 0]


def test_return_ends_a_lane_for_good():
    stop = ir.loop("k", 0, 10, [ir.if_(ir.var("k").eq(ME), [ir.return_()]), ir.store("out", ME, 5)])

    assert result(ir.if_(ME < 3, [stop]), ir.store("out", ME, 9)) == [0, 5, 5, 9, 9, 9]


def test_lists_side_by_side_can_use_the_same_names():
    def side(value):
        return [ir.let("m", ME * value), ir.assign("n", ir.var("m"))]

    found = result(ir.let("n", 0), ir.if_(ME < 3, side(10), side(100)), SHOW)
    assert found == [0, 10, 20, 300, 400, 500]


def test_a_value_stays_as_it_was_loaded_when_its_element_is_stored_to():
    swap = [
        ir.let("n", ir.load("out", ME)),
        ir.store("out", ME, N + 5),
        ir.store("out", ME, ir.load("out", ME) * 10 + N),
    ]

    assert result(*swap) == [50] * 6


def test_a_value_stays_as_it_was_loaded_when_another_buffer_shares_its_memory():
    shared = np.arange(6, dtype=np.uint32)
    body = [ir.let("n", ir.load("x", ME)), ir.store("out", ME, 9), ir.store("y", ME, N)]
    buffers = [BufferDecl.read("x", 1, U32), BufferDecl.write("y", 2, U32)]
    y = np.zeros(6, np.uint32)

    run(program(*body, buffers=buffers), {"out": shared, "x": shared, "y": y}, (6, 1, 1))
    assert (shared.tolist(), y.tolist()) == ([9] * 6, [0, 1, 2, 3, 4, 5])


def test_a_masked_store_at_ones_own_place_leaves_the_other_lanes_alone():
    assert result(ir.if_(ME > 3, [ir.store("out", ME, ME)])) == [0, 0, 0, 0, 4, 5]


def test_arrays_shorter_than_the_extent_lose_the_stores_beyond_them():
    out = np.zeros(3, np.uint32)
    x = np.arange(1, 3, dtype=np.uint32)
    body = ir.store("out", ME, ir.load("x", ME) + 1)

    run(program(body, buffers=[BufferDecl.read("x", 1, U32)]), {"out": out, "x": x}, (5, 1, 1))
    assert out.tolist() == [2, 3, 1]


def test_lengths_and_extents_of_buffers_are_those_of_the_arrays():
    decl = BufferDecl.read("x", 1, F32).with_shape(0, 0)
    value = ir.buf_len("x") * 100 + ir.buf_dim("x", 0) * 10 + ir.buf_dim("x", 1)

    found = result(ir.store("out", ME, value), buffers=[decl], x=np.zeros((3, 2), np.float32))
    assert found == [632] * 6
    fixed = BufferDecl.read("x", 1, F32).with_shape(2, 3)
    found = result(ir.store("out", ME, value), buffers=[fixed], x=np.zeros(6, np.float32))
    assert found == [623] * 6


def test_an_atomic_in_a_branch_counts_the_lanes_that_take_it():
    update = ir.atomic(AtomicOp.ADD, "out", 0, 2)

    assert result(ir.if_(ME > 1, [ir.let("unused", update)])) == [8, 0, 0, 0, 0, 0]
    shown = ir.if_(ME > 1, [ir.let("n", update), ir.store("out", ME, N + 1)])
    assert result(shown) == [8, 0, 1, 3, 5, 7]


def test_atomics_at_one_element_hand_out_places_across_chunks(monkeypatch):
    monkeypatch.setattr(lanes, "LANES_AT_ONCE", 4)
    counter = np.zeros(1, np.uint32)
    body = [ir.let("n", ir.atomic(AtomicOp.ADD, "next", 0, 1)), SHOW]

    found = result(*body, lanes=10, buffers=[BufferDecl.read_write("next", 1, U32)], next=counter)
    assert (found, counter.tolist()) == (list(range(10)), [10])


@pytest.mark.parametrize("at_once", [1, 7, 64])
def test_chunks_cover_every_place_of_a_shape_once(monkeypatch, at_once):
    monkeypatch.setattr(lanes, "LANES_AT_ONCE", at_once)
    out = np.zeros((3, 4, 5), np.uint32)
    decl = BufferDecl.read_write("out", 0, U32).with_shape(0, 0, 0)
    place = ir.flat_index("out", ir.gid(2), ir.gid(1), ir.gid(0))
    local = ir.local_id(0) + ir.local_id(1) * 2 + ir.workgroup_id(0) * 10 + ir.workgroup_id(1) * 100
    body = [ir.let("unused", ir.atomic(AtomicOp.ADD, "out", place, local + 1))]

    run(ir.Program.wrapped([decl], (2, 3, 1), body), {"out": out}, (5, 4, 3))
    _, y, x = np.indices(out.shape)
    assert (out == x % 2 + y % 3 * 2 + x // 2 * 10 + y // 3 * 100 + 1).all()


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(race_free())
def test_lanes_run_alone_agree_with_lanes_run_together(case):
    """Alone every value is uniform and no mask is ever partly set, so the two share little."""
    together, alone = case.copies(), case.copies()

    run(case.program, together, case.extent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lanes, "LANES_AT_ONCE", 1)
        run(case.program, alone, case.extent)
    for name, values in together.items():
        assert values.tobytes() == alone[name].tobytes(), name


GROUP = (4, 1, 1)


def summed(depth):
    """The sum of a workgroup's ids by halving, in workgroup memory."""
    rounds = []
    for step in depth:
        half = ir.store(
            "tile",
            ir.local_id(),
            ir.load("tile", ir.local_id()) + ir.load("tile", ir.local_id() + step),
        )
        rounds += [ir.if_(ir.local_id() < step, [half]), ir.barrier()]
    return [ir.store("tile", ir.local_id(), ME), ir.barrier(), *rounds]


@pytest.mark.parametrize("at_once", [1, 4, 9, 65_536])
def test_workgroups_keep_together_whatever_the_chunk(monkeypatch, at_once):
    monkeypatch.setattr(lanes, "LANES_AT_ONCE", at_once)
    tile = BufferDecl.workgroup("tile", 4, U32)
    show = ir.store("out", ir.workgroup_id(), ir.load("tile", 0))

    found = result(*summed((2, 1)), show, lanes=12, buffers=[tile], workgroup=GROUP)
    assert found[:3] == [6, 22, 38]


def test_workgroups_of_two_axes_hold_their_own_lanes():
    tile = BufferDecl.workgroup("tile", 4, U32)
    mine = ir.local_id(1) * 2 + ir.local_id(0)
    place = ir.gid(1) * 4 + ir.gid(0)
    out = np.zeros(16, np.uint32)
    body = [
        ir.store("tile", mine, place),
        ir.barrier(),
        ir.store("out", place, ir.load("tile", ir.u32(3) - mine)),
    ]

    run(program(*body, buffers=[tile], workgroup=(2, 2, 1)), {"out": out}, (4, 4, 1))
    rows = out.reshape(4, 4).tolist()
    assert rows == [[5, 4, 7, 6], [1, 0, 3, 2], [13, 12, 15, 14], [9, 8, 11, 10]]


def test_a_grid_barrier_orders_all_workgroups(monkeypatch):
    monkeypatch.setattr(lanes, "LANES_AT_ONCE", 4)
    x = np.zeros(8, np.uint32)
    body = [
        ir.store("x", ME, ME + 1),
        ir.barrier(Ordering.GRID_SYNC),
        ir.store("out", ME, ir.load("x", ir.u32(7) - ME)),
    ]

    buffers = [BufferDecl.read_write("x", 1, U32)]
    found = result(*body, lanes=8, buffers=buffers, workgroup=GROUP, x=x)
    assert found == [8, 7, 6, 5, 4, 3, 2, 1]


MOVE = (
    "move the barrier out of the branch or loop that some lanes leave out, "
    "and return after the last barrier only"
)


@pytest.mark.parametrize(
    ("body", "reached"),
    [
        (ir.if_(ir.local_id() < 3, [ir.barrier()]), 3),
        (ir.if_(ME < 5, [ir.barrier()]), 1),
        (ir.loop("k", 0, ir.local_id(), [ir.barrier()]), 3),
        (ir.if_(ir.local_id() < 2, [ir.barrier()], [ir.barrier()]), 2),
        (ir.block([ir.if_(ir.local_id().eq(0), [ir.return_()]), ir.barrier()]), 3),
    ],
)
def test_a_barrier_that_some_lanes_miss_is_refused_and_nothing_has_changed(body, reached):
    out = np.zeros(8, np.uint32)

    with pytest.raises(InvalidProgram) as raised:
        run(program(ir.store("out", ME, 5), body, workgroup=GROUP), {"out": out}, (8, 1, 1))
    assert (raised.value.problem, raised.value.fix) == (
        f"a barrier is reached by {reached} of the 4 lanes of one workgroup",
        MOVE,
    )
    assert out.tolist() == [0] * 8


def test_a_whole_workgroup_may_leave_out_a_barrier_but_not_one_of_the_grid():
    def body(ordering):
        return ir.if_(ir.workgroup_id().eq(0), [ir.barrier(ordering), ir.store("out", ME, 1)])

    assert result(body(Ordering.SEQ_CST), lanes=8, workgroup=GROUP) == [1] * 4 + [0] * 4
    with pytest.raises(InvalidProgram) as raised:
        result(body(Ordering.GRID_SYNC), lanes=8, workgroup=GROUP)
    assert raised.value.problem == "a barrier is reached by 4 of the 8 lanes of the grid"


BARRIER = "use workgroup memory and a barrier"
UNSUPPORTED = [
    (ir.store("out", ME, ir.call("my.op", 1)), "a call of 'my.op'", "write out what it computes"),
    (
        ir.let("s", Subgroup(SubgroupOp.ADD, (ir.u32(1),))),
        "subgroup operation add",
        BARRIER,
    ),
    (
        ir.let("s", ir.binary(BinaryOp.WAVE_REDUCE, 1, 1)),
        "wave operation wave_reduce",
        BARRIER,
    ),
    (
        ir.let("s", ir.unary(UnaryOp.UNPACK4_LOW, 1)),
        "unpack4_low",
        "unpack with shifts and masks",
    ),
    (
        ir.let("s", ir.atomic(AtomicOp.LRU_UPDATE, "out", 0, 1)),
        "atomic lru_update on 'out'",
        "use compare_exchange",
    ),
    (
        ir.let("s", OpaqueExpr("their.kind", b"")),
        "expression 'their.kind' of an unknown extension",
        "rewrite it with known operators",
    ),
    (
        OpaqueNode("their.kind", b""),
        "statement 'their.kind' of an unknown extension",
        "rewrite it with known statements",
    ),
    (
        IndirectDispatch("out", 0),
        "an indirect dispatch",
        "read the counts on the host and dispatch those",
    ),
    (
        AsyncCopy(False, "x", "out", ir.u32(0), ir.u32(1), "t"),
        "an asynchronous copy from 'x' to 'out'",
        "copy with loads and stores",
    ),
    (AsyncWait("t"), "a wait for copy 't'", "copy with loads and stores"),
    (Resume("t"), "resume 't'", "store an error code in a buffer and return"),
] + [
    (node, f"collective {type(node).__name__}", "combine the devices' buffers on the host")
    for node in (
        AllReduce("out", CollectiveOp.SUM),
        AllGather("out", "out"),
        ReduceScatter("out", "out", CollectiveOp.SUM),
        Broadcast("out", 0),
    )
]


@pytest.mark.parametrize(
    ("node", "what", "fix"), UNSUPPORTED, ids=[case[1] for case in UNSUPPORTED]
)
def test_what_cannot_run_is_refused_by_name_before_anything_changes(node, what, fix):
    out = np.zeros(4, np.uint32)
    nested = ir.if_(ME < 2, [ir.loop("k", 0, 1, [node])])

    with pytest.raises(UnsupportedFeature) as raised:
        run(program(ir.store("out", ME, 5), nested), {"out": out}, (4, 1, 1))
    assert (raised.value.problem, raised.value.fix) == (f"the reference cannot run {what}", fix)
    assert out.tolist() == [0] * 4


def test_the_first_thing_that_cannot_run_is_the_one_named():
    body = [Resume("first"), Trap(ir.call("inner"), "second")]

    with pytest.raises(UnsupportedFeature, match="resume 'first'"):
        run(program(*body), {"out": np.zeros(1, np.uint32)}, (1, 1, 1))


@pytest.mark.parametrize(
    ("decl", "what", "fix"),
    [
        (
            BufferDecl.read("x", 1, DataType.VEC4_U32),
            "buffer 'x' of vec4u32",
            "declare it with a scalar element type",
        ),
        (
            BufferDecl.read_write("x", 1, U32).with_kind(MemoryKind.LOCAL),
            "buffer 'x' in local memory",
            "use names bound with let instead",
        ),
    ],
)
def test_buffers_that_cannot_be_run_with_are_refused(decl, what, fix):
    with pytest.raises(UnsupportedFeature) as raised:
        run(program(buffers=[decl]), {}, (1, 1, 1))
    assert (raised.value.problem, raised.value.fix) == (f"the reference cannot run {what}", fix)


def frozen():
    array = np.zeros(4, np.uint32)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("arrays", "problem", "fix"),
    [
        ({}, "buffer 'out' has no array", "pass one under 'out'"),
        (
            {"out": np.zeros(4, np.uint32), "z": np.zeros(1)},
            "array 'z' is for no buffer; the program has: out",
            "leave it out, or give it a buffer's name",
        ),
        (
            {"out": np.zeros(4, np.int64)},
            "array 'out' is int64; u32 is kept as uint32",
            "convert it with .astype(np.uint32)",
        ),
        (
            {"out": np.zeros(8, np.uint32)[::2]},
            "array 'out' is not C-contiguous",
            "copy it with np.ascontiguousarray",
        ),
        (
            {"out": frozen()},
            "array 'out' is read-only, and the program writes it",
            "pass a copy of it",
        ),
    ],
)
def test_an_array_that_does_not_fit_its_buffer_is_refused(arrays, problem, fix):
    with pytest.raises(InvalidInput) as raised:
        run(program(ir.store("out", ME, 1)), arrays, (4, 1, 1))
    assert (raised.value.problem, raised.value.fix) == (problem, fix)


def test_a_flat_array_cannot_tell_the_extents_of_a_buffer_sized_at_run_time():
    decl = BufferDecl.read("x", 1, U32).with_shape(0, 0)
    arrays = {"out": np.zeros(1, np.uint32), "x": np.zeros(6, np.uint32)}

    with pytest.raises(InvalidInput) as raised:
        run(program(buffers=[decl]), arrays, (1, 1, 1))
    assert (raised.value.problem, raised.value.fix) == (
        "array 'x' of shape (6,) for a buffer of rank 2",
        "pass an array with 2 dimensions",
    )


def test_sizes_that_no_launch_has_are_refused():
    arrays = {"out": np.zeros(1, np.uint32)}

    with pytest.raises(InvalidInput) as raised:
        run(program(), arrays, (4, -1, 1))
    assert (raised.value.problem, raised.value.fix) == (
        "extent (4, -1, 1)",
        "give three sizes of at least 0, such as (1000, 1, 1)",
    )
    with pytest.raises(InvalidInput) as raised:
        run(program(), arrays, (4, 1, 1), (0, 1, 1))
    assert (raised.value.problem, raised.value.fix) == (
        "workgroup (0, 1, 1)",
        "give three sizes of at least 1, such as (64, 1, 1)",
    )


def test_a_uniform_scalar_is_an_array_of_one_element():
    decl = BufferDecl.uniform("a", 1, U32).with_count(1)

    for a in (np.array([3], np.uint32), np.array(3, np.uint32)):
        assert result(ir.store("out", ME, ir.load("a", 0) * ME), buffers=[decl], a=a) == [
            *(0, 3, 6, 9, 12, 15)
        ]


@pytest.mark.parametrize("dtype", [DataType.F32, DataType.F64], ids=str)
def test_a_power_of_one_half_for_all_is_a_power_and_not_a_root(dtype):
    """NumPy's shortcut gives NaN at -inf and -0.0 at -0.0."""
    kind = np.dtype(str(dtype).replace("f", "float"))
    x, out = np.array([-np.inf, -0.0, 4.0], kind), np.zeros(3, kind)
    program = ir.Program.wrapped(
        [ir.BufferDecl.read("x", 0, dtype), ir.BufferDecl.write("out", 1, dtype)],
        (64, 1, 1),
        [
            ir.store(
                "out",
                ir.gid(),
                ir.binary(ir.BinaryOp.POW, ir.load("x", ir.gid()), ir.lit(dtype, 0.5)),
            )
        ],
    )

    run(program, {"x": x, "out": out}, (3, 1, 1))

    assert out.tolist() == [np.inf, 0.0, 2.0]
    assert not np.signbit(out[1])
