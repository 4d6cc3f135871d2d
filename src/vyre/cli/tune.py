"""`vyre tune`: find the fastest way to run the bundled kernels here, and remember it."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from vyre.kernels import ALL
from vyre.kernels.samples import sample
from vyre.model import Decision, Reason, Schedule
from vyre.runtime import sweep
from vyre.runtime.devices import default
from vyre.runtime.kernel import Kernel


def tune_bundled(size: int, budget_s: float, again: bool, console: Console) -> bool:
    """Tune each bundled kernel at about `size` elements within `budget_s`, and print a table.

    Returns:
        Whether it came to its end; False where the user stopped it.
    """
    device = default()
    each = budget_s / len(ALL)
    table = Table(title=f"bundled kernels on {device.name} ({device.info.model})")
    table.add_column("kernel")
    table.add_column("elements", justify="right")
    table.add_column("gain", justify="right")
    table.add_column("schedule", overflow="fold")
    remembered = 0
    stopped = False
    with _bars(console) as bars:
        total = bars.add_task("", total=budget_s, what="", best="")
        for number, kernel in enumerate(ALL):
            bars.update(total, completed=number * each, what=kernel.name, best="")
            call = sample(kernel.name, size)
            try:
                decision = kernel.tune(
                    *call.arrays,
                    **call.options,
                    budget_s=each,
                    again=again,
                    progress=_shown(bars, total, kernel, number * each),
                )
            except KeyboardInterrupt:
                stopped = True
                break
            remembered += decision.reason is Reason.REMEMBERED
            table.add_row(
                kernel.name, f"{call.elements:,}", _gain(decision), shown(decision.schedule)
            )
    console.print(table)
    if remembered:
        console.print(f"{remembered} answered from memory; measure again with --again")
    if stopped:
        console.print("stopped; what was learned is kept")
    return not stopped


def shown(schedule: Schedule) -> str:
    """A schedule in a few words."""
    code = schedule.code
    words = ["x".join(str(n) for n in schedule.workgroup if n > 1) or "1"]
    if code.items > 1:
        words.append(f"{code.items} items {code.order.value}")
    if code.vector > 1:
        words.append(f"vectors of {code.vector}")
    if code.unroll > 1:
        words.append(f"unroll {code.unroll}")
    return ", ".join(words)


def _gain(decision: Decision) -> str:
    if decision.reason is Reason.NOT_FREE:
        return "not free"
    return "default is best" if decision.gain is None else f"{decision.gain:.2f}x"


def _bars(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.fields[what]:<11}"),
        BarColumn(bar_width=24),
        TimeRemainingColumn(),
        TextColumn("{task.fields[best]}"),
        console=console,
        transient=True,
    )


def _shown(
    bars: Progress, task: TaskID, kernel: Kernel, start: float
) -> Callable[[sweep.Progress], None]:
    def tell(news: sweep.Progress) -> None:
        done = start + min(news.elapsed_s, news.budget_s)
        best = f"{news.gain:.2f}x with {shown(news.best)}"
        bars.update(task, completed=done, what=kernel.name, best=best)

    return tell
