"""Teams that stand abreast: who does, where all of a workgroup wait, who stores, the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random

import numpy as np
import pytest

import vyre
from vyre import In, InOut, Out, f32, f64, i64, ir, u8, u32
from vyre.ir import BufferDecl, DataType, Program, ReduceOp
from vyre.ir.expr import Alike, Expr, FromLane, Id, IdKind, Lane, Var
from vyre.ir.node import Arrive, Assign, Barrier, If, Let, Loop, Meet, Node, Store, While
from vyre.ir.team import Team, group_bytes, team, why_none_abreast, why_not_shared
from vyre.ir.team.abreast import why_not_abreast
from vyre.ir.walk import all_expressions, expressions, statements
from vyre.model import Code, Schedule
from vyre.runtime.devices.device import Device
from vyre.testing import reducers
from vyre.testing.cuda_on_host import CudaOnHost, compiler
from vyre.testing.programs import generate
from vyre.testing.reducers import Call, deviations

POSITION = Id(IdKind.INVOCATION, 0)
COLUMN = Id(IdKind.LOCAL, 0)
ROUNDS = "its position along x, or what it stores to, says how many rounds there are"


@vyre.kernel
def by_name(x: In[f32, 3], sizes: In[u32], out: Out[f32, 2]):
    i, j = vyre.gid()
    count = sizes[i]
    out[i, j] = sum(x[i, k, j] for k in range(count))


@vyre.kernel
def by_load(x: In[f32, 3], sizes: In[u32], out: Out[f32, 2]):
    i, j = vyre.gid()
    out[i, j] = sum(x[i, k, j] for k in range(sizes[i]))


@vyre.kernel
def by_scalar(x: In[f32, 2], out: Out[f32], n: u32):
    j = vyre.gid()
    out[j] = sum(x[k, j] for k in range(n))


@vyre.kernel
def by_row(x: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid()
    out[i, j] = sum(x[k, j] for k in range(7 * i))


@vyre.kernel
def by_position(x: In[f32, 2], out: Out[f32]):
    j = vyre.gid()
    out[j] = sum(x[k, j] for k in range(j))


@vyre.kernel
def by_result(x: In[f32, 2], out: Out[f32]):
    j = vyre.gid()
    top = vyre.argmax(x[k, j] for k in range(len(x)))
    out[j] = sum(x[k, j] for k in range(top))


@vyre.kernel
def by_own(x: In[f32, 2], sizes: In[u32], out: Out[f32]):
    j = vyre.gid()
    out[j] = sum(x[k, j] for k in range(sizes[j]))


@vyre.kernel
def by_what_is_stored(x: In[f32, 3], sizes: InOut[u32], out: Out[f32, 2]):
    i, j = vyre.gid()
    out[i, j] = sum(x[i, k, j] for k in range(sizes[i]))
    sizes[i] = 3


@vyre.kernel
def accumulated(x: In[f32, 2], total: InOut[f32]):
    j = vyre.gid()
    total[j] += sum(x[k, j] for k in range(len(x)))


@vyre.kernel
def onto(x: In[f32, 2], y: In[f32], out: Out[f32]):
    j = vyre.gid()
    out[j] = y[j] - sum(x[k, j] for k in range(len(x)))


@vyre.kernel
def branches(x: In[f32, 2], out: Out[f32]):
    j = vyre.gid()
    total = sum(x[k, j] for k in range(len(x)))
    if total > 0:
        out[j] = total


@vyre.kernel
def hostile(
    value: In[f32, 2],
    lane: In[f64, 2],
    meeting: Out[f32],
    position: Out[u32],
    told: Out[f64],
    each: Out[u8],
    left: Out[i64],
    half: f32,
):
    whole = vyre.gid()
    own = sum(value[number, whole] * half for number in range(len(value)) if value[number, 0] < 1)
    meeting[whole] = own
    position[whole] = vyre.argmin(value[at, whole] for at in range(len(value)))
    joined = max(lane[some, whole] for some in range(len(lane)) if lane[some, whole] < 0.5)
    told[whole] = joined * sum(lane[other, whole] for other in range(1, len(lane), 3))
    each[whole] = u8(any(value[row, whole] > half for row in range(len(value))))
    left[whole] = sum(i64(vyre.u32(begin)) for begin in range(len(value)) if begin % 2 == 0)


ABREAST = [by_name, by_load, by_scalar, by_row, accumulated, onto, hostile, reducers.column_means]


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        *((kernel, None) for kernel in ABREAST),
        (reducers.residual, None),
        (by_position, ROUNDS),
        (by_result, ROUNDS),
        (by_own, ROUNDS),
        (by_what_is_stored, ROUNDS),
        (reducers.csr, ROUNDS),
        (branches, "it does more than to reduce, and to store what that comes to"),
        (reducers.softmax, "a team stands for a row of positions"),
        (reducers.dot, "it asks for no position along x"),
        (reducers.running, "it may read 'x' where it has stored to it"),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_who_stands_abreast(kernel, why):
    assert why_none_abreast(kernel.program) == why


def test_what_was_stored_says_no_rounds():
    """Not under a name, either: another workgroup may have stored to it by now."""
    rounds = ir.load("out", ir.u32(0))
    total = ir.reduce_(
        "s", ReduceOp.SUM, DataType.F32, "k", rounds=ir.var("n"), body=(ir.yield_(ir.f32(1)),)
    )
    nodes = (ir.let("n", rounds), total, ir.store("out", ir.gid(), ir.u32(1)))

    assert why_not_abreast(nodes) == ROUNDS
    assert why_not_abreast((ir.let("n", ir.u32(4)), *nodes[1:])) is None


def forms(program: Program) -> Iterator[Team]:
    """A program for teams abreast, few and many, of a result each or several of one."""
    for columns, shares in ((2, 1), (32, 1), (8, 4)):
        if shares == 1 or why_not_shared(program) is None:
            yield team(program, 32, shares, columns=columns)


def differing(nodes: tuple[Node, ...]) -> set[str]:
    """Names that lanes of a workgroup may have different values of."""
    names = set[str]()
    while True:
        known = len(names)
        for node in statements(nodes):
            match node:
                case Let(name, value) | Assign(name, value) if differs(value, names):
                    names.add(name)
                case Loop(name, start, stop) if differs(start, names) or differs(stop, names):
                    names.add(name)
        if len(names) == known:
            return names


def differs(expr: Expr, names: set[str]) -> bool:
    return any(
        isinstance(part, (Lane, FromLane))
        or part in (POSITION, COLUMN)
        or (isinstance(part, Var) and part.name in names)
        for part in expressions(expr)
    )


def waits(nodes: tuple[Node, ...]) -> bool:
    return any(isinstance(node, (Barrier, Meet, Arrive)) for node in statements(nodes))


def parting(nodes: tuple[Node, ...]) -> list[Node]:
    """Statements in which some of a workgroup would wait for others who do not come."""
    names, found = differing(nodes), list[Node]()
    for node in statements(nodes):
        match node:
            case If(condition, then, otherwise) if differs(condition, names):
                found += [node] if waits((*then, *otherwise)) else []
            case Loop(_, start, stop, body) if differs(start, names) or differs(stop, names):
                found += [node] if waits(body) else []
            case While():
                found += [node] if waits(node.body) else []
    return found


def stores_by_all(nodes: tuple[Node, ...], own: set[str]) -> list[Store]:
    """Stores to a program's own arrays that are not of one lane of each team within the extent."""
    guarded = {
        store
        for node in statements(nodes)
        if isinstance(node, If) and Lane() in list(expressions(node.cond))
        for store in statements(node.then)
        if isinstance(store, Store) and POSITION in list(expressions(node.cond))
    }
    every = (node for node in statements(nodes) if isinstance(node, Store))
    return [store for store in every if store.buffer in own and store not in guarded]


def programs() -> Iterator[Program]:
    yield from (kernel.program for kernel in ABREAST)
    yield from (generate(Random(seed), reductions=True).program for seed in range(150))


def test_all_of_a_workgroup_wait_and_one_lane_of_each_team_stores():
    several = [program for program in programs() if why_none_abreast(program) is None]

    assert len(several) > 30
    for program in several:
        own = {decl.name for decl in program.buffers}
        for form in forms(program):
            entry = form.program.entry
            assert parting(entry) == []
            assert stores_by_all(entry, own) == []
            told = [e for e in all_expressions(entry) if isinstance(e, (FromLane, Alike))]
            assert told == []
            assert not any(isinstance(node, Meet) for node in statements(entry))


def test_a_law_that_sees_who_does_not_come():
    """One lane waits alone, or as often as its number says, or stores what nobody else may."""
    one = If(Lane().eq(ir.u32(0)), (Barrier(),))
    often = (ir.let("n", Lane()), Loop("k", ir.u32(0), ir.var("n"), (Barrier(),)))
    store = ir.store("out", POSITION, ir.f32(1))

    assert parting((one,)) == [one]
    assert parting(often) == [often[1]]
    assert stores_by_all((store, If(Lane().eq(ir.u32(0)), (store,))), {"out"}) == [store] * 2


def test_memory_of_a_workgroup_is_two_parts_of_an_array_for_each_number():
    made = team(reducers.column_means.program, 32, columns=8).program

    assert group_bytes(made) == 2 * 32 * 8 * 4
    taken = Program.wrapped(
        [
            BufferDecl.read("meeting", 0, DataType.F32),
            BufferDecl.storage("position", 1, ir.Access.READ_WRITE, DataType.F32),
        ],
        (64, 1, 1),
        (
            ir.reduce_(
                "told",
                ReduceOp.SUM,
                DataType.F32,
                "each",
                rounds=ir.buf_len("meeting"),
                body=(ir.yield_(ir.load("meeting", ir.var("each") * POSITION)),),
            ),
            ir.store("position", POSITION, ir.var("told")),
        ),
    )
    names = [decl.name for decl in team(taken, 32, columns=2).program.buffers]
    assert len(set(names)) == len(names) == 3


# -- the same bits


@pytest.fixture(scope="module")
def host() -> Device:
    if compiler() is None:
        pytest.skip("no compiler of C++ for the host")
    return Device("cuda-on-host", CudaOnHost())


def call_of(kernel, rows: int, columns: int) -> Call:
    rng = np.random.default_rng(rows + columns)
    x = np.round(rng.normal(size=(rows, columns)), 1)
    x[rng.random(x.shape) < 0.1] = np.nan
    x[rng.random(x.shape) < 0.1] = -0.0
    inputs, total = {"x": x.astype(np.float32)}, np.full(columns, -0.0, np.float32)
    if kernel is accumulated:
        return Call(kernel=kernel, inputs=inputs, outputs={"total": total})
    if kernel is onto:
        y = {"y": rng.normal(size=columns).astype(np.float32)}
        outputs = {"out": total}
        return Call(kernel=kernel, inputs=inputs | y, outputs=outputs, shared={"out": "y"})
    made = {"meeting": "f4", "position": "u4", "told": "f8", "each": "u1", "left": "i8"}
    return Call(
        kernel=kernel,
        inputs={"value": inputs["x"], "lane": x},
        outputs={name: np.zeros(columns, kind) for name, kind in made.items()},
        scalars={"half": np.float32(0.5)},
        shape=(columns,),
    )


@pytest.mark.parametrize(
    ("kernel", "abreast", "shares"),
    [
        *product([hostile, accumulated, onto], [2, 16], [1]),
        *product([hostile, accumulated, onto], [4], [4]),
        (accumulated, 32, 1),
    ],
)
def test_the_same_bits_as_the_reference(host, kernel, abreast, shares):
    """Of columns that fill a workgroup, leave some of it over, or are one more than it has."""
    code = Code(lanes=32, abreast=abreast, shares=shares)
    schedule = Schedule((abreast, 32, 1), code)
    for rows in (0, 1, 33, 1024, 1025, 3000):
        for columns in sorted({1, abreast - 1, abreast, abreast + 1}):
            call = call_of(kernel, rows, columns)

            assert list(deviations(call, host, [schedule])) == []
