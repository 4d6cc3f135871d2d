"""What GPUs are expected to take for programs with reductions, and how near the best they start."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass, replace
from functools import cache
from math import exp, log
from pathlib import Path

import numpy as np
import pytest

import vyre
from vyre import In, Out, f32, u32
from vyre.analysis import analyse
from vyre.backend.replayed import GPU
from vyre.ir.fold import BLOCK, LANES
from vyre.model import Code, Order, Schedule
from vyre.plan.default import space_for
from vyre.plan.guess import guess, risk
from vyre.plan.guess.teams import amounts_of, log_times
from vyre.plan.guess.teams.walks import walks_of
from vyre.plan.vectors import LaunchTraits
from vyre.runtime.devices.launcher import Numbers
from vyre.testing import reducers
from vyre.testing.recordings import numbers_of, read, space_of, times_of

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
RECORDED = BENCHMARKS / "data" / "spaces-h200-reductions.json.gz"
H200 = replace(
    GPU,
    backend="cuda",
    model="NVIDIA H200",
    limits=replace(GPU.limits, lockstep=32),
)


def launch(extent, **shapes):
    return Numbers(extent, shapes, {})


@dataclass(frozen=True)
class Alike:
    """A launch whose numbers are all the same."""

    length: int

    def value(self, symbol):
        return max(self.length, 1) if symbol.kind == "extent" else self.length


@vyre.kernel
def nearest(points: In[f32, 2], centres: In[f32, 2], out: Out[u32]):
    i = vyre.gid()
    out[i] = vyre.argmin(
        sum((points[i, d] - centres[c, d]) ** 2 for d in range(points.shape[1]))
        for c in range(len(centres))
    )


@vyre.kernel
def by_data(x: In[f32], sizes: In[u32], out: Out[f32]):
    i = vyre.gid()
    out[i] = sum(x[sizes[k]] for k in range(sizes[0]))


@vyre.kernel
def pulled(a: In[f32], b: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = sum((a[k] - f32(i)) * b[k] for k in range(len(a)))


SOFTMAX = launch((512, 100, 1), x=(100, 512), out=(100, 512))
ROWS = launch((1000, 1, 1), a=(1000, 4096), v=(4096,), y=(1000,), out=(1000,))
KERNELS = [one for one in vars(reducers).values() if isinstance(one, vyre.Kernel)]
TEAMS = tuple(Schedule((lanes, 1, 1), Code(lanes=lanes, checked=False)) for lanes in (32, 64, 256))


class TestWalks:
    def test_reductions_that_need_each_other_are_walks_of_their_own(self):
        found = walks_of(reducers.softmax.program, SOFTMAX)

        assert [(one.rounds, one.is_ordered) for one in found.walks] == [(512, False), (512, True)]
        assert [[(a.step, a.apart, a.again) for a in one.accesses] for one in found.walks] == [
            [(4, 0, False)],
            [(4, 0, True)],
        ]
        assert [(a.kind, a.apart) for a in found.accesses] == [("load", 4), ("store", 4)]

    def test_what_is_the_same_in_every_round_is_read_once(self):
        found = walks_of(reducers.residual.program, ROWS)

        assert found.longest.is_along
        assert not found.longest.is_beside
        assert [(a.step, a.apart) for a in found.longest.accesses] == [(4, 4 * 4096), (4, 0)]

    @pytest.mark.parametrize(("axes", "turns"), [(5, 0), (16, 0), (11, 11)])
    def test_rounds_inside_of_rounds_cost_turns_but_for_few(self, axes, turns):
        numbers = launch((99, 1, 1), points=(99, axes), centres=(64, axes), out=(99,))
        found = walks_of(nearest.program, numbers)

        assert (found.longest.inner, found.longest.inner_lanes) == (turns, turns)
        assert [(a.step, a.apart, a.times) for a in found.longest.accesses] == [
            (0, 4 * axes, axes),
            (4 * axes, 0, axes),
        ]

    def test_rounds_that_data_tells_are_guessed(self):
        found = walks_of(by_data.program, launch((9, 1, 1), x=(99,), sizes=(9,), out=(9,)))

        assert not found.longest.is_told
        assert {(a.step, a.apart) for a in found.longest.accesses} == {(None, None)}

    @pytest.mark.parametrize("length", [0, 1, 2000])
    @pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
    def test_every_program_with_reductions_has_some(self, kernel, length):
        given = Alike(length)
        found = walks_of(kernel.program, given)

        assert found.walks
        assert found.footprint > 0
        schedules = (Schedule((256, 1, 1), Code()), *TEAMS)
        assert np.isfinite(log_times(schedules, kernel.program, H200, given)).all()


class TestAmounts:
    def test_rows_of_lanes_have_whole_blocks(self):
        found = amounts_of(TEAMS, reducers.residual.program, ROWS)

        assert found.blocks.tolist() == [128, 64, 32]
        assert found.meetings.tolist() == [0, 2, 1]
        assert found.teams.tolist() == [1000, 2000, 8000]

    def test_what_teams_bring_together_is_loaded_once_for_all_of_them(self):
        code = Code(lanes=32, items=2, order=Order.BLOCKED, checked=False)
        each = Schedule((512, 1, 1), code)
        together = Schedule((512, 1, 1), replace(code, depth=BLOCK))
        numbers = launch((2**14, 1, 1), a=(2**15,), b=(2**15,), out=(2**14,))
        found = amounts_of((each, together), pulled.program, numbers)

        assert found.far[0] > 0
        assert found.far[1] == 0
        rounds = 2.0 ** (14 + 15) / (LANES * 2)
        assert found.loads[0] - found.loads[1] == 2 * rounds * (1 - 1 / 4 - 1 / 16)
        assert round(found.fetched[0] / found.fetched[1]) == 16
        assert found.meetings.tolist() == [0, 32]

    def test_teams_that_share_a_result_have_a_part_of_it(self):
        shared = [replace(one, code=replace(one.code, shares=8)) for one in TEAMS]
        dot = launch((1, 1, 1), x=(2**20,), y=(2**20,), out=(1,))
        found = amounts_of((*TEAMS, *shared), reducers.dot.program, dot)

        assert (found.blocks[:3] / found.blocks[3:]).tolist() == [8, 8, 8]
        assert found.arrivals.tolist() == [0, 0, 0, 1, 1, 1]
        assert found.launches.tolist() == [0] * 6


def test_a_risk_is_that_of_reductions():
    assert risk(H200, 0.0, reduces=True) != risk(H200, 0.0)
    assert 0.0 < risk(H200, 0.0, reduces=True) < 1.0


@cache
def programs():
    """The recorded kernels; scripts import those that are not bundled by name."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        called = importlib.import_module("spaces_kernels").called
    finally:
        sys.path.remove(str(BENCHMARKS))
    names = {one["kernel"] for one in read(RECORDED)["spaces"]}
    found = {name: called(name, 64)[0].program for name in names}
    return {name: (program, analyse(program)) for name, program in found.items()}


@cache
def spaces():
    """What every recorded launch took by each schedule, with its numbers."""
    return [
        (one["kernel"], one["size"], space_of(one), times_of(one), numbers_of(one))
        for one in read(RECORDED)["spaces"]
    ]


@pytest.mark.skipif(not RECORDED.exists(), reason="the recordings are not part of a package")
class TestRecorded:
    def test_recorded_reductions_start_within_5_per_cent_of_the_best(self):
        ratios = {}
        for kernel, size, space, times, numbers in spaces():
            first = guess(space, *programs()[kernel], H200, numbers).ordered[0]
            ratios[kernel, size] = times[first] / min(times.values())

        assert exp(sum(map(log, ratios.values())) / len(ratios)) <= 1.05
        assert sum(ratio > 1.3 for ratio in ratios.values()) <= 1

    def test_the_best_is_never_left_out(self):
        missing = []
        for kernel, size, _, times, numbers in spaces():
            program, facts = programs()[kernel]
            offered = space_for(H200, program, facts, numbers, None, LaunchTraits({})).legal
            best = min(times, key=times.__getitem__)
            # What may run it with its checks left out is told by how it was recorded.
            if best not in offered:
                missing.append((kernel, size, best.text))

        assert missing == []
