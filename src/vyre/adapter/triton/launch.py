"""Launches under one config: a kernel that is compiled and loaded, called as Triton calls it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from triton import knobs
from triton.runtime.autotuner import Config, Heuristics
from triton.runtime.errors import TritonError
from triton.runtime.jit import JITFunction

from vyre.adapter.failure import Raised
from vyre.adapter.kind import Job, Portable, Start
from vyre.adapter.trial.portable import portable_call
from vyre.adapter.triton.axes import Counting
from vyre.adapter.triton.binding import Form, Standin, is_tensor, picking
from vyre.adapter.triton.compile import Bound, Debugs, bind, compiled, job, kept, on
from vyre.adapter.triton.configs import Settings
from vyre.adapter.triton.launcher import KNOWN, Wait
from vyre.adapter.triton.place import Apart, compiled_late
from vyre.adapter.written import written
from vyre.errors import VyreError
from vyre.model import Knobs

Arguments = tuple[tuple[Any, ...], tuple[Any, ...], Any, tuple[Any, ...], dict[str, Any]]
"""Of a call: what is passed on, with addresses for tensors; what it is given, its grid; as it was
written."""

_CUDA = "Triton Error [CUDA]"
FELL = (TritonError, RuntimeError)
"""What a launch raises: the driver's, and what Triton kept of a load that failed before."""


def heuristics_of(function: Any) -> tuple[tuple[Heuristics, ...], Any]:
    """The heuristics below an autotuner, the outermost first, and what they stand around."""
    found = []
    while isinstance(function, Heuristics):
        found.append(function)
        function = function.fn
    return tuple(found), function


def worked_out(
    heuristics: Sequence[Heuristics], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """What heuristics say of a call, as they are asked by Triton."""
    told, said = dict(kwargs), {}
    for one in heuristics:
        for name, says in one.values.items():
            told[name] = said[name] = says({**dict(zip(one.arg_names, args, strict=False)), **told})
    return said


@dataclass(frozen=True, slots=True)
class Launches:
    """How calls of one kind are launched under each config.

    Args:
        function: what is decorated, heuristics and all.
        jit: the kernel itself.
        device: where, as Triton counts.
        form: of the first call.
        args: of the first call, without its memory.
        kwargs: the same of what it passed by name.
        configs: what each config is.
        settings: what each config sets that the call does not say itself.
        worked: what heuristics said of the first call under each config.
        debugged: what of Triton's settings they are compiled for, as it was at the first call.
        apart: a block to load code in.
        launcher: waits for what the first kernel is launched by.
    """

    function: Any
    jit: JITFunction
    device: int
    form: Form
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    configs: Mapping[Knobs, Config]
    settings: Mapping[Knobs, Settings]
    worked: Mapping[Knobs, Mapping[str, Any]]
    debugged: Debugs
    apart: Apart
    launcher: Wait = int
    _bound: dict[Knobs, Bound] = field(default_factory=dict)

    def is_ready(self, config: Knobs) -> bool:
        return self._waits_for_hook(config) or self.is_loaded(config)

    def is_loaded(self, config: Knobs) -> bool:
        """Whether a launch neither compiles nor loads anything."""
        if self._waits_for_hook(config):
            return False
        return kept(self.jit, self.device, self._binding(config)) is not None

    def job(self, config: Knobs) -> Job | None:
        try:
            return job(self.jit, self.device, self._binding(config))
        except Exception as error:
            raise Raised(error) from error

    def make(self, config: Knobs) -> Start:
        try:
            with self.apart():
                return on(self.device, lambda: self._made(config))
        except VyreError:
            raise
        except Exception as error:
            raise Raised(error) from error

    def portable(self, arguments: Sequence[Any]) -> Portable:
        """The kernel, its configs and a call, pickled: whatever is of `__main__`, too."""
        _, _, grid, args, kwargs = arguments
        kernel = (self.function, dict(self.configs), dict(self.settings), grid, self.device)
        return portable_call("vyre.adapter.triton.trial:runs", kernel, (args, kwargs))

    def _waits_for_hook(self, config: Knobs) -> bool:
        """Whether a hook may change what is compiled for, so that only a launch can tell."""
        given = (*self.args, *self.kwargs.values())
        return self.configs[config].pre_hook is not None and any(map(_is_described, given))

    def _binding(self, config: Knobs) -> Bound:
        found = self._bound.get(config)
        if found is None:
            found = self._bound[config] = self._bind(config, self.worked[config])
        return found

    def _bind(self, config: Knobs, said: Mapping[str, Any]) -> Bound:
        whole = {**self.kwargs, **self.settings[config], **said}
        return bind(self.jit, self.device, self.args, whole, self.debugged)

    def _made(self, config: Knobs) -> Start:
        own, settings = self.configs[config], self.settings[config]
        as_triton = _as_triton(self, own, settings)
        if self._waits_for_hook(config):
            return as_triton
        kernel = compiled(self.jit, self.device, self._binding(config), self.launcher)
        if own.pre_hook is not None or kernel is None or not self.form.quick:
            return as_triton
        if self.worked[config]:
            return self._by_heuristics(config, as_triton)
        return Prepared(self.jit, kernel, self._binding(config), as_triton, self.form.typed)

    def _by_heuristics(self, config: Knobs, as_triton: Start) -> Start:
        """What asks the heuristics at each launch, and passes on what they say of that call.

        There is a kernel for each of their answers that Triton compiles for.
        """
        settings, heuristics = self.settings[config], heuristics_of(self.function)[0]
        parameters = {one.name: one for one in self.jit.params}
        form, forms = self.form, dict[Any, Form]()

        def of(said: Mapping[str, Any], answers: Form) -> Start:
            bound = self._bind(config, said)
            if kept(self.jit, self.device, bound) is None:
                compiled_late()
            with self.apart():
                kernel = compiled(self.jit, self.device, bound)
            if kernel is None:
                return as_triton
            return Prepared(self.jit, kernel, bound, as_triton, (*form.typed, *answers.typed))

        def start(arguments: Any, stream: int) -> Any:
            passed, given, grid, args, kwargs = arguments
            told = {"grid": grid, "warmup": False, **kwargs, **settings}
            said = worked_out(heuristics, args, told)
            values = tuple(said.values())
            kinds = tuple(map(type, values))
            answers = forms.get(kinds)
            if answers is None:
                answers = forms[kinds] = Form(tuple(said), values, parameters, ())
            if not answers.quick:
                return as_triton(arguments, stream)
            seen, passed_too = answers.look(values, ())
            like = answers.like(seen)
            found = answers.known.get(like)
            if found is None:
                try:
                    found = answers.known[like] = of(said, answers)
                except Exception as error:
                    raise Raised(error) from error
            whole = (*passed, *passed_too), (*given, *values), grid, args, kwargs
            return found(whole, stream)

        return start


IS_PLAIN = (
    "not (entering or leaving or hooks or used and changed())"
    " and runtime.launch_enter_hook is enter and runtime.launch_exit_hook is leave"
)
"""Whether Triton would do no more than launch, in words that a `Prepared` has."""


class Prepared:
    """What launches a kernel as `JITFunction.run` does, with all that is known looked up before.

    Triton's own way is taken wherever it would do more: hooks of launches are set, or a global that
    the kernel was compiled with has changed, which it refuses.
    """

    __slots__ = (
        *("_as_triton", "_is_plain"),
        *("blocks", "constants", "kernel", "ordered", "words"),
    )

    def __init__(
        self,
        jit: JITFunction,
        kernel: Any,
        bound: Bound,
        as_triton: Start,
        typed: Sequence[tuple[str, type | None]],
    ) -> None:
        """Launch a kernel of Triton's.

        Args:
            jit: the kernel as its author wrote it.
            kernel: the same, compiled and loaded.
            bound: what it was compiled for; what no call gives is passed on from here.
            as_triton: Triton's own way.
            typed: the names of what a launch is given, and the types, None for tensors; of two
                names that are the same the last one counts.
        """
        names, given = tuple(bound.values), [name for name, _ in typed]
        own = {name: value for name, value in bound.values.items() if name not in given}
        at = {name: place for place, name in enumerate((*given, *own))}
        self._as_triton, self.kernel = as_triton, kernel
        self.constants = tuple(own.values())
        """What no call gives."""
        self.ordered = ordered = picking([at[name] for name in names])
        """All that the launcher is given, of what is passed on and the constants after it."""
        self.words = _words(jit, kernel)
        """What the words mean in which a launch is written down."""
        self._is_plain = written(("def is_plain():", f"    return {IS_PLAIN}"), dict(self.words))

        def told(values: Sequence[Any]) -> dict[str, Any]:
            return dict(zip(names, ordered((*values, *self.constants)), strict=True))

        self.blocks = Counting(typed, own, told)

    def __call__(self, arguments: Any, stream: int) -> Any:
        passed, given, grid, _, _ = arguments
        if not self._is_plain():
            return self._as_triton(arguments, stream)
        x, y, z = self.blocks.count(grid, given)
        values = self.ordered((*passed, *self.constants))
        try:
            self.words["launch"](x, y, z, stream, *self.words["before"], *values)
        except FELL as error:
            if is_blamed(error):
                raise Raised(error) from error
            raise
        return self.kernel


def _words(jit: JITFunction, kernel: Any) -> dict[str, Any]:
    """What the words mean in which a launch is written down."""
    runtime = knobs.runtime
    enter, leave = runtime.launch_enter_hook, runtime.launch_exit_hook
    used, missing = jit.used_global_vals, object()

    def changed() -> bool:
        return any(found.get(name, missing) != value for (name, _), (value, found) in used.items())

    launch, before = _launcher(kernel)
    return {
        "runtime": runtime,
        "enter": enter,
        "leave": leave,
        "entering": _hooks_in(enter),
        "leaving": _hooks_in(leave),
        "hooks": jit.pre_run_hooks,
        "used": used,
        "changed": changed,
        "launch": launch,
        "before": before,
    }


def _hooks_in(chain: Any) -> Sequence[Any]:
    """The hooks that are set, as a list that changes with them."""
    found: Sequence[Any] = () if chain is None else getattr(chain, "calls", (chain,))
    return found


def _launcher(kernel: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """What launches a kernel, and what it is given between its stream and its arguments.

    Triton's hooks are not there, so that nothing is made up for them. Where no scratch memory is to
    be had, the launcher that was compiled for the signature is called itself.
    """
    run = kernel.run
    sizes = [getattr(run, f"{kind}_scratch_size", None) for kind in ("global", "profile")]
    packed = (kernel.packed_metadata, None, None, None)
    if KNOWN and sizes == [0, 0] and hasattr(run, "launch"):
        return run.launch, (
            kernel.function,
            run.launch_cooperative_grid,
            run.launch_pdl,
            *(None, None),
            *packed,
        )
    return run, (kernel.function, *packed)


def _as_triton(launches: Launches, config: Config, settings: Settings) -> Start:
    """What launches by Triton's own way: hooks, descriptors, and all that is not looked up."""
    function, ran = launches.function, list[bool]()

    def start(arguments: Any, stream: int) -> Any:
        del stream  # Triton asks for it
        _, _, grid, args, kwargs = arguments
        if not ran:
            compiled_late()
        try:
            kernel = launched(function, config, settings, grid, *args, **kwargs)
        except FELL as error:
            if is_blamed(error):
                raise Raised(error) from error
            raise
        ran[:] = (True,)
        return kernel

    return start


def launched(
    function: Any, config: Config, settings: Settings, grid: Any, /, *args: Any, **kwargs: Any
) -> Any:
    """Launch under a config as Triton's autotuner does once it has chosen: its hook comes first."""
    if config.pre_hook is not None:
        named = dict(zip(function.arg_names, args, strict=False))
        config.pre_hook({**named, "grid": grid, "warmup": False, **kwargs, **settings})
    return function.run(*args, grid=grid, warmup=False, **kwargs, **settings)


def is_blamed(error: Exception) -> bool:
    """Whether a config is to blame: for what compiler and driver say, and not for a caller's."""
    return isinstance(error, TritonError) or str(error).startswith(_CUDA)


def _is_described(value: Any) -> bool:
    """Whether it is a descriptor of a tensor: Triton's, or one of the several that Gluon has."""
    return hasattr(value, "base") and hasattr(value, "block_shape")


def without_memory(value: Any) -> Any:
    """An argument as what is compiled for it sees it, without the memory that it holds."""
    if is_tensor(value):
        return Standin(value)
    if _is_described(value):
        made = copy.copy(value)
        made.base = Standin(value.base)
        return made
    if isinstance(value, tuple):
        parts = map(without_memory, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value
