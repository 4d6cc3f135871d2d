"""How calls are decided: by a mode and a policy, for the process or for a block of code."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Self

from vyre import settings
from vyre.errors import InvalidInput
from vyre.model import Mode
from vyre.policy.table import DEFAULT_POLICY, NAMES, policy_name

_lock = threading.RLock()
"""Held for a moment only, and taken again by a handler of a signal that comes in that moment."""


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """How calls are decided: a mode, whether a choice must be remembered, and a policy.

    There is one of each, told apart by identity: every call looks something up by its rule.
    """

    mode: Mode
    strict: bool
    policy: str
    watch: object = None  # whom calls are watched for, instead of being launched


_RULES = {key: Rule(*key) for key in product(Mode, (False, True), NAMES)}


@functools.cache
def current() -> settings.Settings:
    """The settings, read once: a call never reads the environment."""
    return settings.load()


_here: ContextVar[tuple[_Block, ...]] = ContextVar("vyre-blocks", default=())
_for_all: Rule | None = None  # of the process, once it is known
usual: Rule | None = None
"""The same where no block is open: what a call in a hurry looks at before it asks for the rule."""
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


def deciding() -> Rule:
    """The same for calls of what Vyre did not write, which nobody watches.

    While calls are watched nothing is measured: a kernel of Vyre's may run within, on the
    reference. Their rule is kept for no call, because there is one for each block.
    """
    now = rule()
    return now if now.watch is None else _RULES[Mode.OFF, now.strict, now.policy]


def _begin() -> Rule:
    global _for_all, usual  # a process has one of each
    while True:
        said = _said
        found = _fold(said)  # which may read a file, so that nobody is held up by it
        with _lock:  # or a block may be opened, or something said, in between
            if _said is said:
                _for_all = found
                usual = None if _open_blocks else found
                return found


Change = Callable[[Rule], Rule]


def _fold(said: tuple[Held, ...]) -> Rule:
    """What the settings ask for, and then all that was said since."""
    rule = _RULES[current().mode, False, current().policy]
    for held in said:
        rule = held.change(rule)
    return rule


@dataclass(slots=True, eq=False)
class _Block:
    """One `with` block; tasks that were started in it see it until it ends."""

    rule: Rule
    is_open: bool = True


class Held:
    """What `mode`, `freeze` and `policy` return: leave it be, or use it as a block, in `with`.

    Left alone it holds for the whole process. As a block it holds for the thread or task that
    entered it, and for tasks that are started there; other threads go on as before.
    """

    __slots__ = ("_blocks", "change", "of")

    def __init__(self, of: str, change: Change) -> None:
        """Change something `of` the rule."""
        self.of, self.change, self._blocks = of, change, list[_Block]()
        _say(lambda said: (*_latest(said, self.of), self))

    def __enter__(self) -> Self:
        global _open_blocks, usual  # of the process
        # It is a block, so it is not said for the process after all.
        _say(lambda said: tuple(one for one in said if one is not self))
        under = self._under()
        changed = self.change(under)
        if under.watch is not None and changed.watch is None:
            changed = replace(changed, watch=under.watch)  # whatever is decided, it is watched
        block = _Block(changed)
        with _lock:
            self._blocks.append(block)
            _open_blocks += 1
            usual = None
        _here.set((*_opened_here(), block))
        return self

    def _under(self) -> Rule:
        """The rule that this changes; what the environment says wrongly is none of a mode's."""
        try:
            return rule()
        except InvalidInput:
            if self.of != "mode":
                raise
            return _RULES[Mode.NATURAL_GRADIENT, False, DEFAULT_POLICY]

    def __exit__(self, *error: object) -> None:
        global _open_blocks, usual  # of the process
        here = _here.get()
        with _lock:
            # Left elsewhere than it was entered, as an asynchronous generator may be, it ends, too.
            mine = next((one for one in reversed(here) if one in self._blocks), self._blocks[-1])
            self._blocks.remove(mine)
            mine.is_open = False
            _open_blocks -= 1
            usual = None if _open_blocks else _for_all
        _here.set(_opened_here())


class Watching(Held):
    """A block in which calls are watched for somebody, and not launched.

    Its rule is nobody else's, so that no call finds what was kept of an earlier one.
    """

    __slots__ = ()

    def __init__(self, watch: object) -> None:
        self.of, self.change, self._blocks = "watch", partial(replace, watch=watch), []


def _latest(said: tuple[Held, ...], of: str) -> list[Held]:
    """What was said, without the earliest of what is never seen again."""
    same = [held for held in said if held.of == of][: 1 - _MOST_SAID]
    return [held for held in said if held not in same]


def _opened_here() -> tuple[_Block, ...]:
    return tuple(block for block in _here.get() if block.is_open)


def _say(change: Callable[[tuple[Held, ...]], tuple[Held, ...]]) -> None:
    """Change what is said for the process."""
    global _said, _for_all, usual  # a process has one of each
    with _lock:
        while True:
            said = _said
            changed = change(said)
            if _said is said:  # and no handler of a signal has said something in between
                _said = changed
                _for_all = usual = None  # and found out anew by the next call
                return


def mode(word: str | Mode) -> Held:
    """Decide calls by another mode from now on, in the whole process.

    Returns:
        Something to use in `with`: then it holds for that block, on that thread or task, alone.

    >>> with mode("off"):
    ...     rule().mode.value
    'off'
    """
    wanted = word if isinstance(word, Mode) else Mode.parse(word)
    return Held("mode", lambda rule: _RULES[wanted, False, rule.policy])


def freeze(missing: str = "default") -> Held:
    """Use remembered choices only, in the whole process: nothing is measured or written.

    Args:
        missing: what a call without a remembered choice gets: "default", or "error".

    Returns:
        Something to use in `with`: then it holds for that block, on that thread or task, alone.
    """
    if missing not in ("default", "error"):
        raise InvalidInput(f"missing={missing!r}", 'pass "default" or "error"')
    return Held("mode", lambda rule: _RULES[Mode.OFF, missing == "error", rule.policy])


def policy(word: str) -> Held:
    """Let calls that learn do so by another policy from now on, in the whole process.

    Args:
        word: "natural", the default; "seed" or "resize", those of the Rust crate; "sweep"; "fixed".

    Returns:
        Something to use in `with`: then it holds for that block, on that thread or task, alone.

    >>> with policy("sweep"):
    ...     rule().policy
    'sweep'
    """
    wanted = policy_name(word)
    return Held("policy", lambda rule: _RULES[rule.mode, rule.strict, wanted])


def _after_fork() -> None:
    global _lock
    _lock = threading.RLock()  # whoever held it was not copied


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
