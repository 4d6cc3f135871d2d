"""Whether every schedule of a program of tiles gives the reference's bits, and which it refuses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from vyre.backend.base import Job, Unbuilt
from vyre.errors import DeviceFailed, VyreError
from vyre.model import Code, Schedule
from vyre.plan.geometry import tile_grid
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.launcher import words_of
from vyre.testing.compare import Array, Judge, apart
from vyre.testing.cuda_on_host import Strayed
from vyre.testing.guarded import guarded
from vyre.testing.programs import Case
from vyre.testing.tile_programs import generate_tiled
from vyre.testing.tile_schedules import Ground, draw, draw_fitted

_LOCAL = re.compile(r"^ +(__local|__shared__) ", re.MULTILINE)  # declares workgroup memory
_PASSED = re.compile(r"__shfl_\w+_sync")
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Wrong:
    """A schedule that changed a result, of the program that a seed gives."""

    seed: int
    schedule: Schedule
    what: str


@dataclass(slots=True)
class Tally:
    """What became of some programs under some schedules."""

    programs: int = 0
    runs: int = 0
    kinds: Counter[str] = field(default_factory=Counter)  # runs, by what their schedule asks for
    refused: Counter[str] = field(default_factory=Counter)  # schedules, by reason
    wrong: list[Wrong] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.programs += other.programs
        self.runs += other.runs
        self.kinds += other.kinds
        self.refused += other.refused
        self.wrong += other.wrong


@dataclass(frozen=True, slots=True)
class Trial:
    """A case, and the schedules that it is to run under, plain first."""

    seed: int
    case: Case
    schedules: tuple[Schedule, ...]


def trial(
    device: Device,
    seed: int,
    tally: Tally,
    *,
    count: int,
    wide: bool = True,
    whole: bool = False,
) -> Trial:
    """The program of a seed, with as many schedules as its launcher and emitter take of `count`.

    Those that they refuse are counted by their reason, with the numbers left out. Where it is
    `whole`, half of the schedules have codes for whole tiles, which cover its extent.
    """
    rng = Random(seed)
    case = generate_tiled(rng, whole=whole)
    ground = Ground.of(device, case)
    # Most programs have nothing to stage: one schedule each finds that out.
    probe = Schedule((8, 1, 1), Code(depth=4))
    staged = 0.75 if wide and not isinstance(_source(device, ground, probe), Refused) else 0.1
    found = [Schedule(case.program.workgroup_size, Code())]
    for number in range(count):
        if whole and number % 2 == 0:
            schedule = draw_fitted(rng, ground, device, staged=staged / 2)
        else:
            schedule = draw(rng, ground, device, wide=wide, staged=staged)
        text = _source(device, ground, schedule)
        if isinstance(text, Broken):
            tally.wrong.append(Wrong(seed, schedule, f"not emitted: {text.error}"))
            continue
        if isinstance(text, Refused):
            tally.refused[text.why] += 1
            continue
        tally.kinds.update(_kinds(schedule, text))
        found.append(schedule)
    return Trial(seed, case, tuple(dict.fromkeys(found)))


@dataclass(frozen=True, slots=True)
class Refused:
    """A schedule that was not taken, by the reason that was given, without its numbers."""

    why: str


@dataclass(frozen=True, slots=True)
class Broken:
    """A schedule whose emitter failed, and how."""

    error: str


def _source(device: Device, ground: Ground, schedule: Schedule) -> str | Refused | Broken:
    """What is compiled for a schedule."""
    try:
        why = ground.why_not(schedule, device)
        if why is None:
            return device.backend.source(Job(ground.program, schedule.code, ground.facts))
    except VyreError as error:
        why = f"{type(error).__name__}: {error.problem}"
    except Exception as error:  # noqa: BLE001  # an emitter that is not right may raise anything
        return Broken(repr(error))
    return Refused(_NUMBER.sub("#", why.splitlines()[0]))


def _kinds(schedule: Schedule, text: str) -> Iterator[str]:
    code = schedule.code
    fields = ("items", "vector", "unroll", "rows", "lines", "planes")
    yield from (name for name in fields if getattr(code, name) > 1)
    yield from (
        name for name in ("staged", "depth", "loaders", "fitted", "streamed") if getattr(code, name)
    )
    if not code.checked:
        yield "unchecked"
    if _LOCAL.search(text):
        yield "workgroup memory"
    if _PASSED.search(text):
        yield "passed between lanes"


def compare(
    device: Device,
    seeds: Sequence[int],
    *,
    count: int = 6,
    wide: bool = True,
    whole: bool = False,
) -> Tally:
    """Run the programs of some seeds under drawn schedules; all their codes are one build."""
    tally = Tally(programs=len(seeds))
    trials = [trial(device, seed, tally, count=count, wide=wide, whole=whole) for seed in seeds]
    device.binaries(
        [(one.case.program, schedule.code) for one in trials for schedule in one.schedules]
    )
    return judged(device, trials, tally)


def judged(device: Device, trials: Iterable[Trial], tally: Tally) -> Tally:
    """Run cases under their schedules, whose codes are built, and tell what comes of it."""
    for one in trials:
        judge = Judge(one.case)
        for number, schedule in enumerate(one.schedules):
            try:
                found = list(
                    _differences(device, one.case, judge, schedule, at_end=number % 2 == 0)
                )
            except Strayed as error:
                found = [error.problem]
            except DeviceFailed as error:
                tally.refused[_NUMBER.sub("#", f"launch: {error.problem}")[:200]] += 1
                continue
            tally.runs += 1
            tally.wrong += [Wrong(one.seed, schedule, what) for what in found]
    return tally


def _differences(
    device: Device, case: Case, judge: Judge, schedule: Schedule, *, at_end: bool
) -> Iterator[str]:
    (binary,) = device.binaries([(case.program, schedule.code)])
    if isinstance(binary, Unbuilt):
        yield f"not built: {binary.reason} {binary.log[:2000]}"
        return
    found = _run(device, binary, case, schedule, at_end=at_end)
    yield from map(str, judge.mismatches(found))
    for decl in case.program.buffers:
        if not decl.is_written:
            for place in apart(decl.element, case.arrays[decl.name], found[decl.name])[:1]:
                yield f"{decl.name!r} is only read, and changed at {place}"


def _run(
    device: Device, binary: Any, case: Case, schedule: Schedule, *, at_end: bool
) -> dict[str, Array]:
    """What the arrays hold after a launch; they lie between forbidden pages, for a host to feel."""
    arrays: dict[str, Array] = {
        name: guarded(array, at_end=at_end) for name, array in case.arrays.items()
    }
    words = words_of(binary.layout, case.extent, {n: a.shape for n, a in arrays.items()})
    grid = tile_grid(case.extent, schedule)
    device.run(binary, grid, schedule.block, arrays, case.program, words)
    return {name: array.copy() for name, array in arrays.items()}
