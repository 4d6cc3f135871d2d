"""Cubins kept on disk, found by everything that went into them."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import blake3

from vyre.backend.base import Unbuilt
from vyre.backend.cuda.nvrtc import Cubin

MOST_BYTES = 256 << 20
"""What the folder may hold; a cubin of a few codes takes 5 to 50 kB."""

_DIGEST = 32
_ABANDONED_S = 3600  # a temporary file this old was left by a crash


@dataclass(frozen=True, slots=True)
class CubinCache:
    """A folder of cubins; a file that is damaged counts as missing, and is written anew.

    Without a folder that can be written nothing is kept, and everything is compiled.
    """

    folder: Path

    def get_or_compile(
        self,
        text: str,
        given: tuple[str, ...],
        version: str,
        compile_it: Callable[[str, tuple[str, ...]], Cubin | Unbuilt],
    ) -> Cubin | Unbuilt:
        """The cubin of `text` under these options of this NVRTC, from the folder or compiled."""
        name = name_of(text, given, version)
        known = self.get(name)
        if known is not None:
            return known
        made = compile_it(text, given)
        if isinstance(made, Cubin):
            self.put(name, made)
        return made

    def get(self, name: str) -> Cubin | None:
        path = self._path(name)
        if not path.is_absolute():  # there is no home folder, and nothing belongs into this one
            return None
        try:
            data = path.read_bytes()
        except OSError:
            return None
        kept = _unpacked(data)
        if kept is not None:
            with suppress(OSError):  # what was used last is dropped last
                path.touch()
        return kept

    def put(self, name: str, cubin: Cubin) -> None:
        """Keep it: readers see the whole file or none."""
        path = self._path(name)
        if not path.is_absolute():
            return
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(_packed(cubin))
            temporary.replace(path)
        except OSError:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)

    def prune(self, most_bytes: int = MOST_BYTES) -> None:
        """Drop what was used longest ago until the rest fits, and what crashes left."""
        with suppress(OSError):  # another process may prune as well
            for left in self.folder.glob(".*.tmp"):
                if left.stat().st_mtime < time.time() - _ABANDONED_S:
                    left.unlink(missing_ok=True)
            found = [(path.stat().st_mtime, path) for path in self.folder.glob("*.cubin")]
            room = most_bytes
            for _, path in sorted(found, reverse=True):
                room -= path.stat().st_size
                if room < 0:
                    path.unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.cubin"


def name_of(text: str, given: tuple[str, ...], version: str) -> str:
    """A name over everything that decides what a build gives; the architecture is an option."""
    hasher = blake3.blake3()
    for part in (version, *given, text):
        data = part.encode()
        hasher.update(len(data).to_bytes(8, "little") + data)
    return hasher.hexdigest()


def _packed(cubin: Cubin) -> bytes:
    body = json.dumps(dict(cubin.registers)).encode() + b"\n" + cubin.image
    return blake3.blake3(body).digest() + body


def _unpacked(data: bytes) -> Cubin | None:
    digest, body = data[:_DIGEST], data[_DIGEST:]
    if blake3.blake3(body).digest() != digest:
        return None
    registers, _, image = body.partition(b"\n")
    return Cubin(image, json.loads(registers))
