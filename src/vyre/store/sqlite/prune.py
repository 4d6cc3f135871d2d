"""Keeps a database within its bounds, oldest rows first."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress

from vyre.store.base import Bounds, Pruned

Transaction = Callable[[], AbstractContextManager[sqlite3.Connection]]

_OLD_ROWS = """DELETE FROM measurements WHERE (writer, sequence) IN
    (SELECT writer, sequence FROM measurements ORDER BY at_ns LIMIT ?)"""
_OLD_DECISIONS = """DELETE FROM decisions WHERE workload IN
    (SELECT workload FROM decisions ORDER BY used_ns LIMIT ?)"""
_ORPHANS = """DELETE FROM workloads WHERE key NOT IN (SELECT workload FROM decisions)
    AND key NOT IN (SELECT workload FROM measurements)"""
_NAMELESS = """DELETE FROM names WHERE digest NOT IN (
    SELECT lower(hex(fingerprint)) FROM workloads
    UNION SELECT device FROM workloads UNION SELECT toolchain FROM workloads)"""
_SHARE = 10  # a tenth of the rows goes at a time while the file is too large


def prune(
    connection: sqlite3.Connection, transaction: Transaction, bounds: Bounds, now_ns: int
) -> Pruned:
    """Remove what is too old or too many, then the oldest until the file is small enough."""
    oldest = max(now_ns - bounds.age_ns, 0)
    with transaction() as writing:
        rows = writing.execute("DELETE FROM measurements WHERE at_ns < ?", (oldest,)).rowcount
        kept = writing.execute("DELETE FROM decisions WHERE used_ns < ?", (oldest,)).rowcount
        rows += _shrink(writing, _OLD_ROWS, _count(writing, "measurements") - bounds.measurements)
        kept += _shrink(writing, _OLD_DECISIONS, _count(writing, "decisions") - bounds.decisions)
        if rows or kept:  # it walks every workload, and every other writer waits
            writing.execute(_ORPHANS)
            writing.execute(_NAMELESS)
    while _used_bytes(connection) > bounds.size_bytes:
        with transaction() as writing:
            row_count, kept_count = _count(writing, "measurements"), _count(writing, "decisions")
            if row_count:
                rows += _shrink(writing, _OLD_ROWS, -(-row_count // _SHARE))
            elif kept_count:
                kept += _shrink(writing, _OLD_DECISIONS, -(-kept_count // _SHARE))
            else:
                break
            writing.execute(_ORPHANS)
    if rows or kept:
        with suppress(sqlite3.OperationalError):  # another process reads; the next time will do
            # A script, because execute() stops after the first page.
            connection.executescript("PRAGMA incremental_vacuum")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return Pruned(decisions=kept, measurements=rows)


def _shrink(connection: sqlite3.Connection, sql: str, excess: int) -> int:
    return connection.execute(sql, (excess,)).rowcount if excess > 0 else 0


def _count(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608  # our names


def _used_bytes(connection: sqlite3.Connection) -> int:
    pages, free, size = (
        int(connection.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size
