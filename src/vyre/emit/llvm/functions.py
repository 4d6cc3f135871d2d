"""Calls of elementary functions: a module holds each once, for the width it calls it at."""

from __future__ import annotations

from vyre.emit.llvm.builder import Builder
from vyre.emit.llvm.values import Shape, Value
from vyre.ir.expr import BinaryOp, UnaryOp
from vyre.ir.types import DataType

Needed = tuple[UnaryOp | BinaryOp, DataType, int]
"""A function, its type, and for how many lanes."""


def call(builder: Builder, op: UnaryOp | BinaryOp, *values: Value) -> Value:
    """The function `op` of values, which the module will define."""
    shape, given = builder.alike(*values)
    dtype = given[0].dtype
    width = builder.width if shape is Shape.VECTOR else 1
    builder.parts.needed[op, dtype, width] = None
    kind = builder.type(dtype, shape)
    name = function_name((op, dtype, width))

    def make(*registers: str) -> str:
        arguments = ", ".join(f"{kind} {register}" for register in registers)
        return builder.op(f"call {kind} @{name}({arguments})")

    return builder.map(dtype, shape, make, *given)


def function_name(needed: Needed) -> str:
    """What the module calls it."""
    op, dtype, width = needed
    return f"{op.name.lower()}_{dtype}_{width}"
