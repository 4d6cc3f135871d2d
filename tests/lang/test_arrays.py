"""Arrays of one invocation, and tables of constants around a kernel."""

import linecache
from collections.abc import Callable
from enum import IntEnum
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vyre
from vyre import In, InOut, Out, bf16, bool_, f16, f32, f64, i32, i64, lang, u8, u32, u64
from vyre.errors import LanguageError
from vyre.runtime.call import dispatch

Written = Callable[..., Callable[..., None]]
Run = Callable[..., None]

COMPILED = [device for device in vyre.devices() if device.name in ("cpu:0", "opencl:0")]
DEVICES = pytest.mark.parametrize("device", COMPILED, ids=lambda device: device.name)
SIZES = (0, 1, 31, 33, 1023, 1025)


class Colour(IntEnum):
    """Names of rows."""

    RED = 0
    BLUE = 2


WEIGHTS = (0.25, 0.5, 0.25)
SOBEL = ((-1, 0, 1), (-2, 0, 2), (-1, 0, 1))
SQUARES = np.arange(256, dtype=np.uint32) ** 2
HALVES = np.array([0.5, 1.25, -3], np.float16)
CUBE = np.arange(24, dtype=np.int64).reshape(2, 3, 4)
FLAGS = (True, False, True)
ODD = (float("inf"), -0.0, float("nan"), 1e-45)
LISTED = [3, 1, 2]
NAMED = SimpleNamespace(weights=(1, 2, 3), shape=(2, 2))


@vyre.function
def filled(cells, value):
    for k in range(len(cells)):
        cells[k] = value + f32(k)


@vyre.function
def dotted(cells, weights):
    s = 0
    for k in range(len(weights)):
        s += cells[k] * weights[k]
    return s


@vyre.function
def summed(cells: In[f32], weights: In[f32]):
    s = f32(0)
    for k in range(3):
        s += cells[k] * weights[k]
    return s


@vyre.kernel
def median(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    t = vyre.local(f32, 5)
    for k in range(5):
        t[k] = x[i + k - 2]
    for _ in range(4):
        for b in range(4):
            if t[b] > t[b + 1]:
                t[b], t[b + 1] = t[b + 1], t[b]
    out[i] = t[2]


@vyre.kernel
def modes(x: In[u32], out: Out[u32]):
    i = vyre.gid()
    lane = vyre.local(u32, 16)
    at = x[i]
    for goes in range(40):
        at = at * 1664525 + 1013904223 + goes % 1
        lane[at >> 28] += 1
    best = 0
    for k in range(len(lane)):
        if lane[k] > lane[best]:
            best = k
    out[i] = best * 100 + lane[best]


@vyre.kernel
def product(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    a = vyre.local(f32, (3, 3))
    value = vyre.local(f32, (3, 3))
    for r in range(3):
        for c in range(a.shape[1]):
            a[r, c] = x[i] + f32(r) * 2
            value[r][c] = x[i] - f32(c)
    s = 0.0
    for r in range(3):
        for c in range(3):
            for k in range(3):
                s += a[r, k] * value[k][c] + f32(SOBEL[r][c]) * a[r][c]
    out[i] = s + f32(a.size) + f32(a.ndim)


@vyre.kernel
def walked(x: In[i32], out: Out[i32]):
    """Parts, leaves loops early and returns, with a stack of its own."""
    i = vyre.gid()
    stack = vyre.local(i32, 8)
    top = 1
    stack[0] = x[i] & 1023
    total = 0
    while top > 0:
        top -= 1
        node = stack[top]
        if node > 2000:
            continue
        total += node
        if total > 9000:
            break
        if top < 6:
            stack[top] = 2 * node + 1
            stack[top + 1] = 2 * node + 2
            top += 2
    if x[i] % 7 == 3:
        return
    out[i] = total


@vyre.kernel
def typed(x: In[f32], out: Out[f64]):
    i = vyre.gid()
    h = vyre.local(f16, 2)
    h[0] = x[i]
    b = vyre.local(bf16, 2)
    b[1] = x[i]
    seen = vyre.local(bool_, 4)
    seen[u32(x[i]) % 5] = True
    n = vyre.local(u8, 3)
    n[1] = u8(250)
    n[1] += u8(i)
    w = vyre.local(i64, (1, 2, 2))
    w[0, 1, i & 1] = -7
    found = f64(h[0]) + f64(b[1]) * 3 + f64(n[1]) + f64(w[0, 1, 1])
    if seen[2] and not seen[0]:
        found += 0.125
    out[i] = found


@vyre.kernel
def looked_up(x: In[u32], out: Out[f32]):
    i = vyre.gid()
    at = x[i]
    s = WEIGHTS[at % 4] + f32(SQUARES[at & 255]) + f32(SQUARES[at]) + HALVES[at % 3]
    if FLAGS[at % 4]:
        s += 0.5
    s += f32(CUBE[at % 2, at % 3][at % 5]) + f32(LISTED[at % 3]) + f32(NAMED.weights[at % 3])
    s += WEIGHTS[Colour.BLUE] + f32(len(SOBEL) + len(SQUARES) + CUBE.shape[2] + SQUARES.size)
    out[i] = s


@vyre.kernel
def through_functions(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    cells = vyre.local(f32, 3)
    filled(cells, x[i])
    self = dotted(cells, WEIGHTS) + summed(cells, WEIGHTS) + summed(cells, weights=(WEIGHTS))
    filled(cells, self)
    out[i] = dotted(cells, WEIGHTS)


@vyre.kernel
def cleared(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    total = 0.0
    kept = vyre.local(f32, 2)
    for k in range(4):
        t = vyre.local(f32, 3)
        t[k % 3] += x[i] + f32(k)
        total += t[0] * 100 + t[1] * 10 + t[2]
        if x[i] > f32(k):
            kept = vyre.local(f32, 2)
        kept[0] += 1.0
    out[i] = total + kept[0] * 1000


@vyre.kernel
def outside(x: In[i32], out: Out[i32]):
    i = vyre.gid()
    t = vyre.local(i32, (2, 3))
    for k in range(6):
        t[k // 3, k % 3] = k + 1
    t[x[i], 1] = 50
    t[1, i64(x[i]) * 4294967296] = 60
    t[u64(i), 2] += 70
    s = 0
    for r in range(3):
        for c in range(4):
            s = s * 3 + t[r, c]
    out[i] = s + t[x[i], x[i]] * 1000 + SOBEL[x[i]][2] + SOBEL[x[i] - 1, i % 4]


@vyre.kernel(workgroup=32)
def across_barriers(x: In[f32], out: Out[f32]):
    lane, i = vyre.local_id(), vyre.gid()
    tile = vyre.shared(f32, 32)
    own = vyre.local(f32, 4)
    same = vyre.local(f32, 2)
    same[1] = 2.0
    for turn in range(4):
        tile[lane] = x[i] + f32(turn)
        vyre.barrier()
        own[turn] = tile[31 - lane] + own[(lane + turn) % 4]
        same[0] += 1.0
        vyre.barrier()
    out[i] = own[0] + own[1] * 2 + own[2] * 3 + own[lane % 5] + same[0] * same[1]


KERNELS = (
    (median, np.float32),
    (modes, np.uint32),
    (product, np.float32),
    (walked, np.int32),
    (typed, np.float32),
    (looked_up, np.uint32),
    (through_functions, np.float32),
    (cleared, np.float32),
    (outside, np.int32),
    (across_barriers, np.float32),
)


def numbers(dtype: type, n: int) -> np.ndarray:
    rng = np.random.default_rng(n)
    if dtype is np.float32:
        return (rng.random(n) * 9).astype(dtype)
    return rng.integers(-3 if dtype is np.int32 else 0, 300, n).astype(dtype)


@DEVICES
@pytest.mark.parametrize(
    ("kernel", "dtype"), KERNELS, ids=lambda it: getattr(it, "__name__", str(it))
)
def test_devices_agree_with_the_reference(device, kernel, dtype):
    reference = vyre.open("reference")
    for n in SIZES:
        x = numbers(dtype, n)
        want = np.asarray(kernel(reference.array(x)))

        assert np.asarray(kernel(device.array(x))).tobytes() == want.tobytes(), n


def test_a_small_sort_is_the_median():
    x = numbers(np.float32, 200)
    padded = np.pad(x, 2)
    want = np.median(np.lib.stride_tricks.sliding_window_view(padded, 5), axis=1)

    assert np.array_equal(median(x), want.astype(np.float32))


def test_an_array_counts_what_python_counts():
    x = np.arange(50, dtype=np.uint32)
    want = []
    for at in x.tolist():
        bins = [0] * 16
        for _ in range(40):
            at = (at * 1664525 + 1013904223) % 2**32
            bins[at >> 28] += 1
        want.append(bins.index(max(bins)) * 100 + max(bins))

    assert modes(x).tolist() == want


def test_elements_are_of_their_types():
    x = np.array([2.1, 1000.7, 0.3], np.float32)
    half = x.astype(np.float16).astype(np.float64)
    brain = ((x.view(np.uint32) + 0x7FFF + ((x.view(np.uint32) >> 16) & 1)) & 0xFFFF0000).view(
        np.float32
    )
    seen = x.astype(np.uint32) % 5 == 2
    small = (250 + np.arange(3)) % 256
    wide = np.where(np.arange(3) % 2 == 1, -7, 0)
    want = half + brain.astype(np.float64) * 3 + small + wide + np.where(seen, 0.125, 0)

    assert np.array_equal(typed(x), want)


def test_each_declaration_reached_is_zeros_again():
    def wanted(x: float) -> float:
        total, kept = 0.0, 0.0
        for k in range(4):
            t = [0.0, 0.0, 0.0]
            t[k % 3] += x + k
            total += t[0] * 100 + t[1] * 10 + t[2]
            kept = 1.0 + (0.0 if x > k else kept)
        return total + kept * 1000

    x = np.array([0, 1, 2, 3, 4, 5], np.float32)

    assert cleared(x).tolist() == [wanted(float(value)) for value in x]


def test_what_is_out_of_bounds_is_0_and_stores_nothing():
    @vyre.kernel
    def beyond(at: In[i64], out: Out[i32]):
        i = vyre.gid()
        t = vyre.local(i32, 3)
        t[0], t[1], t[2] = 1, 2, 3
        t[at[i]] = 9
        out[i] = t[0] + 10 * t[1] + 100 * t[2] + 1000 * t[at[i]] + 10000 * LISTED[at[i]]

    at = np.array([0, 2, 3, -1, 2**32, -(2**63), 2**32 + 1], np.int64)

    assert beyond(at).tolist() == [39329, 29921, 321, 321, 321, 321, 321]


def test_tables_hold_what_they_are_made_of():
    @vyre.kernel
    def odd(out: Out[f32]):
        out[vyre.gid()] = ODD[vyre.gid()]

    @vyre.kernel
    def third(out: Out[i64, (2, 3, 4)]):
        i, j, k = vyre.gid()
        out[i, j, k] = CUBE[i, j, k]

    assert odd(shape=6).view(np.uint32).tolist()[:2] == [0x7F800000, 0x80000000]
    assert np.isnan(odd(shape=6)[2])
    assert odd(shape=6).view(np.uint32).tolist()[3:] == [1, 0, 0]
    assert np.array_equal(third(shape=CUBE.shape), CUBE)


@DEVICES
def test_odd_numbers_of_tables_are_the_same_on_devices(device, monkeypatch):
    monkeypatch.setattr(dispatch, "default", lambda: device)

    @vyre.kernel
    def odd(x: In[u32], out: Out[f32], flags: Out[u32]):
        i = vyre.gid()
        out[i] = ODD[x[i]]
        flags[i] = u32(FLAGS[x[i]])

    found, flags = odd(np.arange(6, dtype=np.uint32))

    assert np.isnan(found[2])
    assert found.view(np.uint32)[[0, 1, 3, 4]].tolist() == [0x7F800000, 0x80000000, 1, 0]
    assert flags.tolist() == [1, 0, 1, 0, 0, 0]


def test_a_table_is_as_it_was_when_the_kernel_was_made():
    table, listed = np.array([1, 2, 3], np.int32), [10, 20, 30]

    @vyre.kernel
    def taken(out: Out[i32]):
        out[vyre.gid()] = table[vyre.gid()] + listed[vyre.gid()]

    before = taken.program.fingerprint()
    table[:] = 0
    listed.clear()

    assert taken(shape=3).tolist() == [11, 22, 33]
    assert taken.program.fingerprint() == before


def test_contents_and_type_are_part_of_the_fingerprint():
    def made(table: object) -> bytes:
        @vyre.kernel
        def kernel(out: Out[f32]):
            out[vyre.gid()] = f32(table[vyre.gid()])

        return kernel.program.fingerprint()

    same = (np.array([1, 2], np.int32), np.array([1, 2], np.int64).astype(np.int32))
    others = (
        np.array([1, 3], np.int32),
        np.array([1, 2], np.uint32),
        np.array([1, 2, 0], np.int32),
    )

    assert made(same[0]) == made(same[1])
    assert len({made(table) for table in (same[0], *others)}) == 4


def test_known_indices_are_numbers(translate):
    def kernel(out: Out[f32]):
        out[0] = WEIGHTS[1] + f32(SQUARES[3]) + f32(SOBEL[1, 0]) + f32(CUBE[1][2, 3]) + HALVES[1]

    assert "[" not in vyre.ir.to_text(translate(kernel).program).split("] = ")[1]


def test_a_tuple_takes_the_type_it_meets(run):
    def kernel(whole: InOut[i32], small: InOut[u8], wide: InOut[f64]):
        i = vyre.gid()
        whole[i] += LISTED[i]
        small[i] += LISTED[i]
        wide[i] += WEIGHTS[i] * LISTED[i]

    whole, small, wide = np.ones(3, np.int32), np.ones(3, np.uint8), np.ones(3)
    run(kernel, shape=3, whole=whole, small=small, wide=wide)

    assert (whole.tolist(), small.tolist(), wide.tolist()) == (
        [4, 2, 3],
        [4, 2, 3],
        [1.75, 1.5, 1.5],
    )


NAMES = (
    "value",
    "at",
    "at0",
    "goes",
    "lane",
    "float4",
    "range",
    "self",
    "t",
    "p",
    "table",
    "element",
)


@DEVICES
def test_names_of_others_are_free_for_arrays(device, written: Written, monkeypatch):
    monkeypatch.setattr(dispatch, "default", lambda: device)
    names = [name for name in NAMES if name != "range"]
    lines = [f"    {name} = vyre.local(f32, 3)\n" for name in names]
    lines += ["    for k in range(3):\n"]
    lines += [f"        {name}[k] = x[i] * {n} + f32(k)\n" for n, name in enumerate(names)]
    lines += [f"    out[i] = {' + '.join(f'{name}[i % 4]' for name in names)}\n"]
    text = "def kernel(x: In[f32], out: Out[f32]):\n    i = vyre.gid()\n" + "".join(lines)
    x = np.arange(9, dtype=np.float32)
    want = [0.0 if i % 4 == 3 else sum(i * n + i % 4 for n in range(len(names))) for i in range(9)]

    assert vyre.kernel(written(text))(x).tolist() == want


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=12),
    st.lists(st.integers(-2, 6), min_size=1, max_size=6),
)
def test_stores_and_loads_come_in_the_order_they_are_written(places, reads):
    """A kernel of random stores into an array, as Python's own list has them."""
    lines = [f"    t[{at} + z[0]] += t[(i + {n}) % 4] * 2 + {n}\n" for n, at in enumerate(places)]
    lines += [f"    s = s * 5 + t[{at} + z[0]]\n" for at in reads]
    text = (
        "def kernel(z: In[i32], out: Out[i32]):\n    i = vyre.gid()\n    t = vyre.local(i32, 4)\n"
        "    s = i32(0)\n" + "".join(lines) + "    out[i] = s\n"
    )
    found = made(text)(np.zeros(1, np.int32), shape=3)

    for i, got in enumerate(found.tolist()):
        t, s = [0] * 4, 0
        for n, at in enumerate(places):
            t[at] += t[(i + n) % 4] * 2 + n
        for at in reads:
            s = s * 5 + (t[at] if 0 <= at < 4 else 0)
        assert (got - s) % 2**32 == 0


def made(text: str):
    file = f"<made {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {"vyre": lang, "In": In, "Out": Out, "i32": i32}
    exec(compile(text, file, "exec"), scope)  # noqa: S102  # the test's own text
    return vyre.kernel(scope["kernel"])


HEAD = """\
def kernel(x: In[f32], out: Out[f32], n: u32, a: f32):
    i = vyre.gid()
    t = vyre.local(f32, 4)
"""
BIG = np.zeros(9000, np.float32)


@vyre.function
def replaced(cells):
    cells = 1
    return cells + 1


MISTAKES = [
    ("b = vyre.local(f32, n)", "the shape n is not 1 to 3 constant whole numbers from 1",
     "write vyre.local(f32, 4) or vyre.local(f32, (4, 4))"),
    ("b = vyre.local(f32, 0)", "the shape 0 is not 1 to 3 constant whole numbers from 1",
     "write vyre.local(f32, 4) or vyre.local(f32, (4, 4))"),
    ("b = vyre.local(f32, (2, 2, 2, 2))",
     "the shape (2, 2, 2, 2) is not 1 to 3 constant whole numbers from 1",
     "write vyre.local(f32, 4) or vyre.local(f32, (4, 4))"),
    ("b = vyre.local(f32, (2, True))",
     "the shape (2, True) is not 1 to 3 constant whole numbers from 1",
     "write vyre.local(f32, 4) or vyre.local(f32, (4, 4))"),
    ("b = vyre.local(f32, NONE)",
     "the shape NONE, which is 0, is not 1 to 3 constant whole numbers from 1",
     "write vyre.local(f32, 4) or vyre.local(f32, (4, 4))"),
    ("b = vyre.local(f32, HALVES)",
     "the shape HALVES, which is (2, 1.5), is not 1 to 3 constant whole numbers from 1",
     "write vyre.local(f32, 4) or vyre.local(f32, (4, 4))"),
    ("b = vyre.local(f32, (4, NONE - 1))",
     "the shape (4, NONE - 1), which is (4, -1), is not 1 to 3 constant whole numbers from 1",
     "write vyre.local(f32, 4) or vyre.local(f32, (4, 4))"),
    ("b = vyre.local(float, 4)", "float is not an element type of arrays",
     "write vyre.local(f32, 4)"),
    ("b = vyre.local(f64, 512)",
     "the arrays of one invocation would have 4,112 bytes; 4,096 allowed",
     "use fewer or smaller elements, or an InOut array with a part for each element"),
    ("b = vyre.local(f32, 4)[0]", "vyre.local() is not the whole of an assignment to one name",
     "write t = vyre.local(f32, 4) on a line of its own"),
    ("b = c = vyre.local(f32, 4)", "vyre.local() is not the whole of an assignment to one name",
     "write t = vyre.local(f32, 4) on a line of its own"),
    ("out[0] = vyre.local(f32, 4)", "vyre.local() is not the whole of an assignment to one name",
     "write t = vyre.local(f32, 4) on a line of its own"),
    ("t = vyre.local(f32, 5)", "'t' is an array of f32[4] already",
     "use another name for the other array"),
    ("i = vyre.local(f32, 5)", "'i' has a value already", "use another name for the array"),
    ("t = 1", "'t' is an array, and this would replace it",
     "write t[i] = ..., or use another name"),
    ("b = t", "'t' is a whole array", "index it: t[i]"),
    ("out[i] = t + 1", "'t' is a whole array", "index it: t[i]"),
    ("t[-1] = a", "index -1 of 't' is negative", "count from the start: len(t) - 1"),
    ("b = t[4]", "index 4 of 't' is out of bounds; it has 4", "use an index from 0 to 3"),
    ("b = t[a]", "the index a is f32", "index with a whole number, for example u32(...)"),
    ("b = t[i, i]", "'t' has 1 axis and is indexed with 2", "write t[i]"),
    ("t[0] = i", "t[0] is f32 and i is u32", "cast one side, for example f32(i)"),
    ("b = t.sum()", "arrays have no methods in a kernel, such as 'sum'",
     "say which elements: sum(t[k] for k in range(len(t)))"),
    ("b = t.T", "an array has no 'T' in a kernel", "use its shape, ndim or size, or index it"),
    ("vyre.atomic_add(t, 0, 1.0)",
     "vyre.atomic_add() on 't', which no other invocation sees",
     "write t[k] = ..., which nothing can come between"),
    ("if a > 0:\n    b = vyre.local(f32, 2)\nelse:\n    return\nout[i] = b[0]",
     "the array 'b' ends with the branch of the if of line 4 that declares it",
     "write b = vyre.local(...) before that if"),
    ("if a > 0:\n    b = vyre.local(f32, 2)\nout[i] = b[0]",
     "'b' may have no value here: not every path through the if of line 4 assigns it",
     "give b a value before that if, or in its else"),
    ("for t in range(3):\n    pass", "'t' has a value already, and the loop would replace it",
     "use another name for the loop's variable"),
    ("out[i] = W", "W is a whole tuple", "index it: W[k]"),
    ("out[i] = W[3]", "index 3 of 'W' is out of bounds; it has 3", "use an index from 0 to 2"),
    ("out[i] = W[-1]", "index -1 of 'W' is negative", "count from the start: len(W) - 1"),
    ("out[i] = K[i]", "'K' has 2 axes and is indexed with 1", "write K[i, j]"),
    ("W[i] = 1.0", "W is a table from outside the kernel, which never changes",
     "copy what you need of it into t = vyre.local(f32, 3)"),
    ("W[i] += 1.0", "W is a table from outside the kernel, which never changes",
     "copy what you need of it into t = vyre.local(f32, 3)"),
    ("out[i] = x[i] * D[i]", "x[i] is f32 and D[i] is f64",
     "cast one side, for example f32(D[i])"),
    ("out[i] = f32(n + W[i])", "n is u32 and W[i] is f32", "cast one side, for example f32(n)"),
    ("out[i] = BIG[i]",
     "BIG has 36,000 bytes, and the tables of this kernel 36,000; 32,768 allowed",
     "pass it as BIG: In[f32]"),
    ("out[i] = MIXED[i]",
     "MIXED is a tuple in which one entry is 'two', and a table holds numbers, row by row",
     "give all rows the same length, and put nothing but numbers in them"),
    ("out[i] = RAGGED[i, 0]",
     "RAGGED is a tuple in which one row has 1 entries and another 2, and a table holds numbers, "
     "row by row",
     "give all rows the same length, and put nothing but numbers in them"),
    ("out[i] = BOTH[i]", "BOTH mixes bools and numbers",
     "write 0 and 1, or True and False, throughout"),
    ("out[i] = EMPTY[i]", "EMPTY has no elements", "give the table one at least"),
    ("out[i] = COMPLEX[i]", "COMPLEX is an array of complex128, and a table holds plain numbers",
     "convert it outside the kernel, for example COMPLEX.astype(np.float32)"),
    ("out[i] = DEEP[i]", "DEEP has 4 axes; 3 allowed",
     "reshape it to 3 axes or fewer outside the kernel"),
    ("out[i] = replaced(t)", "cells of replaced is an array and is assigned to",
     "use another name"),
]  # fmt: skip  # a line for what is written, what is said, and what to do


@pytest.mark.parametrize(("line", "problem", "fix"), MISTAKES, ids=[m[0] for m in MISTAKES])
def test_a_mistake_is_named_with_a_way_out(written: Written, refusal, line, problem, fix):
    body = "".join(f"    {part}\n" for part in line.splitlines())
    names = {
        "W": WEIGHTS, "K": SOBEL, "D": np.zeros(3), "BIG": BIG, "NONE": 0, "HALVES": (2, 1.5),
        "MIXED": (1, "two"),
        "RAGGED": ((1, 2), (3,)), "BOTH": (True, 2), "EMPTY": (), "replaced": replaced,
        "COMPLEX": np.zeros(2, complex), "DEEP": np.zeros((1, 1, 1, 1), np.float32),
    }  # fmt: skip  # a few to a line

    found: LanguageError = refusal(written(HEAD + body, **names))

    assert found.fix == fix
    assert found.problem.split(": ", 1)[1].splitlines()[0] == problem


def test_a_mistake_is_shown_where_it_is(written: Written, refusal):
    assert str(refusal(written(HEAD + "    out[i] = t[7]\n"))) == (
        "<cell 0>:4: index 7 of 't' is out of bounds; it has 4\n"
        "    out[i] = t[7]\n"
        "               ^\n"
        "Fix: use an index from 0 to 3"
    )


def test_local_is_for_kernels():
    with pytest.raises(LanguageError, match=r"vyre\.local\(\) works inside a kernel only"):
        vyre.local(f32, 4)


def test_a_name_may_be_an_array_again_where_the_one_before_has_ended():
    @vyre.kernel
    def again(x: In[f32], out: Out[f32]):
        i = vyre.gid()
        s = 0.0
        for step in (1, 2):
            if x[i] > f32(step):
                t = vyre.local(f32, 3)
                t[step] += x[i]
                s += t[0] + t[1] + 10 * t[2]
        for _ in range(2):
            t = vyre.local(f32, 2)
            t[1] += 1
            s += t[1]
        out[i] = s

    x = np.array([0, 1.5, 4], np.float32)
    for device in ("reference", "cpu"):
        assert np.asarray(again(vyre.open(device).array(x))).tolist() == [2, 3.5, 46]


def test_the_sizes_of_a_small_array_may_be_numbers_of_numpys(written: Written, run: Run):
    kernel = written(
        "def kernel(out: Out[f32]):\n"
        "    t = vyre.local(f32, EXTENTS)\n"
        "    out[0] = f32(100 * len(t) + t.shape[1])\n",
        EXTENTS=tuple(np.array([2, 3])),
    )
    out = np.zeros(1, np.float32)

    run(kernel, out=out)

    assert out[0] == 203
