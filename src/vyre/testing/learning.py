"""A world for a learner: calls of something whose times are in a table, and no clock but theirs."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from vyre.learn.events import (
    Ask,
    Began,
    Came,
    Effect,
    Event,
    Fell,
    Fetch,
    Launched,
    Looked,
    Moment,
    Put,
    Ran,
    Record,
    Took,
    Wake,
    What,
    Woke,
)
from vyre.learn.inheritance import Inherited
from vyre.learn.learner.advance import advance
from vyre.learn.pace import Pace
from vyre.learn.standing import Phase, Standing
from vyre.learn.subject import Fetched, Question
from vyre.model import (
    Config,
    Decision,
    DeviceInfo,
    DeviceKind,
    Knobs,
    Limits,
    Reason,
    Workload,
)

WORKLOAD = Workload(fingerprint=b"f", buckets=(10,), traits=(), device="d", toolchain="t")
DEVICE = DeviceInfo(
    backend="none",
    model="a table",
    driver="",
    compiler="",
    kind=DeviceKind.GPU,
    limits=Limits(max_threads=1024, max_block=(1024, 1, 1), max_grid=(1, 1, 1)),
)
SPACE: tuple[Config, ...] = tuple(Knobs.of({"BLOCK": n}) for n in (128, 64, 256, 32, 512))
BEST, DEFAULT, SLOW = SPACE[0], SPACE[2], SPACE[4]
TIMES: Mapping[Config, float] = dict(zip(SPACE, (5e5, 8e5, 1e6, 9e5, 3e6), strict=True))
AT_ONCE = Pace(advance_s=1e9, shortest_s=0.0, resting_s=0.0, enough_s=0.0)
"""Nothing waits: the time of a launch is all that passes."""


def question(**changed: Any) -> Question:
    """What is asked of a learner, but for what is given."""
    facts: dict[str, Any] = {
        "workload": WORKLOAD,
        "name": "twice",
        "device": DEVICE,
        "default": DEFAULT,
        "candidates": SPACE,
    }
    return Question(**(facts | changed))


def decided(config: Config = BEST, reason: Reason = Reason.REMEMBERED, **more: Any) -> Decision:
    """A decision that was made before, or elsewhere."""
    return Decision(workload=WORKLOAD, config=config, reason=reason, **more)


def began(
    *,
    inherited: Inherited | None = None,
    ready: frozenset[Config] = frozenset(SPACE),
    policy: str = "natural",
    **changed: Any,
) -> Began:
    """The beginning of such a question, all of it ready."""
    return Began(question(**changed), inherited or Inherited(), ready, 1000, policy)


@dataclass
class World:
    """Calls of something whose times are in a table; it carries out what the learner says."""

    times: Mapping[Config, float] = field(default_factory=lambda: dict(TIMES))
    known: Decision | None = None
    pace: Pace = AT_ONCE
    default: Config = DEFAULT
    clock: str = ""
    throttled: tuple[str, ...] = ()
    rough: bool = False
    refuses: Mapping[Config, str] = field(default_factory=dict)  # what cannot be made ready
    falls: Mapping[Config, str] = field(default_factory=dict)  # what cannot be launched
    delivers: bool = True  # what is fetched
    fetch_s: float = 0.01
    now_s: float = 0.0
    worked_s: float = 0.0
    dispatches: int = 0
    asked: Config | None = None
    led: bool = False  # by a launch of the same that is still to come
    ready: set[Config] = field(default_factory=lambda: {DEFAULT})
    fetched: list[tuple[Config, ...]] = field(default_factory=list)
    fetching: list[tuple[Config, ...]] = field(default_factory=list)
    put: list[Decision] = field(default_factory=list)
    news: list[bool] = field(default_factory=list)
    rows: list[object] = field(default_factory=list)
    wakes: list[tuple[float, int, Woke | Looked]] = field(default_factory=list)
    launched: list[Config] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    number: Iterator[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self.standing = self.first = Standing.of(WORKLOAD, self.default, self.known)

    @property
    def at(self) -> Moment:
        return Moment(now_s=self.now_s, worked_s=self.worked_s, dispatches=self.dispatches)

    def tell(self, what: What) -> tuple[Effect, ...]:
        event = Event(what, self.at)
        self.events.append(event)
        self.standing, effects = advance(self.standing, event, self.pace)
        if self.standing.wanted is None or self.standing.wanted.phase is Phase.PLANNED:
            self.asked = None
        for effect in effects:
            self.carry_out(effect)
        return effects

    def carry_out(self, effect: Effect) -> None:
        match effect:
            case Ask(config, led):
                assert self.asked is None or self.pace.at_once > 1, "one is wanted at a time"
                assert config not in self.standing.failures
                assert config in self.standing.ready
                self.asked, self.led = config, led
            case Fetch(configs):
                self.fetched.append(configs)
                self.fetching.append(configs)
            case Record(outcome):
                self.rows.append(outcome)
            case Put(decision, news):
                self.put.append(decision)
                self.news.append(news)
            case Wake(at_s, event):
                heapq.heappush(self.wakes, (at_s, next(self.number), event))

    def begin(self, **given: Any) -> tuple[Effect, ...]:
        made = began(**{"ready": frozenset(self.ready)} | given)
        return self.tell(made)

    def wake(self) -> None:
        """Do what is due by now."""
        while self.wakes and self.wakes[0][0] <= self.now_s:
            event = heapq.heappop(self.wakes)[2]
            if isinstance(event, Looked):
                event = replace(event, still_asked=self.asked is not None)
            self.tell(event)

    def deliver(self) -> None:
        for configs in self.fetching[:]:
            self.fetching.remove(configs)
            failed = {one: self.refuses[one] for one in configs if one in self.refuses}
            self.ready |= {configs[0]} - failed.keys()
            came = Fetched(failed=failed, took_s=self.fetch_s)
            self.tell(Came((came,), frozenset(self.ready), len(self.fetching)))

    def call(self, times: int = 1, until: Callable[[Standing], bool] = lambda _: False) -> bool:
        """Make calls, at most so many, until something is so."""
        for _ in range(times):
            self.wake()
            if self.delivers:
                self.deliver()
            self.dispatches += 1
            if self.asked is None:
                config = self.standing.decision.config
                self.launch(config)
            elif self.led:
                self.led = False
                self.tell(Took())
                self.launch(self.asked)
            else:
                config, self.asked = self.asked, None
                self.tell(Took())
                self.launch(config)
                if config in self.falls:
                    self.tell(Fell({config: self.falls[config]}))
                else:
                    self.tell(Launched(config))
                    self.tell(self.ran(config))
            if until(self.standing):
                return True
        return False

    def launch(self, config: Config) -> None:
        self.launched.append(config)
        self.now_s += max(self.times[config], 1.0) * 1e-9

    def ran(self, config: Config, **changed: Any) -> Ran:
        facts: dict[str, Any] = {
            "config": config,
            "elapsed_ns": self.times[config],
            "size": 1000,
            "rough": self.rough,
            "clock": self.clock,
            "throttled": self.throttled,
        }
        return Ran(**(facts | changed))

    def timed(self, config: Config, **changed: Any) -> tuple[Effect, ...]:
        """A time of this is heard, whatever is wanted; as of a call of its own."""
        self.dispatches += 1
        return self.tell(self.ran(config, **changed))


def begun(**given: Any) -> World:
    """A world in which everything is ready, and every first launch is like the others."""
    world = World(ready=set(SPACE), **given)
    world.begin(warm=True)
    return world


def adopted(config: Config) -> Callable[[Standing], bool]:
    """Whether this was adopted, by a standing."""
    return lambda s: s.decision.reason is Reason.ADOPTED and s.decision.config == config
