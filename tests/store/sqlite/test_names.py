"""Names in the database: brought by a migration, saved in a repair, pruned with what they name."""

import sqlite3
from contextlib import closing

from vyre.model import Decision, Reason, Schedule, Workload
from vyre.store.base import Bounds
from vyre.store.sqlite.database import Database
from vyre.store.sqlite.file import Opening
from vyre.store.sqlite.repair import is_damaged
from vyre.store.sqlite.schema import STEPS

WORKLOAD = Workload(fingerprint=b"\xab" * 32, buckets=(3,), traits=(), device="d", toolchain="t")
DECISION = Decision(workload=WORKLOAD, config=Schedule((64, 1, 1)), reason=Reason.ADOPTED)


def test_a_store_of_the_first_version_gets_names_and_keeps_its_rows(tmp_path):
    path = tmp_path / "store.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in STEPS[0]:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {0x56595245}")
        connection.execute("PRAGMA user_version = 1")
    assert not is_damaged(path)

    with closing(Database(path, writer="me")) as store:
        store.put(DECISION)
        store.name({"ab": "saxpy"})

        assert store.names() == {"ab": "saxpy"}
        assert store.get(WORKLOAD) == DECISION


def test_a_repair_saves_names(tmp_path):
    path = tmp_path / "store.sqlite3"
    with closing(Database(path, writer="me", opening=Opening(journal="delete"))) as store:
        store.put(DECISION)
        store.name({"ab": "saxpy"})
    with path.open("r+b") as file:
        file.write(b"not a database..")

    with closing(Database(path, writer="me")) as store:
        assert store.names() == {"ab": "saxpy"}


def test_pruning_forgets_the_names_of_what_is_gone(tmp_path):
    with closing(Database(tmp_path / "store.sqlite3", writer="me")) as store:
        store.put(DECISION)
        store.name({WORKLOAD.fingerprint.hex(): "saxpy", "d": "Acme", "t": "cc", "other": "old"})
        store.prune(Bounds())
        before = store.names()
        store.prune(Bounds(decisions=0))

        assert before.keys() == {WORKLOAD.fingerprint.hex(), "d", "t", "other"}
        assert store.names() == {}
