"""Each function of the language, against NumPy."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vyre import lang
from vyre.errors import LanguageError
from vyre.lang.intrinsics import INTRINSICS

Written = Callable[..., Callable[..., None]]
Run = Callable[..., None]

X = np.array([-2.5, -1.0, -0.25, 0.0, 0.5, 0.75, 1.5, 3.5])
X32 = X.astype(np.float32)
UNIT = np.array([-1.0, -0.5, 0.0, 0.25, 0.5, 0.75, 0.9, 1.0])
POSITIVE = np.array([0.01, 0.25, 0.5, 1.0, 2.0, 10.0, 1000.0, 1e6])
BITS = np.array([0, 1, 2, 0xFF, 0x8000_0000, 0xFFFF_FFFF, 12345, 0x00F0_0000], np.uint32)


@pytest.mark.parametrize(
    ("call", "x", "expected"),
    [
        ("vyre.exp(v)", X, np.exp),
        ("vyre.exp2(v)", X, np.exp2),
        ("vyre.log(v)", POSITIVE, np.log),
        ("vyre.log2(v)", POSITIVE, np.log2),
        ("vyre.sin(v)", X, np.sin),
        ("vyre.cos(v)", X, np.cos),
        ("vyre.tan(v)", X, np.tan),
        ("vyre.asin(v)", UNIT, np.arcsin),
        ("vyre.acos(v)", UNIT, np.arccos),
        ("vyre.atan(v)", X, np.arctan),
        ("vyre.sinh(v)", X, np.sinh),
        ("vyre.cosh(v)", X, np.cosh),
        ("vyre.tanh(v)", X, np.tanh),
        ("vyre.sqrt(v)", POSITIVE, np.sqrt),
        ("vyre.rsqrt(v)", POSITIVE, lambda x: 1 / np.sqrt(x)),
        ("vyre.floor(v)", X, np.floor),
        ("vyre.ceil(v)", X, np.ceil),
        ("vyre.trunc(v)", X, np.trunc),
        ("vyre.round(v)", X, np.round),
        ("round(v)", X, np.round),
        ("vyre.abs(v)", X, np.abs),
        ("abs(v)", X, np.abs),
        ("vyre.sign(v)", X, np.sign),
        ("vyre.atan2(v, 2)", X, lambda x: np.arctan2(x, 2)),
        ("vyre.pow(v, 1.5)", POSITIVE, lambda x: x**1.5),
        ("v ** 1.5", POSITIVE, lambda x: x**1.5),
        ("pow(v, 3)", X, lambda x: x**3),
        ("vyre.abs_diff(v, 1)", X, lambda x: np.abs(x - 1)),
        ("vyre.min(v, 0)", X, lambda x: np.minimum(x, 0)),
        ("max(v, 0, -v)", X, np.abs),
        ("vyre.clamp(v, -1, hi=1)", X, lambda x: np.clip(x, -1, 1)),
        ("vyre.select(v > 0, v, 0)", X, lambda x: np.where(x > 0, x, 0)),
        ("np.where(v > 0, v, 0)", X, lambda x: np.where(x > 0, x, 0)),
        ("vyre.fma(v, 2, 1)", X, lambda x: 2 * x + 1),
        ("f64(vyre.isnan(v / 0 * 0))", X, lambda x: np.ones_like(x)),
        ("f64(vyre.isinf(1 / v))", X, lambda x: (x == 0).astype(float)),
        ("f64(vyre.isfinite(1 / v))", X, lambda x: (x != 0).astype(float)),
        ("vyre.log10(v)", POSITIVE, np.log10),
        ("vyre.log1p(v)", POSITIVE, np.log1p),
        ("vyre.expm1(v)", X, np.expm1),
        ("vyre.asinh(v)", X, np.arcsinh),
        ("vyre.acosh(v + 1)", POSITIVE, lambda x: np.arccosh(x + 1)),
        ("vyre.atanh(v / 2)", UNIT, lambda x: np.arctanh(x / 2)),
        ("vyre.cbrt(v)", X, np.cbrt),
        ("vyre.erf(v)", X, np.vectorize(math.erf)),
        ("vyre.erfc(v)", X, np.vectorize(math.erfc)),
        ("vyre.hypot(v, 2)", X, lambda x: np.hypot(x, 2)),
        ("vyre.copysign(2, v)", X, lambda x: np.copysign(2, x)),
        ("vyre.fmod(v, 2)", X, lambda x: np.fmod(x, 2)),
        ("v % math.inf", X, lambda x: np.mod(x, np.inf)),
        ("math.log10(v) + np.log10(v)", POSITIVE, lambda x: 2 * np.log10(x)),
        ("math.log1p(v) + np.log1p(v)", POSITIVE, lambda x: 2 * np.log1p(x)),
        ("math.expm1(v) + np.expm1(v)", X, lambda x: 2 * np.expm1(x)),
        ("math.asinh(v) + np.arcsinh(v)", X, lambda x: 2 * np.arcsinh(x)),
        ("math.acosh(v + 1) + np.arccosh(v + 1)", POSITIVE, lambda x: 2 * np.arccosh(x + 1)),
        ("math.atanh(v / 2) + np.arctanh(v / 2)", UNIT, lambda x: 2 * np.arctanh(x / 2)),
        ("math.cbrt(v) + np.cbrt(v)", X, lambda x: 2 * np.cbrt(x)),
        ("math.erf(v) + math.erfc(v)", X, np.ones_like),
        ("math.hypot(v, 2) + np.hypot(v, 2)", X, lambda x: 2 * np.hypot(x, 2)),
        ("math.copysign(1, v) + np.copysign(1, v)", X, lambda x: np.copysign(2, x)),
        ("math.fmod(v, 2) + np.fmod(v, 2)", X, lambda x: 2 * np.fmod(x, 2)),
        ("v * math.erf(0.5)", X, lambda x: x * math.erf(0.5)),
        ("math.exp(v)", X, np.exp),
        ("np.arctan2(v, 2)", X, lambda x: np.arctan2(x, 2)),
        ("v * math.sqrt(2) + math.pi", X, lambda x: x * math.sqrt(2) + math.pi),
    ],
)
def test_a_function_of_floats_is_the_one_numpy_has(
    call: str, x: np.ndarray, expected: Callable[..., np.ndarray], written: Written, run: Run
):
    kernel = written(
        "def kernel(x: In[f64], out: Out[f64]):\n"
        "    i = vyre.gid()\n"
        "    v = x[i]\n"
        f"    out[i] = {call}\n",
        math=math,
        np=np,
    )
    out = np.zeros(8)

    run(kernel, shape=8, x=x, out=out)

    np.testing.assert_allclose(out, expected(x), rtol=1e-14)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("vyre.popcount(v)", lambda v: v.bit_count()),
        ("vyre.clz(v)", lambda v: 32 - v.bit_length()),
        ("vyre.ctz(v)", lambda v: (v & -v).bit_length() - 1 if v else 32),
        ("vyre.reverse_bits(v)", lambda v: int(f"{v:032b}"[::-1], 2)),
        ("vyre.mul_high(v, v)", lambda v: v * v >> 32),
        ("vyre.sat_add(v, v)", lambda v: min(2 * v, 0xFFFF_FFFF)),
        ("vyre.sat_sub(v, 300)", lambda v: max(v - 300, 0)),
        ("vyre.sat_mul(v, 3)", lambda v: min(v * 3, 0xFFFF_FFFF)),
        ("vyre.rotl(v, 4)", lambda v: (v << 4 | v >> 28) & 0xFFFF_FFFF),
        ("vyre.rotr(v, 4)", lambda v: (v >> 4 | v << 28) & 0xFFFF_FFFF),
        ("v << 3", lambda v: v << 3 & 0xFFFF_FFFF),
        ("v >> 3", lambda v: v >> 3),
        ("~v", lambda v: ~v & 0xFFFF_FFFF),
        ("v & 0xF0 | 1 ^ v", lambda v: v & 0xF0 | 1 ^ v),
        ("-v", lambda v: -v & 0xFFFF_FFFF),
        ("+v", lambda v: v),
        ("v // 7", lambda v: v // 7),
        ("v % 7", lambda v: v % 7),
        ("v ** 3", lambda v: v**3 & 0xFFFF_FFFF),
    ],
)
def test_a_function_of_whole_numbers_works_on_their_bits(
    call: str, expected: Callable[[int], int], written: Written, run: Run
):
    kernel = written(
        "def kernel(x: In[u32], out: Out[u32]):\n"
        "    i = vyre.gid()\n"
        "    v = x[i]\n"
        f"    out[i] = {call}\n"
    )
    out = np.zeros(8, np.uint32)

    run(kernel, shape=8, x=BITS, out=out)

    assert out.tolist() == [expected(v) for v in BITS.tolist()]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("vyre.bitcast(v, u32)", X32.view(np.uint32)),
        ("u32(vyre.bitcast(v, i32) >> 23)", (X32.view(np.int32) >> 23).view(np.uint32)),
        ("vyre.bitcast(vyre.bitcast(vyre.bitcast(v, i32), f32), u32)", X32.view(np.uint32)),
        ("vyre.bitcast(x=v, dtype=u32)", X32.view(np.uint32)),
        ("vyre.bitcast(f32(i), u32)", np.arange(8, dtype=np.float32).view(np.uint32)),
        ("vyre.bitcast(i, u32)", np.arange(8)),
        ("vyre.bitcast(1.0, u32)", np.full(8, 0x3F80_0000)),
        ("vyre.bitcast(-1, u32)", np.full(8, 0xFFFF_FFFF)),
        ("u32(vyre.bitcast(0xFF80_0000, f32) < v)", np.ones(8)),
        ("u32(vyre.bitcast(1.0, u64) >> 52)", np.full(8, 1023)),
        ("u32(vyre.bitcast(0x3FF0_0000_0000_0000, f64))", np.ones(8)),
        ("u32(vyre.bitcast(200, i8) + 100)", np.full(8, 44)),
        ("u32(vyre.bitcast(f64(v), u64) >> 52)", X.view(np.uint64) >> 52),
    ],
)
def test_a_bitcast_shows_the_bits(call: str, expected: np.ndarray, written: Written, run: Run):
    kernel = written(
        "def kernel(x: In[f32], out: Out[u32]):\n"
        "    i = vyre.gid()\n"
        "    v = x[i]\n"
        f"    out[i] = {call}\n"
    )
    out = np.zeros(8, np.uint32)

    run(kernel, shape=8, x=X32, out=out)

    assert out.tolist() == expected.tolist()


def test_a_difference_that_wraps_may_be_seen_as_its_bits(written: Written, run: Run):
    kernel = written(
        "def kernel(out: Out[i32]):\n    i = vyre.gid()\n    out[i] = vyre.bitcast(i - 3, i32)\n"
    )
    out = np.zeros(5, np.int32)

    run(kernel, shape=5, out=out)

    assert out.tolist() == [-3, -2, -1, 0, 1]


def test_a_variable_without_a_type_is_seen_once_it_has_one(written: Written, run: Run):
    kernel = written(
        "def kernel(x: In[f64], out: Out[u64]):\n"
        "    i = vyre.gid()\n"
        "    most = 1.5\n"
        "    if i > 0:\n"
        "        most = 2.5\n"
        "    out[i] = vyre.bitcast(most, u64)\n"
        "    most = most + x[i]\n"
    )
    out = np.zeros(2, np.uint64)

    run(kernel, shape=2, x=np.zeros(2), out=out)

    assert out.view(np.float64).tolist() == [1.5, 2.5]


@pytest.mark.parametrize(
    ("call", "old", "new"),
    [
        ("vyre.atomic_add(c, 0, 3)", 10, 13),
        ("vyre.atomic_min(c, 0, 3)", 10, 3),
        ("vyre.atomic_max(c, 0, 30)", 10, 30),
        ("vyre.atomic_and(c, 0, 6)", 10, 2),
        ("vyre.atomic_or(c, 0, 6)", 10, 14),
        ("vyre.atomic_xor(c, 0, 6)", 10, 12),
        ("vyre.atomic_exchange(c, 0, 6)", 10, 6),
        ("vyre.atomic_compare_exchange(c, 0, 10, 6)", 10, 6),
        ("vyre.atomic_compare_exchange(c, 0, 11, 6)", 10, 10),
    ],
)
def test_an_atomic_changes_an_element_and_returns_what_was_there(
    call: str, old: int, new: int, written: Written, run: Run
):
    kernel = written(f"def kernel(c: InOut[u32], out: Out[u32]):\n    out[0] = {call}\n")
    c, out = np.array([10], np.uint32), np.zeros(1, np.uint32)

    run(kernel, c=c, out=out)

    assert (out[0], c[0]) == (old, new)


def test_every_function_says_that_it_works_in_kernels_only():
    for name, intrinsic in INTRINSICS.items():
        with pytest.raises(LanguageError) as caught:
            intrinsic(1, 2)

        assert str(caught.value) == (
            f"vyre.{name}() works inside a kernel only\n"
            "Fix: call it in a function under @vyre.kernel or @vyre.function"
        )


def test_every_function_is_exported_and_documented():
    guide = Path(__file__).parents[2] / "docs/guide/language.md"
    text = guide.read_text()

    for name in INTRINSICS:
        assert name in lang.__all__
        assert f"`{name}(" in text, f"{guide.name} does not name {name}"
