"""The text of teams: what is refused beside them, that nothing wraps, what is unchecked."""

import re

import pytest

import vyre
from vyre import In, Out, f32, ir
from vyre.analysis import analyse
from vyre.emit import CUDA, OPENCL, emit
from vyre.emit.llvm import Features, emit_llvm
from vyre.errors import UnsupportedFeature
from vyre.ir import BufferDecl, DataType, Program, ReduceOp
from vyre.ir.team import covers_rows
from vyre.model import Code, Order
from vyre.testing import reducers


def text(kernel, code, dialect=CUDA):
    return emit(kernel.program, code, dialect, analyse(kernel.program), "kernel").text


@pytest.mark.parametrize(
    ("code", "dialect", "problem"),
    [
        (
            Code(lanes=32, items=2, order=Order.BLOCKED),
            OPENCL,
            "2 items of a team in opencl\nFix: use items=1",
        ),
        (
            Code(lanes=32, depth=1024, group=(512, 1, 1)),
            OPENCL,
            "depth 1024 of a team in opencl\nFix: use depth=0",
        ),
        (
            Code(lanes=64, planes=2),
            CUDA,
            "planes 2 beside teams of 64 lanes\nFix: use Code(lanes=64) alone",
        ),
        (
            Code(lanes=32, staged=True),
            CUDA,
            "staged True beside teams of 32 lanes\nFix: use Code(lanes=32) alone",
        ),
        (
            Code(lanes=64),
            OPENCL,
            "teams of 64 lanes in opencl\nFix: use Code(lanes=32)",
        ),
    ],
)
def test_what_stands_beside_no_team(code, dialect, problem):
    with pytest.raises(UnsupportedFeature) as raised:
        text(reducers.residual, code, dialect)

    assert str(raised.value) == problem


def test_a_processors_team_is_one_vector():
    program = reducers.residual.program
    with pytest.raises(UnsupportedFeature) as raised:
        emit_llvm(program, Code(lanes=64), Features(), analyse(program))

    assert str(raised.value) == (
        "teams of 64 lanes on a processor that has lanes\nFix: use Code(lanes=32)"
    )


@pytest.mark.parametrize("dialect", [CUDA, OPENCL], ids=["cuda", "opencl"])
def test_teams_are_counted_not_their_lanes(dialect):
    """20 million results have 2**32 lanes in teams of 256: those have no numbers."""
    found = text(reducers.residual, Code(lanes=32), dialect)
    group, size = {
        "cuda": ("blockIdx.x", "blockDim.x"),
        "opencl": ("(u32)get_group_id(0)", "(u32)get_local_size(0)"),
    }[dialect.name]

    assert f"{group} * ({size} / 32u)" in found
    assert "blockIdx.x * blockDim.x" not in found
    assert "get_global_id(0)" not in found


@vyre.kernel
def row_sums(x: In[f32, 2], out: Out[f32]):
    i = vyre.gid()
    out[i] = sum(x[i, k] for k in range(x.shape[1]))


@pytest.mark.parametrize("lanes", [32, 256])
def test_unchecked_teams_have_no_checks(lanes):
    checked = text(row_sums, Code(lanes=lanes))
    unchecked = text(row_sums, Code(lanes=lanes, checked=False))

    assert "< len_out)" in checked
    assert "< len_out)" not in unchecked
    assert "? p_x[" in checked
    assert "? p_x[" not in unchecked


def test_rounds_of_a_lane_are_found_from_its_first_one():
    """Where no index begins again at 0, as in a whole block: one address and a number then."""
    found = text(row_sums, Code(lanes=32, checked=False))

    assert "p_x[(u64)(v_i * dim1_x + v_start) + (v_row * 32u)]" in found


def test_what_is_checked_is_found_by_its_index():
    assert "(u64)" not in text(row_sums, Code(lanes=32))


def reading(index, *before):
    """The text of a team that sums what is at an index of each round."""
    rounds = ir.reduce_(
        "s",
        ReduceOp.SUM,
        DataType.F32,
        "k",
        rounds=ir.buf_len("x"),
        body=(*before, ir.yield_(ir.load("x", index))),
    )
    buffers = [BufferDecl.read("x", 0, DataType.F32), BufferDecl.write("out", 1, DataType.F32)]
    nodes = [rounds, ir.store("out", ir.gid(), ir.var("s"))]
    program = Program.wrapped(buffers, (32, 1, 1), nodes)
    code = Code(lanes=32, across=covers_rows(program), checked=False)
    return emit(program, code, CUDA, analyse(program), "kernel").text


K, T = ir.var("k"), ir.var("t")


@pytest.mark.parametrize(
    ("index", "before", "ahead"),
    [
        (K, (), True),
        (T, (ir.let("t", K),), True),
        (K + ir.u32(1), (), False),
        (K - ir.u32(1), (), False),
        (T, (ir.let("t", K), ir.assign("t", ir.u32(0))), False),
        (T, (ir.let("t", K), ir.if_(ir.u32(3) < K, (ir.assign("t", ir.u32(0)),))), False),
        (T, (ir.let("t", K * ir.u32(1)),), False),
    ],
    ids=["round", "name", "next", "before", "changed", "changed-somewhere", "computed"],
)
def test_what_is_known_not_to_wrap_is_found_from_a_lanes_first_round(index, before, ahead):
    """A sum begins again at 0 where 32 bits end, and a name that is given again is another one."""
    found = reading(index, *before)

    assert ("p_x[(u64)v_start + (v_row * 32u)]" in found) == ahead
    assert ("(u64)v_start" in found) == ahead


def test_what_teams_leave_for_each_other_is_found_from_a_lanes_first_block():
    """Of what a launch asks for, no place is so far that it begins again at 0."""
    found = text(reducers.dot, Code(lanes=64, shares=4, checked=False))

    assert re.search(r"p_kept\w*\[\(u64\)\(.* \+ v_start\d*\) \+ \(v_row\d* \* 32u\)\]", found)


@pytest.mark.parametrize(("lanes", "keeps", "room"), [(64, 32, "64, 16"), (1024, 32, "1024")])
def test_teams_that_keep_rounds_leave_room_for_others(lanes, keeps, room):
    found = text(reducers.softmax_rows, Code(lanes=lanes, keeps=keeps))

    assert f"__launch_bounds__({room})" in found


@pytest.mark.parametrize(("items", "bounds"), [(4, "512, 2"), (8, "512")])
def test_teams_that_bring_what_they_read_are_compiled_for_their_workgroup(items, bounds):
    code = Code(lanes=32, items=items, order=Order.BLOCKED, depth=1024, group=(512, 1, 1))
    found = text(reducers.residual, code)

    assert f"__launch_bounds__({bounds})" in found
    assert "__shared__ __align__(16) f32 p_brought[2048];" in found
    assert " return;" not in found


def test_lanes_tell_each_other_by_shuffles_or_memory():
    assert "__shfl_xor_sync" in text(row_sums, Code(lanes=32))
    assert "__syncthreads" not in text(row_sums, Code(lanes=32))
    assert "__syncthreads" in text(row_sums, Code(lanes=64))
    assert "exchange_f32[32]" in text(row_sums, Code(lanes=32), OPENCL)


@vyre.kernel
def far_from(points: In[f32, 2], centres: In[f32, 2], out: Out[f32]):
    i = vyre.gid()
    s = 0.0
    for c in range(len(centres)):
        s += points[i, 0] * centres[c, 0] + points[i, 1] * centres[c, 1]
    out[i] = s + centres[0, 1]


@pytest.mark.parametrize("dialect", [CUDA, OPENCL], ids=["cuda", "opencl"])
def test_columns_that_are_numbers_are_found_by_one_address_of_their_row(dialect):
    """No element's number begins again at 0, so that compilers need no addition for each."""
    found = text(far_from, Code(checked=False), dialect)

    assert len(re.findall(r"p_centres\[\(u64\)\(v_c \* dim1_centres\) \+ [01]u\]", found)) == 2
    assert len(re.findall(r"p_points\[\(u64\)\(v_i \* dim1_points\) \+ [01]u\]", found)) == 2


def test_an_address_that_is_a_number_or_is_checked_stays_as_it_is():
    checked = text(far_from, Code(checked=True))

    assert re.search(r"p_centres\[0u \* dim1_centres \+ 1u\]", text(far_from, Code(checked=False)))
    assert "(u64)" not in checked
