"""Memory in which workgroups keep results for each other, on a driver of host memory."""

import ctypes
import struct
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("cuda.bindings.nvrtc")

from vyre.analysis import analyse
from vyre.backend.base import Job
from vyre.backend.cuda import found
from vyre.backend.cuda.rooms import COUNTERS_BYTES
from vyre.errors import DeviceFailed
from vyre.model import Code
from vyre.testing import reducers

LEGACY = 1
GRID, GROUP = (4, 1, 1), (64, 1, 1)


@pytest.fixture
def cuda(driver, tmp_path):
    (made,) = found(tmp_path, driver, tmp_path / "no such file")
    return made


@pytest.fixture
def dot(cuda):
    """A sum that four workgroups share, and room for ten blocks of it."""
    program = reducers.dot.program
    job = Job(program, Code(lanes=64, shares=4), analyse(program))
    (binary,) = cuda.build([job])
    return replace(binary, room=(4, 40))


def words(binary):
    return bytes(4 * binary.layout.count)


def given(driver):
    """The three arrays of the last launch, and what it has for its workgroups.

    They stand in memory of the step that launched, which has to be there still.
    """
    pointers = (ctypes.c_void_p * 5).from_address(driver.launches[-1][-1])
    return [struct.unpack("<Q", ctypes.string_at(at, 8))[0] for at in pointers]


ARRAYS = (11, 12, 13)


def launch(cuda, binary, stream=0, **others):
    return cuda.launch(binary, GRID, GROUP, ARRAYS, words(binary), stream=stream, **others)


def room(cuda, driver, binary, stream=0):
    launch(cuda, binary, stream)
    return given(driver)[3:]


def test_a_launch_has_counters_that_are_zero_and_room_behind_them(cuda, driver, dot):
    counters, blocks = room(cuda, driver, dot)

    assert given(driver)[:3] == list(ARRAYS)
    assert ctypes.string_at(counters, COUNTERS_BYTES) == bytes(COUNTERS_BYTES)
    assert blocks == counters + COUNTERS_BYTES
    assert driver.cleared == [(counters, LEGACY)]


def test_launches_of_a_stream_follow_each_other_and_share_it(cuda, driver, dot):
    first = room(cuda, driver, dot)
    other = replace(dot, room=(4, 4000))

    assert room(cuda, driver, dot) == first
    assert room(cuda, driver, other) == first
    assert len(driver.cleared) == 1


def test_every_stream_has_its_own(cuda, driver, dot):
    rooms = {stream: room(cuda, driver, dot, stream)[0] for stream in (0, 0x50, 0x60)}

    assert len(set(rooms.values())) == 3
    assert driver.cleared == [(rooms[0], LEGACY), (rooms[0x50], 0x50), (rooms[0x60], 0x60)]


def test_a_stream_with_the_handle_of_one_that_is_gone_is_another(cuda, driver, dot):
    """What was launched on the first may still run."""
    before = room(cuda, driver, dot, 0x50)
    driver.ids[0x50] = 77

    assert room(cuda, driver, dot, 0x50) != before


def test_each_capture_has_its_own_for_it_may_be_replayed_beside_anything(cuda, driver, dot):
    live = room(cuda, driver, dot, 0x50)
    driver.capturing.add(0x50)
    driver.captures[0x50] = 5
    driver.capture_modes.clear()
    first = room(cuda, driver, dot, 0x50)
    again = room(cuda, driver, dot, 0x50)
    driver.captures[0x50] = 6
    second = room(cuda, driver, dot, 0x50)
    driver.capturing.clear()

    assert first == again
    assert len({live[0], first[0], second[0]}) == 3
    assert driver.cleared[1:] == [(first[0], 0x50), (second[0], 0x50)]  # a part of each graph
    assert set(driver.capture_modes) == {"CU_STREAM_CAPTURE_MODE_RELAXED"}
    assert room(cuda, driver, dot, 0x50) == live


def test_it_grows_and_what_was_in_use_stays(cuda, driver, dot):
    small = room(cuda, driver, dot)
    large = room(cuda, driver, replace(dot, room=(4, 1 << 20)))

    assert small[0] != large[0]
    assert {small[0], large[0]} <= driver.memory.keys()
    assert len(driver.memory[large[0]]) >= (1 << 20) + COUNTERS_BYTES
    assert room(cuda, driver, dot) == large


def test_several_arrays_begin_where_any_type_may(cuda):
    sizes = (4, 12, 4, 100)
    addresses = cuda._rooms.take(sizes, 0, LEGACY).arrays(sizes)

    assert [at - addresses[0] for at in addresses] == [
        0,
        COUNTERS_BYTES,
        COUNTERS_BYTES + 256,
        COUNTERS_BYTES + 512,
    ]


@pytest.mark.parametrize("way", ["bind", "fix", "launch", "timed"])
def test_every_way_to_launch_has_it(cuda, driver, dot, way):
    expected = room(cuda, driver, dot, 0x50)
    driver.launches.clear()
    if way == "bind":
        step = cuda.bind(dot, GRID, GROUP, words(dot))
        step(ARRAYS, 0x50)
    elif way == "fix":
        step = cuda.fix(dot, GRID, GROUP, words(dot), ARRAYS)
        step(0x50)
    else:
        launch(cuda, dot, 0x50, timed=way == "timed")

    assert len(driver.launches) == 1
    assert given(driver) == [*ARRAYS, *expected]


def test_launches_in_a_row_run_beside_others_and_have_their_own(cuda, driver, dot):
    own = room(cuda, driver, dot)
    start, rooms = cuda._start, []

    def noting(*arguments):
        answer = start(*arguments)
        rooms.append(given(driver)[3:])
        return answer

    cuda._start = noting
    cuda.time_block(dot, GRID, GROUP, ARRAYS, words(dot), 3)

    assert len(rooms) >= 3
    assert own not in rooms


def test_calls_of_several_launches_keep_apart_where_threads_make_them_in_turns(cuda):
    """A launch of one call may come between two of another on the same stream."""
    program = reducers.softmax.program
    job = Job(program, Code(lanes=64, shares=4, across=True), analyse(program))
    (binary,) = cuda.build([job])
    binary = replace(binary, room=(4, 4, 16, 4, 40), launches=3)
    start, seen = cuda._start, []

    def slow(*arguments):
        seen.append((threading.get_ident(), ctypes.c_void_p.from_address(_third(arguments)).value))
        time.sleep(0.002)  # the driver lets other threads run
        return start(*arguments)

    cuda._start = slow
    ready = threading.Barrier(2)

    def call():
        ready.wait()
        for _ in range(5):
            cuda.launch(binary, GRID, GROUP, (11, 12), words(binary))

    threads = [threading.Thread(target=call) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()

    inside: dict[int, int] = {}
    for turn, (thread, address) in enumerate(seen):
        own = [number for number, (other, _) in enumerate(seen) if other == thread]
        inside[thread] = address
        is_last = own.index(turn) % 3 == 2
        assert list(inside.values()).count(address) == 1
        if is_last:
            del inside[thread]


def _third(arguments):
    """Where a launch has its third argument, the counters."""
    return (ctypes.c_void_p * 3).from_address(arguments[9])[2]


def test_a_call_that_comes_in_the_middle_of_another_has_its_own(cuda, driver, dot):
    """A signal handler may launch."""
    first = cuda._rooms.take(dot.room, 0, LEGACY)
    between = room(cuda, driver, dot)
    cuda._rooms.give_back(first)

    assert between[0] != first.address
    assert room(cuda, driver, dot)[0] == first.address


def test_no_memory_for_it_is_said_with_a_fix(cuda, driver, dot):
    driver.answers["cuMemAlloc"] = [driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY]
    with pytest.raises(DeviceFailed) as raised:
        launch(cuda, dot)

    assert str(raised.value) == (
        "NVIDIA Fake has no 65,536 bytes in which workgroups could keep what they find\n"
        "Fix: free arrays no longer needed, or run it with Code(shares=1)"
    )
    launch(cuda, dot)  # and the next one finds some
    assert driver.launches


def test_a_binary_that_needs_none_asks_for_none(cuda, driver):
    program = reducers.dot.program
    (binary,) = cuda.build([Job(program, Code(lanes=64), analyse(program))])
    arrays = [np.uint64(one) for one in ARRAYS]
    cuda.launch(binary, GRID, GROUP, arrays, words(binary))

    assert "cuMemAlloc" not in driver.calls
