"""What happens to a learner, and what it wants done about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vyre.learn.inheritance import Inherited
from vyre.learn.subject import Fetched, Question
from vyre.model import Config, Decision, Outcome
from vyre.policy import table
from vyre.policy.natural_step import Step as NaturalStep
from vyre.policy.natural_step import natural_step_q16


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When something happens."""

    now_s: float  # of a clock that never goes back
    worked_s: float = 0.0  # on this workload so far, by the thread that learns
    dispatches: int = 0  # so far


@dataclass(frozen=True, slots=True)
class Began:
    """What is to be learned is known, and what was known of it before."""

    question: Question
    inherited: Inherited
    ready: frozenset[Config]
    size: int
    policy: str = table.DEFAULT_POLICY
    step: NaturalStep = natural_step_q16


@dataclass(frozen=True, slots=True)
class Woke:
    """The time has come to ask for a launch."""

    ask: int


@dataclass(frozen=True, slots=True)
class Took:
    """A call is about to take what was asked for."""


@dataclass(frozen=True, slots=True)
class Looked:
    """The time has come to look after a launch that was taken."""

    ask: int
    taken_at: int  # dispatches
    after_s: float
    still_asked: bool = False  # whether nobody took it after all


@dataclass(frozen=True, slots=True)
class Launched:
    """What was asked for is under way, and its time will be heard of."""

    config: Config


@dataclass(frozen=True, slots=True)
class Ran:
    """The time of a launch that was asked for."""

    config: Config
    elapsed_ns: float
    size: int
    rough: bool = False  # the host's time may be a part of it
    clock: str = ""  # the state of the device's clocks; empty where it does not tell
    throttled: tuple[str, ...] = ()  # why the device was held back, if it was
    share: float = 1.0  # of the dispatch, that ran so
    early: bool = False  # before launches are timed as well as they will be


@dataclass(frozen=True, slots=True)
class Heard:
    """Times that came in together: what to ask for next is decided once."""

    times: tuple[Ran, ...]


@dataclass(frozen=True, slots=True)
class Spent:
    """As many calls were made as what is launched may cost before more is known of it."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A launch that was asked for was not made, or its time will never be known."""

    config: Config | None = None  # of the launch, where it was made


@dataclass(frozen=True, slots=True)
class Fell:
    """Configs that cannot be launched, and why."""

    reasons: Mapping[Config, str]


@dataclass(frozen=True, slots=True)
class Came:
    """Something that was fetched is ready now, or never will be."""

    fetched: tuple[Fetched, ...]
    ready: frozenset[Config]
    fetching: int  # still under way


@dataclass(frozen=True, slots=True)
class Decided:
    """Something else has decided, such as a sweep."""

    decision: Decision


@dataclass(frozen=True, slots=True)
class Ended:
    """Nothing more is to be learned."""

    why: str


@dataclass(frozen=True, slots=True)
class Broke:
    """A piece of learning failed."""

    error: str


What = (
    Began
    | Woke
    | Took
    | Looked
    | Launched
    | Ran
    | Heard
    | Spent
    | Lost
    | Fell
    | Came
    | Decided
    | Ended
    | Broke
)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens, and when."""

    what: What
    at: Moment


@dataclass(frozen=True, slots=True)
class Ask:
    """Let the next call launch this, and time it."""

    config: Config
    led: bool = False  # by a launch of the same right before, which nobody times


@dataclass(frozen=True, slots=True)
class Fetch:
    """Make the first of these ready, and of the others what comes with it."""

    configs: tuple[Config, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """Remember what came of a dispatch of `size` elements."""

    outcome: Outcome
    size: int


@dataclass(frozen=True, slots=True)
class Put:
    """Remember a decision, because of what is new about it."""

    decision: Decision
    news: bool  # whether it is for another config than before


@dataclass(frozen=True, slots=True)
class Wake:
    """Tell of an event at a time, as of `Moment.now_s`."""

    at_s: float
    event: Woke | Looked


Effect = Ask | Fetch | Record | Put | Wake
