"""Where a call's launch is decided: what is remembered, swept, learned, or left alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from vyre.errors import InvalidInput, NotRemembered
from vyre.learn import process
from vyre.learn.decider import Decider
from vyre.learn.explain import Explained, Explanation, explained
from vyre.learn.pace import Pace
from vyre.learn.rules import Rule, rule
from vyre.learn.site import Site
from vyre.learn.subject import Opening, Prepare, Subject
from vyre.model import Clocks, Config, Decision, DeviceInfo, Mode, Reason, Workload
from vyre.plain import elements
from vyre.policy.table import DEFAULT_POLICY
from vyre.substrate.fixed import step


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Calls with the same numbers: everything that deciding how to launch them asks for.

    Args:
        subject: what is launched.
        prepare: makes steps for these very numbers.
        workload: what a choice is remembered for.
        name: what people call it.
        device: where it runs.
        default: how it runs where nothing is known.
        size: elements of a dispatch.
        is_legal: whether a config that somebody remembered may run it.
        why_alone: why it always runs its default; None where it may be learned.
        began: whether something of the kind has run in this process.
        guess: what is decided where nothing is remembered, such as what a file said.
        opening: how calls begin where nothing is decided; it may compile, in a program's first.
        sweep: looks for the best at once; where there is none, mode `on` sweeps call by call.
        pace: how quickly to learn.
        clocks: what the device says of its clocks.
        prepare_timing: gets ready to time launches; whether no more is to be done.
        advice: what to do about a choice that is not remembered and must be.
    """

    subject: Subject
    prepare: Prepare
    workload: Workload
    name: str
    device: DeviceInfo
    default: Config
    size: int
    is_legal: Callable[[Config], bool] = lambda _: True
    why_alone: str | None = None
    began: bool = False
    guess: Callable[[], Decision | None] = lambda: None
    opening: Callable[[], Opening | None] = lambda: None
    sweep: Callable[[], Decision] | None = None
    pace: Pace = field(default_factory=Pace)
    clocks: Callable[[], Clocks | None] = lambda: None
    prepare_timing: Callable[[], bool] = lambda: True
    advice: str = "let it be learned first, in a process that is not frozen"

    def __post_init__(self) -> None:
        if self.size < 1:
            raise InvalidInput(
                f"calls of {self.name} over {elements(self.size)}",
                "give a size of at least 1, and launch nothing where there is nothing to do",
            )

    @classmethod
    def of(
        cls, subject: Subject, prepare: Prepare, *, size: int = 1, pace: Pace | None = None
    ) -> Call:
        """The call of a subject as its question describes it."""
        question = subject.question()
        return cls(
            subject=subject,
            prepare=prepare,
            workload=question.workload,
            name=question.name,
            device=question.device,
            default=question.default,
            size=size,
            is_legal=frozenset(question.candidates).__contains__,
            pace=pace or Pace.beside(question.device),
        )


def site_of(call: Call, by: Rule | None = None) -> Site:
    """The site of calls without an override.

    What cannot be proved free is left alone. Then comes what is remembered; then, by the mode, a
    sweep, a learner, or the default.

    Raises:
        NotRemembered: the process is frozen, and nothing is remembered for this call.
    """
    by = by or rule()
    default = Decision(workload=call.workload, config=call.default, reason=Reason.DEFAULT)
    if call.why_alone is not None:
        left_alone = replace(default, reason=Reason.NOT_FREE, detail=call.why_alone)
        return process.alone(Site(call.size, call.prepare, left_alone))
    recorder, workload = process.recorder(), call.workload
    learns = by.mode is Mode.NATURAL_GRADIENT
    # Once a kernel runs, what is remembered for more of its sizes is looked up beside the calls.
    found = recorder.at_hand(workload)
    if found is None and not (learns and call.began):
        found = recorder.get(workload, writes=by.mode.writes)
    known = None
    if found is not None and call.is_legal(found.config):
        known = replace(found, reason=Reason.REMEMBERED)
    if known is None and not (learns and call.began):
        guess = call.guess()
        known = guess if guess is not None and call.is_legal(guess.config) else None
    if learns or (by.mode is Mode.ON and call.sweep is None and known is None):
        policy = by.policy if learns else "sweep"
        deciders = process.deciders()
        opening = None
        if known is None and policy == DEFAULT_POLICY and deciders.find(workload, policy) is None:
            opening = call.opening()  # here, because nobody else has to wait for what it compiles
        decider = deciders.of(workload, lambda: _decider(call, known, opening, policy), policy)
        return Site(call.size, call.prepare, decider.standing.decision, decider)
    if known is None and by.mode is Mode.ON and call.sweep is not None:
        process.deciders().forget(workload)  # or what calls are learning would come after it
        known = process.swept(workload, call.sweep)
        if (decided := recorder.at_hand(workload)) is not None:
            process.deciders().tuned(decided)  # calls that learn run it as well
    if known is None and by.strict:
        raise NotRemembered(
            f"nothing is remembered for {call.name} over {elements(call.size)} on "
            f"{call.device.model}, and this process is frozen",
            call.advice,
        )
    off = replace(default, reason=Reason.OFF, detail="nothing is remembered")
    site = process.alone(Site(call.size, call.prepare, known or off))
    recorder.follow(site)
    news = recorder.at_hand(workload)
    if news is not None and news is not found:  # decided while this was
        site.hear(news)
    return site


def _decider(call: Call, known: Decision | None, opening: Opening | None, policy: str) -> Decider:
    deciders = process.deciders()
    return Decider(
        deciders.desk,
        call.subject,
        process.recorder(),
        name=call.name,
        workload=call.workload,
        default=call.default,
        size=call.size,
        known=known,
        opening=opening,
        pace=call.pace,
        policy=policy,
        step=step,
        clocks=call.clocks,
        prepare_timing=call.prepare_timing,
        neighbours=deciders.neighbours,
        guess=call.guess,
    )


def explain(name: str, called: Iterable[tuple[Call, Site]]) -> Explanation:
    """What is known of something whose configs are its author's word, by the calls made of it.

    Args:
        name: what people call it.
        called: each kind of call, and the site that `site_of` gave for it.
    """
    seen: dict[object, Explained] = {}
    for call, site in called:
        like = site.decider or site
        if like not in seen:
            question = call.subject.question()
            able = frozenset(question.candidates)
            evidence = process.recorder().evidence(call.workload, able, call.default)
            covers = (call.size,) if call.size > 1 else ()  # or nobody knows
            seen[like] = explained(site, evidence, covers, call.device.model)
    return Explanation(
        kernel=name, free=True, proof=(), workloads=tuple(seen.values()), foreign=True
    )
