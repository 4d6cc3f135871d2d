"""The configs that an author names, and what is refused of them."""

from itertools import count
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vyre
from vyre.adapter.configs import configs_of

NAMES = st.text("abc", min_size=1, max_size=3)
SETTINGS = st.integers(-9, 9) | st.booleans() | st.sampled_from(["fast", "small"])
CHOICES = st.dictionaries(
    NAMES, st.lists(SETTINGS, min_size=1, max_size=4, unique_by=repr), min_size=1, max_size=3
)


@given(CHOICES)
def test_choices_by_name_are_all_their_combinations_and_the_first_of_each_the_default(choices):
    found = configs_of(choices, "f")

    assert len(found) == len(set(found)) == prod(map(len, choices.values()))
    assert found[0] == vyre.Knobs.of({name: values[0] for name, values in choices.items()})
    for one in found:
        assert all(
            repr(setting) in map(repr, choices[name])
            for name, setting in dict(one.settings).items()
        )


@given(CHOICES)
def test_a_list_of_the_configs_is_the_same_space(choices):
    found = configs_of(choices, "f")

    assert configs_of([dict(one.settings) for one in found], "f") == found
    assert configs_of(found, "f") == found


def test_the_order_of_names_is_that_of_the_first():
    found = configs_of([{"a": 1, "b": 2}, {"b": 3, "a": 4}], "f")

    assert [one.text for one in found] == ["a=1, b=2", "a=4, b=3"]


@pytest.mark.parametrize(
    ("space", "said"),
    [
        (
            3,
            "a space of f that is 3\nFix: give choices by name, such as "
            '{"block": (64, 128)}, or a list of configs',
        ),
        (
            "block",
            "a space of f that is 'block'\nFix: give choices by name, such as "
            '{"block": (64, 128)}, or a list of configs',
        ),
        ({}, "a space of f without a config\nFix: name at least one"),
        ([], "a space of f without a config\nFix: name at least one"),
        (
            {"block": 64},
            "'block' of f may be 64, which is no list of choices\n"
            "Fix: give a list, such as {'block': [64]}",
        ),
        (
            {"how": "fast"},
            "'how' of f may be 'fast', which is no list of choices\n"
            "Fix: give a list, such as {'how': ['fast']}",
        ),
        ({"block": []}, "'block' of f without a choice\nFix: give at least one"),
        (
            {"a": range(1000), "b": range(1000)},
            "a space of f of 1,000,000 configs\n"
            "Fix: name at most 100,000, such as a list of those that may win",
        ),
        (
            {"block": (64, 64)},
            "a space of f that holds block=64 twice\nFix: give each config once",
        ),
        (
            [{"a": 1, "b": 2}, {"b": 2, "a": 1}],
            "a space of f that holds a=1, b=2 twice\nFix: give each config once",
        ),
        (
            [{"a": 1}, {"b": 1}],
            "configs of f that differ in their names: a=1, and b=1\n"
            "Fix: give every config all names",
        ),
        ([64, 128], 'a config of f that is 64\nFix: give one by name: {"block": 64}'),
        (
            {"block": [None]},
            "('block', None) among knobs\n"
            "Fix: give pairs of a name and a plain number of 64 bits, a text, or true or false",
        ),
    ],
)
def test_what_is_no_space_is_refused(space, said):
    with pytest.raises(vyre.InvalidInput) as caught:
        configs_of(space, "f")

    assert str(caught.value) == said


@pytest.mark.parametrize("choices", [range(10**12), count()])
def test_choices_without_end_are_refused(choices):
    with pytest.raises(vyre.InvalidInput) as caught:
        configs_of({"block": choices}, "f")

    assert str(caught.value) == (
        "'block' of f has more than 100,000 choices\nFix: name those that may win"
    )
