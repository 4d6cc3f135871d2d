"""Launches whose times are wanted: asked for, taken by a call, under way, or lost."""

from __future__ import annotations

from dataclasses import replace

from vyre.learn.events import Ask, Looked, Moment, Wake
from vyre.learn.learner.led import is_led
from vyre.learn.learner.next import decide_next
from vyre.learn.pace import Pace
from vyre.learn.standing import Advanced, Phase, Standing, Wanted
from vyre.model import Config


def ask(standing: Standing, number: int, at: Moment, pace: Pace) -> Advanced:
    """Have the next call launch what is wanted, and a few more with it, if it still is."""
    wanted = standing.wanted
    if wanted is None or number != standing.asks or wanted.phase is not Phase.PLANNED:
        return standing, ()  # something else is wanted by now
    if wanted.config not in standing.ready:
        return decide_next(replace(standing, wanted=None), at, pace)
    asked, beside = replace(wanted, phase=Phase.ASKED), standing.beside
    more: tuple[Wanted, ...] = ()
    if pace.at_once > 1 and not beside:
        assert standing.policy is not None
        batch = standing.policy.choose_batch(pace.at_once, standing.mask)
        keep = standing.policy.incumbent(standing.mask)
        able = [choice for choice in batch[1:] if choice.config in standing.ready]
        before = (wanted.config, *(choice.config for choice in able))
        more = tuple(
            Wanted(
                config=choice.config,
                phase=Phase.ASKED,
                led=is_led(standing, choice, keep, after, pace),
            )
            for choice, after in zip(able, before, strict=False)
        )
    effects = tuple(Ask(one.config, one.led) for one in (asked, *more))
    return replace(standing, wanted=asked, beside=beside or more), effects


def under_way(standing: Standing, config: Config) -> Standing:
    """The standing when a call has launched what was asked for."""
    wanted, beside = standing.wanted, standing.beside
    if wanted is not None and wanted.config == config and wanted.phase is Phase.ASKED:
        return replace(standing, wanted=replace(wanted, phase=Phase.LAUNCHED))
    taken = Wanted(config=config, phase=Phase.ASKED)
    if taken not in beside:
        return standing  # it was given up before, and another is asked for
    at = beside.index(taken)
    now = replace(taken, phase=Phase.LAUNCHED)
    return replace(standing, beside=(*beside[:at], now, *beside[at + 1 :]))


def given_up(standing: Standing, config: Config | None) -> Standing:
    """The standing when a launch is no longer waited for: this one, or whichever it was."""
    wanted, beside = standing.wanted, standing.beside
    if wanted is not None and config in (None, wanted.config):
        return replace(standing, wanted=None)
    left = next((one for one in beside if one.config == config), None)
    if config is None or left is None:  # it was given up before, and another is asked for
        return standing
    at = beside.index(left)
    return replace(standing, beside=beside[:at] + beside[at + 1 :])


def look_after(standing: Standing, at: Moment, pace: Pace) -> Advanced:
    """Ask anew, in a while, where a call took what was asked for and never said more.

    An interrupt may end a call between any two of its steps.
    """
    if standing.looking:
        return standing, ()
    later = Looked(standing.asks, at.dispatches, pace.lost_s)
    return replace(standing, looking=True), (Wake(at.now_s + pace.lost_s, later),)


def look(standing: Standing, event: Looked, at: Moment, pace: Pace) -> Advanced:
    """Give up what was taken where many calls came after it; else look again later."""
    wanted = standing.wanted
    if wanted is None or wanted.phase is not Phase.ASKED or event.still_asked:
        return replace(standing, looking=False), ()
    if event.ask != standing.asks:  # a later one was taken meanwhile
        return look_after(replace(standing, looking=False), at, pace)
    if at.dispatches - event.taken_at >= pace.lost_after:
        return decide_next(replace(standing, looking=False, wanted=None, beside=()), at, pace)
    after_s = min(2 * event.after_s, pace.lost_at_latest_s)
    return standing, (Wake(at.now_s + after_s, replace(event, after_s=after_s)),)
