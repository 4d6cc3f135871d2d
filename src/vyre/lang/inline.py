"""Functions under @vyre.function: their bodies stand in place of each call."""

from __future__ import annotations

import ast

from vyre.ir.declare import Dim3
from vyre.ir.node import Let
from vyre.ir.types import DataType
from vyre.lang.annotations import annotation_of, parameters_of
from vyre.lang.assignments import RESULT, RETURNED
from vyre.lang.control import NESTED_TOO_DEEP, Control
from vyre.lang.intrinsics import Function
from vyre.lang.params import ArrayType
from vyre.lang.scopes import (
    Alias,
    Bound,
    Buffer,
    Declared,
    Env,
    Frame,
    assigned_names,
    growing_names,
)
from vyre.lang.source import Location, Source, find_source
from vyre.lang.values import Decisions, Value, zero

MOST_CALLS = 10_000
"""Of functions in one kernel, each spelled out: functions of functions double with every level."""


class Body:
    """A function's source and its statements, with one way out."""

    def __init__(self, function: Function) -> None:
        self.source = find_source(function.fn, "function")
        self.parameters = parameters_of(self.source)
        returns = [node for node in ast.walk(self.source.tree) if isinstance(node, ast.Return)]
        valued = [node for node in returns if node.value is not None]
        self.has_value = bool(valued)
        if valued and len(valued) != len(returns):
            bare = next(node for node in returns if node.value is None)
            raise self.source.error(
                bare,
                f"{self.source.name!r} returns a value on one path and none on this",
                "return a value on every path, or on none",
            )
        body = without_docstring(self.source.tree.body)
        self.assigned, self.growing = assigned_names(body), growing_names(body)
        self.result: ast.expr | None = None
        self.always_returns = _leaves(body)
        if len(valued) == 1 and body and body[-1] is valued[0]:
            self.statements, self.result = body[:-1], valued[0].value
        else:
            self.statements = single_exit(body)
        self.remembers_return = any(
            isinstance(node, ast.Name) and node.id == RETURNED
            for statement in self.statements
            for node in ast.walk(statement)
        )


class Inliner(Control):
    """One pass over a kernel and all that it calls."""

    def __init__(
        self,
        frame: Frame,
        decisions: Decisions,
        workgroup: Dim3 | None,
        bodies: dict[Function, Body],
        *,
        fast_math: bool = False,
    ) -> None:
        super().__init__(frame, decisions, workgroup, fast_math=fast_math)
        self.loops = []
        self.bodies = bodies  # the same trees in every pass, as keys are made of them
        self.inside: list[Function] = []
        self.calls = 0

    def inline(self, node: ast.Call, function: Function) -> Value | None:
        if function in self.inside:
            raise self.error(
                node,
                f"{function.__name__!r} calls itself, and a kernel has no stack",
                "write it as a loop",
            )
        self.calls += 1
        if self.calls > MOST_CALLS:
            raise self.error(
                node,
                f"calls of functions spell out as more than {MOST_CALLS:,}",
                "keep what a function returns in a variable, and call it once",
            )
        body = self.body_of(node, function)
        caller = self.frame
        path = (*caller.path, id(node))
        called_from = Location(caller.source.file, node.lineno)
        callee = Frame(body.source, Env(), body.assigned, body.growing, path, called_from)
        callee.env = self.bind_arguments(node, body, callee)
        self.frame, outer_loops, self.loops = callee, self.loops, []
        self.inside.append(function)
        try:
            return self.run(node, body)
        finally:
            self.inside.pop()
            self.frame, self.loops = caller, outer_loops

    def body_of(self, node: ast.Call, function: Function) -> Body:
        if function not in self.bodies:
            try:
                self.bodies[function] = Body(function)
            except RecursionError:
                problem = f"{function.__name__!r} nests too deep"
                raise self.error(node, problem, NESTED_TOO_DEEP) from None
        return self.bodies[function]

    def run(self, node: ast.Call, body: Body) -> Value | None:
        """Translate a function's statements in its own frame; its value, if it has one."""
        if body.remembers_return:
            name = self.names.fresh("returned")
            returned = self.variable(RETURNED, self.frame.key(node, RETURNED), name)
            returned.dtype = DataType.BOOL
            self.out.append(Let(returned.ir_name, zero(DataType.BOOL)))
            self.frame.env[RETURNED] = Bound(returned)
        if not body.has_value or body.result is not None:
            goes_on = self.block(body.statements)
            if body.result is None or not goes_on:
                return None
            value = self.expression(body.result)
        else:
            value = self.result_of(node, body)
        return value.at(node)  # from here on messages are about the caller's line

    def result_of(self, node: ast.Call, body: Body) -> Value:
        """What a function returns that has several ways out."""
        name, mark = self.names.fresh(body.source.name), len(self.out)
        variable = self.variable(RESULT, self.frame.key(node, RESULT), name)
        self.frame.env[RESULT] = Declared(variable)
        self.block(body.statements)
        if body.remembers_return and body.always_returns:
            self.frame.env[RESULT] = Bound(variable)
        if not isinstance(self.frame.env[RESULT], Bound):
            raise self.error(
                body.source.tree,
                f"not every path through {body.source.name!r} ends in a return",
                "end it with a return",
            )
        self.out.insert(mark, Let(name, zero(variable.default)))
        return self.name(ast.copy_location(ast.Name(RESULT, ast.Load()), node))

    def bind_arguments(self, node: ast.Call, body: Body, callee: Frame) -> Env:
        """What the function's parameters stand for in this call."""
        names = [parameter.arg for parameter in body.parameters]
        arguments = self.arguments(node, names)
        plain = [argument for argument in arguments if self.buffer(argument) is None]
        values = dict(zip(plain, self.values(*plain), strict=True))
        env = Env()
        for parameter, argument in zip(body.parameters, arguments, strict=True):
            wanted = annotation_of(body.source, parameter)
            buffer = self.buffer(argument)
            if buffer is not None:
                self.check_array(argument, parameter, wanted, buffer, body)
                env[parameter.arg] = buffer
                continue
            value = self.typed_argument(values[argument], parameter, wanted, body.source)
            # A choice between literals may take any type, and has no name yet to be used twice by.
            is_choice = value.dtype is None and value.constant is None and not value.needs
            if parameter.arg in callee.assigned or is_choice:
                key = (*callee.path, parameter.arg)
                variable = self.variable(parameter.arg, key)
                self.let(variable, value)
                env[parameter.arg] = Bound(variable)
            else:
                env[parameter.arg] = Alias(self.once(value, parameter.arg))
        return env

    def typed_argument(
        self, value: Value, parameter: ast.arg, wanted: object, source: Source
    ) -> Value:
        called = f"{parameter.arg} of {source.name}"
        if wanted is None:
            return value
        if isinstance(wanted, DataType) and wanted == wanted.computed:
            return Value.typed(value.node, wanted, self.fit(value, wanted, called))
        if isinstance(wanted, ArrayType):
            raise self.error(
                value.node,
                f"{called} is an array, and {self.text(value.node)} is {value.default}",
                "pass an array by its name",
            )
        raise source.error(
            parameter,
            f"{parameter.arg!r} has a type that is none of kernels",
            "write f32 or In[f32]",
        )

    def check_array(
        self,
        argument: ast.expr,
        parameter: ast.arg,
        wanted: object,
        buffer: Buffer,
        body: Body,
    ) -> None:
        called = f"{parameter.arg} of {body.source.name}"
        if parameter.arg in body.assigned:
            raise body.source.error(
                parameter, f"{called} is an array and is assigned to", "use another name"
            )
        if wanted is None:
            return
        element = wanted.arguments[0] if isinstance(wanted, ArrayType) else None
        if element != buffer.decl.element:
            shown = element if isinstance(wanted, ArrayType) else wanted
            kind = f"an array of {shown}" if isinstance(wanted, ArrayType) else f"{shown}"
            raise self.error(
                argument,
                f"{called} is {kind}, and {buffer.name} is an array of {buffer.decl.element}",
                "pass what the function declares, or leave its parameter without a type",
            )


def without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a function that do something."""
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
        case _:
            return body


def single_exit(body: list[ast.stmt], *, remembering: bool = False) -> list[ast.stmt]:
    """`body` with each return as an assignment, after which nothing follows.

    What stands behind an if of which one branch always returns moves into the other one. Where
    both may go on, it waits for `RETURNED` to say no: in both branches it would stand twice, and
    behind ten such ifs a thousand times. `remembering` says that something waits so for `body`.
    """
    out: list[ast.stmt] = []
    for position, statement in enumerate(body):
        if isinstance(statement, ast.Return):
            if statement.value is not None:
                out.append(_assignment(RESULT, statement.value, statement))
            if remembering:
                said = ast.copy_location(ast.Constant(value=True), statement)
                out.append(_assignment(RETURNED, said, statement))
            return out
        if isinstance(statement, ast.If) and _returns(statement):
            rest = body[position + 1 :]
            then, otherwise = statement.body, statement.orelse
            waits = bool(rest) and not _leaves(then) and not _leaves(otherwise)
            if rest and not waits:
                then, otherwise = (
                    (then, [*otherwise, *rest]) if _leaves(then) else ([*then, *rest], otherwise)
                )
            lists = [
                single_exit(one, remembering=remembering or waits) for one in (then, otherwise)
            ]
            out.append(ast.copy_location(ast.If(statement.test, *lists), statement))
            if waits:
                later = single_exit(rest, remembering=remembering)
                out.append(ast.copy_location(ast.If(_not_yet(statement), later, []), rest[0]))
            return out
        out.append(statement)
    return out


def _assignment(name: str, value: ast.expr, at: ast.stmt) -> ast.Assign:
    target = ast.copy_location(ast.Name(name, ast.Store()), at)
    return ast.copy_location(ast.Assign([target], value), at)


def _not_yet(at: ast.stmt) -> ast.expr:
    returned = ast.copy_location(ast.Name(RETURNED, ast.Load()), at)
    return ast.copy_location(ast.UnaryOp(ast.Not(), returned), at)


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether every path through `body` ends in a return."""
    return any(
        isinstance(statement, ast.Return)
        or (isinstance(statement, ast.If) and _leaves(statement.body) and _leaves(statement.orelse))
        for statement in body
    )


def _returns(statement: ast.If) -> bool:
    """Whether a return stands in `statement` outside any loop."""
    stack: list[ast.stmt] = [*statement.body, *statement.orelse]
    while stack:
        inner = stack.pop()
        if isinstance(inner, ast.Return):
            return True
        if isinstance(inner, ast.If):
            stack += [*inner.body, *inner.orelse]
    return False
