import importlib.util
import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

import vyre
from vyre import In, Out, ir, kernels, u8, u32
from vyre.backend.base import Unusable
from vyre.backend.reference.device import Reference
from vyre.errors import DeviceFailed, InvalidInput, UnsupportedFeature
from vyre.ir import BufferDecl, DataType, Program
from vyre.model import Code, Schedule
from vyre.runtime.devices import opened

REFERENCE = vyre.open("reference")
EVERY = pytest.mark.parametrize("device", vyre.devices(), ids=lambda device: device.name)
OPENCL = pytest.mark.skipif(
    all(device.info.backend != "opencl" for device in vyre.devices()),
    reason="no OpenCL device is here",
)


FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")


def child(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )


def doubled(workgroup=(64, 1, 1)) -> Program:
    return Program.wrapped(
        [BufferDecl.read("x", 0, DataType.U32), BufferDecl.write("out", 1, DataType.U32)],
        workgroup,
        [ir.store("out", ir.gid(), ir.load("x", ir.gid()) * 2)],
    )


@EVERY
def test_arrays_stay_on_a_device_across_calls(device):
    x = device.array(np.arange(1000, dtype=np.float32))
    y = device.array(np.ones(1000, np.float32))

    first = kernels.saxpy(x, y, a=2)
    second = kernels.saxpy(first, y, a=2)
    device.synchronize()

    assert isinstance(second, vyre.DeviceArray)
    assert np.array_equal(np.asarray(second), 2 * (2 * np.asarray(x) + 1) + 1)


@EVERY
def test_a_repeated_call_on_device_arrays_gives_what_the_first_gave(device):
    x = device.array(np.arange(100, dtype=np.float32))
    out = device.empty(100, np.float32)

    for a in (1.0, 2.0, -3.5):
        assert kernels.saxpy(x, x, a=a, out=out) is out
        assert np.array_equal(np.asarray(out), np.float32(a) * np.asarray(x) + np.asarray(x))


@EVERY
def test_a_repeated_call_that_overlaps_is_still_right(device):
    x = device.array(np.arange(100, dtype=np.float32))
    out = device.empty(100, np.float32)

    kernels.gelu(x, out=out)
    expected = np.asarray(out)
    kernels.gelu(x, out=x)

    assert np.array_equal(np.asarray(x), expected)


@EVERY
def test_an_array_takes_its_shape_as_numpy_does(device):
    assert device.zeros(np.int64(3), np.float32).shape == (3,)
    assert device.empty([2, 3], np.float32).shape == (2, 3)
    assert np.asarray(device.array([[1, 2]]).copy()).tolist() == [[1, 2]]


@vyre.kernel
def kept(x: In[u32], wanted: In[u8], out: Out[u32]):
    i = vyre.gid()
    if wanted[i] != 0:
        out[i] = x[i]


@EVERY
def test_bool_arrays_of_a_device_bind_as_u8(device):
    x, wanted = np.arange(1, 5, dtype=np.uint32), np.array([True, False, True, False])
    arrays = device.array(x), device.array(wanted)
    out = device.zeros(4, np.uint32)

    for _ in range(2):  # the second call takes the short way
        assert np.asarray(kept(*arrays, out=out)).tolist() == [1, 0, 3, 0]


def test_a_device_array_of_a_wrong_dtype_is_named_with_a_cast_that_works():
    x = REFERENCE.array(np.ones(4, np.float32))

    with pytest.raises(InvalidInput) as caught:
        kept(x, x)

    assert str(caught.value) == (
        "x of kept is float32, not u32 (uint32)\n"
        "Fix: declare it for float32, or pass device.array(numpy.asarray(x, dtype=numpy.uint32)) "
        "if all of it is whole and from 0 to 4294967295"
    )


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: REFERENCE.zeros(-3, np.float32),
            "shape -3\nFix: pass whole numbers of at least 0",
        ),
        (lambda: REFERENCE.empty(2.0, "f4"), "shape 2.0\nFix: pass whole numbers of at least 0"),
        (
            lambda: REFERENCE.array([object()]),
            "an array of object on reference:0\nFix: give it a dtype of plain numbers",
        ),
    ],
)
def test_an_array_that_cannot_be_made_is_refused(make, text):
    with pytest.raises(InvalidInput) as caught:
        make()

    assert str(caught.value) == text


def test_arrays_of_two_places_are_refused():
    x = np.ones(4, np.float32)

    with pytest.raises(InvalidInput) as caught:
        kernels.saxpy(REFERENCE.array(x), x, a=1)

    assert str(caught.value) == (
        "the arrays of saxpy live in different places: x on reference:0, y on the host\n"
        "Fix: move them to one device with device.array(x), or to the host with numpy.asarray(x)"
    )


@EVERY
def test_a_program_built_by_hand_runs_on_bytes_and_arrays(device):
    x = np.arange(100, dtype=np.uint32)

    (from_array,) = device.dispatch(doubled(), [x])
    (from_bytes,) = device.dispatch(doubled(), [x.tobytes()])

    assert np.array_equal(from_array, 2 * x)
    assert np.array_equal(from_bytes, 2 * x)


def test_an_input_of_another_size_is_not_read_as_what_it_is_not():
    with pytest.raises(InvalidInput) as caught:
        REFERENCE.dispatch(doubled(), [np.arange(4, dtype=np.float64)])

    assert str(caught.value) == (
        "input 'x' is float64, not u32 (uint32)\n"
        "Fix: pass an array of uint32, or x.tobytes() if its bytes are meant"
    )


@EVERY
def test_overrides_of_a_dispatch_are_obeyed(device):
    x = np.arange(100, dtype=np.uint32)
    config = vyre.DispatchConfig(workgroup_override=(4, 1, 1), grid_override=(5, 1, 1))

    (out,) = device.dispatch(doubled(), [x], config)

    assert np.array_equal(out[:20], 2 * x[:20])
    assert not out[20:].any()


def test_what_a_device_does_not_honour_is_refused():
    config = vyre.DispatchConfig(cooperative=True)

    with pytest.raises(UnsupportedFeature) as caught:
        REFERENCE.dispatch(doubled(), [np.zeros(4, np.uint32)], config)

    assert "cooperative" in caught.value.problem


def test_an_invalid_program_is_refused_before_anything_runs():
    with pytest.raises(vyre.InvalidProgram):
        REFERENCE.dispatch(doubled((0, 1, 1)), [np.zeros(4, np.uint32)])


def test_outputs_over_the_stated_limit_are_refused():
    config = vyre.DispatchConfig(max_output_bytes=10)

    with pytest.raises(InvalidInput) as caught:
        REFERENCE.dispatch(doubled(), [np.zeros(4, np.uint32)], config)

    assert str(caught.value) == (
        "the outputs take 16 bytes; max_output_bytes is 10\n"
        "Fix: raise max_output_bytes, or dispatch fewer elements"
    )


@EVERY
def test_a_pinned_schedule_gives_the_same_bits(device):
    x = device.array(np.arange(1001, dtype=np.float32))
    expected = np.asarray(kernels.gelu(x))

    for width in (1, 7, 64, 1000):
        out = kernels.gelu(x, schedule=Schedule((width, 1, 1)))
        assert np.array_equal(np.asarray(out), expected)


def test_a_schedule_that_needs_proof_is_refused_without_it():
    unchecked = Schedule((64, 1, 1), vyre.Code(checked=False))
    x = np.ones(4, np.float32)

    with pytest.raises(InvalidInput) as caught:
        kernels.saxpy(x, x, a=1, shape=5, schedule=unchecked)

    assert caught.value.fix == "use a schedule with Code(checked=True)"


@vyre.kernel(workgroup=4)
def lanes(x: In[u32], out: Out[u32]):
    out[vyre.gid()] = x[vyre.gid()] + vyre.local_id()


@pytest.mark.parametrize("schedule", [Schedule((8, 1, 1)), Schedule((4, 1, 1), Code(items=2))])
def test_a_schedule_that_could_change_the_result_is_refused(schedule):
    x = np.zeros(8, np.uint32)

    with pytest.raises(InvalidInput) as caught:
        lanes(x, schedule=schedule)

    assert str(caught.value) == (
        f"{schedule.text} could change the result of this call of lanes: "
        f"{lanes.facts.reasons[0]}\n"
        "Fix: leave schedule= out; a workgroup is declared with @vyre.kernel(workgroup=...)"
    )
    assert lanes(x, schedule=Schedule((4, 1, 1))).tolist() == [0, 1, 2, 3] * 2


@pytest.mark.parametrize(
    ("width", "why"),
    [
        (3, "vectors have 2, 4, 8, 16 elements, not 3"),
        (16, "16 elements of 4 bytes are more than the 32 of one access"),
    ],
)
def test_vectors_that_compilers_do_not_bear_are_refused(width, why):
    x = REFERENCE.array(np.ones(64, np.float32))
    schedule = Schedule((4, 1, 1), Code(items=width, vector=width, checked=False))

    with pytest.raises(InvalidInput) as caught:
        kernels.saxpy(x, x, a=1, schedule=schedule)

    assert str(caught.value) == (
        f"vectors of {width} for this call of saxpy: {why}\n"
        "Fix: use Code(vector=1), or a schedule that kernel.tune found"
    )


@EVERY
def test_a_workgroup_along_an_axis_the_kernel_does_not_use_runs_nothing_twice(device):
    """It is refused, but where nothing beyond the extent runs along any axis."""
    x = device.array(np.ones(4, np.float32))
    call = partial(kernels.saxpy, x, x, a=1, schedule=Schedule((8, 2, 1)))
    if 1 in device.binary(kernels.saxpy.program, Code()).guarded:
        assert np.array_equal(np.asarray(call()), np.full(4, 2, np.float32))
        return

    with pytest.raises(InvalidInput) as caught:
        call()

    assert caught.value.fix == "give that axis size 1"


@OPENCL
def test_a_workgroup_over_the_limit_is_refused_before_the_driver_sees_it():
    x = vyre.open("opencl").array(np.ones(4, np.float32))

    with pytest.raises(vyre.VyreError) as caught:
        kernels.saxpy(x, x, a=1, schedule=Schedule((100_000, 1, 1)))

    assert "100000" in caught.value.problem


def test_an_unknown_device_is_named_with_what_there_is():
    with pytest.raises(InvalidInput) as caught:
        vyre.open("opncl")

    assert (
        caught.value.problem
        == "no device 'opncl': no backend 'opncl'; known: cuda, cpu, opencl, reference"
    )
    with pytest.raises(InvalidInput) as caught:
        vyre.open("reference:7")

    assert caught.value.problem == "no device 'reference:7'; reference has 1"


def test_a_device_that_is_no_use_is_left_out_and_told_of(monkeypatch):
    why = Unusable("Acme G1 is left out, because it is broken", "use another")
    monkeypatch.setitem(opened.BACKENDS, "half", lambda: [why, Reference(), why])

    assert [device.name for device in vyre.devices() if device.name.startswith("half")] == [
        "half:0"
    ]
    assert vyre.open("half").backend.info.model == vyre.open("reference").info.model
    assert opened.left_out("half") == (why,)
    with pytest.raises(InvalidInput) as caught:
        vyre.open("half:1")
    assert str(caught.value) == (
        "no device 'half:1'; half has 1; Acme G1 is left out, because it is broken\n"
        f"Fix: use one of {', '.join(device.name for device in vyre.devices())}"
    )


def test_where_no_device_of_a_backend_is_any_use_that_is_the_error(monkeypatch):
    asked = []

    def none_of_use():
        asked.append(1)
        return [Unusable("Acme G1 is left out", "mend it"), Unusable("Acme G2 is left out", "")]

    monkeypatch.setitem(opened.BACKENDS, "useless", none_of_use)

    for _ in range(2):
        with pytest.raises(UnsupportedFeature) as caught:
            vyre.open("useless")
        assert str(caught.value) == "Acme G1 is left out\nFix: mend it"
    assert not any(device.name.startswith("useless") for device in vyre.devices())
    assert len(asked) == 1


def test_the_environment_names_the_device():
    shown = child("import vyre; print(vyre.open())", VYRE_DEVICE="reference")

    assert shown.stdout.startswith("<Device reference:0")


def test_a_wrong_device_in_the_environment_is_an_error_with_a_fix():
    shown = child("import vyre; vyre.open()", VYRE_DEVICE="gpu")

    assert "no device 'gpu': no backend 'gpu'; known: cuda, cpu, opencl, reference" in shown.stderr
    assert "Fix: use one of " in shown.stderr


def test_without_a_compiled_device_the_reference_serves_and_says_so_once():
    shown = child(
        """
        import sys
        sys.modules["pyopencl"] = sys.modules["llvmlite"] = None
        import importlib.util
        importlib.util.find_spec = lambda name, find=importlib.util.find_spec: (
            None if name in ("pyopencl", "llvmlite", "cuda.bindings") else find(name)
        )
        import numpy as np, vyre
        from vyre import kernels
        x = np.ones(3, np.float32)
        print(kernels.saxpy(x, x, a=1), kernels.gelu(x).size, vyre.devices())
        """
    )

    assert shown.stdout.startswith("[2. 2. 2.] 3 (<Device reference:0")
    assert shown.stderr.count("so kernels run on NumPy, exactly but slowly") == 1
    assert 'slowly: backend "cpu" needs llvmlite, which is not installed.' in shown.stderr
    assert "Fix: pip install llvmlite, or set VYRE_DEVICE=reference if that is" in shown.stderr


@OPENCL
def test_a_forked_child_is_told_instead_of_hanging():
    shown = child(
        """
        import os, numpy as np, vyre
        from vyre import kernels
        x = np.ones(3, np.float32)
        kernels.saxpy(x, x, a=1)
        child = os.fork()
        if child == 0:
            try:
                kernels.saxpy(x, x, a=1)
            except vyre.DeviceFailed as error:
                print(error.fix, flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        """,
        VYRE_DEVICE="opencl",
    )

    assert shown.stdout == (
        'start processes with multiprocessing.get_context("spawn"), '
        "or use Vyre only in the children\n"
    )


@FORKS
@pytest.mark.parametrize("place", ["cpu", "reference"])
def test_a_forked_child_waits_for_no_thread_of_its_parent(place):
    """Not for one that was compiling, opening a device or setting a mode at that moment."""
    if place == "cpu":
        pytest.importorskip("llvmlite")
    shown = child(
        """
        import os, signal, numpy as np, vyre
        from vyre import kernels
        from vyre.learn import process, rules
        from vyre.runtime.devices import opened
        x = np.ones(3, np.float32)
        kernels.saxpy(x, x, a=1)
        with vyre.open()._building, opened._lock, rules._lock, process._lock:
            child = os.fork()
            if child == 0:
                signal.alarm(30)
                with vyre.mode("off"):
                    kernels.gelu(x)
                vyre.stats()
                os._exit(len(vyre.devices()) == 0)
        print(os.waitpid(child, 0)[1])
        """,
        VYRE_DEVICE=place,
    )

    assert shown.stdout == "0\n"


@FORKS
@pytest.mark.parametrize("place", ["cpu", "reference"])
def test_a_forked_child_goes_on_where_the_host_runs_kernels(place, tmp_path):
    """With kernels that its parent had called and with others, on all threads."""
    if place == "cpu":
        pytest.importorskip("llvmlite")
    (tmp_path / "forked.py").write_text(textwrap.dedent(FORKED))

    shown = subprocess.run(
        [sys.executable, str(tmp_path / "forked.py")],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "VYRE_DEVICE": place, "VYRE_THREADS": "2"},
    )

    assert shown.stdout == f"{[3.0, 3.0, 3.0]} {place}:0\n", shown.stderr


FORKED = """
    import multiprocessing
    import numpy as np
    import vyre
    from vyre import kernels

    x = np.ones(1 << 18, np.float32)

    def work(number):
        scaled, polynomial = kernels.saxpy(x, x, a=number), kernels.polynomial(x)
        here = vyre.open().array(x)
        assert np.array_equal(np.asarray(kernels.saxpy(here, here, a=number)), scaled)
        assert polynomial.shape == x.shape
        return float(scaled.min() + scaled.max()) / 2

    if __name__ == "__main__":
        kernels.saxpy(x, x, a=2)
        with multiprocessing.get_context("fork").Pool(3) as pool:
            print(pool.map(work, [2, 2, 2]), vyre.open().name)
"""


@OPENCL
def test_more_memory_than_the_device_has_is_an_error_that_says_how_much():
    device = vyre.open("opencl")
    size = device.info.limits.max_buffer_bytes + 4

    with pytest.raises(DeviceFailed) as caught:
        device.empty(size, np.uint8)

    assert str(caught.value) == (
        f"{device.info.model} has no {size:,} bytes for one buffer (limit {size - 4:,})\n"
        "Fix: split the arrays, or free device arrays that are no longer needed"
    )


@OPENCL
def test_a_build_failure_carries_the_compilers_log(monkeypatch):
    device = vyre.open("opencl")
    monkeypatch.setattr("vyre.backend.opencl.bundle", lambda _: "this is not C")

    with pytest.raises(DeviceFailed) as caught:
        device.dispatch(doubled((2, 1, 1)), [np.zeros(4, np.uint32)])

    assert caught.value.problem.startswith(f"{device.info.model} could not build the kernel:\n")
    assert "error:" in caught.value.problem


@OPENCL
def test_eight_threads_share_a_kernel():
    device = vyre.open("opencl")
    x = device.array(np.arange(1000, dtype=np.float32))

    def call(a: int) -> bool:
        out = device.empty(1000, np.float32)
        for _ in range(20):
            kernels.saxpy(x, x, a=a, out=out)
        return np.array_equal(np.asarray(out), (a + 1) * np.arange(1000, dtype=np.float32))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(16)))


def test_cuda_without_its_library_says_what_to_install(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(importlib.util, "find_spec", missing)
    with pytest.raises(UnsupportedFeature) as caught:
        opened.BACKENDS["cuda"]()

    assert str(caught.value) == (
        'backend "cuda" needs cuda-bindings, which is not installed\nFix: pip install "vyre[cuda]"'
    )


def test_a_call_reads_no_file_in_whatever_encoding_the_machine_prefers():
    done = child(
        """
        import warnings
        warnings.simplefilter("error")
        import numpy as np
        from vyre import kernels
        x = np.ones(64, np.float32)
        print(kernels.saxpy(x, x, a=1.0)[0])
        """,
        PYTHONWARNDEFAULTENCODING="1",
    )

    assert done.stdout.strip() == "2.0", done.stderr
