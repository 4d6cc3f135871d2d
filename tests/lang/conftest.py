"""What the tests of the kernel language share: translate, check, and run on the reference."""

import linecache
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from vyre import lang
from vyre.backend import reference
from vyre.errors import LanguageError
from vyre.ir.types import SCALARS
from vyre.ir.validate import check

_EXTENT_AXES = 3
_TYPES = [str(dtype) for dtype in SCALARS if not dtype.is_bool] + ["bool_"]


def _translate(fn: Callable[..., None], **options: Any) -> lang.Translation:
    found = lang.translate(fn, **options)
    check(found.program)
    return found


def _run(
    fn: Callable[..., None],
    *,
    shape: int | tuple[int, ...] = 1,
    options: dict[str, Any] | None = None,
    **arrays: Any,  # numbers and arrays by name
) -> None:
    """Run `fn` over `shape`, axes in NumPy's order; arrays change in place."""
    found = _translate(fn, **(options or {}))
    axes = (shape,) if isinstance(shape, int) else shape
    x, y, z = (*reversed(axes), 1, 1)[:_EXTENT_AXES]
    given = {}
    for param in found.params:
        value = arrays[param.name]
        if param.role is lang.Role.SCALAR:
            kind = {"bool": "uint32"}.get(str(param.dtype)) or _numpy(str(param.dtype))
            value = np.array([value], kind)
        given[param.name] = value
    reference.run(found.program, given, (x, y, z))


def _numpy(name: str) -> str:
    return {"f": "float", "u": "uint", "i": "int"}[name[0]] + name[1:]


def _refusal(fn: Callable[..., None], **options: Any) -> LanguageError:
    with pytest.raises(LanguageError) as caught:
        lang.translate(fn, **options)
    return caught.value


@pytest.fixture
def translate() -> Callable[..., lang.Translation]:
    return _translate


@pytest.fixture
def run() -> Callable[..., None]:
    return _run


@pytest.fixture
def refusal() -> Callable[..., LanguageError]:
    return _refusal


@pytest.fixture
def written() -> Iterator[Callable[..., Callable[..., None]]]:
    """Makes a function of its source text, as a notebook cell does."""
    made: list[str] = []

    def make(source: str, name: str = "kernel", **names: object) -> Callable[..., None]:
        file = f"<cell {len(made)}>"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        made.append(file)
        types = {word: getattr(lang, word) for word in ("In", "Out", "InOut", *_TYPES)}
        scope: dict[str, Any] = {**types, "vyre": lang, **names}
        exec(compile(source, file, "exec"), scope)  # noqa: S102  # the test's own text
        found = scope[name]
        assert callable(found)
        return found  # type: ignore[no-any-return]  # a function that the text defines

    yield make
    for file in made:
        linecache.cache.pop(file, None)
