"""What of a source of C's kind may be something else than what is read, so that reading it is vain.

A compiler sees what headers and options bring along, what names are pasted into, and quotes and
lines as its own rules have them. Where those may differ from the reading, the source is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from vyre.adapter.reading.sources import bare

_DIRECTIVE = re.compile(
    r"#\s*(?:(?:define|undef|include|if|ifdef|ifndef|elif|elifdef|elifndef|else|endif|pragma|error"
    r"|warning|line)\b|$)"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f]|\r(?!\n)")
_RAW = re.compile(r'(?<!\w)(?:u8|[uUL])?R"')
_WORD_OR_NUMBER = re.compile(r"[A-Za-z_]\w*|\.?\d(?:'?[\w.])*")
_DEFINES = re.compile(r"(?:-D|--define-macro)(.*)", re.DOTALL)
_DEFINED = re.compile(r"[ =]?([A-Za-z_]\w*(?:\([\w, .]*\))?)(?:=(.*))?", re.DOTALL)
_HIDING = re.compile(
    r"include|imacros|options-file|optf|^-X(?!ptxas)|compiler-options|compiler-bindir|^-ccbin"
    r"|^-Wp|^@|pch",
    re.IGNORECASE,
)


def hidden_in_source(
    text: str, harmless: re.Pattern[str], *, separated: bool = False
) -> str | None:
    """What of a source may be something that is not read, as words; None where nothing may.

    Args:
        text: the source.
        harmless: headers that may be included.
        separated: whether its language has quotes within numbers, which begin a text elsewhere.
    """
    misread = misread_in_source(text, separated=separated)
    if misread is not None:
        return misread
    plain = bare(text)
    for line in directives(plain):
        if _DIRECTIVE.match(line) is None:
            return line
    for one in re.findall(r"#\s*include\b([^\n]*)", plain):
        if harmless.fullmatch(one.strip()) is None:
            return f"#include {one.strip()}".strip()
    return next((one for one in ("##", "%:", "\\", "??") if one in plain), None)


def misread_in_source(text: str, *, separated: bool = False) -> str | None:
    """By what a compiler may see other comments and quotes than `bare` does; None where none.

    Args:
        text: the source.
        separated: whether its language has quotes within numbers, which begin a text elsewhere.
    """
    control = _CONTROL.search(text)
    if control is not None:  # some end a line for a compiler and not here, or the other way
        return f"the character {control[0]!a}"
    if "??/" in text:  # goes on with a line, as a backslash does
        return "??/"
    raw = _RAW.search(text)
    if raw is not None:  # it ends elsewhere where lines go on, and is none in an old standard
        return raw[0]
    plain = bare(text)
    if '"' in plain.replace('""', "") or "'" in _WORD_OR_NUMBER.sub("", plain):
        return "a quote that does not end in its line"
    if not separated and any("'" in one for one in _WORD_OR_NUMBER.findall(plain)):
        return "a quote in a number"
    return None


def directives(plain: str) -> Iterator[str]:
    """The lines of a bare source that are a preprocessor's."""
    return (one.strip() for one in plain.split("\n") if one.lstrip().startswith("#"))


def hiding_option(options: Iterable[str]) -> str | None:
    """The option that may bring along what is not read; None where there is none."""
    for one in _joined(options):
        taken = _DEFINES.match(one)
        if taken is not None:
            found = _DEFINED.fullmatch(taken[1])
            if found is None or re.search(r"[\"'\\\n\r]|/\*|//", found[2] or ""):
                return one
        elif _HIDING.search(one) and not one.startswith(("-I", "--include-path")):
            return one
    return None


def defined_by(options: Iterable[str]) -> Iterator[str]:
    """The macros that options define, as lines of a source; none of them hides anything."""
    for one in _joined(options):
        taken = _DEFINES.match(one)
        found = None if taken is None else _DEFINED.fullmatch(taken[1])
        if found is not None:
            yield f"#define {found[1]} {1 if found[2] is None else found[2]}"


def _joined(options: Iterable[str]) -> list[str]:
    """Options of which some are written as two."""
    made: list[str] = []
    for one in options:
        if made and made[-1] in ("-D", "--define-macro", "-I", "--include-path"):
            made[-1] += f" {one.strip()}"
        else:
            made.append(one.strip())
    return made
