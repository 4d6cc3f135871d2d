"""The cold start on a processor whose invocations are lanes of its vectors.

A model of a core, its caches and what hands out tasks says how long a launch takes under every
schedule; what an amount costs there was fitted to recorded spaces (`scripts/fit_lanes.py`).
"""

from __future__ import annotations

import numpy as np

from vyre.ir.program import Program
from vyre.model import DeviceInfo
from vyre.plan.guess.lanes.amounts import Core, Form, Tiles, amounts
from vyre.plan.guess.lanes.fitted import CONSTANTS, MISSED
from vyre.plan.guess.lanes.model import Constants, nanoseconds
from vyre.plan.guess.missed import Missed
from vyre.plan.guess.ranking import with_doubt
from vyre.plan.guess.shapes import Vector
from vyre.plan.guess.work import Work
from vyre.plan.space import Space

__all__ = ("ALIKE", "DOUBT", "log_times", "missed")

ALIKE = 0.01
"""Log times closer than this are no reason to prefer one."""

DOUBT = 0.02
"""Log time that another schedule must be expected to gain on the default to come before it."""

_KNOWN = Constants(**CONSTANTS)
missed = Missed(*MISSED)


def log_times(space: Space, program: Program, work: Work, info: DeviceInfo) -> Vector:
    """What each legal schedule takes, as the logarithm of a time."""
    assert info.simd is not None
    core = Core(
        threads=float(max(info.compute_units, 1)),
        lanes=float(max(info.simd.lanes, 1)),
        l1_bytes=float(max(info.simd.l1_bytes, 1)),
        l2_bytes=float(max(info.simd.l2_bytes, 1)),
    )
    found = amounts(work, Form.of(program), Tiles.of(space.legal), core)
    return with_doubt(space, np.log(nanoseconds(found, _KNOWN)), DOUBT)
