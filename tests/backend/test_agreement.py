"""Every compiled device computes what the reference computes."""

import math
from random import Random

import numpy as np
import pytest

import vyre
from vyre import ir
from vyre.ir import BinaryOp, BufferDecl, DataType, Program, UnaryOp
from vyre.ir.accuracy import ULP_BOUND
from vyre.ir.storage import STORAGE
from vyre.ir.types import SCALARS
from vyre.ir.typing import has_bits
from vyre.testing.compare import codes_of, differences
from vyre.testing.programs import Case, generate

COMPILED = [device for device in vyre.devices() if device.backend.compiles]
SHARE = 128
WITH_BITS = tuple(dtype for dtype in SCALARS if has_bits(dtype))


@pytest.mark.parametrize("device", COMPILED, ids=lambda device: device.name)
@pytest.mark.parametrize("first", range(0, SHARE, 32))
def test_generated_programs_give_the_same_bits_on_a_device(device, first):
    """A share of what scripts/soak_backends.py runs."""
    cases = [generate(Random(seed)) for seed in range(first, first + 32)]

    found = list(differences(device, cases, codes_of(device)))

    assert found == []


@pytest.mark.parametrize("device", COMPILED, ids=lambda device: device.name)
def test_a_program_whose_nan_a_compiler_sees_gives_nan(device):
    """Found by the soak: PoCL folded floor of a constant NaN to what stood in a register."""
    f64 = DataType.F64
    nan = ir.f64(0.0) / ir.f64(math.nan) * ir.f64(1.0)
    program = Program.wrapped(
        [BufferDecl.write("out", 0, f64)],
        (64, 1, 1),
        [
            ir.let("v", ir.unary(UnaryOp.FLOOR, ir.f64(114.03062272402235)) // nan),
            ir.store("out", ir.gid(), ir.unary(UnaryOp.ASIN, ir.var("v"))),
        ],
    )
    case = Case(program=program, arrays={"out": np.zeros(64)}, extent=(64, 1, 1))

    assert list(differences(device, [case], codes_of(device))) == []


@pytest.mark.parametrize("device", COMPILED, ids=lambda device: device.name)
@pytest.mark.parametrize("dtype", [DataType.F32, DataType.F64], ids=str)
def test_every_function_is_within_its_bound_of_the_reference(device, dtype):
    kind = STORAGE[dtype].type
    few = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-30, -1e-5, 0.7, 9.5, 27.0, -88.5]
    few += [float(end) for end in (np.finfo(kind).max, np.finfo(kind).smallest_subnormal)]
    x, y = (side.ravel().astype(kind) for side in np.meshgrid(few, few))
    cases = []
    for op in (*ULP_BOUND, BinaryOp.MOD):
        a, b = ir.load("x", ir.gid()), ir.load("y", ir.gid())
        value = ir.unary(op, a) if isinstance(op, UnaryOp) else ir.binary(op, a, b)
        program = Program.wrapped(
            [
                BufferDecl.read("x", 0, dtype),
                BufferDecl.read("y", 1, dtype),
                BufferDecl.write("out", 2, dtype),
            ],
            (64, 1, 1),
            [ir.store("out", ir.gid(), value)],
        )
        arrays = {"x": x, "y": y, "out": np.zeros_like(x)}
        ulp = {"out": ULP_BOUND.get(op, 0)}
        cases.append(Case(program=program, arrays=arrays, extent=(x.size, 1, 1), ulp=ulp))

    assert list(differences(device, cases, codes_of(device))) == []


@pytest.mark.parametrize("device", COMPILED, ids=lambda device: device.name)
@pytest.mark.parametrize("source", WITH_BITS, ids=str)
def test_bits_are_the_same_bits_on_a_device(device, source):
    rng = np.random.default_rng(source.bits)
    x = rng.integers(0, 256, 64 * source.bits // 8, np.uint8).view(STORAGE[source])
    x = np.nan_to_num(x) if source.is_float else x  # a NaN may lose its payload on the way
    cases = []
    for target in (dtype for dtype in WITH_BITS if dtype.bits == source.bits):
        program = Program.wrapped(
            [BufferDecl.read("x", 0, source), BufferDecl.write("out", 1, target)],
            (64, 1, 1),
            [ir.store("out", ir.gid(), ir.bitcast(target, ir.load("x", ir.gid())))],
        )
        arrays = {"x": x, "out": np.zeros(64, STORAGE[target])}
        cases.append(Case(program=program, arrays=arrays, extent=(64, 1, 1)))

    assert list(differences(device, cases, codes_of(device))) == []


@pytest.mark.parametrize("device", COMPILED, ids=lambda device: device.name)
@pytest.mark.parametrize("dtype", [DataType.F32, DataType.F64], ids=str)
def test_copysign_is_exact_on_a_device(device, dtype):
    kind = STORAGE[dtype].type
    few = [0.0, -0.0, 1.5, -1.5, math.inf, -math.inf]
    x, y = (side.ravel().astype(kind) for side in np.meshgrid([*few, math.nan], few))
    program = Program.wrapped(
        [
            BufferDecl.read("x", 0, dtype),
            BufferDecl.read("y", 1, dtype),
            BufferDecl.write("out", 2, dtype),
        ],
        (64, 1, 1),
        [
            ir.store(
                "out",
                ir.gid(),
                ir.binary(BinaryOp.COPYSIGN, ir.load("x", ir.gid()), ir.load("y", ir.gid())),
            )
        ],
    )
    arrays = {"x": x, "y": y, "out": np.zeros_like(x)}

    case = Case(program=program, arrays=arrays, extent=(x.size, 1, 1))
    assert list(differences(device, [case], codes_of(device))) == []
