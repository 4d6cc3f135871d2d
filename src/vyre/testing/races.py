"""Programs to try an analysis on: each races or depends on the launch shape, and says why.

They are the race-free programs of `vyre.testing.programs` with one fault planted in them, so that
the fault stands among statements that are in order. No schedule of them is free: the analysis must
refuse each one, for good or for the launch that comes with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from random import Random

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from vyre.ir.build import (
    assign,
    atomic,
    barrier,
    block,
    call,
    cast,
    f32,
    gid,
    i32,
    if_,
    let,
    lit,
    load,
    local_id,
    loop,
    select,
    store,
    u32,
    var,
    while_,
    workgroup_id,
    workgroup_size,
)
from vyre.ir.declare import BufferDecl, Dim3, Options
from vyre.ir.expr import (
    AtomicOp,
    Binary,
    BinaryOp,
    Expr,
    OpaqueExpr,
    Ordering,
    Subgroup,
    SubgroupOp,
)
from vyre.ir.node import (
    AllGather,
    AllReduce,
    AsyncCopy,
    AsyncWait,
    Broadcast,
    CollectiveOp,
    IndirectDispatch,
    Node,
    OpaqueNode,
    ReduceScatter,
    Region,
    Resume,
    Trap,
)
from vyre.ir.program import Program
from vyre.ir.types import DataType
from vyre.testing.programs import grow

PLACE, SUM, TABLE, TILE = "place", "sum_f32", "table", "tile"
"""What the faults touch: a buffer of u32, one of f32, an input, and workgroup memory."""

_ME = var("me")  # bound by every race-free program: no two invocations share it


def _mod(left: Expr, right: Expr) -> Expr:
    return Binary(BinaryOp.MOD, left, right)


def _put(index: Expr, value: Expr = _ME) -> Node:
    return store(PLACE, index, value)


def _add(index: Expr, value: Expr = _ME, op: AtomicOp = AtomicOp.ADD) -> Expr:
    return atomic(op, PLACE, index, value)


_SHAPE: Mapping[str, tuple[Node, ...]] = {
    "it stores its local id": (_put(_ME, local_id(0)),),
    "its workgroup's id decides": (if_(workgroup_id(0).eq(1), [_put(_ME)]),),
    "it counts in workgroups": (_put(_ME, workgroup_size(0) * 2),),
    "a barrier waits for a workgroup": (barrier(),),
    "a barrier waits for the grid": (barrier(Ordering.GRID_SYNC),),
    "it adds over a subgroup": (let("bad", Subgroup(SubgroupOp.ADD, (_ME,))),),
    "it asks for its lane": (_put(_ME, Subgroup(SubgroupOp.LOCAL_ID)),),
    "it shuffles": (let("bad", Binary(BinaryOp.SHUFFLE, _ME, u32(1))),),
    "it votes": (let("bad", Binary(BinaryOp.BALLOT, _ME, u32(1))),),
    "the device says how many workgroups run": (IndirectDispatch(PLACE, 0),),
    "it calls what cannot be seen": (_put(_ME, call("some.operation", _ME)),),
    "an unknown expression": (_put(_ME, OpaqueExpr("some.extension", b"\x01")),),
    "an unknown statement": (OpaqueNode("some.extension", b"\x01"),),
    "a copy runs beside it": (
        AsyncCopy(False, TABLE, PLACE, u32(0), u32(1), "t"),
        AsyncWait("t"),
    ),
    "it traps": (Trap(_ME, "t"), Resume("t")),
    "a sum over devices": (AllReduce(PLACE, CollectiveOp.SUM),),
    "a collection from devices": (AllGather(TABLE, PLACE),),
    "a share of a sum over devices": (ReduceScatter(TABLE, PLACE, CollectiveOp.MAX),),
    "a broadcast": (Broadcast(PLACE, 0),),
    "an atomic that nobody specified": (let("bad", _add(_ME, _ME, AtomicOp.LRU_UPDATE)),),
}

_RACES: Mapping[str, tuple[Node, ...]] = {
    "all write one element": (_put(u32(0)),),
    "pairs write one element": (_put(_ME // u32(2)),),
    "every third writes one element": (_put(_mod(_ME, u32(3))),),
    "the last few write one element": (_put(Binary(BinaryOp.MIN, _ME, u32(1))),),
    "a choice of two elements": (_put(select(_ME < 2, u32(0), u32(1))),),
    "an input says where": (_put(load(TABLE, _ME)),),
    "the index wraps around": (_put(_ME << u32(31)),),
    "a signed index wraps around": (_put(cast(DataType.I32, _ME) * i32(-(1 << 31))),),
    "two widths of one factor": (
        _put(cast(DataType.U64, _ME) * lit(DataType.U64, 1 << 33), u32(1)),
        _put((_ME << u32(31)) << u32(2)),
    ),
    "a small constant that wrapped before it was widened": (
        _put(_ME * 256 + cast(DataType.U32, lit(DataType.U8, 200) + lit(DataType.U8, 100))),
        _put(_ME * 256 + 300),
    ),
    "runs overlap": (loop("bad", 0, 3, [_put(_ME * 2 + var("bad"))]),),
    "runs overlap in two loops": (
        loop("bad", 0, 4, [_put(_ME * 4 + var("bad"))]),
        loop("worse", 2, 6, [_put(_ME * 4 + var("worse"))]),
    ),
    "runs overlap in two loops of one round": (
        loop("bad", 0, 1, [_put(_ME * 4 + var("bad"))]),
        loop("worse", 4, 5, [_put(_ME * 4 + var("worse"))]),
    ),
    "a loop whose start wrapped": (
        loop("bad", u32(0xFFFF_FFFF) + u32(1), 2, [_put(_ME + var("bad"))]),
    ),
    "one comes from each end": (_put(_ME, u32(1)), _put(u32(3) - _ME)),
    "two guards, one element": (
        if_(_ME.eq(0), [_put(u32(0), u32(1))]),
        if_(_ME.eq(1), [_put(u32(0), u32(2))]),
    ),
    "a guard for each round": (loop("bad", 0, 4, [if_(_ME.eq(var("bad")), [_put(u32(0))])]),),
    "a guard that wraps": (if_((_ME << u32(31)).eq(0), [_put(u32(0))]),),
    "the other side of a guard": (if_(_ME.eq(0), [], [_put(u32(0))]),),
    "a guard that all may pass": (if_((_ME < 3), [_put(u32(0))]),),
    "a name that changed": (let("bad", _ME), assign("bad", u32(0)), _put(var("bad"))),
    "a name that changes in a loop": (
        let("bad", u32(0)),
        while_(var("bad") < 2, [assign("bad", var("bad") + 1), _put(var("bad"))]),
    ),
    "halves that overlap": (_put(_ME), _put(_ME + 2)),
    "digits that are too short": (_put(_mod(_ME, u32(2)) + _ME // u32(2)),),
    "bits that meet": (_put(_ME | u32(1)),),
    "an exclusive or with itself": (_put(_ME ^ _ME),),
    "a number that a narrow type has twice": (
        _put(cast(DataType.U32, cast(DataType.U8, _ME * 128))),
    ),
    "a name that was halved": (let("bad", _ME), assign("bad", _ME // u32(2)), _put(var("bad"))),
    "two ways to one element": (if_(_ME < 2, [_put(_ME)], [_put(_ME - 2)]),),
    "one element of what varies": (_put(u32(0), load(TABLE, u32(0))), _put(u32(0), _ME)),
    "two cells that are one": (
        _put(u32(0), load(TABLE, u32(0))),
        if_(_ME.eq(1), [_put(u32(0), _ME)]),
    ),
    "it reads its neighbour": (_put(_ME, load(PLACE, _ME + 1)),),
    "it reads the first": (_put(_ME, load(PLACE, u32(0))),),
    "it reads anywhere": (_put(_ME, load(PLACE, load(TABLE, _ME))),),
    "one writes what all read": (
        let("bad", load(PLACE, u32(0))),
        if_(_ME.eq(0), [_put(u32(0), var("bad") + 1)]),
    ),
    "floats are added in some order": (let("bad", atomic(AtomicOp.ADD, SUM, 0, f32(0.1))),),
    "the last exchange stays": (let("bad", _add(u32(0), _ME, AtomicOp.EXCHANGE)),),
    "the first exchange wins": (
        let("bad", atomic(AtomicOp.COMPARE_EXCHANGE, PLACE, 0, _ME, u32(0))),
    ),
    "nand in some order": (let("bad", _add(u32(0), _ME, AtomicOp.FETCH_NAND)),),
    "it takes a ticket": (let("ticket", _add(u32(0), u32(1))), _put(_ME + 1, var("ticket"))),
    "it stores a ticket": (_put(_ME + 1, _add(u32(0), u32(1))),),
    "two atomics that do not mix": (
        let("bad", _add(u32(0))),
        let("worse", _add(u32(0), _ME, AtomicOp.XOR)),
    ),
    "it reads a sum as it grows": (let("bad", _add(u32(0))), _put(_ME + 1, load(PLACE, u32(0)))),
    "it stores over a sum": (let("bad", _add(u32(0))), _put(u32(0), u32(3))),
    "two constants": (_put(u32(0), u32(1)), if_(_ME < 2, [_put(u32(0), u32(2))])),
}

_ROWS: Mapping[str, tuple[Node, ...]] = {
    "rows meet": (_put(gid(0), gid(1)),),
    "diagonals meet": (_put(gid(0) + gid(1), gid(0)),),
    "rows are too short": (_put(gid(1) * 2 + gid(0), gid(0)),),
    "a guard that a whole row passes": (if_(gid(1).eq(0), [_put(u32(0), gid(0))]),),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Racing:
    """A faulty program, a launch of it that shows the fault, and which fault it is."""

    program: Program
    arrays: Mapping[str, NDArray[np.generic]]
    extent: Dim3
    why: str


def racing(*, size: int = 12) -> st.SearchStrategy[Racing]:
    """A strategy over programs that are not free."""
    return st.integers(0, 2**32 - 1).map(lambda seed: generate_racing(Random(seed), size))


def generate_racing(rng: Random, size: int = 12) -> Racing:
    """One program that is not free; the same generator state gives the same one."""
    case = grow(rng, size)
    while prod(case.extent) < 4 or case.extent[0] < 3:
        case = grow(rng, size)
    faults = {**_SHAPE, **_RACES, **(_ROWS if case.extent[1] > 2 else {})}
    whole = ("its author says that it is not composable", "workgroup memory", "a partial promise")
    why = rng.choice((*faults, *whole))
    count = len(case.program.buffers)
    buffers = [
        *case.program.buffers,
        BufferDecl.read_write(PLACE, count, DataType.U32),
        BufferDecl.read_write(SUM, count + 1, DataType.F32),
        BufferDecl.read(TABLE, count + 2, DataType.U32),
    ]
    options = Options()
    planted = faults.get(why, ())
    if why == "workgroup memory":
        buffers.append(BufferDecl.workgroup(TILE, 8, DataType.U32))
        planted = (store(TILE, 0, _ME),)
    elif why == "a partial promise":
        # That writes are unique says nothing of who reads what is written.
        options = Options(unique_writes=(PLACE,))
        planted = (
            let("seen", load(PLACE, load(TABLE, _ME))),
            if_(_ME.eq(0), [store(PLACE, load(TABLE, _ME), var("seen") + 1)]),
        )
    program = Program.wrapped(
        buffers, case.program.workgroup_size, _plant(rng, case.program, planted), options
    )
    if why.startswith("its author"):
        program = replace(program, non_composable=True)
    length = 4 * prod(case.extent) + 512
    arrays = {
        **case.arrays,
        PLACE: np.zeros(length, np.uint32),
        SUM: np.zeros(length, np.float32),
        TABLE: np.zeros(length, np.uint32),
    }
    return Racing(program=program, arrays=arrays, extent=case.extent, why=why)


def _plant(rng: Random, program: Program, fault: tuple[Node, ...]) -> tuple[Node, ...]:
    """The program's statements with `fault` near the front, where nobody has returned yet."""
    (root,) = program.entry
    assert isinstance(root, Region)
    first, *rest = root.body
    match rng.randint(0, 3):
        case 0:
            fault = (block(fault),)
        case 1:
            fault = (loop("once", 0, 1, fault),)
        case 2:
            fault = (if_(_ME < 0xFFFF_FFFF, fault),)
        case _:
            pass
    return (first, *fault, *rest)
