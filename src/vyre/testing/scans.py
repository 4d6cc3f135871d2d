"""What prefix sums are, written down directly: the model that `vyre.kernels.cumsum` is held to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

GROUP, BLOCK = 32, 1024


def cumsum_by_rule(x: NDArray[Any], axis: int = -1, *, exclusive: bool = False) -> NDArray[Any]:
    """The sums along an axis, element after element as the rule says."""
    lines = np.moveaxis(x, axis, -1)
    out = np.empty(lines.shape, x.dtype)
    for place in np.ndindex(lines.shape[:-1]):
        sums = _line(list(lines[place]))
        if exclusive:
            sums = [x.dtype.type(0), *sums][: len(sums)]
        out[place] = np.array(sums, x.dtype)
    return np.moveaxis(out, -1, axis)


def _line(elements: list[Any]) -> list[Any]:
    """The sums of one line."""
    blocks = [_block(elements[at : at + BLOCK]) for at in range(0, len(elements), BLOCK)]
    if len(blocks) > 1:
        before = _line([block[-1] for block in blocks])
        for number in range(1, len(blocks)):
            blocks[number] = [_add(before[number - 1], one) for one in blocks[number]]
    return [one for block in blocks for one in block]


def _block(elements: list[Any]) -> list[Any]:
    found: list[Any] = []
    before = None
    for at in range(0, len(elements), GROUP):
        group = _in_order(elements[at : at + GROUP])
        found += group if before is None else [_add(before, one) for one in group]
        before = group[-1] if before is None else _add(before, group[-1])
    return found


def _in_order(elements: list[Any]) -> list[Any]:
    sums = elements[:1]
    for one in elements[1:]:
        sums.append(_add(sums[-1], one))
    return sums


def _add(a: Any, b: Any) -> Any:
    with np.errstate(all="ignore"):
        return a + b
