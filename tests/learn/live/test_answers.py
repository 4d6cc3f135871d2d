"""What is answered of calls that were learned from."""

import vyre
from vyre.backend.replay import Noise
from vyre.model import (
    span,
)
from vyre.policy.measured import measured
from vyre.testing.live import DEFAULT, WINNER, adopted, bowl, make_kernel


class TestAnswers:
    def test_explain_says_what_runs_and_why(self, bench):
        live = bench()
        assert live.call(600, done=adopted(WINNER))

        said = str(live.kernel.explain())

        assert said.startswith(
            "twice: its result does not depend on how it is launched\n"
            "  as long as each invocation has its own elements of out[gid(0)]\n"
            "\n"
            "16,384 elements on replay:0\n"
            "  runs        128, 4 items strided, vectors of 4, fitted\n"
            "  because     adopted: the fastest; "
        )
        assert "\n  gain        2.20x the default's speed (" in said
        assert "\n  default     256\n" in said
        assert all(len(line) <= 100 for line in said.splitlines())

    def test_explain_shows_what_was_measured_and_the_gain_of_that(self, bench):
        live = bench(noise=Noise(spread=0.05))
        assert live.call(600, done=adopted(WINNER))

        (one,) = live.kernel.explain().workloads
        evidence = measured(live.recorder.measurements(live.learner().workload), DEFAULT)

        assert one.evidence == evidence.fastest
        assert one.decision.gain == evidence.of(WINNER).speed
        lines = str(one).splitlines()
        for schedule in (WINNER, DEFAULT):
            took = span(evidence.time_of(schedule))
            assert any(took in line and line.endswith(schedule.text) for line in lines)

    def test_explain_of_what_was_tuned_shows_what_was_measured(self, bench):
        live = bench()
        x, out = live.arrays(1 << 12)
        tuned = live.kernel.tune(x, out=out, budget_s=60.0)
        with vyre.mode("off"):
            live.kernel(x, out=out)

        (one,) = live.kernel.explain().workloads

        assert (one.decision.config, one.decision.gain) == (tuned.config, tuned.gain)
        assert one.evidence[0].config == WINNER

    def test_explain_of_a_kernel_that_never_ran(self):
        said = str(make_kernel().explain())

        assert said.endswith("\n  it has not been called in this process")

    def test_explain_of_arguments_tells_of_such_calls_alone(self, bench):
        live = bench()
        live.call(3)
        live.call(3, n=1 << 10)
        x, out = live.arrays(1 << 10)

        (one,) = live.kernel.explain(x, out=out).workloads

        assert one.covers == (1 << 10,)

    def test_stats_count_calls_probes_and_failures(self, bench):
        def one_is_second(schedule):
            return bowl(schedule) + 1e3 * schedule.workgroup[0]

        live = bench(one_is_second, falls={WINNER: "out of registers"})
        live.call(400)

        stats = vyre.stats()

        assert stats.dispatches >= 400
        assert stats.probes > 0
        assert 0 < stats.explored < 0.5
        assert stats.saved_s > 0
        assert ("twice", WINNER, "out of registers") in stats.failures
        assert "dropped 128, 4 items strided, vectors of 4, fitted: out of registers" in str(stats)
