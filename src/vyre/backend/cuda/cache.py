"""Cubins kept on disk, found by everything that went into them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vyre.backend import binaries
from vyre.backend.base import Unbuilt
from vyre.backend.binaries import MOST_BYTES, Binaries
from vyre.backend.cuda.nvrtc import Cubin


@dataclass(frozen=True, slots=True)
class CubinCache:
    """A folder of cubins, each with the registers that its kernels take."""

    folder: Path | None

    def get_or_compile(
        self,
        name: str,
        text: str,
        given: tuple[str, ...],
        compile_it: Callable[[str, tuple[str, ...]], Cubin | Unbuilt],
    ) -> Cubin | Unbuilt:
        """The cubin of `text` under these options, from the folder by its name or compiled."""
        known = self.get(name)
        if known is not None:
            return known
        made = compile_it(text, given)
        if isinstance(made, Cubin):
            self.put(name, made)
        return made

    def get(self, name: str) -> Cubin | None:
        body = Binaries(self.folder).get(f"{name}.cubin")
        if body is None:
            return None
        registers, _, image = body.partition(b"\n")
        return Cubin(image, json.loads(registers))

    def put(self, name: str, cubin: Cubin) -> None:
        """Keep it: readers see the whole file or none."""
        body = json.dumps(dict(cubin.registers)).encode() + b"\n" + cubin.image
        Binaries(self.folder).put(f"{name}.cubin", body)

    def prune(self, most_bytes: int = MOST_BYTES) -> None:
        """Drop what was used longest ago until the rest fits, and what crashes left."""
        Binaries(self.folder).prune(most_bytes)


def name_of(text: str, given: tuple[str, ...], version: str) -> str:
    """A name over everything that decides what a build gives; the architecture is an option."""
    return binaries.name_of(version, *given, text)
