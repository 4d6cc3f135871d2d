"""The kit for backends finds what is wrong with one."""

import numpy as np
import pytest

from vyre.backend.at_once import Over
from vyre.backend.base import Unbuilt
from vyre.backend.reference.device import Reference
from vyre.testing.backend_contract import BackendContract


class Forgets(Reference):
    """Launches nothing that is fixed."""

    def fix(self, binary, grid, workgroup, words, arguments):  # noqa: ARG002  # it forgets them
        return lambda _: None


class Twice(Reference):
    """Launches what it times twice."""

    def time(self, stream, launch):
        launch()
        return super().time(stream, launch)


class Swallows(Reference):
    """Keeps what a launch raises to itself."""

    def time(self, stream, launch):
        try:
            return super().time(stream, launch)
        except (ValueError, KeyboardInterrupt):
            return None


class Untimed(Reference):
    """Never knows a time."""

    def launch(self, *arguments, **more):
        super().launch(*arguments, **more)
        return Over(None)


class Overwrites(Reference):
    """Clears all of its memory."""

    def clear(self, memory, nbytes, *, stream=0):  # noqa: ARG002  # it has one
        memory[:] = np.zeros_like(memory)


class Refuses(Reference):
    """Builds nothing."""

    def build(self, jobs):
        return [Unbuilt("no") for _ in jobs]


class Compiles(Reference):
    """Says that it compiles, and not what it refuses."""

    compiles = True


class Mute(Reference):
    """Has nothing to read."""

    def source(self, job):  # noqa: ARG002  # it has none of any
        return ""


WRONG = [
    (Forgets, "test_fix_launches_the_same"),
    (Twice, "test_a_launch_that_is_not_ours_is_timed"),
    (Untimed, "test_a_timed_launch_comes_to_know_its_time"),
    (Overwrites, "test_clearing_is_of_so_many_bytes"),
    (Refuses, "test_finishing_waits_for_what_was_launched"),
    (Mute, "test_a_source_is_a_text_to_read"),
]


@pytest.mark.parametrize(("backend", "test"), WRONG, ids=lambda one: getattr(one, "__name__", one))
def test_what_is_wrong_with_a_backend_is_found(backend, test):
    getattr(BackendContract(), test)(Reference())  # what is right is not

    with pytest.raises(AssertionError):
        getattr(BackendContract(), test)(backend())


def test_an_error_that_is_swallowed_is_found():
    with pytest.raises(pytest.fail.Exception):
        BackendContract().test_what_a_timed_launch_raises_passes_through(Swallows(), ValueError())


def test_a_compiler_has_to_say_what_it_refuses(monkeypatch):
    with pytest.raises(AssertionError, match="say in `refused` what this compiler refuses"):
        BackendContract().test_what_the_compiler_refuses_is_a_value(Compiles(), monkeypatch)
