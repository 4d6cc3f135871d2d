"""Where the context of a launch holds what, and which of its arrays may be one."""

import pytest

from vyre import ir
from vyre.emit.llvm.builder import Builder, Parts
from vyre.emit.llvm.features import Features
from vyre.emit.llvm.frame import ARGUMENTS, GRID, WORKGROUP, Frame
from vyre.emit.llvm.values import Shape, Value
from vyre.ir import BufferDecl, DataType, Program

F16, F32, F64, U32 = DataType.F16, DataType.F32, DataType.F64, DataType.U32
HERE = ir.gid()


def frame(*body, decls=None):
    given = decls or [BufferDecl.read("x", 0, F32), BufferDecl.write("out", 1, F32)]
    return Frame.of(Program.wrapped(given, (64, 1, 1), body))


def builder():
    return Builder(Parts(Features()), 1)


class TestLayout:
    def test_sizes_come_first_then_arguments_then_words(self):
        made = frame()

        assert (WORKGROUP, GRID, ARGUMENTS) == (0, 12, 32)
        assert made.words == ARGUMENTS + 2 * 8
        assert made.size == made.words + 4 * made.layout.count

    def test_workgroup_memory_is_no_argument(self):
        decls = [BufferDecl.write("out", 0, F32), BufferDecl.workgroup("line", 8, F32)]

        assert frame(decls=decls).words == ARGUMENTS + 8

    def test_arguments_are_loaded_once_where_the_function_begins(self):
        decls = [BufferDecl.uniform("k", 0, F64).with_count(1), BufferDecl.write("out", 1, F32)]
        b = builder()
        frame(decls=decls).unpack(b)

        assert not b.lines
        assert b.entry == [
            "  %t1 = getelementptr i8, ptr %frame, i64 32",
            "  %p0 = load double, ptr %t1",
            "  %t2 = getelementptr i8, ptr %frame, i64 40",
            "  %p1 = load ptr, ptr %t2",
            "  %words = getelementptr i8, ptr %frame, i64 48",
        ]

    def test_a_size_is_a_word_for_each_axis(self):
        b = builder()

        assert frame().size_of(b, GRID, 2) == "%t2"
        assert b.entry == [
            "  %t1 = getelementptr i8, ptr %frame, i64 20",
            "  %t2 = load i32, ptr %t1",
        ]


class TestBuffers:
    def test_a_declared_length_is_a_constant_and_others_are_loaded(self):
        decls = [BufferDecl.read("x", 0, F32).with_count(7), BufferDecl.write("out", 1, F32)]
        found = frame(decls=decls).buffers(builder())

        assert found["x"].length == Value(U32, Shape.UNIFORM, ("7",), is_constant=True)
        assert found["out"].length == Value(U32, Shape.UNIFORM, ("%t2",))
        assert [held.pointer for held in found.values()] == ["%p0", "%p1"]

    def test_only_arrays_of_several_axes_have_extents(self):
        decls = [
            BufferDecl.read("x", 0, F32),
            BufferDecl.write("out", 1, F32).with_shape(0, 5),
        ]
        found = frame(decls=decls).buffers(builder())

        assert found["x"].dims == ()
        first, second = found["out"].dims
        assert not first.is_constant
        assert second.registers == ("5",)

    def test_scalars_are_no_buffers_and_are_converted_where_the_function_begins(self):
        decls = [BufferDecl.uniform("k", 0, F16).with_count(1), BufferDecl.write("out", 1, F32)]
        b = builder()
        made = frame(decls=decls)

        assert list(made.buffers(builder())) == ["out"]
        assert made.scalars(b)["k"].dtype == F32
        assert b.entry == [
            "  %t1 = bitcast i16 %p0 to half",
            "  %t2 = fpext half %t1 to float",
        ]
        assert not b.lines


class TestSharedArrays:
    @pytest.mark.parametrize(
        ("body", "shared"),
        [
            ([ir.store("out", HERE, ir.load("x", HERE))], {"x", "out"}),
            ([ir.store("out", HERE, ir.load("x", HERE + 1))], set()),
            ([ir.store("out", HERE, ir.f32(1)), ir.let("a", ir.load("x", HERE))], set()),
            ([ir.store("out", HERE, ir.f32(1))], {"x", "out"}),
        ],
        ids=["own position", "a neighbour", "read behind the store", "not read"],
    )
    def test_one_array_may_be_two_arguments_only_where_that_changes_nothing(self, body, shared):
        assert frame(*body).shared == shared

    def test_arrays_of_different_types_are_never_one(self):
        decls = [BufferDecl.read("x", 0, U32), BufferDecl.write("out", 1, F32)]
        body = ir.store("out", HERE, ir.cast(F32, ir.load("x", HERE)))

        assert not frame(body, decls=decls).shared

    def test_arrays_that_may_be_one_are_not_said_to_be_apart(self):
        own = frame(ir.store("out", HERE, ir.load("x", HERE))).parameters
        apart = frame(ir.store("out", HERE, ir.load("x", HERE + 1))).parameters
        rest = "ptr noalias readonly %words, ptr noalias readonly %frame"

        assert own == f"ptr readonly %p0, ptr %p1, {rest}"
        assert apart == f"ptr noalias readonly %p0, ptr noalias %p1, {rest}"

    def test_a_call_passes_what_a_function_takes(self):
        decls = [BufferDecl.uniform("k", 0, F32).with_count(1), BufferDecl.write("out", 1, F32)]

        assert frame(decls=decls).passed == "float %p0, ptr %p1, ptr %words, ptr %frame"
