"""Where two versions of the Rust crate differ, each gives what its own text computes."""

from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.errors import InvalidInput, StoreFailed
from vyre.model import Mode
from vyre.seed import (
    AdaptiveSpeculator,
    AutotuneRecord,
    ResizePolicy,
    SpeculationReport,
    TunerCache,
    TunerFeedback,
    VariantKind,
    VariantRace,
    counted,
    load_cache,
    mode_from_env_value,
    suggest_resize,
    variant_winner,
)

MOST = 2**32 - 1
U64_MOST = 2**64 - 1
OLD, NEW = "0.4.1", "0.6.3"
WIDTHS = st.integers(0, 4096) | st.integers(2**31 - 2, 2**31 + 2) | st.integers(MOST - 2, MOST)


def window(width: int, throughput: float = 0.5, idle_us: int = 0) -> TunerFeedback:
    return TunerFeedback(
        observed_workgroup_size_x=width, observed_throughput_per_us=throughput, idle_us=idle_us
    )


def as_written(policy: ResizePolicy, feedback: TunerFeedback, version: str) -> int | None:
    """The crate's own text, line by line; the two versions differ in `grown`."""
    current = max(feedback.observed_workgroup_size_x, 1)
    if feedback.idle_us > policy.idle_shrink_us:
        shrunk = current // 2
        if shrunk >= policy.minimum_workgroup_size_x and shrunk != current:
            return shrunk
        return None
    if feedback.observed_throughput_per_us < policy.saturation_threshold_per_us:
        grown = current * 2
        if version == OLD:
            grown = min(grown, MOST)
        elif grown > MOST:
            return None
        if grown <= policy.adapter_max_workgroup_size_x and grown != current:
            return grown
    return None


@pytest.mark.parametrize(
    ("width", "most", "old", "new"),
    [
        (256, 1024, 512, 512),
        (1024, 1024, None, None),
        (2**31 - 1, MOST, MOST - 1, MOST - 1),
        (2**31, MOST, MOST, None),
        (2**31, MOST - 1, None, None),
        (MOST - 1, MOST, MOST, None),
        (MOST, MOST, None, None),
        (0, 1024, 2, 2),
    ],
)
def test_growing_saturates_in_the_older_version_alone(width, most, old, new):
    policy = ResizePolicy(adapter_max_workgroup_size_x=most)

    assert suggest_resize(policy, window(width), version=OLD) == old
    assert suggest_resize(policy, window(width), version=NEW) == new
    assert suggest_resize(policy, window(width)) == policy.suggest_resize(window(width)) == new


@given(
    WIDTHS,
    WIDTHS.filter(bool),
    st.integers(1, 64),
    st.sampled_from([0.5, 1.0, 2.0, nan]),
    st.sampled_from([0, 100_000, 100_001]),
    st.sampled_from([OLD, NEW]),
)
def test_a_resize_is_what_the_text_of_its_version_computes(
    width, most, least, throughput, idle_us, version
):
    policy = ResizePolicy(
        adapter_max_workgroup_size_x=max(most, least), minimum_workgroup_size_x=least
    )
    feedback = window(width, throughput, idle_us)

    found = suggest_resize(policy, feedback, version=version)

    assert found == as_written(policy, feedback, version)


@pytest.mark.parametrize(
    ("value", "old", "new"),
    [
        (None, Mode.OFF, Mode.NATURAL_GRADIENT),
        ("on", Mode.ON, Mode.ON),
        ("off", Mode.OFF, Mode.OFF),
        ("default", Mode.OFF, Mode.OFF),
        ("natural", Mode.OFF, Mode.NATURAL_GRADIENT),
        ("ng", Mode.OFF, Mode.NATURAL_GRADIENT),
        ("ON", Mode.OFF, Mode.NATURAL_GRADIENT),
        ("0", Mode.OFF, Mode.NATURAL_GRADIENT),
        ("", Mode.OFF, Mode.NATURAL_GRADIENT),
    ],
)
def test_a_word_is_taken_for_the_mode_that_each_version_takes_it_for(value, old, new):
    assert mode_from_env_value(value, version=OLD) is old
    assert mode_from_env_value(value, version=NEW) is mode_from_env_value(value) is new


@pytest.mark.parametrize(
    ("committed", "rolled_back", "old", "new"),
    [
        (1, 3, 250_000, 250_000),
        (0, 0, 0, 0),
        (MOST, 0, 1_000_000, 1_000_000),
        (MOST, MOST, 1_000_000, 500_000),
        (2**31, 2**31, 500_000, 500_000),
        (2**30, MOST, 250_000, 200_000),
        (0, MOST, 0, 0),
    ],
)
def test_a_commit_rate_is_of_a_sum_that_saturates_in_the_older_version(
    committed, rolled_back, old, new
):
    report = SpeculationReport(committed, rolled_back)

    assert counted(report, version=OLD).commit_rate_ppm == old
    assert counted(report, version=OLD).attempted_tiles == min(committed + rolled_back, MOST)
    assert counted(report, version=NEW).commit_rate_ppm == new
    assert counted(report) == report


def test_what_a_speculator_learns_follows_from_how_a_version_counts():
    speculators = {version: AdaptiveSpeculator(15) for version in (OLD, NEW)}
    report = SpeculationReport(MOST, MOST)

    for version, speculator in speculators.items():
        speculator.record(counted(report, version=version))

    assert speculators[OLD].commit_rate_ppm == 150_000 + (1_000_000 - 150_000) // 4
    assert speculators[NEW].commit_rate_ppm == 150_000 + (500_000 - 150_000) // 4


def race(
    conservative: tuple[int, int], speculative: tuple[int, int], serves: int = 1, pairs: int = 1
) -> VariantRace:
    record = AutotuneRecord(workgroup_size=(64, 1, 1))
    return VariantRace(
        conservative_compile_ns=conservative[0],
        conservative_dispatch_ns=(conservative[1],) * pairs,
        speculative_compile_ns=speculative[0],
        speculative_dispatch_ns=(speculative[1],) * pairs,
        conservative_record=record,
        speculative_record=record,
        serves=serves,
        least_pairs=1,
    )


@pytest.mark.parametrize(
    ("conservative", "speculative", "old", "new"),
    [
        ((0, 1_000), (100, 200), (VariantKind.SPECULATIVE, 700), (VariantKind.SPECULATIVE, 700)),
        ((0, 300), (100, 200), (VariantKind.CONSERVATIVE, 0), (VariantKind.CONSERVATIVE, 0)),
        ((0, 100), (0, 250), (VariantKind.CONSERVATIVE, 150), (VariantKind.CONSERVATIVE, 150)),
        (
            (U64_MOST, U64_MOST),
            (U64_MOST, 1),
            (VariantKind.CONSERVATIVE, 0),
            (VariantKind.SPECULATIVE, U64_MOST - 1),
        ),
        (
            (U64_MOST, 10),
            (0, U64_MOST - 5),
            (VariantKind.SPECULATIVE, 5),
            (VariantKind.SPECULATIVE, 15),
        ),
    ],
)
def test_totals_of_a_race_saturate_in_the_older_version_alone(conservative, speculative, old, new):
    made = race(conservative, speculative)

    assert variant_winner(made, version=OLD) == old
    assert variant_winner(made, version=NEW) == variant_winner(made) == new


@pytest.mark.parametrize(("serves", "pairs"), [(2, 1), (1, 2)])
def test_the_crate_decides_no_longer_race(serves, pairs):
    with pytest.raises(InvalidInput) as caught:
        variant_winner(race((0, 1), (0, 2), serves, pairs))

    assert str(caught.value) == (
        f"a race of {pairs} pairs whose compiling serves {serves} dispatches, "
        "and the crate decides on one of each\n"
        "Fix: give a race of one pair with serves=1, or use its winner"
    )


def test_a_cache_beyond_four_mebibytes_is_read_as_the_older_version_alone(tmp_path):
    path = tmp_path / "long.toml"
    path.write_text('"a" = [64, 1, 1]\n' + "#" * (4 << 20) + "\n")

    assert load_cache(path, version=OLD).get("a") == (64, 1, 1)
    with pytest.raises(StoreFailed, match="4194304 allowed"):
        load_cache(path)


@pytest.mark.parametrize("version", [OLD, NEW])
def test_a_cache_that_is_not_there_is_empty_in_both(tmp_path, version):
    assert load_cache(tmp_path / "none.toml", version=version) == TunerCache()


def test_a_version_that_computes_like_another_is_refused_by_name():
    with pytest.raises(InvalidInput) as caught:
        counted(SpeculationReport(), version="0.5.0")

    assert str(caught.value) == (
        "version '0.5.0' of the Rust crate; known: 0.4.1, 0.6.3\nFix: use version=\"0.6.3\""
    )
