"""Which schedules of a large space are recorded: an even draw, and those that a guess takes first.

What is drawn depends on a kernel's name and on the schedules, not on the size, so that the sizes of
a kernel ask for mostly the same codes to be compiled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b

from vyre.model import Code, Order, Schedule

MOST = 160
LEADERS = 40


def sampled(
    schedules: Sequence[Schedule],
    ordered: Sequence[Schedule],
    seed: str,
    most: int = MOST,
    leaders: int = LEADERS,
) -> list[Schedule]:
    """At most so many: the default, what a guess takes first, and an even draw of the rest.

    Args:
        schedules: all of a space, the default first.
        ordered: the same, the best guess first.
        seed: what the draw depends on, such as the kernel's name.
        most: schedules in all; 0 for every one.
        leaders: of those, the guess's first.
    """
    if not most or len(schedules) <= most:
        return list(schedules)
    drawn = dict.fromkeys([schedules[0], *ordered[: max(0, min(leaders, most - 1))]])
    for schedule in _evenly(schedules, seed):
        if len(drawn) >= most:
            break
        drawn[schedule] = None
    return list(drawn)


def _evenly(schedules: Iterable[Schedule], seed: str) -> Iterator[Schedule]:
    """One schedule of each kind in turn, drawn by lot within it."""
    kinds: dict[tuple[object, ...], list[Schedule]] = defaultdict(list)
    for schedule in schedules:
        kinds[_kind(schedule.code)].append(schedule)
    drawn = [sorted(some, key=lambda one: _lot(one, seed)) for _, some in sorted(kinds.items())]
    for turn in range(max(map(len, drawn), default=0)):
        yield from (some[turn] for some in drawn if turn < len(some))


def _kind(code: Code) -> tuple[object, ...]:
    """What a code does about its loads; its sizes are drawn."""
    return (
        code.depth > 0,
        code.loaders > 0,
        code.lines > 1,
        code.planes > 1,
        code.fitted,
        code.streamed,
        code.unroll > 1,
        code.vector > code.items,
        code.vector > 1,
        code.order is Order.BLOCKED,
        code.items > 1,
        code.lanes > 1,
    )


def _lot(schedule: Schedule, seed: str) -> bytes:
    said = f"{seed} {sorted(schedule.value().items())}"
    return blake2b(said.encode(), digest_size=8).digest()
