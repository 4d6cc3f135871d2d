"""CUDA C++ to a cubin, or to PTX, with NVRTC; needs neither a driver nor a GPU."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from cuda.bindings import nvrtc

from vyre.backend.base import Unbuilt

T = TypeVar("T")
_NAME = "vyre.cu"

# `--minimal` leaves out declarations that no kernel of ours uses: 27 ms against 31 for gelu (NVRTC
# 13.4, best of 25 on a busy machine). The resource usage is the log's only content unless it fails.
_ALWAYS = ("--std=c++17", "--minimal", "--diag-suppress=177", "--ptxas-options=--verbose")
# Of fast_math kernels as well: they say in the program what is fused, and call what is approximate.
_EXACT = ("--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--ftz=false")

_USED = re.compile(r"entry function '(?P<entry>\w+)'.*?Used (?P<registers>\d+) registers", re.S)


@dataclass(frozen=True, slots=True)
class Cubin:
    """Machine code of one build, and how many registers a thread of each kernel takes."""

    image: bytes
    registers: Mapping[str, int] = field(default_factory=dict)
    lowered: str = ""  # what the kernel that was asked for is called there


def version() -> str:
    """NVRTC's version, such as `13.4`.

    Raises:
        RuntimeError: there is no NVRTC.
    """
    _, major, minor = nvrtc.nvrtcVersion()
    return f"{major}.{minor}"


def options(architecture: str) -> tuple[str, ...]:
    """What NVRTC is told: the real architecture, and that operators are IEEE 754's.

    >>> options("sm_90")[0]
    '--gpu-architecture=sm_90'
    """
    return (f"--gpu-architecture={architecture}", *_EXACT, *_ALWAYS)


def compile(text: str, given: tuple[str, ...], entry: str = "") -> Cubin | Unbuilt:  # noqa: A001  # read as nvrtc.compile
    """The machine code of `text`, or what the compiler said.

    Args:
        text: in CUDA C++.
        given: the compiler's options.
        entry: a kernel that need not be of C, such as `add<float>`; its name in the machine code is
            the `lowered` one.
    """

    def cubin(program: Any, said: str) -> Cubin:
        image = _read(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program)
        lowered = nvrtc.nvrtcGetLoweredName(program, entry.encode())[1] if entry else b""
        return Cubin(image, registers_in(said), (lowered or b"").decode())

    return _built(text, given, entry, cubin)


def ptx(text: str, given: tuple[str, ...], name: str = _NAME) -> str | Unbuilt:
    """The PTX of `text`, or what the compiler said.

    Args:
        text: in CUDA C++.
        given: the compiler's options, among them a virtual architecture.
        name: of the file; the compiler looks for headers in its folder, too.
    """

    def found(program: Any, said: str) -> str | Unbuilt:
        code, size = nvrtc.nvrtcGetPTXSize(program)
        if code or not size:
            return Unbuilt(f"NVRTC {version()} gives no PTX under these options", said)
        made = _read(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program)
        return made.rstrip(b"\0").decode(errors="replace")

    return _built(text, given, "", found, name)


def _built(
    text: str,
    given: tuple[str, ...],
    entry: str,
    take: Callable[[Any, str], T],
    name: str = _NAME,
) -> T | Unbuilt:
    """What is taken of a program once it is compiled, by it and by the compiler's log."""
    code, program = nvrtc.nvrtcCreateProgram(text.encode(), name.encode(), 0, [], [])
    if code:
        return Unbuilt(f"NVRTC {version()} could not start: {code.name}")
    try:
        if entry:
            nvrtc.nvrtcAddNameExpression(program, entry.encode())
        (code,) = nvrtc.nvrtcCompileProgram(program, len(given), [one.encode() for one in given])
        log = _read(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
        said = log.rstrip(b"\0").decode(errors="replace")
        if code:
            return Unbuilt(f"NVRTC {version()} could not build the kernel ({code.name})", said)
        return take(program, said)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def registers_in(log: str) -> dict[str, int]:
    """How many registers each kernel takes, by the log of a verbose build.

    >>> registers_in("Compiling entry function 'f' for 'sm_90': Used 24 registers")
    {'f': 24}
    """
    return {match["entry"]: int(match["registers"]) for match in _USED.finditer(log)}


def _read(size_of: Any, read: Any, program: Any) -> bytes:
    _, size = size_of(program)
    data = bytearray(size)
    read(program, data)
    return bytes(data)
