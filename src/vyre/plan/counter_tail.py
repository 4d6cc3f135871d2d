"""The counters at the end of a fused program's output: what was committed, what rolled back."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from vyre.errors import InvalidInput
from vyre.model import U32_MAX

PPM = 1_000_000

TAIL_MAGIC = int.from_bytes(b"VySp", "little")
TAIL_VERSION = 1
TAIL_WORDS = 4
"""Magic, version, committed, rolled back: little-endian words of 32 bits."""

COUNTER_TAIL_BYTES = 4 * TAIL_WORDS
LEGACY_TAIL_BYTES = 8
"""The Rust crate's tail: the two counts alone, which any buffer could end in."""


@dataclass(frozen=True, slots=True)
class SpeculationReport:
    """How many items of a dispatch were committed, and how many were rolled back.

    >>> SpeculationReport(1, 3).commit_rate_ppm
    250000
    """

    committed_tiles: int = 0
    rolled_back_tiles: int = 0

    def __post_init__(self) -> None:
        if not (0 <= self.committed_tiles <= U32_MAX and 0 <= self.rolled_back_tiles <= U32_MAX):
            raise InvalidInput(
                f"a report of {self.committed_tiles} committed"
                f" and {self.rolled_back_tiles} rolled back",
                f"give counts from 0 to {U32_MAX}",
            )

    @property
    def attempted_tiles(self) -> int:
        return self.committed_tiles + self.rolled_back_tiles

    @property
    def commit_rate_ppm(self) -> int:
        """Committed items per million, rounded down; 0 where nothing was attempted."""
        return self.committed_tiles * PPM // (self.attempted_tiles or 1)

    @property
    def commit_rate_pct(self) -> int:
        return self.commit_rate_ppm // 10_000

    @property
    def rate(self) -> float:
        """The share of items that were committed; 0 where nothing was attempted."""
        return self.committed_tiles / (self.attempted_tiles or 1)

    def worthwhile(self, threshold_pct: int) -> bool:
        """Whether the commit rate reaches a threshold; everything reaches 0."""
        return self.commit_rate_ppm >= threshold_pct * 10_000


def tail_bytes(*, legacy: bool = False) -> int:
    """How long a tail is."""
    return LEGACY_TAIL_BYTES if legacy else COUNTER_TAIL_BYTES


def encode_counter_tail(report: SpeculationReport, *, legacy: bool = False) -> bytes:
    """The bytes that a fused program ends its counter output with.

    >>> parse_counter_tail(bytes(8) + encode_counter_tail(SpeculationReport(7, 13)))
    SpeculationReport(committed_tiles=7, rolled_back_tiles=13)
    """
    counts = (report.committed_tiles, report.rolled_back_tiles)
    if legacy:
        return struct.pack("<2I", *counts)
    return struct.pack("<4I", TAIL_MAGIC, TAIL_VERSION, *counts)


def parse_counter_tail(output: bytes, *, legacy: bool = False) -> SpeculationReport | None:
    """The report at the end of `output`, or None where there is none.

    Args:
        output: what a program wrote, in whole words.
        legacy: read the two bare counts of the Rust crate, which nothing tells from other data.
    """
    size = tail_bytes(legacy=legacy)
    if len(output) < size or len(output) % 4:
        return None
    words = struct.unpack(f"<{size // 4}I", output[-size:])
    if not legacy and words[:2] != (TAIL_MAGIC, TAIL_VERSION):
        return None
    return SpeculationReport(*words[-2:])
