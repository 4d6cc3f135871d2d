"""Objects into memory, to stay there as long as the process: by our own loader, else by LLVM's."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import count
from typing import Any

from vyre.backend.base import Unbuilt
from vyre.backend.cpu import compiler, elf
from vyre.backend.cpu.target import Target

_READ, _WRITE, _EXECUTE = 1, 2, 4
_PRIVATE, _ANONYMOUS = 2, 32  # of mmap, on Linux
_FAILED = ctypes.c_void_p(-1).value
_LIBRARY = ("fma", "free", "malloc", "memcpy", "memmove", "memset", "syscall")

_numbers = count()


def load(
    data: bytes, names: Sequence[str], target: Target, imports: Mapping[str, int] | None = None
) -> tuple[int, ...] | Unbuilt:
    """The addresses of functions of an object, which may call those of `imports`.

    Without `imports` it may call what every task may: copying and filling of memory, and
    `syscall`. The code stays in memory for the life of the process.
    """
    offered = library() if imports is None else imports
    if own_loader_serves(target):
        try:
            return by_own_loader(data, names, offered)
        except elf.Unknown:
            pass
        except elf.Refused as error:
            return Unbuilt(f"an object of {len(data):,} bytes cannot be loaded: {error}")
    return by_llvm(data, names, target, offered)


def own_loader_serves(target: Target) -> bool:
    """Whether objects of this target are loaded without LLVM."""
    return sys.platform == "linux" and target.is_x86 and target.system == "linux"


@cache
def library() -> Mapping[str, int]:
    """Addresses of the C library's functions that tasks and the pool may call."""
    if sys.platform == "win32":
        waits = ctypes.WinDLL("api-ms-win-core-synch-l1-2-0.dll")
        return {
            **_addresses(ctypes.CDLL("msvcrt"), _LIBRARY),
            **_addresses(waits, ("WaitOnAddress", "WakeByAddressAll")),
            **_addresses(ctypes.WinDLL("kernel32"), ("SwitchToThread",)),
        }
    wanted = (*_LIBRARY, "sched_yield", "nanosleep", "__ulock_wait", "__ulock_wake")
    return _addresses(ctypes.CDLL(None), wanted)


def _addresses(library: ctypes.CDLL, names: Sequence[str]) -> Mapping[str, int]:
    found = {}
    for name in names:
        function = getattr(library, name, None)
        if function is not None:
            found[name] = ctypes.cast(function, ctypes.c_void_p).value or 0
    return found


def by_own_loader(data: bytes, names: Sequence[str], imports: Mapping[str, int]) -> tuple[int, ...]:
    """Addresses without LLVM; memory is first written, then run, never both.

    Raises:
        Refused: it is damaged, needs what is not offered, or the system has no memory for code.
        Unknown: LLVM may be able to load it.
    """
    parsed = elf.Object(data)
    offsets = [parsed.symbol(name) for name in names]
    layout = parsed.layout
    base = _mapped(layout.nbytes)
    try:
        image = parsed.image(base, imports)
        ctypes.memmove(base, image, len(image))
        _protect(base, layout.code_bytes, _READ | _EXECUTE)
        _protect(base + layout.code_bytes, layout.read_bytes, _READ)
    except elf.Refused:
        _libc().munmap(base, layout.nbytes)
        raise
    return tuple(base + offset for offset in offsets)


@cache
def _libc() -> Any:
    """The C library's own mmap: Python's unmaps at its end, with threads still in the code."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (
        *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int),
        ctypes.c_long,
    )
    libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    return libc


def _mapped(nbytes: int) -> int:
    if nbytes == 0:
        raise elf.Refused("there is nothing in it")
    base = _libc().mmap(None, nbytes, _READ | _WRITE, _PRIVATE | _ANONYMOUS, -1, 0)
    if base is None or base == _FAILED:
        raise elf.Refused(f"no memory for {nbytes:,} bytes of code")
    return int(base)


def _protect(address: int, nbytes: int, how: int) -> None:
    if nbytes and _libc().mprotect(address, nbytes, how):
        raise elf.Refused("the system does not let new code run")


def by_llvm(
    data: bytes, names: Sequence[str], target: Target, imports: Mapping[str, int]
) -> tuple[int, ...] | Unbuilt:
    """Addresses by LLVM, which names on stderr the symbols that are not offered."""
    try:
        llvm = compiler.binding()
    except (ImportError, OSError) as error:
        return Unbuilt("LLVM is not there: llvmlite cannot be loaded", str(error))
    try:
        with compiler.alone():
            builder = llvm.JITLibraryBuilder().add_object_img(data)
            for name, address in imports.items():
                builder.import_symbol(name, address)
            for name in names:
                builder.export_symbol(name)
            linked = builder.link(_linker(target), f"vyre{next(_numbers)}")
    except RuntimeError as error:
        return Unbuilt("LLVM could not load the object", str(error).strip())
    _keep_forever(linked)
    return tuple(int(linked[name]) for name in names)


@cache
def _linker(target: Target) -> Any:
    llvm = compiler.binding()
    made = llvm.create_lljit_compiler(compiler.target_machine(llvm, target))
    _keep_forever(made)
    return made


def _keep_forever(one: object) -> None:
    """Not even the end of the interpreter frees it: threads may still be in the code."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))
