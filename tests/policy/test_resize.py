from dataclasses import FrozenInstanceError
from itertools import pairwise
from math import inf, log2, nan
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.errors import InvalidInput
from vyre.model import Code, Failed, Knobs, Schedule, Timed
from vyre.policy.base import NothingToTry, Policy
from vyre.policy.resize import DefaultPolicy, Resize, ResizePolicy, TunerFeedback


def window(width: int, *, throughput: float = 2.0, idle_us: int = 0) -> TunerFeedback:
    return TunerFeedback(
        observed_workgroup_size_x=width,
        observed_throughput_per_us=throughput,
        idle_us=idle_us,
        wall_time_us=10_000_000,
    )


def idling(width: int) -> TunerFeedback:
    return window(width, idle_us=100_001)


def starved(width: int) -> TunerFeedback:
    return window(width, throughput=0.5)


def replay(policy: ResizePolicy, wishes: list[str], width: int = 128) -> list[int]:
    """The width after each window, when every suggestion is followed."""
    widths = []
    for wish in wishes:
        feedback = {"shrink": idling, "grow": starved, "stay": window}[wish](width)
        suggested, policy = policy.observe(feedback)
        width = suggested or width
        widths.append(width)
    return widths


def turns(widths: list[int]) -> int:
    """How often a sequence of widths goes back on itself."""
    moves = [b > a for a, b in pairwise(widths) if a != b]
    return sum(a != b for a, b in pairwise(moves))


def test_the_defaults_are_the_seeds():
    policy = ResizePolicy()

    assert policy.adapter_max_workgroup_size_x == 1024
    assert policy.minimum_workgroup_size_x == 32
    assert policy.saturation_threshold_per_us == 1.0
    assert policy.idle_shrink_us == 100_000
    assert DefaultPolicy is ResizePolicy


@pytest.mark.parametrize(
    ("feedback", "suggested"),
    [
        (window(256), None),
        (window(256, idle_us=100_001), 128),
        (window(256, idle_us=100_000), None),
        (window(256, throughput=0.999), 512),
        (window(256, throughput=1.0), None),
        (window(256, throughput=nan), None),
        (window(256, throughput=inf), None),
        (window(64, idle_us=100_001), 32),
        (window(63, idle_us=100_001), None),
        (window(33, idle_us=100_001), None),
        (window(32, idle_us=100_001), None),
        (window(256, throughput=0.0, idle_us=100_001), 128),
        (window(32, throughput=0.0, idle_us=100_001), None),
        (window(512, throughput=0.0), 1024),
        (window(513, throughput=0.0), None),
        (window(1024, throughput=0.0), None),
        (window(48, throughput=0.0), 96),
        (window(0, throughput=0.0), 2),
        (window(4096, idle_us=100_001), 2048),
    ],
)
def test_one_window_alone_is_judged_as_in_the_seed(feedback: TunerFeedback, suggested: int | None):
    assert ResizePolicy().suggest_resize(feedback) == suggested


def test_doubling_beyond_32_bits_stays():
    policy = ResizePolicy(adapter_max_workgroup_size_x=2**32 - 1)

    assert policy.suggest_resize(starved(2**31)) is None
    assert policy.suggest_resize(starved(2**30)) == 2**31


@given(
    st.integers(0, 32).map(lambda bits: 1 << bits),
    st.floats(allow_nan=True),
    st.integers(0, 200_000),
)
def test_a_policy_without_memory_answers_powers_of_two_as_the_seed_does(
    width: int, throughput: float, idle_us: int
):
    feedback = window(width, throughput=throughput, idle_us=idle_us)

    assert ResizePolicy().observe(feedback)[0] == ResizePolicy().suggest_resize(feedback)


@pytest.mark.parametrize(
    ("feedback", "suggested"),
    [
        (idling(33), 32),
        (idling(48), 32),
        (starved(48), 64),
        (starved(513), 1024),
        (idling(1), None),
        (starved(0), 2),
    ],
)
def test_a_width_that_is_no_power_of_two_moves_to_one(
    feedback: TunerFeedback, suggested: int | None
):
    assert ResizePolicy().observe(feedback)[0] == suggested


def test_the_stateless_form_oscillates_under_alternating_windows():
    policy, width, widths = ResizePolicy(), 128, []
    for wish in [idling, starved] * 4:
        width = policy.suggest_resize(wish(width)) or width
        widths.append(width)

    assert widths == [64, 128] * 4


@pytest.mark.parametrize("first", ["shrink", "grow"])
def test_alternating_windows_never_turn_a_remembering_policy_round(first: str):
    second = {"shrink": "grow", "grow": "shrink"}[first]

    assert turns([128, *replay(ResizePolicy(), [first, second] * 500)]) == 0


@given(
    st.lists(st.sampled_from(["shrink", "grow", "stay"]), max_size=20),
    st.sampled_from([("shrink", "grow"), ("grow", "shrink"), ("grow", "stay", "shrink")]),
)
def test_alternating_windows_stop_turning_whatever_came_before(
    before: list[str], cycle: tuple[str, ...]
):
    widths = replay(ResizePolicy(), [*before, *cycle * 100])

    settled = widths[len(before) + len(cycle) - 1 :]
    assert turns(settled) == 0


@given(
    st.lists(
        st.tuples(st.sampled_from(["shrink", "grow", "stay"]), st.integers(1, 40)), max_size=30
    )
)
def test_no_sequence_of_windows_turns_it_more_often_than_a_logarithm(runs: list[tuple[str, int]]):
    wishes = [wish for wish, length in runs for _ in range(length)]

    assert turns([128, *replay(ResizePolicy(), wishes)]) <= log2(len(wishes) + 2) - 1


def test_a_lasting_change_turns_it_round():
    wishes = ["grow", *["shrink"] * 5]

    assert replay(ResizePolicy(), wishes, width=512) == [1024, 1024, 512, 256, 128, 64]


def test_turning_back_takes_twice_as_many_windows():
    wishes = ["grow", *["shrink"] * 2, *["grow"] * 4]

    assert replay(ResizePolicy(), wishes) == [256, 256, 128, 128, 128, 128, 256]


def test_a_contented_window_starts_the_count_anew():
    wishes = ["grow", "shrink", "stay", "shrink", "shrink"]

    assert replay(ResizePolicy(), wishes) == [256, 256, 256, 256, 128]


def test_the_observing_policy_itself_stands():
    policy = ResizePolicy()

    policy.observe(idling(128))

    assert policy == ResizePolicy()
    with pytest.raises(FrozenInstanceError):
        policy.against = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    "feedback",
    [
        TunerFeedback(
            observed_workgroup_size_x=128,
            observed_throughput_per_us=0.0,
            idle_us=200_000,
            wall_time_us=200_000,
        ),
        TunerFeedback(
            observed_workgroup_size_x=128,
            observed_throughput_per_us=0.0,
            idle_us=0,
            wall_time_us=200_000,
            per_opcode_counts=((7, 0), (9, 0)),
        ),
    ],
)
def test_a_window_in_which_nothing_ran_is_passed_over(feedback: TunerFeedback):
    policy = ResizePolicy()

    assert policy.observe(feedback) == (None, policy)
    assert policy.suggest_resize(feedback) is not None


def test_counted_opcodes_show_that_something_ran():
    feedback = TunerFeedback(
        observed_workgroup_size_x=128,
        observed_throughput_per_us=0.5,
        idle_us=0,
        per_opcode_counts=((7, 0), (9, 1)),
    )

    assert ResizePolicy().observe(feedback)[0] == 256


def test_a_width_below_the_minimum_may_still_grow_and_one_above_the_maximum_shrink():
    policy = ResizePolicy()

    assert policy.observe(starved(8))[0] == 16
    assert policy.observe(idling(4096))[0] == 2048


@pytest.mark.parametrize(("low", "high"), [(0, 1024), (64, 32), (32, 2**32)])
def test_bounds_that_hold_no_width_are_refused(low: int, high: int):
    with pytest.raises(InvalidInput) as caught:
        ResizePolicy(minimum_workgroup_size_x=low, adapter_max_workgroup_size_x=high)

    assert str(caught.value) == (
        f"widths from {low} to {high}\n"
        "Fix: give a minimum of at least 1 and a maximum from there to 2**32 - 1"
    )


def test_thresholds_that_are_no_numbers_are_refused():
    with pytest.raises(InvalidInput) as caught:
        ResizePolicy(saturation_threshold_per_us=nan)

    assert str(caught.value) == (
        "thresholds of 100000 us idle and nan per us\n"
        "Fix: give an idle time from 0 and a throughput that is a number"
    )


def test_a_patience_that_could_oscillate_is_refused():
    with pytest.raises(InvalidInput) as caught:
        ResizePolicy(patience=1)

    assert str(caught.value) == (
        "a patience of 1 windows, 0 of them seen\n"
        "Fix: give a patience of at least 2: with 1, alternating windows would oscillate"
    )


def test_feedback_below_zero_is_refused():
    with pytest.raises(InvalidInput) as caught:
        window(64, idle_us=-1)

    assert str(caught.value) == (
        "TunerFeedback(observed_workgroup_size_x=64, observed_throughput_per_us=2.0, idle_us=-1,"
        " wall_time_us=10000000, per_opcode_counts=()) has a size or time below 0\n"
        "Fix: give sizes and times from 0"
    )


WIDTHS = tuple(Schedule((n, 1, 1)) for n in (64, 128, 256, 512))


def resize(**changed: object) -> Resize:
    return Resize(**({"widths": WIDTHS, "default": WIDTHS[1], "elements": 1000} | changed))


def after(policy: Resize, *outcomes: object) -> Schedule:
    for outcome in outcomes:
        policy = policy.tell(outcome)
    return policy.ask(Random(0))


class TestResize:
    """The same policy, asked and told."""

    def test_it_is_a_policy_that_begins_with_the_default(self):
        policy: Policy = resize()

        assert policy.ask(Random(0)) == policy.settled == WIDTHS[1]

    def test_what_does_not_saturate_grows_and_what_idles_shrinks(self):
        slow, idle = Timed(WIDTHS[1], 1e9), Timed(WIDTHS[1], 1e3, 2e8)

        assert after(resize(), slow) == WIDTHS[2]
        assert after(resize(), idle) == WIDTHS[0]
        assert after(resize(), Timed(WIDTHS[1], 1e3)) == WIDTHS[1]

    def test_it_stays_between_its_widths(self):
        policy = resize()
        for _ in range(10):
            policy = policy.tell(Timed(policy.ask(Random(0)), 1e9))

        assert policy.ask(Random(0)) == WIDTHS[-1]

    def test_what_failed_is_passed_over(self):
        assert after(resize(), Failed(WIDTHS[2], "no"), Timed(WIDTHS[1], 1e9)) == WIDTHS[1]
        assert after(resize(), Failed(WIDTHS[1], "no")) == WIDTHS[0]
        assert after(resize(), Timed(WIDTHS[1], 1e9), Failed(WIDTHS[2], "no")) == WIDTHS[1]
        failed = resize().tell(Failed(WIDTHS[2], "no"))
        assert failed.tell(Timed(WIDTHS[2], 1e9)) == failed

    def test_where_everything_failed_it_says_so(self):
        policy = resize()
        for width in WIDTHS:
            policy = policy.tell(Failed(width, "no"))

        assert policy.settled is None
        with pytest.raises(NothingToTry) as caught:
            policy.ask(Random(0))
        assert str(caught.value) == (
            "every width of the space has failed\nFix: look at the reasons of the failures"
        )

    @pytest.mark.parametrize(
        "outcome",
        [
            Timed(Schedule((64, 4, 1)), 1e9),
            Timed(Schedule((64, 1, 1), Code(items=2)), 1e9),
            Timed(Knobs.of({"BLOCK": 64}), 1e9),
            Failed(Schedule((1, 1, 1)), "no"),
            *(Timed(WIDTHS[1], elapsed) for elapsed in (0.0, -1.0, nan, inf)),
            *(Timed(WIDTHS[1], 1e9, idle) for idle in (-1.0, nan, inf)),
        ],
    )
    def test_what_is_none_of_its_business_changes_nothing(self, outcome):
        assert resize().tell(outcome) == resize()

    def test_without_widths_it_stays_with_the_default(self):
        knobs = Knobs.of({"BLOCK": 64})

        assert after(resize(widths=(), default=knobs), Timed(knobs, 1e9)) == knobs
