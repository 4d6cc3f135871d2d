"""Kernels of Triton in other processes: compiled ahead of the calls there, and run on copies."""

# Kernels and hooks have the arguments that Triton gives them.
# ruff: noqa: N803

import copyreg
import ctypes
import subprocess
import sys
import textwrap
import threading

import pytest

import vyre

torch, triton = pytest.importorskip("torch"), pytest.importorskip("triton")
import triton.language as tl  # noqa: E402  # it needs triton
from triton.runtime.jit import DependenciesFinder  # noqa: E402

from vyre.adapter import beside  # noqa: E402
from vyre.adapter.kind import Job  # noqa: E402
from vyre.adapter.trial.differences import differ  # noqa: E402
from vyre.adapter.trial.portable import unpacked  # noqa: E402
from vyre.adapter.trial.trials import pickled  # noqa: E402
from vyre.adapter.triton import compile as compiling  # noqa: E402
from vyre.adapter.triton import place, trial  # noqa: E402
from vyre.adapter.triton import tuner as adapter  # noqa: E402
from vyre.adapter.triton.source import find_key, source_of  # noqa: E402
from vyre.testing.foreign import TablePlace  # noqa: E402
from vyre.testing.triton_driver import FakeDriver, QuickCompiler, fresh, triton_on  # noqa: E402
from vyre.triton import Config, autotune, heuristics  # noqa: E402

FACTOR = tl.constexpr(3)
X = torch.zeros(64)


@triton.jit
def tripled(x):
    """A function that a kernel calls."""
    return x * FACTOR


@triton.jit
def kernel(x, n, BLOCK: tl.constexpr):
    """A kernel that calls another function, which has a constant."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tripled(tl.load(x + at, mask=at < n)), mask=at < n)


@triton.jit
def broken(x, BLOCK: tl.constexpr):
    """A kernel that compiles for small blocks alone."""
    tl.static_assert(BLOCK < 64, "too many of them")
    tl.store(x + tl.arange(0, BLOCK), 1.0)


@pytest.fixture
def driver(tmp_path):
    with triton_on(FakeDriver(), tmp_path / "cache") as made:
        yield made


def bound(jit, *args, **kwargs):
    return compiling.bind(jit, 0, args, kwargs)


@pytest.mark.parametrize("x", [X, X[1:]], ids=["aligned", "not aligned"])
@pytest.mark.usefixtures("driver")
def test_what_another_process_compiled_is_read_by_a_launch(x, monkeypatch):
    jit = fresh(kernel)
    call = bound(jit, x, 40, BLOCK=32, num_warps=2)
    job = compiling.job(jit, 0, call)

    answer = beside.compiling().submit(job).wait(600)

    assert answer == {}
    hits = []
    monkeypatch.setattr(
        triton.knobs.compilation, "listener", lambda *, cache_hit, **_: hits.append(cache_hit)
    )
    made = compiling.compiled(jit, 0, call)
    assert hits == [True]
    assert compiling.kept(jit, 0, call) is made
    assert compiling.job(jit, 0, bound(jit, x, 41, BLOCK=32, num_warps=2)) is None  # it is there


@pytest.mark.usefixtures("driver")
def test_what_the_compiler_says_there_is_what_a_config_is_dropped_for():
    jit = fresh(broken)

    answer = beside.compiling().submit(compiling.job(jit, 0, bound(jit, X, BLOCK=128))).wait(600)

    assert not answer.by_helper
    assert "too many of them" in answer.reason


@pytest.mark.usefixtures("driver")
def test_what_cannot_be_had_there_is_compiled_here():
    jit = fresh(kernel)
    job = compiling.job(jit, 0, bound(jit, X, 40, BLOCK=32))
    lost = compiling.compile_there({**job.given, "function": "bm9uZQ=="})
    lost_options = fresh(kernel)
    lost_options._repr = threading.Lock()  # which nothing pickles

    assert lost["left"].startswith("UnpicklingError: ")
    assert compiling.job(lost_options, 0, bound(lost_options, X, 40, BLOCK=32)) is None


@pytest.mark.usefixtures("driver")
def test_a_kernel_that_travelled_is_the_same_kernel():
    jit = fresh(kernel)
    taken = unpacked({"function": __import__("base64").b64encode(pickled(jit)).decode()})

    assert taken.cache_key == jit.cache_key
    assert taken.starting_line_number == jit.starting_line_number
    assert source_of(taken) == source_of(jit)
    assert triton.JITFunction in copyreg.dispatch_table


def test_a_choice_is_for_the_source_its_functions_and_constants_and_not_for_lines(monkeypatch):
    before = source_of(fresh(kernel))
    moved = fresh(kernel)
    moved.starting_line_number += 7
    assert source_of(moved) == before
    monkeypatch.setitem(tripled.fn.__globals__, "FACTOR", tl.constexpr(4))
    assert source_of(fresh(kernel)) != before
    monkeypatch.undo()
    changed = fresh(tripled)
    changed._unsafe_update_src(changed.src.replace("x * FACTOR", "FACTOR * x"))
    monkeypatch.setitem(kernel.fn.__globals__, "tripled", changed)
    assert source_of(fresh(kernel)) != before


def test_an_interrupt_while_triton_finds_a_key_leaves_no_placeholder(monkeypatch):
    wanted, inner = fresh(kernel), fresh(tripled)
    monkeypatch.setitem(kernel.fn.__globals__, "tripled", inner)
    usual = DependenciesFinder.visit_Name

    def visit(self, node):
        if self.name.endswith("tripled") and type(self) is DependenciesFinder:
            raise KeyboardInterrupt
        return usual(self, node)

    monkeypatch.setattr(DependenciesFinder, "visit_Name", visit)
    with pytest.raises(KeyboardInterrupt):
        find_key(wanted)
    assert (wanted.hash, inner.hash) == (None, None)
    monkeypatch.setattr(DependenciesFinder, "visit_Name", usual)
    find_key(wanted)

    assert len(wanted.hash) == len(inner.hash) == 64


def test_a_kernel_of_a_script_is_compiled_in_another_process(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import pathlib, sys, torch, triton, triton.language as tl
        from vyre.adapter import beside
        from vyre.adapter.triton import compile as compiling
        from vyre.testing.triton_driver import FakeDriver, triton_on

        SCALE = tl.constexpr(2.5)

        @triton.jit
        def scaled(x, BLOCK: tl.constexpr):
            at = tl.arange(0, BLOCK)
            tl.store(x + at, tl.load(x + at) * SCALE)

        if __name__ == "__main__":
            with triton_on(FakeDriver(), pathlib.Path(sys.argv[1])):
                bound = compiling.bind(scaled, 0, (torch.zeros(64),), {"BLOCK": 32})
                job = compiling.job(scaled, 0, bound)
                print(beside.compiling().submit(job).wait(600), compiling.job(scaled, 0, bound))
        """)
    )

    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "cache")],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "{} None\n", done.stderr


def tried(configs, act, x, tmp_path, monkeypatch):
    """What each config leaves on copies of a call's arguments, and where that call is tried."""
    monkeypatch.setattr(adapter, "place_on", lambda _: place.Gpu(TablePlace(lambda: 1)))
    driver = FakeDriver(act=act)
    with triton_on(driver, tmp_path, QuickCompiler(tmp_path)), vyre.mode("off"):
        doubled = autotune(configs, key=[])(
            heuristics({"BLOCK": lambda args: args["BLOCK"]})(fresh(kernel))
        )
        doubled[(1,)](x, 40)
        x.zero_()
        variants = doubled._calls.entries[0].made.variants
        made = variants.portable(doubled._arguments(lambda meta: (meta["n"],), (x, 40), {}))
        run = trial.runs(made.kernel)
        driver.launches.clear()
        left = [run(dict(one.settings), made.arguments) for one in variants.settings]
    return left, made.entry, driver.launches


def write(address, value):
    """Write an element, as a kernel would have."""
    ctypes.c_float.from_address(address).value = value


def test_a_run_on_copies_launches_the_config_it_is_told_and_gives_what_is_left(
    tmp_path, monkeypatch
):
    def act(launched):
        write(launched.values[0], launched.constants["BLOCK"])

    hook = lambda nargs: nargs["x"].fill_(7)  # noqa: E731  # it travels
    configs = [Config({"BLOCK": 32}, pre_hook=hook), Config({"BLOCK": 64})]
    left, entry, launches = tried(configs, act, torch.zeros(64), tmp_path, monkeypatch)

    results = [next(one for one in parts if one.name == "argument 0") for parts in left]
    assert [one.constants["BLOCK"] for one in launches] == [32, 64]
    assert [one.array[:2].tolist() for one in results] == [[32.0, 7.0], [64.0, 0.0]]
    assert entry == "vyre.adapter.triton.trial:runs"


@pytest.mark.parametrize("at", [-1, 64], ids=["before", "beyond"])
@pytest.mark.parametrize("skipped", [0, 1], ids=["aligned", "not aligned"])
def test_what_is_written_beside_a_tensor_is_seen_however_it_is_aligned(
    at, skipped, tmp_path, monkeypatch
):
    def act(launched):
        write(launched.values[0] + 4 * (at if launched.constants["BLOCK"] == 64 else 0), 0.0)

    configs = [Config({"BLOCK": 32}), Config({"BLOCK": 64})]
    x = torch.zeros(65)[skipped:][:64]
    left, _, launches = tried(configs, act, x, tmp_path, monkeypatch)

    assert [one.values[0] % 16 == 0 for one in launches] == [not skipped] * 2
    assert differ(*left, (), 0.0, 0.0) == (
        "the memory beside array 0 has 4 of 8,192 elements that differ, such as 0 at "
        f"{4096 if at > 0 else 4092}, where it should be 165"
    )


def test_a_check_gives_a_config_the_time_to_compile():
    assert autotune([], [], check=True)(fresh(kernel))._calls.check.limit_s == compiling.LIMIT_S


def test_an_interpreted_kernel_runs_under_its_first_config(tmp_path):
    script = tmp_path / "interpreted.py"
    script.write_text(
        textwrap.dedent("""
        import torch, triton, triton.language as tl
        from vyre.triton import Config, autotune

        @autotune([Config({"BLOCK": 32}), Config({"BLOCK": 64})], key=["n"])
        @triton.jit
        def doubled(x, n, BLOCK: tl.constexpr):
            at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

        x = torch.ones(100)
        for _ in range(2):
            doubled[lambda meta: (-(-90 // meta["BLOCK"]),)](x, 90)
        print(x[:90].unique().tolist(), x[90:].unique().tolist())
        try:
            doubled.decision((1,), x, 90)
        except Exception as error:
            print(error)
        """)
    )

    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=False,
        env={**__import__("os").environ, "TRITON_INTERPRET": "1"},
    )

    assert done.stdout == (
        "[4.0] [1.0]\n"
        "doubled is interpreted, so nothing is decided for it\n"
        "Fix: leave TRITON_INTERPRET out of the environment\n"
    ), done.stderr


def test_a_job_names_what_runs_there():
    assert beside.compiling().request(Job(entry="a:b"))["entry"] == "a:b"
