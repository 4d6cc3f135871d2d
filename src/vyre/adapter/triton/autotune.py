"""Triton's `autotune`, with configurations learned from the launches that are made anyway."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from triton import knobs as settings_of_triton
from triton.runtime.autotuner import Autotuner, Config, heuristics
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction, get_cache_invalidating_env_vars

from vyre.adapter.calls import Calls, Entry
from vyre.adapter.copying import copied, refuse_to_copy_much
from vyre.adapter.failure import Raised
from vyre.adapter.identity import text_of
from vyre.adapter.kind import Kind
from vyre.adapter.triton.binding import Form, is_tensor
from vyre.adapter.triton.compile import LIMIT_S, Bound, bind
from vyre.adapter.triton.configs import named, overridden, pruned
from vyre.adapter.triton.launch import (
    Arguments,
    Launches,
    answers,
    heuristics_of,
    launched,
    without_memory,
    worked_out,
)
from vyre.adapter.triton.place import Gpu, place_on
from vyre.adapter.triton.source import shown_constant, source_of
from vyre.adapter.trials import Check
from vyre.errors import InvalidInput, VyreError
from vyre.learn import process
from vyre.learn.explain import Explanation
from vyre.learn.rules import rule
from vyre.model import Decision, Knobs
from vyre.plain import shown
from vyre.policy.contest import Progress

__all__ = ["Config", "Tuner", "autotune", "heuristics"]

_MOST_KNOWN = 4096
"""Calls of one form that are known at sight."""

_RESOURCES = ("OutOfResources", "CompileTimeAssertionFailure", "PTXASError")
"""What Triton's own autotuner drops a config for; anything else is likely wrong with all."""

_MOST_BROKEN = 4


class Tuner(Autotuner):  # type: ignore[misc]  # Triton has no types
    """A kernel of Triton's with configurations: each call launches it once, under one of them.

    It is an `Autotuner` of Triton's for whoever asks, `torch.compile` among them, which takes its
    configs and tunes by itself.
    """

    def __init__(
        self, fn: Any, configs: Sequence[Config], key: Any, check: Check | None, **kwargs: Any
    ) -> None:
        """Stand for a kernel, under `triton.heuristics` or not."""
        name = str(getattr(fn, "__name__", type(fn).__name__))
        super().__init__(fn, fn.arg_names, list(configs), _keys(key, fn.arg_names, name), **kwargs)
        self.name = name = str(self.base_fn.__name__)
        for what in ("reset_to_zero", "restore_value"):
            _refuse_unknown(getattr(self, what), fn.arg_names, f"{what}= of {name}")
        self._by_doublings = key is None
        self._heuristics, kernel = heuristics_of(fn)
        self._jit = kernel if isinstance(kernel, JITFunction) else None  # or it is interpreted
        self._parameters = {} if self._jit is None else {one.name: one for one in self._jit.params}
        self._forms: dict[Hashable, Form] = {}
        self._calls = Calls(name, check=check)
        self._latest: Entry | None = None
        self._texts: dict[int, str] = {}
        self.__doc__ = self.base_fn.__doc__

    # -- calls

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return functools.partial(self._launch, grid)

    def run(self, /, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        """Launch it, as whatever stands above does; or only compile it."""
        if warmup:
            return self.warmup(*args, grid=grid, **kwargs)[0]
        return self._launch(grid, *args, **kwargs)

    def _launch(self, grid: Any, /, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            given = (*args, *kwargs.values())
            form = self._forms.get((*map(type, given), *kwargs))
        else:
            given = args
            form = self._forms.get(tuple(map(type, args)))
        if form is not None and form.quick:
            active = driver.active
            device = active.get_current_device()
            known, passed = form.look(given)
            entry = form.known.get((known, device, rule(), _debugs()))
            if entry is not None:
                self._latest = entry
                return entry.launch(
                    (passed, given, grid, args, kwargs), active.get_current_stream(device)
                )
        return self._launch_slowly(grid, args, kwargs)

    def _launch_slowly(self, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Launch what is not known at sight, and know it from now on."""
        jit = self._jit
        if jit is None:  # Triton interprets it, or it is wrapped by somebody else
            said = dict(zip(self.arg_names, args, strict=False))
            first = pruned(self, said, {"grid": grid, "warmup": False, **kwargs})[0]
            sets = next(iter(overridden({Knobs(()): first}, {*said, *kwargs}).values()))
            return launched(self.fn, first, sets, grid, *args, **kwargs)
        found = self._found(jit, grid, args, kwargs)
        if isinstance(found, Entry):
            self._latest = found
            active = driver.active
            stream = active.get_current_stream(active.get_current_device())
            return found.launch(self._arguments(grid, args, kwargs), stream)
        return found(self._arguments(grid, args, kwargs))

    def _arguments(self, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        given = (*args, *kwargs.values())
        form = self._form(args, kwargs)
        passed = form.look(given)[1] if form.quick else ()
        return passed, given, grid, args, kwargs

    def _form(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Form:
        given = (*args, *kwargs.values())
        key = (*map(type, given), *kwargs)
        form = self._forms.get(key)
        if form is None:
            names = (*self.arg_names[: len(args)], *kwargs)
            form = Form(names, given, self._parameters, self.keys)
            form = self._forms.setdefault(key, form)
        return form

    def _found(
        self, jit: JITFunction, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The entry of such calls; in a capture, at first, what launches such a one."""
        active = driver.active
        device = active.get_current_device()
        configs = named(_checked(self.configs, self.name))
        said = (*self.arg_names[: len(args)], *kwargs)
        first = next(iter(overridden(configs, said).values()))
        told = {"grid": grid, "warmup": False}
        worked = worked_out(self._heuristics, args, {**told, **kwargs, **first})
        bound = bind(jit, device, args, {**kwargs, **first, **worked})
        form = self._form(args, kwargs)
        traits = self._traits(bound, said, worked, kwargs)
        key = (device, traits, form.names, form.tensors, form.quick)
        entry = self._calls.find(key)
        if entry is None:
            place = place_on(device)
            nargs = dict(zip(self.arg_names, args, strict=False))
            left = pruned(self, nargs, {**told, **kwargs})
            able = named(_checked(left, self.name))
            settings = overridden(able, said)
            launches = Launches(
                function=self.fn,
                jit=jit,
                device=device,
                form=form,
                args=tuple(map(without_memory, args)),
                kwargs={name: without_memory(one) for name, one in kwargs.items()},
                configs=able,
                settings=settings,
                worked={
                    knobs: worked_out(self._heuristics, args, {**told, **kwargs, **sets})
                    for knobs, sets in settings.items()
                },
                apart=place.apart,
            )
            stream = active.get_current_stream(device)
            if place.is_capturing(stream):
                return self._ready(launches, stream)
            kind = Kind(
                name=self.name,
                text=self._text(device, configs),
                place=place,
                configs=tuple(settings),
                traits=traits,
                sizes=self._sizes(bound, said),
                size=max((_elements(one) for one in (*args, *kwargs.values())), default=1),
            )
            kind = self._begun(kind, launches)
            entry = self._calls.add(key, kind, launches, self._arguments(grid, args, kwargs))
        if form.quick:
            if len(form.known) >= _MOST_KNOWN:
                form.known.clear()
            known = form.look((*args, *kwargs.values()))[0]
            form.known[known, device, rule(), _debugs()] = entry
        return entry

    def _traits(
        self, bound: Bound, said: Sequence[str], worked: Mapping[str, Any], kwargs: Mapping[str, Any]
    ) -> tuple[str, ...]:
        """What tells calls apart: what Triton compiles for, values of the key, and options."""
        names = list(bound.values)
        rows = [
            f"{name} {_row(*bound.rows[names.index(name)])}"
            for name in names
            if name in said or name in worked
        ]
        keys = [
            f"key {name}={shown_constant(bound.values[name])}"
            for name in self.keys
            if name in said and not is_tensor(bound.values[name])
        ]
        options = {name: one for name, one in kwargs.items() if name not in names}
        asked = [f"{name}={shown_constant(one)}" for name, one in sorted(options.items())]
        return (*rows, *keys, *asked, *map(str, filter(None, _debugs())))

    def _sizes(self, bound: Bound, said: Sequence[str]) -> tuple[int, ...]:
        """The numbers whose doublings count, where no key is said."""
        if not self._by_doublings:
            return ()
        values = [bound.values[name] for name in bound.values if name in said]
        return tuple(abs(one) for one in values if type(one) is int)

    def _begun(self, kind: Kind, launches: Launches) -> Kind:
        """A kind whose first config is one that can be compiled, unless another is remembered."""
        if self._calls.check is not None:  # which begins with the first that runs on copies
            return kind
        known = process.recorder().get(kind.workload)
        if known is not None and known.config in kind.configs:
            return kind
        failed: dict[Knobs, VyreError] = {}
        broken = 0
        for knobs in kind.configs:
            try:
                launches.make(knobs)
            except VyreError as error:
                failed[knobs] = error
                cause = error.__cause__ or error
                broken += not {one.__name__ for one in type(cause).__mro__} & {*_RESOURCES}
            else:
                break
            if broken == _MOST_BROKEN:
                break
        if len(failed) == len(kind.configs) or broken == _MOST_BROKEN:
            error = next(iter(failed.values()))
            raise error.raised if isinstance(error, Raised) else error
        left_out = tuple(f"{knobs.text}: {error.problem}" for knobs, error in failed.items())
        able = tuple(one for one in kind.configs if one not in failed)
        return replace(kind, configs=able, left_out=left_out)

    def _ready(self, launches: Launches, stream: int) -> Callable[[Arguments], Any]:
        """What launches a config that is compiled and loaded already, in a capture."""
        for knobs in launches.settings:
            if launches.is_loaded(knobs):
                start = launches.make(knobs)
                return lambda arguments: start(arguments, stream)
        raise InvalidInput(
            f"{self.name} has had no such call, and what is launched now is captured",
            "call it once before the capture, with such arguments",
        )

    def _text(self, device: int, configs: Mapping[Knobs, Config]) -> str:
        """All of it that a choice depends on, for a store."""
        jit = self._jit
        assert jit is not None
        if device not in self._texts:
            says = [text_of(one) for each in self._heuristics for one in each.values.values()]
            built = jit.device_caches[device][3].hash()
            variables = sorted(get_cache_invalidating_env_vars().items())
            self._texts[device] = "\n".join((source_of(jit), *says, built, str(variables)))
        space = "\n".join(one.text for one in configs)
        return f"{self.name}\n{self._texts[device]}\n{' '.join(self.keys)}\n{space}"

    # -- what is known

    def explain(self) -> Explanation:
        """What runs, why, and what is known besides."""
        return self._calls.explain()

    def decision(self, grid: Any, /, *args: Any, **kwargs: Any) -> Decision:
        """What is decided for such a call, which is not made."""
        return self._entry(grid, args, kwargs).decision

    def tune(
        self,
        grid: Any,
        /,
        *args: Any,
        budget_s: float = 2.0,
        progress: Callable[[Progress], None] | None = None,
        **kwargs: Any,
    ) -> Decision:
        """Look for the fastest config at once, on copies of the arguments, and remember it."""
        entry = self._entry(grid, args, kwargs)
        refuse_to_copy_much((args, kwargs), f"tuning {self.name}")
        active = driver.active
        return entry.tune(
            self._arguments(grid, args, kwargs),
            copies=self._on_copies,
            stream=active.get_current_stream(active.get_current_device()),
            budget_s=budget_s,
            progress=progress,
        )

    def warmup(self, /, *args: Any, grid: Any, **kwargs: Any) -> list[Any]:
        """Compile every config for such a call, as Triton's own does; nothing is launched."""
        nargs = dict(zip(self.arg_names, args, strict=False))
        said = {*nargs, *kwargs}
        left = named(pruned(self, nargs, {"grid": grid, **kwargs}))
        return [
            self.fn.warmup(*args, grid=grid, **kwargs, **sets)
            for sets in overridden(left, said).values()
        ]

    def prune_configs(self, kwargs: dict[str, Any]) -> list[Config]:
        """What Triton's own leaves, for whoever sets `nargs` and asks."""
        return list(pruned(self, self.nargs, kwargs))

    def _entry(self, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Entry:
        if self._jit is None:
            raise InvalidInput(
                f"{self.name} is interpreted, so nothing is decided for it",
                "leave TRITON_INTERPRET out of the environment",
            )
        found = self._found(self._jit, grid, args, kwargs)
        if isinstance(found, Entry):
            return found
        raise InvalidInput(
            f"{self.name} has had no such call, and what is launched now is captured",
            "ask before the capture, or after it",
        )

    def _on_copies(self, arguments: Sequence[Any]) -> Arguments:
        _, _, grid, args, kwargs = arguments
        return self._arguments(grid, copied(args), copied(kwargs))

    # -- as Triton's own tells it

    @property
    def best_config(self) -> Config:
        """What is chosen for calls like the latest one."""
        entry = self._latest
        if entry is None:
            raise AttributeError(f"{self.name} was not called yet, so it has no best_config")
        return _config_of(entry)

    @property
    def cache(self) -> dict[tuple[str, ...], Config]:
        """What is chosen for each kind of calls that was made."""
        return {entry.call.workload.traits: _config_of(entry) for entry in self._calls.entries}

    @cache.setter
    def cache(self, given: object) -> None:
        """Nothing: Triton's own begins with an empty one."""

    @property
    def configs_timings(self) -> dict[Config, list[float]]:
        """Milliseconds of each config that was timed for calls like the latest one, thrice."""
        entry = self._latest
        if entry is None:
            raise AttributeError(f"{self.name} was not called yet, so it has no configs_timings")
        configs = entry.made.variants.configs
        known = process.recorder().summaries(entry.call.workload)
        return {
            configs[one.config]: [one.median_ns / 1e6] * 3
            for one in known
            if one.config in configs and one.median_ns is not None
        }

    bench_time = 0.0  # no call waits for a benchmark

    def __repr__(self) -> str:
        return f"<tuned {self.name}, {len(self.configs)} configs>"


def autotune(
    configs: Sequence[Config],
    key: Sequence[str] | str | None,
    prune_configs_by: Mapping[str, Any] | None = None,
    reset_to_zero: Sequence[str] | None = None,
    restore_value: Sequence[str] | None = None,
    pre_hook: Callable[..., Any] | None = None,
    post_hook: Callable[..., Any] | None = None,
    warmup: int | None = None,
    rep: int | None = None,
    use_cuda_graph: bool = False,
    do_bench: Callable[..., Any] | None = None,
    cache_results: bool = False,
    *,
    check: bool = False,
    rtol: float = 0.0,
    atol: float = 0.0,
) -> Callable[[Any], Tuner]:
    """Let Vyre choose among configurations of a kernel of Triton's: `triton.autotune`, changed.

    Each call launches the kernel once, under one configuration, on the caller's own arguments.
    What it takes is what is learned from: nothing is run for its time alone, and nothing is reset.

    Args:
        configs: what may run it, by their author's word; the first that is not pruned and can be
            compiled is the default. What is given twice counts once.
        key: names of arguments whose values tell calls apart, exactly; of a tensor its type and its
            alignment count, and those count for every argument anyway. None counts whole numbers
            by their doublings.
        prune_configs_by: as in Triton; it is asked at each first call of a kind.
        reset_to_zero: names of arguments, which are checked. Triton zeroes them around its
            benchmarks, and not where it has chosen; here all calls are like those.
        restore_value: the same.
        pre_hook: what Triton calls around its benchmarks, and never else: it is not called here.
            A `pre_hook` of a config is called before each launch under it.
        post_hook: the same.
        warmup: for how long Triton benchmarks; it changes nothing here.
        rep: the same.
        use_cuda_graph: how Triton benchmarks; it changes nothing here.
        do_bench: the same; it is not called.
        cache_results: whether Triton keeps its choices; here they are kept anyway.
        check: try each config on copies, in another process, before it serves, and compare what it
            left in the tensors with what the first did: bitwise, or within `rtol` and `atol`.
        rtol: how close, relative to the first's.
        atol: how close, absolutely.
    """
    asked = Check.of(check, rtol, atol)

    def decorated(kernel: Any) -> Tuner:
        if isinstance(kernel, Autotuner):
            raise InvalidInput(
                f"{kernel.base_fn.__name__} is under two autotuners", "leave one of them out"
            )
        return Tuner(
            kernel,
            _checked(configs or (), str(getattr(kernel, "__name__", "a kernel"))),
            key,
            asked and replace(asked, limit_s=LIMIT_S),
            reset_to_zero=reset_to_zero,
            restore_value=restore_value,
            pre_hook=pre_hook,
            post_hook=post_hook,
            prune_configs_by=prune_configs_by,
            warmup=warmup,
            rep=rep,
            use_cuda_graph=use_cuda_graph,
            do_bench=do_bench,
            cache_results=cache_results,
        )

    return decorated


def _debugs() -> tuple[Any, Any]:
    """What of Triton's settings, which may change at any time, a kernel is compiled for."""
    return settings_of_triton.runtime.debug, settings_of_triton.compilation.instrumentation_mode


def _row(kind: Any, value: Any) -> str:
    """What a kernel is compiled for of one argument, as a text."""
    if kind == "constexpr":
        return f"constexpr {shown_constant(value)}"
    text = str(kind)
    if text.startswith("tensordesc"):  # its block is a config's, whose hook sets it
        return text.partition("[")[0]
    return f"{text} {value}" if value else text


def _elements(value: Any) -> int:
    return int(value.numel()) if is_tensor(value) and hasattr(value, "numel") else 1


def _config_of(entry: Entry) -> Config:
    found: Config = entry.made.variants.configs[entry.chosen]  # type: ignore[attr-defined]  # ours
    return found


def _checked(configs: Iterable[Any], name: str) -> list[Config]:
    """Configs, every one of Triton's."""
    found = list(configs)
    for one in found:
        if not isinstance(one, Config):
            raise InvalidInput(
                f"a config of {name} that is {shown(one)}",
                'give each as one of Triton\'s, such as Config({"BLOCK": 128}, num_warps=4)',
            )
    return found


def _keys(key: Any, names: Sequence[str], of: str) -> list[str]:
    """The names of a key, each of which is an argument."""
    if key is None:
        return []
    found = [key] if isinstance(key, str) else key
    if not isinstance(found, Iterable):
        raise InvalidInput(f"key={shown(key)} of {of}", "give a list of names of arguments")
    found = list(found)
    _refuse_unknown(found, names, f"key= of {of}")
    return found


def _refuse_unknown(given: Iterable[Any], names: Sequence[str], what: str) -> None:
    for one in given:
        if one not in names:
            raise InvalidInput(
                f"{what} names {shown(one)}, which is no argument of the kernel",
                f"name some of {', '.join(names) or 'its arguments, of which there are none'}",
            )
