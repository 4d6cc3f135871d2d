"""Kernels of Numba's, by stand-ins of its names: launches go on as before, a block is learned."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

import vyre
from vyre.adapter import alike
from vyre.adapter.blocks import block_of
from vyre.adapter.trial import copying
from vyre.adapter.trial.around import MARGIN, surrounded
from vyre.plain import shown
from vyre.testing import stand_ins
from vyre.testing.foreign import failures, learning
from vyre.testing.stand_ins import CudaAPIError, Dispatcher, Launched, Launches, Stream

pytest.importorskip("numba")
cuda = pytest.importorskip("numba.cuda")
from vyre.adapter.numba import arrays, device, variants  # noqa: E402  # they need Numba
from vyre.numba import HostArraysWarning, TunedKernel, tuned  # noqa: E402

FAST = (256, 1, 1)


def twice(x, n):
    i = cuda.grid(1)
    if i < n:
        x[i] *= 2


def thrice(x, n):
    i = cuda.grid(1)
    if i < n:
        x[i] *= 3


def in_blocks(x, n):
    if cuda.threadIdx.x < n:
        x[cuda.threadIdx.x] *= 2


def strided(x, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        x[i] *= 2


@pytest.fixture
def launches(monkeypatch):
    """What was launched, and what its times are."""
    made = Launches(times_ns=lambda one: 4e5 if one.block == FAST else 1e6)
    monkeypatch.setattr(stand_ins, "LAUNCHES", made)
    return made


@pytest.fixture
def place(launches, monkeypatch):
    made = launches.place()
    monkeypatch.setattr(device, "current", lambda: 0)
    monkeypatch.setattr(device, "place", lambda: made)
    monkeypatch.setattr(copying, "refuse_to_copy_much", lambda *_: None)  # no device tells
    monkeypatch.setattr(cuda, "synchronize", lambda: None)
    for module in (arrays, variants):
        monkeypatch.setattr(module, "is_array", lambda one: isinstance(one, stand_ins.ndarray))
    with stand_ins.cupy_by_name():  # whose arrays are passed
        yield made


pytestmark = pytest.mark.usefixtures("place")


def entry_of(made):
    return list(made.calls._entries.values())[-1]


def tried(made):
    return [block_of(one) for one in entry_of(made).call.subject.question().candidates]


def kernel(function=twice, **options):
    return Dispatcher(function, options)


def floats(n=1024):
    return stand_ins.ndarray(np.ones(n, np.float32))


def test_the_best_is_found_from_launches_that_each_run_once(bench, launches):
    made, x, called = tuned(kernel()), floats(), 0

    def launch():
        nonlocal called
        assert made[8, 128](x, 1024) is None
        called += 1

    assert bench.call(launch, 600, lambda: called > 1 and entry_of(made).chosen["block"] == 256)
    bench.call(launch, 20)

    assert len(launches.made) == called
    assert launches.blocks[0] == (128, 1, 1)
    assert launches.blocks[-20:].count(FAST) > 10  # others are looked at again now and then
    assert {one.positions for one in launches.made} == {launches.made[0].positions}
    assert all(one.args == (x, 1024) for one in launches.made)
    assert made[8, 128].decision(x, 1024).config.text == "block=256"
    assert made[8, 128].tune(x, 1024, budget_s=600.0).config.text == "block=256"


def test_arrays_that_share_memory_do_so_in_copies(monkeypatch):
    monkeypatch.setattr(arrays.cuda, "to_device", stand_ins.ndarray)
    held = np.arange(8, dtype="f4")

    class Own(stand_ins.ndarray):
        def copy_to_host(self):
            return self.held.copy()

        @property
        def __cuda_array_interface__(self):
            return {"data": (self.held.ctypes.data, False), "strides": None}

    monkeypatch.setattr(arrays, "is_array", lambda one: isinstance(one, stand_ins.ndarray))
    x, part = Own(held), Own(held[2:])
    _, (one, (other, again), number), _ = arrays.on_copies((None, (x, (part, x), 3), None))
    one.held[2:] = 5

    assert one is again
    assert other.held.tolist() == [5.0] * 6
    assert number == 3
    assert held.tolist() == list(range(8))
    assert (
        variants.taken_together(
            [x.copy_to_host(), part.copy_to_host()],
            {n: arrays.form_of(one, one.copy_to_host()) for n, one in enumerate((x, part))},
            {0: 0, 1: 8},
        )[0].held.tobytes()
        == held.tobytes()
    )


def test_a_part_that_cannot_be_copied_is_called_by_its_number(monkeypatch):
    held = np.arange(8, dtype="f4")

    class Own(stand_ins.ndarray):
        def copy_to_host(self):
            return self.held.copy()

        @property
        def __cuda_array_interface__(self):
            steps = None if self.held.flags.c_contiguous else self.held.strides
            return {"data": (self.held.ctypes.data, False), "strides": steps}

    monkeypatch.setattr(arrays, "is_array", lambda one: isinstance(one, stand_ins.ndarray))

    with pytest.raises(vyre.InvalidInput, match="argument 2 is a part of an array"):
        arrays.on_copies((None, (8, Own(held), (3, Own(held[::2]))), None))


def test_the_next_process_starts_with_what_was_learned(bench, launches):
    made, x = tuned(kernel()), floats()
    assert bench.call(
        lambda: made[8, 128](x, 1024),
        600,
        lambda: made.calls._entries and entry_of(made).chosen["block"] == 256,
    )
    bench.call(lambda: made[8, 128](x, 1024), 20)

    with learning(bench.again()):
        again = tuned(kernel())
        again[8, 128](x, 1024)  # which is what Numba compiles for
        again[8, 128](x, 1024)

    assert launches.blocks[-2:] == [(128, 1, 1), FAST]


def test_tasks_are_given_threads_by_the_driver_until_others_are_faster(bench, launches):
    made, x, called = tuned(kernel()), floats(), 0

    def launch():
        nonlocal called
        made.forall(1000)(x, 1000)
        called += 1

    assert bench.call(launch, 600, lambda: called > 1 and entry_of(made).chosen["block"] == 256)
    bench.call(launch, 20)

    assert launches.blocks[0] == (768, 1, 1)
    assert launches.blocks[-20:].count(FAST) > 10
    assert {one.grid for one in launches.made if one.block == FAST} == {(4, 1, 1)}
    assert len(launches.made) == called
    assert made.forall(1000).decision(x, 1000).config.text == "block=256"


@pytest.mark.usefixtures("bench")
class TestCopies:
    """Whoever tunes changes nothing of the caller's."""

    def test_arrays_are_copied_wherever_they_are(self, launches):
        made, x = tuned(kernel()), floats()
        hint = cuda.InOut(x)

        for args in ((x, 3), ((x, 1), 3), (hint, 3)):
            made[8, 128].tune(*args, budget_s=600.0)

        given = [one.args[0] for one in launches.made]
        assert {type(one) for one in given} == {stand_ins.ndarray, tuple, cuda.InOut}
        assert all(one is not x and one is not hint for one in given)
        assert all(one[0] is not x for one in given if isinstance(one, tuple))
        assert all(one.value is not x for one in given if isinstance(one, cuda.InOut))


@pytest.mark.usefixtures("bench")
class TestTasks:
    """What `forall` gives."""

    def test_how_many_there_are_counts_by_its_doublings(self, launches):
        made, x = tuned(kernel()), floats()
        for n in (1000, 1000, 700, 1023, 1024):
            made.forall(n, 64)(x, 0.5)

        assert len(made.calls._entries) == 2
        assert [one.grid[0] for one in launches.made[:2]] == [16, 16]
        assert launches.blocks[0] == (64, 1, 1)
        assert tried(made)[0] == (64,)

    def test_none_of_them_are_as_the_library_has_them(self, launches):
        made = tuned(kernel())

        assert made.forall(0)(floats(), 0) is None
        with pytest.raises(ValueError, match="negative task count"):
            made.forall(-1)

        assert launches.made == []

    def test_with_a_function_that_asks_for_blocks_the_drivers_stays(self):
        made, x = tuned(kernel(in_blocks)), floats()
        for _ in range(3):
            made.forall(1000)(x, 1000)

        assert [one.text for one in entry_of(made).made.variants.able] == ["block=driver"]

    def test_blocks_that_are_named_are_tried_beside_the_drivers(self):
        made, x = tuned(kernel(in_blocks), (64, 96)), floats()
        for _ in range(3):
            made.forall(1000)(x, 1000)

        question = entry_of(made).call.subject.question()
        assert [one.text for one in question.candidates] == ["block=driver", "block=64", "block=96"]

    def test_a_stream_and_shared_memory(self, launches):
        made, x, stream = tuned(kernel()), floats(), Stream(5)
        for _ in range(3):
            made.forall(1000, stream=stream, sharedmem=64)(x, 1000)

        assert {(one.stream, one.shared_bytes) for one in launches.made} == {(stream, 64)}


@pytest.mark.usefixtures("bench")
class TestTheSpace:
    """Which blocks may run a launch."""

    def offered(self, function, configuration=(8, 128), args=None, compiled=True, **says):
        options = says.pop("options", {})
        made = tuned(kernel(function, **options), **says)
        args = (floats(), 1000) if args is None else args
        for _ in range(2 if compiled else 1):
            made[configuration](*args)
        return tried(made), entry_of(made).call.subject.question().refused

    def test_by_default_those_that_keep_the_number_of_threads(self):
        assert self.offered(twice, (7, 96))[0] == [(96,), (32,)]

    def test_with_a_size_all(self):
        able, _ = self.offered(twice, (7, 96), (floats(), 600), size=lambda _, n: n)

        assert able == [(n,) for n in (96, 32, 64, 128, 256, 512, 1024)]

    def test_with_a_stride_all(self):
        assert len(self.offered(strided, (7, 96), grid="stride")[0]) == 7
        assert self.offered(strided, (7, 96))[0] == [(96,), (32,)]
        assert self.offered(strided, (7, 96), (floats(), 600), size=600)[0] == [(96,)]

    def test_of_several_axes(self):
        assert (32, 8) in self.offered(twice, ((8, 8), (16, 16)))[0]
        assert len(self.offered(twice, ((8, 8, 8), (8, 8, 4)))[0]) > 3

    def test_a_function_that_asks_for_blocks_has_those_that_are_named(self):
        able, refused = self.offered(in_blocks)

        assert able == [(128,)]
        assert refused == (
            "all other blocks: it says cuda.threadIdx.x, so what it gives may depend on them; "
            "blocks= names those that give the same",
        )
        assert self.offered(in_blocks, blocks=(64, 32))[0] == [(128,), (64,), (32,)]

    def test_shared_memory_that_is_given_counts_as_a_sign(self):
        able, (why,) = self.offered(twice, (8, 128, 0, 64))

        assert able == [(128,)]
        assert why.startswith("all other blocks: it is given 64 bytes of shared memory for each")

    @pytest.mark.parametrize("option", ["cooperative", "extensions"])
    def test_a_kernel_that_is_launched_or_given_arguments_in_its_own_way_is_a_sign(self, option):
        able, (why,) = self.offered(twice, options={option: [1]})

        assert able == [(128,)]
        assert why.startswith(f"all other blocks: it is compiled with {option}=, so what it gives")

    @pytest.mark.parametrize("given", ["a text", (1, [2]), object()])
    def test_an_argument_of_a_type_that_others_may_have_taught_numba_is_a_sign(self, given):
        able, (why,) = self.offered(twice, args=(floats(), given))
        kind = type(given)

        assert able == [(128,)]
        assert why.startswith(
            f"all other blocks: argument 1 is a {kind.__module__}.{kind.__name__}"
        )

    def test_what_a_name_stood_for_when_it_was_compiled_counts(self):
        def place(axes):
            return cuda.threadIdx.x + axes

        def called(x, n):
            x[at(1)] = n

        at = cuda.jit(place, device=True)
        made, x = tuned(kernel(called)), floats()
        made[8, 128](x, 1024)  # for which Numba compiles
        at = cuda.grid
        made[8, 128](x, 1024)

        assert tried(made) == [(128,)]
        (why,) = entry_of(made).call.subject.question().refused
        assert why.startswith("all other blocks: it says cuda.threadIdx.x, ")

    @pytest.mark.parametrize("bounds", [256, (256,), (256, 2)])
    def test_bounds_that_a_kernel_is_compiled_for_hold(self, bounds):
        able, _ = self.offered(twice, options={"launch_bounds": bounds})

        assert able == [(n,) for n in (128, 32, 64, 256)]

    def test_what_it_was_compiled_to_tells_as_well(self, launches):
        launches.most_threads = 512

        assert max(self.offered(twice)[0]) == (512,)

    def test_what_is_compiled_for_each_launch_has_no_other(self, bench):
        one = kernel()
        one.compiled.launch_config_sensitive = True
        made, x = tuned(one, (64,)), floats()

        bench.call(lambda: made[8, 128](x, 1000), 3)

        assert tried(made) == [(128,)]
        assert entry_of(made).call.subject.question().refused == (
            "all other blocks: Numba compiles it anew for each launch configuration",
        )


@pytest.mark.usefixtures("bench")
class TestLaunches:
    """Whatever a kernel of the library's takes."""

    def test_the_first_of_a_kind_is_the_librarys_own(self, place):
        made, x = tuned(kernel()), floats()

        made[8, 128](x, 1024)
        made[8, 128](x, 0.5)

        assert place.timed == 0
        assert made.calls._entries == {}

    def test_configurations_are_made_once(self, launches):
        made, x = tuned(kernel()), floats()

        assert made[8, 128] is made[8, 128]
        assert made.configure(8, 128) is made[8, 128, 0, 0]
        assert made[8, 128].griddim == (8, 1, 1)
        for _ in range(50):
            made[8, 128](x, 1024)
        assert len(made.kernel._configured) <= len(set(launches.blocks)) + 2

    @pytest.mark.parametrize(
        "call",
        [
            lambda k, _: k(3),
            lambda k, _: k[8,],
            lambda k, x: k[0, 128](x, 3),
            lambda k, x: k[8, 0](x, 3),
            lambda k, x: k[8, 2048](x, 3),
            lambda k, _: k[[8], 128],
        ],
    )
    def test_what_is_wrong_with_a_call_is_what_the_library_says(self, call):
        said = []
        for function in (kernel(), tuned(kernel())):
            for _ in range(3):
                with pytest.raises((TypeError, ValueError, CudaAPIError)) as caught:
                    call(function, floats())
                said.append((caught.type, str(caught.value)))

        assert len(set(said)) == 1

    def test_a_stream_for_each_launch(self, launches):
        made, x = tuned(kernel()), floats()
        streams = [Stream(n) for n in range(1, 400)]

        for stream in streams:
            made[8, 128, stream](x, 1024)

        assert [one.stream for one in launches.made] == streams
        assert len(made.calls._entries) == 1
        assert len(made._configured) <= 128

    def test_whatever_a_stream_is_its_number_is_known(self):
        class Core:
            handle = np.int64(7)

        class Older:
            class handle:  # noqa: N801
                value = 9

        class Null:
            class handle:  # noqa: N801
                value = None

        class Named:
            def __cuda_stream__(self):
                return 0, 11

        class Builder:
            stream = Named()

        known = (0, None, Core(), Older(), Null(), Named(), Builder(), object())
        assert [device.handle_of(one) for one in known] == [0, 0, 7, 9, 0, 11, 11, None]

    def test_what_numba_says_of_a_grid_is_said_of_the_callers_alone(self, launches):
        launches.fewest_blocks = 1000
        made, x = tuned(kernel()), floats()

        with pytest.warns(UserWarning, match="Grid size 8 will use little of it"):
            configured = made[8, 128]
        for _ in range(60):
            configured(x, 1024)  # a warning would be an error here
        with pytest.warns(UserWarning, match="Grid size 2 will use little of it"):
            made.forall(1024)(x, 0.5)
        for _ in range(60):
            made.forall(1024)(x, 0.5)

        assert len(set(launches.blocks)) > 4

    def test_callbacks_are_of_the_configuration_that_they_are_given_to(self, launches):
        made, x, called = tuned(kernel()), floats(), []
        configured = made[8, 128]
        configured.pre_launch_callbacks.append(lambda *given: called.append(given))

        for _ in range(60):
            configured(x, 1024)

        assert len(called) == 60
        assert set(launches.blocks) == {(128, 1, 1)}

    def test_arrays_of_the_host_are_launched_and_nothing_is_learned(self, launches, place):
        made, x = tuned(kernel()), np.ones(1024, np.float32)

        with pytest.warns(HostArraysWarning) as warned:
            made[8, 128](x, 1024)
        made[8, 128](x, 1024)
        with pytest.warns(HostArraysWarning):
            made[8, 128](cuda.In(x), 1024)
        with pytest.warns(HostArraysWarning):
            made.forall(1024)((x, x), 0.5)

        assert len(launches.made) == 4
        assert place.timed == 0
        assert warned[0].filename == __file__
        assert str(warned[0].message) == (
            "twice is launched on arrays of the host, which Numba copies for each launch, so "
            "nothing is learned; pass numba.cuda.to_device(array)"
        )
        with pytest.raises(vyre.InvalidInput) as caught:
            made[8, 128].decision(x, 1024)
        assert str(caught.value) == (
            "such a launch of twice is not for learning\n"
            "Fix: ask with arrays of the device and at least one thread, outside of a capture"
        )

    def test_arrays_of_the_host_are_none_of_the_device_s_however_they_are_passed(self, place):
        made, x = tuned(kernel()), floats()
        for _ in range(5):
            made[8, 128](cuda.InOut(x), 1024)
        timed = place.timed
        assert timed

        with pytest.warns(HostArraysWarning):
            made[8, 128](cuda.InOut(np.ones(1024, np.float32)), 1024)
        assert place.timed == timed
        made[8, 128](cuda.InOut(stand_ins.ndarray(np.ones(1024))), 1024)

        assert len(made.calls.entries) == 2

    def test_launches_on_a_stream_without_a_number_are_timed_on_no_other(self, launches, place):
        made, x, stream = tuned(kernel()), floats(), object()
        for _ in range(5):
            made[8, 128](x, 1024)
        timed = place.timed
        assert timed

        for _ in range(5):
            made[8, 128, stream](x, 1024)

        assert place.timed == timed
        assert [one.stream for one in launches.made[-5:]] == [stream] * 5

    def test_sizes_that_are_ever_new_are_learned_together(self, bench, launches):
        made, x, sizes = tuned(kernel(), size=lambda _, n: n), floats(), iter(range(10**6))

        def launch():
            n = 2**20 + next(sizes)
            made[-(-n // 128), 128](x, n)

        assert bench.call(
            launch,
            600,
            lambda: made.calls._entries and entry_of(made).chosen["block"] == 256,
        )
        bench.call(launch, 20)

        assert len(set(made.calls._entries.values())) == 1
        assert launches.blocks[-20:].count(FAST) > 10
        for one in launches.made:
            n, threads = one.args[1], one.grid[0] * one.block[0]
            assert n <= threads < n + one.block[0]

    def test_a_launch_stays_as_it_is_written_whatever_its_size(self, launches):
        made, x = tuned(kernel(), size=lambda _, n: n), floats()
        for n in (1000, 1000, 900, 1020):
            made[8, 128](x, n)

        entry = entry_of(made)
        start = entry.made(entry.made.default)
        start(made[9, 128].arguments((x, 1000)), 0)

        assert launches.made[-1].grid == (9, 1, 1)
        assert len(set(made.calls._entries.values())) == 1

    def test_devices_are_told_apart(self):
        made, x, here = tuned(kernel()), floats(), [0]
        made.device = lambda: here[0]

        for here[0] in (0, 1, 0, 1):
            made[8, 128](x, 1024)

        assert len(made.calls._entries) == 2

    def test_in_a_capture_what_is_given_is_launched_and_nothing_is_learned(self, launches, place):
        place.capturing = True
        made = tuned(kernel())

        for _ in range(20):
            made[8, 128](floats(), 1024)
            made.forall(100, 64)(floats(), 1024)

        assert set(launches.blocks) == {(128, 1, 1), (64, 1, 1)}
        assert made.calls._entries == {}

    def test_a_block_that_fails_is_dropped_and_the_launch_is_made(self, bench, launches):
        launches.failing = lambda one: (
            CudaAPIError("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES") if one.block == (512, 1, 1) else None
        )
        made, x, called = tuned(kernel()), floats(), 0

        def launch():
            nonlocal called
            made[8, 128](x, 1024)
            called += 1

        assert bench.call(launch, 600, lambda: called > 1 and failures(entry_of(made)))

        assert failures(entry_of(made)) == {
            "block=512": "CudaAPIError: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
        }
        assert len(launches.made) == called

    def test_what_else_a_launch_raises_is_the_callers(self, bench, launches):
        made, x = tuned(kernel()), floats()
        bench.call(lambda: made[8, 128](x, 1024), 3)
        for raised in (KeyboardInterrupt(), TypeError("no type")):
            launches.failing = lambda _: raised  # noqa: B023
            with pytest.raises(type(raised)):
                made[8, 128](x, 1024)
        launches.failing = lambda _: None

        assert bench.call(
            lambda: made[8, 128](x, 1024), 600, lambda: entry_of(made).chosen["block"] == 256
        )

    def test_two_threads_launch_what_each_asks_for(self, launches):
        made, barrier = tuned(kernel()), threading.Barrier(2)
        xs = floats(), floats()

        def launch(x):
            barrier.wait(60)
            for _ in range(200):
                made[8, 128](x, 1024)

        threads = [threading.Thread(target=launch, args=(x,)) for x in xs]
        for one in threads:
            one.start()
        for one in threads:
            one.join(60)

        assert len(launches.made) == 400
        assert [sum(one.args[0] is x for one in launches.made) for x in xs] == [200, 200]

    @pytest.mark.parametrize("n", [np.float64(0.5), np.array(3), ([3],)])
    def test_sizes_that_are_none_are_said(self, n):
        made = tuned(kernel(), size=lambda *_: n)

        with pytest.raises(vyre.InvalidInput) as caught:
            made[8, 128](floats(), 0)

        assert str(caught.value) == (
            f"size= of twice is {shown(n)}\nFix: give one to three whole numbers of at least 0"
        )

    def test_nothing_to_cover_is_launched_as_it_is(self, launches):
        made = tuned(kernel(), size=lambda _, n: n)
        for _ in range(3):
            made[8, 128](floats(), 0)

        assert launches.blocks == [(128, 1, 1)] * 3
        assert made.calls._entries == {}

    def test_what_a_kernel_is_tells_choices_apart(self):
        texts = [
            tuned(one).text
            for one in (kernel(), kernel(thrice), kernel(fastmath=True), kernel(max_registers=32))
        ]

        assert len(set(texts)) == 4
        assert texts[0] == tuned(kernel()).text
        assert "numba " in tuned(kernel()).parts()[1]

    def test_a_kernel_of_a_class_is_bound_as_a_function_is(self):
        class Held:
            twice = tuned(kernel())

        assert isinstance(Held.twice, TunedKernel)
        assert Held().twice.func is Held.twice
        assert repr(Held.twice) == "<tuned twice>"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: tuned(3), "3 is no kernel of Numba's\nFix: give what numba.cuda.jit made"),
        (
            lambda: tuned(kernel(device=True)),
            "twice is a device function\nFix: give the kernel that calls it",
        ),
        (
            lambda: tuned(kernel(), 64),
            "blocks=64 of twice\nFix: give a list, such as (64, 128)",
        ),
        (
            lambda: tuned(kernel(), atol=1.0),
            "rtol=0.0, atol=1.0 without check=True\n"
            "Fix: pass check=True as well, or leave them out",
        ),
    ],
)
def test_what_is_wrong_is_said_where_it_is_written(make, said):
    with pytest.raises(vyre.InvalidInput) as caught:
        make()

    assert str(caught.value) == said


def test_the_stand_ins_take_what_the_librarys_own_take():
    import inspect

    own = type(cuda.jit(twice))

    for name in ("configure", "forall", "specialize", "__getitem__"):
        wanted = inspect.signature(inspect.unwrap(getattr(own, name)))
        found = inspect.signature(getattr(Dispatcher, name))
        assert [(p.name, p.default) for p in found.parameters.values()] == [
            (p.name, p.default) for p in wanted.parameters.values()
        ]
    made = cuda.jit(twice)
    asked = ("py_func", "targetoptions", "overloads", "specialized", "typeof_pyval")
    assert all(hasattr(made, one) and hasattr(kernel(), one) for one in asked)


def test_a_kernel_of_the_librarys_own_is_taken():
    made = tuned(cuda.jit(twice))

    assert made.name == "twice"
    assert made.read(steps=False).sign is None
    assert "fastmath False" in made.parts()
    assert Launched((1, 1, 1), (2, 1, 1)).positions == {(0, 0, 0), (1, 0, 0)}


class Held:
    """Memory of a device that nobody reads: where it begins, and where it ends."""

    def __init__(self, start, end):
        self.start, self.end = start, end

    def view(self, start, stop):
        return Held(self.start + start, self.start + stop)


@pytest.mark.parametrize(
    "host",
    [
        *(np.ones((3, 5), "f4"), np.ones((3, 5), "f8", order="F"), np.array(5.0), np.ones(4) > 0),
        *(np.ones((1, 1, 4), "u2"), np.ones(7, "c16"), np.ones(3, "i4,f4")),
    ],
    ids=lambda host: f"{host.dtype} {host.shape} {host.strides}",
)
def test_a_copy_with_margins_is_an_array_of_the_librarys_own_like_any_other(host, monkeypatch):
    own = pytest.importorskip("numba.cuda.cudadrv.devicearray")
    # As it is, but for asking whether there is a device.
    monkeypatch.setattr(own.DeviceNDArray, "__getitem__", own.DeviceNDArray._do_getitem)

    def to_device(array):
        return own.from_array_like(array, gpu_data=Held(0, array.nbytes))

    found = surrounded(host, 16, to_device, lambda part: part.gpu_data)

    made, plain = found.array, to_device(host)
    assert type(made) is type(plain)
    assert (made.shape, made.strides, made.dtype) == (plain.shape, plain.strides, plain.dtype)
    assert (made._numba_type_, made.alloc_size) == (plain._numba_type_, plain.alloc_size)
    assert (made.gpu_data.start, made.gpu_data.end) == (MARGIN + 16, MARGIN + 16 + host.nbytes)


def test_where_an_array_is_is_told_by_whatever_tells():
    host = np.ones(3)
    told = SimpleNamespace(__cuda_array_interface__={"data": (4096, False)})
    empty = SimpleNamespace(__cuda_array_interface__={"data": (None, False)})

    found = [arrays.address_of(one) for one in (told, empty, host, object())]

    assert found == [4096, 0, host.ctypes.data, 0]


class Buffer:
    """Memory of another library, as RMM has it: it says where it is, and no more."""

    def __init__(self, size):
        self.size = size

    @property
    def __cuda_array_interface__(self):
        shape = (self.size,)
        return {"data": (64, False), "shape": shape, "typestr": "|u1", "version": 3}

    def copy_to_host(self):
        raise AssertionError("nobody asked for it")


def test_arrays_of_a_library_that_says_little_are_launched_on(launches, monkeypatch):
    monkeypatch.setattr(alike, "kind_of", lambda _: None)  # it would ask a device
    made = tuned(kernel())

    for size in (1000, 1000, 5000):
        made[40, 128](Buffer(size), 3)

    assert [one.args[0].size for one in launches.made] == [1000, 1000, 5000]
    assert len(made.calls.entries) == 1


def test_what_torch_has_besides_tensors_is_looked_at_by_its_type():
    torch = pytest.importorskip("torch")

    assert arrays.look_at(torch.Size) is arrays.look_at(torch.dtype) is None


@pytest.mark.filterwarnings("ignore:Sparse")
def test_a_tensor_without_an_order_is_looked_at_all_the_same():
    torch = pytest.importorskip("torch")
    look = arrays.look_at(torch.Tensor).look
    rows = (torch.tensor([0, 1]), torch.tensor([0]), torch.ones(1), (1, 2))
    compressed = torch.sparse_csr_tensor(*rows, check_invariants=True)

    assert look(compressed) == look(compressed)
    assert look(compressed) != look(torch.ones(1, 2))
