"""What a call covers where the arrays that say so are not those that positions index."""

from collections.abc import Callable

import numpy as np
import pytest

import vyre
from vyre import In, InOut, Out, f32, lang, u32
from vyre.errors import InvalidInput
from vyre.lang.covering import Along

Translate = Callable[..., lang.Translation]

WIDE, V = np.ones((3, 5), np.float32), np.ones(5, np.float32)


@vyre.kernel
def matrix_vector(a: In[f32, 2], v: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = sum(a[i, k] * v[k] for k in range(len(v)))


@vyre.kernel
def weighted_columns(a: In[f32, 2], v: In[f32], out: Out[f32]):
    j = vyre.sgid()
    s = 0.0
    for k in range(len(v)):
        s += a[k, j] * v[k]
    out[j] = s


def test_the_shape_of_what_no_position_indexes_is_not_guessed():
    with pytest.raises(InvalidInput) as caught:
        matrix_vector(WIDE, V)

    assert str(caught.value) == (
        "matrix_vector would cover 5, the shape of v, which positions do not index; they index "
        "axis 0 of a, which has 3\n"
        "Fix: pass shape=3 to cover what a has, or shape=5"
    )
    assert matrix_vector(WIDE, V, shape=3).tolist() == [5, 5, 5]
    assert matrix_vector(WIDE, V, shape=5).tolist() == [5, 5, 5, 0, 0]
    assert matrix_vector(WIDE, V, out=np.zeros(3, np.float32)).tolist() == [5, 5, 5]


@vyre.kernel
def row_totals(x: In[f32, 2], out: Out[f32]):
    i = vyre.gid()
    out[i] = sum(x[i, k] for k in range(x.shape[1]))


@vyre.kernel
def outer_sums(a: In[f32], b: In[f32], out: Out[f32, 2]):
    i, j = vyre.gid()
    out[i, j] = a[i] + b[j]


@vyre.kernel
def both_ways(a: In[f32, 2], out: Out[f32]):
    i = vyre.gid()
    out[i] = sum(a[i, k] * a[k, i] for k in range(len(a)))


@pytest.mark.parametrize(
    ("kernel", "arrays", "fix"),
    [
        (row_totals, (WIDE,), "pass shape=3 to cover axis 0 of x, or another shape"),
        (
            outer_sums,
            (V, V[:2]),
            "pass shape=(5, 2) to cover axis 0 of a and axis 0 of b, or another shape",
        ),
        (both_ways, (WIDE,), "pass shape= with the shape to cover"),
    ],
)
def test_what_positions_index_is_named_where_no_array_says_what_is_covered(
    kernel: vyre.Kernel, arrays: tuple[np.ndarray, ...], fix: str
):
    with pytest.raises(InvalidInput) as caught:
        kernel(*arrays)

    assert str(caught.value) == (
        f"no array of this call says how many elements {kernel.name} covers\nFix: {fix}"
    )


def test_positions_may_index_any_axis():
    with pytest.raises(InvalidInput, match="they index axis 1 of a, which has 5"):
        weighted_columns(WIDE, np.ones(3, np.float32))

    assert weighted_columns(WIDE.T.copy(), V, shape=3).tolist() == [5, 5, 5]


def test_what_agrees_needs_no_shape():
    assert matrix_vector(np.ones((5, 5), np.float32), V).tolist() == [5] * 5


@vyre.kernel
def of_rows(a: In[f32, 2], v: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = v[i] + a[i, 0]


@vyre.kernel
def up_to_here(a: In[f32, 2], v: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = sum(v[k] for k in range(i + 1)) + a[i, 0]


@vyre.kernel
def by_a_name(a: In[f32, 2], v: In[f32], out: Out[f32]):
    i = vyre.gid()
    at = 0
    while at < 9:
        if i == at:
            break
        at += 1
    out[i] = v[at] + a[i, 0]


@vyre.kernel
def at_the_edge(a: In[f32, 2, "clamp"], v: In[f32], out: Out[f32]):  # noqa: F821  # no name
    i = vyre.gid()
    out[i] = sum(v[k] for k in range(len(v))) + a[i, 0]


@vyre.kernel
def of_fixed_rows(a: In[f32, (3, 5)], v: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = sum(v[k] for k in range(len(v))) + a[i, 0]


@pytest.mark.parametrize(
    "kernel", [of_rows, up_to_here, by_a_name, at_the_edge, of_fixed_rows], ids=lambda k: k.__name__
)
def test_arrays_that_positions_reach_say_what_is_covered(kernel: Callable[..., np.ndarray]):  # type: ignore[type-arg]  # of f32
    assert kernel(WIDE, V).shape == (5,)


def test_positions_are_found_through_names_that_stay(translate: Translate):
    def kernel(a: In[f32, 3], b: In[f32, 3], x: InOut[f32, 2], n: In[u32]):
        i, j = lang.gid()
        here = j
        i2 = i
        i2 += 1
        for k in range(4):
            x[i, here] += a[k, i, here] + b[i2, k, i + 1]
        x[i, j] += b[n[0], k_of(i), 0]

    covering = translate(kernel).covering
    assert covering.along == (
        Along("a", 1, 0),
        Along("a", 2, 1),
        Along("x", 0, 0),
        Along("x", 1, 1),
    )
    assert covering.placed == {"a", "b", "x"}


@vyre.function
def k_of(i):  # type: ignore[no-untyped-def]  # a function of kernels takes what it is given
    return i * 2
