"""What people write on a command line: sizes, spans of time, schedules."""

from __future__ import annotations

import re
from math import inf
from typing import Any

import typer

from vyre.model import COUNTS, FLAGS, SIZES, UNSAID, WORDS, Code, Order, Schedule

_SPANS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_POWERS = {"": 1, "k": 1000, "m": 10**6, "g": 10**9, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}


def parse_size(word: str) -> int:
    """A number of elements: `1000000`, `1M`, `64Ki` or `2^20`.

    >>> parse_size("2^20"), parse_size("64Ki"), parse_size("1_000")
    (1048576, 65536, 1000)
    """
    plain = word.replace("_", "").replace(",", "").strip()
    if power := re.fullmatch(r"(\d+)(?:\^|\*\*)(\d{1,3})", plain):
        size = int(pow(int(power[1]), int(power[2])))
    elif number := re.fullmatch(r"(\d+)([kmg]i?)?", plain, re.IGNORECASE):
        size = int(number[1]) * _POWERS[(number[2] or "").lower()]
    else:
        raise typer.BadParameter(f"{word!r} is not a size: write 1000000, 1M, 64Ki or 2^20")
    if not 1 <= size <= 1 << 31:
        raise typer.BadParameter(f"{word!r} is not from 1 to 2^31")
    return size


def parse_span(word: str) -> float:
    """A span of time in seconds: `60`, `60s`, `2m`, `90d`.

    >>> parse_span("2m"), parse_span("1.5s")
    (120.0, 1.5)
    """
    found = re.fullmatch(r"(\d+(?:\.\d*)?)\s*(ms|s|min|m|h|d|)", word.strip())
    if found is None or not 0 < float(found[1]) < inf:
        raise typer.BadParameter(f"{word!r} is not a span of time: write 60s, 2m or 1h")
    return float(found[1]) * _SPANS[found[2]]


def parse_schedule(word: str, like: Schedule) -> Schedule:
    """A schedule as tables print it, or by `name=value`; what is not said is as in the default.

    >>> parse_schedule("64x4, 2 items strided, vectors of 2", Schedule((64, 1, 1))).text
    '64x4, 2 items strided, vectors of 2'
    >>> parse_schedule("256,items=4,order=blocked", Schedule((64, 1, 1))).text
    '256, 4 items blocked'
    >>> parse_schedule("2048x8, vectors of 32, 4 rows, blocked", Schedule((64, 1, 1))).text
    '2048x8, vectors of 32, 4 rows, blocked'
    >>> parse_schedule("32x8, 4 lines, depth=16", Schedule((64, 1, 1))).text
    '32x8, 4 lines, depth 16'
    >>> parse_schedule("8x4, teams of 32, across rows", Schedule((64, 1, 1))).text
    '8x4, teams of 32, across rows'
    """
    workgroup = like.workgroup
    parts: dict[str, Any] = {name: getattr(like.code, name) for name in UNSAID}
    for part in filter(None, (text.strip().lower() for text in word.split(","))):
        if re.fullmatch(r"\d+(?:x\d+){0,2}", part):
            x, y, z, *_ = (*map(int, part.split("x")), 1, 1)
            workgroup = (x, y, z)
        else:
            parts |= _said(part)
    return Schedule(workgroup, Code(**parts))


def _said(part: str) -> dict[str, Any]:
    """What one part of a schedule's text says of a code."""
    if found := re.fullmatch(r"(\d+) items(?: (strided|blocked))?", part):
        return {"items": int(found[1])} | ({"order": Order(found[2])} if found[2] else {})
    if found := re.fullmatch(r"(?:order[= ])?(strided|blocked)", part):
        return {"order": Order(found[1])}
    if found := re.fullmatch(rf"(un)?({'|'.join(FLAGS)})(?:=(true|false))?", part):
        return {found[2]: (found[1] is None) == (found[3] != "false")}
    if found := re.fullmatch(rf"({'|'.join((*SIZES, *COUNTS))})[= ](\d+)", part):
        return {found[1]: int(found[2])}
    for name, words in WORDS.items():
        if found := re.fullmatch(words.format(r"(\d+)"), part):
            return {name: True if name in FLAGS else int(found[1])}
    raise typer.BadParameter(
        f"{part!r} is no part of a schedule: write it as a table shows it, or as "
        "64x4,items=2,vector=4,rows=2,lines=2,depth=16,unroll=4,order=blocked,checked"
    )
