"""Reductions: what they come to, where they are computed, and the names in them."""

import math
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from vyre import lang
from vyre.ir.expr import Binary, Fma, Load, Var
from vyre.ir.node import If, Node, Reduce, ReduceOp, Region, While, Yield
from vyre.ir.storage import STORAGE
from vyre.ir.types import DataType
from vyre.ir.walk import all_expressions, expressions, statements
from vyre.lang import In, InOut, Out, f32, i32, u32
from vyre.testing.reductions import reduced

Run = Callable[..., None]
Translate = Callable[..., lang.Translation]
Written = Callable[..., Callable[..., None]]

SIZES = (0, 1, 2, 31, 32, 33, 1023, 1024, 1025, 3000)
NUMBERS = ("f32", "f64", "i32", "u32", "i64", "u64")


def reductions_in(found: lang.Translation) -> list[Reduce]:
    return [node for node in statements(found.program.entry) if isinstance(node, Reduce)]


def of_type(element: str, count: int, seed: int = 0) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    dtype = STORAGE[getattr(lang, element)]
    if element.startswith("f"):
        return (rng.standard_normal(count) * 10).astype(dtype)
    low = 0 if element.startswith("u") else -50
    return rng.integers(low, 100, count).astype(dtype)


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("element", NUMBERS)
@pytest.mark.parametrize(
    ("call", "op"),
    [
        ("sum", ReduceOp.SUM),
        ("vyre.prod", ReduceOp.PROD),
        ("min", ReduceOp.MIN),
        ("max", ReduceOp.MAX),
    ],
)
def test_elements_come_together_as_the_model_says(
    run: Run, written: Written, call: str, op: ReduceOp, element: str, count: int
):
    kernel = written(
        f"def kernel(x: In[{element}], out: Out[{element}]):\n"
        f"    out[0] = {call}(x[k] for k in range(len(x)))\n"
    )
    x = of_type(element, count)
    out = np.zeros(1, x.dtype)
    run(kernel, x=x, out=out)

    assert out[0] == reduced(op, x)


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("call", ["argmin", "argmax"])
def test_a_place_is_the_value_that_the_variable_has_there(
    run: Run, written: Written, call: str, count: int
):
    kernel = written(
        "def kernel(x: In[f32], out: Out[u32], odd: Out[u32], back: Out[i32]):\n"
        f"    out[0] = vyre.{call}(x[k] for k in range(len(x)))\n"
        f"    odd[0] = vyre.{call}(x[k] for k in range(1, len(x), 2))\n"
        f"    back[0] = vyre.{call}(x[k] for k in range(i32(len(x)) - 1, -1, -1) if x[k] > 0)\n"
    )
    x = of_type("f32", count, 3)
    x[::7] = np.nan
    out, odd, back = (np.full(1, 99, kind) for kind in (np.uint32, np.uint32, np.int32))
    run(kernel, x=x, out=out, odd=odd, back=back)
    best = np.nanargmin if call == "argmin" else np.nanargmax

    def where(values: np.ndarray[Any, Any], places: np.ndarray[Any, Any]) -> int:
        if not len(values):
            return 0
        return int(places[0 if np.isnan(values).all() else best(values)])

    places = np.arange(count)
    kept = places[::-1][x[::-1] > 0]
    assert out[0] == where(x, places)
    assert odd[0] == where(x[1::2], places[1::2])
    assert back[0] == where(x[kept], kept)


def test_nothing_at_all_comes_to_what_changes_nothing(run: Run):
    def kernel(x: In[f32], n: In[i32], f: Out[f32], w: Out[i32], b: Out[u32]):
        f[0] = sum(x[k] for k in range(0))
        f[1] = lang.prod(x[k] for k in range(len(x)))
        f[2] = min(x[k] for k in range(5, 5))
        f[3] = max(x[k] for k in range(9) if k > 100)
        w[0] = min(n[k] for k in range(3, 1))
        w[1] = max(n[k] for k in range(0, 8, -1))
        w[2] = lang.argmin(x[k] for k in range(7, 7))
        w[3] = lang.argmax(x[k] for k in range(7, 20) if False)
        b[0] = u32(any(x[k] > 0 for k in range(0)))
        b[1] = u32(all(x[k] > 0 for k in range(0)))
        b[2] = sum(x[k] > 0 for k in range(0))

    f, w, b = np.full(4, 7, np.float32), np.full(4, 7, np.int32), np.full(3, 7, np.uint32)
    run(kernel, x=np.zeros(0, np.float32), n=np.zeros(0, np.int32), f=f, w=w, b=b)

    assert f.tolist() == [0, 1, math.inf, -math.inf]
    assert w.tolist() == [2**31 - 1, -(2**31), 0, 0]
    assert b.tolist() == [0, 1, 0]


@pytest.mark.parametrize("seed", range(60))
def test_a_range_counts_as_pythons_does(run: Run, written: Written, seed: int):
    random = Random(seed)
    start, stop = random.randint(-9, 9), random.randint(-9, 9)
    step = random.choice((1, 1, 2, 3, 4, -1, -2, -3))
    dtype = random.choice(("i8", "i16", "i32", "i64"))
    first, last = (
        random.choice((str(value), f"n[{at}]")) for at, value in enumerate((start, stop))
    )
    over = f"range({first}, {last}, {step})"
    kernel = written(
        f"def kernel(n: In[{dtype}], out: Out[i64]):\n"
        f"    out[0] = sum(i64(k) for k in {over})\n"
        f"    out[1] = sum(1 for k in {over} if k % 3 == 1)\n"
        f"    out[2] = i64(vyre.argmax(-(i64(k) - 2) * (i64(k) - 2) for k in {over}))\n"
    )
    out = np.zeros(3, np.int64)
    run(kernel, n=np.array([start, stop], STORAGE[getattr(lang, dtype)]), out=out)

    rounds = range(start, stop, step)
    nearest = max(rounds, key=lambda k: -((k - 2) ** 2), default=0)
    assert out.tolist() == [sum(rounds), sum(k % 3 == 1 for k in rounds), nearest]


@pytest.mark.parametrize("dtype", ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64"])
def test_a_range_reaches_the_ends_of_its_type(run: Run, written: Written, dtype: str):
    kernel = written(
        f"def kernel(n: In[{dtype}], out: Out[u32], last: Out[{dtype}]):\n"
        "    out[0] = sum(1 for k in range(n[0], n[1]))\n"
        "    out[1] = sum(1 for k in range(n[1], n[0], -5))\n"
        "    out[2] = sum(1 for k in range(n[0], n[1], 127))\n"
        "    out[3] = sum(1 for k in range(n[1], n[0]))\n"
        "    last[0] = vyre.argmax(i64(k) for k in range(n[0], n[1], 7))\n"
        "    last[1] = vyre.argmin(i64(k) for k in range(n[1], n[0], -7))\n"
    )
    ends = np.iinfo(STORAGE[getattr(lang, dtype)])
    high = min(int(ends.max), int(ends.min) + 3000)
    out, last = np.zeros(4, np.uint32), np.zeros(2, ends.dtype)
    run(kernel, n=np.array([ends.min, high], ends.dtype), out=out, last=last)

    low = int(ends.min)
    rounds = range(low, high), range(high, low, -5), range(low, high, 127), range(high, low)
    assert out.tolist() == [len(one) for one in rounds]
    assert last.tolist() == [range(low, high, 7)[-1], range(high, low, -7)[-1]]


def test_a_place_has_the_type_of_the_variable(translate: Translate):
    def kernel(
        x: In[f32], out: Out[i32], far: InOut[u32], wide: Out[lang.u64], small: Out[lang.u8]
    ):
        k = lang.argmin(x[k] for k in range(9))  # open: it takes the type of what it meets
        far[0] = far[0] + k
        out[0] = lang.argmin(x[k] for k in range(9))
        wide[0] = lang.argmax(x[k] for k in range(lang.u64(2), 5))
        small[0] = lang.argmax(x[k] for k in range(200))

    assert [node.result for node in reductions_in(translate(kernel))] == [DataType.U32] * 4


def test_a_place_may_be_of_open_elements(run: Run):
    def kernel(out: Out[u32], far: Out[lang.u64]):
        out[0] = lang.argmin((k - 3) * (k - 3) for k in range(9))
        far[0] = lang.argmax(2.5 if k == 4 else 1 for k in range(9))

    out, far = np.zeros(1, np.uint32), np.zeros(1, np.uint64)
    run(kernel, out=out, far=far)

    assert (out[0], far[0]) == (3, 4)


def test_the_sum_of_bools_is_a_count(run: Run):
    def kernel(x: In[f32], out: Out[u32]):
        out[0] = sum(x[k] > 0 for k in range(len(x)))
        out[1] = sum(True for k in range(5) if k != 2)

    out = np.zeros(2, np.uint32)
    run(kernel, x=np.array([1, -1, 2], np.float32), out=out)

    assert out.tolist() == [2, 4]


def test_any_and_all_are_of_bools(run: Run):
    def kernel(x: In[f32], out: Out[u32]):
        i = lang.gid()
        if any(x[k] > f32(i) for k in range(len(x))) and not all(x[k] > 0 for k in range(len(x))):
            out[i] = 1

    out = np.zeros(4, np.uint32)
    run(kernel, shape=4, x=np.array([0, 2.5], np.float32), out=out)

    assert out.tolist() == [1, 1, 1, 0]


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_stored_halves_are_added_in_f32(translate: Translate, written: Written, element: str):
    kernel = written(
        f"def kernel(x: In[{element}], out: Out[f32]):\n"
        "    out[0] = sum(x[k] for k in range(len(x)))\n"
    )

    assert [node.dtype for node in reductions_in(translate(kernel))] == [DataType.F32]


@pytest.mark.parametrize(
    ("line", "dtype"),
    [
        ("n = sum(1 for k in range(4))", DataType.I32),
        ("n = sum(0.5 for k in range(4))", DataType.F32),
        ("w[0] = sum(1 for k in range(4))", DataType.F64),
        ("n = sum(1 for k in range(4)) + w[0]", DataType.F64),
        ("n = w[0] < max(k * 1.5 if w[0] > 0 else 2 for _ in range(4))", DataType.F64),
        ("n = u32(3) + sum(k for k in range(4))", DataType.U32),
        ("n = min(k for k in range(4)) * i64(2)", DataType.I64),
        ("n = sum(1 for k in range(4)) / 2", DataType.F32),
        ("n = 0\n    n += sum(1 for k in range(4))\n    m[0] = n", DataType.U64),
        ("n = sum(k for k in range(4))\n    m[n] = 1", DataType.I32),
        ("m[0] = sum(sum(1 for j in range(k)) for k in range(4))", DataType.U64),
        ("n = max(vyre.exp(1) for _ in range(4)) + w[0]", DataType.F64),
        ("n = vyre.prod(2 if w[k] > 0 else 3 for k in range(4))", DataType.I32),
        ("m[0] = helper(sum(1 for _ in range(4)))", DataType.U64),
    ],
)
def test_open_elements_take_the_type_that_their_sum_meets(
    translate: Translate, written: Written, line: str, dtype: DataType
):
    kernel = written(
        "@vyre.function\ndef helper(v):\n    v += 1\n    return v * 2\n"
        "def kernel(w: InOut[f64], m: InOut[u64], k: f64):\n    " + line + "\n"
    )

    found = reductions_in(translate(kernel))
    assert found[-1].dtype == dtype


# -- tuples and tables


def numbers_of(random: Random, element: str, count: int) -> tuple[float, ...]:
    """Constants that a type has: evenly apart, or of all kinds."""
    first = random.randint(0 if element.startswith("u") else -9, 9)
    match random.randrange(4):
        case 0:
            return tuple(range(first, first + count))
        case 1:
            step = random.randint(0, 5)
            return tuple(first + step * at for at in range(count))
        case 2:
            return tuple(random.randint(max(first, 0), 99) for _ in range(count))
        case _ if element.startswith("f"):
            some = (0.1, -0.0, 0.0, math.inf, -2.5, 1e-20, random.gauss(0, 10))
            return tuple(random.choice(some) for _ in range(count))
        case _:
            return tuple(reversed(range(first, first + 2 * count, 2)))


@pytest.mark.parametrize("seed", range(80))
def test_values_come_together_as_those_of_a_range_do(run: Run, written: Written, seed: int):
    random = Random(seed)
    element = random.choice(NUMBERS)
    count = random.choice((1, 2, 3, 5, 31, 33, 70))
    call = random.choice(("sum", "vyre.prod", "min", "max"))
    a, b = (numbers_of(random, element, count) for _ in range(2))
    start = random.randint(0, 3)
    target, over, spelled = random.choice(
        (
            ("v, (u, w)", "zip(A, zip(B, A))", "v, u, w = A[k], B[k], A[k]"),
            ("v, u", "zip(A, B)", "v, u, w = A[k], B[k], 1"),
            ("v, u", f"enumerate(A, {start})", f"v, u, w = {element}(k + {start}), A[k], 1"),
            ("v, u", "reversed(PAIRS)", "v, u, w = A[LAST - k], B[LAST - k], 1"),
            ("v", "A", "v, u, w = A[k], 1, 1"),
            ("v", repr(a).replace("inf", "INF"), "v, u, w = A[k], 1, 1"),
        )
    )
    expression = "v * x[0] + x[1]" + " * u" * ("u" in target) + " - w" * ("w" in target)
    test, tested = random.choice((("", ""), (" if v != 3", " if kept(k)")))
    kernel = written(
        "@vyre.function\n"
        f"def whole(x, k):\n    {spelled}\n    return {expression}\n"
        "@vyre.function\n"
        f"def kept(k):\n    {spelled}\n    return v != 3\n"
        f"def kernel(x: In[{element}], out: Out[{element}]):\n"
        f"    out[0] = {call}({expression} for {target} in {over}{test})\n"
        f"    out[1] = {call}(whole(x, k) for k in range({count}){tested})\n",
        A=a, B=b, PAIRS=tuple(zip(a, b, strict=True)), LAST=count - 1, INF=math.inf,
    )  # fmt: skip  # constants on one line
    x = of_type(element, 2, seed)
    out = np.zeros(2, x.dtype)
    run(kernel, x=x, out=out)

    assert out[:1].tobytes() == out[1:].tobytes()


def test_values_of_a_tuple_may_be_computed(run: Run):
    weights = (0.5, -1.5, 2.0)

    def kernel(x: InOut[f32], y: In[f32, 2], out: Out[f32], far: Out[u32]):
        out[0] = sum(w * v for w, v in zip(weights, (x[0], x[1], 3.0), strict=True))
        out[1] = max(v for v in (x[0], lang.atomic_add(x, 0, 100.0), x[0]))
        out[2] = min(v * v for v in (x[1], -1, x[1] + 1) if v < 0)
        far[0] = sum(size for size in y.shape)
        far[1] = sum(size for size in (len(x), y.ndim, y.size))

    x, out, far = np.array([2, -3], np.float32), np.zeros(3, np.float32), np.zeros(2, np.uint32)
    run(kernel, x=x, y=np.zeros((3, 4), np.float32), out=out, far=far)

    assert out.tolist() == [1 + 4.5 + 6, 102, 1]
    assert far.tolist() == [7, 2 + 2 + 12]


def test_each_name_of_a_tuple_takes_the_type_that_it_meets(run: Run, written: Written):
    kernel = written(
        "def kernel(x: In[f32], n: In[i64], b: In[u8], out: Out[f32], far: Out[i64]):\n"
        "    out[0] = sum(w * x[k] + f32(n[k] * w) for k, w in enumerate((1, 2, 4)))\n"
        "    far[0] = sum(w for w in (1, 5, 2))\n"
        "    far[1] = sum(n[at] * (100 if here else 1) for at, here in FLAGS)\n"
        "    far[2] = i64(sum(b[k] == v for k, v in enumerate((0, 255, 7))))\n"
        "    if all(x[0] > v for v in (-math.inf, -0.5)) and not any(x[0] == v for v in NUMBERS):\n"
        "        far[3] = 1\n",
        FLAGS=((0, True), (2, False), (1, True)),
        NUMBERS=np.array([1.5, 2.5]),
        math=math,
    )
    out, far = np.zeros(1, np.float32), np.zeros(4, np.int64)
    run(
        kernel,
        x=np.array([3, 1, 0.5], np.float32),
        n=np.array([7, 8, 9], np.int64),
        b=np.array([0, 255, 8], np.uint8),
        out=out,
        far=far,
    )

    assert out[0] == 3 + 7 + 2 + 16 + 2 + 36
    assert far.tolist() == [8, 700 + 9 + 800, 2, 1]


def test_large_numbers_of_a_tuple_are_cast_as_they_are(run: Run, written: Written):
    kernel = written(
        "def kernel(out: Out[i64], far: Out[f64], here: Out[u64]):\n"
        "    out[0] = sum(i64(v) for v in (5_000_000_000, 1, 7))\n"
        "    far[0] = sum(f64(v) for v in (5_000_000_000, 1, 7))\n"
        "    here[0] = sum(u64(LARGE[k]) for k in range(2))\n",
        LARGE=(2**63, 5),
    )
    out, far, here = np.zeros(1, np.int64), np.zeros(1), np.zeros(1, np.uint64)
    run(kernel, out=out, far=far, here=here)

    assert (out[0], far[0], here[0]) == (5_000_000_008, 5_000_000_008, 2**63 + 5)


def test_a_function_goes_through_the_table_that_it_is_handed(run: Run, written: Written):
    kernel = written(
        "@vyre.function\n"
        "def dotted(w, x):\n"
        "    s = 0.0\n"
        "    for k, v in enumerate(w):\n"
        "        s += v * x[k]\n"
        "    return sum(v * x[k] for k, v in enumerate(w)) - s\n"
        "@vyre.function\n"
        "def crossed(w: In[f32], x):\n"
        "    return sum(v * x[k] for k, v in enumerate(w))\n"
        "@vyre.function\n"
        "def rows(w, x):\n"
        "    return sum(x[0] * a + x[1] * b for a, b in w)\n"
        "def kernel(x: In[f32], out: Out[f32]):\n"
        "    out[0] = dotted(W, x)\n"
        "    out[1] = crossed(W, x)\n"
        "    out[2] = crossed(WHOLE, x)\n"
        "    out[3] = rows(ROWS, x)\n",
        W=(0.5, 0.25, 2),
        WHOLE=np.array([1, 2, 3], np.float32),
        ROWS=((1, 2), (3, 4)),
    )
    out = np.zeros(4, np.float32)
    run(kernel, x=np.array([2, 4, 8], np.float32), out=out)

    assert out.tolist() == [0, 18, 2 + 8 + 24, 8 + 24]


def test_nothing_comes_of_an_empty_tuple(run: Run):
    none = ()

    def kernel(x: In[f32], out: Out[f32], far: Out[i32]):
        out[0] = sum(w * x[k] for k, w in enumerate(none))
        out[1] = max(w * x[0] for w in none)
        far[0] = sum(a * b for a, b in zip((1, 2), none, strict=False))

    out, far = np.ones(2, np.float32), np.ones(1, np.int32)
    run(kernel, x=np.ones(3, np.float32), out=out, far=far)

    assert (out.tolist(), far[0]) == ([0, -math.inf], 0)


@pytest.mark.parametrize("seed", range(30))
def test_a_range_may_be_counted_from_its_end(run: Run, written: Written, seed: int):
    random = Random(seed)
    dtype = random.choice(("i8", "u8", "i32", "u32", "i64", "u64"))
    low = 0 if dtype.startswith("u") else -9
    start, stop = random.randint(low, 9), random.randint(low, 9)
    step = random.choice((1, 1, 2, 3, -1, -2))
    first, last = (
        random.choice((str(value), f"n[{at}]")) for at, value in enumerate((start, stop))
    )
    over = f"reversed(range({first}, {last}, {step}))"
    kernel = written(
        f"def kernel(n: In[{dtype}], x: In[f32], out: Out[i64], far: Out[f32]):\n"
        f"    out[0] = sum(i64(k) for k in {over})\n"
        f"    out[1] = i64(vyre.argmax(-(i64(k) - 2) * (i64(k) - 2) for k in {over}))\n"
        f"    out[2] = i64(vyre.argmin(1 for k in {over} if k != 4))\n"
        f"    far[0] = sum(x[k + 9] for k in {over})\n"
    )
    x, out, far = of_type("f32", 18), np.zeros(3, np.int64), np.zeros(1, np.float32)
    run(kernel, n=np.array([start, stop], STORAGE[getattr(lang, dtype)]), x=x, out=out, far=far)

    rounds = range(start, stop, step)[::-1]
    assert out[0] == sum(rounds)
    assert out[1] == max(rounds, key=lambda k: -((k - 2) ** 2), default=0)
    assert out[2] == next((k for k in rounds if k != 4), 0)
    assert far[0] == reduced(ReduceOp.SUM, x[[k + 9 for k in rounds]])


# -- a start, and a default


def test_a_start_is_added_last(run: Run):
    def kernel(x: In[f32], n: In[i32], out: Out[f32], far: Out[i32], count: Out[u32]):
        out[0] = sum((x[k] for k in range(len(x))), 0.1)
        out[1] = 0.1 + sum(x[k] for k in range(len(x)))
        out[2] = math.prod((x[k] for k in range(len(x))), start=x[0])
        out[3] = sum((x[k] for k in range(0)), start=-2)
        far[0] = sum((n[k] for k in range(len(n))), start=sum(n[k] for k in range(2)))
        count[0] = sum((x[k] > 0 for k in range(len(x))), 10)

    x, out = of_type("f32", 1025), np.zeros(4, np.float32)
    n, far, count = np.arange(5, dtype=np.int32), np.zeros(1, np.int32), np.zeros(1, np.uint32)
    run(kernel, x=x, n=n, out=out, far=far, count=count)

    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        product = x[0] * reduced(ReduceOp.PROD, x)
    assert out[:2].tolist() == [np.float32(0.1) + reduced(ReduceOp.SUM, x)] * 2
    assert out[2:].tobytes() == np.float32([product, -2]).tobytes()
    assert (far[0], count[0]) == (11, 10 + (x > 0).sum())


def test_a_start_is_not_fused(translate: Translate):
    def kernel(a: In[f32], out: Out[f32]):
        out[0] = sum((a[k] for k in range(len(a))), a[0] * a[1])
        out[1] = lang.prod((a[k] for k in range(len(a))), start=2) + a[2]

    found = translate(kernel, fast_math=True)
    assert not any(isinstance(expr, Fma) for expr in all_expressions(found.program.entry))


@pytest.mark.parametrize("count", [0, 1, 33, 1025])
def test_a_default_is_for_no_element_at_all(run: Run, count: int):
    def kernel(x: In[f32], n: In[i32], out: Out[f32], far: Out[i32], limit: f32):
        out[0] = min((x[k] for k in range(len(x))), default=limit)
        out[1] = max((x[k] for k in range(len(x)) if x[k] > limit if k > 2), default=-7)
        out[2] = max((x[k] for k in range(9) if False), default=x[0])
        out[3] = max((limit for k in range(9) if True), default=2)
        out[4] = min((v * limit for v in (1, 3)), default=2)
        far[0] = min((n[k] for k in range(5, len(n))), default=lang.argmax(x[k] for k in range(3)))
        far[1] = max((k for k in range(0)), default=-1)

    x, n = of_type("f32", count, 7), of_type("i32", count, 8)
    out, far = np.zeros(5, np.float32), np.zeros(2, np.int32)
    run(kernel, x=x, n=n, out=out, far=far, limit=5.0)

    kept = [v for k, v in enumerate(x) if v > 5 and k > 2]
    assert out[:2].tolist() == [min(x, default=5), max(kept, default=-7)]
    assert out[2:].tolist() == [x[0] if count else 0, 5, 5]
    best = max(range(min(count, 3)), key=lambda k: x[k], default=0)
    assert far.tolist() == [min(n[5:], default=best), -1]


def test_a_start_and_a_default_are_computed_behind_the_bounds(run: Run):
    def kernel(x: InOut[i32], out: Out[i32]):
        out[0] = sum((x[k] for k in range(x[0])), lang.atomic_add(x, 0, 1))
        out[1] = min((x[k] for k in range(x[0])), default=lang.atomic_exchange(x, 0, 0))
        out[2] = min((x[k] for k in range(x[0])), default=lang.atomic_exchange(x, 0, 9))

    x, out = np.array([1, 5, 7], np.int32), np.zeros(3, np.int32)
    run(kernel, x=x, out=out)

    assert out.tolist() == [1 + 2, 0, 0]


# -- where they are computed


def test_a_reduction_is_computed_only_where_python_would(translate: Translate):
    def kernel(x: In[f32], out: Out[f32]):
        i = lang.gid()
        a = sum(x[k] for k in range(9)) if i > 3 else 2.0
        if i > 5 and sum(x[k] for k in range(8)) > 0:
            a += 1
        out[i] = a

    (region,) = translate(kernel).program.entry
    assert isinstance(region, Region)
    assert not any(isinstance(node, Reduce) for node in region.body)
    chosen, tested, _ = (node for node in region.body if isinstance(node, If))
    assert isinstance(chosen.then[0], Reduce)
    assert isinstance(tested.then[0], Reduce)


def test_a_condition_of_a_loop_is_computed_every_round(run: Run, translate: Translate):
    def kernel(x: InOut[i32], out: Out[i32]):
        n = 0
        while sum(x[k] for k in range(len(x))) < 20:
            x[n % 3] += 1
            n += 1
        out[0] = n

    x, out = np.array([1, 2, 3], np.int32), np.zeros(1, np.int32)
    run(kernel, x=x, out=out)

    assert (x.tolist(), out.tolist()) == ([6, 7, 7], [14])
    (loop,) = (node for node in statements(translate(kernel).program.entry) if type(node) is While)
    assert isinstance(loop.body[0], Reduce)


def test_what_is_read_before_a_store_is_read_before_it(run: Run):
    def kernel(x: InOut[i32], out: Out[i32]):
        before = sum(x[k] for k in range(len(x)))
        x[0] = 100
        after = sum(x[k] for k in range(len(x)))
        out[0] = before
        out[1] = after
        out[2] = (
            sum(x[k] for k in range(len(x)))
            + lang.atomic_add(x, 1, 50)
            + max(x[k] for k in range(1, len(x)))
        )

    x, out = np.array([1, 2, 3], np.int32), np.zeros(3, np.int32)
    run(kernel, x=x, out=out)

    assert out.tolist() == [6, 105, 105 + 2 + 52]


def test_bounds_are_computed_once_and_before(run: Run):
    def kernel(x: InOut[i32], out: Out[i32]):
        out[0] = sum(x[k] * k for k in range(lang.atomic_add(x, 0, 1), lang.atomic_add(x, 1, 2)))
        out[1] = x[0]

    x, out = np.array([1, 4, 7, 9], np.int32), np.zeros(2, np.int32)
    run(kernel, x=x, out=out)

    assert out.tolist() == [1 * 6 + 2 * 7 + 3 * 9, 2]


def test_reductions_nest_and_stand_several_in_one_expression(run: Run):
    def kernel(y: In[f32, 2], out: Out[f32]):
        n = y.shape[1]
        out[0] = sum(
            max(y[i, k] - sum(y[i, j] for j in range(n)) / f32(n) for k in range(n))
            for i in range(y.shape[0])
            if any(y[i, k] > 0 for k in range(n))
        ) / (1 + sum(y[i, i] for i in range(min(y.shape[0], n)) if y[i, i] > 0))

    y = np.random.default_rng(4).integers(-8, 8, (5, 4)).astype(np.float32)
    y[2] = -1
    out = np.zeros(1, np.float32)
    run(kernel, y=y, out=out)

    rows = [row for row in y if (row > 0).any()]
    top = sum((row - row.sum() / 4).max() for row in rows)
    diagonal = np.diag(y)
    assert out[0] == np.float32(top) / np.float32(1 + diagonal[diagonal > 0].sum())


def test_conditions_are_tested_one_after_the_other(run: Run):
    def kernel(x: In[i32], out: Out[i32]):
        out[0] = sum(x[k] for k in range(len(x)) if k % 2 == 0 if x[k] > 2 and k < 7 if True)

    x, out = np.arange(10, dtype=np.int32), np.zeros(1, np.int32)
    run(kernel, x=x, out=out)

    assert out.tolist() == [4 + 6]


def test_functions_are_called_in_elements_conditions_and_bounds(run: Run, written: Written):
    kernel = written(
        "@vyre.function\n"
        "def collatz(n):\n"
        "    rounds = 0\n"
        "    while n > 1:\n"
        "        n = n // 2 if n % 2 == 0 else 3 * n + 1\n"
        "        rounds += 1\n"
        "    return rounds\n"
        "@vyre.function\n"
        "def early(n, k):\n"
        "    if n > 10:\n"
        "        return sum(j for j in range(k))\n"
        "    for j in range(3):\n"
        "        if j == n:\n"
        "            break\n"
        "        k += j\n"
        "    return k\n"
        "def kernel(x: In[i32], out: Out[i32]):\n"
        "    out[0] = max(collatz(x[k]) for k in range(collatz(7)) if collatz(x[k]) < 100)\n"
        "    out[1] = sum(early(x[k], k) for k in range(i32(len(x))))\n"
    )
    x, out = np.arange(30, dtype=np.int32), np.zeros(2, np.int32)
    run(kernel, x=x, out=out)

    assert out[0] == max(_collatz(n) for n in range(_collatz(7)) if _collatz(n) < 100)
    assert out[1] == sum(sum(range(k)) if k > 10 else k + sum(range(min(k, 3))) for k in range(30))


def _collatz(n: int) -> int:
    rounds = 0
    while n > 1:
        n, rounds = n // 2 if n % 2 == 0 else 3 * n + 1, rounds + 1
    return rounds


def test_a_reduction_counts_loops_and_indexes(run: Run):
    def kernel(x: InOut[i32], out: Out[i32]):
        s = 0
        for k in range(sum(1 for k in range(len(x)) if x[k] > 2)):
            s += max(x[j] for j in range(k, 3))
        x[lang.argmin(x[k] for k in range(len(x)))] -= sum(x[k] for k in range(2))
        out[0] = s

    x, out = np.array([5, 1, 7], np.int32), np.zeros(1, np.int32)
    run(kernel, x=x, out=out)

    assert (x.tolist(), out.tolist()) == ([5, -5, 7], [14])


# -- fast_math


def test_the_fold_of_a_sum_is_not_fused(translate: Translate):
    def kernel(a: In[f32], b: In[f32], out: Out[f32]):
        out[0] = 1.0 + sum(a[k] * b[k] for k in range(len(a)))

    found = translate(kernel, fast_math=True)
    assert not any(isinstance(expr, Fma) for expr in all_expressions(found.program.entry))


def test_an_element_is_fused_by_the_rule(translate: Translate):
    def kernel(a: In[f32], b: In[f32], out: Out[f32]):
        out[0] = sum(a[k] * b[k] + a[k] for k in range(len(a)) if a[k] * b[k] - 1 > 0)

    (found,) = reductions_in(translate(kernel, fast_math=True))
    (test,) = found.body
    assert isinstance(test, If)
    assert isinstance(test.cond, Binary)
    assert isinstance(test.cond.left, Fma)
    (element,) = test.then
    assert isinstance(element, Yield)
    assert isinstance(element.value, Fma)


# -- names


def test_a_generator_has_its_own_names(run: Run, written: Written):
    kernel = written(
        "def kernel(x: In[i32], out: Out[i32]):\n"
        "    k = 100\n"
        "    out[0] = sum(k for k in range(3)) + k + j\n"
        "    out[1] = sum(x for x in range(x[0]))\n"
        "    out[2] = sum(k for k in range(k, k + 2))\n"
        "    out[3] = sum(sum(k * j for k in range(k)) for k in range(4)) + k\n"
        "    for n in range(2):\n"
        "        out[4] = sum(n for n in range(5)) + n\n"
        "    out[5] = sum(x[j] for j in range(2)) + j\n",
        j=7,
    )
    x, out = np.array([4, 5], np.int32), np.zeros(6, np.int32)
    run(kernel, x=x, out=out)

    assert out.tolist() == [3 + 107, 6, 201, 7 * (1 + 3) + 100, 11, 16]


HOSTILE = (
    *("name", "value", "var", "lane", "round", "rounds", "sum", "max", "body", "op", "dtype"),
    *("start", "stop", "part", "range", "argmin", "float4", "self", "elements", "is_there"),
    *("Yield", "vyre", "block", "acc", "absent", "sum_2", "_", "k_2", "int", "ünïcode"),
)


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_may_count(run: Run, written: Written, name: str):
    kernel = written(
        f"def kernel(x: In[i32], out: Out[i32]):\n"
        f"    total = add(x[{name}] for {name} in over(2, 9, 3) if {name} != 5)\n"
        f"    out[0] = total + add(add(x[{name}] + {name} for {name} in over({name}))\n"
        f"        for {name} in over(i32(len(x))))\n",
        add=sum,
        over=range,
    )
    x, out = np.arange(10, 20, dtype=np.int32), np.zeros(1, np.int32)
    run(kernel, x=x, out=out)

    assert out[0] == 12 + 18 + sum(sum(10 + 2 * k for k in range(n)) for n in range(10))


def test_functions_of_other_names_and_modules_reduce_too(run: Run, written: Written):
    kernel = written(
        "def kernel(x: In[i32], out: Out[i32]):\n"
        "    out[0] = vyre.sum(x[k] for k in range(4)) + np.sum(x[k] for k in range(4))\n"
        "    out[1] = math.prod(x[k] for k in range(4)) + np.prod(x[k] for k in range(4))\n"
        "    out[2] = vyre.min(x[k] for k in range(4)) + vyre.max(x[k] for k in range(4))\n"
        "    if vyre.any(x[k] > 3 for k in range(4)) and np.any(x[k] > 3 for k in range(4)):\n"
        "        out[3] = 1\n"
        "    if vyre.all(x[k] > 3 for k in range(4)) or np.all(x[k] > 3 for k in range(4)):\n"
        "        out[4] = 1\n",
        math=math,
        np=np,
    )
    x, out = np.array([1, 2, 3, 4], np.int32), np.zeros(5, np.int32)
    run(kernel, x=x, out=out)

    assert out.tolist() == [20, 48, 5, 1, 0]


# -- what later steps read


def test_every_part_of_a_reduction_has_its_place(translate: Translate, written: Written):
    kernel = written(
        "def kernel(x: In[f32], out: Out[f32]):\n"
        "    out[0] = sum(\n"
        "        vyre.exp(x[k])\n"
        "        for k in range(3, len(x))\n"
        "        if x[k] > 0\n"
        "    )\n"
    )

    found = translate(kernel)
    places = [found.places.of(node) for node in statements(reductions_in(found))]
    assert [place and place.line for place in places] == [2, 3, 3, 3]


def test_rounds_that_are_values_need_no_other_name(translate: Translate):
    def kernel(x: In[f32], out: Out[f32]):
        out[0] = sum(x[k] for k in range(len(x)))

    (found,) = reductions_in(translate(kernel))
    assert found.var == "k"
    (element,) = found.body
    assert element == Yield(Load("x", Var("k")))


def test_generators_nest_to_some_depth(run: Run, written: Written):
    text = "x[0]"
    for level in range(20):
        text = f"sum({text} + k{level} for k{level} in range(1 + k{level + 1} % 2))"
    kernel = written(f"def kernel(x: In[i32], k20: i32, out: Out[i32]):\n    out[0] = {text}\n")

    out = np.zeros(1, np.int32)
    run(kernel, x=np.array([3], np.int32), k20=1, out=out)

    def at(level: int, names: tuple[int, ...]) -> int:
        if level < 0:
            return 3
        rounds = range(1 + names[-1] % 2)
        return sum(at(level - 1, (*names, k)) + k for k in rounds)

    assert out[0] == at(19, (1,))


def test_a_difference_is_known_not_to_wrap_by_the_range_around_it(translate: Translate):
    def kernel(x: In[f32], out: Out[f32]):
        i = lang.gid()
        out[i] = (
            sum(f32(i - k) for k in range(i))
            + sum(f32(i - k) for k in range(2, i))
            + sum(f32(i - k) for k in range(2, i, 3))
            + sum(f32(lang.u64(i) - k) for k in range(lang.u64(2), lang.u64(i)))
            + sum(f32(k - 2) for k in range(2, i))
            + sum(f32(k - i) for k in range(i, len(x)) if k > i)
        )

    translate(kernel)


def test_statements_hold_what_an_element_needs(translate: Translate):
    def kernel(x: In[f32], out: Out[f32]):
        out[0] = sum(x[k] ** 4 if x[k] > 0 else 0.0 for k in range(len(x)))

    (found,) = reductions_in(translate(kernel))
    kinds: list[type[Node]] = [type(node) for node in found.body]
    assert kinds[-1] is Yield
    assert sum(isinstance(part, Load) for node in found.body for part in expressions(node)) > 0
