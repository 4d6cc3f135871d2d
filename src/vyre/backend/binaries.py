"""Compiled binaries kept on disk, by the name of everything that went into them."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import blake3

MOST_BYTES = 256 << 20
"""What a folder may hold."""

_DIGEST = 32
_ABANDONED_S = 3600  # a temporary file this old was left by a crash


def name_of(*parts: str) -> str:
    """A name for what these parts are compiled to; no two lists share one by joining.

    >>> name_of("ab", "c") == name_of("a", "bc")
    False
    """
    hasher = blake3.blake3()
    for part in parts:
        data = part.encode()
        hasher.update(len(data).to_bytes(8, "little") + data)
    return hasher.hexdigest()


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder of files that are read whole or not at all; a damaged one counts as missing.

    A folder that cannot be written keeps nothing, and everything is compiled.
    """

    folder: Path

    def get(self, name: str) -> bytes | None:
        """What is kept under a name."""
        path = self.folder / name
        if not path.is_absolute():  # there is no home folder, and nothing belongs into this one
            return None
        try:
            data = path.read_bytes()
        except OSError:
            return None
        digest, kept = data[:_DIGEST], data[_DIGEST:]
        if blake3.blake3(kept).digest() != digest:
            return None
        with suppress(OSError):  # what was used last is dropped last
            path.touch()
        return kept

    def put(self, name: str, data: bytes) -> None:
        """Keep it under a name, in the place of what was there."""
        if not self.folder.is_absolute():
            return
        temporary = self.folder / f".{name}.{secrets.token_hex(4)}.tmp"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(blake3.blake3(data).digest() + data)
            temporary.replace(self.folder / name)
        except OSError:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)

    def prune(self, most_bytes: int = MOST_BYTES) -> None:
        """Drop what was used longest ago until the rest fits, and what crashes left."""
        with suppress(OSError):  # another process may prune as well
            for left in self.folder.glob(".*.tmp"):
                if left.stat().st_mtime < time.time() - _ABANDONED_S:
                    left.unlink(missing_ok=True)
            kept = sorted(_sizes(self.folder.iterdir()), reverse=True)
            total = 0
            for _, size, path in kept:
                total += size
                if total > most_bytes:
                    path.unlink(missing_ok=True)


def _sizes(paths: Iterable[Path]) -> list[tuple[float, int, Path]]:
    """When each was last used, and how large it is."""
    return [
        (found.st_mtime, found.st_size, path)
        for path in paths
        if not path.name.startswith(".")
        for found in [path.stat()]
    ]
