"""Functions with one right result give it on every device, of elements and of constants."""

import numpy as np
import pytest

import vyre
from vyre import ir
from vyre.analysis import analyse
from vyre.emit import OPENCL, OPENCL_BY_CLANG, emit
from vyre.ir import BufferDecl, DataType, Program
from vyre.ir.expr import BinaryOp, UnaryOp
from vyre.ir.storage import STORAGE
from vyre.model import Code, DeviceKind
from vyre.runtime.devices.launcher import words_of
from vyre.testing.compare import apart

COMPILED = [device for device in vyre.devices() if device.backend.compiles]
REFERENCE = next(device for device in vyre.devices() if not device.backend.compiles)
FLOATS = [DataType.F32, DataType.F64]
NUMBERS = (0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -1.5, 3.0, 1e9, -7e22, np.inf, -np.inf, np.nan)
OPERATORS = (
    *(UnaryOp.SQRT, UnaryOp.FLOOR, UnaryOp.CEIL, UnaryOp.ROUND, UnaryOp.TRUNC, UnaryOp.ABS),
    BinaryOp.COPYSIGN,
)
FUNCTIONS = {"fma": lambda x: ir.fma(x, x, x)} | {
    op.name.lower(): (
        (lambda x, op=op: ir.unary(op, x))
        if isinstance(op, UnaryOp)
        else (lambda x, op=op: ir.binary(op, x, -x))
    )
    for op in OPERATORS
}


def of_elements(name, dtype) -> Program:
    return Program.wrapped(
        [BufferDecl.read("x", 0, dtype), BufferDecl.write("out", 1, dtype)],
        (64, 1, 1),
        [ir.store("out", ir.gid(), FUNCTIONS[name](ir.load("x", ir.gid())))],
    )


def of_constants(name, dtype) -> Program:
    stores = [
        ir.store("out", at, FUNCTIONS[name](ir.lit(dtype, number)))
        for at, number in enumerate(NUMBERS)
    ]
    return Program.wrapped([BufferDecl.write("out", 0, dtype)], (1, 1, 1), stores)


def run(device, program, extent, arrays):
    (binary,) = device.binaries([(program, Code())])
    words = words_of(binary.layout, (extent, 1, 1), {n: a.shape for n, a in arrays.items()})
    group = program.workgroup_size
    device.run(binary, (-(-extent // group[0]), 1, 1), group, arrays, program, words)
    return arrays["out"]


def values(dtype) -> np.ndarray:
    """Any bits, and the numbers at which functions turn, with their neighbours."""
    kind, bits = STORAGE[dtype].type, np.uint32 if dtype is DataType.F32 else np.uint64
    rng = np.random.default_rng(7)
    anything = rng.integers(0, np.iinfo(bits).max, 4000, dtype=bits, endpoint=True).view(kind)
    halves = (np.arange(-200, 200) / 2).astype(kind)
    above, below = (np.nextafter(halves, kind(end)) for end in (np.inf, -np.inf))
    return np.concatenate([anything, halves, above, below, np.array(NUMBERS, kind)])


@pytest.mark.parametrize("device", COMPILED, ids=lambda device: device.name)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_of_elements_they_have_the_bits_of_the_reference(device, dtype, name):
    program, x = of_elements(name, dtype), values(dtype)

    found, want = (
        run(one, program, len(x), {"x": x, "out": np.zeros_like(x)}) for one in (device, REFERENCE)
    )

    assert apart(dtype, want, found).tolist() == []


@pytest.mark.parametrize("device", COMPILED, ids=lambda device: device.name)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_of_constants_they_have_the_bits_of_elements(device, dtype, name):
    numbers = np.array(NUMBERS, STORAGE[dtype].type)
    given = {"x": numbers, "out": np.zeros_like(numbers)}
    want = run(device, of_elements(name, dtype), len(numbers), given)

    found = run(device, of_constants(name, dtype), 1, {"out": np.zeros_like(numbers)})

    assert apart(dtype, want, found).tolist() == []


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_driver_that_compiles_by_clang_is_given_clang_s_names(dtype, name):
    program = of_elements(name, dtype)

    def text(dialect):
        return emit(program, Code(), dialect, analyse(program)).text

    assert "__builtin_" in text(OPENCL_BY_CLANG)
    assert "__builtin_" not in text(OPENCL)


@pytest.mark.parametrize(
    "device",
    [one for one in COMPILED if one.info.backend == "opencl" and "PoCL" in one.info.compiler],
    ids=lambda device: device.name,
)
def test_pocl_compiles_by_clang_for_a_processor(device):
    program = of_elements("floor", DataType.F32)

    by_clang = "__builtin_floorf" in device.source(program, Code())

    assert by_clang is (device.info.kind is DeviceKind.CPU)
