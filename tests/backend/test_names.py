"""Whatever a program's parts are called, it computes the same."""

import numpy as np
import pytest

import vyre
from vyre import In, Out, f32, ir
from vyre.analysis import analyse
from vyre.backend.base import Unbuilt
from vyre.emit import CUDA, bundle, emit
from vyre.ir import BufferDecl, DataType, Program
from vyre.model import Code, Order, Schedule
from vyre.testing.compare import codes_of
from vyre.testing.names import HOSTILE, ODD, OURS

COMPILED = [device for device in vyre.devices() if device.backend.compiles]
CODES = (
    Code(),
    Code(items=4, vector=4, unroll=2, checked=False),
    Code(items=3, order=Order.BLOCKED),
)
NAMES = (*HOSTILE, *ODD)
EACH = 60  # programs of a build


def program_of(name: str, other: str) -> Program:
    """Out = k + sum of x over 4 neighbours, with everything in it called `name` or like it."""
    total, here = f"{other}_0", f"{name}_1"
    turn = ir.loop(
        name, 0, 4, [ir.assign(total, ir.var(total) + ir.load(name, ir.var(here) + ir.var(name)))]
    )
    return Program.wrapped(
        [
            BufferDecl.read(name, 0, DataType.F32),
            BufferDecl.uniform(other, 1, DataType.F32).with_count(1),
            BufferDecl.write(f"{name}_0", 2, DataType.F32),
        ],
        (64, 1, 1),
        [
            ir.let(here, ir.gid()),
            ir.let(total, ir.load(other, 0)),
            turn,
            ir.store(f"{name}_0", ir.var(here), ir.var(total)),
        ],
    )


PROGRAMS = [program_of(name, f"{name}_") for name in NAMES]


@pytest.mark.parametrize("device", COMPILED, ids=lambda device: device.name)
def test_a_program_computes_the_same_if_its_parts_are_called_like_ours(device):
    x = np.arange(64, dtype=np.float32)
    want = device.dispatch(program_of("x", "k"), [x, np.float32([0.5])])[0]
    programs = [program_of(name, f"{name}_") for name in (*OURS, *ODD)]
    device.binaries([(program, Code()) for program in programs])  # in one build

    for program in programs:
        (found,) = device.dispatch(program, [x, np.float32([0.5])])
        assert found.tobytes() == want.tobytes(), program.buffers[0].name


@pytest.mark.parametrize("device", COMPILED, ids=lambda device: device.name)
@pytest.mark.parametrize("number", range(len(CODES)))
@pytest.mark.parametrize("first", range(0, len(NAMES), EACH))
def test_a_program_is_built_whatever_its_parts_are_called(device, number, first):
    programs, code = PROGRAMS[first : first + EACH], CODES[number]
    if device.info.simd is not None:  # where each is a build of its own
        programs, code = programs[number :: len(CODES)], codes_of(device)[number]

    built = device.binaries([(program, code) for program in programs])

    assert [made for made in built if isinstance(made, Unbuilt)] == []


@pytest.mark.slow
@pytest.mark.parametrize("code", CODES, ids=str)
def test_nvidias_compiler_takes_any_name(code):
    nvrtc = pytest.importorskip("vyre.backend.cuda.nvrtc")
    sources = [
        emit(program, code, CUDA, analyse(program), f"vyre_kernel_{number}")
        for number, program in enumerate(PROGRAMS[CODES.index(code) :: len(CODES)])
    ]

    made = nvrtc.compile(bundle(sources), nvrtc.options("sm_90"))

    assert not isinstance(made, Unbuilt), made.log


@vyre.kernel
def twice_and_one(x: In[f32], value_0: f32, out: Out[f32]):
    i = vyre.gid()
    value = x[i] * 2
    out[i] = value + value_0


@pytest.mark.parametrize("device", COMPILED, ids=lambda device: device.name)
@pytest.mark.parametrize("copies", [1, 2, 4])
def test_a_variable_named_value_keeps_its_value(device, copies):
    """Where a code has copies of it: for each item, or for each row of lanes."""
    x = np.arange(1000, dtype=np.float32)
    lanes = device.info.simd is not None
    code = Code(vector=8, rows=copies) if lanes else Code(items=copies)

    found = twice_and_one(device.array(x), value_0=1, schedule=Schedule((64, 1, 1), code))

    assert np.array_equal(np.asarray(found), x * 2 + 1)


@pytest.mark.parametrize("code", [Code(unroll=4), Code(items=2, unroll=2), Code(items=4, unroll=8)])
@pytest.mark.parametrize("device", COMPILED, ids=lambda device: device.name)
def test_a_name_of_ours_outside_a_loop_does_not_meet_ours_inside(device, code):
    """Items differ in the author's `goes`; whether a round is taken is the same for all."""
    if device.info.simd is not None:
        pytest.skip("it has lanes in the place of items")

    @vyre.kernel
    def stepped(x: In[f32], out: Out[f32], a: f32):
        i = vyre.gid()
        goes = x[i]
        v, k = a, vyre.u32(0)
        while k < 5 and v * v < 1000.0:
            t = v * 1.25 + a
            w = t - v * 0.5
            v = w + t * 0.125 - v * 0.0625 + t * w * 0.001
            k += 1
        out[i] = v + goes

    x = device.array(np.arange(64, dtype=np.float32))
    want = np.asarray(stepped(x, a=0.25, schedule=Schedule((32, 1, 1))))
    found = np.asarray(stepped(x, a=0.25, schedule=Schedule((32, 1, 1), code)))

    assert found.tobytes() == want.tobytes()
