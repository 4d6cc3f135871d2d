"""Every operator of every type is valid LLVM, at one lane and at several."""

import llvmlite.binding as llvm
import pytest

from vyre import ir
from vyre.analysis import analyse
from vyre.emit.llvm import Features, emit_llvm
from vyre.errors import InvalidProgram, UnsupportedFeature
from vyre.ir import BufferDecl, DataType, Program
from vyre.ir.types import SCALARS
from vyre.ir.typing import UNPACKS, WAVE
from vyre.ir.validate import check
from vyre.model import Code

POOR, RICH = Features(fma=False, half=False), Features(vector_bytes=64)


def valid(program, features, code):
    text = emit_llvm(program, code, features, analyse(program)).text
    llvm.parse_assembly(text).verify()


def operations():
    """Each operator of the language, of loads."""
    a, b = ir.load("x", ir.gid()), ir.load("x", ir.gid() + 1)
    for op in (*ir.BinaryOp, *ir.UnaryOp):
        if op in WAVE or op in UNPACKS:
            continue
        yield ir.binary(op, a, b) if isinstance(op, ir.BinaryOp) else ir.unary(op, a)
    yield ir.fma(a, b, a)
    yield from (ir.cast(target, a) for target in SCALARS)
    yield from (ir.bitcast(target, a) for target in SCALARS)
    yield ir.select(ir.binary(ir.BinaryOp.EQ, a, b), a, b)
    yield ir.load("x", ir.load("x", ir.gid()))


def program_of(exprs, dtype):
    lets = [ir.let(f"v{number}", expr) for number, expr in enumerate(exprs)]
    return Program.wrapped([BufferDecl.read("x", 0, dtype)], (64, 1, 1), lets)


def is_valid(expr, dtype):
    try:
        check(program_of([expr], dtype))
    except InvalidProgram:
        return False
    return True


@pytest.mark.parametrize("code", [Code(), Code(vector=8)], ids=["one lane", "lanes"])
@pytest.mark.parametrize("features", [POOR, RICH], ids=["poor", "rich"])
@pytest.mark.parametrize("dtype", SCALARS, ids=str)
def test_what_the_language_allows_is_valid_llvm(dtype, features, code):
    allowed = [expr for expr in operations() if is_valid(expr, dtype)]

    assert len(allowed) > 10
    valid(program_of(allowed, dtype), features, code)


@pytest.mark.parametrize("code", [Code(), Code(vector=8)], ids=["one lane", "lanes"])
@pytest.mark.parametrize("dtype", SCALARS, ids=str)
def test_so_is_every_atomic(dtype, code):
    value = ir.cast(dtype, ir.gid())
    nodes = []
    decls = [BufferDecl.read_write("x", 0, dtype)]
    for op in ir.AtomicOp:
        if op is ir.AtomicOp.LRU_UPDATE:
            continue
        expected = value if "COMPARE" in op.name else None
        node = ir.let(op.name, ir.atomic(op, "x", ir.gid(), value, expected))
        try:
            check(Program.wrapped(decls, (64, 1, 1), [node]))
        except InvalidProgram:
            continue
        nodes += [node, ir.store("x", ir.gid(), ir.var(op.name))]
    program = Program.wrapped(decls, (64, 1, 1), nodes)

    valid(program, RICH, code)


@pytest.mark.parametrize(
    "op", sorted([*WAVE, *UNPACKS], key=lambda op: op.name), ids=lambda op: op.name
)
def test_the_rest_is_refused_and_not_written_wrongly(op):
    a = ir.gid()
    expr = ir.binary(op, a, a) if isinstance(op, ir.BinaryOp) else ir.unary(op, a)

    with pytest.raises(UnsupportedFeature):
        valid(program_of([expr], DataType.U32), RICH, Code())
