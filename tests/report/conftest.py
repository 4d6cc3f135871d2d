"""A store with what reports are about: gains, defaults, failures, strange names."""

import pytest

from vyre.model import Code, Decision, Failed, Measurement, Reason, Schedule, Timed, Workload
from vyre.store.memory import MemoryStore

START_NS = 1_700_000_000_000_000_000
DEFAULT = Schedule((64, 1, 1))


def workload(name: str, device: str = "d1") -> Workload:
    return Workload(
        fingerprint=name.encode().ljust(32, b"."),
        buckets=(21, 1, 1),
        traits=("unchecked", "aligned"),
        device=device,
        toolchain="t1",
    )


@pytest.fixture
def store():
    """Two kernels on one device: one tuned, one left at its default; a third is being learned."""
    made = MemoryStore(writer="ada-1", now_ns=lambda: START_NS + 10**9)
    schedules = [
        DEFAULT,
        *(
            Schedule((width, 1, 1), Code(items=items, vector=vector))
            for width in (64, 128, 256, 512)
            for items, vector in ((1, 1), (4, 1), (4, 4), (8, 4))
            if (width, items) != (64, 1)
        ),
    ]
    rows = []

    def measured(kernel: str, outcome: object, size: int = 1 << 20) -> None:
        rows.append(
            Measurement(
                writer="ada-1",
                sequence=len(rows),
                workload=workload(kernel),
                outcome=outcome,
                size=size,
                at_ns=START_NS + len(rows),
            )
        )

    for kernel, best in (("blur", 4000.0), ("<b>&sharpen", 9900.0), ("new", 10000.0)):
        for turn in range(6):
            for number, schedule in enumerate(schedules):
                spread = (number * 7919 + turn * 104729) % 997
                elapsed = 10000.0 if schedule == DEFAULT else best + 300.0 * number
                measured(kernel, Timed(schedule, elapsed + (5e6 if not turn else spread)))
    measured("blur", Failed(Schedule((1024, 1, 1)), "the compiler gave up: </script>"))
    made.append(rows)
    made.put(
        Decision(
            workload=workload("blur"),
            config=schedules[1],
            reason=Reason.ADOPTED,
            detail="2.34x the default's speed",
            gain=2.34,
            confidence=0.99,
        ),
        Decision(
            workload=workload("<b>&sharpen"),
            config=DEFAULT,
            reason=Reason.DEFAULT,
            detail="nothing was faster",
        ),
    )
    made.name(
        {
            **{workload(name).fingerprint.hex(): name for name in ("blur", "<b>&sharpen")},
            "d1": "Acme G1",
            "t1": "acme, driver 1.2, cc 3",
        }
    )
    return made
