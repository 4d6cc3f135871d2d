"""Which tiles are offered for which kernels, and why a launch may not have them."""

from dataclasses import replace
from math import prod

import pytest

from vyre import ir, kernels
from vyre.analysis import analyse
from vyre.analysis.forms import Symbol
from vyre.emit import CUDA, emit
from vyre.ir import BufferDecl, DataType, Program
from vyre.model import U32_MAX, Code, DeviceKind, Dim3, Limits, Schedule
from vyre.plan.launch_numbers import LaunchNumbers
from vyre.plan.space import Space, refuse_unbounded, space
from vyre.plan.tiles import FEW, GROUP_BYTES, Through, tiles
from vyre.plan.vectors import LaunchTraits

F32, U32 = DataType.F32, DataType.U32
CPU, GPU = DeviceKind.CPU, DeviceKind.GPU
X, Y, Z, K = ir.gid(0), ir.gid(1), ir.gid(2), ir.var("k")
S = ir.var("s")
H200 = Limits(
    max_threads=1024,
    max_block=(1024, 1024, 64),
    max_grid=(2**31 - 1, 65_535, 65_535),
    group_bytes=48 << 10,
)
LARGE = (4096, 4096, 1)


def at(buffer: str, *place: ir.Expr) -> ir.Expr:
    return ir.load(buffer, ir.flat_index(buffer, *place))


def program(*body: ir.Node, rank: int = 2, out: int | None = None) -> Program:
    def shaped(decl: BufferDecl, rank: int) -> BufferDecl:
        return decl.with_shape(*(0,) * rank) if rank > 1 else decl

    return Program.wrapped(
        [
            shaped(BufferDecl.read("a", 0, F32), rank),
            shaped(BufferDecl.read("b", 1, F32), rank),
            shaped(BufferDecl.write("out", 2, F32), out or rank),
        ],
        (1, 1, 1),
        body,
    )


def put(*place_and_value: ir.Expr) -> ir.Node:
    *place, value = place_and_value
    return ir.store("out", ir.flat_index("out", *place) if len(place) > 1 else place[0], value)


def summed(value: ir.Expr, stop: ir.Expr, *place: ir.Expr) -> list[ir.Node]:
    rounds = ir.loop("k", 0, stop, [ir.assign("s", S + value)])
    return [ir.let("s", ir.f32(0)), rounds, put(*place, S)]


COPY = program(put(Y, X, at("a", Y, X)))
STENCIL = program(put(Y, X, at("a", Y - 1, X) + at("a", Y, X - 1) + at("a", Y + 1, X)))
BOX = program(
    put(Z, Y, X, at("a", Z - 1, Y, X) + at("a", Z + 1, Y, X) + at("a", Z, Y - 1, X)), rank=3
)
HEAT = program(put(Z, Y, X, at("a", Z - 1, Y, X) + at("a", Z, Y, X) + at("a", Z, Y - 1, X)), rank=3)
PRODUCT = program(*summed(at("a", Y, K) * at("b", K, X), ir.buf_dim("a", 1), Y, X))
ROW_SUMS = program(*summed(at("a", X, K), ir.buf_dim("a", 1), X), out=1)
BODIES = program(*summed(ir.load("a", K) - ir.load("b", X), ir.buf_len("a"), X), rank=1)
TURNED = program(put(Y, X, at("a", X, Y)))
FILTER = program(
    ir.let("s", ir.f32(0)),
    ir.loop("k", 0, 3, [ir.assign("s", S + at("a", Y + K - 1, X))]),
    put(Y, X, S),
)


def offered(made: Program, extent: Dim3 = LARGE) -> set[Schedule]:
    facts = analyse(made)
    return set(tiles(facts, made, Through(facts, made), extent))


def said(schedules: set[Schedule], part: str) -> set[object]:
    return {getattr(schedule.code, part) for schedule in schedules}


def numbers(made: Program, extent: Dim3, **dims: tuple[int, ...]) -> LaunchNumbers:
    known = {Symbol("extent", axis=axis): size for axis, size in enumerate(extent)}
    for decl in made.buffers:
        shape = dims.get(decl.name, tuple(extent[decl.rank - 1 - n] for n in range(decl.rank)))
        known[Symbol("len", decl.name)] = prod(shape)
        known |= {Symbol("dim", decl.name, axis): size for axis, size in enumerate(shape)}
    return LaunchNumbers(known)


def spaced(
    made: Program, extent: Dim3 = LARGE, limits: Limits = H200, alignment: int = 256, **dims
) -> Space:
    traits = LaunchTraits({decl.name: alignment for decl in made.buffers})
    return space(analyse(made), made, numbers(made, extent, **dims), limits, GPU, None, traits)


def test_a_long_row_or_plane_that_shares_nothing_has_no_tiles():
    assert offered(COPY) == set()
    assert offered(program(put(X, ir.load("a", X)), rank=1), (1 << 24, 1, 1)) == set()


@pytest.mark.parametrize(("made", "shapes"), [(COPY, 2), (BODIES, 1)], ids=["plane", "row"])
def test_what_is_small_has_codes_fitted_to_their_workgroup(made, shapes):
    small = {s for s in offered(made, (FEW, 1, 1)) if not s.code.depth}

    assert small
    assert said(small, "fitted") == {True}
    assert any(s.workgroup[1] > 1 for s in small) == (shapes == 2)
    assert not any(s.code.fitted and not s.code.depth for s in offered(made, (FEW + 1, 1, 1)))


def test_what_shares_rows_has_lines():
    found = offered(STENCIL)

    assert said(found, "lines") >= {2, 4}
    assert said(found, "planes") == {1}
    assert said(found, "depth") == {0}
    assert said(found, "fitted") == {True, False}


def test_a_small_loop_over_rows_shares_them_as_well():
    assert said(offered(FILTER), "lines") >= {2, 4}


def test_what_shares_planes_has_planes():
    assert said(offered(HEAT, (512, 512, 512)), "planes") == {1, 2}
    # Two planes apart nothing is shared by two neighbours.
    assert said(offered(BOX, (512, 512, 512)), "planes") == set()


def test_the_bundled_stencil_has_lines():
    assert said(offered(kernels.stencil5.program), "lines") >= {2, 4}


def test_two_rows_apart_nothing_is_shared():
    assert offered(program(put(Y, X, at("a", Y, X) + at("a", Y + 2, X)))) == set()


def test_a_product_is_staged_with_lines_and_vectors():
    found = offered(PRODUCT)

    assert 0 not in said({s for s in found if s.code.lines * s.code.items > 32}, "depth")
    assert said(found, "loaders") == {0}
    assert {s.workgroup for s in found if s.code.depth} >= {(16, 16, 1), (32, 8, 1)}


def test_rows_that_lanes_walk_are_filled_by_loaders():
    found = offered(ROW_SUMS, (4096, 1, 1))

    walks = {s for s in found if s.code.loaders}
    assert walks
    assert {s.workgroup[1:] for s in walks} == {(1, 1)}
    # Beside a warp, whose lanes add up, there are as many that load as bring whole rows, or halves.
    for walk in walks:
        loading, along = prod(walk.block) - 32, walk.code.depth // walk.code.vector
        assert max(loading, along) % min(loading, along) == 0


def test_what_all_share_is_staged_deep():
    found = {s for s in offered(BODIES, (1 << 16, 1, 1)) if s.code.depth}

    assert said(found, "depth") == {64, 256}
    assert said(found, "lines") == {1}


def test_what_is_read_across_is_turned_in_one_go():
    assert said(offered(TURNED), "depth") == {1}


def test_workgroups_that_work_together_have_no_tiles():
    whole = Program.wrapped(
        [BufferDecl.write("out", 0, F32), BufferDecl.workgroup("near", 64, F32)],
        (64, 1, 1),
        [ir.store("near", X, ir.f32(1)), ir.barrier(), ir.store("out", X, ir.load("near", X))],
    )

    assert offered(whole, (64, 1, 1)) == set()


ALL = {
    "stencil": (STENCIL, LARGE),
    "heat": (HEAT, (256, 256, 256)),
    "product": (PRODUCT, LARGE),
    "row sums": (ROW_SUMS, (4096, 1, 1)),
    "bodies": (BODIES, (1 << 16, 1, 1)),
    "turned": (TURNED, LARGE),
    "small": (COPY, (1024, 1024, 1)),
}


@pytest.mark.parametrize("name", ALL)
def test_all_that_is_offered_may_be_pinned_and_written(name):
    made, extent = ALL[name]
    facts = analyse(made)

    for schedule in offered(made, extent):
        refuse_unbounded(schedule.code)
        assert prod(schedule.block) <= 1024
        assert schedule.block[2] <= 64
        assert schedule.code.items % schedule.code.at_once == 0
        assert schedule.code.depth or schedule.code.vector <= schedule.code.items
    written = {s.code for s in offered(made, extent) if s.code.vector * 4 <= 16}
    for code in sorted(written, key=str)[::5]:
        assert "vyre_kernel" in emit(made, code, CUDA, facts).text


@pytest.mark.parametrize("name", ALL)
def test_some_of_what_is_offered_is_legal_on_a_large_gpu(name):
    made, extent = ALL[name]
    dims = {"a": (extent[0], 4096)} if made is ROW_SUMS else {}

    legal = set(spaced(made, extent, **dims).legal)

    assert legal & offered(made, extent)


def test_a_cpu_is_offered_none():
    traits = LaunchTraits({decl.name: 64 for decl in STENCIL.buffers})
    found = space(analyse(STENCIL), STENCIL, numbers(STENCIL, LARGE), H200, CPU, None, traits)

    assert {(s.code.lines, s.code.depth, s.code.fitted) for s in found.legal} == {(1, 0, False)}


# -- why not


def why(
    made: Program,
    schedule: Schedule,
    extent: Dim3 = LARGE,
    *,
    kind: DeviceKind = GPU,
    room: int = 48 << 10,
    alignment: int = 256,
    **dims,
) -> str | None:
    limits = Limits(max_threads=0, max_block=(0, 0, 0), max_grid=(0, 0, 0), group_bytes=room)
    traits = LaunchTraits({decl.name: alignment for decl in made.buffers})
    through = Through(analyse(made), made)
    return through.why_not(schedule.code, numbers(made, extent, **dims), kind, traits, limits)


def staged(workgroup: Dim3 = (16, 16, 1), **parts) -> Schedule:
    return Schedule(workgroup, Code(**({"depth": 16, "checked": False} | parts)))


def test_a_product_may_be_staged():
    assert why(PRODUCT, staged(items=4, vector=4, lines=4)) is None


def test_a_code_without_depth_asks_for_nothing():
    assert why(COPY, Schedule((16, 16, 1), Code(lines=4))) is None


def test_what_shares_nothing_is_not_staged():
    assert why(COPY, staged()) == "lanes share no reads that are known beforehand"
    atomic = ir.let("was", ir.atomic(ir.AtomicOp.ADD, "out", X, ir.f32(1)))
    assert why(program(atomic, rank=1), staged()) == (
        "lanes beyond the extent would take part in what others see"
    )


def test_a_workgroup_of_several_planes_is_not_staged():
    assert why(PRODUCT, staged((8, 8, 2))) == "the workgroup (8, 8, 2) is wider than 1 along z"


def test_memory_that_there_is_not_is_named():
    wide = staged(items=4, vector=4, lines=4, depth=64)

    assert why(PRODUCT, wide) == "67584 bytes of workgroup memory are more than the 49152 there are"
    assert why(PRODUCT, wide, room=67_584) is None
    assert why(PRODUCT, wide, room=67_583) == (
        "67584 bytes of workgroup memory are more than the 67583 there are"
    )


def test_a_device_that_does_not_say_has_what_opencl_grants():
    assert GROUP_BYTES == 32 << 10
    assert why(PRODUCT, staged(items=4, vector=4, lines=4, depth=32), room=0) == (
        "33792 bytes of workgroup memory are more than the 32768 there are"
    )


def test_vectors_are_brought_from_aligned_arrays_alone():
    vectors = staged(items=4, vector=4)

    assert why(PRODUCT, vectors, alignment=8) == "a starts at a multiple of 8 bytes"
    assert why(PRODUCT, vectors, alignment=16) is None
    assert why(PRODUCT, vectors, alignment=4, kind=CPU) is None
    assert why(PRODUCT, staged(items=4), alignment=4) is None


def test_vectors_are_brought_from_rows_of_whole_ones_alone():
    vectors = staged(items=4, vector=4)
    odd = {"a": (4096, 4094), "b": (4094, 4096)}

    assert why(PRODUCT, vectors, **odd) == "a row of a has 4094 elements"
    assert why(PRODUCT, staged(items=2, vector=2), **odd) is None
    assert why(PRODUCT, staged(items=4), **odd) is None


def test_a_space_says_what_it_left_out():
    found = {(r.what, r.why) for r in spaced(PRODUCT, (4090, 4090, 1)).refused}

    assert (
        "codes for whole tiles",
        "(4090, 4090, 1) is no whole number of tiles (128, 128, 1)",
    ) in found
    assert ("vectors of 4", "a row of b has 4090 elements") in found


def test_a_space_leaves_out_what_needs_more_memory():
    few = Limits(
        max_threads=1024,
        max_block=(1024, 1024, 64),
        max_grid=(U32_MAX, U32_MAX, U32_MAX),
        group_bytes=4 << 10,
    )
    found = spaced(PRODUCT, limits=few)

    assert (
        "reads through workgroup memory, 16 rounds deep",
        "12544 bytes of workgroup memory are more than the 4096 there are",
    ) in {(r.what, r.why) for r in found.refused}
    through = Through(analyse(PRODUCT), PRODUCT)
    for schedule in found.legal:
        traits = LaunchTraits({"a": 256, "b": 256, "out": 256})
        assert through.why_not(schedule.code, numbers(PRODUCT, LARGE), GPU, traits, few) is None


def test_a_fitted_code_is_offered_where_tiles_are_whole_alone():
    def fitted(extent):
        return [s for s in spaced(STENCIL, extent).legal if s.code.fitted]

    assert fitted((4096, 4096, 1))
    assert fitted((4095, 4095, 1)) == []
    for schedule in fitted((4096, 4096, 1)):
        assert [4096 % size for size in schedule.tile[:2]] == [0, 0]


def test_vectors_wider_than_items_are_brought_or_refused():
    walk = staged((8, 1, 1), vector=4, depth=64, loaders=3)

    assert why(ROW_SUMS, walk, (4096, 1, 1), a=(4096, 4096)) is None
    assert why(ROW_SUMS, walk, (4096, 1, 1), a=(4096, 4095)) == "a row of a has 4095 elements"
    assert why(ROW_SUMS, staged((8, 1, 1), vector=16, depth=64), (4096, 1, 1), a=(4096, 4096)) == (
        "nothing is brought in vectors of 16"
    )


# -- loops


LONG = program(
    ir.let("s", ir.load("a", X)),
    ir.loop("k", 0, 512, [ir.assign("s", S * ir.load("a", X) + 0.5)]),
    put(X, S),
    rank=1,
)
COLUMN_SUMS = program(*summed(at("a", K, X), ir.buf_dim("a", 0), X), out=1)
ESCAPES = program(
    ir.let("s", ir.load("a", X)),
    ir.while_(S < 4.0, [ir.assign("s", S * S + 0.5)]),
    put(X, S),
    rank=1,
)


@pytest.mark.parametrize(
    ("made", "rounds"),
    [(LONG, {64, 256}), (COLUMN_SUMS, {8, 32}), (ESCAPES, {8}), (PRODUCT, {2}), (STENCIL, set())],
    ids=["long", "counted", "parting", "staged", "none"],
)
def test_loops_are_written_out_as_far_as_it_can_gain(made, rounds):
    assert said(offered(made), "unroll") - {1} == rounds


def test_a_loop_is_not_written_out_further_than_it_goes():
    short = program(
        ir.let("s", ir.load("a", X)),
        ir.loop("k", 0, 100, [ir.assign("s", S * ir.load("a", X) + 0.5)]),
        put(X, S),
        rank=1,
    )

    assert said(offered(short), "unroll") == {64}


def test_a_long_body_is_not_written_out_a_thousand_times():
    body = [ir.assign("s", S * ir.load("a", X) + float(n)) for n in range(30)]
    made = program(ir.let("s", ir.f32(0)), ir.loop("k", 0, 512, body), put(X, S), rank=1)

    found = spaced(made, (1 << 20, 1, 1))

    assert {s.code.unroll * s.code.items for s in found.legal if s.code.unroll > 1} == {64}
    assert {r.why for r in found.refused if r.what == "loops unrolled by 256"} == {
        "53760 statements and expressions are more than 16384",
        "107520 statements and expressions are more than 16384",
        "215040 statements and expressions are more than 16384",
    }


# -- streams


def streamed(made: Program, count: int, cache: int = 60 << 20, **parts) -> set[Schedule]:
    limits = replace(H200, cache_bytes=cache)
    extent = (count, 1, 1) if 1 not in parts.get("axes", ()) else (1 << 11, count >> 11, 1)
    return {s for s in spaced(made, extent, limits).legal if s.code.streamed}


ADD = program(put(X, ir.load("a", X) + ir.load("b", X)), rank=1)


def test_stores_are_streamed_where_a_cache_holds_what_is_read_without_them():
    assert streamed(ADD, 1 << 22)  # 50 MB
    assert not streamed(ADD, 1 << 20)  # all of it stays there
    assert not streamed(ADD, 1 << 25)  # nothing does
    assert not streamed(ADD, 1 << 22, cache=0)  # a device that does not say


def test_lines_and_what_is_turned_are_streamed_as_well():
    assert said(streamed(STENCIL, 1 << 22, axes={1}), "lines") == {2, 4, 8}
    assert said(streamed(TURNED, 1 << 22, axes={1}), "depth") == {1}


@pytest.mark.parametrize("made", [LONG, ESCAPES], ids=["long", "parting"])
def test_what_loops_is_not_streamed(made):
    assert not streamed(made, 1 << 22)


def test_what_stores_nothing_is_not_streamed():
    count = ir.let("old", ir.atomic(ir.AtomicOp.ADD, "out", X % 16, ir.f32(1)))

    assert not streamed(program(count, rank=1), 1 << 22)
