"""A driver for Triton without a GPU: kernels are compiled, and launches are written down."""

from __future__ import annotations

import hashlib
import itertools
import json
import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import triton
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.driver import CudaLauncher
from triton.compiler.compiler import CompiledKernel, max_shared_mem
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

SHARED_BYTES = 232_448
"""What a block of an H100 may have."""


@dataclass(frozen=True, slots=True)
class Launched:
    """A launch, as the driver of the GPU would have seen it.

    Args:
        kernel: the digest of what was compiled.
        constants: what it was compiled with, by the names of its arguments.
        grid: blocks along each axis.
        num_warps: warps of a block.
        stream: where.
        device: the current one.
        values: of arguments that are passed at run time, pointers as addresses.
    """

    kernel: str
    constants: Mapping[str, Any]
    grid: tuple[int, int, int]
    num_warps: int
    stream: int
    device: int
    values: tuple[Any, ...]


class _Launcher(CudaLauncher):  # type: ignore[misc]  # Triton has no types
    """Triton's own, but for what its C code does."""

    def __init__(self, source: Any, metadata: Any, to: FakeDriver) -> None:
        names = source.fn.arg_names
        self._to, self._metadata = to, metadata
        self._types = list(source.signature.values())
        found = {names[path[0]]: one for path, one in source.constants.items() if len(path) == 1}
        self._constants = found
        self.num_ctas = metadata.num_ctas
        for kind, what in itertools.product(("global", "profile"), ("size", "align")):
            name = f"{kind}_scratch_{what}"
            setattr(self, name, getattr(metadata, name))
        self.launch_cooperative_grid = metadata.launch_cooperative_grid
        self.launch_pdl = metadata.launch_pdl

    def launch(self, x: int, y: int, z: int, stream: int, function: int, *rest: Any) -> None:
        """What the C code of a launcher is given, in its order."""
        _, _, _, _, packed, metadata, enter, leave, *values = rest
        assert function in self._to.loaded, "a kernel that is not loaded"
        assert packed[0] == self._metadata.num_warps, "of another kernel"
        assert len(values) == len(self._types), "as many values as the signature has"
        seen = Launched(
            kernel=self._metadata.hash,
            constants=self._constants,
            grid=(x, y, z),
            num_warps=packed[0],
            stream=stream,
            device=self._to.device,
            values=tuple(_passed(*pair) for pair in zip(self._types, values, strict=True)),
        )
        if enter is not None:
            enter(metadata)
        self._to.launch(seen)
        if leave is not None:
            leave(metadata)


def _passed(kind: Any, value: Any) -> Any:
    """A value as the kernel gets it, or what C code says of it."""
    if isinstance(kind, tuple):
        return tuple(map(_passed, kind, value))
    if kind == "constexpr":
        return None
    if kind.startswith("*"):
        address = value if isinstance(value, int) else 0 if value is None else value.data_ptr()
        assert 0 <= address < 2**64
        return address
    if kind.startswith("tensordesc"):
        return value.base.data_ptr(), tuple(value.block_shape)
    if kind[:2] in ("fp", "bf"):
        return float(value)
    return _whole(kind, operator.index(value))


def _whole(kind: str, number: int) -> int:
    """A number as C has it: what an unsigned type does not hold is cut, and nobody says so."""
    bits = max(int(kind[1:]), 8)
    if kind[0] == "u":
        return number & ((1 << bits) - 1)
    if number >> (bits - 1) not in (0, -1):
        raise OverflowError(f"{number} is beyond {kind}")
    return number


@dataclass
class FakeDriver:
    """What Triton asks of a driver; `launches` holds what was launched.

    Args:
        arch: of the GPU that kernels are compiled for.
        act: does to the arguments what a launch would have done.
    """

    arch: int = 90
    act: Callable[[Launched], object] = lambda _: None
    device: int = 0
    stream: int = 7
    shared_bytes: int = SHARED_BYTES
    launches: list[Launched] = field(default_factory=list, repr=False)
    loaded: dict[int, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.utils = SimpleNamespace(
            load_binary=self._load,
            get_device_properties=lambda _: {"max_shared_mem": self.shared_bytes},
        )

    def _load(self, name: str, binary: bytes, shared: int, device: int) -> tuple[Any, ...]:
        del binary, shared, device
        function = len(self.loaded) + 1
        self.loaded[function] = name
        return object(), function, 32, 0, 1024

    def launch(self, seen: Launched) -> None:
        self.act(seen)
        self.launches.append(seen)

    def launcher_cls(self, source: Any, metadata: Any) -> _Launcher:
        return _Launcher(source, metadata, self)

    def get_current_device(self) -> int:
        return self.device

    def set_current_device(self, device: int) -> None:
        self.device = device

    def get_current_stream(self, device: int) -> int:
        del device
        return self.stream

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self.arch, 32)

    def map_python_to_cpp_type(self, kind: str) -> str:
        return kind

    def get_benchmarker(self) -> Callable[..., Any]:
        """Triton's own autotuner times by this: it launches once, and says always the same."""

        def bench(launch: Callable[[], object], quantiles: Any = None, **_: Any) -> list[float]:
            launch()
            return [1.0 for _ in quantiles or (0.5,)]

        return bench


@dataclass
class QuickCompiler:
    """What stands for Triton's compiler where only what is asked of it matters: it makes nothing.

    Args:
        folder: where it puts what Triton reads.
        refuses: raises what the compiler would, by the constants and options it is given.
        shared_bytes: what the kernels of such constants take of a block's memory.
    """

    folder: Path
    refuses: Callable[[Mapping[str, Any], Mapping[str, Any]], object] = lambda *_: None
    shared_bytes: Callable[[Mapping[str, Any]], int] = lambda _: 0
    compiled: list[Mapping[str, Any]] = field(default_factory=list)

    def __call__(
        self, source: Any, target: Any, options: Mapping[str, Any], **_: Any
    ) -> CompiledKernel:
        names = source.fn.arg_names
        constants = {names[path[0]]: one for path, one in source.constants.items()}
        self.compiled.append({**constants, "num_warps": options["num_warps"]})
        self.refuses(constants, options)
        said = f"{source.hash()} {sorted(options.items())} {target}"
        name = hashlib.sha256(said.encode()).hexdigest()
        metadata = {
            **options,
            "hash": name,
            "name": source.name,
            "target": {"backend": target.backend, "arch": target.arch, "warp_size": 32},
            "shared": self.shared_bytes(constants),
            "tmem_size": None,
            **{f"{kind}_scratch_size": 0 for kind in ("global", "profile")},
            **{f"{kind}_scratch_align": 1 for kind in ("global", "profile")},
        }
        written = self.folder / f"{name}.json"
        written.write_text(json.dumps(metadata, default=str))
        (self.folder / f"{name}.cubin").write_bytes(b"")
        group = {f"{name}.{end}": str(self.folder / f"{name}.{end}") for end in ("json", "cubin")}
        return CompiledKernel(source, group, name)


@contextmanager
def triton_on(
    made: FakeDriver, folder: Path, compiler: QuickCompiler | None = None
) -> Iterator[FakeDriver]:
    """Let Triton launch by this driver, and keep what it compiles in a folder.

    Kernels that were used before have what they loaded by another driver: load them anew.
    """
    before, at, compiles = driver._active, knobs.cache.dir, triton.compiler.compile
    driver.set_active(made)
    knobs.cache.dir = str(folder)
    max_shared_mem.cache_clear()
    if compiler is not None:
        triton.compiler.compile = compiler  # where a kernel takes it from when it is first bound
    try:
        yield made
    finally:
        triton.compiler.compile = compiles
        driver._active = before
        knobs.cache.dir = at
        max_shared_mem.cache_clear()


def fresh(kernel: Any) -> JITFunction:
    """Another kernel of the same function, which has compiled and loaded nothing yet."""
    options = ("version", "do_not_specialize", "do_not_specialize_on_alignment", "debug")
    return JITFunction(kernel.fn, **{name: getattr(kernel, name) for name in options})
