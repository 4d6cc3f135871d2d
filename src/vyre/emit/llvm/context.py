"""What a program's statements mean where they are emitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from vyre.emit.lanes import Variation
from vyre.emit.llvm.memory import Buffer
from vyre.emit.llvm.values import StagedAt, Value
from vyre.ir.expr import Expr, IdKind

Access = tuple[str, str, Expr]
"""A buffer, the statement that touches it, and its index."""

Ids = Callable[[IdKind, int], Value]
IsFree = Callable[[str, str, Expr], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a program's statements mean where they are emitted."""

    buffers: Mapping[str, Buffer]
    scalars: Mapping[str, Value]
    ids: Ids
    is_free: IsFree  # whether an access of a buffer, in a statement, at an index needs no check
    across: Variation  # what differs between lanes
    down: Variation  # what differs between rows
    assigned: frozenset[str]  # names that are given more than one value
    read_names: frozenset[str]
    unroll: int = 1
    turn: int = 0
    guarded: frozenset[Access] = frozenset()  # what needs none where lanes come to it
    staged: Mapping[Access, StagedAt] = field(default_factory=dict)
    share: Value | None = None  # a workgroup's number among those of one result
