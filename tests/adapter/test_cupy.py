"""Kernels of CuPy, by stand-ins of its names: launches go on as before, and a block is learned."""

import ctypes
import importlib
import threading
from operator import is_
from types import SimpleNamespace

import numpy as np
import pytest

import vyre
from vyre.adapter.blocks import block_of
from vyre.adapter.grids import Launch
from vyre.adapter.trial import copying
from vyre.adapter.trial.around import UNTOUCHED, lies_at
from vyre.adapter.trial.margins import Margins
from vyre.adapter.trial.viewed import viewed
from vyre.plain import shown
from vyre.testing import stand_ins
from vyre.testing.foreign import failures, learning
from vyre.testing.here import Here
from vyre.testing.stand_ins import Launched, Launches, Stream

PLACE = "blockIdx.x * blockDim.x + threadIdx.x"
SOURCE = f"""extern "C" __global__ void twice(float *x, int n) {{
    int i = {PLACE}; // no threadIdx besides
    if (i < n) x[i] *= 2;
}}"""
FAST = (256, 1, 1)
RAISED = (TypeError, AttributeError, stand_ins.CUDADriverError)


@pytest.fixture
def launches(monkeypatch):
    """What was launched, and what its times are."""
    made = Launches(times_ns=lambda one: 4e5 if one.block == FAST else 1e6)
    monkeypatch.setattr(stand_ins, "LAUNCHES", made)
    return made


@pytest.fixture
def place(launches):
    return launches.place()


@pytest.fixture
def cupy(place):
    with stand_ins.cupy_by_name(lambda: place) as made:
        yield made


@pytest.fixture
def adapter(cupy, monkeypatch):
    """The adapter's modules by their names, and what users call."""
    monkeypatch.setattr(copying, "refuse_to_copy_much", lambda *_: None)  # no device tells
    names = ("copies", "device", "elements", "raw", "tuned")
    found = {name: importlib.import_module(f"vyre.adapter.cupy.{name}") for name in names}
    return SimpleNamespace(**{**found, "cupy": cupy, "tuned": found["tuned"].tuned})


def without_bounds(place, x):
    """A kernel that does not look whether it is within its array."""
    ctypes.memmove(x.data.ptr + 4 * place[0], np.float32(2).tobytes(), 4)


@pytest.fixture
def kernel(cupy):
    def made(code=SOURCE, name="twice", **more):
        return cupy.RawKernel(code, name, **more)

    return made


def floats(n=1024):
    return stand_ins.ndarray(np.ones(n, np.float32))


def entry_of(made):
    return list(made._calls._entries.values())[-1]


def tried(made):
    return [block_of(one) for one in entry_of(made).call.subject.question().candidates]


class TestRawKernels:
    """A grid, a block and arguments."""

    def test_the_best_is_found_from_launches_that_each_run_once(
        self, bench, adapter, kernel, launches
    ):
        made, x, called = adapter.tuned(kernel()), floats(), 0

        def launch():
            nonlocal called
            assert made((8,), (128,), (x, 1024)) is None
            called += 1

        assert bench.call(launch, 600, lambda: entry_of(made).chosen["block"] == 256)
        bench.call(launch, 20)

        assert len(launches.made) == called
        assert launches.blocks[0] == (128, 1, 1)
        assert launches.blocks[-20:].count(FAST) > 10  # others are looked at again now and then
        assert {one.positions for one in launches.made} == {launches.made[0].positions}
        assert all(one.args == (x, 1024) for one in launches.made)
        assert made.decision((8,), (128,), (x, 1024)).config.text == "block=256"

    def test_the_next_process_starts_with_what_was_learned(self, bench, adapter, kernel, launches):
        made, x = adapter.tuned(kernel()), floats()
        assert bench.call(
            lambda: made((8,), (128,), (x, 1024)),
            600,
            lambda: entry_of(made).chosen["block"] == 256,
        )
        bench.call(lambda: made((8,), (128,), (x, 1024)), 20)

        with learning(bench.again()):
            adapter.tuned(kernel())((8,), (128,), (x, 1024))

        assert launches.blocks[-1] == FAST

    def test_what_was_learned_is_explained(self, bench, adapter, kernel):
        made, x = adapter.tuned(kernel(), blocks=(256, 96)), floats()
        assert bench.call(
            lambda: made((8,), (128,), (x, 1024)),
            600,
            lambda: entry_of(made).chosen["block"] == 256,
        )

        head, guard, _, where, *lines = str(made._calls.explain()).splitlines()

        assert head == "twice: that its configs compute the same is stated by its author"
        assert guard.startswith("  not guarded: ")
        assert where.startswith("1,024 elements on ")
        assert "  runs        block=256" in lines
        assert "  default     block=128" in lines
        assert "  left out    96: it does not divide 1024" in lines

    @pytest.mark.usefixtures("bench")
    def test_a_size_is_covered_by_as_many_blocks_as_it_takes(self, adapter, kernel, launches):
        made, x = adapter.tuned(kernel(), size=lambda _, n: n), floats(1000)

        for n in (1000, 1000, 999, 600):
            made((8,), (128,), (x, n))

        assert tried(made) == [(n,) for n in (128, 32, 64, 256, 512, 1024)]
        entry = entry_of(made)
        start = entry.made(Launch.of((8,), (128,)).config((256,)))
        for n, blocks in ((600, 3), (1000, 4), (600, 3)):
            start(((x, n), None, (8,), n), 0)
            assert launches.made[-1].grid == (blocks, 1, 1)
        assert len(set(made._calls._entries.values())) == 1
        made((4,), (128,), (x, 1000))  # which has fewer threads than it says
        assert tried(made) == [(128,)]

    def test_sizes_that_are_ever_new_are_learned_together(self, bench, adapter, kernel, launches):
        made, x, sizes = adapter.tuned(kernel(), size=lambda _, n: n), floats(), iter(range(10**6))

        def launch():
            n = 2**20 + next(sizes)
            made((-(-n // 128),), (128,), (x, n))

        assert bench.call(launch, 600, lambda: entry_of(made).chosen["block"] == 256)
        bench.call(launch, 20)

        assert len(set(made._calls._entries.values())) == 1
        assert launches.blocks[-20:].count(FAST) > 10
        for one in launches.made:
            n, threads = one.args[1], one.grid[0] * one.block[0]
            assert n <= threads < n + one.block[0]

    @pytest.mark.usefixtures("bench")
    @pytest.mark.parametrize("listed", [list, tuple, np.array, iter])
    def test_sizes_of_several_axes_and_in_lists(self, adapter, kernel, listed):
        made, x = adapter.tuned(kernel(), size=lambda _, n: listed([n, 30])), floats(1000)

        made((4, 2), (8, 16), (x, 30))
        made((4, 2), (8, 16), (x, 30))

        assert len(set(made._calls._entries.values())) == 1
        assert (32, 32) in tried(made)

    @pytest.mark.usefixtures("bench")
    @pytest.mark.parametrize("listed", [tuple, list])
    def test_launches_that_take_turns_are_each_launched_as_they_are(
        self, adapter, kernel, launches, listed
    ):
        made = adapter.tuned(kernel(), size=lambda _, n: listed([n]))
        arrays = [floats(1000), floats(1001)]
        kinds = [
            ((grid,), (block,), (x, n), on)
            for grid, block in ((8, 128), (4, 256))
            for x in arrays
            for n in (1000, np.int32(999), 7)
            for on in (None, Stream(5))
        ]
        with vyre.mode("off"):
            for grid, block, args, on in [one for one in kinds for _ in range(3)] + kinds * 2:
                made(grid, block, args, stream=on)

                last = launches.made[-1]
                assert (last.grid[0], last.block[0]) == (grid[0], block[0])
                assert all(map(is_, last.args, args))
                assert on is None or last.stream in (on, on.ptr)

    @pytest.mark.usefixtures("bench")
    def test_a_stride_takes_any_number_of_threads(self, adapter, kernel):
        stepping = (
            f"__global__ void f(float *x, int n) {{ for (int i = {PLACE}; i < n; i += blockDim.x * "
            "gridDim.x) x[i] = 1; }"
        )
        made, x = adapter.tuned(kernel(stepping), grid="stride"), floats(1000)

        made((3,), (100,), (x, 1000))

        assert tried(made) == [(n,) for n in (100, 32, 64, 128, 256, 512, 1024)]

    @pytest.mark.usefixtures("bench")
    def test_as_many_threads_keep_a_stride_that_is_written_out(self, adapter, kernel):
        stepping = f"for (int i = {PLACE}; i < n; i += blockDim.x * gridDim.x) x[i] = 1;"

        exact, sized = adapter.tuned(kernel(stepping)), adapter.tuned(kernel(stepping), size=1000)
        for made in (exact, sized):
            made((8,), (128,), (floats(), 1000))

        assert len(tried(exact)) == 6
        assert tried(sized) == [(128,)]

    @pytest.mark.usefixtures("bench")
    def test_the_grid_stays_where_each_block_does_a_piece(self, adapter, kernel, launches):
        made = adapter.tuned(kernel("x[threadIdx.x]"), blocks=(64,), grid="same")

        made((7,), (128,), (floats(), 1))
        entry_of(made).made(Launch.of((7,), (64,)).default)(((floats(), 1), None, (7,), None), 0)

        assert [one.grid for one in launches.made] == [(7, 1, 1)] * 2
        assert launches.blocks[-1] == (64, 1, 1)

    @pytest.mark.usefixtures("bench")
    @pytest.mark.parametrize(
        ("code", "more", "why"),
        [
            ("x[threadIdx.x] = 1;", {}, "its source says threadIdx"),
            (None, {}, "its source is not known"),
            (SOURCE, {"options": ("-DT=threadIdx",)}, "its source says threadIdx"),
        ],
    )
    def test_what_may_depend_on_the_block_runs_as_given(self, adapter, kernel, code, more, why):
        one = kernel(SOURCE if code is None else code, **more)
        if code is None:
            one.code, one.file_path = None, __file__
        made = adapter.tuned(one)

        made((8,), (128,), (floats(), 1))

        assert tried(made) == [(128,)]
        assert entry_of(made).call.subject.question().refused == (
            f"all other blocks: {why}, so what it gives may depend on them; "
            "blocks= names those that give the same",
        )

    @pytest.mark.usefixtures("bench")
    def test_shared_memory_that_is_given_counts_as_a_sign(self, adapter, kernel, launches):
        made = adapter.tuned(kernel())

        made((8,), (128,), (floats(), 1), shared_mem=64)

        assert tried(made) == [(128,)]
        assert launches.made[-1].shared_bytes == 64
        (said,) = entry_of(made).call.subject.question().refused
        assert said.startswith("all other blocks: it is given 64 bytes of shared memory for each")

    @pytest.mark.usefixtures("bench")
    def test_a_cooperative_grid_stays_as_it_is(self, adapter, kernel):
        made = adapter.tuned(kernel(enable_cooperative_groups=True), blocks=(64,))

        made((8,), (128,), (floats(), 1))

        assert tried(made) == [(128,)]
        assert entry_of(made).call.subject.question().refused == (
            "all other blocks: it is launched as one cooperative grid",
        )

    @pytest.mark.usefixtures("bench")
    def test_blocks_beyond_what_the_kernel_can_have_are_left_out(self, adapter, kernel, launches):
        launches.most_threads = 256
        made = adapter.tuned(kernel())

        made((8,), (128,), (floats(), 1))

        assert tried(made) == [(n,) for n in (128, 32, 64, 256)]

    def test_a_block_that_fails_is_dropped_and_the_launch_is_made(
        self, bench, adapter, kernel, launches
    ):
        launches.failing = lambda one: (
            stand_ins.CUDADriverError("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES")
            if one.block == (512, 1, 1)
            else None
        )
        made, x, called = adapter.tuned(kernel()), floats(), 0

        def launch():
            nonlocal called
            made((8,), (128,), (x, 1024))
            called += 1

        assert bench.call(launch, 600, lambda: failures(entry_of(made)))

        assert failures(entry_of(made)) == {
            "block=512": "CUDADriverError: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
        }
        assert len(launches.made) == called

    @pytest.mark.usefixtures("bench")
    @pytest.mark.parametrize(
        "call",
        [
            lambda k, x: k([8], (128,), (x, 1)),
            lambda k, x: k((8,), [128], (x, 1)),
            lambda k, x: k(8, 128, (x, 1)),
            lambda k, _: k((8,), (128,), ("text",)),
            lambda k, _: k((8,), (128,), (np.ones(3),)),
            lambda k, _: k((8,), (128,), 3),
            lambda k, x: k((8,), (10**6,), (x, 1)),
            lambda k, x: k((8,), (128,), (x, 1), stream=3),
        ],
    )
    def test_what_is_wrong_with_a_call_is_what_the_library_says(self, adapter, kernel, call):
        said = []
        for function in (kernel(), adapter.tuned(kernel())):
            for _ in range(2):
                with pytest.raises(
                    (TypeError, AttributeError, stand_ins.CUDADriverError)
                ) as caught:
                    call(function, floats())
                said.append((caught.type, str(caught.value)))

        assert len(set(said)) == 1

    @pytest.mark.usefixtures("bench")
    def test_arguments_by_their_names_and_of_every_kind(self, adapter, kernel, launches):
        made, x = adapter.tuned(kernel()), floats()
        args = (x, 1, True, 0.5, np.int32(3), np.float32(1), 1j, None, np.uint8(2))

        made(grid=(8,), block=(128,), args=args, shared_mem=0, stream=None)
        made((8,), (128,), list(args))

        assert [one.args for one in launches.made] == [args, args]

    @pytest.mark.usefixtures("bench")
    def test_grids_of_none_are_as_the_library_has_them(self, adapter, kernel, launches):
        made = adapter.tuned(kernel())

        made((0,), (128,), (floats(), 1))

        assert launches.made == [Launched((1, 1, 1), (128, 1, 1), launches.made[0].args, 0, 0)]
        assert made._calls._entries == {}
        with pytest.raises(vyre.InvalidInput) as caught:
            made.decision((0,), (128,), (floats(), 1))
        assert str(caught.value) == (
            "twice over a grid of (0,) of (128,) is not for learning\n"
            "Fix: give whole numbers of at least 1 in tuples, and ask outside of a capture"
        )

    @pytest.mark.usefixtures("bench")
    @pytest.mark.parametrize(
        "given",
        [
            ((4.0,), (128,), 0),
            ((2, np.float64(2)), (128,), 0),
            ((4,), (128.0,), 0),
            ((4,), (128,), 0.0),
        ],
    )
    def test_what_equals_a_whole_number_and_is_none_is_for_the_library_to_refuse(
        self, adapter, kernel, monkeypatch, given
    ):
        *sizes, shared = given
        one, x = kernel(), floats()
        made = adapter.tuned(one)
        for _ in range(3):
            made((4,), (128,), (x, 1))
            made((2, 2), (128,), (x, 1))
        refused = []
        monkeypatch.setattr(
            stand_ins.RawKernel, "__call__", lambda _, *given, **more: refused.append((given, more))
        )

        made(*sizes, (x, 1), shared_mem=shared)

        assert refused == [((*sizes, (x, 1)), {"shared_mem": shared, "stream": None})]
        made((np.int64(4),), (128,), (x, 1))
        assert len(refused) == 1

    @pytest.mark.usefixtures("bench")
    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize(
        ("grid", "block"),
        [(300, np.uint8(64)), (np.uint8(200), np.uint8(100)), (2**31 - 1, np.int32(64))],
    )
    def test_numbers_of_numpy_s_are_not_added_up(self, adapter, kernel, launches, grid, block):
        made, x = adapter.tuned(kernel()), floats()
        with vyre.mode("off"):
            for _ in range(4):
                made((grid,), (block,), (x, 1))

        assert [(one.grid[0], one.block[0]) for one in launches.made] == [(grid, block)] * 4

    @pytest.mark.usefixtures("bench")
    def test_a_size_of_nothing_is_launched_as_it_is(self, adapter, kernel, launches):
        made = adapter.tuned(kernel(), size=lambda _, n: n)

        made((1,), (32,), (floats(), 0))

        assert len(launches.made) == 1
        assert made._calls._entries == {}

    @pytest.mark.usefixtures("bench")
    def test_what_a_size_raises_is_the_callers_to_hear(self, adapter, kernel):
        made = adapter.tuned(kernel(), size=lambda _, n: 1 // n)

        with pytest.raises(ZeroDivisionError):
            made((1,), (32,), (floats(), 0))
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'n'"):
            adapter.tuned(kernel(), size=lambda _, n: n)((1,), (32,), (floats(),))

    @pytest.mark.usefixtures("bench")
    @pytest.mark.parametrize("n", [np.float64(0.5), np.array(3), {3: "three", "four": 4}, ([3],)])
    def test_sizes_that_are_none_are_said(self, adapter, kernel, n):
        made = adapter.tuned(kernel(), size=lambda *_: n)

        with pytest.raises(vyre.InvalidInput) as caught:
            made((8,), (128,), (floats(), 1024))

        assert str(caught.value) == (
            f"size= of twice is {shown(n)}\nFix: give one to three whole numbers of at least 0"
        )

    def test_a_stream_of_ones_own_and_that_of_the_thread(
        self, bench, adapter, kernel, launches, place, monkeypatch
    ):
        asked = []
        monkeypatch.setattr(place, "is_capturing", lambda stream: bool(asked.append(stream)))
        made, x = adapter.tuned(kernel()), floats()

        for ptr in range(1, 60):
            bench.call(lambda: made((8,), (128,), (x, 1), stream=Stream(ptr)), 1)  # noqa: B023
        with Stream(1000):
            bench.call(lambda: made((8,), (128,), (x, 1)), 3)

        assert [one.stream for one in launches.made] == [*range(1, 60), *[1000] * 3]
        assert set(asked) <= {*range(1, 60), 1000}
        assert len(made._calls._entries) == 1

    @pytest.mark.usefixtures("bench")
    def test_devices_are_told_apart(self, adapter, kernel):
        made, x, here = adapter.tuned(kernel()), floats(), [0]
        made._device.number = lambda: here[0]

        for here[0] in (0, 1, 0, 1):
            made((8,), (128,), (x, 1024))

        assert len(made._calls._entries) == 2
        assert sorted(made._texts) == [0, 1]

    @pytest.mark.usefixtures("bench")
    @pytest.mark.parametrize(("many", "told"), [(1, []), (2, [1] * 5)])
    def test_nothing_is_asked_of_cuda_before_the_first_call(
        self, adapter, kernel, monkeypatch, many, told
    ):
        """A process that is forked later could use no device; one device is asked for once."""
        runtime, counted, asked = adapter.cupy.cuda.runtime, [], []
        monkeypatch.setattr(runtime, "getDeviceCount", lambda: counted.append(1) or many)
        monkeypatch.setattr(runtime, "getDevice", lambda: asked.append(1) or 0)
        made, x = adapter.tuned(kernel()), floats()
        elements = adapter.tuned(adapter.cupy.ElementwiseKernel("float32 x", "float32 y", "y = x"))
        assert counted == asked == []

        for _ in range(2):
            made((8,), (128,), (x, 1024))
            elements(x)
        asked.clear()
        for _ in range(5):
            made((8,), (128,), (x, 1024))

        assert counted == [1, 1]
        assert asked == told

    @pytest.mark.usefixtures("bench")
    def test_in_a_capture_what_is_given_is_launched_and_nothing_is_learned(
        self, adapter, kernel, launches, place
    ):
        place.capturing = True
        made = adapter.tuned(kernel())

        for _ in range(20):
            made((8,), (128,), (floats(), 1))

        assert set(launches.blocks) == {(128, 1, 1)}
        assert place.timed == 0
        assert made._calls._entries == {}

    def test_an_interrupt_ends_a_call_and_nothing_else(self, bench, adapter, kernel, launches):
        made, x = adapter.tuned(kernel()), floats()
        bench.call(lambda: made((8,), (128,), (x, 1)), 3)
        launches.failing = lambda _: KeyboardInterrupt()
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                made((8,), (128,), (x, 1))
        launches.failing = lambda _: None

        assert bench.call(
            lambda: made((8,), (128,), (x, 1)), 600, lambda: entry_of(made).chosen["block"] == 256
        )

    @pytest.mark.usefixtures("bench")
    def test_two_threads_launch_what_each_asks_for(self, adapter, kernel, launches):
        made, barrier = adapter.tuned(kernel()), threading.Barrier(2)
        xs = floats(), floats()

        def launch(x):
            barrier.wait(60)
            for _ in range(200):
                made((8,), (128,), (x, 1024))

        threads = [threading.Thread(target=launch, args=(x,)) for x in xs]
        for one in threads:
            one.start()
        for one in threads:
            one.join(60)

        assert len(launches.made) == 400
        assert [sum(one.args[0] is x for one in launches.made) for x in xs] == [200, 200]
        assert len(made._calls._entries) == 1

    def test_tuning_works_on_copies_that_lie_as_the_arrays_do(
        self, bench, adapter, kernel, launches
    ):
        made = adapter.tuned(kernel())
        x = stand_ins.ndarray(np.asfortranarray(np.ones((32, 32), np.float32)))

        decision = made.tune((8,), (128,), (x, 1024), budget_s=600.0)

        assert decision.config.text == "block=256"
        assert bench.recorder.get(decision.workload).config == decision.config
        assert all(one.args[0] is not x for one in launches.made)
        assert all(one.args[0].flags.f_contiguous for one in launches.made)

    @pytest.mark.usefixtures("bench")
    def test_a_part_of_an_array_is_not_copied_as_a_whole(self, adapter, kernel):
        made = adapter.tuned(kernel())
        x = stand_ins.ndarray(np.ones((8, 8), np.float32)[:, ::2])

        made((8,), (128,), (x, 32))
        with pytest.raises(vyre.InvalidInput) as caught:
            made.tune((8,), (128,), (x, 32))

        assert str(caught.value) == (
            "argument 0 is a part of an array, (8, 4) with strides (32, 8), and a raw kernel may "
            "see what lies between\n"
            "Fix: pass a contiguous array, or call it and let it learn without check="
        )

    @pytest.mark.usefixtures("bench")
    def test_what_nobody_can_copy_is_not_tuned_on(self, adapter, kernel):
        with pytest.raises(vyre.InvalidInput) as caught:
            adapter.tuned(kernel()).tune((8,), (128,), (object(),))

        problem, fix = str(caught.value).splitlines()
        assert problem.endswith(", cannot be copied")
        assert fix == "Fix: pass arrays and plain values, or call it and let it learn"

    @pytest.mark.usefixtures("bench")
    def test_what_a_kernel_is_tells_choices_apart(self, adapter, kernel, tmp_path, monkeypatch):
        monkeypatch.setattr(adapter.cupy.cuda.nvrtc, "getVersion", lambda: (13, 0))
        binary = tmp_path / "k.cubin"
        binary.write_bytes(b"\x7fELF")
        of_file = kernel()
        of_file.code, of_file.file_path = None, str(binary)
        kernels = [
            kernel(),
            kernel(SOURCE + " "),
            kernel(options=("-DN=1",)),
            kernel(name="thrice"),
            kernel(backend="nvcc"),
            of_file,
        ]
        texts = [adapter.tuned(one)._text() for one in kernels]

        assert len(set(texts)) == 6
        assert texts[0] == adapter.tuned(kernel())._text()
        assert adapter.device.versions() == "cupy 14.2.0, nvrtc (13, 0)"

    @pytest.mark.usefixtures("bench", "launches")
    def test_the_source_of_several_kernels_is_read_once(self, adapter, kernel, monkeypatch):
        read, inner = [], adapter.raw.sign_in
        monkeypatch.setattr(
            adapter.raw, "sign_in", lambda *a, **k: read.append(a) or inner(*a, **k)
        )
        source = SOURCE + "// read once"

        for name in ("one", "two", "three"):
            adapter.tuned(kernel(source, name=name))((8,), (128,), (floats(), 1))

        assert read == [(source, ())]

    @pytest.mark.usefixtures("bench")
    def test_a_file_that_is_gone_since_it_was_loaded_stops_no_launch(
        self, adapter, kernel, launches, tmp_path
    ):
        of_file = kernel()
        of_file.code, of_file.file_path = None, str(tmp_path / "gone.cubin")

        adapter.tuned(of_file)((8,), (128,), (floats(), 1))

        assert launches.blocks == [(128, 1, 1)]


class TestTrials:
    """A kernel and copies of its arguments, for a process that may die."""

    @pytest.mark.usefixtures("launches")
    def test_a_raw_kernel_runs_there_as_it_would_here(self, adapter, kernel, monkeypatch):
        one = kernel()
        launch = Launch.of((8,), (128,), (1000,))
        variants = adapter.raw._Raw(one, launch, 16, frozenset((launch.default,)))
        monkeypatch.setattr(adapter.copies, "pickled", lambda _: b"kernel")
        monkeypatch.setattr(adapter.copies.cloudpickle, "loads", lambda _: one)

        taken = variants.portable(((floats(), np.int32(3), 2, None), None, (8,), 1000))
        written, beside = adapter.raw.runs(taken.kernel)({"block": 256}, list(taken.arguments))

        assert taken.names == ("argument 0",)
        assert [type(value) for value in taken.arguments] == [np.ndarray, np.int32, int, type(None)]
        assert written.tolist() == [1.0] * 1024
        assert beside.name == "the memory beside argument 0"
        assert (beside.array == UNTOUCHED).all()
        (made,) = stand_ins.LAUNCHES.made
        assert (made.grid, made.block, made.shared_bytes) == ((4, 1, 1), (256, 1, 1), 16)

    @pytest.mark.usefixtures("launches")
    def test_a_kernel_of_elements_runs_there_as_it_would_here(self, adapter, cupy, monkeypatch):
        one = cupy.ElementwiseKernel("T x", "T y", "y = x")
        variants = adapter.elements._Elementwise(one, frozenset())
        monkeypatch.setattr(adapter.copies, "pickled", lambda _: b"kernel")
        monkeypatch.setattr(adapter.copies.cloudpickle, "loads", lambda _: one)

        taken = variants.portable(((floats(), 2.0), -1, None))
        written = adapter.elements.runs(taken.kernel)({"block": 64}, list(taken.arguments))

        assert [getattr(one, "name", "") for one in written] == [
            "",
            "",
            "the memory beside argument 0",
        ]
        assert stand_ins.LAUNCHES.blocks == [(64, 1, 1)]

    @pytest.mark.parametrize(
        "code", ["__constant__ float c[3];", "__device__ int n = 3;", "__managed__ int n;"]
    )
    def test_memory_of_a_modules_own_is_not_there(self, adapter, kernel, code):
        launch = Launch.of((8,), (128,))
        with pytest.raises(vyre.InvalidInput) as caught:
            adapter.raw._Raw(kernel(code), launch, 0, frozenset()).portable(
                ((floats(),), None, (8,), None)
            )

        assert str(caught.value) == (
            "check= of twice, whose source has memory of its own, which another process does not "
            "have\nFix: pass it as an array, or leave check= out"
        )

    def test_functions_of_a_device_are_no_memory(self, adapter):
        assert not adapter.raw._OWN_MEMORY.search(
            "__device__ float f(float x); __device__ int g() {"
        )

    @pytest.mark.usefixtures("launches")
    def test_what_cannot_be_taken_is_refused(self, adapter, kernel):
        variants = adapter.raw._Raw(kernel(), Launch.of((8,), (128,)), 0, frozenset())

        with pytest.raises(vyre.InvalidInput) as caught:
            variants.portable(((floats(), object()), None, (8,), None))

        problem, fix = str(caught.value).splitlines()
        assert problem.startswith("argument 1, <object object at ")
        assert problem.endswith(", cannot be had in another process")
        assert fix == "Fix: leave check= out, or pass arrays and plain values"

    @pytest.mark.parametrize("order", ["C", "F"])
    def test_arrays_lie_there_as_they_do_here(self, adapter, kernel, launches, monkeypatch, order):
        one = kernel()
        monkeypatch.setattr(adapter.copies, "pickled", lambda _: b"kernel")
        monkeypatch.setattr(adapter.copies.cloudpickle, "loads", lambda _: one)
        variants = adapter.raw._Raw(one, Launch.of((1,), (1,)), 0, frozenset())
        held = np.zeros((3, 5), order=order)
        aligned = Margins().within(viewed(np.zeros(65, "f4")))[1:17]  # to 4 bytes
        args = tuple(map(stand_ins.ndarray, (held, aligned, np.zeros(()), np.zeros(0))))

        taken = variants.portable((args, None, (1,), None))
        adapter.raw.runs(taken.kernel)({"block": 1}, list(taken.arguments))

        found = launches.made[-1].args
        assert [(x.shape, x.strides, x.dtype) for x in found] == [
            (x.shape, x.strides, x.dtype) for x in args
        ]
        assert [at for _, at in taken.kernel["arrays"]][1] == lies_at(aligned.ctypes.data)

    def test_a_block_that_writes_beside_an_array_never_serves(
        self, adapter, bench, kernel, launches, monkeypatch
    ):
        here, one, x = Here(), kernel(), floats(100)
        one.body = without_bounds
        monkeypatch.setattr("vyre.adapter.trial.trials.trying", lambda: here)
        made = adapter.tuned(one, size=lambda _: 100, check=True)

        assert bench.call(lambda: made((25,), (4,), (x,)), 300, lambda: len(here.jobs) > 5)
        bench.call(lambda: made((25,), (4,), (x,)), 20)

        assert {one.block for one in launches.made if one.args[0] is x} == {(4, 1, 1)}
        assert (
            "  dropped     block=256: it differs from block=4: the memory beside argument 0 has "
            "624 of 8,192 elements that differ, such as 0 at 4096, where it should be 165"
        ) in str(made.explain())

    @pytest.mark.usefixtures("bench", "launches")
    def test_the_default_is_tried_before_it_serves(self, adapter, kernel, monkeypatch):
        began = []

        def begin(admitted, configs):
            began.append(configs)
            admitted.passed.add(configs[0])

        monkeypatch.setattr("vyre.adapter.calls.Admitted.begin", begin)
        monkeypatch.setattr(adapter.copies, "pickled", lambda _: b"kernel")
        raw, elements = kernel(), stand_ins.ElementwiseKernel("T x", "T y", "y = x")

        adapter.tuned(raw, check=True)((8,), (128,), (floats(), 1))
        adapter.tuned(elements, check=True)(floats())

        assert [len(configs) for configs in began] == [6, 6]


class TestKernelsOfElements:
    """Arrays alone; the grid follows."""

    @pytest.fixture
    def square(self, cupy):
        def made(operation="y = x * x", **more):
            return cupy.ElementwiseKernel("T x", "T y", operation, "square", **more)

        return made

    def test_the_best_is_found_and_each_call_gives_what_it_gave(
        self, bench, adapter, square, launches
    ):
        made, x, called = adapter.tuned(square()), floats(), 0

        def launch():
            nonlocal called
            assert made(x) is x
            called += 1

        assert bench.call(launch, 600, lambda: called > 1 and entry_of(made).chosen["block"] == 256)
        bench.call(launch, 20)

        assert len(launches.made) == called
        assert launches.blocks[0] == (128, 1, 1)
        assert launches.blocks[-20:].count(FAST) > 10
        assert made.decision(x).config.text == "block=256"
        assert made.tune(x, budget_s=600.0).config.text == "block=256"

    @pytest.mark.usefixtures("bench")
    def test_the_first_call_of_a_kind_is_the_librarys_own(self, adapter, square, place):
        made = adapter.tuned(square())

        made(floats())

        assert place.timed == 0
        assert len(made._calls._entries) == 1

    @pytest.mark.usefixtures("bench")
    def test_a_block_a_size_and_a_stream_are_taken_as_before(self, adapter, square, launches):
        made, x = adapter.tuned(square(no_return=True)), floats()

        for _ in range(2):
            assert made(x, size=100, stream=Stream(7), block_size=64) is None
            made(x, size=np.int64(100), stream=Stream(7), block_size=64)

        assert launches.made[0] == Launched((2, 1, 1), (64, 1, 1), (x,), 0, 7)
        assert {one.stream for one in launches.made} == {7}
        assert tried(made)[0] == (64,)
        assert len(made._calls._entries) == 1

    @pytest.mark.usefixtures("bench")
    def test_no_elements_are_as_the_library_has_them(self, adapter, square, launches):
        made, x = adapter.tuned(square()), floats(0)

        for _ in range(3):
            assert made(x) is x
        made(floats(), size=0)

        assert launches.made == []
        assert made._calls._entries == {}

    @pytest.mark.usefixtures("bench")
    @pytest.mark.parametrize(
        ("more", "why"),
        [
            ({"operation": "y = threadIdx.x"}, "its source says threadIdx"),
            (
                {"operation": "y = f(x)", "preamble": "__shared__ int s;"},
                "its source says __shared__",
            ),
            ({"loop_prep": "int a = blockDim.x;"}, "its source says blockDim"),
            (
                {"loop_prep": "atomicAdd(&y[0], 1);"},
                "its loop_prep has atomics, which threads without an element run as well",
            ),
            (
                {"after_loop": "y[0] = 1;"},
                "it has an after_loop, which threads without an element run as well",
            ),
            (
                {
                    "loop_prep": "mark(flags);",
                    "preamble": "void mark(int *p) { p[blockIdx.x * blockDim.x + threadIdx.x]; }",
                },
                "it has a loop_prep and says blockIdx, which threads without an element run as "
                "well",
            ),
            (
                {"preamble": "#define CUPY_FOR(i, n) int i = 0;\n"},
                "its source defines CUPY_FOR, by which its elements are found",
            ),
            (
                {"operation": "y = x; } z[0] = 1; {"},
                "it closes braces that it does not open, and so the loop of its elements",
            ),
            (
                {"preamble": "# undef n\n"},
                "its source defines n, by which its elements are found",
            ),
            ({"options": ("-DT=threadIdx",)}, "its source says threadIdx"),
        ],
    )
    def test_what_may_depend_on_the_block_runs_as_given(self, adapter, square, more, why):
        made = adapter.tuned(square(**more))

        made(floats())

        assert tried(made) == [(128,)]
        (said,) = entry_of(made).call.subject.question().refused
        assert said.startswith(f"all other blocks: {why}, so what it gives may depend on them; ")

    @pytest.mark.usefixtures("bench")
    def test_those_that_are_named_are_tried(self, adapter, square):
        made = adapter.tuned(square("y = threadIdx.x"), blocks=(64, 192))

        made(floats())

        assert tried(made) == [(128,), (64,), (192,)]

    @pytest.mark.usefixtures("bench")
    def test_kinds_of_arrays_are_told_apart(self, adapter, square):
        made = adapter.tuned(square())
        flat = np.ones(1500, np.float32)

        for held in (flat, flat[:1100], flat.astype("f8"), flat.reshape(30, 50), flat[::2]):
            made(stand_ins.ndarray(held))
        made(floats(), 2.0)

        assert len(made._calls._entries) == 5  # by their doublings, 1100 are as 1500

    @pytest.mark.usefixtures("bench")
    @pytest.mark.parametrize(
        "call",
        [
            lambda k: k(floats(), block_size=0),
            lambda k: k(floats(), block_size=-3),
            lambda k: k(floats(), block_size="64"),
            lambda k: k(floats(), size="all"),
            lambda k: k(floats(), size=None),
        ],
    )
    def test_what_is_wrong_with_a_call_is_what_the_library_says(self, adapter, square, call):
        said = []
        for function in (square(), adapter.tuned(square())):
            with pytest.raises((TypeError, ValueError)) as caught:
                call(function)
            said.append((caught.type, str(caught.value)))

        assert said[0] == said[1]

    @pytest.mark.usefixtures("bench")
    def test_a_block_size_that_equals_a_whole_number_is_for_the_library_to_refuse(
        self, adapter, square, launches, monkeypatch
    ):
        made, x, given = adapter.tuned(square()), floats(), []
        for _ in range(3):
            made(x, block_size=64)
        monkeypatch.setattr(
            stand_ins.ElementwiseKernel, "__call__", lambda *_, **more: given.append(more)
        )

        made(x, block_size=64.0)

        assert [one["block_size"] for one in given] == [64.0]
        assert type(given[0]["block_size"]) is float
        assert launches.blocks

    @pytest.mark.usefixtures("bench")
    def test_arrays_that_bring_their_own_way_are_left_to_it(self, adapter, square):
        class Distributed(stand_ins.ndarray):
            def __cupy_override_elementwise_kernel__(self):
                """Whatever it does."""

        made = adapter.tuned(square())
        made(Distributed(np.ones(3)))

        assert made._calls._entries == {}


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda _, tuned: tuned(3),
            "3 is no RawKernel or ElementwiseKernel of CuPy's\n"
            "Fix: give one, such as cupy.RawModule(code=...).get_function(name)",
        ),
        (
            lambda cupy, tuned: tuned(cupy.ElementwiseKernel("", "", "", "sq"), size=3),
            "size=3 of sq, an ElementwiseKernel\n"
            "Fix: leave it out: its grid follows from its arrays",
        ),
        (
            lambda cupy, tuned: tuned(cupy.ElementwiseKernel("", "", "", "sq"), [(8, 8)]),
            "blocks=[(8, 8)] of sq, an ElementwiseKernel\nFix: give numbers of threads",
        ),
        (
            lambda cupy, tuned: tuned(cupy.RawKernel("", "f"), rtol=1.0),
            "rtol=1.0, atol=0.0 without check=True\n"
            "Fix: pass check=True as well, or leave them out",
        ),
    ],
)
def test_what_is_wrong_is_said_where_it_is_written(cupy, adapter, make, said):
    with pytest.raises(vyre.InvalidInput) as caught:
        make(cupy, adapter.tuned)

    assert str(caught.value) == said


@pytest.mark.usefixtures("adapter", "launches")
def test_a_function_of_a_module_is_a_kernel(cupy, bench):
    public = importlib.import_module("vyre.cupy")
    made = public.tuned(cupy.RawModule(code=SOURCE).get_function("twice"))

    bench.call(lambda: made((8,), (128,), (floats(), 1)), 3)

    assert isinstance(made, public.TunedRawKernel)
    assert repr(made) == "<tuned twice>"
