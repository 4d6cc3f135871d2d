"""Recorded spaces come back as they were written."""

from hypothesis import given
from hypothesis import strategies as st

from vyre.model import Code, Order, Schedule
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

SIZES = st.integers(1, 1024)
SCHEDULES = st.builds(
    Schedule,
    st.tuples(SIZES, SIZES, SIZES),
    st.builds(
        Code,
        items=SIZES,
        vector=SIZES,
        unroll=SIZES,
        order=st.sampled_from(Order),
        checked=st.booleans(),
        rows=SIZES,
        staged=st.booleans(),
    ),
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


@given(SCHEDULES, st.floats(1.0, 1e9))
def test_a_schedule_comes_back_from_its_row_whatever_follows(schedule, ns):
    assert schedule_of(row_of(schedule)) == schedule
    assert schedule_of([*row_of(schedule), ns]) == schedule


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
