"""Vyre's own programs as what is learned about: launcher, numbers, alignment and helper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from vyre.backend.base import Unbuilt
from vyre.errors import VyreError
from vyre.learn import process
from vyre.learn.decide import Call
from vyre.learn.pace import Pace
from vyre.learn.subject import Fetched, Question
from vyre.model import Code, Config, Decision, Reason, Schedule, Workload, scheduled
from vyre.plan.geometry import tile_grid
from vyre.plan.guess import order
from vyre.plan.space import why_not_free
from vyre.runtime.compile.bundle import Bundle, Warm
from vyre.runtime.compile.helper import CompileHelper, Pending, Refused
from vyre.runtime.devices.launcher import Launcher, Numbers, Prepared
from vyre.store.exchange.imported import imported_choice

TOGETHER = 4
"""Workgroups of one code that are compiled at once."""


@dataclass(frozen=True, slots=True)
class ProgramSteps:
    """Makes steps for launches of a program with the same numbers."""

    launcher: Launcher
    numbers: Numbers
    alignment: Mapping[str, int]

    def __call__(self, config: Config | None, *, if_ready: bool = False) -> Prepared | None:
        schedule = None if config is None else scheduled(config)
        if if_ready and schedule and not self.launcher.is_warm(self.numbers, schedule):
            return None
        step = self.launcher.prepare(self.numbers, self.alignment, schedule)
        self.launcher.warmed(self.numbers, step.schedule)
        return step

    def is_capturing(self, stream: int) -> bool:
        return self.launcher.device.backend.is_capturing(stream)


@dataclass(frozen=True, slots=True)
class ProgramSubject:
    """A program of Vyre's on a device, over one size."""

    launcher: Launcher
    numbers: Numbers
    alignment: Mapping[str, int]
    helper: CompileHelper

    def question(self) -> Question:
        launcher, info = self.launcher, self.launcher.device.info
        space = launcher.space(self.numbers, self.alignment)
        guess = order(space, launcher.program, launcher.facts, info, self.numbers)
        return Question(
            workload=launcher.workload(self.numbers, self.alignment),
            name=launcher.kernel.name,
            device=info,
            default=space.default,
            candidates=tuple(dict.fromkeys((*guess, space.default))),
            refused=tuple(str(one) for one in space.refused),
        )

    def is_ready(self, config: Config) -> bool:
        return self.launcher.is_warm(self.numbers, scheduled(config))

    def fetch(self, configs: Sequence[Config], done: Callable[[], object]) -> BundleFetching:
        """Compile the first of these, and what is wanted of the same code, as one bundle."""
        schedules = [scheduled(config) for config in configs]
        code = schedules[0].code
        together = tuple([one for one in schedules if one.code == code][:TOGETHER])
        warm: tuple[Warm, ...] = ()
        if self.launcher.device.backend.compiles_per_workgroup:
            warm = tuple(
                Warm(0, one.workgroup, tile_grid(self.numbers.extent, one)) for one in together
            )
        bundle = Bundle(program=self.launcher.program, codes=(code,), warm=warm)
        pending = self.helper.submit(bundle, done)
        return BundleFetching(self, code, together, pending)


@dataclass(frozen=True, slots=True)
class BundleFetching:
    """A bundle on its way from the compile helper; what comes back is loaded."""

    subject: ProgramSubject
    code: Code
    schedules: tuple[Schedule, ...]
    pending: Pending

    def taken(self) -> Fetched | None:
        answer = self.pending.poll()
        if answer is None:
            return None
        if isinstance(answer, Refused):
            if answer.by_helper:
                return Fetched(broken=answer.reason)
            return Fetched(failed=self._whole_code(answer.reason))
        launcher = self.subject.launcher
        try:
            (built,) = launcher.device.binaries([(launcher.program, self.code)])
        except VyreError as error:
            built = Unbuilt(error.problem)
        if isinstance(built, Unbuilt):
            return Fetched(failed=self._whole_code(built.reason), took_s=answer.cpu_s)
        failed = self._made_ready(self.schedules, answer.max_threads[0])
        return Fetched(failed=failed, took_s=answer.cpu_s)

    def cancel(self) -> None:
        self.pending.cancel()

    def _whole_code(self, reason: str) -> dict[Config, str]:
        """Every schedule that would need this code."""
        subject = self.subject
        legal = subject.launcher.space(subject.numbers, subject.alignment).legal
        return {one: reason for one in (*self.schedules, *legal) if one.code == self.code}

    def _made_ready(self, schedules: Iterable[Schedule], most: int) -> dict[Config, str]:
        """Let calls launch what fits; the rest, and why not."""
        failed: dict[Config, str] = {}
        for schedule in schedules:
            threads = prod(schedule.workgroup)
            if most and threads > most:
                failed[schedule] = f"{threads} threads; its registers allow {most}"
            else:
                self.subject.launcher.warmed(self.subject.numbers, schedule)
        return failed


def _imported(
    launcher: Launcher, numbers: Numbers, alignment: Mapping[str, int]
) -> Decision | None:
    """What a file of the Rust crate says that was imported, if it holds the program's key."""
    recorder = process.recorder()
    found = imported_choice(
        lambda workload: recorder.get(workload, writes=False),
        launcher.program,
        prod(numbers.extent),
        launcher.device.info,
    )
    if found is None:
        return None
    return Decision(
        workload=launcher.workload(numbers, alignment),
        config=replace(launcher.default(numbers), workgroup=found.workgroup),
        reason=Reason.REMEMBERED,
        detail="from an imported file of the Rust crate",
    )


def call_of(
    launcher: Launcher,
    numbers: Numbers,
    alignment: Mapping[str, int],
    helper: CompileHelper | None,
    *,
    workload: Workload | None = None,
    sweep: Callable[[], Decision] | None = None,
    advice: str = "",
) -> Call:
    """A launch of one of Vyre's programs, as something to decide about."""
    device = launcher.device
    backend, info = device.backend, device.info
    why_alone = next(why_not_free(launcher.facts, numbers), None)
    if helper is None:
        why_alone = why_alone or f"{device.name} runs every schedule alike"
    return Call(
        subject=ProgramSubject(launcher, numbers, alignment, helper),  # type: ignore[arg-type]  # left alone without one
        prepare=ProgramSteps(launcher, numbers, alignment),
        workload=workload or launcher.workload(numbers, alignment),
        name=launcher.kernel.name,
        device=info,
        default=launcher.default(numbers),
        size=prod(numbers.extent),
        is_legal=lambda config: config in launcher.space(numbers, alignment).legal,
        why_alone=why_alone,
        began=launcher.has_run,
        guess=lambda: _imported(launcher, numbers, alignment),
        sweep=sweep,
        pace=Pace.beside(info, backend.unfelt_ns, backend.shortest_ns),
        clocks=backend.clocks,
        advice=advice,
    )
