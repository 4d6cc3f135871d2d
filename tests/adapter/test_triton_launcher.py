"""What launches kernels of a signature is built while the kernel is compiled."""

# Kernels have the arguments that Triton gives them.
# ruff: noqa: N803

import threading
from types import SimpleNamespace

import pytest

from vyre.errors import UnsupportedFeature
from vyre.testing.foreign import TablePlace

torch, triton = pytest.importorskip("torch"), pytest.importorskip("triton")
import triton.language as tl  # noqa: E402  # it needs triton
from triton.backends.nvidia import driver as nvidia  # noqa: E402

from vyre.adapter.triton import launch, launcher, place  # noqa: E402
from vyre.adapter.triton import tuner as adapter  # noqa: E402
from vyre.testing.triton_driver import FakeDriver, QuickCompiler, fresh, triton_on  # noqa: E402
from vyre.triton import Config, autotune  # noqa: E402

X = torch.zeros(256)


@triton.jit
def scaled(x, n, factor, BLOCK: tl.constexpr):
    """Some numbers, times another."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)


class Driver(FakeDriver):
    """One whose launchers say on which thread they are built, and may fail."""

    def __post_init__(self):
        super().__post_init__()
        self.built, self.begun, self.failing = [], threading.Event(), {}

    def launcher_cls(self, source, metadata):
        name = threading.current_thread().name
        self.built.append(name)
        self.begun.set()
        if name in self.failing:
            raise self.failing[name]
        return super().launcher_cls(source, metadata)


@pytest.fixture
def compiler(tmp_path):
    return QuickCompiler(tmp_path)


@pytest.fixture
def driver(tmp_path, compiler, monkeypatch):
    monkeypatch.setattr(adapter, "place_on", lambda _: place.Gpu(TablePlace(lambda: 1000)))
    monkeypatch.setattr(launch, "job", lambda *_: None)
    monkeypatch.setattr(launcher, "_begun", set())
    with triton_on(Driver(), tmp_path, compiler) as made:
        yield made


@pytest.fixture
def kernel():
    return autotune([Config({"BLOCK": n}) for n in (64, 128)], key=[])(fresh(scaled))


@pytest.fixture(autouse=True)
def learning(bench):
    return bench


HERE, ASIDE = "MainThread", "vyre-making"


def test_a_launcher_is_being_built_while_the_kernel_is_compiled(driver, compiler, kernel):
    compiler.refuses = lambda *_: driver.begun.wait(60) or pytest.fail("it was not begun")
    kernel[(1,)](X, 200, 2.0)

    assert driver.built[0] == ASIDE
    assert driver.built[1:] == [HERE]
    assert len(driver.launches) == 1


def test_it_is_built_once_for_a_signature(driver, kernel):
    for n in (200, 300, 1, 16):
        kernel[(1,)](X, n, 2.0)
    kernel[(1,)](X, 2**40, 2.0)

    assert driver.built.count(ASIDE) == 3  # of a number of 32 bits, of 1, and of one of 64


def test_what_goes_wrong_beside_is_told_where_triton_does_it_again(driver, kernel):
    driver.failing = {ASIDE: RuntimeError("no C compiler")}
    kernel[(1,)](X, 200, 2.0)
    assert len(driver.launches) == 1

    driver.failing[HERE] = RuntimeError("no C compiler")
    with pytest.raises(RuntimeError, match=r"^no C compiler$"):
        kernel[(1,)](X, 2**40, 2.0)
    assert len(driver.launches) == 1


def test_it_is_the_one_that_triton_asks_for(driver, kernel, monkeypatch):
    asked = []

    def compiled(src, name, **_):
        asked.append((src, name))
        return SimpleNamespace(launch=lambda *_: None)

    monkeypatch.setattr(nvidia, "library_dirs", list)
    monkeypatch.setattr(nvidia, "compile_module_from_src", compiled)
    driver.launcher_cls = nvidia.CudaLauncher
    for n in (200, 1, 2**40):
        asked.clear()
        kernel[(1,)](X, n, 2.0)

        assert len(asked) == 2
        assert asked[0] == asked[1]


def test_what_a_gpu_is_asked_by_is_loaded_where_a_kernel_is_decorated(monkeypatch):
    loaded = []
    monkeypatch.setattr(place, "load_cuda", lambda: loaded.append("CUDA's"))
    place.load.cache_clear()
    for _ in range(2):
        autotune([Config({"BLOCK": 64})], key=[])(fresh(scaled))

    assert loaded == ["CUDA's"]


@pytest.mark.parametrize("error", [UnsupportedFeature("none", "none"), ImportError("broken")])
def test_what_cannot_be_loaded_is_no_error_of_a_decorator(monkeypatch, error):
    def load():
        raise error

    monkeypatch.setattr(place, "load_cuda", load)
    place.load.cache_clear()

    assert autotune([Config({"BLOCK": 64})], key=[])(fresh(scaled)).name == "scaled"
    place.load.cache_clear()
