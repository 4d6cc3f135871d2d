"""What calls of a program have come to: what is proved of it, and each workload."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from vyre.analysis import Facts
from vyre.ir.among import workgroups_of
from vyre.learn import process
from vyre.learn.explain import Explained, Explanation, explained
from vyre.learn.site import Site
from vyre.plain import plain
from vyre.plan.among import text_of
from vyre.runtime.devices.launcher import Launcher
from vyre.runtime.devices.named import dropped_of
from vyre.runtime.devices.subject import ProgramSteps


def explanation(
    name: str, facts: Facts, sites: Iterable[Site], launchers: Iterable[Launcher] = ()
) -> Explanation:
    """What is known of a kernel that was called at these sites.

    Args:
        name: what people call it.
        facts: what is proved of it.
        sites: where it was called.
        launchers: the devices that it was bound for; each may have dropped workgroups.
    """
    at = [launcher for launcher in launchers if launcher.is_named]
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
        named=tuple(text_of(one) for one in workgroups_of(at[0].program)) if at else (),
        dropped=tuple(
            f"{text_of(workgroup)} on {launcher.device.name}: {plain(why)}"
            for launcher in at
            for workgroup, why in dropped_of(launcher.device, launcher.program).items()
        ),
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
    covers = steps.launcher.goes_over(steps.numbers)
    found = explained(site, evidence, covers, steps.launcher.device.name)
    if not steps.launcher.is_named:
        return found
    dropped = dropped_of(steps.launcher.device, steps.launcher.program).values()
    left_out = tuple(str(one) for one in space.refused if one.why not in dropped)
    return replace(found, refused=left_out)


def _steps(site: Site) -> ProgramSteps:
    assert isinstance(site.prepare, ProgramSteps)
    return site.prepare
