"""No schedule changes a bit of a fast_math kernel, and no compiler fuses more than it says."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

import vyre
from vyre import In, Out, f32, f64, ir
from vyre.ir import BufferDecl, DataType, Options, Program
from vyre.ir.expr import Binary, BinaryOp, Unary, UnaryOp
from vyre.model import Code, Schedule
from vyre.runtime.arrays.array import alignment_of
from vyre.runtime.call import dispatch
from vyre.runtime.devices.launcher import words_of
from vyre.testing.programs import generate
from vyre.testing.schedules import deviations

# CUDA's functions are approximate in such kernels, so there only its own runs are alike.
COMPILED = [device for device in vyre.devices() if device.backend.compiles]
EXACT = [device for device in COMPILED if not device.name.startswith("cuda")]
SIZE = 1031
ROUGH = (UnaryOp.EXP, UnaryOp.LOG2, UnaryOp.SIN, UnaryOp.TAN, UnaryOp.TANH, BinaryOp.POW)


@pytest.fixture
def device(request, monkeypatch):
    """A device that calls on NumPy arrays use."""
    monkeypatch.setattr(dispatch, "default", lambda: request.param)
    return request.param


@vyre.kernel(fast_math=True)
def products(x: In[f32], y: In[f32], out: Out[f32]):
    i = vyre.gid()
    a, b, c = x[i], y[i], x[i + 1]
    d = a * b - c * y[i + 1]
    d += a * c
    out[i] = d * (a * a + b * b * c) - 0.3 * d + c


@vyre.kernel(fast_math=True)
def rounds(x: In[f32], y: In[f32], out: Out[f32]):
    i = vyre.gid()
    s, v = 0.0, x[i]
    for k in range(16):
        s += v * y[i + k]
        v = s * 0.125 - v * 0.75
    out[i] = s * v + y[i]


@vyre.kernel(fast_math=True)
def functions(x: In[f32], y: In[f32], out: Out[f32]):
    i = vyre.gid()
    s = 0.0
    for k in range(8):
        s += vyre.exp(x[i] * 0.25 - f32(k)) / (1.0 + y[i] * y[i])
        s -= vyre.sqrt(x[i] * x[i] + 1.0) * vyre.rsqrt(f32(k) + 1.5)
        s += vyre.log(y[i] * y[i] + 2.0) * vyre.sin(f32(k)) + vyre.tanh(x[i]) / f32(k + 3)
    out[i] = s


@vyre.kernel(fast_math=True)
def wide(x: In[f64], y: In[f64], out: Out[f64]):
    i = vyre.gid()
    out[i] = x[i] * y[i] + x[i + 1] * y[i + 1] - x[i] / (y[i] * y[i] + 1.0)


KERNELS = [products, rounds, functions, wide]


def arguments(kernel):
    kind = np.float64 if kernel is wide else np.float32
    random = np.random.default_rng(4)
    return tuple(random.uniform(-3, 3, SIZE).astype(kind) for _ in "xy")


def schedules_of(kernel, device):
    """Some of the legal ones, each of another code."""
    x, _ = arguments(kernel)
    shapes = dict.fromkeys(("x", "y", "out"), x.shape)
    launcher = kernel._dispatcher.launcher(device)
    aligned = dict.fromkeys(shapes, alignment_of(x))
    legal = launcher.space(launcher.numbers((SIZE, 1, 1), shapes, {}), aligned).legal
    by_code: dict[Code, list[Schedule]] = {}
    for schedule in legal:
        by_code.setdefault(schedule.code, []).append(schedule)
    random = Random(7)
    groups = list(by_code.values())
    return [random.choice(group) for group in random.sample(groups, min(24, len(groups)))]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("device", COMPILED, ids=lambda device: device.name, indirect=True)
def test_every_schedule_gives_the_same_bits(device, kernel):
    x, y = arguments(kernel)
    chosen = schedules_of(kernel, device)
    want = kernel(x, y, schedule=chosen[0])

    assert any(schedule.code.items > 1 or schedule.code.vector > 1 for schedule in chosen)
    assert kernel in (products, wide) or any(schedule.code.unroll > 1 for schedule in chosen)
    for schedule in chosen[1:]:
        assert kernel(x, y, schedule=schedule).tobytes() == want.tobytes(), schedule


@pytest.mark.parametrize("kernel", [products, rounds, wide], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("device", EXACT, ids=lambda device: device.name, indirect=True)
def test_the_fused_program_is_computed_as_the_reference_does(device, kernel):  # noqa: ARG001  # calls use it
    x, y = arguments(kernel)
    reference = vyre.open("reference")

    found = kernel(x, y)

    assert found.tobytes() == np.asarray(kernel(reference.array(x), reference.array(y))).tobytes()


@pytest.mark.parametrize("device", EXACT, ids=lambda device: device.name)
@pytest.mark.parametrize("first", [0, 12])
def test_a_program_that_says_fast_math_is_computed_as_it_is_written(device, first):
    """Generated ones hold sums of products that no translation fused: nor does a compiler."""
    cases = [generate(Random(seed)) for seed in range(first, first + 12)]
    cases = [
        replace(case, program=replace(case.program, options=_fast(case.program.options)))
        for case in cases
    ]

    assert list(deviations(device, cases, Random(first))) == []


@pytest.mark.parametrize("device", COMPILED, ids=lambda device: device.name)
def test_a_function_of_constants_is_that_of_the_same_numbers_at_run_time(device):
    """What an unrolled loop makes of its variable, a compiler may not compute itself."""
    x = np.arange(64, dtype=np.float32) * np.float32(0.0625) + np.float32(0.015625)

    for op in (*ROUGH, BinaryOp.DIV, UnaryOp.SQRT, UnaryOp.INVERSE_SQRT, UnaryOp.RECIPROCAL):
        want = _run(device, _of_elements(op), Code(), 64, {"x": x, "out": np.zeros_like(x)})
        for unroll in (1, 64):
            code = Code(unroll=unroll)
            found = _run(device, _of_rounds(op), code, 1, {"out": np.zeros_like(x)})
            assert found.tobytes() == want.tobytes(), (op, code)


def _applied(op, value):
    return Unary(op, value) if isinstance(op, UnaryOp) else Binary(op, value, value)


def _of_rounds(op):
    number = ir.cast(DataType.F32, ir.var("k")) * ir.f32(0.0625) + ir.f32(0.015625)
    body = [ir.store("out", ir.gid() * 64 + ir.var("k"), _applied(op, number))]
    decls = [BufferDecl.write("out", 0, DataType.F32)]
    return Program.wrapped(decls, (1, 1, 1), [ir.loop("k", 0, 64, body)], Options(fast_math=True))


def _of_elements(op):
    body = [ir.store("out", ir.gid(), _applied(op, ir.load("x", ir.gid())))]
    decls = [BufferDecl.read("x", 0, DataType.F32), BufferDecl.write("out", 1, DataType.F32)]
    return Program.wrapped(decls, (1, 1, 1), body, Options(fast_math=True))


def _run(device, program, code, extent, arrays):
    (binary,) = device.binaries([(program, code)])
    words = words_of(binary.layout, (extent, 1, 1), {n: a.shape for n, a in arrays.items()})
    device.run(binary, (extent, 1, 1), (1, 1, 1), arrays, program, words)
    return arrays["out"]


def _fast(options: Options) -> Options:
    return replace(options, fast_math=True)


def test_fast_math_is_part_of_what_a_kernel_is():
    def plain(x: In[f32], out: Out[f32]):
        out[vyre.gid()] = x[vyre.gid()] + 1.0

    exact, fast = vyre.kernel(plain), vyre.kernel(fast_math=True)(plain)

    assert exact.program.fingerprint() != fast.program.fingerprint()
    assert exact.program.entry == fast.program.entry
