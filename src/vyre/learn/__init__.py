"""Learning beside the calls, of anything that launches: subject, site, desk, learner, recorder."""

from vyre.learn.decide import Call, explain, site_of
from vyre.learn.explain import Explanation, Stats
from vyre.learn.pace import Pace
from vyre.learn.process import stats
from vyre.learn.rules import freeze, mode, policy
from vyre.learn.site import Site
from vyre.learn.subject import (
    Elapsed,
    Fetched,
    Fetching,
    Later,
    Prepare,
    Question,
    Step,
    Subject,
    workload_of,
)

__all__ = [
    "Call",
    "Elapsed",
    "Explanation",
    "Fetched",
    "Fetching",
    "Later",
    "Pace",
    "Prepare",
    "Question",
    "Site",
    "Stats",
    "Step",
    "Subject",
    "explain",
    "freeze",
    "mode",
    "policy",
    "site_of",
    "stats",
    "workload_of",
]
