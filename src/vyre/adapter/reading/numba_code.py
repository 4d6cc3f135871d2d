"""What in a kernel of Numba's may make its results depend on the block, and what it is made of.

Read from the bytecode of the function and of those it calls: there a sum is what is added, whatever
stands around it, and a name is what it stands for now. Whatever is not known to be harmless counts
as a sign.
"""

from __future__ import annotations

import builtins
import dis
import enum
import math
import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import blake3
import numpy as np

_CUDA = ("numba.cuda", "numba_cuda.numba.cuda")
_HARMLESS = frozenset(
    ("atomic", "brev", "cbrt", "clz", "const", "ffs", "fma", "fp16", "grid", "libdevice", "local")
) | {"popc", "selp", "types"}
"""What of `numba.cuda` asks for no block but a place in the whole grid."""

_MODULES = (math, operator, np)
_BUILTIN = ("builtins", "math", "cmath", "operator", "_operator")
_TYPES = ("numba.core.types", *(f"{one}.types" for one in _CUDA))
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, np.ndarray, np.dtype)
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_NAMES = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF")
_AXES = ("x", "y", "z")


@dataclass(frozen=True, slots=True)
class Read:
    """What is known of a kernel.

    Args:
        sign: what may make its results depend on the block, in words; None where nothing does.
        constants: what it takes from around it that a compiler makes part of it, as texts.
    """

    sign: str | None
    constants: tuple[str, ...]


def read(function: Callable[..., Any], *, steps: bool) -> Read:
    """Read a kernel's function and those it calls.

    Args:
        function: of Python, as its author wrote it.
        steps: whether the threads of a whole grid are the same under every block that is tried.
    """
    reader = _Reader(steps=steps)
    reader.function(function)
    return Read(reader.signs[0] if reader.signs else None, tuple(reader.constants))


@dataclass(slots=True)
class _Reader:
    steps: bool
    signs: list[str] = field(default_factory=list)
    constants: list[str] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)

    def function(self, function: Any) -> None:
        if id(function) in self.seen:
            return
        self.seen.add(id(function))
        code = getattr(function, "__code__", None)
        if not isinstance(function, FunctionType) or not isinstance(code, CodeType):
            self.signs.append(f"it calls {_name(function)}, which cannot be read")
            return
        if hasattr(function, "__numba__"):
            self.signs.append(f"it calls {_name(function)}, which stands for another function")
        defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        for number, one in enumerate(defaults):
            self.value(f"{function.__name__}'s default {number}", one)
        self.code(code, _around(function))

    def code(self, code: CodeType, around: dict[str, Any]) -> None:
        terms = list(_terms(code, around))
        for sign in _left(terms, steps=self.steps):
            self.signs.append(f"it says {sign}")
        for term in terms:
            if term.value is not _NOTHING:
                self.value(term.name, term.value)
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                self.code(inner, around)

    def value(self, name: str, value: Any) -> None:
        """What a name stands for that is no part of `numba.cuda`."""
        if isinstance(value, _PLAIN):
            self.constants.append(f"{name} = {_text(value)}")
        elif isinstance(value, (tuple, list, frozenset)):
            for number, one in enumerate(value):
                self.value(f"{name}[{number}]", one)
        elif isinstance(value, enum.Enum):
            self.constants.append(f"{name} = {value!r}")
        elif isinstance(value, type) and issubclass(value, enum.Enum):
            self.constants.append(f"{name} = {list(value)!r}")
        elif isinstance(getattr(value, "py_func", None), FunctionType):  # compiled by Numba
            self.function(value.py_func)
        elif not _is_harmless(value):
            self.signs.append(f"it uses {name}, {_name(value)}, which cannot be read")


_NOTHING: Any = object()


@dataclass(frozen=True, slots=True)
class _Term:
    """A step of a function, as far as it matters.

    Args:
        text: such as `threadIdx.x`, `*` or `1`; nothing for a step that is no part of a sum.
        name: of what it takes from around it.
        value: what that is; `_NOTHING` where it is nothing, or part of `numba.cuda`.
        sign: what may ask for a block, unless it is part of a place in the grid.
        is_atomic: whether it is an operation that another thread cannot come between.
    """

    text: str = ""
    name: str = ""
    value: Any = _NOTHING
    sign: str | None = None
    is_atomic: bool = False


def _terms(code: CodeType, around: dict[str, Any]) -> Iterator[_Term]:
    """The steps of a function, in the order in which it takes them."""
    steps = [one for one in dis.get_instructions(code) if one.opname not in ("CACHE", "NOP")]
    at = 0
    while at < len(steps):
        step = steps[at]
        at += 1
        if step.is_jump_target:
            yield _Term()  # what comes from elsewhere is no part of a sum
        if step.opname in _NAMES:
            chain: list[str] = []
            begun = at - 1
            while at < len(steps) and steps[at].opname in _ATTRIBUTES:
                chain.append(str(steps[at].argval))
                at += 1
            named = _named(str(step.argval), chain, around)
            if named.is_atomic and not _is_dropped(steps[begun:]):
                # A thread may wait for others by it, and not all of a grid need be there at once:
                # how many are depends on the block.
                yield _Term(sign=f"cuda.{'.'.join(chain) or step.argval} for what it returns")
            else:
                yield named
        elif step.opname == "BINARY_OP":
            yield _Term(text=step.argrepr)
        elif step.opname.startswith("IMPORT_"):
            yield _Term(sign=f"import {step.argval}")
        elif step.opname not in ("PUSH_NULL", "PRECALL", "EXTENDED_ARG"):
            yield _Term()


def _is_dropped(steps: Sequence[dis.Instruction]) -> bool:
    """Whether what the first steps load is called at once, and what it returns is not used."""
    depth = 0
    for step, following in pairwise(steps):
        if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
            return False
        given = step.arg if step.opcode >= dis.HAVE_ARGUMENT else None
        depth += dis.stack_effect(step.opcode, given)
        if depth < 1:
            return False
        if depth == 1 and step.opname.startswith("CALL"):
            return following.opname == "POP_TOP"
    return False


def _named(name: str, chain: Sequence[str], around: dict[str, Any]) -> _Term:
    """What a name and the attributes behind it stand for."""
    value = around.get(name, _NOTHING)
    if value is _NOTHING:
        return _Term(sign=f"{name}, which is not there")
    said, rest = name, list(chain)
    while True:
        stub = _stub(value)
        if stub is not None:
            return _of_cuda(stub, rest)
        if not rest or not isinstance(value, (ModuleType, type)):
            break
        attribute = rest.pop(0)
        if _is_cuda(value):
            return _of_cuda(attribute, rest)
        said = f"{said}.{attribute}"
        value = getattr(value, attribute, _NOTHING)
        if value is _NOTHING:
            return _Term(sign=f"{said}, which is not there")
    if _is_cuda(value):
        return _Term(sign=f"{said}, by which anything of it may be meant")
    return _Term(name=said, value=value)


def _of_cuda(attribute: str, rest: Sequence[str]) -> _Term:
    """Something of `numba.cuda`, by its name there."""
    said = ".".join((attribute, *rest))
    if attribute in ("threadIdx", "blockIdx", "blockDim", "gridDim"):
        return _Term(text=said if len(rest) == 1 else "", sign=f"cuda.{said}")
    if attribute == "gridsize":
        return _Term(text=attribute, sign=f"cuda.{said}")
    if attribute in _HARMLESS or attribute in dir(builtins):
        return _Term(is_atomic=attribute == "atomic")
    if isinstance(getattr(np, attribute, None), type):  # a type, such as float32
        return _Term()
    return _Term(sign=f"cuda.{said}")


def _left(terms: Sequence[_Term], *, steps: bool) -> Iterator[str]:
    """The signs among steps that are no part of a place in the grid, or of its size."""
    texts = [one.text for one in terms]
    at = 0
    while at < len(terms):
        length = next((n for n in (5, 3, 1) if _is_place(texts[at : at + n], steps=steps)), 0)
        if length:
            at += length
            continue
        sign = terms[at].sign
        if sign is not None:
            yield sign
        at += 1


def _places() -> Iterator[tuple[str, ...]]:
    for axis in _AXES:
        block, width, thread = (f"{one}.{axis}" for one in ("blockIdx", "blockDim", "threadIdx"))
        for first, second in ((block, width), (width, block)):
            yield (first, second, "*", thread, "+")
            yield (thread, first, second, "*", "+")


def _sizes() -> Iterator[tuple[str, ...]]:
    yield ("gridsize",)
    for axis in _AXES:
        for first, second in (("gridDim", "blockDim"), ("blockDim", "gridDim")):
            yield (f"{first}.{axis}", f"{second}.{axis}", "*")


_PLACES, _SIZES = frozenset(_places()), frozenset(_sizes())


def _is_place(texts: Sequence[str], *, steps: bool) -> bool:
    found = tuple(texts)
    return found in _PLACES or (steps and found in _SIZES)


def _is_cuda(value: Any) -> bool:
    return isinstance(value, ModuleType) and value.__name__ in _CUDA


def _stub(value: Any) -> str | None:
    """The name of something of `numba.cuda` that was imported by itself."""
    module = getattr(value, "__module__", None)
    name = getattr(value, "__name__", None) or getattr(value, "_name", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    ours = module.startswith(tuple(f"{one}." for one in _CUDA))
    if not ours or isinstance(getattr(value, "py_func", None), FunctionType):
        return None
    if module.endswith(".libdevice"):
        return "libdevice"
    # Others may call theirs as one of Numba's is called.
    is_theirs = any(getattr(sys.modules.get(one), name, None) is value for one in _CUDA)
    return name if is_theirs else f"{module.rpartition('.')[2]}.{name}"


def _is_harmless(value: Any) -> bool:
    """Whether it is known to ask for no block: functions of mathematics, builtins, types."""
    if isinstance(value, np.ufunc):
        return True
    if isinstance(value, BuiltinFunctionType):  # an extension may know others
        return value.__module__ in _BUILTIN
    if isinstance(value, ModuleType):
        return value in _MODULES
    if isinstance(value, type):
        return value.__module__ in ("builtins", "numpy")
    kind = type(value)
    if kind.__module__.startswith(
        ("numba.core.types", "numba.cuda.types", "numba_cuda.numba.cuda.types")
    ):
        return True
    module = getattr(value, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] in ("math", "numpy", "operator")


def _around(function: FunctionType) -> dict[str, Any]:
    """What the function finds by name outside of itself."""
    found: dict[str, Any] = {**vars(builtins), **function.__globals__}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not set yet
            found[name] = _NOTHING
    for name in function.__code__.co_cellvars:
        found[name] = None  # its own
    return found


def _text(value: Any) -> str:
    if isinstance(value, (np.ndarray, np.generic)):
        held = blake3.blake3(np.ascontiguousarray(value).tobytes()).hexdigest()
        return f"{value.dtype.str} {value.shape} {held}"
    return repr(value)


def _name(value: Any) -> str:
    if isinstance(value, ModuleType):
        return f"the module {value.__name__}"
    kind = getattr(value, "__qualname__", None) or type(value).__qualname__
    return f"{getattr(value, '__module__', None) or type(value).__module__}.{kind}"
