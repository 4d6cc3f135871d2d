"""What this process shares: its settings and rules, its memory, its learners and helpers."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Self

from vyre import settings
from vyre.errors import InvalidInput
from vyre.model import Decision, Mode, Workload
from vyre.runtime.call.observe import Stats, counted
from vyre.runtime.compile.helper import CompileHelper
from vyre.runtime.devices.device import Device
from vyre.runtime.learners import Learners
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


_here: ContextVar[tuple[_Block, ...]] = ContextVar("vyre-blocks", default=())
_for_all: Rule | None = None  # of the process, once it is known
_said: tuple[Held, ...] = ()  # what was said for the process, the latest last
_open_blocks = 0  # of all threads together: without any, a call need not look
_MOST_SAID = 64  # of which are kept; what lies below is never seen again


def rule() -> Rule:
    """The rule that holds for a call made here and now."""
    if _open_blocks:
        for block in reversed(_here.get()):
            if block.is_open:
                return block.rule
    return _for_all or _begin()


def _begin() -> Rule:
    global _for_all  # a process has one
    _for_all = _RULES[current().mode, False]
    return _for_all


@dataclass(slots=True, eq=False)
class _Block:
    """One `with` block; tasks that were started in it see it until it ends."""

    rule: Rule
    is_open: bool = True


class Held:
    """What `mode` and `freeze` return: leave it be, or use it in `with`, for a block that ends.

    Left alone it holds for the whole process. As a block it holds for the thread or task that
    entered it, and for tasks that are started there; other threads go on as before.
    """

    __slots__ = ("_blocks", "_rule")

    def __init__(self, rule: Rule) -> None:
        self._rule, self._blocks = rule, list[_Block]()
        _say(lambda said: (*said[1 - _MOST_SAID :], self))

    def __enter__(self) -> Self:
        global _open_blocks  # counts those of the process
        block = _Block(self._rule)
        with _lock:
            self._blocks.append(block)
            _open_blocks += 1
        _here.set((*_opened_here(), block))
        # It is a block, so it is not said for the process after all.
        _say(lambda said: tuple(one for one in said if one is not self))
        return self

    def __exit__(self, *error: object) -> None:
        global _open_blocks  # counts those of the process
        here = _here.get()
        with _lock:
            # Left elsewhere than it was entered, as an asynchronous generator may be, it ends, too.
            mine = next((one for one in reversed(here) if one in self._blocks), self._blocks[-1])
            self._blocks.remove(mine)
            mine.is_open = False
            _open_blocks -= 1
        _here.set(_opened_here())


def _opened_here() -> tuple[_Block, ...]:
    return tuple(block for block in _here.get() if block.is_open)


def _say(change: Callable[[tuple[Held, ...]], tuple[Held, ...]]) -> None:
    """Change what is said for the process."""
    global _said, _for_all  # a process has one of each
    with _lock:
        _said = change(_said)
        _for_all = _said[-1]._rule if _said else None


def mode(word: str | Mode) -> Held:
    """Decide calls by another mode from now on, in the whole process.

    Returns:
        Something to use in `with`: then it holds for that block, on that thread or task, alone.

    >>> with mode("off"):
    ...     rule().mode.value
    'off'
    """
    return Held(_RULES[word if isinstance(word, Mode) else Mode.parse(word), False])


def freeze(missing: str = "default") -> Held:
    """Use remembered choices only, in the whole process: nothing is measured or written.

    Args:
        missing: what a call without a remembered choice gets: "default", or "error".

    Returns:
        Something to use in `with`: then it holds for that block, on that thread or task, alone.
    """
    if missing not in ("default", "error"):
        raise InvalidInput(f"missing={missing!r}", 'pass "default" or "error"')
    return Held(_RULES[Mode.OFF, missing == "error"])


def recorder() -> Recorder:
    """The one memory of this process, whatever the mode: calls say whether they write."""
    return recorder_of(current().cache_dir)


_undecided: dict[Workload, Decision] = {}


def swept(workload: Workload, sweep: Callable[[], Decision]) -> Decision:
    """What a sweep finds for a workload, which it looks at once in a process.

    One that decided nothing is not remembered, and yet a call must not wait for it again.
    """
    found = _undecided.get(workload)
    if found is None:
        if len(_undecided) >= _MOST_UNDECIDED:
            _undecided.clear()
        found = _undecided[workload] = sweep()
    return found


_MOST_UNDECIDED = 4096


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
    if not device.backend.compiles:
        return None
    with _lock:
        known = _helpers.get(device.name)
        if known is None:
            known = _helpers[device.name] = CompileHelper(device)
        return known
