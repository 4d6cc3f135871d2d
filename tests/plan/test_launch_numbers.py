import pytest

from vyre.analysis.forms import Symbol
from vyre.ir import BufferDecl, DataType, Program
from vyre.plan.binding import BindingPlan
from vyre.plan.launch_numbers import LaunchNumbers, NumberNotKnown
from vyre.plan.words import DispatchShape

PROGRAM = Program.wrapped(
    [
        BufferDecl.read("x", 0, DataType.F32),
        BufferDecl.write("out", 1, DataType.F32),
        BufferDecl.read("table", 2, DataType.F32).with_shape(3, 4),
        BufferDecl.read("image", 3, DataType.F32).with_shape(0, 0),
    ],
    (64, 1, 1),
    [],
)
BINDINGS = BindingPlan.from_input_lengths(PROGRAM, [28, 48, 24]).bindings


def test_an_extent_alone_brings_what_is_declared():
    numbers = LaunchNumbers.of_extent(PROGRAM, (7, 1, 1))

    assert [numbers.value(Symbol("extent", axis=axis)) for axis in range(3)] == [7, 1, 1]
    assert numbers.value(Symbol("len", "table")) == 12
    assert numbers.value(Symbol("dim", "table", 1)) == 4
    for symbol in (Symbol("len", "x"), Symbol("dim", "image", 0), Symbol("scalar", "a")):
        with pytest.raises(NumberNotKnown):
            numbers.value(symbol)


def test_a_launch_brings_what_its_words_say():
    numbers = LaunchNumbers.of_launch(BINDINGS, 9, None)

    assert numbers.value(Symbol("len", "x")) == 7
    assert numbers.value(Symbol("len", "out")) == 9
    assert numbers.value(Symbol("extent", axis=0)) == 9


def test_a_shape_brings_extents_arrays_and_scalars():
    shape = DispatchShape(
        extent=(3, 2, 1), arrays={"image": (2, 3), "out": (5,)}, scalars={"a": -4}
    )

    numbers = LaunchNumbers.of_launch(BINDINGS, 6, shape)

    assert [numbers.value(Symbol("extent", axis=axis)) for axis in range(3)] == [3, 2, 1]
    assert [numbers.value(Symbol("dim", "image", axis)) for axis in range(2)] == [2, 3]
    assert numbers.value(Symbol("len", "out")) == 5
    assert numbers.value(Symbol("scalar", "a")) == -4


def test_the_extents_a_declaration_fixes_are_not_replaced_by_an_arrays():
    shape = DispatchShape(extent=(1, 1, 1), arrays={"table": (6, 2), "image": (2, 3)})

    numbers = LaunchNumbers.of_launch(BINDINGS, 1, shape)

    assert [numbers.value(Symbol("dim", "table", axis)) for axis in range(2)] == [3, 4]
