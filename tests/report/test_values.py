import json
from math import isfinite

from hypothesis import given
from hypothesis import strategies as st

from vyre.report.values import to_json

scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters()))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(st.characters()), inner)),
    max_leaves=20,
)


def refuse(word: str) -> None:
    raise ValueError(word)


def without_what_is_no_number(value: object) -> object:
    match value:
        case float():
            return value if isfinite(value) else None
        case list():
            return [without_what_is_no_number(part) for part in value]
        case dict():
            return {key: without_what_is_no_number(part) for key, part in value.items()}
    return value


@given(values, st.sampled_from([None, 2]))
def test_any_value_becomes_json_that_can_be_shown_and_comes_back(value, indent):
    text = to_json(value, indent=indent)

    assert all(line.isprintable() for line in text.split("\n"))
    assert json.loads(text, parse_constant=refuse) == without_what_is_no_number(value)
