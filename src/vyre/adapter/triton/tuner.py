"""A kernel of Triton's with configurations, each call of which launches it once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from operator import is_
from types import MethodType
from typing import Any

from triton import knobs as settings
from triton.runtime.autotuner import Autotuner, Config
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction, get_cache_invalidating_env_vars

from vyre.adapter.calls import Calls, Entry
from vyre.adapter.identity import text_of
from vyre.adapter.kind import Kind
from vyre.adapter.trial.copying import copied, refuse_to_copy_much
from vyre.adapter.trial.trials import Check
from vyre.adapter.triton.binding import Form, keep
from vyre.adapter.triton.compile import Debugs, bind, debugs
from vyre.adapter.triton.configs import (
    Settings,
    checked,
    functions_of,
    named,
    names_of,
    overridden,
    pruned,
    refuse_unknown,
    refuse_unknown_pruning,
)
from vyre.adapter.triton.kinds import begun, configs_of, elements, sizes_of, traits_of
from vyre.adapter.triton.launch import (
    Arguments,
    Launches,
    Prepared,
    heuristics_of,
    launched,
    without_memory,
    worked_out,
)
from vyre.adapter.triton.launcher import Wait, building
from vyre.adapter.triton.place import Apart, device_of, load, place_on
from vyre.adapter.triton.sight import sight
from vyre.adapter.triton.source import find_key, source_of
from vyre.errors import InvalidInput
from vyre.learn import process, rules
from vyre.learn.explain import Explanation
from vyre.model import Decision, Knobs
from vyre.policy.contest import Progress

_runtime, _compilation = settings.runtime, settings.compilation


class _Listed:
    """All configs at one time, and what the first of them sets of calls."""

    __slots__ = ("configs", "firsts")

    def __init__(self, configs: Iterable[Config]) -> None:
        self.configs = tuple(configs)
        self.firsts: dict[Any, Settings] = {}

    def are(self, configs: Sequence[Config]) -> bool:
        """Whether these are they, each in its place."""
        return len(configs) == len(self.configs) and all(map(is_, configs, self.configs))


class _Forms(dict[Hashable, Form]):
    """The forms of calls under some configs: other configs have others, from whatever thread."""

    __slots__ = ("call",)

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call  # what makes a call, of the latest form at sight


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
        refuse_unknown_pruning(kwargs.get("prune_configs_by"), name)
        super().__init__(
            fn, fn.arg_names, list(configs), names_of(key, fn.arg_names, name), **kwargs
        )
        self.name = name = str(self.base_fn.__name__)
        for what in ("reset_to_zero", "restore_value"):
            refuse_unknown(getattr(self, what), fn.arg_names, f"{what}= of {name}")
        self._by_doublings = key is None
        self._heuristics, kernel = heuristics_of(fn)
        self._jit = kernel if isinstance(kernel, JITFunction) else None  # or it is interpreted
        self._parameters = {} if self._jit is None else {one.name: one for one in self._jit.params}
        if self._jit is not None:
            load()
        self._calls = Calls(name, check=check)
        self._latest: Entry | None = None
        self._active: Any = None  # Triton's driver, and what tells its current device
        self._device: Callable[[], int] = int
        self._texts: dict[int, str] = {}
        self._listed = _Listed(self.configs)
        self.__doc__ = self.base_fn.__doc__

    @property
    def configs(self) -> list[Config]:
        """What may run it; others that are put here are those of the next call."""
        return self._configs

    @configs.setter
    def configs(self, given: list[Config]) -> None:
        self._configs = given
        self._forms = _Forms(self._launch)  # calls are known at sight by those before

    # -- calls

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        if grid is None:  # which Triton refuses when it launches
            return functools.partial(self._launch, None)
        return MethodType(self._forms.call, grid)  # 0.06 us sooner made and called than a partial

    def run(self, /, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        """Launch it, as whatever stands above does; or only compile it."""
        if warmup:
            return self.warmup(*args, grid=grid, **kwargs)[0]
        return self._launch(grid, *args, **kwargs)

    def _launch(self, grid: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Make a call, whatever it is; from then on, one that is known is made at sight."""
        if not self._forms:
            return self._launch_slowly(grid, args, kwargs)
        active = self._driver()
        forms, given = self._forms, (*args, *kwargs.values())
        form = forms.get((*map(type, given), *kwargs))
        if form is None or not form.quick:
            return self._launch_slowly(grid, args, kwargs)
        device, by = self._device(), rules.usual or rules.rule()
        state = device, by, _runtime.debug, _compilation.instrumentation_mode
        key, passed = form.look(given, state)
        entry = form.find(key)
        if entry is None:
            return self._launch_slowly(grid, args, kwargs)
        self._latest = entry
        arguments = passed, given, grid, args, kwargs
        kernel = entry.launch(arguments, active.get_current_stream(device))
        best = entry.site.best
        if type(best) is Prepared:
            at_sight = form.written.get(best)
            if at_sight is None:
                at_sight = sight(self, forms, form, key, entry, best, len(args)) or self._launch
                keep(form.written, best, at_sight)
            keep(form.sights, key, at_sight)
            forms.call = at_sight
        return kernel

    def _driver(self) -> Any:
        """Triton's driver; what another one launched is not known at sight."""
        active = driver.active
        if active is not self._active:
            self._device, self._active = device_of(active), active  # in this order
            self._forms = _Forms(self._launch)
        return active

    def _launch_slowly(self, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Launch what is not known at sight, and know it from now on."""
        jit = self._jit
        if jit is None:  # Triton interprets it, or it is wrapped by somebody else
            said = dict(zip(self.arg_names, args, strict=False))
            first = pruned(self, said, {**_told(grid), **kwargs})[0]
            sets = next(iter(overridden({Knobs(()): first}, {*said, *kwargs}).values()))
            return launched(self.fn, first, sets, grid, *args, **kwargs)
        active = self._driver()
        found = self._found(jit, grid, args, kwargs)
        if isinstance(found, Entry):
            self._latest = found
            stream = active.get_current_stream(active.get_current_device())
            return found.launch(self._arguments(grid, args, kwargs), stream)
        return found(self._arguments(grid, args, kwargs))

    def _arguments(self, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        given = (*args, *kwargs.values())
        form = self._form(args, kwargs)
        passed = form.look(given, ())[1] if form.quick else ()
        return passed, given, grid, args, kwargs

    def _form(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Form:
        forms = self._forms
        given = (*args, *kwargs.values())
        key = (*map(type, given), *kwargs)
        form = forms.get(key)
        if form is None:
            names = (*self.arg_names[: len(args)], *kwargs)
            form = Form(names, given, self._parameters, self.keys, doublings=self._by_doublings)
            form = forms.setdefault(key, form)
        return form

    def _found(
        self, jit: JITFunction, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The entry of such calls; in a capture, at first, what launches such a one."""
        device, debugged = driver.active.get_current_device(), debugs()
        said = (*self.arg_names[: len(args)], *kwargs)
        first = self._first(said)
        worked = worked_out(self._heuristics, args, {**_told(grid), **kwargs, **first})
        bound = bind(jit, device, args, {**kwargs, **first, **worked}, debugged)
        form = self._form(args, kwargs)
        traits = traits_of(bound, said, worked, self.keys, debugged)
        sizes = sizes_of(bound, said) if self._by_doublings else ()
        doublings = tuple(one.bit_length() for one in sizes)
        key = (self._listed, device, traits, doublings, form.typed, form.quick)
        entry = self._calls.find(key)
        if entry is None:
            launcher = building(jit, bound.rows)
            place = place_on(device)
            launches = self._launches(
                jit, device, debugged, grid, args, kwargs, place.apart, launcher
            )
            stream = driver.active.get_current_stream(device)
            if place.is_capturing(stream):
                return self._ready(launches, stream)
            kind = Kind(
                name=self.name,
                text=self._text(jit, device, launches.configs),
                place=place,
                configs=tuple(launches.settings),
                traits=traits,
                sizes=sizes,
                size=max((1, *map(elements, (*args, *kwargs.values())))),  # a tensor may have none
            )
            if self._calls.check is None:  # which begins with the first that runs on copies
                kind = begun(kind, launches)
            entry = self._calls.add(key, kind, launches, self._arguments(grid, args, kwargs))
        if form.quick:
            seen = form.look((*args, *kwargs.values()), (device, entry.by, *debugged))[0]
            form.keep(seen, entry)
        return entry

    def _first(self, said: Sequence[str]) -> Settings:
        """What the first config sets of a call; they may be others than before."""
        if not self._listed.are(self.configs):
            self._listed = _Listed(checked(self.configs, self.name))
        firsts = self._listed.firsts
        if said not in firsts:
            configs = named(self._listed.configs)
            firsts[said] = next(iter(overridden(configs, said).values()))
        return firsts[said]

    def _launches(
        self,
        jit: JITFunction,
        device: int,
        debugged: Debugs,
        grid: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        apart: Apart,
        launcher: Wait,
    ) -> Launches:
        """How such calls are launched, under each config that pruning leaves."""
        told = {**_told(grid), **kwargs}
        nargs = dict(zip(self.arg_names, args, strict=False))
        configs = named(checked(pruned(self, nargs, told), self.name))
        settings = overridden(configs, (*nargs, *kwargs))
        return Launches(
            function=self.fn,
            jit=jit,
            device=device,
            form=self._form(args, kwargs),
            args=tuple(map(without_memory, args)),
            kwargs=_without_memory(kwargs),
            configs=configs,
            settings=settings,
            worked={
                knobs: _without_memory(worked_out(self._heuristics, args, {**told, **sets}))
                for knobs, sets in settings.items()
            },
            debugged=debugged,
            apart=apart,
            launcher=launcher,
        )

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

    def _text(self, jit: JITFunction, device: int, configs: Mapping[Knobs, Config]) -> str:
        """All of it that a choice depends on, for a store; the configs are those that are left."""
        if device not in self._texts:
            find_key(jit)
            says = [text_of(one) for each in self._heuristics for one in each.values.values()]
            built = jit.device_caches[device][3].hash()
            variables = sorted(get_cache_invalidating_env_vars().items())
            self._texts[device] = "\n".join((source_of(jit), *says, built, str(variables)))
        space = "\n".join((*(one.text for one in configs), *functions_of(configs.values())))
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
        return list(pruned(self, self.nargs or {}, kwargs))

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
        return configs_of(entry)[entry.chosen]

    @property
    def cache(self) -> dict[tuple[str, ...], Config]:
        """What is chosen for each kind of calls that was made."""
        return {
            entry.call.workload.traits: configs_of(entry)[entry.chosen]
            for entry in self._calls.entries
        }

    @cache.setter
    def cache(self, given: object) -> None:
        """Nothing: Triton's own begins with an empty one."""

    @property
    def configs_timings(self) -> dict[Config, list[float]]:
        """Milliseconds of each config that was timed for calls like the latest one, thrice."""
        entry = self._latest
        if entry is None:
            raise AttributeError(f"{self.name} was not called yet, so it has no configs_timings")
        timed = process.recorder().summaries(entry.call.workload)
        medians = {one.config.text: one.median_ns for one in timed if one.median_ns is not None}
        return {
            config: [medians[knobs.text] / 1e6] * 3
            for knobs, config in configs_of(entry).items()
            if knobs.text in medians
        }

    bench_time = 0.0  # no call waits for a benchmark
    nargs: Mapping[str, Any] | None = None  # of no call; whoever prunes is handed them

    def __repr__(self) -> str:
        return f"<tuned {self.name}, {len(self.configs)} configs>"


def _without_memory(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {name: without_memory(one) for name, one in kwargs.items()}


def _told(grid: Any) -> dict[str, Any]:
    """What Triton tells hooks, heuristics and whoever prunes, besides the arguments."""
    return {"grid": grid, "warmup": False}
