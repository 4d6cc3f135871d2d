"""Small integers wrap before anything else is made of them, whatever a compiler takes them for."""

import numpy as np
import pytest

import vyre
from vyre import ir
from vyre.ir import BufferDecl, DataType, Program
from vyre.ir.expr import Binary, BinaryOp, Unary, UnaryOp
from vyre.ir.storage import STORAGE
from vyre.model import Code

COMPILED = [device for device in vyre.devices() if device.backend.compiles]
SMALL = (DataType.I8, DataType.U8, DataType.I16, DataType.U16)
WIDER = (DataType.I32, DataType.U32, DataType.I64, DataType.F32)
UNARY = (
    *(UnaryOp.NEGATE, UnaryOp.ABS, UnaryOp.SIGN, UnaryOp.BIT_NOT),
    *(UnaryOp.POPCOUNT, UnaryOp.CLZ, UnaryOp.CTZ, UnaryOp.REVERSE_BITS),
)
BINARY = (
    *(BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.DIV, BinaryOp.MOD),
    *(BinaryOp.FLOOR_DIV, BinaryOp.FLOOR_MOD, BinaryOp.MIN, BinaryOp.MAX),
    *(BinaryOp.ABS_DIFF, BinaryOp.SAT_ADD, BinaryOp.SAT_SUB, BinaryOp.SAT_MUL),
    *(BinaryOp.BIT_AND, BinaryOp.BIT_OR, BinaryOp.BIT_XOR, BinaryOp.MUL_HIGH),
)
x, y = ir.load("x", ir.gid()), ir.load("y", ir.gid())


def values(dtype) -> np.ndarray:
    info = np.iinfo(STORAGE[dtype])
    near = {info.min, info.min + 1, info.max, info.max - 1, info.max // 2 + 1}
    return np.array(sorted(near | {v for v in (-2, -1, 0, 1, 2, 5) if v >= info.min}), info.dtype)


def made(dtype) -> dict[str, list]:
    """Statements that leave something in `a`: operations, and what compilers make a negation of."""
    zero, minus = ir.lit(dtype, 0), ir.lit(dtype, -1 if dtype.is_signed else 1)
    found = {op.name: [ir.let("a", Unary(op, x))] for op in UNARY}
    found |= {op.name: [ir.let("a", Binary(op, x, y))] for op in BINARY}
    found |= {f"{op.name} from 0": [ir.let("a", Binary(op, zero, x))] for op in BINARY}
    found |= {f"{op.name} by 1": [ir.let("a", Binary(op, x, minus))] for op in BINARY}
    less = x < zero
    found["by a branch"] = [ir.let("a", x), ir.if_(less, [ir.assign("a", zero - x)])]
    found["by a choice"] = [ir.let("a", ir.select(less, zero - x, x))]
    found["the larger"] = [ir.let("a", Binary(BinaryOp.MAX, x, zero - x))]
    found["without a branch"] = [
        ir.let("s", x >> ir.u32(dtype.bits - 1)),
        ir.let("a", (x ^ ir.var("s")) - ir.var("s")),
    ]
    found["by its complement"] = [ir.let("a", Unary(UnaryOp.BIT_NOT, x) + ir.lit(dtype, 1))]
    found["by a wider type"] = [ir.let("a", ir.cast(dtype, ir.i32(0) - ir.cast(DataType.I32, x)))]
    return found


def program(dtype, statements) -> Program:
    """Store what was made, widened in every way and compared."""
    a, at = ir.var("a"), ir.gid()
    outs = [BufferDecl.write(f"out{k}", 2 + k, wide) for k, wide in enumerate(WIDER)]
    outs.append(BufferDecl.write("less", 2 + len(WIDER), DataType.U32))
    stores = [ir.store(f"out{k}", at, ir.cast(wide, a)) for k, wide in enumerate(WIDER)]
    less = ir.select(a < ir.lit(dtype, 5), ir.u32(1), ir.u32(0))
    return Program.wrapped(
        [BufferDecl.read("x", 0, dtype), BufferDecl.read("y", 1, dtype), *outs],
        (64, 1, 1),
        [*statements, *stores, ir.store("less", at, less)],
    )


@pytest.mark.slow
@pytest.mark.parametrize("device", COMPILED, ids=lambda device: device.name)
@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_what_is_made_of_small_integers_is_made_of_the_wrapped_ones(device, dtype):
    first, second = (part.ravel() for part in np.meshgrid(values(dtype), values(dtype)))
    programs = {name: program(dtype, statements) for name, statements in made(dtype).items()}
    device.binaries([(one, Code()) for one in programs.values()])  # in one build

    wrong = [
        name
        for name, one in programs.items()
        for found, wanted in zip(
            device.dispatch(one, [first, second]),
            vyre.open("reference").dispatch(one, [first, second]),
            strict=True,
        )
        if not np.array_equal(found, wanted)
    ]

    assert wrong == []
