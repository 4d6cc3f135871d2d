"""Whether a program sets every element of an output, so that what it held before does not show."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from vyre.analysis.aliasing import own_position
from vyre.analysis.forms import Linear
from vyre.analysis.reader import STORE, Touch, read
from vyre.ir.node import (
    Assign,
    Barrier,
    Block,
    Break,
    Continue,
    If,
    Let,
    Loop,
    Node,
    Print,
    Reduce,
    Region,
    Store,
    While,
    Yield,
)
from vyre.ir.program import Program
from vyre.ir.types import DataType
from vyre.ir.walk import statements

_FOLLOWED = (
    *(Let, Assign, Store, If, Loop, While, Break, Continue),
    *(Reduce, Yield, Block, Region, Barrier, Print),
)
"""Statements after which an invocation goes on, and which write what they say and nothing else."""


@lru_cache(maxsize=1024)
def sets_all(program: Program, rank: int, name: str) -> bool:
    """Whether every invocation sets its own element of buffer `name`, and nothing reads it.

    It holds for any dispatch over the buffer's own shape, of `rank` axes. Only a store that no
    condition guards counts, at the invocation's own position.
    """
    if program.buffer(name).count:  # of a shape of its own, whatever is covered
        return False
    if not all(isinstance(node, _FOLLOWED) for node in statements(program.entry)):
        return False
    touches = [touch for touch in read(program).touches if touch.buffer == name]
    if not all(touch.kind == STORE for touch in touches):
        return False
    # A name may be another position in another scope, so all that reads alike must be one's own.
    return any(
        all(_is_own(touch, rank) for touch in touches if touch.index == store.index)
        for store in _by_all(program.entry)
        if store.buffer == name
    )


def _by_all(nodes: tuple[Node, ...]) -> Iterator[Store]:
    """The stores that every invocation comes by, once."""
    for node in nodes:
        match node:
            case Store():
                yield node
            case Block(body) | Region(body=body):
                yield from _by_all(body)
            case _:
                pass


def _is_own(touch: Touch, rank: int) -> bool:
    """Whether an index is the invocation's own position, in a type that holds all of them."""
    return own_position(touch) == tuple(range(rank - 1, -1, -1)) and all(
        isinstance(form, Linear) and form.dtype is DataType.U32 for form in touch.indices
    )
