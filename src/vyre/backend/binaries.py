"""Compiled binaries kept on disk, by the name of everything that went into them."""

from __future__ import annotations

import os
import secrets
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import blake3

from vyre.settings import is_ours, user_id

MOST_BYTES = 256 << 20
"""What a folder may hold."""

_DIGEST = 32
# Neither by a link nor waiting for whoever writes to a pipe, where the system can say so.
_PLAINLY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
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

    What is in it is run. So the folder and its files must belong to this user, nobody else may be
    able to write them, and a file counts under the name it was put under alone. A folder that
    cannot be written, or none, keeps nothing, and everything is compiled.
    """

    folder: Path | None

    def get(self, name: str) -> bytes | None:
        """What is kept under a name."""
        folder = self._usable()
        if folder is None:
            return None
        try:
            handle = os.open(folder / name, os.O_RDONLY | _PLAINLY)
        except OSError:
            return None
        try:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode) or not is_ours(found):  # a folder is no file
                return None
            with os.fdopen(handle, "rb", closefd=False) as file:
                data = file.read()
        except OSError:
            return None
        finally:
            os.close(handle)
        digest, kept = data[:_DIGEST], data[_DIGEST:]
        if _digest(name, kept) != digest:
            return None
        with suppress(OSError):  # what was used last is dropped last
            os.utime(folder / name, follow_symlinks=False)
        return kept

    def put(self, name: str, data: bytes) -> None:
        """Keep it under a name, in the place of what was there."""
        if self.folder is None or not self.folder.is_absolute():
            return
        temporary = self.folder / f".{name}.{secrets.token_hex(4)}.tmp"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._usable() is None and not self._closed_to_others():
                return
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _PLAINLY, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(_digest(name, data) + data)
            temporary.replace(self.folder / name)
        except OSError:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)

    def _closed_to_others(self) -> bool:
        """Whether the folder is usable now: an older release left it as open as others are."""
        assert self.folder is not None
        found = self.folder.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == user_id():
            self.folder.chmod(0o700)
        return self._usable() is not None

    def _usable(self) -> Path | None:
        """The folder, where it is one that only this user can have put things into."""
        folder = self.folder
        if folder is None or not folder.is_absolute():  # without a home there is no place for it
            return None
        try:
            found = folder.lstat()
        except OSError:
            return None
        return folder if stat.S_ISDIR(found.st_mode) and is_ours(found) else None

    def prune(self, most_bytes: int = MOST_BYTES) -> None:
        """Drop what was used longest ago until the rest fits, and what crashes left."""
        folder = self._usable()
        if folder is None:
            return
        with suppress(OSError):  # another process may prune as well
            for left in folder.glob(".*.tmp"):
                if left.lstat().st_mtime < time.time() - _ABANDONED_S:
                    left.unlink(missing_ok=True)
            kept = sorted(_sizes(folder.iterdir()), reverse=True)
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
        for found in [path.lstat()]
    ]


def _digest(name: str, data: bytes) -> bytes:
    """Of what is kept and of its name, so that no file can be put in another's place."""
    head = len(name.encode()).to_bytes(8, "little") + name.encode()
    return blake3.blake3(head + data).digest()
