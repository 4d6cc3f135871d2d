"""One dispatch of programs built by hand: fused, or prefilter and then confirm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vyre.errors import DeviceFailed, InvalidInput, UnsupportedFeature
from vyre.ir.program import Program
from vyre.learn.by_hand import ByHand
from vyre.learn.subject import Question
from vyre.model import DeviceInfo, DeviceKind, Limits, Timed, Workload
from vyre.plan.config import DispatchConfig, SpeculationMode
from vyre.plan.counter_tail import SpeculationReport, parse_counter_tail, tail_bytes
from vyre.policy.speculate import AdaptiveSpeculator
from vyre.policy.ways import Way, regime_of, way_of

Outputs = list[NDArray[Any]]

WAYS = (Way.SERIAL, Way.EAGER)


class Dispatcher(Protocol):
    """What runs a program built by hand; a `Device` is one.

    One that cannot run fused programs has an attribute `supports_speculation` that is False.
    """

    name: str

    def dispatch(
        self,
        program: Program,
        inputs: Sequence[bytes | NDArray[Any]],
        config: DispatchConfig | None = None,
    ) -> Outputs: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeculativeDispatchPlan:
    """Two programs for one task, and where they count."""

    fused_program: Program
    prefilter_program: Program
    counter_output_index: int  # of the fused program's outputs
    strip_counter_tail: bool = True
    prefilter_counter_index: int | None = None  # the same of the prefilter's, if it counts
    legacy: bool = False  # whether tails are the Rust crate's bare 8 bytes


@dataclass(frozen=True, slots=True)
class SpeculationOutcome:
    """What a dispatch gave, and which way it took."""

    outputs: Outputs
    report: SpeculationReport | None
    used_speculative_path: bool


@dataclass(slots=True)
class SpeculationTimes:
    """What both ways were measured to take, kept by the caller from dispatch to dispatch.

    `clock` gives nanoseconds; without measurements the commit rate decides.
    """

    clock: Callable[[], int]
    learners: dict[int, ByHand] = field(default_factory=dict)  # by hit rate
    last_rate: float = 0.0

    def learner(self, guess: Way) -> ByHand:
        """Who decides at the present hit rate; one that is new begins with a guess."""
        regime = regime_of(self.last_rate, self.learners)
        if regime not in self.learners:
            ways = (guess, *(way for way in WAYS if way is not guess))
            question = Question(
                workload=_ANY,
                name="a prefilter and a confirm",
                device=_HERE,
                default=guess.knobs,
                candidates=tuple(way.knobs for way in ways),
                warm=True,
            )
            self.learners[regime] = ByHand(question, 1)
        return self.learners[regime]

    def tell(self, way: Way, elapsed_ns: float, rate: float | None) -> None:
        """Learn from a dispatch; where nobody counted, it hits as often as the last that was."""
        self.last_rate = self.last_rate if rate is None else rate
        self.learner(way).tell(Timed(way.knobs, elapsed_ns), 1)


_ANY = Workload(fingerprint=b"", buckets=(), traits=("prefilter",), device="", toolchain="")
_HERE = DeviceInfo(
    backend="",
    model="",
    driver="",
    compiler="",
    kind=DeviceKind.GPU,
    limits=Limits(max_threads=0, max_block=(0, 0, 0), max_grid=(0, 0, 0)),
)


def dispatch_prefilter_confirm(
    device: Dispatcher,
    speculator: AdaptiveSpeculator,
    plan: SpeculativeDispatchPlan,
    inputs: Sequence[bytes | NDArray[Any]],
    confirm_serial: Callable[[Outputs], Outputs],
    *,
    config: DispatchConfig | None = None,
    times: SpeculationTimes | None = None,
) -> SpeculationOutcome:
    """Run the fused program, or the prefilter and then `confirm_serial` on what it gave.

    `config.speculation` may force one; otherwise the measured times decide, and before there are
    any the commit rate. Both ways tell the speculator what they saw; where the prefilter does not
    count, the fused program is tried again now and then. So neither is given up for good.

    Raises:
        UnsupportedFeature: speculation is forced on a device that cannot do it.
        InvalidInput: the plan names an output that a program does not have.
        DeviceFailed: an output that should end in counters does not; nothing is learned.
    """
    config = config or DispatchConfig()
    mode = config.speculation or SpeculationMode.AUTO
    able = getattr(device, "supports_speculation", True)
    if mode is SpeculationMode.FORCE and not able:
        raise UnsupportedFeature(
            f"device {device.name!r} cannot run fused programs, and speculation is forced",
            "use SpeculationMode.AUTO, or another device",
        )
    plain = replace(config, speculation=None)
    way = _way(mode, speculator, times, able=able)
    start = times.clock() if times else 0
    if way is Way.EAGER:
        outputs = device.dispatch(plan.fused_program, inputs, plain)
        report = _counted(outputs, plan.counter_output_index, plan, "fused")
        fused = True
    else:
        outputs = device.dispatch(plan.prefilter_program, inputs, plain)
        report = None
        if plan.prefilter_counter_index is not None:
            report = _counted(outputs, plan.prefilter_counter_index, plan, "prefilter")
        outputs, fused = confirm_serial(outputs), False
    if report is None:
        speculator.skip()
    else:
        speculator.record(report)
    if times is not None and mode is SpeculationMode.AUTO and able:
        elapsed = float(times.clock() - start)
        times.tell(way, elapsed, None if report is None else report.rate)
    return SpeculationOutcome(outputs, report, fused)


def _way(
    mode: SpeculationMode,
    speculator: AdaptiveSpeculator,
    times: SpeculationTimes | None,
    *,
    able: bool,
) -> Way:
    """The way to take."""
    wanted = speculator.should_speculate() or speculator.should_probe()
    by_rate = Way.EAGER if able and wanted else Way.SERIAL
    match mode:
        case SpeculationMode.FORCE:
            return Way.EAGER
        case SpeculationMode.DISABLE:
            return Way.SERIAL
        case SpeculationMode.AUTO:
            if times is not None and able:
                return way_of(times.learner(by_rate).ask())
            return by_rate


def _counted(
    outputs: Outputs, index: int, plan: SpeculativeDispatchPlan, word: str
) -> SpeculationReport:
    """The counters of one output, which loses them where the plan says so."""
    if not 0 <= index < len(outputs):
        raise InvalidInput(
            f"counter output {index} of the {word} program, which has {len(outputs)} outputs",
            f"give the place from 0 to {len(outputs) - 1} of the output that ends in counters",
        )
    data = np.ascontiguousarray(outputs[index])
    report = parse_counter_tail(data.tobytes(), legacy=plan.legacy)
    size = tail_bytes(legacy=plan.legacy)
    if report is None:
        raise DeviceFailed(
            f"output {index} of the {word} program, {data.nbytes} bytes, does not end in counters",
            f"let the program end it with the {size} bytes of encode_counter_tail, "
            "or name another output",
        )
    if plan.strip_counter_tail:
        kept = data.reshape(-1).view(np.uint8)[: data.nbytes - size]
        outputs[index] = kept.view(data.dtype) if kept.size % data.itemsize == 0 else kept
    return report
