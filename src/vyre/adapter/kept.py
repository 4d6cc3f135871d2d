"""What calls keep by their keys, up to a number of them."""

from __future__ import annotations

from typing import Any


def make_room(kept: dict[Any, Any], most: int) -> None:
    """Forget the oldest of so many, for one more; other threads may be doing so, too.

    >>> kept = {1: "one", 2: "two", 3: "three"}
    >>> make_room(kept, 3)
    >>> kept
    {2: 'two', 3: 'three'}
    """
    for oldest in tuple(kept)[: max(len(kept) - most + 1, 0)]:
        kept.pop(oldest, None)
