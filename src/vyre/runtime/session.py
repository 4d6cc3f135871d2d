"""What this process shares: its settings and rules, its memory, its learners and helpers."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType

from vyre import settings
from vyre.errors import InvalidInput
from vyre.model import Mode
from vyre.runtime.device import Device
from vyre.runtime.helper import CompileHelper
from vyre.runtime.learners import Learners
from vyre.runtime.observe import Stats, counted
from vyre.runtime.recorder import Recorder, recorder_of
from vyre.runtime.site import Site

_lock = threading.Lock()
_helpers: dict[str, CompileHelper] = {}


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """How calls are decided: a mode, and whether a choice that is not remembered is an error.

    There is one of each, told apart by identity: every call looks something up by its rule.
    """

    mode: Mode
    strict: bool = False


_RULES = {(mode, strict): Rule(mode, strict) for mode in Mode for strict in (False, True)}


@functools.cache
def current() -> settings.Settings:
    """The settings, read once: a call never reads the environment."""
    return settings.load()


_here: ContextVar[Rule | None] = ContextVar("vyre-rule", default=None)
_for_all: Rule | None = None  # of the process, once it is known
_changed = 0  # how many `with` blocks are open: without any, a call need not look


def rule() -> Rule:
    """The rule that holds for a call made here and now."""
    if _changed:
        here = _here.get()
        if here is not None:
            return here
    return _for_all or _begin()


def _begin() -> Rule:
    global _for_all  # a process has one
    _for_all = _RULES[current().mode, False]
    return _for_all


@contextmanager
def mode(word: str | Mode) -> Iterator[None]:
    """Decide calls in this block, on this thread or task, by another mode.

    >>> with mode("off"):
    ...     rule().mode.value
    'off'
    """
    global _changed  # counts the open blocks of the process
    chosen = word if isinstance(word, Mode) else Mode.parse(word)
    token = _here.set(_RULES[chosen, False])
    with _lock:
        _changed += 1
    try:
        yield
    finally:
        _here.reset(token)
        with _lock:
            _changed -= 1


class Frozen:
    """What `freeze` returns: leave it be, or use it as a block that ends the freeze."""

    def __init__(self, before: Rule) -> None:
        self._before = before

    def __enter__(self) -> Frozen:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        global _for_all  # a process has one
        _for_all = self._before


def freeze(missing: str = "default") -> Frozen:
    """Use remembered choices only, in the whole process: nothing is measured or written.

    Args:
        missing: what a call without a remembered choice gets: "default", or "error".

    Returns:
        Something to use in `with`, for a freeze that ends.
    """
    global _for_all  # a process has one
    if missing not in ("default", "error"):
        raise InvalidInput(f"missing={missing!r}", 'pass "default" or "error"')
    before = _for_all or _begin()
    _for_all = _RULES[Mode.OFF, missing == "error"]
    return Frozen(before)


def recorder(writes: bool | None = None) -> Recorder:
    """Where decisions and measurements of this process go; under mode `off` nothing is written."""
    here = current()
    return recorder_of(here.cache_dir, writes=rule().mode.writes if writes is None else writes)


@functools.cache
def learners() -> Learners:
    """Those who learn in this process."""
    return Learners()


_sites: weakref.WeakSet[Site] = weakref.WeakSet()


def alone(site: Site) -> Site:
    """Count the calls of a site where nobody learns, as long as it is there."""
    with _lock:
        _sites.add(site)
    return site


def stats() -> Stats:
    """What learning has come to in this process."""
    with _lock:
        sites = tuple(_sites)
    return counted(learners().all(), sites)


def helper(device: Device) -> CompileHelper | None:
    """The process that compiles for a device; None where there is nothing to compile."""
    if device.info.backend == "reference":
        return None
    with _lock:
        known = _helpers.get(device.name)
        if known is None:
            known = _helpers[device.name] = CompileHelper(device)
        return known
