"""Several results of one team: which programs have them, what is read once, what is stored."""

import pytest

import vyre
from vyre import In, InOut, Out, f32, ir
from vyre.ir import BufferDecl, DataType, Program, ReduceOp
from vyre.ir.expr import Id, IdKind, Load
from vyre.ir.node import Barrier, If, Let, Loop, Node, Reduce, Store
from vyre.ir.serial import Fresh
from vyre.ir.team import team, why_none_beside
from vyre.ir.team.beside import beside, why_not_beside
from vyre.ir.text import statement_text
from vyre.ir.walk import all_expressions, statements
from vyre.testing import reducers

F32 = DataType.F32
MORE = "it does more than to reduce, and to store what that comes to"


@vyre.kernel
def pairs(a: In[f32, 2], b: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid()
    top = max(a[i, k] for k in range(a.shape[1]))
    scaled = sum(b[k, j] * a[i, k] for k in range(a.shape[1]))
    out[i, j] = scaled / top


@vyre.kernel
def added(x: In[f32, 2], total: InOut[f32]):
    i = vyre.gid()
    total[i] += sum(x[i, k] for k in range(x.shape[1]))


@vyre.kernel
def branches(x: In[f32, 2], out: Out[f32]):
    i = vyre.gid()
    total = sum(x[i, k] for k in range(x.shape[1]))
    if total > 0:
        out[i] = total


@vyre.kernel
def given_twice(x: In[f32, 2], out: Out[f32]):
    i = vyre.gid()
    total = sum(x[i, k] for k in range(x.shape[1]))
    total = total + 1
    out[i] = total


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (pairs, None),
        (added, None),
        (reducers.residual, None),
        (reducers.csr, None),
        (branches, MORE),
        (given_twice, MORE),
        (reducers.softmax_rows, MORE),
        (reducers.softmax, "a team stands for a row of positions"),
        (reducers.dot, "it asks for no position along x"),
        (reducers.running, "it may read 'x' where it has stored to it"),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_who_has_several_results(kernel, why):
    assert why_none_beside(kernel.program) == why


X, K = ir.gid(), ir.var("k")


def total(name: str, value=None, rounds=None) -> Node:
    body = (ir.yield_(ir.load("x", K) if value is None else value),)
    many = ir.buf_len("x") if rounds is None else rounds
    return ir.reduce_(name, ReduceOp.SUM, F32, "k", rounds=many, body=body)


def program(*nodes: Node) -> Program:
    buffers = [
        BufferDecl.read("x", 0, F32),
        BufferDecl.storage("out", 1, ir.Access.READ_WRITE, F32),
        BufferDecl.storage("more", 2, ir.Access.READ_WRITE, F32),
    ]
    return Program.wrapped(buffers, (64, 1, 1), nodes)


def test_a_name_that_stands_for_two_things_is_refused():
    nodes = (total("s"), ir.store("out", X, ir.var("s")), total("s"))

    assert why_not_beside(nodes) == "a name of it stands for one thing and then for another"


def made(*nodes: Node, count: int = 3):
    whole = program(*nodes)
    return beside(whole, nodes, count, Fresh(whole))


def test_what_no_position_changes_is_done_once():
    found = made(
        total("same"),
        total("own", ir.load("x", K) * ir.load("more", X)),
        ir.store("out", X, ir.var("own") - ir.var("same")),
    )
    names = [node.name for node in found.program.entry if isinstance(node, Reduce)]

    assert names == ["same", "own", "own1", "own2"]


def test_positions_beyond_the_extent_do_the_last_ones_work_and_store_nothing():
    found = made(total("s", ir.load("x", X)), ir.store("out", X, ir.var("s")))
    first, *others = found.program.entry[-3:]

    assert isinstance(first, Store)
    assert first.index == X
    for number, one in enumerate(others, 1):
        assert isinstance(one, If)
        assert one.cond == (ir.u32(number) <= ir.var("left"))
        assert [type(node) for node in one.then] == [Store]
    texts = [statement_text(node) for node in found.program.entry if isinstance(node, Let)]
    assert texts == [
        "let left = extent(0) - 1u32 - gid(0)",
        "let position = gid(0) + min(1u32, left)",
        "let position1 = gid(0) + min(2u32, left)",
    ]


def test_reductions_of_all_positions_stand_together():
    """Stores wait for them, so that one walk over the rounds serves all."""
    found = made(
        total("s", ir.load("x", X)),
        ir.store("out", X, ir.var("s")),
        total("t", ir.load("x", K) - ir.var("s")),
        ir.store("more", X, ir.var("t")),
    )
    kinds = [type(node).__name__ for node in found.program.entry]

    assert kinds == [*["Let"] * 3, *["Reduce"] * 6, *["Store", "If", "If"] * 2]


def test_what_is_read_of_an_array_that_is_stored_to_is_each_positions_own():
    """And it is read behind the store, where it stood there."""
    found = made(
        total("s"),
        ir.store("out", X, ir.var("s")),
        ir.let("back", ir.load("out", ir.u32(0))),
        ir.store("more", X, ir.var("back")),
    )
    kinds = [type(node).__name__ for node in found.program.entry]

    assert kinds[-6:-3] == ["Let"] * 3
    assert kinds[:-6] == [*["Let"] * 3, "Reduce", "Store", "If", "If"]


def test_every_statement_of_every_copy_is_known_by_what_it_was():
    found = made(total("s", ir.load("x", X) * ir.load("x", K)), ir.store("out", X, ir.var("s")))
    wanted = {
        statement_text(node)
        for node in statements(found.program.entry)
        if any(isinstance(part, Load) for part in all_expressions((node,)))
    }

    assert wanted <= {text for copy in found.copies for text in copy.texts.values()}
    assert [copy.moved(X + ir.u32(1)) for copy in found.copies] == [
        X + ir.u32(1),
        ir.var("position") + ir.u32(1),
        ir.var("position1") + ir.u32(1),
    ]


@pytest.mark.parametrize("lanes", [32, 128])
@pytest.mark.parametrize("items", [2, 8])
def test_teams_walk_once_for_all_results(lanes, items):
    one = team(pairs.program, lanes).program
    several = team(pairs.program, lanes, items=items).program

    def walks(entry) -> int:
        return sum(isinstance(node, Loop) for node in statements(entry))

    def barriers(entry) -> int:
        return sum(isinstance(node, Barrier) for node in statements(entry))

    assert walks(several.entry) == walks(one.entry)
    assert barriers(several.entry) >= barriers(one.entry)
    extent = Id(IdKind.EXTENT, 0)
    assert any(part == extent for part in all_expressions(several.entry))
