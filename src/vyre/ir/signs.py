"""Which floats are never less than zero, nor -0: squares, roots and sums of such.

A NaN may be among them, of either sign. Where the least of such floats is looked for, their bits
are in order as they stand; see `vyre.ir.fold`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import copysign

from vyre.ir.expr import Binary, BinaryOp, Expr, Fma, Lit, Select, Unary, UnaryOp, Var
from vyre.ir.loops import ACTS
from vyre.ir.node import Let, Node, Reduce, ReduceOp, Yield
from vyre.ir.walk import bodies, expressions, names_of, post_order, size_of

_KEEP = frozenset({BinaryOp.ADD, BinaryOp.MUL, BinaryOp.MIN, BinaryOp.MAX})
"""Of two floats that are never negative these make another."""

_SHORT = 64
"""Parts of an expression that is compared with another."""

_FOLDS = frozenset({ReduceOp.SUM, ReduceOp.PROD, ReduceOp.MIN})
"""The same of many; the greatest of nothing is minus infinity."""


def never_negative(reduction: Reduce) -> bool:
    """Whether no element of a reduction of floats is negative, by what its own rounds say."""
    if not reduction.dtype.is_float:
        return False
    times = Counter(names_of(reduction.body))
    names, found = set[str](), dict[int, bool]()
    for part in post_order(reduction.body):
        found[id(part)] = is_so = _is_positive(part, names, found)
        # A name that is given a value once has it wherever it stands behind.
        if is_so and isinstance(part, (Let, Reduce)) and times[part.name] == 1:
            names.add(part.name)
    return _yields(reduction.body, found)


def _is_positive(part: Expr | Node, names: set[str], found: Mapping[int, bool]) -> bool:
    """Whether a part is never negative, where the parts inside it are known.

    Parts of other types are not looked into: what a cast makes of them is never known.
    """
    match part:
        case Lit(dtype):
            return dtype.is_float and copysign(1.0, part.value) > 0
        case Var(name):
            return name in names
        case Unary(UnaryOp.ABS):
            return True
        case Unary(UnaryOp.SQRT, value) | Let(value=value):
            return found[id(value)]
        case Binary(BinaryOp.MUL, left, right) if _are_same(left, right):
            return True
        case Binary(op, left, right):
            return op in _KEEP and found[id(left)] and found[id(right)]
        case Fma(a, b, c):
            return found[id(c)] and (_are_same(a, b) or (found[id(a)] and found[id(b)]))
        case Select(_, true, false):
            return found[id(true)] and found[id(false)]
        case Reduce(op=op, body=body):
            return op in _FOLDS and _yields(body, found)
        case _:
            return False


def _are_same(one: Expr, other: Expr) -> bool:
    """Whether two expressions have one value, as far as a short look tells."""
    parts = size_of((one,)).parts
    acts = any(isinstance(part, ACTS) for part in expressions(one)) if parts <= _SHORT else True
    return not acts and one == other


def _yields(body: Sequence[Node], found: Mapping[int, bool]) -> bool:
    """Whether all that a round may yield is never negative."""
    ends = list(body[-1:])
    while ends:
        last = ends.pop()
        if isinstance(last, Yield) and not found[id(last.value)]:
            return False
        ends += [part[-1] for part in bodies(last) if part]
    return True
