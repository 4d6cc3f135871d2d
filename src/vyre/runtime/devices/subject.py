"""Vyre's own programs as what is learned about: launcher, numbers, alignment and helper."""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import prod

from vyre.backend.base import Compiled, Unbuilt
from vyre.errors import VyreError
from vyre.learn import process
from vyre.learn.decide import Call
from vyre.learn.pace import Pace
from vyre.learn.subject import LATE_S, SOON_S, Fetched, Later, Opening, Question
from vyre.model import (
    Code,
    Config,
    Decision,
    DeviceKind,
    Reason,
    Schedule,
    Workload,
    scheduled,
)
from vyre.plan.geometry import tile_grid
from vyre.plan.guess import risk
from vyre.policy.evidence import NOISE
from vyre.runtime.compile.bundle import Bundle, Warm
from vyre.runtime.compile.helper import CompileHelper, Ready
from vyre.runtime.compile.worker import Pending, Refused
from vyre.runtime.devices import corrections
from vyre.runtime.devices.launcher import Launcher, Numbers, Prepared
from vyre.runtime.devices.opening import opening_of
from vyre.store.exchange.imported import imported_choice

_SHARED_NOISE = 0.1  # of one log time on cores that others use as well

TOGETHER = 4
"""Workgroups of one code that are compiled at once."""


@dataclass(frozen=True, slots=True)
class ProgramSteps:
    """Makes steps for launches of a program with the same numbers."""

    launcher: Launcher
    numbers: Numbers
    alignment: Mapping[str, int]

    def __call__(self, config: Config | None, *, if_ready: bool = False) -> Prepared | None:
        schedule = None if config is None else scheduled(config)
        if if_ready and schedule and not self.launcher.is_warm(self.numbers, schedule):
            return None
        step = self.launcher.prepare(self.numbers, self.alignment, schedule)
        self.launcher.warmed(self.numbers, step.schedule)
        return step

    def is_capturing(self, stream: int) -> bool:
        return self.launcher.device.backend.is_capturing(stream)


@dataclass(frozen=True, slots=True)
class ProgramSubject:
    """A program of Vyre's on a device, over one size."""

    launcher: Launcher
    numbers: Numbers
    alignment: Mapping[str, int]
    helper: CompileHelper

    def question(self) -> Question:
        pieces = self.asking()
        while True:
            try:
                next(pieces)
            except StopIteration as found:
                question: Question = found.value
                return question

    def asking(self) -> Generator[None, None, Question]:
        """The question, with a rest after each piece of work that takes about a millisecond."""
        launcher, info = self.launcher, self.launcher.device.info
        space = launcher.space(self.numbers, self.alignment)
        yield
        yield from corrections.renewing(launcher.device)
        guess = launcher.guess(space, self.numbers)
        yield
        workload = launcher.workload(self.numbers, self.alignment)
        # Neither workgroups that are named nor teams tell of what is corrected.
        reduces = launcher.facts.alone is not None
        if not launcher.is_named and not reduces:
            corrections.began(launcher, self.numbers, workload)
        return Question(
            workload=workload,
            name=launcher.kernel.name,
            device=info,
            default=space.default,
            candidates=guess.ordered,
            refused=tuple(str(one) for one in space.refused),
            expected=() if launcher.device.backend.compiles_per_workgroup else guess.expected,
            risk=risk(info, guess.gain, reduces=reduces) if guess.expected else 0.0,
            noise=_SHARED_NOISE if info.kind is DeviceKind.CPU else NOISE,
        )

    def is_ready(self, config: Config) -> bool:
        return self.launcher.is_warm(self.numbers, scheduled(config))

    def opening(self) -> Opening | None:
        """How calls begin where nothing is remembered; a program's first compiles."""
        launcher, numbers = self.launcher, self.numbers
        workload = launcher.workload(numbers, self.alignment)
        known = process.deciders().neighbours(workload)
        found = opening_of(launcher, numbers, self.alignment, workload, known)
        if found is not None:
            for code in launcher.loaded:
                launcher.warmed(numbers, Schedule(code.group or (1, 1, 1), code))
            for config in found.timed:  # calls that follow are quick, this one is not
                with suppress(VyreError):
                    launcher.prepare(numbers, self.alignment, scheduled(config))
        return found

    def fetch(self, configs: Sequence[Config], done: Callable[[], object]) -> BundleFetching:
        """Compile the first of these, and what is wanted of the same code, as one bundle.

        Where loading stops callers, the next codes come with it.
        """
        backend = self.launcher.device.backend
        first, *others = (scheduled(config) for config in configs)
        schedules = [first, *(one for one in others if not self.is_ready(one))]
        codes = tuple(dict.fromkeys(one.code for one in schedules))[: backend.loads_together]
        together = {code: [one for one in schedules if one.code == code] for code in codes}
        chosen = tuple(one for alike in together.values() for one in alike[:TOGETHER])
        warm: tuple[Warm, ...] = ()
        if backend.compiles_per_workgroup:
            warm = tuple(
                Warm(codes.index(one.code), one.block, tile_grid(self.numbers.extent, one))
                for one in chosen
            )
        bundle = Bundle(program=self.launcher.program, codes=codes, warm=warm)
        return BundleFetching(self, codes, chosen, self.helper.submit(bundle, done))


class BundleFetching:
    """A bundle on its way from the compile helper; what comes back is loaded.

    In short pieces, because callers share the interpreter, and only when the device is calm.
    """

    def __init__(
        self,
        subject: ProgramSubject,
        codes: tuple[Code, ...],
        schedules: tuple[Schedule, ...],
        pending: Pending[Ready],
    ) -> None:
        self._subject, self._codes, self._schedules = subject, codes, schedules
        self._pending = pending
        self._pieces = self._taking()

    def taken(self) -> Fetched | Later | None:
        return None if self._pending.poll() is None else next(self._pieces)

    def cancel(self) -> None:
        self._pending.cancel()

    def _taking(self) -> Iterator[Fetched | Later]:
        answer = self._pending.poll()
        assert answer is not None
        if isinstance(answer, Refused):
            if answer.by_helper:
                yield Fetched(broken=answer.reason)
            else:
                yield Fetched(failed=self._of_codes(dict.fromkeys(self._codes, answer.reason)))
            return
        pause_s = SOON_S
        while not self._is_calm():
            yield Later(pause_s)
            pause_s = min(2 * pause_s, LATE_S)
        refused = self._loaded(answer)
        yield Later()
        most = dict(zip(self._codes, answer.max_threads, strict=True))
        failed = {**self._of_codes(refused), **self._made_ready(refused, most)}
        yield Fetched(failed=failed, took_s=answer.cpu_s)

    def _is_calm(self) -> bool:
        try:
            return self._subject.launcher.device.backend.is_calm()
        except VyreError:
            return True  # what ails the device, loading will tell

    def _loaded(self, answer: Ready) -> dict[Code, str]:
        """Load what was compiled; the codes that cannot be, and why."""
        launcher = self._subject.launcher
        made = dict(zip(self._codes, answer.made or map(Compiled, answer.max_threads), strict=True))
        refused = {code: one.reason for code, one in made.items() if isinstance(one, Unbuilt)}
        kept = {code: one for code, one in made.items() if not isinstance(one, Unbuilt)}
        try:
            built = launcher.device.load(launcher.program, kept)
        except VyreError as error:
            return refused | dict.fromkeys(kept, error.problem)
        found = zip(kept, built, strict=True)
        return refused | {code: one.reason for code, one in found if isinstance(one, Unbuilt)}

    def _of_codes(self, reasons: Mapping[Code, str]) -> dict[Config, str]:
        """Every schedule that would need one of these codes."""
        if not reasons:
            return {}
        subject = self._subject
        legal = subject.launcher.space(subject.numbers, subject.alignment).legal
        known = (*self._schedules, *legal)
        return {one: reasons[one.code] for one in known if one.code in reasons}

    def _made_ready(self, refused: Container[Code], most: Mapping[Code, int]) -> dict[Config, str]:
        """Let calls launch what fits; the rest, and why not."""
        failed: dict[Config, str] = {}
        for schedule in self._schedules:
            if schedule.code in refused:
                continue
            threads, allowed = prod(schedule.block), most[schedule.code]
            if allowed and threads > allowed:
                failed[schedule] = f"{threads} threads; its registers allow {allowed}"
            else:
                self._subject.launcher.warmed(self._subject.numbers, schedule)
        return failed


def _imported(
    launcher: Launcher, numbers: Numbers, alignment: Mapping[str, int]
) -> Decision | None:
    """What a file of the Rust crate says that was imported, if it holds the program's key."""
    recorder = process.recorder()
    found = imported_choice(
        lambda workload: recorder.get(workload, writes=False),
        launcher.program,
        prod(numbers.extent),
        launcher.device.info,
    )
    if found is None:
        return None
    return Decision(
        workload=launcher.workload(numbers, alignment),
        config=replace(launcher.default(numbers), workgroup=found.workgroup),
        reason=Reason.REMEMBERED,
        detail="from an imported file of the Rust crate",
    )


def call_of(
    launcher: Launcher,
    numbers: Numbers,
    alignment: Mapping[str, int],
    helper: CompileHelper | None,
    *,
    workload: Workload | None = None,
    sweep: Callable[[], Decision] | None = None,
    advice: str = "",
) -> Call:
    """A launch of one of Vyre's programs, as something to decide about."""
    device = launcher.device
    backend, info = device.backend, device.info
    why_alone = launcher.why_alone(numbers)
    if helper is None:
        why_alone = why_alone or f"{device.name} runs every schedule alike"
    subject = ProgramSubject(launcher, numbers, alignment, helper)  # type: ignore[arg-type]  # left alone without one
    return Call(
        subject=subject,
        prepare=ProgramSteps(launcher, numbers, alignment),
        workload=workload or launcher.workload(numbers, alignment),
        name=launcher.kernel.name,
        device=info,
        default=launcher.default(numbers),
        size=launcher.size(numbers),
        is_legal=lambda config: config in launcher.space(numbers, alignment).legal,
        why_alone=why_alone,
        began=launcher.has_run,
        guess=lambda: _imported(launcher, numbers, alignment),
        opening=subject.opening,
        sweep=sweep,
        pace=Pace.beside(info, backend.unfelt_ns, backend.shortest_ns),
        clocks=backend.clocks,
        prepare_timing=backend.prepare_timing,
        advice=advice,
    )
