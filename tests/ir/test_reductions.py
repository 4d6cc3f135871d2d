"""Reductions in a program: what is valid, how they are written down, and whose names are whose."""

from __future__ import annotations

import numpy as np
import pytest

from vyre import ir
from vyre.backend.reference import run
from vyre.errors import WireError
from vyre.ir import AtomicOp, BinaryOp, BufferDecl, DataType, Program, ReduceOp
from vyre.ir.encode import HEADER_BYTES, header
from vyre.ir.expr import OpaqueExpr, Subgroup, SubgroupOp
from vyre.ir.fold import levels
from vyre.ir.loops import is_innermost, loops_to_unroll, turn_of
from vyre.ir.node import Let, Loop, Node, OpaqueNode, Reduce, Trap, While, Yield
from vyre.ir.structure import structural_hash
from vyre.ir.text import statement_text
from vyre.ir.types import SCALARS
from vyre.ir.unroll import written_out
from vyre.ir.validate import validate
from vyre.ir.walk import statements

F32, U32, BOOL = DataType.F32, DataType.U32, DataType.BOOL
K = ir.var("k")
X = ir.load("x", K)
NUMBERS = (F32, DataType.F64, DataType.I32, U32, DataType.I64, DataType.U64)


def total(
    *body: Node,
    name: str = "s",
    op: ReduceOp = ReduceOp.SUM,
    dtype: DataType = F32,
    var: str = "k",
    rounds: ir.Expr | None = None,
) -> Node:
    many = ir.buf_len("x") if rounds is None else rounds
    return ir.reduce_(name, op, dtype, var, rounds=many, body=body or (ir.yield_(X),))


def around(*nodes: Node) -> Program:
    buffers = (
        BufferDecl.read("x", 0, F32),
        BufferDecl.write("out", 1, F32),
        BufferDecl.read_write("sum", 2, U32).with_count(4),
    )
    return Program.wrapped(buffers, (64, 1, 1), nodes)


def problems(*nodes: Node) -> list[tuple[str, str, str]]:
    return [(item.place, item.problem, item.fix) for item in validate(around(*nodes))]


def summed(program: Program, n: int = 40) -> list[float]:
    ir.check(program)
    out = np.zeros(3, np.float32)
    arrays = {"x": np.arange(n, dtype=np.float32) / 4, "out": out, "sum": np.zeros(4, np.uint32)}
    run(program, arrays, (3, 1, 1))
    return out.tolist()


STORED = ir.store("out", ir.gid(), ir.var("s"))


# -- what is valid


@pytest.mark.parametrize(
    "node",
    [
        total(),
        total(ir.let("v", X), ir.assign("v", ir.var("v") * 2.0), ir.yield_(ir.var("v"))),
        total(ir.if_(X > 0.0, [ir.yield_(X)])),
        total(ir.if_(X > 0.0, [ir.yield_(X)], [ir.yield_(-X)])),
        total(ir.if_(X > 0.0, [ir.if_(X > 1.0, [ir.yield_(X)], [])], [ir.let("w", X)])),
        total(ir.loop("i", 0, 4, [ir.if_(X > 0.0, [ir.break_()], [ir.continue_()])]), ir.yield_(X)),
        total(ir.while_(X > 1.0, [ir.break_()]), ir.yield_(X)),
        total(ir.block([ir.let("w", X)]), ir.region("g", []), ir.yield_(X)),
        total(total(name="t", var="j"), ir.yield_(ir.var("t"))),
        total(ir.let("w", X)),
        total(ir.let("w", X), ir.if_(X > 0.0, [])),
        # What ends with the round may be called what the reduction is.
        total(ir.let("s", X), ir.yield_(ir.var("s"))),
        total(ir.yield_(ir.load("x", ir.var("s"))), var="s"),
        total(rounds=ir.u32(0)),
    ],
)
def test_a_round_computes_and_yields_at_its_end(node: Node):
    assert problems(node, STORED) == []


@pytest.mark.parametrize("op", ReduceOp)
@pytest.mark.parametrize("dtype", SCALARS, ids=str)
def test_elements_are_numbers_that_the_language_computes_in_or_bools(op: ReduceOp, dtype: DataType):
    name = op.name.lower()
    node = total(ir.yield_(ir.cast(dtype, X)), op=op, dtype=dtype)
    of_bools = op in (ReduceOp.ANY, ReduceOp.ALL)
    wanted = (
        "compare its elements with something"
        if of_bools
        else ("cast its elements to one of f32, f64, i32, u32, i64, u64")
    )

    right = dtype.is_bool if of_bools else dtype in NUMBERS
    refused = [] if right else [("entry[0].body[0] reduction 's'", f"{name} of {dtype}", wanted)]
    # f16 and bf16 are types of arrays alone: a value is never of one.
    if dtype.computed != dtype:
        place = "entry[0].body[0].body[0] yield"
        problem = f"elements are {dtype}, the value is {dtype.computed}"
        refused.append((place, problem, f"cast the value to {dtype}"))
    assert problems(node) == refused


@pytest.mark.parametrize(
    ("op", "dtype", "result"),
    [
        (ReduceOp.SUM, F32, F32),
        (ReduceOp.MIN, DataType.I64, DataType.I64),
        (ReduceOp.ANY, BOOL, BOOL),
        (ReduceOp.ARGMIN, F32, U32),
        (ReduceOp.ARGMAX, DataType.F64, U32),
    ],
)
def test_a_reduction_binds_an_element_or_a_round(op: ReduceOp, dtype: DataType, result: DataType):
    node = total(ir.yield_(ir.cast(dtype, X)), op=op, dtype=dtype)
    wrong = next(one for one in (F32, U32) if one != result)

    assert problems(node, ir.let("v", result_of(result)), ir.assign("v", ir.var("s"))) == []
    assert problems(node, ir.let("v", result_of(wrong)), ir.assign("v", ir.var("s"))) == [
        (
            "entry[0].body[2] assign 'v'",
            f"'v' is {wrong}, the value is {result}",
            f"cast the value to {wrong}",
        )
    ]


def result_of(dtype: DataType) -> ir.Expr:
    return ir.cast(dtype, ir.u32(1))


END = "put it last in the reduction's body, or last in a side of an if that is last"


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ([ir.yield_(X), ir.let("w", X)], "body[0]"),
        ([ir.yield_(X), ir.yield_(X)], "body[0]"),
        ([ir.if_(X > 0.0, [ir.yield_(X)]), ir.let("w", X)], "body[0].then[0]"),
        ([ir.if_(X > 0.0, [ir.yield_(X), ir.let("w", X)])], "body[0].then[0]"),
        ([ir.if_(X > 0.0, [], [ir.yield_(X)]), ir.yield_(X)], "body[0].otherwise[0]"),
        ([ir.loop("i", 0, 4, [ir.yield_(X)])], "body[0].body[0]"),
        ([ir.while_(X > 0.0, [ir.yield_(X)])], "body[0].body[0]"),
        ([ir.block([ir.yield_(X)])], "body[0].body[0]"),
        ([ir.region("g", [ir.yield_(X)])], "body[0].body[0]"),
        ([ir.loop("i", 0, 4, [ir.if_(X > 0.0, [ir.yield_(X)])])], "body[0].body[0].then[0]"),
    ],
)
def test_a_yield_elsewhere_is_refused(body: list[Node], place: str):
    assert problems(total(*body)) == [
        (f"entry[0].body[0].{place} yield", "it is not the end of a round", END)
    ]


def test_a_yield_outside_of_any_reduction_is_refused():
    assert problems(ir.yield_(ir.f32(1))) == [
        (
            "entry[0].body[0] yield",
            "there is no reduction around it",
            "use it at the end of a reduction's body",
        )
    ]


def test_a_yield_gives_an_element_of_the_type_that_is_declared():
    assert problems(total(ir.yield_(K))) == [
        (
            "entry[0].body[0].body[0] yield",
            "elements are f32, the value is u32",
            "cast the value to f32",
        )
    ]


APART = "do that before or after the reduction, or use a loop"


@pytest.mark.parametrize(
    ("node", "title"),
    [
        (ir.store("out", K, ir.f32(1)), "store to 'out'"),
        (ir.barrier(), "barrier"),
        (ir.return_(), "return"),
        (Trap(ir.u32(0), "t"), "trap"),
        (OpaqueNode("someone.else", b""), "opaquenode"),
    ],
)
def test_a_round_has_no_effects(node: Node, title: str):
    refusal = "the rounds of a reduction only compute"

    assert problems(total(node, ir.yield_(X))) == [
        (f"entry[0].body[0].body[0] {title}", refusal, APART)
    ]
    nested = total(ir.if_(X > 0.0, [ir.block([node])]), ir.yield_(X))
    assert [problem for _, problem, _ in problems(nested)] == [refusal]


@pytest.mark.parametrize(
    ("expr", "what"),
    [
        (ir.atomic(AtomicOp.ADD, "sum", 0, ir.u32(1)), "an atomic on 'sum'"),
        (ir.call("vyre.math.clamp", X), "a call of 'vyre.math.clamp'"),
        (OpaqueExpr("someone.else", b""), "expression 'someone.else' of an unknown extension"),
        (Subgroup(SubgroupOp.SIZE), "subgroup operation size"),
        (ir.binary(BinaryOp.BALLOT, K, K), "wave operation ballot"),
    ],
)
def test_what_acts_inside_an_expression_is_refused_too(expr: ir.Expr, what: str):
    assert problems(total(ir.let("w", expr), ir.yield_(X))) == [
        (
            "entry[0].body[0].body[0] let 'w'",
            f"{what} in a round of a reduction, which only computes",
            APART,
        )
    ]


def test_the_number_of_rounds_may_not_act_in_a_reduction_but_may_outside():
    count = ir.atomic(AtomicOp.ADD, "sum", 0, ir.u32(1))

    assert problems(total(rounds=count)) == []
    inside = problems(total(total(name="t", var="j", rounds=count), ir.yield_(X)))
    assert [problem for _, problem, _ in inside] == [
        "an atomic on 'sum' in a round of a reduction, which only computes"
    ]


@pytest.mark.parametrize("node", [ir.break_(), ir.continue_()])
def test_a_round_cannot_leave_the_loop_around_its_reduction(node: Node):
    title = statement_text(node)

    assert problems(ir.loop("i", 0, 4, [total(node, ir.yield_(X))])) == [
        (
            f"entry[0].body[0].body[0].body[0] {title}",
            "there is no loop around it",
            "use it inside a loop",
        )
    ]


def test_rounds_are_counted_in_u32():
    assert problems(total(rounds=ir.i32(4))) == [
        ("entry[0].body[0] reduction 's'", "i32 rounds", "count them in u32")
    ]


def test_a_round_changes_only_names_of_its_own():
    bound = ir.let("v", ir.f32(0))
    change = ir.assign("v", X)

    assert problems(bound, total(change, ir.yield_(X))) == [
        (
            "entry[0].body[1].body[0] assign 'v'",
            "'v' is bound outside of the reduction around it",
            "copy it with let in the round and change the copy, or use a loop",
        )
    ]
    # Also where it is bound in a round of the reduction around this one.
    nested = total(bound, total(change, ir.yield_(X), name="t", var="j"), ir.yield_(X))
    assert [problem for _, problem, _ in problems(nested)] == [
        "'v' is bound outside of the reduction around it"
    ]
    assert problems(total(ir.if_(X > 0.0, [bound, change]), ir.yield_(X))) == []


def test_a_reductions_names_hide_no_others():
    taken = [ir.let("s", ir.f32(0)), ir.let("k", ir.f32(0))]

    assert problems(*taken, total(ir.yield_(ir.f32(1)))) == [
        (
            "entry[0].body[2] reduction 's'",
            "'k' is bound already",
            "use another name for its counter",
        ),
        ("entry[0].body[2] reduction 's'", "'s' is bound already", "use assign, or another name"),
    ]


def test_a_counter_is_read_only_and_ends_with_its_round():
    assert problems(total(ir.assign("k", ir.u32(0)), ir.yield_(X)), ir.let("v", K)) == [
        (
            "entry[0].body[0].body[0] assign 'k'",
            "'k' counts a loop",
            "copy it with let and change the copy",
        ),
        (
            "entry[0].body[1] let 'v'",
            "no name 'k' here",
            "bind it with let before this statement",
        ),
    ]


def test_the_result_is_not_known_in_its_own_rounds():
    assert [problem for _, problem, _ in problems(total(ir.yield_(ir.var("s"))))] == [
        "no name 's' here"
    ]


# -- how they are written down


def test_a_reduction_reads_like_a_sum_over_rounds():
    text = ir.to_text(around(total(ir.if_(X > 0.0, [ir.yield_(X)]), op=ReduceOp.ARGMAX)))

    assert text.endswith(
        "  let s = argmax of f32 for k in 0 .. len(x):\n    if x[k] > 0.0:\n      yield x[k]\n"
    )


def test_a_reduction_comes_back_from_its_bytes():
    for op in ReduceOp:
        for dtype in (*NUMBERS, BOOL):
            node = total(ir.if_(X > 0.0, [ir.yield_(X)]), total(name="t"), op=op, dtype=dtype)
            made = around(node)

            found = ir.from_wire(made.to_wire())

            assert found == made.canonical()
            assert found.to_wire() == made.to_wire()


def test_every_part_of_a_reduction_is_in_its_fingerprint():
    variants = [
        total(),
        total(name="t"),
        total(ir.yield_(ir.load("x", ir.var("j"))), var="j"),
        total(op=ReduceOp.PROD),
        total(dtype=DataType.F64),
        total(rounds=ir.u32(3)),
        total(ir.yield_(K)),
        total(ir.if_(X > 0.0, [ir.yield_(X)])),
    ]

    assert len({around(node).fingerprint() for node in variants}) == len(variants)


FIX = "Fix: decode bytes as Program.to_wire wrote them, whole and unchanged"


def damaged(old: bytes, new: bytes) -> str:
    """The refusal of a reduction's bytes with one place changed."""
    body = around(total(ir.yield_(ir.f32(1)))).to_wire()[HEADER_BYTES:]
    assert body.count(old) == 1
    changed = body.replace(old, new)
    with pytest.raises(WireError) as caught:
        ir.from_wire(header(changed) + changed)
    return str(caught.value).split(": ", 1)[1]


def test_bytes_that_are_no_reduction_are_refused():
    head = b"\x01\0\0\0s\x01\x0b\x01\0\0\0k"

    assert damaged(head, b"\x01\0\0\0s\x09\x0b\x01\0\0\0k") == f"unknown reduction 0x09\n{FIX}"
    assert damaged(head, b"\x01\0\0\0s\0\x0b\x01\0\0\0k") == f"unknown reduction 0x00\n{FIX}"
    assert damaged(head, b"\x01\0\0\0s\x01\x7f\x01\0\0\0k") == f"unknown type 0x7f\n{FIX}"
    assert damaged(head, b"\x01\0\0\0\xff\x01\x0b\x01\0\0\0k") == f"name is not UTF-8\n{FIX}"
    assert "counter of 16777217 bytes" in damaged(head, b"\x01\0\0\0s\x01\x0b\x01\0\0\x01k")


def test_no_other_statement_can_take_a_reductions_kind():
    for kind in ("vyre.py.reduce", "vyre.py.yield"):
        with pytest.raises(WireError, match="which is Vyre's own"):
            Program((), (1, 1, 1), (OpaqueNode(kind, b""),)).to_wire()


# -- whose names are whose


def test_a_block_that_binds_a_result_keeps_its_names():
    """Taken apart it would bind one name twice."""
    made = around(ir.block([total()]), ir.block([total()]))
    assert validate(made) == ()

    assert validate(made.canonical()) == ()
    assert len(made.canonical().entry[0].body) == 2


def test_renaming_a_reduction_leaves_the_structure_alone():
    def named(result: str, counter: str) -> Program:
        element = ir.yield_(ir.load("x", ir.var(counter)))
        return around(
            total(element, name=result, var=counter), ir.store("out", ir.gid(), ir.var(result))
        )

    assert structural_hash(named("s", "k")) == structural_hash(named("total", "lane"))
    assert structural_hash(named("s", "s")) == structural_hash(named("total", "lane"))


def test_operation_and_type_are_part_of_the_structure():
    hashes = {
        structural_hash(around(node))
        for node in (
            total(),
            total(op=ReduceOp.MAX),
            total(dtype=DataType.F64),
            total(rounds=ir.u32(1)),
            total(ir.yield_(ir.f32(1))),
            total(ir.if_(X > 0.0, [ir.yield_(X)])),
        )
    }

    assert len(hashes) == 6


def test_which_of_two_results_is_meant_is_part_of_the_structure():
    def stored(name: str) -> Program:
        made = total(), total(name="t", var="j")
        return around(*made, ir.store("out", ir.gid(), ir.var(name)))

    assert structural_hash(stored("s")) != structural_hash(stored("t"))


def names(made: Program) -> list[str]:
    found: list[str] = []
    for node in statements(made.entry):
        if isinstance(node, Reduce):
            found += [node.name, node.var]
        elif isinstance(node, (Let, Loop)):
            found.append(node.name if isinstance(node, Let) else node.var)
    return found


def test_a_window_around_a_reduction_is_written_out_with_names_of_its_own():
    inner = total(ir.yield_(ir.load("x", K + ir.var("w"))), rounds=ir.u32(5))
    made = around(
        ir.let("a", ir.f32(0)),
        ir.loop("w", 0, 3, [inner, ir.assign("a", ir.var("a") + ir.var("s"))]),
        ir.store("out", ir.gid(), ir.var("a")),
    )

    other = written_out(made)

    assert not any(isinstance(node, Loop) for node in statements(other.entry))
    assert sum(isinstance(node, Reduce) for node in statements(other.entry)) == 3
    assert len(names(other)) == len(set(names(other)))
    assert summed(other) == summed(made)


def test_an_index_made_of_a_result_counts_with_its_window():
    """The loop's counter reaches the load by way of a reduction."""
    counted = total(ir.yield_(K + ir.var("w")), dtype=U32, op=ReduceOp.MAX, rounds=ir.u32(2))
    made = around(
        ir.let("a", ir.f32(0)),
        ir.loop("w", 0, 3, [counted, ir.assign("a", ir.var("a") + ir.load("x", ir.var("s")))]),
        ir.store("out", ir.gid(), ir.var("a")),
    )

    assert not any(isinstance(node, Loop) for node in statements(written_out(made).entry))
    assert summed(written_out(made)) == summed(made)


def test_a_window_inside_a_reduction_is_written_out():
    window = ir.loop("w", 0, 3, [ir.assign("v", ir.var("v") + ir.load("x", K + ir.var("w")))])
    made = around(total(ir.let("v", ir.f32(0)), window, ir.yield_(ir.var("v"))), STORED)

    other = written_out(made)

    assert not any(isinstance(node, Loop) for node in statements(other.entry))
    assert summed(other) == summed(made)


def test_names_bound_twice_become_two():
    element = ir.let("v", X), ir.yield_(ir.var("v"))
    made = around(
        ir.block([total(*element), STORED]),
        ir.block([total(*element), ir.store("out", ir.gid(), ir.var("s") * 2.0)]),
    )

    other = written_out(made)

    assert len(names(other)) == len(set(names(other))) == 6
    assert summed(other) == summed(made)


def test_a_loop_with_a_reduction_inside_is_not_the_innermost():
    loop = ir.loop("i", 0, 4, [total()])
    assert isinstance(loop, Loop)

    assert not is_innermost(loop)
    assert list(loops_to_unroll(around(loop))) == []


def test_rounds_that_only_compute_take_no_name_of_a_reduction():
    loop = While(ir.var("v") < 4.0, (ir.assign("v", ir.var("v") + 1.0),))
    made = around(
        total(name="goes"),
        total(ir.yield_(ir.f32(1)), name="t", var="goes_"),
        ir.let("v", ir.var("goes")),
        loop,
    )

    _, second = turn_of(made, loop, 2)

    assert statement_text(second.body[0]).startswith("let goes__ = ")


def test_a_loop_with_a_reduction_does_more_than_compute_with_names():
    loop = While(ir.var("v") < 4.0, (total(), ir.assign("v", ir.var("s"))))

    assert turn_of(around(ir.let("v", ir.f32(0)), loop), loop, 4) == loop.body


def test_levels_count_how_often_blocks_are_folded():
    assert [levels(n) for n in (0, 1, 1024, 1025, 2**20, 2**20 + 1, 2**30, 2**30 + 1)] == [
        1,
        1,
        1,
        2,
        2,
        3,
        3,
        4,
    ]


def test_what_yields_is_a_statement_of_its_own():
    assert ir.yield_(1.0) == Yield(ir.f32(1))
