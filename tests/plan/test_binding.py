from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre import ir
from vyre.errors import InvalidInput, InvalidProgram
from vyre.ir import Access, BufferDecl, DataType, Hints, MemoryKind, Program
from vyre.plan.binding import Binding, BindingPlan, BindingRole

U32 = DataType.U32


def program(*buffers: BufferDecl) -> Program:
    return Program.wrapped(buffers, (64, 1, 1), [])


def only(plan: BindingPlan) -> Binding:
    (binding,) = plan.bindings
    return binding


@pytest.mark.parametrize(
    ("decl", "role"),
    [
        (BufferDecl.read("b", 0, U32), BindingRole.INPUT),
        (BufferDecl.read_write("b", 0, U32), BindingRole.INPUT_OUTPUT),
        (BufferDecl.write("b", 0, U32), BindingRole.OUTPUT),
        (BufferDecl.uniform("b", 0, U32), BindingRole.UNIFORM),
        (BufferDecl.workgroup("b", 4, U32), BindingRole.SHARED),
        (BufferDecl.output("b", 0, U32).with_count(4), BindingRole.OUTPUT),
        (replace(BufferDecl.read("b", 0, U32), live_out=True), BindingRole.OUTPUT),
        (BufferDecl.output("b", 0, U32).with_kind(MemoryKind.PERSISTENT), BindingRole.PERSISTENT),
        (BufferDecl.output("b", 0, U32).with_kind(MemoryKind.SHARED), BindingRole.SHARED),
        (BufferDecl.workgroup("b", 4, U32).with_kind(MemoryKind.PERSISTENT), BindingRole.SHARED),
    ],
)
def test_where_a_buffer_lives_counts_before_how_it_is_accessed(decl: BufferDecl, role: BindingRole):
    assert BindingRole.of(decl) is role


@pytest.mark.parametrize("access", Access)
def test_every_access_has_a_role(access: Access):
    decl = BufferDecl.storage("b", 0, access, U32)

    assert BindingRole.of(decl) in BindingRole


def test_bindings_are_ordered_by_number_and_indices_by_declaration():
    plan = BindingPlan.build(
        program(
            BufferDecl.read_write("both", 7, U32),
            BufferDecl.workgroup("scratch", 4, U32),
            BufferDecl.write("out", 3, U32),
            BufferDecl.read("x", 1, U32),
            BufferDecl.uniform("a", 5, U32),
        )
    )

    assert [binding.name for binding in plan.bindings] == ["scratch", "x", "out", "a", "both"]
    assert plan.input_indices == (0, 3, 4)
    assert plan.output_indices == (0, 2)
    assert plan.shared_indices == (1,)
    by_name = {binding.name: binding for binding in plan.bindings}
    assert [by_name[name].input_index for name in ("both", "x", "a")] == [0, 1, 2]
    assert [by_name[name].output_index for name in ("both", "out", "x")] == [0, 1, None]


def test_equal_numbers_keep_the_order_of_declaration():
    plan = BindingPlan.build(
        program(BufferDecl.read("x", 0, U32), BufferDecl.workgroup("s", 4, U32))
    )

    assert [binding.name for binding in plan.bindings] == ["x", "s"]


def test_a_live_out_buffer_is_an_output_slot_whatever_its_role():
    kept = replace(
        BufferDecl.read_write("kept", 0, U32).with_count(4).with_kind(MemoryKind.PERSISTENT),
        live_out=True,
    )

    plan = BindingPlan.build(program(kept))

    assert only(plan).role is BindingRole.PERSISTENT
    assert (plan.output_indices, only(plan).output_index) == ((0,), 0)


@pytest.mark.parametrize(
    ("element", "size", "alignment"),
    [(U32, 4, 4), (DataType.U8, 1, 1), (DataType.VEC4_U32, 16, 16), (DataType.BYTES, 0, 1)],
)
def test_without_a_hint_a_buffer_is_aligned_to_its_elements(
    element: DataType, size: int, alignment: int
):
    binding = only(BindingPlan.build(program(BufferDecl.read("x", 0, element))))

    assert (binding.element_size, binding.preferred_alignment) == (size, alignment)


@pytest.mark.parametrize(("hint", "alignment"), [(0, 4), (2, 4), (64, 64)])
def test_a_hint_raises_the_alignment_and_never_lowers_it(hint: int, alignment: int):
    decl = BufferDecl.read("x", 0, U32).with_hints(Hints(alignment=hint))

    assert only(BindingPlan.build(program(decl))).preferred_alignment == alignment


@pytest.mark.parametrize("hint", [3, 12, -4])
def test_an_alignment_that_is_no_power_of_two_is_refused(hint: int):
    decl = BufferDecl.read("x", 0, U32).with_hints(Hints(alignment=hint))

    with pytest.raises(InvalidProgram) as caught:
        BindingPlan.build(program(decl))

    assert str(caught.value) == (
        f"buffer 'x' asks for alignment {hint}\nFix: use 0 or a power of two"
    )


def test_a_declared_count_is_the_element_count():
    plan = BindingPlan.from_input_lengths(program(BufferDecl.read("x", 0, U32).with_count(7)), [28])

    assert (only(plan).element_count, only(plan).static_byte_len) == (7, 28)


@pytest.mark.parametrize(
    ("element", "length", "count"),
    [
        (U32, 28, 7),
        (DataType.F64, 16, 2),
        (DataType.I4, 3, 6),
        (DataType.BYTES, 5, 5),
        (DataType.array(12), 30, 2),
        (DataType.array(0), 30, 0),
        (DataType.TENSOR, 30, 0),
    ],
)
def test_an_open_count_comes_from_the_bytes_of_the_input(
    element: DataType, length: int, count: int
):
    plan = BindingPlan.from_borrowed_inputs(
        program(BufferDecl.read("x", 0, element)), [bytes(length)]
    )

    assert only(plan).element_count == count


def test_an_open_output_without_an_input_has_no_count():
    plan = BindingPlan.from_input_lengths(program(BufferDecl.write("out", 0, U32)), [])

    assert (only(plan).element_count, only(plan).static_byte_len) == (0, None)


def test_a_plan_built_without_inputs_asks_for_none():
    plan = BindingPlan.build(program(BufferDecl.read("x", 0, U32)))

    assert (only(plan).element_count, only(plan).input_index) == (0, 0)


def test_borrowed_inputs_count_bytes_whatever_their_items_are():
    words = memoryview(bytes(28)).cast("I")

    plan = BindingPlan.from_borrowed_inputs(program(BufferDecl.read("x", 0, U32)), [words])

    assert only(plan).element_count == 7


def test_a_wrong_number_of_inputs_is_refused_with_the_names():
    two = program(BufferDecl.read("x", 0, U32), BufferDecl.read("y", 1, U32))

    with pytest.raises(InvalidInput) as caught:
        BindingPlan.from_borrowed_inputs(two, [b""])

    assert str(caught.value) == (
        "1 inputs given; the program takes 2 (x, y)\n"
        "Fix: pass 2 inputs, in the order of the declarations"
    )


def test_an_input_for_a_program_that_takes_none_is_refused():
    with pytest.raises(InvalidInput) as caught:
        BindingPlan.from_input_lengths(program(BufferDecl.write("out", 0, U32)), [4])

    assert str(caught.value) == (
        "1 inputs given; the program takes 0 (none)\n"
        "Fix: pass 0 inputs, in the order of the declarations"
    )


def test_a_part_of_an_element_is_refused():
    with pytest.raises(InvalidInput) as caught:
        BindingPlan.from_borrowed_inputs(program(BufferDecl.read("x", 0, U32)), [bytes(7)])

    assert str(caught.value) == (
        "input 'x' is 7 bytes, not whole u32 elements\nFix: pass a multiple of 4 bytes"
    )


def test_a_negative_length_is_refused():
    with pytest.raises(InvalidInput) as caught:
        BindingPlan.from_input_lengths(program(BufferDecl.read("x", 0, DataType.U8)), [-1])

    assert str(caught.value) == (
        "input 'x' is -1 bytes, not whole u8 elements\nFix: pass a length of at least 0"
    )


@pytest.mark.parametrize("length", [12, 20])
def test_a_borrowed_input_has_exactly_the_declared_length(length: int):
    four = program(BufferDecl.read("x", 0, U32).with_count(4))

    with pytest.raises(InvalidInput) as caught:
        BindingPlan.from_borrowed_inputs(four, [bytes(length)])

    assert str(caught.value) == (
        f"input 'x' is {length} bytes; 4 elements of u32 declared\nFix: pass exactly 16 bytes"
    )


def test_a_resident_input_may_be_longer_than_declared_but_not_shorter():
    four = program(BufferDecl.read("x", 0, U32).with_count(4))

    assert only(BindingPlan.from_input_lengths(four, [20])).element_count == 4
    with pytest.raises(InvalidInput) as caught:
        BindingPlan.from_input_lengths(four, [12])
    assert str(caught.value) == (
        "input 'x' is 12 bytes; 4 elements of u32 declared\nFix: pass at least 16 bytes"
    )


def test_more_elements_than_32_bits_count_are_refused():
    with pytest.raises(InvalidInput) as caught:
        BindingPlan.from_input_lengths(program(BufferDecl.read("x", 0, DataType.U8)), [2**32])

    assert str(caught.value) == (
        "input 'x' has 4294967296 elements; 4294967295 allowed\nFix: split the input"
    )


@pytest.mark.parametrize("what", ["binding", "element_count"])
def test_a_binding_holds_32_bit_numbers(what: str):
    given = only(BindingPlan.build(program(BufferDecl.read("x", 0, U32))))

    with pytest.raises(InvalidInput) as caught:
        replace(given, **{what: 2**32})

    assert str(caught.value) == f"{what} 4294967296 of buffer 'x'\nFix: use 0 to 4294967295"


def test_a_fingerprint_is_number_role_and_element_size_in_order():
    plan = BindingPlan.build(
        program(BufferDecl.write("out", 2, DataType.F64), BufferDecl.read("x", 0, U32))
    )

    assert plan.fingerprint() == ((0, BindingRole.INPUT, 4), (2, BindingRole.OUTPUT, 8))


def test_a_fingerprint_depends_on_neither_names_nor_counts_nor_order():
    out, x = BufferDecl.write("out", 1, U32), BufferDecl.read("x", 0, U32)
    renamed = replace(x, name="input", count=9)

    assert (
        BindingPlan.build(program(out, x)).fingerprint()
        == BindingPlan.build(program(renamed, out)).fingerprint()
    )
    assert (
        BindingPlan.build(program(x)).fingerprint()
        != BindingPlan.build(program(replace(x, access=Access.READ_WRITE))).fingerprint()
    )


@given(st.lists(st.sampled_from([ir.Access.READ_ONLY, Access.READ_WRITE, Access.WRITE_ONLY])))
def test_every_buffer_is_bound_once_and_every_slot_points_back_at_it(accesses: list[Access]):
    buffers = [BufferDecl.storage(f"b{i}", i, a, U32) for i, a in enumerate(accesses)]

    plan = BindingPlan.build(program(*buffers))

    assert sorted(binding.buffer_index for binding in plan.bindings) == list(range(len(buffers)))
    for binding in plan.bindings:
        if binding.input_index is not None:
            assert plan.input_indices[binding.input_index] == binding.buffer_index
        if binding.output_index is not None:
            assert plan.output_indices[binding.output_index] == binding.buffer_index
