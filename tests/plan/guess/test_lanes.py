from dataclasses import replace
from functools import cache
from math import exp, isfinite, log, prod
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vyre
from vyre import In, InOut, Out, f32, kernels, u8, u32
from vyre.analysis import analyse
from vyre.ir.program import Program
from vyre.model import (
    U32_MAX,
    DeviceInfo,
    DeviceKind,
    Dim3,
    Limits,
    Order,
    Simd,
)
from vyre.plan import simd
from vyre.plan.guess import Guess, guess, risk
from vyre.plan.space import Space
from vyre.runtime.devices.launcher import Numbers
from vyre.testing import recordings

RECORDED = Path(__file__).parents[3] / "benchmarks" / "data" / "spaces-cpu12.json.gz"
CPU = DeviceInfo(
    backend="cpu",
    model="a processor",
    driver="",
    compiler="",
    kind=DeviceKind.CPU,
    limits=Limits(
        max_threads=U32_MAX, max_block=(U32_MAX,) * 3, max_grid=(U32_MAX, U32_MAX, U32_MAX)
    ),
    compute_units=12,
    simd=Simd(lanes=16, l1_bytes=48 << 10, l2_bytes=2 << 20),
)


@vyre.kernel
def scaled(x: In[f32], out: Out[f32], a: f32):
    i = vyre.gid()
    out[i] = a * x[i]


@vyre.kernel
def turned(x: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    out[i, j] = x[j, i]


@vyre.kernel
def reds(rgb: In[u8], out: Out[u8]):
    i = vyre.gid()
    out[i] = rgb[3 * i]


@vyre.kernel
def sums(x: In[f32, 2], out: Out[f32]):
    i = vyre.gid()
    s = 0.0
    for k in range(x.shape[1]):
        s += x[i, k]
    out[i] = s


@vyre.kernel
def powers(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    v, s = x[i], 0.0
    for _ in range(200):
        s = s * v + 1.0
    out[i] = s


@vyre.kernel
def steps(x: In[u32], out: Out[u32]):
    i = vyre.gid()
    v, n = x[i], u32(0)
    while v > 1 and n < 100:
        v = v // 2 if v % 2 == 0 else 3 * v + 1
        n += 1
    out[i] = n


@vyre.kernel
def counted(x: In[u32], bins: InOut[u32, (1024,)]):
    i = vyre.gid()
    vyre.atomic_add(bins, x[i] & 1023, 1)


LINES = (scaled, reds, powers, steps, counted)


def numbers_of(program: Program, extent: Dim3) -> Numbers:
    """A launch over arrays as large as it, but for those whose size is declared."""
    shapes: dict[str, tuple[int, ...]] = {}
    for decl in program.buffers:
        if decl.is_scalar_argument:
            continue
        whole = (extent[1], extent[0]) if decl.rank == 2 else (prod(extent),)
        shapes[decl.name] = decl.shape if decl.count else whole
    return Numbers(extent, shapes, {})


def space_of(kernel: Any, extent: Dim3, info: DeviceInfo = CPU) -> tuple[Space, Numbers]:
    program = kernel.program
    numbers = numbers_of(program, extent)
    return simd.space(analyse(program), program, numbers, None, info, unchecked=False), numbers


def guessed(kernel: Any, extent: Dim3, info: DeviceInfo = CPU) -> Guess:
    space, numbers = space_of(kernel, extent, info)
    return guess(space, kernel.program, analyse(kernel.program), info, numbers)


@settings(max_examples=40, deadline=None)
@given(
    kernel=st.sampled_from(LINES),
    n=st.integers(1, 1 << 31),
    threads=st.integers(1, 64),
    lanes=st.sampled_from([4, 8, 16]),
)
def test_a_guess_is_the_whole_space_in_one_fixed_order(
    kernel: Any, n: int, threads: int, lanes: int
):
    made = Simd(lanes=lanes, l1_bytes=32 << 10, l2_bytes=512 << 10)
    info = replace(CPU, compute_units=threads, simd=made)
    space, numbers = space_of(kernel, (n, 1, 1), info)
    facts = analyse(kernel.program)
    found = guess(space, kernel.program, facts, info, numbers)
    assert sorted(found.ordered, key=str) == sorted(space.legal, key=str)
    assert len(found.expected) == len(found.ordered)
    assert all(map(isfinite, found.expected))
    assert list(found.expected) == sorted(found.expected)
    assert found.expected[found.ordered.index(space.default)] == 0.0
    turned_round = replace(space, legal=space.legal[::-1])
    assert guess(turned_round, kernel.program, facts, info, numbers) == found


@settings(max_examples=25, deadline=None)
@given(
    x=st.integers(1, 1 << 15),
    y=st.integers(1, 1 << 15),
    caches=st.sampled_from([(1, 1), (32 << 10, 1 << 20), (1 << 40, 1 << 40)]),
)
def test_any_extent_and_any_caches_can_be_guessed_for(x: int, y: int, caches: tuple[int, int]):
    info = replace(CPU, simd=Simd(lanes=8, l1_bytes=caches[0], l2_bytes=caches[1]))
    found = guessed(turned, (x, y, 1), info)
    assert all(map(isfinite, found.expected))


def test_a_transpose_starts_with_panels_of_whole_lines_and_tiles_that_stay_in_a_cache():
    first = guessed(turned, (4096, 4096, 1)).ordered[0]
    assert first.code.order is Order.BLOCKED
    assert first.code.vector >= 16
    assert first.workgroup[1] > 16


def test_lanes_that_would_load_single_bytes_one_by_one_are_not_used():
    assert guessed(reds, (1 << 24, 1, 1)).ordered[0].code.vector == 1


def test_rows_of_an_array_are_summed_by_as_many_lanes_as_its_lines_stay():
    program, facts = sums.program, analyse(sums.program)
    numbers = Numbers((4096, 1, 1), {"x": (4096, 4096), "out": (4096,)}, {})
    space = simd.space(facts, program, numbers, None, CPU, unchecked=True)
    first = guess(space, program, facts, CPU, numbers).ordered[0]
    assert 1 < first.code.vector <= 16


def test_one_chain_of_results_is_run_beside_many_others():
    assert guessed(powers, (1 << 20, 1, 1)).ordered[0].code.vector >= 64


def test_counters_are_not_added_up_for_less_than_they_cost():
    first = guessed(counted, (1 << 20, 1, 1)).ordered[0]
    assert prod(first.workgroup) >= 16 * 1024


def test_a_large_stream_is_cut_for_all_threads_but_not_finely():
    first = guessed(scaled, (1 << 24, 1, 1)).ordered[0]
    tiles = (1 << 24) / prod(first.workgroup)
    assert 12 <= tiles <= 1 << 14


def test_what_may_be_lost_by_a_guess_is_little():
    assert 0.0 < risk(CPU, 0.0) < 0.5
    assert risk(CPU, 1.0) <= risk(CPU, 0.0)


# -- what was recorded


@cache
def recorded() -> list[recordings.Recording]:
    """The recorded spaces of bundled kernels, but for those timed beside compilers."""
    bundled = {kernel.name for kernel in kernels.ALL}
    return [space for space in recordings.undisturbed(RECORDED) if space["kernel"] in bundled]


def ratios(recording: recordings.Recording) -> tuple[float, float]:
    """What the guess and the default took, over the best."""
    program = next(one for one in kernels.ALL if one.name == recording["kernel"]).program
    times, space = recordings.times_of(recording), recordings.space_of(recording)
    numbers = recordings.numbers_of(recording)
    first = guess(space, program, analyse(program), CPU, numbers).ordered[0]
    best = min(times.values())
    return times[first] / best, times[space.default] / best


def mean(values: list[float]) -> float:
    return exp(sum(map(log, values)) / len(values))


@pytest.mark.skipif(not RECORDED.exists(), reason="the recordings are not part of a package")
def test_guesses_are_near_the_best_of_what_was_recorded_on_twelve_cores():
    guesses, defaults = zip(*map(ratios, recorded()), strict=True)
    assert mean(list(guesses)) < 1.12  # 1.07 when it was fitted
    assert sorted(guesses)[len(guesses) * 4 // 5] < 1.25  # some of the rest are spikes
    assert mean(list(guesses)) < mean(list(defaults)) - 0.05
