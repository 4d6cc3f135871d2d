"""A trial inside the process that may die of it: a config runs on copies, and so does the first."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np

from vyre.adapter.failure import Spoiled
from vyre.adapter.server import entry
from vyre.adapter.trial.differences import differ
from vyre.errors import InvalidInput
from vyre.model import Knobs, config_of

_QUICK_S = 5.0
"""Runs that took longer are not made once more: the time for all of them is limited."""

_AGAIN_S = 0.2
"""Runs that took less are made once more: a process takes three times as long to come up."""

Runs = Callable[[Mapping[str, Any], Sequence[Any]], Sequence[Any]]


def tried(given: Mapping[str, Any]) -> dict[str, Any]:
    """Run a config on copies, twice if that is quick, and say that it agrees with the first.

    Raises:
        InvalidInput: they do not.
        Spoiled: it raised something or gave something else, and after that the first no longer
            gives what it gave; or it gave something else when it ran again. Another process takes a
            second or more to come up, so it is asked for only then.
    """
    call = _call(given["folder"])
    first, config = (config_of(given[name]) for name in ("first", "config"))
    assert isinstance(first, Knobs)
    assert isinstance(config, Knobs)
    if first == config:
        call.run(config)
        return {}
    began_s = time.monotonic()
    if call.wanted is None or call.wanted[0] != first:
        call.wanted = first, call.run(first)
    wanted = call.wanted[1]

    def problem_of(written: Sequence[Any]) -> str | None:
        return differ(wanted, written, call.names, given["rtol"], given["atol"])

    raised: BaseException | None = None
    ran_s = time.monotonic()
    try:
        written = call.run(config)
    except Spoiled as error:
        if time.monotonic() - began_s >= _QUICK_S or not call.gives(first, problem_of):
            raise
        raised = error.__cause__
    if raised is not None:
        raise raised
    problem = problem_of(written)
    if problem is not None:
        raised = _differs(first, problem)
        if time.monotonic() - began_s < _QUICK_S and not call.gives(first, problem_of):
            raise Spoiled from raised
        raise raised
    del written  # which may be large
    if time.monotonic() - ran_s < _AGAIN_S:
        # What it has freed or spoilt that was not its own, it meets now; others might as well.
        problem = problem_of(call.run(config))
        if problem is not None:
            raise Spoiled from _differs(first, problem, " when it runs again")
    return {}


def _differs(first: Knobs, problem: str, when: str = "") -> InvalidInput:
    return InvalidInput(f"it differs from {first.text}{when}: {problem}", "mend the kernel")


@dataclass(slots=True)
class _Call:
    """The call of a folder, and what its first config wrote, once that is known."""

    runs: Runs
    folder: Path
    arguments: Sequence[Mapping[str, str]]
    names: tuple[str, ...]
    wanted: tuple[Knobs, Sequence[Any]] | None = field(default=None)

    def run(self, config: Knobs) -> list[Any]:
        """What a config writes, on copies of its own.

        Raises:
            Spoiled: it raised anything.
        """
        copies = [_load(self.folder, one) for one in self.arguments]
        try:
            return list(self.runs(dict(config.settings), copies))
        except BaseException as error:
            raise Spoiled from error

    def gives(self, first: Knobs, problem_of: Callable[[Sequence[Any]], str | None]) -> bool:
        """Whether a config still ends, and without a problem."""
        try:
            return problem_of(self.run(first)) is None
        except Spoiled:
            return False


_calls: dict[str, _Call] = {}
_MOST_CALLS = 8


def _call(folder: str) -> _Call:
    if folder not in _calls:
        while len(_calls) >= _MOST_CALLS:
            del _calls[next(iter(_calls))]
        whole = json.loads((Path(folder) / "call.json").read_text(encoding="utf-8"))
        runs = entry(whole["entry"])(whole["kernel"])
        names = tuple(whole["names"])
        _calls[folder] = _Call(runs, Path(folder), whole["arguments"], names)
    return _calls[folder]


def _load(folder: Path, described: Mapping[str, str]) -> Any:
    if "array" in described:
        return np.load(folder / described["array"], allow_pickle=False)
    return cloudpickle.loads((folder / described["value"]).read_bytes())
