"""What stands in a source, whatever its comments and quotes hold."""

import pytest

from vyre.adapter.reading.sources import bare


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a; // b", "a;"),
        ("a; /* b\n c */ d;", "a; d;"),
        ("a; // b \\\n c\nd;", "a; d;"),
        ("a; /* b", "a;"),
        ('p("// b"); c', 'p(""); c'),
        ('p("/*"); c; p("*/")', 'p(""); c; p("")'),
        (r'p("a\"b"); c', 'p(""); c'),
        ('p(R"(a " b)"); c', 'p(""); c'),
        ('p(u8R"x(a )" b)x"); c', 'p(""); c'),
        ('FOOR"(a"; b', 'FOOR""; b'),
        ("c = '\"'; d = '\"';", "c = 0; d = 0;"),
        (r"c = '\''; d", "c = 0; d"),
        ("c = u8'a'; d", "c = u80; d"),
        ("n = 1'000; t = thread; c = 'x';", "n = 1'000; t = thread; c = 0;"),
        ("n = 0x1'F; t", "n = 0x1'F; t"),
        ("n = .5f; t", "n = .5f; t"),
        ("a /\\\n/ b\nc", "a c"),
        (r"'\n' a", "0 a"),
    ],
)
def test_what_stands_in_comments_and_quotes_is_left_out_and_nothing_else(text, words):
    assert bare(text).split() == words.split()
