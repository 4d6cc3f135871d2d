"""A call of a function as another process can have it, and what it gave and left there."""

from __future__ import annotations

import base64
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import cloudpickle

from vyre.adapter.kind import Portable
from vyre.adapter.trial.around import BESIDE
from vyre.adapter.trial.copying import refuse_to_copy_much
from vyre.adapter.trial.differences import Part
from vyre.adapter.trial.margins import Margins
from vyre.adapter.trial.parts import Walk, arrays_in
from vyre.adapter.trial.surroundings import changed_since, surroundings
from vyre.adapter.trial.trials import packed
from vyre.adapter.trial.viewed import viewed


def portable_call(entry: str, function: Any, arguments: Sequence[Any]) -> Portable:
    """A function, or several, and a call's arguments, as another process can have them."""
    args, kwargs = arguments
    refuse_to_copy_much((args, kwargs), "check=", BESIDE)
    return Portable(
        entry=entry,
        kernel={"function": packed(function)},
        arguments=(viewed((tuple(args), dict(kwargs))),),
    )


def runs(kernel: Mapping[str, Any]) -> Callable[[Mapping[str, Any], Sequence[Any]], list[Part]]:
    """What runs a function on copies, in the process that may die: what it left, and gave."""
    function = unpacked(kernel)
    return lambda settings, arguments: ran(functools.partial(function, **settings), arguments[0])


def unpacked(kernel: Mapping[str, Any]) -> Any:
    """What `portable_call` was given to take along."""
    return cloudpickle.loads(base64.b64decode(kernel["function"]))


def ran(function: Callable[..., Any], arguments: Sequence[Any]) -> list[Part]:
    """Call a function on copies: its arguments as it left them, then what it gave."""
    margins = Margins()
    args, kwargs = map(margins.within, arguments)
    named = [*((f"argument {n}", one) for n, one in enumerate(args)), *kwargs.items()]
    before = [array for name, one in named for array in arrays_in(name, one)]
    process = surroundings()
    given = function(*args, **kwargs)
    walk = Walk()
    changed = changed_since(process)
    left = f"left with another {' and '.join(changed)}" if changed else "left as it was"
    walk.add("the process", walk, left)
    for name, one in named:
        walk.take(name, one)
    walk.take_displaced(before)
    walk.begin_results()
    if type(given) is tuple:
        walk.add("what it gave", given, f"a tuple of {len(given)}")
        for number, one in enumerate(given):
            walk.take(f"result {number + 1}", one)
    else:
        walk.take("result 1", given)
    return [*walk.parts, *margins.parts]
