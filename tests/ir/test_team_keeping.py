"""What walks over the same rounds compute again, and how lanes keep it."""

from collections import Counter

import pytest

import vyre
from vyre import In, InOut, Out, f16, f32, ir, u32
from vyre.analysis import analyse
from vyre.emit import CUDA, emit
from vyre.ir import BufferDecl, DataType, Program, ReduceOp
from vyre.ir.expr import Element, Expr, Lit, Load, Select, Unary, UnaryOp, Var
from vyre.ir.node import If, Let, Loop, Node
from vyre.ir.serial import Fresh
from vyre.ir.team import covers_rows, rounds_kept, team, why_nothing_kept
from vyre.ir.team.again import MOST_PARTS, Again, Body, Meanings, again_in
from vyre.ir.team.loops import stored_to
from vyre.ir.team.positions import by_rows, unwrapped
from vyre.ir.walk import all_expressions, exchanged, expressions, outermost, statements
from vyre.model import Code
from vyre.testing import reducers

F32, U32 = DataType.F32, DataType.U32
NOTHING = "no round of one loop computes what a round of an earlier one has"


def again(kernel) -> Again | None:
    """What is found of a kernel, whose teams may stand for rows."""
    rows = by_rows(kernel.program, Fresh(kernel.program))
    program = kernel.program if rows is None else rows.program
    nodes = unwrapped(program.entry)
    return again_in(nodes, program, None if rows is None else rows.x, Counter(stored_to(nodes)))


def kept(kernel) -> list[str]:
    """What kind of values are kept, in the order in which they are used again."""
    found = again(kernel)
    return [] if found is None else [type(value.means).__name__ for value in found.values]


@vyre.kernel
def nothing_again(x: In[f32, 2], y: In[f32, 2], out: Out[f32]):
    i = vyre.gid()
    a = sum(x[i, k] for k in range(x.shape[1]))
    b = sum(y[i, k] * a for k in range(x.shape[1]))
    out[i] = b


@vyre.kernel
def rebound(x: In[f32, 2], out: Out[f32], n: u32):
    i = vyre.gid()
    m = n
    a = sum(x[i, k] for k in range(m))
    m = m // 2
    b = sum(x[i, k] * a for k in range(m))
    out[i] = b


@vyre.kernel
def counted_by_name(x: In[f32, 2], out: Out[f32], n: u32):
    i = vyre.gid()
    m = n // 2
    a = sum(x[i, k] for k in range(m))
    out[i] = sum(x[i, k] * a for k in range(m))


@vyre.kernel
def counted_by_data(x: In[f32, 2], sizes: In[u32], out: Out[f32]):
    i = vyre.gid()
    a = sum(x[i, k] for k in range(sizes[i]))
    out[i] = sum(x[i, k] * a for k in range(sizes[i]))


@vyre.kernel
def other_rounds_between(x: In[f32, 2], z: In[f32], out: Out[f32]):
    i = vyre.gid()
    a = sum(x[i, k] for k in range(x.shape[1]))
    c = sum(z[k] for k in range(len(z)))
    b = max(x[i, k] for k in range(x.shape[1]))
    out[i] = a + c + sum(x[i, k] - b for k in range(x.shape[1]))


@vyre.kernel
def under_conditions(x: In[f32, 2], y: In[f32, 2], out: Out[f32]):
    """What only some rounds read is not kept of all of them; what a condition reads is."""
    i = vyre.gid()
    a = sum(y[i, k] for k in range(x.shape[1]) if x[i, k] > 0)
    out[i] = sum(y[i, k] * a for k in range(x.shape[1]) if x[i, k] < 1)


@vyre.kernel
def nested_rounds(x: In[f32, 2], out: Out[f32]):
    i = vyre.gid()
    a = sum(x[i, k] * sum(x[i, j] for j in range(3)) for k in range(x.shape[1]))
    out[i] = a + sum(x[i, k] * sum(x[i, j] for j in range(2)) for k in range(x.shape[1]))


@vyre.kernel
def signed_zeros(x: In[f32, 2], out: Out[f32]):
    i = vyre.gid()
    a = sum(1 / (x[i, k] + 0.0) for k in range(x.shape[1]))
    out[i] = a + sum(1 / (x[i, k] + (-0.0)) - a for k in range(x.shape[1]))


@vyre.kernel
def halved(x: InOut[f16, 2]):
    i = vyre.gid()
    top = max(f32(x[i, k]) for k in range(x.shape[1]))
    for j in range(x.shape[1]):
        x[i, j] = f32(x[i, j]) / top


@vyre.kernel
def other_roots(x: In[f32, 2], y: In[f32], out: Out[f32]):
    i = vyre.gid()
    a = sum(vyre.sqrt(x[i, k]) / y[k] for k in range(x.shape[1]))
    out[i] = sum(vyre.sqrt(x[i, k]) / y[k] - a for k in range(x.shape[1]))


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (nothing_again, []),
        (rebound, []),
        (counted_by_data, []),
        (nested_rounds, []),
        (counted_by_name, ["Load"]),
        (other_rounds_between, ["Load"]),
        (under_conditions, ["Load"]),
        (signed_zeros, ["Load"]),
        (halved, ["Load"]),
        (other_roots, ["Binary"]),
        (reducers.softmax, ["Load", "Unary"]),
        (reducers.softmax_rows, ["Load", "Unary"]),
        (reducers.layer_norm, ["Load"]),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_what_is_computed_again(kernel, expected):
    assert kept(kernel) == expected
    assert why_nothing_kept(kernel.program) == (None if expected else NOTHING)


def test_a_program_without_teams_keeps_nothing():
    assert why_nothing_kept(reducers.running.program) == "it may read 'x' where it has stored to it"


def made(kernel, lanes=32, keeps=2) -> Program:
    return team(kernel.program, lanes, keeps=keeps).program


def three(program: Program) -> tuple[tuple[Node, ...], ...]:
    """The versions of a program: of all rounds that are kept, of fewer, of too many."""
    *_, last = program.entry
    assert isinstance(last, If)
    (inside,) = last.then
    assert isinstance(inside, If)
    return inside.then, inside.otherwise, last.otherwise


def loads(nodes, buffer) -> int:
    found = all_expressions(nodes)
    return sum(isinstance(part, Load) and part.buffer == buffer for part in found)


def test_what_is_kept_is_read_once_where_it_fits():
    whole, fewer, others = three(made(reducers.softmax))

    assert loads(whole, "x") == 1
    assert loads(fewer, "x") == 1
    assert loads(others, "x") > 2
    exps = [part for part in all_expressions(whole) if isinstance(part, Unary)]
    assert sum(part.op is UnaryOp.EXP for part in exps) == 1


def test_rounds_that_are_not_there_are_not_read():
    """A lane that has fewer rounds reads 0 for the others, without a branch."""
    whole, fewer, _ = three(made(reducers.softmax))
    guarded = [part for part in all_expressions(fewer) if isinstance(part, Select)]

    assert any(isinstance(part.true, Load) for part in guarded)
    assert not any(
        isinstance(part, Select) and isinstance(part.true, Load) for part in all_expressions(whole)
    )


def test_numbers_of_a_launch_are_read_without_asking_for_the_round():
    @vyre.kernel
    def scaled(x: In[f32, 2], out: Out[f32], by: f32):
        i = vyre.gid()
        a = sum(vyre.exp(x[i, k] * by) for k in range(x.shape[1]))
        out[i] = sum(vyre.exp(x[i, k] * by) - a for k in range(x.shape[1]))

    _, fewer, _ = three(made(scaled))
    guarded = [part for part in all_expressions(fewer) if isinstance(part, Select)]

    assert {part.true.buffer for part in guarded if isinstance(part.true, Load)} == {"x"}


def test_reductions_of_other_rounds_in_between_go_over_all_of_theirs():
    """They stand beside the walk, and are no part of it."""
    whole, _, _ = three(made(other_rounds_between))
    z = [node for node in statements(whole) if isinstance(node, Loop) and loads((node,), "z")]

    assert z
    assert not any(loop.stop == Lit.of(U32, 2) for loop in z)


def test_every_kept_round_is_a_place_of_a_local_array():
    program = made(reducers.layer_norm, keeps=8)
    whole, _, _ = three(program)
    loops = [n for n in statements(whole) if isinstance(n, Loop) and n.stop == Lit.of(U32, 8)]

    assert loops
    elements = [part for part in all_expressions(whole) if isinstance(part, Element)]
    assert {part.indices for part in elements} <= {(Var(loop.var),) for loop in loops}


@pytest.mark.parametrize(
    ("lanes", "keeps", "rounds"), [(32, 1, 32), (32, 32, 1024), (64, 32, 2048), (1024, 32, 32768)]
)
def test_how_many_rounds_are_kept(lanes, keeps, rounds):
    assert rounds_kept(lanes, keeps) == rounds
    program = made(reducers.softmax_rows, lanes, keeps)
    *_, last = program.entry
    assert any(part == Lit.of(U32, rounds) for part in all_expressions((Let("fits", last.cond),)))
    assert bool([decl for decl in program.buffers if decl.is_shared]) == (lanes > 32)


def test_what_is_asked_of_a_statement_is_asked_of_all_it_has_become():
    """Each load stands under a statement that the original one is known to have become."""
    found = team(reducers.softmax_rows.program, 32, keeps=4)
    texts = {text for news in found.texts.values() for text in news}
    reading = {
        ir.text.statement_text(node)
        for node in statements(found.program.entry)
        if any(isinstance(part, Load) and part.buffer == "x" for part in expressions(node))
    }

    assert reading
    assert reading <= texts


def test_meanings_see_through_names_of_the_round_alone():
    x = ir.load("x", ir.var("k"))
    body = Body("k", (ir.let("a", x), ir.let("b", ir.var("a") + ir.var("outer"))))
    meanings = Meanings(body)
    for node in body.nodes:
        meanings.bind(node)

    assert meanings.of(ir.var("b")) == ir.load("x", Var(" round")) + ir.var("outer")


def test_a_name_that_is_given_twice_means_nothing_else():
    body = Body("k", (ir.let("a", ir.f32(1)), ir.assign("a", ir.f32(2))))
    meanings = Meanings(body)
    for node in body.nodes:
        meanings.bind(node)

    assert meanings.of(ir.var("a")) == ir.var("a")


def test_a_long_meaning_is_not_spelled_out():
    value: Expr = ir.load("x", ir.var("k"))
    for _ in range(MOST_PARTS):
        value = value + ir.f32(1)
    body = Body("k", (ir.let("a", value),))
    meanings = Meanings(body)
    meanings.bind(body.nodes[0])

    assert meanings.of(ir.var("a")) == ir.var("a")


def program(*nodes: Node) -> Program:
    buffers = [
        BufferDecl.read("x", 0, F32),
        BufferDecl.storage("out", 1, ir.Access.READ_WRITE, F32),
        BufferDecl.storage("more", 2, ir.Access.READ_WRITE, F32),
    ]
    return Program.wrapped(buffers, (64, 1, 1), nodes)


def total(name: str, value: Expr, *before: Node) -> Node:
    body = (*before, ir.yield_(value))
    return ir.reduce_(name, ReduceOp.SUM, F32, "k", rounds=ir.buf_len("x"), body=body)


X = ir.load("x", ir.var("k"))
DONE = ir.store("out", ir.gid(), ir.var("s") + ir.var("t"))


def test_rounds_that_are_many_statements_are_not_written_so_often():
    long: Expr = X
    for _ in range(MOST_PARTS // 2):
        long = long + ir.f32(1)

    short = program(total("s", X), total("t", X - ir.var("s")), DONE)
    assert why_nothing_kept(short) is None
    assert why_nothing_kept(program(total("s", long), total("t", X - ir.var("s")), DONE)) == NOTHING


def test_a_loop_that_starts_elsewhere_is_no_walk():
    body = (ir.store("more", ir.var("j"), ir.load("x", ir.var("j")) + ir.var("s")),)
    for start, why in ((0, None), (1, NOTHING)):
        stores = ir.loop("j", ir.u32(start), ir.buf_len("x"), body)
        assert why_nothing_kept(program(total("s", X), stores)) == why


def test_parts_that_have_another_give_way_to_it_and_what_is_in_them_does_not():
    inner = ir.load("x", ir.u32(0))
    outer = Unary(UnaryOp.EXP, inner)
    node = ir.if_(outer > ir.f32(0), (ir.store("out", ir.gid(), inner),))

    def other(part: Expr) -> Expr | None:
        return {outer: ir.var("e"), inner: ir.var("l")}.get(part)

    assert exchanged(node, other) == ir.if_(
        ir.var("e") > ir.f32(0), (ir.store("out", ir.gid(), ir.var("l")),)
    )
    assert list(outermost(node, lambda part: part in (outer, inner))) == [outer, inner]
    assert exchanged(ir.break_(), other) == ir.break_()


@pytest.mark.parametrize("kernel", [reducers.softmax, reducers.softmax_rows, reducers.layer_norm])
def test_what_needs_no_check_has_none_in_any_version(kernel):
    code = Code(lanes=32, keeps=4, across=covers_rows(kernel.program), checked=False)
    text = emit(kernel.program, code, CUDA, analyse(kernel.program), "kernel").text

    assert "< dim1_x" not in text
    assert "< len_" not in text


def test_teams_across_rows_keep_too():
    assert covers_rows(reducers.softmax.program)
    whole, _, _ = three(made(reducers.softmax, 64, 32))

    assert loads(whole, "x") == 1
