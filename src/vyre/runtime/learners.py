"""The learners of a process: one per workload, found by what calls have in common."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Mapping

from vyre.model import Decision, Workload
from vyre.runtime.call.launcher import Launcher, Numbers
from vyre.runtime.compile.helper import CompileHelper
from vyre.runtime.desk import Desk
from vyre.runtime.inheritance import Known
from vyre.runtime.learner import Learner
from vyre.runtime.recorder import Recorder
from vyre.store.base import is_related

MOST = 256
"""Workloads that are learned at once; the one begun first makes room and keeps its choice."""


class Learners:
    """Makes learners and finds them again; any thread may use it."""

    def __init__(self) -> None:
        self.desk = Desk()
        self._begin()
        _all.add(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._by_workload: dict[Workload, Learner] = {}
        # Their sites still launch as they say: prepared calls, and those of other kernel objects.
        self._ended: weakref.WeakValueDictionary[Workload, Learner] = weakref.WeakValueDictionary()

    def of(
        self,
        launcher: Launcher,
        numbers: Numbers,
        alignment: Mapping[str, int],
        recorder: Recorder,
        helper: CompileHelper,
        workload: Workload,
        known: Decision | None,
    ) -> Learner:
        """The learner of a workload, made when it is first asked for."""
        with self._lock:
            found = self._by_workload.get(workload)
            if found is None:
                while len(self._by_workload) >= MOST:
                    first = self._by_workload.pop(next(iter(self._by_workload)))
                    first.stop(f"more than {MOST} workloads are being learned")
                found = self._by_workload[workload] = Learner(
                    self.desk,
                    launcher,
                    numbers,
                    alignment,
                    recorder,
                    helper,
                    workload=workload,
                    known=known,
                    neighbours=self.neighbours,
                )
        return found

    def forget(self, workload: Workload) -> None:
        """End a workload's learner, because something else decides now."""
        with self._lock:
            found = self._by_workload.pop(workload, None)
            if found is not None:
                self._ended[workload] = found
        if found is not None:
            found.stop("it was tuned on purpose")

    def tuned(self, decision: Decision) -> None:
        """Let whoever still launches as a learner of this workload says launch this from now on."""
        self.forget(decision.workload)  # one may have begun while it was tuned
        with self._lock:
            found = self._ended.pop(decision.workload, None)
        if found is not None:
            found.take(decision)

    def neighbours(self, workload: Workload) -> list[Known]:
        """What is known of other sizes of a program, or of programs built like it."""
        known = []
        for learner in self.all():
            standing = learner.standing
            if standing.policy is not None and is_related(workload, learner.workload):
                rows = [row for row in standing.policy.table() if row.timings > 1]
                known.append(Known(standing.decision, {row.config: row.ratio for row in rows}))
        return known

    def all(self) -> tuple[Learner, ...]:
        """Every learner, the oldest first."""
        with self._lock:
            return tuple(self._by_workload.values())


_all: weakref.WeakSet[Learners] = weakref.WeakSet()


def _after_fork() -> None:
    for learners in tuple(_all):
        learners._begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
