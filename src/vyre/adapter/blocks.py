"""Sizes of a group of threads: how they are written, which are usual, which can run a launch."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from vyre.errors import InvalidInput
from vyre.model import Knobs
from vyre.plain import shown

Shape = tuple[int, ...]

AXES = ("x", "y", "z")
_WIDTHS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
_SQUARES = (
    *((8, 8), (16, 4), (16, 8), (16, 16), (32, 1), (32, 4), (32, 8), (32, 32), (64, 1), (64, 2)),
    *((64, 4), (128, 1), (128, 2), (256, 1), (512, 1), (1024, 1)),
)


def usual(axes: int) -> tuple[Shape, ...]:
    """The sizes that are tried where nobody names any.

    >>> usual(1)[:3], len(usual(2)), (8, 8, 4) in usual(3)
    (((16,), (32,), (64,)), 16, True)
    """
    if axes == 1:
        return tuple((n,) for n in _WIDTHS)
    if axes == 2:
        return _SQUARES
    cubes = (
        one for one in product((1, 2, 4, 8, 16, 32, 64), repeat=axes) if 32 <= prod(one) <= 512
    )
    return tuple(one for one in cubes if one == tuple(sorted(one, reverse=True)))


def shape_of(given: object, what: str, name: str) -> Shape:
    """A size along one to three axes, as it was given.

    Raises:
        InvalidInput: it is none.

    >>> shape_of(64, "a block", "f"), shape_of([8, 8], "a block", "f")
    ((64,), (8, 8))
    """
    listed = (given,) if isinstance(given, (int, np.integer)) else given
    if isinstance(listed, Iterable) and not isinstance(listed, (str, bytes)):
        sizes = _listed(listed)
        whole = all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in sizes)
        if whole and 1 <= len(sizes) <= len(AXES) and all(n >= 0 for n in sizes):
            return tuple(map(int, sizes))
    raise InvalidInput(
        f"{what} of {name} is {shown(given)}", "give one to three whole numbers of at least 0"
    )


def _listed(given: Iterable[Any]) -> tuple[Any, ...]:
    try:
        return tuple(given)
    except TypeError:  # an array without axes
        return ()


def stated(given: Any, option: str, what: str, name: str) -> tuple[Shape | None, ...]:
    """The sizes that an author names, by a list; a None among them stays one.

    Args:
        given: the list.
        option: what it was passed as.
        what: what one of them is called.
        name: whose they are.

    Raises:
        InvalidInput: it is no list of them.
    """
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise InvalidInput(f"{option}={shown(given)} of {name}", "give a list, such as (64, 128)")
    sizes = tuple(None if one is None else shape_of(one, what, name) for one in given)
    if not sizes or any(one is not None and 0 in one for one in sizes):
        raise InvalidInput(
            f"{option}={shown(given)} of {name}", "give at least one, of sizes of at least 1"
        )
    return sizes


def padded(size: Sequence[int], block: Sequence[int]) -> Shape:
    """The least size of whole groups that covers a size.

    >>> padded((100, 3), (32, 2))
    (128, 4)
    """
    return tuple(-(-n // m) * m for n, m in zip(size, block, strict=True))


def divides(block: Sequence[int], size: Sequence[int]) -> bool:
    """Whether a size is so many whole groups along each axis."""
    return not any(n % m for n, m in zip(size, block, strict=True))


def said(sizes: Iterable[int]) -> str:
    """A size, for people.

    >>> said((16, 4))
    '16x4'
    """
    return "x".join(map(str, sizes))


@functools.lru_cache(maxsize=1024)
def knobs_of(block: Shape, name: str) -> Knobs:
    """A size as a config.

    >>> knobs_of((16, 4), "local").text, knobs_of((64,), "block").text
    ('local_x=16, local_y=4', 'block=64')
    """
    if len(block) == 1:
        return Knobs.of({name: block[0]})
    return Knobs.of({f"{name}_{axis}": n for axis, n in zip(AXES, block, strict=False)})


def block_of(config: Knobs) -> Shape:
    """The size of a config; nothing where it sets none."""
    return tuple(one for _, one in config.settings if isinstance(one, int))


def sorted_out(
    first: Knobs, others: Iterable[tuple[Knobs, str, str | None]], none: str
) -> tuple[tuple[Knobs, ...], tuple[str, ...]]:
    """The configs that can run something, the first ahead; and what cannot, and why.

    Args:
        first: what it runs by default.
        others: what else may, each with its name for people, and why it cannot.
        none: what to say where no other can.
    """
    able, left_out = {first: None}, []
    for config, named, why_not in others:
        if why_not is None:
            able[config] = None
        else:
            left_out.append(f"{named}: {why_not}")
    if len(able) == 1:
        left_out.append(none)
    return tuple(able), tuple(left_out)


def alone(
    first: Knobs, why: str, option: str, sizes: str
) -> tuple[tuple[Knobs, ...], tuple[str, ...]]:
    """The same where results may depend on the size, and nobody named those that give the same.

    Args:
        first: what runs.
        why: what it is that may make them depend on it.
        option: what would name sizes.
        sizes: what they are called.
    """
    return (first,), (
        f"all other {sizes}: {why}, so what it gives may depend on them; "
        f"{option}= names those that give the same",
    )
