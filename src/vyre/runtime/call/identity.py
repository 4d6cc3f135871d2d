"""Which very objects a call brings: a number for each, found as quickly as Python can."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Key = tuple[object, ...]

_identity: Callable[[Any], int] = object.__hash__
"""A number that no other living object has, whatever an object says of its own hash.

Not `id`: since Python 3.12 that is audited, and costs 0.4 us more once any library listens to
audits, as `filelock` does.
"""


def key_of(
    rule: object, form: object, given: Sequence[Any], of: Callable[[Any], int] = _identity
) -> Key:
    """A key of a rule, a form, and which objects these are.

    >>> x, y = [], []
    >>> key_of(None, 1, [x, y]) == key_of(None, 1, [x, y]) != key_of(None, 1, [y, x])
    True
    """
    count = len(given)
    # To name each takes half as long as to go through all of them.
    if count == 3:
        a, b, c = given
        return rule, form, of(a), of(b), of(c)
    if count == 2:
        a, b = given
        return rule, form, of(a), of(b)
    if count == 4:
        a, b, c, d = given
        return rule, form, of(a), of(b), of(c), of(d)
    if count == 5:
        a, b, c, d, e = given
        return rule, form, of(a), of(b), of(c), of(d), of(e)
    return rule, form, *map(of, given)
