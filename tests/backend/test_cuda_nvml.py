"""The clocks of a GPU: told by NVML where it is there, and never in anybody's way."""

from types import SimpleNamespace

import pytest

pytest.importorskip("cuda.bindings.driver")

from vyre.backend.cuda.nvml import Nvml
from vyre.backend.sampled import LASTS_NS
from vyre.model import Clocks

BUS = "0000:5D:00.0"


class Watch:
    """A clock that stands still until it is set."""

    ns = 0

    def __call__(self):
        return self.ns

    def later(self):
        self.ns += LASTS_NS


class Library:
    """The functions of NVML that are asked, for one device."""

    def __init__(self, mhz=1980, bits=0, **answers):
        self.mhz, self.bits, self.answers = mhz, bits, answers
        self.calls = []

    def _answer(self, name):
        self.calls.append(name)
        return self.answers.get(name, 0)

    def nvmlInit_v2(self):
        return self._answer("init")

    def nvmlDeviceGetHandleByPciBusId_v2(self, bus_id, handle):
        handle._obj.value = 0xD0
        return self._answer("handle") or (0 if bus_id == BUS.encode() else 6)

    def nvmlDeviceGetClockInfo(self, handle, kind, mhz):
        assert (handle.value, kind) == (0xD0, 1)
        mhz._obj.value = self.mhz
        return self._answer("clock")

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle, bits):
        assert handle.value == 0xD0
        bits._obj.value = self.bits
        return self._answer("reasons")


def nvml(library, watch=None, bus_id=BUS):
    return Nvml(bus_id, lambda: library, watch or Watch())


def test_nvml_tells_the_clock_and_why_it_is_low():
    library, watch = Library(), Watch()
    device = nvml(library, watch)

    assert device.clocks() == Clocks(mhz=1980)

    library.mhz, library.bits = 1200, 0x04 | 0x20
    assert device.clocks() == Clocks(mhz=1980)  # it was asked a moment ago
    watch.later()
    low = Clocks(mhz=1200, throttled=("power cap", "software thermal slowdown"))
    assert device.clocks() == low
    assert library.calls.count("init") == 1


@pytest.mark.parametrize("bit", [0x01, 0x02, 0x10, 0x100])
def test_an_idle_device_and_chosen_clocks_are_not_held_back(bit):
    assert nvml(Library(bits=bit)).clocks() == Clocks(mhz=1980)


def test_no_nvml_is_no_clock_and_looked_for_once():
    tries, watch = [], Watch()

    def load():
        tries.append(1)
        raise OSError("libnvidia-ml.so.1: cannot open shared object file")

    device = Nvml(BUS, load, watch)
    for _ in range(3):
        assert device.clocks() is None
        watch.later()

    assert len(tries) == 1


@pytest.mark.parametrize(
    "library",
    [
        Library(init=9),  # the driver is not loaded
        Library(handle=4),  # no permission
        Library(clock=3),  # not supported
        Library(clock=15),  # the device is lost
        Library(mhz=0),
        SimpleNamespace(),  # not NVML at all
    ],
)
def test_what_nvml_refuses_is_not_known(library):
    assert nvml(library).clocks() is None


def test_a_device_that_nvml_does_not_know_has_no_clock():
    assert nvml(Library(), bus_id="0000:00:00.0").clocks() is None


def test_a_clock_is_told_where_its_reasons_are_not():
    assert nvml(Library(bits=0x04, reasons=4)).clocks() == Clocks(mhz=1980)


def test_an_older_driver_calls_the_reasons_by_another_name():
    new = Library(bits=0x40)
    old = SimpleNamespace(
        nvmlInit_v2=new.nvmlInit_v2,
        nvmlDeviceGetHandleByPciBusId_v2=new.nvmlDeviceGetHandleByPciBusId_v2,
        nvmlDeviceGetClockInfo=new.nvmlDeviceGetClockInfo,
        nvmlDeviceGetCurrentClocksThrottleReasons=new.nvmlDeviceGetCurrentClocksEventReasons,
    )

    assert nvml(old).clocks() == Clocks(mhz=1980, throttled=("hardware thermal slowdown",))


def test_the_library_here_is_asked_without_harm():
    told = Nvml(BUS).clocks()

    assert told is None or isinstance(told, Clocks)
