"""What there is to choose from is known: begin with what was decided before, or a guess."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vyre.learn.events import Began, Moment, Record
from vyre.learn.inheritance import Inherited
from vyre.learn.learner.fetch import fetching
from vyre.learn.learner.next import decide_next
from vyre.learn.learner.settle import settled
from vyre.learn.learner.wanted import look_after
from vyre.learn.pace import Pace
from vyre.learn.standing import Advanced, Standing, then
from vyre.learn.subject import Question
from vyre.model import Config, Decision, Failed, Reason
from vyre.policy import table


def begin(standing: Standing, event: Began, at: Moment, pace: Pace) -> Advanced:
    """Begin to learn, once it is known what there is to choose from and what was known before."""
    question, inherited = event.question, event.inherited
    if standing.failures:  # what fell before this
        failures = {**inherited.failures, **standing.failures}
        inherited = replace(inherited, failures=failures)
    untold = standing.untold.items()
    records = tuple(Record(Failed(config, why), event.size) for config, why in untold)
    standing = replace(standing, untold={})
    launched = (standing.decision.config, *(one.config for one in standing.asked_for))
    candidates = _shortened(question, inherited, launched, pace)
    standing = _informed(standing, event, inherited, candidates)
    if candidates == (standing.default,):
        return standing.over("there is one candidate only"), records
    given = table.Given(
        space=candidates,
        default=standing.default,
        size=event.size,
        remembered=inherited.ratios,
        step=event.step,
        share=question.share,
        expected=_expected(question, candidates),
        risk=question.risk,
        noise=question.noise,
    )
    standing = replace(standing, policy=table.make(event.policy, given))
    decision = inherited.decision
    if given.expected and decision is not None and decision.reason is Reason.TRANSFERRED:
        decision = None  # what others measured corrects what is expected, and no more
    standing, effects = then(_started_from(standing, decision, pace), records)
    if standing.default not in standing.ready:
        standing, effects = then(fetching(standing, (standing.default,)), effects)
    if given.expected and candidates[0] not in standing.ready:
        best = tuple(one for one in candidates if one not in standing.ready)
        standing, effects = then(fetching(standing, best[: pace.together]), effects)
    if standing.wanted is not None:  # an interrupt may have lost what the first calls took
        standing, effects = then(look_after(standing, at, pace), effects)
    return then(decide_next(standing, at, pace), effects)


def _informed(
    standing: Standing, event: Began, inherited: Inherited, candidates: tuple[Config, ...]
) -> Standing:
    """The standing with what is asked, what is ready, and what failed before."""
    # Calls run the default anyway, so that it failed once keeps nobody from timing it.
    failures = {one: why for one, why in inherited.failures.items() if one != standing.default}
    warm = frozenset(candidates) if event.question.warm else frozenset[Config]()
    started = standing.inherited
    standing = replace(
        standing,
        question=event.question,
        size=event.size,
        failures=failures,
        ready=(standing.ready | event.ready) - failures.keys(),
        launched=standing.launched | warm,
    )
    if started is not None and started.config not in candidates:
        left = f"{started.config.text} is no candidate here"
        standing = replace(standing, inherited=None, decision=standing.falls_back(left))
    return standing


def _started_from(standing: Standing, decision: Decision | None, pace: Pace) -> Advanced:
    """Begin with what was decided before or nearby, as soon as it can run."""
    if decision is None or decision.config == standing.decision.config:
        return standing, ()
    if decision.config in standing.ready:
        return settled(replace(standing, inherited=decision), decision, pace)
    if decision.config != standing.default:
        return fetching(replace(standing, inherited=decision), (decision.config,))
    return standing, ()


def _expected(question: Question, candidates: tuple[Config, ...]) -> tuple[float, ...]:
    """What the guess expects of the candidates that are left, which stand in its order."""
    left, expected = list(reversed(candidates)), list[float]()
    for one, at in zip(question.candidates, question.expected, strict=False):
        if left and one is left[-1]:
            left.pop()
            expected.append(at)
    return tuple(expected)


def _shortened(
    question: Question, inherited: Inherited, launched: Sequence[Config], pace: Pace
) -> tuple[Config, ...]:
    """What to choose from in the order of the guess: its first, the known, the default."""
    most = min(pace.guessed, pace.candidates) if question.expected else pace.candidates
    must: set[Config] = {question.default, *inherited.ratios, *launched}
    if inherited.decision is not None:
        must.add(inherited.decision.config)
    # There may be hundreds, of which the first few are kept, and a caller waits as long.
    room, missing, kept = max(most - len(must), 0), len(must), list[Config]()
    for one in question.candidates:
        if one in must:
            missing -= 1
        elif room and one not in inherited.failures:
            room -= 1
        else:
            continue
        if one == question.default or one not in inherited.failures:
            kept.append(one)
        if not room and not missing:
            break
    return tuple(kept)
