"""The CPU suite's kernels in NumPy: expressions and slices, in place where that comes naturally.

Mandelbrot, n-body and CSR have no such form and are left out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
F = np.float32


def saxpy(x: Array, y: Array, a: F, out: Array) -> None:
    np.multiply(x, a, out=out)
    out += y


def gelu(x: Array, out: Array) -> None:
    np.multiply(x, x, out=out)
    out *= x
    out *= F(0.044715)
    out += x
    out *= F(0.7978845608)
    np.tanh(out, out=out)
    out += F(1)
    out *= x
    out *= F(0.5)


def exp_log(x: Array, out: Array) -> None:
    np.exp(x, out=out)
    out += F(1)
    np.log(out, out=out)


def polynomial(x: Array, out: Array) -> None:
    out[:] = x
    for _ in range(512):
        out *= x
        out += F(0.5)


def stencil9(x: Array, w: Array, out: Array) -> None:
    np.multiply(x, w[4], out=out)
    for away in range(1, 5):
        out[away:] += w[4 - away] * x[:-away]
        out[:-away] += w[4 + away] * x[away:]


def stencil5(x: Array, out: Array) -> None:
    out[:-1] = x[1:]
    out[-1] = 0
    out[1:] += x[:-1]
    out[:, 1:] += x[:, :-1]
    out[:, :-1] += x[:, 1:]
    out *= F(0.25)


def gather(table: Array, index: NDArray[np.uint32], out: Array) -> None:
    np.take(table, index, out=out, mode="clip")  # with "raise" it would go through a copy


def histogram(data: NDArray[np.uint8], bins: NDArray[np.uint32]) -> None:
    bins += np.bincount(data, minlength=256).astype(np.uint32)


def sobel(x: Array, out: Array) -> None:
    down, across = F(2) * x, F(2) * x
    down[1:] += x[:-1]
    down[:-1] += x[1:]
    across[:, 1:] += x[:, :-1]
    across[:, :-1] += x[:, 1:]
    gx, gy = np.zeros_like(x), np.zeros_like(x)
    gx[:, :-1] = down[:, 1:]
    gx[:, 1:] -= down[:, :-1]
    gy[:-1] = across[1:]
    gy[1:] -= across[:-1]
    gx *= gx
    gy *= gy
    np.add(gx, gy, out=out)
    np.sqrt(out, out=out)


def _normal_below(d: Array) -> Array:
    k = F(1) / (F(1) + F(0.2316419) * np.abs(d))
    series = k * F(1.330274429)
    for factor in (-1.821255978, 1.781477937, -0.356563782, 0.31938153):
        series += F(factor)
        series *= k
    tail = F(0.3989422804) * np.exp(F(-0.5) * d * d)
    tail *= series
    return np.where(d > 0, F(1) - tail, tail)


def black_scholes(
    price: Array, strike: Array, years: Array, rate: F, volatility: F, call: Array, put: Array
) -> None:
    spread = volatility * np.sqrt(years)
    d1 = np.log(price / strike)
    d1 += (rate + F(0.5) * volatility * volatility) * years
    d1 /= spread
    below1, below2 = _normal_below(d1), _normal_below(d1 - spread)
    later = strike * np.exp(-rate * years)
    np.subtract(price * below1, later * below2, out=call)
    np.subtract(later * (F(1) - below2), price * (F(1) - below1), out=put)


def kmeans(points: Array, centres: Array, nearest: NDArray[np.uint32]) -> None:
    distances = points @ (F(-2) * centres.T)
    distances += np.square(centres).sum(1)
    nearest[:] = distances.argmin(1)


def heat(x: Array, c: F, out: Array) -> None:
    np.multiply(x, F(-6), out=out)
    out[1:] += x[:-1]
    out[:-1] += x[1:]
    out[:, 1:] += x[:, :-1]
    out[:, :-1] += x[:, 1:]
    out[:, :, 1:] += x[:, :, :-1]
    out[:, :, :-1] += x[:, :, 1:]
    out *= c
    out += x


def product(a: Array, b: Array, out: Array) -> None:
    np.matmul(a, b, out=out)


ALL = (
    saxpy, gelu, exp_log, polynomial, stencil9, stencil5, gather, histogram, sobel, black_scholes,
    kmeans, heat, product,
)  # fmt: skip

ELEMENTWISE = frozenset(
    {
        "saxpy", "gelu", "exp_log", "polynomial", "stencil9", "stencil5", "sobel",
        "black_scholes", "heat",
    }
)  # fmt: skip
"""Those that are expressions over elements and slices; the others call a routine made for it."""
