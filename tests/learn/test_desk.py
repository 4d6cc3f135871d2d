"""The thread beside the calls."""

import logging
import sys
import threading
import time
from itertools import count

import pytest

from vyre.errors import DeviceFailed
from vyre.learn import desk as module
from vyre.learn.desk import Desk
from vyre.learn.gaps import Manners

LONG_S = 120
"""More than anything here takes on any machine; it only ends a test that would hang."""


class Ticket:
    """A launch that ends when it is told to."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def elapsed_ns(self):
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Restless:
    """Counts a million calls between any two looks."""

    def __init__(self):
        self._looks = count()

    @property
    def value(self):
        return 1_000_000 * next(self._looks)


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

    wait_for(lambda: len(seen) >= 65)

    assert sorted(seen) == list(range(1, 66))


def test_everybody_hears_however_many_launches_are_under_way():
    desk, seen, over = Desk(), [], threading.Event()

    class Later:
        """A launch that ends with all others."""

        def __init__(self, number):
            self.number = number

        def elapsed_ns(self):
            return self.number if over.is_set() else None

    for number in range(300):
        desk.post(lambda number=number: desk.watch(Later(number), seen.append))
    assert desk.drained(LONG_S)
    over.set()
    wait_for(lambda: len(seen) == 300)

    assert sorted(seen) == list(range(300))


def test_whoever_waits_for_a_launch_that_is_given_up_hears_it(monkeypatch):
    monkeypatch.setattr(module, "_MOST_UNDER_WAY", 3)
    desk, seen = Desk(), []

    for number in range(5):
        desk.post(
            lambda number=number: desk.watch(Ticket(None), lambda came: seen.append((number, came)))
        )
    assert desk.drained(LONG_S)

    assert [came for _, came in seen] == [None, None]
    assert len({number for number, _ in seen}) == 2


@pytest.mark.parametrize("error", [RuntimeError("lost"), OverflowError(), ValueError("nan")])
def test_a_ticket_that_raises_what_it_should_not_ends_for_its_own_waiter_alone(error, caplog):
    desk, seen = Desk(), []
    with caplog.at_level(logging.ERROR, "vyre.learning"):
        desk.post(lambda: desk.watch(Ticket(error), seen.append))
        desk.post(lambda: desk.watch(Ticket(700), seen.append))
        wait_for(lambda: len(seen) == 2)

    failed, elapsed = seen
    assert elapsed == 700
    assert failed.problem == f"its time cannot be read: {error!r}"
    assert caplog.messages == ["the time of a launch cannot be read"]


def test_work_that_is_always_due_keeps_nobody_from_being_heard():
    desk, seen, over = Desk(), [], threading.Event()

    def again():
        if not over.is_set():
            desk.at(0.0, again)

    desk.post(again)
    desk.post(lambda: desk.watch(Ticket(None, 700), seen.append))
    wait_for(lambda: seen)

    assert desk.drained(LONG_S)
    over.set()


def test_what_is_due_at_no_time_at_all_keeps_nobody_from_being_heard():
    desk, seen = Desk(), []
    desk.post(lambda: desk.at(float("inf"), lambda: seen.append("never")))
    desk.post(lambda: desk.at(1e300, lambda: seen.append("never")))

    assert desk.drained(LONG_S)
    desk.post(lambda: seen.append("now"))
    assert desk.drained(LONG_S)
    assert seen == ["now"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_was_ended_starts_anew():
    desk, seen = Desk(), []
    desk.post(lambda: seen.append(1))
    assert desk.drained(LONG_S)
    thread = desk._thread

    desk.post(sys.exit)
    thread.join(LONG_S)
    desk.post(lambda: seen.append(2))

    assert desk.drained(LONG_S)
    assert seen == [1, 2]
    assert desk._thread is not thread


def test_whoever_waits_until_all_is_done_waits_for_no_pause():
    desk, seen = Desk(Manners(calls_apart=10**9, at_once=1, per_s=1e-6)), []
    desk.called(32, Restless())

    def plan():
        for number in range(5):
            desk.at(0.0, lambda number=number: seen.append(number))

    desk.post(plan)

    assert desk.drained(LONG_S)
    assert seen == [0, 1, 2, 3, 4]


def test_one_who_has_waited_does_not_keep_another_waiting():
    desk, held, ended = Desk(Manners(look_s=1e-4, rest_s=0.001, calls_apart=10**9)), [], []
    waiting = [
        threading.Thread(target=lambda: ended.append(desk.drained(LONG_S)), daemon=True)
        for _ in range(2)
    ]

    def let_another_wait():  # whose turn comes in the next pass, after that of the first
        waiting[1].start()
        wait_for(lambda: len(desk._inbox) == 2)

    desk.post(lambda: wait_for(lambda: held))
    wait_for(lambda: not desk._inbox)
    desk.post(let_another_wait)
    waiting[0].start()
    wait_for(lambda: len(desk._inbox) == 2)
    desk.called(32, Restless())
    held.append(True)
    for thread in waiting:
        thread.join(LONG_S)

    assert ended == [True, True]


class Started(threading.Thread):
    """A thread during whose start something happens, once."""

    happens = staticmethod(lambda: None)

    def start(self):
        super().start()
        happens, Started.happens = Started.happens, lambda: None
        happens()


@pytest.fixture
def started(monkeypatch):
    """The threads that work at a desk, and what happens while one starts."""
    monkeypatch.setattr(module.threading, "Thread", Started)
    return Started


def at_work(desk):
    threads = [one for one in threading.enumerate() if isinstance(one, Started)]
    return [one for one in threads if getattr(one, "_target", None) == desk._run]


def test_a_signals_handler_that_posts_while_the_thread_starts_waits_for_nothing(started):
    desk, seen = Desk(), []
    started.happens = lambda: desk.post(lambda: seen.append("handler"))
    poster = threading.Timer(0.0, lambda: desk.post(lambda: seen.append("main")))
    poster.daemon = True

    poster.start()
    poster.join(LONG_S)

    assert not poster.is_alive()
    assert desk.drained(LONG_S)
    assert seen == ["main", "handler"]
    assert len(at_work(desk)) == 1


def test_an_interrupt_while_the_thread_starts_leaves_one_alone(started):
    def interrupted():
        raise KeyboardInterrupt

    desk, seen = Desk(), []
    started.happens = interrupted
    with pytest.raises(KeyboardInterrupt):
        desk.post(lambda: seen.append(1))
    desk.post(lambda: seen.append(2))

    assert desk.drained(LONG_S)
    assert seen == [1, 2]
    wait_for(lambda: len(at_work(desk)) == 1)


@pytest.mark.usefixtures("started")
def test_of_two_threads_that_were_started_one_goes_on():
    desk, seen = Desk(), []
    desk.post(lambda: seen.append(1))
    assert desk.drained(LONG_S)

    desk._thread = None  # as if it was not known to run
    desk.post(lambda: seen.append(2))
    assert desk.drained(LONG_S)

    assert seen == [1, 2]
    wait_for(lambda: at_work(desk) == [desk._thread])


class TestCallersThatDoNotPause:
    """They are disturbed now and then, by all that has come together."""

    def test_what_they_post_is_done_when_enough_calls_were_made(self):
        desk, seen = Desk(Manners(look_s=1e-4, rest_s=0.001, calls_apart=100)), []
        callers = Restless()
        desk.called(1, callers)
        desk.post(lambda: seen.append("posted"))
        wait_for(lambda: desk._is_dense)
        assert seen == []

        desk.called(100, callers)
        wait_for(lambda: seen)

        assert seen == ["posted"]

    def test_what_is_posted_when_nothing_is_left_to_do_is_heard(self):
        desk, seen = Desk(Manners(look_s=1e-4, rest_s=0.001, calls_apart=1)), []
        callers = Restless()
        desk.called(1, callers)
        for number in range(20):
            desk.post(lambda number=number: seen.append(number))
            desk.called(1, callers)
            wait_for(lambda number=number: len(seen) == number + 1)

        assert seen == list(range(20))
