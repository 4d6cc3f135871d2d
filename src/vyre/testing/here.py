"""Work for other processes, done in this one: what tests watch, and what has no time to start."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from vyre.adapter import calls, made
from vyre.adapter.kind import Job
from vyre.adapter.server import answer
from vyre.runtime.compile.worker import Pending, Refused


@dataclass
class Here:
    """A worker for jobs that does each when it is handed in."""

    jobs: list[Job] = field(default_factory=list)

    def submit(self, job: Job, then: Callable[[], object] | None = None) -> Pending[Any]:
        self.jobs.append(job)
        pending: Pending[Any] = Pending(then)
        said = answer({"entry": job.entry, "given": job.given})
        pending.settle(said["done"] if said["ok"] else Refused(said["reason"]))
        return pending


@contextmanager
def compiled_here() -> Iterator[Here]:
    """Let configs be compiled in this process, at once."""
    here = Here()
    with (
        mock.patch.object(made, "compiling", return_value=here),
        mock.patch.object(calls, "compiling", return_value=here),
    ):
        yield here
