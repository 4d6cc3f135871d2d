"""The flow of a kernel: branches, loops, returns, and lines that stand alone."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from vyre.ir.expr import AtomicOp, Binary, BinaryOp, Cast, Expr, Lit, Select, Unary, UnaryOp, Var
from vyre.ir.node import Barrier, Break, Continue, If, Let, Loop, Return, While
from vyre.ir.types import DataType
from vyre.lang.assignments import Assignments
from vyre.lang.intrinsics import Function, Structural, find_intrinsic
from vyre.lang.scopes import (
    Bound,
    Buffer,
    Declared,
    Missing,
    after_loop,
    assigned_names,
    join,
)
from vyre.lang.values import PLACEHOLDER, Value, fits, zero

_UNSUPPORTED: dict[str, tuple[str, str]] = {
    "FunctionDef": ("a def inside a kernel", "write it outside, under @vyre.function"),
    "AsyncFunctionDef": ("a def inside a kernel", "write it outside, under @vyre.function"),
    "ClassDef": ("a class", "write it outside the kernel"),
    "Delete": ("del", "remove it; names end with the kernel"),
    "AsyncFor": ("async for", "write for k in range(...):"),
    "With": ("with", "do it around the call of the kernel"),
    "AsyncWith": ("with", "do it around the call of the kernel"),
    "Match": ("match", "write if, elif and else"),
    "Raise": ("raise", "store a flag in an Out array and look at it on the host"),
    "Try": ("try", "test for the case with if; nothing raises in a kernel"),
    "TryStar": ("try", "test for the case with if; nothing raises in a kernel"),
    "Assert": ("assert", "store a flag in an Out array and look at it on the host"),
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
_UNSIGNED = {8: DataType.U8, 16: DataType.U16, 32: DataType.U32, 64: DataType.U64}


class Control(Assignments):
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
                self.for_(node)
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
            intrinsic = find_intrinsic(target)
            operation = intrinsic.operation if intrinsic is not None else None
            if operation is Structural.BARRIER:
                self.arguments(call, ())
                self.check_workgroup(call, "barrier")
                self.out.append(Barrier())
                self.effects += 1
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
        if self.frame.path:
            raise self.error(
                node,
                f"{self.frame.source.name!r} returns from inside a loop",
                "set a variable, leave the loop with break, and return after it",
            )
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

    def for_(self, node: ast.For) -> None:
        self.refuse_else(node)
        start, stop, step = self.range_of(node)
        target = node.target
        if not isinstance(target, ast.Name):
            raise self.error(target, "a loop counts with one name", "write for k in range(...):")
        name = target.id
        if isinstance(self.frame.env.get(name), (Bound, Declared, Buffer)):
            raise self.error(
                target,
                f"{name!r} has a value already, and the loop would replace it",
                "use another name for the loop's variable",
            )
        env, mark = self.frame.env, self.frame.env.mark()
        key = self.frame.key(node, name)
        known = next((value for value in (start, stop) if value.dtype is not None), None)
        dtype = known.dtype if known is not None else self.decisions.types.get(key)
        first: Expr = PLACEHOLDER
        last: Expr = PLACEHOLDER
        origin: Expr = PLACEHOLDER
        if dtype is not None:
            other = name if known is None else self.text(known.node)
            first, last = self.fit(start, dtype, other), self.fit(stop, dtype, other)
            if step != 1:
                origin, first, last = self.rounds(node, dtype, (start, stop), (first, last), step)
        self.loops.append(False)
        with self.nested() as body:
            variable = self.variable(name, key)
            variable.is_ranged, variable.dtype = True, dtype
            if dtype is None:
                for bound in (start, stop):
                    variable.collect(bound, self.frame.source)
            counter = variable.ir_name
            if step != 1 or name in assigned_names(node.body):
                counter = self.names.fresh(name)
                value: Expr = Var(counter)
                if step != 1 and dtype is not None:
                    value = _stepped(dtype, origin, Var(counter), step)
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

    def range_of(self, node: ast.For) -> tuple[Value, Value, int]:
        """Start, stop and step of a loop's range."""
        call = node.iter
        is_range = isinstance(call, ast.Call) and self.static(call.func) is range
        if not isinstance(call, ast.Call) or not is_range:
            raise self.error(
                call,
                f"a loop runs over range(), and {self.text(call)} is not one",
                "write for k in range(len(x)): and index with k",
            )
        if call.keywords or not 1 <= len(call.args) <= 3:
            raise self.error(
                call,
                "range() takes 1 to 3 numbers",
                "write range(stop) or range(start, stop, step)",
            )
        values = self.values(*call.args)
        for value in values:
            self.check_int(value, "range()")
        zero_start = Value.literal(call, 0)
        start, stop = (zero_start, values[0]) if len(values) == 1 else (values[0], values[1])
        step = values[2].constant if len(values) == 3 else 1
        if not isinstance(step, int) or step == 0:
            raise self.error(
                call.args[2],
                f"the step {self.text(call.args[2])} is not a constant other than 0",
                "write a number, or count with while",
            )
        return start, stop, step

    def rounds(
        self,
        node: ast.For,
        dtype: DataType,
        bounds: tuple[Value, Value],
        exprs: tuple[Expr, Expr],
        step: int,
    ) -> tuple[Expr, Expr, Expr]:
        """Where a loop with a step begins, and the rounds it counts instead, from and to.

        The rounds are counted in the unsigned type of the same width: the distance between two
        bounds always fits it, and adding a step to the last value could not overflow.
        """
        size = abs(step)
        if not fits(size, dtype):
            raise self.error(
                node.iter,
                f"the step {step} does not fit {dtype}",
                "cast the bounds to a wider type",
            )
        counter = _UNSIGNED[dtype.bits]
        start, stop = (value.constant for value in bounds)
        if isinstance(start, int) and isinstance(stop, int):
            count = Lit.of(counter, len(range(start, stop, step)))
            return exprs[0], Lit.of(counter, 0), count
        first, last = (
            expr
            if isinstance(expr, Lit)
            else self.spill(Value.typed(node.iter, dtype, expr), name).expr
            for expr, name in zip(exprs, ("start", "stop"), strict=True)
        )
        low, high = (first, last) if step > 0 else (last, first)
        distance = Binary(
            BinaryOp.SUB,
            _reinterpreted(high, dtype, counter),
            _reinterpreted(low, dtype, counter),
        )
        one = Lit.of(counter, 1)
        whole = Binary(BinaryOp.DIV, Binary(BinaryOp.SUB, distance, one), Lit.of(counter, size))
        nothing = Lit.of(counter, 0)
        runs = Binary(BinaryOp.LT, low, high)
        return first, nothing, Select(runs, Binary(BinaryOp.ADD, whole, one), nothing)

    def refuse_else(self, node: ast.For | ast.While) -> None:
        if node.orelse:
            raise self.error(
                node,
                "else after a loop is not part of the kernel language",
                "set a variable before break and test it after the loop",
            )


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _reinterpreted(expr: Expr, dtype: DataType, target: DataType) -> Expr:
    """`expr` of `dtype` with the same bits as another integer type of that width."""
    if dtype == target:
        return expr
    return Lit(target, expr.bits) if isinstance(expr, Lit) else Cast(target, expr)


def _stepped(dtype: DataType, origin: Expr, counter: Var, step: int) -> Expr:
    """The value of a loop's variable in round `counter`."""
    size = Lit.of(dtype, abs(step))
    distance: Expr = _reinterpreted(counter, _UNSIGNED[dtype.bits], dtype)
    if abs(step) != 1:
        distance = Binary(BinaryOp.MUL, distance, size)
    return Binary(BinaryOp.ADD if step > 0 else BinaryOp.SUB, origin, distance)
