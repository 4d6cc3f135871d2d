"""Stand-ins for kernels of CuPy's and Numba's, with their names and arguments: no GPU is needed.

Launches are recorded, and a body in Python runs for each thread, if a kernel has one.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from itertools import product
from math import prod
from types import ModuleType, SimpleNamespace
from typing import Any, Self, cast

import numpy as np

from vyre.model import DeviceInfo, Limits
from vyre.testing.foreign import TablePlace
from vyre.testing.learning import DEVICE

Shape = tuple[int, ...]
_OF_CUPY = ("cupy.", "vyre.cupy.", "vyre.adapter.cupy.")
GPU: DeviceInfo = replace(
    DEVICE,
    limits=Limits(max_threads=1024, max_block=(1024, 1024, 64), max_grid=(2**31 - 1, 65535, 65535)),
)
"""A device with NVIDIA's limits."""


@dataclass(frozen=True, slots=True)
class Launched:
    """A launch that was made, along three axes."""

    grid: Shape
    block: Shape
    args: tuple[Any, ...] = ()
    shared_bytes: int = 0
    stream: Any = None

    @property
    def positions(self) -> frozenset[Shape]:
        """The places in the grid that it has threads for."""
        return frozenset(
            product(*(range(n * m) for n, m in zip(self.grid, self.block, strict=True)))
        )


@dataclass
class Launches:
    """The launches of all kernels, and what their times are."""

    made: list[Launched] = field(default_factory=list)
    times_ns: Callable[[Launched], float] = lambda _: 1e6
    most_threads: int = 1024
    fewest_blocks: int = 0  # below which Numba warns of a grid
    failing: Callable[[Launched], BaseException | None] = lambda _: None

    def add(self, launched: Launched, body: Callable[..., object] | None = None) -> None:
        """Make a launch, unless it cannot be."""
        raised = self.failing(launched)
        if raised is not None:
            raise raised
        if prod(launched.block) > self.most_threads:
            raise CUDADriverError("CUDA_ERROR_INVALID_VALUE: invalid argument")
        if body is not None:
            for place in sorted(launched.positions):
                body(place, *launched.args)
        self.made.append(launched)

    @property
    def blocks(self) -> list[Shape]:
        """Those of the launches, in order."""
        return [one.block for one in self.made]

    def place(self) -> TablePlace:
        """Where they run: the last one's time is in a table."""
        return TablePlace(lambda: self.times_ns(self.made[-1]), GPU)


LAUNCHES = Launches()


def _three(sizes: Any) -> Shape:
    listed = tuple(sizes) if isinstance(sizes, (tuple, list)) else (sizes,)
    return cast(Shape, (*listed, 1, 1)[:3])


class CUDADriverError(RuntimeError):
    """What CuPy raises that the driver refuses."""


class CudaAPIError(Exception):
    """What Numba raises that the driver refuses."""


# -- CuPy


class ndarray:  # noqa: N801  # as it is called there
    """An array that says it is on a device."""

    def __init__(self, held: Any) -> None:
        self.held = np.asarray(held)

    def __getattr__(self, name: str) -> Any:
        if name in ("dtype", "shape", "size", "ndim", "strides", "nbytes"):
            return getattr(self.held, name)
        raise AttributeError(name)

    @property
    def flags(self) -> Any:
        flags = self.held.flags
        return SimpleNamespace(c_contiguous=flags.c_contiguous, f_contiguous=flags.f_contiguous)

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self.held.ctypes.data, device_id=0)

    def copy(self, order: Any = "C") -> ndarray:
        return ndarray(self.held.copy(order=order))

    def get(self, stream: Any = None, order: Any = "C") -> np.ndarray[Any, Any]:
        del stream
        return self.held.copy(order=order)

    def __getitem__(self, at: Any) -> ndarray:
        return ndarray(self.held[at])

    def view(self, dtype: Any) -> ndarray:
        return ndarray(self.held.view(dtype))

    def reshape(self, *shape: Any, order: Any = "C") -> ndarray:
        return ndarray(self.held.reshape(*shape, order=order))


ndarray.__module__ = "cupy"


def _as_strided(array: ndarray, shape: Shape, strides: Shape) -> ndarray:
    """As CuPy's does, which looks at no bounds."""
    return ndarray(np.lib.stride_tricks.as_strided(array.held, shape, strides))


class Stream:
    """A stream, which is a block for what runs on it."""

    null: Stream

    def __init__(self, ptr: int = 0) -> None:
        self.ptr = self.handle = ptr

    def __enter__(self) -> Self:
        _here.streams = [*_streams(), self]
        return self

    def __exit__(self, *_: object) -> None:
        _here.streams = _streams()[:-1]


_here = threading.local()
Stream.null = Stream()


def _streams() -> list[Stream]:
    return getattr(_here, "streams", [Stream.null])


class Device:
    """A device, which is a block for what is made there."""

    compute_capability = "90"

    def __init__(self, device: int = 0) -> None:
        self.id = device

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class RawKernel:
    """A kernel of a source."""

    def __init__(
        self,
        code: str,
        name: str,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        *,
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        jitify: bool = False,
    ) -> None:
        self.code: str | None = code
        self.name, self.options, self.backend = name, options, backend
        self.enable_cooperative_groups = enable_cooperative_groups
        self.file_path: str | None = None
        self.body: Callable[..., object] | None = None
        self._hidden = {"translate_cucomplex": translate_cucomplex, "jitify": jitify}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), **self._hidden}

    def __setstate__(self, state: dict[str, Any]) -> None:
        names = self._hidden = state["_hidden"]
        vars(self).update({name: one for name, one in state.items() if name not in names})

    @property
    def kernel(self) -> Callable[..., None]:
        """The function that is loaded on the current device."""
        return partial(_launch_raw, self.body)

    @property
    def max_threads_per_block(self) -> int:
        return LAUNCHES.most_threads

    @property
    def attributes(self) -> Mapping[str, int]:
        return {"max_threads_per_block": self.max_threads_per_block, "num_regs": 32}

    def __call__(self, grid: Any, block: Any, args: Any, **kwargs: Any) -> None:
        _launch_raw(self.body, grid, block, args, **kwargs)


def _launch_raw(
    body: Any, grid: Any, block: Any, args: Any, shared_mem: int = 0, stream: Any = None
) -> None:
    for name, sizes in (("grid", grid), ("block", block)):
        if not isinstance(sizes, tuple):
            raise TypeError(
                f"Argument '{name}' has incorrect type (expected tuple, got {type(sizes).__name__})"
            )
    for one in args:
        if not isinstance(one, (ndarray, np.generic, int, float, complex, type(None))):
            raise TypeError(f"Unsupported type {type(one)}")
    grid, block = (tuple(max(1, n) for n in _three(sizes)) for sizes in (grid, block))
    used = _streams()[-1] if stream is None else stream
    LAUNCHES.add(Launched(grid, block, tuple(args), shared_mem, used.ptr), body)


class RawModule:
    """Kernels of one source."""

    def __init__(
        self, *, code: str | None = None, path: str | None = None, options: tuple[str, ...] = ()
    ) -> None:
        self.code, self.path, self.options = code, path, options

    def get_function(self, name: str) -> RawKernel:
        made = RawKernel(self.code or "", name, self.options)
        made.code, made.file_path = self.code, self.path
        return made


class ElementwiseKernel:
    """A kernel of what is done for each element; here it gives its first argument."""

    def __init__(
        self,
        in_params: str,
        out_params: str,
        operation: str,
        name: str = "kernel",
        reduce_dims: bool = True,
        preamble: str = "",
        no_return: bool = False,
        return_tuple: bool = False,
        **kwargs: Any,
    ) -> None:
        self.in_params, self.out_params = (in_params,), (out_params,)
        self.operation, self.name, self.preamble, self.kwargs = operation, name, preamble, kwargs
        self.reduce_dims, self.no_return, self.return_tuple = reduce_dims, no_return, return_tuple

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        size, stream = kwargs.pop("size", -1), kwargs.pop("stream", None)
        block_size = kwargs.pop("block_size", 128)
        if kwargs:
            raise TypeError(f"Wrong arguments {kwargs}")
        if block_size <= 0:
            raise ValueError("block_size must be greater than zero")
        if size < 0:
            size = max((one.size for one in args if isinstance(one, ndarray)), default=0)
        if not size:
            return args[0]
        used = _streams()[-1] if stream is None else stream
        grid, block = -(-size // block_size), min(block_size, size)
        LAUNCHES.add(Launched((grid, 1, 1), (block, 1, 1), args, 0, used.ptr))
        return None if self.no_return else args[0]


def _compiler() -> tuple[int, int]:
    """The version of NVRTC: the one that is here, as CuPy has it as well."""
    try:
        major, minor = import_module("vyre.backend.cuda.nvrtc").version().split(".")
    except (ImportError, RuntimeError):
        return 13, 0
    return int(major), int(minor)


@contextmanager
def cupy_by_name(place: Callable[[], TablePlace] | None = None) -> Iterator[Any]:
    """The module `cupy`, as far as the adapter asks for it, in the place of any other.

    Args:
        place: gives where its kernels run, in the place of a device.
    """
    made: Any = ModuleType("cupy")
    made.__version__ = "14.2.0"
    made.asarray = ndarray
    made.asnumpy = ndarray.get
    made.lib = SimpleNamespace(stride_tricks=SimpleNamespace(as_strided=_as_strided))
    for one in (ndarray, RawKernel, RawModule, ElementwiseKernel):
        setattr(made, one.__name__, one)
    error = type("CUDARuntimeError", (RuntimeError,), {})
    made.cuda = SimpleNamespace(
        Stream=Stream,
        get_current_stream=lambda: _streams()[-1],
        driver=SimpleNamespace(CUDADriverError=CUDADriverError),
        runtime=SimpleNamespace(
            CUDARuntimeError=error,
            getDevice=lambda: 0,
            setDevice=lambda _: None,
            getDeviceCount=lambda: 2,
        ),
        nvrtc=SimpleNamespace(getVersion=_compiler),
        Device=Device,
    )
    made._core = SimpleNamespace(
        core=SimpleNamespace(
            assemble_cupy_compiler_options=lambda options: (*options, "--std=c++17")
        )
    )
    before = _without_cupy()
    sys.modules["cupy"] = made
    try:
        if place is not None:
            device: Any = import_module("vyre.adapter.cupy.device")
            device.place = lambda: device.Streams(place())
        yield made
    finally:
        _without_cupy()
        sys.modules.update(before)


def _without_cupy() -> dict[str, ModuleType]:
    """The modules of CuPy and of what adapts it, which are taken out."""
    of_it = [name for name in sys.modules if f"{name}.".startswith(_OF_CUPY)]
    return {name: sys.modules.pop(name) for name in of_it}


# -- Numba


class LaunchConfiguration:
    """A kernel with a grid and a block, a stream and shared memory."""

    def __init__(
        self, dispatcher: Dispatcher, griddim: Any, blockdim: Any, stream: Any, sharedmem: int
    ) -> None:
        self.dispatcher = dispatcher
        self.griddim, self.blockdim = _three(griddim), _three(blockdim)
        self.stream, self.sharedmem = stream, sharedmem
        self.pre_launch_callbacks: list[Callable[..., object]] = []
        if prod(self.griddim) < LAUNCHES.fewest_blocks:
            warnings.warn(f"Grid size {prod(self.griddim)} will use little of it", stacklevel=2)

    def __call__(self, *args: Any) -> None:
        for callback in self.pre_launch_callbacks:
            callback(self.dispatcher, self)
        self.dispatcher.launch(args, self)


class TasksOf:
    """A kernel over so many tasks."""

    def __init__(
        self, dispatcher: Dispatcher, ntasks: int, tpb: int, stream: Any, sharedmem: int
    ) -> None:
        if ntasks < 0:
            raise ValueError(f"Can't create ForAll with negative task count: {ntasks}")
        self.dispatcher, self.ntasks, self.tpb = dispatcher, ntasks, tpb
        self.stream, self.sharedmem = stream, sharedmem

    def __call__(self, *args: Any) -> None:
        if self.ntasks:
            block = self.tpb or 768  # what the driver thinks best
            grid = -(-self.ntasks // block)
            specialized = self.dispatcher.specialize(*args)
            specialized[grid, block, self.stream, self.sharedmem](*args)


class Dispatcher:
    """What `numba.cuda.jit` makes of a function."""

    specialized = False

    def __init__(
        self,
        py_func: Callable[..., Any],
        targetoptions: Mapping[str, Any] | None = None,
        body: Callable[..., object] | None = None,
    ) -> None:
        self.py_func, self.body = py_func, body
        self.targetoptions = dict(targetoptions or {})
        self.overloads: dict[Any, Any] = {}
        self.ptx = ""
        self.compiled = SimpleNamespace(
            launch_config_sensitive=False,
            entry_name=py_func.__name__,
            inspect_asm=lambda _: self.ptx,
        )
        self.specializations: dict[Any, Dispatcher] = {}
        self._configured: dict[Any, LaunchConfiguration] = {}

    def typeof_pyval(self, value: Any) -> Any:
        return type(value)

    def configure(
        self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0
    ) -> LaunchConfiguration:
        key = (griddim, blockdim, stream, sharedmem)
        if key not in self._configured:
            self._configured[key] = LaunchConfiguration(self, *key)
        return self._configured[key]

    def __getitem__(self, args: Any) -> LaunchConfiguration:
        if len(args) not in (2, 3, 4):
            raise ValueError("must specify at least the griddim and blockdim")
        return self.configure(*args)

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> TasksOf:
        return TasksOf(self, ntasks, tpb=tpb, stream=stream, sharedmem=sharedmem)

    def specialize(self, *args: Any) -> Dispatcher:
        kinds = tuple(map(type, args))
        if kinds not in self.specializations:
            made = Dispatcher(self.py_func, self.targetoptions, self.body)
            made.specialized, made.compiled = True, self.compiled
            self.specializations[kinds] = made
        return self.specializations[kinds]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        del args, kwargs
        raise ValueError("Kernel launch configuration was not specified.")

    def launch(self, args: Sequence[Any], launch: LaunchConfiguration) -> None:
        if min(*launch.griddim, *launch.blockdim) < 1:
            raise CudaAPIError("CUDA_ERROR_INVALID_VALUE")
        self.compiled.max_threads_per_block = LAUNCHES.most_threads
        self.overloads[tuple(map(type, args))] = self.compiled
        try:
            LAUNCHES.add(
                Launched(
                    launch.griddim, launch.blockdim, tuple(args), launch.sharedmem, launch.stream
                ),
                self.body,
            )
        except CUDADriverError as error:
            raise CudaAPIError(str(error)) from None
