"""Commands that look and change nothing: `vyre devices`, `explain`, `source` and `bench`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from statistics import median

from rich.console import Console

from vyre.cli.output import say, say_json, table
from vyre.cli.targets import Target
from vyre.cli.words import parse_schedule
from vyre.errors import DeviceFailed, InvalidInput, UnsupportedFeature
from vyre.model import Decision, Failed, Schedule, span
from vyre.plain import elements, plain
from vyre.report.values import (
    Value,
    config_value,
    decision_value,
    device_value,
    summary_value,
    workload_value,
)
from vyre.report.words import amount, sure
from vyre.runtime.call.look import Look, source_of
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.opened import BACKENDS, found, left_out
from vyre.stats import Interval, ratio_interval, spread

ROUNDS = 25
"""Turns of a bench: enough for an interval of a few per cent on a busy machine."""

_FASTEST = 8  # schedules that an explanation lists


def show_devices(console: Console, *, json: bool) -> None:
    """Print what can run kernels here, and what is missing with the line that installs it."""
    here: list[Device] = []
    missing: list[dict[str, str]] = []
    for backend in BACKENDS:
        try:
            devices, unusable = found(backend), left_out(backend)
        except UnsupportedFeature as error:
            missing.append(_missing(backend, error.problem, error.fix))
            continue
        here += devices
        missing += [_missing(backend, one.problem, one.fix) for one in unusable]
        if not devices:
            why, fix = f"no {backend} device is here", f"install a driver that offers {backend}"
            missing.append(_missing(backend, why, fix))
    if json:
        listed = [device_value(device.name, device.info) for device in here]
        say_json({"devices": listed, "missing": missing})
        return
    rows = [
        (
            device.name,
            device.info.kind.value,
            str(device.info.compute_units),
            amount(device.info.memory_bytes) if device.info.memory_bytes else "",
            f"{device.info.model} ({device.info.driver})",
        )
        for device in here
    ]
    console.print(
        table(["device", "kind", "units", "memory", "model"], rows, right=("units", "memory"))
    )
    console.print(f"\n{here[0].name} is used unless --device or VYRE_DEVICE names another")
    for one in missing:
        console.print(f"\n{one['backend']}: {one['problem']}\nFix: {one['fix']}", overflow="fold")


def _missing(backend: str, problem: str, fix: str) -> dict[str, str]:
    return {"backend": backend, "problem": problem, "fix": fix}


def explain(target: Target, look: Look, console: Console, *, json: bool) -> None:
    """Print what is proved of a kernel, what may run it, what was chosen, and from what."""
    if json:
        say_json(_explained(target, look))
        return
    for line in _explanation(target, look):
        indent = " " * (14 if line.startswith("  ") else 0)
        width = max(console.width, 40)
        for part in textwrap.wrap(line, width, subsequent_indent=indent) or [""]:
            say(part)


def _explanation(target: Target, look: Look) -> Iterator[str]:
    facts, space = look.facts, look.space
    if facts.free:
        yield f"{target.name}: its result does not depend on how it is launched"
        for condition in facts.conditions:
            yield _line("as long as", str(condition))
    else:
        yield f"{target.name}: it is launched as declared, because"
        for reason in facts.reasons:
            yield _line("", str(reason))
    if facts.stated:
        yield _line("stated", f"by its author: {', '.join(facts.stated)} is written once")
    yield ""
    yield f"{elements(look.elements)} on {look.device.name}, {look.device.info.model}"
    yield _line("default", space.default.text)
    yield _line("space", f"{len(space.legal)} legal schedules, {len(space.codes)} codes")
    for refused in space.refused:
        yield _line("left out", f"{refused.count} {refused.what}: {refused.why}")
    yield from _decided(look.known)
    timed = look.measured.fastest
    if timed:
        yield ""
        count = sum(s.count for s in timed)
        yield f"{count:,} timings of {len(timed)} schedules are kept; the fastest"
        for summary in timed[:_FASTEST]:
            assert summary.median_ns is not None
            yield _line(
                span(summary.median_ns), f"{summary.count:4} timings  {summary.config.text}"
            )
    for schedule, failure in look.measured.failures:
        yield _line("failed", f"{schedule.text}: {failure}")


def _decided(known: Decision | None) -> Iterator[str]:
    if known is None:
        yield _line("decision", "none is remembered for this size; tune it, or call it")
        return
    gained = f", {known.gain:.2f}x the default's speed" if known.gain is not None else ""
    certain = f" ({sure(known)})" if sure(known) else ""
    yield _line("decision", f"{known.config.text}{gained}{certain}")
    yield _line("because", ": ".join(filter(None, (known.reason.value, known.detail))))


def _explained(target: Target, look: Look) -> Value:
    facts, space = look.facts, look.space
    return {
        "kernel": target.name,
        "where": target.where,
        "free": facts.free,
        "conditions": [str(condition) for condition in facts.conditions],
        "reasons": [str(reason) for reason in facts.reasons],
        "stated": list(facts.stated),
        "elements": look.elements,
        "device": device_value(look.device.name, look.device.info),
        "workload": workload_value(look.workload),
        "default": config_value(space.default),
        "legal": [config_value(schedule) for schedule in space.legal],
        "refused": [
            {"what": one.what, "why": one.why, "count": one.count} for one in space.refused
        ],
        "decision": None if look.known is None else decision_value(look.known),
        "evidence": [summary_value(summary) for summary in look.summaries],
    }


def show_source(target: Target, look: Look, word: str, *, json: bool) -> None:
    """Print the code that a device compiles for a schedule."""
    schedule = schedule_of(look, word)
    text = source_of(target.kernel, look.device, schedule.code)
    if json:
        say_json({"kernel": target.name, "schedule": config_value(schedule), "source": text})
    else:
        say(text.rstrip())


def schedule_of(look: Look, word: str) -> Schedule:
    """The schedule that `default`, `tuned` or a description names.

    Raises:
        InvalidInput: `tuned` is asked for and nothing is remembered, or it could change the result.
    """
    if word == "default":
        return look.space.default
    if word == "tuned":
        if look.known is None:
            raise InvalidInput(
                f"nothing is remembered for {look.kernel.name} over {elements(look.elements)}",
                f'run "vyre tune" for it first, with --size {look.elements}',
            )
        return look.known.schedule
    return parse_schedule(word, look.space.default)


@dataclass(frozen=True, slots=True)
class _Benched:
    schedule: Schedule
    times: list[float]
    ratio: Interval


def bench(target: Target, look: Look, words: list[str], console: Console, *, json: bool) -> None:
    """Time schedules beside the default, in turns, and print them with intervals."""
    wanted = words or (["tuned"] if look.known is not None else [])
    schedules = [schedule_of(look, word) for word in wanted]
    # The default twice: the interval of the second against the first is what noise alone makes.
    runs = [look.space.default, look.space.default, *schedules]
    times = _timed(look, runs)
    rng = Random(0)
    rows = [
        _Benched(schedule, own, ratio_interval(times[0], own, rng))
        for schedule, own in list(zip(runs, times, strict=True))[1:]
    ]
    if json:
        say_json(
            {
                "kernel": target.name,
                "elements": look.elements,
                "device": device_value(look.device.name, look.device.info),
                "rounds": ROUNDS,
                "results": [_benched_value(look, row) for row in rows],
            }
        )
        return
    console.print(f"{target.name}, {elements(look.elements)} on {look.device.name}\n")
    names = ["default, again", *wanted]
    cells = [
        (
            span(median(row.times)),
            span(spread(row.times)),
            f"{look.moved_bytes / median(row.times):.1f}",
            f"{row.ratio.middle:.2f}x",
            f"{row.ratio.low:.2f} to {row.ratio.high:.2f}",
            f"{row.schedule.text} ({name})" if name in ("tuned", names[0]) else row.schedule.text,
        )
        for name, row in zip(names, rows, strict=True)
    ]
    columns = ["median", "spread", "GB/s", "speed", "95 %", "schedule"]
    console.print(table(columns, cells, right=columns[:-1]))
    console.print(
        f"\nmedians of {ROUNDS} turns, device time; the first line is the default against itself"
    )
    if not schedules:
        console.print("nothing is remembered for this size; tune it, or name a --schedule")


def _timed(look: Look, runs: list[Schedule]) -> list[list[float]]:
    times: list[list[float]] = [[] for _ in runs]
    rng, order = Random(0), list(range(len(runs)))
    for turn in range(ROUNDS + 1):
        rng.shuffle(order)
        for place in order:
            elapsed = look.time(runs[place])
            if isinstance(elapsed, Failed):
                raise DeviceFailed(
                    f"{runs[place].text} could not be timed: {elapsed.reason}",
                    "name a schedule that is legal here; vyre explain --json lists them",
                )
            if turn:  # the first launch also loads the code
                times[place].append(elapsed)
    return times


def _benched_value(look: Look, row: _Benched) -> Value:
    middle = median(row.times)
    return {
        "schedule": config_value(row.schedule),
        "median_ns": middle,
        "spread_ns": spread(row.times),
        "gigabytes_per_s": look.moved_bytes / middle,
        "speed": row.ratio.middle,
        "low": row.ratio.low,
        "high": row.ratio.high,
    }


def _line(label: str, text: str) -> str:
    return f"  {label:<12}{plain(text, 1000)}"
