"""What lanes agree on in programs built by hand, and where such programs are refused."""

from functools import partial

import numpy as np
import pytest

import vyre
from vyre import ir
from vyre.analysis import check_barriers
from vyre.analysis.phases import unsettled
from vyre.analysis.uniformity import uniformity
from vyre.errors import InvalidProgram
from vyre.ir import BufferDecl, DataType, Expr, Node, Ordering, Program
from vyre.ir.build import (
    assign,
    atomic,
    barrier,
    break_,
    call,
    gid,
    if_,
    let,
    load,
    local_id,
    loop,
    return_,
    store,
    u32,
    var,
    while_,
    workgroup_id,
)
from vyre.ir.expr import AtomicOp, Binary, BinaryOp, OpaqueExpr, Subgroup, SubgroupOp
from vyre.ir.node import AsyncWait, Barrier
from vyre.ir.validate import check
from vyre.plan import DispatchConfig

U32 = DataType.U32
BUFFERS = (
    BufferDecl.read("x", 0, U32),
    BufferDecl.read_write("out", 1, U32),
    BufferDecl.uniform("n", 2, U32).with_count(1),
    BufferDecl.workgroup("tile", 64, U32),
)


def program(*nodes: Node, workgroup: tuple[int, int, int] = (64, 1, 1)) -> Program:
    made = Program.wrapped(BUFFERS, workgroup, nodes)
    check(made)
    return made


def refused(*nodes: Node, **more: tuple[int, int, int]) -> str:
    with pytest.raises(InvalidProgram) as found:
        check_barriers(program(*nodes, **more))
    return str(found.value)


def under(test: Expr, *, at: Ordering = Ordering.SEQ_CST) -> Node:
    return if_(test, [Barrier(at)])


OUTSIDE = "Fix: put the barrier outside of it, and keep inside what only some lanes do"


def test_a_statement_is_named_where_no_line_is_known():
    assert refused(under(local_id() < 3)) == (
        "barrier seq_cst: not every lane of a workgroup reaches this barrier: it is inside "
        f"`if local_id(0) < 3u32`, which goes by local_id\n{OUTSIDE}"
    )
    assert refused(if_(gid() >= ir.buf_len("x"), [return_()]), barrier()) == (
        "barrier seq_cst: not every lane of a workgroup reaches this barrier: some return at "
        "`return`, which goes by gid\n"
        "Fix: leave that return out: lanes beyond the last element load 0 and store nowhere"
    )
    assert refused(loop("k", u32(0), local_id(), [barrier()])) == (
        "barrier seq_cst: not every lane of a workgroup reaches this barrier: it is inside "
        "`for k in 0u32 .. local_id(0)`, whose rounds go by local_id\n"
        "Fix: let all lanes make the same rounds, by what they share (constants, scalars, sizes, "
        "workgroup_id), and put what only some do under an if without a barrier in it"
    )
    assert refused(store("tile", local_id(), u32(1)), store("out", 0, load("tile", 3))) == (
        "out[0u32] = tile[3u32]: lane 0 reads tile[3] here, which lane 3 writes at "
        "`tile[local_id(0)] = 1u32`, and no barrier is between them\n"
        "Fix: put a barrier between the two, where all lanes come by"
    )


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        (call("op", u32(1)), "op(1u32)"),
        (Subgroup(SubgroupOp.LOCAL_ID), "subgroup_local_id()"),
        (OpaqueExpr("mine", b""), "opaque[mine](0 bytes)"),
        (Binary(BinaryOp.BALLOT, u32(1), u32(1)), "ballot(1u32, 1u32)"),
    ],
)
def test_what_nobody_sees_into_may_differ_between_lanes(cause, text):
    assert f"which goes by {text}\n" in refused(under(cause.eq(3)))


def test_a_statement_that_nobody_sees_into_may_write_any_array():
    test = load("x", 0).eq(3)

    check_barriers(program(under(test)))
    assert "which goes by x, which the kernel writes" in refused(AsyncWait("t"), under(test))


@pytest.mark.parametrize("workgroup", [(1, 64, 1), (1, 1, 64)])
def test_along_an_axis_of_one_lane_positions_are_those_of_the_workgroup(workgroup):
    check_barriers(program(under(gid(0) < 3), under(local_id(0) < 3), workgroup=workgroup))
    axis = workgroup.index(64)

    assert "which goes by gid" in refused(under(gid(axis) < 3), workgroup=workgroup)


def test_a_barrier_of_the_grid_waits_for_all_workgroups():
    every = Ordering.GRID_SYNC
    group = workgroup_id() < 3

    check_barriers(program(under(group), under(load("n", 0) < 3, at=every)))
    assert refused(under(group, at=every)) == (
        "barrier grid_sync: not every lane of the grid reaches this barrier: it is inside "
        f"`if workgroup_id(0) < 3u32`, which goes by workgroup_id\n{OUTSIDE}"
    )
    assert "which goes by gid" in refused(under(gid() < 3, at=every), workgroup=(1, 1, 1))
    assert "which goes by tile" in refused(under(load("tile", 0) < 3, at=every))


def test_a_load_is_settled_where_every_write_is_beyond_a_barrier():
    first, second, third, fourth = (load("tile", k) for k in range(4))
    made = program(
        let("a", first),
        barrier(),
        store("tile", 0, u32(1)),
        barrier(),
        let("b", second),
        if_(load("n", 0) < 3, [barrier()]),
        let("c", third),
        store("tile", 0, u32(1)),
        let("d", fourth),
    )

    found = unsettled(made)

    # One path from the second load to the last store goes past the barrier under the if.
    assert [id(part) in found for part in (first, second, third, fourth)] == [
        False,
        True,
        True,
        True,
    ]


def test_a_loop_that_surely_runs_is_gone_through():
    def after(stop: Expr) -> bool:
        read = load("tile", 0)
        made = program(
            store("tile", local_id(), u32(1)), loop("k", u32(0), stop, [barrier()]), let("a", read)
        )
        return id(read) in unsettled(made)

    assert not after(u32(1))
    assert after(u32(0))
    assert after(load("n", 0))


def test_what_is_read_and_written_in_one_statement_is_unsettled():
    made = program(store("tile", 0, load("tile", 0) + 1))
    (node,) = made.entry[0].body

    assert id(node) in uniformity(made).varying


def test_a_part_that_stands_in_two_places_is_unsettled_if_it_is_in_one():
    read = load("tile", 0)

    assert "which goes by tile" in refused(
        under(read.eq(1)), barrier(), store("tile", 0, u32(1)), let("a", read), barrier()
    )


def test_code_that_nobody_reaches_is_not_looked_at():
    check_barriers(program(return_(), under(local_id() < 3)))
    check_barriers(program(while_(ir.bool_(True), [break_(), under(local_id() < 3)])))


def test_a_program_may_nest_as_deep_as_it_is_allowed_to():
    inner: list[Node] = [barrier()]
    for k in range(64):
        inner = [if_(load("n", 0) < k, inner), loop(f"k{k}", u32(0), load("n", 0), [barrier()])]
        inner = [while_(load("n", 0) < k, inner)]
    made = program(*inner)

    check_barriers(made)


# -- growth


def waiting(count: int) -> Program:
    """Loops, branches and memory between barriers, again and again."""
    nodes: list[Node] = [let("s", u32(1)), let("t", u32(0))]
    for k in range(count):
        nodes += [
            store("tile", local_id(), var("s") + k),
            barrier(),
            if_(load("tile", 0) < k, [assign("s", var("s") + 1)], [assign("t", var("s"))]),
            loop(f"k{k}", u32(0), var("s"), [assign("t", var("t") + 1), barrier()]),
            let(f"old{k}", atomic(AtomicOp.ADD, "out", gid(), var("t"))),
            barrier(),
        ]
    return program(*nodes)


def test_twice_the_statements_are_twice_the_work(lines_run):
    less, more = (lines_run(partial(uniformity, waiting(n))) for n in (40, 80))

    assert more < 2.4 * less


def test_finding_meetings_ends_however_many_rounds_there_are(lines_run):
    inner: list[Node] = [store("tile", local_id(), u32(1))]
    for k in range(60):
        inner = [loop(f"k{k}", u32(0), u32(1 << 30), [*inner, assign("s", var("s") + 1)])]
    made = program(let("s", u32(0)), *inner, barrier())

    assert lines_run(lambda: check_barriers(made)) < 2_000_000


# -- launching


DIVERGENT = program(
    store("tile", local_id(), load("x", gid())),
    if_(gid() < ir.buf_len("x"), [barrier()]),
    store("out", gid(), load("tile", u32(63) - local_id())),
)


def test_a_divergent_program_is_read_from_bytes_and_refused_when_it_is_launched():
    device = vyre.open("reference")
    read = ir.from_wire(DIVERGENT.to_wire())

    with pytest.raises(InvalidProgram, match="not every lane of a workgroup reaches this barrier"):
        device.dispatch(read, [np.ones(64, np.uint32)])
    with pytest.raises(InvalidProgram, match="not every lane of a workgroup reaches this barrier"):
        device.facts(read)
    with pytest.raises(InvalidProgram, match="not every lane of a workgroup reaches this barrier"):
        device.binary(read, vyre.Code())


def test_a_dispatch_is_refused_if_its_own_workgroup_makes_a_barrier_divergent():
    device = vyre.open("reference")
    made = program(store("out", gid(), u32(1)), under(gid() < 3), workgroup=(1, 1, 1))
    inputs = [np.ones(4, np.uint32), np.zeros(4, np.uint32), np.ones(1, np.uint32)]

    device.dispatch(made, inputs)
    with pytest.raises(InvalidProgram, match="not every lane of a workgroup reaches this barrier"):
        device.dispatch(made, inputs, DispatchConfig(workgroup_override=(2, 1, 1)))
