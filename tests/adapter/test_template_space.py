"""The space is all combinations that its restrictions allow, and what they cut is counted."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.adapter import configs
from vyre.adapter.template import space
from vyre.adapter.template.space import space_of
from vyre.errors import InvalidInput
from vyre.model import Knobs

NAMES = ("a", "b", "c", "d")
EXPRESSIONS = (
    *("a * b <= 12", "a < b or c == 2", "(a + b) % c == 0", "d in (1, 3)", "c ** 2 > a"),
    *("a == b == c", "max(a, d) >= min(b, c)", "not a == d", "a // c + b % c != 1"),
)
CHOICES = st.fixed_dictionaries(
    {name: st.lists(st.integers(1, 8), min_size=1, max_size=4, unique=True) for name in NAMES}
)


def refused(*given):
    with pytest.raises(InvalidInput) as caught:
        space_of(*given, "f")
    return str(caught.value)


@given(CHOICES, st.lists(st.sampled_from(EXPRESSIONS), unique=True, max_size=4))
def test_the_space_is_the_product_of_which_python_keeps_the_same(choices, restrictions):
    rows = [dict(zip(choices, row, strict=True)) for row in product(*choices.values())]
    wanted = [
        row
        for row in rows
        if all(eval(one, {"max": max, "min": min}, row) for one in restrictions)  # noqa: S307  # our own text
    ]
    if not wanted:
        assert "leave no config" in refused(choices, restrictions)
        return

    found = space_of(choices, restrictions, "f")

    assert [dict(one.settings) for one in found.configs] == wanted
    assert found.whole == len(rows)
    assert sum(found.left_out.values()) == len(rows) - len(wanted)
    assert found.names == tuple(choices)


def test_what_a_restriction_cuts_is_never_looked_at():
    asked = []

    def small(a, b):
        asked.append((a, b))
        return a * b <= 2

    choices = {"a": range(1, 101), "b": range(1, 101), "c": range(100), "d": range(100)}
    found = space_of(choices, [small, "c < 1", "d < 1"], "f")

    assert len(asked) == 10_000
    assert [one.text for one in found.configs] == [
        *("a=1, b=1, c=0, d=0", "a=1, b=2, c=0, d=0", "a=2, b=1, c=0, d=0"),
    ]
    assert found.left_out == {"small": 9_997 * 10_000, "c < 1": 3 * 99 * 100, "d < 1": 3 * 99}


def test_what_a_function_has_defaults_for_is_no_parameter_unless_it_is_called_one():
    most = 2
    asked = [
        lambda a, limit=most: a < limit,
        lambda config, limit=most: config["a"] < limit,
        lambda limit=most, *, a=9: a < limit,
    ]

    for one in asked:
        assert len(space_of({"a": (1, 2), "b": (1, 2)}, one, "f").configs) == 2
    assert len(space_of({"a": (1, 2)}, lambda config=None: config["a"] < most, "f").configs) == 1


def test_functions_are_asked_about_a_config_or_about_parameters_by_name():
    def whole(config):
        return config["a"] + config["b"] == 3

    found = space_of({"a": (1, 2, 3), "b": (1, 2)}, [whole, lambda b: b < 2], "f")

    assert [one.text for one in found.configs] == ["a=2, b=1"]
    assert found.left_out == {"whole": 4, "<lambda>": 1}


def test_one_restriction_need_not_be_in_a_list():
    assert len(space_of({"a": (1, 2)}, "a < 2", "f").configs) == 1
    assert len(space_of({"a": (1, 2)}, lambda a: a < 2, "f").configs) == 1
    assert len(space_of({"a": (1, 2)}, None, "f").configs) == 2


def test_no_parameter_is_one_config():
    assert space_of({}, (), "f").configs == (Knobs(()),)


def test_numbers_of_numpys_are_plain_ones_and_values_keep_their_types():
    found = space_of({"a": np.array([1, 2]), "b": (1, True, 1.0, "1")}, (), "f")

    assert [type(one["a"]) for one in found.configs] == [int] * 8
    assert [one["b"] for one in found.configs[:4]] == [1, True, 1.0, "1"]


@pytest.mark.parametrize(
    ("params", "restrictions", "message"),
    [
        (
            {"a": (1, 2)},
            "b < 2",
            "a restriction of f, 'b < 2', names 'b', which is no parameter\nFix: name some of a",
        ),
        (
            {"a": (1, 2)},
            "1 < 2",
            "a restriction of f, '1 < 2', names none\nFix: name some of a",
        ),
        (
            {},
            "1 < 2",
            "a restriction of f, '1 < 2', names none\nFix: leave it out: there are no parameters",
        ),
        (
            {"a": (1, 2)},
            ["a < 2", "a > 1"],
            "the restrictions of f leave no config of 2 (a < 2: 1, a > 1: 1)\n"
            "Fix: loosen one of them, or offer other choices",
        ),
        (
            {"a": (1, 0)},
            "4 % a == 0",
            "a restriction of f, '4 % a == 0', has no answer for a=0: ZeroDivisionError: integer "
            "modulo by zero\n"
            "Fix: mend it, or leave out the choices that it cannot be asked about",
        ),
        (
            {"a": (1,)},
            lambda config: config["b"],
            "a restriction of f, '<lambda>', has no answer for a=1: KeyError: 'b'\n"
            "Fix: mend it, or leave out the choices that it cannot be asked about",
        ),
        (
            {"a": (1,)},
            lambda a, other: a < other,
            "a restriction of f, <lambda>(a, other), takes more than parameters\n"
            "Fix: let it take a configuration as a dictionary, or name some of a",
        ),
        (
            {"a": (1,)},
            [7],
            "a restriction of f that is 7\n"
            'Fix: give an expression, such as "block_size_x * VW <= 1024", or a function',
        ),
        ({"a": (1, 1)}, (), "'a' of f has one choice twice\nFix: give each once"),
        ({"a": ()}, (), "'a' of f without a choice\nFix: give at least one"),
        (
            {"a": "xy"},
            (),
            "'a' of f may be 'xy', which is no list of choices\n"
            "Fix: give a list, such as {'a': ['xy']}",
        ),
        (
            [1],
            (),
            "params of f that are [1]\n"
            'Fix: give choices by name, such as {"block_size_x": [64, 128]}',
        ),
        (
            {"a": (None,)},
            (),
            "('a', None) among knobs\n"
            "Fix: give pairs of a name and a plain number of 64 bits, a text, or true or false",
        ),
    ],
)
def test_what_is_no_space_is_said(params, restrictions, message):
    assert refused(params, restrictions) == message


def test_a_space_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(space, "MOST_CONFIGS", 10)
    monkeypatch.setattr(space, "MOST_LOOKED", 60)

    assert configs.MOST_CONFIGS == 100_000
    assert refused({"a": range(4), "b": range(4)}, ()) == (
        "a space of f of more than 10 configs\n"
        "Fix: restrict it to at most 10, or offer fewer choices"
    )
    assert refused({"a": range(9), "b": range(9)}, "b < 0") == (
        "a space of f of 81 combinations, of which more than 60 had to be looked at\n"
        "Fix: offer fewer choices, or restrict those that come first by expressions"
    )
