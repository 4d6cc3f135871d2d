"""Kernels of CuPy: their block, learned from the launches that are made anyway."""

from __future__ import annotations

import base64
import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import blake3
import cloudpickle
import cupy
import numpy as np

from vyre import settings
from vyre.adapter import grids
from vyre.adapter.alike import alike, elements_in, sizes_in, traits_in
from vyre.adapter.blocks import AXES, Shape, block_of, said
from vyre.adapter.calls import Calls, Entry
from vyre.adapter.copying import refuse_to_copy_much
from vyre.adapter.cuda_proof import lacks
from vyre.adapter.cuda_text import sign_in
from vyre.adapter.failure import Raised
from vyre.adapter.grids import Grid, Launch
from vyre.adapter.identity import digest_of
from vyre.adapter.kind import Job, Kind, Place, Portable, Start
from vyre.adapter.looks import Look, Looks
from vyre.adapter.places import cuda
from vyre.adapter.proof import Proof
from vyre.adapter.sources import bare
from vyre.adapter.trials import Check, pickled
from vyre.backend.base import Ticket
from vyre.errors import InvalidInput
from vyre.learn.explain import Explanation
from vyre.learn.pace import Pace
from vyre.model import Clocks, Decision, DeviceInfo, Knobs
from vyre.plain import plain, shown
from vyre.policy.contest import Progress

_CURRENT = -1
"""In the place of a stream's handle: the thread's current one, asked for where it counts."""

_USUAL = 128
"""What CuPy launches an ElementwiseKernel with where nobody says."""

_LOOP = ("CUPY_FOR", "i", "n", "_ind")
"""What the loop is made of in which CuPy has a kernel of elements."""

_COMPILER = "nvrtc"
_OWN_OPTIONS = ("-ftz=true", "--device-as-default-execution-space")
"""What CuPy adds to the options of every source."""

_CHANGING = ("translate_cucomplex", "jitify")
_JITIFY = "-DCUPY_USE_JITIFY"
"""An option by which CuPy takes Jitify as well."""

_IN_MEMORY = "CUPY_CACHE_IN_MEMORY"

_OWN_MEMORY = re.compile(r"__constant__|__managed__|__device__[^(){};]*[;=]")
_REFUSED = (cupy.cuda.driver.CUDADriverError, cupy.cuda.runtime.CUDARuntimeError)
_VALUES = (np.generic, int, float, complex, type(None))


@dataclass(frozen=True, slots=True)
class Streams:
    """A device, with the streams that CuPy's threads are on."""

    on: Place

    @property
    def info(self) -> DeviceInfo:
        return self.on.info

    @property
    def pace(self) -> Pace:
        return self.on.pace

    def time(self, stream: int, launch: Callable[[], object]) -> Ticket | None:
        return self.on.time(_handle(stream), launch)

    def is_capturing(self, stream: int) -> bool:
        return self.on.is_capturing(_handle(stream))

    def clocks(self) -> Clocks | None:
        return self.on.clocks()


def _handle(stream: int) -> int:
    return int(cupy.cuda.get_current_stream().ptr) if stream == _CURRENT else stream


def _place() -> Streams:
    """Where a kernel that is launched here and now runs."""
    return Streams(cuda(cupy.cuda.runtime.getDevice()))


def _of_any(kind: type) -> Look | None:
    """Arrays that a kernel has as memory alone."""
    if not issubclass(kind, cupy.ndarray):
        return None
    return lambda x: (kind, x.dtype, x.size.bit_length())


def _of_elements(kind: type) -> Look | None:
    """Arrays whose elements CuPy finds for a kernel."""
    if not issubclass(kind, cupy.ndarray):
        return None
    return lambda x: (kind, x.dtype, x.ndim, x.size.bit_length(), x.flags.c_contiguous)


class TunedRawKernel:
    """A kernel that is called as before; the block that it is given is the default."""

    __slots__ = (
        *("_calls", "_device", "_lacks", "_looks", "_named", "_signs", "_size", "_texts", "_way"),
        *("kernel", "name"),
    )

    def __init__(
        self,
        kernel: Any,
        named: tuple[Shape, ...] | None,
        size: Callable[..., Any] | None,
        way: Grid,
        check: Check | None,
    ) -> None:
        self.kernel, self.name = kernel, str(kernel.name)
        self._named, self._size, self._way = named, size, way
        self._calls = Calls(self.name, check=check)
        self._looks = Looks(_of_any)
        self._device = cupy.cuda.runtime.getDevice
        self._texts: dict[int, str] = {}
        self._signs: dict[bool, str | None] = {}
        self._lacks: dict[str, str | None] = {}

    def __call__(
        self,
        grid: Any,
        block: Any,
        args: Sequence[Any],
        *,
        shared_mem: int = 0,
        stream: Any = None,
    ) -> None:
        """Launch it once."""
        looks, size = self._looks, self._size
        stated = None if size is None else size(*args)
        try:
            key = (
                self._device(),
                grid,
                block,
                shared_mem,
                stated,
                *[looks[type(one)](one) for one in args],
            )
            entry = self._calls.find(key)
        except TypeError:  # lists, which the library refuses
            entry = None
        if entry is None:
            stated = tuple(stated) if isinstance(stated, list) else stated
            entry = self._entry(grid, block, args, shared_mem, stream, stated)
            if entry is None:
                self.kernel(grid, block, args, shared_mem=shared_mem, stream=stream)
                return
        if stream is None:
            entry.launch((args, None, grid, stated), _CURRENT)
        else:
            entry.launch((args, stream, grid, stated), stream.ptr)

    def explain(self) -> Explanation:
        """What runs, why, and what is known besides; the kernel is compiled once more for that."""
        if self._way is not Grid.THREADS:
            return self._calls.explain()
        try:
            devices = tuple(self._texts) or (self._device(),)
            capabilities = {str(cupy.cuda.Device(one).compute_capability) for one in devices}
        except _REFUSED as error:
            return self._calls.explain(Proof(f"there is no device to compile it for: {error}"))
        lacking = next(filter(None, map(self._lacking, sorted(capabilities))), None)
        return self._calls.explain(Proof(lacking, covers=self._size is not None))

    def decision(
        self,
        grid: Any,
        block: Any,
        args: Sequence[Any],
        *,
        shared_mem: int = 0,
        stream: Any = None,
    ) -> Decision:
        """What is decided for such a launch, which is not made."""
        return self._known(grid, block, args, shared_mem, stream)[0].decision

    def tune(
        self,
        grid: Any,
        block: Any,
        args: Sequence[Any],
        *,
        shared_mem: int = 0,
        stream: Any = None,
        budget_s: float = 2.0,
        progress: Callable[[Progress], None] | None = None,
    ) -> Decision:
        """Look for the fastest block at once, on copies of the arrays, and remember it."""
        entry, stated = self._known(grid, block, args, shared_mem, stream)
        refuse_to_copy_much(tuple(args), f"tuning {self.name}")
        return entry.tune(
            (args, stream, grid, stated),
            copies=_on_copies,
            stream=_CURRENT if stream is None else stream.ptr,
            budget_s=budget_s,
            progress=progress,
        )

    def __repr__(self) -> str:
        return f"<tuned {self.name}>"

    def _known(
        self, grid: Any, block: Any, args: Sequence[Any], shared_mem: int, stream: Any
    ) -> tuple[Entry, Any]:
        stated = None if self._size is None else self._size(*args)
        stated = tuple(stated) if isinstance(stated, list) else stated
        entry = self._entry(grid, block, args, shared_mem, stream, stated)
        if entry is None:
            raise InvalidInput(
                f"{self.name} over a grid of {shown(grid)} of {shown(block)} is not for learning",
                "give whole numbers of at least 1 in tuples, and ask outside of a capture",
            )
        return entry, stated

    def _entry(
        self,
        grid: Any,
        block: Any,
        args: Sequence[Any],
        shared_mem: int,
        stream: Any,
        stated: Any,
    ) -> Entry | None:
        """Where such launches are made from; None where there is nothing to learn from them."""
        if not (_is_shape(grid) and _is_shape(block) and _is_whole(shared_mem)):
            return None
        if not isinstance(args, (tuple, list)):
            return None
        size = () if stated is None else grids.size_of(stated, self.name)
        looked = tuple(self._looks[type(one)](one) for one in args)
        key = (self._device(), grid, block, shared_mem, stated, *looked)
        found = self._calls.find(key)
        if found is not None:
            return found
        place = _place()
        if 0 in size or place.is_capturing(_CURRENT if stream is None else stream.ptr):
            return None
        launch = Launch.of(grid, block, size, self._way)
        free = launch.is_free
        like = (self._device(), launch.like, shared_mem, *looked)
        known = self._calls.find(like) if free else None
        if known is not None:
            return self._calls.alike(key, known)
        able, left_out = grids.able(
            launch,
            self._named,
            self._sign(shared_mem),
            int(self.kernel.max_threads_per_block),
            place.info.limits,
        )
        if self.kernel.enable_cooperative_groups and len(able) > 1:
            why = "all other blocks: it is launched as one cooperative grid"
            able, left_out = able[:1], (why,)
        common = alike(args)
        kind = Kind(
            name=self.name,
            text=self._text(),
            place=place,
            configs=able,
            sizes=(*launch.sizes, *sizes_in(common)),
            traits=(*launch.traits, f"{shared_mem} bytes", *traits_in(common)),
            size=launch.count,
            left_out=left_out,
            warm=True,
        )
        variants = _Raw(self.kernel, launch, shared_mem, frozenset(able))
        entry = self._calls.add(like if free else key, kind, variants, (args, stream, grid, stated))
        return self._calls.alike(key, entry) if free else entry

    def _sign(self, shared_mem: int) -> str | None:
        """What may make results depend on the block."""
        if shared_mem:
            return f"it is given {shared_mem} bytes of shared memory for each block"
        steps = self._size is None and self._way is not Grid.SAME
        if steps not in self._signs:
            code = self.kernel.code
            self._signs[steps] = (
                "its source is not known"
                if code is None
                else _read(code, self.kernel.options, steps)
            )
        return self._signs[steps]

    def _lacking(self, capability: str) -> str | None:
        """Why nothing is proved of it, on devices of that capability; None where it is."""
        if capability not in self._lacks:
            self._lacks[capability] = _lacking(self.kernel, capability, steps=self._size is None)
        return self._lacks[capability]

    def _text(self) -> str:
        """All of the kernel, and what it was compiled to on this device."""
        ordinal = self._device()
        if ordinal not in self._texts:
            kernel = self.kernel
            code = kernel.code
            if code is None:
                code = _held_by(str(kernel.file_path))
            self._texts[ordinal] = digest_of(
                (
                    *(self.name, _versions(), kernel.backend, *kernel.options),
                    *(f"{name} {number}" for name, number in sorted(kernel.attributes.items())),
                    code,
                )
            )
        return self._texts[ordinal]


@dataclass(frozen=True, slots=True)
class _Raw:
    """How a kernel is launched under each block: nothing is compiled for it."""

    kernel: Any
    launch: Launch
    shared_bytes: int
    able: frozenset[Knobs]

    def is_ready(self, config: Knobs) -> bool:  # noqa: ARG002  # all are
        return True

    def job(self, config: Knobs) -> Job | None:  # noqa: ARG002  # all are ready
        return None

    def make(self, config: Knobs) -> Start:
        if config not in self.able:  # it is for other launches of this size
            raise InvalidInput(
                f"{config.text} cannot run {said(self.launch.threads)} threads",
                "choose among those that explain() shows",
            )
        kernel, shared = self.kernel, self.shared_bytes
        block = self.launch.block(config)
        grid = self.launch.under(block)
        covering = grids.Covering(self.launch, block) if self.launch.is_free else None
        is_default, name = block == self.launch.width, str(kernel.name)

        def start(arguments: Sequence[Any], stream: int) -> None:
            del stream  # a launch has its own, or the thread's
            args, on, given, stated = arguments
            if is_default:
                used = given
            else:
                used = grid if covering is None else covering.grid(given, stated, name)
            try:
                kernel(used, block, args, shared_mem=shared, stream=on)
            except _REFUSED as error:
                raise Raised(error) from error

        return start

    def portable(self, arguments: Sequence[Any]) -> Portable:
        """The kernel with its source, and its arrays as NumPy's."""
        args, on, *_ = arguments
        self._refuse_own_memory()
        more = {
            "grid": list(self.launch.grid),
            "width": list(self.launch.width),
            "size": list(self.launch.size),
            "way": str(self.launch.way),
            "shared": self.shared_bytes,
        }
        return _portable("vyre.adapter.cupy:runs", self.kernel, args, on, more)

    def _refuse_own_memory(self) -> None:
        code = self.kernel.code
        if code is not None and _OWN_MEMORY.search(bare(code)):
            raise InvalidInput(
                f"check= of {self.kernel.name}, whose source has memory of its own, which another "
                "process does not have",
                "pass it as an array, or leave check= out",
            )


def runs(kernel: Mapping[str, Any]) -> Callable[[Mapping[str, Any], Sequence[Any]], list[Any]]:
    """What runs a raw kernel on copies of its arrays, in the process that may die."""
    function = _unpacked(kernel)
    launch = Launch(
        grid=tuple(kernel["grid"]),
        width=tuple(kernel["width"]),
        size=tuple(kernel["size"]),
        way=Grid(kernel["way"]),
    )

    def run(settings: Mapping[str, Any], values: Sequence[Any]) -> list[Any]:
        given = _on_device(kernel, values)
        block = launch.block(Knobs.of(settings))
        function(launch.under(block), block, tuple(given), shared_mem=kernel["shared"])
        return [given[number].get() for number in kernel["arrays"]]

    return run


class TunedElementwiseKernel:
    """A kernel that is called as before; the block that CuPy has for it is the default."""

    __slots__ = ("_calls", "_device", "_looks", "_named", "_sign", "_text", "kernel", "name")

    def __init__(self, kernel: Any, named: tuple[Shape, ...] | None, check: Check | None) -> None:
        self.kernel, self.name = kernel, str(kernel.name)
        self._named = named
        self._calls = Calls(self.name, check=check)
        self._looks = Looks(_of_elements)
        self._device = cupy.cuda.runtime.getDevice
        self._sign = _sign_of_elements(kernel)
        self._text: str | None = None

    def __call__(
        self, *args: Any, size: int = -1, stream: Any = None, block_size: int = _USUAL
    ) -> Any:
        """Launch it once, and give what it gives."""
        looks = self._looks
        try:
            key = (
                self._device(),
                block_size,
                -1 if size == -1 else int(size).bit_length(),
                *[looks[type(one)](one) for one in args],
            )
            entry = self._calls.find(key)
        except (TypeError, ValueError):  # what the library refuses
            entry = None
        if entry is None:
            return self._first(args, size, stream, block_size)
        return entry.launch((args, size, stream), _CURRENT if stream is None else stream.ptr)

    def explain(self) -> Explanation:
        """What runs, why, and what is known besides."""
        return self._calls.explain()

    def decision(
        self, *args: Any, size: int = -1, stream: Any = None, block_size: int = _USUAL
    ) -> Decision:
        """What is decided for such a call, which is not made."""
        return self._known(args, size, stream, block_size).decision

    def tune(
        self,
        *args: Any,
        size: int = -1,
        stream: Any = None,
        block_size: int = _USUAL,
        budget_s: float = 2.0,
        progress: Callable[[Progress], None] | None = None,
    ) -> Decision:
        """Look for the fastest block at once, on copies of the arrays, and remember it."""
        entry = self._known(args, size, stream, block_size)
        refuse_to_copy_much(args, f"tuning {self.name}")
        return entry.tune(
            (args, size, stream),
            copies=_elements_on_copies,
            stream=_CURRENT if stream is None else stream.ptr,
            budget_s=budget_s,
            progress=progress,
        )

    def __repr__(self) -> str:
        return f"<tuned {self.name}>"

    def _first(self, args: tuple[Any, ...], size: Any, stream: Any, block_size: Any) -> Any:
        """A call of a new kind: the library compiles for it, so its time tells nothing."""
        if self._calls.check is not None:
            entry = self._entry(args, size, stream, block_size)
            if entry is not None:
                return entry.launch(
                    (args, size, stream), _CURRENT if stream is None else stream.ptr
                )
        _place()  # or what is missing would be said after the launch
        given = self.kernel(*args, size=size, stream=stream, block_size=block_size)
        if self._calls.check is None:
            self._entry(args, size, stream, block_size)
        return given

    def _known(self, args: tuple[Any, ...], size: Any, stream: Any, block_size: Any) -> Entry:
        entry = self._entry(args, size, stream, block_size)
        if entry is None:
            raise InvalidInput(
                f"such a call of {self.name} is not for learning",
                "ask with arrays that have elements, and outside of a capture",
            )
        return entry

    def _entry(
        self, args: tuple[Any, ...], size: Any, stream: Any, block_size: Any
    ) -> Entry | None:
        """Where such calls are made from; None where there is nothing to learn from them."""
        if not (_is_whole(size) and size and _is_whole(block_size) and block_size > 0):
            return None
        if any(hasattr(one, "__cupy_override_elementwise_kernel__") for one in args):
            return None
        if any(isinstance(one, cupy.ndarray) and not one.size for one in args):
            return None
        looked = tuple(self._looks[type(one)](one) for one in args)
        doublings = -1 if size == -1 else int(size).bit_length()
        key = (self._device(), block_size, doublings, *looked)
        found = self._calls.find(key)
        if found is not None:
            return found
        place = _place()
        if place.is_capturing(_CURRENT if stream is None else stream.ptr):
            return None
        if self._text is None:
            self._text = digest_of((self.name, _versions(), _described(self.kernel)))
        common = alike(args)
        count = int(size) if size > 0 else elements_in(common)
        limits = place.info.limits
        # As many blocks as it takes, and more threads than elements do nothing.
        launch = Launch.of((-(-count // block_size),), (block_size,), (count,))
        able, left_out = grids.able(launch, self._named, self._sign, limits.max_threads, limits)
        kind = Kind(
            name=self.name,
            text=self._text,
            place=place,
            configs=able,
            sizes=(count, *sizes_in(common)),
            traits=(f"default {able[0].text}", *traits_in(common)),
            size=count,
            left_out=left_out,
            warm=True,
        )
        variants = _Elementwise(self.kernel, frozenset(able))
        return self._calls.add(key, kind, variants, (args, size, stream))


@dataclass(frozen=True, slots=True)
class _Elementwise:
    """How a kernel of elements is launched under each block: nothing is compiled for it."""

    kernel: Any
    able: frozenset[Knobs]

    def is_ready(self, config: Knobs) -> bool:  # noqa: ARG002  # all are
        return True

    def job(self, config: Knobs) -> Job | None:  # noqa: ARG002  # all are ready
        return None

    def make(self, config: Knobs) -> Start:
        kernel = self.kernel
        (block,) = block_of(config)

        def start(arguments: Sequence[Any], stream: int) -> Any:
            del stream  # a call has its own, or the thread's
            args, size, on = arguments
            try:
                return kernel(*args, size=size, stream=on, block_size=block)
            except _REFUSED as error:
                raise Raised(error) from error

        return start

    def portable(self, arguments: Sequence[Any]) -> Portable:
        """The kernel with its source, and its arrays as NumPy's."""
        args, size, on = arguments
        return _portable(
            "vyre.adapter.cupy:runs_elements", self.kernel, args, on, {"size": int(size)}
        )


def runs_elements(
    kernel: Mapping[str, Any],
) -> Callable[[Mapping[str, Any], Sequence[Any]], list[Any]]:
    """What runs a kernel of elements on copies of its arrays, in the process that may die."""
    function = _unpacked(kernel)

    def run(settings: Mapping[str, Any], values: Sequence[Any]) -> list[Any]:
        given = _on_device(kernel, values)
        made = function(*given, size=kernel["size"], block_size=settings["block"])
        listed = made if isinstance(made, tuple) else (made,)
        written = [given[number] for number in kernel["arrays"]]
        return [one.get() for one in (*written, *listed) if one is not None]

    return run


def _lacking(kernel: Any, capability: str, *, steps: bool) -> str | None:
    """Why it is not proved that each thread of a raw kernel does the same under every block."""
    code = kernel.code
    if code is None:
        return "its source is not known"
    if kernel.enable_cooperative_groups:
        return "it is launched as one cooperative grid"
    asked = tuple(kernel.options)
    # What CuPy does to a source is no attribute of a kernel; it says it to whoever pickles one.
    held = kernel.__getstate__()
    ways = [held.get(one) for one in _CHANGING] if isinstance(held, dict) else [None]
    if any(ways) or _JITIFY in asked:
        return "CuPy changes its source"
    if settings.peek(_IN_MEMORY) not in ("", "0"):
        return f"{_IN_MEMORY} is set, with which CuPy takes headers from the folder it runs in"
    assembled = getattr(cupy._core.core, "assemble_cupy_compiler_options", None)
    if (by := kernel.backend) != _COMPILER or assembled is None or None in ways:
        return f"how {plain(str(by))} of CuPy {cupy.__version__} compiles it is not known"
    try:
        options = (*assembled(asked), *_OWN_OPTIONS)
        major, minor = cupy.cuda.nvrtc.getVersion()
    except Exception as error:  # noqa: BLE001  # without a compiler it raises as it likes
        return f"CuPy does not say how it compiles it: {error}"
    version = f"{major}.{minor}"
    return lacks(code, str(kernel.name), asked, options, capability, version, steps=steps)


def _sign_of_elements(kernel: Any) -> str | None:
    """What may make what a kernel of elements gives depend on the block."""
    parts = {name: str(kernel.kwargs.get(name, "")) for name in ("loop_prep", "after_loop")}
    beyond = "which threads without an element run as well"
    if bare(parts["after_loop"]).strip():
        return f"it has an after_loop, {beyond}"
    before = bare(parts["loop_prep"])
    if "atomic" in before:
        return f"its loop_prep has atomics, {beyond}"
    if any(not _is_closed(one) for one in (before, bare(str(kernel.operation)))):
        return "it closes braces that it does not open, and so the loop of its elements"
    whole = (str(kernel.preamble), parts["loop_prep"], str(kernel.operation))
    if before.strip() and "blockIdx" in bare("\n".join(whole)):
        return f"it has a loop_prep and says blockIdx, {beyond}"
    for name in re.findall(r"#\s*(?:define|undef)\s+(\w+)", bare("\n".join(whole))):
        if name in _LOOP:
            return f"its source defines {name}, by which its elements are found"
    return sign_in("\n".join(whole), kernel.kwargs.get("options", ()), steps=False)


def _is_closed(code: str) -> bool:
    """Whether what stands in braces is opened and closed within a piece of code."""
    depth = 0
    for one in re.findall(r"[{}]|<%|%>", code):
        depth += 1 if one in ("{", "<%") else -1
        if depth < 0:
            return False
    return not depth


def _described(kernel: Any) -> str:
    """All of a kernel of elements."""
    parameters = (*kernel.in_params, *kernel.out_params)
    more = (f"{name} {value!r}" for name, value in sorted(kernel.kwargs.items()))
    return "\n".join(
        (
            *map(repr, parameters),
            str(kernel.operation),
            str(kernel.preamble),
            f"reduce_dims {kernel.reduce_dims}",
            *more,
        )
    )


@functools.lru_cache(maxsize=32)
def _read(code: str, options: tuple[str, ...], steps: bool) -> str | None:  # a key
    """What `sign_in` says of a source: the kernels of a module have one together."""
    return sign_in(code, options, steps=steps)


def _held_by(path: str) -> str:
    """What a file of machine code holds; its path where it is gone since it was loaded."""
    try:
        return blake3.blake3(Path(path).read_bytes()).hexdigest()
    except OSError:
        return path


def _versions() -> str:
    """Of the library and its compiler."""
    return f"cupy {cupy.__version__}, nvrtc {cupy.cuda.nvrtc.getVersion()}"


def _is_shape(given: Any) -> bool:
    """Whether it is a grid or a block as the library takes them, of which none is left out."""
    if not isinstance(given, tuple) or not 1 <= len(given) <= len(AXES):
        return False
    return all(map(_is_whole, given)) and min(given) >= 1


def _is_whole(given: Any) -> bool:
    return isinstance(given, (int, np.integer)) and not isinstance(given, bool)


def _on_copies(arguments: Sequence[Any]) -> Sequence[Any]:
    """The same launch on copies of its arrays."""
    args, on, *grid = arguments
    with on or nullcontext():
        return tuple(_copied(number, one) for number, one in enumerate(args)), on, *grid


def _elements_on_copies(arguments: Sequence[Any]) -> Sequence[Any]:
    args, size, on = arguments
    with on or nullcontext():
        made = (_copied(n, one, whole=False) for n, one in enumerate(args))
        return tuple(made), size, on


def _is_array(argument: Any) -> bool:
    return isinstance(argument, cupy.ndarray)


def _copied(number: int, argument: Any, *, whole: bool = True) -> Any:
    """A copy of an array, that lies in memory as it does where a kernel sees its memory alone."""
    if isinstance(argument, _VALUES):
        return argument
    if not _is_array(argument):
        raise InvalidInput(
            f"argument {number}, {shown(argument)}, cannot be copied",
            "pass arrays and plain values, or call it and let it learn",
        )
    if whole:
        _refuse_strided(number, argument)
    return argument.copy(order="K")


def _refuse_strided(number: int, array: Any) -> None:
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise InvalidInput(
            f"argument {number} is a part of an array, {array.shape} with strides {array.strides}, "
            "and a raw kernel may see what lies between",
            "pass a contiguous array, or call it and let it learn without check=",
        )


def _portable(
    entry: str, kernel: Any, args: Sequence[Any], on: Any, more: Mapping[str, Any]
) -> Portable:
    """A kernel and its arguments as another process can have them."""
    refuse_to_copy_much(tuple(args), "check=")
    values: list[Any] = []
    with on or nullcontext():
        for number, one in enumerate(args):
            if _is_array(one):
                if entry.endswith(":runs"):
                    _refuse_strided(number, one)
                values.append(one.get(order="A"))
            elif isinstance(one, _VALUES):
                values.append(one)
            else:
                raise InvalidInput(
                    f"argument {number}, {shown(one)}, cannot be had in another process",
                    "leave check= out, or pass arrays and plain values",
                )
    arrays = [number for number, one in enumerate(args) if _is_array(one)]
    taken = {
        "kernel": base64.b64encode(pickled(kernel)).decode(),
        "device": int(cupy.cuda.runtime.getDevice()),
        "arrays": arrays,
        **more,
    }
    names = tuple(f"argument {number}" for number in arrays)
    return Portable(entry=entry, kernel=taken, arguments=tuple(values), names=names)


def _unpacked(kernel: Mapping[str, Any]) -> Any:
    cupy.cuda.runtime.setDevice(kernel["device"])
    return cloudpickle.loads(base64.b64decode(kernel["kernel"]))


def _on_device(kernel: Mapping[str, Any], values: Sequence[Any]) -> list[Any]:
    arrays = frozenset(kernel["arrays"])
    return [cupy.asarray(one) if n in arrays else one for n, one in enumerate(values)]


def tuned(
    kernel: Any,
    blocks: Iterable[int | Sequence[int]] | None = None,
    *,
    size: Any = None,
    grid: str | None = None,
    check: bool = False,
    rtol: float = 0.0,
    atol: float = 0.0,
) -> Any:
    """Let Vyre choose the block of a kernel of CuPy's: calls go on as before.

    Args:
        kernel: a `RawKernel`, such as a `RawModule` gives, or an `ElementwiseKernel`; the result is
            called as it is, and the block that it is given is the default.
        blocks: the blocks that may run it, by its author's word. Left out, the usual ones are
            tried, unless the source asks for its threads in another way than `blockIdx.x *
            blockDim.x + threadIdx.x`, or for shared memory: then what it gives may depend on them.
        size: how many positions a launch covers, along the first axes, or a function of the
            kernel's arguments that says it: the grid is as many blocks as that takes, and the
            kernel must do nothing beyond. Left out, only those blocks are tried under which there
            are as many threads as before.
        grid: `"stride"` for a kernel that goes on by its grid until all is done, so that any number
            of threads is right; `"same"` for one in which each block does a piece of its own, so
            that their number stays: then `blocks` must name some.
        check: try each on copies of the arrays, in another process, before it serves.
        rtol: how close results must be, for arrays of floats; 0 with `atol` is bitwise.
        atol: the same, absolutely.
    """
    asked = Check.of(check, rtol, atol)
    if isinstance(kernel, cupy.ElementwiseKernel):
        name = str(kernel.name)
        for option, given in (("size", size), ("grid", grid)):
            if given is not None:
                raise InvalidInput(
                    f"{option}={shown(given)} of {name}, an ElementwiseKernel",
                    "leave it out: its grid follows from its arrays",
                )
        named = grids.named(blocks, name)
        if named is not None and any(len(one) != 1 for one in named):
            raise InvalidInput(
                f"blocks={shown(blocks)} of {name}, an ElementwiseKernel", "give numbers of threads"
            )
        return TunedElementwiseKernel(kernel, named, asked)
    if not isinstance(kernel, cupy.RawKernel):
        raise InvalidInput(
            f"{shown(kernel)} is no RawKernel or ElementwiseKernel of CuPy's",
            "give one, such as cupy.RawModule(code=...).get_function(name)",
        )
    name = str(kernel.name)
    named, way = grids.named(blocks, name), Grid.of(grid, name)
    return TunedRawKernel(kernel, named, grids.sizing(size, named, way, name), way, asked)
