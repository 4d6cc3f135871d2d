"""How fast a device runs: told by Linux, seldom asked, and never in anybody's way."""

import pytest

from vyre.backend import cpufreq
from vyre.backend.cpufreq import Cpufreq
from vyre.backend.sampled import LASTS_NS, Sampled
from vyre.errors import InvalidInput
from vyre.model import Clocks


class Watch:
    """A clock that stands still until it is set."""

    ns = 0

    def __call__(self):
        return self.ns

    def later(self, ns=LASTS_NS):
        self.ns += ns


def test_a_state_is_the_clock_in_coarse_steps_and_whether_it_is_held_back():
    assert Clocks(mhz=1980).state == Clocks(mhz=1965).state == "about 2048 MHz"
    assert Clocks(mhz=1980).state != Clocks(mhz=1755).state
    assert Clocks(mhz=1980, throttled=("power cap",)).state == "about 2048 MHz, throttled"
    assert Clocks(mhz=1).state == "about 1 MHz"
    few = {Clocks(mhz=mhz).state for mhz in range(1000, 2001)}
    assert len(few) == 9  # a doubling in eighths, and both its ends


@pytest.mark.parametrize("mhz", [0, -1, 1.5, True])
def test_a_clock_is_a_whole_number_of_megahertz(mhz):
    with pytest.raises(InvalidInput) as caught:
        Clocks(mhz=mhz)

    assert caught.value.fix == "give a whole number of at least 1"


def test_a_reading_serves_for_a_while():
    watch, readings = Watch(), iter(range(9))
    sampled = Sampled(lambda: next(readings), watch)

    assert [sampled(), sampled()] == [0, 0]
    watch.later(LASTS_NS - 1)
    assert sampled() == 0
    watch.later(1)
    assert [sampled(), sampled()] == [1, 1]


class Machine:
    """A folder like that of Linux."""

    def __init__(self, root, khz):
        self.root = root
        for number, clock in enumerate(khz):
            self.set(number, clock)
            self.count(number, core=0, package=0)

    def set(self, number, khz):
        self._write(number, "cpufreq/scaling_cur_freq", f"{khz}\n")

    def count(self, number, **counts):
        for what, count in counts.items():
            self._write(number, f"thermal_throttle/{what}_throttle_count", f"{count}\n")
            self._write(number, f"thermal_throttle/{what}_throttle_max_time_ms", "7\n")

    def _write(self, number, name, text):
        path = self.root / f"cpu{number}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_linux_tells_the_clock_of_the_cpu_that_runs_fastest(tmp_path):
    Machine(tmp_path, [1_200_000, 3_400_123, 800_000])

    assert Cpufreq(tmp_path, range(3), Watch()).clocks() == Clocks(mhz=3400)


def test_a_count_of_throttling_that_grows_says_so_and_why(tmp_path):
    machine, watch = Machine(tmp_path, [3_000_000] * 2), Watch()
    machine.count(0, core=41, package=7)
    cpus = Cpufreq(tmp_path, range(2), watch)
    assert cpus.clocks() == Clocks(mhz=3000)  # what was counted before is long ago

    machine.count(1, core=0, package=1)
    machine.count(0, core=42, package=8)
    watch.later()
    assert cpus.clocks() == Clocks(mhz=3000, throttled=("core throttle", "package throttle"))

    watch.later()
    assert cpus.clocks() == Clocks(mhz=3000)


def test_a_machine_that_does_not_tell_has_no_clock(tmp_path):
    assert Cpufreq(tmp_path, range(2), Watch()).clocks() is None
    assert Cpufreq(tmp_path / "no such folder", range(2), Watch()).clocks() is None
    assert Cpufreq(tmp_path, [], Watch()).clocks() is None


@pytest.mark.parametrize("text", ["", "<unknown>", "-5", "3 GHz", "9" * 40, "٣", "0"])
def test_what_is_no_clock_is_left_out(tmp_path, text):
    Machine(tmp_path, [text, 2_000_000, text])

    assert Cpufreq(tmp_path, [0, 2], Watch()).clocks() is None
    assert Cpufreq(tmp_path, range(3), Watch()).clocks() == Clocks(mhz=2000)


def test_bytes_that_are_no_text_are_left_out(tmp_path):
    Machine(tmp_path, [1_000_000])
    (tmp_path / "cpu0/cpufreq/scaling_cur_freq").write_bytes(b"\xff\xfe")

    assert Cpufreq(tmp_path, [0], Watch()).clocks() is None


def test_what_may_not_be_read_is_left_out(tmp_path, monkeypatch):
    machine, watch = Machine(tmp_path, [1_000_000]), Watch()
    machine.count(0, core=41, package=7)
    cpus = Cpufreq(tmp_path, [0], watch)
    assert cpus.clocks() == Clocks(mhz=1000)

    def denied(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_text", denied)
    watch.later()
    assert cpus.clocks() is None
    monkeypatch.undo()
    machine.set(0, 1_500_000)
    watch.later()
    assert cpus.clocks() == Clocks(mhz=1500)  # and no count has grown


def test_a_count_that_could_not_be_read_has_not_grown(tmp_path):
    machine, watch = Machine(tmp_path, [1_000_000]), Watch()
    cpus = Cpufreq(tmp_path, [0], watch)
    machine.count(0, core="?", package=7)
    assert cpus.clocks() == Clocks(mhz=1000)

    machine.count(0, core=41, package=7)
    watch.later()

    assert cpus.clocks() == Clocks(mhz=1000)


def test_of_many_cpus_a_few_are_asked(tmp_path):
    machine = Machine(tmp_path, [1_000_000] * 64)
    machine.set(63, 9_000_000)
    machine.set(48, 2_000_000)

    assert Cpufreq(tmp_path, range(64), Watch()).clocks() == Clocks(mhz=2000)


def test_this_machine_is_asked_without_harm():
    told = cpufreq.clocks()

    assert told is None or told.mhz > 0
