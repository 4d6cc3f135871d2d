"""`vyre.among(64, 128)`: workgroups that compute the same, as a kernel's author states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index

from vyre.errors import InvalidInput
from vyre.ir.declare import Dim3
from vyre.lang.params import MAX_RANK
from vyre.plain import shown

MOST_NAMED = 32
"""Workgroups that a kernel names at most: each is compiled on its own."""

Axes = tuple[int, ...]
"""A workgroup as it is written: axes in NumPy's order, a number being the last."""


@dataclass(frozen=True, slots=True)
class Among:
    """Workgroups to choose from; the first one is the default."""

    sizes: tuple[Axes, ...]


def among(*sizes: int | Sequence[int]) -> Among:
    """Workgroups for `@vyre.kernel(workgroup=...)` that compute the same, by its author's word.

    Which of them is fastest is learned; the first one that a device can launch is the default.

    Raises:
        InvalidInput: there is none, one of them is no workgroup, or one is there twice.
    """
    if not sizes:
        raise InvalidInput(
            "among() names no workgroup",
            "name those that compute the same, for example vyre.among(64, 128, 256)",
        )
    if len(sizes) > MOST_NAMED:
        raise InvalidInput(
            f"among() names {len(sizes)} workgroups; {MOST_NAMED} allowed",
            "name those that are worth a try",
        )
    found: dict[Dim3, Axes] = {}
    for size in sizes:
        axes = axes_of(size)
        if axes is None:
            raise InvalidInput(
                f"among() names {shown(size)}, which is not 1 to {MAX_RANK} whole numbers from 1",
                "name workgroups, for example vyre.among(64, 128) or vyre.among((8, 8), (16, 16))",
            )
        if dim3(axes) in found:
            raise InvalidInput(f"among() names {shown(size)} twice", "name each workgroup once")
        found[dim3(axes)] = axes
    return Among(tuple(found.values()))


def axes_of(size: object) -> Axes | None:
    """A workgroup as it is written, or None where that is none."""
    if isinstance(size, (str, bytes, Among)):
        return None
    try:
        given = tuple(size) if hasattr(size, "__iter__") else (size,)
        axes = tuple(0 if isinstance(axis, bool) else index(axis) for axis in given)
    except TypeError:
        return None
    return axes if 1 <= len(axes) <= MAX_RANK and min(axes) >= 1 else None


def dim3(axes: Axes) -> Dim3:
    """A workgroup in NumPy's order as the program counts: the fastest axis first."""
    x, y, z = (*reversed(axes), 1, 1)[:MAX_RANK]
    return (x, y, z)


def written(workgroup: Dim3) -> str:
    """A workgroup as its author writes it: axes in NumPy's order, as few as say it.

    >>> written((64, 1, 1)), written((8, 16, 1))
    ('64', '(16, 8)')
    """
    axes = list(reversed(workgroup))
    while len(axes) > 1 and axes[0] == 1:
        axes.pop(0)
    return str(axes[0]) if len(axes) == 1 else str(tuple(axes))
