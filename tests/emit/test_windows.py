"""How far items look beyond their positions, and when that is asked once for all of them."""

import re

import pytest

from vyre import ir
from vyre.analysis import analyse
from vyre.emit import CUDA, emit
from vyre.emit.items import Items
from vyre.emit.windows import Window, window_of, windows
from vyre.ir import BufferDecl, DataType, Program
from vyre.model import Code

F32 = DataType.F32
X, Y = ir.gid(0), ir.gid(1)


def row(*indices) -> Program:
    """The sum of elements of a row."""
    total = sum((ir.load("x", index) for index in indices), ir.f32(0))
    return Program.wrapped(
        [BufferDecl.read("x", 0, F32), BufferDecl.write("out", 1, F32)],
        (64, 1, 1),
        [ir.store("out", X, total)],
    )


def plane(*places) -> Program:
    """The sum of elements of a plane, each at a row and a column."""
    total = sum((ir.load("x", ir.flat_index("x", *place)) for place in places), ir.f32(0))
    return Program.wrapped(
        [BufferDecl.read("x", 0, F32).with_shape(0, 0), BufferDecl.write("out", 1, F32)],
        (64, 1, 1),
        [ir.store("out", Y * ir.extent(0) + X, total)],
    )


def found(program, items=None, width=1):
    return windows(list(analyse(program).accesses), items or Items((1, 1, 1)), width)


@pytest.mark.parametrize("shift", [1, 4, 100])
def test_an_index_that_follows_the_position_is_a_window(shift):
    assert found(row(X + shift)) == [Window("x", 0, 0, 0, shift, True)]
    assert found(row(X - shift)) == [Window("x", 0, 0, shift, 0, True)]


def test_loads_of_one_array_have_one_window():
    assert found(row(X - 2, X - 1, X + 1, X + 3)) == [Window("x", 0, 0, 2, 3, True)]


def test_what_is_proved_inside_needs_no_window():
    assert found(row(X)) == []


@pytest.mark.parametrize(
    "index",
    [
        X * 2 + 1,
        X + Y + 1,
        X + ir.buf_len("x") + 1,
        ir.cast(DataType.U32, ir.load("x", X)),
        ir.cast(DataType.I32, X) - ir.i32(1),
    ],
    ids=["twice", "two axes", "a number of the launch", "anything", "signed"],
)
def test_an_index_that_goes_elsewhere_is_none(index):
    program = row(index)

    assert found(program) == []
    assert all(window_of(access, 0) is None for access in analyse(program).accesses)


def test_columns_of_a_plane_are_checked_one_by_one_and_rows_together():
    assert found(plane((Y - 1, X), (Y + 2, X), (Y, X - 1), (Y, X + 1))) == [
        Window("x", 0, 1, 1, 2, False)
    ]


def test_across_a_plane_it_is_the_launchs_axis_that_counts():
    assert found(plane((X + 1, Y))) == [Window("x", 0, 0, 0, 1, False)]


@pytest.mark.parametrize(
    ("run", "width", "below", "above"),
    [(1, 1, 1, 2), (4, 4, 4, 4), (8, 4, 4, 4), (2, 2, 2, 2), (4, 2, 2, 2)],
)
def test_vectors_reach_as_far_as_the_last_one_does(run, width, below, above):
    items = Items((run, 1, 1), run)

    assert found(row(X - 1, X + 2), items, width) == [Window("x", 0, 0, below, above, True)]


def test_vectors_lie_along_x_alone():
    items = Items((4, 2, 1), 4)

    assert found(plane((Y - 1, X), (Y + 1, X)), items, 4) == [Window("x", 0, 1, 1, 1, False)]


def body(program, **more):
    return emit(program, Code(checked=False, **more), CUDA, analyse(program)).body


def test_items_that_look_inside_run_without_checks_and_others_with_them():
    text = body(row(X - 1, X + 1), items=8)

    inside, outside = text.split("} else {")[:2]
    assert "if (pos0 >= 1u && pos7 < len_x && len_x - pos7 > 1u) {" in inside
    assert "?" not in inside.split("len_x - pos7 > 1u) {")[1]
    assert outside.count(" < len_x ? p_x[") == 16


def test_few_items_check_each_load():
    text = body(row(X - 1, X + 1), items=4)

    assert "len_x - pos3" not in text
    assert text.split("} else {")[0].count(" < len_x ? p_x[") == 8


def test_lines_check_what_lies_beyond_them_and_nothing_else():
    text = body(plane((Y - 1, X), (Y, X), (Y + 1, X)), items=8, vector=4, lines=4)

    together = text.split("} else {")[0]
    rows = re.findall(r"const float4 row_x\w* = (.*)\*\(const float4", together)
    assert rows.count("(line0 - 1u) < dim0_x ? ") == 2
    assert rows.count("(line3 + 1u) < dim0_x ? ") == 2
    assert rows.count("") == 8


def test_what_one_load_proves_of_a_row_no_other_checks():
    text = body(plane((Y - 1, X), (Y + 1, X), (Y, X - 1), (Y, X + 1)), items=4, vector=4, lines=2)

    together = text.split("} else {")[0]
    assert re.findall(r"\(?line\d [+-] 1u\)? < dim0_x", together) == [
        "(line0 - 1u) < dim0_x",
        "(line1 + 1u) < dim0_x",
    ]


def test_a_window_above_does_not_ask_what_is_below():
    assert "if (pos7 < len_x && len_x - pos7 > 3u) {" in body(row(X + 3), items=8)


def test_one_item_checks_each_load():
    assert body(row(X - 1, X + 1)).count("< len_x ? p_x[") == 2


def test_checked_codes_have_no_inside():
    program = row(X - 1, X + 1)

    assert "len_x - pos1" not in emit(program, Code(items=2), CUDA, analyse(program)).body
