"""The stand-ins of CuPy's names take what CuPy's own take, where it is installed."""

import importlib
import inspect
import pickle
import sys

import numpy as np
import pytest

from vyre.testing import stand_ins


@pytest.fixture(scope="module")
def cupy():
    return pytest.importorskip("cupy")


def said(function):
    """The names and defaults of parameters, by the first line that Cython keeps of them."""
    line = (function.__doc__ or "").splitlines()[0]
    return [one.strip() for one in line.partition("(")[2].rpartition(")")[0].split(",")]


def test_calls_have_the_same_parameters(cupy):
    for name in ("RawKernel", "ElementwiseKernel"):
        wanted = said(getattr(cupy, name).__call__)
        found = inspect.signature(getattr(stand_ins, name).__call__).parameters.values()
        assert [str(one).split(":")[0] for one in found] == wanted


def test_kernels_are_made_of_the_same(cupy):
    code = 'extern "C" __global__ void f() {}'
    raw = {"translate_cucomplex": True, "enable_cooperative_groups": True}
    elements = {"reduce_dims": False, "preamble": "//", "no_return": True, "return_tuple": True}
    more = {"loop_prep": "int a;", "after_loop": "", "options": ("-DA=1",)}

    for library in (cupy, stand_ins):
        one = library.RawKernel(code, "f", ("-DA=1",), "nvrtc", **raw)
        two = library.ElementwiseKernel("T x", "T y", "y = x", "g", **elements, **more)
        known = (one.code, one.name, one.options, one.backend, one.file_path)
        assert known == (code, "f", ("-DA=1",), "nvrtc", None)
        assert one.enable_cooperative_groups is True
        held = one.__getstate__()
        assert (held["translate_cucomplex"], held["jitify"]) == (True, False)
        assert not hasattr(one, "jitify")
        assert (two.name, two.operation, two.preamble, two.reduce_dims) == (
            "g",
            "y = x",
            "//",
            False,
        )
        assert two.kwargs == more
        assert (len(two.in_params), len(two.out_params)) == (1, 1)


def test_there_is_what_the_adapter_asks_for(cupy):
    for name in ("attributes", "max_threads_per_block", "__call__"):
        assert hasattr(cupy.RawKernel, name)
        assert hasattr(stand_ins.RawKernel, name)
    for name in ("getDevice", "setDevice", "CUDARuntimeError"):
        assert hasattr(cupy.cuda.runtime, name)
    told = ("dtype", "shape", "size", "ndim", "strides", "nbytes", "flags", "data")
    for name in (*told, "copy", "get", "view", "reshape", "__getitem__"):
        assert hasattr(cupy.ndarray, name)
        assert hasattr(stand_ins.ndarray(np.ones(3)), name)
    assert issubclass(cupy.cuda.driver.CUDADriverError, RuntimeError)
    assert callable(cupy.cuda.get_current_stream)
    assert callable(cupy.cuda.nvrtc.getVersion)
    assert callable(cupy.asarray)
    assert callable(cupy.asnumpy)
    assert hasattr(cupy.cuda.Device, "__enter__")
    assert hasattr(stand_ins.Device, "__enter__")


def test_kernels_can_be_had_in_another_process(cupy):
    raw = cupy.RawKernel("code", "f", ("-DA=1",))
    elements = cupy.ElementwiseKernel("raw T x, int32 n", "T y", "y = x[i]", "g", preamble="//")

    raw_again, again = (pickle.loads(pickle.dumps(one)) for one in (raw, elements))  # noqa: S301

    assert (raw_again.code, raw_again.name, raw_again.options) == ("code", "f", ("-DA=1",))
    assert (again.operation, again.preamble) == ("y = x[i]", "//")
    assert list(map(repr, again.in_params)) == list(map(repr, elements.in_params))


def test_kernels_of_its_own_are_taken(cupy):
    with stand_ins.cupy_by_name():
        pass
    assert sys.modules["cupy"] is cupy
    tuned = importlib.import_module("vyre.adapter.cupy.tuned").tuned
    described = importlib.import_module("vyre.adapter.cupy.elements")._described

    raw = tuned(cupy.RawKernel("x[blockIdx.x * blockDim.x + threadIdx.x] = 1;", "f"))
    elements = tuned(cupy.ElementwiseKernel("T x", "T y", "y = x", "g"))

    assert raw._sign(0) is None
    assert elements._sign is None
    assert "ParameterInfo(name='x'" in described(elements.kernel)


@pytest.mark.usefixtures("cupy")
def test_without_a_driver_a_call_says_what_the_library_says(cupy):
    try:
        cupy.cuda.runtime.getDevice()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        said = str(error)
    else:
        pytest.skip("there is a driver")
    tuned = importlib.import_module("vyre.adapter.cupy.tuned").tuned
    for kernel, call in (
        (cupy.RawKernel("", "f"), lambda k: k((1,), (32,), ())),
        (cupy.ElementwiseKernel("T x", "T y", "y = x", "g"), lambda k: k(1)),
    ):
        with pytest.raises(cupy.cuda.runtime.CUDARuntimeError) as caught:
            call(tuned(kernel))
        assert str(caught.value) == said
