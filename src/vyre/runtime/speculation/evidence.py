"""What calls leave behind to learn from: times that come later, counters that cost to read."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, nan

from vyre.backend.base import Ticket
from vyre.model import DeviceKind
from vyre.policy.measured import LONGEST_NS
from vyre.policy.ways import Purpose, Step, WayPolicy
from vyre.runtime.devices.device import Device
from vyre.runtime.speculation.programs import Tail

READING_SHARE = 0.01
"""The share of the time that may go into reading counters; on PoCL one reading takes 0.1 ms."""

LONGEST_PAUSE_NS = 50_000_000
"""Between readings; one that was interrupted must not stop the learning for seconds."""

LAUNCH_NS = {DeviceKind.CPU: 25_000, DeviceKind.GPU: 4_000}
"""What a second launch adds to a call beside its time on the device.

On PoCL 25 to 40 us, measured; on GPUs a few, a guess. Slices are too short to be charged for it.
"""


@dataclass(slots=True)
class Workload:
    """What was learned of calls of one size on one device."""

    device: Device
    items: int
    policy: WayPolicy


@dataclass(slots=True)
class Reading:
    """When the counters of a device are worth reading again."""

    due_ns: int = 0
    cost_ns: float = 0.0

    def done(self, began_ns: int, ended_ns: int) -> None:
        took = ended_ns - began_ns
        self.cost_ns = took if self.cost_ns == 0 else 0.75 * self.cost_ns + 0.25 * took
        self.due_ns = ended_ns + round(min(self.cost_ns / READING_SHARE, LONGEST_PAUSE_NS))


@dataclass(frozen=True, slots=True)
class Waiting:
    """A call whose times are not known yet, and the tail that it alone counts in, if it does.

    From one that the caller pinned nothing is learned; it only has to be over before others can be
    read.
    """

    workload: Workload
    step: Step
    tickets: tuple[tuple[Ticket, ...], ...]  # of each piece
    tail: Tail | None
    pinned: bool

    @property
    def times_ns(self) -> list[float] | None:
        """What each piece took, or None while one of them runs; nothing where a clock is wrong."""
        sliced = self.step.purpose is Purpose.ROUND
        launch_ns = 0 if sliced else LAUNCH_NS[self.workload.device.info.kind]
        times = []
        for launched in self.tickets:
            total = 0.0
            for ticket in launched:
                elapsed = ticket.elapsed_ns()
                if elapsed is None:
                    return None
                total += elapsed + launch_ns if 0 <= elapsed <= LONGEST_NS else nan
            times.append(total)
        return times if all(map(isfinite, times)) else []
