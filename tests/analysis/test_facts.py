"""How memory is touched, when a bounds check may go, what an invocation costs."""

import pytest

from vyre.analysis import analyse
from vyre.analysis.facts import Pattern
from vyre.ir import BufferDecl, DataType, Program
from vyre.ir.build import (
    assign,
    atomic,
    barrier,
    bitcast,
    buf_dim,
    buf_len,
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
    loop,
    select,
    store,
    u32,
    unary,
    var,
    while_,
)
from vyre.ir.expr import AtomicOp, UnaryOp

I = gid()  # noqa: E741  # as the kernels themselves write it


def test_an_empty_program_is_free_and_costs_nothing():
    found = analyse(Program.empty())

    assert (found.free, found.reasons, found.conditions, found.accesses) == (True, (), (), ())
    assert (found.cost.operations, found.has_unchecked_form) == (0, False)


# -- patterns


@pytest.mark.parametrize(
    ("index", "pattern"),
    [
        (u32(3), Pattern.UNIFORM),
        (load("n", 0), Pattern.UNIFORM),
        (load("n", 0) // u32(2), Pattern.UNIFORM),
        (gid(1), Pattern.UNIFORM),
        (I, Pattern.CONTIGUOUS),
        (I + 7, Pattern.CONTIGUOUS),
        (gid(1) * extent(0) + I, Pattern.CONTIGUOUS),
        (cast(DataType.I32, I) - i32(1), Pattern.CONTIGUOUS),
        (I * 2, Pattern.STRIDED),
        (u32(9) - I, Pattern.STRIDED),
        (I * load("n", 0), Pattern.STRIDED),
        (load("x", I), Pattern.GATHER),
        (I // u32(2), Pattern.GATHER),
        (select(I < 2, I, u32(0)), Pattern.GATHER),
    ],
)
def test_a_pattern_says_where_neighbours_along_x_go(facts, index, pattern):
    *_, access = (a for a in facts(let("v", load("x", index))).accesses if a.index == index)

    assert access.pattern is pattern


@pytest.mark.parametrize(
    ("indices", "pattern"),
    [
        ((gid(1), gid(0)), Pattern.CONTIGUOUS),
        ((gid(0), gid(1)), Pattern.STRIDED),
        ((gid(0), gid(0)), Pattern.STRIDED),
        ((u32(0), u32(1)), Pattern.UNIFORM),
        ((gid(1), u32(1)), Pattern.UNIFORM),
        ((load("x", I), gid(0)), Pattern.GATHER),
    ],
)
def test_a_pattern_of_rows_looks_at_the_last_axis(facts, indices, pattern):
    found = facts(let("v", load("image", flat_index("image", *indices))))

    (access,) = (a for a in found.accesses if a.buffer == "image")
    assert access.pattern is pattern


def test_accesses_come_in_order_with_their_statement(facts):
    found = facts(let("v", load("x", I)), store("out", I + 1, var("v")))

    assert [(a.kind, a.buffer, a.statement) for a in found.accesses] == [
        ("load", "x", "let v = x[gid(0)]"),
        ("store", "out", "out[gid(0) + 1u32] = v"),
    ]


def test_a_scalar_argument_is_no_access(facts):
    assert facts(let("v", load("n", 0) + 1), let("w", load("a", 0))).accesses == ()


# -- bounds


def only(found):
    (access,) = found.accesses
    return access


@pytest.mark.parametrize(
    ("index", "good", "bad"),
    [
        (I, (100,), (101,)),
        (I * 3, (34,), (35,)),
        (I * 3 + 2, (33,), (34,)),
        (gid(1) * extent(0) + I, (10, 10), (11, 10)),
        (I * 0, (1 << 30,), None),
        (u32(99), (1,), None),
        (cast(DataType.I32, I), (100,), (101,)),
        (cast(DataType.U64, I), (100,), (101,)),
        (bitcast(DataType.I32, I), (100,), (101,)),
        (buf_len("x") - 1 - I, (100,), (101,)),
    ],
)
def test_a_check_may_go_where_every_index_is_inside(facts, launch, index, good, bad):
    access = only(facts(let("v", load("x", index))))

    assert access.safe(launch(*good))
    assert bad is None or not access.safe(launch(*bad))


@pytest.mark.parametrize("index", [I + 1, I * 3 + 3, u32(9) - I])
def test_an_index_that_reaches_into_a_neighbours_stretch_keeps_its_check(facts, index):
    assert only(facts(let("v", load("x", index)))).in_bounds is None


@pytest.mark.parametrize(
    "index",
    [
        I - 1,
        load("out", I),
        I // u32(2) + 40,
        bitcast(DataType.U32, cast(DataType.F32, I)),
    ],
)
def test_an_index_that_may_be_anywhere_keeps_its_check(facts, index):
    *_, access = (a for a in facts(let("v", load("x", index))).accesses if a.index == index)

    assert access.in_bounds is None


def test_what_must_hold_is_told_in_the_users_terms(facts):
    rows = only(facts(let("v", load("image", flat_index("image", gid(1), I * 2 + 1)))))
    cells = only(facts(let("v", load("table", flat_index("table", gid(1), I)))))
    flat = only(facts(let("v", load("table", I))))
    run = only(facts(loop("k", 0, 4, [let("v", load("x", I * 4 + var("k")))])))

    assert [str(item) for item in rows.in_bounds] == [
        "0 <= gid(1) < image.shape[0]",
        "0 <= (2)*gid(0) + 1 < image.shape[1]",
    ]
    assert [str(item) for item in cells.in_bounds] == ["0 <= gid(1) < 3", "0 <= gid(0) < 4"]
    assert [str(item) for item in flat.in_bounds] == ["0 <= gid(0) < 12"]
    assert [str(item) for item in run.in_bounds] == ["0 <= (4)*gid(0) + k < len(x)"]


def test_every_axis_is_inside_its_own_extent(facts, launch):
    access = only(facts(let("v", load("image", flat_index("image", gid(1), I)))))

    assert access.safe(launch(9, 4, image=(4, 9)))
    assert not access.safe(launch(10, 3, image=(4, 9)))
    assert not access.safe(launch(8, 5, image=(4, 9)))


def test_an_index_that_wraps_back_inside_is_not_proved(facts, launch):
    wrapped = only(facts(let("v", load("x", I * (1 << 16)))))

    assert wrapped.safe(launch(2, x=1 << 20))
    assert not wrapped.safe(launch((1 << 16) + 1, x=(1 << 32) - 2))


def test_a_signed_index_ends_at_its_types_end(facts, launch):
    narrow = only(facts(let("v", load("x", cast(DataType.I32, I)))))
    widened = only(facts(let("v", load("x", cast(DataType.I64, cast(DataType.I32, I))))))
    wide = only(facts(let("v", load("x", cast(DataType.I64, I)))))
    huge = {"x": (1 << 32) - 2}

    assert narrow.safe(launch(1 << 31, **huge))
    assert not narrow.safe(launch((1 << 31) + 1, **huge))
    assert widened.safe(launch(1 << 31, **huge))
    assert not widened.safe(launch((1 << 31) + 1, **huge))
    assert wide.safe(launch((1 << 32) - 2, **huge))


def test_a_constant_that_wrapped_is_what_it_became(facts, launch):
    became_44 = cast(DataType.U32, lit(DataType.U8, 200) + lit(DataType.U8, 100))
    access = only(facts(let("v", load("x", u32(310) - became_44))))

    assert not access.safe(launch(1, x=266))
    assert access.safe(launch(1, x=267))


def test_a_loop_is_inside_to_its_last_round(facts, launch):
    access = only(facts(loop("k", 2, load("n", 0), [let("v", load("x", I + var("k")))])))

    assert access.safe(launch(10, n=91))
    assert not access.safe(launch(10, n=92))
    assert access.safe(launch(10, n=2))  # no rounds
    assert access.safe(launch(100, n=0))


def test_a_loop_whose_end_wrapped_is_not_proved(facts, launch):
    body = [let("v", load("x", I + var("k")))]
    below = only(facts(loop("k", 0, load("n", 0) - 5, body)))
    above = only(facts(loop("k", u32(0xFFFF_FFFF) + u32(91), 95, body)))

    assert below.safe(launch(10, n=8))
    assert not below.safe(launch(10, n=4))
    assert not above.safe(launch(10))


def test_invocations_beyond_the_extent_keep_the_checks_of_a_program_with_barriers(facts, launch):
    plain = store("out", I, I)
    tile = BufferDecl.workgroup("tile", 4, DataType.U32)

    assert facts(plain).unchecked_for(launch(100))
    for found in (facts(barrier(), plain), facts(plain, extra=(tile,))):
        assert only(found).in_bounds is None
    assert only(facts(barrier(), store("out", 3, 1))).safe(launch(100))


def test_all_provable_checks_go_together_and_the_others_stay(facts, launch):
    found = facts(store("out", I, load("x", load("x", I * 2 + 1))))

    assert found.has_unchecked_form
    assert found.unchecked_for(launch(50))
    assert not found.unchecked_for(launch(51))
    assert [a.in_bounds is None for a in found.accesses] == [True, False, False]
    unknown = bitcast(DataType.U32, load("a", 0))
    assert not facts(store("out", load("x", unknown), 1)).has_unchecked_form


def test_accesses_that_look_alike_are_each_proved(facts, launch):
    """An emitter knows an access by its text, and the two loops write the same one."""
    body = [store("out", I * 8 + var("k"), 1)]
    found = facts(loop("k", 0, 4, body), loop("k", 0, buf_len("x"), body))

    assert [a.safe(launch(12)) for a in found.accesses] == [True, False]
    assert not found.unchecked_for(launch(12))


def test_choices_by_conditions_that_nobody_follows_are_different_numbers(facts, launch):
    far = u32(1 << 30)

    def chosen(index):
        return select(load("table", 0) < load("table", index), I, far)

    one = facts(
        let("p", chosen(1)),
        let("q", chosen(2)),
        if_(var("p") < buf_len("out"), [store("out", var("q"), 1)]),
    )
    same = facts(let("p", chosen(1)), if_(var("p") < buf_len("out"), [store("out", var("p"), 1)]))

    assert not one.accesses[-1].safe(launch(100))
    assert same.accesses[-1].safe(launch(100))


def test_the_length_of_workgroup_memory_is_a_number(facts, launch):
    tile = BufferDecl.workgroup("tile", 4, DataType.U32)

    assert only(facts(store("tile", buf_len("tile") - 1, 1), extra=(tile,))).safe(launch(9))


def test_the_one_extent_of_a_line_is_its_length(facts):
    access = only(facts(let("v", load("x", buf_dim("x", 0) - 1))))

    assert [str(item) for item in access.in_bounds] == ["0 <= -1 + len(x) < len(x)"]


# -- cost


def test_cost_counts_bytes_operations_and_functions_in_their_rounds(facts):
    found = facts(
        let("v", load("image", flat_index("image", gid(1), I)) * load("a", 0)),
        loop("k", 0, 10, [let("w", unary(UnaryOp.EXP, var("v")) + f32(1.0))]),
        let("old", atomic(AtomicOp.ADD, "out", 0, 1)),
        store("sum", I, var("v")),
    )

    assert found.cost.loaded_bytes == 4 + 4
    assert found.cost.stored_bytes == 4 + 4
    assert found.cost.operations == 1 + 10 * 2
    assert found.cost.transcendental == 10


def test_loops_of_unknown_length_are_guessed_and_empty_ones_cost_nothing(facts):
    body = [let("v", load("x", I))]

    assert facts(loop("k", 0, load("n", 0), body)).cost.loaded_bytes == 16 * 4
    assert facts(loop("k", 3, 3, body)).cost.loaded_bytes == 0
    assert facts(loop("k", 3, 0, body)).cost.loaded_bytes == 0
    assert facts(loop("j", 0, 2, [loop("k", 0, 3, body)])).cost.loaded_bytes == 6 * 4


def test_workgroup_memory_moves_no_bytes(facts):
    tile = BufferDecl.workgroup("tile", 4, DataType.U32)

    assert facts(store("tile", 0, 1), extra=(tile,)).cost.stored_bytes == 0


def test_branches_that_neighbours_may_take_differently_are_listed_once(facts):
    odd = if_(load("x", I).eq(1), [])
    found = facts(
        if_(load("n", 0) > 3, []),
        if_(load("a", 0) > f32(0.0), []),
        odd,
        odd,
        loop("k", 0, load("n", 0), []),
        loop("k", 0, I, []),
        let("i", u32(0)),
        while_(var("i") < 3, [assign("i", var("i") + 1)]),
    )

    assert found.cost.divergent == (
        "if x[gid(0)] == 1u32:",
        "for k in 0u32 .. gid(0):",
        "while i < 3u32:",
    )


def test_a_scalar_read_anywhere_but_at_0_may_differ_between_neighbours(facts):
    assert facts(if_(load("n", I).eq(1), [])).cost.divergent == ("if n[gid(0)] == 1u32:",)


def test_scalars_that_reach_a_loop_are_named(facts):
    found = facts(
        loop("k", 0, load("n", 0) * 2, []),
        while_(load("m", 0) > i32(3), []),
        store("sum", I, load("a", 0)),
    )

    assert found.loop_scalars == ("m", "n")
