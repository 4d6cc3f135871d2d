"""What calls do where something fails while they are learned from."""

import pytest

from vyre.errors import DeviceFailed
from vyre.runtime.compile.worker import Pending, Refused
from vyre.testing.live import WINNER, adopted, bowl, settled


class TestFaults:
    def test_a_candidate_that_fails_to_compile_is_dropped_with_its_reason(self, bench):
        live = bench()
        live.call(1)
        first = live.device.codes(live.kernel.program)
        legal = {one.code for one in live.standing().question.candidates}
        hung = Refused("the compiler hung for 30 s")
        live.helper.refuses = dict.fromkeys(legal - first, hung)

        live.call(300)

        failures = live.standing().failures
        assert {s.code for s in failures} == {b.codes[0] for b in live.helper.asked} > set()
        assert set(failures.values()) == {"the compiler hung for 30 s"}
        assert {s.code for s in live.device.backend.launched} <= first
        assert len({b.codes for b in live.helper.asked}) == len(live.helper.asked)

    def test_a_candidate_that_does_not_build_here_is_dropped(self, bench):
        refusal = {WINNER.code: "no such instruction"}
        live = bench()
        live.device.backend.refuses = refusal

        live.call(300)

        assert "no such instruction" in live.standing().failures.values()
        assert live.standing().decision.config.code != WINNER.code

    def test_a_candidate_that_fails_to_launch_is_dropped_and_the_call_gets_its_result(self, bench):
        live = bench(falls={WINNER: "out of registers"})

        live.call(400)

        assert live.standing().failures == {WINNER: "out of registers"}
        assert len(live.device.backend.launched) == 400

    @pytest.mark.parametrize("times", [2, 6, 20])
    def test_a_device_that_fails_whatever_it_is_given_condemns_nothing(
        self, bench, monkeypatch, times
    ):
        """Such as one whose memory others hold for a moment."""
        live, left = bench(), iter(range(times))
        launch = live.device.backend.launch

        def out_of_memory(*given, **named):
            if next(left, None) is not None:
                raise DeviceFailed("others hold the memory", "try again")
            return launch(*given, **named)

        monkeypatch.setattr(live.device.backend, "launch", out_of_memory)
        for _ in range(times // 2):
            with pytest.raises(DeviceFailed):
                live.call(1)

        assert live.call(600, done=adopted(WINNER))
        assert live.standing().failures == {}

    def test_a_time_of_zero_drops_the_candidate(self, bench):
        live = bench(lambda s: 0.0 if s == WINNER else bowl(s))

        live.call(400)

        assert live.standing().failures == {WINNER: "the device gave a time of 0 ns"}

    def test_a_device_without_times_ends_learning_and_nothing_else(self, bench):
        live = bench(lambda _: 0.0)

        live.call(50)

        standing, launched = live.standing(), live.device.backend.launched
        assert standing.stopped.startswith("the device gave a time of 0 ns; ")
        assert standing.decision.detail == "the device gave a time of 0 ns, so the guess decides"
        assert set(launched[-9:]) == {launched[0]}

    def test_a_helper_that_is_broken_is_no_fault_of_the_candidates(self, bench):
        broken = Refused("the compile helper is closed", by_helper=True)
        live = bench()
        live.helper.refuses = {WINNER.code: broken}
        live.helper.submit = lambda _, then: settled(Pending(then), broken)

        live.call(100)

        assert live.standing().failures == {}

    def test_what_failed_once_is_not_tried_by_the_next_process(self, bench):
        first = bench(falls={WINNER: "out of registers"})
        first.call(400)
        first.recorder.flush()

        second = bench(store=first.store)
        second.call(100)

        assert second.standing().failures == {WINNER: "out of registers"}
        assert WINNER not in second.device.backend.launched
