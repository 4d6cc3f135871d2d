"""Teams that share a result: where they begin to, what they keep, and when they cannot."""

import pytest

import vyre
from vyre import In, InOut, Out, f32, u32
from vyre.ir.expr import Load
from vyre.ir.node import Arrive, If, Reduce, Store
from vyre.ir.team import relay_of, team, why_not_shared
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
def few(x: In[f32], out: Out[f32]):
    out[0] = sum(x[k] for k in range(3)) + max(x[k] for k in range(40))


@vyre.kernel
def found_and_counted(x: In[f32], out: Out[u32], sums: Out[f32]):
    out[0] = vyre.argmax(x[k] for k in range(len(x)))
    sums[0] = min(x[k] for k in range(len(x)) if x[k] > 0)


def names(kept):
    return [(one.dtype, one.elements) for one in kept]


def reductions(nodes):
    return [node for node in statements(nodes) if isinstance(node, Reduce)]


def test_each_reduction_that_needs_another_is_a_leg_of_its_own():
    parts = relay_of(two_lengths.program)
    first, second = parts.legs

    assert len(reductions(first.before)) == 1  # that of three weights, which each team computes
    assert (len(first.group.reductions), len(second.group.reductions)) == (1, 1)
    assert (reductions(parts.behind), parts.spreads, parts.launches) == ([], False, 2)


def test_of_rounds_that_are_written_down_many_are_shared():
    (leg,) = relay_of(written_down.program).legs
    behind = reductions(relay_of(written_down.program).behind)

    assert [int(one.rounds.value) for one in leg.group.reductions] == [5000]
    assert [int(one.rounds.value) for one in reductions(leg.before)] == [3]
    assert [int(one.rounds.value) for one in behind] == [40]


def test_of_few_rounds_the_most_are_shared():
    (leg,) = relay_of(few.program).legs

    assert [int(one.rounds.value) for one in leg.group.reductions] == [40]


def test_all_that_follows_is_left_to_the_last_team():
    made = team(reducers.dot.program, 64, 8).program
    *_, arrive, last = made.entry

    assert isinstance(arrive, Arrive)
    assert (arrive.shares, arrive.buffer) == (8, "arrivals")
    assert isinstance(last, If)
    assert not reductions(made.entry)


def test_loops_that_only_store_are_of_all_teams():
    """A row's maximum, then its sum, then its elements: a launch for each."""
    for kernel in (reducers.softmax, reducers.softmax_rows):
        parts = relay_of(kernel.program)

        assert (len(parts.legs), parts.spreads, parts.launches) == (2, True, 3)
        made = team(kernel.program, 32, 4)
        assert [one.elements for one in made.kept] == [ONE, ONE, SHARES, ONE, BLOCKS]
        assert [decl.name for decl in made.program.buffers if decl.kept][-1] == "phase"


@vyre.kernel
def from_the_first(x: InOut[f32, 2]):
    i = vyre.gid()
    start = x[i, 0]
    total = sum(x[i, k] for k in range(x.shape[1]))
    for j in range(x.shape[1]):
        x[i, j] = (x[i, j] - start) / total


@vyre.kernel
def in_place(x: InOut[f32, 2]):
    i = vyre.gid()
    total = sum(x[i, k] for k in range(x.shape[1]))
    for j in range(x.shape[1]):
        x[i, j] = x[i, j] / total


@vyre.kernel
def reversed_first(x: InOut[f32, 2], out: Out[f32, 2]):
    i = vyre.gid()
    top = max(x[i, k] for k in range(x.shape[1]))
    for j in range(x.shape[1]):
        out[i, j] = x[i, x.shape[1] - 1 - j]
    for j in range(x.shape[1]):
        x[i, j] = top


@vyre.kernel
def one_behind_a_loop(x: InOut[f32, 2], out: Out[f32, 2]):
    i = vyre.gid()
    top = max(x[i, k] for k in range(x.shape[1]))
    for j in range(x.shape[1]):
        out[i, j] = x[i, j]
    x[i, x.shape[1] - 1] = top


@vyre.kernel
def a_number_for_all(x: In[f32, 2], shift: In[f32], out: Out[f32, 2], top: Out[f32]):
    i = vyre.gid()
    most = max(x[i, k] for k in range(x.shape[1]))
    for j in range(x.shape[1]):
        out[i, j] = x[i, j] + shift[i]
    top[i] = most  # a caller may pass one array for this and for shift


@vyre.kernel
def numbers_of_each(x: In[f32, 2], w: In[f32], out: Out[f32, 2], top: Out[f32], eps: f32):
    i = vyre.gid()
    most = max(x[i, k] for k in range(x.shape[1]))
    for j in range(x.shape[1]):
        at = j
        out[i, j] = x[i, j] + w[at] + eps
    top[i] = most


def test_what_is_stored_once_may_stand_beside_loops():
    assert relay_of(numbers_of_each.program).spreads


@pytest.mark.parametrize(
    "kernel", [from_the_first, reversed_first, one_behind_a_loop, a_number_for_all]
)
def test_what_a_team_reads_by_itself_must_not_be_stored_to_by_another(kernel):
    """It would read a place after another team has changed it."""
    assert not relay_of(kernel.program).spreads
    assert relay_of(in_place.program).spreads


def test_blocks_are_kept_where_the_order_shows():
    assert team(reducers.dot.program, 32, 2).kept == (
        Kept("arrivals", U32, ONE),
        Kept("kept", F32, BLOCKS, "sum"),
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
    parts = relay_of(accumulated.program)
    (leg,) = parts.legs
    read = {e.buffer for e in all_expressions(leg.before) if isinstance(e, Load)}

    assert read == set()
    assert {node.buffer for node in statements(parts.behind) if isinstance(node, Store)} == {
        "total"
    }
