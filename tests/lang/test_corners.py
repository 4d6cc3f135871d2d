"""Small rules that keep kernels meaning what Python means."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from vyre import lang
from vyre.errors import LanguageError
from vyre.ir.expr import FlatIndex
from vyre.ir.node import If, Let, Store
from vyre.ir.walk import statements
from vyre.lang import In, InOut, Out, f32, i32, u32

Run = Callable[..., None]
Translate = Callable[..., lang.Translation]
Written = Callable[..., Callable[..., None]]


def names_bound(found: lang.Translation) -> list[str]:
    return [node.name for node in statements(found.program.entry) if isinstance(node, Let)]


def test_a_type_from_around_the_kernel_serves_lines_and_annotations(run: Run):
    element = u32

    def kernel(x: In[f32], out: Out[element]):
        out[0] = element(x[0])

    out = np.zeros(1, np.uint32)
    run(kernel, x=np.array([3.7], np.float32), out=out)

    assert out[0] == 3


def test_a_scope_around_the_kernel_may_lack_a_name_still():
    def make() -> Callable[..., None]:
        def kernel(out: Out[f32]):
            out[0] = later

        return_it = kernel
        if return_it is None:
            later = 1
        return return_it

    with pytest.raises(LanguageError, match="no name 'later' here"):
        lang.translate(make())


def test_the_result_of_an_atomic_has_the_authors_name(translate: Translate):
    def kernel(c: InOut[u32], out: Out[u32]):
        ticket = lang.atomic_add(c, 0, 1)
        out[ticket] = 1

    assert names_bound(translate(kernel)) == ["ticket"]


def test_the_result_of_an_atomic_may_go_by_two_names(run: Run, written: Written):
    kernel = written(
        "@vyre.function\n"
        "def same(p):\n"
        "    return p\n"
        "@vyre.function\n"
        "def both(p):\n"
        "    q = same(p)\n"
        "    return 10 * q + p\n"
        "def kernel(c: InOut[u32], out: Out[u32]):\n"
        "    out[0] = both(vyre.atomic_add(c, 0, 1))\n"
    )

    out = np.zeros(1, np.uint32)
    run(kernel, c=np.array([7], np.uint32), out=out)

    assert out.tolist() == [77]


def test_a_variable_may_be_annotated_again(run: Run):
    def kernel(out: Out[f32]):
        s: f32 = 1
        s: f32 = s + 0.5
        out[0] = s

    out = np.zeros(1, np.float32)
    run(kernel, out=out)

    assert out[0] == 1.5


def test_signed_numbers_shift_and_rotate_by_unsigned_counts(run: Run):
    def kernel(x: In[i32], out: Out[i32], by: u32):
        out[0] = x[0] >> by
        out[1] = lang.rotl(x[0], by)
        out[2] = ~5 & x[1]
        base = 3
        out[3] = base**4

    out = np.zeros(4, np.int32)
    run(kernel, x=np.array([-256, 7], np.int32), out=out, by=4)

    assert out.tolist() == [-16, -4081, 2, 81]


def test_an_atomic_takes_its_index_before_its_value(run: Run):
    def kernel(c: InOut[u32]):
        lang.atomic_add(c, c[0], lang.atomic_add(c, 0, 1))

    c = np.array([1, 10, 100], np.uint32)
    run(kernel, c=c)

    assert c.tolist() == [2, 11, 100]


def test_an_atomic_on_more_axes_takes_a_tuple(run: Run):
    def kernel(c: InOut[u32, 2]):
        lang.atomic_add(c, (lang.gid(0), 1), 5)
        lang.atomic_add(c, (7, 7), 5)

    c = np.zeros((2, 2), np.uint32)
    run(kernel, shape=2, c=c)

    assert c.tolist() == [[0, 5], [0, 5]]


def test_an_augmented_store_keeps_its_axes_in_sight(translate: Translate):
    def kernel(x: InOut[f32, 2]):
        i, j = lang.gid(0), lang.gid(1)
        x[i, j] *= 2

    found = translate(kernel)
    (store,) = [node for node in statements(found.program.entry) if isinstance(node, Store)]

    assert isinstance(store.index, FlatIndex)


def test_nothing_is_made_of_lines_that_do_nothing(
    translate: Translate, written: Callable[..., Callable[..., None]]
):
    kernel = written(
        "def kernel(out: Out[f32]):\n"
        '    """Says what it does."""\n'
        "    ...\n"
        "    while False:\n"
        "        out[0] = 1\n"
    )

    nodes = [type(node).__name__ for node in statements(translate(kernel).program.entry)]

    assert nodes == ["Region"]


def test_a_test_of_a_literal_is_still_a_test(run: Run):
    def kernel(w: In[f32, (5,)], out: Out[u32]):
        out[0] = w.size if lang.isfinite(2.5) else 0

    out = np.zeros(1, np.uint32)
    run(kernel, w=np.zeros(5, np.float32), out=out)

    assert out[0] == 5


def test_two_sides_with_names_of_their_own_become_branches(run: Run, translate: Translate):
    @lang.function
    def spread(v):
        wide = v * 2
        return wide * wide

    def kernel(x: In[u32], out: Out[u32]):
        i = lang.gid()
        out[i] = spread(x[i]) if x[i] > 2 else spread(x[i] + 100)

    out = np.zeros(2, np.uint32)
    run(kernel, shape=2, x=np.array([1, 5], np.uint32), out=out)

    assert out.tolist() == [202**2, 100]
    assert any(isinstance(node, If) for node in statements(translate(kernel).program.entry))


def test_two_sides_that_only_compute_become_a_select(translate: Translate):
    def kernel(x: In[u32], out: Out[u32]):
        i = lang.gid()
        out[i] = x[i] ** 3 if x[i] > 2 else (x[i] + 1) ** 2

    assert not any(isinstance(node, If) for node in statements(translate(kernel).program.entry))


def test_a_function_works_on_arrays_that_it_is_given(run: Run):
    @lang.function
    def dot(p: In[f32], q, at):
        s = 0.0
        for k in range(len(p)):
            s += p[k] * q[k]
        q[at] = s

    def kernel(x: In[f32], y: InOut[f32]):
        dot(x, y, at=lang.gid())

    y = np.array([1, 2], np.float32)
    run(kernel, x=np.array([3, 4], np.float32), y=y)

    assert y.tolist() == [11, 2]


def test_one_name_may_mean_a_variable_in_several_functions(translate: Translate):
    @lang.function
    def inner(v):
        t = v + 1
        t *= 2
        return t

    @lang.function
    def outer(v):
        t = inner(v)
        t += inner(t)
        return t

    def kernel(x: In[i32], out: Out[i32]):
        t = x[0]
        t += outer(t)
        out[0] = t

    assert names_bound(translate(kernel)) == ["t", "t_2", "t_3", "t_4"]


def test_the_least_and_the_greatest_of_known_numbers_are_the_languages_own(run: Run):
    """Python takes the first of zeros, and goes by NaN where that comes first."""

    def kernel(out: Out[f32]):
        out[0] = max(-0.0, 0.0)
        out[1] = min(0.0, -0.0)
        out[2] = max(math.nan, 1.0)
        out[3] = min(math.nan, 2, 3.5)
        out[4] = max(0, -0.0)
        out[5] = min(3, 2)

    out = np.zeros(6, np.float32)
    run(kernel, out=out)

    assert out.tolist() == [0, 0, 1, 2, 0, 2]
    assert np.signbit(out).tolist() == [False, True, False, False, False, False]
