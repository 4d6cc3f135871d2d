"""Where fast_math fuses a product with the sum around it, by what the source says alone."""

from __future__ import annotations

from vyre.ir.expr import Binary, BinaryOp, Expr, Fma, Lit, Unary, UnaryOp


def fused(op: BinaryOp, left: Expr, right: Expr, *, is_left: bool) -> Expr:
    """`left + right` or `left - right` of floats, one of which is a product, rounded once.

    Args:
        op: `ADD` or `SUB`.
        left: What stands before the sign.
        right: What stands behind it.
        is_left: Whether the product that fuses is the left one.
    """
    found = factors(left if is_left else right)
    if found is None:  # a name of no type yet stands there; the next pass knows it
        return Binary(op, left, right)
    a, b, negative = found
    minus = op is BinaryOp.SUB
    if is_left:
        return Fma(negated(a) if negative else a, b, negated(right) if minus else right)
    return Fma(negated(a) if negative != minus else a, b, left)


def factors(expr: Expr) -> tuple[Expr, Expr, bool] | None:
    """The two sides of a product's outermost `*`, and whether a minus sign stands before it."""
    negative = False
    while isinstance(expr, Unary) and expr.op is UnaryOp.NEGATE:
        negative, expr = not negative, expr.operand
    if isinstance(expr, Binary) and expr.op is BinaryOp.MUL:
        return expr.left, expr.right, negative
    return None


def negated(expr: Expr) -> Expr:
    """`-expr` of a float, which is exact; a literal and a second sign are not written out."""
    match expr:
        case Lit(dtype):
            return Lit.of(dtype, -expr.value)
        case Unary(UnaryOp.NEGATE, operand):
            return operand
        case _:
            return Unary(UnaryOp.NEGATE, expr)
