"""The deciders of a process: one per workload and policy, found by what calls have in common."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable

from vyre.learn.decider import Decider
from vyre.learn.desk import Desk
from vyre.learn.inheritance import Known
from vyre.model import Decision, Workload
from vyre.policy.table import DEFAULT_POLICY
from vyre.store.base import is_related

MOST = 256
"""Workloads that are learned at once; the one begun first makes room and keeps its choice."""

Key = tuple[Workload, str]


class Deciders:
    """Makes deciders and finds them again; any thread may use it."""

    def __init__(self, desk: Desk | None = None) -> None:
        """Decide on a desk of their own, or on one that is given."""
        self.desk = Desk() if desk is None else desk
        self._lock = threading.RLock()  # a call in a signal's handler may come here, too
        self._by_key: dict[Key, Decider] = {}
        # Their sites still launch as they say: prepared calls, and those of other kernel objects.
        self._ended: weakref.WeakValueDictionary[Key, Decider] = weakref.WeakValueDictionary()
        _all.add(self)

    def of(
        self, workload: Workload, make: Callable[[], Decider], policy: str = DEFAULT_POLICY
    ) -> Decider:
        """The decider of a workload, made when it is first asked for."""
        with self._lock:
            found = self._by_key.get((workload, policy))
            if found is None:
                while len(self._by_key) >= MOST:
                    first = self._by_key.pop(next(iter(self._by_key)))
                    first.stop(f"more than {MOST} workloads are being learned")
                found = self._by_key.setdefault((workload, policy), make())
        return found

    def find(self, workload: Workload, policy: str = DEFAULT_POLICY) -> Decider | None:
        """The decider of a workload, if there is one."""
        with self._lock:
            return self._by_key.get((workload, policy))

    def forget(self, workload: Workload) -> None:
        """End the deciders of a workload, because something else decides now."""
        with self._lock:
            keys = [key for key in self._by_key if key[0] == workload]
            found = [(key, self._by_key.pop(key)) for key in keys]
            for key, decider in found:
                self._ended[key] = decider
        for _, decider in found:
            decider.stop("it was tuned on purpose")

    def tuned(self, decision: Decision) -> None:
        """Let whoever still launches as a decider of this workload says launch this from now on."""
        self.forget(decision.workload)  # one may have begun while it was tuned
        with self._lock:
            keys = [key for key in tuple(self._ended) if key[0] == decision.workload]
            found = [self._ended.pop(key, None) for key in keys]
        for decider in found:
            if decider is not None:
                decider.take(decision)

    def neighbours(self, workload: Workload) -> list[Known]:
        """What is known of other sizes of a program, or of programs built like it."""
        known = []
        for decider in self.all():
            standing = decider.standing
            if standing.policy is not None and is_related(workload, decider.workload):
                known.append(Known(standing.decision, standing.policy.ratios()))
        return known

    def all(self) -> tuple[Decider, ...]:
        """Every decider, the oldest first."""
        with self._lock:
            return tuple(self._by_key.values())


_all: weakref.WeakSet[Deciders] = weakref.WeakSet()


def _after_fork() -> None:
    for deciders in tuple(_all):
        deciders._lock = threading.RLock()  # whoever held it was not copied


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
