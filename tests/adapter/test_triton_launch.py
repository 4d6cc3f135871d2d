"""Launches of Triton's kernels: whatever is looked up before, they are what Triton would launch."""

# Kernels and hooks have the arguments that Triton gives them.
# ruff: noqa: ARG001, ARG005, N803

import itertools
import weakref

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vyre

torch, triton = pytest.importorskip("torch"), pytest.importorskip("triton")
import triton.language as tl  # noqa: E402  # it needs triton
from triton._C.libtriton import native_specialize_impl  # noqa: E402
from triton.backends.compiler import BaseBackend  # noqa: E402

from vyre.adapter.triton import binding  # noqa: E402
from vyre.adapter.triton import tuner as adapter  # noqa: E402
from vyre.adapter.triton.binding import row_of  # noqa: E402
from vyre.adapter.triton.place import Gpu  # noqa: E402
from vyre.testing.foreign import Bench, TablePlace, learning  # noqa: E402
from vyre.testing.triton_driver import FakeDriver, QuickCompiler, fresh, triton_on  # noqa: E402
from vyre.triton import Config, autotune, heuristics  # noqa: E402

FACTOR = tl.constexpr(3)


@triton.jit
def mixed(a, b, n, m, scale, flag, maybe, BLOCK: tl.constexpr, MODE: tl.constexpr = 0, NAME: tl.constexpr = "x"):  # fmt: skip # noqa: E501
    """Arguments of every kind."""
    tl.store(a, tl.load(b) * scale + n + m + BLOCK * FACTOR)


@triton.jit(do_not_specialize=["n"], do_not_specialize_on_alignment=["b"])
def lenient(a, b, n: tl.int64, m: "i32", scale: tl.float32, flag, maybe, BLOCK: tl.constexpr, MODE: tl.constexpr = 0, NAME: tl.constexpr = "x"):  # fmt: skip # noqa: E501, F821
    """The same, less of which Triton compiles for."""
    tl.store(a, tl.load(b) * scale + n + m + BLOCK)


CONFIGS = [Config({"BLOCK": 64}, num_warps=2), Config({"BLOCK": 128}, num_warps=4, maxnreg=64)]
MEMORY = {
    one: torch.zeros(64, dtype=one) for one in (torch.float32, torch.float16, torch.int64)
}  # which stays, so that addresses do


@pytest.fixture
def driver(tmp_path):
    with triton_on(FakeDriver(), tmp_path, QuickCompiler(tmp_path)) as made:
        yield made


@pytest.fixture(autouse=True)
def place(monkeypatch):
    made = TablePlace(lambda: 1000)
    monkeypatch.setattr(adapter, "place_on", lambda _: Gpu(made))
    return made


@pytest.fixture(autouse=True)
def off():
    with learning(Bench()), vyre.mode("off"):
        yield


class OnGpu:
    """A tensor as those of a GPU are: its address is passed on, and not itself."""

    is_cuda = True

    def __init__(self, tensor):
        self.tensor, self.dtype = tensor, tensor.dtype

    def data_ptr(self):
        return self.tensor.data_ptr()

    def numel(self):
        return self.tensor.numel()


tensors = st.builds(
    lambda one, at, kind: kind(MEMORY[one][at : at + 32]),  # which are written alike
    st.sampled_from(list(MEMORY)),
    st.integers(0, 8),
    st.sampled_from([OnGpu, lambda one: one]),
)
whole = st.sampled_from([0, 1, 2, 16, 17, 32, -1, -16, 2**31 - 1, 2**31, 2**40, 2**63, 2**64 - 1])
numbers = st.one_of(whole, st.booleans(), st.sampled_from([0.5, 1.0, 0.0, -0.0]), st.none())
modes = st.sampled_from([0, 1, True, False, 1.0, 0.0, -0.0, None, "1", tl.float32, tl.int32])


def held_by(one):
    """A grid's function of one code and another closure each time, which may be wrong."""
    return lambda meta: (one + meta["m"], meta["BLOCK"])


grids = st.sampled_from(
    [
        *((4,), (4, 2), (4, 2, 3), [5], (0,)),
        lambda meta: (triton.cdiv(1000, meta["BLOCK"]),),
        lambda meta: (meta["a"].numel(), len(str(meta["MODE"]))),
        lambda meta: tuple(range(1, len(meta) - 7)),
        lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),),
        lambda meta: (meta["m"] + 1, abs(meta["n"]), meta["MODE"]),
        *(lambda meta, size=size: (size, meta["BLOCK"]) for size in (1, 2)),
        *(held_by(one) for one in (1, 1, 300, 2**40)),
    ]
)
failing = st.sampled_from([held_by("x"), held_by(torch), lambda meta: (meta["nothing"],)])
NAMES = ("a", "b", "n", "m", "scale", "flag", "maybe", "MODE", "NAME")


@st.composite
def calls(draw, grids=grids):
    """A grid, arguments by place, arguments by name in any order."""
    values = {
        "a": draw(tensors),
        "b": draw(tensors),
        "n": draw(whole),
        "m": draw(st.sampled_from([1, 5, 16])),
        "scale": draw(st.one_of(st.sampled_from([1, 16, 3]), st.floats(0, 4))),
        "flag": draw(numbers),
        "maybe": draw(st.one_of(st.none(), tensors)),
    }
    placed = draw(st.integers(0, len(values)))
    args = list(itertools.islice(values.values(), placed))
    named = dict(list(values.items())[placed:])
    if draw(st.booleans()):
        named["MODE"] = draw(modes)
    if draw(st.booleans()):
        named["NAME"] = draw(st.sampled_from(["x", "y"]))
    if draw(st.integers(0, 4)) == 0:
        named["debug"] = draw(st.booleans())
    order = draw(st.permutations(list(named)))
    return draw(grids), args, {name: named[name] for name in order}


def of_triton(kernel, config, grid, args, named):
    """What Triton itself launches; its memo is emptied, in which 1 finds what is kept for True."""
    kernel.device_caches[0][1].clear()
    return kernel[grid](*args, **named, **config.all_kwargs())


@pytest.mark.parametrize("kernel", [mixed, lenient], ids=["mixed", "lenient"])
@pytest.mark.parametrize("config", CONFIGS, ids=["64", "128"])
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(drawn=st.lists(calls(grids | failing), min_size=2, max_size=12))
def test_a_launch_is_what_triton_would_launch(driver, kernel, config, drawn):
    own, theirs = autotune([config], key=[])(fresh(kernel)), fresh(kernel)
    for grid, args, named in [*drawn, *drawn]:  # and once more, where all is known at sight
        own_said = said = None
        try:
            kernel_of_own = own[grid](*args, **named)
        except Exception as error:  # noqa: BLE001  # Triton's own, which are compared
            own_said = type(error), str(error)
        try:
            kernel_of_triton = of_triton(theirs, config, grid, args, named)
        except Exception as error:  # noqa: BLE001  # of whatever kind
            said = type(error), str(error)

        assert own_said == said
        if said is None:
            first, second = driver.launches[-2:]
            assert first == second
            assert kernel_of_own.hash == kernel_of_triton.hash


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    call=calls(),
    drawn=st.lists(
        st.fixed_dictionaries(
            {"MODE": st.sampled_from([1, True]), "maybe": st.one_of(tensors, numbers)}
        ),
        min_size=8,
        max_size=30,
    ),
)
def test_what_heuristics_give_is_launched_as_by_triton(driver, call, drawn):
    answers = {}
    says = heuristics({one: lambda _, one=one: answers[one] for one in ("MODE", "maybe")})
    kernel = fresh(mixed)
    own, theirs = autotune(CONFIGS[:1], key=[])(says(fresh(mixed))), says(kernel)
    grid, args, named = call
    args, named = args[:6], {one: it for one, it in named.items() if one not in drawn[0]}
    for said in [*drawn, *drawn]:
        answers.update(said)
        own[grid](*args, **named)
        kernel.device_caches[0][1].clear()
        theirs[grid](*args, **named, **CONFIGS[0].all_kwargs())

        assert driver.launches[-2] == driver.launches[-1]


def test_what_is_on_a_gpu_is_passed_as_an_address_and_the_rest_as_it_is(driver, monkeypatch):
    kernel = autotune(CONFIGS[:1], key=[])(fresh(mixed))
    a, b = MEMORY[torch.float32], OnGpu(MEMORY[torch.float16][1:])
    kernel[(1,)](a, b, 5, 1, 2.0, True, None)
    seen = []
    words = kernel._latest.site.best.words  # whatever it looked up, it calls this with
    monkeypatch.setitem(words, "launch", lambda *given: seen.append(given))

    kernel[(1,)](a, b, 5, 1, 2.0, True, None)

    assert seen[0][13:15] == (a, b.data_ptr())


@given(st.lists(st.one_of(whole, st.integers(-(2**63), 2**64 - 1)), min_size=2, max_size=40))
def test_numbers_of_one_row_are_one_to_triton(drawn):
    rows = {}
    for n in drawn:
        rows.setdefault(row_of(n), set()).add(
            native_specialize_impl(BaseBackend, n, False, True, True)[:2]
        )

    assert all(len(found) == 1 for found in rows.values())


@pytest.mark.parametrize("number", [2**64, 2**64 + 16, -(2**63) - 1])
def test_a_number_that_no_type_holds_is_not_taken_for_one_that_some_type_holds(driver, number):
    own, theirs = autotune(CONFIGS[:1], key=[])(fresh(mixed)), fresh(mixed)
    x, said = MEMORY[torch.float32], []
    for near in (2**63, 2**63 + 1, 2**31, -(2**31) - 1):
        own[(1,)](x, x, near, 1, 2.0, True, None)
    for launch in (
        lambda: own[(1,)](x, x, number, 1, 2.0, True, None),
        lambda: theirs[(1,)](x, x, number, 1, 2.0, True, None, BLOCK=64),
    ):
        with pytest.raises(OverflowError) as caught:
            launch()
        said.append(str(caught.value))

    assert said[0] == said[1]
    assert len(driver.launches) == 4


class OneNumber(OnGpu):
    """A tensor of one element on a GPU, which Python takes for its number."""

    def __index__(self):
        return int(self.tensor[0])

    def __float__(self):
        return float(self.tensor[0])


def test_a_tensor_where_a_number_is_annotated_is_passed_as_its_number(driver):
    own, theirs = autotune(CONFIGS[:1], key=[])(fresh(lenient)), fresh(lenient)
    x, one = MEMORY[torch.float32], OneNumber(torch.tensor([5]))
    for n, scale in ((one, one), (7, one), (one, 2.0), (one, one)):
        own[(1,)](x, x, n, 1, scale, True, None)
        of_triton(theirs, CONFIGS[0], (1,), (x, x, n, 1, scale, True, None), {})
        assert driver.launches[-1] == driver.launches[-2]

    assert [one.values[2] for one in driver.launches[::2]] == [5, 7, 5, 5]
    assert [one.values[4] for one in driver.launches[::2]] == [5.0, 5.0, 2.0, 5.0]


STALE = {
    "a pointer that is no more aligned": {"a": MEMORY[torch.float32][1:]},
    "a number that is 1": {"n": 1},
    "a number that 16 divides": {"n": 32},
    "a number of 64 bits": {"n": 2**40 + 1},
    "a number beyond those": {"n": 2**63 + 1},
    "another type": {"a": MEMORY[torch.float16]},
    "True for 1": {"MODE": True},
    "1.0 for 1": {"MODE": 1.0},
    "a type for a number": {"MODE": tl.float32},
    "a number for nothing": {"maybe": 3},
    "a pointer for nothing": {"maybe": MEMORY[torch.float32]},
    "what is debugged": {"debug": True},
}


@pytest.mark.parametrize("change", STALE)
def test_what_was_compiled_for_other_arguments_is_never_launched(driver, change):
    own, theirs = autotune(CONFIGS[:1], key=[])(fresh(mixed)), fresh(mixed)
    usual = {"a": MEMORY[torch.float32], "b": MEMORY[torch.float32], "n": 5, "m": 7, "scale": 2.0}
    usual |= {"flag": True, "maybe": None, "MODE": 1}
    for call in (usual, usual, {**usual, **STALE[change]}, {**usual, **STALE[change]}, usual):
        own[(1,)](**call)
        of_triton(theirs, CONFIGS[0], (1,), (), call)
        assert driver.launches[-1] == driver.launches[-2]

    kernels = [one.kernel for one in driver.launches[::2]]
    assert kernels[0] == kernels[1] == kernels[4] != kernels[2] == kernels[3]


def test_another_device_has_its_own_kernel_and_its_own_stream(driver):
    kernel = autotune(CONFIGS[:1], key=[])(fresh(mixed))
    given = (MEMORY[torch.float32], MEMORY[torch.float32], 5, 1, 2.0, True, None)
    for device, stream in ((0, 7), (1, 8), (0, 9), (1, 10)):
        driver.device, driver.stream = device, stream
        kernel[(1,)](*given)

    assert [(one.device, one.stream) for one in driver.launches] == [
        (0, 7),
        (1, 8),
        (0, 9),
        (1, 10),
    ]
    assert len(driver.loaded) == 2
    assert [one.call.workload for one in kernel._calls.entries].count(
        kernel._calls.entries[0].call.workload
    ) == 2


def test_a_global_that_has_changed_is_said_as_triton_says_it(driver, monkeypatch):
    kernel, theirs = autotune(CONFIGS[:1], key=[])(fresh(mixed)), fresh(mixed)
    given = (MEMORY[torch.float32], MEMORY[torch.float32], 5, 1, 2.0, True, None)
    kernel[(1,)](*given)
    of_triton(theirs, CONFIGS[0], (1,), given, {})
    monkeypatch.setitem(mixed.fn.__globals__, "FACTOR", tl.constexpr(4))
    said = []
    for launch in (lambda: kernel[(1,)](*given), lambda: theirs[(1,)](*given, BLOCK=64)):
        with pytest.raises(RuntimeError) as caught:
            launch()
        said.append(str(caught.value))

    assert said[0] == said[1]
    assert "FACTOR" in said[0]
    assert len(driver.launches) == 2


def test_hooks_of_launches_are_called_as_by_triton_and_only_while_they_are_set(driver):
    kernel = autotune(CONFIGS[:1], key=[])(fresh(mixed))
    given = (MEMORY[torch.float32], MEMORY[torch.float32], 5, 1, 2.0, True, None)
    kernel[(1,)](*given)
    chains = triton.knobs.runtime.launch_enter_hook, triton.knobs.runtime.launch_exit_hook
    seen = []
    for when, chain in zip(("enter", "leave"), chains, strict=True):
        chain.add(hook := lambda data, when=when: seen.append((when, data.get()["name"])))
        kernel[(1,)](*given)
        chain.remove(hook)
    kernel._jit.add_pre_run_hook(lambda *args, **kwargs: seen.append(("before", len(args))))
    kernel[(1,)](*given)
    kernel._jit.pre_run_hooks.clear()
    kernel[(1,)](*given)

    assert seen == [("enter", "mixed"), ("leave", "mixed"), ("before", 7)]
    assert len(driver.launches) == 5


def test_a_launch_hook_that_replaces_triton_s_chain_is_called(driver, monkeypatch):
    kernel = autotune(CONFIGS[:1], key=[])(fresh(mixed))
    given = (MEMORY[torch.float32], MEMORY[torch.float32], 5, 1, 2.0, True, None)
    kernel[(1,)](*given)
    seen = []
    monkeypatch.setattr(triton.knobs.runtime, "launch_enter_hook", seen.append)

    kernel[(1,)](*given)

    assert [one.get()["name"] for one in seen] == ["mixed"]


def test_ever_new_numbers_are_forgotten(driver, monkeypatch):
    monkeypatch.setattr(binding, "_MOST_KNOWN", 8)
    kernel = autotune(CONFIGS[:1], key=[])(fresh(mixed))
    for n in range(100, 140):
        kernel[(1,)](MEMORY[torch.float32], MEMORY[torch.float32], n, 1, 2.0, True, None)

    (form,) = kernel._forms.values()
    assert len(form.known) <= 8
    assert len(kernel._calls.entries) == 2  # those that 16 divides, and the others
    assert [one.values[2] for one in driver.launches] == list(range(100, 140))


@triton.jit
def described(x, y, BLOCK: tl.constexpr):
    """A kernel that is given a descriptor."""
    tl.store(y, tl.load(y))


def test_a_hook_of_a_config_that_sets_a_descriptor_s_block_is_heard(driver):
    from triton.tools.tensor_descriptor import TensorDescriptor

    def hook(nargs):
        nargs["x"].block_shape = [nargs["BLOCK"], 16]

    configs = [Config({"BLOCK": n}, pre_hook=hook) for n in (32, 64)]
    kernel = autotune(configs, key=[])(fresh(described))
    x = TensorDescriptor.from_tensor(torch.zeros(128, 64), [1, 16])
    for _ in range(3):
        kernel[(1,)](x, MEMORY[torch.float32])

    assert [one.values[0][1] for one in driver.launches] == [(32, 16)] * 3
    assert len(kernel._calls.entries) == 1


def test_descriptors_of_gluon_are_heard_as_well_and_hold_no_memory(driver):
    from triton.experimental.gluon.language import NVMMASharedLayout, float32
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

    def hook(nargs):
        nargs["x"].block_shape = [nargs["BLOCK"], 16]

    layout = NVMMASharedLayout.get_default_for([1, 16], float32)
    configs = [Config({"BLOCK": n}, pre_hook=hook) for n in (32, 64)]
    kernel = autotune(configs, key=[])(fresh(described))
    base = torch.zeros(128, 64)
    x, held = TensorDescriptor.from_tensor(base, [1, 16], layout), weakref.ref(base)
    for _ in range(2):
        kernel[(1,)](x, MEMORY[torch.float32])
    del base, x

    assert [one.values[0][1] for one in driver.launches] == [(32, 16)] * 2
    assert len(driver.loaded) == 1  # nothing is compiled for a block that the hook replaces
    assert held() is None


@triton.jit
def taken_apart(pair, out, BLOCK: tl.constexpr):
    """A kernel that is given a tuple."""
    tl.store(out, tl.load(pair[0]) + pair[1])


def test_tuples_are_launched_as_by_triton(driver):
    own, theirs = autotune([Config({"BLOCK": 32})], key=[])(fresh(taken_apart)), fresh(taken_apart)
    x = MEMORY[torch.float32]
    for pair in ((x, 3), (x, 3), (x[1:], 1), (x, 16)):
        own[(1,)](pair, x)
        of_triton(theirs, Config({"BLOCK": 32}), (1,), (pair, x), {})
        assert driver.launches[-1] == driver.launches[-2]


@pytest.mark.parametrize(
    ("grid", "given", "raised"),
    [
        (5, (), TypeError),
        (lambda _: 1 / 0, (), ZeroDivisionError),
        (None, (), TypeError),
        ((1,), (3, 4, 5, 6), TypeError),
    ],
)
def test_what_is_wrong_with_a_call_is_raised_as_by_triton_and_breaks_nothing(
    driver, grid, given, raised
):
    kernel = autotune(CONFIGS, key=[])(fresh(mixed))
    usual = (MEMORY[torch.float32], MEMORY[torch.float32], 5, 1, 2.0, True, None)
    for _ in range(2):
        with pytest.raises(raised):
            kernel[grid](*usual, *given)
        kernel[(1,)](*usual)

    assert len(driver.launches) == 2


def test_arguments_with_names_of_ours_are_the_kernel_s(driver, tmp_path):
    text = (
        "import triton, triton.language as tl\n\n@triton.jit\n"
        "def odd(self, grid, warmup, stream, key, args, kwargs, BLOCK: tl.constexpr):\n"
        "    tl.store(self, grid + warmup + stream + key)\n"
    )
    (tmp_path / "odd.py").write_text(text)
    space = {}
    exec(compile(text, str(tmp_path / "odd.py"), "exec"), space)  # noqa: S102
    kernel = autotune(CONFIGS, key=["grid", "key"])(space["odd"])
    for _ in range(2):
        kernel[(1,)](MEMORY[torch.float32], 2, 3, 4, 5, 6, 7)
        kernel[(1,)](MEMORY[torch.float32], grid=2, warmup=3, stream=4, key=5, args=6, kwargs=7)

    assert len(set(map(repr, driver.launches))) == 1
