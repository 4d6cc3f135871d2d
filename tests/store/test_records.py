from dataclasses import replace

import pytest
from hypothesis import given

from vyre.errors import InvalidInput
from vyre.model import SIZES, Code, Dim3, Schedule
from vyre.store.records import AutotuneRecord, WriterEvidence
from vyre.testing.configs import schedules


def test_a_record_is_untiled_and_undated_unless_it_says():
    record = AutotuneRecord(workgroup_size=(64, 1, 1))

    assert (record.unroll, record.tile, record.recorded_at) == (1, (0, 0, 0), "")


def test_a_record_keeps_its_tile_and_its_day():
    record = AutotuneRecord(
        workgroup_size=(64, 1, 1), unroll=4, tile=(16, 16, 1), recorded_at="2026-02-28"
    )

    assert (record.unroll, record.tile, record.recorded_at) == (4, (16, 16, 1), "2026-02-28")


def test_a_record_without_a_launchable_workgroup_is_refused():
    with pytest.raises(InvalidInput) as caught:
        AutotuneRecord(workgroup_size=(64, 0, 1))

    assert str(caught.value) == (
        "workgroup_size (64, 0, 1) has an axis of 0\nFix: give every axis at least 1"
    )


@pytest.mark.parametrize("tile", [(16, 0, 1), (0, 0, 1)])
def test_a_record_tiled_on_some_axes_is_refused(tile: Dim3):
    with pytest.raises(InvalidInput) as caught:
        AutotuneRecord(workgroup_size=(64, 1, 1), tile=tile)

    assert str(caught.value) == (
        f"tile {tile} has an axis of 0 beside others\n"
        "Fix: give every axis at least 1, or (0, 0, 0) for a variant that is not tiled"
    )


@pytest.mark.parametrize("unroll", [-1, 2**32])
def test_a_record_whose_unroll_is_no_u32_is_refused(unroll: int):
    with pytest.raises(InvalidInput) as caught:
        AutotuneRecord(workgroup_size=(64, 1, 1), unroll=unroll)

    assert str(caught.value) == (
        f"unroll is {unroll}; 0 to 2**32 - 1 allowed\nFix: use a value in that range"
    )


@pytest.mark.parametrize("day", ["2026-02-30", "20260228", "2026-2-28", "yesterday", "2026-W01-1"])
def test_a_record_of_no_day_is_refused(day: str):
    with pytest.raises(InvalidInput) as caught:
        AutotuneRecord(workgroup_size=(64, 1, 1), recorded_at=day)

    assert str(caught.value) == (
        f"recorded_at {day!r} is not a day\nFix: write it as YYYY-MM-DD, or leave it empty"
    )


@pytest.mark.parametrize("name", [name for name in SIZES if name != "unroll"])
def test_a_record_without_items_is_refused(name: str):
    with pytest.raises(InvalidInput) as caught:
        AutotuneRecord(workgroup_size=(64, 1, 1), **{name: 0})  # type: ignore[arg-type]

    assert str(caught.value) == f"{name} is 0\nFix: give at least 1"


def test_a_record_that_is_not_unrolled_has_a_schedule():
    record = AutotuneRecord(workgroup_size=(64, 1, 1), unroll=0, items=4)

    assert record.schedule == Schedule((64, 1, 1), Code(items=4))


def test_a_record_whose_loaders_fill_nothing_is_refused():
    with pytest.raises(InvalidInput) as caught:
        AutotuneRecord(workgroup_size=(64, 1, 1), loaders=1)

    assert caught.value.problem == "loaders 1 of a code that fills no workgroup memory"


@given(schedules())
def test_a_record_has_every_part_of_a_schedule(schedule: Schedule):
    record = AutotuneRecord(workgroup_size=schedule.workgroup, **schedule.code.parts())

    assert record.schedule == record.config == schedule
    assert record.extended == (schedule.code.parts() | {"unroll": 1} != Code().parts())


@given(schedules(), schedules())
def test_of_two_records_the_same_one_is_later_in_either_order(one: Schedule, other: Schedule):
    first, second = (
        AutotuneRecord(workgroup_size=one.workgroup, **schedule.code.parts())
        for schedule in (one, other)
    )

    assert first.joined(second) == second.joined(first)
    assert first.joined(second) in (first, second)


def test_only_what_schema_1_cannot_hold_extends_a_record():
    plain = AutotuneRecord(
        workgroup_size=(64, 1, 1), unroll=4, tile=(2, 2, 2), recorded_at="2026-01-01"
    )

    assert not plain.extended
    assert replace(plain, vector=4).extended
    assert replace(plain, provenance="x").extended


def test_of_one_writer_the_evidence_with_more_times_counts():
    few = WriterEvidence(
        writer="a", schedule=Schedule((64, 1, 1)), count=3, median_ns=5.0, last_at_ns=1
    )
    many, other = replace(few, count=9, median_ns=6.0), replace(few, writer="b")
    plain = AutotuneRecord(workgroup_size=(64, 1, 1))

    joined = replace(plain, evidence=(few, other)).joined(replace(plain, evidence=(many,)))

    assert joined.evidence == (many, other)


def test_evidence_without_a_time_is_refused():
    with pytest.raises(InvalidInput) as caught:
        WriterEvidence(
            writer="a", schedule=Schedule((1, 1, 1)), count=0, median_ns=1.0, last_at_ns=0
        )

    assert str(caught.value) == (
        "evidence of 0 times with a median of 1.0 ns\nFix: give at least one time, and times from 0"
    )
