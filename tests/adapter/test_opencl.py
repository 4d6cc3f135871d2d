"""Kernels of PyOpenCL on PoCL: launches go on as before, and their local size is learned."""

import numpy as np
import pytest

import vyre
from vyre.learn.subject import Elapsed
from vyre.plain import shown
from vyre.testing.foreign import AT_ONCE, failures, learning

cl = pytest.importorskip("pyopencl")
cl_array = pytest.importorskip("pyopencl.array")
cl_tools = pytest.importorskip("pyopencl.tools")
from vyre.adapter import opencl as adapter  # noqa: E402  # it needs pyopencl
from vyre.adapter import opencl_copies as copies  # noqa: E402
from vyre.opencl import TunedKernel, UntimedQueueWarning, tuned  # noqa: E402

PROFILING = cl.command_queue_properties.PROFILING_ENABLE
SAYS_LOCAL = "its source says get_local_id"
SOURCE = """
kernel void twice(global float *x, int times) {
    // no get_local_id here; /* and no barrier */
    size_t i = get_global_id(0) + get_global_size(0) * get_global_id(1);
    for (int k = 0; k < times; k++) x[i] *= 2;
}
kernel void bounded(global float *x, int n) {
    int i = get_global_id(0);
    if (i < n) x[i] *= 2;
}
kernel __attribute__((reqd_work_group_size(8, 1, 1))) void fixed(global float *x, int n) {
    x[get_global_id(0)] *= 2;
}
"""
GROUPS = """
kernel void ends(global int *x, int n) {
    x[get_global_id(0)] = get_local_id(0) == 0;
}
kernel void scratch(global int *x, local int *held) {
    held[0] = 3;
    x[get_global_id(0)] = held[0];
}
kernel void hangs(global int *x, int n) {
    if (get_local_size(0) == 4) *(volatile global int *)0 = 1;
    x[get_global_id(0)] = 1;
}
"""
FAST = 32
TIMES_NS = {None: 1_000_000, (FAST,): 400_000}


@pytest.fixture(scope="module")
def context():
    try:
        devices = [one for platform in cl.get_platforms() for one in platform.get_devices()]
    except cl.LogicError:
        devices = []
    if not devices:
        pytest.skip("there is no OpenCL device")
    return cl.Context(devices[:1])


@pytest.fixture(scope="module")
def programs(context):
    return {text: cl.Program(context, text).build() for text in (SOURCE, GROUPS)}


@pytest.fixture
def queue(context):
    return cl.CommandQueue(context, properties=PROFILING)


@pytest.fixture
def kernel(programs):
    def made(name):
        text = SOURCE if name in ("twice", "bounded", "fixed") else GROUPS
        found = cl.Kernel(programs[text], name)
        if name != "scratch":
            found.set_scalar_arg_dtypes([None, np.int32])
        return found

    return made


@pytest.fixture
def ran(monkeypatch):
    """The local sizes that ran; a table tells their times."""
    found = []
    make = adapter._Locals.make

    def making(self, config):
        start = make(self, config)

        def starting(arguments, stream):
            event = start(arguments, stream)
            found.append(adapter.local_of(config))
            return event

        return starting

    def time(_, __, launch):
        launch()
        return Elapsed(TIMES_NS.get(found[-1], 900_000))

    monkeypatch.setattr(adapter._Locals, "make", making)
    monkeypatch.setattr(adapter.Queues, "time", time)
    monkeypatch.setattr(adapter.Queues, "pace", AT_ONCE)
    return found


def ones(queue, n=64, dtype=np.float32):
    return cl_array.to_device(queue, np.ones(n, dtype))


def entry_of(made):
    return list(made._calls._entries.values())[-1]


def test_the_best_is_found_from_launches_that_each_run_once(bench, queue, kernel, ran):
    made, launched = tuned(kernel("twice")), 0
    x = ones(queue)

    def launch():
        nonlocal launched
        x.fill(1, queue)
        event = made(queue, (64,), None, x.data, 1)
        assert isinstance(event, cl.Event)
        assert x.get().tolist() == [2.0] * 64
        launched += 1

    assert bench.call(launch, 600, lambda: entry_of(made).chosen["local"] == FAST)
    bench.call(launch, 30)

    assert len(ran) == launched
    assert ran[0] is None
    assert ran[-20:].count((FAST,)) > 10  # others are looked at again now and then


@pytest.mark.usefixtures("bench", "ran")
def test_a_queue_for_each_launch_is_no_other_kind_of_launch(queue, kernel):
    made, x = tuned(kernel("twice")), ones(queue)
    properties = cl.command_queue_properties.PROFILING_ENABLE

    for _ in range(100):
        made(cl.CommandQueue(queue.context, properties=properties), (64,), None, x.data, 1).wait()

    assert len(made._calls.entries) == 1
    assert len(made._queues) <= 64


@pytest.mark.usefixtures("bench", "ran")
@pytest.mark.filterwarnings("error")
def test_queues_that_were_left_are_asked_for_nothing_more(queue, kernel):
    """PyOpenCL would warn its user of the use of a queue that their program has left."""
    made, x = tuned(kernel("twice")), ones(queue)
    properties = cl.command_queue_properties.PROFILING_ENABLE

    for _ in range(100):
        with cl.CommandQueue(queue.context, properties=properties) as each:
            made(each, (64,), None, x.data, 1).wait()

    assert len(made._calls.entries) == 1


def test_the_next_process_starts_with_what_was_learned(bench, queue, kernel, ran):
    made, x = tuned(kernel("twice")), ones(queue)
    assert bench.call(
        lambda: made(queue, (64,), None, x.data, 1),
        600,
        lambda: entry_of(made).chosen["local"] == FAST,
    )
    bench.call(lambda: made(queue, (64,), None, x.data, 1), 20)

    with learning(bench.again()):
        tuned(kernel("twice"))(queue, (64,), None, x.data, 1)

    assert ran[-1] == (FAST,)


def test_what_was_learned_is_explained(bench, queue, kernel, ran):
    made, x = tuned(kernel("twice"), local=(16, 32, 48)), ones(queue)
    assert bench.call(
        lambda: made(queue, (64,), (64,), x.data, 1),
        600,
        lambda: entry_of(made).chosen["local"] == FAST,
    )

    head, guard, _, where, *lines = str(made.explain()).splitlines()

    assert (32,) in ran
    assert head == "twice: that its configs compute the same is stated by its author"
    assert guard == "  not guarded: one that crashes or hangs does so here; check=True tries them"
    assert where.startswith("64 elements on ")
    assert "  runs        local=32" in lines
    assert "  default     local=64" in lines
    assert "  left out    48: it does not divide 64" in lines


class TestTheSpace:
    """Which local sizes may run a launch."""

    def able(self, queue, kernel, size, given=None, stated=None, *, pad=False):
        able, left_out = adapter._able(kernel, queue.device, size, given, stated, pad=pad)
        return [adapter.local_of(one) for one in able], left_out

    def test_by_default_those_that_divide_the_global_size(self, queue, kernel):
        able, left_out = self.able(queue, kernel("twice"), (96,))

        assert able == [None, (16,), (32,)]
        assert left_out[0] == "64: it does not divide 96"

    def test_what_is_given_is_the_default(self, queue, kernel):
        assert self.able(queue, kernel("twice"), (96,), (48,))[0] == [(48,), None, (16,), (32,)]

    def test_padded_those_of_any_size(self, queue, context):
        source = "kernel void f(global int *x, int n) { if (get_global_id(0) < n) x[0] = 1; }"
        bounded = cl.Kernel(cl.Program(context, source).build(), "f")

        able, _ = self.able(queue, bounded, (97,), pad=True)

        assert {(16,), (64,), (1024,)} < set(able)

    @pytest.mark.parametrize("size", [(64, 64), (64, 64, 64)])
    def test_of_several_axes_too(self, queue, kernel, size):
        able, _ = self.able(queue, kernel("twice"), size)

        assert len(able) > 5
        assert all(one is None or len(one) == len(size) for one in able)

    def test_where_there_is_no_other_it_is_said(self, queue, kernel):
        able, left_out = self.able(queue, kernel("twice"), (7,), stated=((3, 3), (8,), (10**6,)))

        assert able == [None]
        most = kernel("twice").get_work_group_info(
            cl.kernel_work_group_info.WORK_GROUP_SIZE, queue.device
        )
        assert left_out == (
            "3x3: it has 2 axes, and the launch 1",
            "8: it does not divide 7",
            f"1000000: the device allows {most} of this kernel",
            "twice has no other local size for 7 items",
        )

    def test_a_kernel_compiled_for_one_local_size_has_no_other(self, queue, kernel):
        assert self.able(queue, kernel("fixed"), (64,), (8,), ((16,),)) == (
            [(8,)],
            ("it was compiled for a local size of 8x1x1 alone",),
        )

    @pytest.mark.parametrize(
        ("name", "sign"), [("ends", "get_local_id"), ("scratch", "get_local_id")]
    )
    def test_a_source_that_asks_for_groups_has_those_that_are_stated(
        self, queue, kernel, name, sign
    ):
        able, left_out = self.able(queue, kernel(name), (64,))

        assert able == [None]
        assert left_out == (
            f"all other local sizes: its source says {sign}, so what it gives may depend on them; "
            "local= names those that give the same",
        )
        assert self.able(queue, kernel(name), (64,), stated=((8,),))[0] == [None, (8,)]

    @pytest.mark.parametrize(
        ("text", "options", "sign"),
        [
            ("x[get_global_id(0)] = AT;", ["-DAT=get_local_id(0)"], SAYS_LOCAL),
            ("x[get_global_id(0)] = AT;", ["-D", "AT=get_local_id(0)"], SAYS_LOCAL),
            ("x[get_global_id(0)] = AT;", ['-D "AT=get_local_id(0)"'], SAYS_LOCAL),
            ("x[get_global_id(0)] = AT;", ['-DAT="get_local_id(0)"'], SAYS_LOCAL),
            ('printf("//"); x[get_global_id(0)] = get_local_id(0);', [], SAYS_LOCAL),
            (
                "\n#define C(a, b) a##b\nx[0] = C(get_local, _id)(0);",
                [],
                "its source has ##, which may hide anything",
            ),
            (
                "\n#define C(a, b) a%:%:b\nx[0] = C(get_local, _id)(0);",
                [],
                "its source has %:, which may hide anything",
            ),
            (
                "\n#if 0\ndon't /*\n#endif\nx[0] = get_local_id(0); /* */",
                [],
                "its source has a quote that does not end in its line, which may hide anything",
            ),
            (
                "// \r x[0] = get_local_id(0);\n",
                [],
                "its source has the character '\\r', which may hide anything",
            ),
            (
                "\n#define N 1'0 /* '\nx[0] = get_local_id(0); /* */",
                [],
                "its source has a quote in a number, which may hide anything",
            ),
            ("x[0] = 3;", ["-DAT=\\"], "its option -DAT=\\ may hide anything"),
            (
                'size_t other(uint) __asm("_Z12get_local_idj"); x[0] = other(0);',
                [],
                "its source says __asm",
            ),
            ("x[get_global_id(0)] = AT; /* get_local_id */", ["-DAT=3"], None),
            ("x[get_global_id(0)] = 3;", ["-I", "/usr/include"], None),
        ],
    )
    def test_what_may_hide_such_a_word_counts_as_well(self, queue, context, text, options, sign):
        source = f"kernel void f(global int *x) {{ {text} }}"
        program = cl.Program(context, source).build(options)

        able, left_out = self.able(queue, cl.Kernel(program, "f"), (64,))

        assert (len(able) > 1) is (sign is None)
        if sign is not None:
            assert left_out[0].startswith(f"all other local sizes: {sign}, so ")

    @pytest.mark.parametrize("word", ["get_global_size(0)", "get_global_linear_id()"])
    def test_a_global_size_that_is_asked_for_is_a_sign_where_it_is_rounded_up(
        self, queue, context, word
    ):
        source = f"kernel void f(global int *x, int n) {{ if (n) x[0] = {word}; }}"
        made = cl.Kernel(cl.Program(context, source).build(["-cl-std=CL2.0"]), "f")

        assert len(self.able(queue, made, (64,))[0]) > 1
        able, left_out = self.able(queue, made, (64,), pad=True)
        assert able == [None]
        assert left_out[0].startswith(
            f"all other local sizes: its source says {word.split('(')[0]}"
        )

    @pytest.mark.parametrize("line", ["#\tinclude", "#import", "#include_next", "%:include"])
    def test_a_header_is_one_however_it_is_named(self, queue, context, tmp_path, line):
        (tmp_path / "mine.h").write_text("#define AT get_local_id(0)\n")
        source = f'{line} "{tmp_path}/mine.h"\nkernel void f(global int *x) {{ x[0] = AT; }}'
        program = cl.Program(context, source).build()

        able, left_out = self.able(queue, cl.Kernel(program, "f"), (64,))

        assert able == [None]
        assert "which may hide anything, so what it gives may depend on them" in left_out[0]

    def test_a_program_of_a_binary_has_those_that_are_stated(self, queue, context, programs):
        binary = programs[SOURCE].get_info(cl.program_info.BINARIES)[0]
        program = cl.Program(context, [queue.device], [binary]).build()
        made = cl.Kernel(program, "twice")

        able, left_out = self.able(queue, made, (64,))

        assert able == [None]
        assert left_out[0].startswith("all other local sizes: its source is not known, so ")
        assert tuned(made)._text(queue.device) == f"twice\n\n{binary.hex()}"
        with pytest.raises(vyre.InvalidInput) as caught:
            tuned(made, check=True)(queue, (64,), None, ones(queue).data, np.int32(1))
        assert str(caught.value) == (
            "check= of twice, whose program has no source\n"
            "Fix: build it from source, or leave check= out"
        )


@pytest.mark.usefixtures("bench", "ran")
class TestLaunches:
    """Whatever a kernel of the library's takes."""

    def test_an_offset_and_events_to_wait_for(self, queue, kernel):
        made, x = tuned(kernel("bounded")), ones(queue)
        event = made(queue, (8,), None, x.data, 64)

        made(queue, (8,), None, x.data, 64, global_offset=(32,), wait_for=[event])

        assert x.get()[:9].tolist() == [2.0] * 8 + [1.0]
        assert x.get()[31:41].tolist() == [1.0, *[2.0] * 8, 1.0]

    def test_sizes_times_the_local_size_and_so_is_the_offset(self, queue, kernel):
        x, y = ones(queue), ones(queue)
        for one, function in ((x, kernel("bounded")), (y, tuned(kernel("bounded")))):
            function(queue, (4,), (2,), one.data, 64, global_offset=(3,), g_times_l=True)
            function(queue, (2,), (2,), one.data, 64, g_times_l=True)

        assert x.get().tolist() == y.get().tolist()
        assert x.get()[:7].tolist() == [2.0] * 4 + [1.0] * 2 + [2.0]

    def test_sizes_in_lists(self, queue, kernel):
        made, x = tuned(kernel("twice")), ones(queue)

        made(queue, [8, 8], [4, 2], x.data, 1)
        made(queue, [8, 8], [4, 2], x.data, 1)

        assert x.get().tolist() == [4.0] * 64
        assert len(made._calls._entries) == 1

    def test_no_items_are_as_the_library_has_them(self, queue, kernel):
        made, x = tuned(kernel("twice")), ones(queue)

        made(queue, (0,), None, x.data, 1, allow_empty_ndrange=True)

        assert x.get().tolist() == [1.0] * 64
        assert made._calls._entries == {}

    def test_more_items_than_asked_for_where_that_is_allowed(self, bench, queue, kernel, ran):
        made, x = tuned(kernel("bounded"), local=(32,), pad=True), ones(queue)

        assert bench.call(lambda: made(queue, (50,), None, x.data, 50), 600, lambda: (32,) in ran)

        assert (x.get()[:50] == 2.0 ** len(ran)).all()
        assert (x.get()[50:] == 1.0).all()

    def test_numbers_that_loops_go_by_tell_launches_apart_by_their_doublings(self, queue, kernel):
        made, x = tuned(kernel("twice")), ones(queue)
        for times in (1, 2, 3, 4, 7):
            made(queue, (64,), None, x.data, times)

        assert [entry.call.workload.buckets for entry in made._calls._entries.values()] == [
            (7, 1),
            (7, 2),
            (7, 3),
        ]

    def test_what_is_wrong_with_a_call_is_what_the_library_says(self, queue, kernel):
        made, plain, x = tuned(kernel("twice")), kernel("twice"), ones(queue)
        for function in (made, plain):
            with pytest.raises(TypeError, match="missing 1 required positional argument"):
                function(queue, (64,), None, x.data)
            with pytest.raises(cl.LogicError, match="INVALID_WORK_GROUP_SIZE"):
                function(queue, (64,), (10**6,), x.data, 1)

    def test_a_local_size_that_fails_is_dropped_and_the_launch_is_made(
        self, bench, queue, kernel, monkeypatch
    ):
        monkeypatch.setattr(adapter, "_why_not", lambda *_, **__: None)
        made, x = tuned(kernel("twice"), local=(10**6, FAST)), ones(queue)

        assert bench.call(
            lambda: made(queue, (64,), None, x.data, 1), 600, lambda: failures(entry_of(made))
        )

        (reason,) = failures(entry_of(made)).values()
        assert reason.startswith("LogicError: clEnqueueNDRangeKernel failed: INVALID_WORK_GROUP")


@pytest.mark.usefixtures("bench")
def test_a_launch_is_timed_by_its_own_event(queue, kernel):
    place = adapter.Queues(adapter.backend.described(queue.device))
    x = ones(queue)

    ticket = place.time(0, lambda: kernel("twice")(queue, (64,), None, x.data, 1))
    ticket.wait()

    assert ticket.elapsed_ns() > 0
    assert not place.is_capturing(0)
    assert place.clocks() is None
    assert place.pace.advance_s >= 0.1


@pytest.mark.usefixtures("bench")
def test_a_queue_without_times_runs_what_it_is_given_and_says_so(context, kernel):
    made = tuned(kernel("twice"))
    queue = cl.CommandQueue(context)
    x = ones(queue)

    with pytest.warns(UntimedQueueWarning) as warned:
        made(queue, (64,), None, x.data, 1)
    made(queue, (64,), None, x.data, 1)

    (said,) = warned
    assert said.filename == __file__
    assert str(said.message) == (
        "twice is launched on a queue that gives no times, so nothing is learned; make it with "
        "properties=pyopencl.command_queue_properties.PROFILING_ENABLE"
    )
    assert x.get().tolist() == [4.0] * 64
    assert entry_of(made).call.subject.question().candidates == (adapter.knobs_of(None),)
    place = entry_of(made).place
    assert place.time(0, lambda: made(queue, (64,), None, x.data, 1)) is None


class TestTuning:
    """Looking for the best at once, on copies."""

    def test_the_callers_buffers_are_as_they_were(self, bench, queue, kernel, ran):
        made, x = tuned(kernel("twice")), ones(queue)

        decision = made.tune(queue, (64,), None, x.data, 1, budget_s=600.0)

        assert decision.config.text == "local=32"
        assert len(ran) > 4
        assert x.get().tolist() == [1.0] * 64
        assert bench.recorder.get(decision.workload).config == decision.config

    @pytest.mark.usefixtures("bench", "ran")
    def test_memory_of_pools_and_local_memory_are_taken_too(self, queue, kernel):
        made = tuned(kernel("scratch"), local=(8,))
        x = ones(queue, dtype=np.int32)

        made.tune(queue, (64,), None, x.data, cl.LocalMemory(64), budget_s=600.0)
        held = cl_tools.MemoryPool(cl_tools.ImmediateAllocator(queue)).allocate(256)
        tuned(kernel("twice")).tune(queue, (64,), None, held, 1, budget_s=600.0)

        assert x.get().tolist() == [1] * 64

    @pytest.mark.usefixtures("bench", "ran")
    def test_what_cannot_be_copied_is_refused(self, context, queue, kernel):
        image = cl.image_from_array(context, np.zeros((4, 4), np.float32), 1)

        with pytest.raises(vyre.InvalidInput) as caught:
            tuned(kernel("twice")).tune(queue, (64,), None, image, 1)

        problem, fix = str(caught.value).splitlines()
        assert problem.startswith("argument 0, <pyopencl.")
        assert problem.endswith(", cannot be copied")
        assert fix == "Fix: pass buffers and plain values, or call it and let it learn"

    @pytest.mark.usefixtures("bench", "ran")
    def test_copies_take_a_quarter_of_what_is_free_at_most(self, queue, kernel, monkeypatch):
        monkeypatch.setattr(copies.host, "free_bytes", lambda: 1000)

        with pytest.raises(vyre.InvalidInput) as caught:
            tuned(kernel("twice")).tune(queue, (64,), None, ones(queue).data, 1)

        assert str(caught.value) == (
            "tuning twice copies 256 bytes of arguments, and 1,000 bytes of memory are free\n"
            "Fix: try it on smaller arguments: at most 250 bytes may be copied"
        )


@pytest.mark.usefixtures("bench", "ran")
@pytest.mark.parametrize("sizes", [((64.0,), None), ((np.float32(64),), None), ((64,), (16.0,))])
def test_what_equals_a_whole_number_and_is_none_is_refused(queue, kernel, sizes):
    made, x = tuned(kernel("twice")), ones(queue)
    for _ in range(3):
        made(queue, (64,), None, x.data, 1)
        made(queue, (64,), (16,), x.data, 1)

    with pytest.raises(vyre.InvalidInput) as caught:
        made(queue, *sizes, x.data, 1)

    what = "global" if sizes[1] is None else "local"
    said = shown(sizes[0] if sizes[1] is None else sizes[1])
    assert str(caught.value) == (
        f"{what}_size of twice is {said}\nFix: give one to three whole numbers of at least 0"
    )


@pytest.mark.usefixtures("bench", "ran")
@pytest.mark.filterwarnings("error")
def test_sizes_of_numpy_s_are_not_added_up(queue, kernel):
    made, x = tuned(kernel("bounded")), ones(queue)
    for _ in range(4):
        made(queue, (512,), (np.uint8(32),), x.data, 64)
    queue.finish()

    assert x.get().tolist() == [16.0] * 64


class TestTrials:
    """Local sizes are tried on copies, in a process that may die."""

    def test_one_that_gives_something_else_never_serves(self, bench, queue, kernel, ran):
        made = tuned(kernel("ends"), local=(8, FAST), check=True)
        x = ones(queue, dtype=np.int32)
        first = made(queue, (64,), (64,), x.data, 1)
        assert first is not None

        config = adapter.knobs_of((FAST,))
        admitted = entry_of(made).made.admitted
        answer = admitted.trials.submit(admitted.default, config).wait(600)

        assert answer.reason == (
            "it differs from local=64: argument 0 has 1 of 64 elements that differ, such as 1 at "
            "32, where it should be 0"
        )
        assert ran == [(64,)]
        assert bench.deciders.desk.drained(60)

    def test_one_that_gives_the_same_serves(self, bench, queue, kernel, ran):
        made, x = tuned(kernel("bounded"), local=(FAST,), pad=True, check=True), ones(queue)

        made(queue, (50,), None, x.data, 50, global_offset=(2,))
        admitted = entry_of(made).made.admitted
        answer = admitted.trials.submit(admitted.default, adapter.knobs_of((FAST,))).wait(600)

        assert answer == {}
        assert x.get()[1:53].tolist() == [1.0, *[2.0] * 48, 1.0, 1.0, 1.0]
        assert bench.deciders.desk.drained(60)
        assert ran == [None]

    def test_one_that_writes_beyond_a_buffer_does_not_serve(self, bench, queue, kernel, ran):
        made, x = tuned(kernel("twice"), local=(FAST,), pad=True, check=True), ones(queue, 48)

        made(queue, (48,), None, x.data, 1)
        admitted = entry_of(made).made.admitted
        answer = admitted.trials.submit(admitted.default, adapter.knobs_of((FAST,))).wait(600)

        assert answer.reason == (
            "it differs from local=driver: the memory beside argument 0 has 32 of 8,192 elements "
            "that differ, such as 37 at 4098, where it should be 165"
        )
        assert x.get().tolist() == [2.0] * 48
        assert bench.deciders.desk.drained(60)
        assert ran == [None]

    @pytest.mark.usefixtures("bench", "ran")
    def test_one_that_crashes_takes_nobody_along(self, queue, kernel):
        made = tuned(kernel("hangs"), local=(8, 4), check=True)
        x = ones(queue, dtype=np.int32)

        made(queue, (64,), (8,), x.data, 1)
        admitted = entry_of(made).made.admitted
        answer = admitted.trials.submit(admitted.default, adapter.knobs_of((4,))).wait(600)

        assert answer.reason == "the process that tried it died with signal 11"
        assert x.get().tolist() == [1] * 64

    @pytest.mark.parametrize("by", [0, 1], ids=["in place", "beside"])
    def test_buffers_that_share_memory_do_so_in_copies(self, context, queue, by):
        text = "kernel void add(global int *x, global const int *y) {"
        text += "for (int i = 0; i < 64; i++) x[i] += y[i]; }"
        kernel = cl.Kernel(cl.Program(context, text).build(), "add")
        step = max(int(queue.device.mem_base_addr_align) // 8, 4)
        held = np.arange(64 + by * step // 4, dtype=np.int32)
        whole = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=held)
        args = (whole, whole)
        if by:
            args = (whole.get_sub_region(step, 256), whole.get_sub_region(0, 256))
        wanted = held.copy()
        for at in range(64):
            wanted[at + by * step // 4] += wanted[at]

        taken = adapter._Locals(kernel, (1,), pad=False).portable((queue, args, None, None))
        written = copies.runs(taken.kernel)({"local": 1}, list(taken.arguments))
        _, made, *_ = copies.on_copies((queue, args, None, None))
        kernel(queue, (1,), None, *made)
        left = [copies._bytes_of(queue, one).view(np.int32) for one in made]

        expected = [wanted[-64:].tolist(), wanted[:64].tolist()]
        assert [one.tolist() for one in left] == expected
        assert [one.view(np.int32).tolist() for one in written[:2]] == expected
        assert copies._bytes_of(queue, whole).view(np.int32).tolist() == held.tolist()

    def test_local_memory_is_taken(self, queue, kernel):
        x = ones(queue, dtype=np.int32)
        variants = adapter._Locals(kernel("scratch"), (64,), pad=False)

        taken = variants.portable((queue, (x.data, cl.LocalMemory(64)), None, None))
        run = copies.runs(taken.kernel)
        written = run({"local": 8}, list(taken.arguments))

        assert taken.names == ("argument 0",)
        assert [one.tolist() for one in written[:-1]] == [[3] * 64]

    @pytest.mark.parametrize(
        ("parameter", "nbytes", "elements"),
        [
            ("global float4 *x", 256, ("float32", 64)),
            ("global const uchar *x", 256, ("uint8", 256)),
            ("global double *x", 259, ("float64", 32)),
            ("global struct { int a; } *x", 256, ("uint8", 256)),
            ("global int *x", 3, ("int32", 0)),
        ],
    )
    def test_results_are_compared_as_the_numbers_that_a_kernel_points_to(
        self, context, parameter, nbytes, elements
    ):
        text = f"kernel void f({parameter}) {{}}"
        program = cl.Program(context, text).build("-cl-kernel-arg-info")

        found = copies._elements(cl.Kernel(program, "f"), 0, np.zeros(nbytes, np.uint8))

        assert (found.dtype.name, found.size) == elements

    @pytest.mark.parametrize("number", [3, np.int32(3), 3.0])
    def test_numbers_are_taken_as_the_kernel_has_them(self, queue, kernel, number):
        x = ones(queue)
        variants = adapter._Locals(kernel("twice"), (64,), pad=False)

        taken = variants.portable((queue, (x.data, number), None, None))
        written, _ = copies.runs(taken.kernel)({"local": "driver"}, list(taken.arguments))

        assert written.tolist() == [8.0] * 64

    def test_what_cannot_be_taken_is_refused(self, context, queue, kernel):
        image = cl.image_from_array(context, np.zeros((4, 4), np.float32), 1)
        variants = adapter._Locals(kernel("twice"), (64,), pad=False)

        with pytest.raises(vyre.InvalidInput) as caught:
            variants.portable((queue, (image, 1), None, None))

        problem, fix = str(caught.value).splitlines()
        assert problem.startswith("argument 0, <pyopencl.")
        assert problem.endswith(", cannot be had in another process")
        assert fix == "Fix: leave check= out, or pass buffers and plain values"


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        (
            ((64,), (8, 8)),
            "local_size of twice is (8, 8), and global_size (64,)\n"
            "Fix: give as many axes to both, and sizes of at least 1",
        ),
        (
            ((64,), (0,)),
            "local_size of twice is (0,), and global_size (64,)\n"
            "Fix: give as many axes to both, and sizes of at least 1",
        ),
        (
            ("64", None),
            "global_size of twice is '64'\nFix: give one to three whole numbers of at least 0",
        ),
        (
            ((64.0,), None),
            "global_size of twice is (64.0,)\nFix: give one to three whole numbers of at least 0",
        ),
        (
            ((1, 1, 1, 1), None),
            "global_size of twice is (1, 1, 1, 1)\n"
            "Fix: give one to three whole numbers of at least 0",
        ),
        (
            (64, (True,)),
            "local_size of twice is (True,)\nFix: give one to three whole numbers of at least 0",
        ),
    ],
)
def test_sizes_that_are_none_are_refused(queue, kernel, sizes, said):
    with pytest.raises(vyre.InvalidInput) as caught:
        tuned(kernel("twice"))(queue, *sizes, ones(queue).data, 1)

    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("local", "said"),
    [
        (64, "local=64 of twice\nFix: give a list, such as (64, 128)"),
        ("64", "local='64' of twice\nFix: give a list, such as (64, 128)"),
        ((), "local=() of twice\nFix: give at least one, of sizes of at least 1"),
        ((0,), "local=(0,) of twice\nFix: give at least one, of sizes of at least 1"),
        (
            (-1,),
            "a local size of twice is -1\nFix: give one to three whole numbers of at least 0",
        ),
    ],
)
def test_local_sizes_that_are_none_are_refused_where_they_are_written(kernel, local, said):
    with pytest.raises(vyre.InvalidInput) as caught:
        tuned(kernel("twice"), local)

    assert str(caught.value) == said


def test_what_is_no_kernel_is_refused():
    with pytest.raises(vyre.InvalidInput) as caught:
        tuned(3)

    assert str(caught.value) == (
        "3 is no pyopencl.Kernel\nFix: give one, such as pyopencl.Kernel(program, name)"
    )


def test_where_the_library_is_installed_is_no_part_of_what_a_kernel_is(context, queue):
    program = cl.Program(context, SOURCE).build(["-D", "A=1"])

    text = tuned(cl.Kernel(program, "twice"))._text(queue.device)

    assert text == f"twice\n-D A=1\n{SOURCE}"
    own = adapter._ITS_OWN
    assert own.sub("", '-I /mine -I "/a b/pyopencl/cl" -I/x/pyopencl/clever') == (
        "-I /mine  -I/x/pyopencl/clever"
    )


def test_a_tuned_kernel_is_one(kernel):
    made = tuned(kernel("twice"), local=((8, 8), None, 16))

    assert isinstance(made, TunedKernel)
    assert made.name == "twice"
    assert made._local == ((8, 8), None, (16,))
