"""Whatever is launched, on whatever GPU, there is a guess, and it is a guess of that launch."""

import importlib
import sys
from dataclasses import replace
from functools import cache
from math import exp, isfinite, prod
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

import vyre
from vyre import InOut, Out, f32, f64, kernels, u32
from vyre.analysis import Facts, analyse
from vyre.backend.replayed import GPU
from vyre.ir.program import Program
from vyre.model import Code, DeviceInfo, Order, Schedule
from vyre.plan.guess import Guess, guess, risk, work_of
from vyre.plan.guess.amounts import amounts
from vyre.plan.guess.device import figures
from vyre.plan.guess.model import nanoseconds
from vyre.plan.guess.shapes import Shapes
from vyre.plan.space import Resources, Space, space
from vyre.plan.vectors import LaunchTraits
from vyre.runtime.devices.launcher import Numbers

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
SIZES = (1, 2, 3, 31, 1000, (1 << 16) + 1, 1 << 24, (1 << 31) - 1, 1 << 31)
MOST = 1 << 31  # elements: positions in a launch are words
ACROSS = 65_535  # groups that CUDA launches along the second axis, and the third


@vyre.kernel
def nothing_read(out: Out[f32]):
    i = vyre.gid()
    out[i] = f32(i) * 0.5


@vyre.kernel
def wide(x: InOut[f64]):
    i = vyre.gid()
    x[i] = x[i] * x[i] + 1.0


@vyre.kernel
def marks(out: Out[u32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    out[i, j] = u32(7)


def recorded_too() -> list[Any]:
    """The kernels of the recordings, which scripts import by name."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        calls = importlib.import_module("spaces_kernels").CALLS
    finally:
        sys.path.remove(str(BENCHMARKS))
    return [kernel for kernel, _ in calls.values()]


KERNELS = [*kernels.ALL, *recorded_too(), nothing_read, wide, marks]
NAMES = [kernel.name for kernel in KERNELS]


@cache
def analysed(name: str) -> tuple[Program, Facts]:
    program = KERNELS[NAMES.index(name)].program
    return program, analyse(program)


def launch_of(program: Program, sizes: tuple[int, int, int], pad: int) -> Numbers:
    """A launch of as many axes as the largest array has, over arrays `pad` longer than it.

    An extent that would be too large in all is cut, an axis after another.
    """
    rank = max(decl.rank for decl in program.buffers)
    extent, left = [1, 1, 1], MOST
    for axis in range(rank):
        extent[axis] = min(sizes[axis], left, ACROSS if axis else MOST)
        left //= extent[axis]
    shapes: dict[str, tuple[int, ...]] = {}
    for decl in program.buffers:
        if decl.is_scalar_argument:
            continue
        rows = extent[: decl.rank][::-1] if decl.rank > 1 else [prod(extent)]
        shapes[decl.name] = decl.shape if decl.count else (*rows[:-1], rows[-1] + pad)
    return Numbers((extent[0], extent[1], extent[2]), shapes, {})


def space_of(name: str, launch: Numbers, info: DeviceInfo, bytes_: int = 256) -> Space:
    program, facts = analysed(name)
    aligned = LaunchTraits(dict.fromkeys(launch.shapes, bytes_))
    return space(facts, program, launch, info.limits, info.kind, None, aligned)


def guessed(name: str, made: Space, info: DeviceInfo, launch: Numbers) -> Guess:
    return guess(made, *analysed(name), info, launch)


def assert_guessed(found: Guess, made: Space) -> None:
    assert len(found.ordered) == len(made.legal) == len(found.expected)
    assert set(found.ordered) == set(made.legal)
    assert all(map(isfinite, found.expected))
    assert list(found.expected) == sorted(found.expected)
    assert found.expected[found.ordered.index(made.default)] == 0.0
    assert found.gain >= 0.0


EXTENTS = st.tuples(*[st.one_of(st.sampled_from(SIZES), st.integers(1, MOST))] * 3)


@settings(max_examples=100)
@given(
    name=st.sampled_from(NAMES),
    sizes=EXTENTS,
    pad=st.sampled_from((0, 1, 3, 64)),
    aligned=st.sampled_from((1, 8, 16, 256)),
    units=st.integers(0, 1000),
)
@example(name="nothing_read", sizes=(1 << 31, 1, 1), pad=0, aligned=256, units=132)
@example(name="wide", sizes=((1 << 16) + 1, 1, 1), pad=1, aligned=8, units=1)
@example(name="marks", sizes=(3, 1, 1), pad=3, aligned=4, units=0)
def test_a_guess_is_the_whole_space_by_rising_expected_times(
    name: str, sizes: tuple[int, int, int], pad: int, aligned: int, units: int
):
    info = replace(GPU, compute_units=units)
    launch = launch_of(analysed(name)[0], sizes, pad)
    made = space_of(name, launch, info, aligned)
    found = guessed(name, made, info, launch)

    assert_guessed(found, made)
    turned_round = replace(made, legal=made.legal[::-1])
    assert guessed(name, turned_round, info, launch) == found


@settings(max_examples=50)
@given(
    name=st.sampled_from(NAMES),
    threads=st.integers(1, 1024),
    model=st.sampled_from(("NVIDIA H200", "a GPU that nobody knows")),
    per_unit=st.sampled_from((None, 1, 512, 4096)),
)
def test_any_device_and_what_its_compiler_told_can_be_guessed_for(
    name: str, threads: int, model: str, per_unit: int | None
):
    limits = replace(GPU.limits, max_threads_per_unit=per_unit)
    info = replace(GPU, model=model, limits=limits)
    launch = launch_of(analysed(name)[0], (1000, 1000, 3), 0)
    made = space_of(name, launch, info)
    told = Resources(max_threads_by_code=dict.fromkeys({s.code for s in made.legal}, threads))

    assert_guessed(guessed(name, replace(made, resources=told), info, launch), made)


CODES = st.builds(
    Code,
    items=st.sampled_from((1, 2, 4, 8, 16)),
    vector=st.sampled_from((1, 2, 4)),
    lines=st.sampled_from((1, 2, 3, 16)),
    planes=st.sampled_from((1, 2, 5)),
    unroll=st.sampled_from((1, 4, 64)),
    order=st.sampled_from(Order),
    checked=st.booleans(),
    fitted=st.booleans(),
)
STAGED = st.builds(
    replace,
    CODES,
    depth=st.sampled_from((1, 8, 1024)),
    loaders=st.sampled_from((0, 1, 63)),
)
GROUPS = st.sampled_from(((1, 1, 1), (8, 1, 1), (33, 3, 1), (16, 16, 1), (1024, 1, 1), (8, 8, 16)))


@settings(max_examples=150)
@given(
    name=st.sampled_from(NAMES),
    sizes=EXTENTS,
    pad=st.sampled_from((0, 3)),
    drawn=st.lists(st.tuples(GROUPS, st.one_of(CODES, STAGED)), min_size=1, max_size=8),
)
def test_no_schedule_that_can_be_said_is_expected_to_take_no_time_or_for_ever(
    name: str,
    sizes: tuple[int, int, int],
    pad: int,
    drawn: list[tuple[tuple[int, int, int], Code]],
):
    program, facts = analysed(name)
    launch = launch_of(program, sizes, pad)
    schedules = [
        Schedule(group, replace(code, items=max(code.items, code.vector))) for group, code in drawn
    ]
    found = amounts(work_of(program, facts, launch), Shapes.of(schedules))
    device, known = figures(GPU)
    times = np.broadcast_to(nanoseconds(found, known.constants, device), len(schedules))

    assert np.isfinite(times).all()
    assert (times > 100.0).all()


def test_a_space_of_one_is_its_guess():
    made = Space(Schedule((64, 1, 1), Code()), (Schedule((64, 1, 1), Code()),), ())
    launch = launch_of(analysed("wide")[0], (1000, 1, 1), 0)

    assert guessed("wide", made, GPU, launch) == Guess(made.legal, (0.0,))


@given(st.floats(allow_nan=False))
def test_what_a_guess_may_lose_is_a_finite_number_of_dispatches(gain: float):
    lost = risk(GPU, gain)

    assert isfinite(lost)
    assert lost >= 0.0
    assert lost <= risk(GPU, 0.0) <= exp(0.5)
