"""Schedules of programs with reductions: the default of each device, the space, what is refused."""

from dataclasses import replace
from math import prod

import pytest

import vyre
from vyre import In, Out, f32, u32
from vyre.analysis import analyse
from vyre.backend import replayed
from vyre.errors import InvalidInput
from vyre.model import Code, DeviceKind, Limits, Schedule, Simd
from vyre.plan.default import default_for, space_for
from vyre.plan.guess import guess
from vyre.plan.space import Resources
from vyre.plan.teams import why_not_free, why_not_group
from vyre.plan.vectors import LaunchTraits
from vyre.runtime.devices.launcher import Numbers
from vyre.testing import reducers

GPU = replace(replayed.GPU, limits=replace(replayed.GPU.limits, lockstep=32))
APART = replace(GPU, limits=replace(GPU.limits, lockstep=0))  # lanes that meet in memory alone
SMALL = replace(GPU, limits=replace(GPU.limits, max_threads=128))
CPU = replace(
    GPU,
    kind=DeviceKind.CPU,
    limits=Limits(max_threads=0, max_block=(0, 0, 0), max_grid=(0, 0, 0)),
    simd=Simd(lanes=16, l1_bytes=32 << 10, l2_bytes=1 << 20),
    compute_units=8,
)
POCL = replace(APART, kind=DeviceKind.CPU)


def launch(extent, **shapes):
    return Numbers(extent, shapes, {})


SOFTMAX = launch((512, 1000, 1), x=(1000, 512), out=(1000, 512))
MATRIX = launch((1000, 1, 1), a=(1000, 512), v=(512,), y=(1000,), out=(1000,))
MEANS = launch((1000, 1, 1), x=(512, 1000), out=(1000,))
DOT = launch((1, 1, 1), x=(10**6,), y=(10**6,), out=(1,))


@vyre.kernel
def cheap(x: In[f32], w: In[f32], out: Out[f32]):
    j = vyre.gid()
    out[j] = x[j] * sum(w[k] for k in range(4))


WHOLE = launch((10**6, 1, 1), x=(10**6,), out=(10**6,))
LONG_ROWS = launch((10**6, 4, 1), x=(4, 10**6), out=(4, 10**6))
FEW = launch((1, 1, 1), x=(4000,), y=(4000,), out=(1,))


LONG = launch((10**6, 1, 1), x=(10**6,), w=(4,), out=(10**6,))


def space(device, kernel, numbers, declared=None, **others):
    facts = analyse(kernel.program)
    return space_for(device, kernel.program, facts, numbers, declared, LaunchTraits({}), **others)


def texts(found):
    return [schedule.text for schedule in found.legal]


@vyre.kernel
def by_data(x: In[f32], sizes: In[u32], out: Out[f32]):
    out[0] = sum(x[k] for k in range(sizes[0]))


@vyre.kernel
def rows_by_data(x: In[f32, 2], sizes: In[u32], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    out[i, j] = x[i, j] * sum(x[i, k] for k in range(sizes[i]))


@vyre.kernel
def weighted(x: In[f32, 2], w: In[f32], out: Out[f32]):
    j = vyre.gid()
    out[j] = sum(x[k, j] * w[k] for k in range(x.shape[0]))


LONG_MATRIX = launch((1000, 1, 1), a=(1000, 4000), v=(4000,), y=(1000,), out=(1000,))
WIDE_MATRIX = launch((1000, 1, 1), a=(1000, 9000), v=(9000,), y=(1000,), out=(1000,))
HUGE_MATRIX = launch((1000, 1, 1), a=(1000, 40_000), v=(40_000,), y=(1000,), out=(1000,))
SMALL_ROWS = launch((20, 1000, 1), x=(1000, 20), out=(1000, 20))
UNKNOWN_ROWS = launch((20, 1000, 1), x=(1000, 20), sizes=(1000,), out=(1000, 20))
MANY_ROWS = launch((40_000, 1, 1), a=(40_000, 64), v=(64,), y=(40_000,), out=(40_000,))
MANY_SHORT_ROWS = launch((40_000, 1, 1), a=(40_000, 16), v=(16,), y=(40_000,), out=(40_000,))
MANY_MEANS = launch((40_000, 1, 1), x=(512, 40_000), out=(40_000,))
LONG_DOT = launch((1, 1, 1), x=(10**8,), y=(10**8,), out=(1,))
SHORT_DOT = launch((1, 1, 1), x=(20_000,), y=(20_000,), out=(1,))
UNKNOWN = launch((1, 1, 1), x=(9,), sizes=(1,), out=(1,))
MANY_NEAREST = launch((40_000, 1, 1), points=(40_000, 16), centres=(64, 16), out=(40_000,))
NEAREST = launch((1000, 1, 1), points=(1000, 16), centres=(64, 16), out=(1000,))
SHORT_MEANS = launch((1000, 1, 1), x=(256, 1000), out=(1000,))
FEW_MEANS = launch((64, 1, 1), x=(1 << 20, 64), out=(64,))
UNROLLED = "unroll 8, teams of 32"
WEIGHTED = launch((1000, 1, 1), x=(512, 1000), w=(512,), out=(1000,))


@pytest.mark.parametrize(
    ("device", "kernel", "numbers", "text"),
    [
        (GPU, reducers.softmax, SOFTMAX, "32x4, teams of 32, across rows, 16 kept"),
        (GPU, reducers.residual, MATRIX, "128, teams of 32"),
        (GPU, reducers.residual, LONG_MATRIX, "128, teams of 128"),
        (GPU, reducers.residual, WIDE_MATRIX, "256, teams of 256"),
        (GPU, reducers.column_means, MEANS, "16x32, teams of 32, 16 abreast"),
        (GPU, reducers.column_means, SHORT_MEANS, "128, teams of 32"),
        (GPU, reducers.column_means, FEW_MEANS, f"16x32, {UNROLLED}, 64 shares, 16 abreast"),
        (SMALL, reducers.column_means, MEANS, "4x32, teams of 32, 4 abreast"),
        (APART, reducers.column_means, MEANS, "16x32, teams of 32, 16 abreast"),
        (APART, reducers.column_means, FEW_MEANS, "16x32, teams of 32, 16 abreast"),
        (GPU, reducers.column_means, MANY_MEANS, "256"),
        (GPU, reducers.nearest, NEAREST, "128, teams of 32"),
        (GPU, reducers.nearest, MANY_NEAREST, "256"),
        (GPU, reducers.residual, MANY_ROWS, "256, teams of 32"),
        (GPU, reducers.residual, MANY_SHORT_ROWS, "256"),
        (GPU, reducers.residual, HUGE_MATRIX, "256, teams of 256"),
        (GPU, reducers.softmax, SMALL_ROWS, "32x4, teams of 32, across rows, 4 kept"),
        (GPU, by_data, UNKNOWN, "256, teams of 256"),
        (GPU, rows_by_data, UNKNOWN_ROWS, "256, teams of 256, across rows"),
        (GPU, reducers.dot, DOT, "256, teams of 256, 128 shares"),
        (GPU, reducers.dot, LONG_DOT, "256, teams of 256, 512 shares"),
        (GPU, reducers.dot, SHORT_DOT, "256, teams of 256"),
        (GPU, reducers.dot, FEW, "128, teams of 128"),
        (SMALL, reducers.residual, MATRIX, "128, teams of 32"),
        (SMALL, reducers.residual, WIDE_MATRIX, "128, teams of 128"),
        (APART, reducers.residual, MATRIX, "32, teams of 32"),
        (CPU, reducers.residual, MATRIX, "992, teams of 32"),
        (CPU, reducers.softmax, SOFTMAX, "32x31, teams of 32, across rows"),
        (APART, reducers.dot, DOT, "32, teams of 32"),
        (CPU, reducers.dot, DOT, "32, teams of 32, 8 shares"),
        (CPU, reducers.dot, FEW, "32, teams of 32"),
        (CPU, reducers.normalise, WHOLE, "32, teams of 32, across rows, 8 shares"),
        (GPU, reducers.normalise, WHOLE, "256, teams of 256, across rows, 128 shares"),
        (GPU, reducers.softmax, LONG_ROWS, "256, teams of 256, across rows, 128 shares"),
        (CPU, reducers.column_means, MEANS, "64, vectors of 64"),
        (CPU, reducers.nearest, NEAREST, "32, vectors of 32"),
        (CPU, weighted, WEIGHTED, "64, vectors of 64"),
        (POCL, reducers.residual, MATRIX, "64"),
        (POCL, reducers.softmax, SOFTMAX, "1x7, across rows"),
        (POCL, cheap, LONG, "64"),
    ],
)
def test_the_default(device, kernel, numbers, text):
    facts = analyse(kernel.program)
    found = default_for(device, kernel.program, facts, numbers, None, unchecked=True)

    assert found.text == text
    assert space(device, kernel, numbers).default == found


def test_a_declared_workgroup_is_the_default():
    assert space(GPU, reducers.residual, MATRIX, (96, 1, 1)).default.workgroup == (96, 1, 1)


def test_few_rounds_for_a_long_row_are_done_at_every_position():
    """One team would go through a million positions by itself."""
    numbers = launch((10**6, 1, 1), x=(10**6,), w=(4,), out=(10**6,))
    found = space(GPU, cheap, numbers)

    assert found.default.text == "256"


@pytest.mark.parametrize(
    ("extent", "text"),
    [
        ((64, 65_535, 1), "32x8, teams of 32, across rows, 4 kept"),
        ((64, 500_000, 1), "32x8, teams of 32, across rows, 4 kept"),
        ((64, 1_000_000, 1), "32x16, teams of 32, across rows"),
        ((64, 2_000_000, 1), "32x32, teams of 32, across rows"),
    ],
)
def test_more_rows_than_workgroups_along_an_axis(extent, text):
    shape = extent[1], extent[0]
    found = space(GPU, reducers.softmax, launch(extent, x=shape, out=shape))

    assert found.default.text == text


def test_more_rows_than_any_workgroup_covers_are_refused_with_a_fix():
    shape = 2_100_000, 64
    with pytest.raises(InvalidInput) as raised:
        space(GPU, reducers.softmax, launch((64, 2_100_000, 1), x=shape, out=shape))

    assert str(raised.value) == (
        "the default workgroup (256, 1, 1) cannot cover (64, 2100000, 1): 2100000 elements would "
        "be more than the 65535 workgroups that the device allows along it\n"
        "Fix: declare a workgroup that the device can launch, or split the dispatch"
    )


def test_the_space_of_a_gpu():
    found = space(GPU, reducers.residual, MATRIX)

    assert [one.text for one in found.legal if one.code.lanes > 1] == [
        "128, teams of 32",
        *(f"{32 * count}, teams of 32" for count in (1, 2, 8, 16)),
        *(f"{lanes}, teams of {lanes}" for lanes in (64, 128, 256, 512, 1024)),
        *(f"{32 * count}, unroll 8, teams of 32" for count in (1, 2, 4, 8, 16)),
        *(f"{lanes}, unroll 8, teams of {lanes}" for lanes in (64, 128, 256, 512, 1024)),
        *(f"{32 * count}, unroll 32, teams of 32" for count in (1, 2, 4, 8, 16)),
        *(f"{lanes}, unroll 32, teams of {lanes}" for lanes in (64, 128, 256, 512, 1024)),
        *(
            f"{threads}, {items} items blocked, {unroll}teams of {lanes}"
            for items in (2, 4, 8)
            for unroll in ("", "unroll 8, ")
            for threads, lanes in ((64, 32), (128, 32), (256, 32), (128, 128))
        ),
    ]


def test_no_more_teams_side_by_side_than_results():
    numbers = launch((3, 1, 1), a=(3, 40), v=(40,), y=(3,), out=(3,))

    assert [t for t in texts(space(GPU, reducers.residual, numbers)) if t.endswith(" 32")] == [
        "64, teams of 32",
        "32, teams of 32",
        *(f"{side}, unroll {n}, teams of 32" for n in (8, 32) for side in (32, 64)),
    ]


def test_a_device_whose_lanes_meet_in_memory_has_teams_of_one_row():
    found = [one for one in space(APART, reducers.residual, MATRIX).legal if one.code.lanes > 1]

    assert found == [Schedule((32, 1, 1), Code(lanes=32, checked=False))]


def test_the_space_of_a_processor_has_teams_of_one_vector():
    found = [one for one in space(CPU, reducers.residual, MATRIX).legal if one.code.lanes > 1]

    assert {one.code.lanes for one in found} == {32}
    assert {one.code.unroll for one in found} == {1, 4}
    assert all(one.code.rows == 1 for one in found)


def test_codes_among_which_to_choose():
    code = Code(lanes=64, checked=False)
    found = space(GPU, reducers.residual, MATRIX, among=[code])

    assert texts(found) == ["128, teams of 32", "64, teams of 64"]
    assert texts(space(GPU, reducers.dot, DOT, among=[])) == ["256, teams of 256, 128 shares"]
    elsewhere = [Code(lanes=256, shares=shares, checked=False) for shares in (8, 3)]
    loaded = [*elsewhere, replace(elsewhere[0], checked=True)]
    assert texts(space(GPU, reducers.dot, DOT, among=loaded)) == [
        "256, teams of 256, 128 shares",
        "256, teams of 256, 8 shares",
    ]
    kept = [Code(lanes=32, keeps=keeps, across=True, checked=False) for keeps in (8, 32)]
    few_rows = launch((512, 3, 1), x=(3, 512), out=(3, 512))
    found = texts(space(GPU, reducers.softmax, few_rows, among=[*kept, replace(kept[1], lanes=64)]))
    assert found == [
        "32x2, teams of 32, across rows, 16 kept",
        "32x3, teams of 32, across rows, 32 kept",
        "64, teams of 64, across rows, 32 kept",
    ]
    few = launch((1, 1, 1), x=(10,), y=(10,), out=(1,))
    assert "1" in texts(space(GPU, reducers.dot, few))
    assert "1" not in texts(space(GPU, reducers.dot, DOT))


def test_what_a_compiled_kernel_does_not_allow_is_left_out():
    wide = Resources({Code(lanes=1024, checked=False): 512})
    found = space(GPU, reducers.residual, MATRIX, resources=wide)

    assert "1024, teams of 1024" not in texts(found)


def test_why_there_are_no_teams_is_said():
    numbers = launch((3, 1, 1), x=(3, 40))
    found = space(GPU, reducers.running, numbers)

    assert [(one.what, one.why, one.count) for one in found.refused] == [
        ("teams of lanes", "it may read 'x' where it has stored to it", 6)
    ]


@vyre.kernel
def meeting(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i // 2] = sum(x[k] for k in range(i))


def test_what_is_not_proved_runs_as_declared():
    numbers = launch((9, 1, 1), x=(9,), out=(9,))
    found = space(GPU, meeting, numbers)

    assert len(found.legal) == 1
    assert found.refused[0].what == "every other schedule"


def test_nothing_to_cover():
    numbers = launch((0, 1, 1), a=(0, 4), v=(4,), y=(0,), out=(0,))
    found = space(GPU, reducers.residual, numbers)

    assert [one.why for one in found.refused] == ["the extent (0, 1, 1) holds nothing"]


def test_one_invocation_meets_nobody():
    facts = analyse(meeting.program)
    one, two = (launch((size, 1, 1), x=(9,), out=(9,)) for size in (1, 2))

    assert list(why_not_free(meeting.program, facts, one)) == []
    assert len(list(why_not_free(meeting.program, facts, two))) == 1


EIGHT = Code(lanes=32, abreast=8)
ABREAST = "8 teams abreast are a workgroup, and so are lanes below each other"


@pytest.mark.parametrize(
    ("workgroup", "code", "device", "why"),
    [
        ((64, 1, 1), Code(), GPU, None),
        ((64, 1, 1), Code(lanes=32), GPU, None),
        ((32, 8, 2), Code(lanes=32), GPU, None),
        ((96, 1, 1), Code(lanes=64), GPU, "96 invocations along x are no whole teams of 64"),
        (
            (64, 1, 1),
            Code(lanes=32, across=True),
            GPU,
            "64 invocations along x are no whole teams of 32",
        ),
        ((128, 1, 1), Code(lanes=64), GPU, "a team of 64 lanes is a workgroup of its own"),
        ((64, 2, 1), Code(lanes=64), GPU, "a team of 64 lanes is a workgroup of its own"),
        ((64, 1, 1), Code(lanes=32), APART, "a team of 32 lanes is a workgroup of its own"),
        ((64, 8, 1), Code(lanes=32), CPU, None),
        ((8, 32, 1), EIGHT, GPU, None),
        ((8, 32, 1), EIGHT, APART, None),
        ((8, 32, 1), replace(EIGHT, shares=4), GPU, None),
        ((256, 1, 1), EIGHT, GPU, ABREAST),
        ((32, 8, 1), EIGHT, GPU, ABREAST),
        ((16, 32, 1), EIGHT, GPU, ABREAST),
        ((8, 32, 2), replace(EIGHT, shares=4), GPU, ABREAST),
    ],
)
def test_workgroups_of_teams(workgroup, code, device, why):
    assert why_not_group(Schedule(workgroup, code), device) == why


SQUARE = launch((4096, 1, 1), x=(4096, 4096), out=(4096,))
TALL = launch((64, 1, 1), x=(10**6, 64), out=(64,))
NARROW = launch((3, 1, 1), x=(10**6, 3), out=(3,))


def abreast(device, kernel, numbers) -> dict[int, set[int]]:
    """The shares of a result that a space has, by how many teams stand abreast."""
    found: dict[int, set[int]] = {}
    for one in space(device, kernel, numbers).legal:
        if one.code.abreast > 1:
            assert one.workgroup == (one.code.abreast, 32, 1)
            found.setdefault(one.code.abreast, set()).add(one.code.shares)
    return found


def test_sums_over_columns_may_stand_abreast():
    assert set(abreast(GPU, reducers.column_means, SQUARE)) == {4, 8, 16, 32}
    assert abreast(GPU, reducers.column_means, MEANS) == {n: {1} for n in (4, 8, 16, 32)}
    assert abreast(APART, reducers.column_means, TALL) == {n: {1} for n in (4, 8, 16, 32)}


@pytest.mark.parametrize("device", [GPU, APART])
@pytest.mark.parametrize(
    ("kernel", "numbers"),
    [
        (reducers.residual, MATRIX),
        (reducers.softmax, SOFTMAX),
        (reducers.dot, DOT),
    ],
)
def test_nothing_stands_abreast_where_rounds_lie_side_by_side(device, kernel, numbers):
    assert abreast(device, kernel, numbers) == {}


@pytest.mark.parametrize("device", [CPU, POCL])
def test_nothing_stands_abreast_on_a_processor(device):
    assert abreast(device, reducers.column_means, MEANS) == {}


def test_few_results_of_many_rounds_are_shared():
    tall = abreast(GPU, reducers.column_means, TALL)

    assert tall[4] - {1} == {8, 16, 32, 64}
    assert tall[32] - {1} == {64, 128, 256, 512}
    assert abreast(GPU, reducers.column_means, NARROW) == {4: {128, 256, 512, 1024}}


def with_limits(**limits):
    return replace(GPU, limits=replace(GPU.limits, **limits))


@pytest.mark.parametrize(
    ("limits", "widths"),
    [
        ({"group_bytes": 8192}, {4, 8, 16, 32}),
        ({"group_bytes": 8191}, {4, 8, 16}),
        ({"group_bytes": 1024}, {4}),
        ({"group_bytes": 1023}, set()),
        ({"max_threads": 256}, {4, 8}),
        ({"max_block": (1024, 16, 64)}, set()),
        ({"max_block": (8, 1024, 64)}, {4, 8}),
    ],
)
def test_no_more_stand_abreast_than_a_workgroup_holds(limits, widths):
    assert set(abreast(with_limits(**limits), reducers.column_means, MEANS)) == widths


def test_who_comes_last_is_told_in_a_word_of_the_same_memory():
    exactly = abreast(with_limits(group_bytes=4096), reducers.column_means, TALL)

    assert exactly[8] - {1} == {16, 32, 64, 128}  # the guess says whether one is worth a try
    assert not any(shares > 1 for shares in exactly.get(16, ()))


@pytest.mark.parametrize("device", [GPU, APART, CPU, POCL])
@pytest.mark.parametrize(
    ("kernel", "numbers"),
    [
        (reducers.softmax, SOFTMAX),
        (reducers.residual, MATRIX),
        (reducers.column_means, MEANS),
        (reducers.dot, DOT),
    ],
)
def test_every_schedule_covers_everything_and_has_a_guess(device, kernel, numbers):
    found = space(device, kernel, numbers)
    facts = analyse(kernel.program)
    ordered = guess(found, kernel.program, facts, device, numbers).ordered

    assert sorted(map(str, ordered)) == sorted(map(str, found.legal))
    for schedule in found.legal:
        assert why_not_group(schedule, device) is None
        most = device.limits.max_threads or 2**32
        assert prod(schedule.workgroup) <= most or device.simd is not None


def test_a_guess_prefers_teams_along_rows_and_invocations_along_columns():
    rows = space(GPU, reducers.residual, MATRIX)
    many = launch((10**6, 1, 1), x=(64, 10**6), out=(10**6,))
    columns = space(GPU, reducers.column_means, many)
    best = [
        guess(found, kernel.program, analyse(kernel.program), GPU, numbers).ordered[0]
        for found, kernel, numbers in (
            (rows, reducers.residual, MATRIX),
            (columns, reducers.column_means, many),
        )
    ]

    assert [one.code.lanes > 1 for one in best] == [True, False]


def several(device, kernel, numbers):
    """The results that an invocation has in schedules of a space, and its workgroups."""
    legal = space(device, kernel, numbers).legal
    found = (one for one in legal if one.code.items > 1 and one.code.lanes == 1)
    return sorted({(one.code.items, one.workgroup[0]) for one in found})


@vyre.kernel
def crossed(x: In[f32], y: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = min(abs(x[i] - y[k]) for k in range(len(y)))


@vyre.kernel
def unproved(x: In[f32], y: In[f32], m: vyre.u32, out: Out[f32]):
    i = vyre.gid()
    out[i] = min(abs(x[i] - y[k]) for k in range(m))


CROSSED = launch((2**20, 1, 1), x=(2**20,), y=(64,), out=(2**20,))
FEW_CROSSED = launch((2**15, 1, 1), x=(2**15,), y=(64,), out=(2**15,))


def test_an_invocation_has_several_results_where_all_read_the_same():
    assert several(GPU, crossed, CROSSED) == [(i, w) for i in (2, 4) for w in (64, 128, 256, 512)]


def test_as_long_as_every_unit_has_some():
    assert several(GPU, crossed, FEW_CROSSED) == [(2, 64)]


def test_not_where_each_reads_its_own():
    means = launch((2**20, 1, 1), x=(8, 2**20), out=(2**20,))

    assert several(GPU, reducers.column_means, means) == []


def test_not_where_elements_are_checked():
    numbers = Numbers(CROSSED.extent, CROSSED.shapes, {"m": 65})

    assert several(GPU, unproved, numbers) == []
    assert several(GPU, unproved, replace(numbers, scalars={"m": 64})) != []


def test_not_on_a_processor_without_lanes():
    assert several(POCL, crossed, CROSSED) == []


@vyre.kernel
def pulled(x: In[f32], m: In[f32], out: Out[f32]):
    i = vyre.gid()
    here = x[i]
    out[i] = sum((x[k] - here) * m[k] for k in range(len(x)))


@vyre.kernel
def pulled_from_far(x: In[f32], m: In[vyre.f64], out: Out[f32]):
    i = vyre.gid()
    here = x[i]
    out[i] = sum((x[k] - here) * f32(m[k]) for k in range(len(x)))


def bringing(device, kernel, numbers):
    return [one.text for one in space(device, kernel, numbers).legal if one.code.depth]


def bodies(count, rounds):
    return launch((count, 1, 1), x=(rounds,), m=(rounds,), out=(count,))


def test_teams_bring_what_rounds_read_where_half_of_the_units_have_some():
    text = "512, {} items blocked, depth 1024, unroll {}, teams of 32"
    half = 16 * GPU.compute_units // 2

    found = bringing(GPU, pulled, bodies(8 * half, 8 * half))
    assert found == [text.format(items, unroll) for items in (4, 8) for unroll in (8, 32)]
    found = bringing(GPU, pulled, bodies(8 * half - 1, 8 * half))
    assert found == [text.format(4, unroll) for unroll in (8, 32)]
    assert bringing(GPU, pulled, bodies(4 * half - 1, 8 * half)) == []


def test_not_where_rounds_are_one_block_or_read_more_or_other_things():
    many = 1 << 20
    matrix = launch((many, 1, 1), a=(many, 2048), v=(2048,), y=(many,), out=(many,))

    assert bringing(GPU, pulled, bodies(many, 1024)) == []
    assert bringing(GPU, pulled, bodies(many, 1025)) != []
    assert bringing(GPU, reducers.residual, matrix) == []
    assert bringing(GPU, pulled_from_far, bodies(many, many)) == []


def test_not_where_there_is_too_little_memory_or_no_room_for_their_threads():
    small = replace(GPU, limits=replace(GPU.limits, group_bytes=(16 << 10) - 1))

    assert bringing(small, pulled, bodies(1 << 20, 1 << 20)) == []
    assert bringing(SMALL, pulled, bodies(1 << 20, 1 << 20)) == []
    assert bringing(APART, pulled, bodies(1 << 20, 1 << 20)) == []
