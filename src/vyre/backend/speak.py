"""Says what a launch said: its lines to Python's standard output, its failure as an error."""

from __future__ import annotations

import sys

from vyre.emit.spoken import Said, position_of
from vyre.errors import AssertionFailed
from vyre.ir.declare import Dim3
from vyre.ir.printing import traps
from vyre.ir.program import Program

LOOK = (
    "look at what the kernel was given there, or correct the assertion; what was stored before is "
    "as it is"
)


def speak(said: Said, program: Program, extent: Dim3) -> None:
    """Print the lines, then raise the failure, if there is one.

    Raises:
        AssertionFailed: an assertion did not hold.
    """
    text = "".join(said.lines)
    if said.lost:
        text += f"({said.lost:,} more lines of this call had no room and are lost)\n"
    if text and sys.stdout is not None:
        sys.stdout.write(text)
    if said.failed is not None:
        place, number = said.failed
        where = position_of(place, extent)
        token = traps(program)[number].token
        raise failure(token, where, number)


def failure(token: str, position: Dim3, number: int) -> AssertionFailed:
    """The error of an assertion whose line is not known."""
    what = f": {token}" if token else ""
    error = AssertionFailed(f"an assertion failed at (x, y, z) = {position}{what}", LOOK)
    error.number, error.position = number, position
    return error
