"""What NVRTC makes of a fast_math kernel: the instructions it asks for, and no others."""

import re
from collections import Counter

import pytest

pytest.importorskip("cuda.bindings.nvrtc")

from cuda.bindings import nvrtc as library

import vyre
from vyre import In, Out, f32, f64
from vyre.analysis import analyse
from vyre.backend.cuda import nvrtc
from vyre.backend.cuda.nvrtc import Cubin
from vyre.emit import CUDA, emit
from vyre.model import Code

INSTRUCTION = re.compile(r"^\s+(?:@\S+\s+)?([a-z][\w.]*)\s", re.M)
CODES = (Code(), Code(unroll=4), Code(items=4), Code(items=4, vector=4, checked=False))


@vyre.kernel(fast_math=True)
def roots(x: In[f32], y: In[f32], out: Out[f32]):
    i = vyre.gid()
    a, b = x[i], y[i]
    out[i] = a / b + vyre.sqrt(a) - vyre.rsqrt(b) + 1.0 / a + 1.0 / (b / 3.0)


@vyre.kernel(fast_math=True)
def functions(x: In[f32], y: In[f32], out: Out[f32]):
    i = vyre.gid()
    a, b = x[i], y[i]
    s = vyre.exp(a) + vyre.exp2(b) + vyre.log(a) + vyre.log2(b) + vyre.log10(a)
    out[i] = s + vyre.sin(a) + vyre.cos(b) + vyre.tan(a) + vyre.tanh(b) + a**b


@vyre.kernel(fast_math=True)
def sums(x: In[f32], y: In[f32], out: Out[f32]):
    i = vyre.gid()
    a, b = x[i], y[i]
    t = a * b
    s = a * a + b * b
    for k in range(8):
        s += t * f32(k)
        s = t + s
    out[i] = s * t - a


@vyre.kernel(fast_math=True)
def wide(x: In[f64], y: In[f64], out: Out[f64]):
    i = vyre.gid()
    out[i] = x[i] / y[i] + vyre.sqrt(x[i]) * y[i]


@vyre.kernel(fast_math=True)
def constants(x: In[f32], y: In[f32], out: Out[f32]):
    i = vyre.gid()
    s = x[i] + y[i]
    for k in range(4):
        s += vyre.sin(f32(k)) + vyre.exp2(f32(k)) / f32(k + 3)
    out[i] = s


@vyre.kernel
def exact_inverse_roots(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = vyre.rsqrt(x[i])


def ptx_of(kernel, code=None):
    """What the front half of the compiler makes of it, under the options of a build."""
    source = emit(kernel.program, code or Code(), CUDA, analyse(kernel.program))
    given = ["--gpu-architecture=compute_90", *nvrtc.options("sm_90")[1:]]
    _, program = library.nvrtcCreateProgram(source.text.encode(), b"vyre.cu", 0, [], [])
    (failed,) = library.nvrtcCompileProgram(program, len(given), [one.encode() for one in given])
    assert not failed
    _, size = library.nvrtcGetPTXSize(program)
    data = bytearray(size)
    library.nvrtcGetPTX(program, data)
    library.nvrtcDestroyProgram(program)
    return data.decode()


def counted(kernel, code=None):
    return Counter(INSTRUCTION.findall(ptx_of(kernel, code)))


def test_quotients_and_roots_are_the_devices_approximate_ones():
    found = counted(roots)

    wanted = {"div.full.f32": 1, "sqrt.approx.f32": 1, "rsqrt.approx.f32": 1, "rcp.approx.f32": 2}
    assert {name: found[name] for name in wanted} == wanted
    assert not [name for name in found if ".rn" in name and name.startswith(("div", "sqrt", "rcp"))]


def test_functions_are_the_devices_approximate_ones():
    found = counted(functions)

    wanted = {"ex2.approx.f32": 3, "lg2.approx.f32": 4, "sin.approx.f32": 2, "cos.approx.f32": 2}
    wanted |= {"tanh.approx.f32": 1, "div.full.f32": 1}
    assert {name: found[name] for name in wanted} == wanted
    assert "fma.rn.f32" not in found  # of a polynomial


@pytest.mark.parametrize("code", CODES, ids=str)
@pytest.mark.parametrize("kernel", [roots, functions, sums, constants], ids=lambda k: k.name)
def test_nothing_flushes_subnormal_numbers(kernel, code):
    assert not [name for name in counted(kernel, code) if "ftz" in name]


def test_what_the_program_fuses_is_fused_and_nothing_else():
    found = counted(sums)

    loops = found["fma.rn.f32"] - 2
    assert loops >= 1  # each round of the loop once, as often as it is unrolled
    assert found["add.rn.f32"] == loops
    assert found["mul.rn.f32"] == 2  # t, and b * b


def test_doubles_stay_exact():
    found = counted(wide)

    assert (found["div.rn.f64"], found["sqrt.rn.f64"], found["fma.rn.f64"]) == (1, 1, 1)
    assert not [name for name in found if "approx" in name]


def test_an_exact_inverse_root_takes_an_estimate_and_no_quotient():
    found = counted(exact_inverse_roots)

    assert (found["rsqrt.approx.f32"], found["fma.rn.f32"]) == (1, 7)
    assert not [name for name in found if name.startswith(("div", "sqrt", "rcp")) or "ftz" in name]


def test_functions_of_constants_are_not_folded_by_the_front_half():
    found = counted(constants, Code(unroll=4))

    assert found["sin.approx.f32"] == found["ex2.approx.f32"] == found["div.full.f32"] == 4


@pytest.mark.parametrize("kernel", [roots, functions, sums, wide, constants], ids=lambda k: k.name)
def test_every_form_of_a_fast_kernel_compiles_to_machine_code(kernel):
    facts = analyse(kernel.program)
    for code in CODES:
        text = emit(kernel.program, code, CUDA, facts).text
        assert isinstance(nvrtc.compile(text, nvrtc.options("sm_90")), Cubin)
