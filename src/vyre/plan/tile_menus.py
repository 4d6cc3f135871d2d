"""Schedules that are worth trying on a GPU beside rows of items, by what a program does.

Each is a workgroup with a code, because the two belong together here: how many lines a thread
takes, how deep a loop is staged, what a workgroup's memory holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vyre.model import Code, Dim3, Schedule

Schedules = tuple[Schedule, ...]

ROWS: tuple[Dim3, ...] = ((64, 1, 1), (128, 1, 1), (256, 1, 1), (512, 1, 1), (1024, 1, 1))
TALL: tuple[Dim3, ...] = (
    *((32, 4, 1), (32, 8, 1), (64, 2, 1), (64, 4, 1)),
    *((128, 1, 1), (128, 2, 1), (256, 1, 1)),
)


def code_of(items: int = 1, vector: int = 1, lines: int = 1, **more: int) -> Code:
    """A code without checks."""
    return Code(items=items, vector=vector, lines=lines, checked=False, **more)  # type: ignore[arg-type]


def of(shapes: Iterable[Dim3], *codes: Code) -> Schedules:
    """Each code in each workgroup."""
    return tuple(Schedule(shape, code) for code in codes for shape in shapes)


def with_parts(schedules: Iterable[Schedule], **parts: Any) -> Schedules:
    """The same, but for some parts."""
    return tuple(Schedule(s.workgroup, Code(**{**s.code.parts(), **parts})) for s in schedules)


def fitted(schedules: Iterable[Schedule]) -> Schedules:
    """The same, for their workgroups and whole tiles alone."""
    return with_parts(schedules, fitted=True)


def both(schedules: Schedules) -> Schedules:
    """Schedules, and the same fitted."""
    return (*schedules, *fitted(schedules))


SMALL = fitted(of(ROWS, code_of(), code_of(2, 2), code_of(4, 2), code_of(4, 4), code_of(8, 4)))
SMALL_TALL = fitted(of(TALL, code_of(), code_of(2, 2), code_of(4, 4)))
LINES = (
    *of(TALL, *(code_of(items, items, lines) for lines in (2, 4) for items in (1, 2, 4))),
    *fitted(of(TALL, code_of(4, 4), code_of(4, 4, 2), code_of(4, 4, 4))),
    *fitted(of([(32, 4, 1), (32, 8, 1), (64, 4, 1)], code_of(4, 4, 8))),
    *fitted(of([(32, 4, 1), (32, 8, 1), (64, 4, 1)], code_of(2, 2, 2), code_of(2, 2, 4))),
)
PLANES = (
    *of(TALL, *(code_of(items, items, planes=2) for items in (1, 4))),
    *of(TALL, *(code_of(items, items, 2, planes=2) for items in (1, 4))),
    *fitted(of(TALL, code_of(4, 4, planes=2), code_of(4, 4, 2), code_of(4, 4, 2, planes=2))),
)
PRODUCTS = both(
    (
        *of([(16, 16, 1)], *(code_of(8, 4, 8, depth=d, unroll=u) for d in (8, 16) for u in (1, 2))),
        *of([(32, 8, 1)], *(code_of(4, 4, 16, depth=16, unroll=u) for u in (1, 2))),
        *of([(8, 16, 1), (16, 8, 1)], code_of(8, 4, 8, depth=16)),
        *of([(16, 16, 1)], *(code_of(4, 4, lines, depth=16) for lines in (2, 4, 8))),
        *of([(16, 8, 1), (16, 16, 1)], code_of(2, 2, 2, depth=32), code_of(1, 1, depth=32)),
        *of([(16, 16, 1)], code_of(4, 1, 4, depth=16), code_of(8, 1, 8, depth=8)),
    )
)
COMMON = (
    *of([(32, 1, 1)], code_of(depth=64), code_of(2, depth=64)),
    *of(
        [(32, 1, 1), (64, 1, 1), (128, 1, 1), (256, 1, 1)],
        *(code_of(items, depth=256, unroll=unroll) for items in (1, 2) for unroll in (1, 32)),
    ),
)
# Lanes of a warp, of which some add up, and so many more that whole rows come in each turn.
WALKS = both(
    (
        *of([(8, 1, 1)], *(code_of(1, v, depth=d, loaders=35) for v in (1, 4) for d in (256, 512))),
        *of([(16, 1, 1)], *(code_of(1, 4, depth=256, loaders=loaders) for loaders in (17, 33))),
        *of([(16, 1, 1)], code_of(depth=256, loaders=17)),
        *of([(32, 1, 1)], *(code_of(1, v, depth=128, loaders=16) for v in (1, 4))),
        *of([(32, 1, 1)], code_of(depth=128, loaders=8), code_of(depth=32)),
        *of([(64, 1, 1)], code_of(depth=32)),
        *of([(128, 1, 1)], code_of(depth=16)),
    )
)
TURNED = both(
    (
        *of([(32, 8, 1), (32, 16, 1)], code_of(lines=4, depth=1)),
        *of([(32, 4, 1), (32, 8, 1), (64, 4, 1), (64, 8, 1)], code_of(lines=8, depth=1)),
    )
)
TURNED_BYTES = both(
    (
        *of([(16, 8, 1), (16, 16, 1)], code_of(4, 4, 4, depth=1)),
        *of([(16, 16, 1)], code_of(4, 4, 2, depth=1)),
        *of([(32, 4, 1), (32, 8, 1)], code_of(lines=8, depth=1)),
    )
)
STREAMED_ROWS = with_parts(
    (
        *of(ROWS[1:], *(code_of(*each) for each in ((2, 2), (4, 2), (4, 4), (8, 4), (8, 8)))),
        *of(ROWS[1:], code_of(16, 16)),
        *fitted(of(ROWS[1:4], code_of(4, 4), code_of(8, 4))),
    ),
    streamed=True,
)
STREAMED_LINES = with_parts(
    of([(32, 8, 1), (64, 4, 1), (128, 2, 1)], *(code_of(4, 4, lines) for lines in (2, 4, 8))),
    fitted=True,
    streamed=True,
)
STREAMED_TURNED = with_parts(
    of([(32, 4, 1), (32, 8, 1), (64, 4, 1)], code_of(lines=8, depth=1)), fitted=True, streamed=True
)

LONG = 64
"""Rounds of a loop that a compiler does not write out by itself."""


def long_loops(most: int, shapes: Iterable[Dim3]) -> Schedules:
    """Codes that write out more of a loop of so many rounds."""
    sizes = (unroll for unroll in (LONG, 4 * LONG) if unroll <= most)
    each = (code_of(items, items, unroll=size) for size in sizes for items in (1, 2, 4))
    return both(of(tuple(shapes), *each))


def counted_loops(shapes: Iterable[Dim3]) -> Schedules:
    """Codes for loops that only a launch knows the rounds of: more of their loads are under way."""
    each = (code_of(items, items, unroll=unroll) for unroll in (8, 32) for items in (1, 2))
    return both(of(tuple(shapes), *each))


def parting_loops(shapes: Iterable[Dim3]) -> Schedules:
    """Codes for loops that every invocation leaves on its own."""
    return both(of(tuple(shapes), code_of(unroll=8), code_of(2, unroll=8)))
