"""What a kernel says while it runs: print, and assertions that fail."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass

from vyre.errors import LanguageError
from vyre.ir.expr import Expr, Lit, Unary, UnaryOp
from vyre.ir.node import If, Print, Trap
from vyre.ir.printing import why_not_shown
from vyre.ir.types import DataType
from vyre.lang.assignments import Assignments

_PLAIN_CONVERSIONS = (-1, ord("s"), ord("r"))
"""Of a number `!s` and `!r` show the same; `{x=}` asks for the latter."""


@dataclass(frozen=True, slots=True)
class _Shown:
    """A value that is printed, and by which format."""

    node: ast.expr
    form: str = ""


class Speech(Assignments):
    """Turns print and assert into IR."""

    def print_(self, node: ast.Call) -> None:
        words = {word.arg: word.value for word in node.keywords if word.arg is not None}
        between, end = self.print_word(words, "sep", " "), self.print_word(words, "end", "\n")
        for word in node.keywords:
            if word.arg not in ("sep", "end"):
                name = "**" if word.arg is None else f"{word.arg}="
                raise self.error(
                    word.value,
                    f"{name} in print(), which takes values, sep= and end= in a kernel",
                    "leave it out; lines go to sys.stdout when the call has run",
                )
        parts: list[str | _Shown] = []
        for position, argument in enumerate(node.args):
            parts += ([between] if position else []) + self.printed(argument)
        self.out.append(self.line([*parts, end]))
        self.effect(node, "print()")

    def print_word(self, words: dict[str, ast.expr], name: str, usual: str) -> str:
        """`sep=` or `end=` of a print, which is a constant."""
        node = words.get(name)
        if node is None or (isinstance(node, ast.Constant) and node.value is None):
            return usual
        text = self.constant_text(node)
        if text is None:
            raise self.error(
                node,
                f"{name}= of print() is {self.text(node)}, which is not a constant text",
                f'write {name}=", " or such',
            )
        return text

    def constant_text(self, node: ast.expr) -> str | None:
        """A text that is known while translating: written here, or named from outside."""
        found = node.value if isinstance(node, ast.Constant) else self.static(node)
        return found if isinstance(found, str) else None

    def printed(self, node: ast.expr) -> list[str | _Shown]:
        """The texts and values of one argument of a print."""
        text = self.constant_text(node)
        if text is not None:
            return [text]
        if not isinstance(node, ast.JoinedStr):
            self.refuse_made_text(node)
            return [_Shown(node)]
        if sys.version_info < (3, 12):  # which does not say where in the text a value stands
            for part in ast.walk(node):
                if part is not node and hasattr(part, "lineno"):
                    ast.copy_location(part, node)
                if part is not node and isinstance(part, ast.expr):
                    self.frame.source.spelled[part] = ast.unparse(part)
        parts: list[str | _Shown] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                parts += self.formatted(part)
            else:
                assert isinstance(part, ast.Constant), "an f-string is texts and values"
                parts.append(str(part.value))
        return parts

    def refuse_made_text(self, node: ast.expr) -> None:
        """A text that Python would make of values: a kernel has the f-string for that."""
        fix = 'write an f-string, for example print(f"{x:.3f} at {i}")'
        match node:
            case ast.BinOp(left=part, op=ast.Mod() | ast.Add()) if self.is_text(part):
                pass
            case ast.BinOp(right=part, op=ast.Add()) if self.is_text(part):
                pass
            case ast.Call(func=ast.Attribute(value=part)) if self.is_text(part):
                pass
            case ast.Call(func=function) if self.static(function) in (str, repr, format):
                pass
            case ast.IfExp(body=one, orelse=other) if self.is_text(one) or self.is_text(other):
                fix = "write if and else, with a print in each"
            case _:
                return
        raise self.error(node, f"{self.text(node)} is a text that a kernel does not make", fix)

    def is_text(self, node: ast.expr) -> bool:
        return isinstance(node, ast.JoinedStr) or self.constant_text(node) is not None

    def formatted(self, node: ast.FormattedValue) -> list[str | _Shown]:
        """`{value:format}` of an f-string."""
        if node.conversion not in _PLAIN_CONVERSIONS:
            raise self.error(
                node.value,
                f"!{chr(node.conversion)} is for texts, and this is a number",
                "leave it out",
            )
        form = ""
        spec = node.format_spec.values if isinstance(node.format_spec, ast.JoinedStr) else []
        for part in spec:
            if not isinstance(part, ast.Constant):
                raise self.error(
                    node.value,
                    "a format with values in it is not part of the kernel language",
                    "write the format out, for example {x:.3f}",
                )
            form += str(part.value)
        text = self.constant_text(node.value)
        if text is None:
            return [_Shown(node.value, form)]
        try:
            return [format(text, form)]
        except ValueError as error:
            raise self.bad_format(node.value, form, "str", str(error)) from None

    def bad_format(self, node: ast.expr, form: str, kind: str, why: str) -> LanguageError:
        return self.error(
            node,
            f"{self.text(node)} is {kind}, which format {form!r} does not show: {why}",
            "use a format of Python's for such numbers, for example {x:.3f} or {n:4d}",
        )

    def line(self, parts: list[str | _Shown]) -> Print:
        """The statement that prints `parts`, whose values are computed in order."""
        wanted = [part for part in parts if isinstance(part, _Shown)]
        values = iter(self.values(*(part.node for part in wanted)))
        texts, exprs, dtypes, formats = [""], list[Expr](), list[DataType](), list[str]()
        for part in parts:
            if isinstance(part, str):
                texts[-1] += part
                continue
            value = next(values)
            dtype = value.default
            why = why_not_shown(dtype, part.form)
            if why is not None:
                raise self.bad_format(part.node, part.form, str(dtype), why)
            if value.constant is not None:
                number = value.constant
                texts[-1] += format(number, part.form) if part.form else str(number)
                continue
            expr, dtype = self.settle(value)
            exprs.append(expr)
            dtypes.append(dtype)
            formats.append(part.form)
            texts.append("")
        return Print(tuple(texts), tuple(exprs), tuple(dtypes), tuple(formats))

    def assertion(self, node: ast.Assert) -> None:
        text = self.assert_text(node)
        test = self.expression(node.test)
        self.check_bool(test)
        if test.constant is True:
            return
        number = Lit.of(DataType.U32, self.asserts)
        self.asserts += 1
        stop = self.noted(Trap(number, text), node.test)
        if test.constant is False:
            self.out.append(stop)
        else:
            self.out.append(If(Unary(UnaryOp.LOGICAL_NOT, test.expr), (stop,)))
        self.effect(node, "assert")

    def assert_text(self, node: ast.Assert) -> str:
        """What the error says: the text beside the condition, or the condition as written."""
        if node.msg is None:
            return ""
        text = self.constant_text(node.msg)
        if isinstance(node.msg, ast.JoinedStr):
            parts = self.printed(node.msg)
            if not any(isinstance(part, _Shown) for part in parts):
                text = "".join(str(part) for part in parts)
        if text is None:
            raise self.error(
                node.msg,
                f"the text of an assertion is {self.text(node.msg)}, which is not a constant text",
                "write a plain text, and print the values in an if before it",
            )
        return text
