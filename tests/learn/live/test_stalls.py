"""No call waits for learning."""

from dataclasses import replace
from itertools import count, product
from math import inf

import pytest

from vyre.learn import decider as decider_module
from vyre.model import (
    Decision,
    Measurement,
    Reason,
    Schedule,
    Timed,
)
from vyre.policy.natural_live import NaturalGradient
from vyre.store.memory import MemoryStore
from vyre.testing.live import DEFAULT, WINNER, adopted


class TestStalls:
    """Whatever happens to a launch that was asked for, learning goes on or says why it ended."""

    @staticmethod
    def launching(monkeypatch, live, change):
        """Let `change` see each timed launch: its number, and a function that makes it."""
        backend, numbers = live.device.backend, count()
        launch = backend.launch

        def launched(*arguments, timed=False, **more):
            if not timed:
                return launch(*arguments, timed=timed, **more)
            return change(next(numbers), lambda: launch(*arguments, timed=timed, **more))

        monkeypatch.setattr(backend, "launch", launched)

    def call_through(self, live, kind, times=600):
        """Call, and go on after what is raised, until the winner is found; how often it raised."""
        raised = 0
        x, out = live.arrays(1 << 14)
        call = live.kernel.prepare(x, out=out) if kind == "prepared" else None
        for _ in range(times):
            try:
                call() if call else live.kernel(x, out=out)
            except (KeyboardInterrupt, RuntimeError, MemoryError):
                raised += 1
            assert live.deciders.desk.drained(60)
            if adopted(WINNER)(live.standing()):
                return raised
        pytest.fail(f"it stalled, asking for {live.standing().next}")

    @pytest.mark.parametrize("kind", ["call", "prepared"])
    @pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, MemoryError])
    @pytest.mark.parametrize("launches", [False, True])
    def test_a_call_that_dies_between_asking_and_running(
        self, bench, monkeypatch, kind, error, launches
    ):
        live = bench()

        def dying(number, launch):
            if number % 3:
                return launch()
            if launches:
                launch()
            raise error

        self.launching(monkeypatch, live, dying)

        assert self.call_through(live, kind) > 0

    def test_a_call_that_takes_what_is_asked_for_and_never_says_more(self, bench):
        """An interrupt may come right after it was taken, where nothing can catch it."""
        live = bench(pace={"lost_s": 1e-4, "lost_at_latest_s": 1e-4})
        live.call(2)
        learner, lost = live.learner(), 0
        for _ in range(2000):
            if learner.asked and lost < 3:
                learner.taking()
                learner.asked.popleft()
                lost += 1
            if live.call(1, done=adopted(WINNER)):
                break

        assert lost == 3
        assert live.standing().decision.config == WINNER

    def test_a_launch_whose_time_is_given_up_is_asked_for_again(self, bench, monkeypatch):
        live, given_up = bench(), count()
        watch = live.deciders.desk.watch
        monkeypatch.setattr(
            live.deciders.desk,
            "watch",
            lambda ticket, then: then(None) if next(given_up) % 2 else watch(ticket, then),
        )

        assert live.call(900, done=adopted(WINNER))

    HOSTILE = (0, -1, -(2**63), 2**63 - 1, 2**64, float("nan"), float("inf"), 1.7e308)

    @pytest.mark.parametrize("elapsed", HOSTILE)
    def test_a_clock_that_goes_wrong_now_and_then_does_no_harm(self, bench, monkeypatch, elapsed):
        live = bench()

        def strange(number, launch):
            ticket = launch()
            return replace(ticket, ns=elapsed) if number % 20 == 7 else ticket

        self.launching(monkeypatch, live, strange)

        assert live.call(900, done=adopted(WINNER))
        assert live.standing().failures == {}

    @pytest.mark.parametrize("elapsed", HOSTILE)
    def test_a_schedule_that_only_gives_times_that_are_none_is_dropped(
        self, bench, monkeypatch, elapsed
    ):
        live = bench()
        backend = live.device.backend
        launch = backend.launch

        def strange(binary, grid, workgroup, *arguments, **more):
            ticket = launch(binary, grid, workgroup, *arguments, **more)
            found = Schedule(workgroup, binary.code) == WINNER
            return replace(ticket, ns=elapsed) if found else ticket

        monkeypatch.setattr(backend, "launch", strange)
        live.call(600)

        assert live.standing().failures == {WINNER: f"the device gave a time of {elapsed} ns"}
        assert live.standing().stopped == ""

    def test_a_piece_of_learning_that_fails_once_is_gone_without(self, bench, monkeypatch, caplog):
        live, turns, tell = bench(), count(), NaturalGradient.tell
        monkeypatch.setattr(
            NaturalGradient,
            "tell",
            lambda policy, outcome: 1 / 0 if next(turns) % 5 == 2 else tell(policy, outcome),
        )

        assert live.call(900, done=adopted(WINNER))
        assert "twice: a piece of learning failed" in caplog.messages

    @pytest.mark.parametrize("method", ["tell", "choose", "__post_init__"])
    def test_learning_that_cannot_go_on_says_why(self, bench, monkeypatch, method):
        live = bench()
        monkeypatch.setattr(NaturalGradient, method, lambda *_: 1 / 0)

        live.call(30)

        assert live.standing().stopped == ("learning failed: ZeroDivisionError('division by zero')")

    def test_rows_of_others_may_hold_any_number(self, bench):
        first = bench()
        first.call(3)
        of = first.learner().workload
        rows = [
            Measurement(
                writer="mallory", sequence=number, workload=of, outcome=Timed(schedule, ns),
                size=size, at_ns=at_ns,
            )
            for number, (schedule, ns, size, at_ns) in enumerate(
                product(
                    (DEFAULT, WINNER),
                    (0.0, 5e-324, 1e-3, 1e15, 1.7e308),
                    (0, 1, 2**63 - 1),
                    (0, 2**63 - 1),
                )
            )
        ]  # fmt: skip
        store = MemoryStore()
        store.append(rows)
        store.put(Decision(workload=of, config=DEFAULT, reason=Reason.DEFAULT, gain=inf))

        second = bench(store=store)

        assert second.call(900, done=adopted(WINNER))

    def test_what_the_desk_works_is_counted_by_its_own_clock(self, bench, monkeypatch):
        """On a busy machine, hours of the wall may pass while it works for a moment."""
        monkeypatch.setattr(decider_module.time, "thread_time", lambda: 0.0)
        hours = count(0, 3600)
        monkeypatch.setattr(decider_module.time, "perf_counter", lambda: float(next(hours)))
        live = bench(pace={"advance_s": 0.0})

        assert live.call(900, done=adopted(WINNER))
