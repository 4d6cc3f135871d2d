"""The functions that a module calls, from the definitions that every backend shares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from vyre.emit.lanes import Variation
from vyre.emit.llvm.body import Body
from vyre.emit.llvm.builder import Builder, Parts
from vyre.emit.llvm.context import Context
from vyre.emit.llvm.functions import Needed, function_name
from vyre.emit.llvm.shapes import function
from vyre.emit.llvm.values import Shape, Value
from vyre.ir.functions import Definition, definition
from vyre.ir.node import Assign, Let
from vyre.ir.walk import statements

_NOTHING = Variation(frozenset(), frozenset())


def define(parts: Parts) -> Iterator[str]:
    """The text of every function that was called, and of those that they call in turn."""
    done: set[Needed] = set()
    while left := [needed for needed in parts.needed if needed not in done]:
        for needed in left:
            done.add(needed)
            yield _function(parts, needed)


def _function(parts: Parts, needed: Needed) -> str:
    op, dtype, width = needed
    found = definition(op, dtype)
    assert found is not None, f"{op.name} of {dtype} was called, and has no definition"
    b = Builder(parts, width)
    shape = Shape.VECTOR if width > 1 else Shape.UNIFORM
    body = Body(b, _context(found, width), end="end")
    for number, name in enumerate(found.parameters):
        body.names[name] = Value(dtype, shape, (f"%a{number}",))
    for node in found.body:  # not as a list, whose names would end with it
        body.step(node)
    result = body.expr(found.result)
    value = b.vectors(result) if width > 1 else result
    kind = b.type(dtype, shape)
    parameters = ", ".join(f"{kind} %a{number}" for number in range(len(found.parameters)))
    head = f"internal {kind} @{function_name(needed)}"
    return function(head, parameters, b, result=f"{kind} {value.registers[0]}")


def _context(found: Definition, width: int) -> Context:
    named = [node for node in statements(found.body) if isinstance(node, (Let, Assign))]
    names = frozenset(node.name for node in named) if width > 1 else frozenset()
    return Context(
        buffers={},
        scalars={},
        ids=_outside,
        is_free=_outside,
        across=Variation(names | set(found.parameters), frozenset(), frozenset()),
        down=_NOTHING,
        assigned=frozenset(node.name for node in named if isinstance(node, Assign)),
        read_names=frozenset(),
    )


def _outside(*asked: object) -> NoReturn:
    raise AssertionError(f"a function asks for {asked}, which is none of its parameters")
