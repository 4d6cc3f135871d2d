"""`vyre store`: look at what was learned, check it, share it, keep it small."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from vyre import __version__
from vyre.cli.output import console, say, say_json, table
from vyre.cli.words import parse_span
from vyre.errors import InvalidInput, StoreFailed
from vyre.learn import rules
from vyre.model import span
from vyre.plain import plain
from vyre.policy.measured import Measured
from vyre.report.gather import evidence_of, label
from vyre.report.values import Value, config_value, kept_value, summary_value
from vyre.report.words import amount, day, elements, gain, sure
from vyre.runtime.devices import opened as machine
from vyre.store.base import Bounds, Kept, Store, merge_into
from vyre.store.exchange.autotune_store import AutotuneStore
from vyre.store.exchange.bridge import export_records, import_cache, import_records
from vyre.store.exchange.imported import adapters_of, is_adapter_stem
from vyre.store.exchange.tuner_cache import TunerCache
from vyre.store.files import is_file, unreadable
from vyre.store.open import NAME, files_in, is_own, journal_in, new_writer, open_store
from vyre.store.sqlite.database import Database
from vyre.store.sqlite.file import DatabaseFile, Opening
from vyre.store.sqlite.repair import ERRORS, fault_of, hides_commits
from vyre.store.sqlite.schema import Damaged
from vyre.store.sqlite.shared import refuse_large

app = typer.Typer(
    no_args_is_help=True, help="Look at what was learned, check it, share it, keep it small."
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for a program to read.")]

DATED = 90
"""Columns of a terminal from which a list shows when a decision was made."""

_MAGIC = b"SQLite format 3\0"
_TOML = ".toml"


@contextmanager
def opened(*, read_only: bool) -> Iterator[Store]:
    """The user's store; what is wrong with it is an error here, not a note."""
    folder = rules.current().cache_dir
    store = open_store(folder, writer=new_writer(), read_only=read_only, strict=True)
    with closing(store):
        yield store


@app.command("path")
def path_(json: Json = False) -> None:
    """Print where what is learned is kept."""
    folder = rules.current().cache_dir
    files = files_in(folder) or (folder / NAME,)
    if json:
        say_json({"folder": str(folder), "files": [str(file) for file in files]})
        return
    for file in files:
        say(str(file))


@app.command("list")
def list_(json: Json = False) -> None:
    """List every decision that is remembered, the latest first."""
    with opened(read_only=True) as store:
        names = store.names()
        kept, sizes = [], {}
        for item in sorted(store.kept(), key=lambda item: -item.stamp_ns):
            weighed, evidence = _weighed(store, item)
            kept.append(weighed)
            sizes[item.decision.workload] = evidence.size
    if json:
        say_json([{**_named(item, names), **kept_value(item)} for item in kept])
        return
    if not kept:
        say("nothing is remembered yet; vyre tune, or calls of kernels, fill the store")
        return
    out = console()
    dated = out.width >= DATED
    for device in dict.fromkeys(item.decision.workload.device for item in kept):
        rows = [
            (
                item.decision.workload.key()[:8],
                label(names, item.decision.workload.fingerprint.hex()),
                elements(size) if (size := sizes[item.decision.workload]) else "?",
                gain(item.decision),
                *([day(item.stamp_ns)] if dated else []),
                item.decision.config.text,
            )
            for item in kept
            if item.decision.workload.device == device
        ]
        days = ["decided (UTC)"] if dated else []
        columns = ["key", "kernel", "size", "gain", *days, "schedule"]
        out.print(f"{label(names, device)}\n", overflow="fold")
        out.print(table(columns, rows, right=("size", "gain")))
        out.print()


@app.command()
def show(
    key: Annotated[str, typer.Argument(help="The first letters of a key, or a kernel's name.")],
    json: Json = False,
) -> None:
    """Show decisions whole: why, from which measurements, by whom."""
    with opened(read_only=True) as store:
        names = store.names()
        found = [
            item
            for item in store.kept()
            if item.decision.workload.key().startswith(key)
            or names.get(item.decision.workload.fingerprint.hex()) == key
        ]
        if not found:
            raise InvalidInput(
                f"nothing is remembered under {key!r}", 'take a key that "vyre store list" prints'
            )
        if json:
            say_json([_whole(store, item, names) for item in found])
            return
        for item in found:
            for line in _lines(store, item, names):
                say(line)


def _weighed(store: Store, item: Kept) -> tuple[Kept, Measured]:
    """A decision with the gain that was measured, and what it was measured by."""
    evidence = evidence_of(store.measurements(item.decision.workload), item.decision)
    return replace(item, decision=evidence.weigh(item.decision)), evidence


def _whole(store: Store, kept: Kept, names: dict[str, str]) -> Value:
    item, evidence = _weighed(store, kept)
    return {
        **_named(item, names),
        **kept_value(item),
        "elements": evidence.size,
        "default": None if evidence.default is None else config_value(evidence.default),
        "default_ns": evidence.time_of(evidence.default),
        "chosen_ns": evidence.time_of(item.decision.config),
        "evidence": [summary_value(summary) for summary in evidence.summaries],
    }


def _named(item: Kept, names: dict[str, str]) -> Value:
    workload = item.decision.workload
    return {
        "kernel": names.get(workload.fingerprint.hex()),
        "device": names.get(workload.device),
        "toolchain": names.get(workload.toolchain),
    }


def _lines(store: Store, kept: Kept, names: dict[str, str]) -> Iterator[str]:
    item, evidence = _weighed(store, kept)
    decision, workload = item.decision, item.decision.workload
    yield f"{label(names, workload.fingerprint.hex())}  {workload.key()}"
    yield f"  device     {label(names, workload.device)}"
    yield f"  toolchain  {label(names, workload.toolchain)}"
    buckets, traits = ", ".join(map(str, workload.buckets)), ", ".join(workload.traits)
    yield f"  buckets    {plain(buckets)} ({plain(traits)})"
    yield f"  schedule   {decision.config.text}"
    if evidence.default is not None and evidence.default != decision.config:
        yield f"  default    {evidence.default.text}"
    certain = f", {sure(decision)}" if sure(decision) else ""
    yield f"  gain       {gain(decision)}{certain}"
    because = ": ".join(filter(None, (decision.reason.value, decision.detail)))
    yield f"  because    {plain(because)}"
    yield f"  decided    {day(item.stamp_ns)} UTC by {plain(item.writer) or 'an exchange file'}"
    for summary in evidence.fastest:
        assert summary.median_ns is not None
        yield f"  {span(summary.median_ns):<10} {summary.count:4} timings  {summary.config.text}"
    for schedule, failure in evidence.failures:
        yield f"  failed     {schedule.text}: {plain(failure)}"
    yield ""


@app.command()
def check(json: Json = False) -> None:
    """Look for damage in every file; exit code 1 where there is any."""
    values = [_checked(path) for path in files_in(rules.current().cache_dir)]
    if json:
        say_json(values)
    elif not values:
        say("there is no store yet")
    else:
        for value in values:
            say(f"{value['file']}: {value['state']}")
            if value["fix"]:
                say(f"Fix: {value['fix']}")
    if any(value["fix"] for value in values):
        raise typer.Exit(1)


def _checked(path: Path) -> Value:
    value: Value = {"file": str(path), "fix": None}
    try:
        value["bytes"] = path.stat().st_size
        fault = _fault(path)
    except StoreFailed as error:
        return {**value, "state": error.problem, "fix": error.fix}
    except OSError as error:
        refused = unreadable(path, error)
        return {**value, "state": refused.problem, "fix": refused.fix}
    if fault:
        fix = 'run "vyre store repair"; what can be read is kept, and the file is set aside'
        if not is_own(path):
            fix = f"ask user {path.stat().st_uid}, who writes it, to run {fix.removeprefix('run ')}"
        return {**value, "state": "damaged", "fault": fault, "fix": fix}
    with closing(Database(path, writer="", opening=Opening(read_only=True))) as store:
        decisions, rows = sum(1 for _ in store.kept()), sum(1 for _ in store.measurements())
    state = f"sound, {decisions:,} decisions, {rows:,} measurements, {amount(value['bytes'])}"
    return {**value, "state": state, "decisions": decisions, "measurements": rows}


def _fault(path: Path) -> str:
    """What is wrong with a file; empty where nothing is."""
    if is_own(path) and hides_commits(path):
        return f"{path} has a log with commits behind damage"
    with closing(DatabaseFile(path, Opening(read_only=True))) as file:
        try:
            return fault_of(file.connection(), path)
        except ERRORS as error:
            return str(error)


@app.command()
def repair() -> None:
    """Set damaged files aside and keep what can be read of them."""
    folder = rules.current().cache_dir
    for path in files_in(folder):
        before = _checked(path)
        if before["state"] != "damaged" or not is_own(path):
            say(f"{path}: {before['state']}; left as it is")
            continue
        file = DatabaseFile(path, Opening(journal=journal_in(folder)))
        with closing(file):
            file.repair_after(Damaged("the user asked for it"))
        after = _checked(path)
        say(f"{path}: repaired; now {after['state']}")


@app.command()
def merge(
    files: Annotated[list[Path], typer.Argument(help="Databases of other machines or people.")],
) -> None:
    """Take in everything that other stores have learned; of two decisions the later one holds."""
    others = [_other(path) for path in files]
    with opened(read_only=False) as store:
        added = _added(store, lambda: merge_into(store, *others, now_ns=time.time_ns()))
    for other in others:
        other.close()
    say(added)


def _other(path: Path) -> Database:
    if not is_file(path):
        raise InvalidInput(f"no file {str(path)!r}", "give the path of a store's database")
    if not _is_database(path):
        raise InvalidInput(
            f"{path} is not a database",
            f'run "vyre store import {path}" for a file of choices'
            if path.suffix == _TOML
            else "give the path that vyre store path prints on the other machine",
        )
    refuse_large(path)
    return Database(path, writer="", opening=Opening(read_only=True))


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        raise unreadable(path, error) from error


def _added(store: Store, work: Callable[[], None]) -> str:
    """Do it, and say what the store has more of after it."""

    def counted() -> tuple[int, int]:
        return sum(1 for _ in store.kept()), sum(1 for _ in store.measurements())

    before = counted()
    work()
    after = counted()
    return f"added {after[0] - before[0]:,} decisions and {after[1] - before[1]:,} measurements"


@app.command("export")
def export_(
    file: Annotated[Path, typer.Argument(help="A TOML file; what it holds already is kept.")],
) -> None:
    """Write decisions to a text file that can be reviewed and kept in a repository."""
    with opened(read_only=True) as store:
        made = export_records(store, f"vyre {__version__}")
    made.save_if_dirty(file)
    say(f"wrote {len(made):,} decisions to {file}")


@app.command("import")
def import_(
    file: Annotated[
        Path, typer.Argument(help="A TOML file of vyre store export, or of the Rust crate.")
    ],
    adapter: Annotated[
        str,
        typer.Option(
            help="Which device a tuner cache is for; without it the one that the crate names the "
            "file after, else the default device.",
            show_default=False,
        ),
    ] = "",
) -> None:
    """Take in decisions from a text file; what was decided later here stands."""
    if not is_file(file):
        raise InvalidInput(f"no file {str(file)!r}", "give the path of a TOML file")
    if _is_database(file):
        raise InvalidInput(f"{file} is a database", f'run "vyre store merge {file}"')
    cache = TunerCache.load(file)
    if len(cache) == 0 and not adapter:
        _take_in(AutotuneStore.load(file))
        return
    name, info = adapter or file.stem, None
    if not adapter and not is_adapter_stem(file.stem):
        info = machine.open().info
        name = info.identity
    with opened(read_only=False) as store:
        if info is not None:
            store.name({info.identity: info.model})
        say(_added(store, lambda: import_cache(cache, name, store, now_ns=time.time_ns())))
    for refused in cache.refused:
        say(f"left out line {refused.line}, {refused.problem}")
    if info is None and not any(name in adapters_of(device.info) for device in machine.devices()):
        say(f'no device here is "{plain(name, 80)}": they are kept for the one that is')


def _take_in(records: AutotuneStore) -> None:
    with opened(read_only=False) as store:
        say(_added(store, lambda: import_records(records, store, now_ns=time.time_ns())))


@app.command()
def prune(
    older_than: Annotated[
        str, typer.Option(help="Forget what was not used or measured for so long: 90d.")
    ] = "365d",
    measurements: Annotated[int, typer.Option(help="Keep at most so many.", min=0)] = 1_000_000,
    megabytes: Annotated[int, typer.Option(help="Keep the file below this size.", min=1)] = 256,
) -> None:
    """Forget what is old or too much, the longest unused first."""
    bounds = Bounds(
        age_ns=round(parse_span(older_than) * 1e9),
        measurements=measurements,
        size_bytes=megabytes * 1_000_000,
    )
    with opened(read_only=False) as store:
        removed = store.prune(bounds)
    say(f"removed {removed.decisions:,} decisions and {removed.measurements:,} measurements")
