"""Dispatching hand-built programs fused or in turn."""

import numpy as np
import pytest

import vyre
from vyre import DeviceFailed, DispatchConfig, InvalidInput, UnsupportedFeature, ir
from vyre.ir import BufferDecl, DataType, Program
from vyre.plan.counter_tail import TAIL_MAGIC
from vyre.policy.speculate import PROBE_EVERY
from vyre.seed import (
    AdaptiveSpeculator,
    SpeculationMode,
    SpeculationReport,
    SpeculationTimes,
    SpeculativeDispatchPlan,
    dispatch_prefilter_confirm,
    encode_counter_tail,
)

FUSED = Program.wrapped([], (1, 1, 1), [])
PREFILTER = Program.wrapped([BufferDecl.read("x", 0, DataType.U32)], (1, 1, 1), [])
FORCE = DispatchConfig(speculation=SpeculationMode.FORCE)
DISABLE = DispatchConfig(speculation=SpeculationMode.DISABLE)


class Stub:
    """Answers each of the two programs with what it was given, and remembers which ran."""

    name = "stub:0"

    def __init__(self, fused, prefilter=(b"hits",), *, able=True):
        self.outputs = {FUSED: fused, PREFILTER: prefilter}
        self.supports_speculation = able
        self.ran = []

    def dispatch(self, program, _inputs, config=None):
        assert config.speculation is None, "a device honours no such wish"
        self.ran.append("fused" if program == FUSED else "prefilter")
        return [np.frombuffer(data, np.uint8) for data in self.outputs[program]]


def counted(committed, rolled_back, **legacy):
    return encode_counter_tail(SpeculationReport(committed, rolled_back), **legacy)


def plan(**changes):
    fields = {"fused_program": FUSED, "prefilter_program": PREFILTER, "counter_output_index": 0}
    return SpeculativeDispatchPlan(**{**fields, **changes})


def confirm(_outputs):
    return [np.frombuffer(b"confirmed", np.uint8)]


def never(_outputs):
    raise AssertionError("the serial way ran")


def run(stub, speculator, made=None, serial=confirm, **options):
    return dispatch_prefilter_confirm(stub, speculator, made or plan(), [], serial, **options)


def off(threshold=15):
    speculator = AdaptiveSpeculator(threshold)
    for _ in range(16):
        speculator.record(SpeculationReport(0, 100))
    return speculator


def test_the_fused_program_tells_what_it_committed_and_loses_its_tail():
    speculator = AdaptiveSpeculator()

    outcome = run(Stub([b"data" + counted(3, 1)]), speculator, serial=never)

    assert outcome.used_speculative_path
    assert outcome.report == SpeculationReport(3, 1)
    assert [output.tobytes() for output in outcome.outputs] == [b"data"]
    assert speculator.samples == 1


def test_a_tail_stays_where_the_plan_keeps_it():
    tail = counted(3, 1)

    outcome = run(Stub([tail]), AdaptiveSpeculator(), plan(strip_counter_tail=False))

    assert outcome.outputs[0].tobytes() == tail


def test_a_switched_off_speculator_runs_the_prefilter_and_then_the_confirm():
    stub = Stub([counted(3, 1)])

    outcome = run(stub, off(), serial=lambda outputs: [outputs[0], *confirm(outputs)])

    assert stub.ran == ["prefilter"]
    assert not outcome.used_speculative_path
    assert outcome.report is None
    assert [output.tobytes() for output in outcome.outputs] == [b"hits", b"confirmed"]


def test_the_serial_way_records_what_it_saw_and_so_comes_back():
    """The Rust crate records nothing there, so that off means off for good."""
    stub = Stub([counted(90, 10)], [b"hits", counted(90, 10)])
    speculator = off()
    for _ in range(10):
        run(stub, speculator, plan(prefilter_counter_index=1))

    assert stub.ran[0] == "prefilter"
    assert stub.ran[-1] == "fused"
    assert speculator.should_speculate()


def test_a_prefilter_that_counts_nothing_is_interrupted_by_probes():
    stub = Stub([counted(90, 10)])
    speculator = off()
    for _ in range(PROBE_EVERY + 1):
        run(stub, speculator)

    assert stub.ran == ["prefilter"] * PROBE_EVERY + ["fused"]


def test_auto_keeps_to_what_the_device_can_do():
    stub = Stub([counted(3, 1)], able=False)

    outcome = run(stub, AdaptiveSpeculator())

    assert stub.ran == ["prefilter"]
    assert not outcome.used_speculative_path


def test_forcing_a_device_that_cannot_is_an_error():
    with pytest.raises(UnsupportedFeature) as error:
        run(Stub([counted(3, 1)], able=False), AdaptiveSpeculator(), config=FORCE)

    assert str(error.value) == (
        "device 'stub:0' cannot run fused programs, and speculation is forced\n"
        "Fix: use SpeculationMode.AUTO, or another device"
    )


def test_a_wish_outranks_the_speculator():
    forced, disabled = Stub([counted(3, 1)]), Stub([counted(3, 1)])

    run(forced, off(), config=FORCE)
    run(disabled, AdaptiveSpeculator(), config=DISABLE)

    assert (forced.ran, disabled.ran) == (["fused"], ["prefilter"])


@pytest.mark.parametrize("output", [b"", b"no counters here", bytes(16), counted(3, 1)[4:]])
def test_an_output_without_counters_is_refused_before_anything_is_learned(output):
    speculator = AdaptiveSpeculator()

    with pytest.raises(DeviceFailed) as error:
        run(Stub([output]), speculator)

    assert str(error.value) == (
        f"output 0 of the fused program, {len(output)} bytes, does not end in counters\n"
        "Fix: let the program end it with the 16 bytes of encode_counter_tail, "
        "or name another output"
    )
    assert speculator.samples == 0


def test_the_bare_counts_are_read_where_the_plan_says_so():
    speculator = AdaptiveSpeculator()

    outcome = run(Stub([b"data" + counted(3, 1, legacy=True)]), speculator, plan(legacy=True))

    assert outcome.report == SpeculationReport(3, 1)
    assert outcome.outputs[0].tobytes() == b"data"


def test_an_output_that_is_not_there_is_named():
    with pytest.raises(InvalidInput) as error:
        run(Stub([counted(3, 1)]), AdaptiveSpeculator(), plan(counter_output_index=2))

    assert str(error.value) == (
        "counter output 2 of the fused program, which has 1 outputs\n"
        "Fix: give the place from 0 to 0 of the output that ends in counters"
    )


class Clock:
    """Time passes only as the programs take it."""

    def __init__(self):
        self.now = 0

    def __call__(self):
        return self.now


class Timed(Stub):
    def __init__(self, clock, fused_ns, prefilter_ns, rate):
        tail = counted(round(rate * 1000), round((1 - rate) * 1000))
        super().__init__([tail], [b"hits", tail])
        self.clock, self.costs = clock, {FUSED: fused_ns, PREFILTER: prefilter_ns}

    def dispatch(self, program, inputs, config=None):
        self.clock.now += self.costs[program]
        return super().dispatch(program, inputs, config)


@pytest.mark.parametrize(
    ("fused_ns", "prefilter_ns", "rate", "chosen"),
    [(100, 900, 0.01, "fused"), (900, 100, 0.99, "prefilter")],
)
def test_measured_time_outranks_the_commit_rate(fused_ns, prefilter_ns, rate, chosen):
    clock = Clock()
    stub = Timed(clock, fused_ns, prefilter_ns, rate)
    speculator, times = AdaptiveSpeculator(), SpeculationTimes(clock)
    for _ in range(40):
        run(stub, speculator, plan(prefilter_counter_index=1), times=times)

    assert set(stub.ran[-20:]) == {chosen}
    assert set(stub.ran) == {"fused", "prefilter"}


def test_a_real_device_runs_programs_with_counters():
    """Doubles what is even: 8 numbers, and the tail behind them."""
    n = 8
    x = BufferDecl.read("x", 0, DataType.U32).with_count(n)
    out = BufferDecl.output("out", 1, DataType.U32).with_count(n + 4)
    i, value = ir.gid(), ir.load("x", ir.gid())
    even = (value & 1).eq(0)
    counter = ir.select(even, ir.u32(n + 2), ir.u32(n + 3))
    body = [
        ir.if_(
            i < n,
            [
                ir.if_(even, [ir.store("out", i, value * 2)]),
                ir.let("_", ir.atomic(ir.AtomicOp.ADD, "out", counter, 1)),
            ],
        ),
        ir.if_(
            i.eq(0),
            [ir.store("out", n, ir.u32(TAIL_MAGIC)), ir.store("out", n + 1, ir.u32(1))],
        ),
    ]
    fused = Program.wrapped([x, out], (64, 1, 1), body)
    data = np.arange(n, dtype=np.uint32)
    speculator = AdaptiveSpeculator()

    outcome = dispatch_prefilter_confirm(
        vyre.open("reference"),
        speculator,
        plan(fused_program=fused),
        [data],
        never,
        config=DispatchConfig(dispatch_elements=n),
    )

    assert outcome.report == SpeculationReport(4, 4)
    assert outcome.outputs[0].tolist() == [0, 0, 4, 0, 8, 0, 12, 0]
