"""Teams that share a result: where they begin to, what they keep, and when they cannot."""

import pytest

import vyre
from vyre import In, InOut, Out, f32, u32
from vyre.ir.expr import Load
from vyre.ir.node import Arrive, If, Reduce, Store
from vyre.ir.team import shared_part, team, why_not_shared
from vyre.ir.team.shares import BLOCKS, ONE, SHARES, Kept
from vyre.ir.types import DataType
from vyre.ir.walk import all_expressions, statements
from vyre.testing import reducers

F32, U32 = DataType.F32, DataType.U32


@vyre.kernel
def two_lengths(x: In[f32], w: In[f32, (3,)], out: Out[f32]):
    scale = sum(w[k] for k in range(3))
    total = sum(x[k] * scale for k in range(len(x)))
    spread = sum((x[k] - total) ** 2 for k in range(len(x)))
    out[0] = total + spread


@vyre.kernel
def stores_first(x: In[f32], out: Out[f32], flag: Out[f32]):
    flag[0] = 1.0
    out[0] = sum(x[k] for k in range(len(x)))


@vyre.kernel
def under_a_condition(x: In[f32], out: Out[f32], n: u32):
    if n > 3:
        out[0] = sum(x[k] for k in range(len(x)))


@vyre.kernel
def written_down(x: In[f32], out: Out[f32]):
    first = sum(x[k] for k in range(3))
    second = max(x[k] for k in range(5000))
    third = sum(x[k] for k in range(40))
    out[0] = first + second + third


@vyre.kernel
def found_and_counted(x: In[f32], out: Out[u32], sums: Out[f32]):
    out[0] = vyre.argmax(x[k] for k in range(len(x)))
    sums[0] = min(x[k] for k in range(len(x)) if x[k] > 0)


def names(kept):
    return [(one.dtype, one.elements) for one in kept]


def test_it_begins_with_the_first_reduction_of_many_rounds():
    part = shared_part(two_lengths.program)
    before = [node.name for node in statements(part.before) if isinstance(node, Reduce)]

    assert len(before) == 1  # that of three weights, which each team computes
    assert len(part.group.reductions) == 1
    assert sum(isinstance(node, Reduce) for node in statements(part.behind)) == 1


def test_of_rounds_that_are_written_down_the_most_are_shared():
    part = shared_part(written_down.program)
    behind = [node for node in statements(part.behind) if isinstance(node, Reduce)]

    assert [int(one.rounds.value) for one in part.group.reductions] == [5000]
    assert [int(one.rounds.value) for one in part.before if isinstance(one, Reduce)] == [3]
    assert [int(one.rounds.value) for one in behind] == [40]


def test_all_that_follows_is_left_to_the_last_team():
    made = team(two_lengths.program, 64, 7).program
    *_, arrive, last = made.entry

    assert isinstance(arrive, Arrive)
    assert (arrive.shares, arrive.buffer) == (7, "arrivals")
    assert isinstance(last, If)
    assert not any(isinstance(node, Reduce) for node in statements(made.entry))


def test_blocks_are_kept_where_the_order_shows():
    assert team(reducers.dot.program, 32, 2).kept == (
        Kept("arrivals", U32, ONE),
        Kept("kept", F32, BLOCKS),
    )


def test_what_a_team_found_is_kept_where_it_does_not():
    """A place is a key and a round; of a minimum under a condition it is told whether there is."""
    kept = team(found_and_counted.program, 32, 2).kept

    assert names(kept) == [
        (U32, ONE),
        (DataType.I32, SHARES),
        (U32, SHARES),
        (F32, SHARES),
        (U32, SHARES),
    ]


def test_kept_arrays_are_the_last_arguments():
    made = team(reducers.dot.program, 64, 2).program
    arguments = [decl for decl in made.buffers if not decl.is_shared]

    assert [decl.name for decl in arguments if decl.kept] == ["arrivals", "kept"]
    assert [decl.kept for decl in sorted(arguments, key=lambda one: one.binding)][-2:] == [True] * 2
    assert not any(decl.kept for decl in team(reducers.dot.program, 64).program.buffers)


@vyre.kernel
def taken_names(arrivals: In[f32], kept: Out[f32]):
    last = f32(len(arrivals))
    kept[0] = sum(arrivals[rounds] for rounds in range(len(arrivals))) + last


def test_names_that_the_kernel_has_are_left_to_it():
    kept = team(taken_names.program, 32, 2).kept

    assert [one.name for one in kept] == ["arrivals1", "kept1"]


NONE = "no reduction stands before all that it stores, and under no condition"


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (stores_first, NONE),
        (under_a_condition, NONE),
        (reducers.running, "it may read 'x' where it has stored to it"),
    ],
)
def test_why_not(kernel, why):
    assert why_not_shared(kernel.program) == why


@vyre.kernel
def accumulated(x: In[f32], total: InOut[f32]):
    total[0] += sum(x[k] for k in range(len(x)))


def test_what_is_added_to_is_read_by_the_last_team_alone():
    part = shared_part(accumulated.program)
    read = {e.buffer for e in all_expressions(part.before) if isinstance(e, Load)}

    assert read == set()
    assert {node.buffer for node in statements(part.behind) if isinstance(node, Store)} == {"total"}
