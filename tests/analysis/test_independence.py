"""Which programs are free of the launch shape, under which conditions, and why others are not."""

from dataclasses import replace

import pytest

from vyre.analysis import analyse
from vyre.ir import BufferDecl, DataType, Program
from vyre.ir.build import (
    assign,
    atomic,
    barrier,
    block,
    buf_dim,
    buf_len,
    call,
    cast,
    extent,
    f32,
    flat_index,
    gid,
    i32,
    if_,
    let,
    lit,
    load,
    local_id,
    loop,
    print_,
    return_,
    select,
    store,
    u32,
    var,
    while_,
    workgroup_id,
    workgroup_size,
)
from vyre.ir.declare import MemoryKind
from vyre.ir.expr import AtomicOp, Binary, BinaryOp, OpaqueExpr, Ordering, Subgroup, SubgroupOp
from vyre.ir.node import (
    AllReduce,
    AsyncWait,
    CollectiveOp,
    IndirectDispatch,
    OpaqueNode,
    Return,
    Trap,
)

I = gid()  # noqa: E741  # as the kernels themselves write it
MINE = cast(DataType.F32, I)  # a value that differs from one invocation to the next


def reasons(found) -> list[str]:
    assert not found.free
    assert found.conditions == found.stated == ()
    return [str(reason) for reason in found.reasons]


def conditions(found) -> list[str]:
    assert found.reasons == ()
    return [str(condition) for condition in found.conditions]


# -- what has a shape in it


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (
            store("out", I, local_id()),
            "out[gid(0)] = local_id(0): local_id(0) depends on the launch shape",
        ),
        (
            if_(workgroup_id(1).eq(0), []),
            "if workgroup_id(1) == 0u32:: workgroup_id(1) depends on the launch shape",
        ),
        (
            let("w", workgroup_size(2)),
            "let w = workgroup_size(2): workgroup_size(2) depends on the launch shape",
        ),
        (barrier(), "barrier seq_cst: a barrier waits for the invocations of one workgroup"),
        (
            barrier(Ordering.GRID_SYNC),
            "barrier grid_sync: a barrier waits for the invocations of one workgroup",
        ),
        (
            let("s", Subgroup(SubgroupOp.ADD, (I,))),
            "let s = subgroup_add(gid(0)): subgroup_add(gid(0)) depends on the lanes of a subgroup",
        ),
        (
            let("s", Binary(BinaryOp.SHUFFLE, I, u32(1))),
            "let s = shuffle(gid(0), 1u32): shuffle depends on the lanes of a subgroup",
        ),
        (
            let("c", call("some.op", I)),
            "let c = some.op(gid(0)): the analysis cannot see into the call of some.op",
        ),
        (
            let("c", OpaqueExpr("some.kind", b"ab")),
            "let c = opaque[some.kind](2 bytes): the analysis cannot see into some.kind",
        ),
        (
            let("old", atomic(AtomicOp.LRU_UPDATE, "out", I, 1)),
            "let old = atomic_lru_update(out[gid(0)], 1u32): "
            "the analysis cannot see into atomic lru_update",
        ),
        (
            IndirectDispatch("x", 0),
            "IndirectDispatch(x, 0): the analysis cannot see into IndirectDispatch",
        ),
        (AsyncWait("t"), "AsyncWait(t): the analysis cannot see into AsyncWait"),
        (Trap(I, "t"), "trap 't' at gid(0): what it says would be said once for each trial"),
        (
            print_("at ", (I, DataType.U32, "3d"), "\n"),
            'print "at {gid(0):3d}\\n": what it says would be said once for each trial',
        ),
        (
            AllReduce("out", CollectiveOp.SUM),
            "AllReduce(out, 1, 0): the analysis cannot see into AllReduce",
        ),
        (
            OpaqueNode("some.kind", b"ab"),
            "opaque some.kind (2 bytes): the analysis cannot see into OpaqueNode",
        ),
    ],
)
def test_what_depends_on_the_launch_shape_or_cannot_be_seen_is_refused(facts, node, reason):
    assert reasons(facts(node)) == [reason]
    assert reasons(facts(block([if_(I < 3, [node])]))) == [reason]


def test_a_program_marked_as_not_composable_is_refused():
    found = analyse(replace(Program.empty(), non_composable=True))

    assert reasons(found) == ["program: it is marked as not composable with itself"]


@pytest.mark.parametrize(
    "tile",
    [
        BufferDecl.workgroup("tile", 4, DataType.U32),
        BufferDecl.workgroup("tile", 4, DataType.U32).with_kind(MemoryKind.GLOBAL),
        BufferDecl.read_write("tile", 9, DataType.U32).with_count(4).with_kind(MemoryKind.SHARED),
    ],
)
def test_workgroup_memory_is_refused_by_its_access_and_by_its_kind(facts, tile):
    found = facts(extra=(tile,))

    assert reasons(found) == ["workgroup tile: workgroup memory is shared by a workgroup"]


def test_every_reason_is_given_not_only_the_first(facts):
    found = facts(barrier(), let("a_lane", local_id()), store("out", 0, I))

    assert len(reasons(found)) == 3


# -- own elements


@pytest.mark.parametrize(
    ("index", "good", "bad"),
    [
        (I, (9,), (9, 2)),
        (I + 5, (9,), (9, 2)),
        (u32(7) - I, (9,), (9, 2)),
        (I * 3, (9,), ((1 << 31) + 1,)),
        (I * load("n", 0), (9,), (9, 1, 1, 0)),
        (I << u32(2), (1 << 30,), ((1 << 30) + 1,)),
        (-cast(DataType.I32, I), (9,), (9, 2)),
        (cast(DataType.U64, I) * lit(DataType.U64, 1 << 31), ((1 << 32) - 2,), (9, 2)),
        (gid(1) * extent(0) + gid(0), (9, 4), (9, 4, 2)),
        (gid(1) * 10 + gid(0), (9, 4), (11, 4)),
        (gid(0) * extent(1) + gid(1), (9, 4), (9, 4, 2)),
        ((gid(2) * extent(1) + gid(1)) * extent(0) + gid(0), (5, 4, 3), (1 << 20, 1 << 12, 2)),
        (gid(2) * 12 + gid(1) * 4 + gid(0), (4, 3, 9), (4, 4, 2)),
        (gid(0) + gid(1), (9, 1), (9, 2)),
    ],
)
def test_an_index_that_tells_all_invocations_apart_is_free_until_it_wraps(
    facts, launch, index, good, bad
):
    found = facts(store("out", index, I))
    n = 1 if len(bad) < 4 else bad[3]

    assert found.free
    assert found.free_for(launch(*good, n=2))
    assert not found.free_for(launch(*bad[:3], n=n))


@pytest.mark.parametrize(
    "index",
    [
        I // u32(2),
        Binary(BinaryOp.MOD, I, u32(3)),
        Binary(BinaryOp.MIN, I, u32(3)),
        I & 3,
        I >> u32(1),
        select(I < 2, I, u32(0)),
        I * I,
        load("x", I),
        cast(DataType.U8, I * 16),
        cast(DataType.U32, cast(DataType.F32, I)),
    ],
)
def test_an_index_that_may_repeat_is_refused(facts, index):
    found = facts(store("out", index, I))

    (reason,) = reasons(found)
    assert reason.endswith(f"{NOT_PROVED} {ASK}")


NOT_PROVED = "two invocations may write one element of out: its index is not proved unique"
ASK = '(state it with unique_writes=("out",) if it is)'
ANYWHERE = store("out", load("x", I), I)


def test_what_its_author_is_asked_to_state_makes_it_free(facts):
    branch = if_(load("x", I) < 3, [store("out", 0, I)])

    for nodes in ((ANYWHERE,), (branch,), (ANYWHERE, branch)):
        assert reasons(facts(*nodes))[0].endswith(ASK)
        assert facts(*nodes, stated="out").free


def test_several_arrays_are_asked_for_together(facts):
    found = reasons(facts(ANYWHERE, store("fixed", load("x", I), I)))

    assert [reason.partition("unique ")[2] for reason in found] == [
        '(state it with unique_writes=("fixed", "out") if it is)'
    ] * 2


@pytest.mark.parametrize(
    "node",
    [
        *(store("out", index, I) for index in (u32(3), load("n", 0), I - I)),
        if_(load("n", 0) < 3, [store("out", 0, I)]),
        loop("k", 0, 4, [store("out", var("k"), I)]),
    ],
)
def test_what_cannot_be_true_is_not_asked_for(facts, node):
    (reason,) = reasons(facts(node))

    assert reason.endswith(NOT_PROVED)


@pytest.mark.parametrize(
    "other",
    [
        let("v", load("out", 0)),
        store("sum", 0, MINE),
        barrier(),
        let("lane", local_id()),
        store("fixed", 0, I),
    ],
)
def test_what_would_not_make_it_free_is_not_asked_for(facts, other):
    for reason in reasons(facts(ANYWHERE, other)):
        assert "unique_writes" not in reason


def test_who_left_before_may_be_the_others(facts):
    only_some = if_(load("x", I) < 3, [return_()])

    assert reasons(facts(only_some, store("out", 0, I)))[0].endswith(ASK)
    assert reasons(facts(store("out", 0, I), only_some))[0].endswith(NOT_PROVED)


def test_a_condition_is_told_in_the_users_terms(facts):
    row = store("image", flat_index("image", gid(1), gid(0)), MINE)
    found = facts(store("out", gid(1) * extent(0) + gid(0) + 2, 1 + I), row)

    assert conditions(found) == [
        "each invocation has its own elements of image[gid(1), gid(0)]",
        "each invocation has its own elements of out[(extent(0))*gid(1) + gid(0) + 2]",
    ]


def test_an_index_that_is_only_partly_known_is_told_with_a_question_mark(facts):
    found = facts(store("image", flat_index("image", load("x", I), gid(0)), MINE))

    assert conditions(found) == ["each invocation has its own elements of image[?, gid(0)]"]


def test_axes_of_an_index_tell_apart_together(facts, launch):
    found = facts(store("image", flat_index("image", gid(1), gid(0)), MINE))

    assert found.free_for(launch(9, 4, image=(4, 9)))
    assert not found.free_for(launch(9, 4, 2, image=(4, 9)))


def test_one_axis_is_enough_where_it_tells_all_apart(facts, launch):
    found = facts(store("image", flat_index("image", load("x", I), I), MINE))

    assert found.free_for(launch(9))
    assert not found.free_for(launch(9, 2))


def test_an_axis_that_one_access_leaves_open_tells_nothing(facts, launch):
    rows = store("image", flat_index("image", gid(1), gid(0)), MINE)
    anywhere = store("image", flat_index("image", load("x", I), gid(0)), MINE)

    assert facts(rows).free_for(launch(9, 4))
    assert facts(rows, anywhere).free_for(launch(9))
    assert not facts(rows, anywhere).free_for(launch(9, 4))


def test_two_indices_must_go_in_step(facts, launch):
    for other in (I * 2, u32(3) - I, I + 1, u32(0)):
        assert not facts(store("out", I, I), store("out", other, I)).free_for(launch(9))
    assert facts(store("out", I * 2, I), store("out", I * 2 + 1, I)).free_for(launch(9))


def test_an_array_used_flat_and_by_axes_is_refused(facts):
    rows = store("image", flat_index("image", gid(1), gid(0)), f32(1.0))
    found = facts(rows, store("image", gid(1) * extent(0) + gid(0), f32(2.0)))

    assert reasons(found) == [
        "image[gid(1), gid(0)] = 1.0: two invocations may write one element of image"
    ]


def test_the_flat_index_of_another_array_tells_nothing(facts):
    found = facts(store("out", flat_index("image", gid(1), gid(0)), I))

    assert len(reasons(found)) == 1


def test_two_widths_of_one_index_are_compared_in_the_narrower(facts, launch):
    wide = store("out", cast(DataType.U64, I) * lit(DataType.U64, 1 << 33), 1)
    narrow = store("out", (I << u32(31)) << u32(2), I)  # always 0

    assert facts(wide).free_for(launch(4))
    for nodes in ((wide, narrow), (narrow, wide)):
        assert not facts(*nodes).free_for(launch(4))
    assert facts(store("out", cast(DataType.U64, I), 1), store("out", I, I)).free_for(launch(4))


def test_a_constant_that_wrapped_is_widened_as_what_it_became(facts, launch):
    became_44 = cast(DataType.U32, lit(DataType.U8, 200) + lit(DataType.U8, 100))
    other = store("out", I * 256 + 300, I)

    assert not facts(store("out", I * 256 + became_44, I), other).free_for(launch(4))
    assert facts(store("out", I * 257 + became_44, I), store("out", I * 257 + 300, I)).free_for(
        launch(4)
    )


def test_an_id_made_signed_is_not_the_same_number_in_a_wider_type(facts, launch):
    signed = facts(store("out", cast(DataType.I64, cast(DataType.I32, I)), I))

    assert signed.free_for(launch(1 << 31))
    assert not signed.free_for(launch((1 << 31) + 1))
    assert facts(store("out", cast(DataType.I64, I), I)).free


# -- loops


def test_runs_that_a_loop_writes_are_told_apart_by_their_stride(facts, launch):
    def run(count):
        return facts(loop("k", 0, count, [store("out", I * 4 + var("k"), var("k"))]))

    assert run(4).free_for(launch(9))
    assert not run(5).free_for(launch(9))
    assert conditions(run(4)) == ["each invocation has its own elements of out[(4)*gid(0) + k]"]


def test_a_loop_over_rows_keeps_columns_apart(facts, launch):
    found = facts(loop("k", 0, load("n", 0), [store("out", var("k") * extent(0) + I, I)]))

    assert found.free_for(launch(9, n=1000))
    assert not found.free_for(launch(9, n=(1 << 32) - 1))


def test_two_loops_over_one_stride_must_also_start_alike(facts, launch):
    def runs(first, second):
        return facts(
            loop("k", *first, [store("out", I * 4 + var("k"), I)]),
            loop("k", *second, [store("out", I * 4 + var("k"), I * 2)]),
        )

    assert runs((0, 4), (0, 4)).free_for(launch(9))
    assert not runs((0, 4), (2, 6)).free_for(launch(9))
    assert not runs((0, 1), (4, 5)).free_for(launch(9))
    assert runs((0, 2), (2, 4)).free_for(launch(9))


def test_a_run_beside_a_single_element_counts_to_its_end(facts, launch):
    def both(count):
        body = [store("out", I * 4 + var("k"), I)]
        return facts(store("out", I * 4, I), loop("k", 0, count, body))

    assert both(4).free_for(launch(9))
    assert not both(5).free_for(launch(9))


def test_nested_loops_are_digits_of_the_index(facts, launch):
    def runs(stride):
        body = [store("out", I * stride + var("j") * 3 + var("k"), I)]
        return facts(loop("j", 0, 2, [loop("k", 0, 3, body)]))

    assert runs(6).free_for(launch(9))
    assert not runs(5).free_for(launch(9))


def test_a_bound_that_wrapped_proves_nothing(facts, launch):
    body = [store("out", I * 4 + var("k"), I)]
    less = facts(loop("k", 0, load("n", 0) - 5, body))
    more = facts(loop("k", u32(0xFFFF_FFFF) + u32(3), 6, body))

    assert less.free_for(launch(9, n=9))
    assert not less.free_for(launch(9, n=4))
    assert more.free_for(launch(9))  # it is 2 then, which is known


def test_a_loop_without_rounds_writes_nothing(facts, launch):
    found = facts(loop("k", load("n", 0), 3, [store("out", I * 2 + var("k"), I)]))

    assert found.free_for(launch(9, n=3))
    assert found.free_for(launch(9, n=50))
    assert not found.free_for(launch(9, n=0))


def test_a_loop_of_ones_own_length_counts_for_nothing(facts):
    assert not facts(loop("k", 0, I, [store("out", I + var("k"), I)])).free
    assert not facts(loop("k", 0, load("x", I), [store("out", I + var("k"), I)])).free


# -- names


def test_a_name_stands_for_what_it_was_given_last(facts):
    assert facts(let("i", I), store("out", var("i"), 1 + I)).free
    assert not facts(let("i", I), assign("i", u32(0)), store("out", var("i"), I)).free
    assert facts(
        let("i", I), let("j", var("i") + 1), assign("i", u32(0)), store("out", var("j"), I)
    ).free
    assert not facts(
        let("i", I), while_(var("i") < 3, [store("out", var("i"), I), assign("i", u32(3))])
    ).free


# -- reads of what is written


def test_reading_ones_own_element_is_free_and_reading_another_is_not(facts, launch):
    own = facts(store("out", I, load("out", I) + 1))
    next_one = facts(store("out", I, load("out", I + 1)))
    first = facts(store("out", I, load("out", u32(0))))
    any_one = facts(store("out", I, load("out", load("x", I))))

    assert own.free_for(launch(9))
    assert not next_one.free_for(launch(9))
    assert not first.free_for(launch(9))
    assert reasons(any_one) == [
        "out[gid(0)] = out[x[gid(0)]]: it may read an element of out that another invocation writes"
    ]


def test_reads_far_from_all_writes_are_free(facts, launch):
    found = facts(loop("k", 0, 4, [store("out", I * 8 + var("k"), load("out", I * 8 + 6))]))

    assert found.free_for(launch(9))


def test_a_buffer_that_is_only_read_needs_no_condition(facts):
    assert conditions(facts(let("a_value", load("x", load("x", I))))) == []


# -- guards


def test_a_guard_for_one_invocation_makes_every_element_its_own(facts, launch):
    found = facts(if_(I.eq(load("n", 0)), [store("out", 0, I), store("out", load("x", 3), I)]))

    assert found.free_for(launch(9))
    assert not found.free_for(launch(9, 2, n=3))
    assert conditions(found) == [
        "each invocation has its own elements of out[0], [?] where gid(0) + -1*n == 0"
    ]


def test_guards_work_together_and_with_the_index(facts, launch):
    corner = Binary(BinaryOp.AND, gid(0).eq(0), gid(1).eq(2))
    both = facts(if_(corner, [store("out", 0, I)]))
    nested = facts(if_(gid(0).eq(0), [if_(gid(1).eq(2), [store("out", 0, I)])]))
    column = facts(if_(gid(0).eq(0), [store("out", gid(1), I)]))

    for found in (both, nested, column):
        assert found.free_for(launch(9, 4))
        assert not found.free_for(launch(9, 4, 2))


@pytest.mark.parametrize(
    "nodes",
    [
        (if_(I.eq(0), [store("out", 0, 1)]), if_(I.eq(1), [store("out", 0, 2)])),
        (if_(I.eq(0), [], [store("out", 0, I)]),),
        (if_(I < 2, [store("out", 0, I)]),),
        (if_(Binary(BinaryOp.OR, I.eq(0), I.eq(1)), [store("out", 0, I)]),),
        (loop("k", 0, 3, [if_(I.eq(var("k")), [store("out", 0, I)])]),),
        (if_(I.eq(load("x", I)), [store("out", 0, I)]),),
        (if_(I.eq(0), [store("out", 0, I)]), store("out", 0, 5)),
        (let("t", load("out", 0)), if_(I.eq(0), [store("out", 0, var("t") + 1)])),
    ],
)
def test_guards_that_let_several_invocations_to_one_element_are_refused(facts, nodes):
    assert not facts(*nodes).free


@pytest.mark.parametrize(
    "cond", [(I << u32(31)).eq(0), (I * load("n", 0)).eq(0), gid(0).eq(gid(1)), (I - I).eq(0)]
)
def test_a_guard_that_does_not_tell_apart_is_refused_at_launch(facts, launch, cond):
    assert not facts(if_(cond, [store("out", 0, I)])).free_for(launch(9, 9, n=0))


def test_guards_that_read_alike_in_two_widths_are_two(facts, launch):
    wide = (cast(DataType.U64, I) * lit(DataType.U64, 1 << 33)).eq(lit(DataType.U64, 0))
    narrow = ((I << u32(31)) << u32(2)).eq(0)  # always so

    assert facts(if_(wide, [store("out", 0, I)])).free_for(launch(4))
    assert not facts(if_(wide, [store("out", 0, I)]), if_(narrow, [store("out", 0, 7)])).free


def test_a_guard_against_the_tail_changes_nothing(facts, launch):
    found = facts(if_(load("n", 0) > I, [store("out", I, 1 + I)]), Return())

    assert found.free_for(launch(9, n=4))


# -- atomics and constants


@pytest.mark.parametrize(
    "op", [AtomicOp.ADD, AtomicOp.OR, AtomicOp.AND, AtomicOp.XOR, AtomicOp.MIN, AtomicOp.MAX]
)
def test_commutative_integer_atomics_are_free_wherever_they_meet(facts, launch, op):
    found = facts(let("old", atomic(op, "out", load("x", I), I)))

    assert conditions(found) == []
    assert found.free_for(launch(9, 9, 9))


@pytest.mark.parametrize("op", [AtomicOp.MIN, AtomicOp.MAX])
def test_the_least_and_the_greatest_float_are_the_same_in_any_order(facts, op):
    """A NaN never replaces what stands there, and -0 is below +0."""
    assert conditions(facts(let("old", atomic(op, "sum", 0, f32(1.0))))) == []


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        (
            [let("old", atomic(AtomicOp.ADD, "sum", 0, f32(1.0)))],
            "let old = atomic_add(sum[0u32], 1.0): "
            "the result of atomic add on sum depends on the order",
        ),
        (
            [let("old", atomic(AtomicOp.EXCHANGE, "out", 0, I))],
            "let old = atomic_exchange(out[0u32], gid(0)): "
            "the result of atomic exchange on out depends on the order",
        ),
        (
            [let("old", atomic(AtomicOp.COMPARE_EXCHANGE, "out", 0, I, u32(0)))],
            "let old = atomic_compare_exchange(out[0u32], 0u32, gid(0)): "
            "the result of atomic compare_exchange on out depends on the order",
        ),
        (
            [let("old", atomic(AtomicOp.FETCH_NAND, "out", 0, I))],
            "let old = atomic_fetch_nand(out[0u32], gid(0)): "
            "the result of atomic fetch_nand on out depends on the order",
        ),
        (
            [let("old", atomic(AtomicOp.ADD, "out", 0, 1)), let("b", var("old"))],
            "let old = atomic_add(out[0u32], 1u32): "
            "the value atomic add returns depends on the order",
        ),
        (
            [let("more", atomic(AtomicOp.ADD, "out", 0, 1) + 1)],
            "let more = atomic_add(out[0u32], 1u32) + 1u32: "
            "the value atomic add returns depends on the order",
        ),
        (
            [let("a_b", atomic(AtomicOp.ADD, "out", 0, 1)), let("b", load("out", 3))],
            "let b = out[3u32]: out is also changed by atomic add, and the order is not fixed",
        ),
        (
            [let("a_b", atomic(AtomicOp.ADD, "out", 0, 1)), store("out", 1, 7)],
            "out[1u32] = 7u32: out is also changed by atomic add, and the order is not fixed",
        ),
        (
            [
                let("a_b", atomic(AtomicOp.ADD, "out", 0, 1)),
                let("b", atomic(AtomicOp.OR, "out", 0, 1)),
            ],
            "let b = atomic_or(out[0u32], 1u32): "
            "out is also changed by atomic add, and the order is not fixed",
        ),
    ],
)
def test_what_depends_on_the_order_of_atomics_is_refused(facts, nodes, reason):
    assert reasons(facts(*nodes)) == [reason]


def test_any_atomic_on_ones_own_element_is_free(facts, launch):
    found = facts(store("out", I, atomic(AtomicOp.EXCHANGE, "out", I, 1)))

    assert found.free_for(launch(9))


def test_one_constant_for_all_is_free_and_two_are_not(facts):
    assert conditions(facts(store("out", load("x", I), 7), store("out", 0, 7))) == []
    assert not facts(store("out", 0, 7), if_(I < 3, [store("out", 0, 8)])).free
    assert not facts(store("out", 0, load("n", 0) + I)).free
    assert not facts(store("out", 0, 7), let("t", load("out", 0))).free


# -- what the author states


def test_a_statement_of_the_author_stands_for_the_proof_and_is_told(facts, launch):
    found = facts(store("out", load("x", I), I), stated="out")

    assert (found.free, found.reasons, found.stated) == (True, (), ("out",))
    assert found.free_for(launch(9))


def test_what_can_be_proved_does_not_rest_on_a_statement(facts):
    assert facts(store("out", I, I), stated="out").stated == ()


def test_a_statement_about_another_buffer_is_no_help(facts):
    assert not facts(store("out", load("x", I), I), stated="fixed").free


def test_a_statement_about_writes_covers_the_update_of_one_element(facts):
    at = load("x", I)

    assert facts(store("out", at, load("out", at) + 1), stated="out").stated == ("out",)


@pytest.mark.parametrize(
    "nodes",
    [
        (
            let("t", load("out", load("x", I))),
            if_(I.eq(0), [store("out", load("x", I), var("t"))]),
        ),
        (
            let("j", load("x", I)),
            store("out", var("j"), I),
            assign("j", var("j") + 1),
            let("t", load("out", var("j"))),
        ),
        (store("out", load("x", I), load("out", 0)),),
        (
            # The index is read twice, and the atomic may change it in between.
            store(
                "out",
                load("fixed", I),
                load("out", load("fixed", I)) + atomic(AtomicOp.ADD, "fixed", I, 1),
            ),
        ),
    ],
)
def test_a_statement_about_writes_does_not_cover_other_reads(facts, nodes):
    (reason,) = reasons(facts(*nodes, stated="out"))

    assert reason.endswith("it may read an element of out that another invocation writes")


def test_a_statement_about_writes_does_not_cover_atomics(facts):
    found = facts(let("old", atomic(AtomicOp.EXCHANGE, "out", load("x", I), I)), stated="out")

    assert reasons(found) == [
        "let old = atomic_exchange(out[x[gid(0)]], gid(0)): "
        "the result of atomic exchange on out depends on the order"
    ]


def test_lengths_and_extents_that_are_declared_are_numbers(facts):
    found = facts(store("out", I * buf_len("fixed") + buf_dim("table", 1), I + 1))

    assert conditions(found) == ["each invocation has its own elements of out[(8)*gid(0) + 4]"]


def test_signed_factors_and_scalars_are_followed(facts, launch):
    index = cast(DataType.I32, I) * load("m", 0) + i32(100)
    found = facts(store("out", index, I))

    assert found.free_for(launch(9, m=-3))
    assert not found.free_for(launch(9, m=0))
    assert conditions(found) == ["each invocation has its own elements of out[(m)*gid(0) + 100]"]
