"""What of an argument tells launches apart: it is asked for at every call, so it is quick."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from vyre.adapter.kept import make_room
from vyre.adapter.written import written

Look = Callable[[Any], Hashable]
Kinds = tuple[type, ...]
Key = tuple[Hashable, ...]

NOT_SEEN = (KeyError, TypeError, ValueError, AttributeError)
"""What `latest` raises, or a lookup by what it gives, where arguments are not as they were."""

Latest = tuple[Key | None, Any, Any, Any]
"""Of the latest call: what told it apart; its entry; the start that was chosen there; and what that
calls for calls like it. A call that compares itself with it asks nothing else of what it knows,
which saves 0.3 us of the host, and 0.7 us where the caches are cold (stand-ins, Python 3.11)."""

NO_LATEST: Latest = (None, None, None, None)

_MOST_KINDS = 256
"""Of which the way to look is kept; a stream of ever-new types forgets the oldest."""


@dataclass(frozen=True, slots=True)
class Arrays:
    """How a library's arrays of one type are looked at.

    Args:
        exact: the attributes that, with the type, say no less than `look`; none where it is asked.
        look: what launches that share a choice have in common.
    """

    look: Look
    exact: tuple[str, ...] = ()


class Looks:
    """By the types of a call's arguments, what of them tells launches apart.

    A whole number may say how often a loop goes round, so it counts by its doublings; others by
    their types, unless somebody says how to look at one.

    >>> looks = Looks()
    >>> looks.at([1000]) == looks.at([1023]), looks.at([1000]) == looks.at([1024])
    (True, False)
    """

    __slots__ = ("_arrays", "_exact", "_looks", "_numbers", "latest")

    def __init__(self, arrays: Callable[[type], Arrays | None] = lambda _: None) -> None:
        """Look at arrays as a library's adapter says; it has nothing to say of what is none."""
        self._arrays = arrays
        self._exact: dict[Kinds, Callable[[Sequence[Any]], Key]] = {}
        self._looks: dict[type, Look] = {}
        self._numbers = count()
        # What `exactly` did the last time: of arguments of other types it raises, asking nothing.
        self.latest: Callable[[Sequence[Any]], Key] = self.exactly

    def exactly(self, args: Sequence[Any]) -> Key:
        """What tells calls apart, with sizes of arrays as they are."""
        kinds = tuple(map(type, args))
        read = self._exact.get(kinds)
        if read is None:
            make_room(self._exact, _MOST_KINDS)
            read = self._exact[kinds] = self._reading(kinds)
        self.latest = read
        return read(args)

    def at(self, args: Sequence[Any]) -> Key:
        """What calls have in common that share a choice."""
        return tuple(self._look(type(one))(one) for one in args)

    def _reading(self, kinds: Kinds) -> Callable[[Sequence[Any]], Key]:
        """`exactly` for arguments of these types, as one function.

        Called for each of four arguments, functions would take 0.6 us; what is written out here
        takes 0.25.
        """
        names = [f"a{n}" for n in range(len(kinds))]
        within: dict[str, Any] = {f"kind_{n}": kind for n, kind in enumerate(kinds)}
        others = [f"type({name}) is not kind_{n}" for n, name in enumerate(names)]
        # The number, so that no other one gives the same.
        parts = [str(next(self._numbers))]
        for name, kind in zip(names, kinds, strict=True):
            parts += self._parts(name, kind, within)
        lines = (
            "def read(args):",
            f"    [{', '.join(names)}] = args",
            f"    if {' or '.join(others) or False}: raise KeyError",
            f"    return ({', '.join(parts)},)",
        )
        made: Callable[[Sequence[Any]], Key] = written(lines, within)
        return made

    def _parts(self, name: str, kind: type, within: dict[str, Any]) -> list[str]:
        """What is asked of an argument of a type, in the words of `_reading`."""
        arrays = self._arrays(kind)
        if arrays is not None and arrays.exact:
            return [f"{name}.{one}" for one in arrays.exact]
        if arrays is not None or kind is tuple:
            within[f"look_{name}"] = self._look(kind)
            return [f"look_{name}({name})"]
        if kind is int:
            return [f"{name}.bit_length()"]
        if kind is bool:
            return [name]
        return [f"int({name}).bit_length()"] if _is_whole(kind) else []

    def _look(self, kind: type) -> Look:
        look = self._looks.get(kind)
        if look is None:
            make_room(self._looks, _MOST_KINDS)
            arrays = self._arrays(kind)
            look = self._looks[kind] = self._plain(kind) if arrays is None else arrays.look
        return look

    def _plain(self, kind: type) -> Look:
        name = f"{kind.__module__}.{kind.__qualname__}"
        if kind is int:
            return lambda n: (kind, n.bit_length())
        if kind is bool:
            return lambda n: (kind, n)
        if _is_whole(kind):
            return lambda n: (kind, int(n).bit_length())
        if kind is tuple:
            return lambda held: (kind, *self.at(held))
        return lambda _: name


def _is_whole(kind: type) -> bool:
    return issubclass(kind, np.integer) and not issubclass(kind, np.timedelta64)
