"""Calls of kernels that Vyre did not write: each runs one config once, and the best is learned."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from random import Random
from statistics import median
from typing import Any

from vyre.adapter.beside import compiling
from vyre.adapter.failure import of_the_caller
from vyre.adapter.kept import make_room
from vyre.adapter.kind import Copies, Kind, Place, Start, Variants
from vyre.adapter.looks import Key
from vyre.adapter.made import Admitted, Fetch, ForeignSubject, Made, knobs_of
from vyre.adapter.proof import Proof
from vyre.adapter.trial.trials import Check, Trials
from vyre.errors import InvalidInput, VyreError
from vyre.learn import process
from vyre.learn.conclude import conclude
from vyre.learn.decide import Call, explain, site_of
from vyre.learn.explain import Explanation
from vyre.learn.rules import Rule, deciding
from vyre.learn.site import Site
from vyre.learn.subject import Fetched
from vyre.model import Config, Decision, Failed, Knobs, Reason, Workload
from vyre.policy.contest import Contest, Late, Progress
from vyre.policy.measured import is_time
from vyre.runtime.compile.worker import Pending, Refused

_MOST_KINDS = 4096
"""Kinds of calls that are told apart; a stream of ever-new ones forgets the oldest."""

_MOST_TRIED = 64
"""Workloads whose arguments are kept as copies, for trials."""

_BLOCK_S, _MOST_LAUNCHES = 0.001, 12
"""A sample of a sweep is the median of launches that last this long together."""

_UNGUARDED = "not guarded: one that crashes or hangs does so here; check=True tries them"


class Calls:
    """Decides the calls of one kernel, kind by kind; any thread may use it."""

    def __init__(self, name: str, *, check: Check | None = None) -> None:
        self.name, self.check = name, check
        self._entries: dict[tuple[Rule, Hashable], Entry] = {}
        self.again: dict[Key, Entry] = {}  # the same, by what is quick to see
        self._admitted: dict[Workload, Admitted] = {}  # kinds of a workload share their trials

    def find(self, key: Hashable) -> Entry | None:
        """The entry of calls that were made before under this key, and by the present rule."""
        return self._entries.get((deciding(), key))

    def add(self, key: Hashable, kind: Kind, variants: Variants, arguments: Sequence[Any]) -> Entry:
        """The entry of a new kind of call, of which these are the arguments.

        Raises:
            VyreError: none of its configs can be launched, or not as `check=` asks.
            NotRemembered: the process is frozen, and nothing is remembered for this call.
        """
        by = deciding()
        if not kind.configs:
            raise InvalidInput(f"{kind.name} without a config", "name at least one")
        if self.check is not None:
            kind = replace(kind, traits=(*kind.traits, f"checked {self.check.text}"))
        admitted = Admitted(kind.configs[0])
        if self.check is not None and by.mode.writes:
            admitted = self._tried(kind, variants, arguments, self.check)
        entry = Entry(kind, Made(variants, admitted), by)
        make_room(self._entries, _MOST_KINDS)
        return self._entries.setdefault((by, key), entry)

    def keep(self, key: Key, entry: Entry) -> Entry:
        """Find an entry `again` by its rule and this; the rule of now may be another one."""
        make_room(self.again, _MOST_KINDS)
        self.again[entry.by, *key] = entry
        return entry

    def alike(self, key: Hashable, entry: Entry) -> Entry:
        """An entry as that of calls under another key as well."""
        make_room(self._entries, _MOST_KINDS)
        return self._entries.setdefault((entry.by, key), entry)

    def _tried(
        self, kind: Kind, variants: Variants, arguments: Sequence[Any], check: Check
    ) -> Admitted:
        """What may serve calls of a kind, once its first config, or what is remembered, may."""
        workload = kind.workload
        known = self._admitted.get(workload)
        if known is not None:
            return known
        admitted = Admitted(kind.configs[0], _trials(kind, variants, arguments, check))
        remembered = process.recorder().get(workload)
        if remembered is not None and remembered.config in kind.configs:
            admitted.passed.add(knobs_of(remembered.config))  # in an earlier process
        else:
            admitted.begin(kind.configs)
        make_room(self._admitted, _MOST_TRIED)
        return self._admitted.setdefault(workload, admitted)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Where calls that were made are launched from, the oldest first."""
        return tuple(self._entries.values())

    def explain(self, proof: Proof | None = None) -> Explanation:
        """What is known of the kernel, by the calls made of it in this process.

        Args:
            proof: what is known of its threads, where anything is looked for.
        """
        explained = explain(self.name, [(one.call, one.site) for one in self.entries])
        lines = () if proof is None else proof.lines
        proved = proof is not None and proof.lacks is None
        return replace(explained, proved=proved, proof=(*lines, self._guard()))

    def _guard(self) -> str:
        if self.check is None:
            return _UNGUARDED
        return (
            f"checked: each ran on copies first, and wrote what the first does, {self.check.text}"
        )


class Entry:
    """One kind of call of a kernel: where it is launched from."""

    __slots__ = ("_coming", "_fetching", "by", "call", "made", "place", "site")

    def __init__(self, kind: Kind, made: Made, by: Rule) -> None:
        self.place, self.made, self.by = kind.place, made, by
        self._fetching = threading.Lock()  # held by who looks after what is made beside the calls
        self._coming: tuple[Knobs, Fetch] | None = None
        subject, steps = ForeignSubject(kind, made), _Steps(made, kind.place)
        if by.mode.writes:  # or nothing is timed
            kind.place.prepare()  # kernels of Vyre's have no time for that before their first guess
        call = Call.of(subject, steps, size=kind.size, pace=kind.place.pace)
        self.call = replace(
            call,
            clocks=kind.place.clocks,
            prepare_timing=kind.place.prepare,
            opening=subject.opening,
        )
        self.site: Site = site_of(self.call, by)

    @property
    def chosen(self) -> Knobs:
        """What runs while nothing is asked for."""
        return knobs_of(self.site.chosen)

    @property
    def decision(self) -> Decision:
        """What was decided, and why."""
        decider = self.site.decider
        return self.site.decision if decider is None else decider.standing.decision

    def launch(self, arguments: Sequence[Any], stream: int = 0) -> Any:
        """Make a call: one config runs once; what the library gives for it."""
        self.site.tick()
        return self.counted(arguments, stream)

    def counted(self, arguments: Sequence[Any], stream: int = 0) -> Any:
        """Make a call that is counted already."""
        site = self.site
        if site.asked:
            found = None if self.place.is_capturing(stream) else site.next_asked()
            if found is not None:
                return self._launch_timed(*found, arguments, stream)
        start = site.best or self._refreshed(stream)
        try:
            return start(arguments, stream)
        except VyreError as error:
            fell = error  # and no longer handled, or what is raised next would show it as its cause
        try:
            return self.instead(start, fell, arguments, stream)
        finally:
            del fell  # which holds this frame, and the caller's arrays with it

    def instead(self, start: Start, error: VyreError, arguments: Sequence[Any], stream: int) -> Any:
        """Launch the default where a start has failed, and drop its config."""
        try:
            return self._launch_default(self._config_of(start), error, arguments, stream)
        finally:
            del error

    def _refreshed(self, stream: int) -> Start:
        """What to launch after the choice has changed; in a capture, what is made already."""
        made, chosen = self.made, self.chosen
        if made.starts and self.place.is_capturing(stream):
            for knobs in (chosen, made.default):
                if knobs in made.starts:
                    return made.starts[knobs]
        if not made.is_ready(chosen) and made.is_ready(made.default):
            self._fetch(chosen)  # it is remembered, and calls do not wait for it
            if not made.is_ready(chosen):
                usual = made(None)
                assert usual is not None, "it is ready"
                return usual
        start: Start = self.site.refreshed()
        return start

    def _fetch(self, knobs: Knobs) -> None:
        """Have a choice made beside the calls; where it cannot be, drop it."""
        if not self._fetching.acquire(blocking=False):
            return  # another call looks after it
        try:
            if self._coming is None or self._coming[0] != knobs:
                self._coming = knobs, Fetch(self.made, knobs, lambda: None)
            came = self._coming[1].taken()
            if isinstance(came, Fetched):
                self._coming = None
                for reason in came.failed.values():
                    self._drop(knobs, reason)
        finally:
            self._fetching.release()

    def _drop(self, knobs: Knobs, reason: str) -> None:
        if self.site.decider is not None:
            self.site.decider.fell(knobs, reason)
        else:
            self._leave(knobs, reason)

    def _launch_timed(
        self, start: Start, asked: Config, arguments: Sequence[Any], stream: int
    ) -> Any:
        """The launch whose time is asked for, timed; what is usual where it cannot be made."""
        site = self.site
        given: list[Any] = []

        def launch() -> Any:
            given.append(start(arguments, stream))
            return given[0]

        try:
            ticket = self.place.time(stream, launch)
        except VyreError as error:
            fell = error
        except BaseException:
            site.lost()
            raise
        else:
            site.ran(asked, ticket)
            return given[0]
        if given:  # it was launched, and only its time is not to be had
            site.lost()
            return given[0]
        try:
            return self._launch_default(asked, fell, arguments, stream, asked=True)
        finally:
            del fell

    def _config_of(self, start: Start) -> Config:
        """The config that a start launches; another thread may have chosen anew since."""
        made = tuple(self.made.starts.copy().items())
        return next((knobs for knobs, one in made if one is start), self.site.chosen)

    def _launch_default(
        self,
        config: Config,
        error: VyreError,
        arguments: Sequence[Any],
        stream: int,
        *,
        asked: bool = False,
    ) -> Any:
        """Launch the default where a config failed, and drop that."""
        site = self.site
        if config == self.made.default:
            if asked:
                site.lost()
            try:
                raise of_the_caller(error)
            finally:
                del error
        given: list[Any] = []

        def launch(usual: Start | None) -> None:
            assert usual is not None, "the default is made wherever it is asked for"
            given.append(usual(arguments, stream))

        try:
            if site.decider is not None:
                site.fall_back(config, error, launch, asked=asked)
            else:
                launch(self.made(None))
        except VyreError as also:
            fell = also
        else:
            if site.decider is None:
                self._leave(config, error.problem)
            return given[0]
        try:
            raise of_the_caller(fell)
        finally:
            del fell, error

    def _leave(self, config: Config, reason: str) -> None:
        """Run the default from now on, where nobody learns."""
        self.site.decision = Decision(
            workload=self.call.workload,
            config=self.made.default,
            reason=Reason.DEFAULT,
            detail=f"{config.text} was chosen, and failed: {reason}",
        )
        self.site.best = None

    def tune(
        self,
        arguments: Sequence[Any],
        *,
        copies: Callable[[Sequence[Any]], Sequence[Any]],
        stream: int = 0,
        budget_s: float = 2.0,
        progress: Callable[[Progress], None] | None = None,
        seed: int = 0,
    ) -> Decision:
        """Sweep the configs on copies of a call's arguments, and remember the fastest.

        Raises:
            KeyboardInterrupt: the user's own, after what was found by then is safe.
        """
        self.place.prepare()
        question = self.call.subject.question()
        workload, recorder = question.workload, process.recorder()
        process.deciders().forget(workload)  # or what calls are learning would come after it
        given = tuple(copies(arguments))
        recorder.name(workload, question.name, question.device)
        ahead = _Ahead(self, lambda: sweep.left_s)
        sweep = Contest(
            default=question.default,
            candidates=question.candidates,
            ready=ahead,
            measure=lambda config: self._measure(knobs_of(config), given, stream),
            clock=time.monotonic,
            budget_s=budget_s,
            rng=Random(seed),
            report=progress,
            told=lambda outcome: recorder.record(workload, outcome, self.call.size),
        )

        def put(decision: Decision) -> None:
            recorder.put(decision)
            process.deciders().tuned(decision)
            self.site.hear(decision)

        try:
            return conclude(
                sweep,
                workload,
                question.candidates,
                recorder,
                over=ahead.cancel,
                put=put,
                noun="config",
            )
        finally:
            self.site.failed = {config: one.reason for config, one in sweep.failed.items()}

    def _measure(self, knobs: Knobs, arguments: Sequence[Any], stream: int) -> float | Failed:
        """The median time of a block of launches."""
        times: list[float] = []
        deadline = time.monotonic() + _BLOCK_S
        try:
            start = self.made(knobs)
            assert start is not None
            while len(times) < _MOST_LAUNCHES:
                ticket = self.place.time(stream, lambda: start(arguments, stream))
                if ticket is None:
                    return Failed(knobs, "the device gives no times")
                ticket.wait()
                elapsed = ticket.elapsed_ns()
                if elapsed is not None and is_time(elapsed):
                    times.append(elapsed)
                if time.monotonic() >= deadline:
                    break
        except VyreError as error:
            return Failed(knobs, error.problem)
        return median(times) if times else Failed(knobs, "the device gives no times")


class _Steps:
    """A `Prepare` of an entry."""

    def __init__(self, made: Made, place: Place) -> None:
        self._made, self._place = made, place

    def __call__(self, config: Config | None, *, if_ready: bool = False) -> Any:
        return self._made(config, if_ready=if_ready)

    def is_capturing(self, stream: int) -> bool:
        return self._place.is_capturing(stream)


def _trials(kind: Kind, variants: Any, arguments: Sequence[Any], check: Check) -> Trials:
    if not hasattr(variants, "portable"):
        raise InvalidInput(
            f"check= of {kind.name}, which cannot be had in another process", "leave check= out"
        )
    able: Copies = variants
    return Trials(able, arguments, check)


class _Ahead:
    """Compiles, and tries, what a sweep is about to measure."""

    def __init__(self, entry: Entry, left_s: Callable[[], float]) -> None:
        self._made, self._left_s = entry.made, left_s
        self._compiling: dict[Config, Pending[Any]] = {}

    def announce(self, configs: Sequence[Config]) -> None:
        variants = self._made.variants
        for knobs in map(knobs_of, configs):
            if knobs in self._compiling or self._made.is_ready(knobs):
                continue
            job = None if variants.is_ready(knobs) else variants.job(knobs)
            if job is not None:
                self._compiling[knobs] = compiling().submit(job)

    def wait(self, config: Config) -> Failed | Late | None:
        knobs = knobs_of(config)
        pending = self._compiling.get(knobs)
        if pending is not None:
            answer = pending.wait(max(0.0, self._left_s()))
            if answer is None:
                return Late()
            if isinstance(answer, Refused) and not answer.by_helper:
                return Failed(knobs, answer.reason)
        admitted = self._made.admitted
        if admitted.trials is not None and knobs not in admitted:
            tried = admitted.trials.submit(admitted.default, knobs).wait(max(0.0, self._left_s()))
            if tried is None:
                return Late()
            if isinstance(tried, Refused):
                return Failed(knobs, tried.reason)
            admitted.passed.add(knobs)
        return None

    def cancel(self) -> None:
        for pending in self._compiling.values():
            pending.cancel()
