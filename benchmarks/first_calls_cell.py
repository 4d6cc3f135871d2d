"""One cell of first_calls.py: a kernel's first calls in a process that knows nothing.

It is started by first_calls.py with its task as JSON, and prints what it found as JSON.
"""

from __future__ import annotations

import fcntl
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import spaces_kernels
from noted import Noted, leaders, one_by_one, ratio_of, timed

import vyre
from vyre.lang import Role
from vyre.learn import process
from vyre.model import Schedule
from vyre.runtime.call.bound import Bound
from vyre.testing.recordings import schedule_of

SHORT = 100
PACE_S = 1e-3
LEADERS = 6
FEW_GUESSED = 8

Call = Callable[[], object]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Target:
    """Calls of a kernel on resident arrays of one size."""

    size: int
    bound: Bound
    call: Call


def main() -> None:
    task = json.loads(sys.argv[1])
    kernel, _ = spaces_kernels.called(task["kernel"], 64)
    given = [spaces_kernels.called(task["kernel"], size)[1] for size in task["sizes"]]
    with alone(task["lock"]):
        began = time.monotonic()
        device = vyre.open(task["device"])
        noted = Noted(device)
        pairs = zip(task["sizes"], given, strict=True)
        targets = [target_of(kernel, device, size, one) for size, one in pairs]
        device.synchronize()
        rows = in_turn(targets, noted, task) if len(targets) > 1 else [one(targets[0], noted, task)]
        taken = round(time.monotonic() - began, 2)
    print(json.dumps({"device": device_text(device), "seconds": taken, "rows": rows}))


@contextmanager
def alone(lock: str | None) -> Iterator[None]:
    """Have the device for oneself."""
    if lock is None:
        yield
        return
    with Path(lock).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def device_text(device: vyre.Device) -> str:
    return f"{device.info.model}, {device.info.compiler}"


def target_of(
    kernel: vyre.Kernel, device: vyre.Device, size: int, given: spaces_kernels.Called
) -> Target:
    arrays, options = tuple(device.array(array) for array in given.arrays), dict(given.options)
    bound = kernel._dispatcher.bind(arrays, None, given.shape, None, options)
    outputs = tuple(bound.arrays[p.name] for p in kernel._translation.params if p.role is Role.OUT)
    out = None if not outputs else outputs[0] if len(outputs) == 1 else outputs
    shape = {} if given.shape is None else {"shape": given.shape}
    return Target(size, bound, lambda: kernel(*arrays, out=out, **shape, **options))


# -- running


def run(call: Call, count: int, pace_s: float, longest_s: float) -> list[float]:
    """Make so many calls; what each took the host. Sleeping lets what learns work."""
    clock, host = time.perf_counter, list[float]()
    begin = clock()
    for number in range(count):
        if pace_s and (left := begin + number * pace_s - clock()) > 0:
            time.sleep(left)
        start = clock()
        call()
        end = clock()
        host.append(end - start)
        if end - begin > longest_s:
            break
    return host


def settle(target: Target, longest_s: float, stands_s: float) -> tuple[Schedule | None, int]:
    """Go on until a choice has stood for a while; what it is, and after how many more calls."""
    backend, workload = target.bound.launcher.device.backend, target.bound.numbered[2]
    begin = since = time.monotonic()
    before, count = chosen(workload), 0
    while (now := time.monotonic()) - begin < longest_s and before is not None:
        for _ in range(4):
            target.call()
            count += 1
        backend.synchronize()
        time.sleep(PACE_S)
        if (choice := chosen(workload)) != before:
            before, since = choice, now
        if now - since > stands_s:
            break
    return (None if before is None else before[0]), count


def chosen(workload: object) -> tuple[Schedule, bool] | None:
    """What calls launch by now, and whether nothing more is learned; None where nobody learns."""
    for decider in process.deciders().all():
        if decider.workload == workload and isinstance(decider.best, Schedule):
            return decider.best, decider.standing.is_over
    return None


def leave_alone() -> None:
    """Learn no more: what compiles would take cores from what is timed now."""
    for decider in process.deciders().all():
        decider.stop("its calls are over")
    process.deciders().desk.drained(10.0)


def one(target: Target, noted: Noted, task: Mapping[str, Any]) -> Row:
    """A cell: so many calls of one size, then what each launch takes."""
    calls, paced = task["calls"], task["pace"] == "paced"
    host = run(target.call, calls, PACE_S if paced else 0.0, task["longest"])
    target.bound.launcher.device.synchronize()
    launched = noted.schedules()
    assert len(launched) == len(host), f"{len(launched)} launches noted of {len(host)} calls"
    settled, more = (None, 0)
    if task["settle"]:
        settled, more = settle(target, task["settle"], task["stands"])
    waits = [w for w in noted.waits if w.caller and 0 < w.launches < len(noted)]
    leave_alone()
    found = measured(target, launched, settled, task)
    return {
        "kernel": task["kernel"],
        "size": target.size,
        "pace": task["pace"],
        **found,
        "calls": len(host),
        "calls_until_settled": len(host) + more if task["settle"] else None,
        "first_call_ms": round(1e3 * host[0], 2),
        "slowest_later_ms": round(1e3 * max(host[1:], default=0.0), 3),
        "median_call_us": round(1e6 * sorted(host)[len(host) // 2], 2),
        "waits": [
            {"call": w.launches + 1, "ms": round(1e3 * w.seconds, 2), "built": w.built}
            for w in waits
        ],
    }


def in_turn(targets: list[Target], noted: Noted, task: Mapping[str, Any]) -> list[Row]:
    """Sizes one after the other in one process, flat out: the first calls of each."""
    marks, hosts = [0], list[list[float]]()
    for target in targets:
        hosts.append(run(target.call, SHORT, 0.0, task["longest"]))
        marks.append(len(noted))
    targets[0].bound.launcher.device.synchronize()
    leave_alone()
    launched = noted.schedules()
    waits = [w for w in noted.waits if w.caller and 0 < w.launches < len(launched)]
    rows = []
    for number, target in enumerate(targets):
        begin, end = marks[number], marks[number + 1]
        assert end - begin == len(hosts[number]), "not every launch of a call was noted"
        mine = [w for w in waits if begin <= w.launches < end]
        rows.append(
            {
                "kernel": task["kernel"],
                "size": target.size,
                "pace": "in turn",
                **measured(target, launched[begin:end], None, task),
                "calls": end - begin,
                "slowest_later_ms": round(1e3 * max(hosts[number][number == 0 :]), 3),
                "waits": [
                    {"call": w.launches + 1, "ms": round(1e3 * w.seconds, 2), "built": w.built}
                    for w in mine
                ],
            }
        )
    return rows


# -- measuring


def measured(
    target: Target, launched: list[Schedule], settled: Schedule | None, task: Mapping[str, Any]
) -> Row:
    """What the launches took over as many of the best, by times taken in turns."""
    numbers = target.bound.numbered[0]
    default = target.bound.launcher.default(numbers)
    best_known, source = rivals(target, task)
    every = dict.fromkeys((*launched, default, *best_known, *([settled] if settled else [])))
    times, refused = timed(target.bound, list(every), task["measure"])
    missing = [one.text for one in dict.fromkeys(launched) if one not in times]
    assert not missing, f"launched, and yet not to be timed: {missing}"
    best, row = min(times, key=times.__getitem__), dict[str, Any]()
    if task["pace"] == "paced":
        row = {"in_a_row": _after(launched, times, times[best])}
        times, best = one_by_one(target.bound, list(times), task["measure"], PACE_S)
    best_ns, counts = times[best], dict.fromkeys(launched, 0)
    for schedule in launched:
        counts[schedule] += 1

    return {
        "extent": list(numbers.extent),
        **_after(launched, times, best_ns),
        "at_end": round(ratio_of(launched, times, best_ns), 4),
        **row,
        "settled": round(times[settled] / best_ns, 4) if settled in times else None,
        "default": round(times[default] / best_ns, 4),
        "first": round(times[launched[0]] / best_ns, 4),
        "best_us": round(best_ns / 1e3, 3),
        "best_from": source,
        "schedules": {
            "best": best.text,
            "first": launched[0].text,
            "settled": settled.text if settled else None,
            "default": default.text,
        },
        "launched": {
            schedule.text: [count, round(times[schedule] / best_ns, 3)]
            for schedule, count in sorted(counts.items(), key=lambda item: -item[1])[:12]
        },
        "distinct": len(counts),
        "refused": len(refused),
    }


def _after(
    launched: list[Schedule], times: Mapping[Schedule, float], best_ns: float
) -> dict[str, float | None]:
    """What the first launches took over as many of the best, where so many were made."""
    return {
        f"at_{count}": round(ratio_of(launched[:count], times, best_ns), 4)
        if len(launched) >= count
        else None
        for count in (SHORT, 1000)
    }


def rivals(target: Target, task: Mapping[str, Any]) -> tuple[list[Schedule], str]:
    """The schedules that may be the best of this cell, and who says so."""
    recorded = task["best"][str(target.size)]
    rows, source = [schedule_of(row) for row in recorded["rows"]], recorded["from"]
    if source == "recording":
        return rows, source
    if task["sweep"]:
        return leaders(target.bound, LEADERS, task["sweep"]), "sweep"
    workload = target.bound.numbered[2]
    questions = (d.standing.question for d in process.deciders().all() if d.workload == workload)
    guessed = [one for question in questions if question for one in question.candidates]
    few = [one for one in guessed[:FEW_GUESSED] if isinstance(one, Schedule)]
    return [*rows, *few], source or "what was launched, and the first guesses"


if __name__ == "__main__":
    main()
