"""Benches for learning from calls."""

from dataclasses import replace

import pytest

from vyre.backend.replayed import Replayed
from vyre.learn import process
from vyre.learn.deciders import Deciders
from vyre.learn.desk import Desk
from vyre.learn.gaps import Manners
from vyre.learn.pace import Pace
from vyre.learn.recorder import Recorder
from vyre.runtime.call import dispatch
from vyre.runtime.devices.device import Device
from vyre.store.memory import MemoryStore
from vyre.testing.live import Bench, Helper, bowl


@pytest.fixture
def bench(monkeypatch):
    """Makes a bench; nothing waits for the clock of the wall."""
    usual = Pace.beside
    no_wait = {"advance_s": 1e9, "shortest_s": 0.0, "resting_s": 0.0, "enough_s": 0.0}

    def make(times_ns=bowl, *, refuses=None, answers=True, store=None, pace=no_wait, **more):
        def at_once(*given, **named):
            return replace(usual(*given, **named), **{**no_wait, **pace})

        monkeypatch.setattr(Pace, "beside", at_once)
        store = store or MemoryStore()
        helper = Helper(refuses or {}, answers)
        deciders, recorder = (
            Deciders(Desk(Manners(look_s=0.0, rest_s=0.0, per_s=1e9))),
            Recorder(store, linger_s=0.01),
        )
        monkeypatch.setattr(dispatch, "helper_of", lambda _: helper)
        monkeypatch.setattr(process, "deciders", lambda: deciders)
        monkeypatch.setattr(process, "recorder", lambda: recorder)
        device = Device("replay:0", Replayed(times_ns, **more))
        return Bench(device, helper, store, deciders, recorder=recorder)

    return make
