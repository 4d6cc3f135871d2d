"""What an adapter says of a kernel that Vyre did not write: a kind of call, and its variants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from vyre.backend.base import Ticket
from vyre.learn.pace import Pace
from vyre.learn.subject import workload_of
from vyre.model import Clocks, DeviceInfo, Knobs, Workload

Start = Callable[[Sequence[Any], int], Any]
"""Launches with a call's arguments on a stream's handle; gives what the library gives."""


class Place(Protocol):
    """Where something is launched: what the device is, and how a launch there is timed."""

    @property
    def info(self) -> DeviceInfo: ...
    @property
    def pace(self) -> Pace:
        """How quickly to learn beside calls there."""
        ...

    def prepare(self) -> bool:
        """Get ready to time launches, or say that it is to be asked again a little later.

        Where nothing is timed, nobody asks.
        """
        ...

    def time(self, stream: int, launch: Callable[[], object]) -> Ticket | None:
        """Call `launch` once, and give a ticket of its time; None where there is none to be had."""
        ...

    def is_capturing(self, stream: int) -> bool: ...
    def clocks(self) -> Clocks | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Calls of one kernel that share a choice, as the learner is told of them.

    Args:
        name: what people call the kernel.
        text: all of it that may change which config wins: source, constants, versions.
        place: where it runs.
        configs: what may run it, by its author's word; the first is the default.
        sizes: of its arguments; those of one doubling share a choice.
        traits: what else may change which config wins, exactly: types, alignment, specialisation.
        size: elements of a dispatch, as far as anybody knows.
        left_out: configs that its author named and that cannot run, and why, for people.
        warm: whether configs differ in how they are launched alone, so that all are ready and a
            first launch is like any other: then the first calls time one each.
    """

    name: str
    text: str
    place: Place
    configs: tuple[Knobs, ...]
    sizes: tuple[int, ...] = ()
    traits: tuple[str, ...] = ()
    size: int = 1
    left_out: tuple[str, ...] = ()
    warm: bool = False

    @property
    def workload(self) -> Workload:
        """What a choice for such calls is remembered for."""
        return workload_of(self.text, self.sizes, self.place.info, self.traits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A piece of work for another process: a function of ours there, and what it is given.

    Args:
        entry: `module:function`, below `vyre.adapter`; it takes a mapping and returns one.
        given: what it takes, as JSON has it.
        limit_s: for how long it may work before its process is ended.
    """

    entry: str
    given: Mapping[str, Any] = field(default_factory=dict)
    limit_s: float = 60.0


class Variants(Protocol):
    """How calls of one kind are launched under each config. Any thread may use it."""

    def is_ready(self, config: Knobs) -> bool:
        """Whether `make` compiles nothing."""
        ...

    def make(self, config: Knobs) -> Start:
        """What launches a config; it compiles here and now where it has to.

        What it gives raises a `VyreError` where this config cannot be launched, and then has
        launched nothing; whatever else is wrong with a call, it raises what the library raises.

        Raises:
            VyreError: this config cannot be compiled or launched.
        """
        ...

    def job(self, config: Knobs) -> Job | None:
        """What another process can do so that `make` takes next to no time.

        None where nothing can be done there; then it is made beside the calls, on a thread.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Portable:
    """A kernel and the arguments of a call as another process can have them, for trials on copies.

    Args:
        entry: `module:function`, below `vyre.adapter`: it takes `kernel`, and gives a function of a
            config's settings (a mapping) and arguments (as `arguments` gave them, copied anew) that
            runs it, waits for its end, and returns what it wrote as a list of NumPy arrays.
        kernel: as JSON has it.
        arguments: NumPy arrays and plain values, or what `pickled` makes of anything else.
        names: of what the runner returns, for people.
    """

    entry: str
    kernel: Mapping[str, Any]
    arguments: tuple[Any, ...]
    names: tuple[str, ...] = ()


class Copies(Protocol):
    """An adapter whose configs can be tried on copies, in a process that may die."""

    def portable(self, arguments: Sequence[Any]) -> Portable:
        """The kernel and copies of a call's arguments, as they are before the call.

        Raises:
            VyreError: something of it cannot be had in another process.
        """
        ...
