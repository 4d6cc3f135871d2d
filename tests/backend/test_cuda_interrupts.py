"""The CUDA backend interrupted after each of its calls to the driver: what comes next is right."""

import numpy as np
import pytest

pytest.importorskip("cuda.bindings.nvrtc")

from vyre import kernels
from vyre.analysis import analyse
from vyre.backend.base import Job
from vyre.backend.cuda import found
from vyre.backend.cuda.memory import CHUNK
from vyre.model import Code

ANOTHER = 0xBEEF


@pytest.fixture
def cuda(driver, tmp_path):
    (made,) = found(tmp_path, driver, tmp_path / "no such file")
    return made


def interrupted_after_each_call(driver, work):
    """Do `work` again and again, interrupted after its first, second … call; after each a turn."""
    for number in range(1, 1000):
        driver.interrupt_after = number
        try:
            work()
        except KeyboardInterrupt:
            yield number
        else:
            driver.interrupt_after = 0
            assert number > 1
            return


@pytest.mark.parametrize("what", ["upload", "download"])
def test_a_copy_that_was_interrupted_leaves_the_next_one_whole(cuda, driver, what):
    driver.lazy = True
    size = 3 * CHUNK + 17
    one = np.random.default_rng(0).integers(1, 256, size, np.uint8)
    other, back = one[::-1].copy(), np.zeros(size, np.uint8)
    memory = cuda.alloc(size)
    cuda.upload(memory, one)
    copied = {
        "upload": lambda: cuda.upload(memory, one),
        "download": lambda: cuda.download(memory, np.empty(size, np.uint8)),
    }

    for _ in interrupted_after_each_call(driver, copied[what]):
        cuda.upload(memory, other)
        cuda.download(memory, back)

        assert np.array_equal(back, other)
        cuda.upload(memory, one)


def test_another_library_s_device_stays_current_after_an_interrupt(cuda, driver):
    cuda.synchronize()
    driver.current = ANOTHER

    for _ in interrupted_after_each_call(driver, cuda.synchronize):
        assert driver.current == ANOTHER


def test_timing_that_was_interrupted_ends_its_recording_and_its_launches(cuda, driver):
    program = kernels.saxpy.program
    (binary,) = cuda.build([Job(program, Code(), analyse(program))])
    words = bytes(4 * binary.layout.count)

    def timing():
        return cuda.time_block(binary, (1, 1, 1), (64, 1, 1), [1, 2, 3, np.float32(1)], words, 3)

    for _ in interrupted_after_each_call(driver, timing):
        assert driver.capturing == set()
        ran = [n for n, name in enumerate(driver.calls) if name == "cuGraphLaunch"]
        waits = [n for n, name in enumerate(driver.calls) if name == "cuStreamSynchronize"]
        assert not ran or waits[-1] > ran[-1]
    assert timing() == 250_000
