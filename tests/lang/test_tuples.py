"""Tuples in kernels: taken apart, returned by functions, and gone through by loops."""

from collections.abc import Callable
from random import Random
from textwrap import indent

import numpy as np
import pytest

from vyre import lang
from vyre.errors import LanguageError
from vyre.ir.node import Loop
from vyre.ir.walk import statements
from vyre.lang import In, InOut, Out, f32, i32, u32
from vyre.lang.loops import MOST_ROUNDS

Run = Callable[..., None]
Translate = Callable[..., lang.Translation]
Written = Callable[..., Callable[..., None]]
Refusal = Callable[..., LanguageError]

WEIGHTS = (0.25, 0.5, 0.25)
STEPS = np.array([[0, 1], [1, 0], [0, -1], [-1, 0]])
PAIRS = ((1, (2, 3)), (4, (5, 6)))


def test_positions_are_taken_apart_outermost_first(run: Run):
    def kernel(out: Out[u32, 3]):
        k, i, j = lang.gid()
        depth, height, width = lang.extent()
        out[k, i, j] = (k * height + i) * width + j + 1000 * depth

    out = np.zeros((2, 3, 5), np.uint32)
    run(kernel, shape=(2, 3, 5), out=out)

    assert (out == np.arange(30).reshape(2, 3, 5) + 2000).all()


def test_how_many_names_take_a_position_decides_the_axes(translate: Translate):
    def one(out: Out[u32]):
        (i,) = lang.gid()
        out[i] = i

    def two(out: Out[u32, 2]):
        i, j = lang.gid()
        out[i, j] = j

    def nested(out: Out[u32, 2]):
        (i, j), value = lang.gid(), 7
        out[i, j] = value

    assert [translate(kernel).rank for kernel in (one, two, nested)] == [1, 2, 2]


def test_workgroup_positions_are_taken_apart(run: Run):
    def kernel(out: Out[u32, 2]):
        i, j = lang.gid()
        a, b = lang.local_id()
        c, d = lang.workgroup_id()
        height, width = lang.workgroup_size()
        out[i, j] = 1000 * (c * height + a) + d * width + b

    out = np.zeros((4, 6), np.uint32)
    run(kernel, shape=(4, 6), options={"workgroup": (2, 3)}, out=out)

    assert (out == 1000 * np.arange(4)[:, None] + np.arange(6)).all()


def test_signed_positions_go_below_zero(run: Run):
    def kernel(out: Out[i32, 2]):
        i, j = lang.sgid()
        out[i, j] = abs(i - 2) + min(j - 1, lang.sgid(0))

    out = np.zeros((3, 4), np.int32)
    run(kernel, shape=(3, 4), out=out)

    i, j = np.indices((3, 4))
    assert (out == abs(i - 2) + np.minimum(j - 1, i)).all()


def test_a_shape_is_taken_apart(run: Run):
    def kernel(x: In[f32, 2], fixed: In[f32, (3, 4)], out: Out[u32]):
        h, w = x.shape
        a, b = fixed.shape
        (n,) = out.shape
        out[0], out[1], out[2] = h * w, a * b, n

    out = np.zeros(3, np.uint32)
    run(kernel, x=np.zeros((2, 5), np.float32), fixed=np.zeros((3, 4), np.float32), out=out)

    assert out.tolist() == [10, 12, 3]


def test_tuples_inside_tuples_match_names(run: Run):
    def kernel(out: InOut[i32]):
        (a, (b, c)), [d, e] = (1, (2, 3)), (4, 5)
        (a, b), (c, (d, e)) = (b, a), (e, (c, d))
        out[0], out[1], out[2], out[3], out[4] = a, b, c, d, e
        x, y = out[5], out[6] = out[6], out[5]
        out[7] = 10 * x + y

    out = np.array([0, 0, 0, 0, 0, 8, 9, 0], np.int32)
    run(kernel, out=out)

    assert out.tolist() == [2, 1, 5, 3, 4, 9, 8, 98]


def test_values_are_all_there_before_the_first_name_changes(run: Run):
    def kernel(out: InOut[i32]):
        i = 0
        i, out[i] = 3, i + 5
        out[4], out[5] = lang.atomic_add(out, 4, 1), out[4]

    out = np.array([0, 0, 0, 0, 40, 0], np.int32)
    run(kernel, out=out)

    assert out.tolist() == [0, 0, 0, 5, 40, 41]  # as Python: the new i is where 5 goes


def test_a_choice_between_tuples_does_only_what_its_side_does(run: Run, written: Written):
    kernel = written(
        "def kernel(x: In[i32], n: InOut[i32], out: Out[i32, 2]):\n"
        "    i = vyre.gid()\n"
        "    a, b = (sum(x[k] for k in range(3)), 1) if i > 0 else (vyre.atomic_add(n, 0, 5), 2)\n"
        "    c, d = (1, 2) if i > 0 else (sum(3 for k in range(2)), sum(1 for k in range(2)))\n"
        "    out[i, 0], out[i, 1] = a * 10 + b, c * 10 + d\n"
    )
    n, out = np.array([7], np.int32), np.zeros((3, 2), np.int32)
    run(kernel, shape=3, x=np.array([1, 2, 4], np.int32), n=n, out=out)

    assert out.tolist() == [[72, 62], [71, 12], [71, 12]]
    assert n.tolist() == [12]


def test_numbers_from_outside_are_taken_apart(run: Run):
    def kernel(out: InOut[i32]):
        a, (b, c) = PAIRS[1] if WEIGHTS[0] < 1 else PAIRS[0]
        (d, e), (_, _), (p, q), (_, _) = STEPS
        for n in STEPS.shape:
            out[n] = a + b * c
        out[0], out[1] = d + 10 * e + 100 * p, q
        (r, s), (t,) = (out[0], 1) if out[0] > 100 else (2, 3), (4,)
        out[3] = r + s + t

    out = np.zeros(5, np.int32)
    run(kernel, out=out)

    assert out.tolist() == [10, -1, 34, 9, 34]


@lang.function
def settled(a, b):
    if a > b:
        return a, b
    return quotient(a, b)


def test_what_a_tuple_holds_may_turn_out_to_be_a_tuple(run: Run, refusal: Refusal):
    @lang.function
    def nested(a, b):
        if a > b:
            return a, ordered(a, b)
        return ordered(b, a)[0] if False else b, ordered(a, b)

    def kernel(out: Out[i32]):
        p, (q, r) = nested(out.size, 7)
        out[0], out[1], out[2] = i32(p), i32(q), i32(r)

    def mixed(out: Out[i32]):
        a, (b, c) = settled(i32(out.size), 4)
        out[0] = a + b + c

    out = np.zeros(9, np.int32)
    run(kernel, out=out)

    assert out[:3].tolist() == [9, 7, 9]
    assert (
        "'settled' returns 2 values here and values arranged as (_, (_, _)) on another path"
        in str(refusal(mixed))
    )


@lang.function
def ordered(a, b):
    return (a, b) if a < b else (b, a)


@lang.function
def sorted_three(a, b, c):
    a, b = ordered(a, b)
    b, c = ordered(b, c)
    a, b = ordered(a, b)
    return a, b, c


@lang.function
def quotient(a, b, base: i32 = 10, *, less=0):
    if b == 0:
        return base, (-1, less)
    while True:
        if a < b:
            return base, (a, less)
        a, base = a - b, base + 1


@lang.function
def first_at_least(x, limit, stride=1):
    for block in range(3):
        for k in range(4):
            if x[4 * block + k] >= limit:
                return block, k * stride
        if block == 1 and limit > 90:
            return -1, -2
    return -3, -4


@lang.function
def forwarded(x, limit):
    if limit == 5:
        return first_at_least(x, 6)
    return first_at_least(x, limit, stride=100)


def test_functions_return_several_values(run: Run):
    def kernel(x: InOut[i32, 2]):
        i = lang.gid()
        x[i, 0], x[i, 1], x[i, 2] = sorted_three(x[i, 0], x[i, 1], x[i, 2])

    x = np.array([[p, q, r] for p in range(3) for q in range(3) for r in range(3)], np.int32)
    want = np.sort(x, 1)
    run(kernel, shape=27, x=x)

    assert (x == want).all()


def test_functions_return_from_inside_loops(run: Run):
    def kernel(limit: In[i32], x: In[i32], a: Out[i32], b: Out[i32]):
        i = lang.gid()
        a[i], b[i] = forwarded(x, limit[i])

    limit = np.arange(-1, 100, dtype=np.int32)
    x = np.array([0, 1, 2, 5, 5, 4, 9, 9, 20, 30, 80, 95], np.int32)
    a, b = np.zeros((2, limit.size), np.int32)
    run(kernel, shape=limit.size, limit=limit, x=x, a=a, b=b)

    want = [forwarded(x, value) for value in limit.tolist()]
    assert list(zip(a.tolist(), b.tolist(), strict=True)) == want


def test_arguments_have_defaults_and_names(run: Run):
    def kernel(x: In[i32], out: Out[i32, 2]):
        i = lang.gid()
        p, (q, r) = quotient(x[i], 3)
        s, (t, u) = quotient(b=x[i], a=20, less=9, base=i32(i))
        out[i, 0], out[i, 1], out[i, 2], out[i, 3], out[i, 4], out[i, 5] = p, q, r, s, t, u

    x = np.array([0, 1, 3, 10, 31], np.int32)
    out = np.zeros((5, 6), np.int32)
    run(kernel, shape=5, x=x, out=out)

    def row(i: int, v: int) -> list[int]:
        p, (q, r) = quotient(v, 3)
        s, (t, u) = quotient(20, v, i, less=9)
        return [p, q, r, s, t, u]

    assert out.tolist() == [row(i, v) for i, v in enumerate(x.tolist())]


def test_a_loop_over_a_tuple_is_spelled_out(run: Run, translate: Translate):
    def kernel(x: In[f32], out: Out[f32]):
        i = lang.sgid()
        s = 0
        for at, weight in enumerate(WEIGHTS, start=-1):
            s += weight * x[i + at]
        out[i] = s

    x, out = np.array([4, 8, 16, 32], np.float32), np.zeros(4, np.float32)
    run(kernel, shape=4, x=x, out=out)

    assert out.tolist() == [4, 9, 18, 20]
    assert not any(isinstance(node, Loop) for node in statements(translate(kernel).program.entry))


def test_loops_go_through_arrays_pairs_and_what_is_computed(run: Run):
    def kernel(x: In[i32, 2], out: Out[i32, 2]):
        i, j = lang.sgid()
        s = 0
        for down, right in STEPS:
            s += x[i + down, j + right]
        for (a, (b, c)), sign in zip(PAIRS, (1, -1), strict=True):
            s += sign * (100 * a + 10 * b + c)
        v, w = x[i, j], 2
        for value in (v, v * w, w):
            v = 7
            w += 1
            value += w
            s += value
        for n in reversed(range(2, 4)):
            s *= n
        for n, m in zip(range(9), x.shape, strict=False):
            s += i32(m) * n
        out[i, j] = s

    x = np.arange(12, dtype=np.int32).reshape(3, 4)
    out = np.zeros_like(x)
    run(kernel, shape=(3, 4), x=x, out=out)

    padded = np.pad(x, 1)
    near = padded[1:-1, 2:] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[:-2, 1:-1]
    rest = 123 - 456 + x + 3 + 2 * x + 4 + 2 + 5
    assert (out == 6 * (near + rest) + 4).all()


def _rounds(random: Random, depth: int, known: str) -> str:
    """The body of a loop at random, with ways out of it."""
    lines = []
    for _ in range(random.randint(1, 4)):
        kind = random.random()
        test = f"(n + {known}) % {random.randint(2, 5)} == {random.randint(0, 1)}"
        test = test if kind < 0.9 else f"{known} == {random.randint(0, 3)}"
        if kind < 0.3:
            lines.append(f"n += {random.randint(1, 9)} * {known} + x")
        elif kind < 0.6 or depth > 2:
            lines.append(f"if {test}:\n    n += 1\n    {random.choice(('break', 'continue'))}")
        elif kind < 0.7:
            lines.append(f"if {test}:\n    return n, {known}")
        elif kind < 0.85:
            body = indent(_rounds(random, depth + 1, known), "    ")
            lines.append(f"if {test}:\n{body}\nelse:\n    n -= 3")
        else:
            name = f"k{depth}"
            over = random.choice((f"({known}, 5, 2)", "range(3)", "(1, 2)", "range(n % 3)"))
            lines.append(
                f"for {name} in {over}:\n{indent(_rounds(random, depth + 1, name), '    ')}"
            )
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(60))
def test_ways_out_of_loops_are_python_s(seed: int, written: Written, run: Run):
    random = Random(seed)
    body = _rounds(random, 0, "v")
    over = random.choice(("(0, 3, 1, 2)", "(2,)", "()", "range(4)"))
    source = (
        "@vyre.function\ndef leave(x):\n    n = i64(x)\n"
        f"    for v in {over}:\n{indent(body, ' ' * 8)}\n    return n, i64(77)\n"
        "def kernel(out: Out[i64, 2]):\n    i = vyre.gid()\n"
        "    out[i, 0], out[i, 1] = leave(i64(i))\n"
    ).replace(", v\n", ", i64(v)\n")
    for name in ("k0", "k1", "k2", "k3"):
        source = source.replace(f"return n, {name}", f"return n, i64({name})")
    kernel = written(source)
    out = np.zeros((8, 2), np.int64)
    run(kernel, shape=8, out=out)

    scope: dict[str, Callable[[int], tuple[int, int]]] = {"i64": int}
    exec(source.partition("def kernel")[0].replace("@vyre.function\n", ""), scope)  # noqa: S102  # the test's own text
    assert out.tolist() == [list(scope["leave"](i)) for i in range(8)]


@pytest.mark.parametrize(
    ("lines", "problem", "fix"),
    [
        (
            "i, j = vyre.gid()\nk = vyre.gid(2)",
            "2 names take vyre.gid(), and the kernel uses 3 axes",
            "take them all, i, j, k = vyre.gid(), or name one: vyre.gid(0)",
        ),
        (
            "a, b, c, d = vyre.gid()",
            "vyre.gid() for 4 names; a dispatch has at most 3 axes",
            "compute further positions from these with // and %",
        ),
        (
            "a, b = x.shape",
            "1 value in a tuple for 2 names",
            "write one for each",
        ),
        (
            "a, (b, c) = 1, 2",
            "2 is one value for 2 names",
            "write as many values as names: a, b = x, y",
        ),
        (
            "a, b = (1, 2), 3",
            "a is one name for 2 values",
            "write a name for each value: a, b = x, y",
        ),
        (
            "a = pair(1)",
            "pair() returns 2 values, and one is used here",
            "take them apart on a line of its own: v0, v1 = pair(...)",
        ),
        (
            "a, b, c = pair(1)",
            "2 values for 3 names",
            "write one for each",
        ),
        (
            "a, b = (1, 2) if x[0] > 0 else (1, 2, 3)",
            "2 values where it holds, and 3 values where not",
            "choose between tuples of as many values",
        ),
        (
            "for a, b in (1, 2):\n    pass",
            "1 is one value for 2 names",
            "write as many values as names: a, b = x, y",
        ),
        (
            "for x[0] in (1, 2):\n    pass",
            "x[0] is not a name that a loop can give values to",
            "write for v in ...: or for a, b in ...:",
        ),
        (
            "v = 1\nfor v, w in ((1, 2),):\n    pass",
            "'v' has a value already, and the loop would replace it",
            "use another name for the loop's variable",
        ),
        (
            "for v in (1, 2):\n    pass\nout[0] = f32(v)",
            "'v' goes through the loop of line 6 and has no value after it",
            "copy v in the loop into a variable that has a value before it",
        ),
        (
            "for v in (1, 2):\n    w = f32(v)\nout[0] = w",
            "'w' may have no value here: it is first assigned inside the loop of line 6",
            "give w a value before that loop",
        ),
        (
            "for v in LONG:\n    out[0] = v",
            "LONG holds 5,000 values from outside; 4,096 allowed",
            "pass it as an array, for example w: In[f32], and loop over range(len(w))",
        ),
        (
            "for v in MANY:\n    for w in MANY:\n        out[0] = v + w",
            f"loops over tuples spell out as more than {MOST_ROUNDS:,} rounds",
            "loop over range(), and pass what it goes through as an array",
        ),
        (
            "for v in enumerate(WORDS):\n    pass",
            "a string is not part of the kernel language",
            "compute with numbers; make text of them on the host",
        ),
        (
            "for a, b in enumerate((1, 2), start=x[0]):\n    pass",
            "enumerate() starts at x[0], which is not a constant whole number",
            "write a number",
        ),
        (
            "for a, b in zip((1, 2), range(len(x))):\n    pass",
            "range(len(x)) is spelled out here, and its bounds are not constants",
            "write for k in range(...): and index with k",
        ),
        (
            "for k in reversed(range(len(x))):\n    pass",
            "range(len(x)) is spelled out here, and its bounds are not constants",
            "write for j in range(len(x)): and in it k = len(x) - 1 - j",
        ),
        (
            "for k in reversed(range(1, len(x))):\n    pass",
            "range(1, len(x)) is spelled out here, and its bounds are not constants",
            "write for k in range(...): and index with k",
        ),
        (
            "for a, b in zip((1, 2), range(10**6)):\n    pass",
            f"range(10**6) has 1,000,000 rounds; {MOST_ROUNDS:,} are spelled out",
            "write for k in range(...): and index with k",
        ),
        (
            "for a, b in zip((1, 2), (1,), strict=True):\n    pass",
            "zip() of 2 and 1 values, and strict=True",
            "give each side as many values, or leave strict out to stop at the shortest",
        ),
        (
            "for a, b in zip((1, 2), (1,), longest=True):\n    pass",
            "zip() has no parameter 'longest' with such a value",
            "write zip(a, b), or zip(a, b, strict=True)",
        ),
        (
            "for v in (1, 2):\n    pass\nelse:\n    pass",
            "else after a loop is not part of the kernel language",
            "set a variable before break and test it after the loop",
        ),
        (
            "a = pair(1, 2, 3)",
            "pair(p, q) takes 1 to 2 arguments, 3 given",
            "write pair(p, q)",
        ),
        (
            "a, b = pair(q=1)",
            "pair(p, q) takes 1 to 2 arguments, 1 given",
            "write pair(p, q)",
        ),
    ],
)
def test_what_does_not_match_is_named(
    lines: str, problem: str, fix: str, written: Written, refusal: Refusal
):
    source = (
        "@vyre.function\ndef pair(p, q=2):\n    return p, q\n"
        "def kernel(x: In[f32], n: InOut[i32], out: Out[f32]):\n    out[0] = 1\n"
    )
    kernel = written(
        source + indent(lines, "    ") + "\n",
        LONG=np.zeros(5000),
        MANY=tuple(range(40)),
        WORDS=("a", "b"),
    )

    first, *_, last = str(refusal(kernel)).splitlines()

    assert first.partition(": ")[2] == problem
    assert last == f"Fix: {fix}"


def test_a_default_that_no_type_has_is_shown_where_it_is_written(
    written: Written, refusal: Refusal
):
    kernel = written(
        "@vyre.function\ndef scaled(v, by: u8 = 300):\n    return v * f32(by)\n"
        "def kernel(out: Out[f32]):\n    out[0] = scaled(out.size)\n"
    )

    assert str(refusal(kernel)) == (
        "<cell 0>:2: the default 300 of 'by' is no value of u8\n"
        "    def scaled(v, by: u8 = 300):\n"
        "                           ^^^\n"
        "Fix: write a whole number from 0 to 255"
    )


def test_hostile_names_are_names(run: Run):
    @lang.function
    def left(value, at=1):
        for item in (1, 2):
            if value == item + at:
                return item, value
        return 0, 0

    def kernel(goes: In[i32], lane: Out[i32], before: Out[i32]):
        returned = lang.gid()
        skipped, item = left(goes[returned])
        for test in (1, 2, 3):
            if skipped == test:
                break
            if item == test:
                continue
            skipped, item = item, skipped
        lane[returned], before[returned] = skipped, item

    def plain(v: int) -> tuple[int, int]:
        skipped, item = left(v)
        for test in (1, 2, 3):
            if skipped == test:
                break
            if item == test:
                continue
            skipped, item = item, skipped
        return skipped, item

    goes = np.arange(5, dtype=np.int32)
    lane, before = np.zeros((2, 5), np.int32)
    run(kernel, shape=5, goes=goes, lane=lane, before=before)

    found = list(zip(lane.tolist(), before.tolist(), strict=True))
    assert found == [plain(v) for v in range(5)]
