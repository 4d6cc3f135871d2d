"""Operators on whole numbers, which wrap, and on bools."""

from __future__ import annotations

from collections.abc import Mapping

from vyre.emit.llvm.arithmetic.division import DIVISIONS, divide
from vyre.emit.llvm.arithmetic.instructions import Instructions
from vyre.emit.llvm.builder import scalar_type
from vyre.emit.llvm.values import Shape, Value
from vyre.ir.expr import BinaryOp, UnaryOp
from vyre.ir.types import int_range
from vyre.ir.typing import SHIFTS

_PLAIN: Mapping[BinaryOp, str] = {
    BinaryOp.ADD: "add",
    BinaryOp.WRAP_ADD: "add",
    BinaryOp.SUB: "sub",
    BinaryOp.WRAP_SUB: "sub",
    BinaryOp.MUL: "mul",
    BinaryOp.BIT_AND: "and",
    BinaryOp.BIT_OR: "or",
    BinaryOp.BIT_XOR: "xor",
    BinaryOp.AND: "and",
    BinaryOp.OR: "or",
}
_SATURATED = {BinaryOp.SAT_ADD: "add", BinaryOp.SAT_SUB: "sub"}


def binary(do: Instructions, op: BinaryOp, a: Value, b: Value) -> Value | None:
    """`a op b` of whole numbers or bools; None where there is no instruction for it."""
    moved = _moved(do, op, a, b)
    if moved is not None:
        return moved
    if op in _PLAIN:
        return do.plain(_PLAIN[op], a, b)
    if op in SHIFTS:
        return _shift(do, op, a, b)
    if op in DIVISIONS:
        return divide(do, op, a, b)
    return _other(do, op, a, b)


def _moved(do: Instructions, op: BinaryOp, a: Value, b: Value) -> Value | None:
    """Positions moved by one number for all lanes stay positions."""
    adds = op in (BinaryOp.ADD, BinaryOp.WRAP_ADD)
    takes = op in (BinaryOp.SUB, BinaryOp.WRAP_SUB)
    if not (adds or takes):
        return None
    shapes = a.shape, b.shape
    if shapes == (Shape.LINEAR, Shape.UNIFORM) or (
        adds and shapes == (Shape.UNIFORM, Shape.LINEAR)
    ):
        kind = scalar_type(a.dtype)
        text = f"{'add' if adds else 'sub'} {kind}"
        return do.b.map(a.dtype, Shape.LINEAR, lambda p, q: do.b.op(f"{text} {p}, {q}"), a, b)
    return None


def _shift(do: Instructions, op: BinaryOp, a: Value, b: Value) -> Value:
    dtype = a.dtype
    masked = do.plain("and", b, do.number(b.dtype, dtype.bits - 1))
    count = do.whole(masked, dtype)
    match op:
        case BinaryOp.SHL:
            return do.plain("shl", a, count)
        case BinaryOp.SHR:
            return do.plain("ashr" if dtype.is_signed else "lshr", a, count)
        case _:
            return do.intrinsic("fshl" if op is BinaryOp.ROT_L else "fshr", a, a, count)


def _other(do: Instructions, op: BinaryOp, a: Value, b: Value) -> Value | None:
    dtype = a.dtype
    sign = "s" if dtype.is_signed else "u"
    match op:
        case BinaryOp.MIN | BinaryOp.MAX:
            return do.intrinsic(f"{sign}{op.name.lower()}", a, b)
        case BinaryOp.ABS_DIFF:
            more = do.compare("sgt" if dtype.is_signed else "ugt", a, b)
            return do.select(more, do.plain("sub", a, b), do.plain("sub", b, a))
        case BinaryOp.SAT_ADD | BinaryOp.SAT_SUB:
            return do.intrinsic(f"{sign}{_SATURATED[op]}.sat", a, b)
        case BinaryOp.SAT_MUL:
            return _saturated_product(do, a, b)
        case BinaryOp.MUL_HIGH:
            return _product_high(do, a, b)
        case _:
            return None


def _product_high(do: Instructions, a: Value, b: Value) -> Value:
    """The upper half of the exact product."""
    builder, bits = do.b, a.dtype.bits
    shape, (x, y) = builder.alike(a, b)
    extend = "sext" if a.dtype.is_signed else "zext"
    kind = builder.type(a.dtype, shape)
    wide = f"i{2 * bits}" if shape is Shape.UNIFORM else builder.vector(f"i{2 * bits}")
    by = str(bits) if shape is Shape.UNIFORM else f"splat (i{2 * bits} {bits})"

    def make(p: str, q: str) -> str:
        left, right = (builder.op(f"{extend} {kind} {r} to {wide}") for r in (p, q))
        product = builder.op(f"mul {wide} {left}, {right}")
        upper = builder.op(f"lshr {wide} {product}, {by}")
        return builder.op(f"trunc {wide} {upper} to {kind}")

    return builder.map(a.dtype, shape, make, x, y)


def _saturated_product(do: Instructions, a: Value, b: Value) -> Value:
    dtype = a.dtype
    low, high = (do.number(dtype, end) for end in int_range(dtype))
    product, upper = do.plain("mul", a, b), _product_high(do, a, b)
    if dtype.is_unsigned:
        return do.select(do.compare("eq", upper, do.number(dtype, 0)), product, high)
    sign = do.plain("ashr", product, do.number(dtype, dtype.bits - 1))
    below = do.compare("slt", do.plain("xor", a, b), do.number(dtype, 0))
    end = do.select(below, low, high)
    return do.select(do.compare("eq", upper, sign), product, end)


def unary(do: Instructions, op: UnaryOp, a: Value) -> Value | None:
    """`op a` of a whole number or bool; None where there is no instruction for it."""
    dtype = a.dtype
    match op:
        case UnaryOp.BIT_NOT:
            return do.plain("xor", a, do.number(dtype, -1))
        case UnaryOp.NEGATE:
            return do.plain("sub", do.number(dtype, 0), a)
        case UnaryOp.POPCOUNT:
            return do.intrinsic("ctpop", a)
        case UnaryOp.CLZ:
            return do.intrinsic("ctlz", a, extra="false")
        case UnaryOp.CTZ:
            return do.intrinsic("cttz", a, extra="false")
        case UnaryOp.REVERSE_BITS:
            return do.intrinsic("bitreverse", a)
        case UnaryOp.ABS:
            return do.intrinsic("abs", a, extra="false") if dtype.is_signed else a
        case UnaryOp.SIGN:
            return _sign(do, a)
        case _:
            return None


def _sign(do: Instructions, a: Value) -> Value:
    zero = do.number(a.dtype, 0)
    up = do.compare("sgt" if a.dtype.is_signed else "ugt", a, zero)
    rest = zero
    if a.dtype.is_signed:
        down = do.compare("slt", a, zero)
        rest = do.select(down, do.number(a.dtype, -1), zero)
    return do.select(up, do.number(a.dtype, 1), rest)
