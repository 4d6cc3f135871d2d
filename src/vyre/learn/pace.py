"""How quickly to learn: what it may cost callers, and when it is worth nothing."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from vyre.model import DeviceInfo, DeviceKind

_SHARE = {DeviceKind.CPU: 0.002, DeviceKind.GPU: 0.03}
_ADVANCE_S = {DeviceKind.CPU: 0.002, DeviceKind.GPU: 0.1}

_AT_ONCE = {DeviceKind.CPU: 1, DeviceKind.GPU: 2}
"""Callers of a GPU enqueue many launches before the time of the first is back."""

_LOADED_NS = 50_000.0
"""A GPU's first launch of a kernel fetches its instructions: some microseconds, and no more."""

_AFTER_OTHERS_NS = 50_000.0
"""Below it a launch feels what ran before: instructions come from afar, and the caches hold what
another schedule left there (from 18 % less to 14 % more on an H200). After itself it does not."""


_USED = 100
"""Calls with pauses between them, beside a GPU: a helper that compiles takes nothing from them, and
a kernel of two microseconds would have to be called for half a minute until enough was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The numbers by which one workload is learned.

    Callers share the interpreter of the thread that learns, and on a CPU their kernels its cores: a
    caller waits there for about twice as long as that thread works (measured). Beside a GPU the
    host waits for the device as a rule, so a workload is learned quickly while it is new.
    """

    share: float = _SHARE[DeviceKind.GPU]  # of the time, that may be worked on a workload
    advance_s: float = _ADVANCE_S[DeviceKind.GPU]  # what may be worked in advance
    unfelt_ns: int = 0  # what a launch must take to be felt beside what launching costs the host
    shortest_ns: int = 0  # what it must take for a rough time to tell configs apart
    cores: int = 0  # that compiling shares with what is launched; 0 where it has its own
    margin: float = 1.02  # a gain below this is left: chance finds as much among many configs
    candidates: int = 128  # to choose from; what the guess ranks below them is left out
    guessed: int = 56  # of those, where the guess expects times: each piece of learning is shorter
    resting_s: float = 1.0  # at most between two looks at a settled choice
    slower: float = 1.4  # by how much that grows from one look to the next
    shortest_s: float = 5e-4  # between two looks
    enough: int = 3  # times of the default that say how long it takes
    rough: int = 16  # rough times that say so
    rough_s: float = 1e-3  # what each of them counts as work
    enough_s: float = 0.05  # of launches must have been seen before anything is compiled for them
    used: float = inf  # calls, and
    used_s: float = 0.1  # seconds since the first, that serve as well for the first fetch
    per_seen: float = 2.0  # seconds of compiling beside a GPU per second of launches
    per_lived: float = 0.0  # and per second since learning began, beside calls that are few
    first_fetch_s: float = 0.3  # what a fetch is expected to take before one was made
    together: int = 16  # candidates that a fetch may bring
    news: float = 0.05  # by how much a remembered gain must have changed to be written again
    kept_back: float = 4.0  # default dispatches of the budget that compiling leaves to probes
    strikes: int = 3  # times that are none, from one config, until it is dropped
    trouble: int = 3  # pieces of work that fail in a row until learning ends
    lost_s: float = 1.0  # until somebody looks after a launch that was taken and not heard of
    lost_at_latest_s: float = 60.0
    lost_after: int = 16  # calls after that which took it, by which it should have been heard of
    at_once: int = 1  # launches that may be asked for before a time of any is back
    clocks: int = 4  # times in a row at another clock that say that it is the device's now
    loaded_ns: float = inf  # what a first launch must take for what it loads to be little beside
    led_ns: float = 0.0  # below which a launch is timed after another of the same
    led_within: float = 1.1  # times the chosen one's time, beyond which that would change nothing

    @classmethod
    def beside(cls, device: DeviceInfo, unfelt_ns: int = 0, shortest_ns: int = 0) -> Pace:
        """The pace beside calls on a device."""
        return cls(
            share=_SHARE[device.kind],
            advance_s=_ADVANCE_S[device.kind],
            unfelt_ns=unfelt_ns,
            shortest_ns=shortest_ns,
            at_once=_AT_ONCE[device.kind],
            loaded_ns=_LOADED_NS if device.kind is DeviceKind.GPU else inf,
            led_ns=_AFTER_OTHERS_NS if device.kind is DeviceKind.GPU else 0.0,
            used=_USED if device.kind is DeviceKind.GPU else inf,
            cores=max(device.compute_units, 1) if device.kind is DeviceKind.CPU else 0,
        )
