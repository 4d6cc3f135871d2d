"""Calls at sight: what one function finds and launches is what Triton would launch."""

# Kernels have the arguments that Triton gives them.
# ruff: noqa: ARG001, N803

import gc
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vyre

torch, triton = pytest.importorskip("torch"), pytest.importorskip("triton")
import triton.language as tl  # noqa: E402  # it needs triton

from vyre.adapter.triton import sight as adapter  # noqa: E402
from vyre.adapter.triton import tuner  # noqa: E402
from vyre.adapter.triton.binding import Form  # noqa: E402
from vyre.adapter.triton.place import Gpu  # noqa: E402
from vyre.testing.foreign import Bench, TablePlace, learning  # noqa: E402
from vyre.testing.triton_driver import FakeDriver, QuickCompiler, fresh, triton_on  # noqa: E402
from vyre.triton import Config, autotune  # noqa: E402

FACTOR = tl.constexpr(3)


@triton.jit
def scaled(x, y, n, m, scale, NAME: tl.constexpr = "x", BLOCK: tl.constexpr = 1):
    """Tensors, numbers, and a text that is compiled for."""
    tl.store(y, tl.load(x) * scale + n + m + BLOCK * FACTOR)


CONFIGS = [Config({"BLOCK": n}, num_warps=2) for n in (64, 128)]
MEMORY = {one: torch.zeros(64, dtype=one) for one in (torch.float32, torch.float16)}


class OnGpu:
    """A tensor as those of a GPU are, until it is moved."""

    def __init__(self, tensor, is_cuda=True):
        self.tensor, self.dtype, self.is_cuda = tensor, tensor.dtype, is_cuda

    def data_ptr(self):
        return self.tensor.data_ptr()

    def numel(self):
        return self.tensor.numel()


@pytest.fixture
def driver(tmp_path):
    with triton_on(FakeDriver(), tmp_path, QuickCompiler(tmp_path)) as made:
        yield made


@pytest.fixture(autouse=True)
def place(monkeypatch):
    made = TablePlace(lambda: 1000)
    monkeypatch.setattr(tuner, "place_on", lambda _: Gpu(made))
    return made


@pytest.fixture(autouse=True)
def off():
    with learning(Bench()), vyre.mode("off"):
        yield


class Both:
    """A kernel as Vyre launches it, and as Triton does under its first config."""

    def __init__(self, driver, configs=CONFIGS[:1]):
        self.driver, self.config = driver, configs[0]
        self.own, self.theirs = autotune(list(configs), key=[])(fresh(scaled)), fresh(scaled)
        self.slow, self.launch = 0, self.own._launch
        self.own._launch = self.slowly  # what is not made at sight
        self.own.configs = self.own.configs

    def slowly(self, *args, **kwargs):
        self.slow += 1
        return self.launch(*args, **kwargs)

    def call(self, grid, *args, **kwargs):
        """Whether a call was made at sight; it launches, or raises, what Triton does."""
        before, was, said = self.slow, len(self.driver.launches), []
        for call in (
            lambda: self.own[grid](*args, **kwargs),
            lambda: self.theirs[grid](*args, **{**self.config.all_kwargs(), **kwargs}),
        ):
            self.theirs.device_caches[self.driver.device][1].clear()  # a memo in which 1 is True
            try:
                said.append(call().hash)
            except Exception as error:  # noqa: BLE001  # of whatever kind
                said.append((type(error), str(error)))
        assert said[0] == said[1]
        launched = self.driver.launches[was:]
        assert len(launched) in (0, 2)
        assert launched[:1] == launched[1:]
        return self.slow == before


def tensor(at=0, kind=torch.float32, *, is_cuda=True):
    return OnGpu(MEMORY[kind][at : at + 16], is_cuda)


def usual(**others):
    return {"x": tensor(), "y": tensor(), "n": 4096, "m": 5, "scale": 2.0} | others


def placed(call):
    return (*call.values(),)


BLOCKS = lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)  # noqa: E731


def test_the_third_call_of_a_form_is_made_at_sight(driver):
    both = Both(driver)

    assert [both.call(BLOCKS, *placed(usual())) for _ in range(4)] == [False, False, True, True]
    assert [both.call(BLOCKS, **usual()) for _ in range(4)] == [False, False, True, True]
    assert both.call(BLOCKS, *placed(usual())) is False  # the latest form alone
    assert both.call(BLOCKS, *placed(usual()))


def test_numbers_that_are_new_and_compiled_for_alike_are_at_sight(driver):
    both = Both(driver)
    for _ in range(3):
        both.call(BLOCKS, *placed(usual()))

    assert all(both.call(BLOCKS, *placed(usual(n=16 * n))) for n in range(2, 100))
    assert not both.call(BLOCKS, *placed(usual(n=17)))


def test_kinds_of_calls_that_alternate_are_at_sight(driver):
    both = Both(driver)
    kinds = [
        usual(),
        usual(n=17),
        usual(x=tensor(1)),
        usual(m=1),
        usual(x=tensor(0, torch.float16)),
    ]
    for _ in range(3):
        for one in kinds:
            both.call(BLOCKS, *placed(one))

    assert all(both.call(BLOCKS, *placed(one)) for one in kinds * 3)


def test_names_in_another_order_are_the_same_call(driver):
    both = Both(driver)
    x, y, *_ = placed(usual())
    for _ in range(3):
        both.call((3,), x, y, n=16, m=5, scale=2.0, NAME="y")

    assert both.call((3,), x, y, NAME="y", scale=2.0, m=5, n=16)


CHANGES = {
    "a pointer that is no more aligned": {"x": tensor(1)},
    "another type": {"y": tensor(0, torch.float16)},
    "a tensor that is on no GPU": {"x": tensor(is_cuda=False)},
    "a tensor of another class": {"x": MEMORY[torch.float32]},
    "a number that is 1": {"n": 1},
    "a number that 16 does not divide": {"n": 4097},
    "a number of 64 bits": {"n": 2**40},
    "a truth": {"n": True},
    "a number that no type holds": {"n": 2**64},
    "a whole number for another": {"scale": 2},
    "another text": {"NAME": "y"},
    "no text": {"NAME": None},
    "an option": {"num_stages": 4},
    "a name that there is not": {"other": 4},
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("by_name", [False, True])
def test_a_call_that_differs_is_launched_as_it_is(driver, change, by_name):
    both, others = Both(driver), CHANGES[change]
    common = {**usual(), "NAME": "x"}
    if by_name or not others.keys() <= common.keys():

        def call(one):
            return both.call(BLOCKS, **one)
    else:

        def call(one):
            return both.call(BLOCKS, *placed(one))

    for _ in range(3):
        call(common)
    for one in (common | others, common | others, common, common | others, common, common):
        call(one)

    assert call(common)


@pytest.mark.parametrize("count", [0, 4, 8])
def test_another_number_of_arguments_is_refused_as_by_triton(driver, count):
    both = Both(driver)
    args = placed(usual())
    for _ in range(3):
        both.call(BLOCKS, *args)

    with pytest.raises(TypeError):
        both.own[BLOCKS](*(args * 2)[:count])
    assert both.call(BLOCKS, *args)


def test_what_triton_s_state_says_is_asked_each_time(driver, monkeypatch):
    both = Both(driver)
    call = usual()
    seen = []

    def made():
        """Whether a third call is at sight, after two that may find what has changed."""
        return [both.call(BLOCKS, *placed(call)) for _ in range(3)][-1]

    chain = triton.knobs.runtime.launch_enter_hook
    assert made()
    chain.add(hook := lambda data: seen.append(data.get()["name"]))
    assert not made()
    assert len(seen) == 6
    chain.remove(hook)
    assert made()
    with monkeypatch.context() as changed:
        changed.setattr(triton.knobs.runtime, "launch_exit_hook", lambda _: seen.append("left"))
        assert not made()
    assert seen[6:] == ["left"] * 6
    assert made()
    hooked = []
    both.own._jit.add_pre_run_hook(lambda *args, **_: hooked.append(len(args)))
    assert not made()
    assert hooked == [5, 5, 5]
    both.own._jit.pre_run_hooks.clear()
    assert made()
    with monkeypatch.context() as changed:
        changed.setattr(triton.knobs.runtime, "debug", True)
        assert made()
        assert driver.launches[-1].kernel != driver.launches[0].kernel
    with monkeypatch.context() as changed:
        changed.setitem(scaled.fn.__globals__, "FACTOR", tl.constexpr(4))
        assert not made()
    driver.device = 1
    assert made()
    assert driver.launches[-1].device == 1
    driver.stream = 9
    assert made()
    assert driver.launches[-1].stream == 9


def test_other_configs_are_those_of_the_next_call(driver):
    both = Both(driver)
    for _ in range(3):
        both.call((1,), *placed(usual()))
    begun = both.own[(1,)]
    both.own.configs, both.config = CONFIGS[1:], CONFIGS[1]
    begun(*placed(usual()))

    assert driver.launches[-1].constants["BLOCK"] == 128
    assert [both.call((1,), *placed(usual())) for _ in range(3)][-1]


def test_configs_that_are_put_there_again_and_again_leave_nothing_behind(driver):
    kernel = autotune(CONFIGS[:1], key=[])(fresh(scaled))

    def forms():
        gc.collect()
        return sum(type(one) is Form for one in gc.get_objects())

    def call():
        kernel.configs = list(kernel.configs)
        for _ in range(3):
            kernel[BLOCKS](*placed(usual()))

    call()
    call()
    before = forms()
    for _ in range(10):
        call()

    assert forms() <= before


def test_another_driver_launches_its_own(driver, tmp_path):
    both = Both(driver)
    for _ in range(3):
        both.call((1,), *placed(usual()))
    other = FakeDriver(stream=11)
    other.loaded = driver.loaded
    with triton_on(other, tmp_path, QuickCompiler(tmp_path)):
        made = [both.call((1,), *placed(usual())) for _ in range(3)]

    assert made == [False, False, True]
    assert [one.stream for one in driver.launches] == [7] * 6 + [11] * 6


def test_a_grid_s_function_that_raises_is_called_once(driver):
    both, asked = Both(driver), []

    def grid(meta):
        asked.append(meta["n"])
        return (1 // (meta["n"] - 4096),)

    for n in (32, 32, 32, 4096, 32):
        both.call(grid, *placed(usual(n=n)))

    assert asked == [n for n in (32, 32, 32, 4096, 32) for _ in range(2)]
    with pytest.raises(TypeError):
        both.own[None](*placed(usual()))


def somebody_else_s(seen):
    raise RuntimeError("somebody else's")


def test_a_launch_that_fails_is_made_under_the_default(driver):
    failed = []

    def act(seen):
        if seen.constants["BLOCK"] == 128 and failed is not None and failed[-1:] != ["ours"]:
            failed.append(seen.constants["BLOCK"])
            raise RuntimeError("Triton Error [CUDA]: invalid argument")

    kernel = autotune(CONFIGS, key=[])(fresh(scaled))
    args = placed(usual())
    for _ in range(3):
        kernel[(1,)](*args)
    entry = kernel._latest
    knobs = {one.text: one for one in entry.made.variants.settings}
    (second,) = (one for name, one in knobs.items() if "128" in name)
    entry.site.best = entry.made(second)
    for _ in range(2):
        kernel[(1,)](*args)
    assert driver.launches[-1].constants["BLOCK"] == 128
    driver.act = act
    kernel[(1,)](*args)

    assert failed == [128]
    assert driver.launches[-1].constants["BLOCK"] == 64
    driver.act = somebody_else_s
    for _ in range(3):
        with pytest.raises(RuntimeError, match="somebody else's"):
            kernel[(1,)](*args)


def test_calls_that_are_asked_for_are_timed(driver, place):
    with learning(Bench()), vyre.mode("natural"):
        kernel = autotune(CONFIGS, key=[])(fresh(scaled))
        args = placed(usual())
        for _ in range(5):
            kernel[(1,)](*args)
        site = kernel._latest.site
        site.asked.clear()
        kernel[(1,)](*args)
        site.asked.append(site.chosen)
        kernel[(1,)](*args)

        assert not site.asked


@pytest.mark.parametrize(
    "name", ["sight", "told", "key", "a0", "p1", "grid", "T0", "type", "repr", "enter", "e\u0301"]
)
def test_names_that_mean_something_in_the_lines_are_left_to_the_long_way(name):
    assert adapter._is_free(name) is (name == "key")


def test_threads_with_calls_of_their_own_get_their_own(driver):
    both = autotune(CONFIGS[:1], key=[])(fresh(scaled))
    calls = [usual(n=n, x=tensor(at)) for n, at in ((4096, 0), (17, 1), (1, 0), (2**40, 2))]
    begin, wrong = threading.Barrier(len(calls)), []

    def work(call):
        begin.wait()
        for _ in range(300):
            kernel = both[BLOCKS](*placed(call))
            if kernel.src.signature["n"] != (
                "constexpr" if call["n"] == 1 else "i32" if call["n"] < 2**31 else "i64"
            ):
                wrong.append(call)

    threads = [threading.Thread(target=work, args=(one,)) for one in calls]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    made = {(one.values[0], one.values[2], one.grid) for one in driver.launches}

    assert wrong == []
    assert made == {
        (
            one["x"].data_ptr(),
            None if one["n"] == 1 else one["n"],
            (triton.cdiv(one["n"], 64), 1, 1),
        )
        for one in calls
    }
    assert len(driver.launches) == 1200


tensors = st.builds(
    tensor,
    st.integers(0, 8),
    st.sampled_from(list(MEMORY)),
    is_cuda=st.sampled_from([True] * 9 + [False]),
)
whole = st.sampled_from([0, 1, 2, 16, 17, 32, -1, -16, 2**31 - 1, 2**31, 2**40, 2**63, 2**64, True])


def held_by(one):
    """A grid's function of one code and another closure each time."""
    return lambda meta: (meta["m"] + one, meta["n"])


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_calls_of_few_forms_are_what_triton_launches(driver, data):
    both = Both(driver)
    how_many = data.draw(st.integers(0, 5))
    for _ in range(data.draw(st.integers(6, 24))):
        values = data.draw(
            st.fixed_dictionaries(
                {"x": tensors, "y": tensors, "n": whole, "m": st.sampled_from([1, 5, 16])}
                | {"scale": st.sampled_from([0.5, -0.0, 3])},
                optional={"NAME": st.sampled_from(["x", "y"])},
            )
        )
        grid = data.draw(st.sampled_from([(4,), (4, 2), BLOCKS, held_by(1), held_by(7)]))
        names = list(values)
        args = [values[name] for name in names[:how_many]]
        both.call(grid, *args, **{name: values[name] for name in names[how_many:]})
