"""Quotients whose divisor many have in common: what depends on it alone is computed once.

With `r` the reciprocal of `b`, rounded to the nearest, `q = a * r` is at most 1.5 units away from
`a / b`. What is left over, `a - q * b`, times `r` and added to `q` in one fused step rounds to what
the quotient rounds to: scripts/check_quotient.py proves it for all mantissas. Exponents have to
leave room: below, what is left over might not be exact or the quotient no normal number; above, it
might be infinite. A compiler finds by itself what is the same for several quotients.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from vyre.emit.helpers import F32, Helpers
from vyre.emit.here import Here
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import (
    Alike,
    Binary,
    BinaryOp,
    Bitcast,
    BufDim,
    BufLen,
    Cast,
    Element,
    Expr,
    Fma,
    FromLane,
    Id,
    Lit,
    Load,
    Select,
    Subgroup,
    Unary,
    UnaryOp,
    Var,
)
from vyre.ir.loops import is_of_elements, rounds_of
from vyre.ir.node import Arrive, Barrier, Loop, Meet
from vyre.ir.walk import all_expressions, expressions, names_of, statements

LEAST, MOST = 2.0**-100, 2.0**100
"""Divisors between these have a reciprocal that is a normal number, and leave dividends room."""

_LASTING = (Lit, BufLen, BufDim, Id, Binary, Unary, Select, Cast, Bitcast, Fma)

Buffers = Mapping[str, BufferDecl]


def is_shared(quotient: Binary, here: Here, buffers: Buffers) -> bool:
    """Whether quotients have one divisor: in all rounds of a loop, or everywhere as a constant."""
    if isinstance(quotient.right, Lit):
        return True
    if here.lasting is None or _lasts(quotient.left, here, buffers):
        return False
    return _lasts(quotient.right, here, buffers)


def of_elements(loop: Loop, here: Here, buffers: Buffers) -> list[Binary]:
    """Of a loop over elements that an invocation keeps, their quotients by one that they share.

    All elements can be looked at before the loop, and one branch decides for all of them. Lanes
    that wait for each other in it all have to go one way, whatever their elements are.
    """
    if not isinstance(loop.start, Lit) or loop.start.value or not is_of_elements(loop):
        return []
    if _meets(loop):
        return []
    inside = here.counting(loop, loop.start.dtype)
    if inside.lasting is None:
        return []
    given = set(names_of(loop.body))

    def is_kept(expr: Expr) -> bool:
        match expr:
            case Element(Var(name), (Var(at),)) if name not in given and at == loop.var:
                held = here.scope[name]
                return held.element == F32 and prod(held.params) == rounds_of(loop)
            case _:
                return False

    return [
        part
        for part in dict.fromkeys(all_expressions(loop.body))
        if isinstance(part, Binary)
        and part.op is BinaryOp.DIV
        and is_kept(part.left)
        and _lasts(part.right, inside, buffers)
    ]


def _meets(loop: Loop) -> bool:
    """Whether lanes wait for each other in a loop."""
    waits = any(isinstance(node, (Arrive, Barrier, Meet)) for node in statements(loop.body))
    parts = all_expressions(loop.body)
    return waits or any(isinstance(part, (Alike, FromLane, Subgroup)) for part in parts)


def _lasts(expr: Expr, here: Here, buffers: Buffers) -> bool:
    """Whether it is the same in all rounds of the loop around."""

    def lasts(part: Expr) -> bool:
        match part:
            case Var(name):
                return here.lasting is not None and name in here.lasting
            case Load(buffer):
                return buffers[buffer].is_scalar_argument
            case _:
                return isinstance(part, _LASTING)

    return all(map(lasts, expressions(expr)))


def shared_quotient(helpers: Helpers) -> str:
    """The function for `a / b` where several have that `b`."""
    room, quick = leaves_room(helpers), quick_quotient(helpers)
    return helpers.define(
        "shared_quotient_f32",
        "f32",
        "f32 a, f32 b",
        f"if ({room}(a, b)) return {quick}(a, b);",
        f"return a == 0.0f && {room}(b, b) ? a * (1.0f / b) : a / b;",
    )


def quick_quotient(helpers: Helpers) -> str:
    """The function for `a / b` where exponents leave room."""
    fma = helpers.dialect.fma[F32]
    return helpers.define(
        "quick_quotient_f32",
        "f32",
        "f32 a, f32 b",
        "const f32 r = 1.0f / b, q = a * r;",
        f"return {fma}({fma}(-q, b, a), r, q);",
    )


def leaves_room(helpers: Helpers) -> str:
    """The function that tells of `a` and `b` whether their exponents do; of `b` itself, of any."""
    size = helpers.functions(F32)[UnaryOp.ABS]
    least, most = helpers.lit(F32, LEAST), helpers.lit(F32, MOST)
    below, above = helpers.lit(F32, 2.0**-124), helpers.lit(F32, 2.0**126)
    return helpers.define(
        "leaves_room_f32",
        "bool",
        "f32 a, f32 b",
        f"const f32 by = {size}(b), near = by * {below};",
        f"const bool usual = by >= {least} && by <= {most};",
        f"const f32 low = !usual ? {helpers.infinity(F32)} : near > {least} ? near : {least};",
        f"const f32 high = by < 1.0f ? by * {above} : {above};",
        f"return {size}(a) >= low && {size}(a) <= high;",
    )


def all_leave_room(
    helpers: Helpers, array: str, count: int, divisor: str, pad: str
) -> Iterator[str]:
    """Lines that bind `least` and `most` of an array's sizes, and whether there is `room` for all.

    What is no number is left out: its quotient is none either.
    """
    size = helpers.functions(F32)[UnaryOp.ABS]
    less, more = (helpers.extreme(op) for op in (BinaryOp.MIN, BinaryOp.MAX))
    room = leaves_room(helpers)
    yield f"{pad}f32 least = {helpers.infinity(F32)}, most = 0.0f;"
    yield f"{pad}#pragma unroll {count}"
    yield f"{pad}for (u32 at = 0u; at < {count}u; ++at) {{"
    yield f"{pad}    least = {less}(least, {size}({array}[at]));"
    yield f"{pad}    most = {more}(most, {size}({array}[at]));"
    yield f"{pad}}}"
    yield f"{pad}room = room && {room}(least, {divisor}) && {room}(most, {divisor});"
