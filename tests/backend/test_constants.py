"""A function gives the same bits of a constant as of the same number at run time."""

import numpy as np
import pytest

import vyre
from vyre import ir
from vyre.ir import BufferDecl, DataType, Program
from vyre.ir.accuracy import ULP_BOUND
from vyre.ir.expr import Binary, Unary, UnaryOp
from vyre.ir.storage import STORAGE
from vyre.model import Code
from vyre.runtime.devices.launcher import words_of
from vyre.testing.compare import apart

COMPILED = [device for device in vyre.devices() if device.backend.compiles]
ROUNDS = 64
UNROLLS = (1, 2, 4, 64)
CODES = tuple(Code(unroll=unroll) for unroll in UNROLLS)


def applied(op, value):
    return Unary(op, value) if isinstance(op, UnaryOp) else Binary(op, value, value)


def of_rounds(op, dtype) -> Program:
    """Each round of a loop stores the function of a number that only its variable decides."""
    number = ir.cast(dtype, ir.var("k")) * ir.lit(dtype, 0.0625) + ir.lit(dtype, 0.015625)
    body = [ir.store("out", ir.gid() * ROUNDS + ir.var("k"), applied(op, number))]
    return Program.wrapped(
        [BufferDecl.write("out", 0, dtype)], (1, 1, 1), [ir.loop("k", 0, ROUNDS, body)]
    )


def of_elements(op, dtype) -> Program:
    return Program.wrapped(
        [BufferDecl.read("x", 0, dtype), BufferDecl.write("out", 1, dtype)],
        (1, 1, 1),
        [ir.store("out", ir.gid(), applied(op, ir.load("x", ir.gid())))],
    )


def run(device, program, code, extent, arrays):
    (binary,) = device.binaries([(program, code)])
    words = words_of(binary.layout, (extent, 1, 1), {n: a.shape for n, a in arrays.items()})
    device.run(binary, (extent, 1, 1), (1, 1, 1), arrays, program, words)
    return arrays["out"]


@pytest.mark.parametrize("device", COMPILED, ids=lambda device: device.name)
@pytest.mark.parametrize("dtype", [DataType.F32, DataType.F64], ids=str)
def test_unrolling_changes_no_bit_of_a_function(device, dtype):
    kind = STORAGE[dtype].type
    x = (np.arange(ROUNDS, dtype=kind) * kind(0.0625) + kind(0.015625)).astype(kind)
    programs = {op: (of_rounds(op, dtype), of_elements(op, dtype)) for op in ULP_BOUND}
    device.binaries(
        [(rounds, code) for rounds, _ in programs.values() for code in CODES]
        + [(elements, Code()) for _, elements in programs.values()]
    )

    for op, (rounds, elements) in programs.items():
        want = run(device, elements, Code(), ROUNDS, {"x": x, "out": np.zeros(ROUNDS, kind)})
        for code in CODES:
            found = run(device, rounds, code, 1, {"out": np.zeros(ROUNDS, kind)})
            assert apart(dtype, want, found).tolist() == [], (op, code)
