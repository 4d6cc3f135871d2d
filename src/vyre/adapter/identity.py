"""What a function of Python's is, as a text: a change of it that may change its times shows there.

Source, the plain values that it takes from around it, the functions it calls by their names, and
the versions of the libraries it names, as they are when it is first called. What it finds as an
attribute, of a module of the user's own or of an object, is not followed.
"""

from __future__ import annotations

import functools
import inspect
import marshal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

import blake3

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_HOLDING = (tuple, list, frozenset, set, dict)
_DEEPEST = 8
_MOST_SHOWN = 1000
"""Elements of a plain value that are told one by one: there may be millions, and a caller waits."""

_MARSHALLED = 2  # the last format in which who else holds a value changes nothing


def text_of(function: Callable[..., Any]) -> str:
    """Everything of a function that another process can be asked to have as well.

    >>> def double(x): return 2 * x
    >>> text_of(double) == text_of(double)
    True
    """
    return "\n".join(_lines(function, _library(_module(function)), set(), _DEEPEST))


def digest_of(parts: Iterable[str]) -> str:
    """Texts as one that is short: a choice is looked up by it for every new size.

    >>> digest_of(("a", "b")) == digest_of(("a", "b")) != digest_of(("ab",))
    True
    """
    return blake3.blake3("\n".join(parts).encode(errors="replace")).hexdigest()


def _lines(function: Any, home: str, seen: set[int], depth: int) -> Iterator[str]:
    if id(function) in seen or not depth:
        return
    seen.add(id(function))
    if isinstance(function, functools.partial):
        yield f"partial {_shown(function.args)} {_shown(function.keywords)}"
        yield from _lines(function.func, home, seen, depth - 1)
        return
    inner = getattr(function, "__wrapped__", None)
    if callable(inner):
        yield from _lines(inner, home, seen, depth - 1)
    module = _module(function)
    name = getattr(function, "__qualname__", type(function).__qualname__)
    version = _version(module)
    yield f"{module}.{name} {version}".rstrip()
    if version and _library(module) != home:  # which says all of it
        return
    method = getattr(function, "__func__", function)
    code = getattr(method, "__code__", None)
    if not isinstance(code, CodeType):
        call = getattr(type(function), "__call__", None)  # noqa: B004  # its code is asked for
        if isinstance(call, FunctionType):
            yield from _lines(call, home, seen, depth - 1)
        return
    yield _source(code)
    yield f"{_shown(method.__defaults__)} {_shown(method.__kwdefaults__)}"
    for name, value in _around(method, code):
        if isinstance(value, ModuleType):
            yield f"{name} = {value.__name__} {_version(value.__name__)}".rstrip()
        elif _is_plain(value):
            yield f"{name} = {_shown(value)}"
        elif callable(value):
            yield f"{name}:"
            yield from _lines(value, home, seen, depth - 1)


def _module(function: Any) -> str:
    inner = function.func if isinstance(function, functools.partial) else function
    return str(getattr(inner, "__module__", None) or type(inner).__module__)


def _library(module: str) -> str:
    return module.partition(".")[0]


def _version(module: str) -> str:
    """The version of the library that a module belongs to, where it has one."""
    version = getattr(sys.modules.get(_library(module)), "__version__", "")
    return version if isinstance(version, str) else ""


def _source(code: CodeType) -> str:
    if code.co_name == "<lambda>":  # several can stand in one line
        return _bytecode(code)
    try:
        # Of the code and not of the function: that would be what a wrapper wraps.
        return _undecorated(inspect.getsource(code))
    except OSError:  # typed in, or made by a program
        return _bytecode(code)


def _undecorated(source: str) -> str:
    """The source from its `def` on: another space above it is the same function."""
    lines = source.splitlines()
    begins = [n for n, one in enumerate(lines) if one.lstrip().startswith(("def ", "async def "))]
    return "\n".join(lines[begins[0] :] if begins else lines)


def _bytecode(code: CodeType) -> str:
    parts = [code.co_code.hex(), " ".join(code.co_names)]
    parts += [
        _bytecode(one) if isinstance(one, CodeType) else _shown(one) for one in code.co_consts
    ]
    return "\n".join(parts)


def _around(function: Any, code: CodeType) -> Iterator[tuple[str, Any]]:
    """What the function finds by name outside of itself: in closures, then among globals."""
    cells = function.__closure__ or ()
    for name, cell in zip(code.co_freevars, cells, strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not set yet
            continue
    for name in sorted(_names(code)):
        if name in function.__globals__:
            yield name, function.__globals__[name]


def _names(code: CodeType) -> set[str]:
    found = set(code.co_names)
    for one in code.co_consts:
        if isinstance(one, CodeType):
            found |= _names(one)
    return found


def written(value: Any) -> str:
    """A plain value exactly; a whole number that is too long for decimals by its bits."""
    try:
        return repr(value)
    except ValueError:
        return hex(value) if type(value) is int else type(value).__qualname__


def _is_plain(value: Any, around: tuple[int, ...] = ()) -> bool:
    """Whether a value is numbers and texts all through; what holds itself is not."""
    if type(value) in _PLAIN:
        return True
    if type(value) not in _HOLDING or id(value) in around:
        return False
    if len(value) > _MOST_SHOWN:
        return _digest_of_much(value) is not None
    held = [one for pair in value.items() for one in pair] if type(value) is dict else value
    return all(_is_plain(one, (*around, id(value))) for one in held)


def _digest_of_much(value: Any) -> str | None:
    """What tells a large plain value apart, quickly; None where something in it is not plain."""
    try:
        return blake3.blake3(marshal.dumps(value, _MARSHALLED)).hexdigest()
    except ValueError:
        return None


def _shown(value: Any, around: tuple[int, ...] = ()) -> str:
    """A plain value as its text; of anything else its type, as its text may hold addresses."""
    if id(value) in around:
        return "itself"
    if type(value) in _HOLDING and len(value) > _MOST_SHOWN:
        much = _digest_of_much(value)
        return f"{type(value).__name__} of {len(value)} {much or ''}".rstrip()
    around = (*around, id(value))
    if isinstance(value, Mapping):
        pairs = (f"{_shown(k)}: {_shown(v, around)}" for k, v in tuple(value.items()))
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(_shown, value))) + ",}"
    if isinstance(value, (tuple, list)):
        inside = ", ".join(_shown(one, around) for one in tuple(value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    return written(value) if _is_plain(value) else type(value).__qualname__
