"""Sources with macros on PoCL: each call runs one configuration, once, and the best is learned."""

import gc
import weakref
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

import vyre
from vyre.adapter import beside
from vyre.adapter.kind import Job
from vyre.adapter.template import templated, variants
from vyre.adapter.template.arguments import Bound, arguments_in, described
from vyre.backend.base import Rehearsal, Text
from vyre.learn.subject import Elapsed
from vyre.model import Reason
from vyre.testing.foreign import AT_ONCE, failures, learning
from vyre.testing.here import compiled_here

pytest.importorskip("pyopencl")

ADD = """__kernel void add(__global float *c, __global const float *a, float by, int n) {
    int first = (get_group_id(0) * block_size_x + get_local_id(0)) * VW;
    for (int k = 0; k < VW; k++)
        if (first + k < n) c[first + k] += a[first + k] * by;
}
"""
PARAMS = {"block_size_x": [4, 8], "VW": [1, 2]}
FAST = {"block_size_x": 8, "VW": 2}
SIZE = 50


def made(text=ADD, name="add", params=PARAMS, **said):
    return vyre.template(
        text, name, params=params, language="opencl", **{"grid_div_x": "block_size_x * VW", **said}
    )


@pytest.fixture(autouse=True)
def helper():
    """Configs are compiled in this process, so that nobody waits for another to come up."""
    with compiled_here() as here:
        yield here


@pytest.fixture
def ran(monkeypatch):
    """The configs that ran; a table tells their times."""
    found = []
    make = variants.Compiled.make

    def making(self, config):
        start = make(self, config)

        def starting(arguments, stream):
            event = start(arguments, stream)
            found.append(dict(config.settings))
            return event

        return starting

    def time(_, __, launch):
        launch()
        return Elapsed(400_000 if found[-1] == FAST else 1_000_000)

    monkeypatch.setattr(variants.Compiled, "make", making)
    monkeypatch.setattr(variants.OnTexts, "time", time)
    monkeypatch.setattr(variants.OnTexts, "pace", AT_ONCE)
    return found


def entry_of(template):
    return list(template._calls._entries.values())[-1]


def arrays(opencl, n=SIZE):
    return opencl.array(np.zeros(n, "f4")), opencl.array(np.arange(n, dtype="f4"))


def is_fast(template):
    return lambda: dict(entry_of(template).chosen.settings) == FAST


@pytest.mark.usefixtures("bench", "ran")
class TestLearning:
    """From calls that are made anyway."""

    def test_the_best_is_found_from_calls_that_each_run_once(self, bench, opencl, ran):
        template, launched = made(), 0
        c, a = arrays(opencl)

        def call():
            nonlocal launched
            template(c, a, 1, SIZE, size=SIZE)
            launched += 1

        assert bench.call(call, 400, is_fast(template))
        bench.call(call, 10)

        assert len(ran) == launched
        assert ran[0] == {"block_size_x": 4, "VW": 1}
        assert ran[-1] == FAST
        assert (np.asarray(c) == launched * np.arange(SIZE)).all()

    def test_others_are_compiled_elsewhere_and_only_loaded_here(self, bench, opencl, helper):
        template = made()
        c, a = arrays(opencl)

        template(c, a, 1, SIZE, size=SIZE)
        assert helper.jobs == []
        bench.call(lambda: template(c, a, 1, SIZE, size=SIZE), 400, is_fast(template))

        assert {job.entry for job in helper.jobs} == {"vyre.adapter.template.compiling:compiled"}
        assert {job.given["text"]["source"].count("#define VW") for job in helper.jobs} == {1}

    @pytest.mark.parametrize("is_gone", [False, True])
    def test_a_header_that_changes_meanwhile_is_in_no_config(
        self, bench, opencl, ran, tmp_path, is_gone
    ):
        (tmp_path / "by.h").write_text("#define BY 1\n")
        (tmp_path / "k.cl").write_text('#include "by.h"\n' + ADD.replace("* by", "* BY"))
        template, late = made(tmp_path / "k.cl"), made(tmp_path / "k.cl")
        c, a = arrays(opencl)
        template(c, a, 1, SIZE, size=SIZE)
        if is_gone:
            (tmp_path / "by.h").unlink()
        else:
            (tmp_path / "by.h").write_text("#define BY 2\n")

        bench.call(lambda: template(c, a, 1, SIZE, size=SIZE), 100)

        problem = f"{tmp_path / 'by.h'} is not what it was when the source of add was read"
        assert set(failures(entry_of(template)).values()) == {problem}
        assert (np.asarray(c) == len(ran) * np.arange(SIZE)).all()
        with pytest.raises(vyre.DeviceFailed) as caught:
            late(c, a, 1, SIZE, size=SIZE)
        assert str(caught.value) == f"{problem}\nFix: make the template again"

    def test_the_next_process_starts_with_what_was_learned(self, bench, opencl, ran):
        template = made()
        c, a = arrays(opencl)
        assert bench.call(lambda: template(c, a, 1, SIZE, size=SIZE), 400, is_fast(template))
        bench.call(lambda: template(c, a, 1, SIZE, size=SIZE), 20)

        with learning(bench.again()):
            made()(c, a, 1, SIZE, size=SIZE)

        assert ran[-1] == FAST

    @pytest.mark.parametrize(
        "other",
        [
            {"text": ADD.replace("+=", "=")},
            {"options": ["-DX=1"]},
            {"grid_div_x": "VW * block_size_x"},
            {"shared": None, "text": ADD + "// changed\n"},
        ],
    )
    def test_another_source_is_learned_anew(self, opencl, other):
        c, a = arrays(opencl)
        known = made()
        known(c, a, 1, SIZE, size=SIZE)
        template = made(**other)
        template(c, a, 1, SIZE, size=SIZE)

        assert known.decision(c, a, 1, SIZE, size=SIZE).workload != (
            template.decision(c, a, 1, SIZE, size=SIZE).workload
        )

    def test_what_was_learned_is_explained(self, bench, opencl):
        template = made(restrictions=["block_size_x * VW != 8"])
        c, a = arrays(opencl)
        bench.call(lambda: template(c, a, 1, SIZE, size=SIZE), 400, is_fast(template))

        head, guard, _, where, *lines = str(template.explain()).splitlines()

        assert head == "add: that its configs compute the same is stated by its author"
        assert guard == (
            "  not guarded: one that crashes or hangs does so here; check=True tries them"
        )
        assert where.startswith("50 elements on ")
        assert "  left out    2 of 4: restriction block_size_x * VW != 8" in lines

    def test_tuning_works_on_copies_and_is_remembered(self, bench, opencl, ran):
        template = made()
        c, a = arrays(opencl)

        decision = template.tune(c, a, 1, SIZE, size=SIZE, budget_s=60)

        assert (decision.reason, dict(decision.config.settings)) == (Reason.ADOPTED, FAST)
        assert not np.asarray(c).any()
        assert bench.deciders.desk.drained(60)
        template(c, a, 1, SIZE, size=SIZE)
        assert ran[-1] == FAST

    def test_what_a_sweep_cannot_compile_is_told(self, opencl):
        template = made("#if VW == 2\n#error no such way\n#endif\n" + ADD)
        c, a = arrays(opencl)

        template.tune(c, a, 1, SIZE, size=SIZE, budget_s=60)

        told = [line for line in str(template.explain()).splitlines() if "dropped" in line]
        assert [line.partition(": ")[0].strip() for line in told] == [
            "dropped     block_size_x=4, VW=2",
            "dropped     block_size_x=8, VW=2",
        ]
        assert all("<add>:2:2: no such way" in line for line in told)

    def test_no_array_of_a_call_is_kept(self, opencl):
        template = made()
        c, a = arrays(opencl)
        template(c, a, 1, SIZE, size=SIZE)

        kept = weakref.ref(c)
        del c
        gc.collect()

        assert kept() is None

    def test_a_key_says_which_calls_share_a_choice(self, opencl):
        template = made(key=["by"])
        c, a = arrays(opencl)
        for by in (1, 2, 2):
            template(c, a, by, SIZE, size=SIZE)
        template(*arrays(opencl, 200), 2, SIZE, size=SIZE)

        traits = [entry.call.workload.traits for entry in template._calls._entries.values()]

        assert traits == [("1",), ("2",), ("2",)]


@pytest.mark.usefixtures("bench")
class TestArguments:
    """Arrays where they are, and numbers of the types that the source says."""

    def test_numpy_arrays_are_copied_in_and_out(self):
        c, a = np.zeros(SIZE, "f4"), np.arange(SIZE, dtype="f4")
        a.flags.writeable = False  # const in the source
        template = made()

        for _ in range(2):
            template(c, a, np.float32(0.5), np.int32(SIZE), size=SIZE)

        assert (c == a).all()

    def test_some_may_be_on_the_device(self, opencl):
        c, a = arrays(opencl)

        made()(c, np.asarray(a), 2.0, SIZE, size=(SIZE,))

        assert (np.asarray(c) == 2 * np.asarray(a)).all()

    def test_one_array_given_twice_is_one(self):
        text = ADD.replace("__global const", "__global")
        c = np.ones(SIZE, "f4")

        made(text)(c, c, 1, SIZE, size=SIZE)

        assert (c == 2).all()

    def test_parameters_that_only_a_compiler_can_read_take_numbers_of_numpys(self, opencl):
        text = "#define ARGS __global float *c, int n\n" + (
            "__kernel void add(ARGS) { if (get_global_id(0) < n) c[get_global_id(0)] = 7; }"
        )
        template = made(text, params={"block_size_x": [4]}, grid_div_x=None)
        c, _ = arrays(opencl)

        template(c, np.int32(SIZE), size=SIZE)
        with pytest.raises(vyre.InvalidInput) as caught:
            template(c, SIZE, size=SIZE)
        assert str(caught.value) == (
            "argument 1 of add is 50, and its type is not known: its parameters are not plain\n"
            "Fix: pass a number of NumPy's, such as numpy.int32(5) or numpy.float32(0.5)"
        )
        with pytest.raises(vyre.VyreError) as failed:
            template(c, np.int32(1), np.int32(1), size=SIZE)
        assert failed.value.problem == "add takes 2 arguments, 3 given"
        assert (np.asarray(c) == 7).all()

    def test_workgroup_memory_is_as_large_as_shared_says(self):
        text = """__kernel void ends(__global int *x, __local int *t) {
            t[get_local_id(0)] = get_global_id(0);
            barrier(CLK_LOCAL_MEM_FENCE);
            x[get_global_id(0)] = t[block_size_x - 1 - get_local_id(0)];
        }"""
        template = made(
            text, "ends", {"block_size_x": [4]}, grid_div_x=None, shared="block_size_x * 4"
        )
        x = np.zeros(8, "i4")

        template(x, size=8)

        assert x.tolist() == [3, 2, 1, 0, 7, 6, 5, 4]

    def test_more_workgroup_memory_than_there_is_never_reaches_the_driver(self, opencl):
        """PoCL would end the process, be it declared, or declared and passed together."""
        most = opencl.info.limits.group_bytes
        text = """__kernel void f(__global float *a, __local float *t) {
            __local float held[FLOATS];
            held[get_local_id(0)] = t[get_local_id(0)] = 1;
            barrier(CLK_LOCAL_MEM_FENCE);
            a[get_global_id(0)] = held[0] + t[0];
        }"""
        a = opencl.zeros(4, np.float32)

        def called(floats, shared):
            template = vyre.template(
                text,
                "f",
                params={"block_size_x": [4], "FLOATS": [floats]},
                language="opencl",
                shared=shared,
            )
            template(a, size=4)

        for floats in (most // 4 - 3, 100_000_000):
            with pytest.raises(vyre.DeviceFailed) as caught:
                called(floats, 16)
            assert str(caught.value) == (
                f"f: {4 * floats + 16:,} bytes of workgroup memory, and the device allows {most:,}"
                "\nFix: split the problem, or restrict the parameters"
            )
        called(4, 16)
        assert np.asarray(a).tolist() == [2] * 4

    @pytest.mark.parametrize(
        ("parameters", "given", "message"),
        [
            ("ARGUMENTS", ("a", 5, 3), None),
            ("ARGUMENTS", (np.int64(5), 5, 3),
             "argument 0 of f takes float*, not numpy.int64"),
            ("ARGUMENTS", ("a", "a", 3), "argument 1 of f takes long, not an array"),
            ("ARGUMENTS", ("a", 5), "f takes 3 arguments, 2 given"),
            ("__global float *a, read_only image2d_t n, int m", ("a", "a", 3),
             "n of f takes image2d_t, not an array"),
            ("__global float *a, sampler_t n, int m", ("a", 5, 3),
             "n of f takes sampler_t, not numpy.int64"),
        ],
    )  # fmt: skip
    def test_what_a_compiled_kernel_does_not_take_never_reaches_it(
        self, opencl, parameters, given, message
    ):
        """PoCL would end the process."""
        made_ = vyre.template(
            "#define ARGUMENTS __global float *a, long n, int m\n"
            f"__kernel void f({parameters}) {{ a[get_global_id(0)] = m; }}",
            "f",
            params={"block_size_x": [4]},
            language="opencl",
        )
        a = opencl.zeros(4, np.float32)
        types = [np.float32, np.int64, np.int32]
        values = [
            a if one == "a" else make(one) if type(one) is int else one
            for one, make in zip(given, types, strict=False)
        ]

        with nullcontext() if message is None else pytest.raises(vyre.DeviceFailed) as caught:
            made_(*values, size=4)

        if message is not None:
            assert caught.value.problem == message
        assert np.asarray(a).tolist() == ([3] * 4 if message is None else [0] * 4)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ((0, 1), "add takes 4 arguments (c, a, by, n), 2 given\n"
             "Fix: pass 4; the size of the problem is size="),
            (("c", "a", 1, 2.5), "n of add is 2.5, not a value of int\n"
             "Fix: pass a whole number from -2147483648 to 2147483647"),
            (("c", "a", 1, 1 << 31), "n of add is 2147483648, not a value of int\n"
             "Fix: pass a whole number from -2147483648 to 2147483647"),
            (("c", "a", 10**400, 3),
             f"by of add is {10**400!r}, too large for float\nFix: pass a smaller number"),
            (("c", "a", 1e39, 3), "by of add is 1e+39, too large for float\n"
             "Fix: pass a smaller number"),
            (("c", "a", np.float64(1), 3), "by of add is numpy.float64, and the source says float\n"
             "Fix: pass numpy.float32, or a number of Python's"),
            (("c", "a", 1, np.float32(1)), "n of add is numpy.float32, and the source says int\n"
             "Fix: pass numpy.int32, or a number of Python's"),
            (("c", 3, 1, 3), "a of add is 3, and the source says float *\nFix: pass an array"),
            (("c", "a", "a", 3), "by of add is an array, and the source says float\n"
             "Fix: pass a number"),
            (("double", "a", 1, 3), "c of add is float64, and the source says float *\n"
             "Fix: pass an array of float32"),
            (("strided", "a", 1, 3), "c of add is not contiguous (strides (8,))\n"
             "Fix: pass numpy.ascontiguousarray of it, and copy back what is written"),
            (("fixed", "a", 1, 3), "c of add may be written, and its array is read-only\n"
             "Fix: pass a copy, or declare the parameter const in the source"),
            (("half", "other half", 1, 3), "arguments 0 and 1 of add share memory, and may be "
             "written\nFix: pass copies, or arrays of the device"),
            (("c", [1.0], 1, 3), "a of add is [1.0]\n"
             "Fix: pass an array of a device, NumPy, CuPy or torch, or a number"),
            (("cpu", "a", 1, 3), "cpu:0 runs no source in opencl, and add is one\n"
             "Fix: use the device opencl, and arrays of it"),
        ],
    )  # fmt: skip
    def test_what_does_not_fit_is_said(self, given, message):
        c = np.zeros(2 * SIZE, "f4")
        known = {
            "c": c[:SIZE],
            "a": np.ones(SIZE, "f4"),
            "double": np.zeros(SIZE),
            "strided": c[::2],
            "fixed": np.frombuffer(bytes(4 * SIZE), "f4"),
            "half": c[:SIZE],
            "other half": c[10:],
            "cpu": vyre.open("cpu").array(c),
        }
        passed = [known[one] if isinstance(one, str) else one for one in given]

        with pytest.raises(vyre.InvalidInput) as caught:
            made()(*passed, size=3)

        assert str(caught.value) == message

    def test_a_call_like_an_earlier_one_takes_the_short_way(self, opencl, monkeypatch):
        template = made()
        c, a = arrays(opencl)
        template(c, a, 2, SIZE, size=SIZE)
        monkeypatch.setattr(templated, "taken", lambda *_: pytest.fail("it was looked at again"))

        for by in (3, 0.5, np.float32(0.5)):
            with pytest.raises(pytest.fail.Exception) if by != 3 else nullcontext():
                template(c, a, by, SIZE, size=SIZE)
        assert (np.asarray(c) == 5 * np.arange(SIZE)).all()

    def test_the_short_way_is_not_taken_under_another_mode(self, opencl):
        template = made()
        c, a = arrays(opencl)
        template(c, a, 2, SIZE, size=SIZE)

        with vyre.mode("off"):
            template(c, a, 2, SIZE, size=SIZE)

        assert len(template._calls._entries) == 2

    def test_a_rule_that_changes_within_a_first_call_is_none_of_its_entry_s(self, opencl):
        """As another thread may change it: calls to come would be decided by the other."""
        template = made()
        c, a = arrays(opencl)
        find = template._calls.find
        with vyre.mode("off") as off:
            template._calls.find = lambda key: off.__exit__() or find(key)
            template(c, a, 2, SIZE, size=SIZE)
            off.__enter__()
            template._calls.find = find
            template(c, a, 2, SIZE, size=SIZE)

        modes = {entry.by.mode.value for entry in template._calls.entries}
        assert modes == {"natural", "off"}

    def test_a_stream_has_no_place_on_opencl(self, opencl):
        with pytest.raises(vyre.InvalidInput) as caught:
            made()(*arrays(opencl), 1, 3, size=3, stream=1)

        assert str(caught.value) == ("stream= of add on opencl:0, which has one\nFix: leave it out")


@pytest.mark.usefixtures("bench")
class TestSizes:
    """Of the problem."""

    @pytest.mark.parametrize("size", [0, (0, 5), (5, 0, 1)])
    def test_nothing_to_do_launches_nothing(self, size, monkeypatch):
        monkeypatch.setattr(variants.Compiled, "make", lambda *_: pytest.fail("it was launched"))
        c = np.zeros(1, "f4")

        assert made()(c, np.ones(1, "f4"), 1, 1, size=size) is None
        assert not c.any()

    @pytest.mark.usefixtures("ran")
    def test_a_grid_of_nothing_is_nothing_to_do_or_no_config(self, bench, opencl):
        c, a = arrays(opencl)
        nothing = made(grid_div_x=None, grid="size // 100")
        nothing(c, a, 1, SIZE, size=SIZE)
        assert not np.asarray(c).any()

        template = made(grid_div_x=None, grid="size * (VW == 1)")
        bench.call(
            lambda: template(c, a, 1, SIZE, size=SIZE),
            400,
            lambda: len(failures(entry_of(template))) == 2,
        )
        assert set(failures(entry_of(template)).values()) == {"add: grid (0, 1, 1) does nothing"}

    def test_one_element_is_one(self):
        c = np.zeros(3, "f4")

        made()(c, np.ones(3, "f4"), 1, 1, size=1)

        assert c.tolist() == [1, 0, 0]

    def test_a_fixed_one_serves_all_calls(self):
        c = np.zeros(SIZE, "f4")

        made(size=SIZE)(c, np.ones(SIZE, "f4"), 1, SIZE)

        assert (c == 1).all()

    def test_sizes_of_a_doubling_share_an_entry_where_nothing_depends_on_them(self, opencl):
        template, exact = made(), made(ADD.replace("int first", "int g = grid_size_x; int first"))
        c, a = arrays(opencl)
        for size in (40, 41, 42):
            template(c, a, 1, size, size=size)
            exact(c, a, 1, size, size=size)

        assert len(template._calls._entries) == 1
        assert len(exact._calls._entries) == 3
        assert "#define grid_size_x 10\n" in exact.source(size=40)
        assert (np.asarray(c)[:42] == 6 * np.arange(42))[:40].all()

    def test_a_grid_that_the_device_cannot_launch_is_said(self, monkeypatch):
        monkeypatch.setattr(
            variants.Launch,
            "refusal",
            lambda one, *_: f"grid {one.grid}" if one.grid[0] > 9 else None,
        )

        with pytest.raises(vyre.DeviceFailed) as caught:
            made()(np.zeros(1, "f4"), np.ones(1, "f4"), 1, 1, size=1 << 31)

        assert caught.value.problem == f"add: grid ({1 << 29}, 1, 1)"


@pytest.mark.usefixtures("bench")
class TestWhatFails:
    """A config that cannot run is dropped; the default's trouble is the caller's to hear."""

    def test_a_mistake_names_the_file_and_the_line(self, tmp_path):
        path = tmp_path / "k.cl"
        path.write_text("__kernel void f(__global int *x) {\n    x[0] = nothing;\n}\n")
        template = vyre.template(path, "f", params={"block_size_x": [4]})

        with pytest.raises(vyre.DeviceFailed) as caught:
            template(np.zeros(4, "i4"), size=4)

        assert "f does not compile under block_size_x=4: " in caught.value.problem
        assert "k.cl:2:12: use of undeclared identifier 'nothing'" in caught.value.problem
        assert caught.value.fix == (
            "mend k.cl, or restrict the parameters; source() of the template shows what is compiled"
        )

    @pytest.mark.usefixtures("ran")
    def test_a_config_that_does_not_compile_is_dropped_with_what_the_compiler_said(
        self, bench, opencl
    ):
        template = made("#if VW == 2\n#error no such way\n#endif\n" + ADD)
        c, a = arrays(opencl)

        bench.call(
            lambda: template(c, a, 1, SIZE, size=SIZE),
            400,
            lambda: len(failures(entry_of(template))) == 2,
        )

        dropped = failures(entry_of(template))
        assert set(dropped) == {"block_size_x=4, VW=2", "block_size_x=8, VW=2"}
        assert all("<add>:2:2: no such way" in why for why in dropped.values())

    def test_blocks_beyond_the_device_are_left_out_and_counted(self, bench, opencl):
        most = opencl.info.limits.max_threads
        template = made(params={"block_size_x": [4, most * 2, most * 4], "VW": [1, 2]})
        c, a = arrays(opencl)

        bench.call(lambda: template(c, a, 1, SIZE, size=SIZE), 1)

        (explained,) = template.explain().workloads
        assert explained.legal == 2
        assert len(explained.refused) == 2
        assert explained.refused[0] == (
            f"2 of 6: block ({most * 2}, 1, 1) is {most * 2:,} threads, "
            f"and the device allows {most:,}"
        )

    def test_where_none_is_left_it_is_said(self, opencl):
        most = opencl.info.limits.max_threads

        with pytest.raises(vyre.InvalidInput) as caught:
            made(params={"block_size_x": [most * 2], "VW": [1]})(*arrays(opencl), 1, 1, size=1)

        assert str(caught.value) == (
            f"no config of add can be launched on opencl:0: block ({most * 2}, 1, 1) is "
            f"{most * 2:,} threads, and the device allows {most:,}\n"
            "Fix: offer smaller blocks, or less workgroup memory"
        )

    def test_a_kernel_of_no_parameter_runs_as_it_is(self):
        template = made(
            "__kernel void f(__global int *x) { x[get_global_id(0)] = 1; }",
            "f",
            {},
            block=4,
            grid_div_x=None,
        )
        x = np.zeros(8, "i4")

        template(x, size=8)

        assert x.all()
        assert entry_of(template).chosen.text == "as it is"


@pytest.mark.usefixtures("bench")
class TestWhatIsSaid:
    """Where a template is made."""

    def test_the_source_of_each_config_can_be_seen(self):
        template = made(ADD.replace("VW;", "VW * (block_size_y);"))

        assert template.source().startswith("#define block_size_y 1\n#define block_size_x 4\n")
        assert "#define VW 2\n" in template.source(FAST)
        with pytest.raises(vyre.InvalidInput) as caught:
            template.source({"VW": 3})
        assert str(caught.value) == (
            "VW=3 is no config of add\n"
            "Fix: give one of its space, such as {'block_size_x': 4, 'VW': 1}"
        )
        assert repr(template) == "<template add, 4 configs>"

    @pytest.mark.parametrize(
        ("said", "message"),
        [
            ({"name": "sub"}, "no kernel 'sub' in <sub>, which has add\n"
             "Fix: name one of its kernels"),
            ({"name": " "}, "a kernel's name that is ' '\nFix: give it as the source does"),
            ({"name": "add<VW>"}, "add<VW> in OpenCL C, which has no templates\n"
             "Fix: name a function"),
            ({"shared": 4}, "no argument is workgroup memory of add, and shared= is given\n"
             "Fix: give shared= its bytes, for one argument; others can be arrays in the kernel, "
             "as large as macros say"),
            ({"options": [3]}, "options of add are [3]\nFix: give texts, such as [\"-DN=1\"]"),
            ({"key": "m"}, "key= of add names 'm', which is no argument of it\n"
             "Fix: name one of c, a, by, n"),
            ({"device": "cpu"}, "cpu:0 runs no source in opencl, and add is one\n"
             "Fix: use the device opencl, and arrays of it"),
            ({"rtol": 1.0}, "rtol=1.0, atol=0.0 without check=True\n"
             "Fix: pass check=True as well, or leave them out"),
            ({"params": {"VW": ["a\\"]}, "grid_div_x": 1}, "VW='a\\\\', whose backslash takes in "
             "the line below\nFix: leave it out"),
        ],
    )  # fmt: skip
    def test_a_mistake_is_said_at_once(self, said, message):
        with pytest.raises(vyre.InvalidInput) as caught:
            made(**said)

        assert str(caught.value) == message

    def test_included_files_are_found_beside_the_source(self, tmp_path):
        (tmp_path / "by.h").write_text("#define BY 3\n")
        path = tmp_path / "k.cl"
        path.write_text('#include "by.h"\n__kernel void f(__global int *x) { x[0] = BY * VW; }\n')
        x = np.zeros(4, "i4")

        vyre.template(path, "f", params={"VW": [2]}, block=1)(x, size=1)

        assert x[0] == 6

    def test_a_folder_that_opencl_cannot_be_told_of_is_refused(self, tmp_path):
        folder = tmp_path / "a b"
        folder.mkdir()
        (folder / "by.h").write_text("\n")
        (folder / "k.cl").write_text('#include "by.h"\n' + ADD)

        with pytest.raises(vyre.InvalidInput) as caught:
            vyre.template(folder / "k.cl", "add", params=PARAMS)

        assert caught.value.fix == "move them"


@pytest.mark.slow
class TestProcesses:
    """What is compiled and tried in processes that may die."""

    WRONG = ADD.replace("+=", "+= VW == 2 ? 1 :")

    def tried(self, template, config):
        admitted = entry_of(template).made.admitted
        return admitted.trials.submit(admitted.default, vyre.Knobs.of(config)).wait(600)

    def test_a_config_that_writes_something_else_never_serves(self, bench, opencl, ran):
        template = made(
            self.WRONG,
            check=True,
            params={"block_size_x": [8], "VW": [1, 2, 4]},
            restrictions=[lambda VW: VW != 3],  # noqa: N803  # the macro's name
            block=lambda config: config["block_size_x"],
        )
        c, a = arrays(opencl)
        template(c, a, 2, SIZE, size=SIZE)

        assert self.tried(template, {"block_size_x": 8, "VW": 2}).reason == (
            "it differs from block_size_x=8, VW=1: c has 50 of 50 elements that differ, such as "
            "1.0 at 0, where it should be 0.0"
        )
        assert self.tried(template, {"block_size_x": 8, "VW": 4}) == {}
        assert (np.asarray(c) == 2 * np.arange(SIZE)).all()
        assert {one["VW"] for one in ran} == {1}
        assert "checked: each ran on copies first, and wrote what the first does, bitwise" in str(
            template.explain()
        )
        assert bench.deciders.desk.drained(60)

    @pytest.mark.parametrize(
        ("written", "said"),
        [
            ("c[n] = 0", "c has 4 of 8,192 elements that differ, such as 0 at 4096"),
            ("c[-1] = 0", "c has 4 of 8,192 elements that differ, such as 0 at 4092"),
            (
                "((__global float *)a)[n] = 0",
                "a has 4 of 8,192 elements that differ, such as 0 at 4096",
            ),
        ],
    )
    @pytest.mark.parametrize("where", ["device", "host"])
    def test_a_config_that_writes_beside_an_array_never_serves(
        self, bench, opencl, ran, monkeypatch, where, written, said
    ):
        # Compiling launches on arrays of its own, and might be ended before anything is tried.
        monkeypatch.setattr(opencl.backend.texts, "_rehearses", False)
        template = made(
            f"{ADD[: ADD.rindex('}')]}\n    if (VW == 2 && first == 0) {written};\n}}\n",
            check=True,
            params={"block_size_x": [8], "VW": [1, 2]},
        )
        held = [np.zeros(SIZE, "f4"), np.arange(SIZE, dtype="f4")]
        given = held if where == "host" else list(map(opencl.array, held))
        reason = f"the memory beside {said}, where it should be 165"

        def call():
            template(*given, 2, SIZE, size=SIZE)
            beside.trying().submit(Job(entry="vyre.adapter.none:none")).wait(600)  # all were tried

        assert bench.call(call, 100, lambda: reason in str(template.explain()))

        bench.call(call, 20)
        assert {one["VW"] for one in ran} == {1}

    def test_what_is_written_beside_an_array_while_compiling_ends_no_process(self, opencl, bench):
        astray = made(ADD.replace("int first", "c[-1] = c[n] = VW; int first"))
        one = variants.Compiled(
            astray._recipe,
            variants.OnTexts(opencl, opencl.backend.texts),
            (SIZE,),
            described((*arrays(opencl), *numbers(1))),
            {},
        )

        answers = [
            beside.compiling().submit(one.job(vyre.Knobs.of({**FAST, "VW": vw}))).wait(600)
            for vw in (1, 2)
        ]

        assert answers == [{}, {}]
        assert bench.deciders.desk.drained(60)

    def test_a_compile_that_does_not_end_is_ended_with_its_process(self, opencl, bench):
        hangs = made(ADD.replace("int first", "for (;;) c[0] += VW; int first"))
        one = variants.Compiled(
            hangs._recipe,
            variants.OnTexts(opencl, opencl.backend.texts),
            (SIZE,),
            described((*arrays(opencl), *numbers(1))),
            {},
        )

        job = replace(one.job(vyre.Knobs.of(FAST)), limit_s=20.0)
        answer = beside.compiling().submit(job).wait(600)

        assert answer.reason == "compiling took more than 20 s"
        assert bench.deciders.desk.drained(60)

    def test_what_another_process_has_compiled_is_loaded_here(self, opencl, bench, monkeypatch):
        template = made(ADD + "// of another process\n")
        c, a = arrays(opencl)
        template(c, a, 1, SIZE, size=SIZE)
        one = entry_of(template).made.variants
        config = vyre.Knobs.of(FAST)

        answer = beside.compiling().submit(one.job(config)).wait(600)
        assert answer == {}
        monkeypatch.setattr(
            type(opencl.backend.texts), "_built", lambda *_: pytest.fail("it was built again")
        )
        one.make(config)(Bound((SIZE,), arguments_in((c, a, *numbers(1))), ()), 0).wait()

        assert (np.asarray(c) == 2 * np.arange(SIZE)).all()
        assert bench.deciders.desk.drained(60)


def numbers(by):
    return np.float32(by), np.int32(SIZE)


@pytest.mark.usefixtures("bench")
class TestCompiling:
    """What another process is asked for."""

    def test_ones_as_long_as_the_arrays_are_what_a_driver_compiles_with(self, opencl):
        template = made()
        template(*arrays(opencl), 3, SIZE, size=SIZE)

        job = entry_of(template).made.variants.job(vyre.Knobs.of(FAST))

        assert job.given["rehearsal"] == {
            "grid": (4, 1, 1),
            "block": (8, 1, 1),
            "arguments": (
                ("array", "<f4", SIZE),
                ("array", "<f4", SIZE),
                ("number", "<f4", 3.0),
                ("number", "<i4", SIZE),
            ),
        }
        assert (job.given["device"], job.given["text"]["entry"]) == ("opencl:0", "add")
        assert job.limit_s == 60.0

    def test_a_form_for_wide_grids_is_compiled_for_those(self, opencl):
        texts = opencl.backend.texts
        text = Text(
            source="__kernel void f(__global uchar *x) { x[get_global_id(0)]++; }", entry="f"
        )
        wide = Rehearsal(
            grid=(1 << 14, 1, 1), block=(8, 1, 1), arguments=(("array", "u1", 1 << 17),)
        )
        small = replace(wide, grid=(2, 1, 1))

        assert texts.compile(text, wide) is True
        assert texts._name(text, wide) != texts._name(text, small)
        assert texts._kept.get(texts._name(text, small)) is None

    def test_what_takes_more_memory_than_is_free_is_compiled_without_a_launch(
        self, opencl, monkeypatch
    ):
        monkeypatch.setattr("vyre.backend.opencl_texts.host.free_bytes", lambda: 7)
        text = Text(source="__kernel void f(__global int *x) { for (;;) x[0] = 2; }", entry="f")
        rehearsal = Rehearsal(grid=(1, 1, 1), block=(4, 1, 1), arguments=(("array", "i4", 64),))

        assert opencl.backend.texts.compile(text, rehearsal) is True
