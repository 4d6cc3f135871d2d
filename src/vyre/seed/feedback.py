"""The closed loop for backends that are not ours: ask for a workgroup, launch it, say how long.

Each dispatch runs one width, once. Widths are tried a few times each, the likeliest first, and
compared by measured times of comparable size alone; estimates only order what is tried.
"""

from __future__ import annotations

import threading
from functools import cache

from vyre.analysis import Facts, analyse
from vyre.ir.program import Program
from vyre.learn import process, rules
from vyre.learn.by_hand import ByHand
from vyre.learn.recorder import Recorder
from vyre.learn.subject import Question
from vyre.model import (
    Config,
    DeviceInfo,
    DeviceKind,
    Dim3,
    Limits,
    Mode,
    Schedule,
    Timed,
    Workload,
    scheduled,
)
from vyre.plan.config import DispatchConfig
from vyre.plan.geometry import LaunchLimits, ceil_div
from vyre.plan.launch_numbers import LaunchNumbers, proved_free
from vyre.plan.resolve import resolve_launch_workgroup_for_mode
from vyre.policy.measured import is_time
from vyre.policy.seed_cold_start import (
    WORKGROUP_CANDIDATES,
    estimate_cold_start_ns,
    seed_cold_start,
)
from vyre.store.keys import adapter_file_stem

MOST_WORKLOADS = 4096

_NO_LIMITS = Limits(max_threads=0, max_block=(0, 0, 0), max_grid=(0, 0, 0))
_UNKNOWN = DeviceInfo(
    backend="", model="", driver="", compiler="", kind=DeviceKind.GPU, limits=_NO_LIMITS
)


class LaunchFeedback:
    """What launches of other backends have taught, by program, size bucket and device."""

    def __init__(
        self, recorder: Recorder, mode: Mode | None = None, device: DeviceInfo | None = None
    ) -> None:
        """Learn into `recorder`.

        Args:
            recorder: where measurements and choices are kept.
            mode: `off` uses remembered choices and records nothing; without it, the mode that holds
                where a launch is asked for.
            device: where the launches run; without it, devices with equal limits are one.
        """
        self._recorder, self._fixed, self._device = recorder, mode, device
        self._known: dict[Workload, ByHand] = {}
        self._facts: dict[bytes, Facts] = {}
        self._changing = threading.Lock()

    @property
    def _mode(self) -> Mode:
        return self._fixed or rules.rule().mode

    def resolve(
        self, program: Program, config: DispatchConfig, limits: LaunchLimits, element_count: int
    ) -> Dim3:
        """The workgroup to launch next."""

        def width(n: int, declared: int, plain: Limits) -> int:
            workload = self._workload(program, limits, n)
            if self._mode is Mode.OFF:
                return self._remembered(workload, n, declared, plain)
            with self._changing:
                known = self._learned(workload, n, declared, plain)
                return scheduled(known.ask()).workgroup[0]

        return resolve_launch_workgroup_for_mode(
            program,
            config,
            limits,
            element_count,
            Mode.NATURAL_GRADIENT,  # `width` answers for the mode
            cold_start=width,
            facts=self._facts_of(program),
        )

    def record(
        self,
        program: Program,
        config: DispatchConfig,
        limits: LaunchLimits,
        element_count: int,
        observed_workgroup: Dim3,
        elapsed_ns: int,
    ) -> bool:
        """Learn from a launch; whether it could be learned from."""
        plain = limits.as_limits()
        width, y, z = observed_workgroup
        if (
            self._mode is Mode.OFF
            or not is_time(elapsed_ns)
            or config.workgroup_override is not None
            or config.fixed_grid is not None
            or (y, z) != (1, 1)
            or not _legal(width, element_count, plain)
            or not self._tunable(program, element_count)
        ):
            return False
        workload = self._workload(program, limits, element_count)
        outcome = Timed(Schedule((width, 1, 1)), float(elapsed_ns))
        declared = program.workgroup_size[0]
        with self._changing:
            known = self._learned(workload, element_count, declared, plain, outcome.config)
            known.tell(outcome, element_count)
        return True

    def _learned(
        self,
        workload: Workload,
        n: int,
        declared: int,
        limits: Limits,
        own: Config | None = None,
    ) -> ByHand:
        """What is known of a workload; a new one starts with what earlier processes measured.

        A width of the caller's own is one more candidate, and then all is told anew.
        """
        known = self._known.pop(workload, None)  # and put back as the last used
        widths = known.standing.question.candidates if known and known.standing.question else ()
        if known is None or (own is not None and own not in widths):
            while len(self._known) >= MOST_WORKLOADS:
                self._known.pop(next(iter(self._known)))
            rows = [
                row
                for row in self._recorder.measurements(workload)
                if _is_width(row.outcome.config, n, limits) and row.size > 0
                if not isinstance(row.outcome, Timed) or is_time(row.outcome.elapsed_ns)
            ]
            tried = (row.outcome.config for row in rows if isinstance(row.outcome, Timed))
            legal = [Schedule((width, 1, 1)) for width in _widths(n, declared, limits)]
            asked = () if own is None else (own,)
            candidates = tuple(dict.fromkeys((*legal, *widths, *tried, *asked)))
            known = self._begun(workload, candidates, declared, n)
            for row in rows:
                known.tell(row.outcome, row.size, keeps=False)
        self._known[workload] = known
        return known

    def _begun(
        self, workload: Workload, candidates: tuple[Config, ...], declared: int, n: int
    ) -> ByHand:
        default = Schedule((declared, 1, 1))
        question = Question(
            workload=workload,
            name="launch feedback",
            device=self._device or _UNKNOWN,
            default=default if default in candidates else candidates[0],
            candidates=candidates,
            warm=True,
        )
        return ByHand(question, n, policy="sweep", recorder=self._recorder)

    def _remembered(self, workload: Workload, n: int, declared: int, limits: Limits) -> int:
        found = self._recorder.get(workload, writes=False)
        width = declared if found is None else found.schedule.workgroup[0]
        return width if _legal(width, n, limits) else declared

    def _tunable(self, program: Program, element_count: int) -> bool:
        declared = program.workgroup_size
        if declared[0] == 0 or declared[1:] != (1, 1) or element_count == 0:
            return False
        numbers = LaunchNumbers.of_extent(program, (element_count, 1, 1))
        return proved_free(self._facts_of(program), numbers)

    def _facts_of(self, program: Program) -> Facts:
        name = program.fingerprint()
        if name not in self._facts:
            if len(self._facts) >= MOST_WORKLOADS:
                self._facts.clear()
            self._facts[name] = analyse(program)
        return self._facts[name]

    def _workload(self, program: Program, limits: LaunchLimits, n: int) -> Workload:
        device = self._device
        stem = adapter_file_stem(limits.backend, limits.as_limits(), version=2)
        return Workload(
            fingerprint=program.fingerprint(),
            buckets=(n.bit_length(),),
            traits=("launch",),
            device=stem if device is None else device.identity,
            toolchain="" if device is None else device.toolchain,
        )


def record_launch_measurement(
    program: Program,
    config: DispatchConfig,
    limits: LaunchLimits,
    element_count: int,
    observed_workgroup: Dim3,
    elapsed_ns: int,
    *,
    feedback: LaunchFeedback | None = None,
) -> bool:
    """Learn from a launch on a backend that is not ours; whether it could be learned from.

    Without `feedback`, that of this process, whose `resolve` says what to launch next.
    """
    return (feedback or launch_feedback()).record(
        program, config, limits, element_count, observed_workgroup, elapsed_ns
    )


@cache
def launch_feedback() -> LaunchFeedback:
    """This process's feedback, kept in its memory."""
    return LaunchFeedback(process.recorder())


def _widths(n: int, declared: int, limits: Limits) -> list[int]:
    """The legal widths, the cold start's choice first and the others by their estimate."""
    first = seed_cold_start(n, declared, limits)
    legal = [w for w in dict.fromkeys((*WORKGROUP_CANDIDATES, declared)) if _legal(w, n, limits)]
    return sorted(legal, key=lambda width: (width != first, estimate_cold_start_ns(n, width)))


def _legal(width: int, n: int, limits: Limits) -> bool:
    if width < 1:
        return False
    sizes = (width, width, ceil_div(n, width))
    most = (limits.max_threads, limits.max_block[0], limits.max_grid[0])
    return all(limit == 0 or size <= limit for size, limit in zip(sizes, most, strict=True))


def _is_width(config: Config, n: int, limits: Limits) -> bool:
    """Whether a schedule is nothing but a width that can be launched: rows may say anything."""
    if not isinstance(config, Schedule):
        return False
    width = config.workgroup[0]
    return config == Schedule((width, 1, 1)) and _legal(width, n, limits)
