"""One call's exact numbers on one device: what it launches next."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, Protocol

from vyre.backend.base import Ticket
from vyre.errors import VyreError
from vyre.model import Config, Decision, Reason, scheduled
from vyre.runtime.call.launcher import Launcher, Numbers, Prepared
from vyre.runtime.tally import Tally


class Teacher(Protocol):
    """Who decides what the sites of a workload launch; `learner.Learner` is one."""

    @property
    def best(self) -> Config: ...
    @property
    def asked(self) -> deque[Config]: ...
    @property
    def tick(self) -> Callable[[], int]: ...
    def joined(self, site: Site) -> None: ...
    def taking(self) -> None: ...
    def ran(self, config: Config, ticket: Ticket, size: int) -> None: ...
    def fell(self, config: Config, reason: str) -> None: ...
    def skipped(self) -> None: ...


class Site:
    """Launches of one kernel with the same numbers; each call takes its step from here.

    A call reads `asked` and `best` and nothing else. Both are replaced or filled by the thread that
    learns, never held locked.
    """

    __slots__ = (
        "__weakref__",
        "alignment",
        "asked",
        "best",
        "decision",
        "launcher",
        "numbers",
        "size",
        "tally",
        "teacher",
        "tick",
    )

    def __init__(
        self,
        launcher: Launcher,
        numbers: Numbers,
        alignment: Mapping[str, int],
        decision: Decision,
        teacher: Teacher | None = None,
    ) -> None:
        """Launch as `teacher` says, or always as was decided."""
        self.launcher, self.numbers, self.alignment = launcher, numbers, alignment
        self.size = prod(numbers.extent)
        self.decision, self.teacher = decision, teacher
        self.best: Prepared | None = None
        self.asked: deque[Config] = deque()
        self.tally = Tally()
        self.tick = self.tally.tick
        if teacher is not None:
            self.asked, self.tick = teacher.asked, teacher.tick
            teacher.joined(self)

    @property
    def dispatches(self) -> int:
        """How many calls were made here, where nobody learns; looking counts none."""
        return self.tally.value

    def take(self, *, capturing: bool = False) -> tuple[Prepared, bool]:
        """What to launch now, and whether its time is asked for; nothing is tried in a capture."""
        self.tick()
        asked = self.next_asked() if self.asked and not capturing else None
        return (self.best or self.refreshed(), False) if asked is None else (asked, True)

    def next_asked(self) -> Prepared | None:
        """The launch whose time is asked for, if it fits these numbers."""
        assert self.teacher is not None
        self.teacher.taking()  # said before, because an interrupt may come right after
        try:
            config = self.asked.popleft()
        except IndexError:  # another thread was quicker
            return None
        step = None
        try:
            if self.launcher.is_warm(self.numbers, scheduled(config)):
                step = self.prepared(config)
        except VyreError:  # proved for other sizes of the workload, not for this one
            pass
        finally:  # whatever ends it, the learner waits for nothing
            if step is None:
                self.lost()
        return step

    def launched_asked(self, arguments: Sequence[Any], stream: int) -> bool:
        """Whether the launch whose time is asked for was made; never in a capture."""
        backend = self.launcher.device.backend
        step = None if backend.is_capturing(stream) else self.next_asked()
        if step is None:
            return False
        try:
            ticket = backend.launch(
                step.binary,
                step.grid,
                step.workgroup,
                arguments,
                step.words,
                timed=True,
                stream=stream,
            )
        except VyreError as error:
            self.fell(step, error)
            return False
        except BaseException:
            self.lost()
            raise
        self.ran(step, ticket)
        return True

    def refreshed(self) -> Prepared:
        """What to launch after the choice has changed."""
        while True:
            config = self._chosen
            try:
                best = self.prepared(config)
            except VyreError:
                if self.decision.reason is Reason.OVERRIDE:
                    raise
                best = self.prepared(None)  # it was chosen for another size of the workload
            self.best = best
            if self._chosen is config:
                return best

    @property
    def _chosen(self) -> Config:
        return self.decision.config if self.teacher is None else self.teacher.best

    def hear(self, decision: Decision) -> None:
        """Launch what was decided since, from the next call on, where nobody learns here."""
        if decision.workload == self.decision.workload and self.teacher is None:
            self.decision = replace(decision, reason=Reason.REMEMBERED)
            self.best = None

    def prepared(self, config: Config | None) -> Prepared:
        """The launch of these numbers by a schedule, or by the default."""
        return self.launcher.prepare(
            self.numbers, self.alignment, None if config is None else scheduled(config)
        )

    def ran(self, step: Prepared, ticket: Ticket) -> None:
        """Hand in a launch whose time was asked for."""
        assert self.teacher is not None
        self.teacher.ran(step.schedule, ticket, self.size)

    def lost(self) -> None:
        """Say that what was asked for is not launched here, or that its time is not to be had."""
        assert self.teacher is not None
        self.teacher.skipped()

    def fell(self, step: Prepared, error: VyreError) -> Prepared:
        """Drop a launch that was asked for and failed; what to launch in its place."""
        assert self.teacher is not None
        self.teacher.fell(step.schedule, error.problem)
        return self.prepared(None)
