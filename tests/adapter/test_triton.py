"""`vyre.triton.autotune`: Triton's autotuner, learning from launches that are made anyway."""

# Kernels and hooks have the arguments that Triton gives them.
# ruff: noqa: ARG001, ARG002, ARG005, N803

import contextlib
import gc
import threading
import weakref
from collections import Counter

import pytest

import vyre
from vyre.errors import InvalidInput, NotRemembered, UnsupportedFeature
from vyre.testing.foreign import TablePlace, failures, learning

torch, triton = pytest.importorskip("torch"), pytest.importorskip("triton")
import triton.language as tl  # noqa: E402  # it needs triton
from triton.runtime.autotuner import Autotuner  # noqa: E402
from triton.runtime.errors import AutotunerError, OutOfResources, PTXASError  # noqa: E402

from vyre.adapter import beside  # noqa: E402
from vyre.adapter.triton import launch, place  # noqa: E402
from vyre.adapter.triton import tuner as adapter  # noqa: E402
from vyre.testing.triton_driver import FakeDriver, QuickCompiler, fresh, triton_on  # noqa: E402
from vyre.triton import Config, autotune, heuristics  # noqa: E402

TIMES_NS = {64: 1_000_000, 128: 400_000, 256: 700_000}
CONFIGS = [Config({"BLOCK": n}) for n in TIMES_NS]
X = torch.zeros(256)


@triton.jit
def scaled(x, n, factor, BLOCK: tl.constexpr):
    """Some numbers, times another."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)


@triton.jit
def even(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    """The same, without a mask where none is needed."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at))


@triton.jit
def roomy(x, n, room, width, BLOCK: tl.constexpr):
    """A kernel with room that a heuristic makes."""
    tl.store(x, tl.load(room) + width + n)


@triton.jit
def lonely(x, BLOCK: tl.constexpr):
    """A kernel with one tensor."""
    tl.store(x, 0.0)


@pytest.fixture
def compiler(tmp_path):
    return QuickCompiler(tmp_path)


@pytest.fixture
def driver(tmp_path, compiler):
    with triton_on(FakeDriver(), tmp_path, compiler) as made:
        yield made


@pytest.fixture(autouse=True)
def on_table(monkeypatch, driver):
    made = TablePlace(lambda: TIMES_NS[driver.launches[-1].constants["BLOCK"]])
    monkeypatch.setattr(adapter, "place_on", lambda _: place.Gpu(made))
    monkeypatch.setattr(launch, "job", lambda *_: None)  # what is compiled beside is, on a thread
    return made


def blocks(driver):
    return [one.constants["BLOCK"] for one in driver.launches]


def grid(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)


def made(kernel=scaled, configs=CONFIGS, key=("n",), **options):
    return autotune(configs, list(key), **options)(fresh(kernel))


def call(bench, function, until=lambda: False, times=600):
    """Call until something is so, and let what is done beside the calls be done before the next."""
    for _ in range(times):
        function()
        assert bench.deciders.desk.drained(60)
        beside.aside().submit(lambda: None, lambda: None).wait(600)
        if until():
            return True
    return False


def entry_of(kernel):
    return kernel._calls.entries[-1]


class TestLearning:
    """Each call launches one config, once; the fastest is found, kept and explained."""

    def test_the_best_is_found_from_calls_that_each_launch_once(self, bench, driver):
        kernel = made()
        launches = []

        def once():
            kernel[grid](X, 200, 2.0)
            launches.append(len(driver.launches))

        assert call(bench, once, lambda: kernel.best_config.kwargs == {"BLOCK": 128})
        assert launches == list(range(1, len(launches) + 1))
        call(bench, once, times=40)
        before = len(driver.launches)
        call(bench, once, times=10)
        assert Counter(blocks(driver)[before:])[128] >= 8
        assert {one.grid for one in driver.launches if one.constants["BLOCK"] == 64} == {(4, 1, 1)}

    def test_a_first_call_compiles_one_config(self, bench, compiler, driver):
        made()[grid](X, 200, 2.0)

        assert compiler.compiled[0]["BLOCK"] == 64
        assert blocks(driver) == [64]
        assert bench.deciders.desk.drained(60)

    def test_the_next_process_compiles_and_launches_what_was_learned(self, bench, compiler, driver):
        kernel = made()
        assert call(
            bench, lambda: kernel[grid](X, 200, 2.0), lambda: kernel.best_config is CONFIGS[1]
        )
        call(bench, lambda: kernel[grid](X, 200, 2.0), times=20)
        compiler.compiled.clear()
        driver.launches.clear()

        with learning(bench.again()) as again:
            made()[grid](X, 200, 2.0)
            assert [one["BLOCK"] for one in compiler.compiled][:1] == [128]
            assert again.deciders.desk.drained(60)

        assert blocks(driver) == [128]

    def test_what_was_learned_is_explained_and_told_as_triton_tells_it(self, bench):
        kernel = made()
        with pytest.raises(AttributeError) as early:
            kernel.best_config  # noqa: B018  # it is asked for
        assert str(early.value) == "scaled was not called yet, so it has no best_config"
        assert call(
            bench, lambda: kernel[grid](X, 200, 2.0), lambda: kernel.best_config is CONFIGS[1]
        )
        head, _, _, where, *lines = str(kernel.explain()).splitlines()

        assert head == "scaled: that its configs compute the same is stated by its author"
        assert where == "256 elements on a table"
        assert "  runs        BLOCK=128, num_warps=4, num_ctas=1, num_stages=3" in lines
        assert kernel.configs_timings[CONFIGS[0]] == [1.0, 1.0, 1.0]
        assert kernel.configs_timings[CONFIGS[1]] == [0.4, 0.4, 0.4]
        assert kernel.cache == {
            ("x *fp32 D", "n i32", "factor fp32", "key n=int 200"): CONFIGS[1],
        }
        assert kernel.bench_time == 0.0
        assert repr(kernel) == "<tuned scaled, 3 configs>"
        decided = kernel.decision(grid, X, 200, 2.0)
        assert decided.config["BLOCK"] == 128

    def test_values_of_the_key_types_and_alignment_tell_calls_apart_and_nothing_else(self, bench):
        kernel = made()
        for x, n, factor in (
            *((X, 200, 2.0), (X, 200, 3.0), (X[4:], 200, 2.0), (torch.ones(7), 200, 2.0)),
            *((X, 201, 2.0), (X[1:], 200, 2.0), (X.half(), 200, 2.0), (X, 200, 2)),
        ):
            kernel[grid](x, n, factor)

        assert [one.call.workload.traits for one in kernel._calls.entries] == [
            ("x *fp32 D", "n i32", "factor fp32", "key n=int 200"),
            ("x *fp32 D", "n i32", "factor fp32", "key n=int 201"),
            ("x *fp32", "n i32", "factor fp32", "key n=int 200"),
            ("x *fp16 D", "n i32", "factor fp32", "key n=int 200"),
            ("x *fp32 D", "n i32", "factor i32", "key n=int 200"),
        ]
        assert bench.deciders.desk.drained(60)

    def test_without_a_key_whole_numbers_count_by_their_doublings(self, bench):
        kernel = autotune(CONFIGS, None)(fresh(scaled))
        for n in (129, 200, 255, 300, 201, 301):
            kernel[grid](X, n, 2.0)
        empty = made(key=())
        for n in (129, 200, 300):
            empty[grid](X, n, 2.0)

        assert [one.call.workload.buckets for one in kernel._calls.entries] == [(8,), (9,)]
        assert len({one.call.workload for one in empty._calls.entries}) == 1
        assert bench.deciders.desk.drained(60)

    def test_a_tensor_in_the_key_counts_by_its_type_and_alignment(self, bench):
        kernel = made(key=("x",))
        for _ in range(3):
            kernel[grid](torch.zeros(64), 60, 2.0)

        assert len(kernel._calls.entries) == 1
        assert bench.deciders.desk.drained(60)

    def test_a_line_above_a_kernel_or_an_edit_of_another_keeps_what_is_known(self, driver):
        one, other = made(), made()
        other._jit.starting_line_number += 5

        assert one._jit.cache_key != other._jit.cache_key
        for kernel in (one, other):
            with vyre.mode("off"):
                kernel[grid](X, 200, 2.0)
        first, second = (entry_of(kernel).call.workload for kernel in (one, other))
        assert first == second

    def test_an_edit_of_a_function_that_a_config_names_begins_anew(self, driver):
        functions = fresh(even), fresh(even), fresh(even)
        functions[2]._unsafe_update_src(functions[2].src.replace("tl.load(", "2 * tl.load("))
        workloads = []
        for one in functions:
            kernel = made(configs=[Config({"BLOCK": 64, "factor": one})])
            with vyre.mode("off"):
                kernel[(1,)](X, 200)
            workloads.append(entry_of(kernel).call.workload)

        assert workloads[0] == workloads[1] != workloads[2]

    def test_what_is_off_or_frozen_launches_the_first(self, bench, driver):
        kernel = made()
        with vyre.mode("off"):
            kernel[grid](X, 200, 2.0)
        with vyre.freeze(missing="error"), pytest.raises(NotRemembered):
            kernel[grid](X, 200, 2.0)

        assert blocks(driver) == [64]
        assert bench.deciders.find(entry_of(kernel).call.workload, "natural") is None

    def test_tuning_is_on_copies(self, bench, driver):
        kernel = made()
        decided = kernel.tune(grid, X, 200, 2.0, budget_s=60.0)

        assert decided.config["BLOCK"] == 128
        assert X.data_ptr() not in {one.values[0] for one in driver.launches}
        assert bench.deciders.desk.drained(60)
        kernel[grid](X, 200, 2.0)
        assert kernel.best_config is CONFIGS[1]
        assert bench.deciders.desk.drained(60)

    def test_two_threads_share_a_kernel(self, bench, driver):
        kernel, failed = made(), []

        def run(n):
            try:
                for _ in range(200):
                    kernel[grid](X, n, 2.0)
            except BaseException as error:
                failed.append(error)
                raise

        threads = [threading.Thread(target=run, args=(n,)) for n in (200, 200, 100)]
        for one in threads:
            one.start()
        for one in threads:
            one.join(600)

        assert failed == []
        assert len(driver.launches) == 600
        assert Counter(one.values[1] for one in driver.launches) == {200: 400, 100: 200}
        assert bench.deciders.desk.drained(60)


class TestFailing:
    """What cannot be compiled or launched drops a config, and not the caller."""

    def test_configs_that_cannot_be_compiled_are_left_out_by_a_first_call(
        self, bench, compiler, driver
    ):
        def refuse(constants, options):
            if constants["BLOCK"] == 64:
                raise PTXASError("too much of it")

        compiler.refuses = refuse
        compiler.shared_bytes = lambda constants: 10**6 if constants["BLOCK"] == 128 else 0
        kernel = made()

        call(bench, lambda: kernel[grid](X, 200, 2.0), times=5)

        assert set(blocks(driver)) == {256}
        assert "too much of it" in str(kernel.explain())
        assert "out of resource: shared memory" in str(kernel.explain())

    @pytest.mark.parametrize("too_large", [64, 128, 256])
    def test_what_does_not_fit_is_left_out_by_calls_of_another_kind_too(
        self, bench, compiler, driver, too_large
    ):
        """Triton keeps a kernel that failed to load, and raises the same at its next launch."""
        compiler.shared_bytes = lambda constants: 10**6 if constants["BLOCK"] == too_large else 0
        kernel = made()

        for n in (200, 100):
            call(bench, lambda n=n: kernel[grid](X, n, 2.0), times=12)
            assert "out of resource" in str(kernel.explain())

        assert set(blocks(driver)) == {64, 128, 256} - {too_large}

    def test_one_that_fails_later_is_dropped(self, bench, compiler):
        def refuse(constants, options):
            if constants["BLOCK"] == 256:
                raise PTXASError("too much of it")

        compiler.refuses = refuse
        kernel = made()

        assert call(bench, lambda: kernel[grid](X, 200, 2.0), lambda: failures(entry_of(kernel)))
        assert failures(entry_of(kernel)) == {
            "BLOCK=256, num_warps=4, num_ctas=1, num_stages=3": (
                "PTXASError: PTXAS error: too much of it"
            )
        }

    def test_one_that_the_driver_refuses_is_dropped_and_the_call_is_made(self, bench, driver):
        def act(seen):
            if seen.constants["BLOCK"] == 128:
                raise RuntimeError("Triton Error [CUDA]: invalid argument")

        driver.act = act
        kernel = made()

        assert call(bench, lambda: kernel[grid](X, 200, 2.0), lambda: failures(entry_of(kernel)))
        assert kernel.best_config is not CONFIGS[1]
        assert set(blocks(driver)) <= {64, 256}

    def test_where_all_fail_the_caller_hears_what_the_first_says(self, compiler, driver):
        compiler.shared_bytes = lambda constants: 10**6 + constants["BLOCK"]

        with pytest.raises(OutOfResources) as caught:
            made()[grid](X, 200, 2.0)

        assert caught.value.required == 10**6 + 64
        assert driver.launches == []

    def test_what_a_caller_hears_holds_no_tensor_of_the_call(self, bench, compiler, driver):
        """Neither does what it never hears: nobody waits for garbage to be collected."""

        def failing(**_):
            raise RuntimeError("Triton Error [CUDA]: too much of it")

        def refusing(*least):
            def refuse(constants, options):
                if constants["BLOCK"] not in least:
                    raise PTXASError("too much of it")

            return refuse

        def called(kernel):
            x = torch.zeros(64)
            with contextlib.suppress(RuntimeError, PTXASError):
                kernel[grid](x, 60, 2.0)
            return weakref.ref(x)

        held = []
        gc.collect()
        gc.disable()
        try:
            driver.act = lambda _: failing()
            held.append(called(made()))
            driver.act = lambda _: None
            for least in ((), (256,)):
                compiler.refuses = refusing(*least)
                held.append(called(made(configs=CONFIGS[len(least) :])))
            left = [one() for one in held]
        finally:
            gc.enable()

        assert left == [None] * 3
        assert blocks(driver) == [256]
        assert bench.deciders.desk.drained(60)

    def test_what_is_wrong_with_a_kernel_is_not_tried_300_times(self, compiler):
        def refuse(constants, options):
            raise SyntaxError("no such name")

        compiler.refuses = refuse
        kernel = made(configs=[Config({"BLOCK": n}) for n in range(1, 301)])

        with pytest.raises(SyntaxError, match="no such name"):
            kernel[grid](X, 200, 2.0)

        assert len(compiler.compiled) == 4

    def test_an_interrupt_of_a_compilation_is_the_caller_s_and_the_next_call_goes_on(
        self, bench, compiler, driver
    ):
        def refuse(constants, options):
            compiler.refuses = lambda *_: None
            raise KeyboardInterrupt

        compiler.refuses = refuse
        kernel = made()
        with pytest.raises(KeyboardInterrupt):
            kernel[grid](X, 200, 2.0)

        kernel[grid](X, 200, 2.0)

        assert blocks(driver) == [64]
        assert bench.deciders.desk.drained(60)

    def test_what_a_hook_of_a_config_raises_is_the_caller_s(self, driver):
        def hook(nargs):
            raise ValueError(sorted(nargs))

        kernel = made(configs=[Config({"BLOCK": 64}, pre_hook=hook)])
        with vyre.mode("off"), pytest.raises(ValueError, match="BLOCK") as caught:
            kernel[grid](X, 200, factor=2.0)

        names = ["BLOCK", "factor", "grid", "n", "num_ctas", "num_stages", "num_warps"]
        assert caught.value.args[0] == [*names, "warmup", "x"]


class TestAsTriton:
    """What each word of Triton's signature means here."""

    def test_hooks_and_resets_are_as_where_triton_has_chosen(self, bench, driver):
        """Triton calls them around its benchmarks alone, so that hits see neither."""
        seen = []
        options = {
            "reset_to_zero": ["x"],
            "restore_value": ["x"],
            "pre_hook": lambda kwargs, reset_only=False: seen.append("before"),
            "post_hook": lambda kwargs, exception: seen.append("after"),
        }
        theirs = triton.autotune(CONFIGS, key=["n"], **options)(fresh(scaled))
        theirs[grid](X, 200, 2.0)
        around_benchmarks = len(seen)
        assert around_benchmarks > 0
        theirs[grid](X, 200, 2.0)
        assert len(seen) == around_benchmarks  # a hit

        kernel = made(**options)
        for _ in range(3):
            kernel[grid](X, 200, 2.0)
        assert len(seen) == around_benchmarks
        assert bench.deciders.desk.drained(60)

    def test_tensors_to_be_zeroed_are_not_touched_on_hits_nor_here(self, bench):
        theirs = triton.autotune(CONFIGS, key=["n"], reset_to_zero=["x"])(fresh(scaled))
        kernel = made(reset_to_zero=["x"])
        x = torch.ones(64)
        theirs[grid](torch.ones(64), 60, 2.0)

        for one in (theirs, kernel):
            one[grid](x, 60, 2.0)
            assert x.sum() == 64

        assert bench.deciders.desk.drained(60)

    def test_a_hook_of_a_config_is_called_before_every_launch_under_it(self, bench, driver):
        seen = []
        configs = [
            Config({"BLOCK": 64}, pre_hook=lambda nargs: seen.append(nargs["BLOCK"])),
            Config({"BLOCK": 128}, pre_hook=lambda nargs: seen.append(nargs["BLOCK"])),
        ]
        kernel = made(configs=configs)
        call(bench, lambda: kernel[grid](X, 200, 2.0), times=40)

        assert seen == blocks(driver)
        assert set(seen) == {64, 128}

    def test_pruning_is_triton_s(self, bench, driver):
        asked = []

        def early(configs, nargs, **kwargs):
            asked.append((nargs, sorted(kwargs)))
            return [one for one in configs if one.kwargs["BLOCK"] > 64]

        def model(n, BLOCK, **_):  # as kernels have it
            return abs(n - BLOCK)

        for top_k in (1, 2, 0.4, 1.0, 0.01):
            options = {"early_config_prune": early, "perf_model": model, "top_k": top_k}
            kernel = made(prune_configs_by=options)
            theirs = triton.autotune(CONFIGS, key=["n"], prune_configs_by=options)(fresh(scaled))
            theirs.nargs = {"x": X, "n": 200}
            wanted = theirs.prune_configs({"factor": 2.0, "grid": grid, "warmup": False})
            kernel[grid](X, 200, factor=2.0)
            able = entry_of(kernel).made.variants.configs
            assert list(able.values()) == (wanted or [CONFIGS[2]])  # a share of few is one here
            assert asked[-1] == ({"x": X, "n": 200}, ["factor", "grid", "warmup"])
        with pytest.raises(AutotunerError):
            made(prune_configs_by={"early_config_prune": lambda *_, **__: []})[grid](X, 200, 2.0)
        assert bench.deciders.desk.drained(60)

    def test_heuristics_below_see_the_config_and_those_above_do_not(self, bench, driver):
        asked = []

        def is_even(args):
            asked.append(args.get("BLOCK"))
            return args["n"] % args["BLOCK"] == 0

        kernel = autotune(CONFIGS, ["n"])(heuristics({"EVEN": is_even})(fresh(even)))
        for n in (200, 256, 200, 256, 256):
            call(bench, lambda n=n: kernel[grid](X, n), times=20)
        assert {
            (one.constants["BLOCK"], one.values[1], one.constants["EVEN"])
            for one in driver.launches
        } >= {(64, 200, False), (64, 256, True), (128, 256, True)}
        for one in driver.launches:
            assert one.constants["EVEN"] is (one.values[1] % one.constants["BLOCK"] == 0)

        above = heuristics({"EVEN": lambda args: args["n"] == 256})(
            autotune(CONFIGS, ["n"])(fresh(even))
        )
        above[grid](X, 256)
        assert driver.launches[-1].constants["EVEN"] is True
        assert bench.deciders.desk.drained(60)

    def test_what_heuristics_say_of_other_tensors_is_compiled_and_not_timed(
        self, bench, driver, on_table
    ):
        kernel = autotune(CONFIGS[:1], ["n"])(
            heuristics({"EVEN": lambda args: args["x"].numel() % 2 == 0})(fresh(even))
        )
        for size in (64, 63, 64, 61):
            kernel[grid](torch.zeros(size), 40)

        assert [one.constants["EVEN"] for one in driver.launches] == [True, False, True, False]
        assert bench.deciders.desk.drained(60)

    def test_what_heuristics_give_a_launch_is_of_that_launch_and_is_not_kept(self, bench, driver):
        given = []

        def room(args):
            given.append(torch.zeros(args["n"]))
            return given[-1]

        kernel = autotune(CONFIGS[:1], [])(
            heuristics({"room": room, "width": lambda args: args["n"] + 1})(fresh(roomy))
        )
        for n in (20, 33, 47, 15, 21, 0):
            kernel[(1,)](X, n)
            assert driver.launches[-1].values[2:4] == (given[-1].data_ptr(), n + 1 if n else None)
        gone = [weakref.ref(one) for one in given]
        given.clear()

        assert [one() for one in gone] == [None] * len(gone)
        assert len(driver.loaded) == 3  # a width that 16 divides is one more, and one that is 1
        assert bench.deciders.desk.drained(60)

    def test_what_is_compiled_beside_calls_that_debug_is_launched_by_those_alone(
        self, bench, driver, monkeypatch
    ):
        kernel = made()
        kernel[grid](X, 200, 2.0)
        monkeypatch.setattr(triton.knobs.runtime, "debug", True)
        call(bench, lambda: kernel[grid](X, 200, 2.0), times=20)
        debugging, begun = {one.kernel for one in driver.launches[1:]}, len(driver.launches)
        monkeypatch.setattr(triton.knobs.runtime, "debug", False)
        call(bench, lambda: kernel[grid](X, 200, 2.0), times=20)
        later = {one.kernel for one in driver.launches[begun:]}

        assert len(debugging) > 1 < len(later)
        assert not debugging & later

    def test_what_a_call_says_itself_overrides_every_config(self, bench, driver):
        kernel = made()
        for _ in range(8):
            kernel[grid](X, 200, 2.0, num_warps=8)
            kernel[grid](X, 200, 2.0, BLOCK=32, num_stages=1)

        assert [one.num_warps for one in driver.launches[::2]] == [8] * 8
        assert [one.constants["BLOCK"] for one in driver.launches[1::2]] == [32] * 8
        widths = [len(one.made.variants.settings) for one in kernel._calls.entries]
        assert widths == [3, 1]

    def test_what_is_given_twice_counts_once_and_what_differs_in_type_does_not(self, bench, driver):
        configs = [Config({"BLOCK": 64}), Config({"BLOCK": 64}), Config({"BLOCK": 64}, num_warps=8)]
        kernel = made(configs=configs)
        kernel[grid](X, 200, 2.0)

        assert len(entry_of(kernel).made.variants.configs) == 2
        assert bench.deciders.desk.drained(60)

    @pytest.mark.parametrize("configs", [[], CONFIGS[:1]], ids=["none", "one"])
    def test_with_one_config_or_none_there_is_nothing_to_learn(self, bench, driver, configs):
        kernel = made(configs=configs)
        given = {} if configs else {"BLOCK": 64}
        for _ in range(20):
            kernel[grid](X, 200, 2.0, **given)

        assert blocks(driver) == [64] * 20
        assert bench.deciders.desk.drained(60)

    def test_kinds_that_pruning_leaves_other_configs_learn_apart(self, bench, driver):
        def early(configs, nargs, **kwargs):
            small = {**nargs, **kwargs}["n"] < 100
            return (one for one in configs if (one.kwargs["BLOCK"] == 64) is small)

        kernel = made(key=(), prune_configs_by={"early_config_prune": early})
        for _ in range(40):
            kernel[grid](X, 50, 2.0)
            kernel[grid](X, factor=2.0, n=200)
        assert bench.deciders.desk.drained(60)

        assert set(blocks(driver)[::2]) == {64}
        assert set(blocks(driver)[1::2]) <= {128, 256}

    def test_a_share_of_no_configs_is_refused(self, driver):
        kernel = made(prune_configs_by={"perf_model": lambda **_: 1.0, "top_k": 0})
        with pytest.raises(InvalidInput) as caught:
            kernel[grid](X, 200, 2.0)

        assert str(caught.value) == (
            "top_k=0 of scaled, which leaves none of its configs\n"
            "Fix: give how many to leave, at least 1"
        )

    def test_a_tensor_without_elements_is_launched_on(self, bench, driver):
        kernel = autotune(CONFIGS, [])(fresh(lonely))
        kernel[(1,)](torch.zeros(0))

        assert blocks(driver) == [64]
        assert bench.deciders.desk.drained(60)

    def test_settings_that_no_store_has_plainly_are_told_apart_by_their_texts(self, bench, driver):
        settings = (float("-inf"), float("nan"), -(2**63), 2**63, "\ud800")
        kernel = made(configs=[Config({"BLOCK": one}) for one in settings])
        with vyre.mode("off"):
            kernel[(1,)](X, 200, 2.0)

        assert blocks(driver) == [float("-inf")]
        assert [one["BLOCK"] for one in entry_of(kernel).made.variants.configs] == [
            *("float -inf", "float nan", f"int {-(2**63)}", f"int {2**63}", "str '\\ud800'"),
        ]

    def test_300_configs_are_taken(self, bench, driver, compiler):
        configs = [Config({"BLOCK": 64 + n}) for n in range(300)]
        TIMES_NS.update({64 + n: 1_000_000 - n for n in range(300) if 64 + n not in TIMES_NS})
        kernel = made(configs=configs)

        kernel[grid](X, 200, 2.0)

        assert len(entry_of(kernel).made.variants.configs) == 300
        assert blocks(driver) == [64]
        assert bench.deciders.desk.drained(60)

    def test_a_warmup_compiles_every_config_and_launches_none(self, driver, compiler):
        kernel = made()
        compiled = kernel.warmup(torch.float32, 200, 2.0, grid=(1,))

        assert [one["BLOCK"] for one in compiler.compiled] == [64, 128, 256]
        assert len(compiled) == 3
        assert kernel.run(X, 200, 2.0, grid=(1,), warmup=True).hash
        assert driver.launches == []

    def test_it_is_an_autotuner_for_whoever_asks(self):
        kernel = made(pre_hook=lambda kwargs, reset_only=False: None)

        assert isinstance(kernel, Autotuner)
        assert kernel.configs == CONFIGS
        assert kernel.arg_names == ["x", "n", "factor", "BLOCK"]
        assert kernel.nargs is None
        assert kernel.prune_configs({}) == CONFIGS
        assert kernel.keys == ["n"]
        assert (kernel.num_warmups, kernel.num_reps, kernel.use_cuda_graph) == (None, None, False)
        assert kernel.user_defined_pre_hook
        assert not kernel.user_defined_post_hook
        assert torch.library.wrap_triton(made()) is not None

    def test_words_about_benchmarks_are_taken_and_nothing_is_benchmarked(self, bench, driver):
        def bench_of_theirs(*_, **__):
            raise AssertionError("nobody asks it")

        kernel = made(do_bench=bench_of_theirs, cache_results=True)
        kernel[grid](X, 200, 2.0)
        with pytest.warns(DeprecationWarning, match="warmup, rep, and use_cuda_graph"):
            made(warmup=5, rep=10)[grid](X, 200, 2.0)

        assert blocks(driver) == [64, 64]
        assert bench.deciders.desk.drained(60)

    def test_configs_that_are_changed_afterwards_are_those_of_the_next_call(self, bench, driver):
        kernel = made()
        for _ in range(2):
            kernel[grid](X, 200, 2.0)
        kernel.configs = CONFIGS[1:2]
        for n in (200, 200, 201):
            kernel[grid](X, n, 2.0)
        kernel.configs = kernel.configs[:]
        kernel.configs.append(CONFIGS[2])
        kernel.configs.reverse()
        kernel[grid](X, 200, 2.0)

        assert blocks(driver)[2:] == [128, 128, 128, 256]
        assert bench.deciders.desk.drained(60)

    def test_configs_that_are_changed_while_a_call_is_recognised_are_those_of_the_next(
        self, bench, driver
    ):
        changing = []

        class Watched(torch.Tensor):
            def data_ptr(self):
                while changing:
                    changing.pop()()
                return super().data_ptr()

        kernel, watched = made(), X.as_subclass(Watched)
        for x in (watched, X, X):  # the latest call has another form
            kernel[grid](x, 200, 2.0)

        def change():
            kernel.configs = CONFIGS[1:2]
            kernel[grid](X, 200, 2.0)

        changing.append(change)
        for _ in range(3):
            kernel[grid](watched, 200, 2.0)

        assert blocks(driver)[-2:] == [128, 128]
        assert bench.deciders.desk.drained(60)


class TestCaptures:
    """While launches are recorded nothing is timed, compiled or loaded."""

    def test_what_is_loaded_is_launched_and_nothing_is_learned(self, bench, driver, on_table):
        kernel = made()
        kernel[grid](X, 200, 2.0)
        assert bench.deciders.desk.drained(60)
        on_table.capturing, timed, loaded = True, on_table.timed, len(driver.loaded)
        for n in (200, 201):
            kernel[grid](X, n, 2.0)

        assert blocks(driver) == [64] * 3
        assert (on_table.timed, len(driver.loaded)) == (timed, loaded)
        assert len(kernel._calls.entries) == 1

    def test_where_nothing_is_loaded_it_is_said_before_anything_is_done(self, driver, on_table):
        on_table.capturing = True
        kernel = made()
        for ask in (lambda: kernel[grid](X, 200, 2.0),):
            with pytest.raises(InvalidInput) as caught:
                ask()
            assert str(caught.value) == (
                "scaled has had no such call, and what is launched now is captured\n"
                "Fix: call it once before the capture, with such arguments"
            )

        assert driver.loaded == {}


class TestRefusals:
    """A mistake is said where it is written."""

    @pytest.mark.parametrize(
        ("configs", "options", "said"),
        [
            (
                CONFIGS,
                {"key": ["m"]},
                "key= of scaled names 'm', which is no argument of the kernel\n"
                "Fix: name some of x, n, factor, BLOCK",
            ),
            (
                CONFIGS,
                {"key": "m"},
                "key= of scaled names 'm', which is no argument of the kernel\n"
                "Fix: name some of x, n, factor, BLOCK",
            ),
            (CONFIGS, {"key": 3}, "key=3 of scaled\nFix: give a list of names of arguments"),
            (
                CONFIGS,
                {"key": [], "reset_to_zero": ["out"]},
                "reset_to_zero= of scaled names 'out', which is no argument of the kernel\n"
                "Fix: name some of x, n, factor, BLOCK",
            ),
            (
                CONFIGS,
                {"key": [], "prune_configs_by": {"early_prune": len}},
                "prune_configs_by= of scaled has 'early_prune'\n"
                "Fix: give some of perf_model, top_k, early_config_prune",
            ),
            (
                CONFIGS,
                {"key": [], "prune_configs_by": len},
                "prune_configs_by=<built-in function len> of scaled\n"
                "Fix: give a mapping of perf_model, top_k, early_config_prune",
            ),
            (
                5,
                {"key": []},
                "configs=5 of scaled\nFix: give a list of configs",
            ),
            (
                [{"BLOCK": 64}],
                {"key": []},
                "a config of scaled that is {'BLOCK': 64}\nFix: give each as one of Triton's, "
                'such as Config({"BLOCK": 128}, num_warps=4)',
            ),
            (
                CONFIGS,
                {"key": [], "rtol": 0.1},
                "rtol=0.1, atol=0.0 without check=True\n"
                "Fix: pass check=True as well, or leave them out",
            ),
        ],
    )
    def test_what_cannot_be_meant_is_an_error_where_it_is_written(self, configs, options, said):
        with pytest.raises(InvalidInput) as caught:
            autotune(configs, **options)(fresh(scaled))

        assert str(caught.value) == said

    def test_a_key_that_is_a_text_is_one_name(self):
        assert made(key=["n"]).keys == autotune(CONFIGS, "n")(fresh(scaled)).keys

    def test_two_autotuners_are_one_too_many(self):
        with pytest.raises(InvalidInput) as caught:
            autotune(CONFIGS, [])(made())

        assert str(caught.value) == "scaled is under two autotuners\nFix: leave one of them out"

    def test_a_function_that_is_no_kernel_is_refused(self):
        with pytest.raises(InvalidInput) as caught:
            autotune(CONFIGS, [])(grid)

        assert str(caught.value) == (
            "grid, which is no kernel of Triton's\nFix: put @triton.jit right above it"
        )

    def test_another_kind_of_gpu_is_refused_with_what_to_do(self, driver, monkeypatch):
        monkeypatch.undo()
        place.place_on.cache_clear()
        with monkeypatch.context() as within:
            within.setattr(
                driver,
                "get_current_target",
                lambda: triton.backends.compiler.GPUTarget("hip", "gfx942", 64),
            )
            within.setattr("vyre.adapter.triton.place.driver", type("D", (), {"active": driver}))
            with pytest.raises(UnsupportedFeature) as caught:
                place.place_on(0)

        assert str(caught.value) == (
            "vyre.triton.autotune on hip, whose launches Vyre cannot time\n"
            "Fix: decorate the kernel with triton.autotune there"
        )
