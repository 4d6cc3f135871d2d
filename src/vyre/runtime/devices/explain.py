"""What calls of a program have come to: what is proved of it, and each workload."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from vyre.analysis import Facts
from vyre.learn import process
from vyre.learn.explain import Explained, Explanation, explained
from vyre.learn.site import Site
from vyre.runtime.devices.subject import ProgramSteps


def explanation(name: str, facts: Facts, sites: Iterable[Site]) -> Explanation:
    """What is known of a kernel that was called at these sites."""
    proof = facts.conditions if facts.free else facts.reasons
    seen: dict[object, Explained] = {}
    for site in sites:
        like = _reader_sees(site)
        known = seen.get(like)
        if known is None:
            seen[like] = _explained(site)
        elif site.decider is None:
            seen[like] = replace(known, dispatches=known.dispatches + site.dispatches)
    return Explanation(
        kernel=name,
        free=facts.free,
        proof=tuple(str(part) for part in proof),
        workloads=tuple(seen.values()),
    )


def _reader_sees(site: Site) -> object:
    """What is one to the reader: a decider; without one, calls that differ in a number alone."""
    if site.decider is not None:
        return site.decider
    steps = _steps(site)
    return steps.launcher.device, site.decision, steps.numbers.extent


def _explained(site: Site) -> Explained:
    steps = _steps(site)
    space = steps.launcher.space(steps.numbers, steps.alignment)
    workload, able = site.decision.workload, frozenset(space.legal)
    evidence = process.recorder().evidence(workload, able, space.default)
    x, y, z = steps.numbers.extent
    covers = (z, y, x) if z > 1 else (y, x) if y > 1 else (x,)
    return explained(site, evidence, covers, steps.launcher.device.name)


def _steps(site: Site) -> ProgramSteps:
    assert isinstance(site.prepare, ProgramSteps)
    return site.prepare
