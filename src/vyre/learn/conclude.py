"""What a sweep comes to, remembered: of kernels of ours and of others."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from vyre.learn.recorder import Recorder
from vyre.model import Config, Decision, Reason, Workload
from vyre.policy.contest import Contest
from vyre.policy.verdict import decides, verdict


def conclude(
    sweep: Contest,
    workload: Workload,
    legal: Sequence[Config],
    recorder: Recorder,
    *,
    over: Callable[[], None],
    put: Callable[[Decision], None],
    why_not: str | None = None,
    noun: str = "schedule",
) -> Decision:
    """Run a sweep and decide, or let what was remembered stand where it found nothing out.

    Args:
        sweep: what measures; its outcomes are recorded as they come.
        workload: what the decision is remembered for.
        legal: all configs there are, of which the sweep may have fewer.
        recorder: what remembers.
        over: called at the sweep's end, whatever ended it.
        put: called with a decision that is worth remembering.
        why_not: why nothing is free, where that is so.
        noun: what people call one of the configs.

    Raises:
        KeyboardInterrupt: the user's own, after what was found by then is safe.
    """
    known = recorder.get(workload)
    began = time.monotonic()
    try:
        swept = sweep.run()
    finally:
        over()
    given_s = time.monotonic() - began if swept.interrupted else sweep.budget_s
    decision = verdict(workload, swept, len(legal), given_s, why_not=why_not, noun=noun)
    if decides(decision, swept, len(legal)):
        evidence = recorder.evidence(workload, frozenset(legal), sweep.default)
        decision = evidence.weigh(decision)
        put(decision)
    elif known is not None and not swept.interrupted:
        why = f"{decision.detail}; what was remembered stands"
        decision = replace(known, reason=Reason.REMEMBERED, detail=why)
    if swept.interrupted:
        recorder.flush()
        raise KeyboardInterrupt
    return decision
