"""Workgroups that an author names and that were seen to compute something else: never run again.

That they compute the same is its author's word. Where `kernel.check` or `kernel.tune` has compared
them and found otherwise, it is remembered for the program on this device, for every size of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from vyre.ir.among import workgroups_of
from vyre.ir.declare import Dim3
from vyre.ir.program import Program
from vyre.learn import process
from vyre.model import Decision, Failed, Reason, Schedule, Workload
from vyre.plan.among import text_of

if TYPE_CHECKING:
    from vyre.runtime.devices.device import Device

NAMED = "named workgroups"
"""The trait of what is remembered for a program, whatever its calls cover."""


def word_on(device: Device, program: Program) -> Workload:
    """What it is remembered for that a workgroup does not keep its author's word."""
    return Workload(
        fingerprint=program.fingerprint(),
        buckets=(),
        traits=(NAMED,),
        device=device.info.identity,
        toolchain=device.info.toolchain,
    )


def dropped_of(device: Device, program: Program) -> Mapping[Dim3, str]:
    """The workgroups that compute something else, and how; looked up once in a process."""
    name = program.fingerprint()
    known = device.dropped.get(name)
    if known is None:
        named = workgroups_of(program)[1:]
        rows = process.recorder().measurements(word_on(device, program))
        failed = [row.outcome for row in rows if isinstance(row.outcome, Failed)]
        found = {
            one.config.workgroup: one.reason
            for one in failed
            if isinstance(one.config, Schedule) and one.config.workgroup in named
        }
        known = device.dropped.setdefault(name, found)
    return known


def drop(device: Device, program: Program, reasons: Mapping[Schedule, str], size: int) -> None:
    """Never run these again, here or in a later process; who runs one of them goes back.

    Args:
        device: where they were seen to differ.
        program: whose workgroups they are.
        reasons: how each of them differs.
        size: elements of the dispatch that was compared.
    """
    known = dropped_of(device, program)
    by_workgroup = {one.workgroup: why for one, why in reasons.items()}
    device.dropped[program.fingerprint()] = {**known, **by_workgroup}
    recorder, deciders = process.recorder(), process.deciders()
    word = word_on(device, program)
    for schedule, why in reasons.items():
        recorder.record(word, Failed(schedule, why), size)
    for decider in deciders.all():
        of = decider.workload
        if (of.fingerprint, of.device) == (word.fingerprint, word.device):
            default = decider.standing.default
            shapes = ", ".join(text_of(one.workgroup) for one in reasons)
            detail = f"workgroups that are named were compared, and {shapes} differs"
            deciders.tuned(
                Decision(workload=of, config=default, reason=Reason.DEFAULT, detail=detail)
            )
