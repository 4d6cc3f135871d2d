"""The inverse square root of a covariance or Fisher matrix, by products of matrices alone.

The coupled Newton-Schulz iteration, each round scaled so that a known interval of eigenvalues
shrinks as fast as a cubic can make it: how many rounds it takes is known before the first. The
products are an argument, so that a device can compute them; the bits are the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vyre import ir
from vyre.errors import InvalidInput
from vyre.ir import BufferDecl, DataType, Program
from vyre.plan import DispatchConfig
from vyre.substrate.calls import Dispatch

Floats = NDArray[np.float64]
Product = Callable[[Floats, Floats, float, float], Floats]
"""`scale` times the product of two square matrices, plus `shift` times the identity."""

CONDITION = float(1 << 20)
"""Eigenvalues below the norm divided by this count as zero: 16.16 has no use for their roots."""

CLOSE = 1e-8
"""How far from the identity the product of the two iterates may end."""

_SETTLED = 1e-15
_LANES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class InverseRoot:
    """An inverse square root, and what was done to get it."""

    root: Floats
    shift: float  # added to the diagonal first; above 0 where the matrix was nearly singular
    rounds: int
    residual: float  # the largest entry of identity - root * matrix * root

    @property
    def regularised(self) -> bool:
        return self.shift > 0


def rounds_for(condition: float) -> tuple[float, ...]:
    """The scale of each round that brings eigenvalues from 1 / `condition` to 1 together at 1.

    With singular values of the iterates' product between s and 1, x -> x (3 - x**2) / 2 of the
    values times sqrt(3 / (1 + s + s**2)) leaves both ends at the same place, and no value above 1.
    At first s grows by 2.6 a round, in the end its distance from 1 is squared.

    >>> len(rounds_for(2.0**20))
    12
    """
    low = sqrt(1 / condition)
    scales = []
    while 1 - low > _SETTLED:
        scale = sqrt(3 / (1 + low + low * low))
        low = scale * low * (3 - (scale * low) ** 2) / 2
        scales.append(scale)
    return tuple(scales)


def host_product(left: Floats, right: Floats, scale: float, shift: float) -> Floats:
    """The product on the host, summed term after term as a device does."""
    total = np.zeros(left.shape)
    for k in range(left.shape[0]):
        total += left[:, k, np.newaxis] * right[np.newaxis, k, :]
    total *= scale
    total += np.where(np.eye(left.shape[0], dtype=np.bool_), shift, 0.0)
    return total


def product_on(dispatch: Dispatch) -> Product:
    """The product on a device."""

    def run(left: Floats, right: Floats, scale: float, shift: float) -> Floats:
        n = left.shape[0]
        numbers = [np.array([scale]), np.array([shift]), np.array([n], np.uint32)]
        groups = -(-n * n // _LANES)
        config = DispatchConfig(grid_override=(groups, 1, 1))
        (out,) = dispatch(product(), [left, right, np.zeros(n * n), *numbers], config)
        return np.asarray(out, np.float64).reshape(n, n)

    return run


@functools.cache
def product() -> Program:
    """Two square matrices to `scale` times their product plus `shift` times the identity."""
    at, n, total = ir.var("at"), ir.var("n"), ir.var("total")
    row, column, k = ir.var("row"), ir.var("column"), ir.var("k")
    term = ir.load("left", row * n + k) * ir.load("right", k * n + column)
    diagonal = ir.select(row.eq(column), ir.load("shift", 0), ir.f64(0.0))
    body = [
        ir.let("n", ir.load("size", 0)),
        ir.let("at", ir.gid()),
        ir.if_(
            at < n * n,
            [
                ir.let("row", at / n),
                ir.let("column", at % n),
                ir.let("total", ir.f64(0.0)),
                ir.loop("k", 0, n, [ir.assign("total", total + term)]),
                ir.store("out", at, total * ir.load("scale", 0) + diagonal),
            ],
        ),
    ]
    f64 = DataType.F64
    buffers = [
        BufferDecl.read("left", 0, f64),
        BufferDecl.read("right", 1, f64),
        BufferDecl.read_write("out", 2, f64),
        BufferDecl.uniform("scale", 3, f64).with_count(1),
        BufferDecl.uniform("shift", 4, f64).with_count(1),
        BufferDecl.uniform("size", 5, DataType.U32).with_count(1),
    ]
    region = ir.region("vyre.substrate.product", body)
    return Program.wrapped(buffers, (_LANES, 1, 1), [region])


def inverse_root(
    matrix: ArrayLike, *, condition: float = CONDITION, product: Product = host_product
) -> InverseRoot:
    """The symmetric inverse square root of a positive semi-definite matrix.

    A matrix with an eigenvalue below its norm divided by `condition` is nearly singular: that much
    is added to its diagonal, and the answer says so.

    >>> inverse_root([[4.0, 0.0], [0.0, 1.0]]).root.round(6).tolist()
    [[0.5, 0.0], [0.0, 1.0]]

    Raises:
        InvalidInput: the matrix is not square, finite and symmetric, or has a negative eigenvalue.
    """
    given = _symmetric(matrix)
    # Both norms bound the largest eigenvalue; the smaller one leaves fewer rounds.
    norm = min(float(np.abs(given).sum(axis=1).max()), float(np.sqrt((given**2).sum())))
    if norm == 0:
        raise InvalidInput("a matrix of zeros has no inverse", "give it a diagonal")
    for shift in (0.0, 1 / condition):
        scaled = (given / norm + shift * np.eye(len(given))) / (1 + shift)
        root, rounds = _iterate(scaled, condition * (1 + shift), product)
        residual = _residual(scaled, root)
        if residual <= CLOSE:
            return InverseRoot(
                root=root / sqrt(norm * (1 + shift)),
                shift=shift * norm,
                rounds=rounds,
                residual=residual,
            )
    raise InvalidInput(
        f"a matrix with a negative eigenvalue: after {rounds} rounds {residual:.3g} is left",
        "give a covariance or Fisher matrix, which has none",
    )


def _iterate(scaled: Floats, condition: float, product: Product) -> tuple[Floats, int]:
    scales = rounds_for(condition)
    root, inverse = scaled, np.eye(len(scaled))
    with np.errstate(all="ignore"):  # a negative eigenvalue runs away; the residual tells
        for scale in scales:
            factor = product(inverse, root, -(scale**3) / 2, 3 * scale / 2)
            root, inverse = product(root, factor, 1.0, 0.0), product(factor, inverse, 1.0, 0.0)
    return inverse, len(scales)


def _residual(scaled: Floats, inverse: Floats) -> float:
    with np.errstate(all="ignore"):
        left = np.abs(np.eye(len(scaled)) - inverse @ scaled @ inverse)
    worst = float(left.max())
    return worst if np.isfinite(worst) else float("inf")


def _symmetric(matrix: ArrayLike) -> Floats:
    given = np.array(matrix, np.float64)
    if given.ndim != 2 or given.shape[0] != given.shape[1] or given.size == 0:
        raise InvalidInput(f"a matrix of shape {given.shape}", "give a square matrix")
    if not np.isfinite(given).all():
        raise InvalidInput("a matrix with entries that are not finite", "give finite numbers")
    if np.abs(given - given.T).max() > 1e-9 * np.abs(given).max():
        raise InvalidInput("a matrix that is not symmetric", "give a covariance or Fisher matrix")
    return (given + given.T) / 2
