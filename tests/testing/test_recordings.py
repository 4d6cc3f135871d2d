"""Recorded spaces come back as they were written."""

import json

from hypothesis import given
from hypothesis import strategies as st

from vyre.model import Code, Schedule
from vyre.testing.configs import schedules
from vyre.testing.recordings import (
    numbers_of,
    read,
    row_of,
    schedule_of,
    space_of,
    times_of,
    undisturbed,
    write,
)

FAST, SLOW = Schedule((256, 1, 1), Code(items=4, staged=True)), Schedule((64, 1, 1))
SPACE = {
    "kernel": "saxpy",
    "extent": [1024, 1, 1],
    "shapes": {"x": [1024]},
    "scalars": {"k": 3},
    "default": row_of(SLOW),
    "rows": [[*row_of(FAST), 700.0], [*row_of(SLOW), 900.0]],
}


@given(schedules(), st.floats(1.0, 1e9))
def test_a_schedule_comes_back_from_its_row_whatever_follows(schedule, ns):
    assert schedule_of(row_of(schedule)) == schedule
    assert schedule_of(json.loads(json.dumps([*row_of(schedule), ns]))) == schedule


def test_rows_without_later_parts_are_as_they_always_were():
    code = Code(items=2, vector=4, unroll=8, order="blocked", checked=False, rows=3, staged=True)
    row = [64, 4, 2, 2, 4, 8, "blocked", False, 3, True]

    assert row_of(Schedule((64, 4, 2), code)) == row
    assert schedule_of([*row, 700.0]) == Schedule((64, 4, 2), code)


def test_a_recording_says_what_was_launched_and_what_it_took():
    assert times_of(SPACE) == {FAST: 700.0, SLOW: 900.0}
    assert (space_of(SPACE).default, space_of(SPACE).legal) == (SLOW, (FAST, SLOW))
    assert (numbers_of(SPACE).extent, numbers_of(SPACE).shapes) == ((1024, 1, 1), {"x": (1024,)})


def test_a_file_comes_back_as_it_was_written(tmp_path):
    path, found = tmp_path / "spaces.json.gz", {"spaces": [SPACE], "device": {"kind": "gpu"}}

    write(path, found)

    assert read(path) == found
    assert [one.name for one in tmp_path.iterdir()] == ["spaces.json.gz"]


def test_what_was_timed_beside_compilers_is_left_out(tmp_path):
    numbered = [{**SPACE, "size": size} for size in range(7)]
    calm, disturbed = tmp_path / "spaces-h200.json.gz", tmp_path / "spaces-cpu12.json.gz"
    for path in (calm, disturbed):
        write(path, {"spaces": numbered})

    assert undisturbed(calm) == numbered
    assert undisturbed(disturbed) == numbered[5:]
