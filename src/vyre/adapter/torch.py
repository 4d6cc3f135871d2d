"""A choice between whole functions on the same tensors: eager, compiled, a kernel of Vyre's."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch

from vyre.adapter.identity import text_of
from vyre.adapter.kind import Job, Portable, Start
from vyre.adapter.trial.copying import copied, refuse_to_copy_much
from vyre.adapter.trial.portable import portable_call, ran, unpacked
from vyre.adapter.trial.trials import Check
from vyre.adapter.tuned import Tuned, calling, key_of, name_of, place_of
from vyre.errors import InvalidInput
from vyre.learn.rules import deciding
from vyre.model import Knobs
from vyre.plain import shown
from vyre.runtime.devices.device import Device

Function = Callable[..., Any]

WAY = "way"
"""What a config sets: the name of the function that runs."""

_ORIGINALS = ("_orig_mod", "_torchdynamo_orig_callable")  # what torch.compile leaves of its own
_TO_TRY_S = 120.0  # for what is compiled on the way


@dataclass(frozen=True, slots=True)
class _State:
    """What torch keeps for each thread and compiles for: whoever runs beside a call has it, too."""

    grad: bool
    inference: bool
    autocast: tuple[tuple[str, torch.dtype], ...]

    @classmethod
    def here(cls) -> _State:
        kinds = [one for one in ("cpu", "cuda") if torch.is_autocast_enabled(one)]
        cast = tuple((one, torch.get_autocast_dtype(one)) for one in kinds)
        return cls(torch.is_grad_enabled(), torch.is_inference_mode_enabled(), cast)

    @property
    def texts(self) -> tuple[str, ...]:
        """It as texts, where it is not as usual."""
        grad = () if self.grad else ("no gradients",)
        inference = ("inference",) if self.inference else ()
        return (*grad, *inference, *(f"autocast {kind} {dtype}" for kind, dtype in self.autocast))

    def run(self, function: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        inside = functools.partial(function, *args, **kwargs)
        for kind, dtype in self.autocast:
            inside = functools.partial(_within, torch.autocast(kind, dtype=dtype), inside)
        mode: AbstractContextManager[Any] = nullcontext()
        if self.inference:
            mode = torch.inference_mode()
        with torch.set_grad_enabled(self.grad), mode:
            return inside()


def _within(context: AbstractContextManager[Any], function: Function) -> Any:
    with context:
        return function()


class _Ways:
    """How each function is called: at once, or after a run on copies in which it is compiled."""

    def __init__(
        self, ways: Mapping[str, Function], arguments: Sequence[Any], *, copies: bool = True
    ) -> None:
        """Keep copies of a first call's arguments, for what is compiled, where anything will be."""
        self._ways = ways
        self._warm = {next(iter(ways)), *(name for name, one in ways.items() if not _is_made(one))}
        self._state = _State.here()
        cold = ways.keys() - self._warm
        self._copies = _copied_for_first_runs(arguments) if cold and copies else None

    def is_ready(self, config: Knobs) -> bool:
        return config[WAY] in self._warm

    def job(self, config: Knobs) -> Job | None:  # noqa: ARG002  # what was compiled stays here
        return None

    def make(self, config: Knobs) -> Start:
        """The function, after a first run on copies, in which it compiles whatever it has to."""
        way = str(config[WAY])
        function = self._ways[way]
        if way not in self._warm:
            if self._copies is not None:
                args, kwargs = copied(self._copies)
                self._state.run(function, args, kwargs)
            self._warm.add(way)
            if self._warm == self._ways.keys():
                self._copies = None
        return calling(function)

    def portable(self, arguments: Sequence[Any]) -> Portable:
        """The functions as they were before they were compiled, which is done there again."""
        taken = {name: (_original(one), _is_made(one)) for name, one in self._ways.items()}
        return portable_call("vyre.adapter.torch:runs", (self._state, taken), arguments)


def runs(kernel: Mapping[str, Any]) -> Callable[[Mapping[str, Any], Sequence[Any]], list[Any]]:
    """What runs one of the functions on copies, in the process that may die."""
    state, taken = unpacked(kernel)
    ways = {
        name: torch.compile(function) if compiled else function
        for name, (function, compiled) in taken.items()
    }

    cold = {name for name, (_, compiled) in taken.items() if compiled}

    def run(settings: Mapping[str, Any], arguments: Sequence[Any]) -> list[Any]:
        name = settings[WAY]

        def called(*args: Any, **kwargs: Any) -> Any:
            return state.run(ways[name], args, kwargs)

        if name in cold:  # what compiling leaves in a process is not what the function does to it
            ran(called, copy.deepcopy(arguments[0]))
            cold.remove(name)
        return ran(called, arguments[0])

    return run


def _original(function: Function) -> Function:
    """What was given to `torch.compile`, or the function itself."""
    for name in _ORIGINALS:
        found = getattr(function, name, None)
        if callable(found):
            return found  # type: ignore[no-any-return]  # it has no types
    return function


def _is_made(function: Function) -> bool:
    """Whether `torch.compile` made it, so that its first call takes seconds."""
    return _original(function) is not function


class Choice(Tuned):
    """Functions that are called as one of them; in what `torch.compile` traces, as the first."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():  # nothing can be timed there, and nothing learned
            return self._default(*args, **kwargs)
        return super().__call__(*args, **kwargs)


def _copied_for_first_runs(arguments: Sequence[Any]) -> Sequence[Any] | None:
    """Copies of a call's arguments; None where there is too little memory for them."""
    try:
        refuse_to_copy_much(arguments, "a first run")
    except InvalidInput:
        return None
    made: Sequence[Any] = copied(arguments)
    return made


def choose(
    *,
    key: Callable[..., Any] | Sequence[str] | None = None,
    device: Device | str | None = None,
    check: bool = False,
    rtol: float = 0.0,
    atol: float = 0.0,
    **ways: Function,
) -> Choice:
    """Call whichever of several functions is fastest on such tensors: each call runs one, once.

    That they compute the same is the author's word. Modes of torch, such as `no_grad`, tell calls
    apart; inside of what `torch.compile` compiles the first function runs.

    What `torch.compile` made runs once on copies, on a thread beside the calls, before it serves,
    so that no call waits for what it compiles; the thread shares the interpreter with them.

    Args:
        key: what tells kinds of calls apart, exactly; left out, types and sizes count.
        device: where they run, for those who time them: by default where the tensors are.
        check: compare each with the first, on copies in another process, before it serves; what
            `torch.compile` made is compiled there again, by its defaults.
        rtol: how close, relative to the first's; 0 with `atol` is bitwise.
        atol: how close, absolutely.
        ways: the functions, by names for people; the first is the default.

    >>> half = choose(eager=lambda x: x / 2, product=lambda x: x * 0.5)
    >>> half(torch.ones(3)).tolist()
    [0.5, 0.5, 0.5]
    """
    if not ways:
        raise InvalidInput(
            "a choice between no functions", "name some: choose(eager=f, compiled=torch.compile(f))"
        )
    for name, function in ways.items():
        if not callable(function):
            raise InvalidInput(
                f"{name}={shown(function)} cannot be called", "give functions, each by a name"
            )
    first, asked = next(iter(ways.values())), Check.of(check, rtol, atol)
    name = name_of(first)
    return Choice(
        first,
        tuple(Knobs.of({WAY: one}) for one in ways),
        lambda arguments: _Ways(ways, arguments, copies=deciding().mode.writes),
        default=first,
        text=lambda: _text(ways),
        key=key_of(first, key, name),
        place=place_of(device),
        state=lambda: _State.here().texts,
        check=asked and replace(asked, limit_s=_TO_TRY_S),
    )


def _text(ways: Mapping[str, Function]) -> str:
    """What the functions are, and torch's own version, for a store."""
    parts = [f"{name}\n{_is_made(one)} {_described(_original(one))}" for name, one in ways.items()]
    return "\n".join((f"torch {torch.__version__}", *parts))


def _described(function: Function) -> str:
    """A function as its text; of a module its layers too, and how each kind of them computes."""
    if not isinstance(function, torch.nn.Module):
        return text_of(function)
    kinds = dict.fromkeys(type(one) for one in function.modules())
    return "\n".join((repr(function), *(text_of(one.forward) for one in kinds)))
