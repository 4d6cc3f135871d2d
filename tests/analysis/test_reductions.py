"""What is proved of programs with reductions: as of loops whose rounds read and write nothing."""

from __future__ import annotations

import pytest

import vyre.analysis.facts as analysis
from vyre.analysis import analyse, check_barriers
from vyre.analysis.aliasing import may_share
from vyre.analysis.coverage import sets_all
from vyre.analysis.facts import Pattern
from vyre.analysis.forms import Counter, Linear, Poly, Unknown
from vyre.analysis.phases import unsettled
from vyre.analysis.reader import GUESSED_ROUNDS, read
from vyre.analysis.uniformity import uniformity
from vyre.errors import InvalidProgram
from vyre.ir import BinaryOp, BufferDecl, DataType, Expr, Node, Program, ReduceOp, UnaryOp
from vyre.ir.build import (
    assign,
    barrier,
    bool_,
    break_,
    buf_dim,
    buf_len,
    cast,
    extent,
    f32,
    flat_index,
    gid,
    if_,
    let,
    load,
    local_id,
    loop,
    reduce_,
    store,
    u32,
    unary,
    var,
    workgroup_id,
    yield_,
)
from vyre.ir.validate import check
from vyre.ir.walk import all_expressions

I, K, S = gid(), var("k"), var("s")  # noqa: E741  # as the kernels themselves write it
U32, F32 = DataType.U32, DataType.F32


def total(
    *body: Node,
    rounds: Expr,
    name: str = "s",
    var: str = "k",
    op: ReduceOp = ReduceOp.SUM,
    dtype: DataType = U32,
) -> Node:
    return reduce_(name, op, dtype, var, rounds=rounds, body=body)


ROW = yield_(load("x", I * buf_len("out") + K))
STORED = store("out", I, S)


# -- launch independence


def test_a_sum_of_ones_own_row_is_free(facts, launch):
    found = facts(total(ROW, rounds=load("n", 0)), STORED)

    assert found.free_for(launch(10, out=10, x=1000, n=100))
    assert [str(item) for item in found.conditions] == [
        "each invocation has its own elements of out[gid(0)]"
    ]


@pytest.mark.parametrize("op", [op for op in ReduceOp if op not in (ReduceOp.ANY, ReduceOp.ALL)])
def test_a_reduction_is_as_free_as_a_map_whatever_its_operation(facts, op):
    assert facts(total(yield_(load("x", K)), rounds=buf_len("x"), op=op), STORED).free
    tests = total(
        yield_(load("x", K) < 3), rounds=u32(4), op=ReduceOp.ANY, dtype=DataType.BOOL, name="t"
    )
    assert facts(tests, if_(var("t"), [store("out", I, u32(1))])).free


def test_rounds_that_read_what_others_write_are_not_free(facts, launch):
    found = facts(total(yield_(load("out", K)), rounds=load("n", 0)), STORED)

    assert not found.free_for(launch(10, out=10, n=10))


def test_rounds_that_read_what_others_write_are_not_free_under_a_condition_either(facts, launch):
    element = if_(load("x", K) > 3, [yield_(load("out", I + K))])
    found = facts(total(element, rounds=u32(4)), STORED)

    assert not found.free_for(launch(10, out=10, x=10))
    assert found.free_for(launch(1, out=10, x=10))


def test_an_index_that_a_reduction_found_is_nobodys_own(facts):
    found = facts(
        total(yield_(load("x", K)), rounds=buf_len("x"), op=ReduceOp.ARGMIN),
        store("out", S, I),
    )

    assert not found.free
    assert "its index is not proved unique" in str(found.reasons[0])


def test_a_lanes_number_in_a_round_makes_the_launch_shape_matter(facts):
    found = facts(total(yield_(local_id() + K), rounds=u32(4)), STORED)

    assert [str(reason) for reason in found.reasons] == [
        "yield local_id(0) + k: local_id(0) depends on the launch shape"
    ]


# -- what is known of names


def test_a_counter_counts_from_nothing_to_the_rounds(program):
    made = program(total(yield_(load("x", K)), rounds=load("n", 0)), STORED)

    touch, _ = read(made).touches
    (form,) = touch.indices
    assert isinstance(form, Linear)
    (counter,) = form.counters()
    assert counter == Counter("k", Poly(), Poly.of(counter.stop.terms[0][0][0]), U32)
    assert str(counter.stop) == "n"


def test_a_counter_of_rounds_that_differ_is_not_known(program):
    made = program(total(yield_(load("x", K)), rounds=I), STORED)

    touch, _ = read(made).touches
    assert touch.indices == (Unknown(),)
    assert not touch.by_all
    assert read(made).divergent == ["let s = sum of u32 for k in 0 .. gid(0):"]


@pytest.mark.parametrize(
    ("element", "rounds", "agreed"),
    [
        (K, u32(4), True),
        (K * load("n", 0) + cast(U32, extent(0)), buf_len("x"), True),
        (load("x", K), u32(4), False),
        (K + I, u32(4), False),
        (K, I, False),
        (K, load("x", 0), False),
    ],
)
def test_a_result_is_agreed_on_where_everything_in_it_is(program, element, rounds, agreed):
    made = program(total(yield_(element), rounds=rounds), store("out", S, I))

    *_, touch = read(made).touches
    assert touch.indices == (Unknown(uniform=agreed),)


def test_what_is_agreed_on_may_pass_through_names(program):
    inner = total(yield_(K + var("j")), rounds=u32(3), name="t", var="j")
    body = (
        let("v", K * 2),
        loop("i", 0, 3, [assign("v", var("v") + var("i"))]),
        inner,
        if_(var("v") > var("t"), [yield_(var("v"))], [yield_(var("w"))]),
    )

    def form_of(outside: Expr):
        made = program(let("w", outside), total(*body, rounds=u32(4)), store("out", S, I))
        return read(made).touches[-1].indices

    assert form_of(u32(3)) == (Unknown(uniform=True),)
    assert form_of(I) == (Unknown(uniform=False),)


def test_a_result_that_is_changed_later_is_not_known(program):
    made = program(total(yield_(K), rounds=u32(4)), assign("s", load("x", I)), store("out", S, I))

    assert read(made).touches[-1].indices == (Unknown(),)


# -- bounds


def test_a_round_needs_no_check_where_the_array_is_as_long(facts, launch):
    found = facts(total(yield_(load("x", K)), rounds=load("n", 0)), STORED)

    assert found.unchecked_for(launch(10, out=10, x=8, n=8))
    assert not found.unchecked_for(launch(10, out=10, x=8, n=9))


def test_no_copy_for_more_rounds_asks_for_longer_rows(facts, launch):
    """Sixteen rounds that are written out are for rows of sixteen; a tile's form is as easy."""
    inner = reduce_(
        "t",
        ReduceOp.SUM,
        F32,
        "k",
        rounds=buf_dim("image", 1),
        body=(yield_(load("image", flat_index("image", I, K))),),
    )
    outer = reduce_(
        "s", ReduceOp.MIN, F32, "c", rounds=load("n", 0), body=(inner, yield_(var("t")))
    )
    found = facts(outer, store("sum", I, S))
    form = found.alone[1]

    assert found.unchecked_for(launch(8, image=(8, 2), sum=8, n=3))
    assert not found.unchecked_for(launch(9, image=(8, 2), sum=9, n=3))
    for accesses in (form.accesses, form.written_out[1].accesses):
        (proof,) = {item.by_axis for item in accesses if item.buffer == "image"}
        assert proof == found.accesses[0].by_axis


def test_what_copies_of_rounds_load_is_proved_once(facts, monkeypatch):
    """A sum in a sum has many loads, in its two forms as well, and one proof."""
    prove, proved = analysis._by_axis, list[str]()

    def noted(touch, *given, **more):
        proved.append(touch.buffer)
        return prove(touch, *given, **more)

    monkeypatch.setattr(analysis, "_by_axis", noted)
    row = yield_(load("image", flat_index("image", I, K)))
    inner = total(row, rounds=buf_dim("image", 1), name="t", dtype=F32)
    outer = total(inner, yield_(var("t")), rounds=load("n", 0), var="c", dtype=F32)
    form = facts(outer, store("sum", I, S)).alone[1]

    for accesses in (form.accesses, form.written_out[1].accesses):
        assert sum(item.buffer == "image" for item in accesses) > 10
    assert proved.count("image") == 1


def test_of_one_index_with_two_proofs_neither_is_taken(facts, launch):
    """Elements `x[k]` of both sums are told apart by nothing but their rounds."""
    several = total(yield_(load("x", K)), rounds=load("n", 0)), STORED
    few = total(yield_(load("x", K)), rounds=u32(3), name="t")
    found = facts(few, *several)

    assert found.unchecked_for(launch(10, out=10, x=3, n=3))
    assert not found.unchecked_for(launch(10, out=10, x=2, n=2))
    assert not found.unchecked_for(launch(10, out=10, x=3, n=4))


def test_a_window_that_is_written_out_takes_no_proof_of_a_condition_it_does_not_stand_under(facts):
    """Its third round loads by the index of the statement behind it, which asks before."""
    loaded = assign("t", var("t") + load("x", I + K))
    asked = assign("t", load("x", I + u32(2)) * u32(2) + var("t"))
    found = facts(
        total(ROW, rounds=u32(3)),
        let("t", S),
        loop("k", u32(0), u32(3), [loaded]),
        if_(I + u32(2) < buf_len("x"), [asked]),
        store("out", I, var("t")),
    )

    proofs = {
        item.statement: item.in_bounds is not None
        for item in found.alone[1].written_out[1].accesses
        if item.statement.startswith("t = ")
    }
    assert proofs == {
        "t = t + x[gid(0) + 0u32]": True,
        "t = t + x[gid(0) + 1u32]": False,
        "t = t + x[gid(0) + 2u32]": False,
        "t = x[gid(0) + 2u32] * 2u32 + t": True,
    }


def test_of_statements_that_read_alike_once_they_are_written_out_none_takes_a_proof(facts):
    """Another one stands under a condition, and reads as the third round of a window does."""
    loaded = assign("t", var("t") + load("x", I + K))
    found = facts(
        total(ROW, rounds=u32(3)),
        let("t", S),
        loop("k", u32(0), u32(3), [loaded]),
        if_(I + u32(2) < buf_len("x"), [assign("t", var("t") + load("x", I + u32(2)))]),
        store("out", I, var("t")),
    )

    proofs = [
        item.in_bounds is not None
        for item in found.alone[1].written_out[1].accesses
        if item.statement == "t = t + x[gid(0) + 2u32]"
    ]
    assert proofs == [False, True]


def test_a_row_of_an_image_needs_no_check(facts, launch):
    at = flat_index("image", I, K)
    found = facts(
        total(yield_(load("image", at)), rounds=buf_dim("image", 1), dtype=F32),
        store("sum", I, S),
    )

    assert found.free_for(launch(8, image=(8, 5), sum=8))
    assert found.unchecked_for(launch(8, image=(8, 5), sum=8))
    assert not found.unchecked_for(launch(9, image=(8, 5), sum=9))


def test_an_index_that_was_found_always_needs_its_check(facts):
    found = facts(
        total(yield_(load("x", K)), rounds=buf_len("x"), op=ReduceOp.ARGMAX),
        store("out", I, load("x", S)),
    )

    accesses = {access.statement: access for access in found.accesses if access.kind == "load"}
    assert accesses["out[gid(0)] = x[s]"].in_bounds is None
    assert accesses["yield x[k]"].in_bounds is not None


def test_neighbours_read_the_same_or_rows(facts):
    patterns = {
        access.index: access.pattern
        for access in facts(
            total(yield_(load("x", K) + load("x", K * extent(0) + I)), rounds=u32(4)), STORED
        ).accesses
    }

    assert patterns[K] is Pattern.UNIFORM
    assert patterns[K * extent(0) + I] is Pattern.CONTIGUOUS


# -- cost


def test_what_rounds_cost_counts_as_often_as_there_are_rounds(facts):
    root = unary(UnaryOp.EXP, cast(F32, load("x", K)))
    found = facts(total(yield_(root), rounds=u32(8), dtype=F32), store("sum", I, S))

    assert found.cost.loaded_bytes == 8 * 4
    assert found.cost.operations == 8 + 8  # the function, and what brings elements together
    assert found.cost.transcendental == 8


@pytest.mark.parametrize(
    ("op", "costs"),
    [
        (ReduceOp.SUM, BinaryOp.ADD),
        (ReduceOp.PROD, BinaryOp.MUL),
        (ReduceOp.MIN, BinaryOp.MIN),
        (ReduceOp.MAX, BinaryOp.MAX),
        (ReduceOp.ARGMIN, BinaryOp.LT),
        (ReduceOp.ARGMAX, BinaryOp.GT),
    ],
)
def test_each_round_costs_its_operation(program, op, costs):
    made = program(total(yield_(K), rounds=load("n", 0), op=op), STORED)

    assert read(made).counts == {costs: GUESSED_ROUNDS}


@pytest.mark.parametrize(
    ("op", "costs"), [(ReduceOp.ANY, BinaryOp.OR), (ReduceOp.ALL, BinaryOp.AND)]
)
def test_bools_cost_theirs(program, op, costs):
    made = program(total(yield_(bool_(True)), rounds=u32(3), op=op, dtype=DataType.BOOL))

    assert read(made).counts == {costs: 3}


def test_a_scalar_that_rounds_are_counted_by_is_asked_for(facts):
    found = facts(total(yield_(load("x", K)), rounds=load("n", 0)), STORED)

    assert found.loop_scalars == ("n",)
    assert found.asked_scalars == {"n"}


def test_a_branch_in_a_round_that_neighbours_take_differently_is_noted(facts):
    found = facts(
        total(if_(load("x", K) > 3, [yield_(K)]), rounds=u32(4)),
        total(if_(K > 1, [yield_(K)]), rounds=u32(4), name="t"),
        STORED,
    )

    assert found.cost.divergent == ("if x[k] > 3u32:", "if k > 1u32:")


# -- aliasing and coverage


def test_what_rounds_read_may_be_written_only_where_it_is_ones_own(program):
    once = total(yield_(load("x", I)), rounds=u32(1))
    row = total(yield_(load("x", K)), rounds=u32(4))

    assert may_share(program(once, STORED), 1, "x", "out")
    assert not may_share(program(row, STORED), 1, "x", "out")
    assert not may_share(program(STORED_FIRST, once), 1, "x", "out")


STORED_FIRST = store("out", I, u32(1))


def test_a_reduction_leaves_what_is_set_as_it_is(program):
    assert sets_all(program(total(yield_(load("x", K)), rounds=u32(4)), STORED), 1, "out")
    assert not sets_all(program(total(yield_(load("out", K)), rounds=u32(4)), STORED), 1, "out")


# -- lanes of a workgroup


TILE = (
    BufferDecl.read("x", 0, U32),
    BufferDecl.read_write("out", 1, U32),
    BufferDecl.uniform("n", 2, U32).with_count(1),
    BufferDecl.workgroup("tile", 64, U32),
)


def tiled(*nodes: Node) -> Program:
    made = Program.wrapped(TILE, (64, 1, 1), nodes)
    check(made)
    return made


def refused(*nodes: Node) -> str:
    with pytest.raises(InvalidProgram) as found:
        check_barriers(tiled(*nodes))
    return str(found.value)


def waits_by(*nodes: Node) -> Program:
    return tiled(*nodes, if_(S > 3, [barrier()]), STORED)


@pytest.mark.parametrize(
    "node",
    [
        total(yield_(load("x", K)), rounds=buf_len("x")),
        total(yield_(workgroup_id() + load("n", 0)), rounds=load("n", 0)),
        total(if_(load("x", K) > 2, [yield_(K)]), rounds=load("x", 3)),
        total(
            let("v", K),
            loop("i", 0, 4, [assign("v", var("v") + 1), if_(load("x", K) > 4, [break_()])]),
            yield_(var("v")),
            rounds=u32(4),
        ),
        total(
            total(yield_(load("x", var("j"))), rounds=K, name="t", var="j"),
            yield_(var("t")),
            rounds=u32(4),
        ),
    ],
)
def test_lanes_agree_on_a_result_where_they_agree_on_everything_in_it(node):
    check_barriers(waits_by(node))


@pytest.mark.parametrize(
    "node",
    [
        total(yield_(load("x", K + I)), rounds=u32(4)),
        total(yield_(K), rounds=I),
        total(yield_(K), rounds=load("x", I)),
        total(yield_(load("out", K)), rounds=u32(4)),
        total(if_(load("x", I) > 2, [yield_(K)]), rounds=u32(4)),
        total(if_(K > 2, [yield_(K)], [if_(I > 2, [yield_(K)])]), rounds=u32(4)),
        total(if_(K > 2, [yield_(K)], [yield_(local_id())]), rounds=u32(4)),
        total(let("v", I), yield_(var("v")), rounds=u32(4)),
        total(
            let("v", K),
            if_(load("x", I) > 2, [assign("v", u32(0))]),
            yield_(var("v")),
            rounds=u32(4),
        ),
        total(
            let("v", K),
            loop("i", 0, 4, [if_(load("x", I) > 4, [break_()]), assign("v", var("v") + 1)]),
            yield_(var("v")),
            rounds=u32(4),
        ),
        total(
            total(yield_(load("x", var("j") + I)), rounds=K, name="t", var="j"),
            yield_(var("t")),
            rounds=u32(4),
        ),
    ],
)
def test_they_do_not_where_something_in_it_differs(node):
    with pytest.raises(InvalidProgram, match="not every lane of a workgroup reaches this barrier"):
        check_barriers(waits_by(node))


def test_lanes_that_came_here_by_their_own_way_agree_all_the_same():
    """What parts them around a reduction is not in it."""
    inner = total(yield_(load("x", K)), rounds=u32(4))
    made = tiled(if_(I > 3, [inner, if_(S > 2, [store("out", I, u32(1))])]), barrier())

    varying = uniformity(made).varying

    (outer,) = (node for node in made.entry[0].body if hasattr(node, "then"))
    assert id(outer) in varying
    assert id(outer.then[1]) not in varying


def test_which_statements_vary_holds_reductions_too():
    made = tiled(total(yield_(K), rounds=I), total(yield_(K), rounds=u32(3), name="t"), barrier())

    first, second, _ = made.entry[0].body
    assert id(first) in uniformity(made).varying
    assert id(second) not in uniformity(made).varying


def test_a_load_in_a_round_meets_writes_on_both_sides():
    reads = total(yield_(load("tile", K)), rounds=u32(64))
    writes = store("tile", local_id(), I)

    def dirty(*nodes: Node) -> bool:
        made = tiled(*nodes)
        loads = {id(part) for part in all_expressions(made.entry)}
        return bool(unsettled(made) & loads)

    assert dirty(writes, reads)
    assert dirty(reads, writes)
    assert not dirty(writes, barrier(), reads)
    assert not dirty(reads, barrier(), writes)
    assert dirty(loop("i", 0, 2, [writes, barrier(), reads]))
    assert not dirty(loop("i", 0, 2, [writes, barrier(), reads, barrier()]))
    # A reduction may have no rounds at all, and then what is before it meets what is after.
    assert dirty(reads, total(yield_(K), rounds=load("n", 0), name="t"), writes)


def test_what_lanes_agree_on_of_workgroup_memory_may_decide():
    writes = store("tile", local_id(), I)
    reads = total(yield_(load("tile", K)), rounds=u32(64))

    check_barriers(waits_by(writes, barrier(), reads))
    assert "which lanes write between the same two barriers" in refused(
        reads, if_(S > 3, [barrier()]), writes
    )


def test_a_read_in_a_round_that_meets_another_lanes_write_is_refused():
    reads = total(yield_(load("tile", K)), rounds=u32(64))

    assert refused(store("tile", local_id(), I), reads, STORED) == (
        "yield tile[k]: lane 1 reads tile[0] here, which lane 0 writes at "
        "`tile[local_id(0)] = gid(0)`, and no barrier is between them\n"
        "Fix: put a barrier between the two, where all lanes come by"
    )


def test_a_read_in_rounds_whose_number_is_the_launchs_is_refused_too():
    reads = total(yield_(load("tile", K)), rounds=load("n", 0))
    late = total(if_(K > 0, [yield_(load("tile", K))]), rounds=load("n", 0))

    assert "reads tile[0] here" not in refused(store("tile", local_id(), I), late, STORED)
    assert "yield tile[k]: lane" in refused(store("tile", local_id(), I), reads, STORED)


def test_a_reduction_without_rounds_reads_nothing():
    reads = total(yield_(load("tile", K)), rounds=u32(0))

    check_barriers(tiled(store("tile", local_id(), I), reads, STORED))


def test_a_reduction_that_nobody_is_certain_to_run_convicts_nobody():
    reads = total(yield_(load("tile", K)), rounds=load("x", I))

    check_barriers(tiled(store("tile", local_id(), I), reads, STORED))


def test_an_index_that_was_found_is_not_followed():
    found = total(yield_(K), rounds=u32(4), op=ReduceOp.MAX)

    check_barriers(tiled(found, store("tile", S, u32(1)), barrier(), STORED))
    # Known again once it is bound anew.
    assert "lane 0 writes tile[0] here and lane 63 writes it here too" in refused(
        found, assign("s", u32(0)), store("tile", S, I), barrier(), STORED
    )


def test_what_a_round_changed_is_its_own():
    """A name of a round is no part of what is known after it."""
    body = let("v", K), assign("v", var("v") + 1), yield_(var("v") + load("tile", K))
    made = tiled(
        store("tile", local_id(), I), barrier(), total(*body, rounds=u32(3)), barrier(), STORED
    )

    check_barriers(made)


def test_written_out_programs_are_proved_too(launch, program):
    window = loop("w", 0, 3, [assign("v", var("v") + load("x", K + var("w")))])
    made = program(total(let("v", u32(0)), window, yield_(var("v")), rounds=load("n", 0)), STORED)

    found = analyse(made)

    assert found.alone is not None
    assert found.alone[1].written_out is not None
    assert found.unchecked_for(launch(10, out=10, x=12, n=10))
    assert not found.unchecked_for(launch(10, out=10, x=11, n=10))


def test_floats_are_no_numbers_to_follow():
    made = tiled(
        total(yield_(f32(1)), rounds=u32(4), dtype=F32),
        if_(S > 3.0, [barrier()]),
    )

    check_barriers(made)


def test_what_reduces_for_all_and_asks_for_no_place_is_free_where_it_runs_once(launch, program):
    made = program(total(yield_(load("x", K)), rounds=load("n", 0)), store("out", 0, S))

    found = analyse(made)

    assert found.free
    assert found.free_for(launch(1, out=1, x=12, n=10))
    assert not found.free_for(launch(2, out=2, x=12, n=10))


def test_what_is_proved_of_rounds_holds_where_an_invocation_goes_through_them_alone(facts):
    """Their numbers are made of several counters there, which prove nothing by themselves."""
    element = yield_(cast(F32, load("x", K)))
    summed = total(element, rounds=buf_len("x"), dtype=F32)
    found = facts(summed, store("out", I, cast(U32, S)))

    (as_written,) = (one for one in found.accesses if one.buffer == "x")
    loads = [one for one in found.alone[1].accesses if one.buffer == "x"]
    assert loads
    assert as_written.in_bounds is not None
    assert {one.in_bounds for one in loads} == {as_written.in_bounds}


def test_a_round_that_may_leave_its_array_is_checked_there_as_well(facts):
    found = facts(total(yield_(load("x", load("x", K))), rounds=buf_len("x")), STORED)

    loads = [one for one in found.alone[1].accesses if one.buffer == "x"]
    assert {one.in_bounds is None for one in loads} == {False, True}
