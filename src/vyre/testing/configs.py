"""Schedules with anything in any part, for what must keep all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from vyre.model import COUNTS, FLAGS, PARTS, SIZES, Code, Order, Schedule

_SIZES = st.integers(1, 1024)


def _anything(name: str) -> st.SearchStrategy[Any]:
    if name in SIZES:
        return st.just(PARTS[name]) | _SIZES
    if name in COUNTS:
        return st.just(PARTS[name]) | st.integers(0, 1024)
    return st.sampled_from(Order) if name == "order" else st.booleans()


def _code(parts: Mapping[str, Any]) -> Code:
    """The code of these parts, whose loaders have something to fill."""
    return Code(**{**parts, "loaders": parts["loaders"] if parts["depth"] else 0})


def codes() -> st.SearchStrategy[Code]:
    """Codes of no workgroup."""
    return st.fixed_dictionaries({name: _anything(name) for name in PARTS}).map(_code)


def schedules() -> st.SearchStrategy[Schedule]:
    """Schedules of any parts and any workgroup."""
    axes = st.just(1) | _SIZES
    return st.builds(Schedule, st.tuples(axes, axes, axes), codes())


ODD: Mapping[str, Any] = {
    **dict.fromkeys((*SIZES, *COUNTS), 2),
    **{name: not PARTS[name] for name in FLAGS},
    "order": Order.BLOCKED,
}
"""Every part as it is not where nothing is said."""


def odd_ones() -> list[Schedule]:
    """One schedule for each part, that says it alone, and one that says them all."""
    whole = Schedule((64, 2, 1), Code(**ODD))
    alone = [{name: odd} for name, odd in ODD.items() if name != "loaders"]
    alone.append({"depth": 2, "loaders": 2})
    return [whole, *(Schedule((64, 2, 1), Code(**parts)) for parts in alone)]
