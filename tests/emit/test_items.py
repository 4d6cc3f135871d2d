"""Which positions an invocation takes, and how they are numbered."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.emit.items import ONE_ITEM, Items
from vyre.model import Code, Order

COUNTS = st.tuples(*[st.integers(1, 5)] * 3)
AXES = st.sets(st.integers(0, 2))


@pytest.mark.parametrize(
    ("code", "counts", "run"),
    [
        (Code(), (1, 1, 1), 1),
        (Code(items=8), (8, 1, 1), 1),
        (Code(items=8, vector=2), (8, 1, 1), 2),
        (Code(items=8, vector=2, order=Order.BLOCKED), (8, 1, 1), 8),
        (Code(items=4, vector=4, lines=3, planes=2), (4, 3, 2), 4),
    ],
)
def test_a_code_says_how_many_there_are_and_which_are_neighbours(code, counts, run):
    assert Items.of(code) == Items(counts, run)


def test_a_single_item_differs_along_no_axis():
    assert (len(ONE_ITEM), ONE_ITEM.axes, ONE_ITEM.place(0)) == (1, (), (0, 0, 0))


@given(COUNTS)
def test_items_are_numbered_along_x_then_y_then_z(counts):
    items = Items(counts)
    x, y, z = counts

    assert len(items) == prod(counts)
    assert [items.place(item) for item in range(len(items))] == [
        (i, j, k) for k in range(z) for j in range(y) for i in range(x)
    ]
    assert items.axes == tuple(axis for axis in range(3) if counts[axis] > 1)


@given(COUNTS)
def test_lines_are_all_items_in_their_order(counts):
    lines = list(Items(counts).lines())

    assert [item for line in lines for item in line] == list(range(prod(counts)))
    assert {len(line) for line in lines} == {counts[0]}


@given(COUNTS, AXES)
def test_along_some_axes_there_is_one_item_of_each_kind(counts, axes):
    items = Items(counts)

    found = list(items.along(axes))

    assert found == sorted(found)
    assert [items.number(item, axes) for item in found] == list(
        range(prod(counts[axis] for axis in axes))
    )
    for item in range(len(items)):
        place = items.place(item)
        kind = items.place(found[items.number(item, axes)])
        assert all(place[axis] == kind[axis] for axis in axes)
        assert all(kind[axis] == 0 for axis in range(3) if axis not in axes)
