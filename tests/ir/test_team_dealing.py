"""Numbers that lanes of a team deal out: how many they tell each other, and that no bit changes."""

import numpy as np
import pytest

import vyre
from vyre import In, Out, f32
from vyre.ir.declare import MemoryKind
from vyre.ir.expr import Array, FromLane
from vyre.ir.fold import BLOCK, HALVES, LANES
from vyre.ir.node import Let
from vyre.ir.team import team
from vyre.ir.walk import all_expressions, statements
from vyre.model import Code, Order, Schedule
from vyre.runtime.devices.device import Device
from vyre.testing.cuda_on_host import CudaOnHost, compiler

ITEMS = (2, 5, 8)


@vyre.kernel
def pulls(x: In[f32], w: In[f32], out: Out[f32], more: Out[f32]):
    i = vyre.gid()
    here = w[i]
    out[i] = sum((x[k] - here) * 0.5 for k in range(len(x)))
    more[i] = sum(x[k] * here for k in range(len(x)) if x[k] > here)


@vyre.kernel
def products(x: In[f32], w: In[f32], out: Out[f32]):
    i = vyre.gid()
    here = w[i]
    out[i] = vyre.prod(x[k] * here for k in range(len(x)))


@vyre.kernel
def of_two_kinds(x: In[f32], w: In[f32], out: Out[f32], place: Out[f32]):
    i = vyre.gid()
    here = w[i]
    out[i] = sum(x[k] * here for k in range(len(x)))
    place[i] = max(x[k] * here for k in range(len(x)))


@vyre.kernel
def greatest(x: In[f32], w: In[f32], out: Out[f32]):
    i = vyre.gid()
    here = w[i]
    out[i] = max(x[k] * here for k in range(len(x)))


@vyre.kernel
def of_five(
    x: In[f32], w: In[f32], a: Out[f32], b: Out[f32], c: Out[f32], d: Out[f32], e: Out[f32]
):
    i = vyre.gid()
    here = w[i]
    a[i] = sum(x[k] * here for k in range(len(x)))
    b[i] = sum(x[k] - here for k in range(len(x)))
    c[i] = sum(x[k] + here for k in range(len(x)))
    d[i] = sum(here / x[k] for k in range(len(x)))
    e[i] = sum(here - x[k] for k in range(len(x)))


def told(kernel, items: int, lanes: int = LANES) -> list[int]:
    """How often lanes tell each other something at each step, wherever they do."""
    found = team(kernel.program, lanes, items=items).program
    parts = [part for part in all_expressions(found.entry) if isinstance(part, FromLane)]
    return [sum(part.away == half for part in parts) for half in HALVES]


@pytest.mark.parametrize("items", ITEMS)
def test_half_of_the_numbers_are_told_at_every_step(items):
    """For a single block, and for many."""
    numbers, wanted = items, []
    for _ in HALVES:
        numbers = (numbers + 1) // 2
        wanted.append(2 * numbers)

    assert told(products, items) == wanted


@pytest.mark.parametrize(
    ("kernel", "items"), [(of_two_kinds, 2), (greatest, 4), (of_five, 8)], ids=lambda it: str(it)
)
def test_numbers_of_two_kinds_in_any_order_or_of_more_than_lanes_are_not_dealt(kernel, items):
    entry = team(kernel.program, LANES, items=items).program.entry

    lets = [node for node in statements(entry) if isinstance(node, Let)]
    assert not any(isinstance(node.value, Array) for node in lets)


@pytest.mark.parametrize("rows", [2, 32])
def test_rows_meet_where_each_has_a_place_for_every_lane(rows):
    made = team(pulls.program, rows * LANES, items=2).program
    shared = [decl for decl in made.buffers if decl.kind is MemoryKind.SHARED]

    assert [decl.count for decl in shared][-1] == rows * LANES


def test_what_is_not_dealt_is_told_at_every_step():
    assert told(greatest, 4) == [4] * len(HALVES)


@pytest.fixture(scope="module")
def device():
    if compiler() is None:
        pytest.skip("it takes g++")
    return Device("cuda-on-host", CudaOnHost())


def results(device, kernel, rounds, count, schedule):
    rng = np.random.default_rng(rounds)
    x = np.ldexp(rng.uniform(-1, 1, rounds), rng.integers(-3, 4, rounds)).astype(np.float32)
    x[rng.random(rounds) < 0.03] = -0.0
    w = rng.uniform(-1, 1, count).astype(np.float32)
    outs = [p.name for p in kernel.program.buffers if p.name not in ("x", "w")]
    found = [device.array(np.full(count, 7, np.float32)) for _ in outs]
    kernel(device.array(x), device.array(w), out=tuple(found), schedule=schedule)
    return [np.asarray(one).view(np.uint32).tolist() for one in found]


@pytest.mark.parametrize("lanes", [32, 128, 1024])
@pytest.mark.parametrize("rounds", [0, 33, BLOCK, 5 * BLOCK + 1])
def test_dealt_numbers_have_the_bits_of_one_result_alone(device, lanes, rounds):
    checked = rounds == 0
    usual = results(device, pulls, rounds, 11, Schedule((64, 1, 1), Code(checked=checked)))
    for items in ITEMS:
        code = Code(lanes=lanes, items=items, order=Order.BLOCKED, checked=checked)
        assert results(device, pulls, rounds, 11, Schedule((lanes, 1, 1), code)) == usual


@pytest.mark.parametrize("lanes", [32, 128])
def test_blocks_of_blocks_of_blocks_have_the_bits_of_one_result_alone(device, lanes):
    rounds = BLOCK * BLOCK + 3 * BLOCK + 5
    usual = results(device, pulls, rounds, 3, Schedule((64, 1, 1), Code(checked=False)))
    code = Code(lanes=lanes, items=2, order=Order.BLOCKED, checked=False)

    assert results(device, pulls, rounds, 3, Schedule((lanes, 1, 1), code)) == usual
