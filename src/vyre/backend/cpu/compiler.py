"""LLVM IR to objects with LLVM, through llvmlite, which is loaded when first needed.

What the parser or the verifier refuses comes back as a value, and leaves stderr alone. Failures
further down LLVM answers by ending the process, with a line on stderr: instructions that the
target lacks ("Cannot select"), inline assembly that it cannot assemble. So inline assembly is
refused here, and so are the intrinsics of processors that the target's features do not cover.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from vyre.backend.base import Unbuilt
from vyre.backend.cpu.target import Target

Out = TypeVar("Out")

AS_WRITTEN, FEW, USUAL = 0, 1, 2
"""How hard LLVM tries: not at all; with a few passes; as compilers usually do.

saxpy, gelu and Black-Scholes on vectors of 64 are as fast after the few, compiled in half the time
(17, 23, 45 ms in the place of 35, 51, 90); a loop that rereads what a longer one leaves alone is 4
times as fast after the usual ones, a stencil by a tenth. More than that makes nothing faster (LLVM
22, Emerald Rapids).
"""

LEVEL = USUAL

_PASSES = (
    *("sroa", "instruction_combine", "simplify_cfg", "loop_rotate"),
    *("instruction_combine", "simplify_cfg", "dead_code_elimination"),
)

_INLINE = re.compile(r"\b(?:asm\s+(?:sideeffect|alignstack|inteldialect|\")|module\s+asm\b)")
_PROCESSORS = re.compile(r"@llvm\.(x86|aarch64|arm|amdgcn|nvvm|ppc|riscv)\.([a-z]+\d*)")
_NEEDS = {
    "sse3": "sse3",
    "ssse3": "ssse3",
    "sse41": "sse4.1",
    "sse42": "sse4.2",
    "avx": "avx",
    "avx2": "avx2",
    "avx512": "avx512f",
    "fma": "fma",
    "vcvtps2ph": "f16c",
}

# LLVM's state is not for two at once. It is held across a fork, so that a child finds it whole.
_lock = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


def compile(text: str, target: Target, level: int = LEVEL) -> bytes | Unbuilt:  # noqa: A001  # read as compiler.compile
    """The object file of a module's text, or what LLVM said."""
    return _emit(text, target, level, lambda machine, module: bytes(machine.emit_object(module)))


def assembly(text: str, target: Target, level: int = LEVEL) -> str | Unbuilt:
    """What `compile` would put into the object, to read."""
    return _emit(text, target, level, lambda machine, module: str(machine.emit_assembly(module)))


def alone() -> AbstractContextManager[object]:
    """Holds off everybody else who would use LLVM, and forks."""
    return _lock


def binding() -> Any:
    """LLVM, ready for this machine and those of `Target.of`.

    Raises:
        ImportError: llvmlite is not installed.
    """
    with _lock:  # a fork while a module is being imported would leave the child without it
        import llvmlite.binding as llvm

        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    return llvm


def host() -> Target:
    """This machine's target.

    Raises:
        ImportError: llvmlite is not installed.
    """
    llvm = binding()
    with _lock:
        features = llvm.get_host_cpu_features().flatten()
        return Target(
            triple=llvm.get_default_triple(), cpu=llvm.get_host_cpu_name(), features=features
        )


def version() -> str:
    """LLVM's version, such as `22.1.0`.

    Raises:
        ImportError: llvmlite is not installed.
    """
    return ".".join(map(str, binding().llvm_version_info))


def target_machine(llvm: Any, target: Target, level: int = LEVEL) -> Any:
    """LLVM's code generator for a target: IEEE 754 as written, position independent, small model.

    Raises:
        RuntimeError: LLVM does not know the target.
    """
    found = llvm.Target.from_triple(target.triple)
    opt = 0 if level == AS_WRITTEN else 2
    return found.create_target_machine(
        cpu=target.cpu, features=target.features, opt=opt, reloc="pic", codemodel="small"
    )


def _emit(text: str, target: Target, level: int, how: Callable[[Any, Any], Out]) -> Out | Unbuilt:
    fatal = _fatal(text, target)
    if fatal is not None:
        return Unbuilt(fatal)
    try:
        llvm = binding()
    except (ImportError, OSError) as error:
        return Unbuilt("LLVM is not there: llvmlite cannot be loaded", str(error))
    with _lock:
        try:
            return _built(llvm, text, target, level, how)
        except RuntimeError as error:
            return Unbuilt(f"LLVM {version()} could not build the module", str(error).strip())


def _built(llvm: Any, text: str, target: Target, level: int, how: Callable[[Any, Any], Out]) -> Out:
    """In a function of its own: what LLVM made is freed at its end, while the lock is held."""
    machine = target_machine(llvm, target, level)
    module = _parsed(llvm, machine, text, target)
    _optimise(llvm, machine, module, level)
    return how(machine, module)


def _fatal(text: str, target: Target) -> str | None:
    """Why LLVM would end the process over a text; None where nothing says so."""
    if _INLINE.search(text):
        return "inline assembly is not compiled: LLVM ends the process where it is wrong"
    own = "x86" if target.is_x86 else "aarch64" if target.is_aarch64 else ""
    for match in _PROCESSORS.finditer(text):
        processor, family = match.groups()
        if processor != own:
            return f"{match[0]} is not for {target.triple}"
        if family in _NEEDS and not target.has(_NEEDS[family]):
            return f"{match[0]} needs {_NEEDS[family]}, which {target.cpu} does not have"
    return None


def _parsed(llvm: Any, machine: Any, text: str, target: Target) -> Any:
    """The verified module, laid out as the target wants."""
    # On the line of the text's first, so that an error's line numbers are the text's own.
    head = f'target datalayout = "{machine.target_data}" target triple = "{target.triple}" '
    module = llvm.parse_assembly(head + text, llvm.create_context())
    module.verify()
    return module


def _optimise(llvm: Any, machine: Any, module: Any, level: int) -> None:
    """Vectors are written out in the text already; loops unroll where it asks for that."""
    options = llvm.create_pipeline_tuning_options(speed_level=max(level, FEW))
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_interleaving = False
    builder = llvm.create_pass_builder(machine, options)
    if level >= USUAL:
        builder.getModulePassManager().run(module, builder)
    elif level == FEW:
        few = llvm.create_new_module_pass_manager()
        for name in _PASSES:
            getattr(few, f"add_{name}_pass")()
        few.run(module, builder)
