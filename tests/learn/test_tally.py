"""Counting calls, without a lock where none is needed."""

import sys
import threading
from itertools import chain

import pytest

from vyre.learn import tally as module
from vyre.learn.tally import Tally


@pytest.mark.parametrize("alone", [True, False, None])
def test_looking_counts_nothing(alone):
    tally = Tally(alone=alone)
    for calls in range(5):
        assert [tally.value for _ in range(3)] == [calls] * 3
        tally.tick()


@pytest.mark.parametrize("alone", [True, False])
def test_every_tick_of_every_thread_counts_while_others_look(alone):
    tally, threads, ticks = Tally(alone=alone), 8, 5000
    seen: list[list[int]] = [[] for _ in range(2)]
    done = threading.Event()

    def advance():
        for _ in range(ticks):
            tally.tick()

    def look(found):
        while not done.is_set():
            found.append(tally.value)

    callers = [threading.Thread(target=advance) for _ in range(threads)]
    lookers = [threading.Thread(target=look, args=(found,)) for found in seen]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in (*callers, *lookers):
            thread.start()
        for thread in callers:
            thread.join()
        done.set()
        for thread in lookers:
            thread.join()
    finally:
        sys.setswitchinterval(before)

    assert tally.value == threads * ticks
    for found in seen:
        assert found == sorted(found)
        assert all(0 <= value <= threads * ticks for value in found)


@pytest.mark.parametrize("alone", [True, False])
def test_an_interrupt_where_a_count_is_reached_ends_one_tick_alone(alone):
    asked = []

    def reached(count):
        asked.append(count)
        if count == 3:
            raise KeyboardInterrupt
        return count + 3

    tally = Tally(reached, alone=alone)
    for _ in range(3):
        tally.tick()
    with pytest.raises(KeyboardInterrupt):
        tally.tick()

    for _ in range(6):
        tally.tick()

    assert asked == [0, 3, 4, 7]
    assert tally.value == 10


def test_threads_that_reach_a_count_together_lose_no_tick():
    threads, ticks = 8, 3000
    tally = Tally(lambda count: count + 2, alone=True)
    callers = [
        threading.Thread(target=lambda: [tally.tick() for _ in range(ticks)])
        for _ in range(threads)
    ]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in callers:
            thread.start()
        for thread in callers:
            thread.join()
    finally:
        sys.setswitchinterval(before)

    assert tally.value == threads * ticks


def test_nothing_is_made_while_a_thread_is_inside_a_stretch(monkeypatch):
    """Python 3.11 may collect garbage there, and let in a thread that leaves and frees it."""
    parts = []

    class Recorded(chain):
        def __new__(cls, *given):
            parts.extend(given)
            return chain(*given)

    monkeypatch.setattr(module, "chain", Recorded)
    tally = Tally(lambda count: count + 2, alone=True)
    for _ in range(4):
        tally.tick()

    assert len(parts) == 4
    assert all(iter(part) is part for part in parts)
