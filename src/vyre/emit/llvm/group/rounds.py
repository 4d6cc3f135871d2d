"""Rounds that some lanes end before others, written with a flag: no lane jumps past the rest.

Where lanes meet at a barrier, the code of a loop's round runs phase by phase for all of them, and a
jump would take them all along.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from vyre.ir.build import bool_, if_, let
from vyre.ir.expr import Expr, Unary, UnaryOp, Var
from vyre.ir.node import Assign, Barrier, Block, Continue, If, Loop, Node, Region, Return, While
from vyre.ir.program import Program
from vyre.ir.walk import statements

Nodes = tuple[Node, ...]


def with_flags(program: Program) -> Program:
    """The program with an assignment for each `continue`, and a test before what it would skip."""
    if not any(isinstance(node, Continue) for node in statements(program.entry)):
        return program
    taken = {
        name
        for node in statements(program.entry)
        for name in (getattr(node, "name", None), getattr(node, "var", None))
    }
    return replace(program, entry=_outside(program.entry, _unused(taken)))


def _unused(taken: set[str | None]) -> Iterator[str]:
    """Names that a program has not; one for each loop, though none is seen where another is."""
    number = 0
    while True:
        name = f"continued{number}"
        if name not in taken:
            yield name
        number += 1


def _outside(nodes: Sequence[Node], names: Iterator[str]) -> Nodes:
    """Statements of no loop, or of one that has its flag."""
    return tuple(_inner(node, names) for node in nodes)


def _inner(node: Node, names: Iterator[str]) -> Node:
    match node:
        case Loop() | While():
            body = _outside(node.body, names)
            # Other loops run within a phase, where lanes have masks.
            together = any(isinstance(inner, (Barrier, Return)) for inner in statements(body))
            if together and any(map(_continues, body)):
                flag = next(names)
                body = (let(flag, bool_(False)), *_round(body, flag))
            return replace(node, body=body)
        case If():
            then, otherwise = (_outside(part, names) for part in (node.then, node.otherwise))
            return replace(node, then=then, otherwise=otherwise)
        case Block() | Region():
            return replace(node, body=_outside(node.body, names))
        case _:
            return node


def _continues(node: Node) -> bool:
    """Whether a statement may end the round of the loop around it."""
    match node:
        case Continue():
            return True
        case If(_, then, otherwise):
            return any(map(_continues, (*then, *otherwise)))
        case Block(body) | Region(body=body):
            return any(map(_continues, body))
        case _:
            return False


def _round(nodes: Nodes, flag: str) -> Nodes:
    """The statements of a round, or of a list in it."""
    for number, node in enumerate(nodes):
        if isinstance(node, Continue):
            return (*nodes[:number], Assign(flag, bool_(True)))
        if _continues(node):
            rest = _round(nodes[number + 1 :], flag)
            goes_on: Expr = Unary(UnaryOp.LOGICAL_NOT, Var(flag))
            return (*nodes[:number], _marked(node, flag), *([if_(goes_on, rest)] if rest else []))
    return nodes


def _marked(node: Node, flag: str) -> Node:
    match node:
        case If():
            then, otherwise = (_round(part, flag) for part in (node.then, node.otherwise))
            return replace(node, then=then, otherwise=otherwise)
        case Block() | Region():
            return replace(node, body=_round(node.body, flag))
        case _:
            raise AssertionError(f"{type(node).__name__} holds no list of a round")
