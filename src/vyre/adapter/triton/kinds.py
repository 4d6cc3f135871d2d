"""Which calls of a kernel of Triton's share a choice, and which config they begin with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from triton.compiler.errors import CompileTimeAssertionFailure
from triton.runtime.autotuner import Config
from triton.runtime.errors import OutOfResources, PTXASError

from vyre.adapter.calls import Entry
from vyre.adapter.failure import of_the_caller
from vyre.adapter.kind import Kind
from vyre.adapter.triton.binding import is_tensor
from vyre.adapter.triton.compile import Bound, Debugs
from vyre.adapter.triton.launch import Launches
from vyre.adapter.triton.source import shown_constant
from vyre.errors import VyreError
from vyre.learn import process
from vyre.model import Knobs

_RESOURCES = (OutOfResources, CompileTimeAssertionFailure, PTXASError)
"""What Triton's own autotuner drops a config for; anything else is likely wrong with all."""

_MOST_BROKEN = 4


def traits_of(
    bound: Bound, said: Sequence[str], worked: Iterable[str], key: Sequence[str], debugged: Debugs
) -> tuple[str, ...]:
    """What tells calls apart: what Triton compiles for, values of the key, and options.

    Args:
        bound: the call, under the first config.
        said: names of what the call passes.
        worked: names of what heuristics say.
        key: names of arguments whose values count.
        debugged: what of Triton's settings counts.
    """
    told = {*said, *worked}
    rows = [
        f"{name} {_row(*row)}"
        for name, row in zip(bound.values, bound.rows, strict=True)
        if name in told
    ]
    keys = [
        f"key {name}={shown_constant(bound.values[name])}"
        for name in key
        if name in said and not is_tensor(bound.values[name])
    ]
    options = sorted(name for name in said if name not in bound.values)
    asked = [f"{name}={shown_constant(bound.options[name])}" for name in options]
    return (*rows, *keys, *asked, *map(str, filter(None, debugged)))


def sizes_of(bound: Bound, said: Iterable[str]) -> tuple[int, ...]:
    """The whole numbers of a call, whose doublings count where no key is said."""
    values = [bound.values[name] for name in said if name in bound.values]
    return tuple(abs(one) for one in values if type(one) is int)


def elements(value: Any) -> int:
    """The elements of a tensor; of anything else 1."""
    return int(value.numel()) if is_tensor(value) and hasattr(value, "numel") else 1


def begun(kind: Kind, launches: Launches) -> Kind:
    """A kind whose first config is one that can be compiled, unless another is remembered.

    Raises:
        Exception: none can; what the compiler said of the first.
    """
    known = process.recorder().get(kind.workload)
    if known is not None and known.config in kind.configs:
        return kind
    failed: dict[Knobs, str] = {}
    first: VyreError | None = None
    broken = 0
    for knobs in kind.configs:
        try:
            launches.make(knobs)
        except VyreError as error:
            failed[knobs] = error.problem
            first = first or error
            broken += not isinstance(error.__cause__, _RESOURCES)
        else:
            break
        if broken == _MOST_BROKEN:
            break
    if len(failed) == len(kind.configs) or broken == _MOST_BROKEN:
        assert first is not None, "there is a config"
        raise of_the_caller(first)
    del first  # which holds this frame, and the caller's
    left_out = tuple(f"{knobs.text}: {problem}" for knobs, problem in failed.items())
    able = tuple(one for one in kind.configs if one not in failed)
    return replace(kind, configs=able, left_out=left_out)


def configs_of(entry: Entry) -> Mapping[Knobs, Config]:
    """The configs that an entry launches, as Triton has them."""
    launches = entry.made.variants
    assert isinstance(launches, Launches), "a kernel of Triton's is launched by nothing else"
    return launches.configs


def _row(kind: Any, value: Any) -> str:
    """What a kernel is compiled for of one argument, as a text."""
    if kind == "constexpr":
        return f"constexpr {shown_constant(value)}"
    text = str(kind)
    if text.startswith("tensordesc"):  # its block is a config's, whose hook sets it
        return text.partition("[")[0]
    return f"{text} {value}" if value else text
