"""Damages stores, repairs them, and counts which of the readable rows were kept.

    python scripts/store_repair.py --count 1000 --seed 1

Each store has decisions, measurements, names and long texts; some have a log that was never written
back, and some are of schema 3, as the release before wrote it. Bytes flip, pages are zeroed,
swapped and overwritten, tails are cut off, headers and logs are hit, several of these at once. A
row is readable if none of its own bytes was hit: where they lie is found by walking the sound
file's trees, which the repair never does. Then a writer opens the file, writes more, and is told
that it is kept; the store is repaired; it is opened once more. Every readable row and everything
that was told to be kept must be there, nothing may be there that was never written, and the second
opening must find nothing to repair. Last, processes write to a store that is repaired again and
again meanwhile; what they are told is kept must be there. The exit code is 1 otherwise.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import sqlite3
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from vyre.errors import StoreFailed
from vyre.learn.recorder import Recorder
from vyre.model import Failed, Measurement
from vyre.store.base import Bounds
from vyre.store.files import exclusive
from vyre.store.open import new_writer
from vyre.store.sqlite.database import Database
from vyre.store.sqlite.file import DatabaseFile, Opening
from vyre.store.sqlite.repair import fault_of, move_away, put_back
from vyre.store.sqlite.schema import APPLICATION_ID, STEPS, Damaged
from vyre.store.sqlite.tables import TABLES as ALL_TABLES
from vyre.store.sqlite.tables import seal
from vyre.testing import provenance
from vyre.testing.store_contract import START_NS, decision, measurement, schedule, workload

PAGE, FRAME, HEAD = 4096, 24, 32
TABLES = tuple(table.name for table in ALL_TABLES)
Extent = tuple[str, int, int]  # of which file, from, to
Files = dict[str, bytes]


@dataclass
class Tally:
    """What came of the stores."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    @property
    def kept(self) -> float:
        readable = self.counts["readable rows"]
        return self.counts["of them kept"] / readable if readable else 1.0


@dataclass(frozen=True)
class Made:
    """A sound store: its files, where its rows lie, and everything that was ever in it."""

    files: Files
    rows: dict[tuple[object, ...], list[Extent]]  # each with its table first
    ever: frozenset[tuple[object, ...]]


def make(folder: Path, rng: Random) -> Made:
    """A store that was written by several processes and never closed in order."""
    path = folder / "sound.sqlite3"
    clock = iter(range(START_NS, START_NS + 10**9))
    ever: set[tuple[object, ...]] = set()
    with closing(Database(path, writer="me", now_ns=lambda: next(clock))) as store:
        count = rng.choice((30, 200, 400))
        store.put(*(decision(k, k % 7) for k in range(count)))
        store.append(measurement(k % 40, k, rng.choice("abc")) for k in range(4 * count))
        store.append(_long(k, rng) for k in range(count // 10))
        store.name({f"digest {k}": f"kernel {k} " * rng.randint(1, 9) for k in range(count // 3)})
        ever |= _rows(path)
        if rng.random() < 0.5:  # what is gone stays gone
            store.prune(Bounds(measurements=3 * count))
        if rng.random() < 0.5:
            store._writing.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        for k in range(0, count, rng.choice((2, 9))):  # and what was decided again holds
            store.put(decision(k, k % 5 + 1))
        ever |= _rows(path)
        files = {end: _read(path, end) for end in ("", "-wal")}
        current = _rows(path)
    if rng.random() < 0.3:
        files, current = _older(folder / "older.sqlite3", current, rng)
        ever = current
    places = dict(_places(files))
    where = {row: places[row[-1]] for row in current}
    return Made(files, {_now(row): found for row, found in where.items()}, _unsealed(ever))


def _older(
    path: Path, rows: set[tuple[object, ...]], rng: Random
) -> tuple[Files, set[tuple[object, ...]]]:
    """The same store as schema 3 has it: its files, and its rows."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = wal").fetchone()
        connection.create_function("row_seal", -1, lambda table, *row: seal(table, row))
        for step in STEPS[:3]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 3")
        tables = {table.name: table for table in ALL_TABLES}
        for part in (rows_of := sorted(rows, key=str))[::2], rows_of[1::2]:
            connection.execute("BEGIN")
            for name, *row in part:
                table = tables[str(name)]
                values = row[: len(table.of(3))]
                places = ", ".join("?" * (len(values) + 1))
                connection.execute(
                    f"INSERT INTO {name} VALUES ({places})",  # noqa: S608  # our names
                    (*values, seal(table.name, values)),
                )
            connection.execute("COMMIT")
            if rng.random() < 0.5:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return {end: _read(path, end) for end in ("", "-wal")}, _rows(path)


def _now(row: tuple[object, ...]) -> tuple[object, ...]:
    """A row of any version without its seal, as this version has it."""
    (table,) = (table for table in ALL_TABLES if table.name == row[0])
    return (table.name, *table.filled(row[1:-1]))


def _long(k: int, rng: Random) -> Measurement:
    row = measurement(k % 40, k, "long")
    reason = "".join(rng.choices("abcdefgh \n", k=rng.choice((700, 3000, 12_000))))
    return replace(row, outcome=Failed(schedule(k), reason))


def _rows(path: Path) -> set[tuple[object, ...]]:
    """Every row of every table, with the table's name first and its seal last."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        return {
            (table, *row)
            for table in TABLES
            for row in connection.execute(f"SELECT * FROM {table}")  # noqa: S608  # our names
        }


def _unsealed(rows: set[tuple[object, ...]]) -> frozenset[tuple[object, ...]]:
    return frozenset(map(_now, rows))


def _read(path: Path, end: str) -> bytes:
    part = path.with_name(path.name + end)
    return part.read_bytes() if part.exists() else b""


def _places(files: Files) -> Iterator[tuple[bytes, list[Extent]]]:
    """Where the rows of a sound store lie, by their seals: a walk from the roots of the trees."""
    at: dict[int, tuple[str, int]] = {
        number + 1: ("", number * PAGE) for number in range(len(files[""]) // PAGE)
    }
    log, commit = files["-wal"], 0
    commits: dict[int, int] = {}  # of each frame, where the mark is that ended its transaction
    starts = range(HEAD, len(log) - FRAME - PAGE + 1, FRAME + PAGE)
    for start in reversed(starts):
        if log[start + 8 : start + 16] == log[16:24]:
            commit = start if any(log[start + 4 : start + 8]) else commit
            commits[start + FRAME] = commit
            number = int.from_bytes(log[start : start + 4], "big")
            if at.get(number, ("", 0))[0] == "":
                at[number] = ("-wal", start + FRAME)

    def page(number: int) -> bytes:
        name, start = at[number]
        return files[name][start : start + PAGE]

    roots = [root for name, root in _roots(page) if name in TABLES]
    while roots:
        number = roots.pop()
        image = page(number)
        inner = image[0] == 2
        if inner:
            roots.append(int.from_bytes(image[8:12], "big"))
        for place in range(int.from_bytes(image[3:5], "big")):
            pointer = (12 if inner else 8) + 2 * place
            cell = int.from_bytes(image[pointer : pointer + 2], "big")
            if inner:
                roots.append(int.from_bytes(image[cell : cell + 4], "big"))
                cell += 4
            seal, extents = _cell(page, at, number, cell)
            marks = [commits[start] for name, start in (at[number],) if name]
            # A transaction is one if its last frame is there, from its mark to its last byte.
            for mark in marks:
                end = mark + FRAME + PAGE
                extents += [("-wal", mark, mark + FRAME), ("-wal", end - 1, end)]
            yield seal, extents


def _cell(
    page: Callable[[int], bytes], at: dict[int, tuple[str, int]], number: int, cell: int
) -> tuple[bytes, list[Extent]]:
    """The seal of a row, and where its bytes lie, with those that lead from one to the next."""
    image, (name, base) = page(number), at[number]
    size, start = _varint(image, cell)
    least, most = (PAGE - 12) * 32 // 255 - 23, (PAGE - 12) * 64 // 255 - 23
    here = size
    if size > most:
        here = least + (size - least) % (PAGE - 4)
        here = here if here <= most else least
    data = image[start : start + here]
    link = 4 if here < size else 0
    extents = [(name, base + cell, base + start + here + link)]
    after = int.from_bytes(image[start + here : start + here + 4], "big")
    while len(data) < size:
        image, (name, base) = page(after), at[after]
        part = min(size - len(data), PAGE - 4)
        data += image[4 : 4 + part]
        extents.append((name, base - (FRAME if name else 0), base + 4 + part))
        after = int.from_bytes(image[:4], "big")
    return data[-8:], extents


def _roots(page: Callable[[int], bytes]) -> Iterator[tuple[str, int]]:
    """The trees that the first page lists; SQLite itself reads it."""
    image = page(1)
    assert image[100] == 13, "a store's list of tables fits on one page"
    for place in range(int.from_bytes(image[103:105], "big")):
        cell = int.from_bytes(image[108 + 2 * place : 110 + 2 * place], "big")
        _, at = _varint(image, cell)
        _, at = _varint(image, at)
        head, first = _varint(image, at)
        types, body = [], at + head
        while first < at + head:
            kind, first = _varint(image, first)
            types.append(kind)
        sizes = [(kind - 12) // 2 if kind >= 12 else kind for kind in types]
        name = image[body + sizes[0] : body + sizes[0] + sizes[1]].decode()
        root = body + sum(sizes[:3])
        yield name, int.from_bytes(image[root : root + sizes[3]], "big") if types[3] < 8 else 1


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    while True:
        value = value << 7 | data[at] & 0x7F
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def flip(data: bytearray, rng: Random) -> None:
    for _ in range(rng.choice((1, 1, 8, 64))):
        data[rng.randrange(len(data))] ^= rng.randint(1, 255)


def zero_pages(data: bytearray, rng: Random) -> None:
    for _ in range(rng.choice((1, 2, 8))):
        at = rng.randrange(0, len(data), PAGE)
        data[at : at + PAGE] = bytes(len(data[at : at + PAGE]))


def overwrite(data: bytearray, rng: Random) -> None:
    at, size = rng.randrange(len(data)), rng.choice((30, 512, PAGE, 9000))
    data[at : at + size] = rng.randbytes(len(data[at : at + size]))


def swap_pages(data: bytearray, rng: Random) -> None:
    one, other = (rng.randrange(0, max(len(data) - PAGE, 1), PAGE) for _ in range(2))
    data[one : one + PAGE], data[other : other + PAGE] = (
        data[other : other + PAGE],
        data[one : one + PAGE],
    )


def cut(data: bytearray, rng: Random) -> None:
    del data[rng.randrange(len(data)) :]


def hit_header(data: bytearray, rng: Random) -> None:
    at, size = rng.randrange(100), rng.choice((1, 4, 100))
    data[at : at + size] = rng.randbytes(len(data[at : at + size]))


def hit_heads_of_pages(data: bytearray, rng: Random) -> None:
    """The kind of a page, how many rows it has, and where they are."""
    for at in range(0, len(data), PAGE):
        if rng.random() < 0.2:
            data[at + rng.randrange(min(40, len(data) - at))] ^= rng.randint(1, 255)


DAMAGE: tuple[Callable[[bytearray, Random], None], ...] = (
    *(flip, zero_pages, overwrite, swap_pages, cut, hit_header, hit_heads_of_pages),
)


def damaged(files: Files, rng: Random) -> tuple[Files, str]:
    """The files with one to four things wrong with them, and which."""
    data = {name: bytearray(content) for name, content in files.items()}
    said = []
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        name = "-wal" if data["-wal"] and rng.random() < 0.4 else ""
        if data[name]:
            kind = rng.choice(DAMAGE)
            kind(data[name], rng)
            said.append(f"{kind.__name__}{name}")
    return {name: bytes(content) for name, content in data.items()}, " ".join(said)


def readable(made: Made, files: Files) -> set[tuple[object, ...]]:
    """The rows of which no byte was hit."""
    hit = {
        name: [
            at
            for at in range(max(len(before), len(files[name])))
            if before[at : at + 1] != files[name][at : at + 1]
        ]
        for name, before in made.files.items()
    }
    marks = {name: bytearray(max(len(made.files[name]), 1)) for name in hit}
    for name, places in hit.items():
        for at in places:
            if at < len(marks[name]):
                marks[name][at] = 1
    return {
        row
        for row, extents in made.rows.items()
        if not any(any(marks[name][start:end]) for name, start, end in extents)
    }


def run(count: int, seed: int) -> Tally:
    """Damage and repair `count` stores."""
    tally = Tally()
    with TemporaryDirectory() as name:
        made: list[Made] = []
        for number in range(count):
            rng = Random(f"{seed}/{number}")
            if number % 20 == 0:
                folder = Path(name) / f"made-{number}"
                folder.mkdir()
                made = [
                    make(_fresh(folder / str(k)), Random(f"{seed}/{number}/{k}")) for k in (0, 1)
                ]
            sound = rng.choice(made)
            files, said = damaged(sound.files, rng)
            where = f"store {number} of seed {seed}: {said}"
            try:
                _judge(tally, _fresh(Path(name) / "case"), sound, files, where)
            except Exception:  # noqa: BLE001  # anything is what this script looks for
                tally.failures.append(f"{where}\n{traceback.format_exc()}")
    return tally


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _judge(tally: Tally, folder: Path, made: Made, files: Files, where: str) -> None:
    path, more = folder / "store.sqlite3", folder / "more.sqlite3"
    _write_more(more)
    told = _unsealed(_rows(more))
    for end, content in files.items():
        if content or not end:
            path.with_name(path.name + end).write_bytes(content)
    wanted = readable(made, files)
    tally.counts["stores"] += 1
    try:
        _write_more(path)
        _repair(path)
    except StoreFailed as error:
        tally.counts["refused"] += 1
        if "has schema" not in error.problem:
            tally.failures.append(f"{where}\nrefused: {error}")
        return  # the number of the version was hit: it is that of a newer program, and left alone
    aside = len(list(folder.glob("*.damaged-?")))
    tally.counts["repaired" if aside else "not damaged"] += 1
    found = _unsealed(_rows(path))
    tally.counts["rows"] += len(made.rows)
    tally.counts["readable rows"] += len(wanted)
    tally.counts["of them kept"] += len(wanted & found)
    tally.counts["written after the damage"] += len(told)
    tally.counts["of those kept"] += len(told & found)
    tally.counts["wrong"] += len(found - made.ever - told)
    if wanted - found:
        tally.failures.append(
            f"{where}\n{len(wanted - found)} lost: {min(wanted - found, key=str)}"
        )
    if told - found:
        tally.failures.append(f"{where}\n{len(told - found)} told to be kept and lost")
    if found - made.ever - told:
        tally.failures.append(f"{where}\nwrong: {min(found - made.ever - told, key=str)}")
    with closing(sqlite3.connect(path)) as connection:
        fault = fault_of(connection, path)
    _repair(path)
    again = len(list(folder.glob("*.damaged-?"))) - aside
    tally.counts["found damaged again"] += bool(fault) or again
    if fault or again:
        tally.failures.append(f"{where}\nrepaired again: {fault}")


def _write_more(path: Path) -> None:
    """What a writer does who knows nothing of the damage; it is told that all of it is kept."""
    with closing(Database(path, writer="later", now_ns=lambda: START_NS + 2 * 10**9)) as store:
        store.put(*(decision(5000 + k, k) for k in range(5)))
        store.append(measurement(5000 + k % 5, k, "later") for k in range(20))


def _repair(path: Path) -> None:
    """As `vyre store repair` does."""
    with closing(DatabaseFile(path, Opening())) as file:
        file.repair_after(Damaged("asked for"))


def race(writers: int, decisions: int) -> Tally:
    """Repair a store as often as can be while processes write to it."""
    tally = Tally()
    with TemporaryDirectory() as name:
        path = Path(name) / "store.sqlite3"
        Database(path, writer="first").close()
        children = [
            subprocess.Popen(  # noqa: S603  # this script
                [
                    *(sys.executable, __file__, "--write", str(path)),
                    *("--first", str(10_000 * (n + 1)), "--count", str(decisions)),
                ],
                stdout=subprocess.PIPE,
                text=True,
            )
            for n in range(writers)
        ]
        while any(child.poll() is None for child in children):
            with exclusive(path):
                if path.exists():
                    move_away(path)
                    put_back(path, journal="wal")
                    tally.counts["repairs"] += 1
            with suppress(subprocess.TimeoutExpired):  # let them write a little
                children[0].wait(0.05)
        told = {int(word) for child in children for word in child.communicate()[0].split()}
        with closing(Database(path, writer="last")) as store:
            found = {k for k in told if store.get(workload(k)) == decision(k, k)}
            measured = {row.workload for row in store.measurements()}
        tally.counts["told to be kept meanwhile"] = len(told)
        tally.counts["lost meanwhile"] = len(told - found)
        tally.counts["lost meanwhile"] += sum(workload(k) not in measured for k in told)
        if tally.counts["lost meanwhile"] or any(child.returncode for child in children):
            tally.failures.append("what was written during repairs is lost, or a writer failed")
    return tally


def _write(path: Path, first: int, count: int) -> None:
    """Write in batches, and print the numbers of what is kept."""
    recorder = Recorder(Database(path, writer=new_writer("race")), linger_s=3600)
    for batch in range(first, first + count, 5):
        for k in range(batch, batch + 5):
            recorder.put(decision(k, k))
            recorder.record(workload(k), measurement(k, 1).outcome, 100)
        if recorder.flush():  # also of what could not be written before
            print(*range(first, batch + 5), flush=True)
    recorder.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="keep the counts in this file")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    logging.getLogger("vyre.store").setLevel(logging.ERROR)  # a line per repair
    if args.write:
        _write(args.write, args.first, args.count)
        return 0
    tally, raced = run(args.count, args.seed), race(writers=4, decisions=200)
    failures = [*tally.failures, *raced.failures]
    for failure in failures[:5]:
        print(failure)
    for what, number in {**tally.counts, **raced.counts}.items():
        print(f"{number:>10,} {what}")
    print(f"{tally.kept:.2%} of the readable rows kept; {len(failures)} failures")
    if args.json:
        kept = {"kept": tally.kept, "failures": len(failures)}
        provenance.save(args.json, {**tally.counts, **raced.counts, **kept})
    return 1 if failures or tally.kept < 1 else 0


if __name__ == "__main__":
    sys.exit(main())
