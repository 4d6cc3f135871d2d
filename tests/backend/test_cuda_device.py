"""The CUDA backend on a driver of host memory: what it asks, and what it makes of the answers."""

import ctypes
import gc
import struct
import threading

import numpy as np
import pytest

pytest.importorskip("cuda.bindings.nvrtc")

import vyre
from vyre import ir, kernels
from vyre.analysis import analyse
from vyre.backend.base import Compiled, CompilesAhead, Job, Loads
from vyre.backend.cuda import build, found
from vyre.backend.cuda.events import FIXED_NS
from vyre.backend.cuda.memory import CHUNK
from vyre.backend.cuda.timing import LITTLE_S
from vyre.emit import WordLayout
from vyre.errors import DeviceFailed, InvalidInput, UnsupportedFeature
from vyre.ir import BufferDecl, DataType, Program
from vyre.model import Code, DeviceKind, Schedule
from vyre.runtime.devices import opened
from vyre.runtime.devices.device import Device

LEGACY = 1
OWN_NS = 250_000 - FIXED_NS
"""What a launch takes on the fake."""


@pytest.fixture
def cuda(driver, tmp_path):
    (made,) = found(tmp_path, driver, tmp_path / "no such file")
    return made


@pytest.fixture
def saxpy(cuda):
    program = kernels.saxpy.program
    (binary,) = cuda.build([Job(program, Code(), analyse(program))])
    return binary


def words_for(binary):
    return struct.pack(f"<{binary.layout.count}I", *range(100, 100 + binary.layout.count))


def taken_by_saxpy(words):
    """The length of each array, and the extent along x."""
    numbers = struct.unpack(f"<{len(words) // 4}I", words)
    layout = WordLayout.of(kernels.saxpy.program)
    kept = [*(layout.length(name) for name in ("x", "y", "out")), layout.extent(0)]
    return struct.pack("<4I", *(numbers[place] for place in kept))


def parameters(driver, formats, words=4):
    """What the driver reads through the pointers of the last launch."""
    address = driver.launches[-1][-1]
    count = len(formats) + 1
    pointers = (ctypes.c_void_p * count).from_address(address)
    values = [
        struct.unpack(f"<{form}", ctypes.string_at(at, struct.calcsize(form)))[0]
        for form, at in zip(formats, pointers, strict=False)
    ]
    return values, ctypes.string_at(pointers[-1], 4 * words)


def test_a_device_is_described_by_all_that_changes_which_schedule_wins(driver, tmp_path):
    module = tmp_path / "version"
    module.write_text(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\n"
    )

    (made,) = found(tmp_path, driver, module)

    info = made.info
    assert (info.backend, info.model, info.kind) == ("cuda", "NVIDIA Fake", DeviceKind.GPU)
    assert info.driver == "580.159.04 (CUDA 13.0)"
    assert info.compiler.startswith("NVRTC 13.")
    assert info.traits == {"capability": "9.0"}
    assert info.limits.max_threads == 1024
    assert info.limits.group_bytes == 48 << 10
    assert info.limits.cache_bytes == 60 << 20
    assert info.limits.max_block == (1024, 1024, 64)
    assert info.limits.max_grid == (2147483647, 65535, 65535)
    assert info.limits.max_threads_per_unit == 2048
    assert info.limits.lockstep == 32
    assert (info.compute_units, info.memory_bytes) == (132, 1 << 30)
    assert isinstance(made, CompilesAhead)
    assert isinstance(made, Loads)


def test_finding_devices_makes_no_context(driver, tmp_path):
    found(tmp_path, driver)

    assert "cuDevicePrimaryCtxRetain" not in driver.calls


def test_no_driver_is_said(driver, tmp_path):
    def missing(_):
        raise RuntimeError("no libcuda")

    driver.cuInit = missing
    with pytest.raises(UnsupportedFeature) as caught:
        found(tmp_path, driver)

    assert str(caught.value) == (
        'backend "cuda" needs NVIDIA\'s driver, which is not installed\n'
        "Fix: install it, or use another device"
    )


def test_a_driver_that_does_not_start_is_said_and_one_without_devices_has_none(driver, tmp_path):
    codes = driver.CUresult
    driver.answers["cuInit"] = [codes.CUDA_ERROR_NO_DEVICE, codes.CUDA_ERROR_UNKNOWN]

    assert found(tmp_path, driver) == []
    with pytest.raises(UnsupportedFeature) as caught:
        found(tmp_path, driver)

    assert caught.value.problem == "NVIDIA's driver does not start: CUDA_ERROR_UNKNOWN"


def test_a_built_kernel_tells_its_resources(saxpy, driver):
    assert saxpy.max_threads == 1024
    assert saxpy.resources.registers == 20
    assert saxpy.resources.shared_bytes == 16
    assert saxpy.arguments == ("x", "y", "out", "a")
    assert driver.calls.count("cuModuleLoadData") == 1
    assert driver.calls.count("cuFuncLoad") == 1  # never lazily, in somebody's capture


def test_several_codes_are_one_build_and_one_load(cuda, driver):
    program = kernels.gelu.program
    facts = analyse(program)

    built = cuda.build([Job(program, Code(items=items), facts) for items in (1, 2, 4)])

    assert [binary.function for binary in built] == [f"vyre_kernel_{n}" for n in range(3)]
    assert driver.calls.count("cuModuleLoadData") == 1


def test_a_module_that_the_driver_refuses_is_a_value(cuda, driver):
    program = kernels.saxpy.program
    driver.answers["cuModuleLoadData"] = [driver.CUresult.CUDA_ERROR_NO_BINARY_FOR_GPU]

    (built,) = cuda.build([Job(program, Code(), analyse(program))])

    assert built.reason == ("NVIDIA Fake could not load the kernel: CUDA_ERROR_NO_BINARY_FOR_GPU")


def test_arguments_are_packed_as_the_kernel_takes_them(cuda, driver, saxpy):
    memory = [cuda.alloc(64) for _ in range(3)]
    words = words_for(saxpy)

    cuda.launch(saxpy, (7, 1, 1), (256, 1, 1), [*memory, np.float32(2.5)], words)

    function, grid, workgroup, stream, _ = driver.launches[-1]
    assert (function, grid, workgroup) == ("vyre_kernel_0", (7, 1, 1), (256, 1, 1))
    assert stream == LEGACY
    values, seen = parameters(driver, "QQQf")
    assert values == [*[one.address for one in memory], 2.5]
    assert seen == taken_by_saxpy(words)


def test_a_kernel_that_takes_no_words_has_no_parameter_for_them(cuda, driver):
    program = kernels.saxpy.program
    schedule = Schedule((256, 1, 1), Code(checked=False, fitted=True))
    (binary,) = cuda.build([Job(program, schedule.code, analyse(program))])

    cuda.launch(binary, (1, 1, 1), (256, 1, 1), [16, 32, 48, np.float32(1.5)], words_for(binary))

    assert parameters(driver, "QQQf", words=0) == ([16, 32, 48, 1.5], b"")
    assert "words" not in cuda.source(Job(program, schedule.code, analyse(program)))


@pytest.mark.parametrize(
    ("dtype", "value", "form"),
    [
        (DataType.U8, np.uint8(200), "B"),
        (DataType.I16, np.int16(-5), "h"),
        (DataType.U32, np.uint32(4294967295), "I"),
        (DataType.I64, np.int64(-(2**63)), "q"),
        (DataType.U64, np.uint64(2**64 - 1), "Q"),
        (DataType.F32, np.float32("inf"), "f"),
        (DataType.F64, np.float64(1e300), "d"),
        (DataType.BF16, np.uint16(0x3FC0), "H"),
        (DataType.F16, np.float16(1.5), "e"),
        (DataType.BOOL, np.uint32(1), "I"),
    ],
    ids=lambda item: str(item) if isinstance(item, DataType) else "",
)
def test_a_scalar_of_every_type_arrives(cuda, driver, dtype, value, form):
    program = Program.wrapped(
        [BufferDecl.uniform("s", 0, dtype).with_count(1), BufferDecl.write("out", 1, DataType.U32)],
        (64, 1, 1),
        [ir.store("out", ir.gid(), ir.gid())],
    )
    (binary,) = cuda.build([Job(program, Code(), analyse(program))])

    cuda.launch(binary, (1, 1, 1), (64, 1, 1), [value, 0xABC0], words_for(binary))

    assert parameters(driver, form + "Q")[0] == [value, 0xABC0]


def test_a_bound_launch_gives_what_a_plain_one_gives(cuda, driver, saxpy):
    words = words_for(saxpy)
    start = cuda.bind(saxpy, (2, 1, 1), (128, 1, 1), words)

    for a in (1.0, -2.0):
        start([16, 32, 48, a], 0x50)

        assert driver.launches[-1][:4] == ("vyre_kernel_0", (2, 1, 1), (128, 1, 1), 0x50)
        assert parameters(driver, "QQQf") == ([16, 32, 48, a], taken_by_saxpy(words))


def test_a_fixed_launch_keeps_its_arguments(cuda, driver, saxpy):
    words = words_for(saxpy)
    start = cuda.fix(saxpy, (2, 1, 1), (128, 1, 1), words, [16, 32, 48, 1.5])
    cuda.launch(saxpy, (1, 1, 1), (64, 1, 1), [1, 2, 3, 9.0], bytes(len(words)))
    gc.collect()

    start()

    assert driver.launches[-1][:4] == ("vyre_kernel_0", (2, 1, 1), (128, 1, 1), LEGACY)
    assert parameters(driver, "QQQf") == ([16, 32, 48, 1.5], taken_by_saxpy(words))


def test_launches_of_several_threads_never_share_a_frame(cuda, driver, saxpy):
    words, wrong = words_for(saxpy), []
    plain = driver._cuLaunchKernel
    meet = threading.Barrier(2)

    def both_inside(*rest):
        meet.wait(10)
        pointers = (ctypes.c_void_p * 5).from_address(rest[-2])
        first = ctypes.c_uint64.from_address(pointers[0]).value
        if first != threading.get_ident():
            wrong.append(first)
        meet.wait(10)

    type(driver)._cuLaunchKernel = both_inside
    try:
        start = cuda.bind(saxpy, (1, 1, 1), (64, 1, 1), words)

        def run():
            for _ in range(20):
                start([threading.get_ident(), 0, 0, 0.0])

        threads = [threading.Thread(target=run) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        type(driver)._cuLaunchKernel = plain.__func__

    assert wrong == []


def test_an_untimed_launch_records_no_event_and_has_no_time(cuda, driver, saxpy):
    ticket = cuda.launch(saxpy, (1, 1, 1), (64, 1, 1), [0, 0, 0, 0.0], words_for(saxpy))
    ticket.wait()

    assert "cuEventRecord" not in driver.calls
    assert ticket.elapsed_ns() is None
    assert driver.waited == LEGACY


def test_waiting_for_a_launch_on_a_stream_waits_for_that_stream(cuda, driver, saxpy):
    cuda.launch(saxpy, (1, 1, 1), (64, 1, 1), [0, 0, 0, 0.0], words_for(saxpy), stream=0x50).wait()

    assert driver.waited == 0x50


def timed(cuda, binary, **more):
    return cuda.launch(
        binary, (1, 1, 1), (64, 1, 1), [0, 0, 0, 0.0], words_for(binary), timed=True, **more
    )


def test_a_timed_launch_is_polled_and_its_events_serve_again(cuda, driver, saxpy):
    ticket = timed(cuda, saxpy)
    driver.answers["cuEventQuery"] = [driver.CUresult.CUDA_ERROR_NOT_READY]

    assert ticket.elapsed_ns() is None
    assert "cuEventSynchronize" not in driver.calls
    assert ticket.elapsed_ns() == OWN_NS
    assert ticket.elapsed_ns() == OWN_NS
    made = driver.calls.count("cuEventCreate")
    assert timed(cuda, saxpy).elapsed_ns() == OWN_NS
    assert driver.calls.count("cuEventCreate") == made == 2


def test_the_events_of_a_dropped_ticket_serve_again(cuda, driver, saxpy):
    for _ in range(3):
        timed(cuda, saxpy)
        gc.collect()

    assert driver.calls.count("cuEventCreate") == 2


def test_polling_and_loading_leave_captures_of_others_alone(cuda, driver, saxpy):
    timed(cuda, saxpy).elapsed_ns()

    assert set(driver.capture_modes) == {"CU_STREAM_CAPTURE_MODE_RELAXED"}
    assert driver.mode.name == "CU_STREAM_CAPTURE_MODE_GLOBAL"


def test_libraries_that_load_code_leave_captures_of_others_alone(cuda, driver):
    driver.capture_modes.clear()
    with cuda.apart():
        assert driver.mode.name == "CU_STREAM_CAPTURE_MODE_RELAXED"

    assert driver.mode.name == "CU_STREAM_CAPTURE_MODE_GLOBAL"


def test_a_block_of_launches_is_timed_as_a_graph_on_a_stream_of_its_own(cuda, driver, saxpy):
    words = bytes(4 * saxpy.layout.count)

    took = cuda.time_block(saxpy, (1, 1, 1), (64, 1, 1), [1, 2, 3, np.float32(1)], words, 8)

    assert took == 250_000
    assert driver.calls.count("cuGraphLaunch") == 2  # the first one is not timed
    assert driver.calls.count("cuGraphDestroy") == driver.calls.count("cuGraphExecDestroy") == 1


def test_a_launch_that_is_refused_while_recording_ends_the_recording(cuda, driver, saxpy):
    driver.answers["cuLaunchKernel"] = [driver.CUresult.CUDA_ERROR_INVALID_VALUE]
    words = bytes(4 * saxpy.layout.count)

    with pytest.raises(DeviceFailed):
        cuda.time_block(saxpy, (1, 1, 1), (64, 1, 1), [1, 2, 3, np.float32(1)], words, 8)

    assert driver.capturing == set()


def test_inside_a_capture_nothing_is_timed(cuda, driver, saxpy):
    driver.capturing.add(0x50)

    ticket = timed(cuda, saxpy, stream=0x50)

    assert cuda.is_capturing(0x50)
    assert not cuda.is_capturing()
    assert "cuEventRecord" not in driver.calls
    assert ticket.elapsed_ns() is None


def test_the_legacy_stream_counts_as_capturing_while_it_must_not_be_used(cuda, driver):
    driver.answers["cuStreamIsCapturing"] = [driver.CUresult.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT]

    assert cuda.is_capturing()


def test_a_thread_without_a_context_gets_one_when_its_launch_is_refused(cuda, driver, saxpy):
    driver.current = 0
    driver.answers["cuLaunchKernel"] = [driver.CUresult.CUDA_ERROR_INVALID_CONTEXT]

    cuda.launch(saxpy, (1, 1, 1), (64, 1, 1), [0, 0, 0, 0.0], words_for(saxpy))

    assert len(driver.launches) == 1
    assert driver.current == 0xC0


def test_another_device_chosen_by_another_library_is_put_back(cuda, driver, saxpy):
    driver.current = 0xBEEF
    driver.answers["cuLaunchKernel"] = [driver.CUresult.CUDA_ERROR_INVALID_HANDLE]

    cuda.bind(saxpy, (1, 1, 1), (64, 1, 1), words_for(saxpy))([0, 0, 0, 0.0])
    cuda.synchronize()

    assert len(driver.launches) == 1
    assert driver.current == 0xBEEF


def test_a_refused_launch_says_what_and_what_to_do(cuda, driver, saxpy):
    driver.answers["cuLaunchKernel"] = [driver.CUresult.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES]

    with pytest.raises(DeviceFailed) as caught:
        cuda.launch(saxpy, (9, 1, 1), (1024, 1, 1), [0, 0, 0, 0.0], words_for(saxpy))

    assert str(caught.value) == (
        "NVIDIA Fake failed to launch grid (9, 1, 1) of (1024, 1, 1): "
        "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES\n"
        "Fix: use a smaller workgroup"
    )


def test_a_forked_copy_is_told_so(cuda, saxpy, monkeypatch):
    monkeypatch.setattr(cuda._context, "_process", 1)
    cuda._driver.answers["cuLaunchKernel"] = [cuda._driver.CUresult.CUDA_ERROR_NOT_INITIALIZED]

    with pytest.raises(DeviceFailed) as caught:
        cuda.launch(saxpy, (1, 1, 1), (64, 1, 1), [0, 0, 0, 0.0], words_for(saxpy))

    assert str(caught.value) == (
        "NVIDIA Fake was opened before this process was forked; CUDA does not work there\n"
        'Fix: start processes with multiprocessing.get_context("spawn"), '
        "or use Vyre only in the children"
    )


def test_memory_is_freed_in_the_order_of_the_stream(cuda, driver):
    memory = cuda.alloc(1000)
    assert len(driver.memory) == 1

    del memory
    gc.collect()

    assert driver.memory == {}
    assert "cuCtxSynchronize" not in driver.calls
    assert driver.kept == (1 << 30) // 16


def test_memory_that_a_caller_s_stream_used_is_freed_after_it(cuda, driver):
    memory = cuda.alloc(1000)
    cuda.use_on(memory, 0x50)
    assert driver.ordered == (LEGACY, 0x50)

    del memory
    gc.collect()

    assert driver.calls.index("cuCtxSynchronize") < driver.calls.index("cuMemFreeAsync")


def test_downloading_waits_for_the_stream_that_used_the_memory(cuda, driver):
    memory = cuda.alloc(4)
    cuda.use_on(memory, 0x50)

    cuda.download(memory, np.zeros(1, np.float32))

    assert driver.ordered == (0x50, LEGACY)
    assert memory.stream == 0


def test_a_capture_is_not_made_to_wait_for_what_is_outside(cuda, driver):
    driver.capturing.add(0x50)
    memory = cuda.alloc(4)

    cuda.use_on(memory, 0x50)

    assert "cuStreamWaitEvent" not in driver.calls


def test_no_memory_is_an_error_with_the_numbers(cuda, driver):
    full = driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY
    driver.answers["cuMemAllocFromPoolAsync"] = [full, full]

    with pytest.raises(DeviceFailed) as caught:
        cuda.alloc(5_000_000)

    assert caught.value.problem == (
        "NVIDIA Fake has no 5,000,000 bytes for one array: 1,048,576 of 1,073,741,824 are free"
    )
    assert caught.value.fix == (
        "split the arrays, or free those no longer needed; torch.cuda.empty_cache() and "
        "cupy.get_default_memory_pool().free_all_blocks() free what those libraries keep"
    )


def test_memory_that_waits_to_be_freed_is_had_after_trimming(cuda, driver):
    driver.answers["cuMemAllocFromPoolAsync"] = [driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY]

    assert cuda.alloc(64).nbytes == 64
    assert "cuMemPoolTrimTo" in driver.calls


@pytest.mark.parametrize("size", [1, 5, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 17])
def test_arrays_travel_whole_through_the_pinned_buffers(cuda, driver, size):
    host = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    device = Device("cuda:0", cuda)

    there = device.array(host)

    assert np.array_equal(np.asarray(there), host)
    assert np.array_equal(np.asarray(there.copy()), host)
    assert driver.calls.count("cuMemHostAlloc") == 2


def test_an_array_without_elements_travels(cuda):
    there = Device("cuda:0", cuda).array(np.zeros((0, 3), np.float32))

    assert np.asarray(there).shape == (0, 3)


def test_clearing_fills_with_zeros(cuda):
    memory = cuda.alloc(12)
    cuda.clear(memory, 12)
    host = np.ones(3, np.float32)

    cuda.download(memory, host)

    assert not host.any()


def test_borrowed_memory_comes_back_into_its_array(cuda):
    host = np.arange(6, dtype=np.float64).reshape(2, 3)
    memory = cuda.borrow(host, read=True)
    host[:] = 0

    cuda.return_to(memory, host)

    assert np.array_equal(host, np.arange(6.0).reshape(2, 3))


def test_an_argument_is_the_address(cuda):
    memory = cuda.alloc(4)

    assert cuda.typed(memory, np.dtype(np.float32)) == memory.address


def test_opening_cuda_where_there_is_no_driver_says_so():
    try:
        devices = vyre.runtime.devices.opened.found("cuda")
    except UnsupportedFeature as error:
        caught = error
    else:
        pytest.skip(f"a driver is here, with {len(devices)} devices")

    assert caught.problem == 'backend "cuda" needs NVIDIA\'s driver, which is not installed'


def another(driver, ms=3.0):
    """A launch of another library's, which the driver runs for a while."""

    def launch():
        driver.now_ms += ms

    return launch


def test_a_launch_of_anybody_is_timed_by_events_on_its_stream(cuda, driver):
    ticket = cuda.time(0x50, another(driver))

    assert ticket.elapsed_ns() == 3_000_000 - FIXED_NS
    assert driver.calls.count("cuEventRecord") == 2
    assert ticket.rough  # the stream was idle


def test_behind_other_work_the_time_of_a_launch_is_the_device_s_own(cuda, driver):
    driver.busy.add(0x50)

    assert not cuda.time(0x50, another(driver)).rough


def test_a_stream_that_came_to_rest_meanwhile_leaves_a_rough_time_of_anybody_s(cuda, driver):
    driver.busy.add(0x50)

    assert cuda.time(0x50, lambda: driver.busy.clear()).rough


def test_a_stream_that_captures_is_asked_for_nothing_that_would_end_its_capture(cuda, driver):
    driver.capturing.add(0x50)
    launched = []

    assert cuda.time(0x50, lambda: launched.append(1)) is None

    assert launched == [1]
    assert not {"cuEventRecord", "cuStreamQuery"} & set(driver.calls)


def test_a_launch_that_begins_a_capture_has_no_time(cuda, driver):
    assert cuda.time(0x50, lambda: driver.capturing.add(0x50)) is None

    assert driver.calls.count("cuEventRecord") == 1


@pytest.mark.parametrize("call", ["cuEventCreate", "cuEventRecord", "cuStreamIsCapturing"])
def test_what_cannot_be_timed_is_launched_once_all_the_same(cuda, driver, call):
    launched = []
    driver.answers[call] = [driver.CUresult.CUDA_ERROR_INVALID_HANDLE]

    assert cuda.time(0x50, lambda: launched.append(1)) is None
    assert launched == [1]
    assert cuda.time(0x50, another(driver)).elapsed_ns() == 3_000_000 - FIXED_NS


def test_events_serve_again_whatever_comes_of_a_launch(cuda, driver):
    def fail():
        raise ZeroDivisionError

    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            cuda.time(0, fail)
        cuda.time(0, another(driver)).elapsed_ns()
    cuda.time(0x50, lambda: driver.capturing.add(0x50))

    assert driver.calls.count("cuEventCreate") == 2


def test_a_launch_is_timed_in_the_context_of_its_own_library(cuda, driver):
    cuda.synchronize()  # so that ours is made
    driver.current = 0xAB
    seen = []

    cuda.time(0, lambda: seen.append(driver.current))

    assert (seen, driver.current) == ([0xAB], 0xAB)


def test_clocks_are_asked_of_the_device_on_its_bus(cuda):
    assert cuda._nvml._bus_id == "0000:5D:00.0"


def test_the_table_of_loaders_knows_whose_memory_it_shares(cuda):
    assert opened.SHARING[cuda.sharing.dlpack_type] == cuda.info.backend
    assert opened.sharing(1) == ()  # the host's is no device's


class TestLoading:
    """What the compile helper has made."""

    codes = tuple(Code(items=items) for items in (1, 2, 4))

    @pytest.fixture
    def jobs(self):
        program = kernels.gelu.program
        facts = analyse(program)
        return [Job(program, code, facts) for code in self.codes]

    def test_several_codes_are_one_load_and_no_source_is_emitted(
        self, cuda, driver, jobs, monkeypatch
    ):
        made = cuda.compile_only(jobs)
        built = cuda.build(jobs)
        monkeypatch.setattr(build, "emit", None)
        loads = driver.calls.count("cuModuleLoadData")

        loaded = cuda.load(jobs, made)

        assert driver.calls.count("cuModuleLoadData") == loads + 1
        for one, other in zip(loaded, built, strict=True):
            assert (one.function, one.layout) == (other.function, other.layout)
            assert (one.arguments, one.guarded) == (other.arguments, other.guarded)
            assert one.resources == other.resources

    def test_what_is_kept_apart_is_loaded_apart_and_in_order(self, cuda, driver, jobs):
        made = [one for job in jobs for one in cuda.compile_only([job])]

        loaded = cuda.load(jobs, made)

        assert driver.calls.count("cuModuleLoadData") == 3
        assert [one.function for one in loaded] == ["vyre_kernel_0"] * 3

    @pytest.mark.parametrize("damage", ["gone", "another", "refused"])
    def test_what_cannot_be_loaded_is_built(self, cuda, driver, jobs, tmp_path, damage):
        made = cuda.compile_only(jobs)
        (file,) = (tmp_path / "cubin").iterdir()
        if damage == "gone":
            file.unlink()
        elif damage == "another":
            file.write_bytes(bytes(100))
        else:
            driver.answers["cuModuleLoadData"] = [driver.CUresult.CUDA_ERROR_NO_BINARY_FOR_GPU]

        loaded = cuda.load(jobs, made)

        assert [one.function for one in loaded] == [f"vyre_kernel_{n}" for n in range(3)]

    @pytest.mark.parametrize("name", ["../../x", "A" * 64, "a" * 63, "a" * 64 + "/x", "x.cubin"])
    def test_a_name_that_is_a_path_is_refused(self, name):
        with pytest.raises(InvalidInput) as caught:
            Compiled(name=name)

        assert str(caught.value) == (
            f"compiled code by the name {name!r}\nFix: give 64 hexadecimal digits"
        )


class TestCalm:
    """Loading code waits for what runs, so it is for a device that has little to do."""

    def test_before_anything_was_timed_it_is_calm(self, cuda, driver):
        assert cuda.is_calm()
        assert driver.calls[-1] != "cuStreamQuery"

    def test_an_idle_stream_is_calm(self, cuda, driver, saxpy):
        timed(cuda, saxpy)
        records = driver.calls.count("cuEventRecord")

        assert cuda.is_calm()
        assert driver.calls.count("cuEventRecord") == records

    @pytest.mark.parametrize("is_over", [True, False])
    def test_a_busy_stream_is_calm_if_a_little_later_all_is_done(
        self, cuda, driver, saxpy, monkeypatch, is_over
    ):
        timed(cuda, saxpy)
        driver.busy.add(LEGACY)
        slept = []

        def sleep(seconds):
            slept.append(seconds)
            if is_over:
                driver.busy.clear()

        monkeypatch.setattr(cuda._timing, "_sleep", sleep)

        assert cuda.is_calm() is is_over
        assert slept == [LITTLE_S]

    def test_of_a_caller_s_stream_only_our_events_are_asked(self, cuda, driver, saxpy):
        """It may be gone by now."""
        timed(cuda, saxpy, stream=0x50)
        driver.busy.add(0x50)
        driver.calls.clear()

        assert not cuda.is_calm()
        driver.busy.clear()
        assert cuda.is_calm()
        assert not {"cuStreamQuery", "cuEventRecord", "cuStreamIsCapturing"} & set(driver.calls)

    def test_while_others_capture_nothing_is_recorded(self, cuda, driver, saxpy):
        timed(cuda, saxpy)
        driver.answers["cuStreamIsCapturing"] = [driver.CUresult.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT]
        driver.calls.clear()

        assert cuda.is_calm()
        assert not {"cuStreamQuery", "cuEventRecord"} & set(driver.calls)
