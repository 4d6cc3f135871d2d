"""Records as TOML and back, strictly: every field is checked, and a fault has its line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vyre.errors import InvalidInput, StoreFailed
from vyre.model import (
    PARTS,
    U32_MAX,
    Code,
    Config,
    Dim3,
    Knobs,
    Order,
    Schedule,
    Setting,
    Workload,
)
from vyre.plain import shown
from vyre.store.exchange.text import key_of, parse, quoted, statements
from vyre.store.keys import AutotuneKey
from vyre.store.records import AutotuneRecord, WriterEvidence
from vyre.store.sound import LONGEST_FIELD, is_sound_workload

_FIRST = ("key", "adapter", "workgroup_size", "unroll", "tile", "recorded_at")
_SECOND = (*PARTS, "provenance", "workload", "evidence", "knobs")
_WORKLOAD = ("fingerprint", "buckets", "traits", "device", "toolchain")
_EVIDENCE = ("writer", "workgroup_size", *PARTS, "count", "median_ns", "last_at_ns", "knobs")
_OF_SCHEDULES = ("workgroup_size", "unroll", "tile", *PARTS)
_KNOBS = "knobs"


class _Bad(Exception):
    """A field that cannot be used; `place` leads to its line where the field has several."""

    def __init__(self, field: str, problem: str, place: str = "") -> None:
        super().__init__(field, problem, place)
        self.field, self.place = field, place or field
        self.problem = problem if len(problem) <= 200 else f"{problem[:200]} …"


def read_records(text: str, path: Path) -> dict[AutotuneKey, AutotuneRecord]:
    """Every record of a file.

    Raises:
        StoreFailed: the file is not an autotune store of a known schema, or a record is bad.
    """
    values = parse(text, path)
    lines = _Lines.of(text)
    schema = values.get("schema")
    if type(schema) is not int or not isinstance(values.get("record", []), list):
        raise StoreFailed(
            f"{path} is not an autotune store: it has no schema number and records",
            "give the path of one; this file is left as it is",
        )
    if schema not in (1, 2):
        raise StoreFailed(
            f"{path} line {lines.top.get('schema', 1)} has schema {str(schema)[:20]};"
            " this version of Vyre knows 1 and 2",
            "upgrade vyre, or use another path; this file is left as it is",
        )
    unknown = sorted(values.keys() - {"schema", "record"})
    if unknown:
        raise StoreFailed(
            f"{path} line {lines.top.get(unknown[0], 1)} has {unknown[0][:40]!r},"
            " which is no part of an autotune store",
            "remove it, or use another path; this file is left as it is",
        )
    records: dict[AutotuneKey, AutotuneRecord] = {}
    for number, table in enumerate(values.get("record", [])):
        try:
            key, record = _record(table, schema)
            _refuse_twice(key, records)
        except _Bad as bad:
            raise StoreFailed(
                f"{path} line {lines.of_field(number, bad.place)}: {bad.field[:40]} {bad.problem}",
                "mend or remove that record; the file is left as it is",
            ) from None
        records[key] = record
    return records


def write_records(records: Mapping[AutotuneKey, AutotuneRecord]) -> str:
    """The text of a file; schema 1 where every record fits it, so that the crate reads all."""
    second = any(len(key.key_hex) > 32 or record.extended for key, record in records.items())
    parts = [f"schema = {2 if second else 1}\n"]
    for key, record in sorted(records.items(), key=lambda item: item[0]):
        parts.append(_written(key, record))
    return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class _Lines:
    """Where the parts of a file are."""

    top: Mapping[str, int]
    records: tuple[Mapping[str, int], ...]

    @classmethod
    def of(cls, text: str) -> _Lines:
        top: dict[str, int] = {}
        records: list[dict[str, int]] = []
        here, under = top, ""
        for statement in statements(text):
            head = statement.text.partition("#")[0].replace(" ", "").replace("\t", "")
            if head.startswith("[[record]]"):
                here, under = {"": statement.line}, ""
                records.append(here)
            elif statement.is_table:
                name = head.strip("[]").rpartition(".")[2]
                here.setdefault(name, statement.line)
                under = f"{name}." if name == _KNOBS else ""  # they may be called like any field
            elif (key := key_of(statement)) is not None:
                here.setdefault(f"{under}{key}", statement.line)
        return cls(top, tuple(records))

    def of_field(self, record: int, field: str) -> int:
        if record >= len(self.records):  # written as `record = [{…}]`
            return self.top.get("record", 1)
        found = self.records[record]
        return found.get(field, found.get(field.partition(".")[0], found[""]))


def _refuse_twice(key: AutotuneKey, records: Mapping[AutotuneKey, AutotuneRecord]) -> None:
    if key in records:
        raise _Bad("key", f"{key.key_hex} of {key.adapter_id!r} is there twice")


def _record(table: object, schema: int) -> tuple[AutotuneKey, AutotuneRecord]:
    fields = _table(table, "record", _FIRST if schema == 1 else (*_FIRST, *_SECOND))
    adapter = _text(fields, "adapter")
    try:
        key = AutotuneKey(_text(fields, "key"), adapter)
    except InvalidInput as error:
        raise _Bad("key", error.problem.removeprefix("autotune key ")) from None
    if schema == 1 and len(key.key_hex) != 32:
        raise _Bad("key", f"{key.key_hex!r} is not 32 hex digits, as in schema 1")
    workload = fields.get("workload")
    evidence = fields.get("evidence", [])
    if not isinstance(evidence, list):
        raise _Bad("evidence", "is not an array of tables")
    try:
        knobs = _knobs(fields) if _KNOBS in fields else None
        record = AutotuneRecord(
            workgroup_size=_dim3(fields, "workgroup_size") if knobs is None else (1, 1, 1),
            tile=_dim3(fields, "tile") if knobs is None else (0, 0, 0),
            recorded_at=_text(fields, "recorded_at", ""),
            **_parts(fields, required=("unroll",) if knobs is None else ()),
            provenance=_text(fields, "provenance", ""),
            workload=None if workload is None else _workload(workload, key),
            evidence=tuple(_evidence(item) for item in evidence),
            knobs=knobs,
        )
    except InvalidInput as error:
        raise _Bad(error.problem.partition(" ")[0], error.problem.partition(" ")[2]) from None
    return key, record


def _knobs(fields: Mapping[str, Any]) -> Knobs:
    """The knobs that stand in place of a schedule's fields."""
    both = [name for name in _OF_SCHEDULES if name in fields]
    if both:
        raise _Bad(both[0], "is of a schedule, and there are knobs")
    found = _table(fields[_KNOBS], _KNOBS)
    for name, setting in found.items():
        try:
            Knobs.of({name: setting})
        except InvalidInput:
            problem = (
                f"set {shown(name)} to what is no text, no truth value and no number of 64 bits"
            )
            raise _Bad(_KNOBS, problem, f"{_KNOBS}.{name}") from None
    try:
        return Knobs.of(found)
    except InvalidInput as error:
        raise _Bad(_KNOBS, f"is refused: {error.problem}") from None


def _workload(table: object, key: AutotuneKey) -> Workload:
    fields = _table(table, "workload", _WORKLOAD)
    buckets, traits = fields.get("buckets"), fields.get("traits")
    if not isinstance(buckets, list) or any(type(bucket) is not int for bucket in buckets):
        raise _Bad("buckets", "is not an array of whole numbers")
    if not isinstance(traits, list) or any(not isinstance(trait, str) for trait in traits):
        raise _Bad("traits", "is not an array of strings")
    try:
        fingerprint = bytes.fromhex(_text(fields, "fingerprint"))
    except ValueError:
        raise _Bad("fingerprint", "is not hex digits") from None
    workload = Workload(
        fingerprint=fingerprint,
        buckets=tuple(buckets),
        traits=tuple(traits),
        device=_text(fields, "device"),
        toolchain=_text(fields, "toolchain"),
    )
    if not is_sound_workload(workload):
        raise _Bad("workload", "has parts that no kernel's has: too long, or beyond 64 bits")
    if workload.key() != key.key_hex:
        raise _Bad("workload", f"has the key {workload.key()}, and the record has another")
    return workload


def _evidence(table: object) -> WriterEvidence:
    fields = _table(table, "evidence", _EVIDENCE)
    median = fields.get("median_ns")
    if not isinstance(median, float):
        raise _Bad("median_ns", "is not a number with a point")
    try:
        knobs = _knobs(fields) if _KNOBS in fields else None
    except _Bad as bad:  # the record has knobs of its own, which are elsewhere
        raise _Bad("evidence", f"is refused: {bad.field} {bad.problem}") from None
    try:
        return WriterEvidence(
            writer=_text(fields, "writer"),
            schedule=_schedule(fields) if knobs is None else knobs,
            count=_number(fields, "count"),
            median_ns=median,
            last_at_ns=_number(fields, "last_at_ns", most=(1 << 63) - 1),
        )
    except InvalidInput as error:
        raise _Bad("evidence", f"is refused: {error.problem}") from None


def _schedule(fields: Mapping[str, Any]) -> Schedule:
    parts = _parts(fields, required=("items", "vector", "unroll"))
    return Schedule(_dim3(fields, "workgroup_size"), Code(**parts))


def _parts(fields: Mapping[str, Any], *, required: tuple[str, ...]) -> dict[str, Any]:
    """What a table says of a code; a part that is not required may be missing."""
    found: dict[str, Any] = {}
    for name, usual in PARTS.items():
        match usual:
            case Order():
                found[name] = _order(fields, name, usual)
            case bool():
                found[name] = _truth(fields, name, usual)
            case int():
                found[name] = _number(fields, name, None if name in required else usual)
    return found


def _table(value: object, name: str, known: tuple[str, ...] | None = None) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _Bad(name, "is not a table")
    unknown = [] if known is None else sorted(value.keys() - set(known))
    if unknown:
        raise _Bad(unknown[0], "is not a field of this schema")
    return value


def _text(fields: Mapping[str, Any], name: str, default: str | None = None) -> str:
    found = fields.get(name, default)
    if not isinstance(found, str):
        raise _Bad(name, "is missing" if found is None else "is not a string")
    if len(found) > LONGEST_FIELD:
        raise _Bad(name, f"has {len(found)} letters; {LONGEST_FIELD} allowed")
    return found


def _number(
    fields: Mapping[str, Any], name: str, default: int | None = None, *, most: int = U32_MAX
) -> int:
    found = fields.get(name, default)
    if type(found) is not int:
        raise _Bad(name, "is missing" if found is None else "is not a whole number")
    if not 0 <= found <= most:
        raise _Bad(name, f"is outside 0 to {most}")
    return found


def _dim3(fields: Mapping[str, Any], name: str) -> Dim3:
    found = fields.get(name)
    if not isinstance(found, list) or len(found) != 3:
        raise _Bad(name, "is missing" if found is None else "is not three sizes")
    x, y, z = (_number({name: axis}, name) for axis in found)
    return (x, y, z)


def _order(fields: Mapping[str, Any], name: str, default: Order) -> Order:
    found = _text(fields, name, default.value)
    if found not in set(Order):
        raise _Bad(name, f"is {found[:20]!r}; known: {', '.join(Order)}")
    return Order(found)


def _truth(fields: Mapping[str, Any], name: str, default: bool) -> bool:
    found = fields.get(name, default)
    if not isinstance(found, bool):
        raise _Bad(name, "is not true or false")
    return found


def _written(key: AutotuneKey, record: AutotuneRecord) -> str:
    lines = [
        "[[record]]",
        f"key = {quoted(key.key_hex)}",
        f"adapter = {quoted(key.adapter_id)}",
    ]
    if record.knobs is None:
        lines += [
            f"workgroup_size = {list(record.workgroup_size)}",
            f"unroll = {record.unroll}",
            f"tile = {list(record.tile)}",
        ]
    lines.append(f"recorded_at = {quoted(record.recorded_at)}")
    if record.extended:
        if record.knobs is None:
            lines += _code_lines(record.schedule.code, unroll=False)
        lines.append(f"provenance = {quoted(record.provenance)}")
    if record.knobs is not None:
        lines += ["", f"[record.{_KNOBS}]", *_knob_lines(record.knobs)]
    if record.workload is not None:
        workload = record.workload
        lines += [
            "",
            "[record.workload]",
            f"fingerprint = {quoted(workload.fingerprint.hex())}",
            f"buckets = {list(workload.buckets)}",
            f"traits = [{', '.join(quoted(trait) for trait in workload.traits)}]",
            f"device = {quoted(workload.device)}",
            f"toolchain = {quoted(workload.toolchain)}",
        ]
    for item in record.evidence:
        lines += [
            "",
            "[[record.evidence]]",
            f"writer = {quoted(item.writer)}",
            *_config_lines(item.schedule),
            f"count = {item.count}",
            f"median_ns = {item.median_ns!r}",
            f"last_at_ns = {item.last_at_ns}",
        ]
    return "\n".join(lines) + "\n"


def _config_lines(config: Config) -> list[str]:
    match config:
        case Schedule(workgroup, code):
            return [f"workgroup_size = {list(workgroup)}", *_code_lines(code, unroll=True)]
        case Knobs() as knobs:
            return [f"{_KNOBS} = {{{', '.join(_knob_lines(knobs))}}}"]


def _knob_lines(knobs: Knobs) -> list[str]:
    return [f"{quoted(name)} = {_setting(one)}" for name, one in knobs.settings]


def _setting(setting: Setting) -> str:
    """A setting as TOML has it; its type is in how it is written."""
    match setting:
        case bool():
            return str(setting).lower()
        case str():
            return quoted(setting)
        case _:
            return repr(setting)


def _code_lines(code: Code, *, unroll: bool) -> list[str]:
    return [
        f"{name} = {_setting(part)}"
        for name, part in code.value().items()
        if unroll or name != "unroll"
    ]
