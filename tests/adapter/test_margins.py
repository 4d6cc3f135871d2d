"""Copies lie as what they are of, with a margin on each side that shows what was written beyond."""

import ctypes

import cloudpickle
import numpy as np
import pytest

from vyre.adapter.trial.around import MARGIN, UNTOUCHED, start_of
from vyre.adapter.trial.differences import differ
from vyre.adapter.trial.margins import Margins
from vyre.adapter.trial.portable import ran
from vyre.adapter.trial.trials import pickled
from vyre.adapter.trial.viewed import viewed
from vyre.runtime.arrays.in_place import WIDEST, alignment_at
from vyre.testing import stand_ins

GRID = np.arange(40.0).reshape(5, 8)
FIXED = np.arange(3)
FIXED.flags.writeable = False


def elsewhere(value):
    """A value as another process has it."""
    return Margins().within(cloudpickle.loads(pickled(viewed(value))))


@pytest.mark.parametrize(
    "array",
    [
        *(GRID, GRID[::-1, ::2], GRID[1:3], GRID.T, GRID[2], np.asfortranarray(GRID), FIXED),
        *(np.arange(6)[::-1], np.broadcast_to(FIXED, (4, 3)), np.array(5.0)),
        *(np.zeros(3, "i1,f8"), np.zeros(3, ">f8"), np.array([None, "x"]), np.zeros(2, "S3")),
    ],
    ids=lambda array: f"{array.dtype} {array.shape} {array.strides}",
)
def test_an_array_lies_elsewhere_as_it_does_here(array):
    found = elsewhere((array,))[0]

    assert type(found) is type(array)
    assert (found.dtype, found.shape, found.strides) == (array.dtype, array.shape, array.strides)
    assert found.flags.writeable == array.flags.writeable
    assert found.tolist() == array.tolist()
    assert not np.shares_memory(found, array)


def test_a_few_elements_of_much_are_taken_without_the_rest():
    found = elsewhere((np.arange(10_000).reshape(100, 100)[:, 3],))[0]

    assert found.tolist() == list(range(3, 10_000, 100))
    assert found.strides == (8,)


def test_what_overlaps_does_so_elsewhere_and_what_was_one_stays_one():
    x, y = GRID[1:3], GRID[::-1, ::2]
    held = [x, {"x": x}, "text"]
    held.append(held)

    one, other, apart, moved = elsewhere((x, y, np.zeros(3), held))

    assert one is moved[0] is moved[1]["x"]
    assert moved is moved[3]
    one[...] = -1
    assert other[2:4].tolist() == [[-1.0] * 4] * 2
    assert apart.tolist() == [0.0] * 3


def left(at, array, stop=1):
    """What a function leaves that writes a byte so far from where an array begins."""

    def write(x):
        ctypes.memset(x.ctypes.data + at, 1, stop)

    return ran(write, viewed(((array,), {})))


def test_what_was_written_beyond_an_array_is_a_difference():
    wanted = left(0, np.zeros(4))

    assert differ(wanted, left(0, np.zeros(4)), (), 0.0, 0.0) is None
    for at, said in ((32, MARGIN + 32), (-1, MARGIN - 1)):
        problem = differ(left(0, np.zeros(4), 0), left(at, np.zeros(4)), (), 0.0, 0.0)
        assert problem == (
            f"the memory beside array 0 has 1 of {2 * MARGIN + 32:,} elements that differ, such as "
            f"1 at {said}, where it should be {UNTOUCHED}"
        )


def test_what_was_written_between_the_elements_of_an_array_is_one_too():
    array = np.zeros(8)[::2]

    assert differ(left(0, array), left(0, array), (), 0.0, 0.0) is None
    assert differ(left(0, array, 0), left(8, array), (), 0.0, 0.0) == (
        f"the memory beside array 0 has 1 of {2 * MARGIN + 56:,} elements that differ, such as 1 "
        f"at {MARGIN + 8}, where it should be 0"
    )


@pytest.mark.parametrize("skipped", range(9))
def test_an_array_is_aligned_elsewhere_as_it_is_here(skipped):
    held = np.zeros(WIDEST + 8, np.int8)
    array = held[-held.ctypes.data % WIDEST :][skipped : skipped + 8]

    found = elsewhere((array, np.zeros(10_000, np.int8)[skipped:][::100]))

    assert alignment_at(found[0].ctypes.data) == alignment_at(array.ctypes.data)


def test_a_buffer_has_its_margins_wherever_it_is_and_however_its_array_is_aligned():
    for base in range(2 * WIDEST):
        for lies in (0, 1, 2, 4, 8, 16, 32):
            start = start_of(lies, base)
            assert MARGIN <= start < MARGIN + WIDEST
            assert (base + start) % WIDEST == lies


class TestCuPy:
    """Arrays of CuPy's, by stand-ins."""

    @pytest.fixture(autouse=True)
    def cupy(self):
        with stand_ins.cupy_by_name():
            yield

    @pytest.mark.parametrize(
        "array",
        [GRID, np.asfortranarray(GRID), np.array(5.0), np.zeros(9, "f4")[1:], np.zeros(3) > 0],
    )
    def test_an_array_lies_elsewhere_as_it_does_here(self, array):
        x = stand_ins.ndarray(array)

        found, again = elsewhere((x, [x]))

        assert found is again[0]
        assert type(found) is stand_ins.ndarray
        assert (found.dtype, found.shape, found.strides) == (x.dtype, x.shape, x.strides)
        assert found.get().tolist() == array.tolist()

    def test_what_was_written_beyond_one_is_a_difference(self):
        def left(at):
            def write(x):
                ctypes.memset(x.data.ptr + at, 1, 1)

            return ran(write, viewed(((stand_ins.ndarray(np.ones(4, np.int8)),), {})))

        assert differ(left(0), left(0), (), 0.0, 0.0) is None
        assert differ(left(0), left(4), (), 0.0, 0.0) == (
            f"the memory beside array 0 has 1 of {2 * MARGIN:,} elements that differ, such as 1 at "
            f"{MARGIN}, where it should be {UNTOUCHED}"
        )

    def test_one_without_elements_is_copied_without_margins(self):
        assert elsewhere((stand_ins.ndarray(np.zeros(0)),))[0].size == 0
