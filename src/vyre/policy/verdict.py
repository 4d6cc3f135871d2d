"""What a sweep came to: the decision that follows from it, and whether it is worth remembering."""

from __future__ import annotations

from dataclasses import replace

from vyre.model import Decision, Reason, Workload
from vyre.policy.contest import CONFIDENCE, Swept


def decides(decision: Decision, swept: Swept, legal: int) -> bool:
    """Whether what a sweep over so many configs came to is worth remembering."""
    if swept.interrupted:  # the user ended it before it could find more
        return decision.reason is Reason.ADOPTED
    return swept.rivals > 0 or (swept.finished and legal == 1)


def verdict(
    workload: Workload,
    swept: Swept,
    legal: int,
    given_s: float,
    *,
    why_not: str | None = None,
    noun: str = "schedule",
) -> Decision:
    """What a sweep of `given_s` seconds over so many configs came to, and why.

    Args:
        workload: what it is remembered for.
        swept: what was measured.
        legal: how many configs there are.
        given_s: what it was given.
        why_not: why nothing is free, where that is so.
        noun: what people call one of the configs.
    """
    decision = Decision(
        workload=workload,
        config=swept.winner,
        reason=Reason.DEFAULT,
        detail=_why_not(swept, noun),
        default=swept.default,
        unfinished_s=None if swept.finished else given_s,
    )
    if swept.gain is not None:
        detail = (
            f"at least {swept.gain.low:.2f}x the default's speed with {CONFIDENCE:.0%} confidence, "
            f"by {swept.pairs} pairs; {len(swept.samples)} {noun}s measured"
        )
        return replace(
            decision,
            reason=Reason.ADOPTED,
            detail=detail,
            gain=swept.gain.middle,
            confidence=CONFIDENCE,
        )
    if legal == 1 and not swept.failed:
        if why_not is None:
            return replace(decision, detail=f"there is one {noun} only")
        return replace(decision, reason=Reason.NOT_FREE, detail=why_not)
    return decision


def _why_not(swept: Swept, noun: str) -> str:
    """Why a sweep leaves the default."""
    for failure in swept.failed:
        if failure.config == swept.default:
            return f"the default could not be measured: {failure.reason}"
    if not swept.rivals:
        if not swept.failed or not swept.finished:
            return f"no other {noun} could be compiled in time"
        return f"no other {noun} could be run: {swept.failed[0].reason}"
    if swept.unclear is not None:
        return f"the times of {swept.unclear.text} contradict each other"
    why = f"nothing was faster with {CONFIDENCE:.0%} confidence"
    return f"{why}; {len(swept.samples)} {noun}s measured" + (
        "" if swept.finished else ", then the time was over"
    )
