"""`rsqrt` of f32 is rounded once everywhere: a share of what scripts/check_rsqrt.py proves."""

from fractions import Fraction

import numpy as np
import pytest

import vyre
from vyre import In, Out, f32, f64
from vyre.emit import CUDA, OPENCL
from vyre.emit.helpers import Helpers
from vyre.ir.expr import UnaryOp
from vyre.ir.types import DataType
from vyre.testing.inverse_roots import FIRST, LAST, failures, not_nearest, numbers

DEVICES = pytest.mark.parametrize("device", vyre.devices(), ids=lambda device: device.name)
EXPONENTS = 255  # of zero and subnormal numbers the first


@vyre.kernel
def inverse_roots(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = vyre.rsqrt(x[i])


@vyre.kernel
def wide_inverse_roots(x: In[f64], out: Out[f64]):
    i = vyre.gid()
    out[i] = vyre.rsqrt(x[i])


def of_every_exponent(seed, each):
    """Positive numbers, as many of each exponent, the first and last of it among them."""
    fractions = np.random.default_rng(seed).integers(0, 1 << 23, (EXPONENTS, each))
    fractions[:, 0], fractions[:, -1] = 0, (1 << 23) - 1
    fractions[0, 0] = 1  # the least number that is not 0
    return numbers((fractions + (np.arange(EXPONENTS)[:, None] << 23)).ravel())


def neighbour(y, step):
    return numbers(y.view(np.uint32) + np.uint32(step % 2**32))


def is_nearest(x, y):
    """By fractions, in the slowest way: the midpoints on both sides of `y`, squared."""
    below, here, above = (
        Fraction(float(neighbour(np.float32([y]), step)[0])) for step in (-1, 0, 1)
    )
    exact = Fraction(float(x))
    return exact * ((below + here) / 2) ** 2 < 1 < exact * ((here + above) / 2) ** 2


@DEVICES
def test_the_result_is_the_nearest_for_every_exponent(device):
    x = of_every_exponent(7, 128)

    found = np.asarray(inverse_roots(device.array(x)))

    assert x[not_nearest(x, found)].tolist() == []


@DEVICES
def test_zeros_infinity_and_what_has_no_root_give_ieee_754s_results(device):
    x = np.array([0.0, -0.0, np.inf, -np.inf, -1.0, -1e-45, np.nan], np.float32)

    found = np.asarray(inverse_roots(device.array(x)))

    assert found[:3].tolist() == [np.inf, -np.inf, 0.0]
    assert not np.signbit(found[2])
    assert np.isnan(found[3:]).all()


@DEVICES
def test_doubles_are_one_over_the_root(device):
    x = of_every_exponent(8, 16).astype(np.float64)

    found = np.asarray(wide_inverse_roots(device.array(x)))

    assert found.tobytes() == (1 / np.sqrt(x)).tobytes()


def test_every_way_of_computing_it_gives_the_nearest():
    bits = np.random.default_rng(9).integers(FIRST, LAST, 50_000)

    assert set(failures(numbers(bits)).values()) == {0}


def test_the_ends_of_both_binades_are_nearest_in_every_way():
    ends = [0x3F80_0000, 0x3F80_0001, 0x3FFF_FFFF, 0x4000_0000, 0x407F_FFFE, 0x407F_FFFF]

    assert set(failures(numbers(np.array(ends))).values()) == {0}


def test_two_roundings_would_not_do():
    x = numbers(np.random.default_rng(3).integers(FIRST, LAST, 1000))

    assert not_nearest(x, 1 / np.sqrt(x)).sum() > 100


def test_the_judge_agrees_with_fractions_about_results_and_their_neighbours():
    x = np.random.default_rng(5).permutation(of_every_exponent(11, 4))[:300]
    nearest = (1 / np.sqrt(x.astype(np.float64))).astype(np.float32)

    for step in (-1, 0, 1):
        found = neighbour(nearest, step)
        judged = ~not_nearest(x, found)
        assert judged.tolist() == [is_nearest(*pair) for pair in zip(x, found, strict=True)]
        assert judged.all() == (step == 0)


@pytest.mark.parametrize("found", [0.0, -0.7, 0.5, 2.0, np.inf, np.nan])
def test_the_judge_takes_no_number_from_afar(found):
    x = np.array([2.0], np.float32)

    with np.errstate(invalid="ignore"):
        assert not_nearest(x, np.array([found], np.float32)).tolist() == [True]


class TestCuda:
    """Its helper, with an estimate in the place of the instruction."""

    NAMES = """
    #define fmaf fma
    #define fabsf fabs
    #define rsqrtf(a) as_float(as_uint(1.0f / sqrt(a)) + AWAY)
    typedef float f32;
    """
    KERNEL = """
    __kernel void run(__global const float* x, __global float* out)
    { size_t i = get_global_id(0); out[i] = inverse_sqrt_f32(x[i]); }
    """

    @pytest.mark.parametrize("away", [-2, -1, 0, 1, 2])
    def test_it_makes_the_nearest_of_any_estimate(self, opencl, away):
        cl = pytest.importorskip("pyopencl")
        helpers = Helpers(CUDA)
        helpers.unary(UnaryOp.INVERSE_SQRT, DataType.F32)
        helper = helpers.texts["inverse_sqrt_f32"].replace(CUDA.function, OPENCL.function)
        x = of_every_exponent(12, 64)
        out = np.zeros_like(x)
        context, _ = opencl.backend._open()
        queue, flags = cl.CommandQueue(context), cl.mem_flags
        memory = [
            cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=one)
            for one in (x, out)
        ]
        text = "\n".join([OPENCL.contraction_off, self.NAMES, helper, self.KERNEL])
        options = ["-cl-fp32-correctly-rounded-divide-sqrt", f"-DAWAY={away}"]
        cl.Kernel(cl.Program(context, text).build(options), "run")(queue, x.shape, None, *memory)
        cl.enqueue_copy(queue, out, memory[1])

        assert x[not_nearest(x, out)].tolist() == []
