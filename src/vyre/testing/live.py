"""A bench for learning from calls: a kernel on a device whose times come from a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import log2
from typing import Any

import numpy as np

import vyre
from vyre import In, Out, f32
from vyre.learn.decider import Decider
from vyre.learn.deciders import Deciders
from vyre.learn.recorder import Recorder
from vyre.learn.standing import Standing
from vyre.model import Code, Reason, Schedule
from vyre.runtime.compile.bundle import Bundle
from vyre.runtime.compile.helper import Ready
from vyre.runtime.compile.worker import Pending, Refused
from vyre.runtime.devices.device import Device
from vyre.store.memory import MemoryStore

LONGEST_S = 60  # until a desk has done what is due, on any machine
DEFAULT = Schedule((256, 1, 1), Code(checked=False))
WINNER = Schedule((128, 1, 1), Code(items=4, vector=4, checked=False, fitted=True))


def bowl(schedule: Schedule) -> float:
    """Nanoseconds, least at `WINNER`, and more the further away; of the default 2.2 times."""
    code = schedule.code
    away = abs(log2(schedule.workgroup[0] / 128)) + abs(log2(code.items / 4))
    away += abs(log2(code.vector / 4)) + (code.order != "strided") + (not code.fitted)
    return 1e6 * (1 + 0.2 * away)


@dataclass
class Helper:
    """A compile helper that answers at once, or when it is told to."""

    refuses: Mapping[Code, Refused] = field(default_factory=dict)
    answers: bool = True
    asked: list[Bundle] = field(default_factory=list)
    waiting: list[tuple[Bundle, Pending[Ready]]] = field(default_factory=list)

    def submit(self, bundle: Bundle, then: Callable[[], object] | None = None) -> Pending[Ready]:
        """Take a bundle, as a helper does."""
        pending = Pending[Ready](then)
        self.asked.append(bundle)
        self.waiting.append((bundle, pending))
        if self.answers:
            self.answer()
        return pending

    def answer(self) -> None:
        """Say of all that waits that it is ready, or refused."""
        for bundle, pending in self.waiting:
            ready = Ready((0,) * len(bundle.codes), 0.01)
            pending.settle(self.refuses.get(bundle.codes[0], ready))
        self.waiting = []


def settled(pending: Pending[Ready], answer: Ready | Refused) -> Pending[Ready]:
    """What was asked for, answered."""
    pending.settle(answer)
    return pending


def make_kernel() -> Any:
    """A kernel that no other call knows."""

    @vyre.kernel
    def twice(x: In[f32], out: Out[f32]) -> None:  # type: ignore[type-arg,valid-type]
        i = vyre.gid()
        out[i] = x[i] + x[i]  # type: ignore[index]

    return twice


@dataclass
class Bench:
    """A kernel on a device of its own, with a memory of its own."""

    device: Device
    helper: Helper
    store: MemoryStore
    deciders: Deciders
    recorder: Recorder
    kernel: Any = field(default_factory=make_kernel)

    def arrays(self, n: int) -> tuple[Any, Any]:
        """What the kernel takes."""
        return self.device.array(np.arange(n, dtype=np.float32)), self.device.zeros(n, np.float32)

    def call(
        self, times: int, n: int = 1 << 14, done: Callable[[Any], bool] = lambda _: False
    ) -> bool:
        """Call until `done`, at most so often; every result is checked."""
        x, out = self.arrays(n)
        expected = 2 * np.arange(n, dtype=np.float32)
        for _ in range(times):
            self.kernel(x, out=out)
            assert np.array_equal(out, expected)
            assert self.deciders.desk.drained(LONGEST_S)
            if done(self.standing(n)):
                return True
        return False

    def learner(self, n: int = 1 << 14) -> Decider | None:
        """What decides for so many elements."""
        found = [one for one in self.deciders.all() if one.workload.buckets[0] == n.bit_length()]
        return found[0] if found else None

    def standing(self, n: int = 1 << 14) -> Standing | None:
        """Where it stands."""
        found = self.learner(n)
        return found.standing if found else None


def adopted(schedule: Schedule) -> Callable[[Any], bool]:
    """Whether this was adopted, by a standing."""
    return lambda s: s.decision.reason is Reason.ADOPTED and s.decision.config == schedule
