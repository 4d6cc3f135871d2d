"""What to do with a damaged database: set it aside, untouched, and save what can be read of it."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from vyre.model import Workload
from vyre.store.sqlite.rows import (
    DamagedRow,
    Row,
    read_kept,
    read_measurement,
    read_workload,
    workload_key,
)
from vyre.store.sqlite.schema import Damaged

ERRORS = (sqlite3.Error, UnicodeDecodeError, Damaged)
"""What reading a database can raise; the second where a message quotes damaged text."""

# The first 24 bytes of a database of 4096-byte pages in WAL mode, from SQLite's file format.
_HEADER = b"SQLite format 3\0" + bytes([0x10, 0x00, 2, 2, 0, 64, 32, 32])
_PARTS = ("", "-wal", "-shm", "-journal")
_ANY = Workload(fingerprint=b"", buckets=(), traits=(), device="", toolchain="")


@dataclass(frozen=True, slots=True)
class Table:
    """A table by its columns, the first of which are its key."""

    name: str
    columns: tuple[str, ...]
    keys: int
    check: Callable[[Row], object]
    since: int = 1  # the version of the schema that brought it

    def select(self, tail: str) -> str:
        return f"SELECT {', '.join(self.columns)} FROM {self.name} {tail}"  # noqa: S608  # our names

    @property
    def insert(self) -> str:
        places = ", ".join("?" * len(self.columns))
        columns = ", ".join(self.columns)
        return f"INSERT OR IGNORE INTO {self.name} ({columns}) VALUES ({places})"  # noqa: S608  # as above


def _check_workload(row: Row) -> None:
    if workload_key(read_workload(row[1:])) != row[0]:
        raise DamagedRow(f"workload {row!r}")


def _check_name(row: Row) -> None:
    if not all(isinstance(text, str) for text in row):
        raise DamagedRow(f"name {row!r}")


TABLES = (
    Table(
        "workloads",
        ("key", "fingerprint", "buckets", "traits", "device", "toolchain"),
        1,
        _check_workload,
    ),
    Table(
        "decisions",
        (
            *("workload", "schedule", "reason", "detail", "gain", "confidence"),
            *("stamp_ns", "writer", "used_ns"),
        ),
        1,
        lambda row: read_kept(row[1:], _ANY),
    ),
    Table(
        "measurements",
        (
            *("writer", "sequence", "workload", "schedule"),
            *("elapsed_ns", "failure", "size", "at_ns"),
        ),
        2,
        lambda row: read_measurement((*row[:2], *row[3:]), _ANY),
    ),
    Table("names", ("digest", "text"), 1, _check_name, since=2),
)


def is_damaged(path: Path) -> bool:
    """Whether SQLite finds fault with a file, or its tables are not those of a store."""
    if not path.exists():
        return False
    try:
        with closing(sqlite3.connect(path, timeout=30.0)) as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version < 1:
                return True
            for table in TABLES:
                if table.since <= version:
                    connection.execute(table.select("LIMIT 1")).fetchone()
            verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    except ERRORS:
        return True
    return bool(verdict != "ok")


def set_aside(path: Path) -> Path:
    """Rename a database and the files beside it; the new name says that it is damaged."""
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    for part in _PARTS:
        found = path.with_name(path.name + part)
        if found.exists():
            found.rename(aside.with_name(aside.name + part))
    return aside


def salvage(aside: Path) -> dict[Table, list[Row]]:
    """Read every sound row, on a copy: the file set aside stays as it is."""
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.sqlite3"
        for part in ("", "-wal", "-journal"):
            found = aside.with_name(aside.name + part)
            if found.exists():
                shutil.copyfile(found, copy.with_name(copy.name + part))
        _mend_header(copy)
        try:
            with closing(sqlite3.connect(copy)) as connection:
                connection.text_factory = replacing_text
                return {table: _sound_rows(connection, table) for table in TABLES}
        except ERRORS:
            return {table: [] for table in TABLES}


def _mend_header(copy: Path) -> None:
    """Write the header as it must be in a store, so that SQLite reads the pages after it.

    A page count of 0 stands for as many as there are: a file that was cut short can be read as far
    as it goes.
    """
    with copy.open("r+b") as file:
        file.write(_HEADER)
        file.seek(28)
        file.write(bytes(12))  # pages, and the list of free ones
        file.seek(44)
        file.write((4).to_bytes(4, "big"))  # the form of the schema
        file.seek(56)
        file.write((1).to_bytes(4, "big"))  # UTF-8


def replacing_text(data: bytes) -> str:
    """Text whose damaged bytes show, so that a row's own check refuses it."""
    return data.decode(errors="replace")


def _sound_rows(connection: sqlite3.Connection, table: Table) -> list[Row]:
    """The rows before the first damaged page, and those after the last one."""
    sound: dict[Row, Row] = {}
    for direction in ("ASC", "DESC"):
        order = ", ".join(f"{key} {direction}" for key in table.columns[: table.keys])
        try:
            for row in connection.execute(table.select(f"ORDER BY {order}")):
                try:
                    table.check(row)
                except DamagedRow:
                    continue
                sound[row[: table.keys]] = row
        except ERRORS:
            continue
        break
    return list(sound.values())
