"""What is made ready ahead of the calls, and what came of it."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from vyre.learn.events import Came, Fetch, Moment
from vyre.learn.pace import Pace
from vyre.learn.standing import Advanced, Standing
from vyre.model import Config


def fetch_ahead(standing: Standing, at: Moment, pace: Pace) -> Advanced:
    """Fetch the next candidates, while they can still pay."""
    policy, ledger = standing.policy, standing.ledger
    if policy is None or ledger.fetching or standing.broken:
        return standing, ()
    if standing.guesses and ledger.fastest_ns < inf:  # the default may never be timed
        default_s = ledger.fastest_ns * 1e-9
        seen_s = at.dispatches * default_s
    elif ledger.default_ns is not None:
        default_s = ledger.default_ns * 1e-9
        seen_s = policy.budget.spent * default_s
    else:
        return standing, ()
    if seen_s < pace.enough_s and (ledger.fetches or not _is_used(standing, at, pace)):
        return standing, ()
    cost_s, charge = ledger.fetch_cost_s(pace.first_fetch_s), 0.0
    if not ledger.fetches:
        pass  # the first is free, or nothing could ever be learned
    elif pace.cores:
        # There, a compiler takes time from the kernels: what it takes is a loss like others.
        charge = cost_s / pace.cores / default_s
        if charge > policy.budget.left - pace.kept_back:
            return standing, ()
    else:
        assert standing.began_s is not None, "something was told by now"
        lived_s = at.now_s - standing.began_s
        if ledger.fetched_s + cost_s > pace.per_seen * seen_s + pace.per_lived * lived_s:
            return standing, ()
    wanted = policy.wanted(pace.together, standing.mask, cost=charge)
    if not wanted:
        return standing, ()
    standing = replace(standing, policy=policy.paid(0.0, charge))
    return fetching(standing, wanted)


def _is_used(standing: Standing, at: Moment, pace: Pace) -> bool:
    """Whether calls go on for long enough that more are to come, however little each takes."""
    assert standing.began_s is not None, "something was told by now"
    lived_s = at.now_s - standing.began_s
    return at.dispatches >= pace.used and lived_s >= pace.used_s


def fetching(standing: Standing, configs: tuple[Config, ...]) -> Advanced:
    """Fetch these, and count it as under way."""
    ledger = replace(standing.ledger, fetching=standing.ledger.fetching + 1)
    awaited = (*standing.awaited, configs[0])
    return replace(standing, ledger=ledger, awaited=awaited), (Fetch(configs),)


def came(standing: Standing, event: Came) -> tuple[Standing, dict[Config, str]]:
    """The standing after something was fetched, and what will never be ready, and why."""
    worked = [one for one in event.fetched if not one.broken]
    ledger = replace(
        standing.ledger,
        fetching=event.fetching,
        fetches=standing.ledger.fetches + len(worked),
        fetched_s=standing.ledger.fetched_s + sum(one.took_s for one in worked),
    )
    broken = next((one.broken for one in event.fetched if one.broken), standing.broken)
    ready = (standing.ready | event.ready) - standing.failures.keys()
    standing = replace(standing, ledger=ledger, broken=broken, ready=ready, mask=None)
    assert standing.policy is not None
    known = frozenset(standing.policy.space)
    every = (item for one in event.fetched for item in one.failed.items())
    failed = {config: str(why) for config, why in every if config in known}
    if not event.fetching:
        # Asked for again and again, what never gets ready would keep the thread busy for ever.
        ended = ready | failed.keys()
        left = [one for one in standing.awaited if one in known and one not in ended]
        failed |= dict.fromkeys([] if broken else left, "it was fetched, and is not ready")
        standing = replace(standing, awaited=())
    return standing, failed
