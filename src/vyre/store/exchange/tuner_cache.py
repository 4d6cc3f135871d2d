"""The Rust crate's tuner cache: a workgroup per key, one line each, sorted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, time
from math import prod
from pathlib import Path
from types import MappingProxyType

from vyre.errors import InvalidInput, StoreFailed
from vyre.model import U32_MAX, Dim3
from vyre.plain import plain
from vyre.store.exchange.text import MOST_BYTES, Statement, key_of, parse, quoted, statements
from vyre.store.files import exclusive, read_text, replace_text
from vyre.store.keys import TunerProgramKey
from vyre.store.sound import LONGEST_FIELD

_SHORT = (bool, int, float, str, date, time)
_NUMBER = r"(0|[1-9][0-9]{0,9})"
_LINE = re.compile(rf'"([^"\\\x00-\x1f\x7f]*)" = \[{_NUMBER}, {_NUMBER}, {_NUMBER}\]')


@dataclass(frozen=True, slots=True)
class Refused:
    """An entry that cannot be used; it stays in the file."""

    line: int
    problem: str


@dataclass(frozen=True, slots=True)
class _Content:
    """A file: its entries, and the text of everything else in it."""

    entries: Mapping[str, Dim3] = field(default_factory=dict)
    remarks: Mapping[str, str] = field(default_factory=dict)  # entries with a comment, as written
    before: tuple[str, ...] = ()  # comments and refused entries
    tables: tuple[str, ...] = ()
    refused: tuple[Refused, ...] = ()


class TunerCache:
    """Workgroups by key, in the crate's file format.

    Saving adds to what the file holds by then: entries that other processes wrote stay, entries
    set here win, and comments and refused entries are kept. Where the file would grow beyond what
    the crate reads, the entries used longest ago are left out.

    >>> cache = TunerCache()
    >>> cache.set("a", (64, 1, 1))
    >>> cache.get("a"), cache.get("b")
    ((64, 1, 1), None)
    """

    def __init__(self, entries: Mapping[str, Dim3] | None = None) -> None:
        self._entries: dict[str, Dim3] = {}  # the least recently used first
        self._loaded: dict[str, Dim3] = {}
        self._loaded_from: Path | None = None
        self.refused: tuple[Refused, ...] = ()
        for key, size in (entries or {}).items():
            self.set(key, size)

    @classmethod
    def load(cls, path: Path, *, most_bytes: int = MOST_BYTES) -> TunerCache:
        """Read a file; one that is not there is an empty cache.

        Entries that cannot be used are in `refused`, with their lines. A file beyond `most_bytes`
        is an error.

        Raises:
            StoreFailed: the file is there and cannot be read.
        """
        content = _read(path, most_bytes)
        cache = cls(content.entries)
        cache._loaded, cache._loaded_from = dict(content.entries), path.absolute()
        cache.refused = content.refused
        return cache

    def save(self, path: Path) -> None:
        """Write the entries to a file, together with those that it holds by then.

        Raises:
            StoreFailed: the file cannot be written, or is not a tuner cache; it is left as it is.
        """
        with exclusive(path):
            content = _read(path)
            _refuse_foreign(path, content)
            loaded = self._loaded if path.absolute() == self._loaded_from else {}
            untouched = {k for k, size in self._entries.items() if loaded.get(k) == size}
            theirs = {k: v for k, v in content.entries.items() if self._entries.get(k) != v}
            news = {k: v for k, v in theirs.items() if k not in self._entries or k in untouched}
            merged = news | {k: v for k, v in self._entries.items() if k not in news}
            kept, text = _fit(content, merged)
            if content.before or content.tables:
                parse(text, path)  # what others wrote and what we add must still be one file
            replace_text(path, text)
        self._entries, self._loaded, self._loaded_from = kept, dict(kept), path.absolute()

    @property
    def entries(self) -> Mapping[str, Dim3]:
        """Every entry, by key in order."""
        return MappingProxyType(dict(sorted(self._entries.items())))

    def get(self, program_fp: str) -> Dim3 | None:
        size = self._entries.get(program_fp)
        if size is not None:
            self._entries[program_fp] = self._entries.pop(program_fp)  # now the last used
        return size

    def set(self, program_fp: str, size: Dim3) -> None:
        found = _size(size)
        if isinstance(found, str):
            raise InvalidInput(
                f"entry {program_fp!r}: {found}", "give three sizes from 1 to 2**32 - 1"
            )
        _refuse_unwritable(program_fp)
        self._entries.pop(program_fp, None)
        self._entries[program_fp] = found

    def get_key(self, key: TunerProgramKey) -> Dim3 | None:
        return self.get(key.text)

    def set_key(self, key: TunerProgramKey, size: Dim3) -> None:
        self.set(key.text, size)

    def merged(self, *others: TunerCache) -> TunerCache:
        """The entries of all, the same in any order; of two sizes for a key, that of less threads.

        It is the one more devices can launch, and nothing else is known of the two.
        """
        found: dict[str, Dim3] = {}
        for cache in (self, *others):
            for key, size in cache._entries.items():
                found[key] = min(found.get(key, size), size, key=lambda s: (prod(s), s))
        return TunerCache(dict(sorted(found.items())))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TunerCache) and self._entries == other._entries

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"TunerCache({dict(self.entries)!r})"


def _read(path: Path, most_bytes: int = MOST_BYTES) -> _Content:
    text = read_text(path, most_bytes)
    if text is None:
        return _Content()
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    plain = [_LINE.fullmatch(line) for line in lines]
    entries = {m[1]: (int(m[2]), int(m[3]), int(m[4])) for m in plain if m}
    if len(entries) == len(lines) and not any(
        isinstance(_entry(key, size), str) for key, size in entries.items()
    ):
        return _Content(entries)  # nothing but the crate's own lines: no parser needed
    values = parse(text, path)
    return _sorted_out(list(statements(text)), values)


def _sorted_out(found: list[Statement], values: Mapping[str, object]) -> _Content:
    entries: dict[str, Dim3] = {}
    remarks: dict[str, str] = {}
    before, refused = [], []
    first_table = next((i for i, item in enumerate(found) if item.is_table), len(found))
    for statement in found[:first_table]:
        if statement.is_comment:
            before.append(statement.text)
            continue
        key = key_of(statement)
        size = "a dotted key" if key is None else _entry(key, values[key])
        if key is None or isinstance(size, str):
            before.append(statement.text)
            shown = plain(statement.text.partition("\n")[0], 80)
            refused.append(Refused(statement.line, f"{shown}: {size}"))
            continue
        entries[key] = size
        if "#" in statement.text:
            remarks[key] = statement.text
    tables = found[first_table:]
    refused += [
        Refused(item.line, f"{plain(item.text, 80)}: a table") for item in tables if item.is_table
    ]
    return _Content(
        entries, remarks, tuple(before), tuple(item.text for item in tables), tuple(refused)
    )


def _entry(key: str, value: object) -> Dim3 | str:
    """The workgroup of an entry, or why it is none."""
    return _size(value) if len(key) <= LONGEST_FIELD else f"a key of {len(key)} letters"


def _size(value: object) -> Dim3 | str:
    """The workgroup that a value is, or why it is none."""
    if not isinstance(value, list | tuple):
        return "not an array"
    if len(value) != 3:
        return f"{len(value)} sizes; a workgroup has 3"
    for axis in value:
        if type(axis) is not int or not 1 <= axis <= U32_MAX:
            return f"{_shown(axis)} is not a whole number from 1 to {U32_MAX}"
    x, y, z = value
    return (x, y, z)


def _shown(value: object) -> str:
    # str() of a whole number of more than 4,300 digits is an error, and of deep nesting as well.
    if isinstance(value, int) and value.bit_length() > 128:
        return "a number beyond 128 bits"
    return plain(str(value), 40) if isinstance(value, _SHORT) else f"a {type(value).__name__}"


def _refuse_unwritable(key: str) -> None:
    if len(key) > LONGEST_FIELD:
        raise InvalidInput(
            f"an entry with a key of {len(key)} letters; {LONGEST_FIELD} allowed",
            "use a shorter key, such as a digest",
        )
    try:
        key.encode()
    except UnicodeEncodeError:
        raise InvalidInput(
            f"entry {key!r} has a key that UTF-8 cannot hold", "use a key without surrogates"
        ) from None


def _refuse_foreign(path: Path, content: _Content) -> None:
    if content.refused and not content.entries:
        first = content.refused[0]
        raise StoreFailed(
            f"{path} is not a tuner cache: line {first.line}, {first.problem}",
            "save to another path; this file is left as it is",
        )


def _fit(content: _Content, entries: dict[str, Dim3]) -> tuple[dict[str, Dim3], str]:
    """Leave out the first entries, the least recently used, until the text is short enough."""
    kept = dict(entries)
    text = _written(content, kept)
    while len(text.encode()) > MOST_BYTES and kept:
        for key in list(kept)[: len(kept) // 20 + 1]:
            del kept[key]
        text = _written(content, kept)
    return kept, text


def _written(content: _Content, entries: Mapping[str, Dim3]) -> str:
    # A refused entry whose key has a size now would be the same key twice.
    before = [text for text in content.before if _key_in(text) not in entries]
    lines = [
        content.remarks[key]
        if content.entries.get(key) == size and key in content.remarks
        else f"{quoted(key)} = [{size[0]}, {size[1]}, {size[2]}]"
        for key, size in sorted(entries.items())
    ]
    return "".join(f"{line}\n" for line in (*before, *lines, *content.tables))


def _key_in(text: str) -> str | None:
    return key_of(Statement(0, text))
