"""The pages that SQLite keeps beside a database: those of its write-ahead log and of its journal.

As in SQLite's own description (sqlite.org/fileformat2.html). SQLite reads a log up to the first
frame that is damaged and forgets the rest; here every frame is judged by itself.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

PAGE = 4096
"""Bytes of a page: every store is made with it."""

_HEAD, _MARK = 32, 24  # bytes before the log, and before each page in it
_LITTLE, _BIG = bytes.fromhex("377f0682"), bytes.fromhex("377f0683")  # by the order of its words
_JOURNAL = bytes.fromhex("d9d505f920a163d7")

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint32]
Truths = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Frame:
    """A page as a transaction left it."""

    page: int
    commits: bool  # the last one of its transaction
    image: bytes
    verified: bool  # by its sum


def frames(log: bytes) -> list[Frame]:
    """The frames since the log was last begun anew, in order."""
    rows = _frames(log)
    following, doubtful = _verified(log, rows)
    return [
        Frame(
            page=int.from_bytes(row[:4].tobytes(), "big"),
            commits=bool(row[4:8].any()),
            image=row[_MARK:].tobytes(),
            verified=bool(verified),
        )
        for row, verified in zip(rows, following | doubtful, strict=True)
    ]


def hides_commits(log: bytes) -> bool:
    """Whether there are commits behind damage, where SQLite does not see them.

    The next writer would write over them.
    """
    rows = _frames(log)
    seen = _verified(log, rows)[0] & (rows[:, 8:16] == _salts(log)).all(axis=1) & _is_headed(log)
    commits = rows[:, 4:8].any(axis=1)
    return bool((commits & ~np.logical_and.accumulate(seen)).any())


def journal_pages(journal: bytes) -> Iterator[tuple[int, bytes]]:
    """The pages as they were before a transaction that did not end."""
    at = journal.find(_JOURNAL)
    while at >= 0:
        nonce, sector = struct.unpack_from(">4xI4xI", journal.ljust(at + 28, b"\0"), at + 8)
        place, at = at + max(sector, 28), journal.find(_JOURNAL, at + 1)
        while place + PAGE + 8 <= len(journal) and (at < 0 or place < at):
            page = int.from_bytes(journal[place : place + 4], "big")
            image = journal[place + 4 : place + 4 + PAGE]
            stored = int.from_bytes(journal[place + 4 + PAGE : place + 8 + PAGE], "big")
            if (nonce + sum(image[PAGE - 200 : 0 : -200])) % (1 << 32) == stored:
                yield page, image
            place += PAGE + 8


def _frames(log: bytes) -> Bytes:
    """The frames up to the last one with the salts of now, one a row."""
    rows = _all_frames(log)
    current = np.flatnonzero((rows[:, 8:16] == _salts(log)).all(axis=1))
    return rows[: current[-1] + 1 if len(current) else 0]


def _all_frames(log: bytes) -> Bytes:
    count = max(len(log) - _HEAD, 0) // (_MARK + PAGE)
    cells = count * (_MARK + PAGE)
    data = np.frombuffer(log[_HEAD:], np.uint8, cells) if cells else np.empty(0, np.uint8)
    return data.reshape(count, _MARK + PAGE)


def _salts(log: bytes) -> Bytes:
    """What marks the frames since the log was last begun anew, wherever it is still legible."""
    marks = [log[16:24]]
    if not _is_headed(log):
        marks += [row.tobytes() for row in _all_frames(log)[:, 8:16]]
    # Older frames lie behind those of now, and no two that are damaged are so alike.
    twice = (mark for place, mark in enumerate(marks) if any(mark) and mark in marks[:place])
    return np.frombuffer(next(twice, marks[-1]).ljust(8, b"\0"), np.uint8)


def _is_headed(log: bytes) -> bool:
    """Whether the head of the log is as it was written."""
    return log[:4] in (_LITTLE, _BIG) and log[24:_HEAD] == _sum_of_head(log).tobytes()


def _sum_of_head(log: bytes) -> Words:
    head = np.frombuffer(log[:24].ljust(24, b"\0"), np.uint8)
    return np.asarray(_sums(log, head[None])[0], ">u4")


def _verified(log: bytes, rows: Bytes) -> tuple[Truths, Truths]:
    """Which frames have the sum that follows from the one written before them.

    And which have the one that follows from what should be written there: a sum alone was hit.
    """
    if not len(rows):
        return np.empty(0, np.bool_), np.empty(0, np.bool_)
    stored = rows[:, 16:24].copy().view(">u4").astype(np.uint32)
    own = _sums(log, np.concatenate([rows[:, :8], rows[:, _MARK:]], axis=1))
    written = np.frombuffer(log[24:_HEAD], ">u4").astype(np.uint32)
    carry = _powers((8 + PAGE) // 8)[-1]
    sums = own + _applied(carry, np.vstack([written, stored[:-1]]))
    again = own + _applied(carry, np.vstack([_sum_of_head(log).astype(np.uint32), sums[:-1]]))
    return (sums == stored).all(axis=1), (again == stored).all(axis=1)


def _sums(log: bytes, rows: Bytes) -> Words:
    """SQLite's running sum over the pairs of words of each row, begun at 0.

    One pair (a, b) takes (s, t) to (s + t + a, s + 2t + a + b), modulo 2**32. That is linear, so
    all rows are summed at once: 1,000 frames take 10 ms, and a loop would take 300 (Python 3.11).
    """
    words = rows.view(">u4" if log[:4] == _BIG else "<u4").astype(np.uint32)
    first, both = words[:, ::2], words[:, ::2] + words[:, 1::2]
    powers = _powers(first.shape[1])[-2::-1]
    parts = [first * powers[:, row, 0] + both * powers[:, row, 1] for row in (0, 1)]
    return np.stack([part.sum(axis=1, dtype=np.uint32) for part in parts], axis=1)


@cache
def _powers(count: int) -> Words:
    """The powers from 0 to `count` of what one pair does to a sum."""
    a, b, c, d = 1, 0, 0, 1
    powers = [(a, b, c, d)]
    for _ in range(count):
        a, b, c, d = (n % (1 << 32) for n in (a + c, b + d, a + 2 * c, b + 2 * d))
        powers.append((a, b, c, d))
    return np.array(powers, np.uint32).reshape(-1, 2, 2)


def _applied(power: Words, sums: Words) -> Words:
    return np.stack([sums[:, 0] * row[0] + sums[:, 1] * row[1] for row in power], axis=1)
