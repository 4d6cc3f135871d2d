"""Objects kept on disk, found by everything that went into them; LLVM is loaded only to compile."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import platform
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from vyre.backend import binaries
from vyre.backend.base import Unbuilt
from vyre.backend.binaries import MOST_BYTES, Binaries
from vyre.backend.cpu import compiler, loader, machine
from vyre.backend.cpu.target import Target

FORMAT = "1"
"""Of the names and of the objects: another number, and everything is compiled anew."""

_VERSION = re.compile(r"""version[^=]*=\s*["']([0-9][^"']*)["']""")

# What tells processors apart; the rest of cpuinfo changes from one look to the next.
_TELLING = {
    *("vendor_id", "cpu family", "model", "model name", "stepping", "flags"),
    *("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision", "Features"),
}


@dataclass(frozen=True, slots=True)
class Host:
    """This machine as LLVM sees it, and the version of LLVM."""

    target: Target
    llvm: str


@dataclass(frozen=True, slots=True)
class Objects:
    """A folder of objects; None keeps nothing."""

    folder: Path | None

    def host(self) -> Host:
        """From the folder, else by asking LLVM, which takes some 50 ms to load.

        Raises:
            ImportError: llvmlite is not installed.
        """
        name = f"{binaries.name_of(FORMAT, 'host', llvmlite(), processor())}.json"
        kept = _host_in(Binaries(self.folder).get(name))
        if kept is not None:
            return kept
        found = Host(compiler.host(), compiler.version())
        Binaries(self.folder).put(name, json.dumps(asdict(found)).encode())
        return found

    def load(
        self, text: str, names: Sequence[str], host: Host, level: int = compiler.LEVEL
    ) -> tuple[int, ...] | Unbuilt:
        """Addresses of a module's functions, ready to be called on this machine."""
        kept = self.get(text, host, level)
        if kept is not None:
            loaded = loader.load(kept, names, host.target)
            if not isinstance(loaded, Unbuilt):
                return loaded
        made = self._compiled(text, host, level)
        return made if isinstance(made, Unbuilt) else loader.load(made, names, host.target)

    def load_kept(self, name: str, names: Sequence[str], host: Host) -> tuple[int, ...] | None:
        """The same of what is kept under a name of `name_of`; None where that cannot be."""
        kept = Binaries(self.folder).get(name) if name else None
        loaded = None if kept is None else loader.load(kept, names, host.target)
        return None if isinstance(loaded, Unbuilt) else loaded

    def get_or_compile(self, text: str, host: Host, level: int = compiler.LEVEL) -> bytes | Unbuilt:
        """The object of a module, from the folder or compiled."""
        kept = self.get(text, host, level)
        return self._compiled(text, host, level) if kept is None else kept

    def _compiled(self, text: str, host: Host, level: int) -> bytes | Unbuilt:
        made = compiler.compile(text, host.target, level)
        if isinstance(made, bytes):
            Binaries(self.folder).put(name_of(text, host, level), made)
        return made

    def get(self, text: str, host: Host, level: int = compiler.LEVEL) -> bytes | None:
        return Binaries(self.folder).get(name_of(text, host, level))

    def prune(self, most_bytes: int = MOST_BYTES) -> None:
        """Drop what was used longest ago until the rest fits, and what crashes left."""
        Binaries(self.folder).prune(most_bytes)


def _host_in(note: bytes | None) -> Host | None:
    """What a note says; None where it is not one of ours."""
    if note is None:
        return None
    try:
        fields = json.loads(note)
        target = fields["target"]
        texts = [target["triple"], target["cpu"], target["features"], fields["llvm"]]
    except (ValueError, TypeError, KeyError):
        return None
    if not all(isinstance(text, str) for text in texts):
        return None
    triple, cpu, features, llvm = texts
    return Host(Target(triple=triple, cpu=cpu, features=features), llvm)


def name_of(text: str, host: Host, level: int) -> str:
    """A name over everything that decides what a build gives."""
    of = host.target
    parts = (FORMAT, llvmlite(), host.llvm, of.triple, of.cpu, of.features, str(level), text)
    return f"{binaries.name_of(*parts)}.o"


@cache
def llvmlite() -> str:
    """The version of llvmlite, without loading it; empty where it is not installed."""
    found = importlib.util.find_spec("llvmlite")
    if found is None or found.origin is None:
        return ""
    try:  # in 0.1 ms; asking the installer's records takes 5
        text = Path(found.origin).with_name("_version.py").read_text(encoding="utf-8")
    except OSError:
        text = ""
    told = _VERSION.search(text)
    if told is not None:
        return told[1]
    try:
        return importlib.metadata.version("llvmlite")
    except importlib.metadata.PackageNotFoundError:
        return ""


def processor() -> str:
    """A text that is another one on every kind of processor."""
    lines = {
        line
        for line in machine.cpuinfo().splitlines()
        if line.partition(":")[0].strip() in _TELLING
    }
    # Linux has no more to say, and asking it there starts a process.
    name = "" if sys.platform == "linux" else platform.processor()
    told = (sys.platform, platform.machine(), name, *sorted(lines))
    return "\n".join(told)
