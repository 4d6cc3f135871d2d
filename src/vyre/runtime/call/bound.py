"""A call whose arguments were checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from vyre.backend.base import Ticket
from vyre.model import Workload
from vyre.runtime.arrays.array import AnyArray, DeviceArray, alignment_of
from vyre.runtime.call.arguments import Arguments
from vyre.runtime.devices.launcher import Launcher, Numbers, Prepared


@dataclass(frozen=True, slots=True)
class Bound:
    """A call whose arguments were checked: every array is there, and where it runs is known."""

    call: Arguments
    launcher: Launcher
    arrays: Mapping[str, AnyArray]
    stream: int

    @property
    def numbered(self) -> tuple[Numbers, dict[str, int], Workload]:
        """The numbers of the launch, how arrays are aligned, what a choice is remembered for."""
        launcher, arrays = self.launcher, self.arrays
        shapes = {name: arrays[name].shape for name in launcher.order if name in arrays}
        alignment = {name: alignment_of(arrays[name]) for name in shapes}
        numbers = launcher.numbers(self.call.extent, shapes, self.call.scalars)
        return numbers, alignment, launcher.workload(numbers, alignment)

    def launch(self, step: Prepared, *, timed: bool = False) -> Ticket:
        scalars = self.call.scalars
        resident = {n: array for n, array in self.arrays.items() if isinstance(array, DeviceArray)}
        if resident:
            streams = self.launcher.device.backend.streams
            if streams is not None:
                for array in resident.values():
                    streams.use_on(array.memory, self.stream)
            return self.launcher.run_resident(
                step, resident, scalars, timed=timed, stream=self.stream
            )
        host = {n: array for n, array in self.arrays.items() if isinstance(array, np.ndarray)}
        return self.launcher.run_host(step, host, scalars, timed=timed)
