"""Teams: who may form one, which loops its lanes share, and what they tell each other."""

import pytest

import vyre
from vyre import In, Out, f32, i32, ir, u32
from vyre.ir import BufferDecl, DataType, Program, ReduceOp
from vyre.ir.expr import Alike, Atomic, AtomicOp, FromLane, Lane, Var
from vyre.ir.node import Barrier, Block, If, Let, Loop, Reduce, Store, Trap
from vyre.ir.team import covers_rows, team, why_no_team
from vyre.ir.team.writer import MOST_COPIED
from vyre.ir.walk import all_expressions, statements
from vyre.testing import reducers

F32, U32 = DataType.F32, DataType.U32
K, ME = ir.var("k"), ir.gid()
S = ir.reduce_(
    "s",
    ReduceOp.SUM,
    F32,
    "k",
    rounds=ir.buf_len("x"),
    body=(ir.yield_(ir.load("x", K)),),
)


def program(*nodes, shared=False, dtype=F32):
    buffers = [
        BufferDecl.read("x", 0, F32),
        BufferDecl.storage("out", 1, ir.Access.READ_WRITE, dtype),
        BufferDecl.storage("more", 2, ir.Access.READ_WRITE, F32),
    ]
    if shared:
        buffers.append(BufferDecl.workgroup("part", 64, F32))
    return Program.wrapped(buffers, (64, 1, 1), nodes)


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ([ir.store("out", ME, ir.f32(1))], "there is no reduction"),
        ([S, ir.barrier()], "its workgroups work together already"),
        ([S, Trap(ir.u32(1), "no")], "of trap there is one for each invocation"),
        (
            [S, ir.let("old", Atomic(AtomicOp.ADD, "out", ME, ir.f32(1)))],
            "it has atomics, or calls what nobody here can see into",
        ),
        ([S, ir.store("out", ir.local_id(), ir.f32(1))], "it asks for its place in a workgroup"),
        (
            [S, ir.store("out", ME, ir.var("s")), ir.store("more", ME, ir.load("out", ME))],
            "it may read 'out' where it has stored to it",
        ),
        ([S, ir.store("out", ME, ir.load("out", ME) + ir.var("s"))], None),
        ([S, ir.store("out", ME, ir.var("s"))], None),
    ],
    ids=["none", "barrier", "trap", "atomic", "local", "behind", "before", "fine"],
)
def test_who_has_no_teams(nodes, why):
    assert why_no_team(program(*nodes)) == why
    assert why is None or not covers_rows(program(*nodes))


def made(kernel, lanes=32):
    return team(kernel.program, lanes).program


def stores(kernel, lanes=32):
    """How each array is stored to: by all lanes alike, or by each what is its own."""
    entry = made(kernel, lanes).entry
    lets = (node for node in statements(entry) if isinstance(node, Let))
    heard = {Var(node.name) for node in lets if isinstance(node.value, Alike)}
    found = [node for node in statements(entry) if isinstance(node, Store)]
    alike = {node.buffer for node in found if node.value in heard}
    every = {node.buffer for node in found}
    kept = {name for name in every if not name.startswith("meeting")}
    return {name: "alike" if name in alike else "shared" for name in kept}


def test_which_loops_lanes_share():
    """Not where rounds store at one place, carry a value, end early, or store twice elsewhere."""
    assert stores(reducers.odd_loops) == dict.fromkeys("abcd", "alike")
    assert stores(reducers.softmax_rows) == {"out": "shared"}
    assert stores(reducers.layer_norm_rows) == {"out": "shared", "spread": "alike"}
    assert stores(reducers.scattered) == {"out": "alike"}
    assert stores(reducers.residual) == {"out": "alike"}
    assert stores(reducers.conditional_rows) == {"out": "shared"}


@vyre.kernel
def loops(
    x: In[f32, 2],
    a: Out[f32, 2],
    b: Out[f32, 2],
    c: Out[f32, 2],
    d: Out[f32, 2],
    e: Out[f32, 2],
    f: Out[f32, 2],
    g: Out[f32],
    n: i32,
):
    i = vyre.gid()
    s = sum(x[i, k] for k in range(x.shape[1]))
    for j in range(x.shape[1]):  # both ways to one place
        if x[i, j] > 0:
            a[i, j] = s
        else:
            a[i, j] = -s
    for j in range(2, n):  # counted by signed numbers, further on
        b[i, j + 3] = s
    for j in range(n):
        c[i, 7 - j] = s  # what j is taken from moves as well, but is not known to
    for j in range(n):
        d[i, j * 2] = s
    for j in range(n):
        e[i, j + i32(x[i, j])] = s
    start = i32(x[i, 0])
    for j in range(start, n):
        f[i, j] = s
    for j in range(n):
        g[j - 1] = s


def test_which_indices_move_with_every_round():
    assert stores(loops) == {
        "a": "shared",
        "b": "shared",
        "c": "alike",
        "d": "alike",
        "e": "alike",
        "f": "alike",
        "g": "shared",
    }


@vyre.kernel
def inner_reductions(x: In[f32, 2], a: Out[f32, 2], b: Out[f32, 2]):
    i = vyre.gid()
    s = sum(x[i, k] for k in range(x.shape[1]))
    for j in range(x.shape[1]):
        a[i, j] = s + max(x[k, j] for k in range(len(x)))
    for j in range(x.shape[1]):
        value = 0.0
        for k in range(3):
            value += x[i, j + k]
        b[i, j] = s * value


def test_lanes_share_a_reduction_or_the_loop_around_it():
    assert stores(inner_reductions) == {"a": "alike", "b": "shared"}


@pytest.mark.parametrize("lanes", [32, 64, 1024])
def test_no_reduction_is_left(lanes):
    for call in reducers.calls(0):
        whole = call.kernel.program
        if why_no_team(whole) is not None:
            continue
        found = team(whole, lanes)
        left = list(statements(found.program.entry))

        assert not any(isinstance(node, Reduce) for node in left)
        parts = set(all_expressions(found.program.entry))
        assert any(isinstance(part, FromLane) for part in parts)
        assert (found.x is not None) == covers_rows(whole)
        assert lanes > 32 or not any(isinstance(node, Barrier) for node in left)
        meeting = [decl.name for decl in found.program.buffers if decl.is_shared]
        assert all(decl.count == 32 for decl in found.program.buffers if decl.is_shared)
        assert lanes > 32 or not meeting


def test_rows_of_lanes_wait_before_a_store_of_what_all_have():
    def before(lanes):
        blocks = [
            n for n in statements(made(reducers.residual, lanes).entry) if isinstance(n, Block)
        ]
        (block,) = (n for n in blocks if isinstance(n.body[-1], Store))
        return [type(node).__name__ for node in block.body]

    assert before(32) == ["Let", "Meet", "Store"]
    assert before(64) == ["Let", "Barrier", "Store"]


def test_what_all_lanes_have_is_one_value():
    parts = set(all_expressions(made(reducers.residual).entry))

    assert any(isinstance(part, Alike) for part in parts)
    assert Lane() in parts


@vyre.kernel
def returns(x: In[f32], out: Out[f32]):
    j = vyre.gid()
    s = sum(x[k] for k in range(len(x)))
    if x[j] > s:
        return
    out[j] = s


@vyre.kernel
def depends(x: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid()
    out[i, j] = sum(x[k, j] for k in range(len(x)))


@vyre.kernel
def in_branch(x: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid()
    if j > 2:
        out[i, j] = sum(x[i, k] for k in range(x.shape[1]))


@vyre.kernel
def changes(x: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid()
    n = x.shape[1]
    if j > 2:
        n = u32(3)
    out[i, j] = sum(x[i, k] for k in range(n))


@vyre.kernel
def no_position(x: In[f32], out: Out[f32]):
    out[0] = sum(x[k] for k in range(len(x)))


@pytest.mark.parametrize(
    ("kernel", "covers"),
    [
        (reducers.softmax, True),
        (reducers.normalise, True),
        (reducers.planes, True),
        (reducers.conditional_rows, True),
        (reducers.residual, False),
        (returns, False),
        (depends, False),
        (in_branch, False),
        (changes, False),
        (no_position, False),
    ],
    ids=lambda part: getattr(part, "name", None),
)
def test_a_team_stands_for_a_row_where_no_reduction_depends_on_x(kernel, covers):
    assert covers_rows(kernel.program) is covers
    found = team(kernel.program, 32)
    assert (found.x is not None) is covers
    assert found.moved(ME) == (ir.var(found.x) if covers else ME)


def test_long_rounds_are_written_once():
    """Copies without checks, and for few blocks, are for what compilers have done with soon."""

    def copies(terms):
        lets = [ir.let(f"t{n}", ir.load("x", K + n) * ir.f32(1.5)) for n in range(terms)]
        body = (*lets, ir.yield_(ir.var("t0")))
        rounds = ir.buf_len("x")
        for op in (ReduceOp.SUM, ReduceOp.MAX):
            s = ir.reduce_("s", op, F32, "k", rounds=rounds, body=body)
            entry = team(program(s, ir.store("out", ME, ir.var("s"))), 32).program.entry
            yield sum(
                1 for n in statements(entry) if isinstance(n, Loop) and n.var.startswith("turn")
            ) + sum(1 for n in statements(entry) if isinstance(n, Loop) and n.var.startswith("row"))

    few, many = list(copies(1)), list(copies(MOST_COPIED // 4))

    assert [a - b for a, b in zip(few, many, strict=True)] == [5, 1]


def test_whether_there_was_an_element_is_told_by_all_rows():
    entry = made(reducers.csr, 64).entry
    words = [node for node in statements(entry) if isinstance(node, Store)]

    assert any(node.buffer.startswith("meeting") for node in words)
    assert any(isinstance(node, If) for node in statements(entry))
