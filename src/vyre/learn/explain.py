"""What calls have come to: explanations of choices, and counts of all, for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from vyre.learn.decider import Decider
from vyre.learn.site import Site
from vyre.learn.standing import Standing
from vyre.model import (
    Config,
    Decision,
    Summary,
    html_rows,
    span,
)
from vyre.plain import elements, plain
from vyre.policy.measured import Measured

_SHOWN = 5  # schedules of a table
_MOST_SHOWN = 8  # workloads of an explanation
_LABEL = 12
_LONGEST = 1000  # letters of a line
_TEXT = 2 + _LABEL  # where a line's text begins


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """One workload of a kernel: what runs it, why, and what is known besides."""

    covers: tuple[int, ...]
    device: str
    decision: Decision
    default: Config
    dispatches: int
    evidence: tuple[Summary, ...] = ()  # what was timed, the fastest first
    candidates: int = 0
    legal: int = 0
    refused: tuple[str, ...] = ()
    failures: Mapping[Config, str] = field(default_factory=dict)
    timings: int = 0
    probes: int = 0
    explored_s: float = 0.0
    spent_s: float = 0.0
    saved_s: float = 0.0
    compiled: int = 0
    compiling_s: float = 0.0
    pending: int = 0
    throttled: int = 0
    throttled_by: tuple[str, ...] = ()
    next: str = ""
    stopped: str = ""

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        decision = self.decision
        what = elements(*self.covers) if self.covers else "calls"
        yield f"{what} on {self.device}"
        yield _line("runs", decision.config.text)
        yield _line("because", ": ".join(filter(None, (decision.reason.value, decision.detail))))
        if decision.config != self.default:
            if decision.gain is not None:
                sure = decision.confidence
                certain = "" if sure is None else f" ({sure:.0%} sure to be faster)"
                yield _line("gain", f"{decision.gain:.2f}x the default's speed{certain}")
            yield _line("default", self.default.text)
        yield _line("calls", f"{self.dispatches:,}, {self.timings:,} of them timed")
        if self.throttled:
            why = f" ({', '.join(self.throttled_by)})" if self.throttled_by else ""
            yield _line(
                "throttled", f"the device was, for {self.throttled:,} of the launches timed{why}"
            )
        if self.legal:
            yield _line("space", f"{self.candidates} candidates of {self.legal} legal configs")
        if self.spent_s:
            word = "saved" if self.saved_s >= 0 else "lost"
            yield _line(
                "learning",
                f"{self.probes} probes, {_share(self.explored_s, self.spent_s)} of "
                f"{_seconds(self.spent_s)}; {word} {_seconds(abs(self.saved_s))} so far",
            )
        if self.compiled or self.pending:
            yield _line(
                "compiled",
                f"{self.compiled} codes in {_seconds(self.compiling_s)}, {self.pending} under way",
            )
        base = [row for row in self.evidence[_SHOWN:] if row.config == self.default]
        for number, row in enumerate((*self.evidence[:_SHOWN], *base)):
            assert row.median_ns is not None
            speed = "" if row.speed is None else f"{row.speed:.2f}x"
            yield _line(
                "" if number else "fastest",
                f"{span(row.median_ns):>8} {speed:>7} {row.count:5} timings  {row.config.text}",
            )
        if self.stopped:
            yield _line("at rest", self.stopped)
        elif self.next:
            yield _line("next", self.next)
        for schedule, reason in list(self.failures.items())[:_SHOWN]:
            yield _line("dropped", f"{schedule.text}: {reason}")
        for text in self.refused:
            yield _line("left out", text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What `explain()` says: what is proved of something, and each workload that was called."""

    kernel: str
    free: bool
    proof: tuple[str, ...]  # the reasons why not, or the conditions
    workloads: tuple[Explained, ...]
    foreign: bool = False  # whether its configs are its author's word
    proved: bool = False  # of such a one: that each of its threads does the same under every block
    named: tuple[str, ...] = ()  # workgroups that compute the same, as its author states
    dropped: tuple[str, ...] = ()  # those of them that were seen not to, and how

    def __str__(self) -> str:
        if self.foreign:
            said = (
                "what each of its threads does is proved free of the block size"
                if self.proved
                else "that its configs compute the same is stated by its author"
            )
            lines = [f"{self.kernel}: {said}"]
            lines += [f"  {text}" for text in self.proof]
        elif self.named:
            *most, last = self.named
            listed = f"{', '.join(most)} and {last}" if most else last
            lines = [
                f"{self.kernel}: that its workgroups {listed} compute the same is stated by its "
                "author"
            ]
            lines += [f"  dropped {text}" for text in self.dropped]
        elif self.free:
            lines = [f"{self.kernel}: its result does not depend on how it is launched"]
            lines += [f"  as long as {text}" for text in self.proof]
        else:
            lines = [f"{self.kernel}: it is launched as declared, because"]
            lines += [f"  {text}" for text in self.proof]
        if not self.workloads:
            lines.append("  it has not been called in this process")
        lines += [f"\n{one}" for one in self._shown]
        if self._rest:
            lines.append(f"\n{self._rest}")
        return "\n".join(lines)

    @property
    def _said(self) -> int:
        """Lines below the first that are not about workloads."""
        return len(self.dropped) if self.named else len(self.proof)

    @property
    def _shown(self) -> tuple[Explained, ...]:
        """All that was called, or what was called most."""
        if len(self.workloads) <= _MOST_SHOWN:
            return self.workloads
        return tuple(sorted(self.workloads, key=lambda one: -one.dispatches)[:_MOST_SHOWN])

    @property
    def _rest(self) -> str:
        """How much is not shown, and how to see it."""
        more = len(self.workloads) - len(self._shown)
        calls = sum(one.dispatches for one in self.workloads)
        calls -= sum(one.dispatches for one in self._shown)
        if not more:
            return ""
        return (
            f"and {more:,} more, called {calls:,} times; explain(...) with a call's arguments "
            "tells of that call alone, and .workloads holds them all"
        )

    def _repr_html_(self) -> str:
        head, *proof = str(replace(self, workloads=())).splitlines()
        shown = [html_rows(head, [("", line.strip()) for line in proof[: self._said]])]
        for one in self._shown:
            head, *lines = str(one).splitlines()
            shown.append(html_rows(head, [(line[:_TEXT].strip(), line[_TEXT:]) for line in lines]))
        if self._rest:
            shown.append(html_rows(self._rest, ()))
        return "".join(shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """What learning has come to in this process."""

    dispatches: int
    workloads: int
    timings: int
    probes: int
    explored_s: float  # time of the launches that were probes
    spent_s: float  # time of all launches, as far as it is known
    saved_s: float  # against the defaults; below 0 where time was lost
    pending: int  # codes being compiled
    compiled: int
    compiling_s: float  # in the helper processes
    failures: tuple[tuple[str, Config, str], ...]  # kernel, schedule, reason

    @property
    def explored(self) -> float:
        """The share of time that went into probes."""
        return self.explored_s / self.spent_s if self.spent_s else 0.0

    def __str__(self) -> str:
        word = "saved" if self.saved_s >= 0 else "lost"
        lines = [
            f"{self.dispatches:,} calls of {self.workloads} workloads, {self.timings:,} timed",
            f"{self.probes:,} probes, {_share(self.explored_s, self.spent_s)} of "
            f"{_seconds(self.spent_s)}",
            f"{_seconds(abs(self.saved_s))} {word} against the defaults",
            f"{self.compiled} codes compiled in {_seconds(self.compiling_s)}, "
            f"{self.pending} under way",
        ]
        lines += [
            f"{name}: dropped {schedule.text}: {plain(why)}"
            for name, schedule, why in self.failures
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return html_rows(
            "What learning has come to", [("", line) for line in str(self).splitlines()]
        )


def explained(site: Site, evidence: Measured, covers: tuple[int, ...], device: str) -> Explained:
    """What is known of the calls at a site, as of now.

    Args:
        site: where they are made.
        evidence: what was measured of them.
        covers: the elements of one, along each axis.
        device: where they run, as people call it.
    """
    decider = site.decider
    decision = site.decision if decider is None else decider.standing.decision
    assert evidence.default is not None
    plain = Explained(
        covers=covers,
        device=device,
        decision=evidence.weigh(decision),
        default=evidence.default,
        dispatches=site.dispatches if decider is None else decider.dispatches,
        evidence=evidence.fastest,
        failures=site.failed,
    )
    return plain if decider is None else _learned(plain, decider.standing)


def _learned(plain: Explained, standing: Standing) -> Explained:
    """The same with what its learner knows besides."""
    policy, question, ledger = standing.policy, standing.question, standing.ledger
    dropped = sum(one in standing.failures for one in policy.space) if policy is not None else 0
    return replace(
        plain,
        candidates=len(policy.space) - dropped if policy is not None else 0,
        legal=len(question.candidates) if question is not None else 0,
        refused=question.refused if question is not None else (),
        failures={**plain.failures, **standing.failures},
        next=_next(standing),
        timings=ledger.timings,
        probes=ledger.probes,
        explored_s=ledger.explored_s,
        spent_s=ledger.spent_s,
        saved_s=ledger.saved_s,
        compiled=ledger.fetches,
        compiling_s=ledger.fetched_s,
        pending=ledger.fetching,
        throttled=ledger.throttled,
        throttled_by=ledger.throttled_by,
        stopped=standing.stopped,
    )


def counted(deciders: Iterable[Decider], sites: Iterable[Site]) -> Stats:
    """The counts of these deciders, and of the calls that nobody learns from."""
    all_of = [(decider, decider.standing) for decider in deciders]
    ledgers = [standing.ledger for _, standing in all_of]
    alone = [site for site in sites if site.decider is None]
    return Stats(
        dispatches=sum(one.dispatches for one, _ in all_of) + sum(s.dispatches for s in alone),
        workloads=len(all_of) + len(alone),
        timings=sum(ledger.timings for ledger in ledgers),
        probes=sum(ledger.probes for ledger in ledgers),
        explored_s=sum(ledger.explored_s for ledger in ledgers),
        spent_s=sum(ledger.spent_s for ledger in ledgers),
        saved_s=sum(ledger.saved_s for ledger in ledgers),
        pending=sum(ledger.fetching for ledger in ledgers),
        compiled=sum(ledger.fetches for ledger in ledgers),
        compiling_s=sum(ledger.fetched_s for ledger in ledgers),
        failures=tuple(
            (decider.name, config, reason)
            for decider, standing in all_of
            for config, reason in standing.failures.items()
        ),
    )


def _next(standing: Standing) -> str:
    return "" if standing.next is None else f"{standing.next.text}: {standing.because}"


def _line(label: str, text: str) -> str:
    return f"  {label:<{_LABEL}}{plain(text, _LONGEST)}"  # some of it comes from a store


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.1%}" if whole else "0.0%"


def _seconds(seconds: float) -> str:
    """A span as people say it.

    >>> _seconds(0.0123), _seconds(12.3)
    ('12.3 ms', '12.3 s')
    """
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"
