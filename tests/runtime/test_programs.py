"""Programs built by hand learn from their dispatches, as kernels do."""

import logging
from dataclasses import replace
from math import log2

import numpy as np
import pytest

import vyre
from vyre import In, Out, f32, ir
from vyre.backend.replayed import Replayed
from vyre.ir import BufferDecl, DataType, Program
from vyre.learn import process
from vyre.learn.deciders import Deciders
from vyre.learn.desk import Desk
from vyre.learn.gaps import Manners
from vyre.learn.pace import Pace
from vyre.learn.recorder import Recorder
from vyre.model import Reason
from vyre.plan import DispatchConfig
from vyre.runtime.compile.helper import Ready
from vyre.runtime.compile.worker import Pending
from vyre.runtime.devices import programs
from vyre.runtime.devices.device import Device
from vyre.store.memory import MemoryStore

N = 1 << 14


def times(schedule):
    """Fastest with 1024 threads of 4 items each, which so few elements are nobody's guess for."""
    code = schedule.code
    away = abs(log2(schedule.workgroup[0] / 1024)) + abs(log2(code.items / 4))
    return 1e6 * (1 + 0.5 * away)


class Helper:
    def submit(self, bundle, then=None):
        pending = Pending(then)
        pending.settle(Ready((0,) * len(bundle.codes), 0.01))
        return pending


@vyre.kernel(workgroup=512)
def twice(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = x[i] + x[i]


@vyre.kernel(workgroup=64)
def lanes(out: Out[vyre.u32]):
    out[vyre.gid()] = vyre.local_id()


@pytest.fixture
def device(monkeypatch):
    usual = Pace.beside

    def at_once(*given, **named):
        made = usual(*given, **named)
        return replace(made, advance_s=1e9, shortest_s=0.0, resting_s=0.0, enough_s=0.0)

    deciders, recorder = (
        Deciders(Desk(Manners(look_s=0.0, rest_s=0.0, per_s=1e9))),
        Recorder(MemoryStore(), linger_s=0.01),
    )
    monkeypatch.setattr(Pace, "beside", at_once)
    monkeypatch.setattr(process, "deciders", lambda: deciders)
    monkeypatch.setattr(process, "recorder", lambda: recorder)
    monkeypatch.setattr(programs, "helper_of", lambda _: Helper())
    yield Device("replay:0", Replayed(times))
    recorder.close()


def dispatched(device, program, count, config=None):
    """The last result, once it was dispatched so often; every one is checked."""
    x = np.arange(N, dtype=np.float32)
    for _ in range(count):
        (found,) = device.dispatch(program, [x], config)
        assert np.array_equal(found, 2 * x)
        assert process.deciders().desk.drained(60)


def test_a_program_gets_faster_over_its_dispatches(device):
    dispatched(device, twice.program, 400)

    times_ns = [times(schedule) for schedule in device.backend.launched]
    assert times_ns[0] > min(times_ns)
    assert set(times_ns[-50:]) == {min(times_ns)}
    (known,) = device.explain(twice.program).workloads
    assert known.decision.reason is Reason.ADOPTED
    assert known.decision.schedule.workgroup == (1024, 1, 1)
    assert known.dispatches == len(device.backend.launched) == 400


def test_its_choice_is_remembered_under_a_name(device):
    dispatched(device, twice.program, 400)
    recorder = process.recorder()
    assert recorder.flush()

    name = f"program {twice.program.fingerprint().hex()[:12]}"
    assert name in recorder._writable().names().values()


@pytest.mark.parametrize(
    "config",
    [
        DispatchConfig(workgroup_override=(256, 1, 1)),
        DispatchConfig(dispatch_grid=(N // 512, 1, 1)),
        DispatchConfig(grid_override=(N // 512, 1, 1)),
    ],
)
def test_what_the_caller_insists_on_is_launched_and_nothing_is_learned(device, config):
    dispatched(device, twice.program, 20, config)

    assert len(set(device.backend.launched)) == 1
    assert process.deciders().all() == ()


def test_what_is_not_proved_free_is_launched_as_declared(device):
    for _ in range(20):
        device.dispatch(lanes.program, [], DispatchConfig(dispatch_elements=256))

    assert {schedule.workgroup for schedule in device.backend.launched} == {(64, 1, 1)}
    assert device.explain(lanes.program).workloads == ()


def test_a_label_names_a_dispatch_in_the_log(device, caplog):
    with caplog.at_level(logging.DEBUG, "vyre.calls"):
        dispatched(device, twice.program, 1, DispatchConfig(label="nightly"))

    (launched,) = device.backend.launched
    (record,) = caplog.records
    x, tile = launched.workgroup[0], launched.workgroup[0] * launched.code.items
    said = f"nightly: grid ({(1 << 14) // tile}, 1, 1) of ({x}, 1, 1) on replay:0"
    assert record.getMessage() == said


@pytest.mark.parametrize("name", [one.name for one in vyre.devices()])
@pytest.mark.parametrize(
    "config",
    [
        None,
        DispatchConfig(workgroup_override=(32, 1, 1)),
        DispatchConfig(dispatch_grid=(4, 1, 1)),
        DispatchConfig(fixpoint_iterations=2),
    ],
)
def test_an_input_without_elements_has_none(name, config):
    """It is not one whose length nobody knows: that would be read and written beyond its end."""
    here, gid = vyre.open(name), ir.gid()
    x = np.arange(8, dtype=np.uint32)
    added = Program.wrapped(
        [
            BufferDecl.read("x", 0, DataType.U32),
            BufferDecl.read("y", 1, DataType.U32),
            BufferDecl.write("out", 2, DataType.U32),
        ],
        (64, 1, 1),
        [ir.store("out", gid, ir.load("x", gid) + ir.load("y", gid))],
    )

    (found,) = here.dispatch(added, [x, np.zeros(0, np.uint32)], config)

    assert np.array_equal(found[:8], x)
    assert not found[8:].any()
