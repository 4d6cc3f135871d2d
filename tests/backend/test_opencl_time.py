"""Launches of anybody on an OpenCL queue are timed by markers."""

import numpy as np
import pytest

import vyre
from vyre import kernels

cl = pytest.importorskip("pyopencl")

PROFILED = cl.command_queue_properties.PROFILING_ENABLE


@pytest.fixture
def backend():
    if not any(device.name == "opencl:0" for device in vyre.devices()):
        pytest.skip("no OpenCL device is here")
    return vyre.open("opencl:0").backend


@pytest.fixture
def work(backend):
    """A kernel of pyopencl's own that takes a while, to be put on a queue."""
    context = backend._open()[0]
    source = """__kernel void spin(__global float* x) {
        float s = x[get_global_id(0)];
        for (int i = 0; i < 20000; i++) s = s * 0.5f + 0.25f;
        x[get_global_id(0)] = s;
    }"""
    kernel = cl.Kernel(cl.Program(context, source).build(), "spin")
    x = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * 4096)

    def put(queue):
        kernel.set_args(x)  # which does not keep it
        return cl.enqueue_nd_range_kernel(queue, kernel, (4096,), (64,))

    return put


def test_the_time_between_the_markers_covers_the_kernel(backend, work):
    _, queue = backend._open()
    events = []
    work(queue).wait()

    ticket = backend.time(0, lambda: events.append(work(queue)))
    ticket.wait()

    profile = events[0].profile
    kernel_ns = profile.end - profile.start
    assert kernel_ns > 0
    assert ticket.elapsed_ns() >= kernel_ns


def test_what_came_before_is_not_counted(backend, work):
    _, queue = backend._open()
    before = [work(queue) for _ in range(20)]

    ticket = backend.time(0, lambda: None)
    ticket.wait()

    long = before[-1].profile.end - before[0].profile.start
    assert ticket.elapsed_ns() < long


def test_behind_other_work_the_time_is_the_device_s_own(backend, work):
    _, queue = backend._open()
    gate = cl.UserEvent(backend._open()[0])
    cl.enqueue_marker(queue, wait_for=[gate])  # the queue is busy until it is opened

    ticket = backend.time(0, lambda: work(queue))
    known = ticket.elapsed_ns()
    gate.set_status(cl.command_execution_status.COMPLETE)
    ticket.wait()

    assert known is None
    assert not ticket.rough
    assert ticket.elapsed_ns() > 0


def test_another_queue_is_timed_by_its_handle_where_it_keeps_times(backend, work):
    context = backend._open()[0]
    profiled, plain = cl.CommandQueue(context, properties=PROFILED), cl.CommandQueue(context)

    ticket = backend.time(profiled.int_ptr, lambda: work(profiled))
    ticket.wait()

    assert ticket.elapsed_ns() > 0
    launched = []
    assert backend.time(plain.int_ptr, lambda: launched.append(work(plain))) is None
    assert len(launched) == 1
    launched[0].wait()


def test_a_call_of_ours_can_be_timed(backend):
    x = vyre.open("opencl:0").array(np.ones(1000, np.float32))

    ticket = backend.time(0, lambda: kernels.gelu(x))
    ticket.wait()

    assert ticket.elapsed_ns() > 0
