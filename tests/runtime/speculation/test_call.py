"""A prefilter and a confirm, called as one on the devices that are here."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vyre
from vyre import In, InvalidInput, Out, UnsupportedFeature, Way, f32, i32, u8, u32
from vyre.errors import DeviceFailed
from vyre.learn import process, rules
from vyre.learn.deciders import Deciders
from vyre.learn.desk import Desk
from vyre.learn.gaps import Manners
from vyre.learn.recorder import Recorder
from vyre.model import DeviceKind
from vyre.plan.fusion import fuse
from vyre.runtime.speculation.programs import Programs
from vyre.store.memory import MemoryStore

DEVICES = ["reference", "cpu", "opencl"]


@vyre.kernel
def may_be_low(x: In[i32], maybe: Out[u8], limit: i32):
    i = vyre.gid()
    if x[i] > limit + 3:
        return
    maybe[i] = 1


@vyre.kernel
def rounds(x: In[i32], weight: In[i32], count: Out[u32], total: Out[i32], limit: i32):
    """How many rounds until it is 0, for what is low; some return from inside two loops."""
    i = vyre.gid()
    v = x[i]
    if v > limit:
        return
    n = u32(0)
    s = i32(0)
    while v > 0:
        for k in range(3):
            if v == 13:
                return
            s += weight[k] * v
        v //= 2
        n += 1
    count[i] = n + 1
    total[i] = s


def expected(x, weight, limit):
    count, total = np.zeros(x.size, np.uint32), np.zeros(x.size, np.int32)
    for i, v in enumerate(x.tolist()):
        n = s = 0
        if v > limit:
            continue
        while v > 0 and v != 13:
            s, v, n = s + int(weight.sum()) * v, v // 2, n + 1
        if v != 13:
            count[i], total[i] = n + 1, s
    return count, total


def made(**options):
    return vyre.speculate(prefilter=may_be_low, confirm=rounds, **options)


@pytest.fixture(autouse=True)
def every_call_is_learned_from(monkeypatch):
    """However short it is, and by nobody else: what is learned must not depend on the clock."""
    monkeypatch.setattr("vyre.runtime.speculation.size.READING_SHARE", float("inf"))
    monkeypatch.setattr("vyre.runtime.speculation.size.LONGEST_PAUSE_NS", 0)
    at_once = dict.fromkeys(DeviceKind, 1e9)
    monkeypatch.setattr("vyre.runtime.speculation.size.ADVANCE_S", at_once)
    monkeypatch.setattr("vyre.runtime.speculation.size.REST_S", 0.0)
    monkeypatch.setattr("vyre.runtime.speculation.size.BEGINS_NS", dict.fromkeys(DeviceKind, 0))
    deciders, recorder = (
        Deciders(Desk(Manners(look_s=0.0, rest_s=0.0, per_s=1e9))),
        Recorder(MemoryStore(), linger_s=0.01),
    )
    monkeypatch.setattr(process, "deciders", lambda: deciders)
    monkeypatch.setattr(process, "recorder", lambda: recorder)
    yield
    recorder.close()


def heard(device=None):
    """Wait until everything that was launched is learned from."""
    if device is not None:
        device.synchronize()
    desk = process.deciders().desk
    for _ in range(10_000):
        assert desk.drained(20)
        if not desk._under_way:
            break
        time.sleep(1e-3)
    assert desk.drained(20)


SHARED = made()
WEIGHT = np.array([1, 2, 3], np.int32)


def device_of(name):
    try:
        return vyre.open(name)
    except UnsupportedFeature:
        pytest.skip(f"{name} is not here")


@pytest.fixture(params=DEVICES)
def device(request):
    return device_of(request.param)


def on(device, *arrays):
    return [device.array(array) for array in arrays]


@given(
    st.lists(st.integers(-50, 200), max_size=300),
    st.integers(-60, 210),
    st.sampled_from(DEVICES),
)
@settings(max_examples=60)
def test_every_way_gives_the_bits_that_python_gives(values, limit, name):
    device = device_of(name)
    x = np.array(values, np.int32)
    wanted = expected(x, WEIGHT, limit)

    for way in (*Way, None):
        found = SHARED(*on(device, x, WEIGHT), limit=limit, way=way)

        for got, want in zip(found, wanted, strict=True):
            assert np.array_equal(np.asarray(got), want), way


@pytest.mark.parametrize("n", [1, 31, 32, 33, 64 * 32, 64 * 32 + 1, 200_000])
def test_every_way_covers_the_last_item(device, n):
    if device.info.backend == "reference" and n > 10_000:
        n = 10_000
    x = (np.arange(n) % 100).astype(np.int32)
    wanted = expected(x, WEIGHT, 40)

    for way in (*Way, None, None, None):
        found = SHARED(*on(device, x, WEIGHT), limit=40, way=way)
        for got, want in zip(found, wanted, strict=True):
            assert np.array_equal(np.asarray(got), want), way


def test_slices_of_a_call_run_different_ways_and_give_the_same_bits(device, monkeypatch):
    monkeypatch.setattr(
        "vyre.runtime.speculation.ways.SLICES", dict.fromkeys(DeviceKind, (256, 64))
    )
    speculation = made()
    random = np.random.default_rng(0)
    pieces, run = [], Programs.run

    def seen(self, piece, *arguments, **more):
        pieces.append(piece)
        return run(self, piece, *arguments, **more)

    monkeypatch.setattr(Programs, "run", seen)
    for _ in range(60):
        x = random.integers(-50, 200, 3001).astype(np.int32)
        found = speculation(*on(device, x, WEIGHT), limit=70)
        for got, want in zip(found, expected(x, WEIGHT, 70), strict=True):
            assert np.array_equal(np.asarray(got), want)
        heard(device)

    assert {piece.stripes for piece in pieces} == {1, 2}


@pytest.mark.parametrize("n", [1, 7, 8, 9, 2047, 2049, 5000])
def test_the_order_of_items_on_gpus_gives_the_same_bits(device, monkeypatch, n):
    """Here on other devices, which take items in a row."""
    monkeypatch.setattr(
        "vyre.runtime.speculation.ways.SLICES", dict.fromkeys(DeviceKind, (256, 64))
    )
    speculation = made()
    fused = fuse(may_be_low._translation, rounds._translation, DeviceKind.GPU)
    monkeypatch.setattr(speculation, "_fuse", lambda _kind, **_: fused)
    x = np.random.default_rng(n).integers(-50, 200, n).astype(np.int32)
    wanted = expected(x, WEIGHT, 70)

    for way in (*Way, *[None] * 7):
        found = speculation(*on(device, x, WEIGHT), limit=70, way=way)
        for got, want in zip(found, wanted, strict=True):
            assert np.array_equal(np.asarray(got), want), way


def test_host_arrays_give_host_arrays():
    x = np.arange(1000, dtype=np.int32)

    count, total = SHARED(x, WEIGHT, limit=100)

    assert isinstance(count, np.ndarray)
    assert np.array_equal(count, expected(x, WEIGHT, 100)[0])
    assert np.array_equal(total, expected(x, WEIGHT, 100)[1])


def test_no_items_give_empty_results_and_launch_nothing(device):
    speculation = made()

    count, total = speculation(*on(device, np.zeros(0, np.int32), WEIGHT), limit=1)

    assert (count.shape, total.shape) == ((0,), (0,))
    assert speculation.explain() == "may_be_low_rounds has not run yet"


@pytest.mark.parametrize("way", [*Way, None])
def test_items_with_a_no_are_left_as_they_are(way):
    x = np.array([1, 100, 2], np.int32)
    count, total = np.full(3, 7, np.uint32), np.full(3, 7, np.int32)

    SHARED(x, WEIGHT, limit=10, out=(count, total), way=way)

    assert count.tolist() == [2, 7, 3]
    assert total.tolist() == [6, 7, 18]


@pytest.mark.parametrize("way", Way)
def test_shape_limits_the_items(way):
    x = np.full(100, 3, np.int32)
    out = np.zeros(100, np.uint32), np.zeros(100, np.int32)

    SHARED(x, WEIGHT, limit=10, out=out, shape=37, way=way)

    assert np.count_nonzero(out[0]) == 37


def only(speculation, way, monkeypatch):
    """Let a speculation run one way alone, as on a device that can run no other."""
    monkeypatch.setattr(speculation, "_able", lambda _programs: (way,))
    return speculation


@pytest.mark.parametrize("way", Way)
def test_every_way_counts_what_it_committed(device, way, monkeypatch):
    speculation = only(made(), way, monkeypatch)
    x = np.arange(1000, dtype=np.int32)

    speculation(*on(device, x, WEIGHT), limit=96)
    heard(device)

    assert speculation.speculator.samples == 1, "the serial way tells, too"
    assert speculation.speculator.commit_rate_ppm == 150_000 + ((100_000 - 150_000) >> 2)


def rates(speculation):
    """The hit rate that was last seen of each size."""
    return [size.rate for size in speculation._sizes.values()]


@pytest.mark.parametrize("way", Way)
def test_from_a_pinned_way_nothing_is_learned(device, way):
    speculation = made()
    x = np.arange(1000, dtype=np.int32)

    for _ in range(5):
        speculation(*on(device, x, WEIGHT), limit=96, way=way)
    heard(device)

    assert "a guess, nothing has been measured yet" in speculation.explain()
    assert speculation.speculator.samples == 0
    assert rates(speculation) == [None]


@pytest.mark.parametrize("way", Way)
def test_a_pinned_way_does_not_change_what_is_learned_from_others(device, way, monkeypatch):
    """Half of the calls are pinned, on items of which all hit; of the others one in ten does."""
    speculation = only(made(), Way.GATED, monkeypatch)
    few, all_of_them = np.arange(1000, dtype=np.int32), np.zeros(1000, np.int32)

    for _ in range(6):
        speculation(*on(device, few, WEIGHT), limit=96)
        speculation(*on(device, all_of_them, WEIGHT), limit=96, way=way)
    heard(device)

    assert rates(speculation) == [0.1]


def test_calls_that_wait_are_told_by_their_own_hit_rates(device, monkeypatch):
    """Read together, and not as if they had been one call."""
    speculation = only(made(), Way.GATED, monkeypatch)
    desk = process.deciders().desk
    go_on = threading.Event()
    desk.post(go_on.wait)
    limits = [96, 496, 896]
    for limit, size in zip(limits, (1000, 2000, 4000), strict=True):
        speculation(*on(device, np.arange(size, dtype=np.int32), WEIGHT), limit=limit)
    go_on.set()
    heard(device)

    assert rates(speculation) == [100 / 1000, 500 / 2000, 900 / 4000]
    assert speculation.speculator.samples == 3


@pytest.mark.slow
def test_many_calls_that_wait_are_not_counted_by_anothers_hits(device, monkeypatch):
    speculation = only(made(), Way.GATED, monkeypatch)
    go_on = threading.Event()
    process.deciders().desk.post(go_on.wait)
    for number in range(200):
        x = np.arange(1000 if number % 2 else 9000, dtype=np.int32)
        speculation(*on(device, x, WEIGHT), limit=96)
    go_on.set()
    heard(device)

    assert set(rates(speculation)) == {100 / 1000, 100 / 9000}


class Timing:
    """Counts how many launches of a backend were timed."""

    def __init__(self, monkeypatch, device):
        self.launches = []
        launch = device.backend.launch

        def counted(*arguments, timed=False, **more):
            self.launches.append(timed)
            return launch(*arguments, timed=timed, **more)

        monkeypatch.setattr(device.backend, "launch", counted)


@pytest.mark.parametrize("learns", [False, True])
@pytest.mark.parametrize("way", [None, "gated"])
def test_only_what_is_learned_from_is_timed(device, monkeypatch, learns, way):
    timing = Timing(monkeypatch, device)
    speculation = made()
    x = np.arange(3000, dtype=np.int32)
    with rules.mode("natural" if learns else "off"):
        for _ in range(3):
            speculation(*on(device, x, WEIGHT), limit=96, way=way)

    assert any(timing.launches) == (learns and way is None)


@pytest.mark.parametrize("elapsed", [-1, 2**64, float("nan"), float("inf")])
def test_a_clock_that_goes_wrong_teaches_nothing(device, monkeypatch, elapsed):
    speculation = made()
    monkeypatch.setattr(Programs, "run", _with_times(Programs.run, elapsed))
    x = np.arange(1000, dtype=np.int32)

    for _ in range(20):
        count, _ = speculation(*on(device, x, WEIGHT), limit=96)
        heard(device)

    assert np.array_equal(np.asarray(count), expected(x, WEIGHT, 96)[0])
    assert [decider.standing.ledger.timings for decider in process.deciders().all()] == [0]


def _with_times(run, elapsed):
    class Strange:
        """A launch whose clock is wrong."""

        def __init__(self, ticket):
            self.wait = ticket.wait

        def elapsed_ns(self):
            return elapsed

    return lambda *arguments, **more: [Strange(one) for one in run(*arguments, **more)]


def test_it_says_which_way_runs_and_why():
    speculation = made()
    assert speculation.explain() == "may_be_low_rounds has not run yet"
    x = np.arange(1000, dtype=np.int32)
    for _ in range(40):
        speculation(x, WEIGHT, limit=96)
        heard()

    first = speculation.explain().splitlines()[0]
    assert first.startswith("may_be_low_rounds over about 1,000 items on ")
    assert "at 10.00% hits" in first


@pytest.mark.parametrize(
    ("mode", "words"),
    [("disable", "no other way can run here"), ("force", "eager")],
)
def test_a_mode_leaves_only_its_ways(mode, words):
    speculation = made(mode=mode)
    x = np.arange(500, dtype=np.int32)
    for _ in range(10):
        speculation(x, WEIGHT, limit=96)
        heard()

    shown = speculation.explain()
    assert words in shown
    assert shown.endswith(f"; mode {mode}")
    assert ("serial" in shown) == (mode == "disable")


class Refuses:
    """A device that cannot build some programs."""

    def __init__(self, device, *names):
        self._device, self._names = device, names

    def __getattr__(self, name):
        return getattr(self._device, name)

    def binary(self, program, code):
        written = {decl.name for decl in program.buffers}
        if any(name in written for name in self._names):
            raise DeviceFailed("no atomics here", "use another device")
        return self._device.binary(program, code)


def refusing(monkeypatch, *names):
    device = Refuses(vyre.open("reference"), *names)
    monkeypatch.setattr("vyre.runtime.speculation.call._device_of", lambda _call: device)


def test_a_way_that_the_device_cannot_build_is_left_out_and_named(monkeypatch):
    refusing(monkeypatch, "vyre_hits")
    speculation = made()
    x = np.arange(200, dtype=np.int32)

    for _ in range(5):
        count, _ = speculation(x, WEIGHT, limit=96)
        assert np.array_equal(count, expected(x, WEIGHT, 96)[0])

    assert "serial cannot run on reference:0: no atomics here" in speculation.explain()
    with pytest.raises(UnsupportedFeature) as error:
        speculation(x, WEIGHT, limit=96, way="serial")
    assert str(error.value) == (
        "serial cannot run on reference:0: no atomics here\nFix: use way='gated', or leave way= out"
    )


def test_a_forced_mode_that_the_device_cannot_run_is_an_error(monkeypatch):
    refusing(monkeypatch, "vyre_tail")

    with pytest.raises(UnsupportedFeature) as error:
        made(mode="force")(np.arange(200, dtype=np.int32), WEIGHT, limit=96)

    assert str(error.value) == (
        "mode force of may_be_low_rounds cannot run on reference:0: "
        "gated: no atomics here; eager: no atomics here\n"
        "Fix: use mode='auto', or another device"
    )


@vyre.kernel
def wrongly_no(x: In[i32], maybe: Out[u8], limit: i32):
    i = vyre.gid()
    if x[i] <= limit and x[i] != 5:
        maybe[i] = 1


def test_a_check_reports_an_item_that_the_prefilter_wrongly_says_no_to():
    wrong = vyre.speculate(prefilter=wrongly_no, confirm=rounds)
    x = np.array([1, 2, 5, 90, 5], np.int32)
    name = vyre.open().name

    with pytest.raises(InvalidInput) as error:
        wrong(x, WEIGHT, limit=20, check=True)

    assert str(error.value) == (
        f"prefilter wrongly_no says no to 2 of 5 items on {name} that rounds confirms, such as "
        "item 2, where count is 4\n"
        "Fix: let wrongly_no say yes to every item that may be confirmed"
    )


def test_a_check_passes_a_prefilter_that_says_yes_wrongly(device):
    x = np.arange(100, dtype=np.int32)

    count, _ = SHARED(*on(device, x, WEIGHT), limit=50, check=True)

    assert np.array_equal(np.asarray(count), expected(x, WEIGHT, 50)[0])


def test_an_output_that_shares_memory_with_an_input_is_written_as_if_it_did_not():
    @vyre.kernel
    def any_(x: In[f32], maybe: Out[u8]):
        maybe[vyre.gid()] = u8(x[vyre.gid()] >= 0)

    @vyre.kernel
    def next_one(x: In[f32], out: Out[f32]):
        out[vyre.gid()] = x[vyre.gid() + 1]

    @vyre.kernel
    def after_no_minus(x: In[f32], maybe: Out[u8]):
        maybe[vyre.gid()] = u8(x[vyre.gid() - 1] >= 0)

    @vyre.kernel
    def minus_one(out: Out[f32]):
        out[vyre.gid()] = -1.0

    shift = vyre.speculate(prefilter=any_, confirm=next_one)
    mark = vyre.speculate(prefilter=after_no_minus, confirm=minus_one)
    for way in Way:
        x, y = (np.arange(5000, dtype=np.float32) for _ in range(2))
        shift(x, out=x, way=way)
        mark(y, out=y, way=way)

        assert np.array_equal(x, [*range(1, 5000), 0]), way
        assert np.array_equal(y, np.full(5000, -1)), way


def test_threads_may_call_one_speculation_together():
    x = np.arange(3000, dtype=np.int32)
    wanted, wrong = expected(x, WEIGHT, 200)[0], []

    def work(way):
        found = [SHARED(x, WEIGHT, limit=200, way=way)[0] for _ in range(20)]
        wrong.extend(way for count in found if not np.array_equal(count, wanted))

    threads = [threading.Thread(target=work, args=(way,)) for way in (*Way, None)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


def test_mode_off_learns_nothing_and_tries_nothing():
    speculation = made()
    x = np.arange(3001, dtype=np.int32)
    with rules.mode("off"):
        for _ in range(10):
            count, _ = speculation(x, WEIGHT, limit=100)

    assert np.array_equal(count, expected(x, WEIGHT, 100)[0])
    assert speculation.speculator.samples == 0
    assert speculation.explain().endswith("gated: a guess, nothing has been measured yet")


def test_a_way_that_does_not_exist_is_refused():
    with pytest.raises(InvalidInput) as error:
        SHARED(np.zeros(3, np.int32), WEIGHT, limit=1, way="fast")

    assert str(error.value) == (
        "no way 'fast'; known: serial, gated, eager\nFix: use one of them, or leave way= out"
    )


def test_a_mode_that_does_not_exist_is_refused():
    with pytest.raises(InvalidInput) as error:
        made(mode="maybe")

    assert str(error.value) == (
        "no mode 'maybe'; known: auto, force, disable\nFix: use mode='auto'"
    )


def test_a_function_is_not_a_kernel():
    with pytest.raises(InvalidInput) as error:
        vyre.speculate(prefilter=max, confirm=rounds)

    assert str(error.value) == (
        "prefilter= is <built-in function max>, not a kernel\n"
        "Fix: put @vyre.kernel above its function"
    )


def test_a_missing_scalar_is_named():
    with pytest.raises(InvalidInput) as error:
        SHARED(np.zeros(3, np.int32), WEIGHT)

    assert str(error.value) == "may_be_low_rounds is missing limit\nFix: pass limit="


def test_a_program_that_writes_no_counters_is_refused_before_anything_is_learned(monkeypatch):
    speculation = made()
    x = np.arange(100, dtype=np.int32)
    monkeypatch.setattr("vyre.runtime.speculation.programs.parse_counter_tail", lambda _data: None)

    speculation(x, WEIGHT, limit=50)
    heard()
    with pytest.raises(DeviceFailed) as error:
        speculation(x, WEIGHT, limit=50)

    assert "may_be_low_rounds left no counter tail on " in error.value.problem
    assert error.value.fix == "look for a kernel that writes outside its arrays"
    assert speculation.speculator.samples == 0


def test_a_parameter_cannot_take_a_name_that_calls_of_a_speculation_use():
    @vyre.kernel
    def gone(x: In[u32], out: Out[u32], way: u32):
        i = vyre.gid()
        out[i] = x[i] + way

    @vyre.kernel
    def any_of(x: In[u32], maybe: Out[u32]):
        i = vyre.gid()
        maybe[i] = x[i]

    with pytest.raises(InvalidInput) as caught:
        vyre.speculate(prefilter=any_of, confirm=gone)

    assert str(caught.value) == (
        "parameter 'way' of gone has a name that every call of a speculation uses itself: "
        "check, way\n"
        "Fix: rename the parameter"
    )


def test_the_choice_of_one_process_is_where_the_next_begins(device, monkeypatch):
    """A fresh speculation over the same store begins with it, as in another process."""
    monkeypatch.setattr("vyre.runtime.speculation.size.Size._guess", lambda *_: Way.GATED)
    slow = {Way.SERIAL: 1, Way.GATED: 3, Way.EAGER: 9}
    monkeypatch.setattr(
        "vyre.runtime.speculation.ways.Taken.elapsed_ns", lambda taken: 10**6 * slow[taken.way]
    )
    x = np.arange(1000, dtype=np.int32)
    first = made()
    for _ in range(80):
        first(*on(device, x, WEIGHT), limit=96)
        heard(device)
    assert ": serial at 10.00% hits: adopted" in first.explain()

    second, ways, run = made(), [], Programs.run

    def seen(self, piece, *arguments, **more):
        ways.append(piece.way)
        return run(self, piece, *arguments, **more)

    monkeypatch.setattr(Programs, "run", seen)
    second(*on(device, x, WEIGHT), limit=96)

    assert ways == [Way.SERIAL]
    assert ": serial" in second.explain()
