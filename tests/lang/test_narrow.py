"""Open variables and 8- or 16-bit numbers: nothing is cut short that nobody asked to be."""

from collections.abc import Callable

import numpy as np
import pytest

from vyre.errors import LanguageError

Written = Callable[..., Callable[..., None]]
Refusal = Callable[..., LanguageError]

HEAD = "def kernel(x: In[f32], b: In[u8], r: {out}[{kind}]):\n    i = vyre.gid()\n"


def kernel(*lines: str, kind: str = "u8", out: str = "Out") -> str:
    return HEAD.format(kind=kind, out=out) + "".join(f"    {line}\n" for line in lines)


GROWING = {
    "counted up": ["n = 0", "for k in range(300):", "    n += 1", "r[i] = n"],
    "counted up after the store": ["n = 0", "for k in range(300):", "    r[i] = n", "    n += 1"],
    "counted down": ["n = 0", "while x[i] > 0:", "    n -= 1", "r[i] = n"],
    "multiplied": ["n = 1", "while x[i] > 0:", "    n = 2 * n", "r[i] = n"],
    "shifted": ["n = 1", "while x[i] > 0:", "    n <<= 1", "r[i] = n"],
    "negated": ["n = 1", "if x[i] > 0:", "    n = -n", "r[i] = n"],
    "one of two": ["a, n = 0, 1", "while x[i] > 0:", "    a, n = n, a + n", "r[i] = n"],
    "computed in one branch": ["n = 1", "n = n + 1 if x[i] > 0 else n", "r[i] = n"],
    "changed in its loop": ["for n in range(9):", "    n += 1", "    r[i] = n"],
}


@pytest.mark.parametrize("kind", ["u8", "i8", "u16", "i16"])
@pytest.mark.parametrize("what", GROWING)
def test_a_variable_that_is_computed_with_takes_no_small_type_from_a_store(
    written: Written, refusal: Refusal, what: str, kind: str
):
    found = refusal(written(kernel(*GROWING[what], kind=kind)))

    bits = kind[1:]
    assert found.problem.splitlines()[0].partition(": ")[2] == (
        f"n would be {kind} as r[i] is, and what it counts up to may not fit"
    )
    assert found.fix == (
        f"write {kind}(n) to keep the low {bits} bits, or say it where it begins, for example "
        f"n: {kind} = 0"
    )


@pytest.mark.parametrize(
    ("lines", "out"),
    [
        (["n = 0", "n += 1", "m = n", "r[i] = m"], "Out"),
        (["n = 0", "n += 1", "r[i] += n"], "InOut"),
        (["n = 0", "n += 1", "r[i] = n if x[i] > 0 else 0"], "Out"),
        (["n = 0", "n += 1", "r[i] = n + 1"], "Out"),
    ],
)
def test_it_does_not_take_one_through_another_name_or_operator_either(
    written: Written, refusal: Refusal, lines: list[str], out: str
):
    found = refusal(written(kernel(*lines, out=out)))

    assert "n would be u8 as" in found.problem


def test_what_a_function_counts_is_no_small_number_either(written: Written, refusal: Refusal):
    function = "@vyre.function\ndef count(v):\n    n = 0\n    n += 1\n    return n\n"

    found = refusal(written(function + kernel("r[i] = count(x[i])")))

    assert "n would be u8 as r[i] is" in found.problem


@pytest.mark.parametrize(("value", "most"), [("k * 2", 508), ("k + 2", 256), ("k - 1", -1)])
def test_a_number_of_a_loop_is_stored_where_all_of_it_fits(
    written: Written, refusal: Refusal, value: str, most: int
):
    found = refusal(written(kernel("for k in range(255):", f"    r[i] = {value}")))

    assert f": {value} may be {most}, and r[i] is u8\n" in found.problem
    assert found.fix == f"write u8({value}) to keep the low 8 bits"


@pytest.mark.parametrize(
    ("value", "most"),
    [("SMALL[i] * 100", 900), ("SMALL[i] - 2", -1), ("(3 if x[i] > 0 else 4) * 100", 400)],
)
def test_a_number_of_a_table_is_stored_where_all_that_is_made_of_them_fits(
    written: Written, refusal: Refusal, value: str, most: int
):
    found = refusal(written(kernel(f"r[i] = {value}"), SMALL=(1, 9, 4)))

    assert f": {value} may be {most}, and r[i] is u8\n" in found.problem
    assert found.fix == f"write u8({value}) to keep the low 8 bits"


@pytest.mark.parametrize(
    "value", ["SMALL[i]", "SMALL[i] * 20", "SMALL[i] ^ 3", "SMALL[i] * 99 & 7"]
)
def test_what_is_made_of_a_table_and_may_fit_is_stored(
    written: Written, run: Callable[..., None], value: str
):
    result = np.zeros(1, np.uint8)
    made = written(kernel(f"r[i] = {value}"), SMALL=(9, 1, 4))
    run(made, x=np.ones(1, np.float32), b=np.full(1, 7, np.uint8), r=result)

    assert result[0] == eval(value, {"SMALL": (9, 1, 4), "i": 0})  # noqa: S307  # the test's own


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["hit = 0", "if x[i] > 0:", "    hit = 1", "r[i] = hit"], 1),
        (["r[i] = 3 if x[i] > 0 else 4"], 3),
        (["n: u8 = 0", "for k in range(300):", "    n += 1", "r[i] = n"], 44),
        (["n = 0", "for k in range(300):", "    n += 1", "r[i] = u8(n)"], 44),
        (["n = 0", "for k in range(3):", "    n += b[i]", "r[i] = n"], 21),
        (["best = 0", "if b[i] > best:", "    best = b[i]", "r[i] = best"], 7),
        (["for k in range(255):", "    r[i] = k"], 254),
        (["for k in range(16):", "    r[i] = k * k + 5"], 230),
        (["for k in range(200):", "    r[i] = k // 2 + k % 7 + (k & 3) + (k >> 3)"], 129),
        (["for k in range(200):", "    r[i] = k // 2 * 2 + 1"], 199),
        (["for k in range(9, 0, -1):", "    r[i] = max(k, 3)"], 3),
    ],
)
def test_what_fits_or_is_said_to_be_small_is_stored(
    written: Written, run: Callable[..., None], lines: list[str], expected: int
):
    made = written(kernel(*lines))
    result = np.zeros(1, np.uint8)

    run(made, x=np.ones(1, np.float32), b=np.full(1, 7, np.uint8), r=result)

    assert result.tolist() == [expected]


def test_a_range_up_to_an_open_variable_may_be_anything(written: Written, refusal: Refusal):
    kernel = written(
        "def kernel(r: Out[u8]):\n    n = 5\n    for k in range(n):\n        r[k] = k + 1\n"
    )

    assert str(refusal(kernel)) == (
        "<cell 0>:4: k + 1 may not fit, and r[k] is u8\n"
        "    r[k] = k + 1\n"
        "           ^^^^^\n"
        "Fix: write u8(k + 1) to keep the low 8 bits"
    )
