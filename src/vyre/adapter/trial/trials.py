"""Trials of configs on copies, in a process that may die: what each wrote, beside the first's."""

from __future__ import annotations

import base64
import io
import json
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import cloudpickle
import numpy as np

from vyre.adapter.beside import trying
from vyre.adapter.kind import Copies, Job, Portable
from vyre.adapter.trial.around import BESIDE
from vyre.adapter.trial.copying import refuse_to_copy_much
from vyre.errors import InvalidInput, StoreFailed, VyreError
from vyre.model import Knobs
from vyre.plain import shown
from vyre.runtime.compile.worker import Pending

LIMIT_S = 30.0
"""For one run of a config on copies, beside that of the first, before its process is ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """How what a config writes is compared with what the first one writes: by default bitwise."""

    rtol: float = 0.0
    atol: float = 0.0
    limit_s: float = LIMIT_S

    def __post_init__(self) -> None:
        for name in ("rtol", "atol", "limit_s"):
            given: object = getattr(self, name)
            plain = isinstance(given, (int, float)) and not isinstance(given, bool)
            if not plain or not isfinite(given) or given < 0:  # type: ignore[arg-type, operator]  # it is a number
                raise InvalidInput(f"{name}={shown(given)}", "give a number of at least 0")

    @classmethod
    def of(cls, check: object, rtol: float = 0.0, atol: float = 0.0) -> Check | None:
        """What `check=`, `rtol=` and `atol=` of an adapter ask for; None where nothing is."""
        if not isinstance(check, bool):
            raise InvalidInput(
                f"check={shown(check)}", "pass True or False; rtol= and atol= say how close"
            )
        if not check and (rtol or atol):
            raise InvalidInput(
                f"rtol={shown(rtol)}, atol={shown(atol)} without check=True",
                "pass check=True as well, or leave them out",
            )
        return cls(rtol=rtol, atol=atol) if check else None

    @property
    def text(self) -> str:
        """How close two results must be, in words."""
        if not self.rtol and not self.atol:
            return "bitwise"
        return f"within rtol={self.rtol:g}, atol={self.atol:g}"


class Trials:
    """Trials of the configs of one kind of call, on copies of the arguments of its first."""

    def __init__(self, copies: Copies, arguments: Sequence[Any], check: Check) -> None:
        """Copy what a call is given.

        Raises:
            VyreError: it cannot be copied, or there is too little memory or room for that.
        """
        self.check = check
        self._folder = _kept(copies.portable(arguments))

    def submit(
        self, first: Knobs, config: Knobs, then: Callable[[], object] | None = None
    ) -> Pending[Mapping[str, Any]]:
        """Run a config on copies beside the first, and compare; a refusal says how it differs."""
        given = {
            "folder": self._folder,
            "first": first.value(),
            "config": config.value(),
            "rtol": self.check.rtol,
            "atol": self.check.atol,
        }
        job = Job(entry="vyre.adapter.trial.tried:tried", given=given, limit_s=self.check.limit_s)
        return trying().submit(job, then)


def _kept(portable: Portable) -> str:
    """A folder with everything of it, which goes when nobody holds its name any more."""
    refuse_to_copy_much(portable.arguments, "check=", BESIDE)
    try:
        folder = _Folder(tempfile.mkdtemp(prefix="vyre-trial-"))
        weakref.finalize(folder, _remove, str(folder), os.getpid())
        described = [_store(folder, n, one) for n, one in enumerate(portable.arguments)]
        whole = {
            "entry": portable.entry,
            "kernel": portable.kernel,
            "arguments": described,
            "names": list(portable.names),
        }
        (Path(folder) / "call.json").write_text(json.dumps(whole), encoding="utf-8")
    except OSError as error:
        raise StoreFailed(
            f"check= could not write copies to {tempfile.gettempdir()}: {error}",
            "make room there, or set TMPDIR to another folder",
        ) from error
    return folder


def _remove(folder: str, process: int) -> None:
    """Remove a folder, unless a fork of the process that made it is asked to."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


class _Folder(str):
    """The name of a folder; a plain text cannot be watched for its end."""

    __slots__ = ("__weakref__",)


def _store(folder: str, number: int, argument: Any) -> dict[str, str]:
    if isinstance(argument, np.ndarray) and not argument.dtype.hasobject:
        name = f"{number}.npy"
        np.save(Path(folder) / name, argument, allow_pickle=False)
        return {"array": name}
    name = f"{number}.bin"
    (Path(folder) / name).write_bytes(pickled(argument))
    return {"value": name}


def packed(value: Any) -> str:
    """What `pickled` makes of a value, as JSON has it; `portable.unpacked` reads it."""
    return base64.b64encode(pickled(value)).decode()


def pickled(value: Any) -> bytes:
    """Anything as another process of ours can have it, functions of `__main__` included.

    Raises:
        InvalidInput: it cannot leave this process.
    """
    alone = [one for one in _modules_in(value) if not _is_found(one)]
    try:
        for module in alone:
            cloudpickle.register_pickle_by_value(module)
        told = io.BytesIO()
        _Pickler(told).dump(value)
    except Exception as error:
        said = error.problem if isinstance(error, VyreError) else str(error)
        raise InvalidInput(
            f"{shown(value)} cannot be had in another process: {type(error).__name__}: {said}",
            "leave check= out, or pass arrays and plain values",
        ) from error
    finally:
        for module in alone:
            cloudpickle.unregister_pickle_by_value(module)
    return told.getvalue()


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # it has no types
    """Takes along what a function calls that is tuned itself, as it is under its default."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(getattr(type(value), "alone", None), property):
            return _itself, (value.alone,)
        return super().reducer_override(value)


def _itself(value: Any) -> Any:
    return value


def _modules_in(value: Any, around: tuple[int, ...] = ()) -> set[ModuleType]:
    """The modules that functions among a value stand in."""
    if id(value) in around:  # it holds itself
        return set()
    if isinstance(value, (Mapping, tuple, list)):
        held = tuple(value.values()) if isinstance(value, Mapping) else value
        within = (*around, id(value))
        return {module for one in held for module in _modules_in(one, within)}
    module = sys.modules.get(str(getattr(value, "__module__", "")))
    return {module} if isinstance(value, FunctionType) and module is not None else set()


def _is_found(module: ModuleType) -> bool:
    """Whether another process can import a module, and not only this one: a notebook's cannot."""
    if module.__name__ == "__main__":  # which is known to be of this process alone
        return True
    top = module.__name__.partition(".")[0]
    finders = [one.find_spec for one in sys.meta_path if hasattr(one, "find_spec")]
    return module.__spec__ is not None and any(find(top, None) is not None for find in finders)
