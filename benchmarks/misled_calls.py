"""Calls of a table of times, learned from as live ones are, on a clock that the launches move."""

from __future__ import annotations

import heapq
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random
from typing import Any

import numpy as np

from vyre.backend.replay import Noise
from vyre.backend.replayed import GPU, Replayed
from vyre.learn import Call, Pace, Question, process, site_of, workload_of
from vyre.learn.deciders import Deciders
from vyre.learn.recorder import Recorder
from vyre.learn.subject import Fetched, Opening
from vyre.learn.tally import Tally
from vyre.model import Code, Config, Schedule
from vyre.runtime.devices.opening import timed_first
from vyre.store.memory import MemoryStore

DEFAULT = Schedule((256, 1, 1), Code(checked=False))
SHARE = 0.01  # of the time spent, that may be lost
FIRST_BUILD = Replayed.builds_first  # codes that the first call compiles
FETCH_S, WORK_S = 0.04, 1e-4  # to compile a code; to learn from an event
NOISE = Noise(spread=0.03, outliers=0.01)


@dataclass(frozen=True, slots=True)
class Table:
    """The times of a space, the guess's order, and what the guess takes for their log times."""

    number: int
    kind: str
    times_ns: Mapping[Config, float]
    guess: tuple[Config, ...]
    expected: Mapping[Config, float]
    default: Schedule = DEFAULT
    built: tuple[Code, ...] = ()  # by the first call; where none are said, those of the first few

    @property
    def relative(self) -> tuple[float, ...]:
        """What the guess expects of each, as log times over the default's."""
        return tuple(self.expected[one] - self.expected[self.default] for one in self.guess)

    @property
    def misled(self) -> float:
        """The first guess's time over the default's."""
        return self.times_ns[self.guess[0]] / self.times_ns[self.default]

    @property
    def first_built(self) -> tuple[Config | Code, ...]:
        """The codes that a program's first call builds."""
        guessed = [self.guess[0].build, self.default.code, *(one.build for one in self.guess)]
        return self.built or tuple(dict.fromkeys(guessed))[:FIRST_BUILD]


@dataclass
class World:
    """A caller who is so many launches ahead, a device that runs them in order, a desk beside."""

    table: Table
    lead: int
    call_s: float = 0.0  # between two calls
    now_s: float = 0.0
    worked_s: float = 0.0
    launched: list[Config] = field(default_factory=list)
    finished_s: list[float] = field(default_factory=list)
    ready: set[Code] = field(default_factory=set)
    later: list[tuple[float, int, Callable[[], object]]] = field(default_factory=list)
    posted: deque[Callable[[], object]] = field(default_factory=deque)
    watched: list[tuple[Any, Callable[[Any], object]]] = field(default_factory=list)
    number: Any = field(default_factory=count)

    def __post_init__(self) -> None:
        self.rng = Random(self.table.number)

    # what a desk is

    def post(self, work: Callable[[], object]) -> None:
        self.posted.append(work)

    def at(self, when: float, work: Callable[[], object]) -> None:
        heapq.heappush(self.later, (when, next(self.number), work))

    def soon(self, work: Callable[[], object]) -> None:
        self.at(self.now_s, work)

    def called(self, count: int, tally: Tally) -> None:
        """It has time."""

    def watch(self, ticket: Any, then: Callable[[Any], object]) -> None:
        self.watched.append((ticket, then))

    def turn(self) -> None:
        """Do all that is due by now."""
        while True:
            if self.posted:
                self.posted.popleft()()
            elif self.later and self.later[0][0] <= self.now_s:
                heapq.heappop(self.later)[2]()
            elif self.watched and self.watched[0][0].elapsed_ns() is not None:
                ticket, then = self.watched.pop(0)
                then(ticket.elapsed_ns())
            else:
                return

    # what a device and its caller are

    def enqueue(self, config: Config) -> Ticket:
        number = len(self.launched)
        ns = self.table.times_ns[config]
        before = self.finished_s[-1] if number else 0.0
        self.launched.append(config)
        self.finished_s.append(max(before, self.now_s) + ns * 1e-9)
        return Ticket(self, number, max(1, round(NOISE.seen(ns, self.rng))))

    def proceed(self) -> None:
        """Let the caller come to its next launch: that far ahead it waits for the device."""
        self.now_s += self.call_s
        behind = len(self.launched) - self.lead
        if behind >= 0:
            self.now_s = max(self.now_s, self.finished_s[behind])
        self.turn()


@dataclass(frozen=True, slots=True)
class Ticket:
    """A launch, and its time once it is over; where calls take no time, once the lead is, too."""

    world: World
    number: int
    ns: int
    rough: bool = False

    def elapsed_ns(self) -> int | None:
        world = self.world
        heard = world.call_s > 0.0 or len(world.launched) >= self.number + world.lead
        return self.ns if heard and world.now_s >= world.finished_s[self.number] else None

    def wait(self) -> None:
        """Nobody waits for one."""


@dataclass(frozen=True, slots=True)
class Way:
    """One schedule of a table, as something to launch."""

    world: World
    config: Config

    def start(self, arguments: Sequence[Any], stream: int) -> object:  # noqa: ARG002  # it has none
        return self.world.enqueue(self.config)

    def timed(self, arguments: Sequence[Any], stream: int) -> Ticket:  # noqa: ARG002  # it has none
        return self.world.enqueue(self.config)


@dataclass(frozen=True, slots=True)
class Ways:
    """Makes steps."""

    world: World

    def __call__(self, config: Config | None, *, if_ready: bool = False) -> Way | None:
        ready, default = self.world.ready, self.world.table.default
        wanted = default if config is None else config
        assert isinstance(wanted, Schedule)
        if if_ready and wanted.code not in ready:
            return None
        ready.update((default.code, wanted.code))
        return Way(self.world, wanted)

    def is_capturing(self, stream: int) -> bool:  # noqa: ARG002  # nothing records launches
        return False


@dataclass(frozen=True, slots=True)
class Told:
    """A code on its way."""

    world: World
    code: Code
    ready_s: float

    def taken(self) -> Fetched | None:
        if self.world.now_s < self.ready_s:
            return None
        self.world.ready.add(self.code)
        return Fetched(took_s=FETCH_S)

    def cancel(self) -> None:
        """It comes all the same."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A table as what is learned about."""

    world: World
    risk: float

    def question(self) -> Question:
        one = self.world.table
        return Question(
            workload=workload_of(f"table {one.number}", (1 << 20,), GPU),
            name=f"table {one.number}",
            device=GPU,
            default=one.default,
            candidates=one.guess,
            expected=one.relative,
            risk=self.risk - 1.0,
        )

    def opening(self) -> Opening:
        """What a program's first call builds, launches, and times first."""
        one, ready = self.world.table, self.world.ready
        ready.update(code for code in one.first_built if isinstance(code, Code))
        loaded = {
            config: at
            for config, at in zip(one.guess, one.relative, strict=True)
            if config.build in ready and isinstance(config, Schedule)
        }
        first = next(iter(loaded))
        return Opening(
            config=first,
            detail="the best guess",
            risk=self.risk - 1.0,
            timed=timed_first(first, loaded, one.default),
        )

    def is_ready(self, config: Config) -> bool:
        return config.build in self.world.ready

    def fetch(self, configs: Sequence[Config], done: Callable[[], object]) -> Told:
        first = configs[0]
        assert isinstance(first, Schedule)
        world = self.world
        told = Told(world, first.code, world.now_s + FETCH_S)
        world.at(told.ready_s, done)
        return told


class Clock:
    """What the learner takes for the module `time`."""

    def __init__(self, world: World) -> None:
        self._world = world

    def monotonic(self) -> float:
        return self._world.now_s

    def thread_time(self) -> float:
        self._world.worked_s += WORK_S
        return self._world.worked_s

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


def lived(one: Table, lead: int, launches: int, risk: float, call_s: float = 0.0) -> dict[str, Any]:
    """What so many calls of a table come to."""
    world = World(one, lead, call_s)
    deciders, recorder = Deciders(), Recorder(MemoryStore())
    recorder.close()  # it remembers, and writes nothing
    deciders.desk = world  # type: ignore[assignment]  # all that a decider asks of one
    process.deciders, process.recorder = lambda: deciders, lambda: recorder  # type: ignore[assignment]  # for this process
    for name, module in tuple(sys.modules.items()):
        if name.startswith("vyre.learn.") and hasattr(module, "time"):
            vars(module)["time"] = Clock(world)
    asked = Asked(world, risk)
    call = Call.of(asked, Ways(world), size=1 << 20, pace=Pace.beside(GPU))
    site = site_of(replace(call, opening=asked.opening))
    for _ in range(launches):
        site.launch((), 0)
        world.proceed()
    times = np.array([one.times_ns[config] for config in world.launched])
    default, best = one.times_ns[one.default], min(one.times_ns.values())
    lost = (1 - SHARE) * np.cumsum(times) - default * np.arange(1, len(times) + 1)
    return {
        "table": one.number,
        "kind": one.kind,
        "lead": lead,
        "misled": round(one.misled, 3),
        "lost": round(max(0.0, float(lost.max()) / default), 2),
        "at_100": round(float(times[:100].mean()) / best, 4),
        "at_1000": round(float(times[:1000].mean()) / best, 4),
        "ratio": round(float(times.mean()) / best, 4),
        "default": round(default / best, 4),
        "first": one.guess[0] == world.launched[0],
        "distinct": len(set(world.launched)),
        "ended": round(one.times_ns[site.chosen] / best, 4),
    }
