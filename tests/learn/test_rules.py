"""What holds for calls made here and now: for a process, a block, a thread, a task."""

import asyncio
import contextvars
import gc
import threading
from contextlib import ExitStack
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vyre
from vyre.errors import InvalidInput
from vyre.learn import rules
from vyre.model import Mode

SETTERS = {"mode": lambda: vyre.mode("off"), "freeze": vyre.freeze}
USUAL = Mode.NATURAL_GRADIENT


@pytest.fixture(autouse=True)
def own_process(monkeypatch):
    """What a test says for the process ends with the test."""
    monkeypatch.setattr(rules, "_said", ())
    monkeypatch.setattr(rules, "_for_all", None)
    monkeypatch.setattr(rules, "usual", None)


@pytest.fixture(params=SETTERS, name="setter")
def _setter(request):
    return SETTERS[request.param]


def held():
    return rules.rule().mode


def elsewhere():
    """What holds on another thread."""
    seen = []
    thread = threading.Thread(target=lambda: seen.append(held()))
    thread.start()
    thread.join()
    return seen[0]


def test_called_alone_it_holds_for_the_whole_process(setter):
    setter()
    gc.collect()

    assert held() is elsewhere() is Mode.OFF


def test_a_block_ends_and_holds_for_its_thread_alone(setter):
    with setter():
        assert held() is Mode.OFF
        assert elsewhere() is USUAL

    assert held() is elsewhere() is USUAL


def test_a_block_that_fails_ends_as_well(setter):
    with pytest.raises(KeyError), setter():
        raise KeyError

    assert held() is USUAL


def test_a_block_leaves_what_was_said_for_the_process(setter):
    vyre.mode("on")
    with setter():
        assert (held(), elsewhere()) == (Mode.OFF, Mode.ON)

    assert held() is elsewhere() is Mode.ON


def test_what_is_said_for_the_process_inside_a_block_shows_after_it(setter):
    with setter():
        vyre.mode("on")
        assert (held(), elsewhere()) == (Mode.OFF, Mode.ON)

    assert held() is Mode.ON


def test_the_last_word_for_the_process_holds():
    vyre.freeze()
    vyre.mode("on")

    assert elsewhere() is Mode.ON


def test_one_may_be_a_block_again_and_again(setter):
    again = setter()
    for _ in range(3):
        with again:
            assert held() is Mode.OFF
        assert held() is elsewhere() is USUAL


def test_one_may_be_a_block_within_itself(setter):
    again = setter()
    with again:
        with again:
            assert held() is Mode.OFF
        assert held() is Mode.OFF

    assert held() is USUAL


def test_the_innermost_block_holds():
    with vyre.mode("off"), vyre.mode("on"), vyre.freeze("error"):
        assert rules.rule().strict
    with vyre.freeze(), vyre.mode("on"):
        assert held() is Mode.ON


def test_blocks_that_end_out_of_order_each_end_themselves():
    outer, inner = vyre.mode("off"), vyre.mode("on")
    outer.__enter__()
    inner.__enter__()

    outer.__exit__(None, None, None)
    assert held() is Mode.ON
    inner.__exit__(None, None, None)
    assert held() is USUAL


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=30))
def test_whatever_is_entered_and_left_the_latest_that_is_open_holds(steps):
    """A model: a list of open blocks, from which leaving takes the latest of that kind."""
    words = ["off", "on", "natural", "off", "on"]
    settings, open_blocks = [vyre.mode(word) for word in words], []
    for one in settings:
        with one:
            pass
    try:
        for number, enters in steps:
            if enters:
                settings[number].__enter__()
                open_blocks.append(number)
            elif number in open_blocks:
                settings[number].__exit__(None, None, None)
                open_blocks.reverse()
                open_blocks.remove(number)
                open_blocks.reverse()
            expected = Mode.parse(words[open_blocks[-1]]) if open_blocks else USUAL
            assert held() is expected
    finally:
        for number in reversed(open_blocks):
            settings[number].__exit__(None, None, None)
    assert held() is USUAL
    assert rules._open_blocks == 0


def test_two_threads_whose_blocks_overlap_leave_nothing_behind():
    first, second = threading.Event(), threading.Event()
    seen = []

    def one():
        with vyre.freeze():
            first.set()
            second.wait(20)
        seen.append(held())

    def other():
        first.wait(20)
        with vyre.mode("on"):
            second.set()
            threads[0].join(20)
            seen.append(held())
        seen.append(held())

    threads = [threading.Thread(target=work) for work in (one, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert seen == [USUAL, Mode.ON, USUAL]
    assert held() is USUAL


def test_a_block_left_in_another_context_ends(setter):
    """As an asynchronous generator is that was not run to its end."""
    block = setter()
    contextvars.copy_context().run(block.__enter__)

    block.__exit__(None, None, None)

    assert held() is USUAL
    assert rules._open_blocks == 0


class TestTasks:
    def test_a_block_holds_for_its_task_and_those_started_in_it(self, setter):
        async def look():
            await asyncio.sleep(0)
            return held()

        async def main():
            beside = asyncio.create_task(look())
            with setter():
                inside = asyncio.create_task(look())
                return await inside, await asyncio.to_thread(held), await beside

        assert asyncio.run(main()) == (Mode.OFF, Mode.OFF, USUAL)

    def test_a_task_that_outlives_the_block_goes_on_without_it(self, setter):
        async def main():
            ended = asyncio.Event()

            async def look():
                before = held()
                await ended.wait()
                return before, held()

            with setter():
                task = asyncio.create_task(look())
                await asyncio.sleep(0)
            ended.set()
            return await task

        assert asyncio.run(main()) == (Mode.OFF, USUAL)


def test_many_words_for_the_process_are_not_kept_for_ever():
    for _ in range(1000):
        vyre.mode("on")

    assert len(rules._said) <= 64


def test_a_block_asks_nothing_of_the_environment(monkeypatch):
    """It may be wrong, and inside the block nobody needs it."""

    def wrong():
        raise InvalidInput("no mode 'fast'", "use one of on, off")

    monkeypatch.setattr(rules, "current", wrong)

    with vyre.mode("off"):
        assert held() is Mode.OFF


def test_what_a_signal_says_while_the_first_call_asks_for_its_rule_holds(monkeypatch):
    saying = [lambda: vyre.mode("off")]

    def fold(said, real=rules._fold):
        found = real(said)
        while saying:
            saying.pop()()
        return found

    monkeypatch.setattr(rules, "_fold", fold)

    assert held() is Mode.OFF
    assert rules.usual is rules.rule()
    assert rules.usual.mode is Mode.OFF


def test_what_a_signal_says_while_something_is_said_is_not_lost(monkeypatch):
    saying = [lambda: vyre.policy("sweep")]

    def latest(said, of, real=rules._latest):
        found = real(said, of)
        while saying:
            saying.pop()()
        return found

    monkeypatch.setattr(rules, "_latest", latest)
    vyre.mode("off")

    assert (rules.rule().mode, rules.rule().policy) == (Mode.OFF, "sweep")


def test_blocks_fit_a_stack():
    with ExitStack() as stack:
        stack.enter_context(vyre.mode("on"))
        stack.enter_context(vyre.freeze())
        assert held() is Mode.OFF

    assert held() is USUAL


class TestPolicies:
    """What a learner learns by, beside the mode."""

    def seen(self):
        rule = rules.rule()
        return rule.mode, rule.strict, rule.policy

    def test_it_holds_for_the_process_or_for_a_block(self):
        vyre.policy("sweep")
        assert rules.rule().policy == "sweep"

        with vyre.policy(" Resize "):
            assert rules.rule().policy == "resize"
            assert _policy_elsewhere() == "sweep"

        assert rules.rule().policy == "sweep"

    def test_a_mode_and_a_freeze_leave_it_and_it_leaves_them(self):
        with vyre.policy("sweep"):
            with vyre.mode("on"):
                assert self.seen() == (Mode.ON, False, "sweep")
                with vyre.freeze("error"), vyre.policy("fixed"):
                    assert self.seen() == (Mode.OFF, True, "fixed")
                assert self.seen() == (Mode.ON, False, "sweep")
            assert self.seen() == (USUAL, False, "sweep")

    def test_what_is_said_for_the_process_adds_up(self):
        vyre.freeze("error")
        vyre.policy("seed")
        assert self.seen() == (Mode.OFF, True, "seed")

        vyre.mode("natural")

        assert self.seen() == (USUAL, False, "seed")

    def test_many_words_of_one_sort_leave_the_other(self):
        vyre.policy("sweep")
        for _ in range(1000):
            vyre.mode("on")

        assert self.seen() == (Mode.ON, False, "sweep")

    def test_a_block_is_no_word_for_the_process(self):
        held = vyre.policy("sweep")
        with held:
            pass

        assert rules.rule().policy == "natural"

    def test_the_environment_says_what_holds_at_first(self, monkeypatch):
        asked = replace(rules.current(), mode=Mode.ON, policy="fixed")
        monkeypatch.setattr(rules, "current", lambda: asked)

        assert self.seen() == (Mode.ON, False, "fixed")
        with vyre.mode("off"):
            assert self.seen() == (Mode.OFF, False, "fixed")
        with vyre.policy("sweep"):
            assert self.seen() == (Mode.ON, False, "sweep")

    def test_a_policy_in_a_wrong_environment_says_what_is_wrong(self, monkeypatch):
        def wrong():
            raise InvalidInput("VYRE_POLICY is 'fast': no policy 'fast'", "use one of natural")

        monkeypatch.setattr(rules, "current", wrong)

        with pytest.raises(InvalidInput, match="VYRE_POLICY is 'fast'"), vyre.policy("sweep"):
            pass
        with vyre.mode("on"), vyre.policy("sweep"):
            assert self.seen() == (Mode.ON, False, "sweep")

    @pytest.mark.parametrize("word", ["fast", "", None, 7, Mode.ON])
    def test_a_word_that_is_none_is_refused(self, word):
        with pytest.raises(InvalidInput) as caught:
            vyre.policy(word)

        assert caught.value.problem.startswith("no policy ")
        assert caught.value.fix == "use one of natural, seed, resize, sweep, fixed"
        assert rules._said == ()

    def test_a_rule_is_one_object(self):
        """Every call looks something up by it."""
        with vyre.policy("sweep"):
            first = rules.rule()
        with vyre.policy("SWEEP"):
            assert rules.rule() is first


def _policy_elsewhere():
    seen = []
    thread = threading.Thread(target=lambda: seen.append(rules.rule().policy))
    thread.start()
    thread.join()
    return seen[0]
