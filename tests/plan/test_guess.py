from dataclasses import replace
from math import prod
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre import ir
from vyre.analysis import analyse
from vyre.analysis.forms import Symbol
from vyre.backend import replayed
from vyre.ir import BufferDecl, DataType, Node, Program
from vyre.ir.expr import BinaryOp, UnaryOp
from vyre.model import U32_MAX, Code, DeviceInfo, DeviceKind, Dim3, Limits, Order, Schedule
from vyre.plan.guess import order, risk
from vyre.plan.launch_numbers import LaunchNumbers
from vyre.plan.space import Resources, Space, space
from vyre.plan.vectors import LaunchTraits

F32, U32 = DataType.F32, DataType.U32
GPU = replace(replayed.GPU, compute_units=100)
CPU = replace(
    GPU,
    model="a CPU",
    kind=DeviceKind.CPU,
    limits=Limits(max_threads=4096, max_block=(4096,) * 3, max_grid=(U32_MAX,) * 3),
    compute_units=8,
)
X = ir.load("x", ir.gid())


def program(*entry: Node) -> Program:
    buffers = [BufferDecl.read("x", 0, F32), BufferDecl.write("out", 1, F32)]
    return Program.wrapped(buffers, (1, 1, 1), entry)


def out(value: ir.Expr) -> Node:
    return ir.store("out", ir.gid(), value)


COPY = program(out(X))
COUNT = ir.assign("s", ir.var("s") * ir.var("s") + X)
CHAIN = program(ir.let("s", X), ir.loop("k", ir.u32(0), ir.u32(512), [COUNT]), out(ir.var("s")))
ESCAPE = program(
    ir.let("s", X),
    ir.while_(ir.binary(BinaryOp.LT, ir.var("s"), ir.f32(100)), [COUNT, COUNT, COUNT, COUNT]),
    out(ir.var("s")),
)
CLIP = program(
    ir.let("s", X),
    ir.if_(ir.binary(BinaryOp.LT, X, ir.f32(0)), [out(ir.f32(0))], [out(ir.var("s"))]),
)
FUNCTION = program(out(ir.unary(UnaryOp.TANH, X)))
FREE = (COPY, CHAIN, ESCAPE, FUNCTION)


def launched(given_program: Program, extent: Dim3) -> LaunchNumbers:
    known = {Symbol("extent", axis=axis): size for axis, size in enumerate(extent)}
    known |= {Symbol("len", decl.name): prod(extent) for decl in given_program.buffers}
    return LaunchNumbers(known)


def guessed(
    given_program: Program,
    n: int = 1 << 24,
    info: DeviceInfo = GPU,
    declared: Dim3 | None = None,
    resources: Resources | None = None,
) -> tuple[Space, tuple[Schedule, ...]]:
    facts, launch = analyse(given_program), launched(given_program, (n, 1, 1))
    aligned = LaunchTraits({"x": 64, "out": 64})
    made = space(facts, given_program, launch, info.limits, info.kind, declared, aligned, resources)
    return made, order(made, given_program, facts, info, launch)


def first(given_program: Program, n: int = 1 << 24, info: DeviceInfo = GPU) -> Schedule:
    return guessed(given_program, n, info)[1][0]


@given(
    st.sampled_from(FREE),
    st.integers(0, 1 << 28),
    st.sampled_from((GPU, CPU)),
    st.integers(0, 1000),
    st.sampled_from((None, (100, 1, 1))),
)
def test_a_guess_is_the_whole_space_in_one_fixed_order(
    given_program: Program, n: int, info: DeviceInfo, units: int, declared: Dim3 | None
):
    device = replace(info, compute_units=units)

    made, ordered = guessed(given_program, n, device, declared)

    assert len(ordered) == len(made.legal)
    assert set(ordered) == set(made.legal)
    assert guessed(given_program, n, device, declared)[1] == ordered


@given(st.randoms(use_true_random=False))
def test_the_order_of_the_space_does_not_matter(rng: Random):
    made, ordered = guessed(COPY)
    shuffled = replace(made, legal=tuple(rng.sample(made.legal, len(made.legal))))

    assert order(shuffled, COPY, analyse(COPY), GPU, launched(COPY, (1 << 24, 1, 1))) == ordered


def test_an_empty_dispatch_keeps_its_order():
    made, ordered = guessed(COPY, 0)

    assert ordered == made.legal == (made.default,)


@pytest.mark.parametrize("n", [1 << 20, 1 << 24, 1 << 28])
def test_a_large_gpu_stream_starts_with_16_bytes_in_flight_per_thread_in_wide_accesses(n: int):
    best = first(COPY, n)

    assert 4 * best.code.items >= 16
    assert 4 * best.code.vector == 16
    assert best.code.order is Order.STRIDED
    assert prod(best.workgroup) <= 512


@pytest.mark.parametrize("info", [GPU, CPU])
@pytest.mark.parametrize("n", [1 << 16, 1 << 20, 1 << 24])
def test_where_neighbours_diverge_in_long_loops_an_invocation_takes_few_items(
    info: DeviceInfo, n: int
):
    best = first(ESCAPE, n, info)

    assert best.code.items <= 2
    assert prod(best.workgroup) <= 256


def test_a_branch_around_little_work_is_still_a_stream_of_several_items():
    assert first(CLIP).code.items >= 4


def test_what_is_done_item_by_item_gains_nothing_from_vectors():
    assert first(CLIP).code.vector == 1


@pytest.mark.parametrize("n", [1 << 10, 1 << 12, 1 << 14, 1 << 16])
def test_few_long_chains_start_with_a_group_for_most_units_or_a_warp_for_each_scheduler(n: int):
    best = first(CHAIN, n)

    groups = -(-n // best.tile[0])
    assert groups >= 0.75 * GPU.compute_units or best.tile[0] <= 4 * 32


def test_what_every_round_reads_again_is_read_once():
    """A chain that names its element in the loop is guessed as one that keeps it in a variable."""
    kept = program(
        ir.let("s", X),
        ir.let("x0", X),
        ir.loop(
            "k",
            ir.u32(0),
            ir.u32(512),
            [ir.assign("s", ir.var("s") * ir.var("s") + ir.var("x0"))],
        ),
        out(ir.var("s")),
    )

    assert guessed(kept)[1] == guessed(CHAIN)[1]


def test_a_tiny_dispatch_starts_with_hardly_any_items_on_a_gpu():
    assert [first(COPY, n).code.items for n in (100, 1000)] == [1, 1]
    assert first(COPY, 10_000).code.items <= 4


@pytest.mark.parametrize("given_program", FREE)
@pytest.mark.parametrize("n", [1 << 14, 1 << 18, 1 << 22, 1 << 26])
def test_a_cpu_starts_with_a_few_groups_for_every_core(given_program: Program, n: int):
    best = first(given_program, n, CPU)

    assert -(-n // best.tile[0]) >= 2 * CPU.compute_units


def test_a_cpu_streams_with_wide_groups_of_plain_invocations():
    best = first(COPY, info=CPU)

    assert best.workgroup[0] >= 512
    assert best.code == Code(checked=False)


def test_a_cpu_runs_loops_of_arithmetic_with_many_items_in_vectors():
    best = first(CHAIN, info=CPU)

    assert best.code.items >= 8
    assert best.code.vector == 8


def test_a_cpu_keeps_its_default_where_a_function_outweighs_everything():
    made, ordered = guessed(FUNCTION, info=CPU)

    assert ordered[0] == made.default


def test_items_side_by_side_come_after_items_apart_on_a_gpu():
    _, ordered = guessed(COPY)

    def place(which: Order) -> int:
        return ordered.index(Schedule((256, 1, 1), Code(items=4, order=which, checked=False)))

    assert place(Order.STRIDED) < place(Order.BLOCKED)


def test_a_code_that_needs_many_registers_moves_back():
    heavy = Code(items=8, vector=4, checked=False)
    at = Schedule((128, 1, 1), heavy)

    _, ordered = guessed(COPY)
    _, informed = guessed(COPY, resources=Resources({heavy: 128}))

    assert informed.index(at) > ordered.index(at)


def test_rows_that_neighbours_share_ask_for_taller_groups_on_a_gpu():
    i, j = ir.gid(1), ir.gid(0)
    rows = [ir.load("x", ir.flat_index("x", i + ir.u32(k), j)) for k in range(3)]
    entry = [ir.store("out", ir.flat_index("out", i, j), rows[0] + rows[1] + rows[2])]
    buffers = [BufferDecl.read("x", 0, F32), BufferDecl.write("out", 1, F32)]
    blur = Program.wrapped([decl.with_shape(0, 0) for decl in buffers], (1, 1, 1), entry)
    facts, launch = analyse(blur), launched(blur, (4096, 4096, 1))
    known = {Symbol("dim", name, axis): 4096 for name in ("x", "out") for axis in range(2)}
    launch = LaunchNumbers({**launch.known, **known})
    aligned = LaunchTraits({"x": 64, "out": 64})

    made = space(facts, blur, launch, GPU.limits, GPU.kind, None, aligned)

    assert order(made, blur, facts, GPU, launch)[0].workgroup[1] > 1


def test_who_expects_to_be_far_faster_risks_less_than_who_expects_little():
    risks = [risk(GPU, gain) for gain in (0.01, 0.1, 0.3, 1.0, 3.0)]

    assert risks == sorted(risks, reverse=True)
    assert risks[0] > 0.02
    assert risks[-2:] == [0.0, 0.0]


def test_a_device_whose_misses_nobody_recorded_risks_a_whole_dispatch():
    assert risk(CPU, 0.5) == 1.0
