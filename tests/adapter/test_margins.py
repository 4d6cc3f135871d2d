"""Copies have a margin on each side, which shows what was written beyond them."""

import ctypes

import numpy as np

from vyre.adapter.differences import differ
from vyre.adapter.margins import MARGIN, UNTOUCHED, Margins
from vyre.adapter.portable import ran


def test_what_is_moved_is_as_it_was_and_what_was_one_stays_one():
    x, y = np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(2, 3))
    y.flags.writeable = False
    held = [x, {"x": x}, "text"]
    held.append(held)

    moved = Margins().within((x, y, held))

    assert moved[0] is moved[2][0] is moved[2][1]["x"] is not x
    assert moved[2] is moved[2][3]
    assert (moved[0] == x).all()
    assert (moved[1] == y).all()
    assert (moved[1].strides, moved[1].flags.writeable) == (y.strides, False)
    assert moved[0].flags.c_contiguous


def test_what_was_written_beyond_an_array_is_a_difference():
    def left(at):
        def write(x):
            ctypes.memset(x.ctypes.data + at, 1, 1)

        return ran(write, ((np.zeros(4),), {}))

    within, beyond, before = left(0), left(32), left(-1)

    assert differ(within, left(0), (), 0.0, 0.0) is None
    assert differ(left(40), beyond, (), 0.0, 0.0) is not None
    for found, at in ((beyond, MARGIN), (before, MARGIN - 1)):
        problem = differ(ran(lambda _: None, ((np.zeros(4),), {})), found, (), 0.0, 0.0)
        assert problem == (
            f"the memory beside array 0 has 1 of {2 * MARGIN:,} elements that differ, such as 1 "
            f"at {at}, where it should be {UNTOUCHED}"
        )
