"""What is launched, as the learner sees it: a question, what is ready, and steps to time."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import blake3

from vyre.backend.base import Ticket
from vyre.errors import InvalidInput
from vyre.model import Config, DeviceInfo, Reason, Workload
from vyre.policy.evidence import NOISE


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """How to run this best? Everything that a learner may ask about a workload.

    Args:
        workload: what the answer is remembered for.
        name: what people call it.
        device: where it runs.
        default: what losses are counted against; one of the candidates.
        candidates: what may run it without changing what it computes, the best guess first.
        refused: what may not, and why, for people.
        warm: whether first launches are like later ones, with nothing left to load.
        share: of a dispatch that a try takes, where a part of it can be run another way.
        expected: of each candidate, log(time / time of the default) as the guess expects it;
            nothing where the guess is an order and no more.
        risk: default dispatches that a launch of the guess may lose.
        noise: of one log time, before any was repeated.
    """

    workload: Workload
    name: str
    device: DeviceInfo
    default: Config
    candidates: tuple[Config, ...]
    refused: tuple[str, ...] = ()
    warm: bool = False
    share: float = 1.0
    expected: tuple[float, ...] = ()
    risk: float = 0.0
    noise: float = NOISE

    def __post_init__(self) -> None:
        if len(set(self.candidates)) < len(self.candidates):
            raise InvalidInput(
                f"candidates of {self.name} that hold a config twice", "give each config once"
            )
        if len({type(one) for one in self.candidates}) > 1:
            raise InvalidInput(
                f"candidates of {self.name} that are schedules and knobs", "give one kind"
            )
        if self.expected and len(self.expected) != len(self.candidates):
            raise InvalidInput(
                f"{len(self.expected)} expected times of {len(self.candidates)} candidates of "
                f"{self.name}",
                "give one for each, or none",
            )
        if not 0.0 < self.share <= 1.0:
            raise InvalidInput(
                f"a try of {self.name} that takes {self.share} of a dispatch",
                "give a share above 0 and up to 1",
            )
        if self.default not in self.candidates:
            raise InvalidInput(
                f"the default of {self.name}, {self.default.text}, is no candidate",
                "add it to the candidates, or name one of them",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """How calls begin where nothing is remembered: on a guess, which is ready.

    Args:
        config: what runs from the first call on.
        detail: why this one, for people.
        reason: whether the guess alone said so, or what is known nearby as well.
        risk: default dispatches that a launch of it may lose.
        timed: what the first calls launch to be timed, in this order; ready as well.
        default_ready: whether the default is, too, and can take over at any call.
    """

    config: Config
    detail: str
    reason: Reason = Reason.COLD_START
    risk: float = 0.0
    timed: tuple[Config, ...] = ()
    default_ready: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What came of making configs ready: those that cannot be, and what it took."""

    failed: Mapping[Config, str] = field(default_factory=dict)
    took_s: float = 0.0
    broken: str = ""  # why nothing can be made ready any more


@dataclass(frozen=True, slots=True)
class Later:
    """Not all is done yet: ask again after so long, and do other work meanwhile."""

    after_s: float = 0.0


SOON_S, LATE_S = 1e-3, 5e-2
"""Between two looks at whether callers would wait for what is loaded: at first, and at most."""


class Fetching(Protocol):
    """Configs that are being made ready; used on the thread that learns."""

    def taken(self) -> Fetched | Later | None:
        """What came of it, once: None while it is under way and `done` will tell.

        It does a short piece of what is left to do, if anything is, and then says when to go on.
        """
        ...

    def cancel(self) -> None: ...


class Subject(Protocol):
    """What is launched. `fetch` never waits, and says `done`, on any thread, when it is over."""

    def question(self) -> Question: ...
    def is_ready(self, config: Config) -> bool: ...
    def fetch(self, configs: Sequence[Config], done: Callable[[], object]) -> Fetching:
        """Make the first of these ready, and of the others what comes with it."""
        ...


@runtime_checkable
class AsksInPieces(Protocol):
    """A subject whose question takes a while: whoever asks it may do something else meanwhile."""

    def asking(self) -> Generator[None, None, Question]: ...


def asked(subject: Subject) -> Generator[None, None, Question]:
    """The question of a subject, in short pieces where it has any."""
    if isinstance(subject, AsksInPieces):
        return (yield from subject.asking())
    return subject.question()


class Step(Protocol):
    """A launch of which everything is known but its arguments."""

    def start(self, arguments: Sequence[Any], stream: int) -> object: ...
    def timed(self, arguments: Sequence[Any], stream: int) -> Ticket | None:
        """The same with its time asked for; None where that is not to be had.

        Raises:
            VyreError: this config cannot be launched; it is dropped, and the call goes on without.
        """
        ...


@dataclass(frozen=True, slots=True)
class Elapsed:
    """A ticket of a launch that is over, and what it took.

    >>> Elapsed.of(lambda: None).elapsed_ns() >= 0
    True
    """

    ns: int
    rough: bool = False

    @classmethod
    def of(cls, launch: Callable[[], object]) -> Elapsed:
        """Call `launch`, which is over when it returns; what the host's clock says of it."""
        start = time.perf_counter_ns()
        launch()
        return cls(time.perf_counter_ns() - start, rough=True)

    def elapsed_ns(self) -> int:
        return self.ns

    def wait(self) -> None:
        """It has run already."""


class Prepare(Protocol):
    """Makes steps for calls with the same numbers."""

    def __call__(self, config: Config | None, *, if_ready: bool = False) -> Step | None:
        """The step of a config, or of the default; `if_ready`, None where it would be waited for.

        Raises:
            VyreError: the config does not fit these numbers, or cannot be compiled.
        """
        ...

    def is_capturing(self, stream: int) -> bool:
        """Whether launches there are recorded instead of run, so that nothing is to be tried."""
        ...


def workload_of(
    text: str, sizes: Sequence[int], device: DeviceInfo, traits: Sequence[str] = ()
) -> Workload:
    """What a choice is remembered for: something of Vyre's or not, at about these sizes.

    Args:
        text: everything of it that may change which config wins, such as its source.
        sizes: of its arguments; those of one doubling share a choice.
        device: where it runs.
        traits: what else may change it, such as a type.

    >>> from vyre.backend.reference.device import Reference
    >>> workload_of("def f(): ...", (1000, 3), Reference.info).buckets
    (10, 2)
    """
    return Workload(
        fingerprint=blake3.blake3(text.encode(errors="replace")).digest(),
        buckets=tuple(size.bit_length() for size in sizes),
        traits=tuple(traits),
        device=device.identity,
        toolchain=device.toolchain,
    )
