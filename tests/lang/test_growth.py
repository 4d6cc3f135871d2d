"""How the work of translating grows with a kernel: with its lines, and no faster."""

import sys
from collections.abc import Callable
from functools import partial

import pytest

from vyre import lang
from vyre.ir.validate import check
from vyre.ir.walk import MAX_DEPTH, size_of

pytestmark = pytest.mark.slow

HEAD = "def kernel(x: In[f32], out: Out[f32]):\n    i = vyre.gid()\n    s = x[i]\n"
END = "    out[i] = s\n"


def lines(count: int, line: str) -> str:
    """A kernel that has a line again and again, `K` being its number and `J` the one before."""
    made = (line.replace("K", str(k)).replace("J", str(k - 1)) for k in range(1, count + 1))
    return HEAD + "".join(made) + END


SHAPES = {
    "a chain of values": "    s = s * x[i + K] + 1.5\n",
    "a name each": "    vK = x[i] * K\n    s += vK\n",
    "a name of open type each": "    vK = 0\n    vK += x[i]\n",
    "branches": "    if x[i] > K:\n        s += K\n",
    "names that branches bind": (
        "    if x[i] > K:\n        vK = 1.0\n    else:\n        vK = x[i]\n    s += vK\n"
    ),
    "names that branches bind and change": (
        "    if x[i] > K:\n        v = 1.0\n    else:\n        v = x[i]\n"
        "    if v > K:\n        v = 2.0\n    else:\n        v = s\n    s += v\n"
    ),
    "loops": "    for k in range(4):\n        t = x[i + k]\n        s += t\n",
    "while loops": "    nK = 0\n    while nK < 4:\n        nK += 1\n        s += x[nK]\n",
    "calls": "    s = f(s, x[i])\n",
    "calls that return early": "    s = g(s, K)\n",
    "conditions": "    s = s if x[i] > K and x[i + K] < 0 else x[K]\n",
}
FUNCTIONS = """@vyre.function
def f(v, w):
    t = v * w
    if t > 2:
        return t
    return t + 1
@vyre.function
def g(v, w):
    if v > 1:
        v = v + 1
        if v > w:
            return v
    t = v + 2
    return t
"""


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_lines_are_twice_the_work(written, lines_run, shape):
    small, large = (written(FUNCTIONS + lines(count, SHAPES[shape])) for count in (60, 120))

    less, more = (lines_run(partial(lang.translate, kernel)) for kernel in (small, large))

    assert more < 2.4 * less


def test_a_type_reaches_a_whole_chain_of_variables_in_one_pass(written, lines_run):
    """The last line says what all of them are: a pass for each would take a hundred."""

    def chain(count: int) -> Callable[..., None]:
        names = "".join(f"    v{k} = v{k - 1}\n" for k in range(1, count))
        last = f"v{count - 1}"
        return written(f"{HEAD}    v0 = 0\n{names}    {last} += s\n    out[i] = {last}\n")

    less, more = (lines_run(partial(lang.translate, chain(count))) for count in (60, 120))

    assert more < 2.4 * less


@pytest.mark.parametrize(
    "long",
    [
        " + ".join(f"x[i + {k}]" for k in range(450)),
        f"max({', '.join(f'x[i + {k}]' for k in range(3_000))})",
        f"1 if {' and '.join(f'x[i + {k}] > 0' for k in range(3_000))} else 0",
        f"1 if {' or '.join(f'x[i + {k}] > 0' for k in range(3_000))} else 0",
        f"1 if {' < '.join(f'x[i + {k}]' for k in range(3_000))} else 0",
    ],
    ids=["sum", "max", "and", "or", "comparison"],
)
def test_a_long_expression_is_split_so_that_it_is_not_deep(written, long):
    found = lang.translate(written(f"{HEAD}    out[i] = {long}\n")).program

    check(found)
    assert size_of(found.entry).depth < MAX_DEPTH / 2


def doubled(argument: str) -> str:
    return f"{HEAD}    out[i] = {'d(' * 60}{argument}{')' * 60} * s\n"


@pytest.mark.parametrize("argument", ["s", "1 if s > 0 else 2", "n", "n + 1"])
def test_a_functions_argument_is_computed_once_however_often_it_is_used(written, argument):
    function = "@vyre.function\ndef d(v):\n    return v + v\n"
    source = function + doubled(argument).replace("    s = x[i]\n", "    s = x[i]\n    n = 0\n")

    found = lang.translate(written(source)).program

    assert size_of(found.entry).parts < 1_000


def test_functions_of_functions_spell_out_only_so_far(written, refusal):
    functions = "@vyre.function\ndef f0(v):\n    return v + 1\n" + "".join(
        f"@vyre.function\ndef f{k}(v):\n    return f{k - 1}(v) + f{k - 1}(v)\n"
        for k in range(1, 25)
    )

    found = refusal(written(functions + HEAD + "    out[i] = f24(s)\n"))

    assert "calls of functions spell out as more than 10,000\n" in found.problem
    assert found.fix == "keep what a function returns in a variable, and call it once"


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (
            HEAD + "    out[i] = " + "".join(f"{k} if s > {k} else " for k in range(250)) + "0\n",
            "this nests 254 levels deep; 200 allowed",
        ),
        (
            HEAD
            + "    if s > 0:\n        s = 0\n"
            + "".join(f"    elif s > {k}:\n        s = {k}\n" for k in range(1_500))
            + END,
            "this nests too deep",
        ),
        (
            "@vyre.function\ndef f(v):\n"
            + "".join(f"    if v > {k}:\n        return v + {k}\n" for k in range(1_500))
            + "    return v\n"
            + HEAD
            + "    out[i] = f(s)\n",
            "'f' nests too deep",
        ),
    ],
    ids=["conditional", "elif", "function"],
)
def test_what_nests_too_deep_is_an_error_at_its_line(written, refusal, source, problem):
    found = refusal(written(source))

    assert found.problem.splitlines()[0].endswith(problem)
    assert found.fix == (
        "write ifs and loops one after the other, not inside each other, as each elif is in the "
        "one before, and split long expressions over several assignments"
    )


def test_a_kernel_is_read_the_same_from_deep_in_a_stack(written):
    kernel = written(HEAD + "    out[i] = " + " + ".join(["s"] * 450) + "\n")

    def deep(levels: int) -> lang.Translation:
        return deep(levels - 1) if levels else lang.translate(kernel)

    assert deep(sys.getrecursionlimit() // 2).program == lang.translate(kernel).program
