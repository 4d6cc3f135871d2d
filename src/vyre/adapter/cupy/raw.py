"""Kernels in CUDA C++ that CuPy compiles as they are."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from math import gcd
from pathlib import Path
from typing import Any

import blake3
import cupy

from vyre import settings
from vyre.adapter import grids
from vyre.adapter.alike import alike, sizes_in, traits_in
from vyre.adapter.blocks import AXES, Shape
from vyre.adapter.calls import Calls, Entry
from vyre.adapter.cuda_proof import lacks
from vyre.adapter.cupy import device
from vyre.adapter.cupy.copies import copied_together, left_in, on_device, portable_launch, unpacked
from vyre.adapter.cupy.device import CURRENT, REFUSED, is_whole, versions
from vyre.adapter.failure import Raised
from vyre.adapter.grids import Grid, Launch
from vyre.adapter.identity import digest_of
from vyre.adapter.kept import make_room
from vyre.adapter.kind import Job, Kind, Portable, Start
from vyre.adapter.looks import NO_LATEST, NOT_SEEN, Arrays, Looks
from vyre.adapter.proof import Proof
from vyre.adapter.reading.cuda_text import sign_in
from vyre.adapter.reading.sources import bare
from vyre.adapter.trial import copying
from vyre.adapter.trial.trials import Check
from vyre.errors import InvalidInput
from vyre.learn import rules
from vyre.learn.explain import Explanation
from vyre.model import Decision, Knobs
from vyre.plain import plain, shown
from vyre.policy.contest import Progress

_COMPILER = "nvrtc"
_MOST_COVERED = 256

_OWN_OPTIONS = ("-ftz=true", "--device-as-default-execution-space")
"""What CuPy adds to the options of every source."""

_CHANGING = ("translate_cucomplex", "jitify")
_JITIFY = "-DCUPY_USE_JITIFY"
"""An option by which CuPy takes Jitify as well."""

_IN_MEMORY = "CUPY_CACHE_IN_MEMORY"

_OWN_MEMORY = re.compile(r"__constant__|__managed__|__device__[^(){};]*[;=]")


def _of_any(kind: type) -> Arrays | None:
    """Arrays that a kernel has as memory alone."""
    if not issubclass(kind, cupy.ndarray):
        return None
    return Arrays(lambda x: (kind, x.dtype, x.size.bit_length()), ("dtype", "size"))


class TunedRawKernel:
    """A kernel that is called as before; the block that it is given is the default."""

    __slots__ = (
        *(
            "_again",
            "_calls",
            "_device",
            "_lacks",
            "_latest",
            "_looks",
            "_named",
            "_signs",
            "_size",
            "_texts",
            "_way",
        ),
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
        self._again, self._latest = self._calls.again, NO_LATEST
        self._device = device.Current()
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
        size = self._size
        stated = None if size is None else size(*args)
        seen, latest, best, launch = self._latest
        entry: Entry | None = None
        is_latest, told = False, None
        try:
            looked, by = self._looks.latest(args), rules.usual or rules.rule()
            gcd(*grid, *block, shared_mem)  # not of 4.0, which is found where 4 was: 0.1 us
            told = (by, self._device.number(), grid, block, shared_mem, stated, looked)
            is_latest = told == seen and stream is None and latest.site.best is best
            if not is_latest:
                entry = self._again[told]
        except NOT_SEEN:
            told = None
        if is_latest:
            site = latest.site
            site.tick()
            if site.best is best and not site.asked:
                try:
                    launch(args)
                except REFUSED:  # and another block may be launched in its place
                    pass
                else:
                    return
            latest.counted((args, None, grid, stated), CURRENT)
            return
        if entry is None:
            stated = grids.stated_of(stated, self.name)
            entry = self._entry(grid, block, args, shared_mem, stream, stated)
            if entry is None:
                self.kernel(grid, block, args, shared_mem=shared_mem, stream=stream)
                return
        if stream is not None:
            entry.launch((args, stream, grid, stated), stream.ptr)
            return
        entry.launch((args, None, grid, stated), CURRENT)
        best = entry.site.best
        if told is not None and isinstance(best, _Under):
            self._latest = told, entry, best, best.over(grid, stated)

    def explain(self) -> Explanation:
        """What runs, why, and what is known besides; the kernel is compiled once more for that."""
        if self._way is not Grid.THREADS:
            return self._calls.explain()
        try:
            devices = tuple(self._texts) or (self._device.number(),)
            capabilities = {str(cupy.cuda.Device(one).compute_capability) for one in devices}
        except REFUSED as error:
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
        copying.refuse_to_copy_much(tuple(args), f"tuning {self.name}")
        return entry.tune(
            (args, stream, grid, stated),
            copies=_on_copies,
            stream=CURRENT if stream is None else stream.ptr,
            budget_s=budget_s,
            progress=progress,
        )

    def __repr__(self) -> str:
        return f"<tuned {self.name}>"

    def _known(
        self, grid: Any, block: Any, args: Sequence[Any], shared_mem: int, stream: Any
    ) -> tuple[Entry, Any]:
        stated = None if self._size is None else grids.stated_of(self._size(*args), self.name)
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
        if not (_is_shape(grid) and _is_shape(block) and is_whole(shared_mem)):
            return None
        if not isinstance(args, (tuple, list)):
            return None
        size = () if stated is None else grids.size_of(stated, self.name)
        written = (self._device.number(), grid, block, shared_mem, stated)
        exactly = (*written, self._looks.exactly(args))
        again = self._again.get((rules.rule(), *exactly))
        if again is not None:
            return again
        looked = self._looks.at(args)
        key = (*written, *looked)
        found = self._calls.find(key)
        if found is not None:
            return self._calls.keep(exactly, found)
        place = device.place()
        if 0 in size or place.is_capturing(CURRENT if stream is None else stream.ptr):
            return None
        launch = Launch.of(grid, block, size, self._way)
        free = launch.is_free
        like = (self._device.number(), launch.like, shared_mem, *looked)
        known = self._calls.find(like) if free else None
        if known is not None:
            return self._calls.keep(exactly, self._calls.alike(key, known))
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
        variants = _Raw(self.kernel, launch, shared_mem, frozenset(able), self._loaded())
        entry = self._calls.add(like if free else key, kind, variants, (args, stream, grid, stated))
        return self._calls.keep(exactly, self._calls.alike(key, entry) if free else entry)

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

    def _loaded(self) -> Any:
        """What CuPy calls once it has looked for the device's own; it takes a quarter less."""
        kernel = self.kernel
        is_plain = type(kernel) is cupy.RawKernel and not kernel.enable_cooperative_groups
        return kernel.kernel if is_plain else kernel

    def _text(self) -> str:
        """All of the kernel, and what it was compiled to on this device."""
        ordinal = self._device.number()
        if ordinal not in self._texts:
            kernel = self.kernel
            code = kernel.code
            if code is None:
                code = _held_by(str(kernel.file_path))
            self._texts[ordinal] = digest_of(
                (
                    *(self.name, versions(), kernel.backend, *kernel.options),
                    *(f"{name} {number}" for name, number in sorted(kernel.attributes.items())),
                    code,
                )
            )
        return self._texts[ordinal]


@dataclass(frozen=True, slots=True)
class _Raw:
    """How a kernel is launched under each block: nothing is compiled for it.

    Args:
        kernel: it.
        launch: the first one.
        shared_bytes: of memory that a block is given.
        able: what may run it.
        loaded: the same as it is on this device, for launches of which nothing else is said.
    """

    kernel: Any
    launch: Launch
    shared_bytes: int
    able: frozenset[Knobs]
    loaded: Any = None

    def is_ready(self, config: Knobs) -> bool:  # noqa: ARG002  # all are
        return True

    def job(self, config: Knobs) -> Job | None:  # noqa: ARG002  # all are ready
        return None

    def make(self, config: Knobs) -> Start:
        self.launch.refuse_others(config, self.able)
        return _Under(self, self.launch.block(config))

    def portable(self, arguments: Sequence[Any]) -> Portable:
        """The kernel with its source, and its arrays as NumPy's."""
        args, on, *_ = arguments
        self._refuse_own_memory()
        more = {**self.launch.value(), "shared": self.shared_bytes}
        return portable_launch(
            "vyre.adapter.cupy.raw:runs", self.kernel, args, on, more, whole=True
        )

    def _refuse_own_memory(self) -> None:
        code = self.kernel.code
        if code is not None and _OWN_MEMORY.search(bare(code)):
            raise InvalidInput(
                f"check= of {self.kernel.name}, whose source has memory of its own, which another "
                "process does not have",
                "pass it as an array, or leave check= out",
            )


class _Under:
    """What launches a raw kernel under one block."""

    __slots__ = ("_block", "_covering", "_grid", "_known", "_raw")

    def __init__(self, raw: _Raw, block: Shape) -> None:
        launch = raw.launch
        self._raw, self._block = raw, block
        # In the place of the grid that is given, where that is not the one that belongs to it.
        self._grid = None if block == launch.width else launch.under(block)
        is_covered = self._grid is not None and launch.is_free
        self._covering = grids.Covering(launch, block) if is_covered else None
        self._known: dict[Any, Callable[[Sequence[Any]], None]] = {}

    def __call__(self, arguments: Sequence[Any], stream: int) -> None:
        del stream  # a launch has its own, or the thread's
        args, on, given, stated = arguments
        try:
            if on is None:
                self.over(given, stated)(args)
            else:
                raw, used = self._raw, self._used(given, stated)
                raw.kernel(used, self._block, args, shared_mem=raw.shared_bytes, stream=on)
        except REFUSED as error:
            raise Raised(error) from error

    def over(self, given: Shape, stated: Any) -> Callable[[Sequence[Any]], None]:
        """What launches it on the thread's stream, with a grid that is given and a size stated."""
        key = given if self._covering is None else (given, stated)
        found = self._known.get(key)
        if found is None:
            used, raw = self._used(given, stated), self._raw
            if raw.shared_bytes:
                kernel = functools.partial(raw.kernel, shared_mem=raw.shared_bytes)
            else:  # which is quicker said
                kernel = raw.kernel if raw.loaded is None else raw.loaded
            found = functools.partial(kernel, used, self._block)
            make_room(self._known, _MOST_COVERED)
            self._known[key] = found
        return found

    def _used(self, given: Shape, stated: Any) -> Shape:
        if self._grid is None:
            return given
        covering = self._covering
        name = str(self._raw.kernel.name)
        return self._grid if covering is None else covering.grid(given, stated, name)


def runs(kernel: Mapping[str, Any]) -> Callable[[Mapping[str, Any], Sequence[Any]], list[Any]]:
    """What runs a raw kernel on copies of its arrays, in the process that may die."""
    function = unpacked(kernel)
    launch = Launch.told(kernel)

    def run(settings: Mapping[str, Any], values: Sequence[Any]) -> list[Any]:
        given = on_device(kernel, values)
        block = launch.block(Knobs.of(settings))
        function(launch.under(block), block, given.values, shared_mem=kernel["shared"])
        return [*left_in(kernel, given), *given.beside()]

    return run


def _on_copies(arguments: Sequence[Any]) -> Sequence[Any]:
    """The same launch on copies of its arrays."""
    args, on, *grid = arguments
    with on or nullcontext():
        return copied_together(args), on, *grid


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


def _is_shape(given: Any) -> bool:
    """Whether it is a grid or a block as the library takes them, of which none is left out."""
    if not isinstance(given, tuple) or not 1 <= len(given) <= len(AXES):
        return False
    return all(map(is_whole, given)) and min(given) >= 1
