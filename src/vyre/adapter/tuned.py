"""Any function whose parameters change how fast it is, and not what it gives."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vyre.adapter.alike import alike, elements_in, named, see, sizes_in, traits_in
from vyre.adapter.calls import Calls, Entry
from vyre.adapter.configs import configs_of
from vyre.adapter.failure import Raised
from vyre.adapter.identity import text_of, written
from vyre.adapter.kind import Job, Kind, Place, Portable, Start, Variants
from vyre.adapter.places import HOST, cuda_functions, on_device
from vyre.adapter.trial.copying import copied, refuse_to_copy_much
from vyre.adapter.trial.portable import portable_call
from vyre.adapter.trial.trials import Check
from vyre.errors import InvalidInput, VyreError
from vyre.learn.explain import Explanation
from vyre.model import Decision, Knobs
from vyre.plain import plain, shown
from vyre.policy.contest import Progress
from vyre.runtime.arrays.foreign_kinds import kind_of
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.opened import open as open_device

Function = Callable[..., Any]
Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class Tuned:
    """A function that is called as before, but for what Vyre sets.

    Args:
        function: what it stands for.
        default: it as it is called under the first config.
        configs: what may run it, the default first.
        variants: how it is called under each config, by the arguments of a first call.
        reserved: names of arguments that only Vyre gives.
        key: what tells kinds of calls apart, where an author says so.
        place: where it runs, where an author says so.
        check: how configs are tried before they serve.
        text: what it is, for a store; a function of no arguments, because it may take a while.
        state: what else tells calls apart, whatever their arguments are: a library's own state.
    """

    def __init__(
        self,
        function: Function,
        configs: tuple[Knobs, ...],
        variants: Callable[[Arguments], Variants],
        *,
        default: Function,
        text: Callable[[], str],
        reserved: Iterable[str] = (),
        key: Callable[..., Any] | None = None,
        place: Place | None = None,
        check: Check | None = None,
        state: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        functools.update_wrapper(self, function)
        self.name = name_of(function)
        self._default, self._configs, self._variants = default, configs, variants
        self._key, self._place = key, place
        self._text, self._state = functools.cache(text), state
        self._reserved = frozenset(reserved)
        self._calls = Calls(self.name, check=check)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function with one config, and give what it gives."""
        entry, stream = self._entry(args, kwargs)
        if entry is None:
            return self._default(*args, **kwargs)
        return entry.launch((args, kwargs), stream)

    def explain(self) -> Explanation:
        """What runs, why, and what is known besides."""
        return self._calls.explain()

    def decision(self, /, *args: Any, **kwargs: Any) -> Decision:
        """What is decided for such a call, which is not made."""
        return self._known(args, kwargs)[0].decision

    def tune(
        self,
        /,
        *args: Any,
        budget_s: float = 2.0,
        progress: Callable[[Progress], None] | None = None,
        **kwargs: Any,
    ) -> Decision:
        """Look for the fastest config at once, on copies of the arguments, and remember it."""
        entry, stream = self._known(args, kwargs)
        refuse_to_copy_much((args, kwargs), f"tuning {self.name}")
        return entry.tune(
            (args, kwargs), copies=copied, stream=stream, budget_s=budget_s, progress=progress
        )

    def __repr__(self) -> str:
        return f"<tuned {self.name}, {len(self._configs)} configs>"

    def __reduce__(self) -> str:
        """By its name, as functions are pickled: who reads it imports it from where it is."""
        return str(getattr(self, "__qualname__", self.name))

    @property
    def alone(self) -> Function:
        """The function under its default, for processes in which nothing is learned."""
        return self._default

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def _known(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Entry, int]:
        entry, stream = self._entry(args, kwargs)
        if entry is None:
            raise InvalidInput(
                f"{self.name}() has had no such call, and what is launched now is captured",
                "ask before the capture, or after it",
            )
        return entry, stream

    def _entry(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Entry | None, int]:
        """Where such calls are launched from, and on which stream; None in a capture, at first."""
        if kwargs and not self._reserved.isdisjoint(kwargs):
            raise InvalidInput(
                f"{self.name}() was given {', '.join(sorted(self._reserved & kwargs.keys()))}, "
                "which Vyre sets",
                "leave it out, or take it out of the space",
            )
        common = alike(args) + tuple(named(name, one) for name, one in sorted(kwargs.items()))
        place, stream = self._where(args, kwargs)
        given = None if self._key is None else plain_key(self._key(*args, **kwargs), self.name)
        state = self._state()
        key: Hashable = (place.info.identity, common if given is None else given, state)
        entry = self._calls.find(key)
        if entry is None:
            if place.is_capturing(stream):  # nothing is copied there, tried or learned
                return None, stream
            kind = Kind(
                name=self.name,
                text=self._text(),
                place=place,
                configs=self._configs,
                sizes=sizes_in(common) if given is None else (),
                traits=(*(traits_in(common) if given is None else given), *state),
                size=elements_in(common),
            )
            entry = self._calls.add(key, kind, self._variants((args, kwargs)), (args, kwargs))
        return entry, stream

    def _where(self, args: Iterable[Any], kwargs: Mapping[str, Any]) -> tuple[Place, int]:
        """Where a call runs, and on which stream: as it was said, or where its arrays are."""
        for value in (*args, *kwargs.values()):
            kind = kind_of(value)
            seen = None if kind is None else see(kind, value)
            if kind is not None and seen is not None and seen.device >= 0:
                return self._place or cuda_functions(seen.device), kind.stream(seen.device) or 0
        return self._place or HOST, 0


@dataclass(frozen=True, slots=True)
class _Calling:
    """How a function is called under each config: nothing is compiled for it."""

    function: Function

    def is_ready(self, config: Knobs) -> bool:  # noqa: ARG002  # all are
        return True

    def job(self, config: Knobs) -> Job | None:  # noqa: ARG002  # all are ready
        return None

    def make(self, config: Knobs) -> Start:
        return calling(functools.partial(self.function, **dict(config.settings)))

    def portable(self, arguments: Sequence[Any]) -> Portable:
        """The function and its arguments, pickled: whatever is a closure or of `__main__`, too."""
        return portable_call("vyre.adapter.trial.portable:runs", self.function, arguments)


def name_of(function: Function) -> str:
    """What people call a function, in one line that can be shown: programs make them, too."""
    return plain(str(getattr(function, "__name__", type(function).__name__)))


def calling(function: Function) -> Start:
    """What calls a function with the arguments of a call; what it raises is its config's fault."""

    def start(arguments: Sequence[Any], stream: int) -> Any:
        del stream  # the library's current one
        args, kwargs = arguments
        try:
            return function(*args, **kwargs)
        except VyreError:
            raise
        except Exception as error:
            raise Raised(error) from error

    return start


def plain_key(found: Any, name: str) -> tuple[str, ...]:
    """What `key=` said of a call, as texts: 1 and True are two, and a NaN is one."""
    given = found if isinstance(found, tuple) else (found,)
    parts = tuple([one.item() if isinstance(one, np.generic) else one for one in given])
    for part in parts:
        if not isinstance(part, (bool, int, float, str, bytes, type(None))):
            raise InvalidInput(
                f"key= of {name} gave {shown(part)}",
                "give plain values: numbers, texts, True, False, None, or a tuple of them",
            )
    return tuple(map(written, parts))


def tuned(
    function: Function | None = None,
    *,
    space: Any,
    key: Callable[..., Any] | Sequence[str] | None = None,
    device: Device | str | None = None,
    check: bool = False,
    rtol: float = 0.0,
    atol: float = 0.0,
) -> Any:
    """Let Vyre set some parameters of a function, by what is fastest: each call runs it once.

    That all configs give the same is the author's word; `check=True` compares them on copies.

    Args:
        function: what is called; its parameters that the space names are passed by keyword. Left
            out, `tuned(space=...)` decorates one.
        space: choices by name, such as `{"block": (64, 128)}`, or a list of whole configs; what
            comes first is the default.
        key: what tells kinds of calls apart, exactly: names of parameters, or a function of the
            same arguments that gives plain values. Left out, types count, and sizes by doublings.
        device: where it runs, for those who time it: by default where its arrays are. What runs on
            the host is over when it returns, and timed by the host's clock.
        check: try each config on copies, in another process, before it serves, and compare what it
            gave and changed with the first's: bitwise, or within `rtol` and `atol`.
        rtol: how close, relative to the first's.
        atol: how close, absolutely.

    >>> @tuned(space={"step": (1000, 10)})
    ... def total(n, step):
    ...     return sum(sum(range(at, min(at + step, n))) for at in range(0, n, step))
    >>> total(100)
    4950
    """
    if function is None:
        return lambda given: tuned(
            given, space=space, key=key, device=device, check=check, rtol=rtol, atol=atol
        )
    if not callable(function):
        raise InvalidInput(f"{shown(function)} cannot be called", "give a function")
    name = name_of(function)
    _refuse_what_is_over_first(function, name)
    configs = configs_of(space, name)
    names = [one for one, _ in configs[0].settings]
    _refuse_unknown(function, names, name)
    return Tuned(
        function,
        configs,
        lambda _: _Calling(function),
        default=functools.partial(function, **dict(configs[0].settings)),
        text=lambda: text_of(function),
        reserved=names,
        key=key_of(function, key, name, names),
        place=place_of(device),
        check=Check.of(check, rtol, atol),
    )


def _refuse_what_is_over_first(function: Function, name: str) -> None:
    """Refuse a function whose calls are over before it has run: their times say nothing of it."""
    for is_such, kind in (
        (inspect.isgeneratorfunction, "generator"),
        (inspect.iscoroutinefunction, "coroutine"),
        (inspect.isasyncgenfunction, "asynchronous generator"),
    ):
        if is_such(function):
            raise InvalidInput(
                f"{name} is a {kind} function, whose calls are over before it has run",
                "tune a function that does its work and returns, and call that from it",
            )


def _refuse_unknown(function: Function, names: Iterable[str], of: str) -> None:
    """Refuse a space that names parameters which the function does not have."""
    parameters = _parameters(function)
    if parameters is None or any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    named = [
        n for n, p in parameters.items() if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    for name in names:
        if name not in named:
            raise InvalidInput(
                f"the space of {of} names {shown(name)}, which is no parameter of {of}",
                f"name one of {', '.join(named) or 'its parameters, of which there are none'}",
            )


def _parameters(function: Function) -> Mapping[str, inspect.Parameter] | None:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # of a C function, say
        return None


def key_of(
    function: Function,
    key: Callable[..., Any] | Sequence[str] | None,
    name: str,
    reserved: Iterable[str] = (),
) -> Callable[..., Any] | None:
    """What tells kinds of calls apart, as a function of their arguments."""
    if key is None or callable(key):
        return key
    if not isinstance(key, Iterable):
        raise InvalidInput(
            f"key={shown(key)} of {name}", "name parameters, or give a function of its arguments"
        )
    names = (key,) if isinstance(key, str) else tuple(key)
    parameters = _parameters(function)
    if parameters is None:
        raise InvalidInput(
            f"key={shown(key)} of {name}, whose parameters are not to be had",
            "give a function of its arguments",
        )
    told = [one for one in parameters if one not in reserved]
    for one in names:
        if one not in told:
            why = "Vyre sets" if one in reserved else f"is no parameter of {name}"
            raise InvalidInput(
                f"key= of {name} names {shown(one)}, which {why}", f"name one of {', '.join(told)}"
            )
    signature = inspect.signature(function)

    def values(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        bound = signature.bind_partial(*args, **kwargs)
        bound.apply_defaults()
        return tuple(bound.arguments.get(one) for one in names)

    return values


def place_of(device: Device | str | None) -> Place | None:
    """Where an author says that something runs; None where it is not said."""
    if device is None:
        return None
    if device == "host":
        return HOST
    return on_device(device if isinstance(device, Device) else open_device(device))
