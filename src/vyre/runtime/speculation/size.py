"""Calls of one size on one device: which way runs them at the present hit rate."""

from __future__ import annotations

import time
from dataclasses import replace
from math import exp

import blake3

from vyre.backend.base import Ticket
from vyre.errors import VyreError
from vyre.learn import process
from vyre.learn.decide import Call, site_of
from vyre.learn.pace import Pace
from vyre.learn.rules import Rule
from vyre.learn.site import Site
from vyre.model import Config, Decision, DeviceKind, Mode, Reason, Workload
from vyre.policy.speculate import AdaptiveSpeculator
from vyre.policy.ways import Way, regime_of, way_of
from vyre.runtime.speculation.programs import Programs, Tail
from vyre.runtime.speculation.ways import (
    CLOSE,
    SLICES,
    Items,
    Taken,
    Told,
    WayStep,
    WaySteps,
    WaySubject,
)

READING_SHARE = 0.002
"""The share of the time that may go into reading counters; on PoCL one reading takes 0.1 ms.

Callers feel five times as much of it (H200): they share the driver's lock and the interpreter.
"""

LONGEST_PAUSE_NS = 100_000_000
"""Between readings; one that was interrupted must not stop the learning for seconds."""

SHARE = {DeviceKind.CPU: 0.002, DeviceKind.GPU: 0.003}
ADVANCE_S = {DeviceKind.CPU: 0.002, DeviceKind.GPU: 0.0}
"""Of the time, that learning may take, and what it may take in advance.

On a GPU a call may be over in 0.1 ms, and a caller waits for what the thread that learns computes.
"""


REST_S = 0.05
"""At least, between two looks at a settled choice: one costs a call of 1 ms as much again."""

COUNTS_NS = {DeviceKind.CPU: 0, DeviceKind.GPU: 200_000_000}
BEGINS_NS = {DeviceKind.CPU: 400_000_000, DeviceKind.GPU: 200_000_000}
MOST_GAP_NS = {DeviceKind.CPU: 5_000_000, DeviceKind.GPU: 2_000_000}
"""What calls must have taken before hits are counted, and before anything is learned.

And what counts of the time from one call to the next. To begin costs callers 4 ms on an H200 and
10 ms on two cores that run the calls, too: the store is read, and the interpreter shared. Until
then the guess runs; on a CPU it is made by the hit rate, which is cheap to know there.
"""

MOST_WARM = 1024
"""Numbers of items that are known to be compiled for; a stream of ever-new ones starts anew."""


class Size:
    """One size of call; used by one call at a time, and by the thread that learns."""

    def __init__(
        self,
        programs: Programs,
        name: str,
        items: int,
        buckets: tuple[int, ...],
        able: tuple[Way, ...],
        speculator: AdaptiveSpeculator,
    ) -> None:
        self.programs, self.name, self.items = programs, name, items
        self.able, self.rate = able, None
        self._buckets, self._speculator = buckets, speculator
        self._regime: int | None = None  # of the latest call that was counted
        self._sites: dict[tuple[Rule, int | None, bool], Site] = {}  # by regime, and if it learns
        self._close: set[tuple[int | None, Way]] = set()  # that only whole calls tell apart
        self._due_ns, self._cost_ns = 0, 0.0
        self._warm: set[int] = set()  # calls of so many items are compiled for
        self._remembered: Config | None = None  # for the next process
        self._trouble: VyreError | None = None
        self._latest: Site | None = None  # of the latest call
        self._seen_ns, self._called_ns = 0, 0  # what calls have taken, and when the latest was made

    rate: float | None

    def warm(self, given: Items) -> None:
        """Let a driver that compiles at the first launch do so now, for every way."""
        if given.items in self._warm:
            return
        self._warm = {given.items} if len(self._warm) >= MOST_WARM else self._warm | {given.items}
        least, share = SLICES[self.programs.device.info.kind]
        for way in self.able:
            for items in (given.items, max(least, given.items // share)):
                self.programs.warm(way, given.arrays, given.scalars, given.items, items)

    def launch(self, given: Items, by: Rule) -> list[Ticket]:
        """Run a call the way that is best at the present hit rate, or as is asked."""
        if self._trouble is not None:
            trouble, self._trouble = self._trouble, None
            raise trouble
        now = time.perf_counter_ns()
        kind = self.programs.device.info.kind
        self._seen_ns += min(now - self._called_ns, MOST_GAP_NS[kind])
        self._called_ns = now
        site, regime = self._site(by), self._regime
        self._latest = site
        step, asked = site.take()
        if asked is not None:
            return self._asked(site, regime, step, asked, given)
        early = self._seen_ns < COUNTS_NS[kind]
        if early or by.mode is Mode.OFF or now < self._due_ns:
            started: list[Ticket] = step.start((given,), 0)
            return started
        self._due_ns = now + LONGEST_PAUSE_NS  # until it is read
        tail = self.programs.tail()
        taken = step.timed((replace(given, tail=tail),), 0)
        self._watch(taken, tail, None, None)
        launched: list[Ticket] = taken.pieces[0]
        return launched

    def _asked(
        self, site: Site, regime: int | None, step: WayStep, asked: Config, given: Items
    ) -> list[Ticket]:
        """Run a call, or a slice of it, the way whose time is asked for."""
        tail, best = self.programs.tail(), way_of(site.chosen)
        counted = (replace(given, tail=tail),)
        taken = None
        try:
            if step.way is not best and (regime, step.way) not in self._close:
                taken = step.sliced(counted, 0, best)
            if taken is None:
                taken = step.timed(counted, 0)
        except BaseException:  # an error of a way is the call's own: its programs have run before
            site.lost()
            raise
        self._watch(taken, tail, (site, regime), asked)
        return [ticket for launched in taken.pieces for ticket in launched]

    def _watch(
        self,
        taken: Taken,
        tail: Tail,
        asked_at: tuple[Site, int | None] | None,
        asked: Config | None,
    ) -> None:
        """Hear of a launch when it has ended, on the thread that learns."""
        desk = process.deciders().desk

        def heard(came: int | VyreError | None) -> None:
            self._heard(tail, came)
            if asked_at is not None and asked is not None:
                self._tell(*asked_at, asked, taken, came)

        desk.post(lambda: desk.watch(taken, heard))

    def _heard(self, tail: Tail, came: int | VyreError | None) -> None:
        """Count the hits of a call that has ended."""
        if not isinstance(came, int):
            return
        began = time.perf_counter_ns()
        try:
            report = self.programs.report(tail)
        except VyreError as error:
            self._trouble = error
            return
        ended = time.perf_counter_ns()
        took = ended - began
        self._cost_ns = took if self._cost_ns == 0 else 0.75 * self._cost_ns + 0.25 * took
        self._due_ns = ended + round(min(self._cost_ns / READING_SHARE, LONGEST_PAUSE_NS))
        self._speculator.record(report)
        self.rate = report.rate
        known = {regime for _, regime, _ in tuple(self._sites) if regime is not None}
        self._regime = regime_of(report.rate, known)

    def _tell(
        self,
        site: Site,
        regime: int | None,
        asked: Config,
        taken: Taken,
        came: int | VyreError | None,
    ) -> None:
        """Tell the learner what came of what it asked for, if that is of its own hit rate."""
        if not isinstance(came, int) or came == 0 or regime != self._regime:
            site.lost()
        elif taken.share < 1.0 and taken.ratio < CLOSE:
            self._close.add((regime, way_of(asked)))  # and asked for again, over a whole call
            site.lost()
        else:
            site.ran(asked, Told(came), taken.share)
        self._remember(site)

    def _remember(self, site: Site) -> None:
        """Keep what runs now for the next process, which does not know the hit rate at first."""
        decision = site.decision if site.decider is None else site.decider.standing.decision
        sure = decision.reason in (Reason.ADOPTED, Reason.DEFAULT, Reason.TAKEN_BACK)
        if sure and decision.config != self._remembered:
            self._remembered = decision.config
            detail = f"as at {self.rate:.2%} hits" if self.rate is not None else ""
            latest = replace(decision, workload=self._workload(None), detail=detail)
            process.recorder().put(latest)

    def _site(self, by: Rule) -> Site:
        """Where calls are decided at the present hit rate."""
        regime, learns = self._regime, by.mode is not Mode.OFF
        if self._seen_ns < BEGINS_NS[self.programs.device.info.kind]:
            learns = False
            if self._starts_remembered(by):
                regime = None  # it ran last, at about this hit rate more likely than not
        key = (by, regime, learns)
        site = self._sites.get(key)
        if site is None:
            site = self._sites[key] = self._opened(by, regime, learns=learns)
        return site

    def _starts_remembered(self, by: Rule) -> bool:
        first = self._sites.get((by, None, False))
        return first is not None and first.decision.reason is Reason.REMEMBERED

    def _opened(self, by: Rule, regime: int | None, *, learns: bool) -> Site:
        workload, guess = self._workload(regime), self._guess(regime)
        steps = WaySteps(self.programs, guess)
        info = self.programs.device.info
        kind = info.kind
        if regime is None or not learns:
            latest = self._latest_choice(by) if regime is None else None
            decision = Decision(workload=workload, config=guess.knobs, reason=Reason.COLD_START)
            if latest is not None and latest.config in {way.knobs for way in self.able}:
                decision = replace(latest, reason=Reason.REMEMBERED)
            return Site(self.items, steps, decision)
        able = tuple(dict.fromkeys((guess, *self.able)))
        refused = tuple(f"{way}: {why}" for way, why in self.programs.refused.items())
        call = Call(
            subject=WaySubject(self.programs, self.name, workload, able, refused),
            prepare=steps,
            workload=workload,
            name=self.name,
            device=info,
            default=guess.knobs,
            size=self.items,
            is_legal=lambda config: config in {way.knobs for way in able},
            why_alone="no other way can run here" if len(able) == 1 else None,
            began=True,
            pace=replace(
                Pace.beside(info),
                share=SHARE[kind],
                advance_s=ADVANCE_S[kind],
                shortest_s=REST_S,
                at_once=1,
            ),
            clocks=self.programs.device.backend.clocks,
            prepare_timing=self.programs.device.backend.prepare_timing,
        )
        return site_of(call, by)

    def _latest_choice(self, by: Rule) -> Decision | None:
        """What ran last, in this process or in one before; a disk is asked for the first size."""
        recorder, workload = process.recorder(), self._workload(None)
        if self._speculator.samples and by.mode.writes:
            return recorder.at_hand(workload)
        return recorder.get(workload, writes=by.mode.writes)

    def _guess(self, regime: int | None) -> Way:
        """By the commit rate, as long as nothing is measured; a GPU seldom gains from two launches.

        What a neighbouring hit rate taught is found by the learner.
        """
        serial = self._speculator.should_speculate() is False
        if regime is not None:
            serial = (self.rate or 0.0) * 1e6 < self._speculator.threshold_ppm
        serial = serial and self.programs.device.info.kind is DeviceKind.CPU
        guess = Way.SERIAL if serial else Way.GATED
        return guess if guess in self.able else self.able[0]

    def _workload(self, regime: int | None) -> Workload:
        """What a choice is remembered for; without a regime, what ran last."""
        fused, info = self.programs.fused, self.programs.device.info
        names = (fused.compact, fused.gathered, fused.gated, fused.eager)
        hasher = blake3.blake3(b"speculation")
        for translation in names:
            hasher.update(translation.program.fingerprint())
        of_rate = () if regime is None else (regime,)
        return Workload(
            fingerprint=hasher.digest(),
            buckets=(*self._buckets, *of_rate),
            traits=("speculation", *(way.value for way in self.able)),
            device=info.identity,
            toolchain=info.toolchain,
        )

    def explain(self) -> str:
        """Which way runs at the present rate, and what speaks for it."""
        site = self._latest
        if site is None:
            return f"{self._guess(None)}: a guess, nothing has been measured yet"
        decision = site.decision if site.decider is None else site.decider.standing.decision
        if self.rate is None or (decision.reason is Reason.COLD_START and site.decider is None):
            known = "remembered" if decision.reason is Reason.REMEMBERED else "a guess"
            return f"{way_of(decision.config)}: {known}, nothing has been measured yet"
        why = ": ".join(filter(None, (decision.reason.value, decision.detail)))
        return f"{way_of(decision.config)} at {self.rate:.2%} hits: {why}{self._others(site)}"

    def _others(self, site: Site) -> str:
        """What is known of the other ways."""
        decider = site.decider
        if decider is None or decider.standing.policy is None:
            return ""
        ratios, best = decider.standing.policy.ratios(), decider.best
        words = []
        for way in self.able:
            if way.knobs != best:
                known = way.knobs in ratios and best in ratios
                ratio = exp(ratios[way.knobs] - ratios[best]) if known else None
                words.append(f"{way} not compared yet" if ratio is None else f"{way} {ratio:.2f}x")
        timings = decider.standing.ledger.timings
        return f"; of its time, {', '.join(words)} ({timings} timings)" if words else ""
