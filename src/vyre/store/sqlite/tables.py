"""The tables as code sees them: their columns, their seals, and what makes a row one of them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import blake3

from vyre.model import Workload
from vyre.store.sqlite.rows import (
    DamagedRow,
    Row,
    read_kept,
    read_measurement,
    read_name,
    read_workload,
)

SEALED = 3
"""The version of the schema from which every row ends in its seal."""

SEAL_BYTES = 8

_ANY = Workload(fingerprint=b"", buckets=(), traits=(), device="", toolchain="")


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table by its columns without the seal, the first of which are its key."""

    name: str
    columns: tuple[str, ...]
    keys: int
    read: Callable[[Row], object]  # raises DamagedRow
    since: int = 1  # the version of the schema that brought it
    newer: Mapping[str, int] = field(default_factory=dict)  # that brought a column, the last ones
    reals: frozenset[str] = frozenset()  # SQLite keeps whole numbers in them as such
    stamps: tuple[str, ...] = ()  # of two rows for a key, that with the later ones holds

    def of(self, version: int) -> tuple[str, ...]:
        """The columns that it has in a version of the schema."""
        return tuple(one for one in self.columns if self.newer.get(one, self.since) <= version)

    def listed(self, version: int) -> str:
        """The columns of a SELECT, seal included; older tables have none, and not every column."""
        there = [f"{self.name}.{column}" for column in self.of(version)]
        sealed = f"{self.name}.seal" if version >= SEALED else "NULL"
        return ", ".join([*self.filled(tuple(there), "''"), sealed])

    def filled(self, row: Row, empty: str = "") -> Row:
        """A row of an earlier version, with empty text for the columns that it does not have."""
        return (*row, *(empty for _ in self.columns[len(row) :]))

    @property
    def insert(self) -> str:
        places = ", ".join("?" * (len(self.columns) + 1))
        columns = ", ".join((*self.columns, "seal"))
        return f"INSERT OR IGNORE INTO {self.name} ({columns}) VALUES ({places})"  # noqa: S608  # our names

    @property
    def join(self) -> str:
        """Insert a row; where its key is there, the later row holds, or else the one before."""
        if not self.stamps:
            return self.insert
        ours, theirs = ", ".join(self.stamps), ", ".join(f"excluded.{one}" for one in self.stamps)
        changes = ", ".join(
            f"{column} = excluded.{column}" for column in (*self.columns[self.keys :], "seal")
        )
        keys = ", ".join(self.columns[: self.keys])
        return (
            f"{self.insert.replace(' OR IGNORE', '')} ON CONFLICT ({keys}) "
            f"DO UPDATE SET {changes} WHERE ({theirs}) > ({ours})"
        )

    @property
    def widths(self) -> tuple[int, ...]:
        """How many columns its rows have had since there are seals, the most first."""
        versions = (SEALED, *self.newer.values())
        return tuple(sorted({len(self.of(version)) for version in versions}, reverse=True))

    def proves(self, row: Row, found: object) -> bool:
        """Whether a row is what was sealed.

        A process of an earlier version that still runs seals the columns it knows; the others are
        then empty.
        """
        return any(
            found == seal(self.name, row[:width]) for width in self.widths if not any(row[width:])
        )

    def sealed(self, row: Row) -> Row:
        """The row as it is written."""
        return (*row, seal(self.name, row))

    def unsealed(self, row: Row, version: int) -> Row:
        """A row as it was read, without its seal.

        Raises:
            DamagedRow: it is not what was written.
        """
        if version >= SEALED and not self.proves(row[:-1], row[-1]):
            raise DamagedRow(f"a row of {self.name} whose seal is broken")
        return row[:-1]


def seal(table: str, row: Sequence[object]) -> bytes:
    """A digest over a table's name and a row's values; it makes a row known by its bytes alone.

    It tells of flipped bits, not of people: whoever writes a row can seal it.
    """
    parts = [table.encode(), *map(_canonical, row)]
    return blake3.blake3(b"".join(parts)).digest(length=SEAL_BYTES)


def _canonical(value: object) -> bytes:
    """A value as bytes that no other value has, whatever stands beside it."""
    match value:
        case str():
            data = value.encode()
            return b"s" + len(data).to_bytes(8, "little") + data
        case int():
            return b"i" + value.to_bytes(8, "little", signed=True)
        case bytes():
            return b"b" + len(value).to_bytes(8, "little") + value
        case float():
            return b"f" + struct.pack("<d", value + 0.0)  # a column has one zero
        case _:
            assert value is None
            return b"n"


WORKLOADS = Table(
    "workloads",
    ("key", "fingerprint", "buckets", "traits", "device", "toolchain"),
    1,
    read_workload,
)
DECISIONS = Table(
    "decisions",
    (
        *("workload", "schedule", "reason", "detail", "gain", "confidence"),
        *("stamp_ns", "writer", "used_ns"),
    ),
    1,
    lambda row: read_kept(row, _ANY),
    reals=frozenset(("gain", "confidence")),
    stamps=("stamp_ns", "writer", "used_ns"),
)
MEASUREMENTS = Table(
    "measurements",
    (
        *("writer", "sequence", "workload", "schedule"),
        *("elapsed_ns", "failure", "size", "at_ns", "clock"),
    ),
    2,
    lambda row: read_measurement(row, _ANY),
    newer={"clock": 4},
    reals=frozenset(("elapsed_ns",)),
)
NAMES = Table("names", ("digest", "text"), 1, read_name, since=2)

TABLES = (WORKLOADS, DECISIONS, MEASUREMENTS, NAMES)
