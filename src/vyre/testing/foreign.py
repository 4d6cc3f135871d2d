"""A bench for adapters: a place whose times are in a table, and a memory of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from vyre.adapter.calls import Entry
from vyre.backend.base import Ticket
from vyre.learn import process
from vyre.learn.deciders import Deciders
from vyre.learn.desk import Desk
from vyre.learn.gaps import Manners
from vyre.learn.pace import Pace
from vyre.learn.recorder import Recorder
from vyre.learn.subject import Elapsed
from vyre.model import Clocks, DeviceInfo
from vyre.store.memory import MemoryStore
from vyre.testing.learning import DEVICE

LONGEST_S = 60  # until a desk has done what is due, on any machine
AT_ONCE = Pace(advance_s=1e9, shortest_s=0.0, resting_s=0.0, enough_s=0.0, per_seen=1e9)
"""Nothing waits for the clock."""


@dataclass
class TablePlace:
    """A place that gives the time which a table has for what was launched last.

    Args:
        last_ns: nanoseconds of the launch that was just made, as its library's stand-in says.
    """

    last_ns: Callable[[], float]
    info: DeviceInfo = DEVICE
    pace: Pace = AT_ONCE
    capturing: bool = False
    timed: int = 0

    def prepare(self) -> bool:
        """There is a table."""
        return True

    def time(self, stream: int, launch: Callable[[], object]) -> Ticket:
        del stream
        launch()
        self.timed += 1
        return Elapsed(round(self.last_ns()))

    def is_capturing(self, stream: int) -> bool:
        del stream
        return self.capturing

    def clocks(self) -> Clocks | None:
        return None


@dataclass
class Bench:
    """What a process has that learns: here each test has its own."""

    store: MemoryStore = field(default_factory=MemoryStore)
    deciders: Deciders = field(
        default_factory=lambda: Deciders(Desk(Manners(look_s=0.0, rest_s=0.0, per_s=1e9)))
    )

    def __post_init__(self) -> None:
        self.recorder = Recorder(self.store, linger_s=0.01)

    def call(
        self, function: Callable[[], Any], times: int, until: Callable[[], bool] = lambda: False
    ) -> bool:
        """Call until something is so; what was learned of a call is known before the next."""
        for _ in range(times):
            function()
            assert self.deciders.desk.drained(LONGEST_S)
            if until():
                return True
        return False

    def again(self) -> Bench:
        """Another process, with what this one has kept."""
        assert self.recorder.flush()
        return Bench(self.store)


@contextmanager
def learning(bench: Bench) -> Iterator[Bench]:
    """Let calls learn on this bench, in the place of the process's own."""
    with (
        mock.patch.object(process, "deciders", return_value=bench.deciders),
        mock.patch.object(process, "recorder", return_value=bench.recorder),
    ):
        yield bench


def failures(entry: Entry) -> dict[str, str]:
    """What was dropped, by its text, and why."""
    decider = entry.site.decider
    found = {} if decider is None else decider.standing.failures
    return {config.text: why for config, why in found.items()}
