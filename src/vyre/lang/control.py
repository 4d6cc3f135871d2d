"""The flow of a kernel: branches, loops, returns, and lines that stand alone."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from vyre.ir.expr import AtomicOp, Expr, Lit, Unary, UnaryOp, Var
from vyre.ir.node import Barrier, Break, Continue, If, Let, Loop, Return, While
from vyre.ir.types import DataType
from vyre.lang.columns import Columns
from vyre.lang.intrinsics import Function, Structural, find_intrinsic
from vyre.lang.ranges import Rounds
from vyre.lang.scopes import (
    Bound,
    Declared,
    Missing,
    after_loop,
    assigned_names,
    join,
)
from vyre.lang.speech import Speech
from vyre.lang.values import PLACEHOLDER, Value, zero

_UNSUPPORTED: dict[str, tuple[str, str]] = {
    "FunctionDef": ("a def inside a kernel", "write it outside, under @vyre.function"),
    "AsyncFunctionDef": ("a def inside a kernel", "write it outside, under @vyre.function"),
    "ClassDef": ("a class", "write it outside the kernel"),
    "Delete": ("del", "remove it; names end with the kernel"),
    "AsyncFor": ("async for", "write for k in range(...):"),
    "With": ("with", "do it around the call of the kernel"),
    "AsyncWith": ("with", "do it around the call of the kernel"),
    "Match": ("match", "write if, elif and else"),
    "Raise": ("raise", "write assert condition, 'what is wrong', or store a flag in an Out array"),
    "Try": ("try", "test for the case with if; nothing raises in a kernel"),
    "TryStar": ("try", "test for the case with if; nothing raises in a kernel"),
    "Import": ("import", "import at the top of the file"),
    "ImportFrom": ("import", "import at the top of the file"),
    "Global": ("global", "store in an Out array; a kernel cannot change Python's variables"),
    "Nonlocal": ("nonlocal", "store in an Out array; a kernel cannot change Python's variables"),
    "TypeAlias": ("type", "write it outside the kernel"),
}
NESTED_TOO_DEEP = (
    "write ifs and loops one after the other, not inside each other, as each elif is in the one "
    "before, and split long expressions over several assignments"
)


class Control(Columns, Speech):
    """Turns statements into IR."""

    loops: list[bool]  # for each loop around this line: whether a break leaves it

    def block(self, body: Sequence[ast.stmt]) -> bool:
        """Translate `body` into the statements so far; whether control goes on after it."""
        return all(self.statement(statement) for statement in body)

    def statement(self, node: ast.stmt) -> bool:
        """Translate one statement; whether control goes on after it."""
        mark = len(self.out)
        try:
            goes_on = self._statement(node)
        except RecursionError:
            raise self.error(node, "this nests too deep", NESTED_TOO_DEEP) from None
        for made in self.out[mark:]:
            self.noted(made, node)
        return goes_on

    def _statement(self, node: ast.stmt) -> bool:
        match node:
            case ast.Assign():
                self.assignment(node)
            case ast.AugAssign():
                self.augmented(node)
            case ast.AnnAssign():
                self.annotated(node)
            case ast.Expr():
                self.alone(node)
            case ast.If():
                return self.if_(node)
            case ast.For():
                return self.for_(node)
            case ast.While():
                return self.while_(node)
            case ast.Break():
                self.loops[-1] = True
                self.out.append(Break())
                return False
            case ast.Continue():
                self.out.append(Continue())
                return False
            case ast.Return():
                self.return_(node)
                return False
            case ast.Assert():
                self.assertion(node)
            case ast.Pass():
                pass
            case _:
                kind = type(node).__name__
                what, fix = _UNSUPPORTED.get(kind, (kind, "write it another way"))
                raise self.error(node, f"{what} is not part of the kernel language", fix)
        return True

    def alone(self, node: ast.Expr) -> None:
        """A line that is an expression: a call made for its effect."""
        call = node.value
        if isinstance(call, ast.Constant) and call.value is ...:
            return
        if isinstance(call, ast.Call):
            target = self.static(call.func)
            if target is print:
                self.print_(call)
                return
            intrinsic = find_intrinsic(target)
            operation = intrinsic.operation if intrinsic is not None else None
            if operation is Structural.BARRIER:
                self.arguments(call, ())
                self.check_workgroup(call, "barrier")
                self.effect(call, "vyre.barrier()")
                self.is_placed = True
                self.out.append(Barrier())
                return
            value = self.call_or_nothing(call)
            if value is None or isinstance(target, Function) or isinstance(operation, AtomicOp):
                return
        else:
            self.expression(call)
        raise self.error(
            call,
            f"the value of {self.text(call)} is not used",
            "assign it to a name or an element, or remove the line",
        )

    def return_(self, node: ast.Return) -> None:
        if node.value is not None and not _is_none(node.value):
            raise self.error(
                node,
                "a kernel returns no value",
                "store it in an Out parameter, for example out[i] = ...",
            )
        self.out.append(Return())

    def condition(self, node: ast.expr) -> Value:
        value = self.expression(node)
        self.check_bool(value)
        return value

    def if_(self, node: ast.If) -> bool:
        test = self.condition(node.test)
        if test.constant is not None:
            # Known while translating: the other branch is never looked at, as in Python.
            return self.block(node.body if test.constant else node.orelse)
        key, depth = self.frame.key(node), self.names.depth
        hoisted = [
            self.variable(name, self.frame.key(node, name))
            for name in sorted(self.decisions.hoisted.get(key, ()))
            if not isinstance(self.frame.env.get(name), (Bound, Declared))
        ]
        env = self.frame.env
        for variable in hoisted:
            env[variable.name] = Declared(variable)
        ends, lists = [], []
        for body in (node.body, node.orelse):
            mark = env.mark()
            with self.nested() as nodes:
                goes_on = self.block(body)
            changes = env.taken_back(mark)
            if goes_on:
                ends.append(changes)
            lists.append(tuple(nodes))
        self.out += [Let(v.ir_name, zero(v.default)) for v in hoisted]
        self.out.append(If(test.expr, *lists))
        join(env, ends, key, depth, node.lineno)
        return bool(ends)

    def while_(self, node: ast.While) -> bool:
        self.refuse_else(node)
        env, mark = self.frame.env, self.frame.env.mark()
        self.loops.append(False)
        with self.nested() as body:
            test = self.condition(node.test)
            cond = test.expr
            if test.constant is False:
                body.clear()
            elif body:
                # What the condition does first is done in every round.
                body.append(If(Unary(UnaryOp.LOGICAL_NOT, cond), (Break(),)))
                cond = Lit.of(DataType.BOOL, True)
            if test.constant is not False:
                self.block(node.body)
        broken = self.loops.pop()
        after_loop(env, env.taken_back(mark), node.lineno)
        if test.constant is False:
            return True
        self.out.append(While(cond, tuple(body)))
        return test.constant is None or broken

    def for_(self, node: ast.For) -> bool:
        self.refuse_else(node)
        if not self.is_range(node.iter):
            return self.spelled_out(node)
        found = self.range_of(node.iter, "a loop")
        step = found.step
        target = node.target
        if not isinstance(target, ast.Name):
            raise self.error(target, "a loop counts with one name", "write for k in range(...):")
        name = target.id
        self.check_loop_name(target)
        env, mark = self.frame.env, self.frame.env.mark()
        key = self.frame.key(node, name)
        dtype = found.known.dtype if found.known is not None else self.decisions.types.get(key)
        first: Expr = PLACEHOLDER
        last: Expr = PLACEHOLDER
        rounds: Rounds | None = None
        if dtype is not None:
            first, last = self.bounds(found, dtype, name)
            if step != 1:
                rounds = self.rounds(found, dtype, (first, last), self.spill)
                first, last = Lit.of(rounds.counter, 0), rounds.count
        self.loops.append(False)
        with self.nested() as body:
            variable = self.variable(name, key)
            variable.is_ranged, variable.dtype = True, dtype
            if dtype is None:
                for bound in (found.start, found.stop):
                    variable.collect(bound, self.frame.source)
            counter = variable.ir_name
            if step != 1 or name in assigned_names(node.body):
                counter = self.names.fresh(name)
                value = Var(counter) if rounds is None else rounds.value(Var(counter))
                body.append(Let(variable.ir_name, value))
            env[name] = Bound(variable)
            self.block(node.body)
        self.loops.pop()
        after_loop(env, env.taken_back(mark), node.lineno)
        env[name] = Missing(
            f"{name!r} counts the loop of line {node.lineno} and has no value after it",
            f"copy {name} in the loop into a variable that has a value before it",
        )
        self.out.append(Loop(counter, first, last, tuple(body)))
        return True

    def refuse_else(self, node: ast.For | ast.While) -> None:
        if node.orelse:
            raise self.error(
                node,
                "else after a loop is not part of the kernel language",
                "set a variable before break and test it after the loop",
            )


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
