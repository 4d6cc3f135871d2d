"""Calls that reduce, as they are written: their generators, and what is refused in their place."""

from __future__ import annotations

import ast
from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vyre.errors import LanguageError
from vyre.ir.node import ReduceOp
from vyre.ir.types import DataType
from vyre.lang.expressions import chain_of
from vyre.lang.ranges import Ranges
from vyre.lang.scopes import Held
from vyre.lang.tables import Table
from vyre.lang.values import is_narrow

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
                return isinstance(only, (*_COLLECTIONS, *_COMPREHENSIONS)) or self.is_part(only)
            case _:
                return False

    def is_part(self, node: ast.expr) -> bool:
        """Whether this is an array or a part of one, not an element."""
        named, indices = chain_of(node)
        held = self.held(named) or self.table(named)
        if held is None:
            return False
        return len(indices) < held.rank or any(isinstance(one, ast.Slice) for one in indices)

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
        takes = {
            ReduceOp.SUM: ("", "start"),
            ReduceOp.PROD: ("start",),
            **dict.fromkeys(EXTREMES, ("default",)),
        }.get(op, ())
        if any(self.static(node.func) is one for one in (np.sum, np.prod)):
            takes = ()
        found: ast.expr | None = None
        words = [(word.arg or "**", word.value) for word in node.keywords]
        for word, argument in [("", argument) for argument in node.args[1:]] + words:
            if word in takes and found is None:
                found = argument
                continue
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
        return found

    def no_generator(self, given: ast.expr, op: ReduceOp, called: str) -> LanguageError:
        text = self.text(given)
        example = f"{called}(x[k] for k in range(len(x)))"
        if isinstance(given, _COMPREHENSIONS):
            return self.error(
                given,
                f"{called}() of a comprehension, which would be kept in memory",
                f"leave its brackets out: {example}",
            )
        if isinstance(given, (ast.Tuple, ast.List)) and not op.finds and text != "this":
            tests = all(isinstance(one, (ast.Compare, ast.BoolOp)) for one in given.elts)
            each = "v != 0" if op in (ReduceOp.ANY, ReduceOp.ALL) and not tests else "v"
            return self.error(
                given,
                f"{called}() of a {type(given).__name__.lower()}",
                f"write {called}({each} for v in {text}), or {_OF_TWO[op]} of its values",
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
        if self.is_part(given):
            named, indices = chain_of(given)
            held = self.held(named) or self.table(named)
            assert held is not None, "it is a part of one"
            part = "which is a part of an array" if indices else "which is a whole array"
            return self.error(
                given,
                f"{called}() of {text}, {part}",
                f"say which elements: {self.elements(called, op, self.text(named), held, indices)}",
            )
        match given:
            case ast.Attribute(value=base, attr="shape") if self.held(base) is not None:
                example = f"{called}(n for n in {text})"
        return self.error(
            given, f"{called}() takes a generator, and {text} is not one", f"write {example}"
        )

    def elements(
        self, called: str, op: ReduceOp, array: str, held: Held, indices: Sequence[ast.expr] = ()
    ) -> str:
        """The call that reduces an array, or the part of it that is indexed so."""
        element, ranges = self.counted(array, held, indices)
        if op in (ReduceOp.ANY, ReduceOp.ALL) and held.element != DataType.BOOL:
            element += " != 0"
        elif held.element is not None and is_narrow(held.element):
            element = f"{DataType.I32 if held.element.is_signed else DataType.U32}({element})"
        # A place along several axes is one along the last, for each of the others.
        for letter, over in [*reversed(ranges)][: 1 if op.finds else None]:
            element = f"{called}({element} for {letter} in {over})"
        return element

    def counted(
        self, array: str, held: Held, indices: Sequence[ast.expr]
    ) -> tuple[str, list[tuple[str, str]]]:
        """An element of a part of an array, and what its places count, outermost first."""
        parts = (part for one in indices for part in ast.walk(one))
        used = {array, *(part.id for part in parts if isinstance(part, ast.Name))}
        letters = [letter for letter in "kjihmnpqrst" if letter not in used]
        places, ranges = list[str](), list[tuple[str, str]]()
        free = sum(
            axis >= len(indices) or isinstance(indices[axis], ast.Slice)
            for axis in range(held.rank)
        )
        for axis in range(held.rank):
            index = indices[axis] if axis < len(indices) else ast.Slice()
            if isinstance(index, ast.Slice):
                free -= 1
                places.append(letters[free])
                ranges.append((letters[free], self.slice_range(array, held, axis, index)))
            else:
                places.append(self.short_text(index))
        return f"{array}[{', '.join(places)}]", ranges

    def instead_of_part(self, node: ast.expr) -> str:
        """How a loop runs over an array, or over a part of one."""
        named, indices = chain_of(node)
        held = self.held(named) or self.table(named)
        assert held is not None, "it is a part of one"
        element, ranges = self.counted(self.text(named), held, indices)
        fors = [f"for {letter} in {over}" for letter, over in reversed(ranges)]
        return f"write {', in one '.join(fors)}, and {element}"

    def slice_range(self, array: str, held: Held, axis: int, index: ast.Slice) -> str:
        """What `a:b:c` counts along an axis, by Python's rules."""
        size = f"len({array})" if held.rank == 1 else f"{array}.shape[{axis}]"
        if isinstance(held, Table) and axis > 0:
            size = str(held.shape[axis])  # a tuple of tuples has no shape
        elif isinstance(held, Table):
            size = f"len({array})"

        def bound(node: ast.expr) -> str:
            match node:
                case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)):
                    return f"vyre.sat_sub({size}, {number})"
                case _:
                    return self.short_text(node)

        match index:
            case ast.Slice(None, None, ast.UnaryOp(ast.USub(), ast.Constant(value=1))):
                return f"reversed(range({size}))"
            case ast.Slice(step=ast.UnaryOp()):
                return "range(start, stop, step)"
            case _:
                pass
        first = "" if index.lower is None else f"{bound(index.lower)}, "
        last = size if index.upper is None else bound(index.upper)
        if index.upper is not None and not isinstance(index.upper, ast.UnaryOp):
            last = f"min({last}, {size})"  # beyond the end a load gives 0, and Python nothing
        if index.step is None:
            return f"range({first}{last})"
        return f"range({first or '0, '}{last}, {self.short_text(index.step)})"

    def short_text(self, node: ast.expr) -> str:
        text = self.text(node)
        return "..." if text == "this" else text


def not_a_name(target: ast.expr) -> ast.expr | None:
    """The first part of a generator's target that no value can be given to."""
    match target:
        case ast.Name():
            return None
        case ast.Tuple(elts=[_, *_] as parts) | ast.List(elts=[_, *_] as parts):
            return next((other for part in parts if (other := not_a_name(part))), None)
        case _:
            return target
