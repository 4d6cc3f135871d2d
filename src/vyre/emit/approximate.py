"""Functions of f32 that fast_math kernels call: a device's own instructions, each always the same.

What is composed here is composed of those and of exact operations, so that it is as fixed as they
are. Functions that a device has no instruction for stay what they are in other kernels.
"""

from __future__ import annotations

from math import e, inf, log2, log10

from vyre.emit.helpers import F32, Helpers
from vyre.ir.expr import Binary, BinaryOp, Expr, Fma, Lit, Unary, UnaryOp, bits_float, float_bits
from vyre.ir.types import DataType

_LEAST_NORMAL = 2.0**-126
_COMPOSED = frozenset(
    (UnaryOp.EXP, UnaryOp.LOG, UnaryOp.LOG10, UnaryOp.TAN, BinaryOp.POW)
)  # of EXP2, LOG2, SIN, COS and DIV


def approximate(helpers: Helpers, op: UnaryOp | BinaryOp, dtype: DataType) -> str | None:
    """The approximate function for `op`; None where it stays exact."""
    known = helpers.dialect.approximate
    if dtype != F32 or not known:
        return None
    if op in known:
        return _instruction(helpers, op)
    return _composed(helpers, op) if op in _COMPOSED else None


def normal(helpers: Helpers, op: UnaryOp | BinaryOp, operand: Expr) -> str | None:
    """The instruction for arguments that are normal numbers, where this one is proved to be.

    It is the same one without a way for subnormal numbers, and gives the same bits.
    """
    known = helpers.dialect.approximate_normal
    if op not in known or not _is_normal(operand):
        return None
    return _instruction(helpers, op, known[op], f"{_name(op)}_normal")


def _is_normal(expr: Expr) -> bool:
    """Whether a number is at least the least normal one, or none at all."""
    match expr:
        case Lit(value=value):
            return float(value) >= _LEAST_NORMAL
        case Binary(BinaryOp.ADD, left, right):
            some = _is_normal(left) or _is_normal(right)
            return some and _is_positive(left) and _is_positive(right)
        case Fma(a, b, c):
            return a == b and _is_normal(c)
        case _:
            return False


def _is_positive(expr: Expr) -> bool:
    """Whether a number is at least 0, or none at all."""
    match expr:
        case Lit(value=value):
            return float(value) >= 0.0
        case Unary(UnaryOp.ABS):
            return True
        case Binary(BinaryOp.MUL, left, right):
            return left == right
        case Binary(BinaryOp.ADD, left, right):
            return _is_positive(left) and _is_positive(right)
        case Fma(a, b, c):
            return a == b and _is_positive(c)
        case _:
            return False


def quicker_quotient(quotient: Binary) -> Binary | Unary:
    """A quotient in which one side is a literal, as what costs less, by the program alone.

    The product with the inverse of a literal is within 1.5 units in the last place, and exact where
    that is a power of 2. It has to be a normal number.
    """
    match quotient:
        case Binary(left=Lit() as one, right=divisor) if one.dtype == F32 and one.value == 1.0:
            return Unary(UnaryOp.RECIPROCAL, divisor)
        case Binary(left=dividend, right=Lit() as divisor) if divisor.dtype == F32:
            value = float(divisor.value)
            inverse = bits_float(F32, float_bits(F32, 1.0 / value)) if value else inf
            if _LEAST_NORMAL <= abs(inverse) < inf:
                return Binary(BinaryOp.MUL, dividend, Lit.of(F32, inverse))
    return quotient


def _name(op: UnaryOp | BinaryOp) -> str:
    return f"fast_{op.name.lower()}_f32"


def _instruction(
    helpers: Helpers, op: UnaryOp | BinaryOp, instruction: str = "", name: str = ""
) -> str:
    """An instruction of the device's own for `op`."""
    return helpers.instruction(
        name or _name(op), op, instruction or helpers.dialect.approximate[op]
    )


def _composed(helpers: Helpers, op: UnaryOp | BinaryOp) -> str:
    name, lit = _name(op), helpers.lit
    match op:
        case UnaryOp.EXP:
            power = _instruction(helpers, UnaryOp.EXP2)
            return helpers.define(name, "f32", "f32 a", f"return {power}(a * {lit(F32, log2(e))});")
        case UnaryOp.LOG | UnaryOp.LOG10:
            root = _instruction(helpers, UnaryOp.LOG2)
            factor = lit(F32, 1 / log2(e) if op is UnaryOp.LOG else log10(2))
            return helpers.define(name, "f32", "f32 a", f"return {root}(a) * {factor};")
        case UnaryOp.TAN:
            sine, cosine = (_instruction(helpers, one) for one in (UnaryOp.SIN, UnaryOp.COS))
            divide = _instruction(helpers, BinaryOp.DIV)
            return helpers.define(name, "f32", "f32 a", f"return {divide}({sine}(a), {cosine}(a));")
        case _:
            return _power(helpers, name)


def _power(helpers: Helpers, name: str) -> str:
    """`a` to the power of `b`, with the results that IEEE 754 states for what has no logarithm."""
    power, root = (_instruction(helpers, op) for op in (UnaryOp.EXP2, UnaryOp.LOG2))
    functions = helpers.functions(F32)
    size, whole = functions[UnaryOp.ABS], functions[UnaryOp.TRUNC]
    negative = helpers.is_negative(F32, "a")
    nan = f"{helpers.dialect.bits_to_float[F32]}(0x7fc00000u)"
    return helpers.define(
        name,
        "f32",
        "f32 a, f32 b",
        f"const f32 m = {size}(a);",
        f"const f32 p = m == 1.0f || b == 0.0f ? 1.0f : {power}(b * {root}(m));",
        f"if (!({negative})) return p;",
        f"if ({whole}(b) != b) return a < 0.0f && m != {helpers.infinity(F32)} ? {nan} : p;",
        f"return {whole}(b * 0.5f) != b * 0.5f ? -p : p;",
    )
