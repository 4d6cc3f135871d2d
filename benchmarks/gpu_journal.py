"""What the GPU suite has measured so far: a line of JSON for each cell, in files that only grow."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from vyre.model import Schedule

Record = dict[str, Any]
Key = tuple[str, str, str]

FIRST = ("items", "vector", "unroll", "order", "checked")
"""Parts of a schedule that every row has, by their places."""


def packed(schedule: Schedule) -> list[Any]:
    """A schedule as JSON holds it; parts beyond the first as one text, so that it is a key."""
    said = schedule.code.value()
    first = [said.pop(name) for name in FIRST]
    return [*schedule.workgroup, *first, *([json.dumps(said)] if said else [])]


def unpacked(row: list[Any]) -> Schedule:
    """What `packed` was given."""
    end = 3 + len(FIRST)
    parts = dict(zip(FIRST, row[3:end], strict=True))
    later = json.loads(row[end]) if row[end:] else {}
    return Schedule.of({"workgroup": row[:3], **parts, **later})


def key_of(record: Mapping[str, Any]) -> Key:
    """What a record is about; a later one about the same takes its place."""
    return record["part"], record.get("kernel", ""), record.get("size", "")


def read(paths: Iterable[Path]) -> Iterator[Record]:
    """Every record of these files, and of the folders among them; a line cut short is left out."""
    for path in paths:
        files = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
        for file in files:
            for line in file.read_text().splitlines() if file.exists() else ():
                try:
                    record = json.loads(line)
                except json.JSONDecodeError:
                    continue
                if isinstance(record, dict) and "part" in record:
                    yield record


def merged(records: Iterable[Record]) -> dict[Key, Record]:
    """The last record about each thing; one that only tells of an error replaces no result."""
    kept: dict[Key, Record] = {}
    for record in records:
        key = key_of(record)
        if "error" not in record or "error" in kept.get(key, {"error": ""}):
            kept[key] = record
    return kept


class Journal:
    """Reads what was measured before, and adds to one file."""

    def __init__(self, path: Path, before: Iterable[Path] = ()) -> None:
        self.path, self._before = path, tuple(before)

    def all(self) -> list[Record]:
        return list(read([*self._before, self.path]))

    def write(self, record: Record) -> None:
        """Add a record; it is in the file when this returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")

    def get(self, place: Mapping[str, Any]) -> Record:
        """The record of a place, or an empty one."""
        return merged(self.all()).get(key_of(place), {})

    def has(self, place: Mapping[str, Any]) -> bool:
        """Whether it is measured; what failed in an earlier run is tried again, in this one not."""
        key = key_of(place)
        here = merged(read([self.path]))
        return key in here or "error" not in merged(read(self._before)).get(key, {"error": ""})

    def write_broken(self, kernel: str, side: str, why: str) -> None:
        """Note that a side broke the process that measured it."""
        self.write({"part": "broken", "kernel": kernel, "size": side, "why": why})

    def broken(self, kernel: str) -> dict[str, str]:
        """The sides not to be tried again for a kernel: broken there, or for two others."""
        found: dict[str, dict[str, str]] = {}
        for record in self.all():
            if record["part"] == "broken":
                found.setdefault(record["size"], {})[record["kernel"]] = record["why"]
        return {
            side: f"it broke a process: {why.get(kernel, next(iter(why.values())))}"
            for side, why in found.items()
            if kernel in why or len(why) >= 2
        }
