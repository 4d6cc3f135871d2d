"""Races of two variants: how they are decided, and what the store keeps."""

from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.errors import InvalidInput
from vyre.seed import (
    AutotuneKey,
    AutotuneRecord,
    AutotuneStore,
    SpecCacheKey,
    VariantKeys,
    VariantKind,
    VariantRace,
    record_variant_race,
)
from vyre.seed.variants import LEAST_PAIRS, time_in_turns

CONSERVATIVE, SPECULATIVE = (
    SpecCacheKey(shader_hash=0xFEED, binding_sig=0xBEEF, workgroup_size=(64, 1, 1), spec_hash=n)
    for n in (1, 2)
)
KEYS = VariantKeys(conservative=CONSERVATIVE, speculative=SPECULATIVE, adapter_id="native")
SEED_KEYS = VariantKeys(
    conservative=CONSERVATIVE, speculative=SPECULATIVE, adapter_id="native", exact=False
)


def tuned(unroll):
    return AutotuneRecord(workgroup_size=(64, 1, 1), unroll=unroll)


def race(conservative, speculative, **changes):
    return VariantRace(
        conservative_dispatch_ns=tuple(conservative),
        speculative_dispatch_ns=tuple(speculative),
        conservative_record=tuned(1),
        speculative_record=tuned(4),
        **changes,
    )


def noisy(middle, count=30, seed=0):
    rng = Random(seed)
    return [round(middle * rng.uniform(0.9, 1.1)) for _ in range(count)]


def test_a_single_pair_decides_as_the_crate_does_where_that_is_asked_for():
    store = AutotuneStore()

    decision = record_variant_race(
        store, SEED_KEYS, race([1000], [200], speculative_compile_ns=100, least_pairs=1)
    )

    assert decision.winner is VariantKind.SPECULATIVE
    assert decision.saved_ns == 700
    assert decision.autotune_key == AutotuneKey.of(SPECULATIVE, "native")
    assert len(store) == 1
    assert store.get(decision.autotune_key).unroll == 4


def test_a_tie_goes_to_the_conservative_side():
    store = AutotuneStore()
    tie = race([500], [100], conservative_compile_ns=100, speculative_compile_ns=500, least_pairs=1)

    decision = record_variant_race(store, KEYS, tie)

    assert (decision.winner, decision.saved_ns) == (VariantKind.CONSERVATIVE, 0)
    assert store.get(AutotuneKey.exact(CONSERVATIVE, "native")).unroll == 1


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_totals_are_exact_at_any_size(dispatch, compile_ns, other):
    made = race(
        [dispatch],
        [other],
        conservative_compile_ns=compile_ns,
        speculative_compile_ns=compile_ns,
        least_pairs=1,
    )

    assert made.conservative_total_ns == dispatch + compile_ns
    assert made.saved_ns == abs(dispatch - other)


def test_one_noisy_sample_decides_nothing():
    store = AutotuneStore()

    decision = record_variant_race(store, KEYS, race([1000], [200]))

    assert (decision.winner, decision.autotune_key) == (None, None)
    assert store.is_empty
    assert race([1000] * (LEAST_PAIRS - 1), [200] * (LEAST_PAIRS - 1)).winner is None
    assert race([1000] * LEAST_PAIRS, [200] * LEAST_PAIRS).winner is VariantKind.SPECULATIVE


def test_one_wild_time_among_many_changes_no_winner():
    slow, fast = noisy(1000), noisy(500, seed=1)
    fast[7] = 10**9

    assert race(slow, fast).winner is VariantKind.SPECULATIVE
    assert race(fast, slow).winner is VariantKind.CONSERVATIVE


def test_times_that_cannot_be_told_apart_leave_the_race_open():
    store = AutotuneStore()
    store.put(KEYS.key(VariantKind.CONSERVATIVE), tuned(2))

    decision = record_variant_race(store, KEYS, race([1000, 900] * 10, [950, 950] * 10))

    assert decision.winner is None
    assert decision.interval.low < 1 < decision.interval.high
    assert len(store) == 1, "an open race changes nothing"


def test_compiling_is_paid_by_the_dispatches_it_serves():
    def served(dispatches):
        return race(
            [1000] * 10, [900] * 10, speculative_compile_ns=1_000_000, serves=dispatches
        ).winner

    assert served(1) is VariantKind.CONSERVATIVE
    assert served(10_000) is VariantKind.CONSERVATIVE, "1,000,000 saved is 1,000,000 spent"
    assert served(10_001) is VariantKind.SPECULATIVE


def test_the_loser_s_stale_record_is_removed():
    store = AutotuneStore()
    record_variant_race(store, KEYS, race([1000] * 10, [200] * 10))
    record_variant_race(store, KEYS, race([200] * 10, [1000] * 10))

    assert len(store) == 1
    assert store.get(KEYS.key(VariantKind.CONSERVATIVE)) == tuned(1)
    assert store.get(KEYS.key(VariantKind.SPECULATIVE)) is None


def test_two_variants_that_share_the_crate_s_key_keep_the_winner():
    swapped = SpecCacheKey(
        shader_hash=0xBEEF, binding_sig=0xFEED, workgroup_size=(64, 1, 1), spec_hash=1
    )
    keys = VariantKeys(
        conservative=CONSERVATIVE, speculative=swapped, adapter_id="native", exact=False
    )
    store = AutotuneStore()
    assert keys.key(VariantKind.CONSERVATIVE) == keys.key(VariantKind.SPECULATIVE)

    decision = record_variant_race(store, keys, race([1000] * 10, [200] * 10))

    assert store.get(decision.autotune_key) == tuned(4)


def test_what_is_saved_counts_every_dispatch():
    made = race([1000] * 9, [200] * 9, speculative_compile_ns=100, serves=50)

    assert made.saved_ns == Fraction(50 * 800 - 100)


@pytest.mark.parametrize(("left", "right"), [([], []), ([1, 2], [1])])
def test_times_that_are_not_paired_are_refused(left, right):
    with pytest.raises(InvalidInput) as error:
        race(left, right)

    assert str(error.value) == (
        f"{len(left)} conservative and {len(right)} speculative times\n"
        "Fix: take them in pairs, one of each side in turns"
    )


def test_times_below_0_are_refused():
    with pytest.raises(InvalidInput) as error:
        race([-1], [1], serves=0)

    assert str(error.value) == (
        "a race with a time of -1 ns, serving 0 dispatches, decided on 8 pairs\n"
        "Fix: give times from 0, and at least 1 dispatch and 1 pair"
    )


def test_sides_take_turns_and_their_first_times_are_dropped():
    ran = []

    def side(name):
        def run():
            ran.append(name)
            return 10**9 if len(ran) <= 2 else len(ran)

        return run

    left, right = time_in_turns(side("a"), side("b"), pairs=4)

    assert "".join(ran) == "baabbaabba"
    assert (left, right) == ((3, 6, 7, 10), (4, 5, 8, 9))
