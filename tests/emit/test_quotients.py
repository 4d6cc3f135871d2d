"""Quotients whose divisor many have in common: where CUDA's text says so, and with which bits."""

import inspect

import numpy as np
import pytest

import vyre
from vyre import In, Out, f32, f64
from vyre.analysis import analyse
from vyre.backend import reference
from vyre.emit import CUDA, OPENCL, emit
from vyre.model import Code, Schedule
from vyre.runtime.devices.device import Device
from vyre.testing.cuda_on_host import CudaOnHost, compiler
from vyre.testing.quotients import FIRST, LAST, by_reciprocal, drawn, hard_dividends, nearest, wrong

SHARED = "shared_quotient_f32("
ITEMS = Code(items=8, vector=4, checked=False)


@vyre.kernel
def table(x: In[f32], by: In[f32], out: Out[f32, 2]):
    i = vyre.gid()
    divisor = by[i]
    for k in range(len(x)):
        out[i, k] = x[k] / divisor


@vyre.kernel
def by_a_number(x: In[f32], out: Out[f32], divisor: f32):
    i = vyre.gid()
    out[i] = x[i] / divisor


@vyre.kernel
def thirds(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = x[i] / 3.0


@vyre.kernel
def ratios(x: In[f32], y: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = x[i] / y[i]


@vyre.kernel
def changing(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    divisor = 1.0
    s = 0.0
    for k in range(len(x)):
        s += x[k] / divisor
        divisor = divisor + s
    out[i] = s


@vyre.kernel
def wide(x: In[f64], out: Out[f64], divisor: f64):
    i = vyre.gid()
    out[i] = x[i] / divisor


@vyre.kernel
def shares_of_rows(x: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid()
    out[i, j] = x[i, j] / sum(x[i, k] for k in range(x.shape[1]))


@vyre.kernel
def shares_of_few(x: In[f32, (64, 64)], out: Out[f32, 2]):
    i = vyre.gid()
    divisor = x[i, 0]
    for k in range(4):
        out[i, k] = x[i, k] / divisor


def text(kernel, code=None, dialect=CUDA):
    program = kernel.program
    return emit(program, code or Code(checked=False), dialect, analyse(program)).body


@pytest.mark.parametrize(
    ("kernel", "code"),
    [
        (table, None),
        (thirds, None),
        (shares_of_rows, Code(lanes=32, across=True)),
        (shares_of_rows, Code(lanes=32, across=True, keeps=8)),
    ],
)
def test_a_divisor_that_several_share_is_told_to_the_compiler(kernel, code):
    assert SHARED in text(kernel, code)


@pytest.mark.parametrize(
    ("kernel", "code"),
    [
        (by_a_number, None),
        (by_a_number, ITEMS),
        (ratios, None),
        (ratios, ITEMS),
        (changing, None),
        (wide, ITEMS),
    ],
)
def test_other_quotients_are_divisions(kernel, code):
    assert SHARED not in text(kernel, code)


def test_a_device_that_divides_by_itself_is_left_to_it():
    assert SHARED not in text(thirds, dialect=OPENCL)


def test_fast_math_has_instructions_of_its_own():
    fast = vyre.kernel(fast_math=True)(inspect.unwrap(thirds))

    assert SHARED not in text(fast)


def test_a_share_of_all_divisors_rounds_as_a_division_does():
    ends = [np.arange(FIRST, FIRST + 4_096), np.arange(LAST - 4_096, LAST)]
    some = np.random.default_rng(3).integers(FIRST, LAST, 16_384)

    assert wrong(np.concatenate([*ends, some])) == []


def test_all_dividends_of_a_divisor_round_as_a_division_does():
    x = np.arange(FIRST, LAST, 3)
    y = np.full_like(x, 12_345_678)

    assert (by_reciprocal(x, y) == nearest(x, y)).all()


def test_dividends_next_to_a_midpoint_are_all_found():
    y = FIRST + 0x12344  # even, so that each midpoint is found by fewer bits
    x = np.arange(FIRST, LAST)
    bits = np.where(x < y, 25, 24)
    below = (x << bits) // y
    hard = set()
    for midpoint in (below, below + 1):
        near = (midpoint % 2 == 1) & (np.abs((x << bits) - midpoint * y) <= 8)
        hard |= set(x[near].tolist())

    found = [dividends.tolist() for dividends, _ in hard_dividends(np.array([y]))]

    assert {number for some in found for number in some} == hard != set()


@pytest.mark.skipif(compiler() is None, reason="it takes g++")
def test_numbers_of_all_exponents_have_the_bits_of_a_division():
    device = Device("cuda-on-host", CudaOnHost())
    x, by = drawn(np.random.default_rng(1))
    with np.errstate(all="ignore"):
        expected = x / by[:, None]
    out = device.array(np.zeros_like(expected))
    table(device.array(x), device.array(by), out=out, shape=len(by))

    np.testing.assert_array_equal(np.asarray(out), expected)
    assert (np.signbit(np.asarray(out)) == np.signbit(expected))[expected == 0].all()

    for divisor, row in zip(by[:12], expected, strict=False):
        schedule = Schedule((32, 1, 1), ITEMS)
        found = np.asarray(by_a_number(device.array(x), divisor=divisor, schedule=schedule))
        np.testing.assert_array_equal(found, row)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(np.asarray(thirds(device.array(x))), x / np.float32(3))


def test_one_branch_decides_for_all_elements_that_a_lane_keeps():
    kept = text(shares_of_rows, Code(lanes=32, across=True, keeps=8, checked=False))

    assert kept.count("quick_quotient_f32(") == 2  # of whole rows, and of shorter ones
    assert kept.count("if (room) {") == 2


def test_few_kept_elements_are_divided_one_by_one():
    kept = text(shares_of_rows, Code(lanes=32, across=True, keeps=4, checked=False))

    assert "quick_quotient_f32(" not in kept


@pytest.mark.skipif(compiler() is None, reason="it takes g++")
@pytest.mark.parametrize("of", [0.0, 1.0, 1e-30, 1e30, np.inf])
@pytest.mark.parametrize("length", [200, 256])
def test_kept_rows_of_all_sizes_have_the_bits_of_the_reference(of, length):
    """Zeros, subnormal numbers, infinities and NaN among the elements, and as the divisor."""
    random = np.random.default_rng(5)
    rows = random.random((6, length), np.float32) * np.float32(of if of else 1)
    rows[1, ::7], rows[2, 3], rows[3, 5], rows[4, 9] = -0.0, 1e-42, np.inf, np.nan
    rows[5] = of * 1e-12
    expected = np.zeros_like(rows)
    with np.errstate(all="ignore"):
        reference.run(
            shares_of_rows.program, {"x": rows.copy(), "out": expected}, (length, len(rows), 1)
        )
        device = Device("cuda-on-host", CudaOnHost())
        schedule = Schedule((32, 1, 1), Code(lanes=32, across=True, keeps=8, checked=False))
        found = np.asarray(shares_of_rows(device.array(rows), schedule=schedule))

    np.testing.assert_array_equal(found, expected)
    assert (np.signbit(found) == np.signbit(expected))[expected == 0].all()


@vyre.kernel(workgroup=64)
def passed_on(x: In[f32], by: In[f32], out: Out[f32]):
    i, lane = vyre.gid(), vyre.local_id()
    divisor = by[i]
    cell = vyre.shared(f32, 64)
    own = vyre.local(f32, 16)
    for k in range(16):
        own[k] = x[i] * f32(k + 1)
    s = 0.0
    for k in range(16):
        cell[lane] = own[k] / divisor
        vyre.barrier()
        s += cell[63 - lane]
        vyre.barrier()
    out[i] = s


@vyre.kernel
def arrays_inside(x: In[f32], by: In[f32], out: Out[f32]):
    i = vyre.gid()
    divisor = by[i]
    s = 0.0
    for k in range(16):
        own = vyre.local(f32, 16)
        for j in range(16):
            own[j] = x[i] + f32(j)
        s += own[k] / divisor
    out[i] = s


@pytest.mark.skipif(compiler() is None, reason="it takes g++")
@pytest.mark.parametrize("kernel", [passed_on, arrays_inside])
def test_lanes_that_wait_in_a_loop_go_one_way_and_arrays_may_begin_in_it(kernel):
    rng = np.random.default_rng(2)
    x, by = rng.random((2, 128), np.float32)
    x[5], x[70], by[9], by[10] = 1e-42, np.inf, 0.0, 2.0**-120  # what only some lanes have
    expected = np.zeros_like(x)
    with np.errstate(all="ignore"):
        inputs = {"x": x, "by": by, "out": expected}
        reference.run(kernel.program, inputs, (len(x), 1, 1))
        device = Device("cuda-on-host", CudaOnHost())
        found = np.asarray(kernel(device.array(x), device.array(by)))

    np.testing.assert_array_equal(found, expected)


def test_extremes_are_an_instruction_but_in_loops_that_compilers_write_out():
    @vyre.kernel
    def clamped(x: In[f32], out: Out[f32]):
        i = vyre.gid()
        out[i] = min(max(x[i], -1.0), 1.0)

    @vyre.kernel
    def largest(x: In[f32], out: Out[f32]):
        i = vyre.gid()
        top = 0.0
        for k in range(len(x)):
            top = max(top, x[k])
        out[i] = top

    assert "max_at_once_f32(" in text(clamped)
    assert "min_at_once_f32(" in text(clamped)
    assert "max_f32(" in text(largest)
    assert "max_at_once_f32(" in text(largest, Code(unroll=32, checked=False))
    assert "at_once" not in text(clamped, dialect=OPENCL)
