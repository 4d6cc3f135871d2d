"""Text of others as it may be shown: it moves no cursor, hides no word and fills no screen."""

from __future__ import annotations

from reprlib import Repr

LINE = 200
"""Characters of a text within a line, such as a name."""

MESSAGE, WHOLE = 2_000, 100_000
"""Characters of each line of a message, and of all of them."""


def plain(text: str, most: int = LINE) -> str:
    r"""One line of `text`: what cannot be printed is escaped, what is beyond `most` is left out.

    >>> print(plain("a\x1b[31mb\u202ec\nd"), plain("x" * 500, most=3))
    a\x1b[31mb\u202ec\nd xxx…
    """
    # Cut first: a name of ten megabytes costs no more than a short one.
    return escaped(text if len(text) <= most else f"{text[:most]}…")


def elements(*extents: int) -> str:
    """So many elements along each axis, in words.

    >>> elements(1), elements(1_000, 20), elements(1, 1)
    ('1 element', '1,000 x 20 elements', '1 x 1 element')
    """
    size = " x ".join(f"{extent:,}" for extent in extents)
    return f"{size} element{'s' * any(extent != 1 for extent in extents)}"


def plain_lines(text: str, most: int = MESSAGE) -> str:
    """Several lines of text, each of them plain."""
    cut = text if len(text) <= WHOLE else f"{text[:WHOLE]}…"
    return "\n".join(plain(line, most) for line in cut.replace("\t", "    ").split("\n"))


def escaped(text: str) -> str:
    r"""The text with everything that cannot be printed as Python writes it.

    Controls, overrides of the direction, marks without a width, surrogates: whatever `isprintable`
    says no to.

    >>> print(escaped("a\x00\x9b\u2066"))
    a\x00\x9b\u2066
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


class _Shown(Repr):
    """Python's own short form, which does not know how long a number may be."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxlong = self.maxother = 120
        self.maxtuple = self.maxlist = 12

    def repr_int(self, number: int, level: int) -> str:  # noqa: ARG002  # as the others
        if number.bit_length() <= 2048:
            return repr(number)
        return f"<{'a' if number > 0 else 'a negative'} whole number of {number.bit_length()} bits>"


_short = _Shown()


def shown(value: object) -> str:
    """A value from the caller as an error shows it: cut where it is long, and never raising.

    >>> shown("x"), shown(10**5000), len(shown("x" * 10**7)) < 130
    ("'x'", '<a whole number of 16610 bits>', True)
    """
    return _short.repr(value)


def is_utf8(text: str) -> bool:
    """Whether a text can be written down: half of a pair of surrogates cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
