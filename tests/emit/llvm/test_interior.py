"""How far accesses reach around a position, and which are free of checks where."""

import pytest

from vyre import ir
from vyre.analysis import analyse
from vyre.emit.llvm.interior import Interior, Margin, interior
from vyre.ir import BufferDecl, DataType, Program

F32, I32, U32, U64, I64, U8 = (
    DataType.F32,
    DataType.I32,
    DataType.U32,
    DataType.U64,
    DataType.I64,
    DataType.U8,
)


def of(*body, checked=True, shape=()) -> Interior:
    x, out = BufferDecl.read("x", 0, F32), BufferDecl.write("out", 1, F32)
    if shape:
        x, out = x.with_shape(*shape), out.with_shape(*shape)
    scalar = BufferDecl.uniform("k", 2, U32).with_count(1)
    program = Program.wrapped([x, out, scalar], (64, 1, 1), body)
    return interior(program, analyse(program), checked=checked)


def margins_of(index) -> list[Margin] | None:
    """Those of a load of `x`; None where it keeps its check everywhere."""
    found = of(ir.store("out", ir.u32(0), ir.load("x", index)))
    loads = [margins for key, margins in found.inner.items() if key[0] == "x" and key[2] == index]
    return list(loads[0]) if loads else None


class TestMargins:
    @pytest.mark.parametrize("dtype", [U32, U64, I32, I64])
    def test_an_offset_below_0_is_negative_whatever_the_type(self, dtype):
        here = ir.cast(dtype, ir.gid()) if dtype != U32 else ir.gid()

        assert margins_of(here - ir.lit(dtype, 2)) == [Margin("x", 0, 0, -2, -2)]
        assert margins_of(here + ir.lit(dtype, 2)) == [Margin("x", 0, 0, 2, 2)]

    def test_an_offset_that_was_wrapped_by_hand_is_negative(self):
        assert margins_of(ir.gid() + ir.u32(2**32 - 1)) == [Margin("x", 0, 0, -1, -1)]

    @pytest.mark.parametrize("axis", [0, 1, 2])
    def test_a_margin_is_around_the_axis_of_its_position(self, axis):
        assert margins_of(ir.gid(axis)) == [Margin("x", 0, axis, 0, 0)]

    def test_a_constant_index_is_around_no_axis(self):
        assert margins_of(ir.u32(7)) == [Margin("x", 0, None, 7, 7)]

    def test_an_offset_beyond_2_to_the_30_is_no_margin(self):
        assert margins_of(ir.gid() + ir.u32(1 << 29)) == [Margin("x", 0, 0, 1 << 29, 1 << 29)]
        assert margins_of(ir.gid() + ir.u32(1 << 30)) is None

    @pytest.mark.parametrize(
        "index",
        [
            ir.gid() * 2,
            ir.gid() + ir.gid(1),
            ir.gid() + ir.load("k", ir.u32(0)),
            ir.gid() + ir.buf_len("out"),
            ir.cast(U32, ir.load("x", ir.gid())),
            ir.cast(U8, ir.gid()),
        ],
        ids=["stride", "two positions", "scalar", "length", "gather", "narrow"],
    )
    def test_an_index_that_is_no_position_and_a_number_has_none(self, index):
        assert margins_of(index) is None

    def test_an_array_of_several_axes_has_one_for_each(self):
        at = ir.flat_index("x", ir.gid(1) + 1, ir.gid(0) - ir.u32(3))
        found = of(ir.store("out", ir.u32(0), ir.load("x", at)), shape=(0, 0))

        assert set(found.margins) >= {Margin("x", 0, 1, 1, 1), Margin("x", 1, 0, -3, -3)}

    def test_one_axis_without_a_margin_leaves_the_access_checked(self):
        at = ir.flat_index("x", ir.gid(1) * 2, ir.gid(0))
        found = of(ir.store("out", ir.u32(0), ir.load("x", at)), shape=(0, 0))

        assert not [key for key in found.inner if key[0] == "x"]


class TestCounters:
    def reach(self, start, stop, index):
        """Those of a load in a loop from `start` to before `stop`."""
        body = [ir.assign("sum", ir.var("sum") + ir.load("x", index(ir.var("i"))))]
        found = of(
            ir.let("sum", ir.f32(0)),
            ir.loop("i", start, stop, body),
            ir.store("out", ir.gid(), ir.var("sum")),
        )
        return [margin for margin in found.margins if margin.buffer == "x"]

    def test_a_loop_reaches_from_its_first_round_to_its_last(self):
        reach = self.reach(ir.u32(1), ir.u32(4), lambda i: ir.gid() + i * 5)

        assert reach == [Margin("x", 0, 0, 5, 15)]

    def test_a_loop_that_counts_down_reaches_below(self):
        reach = self.reach(ir.u32(0), ir.u32(4), lambda i: ir.gid() - i * 2)

        assert reach == [Margin("x", 0, 0, -6, 0)]

    def test_a_counter_alone_is_around_no_axis(self):
        assert self.reach(ir.u32(0), ir.u32(4), lambda i: i) == [Margin("x", 0, None, 0, 3)]

    def test_a_length_that_only_the_launch_knows_has_no_margin(self):
        assert self.reach(ir.u32(0), ir.buf_len("out"), lambda i: ir.gid() + i) == []

    def test_a_weight_that_only_the_launch_knows_has_no_margin(self):
        weight = ir.load("k", ir.u32(0))

        assert self.reach(ir.u32(0), ir.u32(4), lambda i: ir.gid() + i * weight) == []

    def test_a_loop_without_rounds_has_no_margin(self):
        assert self.reach(ir.u32(4), ir.u32(4), lambda i: ir.gid() + i) == []


class TestFree:
    COPY = ir.store("out", ir.gid(), ir.load("x", ir.gid()))

    def test_what_is_proved_is_free_in_unchecked_code_alone(self):
        assert {key[0] for key in of(self.COPY, checked=False).free} == {"x", "out"}
        assert not of(self.COPY, checked=True).free

    def test_an_access_that_is_proved_here_and_checked_there_is_checked(self):
        """The same statement stands twice: what holds of one does not of the other."""
        load, gathered = ir.load("x", ir.var("at")), ir.cast(U32, ir.load("x", ir.gid()))
        body = [
            ir.block([ir.let("at", ir.gid()), ir.store("out", ir.gid(), load)]),
            ir.block([ir.let("at", gathered), ir.store("out", ir.gid(), load)]),
        ]

        found = of(*body, checked=False)

        assert ("x", "out[gid(0)] = x[at]", ir.var("at")) not in {*found.free, *found.inner}

    def test_two_accesses_that_read_alike_keep_the_margins_of_both(self):
        load = ir.load("x", ir.var("at"))
        body = [
            ir.block([ir.let("at", ir.gid() + 1), ir.store("out", ir.gid(), load)]),
            ir.block([ir.let("at", ir.gid() + 2), ir.store("out", ir.gid(), load)]),
        ]

        found = of(*body)

        (margins,) = [margins for key, margins in found.inner.items() if key[0] == "x"]
        assert margins == (Margin("x", 0, 0, 1, 1), Margin("x", 0, 0, 2, 2))

    def test_all_margins_are_named_once(self):
        found = of(self.COPY, self.COPY)

        assert found.margins == (Margin("x", 0, 0, 0, 0), Margin("out", 0, 0, 0, 0))
