"""Which loops several rounds may be written out of, whatever a compiler does by itself."""

from __future__ import annotations

from collections.abc import Iterator

from vyre.ir.expr import (
    Atomic,
    Binary,
    Call,
    Cast,
    Fma,
    Lit,
    Load,
    OpaqueExpr,
    Select,
    Subgroup,
    Unary,
    Var,
)
from vyre.ir.node import Assign, Block, If, Let, Loop, Node, Reduce, While
from vyre.ir.program import Program
from vyre.ir.walk import all_expressions, expressions, statements

_ACTS = (Atomic, Call, OpaqueExpr, Subgroup)
_OPERATIONS = (Binary, Unary, Fma, Select, Cast)


def loops_to_unroll(program: Program) -> Iterator[Loop | While]:
    """The counted loops with none inside, and those that only compute."""
    for node in statements(program.entry):
        match node:
            case Loop() if is_innermost(node):
                yield node
            case While() if only_computes(node):
                yield node
            case _:
                pass


def rounds_of(loop: Loop | While) -> int | None:
    """How often a loop is gone through, at most, where the program says so."""
    if isinstance(loop, While) or not isinstance(loop.start, Lit) or not isinstance(loop.stop, Lit):
        return None
    return max(0, int(loop.stop.value) - int(loop.start.value))


_FEW = 13
"""Operations of a round that compilers make instructions which take effect or not (ptxas 13)."""


def turn_of(program: Program, loop: While, rounds: int) -> tuple[Node, ...]:
    """The statements before a loop goes back: so many rounds, or one where it may not be more.

    Each is a condition of the next one. Where rounds only compute, no lane has to go back for it,
    or to wait for one that does: a short round is an instruction or two that take effect or not,
    and a longer one is computed whatever comes of it, and then taken or left.
    """
    if rounds < 2 or not only_computes(loop):
        return loop.body
    parts = (*expressions(loop.cond), *all_expressions(loop.body))
    short = sum(isinstance(part, _OPERATIONS) for part in parts) <= _FEW
    loaded = {part.buffer for part in parts if isinstance(part, Load)}
    goes = _free_name(program)
    if short or not all(program.buffer(name).is_scalar_argument for name in loaded):
        then: tuple[Node, ...] = (If(Var(goes), loop.body, ()),)
    else:
        then = tuple(
            Assign(node.name, Select(Var(goes), node.value, Var(node.name)))
            if isinstance(node, Assign)
            else node
            for node in loop.body
        )
    # The condition has a statement of its own, so that no proof of one that reads alike is its.
    return (Block(loop.body), *[Block((Let(goes, loop.cond), *then))] * (rounds - 1))


def _free_name(program: Program) -> str:
    """A name that nothing in a program has."""
    nodes = tuple(statements(program.entry))
    taken = {node.var for node in nodes if isinstance(node, (Loop, Reduce))}
    taken |= {node.name for node in nodes if isinstance(node, (Let, Assign, Reduce))}
    name = "goes"
    while name in taken:
        name += "_"
    return name


def is_innermost(loop: Loop) -> bool:
    """Whether nothing else with rounds is in its own."""
    return not any(isinstance(node, (Loop, Reduce, While)) for node in statements(loop.body))


def only_computes(loop: While) -> bool:
    """Whether nothing but names changes by its rounds, or by asking whether there is another."""
    parts = (*expressions(loop.cond), *all_expressions(loop.body))
    plain = all(isinstance(node, (Let, Assign)) for node in statements(loop.body))
    return plain and not any(isinstance(part, _ACTS) for part in parts)
