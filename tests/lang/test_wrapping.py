"""Differences of unsigned numbers: refused where they are taken for numbers that they are not."""

import random
import re
from collections.abc import Callable, Iterator
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from vyre import lang
from vyre.errors import LanguageError
from vyre.ir.expr import BinaryOp
from vyre.ir.walk import all_expressions

Written = Callable[..., Callable[..., None]]
Refusal = Callable[..., LanguageError]

HEAD = """def kernel(
    x: In[f32], y: In[u32], a: In[u8], b: In[u8], w: In[u64], z: InOut[f32], n: u32
):
    i = vyre.gid()
"""


def kernel(*lines: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in lines)


def signed(left: str, right: str, meant: str, kind: str = "i32") -> str:
    return (
        f"compute it in a signed type, for example {kind}({left}) - {right}, or write "
        f"vyre.wrap_sub({meant}) if it is meant to wrap"
    )


REFUSED = {
    # the line, what wraps, its type, what takes it for a number, the way out
    "z[i] = x[max(i - 1, 0)]": (
        "i - 1",
        "u32",
        "max()",
        "write vyre.sat_sub(i, 1), which stops at 0",
    ),
    "z[i] = x[max(0, i - 1)]": (
        "i - 1",
        "u32",
        "max()",
        "write vyre.sat_sub(i, 1), which stops at 0",
    ),
    "z[i] = x[vyre.clamp(i - 1, 0, n)]": (
        *("i - 1", "u32", "max()"),
        "write vyre.sat_sub(i, 1), which stops at 0",
    ),
    "z[i] = x[max(y[i] - n, 0)]": (
        *("y[i] - n", "u32", "max()"),
        "write vyre.sat_sub(y[i], n), which stops at 0",
    ),
    "z[i] = f32(abs(i - 2))": ("i - 2", "u32", "abs()", "write vyre.abs_diff(i, 2)"),
    "z[i] = f32(abs(y[i] - y[n]))": (
        "y[i] - y[n]",
        "u32",
        "abs()",
        "write vyre.abs_diff(y[i], y[n])",
    ),
    "z[i] = f32(vyre.sign(n - i))": ("n - i", "u32", "sign()", "write vyre.abs_diff(n, i)"),
    "if i - 2 < 0: z[i] = 1": ("i - 2", "u32", "< 0", "write i < 2"),
    "if i - 2 >= 0: z[i] = 1": ("i - 2", "u32", ">= 0", "write i >= 2"),
    "if 0 > i - 2: z[i] = 1": ("i - 2", "u32", "< 0", "write i < 2"),
    "if 0 <= i - n < 9: z[i] = 1": ("i - n", "u32", ">= 0", "write i >= n"),
    "if len(x) - i >= 0: z[i] = 1": ("len(x) - i", "u32", ">= 0", "write len(x) >= i"),
    "if i - 2 > 0: z[i] = 1": ("i - 2", "u32", "> 0", signed("i", "2", "i, 2")),
    "if i - 2 <= 4: z[i] = 1": ("i - 2", "u32", "<= 4", signed("i", "2", "i, 2")),
    "z[i] = f32(i - 2)": ("i - 2", "u32", "f32()", signed("i", "2", "i, 2")),
    "z[i] = f32(f64(i - 2))": ("i - 2", "u32", "f64()", signed("i", "2", "i, 2")),
    "z[i] = f32(i64(i - 2))": ("i - 2", "u32", "i64()", signed("i", "2", "i, 2")),
    "z[i] = f32(u64(i - 2))": ("i - 2", "u32", "u64()", signed("i", "2", "i, 2")),
    "z[i] = f32(2 * i - 1)": ("2 * i - 1", "u32", "f32()", signed("2 * i", "1", "2 * i, 1")),
    "z[i] = f32((i - 1) * 3 + 2)": ("i - 1", "u32", "f32()", signed("i", "1", "i, 1")),
    "z[i] = f32((i - 1) * max(n, 1))": ("i - 1", "u32", "f32()", signed("i", "1", "i, 1")),
    "z[i] = f32((i - 1) << 2)": ("i - 1", "u32", "f32()", signed("i", "1", "i, 1")),
    "z[i] = f32(-i)": (
        *("-i", "u32", "f32()"),
        "compute it in a signed type, for example -i32(i), or write vyre.wrap_sub(0, i) if it is "
        "meant to wrap",
    ),
    "z[i] = f32(a[i] - b[i])": (
        *("a[i] - b[i]", "u8", "f32()"),
        signed("a[i]", "i32(b[i])", "a[i], b[i]"),
    ),
    "z[i] = f32(i32(a[i] - b[i]))": (
        *("a[i] - b[i]", "u8", "i32()"),
        signed("a[i]", "i32(b[i])", "a[i], b[i]"),
    ),
    "z[i] = f32(abs(w[i] - w[n]))": (
        "w[i] - w[n]",
        "u64",
        "abs()",
        "write vyre.abs_diff(w[i], w[n])",
    ),
    "z[i] = f32(u64(i) - 2)": (
        "u64(i) - 2",
        "u64",
        "f32()",
        signed("u64(i)", "2", "u64(i), 2", "i64"),
    ),
    "z[i] = x[min(i - 1, 5)]": ("i - 1", "u32", "min()", signed("i", "1", "i, 1")),
    "z[i] = x[(i - 1) // 2]": ("i - 1", "u32", "//", signed("i", "1", "i, 1")),
    "z[i] = x[9 // (i - 1)]": ("i - 1", "u32", "//", signed("i", "1", "i, 1")),
    "z[i] = x[(i - 1) % 3]": ("i - 1", "u32", "%", signed("i", "1", "i, 1")),
    "z[i] = x[(i - 1) % n]": ("i - 1", "u32", "%", signed("i", "1", "i, 1")),
    "z[i] = x[(i - 1) >> 1]": ("i - 1", "u32", ">>", signed("i", "1", "i, 1")),
    "for k in range(i - 1): z[i] += 1": ("i - 1", "u32", "range()", signed("i", "1", "i, 1")),
    "for k in range(i - 2, i + 3): z[k] = 1": ("i - 2", "u32", "range()", signed("i", "2", "i, 2")),
    "for k in range(9): z[k] = f32(i + k - 4)": (
        *("i + k - 4", "u32", "f32()"),
        signed("i + k", "4", "i + k, 4"),
    ),
    "if i > 0: z[i] = f32(i - 2)": ("i - 2", "u32", "f32()", signed("i", "2", "i, 2")),
    "if x[i] > 0: z[i] = f32(i - 2)": ("i - 2", "u32", "f32()", signed("i", "2", "i, 2")),
    "if n > 3: z[i] = f32(i - 2)": ("i - 2", "u32", "f32()", signed("i", "2", "i, 2")),
    "z[i] = f32(i - 2) if n > i else 0": ("i - 2", "u32", "f32()", signed("i", "2", "i, 2")),
}


def lines_of(line: str) -> list[str]:
    head, colon, rest = line.partition(": ")
    return [f"{head}:", f"    {rest}"] if colon and head.startswith(("if", "for")) else [line]


@pytest.mark.parametrize("line", REFUSED)
def test_a_wrapped_difference_that_is_taken_for_a_number_is_refused(
    written: Written, refusal: Refusal, line: str
):
    what, dtype, use, fix = REFUSED[line]

    found = refusal(written(kernel(*lines_of(line))))

    certain = "may wrap" if re.search(r"\[|\bn\b|len", what) else "wraps"  # of data and sizes
    assert found.problem.splitlines()[0].partition(": ")[2] == (
        f"{what} {certain} around below 0, as it is {dtype}, and {use} takes it for a large number"
    )
    assert found.fix == fix


def test_the_line_is_shown_that_uses_it_and_the_one_named_that_subtracts(
    written: Written, refusal: Refusal
):
    found = refusal(written(kernel("j = i - 1", "k = j + 0", "z[i] = f32(k)")))

    assert str(found) == (
        "<cell 0>:7: i - 1 of line 5 wraps around below 0, as it is u32, and f32() takes it for a "
        "large number\n    z[i] = f32(k)\n           ^^^^^^\nFix: " + signed("i", "1", "i, 1")
    )


@pytest.mark.parametrize(
    "lines",
    [
        ["j = y[i]", "while j >= 0:", "    z[i] += 1", "    j -= 1"],
        ["j = y[i]", "while x[i] > 0:", "    j = j - 2", "    if j < 0:", "        break"],
        ["j = n", "for k in range(4):", "    z[i] = f32(abs(j))", "    j -= 1"],
    ],
)
def test_a_name_that_a_loop_counts_down_below_0_gets_a_signed_type(
    written: Written, refusal: Refusal, lines: list[str]
):
    found = refusal(written(kernel(*lines)))

    assert "wraps around below 0, as it is u32" in found.problem
    assert "j - " in found.problem


def test_an_augmented_difference_is_advised_where_its_name_begins(
    written: Written, refusal: Refusal
):
    found = refusal(written(kernel("j = y[i]", "while j >= 0:", "    j -= 1")))

    assert found.fix == "give j a signed type where it begins, for example j = i32(...)"


def test_a_difference_in_a_function_is_refused_at_its_own_line(written: Written, refusal: Refusal):
    function = "@vyre.function\ndef before(k):\n    return max(k - 1, 0)\n"

    found = refusal(written(function + kernel("z[i] = x[before(i)]")))

    assert str(found) == (
        "<cell 0>:3: k - 1 wraps around below 0, as it is u32, and max() takes it for a large "
        "number\n    return max(k - 1, 0)\n           ^^^^^^^^^^^^^\n"
        "    called from <cell 0>:8\nFix: write vyre.sat_sub(k, 1), which stops at 0"
    )


ACCEPTED = [
    "z[i] = x[i - 1] + x[i + 1]",
    "if i >= 2: z[i] = f32(i - 2) + f32(abs(i - 2))",
    "if not i < 2: z[i] = f32(abs(i - 2))",
    "if 1 < i: z[i] = f32(abs(i - 2))",
    "if i > 0 and x[i] > 0 and i < len(x) - 1: z[i] = f32(abs(i - 1))",
    "if n > 0 and i >= n: z[i] = f32(abs(i - n))",
    "if i != 0: z[i] = f32(abs(i - 1))",
    "if i == 5: z[i] = f32(abs(i - 5))",
    "z[i] = f32(abs(i - 1)) if i > 0 else 0",
    "z[i] = 0 if i == 0 else f32(max(i - 1, 0))",
    "if i > 0 and abs(i - 1) > 4: z[i] = 1",
    "if i == 0 or abs(i - 1) > 4: z[i] = 1",
    "for k in range(i): z[i] = f32(abs(i - k - 1))",
    "for k in range(2, n): z[i] = f32(abs(k - 2))",
    "z[i] = f32(abs(i - i % 4)) + f32(abs(i - i // 2)) + f32(abs(n - (n & 7)))",
    "z[i] = f32(abs(i - min(i, n))) + f32(abs(max(i, n) - n)) + f32(abs(max(i, 1) - 1))",
    "z[i] = f32(abs(255 - a[i])) + f32(abs(32 - vyre.popcount(n)))",
    "z[i] = f32(abs(vyre.extent() - 1 - i)) + f32(abs(vyre.extent() - 1))",
    "z[i] = f32(abs(i - 2 + 2))",
    "if y[i] >= y[n]: z[i] = f32(abs(y[i] - y[n]))",
    "z[i] = f32(i) / f32(len(x) - 1)",
    "z[i] = f32(n - 1) + f32(len(x) - i) + f32(n - i)",
    "z[i] = f32(y[i + 1] - y[i])",
    "z[i] = f32(i * (i - 1) // 2)",
    "z[i] = f32((i + n - 1) // max(n, 1)) + f32((i + 3) // 4)",
    "z[i] = x[min(i + 1, len(x) - 1)] + x[max(n, 1) - 1]",
    "if i - 1 < len(x) and n - 4 < i: z[i] = 1",
    "if i - 1 == n or i - 1 != 4: z[i] = 1",
    "z[i] = x[(i - 1) % 8] + x[(i - 1) & 7] + x[(i - 1) ^ 3]",
    "z[i] = f32(i32(i) - 2) + f32(i32(i - 2)) + f32(abs(i32(i) - 2))",
    "z[i] = f32(vyre.abs_diff(i, 2)) + x[vyre.sat_sub(i, 1)]",
    "z[i] = f32(vyre.wrap_sub(i, 7) >> 3) + f32(vyre.wrap_sub(0, i))",
    "z[i] = f32(u8(i - 2)) + f32(u32(i32(i) - 2))",
    "if x[i] > 0: z[i] = f32(y[i] - 3)",
    "if i % 2 == 1: z[i] = f32(i - 1)",
    "for k in range(9, 0, -1): z[k] = f32(k - 1)",
    "for k in range(len(x) - 1): z[k] = 1",
]


@pytest.mark.parametrize("line", ACCEPTED)
def test_what_is_right_or_may_be_is_accepted(written: Written, line: str):
    lang.translate(written(kernel(*lines_of(line))))


@pytest.mark.parametrize(
    "lines",
    [
        ["if i < 2:", "    return", "z[i] = f32(abs(i - 2))"],
        ["if i >= 2:", "    z[i] = 1", "else:", "    return", "z[i] = f32(abs(i - 2))"],
        ["for k in range(n):", "    if k == 0:", "        continue", "    z[k] = f32(abs(k - 1))"],
        ["j = y[i]", "while j > 0:", "    j -= 1", "    z[j] = f32(j)"],
        ["j = n", "if n > 2:", "    j = n - 2", "z[i] = f32(abs(j))"],
        ["j = i - 1", "j = i", "z[i] = f32(j)"],
        ["h = y[i] - 7", "h ^= h >> 13", "h = (h - n) * 5", "z[i] = f32(h % 97)"],
        ["inside = i > 1", "if inside:", "    z[i] = f32(i - 2)"],
        ["m = 0", "if i > 1:", "    m = 1", "if m == 1:", "    z[i] = f32(i - 2)"],
    ],
)
def test_branches_and_assignments_before_it_count(written: Written, lines: list[str]):
    lang.translate(written(kernel(*lines)))


def test_a_position_in_a_workgroup_ends_with_it(written: Written, refusal: Refusal):
    lines = ["lane = vyre.local_id()", "z[i] = f32(abs(63 - lane))"]

    lang.translate(written(kernel(*lines)), workgroup=64)
    assert "63 - lane" in refusal(written(kernel(*lines)), workgroup=128).problem


def test_wrap_sub_is_a_difference_that_may_wrap(written: Written):
    found = lang.translate(written(kernel("z[i] = f32(vyre.wrap_sub(i, 1) >> 31)"))).program

    ops = {expr.op for expr in all_expressions(found.entry) if hasattr(expr, "op")}
    assert BinaryOp.WRAP_SUB in ops


# -- against Python, whose numbers do not wrap


class Author:
    """Writes a use of a number by chance, under conditions by chance."""

    def __init__(self, seed: int, *, only_sums: bool = False) -> None:
        self.chance, self.only_sums = random.Random(seed), only_sums

    def number(self, depth: int = 3) -> str:
        if depth == 0 or self.chance.random() < 0.3:
            return self.chance.choice(["i", "i", "k", "n", "y[i]"])
        a, b = self.number(depth - 1), self.number(depth - 1)
        c = self.chance.randrange(1, 4)
        made = [f"({a} - {c})", f"({a} - {c})", f"({a} + {c})", f"({a} - {b})", f"({a} + {b})"]
        made += [f"{a} * {self.chance.randrange(3)}"]
        parts = [f"({a} // 2)", f"({a} % 3)", f"min({a}, {b})", f"max({a}, {b})"]
        parts += [f"({a} if {self.test(depth - 1)} else {b})"]
        return self.chance.choice(made if self.only_sums else [*made, *parts])

    def test(self, depth: int = 2) -> str:
        if depth > 1 and self.chance.random() < 0.3:
            word = self.chance.choice(["and", "or"])
            return f"({self.test(depth - 1)} {word} {self.test(depth - 1)})"
        sign = self.chance.choice(["<", "<=", ">", ">=", "==", "!="])
        inner = min(depth, 1)
        other = self.chance.choice([self.number(inner), str(self.chance.randrange(4))])
        # A comparison of what has wrapped may say something else than Python's.
        text = f"{self.number(inner)} {sign} {other}".replace(" - ", " + ")
        return f"(not {text})" if self.chance.random() < 0.2 else f"({text})"

    def kernel(self, use: str) -> str:
        lines = [HEAD.rstrip(), "    for k in range(u32(0), u32(3)):"]
        if self.chance.random() < 0.5:
            lines += [f"        if {self.test()}:", "            continue"]
        pad = "        "
        if self.chance.random() < 0.5:
            lines.append(f"{pad}if {self.test()}:")
            pad += "    "
        lines.append(f"{pad}j = {self.number()}")
        lines.append(f"{pad}z[i] = {use.format(self.chance.choice(['j', self.number()]))}")
        return "\n".join(lines) + "\n"


def uses(source: str, word: str) -> Iterator[int]:
    """What Python hands to the function `word` in the kernel, for a few launches."""
    seen: list[int] = []
    names = {"f32": float, "u32": int, "abs": abs}
    names[word] = lambda value: seen.append(value) or 0
    code = compile("from __future__ import annotations\n" + source, "<kernel>", "exec")
    scope: dict[str, Any] = {"vyre": SimpleNamespace(), **names}
    exec(code, scope)  # noqa: S102  # the test's own text
    for n, value, i in product(range(7), range(7), range(6)):
        scope["vyre"].gid = lambda i=i: i
        scope["kernel"](x=[], y=[value] * 6, a=[], b=[], w=[], z={}, n=n)
    yield from seen


def translated(written: Written, source: str) -> LanguageError | None:
    try:
        lang.translate(written(source))
    except LanguageError as error:
        return error
    return None


@pytest.mark.parametrize("seed", range(8))
def test_what_is_accepted_of_abs_is_never_below_0(written: Written, seed: int):
    author, count = Author(seed), 0

    for _ in range(150):
        source = author.kernel("f32(abs({}))")
        if translated(written, source) is None:
            count += " - " in source
            assert min(uses(source, "abs"), default=0) >= 0, source

    assert count > 5, "too few of them are accepted to say anything"


@pytest.mark.parametrize("seed", range(8))
def test_what_is_refused_of_a_float_is_below_0_where_it_is_reached(written: Written, seed: int):
    author, count = Author(seed, only_sums=True), 0

    for _ in range(300):
        source = author.kernel("f32({})")
        found = translated(written, source)
        if found is not None and "and f32() takes it" in found.problem:
            count += 1
            assert min(uses(source, "f32"), default=-1) < 0, source

    assert count > 5, "too few of them are refused to say anything"
