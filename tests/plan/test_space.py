from dataclasses import replace
from math import prod
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vyre import ir
from vyre.analysis import analyse
from vyre.analysis.forms import Symbol
from vyre.errors import InvalidInput
from vyre.ir import BufferDecl, DataType, Node, Program
from vyre.model import U32_MAX, Code, DeviceKind, Dim3, Limits, Order, Schedule
from vyre.plan.launch_numbers import LaunchNumbers
from vyre.plan.space import (
    Refused,
    Resources,
    Space,
    default_schedule,
    refuse_unbounded,
    space,
)
from vyre.plan.vectors import LaunchTraits
from vyre.testing.programs import generate

F32, F64, U8, F16 = DataType.F32, DataType.F64, DataType.U8, DataType.F16
CPU, GPU = DeviceKind.CPU, DeviceKind.GPU
WIDE = Limits(max_threads=4096, max_block=(4096, 4096, 64), max_grid=(U32_MAX,) * 3)
TIGHT = Limits(max_threads=1024, max_block=(1024, 1024, 64), max_grid=(65_535,) * 3)
COPY = ir.store("out", ir.gid(), ir.load("x", ir.gid()))


def program(*entry: Node, element: DataType = F32, shape: tuple[int, ...] = ()) -> Program:
    x, out = BufferDecl.read("x", 0, element), BufferDecl.write("out", 1, element)
    if shape:
        x, out = x.with_shape(*shape), out.with_shape(*shape)
    return Program.wrapped([x, out], (1, 1, 1), entry or [COPY])


def grid_program(*, shift: int = 0) -> Program:
    i, j = ir.gid(1), ir.gid(0)
    read = ir.load("x", ir.flat_index("x", i, j + ir.u32(shift)))
    return program(ir.store("out", ir.flat_index("out", i, j), read), shape=(0, 0))


def numbers(given_program: Program, extent: Dim3) -> LaunchNumbers:
    known = {Symbol("extent", axis=axis): size for axis, size in enumerate(extent)}
    for decl in given_program.buffers:
        known[Symbol("len", decl.name)] = prod(extent)
        for axis in range(decl.rank):
            known[Symbol("dim", decl.name, axis)] = extent[decl.rank - 1 - axis]
    return LaunchNumbers(known)


def made(
    given_program: Program,
    extent: Dim3 = (1 << 20, 1, 1),
    limits: Limits = WIDE,
    kind: DeviceKind = GPU,
    declared: Dim3 | None = None,
    alignment: int = 64,
    resources: Resources | None = None,
    *,
    checked_too: bool = False,
) -> Space:
    return space(
        analyse(given_program),
        given_program,
        numbers(given_program, extent),
        limits,
        kind,
        declared,
        LaunchTraits({decl.name: alignment for decl in given_program.buffers}),
        resources,
        checked_too=checked_too,
    )


def refusals(found: Space) -> list[str]:
    return [str(refused) for refused in found.refused]


@pytest.mark.parametrize(("kind", "width"), [(CPU, 64), (GPU, 256)])
def test_the_default_is_the_declared_workgroup_or_the_devices_row(kind: DeviceKind, width: int):
    extent = (1 << 20, 1, 1)

    declared = default_schedule((8, 4, 1), kind, extent, WIDE, unchecked=False)
    undeclared = default_schedule(None, kind, extent, WIDE, unchecked=True)

    assert declared == Schedule((8, 4, 1), Code())
    assert undeclared == Schedule((width, 1, 1), Code(checked=False))


@given(
    kind=st.sampled_from(DeviceKind),
    threads=st.integers(1, 2000),
    block=st.integers(1, 2000),
    registers=st.integers(1, 2000),
    n=st.integers(0, U32_MAX),
    whole=st.booleans(),
)
def test_an_undeclared_default_is_the_widest_row_up_to_the_usual_one_that_fits(
    kind: DeviceKind, threads: int, block: int, registers: int, n: int, whole: bool
):
    limits = Limits(max_threads=threads, max_block=(block, 1, 1), max_grid=(0, 0, 0))

    found = default_schedule(
        None,
        kind,
        (n, 1, 1),
        limits,
        unchecked=True,
        max_threads=registers,
        one_item=whole,
    )

    width = found.workgroup[0]
    assert found == Schedule((width, 1, 1), Code(checked=False))
    most = min(threads, block, registers, kind.default_width)
    assert width <= most < 2 * width


def test_the_space_has_the_default_that_compiling_leaves():
    usual = Code(checked=False)

    found = made(program(), resources=Resources({usual: 100}))

    assert found.default == Schedule((64, 1, 1), usual)
    assert found.default == default_schedule(
        None, GPU, (1 << 20, 1, 1), WIDE, unchecked=True, max_threads=100
    )


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (Code(items=65), "65 items; 64 allowed\nFix: use at most 64"),
        (Code(items=10**6), "1000000 items; 64 allowed\nFix: use at most 64"),
        (Code(vector=32), "32 elements in a vector; 16 allowed\nFix: use at most 16"),
        (Code(unroll=10**9), "1000000000 rounds unrolled; 256 allowed\nFix: use at most 256"),
        (
            Code(items=64, unroll=64),
            "4096 copies of a loop's body, items times unroll; 1024 allowed\nFix: use at most 1024",
        ),
        (
            Code(unroll=10**5000),
            "<a whole number of 16610 bits> rounds unrolled; 256 allowed\nFix: use at most 256",
        ),
    ],
)
def test_a_code_that_a_compiler_would_work_on_for_hours_is_refused(code: Code, text: str):
    with pytest.raises(InvalidInput) as caught:
        refuse_unbounded(code)

    assert str(caught.value) == text


@pytest.mark.parametrize("kind", DeviceKind)
def test_every_code_of_a_space_is_within_what_may_be_pinned(kind: DeviceKind):
    looping = program(ir.loop("k", ir.u32(0), ir.buf_len("x"), [COPY]))

    for code in made(looping, kind=kind).codes:
        refuse_unbounded(code, None, looping)


@pytest.mark.parametrize("code", [Code(unroll=256), Code(items=4, unroll=64)])
def test_rounds_that_are_more_text_than_a_compiler_likes_are_refused(code: Code):
    v = ir.var("v")
    long = sum((v * float(number) for number in range(30)), v)
    looping = program(
        ir.let("v", ir.f32(1)), ir.while_(long < 1000.0, [ir.assign("v", v * 2.0)]), COPY
    )

    with pytest.raises(InvalidInput) as caught:
        refuse_unbounded(code, None, looping)

    assert str(caught.value) == (
        f"loops unrolled by {code.unroll}: {256 * 127} statements and expressions are more than "
        f"16384\nFix: use unroll={16384 // (127 * code.items)}"
    )
    refuse_unbounded(replace(code, unroll=16384 // (127 * code.items)), None, looping)


def test_every_loop_counts_for_the_rounds_that_it_has():
    v = ir.var("v")
    short = [ir.loop(f"k{n}", 0, 4, [ir.assign("v", v * 2.0)] * 20) for n in range(9)]
    counted = program(ir.let("v", ir.f32(1)), *short, COPY)
    long = [ir.while_(v < 1000.0 * n, [ir.assign("v", v * 2.0)] * 3) for n in range(9)]
    computing = program(ir.let("v", ir.f32(1)), *long, COPY)

    refuse_unbounded(Code(unroll=256), None, counted)
    with pytest.raises(InvalidInput) as caught:
        refuse_unbounded(Code(unroll=256), None, computing)

    assert caught.value.fix == f"use unroll={16384 // (9 * 15)}"


def test_a_row_on_a_gpu_has_hundreds_of_schedules_and_few_codes():
    found = made(program())

    assert found.legal[0] == found.default == Schedule((256, 1, 1), Code(checked=False))
    assert {s.workgroup[0] for s in found.legal} == {32, 64, 128, 192, 256, 384, 512, 768, 1024}
    assert {(c.items, c.vector, c.order) for c in found.codes} == {
        (items, vector, order)
        for items in (1, 2, 4, 8)
        for vector in (1, 2, 4)
        for order in Order
        if vector < items or (vector == items and order is Order.STRIDED)
    } | {(16, vector, Order.STRIDED) for vector in (2, 4)}
    fitted = [schedule for schedule in found.legal if schedule.code.fitted]
    assert len(found.legal) - len(fitted) == 9 * 17
    assert len(fitted) == 5 * 5
    assert {refused.what for refused in found.refused} == {"vectors of 8", "vectors of 16"}


def test_sixteen_items_are_for_unchecked_rows_alone():
    def most(found):
        return max(code.items for code in found.codes)

    assert most(made(program(), checked_too=True)) == 16
    y = ir.gid(1) * ir.extent(0) + ir.gid(0)
    assert most(made(program(ir.store("out", y, ir.load("x", y))), (4096, 4096, 1))) == 8
    assert max(c.items for c in made(program(), checked_too=True).codes if c.checked) == 8


def test_sixteen_items_are_for_what_only_passes_elements_on():
    def most(*body):
        return max(code.items for code in made(program(*body)).codes)

    here, x = ir.gid(0), ir.load("x", ir.gid(0))
    assert most(ir.store("out", here, x)) == 16
    assert most(ir.store("out", here, x * ir.load("x", ir.gid(0)))) == 16
    assert most(ir.store("out", here, x + ir.load("x", here + ir.u32(1)))) == 8
    assert most(ir.loop("k", ir.u32(0), ir.u32(9), [COPY])) == 8


def test_a_row_on_a_cpu_has_hundreds_of_schedules_and_few_codes():
    looping = program(ir.loop("k", ir.u32(0), ir.buf_len("x"), [COPY]))

    found = made(looping, kind=CPU)

    assert found.default == Schedule((64, 1, 1), Code(checked=False))
    assert {s.workgroup[0] for s in found.legal} == {1 << power for power in range(4, 13)}
    assert {c.unroll for c in found.codes} == {1, 4}
    assert {c.items for c in found.codes} == {1, 2, 4, 8, 16}
    assert max(c.items * c.unroll for c in found.codes if c.unroll > 1) == 16
    assert len(found.codes) <= 24


@pytest.mark.parametrize("kind", list(DeviceKind))
@pytest.mark.parametrize("extent", [(4096, 4096, 1), (256, 256, 256)])
def test_planes_and_bricks_stay_within_a_few_hundred_schedules(kind: DeviceKind, extent: Dim3):
    x, y, z = ir.gid(0), ir.gid(1), ir.gid(2)
    where = (z * ir.extent(1) + y) * ir.extent(0) + x

    found = made(program(ir.store("out", where, ir.load("x", where))), extent, kind=kind)

    shapes = {schedule.workgroup for schedule in found.legal}
    assert {(32, 8, 1), (64, 4, 1), (128, 2, 1), (256, 1, 1)} <= shapes
    assert ((16, 16, 1) in shapes) == (extent[2] == 1)
    assert ((32, 4, 2) in shapes) == (extent[2] > 1)
    assert len(found.legal) < 500
    assert len(found.codes) <= 24


def test_an_axis_that_the_program_does_not_ask_for_has_width_1():
    # Every plane along y writes the same constants, so the shape is free, but nothing guards y.
    fill = Program.wrapped(
        [BufferDecl.write("out", 0, F32)], (1, 1, 1), [ir.store("out", ir.gid(), ir.f32(1))]
    )

    found = made(fill, (4096, 64, 1))

    assert len(found.legal) > 100
    assert {schedule.workgroup[1:] for schedule in found.legal} == {(1, 1)}


def test_a_few_long_columns_get_workgroups_along_y():
    found = made(grid_program(), (1, 1 << 20, 1), declared=(1, 64, 1))

    assert {(1, 64, 1), (1, 256, 1), (1, 1024, 1)} <= {s.workgroup for s in found.legal}


def test_a_program_that_is_not_free_has_its_own_schedule_only():
    neighbour = Program.wrapped(
        [BufferDecl.read_write("a", 0, F32)],
        (1, 1, 1),
        [ir.store("a", ir.gid(), ir.load("a", ir.gid() + ir.u32(1)))],
    )

    found = made(neighbour, declared=(100, 1, 1))

    assert found.legal == (Schedule((100, 1, 1), Code(checked=False)),)
    assert refusals(found) == [
        "199 left out, every other schedule: it is not so for this launch that each invocation has"
        " its own elements of a[gid(0)], [gid(0) + 1]"
    ]


def test_a_program_that_can_never_be_free_says_the_analysis_reasons():
    local = program(ir.store("out", ir.local_id(), ir.f32(1.5)))

    found = made(local)

    assert len(found.legal) == 1
    assert [refused.why for refused in found.refused] == [str(r) for r in analyse(local).reasons]


def test_a_proof_that_asks_for_an_unknown_number_does_not_hold():
    wide = Program.wrapped(
        [BufferDecl.write("out", 0, F32), BufferDecl.uniform("w", 1, DataType.U32).with_count(1)],
        (1, 1, 1),
        [ir.store("out", ir.gid() * ir.load("w", ir.u32(0)), ir.cast(F32, ir.gid()))],
    )
    known = {Symbol("extent", axis=axis): size for axis, size in enumerate((64, 1, 1))}

    found = space(
        analyse(wide), wide, LaunchNumbers(known), WIDE, GPU, (64, 1, 1), LaunchTraits({})
    )

    assert found.legal == (Schedule((64, 1, 1), Code()),)
    assert found.refused[0].why == (
        "it is not known that each invocation has its own elements of out[(w)*gid(0)]:"
        " w is not given"
    )


def test_an_empty_dispatch_has_its_default_only():
    found = made(program(), (0, 1, 1))

    assert found.legal == (found.default,)
    assert found.refused[0].why == "the extent (0, 1, 1) holds nothing"


def test_a_tile_of_more_than_twice_the_extent_is_left_out_but_the_default_stays():
    found = made(program(), (40, 1, 1))

    assert {s.tile[0] for s in found.legal} == {32, 64, 256}
    assert ("larger tiles along x", "one is more than twice the extent of 40") in {
        (refused.what, refused.why) for refused in found.refused
    }


def test_a_grid_ceiling_leaves_small_tiles_out():
    found = made(program(), (1 << 26, 1, 1), TIGHT)

    assert min(s.tile[0] for s in found.legal) == 2 * 768
    assert refusals(found)[0].endswith(
        "smaller tiles along x: 67108864 elements would be more than the 65535 workgroups that the"
        " device allows along it"
    )


def test_a_tile_that_reaches_beyond_32_bits_is_left_out():
    found = made(program(), (U32_MAX, 1, 1))

    assert {s.workgroup[0] for s in found.legal}.isdisjoint({192, 384, 768})
    assert refusals(found)[0] == (
        "51 left out, tiles along x: the last one would reach beyond 2**32"
    )


def test_an_undeclared_default_gives_way_to_the_nearest_row_that_fits():
    few_threads = Limits(max_threads=128, max_block=(128, 128, 64), max_grid=(U32_MAX,) * 3)

    assert made(program(), limits=few_threads).default.workgroup == (128, 1, 1)
    assert made(program(), (1 << 25, 1, 1), TIGHT).default.workgroup == (768, 1, 1)
    assert made(program(), (1 << 26, 1, 1), TIGHT).default == Schedule(
        (768, 1, 1), Code(items=2, checked=False)
    )


def test_a_declared_workgroup_that_cannot_be_launched_is_an_error():
    with pytest.raises(InvalidInput) as caught:
        made(program(), limits=TIGHT, declared=(2048, 1, 1))

    assert str(caught.value) == (
        "the default workgroup (2048, 1, 1) cannot cover (1048576, 1, 1): the device allows 1024"
        " threads in one\n"
        "Fix: declare a workgroup that the device can launch, or split the dispatch"
    )


def test_threads_that_a_compiled_kernel_does_not_allow_are_left_out_for_its_code_alone():
    heavy = Code(items=8, vector=4, checked=False)

    found = made(program(), resources=Resources({heavy: 200}))

    assert max(s.workgroup[0] for s in found.legal if s.code == heavy) == 192
    assert max(s.workgroup[0] for s in found.legal if s.code != heavy) == 1024
    assert found.refused[0] == Refused(
        f"larger workgroups of {heavy}", "its compiled kernel allows 200 threads in one", 5
    )


@pytest.mark.parametrize(
    ("element", "kind", "widest"),
    [
        *((F32, GPU, 4), (F64, GPU, 2), (F16, GPU, 8), (U8, GPU, 16)),
        *((F32, CPU, 8), (F64, CPU, 4), (U8, CPU, 16), (F16, CPU, 16)),
    ],
)
def test_a_vector_fits_one_access(element: DataType, kind: DeviceKind, widest: int):
    found = made(program(element=element), kind=kind)

    assert max(code.vector for code in found.codes) == widest


def test_a_gpu_needs_aligned_arrays_for_vectors_and_a_cpu_does_not():
    found = made(program(), alignment=8)

    assert {code.vector for code in found.codes} == {1, 2}
    assert refusals(found)[0] == (
        "46 left out, vectors of 4: x starts at a multiple of 8 bytes, not 16"
    )
    assert max(code.vector for code in made(program(), kind=CPU, alignment=4).codes) == 8


def test_a_gpu_needs_rows_of_whole_vectors():
    found = made(grid_program(), (1002, 1000, 1))

    assert {code.vector for code in found.codes} == {1, 2}
    assert "vectors of 4: a row of x has 1002 elements" in "".join(refusals(found))


def test_a_shift_that_only_the_launch_knows_can_rule_vectors_out():
    flat = ir.gid(1) * ir.extent(0) + ir.gid(0)
    copy = program(ir.store("out", flat, ir.load("x", flat)))

    assert {c.vector for c in made(copy, (1024, 64, 1)).codes} == {1, 2, 4}
    found = made(copy, (1023, 64, 1))
    assert {c.vector for c in found.codes} == {1}
    assert "vectors of 4: an index of x is shifted by 1023 elements" in "".join(refusals(found))


def test_a_shifted_access_that_keeps_its_check_does_not_rule_out_the_others():
    assert {c.vector for c in made(grid_program(shift=1), (1024, 1024, 1)).codes} == {1, 2, 4}


def test_a_load_shifted_by_a_plain_number_has_the_vectors_around_it():
    x, out = BufferDecl.read("x", 0, F32).with_count(4096), BufferDecl.write("out", 1, F32)
    entry = [ir.store("out", ir.gid(), ir.load("x", ir.gid() + ir.u32(2)))]
    shifted = Program.wrapped([x, out], (1, 1, 1), entry)

    assert {c.vector for c in made(shifted, (4000, 1, 1)).codes} == {1, 2, 4}
    assert {c.vector for c in made(shifted, (4000, 1, 1), kind=CPU).codes} == {1, 4, 8}


def test_a_store_shifted_by_no_whole_vector_rules_vectors_out():
    x, out = BufferDecl.read("x", 0, F32), BufferDecl.write("out", 1, F32).with_count(4096)
    entry = [ir.store("out", ir.gid() + ir.u32(2), ir.load("x", ir.gid()))]
    shifted = Program.wrapped([x, out], (1, 1, 1), entry)

    found = made(shifted, (4000, 1, 1))

    assert {c.vector for c in found.codes} == {1, 2}
    assert "vectors of 4: an index of out is shifted by 2 elements" in "".join(refusals(found))


def test_without_neighbours_side_by_side_there_are_no_vectors():
    apart = ir.store("out", ir.gid() * ir.u32(2), ir.f32(1.5))
    buffers = [BufferDecl.write("out", 0, F32).with_count(2048)]

    found = made(Program.wrapped(buffers, (1, 1, 1), [apart]), (1 << 10, 1, 1))

    assert {code.vector for code in found.codes} == {1}
    assert [(r.what, r.why) for r in found.refused if "vector" in r.what] == [
        (
            f"vectors of {vector}",
            "no access is known to stay inside and to have its neighbours side by side",
        )
        for vector in (2, 4, 8, 16)
    ]


def test_checked_codes_are_offered_beside_unchecked_ones_on_request():
    both = made(program(), checked_too=True)

    assert {code.checked for code in made(program()).codes} == {False}
    assert {code.checked for code in both.codes} == {True, False}
    assert {code.vector for code in both.codes if code.checked} == {1}
    assert refusals(both) == [
        "45 left out, vectors of 2: elements are checked and accessed one by one",
        "27 left out, vectors of 4: elements are checked and accessed one by one",
        "9 left out, vectors of 8: elements are checked and accessed one by one",
        "18 left out, vectors of 8: 8 elements of 4 bytes are more than the 16 of one access",
        "9 left out, vectors of 16: 16 elements of 4 bytes are more than the 16 of one access",
    ]


extents = st.tuples(st.integers(1, 1 << 20), st.integers(1, 64), st.integers(1, 8))
all_limits = st.builds(
    Limits,
    max_threads=st.sampled_from((0, 64, 256, 1000, 1024, 4096)),
    max_block=st.tuples(*(st.sampled_from((64, 100, 512, 4096)),) * 2, st.sampled_from((1, 64))),
    max_grid=st.tuples(*(st.sampled_from((0, 100, 65_535, U32_MAX)),) * 3),
)
kinds = st.sampled_from(DeviceKind)


def brick_program() -> Program:
    x, y, z = ir.gid(0), ir.gid(1), ir.gid(2)
    where = (z * ir.extent(1) + y) * ir.extent(0) + x
    return program(ir.store("out", where, ir.load("x", where)))


def attempt(extent: Dim3, limits: Limits, kind: DeviceKind, alignment: int) -> Space | None:
    try:
        return made(BRICKS, extent, limits, kind, alignment=alignment)
    except InvalidInput:
        return None


BRICKS = brick_program()


@given(extents, all_limits, kinds, st.sampled_from((4, 8, 16, 64)))
def test_every_legal_schedule_covers_the_extent_within_the_limits(
    extent: Dim3, limits: Limits, kind: DeviceKind, alignment: int
):
    found = attempt(extent, limits, kind, alignment)
    if found is None:
        return

    assert found.legal[0] == found.default
    assert len(set(found.legal)) == len(found.legal)
    for schedule in found.legal:
        grid = [-(-size // tile) for size, tile in zip(extent, schedule.tile, strict=True)]
        assert prod(schedule.workgroup) <= (limits.max_threads or U32_MAX)
        for axis in range(3):
            assert schedule.workgroup[axis] <= (limits.max_block[axis] or U32_MAX)
            assert 1 <= grid[axis] <= (limits.max_grid[axis] or U32_MAX)
            assert extent[axis] <= grid[axis] * schedule.tile[axis] <= U32_MAX + 1
        assert schedule.code.items % schedule.code.vector == 0
        if kind is GPU:
            assert alignment % (4 * schedule.code.vector) == 0
            assert extent[1:] == (1, 1) or extent[0] % schedule.code.vector == 0


@given(extents, all_limits, all_limits, kinds)
def test_larger_limits_never_remove_a_schedule(
    extent: Dim3, limits: Limits, other: Limits, kind: DeviceKind
):
    def larger(a: int, b: int) -> int:
        return 0 if 0 in (a, b) else max(a, b)

    def axes(a: Dim3, b: Dim3) -> Dim3:
        x, y, z = (larger(*pair) for pair in zip(a, b, strict=True))
        return x, y, z

    both = Limits(
        max_threads=larger(limits.max_threads, other.max_threads),
        max_block=axes(limits.max_block, other.max_block),
        max_grid=axes(limits.max_grid, other.max_grid),
    )
    small, large = attempt(extent, limits, kind, 64), attempt(extent, both, kind, 64)

    if small is not None:
        assert large is not None
        # A width that only stood in for the device's own default may be too wide for the extent.
        stood_in = {small.default} - {large.default}
        assert set(small.legal) - stood_in <= set(large.legal)


@given(extents, all_limits, kinds)
def test_every_candidate_is_legal_or_counted_as_refused(
    extent: Dim3, limits: Limits, kind: DeviceKind
):
    found = attempt(extent, limits, kind, 64)
    free = attempt(extent, Limits(max_threads=0, max_block=(0,) * 3, max_grid=(0,) * 3), kind, 4)

    if found is not None and free is not None:
        assert len(found.legal) + sum(refused.count for refused in found.refused) == len(
            free.legal
        ) + sum(refused.count for refused in free.refused)


@settings(max_examples=50)
@given(st.integers(0, 1 << 30), kinds)
def test_generated_programs_have_a_space_exactly_where_they_are_free(seed: int, kind: DeviceKind):
    case = generate(Random(seed))
    known = {Symbol("extent", axis=axis): size for axis, size in enumerate(case.extent)}
    for decl in case.program.buffers:
        shape = case.arrays[decl.name].shape
        known[Symbol("len", decl.name)] = prod(shape)
        known |= {Symbol("dim", decl.name, axis): size for axis, size in enumerate(shape)}
        if decl.is_scalar_argument and decl.element.is_int:
            known[Symbol("scalar", decl.name)] = int(case.arrays[decl.name][0])
    launch, facts = LaunchNumbers(known), analyse(case.program)

    found = space(
        facts, case.program, launch, TIGHT, kind, case.program.workgroup_size, LaunchTraits({})
    )

    assert found.default.workgroup == case.program.workgroup_size
    assert found.legal[0] == found.default
    if not facts.free_for(launch):
        assert found.legal == (found.default,)
        assert found.refused
    if not facts.unchecked_for(launch):
        assert {code.checked for code in found.codes} == {True}
