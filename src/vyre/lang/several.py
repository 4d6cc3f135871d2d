"""Several values at once: what a tuple of a kernel is while it is translated."""

from __future__ import annotations

from collections.abc import Iterator

from vyre.lang.values import Form, Value

Parts = Value | tuple["Parts", ...]
"""What an expression yields: one value, or a tuple of them, in which there may be more tuples.

A program knows no tuples; the translation takes them apart.
"""


def leaves(parts: Parts) -> list[Value]:
    """The values of a tuple, and of the tuples in it, from left to right."""
    if isinstance(parts, Value):
        return [parts]
    return [leaf for part in parts for leaf in leaves(part)]


def form_of(parts: Parts) -> Form:
    """How the values are arranged."""
    return None if isinstance(parts, Value) else tuple(form_of(part) for part in parts)


def arranged(form: Form, values: Iterator[Value]) -> Parts:
    """The next of `values`, arranged."""
    return next(values) if form is None else tuple(arranged(part, values) for part in form)


def places(form: Form, at: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    """Where each value of a form stands, from left to right: the place in each tuple around it."""
    if form is None:
        return [at]
    return [place for number, part in enumerate(form) for place in places(part, (*at, number))]


def count_of(form: Form) -> str:
    """How a message says how many values these are."""
    if form is None:
        return "one value"
    if any(form):
        return f"values arranged as {_pattern(form)}"
    return "1 value in a tuple" if len(form) == 1 else f"{len(form)} values"


def _pattern(form: Form) -> str:
    if form is None:
        return "_"
    inside = ", ".join(_pattern(part) for part in form)
    return f"({inside},)" if len(form) == 1 else f"({inside})"
