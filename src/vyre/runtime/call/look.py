"""Looks at a call without making it: its workload, its space, what is known of it, and times it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vyre.analysis import Facts
from vyre.lang import Role
from vyre.learn import process
from vyre.learn.rules import rule
from vyre.model import Code, Decision, Failed, Schedule, Summary, Workload
from vyre.plan.space import Space
from vyre.policy.measured import Measured
from vyre.runtime.arrays.array import DeviceArray
from vyre.runtime.call.bound import Bound
from vyre.runtime.call.dispatch import Dispatcher
from vyre.runtime.call.kernel import Kernel
from vyre.runtime.call.tune import _measure
from vyre.runtime.devices.device import Device


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A call on arrays of a device: what may run it, what is remembered, what was measured."""

    kernel: Kernel
    device: Device
    facts: Facts
    workload: Workload
    space: Space
    elements: int
    known: Decision | None
    measured: Measured
    bound: Bound = field(repr=False)

    @property
    def summaries(self) -> tuple[Summary, ...]:
        """What is known of each schedule."""
        return self.measured.summaries

    @property
    def inputs(self) -> dict[str, Any]:
        """What a call of the kernel takes by name: arrays and scalars."""
        params = self.kernel._translation.params
        given = {**self.bound.arrays, **self.bound.call.scalars}
        return {p.name: given[p.name] for p in params if p.role is not Role.OUT}

    @property
    def outputs(self) -> tuple[DeviceArray, ...]:
        """What it takes as `out=`."""
        params = self.kernel._translation.params
        arrays: Mapping[str, Any] = self.bound.arrays
        return tuple(arrays[p.name] for p in params if p.role is Role.OUT)

    @property
    def moved_bytes(self) -> int:
        """What a launch reads and writes at least, as the program says.

        Of what it reduces each invocation may read all, and it comes from memory once.
        """
        if self.facts.alone is not None:
            arrays = (one for one in self.bound.arrays.values() if isinstance(one, DeviceArray))
            return sum(array.nbytes for array in arrays)
        cost = self.facts.cost
        return (cost.loaded_bytes + cost.stored_bytes) * self.elements

    def time(self, schedule: Schedule) -> float | Failed:
        """The device's nanoseconds for a launch, the median of a few; the arrays are written."""
        numbers, alignment, _ = self.bound.numbered
        arrays = {n: a for n, a in self.bound.arrays.items() if isinstance(a, DeviceArray)}
        scalars = self.bound.call.scalars
        return _measure(self.bound.launcher, numbers, alignment, arrays, scalars, schedule)


def look_at(
    kernel: Kernel,
    device: Device,
    arrays: Mapping[str, Any],
    scalars: Mapping[str, object],
    shape: tuple[int, ...] | None = None,
) -> Look:
    """Look at a call of `kernel` on copies of `arrays`, by parameter name, on `device`."""
    resident = {name: device.array(array) for name, array in arrays.items()}
    dispatcher = Dispatcher(kernel._translation)
    bound = dispatcher.bind((), None, shape, None, {**resident, **scalars})
    numbers, alignment, workload = bound.numbered
    recorder, space = process.recorder(), bound.launcher.space(numbers, alignment)
    evidence, known = recorder.evidence(workload, frozenset(space.legal), space.default), None
    writes = rule().mode.writes
    decision = recorder.get(workload, writes=writes)
    if decision is not None and decision.config in space.legal:
        known = evidence.weigh(decision)
    return Look(
        kernel=kernel,
        device=device,
        facts=bound.launcher.facts,
        workload=workload,
        space=space,
        elements=bound.launcher.size(numbers),
        known=known,
        measured=evidence,
        bound=bound,
    )


def source_of(kernel: Kernel, device: Device, code: Code) -> str:
    """The source that a device of this kind compiles for a code of a kernel."""
    return device.source(kernel.program, code)
