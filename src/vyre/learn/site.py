"""Where calls of one kind are launched from: each takes its step from here."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from vyre.backend.base import Ticket
from vyre.errors import VyreError
from vyre.learn.decider import Decider
from vyre.learn.subject import Prepare
from vyre.learn.tally import Tally
from vyre.model import Config, Decision, Reason


class Launches(Protocol):
    """Launches a step, and asks for its time where that is wanted."""

    def __call__(self, step: Any, *, timed: bool) -> Ticket | None: ...


class Site:
    """Launches with the same numbers, as its decider says, or always as was decided.

    A call reads `asked` and `best` and nothing else. Both are replaced or filled by the thread that
    learns, never held locked.
    """

    __slots__ = (
        "__weakref__",
        "asked",
        "best",
        "decider",
        "decision",
        "failed",
        "prepare",
        "size",
        "tally",
        "tick",
    )

    def __init__(
        self, size: int, prepare: Prepare, decision: Decision, decider: Decider | None = None
    ) -> None:
        """Launch `size` elements at a time by what `prepare` makes of a config."""
        self.size, self.prepare = size, prepare
        self.decision, self.decider = decision, decider
        self.failed: Mapping[Config, str] = {}  # what the last sweep dropped, and why
        self.best: Any = None  # a step, once it is made
        self.asked: deque[Config] = deque()
        self.tally = Tally()
        self.tick = self.tally.tick
        if decider is not None:
            self.asked, self.tick = decider.asked, decider.tick
            decider.joined(self)

    @property
    def dispatches(self) -> int:
        """How many calls were made here, where nobody learns; looking counts none."""
        return self.tally.value

    def take(self, *, capturing: bool = False) -> tuple[Any, Config | None]:
        """What to launch now, and which config's time is asked for; none is in a capture."""
        self.tick()
        asked = self.next_asked() if self.asked and not capturing else None
        return (self.best or self.refreshed(), None) if asked is None else asked

    def launch(self, arguments: Sequence[Any], stream: int = 0) -> None:
        """Make a call here: what is asked for, and timed; or what was chosen."""
        self.tick()
        if not self.asked or not self.launched_asked(arguments, stream):
            step, config = self.best or self.refreshed(), self.chosen
            try:
                step.start(arguments, stream)
            except VyreError as error:
                if not self.is_guess(config):
                    raise
                self.fall_back(
                    config, error, lambda usual: usual.start(arguments, stream), asked=False
                )

    def run(self, step: Any, asked: Config | None, launch: Launches) -> None:
        """Launch what was taken, and hand in its time; where that fails, what is usual."""
        chosen = self.chosen
        try:
            ticket = launch(step, timed=asked is not None)
        except VyreError as error:
            if asked is None and not self.is_guess(chosen):
                raise
            failed = chosen if asked is None else asked
            self.fall_back(
                failed, error, lambda usual: launch(usual, timed=False), asked=asked is not None
            )
            return
        except BaseException:  # an interrupt, or what no driver should raise
            if asked is not None:
                self.lost()
            raise
        if asked is not None:
            self.ran(asked, ticket)

    def is_guess(self, config: Config) -> bool:
        """Whether calls launch this on a guess: what people and times have chosen is kept."""
        return self.decider is not None and self.decider.is_guess(config)

    def fall_back(
        self, config: Config, error: VyreError, start: Callable[[Any], object], *, asked: bool
    ) -> None:
        """Launch what is usual where a config failed, and drop that.

        It is to blame where what is usual can be launched in the same call: a device whose memory
        others hold fails whatever it is given.
        """
        assert self.decider is not None
        try:
            start(self.prepare(None))
        except BaseException:
            if asked:
                self.lost()
            raise
        self.decider.fell(config, error.problem)

    def next_asked(self) -> tuple[Any, Config] | None:
        """The launch whose time is asked for, if it fits these numbers."""
        assert self.decider is not None
        self.decider.taking()  # said before, because an interrupt may come right after
        try:
            config = self.asked.popleft()
        except IndexError:  # another thread was quicker
            return None
        step = None
        try:
            step = self.prepare(config, if_ready=True)
        except VyreError:  # proved for other sizes of the workload, not for this one
            pass
        finally:  # whatever ends it, the learner waits for nothing
            if step is None:
                self.lost()
        return None if step is None else (step, config)

    def launched_asked(self, arguments: Sequence[Any], stream: int) -> bool:
        """Whether the launch whose time is asked for was made; never in a capture."""
        found = None if self.prepare.is_capturing(stream) else self.next_asked()
        if found is None:
            return False
        step, config = found
        try:
            ticket = step.timed(arguments, stream)
        except VyreError as error:
            self.fall_back(config, error, lambda usual: usual.start(arguments, stream), asked=True)
            return True
        except BaseException:
            self.lost()
            raise
        self.ran(config, ticket)
        return True

    def refreshed(self) -> Any:
        """What to launch after the choice has changed."""
        while True:
            config = self.chosen
            try:
                best = self.prepare(config)
            except VyreError:
                if self.decision.reason is Reason.OVERRIDE:
                    raise
                best = self.prepare(None)  # it was chosen for another size of the workload
            self.best = best
            if self.chosen is config:
                return best

    @property
    def chosen(self) -> Config:
        """What is launched while nothing is asked for."""
        return self.decision.config if self.decider is None else self.decider.best

    def hear(self, decision: Decision) -> None:
        """Launch what was decided since, from the next call on, where nobody learns here."""
        if decision.workload == self.decision.workload and self.decider is None:
            self.decision = replace(decision, reason=Reason.REMEMBERED)
            self.best = None

    def ran(self, config: Config, ticket: Ticket | None, share: float = 1.0) -> None:
        """Hand in a launch whose time was asked for, or a share of it; it may not be to be had."""
        assert self.decider is not None
        if ticket is None:
            self.decider.skipped()
        else:
            self.decider.ran(config, ticket, self.size, share)

    def lost(self) -> None:
        """Say that what was asked for is not launched here, or that its time is not to be had."""
        assert self.decider is not None
        self.decider.skipped()
