"""An exception in the middle of a call: the device is done with what was lent before it goes on."""

import gc
import importlib.util
import signal
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

import vyre
from vyre import In, Out, u32
from vyre.runtime.arrays.lending import Loans

SCRIPT = Path(__file__).parents[2] / "scripts" / "soak_interrupts.py"


class Waiting:
    """A backend whose work is over when it was waited for; a wait can raise when it returns."""

    def __init__(self, *raised):
        self.raised = list(raised)
        self.under_way = False
        self.waits = 0

    def finisher(self):
        return self.finish

    def finish(self):
        self.under_way = False
        self.waits += 1
        if self.raised:
            raise self.raised.pop(0)


def interrupted(loans, backend, array, error=KeyboardInterrupt):
    def work(loan):
        loan.lend(object(), array)
        backend.under_way = True
        raise error

    return lambda: loans.during(work)


@pytest.mark.parametrize(
    "more",
    [(), (KeyboardInterrupt,), (KeyboardInterrupt, ArithmeticError), (ArithmeticError,) * 5],
    ids=len,
)
def test_an_exception_goes_on_when_the_device_is_done_however_many_more_there_are(more):
    backend = Waiting(*more)

    with pytest.raises((KeyboardInterrupt, ArithmeticError)):
        interrupted(Loans(backend), backend, np.zeros(4))()

    assert not backend.under_way


class Held(np.ndarray):
    """An array whose end can be seen."""


def test_what_is_lent_outlives_its_call_until_the_device_was_waited_for():
    backend = Waiting(SystemExit, SystemExit)  # exceptions come even where Vyre waits
    loans = Loans(backend)
    array = np.zeros(4).view(Held)
    alive = weakref.ref(array)
    with pytest.raises(SystemExit):
        interrupted(loans, backend, array)()
    del array
    gc.collect()
    assert alive() is not None

    waited = backend.waits
    loans.during(lambda _: None)

    assert backend.waits == waited + 1
    gc.collect()
    assert alive() is None


def test_a_call_that_ends_well_waits_for_nothing_more_and_keeps_nothing():
    backend = Waiting()
    loans = Loans(backend)
    alive = []

    def work(loan):
        array = np.zeros(4).view(Held)
        alive.append(weakref.ref(array))
        return loan.lend("memory", array)

    assert loans.during(work) == "memory"
    assert alive[0]() is None
    assert backend.waits == 0


def test_what_another_call_has_lent_stays_lent():
    backend = Waiting()
    loans = Loans(backend)
    array = np.zeros(4).view(Held)
    alive = weakref.ref(array)
    seen = []

    def outer(loan):
        nonlocal array
        loan.lend("memory", array)
        del array
        loans.during(lambda _: None)
        seen.append(alive() is not None)

    loans.during(outer)

    assert seen == [True]
    assert backend.waits == 0


def test_an_error_before_anything_is_lent_waits_for_nobody():
    backend = Waiting()

    with pytest.raises(ValueError, match="early"):
        Loans(backend).during(lambda _: (_ for _ in ()).throw(ValueError("early")))

    assert backend.waits == 0


@vyre.kernel
def plus_one(x: In[u32], out: Out[u32]):
    i = vyre.gid()
    out[i] = x[i] + 1


@vyre.kernel
def is_set(x: In[u32], flag: Out[u32]):
    i = vyre.gid()
    flag[i] = x[i]


@vyre.kernel
def tripled(x: In[u32], out: Out[u32]):
    i = vyre.gid()
    if x[i] != 0:
        out[i] = 3 * x[i]


@pytest.mark.parametrize("launched", [0, 1], ids=["before any launch", "between its launches"])
def test_a_speculation_that_was_interrupted_loses_no_hit_afterwards(monkeypatch, launched):
    search = vyre.speculate(prefilter=is_set, confirm=tripled)
    device = vyre.open("reference")
    places = np.arange(64)
    early = device.array((places < 48).astype(np.uint32))
    late = device.array((places >= 16).astype(np.uint32))
    for _ in range(3):  # each of the two counters has been used
        search(early, way="serial")
    launch, made = device.backend.launch, []

    def stopping(*args, **more):
        if len(made) == launched:
            raise KeyboardInterrupt
        made.append(launch(*args, **more))
        return made[-1]

    with monkeypatch.context() as patch:
        patch.setattr(device.backend, "launch", stopping)
        with pytest.raises(KeyboardInterrupt):
            search(early, way="serial")

    for _ in range(2):
        assert np.array_equal(np.asarray(search(late, way="serial")), 3 * (places >= 16))


class ComingInto(list):
    """Arguments of a launch; after each of them something comes in between, as a handler does."""

    def __init__(self, given, between):
        super().__init__(given)
        self.between = between

    def __iter__(self):
        for argument in super().__iter__():
            yield argument
            self.between()


def test_a_launch_in_a_signal_handler_leaves_the_arguments_of_the_launch_it_comes_into_alone():
    device = vyre.open("opencl")
    mine, its = device.array(np.arange(64, dtype=np.uint32)), device.zeros(64, np.uint32)
    out, its_out = device.zeros(64, np.uint32), device.zeros(64, np.uint32)
    launcher = plus_one._dispatcher.launcher(device)
    numbers = launcher.numbers((64, 1, 1), {"x": (64,), "out": (64,)}, {})
    step = launcher.prepare(numbers, {"x": 64, "out": 64})

    given = [mine.argument, out.argument]
    step.start(ComingInto(given, lambda: step.start([its.argument, its_out.argument], 0)), 0)

    assert np.array_equal(np.asarray(out), np.arange(1, 65))
    assert np.array_equal(np.asarray(its_out), np.ones(64))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer's signals")
def test_interrupts_at_random_moments_corrupt_nothing():
    """A share of what scripts/soak_interrupts.py runs; it ends when so many have hit."""
    spec = importlib.util.spec_from_file_location("soak_interrupts", SCRIPT)
    module = sys.modules["soak_interrupts"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    tally = module.run(count=400, seed=7, processes=2)

    assert not tally.failed, str(tally)
    assert tally.interrupts >= 400
