"""Which loops several rounds may be written out of, whatever a compiler does by itself."""

from __future__ import annotations

from collections.abc import Iterator

from vyre.ir.expr import (
    Atomic,
    Binary,
    Call,
    Cast,
    Element,
    Expr,
    Fma,
    Id,
    Lit,
    Load,
    OpaqueExpr,
    Put,
    Select,
    Subgroup,
    Unary,
    Var,
)
from vyre.ir.node import Assign, Block, If, Let, Loop, Node, Reduce, While
from vyre.ir.program import Program
from vyre.ir.walk import all_expressions, expressions, size_of, statements

ACTS = (Atomic, Call, OpaqueExpr, Subgroup)
"""Expressions that do something, or of which nobody here knows that they do not."""

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
    short = short or any(isinstance(part, Put) for part in parts)  # an array is not chosen whole
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


MOST_WRITTEN_OUT = 4_096
"""Statements and expressions that may come of a loop over the elements of an array."""


def is_of_elements(loop: Loop) -> bool:
    """Whether it is a short loop whose counter is an index into an array of the invocation's own.

    Compilers are to write it out, whatever a code says: an element is a register only where every
    index is a number.
    """
    rounds = rounds_of(loop)
    if rounds is None or not 0 < rounds <= _MOST_ROUNDS:
        return False
    moved, data = {loop.var}, set[str]()
    found = False
    for node in statements(loop.body):
        if isinstance(node, Assign) or (isinstance(node, Let) and _is_data(node.value, data)):
            data.add(node.name)
        elif isinstance(node, Let) and _uses(node.value, moved):
            moved.add(node.name)
        parts = (part for part in expressions(node) if isinstance(part, (Element, Put)))
        indices = (at for part in parts if isinstance(part.array, Var) for at in part.indices)
        found = found or any(_uses(at, moved) and not _is_data(at, data) for at in indices)
    return found and _written_out_parts(loop) <= MOST_WRITTEN_OUT


_MOST_ROUNDS = 64


def _uses(expr: Expr, names: set[str]) -> bool:
    return any(isinstance(part, Var) and part.name in names for part in expressions(expr))


def _is_data(expr: Expr, names: set[str]) -> bool:
    """Whether it is no number even where counters are."""
    return _uses(expr, names) or any(isinstance(part, _KNOWN_LATE) for part in expressions(expr))


_KNOWN_LATE = (*ACTS, Load, Element, Id)


def _written_out_parts(loop: Loop) -> int:
    """The parts of a loop's rounds, those of such loops inside it written out as well."""
    rounds = rounds_of(loop) or 1
    inner = sum(
        _written_out_parts(node) if isinstance(node, Loop) else size_of((node,)).parts
        for node in loop.body
    )
    return rounds * inner


def is_innermost(loop: Loop) -> bool:
    """Whether nothing else with rounds is in its own."""
    return not any(isinstance(node, (Loop, Reduce, While)) for node in statements(loop.body))


def only_computes(loop: While) -> bool:
    """Whether nothing but names changes by its rounds, or by asking whether there is another."""
    parts = (*expressions(loop.cond), *all_expressions(loop.body))
    plain = all(isinstance(node, (Let, Assign)) for node in statements(loop.body))
    return plain and not any(isinstance(part, ACTS) for part in parts)
