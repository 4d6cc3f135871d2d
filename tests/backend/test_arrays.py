"""Arrays of one invocation and tables: the same bits everywhere, registers where they can be."""

import sys
from random import Random

import numpy as np
import pytest

import vyre
from vyre import In, Out, f32, ir, u32
from vyre.analysis import analyse
from vyre.emit import CUDA, OPENCL, emit
from vyre.ir import BufferDecl, DataType, Program
from vyre.model import Code
from vyre.runtime.devices.device import Device
from vyre.testing.arrays import generate_arrays
from vyre.testing.cuda_on_host import CudaOnHost, compiler
from vyre.testing.schedules import deviations

COMPILED = [device for device in vyre.devices() if device.name in ("cpu:0", "opencl:0")]
DEVICES = pytest.mark.parametrize("device", COMPILED, ids=lambda device: device.name)
WEIGHTS = ((0.0625, 0.125, 0.0625), (0.125, 0.25, 0.125), (0.0625, 0.125, 0.0625))
AT_ONCE = 8


@pytest.fixture(scope="module")
def emulated():
    return Device("cuda-on-host", CudaOnHost())


def cases(first: int, *, grouped: bool):
    return [
        generate_arrays(Random(seed), grouped=grouped) for seed in range(first, first + AT_ONCE)
    ]


@DEVICES
@pytest.mark.parametrize("grouped", [False, True], ids=["alone", "grouped"])
@pytest.mark.parametrize("first", range(0, 24, AT_ONCE))
def test_generated_programs_give_the_same_bits_under_every_schedule(device, first, grouped):
    assert list(deviations(device, cases(first, grouped=grouped), Random(first))) == []


@pytest.mark.skipif(
    sys.platform != "linux" or compiler() is None, reason="it takes g++ and Linux's fibers"
)
@pytest.mark.parametrize("grouped", [False, True], ids=["alone", "grouped"])
def test_cudas_text_gives_the_same_bits_under_every_schedule(emulated, grouped):
    assert list(deviations(emulated, cases(40, grouped=grouped), Random(40))) == []


@vyre.kernel
def transformed(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    t = vyre.local(f32, 8)
    for k in range(8):
        t[k] = x[8 * i + k]
    for _ in range(3):
        for k in range(4):
            a, b = t[2 * k], t[2 * k + 1]
            t[2 * k], t[2 * k + 1] = a + b, a - b
    for k in range(8):
        out[8 * i + k] = t[k]


@vyre.kernel
def product(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    a = vyre.local(f32, (4, 4))
    for r in range(4):
        for c in range(4):
            a[r, c] = x[16 * i + 4 * r + c]
    s = 0.0
    for r in range(4):
        for c in range(4):
            for k in range(4):
                s += a[r, k] * a[k, c]
    out[i] = s


@vyre.kernel
def blurred(x: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid()
    s = 0.0
    for dy in range(3):
        for dx in range(3):
            s += WEIGHTS[dy][dx] * x[i + dy - 1, j + dx - 1]
    out[i, j] = s


@vyre.kernel
def counted(x: In[u32], out: Out[u32]):
    i = vyre.gid()
    bins = vyre.local(u32, 16)
    for k in range(32):
        bins[x[32 * i + k] & 15] += 1
    out[i] = bins[x[i] & 15]


def ptx(text: str) -> str:
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc")
    _, handle = nvrtc.nvrtcCreateProgram(text.encode(), b"kernel.cu", 0, [], [])
    options = [b"--gpu-architecture=compute_90", b"--fmad=false"]
    (error,) = nvrtc.nvrtcCompileProgram(handle, len(options), options)
    assert error == 0
    _, size = nvrtc.nvrtcGetPTXSize(handle)
    found = bytearray(size)
    nvrtc.nvrtcGetPTX(handle, found)
    return found.decode()


CODES = (Code(), Code(checked=False), Code(items=4, checked=False), Code(unroll=4))


@pytest.mark.parametrize("code", CODES, ids=str)
@pytest.mark.parametrize("kernel", [transformed, product], ids=lambda it: it.__name__)
def test_elements_at_known_places_are_registers_of_a_gpu(kernel, code):
    found = ptx(emit(kernel.program, code, CUDA, analyse(kernel.program)).text)

    assert "__local_depot" not in found
    assert "ld.local" not in found


def test_elements_at_other_places_are_memory_of_an_invocation():
    """So that the test above can fail."""
    assert "__local_depot" in ptx(
        emit(counted.program, Code(), CUDA, analyse(counted.program)).text
    )


@pytest.mark.parametrize("code", CODES, ids=str)
def test_constants_at_known_places_are_numbers(code):
    found = ptx(emit(blurred.program, code, CUDA, analyse(blurred.program)).text)

    assert "table_" not in found.split(".entry")[1]


def test_a_table_stands_once_in_a_source():
    @vyre.kernel
    def twice(x: In[u32], out: Out[f32]):
        i = vyre.gid()
        out[i] = WEIGHTS[x[i]][0] + WEIGHTS[0][x[i]] + WEIGHTS[x[i], x[i]]

    facts = analyse(twice.program)

    assert emit(twice.program, Code(), OPENCL, facts).text.count("__constant f32 table_") == 1
    assert emit(twice.program, Code(), CUDA, facts).text.count("__device__ const f32 table_") == 1


@DEVICES
def test_indices_that_are_long_are_computed_once(device):
    """Hand-built: the language binds such an index to a name."""
    at = ir.load("x", ir.gid()) & 3
    table = ir.table(DataType.U32, (2, 3), range(6))
    nodes = [
        ir.let("t", ir.array(DataType.U32, 4)),
        ir.put("t", ir.element(table, at, at), ir.u32(7)),
        ir.store("out", ir.gid(), ir.element("t", ir.element("t", at)) * 10 + ir.element("t", at)),
    ]
    x, out = BufferDecl.read("x", 0, DataType.U32), BufferDecl.output("out", 1, DataType.U32)
    program = Program.wrapped([x, out.with_count(9)], (1, 1, 1), nodes)

    (found,) = device.dispatch(program, [np.arange(9, dtype=np.uint32)])

    assert found.tolist() == [7, 0, 70, 70, 7, 0, 70, 70, 7]
