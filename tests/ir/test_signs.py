"""What is never negative, told by the rounds of a reduction alone."""

from __future__ import annotations

import numpy as np
import pytest

import vyre
from vyre import In, Out, f32, f64, i32, u32
from vyre.backend.reference import run
from vyre.ir import BufferDecl, DataType, Program
from vyre.ir.expr import Bitcast, Id, IdKind, Load, Var
from vyre.ir.fold import Folding
from vyre.ir.node import Let, Reduce, ReduceOp, Store
from vyre.ir.signs import never_negative
from vyre.ir.walk import statements
from vyre.runtime.devices.device import Device
from vyre.testing.compare import codes_of, differences
from vyre.testing.cuda_on_host import CudaOnHost, compiler
from vyre.testing.programs import Case


def found(kernel):
    """What is said of the reductions of a kernel, in their order."""
    return [
        never_negative(node)
        for node in statements(kernel.program.entry)
        if isinstance(node, Reduce)
    ]


@vyre.kernel
def squares(x: In[f32, 2], y: In[f32, 2], out: Out[u32]):
    i = vyre.gid()
    out[i] = vyre.argmin(
        sum((x[i, d] - y[c, d]) ** 2 for d in range(x.shape[1])) for c in range(len(y))
    )


@vyre.function
def far(a: f32, b: f32) -> f32:
    away = a - b
    return vyre.sqrt(away * away + 0.5)


@vyre.kernel
def roots(x: In[f32, 2], y: In[f32], out: Out[u32]):
    i = vyre.gid()
    out[i] = vyre.argmin(far(x[i, k], y[k]) * 2.0 for k in range(len(y)) if y[k] == y[k])


@vyre.kernel(fast_math=True)
def fused(x: In[f32, 2], y: In[f32], out: Out[u32]):
    i = vyre.gid()
    out[i] = vyre.argmin(abs(x[i, k]) + x[i, k] * x[i, k] for k in range(len(y)))


@vyre.kernel
def wide(x: In[f64, 2], y: In[f64], out: Out[u32]):
    i = vyre.gid()
    out[i] = vyre.argmin(abs(x[i, k] - y[k]) for k in range(len(y)))


@vyre.kernel
def furthest(x: In[f32, 2], y: In[f32], out: Out[u32]):
    i = vyre.gid()
    out[i] = vyre.argmax(abs(x[i, k] - y[k]) for k in range(len(y)))


@vyre.kernel
def plain(x: In[f32, 2], y: In[f32], out: Out[u32]):
    i = vyre.gid()
    out[i] = vyre.argmin(x[i, k] for k in range(len(y)))


@vyre.kernel
def product(x: In[f32, 2], y: In[f32], out: Out[u32]):
    i = vyre.gid()
    out[i] = vyre.argmin(x[i, k] * y[k] for k in range(len(y)))


@vyre.kernel
def other(x: In[f32, 2], y: In[f32], out: Out[u32]):
    i = vyre.gid()
    out[i] = vyre.argmin(x[i, k] * x[i, k + 1] for k in range(len(y)))


@vyre.kernel
def less(x: In[f32, 2], y: In[f32], out: Out[u32]):
    i = vyre.gid()
    out[i] = vyre.argmin(abs(x[i, k]) - abs(y[k]) for k in range(len(y)))


@vyre.kernel
def below_zero(x: In[f32, 2], y: In[f32], out: Out[u32]):
    i = vyre.gid()
    out[i] = vyre.argmin(abs(x[i, k]) * -0.0 for k in range(len(y)))


@vyre.kernel
def overflown(x: In[i32, 2], y: In[i32], out: Out[u32]):
    i = vyre.gid()
    out[i] = vyre.argmin(f32(x[i, k] * x[i, k]) for k in range(len(y)))


@vyre.kernel
def whole(x: In[i32, 2], y: In[i32], out: Out[u32]):
    i = vyre.gid()
    out[i] = vyre.argmin(x[i, k] * x[i, k] for k in range(len(y)))


@vyre.kernel
def of_nothing(y: In[f32, 2], out: Out[u32]):
    i = vyre.gid()
    out[i] = vyre.argmin(max(abs(y[c, d]) for d in range(c)) for c in range(len(y)))


@vyre.function
def turned(a: f32) -> f32:
    value = a * a
    if a < 0:
        value = -value
    return value


@vyre.kernel
def changed(x: In[f32, 2], y: In[f32], out: Out[u32]):
    i = vyre.gid()
    out[i] = vyre.argmin(turned(x[i, k]) for k in range(len(y)))


POSITIVE = [squares, roots, fused, wide, furthest]
ANY = [plain, product, other, less, below_zero, overflown, whole, changed]


@pytest.mark.parametrize("kernel", POSITIVE, ids=lambda kernel: kernel.name)
def test_squares_roots_and_sums_of_such_are_never_negative(kernel):
    assert all(found(kernel))


@pytest.mark.parametrize("kernel", ANY, ids=lambda kernel: kernel.name)
def test_what_may_be_negative_is_not_taken_for_positive(kernel):
    assert not any(found(kernel))


def test_the_greatest_of_nothing_is_minus_infinity():
    assert found(of_nothing) == [False, True]


FLOATS = {
    DataType.F32: (np.float32, np.uint32, (0x7F80_0001, 0x7FC0_0001, 0xFF80_0001, 0xFFFF_FFFF)),
    DataType.F64: (np.float64, np.uint64, ((0x7FF << 52) + 1, (0xFFF << 52) + 1, (1 << 64) - 1)),
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", [ReduceOp.ARGMIN, ReduceOp.ARGMAX])
def test_states_of_what_is_not_negative_are_those_of_any_other(op, dtype):
    """So it does not matter who knows of a reduction that nothing in it is negative."""
    floats, kind, nans = FLOATS[dtype]
    some = np.array([0, 1e-45, 1e-310, 1, 3e38, np.inf], floats)
    values = np.concatenate([some, np.array(nans, kind).view(floats)])
    at = Id(IdKind.INVOCATION, 0)
    states = [Folding(op, dtype, positive).element(Var("v"), at)[0] for positive in (False, True)]
    result = DataType.I32 if dtype == DataType.F32 else DataType.I64
    made = Program.wrapped(
        [
            BufferDecl.read("x", 0, dtype),
            BufferDecl.write("one", 1, result),
            BufferDecl.write("other", 2, result),
        ],
        (64, 1, 1),
        [
            Let("v", Load("x", at)),
            Store("one", at, Bitcast(result, states[0])),
            Store("other", at, Bitcast(result, states[1])),
        ],
    )
    signed = kind(0).view(f"i{kind(0).itemsize}").dtype
    arrays = {"x": values, **{name: np.zeros(len(values), signed) for name in ("one", "other")}}
    run(made, arrays, (len(values), 1, 1))

    assert arrays["one"].tolist() == arrays["other"].tolist()


COMPILED = [device for device in vyre.devices() if device.backend.compiles]
ON_HOST = [Device("cuda-on-host", CudaOnHost())] if compiler() else []
DEVICES = pytest.mark.parametrize("device", [*COMPILED, *ON_HOST], ids=lambda device: device.name)


def hostile(dtype, shape, rng):
    """Floats of which many are equal, endless or no numbers."""
    floats, kind, nans = FLOATS[dtype]
    values = np.array([0, -0.0, 1, -1, 2, np.inf, -np.inf], floats)
    values = np.concatenate([values, np.array(nans, kind).view(floats)])
    return rng.choice(values, shape)


@DEVICES
@pytest.mark.parametrize("kernel", [*POSITIVE, plain, product, less], ids=lambda k: k.name)
def test_the_first_of_the_least_is_found_among_zeros_and_what_is_no_number(device, kernel):
    cases = []
    for seed, rounds in enumerate((1, 2, 3, 5, 31, 33, 100)):
        rng = np.random.default_rng(seed)
        dtype = kernel.program.buffers[0].element
        deep = (rounds, 3) if kernel is squares else (rounds,)
        x = hostile(dtype, (37, 3 if kernel is squares else rounds), rng)
        y = hostile(dtype, deep, rng)
        x[: 37 // 3] = x[0, -1]  # all alike, at times all NaN
        arrays = {"x": x, "y": y, "out": np.zeros(37, np.uint32)}
        cases.append(Case(program=kernel.program, arrays=arrays, extent=(37, 1, 1)))

    assert list(differences(device, cases, codes_of(device))) == []
