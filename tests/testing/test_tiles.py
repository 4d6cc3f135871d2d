"""Programs of tiles are valid and drawn from seeds alone; what a schedule changes is found."""

from collections import Counter
from random import Random

import pytest

import vyre
from vyre.analysis import analyse
from vyre.errors import UnsupportedFeature
from vyre.ir.node import Loop
from vyre.ir.validate import validate
from vyre.ir.walk import statements
from vyre.model import Code, Schedule
from vyre.testing import tile_compare
from vyre.testing.tile_programs import generate_tiled, grow_tiled
from vyre.testing.tile_schedules import Ground, draw

COMPILED = [device for device in vyre.devices() if device.backend.compiles]
DEVICES = pytest.mark.parametrize("device", COMPILED, ids=lambda device: device.name)


@pytest.mark.parametrize("seed", range(60))
def test_a_program_is_valid_and_proved_to_be_free_of_its_schedule(seed):
    program = generate_tiled(Random(seed)).program

    assert validate(program) == ()
    assert analyse(program).reasons == ()


def test_a_seed_gives_the_same_program_and_arrays_every_time():
    one, other = generate_tiled(Random(7)), generate_tiled(Random(7))

    assert one.program == other.program
    assert {n: a.tobytes() for n, a in one.arrays.items()} == {
        n: a.tobytes() for n, a in other.arrays.items()
    }


def test_programs_have_every_rank_and_element_type_and_loops_of_every_depth():
    cases = [grow_tiled(Random(seed)) for seed in range(300)]

    ranks = {sum(size > 1 for size in case.extent) for case in cases}
    elements = {str(decl.element) for case in cases for decl in case.program.buffers}
    depths = {
        sum(isinstance(node, Loop) for node in statements(case.program.entry)) for case in cases
    }

    assert ranks == {0, 1, 2, 3}
    assert len(elements) == 13
    assert depths >= {0, 1, 2, 3}


@DEVICES
def test_schedules_widen_only_axes_that_a_program_uses(device):
    rng = Random(1)
    for seed in range(40):
        ground = Ground.of(device, generate_tiled(Random(seed)))
        for schedule in (draw(rng, ground, device) for _ in range(10)):
            assert all(schedule.tile[axis] == 1 for axis in range(3) if axis not in ground.axes)


@pytest.fixture
def few(monkeypatch):
    """Compilers that do not optimize: nothing here asks for speed."""
    monkeypatch.setenv("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable")


@DEVICES
@pytest.mark.usefixtures("few")
def test_a_workgroup_that_is_not_launched_is_found(device, monkeypatch):
    monkeypatch.setattr(tile_compare, "tile_grid", lambda *_: (1, 1, 1))

    tally = tile_compare.compare(device, range(4), count=1, wide=False)

    assert tally.wrong


@DEVICES
@pytest.mark.usefixtures("few")
def test_what_an_emitter_refuses_is_counted_by_its_reason_and_not_run(device, monkeypatch):
    def refuse(_, job):
        raise UnsupportedFeature(f"{job.code.vector} of a kind", "use another")

    monkeypatch.setattr(type(device.backend), "source", refuse)

    tally = tile_compare.compare(device, range(2), count=3)

    assert tally.refused == Counter({"UnsupportedFeature: # of a kind": 6})
    assert tally.runs == 2  # the plain schedules
    assert tally.wrong == []


@DEVICES
@pytest.mark.usefixtures("few")
def test_an_emitter_that_fails_is_a_finding(device, monkeypatch):
    monkeypatch.setattr(type(device.backend), "source", lambda *_: 1 // 0)

    tally = tile_compare.compare(device, [3], count=2)

    assert [found.seed for found in tally.wrong] == [3, 3]
    assert "ZeroDivisionError" in tally.wrong[0].what


def test_a_plain_schedule_is_always_run_first():
    device = COMPILED[0]
    trial = tile_compare.trial(device, 5, tile_compare.Tally(), count=3)

    assert trial.schedules[0] == Schedule(trial.case.program.workgroup_size, Code())
