"""Fills stores with rows that no version of Vyre wrote, and runs every command on each of them.

    python scripts/hostile_rows.py

Every column of every table gets every hostile value: numbers that are none or too large, text with
escapes, overrides, null characters or ten megabytes, bytes that are no text, other types, JSON that
nests or does not end, knobs of any name. The rows are sealed, as whoever writes them can. Beside
them stand good ones. Each command must end with a message or none, print JSON that is JSON, print
nothing that a terminal obeys, still show the good rows, and do no more for a long value than for a
short one, counted in calls. The last lines count what happened; the exit status is 1 on any
failure.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import shutil
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import FrameType

from typer.testing import CliRunner

import vyre
from vyre.cli.main import app
from vyre.errors import VyreError
from vyre.learn import rules
from vyre.learn.recorder import recorder_of
from vyre.model import Code, Decision, Measurement, Reason, Schedule, Timed, Workload
from vyre.runtime.devices.opened import default
from vyre.store.notice import forget_said
from vyre.store.sqlite.database import Database
from vyre.store.sqlite.rows import workload_key
from vyre.store.sqlite.tables import TABLES, Table
from vyre.testing import provenance

NAME = "good kernel"
CHOSEN = Schedule((128, 1, 1), Code(checked=False))  # a legal one, or nobody would show it
LONG = "long text"
NOT_TEXT = object()  # two bytes that are no UTF-8, in a column of text
VALUES: dict[str, object] = {
    "null": None,
    "nan": float("nan"),
    "infinity": float("inf"),
    "-infinity": float("-inf"),
    "1e308": 1e308,
    "1e-320": 1e-320,
    "-1.0": -1.0,
    "2**63-1": 2**63 - 1,
    "-2**63": -(2**63),
    "-1": -1,
    "0": 0,
    "empty": "",
    "word": "abc",
    "null character": "a\0b",
    "escapes": "\x1b]0;owned\x07\x1b[2J\x9b31m",
    "overrides": "\u202egood\u2066 \u200f\ufeff",
    "lines": "a\r\nb\u2028c\x85",
    "markup": "[red]x[/red] [link=file:///etc/passwd]y[/link] :smile:",
    "html": "</script><img src=x onerror=alert(1)>&lt;",
    "digits": "9" * 4000,
    "deep JSON": "[" * 9000,
    "JSON that is no number": "[NaN, Infinity, 1e999]",
    "JSON of truth values": '{"workgroup":[true,1,1],"items":1,"vector":1,"unroll":1,'
    '"order":"strided","checked":true}',
    "JSON of large numbers": '{"workgroup":[99999999999999999999,1,1],"items":1,"vector":1,'
    '"unroll":1,"order":"strided","checked":true}',
    "JSON of knobs": '{"knobs":{"\\u001b]0;owned\\u0007":"\\u202e\\r\\n\\u0000","":-0.0,'
    '"<img src=x onerror=alert(1)>":"[red]x[/red]","n":4611686018427387904,"t":true}}',
    "JSON of many long knobs": json.dumps(
        {"knobs": {f"{k:02}" + "\U0001f600" * 7: "\u0301" * 7 for k in range(64)}},
        ensure_ascii=False,
    ),
    "JSON of too many knobs": json.dumps({"knobs": {str(k): k for k in range(65)}}),
    "JSON of knobs that are none": '{"knobs":{"a":NaN,"b":[1],"c":null}}',
    "JSON of knobs and a schedule": '{"knobs":{"a":1},"workgroup":[1,1,1],"items":1}',
    "JSON of a newer schedule": '{"workgroup":[64,1,1],"items":1,"vector":1,"unroll":1,'
    '"order":"strided","checked":false,"tiles":2}',
    "JSON of text": '["\\u001b[31m", "autotune store"]',
    "one trait": '["autotune store"]',
    "bytes": b"\xff\x00\x1b[2J",
    "no text": NOT_TEXT,
    LONG: "x" * 10_000_000,
    "long wide text": "\U0001f600\u0301" * 1_000_000,
}
COMMANDS = (
    ("store", "list"),
    ("store", "list", "--json"),
    ("store", "show", NAME),
    ("store", "show", NAME, "--json"),
    ("store", "check"),
    ("store", "check", "--json"),
    ("store", "export", "out.toml"),
    ("store", "merge", "other.sqlite3"),
    ("report", "-o", "out.html"),
    ("report", "--json"),
    ("explain", "saxpy", "--size", "1000"),
    ("explain", "saxpy", "--size", "1000", "--json"),
    ("store", "prune"),
    ("store", "repair"),
    ("store", "list"),
)
SHOWS_GOOD = {("store", "list"), ("store", "show"), ("report", "--json"), ("explain", "saxpy")}


@dataclass(frozen=True)
class Hostile:
    """One value where it does not belong."""

    table: Table
    column: str
    value: str

    def __str__(self) -> str:
        return f"{self.value} in {self.table.name}.{self.column}"


@dataclass
class Tally:
    """What came of the commands."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def every() -> Iterator[Hostile]:
    """Every value in every column of every table."""
    for table in TABLES:
        for column in table.columns:
            for value in VALUES:
                yield Hostile(table, column, value)


def good(folder: Path, workload: Workload) -> Path:
    """A store with one decision, and the measurements it rests on."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "store.sqlite3"
    with closing(Database(path, writer="good writer")) as store:
        store.append(
            Measurement(
                writer="good writer",
                sequence=sequence,
                workload=workload,
                outcome=Timed(CHOSEN, 1000.0 + sequence),
                size=1000,
                at_ns=1_700_000_000_000_000_000,
            )
            for sequence in range(4)
        )
        store.put(
            Decision(
                workload=workload,
                config=CHOSEN,
                reason=Reason.ADOPTED,
                detail="good detail",
                gain=1.5,
                confidence=0.99,
            )
        )
        store.name({workload.fingerprint.hex(): NAME, workload.device: "good device"})
    return path


Values = dict[str, object]


def spoil(path: Path, rows: Sequence[Hostile]) -> None:
    """Add hostile rows, each beside the good ones and as much like them as can be."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        like = {table.name: _first(connection, table) for table in TABLES}
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        for number, one in enumerate(rows):
            _add(connection, one, like, number)
        connection.execute("COMMIT")


def _first(connection: sqlite3.Connection, table: Table) -> Values:
    columns = ", ".join(table.columns)
    row = connection.execute(f"SELECT {columns} FROM {table.name} LIMIT 1").fetchone()  # noqa: S608  # our names
    return dict(zip(table.columns, row, strict=True))


def _add(
    connection: sqlite3.Connection, one: Hostile, like: dict[str, Values], number: int
) -> None:
    """One hostile row, and whatever a command needs beside it to come upon it."""
    value = VALUES[one.value]
    hostile = {one.column: "\ufffd" if value is NOT_TEXT else value}
    workload = like["workloads"] | {"fingerprint": number.to_bytes(4, "little")}
    if one.table.name == "workloads":
        workload |= hostile
    if one.column != "key":
        workload["key"] = _key(workload) or number.to_bytes(32, "little")
    row = {
        "workloads": workload,
        "decisions": like["decisions"] | {"workload": workload["key"]},
        "measurements": like["measurements"]
        | {"workload": workload["key"], "sequence": number + 9},
        "names": like["names"] | {"digest": f"digest {number}"},
    }
    row[one.table.name] |= hostile
    for table in TABLES[:3]:
        _insert(connection, table, row[table.name], one if table is one.table else None)
    if one.table.name == "names":
        _insert(connection, one.table, row["names"], one)


def _insert(connection: sqlite3.Connection, table: Table, row: Values, one: Hostile | None) -> None:
    values = tuple(None if value != value else value for value in row.values())
    text = one is not None and VALUES[one.value] is NOT_TEXT
    places = ["CAST(? AS TEXT)" if text and name == one.column else "?" for name in row]  # type: ignore[union-attr]
    given = [b"\xff\xfe" if text and value == "\ufffd" else value for value in values]
    columns = ", ".join((*row, "seal"))
    with suppress(sqlite3.IntegrityError):  # most columns take no null: the table refuses it itself
        connection.execute(
            f"INSERT OR IGNORE INTO {table.name} ({columns}) VALUES ({', '.join(places)}, ?)",  # noqa: S608  # our names
            [*given, table.sealed(values)[-1]],
        )


def _key(row: Values) -> bytes | None:
    """The key that a workload of these values has, if there can be one."""
    try:
        buckets, traits = json.loads(str(row["buckets"])), json.loads(str(row["traits"]))
        return workload_key(
            Workload(
                fingerprint=row["fingerprint"],  # type: ignore[arg-type]
                buckets=tuple(buckets),
                traits=tuple(traits),
                device=row["device"],  # type: ignore[arg-type]
                toolchain=row["toolchain"],  # type: ignore[arg-type]
            )
        )
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


class Calls:
    """Counts the calls of functions, which do not depend on how busy a machine is."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Calls:
        sys.setprofile(self._seen)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _seen(self, _: FrameType, event: str, __: object) -> None:
        self.count += event in ("call", "c_call")


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    said: str
    error: BaseException | None
    calls: int


def run_command(words: Sequence[str], folder: Path) -> Ran:
    """Run a command on the store of a folder, in this process."""
    os.environ["VYRE_CACHE_DIR"] = str(folder)  # noqa: TID251  # as a user sets it
    rules.current.cache_clear()
    recorder_of.cache_clear()
    forget_said()
    with Calls() as calls:
        shown = CliRunner().invoke(app, list(words), env={"COLUMNS": "100"})
    error = shown.exception if not isinstance(shown.exception, SystemExit) else None
    return Ran(shown.exit_code, shown.stdout, shown.stderr, error, calls.count)


def judge(tally: Tally, words: Sequence[str], ran: Ran, where: str) -> None:
    """Hold what a command did against what it must do."""
    name = f"{' '.join(words)} with {where}"
    tally.counts["commands"] += 1
    tally.counts["ended with an error message"] += ran.code == 1
    if ran.error is not None or ran.code not in (0, 1):
        tally.failures.append(f"{name}: {ran.code} {ran.error!r}\n{ran.said}")
        return
    for text in (ran.out, ran.said):
        tally.counts["lines"] += text.count("\n")
        if not all(line.isprintable() for line in text.split("\n")):
            bad = next(line for line in text.split("\n") if not line.isprintable())
            tally.failures.append(f"{name}: printed {bad[:200]!r}")
    if "--json" in words and (ran.code == 0 or "check" in words):
        tally.counts["JSON texts"] += 1
        try:
            json.loads(ran.out, parse_constant=_refuse)
        except ValueError as error:
            tally.failures.append(f"{name}: {error}")
    longest = max(map(len, ran.out.split("\n")))
    if "--json" not in words and longest > 4000:
        tally.failures.append(f"{name}: a line of {longest:,} letters")
    if tuple(words[:2]) in SHOWS_GOOD and "prune" not in where:
        tally.counts["good rows looked for"] += 1
        if ran.code or not any(good in ran.out for good in (NAME, "good detail")):
            tally.failures.append(
                f"{name}: the good row is not there\n{ran.out[:300]}{ran.said[:300]}"
            )


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def try_rows(tally: Tally, folder: Path, sound: Path, rows: Sequence[Hostile]) -> dict[str, int]:
    """Every command on a store with these rows; how many calls each took."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    where = str(rows[0]) if len(rows) == 1 else f"{len(rows)} rows"
    path = folder / "store.sqlite3"
    shutil.copyfile(sound, path)
    spoil(path, rows)
    shutil.copyfile(path, folder / "other.sqlite3")
    calls = {}
    before = Path.cwd()
    os.chdir(folder)
    try:
        for number, words in enumerate(COMMANDS):
            pages = path.stat().st_size // 4096 if "repair" in words else 0  # it looks at each
            ran = run_command(words, folder)
            judge(tally, words, ran, where)
            calls[f"{number} {' '.join(words)}"] = ran.calls - 10 * pages
        page = folder / "out.html"
        if not page.exists() or "<img src=x" in page.read_text():
            tally.failures.append(f"the report with {where}: not there, or not escaped")
    finally:
        os.chdir(before)
    return calls


def run(count: int | None = None, seed: int = 1) -> Tally:
    """Try every row, or so many by chance, each alone; then all of them in one store."""
    tally = Tally()
    vyre.devices()  # compilers keep the folder they begin with, which must outlive those below
    os.environ["VYRE_DEVICE"] = "reference"  # noqa: TID251  # as a user sets it
    default.cache_clear()  # whoever ran before in this process may have chosen another
    with TemporaryDirectory() as name, ExitStack() as after:
        after.callback(default.cache_clear)
        folder = Path(name)
        sound = good(folder / "sound", _workload(folder))
        chosen = list(every())
        if count is not None:
            chosen = Random(seed).sample(chosen, count)
        for one in chosen:
            calls = try_rows(tally, folder / "case", sound, [one])
            if one.value == LONG:
                short = [replace(one, value=value) for value in ("word", "bytes")]
                usual = [try_rows(tally, folder / "case", sound, [other]) for other in short]
                _compare(tally, usual, calls, str(one))
        short = [one for one in every() if "long" not in one.value]
        try_rows(tally, folder / "case", sound, short)
        tally.counts["hostile rows"] = len(chosen) + len(short)
        try_tuning(tally, folder / "case", sound, short)
    return tally


def _compare(
    tally: Tally, usual: Sequence[dict[str, int]], calls: dict[str, int], where: str
) -> None:
    for words, count in calls.items():
        tally.counts["long values compared"] += 1
        most = max(one[words] for one in usual)
        if count > 1.2 * most + 2000:
            tally.failures.append(f"{words} with {where}: {count:,} calls, else {most:,}")


def _workload(folder: Path) -> Workload:
    """What `vyre explain` looks up, so that it meets the rows."""
    said = run_command(("explain", "saxpy", "--size", "1000", "--json"), folder / "empty")
    value = json.loads(said.out)["workload"]
    return Workload(
        fingerprint=bytes.fromhex(value["fingerprint"]),
        buckets=tuple(value["buckets"]),
        traits=tuple(value["traits"]),
        device=value["device"],
        toolchain=value["toolchain"],
    )


def try_tuning(tally: Tally, folder: Path, sound: Path, rows: Sequence[Hostile]) -> None:
    """Tune on a store that is full of hostile rows, where there is something to tune on."""
    words = (
        "tune",
        "saxpy",
        "--size",
        "1000",
        "--budget",
        "0.2s",
        "--device",
        "opencl:0",
        "--json",
    )
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copyfile(sound, folder / "store.sqlite3")
    spoil(folder / "store.sqlite3", rows)
    try:
        ran = run_command(words, folder)
    except VyreError as error:
        tally.failures.append(f"{words}: {error}")
        return
    if "no device 'opencl:0'" in ran.said or "is not installed" in ran.said:
        tally.counts["not tuned: no OpenCL device is here"] += 1
        return
    judge(tally, words, ran, f"{len(rows)} rows")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, help="try so many rows alone, by chance")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="keep the counts in this file")
    args = parser.parse_args()
    logging.getLogger("vyre.store").setLevel(logging.ERROR)  # a line per store
    tally = run(args.count, args.seed)
    for failure in tally.failures[:10]:
        print(failure[:2000])
    for what, number in tally.counts.items():
        print(f"{number:>10,} {what}")
    print(f"{len(tally.failures)} failures")
    if args.json:
        provenance.save(args.json, {**tally.counts, "failures": len(tally.failures)})
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
