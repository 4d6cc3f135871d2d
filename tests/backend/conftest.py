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
    Each call takes the host `call_ms`. A gate keeps what is enqueued behind it until the host has
    opened it, or until somebody waits for its stream: then it has given up.
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
        self.call_ms = 0.0
        self.gates = {}  # the closed one of each stream: its words, and the number that opens it
        self.behind = {}  # what each stream has to do once its gate is open
        self.gate_launches = self.gates_given_up = 0
        self.one_by_one = False  # whether a launch returns only when it has run
        self.busy = set()  # streams with work before what is enqueued
        self.ids = {}  # of streams by their handles; another stream may get a handle again
        self.captures = {}  # the number of what each stream captures
        self.takes_shared = False  # whether launches may ask for workgroup memory
        self.parameters = {}  # bytes of each of a kernel's, by a part of its name; else unknown
        self.shared = []  # bytes of it that they asked for
        self.cleared = []  # addresses, and the streams on which they were filled with zeros

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
            self.now_ms += self.call_ms
            answer = action(self, *arguments)
            self.interrupt_after -= 1
            if self.interrupt_after == 0:
                raise KeyboardInterrupt
            if isinstance(answer, tuple) and isinstance(answer[0], self._real.CUresult):
                return answer
            if isinstance(answer, self._real.CUresult):
                return (answer,)
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
            "MAX_SHARED_MEMORY_PER_BLOCK": 48 << 10,
            "L2_CACHE_SIZE": 60 << 20,
            "MAX_BLOCK_DIM_X": 1024,
            "MAX_BLOCK_DIM_Y": 1024,
            "MAX_BLOCK_DIM_Z": 64,
            "MAX_GRID_DIM_X": 2147483647,
            "MAX_GRID_DIM_Y": 65535,
            "MAX_GRID_DIM_Z": 65535,
            "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
            "MULTIPROCESSOR_COUNT": 132,
            "WARP_SIZE": 32,
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

    def _enqueue(self, stream, work):
        """Do this when the stream comes to it."""
        self.behind.setdefault(int(stream), []).append(work)
        self._go_on(int(stream))

    def _go_on(self, stream, *, until_idle=False):
        """Do what a stream comes to; the gate that somebody waits for gives up."""
        while self.behind.get(stream) or stream in self.gates:
            words, number = self.gates.get(stream, (None, 0))
            if words is not None and ctypes.c_int32(words[0] - number).value < 0:
                if not (until_idle or self.one_by_one):
                    return
                words[1] = number
                self.gates_given_up += 1
            self.gates.pop(stream, None)
            if self.behind.get(stream):
                self.behind[stream].pop(0)()

    def _cuCtxSynchronize(self):
        self.busy.clear()
        for stream in list(self.gates):
            self._go_on(stream, until_idle=True)
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

    def _cuFuncGetParamInfo(self, function, number):
        sizes = next((self.parameters[one] for one in self.parameters if one in function), ())
        if number >= len(sizes):
            return self._real.CUresult.CUDA_ERROR_INVALID_VALUE, 0, 0
        return (sum(sizes[:number]), sizes[number])

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

    def _cuMemAlloc(self, size):
        self.capture_modes.append(self.mode.name)
        return self._cuMemAllocFromPoolAsync(size, None, None)

    _cuMemAlloc.gives = 1

    def _cuMemFreeAsync(self, address, stream):
        del self.memory[int(address)]

    def _cuMemHostAlloc(self, size, flags):
        self.pinned = [*getattr(self, "pinned", []), ctypes.create_string_buffer(size)]
        return (ctypes.addressof(self.pinned[-1]),)

    def _cuMemHostGetDevicePointer(self, address, flags):
        return (address,)

    def _cuMemcpyHtoDAsync(self, target, source, size, stream):
        self._copy(int(target), int(source), size)

    def _cuMemcpyDtoHAsync(self, target, source, size, stream):
        self._copy(int(target), int(source), size)

    def _cuMemcpyDtoDAsync(self, target, source, size, stream):
        self._copy(int(target), int(source), size)

    def _cuMemsetD8Async(self, target, value, size, stream):
        self.cleared.append((int(target), int(stream)))
        ctypes.memset(int(target), value, size)

    def _cuEventCreate(self, flags):
        return (SimpleNamespace(at=None, stream=None, copies=0),)

    def _cuEventRecord(self, event, stream):
        def happen():
            event.at = self.now_ms

        event.at, event.stream = None, int(stream)
        event.copies = self._copied + len(self._later)
        self._enqueue(stream, happen)

    def _cuEventQuery(self, event):
        self.capture_modes.append(self.mode.name)
        if event.stream is not None:
            self._go_on(event.stream)
        if event.at is None or event.stream in self.busy:
            return self._real.CUresult.CUDA_ERROR_NOT_READY
        return None

    def _cuEventElapsedTime(self, first, last):
        return (last.at - first.at,)

    def _cuEventSynchronize(self, event):
        if event.stream is not None:
            self.busy.discard(event.stream)
            self._go_on(event.stream, until_idle=True)
        self._wait(event.copies)

    def _cuStreamSynchronize(self, stream):
        self.waited = int(stream)
        self.busy.discard(int(stream))
        self._go_on(int(stream), until_idle=True)
        self._wait()

    def _cuStreamWaitEvent(self, stream, event, flags):
        self.ordered = (event.stream, int(stream))

    def _cuStreamGetId(self, stream):
        if int(stream) in self.capturing:  # as the driver does, whatever the mode
            return self._real.CUresult.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
        return (self.ids.get(int(stream), 1000 + int(stream)),)

    def _cuStreamGetCaptureInfo(self, stream):
        (status,) = self._cuStreamIsCapturing(stream)
        return (status, self.captures.get(int(stream), 0), None, None, None, 0)

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
        self._go_on(int(stream))
        if int(stream) in self.gates or int(stream) in self.busy:
            return self._real.CUresult.CUDA_ERROR_NOT_READY
        return None

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
        assert extra == 0
        assert shared == 0 or self.takes_shared
        if int(stream) in self.capturing:
            self.recorded += 1
        if function == "vyre_gate":
            self.gate_launches += 1
            self._close(int(stream), address)
            return
        self.shared.append(shared)
        self.launches.append((function, grid, workgroup, int(stream), address))
        self._enqueue(stream, self._run)

    def _run(self):
        self.now_ms += 0.25

    def _close(self, stream, address):
        """A gate: from here on the stream waits until its word has come to this number."""
        assert stream not in self.capturing, "a gate would become part of somebody's graph"
        pointers = (ctypes.c_void_p * 3).from_address(address)
        words = (ctypes.c_uint32 * 2).from_address(ctypes.c_uint64.from_address(pointers[0]).value)
        assert ctypes.c_int64.from_address(pointers[2]).value > 0, "it would never give up"
        number = ctypes.c_uint32.from_address(pointers[1]).value
        self._enqueue(stream, lambda: self.gates.update({stream: (words, number)}))
        self._go_on(stream)


@pytest.fixture
def driver():
    return FakeDriver(pytest.importorskip("cuda.bindings.driver"))
