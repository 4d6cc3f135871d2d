"""How calls are decided, by modes."""

from dataclasses import replace

import pytest

import vyre
from vyre.errors import InvalidInput, NotRemembered
from vyre.learn import rules
from vyre.model import (
    Mode,
    Reason,
)
from vyre.testing.live import DEFAULT, WINNER, adopted


class TestModes:
    def test_off_measures_nothing_and_says_so(self, bench):
        live = bench()
        with vyre.mode("off"):
            x, out = live.arrays(1000)
            live.kernel(x, out=out)

        assert live.deciders.all() == ()
        assert live.kernel.explain().workloads[0].decision.reason is Reason.OFF

    def test_off_uses_what_is_remembered(self, bench):
        live = bench()
        assert live.call(600, done=adopted(WINNER))
        launched = live.device.backend.launched
        before = len(launched)

        with vyre.mode(Mode.OFF):
            x, out = live.arrays(1 << 14)
            live.kernel(x, out=out)

        assert launched[before:] == [WINNER]

    @pytest.mark.parametrize("setter", [lambda: vyre.mode("off"), vyre.freeze])
    def test_what_is_decided_later_is_known_at_once_where_nobody_learns(self, bench, setter):
        """Also by calls that were made before, and launched the default since."""
        live, launched = bench(), []
        x, out = live.arrays(1 << 14)
        with setter():
            prepared = live.kernel.prepare(x, out=out)
            for call in (lambda: live.kernel(x, out=out), prepared):
                call()
        assert set(live.device.backend.launched) == {DEFAULT}
        assert live.call(600, done=adopted(WINNER))

        with setter():
            for call in (lambda: live.kernel(x, out=out), prepared):
                live.device.backend.launched.clear()
                call()
                launched += live.device.backend.launched

        assert launched == [WINNER, WINNER]

    @pytest.mark.parametrize("setter", [lambda: vyre.mode("off"), vyre.freeze])
    def test_what_is_tuned_is_known_to_every_mode(self, bench, setter):
        live = bench()
        x, out = live.arrays(1 << 14)
        with setter():
            live.kernel(x, out=out)

        live.kernel.tune(x, out=out, budget_s=60.0)
        live.device.backend.launched.clear()
        with setter():
            live.kernel(x, out=out)
        with vyre.freeze(missing="error"):
            live.kernel(x, out=out)
        live.kernel(x, out=out)

        assert live.device.backend.launched == [WINNER] * 3

    def test_what_was_prepared_launches_what_was_tuned_since(self, bench):
        live = bench()
        x, out = live.arrays(1 << 14)
        prepared = live.kernel.prepare(x, out=out)
        prepared()

        live.kernel.tune(x, out=out, budget_s=60.0)
        assert live.deciders.desk.drained(60)
        live.device.backend.launched.clear()
        prepared()

        assert live.device.backend.launched == [WINNER]

    def test_what_is_tuned_under_a_freeze_is_used_and_kept(self, bench):
        live = bench()
        x, out = live.arrays(1 << 14)
        with vyre.freeze():
            tuned = live.kernel.tune(x, out=out, budget_s=60.0)
            live.device.backend.launched.clear()
            live.kernel(x, out=out)
        live.recorder.flush()

        assert tuned.config == WINNER
        assert live.device.backend.launched == [WINNER]
        assert [kept.decision.config for kept in live.store.kept()] == [WINNER]

    def test_a_first_call_that_found_nothing_is_not_waited_for_again(self, bench, monkeypatch):
        """Sizes of one workload share what a sweep came to, whether or not it decided anything."""
        live, sweeps = bench(), []
        decision = replace(live.kernel.tune(live.arrays(64)[0], budget_s=60.0), config=DEFAULT)
        monkeypatch.setattr(
            "vyre.runtime.call.dispatch.Dispatcher.sweep",
            lambda *_, **__: sweeps.append(1) or decision,
        )
        with vyre.mode("on"):
            for n in range(1 << 13, (1 << 13) + 5):
                x, out = live.arrays(n)
                live.kernel(x, out=out)

        assert sweeps == [1]

    @pytest.mark.parametrize("word", ["fast", 3, None])
    def test_a_mode_that_is_none_is_refused(self, word):
        with pytest.raises(InvalidInput) as caught, vyre.mode(word):
            pass

        assert caught.value.problem == f"no mode {word!r}"
        assert caught.value.fix == "use one of on, natural, ng, off, default"

    def test_what_mode_on_sweeps_is_run_by_calls_that_learn(self, bench):
        live = bench()
        live.call(1)
        x, out = live.arrays(1 << 14)
        with vyre.mode("on"):
            live.kernel(x, out=out)
        found = live.recorder.at_hand(live.kernel.explain().workloads[0].decision.workload)
        assert found.config != DEFAULT

        live.kernel(x, out=out)
        assert live.deciders.desk.drained(60)
        live.kernel(x, out=out)

        assert live.device.backend.launched[-1] == found.config

    def test_frozen_a_miss_is_the_default_or_an_error(self, bench):
        live = bench()
        x, out = live.arrays(1000)

        with vyre.freeze():
            live.kernel(x, out=out)
        with vyre.freeze(missing="error"), pytest.raises(NotRemembered) as caught:
            live.kernel(x, out=out)

        assert caught.value.problem == (
            "nothing is remembered for twice over 1,000 elements on a table of times, "
            "and this process is frozen"
        )
        assert caught.value.fix == (
            'tune it first, with twice.tune(...) on such arrays, or freeze with missing="default"'
        )
        assert rules.rule().mode is Mode.NATURAL_GRADIENT

    def test_freeze_asks_for_one_of_two_words(self):
        with pytest.raises(InvalidInput) as caught:
            vyre.freeze(missing="crash")

        assert caught.value.problem == "missing='crash'"
        assert caught.value.fix == 'pass "default" or "error"'

    def test_a_pinned_schedule_is_launched_and_not_learned_from(self, bench):
        live = bench()
        x, out = live.arrays(1 << 14)

        live.kernel(x, out=out, schedule=WINNER)

        assert live.device.backend.launched == [WINNER]
        assert live.deciders.all() == ()
