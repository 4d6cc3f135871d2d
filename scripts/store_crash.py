"""Races and crashes the stores, and counts what was lost.

    python scripts/store_crash.py --writers 16 --decisions 500 --kills 200 --seed 1

Four parts, each on the database and on the tuner cache file. Race: processes write decisions into
one store at once. Kill: a process writes batches and reports each one when it is kept; it is killed
with SIGKILL at a random moment; what it reported must be there and the file must be sound. Full:
files may not grow beyond a limit. Forbidden: the folder may not be written. In the last two, what
was there before must still be there. The exit status is 1 if anything is lost.
"""

from __future__ import annotations

import argparse
import logging
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from vyre.errors import StoreFailed
from vyre.learn.recorder import Recorder
from vyre.store.base import Bounds
from vyre.store.exchange.tuner_cache import TunerCache
from vyre.store.open import new_writer, open_store
from vyre.store.sqlite.database import Database
from vyre.testing.store_contract import decision, measurement, workload

BATCH = 25
NOBODY = 65534


@dataclass
class Tally:
    """One part's result."""

    name: str
    done: str
    lost: int = 0
    corrupt: int = 0
    problem: str = ""

    @property
    def failed(self) -> bool:
        return bool(self.lost or self.corrupt or self.problem)

    def __str__(self) -> str:
        text = f"{self.name}: {self.done}; {self.lost} lost, {self.corrupt} corrupt"
        return f"{text}; {self.problem}" if self.problem else text


def race_database(folder: Path, writers: int, decisions: int) -> Tally:
    """Every process writes its own decisions through a recorder."""
    _together("race-database", folder, writers, decisions)
    store = _database(folder)
    found = sum(store.get(workload(k)) == decision(k, k) for k in range(writers * decisions))
    rows = sum(1 for _ in store.measurements())
    store.close()
    total = writers * decisions
    return Tally(
        "race, database",
        f"{writers} processes x {decisions} decisions and measurements",
        2 * total - found - rows,
        corrupt=int(not _sound(folder / "store.sqlite3")),
    )


def race_file(folder: Path, writers: int, decisions: int) -> Tally:
    """Every process adds its own entries to one tuner cache, in batches."""
    _together("race-file", folder, writers, decisions)
    found = TunerCache.load(folder / "cache.toml")
    total = writers * decisions
    right = sum(found.get(f"k{k}") == (k + 1, 1, 1) for k in range(total))
    return Tally("race, tuner cache", f"{writers} processes x {decisions} decisions", total - right)


def kill_database(folder: Path, kills: int, seed: int) -> Tally:
    """What a process reported as flushed survives its death."""
    tally = Tally("kill -9, database", "")
    reported, unreported = 0, 0
    for number in range(kills):
        first = number * 1_000_000
        kept = _killed("write-database", folder, first, Random(f"{seed}/{number}"))
        store = _database(folder)
        present = 0
        while store.get(workload(first + present)) is not None:
            present += 1
        store.close()
        reported += kept
        unreported = max(unreported, present - kept)
        tally.lost += max(0, kept - present)
        tally.corrupt += not _sound(folder / "store.sqlite3")
        tally.corrupt += any(folder.glob("*.damaged-*"))
    tally.done = f"{kills} kills, {reported} decisions reported before them"
    if unreported > BATCH:
        tally.problem = f"{unreported} decisions were there unreported, more than a batch"
    return tally


def kill_file(folder: Path, kills: int, seed: int) -> Tally:
    """A tuner cache is the old file or the new one, whenever its writer dies."""
    tally = Tally("kill -9, tuner cache", "")
    path = folder / "cache.toml"
    reported = 0
    for number in range(kills):
        first = number * 1_000_000
        kept = _killed("write-file", folder, first, Random(f"{seed}/file/{number}"))
        reported += kept
        try:
            cache = TunerCache.load(path)
        except StoreFailed as error:
            tally.corrupt += 1
            tally.problem = error.problem
            continue
        tally.corrupt += len(cache.refused)
        tally.lost += sum(cache.get(f"k{first + k}") is None for k in range(kept))
        path.write_text("")  # so that it does not grow with the number of kills
    tally.done = f"{kills} kills, {reported} entries reported before them"
    return tally


def full_disk(folder: Path) -> list[Tally]:
    """In a process whose files may not grow, saving fails and the old content stays."""
    before = _prepared(folder)
    code = _run_child("write-full", folder)
    return _unharmed("full disk", folder, before, code)


def forbidden(folder: Path) -> list[Tally]:
    """In a process that may not write the folder, saving fails and the old content stays."""
    before = _prepared(folder)
    for path in (folder, *folder.iterdir()):
        path.chmod(0o555 if path.is_dir() else 0o444)
    code = _run_child("write-forbidden", folder)
    folder.chmod(0o755)
    return _unharmed("forbidden folder", folder, before, code)


def _together(role: str, folder: Path, writers: int, decisions: int) -> None:
    """Let processes write at once: each waits until all of them are ready."""
    children = [
        subprocess.Popen(  # noqa: S603  # this script
            [
                *(sys.executable, __file__, "--role", role, "--folder", str(folder)),
                *("--first", str(k * decisions), "--decisions", str(decisions)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for k in range(writers)
    ]
    for child in children:
        assert child.stdout is not None
        child.stdout.readline()
    for child in children:
        assert child.stdin is not None
        child.stdin.write(b"go\n")
        child.stdin.flush()
    for child in children:
        child.communicate()
    assert all(child.returncode == 0 for child in children), "a writer failed"


def _race(role: str, folder: Path, first: int, count: int) -> None:
    recorder = Recorder(_database(folder), linger_s=0.005) if role == "race-database" else None
    print("ready", flush=True)
    sys.stdin.readline()
    for batch in range(first, first + count, BATCH):
        numbers = range(batch, min(batch + BATCH, first + count))
        if recorder is None:
            TunerCache({f"k{k}": (k + 1, 1, 1) for k in numbers}).save(folder / "cache.toml")
            continue
        for k in numbers:
            recorder.put(decision(k, k))
            recorder.record(workload(k), measurement(k, 1).outcome, 100)
        recorder.flush()
    if recorder is not None:
        recorder.close()


def _killed(role: str, folder: Path, first: int, rng: Random) -> int:
    """How many decisions a child reported before it was killed, at a moment of `rng`'s choice."""
    with subprocess.Popen(  # noqa: S603  # this script
        [sys.executable, __file__, "--role", role, "--folder", str(folder), "--first", str(first)],
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        line = child.stdout.readline()  # it has started to write
        time.sleep(rng.uniform(0, 0.06))
        child.send_signal(signal.SIGKILL)
        rest = child.stdout.read()
    complete = [text for text in (line + rest).split("\n")[:-1] if text]
    return int(complete[-1]) if complete else 0


def _write_until_killed(role: str, folder: Path, first: int) -> None:
    recorder = Recorder(_database(folder), linger_s=60) if role == "write-database" else None
    for done in range(0, 1_000_000, BATCH):
        print(done, flush=True)
        if recorder is None:
            cache = TunerCache({f"k{first + done + k}": (k + 1, 1, 1) for k in range(BATCH)})
            cache.save(folder / "cache.toml")
        else:
            for k in range(first + done, first + done + BATCH):
                recorder.put(decision(k, k))
            assert recorder.flush()


def _prepared(folder: Path) -> str:
    store = _database(folder)
    store.put(*(decision(k, k) for k in range(200)))
    store.close()
    TunerCache({f"k{k}": (k + 1, 1, 1) for k in range(200)}).save(folder / "cache.toml")
    folder.chmod(0o777)
    for path in folder.iterdir():
        path.chmod(0o666)
    return (folder / "cache.toml").read_text()


def _run_child(role: str, folder: Path) -> int:
    command = [sys.executable, __file__, "--role", role, "--folder", str(folder)]
    return subprocess.run(command, check=False).returncode  # noqa: S603  # this script


def _write_where_it_fails(role: str, folder: Path) -> int:
    logging.getLogger("vyre.store").setLevel(logging.ERROR)
    if role == "write-full":
        largest = max(path.stat().st_size for path in folder.iterdir())
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    elif os.geteuid() == 0:
        os.setuid(NOBODY)  # root may write everywhere
    store = open_store(folder, writer=new_writer("crash"))
    recorder = Recorder(store, bounds=Bounds(), linger_s=0.005)
    for k in range(1000, 9000):
        recorder.put(decision(k, k))
    written = recorder.flush()
    remembered = recorder.get(workload(8999)) == decision(8999, 8999)
    old = recorder.get(workload(7)) == decision(7, 7)
    recorder.close()
    try:
        TunerCache({f"new{k}": (1, 1, 1) for k in range(40_000)}).save(folder / "cache.toml")
    except StoreFailed:
        saved = False
    else:
        saved = True
    return (written << 0) | (not remembered) << 1 | (not old) << 2 | saved << 3


def _unharmed(name: str, folder: Path, before: str, code: int) -> list[Tally]:
    store = _database(folder)
    found = sum(store.get(workload(k)) == decision(k, k) for k in range(200))
    store.close()
    flaws = ("a flush that could not be", "a decision not remembered", "an old one not read")
    wrong = [
        text for bit, text in enumerate((*flaws, "a save that could not be")) if code >> bit & 1
    ]
    return [
        Tally(
            f"{name}, database",
            f"{found} of 200 old decisions there",
            200 - found,
            corrupt=int(not _sound(folder / "store.sqlite3")),
            problem=", ".join(wrong),
        ),
        Tally(
            f"{name}, tuner cache",
            "the old file is as it was",
            lost=int((folder / "cache.toml").read_text() != before),
        ),
    ]


def _database(folder: Path) -> Database:
    return Database(folder / "store.sqlite3", writer=new_writer("crash"))


def _sound(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as connection:
        return bool(connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok")


def run(writers: int, decisions: int, kills: int, seed: int) -> list[Tally]:
    """Every part, in folders of its own."""
    tallies = []
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)

        def folder() -> Path:
            made = Path(name) / str(len(tallies))
            made.mkdir()
            return made

        tallies.append(race_database(folder(), writers, decisions))
        tallies.append(race_file(folder(), writers, decisions))
        tallies.append(kill_database(folder(), kills, seed))
        tallies.append(kill_file(folder(), kills, seed))
        tallies += full_disk(folder())
        tallies += forbidden(folder())
    return tallies


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--writers", type=int, default=16)
    parser.add_argument("--decisions", type=int, default=500)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--role", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.role in ("race-database", "race-file"):
        _race(args.role, args.folder, args.first, args.decisions)
        return 0
    if args.role in ("write-database", "write-file"):
        _write_until_killed(args.role, args.folder, args.first)
        return 0
    if args.role:
        return _write_where_it_fails(args.role, args.folder)
    tallies = run(args.writers, args.decisions, args.kills, args.seed)
    for tally in tallies:
        print(tally)
    failed = sum(tally.failed for tally in tallies)
    print(f"{len(tallies) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
