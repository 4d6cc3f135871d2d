"""Loads damaged cache files: each must give entries, or a clear error, and stay as it is.

    python scripts/fuzz_cache_files.py --count 50000 --databases 500 --seed 1

Half of the files are tuner caches, half autotune stores; characters flip, lines come and go, files
are cut and joined. What loads must be valid, and must come back when it is saved elsewhere. Saving
into a damaged file must keep its valid entries or refuse. Damaged databases are opened too: each
must give decisions or a clear error, and its bytes must still be there, under one name or another.
The last line counts the outcomes; the exit status is 1 on any failure.
"""

from __future__ import annotations

import argparse
import logging
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import perf_counter

from vyre.errors import StoreFailed
from vyre.model import U32_MAX, Decision, Order, Reason, Schedule, Timed
from vyre.store.exchange.autotune_store import AutotuneStore
from vyre.store.exchange.bridge import export_records
from vyre.store.exchange.tuner_cache import TunerCache
from vyre.store.keys import AutotuneKey
from vyre.store.memory import MemoryStore
from vyre.store.records import AutotuneRecord
from vyre.store.sqlite.database import Database
from vyre.testing.store_contract import KNOBS, decision, measurement, workload

PRETTY = """schema = 1

[[record]]
key = "42000100010000000240000000000000"
adapter = "native-sm120"
workgroup_size = [
    64,
    1,
    1,
]
unroll = 4
tile = [
    16,
    16,
    1,
]
recorded_at = "2026-04-23"
"""
CACHES = (
    "".join(f'"v1-{k:064x}" = [{32 << k % 6}, 1, 1]\n' for k in range(12)),
    "# reviewed by hand\n\"a\" = [64, 1, 1] # fast\n\n'b' = [\n  128,\n  1,\n  1,\n]\nc = [1, 2, 3]"
    "\n",
    '"a \\"b\\" \\\\ \\u00e9" = [64, 1, 1]\n"bad" = [64.0, 1, 1]\nother = "x"\n[table]\nkey = 1\n',
    "",
)
NOISE = (
    *('"', "'", '"""', "'''", "[", "]", "{", "}", "=", ",", ".", "#", "\n", "\r\n", "\\", "\\u12"),
    *("0", "-1", "1e9", "nan", "inf", "4294967296", "0x40", "1_0", "9" * 30, "9" * 5000, "true"),
    *("\x00", "\x7f", "\u2028", "ä", "[[record]]", "[record.evidence]", "schema = 9", " " * 50),
    *("[" * 300, "a." * 300, "1979-05-27", "key", "record = [{}]", "[x]\n", "{a=" * 200),
)


@dataclass
class Outcome:
    """What came of the files."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest_ms: float = 0.0


def autotune_texts(folder: Path) -> tuple[str, ...]:
    """Autotune stores of both schemas, in both array styles."""
    first = AutotuneStore(
        {
            AutotuneKey(f"{k:032x}", f"adapter {k}"): AutotuneRecord(
                workgroup_size=(32 << k, 1, 1), recorded_at="2026-11-15" if k % 2 else ""
            )
            for k in range(5)
        }
    )
    memory = MemoryStore()
    memory.put(*(decision(k, k) for k in range(4)))
    memory.append(measurement(k % 4, k) for k in range(9))
    memory.put(*(replace(decision(10 + k), config=knobs) for k, knobs in enumerate(KNOBS[:10])))
    memory.append(
        replace(measurement(10 + k, k, "b"), outcome=Timed(knobs, 9.0))
        for k, knobs in enumerate(KNOBS[:10])
    )
    second = export_records(memory, "vyre on a test device")
    texts = [PRETTY]
    for number, store in enumerate((first, second)):
        path = folder / f"seed{number}.toml"
        store.save_if_dirty(path)
        texts.append(path.read_text())
    return tuple(texts)


def damage(rng: Random, seeds: tuple[str, ...]) -> bytes:
    """One of `seeds` with one to four things wrong with it."""
    text = rng.choice(seeds)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(text) + 1)
        match rng.randrange(9):
            case 0 | 1:
                text = text[:at] + rng.choice(NOISE) + text[at:]
            case 2:
                text = text[:at] + rng.choice(NOISE) + text[at + rng.randint(1, 8) :]
            case 3:
                text = text[:at]
            case 4:
                text = text[:at] + text[at + rng.randint(1, 30) :]
            case 5:
                lines = text.splitlines(keepends=True)
                rng.shuffle(lines)
                text = "".join(lines)
            case 6:
                lines = text.splitlines(keepends=True)
                text += rng.choice(lines) if lines else "\n"
            case 7:
                text = text[:at] + rng.choice(seeds) + text[at:]
            case _:
                text = text.replace(rng.choice("[]=,\"'01\n"), rng.choice(NOISE), 1)
    data = bytearray(text.encode())
    if data and rng.random() < 0.1:
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def fuzz(count: int, databases: int, seed: int) -> Outcome:
    """Load `count` damaged files and `databases` damaged databases."""
    outcome = Outcome()
    with TemporaryDirectory() as name:
        folder = Path(name)
        texts = autotune_texts(folder)
        for number in range(count):
            rng = Random(f"{seed}/{number}")
            cache = number % 2 == 0
            data = damage(rng, CACHES if cache else texts)
            _judge(outcome, folder, data, _try_cache if cache else _try_records)
        whole = _whole_database(folder)
        for number in range(databases):
            rng = Random(f"{seed}/database/{number}")
            _judge(outcome, folder, _damaged_pages(rng, whole), _try_database)
    return outcome


def _judge(
    outcome: Outcome, folder: Path, data: bytes, attempt: Callable[[Path, bytes], str]
) -> None:
    start = perf_counter()
    try:
        outcome.counts[attempt(folder, data)] += 1
    except StoreFailed as error:
        clear = "\n" not in error.problem and len(error.problem) < 600 and error.fix
        outcome.counts["refused"] += 1
        if not clear:
            outcome.failures.append(f"{data!r}\nunclear: {error}")
    except Exception:  # noqa: BLE001  # anything else is what this script looks for
        outcome.failures.append(f"{data!r}\n{traceback.format_exc()}")
    outcome.slowest_ms = max(outcome.slowest_ms, (perf_counter() - start) * 1e3)


def _try_cache(folder: Path, data: bytes) -> str:
    path, other = folder / "cache.toml", folder / "copy.toml"
    path.write_bytes(data)
    other.unlink(missing_ok=True)
    cache = TunerCache.load(path)
    for size in cache.entries.values():
        assert len(size) == 3
        assert all(type(axis) is int and 1 <= axis <= U32_MAX for axis in size)
    lines = data.count(b"\n") + 1
    assert all(1 <= refused.line <= lines for refused in cache.refused)
    cache.save(other)
    assert TunerCache.load(other) == cache, "entries do not come back"
    assert path.read_bytes() == data, "loading changed the file"
    try:
        TunerCache({"new": (1, 2, 3)}).save(path)
    except StoreFailed:
        assert path.read_bytes() == data, "a refused file was changed"
        return "loaded, not written"
    merged = TunerCache.load(path)
    assert dict(merged.entries) == {**cache.entries, "new": (1, 2, 3)}, "saving lost entries"
    kept = {refused.problem for refused in cache.refused if not refused.problem.startswith("new")}
    assert kept <= {refused.problem for refused in merged.refused}, "saving lost what is refused"
    return "loaded"


def _try_records(folder: Path, data: bytes) -> str:
    path, other = folder / "records.toml", folder / "copy.toml"
    path.write_bytes(data)
    other.unlink(missing_ok=True)
    try:
        store = AutotuneStore.load(path)
    except StoreFailed:
        fresh = AutotuneStore(
            {AutotuneKey("0" * 32, "a"): AutotuneRecord(workgroup_size=(1, 1, 1))}
        )
        try:
            fresh.save_if_dirty(path)
        except StoreFailed:
            assert path.read_bytes() == data, "a refused file was changed"
            raise
        raise AssertionError("a file that cannot be read was replaced") from None
    for _, record in store:
        assert isinstance(record.order, Order)
        assert record.schedule.workgroup == record.workgroup_size
    copy = AutotuneStore(dict(store))
    if copy.save_if_dirty(other):
        assert AutotuneStore.load(other).merged() == store.merged(), "records do not come back"
    return "loaded"


def _whole_database(folder: Path) -> bytes:
    path = folder / "whole.sqlite3"
    store = Database(path, writer="me")
    store.put(*(decision(k, k) for k in range(300)))
    store.append(measurement(k % 40, k) for k in range(1500))
    store.close()
    return path.read_bytes()


def _damaged_pages(rng: Random, whole: bytes) -> bytes:
    data = bytearray(whole)
    match rng.randrange(4):
        case 0:
            for _ in range(rng.choice((1, 8, 64))):
                data[rng.randrange(len(data))] = rng.randrange(256)
        case 1:
            at = rng.randrange(0, len(data), 4096)
            data[at : at + 4096] = rng.choice((bytes(4096), rng.randbytes(4096)))
        case 2:
            del data[rng.randrange(len(data)) :]
        case _:
            at = rng.randrange(100)  # the header
            data[at] = rng.randrange(256)
    return bytes(data)


def _try_database(folder: Path, data: bytes) -> str:
    for left in folder.glob("store.sqlite3*"):
        left.unlink()
    path = folder / "store.sqlite3"
    path.write_bytes(data)
    try:
        store = Database(path, writer="me")
        try:
            found = sum(store.get(workload(k)) is not None for k in range(300))
            rows = sum(1 for k in range(40) for _ in store.measurements(workload(k)))
            store.put(
                Decision(workload=workload(999), config=Schedule((64, 1, 1)), reason=Reason.ADOPTED)
            )
            assert store.get(workload(999)) is not None, "what was put is not there"
            assert all(
                isinstance(row.outcome, Timed) or row.outcome.reason
                for row in store.measurements(workload(1))
            )
        finally:
            store.close()
    except StoreFailed:
        assert data in [p.read_bytes() for p in folder.glob("store.sqlite3*")], "the file is gone"
        raise
    aside = list(folder.glob("store.sqlite3.damaged-?"))
    if aside:
        assert aside[0].read_bytes() == data, "the file set aside was changed"
        return "set aside, rows saved" if found or rows else "set aside"
    return "opened"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=50_000)
    parser.add_argument("--databases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    logging.getLogger("vyre.store").setLevel(logging.ERROR)  # a line per damaged database
    outcome = fuzz(args.count, args.databases, args.seed)
    for failure in outcome.failures[:5]:
        print(failure)
    print(", ".join(f"{count} {what}" for what, count in sorted(outcome.counts.items())))
    print(f"slowest file {outcome.slowest_ms:.0f} ms")
    failed = len(outcome.failures)
    print(f"{args.count + args.databases - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
