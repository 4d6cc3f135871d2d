"""Compiling ahead for one workload: bundles go to the helper, what comes back is loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import prod

from vyre.backend.base import Unbuilt
from vyre.errors import VyreError
from vyre.model import Code, Schedule
from vyre.plan.geometry import tile_grid
from vyre.runtime.call.launcher import Launcher, Numbers
from vyre.runtime.compile.bundle import Bundle, Warm
from vyre.runtime.compile.helper import CompileHelper, Pending, Refused

TOGETHER = 4
"""Workgroups of one code that are compiled at once."""

_FIRST_COST_S = 0.3  # what a bundle is expected to take before one was compiled


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of bundles that cannot be launched: codes, and schedules of others, with why."""

    refused: Mapping[Code, str] = field(default_factory=dict)
    failed: Mapping[Schedule, str] = field(default_factory=dict)


class Ahead:
    """What is being compiled for one workload; used from one thread.

    Args:
        launcher: what will launch it.
        numbers: of the launches to compile for.
        helper: who compiles.
        notify: called, on any thread, when there is something new to `take`.
    """

    def __init__(
        self,
        launcher: Launcher,
        numbers: Numbers,
        helper: CompileHelper,
        notify: Callable[[], object],
    ) -> None:
        self._launcher, self._numbers = launcher, numbers
        self._helper, self._notify = helper, notify
        self._pending: list[tuple[Pending, Code, tuple[Schedule, ...]]] = []
        self.bundles = 0  # that were compiled
        self.spent_s = 0.0  # by the helper, on all of them
        self.broken = ""  # why the helper compiles no more

    @property
    def pending(self) -> int:
        """How many bundles are under way."""
        return len(self._pending)

    @property
    def cost_s(self) -> float:
        """What one more bundle is expected to take."""
        return self.spent_s / self.bundles if self.bundles else _FIRST_COST_S

    def fetch(self, wanted: Iterable[Schedule]) -> None:
        """Compile the first of these, and what is wanted of the same code, as one bundle."""
        schedules = list(wanted)
        code = schedules[0].code
        together = tuple([s for s in schedules if s.code == code][:TOGETHER])
        warm: tuple[Warm, ...] = ()
        if self._launcher.device.backend.compiles_per_workgroup:
            warm = tuple(Warm(0, s.workgroup, tile_grid(self._numbers.extent, s)) for s in together)
        bundle = Bundle(program=self._launcher.program, codes=(code,), warm=warm)
        pending = self._helper.submit(bundle, self._notify)
        self._pending.append((pending, code, together))

    def take(self) -> Answered:
        """What has been answered since, loaded into this process."""
        refused: dict[Code, str] = {}
        failed: dict[Schedule, str] = {}
        still = []
        for entry in self._pending:
            pending, code, schedules = entry
            answer = pending.poll()
            if answer is None:
                still.append(entry)
                continue
            if isinstance(answer, Refused):
                if answer.by_helper:
                    self.broken = answer.reason
                else:
                    refused[code] = answer.reason
                    self.bundles += 1
                continue
            self.bundles += 1
            self.spent_s += answer.cpu_s
            launcher = self._launcher
            try:
                (built,) = launcher.device.binaries([(launcher.program, code)])
            except VyreError as error:
                built = Unbuilt(error.problem)
            if isinstance(built, Unbuilt):
                refused[code] = built.reason
            else:
                failed |= self._ready(schedules, answer.max_threads[0])
        self._pending = still
        return Answered(refused, failed)

    def _ready(self, schedules: Iterable[Schedule], most: int) -> dict[Schedule, str]:
        """Let calls launch what fits; the rest, and why not."""
        failed = {}
        for schedule in schedules:
            threads = prod(schedule.workgroup)
            if most and threads > most:
                failed[schedule] = f"{threads} threads; its registers allow {most}"
            else:
                self._launcher.warmed(self._numbers, schedule)
        return failed

    def cancel(self) -> None:
        """Nobody wants them any more."""
        for pending, _, _ in self._pending:
            pending.cancel()
        self._pending = []
