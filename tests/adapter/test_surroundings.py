"""What a function changes for everybody in its process."""

import os
import signal
import sys

import numpy as np
import pytest

from vyre import settings
from vyre.adapter.trial.differences import differ
from vyre.adapter.trial.portable import ran
from vyre.adapter.trial.surroundings import changed_since, surroundings

CHANGES = {
    "directory": lambda: os.chdir("/"),
    "environment": lambda: settings.preset("VYRE_NOWHERE", "1"),
    "signal handlers": lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN),
    "limit of recursion": lambda: sys.setrecursionlimit(sys.getrecursionlimit() + 1),
    "answer to errors of floats": lambda: np.seterr(all="raise"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_changed_is_told_and_put_back(name):
    before = surroundings()

    found = ran(CHANGES[name], ((), {}))

    assert surroundings() == before
    assert differ(ran(lambda: None, ((), {})), found[:1], (), 0.0, 0.0) == (
        f"the process is left with another {name}, and not left as it was"
    )


def test_a_folder_that_is_gone_is_no_reason_to_stop(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    tmp_path.rmdir()

    assert changed_since(surroundings()) == ()
