"""Expressions of others come to what Python says, and reach nothing else."""

import pickle
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.adapter.template.expressions import Expression, NoValue, literal
from vyre.errors import InvalidInput

NAMES = {"a": 3, "b": -4, "x": 0.5}
NUMBERS = st.sampled_from(["a", "b", "x", "1", "2", "7", "0.25", "True"])


@st.composite
def expressions(draw, depth=3):
    if depth == 0:
        return draw(NUMBERS)
    left, right = draw(expressions(depth=depth - 1)), draw(expressions(depth=depth - 1))
    shape = draw(
        st.sampled_from(
            [
                "({} {op} {})",
                "({} {cmp} {})",
                "({} and {})",
                "({} or {})",
                "(not {} and {})",
                "min({}, {})",
                "max({}, {})",
                "abs({} - {})",
                "({} if {} else 2)",
                "({} in (1, {}))",
            ]
        )
    )
    operator = draw(st.sampled_from(["+", "-", "*", "/", "//", "%"]))
    compare = draw(st.sampled_from(["<", "<=", "==", "!=", ">", ">="]))
    return shape.format(left, right, op=operator, cmp=compare)


@given(expressions())
def test_an_expression_comes_to_what_python_says(text):
    try:
        wanted = eval(text, {"__builtins__": {}, "min": min, "max": max, "abs": abs}, NAMES)  # noqa: S307  # our own text
    except ZeroDivisionError:
        with pytest.raises(NoValue, match="ZeroDivisionError"):
            Expression.of(text).value(NAMES)
        return

    found = Expression.of(text).value(NAMES)

    assert (type(found), found) == (type(wanted), wanted)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2 ** 5", 32),
        ("2 ** -1", 0.5),
        ("1 << 4 | 3", 19),
        ("~0 & 6 ^ 1", 7),
        ("ceil(7 / 2) + floor(2.5)", 6),
        ("math.ceil(7 / 2)", 4),
        ("prod([a, 2, 5])", 30),
        ("int(2.9) + round(2.4)", 4),
        ("0 < a < 4 < 5", True),
        ("0 < a > 4 > 1 / 0", False),
        ("a in [1, 3] and b not in {1, 3}", True),
        ("t == 'float'", True),
        ("-a + +a", 0),
        ("log2(8) == 3", True),
    ],
)
def test_it_knows_the_rest_of_pythons_operators(text, wanted):
    assert Expression.of(text).value({**NAMES, "t": "float"}) == wanted


def test_it_names_what_it_asks_for_once_each_and_travels():
    found = Expression.of(" b * a + b ")

    assert (found.text, found.names) == ("b * a + b", ("b", "a"))
    assert pickle.loads(pickle.dumps(found)).value(NAMES) == found.value(NAMES)  # noqa: S301  # our own


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "a.real",
        "a[0]",
        "[n for n in (1,)]",
        "lambda: 1",
        "f'{a}'",
        "a @ b",
        "(a := 1)",
        "open('x')",
        "min(*[1])",
        "min(1, key=a)",
        "os.ceil(1)",
        "None",
        "b'x'",
        "...",
    ],
)
def test_nothing_else_has_a_place_there(text):
    with pytest.raises(InvalidInput) as caught:
        Expression.of(text, "a restriction")

    assert caught.value.problem.startswith(f"a restriction, {text!r}, holds ")
    assert caught.value.fix.startswith("use numbers, texts, names, + - * / // % **, comparisons")


@pytest.mark.parametrize("text", ["", "a <", "a && b", "a = 1", "(" * 500, "1 +" * 200, "\0"])
def test_what_is_no_expression_is_said(text):
    with pytest.raises(InvalidInput) as caught:
        Expression.of(text)

    assert "is no expression of Python's" in caught.value.problem
    assert caught.value.fix == "write it as Python does: and, or, not, and == for equal"


def test_one_that_nests_as_deep_as_it_may_ends():
    text = "not " * 2_000 + "a"

    with pytest.raises((InvalidInput, NoValue)):
        Expression.of(text).value(NAMES)


def test_a_long_one_is_refused():
    with pytest.raises(InvalidInput) as caught:
        Expression.of("1" + " + 1" * 5_000)

    assert str(caught.value) == ("an expression of 20,001 letters\nFix: write it in at most 10,000")


@pytest.mark.parametrize(
    "text",
    [
        "2 ** 10 ** 9",
        "1 << 10 ** 9",
        "9 ** 999 * 9 ** 999 * 9 ** 999",
        "'a' * 10 ** 9",
        "(1,) * 9",
        "'a' + 'b'",
        "(-8) ** 0.5",
        "1.0 | 2",
        "a < 't'",
        "sqrt(-1)",
        "prod((10 ** 999, 10 ** 999))",
        "round(5, -(10 ** 9))",
        "round('a')",
        "round(2.5, 0.5)",
    ],
)
def test_what_would_take_long_or_has_no_value_says_so(text):
    with pytest.raises(NoValue):
        Expression.of(text).value(NAMES)


def test_a_number_is_rounded_to_digits_as_python_does():
    assert Expression.of("(round(2.567, 2), round(1250, -2), round(7, 3), round(3.5))").value(
        {}
    ) == (2.57, 1200, 7, 4)


def test_a_number_that_is_written_too_long_is_refused():
    with pytest.raises(InvalidInput) as caught:
        Expression.of(f"0x{'f' * 1_025} > 1", "a restriction")

    assert caught.value.problem.endswith("holds a whole number of more than 4096 bits")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[32, 64]", [32, 64]),
        ("(1, -2, 0.5)", [1, -2, 0.5]),
        ("['float', 'double']", ["float", "double"]),
        ("list(range(1, 9))", list(range(1, 9))),
        ("range(8, 0, -4)", [8, 4]),
        ("[2 ** 4, 16 * 2]", [16, 32]),
        ("[1, 2] + list(range(32, 64 + 33, 32))", [1, 2, 32, 64, 96]),
        ("[2 ** i for i in range(0, 3)] + [7]", [1, 2, 4, 7]),
        ("[i * 2 for i in (1, 2, 3) if i != 2 if i < 9]", [2, 6]),
    ],
)
def test_values_that_a_text_holds_are_read(text, wanted):
    assert list(literal(text, "values")) == wanted


@pytest.mark.parametrize(
    ("text", "problem", "fix"),
    [
        ("[x]", "values, 'x', names 'x'", "write the values out"),
        (
            "range('a')",
            "values, \"range('a')\", has no value: range() takes one to three whole numbers",
            "mend it",
        ),
        (
            "range(1, 2, 0)",
            "values, 'range(1, 2, 0)', has no value: range() arg 3 must not be zero",
            "mend it",
        ),
        (
            "list(range(10 ** 30))",
            "values, 'list(range(10 ** 30))', has no value: a list of more than 10,000 elements",
            "mend it",
        ),
        (
            "range(10001)",
            "values, 'range(10001)', has no value: a list of more than 10,000 elements",
            "mend it",
        ),
        ("[1] + 2", "values, '[1] + 2', has no value: '2' is no list", "mend it"),
        ("[j for i in (1,)]", "values, 'j', names 'j'", "write the values out"),
        (
            "[1 / 0]",
            "values, '[1 / 0]', has no value: ZeroDivisionError: division by zero",
            "mend it",
        ),
    ],
)
def test_what_holds_none_is_said(text, problem, fix):
    with pytest.raises(InvalidInput) as caught:
        literal(text, "values")

    assert (caught.value.problem, caught.value.fix) == (problem, fix)


def test_functions_that_are_listed_are_all_there():
    values = {"abs": "-1", "bool": "1", "gcd": "4, 6", "len": "(1,)", "sum": "(1, 2)", "sqrt": "4"}

    found = {name: Expression.of(f"{name}({given})").value({}) for name, given in values.items()}

    assert found == {"abs": 1, "bool": True, "gcd": 2, "len": 1, "sum": 3, "sqrt": 2.0}
    assert all(
        Expression.of(f"{a}({b}) == {a}({b})").value({})
        for a, b in product(values, ["1"])
        if a in ("abs", "bool")
    )
