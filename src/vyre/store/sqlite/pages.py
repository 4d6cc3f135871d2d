"""Rows straight from the bytes of a database: they are there where SQLite finds no way to them.

A row ends in its seal, so that it is known by its bytes alone: no tree has to lead to it, and no
page has to say where it begins. Rows of tables from before there were seals are taken where their
pages say they are. What is parsed is SQLite's file format (sqlite.org/fileformat2.html) as far as a
store uses it: pages of 4096 bytes, tables without rowid, UTF-8.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from vyre.store.sqlite.log import PAGE, frames, journal_pages
from vyre.store.sqlite.rows import DamagedRow, Row
from vyre.store.sqlite.tables import SEAL_BYTES, SEALED, TABLES, Table

_SEAL_TYPE = 12 + 2 * SEAL_BYTES  # of its bytes in the head of a record; below 128, so one byte
_LONGEST_HEAD = 40  # ten columns, each type a number of three bytes at most
_MOST_HERE = (PAGE - 12) * 64 // 255 - 23  # bytes of a record that its page holds; the rest follows
_LEAST_HERE = (PAGE - 12) * 32 // 255 - 23
_LEAF, _INNER = 10, 2  # kinds of pages that hold rows of tables without rowid
_WHOLE = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # bytes of whole numbers, by their type

_BY_WIDTH = {
    width + 1: [table for table in TABLES if width in table.widths]
    for width in {width for table in TABLES for width in table.widths}
}
_BY_OLD_WIDTH = {len(table.of(SEALED - 1)): table for table in TABLES}


@dataclass(frozen=True, slots=True)
class Pages:
    """Every page that was found: as it is, as it may be where a log is damaged, as it was."""

    now: Mapping[int, bytes]
    perhaps: Mapping[int, bytes]
    others: Sequence[bytes]


def pages_of(main: bytes, log: bytes, journal: bytes) -> Pages:
    """The pages of a database, of its write-ahead log and of its rollback journal."""
    now = {
        number + 1: main[at : at + PAGE].ljust(PAGE, b"\0")
        for number, at in enumerate(range(0, len(main), PAGE))
    }
    others: list[bytes] = []
    for number, image in journal_pages(journal):
        others.append(now.get(number, b""))
        now[number] = image
    found = frames(log)
    ends = [place for place, frame in enumerate(found) if frame.verified and frame.commits]
    last = ends[-1] if ends else -1
    doubtful: dict[int, bytes] = {}
    for place, frame in enumerate(found):
        if frame.verified and place <= last:
            others.append(now.get(frame.page, b""))
            now[frame.page] = frame.image
            doubtful.pop(frame.page, None)
        else:
            others.append(frame.image)
            doubtful[frame.page] = frame.image
    return Pages(now, {**now, **doubtful}, tuple(reversed(others)))


def rows_in(pages: Pages) -> Iterator[tuple[Table, Row]]:
    """Every sound row without its seal, some of them several times; those of now come first."""
    sealed = False
    for image in (*pages.now.values(), *pages.others):
        for table, row in _sealed(image, pages):
            sealed = True
            if _is_sound(table, row):
                yield table, row
    if sealed:
        return
    for image in pages.now.values():
        for table, row in _unsealed(image, pages.now):
            if _is_sound(table, row):
                yield table, row


def _is_sound(table: Table, row: Row) -> bool:
    try:
        table.read(row)
    except DamagedRow:
        return False
    return True


def _sealed(image: bytes, pages: Pages) -> Iterator[tuple[Table, Row]]:
    """Every row of a page whose seal holds, wherever it lies."""
    last = image.find(_SEAL_TYPE)
    while last >= 0:
        for start in range(last - 1, max(last - _LONGEST_HEAD, -1), -1):
            if image[start] != last + 1 - start:
                continue
            types = _types(image, start + 1, last + 1)
            tables = _BY_WIDTH.get(len(types), ())
            size = last + 1 - start + sum(map(_size, types))
            if not tables or not image.endswith(_number(size), 0, start):
                continue
            for table, among in product(tables, (pages.now, pages.perhaps)):
                row = _record(table, image, start, types, size, among)
                if row is not None and table.proves(row[:-1], row[-1]):
                    yield table, table.filled(row[:-1])
                    break
        last = image.find(_SEAL_TYPE, last + 1)


def _unsealed(image: bytes, pages: Mapping[int, bytes]) -> Iterator[tuple[Table, Row]]:
    """The rows that a page says it has, as they were before there were seals."""
    if image[0] not in (_LEAF, _INNER):
        return
    inner = image[0] == _INNER
    count = min(int.from_bytes(image[3:5], "big"), PAGE // 4)
    for (at,) in struct.iter_unpack(">H", image[8 + 4 * inner :][: 2 * count]):
        size, start = _numbered(image, at + 4 * inner)
        head, first = _numbered(image, start)
        types = _types(image, first, start + head)
        table = _BY_OLD_WIDTH.get(len(types))
        if table is not None and size == head + sum(map(_size, types)):
            row = _record(table, image, start, types, size, pages)
            if row is not None:
                yield table, table.filled(row)


def _record(
    table: Table,
    image: bytes,
    start: int,
    types: Sequence[int],
    size: int,
    pages: Mapping[int, bytes],
) -> Row | None:
    """The values of a record, or None where a part of it is not there."""
    data = _payload(image, start, size, pages)
    if data is None:
        return None
    at = size - sum(map(_size, types))
    row = []
    for place, kind in enumerate(types):
        part = data[at : at + _size(kind)]
        at += _size(kind)
        try:
            value = _value(kind, part)
        except UnicodeDecodeError:
            return None
        real = place < len(table.columns) and table.columns[place] in table.reals
        row.append(float(value) if real and isinstance(value, int) else value)
    return tuple(row)


def _payload(image: bytes, start: int, size: int, pages: Mapping[int, bytes]) -> bytes | None:
    """A record's bytes: those on its page, and those on the pages that follow it."""
    here = size
    if size > _MOST_HERE:
        rest = _LEAST_HERE + (size - _LEAST_HERE) % (PAGE - 4)
        here = rest if rest <= _MOST_HERE else _LEAST_HERE
    if size > PAGE * len(pages):
        return None
    data, after = image[start : start + here], image[start + here : start + here + 4]
    while len(data) < size and here < size:
        further = pages.get(int.from_bytes(after, "big"))
        if further is None:
            return None
        data += further[4 : 4 + size - len(data)]
        after = further[:4]
    return data if len(data) == size else None


def _types(image: bytes, start: int, end: int) -> list[int]:
    """The types of a record's values; none where they do not end where they should."""
    types = []
    while start < end:
        kind, start = _numbered(image, start)
        types.append(kind)
    return types if start == end else []


def _size(kind: int) -> int:
    return (kind - 12) // 2 if kind >= 12 else 8 if kind == 7 else _WHOLE.get(kind, 0)


def _value(kind: int, data: bytes) -> object:
    if kind >= 12:
        return data.decode() if kind % 2 else data
    if kind == 7:
        return float(struct.unpack(">d", data)[0])
    if kind in _WHOLE:
        return int.from_bytes(data, "big", signed=True)
    return {8: 0, 9: 1}.get(kind)


def _numbered(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends; a huge one where the data end before it."""
    value = 0
    for place, byte in enumerate(data[at : at + 8]):
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + place + 1
    return (value << 8 | data[at + 8], at + 9) if at + 8 < len(data) else (1 << 63, len(data))


def _number(value: int) -> bytes:
    """A number below 2**56 as SQLite writes it.

    >>> _number(300).hex()
    '822c'
    """
    parts = [value & 0x7F]
    while value := value >> 7:
        parts.append(value & 0x7F | 0x80)
    return bytes(reversed(parts))
