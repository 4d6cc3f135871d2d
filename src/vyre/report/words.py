"""Numbers as people say them."""

from __future__ import annotations

from datetime import UTC, datetime

from vyre.model import Decision, Reason

_SIZES = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def amount(number: int) -> str:
    """Bytes in the largest unit that they fill.

    >>> amount(5 << 20), amount(12)
    ('5.0 MiB', '12 B')
    """
    for factor, unit in _SIZES:
        if number >= factor:
            return f"{number / factor:.1f} {unit}"
    return f"{number} B"


def elements(number: int) -> str:
    """A size: a power of two as one, from 1024 on.

    >>> elements(1 << 20), elements(1000)
    ('2^20', '1,000')
    """
    if number >= 1024 and number & (number - 1) == 0:
        return f"2^{number.bit_length() - 1}"
    return f"{number:,}"


def day(at_ns: int) -> str:
    """The day and minute of a stamp; nothing for one that says none.

    >>> day(1_700_000_000_000_000_000)
    '2023-11-14 22:13'
    """
    if not at_ns:
        return ""
    at = datetime.fromtimestamp(at_ns // 1_000_000_000, UTC)
    return at.isoformat(sep=" ", timespec="minutes")[:16]


def gain(decision: Decision) -> str:
    """What a decision gains, in a word or a number."""
    if decision.reason is Reason.NOT_FREE:
        return "left alone"
    if decision.gain is not None:
        return f"{decision.gain:.2f}x"
    is_default = decision.default is None or decision.config == decision.default
    imported = decision.reason is Reason.REMEMBERED and decision.default is None
    return "default" if is_default and not imported else "?"


def sure(decision: Decision) -> str:
    """How sure a gain is; nothing where there is none."""
    if decision.gain is None or decision.confidence is None:
        return ""
    return f"{decision.confidence:.0%} sure"
