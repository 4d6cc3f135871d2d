"""A device whose results are the reference's and whose times come from a table.

With it the whole loop runs without hardware: calls, timings, probes, adoption, failures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from random import Random

import numpy as np

from vyre.backend.at_once import Over
from vyre.backend.base import Array, Job, Unbuilt
from vyre.backend.reference.device import Reference, ReferenceBinary
from vyre.backend.replay import Noise
from vyre.errors import DeviceFailed
from vyre.ir.declare import Dim3
from vyre.model import Clocks, Code, DeviceInfo, DeviceKind, Limits, Schedule

GPU = DeviceInfo(
    backend="replay",
    model="a table of times",
    driver="",
    compiler="",
    kind=DeviceKind.GPU,
    limits=Limits(
        max_threads=1024,
        max_block=(1024, 1024, 64),
        max_grid=(2**31 - 1, 65_535, 65_535),
        max_threads_per_unit=2048,
    ),
    compute_units=132,
)


@dataclass(frozen=True, slots=True)
class ReplayedBinary(ReferenceBinary):
    """A program that remembers which code it stands for."""

    code: Code = field(default_factory=Code)


class Replayed(Reference):
    """One such device.

    Args:
        times_ns: the true time of a schedule.
        noise: what the timer makes of it.
        refuses: codes that cannot be built, and why.
        falls: schedules that cannot be launched, and why.
        info: what it says of itself.
    """

    compiles = True  # it stands for a device that does, and whose schedules differ
    builds_first = 5  # as a GPU, whose compiler takes several at once
    told_clocks: Clocks | None = None  # may be set between launches

    def __init__(
        self,
        times_ns: Callable[[Schedule], float],
        *,
        noise: Noise | None = None,
        seed: int = 0,
        refuses: Mapping[Code, str] | None = None,
        falls: Mapping[Schedule, str] | None = None,
        info: DeviceInfo = GPU,
    ) -> None:
        self.info = info
        self.times_ns, self.noise, self._rng = times_ns, noise or Noise(), Random(seed)
        self.refuses, self.falls = refuses or {}, falls or {}
        self.spent_ns = 0.0
        self.launched: list[Schedule] = []

    def build(self, jobs: Sequence[Job]) -> list[ReplayedBinary | Unbuilt]:  # type: ignore[override]  # of our own kind
        """As the reference does, but for what is to be refused."""
        return [
            Unbuilt(self.refuses[job.code]) if job.code in self.refuses else _built(self, job)
            for job in jobs
        ]

    def launch(
        self,
        binary: ReferenceBinary,
        grid: Dim3,
        workgroup: Dim3,
        arguments: Sequence[Array | int | np.generic],
        words: bytes,
        *,
        timed: bool = False,
        stream: int = 0,
    ) -> Over:
        """Compute, and take as long as the table says; a time of 0 is kept as it is."""
        assert isinstance(binary, ReplayedBinary)
        schedule = Schedule(workgroup, binary.code)
        if schedule in self.falls:
            raise DeviceFailed(self.falls[schedule], "use another schedule")
        super().launch(binary, grid, workgroup, arguments, words, timed=timed, stream=stream)
        true_ns = self.times_ns(schedule)
        self.spent_ns += true_ns
        self.launched.append(schedule)
        return Over(round(self.noise.seen(true_ns, self._rng)) if true_ns else 0)

    def clocks(self) -> Clocks | None:
        """What it was told to say; the host's own have no part in its times."""
        return self.told_clocks


def _built(device: Reference, job: Job) -> ReplayedBinary:
    plain, code = device._build(job.program), job.code
    # A kernel for one workgroup can be launched with no wider one, as a GPU's says of itself.
    most = prod(Schedule(code.group, code).block) if code.group else 0
    return ReplayedBinary(plain.program, plain.layout, plain.arguments, max_threads=most, code=code)
