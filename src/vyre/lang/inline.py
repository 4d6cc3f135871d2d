"""Functions under @vyre.function: their bodies stand in place of each call."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from vyre.ir.declare import Dim3
from vyre.ir.expr import Var
from vyre.ir.node import Let
from vyre.ir.types import DataType
from vyre.lang.annotations import annotation_of, check_default, defaults_of, parameters_of
from vyre.lang.control import NESTED_TOO_DEEP, Control
from vyre.lang.exits import RETURNED, RETURNS, one_way_out, reads, result_name
from vyre.lang.intrinsics import Function
from vyre.lang.params import ArrayType, Types, decided
from vyre.lang.scopes import (
    Alias,
    Bound,
    Declared,
    Env,
    Frame,
    Held,
    assigned_names,
    growing_names,
)
from vyre.lang.several import Parts, arranged, form_of, leaves, places
from vyre.lang.source import Location, Source, find_source
from vyre.lang.tables import Table
from vyre.lang.values import Decisions, Form, Value, fits, zero

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
        self.defaults = defaults_of(self.source)
        # Calls of others may return tuples too; they say so when they are translated.
        self.result_form = next((form for node in valued if (form := _form(node.value))), None)
        body = without_docstring(self.source.tree.body)
        self.assigned, self.growing = assigned_names(body), growing_names(body)
        self.result: ast.expr | None = None
        self.always_returns = RETURNS.always(body)
        if len(valued) == 1 and body and body[-1] is valued[0]:
            self.statements, self.result = body[:-1], valued[0].value
        else:
            self.statements = one_way_out(body, RETURNS)
        self.remembers_return = reads(RETURNED, self.statements)


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
        chosen: Mapping[Types, DataType] | None = None,
    ) -> None:
        super().__init__(frame, decisions, workgroup, fast_math=fast_math, chosen=chosen)
        self.loops = []
        self.depths = []
        self.bodies = bodies  # the same trees in every pass, as keys are made of them
        self.inside: list[Function] = []
        self.calls = 0

    def inline(self, node: ast.Call, function: Function) -> Parts | None:
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
        callee = Frame(body.source, Env(), body.assigned, body.growing, path, called_from, path)
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

    def run(self, node: ast.Call, body: Body) -> Parts | None:
        """Translate a function's statements in its own frame; what it returns, if anything."""
        if body.remembers_return:
            self.flag(RETURNED, node, "returned")
        if not body.has_value or body.result is not None:
            goes_on = self.block(body.statements)
            if body.result is None or not goes_on:
                return None
            parts = self.several(body.result)
        else:
            parts = self.result_of(node, body)
        # From here on messages are about the caller's line.
        values = [replace(value.at(node), is_product=False) for value in leaves(parts)]
        return arranged(form_of(parts), iter(values))

    def result_of(self, node: ast.Call, body: Body) -> Parts:
        """What a function returns that has several ways out."""
        env, mark = self.frame.env, len(self.out)
        form = self.decisions.results.get(self.frame.call, body.result_form)
        self.frame.result = form
        results = [
            self.variable(name, self.frame.key(node, name), self.names.fresh(body.source.name))
            for name in map(result_name, places(form))
        ]
        for variable in results:
            env[variable.name] = Declared(variable)
        self.block(body.statements)
        if not body.always_returns:
            raise self.error(
                body.source.tree,
                f"not every path through {body.source.name!r} ends in a return",
                "end it with a return",
            )
        for variable in results:
            env[variable.name] = Bound(variable)
        self.out[mark:mark] = [Let(one.ir_name, zero(one.default)) for one in results]
        values = [
            self.name(ast.copy_location(ast.Name(one.name, ast.Load()), node)) for one in results
        ]
        return arranged(form, iter(values))

    def bind_arguments(self, node: ast.Call, body: Body, callee: Frame) -> Env:
        """What the function's parameters stand for in this call."""
        names = [parameter.arg for parameter in body.parameters]
        arguments = self.matched(node, names, body.defaults)
        arrays = {
            argument: self.held(argument) or self.table(argument) for argument in arguments.values()
        }
        plain = [argument for argument, held in arrays.items() if held is None]
        values = dict(zip(plain, self.values(*plain), strict=True))
        env = Env()
        for parameter in body.parameters:
            wanted = decided(annotation_of(body.source, parameter), self.decided_types)
            argument = arguments.get(parameter.arg)
            held = None if argument is None else arrays[argument]
            if argument is not None and held is not None:
                env[parameter.arg] = self.passed_array(argument, parameter, wanted, held, body)
                continue
            if argument is None:
                default = body.defaults[parameter.arg]
                if isinstance(wanted, DataType):
                    check_default(body.source, parameter.arg, default, wanted)
                given = Value.literal(node, default.number)
            else:
                given = values[argument]
            value = self.typed_argument(given, parameter, wanted, body.source)
            # A choice between literals may take any type, and has no name yet to be used twice by.
            is_choice = value.dtype is None and value.constant is None and not value.needs
            if parameter.arg in callee.assigned or is_choice:
                key = (*callee.path, parameter.arg)
                variable = self.variable(parameter.arg, key)
                self.let(variable, value)
                env[parameter.arg] = Bound(variable)
            else:
                value = self.once(value, parameter.arg)
                if value.dtype is not None and isinstance(value.expr, Var):
                    self.aliased.add(value.expr.name)
                env[parameter.arg] = Alias(value)
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

    def passed_array(
        self,
        argument: ast.expr,
        parameter: ast.arg,
        wanted: object,
        held: Held,
        body: Body,
    ) -> Held:
        """The array that a parameter stands for."""
        called = f"{parameter.arg} of {body.source.name}"
        if parameter.arg in body.assigned:
            raise body.source.error(
                parameter, f"{called} is an array and is assigned to", "use another name"
            )
        if wanted is None:
            return held
        element = wanted.arguments[0] if isinstance(wanted, ArrayType) else None
        is_open = isinstance(held, Table) and held.dtype is None
        if isinstance(held, Table) and is_open and isinstance(element, DataType):
            computed = element.computed
            if all(fits(number, computed) for number in held.values):
                return replace(held, dtype=element)
        if element != held.element:
            shown = element if isinstance(wanted, ArrayType) else wanted
            kind = f"an array of {shown}" if isinstance(wanted, ArrayType) else f"{shown}"
            raise self.error(
                argument,
                f"{called} is {kind}, and {held.name} is an array of {held.element or 'literals'}",
                "pass what the function declares, or leave its parameter without a type",
            )
        return held


def without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a function that do something."""
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
        case _:
            return body


def _form(value: ast.expr | None) -> Form:
    if not isinstance(value, (ast.Tuple, ast.List)):
        return None
    return tuple(_form(element) for element in value.elts)
