"""Calls that reduce, as they are written: their generators, and what is refused in their place."""

from __future__ import annotations

import ast
from abc import ABC
from dataclasses import dataclass

import numpy as np

from vyre.errors import LanguageError
from vyre.ir.node import ReduceOp
from vyre.lang.ranges import Ranges

_COLLECTIONS = (ast.List, ast.Tuple, ast.Set, ast.Dict)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)
_OF_TWO = {
    ReduceOp.SUM: "a + b",
    ReduceOp.PROD: "a * b",
    ReduceOp.MIN: "min(a, b)",
    ReduceOp.MAX: "max(a, b)",
    ReduceOp.ANY: "a or b",
    ReduceOp.ALL: "a and b",
    ReduceOp.ARGMIN: "0 if a <= b else 1",
    ReduceOp.ARGMAX: "0 if a >= b else 1",
}
EXTREMES = (ReduceOp.MIN, ReduceOp.MAX)
"""What takes a `default`, for the least or the greatest of nothing at all."""


@dataclass(frozen=True, slots=True)
class GeneratorCall:
    """A call that reduces: as written, how its elements come together, and what they are."""

    node: ast.Call
    op: ReduceOp
    called: str  # as the author calls it
    element: ast.expr
    target: ast.expr
    over: ast.expr
    tests: tuple[ast.expr, ...]
    further: ast.expr | None  # where a sum starts, or what the least of nothing is


class Generators(Ranges, ABC):
    """Reads calls of reductions, and says of what is none how to write it."""

    def holds_elements(self, node: ast.Call) -> bool:
        """Whether a function of several values is called with one thing that holds them."""
        match node.args:
            case [ast.GeneratorExp(), *_]:
                return True
            case [only]:
                kinds = (*_COLLECTIONS, *_COMPREHENSIONS)
                return isinstance(only, kinds) or self.buffer(only) is not None
            case _:
                return False

    def reducing_call(self, node: ast.Call, op: ReduceOp) -> GeneratorCall:
        """The parts of a call that reduces, each of which has its place in the language."""
        called = self.text(node.func)
        further = self.further(node, op, called)
        if not node.args:
            raise self.error(
                node, f"{called}() of nothing", f"write {called}(x[k] for k in range(len(x)))"
            )
        generator = node.args[0]
        if not isinstance(generator, ast.GeneratorExp):
            raise self.no_generator(generator, op, called)
        clause = generator.generators[0]
        if len(generator.generators) > 1:
            nested = f"nest them: {called}({called}(x[i, j] for j in range(n)) for i in range(m))"
            flat = "count in one: for p in range(m * n), with p // n and p % n for the two"
            raise self.error(
                generator.generators[1].target,
                f"a second for in one {called}()",
                flat if op.finds else nested,
            )
        if clause.is_async:
            raise self.error(
                clause.target,
                "async for is not part of the kernel language",
                "write for k in range(...)",
            )
        self.check_target(clause)
        for part in ast.walk(generator):
            if isinstance(part, ast.NamedExpr):
                raise self.error(
                    part,
                    f"an assignment inside {called}() is not part of the kernel language",
                    "compute the element in a function under @vyre.function, and call that",
                )
        return GeneratorCall(
            node=node,
            op=op,
            called=f"{called}()",
            element=generator.elt,
            target=clause.target,
            over=clause.iter,
            tests=(*clause.ifs,),
            further=further,
        )

    def check_target(self, clause: ast.comprehension) -> None:
        """Refuse what is no name, and names for more than the one that a range counts with."""
        if self.range_in(clause.iter) is not None and not isinstance(clause.target, ast.Name):
            raise self.error(
                clause.target,
                f"a generator counts with one name, and {self.text(clause.target)} is not one",
                "write for k in range(...), and compute the others from k",
            )
        other = not_a_name(clause.target)
        if other is not None:
            raise self.error(
                other,
                f"{self.text(other)} is not a name that a generator can give values to",
                "write for v in ... or for a, b in ...",
            )

    def range_in(self, node: ast.expr) -> ast.Call | None:
        """The call of `range()` that a generator runs over, also from its end."""
        match node:
            case ast.Call(args=[inner], keywords=[]) if self.static(node.func) is reversed:
                is_range = isinstance(inner, ast.Call) and self.static(inner.func) is range
                return inner if isinstance(inner, ast.Call) and is_range else None
            case ast.Call() if self.static(node.func) is range:
                return node
            case _:
                return None

    def further(self, node: ast.Call, op: ReduceOp, called: str) -> ast.expr | None:
        """The start of a sum or the default of a least, where a call has one; all else is refused.

        NumPy's functions take other things behind the elements, and `math.prod` its start by name.
        """
        target = self.static(node.func)
        words = [(word.arg or "**", word.value) for word in node.keywords]
        given = [("", argument) for argument in node.args[1:]] + words
        if len(given) == 1 and not any(target is one for one in (np.sum, np.prod)):
            word, argument = given[0]
            takes = {
                ReduceOp.SUM: ("", "start"),
                ReduceOp.PROD: ("start",),
                **dict.fromkeys(EXTREMES, ("default",)),
            }
            if word in takes.get(op, ()):
                return argument
        for word, argument in given:
            text = "..." if self.text(argument) == "this" else self.text(argument)
            match word:
                case "key":
                    finds = (
                        "vyre.argmax" if op in (ReduceOp.MAX, ReduceOp.ARGMAX) else "vyre.argmin"
                    )
                    raise self.error(
                        argument,
                        f"{called}() compares its elements themselves, and takes no key",
                        f"write k = {finds}(key(k) for k in range(n)), and use k",
                    )
                case "":
                    fix = "remove it"
                    if op in EXTREMES:
                        fix = f"write {called}({text}, {called}(...))"
                    elif op is ReduceOp.PROD:
                        fix = f"write start={text}"
                    raise self.error(
                        argument,
                        f"{text} stands behind the elements of {called}()",
                        fix,
                    )
                case _:
                    raise self.error(
                        argument,
                        f"{called}() has no further parameter {word!r}",
                        f"write {called}(x[k] for k in range(len(x)))",
                    )
        return None

    def no_generator(self, given: ast.expr, op: ReduceOp, called: str) -> LanguageError:
        text, buffer = self.text(given), self.buffer(given)
        example = f"{called}(x[k] for k in range(len(x)))"
        if buffer is not None:
            return self.error(
                given,
                f"{called}() of {text}, which is a whole array",
                f"say which elements: {called}({elements_of(text, buffer.decl.rank)})",
            )
        if isinstance(given, _COMPREHENSIONS):
            return self.error(
                given,
                f"{called}() of a comprehension, which would be kept in memory",
                f"leave its brackets out: {example}",
            )
        if isinstance(given, _COLLECTIONS):
            kind = type(given).__name__.lower()
            return self.error(
                given, f"{called}() of a {kind}", f"write {_OF_TWO[op]} of its values, or {example}"
            )
        if isinstance(given, ast.Call) and self.static(given.func) is range:
            return self.error(
                given,
                f"{called}() takes a generator, and {text} is not one",
                f"write {called}(k for k in {'range(...)' if text == 'this' else text})",
            )
        match given:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Slice(lower, upper, None)):
                first = "" if lower is None else f"{self.text(lower)}, "
                last = f"len({name})" if upper is None else self.text(upper)
                example = f"{called}({name}[k] for k in range({first}{last}))"
            case _:
                pass
        return self.error(
            given, f"{called}() takes a generator, and {text} is not one", f"write {example}"
        )


def elements_of(array: str, rank: int) -> str:
    """The generator of an array's elements along its last axis."""
    others = "".join(f"{axis}, " for axis in "hij"[4 - rank :])
    size = f"len({array})" if rank == 1 else f"{array}.shape[{rank - 1}]"
    return f"{array}[{others}k] for k in range({size})"


def not_a_name(target: ast.expr) -> ast.expr | None:
    """The first part of a generator's target that no value can be given to."""
    match target:
        case ast.Name():
            return None
        case ast.Tuple(elts=[_, *_] as parts) | ast.List(elts=[_, *_] as parts):
            return next((other for part in parts if (other := not_a_name(part))), None)
        case _:
            return target
