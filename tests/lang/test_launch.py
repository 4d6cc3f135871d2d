"""Positions, ranks and workgroups."""

from collections.abc import Callable

import numpy as np
import pytest

from vyre import lang
from vyre.errors import InvalidInput
from vyre.ir.declare import Access
from vyre.lang import In, InOut, Out, f32, u32

Run = Callable[..., None]
Translate = Callable[..., lang.Translation]


def test_axes_count_as_numpys_and_the_last_is_the_fastest(run: Run):
    def kernel(out: Out[u32, 2]):
        i, j = lang.gid(0), lang.gid(axis=1)
        out[i, j] = i * 100 + j * 10 + lang.extent(1)

    out = np.zeros((2, 3), np.uint32)
    run(kernel, shape=(2, 3), out=out)

    assert out.tolist() == [[3, 13, 23], [103, 113, 123]]


def test_three_axes_work_alike(run: Run):
    def kernel(x: In[u32, 3], out: Out[u32, (2, 3, 4)]):
        i, j, k = lang.gid(0), lang.gid(1), lang.gid(2)
        out[i, j, k] = x[i, j, k] + x[i, j, k + 1]

    x = np.arange(24, dtype=np.uint32).reshape(2, 3, 4)
    out = np.zeros_like(x)
    run(kernel, shape=(2, 3, 4), x=x, out=out)

    assert out.tolist() == (x + np.pad(x, ((0, 0), (0, 0), (0, 1)))[:, :, 1:]).tolist()


def test_a_kernel_that_asks_for_no_position_has_no_axes(translate: Translate):
    def kernel(x: In[f32], out: Out[f32], c: InOut[u32]):
        out[0] = sum(x[k] for k in range(len(x)))
        lang.atomic_add(c, 0, 1)

    assert translate(kernel).rank == 0
    assert translate(kernel, workgroup=64).rank == 0


def test_a_kernel_that_asks_for_any_position_or_size_has_axes(
    translate: Translate, written: Callable[..., Callable[..., None]]
):
    for line in (
        "out[0] = vyre.gid()",
        "out[0] = vyre.extent()",
        "out[0] = vyre.local_id()",
        "out[0] = vyre.workgroup_id()",
        "out[0] = vyre.workgroup_size()",
        "out[0] = sum(vyre.gid() for k in range(3))",
        "vyre.barrier()",
        "tile = vyre.shared(f32, 4)",
        "out[0] = here()",
    ):
        text = "@vyre.function\ndef here():\n    return vyre.gid()\n\n"
        kernel = written(f"{text}def kernel(out: Out[u32]):\n    {line}\n")

        assert translate(kernel, workgroup=64).rank == 1, line


def test_a_workgroup_is_given_in_numpys_order_and_kept_in_the_programs(translate: Translate):
    def kernel(out: Out[u32, 2]):
        out[lang.gid(0), lang.gid(1)] = lang.local_id(0) + lang.workgroup_size(1)

    found = translate(kernel, workgroup=(4, 32))

    assert found.program.workgroup_size == found.declared_workgroup == (32, 4, 1)
    assert translate(kernel, workgroup=64).declared_workgroup == (64, 1, 1)
    assert translate(kernel, workgroup=(1, 4, 32)).declared_workgroup == (32, 4, 1)


def test_a_workgroup_that_is_not_declared_is_64(translate: Translate):
    def kernel(out: Out[u32]):
        out[lang.gid()] = 1

    found = translate(kernel)

    assert (found.declared_workgroup, found.program.workgroup_size) == (None, (64, 1, 1))


def test_lanes_of_a_workgroup_share_memory(run: Run, translate: Translate):
    def kernel(x: In[f32], out: Out[f32]):
        tile = lang.shared(f32, 4)
        here = lang.local_id()
        tile[here] = x[lang.gid()]
        lang.barrier()
        out[lang.workgroup_id() * 4 + here] = tile[3 - here]

    x = np.arange(8, dtype=np.float32)
    out = np.zeros(8, np.float32)
    run(kernel, shape=8, options={"workgroup": 4}, x=x, out=out)

    assert out.tolist() == [3, 2, 1, 0, 7, 6, 5, 4]
    tile = translate(kernel, workgroup=4).program.buffer("tile")
    assert (tile.access, tile.count) == (Access.WORKGROUP, 4)


def test_workgroup_memory_takes_atomics_and_augmented_stores(run: Run):
    def kernel(x: In[u32], out: InOut[u32]):
        counts = lang.shared(u32, 2)
        lang.atomic_add(counts, x[lang.gid()] % 2, 1)
        lang.barrier()
        if lang.local_id() < 2:
            lang.atomic_add(out, lang.local_id(), counts[lang.local_id()])

    out = np.zeros(2, np.uint32)
    x = np.array([1, 3, 4, 5, 7, 8, 9, 11], np.uint32)
    run(kernel, shape=8, options={"workgroup": 4}, x=x, out=out)

    assert out.tolist() == [2, 6]


def test_a_workgroup_may_be_computed_by_numpy():
    def kernel(out: Out[u32]):
        out[0] = 1

    made = lang.translate(kernel, workgroup=np.int64(32))  # type: ignore[arg-type]  # what is tested

    assert made.declared_workgroup == (32, 1, 1)


@pytest.mark.parametrize("workgroup", [0, 1.5, (), (1, 2, 3, 4), (8, -1), (True,), "ab"])
def test_a_workgroup_is_one_to_three_sizes(workgroup: object):
    def kernel(out: Out[u32]):
        out[0] = 1

    with pytest.raises(InvalidInput) as caught:
        lang.translate(kernel, workgroup=workgroup)  # type: ignore[arg-type]  # what is tested

    assert str(caught.value) == (
        f"workgroup {workgroup!r} of kernel is not 1 to 3 whole numbers from 1\n"
        "Fix: use workgroup=256 or workgroup=(8, 32)"
    )


def test_a_workgroup_has_no_more_axes_than_the_kernel():
    def kernel(out: Out[u32]):
        out[lang.gid()] = 1

    with pytest.raises(InvalidInput) as caught:
        lang.translate(kernel, workgroup=(8, 32))

    assert str(caught.value) == (
        "workgroup (8, 32) has 2 axes, and kernel uses gid of 1\n"
        "Fix: give 1 of them, or use vyre.gid(1) in the kernel"
    )


def test_options_go_into_the_program(translate: Translate):
    def kernel(x: In[f32], a: Out[f32], b: InOut[f32]):
        i = lang.gid()
        a[i] = x[i]
        b[i] += x[i]

    options = translate(kernel, fast_math=True, unique_writes=("b", "a")).program.options

    assert (options.fast_math, options.unique_writes) == (True, ("a", "b"))


def test_one_name_of_unique_writes_may_stand_alone(translate: Translate):
    def kernel(x: In[f32], out: Out[f32], o: Out[f32]):
        out[lang.gid()] = o[lang.gid()] = x[lang.gid()]

    for given in ("out", ["out"], {"out"}, ("out", "out"), (name for name in ("out",))):
        assert translate(kernel, unique_writes=given).program.options.unique_writes == ("out",)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (("x",), "names 'x'; it writes a"),
        ("x", "names 'x'; it writes a"),
        ("ab", "names 'ab'; it writes a"),
        (("a", "b"), "names 'b'; it writes a"),
        ("", "names ''; it writes a"),
        ((3,), "names 3; it writes a"),
        (b"a", "names 97; it writes a"),
        (3, "is 3, which names nothing"),
        (None, "is None, which names nothing"),
        (True, "is True, which names nothing"),
    ],
)
def test_unique_writes_name_written_arrays(given: object, problem: str):
    def kernel(x: In[f32], a: Out[f32]):
        a[lang.gid()] = x[lang.gid()]

    with pytest.raises(InvalidInput) as refused:
        lang.translate(kernel, unique_writes=given)

    assert str(refused.value) == (
        f"unique_writes of kernel {problem}\nFix: name an Out or InOut parameter"
    )


def test_a_kernel_that_writes_nothing_states_nothing():
    def kernel(x: In[f32]):
        pass

    with pytest.raises(InvalidInput) as refused:
        lang.translate(kernel, unique_writes="x")

    assert str(refused.value) == (
        "unique_writes of kernel names 'x'; it writes nothing\nFix: leave unique_writes out"
    )
