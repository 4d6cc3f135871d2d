import struct

from hypothesis import given
from hypothesis import strategies as st

from vyre.plan.counter_tail import (
    TAIL_MAGIC,
    SpeculationReport,
    encode_counter_tail,
    parse_counter_tail,
)

COUNTS = st.integers(0, 2**32 - 1)
WORDS = st.binary(max_size=40).map(lambda data: data[: len(data) // 4 * 4])


@given(WORDS, COUNTS, COUNTS, st.booleans())
def test_what_was_encoded_is_parsed_behind_any_words(before, committed, rolled_back, legacy):
    report = SpeculationReport(committed, rolled_back)

    output = before + encode_counter_tail(report, legacy=legacy)

    assert parse_counter_tail(output, legacy=legacy) == report


def test_a_tail_is_magic_version_and_the_two_counts():
    tail = encode_counter_tail(SpeculationReport(7, 13))

    assert tail == b"VySp" + struct.pack("<3I", 1, 7, 13)
    assert encode_counter_tail(SpeculationReport(7, 13), legacy=True) == tail[8:]


@given(WORDS)
def test_words_without_the_magic_are_no_tail(words):
    if words[-16:-12] != b"VySp":
        assert parse_counter_tail(words) is None


def test_another_version_is_no_tail():
    assert parse_counter_tail(struct.pack("<4I", TAIL_MAGIC, 2, 7, 13)) is None


def test_a_short_or_broken_output_is_no_tail():
    tail = encode_counter_tail(SpeculationReport(7, 13))

    assert parse_counter_tail(tail[1:]) is None
    assert parse_counter_tail(b"\0" + tail) is None
    assert parse_counter_tail(bytes(7), legacy=True) is None
    assert parse_counter_tail(bytes(9), legacy=True) is None


def test_the_bare_counts_are_read_only_when_asked_for():
    output = struct.pack("<4I", 1, 2, 42, 100)

    assert parse_counter_tail(output) is None
    assert parse_counter_tail(output, legacy=True) == SpeculationReport(42, 100)
