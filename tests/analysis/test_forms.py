"""Polynomials over a launch's numbers, and the linear forms made of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.analysis.forms import ONE, ZERO, Counter, Gid, Linear, Poly, Symbol
from vyre.ir import DataType

SYMBOLS = (
    *(Symbol("extent", axis=0), Symbol("len", "x")),
    *(Symbol("dim", "x", 1), Symbol("scalar", "n")),
)


class Numbers:
    def __init__(self, *values: int) -> None:
        self.values = dict(zip(SYMBOLS, values, strict=True))

    def value(self, symbol: Symbol) -> int:
        return self.values[symbol]


def combined(parts: tuple[Poly, Poly, str]) -> Poly:
    a, b, sign = parts
    return {"+": a + b, "-": a - b, "*": a * b}[sign]


polys = st.recursive(
    st.integers(-9, 9).map(Poly.of) | st.sampled_from(SYMBOLS).map(Poly.of),
    lambda inner: st.tuples(inner, inner, st.sampled_from("+-*")).map(combined),
    max_leaves=8,
)
numbers = st.tuples(*[st.integers(-99, 99)] * len(SYMBOLS)).map(lambda values: Numbers(*values))


@given(polys, polys, numbers)
def test_sums_and_products_commute_with_taking_a_launchs_numbers(a, b, launch):
    assert (a + b).at(launch) == a.at(launch) + b.at(launch)
    assert (a - b).at(launch) == a.at(launch) - b.at(launch)
    assert (a * b).at(launch) == a.at(launch) * b.at(launch)
    assert (-a).at(launch) == -a.at(launch)


@given(polys, polys)
def test_equal_polynomials_are_equal_values(a, b):
    assert a + b == b + a
    assert a * b == b * a
    assert (a - a, (a - a).constant) == (ZERO, 0)
    assert a * ONE == a


@pytest.mark.parametrize(
    ("poly", "text"),
    [
        (ZERO, "0"),
        (Poly.of(-3), "-3"),
        (Poly.of(SYMBOLS[0]), "extent(0)"),
        (Poly.of(SYMBOLS[1]) * Poly.of(2) - ONE, "-1 + 2*len(x)"),
        (Poly.of(SYMBOLS[2]) * Poly.of(SYMBOLS[3]), "x.shape[1]*n"),
    ],
)
def test_a_polynomial_reads_as_a_user_would_write_it(poly, text):
    assert str(poly) == text


def test_only_a_plain_number_is_constant():
    assert Poly.of(4).constant == 4
    assert Poly.of(SYMBOLS[0]).constant is None
    assert (Poly.of(SYMBOLS[0]) + ONE).constant is None


def test_a_form_reads_as_a_user_would_write_it():
    k = Counter("k", ZERO, Poly.of(4), DataType.U32)
    form = Linear({Gid(0): ONE, k: Poly.of(SYMBOLS[3])}, Poly.of(7), DataType.U32)

    assert str(form) == "gid(0) + (n)*k + 7"
    assert str(form.combine(form, -1)) == "0"
    assert form.times(ZERO) == Linear.uniform(ZERO, DataType.U32)


@pytest.mark.parametrize(
    ("dtype", "start", "stop", "bounds"),
    [
        (DataType.U32, 0, 5, (0, 5)),
        (DataType.U32, 0, -1, None),
        (DataType.U32, 1 << 32, (1 << 32) + 2, None),
        (DataType.I32, -3, 5, (-3, 5)),
        (DataType.I32, 0, 1 << 31, None),
        (DataType.U8, 0, 256, None),
        (DataType.U64, 0, 1 << 32, (0, 1 << 32)),
    ],
)
def test_a_counters_ends_are_known_unless_they_wrapped(dtype, start, stop, bounds):
    counter = Counter("k", Poly.of(start), Poly.of(stop), dtype)

    assert counter.bounds(Numbers(0, 0, 0, 0)) == bounds
