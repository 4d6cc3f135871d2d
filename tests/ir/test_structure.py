from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from vyre import ir
from vyre.ir.expr import Call, Expr, OpaqueExpr, SubgroupOp
from vyre.ir.node import AsyncWait, Node
from vyre.ir.structure import exact_hash, structural_hash

F32 = ir.DataType.F32


def saxpy(
    x: str = "x",
    out: str = "out",
    i: str = "i",
    k: str = "k",
    op: Callable[[Expr, Expr], Expr] = lambda a, b: a + b,
    dtype: ir.DataType = F32,
) -> ir.Program:
    at = ir.var(i)
    body: list[Node] = [
        ir.let(i, ir.gid()),
        ir.let("call", Call(f"{x}.op", (at,))),
        ir.loop(k, 0, 4, [ir.store(out, at, op(ir.load(x, at), ir.var(k)))]),
        ir.if_(at < 7, [ir.assign(i, at + 1)]),
        AsyncWait(f"{k}.token"),
    ]
    buffers = [ir.BufferDecl.read(x, 0, dtype), ir.BufferDecl.write(out, 1, F32)]
    return ir.Program.wrapped(buffers, (64, 1, 1), body)


BASE = structural_hash(saxpy())


def test_renaming_everything_leaves_the_structure_alone():
    renamed = saxpy(x="source", out="a", i="index", k="round")

    assert structural_hash(renamed) == BASE
    assert renamed.fingerprint() != saxpy().fingerprint()


def test_a_name_used_again_in_another_scope_is_another_name():
    def two_scopes(first: str, second: str) -> ir.Program:
        lists = ([ir.let(name, 1), ir.store("o", 0, ir.var(name))] for name in (first, second))
        buffers = [ir.BufferDecl.write("o", 0, ir.DataType.U32)]
        return ir.Program.wrapped(buffers, (1, 1, 1), [ir.block(body) for body in lists])

    assert structural_hash(two_scopes("a", "a")) == structural_hash(two_scopes("a", "b"))


def test_which_name_is_meant_is_part_of_the_structure():
    def uses(name: str) -> ir.Program:
        return ir.Program.wrapped(
            [], (1, 1, 1), [ir.let("a", 1), ir.let("b", 2), ir.let("c", ir.var(name))]
        )

    assert structural_hash(uses("a")) != structural_hash(uses("b"))


def test_a_name_that_nothing_binds_is_a_name_all_the_same():
    def uses(first: str, second: str) -> ir.Program:
        return ir.Program.wrapped([], (1, 1, 1), [ir.let("v", ir.var(first) + ir.var(second))])

    assert structural_hash(uses("a", "b")) == structural_hash(uses("b", "a"))
    assert structural_hash(uses("a", "b")) != structural_hash(uses("a", "a"))


def test_the_workgroup_counts_and_declaration_order_are_left_out():
    program = saxpy()
    sized = tuple(decl.with_count(100) for decl in reversed(program.buffers))

    assert structural_hash(replace(program, workgroup_size=(8, 8, 1), buffers=sized)) == BASE


def test_regions_and_blocks_are_transparent():
    (root,) = saxpy().entry

    wrapped = replace(saxpy(), entry=(ir.region("g", [ir.block([root])], "from"),))
    emptier = replace(saxpy(), entry=(root, ir.block([]), ir.region("h", [])))

    assert structural_hash(wrapped) == structural_hash(emptier) == BASE


@pytest.mark.parametrize(
    "changed",
    [
        saxpy(op=lambda a, b: a - b),
        saxpy(op=lambda a, b: b + a),
        saxpy(op=lambda a, b: a + b + 1.0),
        saxpy(op=lambda a, b: ir.fma(a, b, b)),
        saxpy(op=lambda a, _: a + OpaqueExpr("x", b"")),
        saxpy(op=lambda a, _: a + OpaqueExpr("y", b"")),
        saxpy(dtype=ir.DataType.F16),
        saxpy(x="out"),
        replace(saxpy(), options=ir.Options(fast_math=True)),
        replace(saxpy(), options=ir.Options(unique_writes=("out",))),
        replace(saxpy(), non_composable=True),
        replace(saxpy(), entry=(*saxpy().entry, ir.return_())),
        replace(saxpy(), buffers=(*saxpy().buffers, ir.BufferDecl.read("more", 2, F32))),
        replace(saxpy(), buffers=tuple(replace(d, access=ir.Access(1)) for d in saxpy().buffers)),
        replace(saxpy(), buffers=()),
    ],
)
def test_another_operation_type_access_or_option_changes_the_structure(changed: ir.Program):
    assert structural_hash(changed) != BASE


def test_where_a_list_ends_is_part_of_the_structure():
    inside = ir.if_(True, [ir.barrier(), ir.return_()])
    after = (ir.if_(True, [ir.barrier()]), ir.return_())
    other = ir.if_(True, [ir.barrier()], [ir.return_()])

    found = {
        structural_hash(ir.Program.wrapped([], (1, 1, 1), entry))
        for entry in ([inside], after, [other])
    }
    assert len(found) == 3


def test_the_exact_hash_sees_every_name_and_size():
    program = saxpy()
    changed = [
        saxpy(k="round"),
        program.with_workgroup_size((32, 1, 1)),
        replace(program, entry_op_id="x"),
        replace(program, non_composable=True),
        replace(program, options=ir.Options(fast_math=True)),
        replace(program, buffers=tuple(d.with_count(1) for d in program.buffers)),
        replace(
            program, buffers=tuple(d.with_hints(ir.Hints(alignment=4)) for d in program.buffers)
        ),
        replace(program, entry=(ir.region("g", program.entry),)),
    ]

    assert len({exact_hash(program), *map(exact_hash, changed)}) == len(changed) + 1
    assert exact_hash(saxpy()) == exact_hash(program)


def test_types_of_several_levels_count_in_full():
    casts = [
        ir.cast(ir.DataType.vec(ir.DataType.vec(inner, 2), 2), ir.u32(1))
        for inner in (F32, ir.DataType.U32)
    ]

    first, second = (ir.Program.wrapped([], (1, 1, 1), [ir.let("a", c)]) for c in casts)
    assert structural_hash(first) != structural_hash(second)


def test_neither_depth_nor_sharing_costs_anything():
    value = ir.var("a")
    for _ in range(2_000):
        value = value ^ (value >> 1)
    program = ir.Program.wrapped([], (1, 1, 1), [ir.let("a", 1), ir.let("b", value)])

    assert len(structural_hash(program)) == len(exact_hash(program)) == 32


def test_operators_of_two_kinds_are_never_equal():
    """Both count from 1 on the wire; a table of unary ones once took `min` for `exp`."""
    kinds = (ir.UnaryOp, ir.BinaryOp, ir.AtomicOp, SubgroupOp)
    every = [op for kind in kinds for op in kind]

    assert len(set(every)) == len(every)


def test_what_bits_are_seen_as_is_a_part_of_the_structure():
    def seen(expr: ir.Expr) -> bytes:
        return structural_hash(ir.Program.wrapped([], (1, 1, 1), [ir.let("a", expr)]))

    one = ir.u32(1)
    kinds = [ir.bitcast(dtype, one) for dtype in (ir.DataType.F32, ir.DataType.I32)]
    kinds.append(ir.cast(ir.DataType.F32, one))

    assert len({seen(expr) for expr in kinds}) == 3
