"""What evidence on other kernels tells of a device."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isfinite, nan

import numpy as np
import pytest

from vyre import ir
from vyre.analysis import analyse
from vyre.backend import replayed
from vyre.ir import BufferDecl, DataType, Program
from vyre.model import Code, Schedule
from vyre.plan.guess import Correction, Evidence, Work, correct, guess, work_of
from vyre.plan.guess.amounts import amounts
from vyre.plan.guess.correct import MACHINES, MOST_KERNELS, MOST_SHIFT, corrected
from vyre.plan.guess.device import figures
from vyre.plan.guess.model import nanoseconds
from vyre.plan.guess.shapes import Shapes
from vyre.plan.launch_numbers import LaunchNumbers
from vyre.plan.space import Space

GPU = replace(replayed.GPU, compute_units=100)
DEFAULT = Schedule((256, 1, 1), Code())
LEGAL = tuple(
    Schedule((threads, 1, 1), Code(items=items, vector=vector))
    for threads in (64, 128, 256, 512, 1024)
    for items, vector in ((1, 1), (2, 1), (4, 1), (4, 4), (8, 4))
)
SPACE = Space(DEFAULT, LEGAL, ())


def program(inputs: int, operations: int) -> Program:
    names = [f"x{place}" for place in range(inputs)]
    buffers = [BufferDecl.read(name, place, DataType.F32) for place, name in enumerate(names)]
    value = ir.load(names[0], ir.gid())
    for name in names[1:]:
        value = value + ir.load(name, ir.gid())
    for _ in range(operations):
        value = value * ir.f32(2)
    stored = ir.store("out", ir.gid(), value)
    return Program.wrapped(
        [*buffers, BufferDecl.write("out", inputs, DataType.F32)], (1, 1, 1), [stored]
    )


def work(inputs: int = 1, operations: int = 1, elements: int = 1 << 24) -> Work:
    made = program(inputs, operations)
    numbers = LaunchNumbers.of_extent(made, (elements, 1, 1))
    return work_of(made, analyse(made), numbers)


def shift(machine: str, by: float) -> Correction:
    return Correction(tuple(by if name == machine else 0.0 for name in MACHINES))


def log_times(of: Work, off: Correction | None = None) -> np.ndarray:
    device, known = figures(GPU)
    found = amounts(of, Shapes.of(LEGAL))
    return np.log(nanoseconds(found, corrected(known.constants, off), device))


def told(of: Work, off: Correction | None = None) -> Evidence:
    """What a device says whose machines are off by so much."""
    times = log_times(of, off)
    ratios = times - times[LEGAL.index(DEFAULT)]
    return Evidence(of, DEFAULT, tuple(zip(LEGAL, map(float, ratios), strict=True)))


KERNELS = [
    work(inputs, operations, 1 << size)
    for inputs, operations, size in ((1, 1, 24), (3, 4, 22), (2, 40, 20), (4, 1, 26), (1, 9, 16))
]


def test_without_evidence_nothing_is_corrected():
    assert correct([], GPU) is None
    assert correct([Evidence(KERNELS[0], DEFAULT, ())], GPU) is None
    assert correct([Evidence(KERNELS[0], DEFAULT, ((DEFAULT, nan),))], GPU) is None


def test_evidence_that_agrees_with_the_model_changes_nothing():
    found = correct([told(one) for one in KERNELS], GPU)
    assert found is not None
    assert found.kernels == len(KERNELS)
    assert max(map(abs, found.shifts)) < 1e-6


@pytest.mark.parametrize("machine", ["caches", "waiting", "groups", "arithmetic", "accesses"])
def test_a_machine_that_is_twice_as_slow_is_partly_found_by_four_other_kernels(machine):
    """Each kernel is left out in turn: of the squares missed, a third at least is found."""
    off, without, with_it = shift(machine, np.log(2.0)), 0.0, 0.0
    for out in KERNELS:
        true = log_times(out, off)
        found = correct([told(one, off) for one in KERNELS if one is not out], GPU)
        assert found is not None
        without += float(np.var(log_times(out) - true))
        with_it += float(np.var(log_times(out, found) - true))

    assert with_it < without * 2 / 3


def test_a_correction_moves_the_guess():
    made = program(1, 1)
    numbers = LaunchNumbers.of_extent(made, (1 << 24, 1, 1))
    given = (SPACE, made, analyse(made), GPU, numbers)
    usual = guess(*given)
    assert guess(*given, Correction((0.0,) * len(MACHINES))) == usual
    assert guess(*given, shift("groups", 1.5)).expected != usual.expected


@pytest.mark.parametrize("ratio", [nan, inf, -inf, 1e308, -1e308, 1e-320])
def test_hostile_ratios_leave_finite_shifts(ratio):
    rows = tuple((schedule, ratio) for schedule in LEGAL)
    found = correct([Evidence(KERNELS[0], DEFAULT, rows), told(KERNELS[1])], GPU)
    assert found is not None
    assert all(isfinite(one) and abs(one) <= MOST_SHIFT for one in found.shifts)


@pytest.mark.parametrize("number", [nan, inf, -1.0, 0.0, 1e300])
def test_hostile_work_leaves_finite_shifts(number):
    streams = tuple(replace(one, footprint=number, rounds=number) for one in KERNELS[0].streams)
    hostile = replace(KERNELS[0], operations=number, held=number, streams=streams)
    found = correct([replace(told(KERNELS[0]), work=hostile), told(KERNELS[1])], GPU)
    assert found is not None
    assert all(isfinite(one) and abs(one) <= MOST_SHIFT for one in found.shifts)


def test_of_thousands_of_rows_the_latest_count():
    many = replace(told(KERNELS[0]), ratios=told(KERNELS[0]).ratios * 200)
    found = correct([many] * 3 * MOST_KERNELS, GPU)
    assert found is not None
    assert found.kernels == MOST_KERNELS
    assert all(map(isfinite, found.shifts))
