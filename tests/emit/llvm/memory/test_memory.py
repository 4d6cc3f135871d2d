"""Indices as places: what is checked, and how addresses are made of positions."""

import pytest

from vyre.emit.llvm import memory
from vyre.emit.llvm.arithmetic import Instructions
from vyre.emit.llvm.builder import Builder, Parts
from vyre.emit.llvm.features import Features
from vyre.emit.llvm.memory import Buffer, Place
from vyre.emit.llvm.values import Shape, Value
from vyre.ir import BufferDecl, DataType
from vyre.ir.expr import AtomicOp

BOOL, F16, F32, F64 = DataType.BOOL, DataType.F16, DataType.F32, DataType.F64
I8, I32, I64, U16, U32, U64 = (
    DataType.I8,
    DataType.I32,
    DataType.I64,
    DataType.U16,
    DataType.U32,
    DataType.U64,
)


def instructions(width=4, rows=1):
    return Instructions(Builder(Parts(Features()), width, rows))


def buffer(element=F32, count=0, dims=()):
    decl = BufferDecl.read_write("x", 0, element)
    return Buffer(
        decl.with_count(count) if count else decl,
        "%p0",
        Value(U32, Shape.UNIFORM, (str(count) if count else "%n",), is_constant=bool(count)),
        dims,
    )


def value(name, dtype=U32, shape=Shape.UNIFORM, **more):
    return Value(dtype, shape, (name,), **more)


def written(do):
    return [line.strip().split(" = ", 1)[-1] for line in do.b.lines]


class TestPlaces:
    @pytest.mark.parametrize(
        ("dtype", "lines"),
        [
            (U32, ["icmp ult i32 %i, %n"]),
            (I32, ["icmp ult i32 %i, %n", "icmp sge i32 %i, 0", "and i1 %t1, %t2"]),
            (U64, ["zext i32 %n to i64", "icmp ult i64 %i, %t1"]),
            (I64, ["zext i32 %n to i64", "icmp ult i64 %i, %t1"]),
            (U16, ["zext i16 %i to i32", "icmp ult i32 %t1, %n"]),
            (
                I8,
                [
                    "sext i8 %i to i32",
                    "icmp ult i32 %t1, %n",
                    "icmp sge i32 %t1, 0",
                    "and i1 %t2, %t3",
                ],
            ),
        ],
        ids=str,
    )
    def test_an_index_is_inside_from_0_to_the_length(self, dtype, lines):
        """A length may exceed 2**31, which a negative index of 32 bits would look like."""
        do = instructions()
        memory.place(do, buffer(), value("%i", dtype), free=False)

        assert written(do) == lines

    def test_what_is_free_is_not_checked(self):
        do = instructions()

        assert memory.place(do, buffer(), value("%i"), free=True) == Place(value("%i"), None)
        assert not written(do)

    @pytest.mark.parametrize(("index", "checked"), [("6", False), ("7", True), ("-1", True)])
    def test_a_constant_within_a_declared_length_is_not_checked(self, index, checked):
        do = instructions()
        dtype = I32 if index == "-1" else U32
        place = memory.place(do, buffer(count=7), value(index, dtype, is_constant=True), free=False)

        assert (place.inside is not None) is checked

    def test_every_axis_is_checked_on_its_own(self):
        do = instructions()
        dims = (value("%h"), value("%w"))
        place = memory.flat_place(do, buffer(dims=dims), (value("%i"), value("%j")), free=False)

        assert written(do) == [
            "icmp ult i32 %i, %h",
            "icmp ult i32 %j, %w",
            "and i1 %t1, %t2",
            "mul i32 %i, %w",
            "add i32 %t4, %j",
        ]
        assert place == Place(value("%t5"), value("%t3", BOOL))

    def test_a_row_of_neighbours_stays_one(self):
        do = instructions()
        dims = (value("%h"), value("%w"))
        at = (value("%i"), value("%j", shape=Shape.LINEAR))

        assert memory.flat_place(do, buffer(dims=dims), at, free=True).index.shape is Shape.LINEAR

    def test_as_a_number_what_is_outside_is_the_last_one(self):
        do = instructions()
        memory.flat_number(do, Place(value("%i"), value("%ok", BOOL)))

        assert memory.flat_number(do, Place(value("%i"), None)) == value("%i")
        assert written(do) == ["select i1 %ok, i32 %i, i32 4294967295"]


class TestLoads:
    def test_one_element_for_all_lanes_is_loaded_once(self):
        do = instructions()
        found = memory.load(do, buffer(), Place(value("%i"), None), None)

        assert written(do) == [
            "zext i32 %i to i64",
            "getelementptr float, ptr %p0, i64 %t1",
            "load float, ptr %t2, align 4",
        ]
        assert found.shape is Shape.UNIFORM

    def test_neighbours_are_loaded_as_one_vector(self):
        do = instructions()
        memory.load(do, buffer(), Place(value("%i", shape=Shape.LINEAR), None), None)

        assert written(do)[-1] == "load <4 x float>, ptr %t2, align 4"

    def test_a_first_lane_before_the_buffer_counts_as_negative(self):
        """Position -1 as u32: lane 1 is at the buffer's first element."""
        do = instructions()
        inside = value("%ok", BOOL, Shape.VECTOR)
        memory.load(do, buffer(), Place(value("%i", shape=Shape.LINEAR), inside), None)

        assert written(do)[:4] == [
            "icmp ugt i32 %i, -5",
            "sext i32 %i to i64",
            "zext i32 %i to i64",
            "select i1 %t1, i64 %t2, i64 %t3",
        ]

    def test_a_position_of_64_bits_needs_no_such_care(self):
        do = instructions()
        mask = value("%m", BOOL, Shape.VECTOR)
        memory.load(do, buffer(), Place(value("%i", U64, Shape.LINEAR), None), mask)

        assert written(do)[0] == "getelementptr float, ptr %p0, i64 %i"
        assert "@llvm.masked.load.v4f32.p0" in written(do)[1]

    def test_elements_that_lie_apart_are_gathered(self):
        do = instructions()
        memory.load(do, buffer(F64), Place(value("%i", I32, Shape.VECTOR), None), None)

        assert written(do) == [
            "sext <4 x i32> %i to <4 x i64>",
            "getelementptr double, ptr %p0, <4 x i64> %t1",
            "call <4 x double> @llvm.masked.gather.v4f64.v4p0(<4 x ptr> %t2, i32 8, "
            "<4 x i1> splat (i1 true), <4 x double> zeroinitializer)",
        ]

    def test_one_place_that_only_some_lanes_may_read_is_gathered(self):
        do = instructions()
        inside = value("%ok", BOOL, Shape.VECTOR)
        found = memory.load(do, buffer(), Place(value("%i"), inside), None)

        assert found.shape is Shape.VECTOR
        assert "@llvm.masked.gather" in written(do)[-1]

    def test_a_bool_is_a_word_and_a_half_its_pattern(self):
        do = instructions()
        place = Place(value("0", is_constant=True), None)

        assert memory.load(do, buffer(BOOL), place, None).dtype == BOOL
        assert memory.load(do, buffer(F16), place, None).dtype == F32
        assert written(do) == [
            "getelementptr i32, ptr %p0, i64 0",
            "load i32, ptr %t1, align 4",
            "icmp ne i32 %t2, 0",
            "getelementptr i16, ptr %p0, i64 0",
            "load i16, ptr %t4, align 2",
            "bitcast i16 %t5 to half",
            "fpext half %t6 to float",
        ]


class TestStores:
    def store(self, place, given, mask=None, **builder):
        do = instructions(**builder)
        memory.store(do, buffer(), place, given, mask)
        return [line.strip() for line in do.b.lines]

    def test_one_element_for_all_lanes_is_stored_once(self):
        lines = self.store(Place(value("0", is_constant=True), None), value("%v", F32))

        assert lines == [
            "%t1 = getelementptr float, ptr %p0, i64 0",
            "store float %v, ptr %t1, align 4",
        ]

    def test_of_masked_lanes_one_is_enough(self):
        mask = value("%m", BOOL, Shape.VECTOR)
        lines = self.store(
            Place(value("0", is_constant=True), value("%ok", BOOL)), value("%v", F32), mask
        )

        assert lines == [
            "%t1 = getelementptr float, ptr %p0, i64 0",
            "%t2 = call i1 @llvm.vector.reduce.or.v4i1(<4 x i1> %m)",
            "%t3 = and i1 %ok, %t2",
            "br i1 %t3, label %t4, label %t5",
            "t4:",
            "store float %v, ptr %t1, align 4",
            "br label %t5",
            "t5:",
        ]

    def test_neighbours_are_stored_as_one_vector(self):
        place = Place(value("%i", shape=Shape.LINEAR), None)

        assert self.store(place, value("%v", F32, Shape.VECTOR))[-1] == (
            "store <4 x float> %v, ptr %t2, align 4"
        )

    def test_rows_are_stored_one_after_the_other(self):
        place = Place(Value(U32, Shape.LINEAR, ("%i", "%j")), None)
        lines = self.store(place, value("%v", F32, Shape.VECTOR), rows=2)

        assert [line for line in lines if line.startswith("store")] == [
            "store <4 x float> %v, ptr %t2, align 4",
            "store <4 x float> %v, ptr %t4, align 4",
        ]

    def test_masked_neighbours_are_stored_by_a_mask(self):
        place = Place(value("%i", shape=Shape.LINEAR), value("%ok", BOOL, Shape.VECTOR))

        assert self.store(place, value("%v", F32, Shape.VECTOR))[-1] == (
            "call void @llvm.masked.store.v4f32.p0(<4 x float> %v, ptr %t5, i32 4, <4 x i1> %ok)"
        )

    def test_elements_that_lie_apart_are_scattered(self):
        place = Place(value("%i", shape=Shape.VECTOR), None)

        assert self.store(place, value("%v", F32, Shape.VECTOR))[-1] == (
            "call void @llvm.masked.scatter.v4f32.v4p0"
            "(<4 x float> %v, <4 x ptr> %t2, i32 4, <4 x i1> splat (i1 true))"
        )

    def test_lanes_that_meet_at_one_place_are_scattered_so_that_the_last_stays(self):
        place = Place(value("0", is_constant=True), None)

        assert "@llvm.masked.scatter" in self.store(place, value("%v", F32, Shape.VECTOR))[-1]


class TestAtomics:
    def change(self, op, element=U32, width=1, **more):
        do = instructions(width)
        operands = (value("%v", element),) * (2 if op is AtomicOp.COMPARE_EXCHANGE else 1)
        place = Place(value("%i"), more.pop("inside", None))
        change = memory.Change(op, operands, is_read=more.pop("is_read", True), **more)
        memory.atomic(do, buffer(element), place, change, None)
        return written(do)

    @pytest.mark.parametrize(
        ("op", "element", "text"),
        [
            (AtomicOp.ADD, U32, "atomicrmw add ptr %t3, i32 %v monotonic"),
            (AtomicOp.MIN, I32, "atomicrmw min ptr %t3, i32 %v monotonic"),
            (AtomicOp.MAX, U64, "atomicrmw umax ptr %t3, i64 %v monotonic"),
            (AtomicOp.FETCH_NAND, U32, "atomicrmw nand ptr %t3, i32 %v monotonic"),
            (AtomicOp.EXCHANGE, F32, "atomicrmw xchg ptr %t3, float %v monotonic"),
            (
                AtomicOp.COMPARE_EXCHANGE,
                I32,
                "cmpxchg ptr %t3, i32 %v, i32 %v monotonic monotonic",
            ),
        ],
        ids=lambda part: getattr(part, "name", str(part)[:12]),
    )
    def test_a_processor_has_them(self, op, element, text):
        assert text in self.change(op, element)

    @pytest.mark.parametrize("op", [AtomicOp.ADD, AtomicOp.MIN, AtomicOp.MAX], ids=str)
    def test_of_floats_they_are_tried_until_nobody_was_between(self, op):
        lines = self.change(op, F32)

        assert "load atomic i32, ptr %t3 monotonic, align 4" in lines
        assert any(line.startswith("cmpxchg ptr %t3, i32 ") for line in lines)
        assert not any(line.startswith("atomicrmw") for line in lines)

    def test_what_nobody_looks_at_is_not_kept(self):
        assert self.change(AtomicOp.ADD, is_read=False) == [
            "zext i32 %i to i64",
            "getelementptr i32, ptr %p0, i64 %t1",
            "atomicrmw add ptr %t2, i32 %v monotonic",
        ]

    def test_lanes_take_turns_in_their_order(self):
        lines = self.change(AtomicOp.ADD, width=4)

        assert "extractelement <4 x i32> %t4, i32 %t10" in lines
        assert "icmp ult i32 %t10, 4" in lines
        assert sum(line.startswith("atomicrmw add") for line in lines) == 1

    def test_what_is_outside_stays(self):
        lines = self.change(AtomicOp.ADD, inside=value("%ok", BOOL))

        assert lines.index("br i1 %ok, label %t2, label %t3") < next(
            number for number, line in enumerate(lines) if line.startswith("atomicrmw")
        )
