"""Results that several workgroups share have the reference's bits, whoever comes last."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from threading import Barrier, Thread

import numpy as np
import pytest

import vyre
from vyre.errors import InvalidInput, UnsupportedFeature
from vyre.ir.node import ReduceOp
from vyre.model import Code, Schedule
from vyre.runtime.devices.device import Device
from vyre.testing import reducers
from vyre.testing.cuda_on_host import CudaOnHost, Strayed, compiler
from vyre.testing.programs import generate
from vyre.testing.reducers import Call, calls, deviations
from vyre.testing.reductions import reduced
from vyre.testing.schedules import deviations_under, numbers_of, sharing

COMPILED = [device for device in vyre.devices() if device.info.simd is not None]
ON_HOST = [Device("cuda-on-host", CudaOnHost())] if compiler() else []
DEVICES = pytest.mark.parametrize("device", [*COMPILED, *ON_HOST], ids=lambda device: device.name)


SIZES = (0, 1, 31, 32, 33, 1023, 1024, 1025, 4096, 31 * 1024, 32 * 1024 + 1, 1 << 20, (1 << 20) + 1)


def schedules(device, shares, **others):
    sizes = (32,) if device.info.simd else (32, 256)
    return [Schedule((n, 1, 1), Code(lanes=n, shares=shares, **others)) for n in sizes]


@DEVICES
def test_generated_programs(device: Device):
    cases = [generate(Random(seed), reductions=True) for seed in range(300, 312)]
    drawn = [sharing(device.info, one.program, numbers_of(one), Random(7)) for one in cases]

    assert sum(map(len, drawn)) > 5
    assert list(deviations_under(device, cases, drawn)) == []


@DEVICES
@pytest.mark.parametrize("seed", [4])
def test_kernels_as_people_write_them(device: Device, seed: int):
    shared = 0
    for call in calls(seed):
        drawn = call.sharing(device, Random(seed))[:1]
        shared += len(drawn)
        assert list(deviations(call, device, drawn)) == []
    assert shared > 20


@DEVICES
@pytest.mark.parametrize("n", SIZES)
def test_golden_sums(device: Device, n: int):
    """Also of more teams than blocks, and of blocks of blocks."""
    rng = np.random.default_rng(n)
    x = np.ldexp(rng.uniform(-1, 1, n), rng.integers(-9, 9, n)).astype(np.float32)
    if n > 1 << 15 and device in ON_HOST:
        x = x[: 40_000 + n % 2]  # a fiber for every lane takes its time
    one = device.array(np.ones_like(x))
    given, out = device.array(x), device.array(np.full(1, np.nan, np.float32))
    for shares in (2, 8):
        for schedule in schedules(device, shares):
            reducers.dot(given, one, out=out, schedule=schedule)
            expected = np.asarray(reduced(ReduceOp.SUM, x), np.float32)
            assert np.asarray(out).tobytes() == expected.tobytes(), schedule.text


@DEVICES
def test_nothing_at_all_has_the_result_of_nothing(device: Device):
    """No element passes the condition, in one team or in all of them."""
    x = np.full(5000, -1.0)
    for here in (None, 0, 4999):
        if here is not None:
            x[here] = 3.0
        call = Call(
            kernel=reducers.dot_f64,
            inputs={"x": x.copy(), "y": x.copy()},
            outputs={"out": np.zeros(1)},
        )
        assert list(deviations(call, device, schedules(device, 4))) == []


@pytest.mark.skipif(not COMPILED, reason="needs the processor")
def test_launches_at_once_keep_apart():
    """Each call has its own memory for what its teams find."""
    device = COMPILED[0]
    n = 200_000
    schedule = Schedule((32, 1, 1), Code(lanes=32, shares=16))
    wrong = []

    def many(value: float) -> None:
        x = device.array(np.full(n, value, np.float32))
        y = device.array(np.ones(n, np.float32))
        out = device.array(np.zeros(1, np.float32))
        expected = np.asarray(reduced(ReduceOp.SUM, np.full(n, value, np.float32)), np.float32)
        for _ in range(100):
            reducers.dot(x, y, out=out, schedule=schedule)
            if np.asarray(out)[0] != expected:
                wrong.append((value, np.asarray(out)[0], expected))

    threads = [Thread(target=many, args=(value,)) for value in (1.0, 2.0, 3.0)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()

    assert wrong == []


@DEVICES
@pytest.mark.parametrize("kernel", [reducers.normalise, reducers.softmax, reducers.layer_norm_rows])
def test_calls_of_long_rows_run_as_they_come(device: Device, kernel):
    """A row's positions are all of one tile, of which several teams make none more."""
    shape = (70_001,) if kernel is reducers.normalise else (1, 70_001)
    if device in ON_HOST:
        shape = (*shape[:-1], 9001)
    x = reducers.floats(np.random.default_rng(5), *shape)
    outputs = {"out": np.zeros(shape, np.float32)}
    if kernel is reducers.layer_norm_rows:
        outputs["spread"] = np.zeros(1, np.float32)
    call = Call(
        kernel=kernel,
        inputs={"x": x},
        outputs=outputs,
        scalars={"eps": 1e-5} if kernel is reducers.layer_norm_rows else {},
        shape=(1,) if kernel is reducers.layer_norm_rows else shape,
    )
    space = call.space(device)
    shared = [one for one in space.legal if one.code.shares > 1]

    assert shared
    assert list(deviations(call, device, [space.default, *shared[:3]])) == []
    call.run(device)  # without a word about how


@pytest.mark.skipif(not COMPILED, reason="needs the processor")
def test_a_prepared_launch_can_be_repeated():
    """The counters are as they were when it is over; several teams are the default of a sum."""
    device = COMPILED[0]
    x = device.array(np.ones(300_000, np.float32))
    launch = reducers.dot.prepare(x, x)
    for _ in range(5):
        assert np.asarray(launch())[0] == 300_000


@pytest.mark.skipif(not COMPILED, reason="needs the processor")
def test_a_prepared_launch_has_memory_for_each_thread_that_calls_it():
    """The teams of one call do not count as those of another, whose results are not there yet."""
    device = COMPILED[0]
    x = device.array(np.ones(300_000, np.float32))
    wrong = []
    for _ in range(60):
        launch = reducers.dot.prepare(x, x)
        ready = Barrier(3)

        def call(launch=launch, ready=ready) -> None:
            ready.wait()
            found = np.asarray(launch())[0]
            if found != 300_000:
                wrong.append(found)

        threads = [Thread(target=call) for _ in range(3)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()

    assert wrong == []


def test_opencl_refuses_with_a_reason():
    devices = [device for device in vyre.devices() if device.info.backend == "opencl"]
    if not devices:
        pytest.skip("there is no OpenCL device")
    with pytest.raises(UnsupportedFeature) as raised:
        devices[0].source(reducers.dot.program, Code(lanes=32, shares=2))

    assert str(raised.value) == (
        "2 shares of a result in opencl, whose workgroups of one launch cannot tell that others "
        "have stored\nFix: use shares=1"
    )


X = np.ones(5000, np.float32)


@pytest.mark.parametrize(
    ("schedule", "text"),
    [
        (
            Schedule((32, 1, 1), Code(shares=4)),
            "4 shares of a result without a team\nFix: use Code(lanes=32, shares=4)",
        ),
        (
            Schedule((64, 1, 1), Code(lanes=32, shares=4)),
            "workgroup (64, 1, 1) for this call of dot: teams that share a result are workgroups "
            "of their own\nFix: use (32, 1, 1)",
        ),
    ],
)
@pytest.mark.skipif(not COMPILED, reason="needs the processor")
def test_mistakes(schedule: Schedule, text: str):
    x = COMPILED[0].array(X)
    with pytest.raises(InvalidInput) as raised:
        reducers.dot(x, x, schedule=schedule)

    assert str(raised.value) == text


@vyre.kernel
def by_data(x: vyre.In[vyre.f32], sizes: vyre.In[vyre.u32], out: vyre.Out[vyre.f32]):
    out[0] = sum(x[k] for k in range(sizes[0]))


@pytest.mark.skipif(not COMPILED, reason="needs the processor")
def test_rounds_that_only_data_tells_are_not_shared():
    device = COMPILED[0]
    x, sizes = device.array(X), device.array(np.array([7], np.uint32))
    with pytest.raises(InvalidInput) as raised:
        by_data(x, sizes, schedule=Schedule((32, 1, 1), Code(lanes=32, shares=4)))

    assert str(raised.value) == (
        "4 shares of a result of this call of by_data: only its data tells how many rounds there "
        "are\nFix: use Code(shares=1)"
    )
    assert np.asarray(by_data(x, sizes))[0] == 7


MISTAKES = {
    "the last team goes on too early": ("before == shares - 1u", "before == 0u"),
    "no team is the last": ("before == shares - 1u", "false"),
    "lanes do not wait for what their team finds out": ("__syncthreads();", ""),
    "a counter is not what it was before": ("atomicInc(counter, shares - 1u)", "*counter += 2u"),
}


@pytest.mark.skipif(not ON_HOST, reason="needs a compiler")
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_how_teams_arrive_would_be_seen(mistake: str):
    right, wrong = MISTAKES[mistake]
    dialect = CudaOnHost().dialect
    arrive = tuple(line.replace(right, wrong) for line in dialect.arrive)
    assert arrive != dialect.arrive
    device = Device("mistaken", CudaOnHost(replace(dialect, arrive=arrive)))
    x = reducers.floats(np.random.default_rng(1), 9000)
    outputs = {"out": np.zeros(1, np.float32)}
    call = Call(kernel=reducers.dot, inputs={"x": x, "y": x}, outputs=outputs)
    seen = []
    for _ in range(4):
        try:
            seen += deviations(call, device, [Schedule((64, 1, 1), Code(lanes=64, shares=4))])
        except Strayed as error:
            seen.append(error.problem)
    assert seen
