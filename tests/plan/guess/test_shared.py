"""What the guess takes threads of several positions to load, and groups to bring."""

import re

import numpy as np
import pytest

import vyre
from vyre import In, Out, f32
from vyre.analysis import analyse
from vyre.emit import CUDA, emit
from vyre.emit.staging import arranged, bytes_of, stages
from vyre.ir.program import Program
from vyre.model import Code, Order, Schedule
from vyre.plan.guess.amounts import Amounts, amounts
from vyre.plan.guess.shapes import Shapes
from vyre.plan.guess.work import work_of
from vyre.runtime.devices.launcher import Numbers


@vyre.kernel
def five(x: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    out[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


@vyre.kernel
def filter3(x: In[f32, 2], w: In[f32, (9,)], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    s = 0.0
    for di in range(3):
        for dj in range(3):
            s += w[3 * di + dj] * x[i + di - 1, j + dj - 1]
    out[i, j] = s


@vyre.kernel
def seven(x: In[f32, 3], out: Out[f32, 3]):
    i, j, k = vyre.gid(0), vyre.gid(1), vyre.gid(2)
    s = x[i - 1, j, k] + x[i + 1, j, k] + x[i, j - 1, k] + x[i, j + 1, k]
    out[i, j, k] = s + x[i, j, k - 1] + x[i, j, k + 1] - 6.0 * x[i, j, k]


@vyre.kernel
def box(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    s = 0.0
    for k in range(9):
        s += x[i + k - 4]
    out[i] = s


@vyre.kernel
def turned(x: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    out[i, j] = x[j, i]


@vyre.kernel
def product(a: In[f32, 2], b: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    s = 0.0
    for k in range(a.shape[1]):
        s += a[i, k] * b[k, j]
    out[i, j] = s


def counted(program: Program, side: int, *schedules: Schedule) -> Amounts:
    rank = max(decl.rank for decl in program.buffers)
    extent = (side, side if rank > 1 else 1, side if rank > 2 else 1)
    shapes = {
        decl.name: decl.shape if decl.count else (side,) * decl.rank for decl in program.buffers
    }
    return amounts(
        work_of(program, analyse(program), Numbers(extent, shapes, {})), Shapes.of(schedules)
    )


def code(**parts: object) -> Code:
    return Code(checked=False, **parts)  # type: ignore[arg-type]


KINDS = [
    code(items=4, vector=4),
    code(items=4, vector=4, lines=2),
    code(items=8, vector=4, lines=4),
    code(items=8, vector=4, order=Order.BLOCKED),
    code(items=2, lines=2),
    code(items=1, lines=4),
]


def written(program: Program, given: Code) -> tuple[int, int]:
    """Vectors and single elements that the emitted code of a thread inside its arrays loads."""
    source = emit(program, given, CUDA, analyse(program)).body
    inside = source.split("\n    } else {")[0]  # all items are in the extent
    if "if (pos0 >= " in inside:  # and what they look at is in its array
        inside = inside.split("} else {")[0]
    vectors = len(re.findall(r"const float[24] row\w* = ", inside))
    return vectors, len(re.findall(r"const f32 row\w* = ", inside))


PAIRS = [
    (kernel, given)
    for kernel in (five, filter3, seven, box)
    for given in KINDS
    if kernel is not box or given.lines == 1
]


@pytest.mark.parametrize(
    ("kernel", "given"),
    PAIRS,
    ids=[f"{kernel.name}, {Schedule((32, 1, 1), given).text}" for kernel, given in PAIRS],
)
def test_a_thread_is_taken_to_load_what_the_emitted_code_loads(kernel: vyre.Kernel, given: Code):
    found = counted(kernel.program, 1 << 10, Schedule((32, 1, 1), given))
    each = given.items * given.lines

    assert round(float(found.loads[0]) * each) == sum(written(kernel.program, given))


def test_lanes_of_whole_warps_pass_elements_on_where_tiles_are_whole():
    plain, passing, apart = (
        Schedule((width, 4, 1), code(items=4, vector=4, lines=2, fitted=fitted))
        for width, fitted in ((32, False), (32, True), (16, True))
    )
    found = counted(five.program, 1 << 10, plain, passing, apart)

    assert found.passed.tolist() == [0.0, 0.5, 0.0]
    assert found.loads[1] < found.loads[0] == found.loads[2]


def test_products_bring_less_the_larger_their_tiles():
    small, large = (
        Schedule((16, 16, 1), code(items=items, vector=4, lines=lines, depth=16))
        for items, lines in ((4, 4), (8, 8))
    )
    found = counted(product.program, 1 << 10, small, large)

    # Of each of 1024 rounds, two arrays' elements for a tile of 64 by 64, and of 128 by 128.
    assert found.brought.tolist() == pytest.approx([2 * 1024 / 64 / 4, 2 * 1024 / 128 / 4])
    assert found.chunks.tolist() == [64.0, 64.0]
    assert found.near_loads[1] < found.near_loads[0]


@vyre.kernel
def sums(x: In[f32, 2], out: Out[f32]):
    i = vyre.gid()
    s = 0.0
    for k in range(x.shape[1]):
        s += x[i, k]
    out[i] = s


@pytest.mark.parametrize("kernel", [product, turned, sums], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize(
    "schedule",
    [
        Schedule((16, 16, 1), code(items=4, vector=4, lines=4, depth=8)),
        Schedule((16, 16, 1), code(items=8, vector=4, lines=8, depth=16)),
        Schedule((32, 8, 1), code(items=2, vector=2, lines=4, depth=1)),
        Schedule((32, 8, 1), code(lines=4, depth=32, loaders=1)),
        Schedule((16, 8, 1), code(items=4, lines=2, depth=4)),
        Schedule((32, 1, 1), code(depth=128, loaders=16)),
    ],
    ids=lambda schedule: schedule.text,
)
def test_groups_are_taken_to_need_as_much_memory_as_is_laid_out_for_them(
    kernel: vyre.Kernel, schedule: Schedule
):
    found = counted(kernel.program, 1 << 10, schedule)
    own = dict.fromkeys(stages(kernel.program, analyse(kernel.program)).values())

    assert float(found.near_bytes[0]) == bytes_of(arranged(stage, schedule.code) for stage in own)


def test_what_is_turned_through_a_groups_memory_is_read_in_whole_lines():
    direct, staged = (Schedule((32, 8, 1), code(lines=4, depth=depth)) for depth in (0, 1))
    found = counted(turned.program, 1 << 10, direct, staged)

    assert found.lines_loaded[1] < 0.2 * found.lines_loaded[0]
    assert found.chunks.tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("extent", "left"),
    [(1024, 0.0), (1020, 0.0), (1022, 2.0), (1000, 0.0), (3, 3.0)],
)
def test_threads_side_by_side_that_are_whole_or_empty_leave_nothing_for_one_by_one(
    extent: int, left: float
):
    blocked = Schedule((64, 1, 1), code(items=4, order=Order.BLOCKED))
    found = counted(box.program, extent, blocked)

    assert found.partial[0] * found.left[0] * found.groups[0] == pytest.approx(left)


def test_whole_tiles_have_nobody_that_runs_one_by_one():
    strided = Schedule((64, 1, 1), code(items=4))
    found = counted(box.program, 1000, strided, Schedule((50, 1, 1), code(items=4)))

    assert found.partial[0] > 0.0
    assert found.partial[1] == 0.0
    assert np.all(found.left >= 0.0)
