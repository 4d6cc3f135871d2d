"""Kernels of others in CUDA C++: compiled by NVRTC, launched on the fake driver."""

import ctypes
import gc
import struct
import threading
import weakref
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("cuda.bindings")
import vyre  # what follows needs the bindings
from vyre.adapter.template import same, templated, variants
from vyre.adapter.template.arguments import Bound, taken
from vyre.adapter.template.compiling import portable_of, runs
from vyre.adapter.template.copies import copies_of
from vyre.adapter.template.short import Short
from vyre.adapter.template.variants import OnTexts
from vyre.adapter.trial.around import MARGIN, UNTOUCHED
from vyre.backend.base import Rehearsal, Text, Unbuilt
from vyre.backend.cuda import nvrtc
from vyre.backend.cuda.discover import found
from vyre.runtime.arrays import shared
from vyre.runtime.arrays.in_place import WIDEST, alignment_at
from vyre.runtime.devices.device import Device
from vyre.testing.foreign import AT_ONCE, Bench, failures, learning
from vyre.testing.here import compiled_here

ADD = """template <typename T, int items>
__global__ void add(T *c, const T *__restrict__ a, float by, long long n, bool on) {
    extern __shared__ float held[];
    held[threadIdx.x] = by;
    const long long first = ((long long)blockIdx.x * block_size_x + threadIdx.x) * items;
    for (int k = 0; k < items; k++)
        if (on && first + k < n) c[first + k] += a[first + k] * held[threadIdx.x];
}
"""
FLOATS = ADD.replace("T *c", "float *c").replace("const T *", "const float *")
REHEARSAL = Rehearsal(grid=(1, 1, 1), block=(64, 1, 1))


@pytest.fixture
def cuda(driver, tmp_path):
    (made,) = found(tmp_path, driver, tmp_path / "no such file")
    driver.takes_shared = True
    return made


@pytest.fixture
def device(cuda, monkeypatch):
    made = Device("cuda:0", cuda)
    monkeypatch.setattr(templated, "open_device", lambda name: {"cuda": made}[name])
    monkeypatch.setattr(
        "vyre.adapter.template.compiling.open_device", lambda name: {"cuda:0": made}[name]
    )
    monkeypatch.setattr(OnTexts, "pace", replace(AT_ONCE, shortest_ns=cuda.shortest_ns))
    monkeypatch.setattr(shared, "_find", lambda _: (made,))
    return made


class Theirs:
    """An array of another library's, whose contents come to be on a stream."""

    def __init__(self, array, stream):
        self.array, self.stream = array, stream

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": self.array.shape,
            "typestr": self.array.dtype.str,
            "data": (self.array.argument, False),
            "version": 3,
            "stream": self.stream,
        }


@pytest.fixture
def bench():
    with learning(Bench()) as made:
        yield made


def template(**said):
    return vyre.template(
        said.pop("text", ADD),
        "add<real, VW>",
        params={"block_size_x": [64, 128], "VW": [1, 4], "real": ["float"]},
        **{"grid_div_x": ("block_size_x", "VW"), "shared": "block_size_x * 4", **said},
    )


@pytest.fixture
def arrays(device, bench):  # noqa: ARG001  # whatever learns of them does so on a bench
    return tuple(device.array(np.ones(1000, "f4")) for _ in range(2))


def values(driver, formats):
    """What the driver reads through the pointers of the last launch."""
    address = driver.launches[-1][-1]
    pointers = (ctypes.c_void_p * len(formats)).from_address(address)
    return [
        struct.unpack(f"<{form}", ctypes.string_at(at, struct.calcsize(form)))[0]
        for form, at in zip(formats, pointers, strict=True)
    ]


def test_a_call_is_one_launch_with_the_block_grid_and_memory_of_its_config(arrays, driver):
    c, a = arrays

    template()(c, a, 2, 1000, True, size=1000)

    ((function, grid, block, stream, _),) = driver.launches
    assert function.startswith("_Z3addIfLi1EE")  # as NVRTC calls add<float, 1>
    assert (grid, block, stream) == ((16, 1, 1), (64, 1, 1), 1)
    assert driver.shared == [256]
    assert values(driver, "QQfqB") == [c.argument, a.argument, 2.0, 1000, 1]
    assert "cuMemcpyDtoHAsync" not in driver.calls


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("value", [2, np.uint8(2), np.int8(-1)])
def test_what_is_neither_true_nor_false_is_no_bool(arrays, driver, again, value):
    c, a = arrays
    made = template()
    if again:
        made(c, a, 2, 1000, type(value)(1), size=1000)
    launched = len(driver.launches)

    with pytest.raises(vyre.InvalidInput) as caught:
        made(c, a, 2, 1000, value, size=1000)

    assert str(caught.value) == (
        f"on of add<real, VW> is {value!r}, not a value of bool\n"
        "Fix: pass a whole number from 0 to 1"
    )
    assert len(driver.launches) == launched


@pytest.mark.usefixtures("bench", "device")
def test_numpy_arrays_go_there_and_come_back_unless_they_are_const(driver):
    c, a = np.zeros(8, "f4"), np.ones(8, "f4")

    template()(c, a, 2.0, 8, False, size=8)

    assert driver.calls.count("cuMemcpyHtoDAsync") == 2
    assert driver.calls.count("cuMemcpyDtoHAsync") == 1


def test_it_runs_on_the_stream_that_is_asked_for_after_what_came_before(arrays, driver):
    c, a = arrays

    template()(c, a, 2, 8, True, size=8, stream=0x77)

    assert driver.launches[-1][3] == 0x77
    assert driver.ordered == (1, 0x77)
    assert c.memory.stream == 0x77


def test_arrays_of_others_are_used_in_place_on_their_stream(arrays, driver):
    c, a = arrays

    template()(Theirs(c, 0x99), Theirs(a, 0x99), 2, 1000, True, size=1000)

    assert driver.launches[-1][3] == 0x99
    assert values(driver, "QQ") == [c.argument, a.argument]
    assert "cuMemcpyDtoDAsync" not in driver.calls
    with pytest.raises(vyre.InvalidInput) as caught:
        template()(Theirs(c, 0x98), Theirs(a, 0x99), 2, 1000, True, size=1000)
    assert caught.value.problem.startswith("the arrays of add<real, VW> are on different streams: ")


def test_launches_are_ready_to_be_timed_before_the_first_time_is_asked_for(bench, arrays, cuda):
    """Where a stream is idle at each launch that is timed, and busy whenever its time is there."""
    c, a = arrays
    template()(c, a, 2, 1000, True, size=1000)
    assert bench.deciders.desk.drained(60)

    assert cuda._timing._gate.is_prepared
    assert not cuda.time(0x50, lambda: None, enqueues=True).rough


def test_others_are_compiled_in_their_turn_and_the_best_is_found(bench, arrays, driver):
    c, a = arrays
    made = template()

    with compiled_here() as here:
        bench.call(
            lambda: made(c, a, 2, 1000, True, size=1000),
            300,
            lambda: len({launch[:3] for launch in driver.launches}) == 4,
        )

    assert {(launch[1], launch[2]) for launch in driver.launches} == {
        ((16, 1, 1), (64, 1, 1)),
        ((4, 1, 1), (64, 1, 1)),
        ((8, 1, 1), (128, 1, 1)),
        ((2, 1, 1), (128, 1, 1)),
    }
    assert len(here.jobs) == 3
    assert driver.calls.count("cuModuleLoadData") == 4 + driver.gate_launches.__bool__()


@pytest.mark.usefixtures("bench")
def test_a_file_finds_what_it_includes_beside_it(device, driver, tmp_path):
    folder = tmp_path / "a b"
    folder.mkdir()
    (folder / "by.h").write_text("#pragma once\nconstexpr int by = 3;\n")
    path = folder / "k.cu"
    path.write_text('#include "by.h"\r\n__global__ void f(int *x) { *x = by * VW; }')
    made = vyre.template(path, "f", params={"VW": [2]}, grid=1, block="VW * 16")

    made(device.array(np.zeros(1, "i4")))

    assert driver.launches[-1][:3] == ("_Z1fPi", (1, 1, 1), (32, 1, 1))


@pytest.mark.usefixtures("bench")
def test_templates_that_never_end_are_a_mistake_like_any_other(device):
    text = "template <int N> struct F { static const int v = F<N + 1>::v; };\n" + (
        "__global__ void f(int *x) { *x = F<VW>::v; }"
    )
    made = vyre.template(text, "f", params={"VW": [2]}, grid=1)

    with pytest.raises(vyre.DeviceFailed) as caught:
        made(device.array(np.zeros(1, "i4")))

    assert "f does not compile under VW=2: <f>(1): error: excessive recursion" in (
        caught.value.problem
    )


def test_a_mistake_names_the_line_of_the_users_source(arrays):
    c, a = arrays
    made = template(text=ADD.replace("held[threadIdx.x] = by", "held[threadIdx.x] = nothing"))

    with pytest.raises(vyre.DeviceFailed) as caught:
        made(c, a, 2, 8, True, size=8)

    assert caught.value.problem == (
        "add<real, VW> does not compile under block_size_x=64, VW=1, real=float: "
        '<add>(4): error: identifier "nothing" is undefined'
    )


def test_a_config_that_takes_too_many_registers_is_dropped(bench, arrays, driver, monkeypatch):
    monkeypatch.setattr(type(driver), "_cuFuncGetAttribute", lambda *_: (100,))
    c, a = arrays
    made = template()

    with compiled_here():
        entry = None
        bench.call(
            lambda: made(c, a, 2, 8, True, size=8),
            300,
            lambda: len(failures(list(made._calls._entries.values())[-1])) == 2,
        )
        (entry,) = made._calls._entries.values()

    assert set(failures(entry).values()) == {
        "block (128, 1, 1) of add<real, VW> is 128 threads, and its registers leave 100"
    }


def test_a_config_whose_kernel_takes_other_bytes_is_never_launched(bench, arrays, driver):
    # A number of 32 bits would be read as 64, and the half behind it is somebody else's.
    driver.parameters = {"3addIf": (8, 8, 4, 8, 1), "3addId": (8, 8, 8, 8, 1)}
    c, a = arrays
    made = vyre.template(
        ADD.replace("float by", "T by")
        .replace("T *c", "float *c")
        .replace("const T *", "const float *"),
        "add<real, 1>",
        params={"block_size_x": [64], "real": ["float", "double"]},
        shared=512,
    )

    with compiled_here():
        bench.call(
            lambda: made(c, a, np.float32(2), 8, True, size=8),
            300,
            lambda: failures(list(made._calls._entries.values())[-1]),
        )
        (entry,) = made._calls._entries.values()

    assert set(failures(entry).values()) == {"by of add<real, 1> takes 8 bytes, not numpy.float32"}
    assert all("addIf" in launch[0] for launch in driver.launches)


def test_a_kernel_is_never_launched_with_too_few_arguments(arrays, driver):
    driver.parameters = {"3addIf": (8, 8, 4)}
    c, a = arrays
    made = vyre.template(
        "#define ARGUMENTS float *c, const float *a, float by\n"
        "template <class T> __global__ void add(ARGUMENTS) {}",
        "add<float>",
        params={"block_size_x": [64]},
    )

    with pytest.raises(vyre.DeviceFailed) as caught:
        made(c, a, size=8)

    assert str(caught.value) == (
        "add<float> takes 3 arguments, 2 given\nFix: pass as many as the kernel takes"
    )
    assert not driver.launches


def test_a_block_with_more_memory_than_there_is_is_left_out(bench, arrays):
    c, a = arrays
    made = template(shared="block_size_x * 512")

    bench.call(lambda: made(c, a, 2, 8, True, size=8), 1)

    (explained,) = made.explain().workloads
    assert explained.refused == (
        "2 of 4: 65,536 bytes of workgroup memory, and the device allows 49,152",
    )


@pytest.mark.parametrize("skipped", [0, 1, 4], ids=["aligned", "to 4 bytes", "to 16"])
@pytest.mark.parametrize("at", [0, -1, 900], ids=["within", "before", "beyond"])
def test_what_is_written_beside_a_copy_is_seen_however_it_is_aligned(
    arrays, device, driver, monkeypatch, skipped, at
):
    class Part(Theirs):
        @property
        def __cuda_array_interface__(self):
            data = (self.array.argument + 4 * skipped, False)
            return {**super().__cuda_array_interface__, "data": data, "shape": (900,)}

    made = template()
    recipe, (c, a) = made._recipe, arrays
    parts = (Part(c, 1), Part(a, 1), 2.0, 900, True)
    portable = portable_of(device, recipe, Bound((900,), (), taken(recipe, parts)))
    launch, starts = type(driver)._cuLaunchKernel, []

    def launching(driver, *given):
        said = launch(driver, *given)
        (address,) = values(driver, "Q")
        starts.append(address - max(one for one in driver.memory if one <= address))
        ctypes.c_float.from_address(address + 4 * at).value = 0.0
        return said

    monkeypatch.setattr(type(driver), "_cuLaunchKernel", launching)
    written, *beside = runs(portable.kernel)(
        dict(made.space.configs[0].settings), portable.arguments
    )

    lies = alignment_at(c.argument + 4 * skipped) % WIDEST
    assert starts == [MARGIN + lies]
    assert written.tolist() == [float(at != 0), *[1.0] * 899]
    assert [one.name for one in beside] == ["the memory beside c", "the memory beside a"]
    assert [np.flatnonzero(one.array != UNTOUCHED).tolist() for one in beside] == [
        {0: [], -1: [4092, 4093, 4094, 4095], 900: [4096, 4097, 4098, 4099]}[at],
        [],
    ]


@pytest.mark.parametrize("by", [0, 8], ids=["in place", "beside"])
def test_arrays_that_share_memory_do_so_in_copies(arrays, device, driver, monkeypatch, by):
    class Part(Theirs):
        @property
        def __cuda_array_interface__(self):
            data = (self.array.argument + 4 * by, False)
            return {**super().__cuda_array_interface__, "data": data, "shape": (900,)}

    recipe, (c, _) = template()._recipe, arrays
    held = taken(recipe, (Theirs(c, 1), Part(c, 1), 2.0, 900, True))
    portable = portable_of(device, recipe, Bound((900,), (), held))
    launch, given = type(driver)._cuLaunchKernel, []

    def launching(driver, *asked):
        said = launch(driver, *asked)
        given.append(values(driver, "QQ"))
        ctypes.c_float.from_address(given[-1][1]).value = 5.0
        return said

    monkeypatch.setattr(type(driver), "_cuLaunchKernel", launching)
    settings = dict(template().space.configs[0].settings)
    written, *_ = runs(portable.kernel)(settings, portable.arguments)
    monkeypatch.undo()
    first, second = copies_of(device, held)[:2]

    assert given[0][1] - given[0][0] == 4 * by
    assert np.flatnonzero(written == 5).tolist() == [by]
    assert second.argument - first.argument == 4 * by
    assert (np.asarray(first) == 1).all()
    assert first.argument != c.argument


NUMBERS = """__global__ void numbers(
    float f, double d, signed char b, short h, int i, long long q,
    unsigned char ub, unsigned short uh, unsigned int ui, unsigned long long uq, bool on,
    float *x
) {
    if (on) *x = f + d + b + h + i + q + ub + uh + ui + uq;
}
"""
LAID_OUT = "fdbhiqBHIQB"


@pytest.fixture
def refused(monkeypatch):
    """What calls that are looked at argument by argument come to, from when it is set."""
    return lambda: monkeypatch.setattr(
        templated, "taken", lambda *_: pytest.fail("it was looked at again")
    )


class TestCallsLikeAnEarlierOne:
    """They are launched from what is kept of it, and are refused whatever it would have been."""

    @pytest.fixture(autouse=True, params=["a few calls", "every call"])
    def counted(self, request, monkeypatch):
        """Every call may be known by its very arguments when it comes again, or only a few."""
        if request.param == "every call":
            monkeypatch.setattr(same, "_EVERY", 1)

    @pytest.mark.parametrize("place", range(len(LAID_OUT)))
    def test_a_number_is_the_same_to_the_kernel_or_refused_with_the_same_words(
        self, arrays, driver, place
    ):
        def outcome(made, value):
            given = [1] * len(LAID_OUT)
            given[place] = value
            try:
                made(*given, x, size=1)
            except vyre.VyreError as error:
                return str(error)
            found = values(driver, f"{LAID_OUT}Q")
            return [struct.pack(f"<{form}", one) for form, one in zip(LAID_OUT, found)]  # noqa: B905  # all but the array

        def fresh():
            return vyre.template(NUMBERS, "numbers", params={"block_size_x": [64]})

        x, _ = arrays
        bits = (0, 1, 7, 8, 15, 16, 31, 32, 63, 64, 200)
        whole = {sign * (1 << n) + by for n in bits for sign in (1, -1) for by in (-1, 0, 1)}
        floats = (0.5, -0.0, 1e39, 1e308, float("nan"), float("inf"), float("-inf"), 3.4028236e38)
        numpy = [np.bool_(True), np.int8(-1), np.uint16(9), np.int32(-5), np.int64(1 << 40)]
        numpy += [np.uint64(1 << 63), np.float32(0.1), np.float64(0.1), np.float16(0.5)]
        others = [True, False, "1", None, 1j, *numpy, *floats]
        warm, known = fresh(), {}
        for value in (*sorted(whole), *others):
            known[repr(value)] = outcome(fresh(), value)
            assert outcome(warm, value) == known[repr(value)]  # and by then others were seen

        assert sum(isinstance(one, list) for one in known.values()) >= 5
        for value in 4 * (*reversed(others), *sorted(whole, reverse=True)):
            assert outcome(warm, value) == known[repr(value)], value

    def test_it_is_looked_at_no_more_whatever_its_numbers_its_size_or_its_stream(
        self, arrays, driver, refused
    ):
        c, a = arrays
        made = template()
        made(c, a, 2, 1000, True, size=1000)
        made(Theirs(c, 0x99), a, np.float32(2), np.int64(1000), np.True_, size=1000)
        made(c, a, 2, 1000, False, size=1000)
        refused()

        made(c, a, 3, 999, True, size=1000)
        made(c, a, 3, 999, False, size=(900,), stream=0x77)
        assert driver.ordered == (1, 0x77)
        assert (driver.launches[-1][1], driver.launches[-1][3]) == ((15, 1, 1), 0x77)
        made(Theirs(c, 0x99), a, np.float32(4), np.int64(800), np.True_, size=800)
        assert driver.ordered == (0x77, 0x99)
        assert values(driver, "QQfqB") == [c.argument, a.argument, 4.0, 800, 1]
        assert (driver.launches[-1][1], driver.launches[-1][3]) == ((13, 1, 1), 0x99)

    def test_a_call_runs_no_line_of_python_for_each_argument(self, device, bench, lines_run):
        def lines(count):
            said = ", ".join([f"float *x{n}, int n{n}" for n in range(count)])
            made = vyre.template(
                f"__global__ void many({said}) {{}}", "many", params={"block_size_x": [64]}
            )
            array = device.array(np.zeros(4, "f4"))
            given = [array, 4] * count
            with vyre.mode("off"):  # or some calls are timed
                made(*given, size=4)
                gc.collect()
                gc.disable()  # what is collected runs lines of its own
                try:
                    return lines_run(lambda: made(*given, size=4))
                finally:
                    gc.enable()

        assert bench
        assert lines(1) == lines(6)

    def test_what_key_says_tells_calls_apart(self, arrays, refused):
        c, a = arrays
        made = template(key="n")
        for n in (8, 9):
            made(c, a, 2, n, True, size=8)
        refused()

        for n in (9, 8, 8):
            made(c, a, 2, n, True, size=8)
        assert len(made._calls._entries) == 2
        with pytest.raises(pytest.fail.Exception):
            made(c, a, 2, 10, True, size=8)

    def test_a_mode_that_changes_during_a_first_call_holds_for_the_next(self, arrays, monkeypatch):
        c, a = arrays
        made, make = template(), variants.Compiled.make
        with vyre.mode("off") as off:
            blocks = [off]

            def leaving(*given):
                if blocks:
                    blocks.pop().__exit__()
                return make(*given)

            monkeypatch.setattr(variants.Compiled, "make", leaving)
            made(c, a, 2, 8, 1, size=8)
            made(c, a, 2, 8, 1, size=8)
            off.__enter__()

        assert [by.mode.value for by, _ in made._calls._entries] == ["off", "natural"]

    def test_the_very_same_arguments_are_not_read_again(self, arrays, driver, monkeypatch):
        c, a = arrays
        made = template()
        given = (c, a, 2, 1000, True)
        for _ in range(40):
            made(*given, size=1000)
        read = Short._found
        others = []
        monkeypatch.setattr(Short, "_found", lambda *call: others.append(call) or read(*call))

        made(*given, size=1000)
        made(*given, size=1000, stream=0x77)
        assert driver.ordered == (1, 0x77)
        made(*given, size=1000)
        assert driver.ordered == (0x77, 1)
        assert not others
        made(c, a, 2, 999, True, size=1000)
        made(c, a, 2, 1000, True, size=999)
        with vyre.mode("off"):
            made(*given, size=1000)

        assert len(others) == 3
        assert len(made._calls._entries) == 2

    def test_numbers_that_are_ever_new_objects_are_not_all_kept(self, arrays):
        c, a = arrays
        made = template()
        for n in range(600):
            made(c, a, float(n), int(f"{n + 1000}"), True, size=8)
            made(c, a, np.float32(2), 300, True, size=8)

        assert len(made._short._same._known) < 12

    def test_arrays_are_not_kept_and_others_in_their_place_are_used(self, device, bench, driver):
        assert bench
        made = template()
        c, a = (device.array(np.ones(8, "f4")) for _ in range(2))
        for _ in range(40):
            made(c, a, 2, 8, True, size=8)
        assert len(made._short._same._known) == 1
        made(Theirs(c, 0x99), a, 2, 8, True, size=8)
        gone = [weakref.ref(one) for one in (c, a)]
        del c, a
        gc.collect()
        assert [one() for one in gone] == [None, None]
        assert not made._short._same._known

        c, a = (device.array(np.ones(8, "f4")) for _ in range(2))
        made(c, a, 2, 8, True, size=8)
        assert values(driver, "QQ") == [c.argument, a.argument]
        made(Theirs(c, 0x99), a, 2, 8, True, size=8)
        assert values(driver, "QQ") == [c.argument, a.argument]

    def test_an_array_of_others_that_changes_in_place_is_looked_at_again(self, arrays, driver):
        c, a = arrays
        theirs, made = Theirs(c, 0x99), template(text=FLOATS)
        made(theirs, a, 2, 8, True, size=8)

        theirs.array = a
        made(theirs, a, 2, 8, True, size=8)
        assert values(driver, "QQ") == [a.argument, a.argument]
        theirs.stream = 0x98
        made(theirs, a, 2, 8, True, size=8)
        assert driver.launches[-1][3] == 0x98
        theirs.array = c.device.array(np.ones(8, "f8"))
        with pytest.raises(vyre.InvalidInput) as caught:
            made(theirs, a, 2, 8, True, size=8)
        assert caught.value.fix == "pass an array of float32"

    def test_arrays_of_another_device_are_told_apart(self, arrays, cuda):
        c, a = arrays
        other = Device("cuda:1", cuda)
        made = template()
        made(c, a, 2, 8, True, size=8)

        with pytest.raises(vyre.InvalidInput) as caught:
            made(c, other.array(np.ones(1000, "f4")), 2, 8, True, size=8)

        assert str(caught.value) == (
            "arrays of add<real, VW> are on cuda:0 and cuda:1\nFix: bring them to one device"
        )

    @pytest.mark.parametrize("size", [(8.0,), (True,), ([8],), (), (8, 8, 8, 8), -8, (8, -8), True])
    def test_a_size_that_is_none_is_one_no_more_after_one_that_is(self, arrays, size):
        c, a = arrays
        made = template()
        for good in (8, 1, (8,), (1,), (8, 8)):
            made(c, a, 2, 8, 1, size=good)

        with pytest.raises(vyre.InvalidInput) as caught:
            made(c, a, 2, 8, 1, size=size)

        assert str(caught.value) == (
            f"size= of add<real, VW> is {size}\nFix: give one to three whole numbers of at least 0"
        )

    def test_each_size_has_its_own_grid_and_one_of_nothing_launches_nothing(self, arrays, driver):
        c, a = arrays
        made = template(grid_div_x=None, grid="size // 64")
        sizes = [640, 641, 700, 704, 5, 0, 5, 704, 640]
        for size in sizes:
            made(c, a, 2, 8, True, size=size)

        assert [launch[1][0] for launch in driver.launches] == [10, 10, 10, 11, 11, 10]

    def test_a_list_is_a_size_that_may_change(self, arrays, driver, refused):
        c, a = arrays
        made, size = template(), [640]
        for extent in 40 * (640, 641):
            size[0] = extent
            made(c, a, 2, 8, True, size=size)
            refused()

        assert [launch[1][0] for launch in driver.launches] == 40 * [10, 11]
        size.append("8")
        with pytest.raises(pytest.fail.Exception):  # and is refused there
            made(c, a, 2, 8, True, size=size)

    @pytest.mark.parametrize("stream", ["a", -1, True, 1 << 64])
    def test_a_stream_that_is_none_is_said(self, arrays, driver, stream):
        c, a = arrays
        made = template()
        made(c, a, 2, 8, True, size=8, stream=0x77)

        with pytest.raises(vyre.InvalidInput) as caught:
            made(c, a, 2, 8, True, size=8, stream=stream)

        assert caught.value.problem.endswith("not a CUDA stream")
        assert len(driver.launches) == 1

    def test_in_a_capture_it_is_captured_and_nothing_waits(self, arrays, driver):
        c, a = arrays
        made = template()
        made(c, a, 2, 8, True, size=8)
        driver.capturing.add(0x77)
        driver.calls.clear()

        made(c, a, 2, 8, True, size=8, stream=0x77)

        assert driver.recorded == 1
        assert not {"cuEventRecord", "cuStreamWaitEvent"} & {*driver.calls}

    @pytest.mark.parametrize("step", [0, 1])
    def test_threads_never_share_what_a_launch_reads(
        self, device, bench, driver, monkeypatch, step
    ):
        assert bench
        made, wrong, mine = template(), [], threading.local()
        started = threading.Barrier(4)
        launch = type(driver)._cuLaunchKernel

        def slow(driver, *given):
            read = ctypes.string_at((ctypes.c_void_p * 5).from_address(given[-2])[3], 8)
            launch(driver, *given)
            again = ctypes.string_at((ctypes.c_void_p * 5).from_address(given[-2])[3], 8)
            if read != again or int.from_bytes(read, "little") >> 20 != mine.number:
                wrong.append((read, again))

        def calls(own):
            arrays = [device.array(np.ones(8, "f4")) for _ in range(2)]
            mine.number = own >> 20
            started.wait(60)
            for n in range(200):
                made(*arrays, 2, own + step * n, True, size=8)

        made(*[device.array(np.ones(8, "f4")) for _ in range(2)], 2, 8, True, size=8)
        monkeypatch.setattr(type(driver), "_cuLaunchKernel", slow)
        threads = [threading.Thread(target=calls, args=(n << 20,)) for n in range(1, 5)]
        for one in threads:
            one.start()
        for one in threads:
            one.join(60)

        assert not wrong
        assert len(driver.launches) == 801


class TestTexts:
    """What the backend offers."""

    def test_what_was_compiled_is_kept_and_loaded_by_others(self, cuda, driver, monkeypatch):
        text = Text(source="__global__ void f(int *x) { *x = 1; }", entry="f")
        assert cuda.texts.compile(text, REHEARSAL) is True
        assert "cuDevicePrimaryCtxRetain" not in driver.calls

        monkeypatch.setattr(nvrtc, "compile", lambda *_: pytest.fail("it was compiled again"))
        loaded = cuda.texts.load(text, REHEARSAL)

        assert (loaded.kernel, loaded.max_threads) == ("_Z1fPi", 1024)

    def test_another_option_include_or_entry_is_another_text(self, cuda):
        plain = Text(source="__global__ void f(int *x) {}", entry="f")
        others = (
            Text(source=plain.source, entry="f", options=("-DX=1",)),
            Text(source=plain.source, entry="f", included="y"),
            Text(source=plain.source + "\n", entry="f"),
        )

        assert len({cuda.texts._name(one) for one in (plain, *others)}) == 4

    def test_options_reach_the_compiler_and_multiplications_are_fused_as_it_does(self, cuda):
        text = Text(source="__global__ void f(int *x) { *x = N; }", entry="f")

        refused = cuda.texts.load(text, REHEARSAL)

        assert isinstance(refused, Unbuilt)
        assert 'error: identifier "N" is undefined' in refused.log
        assert cuda.texts.compile(
            Text(source=text.source, entry="f", options=("-DN=1",)), REHEARSAL
        )

    def test_a_kernel_that_is_not_there_is_said(self, cuda):
        text = Text(source="__global__ void f(int *x) {}", entry="g")

        refused = cuda.texts.load(text, REHEARSAL)

        assert isinstance(refused, Unbuilt)
        assert 'error: identifier "g" is undefined' in refused.log

    def test_a_launch_that_the_driver_refuses_is_said(self, cuda, driver):
        text = Text(source="__global__ void f(int *x) {}", entry="f")
        start = cuda.texts.bind(cuda.texts.load(text, REHEARSAL), (None,))
        driver.answers["cuLaunchKernel"] = [driver.CUresult.CUDA_ERROR_INVALID_VALUE]

        with pytest.raises(vyre.DeviceFailed) as caught:
            start((3, 1, 1), (64, 2, 1), 16, (0,), 0)

        assert caught.value.problem == (
            "NVIDIA Fake failed to launch grid (3, 1, 1) of (64, 2, 1): CUDA_ERROR_INVALID_VALUE"
        )
