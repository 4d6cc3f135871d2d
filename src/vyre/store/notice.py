"""Says once what a user should know of the store and need not act on."""

from __future__ import annotations

import logging
from functools import lru_cache

from vyre.errors import VyreError

_log = logging.getLogger("vyre.store")


def say_once(error: VyreError, consequence: str) -> None:
    """Log an error that work goes on after, the first time it happens in this process."""
    _say(f"{error.problem}; {consequence}\nFix: {error.fix}")


@lru_cache(maxsize=256)
def _say(text: str) -> None:
    _log.warning(text)


def forget_said() -> None:
    """Let everything be said once more, as in a new process."""
    _say.cache_clear()
