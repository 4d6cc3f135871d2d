"""Lets two users write to one folder at once, and counts what was lost, refused or locked out.

    sudo python scripts/store_two_users.py --decisions 200

Runs as root and acts for two users without rights, with a group in common and without. The folder
belongs to root or to one of them, and is open to the group or to all; files are made under umask
022, 002 and 077; a store with a write-ahead log, or with a journal, may be there from before. Each
user has two processes, which write decisions and measurements in batches and read in between. What
they are told is kept must be there for its writer, and for the other one unless the umask says
otherwise. No file may be left that keeps its owner out. The exit status is 1 otherwise.
"""

from __future__ import annotations

import argparse
import itertools
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from vyre.learn.recorder import Recorder
from vyre.store.open import new_writer, open_store
from vyre.store.sqlite.database import Database
from vyre.store.sqlite.file import Opening
from vyre.testing import provenance
from vyre.testing.store_contract import decision, measurement, workload

ADA, BOB, TEAM = 40_001, 40_002, 40_100
BATCH = 20
PROCESSES = 2  # of each user


@dataclass(frozen=True)
class Case:
    """A folder, who may write there, and what is there before."""

    mode: int
    owner: int
    common: bool  # whether the two have a group in common
    umask: int
    before: str

    def __str__(self) -> str:
        whose = {0: "root", ADA: "one of them"}[self.owner]
        group = "one group" if self.common else "no group"
        return f"{self.mode:04o} of {whose}, {group}, umask {self.umask:03o}, before: {self.before}"


@dataclass
class Tally:
    """What came of one folder."""

    case: Case
    written: dict[int, int] = field(default_factory=dict)
    refused: int = 0
    lost: int = 0
    crashed: int = 0
    locked_out: int = 0
    strangers: list[str] = field(default_factory=list)  # files beside one of another user's

    @property
    def failed(self) -> bool:
        return bool(self.refused or self.lost or self.crashed or self.locked_out or self.strangers)

    def __str__(self) -> str:
        written = " + ".join(f"{count:,}" for count in self.written.values())
        text = (
            f"{self.case}: {written} written, {self.lost} lost, {self.refused} refused, "
            f"{self.crashed} crashed, {self.locked_out} locked out"
        )
        return f"{text}; left behind: {', '.join(self.strangers)}" if self.strangers else text


def cases() -> Iterator[Case]:
    """Every folder that is tried."""
    for umask, before in itertools.product((0o022, 0o002, 0o077), ("nothing", "wal", "delete")):
        for mode, owner in ((0o2770, 0), (0o770, 0), (0o2770, ADA), (0o3775, ADA)):
            yield Case(mode, owner, True, umask, before)
        for mode, owner in ((0o777, 0), (0o1777, 0), (0o777, ADA)):
            yield Case(mode, owner, False, umask, before)


def run(decisions: int, some: int | None = None, seed: int = 1) -> list[Tally]:
    """Try every folder, or so many of them by chance."""
    chosen = list(cases())
    if some is not None:
        chosen = Random(seed).sample(chosen, some)
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        return [_try(case, Path(name) / str(n), decisions) for n, case in enumerate(chosen)]


def _try(case: Case, folder: Path, decisions: int) -> Tally:
    folder.mkdir()
    os.chown(folder, case.owner, TEAM if case.common else case.owner)
    folder.chmod(case.mode)
    if case.before != "nothing":
        _act(case, ADA, "before", folder, 0, decisions)
    tally = Tally(case)
    users = [user for user in (ADA, BOB) for _ in range(PROCESSES)]
    children = [
        (user, _start(case, user, "write", folder, 1000 * (n + 1), decisions))
        for n, user in enumerate(users)
    ]
    for user, child in children:
        said = _answer(child)
        tally.crashed += said is None
        tally.written[user] = tally.written.get(user, 0) + (said or {}).get("written", 0)
        tally.refused += (said or {}).get("refused", 0)
    for user in (ADA, BOB):
        said = _act(case, user, "read", folder, len(users), decisions)
        tally.crashed += said is None
        found = {int(number) for number in (said or {}).get("found", ())}
        readable = (ADA, BOB) if case.umask != 0o077 else (user,)
        wanted = {n for n, one in enumerate(users) if one in readable}
        tally.lost += sum(1000 * (n + 1) + k not in found for n in wanted for k in range(decisions))
    for user in (ADA, BOB):
        said = _act(case, user, "write", folder, 90_000 + user, 1)
        tally.locked_out += said is None or said["written"] != 1
    tally.strangers = [path.name for path in folder.iterdir() if _is_strange(path)]
    return tally


def _is_strange(path: Path) -> bool:
    """Whether a log or a journal belongs to another than its database."""
    for end in ("-wal", "-shm", "-journal"):
        if path.name.endswith(end):
            main = path.with_name(path.name.removesuffix(end))
            return main.exists() and main.stat().st_uid != path.stat().st_uid
    return False


def _act(
    case: Case, user: int, role: str, folder: Path, first: int, count: int
) -> dict[str, list[int]] | None:
    return _answer(_start(case, user, role, folder, first, count))


def _start(
    case: Case, user: int, role: str, folder: Path, first: int, count: int
) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603  # this script
        [
            *(sys.executable, __file__, "--role", role, "--folder", str(folder)),
            *("--first", str(first), "--decisions", str(count), "--before", case.before),
            *("--user", str(user), "--umask", str(case.umask)),
            *(("--common",) if case.common else ()),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )


def _answer(child: subprocess.Popen[str]) -> dict[str, list[int]] | None:
    said, _ = child.communicate()
    return json.loads(said) if child.returncode == 0 else None


def _become(user: int, umask: int, common: bool) -> None:
    """Act for a user from now on; what was imported stays, whoever may read it."""
    os.setgroups([TEAM] if common else [])
    os.setgid(user)
    os.setuid(user)
    os.umask(umask)


def _child(args: argparse.Namespace) -> dict[str, object]:
    logging.getLogger("vyre.store").setLevel(logging.ERROR)
    _become(args.user, args.umask, args.common)
    if args.role == "before":
        return _write_before(args.folder, args.before, args.decisions)
    if args.role == "read":
        return _read(args.folder, args.first, args.decisions)
    return _write(args.folder, args.first, args.decisions)


def _write_before(folder: Path, journal: str, decisions: int) -> dict[str, object]:
    """As a release did that knew of one user only, in the midst of its work."""
    assert journal in ("wal", "delete")
    opening = Opening(journal="wal" if journal == "wal" else "delete")
    with closing(Database(folder / "store.sqlite3", writer="old", opening=opening)) as store:
        store.put(*(decision(k) for k in range(decisions)))
    return {}


def _write(folder: Path, first: int, count: int) -> dict[str, object]:
    recorder = Recorder(open_store(folder, writer=new_writer("users")), linger_s=3600)
    written = refused = 0
    for batch in range(first, first + count, BATCH):
        numbers = range(batch, min(batch + BATCH, first + count))
        for k in numbers:
            recorder.put(decision(k, k))
            recorder.record(workload(k), measurement(k, 1).outcome, 100)
        kept = recorder.flush()
        written, refused = written + kept * len(numbers), refused + (not kept) * len(numbers)
        recorder.related(workload(batch))  # which reads every file
    recorder.close()
    return {"written": written, "refused": refused}


def _read(folder: Path, writers: int, count: int) -> dict[str, object]:
    with closing(open_store(folder, writer="reader", read_only=True, strict=True)) as store:
        kept = {item.decision.workload: item.decision for item in store.kept()}
        numbers = [1000 * (n + 1) + k for n in range(writers) for k in range(count)]
        measured = {row.workload for row in store.measurements()}
    return {
        "found": [
            number
            for number in numbers
            if kept.get(workload(number)) == decision(number, number)
            and workload(number) in measured
        ]
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--decisions", type=int, default=200)
    parser.add_argument("--some", type=int, help="try so many folders, not all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="keep the counts in this file")
    parser.add_argument("--role", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--user", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--umask", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--before", default="", help=argparse.SUPPRESS)
    parser.add_argument("--common", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.role:
        print(json.dumps(_child(args)))
        return 0
    if os.geteuid() != 0:
        print("skipped: only root can act for two users; run it with sudo")
        return 0
    tallies = run(args.decisions, args.some, args.seed)
    for tally in tallies:
        print(tally)
    failed = sum(tally.failed for tally in tallies)
    print(f"{len(tallies) - failed} folders passed, {failed} failed")
    if args.json:
        found = {
            "folders": len(tallies),
            "written": sum(sum(tally.written.values()) for tally in tallies),
            "lost": sum(tally.lost for tally in tallies),
            "refused": sum(tally.refused for tally in tallies),
            "crashed": sum(tally.crashed for tally in tallies),
            "locked_out": sum(tally.locked_out for tally in tallies),
            "failed": failed,
        }
        provenance.save(args.json, found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
