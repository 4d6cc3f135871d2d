"""Programs whose author names several workgroups: the program of one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import numpy as np

from vyre.errors import InvalidInput
from vyre.ir.arithmetic import BINARY
from vyre.ir.declare import BufferDecl, Dim3, Named
from vyre.ir.expr import Binary, BufDim, BufLen, Expr, Id, IdKind, Lit, Var
from vyre.ir.node import Node
from vyre.ir.program import Program
from vyre.ir.types import DataType
from vyre.ir.walk import rebuild_node


def workgroups_of(program: Program) -> tuple[Dim3, ...]:
    """The workgroups that its author names, the declared one first; none where none are."""
    return tuple(one.workgroup for one in program.options.among)


def declared_for(program: Program, workgroup: Dim3) -> Program:
    """The program with what it declares as it is in one of the workgroups that are named.

    Its statements are the very same, so that whoever knows where they are written still does.

    Raises:
        InvalidInput: that workgroup is not named.
    """
    for one in program.options.among:
        if one.workgroup == workgroup:
            break
    else:
        known = ", ".join(map(str, workgroups_of(program))) or f"{program.workgroup_size} alone"
        raise InvalidInput(
            f"workgroup {workgroup} of a program that is for {known}", "use one of these"
        )
    return replace(
        program,
        workgroup_size=workgroup,
        buffers=tuple(_resized(decl, one) for decl in program.buffers),
        options=replace(program.options, among=()),
    )


def program_for(program: Program, workgroup: Dim3) -> Program:
    """The program of one of the workgroups that are named, its sizes written as numbers.

    Made once for each.
    """
    key = f"for {workgroup}"
    if key not in program._memo:
        declared = declared_for(program, workgroup)
        program._memo[key] = replace(
            declared, entry=tuple(_numbered(node, declared) for node in declared.entry)
        )
    made: Program = program._memo[key]
    return made


def compiled_for(program: Program, workgroup: Dim3 | None) -> Program:
    """What is compiled of a program: for a workgroup that is named, the program of that one."""
    if workgroup is None or not program.options.among:
        return program
    return program_for(program, workgroup)


def size_in(
    expr: Expr,
    workgroup: Dim3,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    known: Mapping[str, Expr] | None = None,
) -> int | None:
    """What an expression of sizes comes to in one workgroup; None where it is of anything else.

    Args:
        expr: of u32 numbers.
        workgroup: which one.
        shapes: of workgroup memory there, by name.
        known: what names stand for that are given a value once.
    """
    match expr:
        case Lit():
            return int(expr.value)
        case Id(IdKind.WORKGROUP_SIZE, axis):
            return workgroup[axis]
        case BufLen(name) if shapes and name in shapes:
            return prod(shapes[name])
        case BufDim(name, axis) if shapes and name in shapes:
            return shapes[name][axis]
        case Var(name) if known and name in known:
            others = {other: value for other, value in known.items() if other != name}
            return size_in(known[name], workgroup, shapes, others)
        case Binary(op, left, right) if op in BINARY:
            sides = [size_in(side, workgroup, shapes, known) for side in (left, right)]
            if None in sides:
                return None
            a, b = (np.asarray(side, np.uint32) for side in sides)
            with np.errstate(all="ignore"):
                return int(BINARY[op](a, b))
        case _:
            return None


def _resized(decl: BufferDecl, one: Named) -> BufferDecl:
    extents = dict(one.extents).get(decl.name) if decl.is_shared else None
    if extents is None:
        return decl
    return decl.with_count(extents[0]) if len(extents) == 1 else decl.with_shape(*extents)


def _numbered(node: Node, program: Program) -> Node:
    """A statement with the sizes of the workgroup, and of its memory, as literals."""
    shared = {decl.name: decl for decl in program.buffers if decl.is_shared}

    def number(expr: Expr) -> Expr:
        match expr:
            case Id(IdKind.WORKGROUP_SIZE, axis):
                return Lit.of(DataType.U32, program.workgroup_size[axis])
            case BufLen(name) if name in shared:
                return Lit.of(DataType.U32, shared[name].count)
            case BufDim(name, axis) if name in shared:
                decl = shared[name]
                return Lit.of(DataType.U32, (decl.shape or (decl.count,))[axis])
            case _:
                return expr

    return rebuild_node(node, number)
