"""What a program's first call builds, and what later sizes find there."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from vyre import kernels
from vyre.backend.replayed import GPU, Replayed
from vyre.model import Schedule
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.launcher import Launcher, Numbers
from vyre.runtime.devices.opening import (
    at_other_sizes,
    first_codes,
    opening_of,
    timed_in_turns,
)
from vyre.testing.recordings import numbers_of, read, times_of

DATA = Path(__file__).parents[3] / "benchmarks" / "data"
RECORDED, REDUCTIONS = DATA / "spaces-h200.json.gz", DATA / "spaces-h200-reductions.json.gz"
H200 = replace(
    GPU, model="NVIDIA H200", limits=replace(GPU.limits, cache_bytes=60 << 20, lockstep=32)
)


@pytest.fixture(scope="module")
def recorded():
    if not RECORDED.exists():
        pytest.skip("the recordings are not in this distribution")
    found = read(RECORDED)["spaces"]
    names = {kernel.name for kernel in kernels.ALL}
    return {(one["kernel"], one["size"]): one for one in found if one["kernel"] in names}


@pytest.fixture(scope="module")
def reductions():
    if not REDUCTIONS.exists():
        pytest.skip("the recordings are not in this distribution")
    return {(one["kernel"], one["size"]): one for one in read(REDUCTIONS)["spaces"]}


def of(recorded, kernel, size):
    """What was recorded of a kernel at a size."""
    if (kernel.name, size) not in recorded:
        pytest.skip(f"no recording of {kernel.name}")
    return recorded[kernel.name, size]


@pytest.mark.parametrize(
    ("first", "most"), [(1 << 14, 1.15), (1 << 18, 1.15), (1 << 22, 1.19), (1 << 26, 1.15)]
)
def test_what_a_first_call_builds_serves_every_other_size(recorded, first, most):
    device = Device("replay:0", Replayed(lambda _: 1.0, info=H200))
    ratios = {}
    for kernel in kernels.ALL:
        if (kernel.name, first) not in recorded:  # younger than the recordings
            continue
        launcher = Launcher(kernel._translation, device)
        begun = recorded[kernel.name, first]
        numbers, alignment = numbers_of(begun), begun["alignment"]
        whole = launcher.space(numbers, alignment)
        guessed = launcher.guess(whole, numbers)
        codes = frozenset(first_codes(guessed, whole, launcher, numbers, alignment))
        assert len(codes) <= device.backend.builds_first
        for (name, size), space in recorded.items():
            if name == kernel.name:
                later, times = numbers_of(space), times_of(space)
                among = launcher.space(later, space["alignment"], among=codes)
                ordered = launcher.guess(among, later).ordered
                taken = next(one for one in ordered if one.code in codes)
                if taken in times:  # of a large space a part was recorded
                    ratios[name, size] = times[taken] / min(times.values())

    assert len(ratios) >= 0.8 * len(recorded)
    assert max(ratios.values()) <= most
    assert math.exp(sum(map(math.log, ratios.values())) / len(ratios)) <= 1.035


@pytest.mark.parametrize("first", [1 << 14, 1 << 20, 1 << 26])
def test_what_a_first_call_of_a_reduction_builds_serves_every_other_size(reductions, first):
    """Sizes that ask for teams of their own, or for others that share a result, have some."""
    device = Device("replay:0", Replayed(lambda _: 1.0, info=H200))
    ratios = {}
    for kernel in kernels.REDUCTIONS:
        launcher = Launcher(kernel._translation, device)
        begun = reductions[kernel.name, first]
        numbers, alignment = numbers_of(begun), begun["alignment"]
        whole = launcher.space(numbers, alignment)
        codes = first_codes(launcher.guess(whole, numbers), whole, launcher, numbers, alignment)
        for (name, size), space in reductions.items():
            later, times = numbers_of(space), times_of(space)
            if name == kernel.name:
                among = launcher.space(later, space["alignment"], among=frozenset(codes))
                ordered = launcher.guess(among, later).ordered
                taken = next((one for one in ordered if one.code in codes), None)
                if taken in times:
                    ratios[name, size] = times[taken] / min(times.values())

    assert len(ratios) >= 14
    assert math.exp(sum(map(math.log, ratios.values())) / len(ratios)) <= 1.25
    assert max(ratios.values()) <= 2.5


@pytest.mark.parametrize("size", [1 << 18, 1 << 22, 1 << 26])
@pytest.mark.parametrize("kernel", kernels.ALL, ids=lambda kernel: kernel.name)
def test_a_first_call_launches_the_best_guess_once_it_is_built(recorded, kernel, size):
    launcher = Launcher(kernel._translation, Device("replay:0", Replayed(lambda _: 1.0, info=H200)))
    space = of(recorded, kernel, size)
    numbers, alignment = numbers_of(space), space["alignment"]
    best = launcher.guess(launcher.space(numbers, alignment), numbers).ordered[0]

    workload = launcher.workload(numbers, alignment)
    opening = opening_of(launcher, numbers, alignment, workload, ())

    assert opening.config == best


@pytest.mark.parametrize(
    "extent", [(1, 1, 1), (1 << 20, 1, 1), (1 << 26, 1, 1), (1000, 999, 1), (7, 5, 3)]
)
def test_other_sizes_are_far_away_and_keep_what_is_not_of_the_size(extent):
    total = math.prod(extent)
    numbers = Numbers(extent, {"x": (total,), "w": (11,), "y": extent}, {"k": 4})

    others = at_other_sizes(numbers)

    away = [abs(math.log2(math.prod(far.extent) / total)) for far in others]
    assert len(others) == 3
    assert away == sorted(away, reverse=True)
    assert away[0] > 4
    assert away[2] > 1
    for far in others:
        assert far.shapes["w"] == (11,)
        assert math.prod(far.shapes["x"]) == math.prod(far.extent) or total == 1
        assert far.scalars == {"k": 4}
        assert [size > 1 for size in far.extent[1:]] == [size > 1 for size in extent[1:]]


@pytest.mark.parametrize(
    ("extent", "shapes", "far"),
    [
        ((1, 1, 1), {"x": (4096,), "out": (1,)}, {"x": (1 << 24,), "out": (1,)}),
        ((64, 1, 1), {"x": (64, 64), "out": (64,)}, {"x": (4160, 4160), "out": (4160,)}),
        ((512, 1, 1), {"x": (512, 8), "out": (512,)}, {"x": (2097664, 8), "out": (2097664,)}),
    ],
)
def test_other_sizes_of_reductions_are_those_of_what_they_go_over(extent, shapes, far):
    first = at_other_sizes(Numbers(extent, shapes, {}), reduces=True)[0]

    assert first.shapes == far
    assert first.extent == (*far["out"], 1, 1)


@pytest.mark.parametrize("size", [1 << 20, 3 << 11, 1000, 999, 7])
def test_other_sizes_are_whole_tiles_where_this_one_is(size):
    numbers = Numbers((size, 1, 1), {"x": (size,)}, {})

    for far in at_other_sizes(numbers):
        for tile in (2, 4, 16, 64, 256, 1024):
            assert (far.extent[0] % tile == 0) == (size % tile == 0)


class TestInTurns:
    GUESS, DEFAULT = Schedule((64, 1, 1)), Schedule((256, 1, 1))

    @pytest.mark.parametrize(
        ("slower", "turns"), [(0.0, 8), (-0.3, 8), (0.1, 8), (0.3, 2), (0.5, 1), (0.8, 0), (9.0, 0)]
    )
    def test_the_times_of_the_default_cost_about_a_dispatch_together(self, slower, turns):
        expected = {self.GUESS: 0.0, self.DEFAULT: slower}

        found = timed_in_turns(self.GUESS, expected, self.DEFAULT)

        assert found == (self.DEFAULT, self.GUESS) * turns
        assert turns * (math.exp(slower) - 1) <= 1

    def test_a_default_that_is_the_guess_or_not_ready_is_not_timed(self):
        assert timed_in_turns(self.GUESS, {self.GUESS: 0.0}, self.GUESS) == ()
        assert timed_in_turns(self.GUESS, {self.GUESS: 0.0}, self.DEFAULT) == ()
