"""Every store keeps the contract."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from vyre.store.base import Store
from vyre.store.memory import MemoryStore
from vyre.store.sqlite.database import Database
from vyre.store.sqlite.file import Opening
from vyre.store.sqlite.shared import SharedFiles
from vyre.store.sqlite.tables import DECISIONS, MEASUREMENTS
from vyre.testing.store_contract import StoreContract


def rewrite(folder: Path, change: Callable[[str], str]) -> bool:
    """Change every config in the databases of a folder, and seal the rows as any version does."""
    for path in folder.glob("*.sqlite3"):
        with closing(sqlite3.connect(path)) as connection:
            for table in (DECISIONS, MEASUREMENTS):
                columns = ", ".join(table.columns)
                place = table.columns.index("schedule")
                for row in connection.execute(f"SELECT {columns} FROM {table.name}").fetchall():
                    new = (*row[:place], change(row[place]), *row[place + 1 :])
                    connection.execute(table.insert.replace("IGNORE", "REPLACE"), table.sealed(new))
            connection.commit()
    return True


class TestMemoryStore(StoreContract):
    def make(self, folder: Path, now_ns: Callable[[], int]) -> Store:  # noqa: ARG002  # no disk
        return MemoryStore(now_ns=now_ns)


class TestDatabase(StoreContract):
    rewrite = staticmethod(rewrite)

    def make(self, folder: Path, now_ns: Callable[[], int]) -> Store:
        return Database(folder / "store.sqlite3", writer="me", now_ns=now_ns)


class TestSharedFiles(StoreContract):
    rewrite = staticmethod(rewrite)

    def make(self, folder: Path, now_ns: Callable[[], int]) -> Store:
        own = folder / "store.here.sqlite3"
        opening = Opening(journal="delete")

        def open_own() -> Database:
            return Database(own, writer="me", opening=opening, now_ns=now_ns)

        Database(folder / "store.there.sqlite3", writer="you", opening=opening).close()
        return SharedFiles(open_own, lambda: [folder / "store.there.sqlite3"])
