"""Launches on an idle stream, timed behind a gate: what they take, and that it always opens."""

import contextlib
import ctypes
import itertools
import threading
import time
from dataclasses import replace

import pytest

pytest.importorskip("cuda.bindings.nvrtc")

from vyre import kernels
from vyre.analysis import analyse
from vyre.backend.base import Job, Unbuilt
from vyre.backend.cuda import found, gate, nvrtc
from vyre.backend.cuda.events import FIXED_NS, without_events
from vyre.errors import DeviceFailed
from vyre.learn import process
from vyre.learn.deciders import Deciders
from vyre.learn.desk import Desk
from vyre.learn.gaps import Manners
from vyre.learn.pace import Pace
from vyre.learn.recorder import Recorder
from vyre.model import Code
from vyre.runtime.call import dispatch
from vyre.runtime.devices.device import Device
from vyre.store.memory import MemoryStore
from vyre.testing.live import Bench as Live
from vyre.testing.live import Helper

OWN_NS = 250_000 - FIXED_NS
"""What a launch takes on the fake."""

CALL_MS = 0.01


@pytest.fixture(scope="session")
def cubins(tmp_path_factory):
    return tmp_path_factory.mktemp("cubins")


@pytest.fixture
def cuda(driver, cubins):
    (made,) = found(cubins, driver, cubins / "no such file")
    return made


@pytest.fixture
def timed(cuda):
    """Launches saxpy, timed; on a stream if one is given."""
    program = kernels.saxpy.program
    (binary,) = cuda.build([Job(program, Code(), analyse(program))])
    words = bytes(4 * binary.layout.count)

    def launch(stream=0):
        arguments = [0, 0, 0, 0.0]
        return cuda.launch(
            binary, (1, 1, 1), (64, 1, 1), arguments, words, timed=True, stream=stream
        )

    return launch


@pytest.fixture
def gated(timed):
    """The same, once there is a gate."""
    timed().elapsed_ns()
    return timed


def closed(driver):
    """How many gates were closed."""
    return driver.gate_launches


def slots(cuda):
    return cuda._timing._gate._free


def test_the_first_time_is_rough_and_whoever_asks_for_it_prepares_the_gate(timed, driver):
    first = timed()
    assert first.rough
    assert "cuMemHostAlloc" not in driver.calls  # a launch loads nothing

    assert first.elapsed_ns() == OWN_NS
    assert not timed().rough
    assert driver.calls.count("cuMemHostAlloc") == 1


def test_no_gate_is_loaded_while_callers_would_wait_for_it(timed, cuda, driver, monkeypatch):
    monkeypatch.setattr(cuda._timing, "_sleep", lambda _: None)
    first, second = timed(), timed()
    driver.answers["cuStreamQuery"] = [driver.CUresult.CUDA_ERROR_NOT_READY]
    done = driver.CUresult.CUDA_SUCCESS
    driver.answers["cuEventQuery"] = [done, driver.CUresult.CUDA_ERROR_NOT_READY]

    assert first.elapsed_ns() == OWN_NS
    assert "cuMemHostAlloc" not in driver.calls
    assert second.elapsed_ns() == OWN_NS
    assert "cuMemHostAlloc" in driver.calls


def test_the_host_s_time_is_in_a_time_without_a_gate_and_in_none_behind_one(timed, driver):
    driver.call_ms = CALL_MS

    assert timed().elapsed_ns() == pytest.approx(OWN_NS + 2 * CALL_MS * 1e6)
    assert timed().elapsed_ns() == OWN_NS
    assert timed(0x50).elapsed_ns() == OWN_NS


def test_a_gate_is_open_when_the_launch_returns(gated, driver):
    ticket = gated()

    assert ticket.elapsed_ns() == OWN_NS
    assert driver.gates == {}
    assert driver.gates_given_up == 0


def test_on_a_busy_stream_there_is_no_gate(gated, driver):
    driver.busy.add(0x50)
    before = closed(driver)

    assert not gated(0x50).rough
    assert closed(driver) == before


def test_a_stream_that_came_to_rest_meanwhile_leaves_a_rough_time(gated, driver):
    driver.answers["cuStreamQuery"] = [driver.CUresult.CUDA_ERROR_NOT_READY]

    assert gated().rough


def test_in_a_capture_there_is_no_gate(gated, driver):
    driver.capturing.add(0x50)
    before = closed(driver)

    assert gated(0x50).elapsed_ns() is None
    assert closed(driver) == before


def test_what_is_asked_of_the_driver_leaves_captures_of_others_alone(gated, driver):
    driver.capture_modes.clear()
    driver.busy.add(0x50)
    gated()
    gated(0x50)

    assert set(driver.capture_modes) == {"CU_STREAM_CAPTURE_MODE_RELAXED"}


def test_where_launches_run_one_by_one_gates_give_up_and_soon_there_are_none(gated, driver):
    driver.one_by_one = True
    before = closed(driver)

    tickets = [gated() for _ in range(2 * gate.MOST_IN_A_ROW)]

    assert all(ticket.rough for ticket in tickets)
    assert {ticket.elapsed_ns() for ticket in tickets} == {OWN_NS}
    assert closed(driver) - before == gate.MOST_IN_A_ROW


def test_one_that_held_makes_up_for_those_that_gave_up(gated, driver):
    for _ in range(gate.MOST_IN_A_ROW):
        driver.one_by_one = True
        assert gated().rough
        driver.one_by_one = False
        assert not gated().rough


@pytest.mark.parametrize(
    "call", ["cuMemHostAlloc", "cuMemHostGetDevicePointer", "cuModuleLoadData"]
)
def test_a_device_that_refuses_a_gate_is_asked_once(timed, driver, call):
    driver.answers[call] = [driver.CUresult.CUDA_ERROR_NOT_SUPPORTED]

    for _ in range(3):
        ticket = timed()
        assert ticket.elapsed_ns() == OWN_NS
        assert ticket.rough
    assert driver.answers[call] == []
    assert closed(driver) == 0


def test_a_compiler_that_refuses_it_leaves_times_rough(timed, monkeypatch, tmp_path, cuda):
    monkeypatch.setattr(nvrtc, "compile", lambda *_: Unbuilt("no"))
    monkeypatch.setattr(cuda._builder, "_cache", type(cuda._builder._cache)(tmp_path))

    assert timed().elapsed_ns() == OWN_NS
    assert timed().rough


def test_a_gate_that_is_not_launched_leaves_a_rough_time(gated, driver):
    driver.answers["cuLaunchKernel"] = [driver.CUresult.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES]

    ticket = gated()

    assert ticket.rough
    assert ticket.elapsed_ns() == OWN_NS


def test_a_launch_that_is_refused_behind_a_gate_opens_it(gated, driver):
    refused = driver.CUresult.CUDA_ERROR_INVALID_VALUE
    driver.answers["cuEventRecord"] = [refused]

    with pytest.raises(DeviceFailed, match="CUDA_ERROR_INVALID_VALUE"):
        gated()

    driver.cuStreamQuery(1)
    assert driver.gates == {}
    assert gated().elapsed_ns() == OWN_NS


def test_an_interrupt_between_any_two_calls_leaves_every_gate_open(gated, cuda, driver):
    many = len(slots(cuda))
    for number in range(1, 1000):
        driver.interrupt_after = number
        try:
            gated()
        except KeyboardInterrupt:
            driver.interrupt_after = 0
            driver.cuStreamQuery(1)
            assert driver.gates == {}
            assert len(slots(cuda)) == many
            assert gated().elapsed_ns() == OWN_NS
        else:
            break
    driver.interrupt_after = 0

    assert number > 6  # it was interrupted within
    assert driver.gates_given_up == 0


def test_events_of_an_interrupted_launch_serve_again(gated, driver):
    gated().elapsed_ns()
    made = driver.calls.count("cuEventCreate")
    for number in range(1, 12):
        driver.interrupt_after = number
        with contextlib.suppress(KeyboardInterrupt):
            gated()
    driver.interrupt_after = 0

    assert driver.calls.count("cuEventCreate") <= made + 2


@pytest.mark.usefixtures("gated")
@pytest.mark.parametrize("inner", [1, 0x50])
def test_two_gates_at_once_open_neither_the_other(cuda, driver, inner):
    """As two threads close them, on one stream or on two."""
    gates, seen = cuda._timing._gate, []

    def work():
        given = gates.behind(inner, lambda: "launched")
        seen.append(dict(driver.gates))
        return given

    (given, first), second = gates.behind(1, work)

    assert (given, first, second) == ("launched", True, True)
    assert 1 in seen[0]  # the outer one was still closed
    driver.cuStreamQuery(1)
    driver.cuStreamQuery(inner)
    assert driver.gates == {}


def test_more_gates_than_there_are_leave_rough_times(gated, cuda):
    taken, free = list(slots(cuda)), slots(cuda)
    free.clear()

    assert gated().rough
    free += taken
    assert not gated().rough


def test_numbers_go_round(gated, cuda, driver):
    for slot in slots(cuda):
        slot.number = 0xFFFF_FFFE
        slot._words[0] = slot.number

    for _ in range(4):
        ticket = gated()
        assert not ticket.rough
        assert ticket.elapsed_ns() == OWN_NS
    assert driver.gates_given_up == 0


@pytest.mark.usefixtures("gated")
def test_a_forked_copy_touches_no_word(cuda, monkeypatch):
    slot = slots(cuda)[-1]
    slot.close()
    before = tuple(slot._words)
    monkeypatch.setattr(cuda._context, "_process", 1)

    assert not slot.open()
    assert tuple(slot._words) == before


@pytest.mark.usefixtures("timed")
def test_a_forked_copy_prepares_nothing(cuda, driver, monkeypatch):
    monkeypatch.setattr(cuda._context, "_process", 1)

    cuda._timing._gate.prepare()

    assert "cuMemHostAlloc" not in driver.calls


@pytest.mark.usefixtures("gated")
def test_a_function_of_others_has_no_gate(cuda, driver):
    """It may wait for its stream, and would wait for the gate."""
    before = closed(driver)

    ticket = cuda.time(0, lambda: driver.cuStreamSynchronize(1))

    assert ticket.rough
    assert closed(driver) == before


@pytest.fixture
def theirs(driver):
    """A launch of another library's, and the driver's time of the host in it."""

    def launch(stream=1):
        driver.cuLaunchKernel("theirs", 1, 1, 1, 64, 1, 1, 0, stream, 0, 0)

    return launch


@pytest.mark.usefixtures("gated")
@pytest.mark.parametrize("stream", [0, 0x50])
def test_one_launch_of_others_waits_behind_a_gate(cuda, driver, theirs, stream):
    driver.call_ms, before = CALL_MS, closed(driver)

    ticket = cuda.time(stream, lambda: theirs(stream or 1), enqueues=True)

    assert not ticket.rough
    assert ticket.elapsed_ns() == OWN_NS
    assert closed(driver) == before + 1
    assert driver.gates == {}


def test_the_first_launch_of_others_is_rough_and_its_time_prepares_the_gate(cuda, theirs):
    first = cuda.time(0, theirs, enqueues=True)
    assert first.rough
    assert first.elapsed_ns() == OWN_NS

    assert not cuda.time(0, theirs, enqueues=True).rough


@pytest.mark.usefixtures("gated")
def test_what_was_said_to_enqueue_alone_and_waits_has_a_rough_time(cuda, driver, theirs):
    """However often: launches of our own keep their gate."""

    def waits():
        theirs(0x50)
        driver.cuStreamSynchronize(0x50)

    tickets = [cuda.time(0x50, waits, enqueues=True) for _ in range(2 * gate.MOST_IN_A_ROW)]

    assert all(one.rough for one in tickets)
    assert not cuda.time(0x50, lambda: theirs(0x50), enqueues=True).rough


@pytest.mark.usefixtures("gated")
def test_a_launch_of_others_that_raises_opens_its_gate(cuda, driver):
    many = len(slots(cuda))

    with pytest.raises(ZeroDivisionError):
        cuda.time(0x50, lambda: 1 / 0, enqueues=True)

    driver.cuStreamQuery(0x50)
    assert driver.gates == {}
    assert len(slots(cuda)) == many


@pytest.mark.usefixtures("gated")
@pytest.mark.parametrize("theirs_is_current", [False, True])
def test_an_interrupt_of_a_launch_of_others_leaves_nothing_closed_and_loses_nothing(
    cuda, driver, theirs, theirs_is_current
):
    """Also on the way out of the device's context, where another one is theirs."""
    many, events = len(slots(cuda)), cuda._events._free
    cuda.time(0x50, lambda: theirs(0x50), enqueues=True).elapsed_ns()
    pairs = len(events)
    for number in range(1, 100):
        driver.current = 0xAA if theirs_is_current else driver.current
        driver.interrupt_after = number
        try:
            ticket = cuda.time(0x50, lambda: theirs(0x50), enqueues=True)
        except KeyboardInterrupt:
            driver.interrupt_after = 0
            driver.cuStreamQuery(0x50)
            assert driver.gates == {}
            assert len(slots(cuda)) == many
            assert len(events) == pairs
        else:
            break
    driver.interrupt_after = 0

    assert number > 10  # it was interrupted within
    assert not ticket.rough
    assert driver.gates_given_up == 0


@pytest.mark.usefixtures("gated")
def test_what_is_asked_around_a_launch_of_others_leaves_captures_alone(cuda, driver, theirs):
    """Of other streams, on other threads: the launch itself is in its caller's own mode."""
    driver.capture_modes.clear()
    modes = []

    cuda.time(0x50, lambda: modes.append(driver.mode.name) or theirs(0x50), enqueues=True)
    cuda.time(0x50, lambda: theirs(0x50))

    assert set(driver.capture_modes) == {"CU_STREAM_CAPTURE_MODE_RELAXED"}
    assert modes == ["CU_STREAM_CAPTURE_MODE_GLOBAL"]
    assert driver.mode.name == "CU_STREAM_CAPTURE_MODE_GLOBAL"


@pytest.mark.usefixtures("gated")
def test_a_capture_that_a_launch_of_others_begins_has_no_time_and_no_gate_left(cuda, driver):
    assert cuda.time(0x50, lambda: driver.capturing.add(0x50), enqueues=True) is None

    driver.cuStreamQuery(0x50)
    assert driver.gates == {}


def test_the_kernel_takes_what_it_is_given():
    """Its three parameters lie as the fake reads them, and NVRTC gives it the name we ask for."""
    made = nvrtc.compile(gate.TEXT, nvrtc.options("sm_90"))

    assert not isinstance(made, Unbuilt)
    assert list(made.registers) == [gate.ENTRY]


@pytest.mark.parametrize("measured", [0.0, 100.0, 2_000.0, 3_000.0, 1e6])
def test_what_events_add_is_taken_off_and_a_quarter_is_always_left(measured):
    own = without_events(measured)

    assert measured / 4 <= own <= measured
    assert own == round(max(measured - FIXED_NS, measured / 4))


@pytest.mark.usefixtures("gated")
def test_words_of_two_gates_lie_apart(cuda):
    places = sorted(ctypes.addressof(slot._words) for slot in slots(cuda))

    assert all(after - before >= 64 for before, after in itertools.pairwise(places))


class TestBesideCalls:
    """Of a caller who launches in bursts, on a stream that is idle when each of them begins."""

    @pytest.fixture
    def live(self, cuda, monkeypatch):
        """Calls that learn on the fake, as quickly as it answers."""
        usual, no_wait = Pace.beside, {"advance_s": 1e9, "shortest_s": 0.0, "resting_s": 0.0}
        monkeypatch.setattr(
            Pace, "beside", lambda *given, **named: replace(usual(*given, **named), **no_wait)
        )
        store = MemoryStore()
        deciders = Deciders(Desk(Manners(look_s=0.0, rest_s=0.0, per_s=1e9)))
        recorder = Recorder(store, linger_s=0.01)
        helper = Helper(answers=False)
        monkeypatch.setattr(dispatch, "helper_of", lambda _: helper)
        monkeypatch.setattr(process, "deciders", lambda: deciders)
        monkeypatch.setattr(process, "recorder", lambda: recorder)
        return Live(Device("cuda:0", cuda), helper, store, deciders, recorder=recorder)

    @pytest.fixture
    def calm(self, cuda, monkeypatch):
        """Whether callers would not wait for a load: they would, until this is set."""
        answers, asked = threading.Event(), threading.Event()

        def is_calm():
            asked.set()
            return answers.is_set()

        answers.asked = asked
        monkeypatch.setattr(cuda._timing, "is_calm", is_calm)
        return answers

    @staticmethod
    def burst(live):
        """Ten calls, and what is due beside them."""
        x, out = live.arrays(1 << 14)
        for _ in range(10):
            live.kernel(x, out=out)
            assert live.deciders.desk.drained(60)

    def test_the_gate_is_loaded_in_a_pause_where_every_time_came_within_a_burst(
        self, live, cuda, calm
    ):
        for _ in range(5):
            calm.clear()
            self.burst(live)
            calm.set()
            calm.asked.clear()
            assert cuda._timing._gate.is_prepared or calm.asked.wait(10)
            assert live.deciders.desk.drained(60)

        standing = live.standing()
        assert cuda._timing._gate.is_prepared
        assert standing.timed
        assert not standing.is_over

    @pytest.mark.usefixtures("calm")
    def test_rough_times_end_nothing_while_the_gate_is_to_come(self, live, cuda):
        for _ in range(10 * Pace().rough):
            self.burst(live)
            if live.standing().rough > 2 * Pace().rough:
                break

        assert live.standing().rough > 2 * Pace().rough
        assert not cuda._timing._gate.is_prepared
        assert not live.standing().is_over

    @pytest.mark.usefixtures("calm")
    def test_a_gate_that_no_learner_waits_for_is_not_asked_for_again(self, live, calm):
        self.burst(live)
        live.learner().stop("it is to end")
        assert live.deciders.desk.drained(60)
        time.sleep(0.06)  # the longest between two looks
        assert live.deciders.desk.drained(60)

        calm.asked.clear()
        assert not calm.asked.wait(0.2)

    def test_the_first_call_waits_for_no_gate(self, live, cuda, driver, monkeypatch):
        compiled = []
        usual = cuda._builder.gate
        monkeypatch.setattr(
            cuda._timing._gate, "_build", lambda: compiled.append(len(driver.launches)) or usual()
        )
        x, out = live.arrays(1 << 14)

        live.kernel(x, out=out)
        assert live.deciders.desk.drained(60)
        assert compiled == []  # it also loads what it launches, so that nobody asked for its time
        self.burst(live)

        assert len(compiled) == 1
        assert compiled[0] > 1
