"""The thread beside the calls."""

import logging
import threading
import time

from vyre.errors import DeviceFailed
from vyre.runtime.desk import Desk

LONG_S = 20


class Ticket:
    """A launch that ends when it is told to."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def elapsed_ns(self):
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def wait_for(condition):
    end = time.monotonic() + LONG_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_work_is_done_in_order_on_one_other_thread():
    desk, seen = Desk(), []
    for number in range(100):
        desk.post(lambda number=number: seen.append((number, threading.get_ident())))

    assert desk.drained(LONG_S)
    assert [number for number, _ in seen] == list(range(100))
    assert len({thread for _, thread in seen}) == 1
    assert seen[0][1] != threading.get_ident()


def test_work_that_fails_is_logged_and_the_rest_is_done(caplog):
    desk, seen = Desk(), []
    with caplog.at_level(logging.ERROR, "vyre.learning"):
        desk.post(lambda: 1 / 0)
        desk.post(lambda: seen.append(1))
        assert desk.drained(LONG_S)

    assert seen == [1]
    assert caplog.messages == ["learning goes on without a piece of work that failed"]


def test_what_is_due_later_is_done_later_in_the_order_of_time():
    desk, seen = Desk(), []
    now = time.monotonic()

    def plan():
        desk.at(now + 0.05, lambda: seen.append("second"))
        desk.at(now + 0.02, lambda: seen.append("first"))

    desk.post(plan)
    wait_for(lambda: len(seen) == 2)

    assert seen == ["first", "second"]
    assert time.monotonic() >= now + 0.05


def test_a_launch_is_watched_until_its_time_is_known():
    desk, seen = Desk(), []
    desk.post(lambda: desk.watch(Ticket(None, None, None, 700), seen.append))

    wait_for(lambda: seen)

    assert seen == [700]


def test_an_error_of_a_launch_is_passed_on():
    desk, seen = Desk(), []
    error = DeviceFailed("it broke", "mend it")
    desk.post(lambda: desk.watch(Ticket(None, error), seen.append))

    wait_for(lambda: seen)

    assert seen == [error]


def test_a_launch_that_never_ends_does_not_keep_others_from_being_watched():
    desk, seen = Desk(), []
    for _ in range(64):
        desk.post(lambda: desk.watch(Ticket(None), seen.append))
    for number in range(65):
        desk.post(lambda number=number: desk.watch(Ticket(number + 1), seen.append))

    wait_for(lambda: len(seen) >= 64)

    assert seen[-1] == 65
