"""Statements: what an invocation does, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum

from vyre.ir.expr import Expr, Ordering
from vyre.ir.types import DataType

ROOT_GENERATOR = "vyre.program.root"


class CollectiveOp(IntEnum):
    """How a collective combines; the value is the wire tag."""

    SUM = 0x01
    MIN = 0x02
    MAX = 0x03
    BIT_AND = 0x04
    BIT_OR = 0x05
    BIT_XOR = 0x06


class ReduceOp(Enum):
    """How the elements of a reduction come together; the value is the wire tag."""

    SUM = 0x01
    PROD = 0x02
    MIN = 0x03
    MAX = 0x04
    ANY = 0x05
    ALL = 0x06
    ARGMIN = 0x07
    ARGMAX = 0x08

    @property
    def finds(self) -> bool:
        """Whether the result is where an element stands, not what it is."""
        return self in (ReduceOp.ARGMIN, ReduceOp.ARGMAX)


NOWHERE = 0xFFFF_FFFF
"""Where the least or the greatest of no elements at all stands."""


class Node:
    """Any statement."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Let(Node):
    """Binds a new name until the end of the enclosing list.

    An atomic whose result nobody needs is bound to a name nobody reads.
    """

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Assign(Node):
    """Gives a bound name a new value of the same type."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Store(Node):
    """Writes one element; out of bounds nothing happens."""

    buffer: str
    index: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class If(Node):
    """Runs one of two lists."""

    cond: Expr
    then: tuple[Node, ...]
    otherwise: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Loop(Node):
    """Counts `var` from `start` up to, not including, `stop`; both are evaluated once."""

    var: str
    start: Expr
    stop: Expr
    body: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class While(Node):
    """Repeats while `cond` holds: an extension."""

    cond: Expr
    body: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Break(Node):
    """Leaves the innermost loop: an extension."""


@dataclass(frozen=True, slots=True)
class Continue(Node):
    """Goes on with the next round of the innermost loop: an extension."""


@dataclass(frozen=True, slots=True)
class Reduce(Node):
    """Binds `name` to what the elements of `rounds` rounds come to: an extension.

    `var` counts rounds from 0, in u32, and `rounds` is evaluated once. Each round has one element
    of type `dtype`, or none: what its `body` yields. The body computes, and has no effects. The
    order in which elements come together is fixed by their rounds; see `vyre.ir.fold`.
    """

    name: str
    op: ReduceOp
    dtype: DataType
    var: str
    rounds: Expr
    body: tuple[Node, ...]

    @property
    def result(self) -> DataType:
        """The type of what is bound: a round, or an element."""
        return DataType.U32 if self.op.finds else self.dtype


@dataclass(frozen=True, slots=True)
class Yield(Node):
    """Gives the element of this round of the innermost reduction, at its body's end: an extension.

    It stands last in the body, or last in one side of an `If` that stands there: a round in which
    it is not reached has no element.
    """

    value: Expr


@dataclass(frozen=True, slots=True)
class Return(Node):
    """Ends this invocation."""


@dataclass(frozen=True, slots=True)
class Block(Node):
    """A list with its own names."""

    body: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Region(Node):
    """A named list with provenance and its own names."""

    generator: str
    body: tuple[Node, ...]
    source_region: str | None = None


@dataclass(frozen=True, slots=True)
class Barrier(Node):
    """Waits for the workgroup, or with `GRID_SYNC` for the whole grid."""

    ordering: Ordering = Ordering.SEQ_CST


@dataclass(frozen=True, slots=True)
class Meet(Node):
    """Waits for the other lanes of a row of a team, and sees what they have stored.

    This and the next stand in forms of programs that devices alone see.
    """


@dataclass(frozen=True, slots=True)
class Arrive(Node):
    """Binds `name` to whether a workgroup is the last to come here of those that share a result.

    The last one sees what all others have stored before. They are counted in an element of a
    buffer, which is 0 before and after.
    """

    name: str
    shares: int
    buffer: str
    index: Expr


@dataclass(frozen=True, slots=True)
class IndirectDispatch(Node):
    """Takes the workgroup counts from a buffer."""

    count_buffer: str
    count_offset: int


@dataclass(frozen=True, slots=True)
class AsyncCopy(Node):
    """Starts an asynchronous load, or store, between two buffers."""

    is_store: bool
    source: str
    destination: str
    offset: Expr
    size: Expr
    token: str


@dataclass(frozen=True, slots=True)
class AsyncWait(Node):
    """Waits for the copy of that token."""

    token: str


@dataclass(frozen=True, slots=True)
class Trap(Node):
    """Stops with an address and a tag: an assertion that failed is one.

    The invocation ends there, and the launch is an error. In a program that runs whole workgroups
    it goes on, because others wait for it; the launch is an error all the same.
    """

    address: Expr
    token: str


@dataclass(frozen=True, slots=True)
class Resume(Node):
    """Goes on after a trap."""

    token: str


@dataclass(frozen=True, slots=True)
class Print(Node):
    """Says a line of text with values in it: an extension.

    `texts` stand before, between and behind the values, so there is one more of them. A value is of
    the type named beside it, and shown by a format of Python's, empty for the plain one.
    """

    texts: tuple[str, ...]
    values: tuple[Expr, ...] = ()
    dtypes: tuple[DataType, ...] = ()
    formats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AllReduce(Node):
    """Combines a buffer across a group of devices."""

    buffer: str
    op: CollectiveOp
    group: int = 0


@dataclass(frozen=True, slots=True)
class AllGather(Node):
    """Collects a buffer from a group of devices."""

    source: str
    destination: str
    group: int = 0


@dataclass(frozen=True, slots=True)
class ReduceScatter(Node):
    """Combines across a group and leaves each device its part."""

    source: str
    destination: str
    op: CollectiveOp
    group: int = 0


@dataclass(frozen=True, slots=True)
class Broadcast(Node):
    """Copies a buffer from one device of a group to all."""

    buffer: str
    root: int
    group: int = 0


@dataclass(frozen=True, slots=True)
class OpaqueNode(Node):
    """An extension that this version does not know, kept byte for byte."""

    kind: str
    payload: bytes
