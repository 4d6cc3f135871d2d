"""One cell of the GPU suite on the device: Vyre's schedules, exact and fast, its peers, a copy."""

from __future__ import annotations

import importlib
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

from gpu_cells import ARITHMETIC, WITHOUT, Cell, apart, results
from gpu_compile import Compilers
from gpu_journal import packed, unpacked
from gpu_replay import fitted, interleaved
from gpu_sides import Run, Sides, told
from gpu_vyre import Target, Timing
from measure import picked

from vyre.model import Schedule

ROUNDS = 21
LEADERS = 5
"""Of what was measured quickly, the schedules that are measured again beside all sides: the best of
many quick measurements is often lucky."""

Times = Mapping[str, list[float]]


class Own:
    """Vyre's kernel in one arithmetic: the schedules that take part, each with one graph."""

    def __init__(
        self, sides: Sides, target: Target, given: Namespace, expected: tuple[Any, ...]
    ) -> None:
        self.sides, self.target, self.given = sides, target, given
        self.expected = expected  # by its default schedule; every other gives the very same
        self.word = "fast" if target.fast_math else "exact"
        self.schedules: dict[str, Schedule] = {}  # by the side that chose it
        self.timings: list[Timing] = []
        self.names: dict[Schedule, str] = {}  # of graphs; sides that chose the same share one

    def plan(self, side: str, plan: Callable[[], Schedule | None]) -> None:
        """Let a side choose its schedule."""
        chosen = self.sides.attempt(side, plan)
        if chosen is not None:
            self.schedules[side] = chosen

    def look(self, compilers: Compilers) -> None:
        """Measure quickly what is to be measured of the space."""
        given, target = self.given, self.target
        if not given.leaders and (given.no_space or target.fast_math):
            return

        def task() -> None:
            wanted = target.leaders(given.leaders) if given.leaders else target.space.legal
            tried = [one for one in wanted if self._name(one) not in self.sides.errors]
            ready = target.compiled(tried, compilers)
            self.sides.notes[f"{self.word} codes"] = len({one.code for one in ready})
            self.timings.extend(target.measured(ready, given.space_limit, self._is_wrong))

        self.sides.attempt(f"{self.word} space", task)

    def _name(self, schedule: Schedule) -> str:
        return f"{self.word}, {schedule.text}"

    def _is_wrong(self, schedule: Schedule, run: Run) -> bool:
        """Whether a schedule cannot be launched or changes the result, which is told: none may.

        Raises:
            Tainted: it broke the device; it is left out from then on.
        """
        name, cell = self._name(schedule), self.sides.cell
        try:
            off = apart(cell, self.expected, results(cell, run))
            why = f"WRONG by {off:.3g}" if off else ""
        except Exception as error:  # noqa: BLE001  # whatever it is, it is this schedule's
            why = told(error)
            self.sides.still_works(name, error)
        if why:
            self.sides.errors[name] = why
        return bool(why)

    def add(self) -> None:
        """Take the chosen ones and the quickest in."""
        quickest = sorted(self.timings, key=lambda timing: timing.seconds)[:LEADERS]
        every = dict.fromkeys([*self.schedules.values(), *(one.schedule for one in quickest)])
        for number, schedule in enumerate(every):
            name = self.names[schedule] = f"schedule {self.word} {number}"
            launch = self.sides.attempt(name, lambda one=schedule: self.target.run_of(one))
            if launch is not None:
                self.sides.add(name, launch, self.expected, exact=True)

    def best(self, found: Times) -> tuple[Schedule, float] | None:
        """The quickest of them, and its microseconds."""
        times = {one: found[name] for one, name in self.names.items() if name in found}
        if not times:
            return None
        chosen, seconds = picked(times)
        return chosen, round(1e6 * seconds, 4)


def device_cell(
    cell: Cell,
    given: Namespace,
    learned: list[Any] | None,
    skipped: dict[str, str],
    compilers: Compilers,
) -> dict[str, Any]:
    """All sides of one cell, side by side."""
    until = time.monotonic() + given.cell_limit
    sides = Sides(cell, skipped, lambda: time.monotonic() > until)
    target = Target(cell)
    expected = _expected(target)
    exact = Own(sides, target, given, expected)
    exact.schedules["vyre_default"] = exact.target.default
    sides.attempt("vyre_call", lambda: _same_by_a_call(exact.target, expected))
    exact.look(compilers)
    exact.plan("vyre_occupancy", exact.target.occupancy)
    if given.budget > 0:
        exact.plan("vyre_swept", lambda: exact.target.swept(given.budget))
    if learned is not None:
        exact.plan("vyre_live", lambda: unpacked(learned))
    exact.add()
    fast = _fast(sides, exact, given, compilers)
    _add_copy(sides)
    for side, module, make in peers(cell):
        launch = sides.attempt(
            side, lambda module=module, make=make: make(importlib.import_module(module))
        )
        if launch is not None:
            sides.add(side, launch, expected, exact=False)
    found = interleaved(sides.graphs, ROUNDS, sides.over)
    return _record(sides, exact, fast, found)


def _expected(target: Target) -> tuple[Any, ...]:
    """What the default schedule computes."""
    run = target.run_of(target.default)
    run()
    return results(target.cell, run)


def _fast(sides: Sides, exact: Own, given: Namespace, compilers: Compilers) -> Own | None:
    """The kernel with the freedoms that peers take; the exact one where that is the same."""

    def task() -> Own:
        target = Target(sides.cell, fast_math=True)
        if target.is_program_of(exact.target):
            return exact
        made = _expected(target)
        off = apart(sides.cell, exact.expected, made)
        sides.notes["vyre_fast off"] = round(off, 6)
        if off > 1:
            raise AssertionError(f"its result is {off:.3g} of the allowed distance away")
        return Own(sides, target, given, made)

    fast: Own | None = sides.attempt("vyre_fast", task)
    if fast is None or fast is exact:
        return fast
    target = fast.target
    fast.schedules["vyre_fast_default"] = target.default
    fast.look(compilers)
    if given.budget > 0:
        fast.plan("vyre_fast_swept", lambda: target.swept(given.budget / 2))
    fast.add()
    return fast


def peers(cell: Cell) -> list[tuple[str, str, Callable[[Any], Run]]]:
    """The peers of a cell: a name, the module that has it, and how it makes the launch."""
    found: list[tuple[str, str, Callable[[Any], Run]]] = [
        ("cupy", "gpu_cupy", lambda module: module.run_of(cell)),
        ("triton", "gpu_triton", lambda module: module.run_of(cell)),
        ("torch_eager", "gpu_torch", lambda module: module.eager(cell)),
        ("torch_compile", "gpu_torch", lambda module: module.compiled(cell)),
    ]
    if cell.kernel in ARITHMETIC:
        found += [
            ("cupy_exact", "gpu_cupy", lambda module: module.run_of(cell, contract=False)),
            ("triton_exact", "gpu_triton", lambda module: module.run_of(cell, contract=False)),
        ]
    if cell.kernel == "row_sums":
        found.append(("hand_made", "gpu_hand", lambda module: module.row_sums(cell)))
    return [one for one in found if one[0] not in WITHOUT.get(cell.kernel, ())]


def _add_copy(sides: Sides) -> None:
    """Take a copy in that moves as many bytes as the cell's kernel has to."""

    def task() -> Any:
        name, run = importlib.import_module("gpu_hand").copy_of(sides.cell)
        sides.notes["copy"] = name
        return fitted(run)

    graph = sides.attempt("copy", task)
    if graph is not None:
        sides.graphs["copy"] = graph


def _same_by_a_call(target: Target, expected: tuple[Any, ...]) -> None:
    def call() -> None:
        target.call(schedule=target.default)

    if apart(target.cell, expected, results(target.cell, call)):
        raise AssertionError("a plain call gives another result than a launch of its schedule")


def _record(sides: Sides, exact: Own, fast: Own | None, found: Times) -> dict[str, Any]:
    """The cell as it is kept."""
    cell = sides.cell
    medians = {side: round(1e6 * median(times), 4) for side, times in found.items() if times}
    us = {side: value for side, value in medians.items() if not side.startswith("schedule")}
    errors = {side: why for side, why in sides.errors.items() if not side.startswith("schedule")}
    schedules = {}
    for own in dict.fromkeys(one for one in (exact, fast) if one is not None):
        for side, schedule in own.schedules.items():
            schedules[side] = schedule
            name = own.names.get(schedule, "")
            if name in medians:
                us[side] = medians[name]
            else:
                errors[side] = sides.errors.get(name, "it was not measured")
    for side, owner in (("vyre_exact", exact), ("vyre_fast", fast)):
        best = owner.best(found) if owner is not None else None
        if best is not None:
            schedules[side], us[side] = best
    timed = {one: medians[name] for one, name in exact.names.items() if name in medians}
    least = min(timed, key=timed.__getitem__)
    return {
        "n": 1 << cell.power,
        "moved": cell.moved,
        "us": us,
        "spread": {side: spread(times) for side, times in found.items() if len(times) > 4},
        "space": {
            "legal": len(exact.target.space.legal),
            "measured": len(exact.timings),
            "best_us": timed[least],
            "best": packed(least),
            "quick": _quick(exact.timings),
        },
        "fast": {
            "same_program": fast is exact,
            "quick": [] if fast is None or fast is exact else _quick(fast.timings),
        },
        "schedules": {side: packed(schedule) for side, schedule in schedules.items()},
        "errors": errors,
        "notes": {**sides.notes, "triton": _triton_choice(cell)},
        "launches": {side: graph.launches for side, graph in sides.graphs.items()},
    }


def _quick(timings: list[Timing]) -> list[list[Any]]:
    return [[packed(one.schedule), round(1e6 * one.seconds, 4)] for one in timings]


def _triton_choice(cell: Cell) -> str:
    module = sys.modules.get("gpu_triton")
    try:
        return str(module.chosen(cell)) if module else ""
    except (AttributeError, KeyError):  # it was not tuned
        return ""


def spread(times: list[float]) -> float:
    """The middle half of the times, as a share of their median."""
    ordered = sorted(times)
    quarter = len(ordered) // 4
    return round((ordered[-1 - quarter] - ordered[quarter]) / median(ordered), 4)
