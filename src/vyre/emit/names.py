"""C names for what a program names: a space of their own, where they meet neither ours nor C's.

A name begins with its kind, a word that no name of ours and no macro of a compiler begins with
before an underscore. So `value` is `v_value`, and item 2's `value` is `v2_value`, whatever a
compiler, a header or this emitter calls `value`, and whatever else the program names.
"""

from __future__ import annotations

import re
from enum import StrEnum

LONGEST = 48
"""Letters of an author's name that are kept: enough to know it again."""


class Kind(StrEnum):
    """What a name is of; an item's number comes behind it."""

    ARGUMENT = "p"  # an array, a scalar, workgroup memory
    VARIABLE = "v"
    END = "end"  # of a counted loop
    ROW = "row"  # neighbours of an array, loaded at once
    FROM = "from"  # where a row of an array begins for an invocation
    NEAR = "near"  # a workgroup's own part of an array
    AHEAD = "ahead"  # what of an array is under way there
    NOW = "now"  # the half of it that is read
    BASE = "base"  # where a lane's own begin in it
    LENGTH = "len"
    DIM = "dim"
    TABLE = "table"


class Names:
    """The C names of one source, each given once."""

    def __init__(self) -> None:
        self._given: dict[tuple[Kind, int | None, str], str] = {}
        self._taken: set[str] = set()

    def of(self, kind: Kind, name: str, number: int | None = None) -> str:
        """The C name of what the program calls `name`.

        >>> names = Names()
        >>> names.of(Kind.VARIABLE, "value"), names.of(Kind.VARIABLE, "value", 2)
        ('v_value', 'v2_value')
        >>> names.of(Kind.ARGUMENT, "naïve"), names.of(Kind.ARGUMENT, "na_ve")
        ('p_na_ve', 'p_na_ve_2')
        """
        wanted = kind, number, name
        if wanted not in self._given:
            self._given[wanted] = self.fresh(kind, name, number)
        return self._given[wanted]

    def fresh(self, kind: Kind, name: str, number: int | None = None) -> str:
        """A C name like that, which nothing has yet."""
        stem = re.sub(r"[^a-zA-Z0-9_]", "_", name[:LONGEST])
        first = found = f"{kind}{'' if number is None else number}_{stem}"
        count = 1
        while found in self._taken:
            count += 1
            found = f"{first}_{count}"
        self._taken.add(found)
        return found
