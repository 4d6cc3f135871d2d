"""Who is compared in a cell of the CPU suite: Vyre twice, PoCL, numba and NumPy, each checked."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from typing import Any

import cpu_numpy
from cpu_cells import KERNELS, Cell, apart, copied
from cpu_measure import Side, seconds_of

import vyre
from vyre.errors import VyreError
from vyre.learn.rules import rule
from vyre.learn.site import Site
from vyre.model import DeviceKind, Schedule
from vyre.plan.guess import order

PEERS = ("numba", "numpy", "pocl")
POCL = "opencl:0"


class Wrong(Exception):
    """A side computes something else than the others."""


@dataclass(slots=True)
class Sides:
    """The sides of a cell that work, why others do not, and what Vyre runs."""

    cell: Cell
    ready: dict[str, Side] = field(default_factory=dict)
    off: dict[str, float] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    schedules: dict[str, str] = field(default_factory=dict)
    expected: tuple[Any, ...] = ()  # what the first of them computed

    def add(self, name: str, side: Side, results: Callable[[], tuple[Any, ...]]) -> None:
        """Take a side in, if it computes what the first one did.

        Raises:
            Wrong: it does not.
        """
        self.cell.clear()
        side.enter()
        before = () if self.cell.outs else copied(results())
        side.run()
        found = copied(results())
        if before:  # what is updated shows a call by its difference
            found = tuple(now - then for now, then in zip(found, before, strict=True))
        self.expected = self.expected or found
        off = apart(self.expected, found)
        self.off[name] = float(f"{off:.3g}")
        if not off <= 1:
            by = f" by {self.schedules[name]}" if name in self.schedules else ""
            raise Wrong(
                f"{self.cell.kernel} {self.cell.label}: {name}{by} is wrong, "
                f"{off:.3g} of the allowed distance off {next(iter(self.off))}"
            )
        self.ready[name] = side


def missing(peer: str) -> str | None:
    """Why a peer cannot be measured here, if so."""
    if peer == "numba" and importlib.util.find_spec("numba") is None:
        return "numba is not installed"
    if peer == "pocl":
        try:
            kind = vyre.open(POCL).info.kind
        except VyreError as error:
            return error.problem
        if kind is not DeviceKind.CPU:
            return f"{POCL} is no CPU"
    return None


def of_cell(cell: Cell, peers: tuple[str, ...], sweep_s: float) -> Sides:
    """All sides of a cell, ready to be timed.

    PoCL keeps its arrays on the device, which spares it the copies; all others take NumPy arrays.
    """
    sides = Sides(cell)
    # First those that Vyre has no part in: what they compute is what all others are held to.
    for peer in ("numba", "numpy"):
        if peer in peers:
            _add_plain(sides, peer)
    kernel = KERNELS[cell.kernel]
    vyre.mode("natural")
    here = _Tuned(kernel, cell.inputs, cell.outs, cell.options, sweep_s)
    there = None
    if "pocl" in peers:
        device = vyre.open(POCL)
        inputs, outs = (tuple(map(device.array, some)) for some in (cell.inputs, cell.outs))
        there = _Tuned(kernel, inputs, outs, cell.options, sweep_s)
    # Tuning makes a kernel decide anew, so what is decided here comes after all of it.
    for name, schedule in (("vyre", here.swept), ("guess", here.guess), ("default", here.default)):
        sides.schedules[name] = schedule.text
    swept = here.side(here.swept, "natural")
    for name, side in (("vyre", swept), ("again", swept), ("guess", here.side(here.guess, "seed"))):
        sides.add(name, side, lambda: cell.results)
    if there is not None:
        _add_pocl(sides, there)
    return sides


def _add_pocl(sides: Sides, tuned: _Tuned) -> None:
    """PoCL by the better of its guess and its sweep, which may not see all in a short time."""
    found = []
    for schedule in dict.fromkeys((tuned.swept, tuned.guess)):
        side = tuned.side(schedule, "resize", vyre.open(POCL).synchronize)
        side.run()
        found.append((min(seconds_of(side.run) for _ in range(3)), schedule))
    best = min(found, key=itemgetter(0))[1]
    side = tuned.side(best, "resize", vyre.open(POCL).synchronize)
    sides.schedules["pocl"] = best.text
    sides.add("pocl", side, lambda: tuned.outs or tuned.inputs[-1:])


def _add_plain(sides: Sides, peer: str) -> None:
    cell = sides.cell
    module = cpu_numpy if peer == "numpy" else importlib.import_module("cpu_numba")
    function = getattr(module, cell.kernel, None)
    if function is None:
        sides.left_out[peer] = "it has no such form"
    else:
        sides.add(peer, Side(partial(function, *cell.arguments())), lambda: cell.results)


def _nothing() -> None:
    """A NumPy array is there when the call returns."""


class _Tuned:
    """A kernel on arrays of one device: what it runs at first, and what a sweep finds."""

    def __init__(
        self,
        kernel: vyre.Kernel,
        inputs: tuple[Any, ...],
        outs: tuple[Any, ...],
        options: Any,
        sweep_s: float,
    ) -> None:
        self.kernel, self.inputs, self.outs = kernel, inputs, outs
        self.named = dict(options)
        if outs:
            self.named["out"] = outs[0] if len(outs) == 1 else outs
        bound = kernel._dispatcher.bind(inputs, self.named.get("out"), None, None, options)
        self.launcher = launcher = bound.launcher
        numbers, alignment, _ = bound.numbered
        space = launcher.space(numbers, alignment)
        self.default: Schedule = space.default
        self.guess: Schedule = order(space, launcher.facts, launcher.device.info, numbers)[0]
        self.decision = kernel.tune(*inputs, **self.named, budget_s=sweep_s)
        self.swept: Schedule = self.decision.schedule

    def side(self, schedule: Schedule, policy: str, wait: Callable[[], object] = _nothing) -> Side:
        """Plain calls that run this schedule and learn nothing.

        Nothing learns where calls are frozen, but each policy's calls are still decided apart: so
        two schedules of one workload can take turns, both at the full speed of a repeated call.
        """
        call = partial(self.kernel, *self.inputs, **self.named)

        def enter() -> None:
            vyre.freeze()
            vyre.policy(policy)

        def run() -> None:
            call()
            wait()

        enter()
        call()
        self._site().hear(replace(self.decision, config=schedule))
        return Side(call if wait is _nothing else run, enter)

    def _site(self) -> Site:
        """Where calls of the rule that holds now are decided."""
        sites = self.kernel._dispatcher._sites.items()
        return [site for key, site in sites if key[:2] == (rule(), self.launcher)][-1]
