"""Text of others as it may be shown: it moves no cursor, hides no word and fills no screen."""

from __future__ import annotations

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
