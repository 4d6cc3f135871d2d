"""What comes back from the compile helper, made ready beside the calls."""

from dataclasses import dataclass, field, replace

import pytest

from vyre import kernels
from vyre.backend.base import Compiled, Unbuilt
from vyre.backend.replayed import Replayed
from vyre.errors import DeviceFailed
from vyre.learn.subject import Fetched, Later
from vyre.model import Code, Schedule
from vyre.runtime.compile.bundle import Bundle
from vyre.runtime.compile.helper import Ready
from vyre.runtime.compile.worker import Pending, Refused
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.launcher import Launcher
from vyre.runtime.devices.subject import ProgramSubject

N = 1 << 14
CODES = tuple(Code(items=items) for items in (1, 2, 4, 8))
SCHEDULES = tuple(Schedule((size, 1, 1), code) for code in CODES for size in (64, 128))


class Loading(Replayed):
    """A device that tells what it is asked to load, and is calm when it is told to be."""

    loads_together = 3

    def __init__(self, **more):
        super().__init__(lambda _: 1000.0, **more)
        self.calm, self.loaded, self.fails = [], [], None

    def is_calm(self):
        return self.calm.pop(0) if self.calm else True

    def load(self, jobs, made):
        self.loaded.append(tuple((job.code, one.name) for job, one in zip(jobs, made, strict=True)))
        if self.fails is not None:
            raise self.fails
        return self.build(jobs)


@dataclass
class Helper:
    """Keeps what was handed in, until it is answered."""

    bundle: Bundle | None = None
    pending: Pending | None = None

    def submit(self, bundle, then=None):
        self.bundle, self.pending = bundle, Pending(then)
        return self.pending


@dataclass
class World:
    """A program on a device of our own, about to be fetched."""

    backend: Replayed = field(default_factory=Loading)
    helper: Helper = field(default_factory=Helper)

    def __post_init__(self):
        device = Device("replay:0", self.backend)
        self.launcher = Launcher(kernels.gelu._translation, device)
        self.numbers = self.launcher.numbers((N, 1, 1), {"x": (N,), "out": (N,)}, {})
        self.subject = ProgramSubject(self.launcher, self.numbers, {}, self.helper)

    def fetch(self, *schedules):
        return self.subject.fetch(schedules, lambda: None)

    def answer(self, *made):
        threads = tuple(0 if isinstance(one, Unbuilt) else one.max_threads for one in made)
        self.helper.pending.settle(Ready(threads, 0.25, made))

    def compiled(self, most=0):
        return [Compiled(most, f"{number:064x}") for number in range(len(self.helper.bundle.codes))]


def rest(fetching):
    """All the pieces of taking it, and how it ended."""
    pieces = []
    while not isinstance(pieces[-1] if pieces else None, Fetched):
        pieces.append(fetching.taken())
    return pieces


def test_where_loading_stops_callers_the_next_codes_come_with_the_first():
    world = World()

    world.fetch(*SCHEDULES)

    assert world.helper.bundle.codes == CODES[:3]
    assert world.helper.bundle.warm == ()


def test_elsewhere_each_code_is_fetched_alone():
    world = World()
    world.backend.loads_together = 1

    world.fetch(*SCHEDULES)

    assert world.helper.bundle.codes == CODES[:1]


def test_what_is_ready_is_not_fetched_again_but_for_what_was_asked():
    world = World()
    for one in SCHEDULES[:4]:
        world.launcher.warmed(world.numbers, one)

    world.fetch(*SCHEDULES)

    assert world.helper.bundle.codes == (CODES[0], CODES[2], CODES[3])


def test_nothing_is_taken_before_it_is_compiled():
    assert World().fetch(*SCHEDULES).taken() is None


def test_codes_are_loaded_together_by_what_the_helper_says_and_then_are_ready():
    world = World()
    fetching = world.fetch(*SCHEDULES)
    world.answer(*world.compiled())

    *pieces, came = rest(fetching)

    assert pieces == [Later()]
    assert came == Fetched(took_s=0.25)
    assert world.backend.loaded == [tuple((c, f"{n:064x}") for n, c in enumerate(CODES[:3]))]
    assert [world.subject.is_ready(one) for one in SCHEDULES] == [True] * 6 + [False] * 2


def test_nothing_is_loaded_while_the_device_has_much_to_do():
    world = World()
    world.backend.calm = [False] * 9
    fetching = world.fetch(*SCHEDULES)
    world.answer(*world.compiled())

    waits = [fetching.taken() for _ in range(9)]

    assert world.backend.loaded == []
    assert [one.after_s for one in waits] == sorted(one.after_s for one in waits)
    assert 0.0 < waits[0].after_s < waits[-1].after_s <= 0.1
    assert isinstance(rest(fetching)[-1], Fetched)
    assert len(world.backend.loaded) == 1


def test_a_device_that_cannot_tell_is_left_to_loading(monkeypatch):
    world = World()

    def lost():
        raise DeviceFailed("the context is lost", "start anew")

    monkeypatch.setattr(world.backend, "is_calm", lost)
    fetching = world.fetch(*SCHEDULES)
    world.answer(*world.compiled())

    assert rest(fetching)[-1] == Fetched(took_s=0.25)


def test_one_code_that_cannot_be_compiled_takes_no_other_with_it():
    world = World()
    fetching = world.fetch(*SCHEDULES)
    first, _, third = world.compiled()
    world.answer(first, Unbuilt("too many registers"), third)

    came = rest(fetching)[-1]

    assert {one.code for one in came.failed} == {CODES[1]}
    assert set(came.failed.values()) == {"too many registers"}
    assert world.subject.is_ready(SCHEDULES[0])
    assert not world.subject.is_ready(SCHEDULES[2])
    assert world.subject.is_ready(SCHEDULES[4])


def test_a_code_that_cannot_be_loaded_is_told():
    world = World(Loading(refuses={CODES[2]: "no room for code"}))
    fetching = world.fetch(*SCHEDULES)
    world.answer(*world.compiled())

    came = rest(fetching)[-1]

    assert {one.code: why for one, why in came.failed.items()} == {CODES[2]: "no room for code"}


def test_a_device_that_fails_to_load_is_told_of_every_code():
    world = World()
    world.backend.fails = DeviceFailed("the context is lost", "start anew")
    fetching = world.fetch(*SCHEDULES)
    world.answer(*world.compiled())

    came = rest(fetching)[-1]

    assert {one.code for one in came.failed} == set(CODES[:3])
    assert set(came.failed.values()) == {"the context is lost"}


def test_what_is_wider_than_the_registers_allow_is_told():
    world = World()
    fetching = world.fetch(*SCHEDULES)
    world.answer(*world.compiled(most=64))

    came = rest(fetching)[-1]

    assert came.failed == dict.fromkeys(SCHEDULES[1:6:2], "128 threads; its registers allow 64")


def test_an_answer_without_places_is_built():
    world = World()
    fetching = world.fetch(*SCHEDULES)
    world.helper.pending.settle(Ready((0, 0, 0), 0.25))

    assert rest(fetching)[-1] == Fetched(took_s=0.25)
    assert world.backend.loaded == [tuple((code, "") for code in CODES[:3])]


@pytest.mark.parametrize("by_helper", [True, False])
def test_a_refusal_is_the_helper_s_or_of_every_code(by_helper):
    world = World()
    fetching = world.fetch(*SCHEDULES)
    world.helper.pending.settle(replace(Refused("no", "line 3"), by_helper=by_helper))

    (came,) = rest(fetching)

    if by_helper:
        assert came == Fetched(broken="no")
    else:
        assert {one.code for one in came.failed} == set(CODES[:3])


def test_a_device_that_loads_nothing_builds():
    world = World(Replayed(lambda _: 1000.0))
    fetching = world.fetch(*SCHEDULES)
    world.answer(*world.compiled())

    assert rest(fetching)[-1] == Fetched(took_s=0.25)
    assert world.subject.is_ready(SCHEDULES[1])
