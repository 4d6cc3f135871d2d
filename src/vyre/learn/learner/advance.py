"""What follows from an event: what is known then, and what is to be done about it."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from vyre.learn.events import (
    Began,
    Broke,
    Came,
    Decided,
    Ended,
    Event,
    Fell,
    Heard,
    Launched,
    Looked,
    Lost,
    Moment,
    Ran,
    Spent,
    Took,
    Woke,
)
from vyre.learn.learner.begin import begin
from vyre.learn.learner.drop import drop
from vyre.learn.learner.fetch import came
from vyre.learn.learner.guess import fallen, held_back
from vyre.learn.learner.next import decide_next
from vyre.learn.learner.settle import settled
from vyre.learn.learner.times import heard
from vyre.learn.learner.wanted import ask, given_up, look, look_after, under_way
from vyre.learn.pace import Pace
from vyre.learn.standing import Advanced, Standing
from vyre.model import Reason


def advance(standing: Standing, event: Event, pace: Pace) -> Advanced:
    """What is known after an event, and what is to be done about it."""
    at, what = event.at, event.what
    if standing.began_s is None:
        standing = replace(standing, began_s=at.now_s)
    match what:
        case Began() if standing.question is None and not standing.is_over:
            return begin(standing, what, at, pace)
        case Decided(decision):
            standing = replace(standing, limit=inf)  # it was weighed, elsewhere
            return settled(standing, replace(decision, reason=Reason.REMEMBERED), pace)
        case Ended(why):
            return standing.over(why), ()
        case Broke(error) if not standing.is_over:
            return _broken(standing, error, at, pace)
        case Began() | Broke():  # once is enough
            return standing, ()
        case Spent() if standing.policy is None and at.dispatches >= standing.limit:
            return held_back(standing), ()  # nothing is weighed yet, or ever
        case Fell(reasons) if standing.policy is None:
            return fallen(standing, reasons), ()
        case _ if standing.policy is None:
            return standing, ()
        case Woke(number):
            return ask(standing, number, at, pace)
        case Took():
            return look_after(standing, at, pace)
        case Looked():
            return look(standing, what, at, pace)
        case Launched(config):
            return under_way(standing, config), ()
        case Ran():
            return heard(standing, (what,), at, pace)
        case Heard(times):
            return heard(standing, times, at, pace)
        case Spent():
            return decide_next(standing, at, pace)
        case Lost(config):
            return decide_next(given_up(standing, config), at, pace)
        case Fell(reasons):
            return drop(standing, reasons, at, pace)
        case Came():
            standing, failed = came(standing, what)
            return drop(standing, failed, at, pace)  # if anything did


def _broken(standing: Standing, error: str, at: Moment, pace: Pace) -> Advanced:
    """Whatever goes wrong, learning goes on, or says why it does not."""
    standing = replace(standing, trouble=standing.trouble + 1, wanted=None, beside=())
    if standing.policy is None or standing.trouble >= pace.trouble:
        return standing.over(f"learning failed: {error}"), ()
    return decide_next(standing, at, pace)
