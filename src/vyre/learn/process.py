"""What the learning of a process shares: its memory, its deciders, its counts."""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable

from vyre.learn.deciders import Deciders
from vyre.learn.explain import Stats, counted
from vyre.learn.recorder import Recorder, recorder_of
from vyre.learn.rules import current
from vyre.learn.site import Site
from vyre.model import Decision, Workload

_lock = threading.Lock()
_sites: weakref.WeakSet[Site] = weakref.WeakSet()
_undecided: dict[Workload, Decision] = {}
_MOST_UNDECIDED = 4096


def recorder() -> Recorder:
    """The one memory of this process, whatever the mode: calls say whether they write."""
    return recorder_of(current().cache_dir)


@functools.cache
def deciders() -> Deciders:
    """Those who decide for the calls of this process."""
    return Deciders()


def swept(workload: Workload, sweep: Callable[[], Decision]) -> Decision:
    """What a sweep finds for a workload, which it looks at once in a process.

    One that decided nothing is not remembered, and yet a call must not wait for it again.
    """
    found = _undecided.get(workload)
    if found is None:
        if len(_undecided) >= _MOST_UNDECIDED:
            _undecided.clear()
        found = _undecided[workload] = sweep()
    return found


def alone(site: Site) -> Site:
    """Count the calls of a site where nobody learns, as long as it is there."""
    with _lock:
        _sites.add(site)
    return site


def stats() -> Stats:
    """What learning has come to in this process."""
    with _lock:
        sites = tuple(_sites)
    return counted(deciders().all(), sites)


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()  # whoever held it was not copied


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
