import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.errors import StoreFailed
from vyre.plain import plain, plain_lines

HOSTILE = {
    "escape": "\x1b]0;owned\x07",
    "one-byte escape": "\x9b31m",
    "bell, backspace, delete": "\a\b\x7f",
    "carriage return": "good\rbad",
    "null": "a\0b",
    "override": "\u202egnp.exe",
    "isolate": "\u2066a\u2069",
    "mark": "\u200f",
    "joiner": "a\u200bb\ufeff",
    "separators": "a\u2028b\u2029c\x85d",
    "surrogate": "\udcff",
    "tag": "\U000e0041",
    "private": "\ue000",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_what_moves_a_cursor_or_hides_is_escaped(text: str):
    assert not text.isprintable()
    assert plain(text).isprintable()
    assert plain(text).isascii()


@given(st.text(st.characters()), st.integers(0, 50))
def test_any_text_becomes_one_printable_line_of_bounded_length(text: str, most: int):
    found = plain(text, most)

    assert found.isprintable()
    assert len(found) <= 10 * most + 1  # an escape has ten letters at most


@given(st.text(st.characters(categories=["L", "N", "P", "S"]), max_size=200))
def test_what_can_be_printed_stands_as_it_is(text: str):
    assert plain(text) == text


@given(st.text(st.characters()))
def test_plain_text_stays_plain(text: str):
    assert plain(plain(text, 50), 501) == plain(text, 50)


def test_a_long_text_is_cut_before_anything_else_is_done_with_it():
    class Counted(str):
        """Counts the letters that are looked at."""

        __slots__ = ()
        seen = 0

        def __getitem__(self, place):
            part = super().__getitem__(place)
            Counted.seen += len(part)
            return part

        def __iter__(self):
            raise AssertionError("the whole text was walked")

    assert plain(Counted("x" * 10_000_000), most=9) == "xxxxxxxxx…"
    assert Counted.seen == 9


def test_lines_stay_lines():
    assert plain_lines("a\n\tb\x1b\n" + "c" * 9, most=7) == "a\n    b\\x1b\nccccccc…"


def test_an_error_says_nothing_that_a_terminal_would_obey():
    error = StoreFailed("kernel \x1b[2J\x1b]8;;http://x\x07 \u202e", "rename \x9b it")

    assert str(error) == ("kernel \\x1b[2J\\x1b]8;;http://x\\x07 \\u202e\nFix: rename \\x9b it")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301  # our own


def test_an_error_that_quotes_a_long_name_stays_readable():
    assert len(str(StoreFailed(f"name {'x' * 10_000_000}", "shorten it"))) < 3000
    assert len(str(StoreFailed("x\n" * 5_000_000, "shorten it"))) < 110_000
