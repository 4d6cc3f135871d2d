"""What launches kernels of a signature is built while the kernel is compiled."""

# Kernels and builds have the arguments that Triton gives them.
# ruff: noqa: ARG002, N803

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


class Builds:
    """Builds of launchers: the text of each, on which thread, and by which flags; they may fail."""

    def __init__(self):
        self.threads, self.texts, self.flags = [], [], []
        self.begun, self.failing, self.launched = threading.Event(), {}, []

    def __call__(self, src, name, ccflags=(), **where):
        thread = threading.current_thread().name
        self.threads.append(thread)
        self.texts.append((src, name))
        self.flags.append(tuple(ccflags))
        self.begun.set()
        if thread in self.failing:
            raise self.failing[thread]
        return SimpleNamespace(launch=lambda *given: self.launched.append(given))


@pytest.fixture
def compiler(tmp_path):
    return QuickCompiler(tmp_path)


@pytest.fixture
def builds(tmp_path, compiler, monkeypatch):
    made, driver = Builds(), FakeDriver()
    driver.launcher_cls = nvidia.CudaLauncher
    monkeypatch.setattr(nvidia, "library_dirs", list)
    monkeypatch.setattr(nvidia, "compile_module_from_src", made)
    monkeypatch.setattr(adapter, "place_on", lambda _: place.Gpu(TablePlace(lambda: 1000)))
    monkeypatch.setattr(launch, "job", lambda *_: None)
    monkeypatch.setattr(launcher, "_begun", set())
    with triton_on(driver, tmp_path, compiler):
        yield made


@pytest.fixture
def kernel():
    return autotune([Config({"BLOCK": n}) for n in (64, 128)], key=[])(fresh(scaled))


@pytest.fixture(autouse=True)
def learning(bench):
    return bench


HERE, ASIDE = "MainThread", "vyre-making"


def test_a_launcher_is_being_built_while_the_kernel_is_compiled(builds, compiler, kernel):
    compiler.refuses = lambda *_: builds.begun.wait(60) or pytest.fail("it was not begun")
    kernel[(1,)](X, 200, 2.0)

    assert builds.threads == [ASIDE, HERE]
    assert len(builds.launched) == 1


def test_it_is_the_one_that_triton_asks_for(builds, kernel):
    for n in (200, 1, 2**40):
        builds.texts.clear()
        kernel[(1,)](X, n, 2.0)

        assert len(builds.texts) == 2
        assert builds.texts[0] == builds.texts[1]
    assert builds.flags == [("-O0", "-pipe"), ()] * 3


def test_it_is_built_once_for_a_signature(builds, kernel):
    for n in (200, 300, 1, 16, 2**40):
        kernel[(1,)](X, n, 2.0)

    assert builds.threads.count(ASIDE) == 3  # of a number of 32 bits, of 1, and of one of 64


def test_what_goes_wrong_beside_is_told_where_triton_does_it_again(builds, kernel):
    builds.failing = {ASIDE: RuntimeError("no C compiler")}
    kernel[(1,)](X, 200, 2.0)
    assert len(builds.launched) == 1

    builds.failing[HERE] = RuntimeError("no C compiler")
    with pytest.raises(RuntimeError, match=r"^no C compiler$"):
        kernel[(1,)](X, 2**40, 2.0)
    assert len(builds.launched) == 1


def test_launchers_of_another_driver_are_left_to_it(builds, kernel, monkeypatch):
    class Other(nvidia.CudaLauncher):
        """Somebody else's."""

    monkeypatch.setattr(triton.runtime.driver.active, "launcher_cls", Other)
    kernel[(1,)](X, 200, 2.0)

    assert builds.threads == [HERE]


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
