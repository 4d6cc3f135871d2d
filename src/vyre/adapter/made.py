"""Which configs of a kind of call can be launched at once: made, and tried where that is asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from vyre.adapter.beside import aside, compiling
from vyre.adapter.kind import Kind, Start, Variants
from vyre.adapter.trial.trials import Trials
from vyre.errors import DeviceFailed, VyreError
from vyre.learn.subject import Fetched, Later, Opening, Question
from vyre.model import Config, Knobs
from vyre.runtime.compile.worker import Pending, Refused

_TO_TRY_S = 600.0  # for all first configs together that die or hang, before a first call gives up


_IN_TURNS = 8
"""Configs that the first calls time one after the other."""


def knobs_of(config: Config) -> Knobs:
    """A config as what runs a kernel of somebody else's."""
    assert isinstance(config, Knobs), f"{config.text} runs no kernel of others"
    return config


@dataclass(slots=True)
class Admitted:
    """Which configs of a workload may serve: all, or those that ran on copies as the first did."""

    default: Knobs
    trials: Trials | None = None
    passed: set[Knobs] = field(default_factory=set)
    fell: dict[Knobs, str] = field(default_factory=dict)  # in the first call, and why

    def __contains__(self, knobs: Knobs) -> bool:
        return self.trials is None or knobs in self.passed

    def begin(self, configs: Sequence[Knobs]) -> None:
        """Let the first config that ends on copies be the default; those before it never run.

        Where there is no process to try it in, it serves as it does where nothing is tried: that
        is no fault of its own, and nothing else is admitted.

        Raises:
            DeviceFailed: none does.
        """
        assert self.trials is not None
        until = time.monotonic() + _TO_TRY_S
        for knobs in configs:
            answer = _answer(self.trials.submit(knobs, knobs), until - time.monotonic())
            if answer.by_helper if isinstance(answer, Refused) else answer is not None:
                self.passed.add(knobs)
                self.default = knobs
                return
            self.fell[knobs] = _why_not(answer)
        knobs, why = next(iter(self.fell.items()))
        raise DeviceFailed(
            f"no config could be run on copies; {knobs.text}: {why}",
            "mend the kernel, or leave check= out to see it fail in this process",
        )

    def admit(self, knobs: Knobs) -> None:
        """Try a config here and now: what was remembered cannot run, or somebody else chose this.

        Raises:
            DeviceFailed: it does not run, or not as the first does.
        """
        if knobs == self.default:
            self.begin((knobs,))
            return
        assert self.trials is not None
        answer = _answer(self.trials.submit(self.default, knobs), _TO_TRY_S)
        if answer is None or isinstance(answer, Refused):
            why = _why_not(answer)
            raise DeviceFailed(f"{knobs.text} may not serve: {why}", "mend the kernel")
        self.passed.add(knobs)


def _answer(pending: Pending[Any], limit_s: float) -> Any:
    """What comes of a trial; nobody waits behind it once its caller has gone, interrupted."""
    try:
        return pending.wait(max(limit_s, 0.0))
    finally:
        pending.cancel()


def _why_not(answer: Any) -> str:
    return answer.reason if isinstance(answer, Refused) else "it did not end in time"


@dataclass(frozen=True, slots=True)
class Made:
    """What launches the configs of one kind of call; any thread may use it."""

    variants: Variants
    admitted: Admitted
    starts: dict[Knobs, Start] = field(default_factory=dict)

    @property
    def default(self) -> Knobs:
        return self.admitted.default

    def __call__(self, config: Config | None, *, if_ready: bool = False) -> Start | None:
        """What launches a config, or the default; a `Prepare`."""
        knobs = self.default if config is None else knobs_of(config)
        start = self.starts.get(knobs)
        if start is not None and knobs in self.admitted:
            return start
        if if_ready and not self.is_ready(knobs):
            return None
        if knobs not in self.admitted:
            self.admitted.admit(knobs)
        return self.make(knobs)

    def make(self, knobs: Knobs) -> Start:
        """What launches it, compiled here and now where it has to be."""
        # One for all threads: by it they know which config it was that failed.
        return self.starts.setdefault(knobs, self.variants.make(knobs))

    def is_ready(self, config: Config) -> bool:
        knobs = knobs_of(config)
        if knobs not in self.admitted:
            return False
        return knobs in self.starts or self.variants.is_ready(knobs)


@dataclass(frozen=True, slots=True)
class ForeignSubject:
    """A kernel of somebody else's, as the learner sees one kind of its calls."""

    kind: Kind
    made: Made

    def question(self) -> Question:
        kind, made = self.kind, self.made
        fallen = made.admitted.fell
        able = tuple(one for one in kind.configs if one not in fallen)
        fell = tuple(f"{one.text}: {why}" for one, why in fallen.items())
        return Question(
            workload=kind.workload,
            name=kind.name,
            device=kind.place.info,
            default=made.default,
            candidates=able,
            refused=(*kind.left_out, *fell),
            warm=kind.warm,
        )

    def opening(self) -> Opening | None:
        """How calls begin that find everything ready: in turns, before any time is back.

        Callers of a device may enqueue hundreds of launches by then.
        """
        if not self.kind.warm:
            return None
        default = self.made.default
        ready = [one for one in self.kind.configs if one != default and self.made.is_ready(one)]
        if not ready:
            return None
        return Opening(
            config=default,
            detail="the default runs while each is timed",
            timed=(default, *ready[:_IN_TURNS]),
            default_ready=True,
        )

    def is_ready(self, config: Config) -> bool:
        return self.made.is_ready(config)

    def fetch(self, configs: Sequence[Config], done: Callable[[], object]) -> Fetch:
        return Fetch(self.made, knobs_of(configs[0]), done)


class Fetch:
    """A config that is being compiled, then tried, then loaded; used on the thread that learns."""

    def __init__(self, made: Made, knobs: Knobs, done: Callable[[], object]) -> None:
        self._made, self._knobs, self._done = made, knobs, done
        self._began = time.monotonic()
        self._left = [self._compile, self._try, self._load]
        self._pending: Pending[Any] | None = None
        self._failed = ""
        self._go_on()

    def taken(self) -> Fetched | Later | None:
        while self._pending is not None:
            answer = self._pending.poll()
            if answer is None:
                return None
            if isinstance(answer, Refused) and not self._is_made_here(answer):
                self._failed = answer.reason
                self._left = []
            self._go_on()
        took_s = time.monotonic() - self._began
        return Fetched(failed={self._knobs: self._failed} if self._failed else {}, took_s=took_s)

    def cancel(self) -> None:
        self._left = []
        if self._pending is not None:
            self._pending.cancel()

    def _go_on(self) -> None:
        """Begin with what is next, until something is under way or nothing is left."""
        self._pending = None
        while self._left and self._pending is None:
            try:
                self._pending = self._left.pop(0)()
            except VyreError as error:
                self._failed, self._left = error.problem, []
        if self._pending is None:
            self._done()

    def _compile(self) -> Pending[Any] | None:
        variants = self._made.variants
        if self._knobs in self._made.starts or variants.is_ready(self._knobs):
            return None
        job = variants.job(self._knobs)
        if job is None:
            return aside().submit(self._make, self._done)
        return compiling().submit(job, self._done)

    def _is_made_here(self, refused: Refused) -> bool:
        """Whether the process that compiles is no use, and so it is compiled on a thread."""
        return refused.by_helper and self._left == [self._try, self._load]

    def _try(self) -> Pending[Any] | None:
        admitted = self._made.admitted
        if admitted.trials is None or self._knobs in admitted:
            return None
        return admitted.trials.submit(admitted.default, self._knobs, self._done)

    def _load(self) -> Pending[Any] | None:
        self._made.admitted.passed.add(self._knobs)
        if self._knobs in self._made.starts:
            return None
        if self._made.variants.is_ready(self._knobs):
            self._make()
            return None
        return aside().submit(self._make, self._done)

    def _make(self) -> None:
        self._made.make(self._knobs)
