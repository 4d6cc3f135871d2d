"""The configs that an author names: a choice for each parameter, or a list of whole configs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice, product
from math import prod
from typing import Any

import numpy as np

from vyre.errors import InvalidInput
from vyre.model import Knobs
from vyre.plain import shown

MOST_CONFIGS = 100_000


def configs_of(space: object, what: str) -> tuple[Knobs, ...]:
    """The configs of a space, the default first: the first of each choice, or of the list.

    Args:
        space: `{"block": (64, 128), "unroll": (1, 4)}`, or a list of `{"block": 64, "unroll": 1}`.
        what: whose they are, for people.

    Raises:
        InvalidInput: it names none, one twice, or something that cannot be kept.

    >>> [one.text for one in configs_of({"block": (64, 128)}, "f")]
    ['block=64', 'block=128']
    """
    if isinstance(space, Mapping):
        found = _combined(space, what)
    elif isinstance(space, Iterable) and not isinstance(space, (str, bytes)):
        found = tuple(one if isinstance(one, Knobs) else _knobs(one, what) for one in space)
    else:
        raise InvalidInput(
            f"a space of {what} that is {shown(space)}",
            'give choices by name, such as {"block": (64, 128)}, or a list of configs',
        )
    if not found:
        raise InvalidInput(f"a space of {what} without a config", "name at least one")
    names = [name for name, _ in found[0].settings]
    seen: dict[Knobs, None] = {}
    for one in found:
        if sorted(name for name, _ in one.settings) != sorted(names):
            raise InvalidInput(
                f"configs of {what} that differ in their names: {found[0].text}, and {one.text}",
                "give every config all names",
            )
        ordered = Knobs(tuple((name, one[name]) for name in names))
        if ordered in seen:
            raise InvalidInput(
                f"a space of {what} that holds {ordered.text} twice", "give each config once"
            )
        seen[ordered] = None
    return tuple(seen)


def choices_of(space: Mapping[Any, Any], what: str) -> dict[Any, tuple[Any, ...]]:
    """The choices of each parameter, as plain values; there may be no parameter.

    Raises:
        InvalidInput: one has none, or something that is no list of them.
    """
    choices: dict[Any, tuple[Any, ...]] = {}
    for name, values in space.items():
        if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
            raise InvalidInput(
                f"{shown(name)} of {what} may be {shown(values)}, which is no list of choices",
                f"give a list, such as {{{name!r}: [{values!r}]}}",
            )
        several = tuple(islice(values, MOST_CONFIGS + 1))  # there may be no end to them
        if len(several) > MOST_CONFIGS:
            raise InvalidInput(
                f"{shown(name)} of {what} has more than {MOST_CONFIGS:,} choices",
                "name those that may win",
            )
        choices[name] = tuple(one.item() if isinstance(one, np.generic) else one for one in several)
        if not choices[name]:
            raise InvalidInput(f"{shown(name)} of {what} without a choice", "give at least one")
    return choices


def _combined(space: Mapping[Any, Any], what: str) -> tuple[Knobs, ...]:
    if not space:
        return ()
    choices = choices_of(space, what)
    count = prod(map(len, choices.values()))
    if count > MOST_CONFIGS:
        raise InvalidInput(
            f"a space of {what} of {count:,} configs",
            f"name at most {MOST_CONFIGS:,}, such as a list of those that may win",
        )
    rows = product(*choices.values())
    return tuple(_knobs(dict(zip(choices, row, strict=True)), what) for row in rows)


def _knobs(settings: object, what: str) -> Knobs:
    if not isinstance(settings, Mapping):
        raise InvalidInput(
            f"a config of {what} that is {shown(settings)}", 'give one by name: {"block": 64}'
        )
    return Knobs.of(settings)
