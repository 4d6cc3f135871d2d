"""Teams that bring together what rounds read: what that is, who can, and that no bit changes."""

from dataclasses import replace

import numpy as np
import pytest

import vyre
from vyre import In, InOut, Out, f32, f64, u32
from vyre.errors import InvalidInput
from vyre.ir.expr import Load, Select
from vyre.ir.fold import BLOCK, LANES
from vyre.ir.node import Barrier, If, Reduce, Store
from vyre.ir.team import group_bytes, team, why_none_bring
from vyre.ir.team.bringing import LEAST_TEAMS, MOST_TEAMS, reads, records
from vyre.ir.team.positions import unwrapped
from vyre.ir.text import expr_text
from vyre.ir.walk import expressions, statements
from vyre.model import Code, Order, Schedule
from vyre.runtime.devices.device import Device
from vyre.testing import reducers
from vyre.testing.cuda_on_host import CudaOnHost, compiler


@vyre.kernel
def pulls(x: In[f32], m: In[f32], w: In[f32], out: Out[f32], more: Out[f32]):
    i = vyre.gid()
    here = w[i]
    out[i] = sum((x[k] - here) * m[k] for k in range(len(x)))
    more[i] = sum(x[k] * here for k in range(len(x)) if m[k] > here)


@vyre.kernel
def nearest(c: In[f32, 2], q: In[u32], w: In[f32], where: Out[u32], any_below: Out[u32]):
    i = vyre.gid()
    where[i] = vyre.argmin(vyre.abs(c[k, 1] - w[i]) + f32(q[k]) * c[k, 0] for k in range(len(c)))
    any_below[i] = u32(any(c[k, 1] < w[i] for k in range(len(c))))


@vyre.kernel
def spreads(x: In[f32], w: In[f32], out: Out[f32], total: InOut[f32]):
    i = vyre.gid()
    n = len(x)
    mean = sum(x[k] * w[i] for k in range(n)) / f32(n)
    out[i] = sum((x[n - 1 - k] - mean) * (x[k] - mean) for k in range(n)) * w[i]
    total[i] += mean


@vyre.kernel
def mixed(x: In[f32], w: In[f32], least: Out[f32], s: Out[f64]):
    i = vyre.gid()
    least[i] = min(vyre.abs(x[k] - w[i]) for k in range(len(x)))
    s[i] = sum(f64(x[k] * w[i]) for k in range(len(x)))


@vyre.kernel
def by_place(x: In[f32], order: In[u32], w: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = sum(x[order[k]] * w[i] for k in range(len(order)))


@vyre.kernel
def partly(
    x: In[f32],
    a: In[f32, 2],
    w: In[f32],
    out: Out[f32],
    s: Out[f32],
    most: Out[f32],
):
    """One walk brings what it reads, and the others read at their position alone."""
    i = vyre.gid()
    out[i] = sum(x[k] * w[i] for k in range(len(x)))
    s[i] = sum(a[i, k] for k in range(a.shape[1]))
    most[i] = max(a[i, 2 * k] for k in range(a.shape[1] // 2))


@vyre.kernel
def batched(x: In[f32, 2], w: In[f32], out: Out[f32, 2]):
    i, j = vyre.gid()
    out[i, j] = sum(x[vyre.gid(0), k] * x[i, k] * w[j] for k in range(x.shape[1]))


@vyre.function
def cubed(a, b):
    difference = a - b
    square = difference * difference
    return square * difference


@vyre.kernel
def shifted(x: In[f32], first: u32, w: In[f32], most: Out[f32], total: InOut[f32]):
    """Two reductions of the same elements, which names stand for, from some place on."""
    i = vyre.gid()
    n = len(x)
    most[i] = max(cubed(x[k + first], w[i]) * total[i] for k in range(n))
    total[i] = sum(cubed(x[k + first], w[i]) * total[i] for k in range(n))


@vyre.kernel
def halves(x: In[vyre.f16], w: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = sum(f32(x[k]) * w[i] for k in range(len(x)))


@vyre.kernel
def of_seven(x: In[f32, 2], w: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = sum(
        (x[k, 0] + x[k, 1] + x[k, 2] + x[k, 3] + x[k, 4] + x[k, 5] + x[k, 6]) * w[i]
        for k in range(len(x))
    )


@vyre.kernel
def of_two_types(x: In[f32, 2], q: In[u32, 2], w: In[f32], out: Out[f32], n: Out[u32]):
    """Each walk reads little enough, and what they need lies in other memory for each type."""
    i = vyre.gid()
    out[i] = sum((x[k, 0] + x[k, 1] + x[k, 2]) * w[i] for k in range(len(x)))
    n[i] = sum((q[k, 0] + q[k, 1] + q[k, 2]) * i for k in range(len(q)))


@vyre.kernel
def totals(x: In[f32, 2], out: Out[f32]):
    i = vyre.gid()
    out[i] = sum(x[i, k] for k in range(x.shape[1]))


@vyre.kernel
def by_position(x: In[f32], sizes: In[u32], out: Out[f32]):
    i = vyre.gid()
    out[i] = sum(x[k] for k in range(sizes[i]))


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (pulls, None),
        (nearest, None),
        (spreads, None),
        (mixed, None),
        (by_place, None),
        (partly, None),
        (batched, None),
        (shifted, None),
        (halves, "a round reads f16 of 'x', which is not of 32 bits"),
        (of_seven, "its rounds read 8 elements for all positions alike, more than 6"),
        (of_two_types, "its rounds read 8 elements for all positions alike, more than 6"),
        (reducers.residual, None),
        (totals, "no round reads what it reads for all positions alike"),
        (by_position, "its position along x, or what it stores to, says how many rounds there are"),
        (reducers.softmax, "a team stands for a row of positions"),
        (reducers.running, "it may read 'x' where it has stored to it"),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_who_brings_what_rounds_read(kernel, why):
    assert why_none_bring(kernel.program) == why


def brought(kernel):
    """What is brought in each record of a kernel's rounds."""
    nodes = unwrapped(kernel.program.entry)
    decls = {decl.name: decl for decl in kernel.program.buffers}
    walks = [node for node in nodes if isinstance(node, Reduce)]
    found = records(reads(walks, nodes, decls), decls)
    return [(one.words, [expr_text(read.load) for read in one.parts]) for one in found]


def test_what_every_round_reads_at_a_place_of_its_own_is_brought_once():
    """Under a condition, by an index of memory, or by the position it is not."""
    assert [words for words, _ in brought(pulls)] == [2]
    assert [words for words, _ in brought(nearest)] == [1, 2]
    ((words, parts),) = brought(by_place)
    assert words == 1
    assert "order" in parts[0]


@pytest.mark.parametrize("teams", [LEAST_TEAMS, MOST_TEAMS])
@pytest.mark.parametrize("items", [1, 3, 8])
def test_rounds_read_no_memory_but_what_was_brought(teams, items):
    program = team(pulls.program, LANES, items=items, brings=teams).program
    loads = [
        node
        for node in statements(program.entry)
        for part in expressions(node)
        if isinstance(part, Load) and part.buffer in ("x", "m")
    ]

    assert loads
    assert all(isinstance(node.value, Select) for node in loads)
    assert group_bytes(program) == 2 * BLOCK * 2 * 4


@pytest.mark.parametrize("kernel", [pulls, spreads, nearest], ids=lambda one: one.name)
def test_no_team_waits_where_others_do_not_come_by(kernel):
    """A condition around a barrier is the same for all: it goes by the rounds alone."""
    program = team(kernel.program, LANES, items=3, brings=4).program
    names = {"gid(0)", "left"}
    for node in statements(program.entry):
        if isinstance(node, If) and any(
            isinstance(inner, Barrier) for inner in statements((*node.then, *node.otherwise))
        ):
            assert not names & {expr_text(part) for part in expressions(node.cond)}


def test_teams_beyond_the_extent_store_nothing():
    program = team(spreads.program, LANES, items=3, brings=4).program
    arrays = {"out", "total"}
    inside = 0
    for node in statements(program.entry):
        if isinstance(node, If) and expr_text(node.cond) == "gid(0) < extent(0)":
            inside += sum(
                isinstance(inner, Store) and inner.buffer in arrays
                for inner in statements(node.then)
            )
    stores = [n for n in statements(program.entry) if isinstance(n, Store) and n.buffer in arrays]

    assert inside == len(stores) == 6


@pytest.fixture(scope="module")
def device():
    if compiler() is None:
        pytest.skip("it takes g++")
    return Device("cuda-on-host", CudaOnHost())


def arguments(kernel, rounds, count):
    rng = np.random.default_rng(rounds)
    made = {
        "x": np.ldexp(rng.uniform(-1, 1, rounds), rng.integers(-3, 4, rounds)).astype(np.float32),
        "m": rng.standard_normal(rounds).astype(np.float32),
        "c": rng.standard_normal((rounds, 2)).astype(np.float32),
        "q": rng.integers(0, 9, rounds).astype(np.uint32),
        "order": rng.integers(0, max(rounds, 1), rounds).astype(np.uint32),
        "a": rng.uniform(-1, 1, (count, 50)).astype(np.float32),
        "first": 2,
        "w": rng.uniform(-1, 1, count).astype(np.float32),
        "total": rng.standard_normal(count).astype(np.float32),
    }
    made["x"][rng.random(rounds) < 0.03] = -0.0
    return {decl.name: made[decl.name] for decl in kernel.program.buffers if decl.name in made}


def results(device, kernel, rounds, count, schedule):
    given = {
        name: a if name == "first" else device.array(a)
        for name, a in arguments(kernel, rounds, count).items()
    }
    found = kernel(**given, shape=count, schedule=schedule)
    outs = [*(found if isinstance(found, tuple) else (found,)), given.get("total")]
    return [np.asarray(one).tobytes() for one in outs if one is not None]


@pytest.mark.parametrize(
    "kernel", [pulls, nearest, spreads, mixed, by_place, partly, shifted], ids=lambda k: k.name
)
@pytest.mark.parametrize("rounds", [0, 1, 33, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK + 1])
def test_what_was_brought_has_the_bits_of_one_result_alone(device, kernel, rounds):
    usual = Schedule((64, 1, 1), Code())
    for count in (1, 7, 40):
        wanted = results(device, kernel, rounds, count, usual)
        for teams, items, checked in (
            (4, 1, True),
            (16, 8, rounds == 0 or kernel in (by_place, shifted)),
        ):
            code = Code(lanes=32, items=items, order=Order.BLOCKED, depth=BLOCK, checked=checked)
            schedule = Schedule((teams * LANES, 1, 1), code)
            assert results(device, kernel, rounds, count, schedule) == wanted, (count, teams)


def test_blocks_of_blocks_have_the_bits_of_one_result_alone(device):
    rounds = BLOCK * BLOCK + 3 * BLOCK + 5
    usual = results(device, pulls, rounds, 3, Schedule((64, 1, 1), Code(checked=False)))
    code = Code(lanes=32, items=2, order=Order.BLOCKED, depth=BLOCK, checked=False)

    assert results(device, pulls, rounds, 3, Schedule((128, 1, 1), code)) == usual


def test_a_device_whose_lanes_meet_in_memory_says_what_to_do_without():
    reference = vyre.open("reference")
    code = Code(lanes=32, order=Order.BLOCKED, depth=BLOCK)

    with pytest.raises(InvalidInput) as caught:
        results(reference, by_place, 40, 3, Schedule((128, 1, 1), code))

    assert str(caught.value) == (
        "workgroup (128, 1, 1) for this call of by_place: a team of 32 lanes is a workgroup of its"
        " own\nFix: use (32, 1, 1), and depth=0"
    )
    results(reference, by_place, 40, 3, Schedule((32, 1, 1), replace(code, depth=0)))


@pytest.mark.parametrize("rows", [1, 3])
def test_each_row_of_positions_has_workgroups_of_its_own(device, rows):
    rng = np.random.default_rng(rows)
    x = device.array(rng.standard_normal((rows, BLOCK + 5)).astype(np.float32))
    w = device.array(rng.standard_normal(9).astype(np.float32))

    def found(schedule):
        return np.asarray(batched(x, w, shape=(rows, 9), schedule=schedule)).tobytes()

    code = Code(lanes=32, items=2, order=Order.BLOCKED, depth=BLOCK, checked=False)
    assert found(Schedule((256, 1, 1), code)) == found(Schedule((64, 1, 1), Code(checked=False)))
