"""The one order in which the elements of a reduction come together, whoever computes it.

Element j is that of round j. Rounds 1024·m to 1024·m + 1023 are block m. In a block, lane l of 32
folds its elements (j modulo 32 = l) in order, beginning with its first; then, for h = 16,
8, 4, 2 and 1, lane l < h takes what it has with what lane l + h has. A round without an element, a
lane without any and a block without any are absent, and absent with x is x. Where there are several
blocks, what they come to, in order and absent ones in place, are the elements of the next fold.
"""

from __future__ import annotations

LANES = 32
"""Lanes of a block."""

BLOCK = 1024
"""Rounds of a block."""

HALVES = (16, 8, 4, 2, 1)
"""How far apart the lanes are that come together, step by step."""


def levels(rounds: int) -> int:
    """How often blocks are folded until one is left: of no rounds, and of one block, once.

    >>> levels(1024), levels(1025), levels(2**32 - 1)
    (1, 2, 4)
    """
    count = 1
    while rounds > BLOCK:
        rounds, count = -(-rounds // BLOCK), count + 1
    return count
