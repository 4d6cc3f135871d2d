"""Which loops several rounds may be written out of, and what those rounds compute."""

import numpy as np
import pytest

from vyre import ir
from vyre.backend.reference import run
from vyre.ir import AtomicOp, BufferDecl, DataType, Program
from vyre.ir.expr import Select, Var
from vyre.ir.loops import loops_to_unroll, only_computes, rounds_of, turn_of
from vyre.ir.node import Assign, Block, If, Let, Loop, While
from vyre.ir.walk import statements

F32, U32 = DataType.F32, DataType.U32
N, V = ir.var("n"), ir.var("v")
STEP = ir.assign("n", N + 1)


def program(*body) -> Program:
    made = Program.wrapped(
        [
            BufferDecl.read("x", 0, F32),
            BufferDecl.uniform("most", 1, U32).with_count(1),
            BufferDecl.read_write("bins", 2, U32),
            BufferDecl.write("out", 3, F32),
        ],
        (64, 1, 1),
        [ir.let("n", ir.u32(0)), ir.let("v", ir.load("x", ir.gid())), *body],
    )
    ir.check(made)
    return made


def whiles(*body, cond=None) -> Program:
    rounds = ir.while_(ir.load("most", 0) > N if cond is None else cond, body)
    return program(rounds, ir.store("out", ir.gid(), V))


def loop_of(made: Program) -> While:
    return next(node for node in statements(made.entry) if isinstance(node, While))


LONG = [
    ir.let("a", V * V + 0.25),
    ir.let("b", V * 0.5 - V * V),
    ir.assign("v", ir.var("a") * ir.var("b") + V * 0.5 - ir.var("a") * 0.125),
    ir.assign("v", V - ir.var("b") * ir.var("a")),
]


def test_what_only_computes_may_be_written_out():
    assert only_computes(loop_of(whiles(STEP, ir.assign("v", V * ir.load("x", N)))))


@pytest.mark.parametrize(
    "node",
    [
        ir.store("out", ir.gid(), V),
        ir.let("old", ir.atomic(AtomicOp.ADD, "bins", 0, ir.u32(1))),
        ir.if_(ir.f32(0) < V, [ir.break_()]),
        ir.loop("k", 0, 3, [ir.assign("v", V + 1.0)]),
    ],
    ids=["a store", "an atomic", "a break", "a loop"],
)
def test_what_does_more_may_not(node):
    made = whiles(STEP, node)

    assert not only_computes(loop_of(made))
    assert turn_of(made, loop_of(made), 8) == loop_of(made).body


def test_asking_may_do_nothing_either():
    asked = ir.atomic(AtomicOp.ADD, "bins", 0, ir.u32(1)) < ir.u32(9)

    assert not only_computes(loop_of(whiles(STEP, cond=asked)))


def test_a_short_round_is_a_condition_of_the_next():
    made = whiles(STEP)

    loop = loop_of(made)

    first, *others = turn_of(made, loop, 4)

    assert first == Block(loop.body)
    again = Block((Let("goes", loop.cond), If(Var("goes"), loop.body, ())))
    assert others == [again] * 3


def test_a_long_round_is_computed_and_then_taken_or_left():
    made = whiles(STEP, *LONG)

    _, one = turn_of(made, loop_of(made), 2)

    assert isinstance(one, Block)
    assert one.body[0] == Let("goes", loop_of(made).cond)
    given = [node for node in one.body if isinstance(node, Assign)]
    assert len(given) == 3
    for node in given:
        assert isinstance(node.value, Select)
        assert (node.value.cond, node.value.false) == (Var("goes"), Var(node.name))


def test_a_long_round_that_loads_stays_a_condition():
    """Where a round is not gone through, nothing says that its index is one of the array."""
    made = whiles(STEP, *LONG, ir.assign("v", V + ir.load("x", N)))

    for one in turn_of(made, loop_of(made), 8)[1:]:
        assert [type(node) for node in one.body] == [Let, If]


@pytest.mark.parametrize("body", [[STEP], [STEP, *LONG]], ids=["short", "long"])
@pytest.mark.parametrize("where", ["in the loop", "before it", "behind it", "counts"])
def test_whether_it_goes_on_has_a_name_that_nothing_in_the_program_has(body, where):
    goes, rounds = ir.let("goes", V), ir.while_(ir.load("most", 0) > N, body)
    made = {
        "in the loop": lambda: whiles(goes, *body, ir.assign("v", V + ir.var("goes"))),
        "before it": lambda: program(goes, rounds, ir.store("out", ir.gid(), ir.var("goes"))),
        "behind it": lambda: program(rounds, goes, ir.store("out", ir.gid(), ir.var("goes"))),
        "counts": lambda: program(ir.loop("goes", 0, 3, [ir.assign("v", V + 1.0)]), rounds),
    }[where]()

    _, one = turn_of(made, loop_of(made), 2)

    assert one.body[0].name == "goes_"


@pytest.mark.parametrize("body", [[STEP], [STEP, *LONG]], ids=["short", "long"])
@pytest.mark.parametrize("most", [0, 1, 2, 3, 7, 8, 9, 30])
def test_rounds_written_out_compute_the_same(body, most):
    made = whiles(*body, ir.assign("v", V * 0.75 + 0.5), cond=(ir.load("most", 0) > N) & (V < 40.0))
    loop = loop_of(made)
    other = While(loop.cond, turn_of(made, loop, 4))
    entry = tuple(other if node is loop else node for node in made.entry[0].body)
    written = Program.wrapped(made.buffers, (64, 1, 1), entry)
    found = []
    for one in (made, written):
        arrays = {
            "x": np.linspace(-3, 50, 97, dtype=np.float32),
            "most": np.array([most], np.uint32),
            "bins": np.zeros(1, np.uint32),
            "out": np.zeros(97, np.float32),
        }
        ir.check(one)
        run(one, arrays, (97, 1, 1))
        found.append(arrays["out"].tobytes())

    assert found[0] == found[1]


def test_innermost_counted_loops_may_be_unrolled():
    inner = ir.loop("k", 2, 9, [ir.assign("v", V + 1.0)])
    made = program(ir.loop("j", 0, ir.load("most", 0), [inner]), ir.store("out", ir.gid(), V))

    (found,) = loops_to_unroll(made)

    assert isinstance(found, Loop)
    assert found.var == "k"
    assert rounds_of(found) == 7


def test_rounds_that_a_launch_knows_are_not_known():
    (found,) = loops_to_unroll(program(ir.loop("j", 0, ir.load("most", 0), [STEP])))

    assert rounds_of(found) is None
    assert rounds_of(loop_of(whiles(STEP))) is None
