"""Where vectors begin: which array decides, and which tiles may be moved to its lines."""

import pytest

from vyre import ir
from vyre.emit.llvm.alignment import Lines, lines_of
from vyre.emit.llvm.builder import Builder, Parts
from vyre.emit.llvm.features import Features
from vyre.emit.llvm.memory import Buffer
from vyre.emit.llvm.values import Shape, Value
from vyre.ir import BufferDecl, DataType, Program

F32, U32 = DataType.F32, DataType.U32
X, Y = ir.gid(0), ir.gid(1)


def line(*body):
    decls = [BufferDecl.read("x", 0, F32), BufferDecl.write("out", 1, F32)]
    return lines_of(Program.wrapped(decls, (64, 1, 1), body))


class TestWhichArray:
    def test_the_one_to_which_each_position_stores_its_own(self):
        assert line(ir.store("out", X, ir.f32(1))) == Lines("out", 1, movable=True)

    @pytest.mark.parametrize(
        "body",
        [
            [],
            [ir.store("out", X + 1, ir.f32(1))],
            [ir.store("out", Y, ir.f32(1))],
            [ir.let("a", ir.load("x", X))],
        ],
        ids=["nothing", "a neighbour's", "a row's", "only read"],
    )
    def test_no_other(self, body):
        assert line(*body) is None

    def test_a_tile_that_knows_its_place_stays_there(self):
        found = line(ir.store("out", X, ir.cast(F32, ir.local_id())))

        assert found == Lines("out", 1, movable=False)

    def test_a_tile_of_rows_stays_there(self):
        decl = BufferDecl.write("out", 0, F32).with_shape(0, 0)
        store = ir.store("out", ir.flat_index("out", Y, X), ir.f32(1))

        assert lines_of(Program.wrapped([decl], (64, 1, 1), [store])) == Lines(
            "out", 2, movable=False
        )


class TestText:
    def builder(self):
        return Builder(Parts(Features()), 16)

    def held(self, dtype, dims=()):
        length = Value(U32, Shape.UNIFORM, ("%n",))
        return Buffer(BufferDecl.write("out", 0, dtype), "%p0", length, dims)

    def test_a_step_to_a_line_ends_at_the_last_position_there_is(self):
        """Wrapped, it would begin in another tile."""
        b = self.builder()

        assert Lines("out", 1, movable=True).next(b, self.held(F32), "%x0", "%x1") == "%t8"
        assert b.lines == [
            "  %t6 = sub i32 %t5, %x0",
            "  %t7 = and i32 %t6, 15",
            "  %t8 = call i32 @llvm.uadd.sat.i32(i32 %x0, i32 %t7)",
        ]

    def test_rows_that_do_not_begin_alike_begin_anywhere(self):
        b = self.builder()
        dims = tuple(Value(U32, Shape.UNIFORM, (name,)) for name in ("%h", "%w"))
        Lines("out", 2, movable=False).first(b, self.held(F32, dims))

        assert b.entry[-4:] == [
            "  %t6 = mul i32 %w, 4",
            "  %t7 = and i32 %t6, 63",
            "  %t8 = icmp eq i32 %t7, 0",
            "  %t9 = select i1 %t8, i32 %t5, i32 0",
        ]

    def test_short_rows_are_not_cut_for_it(self):
        b = self.builder()
        dims = tuple(Value(U32, Shape.UNIFORM, (name,)) for name in ("%h", "%w"))
        Lines("out", 2, movable=False).next(b, self.held(F32, dims), "%x0", "%x1")

        assert b.lines[-3:] == [
            "  %t13 = sub i32 %x1, %x0",
            "  %t14 = icmp ugt i32 %t13, 1023",
            "  %t15 = select i1 %t14, i32 %t12, i32 %x0",
        ]
