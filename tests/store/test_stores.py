"""Every store keeps the contract."""

from collections.abc import Callable
from pathlib import Path

from vyre.store.base import Store
from vyre.store.memory import MemoryStore
from vyre.store.sqlite.database import Database
from vyre.store.sqlite.file import Opening
from vyre.store.sqlite.shared import SharedFiles
from vyre.testing.store_contract import StoreContract


class TestMemoryStore(StoreContract):
    def make(self, folder: Path, now_ns: Callable[[], int]) -> Store:  # noqa: ARG002  # no disk
        return MemoryStore(now_ns=now_ns)


class TestDatabase(StoreContract):
    def make(self, folder: Path, now_ns: Callable[[], int]) -> Store:
        return Database(folder / "store.sqlite3", writer="me", now_ns=now_ns)


class TestSharedFiles(StoreContract):
    def make(self, folder: Path, now_ns: Callable[[], int]) -> Store:
        own = folder / "store.here.sqlite3"
        opening = Opening(journal="delete")

        def open_own() -> Database:
            return Database(own, writer="me", opening=opening, now_ns=now_ns)

        Database(folder / "store.there.sqlite3", writer="you", opening=opening).close()
        return SharedFiles(open_own, lambda: [folder / "store.there.sqlite3"])
