"""What is kept by a key, up to a number of them."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
T = TypeVar("T")


def keep(kept: dict[K, T], key: K, value: T, most: int) -> T:
    """The value, kept by its key; a stream of ever-new keys starts anew at `most`.

    >>> kept = {1: "one", 2: "two"}
    >>> keep(kept, 3, "three", most=2), kept
    ('three', {3: 'three'})
    """
    if len(kept) >= most:
        kept.clear()
    kept[key] = value
    return value
