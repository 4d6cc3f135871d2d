"""`vyre tune`: find the fastest way to run kernels here, and remember it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from vyre.cli.output import table
from vyre.cli.targets import Target
from vyre.errors import InvalidInput, VyreError
from vyre.learn import process, rules
from vyre.model import Decision, Reason, span
from vyre.plain import plain
from vyre.policy import contest
from vyre.report.values import Value, decision_value, workload_value
from vyre.report.words import elements, gain, sure
from vyre.runtime.call.tune import answers
from vyre.runtime.devices.device import Device
from vyre.store.open import files_in

LEAST_S = 0.5
"""What a kernel gets at least: less would not compile anything."""

MORE = 1.5
"""How much more time than before makes a sweep that was cut short be looked at again."""

NARROW, NARROWEST = 100, 76
"""Columns of a terminal below which the live line is short, and the table leaves columns out."""


_MOST_DROPPED, _LONGEST = 5, 400
"""Configs of a line that are told of, and letters of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """One line of the result: a kernel at a size, and what came of it."""

    kernel: str
    elements: int
    decision: Decision | None = None
    default_ns: float | None = None
    tuned_ns: float | None = None
    trouble: str = ""
    dropped: tuple[str, ...] = ()  # configs that could not run, and why
    made_up: bool = False
    undecided: bool = False  # nothing is remembered of it

    def value(self) -> Value:
        decision = self.decision
        return {
            "kernel": self.kernel,
            "elements": self.elements,
            "default_ns": self.default_ns,
            "tuned_ns": self.tuned_ns,
            **({} if decision is None else decision_value(decision)),
            "workload": None if decision is None else workload_value(decision.workload),
            "decided": decision is not None and not self.undecided,
            "trouble": self.trouble or None,
            "dropped": list(self.dropped),
        }


@dataclass(slots=True)
class Outcome:
    """What a run of the command came to."""

    rows: list[Tuned]
    device: Device
    stopped: bool = False
    saved: bool = True

    @property
    def exit_code(self) -> int:
        if self.stopped:
            return 130
        return 1 if not self.saved or any(row.trouble for row in self.rows) else 0

    def value(self) -> Value:
        return {
            "device": {"name": self.device.name, "model": self.device.info.model},
            "results": [row.value() for row in self.rows],
            "saved_in": [str(path) for path in saved_in()] if self.saved else [],
            "stopped": self.stopped,
        }


def saved_in() -> tuple[Path, ...]:
    """The files of the store."""
    return files_in(rules.current().cache_dir)


def tune_all(
    targets: Sequence[Target],
    sizes: Sequence[int],
    device: Device,
    *,
    budget_s: float,
    again: bool,
    console: Console,
) -> Outcome:
    """Tune each kernel at each size, sharing the time between them.

    Raises:
        InvalidInput: there is nothing to tune on that device.
    """
    if not device.backend.compiles:
        raise InvalidInput(
            f"{device.name} runs every schedule alike, so there is nothing to tune on it",
            'run "vyre devices" to see what can be installed here',
        )
    pieces = [
        Piece(target.name, partial(_tune, target, size, device))
        for target in targets
        for size in sizes
    ]
    return tune_each(pieces, device, budget_s=budget_s, again=again, console=console)


def tune_each(
    pieces: Sequence[Piece], device: Device, *, budget_s: float, again: bool, console: Console
) -> Outcome:
    """Do each piece of a run of the command, sharing the time between them."""
    outcome = Outcome([], device)
    end = time.monotonic() + budget_s
    with _live(console, budget_s, end) as show:
        try:
            for number, piece in enumerate(pieces):
                share_s = max(LEAST_S, (end - time.monotonic()) / (len(pieces) - number))
                even_s = 0.0 if again else max(LEAST_S, budget_s / len(pieces))
                show(piece.name, None)
                outcome.rows.append(piece.tune(share_s, even_s, show))
        except KeyboardInterrupt:
            outcome.stopped = True
    outcome.saved = process.recorder().flush() and bool(saved_in())
    return outcome


Show = Callable[[str, contest.Progress | None], None]


@dataclass(frozen=True, slots=True)
class Piece:
    """One row of a result to come: what is tuned for so many seconds.

    Args:
        name: what people call it.
        tune: takes its seconds, those from which what is remembered is no answer (0: it never is),
            and what shows how far it is.
    """

    name: str
    tune: Callable[[float, float, Show], Tuned]


def _tune(
    target: Target, size: int, device: Device, share_s: float, even_s: float, show: Show
) -> Tuned:
    """Tune one kernel for `share_s`, unless what is remembered was looked for in about `even_s`.

    What is left over by others makes shares differ from run to run, and is no reason to look again.
    """
    try:
        call = target.call(size)
        look = target.look(device, call)
        known = look.known
        if known is not None and even_s and answers(known, even_s / MORE):
            decision = replace(known, reason=Reason.REMEMBERED)
        else:
            decision = target.kernel.tune(
                out=look.outputs or None,
                shape=call.shape,
                budget_s=share_s,
                again=True,
                progress=lambda news: show(target.name, news),
                **look.inputs,
            )
    except VyreError as error:
        return Tuned(kernel=target.name, elements=size, trouble=str(error))
    recorder = process.recorder()
    evidence = recorder.evidence(decision.workload, frozenset(look.space.legal), look.space.default)
    return Tuned(
        kernel=target.name,
        elements=evidence.size or look.elements,
        decision=evidence.weigh(decision),
        default_ns=evidence.time_of(evidence.default),
        tuned_ns=evidence.time_of(decision.config),
        made_up=call.made_up,
        undecided=recorder.get(decision.workload) is None,
    )


class _Clocked(Progress):
    """A bar that follows the clock, also while nothing is reported."""

    def get_renderables(self) -> Iterable[RenderableType]:
        for task in self.tasks:
            left = max(0.0, task.fields["end"] - time.monotonic())
            task.completed = (task.total or 0.0) - left
            task.fields["left"] = f"{left:3.0f} s left"
        yield from super().get_renderables()


@contextmanager
def _live(console: Console, budget_s: float, end: float) -> Iterator[Show]:
    """A line that says what is measured, the best so far, and the time left."""
    bars = _Clocked(
        TextColumn("{task.fields[what]:<11}", markup=False),
        BarColumn(bar_width=16),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.fields[best]}"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bars:
        task = bars.add_task("", total=budget_s, what="", best="", left="", end=end)

        def show(name: str, news: contest.Progress | None) -> None:
            best = "compiling"
            if news is not None:
                best = f"{news.measured} measured, best {news.gain:.2f}x"
                if console.width >= NARROW:
                    best += f" with {news.best.text}"
            bars.update(task, what=plain(name, 40), best=best)

        yield show


def print_outcome(outcome: Outcome, console: Console) -> None:
    """The table of what was found, and where it was saved."""
    device = outcome.device
    console.print(f"{device.name}: {device.info.model}", overflow="fold")
    console.print()
    if outcome.rows:
        console.print(_table(outcome.rows, console.width))
    rows = outcome.rows
    for row in rows:
        if row.trouble:
            console.print(f"\n{row.kernel} failed: {row.trouble}", overflow="fold")
        for text in row.dropped[:_MOST_DROPPED]:
            console.print(f"\n{row.kernel} dropped {plain(text, _LONGEST)}", overflow="fold")
        if (more := len(row.dropped) - _MOST_DROPPED) > 0:
            console.print(f"\n{row.kernel} dropped {more} more")
    remembered = [r for r in rows if r.decision and r.decision.reason is Reason.REMEMBERED]
    made_up = [row.kernel for row in rows if row.made_up]
    console.print()
    if made_up:
        console.print(
            f"arguments were made up for {', '.join(dict.fromkeys(made_up))}; for your own, define "
            f"{made_up[0]}_arguments(size) in the file",
            overflow="fold",
        )
    for why in dict.fromkeys(r.decision.detail for r in rows if r.decision and r.undecided):
        names = ", ".join(r.kernel for r in rows if r.decision and r.decision.detail == why)
        console.print(f"{names}: {why}; give it more time with --budget", overflow="fold")
    if remembered:
        console.print(f"{len(remembered)} answered from memory; measure again with --again")
    if outcome.stopped:
        console.print("stopped; what was learned is kept")
    if outcome.saved:
        console.print("saved in", *(str(path) for path in saved_in()), soft_wrap=True)


def _table(rows: Sequence[Tuned], width: int) -> Table:
    """The rows in as many columns as there is room for."""
    columns: dict[str, Callable[[Tuned], str]] = {
        "kernel": lambda row: row.kernel,
        "size": lambda row: elements(row.elements),
        "default": lambda row: _span(row.default_ns),
        "tuned": lambda row: _span(row.tuned_ns),
        "gain": _gain,
        "sure": lambda row: sure(row.decision).removesuffix(" sure") if row.decision else "",
        "schedule": lambda row: row.decision.config.text if row.decision else "",
    }
    if width < NARROWEST:
        columns = {n: cell for n, cell in columns.items() if n not in ("default", "sure")}
    cells = [[cell(row) for cell in columns.values()] for row in rows]
    return table(list(columns), cells, right=("size", "default", "tuned", "gain", "sure"))


def _gain(row: Tuned) -> str:
    if row.decision is None:
        return "failed"
    return "undecided" if row.undecided else gain(row.decision)


def _span(ns: float | None) -> str:
    return "?" if ns is None else span(ns)
