"""When the arrays of a launch can be accessed in vectors, and why not."""

from math import prod

import pytest

from vyre import ir
from vyre.analysis import analyse
from vyre.analysis.forms import Symbol
from vyre.ir import AtomicOp, BufferDecl, DataType, Program
from vyre.model import Code, DeviceKind
from vyre.plan.launch_numbers import LaunchNumbers
from vyre.plan.vectors import LaunchTraits, rows_of, why_not_vectors

F32, F64, U8 = DataType.F32, DataType.F64, DataType.U8
CPU, GPU = DeviceKind.CPU, DeviceKind.GPU
X, Y = ir.gid(0), ir.gid(1)


def row(value, *, element=F32, at=X, count=0) -> Program:
    x, out = BufferDecl.read("x", 0, element), BufferDecl.write("out", 1, element)
    if count:
        x, out = x.with_count(count), out.with_count(count)
    bins = BufferDecl.read_write("bins", 2, DataType.U32)
    return Program.wrapped([x, out, bins], (64, 1, 1), [ir.store("out", at, value)])


def plane(*places) -> Program:
    loads = (ir.load("x", ir.flat_index("x", *place)) for place in places)
    buffers = [BufferDecl.read("x", 0, F32), BufferDecl.write("out", 1, F32)]
    return Program.wrapped(
        [decl.with_shape(0, 0) for decl in buffers],
        (64, 1, 1),
        [ir.store("out", ir.flat_index("out", Y, X), sum(loads, ir.f32(0)))],
    )


def x(index) -> ir.Expr:
    return ir.load("x", index)


def why(made, vector, extent=(1024, 1024, 1), kind=GPU, alignment=256, *, checked=False):
    known = {Symbol("extent", axis=axis): size for axis, size in enumerate(extent)}
    for decl in made.buffers:
        known[Symbol("len", decl.name)] = prod(extent)
        known |= {
            Symbol("dim", decl.name, axis): extent[decl.rank - 1 - axis]
            for axis in range(decl.rank)
        }
    traits = LaunchTraits({decl.name: alignment for decl in made.buffers})
    code = Code(items=vector, vector=vector, checked=checked)
    return why_not_vectors(code, analyse(made), made, LaunchNumbers(known), kind, traits)


@pytest.mark.parametrize("vector", [1, 2, 4])
def test_neighbours_that_lie_side_by_side_are_vectors(vector):
    assert why(row(x(X)), vector) is None


@pytest.mark.parametrize("shift", [-4, -1, 1, 2, 3])
def test_a_load_may_be_shifted_by_a_plain_number(shift):
    assert why(row(x(X + ir.u32(shift % 2**32))), 4) is None


def test_a_store_may_not():
    made = row(ir.f32(1), at=X + 2, count=4096)

    assert why(made, 2) is None
    assert why(made, 4) == "an index of out is shifted by 2 elements"


def test_a_shift_of_the_launch_has_to_be_whole_vectors():
    made = row(x(X + ir.extent(1)))

    assert why(made, 4, (1024, 8, 1)) is None
    assert why(made, 4, (1024, 6, 1)) == "an index of x is shifted by 6 elements"


@pytest.mark.parametrize(
    ("element", "vector", "kind", "text"),
    [
        (F32, 8, GPU, "8 elements of 4 bytes are more than the 16 of one access"),
        (F64, 4, GPU, "4 elements of 8 bytes are more than the 16 of one access"),
        (U8, 16, GPU, None),
        (F64, 4, CPU, None),
        (F32, 16, CPU, "16 elements of 4 bytes are more than the 32 of one access"),
    ],
)
def test_a_vector_is_no_wider_than_an_access(element, vector, kind, text):
    assert why(row(x(X), element=element), vector, kind=kind) == text


def test_a_vector_has_a_width_that_every_compiler_knows():
    assert why(row(x(X)), 3) == "vectors have 2, 4, 8, 16 elements, not 3"


def test_a_gpu_wants_arrays_that_begin_with_a_vector():
    assert why(row(x(X)), 4, alignment=8) == "x starts at a multiple of 8 bytes, not 16"
    assert why(row(x(X)), 4, alignment=16) is None
    assert why(row(x(X)), 4, alignment=4, kind=CPU) is None


def test_rows_are_whole_vectors():
    assert why(plane((Y, X)), 4, (1022, 64, 1)) == "a row of x has 1022 elements"
    assert why(plane((Y, X)), 2, (1022, 64, 1)) is None


def test_a_vector_around_a_shifted_load_stays_in_its_row_on_a_cpu_as_well():
    assert why(plane((Y, X)), 4, (1022, 64, 1), CPU) is None
    assert why(plane((Y, X - 1)), 4, (1022, 64, 1), CPU) == "a row of x has 1022 elements"
    assert why(plane((Y, X - 1)), 4, (1024, 64, 1), CPU) is None


def test_without_neighbours_there_is_nothing_to_refuse():
    apart = row(ir.load("x", X * 5), at=X * 3)

    assert rows_of(analyse(apart), apart) == []
    assert why(apart, 4) is None


def test_a_few_elements_between_neighbours_are_loaded_with_them():
    apart = row(ir.load("x", X * 4), at=X * 3)

    assert [one.buffer for one in rows_of(analyse(apart), apart)] == ["x"]
    assert why(apart, 4) is None
    assert why(apart, 4, alignment=8) == "x starts at a multiple of 8 bytes, not 16"


def test_codes_with_checks_access_one_by_one():
    assert why(row(x(X)), 4, alignment=1, checked=True) is None


def test_atomics_are_no_rows():
    add = ir.atomic(AtomicOp.ADD, "bins", X, ir.u32(1))
    made = row(ir.cast(F32, add))

    assert [r.buffer for r in rows_of(analyse(made), made)] == ["out"]


def test_a_small_loop_is_as_many_rows_as_it_has_rounds():
    rounds = ir.loop("k", 0, 3, [ir.assign("s", ir.var("s") + x(X + ir.var("k")))])
    made = Program.wrapped(
        [BufferDecl.read("x", 0, F32), BufferDecl.write("out", 1, F32)],
        (64, 1, 1),
        [ir.let("s", ir.f32(0)), rounds, ir.store("out", X, ir.var("s"))],
    )

    assert [r.buffer for r in rows_of(analyse(made), made)] == ["x", "x", "x", "out"]
    assert why(made, 4) is None


def weighted(*places, element=F32) -> Program:
    weights = (ir.cast(F32, ir.load("w", ir.u32(place))) * x(X) for place in places)
    return Program.wrapped(
        [
            BufferDecl.read("x", 0, F32),
            BufferDecl.read("w", 1, element).with_count(9),
            BufferDecl.write("out", 2, F32),
        ],
        (64, 1, 1),
        [ir.store("out", X, sum(weights, ir.f32(0)))],
    )


def why_not(made, kind=GPU, **alignment):
    known = {Symbol("extent", axis=axis): 1 << 10 if axis == 0 else 1 for axis in range(3)}
    known |= {Symbol("len", decl.name): decl.count or 1 << 10 for decl in made.buffers}
    traits = LaunchTraits({"x": 256, "w": 256, "out": 256} | alignment)
    code = Code(items=4, vector=4, checked=False)
    return why_not_vectors(code, analyse(made), made, LaunchNumbers(known), kind, traits)


def test_weights_that_vectors_bring_are_aligned():
    assert why_not(weighted(*range(9))) is None
    assert why_not(weighted(*range(9)), w=4) == "w starts at a multiple of 4 bytes, not 16"
    assert why_not(weighted(*range(9)), CPU, w=4) is None  # it loads vectors from any address


def test_weights_that_come_one_by_one_may_lie_anywhere():
    assert why_not(weighted(0, 1, 2), w=4) is None
    assert why_not(weighted(1, 2, 3, 4), w=4) is None
    assert why_not(weighted(*range(9), element=F64), w=8) is None
