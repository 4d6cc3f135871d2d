"""Whether two buffers may be one array: each invocation stays with the same element of both."""

from __future__ import annotations

from functools import lru_cache

from vyre.analysis.forms import ONE, Gid, Unknown
from vyre.analysis.reader import ATOMIC, Touch, read
from vyre.ir.program import Program


@lru_cache(maxsize=1024)
def may_share(program: Program, rank: int, read_from: str, written: str) -> bool:
    """Whether one array can serve both as input and as output, with the result of two.

    Every access to either must be at the invocation's own position, and an invocation must have
    read all it reads before it writes. `rank` is that of the dispatch: the program may ask for
    fewer of its axes, and then several invocations share a position.
    """
    touches = [touch for touch in read(program).touches if touch.buffer in (read_from, written)]
    axes = {own_position(touch) for touch in touches}
    reads = [number for number, touch in enumerate(touches) if touch.buffer == read_from]
    writes = [number for number, touch in enumerate(touches) if touch.buffer == written]
    return (
        program.buffer(read_from).element == program.buffer(written).element
        and len(axes) == 1
        and axes == {tuple(range(rank - 1, -1, -1))}
        # An atomic's place among the loads of its statement is not fixed.
        and all(touch.rounds == 1 and touch.kind != ATOMIC for touch in touches)
        and max(reads, default=-1) < min(writes, default=0)
    )


def own_position(touch: Touch) -> tuple[int, ...] | None:
    """The axes of an index that is the invocation's own position, else None."""
    axes = []
    for form in touch.indices:
        if isinstance(form, Unknown) or form.offset.terms or len(form.terms) != 1:
            return None
        ((variable, factor),) = form.terms.items()
        if not isinstance(variable, Gid) or factor != ONE:
            return None
        axes.append(variable.axis)
    return tuple(axes)
