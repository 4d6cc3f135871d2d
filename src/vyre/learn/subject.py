"""What is launched, as the learner sees it: a question, what is ready, and steps to time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from vyre.backend.base import Ticket
from vyre.errors import InvalidInput
from vyre.model import Config, DeviceInfo, Workload


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
    """

    workload: Workload
    name: str
    device: DeviceInfo
    default: Config
    candidates: tuple[Config, ...]
    refused: tuple[str, ...] = ()
    warm: bool = False
    share: float = 1.0

    def __post_init__(self) -> None:
        if len(set(self.candidates)) < len(self.candidates):
            raise InvalidInput(
                f"candidates of {self.name} that hold a config twice", "give each config once"
            )
        if self.default not in self.candidates:
            raise InvalidInput(
                f"the default of {self.name}, {self.default.text}, is no candidate",
                "add it to the candidates, or name one of them",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What came of making configs ready: those that cannot be, and what it took."""

    failed: Mapping[Config, str] = field(default_factory=dict)
    took_s: float = 0.0
    broken: str = ""  # why nothing can be made ready any more


class Fetching(Protocol):
    """Configs that are being made ready; used on the thread that learns."""

    def taken(self) -> Fetched | None:
        """What came of it, once: None while it is under way."""
        ...

    def cancel(self) -> None: ...


class Subject(Protocol):
    """What is launched. `fetch` never waits, and says `done`, on any thread, when it is over."""

    def question(self) -> Question: ...
    def is_ready(self, config: Config) -> bool: ...
    def fetch(self, configs: Sequence[Config], done: Callable[[], object]) -> Fetching:
        """Make the first of these ready, and of the others what comes with it."""
        ...


class Step(Protocol):
    """A launch of which everything is known but its arguments."""

    def start(self, arguments: Sequence[Any], stream: int) -> object: ...
    def timed(self, arguments: Sequence[Any], stream: int) -> Ticket | None:
        """The same with its time asked for; None where that is not to be had."""
        ...


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
