"""Workgroups of teams: which a code needs, and whether a device holds them."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from vyre.analysis.teams import teams_beside
from vyre.ir.fold import LANES
from vyre.ir.program import Program
from vyre.ir.team import group_bytes, team
from vyre.model import Code, Dim3, Limits

_WORD = 4  # bytes


def group_of(code: Code) -> Dim3:
    """The workgroup of a code that allows one alone, or the smallest."""
    if code.abreast > 1:
        return code.abreast, code.lanes, 1
    return code.group or (code.lanes, 1, 1)


def why_not_held(program: Program, code: Code, limits: Limits) -> str | None:
    """Why no workgroup of a device holds the teams of a code."""
    group = group_of(code)
    if 0 < limits.max_threads < prod(group):
        return f"{prod(group):,} threads; the device has {limits.max_threads:,} for a workgroup"
    for axis, size, most in zip("xyz", group, limits.max_block, strict=True):
        if 0 < most < size:
            return f"{size:,} threads along {axis}; the device has {most:,} for a workgroup"
    needed, most = bytes_of_group(program, code), limits.group_bytes
    if 0 < most < needed:
        return f"{needed:,} bytes of workgroup memory; the device has {most:,} for one"
    return None


def held(program: Program, code: Code, limits: Limits) -> Code:
    """A code whose teams a workgroup of a device holds: as many abreast as it can, or one alone."""
    while code.abreast > 1 and why_not_held(program, code, limits) is not None:
        code = replace(code, abreast=code.abreast // 2)
    if code.abreast == 1 and why_not_held(program, code, limits) is not None:
        return replace(code, lanes=LANES, items=1, depth=0, group=None)
    return code


def bytes_of_group(program: Program, code: Code) -> int:
    """The workgroup memory in which lanes tell each other what they have, and teams what they read.

    Of teams that share a result, all lanes hear in a word of it which of them comes last.
    """
    shares = min(code.shares, 2)  # all that are several need as much
    brings = teams_beside(code) if code.depth else 0
    made = team(program, code.lanes, shares, code.keeps, code.items, code.abreast, brings)
    return group_bytes(made.program) + (_WORD if shares > 1 else 0)
