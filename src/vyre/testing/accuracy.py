"""How far functions are from their exact values, in units of the last place."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vyre.backend import reference
from vyre.backend.base import Unbuilt
from vyre.ir import build as ir
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import Binary, BinaryOp, Expr, Unary, UnaryOp
from vyre.ir.program import Program
from vyre.ir.storage import STORAGE
from vyre.ir.types import DataType
from vyre.model import Code
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.launcher import words_of

Array = NDArray[Any]
Op = UnaryOp | BinaryOp


def _cube_root(x: Array) -> Array:
    """NumPy's, one step of Newton's nearer: where it asks glibc, that is up to 4 units away."""
    near = np.cbrt(x)
    wide, exact = np.asarray(near, np.longdouble), np.asarray(x, np.longdouble)
    with np.errstate(all="ignore"):
        nearer = wide - (wide * wide * wide - exact) / (3 * wide * wide)
    return np.where(np.isfinite(nearer), nearer, wide).astype(near.dtype)


DOUBLE: Mapping[Op, Callable[..., Array]] = {
    UnaryOp.EXP: np.exp,
    UnaryOp.EXP2: np.exp2,
    UnaryOp.EXPM1: np.expm1,
    UnaryOp.LOG: np.log,
    UnaryOp.LOG2: np.log2,
    UnaryOp.LOG10: np.log10,
    UnaryOp.LOG1P: np.log1p,
    UnaryOp.SIN: np.sin,
    UnaryOp.COS: np.cos,
    UnaryOp.TAN: np.tan,
    UnaryOp.ASIN: np.arcsin,
    UnaryOp.ACOS: np.arccos,
    UnaryOp.ATAN: np.arctan,
    UnaryOp.SINH: np.sinh,
    UnaryOp.COSH: np.cosh,
    UnaryOp.TANH: np.tanh,
    UnaryOp.ASINH: np.arcsinh,
    UnaryOp.ACOSH: np.arccosh,
    UnaryOp.ATANH: np.arctanh,
    UnaryOp.CBRT: _cube_root,
    UnaryOp.ERF: np.vectorize(math.erf, otypes=[np.float64]),
    UnaryOp.ERFC: np.vectorize(math.erfc, otypes=[np.float64]),
    BinaryOp.POW: np.float_power,
    BinaryOp.ATAN2: np.arctan2,
    BinaryOp.HYPOT: np.hypot,
}
"""The functions in f64, from elsewhere: near enough to exact to judge f32 by."""


_SPANS: Mapping[Op, tuple[float, float]] = {
    UnaryOp.EXP: (-104.0, 89.0),
    UnaryOp.EXP2: (-150.0, 128.0),
    UnaryOp.EXPM1: (-18.0, 89.0),
    UnaryOp.SINH: (-90.0, 90.0),
    UnaryOp.COSH: (-90.0, 90.0),
    UnaryOp.TANH: (-10.0, 10.0),
    UnaryOp.LOG: (0.0, 4.0),
    UnaryOp.LOG2: (0.0, 4.0),
    UnaryOp.LOG10: (0.0, 4.0),
    UnaryOp.LOG1P: (-1.0, 4.0),
    UnaryOp.ASIN: (-1.0, 1.0),
    UnaryOp.ACOS: (-1.0, 1.0),
    UnaryOp.ATANH: (-1.0, 1.0),
    UnaryOp.ACOSH: (1.0, 30.0),
    UnaryOp.ERF: (-4.0, 4.0),
    UnaryOp.ERFC: (-4.0, 10.1),
    BinaryOp.POW: (0.0, 8.0),
}
"""Where f32 functions are not trivial: from here a third of the arguments is drawn."""


def arguments(op: Op, dtype: DataType, count: int, rng: np.random.Generator) -> tuple[Array, ...]:
    """Arguments for a function: any bits, evenly spread ones, and some near to 1.

    Half of the exponents of powers are such that the result is in range.
    """
    first = _drawn(op, dtype, count, rng)
    if isinstance(op, UnaryOp):
        return (first,)
    second = _drawn(op, dtype, count, rng)
    rng.shuffle(second)
    if op is BinaryOp.POW:
        bits = np.finfo(first.dtype).maxexp
        with np.errstate(all="ignore"):
            fitting = rng.uniform(-1.2 * bits, bits, first.size) / np.log2(np.abs(first))
        chosen = (np.abs(fitting) < 1e30) & (rng.random(first.size) < 0.5)
        second[chosen] = fitting[chosen]
    return first, second


def _drawn(op: Op, dtype: DataType, count: int, rng: np.random.Generator) -> Array:
    kind = STORAGE[dtype]
    low, high = _SPANS.get(op, (-16.0, 16.0))
    if dtype == DataType.F64 and high > 80:  # f64 has eight times the range
        low, high = 8.0 * low, 8.0 * high
    near_one = 1.0 + np.exp(rng.uniform(-36, 0, count // 3)) * rng.choice((-1.0, 1.0), count // 3)
    parts = (
        rng.integers(0, 1 << dtype.bits, count // 3, dtype=f"u{kind.itemsize}").view(kind),
        rng.uniform(low, high, count // 3).astype(kind),
        near_one.astype(kind),
    )
    return np.concatenate(parts)


def errors(found: Array, exact: Array) -> Array:
    """The distance of f32 or f64 values from f64 ones, in units of the last place of `found`.

    It is infinite where one is NaN or infinite and the other not, or where zeros differ in sign.
    A result that is too large for the type counts as the power of two that it overflows to.
    """
    ends = np.finfo(found.dtype)
    power = np.frexp(np.where(np.isfinite(exact), exact, 1.0))[1] - (ends.nmant + 1)
    least = ends.minexp - ends.nmant
    unit = np.ldexp(1.0, np.clip(power, least, ends.maxexp - (ends.nmant + 1)))
    with np.errstate(all="ignore"):
        nearest = exact.astype(found.dtype)
        beyond = np.copysign(np.ldexp(1.0, ends.maxexp), found)
        value = np.where(np.isinf(found), beyond, found.astype(np.float64))
        away = np.abs(value - exact) / unit
    same = (found == nearest) & (np.signbit(found) == np.signbit(nearest))
    same |= np.isnan(found) & np.isnan(nearest)
    signs = (found == 0) & (nearest == 0) & (np.signbit(found) != np.signbit(nearest))
    away = np.where(np.isnan(away) | signs | np.isinf(exact), np.inf, away)
    special = (nearest == 0) | ~np.isfinite(nearest)
    return np.where(same & special, 0.0, away)


def program_of(op: Op, dtype: DataType) -> Program:
    """A kernel that stores a function of each element."""
    names = ("x",) if isinstance(op, UnaryOp) else ("x", "y")
    loads = [ir.load(name, ir.gid()) for name in names]
    value: Expr = Unary(op, loads[0]) if isinstance(op, UnaryOp) else Binary(op, *loads)
    buffers = [BufferDecl.read(name, place, dtype) for place, name in enumerate(names)]
    buffers.append(BufferDecl.write("out", len(names), dtype))
    return Program.wrapped(buffers, (64, 1, 1), [ir.store("out", ir.gid(), value)])


def evaluate(op: Op, dtype: DataType, *arguments: Array, device: Device | None = None) -> Array:
    """A function of every element on a device, or as the reference runs it."""
    program = program_of(op, dtype)
    out = np.zeros(arguments[0].size, STORAGE[dtype])
    arrays = dict(zip(("x", "y"), arguments, strict=False)) | {"out": out}
    extent = (out.size, 1, 1)
    if device is None:
        reference.run(program, arrays, extent)
        return out
    (binary,) = device.binaries([(program, Code())])
    assert not isinstance(binary, Unbuilt), binary
    words = words_of(binary.layout, extent, {name: a.shape for name, a in arrays.items()})
    device.run(binary, extent, program.workgroup_size, arrays, program, words)
    return out


def judging_program(op: UnaryOp) -> Program:
    """A kernel that stores how far a function of each f32 is from its own f64 form, in ulp.

    Invocation i has the f32 whose pattern is `first + i`. As in `errors`, where one side is NaN or
    zeros differ in sign it is infinitely far. The f64 form is another polynomial, right to a unit
    of its own last place: 2**-29 of an f32's.
    """
    single, double, bits = DataType.F32, DataType.F64, DataType.U64
    x, y, exact = ir.var("x"), ir.var("y"), ir.var("exact")
    nearest, found, unit, away = (ir.var(n) for n in ("nearest", "found", "unit", "away"))

    def size(value: Expr) -> Expr:
        return ir.unary(UnaryOp.ABS, value)

    def signbit(value: Expr) -> Expr:
        return ir.bitcast(DataType.I32, value) < ir.i32(0)

    beyond = ir.binary(BinaryOp.COPYSIGN, ir.f64(2.0**128), ir.cast(double, y))
    exponent = ir.bitcast(bits, size(exact)) >> ir.lit(bits, 52)
    held = ir.binary(BinaryOp.MIN, exponent, ir.lit(bits, 1023 + 127))
    least = ir.binary(BinaryOp.MAX, held, ir.lit(bits, 1023 - 126))
    same_nan = ir.binary(BinaryOp.AND, is_nan(y), is_nan(exact))
    one_nan = ir.binary(BinaryOp.OR, is_nan(y), is_nan(exact))
    zeros = ir.binary(BinaryOp.AND, y.eq(ir.f32(0.0)), nearest.eq(ir.f32(0.0)))
    apart = ir.binary(BinaryOp.NE, signbit(y), signbit(nearest))
    odd = ir.binary(BinaryOp.OR, one_nan, ir.binary(BinaryOp.AND, zeros, apart))
    far = ir.select(odd, ir.f64(float("inf")), away)
    same_inf = ir.binary(BinaryOp.AND, ir.unary(UnaryOp.IS_INF, y), y.eq(nearest))
    agree = ir.binary(BinaryOp.OR, same_nan, same_inf)
    body = [
        ir.let("x", ir.bitcast(single, ir.load("first", 0) + ir.gid())),
        ir.let("y", ir.unary(op, x)),
        ir.let("exact", ir.unary(op, ir.cast(double, x))),
        ir.let("nearest", ir.cast(single, exact)),
        ir.let("found", ir.select(ir.unary(UnaryOp.IS_INF, y), beyond, ir.cast(double, y))),
        ir.let("unit", ir.bitcast(double, (least - ir.lit(bits, 23)) << ir.lit(bits, 52))),
        ir.let("away", size(found - exact) / unit),
        ir.store("out", ir.gid(), ir.cast(single, ir.select(agree, ir.f64(0.0), far))),
    ]
    buffers = [
        BufferDecl.write("out", 0, single),
        BufferDecl.uniform("first", 1, DataType.U32).with_count(1),
    ]
    return Program.wrapped(buffers, (64, 1, 1), body)


def is_nan(value: Expr) -> Expr:
    """Whether a value is NaN."""
    return ir.unary(UnaryOp.IS_NAN, value)


def judged(op: UnaryOp, first: int, count: int, device: Device) -> Array:
    """How far a function of so many f32, from a pattern on, is from its own f64 form, in ulp."""
    program = judging_program(op)
    out = np.empty(count, np.float32)
    arrays = {"out": out, "first": np.array([first], np.uint32)}
    simd = device.info.simd
    code = Code(vector=4 * simd.lanes if simd else 1)
    (binary,) = device.binaries([(program, code)])
    assert not isinstance(binary, Unbuilt), binary
    extent, tile = (count, 1, 1), (1 << 13, 1, 1) if simd else program.workgroup_size
    grid = (-(-count // tile[0]), 1, 1)
    words = words_of(binary.layout, extent, {"out": out.shape, "first": (1,)})
    device.run(binary, grid, tile, arrays, program, words)
    return out
