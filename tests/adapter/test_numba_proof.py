"""What `explain()` says is proved of kernels of Numba's: its own PTX, its names by stand-ins."""

import importlib
import math
import re

import numpy as np
import pytest

from vyre.testing import stand_ins
from vyre.testing.stand_ins import Dispatcher, Launches

numba = pytest.importorskip("numba")
cuda = pytest.importorskip("numba.cuda")
from vyre.adapter.numba import device  # noqa: E402  # it needs Numba

PROVED = "what each of its threads does is proved free of the block size"
STATED = "that its configs compute the same is stated by its author"
APART = "  that no thread reads or writes what another one writes is stated by its author"
BEYOND = (
    "  that threads beyond the size of a launch do nothing, and that no thread reads or writes "
    "what another one writes are stated by its author"
)
UNGUARDED = "  not guarded: one that crashes or hangs does so here; check=True tries them"


@pytest.fixture
def launches(monkeypatch):
    made = Launches()
    monkeypatch.setattr(stand_ins, "LAUNCHES", made)
    return made


def floats(n=1024):
    return stand_ins.ndarray(np.ones(n, np.float32))


def asked_in_blocks(x, n):
    if cuda.threadIdx.x < n:
        x[cuda.threadIdx.x] *= 2


def scaled(x, n):
    i = cuda.grid(1)
    if i < n:
        x[i] *= 2


def rooted(x, y):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        y[i, j] = math.sqrt(x[i, j - 1]) + math.sin(x[i, j])


def swept(x, n):
    held = cuda.local.array(4, np.float32)
    i = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    for k in range(4):
        held[k] = x[4 * i + k]
    for k in range(n):
        x[4 * i + k % 4] = held[(k + 1) % 4]


def strided(x, n):
    at = cuda.grid(1)
    while at < n:
        x[at] *= 2
        at += cuda.gridsize(1)


def counted(x, n):
    cuda.atomic.add(x, 0, n)


def in_a_warp(x, n):
    i = cuda.grid(1)
    x[i] = cuda.shfl_sync(0xFFFFFFFF, x[i], n)


def in_shared_memory(x, n):
    held = cuda.shared.array(32, np.float32)
    held[cuda.grid(1) % 32] = n
    cuda.syncthreads()
    x[cuda.grid(1)] = held[3]


def compiled(function, types):
    """The PTX that Numba makes of a kernel, and its name there."""
    try:
        text, _ = cuda.compile_ptx(function, types, cc=(9, 0), abi="numba")
    except Exception as error:  # noqa: BLE001  # where a part of it is missing
        pytest.skip(f"Numba compiles nothing here: {error}")
    return text, re.search(r"\.entry (\w+)", text)[1]


FLAT = (numba.float32[::1], numba.int64)
PLANE = (numba.float32[:, ::1], numba.float32[:, :])


@pytest.mark.usefixtures("bench")
class TestNumba:
    """Its own PTX is read, of all that it has compiled of a kernel."""

    @pytest.fixture
    def adapter(self, launches, monkeypatch):
        monkeypatch.setattr(device, "current", lambda: 0)
        monkeypatch.setattr(device, "place", launches.place)
        monkeypatch.setattr(device, "capability", lambda _: (9, 0))
        with stand_ins.cupy_by_name():
            yield importlib.import_module("vyre.adapter.numba.tuned")

    def explained(self, adapter, function, types=FLAT, *, forall=False, **of_tuned):
        dispatcher = Dispatcher(function)
        dispatcher.ptx, dispatcher.compiled.entry_name = compiled(function, types)
        made = adapter.tuned(dispatcher, **of_tuned)
        for _ in range(2):
            (made.forall(1024) if forall else made[8, 128])(floats(), 1024)
        return str(made.explain()).split("\n\n")[0].splitlines()

    @pytest.mark.parametrize(
        ("function", "types"),
        [(scaled, FLAT), (rooted, PLANE), (swept, FLAT), (strided, FLAT)],
    )
    def test_kernels_that_ask_for_places_alone_are_proved(self, adapter, function, types):
        assert self.explained(adapter, function, types) == [
            *(f"{function.__name__}: {PROVED}", APART, UNGUARDED)
        ]

    @pytest.mark.parametrize(
        ("function", "why"),
        [
            (asked_in_blocks, "its PTX has %tid.x outside of a thread's place in the grid"),
            (counted, "its PTX has atom.global.add.f32"),
            (in_a_warp, "its PTX has shfl.sync.idx.b32"),
            (in_shared_memory, "its PTX has st.shared.f32"),
        ],
    )
    def test_kernels_that_ask_for_more_are_not(self, adapter, function, why):
        head, line, _ = self.explained(adapter, function)

        assert head == f"{function.__name__}: {STATED}"
        assert line == f"  not proved: {why}"

    def test_tasks_leave_more_to_the_author(self, adapter):
        assert self.explained(adapter, scaled, forall=True)[:2] == [f"scaled: {PROVED}", BEYOND]
        assert self.explained(adapter, strided, forall=True)[0] == f"strided: {STATED}"

    def test_nothing_is_looked_for_where_the_number_of_threads_changes(self, adapter):
        assert self.explained(adapter, strided, grid="stride") == [
            f"strided: {STATED}",
            UNGUARDED,
        ]

    def test_what_is_not_compiled_yet_is_not_proved(self, adapter):
        head, line, *_ = str(adapter.tuned(Dispatcher(scaled)).explain()).splitlines()

        assert (head, line) == (
            f"scaled: {STATED}",
            "  not proved: Numba has not compiled it yet",
        )

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            ({"launch_config_sensitive": True}, "Numba compiles it anew for each launch "
             "configuration"),
            ({"inspect_asm": lambda _: [][0]}, "Numba gives no PTX of it: list index out of "
             "range"),
            ({"entry_name": "another"}, "there is no kernel of that name in its PTX"),
        ],
    )  # fmt: skip
    def test_what_cannot_be_read_is_not_proved(self, adapter, change, why):
        dispatcher = Dispatcher(scaled)
        dispatcher.ptx, dispatcher.compiled.entry_name = compiled(scaled, FLAT)
        made = adapter.tuned(dispatcher)
        made[8, 128](floats(), 1024)
        for name, value in change.items():
            setattr(dispatcher.compiled, name, value)

        assert str(made.explain()).splitlines()[1] == f"  not proved: {why}"

    def test_one_of_several_that_is_not_proved_is_enough(self, adapter):
        dispatcher = Dispatcher(scaled)
        dispatcher.ptx, dispatcher.compiled.entry_name = compiled(scaled, FLAT)
        made = adapter.tuned(dispatcher)
        made[8, 128](floats(), 1024)
        other = Dispatcher(asked_in_blocks)
        other.ptx, other.compiled.entry_name = compiled(asked_in_blocks, FLAT)
        dispatcher.overloads["other"] = other.compiled

        assert str(made.explain()).splitlines()[0] == f"scaled: {STATED}"

    def test_what_is_compiled_under_one_name_twice_is_read_twice(self, adapter):
        """A kernel that is loaded from a file may be called as one that is compiled now."""
        dispatcher = Dispatcher(scaled)
        dispatcher.ptx, dispatcher.compiled.entry_name = compiled(scaled, FLAT)
        made = adapter.tuned(dispatcher)
        made[8, 128](floats(), 1024)
        other = Dispatcher(asked_in_blocks)
        text, name = compiled(asked_in_blocks, FLAT)
        other.compiled.entry_name = dispatcher.compiled.entry_name
        other.ptx = text.replace(name, other.compiled.entry_name)
        dispatcher.overloads["other"] = other.compiled

        assert str(made.explain()).splitlines()[0] == f"scaled: {STATED}"

    def test_what_runs_on_another_device_is_read_too(self, adapter, monkeypatch):
        dispatcher = Dispatcher(scaled)
        text, dispatcher.compiled.entry_name = compiled(scaled, FLAT)
        texts = {(9, 0): text, (8, 0): text.replace("%ctaid.x", "%ctaid.y")}
        dispatcher.compiled.inspect_asm = texts.__getitem__
        monkeypatch.setattr(device, "capability", {0: (9, 0), 1: (8, 0)}.__getitem__)
        made = adapter.tuned(dispatcher)
        made[8, 128](floats(), 1024)

        assert str(made.explain()).splitlines()[0] == f"scaled: {PROVED}"

        made.device = lambda: 1
        made[8, 128](floats(), 1024)

        assert str(made.explain()).splitlines()[0] == f"scaled: {STATED}"

    def test_a_device_that_does_not_answer_is_a_reason(self, adapter, monkeypatch):
        dispatcher = Dispatcher(scaled)
        dispatcher.ptx, dispatcher.compiled.entry_name = compiled(scaled, FLAT)
        made = adapter.tuned(dispatcher)
        made[8, 128](floats(), 1024)

        def capability(number):
            raise OSError(f"device {number} fell off the bus")

        monkeypatch.setattr(device, "capability", capability)

        assert str(made.explain()).splitlines()[1] == (
            "  not proved: Numba gives no PTX of it: device 0 fell off the bus"
        )
