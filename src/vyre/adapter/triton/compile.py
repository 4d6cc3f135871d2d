"""Compiling for one configuration by Triton's own compiler: here, or in another process."""

from __future__ import annotations

import base64
import copyreg
import hashlib
import linecache
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, TypeVar

import triton
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.cache import get_cache_key, get_cache_manager
from triton.runtime.driver import driver
from triton.runtime.jit import (
    JITFunction,
    compute_cache_key,
    get_cache_invalidating_env_vars,
)

from vyre.adapter.kind import Job
from vyre.adapter.trial.portable import unpacked
from vyre.adapter.trial.trials import pickled
from vyre.errors import VyreError

T = TypeVar("T")

LIMIT_S = 120.0
"""For one compilation in another process, before that is ended and the config dropped."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A call as Triton's binder has it: what its kernel is compiled for.

    Args:
        values: of all parameters, by their names in order.
        rows: of each parameter, its type and what it is specialised for.
        options: what was passed by name, for the compiler.
        key: what Triton keeps the kernel under; 1, True and 1.0 are three.
    """

    values: Mapping[str, Any]
    rows: Sequence[tuple[Any, Any]]
    options: Mapping[str, Any]
    key: str


Debugs = tuple[Any, Any]


def debugs() -> Debugs:
    """What of Triton's settings, which may change at any time, a kernel is compiled for."""
    return knobs.runtime.debug, knobs.compilation.instrumentation_mode


def bind(
    jit: JITFunction,
    device: int,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    debugged: Debugs | None = None,
) -> Bound:
    """A call as Triton binds it, under its settings of some time; it raises what Triton raises."""
    binder = jit.device_caches[device][4]
    whole = dict(kwargs)
    debug, mode = debugs() if debugged is None else debugged
    whole["debug"] = whole.get("debug", jit.debug) or debug
    whole["instrumentation_mode"] = mode
    values, rows, options = binder(*args, **whole)
    # Not the memo that Triton has for this: there 1 finds what was compiled for True.
    return Bound(values, rows, whole, compute_cache_key({}, rows, options))


def kept(jit: JITFunction, device: int, bound: Bound) -> Any:
    """The kernel that was compiled and loaded for this in this process; None where none was."""
    kernel = jit.device_caches[device][0].get(bound.key)
    return None if getattr(kernel, "module", None) is None else kernel


def compiled(
    jit: JITFunction, device: int, bound: Bound, launcher: Callable[[], object] = int
) -> Any:
    """The kernel for this, compiled where it has to be, and loaded; on the device's own thread.

    None where a hook of the user's keeps Triton from compiling it. What is being built to launch it
    is waited for by `launcher`, before it is loaded.
    """
    kernel = jit.device_caches[device][0].get(bound.key)
    if kernel is None:
        options, signature, constexprs, attrs = _packed(jit, device, bound)
        kernel = jit._do_compile(  # the same that a launch does
            bound.key, signature, device, constexprs, options, attrs, False
        )
    if hasattr(kernel, "result"):  # it is compiled on a thread of Triton's
        kernel = kernel.result()
    if kernel is not None:
        launcher()
        run = kernel.run  # loads it, and says whether the device has room for it
        if getattr(kernel, "module", run) is None:
            run()  # raises what was said when it was loaded before
    return kernel


def _packed(jit: JITFunction, device: int, bound: Bound) -> tuple[Any, ...]:
    backend = jit.device_caches[device][3]
    packed: tuple[Any, ...] = jit._pack_args(  # the same that a launch does
        backend, dict(bound.options), bound.values, bound.rows, None
    )
    return packed


def job(jit: JITFunction, device: int, bound: Bound) -> Job | None:
    """What another process can do so that compiling is reading a file.

    None where it is a file already, or where the kernel cannot be had in another process.
    """
    if type(jit) is not JITFunction or knobs.compilation.always_compile:
        return None
    _, _, target, backend, _ = jit.device_caches[device]
    try:
        options, signature, constexprs, attrs = _packed(jit, device, bound)
        source = ASTSource(jit, signature, constexprs, attrs)
        name = get_cache_key(source, backend, options, get_cache_invalidating_env_vars())
        folder = get_cache_manager(hashlib.sha256(name.encode()).hexdigest())
        if folder.has_file(f"{jit.__name__[:150]}.json"):
            return None
        whole = (jit, signature, constexprs, attrs, dict(options.__dict__))
        taken = pickled(whole)
    except VyreError:
        return None
    except Exception:  # noqa: BLE001  # compiling it here says what is wrong with it
        return None
    given = {
        "function": base64.b64encode(taken).decode(),
        "target": [target.backend, target.arch, target.warp_size],
        "folder": knobs.cache.dir,
    }
    return Job(entry="vyre.adapter.triton.compile:compile_there", given=given, limit_s=LIMIT_S)


def compile_there(given: Mapping[str, Any]) -> dict[str, Any]:
    """Compile a kernel in a process without a GPU, and leave it in the cache that Triton reads.

    What cannot be had there says so, and is compiled where it was asked for; whatever the compiler
    raises is the config's fault.
    """
    try:
        jit, signature, constexprs, attrs, options = unpacked(given)
    except Exception as error:  # noqa: BLE001  # of modules of the user's
        return {"left": f"{type(error).__name__}: {error}"}
    knobs.cache.dir = given["folder"]
    source = ASTSource(jit, signature, constexprs, attrs)
    triton.compile(source, target=GPUTarget(*given["target"]), options=options)
    return {}


def on(device: int, work: Callable[[], T]) -> T:
    """Do something with a device as the current one, on whatever thread this is."""
    active = driver.active
    before = active.get_current_device()
    if before == device:
        return work()
    active.set_current_device(device)
    try:
        return work()
    finally:
        active.set_current_device(before)


def _taken(jit: JITFunction) -> tuple[Any, ...]:
    """How a kernel leaves its process: its function, and the text that Triton read it from.

    Its key goes along, because what Triton computes depends on which kernels came before.
    """
    options = {
        "version": jit.version,
        "do_not_specialize": jit.do_not_specialize,
        "do_not_specialize_on_alignment": jit.do_not_specialize_on_alignment,
        "debug": jit.debug,
        "noinline": jit.noinline,
        "repr": jit._repr,  # it names the kernel, and has no other name
    }
    return _given, (jit.fn, list(jit.raw_src), jit.starting_line_number, jit.cache_key, options)


def _given(
    function: FunctionType, lines: list[str], first: int, key: str, options: Mapping[str, Any]
) -> JITFunction:
    """A kernel as it was: Triton reads the lines of its file, which may be a notebook's cell."""
    name = function.__code__.co_filename
    text = ["\n"] * (first - 1) + lines
    before = linecache.cache.get(name)
    linecache.cache[name] = (sum(map(len, text)), None, text, name)
    try:
        made = JITFunction(function, **options)
        made.hash = key
        return made
    finally:
        if before is None:
            del linecache.cache[name]
        else:
            linecache.cache[name] = before


copyreg.pickle(JITFunction, _taken)  # it has locks, which nothing pickles
