"""A CUDA driver of host memory, so that everything but the GPU itself is tested anywhere."""

import ctypes
from types import SimpleNamespace

import pytest

MODEL = "NVIDIA Fake"


class FakeDriver:
    """The calls of `cuda.bindings.driver` that the backend makes; all is done at once.

    `answers` makes a call answer an error, once for each entry: `{"cuLaunchKernel": [code, ...]}`.
    Where it is `lazy`, copies are made as late as they may be: when somebody waits for them.
    `interrupt_after` so many calls, one raises what a signal's handler does, having done its work.
    """

    def __init__(self, real):
        self._real = real
        self.calls = []
        self.answers = {}
        self.memory = {}
        self.launches = []
        self.capturing = set()
        self.now_ms = 0.0
        self.current = 0
        self.mode = real.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL
        self.capture_modes = []
        self.room = 1 << 20
        self.recorded = 0
        self.lazy = False
        self.interrupt_after = 0
        self._later = []  # copies that nobody has waited for
        self._copied = 0

    def __getattr__(self, name):
        if not name.startswith("cu") or name == "cuuint64_t":
            return getattr(self._real, name)  # enums and handles are the real ones
        action = getattr(FakeDriver, f"_{name}", None)
        assert action is not None, f"{name} is not among the calls that the fake knows"

        def call(*arguments):
            self.calls.append(name)
            codes = self.answers.get(name)
            if codes:
                code = codes.pop(0)
                return (code, *[0] * (getattr(action, "gives", 0)))
            answer = action(self, *arguments)
            self.interrupt_after -= 1
            if self.interrupt_after == 0:
                raise KeyboardInterrupt
            done = (self._real.CUresult.CUDA_SUCCESS,)
            return (*done, *answer) if isinstance(answer, tuple) else done

        return call

    def _cuInit(self, flags):
        pass

    def _cuDriverGetVersion(self):
        return (13000,)

    def _cuDeviceGetCount(self):
        return (1,)

    def _cuDeviceGetName(self, size, number):
        return (MODEL.encode().ljust(size, b"\0"),)

    def _cuDeviceGetPCIBusId(self, size, number):
        return (b"0000:5D:00.0".ljust(size, b"\0"),)

    def _cuDeviceTotalMem(self, number):
        return (1 << 30,)

    def _cuDeviceGetAttribute(self, name, number):
        known = {
            "MAX_THREADS_PER_BLOCK": 1024,
            "MAX_BLOCK_DIM_X": 1024,
            "MAX_BLOCK_DIM_Y": 1024,
            "MAX_BLOCK_DIM_Z": 64,
            "MAX_GRID_DIM_X": 2147483647,
            "MAX_GRID_DIM_Y": 65535,
            "MAX_GRID_DIM_Z": 65535,
            "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
            "MULTIPROCESSOR_COUNT": 132,
            "COMPUTE_CAPABILITY_MAJOR": 9,
            "COMPUTE_CAPABILITY_MINOR": 0,
        }
        return (known[name.name.removeprefix("CU_DEVICE_ATTRIBUTE_")],)

    def _cuDevicePrimaryCtxRetain(self, number):
        return (0xC0,)

    def _cuCtxGetCurrent(self):
        return (self.current,)

    def _cuCtxSetCurrent(self, context):
        self.current = int(context)

    def _cuCtxPushCurrent(self, context):
        self.pushed = self.current
        self.current = int(context)

    def _cuCtxPopCurrent(self):
        self.current = self.pushed
        return (0xC0,)

    def _copy(self, *copied):
        self._later.append(copied)
        if not self.lazy:
            self._wait()

    def _wait(self, until=None):
        while self._later and (until is None or self._copied < until):
            ctypes.memmove(*self._later.pop(0))
            self._copied += 1

    def _cuCtxSynchronize(self):
        self._wait()

    def _cuThreadExchangeStreamCaptureMode(self, mode):
        before, self.mode = self.mode, mode
        return (before,)

    def _cuModuleLoadData(self, image):
        assert bytes(image[:4]) == b"\x7fELF"
        self.capture_modes.append(self.mode.name)
        return (image,)

    _cuModuleLoadData.gives = 1

    def _cuModuleGetFunction(self, module, name):
        assert name in module, "the cubin has no such kernel"
        return (name.decode(),)

    def _cuFuncLoad(self, function):
        pass

    def _cuFuncGetAttribute(self, name, function):
        known = {"MAX_THREADS_PER_BLOCK": 1024, "NUM_REGS": 20, "SHARED_SIZE_BYTES": 16}
        return (known.get(name.name.removeprefix("CU_FUNC_ATTRIBUTE_"), 0),)

    def _cuMemPoolCreate(self, props):
        return ("pool",)

    def _cuMemPoolSetAttribute(self, pool, name, value):
        self.kept = int(value)

    def _cuMemPoolTrimTo(self, pool, size):
        pass

    def _cuMemGetInfo(self):
        return (self.room, 1 << 30)

    def _cuMemAllocFromPoolAsync(self, size, pool, stream):
        block = ctypes.create_string_buffer(b"\xcd" * size, size)
        self.memory[ctypes.addressof(block)] = block
        return (ctypes.addressof(block),)

    _cuMemAllocFromPoolAsync.gives = 1

    def _cuMemFreeAsync(self, address, stream):
        del self.memory[int(address)]

    def _cuMemHostAlloc(self, size, flags):
        self.pinned = [*getattr(self, "pinned", []), ctypes.create_string_buffer(size)]
        return (ctypes.addressof(self.pinned[-1]),)

    def _cuMemcpyHtoDAsync(self, target, source, size, stream):
        self._copy(int(target), int(source), size)

    def _cuMemcpyDtoHAsync(self, target, source, size, stream):
        self._copy(int(target), int(source), size)

    def _cuMemcpyDtoDAsync(self, target, source, size, stream):
        self._copy(int(target), int(source), size)

    def _cuMemsetD8Async(self, target, value, size, stream):
        ctypes.memset(int(target), value, size)

    def _cuEventCreate(self, flags):
        return (SimpleNamespace(at=None, stream=None, copies=0),)

    def _cuEventRecord(self, event, stream):
        event.at, event.stream = self.now_ms, int(stream)
        event.copies = self._copied + len(self._later)

    def _cuEventQuery(self, event):
        self.capture_modes.append(self.mode.name)

    def _cuEventElapsedTime(self, first, last):
        return (last.at - first.at,)

    def _cuEventSynchronize(self, event):
        self._wait(event.copies)

    def _cuStreamSynchronize(self, stream):
        self.waited = int(stream)
        self._wait()

    def _cuStreamWaitEvent(self, stream, event, flags):
        self.ordered = (event.stream, int(stream))

    def _cuStreamIsCapturing(self, stream):
        status = self._real.CUstreamCaptureStatus
        here = int(stream) in self.capturing
        return (
            status.CU_STREAM_CAPTURE_STATUS_ACTIVE
            if here
            else status.CU_STREAM_CAPTURE_STATUS_NONE,
        )

    _cuStreamIsCapturing.gives = 1

    def _cuStreamQuery(self, stream):
        pass

    def _cuStreamCreate(self, flags):
        return (0x51,)

    def _cuStreamBeginCapture(self, stream, mode):
        self.capturing.add(int(stream))
        self.recorded = 0

    def _cuStreamEndCapture(self, stream):
        self.capturing.discard(int(stream))
        return (("graph", self.recorded),)

    _cuStreamEndCapture.gives = 1

    def _cuGraphInstantiate(self, graph, flags):
        return (("ready", graph[1]),)

    _cuGraphInstantiate.gives = 1

    def _cuGraphLaunch(self, ready, stream):
        self.now_ms += 0.25 * ready[1]

    def _cuGraphExecDestroy(self, ready):
        pass

    def _cuGraphDestroy(self, graph):
        pass

    def _cuLaunchKernel(self, function, *rest):
        grid, workgroup, shared, stream, address, extra = rest[:3], rest[3:6], *rest[6:]
        assert (shared, extra) == (0, 0)
        if int(stream) in self.capturing:
            self.recorded += 1
        self.launches.append((function, grid, workgroup, int(stream), address))
        self.now_ms += 0.25


@pytest.fixture
def driver():
    return FakeDriver(pytest.importorskip("cuda.bindings.driver"))
