"""Statements that leave early, a function or a round of a loop, rewritten to have one way out."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

RESULT, RETURNED = "return", "return from"
"""The variables that hold a function's result, and whether it has one yet.

No name of an author's can be a keyword, or two words.
"""

BROKEN, CONTINUED = "break", "continue"
"""Whether a loop that is spelled out was left, and whether one of its rounds was."""


def result_name(place: tuple[int, ...]) -> str:
    """The variable for one value of a function's result; they count from 1 in messages."""
    return " ".join((RESULT, *(str(number + 1) for number in place)))


class Exits(ABC):
    """A kind of statement that leaves, and what stands in its place."""

    flag: str  # the variable that says that one was reached

    @abstractmethod
    def is_in(self, statement: ast.stmt) -> bool:
        """Whether such a statement is, or stands in, `statement`."""

    @abstractmethod
    def is_one(self, statement: ast.stmt) -> bool: ...

    @abstractmethod
    def instead(self, statement: ast.stmt, *, remembering: bool) -> list[ast.stmt]: ...

    def always(self, body: Sequence[ast.stmt]) -> bool:
        """Whether every path through `body` leaves."""
        return any(
            self.is_one(statement)
            or isinstance(statement, ast.Return)
            or (
                isinstance(statement, ast.If)
                and self.always(statement.body)
                and self.always(statement.orelse)
            )
            or (isinstance(statement, ast.While) and _is_endless(statement))
            for statement in body
        )


class _Returns(Exits):
    """Returns of a function, which leave the loops around them, too."""

    flag = RETURNED

    def is_in(self, statement: ast.stmt) -> bool:
        return any(isinstance(inner, ast.Return) for inner in ast.walk(statement))

    def is_one(self, statement: ast.stmt) -> bool:
        return isinstance(statement, ast.Return)

    def instead(self, statement: ast.stmt, *, remembering: bool) -> list[ast.stmt]:
        value = getattr(statement, "value", None)
        result = [] if value is None else [_assignment(RESULT, value, statement)]
        return [*result, _said(RETURNED, statement)] if remembering else result


class _Rounds(Exits):
    """Breaks and continues of one loop, in a round that is spelled out."""

    flag = CONTINUED

    def is_in(self, statement: ast.stmt) -> bool:
        return leaves_loop([statement], ast.Break, ast.Continue)

    def is_one(self, statement: ast.stmt) -> bool:
        return isinstance(statement, (ast.Break, ast.Continue))

    def instead(self, statement: ast.stmt, *, remembering: bool) -> list[ast.stmt]:
        broken = [_said(BROKEN, statement)] if isinstance(statement, ast.Break) else []
        return [*broken, _said(CONTINUED, statement)] if remembering else broken


RETURNS, ROUNDS = _Returns(), _Rounds()


@dataclass(frozen=True, slots=True)
class Round:
    """The body of a loop, as it is spelled out for each round."""

    statements: list[ast.stmt]
    guarded: ast.stmt  # the same, unless the loop was left
    breaks: bool
    continues: bool  # whether something in it waits to hear whether the round was left

    @classmethod
    def of(cls, loop: ast.For) -> Round:
        body = one_way_out(loop.body, ROUNDS)
        return cls(
            body,
            unless(BROKEN, body, loop),
            leaves_loop(loop.body, ast.Break),
            reads(CONTINUED, body),
        )


def one_way_out(
    body: Sequence[ast.stmt], exits: Exits, *, remembering: bool = False, looping: bool = False
) -> list[ast.stmt]:
    """`body` with an assignment for each statement that leaves, after which nothing follows.

    What stands behind an if of which one branch always leaves moves into the other one. Where both
    may go on, it waits for the flag to say no: in both branches it would stand twice, and behind
    ten such ifs a thousand times. `remembering` says that something waits so for `body`.

    What leaves more than the loop that it stands in breaks out of that one, and so do the loops
    around it. `looping` says that `body` is such a loop's, which skips the rest by itself.
    """
    out: list[ast.stmt] = []
    for position, statement in enumerate(body):
        rest = body[position + 1 :]
        if exits.is_one(statement):
            out += exits.instead(statement, remembering=remembering)
            if looping:
                out.append(ast.copy_location(ast.Break(), statement))
            return out
        if not exits.is_in(statement):
            out.append(statement)
        elif isinstance(statement, (ast.For, ast.While)):
            remembers = remembering or looping or bool(rest)
            inner = one_way_out(statement.body, exits, remembering=remembers, looping=True)
            out.append(_with_body(statement, inner))
            if looping:
                out.append(_leaving(exits.flag, statement))
            elif rest:
                later = one_way_out(rest, exits, remembering=remembering)
                out.append(unless(exits.flag, later, rest[0]))
                return out
        elif isinstance(statement, ast.If) and looping:
            lists = [
                one_way_out(one, exits, remembering=remembering, looping=True)
                for one in (statement.body, statement.orelse)
            ]
            out.append(ast.copy_location(ast.If(statement.test, *lists), statement))
        elif isinstance(statement, ast.If):
            then, otherwise = statement.body, statement.orelse
            waits = bool(rest) and not exits.always(then) and not exits.always(otherwise)
            if rest and not waits:
                then, otherwise = (
                    (then, [*otherwise, *rest])
                    if exits.always(then)
                    else ([*then, *rest], otherwise)
                )
            lists = [
                one_way_out(one, exits, remembering=remembering or waits)
                for one in (then, otherwise)
            ]
            out.append(ast.copy_location(ast.If(statement.test, *lists), statement))
            if waits:
                later = one_way_out(rest, exits, remembering=remembering)
                out.append(unless(exits.flag, later, rest[0]))
            return out
        else:
            out.append(statement)  # a with or a try, which is refused
    return out


def unless(flag: str, body: list[ast.stmt], at: ast.stmt) -> ast.If:
    """`body`, where a flag does not say that it was left."""
    test = ast.copy_location(ast.UnaryOp(ast.Not(), _read(flag, at)), at)
    return ast.copy_location(ast.If(test, body, []), at)


def leaves_loop(body: Iterable[ast.stmt], *kinds: type[ast.stmt]) -> bool:
    """Whether a break, or a continue, in `body` is of the loop around it and of no other."""
    stack = [*body]
    while stack:
        statement = stack.pop()
        if isinstance(statement, kinds):
            return True
        if isinstance(statement, ast.If):
            stack += [*statement.body, *statement.orelse]
    return False


def reads(flag: str, body: Iterable[ast.stmt]) -> bool:
    """Whether statements wait for a flag."""
    return any(
        isinstance(node, ast.Name) and node.id == flag
        for statement in body
        for node in ast.walk(statement)
    )


def _with_body(loop: ast.For | ast.While, body: list[ast.stmt]) -> ast.stmt:
    made = (
        ast.For(loop.target, loop.iter, body, loop.orelse)
        if isinstance(loop, ast.For)
        else ast.While(loop.test, body, loop.orelse)
    )
    return ast.copy_location(made, loop)


def _leaving(flag: str, at: ast.stmt) -> ast.stmt:
    leave: list[ast.stmt] = [ast.copy_location(ast.Break(), at)]
    return ast.copy_location(ast.If(_read(flag, at), leave, []), at)


def _read(flag: str, at: ast.stmt) -> ast.expr:
    return ast.copy_location(ast.Name(flag, ast.Load()), at)


def _said(flag: str, at: ast.stmt) -> ast.stmt:
    return _assignment(flag, ast.copy_location(ast.Constant(value=True), at), at)


def _assignment(name: str, value: ast.expr, at: ast.stmt) -> ast.stmt:
    target = ast.copy_location(ast.Name(name, ast.Store()), at)
    return ast.copy_location(ast.Assign([target], value), at)


def _is_endless(loop: ast.While) -> bool:
    """Whether nothing but a return leaves a loop."""
    if not isinstance(loop.test, ast.Constant) or loop.test.value is not True:
        return False
    return not leaves_loop(loop.body, ast.Break)
