"""Assignments, branches and loops, by what they compute."""

from collections.abc import Callable

import numpy as np
import pytest

from vyre import lang
from vyre.ir.node import Let
from vyre.ir.walk import statements
from vyre.lang import In, InOut, Out, f32, i32, i64, u8, u32

Run = Callable[..., None]
Translate = Callable[..., lang.Translation]
Written = Callable[..., Callable[..., None]]


def ints(count: int) -> np.ndarray:
    return np.zeros(count, np.int32)


def test_names_are_swapped_at_once(run: Run):
    def kernel(out: Out[i32]):
        a, b = 1, 2
        a, b = b, a + b
        out[0], out[1] = a, b

    out = ints(2)
    run(kernel, out=out)

    assert out.tolist() == [2, 3]


def test_elements_are_swapped_at_once(run: Run):
    def kernel(x: InOut[i32]):
        x[0], x[1] = x[1], x[0]

    x = np.array([5, 6], np.int32)
    run(kernel, x=x)

    assert x.tolist() == [6, 5]


def test_one_value_goes_to_several_targets(run: Run):
    def kernel(c: InOut[i32], out: Out[i32]):
        a = out[0] = lang.atomic_add(c, 0, 1)
        out[1] = a

    c, out = np.array([7], np.int32), ints(2)
    run(kernel, c=c, out=out)

    assert (c[0], out.tolist()) == (8, [7, 7])


def test_a_scalar_parameter_can_be_given_a_new_value(run: Run):
    def kernel(out: Out[i32], n: i32):
        while n > 10:
            n //= 2
        out[0] = n

    out = ints(1)
    run(kernel, out=out, n=100)

    assert out[0] == 6


def test_a_name_given_a_value_on_every_path_has_one_after(run: Run):
    def kernel(x: In[i32], out: Out[i32]):
        i = lang.gid()
        if x[i] > 10:
            if x[i] > 20:
                v = 3
                out[i] = -1
            else:
                v = 2
        elif x[i] < 0:
            return
        else:
            v = 1
        if x[i] == 15:
            v = 9
        out[i] = v

    out = ints(5)
    run(kernel, shape=5, x=np.array([5, 12, 15, 30, -1], np.int32), out=out)

    assert out.tolist() == [1, 2, 9, 3, 0]


def test_a_name_of_two_branches_that_nobody_reads_later_stays_in_them(translate: Translate):
    def kernel(x: In[f32], n: In[i32], out: Out[f32]):
        if n[0] > 0:
            t = x[0]
            out[0] = t
        else:
            t = n[0]
            out[0] = f32(t)
        t = n[1]
        out[1] = f32(t)

    names = [
        node.name for node in statements(translate(kernel).program.entry) if isinstance(node, Let)
    ]

    assert names == ["t", "t", "t"]


@pytest.mark.parametrize("dtype", ["i8", "u8", "i32", "u32", "i64", "u64"])
@pytest.mark.parametrize(
    "bounds",
    [
        (0, 5, 2),
        (5, 0, -1),
        (100, 1, -33),
        (0, 127, 50),
        (7, 7, 3),
        (9, 3, 2),
        (3, 9, -2),
        (1, 4, 1),
    ],
)
def test_a_range_visits_what_pythons_visits(
    dtype: str, bounds: tuple[int, int, int], written: Written, run: Run
):
    start, stop, step = bounds
    numpy = np.dtype({"u": "uint", "i": "int"}[dtype[0]] + dtype[1:])
    kernel = written(
        f"def kernel(b: In[{dtype}], out: InOut[{dtype}]):\n"
        "    n = 0\n"
        f"    for k in range(b[0], b[1], {step}):\n"
        "        out[n] = k\n"
        "        n += 1\n"
        f"    for k in range({start}, {stop}, {step}):\n"
        "        out[n] = k + b[2]\n"
        "        n += 1\n"
    )
    out = np.full(20, 99, numpy)

    run(kernel, b=np.array([start, stop, 0], numpy), out=out)

    expected = [*range(start, stop, step)] * 2
    assert out.tolist() == expected + [99] * (20 - len(expected))


def test_a_range_over_a_whole_type_does_not_overflow(run: Run):
    def kernel(b: In[lang.i8], out: InOut[u32]):
        n = 0
        for _k in range(b[0], b[1], 3):
            n += 1
        for _k in range(b[1], b[0], -2):
            n += 1000
        out[0] = n

    out = np.zeros(1, np.uint32)
    run(kernel, b=np.array([-128, 127], np.int8), out=out)

    assert out[0] == len(range(-128, 127, 3)) + 1000 * len(range(127, -128, -2))


def test_the_bounds_of_a_range_are_taken_once(run: Run):
    def kernel(out: InOut[i32], n: i32):
        s = 0
        for k in range(n, n + 10, 3):
            n = 0
            s += k
        out[0] = s + n

    out = ints(1)
    run(kernel, out=out, n=5)

    assert out[0] == sum(range(5, 15, 3))


def test_a_loops_variable_can_be_changed_for_one_round(run: Run):
    def kernel(out: InOut[i32]):
        for k in range(4):
            if k == 2:
                k = 10  # what is tested
            out[0] += k

    out = ints(1)
    run(kernel, out=out)

    assert out[0] == 0 + 1 + 10 + 3


def test_break_and_continue_leave_the_innermost_loop(run: Run):
    def kernel(out: InOut[i32]):
        for j in range(3):
            k = 0
            while True:
                k += 1
                if k == 2:
                    continue
                if k > 4:
                    break
                out[j] += k

    out = ints(3)
    run(kernel, out=out)

    assert out.tolist() == [8, 8, 8]


def test_what_a_while_condition_does_is_done_in_every_round(run: Run):
    def kernel(c: InOut[u32], out: InOut[u32]):
        while lang.atomic_add(c, 0, 1) < 5:
            out[0] += 1

    c, out = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    run(kernel, c=c, out=out)

    assert (c[0], out[0]) == (6, 5)


def test_an_effect_happens_only_where_python_would_have_it(run: Run):
    def kernel(c: InOut[u32], out: InOut[u32], n: u32):
        a = n > 3 and lang.atomic_add(c, 0, 1) == 0
        b = n > 3 or lang.atomic_add(c, 1, 1) == 0
        out[0] = lang.atomic_add(c, 2, 1) if n > 3 else lang.atomic_add(c, 3, 1) + 7
        if a == b:
            out[1] = 1

    for n, counts, results in ((1, [0, 1, 0, 1], [7, 0]), (9, [1, 0, 1, 0], [0, 1])):
        c, out = np.zeros(4, np.uint32), np.zeros(2, np.uint32)
        run(kernel, c=c, out=out, n=n)

        assert (c.tolist(), out.tolist()) == (counts, results)


def test_values_are_read_in_the_order_python_reads_them(run: Run):
    def kernel(c: InOut[u32], out: Out[u32]):
        out[0] = c[0] * 100 + lang.atomic_add(c, 0, 1) * 10 + c[0]
        c[1] += lang.atomic_add(c, 1, 5)
        c[lang.atomic_add(c, 2, 1)] = c[2]

    c, out = np.array([1, 20, 3, 0], np.uint32), np.zeros(1, np.uint32)
    run(kernel, c=c, out=out)

    assert out[0] == 112
    assert c.tolist() == [2, 40, 4, 3]


def test_the_index_of_an_augmented_store_is_computed_once(run: Run):
    def kernel(c: InOut[u32], out: InOut[u32]):
        out[lang.atomic_add(c, 0, 1)] += 5

    c, out = np.zeros(1, np.uint32), np.zeros(3, np.uint32)
    run(kernel, c=c, out=out)

    assert (c[0], out.tolist()) == (1, [5, 0, 0])


def test_a_chained_comparison_asks_its_middle_once(run: Run):
    def kernel(c: InOut[u32], out: Out[u8]):
        out[0] = u8(1 < lang.atomic_add(c, 0, 1) < 3)

    for start, expected in ((1, 0), (2, 1), (3, 0)):
        c, out = np.array([start], np.uint32), np.zeros(1, np.uint8)
        run(kernel, c=c, out=out)

        assert (c[0], out[0]) == (start + 1, expected)


def test_lines_after_a_return_are_not_looked_at(run: Run):
    def kernel(out: Out[i32]):
        out[0] = 1
        return
        out[0] = undefined  # noqa: F821  # never looked at

    out = ints(1)
    run(kernel, out=out)

    assert out[0] == 1


def test_a_very_long_sum_is_cut_into_parts(written: Written, run: Run):
    kernel = written(
        "def kernel(x: In[i64], out: Out[i64]):\n    out[0] = " + " + ".join(["x[0]"] * 150) + "\n"
    )
    out = np.zeros(1, np.int64)

    run(kernel, x=np.array([3]), out=out)

    assert out[0] == 450


def test_names_never_clash_with_arrays_or_each_other(run: Run):
    @lang.function
    def step(x):  # takes any type
        value = x + 1
        x = value * 2
        return x + 0

    def kernel(x: In[i64], out: Out[i64], value: i64):
        old_value = x[0]
        x_2 = step(old_value)
        value += step(step(x_2))
        out[0] = value

    out = np.zeros(1, np.int64)
    run(kernel, x=np.array([1]), out=out, value=1000)

    assert out[0] == 1000 + (((1 + 1) * 2 + 1) * 2 + 1) * 2
