"""Where kernels may be written, and what is said where they may not."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pytest

from vyre import lang
from vyre.errors import LanguageError
from vyre.lang import In, Out, Role, f32, u32

Run = Callable[..., None]


def message(fn: object) -> str:
    with pytest.raises(LanguageError) as caught:
        lang.translate(fn)  # type: ignore[arg-type]  # what is tested
    return str(caught.value)


def twice(wrapped: Callable[..., None]) -> Callable[..., None]:
    return wrapped


class Holder:
    @staticmethod
    @twice
    def kernel(x: In[f32], out: Out[f32]):
        """Text that
        keeps its own indentation.
        """
        i = lang.gid()
        out[i] = x[i]

    def method(self, out: Out[f32]):
        out[0] = 1


def test_annotations_as_text_are_understood_also_where_only_they_use_a_name(run: Run):
    element = u32
    factor = 3

    def kernel(x: In[element], out: Out[element]):
        i = lang.gid()
        out[i] = x[i] * factor

    out = np.zeros(2, np.uint32)
    run(kernel, shape=2, x=np.array([1, 2], np.uint32), out=out)

    assert out.tolist() == [3, 6]


def test_a_function_in_a_class_is_found_with_its_lines():
    found = lang.translate(Holder.kernel)

    assert (found.name, found.location.file) == ("kernel", __file__)
    assert found.location.line == Holder.kernel.__code__.co_firstlineno + 2
    assert str(found.location) == f"{__file__}:{found.location.line}"


def test_parameters_are_described_in_order():
    def kernel(x: In[f32, 2], out: Out[u32, (256,)], w: In[f32, (3, 3)], a: f32):
        out[0] = u32(x[0, 0] * w[2, 2] * a)

    params = lang.translate(kernel).params

    assert [str(param) for param in params] == [
        "x: In[f32, 2]",
        "out: Out[u32, (256,)]",
        "w: In[f32, (3, 3)]",
        "a: f32",
    ]
    assert [(p.role, p.rank, p.shape, p.count) for p in params] == [
        (Role.IN, 2, (), 0),
        (Role.OUT, 1, (256,), 256),
        (Role.IN, 2, (3, 3), 9),
        (Role.SCALAR, 0, (), 0),
    ]


def test_an_error_shows_the_line_of_the_file():
    def kernel(x: In[f32], out: Out[f32]):
        out[0] = x[0] + nowhere  # noqa: F821  # what is tested

    line = kernel.__code__.co_firstlineno + 1
    assert message(kernel) == (
        f"{__file__}:{line}: no name 'nowhere' here\n"
        "    out[0] = x[0] + nowhere  # noqa: F821  # what is tested\n"
        "                    ^^^^^^^\n"
        "Fix: give 'nowhere' a value before this line, or make it a parameter"
    )


def test_text_that_was_executed_has_no_source():
    scope: dict[str, Callable[..., None]] = {}
    # Named, because Python 3.13 keeps the text of `python -c`, by which tests start, as <string>.
    text = compile("def kernel(out):\n    pass\n", "<executed>", "exec")
    exec(text, scope)  # noqa: S102  # what is tested

    assert message(scope["kernel"]) == (
        "the source of kernel 'kernel' (<executed>) is not available\n"
        "Fix: write it in a file or a notebook cell, or put its text into linecache.cache"
    )


def test_what_is_not_a_plain_function_is_refused():
    async def waiting(out: Out[f32]):
        out[0] = 1

    small = lambda out: out  # noqa: E731  # what is tested
    line = small.__code__.co_firstlineno

    assert message(waiting) == (
        "'waiting' is an async def, and a kernel runs on the device\n"
        "Fix: write def instead of async def"
    )
    assert message(small) == (
        f"a lambda ({__file__}:{line}) cannot be a kernel\n"
        "Fix: write it as a def under @vyre.kernel"
    )
    assert message(len) == (
        "'len' is a built-in function, and a kernel is a function written in Python\n"
        "Fix: put @vyre.kernel above a def"
    )
    assert message(functools.partial(print)) == (
        "functools.partial(<built-in function print>) is a partial, "
        "and a kernel is a function written in Python\n"
        "Fix: put @vyre.kernel above a def"
    )
    assert message(Holder().method) == (
        "Holder.method is a method, and a kernel is a plain function\n"
        "Fix: move it out of the class, or make it a staticmethod above @vyre.kernel"
    )


def test_a_file_that_changed_since_it_was_loaded_is_noticed(tmp_path, monkeypatch):  # pytest's own
    file = tmp_path / "changing.py"
    file.write_text("def kernel(out):\n    pass\n")
    scope: dict[str, Callable[..., None]] = {}
    exec(compile(file.read_text(), str(file), "exec"), scope)  # noqa: S102  # what is tested
    file.write_text("def other(out):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)

    assert message(scope["kernel"]) == (
        f"the source of kernel 'kernel' ({file}:1) has changed since it was loaded\n"
        "Fix: load the module again"
    )


def test_a_function_is_still_one_on_the_host():
    @lang.function
    def square(v):  # takes any type
        return v * v

    assert (square(3), square.__name__) == (9, "square")
