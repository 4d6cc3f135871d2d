"""What is tuned on purpose beside what is learned."""

from contextlib import closing
from dataclasses import replace

from vyre.backend.replay import Noise
from vyre.model import (
    Reason,
)
from vyre.policy.measured import measured
from vyre.runtime.compile.worker import Pending, Refused
from vyre.store.sqlite.database import Database
from vyre.testing.live import DEFAULT, WINNER, settled


class TestTuning:
    """What `kernel.tune` decides, and when it looks again."""

    SHORT_S, LONG_S = 0.02, 60.0  # one that ends before anything is compiled; one that finishes

    def tune(self, live, budget_s, **more):
        x, out = live.arrays(1 << 12)
        return live.kernel.tune(x, out=out, budget_s=budget_s, **more)

    def test_what_measured_no_rival_decides_nothing(self, bench):
        live = bench(answers=False)

        decision = self.tune(live, self.SHORT_S)

        assert (decision.config, decision.reason) == (DEFAULT, Reason.DEFAULT)
        assert decision.detail == "no other schedule could be compiled in time"
        assert live.recorder.get(decision.workload) is None
        live.helper.answers = True
        assert self.tune(live, self.LONG_S).config == WINNER

    def test_what_was_remembered_stands_where_nothing_was_decided(self, bench):
        live = bench()
        before = self.tune(live, self.LONG_S)
        live.helper.answers = False

        again = self.tune(live, self.SHORT_S, again=True)

        assert (again.config, again.reason) == (WINNER, Reason.REMEMBERED)
        assert again.detail == (
            "no other schedule could be compiled in time; what was remembered stands"
        )
        assert live.recorder.get(before.workload) == before

    def test_what_cannot_be_run_is_no_decision_either(self, bench):
        live = bench()
        live.helper.submit = lambda _: settled(Pending(), Refused("the compiler crashed"))

        decision = self.tune(live, self.LONG_S)

        assert decision.detail == "no other schedule could be run: the compiler crashed"
        assert live.recorder.get(decision.workload) is None

    def test_a_sweep_that_saw_everything_answers_whatever_time_is_given(self, bench):
        live = bench()
        first = self.tune(live, self.LONG_S)

        assert first.unfinished_s is None
        assert self.tune(live, 10 * self.LONG_S).reason is Reason.REMEMBERED

    def test_one_that_was_cut_short_is_looked_at_again_with_more_time(self, bench):
        live = bench()
        whole = self.tune(live, self.LONG_S)
        live.recorder.put(replace(whole, config=DEFAULT, reason=Reason.DEFAULT, unfinished_s=4.0))

        assert self.tune(live, 4.0).reason is Reason.REMEMBERED
        assert self.tune(live, 3.0).config == DEFAULT
        assert self.tune(live, self.LONG_S).config == WINNER

    def test_the_next_process_knows_that_it_was_cut_short(self, bench, tmp_path):
        path = tmp_path / "store.sqlite3"
        with closing(Database(path, writer="one")) as store:
            live = bench(store=store)
            whole = self.tune(live, self.LONG_S)
            live.recorder.put(replace(whole, unfinished_s=4.0))
            live.recorder.close()
        with closing(Database(path, writer="two")) as store:
            live = bench(store=store)

            assert self.tune(live, 4.0).reason is Reason.REMEMBERED
            assert self.tune(live, self.LONG_S).reason is Reason.ADOPTED
            live.recorder.close()

    def test_one_that_is_looked_at_again_begins_with_what_it_found_before(self, bench):
        live = bench()
        self.tune(live, self.LONG_S)
        live.helper.asked.clear()

        self.tune(live, self.LONG_S, again=True)

        assert live.helper.asked[0].codes == (WINNER.code,)

    def test_the_gain_of_a_decision_is_that_of_its_measurements(self, bench):
        live = bench(noise=Noise(spread=0.05))
        decision = self.tune(live, self.LONG_S)
        evidence = measured(live.recorder.measurements(decision.workload), DEFAULT)

        assert decision.default == DEFAULT
        assert decision.gain == evidence.of(WINNER).speed
        assert decision.gain == evidence.time_of(DEFAULT) / evidence.time_of(WINNER)
