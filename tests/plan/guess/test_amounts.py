"""What the guess counts of a program, and what its model makes of it."""

from math import prod

import numpy as np
import pytest

import vyre
from vyre import In, InOut, Out, f32, u32
from vyre.analysis import analyse
from vyre.ir import Program
from vyre.model import Code, Order, Schedule
from vyre.plan.guess.amounts import Amounts, amounts
from vyre.plan.guess.device import KNOWN
from vyre.plan.guess.model import Figures, nanoseconds
from vyre.plan.guess.shapes import Shapes
from vyre.plan.guess.work import Work, work_of
from vyre.runtime.devices.launcher import Numbers

DEVICE = Figures(units=132.0, unit_threads=2048.0)
PLAIN = Schedule((256, 1, 1), Code(checked=False))


@vyre.kernel
def copied(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = x[i]


@vyre.kernel
def rows(start: In[u32], column: In[u32], x: In[f32], out: Out[f32]):
    i = vyre.gid()
    s = 0.0
    for k in range(start[i], start[i + 1]):
        s += x[column[k]]
    out[i] = s


@vyre.kernel
def counted(x: In[u32], bins: InOut[u32, (1024,)]):
    i = vyre.gid()
    vyre.atomic_add(bins, x[i] & 1023, 1)


@vyre.kernel
def product(a: In[f32, 2], b: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid(1), vyre.gid(0)
    s = 0.0
    for k in range(a.shape[1]):
        s += a[i, k] * b[k, j]
    out[i, j] = s


def worked(program: Program, shapes: dict[str, tuple[int, ...]], *extent: int) -> Work:
    x, y, z = (*extent, 1, 1)[:3]
    return work_of(program, analyse(program), Numbers((x, y, z), shapes, {}))


def counted_for(work: Work, *schedules: Schedule) -> Amounts:
    return amounts(work, Shapes.of(schedules))


def times(work: Work, *schedules: Schedule) -> list[float]:
    found = nanoseconds(counted_for(work, *schedules), KNOWN[0].constants, DEVICE)
    return [float(ns) for ns in np.broadcast_to(found, len(schedules))]


def items(count: int, vector: int = 1, width: int = 256, order: Order = Order.STRIDED) -> Schedule:
    return Schedule((width, 1, 1), Code(items=count, vector=vector, order=order, checked=False))


def of_rows(n: int, length: int) -> Work:
    arrays = {"start": (n + 1,), "column": (n * length,), "x": (n,), "out": (n,)}
    return worked(rows.program, arrays, n)


@pytest.mark.parametrize("length", [2, 8, 40])
def test_parts_of_an_array_that_follow_one_another_are_as_long_as_the_array_allows(length: int):
    work = of_rows(4096, length)

    walked = next(stream for stream in work.streams if stream.walk == 1)
    assert walked.strides == (length, 0, 0)
    assert {stream.rounds for stream in work.streams} == {1.0, float(length)}


def test_loops_whose_loads_wait_for_each_other_are_not_run_one_after_the_other_by_few_threads():
    alone, eight = times(of_rows(1 << 15, 8), PLAIN, items(8))

    assert eight > 2.0 * alone


def test_a_thread_that_has_one_item_costs_no_more_in_a_group_that_is_not_full():
    shapes = {"x": (100,), "out": (100,)}
    work = worked(copied.program, shapes, 100)

    few, many = times(work, Schedule((128, 1, 1), PLAIN.code), Schedule((100, 1, 1), PLAIN.code))

    assert few == pytest.approx(many, rel=0.02)


def test_items_that_no_tile_fills_share_no_loads():
    shapes = dict.fromkeys(("a", "b", "out"), (128, 128))
    work = worked(product.program, shapes, 128, 128)

    whole, half_empty = times(work, items(1, width=128), items(2, width=128))

    assert half_empty > whole


def test_wide_loads_that_lie_apart_take_more_lines_than_those_side_by_side():
    shapes = {"x": (1 << 20,), "out": (1 << 20,)}
    work = worked(copied.program, shapes, 1 << 20)

    found = counted_for(work, items(8, 4), items(8, 4, order=Order.BLOCKED))

    beside, apart = found.lines_loaded
    assert apart > 1.8 * beside


def test_few_groups_that_flush_their_counters_are_not_worth_leaving_units_idle():
    work = worked(counted.program, {"x": (1 << 18,), "bins": (1024,)}, 1 << 18)

    groups_of_8, groups_of_32 = items(32, 4, 1024), items(8, 4, 1024)

    assert prod(groups_of_8.workgroup) == prod(groups_of_32.workgroup)
    few, more = times(work, groups_of_8, groups_of_32)
    assert more < few


def test_many_groups_that_flush_their_counters_cost_more_than_few():
    work = worked(counted.program, {"x": (1 << 20,), "bins": (1024,)}, 1 << 20)

    many, few = times(work, items(2, 2, 64), items(16, 4, 1024))

    assert many > 5.0 * few
