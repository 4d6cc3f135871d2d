"""Where a call's launch is decided: what is proved, remembered, swept, learned, or left alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from vyre.errors import NotRemembered
from vyre.model import Decision, Mode, Reason
from vyre.plan.space import why_not_free
from vyre.runtime import session
from vyre.runtime.call.launcher import Launcher, Numbers
from vyre.runtime.call.tune import space_of
from vyre.runtime.session import Rule
from vyre.runtime.site import Site


def site_of(
    launcher: Launcher,
    rule: Rule,
    numbers: Numbers,
    alignment: Mapping[str, int],
    sweep: Callable[[], Decision],
) -> Site:
    """The site of a call without an override.

    What cannot be proved free is left alone. Then comes what is remembered; then, by the mode, a
    sweep, a learner, or the default.

    Raises:
        NotRemembered: the process is frozen, and nothing is remembered for this call.
    """
    workload = launcher.workload(numbers, alignment)
    default = Decision(workload=workload, config=launcher.default(numbers), reason=Reason.DEFAULT)
    helper = session.helper(launcher.device)
    why_not = next(why_not_free(launcher.facts, numbers), None)
    if helper is None:
        why_not = why_not or f"{launcher.device.name} runs every schedule alike"
    if helper is None or why_not is not None:
        left_alone = replace(default, reason=Reason.NOT_FREE, detail=why_not or "")
        return session.alone(Site(launcher, numbers, alignment, left_alone))
    recorder, learns = session.recorder(), rule.mode is Mode.NATURAL_GRADIENT
    # Once a kernel runs, what is remembered for more of its sizes is looked up beside the calls.
    found = recorder.at_hand(workload)
    if found is None and not (learns and launcher.has_run):
        found = recorder.get(workload, writes=rule.mode.writes)
    known = None
    if found is not None and found.config in space_of(launcher, numbers, alignment).legal:
        known = replace(found, reason=Reason.REMEMBERED)
    if learns:
        learner = session.learners().of(
            launcher, numbers, alignment, recorder, helper, workload, known
        )
        return Site(launcher, numbers, alignment, learner.standing.decision, learner)
    if known is None and rule.mode is Mode.ON:
        known = session.swept(workload, sweep)
    if known is None and rule.strict:
        raise NotRemembered(
            f"nothing is remembered for {launcher.kernel.name} over {numbers.extent} on "
            f"{launcher.device.info.model}, and this process is frozen",
            f"tune it first, with {launcher.kernel.name}.tune(...) on such arrays, "
            'or freeze with missing="default"',
        )
    off = replace(default, reason=Reason.OFF, detail="nothing is remembered")
    site = session.alone(Site(launcher, numbers, alignment, known or off))
    recorder.follow(site)
    news = recorder.at_hand(workload)
    if news is not None and news is not found:  # decided while this was
        site.hear(news)
    return site
