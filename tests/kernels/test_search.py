"""The search for literals against Python's own, and the command's rule against grep."""

import io
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vyre
from vyre import InvalidInput, UnsupportedFeature, Way
from vyre.kernels.search import (
    MOST_PATTERNS,
    Literals,
    find,
    find_in,
    leftmost_longest,
)

ALPHABETS = (b"ab", b"ab\0", b"a", b"abcdefgh\n", bytes(range(256)))


def oracle(text, patterns):
    """Every match by `bytes.find` in a loop."""
    found = []
    for number, pattern in enumerate(patterns):
        offset = text.find(pattern)
        while offset >= 0:
            found.append((offset, number))
            offset = text.find(pattern, offset + 1)
    return sorted(found)


def pairs(matches):
    return list(zip(matches.offsets.tolist(), matches.ids.tolist(), strict=True))


def random_case(rng):
    letters = rng.choice(ALPHABETS)
    text = bytes(rng.choices(letters, k=rng.choice((0, 1, 2, 3, rng.randrange(200)))))
    patterns = [
        bytes(rng.choices(letters, k=rng.choice((1, 1, 2, 2, 3, rng.randrange(1, 12)))))
        for _ in range(rng.randrange(1, 12))
    ]
    if text:  # some that stand there for sure, also at the ends
        start = rng.randrange(len(text))
        patterns += [text[start : start + 4], text[-3:], text[:3], text]
    return text, patterns


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_ten_thousand_random_cases_agree_with_python(seed):
    rng = Random(seed)
    for _ in range(1000):
        text, patterns = random_case(rng)

        assert pairs(find(text, patterns)) == oracle(text, patterns), (text, patterns)


@given(
    st.integers(0, 10**6),
    st.sampled_from([*Way, None]),
    st.sampled_from(["reference", "cpu", "opencl"]),
)
@settings(max_examples=60)
def test_every_way_on_every_device_agrees_with_python(seed, way, name):
    try:
        device = vyre.open(name)
    except UnsupportedFeature:
        return
    text, patterns = random_case(Random(seed))

    assert pairs(find(text, patterns, device=device, way=way)) == oracle(text, patterns)


def test_overlapping_matches_are_all_found():
    assert pairs(find(b"aaaa", [b"aa", b"aaa"])) == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]


def test_a_pattern_given_twice_is_found_twice():
    assert pairs(find(b"xyx", [b"x", b"xy", b"x"])) == [(0, 0), (0, 1), (0, 2), (2, 0), (2, 2)]


def test_patterns_at_both_ends_are_found_and_those_beyond_are_not():
    text = b"start middle end"

    assert pairs(find(text, [b"start", b"end", b"d", b"end\0"])) == [
        (0, 0),
        (8, 2),
        (9, 2),
        (13, 1),
        (15, 2),
    ]


def test_no_text_holds_nothing():
    assert pairs(find(b"", [b"a", b"ab"])) == []


def test_every_byte_value_can_be_a_pattern():
    patterns = [bytes([n]) for n in range(256)]
    text = bytes(range(256)) * 3

    assert pairs(find(text, patterns)) == oracle(text, patterns)


def source_text(size):
    """The standard library's own sources, as they are."""
    parts, total = [], 0
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        parts.append(path.read_bytes())
        total += len(parts[-1])
        if total >= size:
            break
    return b"".join(parts)[:size]


@pytest.mark.slow
def test_a_thousand_patterns_in_the_standard_library_agree_with_python():
    text = source_text(1 << 18)
    rng = Random(1)
    patterns = [b"e", b"\n"]
    while len(patterns) < 1000:
        start, size = rng.randrange(len(text) - 40), rng.choice((3, 5, 8, 13, 30))
        patterns.append(text[start : start + size])

    assert pairs(find(text, patterns)) == oracle(text, patterns)


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 64])
def test_a_stream_in_chunks_gives_what_the_whole_gives(chunk):
    rng = Random(chunk)
    for _ in range(30):
        text, patterns = random_case(rng)
        literals = Literals.of(patterns)
        found = []
        for part in find_in(io.BytesIO(text), literals, chunk_bytes=chunk):
            found += pairs(literals.all_of(part.offsets, part.numbers))

        assert found == oracle(text, patterns)


class Dripping(io.BytesIO):
    """A stream that gives a few bytes at a time, as a pipe may."""

    def readinto(self, buffer):
        return super().readinto(memoryview(buffer)[:3])


def test_a_stream_that_drips_is_read_to_its_end():
    literals = Literals.of([b"needle"])

    parts = list(find_in(Dripping(b"hay " * 50 + b"needle"), literals, chunk_bytes=64))

    assert [offset for part in parts for offset in part.offsets.tolist()] == [200]
    assert parts[-1].read_bytes == 206


def greedy(text, patterns):
    """Leftmost, then longest, none overlapping, by trying every place."""
    found, place = [], 0
    longest_first = sorted(set(patterns), key=len, reverse=True)
    while place < len(text):
        here = next((p for p in longest_first if text.startswith(p, place)), None)
        if here is not None:
            found.append((place, here))
        place += len(here) if here else 1
    return found


@given(st.integers(0, 10**6))
@settings(max_examples=100)
def test_leftmost_longest_matches_are_those_of_trying_every_place(seed):
    text, patterns = random_case(Random(seed))
    literals = Literals.of(patterns)
    parts = list(find_in(io.BytesIO(text), literals))
    offsets = parts[0].offsets if parts else np.zeros(0, np.int64)
    numbers = parts[0].numbers if parts else np.zeros(0, np.int64)

    kept = leftmost_longest(offsets, literals.lengths[numbers])

    found = [(int(offsets[n]), literals.numbered[numbers[n]]) for n in kept]
    assert found == greedy(text, patterns)


@pytest.mark.skipif(shutil.which("grep") is None, reason="grep is not here")
def test_leftmost_longest_matches_are_grep_s(tmp_path):
    text = source_text(200_000)
    patterns = [b"self", b"self.", b"elf", b"import", b"port os", b"def ", b"e", b"return None"]
    file, wanted = tmp_path / "text", tmp_path / "patterns"
    file.write_bytes(text)
    wanted.write_bytes(b"\n".join(patterns) + b"\n")
    shown = subprocess.run(
        [shutil.which("grep"), "-aFobf", str(wanted), str(file)],
        capture_output=True,
        env={**os.environ, "LC_ALL": "C"},
    ).stdout

    literals = Literals.of(patterns)
    (part,) = find_in(io.BytesIO(text), literals)
    kept = leftmost_longest(part.offsets, literals.lengths[part.numbers])
    lines = [b"%d:%b\n" % (part.offsets[n], literals.numbered[part.numbers[n]]) for n in kept]

    assert b"".join(lines) == shown


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        ([], "no patterns to look for\nFix: give at least one"),
        ([b"a", b""], "pattern 1 is b''\nFix: give bytes of length 1 or more"),
    ],
)
def test_patterns_that_cannot_be_looked_for_are_refused(patterns, message):
    with pytest.raises(InvalidInput) as error:
        Literals.of(patterns)

    assert str(error.value) == message


def test_more_patterns_than_16_bits_count_are_refused():
    with pytest.raises(InvalidInput) as error:
        Literals.of(n.to_bytes(3, "little") for n in range(MOST_PATTERNS + 1))

    assert str(error.value) == (
        "65536 different patterns; 65535 allowed\nFix: search for them in several turns"
    )
