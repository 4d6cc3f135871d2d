"""Many literal patterns in bytes: a two-byte filter before exact comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from vyre.errors import InvalidInput
from vyre.kernels.literals import scan
from vyre.policy.ways import Way
from vyre.runtime.arrays.array import DeviceArray
from vyre.runtime.devices.device import Device

MOST_PATTERNS = 65_535
"""Different patterns that one search can tell apart: what it finds is a number of 16 bits."""

CHUNK_BYTES = 16 << 20
"""How much of a stream is searched at a time."""

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Literals:
    """Patterns, arranged for `scan`.

    Where several patterns stand at one place, all are beginnings of the longest; so it alone is
    looked for, and `all_of` knows the others.
    """

    patterns: tuple[bytes, ...]
    longest: int
    arrays: tuple[NDArray[Any], ...]
    numbered: tuple[bytes, ...]  # the pattern with each number, empty for none
    lengths: NDArray[np.int64]  # of those
    starts: NDArray[np.int64]  # where in `ids` those of each number begin
    ids: NDArray[np.int64]

    @classmethod
    def of(cls, patterns: Iterable[bytes]) -> Literals:
        """Arrange patterns; their ids are their places.

        Raises:
            InvalidInput: there are none, one is empty, or there are too many.
        """
        given = tuple(patterns)
        if not given:
            raise InvalidInput("no patterns to look for", "give at least one")
        for place, pattern in enumerate(given):
            if not pattern:
                raise InvalidInput(
                    f"pattern {place} is {pattern!r}", "give bytes of length 1 or more"
                )
        # The longest of a pair first: what matches first is then the longest that does.
        several = sorted({p for p in given if len(p) > 1}, key=lambda p: (p[1], p[0], -len(p), p))
        alone = sorted({p for p in given if len(p) == 1})
        if len(several) + len(alone) > MOST_PATTERNS:
            raise InvalidInput(
                f"{len(several) + len(alone)} different patterns; {MOST_PATTERNS} allowed",
                "search for them in several turns",
            )
        numbered = (b"", *several, *alone)
        starts, ids = _beginnings(given, numbered)
        return cls(
            patterns=given,
            longest=max(map(len, given)),
            arrays=_tables(several, alone),
            numbered=numbered,
            lengths=np.array([len(p) for p in numbered], np.int64),
            starts=starts,
            ids=ids,
        )

    def all_of(self, offsets: Offsets, numbers: NDArray[Any]) -> Matches:
        """Every pattern that stands at the places where the longest ones do."""
        counts = self.starts[numbers + 1] - self.starts[numbers]
        ends = np.cumsum(counts)
        within = np.arange(ends[-1] if ends.size else 0) - np.repeat(ends - counts, counts)
        ids = self.ids[np.repeat(self.starts[numbers], counts) + within]
        return Matches(np.repeat(offsets, counts), ids)


@dataclass(frozen=True, slots=True)
class Matches:
    """Where patterns stand, by rising offset and then by rising id."""

    offsets: Offsets
    ids: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets)


def find(
    text: bytes | Bytes,
    patterns: Iterable[bytes] | Literals,
    *,
    device: Device | None = None,
    way: Way | str | None = None,
) -> Matches:
    """Every place in `text` at which a pattern stands, overlapping ones included.

    Args:
        text: Where to look.
        patterns: What to look for; `Literals.of(patterns)` serves many texts.
        device: Where to run; without it, on the default device.
        way: As in a call of `scan`.

    >>> found = find(b"abracadabra", [b"abra", b"a", b"cad"])
    >>> list(zip(found.offsets.tolist(), found.ids.tolist()))
    [(0, 0), (0, 1), (3, 1), (4, 2), (5, 1), (7, 0), (7, 1), (10, 1)]
    """
    literals = patterns if isinstance(patterns, Literals) else Literals.of(patterns)
    data = np.frombuffer(text, np.uint8) if isinstance(text, bytes) else text
    found: NDArray[np.uint16] | DeviceArray
    if device is None:
        found = scan(data, *literals.arrays, way=way)
    else:
        there = [device.array(array) for array in (data, *literals.arrays)]
        found = scan(*there, way=way)
    numbers = np.asarray(found)
    offsets = np.flatnonzero(numbers)
    return literals.all_of(offsets, numbers[offsets].astype(np.int64))


@dataclass(frozen=True, slots=True)
class Part:
    """What was found in one part of a stream: of each place, the longest pattern."""

    offsets: Offsets  # from the beginning of the stream
    numbers: NDArray[np.int64]  # as `Literals` counts patterns
    read_bytes: int  # of the stream so far


def find_in(
    stream: BinaryIO, literals: Literals, *, chunk_bytes: int = CHUNK_BYTES
) -> Iterator[Part]:
    """The longest pattern at each place of a stream, part by part.

    A part ends where a pattern could go on beyond what was read; the next one begins there.
    """
    overlap = literals.longest - 1
    text = np.empty(max(chunk_bytes, 2 * overlap, 1) + overlap, np.uint8)
    found = np.zeros(-(-text.size // 4) * 4, np.uint16)
    start = have = 0
    while True:
        added = _fill(stream, text, have)
        have += added
        ended = have < text.size
        places = have if ended else have - overlap
        if places:
            scan(text[:have], *literals.arrays, out=found[:places], shape=places)
            offsets = _nonzero(found)
            numbers = found[offsets].astype(np.int64)
            found[offsets] = 0
            yield Part(offsets + start, numbers, start + have)
        if ended:
            return
        text[: have - places] = text[places:have]
        start, have = start + places, have - places


def leftmost_longest(offsets: Offsets, lengths: NDArray[np.int64], start: int = 0) -> list[int]:
    """Which of the longest matches remain when none may overlap one before it.

    Args:
        offsets: Where matches begin, rising.
        lengths: How long the longest is at each.
        start: Where the first may begin.

    Returns:
        The places in `offsets` of those that remain.
    """
    ends = offsets + lengths
    if offsets.size and offsets[0] >= start and bool((ends[:-1] <= offsets[1:]).all()):
        return list(range(offsets.size))
    kept, free = [], start
    for place, (offset, end) in enumerate(zip(offsets.tolist(), ends.tolist(), strict=True)):
        if offset >= free:
            kept.append(place)
            free = end
    return kept


def _tables(several: list[bytes], alone: list[bytes]) -> tuple[NDArray[Any], ...]:
    """What the kernels read: the pairs, and the patterns by the pair that they begin with."""
    begin = np.array([p[0] | p[1] << 8 for p in several], np.int64)
    yes, after = np.zeros(65536, np.uint8), np.zeros(65536, np.uint8)
    yes[begin] = 1
    for pattern in alone:
        yes[pattern[0] :: 256] = 1
    for pattern in several:
        if len(pattern) == 3:
            after[pattern[2] :: 256] = 1
        elif len(pattern) > 3:
            after[pattern[2] | pattern[3] << 8] = 1
    if alone or any(len(pattern) == 2 for pattern in several):
        after[:] = 1  # anything may follow
    pairs, next_pairs = (
        np.packbits(table, bitorder="little").view(np.uint32) for table in (yes, after)
    )
    first = np.searchsorted(begin, np.arange(65537)).astype(np.uint32)
    size = np.array([len(p) for p in several] or [0], np.uint32)
    place = (np.cumsum(size) - size).astype(np.uint32)
    letters = np.frombuffer(b"".join(several) or b"\0", np.uint8)
    single = np.zeros(256, np.uint16)
    for number, pattern in enumerate(alone, len(several) + 1):
        single[pattern[0]] = number
    return pairs, next_pairs, first, place, size, letters, single


def _beginnings(
    given: tuple[bytes, ...], numbered: tuple[bytes, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each number, the ids of all patterns that its pattern begins with."""
    ids_of: dict[bytes, list[int]] = {}
    for place, pattern in enumerate(given):
        ids_of.setdefault(pattern, []).append(place)
    sizes = sorted({len(pattern) for pattern in given})
    starts, ids = [0], []
    for pattern in numbered:
        heads = (pattern[:size] for size in sizes if size <= len(pattern))
        ids += sorted(place for head in heads for place in ids_of.get(head, ()))
        starts.append(len(ids))
    return np.array(starts, np.int64), np.array(ids, np.int64)


def _fill(stream: BinaryIO, text: Bytes, have: int) -> int:
    """Read until the buffer is full or the stream ends; how many bytes were added."""
    view, added = text.data[have:], 0
    while added < len(view):
        count = stream.readinto(view[added:])  # type: ignore[attr-defined]  # every binary stream has it
        if not count:
            break
        added += count
    return added


def _nonzero(found: NDArray[np.uint16]) -> Offsets:
    """Where it is not 0; four numbers are looked at as one, because almost all are 0."""
    wide = np.flatnonzero(found.view(np.uint64))
    near: Offsets = (wide[:, None] * 4 + np.arange(4)).reshape(-1)
    hits: Offsets = near[found[near] != 0]
    return hits
