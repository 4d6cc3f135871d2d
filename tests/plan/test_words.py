from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.emit import WordLayout
from vyre.errors import InvalidInput, InvalidProgram
from vyre.ir import BufferDecl, DataType, Program
from vyre.plan.binding import Binding, BindingPlan, BindingRole
from vyre.plan.words import DispatchShape, dispatch_param_words_into

U32 = DataType.U32


def binding(number: int, count: int, role: BindingRole = BindingRole.INPUT) -> Binding:
    return Binding(
        name=f"b{number}",
        binding=number,
        buffer_index=0,
        role=role,
        element_size=4,
        preferred_alignment=4,
        element_count=count,
    )


def words(bindings: list[Binding], n: int, shape: DispatchShape | None = None) -> list[int]:
    made: list[int] = []
    dispatch_param_words_into(bindings, n, made, shape)
    return made


def program(*buffers: BufferDecl) -> Program:
    return Program.wrapped(buffers, (64, 1, 1), [])


def bound(*buffers: BufferDecl) -> list[Binding]:
    return list(BindingPlan.build(program(*buffers)).bindings)


def test_the_first_word_is_n_and_the_lengths_follow():
    assert words([binding(0, 7)], 7) == [7, 7]


def test_gaps_are_0_and_an_unknown_length_is_n():
    assert words([binding(1, 0), binding(4, 9)], 7) == [7, 0, 7, 0, 0, 9]


def test_the_order_of_the_bindings_does_not_matter():
    assert words([binding(4, 9), binding(1, 0)], 7) == [7, 0, 7, 0, 0, 9]


def test_no_bindings_leave_one_word():
    assert words([], 5) == [5]


def test_workgroup_memory_has_room_but_no_length():
    shared = binding(0, 64, BindingRole.SHARED)

    assert words([shared], 7) == [7, 0]
    assert words([binding(0, 5), shared], 7) == [7, 5, 0]


def test_the_number_of_workgroup_memory_makes_no_words():
    assert words([binding(9, 64, BindingRole.SHARED)], 7) == [7, 0]


def test_words_replace_what_stood_in_the_same_list():
    made = [1, 2, 3, 4, 5]

    dispatch_param_words_into([binding(0, 7)], 7, made)

    assert made == [7, 7]


def test_two_buffers_of_one_number_are_refused_and_the_words_stay():
    made = [1, 2, 3]

    with pytest.raises(InvalidProgram) as caught:
        dispatch_param_words_into([binding(3, 7), binding(3, 8)], 7, made)

    assert str(caught.value) == (
        "binding 3 belongs to several buffers\nFix: give each buffer its own binding number"
    )
    assert made == [1, 2, 3]


def test_a_number_that_would_fill_memory_with_gaps_is_refused():
    with pytest.raises(InvalidProgram) as caught:
        words([binding(2**32 - 1, 7)], 7)

    assert str(caught.value) == (
        "4294967297 parameter words for 1 bindings; 1048576 allowed\n"
        "Fix: number the bindings from 0 on"
    )


@pytest.mark.parametrize("n", [-1, 2**32])
def test_a_count_beyond_32_bits_is_refused(n: int):
    with pytest.raises(InvalidInput) as caught:
        words([], n)

    assert str(caught.value) == (
        f"parameter words for {n} elements\nFix: use 0 to 4294967295 elements"
    )


def test_extents_follow_the_words_when_a_shape_is_given():
    assert words([binding(0, 7)], 6, DispatchShape(extent=(3, 2, 1))) == [6, 7, 3, 2, 1, 0]


def test_the_extents_of_arrays_follow_by_binding_number():
    bindings = bound(
        BufferDecl.write("out", 2, U32).with_shape(0, 0),
        BufferDecl.read("x", 1, U32).with_shape(2, 3, 4),
        BufferDecl.read("line", 0, U32),
    )
    shape = DispatchShape(extent=(5, 4, 1), arrays={"out": (4, 5), "line": (9,)})

    assert words(bindings, 20, shape) == [20, 9, 24, 20, 5, 4, 1, 2, 3, 4, 4, 5, 0]


def test_an_array_of_no_elements_has_length_0_and_not_n():
    table = bound(BufferDecl.read("table", 0, U32))

    assert words(table, 7) == [7, 7]
    assert words(table, 7, DispatchShape(extent=(7, 1, 1), arrays={"table": (0,)}))[1] == 0


def test_an_output_shorter_than_the_dispatch_has_its_own_length():
    out = bound(BufferDecl.write("out", 0, U32))

    assert words(out, 7, DispatchShape(extent=(7, 1, 1), arrays={"out": (5,)}))[1] == 5


def test_a_declared_count_holds_for_a_longer_array_too():
    bins = bound(BufferDecl.read_write("bins", 0, U32).with_count(4))

    assert words(bins, 7, DispatchShape(extent=(7, 1, 1), arrays={"bins": (9,)}))[1] == 4


@pytest.mark.parametrize(("declared", "given_shape"), [(4, (3,)), (0, (9,)), (0, (3,))])
def test_an_array_that_does_not_fit_its_buffer_is_refused(
    declared: int, given_shape: tuple[int, ...]
):
    decl = BufferDecl.read("x", 0, U32).with_count(declared)
    bindings = BindingPlan.from_input_lengths(program(decl), [16]).bindings

    with pytest.raises(InvalidInput) as caught:
        words(list(bindings), 7, DispatchShape(extent=(7, 1, 1), arrays={"x": given_shape}))

    assert str(caught.value) == (
        f"array 'x' of shape {given_shape} has {given_shape[0]} elements; its buffer has 4\n"
        "Fix: pass an array of 4 elements"
    )


@pytest.mark.parametrize("arrays", [{}, {"x": (6,)}])
def test_an_array_whose_extents_nobody_gives_is_refused(arrays: dict[str, tuple[int, ...]]):
    bindings = bound(BufferDecl.read("x", 0, U32).with_shape(0, 0))

    with pytest.raises(InvalidInput) as caught:
        words(bindings, 6, DispatchShape(extent=(3, 2, 1), arrays=arrays))

    assert str(caught.value) == (
        f"array 'x' has shape {arrays.get('x', ())}; its buffer has 2 axes\n"
        "Fix: give the array's 2 extents in DispatchShape.arrays"
    )


@pytest.mark.parametrize("extent", [(2**32, 1, 1), (-1, 1, 1), (65_536, 65_536, 1)])
def test_a_shape_beyond_32_bits_is_refused(extent: tuple[int, int, int]):
    with pytest.raises(InvalidInput) as caught:
        DispatchShape(extent=extent)

    assert str(caught.value) == (
        f"shape {extent} of the dispatch\nFix: use extents whose product is at most 4294967295"
    )


def test_the_shape_of_an_array_is_checked_like_the_dispatch():
    with pytest.raises(InvalidInput) as caught:
        DispatchShape(extent=(1, 1, 1), arrays={"x": (65_536, 65_536)})

    assert str(caught.value) == (
        "shape (65536, 65536) of x\nFix: use extents whose product is at most 4294967295"
    )


LAYOUT = WordLayout.of(
    program(
        BufferDecl.write("out", 2, U32).with_shape(0, 0),
        BufferDecl.workgroup("tile", 64, U32),
        BufferDecl.read("x", 0, U32),
    )
)


def test_a_layout_says_where_each_word_stands():
    assert LAYOUT.n == 0
    assert (LAYOUT.length("x"), LAYOUT.length("out")) == (1, 3)
    assert [LAYOUT.extent(axis) for axis in range(3)] == [4, 5, 6]
    assert [LAYOUT.dim("out", axis) for axis in range(2)] == [7, 8]
    assert LAYOUT.zero == 9
    assert (LAYOUT.plain_count, LAYOUT.count) == (4, 10)


def test_a_layout_has_no_length_of_workgroup_memory():
    with pytest.raises(InvalidInput) as caught:
        LAYOUT.length("tile")

    assert str(caught.value) == (
        "no word holds the length of 'tile'; there are words for x, out\n"
        "Fix: use a declared buffer, and the declared count of workgroup memory"
    )


@pytest.mark.parametrize(("buffer", "axis", "known"), [("x", 0, 0), ("out", 2, 2), ("out", -1, 2)])
def test_a_layout_has_no_extent_that_an_array_does_not_have(buffer: str, axis: int, known: int):
    with pytest.raises(InvalidInput) as caught:
        LAYOUT.dim(buffer, axis)

    assert str(caught.value) == (
        f"no word holds axis {axis} of {buffer!r}, which has {known} such words\n"
        "Fix: use an axis of a 2-D or 3-D array, and the length of a 1-D one"
    )


@pytest.mark.parametrize("axis", [-1, 3])
def test_a_layout_has_three_extents(axis: int):
    with pytest.raises(InvalidInput) as caught:
        LAYOUT.extent(axis)

    assert str(caught.value) == f"axis {axis} of the dispatch\nFix: use axis 0, 1 or 2"


@st.composite
def dispatches(draw: st.DrawFn) -> tuple[Program, DispatchShape]:
    numbers = draw(st.lists(st.integers(0, 12), unique=True, max_size=5))
    buffers, arrays = [], {}
    for number in numbers:
        name = f"b{number}"
        sizes = tuple(draw(st.lists(st.integers(0, 9), min_size=1, max_size=3)))
        decl = BufferDecl.write(name, number, U32)
        buffers.append(decl.with_shape(*[0] * len(sizes)) if len(sizes) > 1 else decl)
        arrays[name] = sizes
    if draw(st.booleans()):
        buffers.append(BufferDecl.workgroup("tile", 4, U32))
    extent = draw(st.tuples(*[st.integers(1, 99)] * 3))
    return program(*buffers), DispatchShape(extent=extent, arrays=arrays)


@given(dispatches())
def test_every_word_stands_where_the_layout_says(dispatch: tuple[Program, DispatchShape]):
    built, shape = dispatch
    layout = WordLayout.of(built)

    made = words(list(BindingPlan.build(built).bindings), shape.element_count, shape)

    assert len(made) == layout.count
    assert made[layout.n] == shape.element_count
    assert made[layout.zero] == 0
    assert tuple(made[layout.extent(axis)] for axis in range(3)) == shape.extent
    for name, sizes in shape.arrays.items():
        length = 1
        for axis, size in enumerate(sizes):
            length *= size
            if len(sizes) > 1:
                assert made[layout.dim(name, axis)] == size
        assert made[layout.length(name)] == length


@given(dispatches())
def test_without_a_shape_the_words_are_the_layouts_plain_part(
    dispatch: tuple[Program, DispatchShape],
):
    built, _ = dispatch

    assert (
        len(words(list(BindingPlan.build(built).bindings), 5)) == WordLayout.of(built).plain_count
    )


def test_a_layout_does_not_depend_on_the_order_of_declaration():
    x, y = BufferDecl.read("x", 0, U32).with_shape(0, 0), BufferDecl.read("y", 1, U32)

    assert WordLayout.of(program(x, y)) == WordLayout.of(program(y, x))
    assert WordLayout.of(program(x, y)) != WordLayout.of(program(replace(x, binding=2), y))
