"""The C code that launches kernels of a signature, compiled while other things are done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from triton import __version__
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

from vyre.adapter.beside import meanwhile

KNOWN = __version__.startswith("3.6.")
"""Whether Triton's launchers, and what they are made of, are those that are known here."""

_LIMIT_S = 60.0
"""After which Triton begins again."""

_AHEAD_S = 0.01
"""For that thread to start the compiler, or to find that there is nothing to do: it needs the
interpreter for 4 ms, which this one would not let go of while it loads libraries."""

_FLAGS = ("-O0", "-pipe")
"""After Triton's own -O3: they halve the wait, and a launch takes 0.26 us by either (GCC 12)."""

_MOST_BEGUN = 1024
_begun: set[tuple[str, ...]] = set()

Wait = Callable[[], object]


def building(jit: JITFunction, rows: Sequence[tuple[Any, Any]]) -> Wait:
    """Begin to build what will launch a kernel; what is given waits for it.

    Triton has the machine's C compiler do that once for a signature, after the kernel is compiled
    and before it is loaded: 0.1 to 0.3 s, where the kernel itself may take less. Here it finds what
    it asks for in its cache. Whatever goes wrong is told where Triton does it again.

    Args:
        jit: the kernel.
        rows: of each parameter, its type and what it is specialised for.
    """
    kinds = tuple(str(kind) for kind, _ in rows)
    launcher = driver.active.launcher_cls
    nvidia: Any = sys.modules.get(getattr(launcher, "__module__", ""))
    if not KNOWN or launcher is not getattr(nvidia, "CudaLauncher", None):
        return int
    if kinds in _begun or any("tensordesc" in kind for kind in kinds):
        return int
    if len(_begun) >= _MOST_BEGUN:
        _begun.clear()
    _begun.add(kinds)
    signature = dict(zip(jit.arg_names, [kind for kind, _ in rows], strict=True))

    def build() -> None:
        nvidia.compile_module_from_src(
            src=nvidia.make_launcher({}, signature, None),
            name="__triton_launcher",
            library_dirs=nvidia.library_dirs(),
            include_dirs=nvidia.include_dirs,
            libraries=nvidia.libraries,
            ccflags=list(_FLAGS),
        )

    pending = meanwhile().submit(build, lambda: None)
    pending.wait(_AHEAD_S)
    return lambda: pending.wait(_LIMIT_S)
