"""What a sweep came to, and whether that is worth remembering."""

from dataclasses import replace

import pytest

from vyre.model import Decision, Failed, Knobs, Reason, Workload
from vyre.policy.contest import CONFIDENCE, Swept
from vyre.policy.verdict import decides, verdict
from vyre.stats import Interval

WORKLOAD = Workload(fingerprint=b"f", buckets=(10,), traits=(), device="d", toolchain="t")
DEFAULT, OTHER, THIRD = (Knobs.of({"BLOCK": n}) for n in (256, 128, 64))
ALONE = Swept(
    winner=DEFAULT,
    default=DEFAULT,
    gain=None,
    samples={DEFAULT: [1.0]},
    failed=(),
    finished=True,
)
BESIDE = replace(ALONE, samples={DEFAULT: [1.0], OTHER: [1.0]})
WON = replace(BESIDE, winner=OTHER, gain=Interval(1.2, 1.5, 1.8), pairs=7)
FAILED = replace(ALONE, failed=(Failed(OTHER, "out of registers"),))


def came_to(swept, legal=3, **more):
    return verdict(WORKLOAD, swept, legal, 2.0, **more)


def test_what_is_faster_is_adopted_with_its_gain():
    assert came_to(WON, noun="config") == Decision(
        workload=WORKLOAD,
        config=OTHER,
        reason=Reason.ADOPTED,
        detail="at least 1.20x the default's speed with 99% confidence, by 7 pairs; "
        "2 configs measured",
        default=DEFAULT,
        gain=1.5,
        confidence=CONFIDENCE,
    )


@pytest.mark.parametrize(
    ("swept", "detail"),
    [
        (ALONE, "no other schedule could be compiled in time"),
        (FAILED, "no other schedule could be run: out of registers"),
        (replace(FAILED, finished=False), "no other schedule could be compiled in time"),
        (
            replace(FAILED, failed=(Failed(OTHER, "no"), Failed(DEFAULT, "lost"))),
            "the default could not be measured: lost",
        ),
        (replace(BESIDE, unclear=OTHER), "the times of BLOCK=128 contradict each other"),
        (BESIDE, "nothing was faster with 99% confidence; 2 schedules measured"),
        (
            replace(BESIDE, finished=False),
            "nothing was faster with 99% confidence; 2 schedules measured, then the time was over",
        ),
    ],
)
def test_why_the_default_stays_is_said(swept, detail):
    decision = came_to(swept)

    assert (decision.config, decision.reason) == (DEFAULT, Reason.DEFAULT)
    assert decision.detail == detail
    assert decision.unfinished_s == (None if swept.finished else 2.0)


def test_where_there_is_one_there_is_nothing_to_choose():
    assert came_to(ALONE, legal=1, noun="config").detail == "there is one config only"
    assert came_to(ALONE, legal=1).reason is Reason.DEFAULT
    assert came_to(FAILED, legal=1).detail == "no other schedule could be run: out of registers"


def test_what_is_not_free_is_left_alone_with_the_reason():
    decision = came_to(ALONE, legal=1, why_not="it uses barriers")

    assert (decision.reason, decision.detail) == (Reason.NOT_FREE, "it uses barriers")
    assert decision.config == DEFAULT


@pytest.mark.parametrize(
    ("swept", "legal", "worth"),
    [
        (WON, 3, True),
        (BESIDE, 3, True),
        (ALONE, 3, False),  # nothing was compared
        (ALONE, 1, True),
        (replace(ALONE, finished=False), 1, False),
        (replace(WON, interrupted=True), 3, True),
        (replace(BESIDE, interrupted=True), 3, False),
    ],
)
def test_what_compared_something_is_remembered(swept, legal, worth):
    assert decides(came_to(swept, legal), swept, legal) is worth
