"""The tables as code sees them: their columns, their seals, and what makes a row one of them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

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
    reals: frozenset[str] = frozenset()  # SQLite keeps whole numbers in them as such
    stamps: tuple[str, ...] = ()  # of two rows for a key, that with the later ones holds

    def listed(self, version: int) -> str:
        """The columns of a SELECT, seal included; older tables have none."""
        sealed = f"{self.name}.seal" if version >= SEALED else "NULL"
        return ", ".join([*(f"{self.name}.{column}" for column in self.columns), sealed])

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

    def sealed(self, row: Row) -> Row:
        """The row as it is written."""
        return (*row, seal(self.name, row))

    def unsealed(self, row: Row, version: int) -> Row:
        """A row as it was read, without its seal.

        Raises:
            DamagedRow: it is not what was written.
        """
        *values, found = row
        if version >= SEALED and found != seal(self.name, values):
            raise DamagedRow(f"a row of {self.name} whose seal is broken")
        return tuple(values)


def seal(table: str, row: Row | list[object]) -> bytes:
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
    (*("writer", "sequence", "workload", "schedule"), *("elapsed_ns", "failure", "size", "at_ns")),
    2,
    lambda row: read_measurement(row, _ANY),
    reals=frozenset(("elapsed_ns",)),
)
NAMES = Table("names", ("digest", "text"), 1, read_name, since=2)

TABLES = (WORKLOADS, DECISIONS, MEASUREMENTS, NAMES)
