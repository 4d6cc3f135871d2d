"""The recipes of the guide compute what NumPy does, at odd sizes, on every device that is here."""

import linecache
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vyre

PAGE = Path(__file__).parents[2] / "docs/guide/recipes.md"
KERNEL = re.compile(r"^@vyre\.kernel.*\n(?:@.*\n)*def (\w+)", re.MULTILINE)
ODD = (1, 33, 129)

Recipes = dict[str, Any]
Case = Callable[[Recipes, np.random.Generator, Callable[..., Any], int], None]


def read() -> str:
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S))


@pytest.fixture(scope="module")
def recipes() -> Recipes:
    """What the page defines, once it ran."""
    source, where = read(), "<recipes>"
    linecache.cache[where] = (len(source), None, source.splitlines(keepends=True), where)
    found: Recipes = {"__name__": "recipes"}

    exec(compile(source, where, "exec"), found)  # noqa: S102  # our own text

    return found


@pytest.fixture(scope="module", params=["reference", "cpu", "opencl"])
def on(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Calls a kernel with its arrays on one device, and brings what it changed back."""
    try:
        device = vyre.open(request.param)
    except vyre.VyreError as error:
        pytest.skip(f"no {request.param} here: {error}")

    def call(kernel: Any, *arrays: np.ndarray, out: Any = None, **options: Any) -> Any:
        there = [device.array(array) for array in arrays]
        if isinstance(out, tuple):
            options["out"] = tuple(map(device.array, out))
        elif out is not None:
            options["out"] = device.array(out)
        result = kernel(*there, **options)
        for array, changed in zip(arrays, there, strict=True):
            if array.flags.writeable:
                array[...] = np.asarray(changed)
        if isinstance(result, tuple):
            return tuple(np.asarray(one) for one in result)
        return None if result is None else np.asarray(result)

    return call


def close(given: Any, wanted: Any, tolerance: float = 1e-4) -> None:
    given, wanted = np.asarray(given), np.asarray(wanted)
    assert given.shape == wanted.shape
    assert np.allclose(given, wanted, rtol=tolerance, atol=tolerance)


def same(given: Any, wanted: Any) -> None:
    assert np.asarray(given).tolist() == np.asarray(wanted).tolist()


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape, dtype=np.float32)


def windowed(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The sum of a window's weights times what is around each element, edges repeated."""
    down, right = weights.shape
    padded = np.pad(x, ((down // 2,) * 2, (right // 2,) * 2), mode="edge")
    around = np.lib.stride_tricks.sliding_window_view(padded, weights.shape)
    return np.einsum("ijkl,kl->ij", around, weights)


def filter3(r, rng, call, n):
    image = normal(rng, n, n + 2)
    close(call(r["filter3"], image), windowed(image, np.outer([1, 2, 1], [1, 2, 1]) / 16))


def blur(r, rng, call, n):
    image, weights = normal(rng, n, n + 2), r["GAUSS"]
    across = call(r["blur"], image, down=0, right=1)
    close(call(r["blur"], across, down=1, right=0), windowed(image, np.outer(weights, weights)))


def grey(r, rng, call, n):
    rgb = rng.integers(0, 256, (n, n + 2, 3), dtype=np.uint8)
    given = call(r["grey"], rgb, shape=rgb.shape[:2])
    exact = rgb @ np.array([0.299, 0.587, 0.114])
    assert given.dtype == np.uint8
    assert np.abs(given - exact).max() < 0.5001


def gamma(r, rng, call, n):
    pixels = rng.integers(0, 256, 1025 + n, dtype=np.uint8)
    same(call(r["gamma"], pixels), np.round(255 * (pixels / 255) ** (1 / 2.2)))


def julia(r, _rng, call, n):
    given = call(r["julia"], out=np.empty((n, n + 2), np.uint32))
    y, x = np.meshgrid(np.arange(n), np.arange(n + 2), indexing="ij")
    y, x = (np.float32(3) * v.astype(np.float32) / np.float32(m) for v, m in ((y, n), (x, n + 2)))
    y, x = y - np.float32(1.5), x - np.float32(1.5)
    count = np.zeros(x.shape, int)
    for _ in range(100):
        inside = x * x + y * y < 4
        count += inside
        x, y = (
            np.where(inside, x * x - y * y + np.float32(-0.8), x),
            np.where(inside, 2 * x * y + np.float32(0.156), y),
        )
    same(given, count)


def black_scholes(r, rng, call, n):
    spot, strike = (rng.uniform(50, 150, n).astype(np.float32) for _ in range(2))
    years = rng.uniform(0.1, 2, n).astype(np.float32)
    given = call(r["black_scholes"], spot, strike, years, rate=0.02, sigma=0.3)
    cdf = np.vectorize(lambda x: 0.5 * r["math"].erfc(-x / 2**0.5))
    s, k, t = (a.astype(np.float64) for a in (spot, strike, years))
    d = (np.log(s / k) + (0.02 + 0.045) * t) / (0.3 * np.sqrt(t))
    e = d - 0.3 * np.sqrt(t)
    paid = k * np.exp(-0.02 * t)
    close(given, (s * cdf(d) - paid * cdf(e), paid * cdf(-e) - s * cdf(-d)), 1e-3)


def hits(r, _rng, call, n):
    given = call(r["hits"], seed=n, each=101, out=np.empty(n, np.uint32))
    x = (n + np.arange(2 * 101 * n)).astype(np.uint32)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B), (16, 1)):
        x = (x ^ x >> np.uint32(shift)) * np.uint32(factor)
    a, b = ((x >> np.uint32(8)).astype(np.float32) / np.float32(1 << 24)).reshape(-1, 2).T
    same(given, (a**2 + b**2 < 1).reshape(n, 101).sum(1))


def orbits(r, rng, call, n):
    state = rng.standard_normal((3, n))
    expected = state
    for _ in range(10):
        expected = np.array(r["rk4"](*expected, 0.01))
    x, y, z = state.copy()
    call(r["orbits"], x, y, z, steps=10)
    close((x, y, z), expected, 1e-12)


def adam(r, rng, call, n):
    w, m, v, g = (np.abs(normal(rng, n)) for _ in range(4))
    mean, square = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    step = 1e-3 * mean / (1 - 0.9**3) / (np.sqrt(square / (1 - 0.999**3)) + 1e-8)
    expected = w - step, mean, square
    call(r["adam"], w, m, v, g, step=3)
    close((w, m, v), expected)


def pulls(r, rng, call, n):
    p, mass = rng.random((3, n), dtype=np.float32), rng.random(n, dtype=np.float32)
    d = (p[:, None, :] - p[:, :, None]).astype(np.float64)
    expected = (mass * ((d * d).sum(0) + 1e-4) ** -1.5 * d).sum(-1)
    close(call(r["pulls"], *p.copy(), mass), expected, 2e-3)


def heat(r, rng, call, n):
    x = normal(rng, 5, n, 7)
    p, m = np.pad(x, 1, mode="edge"), slice(1, -1)
    around = p[:-2, m, m] + p[2:, m, m] + p[m, :-2, m] + p[m, 2:, m] + p[m, m, :-2] + p[m, m, 2:]
    close(call(r["heat"], x, rate=0.1), x + 0.1 * (around - 6 * x))


def transpose(r, rng, call, n):
    x = normal(rng, n, n + 4)
    same(call(r["transpose"], x, shape=x.shape[::-1]), x.T)


def products(name: str) -> Case:
    def product(r, rng, call, n):
        a, b = normal(rng, n, n + 2), normal(rng, n + 2, 7)
        close(call(r[name], a, b, shape=(n, 7)), a.astype(np.float64) @ b, 1e-3)

    return product


def matrix_vector(r, rng, call, n):
    a, v = normal(rng, 7, n), normal(rng, n)
    close(call(r["matrix_vector"], a, v, shape=7), a.astype(np.float64) @ v, 1e-3)


def sparse(r, rng, call, n):
    dense = np.where(rng.random((n, 50)) < 0.2, normal(rng, n, 50), 0)
    starts = np.concatenate([[0], np.cumsum((dense != 0).sum(1))]).astype(np.uint32)
    columns, v = np.nonzero(dense)[1].astype(np.uint32), normal(rng, 50)
    values = dense[dense != 0].astype(np.float32)
    close(call(r["sparse"], values, columns, starts, v, shape=n), dense @ v, 1e-3)


def softmax(r, rng, call, n):
    x = normal(rng, 5, n)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    given = call(r["softmax"], x, out=np.empty_like(x), shape=5)
    close(given, e / e.sum(1, keepdims=True))


def layer_norm(r, rng, call, n):
    x, gain, bias = normal(rng, 5, n), normal(rng, n), normal(rng, n)
    wide = x.astype(np.float64)
    mean, variance = wide.mean(1, keepdims=True), wide.var(1, keepdims=True)
    given = call(r["layer_norm"], x, gain, bias, out=np.empty_like(x), shape=5)
    close(given, (wide - mean) / np.sqrt(variance + 1e-5) * gain + bias, 1e-3)


def dot(r, rng, call, n):
    x, y = normal(rng, n), normal(rng, n)
    close(call(r["dot"], x, y), [x.astype(np.float64) @ y], 1e-3)


def norms(r, rng, call, n):
    x = normal(rng, n)
    close(call(r["norms"], x), [np.linalg.norm(x, order) for order in (1, 2, np.inf)], 1e-3)


def nearest(r, rng, call, n):
    points, centres = normal(rng, n, 5), normal(rng, 9, 5)
    distances = ((points[:, None] - centres) ** 2).sum(-1)
    same(call(r["nearest"], points, centres, shape=n), distances.argmin(1))


def means(r, rng, call, n):
    points, which = normal(rng, n, 5), rng.integers(0, 4, n).astype(np.uint32)
    expected = [points[which == c].mean(0) if (which == c).any() else np.zeros(5) for c in range(4)]
    close(call(r["means"], points, which, shape=(4, 5)), expected)


def histogram(r, rng, call, n):
    data, bins = rng.integers(0, 256, 1024 + n, dtype=np.uint8), np.ones(256, np.uint32)
    call(r["histogram"], data, bins)
    same(bins, 1 + np.bincount(data, minlength=256))


def packed(r, rng, call, n):
    flags = rng.integers(0, 2, n, dtype=np.uint8)
    words = (n + 31) // 32
    given = call(r["packed"], flags, shape=words)
    same(given.view(np.uint8)[: (n + 7) // 8], np.packbits(flags, bitorder="little"))


def occurrences(r, rng, call, n):
    text = bytes(rng.choice([*b"ab"], n).astype(np.uint8))
    for word in (b"a", b"ab", b"aba", b"bbbb" * 40):
        given = call(r["occurrences"], *(np.frombuffer(one, np.uint8) for one in (text, word)))
        same(given, [sum(text.startswith(word, at) for at in range(n))])


def sort_step(r, rng, call, n):
    x = normal(rng, 1 << n.bit_length())  # a power of two
    expected, size = np.sort(x), 2
    same(r["sort"](x), expected)
    while size <= len(x):
        apart = size // 2
        while apart:
            x = call(r["sort_step"], x, size=size, apart=apart)
            apart //= 2
        size *= 2
    same(x, expected)


def fft_stage(r, rng, call, n):
    x = normal(rng, 1 << n.bit_length())  # a power of two
    expected, parts, half = np.fft.fft(x), (x, np.zeros_like(x)), 1
    close(r["fft"](x), expected, 1e-3)
    while half < len(x):
        empty = np.empty_like(x), np.empty_like(x)
        parts = call(r["fft_stage"], *parts, half=half, out=empty, shape=len(x) // 2)
        half *= 2
    close(parts[0] + 1j * parts[1], expected, 1e-3)


CASES: dict[str, Case] = {
    case.__name__: case
    for case in (
        *(filter3, blur, grey, gamma, julia, black_scholes, hits, orbits, adam, pulls, heat),
        *(transpose, matrix_vector, sparse, softmax, layer_norm, dot, norms, nearest, means),
        *(histogram, packed, occurrences, sort_step, fft_stage),
    )
} | {name: products(name) for name in ("product", "product_by_sum", "product_in_tiles")}


def test_every_recipe_is_compared():
    assert {*KERNEL.findall(read())} == {*CASES}
    assert len(CASES) + 1 >= 28  # and prefix sums, which have tests of their own


@pytest.mark.parametrize("name", CASES)
def test_a_recipe_computes_what_numpy_does(name: str, recipes: Recipes, on: Callable[..., Any]):
    for n in ODD:
        CASES[name](recipes, np.random.default_rng(n), on, n)
