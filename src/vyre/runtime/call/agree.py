"""Whether the workgroups that an author names compute the same: compared on copies, bit by bit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from vyre.backend.base import Array
from vyre.errors import VyreError
from vyre.ir.declare import BufferDecl
from vyre.ir.printing import speaks
from vyre.ir.types import DataType
from vyre.model import Schedule
from vyre.plan.among import text_of
from vyre.runtime.arrays.array import AnyArray, DeviceArray
from vyre.runtime.call.bound import Bound
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.named import drop, dropped_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What came of comparing the workgroups of a kernel on copies of a call's arrays.

    Args:
        kernel: its name.
        first: what the others are compared with; None where its author names no workgroups.
        agreed: those that gave the same bits.
        dropped: those that did not, and how; they are never run again on this device.
        left_out: those that this device cannot launch, and why.
    """

    kernel: str
    first: Schedule | None = None
    agreed: tuple[Schedule, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every workgroup that could be run gave the same bits."""
        return not self.dropped

    def __str__(self) -> str:
        if self.first is None:
            return f"{self.kernel}: its author names no workgroups, and there is nothing to compare"
        lines = [f"{self.kernel}: compared with {text_of(self.first.workgroup)}, bit by bit"]
        lines += [f"  {text_of(one.workgroup)}: the same" for one in self.agreed]
        lines += [f"  {what}: dropped, {why}" for what, why in self.dropped]
        lines += [f"  {what}: left out, {why}" for what, why in self.left_out]
        return "\n".join(lines)


def compare(bound: Bound) -> Checked:
    """Run a call in each workgroup that its author names, on copies, and drop what differs.

    The caller has seen to it that there is room for the copies.
    """
    launcher = bound.launcher
    if not launcher.is_named:
        return Checked(kernel=launcher.kernel.name)
    numbers, alignment, _ = bound.numbered
    space = launcher.space(numbers, alignment)
    first, *others = space.legal
    known = dropped_of(launcher.device, launcher.program)
    refused = [(one.what.removeprefix("workgroup "), one.why) for one in space.refused]
    dropped = [one for one in refused if one[1] in known.values()]
    left_out = [one for one in refused if one[1] not in known.values()]
    if speaks(launcher.program):
        alone = launcher.why_alone(numbers) or ""
        left_out += [(text_of(one.workgroup), alone) for one in others]
        others = []
    if 0 in numbers.extent or not others:
        return _checked(bound, first, (), dropped, left_out)
    wanted = _results(bound, first)
    differing: dict[Schedule, str] = {}
    agreed = []
    for schedule in others:
        try:
            found = _results(bound, schedule)
        except VyreError as error:
            left_out.append((text_of(schedule.workgroup), error.problem))
            continue
        why = next(_differences(bound, wanted, found, first), None)
        if why is None:
            agreed.append(schedule)
        else:
            differing[schedule] = why
            dropped.append((text_of(schedule.workgroup), why))
    if differing:
        drop(launcher.device, launcher.program, differing, launcher.size(numbers))
        launcher.forget()
    return _checked(bound, first, agreed, dropped, left_out)


def _checked(
    bound: Bound,
    first: Schedule,
    agreed: Iterable[Schedule],
    dropped: Iterable[tuple[str, str]],
    left_out: Iterable[tuple[str, str]],
) -> Checked:
    return Checked(
        kernel=bound.launcher.kernel.name,
        first=first,
        agreed=tuple(agreed),
        dropped=tuple(dropped),
        left_out=tuple(left_out),
    )


def resident(device: Device, array: AnyArray) -> DeviceArray:
    """A copy on the device, which whoever compares or times may change."""
    return array.copy() if isinstance(array, DeviceArray) else device.array(array)


def _results(bound: Bound, schedule: Schedule) -> dict[str, Array]:
    """What a call writes under a schedule, from copies of what it was given."""
    launcher = bound.launcher
    numbers, alignment, _ = bound.numbered
    prepared = launcher.prepare(numbers, alignment, schedule)
    copies = {name: resident(launcher.device, array) for name, array in bound.arrays.items()}
    launcher.run_resident(prepared, copies, bound.call.scalars).wait()
    written = [decl.name for decl in launcher.program.buffers if decl.is_written]
    return {name: np.asarray(copies[name]) for name in written}


def _differences(
    bound: Bound, wanted: Mapping[str, Array], found: Mapping[str, Array], first: Schedule
) -> Iterator[str]:
    for name, expected in wanted.items():
        differs = _differ(bound.launcher.program.buffer(name), expected, found[name])
        where = np.argwhere(differs)
        if where.size:
            at = tuple(int(axis) for axis in where[0])
            place = ", ".join(map(str, at))
            count = int(np.count_nonzero(differs))
            yield (
                f"{count:,} of {differs.size:,} elements of {name} differ from those of "
                f"{text_of(first.workgroup)}: {name}[{place}] is {found[name][at]}, not "
                f"{expected[at]}"
            )


def _differ(decl: BufferDecl, a: Array, b: Array) -> Array:
    """Where elements differ in a bit; one NaN is as good as another."""
    bits = np.dtype(f"u{a.dtype.itemsize}")
    differs: Array = a.view(bits) != b.view(bits)
    if decl.element == DataType.BF16:
        differs &= ~((a.view(bits) & 0x7FFF > 0x7F80) & (b.view(bits) & 0x7FFF > 0x7F80))
    elif a.dtype.kind == "f":
        differs &= ~(np.isnan(a) & np.isnan(b))
    return differs
