"""What commands work on: bundled kernels and those of a user's file, with arguments to run them."""

from __future__ import annotations

import importlib.util
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vyre.errors import InvalidInput, VyreError
from vyre.ir.declare import Access, BufferDecl
from vyre.ir.storage import STORAGE
from vyre.ir.types import DataType
from vyre.kernels import ALL
from vyre.kernels.samples import sample
from vyre.runtime.call.kernel import Kernel
from vyre.runtime.call.look import Look, look_at
from vyre.runtime.call.typed import TypedKernels
from vyre.runtime.devices.device import Device

Array = NDArray[Any]

FOR_ALL = "vyre_arguments"
"""A function of this name in a user's file gives the arguments of every kernel there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Arguments of one call, by parameter name."""

    arrays: Mapping[str, Array]
    scalars: Mapping[str, object]
    shape: tuple[int, ...] | None = None
    made_up: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A kernel, where it comes from, and how to call it over about so many elements."""

    kernel: Kernel
    where: str
    call: Callable[[int], Call] = field(repr=False)

    @property
    def name(self) -> str:
        return self.kernel.name

    def look(self, device: Device, call: Call) -> Look:
        """A call on a device, looked at."""
        return look_at(self.kernel, device, call.arrays, call.scalars, call.shape)


def bundled() -> list[Target]:
    """The kernels that come with Vyre."""
    return [
        Target(
            kernel=kernel,
            where="bundled",
            call=lambda size, kernel=kernel: _sampled(kernel, size),  # type: ignore[misc]  # bound now
        )
        for kernel in ALL
    ]


def targets_of(word: str) -> list[Target]:
    """The kernels that `NAME`, `FILE.py` or `FILE.py:KERNEL` names.

    Raises:
        InvalidInput: it names none, or the file cannot be run.
    """
    known = {target.name: target for target in bundled()}
    if word in known:
        return [known[word]]
    named = re.fullmatch(r"(.+\.py)(?::(\w+))?", word)
    if named is None:
        raise InvalidInput(
            f"no kernel {word!r}; bundled: {', '.join(known)}",
            "name one of them, or a file as FILE.py or FILE.py:KERNEL",
        )
    file, wanted = Path(named[1]), named[2] or ""
    found = _kernels_in(_run(file), wanted, file)
    if not found:
        raise InvalidInput(
            f"{file} defines no kernel" + (f" {wanted!r}" if wanted else ""),
            "write one with @vyre.kernel at the top level of the file"
            if not wanted
            else f"name one of its kernels, or give {file} for all of them",
        )
    return found


def one_target(word: str) -> Target:
    """The one kernel that `word` names.

    Raises:
        InvalidInput: it names none, or several.
    """
    found = targets_of(word)
    if len(found) > 1:
        names = ", ".join(target.name for target in found)
        raise InvalidInput(
            f"{word} has {len(found)} kernels: {names}", f"name one, as {word}:{found[0].name}"
        )
    return found[0]


def _run(file: Path) -> ModuleType:
    """The file as a module, run once; not as the main one."""
    if not file.is_file():
        raise InvalidInput(f"no file {str(file)!r}", "give the path of a Python file")
    name = f"vyre_file_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(file.resolve().parent))  # for what it imports from beside itself
    try:
        spec.loader.exec_module(module)
    except VyreError:
        raise  # it names the file and the line itself
    except SyntaxError as error:
        raise InvalidInput(
            f"{file} line {error.lineno} is not Python: {error.msg}", "mend that line"
        ) from None
    except (Exception, SystemExit) as error:  # noqa: BLE001  # a user's file may raise anything
        raise InvalidInput(
            f"{file}{_line_in(file, error)} raised {type(error).__name__}: {error}",
            "mend that line; what is meant for a script alone belongs under "
            'if __name__ == "__main__"',
        ) from None
    finally:
        sys.path.pop(0)
    return module


def _line_in(file: Path, error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == file.absolute()]
    lines += [frame.lineno for frame in frames if Path(frame.filename) == file]
    return f" line {lines[-1]}" if lines else ""


def _kernels_in(module: ModuleType, wanted: str, file: Path) -> list[Target]:
    """The kernels of a module, in the order of the file; imported ones only if asked for."""
    return [
        Target(
            kernel=_one_of(value),
            where=str(file),
            call=_caller(module, _one_of(value), file),
        )
        for name, value in vars(module).items()
        if isinstance(value, Kernel)
        and (name == wanted if wanted else value.__module__ == module.__name__)
    ]


def _one_of(kernel: Kernel) -> Kernel:
    """A kernel with one program: of one for several types, that for the first."""
    return kernel.first if isinstance(kernel, TypedKernels) else kernel


def _caller(module: ModuleType, kernel: Kernel, file: Path) -> Callable[[int], Call]:
    """How to call a kernel of a user's file: as the file says, else with made-up arguments."""
    for name in (f"{kernel.name}_arguments", FOR_ALL):
        function = getattr(module, name, None)
        if callable(function):
            where = f"{name} of {file}"
            return lambda size: _given(kernel, where, _called(function, size, where))
    return lambda size: made_up(kernel, size)


def _called(function: Callable[[int], object], size: int, where: str) -> object:
    try:
        return function(size)
    except VyreError:
        raise
    except Exception as error:  # noqa: BLE001  # a user's function may raise anything
        raise InvalidInput(
            f"{where} raised {type(error).__name__}: {error}",
            f"mend it; it was called with a size of {size}",
        ) from None


def _given(kernel: Kernel, where: str, values: object) -> Call:
    if not isinstance(values, Mapping):
        raise InvalidInput(
            f"{where} returned {type(values).__name__}",
            'return a dictionary by parameter name, such as {"x": x, "a": 2.5}',
        )
    declared = {decl.name: decl for decl in kernel.program.buffers if not decl.is_shared}
    arrays = {
        name: np.asarray(values[name])
        for name, decl in declared.items()
        if name in values and not decl.is_scalar_argument
    }
    scalars = {
        name: values[name]
        for name, decl in declared.items()
        if name in values and decl.is_scalar_argument
    }
    shape = values.get("shape")
    return Call(
        arrays=arrays,
        scalars=scalars,
        shape=None if shape is None else tuple(np.atleast_1d(shape).tolist()),
    )


def made_up(kernel: Kernel, size: int) -> Call:
    """Arguments by their declared types: about `size` elements an array, 1 for each scalar.

    Arrays of two axes are square, of three a cube. Whole numbers count up from 0, so that they can
    serve as indices; others are drawn between 0 and 1.
    """
    random = np.random.default_rng(0)
    arrays: dict[str, Array] = {}
    scalars: dict[str, object] = {}
    for decl in kernel.program.buffers:
        if decl.is_shared:
            continue
        if decl.is_scalar_argument:
            scalars[decl.name] = True if decl.element.is_bool else 1
        else:
            arrays[decl.name] = _made(decl, size, random)
    return Call(arrays=arrays, scalars=scalars, made_up=True)


def _made(decl: BufferDecl, size: int, random: np.random.Generator) -> Array:
    side = max(1, round(size ** (1 / decl.rank)))
    shape = decl.shape if any(decl.shape) else (decl.count or side,) * decl.rank
    dtype = STORAGE[decl.element]
    if decl.access is Access.WRITE_ONLY:
        return np.zeros(shape, dtype)
    if decl.element.is_bool:
        return (np.arange(prod(shape)) % 2).reshape(shape).astype(dtype)
    if decl.element is DataType.BF16:
        return np.full(shape, 0x3F80, dtype)  # the pattern of 1
    if np.issubdtype(dtype, np.integer):
        return (np.arange(prod(shape)) % max(prod(shape), 1)).reshape(shape).astype(dtype)
    return random.random(shape).astype(dtype)


def _sampled(kernel: Kernel, size: int) -> Call:
    found = sample(kernel.name, size)
    names = [
        decl.name
        for decl in kernel.program.buffers
        if decl.access in (Access.READ_ONLY, Access.READ_WRITE)
    ]
    return Call(arrays=dict(zip(names, found.arrays, strict=True)), scalars=dict(found.options))
