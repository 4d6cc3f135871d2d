"""A kernel of Numba's, and its launches: configured by a grid and a block, or over tasks."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any

from vyre.adapter import grids
from vyre.adapter.alike import alike, sizes_in, traits_in
from vyre.adapter.blocks import Shape
from vyre.adapter.calls import Calls, Entry
from vyre.adapter.grids import Grid, Launch
from vyre.adapter.identity import digest_of, text_of
from vyre.adapter.kept import make_room
from vyre.adapter.kind import Kind
from vyre.adapter.looks import NO_LATEST, NOT_SEEN, Looks
from vyre.adapter.numba import device
from vyre.adapter.numba.arrays import is_copied, is_plain, look_at, on_copies
from vyre.adapter.numba.device import SIMULATED, handle_of, options_of, versions
from vyre.adapter.numba.variants import DRIVERS, Blocks, Under, is_refused
from vyre.adapter.proof import Proof
from vyre.adapter.ptx.free import why_not
from vyre.adapter.reading.numba_code import Read, read
from vyre.adapter.trial import copying
from vyre.adapter.trial.trials import Check
from vyre.errors import InvalidInput
from vyre.learn import rules
from vyre.learn.explain import Explanation
from vyre.model import Decision, Knobs, Limits
from vyre.policy.contest import Progress

_MOST_CONFIGURED = 128


class HostArraysWarning(UserWarning):
    """Launches on arrays of the host, which Numba copies, so that nothing can be learned."""


@dataclass(frozen=True, slots=True)
class Said:
    """What the author of a kernel says of it."""

    named: tuple[Shape, ...] | None
    size: Callable[..., Any] | None
    way: Grid


class TunedKernel:
    """A kernel that is configured and called as before; the block it is given is the default."""

    def __init__(self, kernel: Any, said: Said, check: Check | None) -> None:
        self.kernel, self.said = kernel, said
        self.name = str(kernel.py_func.__name__)
        self.calls = Calls(self.name, check=check)
        self.again, self.looks = self.calls.again, Looks(look_at)
        self.device = device.current
        self.begun: set[object] = set()
        self.tasks: dict[Any, Any] = {}
        self._numbers: dict[Any, int] = {}
        self._next_number = count().__next__
        self._configured: dict[Any, Configured] = {}
        self._read: dict[bool, Read] = {}
        self.devices: dict[int, None] = {}  # on which it was launched
        self._lacks: dict[tuple[str, str, bool], str | None] = {}
        self._has_tasks = False
        if not SIMULATED and kernel.overloads:
            self.look()

    def number(self, what: Any) -> int:
        """The number of what is written of a launch: it is quicker to look for than that."""
        found = self._numbers.get(what)
        if found is None:
            found = self._next_number()
            _keep(self._numbers, what, found)
        return found

    def __getitem__(self, configuration: Any) -> Configured:
        """A launch of it: `kernel[grid, block]`, and a stream and shared memory where needed."""
        try:
            return self._configured[configuration]
        except (KeyError, TypeError):  # the library says what it cannot take
            pass
        made = Configured(self, self.kernel[configuration], *configuration)
        with suppress(TypeError):  # lists, which Numba's simulator takes
            _keep(self._configured, configuration, made)
        return made

    def configure(
        self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0
    ) -> Configured:
        """The same in other words."""
        return self[griddim, blockdim, stream, sharedmem]

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> ForAll:
        """A launch over so many tasks, each of which is one thread's."""
        self._has_tasks = True
        return ForAll(self, ntasks, tpb, stream, sharedmem)

    def __call__(self, *args: Any) -> Any:
        """What the library says of a call without a configuration."""
        return self.kernel(*args)

    def explain(self) -> Explanation:
        """What runs, why, and what is known besides."""
        if self.said.way is not Grid.THREADS:
            return self.calls.explain()
        covers = self.said.size is not None or self._has_tasks
        return self.calls.explain(Proof(self._lacking(steps=not covers), covers))

    def __repr__(self) -> str:
        return f"<tuned {self.name}>"

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    # -- what its launches ask for

    def look(self) -> None:
        """Read its function as it is here and now, when the library compiles it.

        What a name stands for then is part of what is compiled, whatever it stands for later.
        """
        for steps in (True, False):
            found, known = read(self.kernel.py_func, steps=steps), self._read.get(steps)
            self._read[steps] = found if known is None or known.sign is None else known

    def read(self, *, steps: bool) -> Read:
        """What is known of its function, by all times that it was looked at."""
        if not self._read:
            self.look()
        return self._read[steps]

    def most(self, args: Sequence[Any], limits: Limits) -> int:
        """How many threads a block of it can have."""
        bounds = options_of(self.kernel).get("launch_bounds")
        first = bounds[0] if isinstance(bounds, (tuple, list)) and bounds else bounds
        most = min(limits.max_threads, int(first)) if first else limits.max_threads
        compiled = self._compiled(args)
        return min(most, int(compiled.max_threads_per_block)) if compiled is not None else most

    def _compiled(self, args: Sequence[Any]) -> Any:
        """What the library has compiled for such arguments; None where it has nothing yet."""
        kernel = self.kernel
        overloads = {} if SIMULATED else kernel.overloads
        if not overloads:
            return None
        if kernel.specialized:
            return next(iter(overloads.values()))
        return overloads.get(tuple(kernel.typeof_pyval(one) for one in args))

    def _lacking(self, *, steps: bool) -> str | None:
        """Why nothing is proved of what the library compiled; None where all of it is."""
        if SIMULATED:
            return "Numba's simulator compiles nothing"
        kernels = (self.kernel, *tuple(getattr(self.kernel, "specializations", {}).values()))
        compiled = [one for kernel in kernels for one in tuple(kernel.overloads.values())]
        if not compiled:
            return "Numba has not compiled it yet"
        if any(getattr(one, "launch_config_sensitive", False) for one in compiled):
            return "Numba compiles it anew for each launch configuration"
        try:
            devices = tuple(self.devices) or (self.device(),)
            capabilities = sorted({device.capability(one) for one in devices})
            texts = [
                (str(one.inspect_asm(capability)), str(one.entry_name))
                for one in compiled
                for capability in capabilities
            ]
        except Exception as error:  # noqa: BLE001  # it may keep none, and raise as it likes
            return f"Numba gives no PTX of it: {error}"
        return next(filter(None, (self._lacks_of(*one, steps=steps) for one in texts)), None)

    def _lacks_of(self, text: str, name: str, *, steps: bool) -> str | None:
        key = (text, name, steps)
        if key not in self._lacks:
            self._lacks[key] = why_not(text, name, steps=steps)
        return self._lacks[key]

    @property
    def is_compiled_anew(self) -> bool:
        """Whether the library compiles it for each launch configuration."""
        overloads = () if SIMULATED else tuple(self.kernel.overloads.values())
        return any(getattr(one, "launch_config_sensitive", False) for one in overloads)

    def parts(self) -> tuple[str, ...]:
        """All of the kernel, as far as it can be known."""
        options = sorted(options_of(self.kernel).items())
        return (
            self.name,
            versions(),
            *(f"{name} {value!r}" for name, value in options),
            text_of(self.kernel.py_func),
            *self.read(steps=True).constants,
        )

    @functools.cached_property
    def text(self) -> str:
        """The same for a store, as it was when it was first launched."""
        return digest_of(self.parts())

    def entry(
        self, key: Any, args: tuple[Any, ...], launching: _Launching, launch: Launch
    ) -> Entry:
        """Where launches of a new kind are made from."""
        configs, left_out = launching.space(args, launch)
        if self.is_compiled_anew and len(configs) > 1:
            why = "all other blocks: Numba compiles it anew for each launch configuration"
            configs, left_out = configs[:1], (why,)
        common = alike(args)
        shared_bytes = launching.shared_bytes
        kind = Kind(
            name=self.name,
            text=self.text,
            place=device.place(),
            configs=configs,
            sizes=(*launch.sizes, *sizes_in(common)),
            traits=(
                f"runs {configs[0].text}",
                *launch.traits,
                f"{shared_bytes} bytes",
                *traits_in(common),
            ),
            size=launch.count,
            left_out=left_out,
            warm=True,
        )
        covers = launching.like(launch) is not None
        variants = Blocks(self.kernel, launch, shared_bytes, frozenset(configs), covers)
        return self.calls.add(key, kind, variants, launching.arguments(args))

    def sign(self, args: tuple[Any, ...], shared_bytes: int, *, steps: bool) -> str | None:
        """What may make results depend on the block."""
        if shared_bytes:
            return f"it is given {shared_bytes} bytes of shared memory for each block"
        options = options_of(self.kernel)
        for option in ("cooperative", "extensions"):
            if options.get(option):
                return f"it is compiled with {option}="
        for number, one in enumerate(args):
            if not is_plain(one):
                kind = type(one)
                return f"argument {number} is a {kind.__module__}.{kind.__qualname__}"
        return self.read(steps=steps).sign

    def is_begun(self, what: object, args: tuple[Any, ...]) -> bool:
        """Whether the library has compiled for such a launch; it is about to, where it has not."""
        if self.calls.check is not None or SIMULATED:
            return True
        kind = (self.device(), what, traits_in(alike(args)))
        if kind in self.begun:
            return True
        self.begun.add(kind)
        self.look()
        return False

    def is_copied(self, args: tuple[Any, ...]) -> bool:
        """Whether the library copies arguments for each launch; that is said once."""
        if SIMULATED or not any(map(is_copied, args)):
            return False
        kinds = ("copied", *map(type, args))
        if kinds not in self.begun:
            self.begun.add(kinds)
            warnings.warn(
                f"{self.name} is launched on arrays of the host, which Numba copies for each "
                "launch, so nothing is learned; pass numba.cuda.to_device(array)",
                HostArraysWarning,
                stacklevel=4,
            )
        return True


class _Launching:
    """A launch of a kernel that is ready to be called: what both ways of writing one have."""

    __slots__ = (
        *("_given", "_handle", "_latest", "_owner", "_size", "_what"),
        *("found", "shared_bytes", "stream"),
    )
    _callbacks: Sequence[Any] = ()

    def __init__(self, owner: TunedKernel, given: Any, stream: Any, shared_bytes: int) -> None:
        self._owner, self._given = owner, given
        self.stream, self.shared_bytes = stream, shared_bytes
        self._handle = handle_of(stream)
        self._what, self._latest = -1, NO_LATEST
        self.found: dict[Any, Callable[..., Any]] = {}  # what launches it, by its starts and sizes
        self._size: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> Any:
        """Launch it once."""
        if self._callbacks or self._handle is None:  # this configuration's own, no stream to time
            return self._given(*args)
        owner, size = self._owner, self._size
        seen, latest, best, launch = self._latest
        entry: Entry | None = None
        is_latest, told = False, None
        stated = None if size is None else size(*args)
        try:
            looked, by = owner.looks.latest(args), rules.usual or rules.rule()
            told = (by, owner.device(), self._what, stated, looked)
            is_latest = told == seen and latest.site.best is best
            if not is_latest:
                entry = owner.again[told]
        except NOT_SEEN:
            told = None
        if is_latest:
            site = latest.site
            site.tick()
            if site.best is best and not site.asked:
                try:
                    return launch(*args)
                except Exception as error:
                    if not is_refused(error):
                        raise  # or another block may be launched in its place
            return latest.counted((self, args, stated), self._handle)
        if entry is None:
            entry = self._entry(args)
            if entry is None:
                return self._given(*args)
        given = entry.launch((self, args, stated), self._handle)
        best = entry.site.best
        if told is not None and isinstance(best, Under):
            self._latest = told, entry, best, best.found(self, args, stated)
        return given

    def decision(self, *args: Any) -> Decision:
        """What is decided for such a launch, which is not made."""
        return self._known(args).decision

    def tune(
        self,
        *args: Any,
        budget_s: float = 2.0,
        progress: Callable[[Progress], None] | None = None,
    ) -> Decision:
        """Look for the fastest block at once, on copies of the arrays, and remember it."""
        entry = self._known(args)
        copying.refuse_to_copy_much(args, f"tuning {self._owner.name}")
        return entry.tune(
            self.arguments(args),
            copies=on_copies,
            stream=self._handle or 0,
            budget_s=budget_s,
            progress=progress,
        )

    def space(
        self, args: tuple[Any, ...], launch: Launch
    ) -> tuple[tuple[Knobs, ...], tuple[str, ...]]:
        """The blocks that can run it, and what cannot."""
        raise NotImplementedError

    def under(self, block: Shape, grid: Shape) -> Callable[..., Any]:
        """What launches it with a block, and a grid that goes with it."""
        raise NotImplementedError

    def like(self, launch: Launch) -> tuple[Any, ...] | None:
        """What it has in common with launches of other sizes that are made as it is, if any are."""
        del launch
        return None

    def arguments(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """What a start is given for such a launch."""
        return self, args, self.stated(args)

    def stated(self, args: tuple[Any, ...]) -> Any:
        """What `size=` says of a launch."""
        return None if self._size is None else grids.stated_of(self._size(*args), self._owner.name)

    def _launch(self, size: Shape) -> Launch | None:
        """What is launched; None for what has no thread."""
        raise NotImplementedError

    def _known(self, args: tuple[Any, ...]) -> Entry:
        entry = self._entry(args, asks=True)
        if entry is None:
            raise InvalidInput(
                f"such a launch of {self._owner.name} is not for learning",
                "ask with arrays of the device and at least one thread, outside of a capture",
            )
        return entry

    def _entry(self, args: tuple[Any, ...], *, asks: bool = False) -> Entry | None:
        """Where such launches are made from; None where there is nothing to learn from this one."""
        owner = self._owner
        if owner.device is device.current:
            owner.device = device.asked()
        owner.devices[owner.device()] = None
        stated = self.stated(args)
        size = () if stated is None else grids.size_of(stated, owner.name)
        launch = None if 0 in size else self._launch(size)
        if launch is None or self._handle is None or owner.is_copied(args):
            return None
        looked = owner.looks.at(args)
        exactly = (owner.device(), self._what, stated, owner.looks.exactly(args))
        again = owner.again.get((rules.rule(), *exactly))
        if again is not None:
            return again
        key = (owner.device(), self._what, stated, *looked)
        found = owner.calls.find(key)
        if found is not None:
            return owner.calls.keep(exactly, found)
        if device.place().is_capturing(self._handle):
            return None
        like = self.like(launch)
        if like is None:
            if not asks and not owner.is_begun(type(self), args):
                return None
            return owner.calls.keep(exactly, owner.entry(key, args, self, launch))
        of_all = (owner.device(), *like, *looked)
        entry = owner.calls.find(of_all)
        if entry is None:
            if not asks and not owner.is_begun(type(self), args):
                return None
            entry = owner.entry(of_all, args, self, launch)
        owner.calls.alike(key, entry)
        return owner.calls.keep(exactly, entry)


class Configured(_Launching):
    """A kernel with a grid and a block, as `kernel[grid, block]` gives it."""

    __slots__ = ("_callbacks", "_launches", "_written")

    def __init__(
        self,
        owner: TunedKernel,
        given: Any,
        grid: Any,
        block: Any,
        stream: Any = 0,
        sharedmem: int = 0,
    ) -> None:
        super().__init__(owner, given, stream, int(sharedmem))
        self._callbacks = getattr(given, "pre_launch_callbacks", ())
        self._size = owner.said.size
        self._written = Launch.of(_listed(grid), _listed(block), (), owner.said.way)
        self._what = owner.number((self._written.grid, self._written.width, self.shared_bytes))
        self._launches = {} if SIMULATED else {(self._written.width, self._written.grid): given}

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_given"), name)

    def like(self, launch: Launch) -> tuple[Any, ...] | None:
        return ("configured", launch.like, self.shared_bytes) if launch.is_free else None

    def covering(self, covering: grids.Covering, args: tuple[Any, ...]) -> Shape:
        """The grid that goes with another block."""
        return covering.grid(self._written.grid, self.stated(args), self._owner.name)

    def as_written(self) -> Callable[..., Any]:
        """What the library made of it."""
        return self._given  # type: ignore[no-any-return]  # it has no types

    def _launch(self, size: Shape) -> Launch | None:
        written = self._written
        if min(written.threads) < 1:
            return None
        return Launch.of(written.grid, written.width, size, written.way)

    def space(
        self, args: tuple[Any, ...], launch: Launch
    ) -> tuple[tuple[Knobs, ...], tuple[str, ...]]:
        owner, limits = self._owner, device.limits()
        steps = not launch.size and launch.way is not Grid.SAME
        sign = owner.sign(args, self.shared_bytes, steps=steps)
        return grids.able(launch, owner.said.named, sign, owner.most(args, limits), limits)

    def under(self, block: Shape, grid: Shape) -> Callable[..., Any]:
        made = self._launches.get((block, grid))
        if made is None:
            made = _quietly(self._owner.kernel, (grid, block, self.stream, self.shared_bytes))
            if not SIMULATED:  # there it is the kernel itself, whatever the configuration
                self._launches[block, grid] = made
        return made  # type: ignore[no-any-return]  # it has no types


class ForAll(_Launching):
    """A kernel over so many tasks, as `kernel.forall(n)` gives it."""

    __slots__ = ("_tasks", "_tpb")

    def __init__(
        self, owner: TunedKernel, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0
    ) -> None:
        given = owner.kernel.forall(ntasks, tpb=tpb, stream=stream, sharedmem=sharedmem)
        super().__init__(owner, given, stream, int(sharedmem))
        self._tasks, self._tpb = ntasks, tpb
        self._what = owner.number(("forall", int(ntasks).bit_length(), tpb, self.shared_bytes))

    def _launch(self, size: Shape) -> Launch | None:
        del size  # what it says itself
        if self._tasks < 1 or self._tpb < 0:
            return None
        named = self._owner.said.named or ((_TASKS,),)
        threads = int(self._tpb or named[0][0])
        return Launch.of((-(-self._tasks // threads),), (threads,), (int(self._tasks),))

    def space(
        self, args: tuple[Any, ...], launch: Launch
    ) -> tuple[tuple[Knobs, ...], tuple[str, ...]]:
        owner, limits = self._owner, device.limits()
        sign = owner.sign(args, self.shared_bytes, steps=False)
        able, left_out = grids.able(
            launch, owner.said.named, sign, owner.most(args, limits), limits
        )
        if self._tpb:
            return able, left_out
        free = owner.said.named is not None or sign is None
        return (DRIVERS, *able) if free else (DRIVERS,), left_out

    def under(self, block: Shape, grid: Shape) -> Callable[..., Any]:
        del grid  # it follows from the block
        threads = block[0] if block else 0
        if threads == self._tpb:
            return self._given  # type: ignore[no-any-return]  # it has no types
        blocks = -(-self._tasks // threads)
        return functools.partial(self._launched, (blocks, threads, self.stream, self.shared_bytes))

    def _launched(self, configuration: tuple[Any, ...], *args: Any) -> None:
        """What `forall` does, with threads of ours."""
        owner = self._owner
        kernel = owner.kernel
        compiled = kernel if SIMULATED or kernel.specialized else kernel.specialize(*args)
        made = owner.tasks.get((compiled, configuration))
        if made is None:
            made = _quietly(compiled, configuration)
            if not SIMULATED:
                _keep(owner.tasks, (compiled, configuration), made)
        made(*args)


_TASKS = 128

_one_at_a_time = threading.Lock()


def _quietly(kernel: Any, configuration: tuple[Any, ...]) -> Any:
    """A configuration that is ours, of which nobody need be told that its grid is small."""
    with _one_at_a_time, warnings.catch_warnings():  # whose filters are the process's
        warnings.simplefilter("ignore")
        return kernel[configuration]


def _keep(kept: dict[Any, Any], key: Any, made: Any) -> None:
    """Keep one more of what is made for launches, and forget the oldest beyond so many."""
    make_room(kept, _MOST_CONFIGURED)
    kept[key] = made


def _listed(sizes: Any) -> Sequence[int]:
    return sizes if isinstance(sizes, (tuple, list)) else (sizes,)
