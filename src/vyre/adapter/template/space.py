"""The configurations of parameters within restrictions, the first of each parameter first.

Parameters are given their values one after the other, and each restriction is asked as soon as all
that it names have one: what it cuts is counted, and never enumerated.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from vyre.adapter.configs import MOST_CONFIGS, choices_of
from vyre.adapter.template.expressions import Expression, NoValue
from vyre.errors import InvalidInput
from vyre.model import Knobs
from vyre.plain import shown

MOST_LOOKED = 2_000_000
"""Values that are tried while enumerating: some seconds."""


_CONFIG = inspect.Parameter("config", inspect.Parameter.POSITIONAL_ONLY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """What may run a kernel, by its author's word.

    Args:
        choices: for each parameter, in the order that its author gave.
        configs: all that no restriction leaves out, in the order of the choices.
        left_out: how many each restriction leaves out, by its text; what one has left out, no
            other is asked about.
    """

    choices: Mapping[str, tuple[Any, ...]]
    configs: tuple[Knobs, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.choices)

    @property
    def whole(self) -> int:
        """How many there would be without a restriction."""
        return prod(map(len, self.choices.values()))


@dataclass(frozen=True, slots=True)
class Restriction:
    """What a configuration has to keep to; it is asked once all its names have a value."""

    text: str
    names: tuple[str, ...]
    holds: Callable[[Mapping[str, Any]], Any]


def space_of(params: object, restrictions: object, what: str) -> Space:
    """All configurations of parameters within restrictions.

    Args:
        params: `{"block_size_x": (64, 128), "unroll": (1, 4)}`.
        restrictions: one or a list: expressions as Python writes them, or functions: of a
            configuration as a dictionary, or of parameters by their names.
        what: whose they are, for people.

    Raises:
        InvalidInput: there is none, there are too many, or a restriction is none.

    >>> found = space_of({"x": (1, 2, 4), "y": (1, 2)}, "x * y < 4", "f")
    >>> [one.text for one in found.configs], found.left_out
    (['x=1, y=1', 'x=1, y=2', 'x=2, y=1'], {'x * y < 4': 3})
    """
    if not isinstance(params, Mapping):
        raise InvalidInput(
            f"params of {what} that are {shown(params)}",
            'give choices by name, such as {"block_size_x": [64, 128]}',
        )
    choices = choices_of(params, what)
    for name, values in choices.items():
        for value in values:
            Knobs.of({name: value})  # or it says what is wrong with it
        if len({(type(one), one) for one in values}) < len(values):
            raise InvalidInput(f"{shown(name)} of {what} has one choice twice", "give each once")
    asked = [restriction_of(one, tuple(choices), what) for one in _listed(restrictions)]
    space = _Walk(choices, asked, what).space()
    if not space.configs:
        cut = ", ".join(f"{text}: {count:,}" for text, count in space.left_out.items())
        raise InvalidInput(
            f"the restrictions of {what} leave no config of {space.whole:,} ({cut})",
            "loosen one of them, or offer other choices",
        )
    return space


def restriction_of(given: object, names: Sequence[str], what: str) -> Restriction:
    """A restriction on parameters of these names.

    Raises:
        InvalidInput: it is none, or names none of them.
    """
    text: str
    asked: tuple[str, ...]
    holds: Callable[[Mapping[str, Any]], Any]
    if isinstance(given, str):
        found = Expression.of(given, f"a restriction of {what}")
        text, asked, holds = found.text, found.names, found.value
    elif callable(given):
        text, asked, holds = _of_function(given, names, what)
    else:
        raise InvalidInput(
            f"a restriction of {what} that is {shown(given)}",
            'give an expression, such as "block_size_x * VW <= 1024", or a function',
        )
    unknown = [one for one in asked if one not in names]
    if unknown or not asked:
        why = f"names {shown(unknown[0])}, which is no parameter" if unknown else "names none"
        raise InvalidInput(
            f"a restriction of {what}, {shown(text)}, {why}",
            f"name some of {', '.join(names)}"
            if names
            else "leave it out: there are no parameters",
        )
    return Restriction(text, asked, holds)


def _listed(given: object) -> tuple[object, ...]:
    if given is None:
        return ()
    if isinstance(given, str) or callable(given) or not isinstance(given, Iterable):
        return (given,)
    return tuple(given)


def _of_function(
    function: Callable[..., Any], names: Sequence[str], what: str
) -> tuple[str, tuple[str, ...], Callable[[Mapping[str, Any]], Any]]:
    """A function's name for people, what it is asked about, and how."""
    text = str(getattr(function, "__name__", type(function).__name__))
    try:
        parameters: Mapping[str, inspect.Parameter] = inspect.signature(function).parameters
    except (TypeError, ValueError):  # of a C function, say
        parameters = {"config": _CONFIG}
    # What has a default of its own, such as a limit from around it, is asked for by its name alone.
    needed = tuple(n for n, one in parameters.items() if one.default is one.empty or n in names)
    asked = needed or tuple(parameters)[:1]
    if asked and all(one in names for one in asked):
        return text, asked, lambda values: function(**{one: values[one] for one in asked})
    if len(asked) != 1:
        raise InvalidInput(
            f"a restriction of {what}, {text}({', '.join(asked)}), takes more than parameters",
            f"let it take a configuration as a dictionary, or name some of {', '.join(names)}",
        )
    return text, tuple(names), lambda values: function(dict(values))


class _Walk:
    """One enumeration, parameter by parameter."""

    def __init__(
        self, choices: Mapping[str, tuple[Any, ...]], asked: Sequence[Restriction], what: str
    ) -> None:
        self._names, self._values, self._what = tuple(choices), tuple(choices.values()), what
        self._choices = choices
        place = {name: number for number, name in enumerate(self._names)}
        # Each behind the last of its names.
        self._asked: list[list[Restriction]] = [[] for _ in self._names]
        for one in asked:
            self._asked[max(place[name] for name in one.names)].append(one)
        self._below = [prod(map(len, self._values[n + 1 :])) for n in range(len(self._names))]
        self._left_out = {one.text: 0 for one in asked}
        self._looked = 0

    def space(self) -> Space:
        configs: list[Knobs] = []
        for settings in self._from(0, {}):
            if len(configs) == MOST_CONFIGS:
                raise InvalidInput(
                    f"a space of {self._what} of more than {MOST_CONFIGS:,} configs",
                    f"restrict it to at most {MOST_CONFIGS:,}, or offer fewer choices",
                )
            configs.append(Knobs(settings))
        return Space(choices=self._choices, configs=tuple(configs), left_out=self._left_out)

    def _from(self, depth: int, bound: dict[str, Any]) -> Iterator[tuple[tuple[str, Any], ...]]:
        if depth == len(self._names):
            yield tuple(bound.items())
            return
        name = self._names[depth]
        for value in self._values[depth]:
            self._looked += 1
            if self._looked > MOST_LOOKED:
                raise InvalidInput(
                    f"a space of {self._what} of {prod(map(len, self._values)):,} combinations, of "
                    f"which more than {MOST_LOOKED:,} had to be looked at",
                    "offer fewer choices, or restrict those that come first by expressions",
                )
            bound[name] = value
            if self._allows(depth, bound):
                yield from self._from(depth + 1, bound)
        bound.pop(name, None)

    def _allows(self, depth: int, bound: Mapping[str, Any]) -> bool:
        for one in self._asked[depth]:
            if not self._holds(one, bound):
                self._left_out[one.text] += self._below[depth]
                return False
        return True

    def _holds(self, one: Restriction, bound: Mapping[str, Any]) -> bool:
        try:
            return bool(one.holds(bound))
        except Exception as error:  # noqa: BLE001  # of a function of somebody else's
            said = str(error) if isinstance(error, NoValue) else f"{type(error).__name__}: {error}"
            at = ", ".join(f"{name}={bound[name]}" for name in one.names)
            raise InvalidInput(
                f"a restriction of {self._what}, {shown(one.text)}, has no answer for {at}: {said}",
                "mend it, or leave out the choices that it cannot be asked about",
            ) from None
