import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.errors import StoreFailed
from vyre.store.exchange.text import Statement, key_of, parse, quoted, statements

TEXT = """# a note
a = [
  1, # one ]
  "]",
]

"b # c" = 'd # e'
f.g = {h = "}"}  # a remark
i = \"\"\"
[not a table]
x = 1\"\"\"

[table]
j = '''
'''
"""


def test_statements_know_their_lines():
    found = list(statements(TEXT))

    assert [(item.line, item.text.partition("\n")[0]) for item in found] == [
        (1, "# a note"),
        (2, "a = ["),
        (7, "\"b # c\" = 'd # e'"),
        (8, 'f.g = {h = "}"}  # a remark'),
        (9, 'i = """'),
        (13, "[table]"),
        (14, "j = '''"),
    ]


def test_statements_without_a_last_newline_and_with_windows_newlines_are_found():
    assert list(statements("a = 1\r\n\r\nb = 2")) == [Statement(1, "a = 1"), Statement(3, "b = 2")]
    assert list(statements("\n\n")) == []


def test_a_statement_gives_its_key():
    keys = [key_of(item) for item in statements(TEXT)]

    assert keys == [None, "a", "b # c", None, "i", None, "j"]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_quoted_text_comes_back(text: str):
    assert tomllib.loads(f"{quoted(text)} = {quoted(text)}") == {text: text}


def test_text_that_needs_no_escape_stands_as_it_is():
    assert quoted("v1-00ff größe") == '"v1-00ff größe"'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a = 1\nb =", "Invalid value (at end of document)"),
        ("a = 1\na = 2\n", "Cannot overwrite a value (at line 2, column 6)"),
    ],
)
def test_what_is_not_toml_is_refused_with_its_place(text: str, reason: str):
    with pytest.raises(StoreFailed) as caught:
        parse(text, Path("x.toml"))

    assert str(caught.value) == (
        f"x.toml is not TOML: {reason}\n"
        "Fix: mend that place, or move the file away; it is left as it is"
    )


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a = " + "9" * 5000])
def test_text_that_strains_the_parser_is_refused(text: str):
    with pytest.raises(StoreFailed, match=r"^x.toml is not TOML: "):
        parse(text, Path("x.toml"))
