"""Where a measured result comes from: the command, the code, the machine, and how busy it was."""

from __future__ import annotations

import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import blake3

import vyre

ROOT = Path(vyre.__file__).parents[2]
"""The checkout, where the package runs from one."""

BUSY = 0.25
"""Of the cores: beyond this the machine had other work when a script began."""


def _load() -> float | None:
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


_LOAD_AT_START = _load()


def save(path: Path, results: object, **more: object) -> None:
    """Write results with where they come from; what they are is the running script's first line."""
    what = (sys.modules["__main__"].__doc__ or "").strip().partition("\n")[0]
    record = {"what": what, **provenance(), **more, "results": results}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1, allow_nan=False) + "\n")


def provenance() -> dict[str, object]:
    """What every result file says of itself."""
    cores = os.cpu_count() or 1
    return {
        "command": command(sys.argv),
        "date": datetime.now(UTC).date().isoformat(),
        "code": code(),
        "machine": f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}",
        "load": {
            "cores": cores,
            "at_start": _LOAD_AT_START,
            "at_end": _load(),
            "quiet": None if _LOAD_AT_START is None else BUSY * cores > _LOAD_AT_START,
        },
        "versions": {package: version(package) for package in ("vyre", "numpy")},
    }


def command(argv: Sequence[str]) -> str:
    """A command line that repeats a run: paths from the checkout, others by their last part.

    >>> command(["benchmarks/calls.py", "--out", "/somewhere/else/x.json"])
    'python benchmarks/calls.py --out x.json'
    """
    return shlex.join(["python", *(_shown(word) for word in argv)])


def _shown(word: str) -> str:
    path = Path(word).absolute()
    if path.is_relative_to(ROOT) and path.exists():
        return path.relative_to(ROOT).as_posix()
    return path.name if word.startswith("/") else word


def code() -> dict[str, str]:
    """The sources that ran: a digest of them, and the commit where there is one."""
    hasher = blake3.blake3()
    for path in sorted((ROOT / "src" / "vyre").rglob("*.py")):
        data = path.read_bytes()
        hasher.update(f"{path.relative_to(ROOT).as_posix()}\0{len(data)}\0".encode() + data)
    found = {"sources": hasher.hexdigest()[:16]}
    commit, changed = _git("rev-parse", "--short=12", "HEAD"), _git("status", "--porcelain", "src")
    if commit:
        found["commit"] = f"{commit}, with changes" if changed else commit
    return found


def _git(*words: str) -> str:
    try:
        said = subprocess.run(  # noqa: S603  # fixed words
            ["git", "-C", str(ROOT), *words],  # noqa: S607  # the user's own git
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:  # no git
        return ""
    return said.stdout.strip() if said.returncode == 0 else ""
