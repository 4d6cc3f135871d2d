"""Errors of a call as its author should see them: at a line of the kernel, and of the call."""

from __future__ import annotations

from vyre.backend.speak import failure
from vyre.errors import AssertionFailed, UnsupportedFeature, VyreError
from vyre.ir.declare import Dim3
from vyre.ir.node import Print, Trap
from vyre.ir.printing import traps
from vyre.ir.walk import statements
from vyre.lang import Translation
from vyre.runtime.devices.device import Device

SPEAKING = ("cpu", "reference")
"""The backends on which kernels print and assert."""


def told(kernel: Translation, error: VyreError) -> VyreError:
    """An error that a call of `kernel` ends with, to be raised where the call came in."""
    if isinstance(error, AssertionFailed) and error.position is not None:
        error = _located(kernel, error, error.position)
    return error.at_caller()


def _located(kernel: Translation, error: AssertionFailed, position: Dim3) -> AssertionFailed:
    """The failure at its line of the source."""
    assert error.number is not None, "who says where says what"
    trap = traps(kernel.program)[error.number]
    place = kernel.places.of(trap)
    if place is None:
        return error
    what = trap.token or place.source.text(place.node)  # type: ignore[arg-type]  # a condition
    where = position_text(kernel, position)
    plain = failure(trap.token, position, error.number).problem
    label = error.problem.removesuffix(plain)  # of the call, where it has one
    problem = f"assertion failed in {kernel.name} at {where}: {what}"
    found = AssertionFailed(label + place.pointed(problem), error.fix)
    return found.with_traceback(error.__traceback__)


def position_text(kernel: Translation, position: Dim3) -> str:
    """A position as the kernel's author counts it, `gid(0)` first."""
    axes = [str(place) for place in reversed(position[: kernel.rank])]
    return f"gid {axes[0]}" if len(axes) == 1 else f"gid ({', '.join(axes)})"


def refuse_silent(kernel: Translation, device: Device) -> None:
    """Refuse to run what prints or asserts where nobody would hear it.

    Raises:
        UnsupportedFeature: there, with the line.
    """
    if device.info.backend in SPEAKING:
        return
    for node in statements(kernel.program.entry):
        if isinstance(node, (Print, Trap)):
            what = "prints" if isinstance(node, Print) else "asserts"
            problem = f"{kernel.name} {what} here, and {device.name} cannot say so"
            place = kernel.places.of(node)
            raise UnsupportedFeature(
                problem if place is None else place.pointed(problem),
                'call it under vyre.debug(), on arrays of vyre.open("cpu"), '
                "or with VYRE_DEVICE=cpu",
            )
