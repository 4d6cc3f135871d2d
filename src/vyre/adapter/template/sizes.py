"""How large a launch is under a configuration: the problem, the block, the grid, the memory.

The rule is Kernel Tuner's: the block is what the parameters `block_size_x`, `_y` and `_z` say, 256
and 1 and 1 where there are none; the grid is the problem's size divided by divisors, rounded up;
the divisor of an axis is the block's size along it where a parameter says it, else 1.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vyre.adapter.identity import text_of
from vyre.adapter.template.expressions import Expression, NoValue
from vyre.errors import InvalidInput
from vyre.model import Dim3, Limits
from vyre.plain import shown

Settings = Mapping[str, Any]
Size = tuple[int, ...]

AXES = ("x", "y", "z")
BLOCK_NAMES = ("block_size_x", "block_size_y", "block_size_z")
GRID_NAMES = ("grid_size_x", "grid_size_y", "grid_size_z")
SIZE_NAMES = ("size_x", "size_y", "size_z")
"""What expressions call the problem's size; `size` is the first of it."""

_USUAL_BLOCK = (256, 1, 1)


@dataclass(frozen=True, slots=True)
class Launch:
    """What a launch asks of the device, besides its arguments."""

    grid: Dim3
    block: Dim3
    shared_bytes: int = 0

    def refusal(self, limits: Limits, declared_bytes: int = 0) -> str | None:
        """Why a device cannot launch this, with so much workgroup memory that its source declares.

        As far as that is known without compiling, where nothing is said of that.
        """
        if math.prod(self.block) > limits.max_threads:
            return (
                f"block {shown(self.block)} is {_counted(math.prod(self.block))} threads, "
                f"and the device allows {limits.max_threads:,}"
            )
        for axis, size, most in zip(AXES, self.block, limits.max_block, strict=True):
            if size > most:
                return f"block {shown(self.block)} along {axis}, and the device allows {most:,}"
        for axis, size, most in zip(AXES, self.grid, limits.max_grid, strict=True):
            if size > most:
                return f"grid {shown(self.grid)} along {axis}, and the device allows {most:,}"
        shared_bytes = self.shared_bytes + declared_bytes
        if limits.group_bytes and shared_bytes > limits.group_bytes:
            return (
                f"{_counted(shared_bytes)} bytes of workgroup memory, "
                f"and the device allows {limits.group_bytes:,}"
            )
        return None


@dataclass(frozen=True, slots=True)
class Formula:
    """A number, an expression or a function that says one thing about a launch."""

    given: Any
    what: str  # it says, for people
    expression: Expression | None = None
    takes: int = 0  # arguments, of a function: the parameters, and the size

    @classmethod
    def of(cls, given: object, names: Sequence[str], what: str) -> Formula:
        """What a caller gave for it.

        Raises:
            InvalidInput: it is none of the three, or an expression that names something unknown.
        """
        if isinstance(given, str):
            expression = Expression.of(given, what)
            known = (*names, "size", *SIZE_NAMES)
            for one in expression.names:
                if one not in known:
                    raise InvalidInput(
                        f"{what}, {shown(given)}, names {shown(one)}, which is no parameter",
                        f"name some of {', '.join(known)}",
                    )
            return cls(given, what, expression)
        if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
            return cls(int(given), what)
        if callable(given):
            return cls(given, what, takes=_takes(given))
        raise InvalidInput(
            f"{what} is {shown(given)}",
            'give a number, an expression such as "block_size_x * 2", or a function',
        )

    @property
    def text(self) -> str:
        """All of it, for a store."""
        return text_of(self.given) if callable(self.given) else str(self.given)

    @property
    def follows_size(self) -> bool:
        """Whether the problem's size is asked for."""
        names = () if self.expression is None else self.expression.names
        return self.takes > 1 or not {"size", *SIZE_NAMES}.isdisjoint(names)

    def value(self, settings: Settings, size: Size) -> Any:
        """What it says of a configuration.

        Raises:
            InvalidInput: nothing that can be used.
        """
        if self.expression is not None:
            try:
                found = self.expression.value(_named(settings, size, self.expression.names))
                return int(found)  # as Kernel Tuner does
            except (NoValue, KeyError, OverflowError, TypeError, ValueError) as error:
                if isinstance(error, KeyError):
                    problem, fix = f"needs {error}", "pass a size of as many axes"
                else:
                    problem, fix = f"has no value: {error}", "mend it"
                raise InvalidInput(f"{self.what}, {shown(self.given)}, {problem}", fix) from None
        if self.takes:
            given = (dict(settings), size)[: self.takes]
            return _called(self.given, given, self.what)
        return self.given

    def whole(self, settings: Settings, size: Size, least: int) -> int:
        """The same as a whole number of at least so much."""
        return _whole(self.value(settings, size), least, self.what, settings)


Axes = tuple[Formula, ...]
"""One for each axis, or a function alone that gives all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """What an author said about the sizes of launches."""

    names: tuple[str, ...]
    size: Axes | None = None
    grid: Axes | None = None
    divisors: tuple[tuple[Formula, ...] | None, ...] = (None, None, None)
    block: Axes | None = None
    shared: Formula | None = None

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        what: str,
        *,
        size: object = None,
        grid: object = None,
        divisors: Sequence[object] = (None, None, None),
        block: object = None,
        shared: object = None,
    ) -> Sizes:
        """What was given, each in any of its forms.

        Raises:
            InvalidInput: something that says nothing.
        """
        if grid is not None and any(one is not None for one in divisors):
            raise InvalidInput(
                f"grid= of {what} beside divisors of its size", "give one or the other"
            )
        if isinstance(shared, Mapping):  # as Kernel Tuner has it
            if shared.keys() != {"size"}:
                raise InvalidInput(
                    f"shared= of {what} is {shown(dict(shared))}", 'give bytes, or {"size": bytes}'
                )
            shared = shared["size"]
        return cls(
            names=tuple(names),
            size=_axes(size, names, f"size= of {what}"),
            grid=_axes(grid, names, f"grid= of {what}"),
            divisors=tuple(
                _divisors(one, names, f"grid_div_{axis}= of {what}")
                for axis, one in zip(AXES, divisors, strict=True)
            ),
            block=_axes(block, names, f"block= of {what}"),
            shared=None if shared is None else Formula.of(shared, names, f"shared= of {what}"),
        )

    @property
    def text(self) -> str:
        """All of it, for a store."""
        said = [
            ("size", self.size),
            ("grid", self.grid),
            *((f"grid_div_{axis}", one) for axis, one in zip(AXES, self.divisors, strict=True)),
            ("block", self.block),
            ("shared", None if self.shared is None else (self.shared,)),
        ]
        return "\n".join(
            f"{name} = {' | '.join(one.text for one in formulas)}"
            for name, formulas in said
            if formulas is not None
        )

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """All that is said by functions."""
        said = (self.size, self.grid, *self.divisors, self.block, self.shared and (self.shared,))
        return tuple(one.given for axes in said for one in axes or () if one.takes)

    def size_of(self, settings: Settings, given: Size | None, what: str) -> Size:
        """The problem's size: the call's, else what was fixed; () where none is needed.

        Raises:
            InvalidInput: it is needed, and nobody gives it.
        """
        if given is not None:
            return given
        if self.size is not None:
            return _all(self.size, settings, (), 0)
        if self.grid is None:
            raise InvalidInput(
                f"a launch of {what} without a size",
                f"pass size= to the call, or to the template of {what}",
            )
        return ()

    def launch(self, settings: Settings, size: Size) -> Launch:
        """The launch of a configuration; a grid of 0 where there is nothing to do.

        Raises:
            InvalidInput: a formula gives nothing that can be used.
        """
        if self.grid is not None:
            grid = _three(_all(self.grid, settings, size, 0))
        else:
            grid = self._divided(settings, size)
        alone = self.alone(settings, size)
        return Launch(grid, alone.block, alone.shared_bytes)

    def alone(self, settings: Settings, size: Size) -> Launch:
        """One block of a configuration."""
        shared = 0 if self.shared is None else self.shared.whole(settings, size, 0)
        return Launch((1, 1, 1), self._block(settings, size), shared)

    @property
    def block_follows_size(self) -> bool:
        """Whether a block, or its memory, is another for another size of the problem."""
        said = (*(self.block or ()), *(() if self.shared is None else (self.shared,)))
        return any(one.follows_size for one in said)

    def _block(self, settings: Settings, size: Size) -> Dim3:
        if self.block is not None:
            return _three(_all(self.block, settings, size, 1))
        x, y, z = (
            usual if name is None else _whole(settings[name], 1, name, settings)
            for name, usual in zip(block_names(self.names), _USUAL_BLOCK, strict=True)
        )
        return x, y, z

    def _divided(self, settings: Settings, size: Size) -> Dim3:
        # With block= the block divides: its sizes are what block_size_x and others would be.
        own = None if self.block is None else self._block(settings, size)
        named = block_names(self.names)
        counts = []
        for axis, extent in enumerate(_three(size)):
            divisors, name = self.divisors[axis], named[axis]
            if divisors is not None:
                counts.append(_divided_by(extent, divisors, settings, size))
            elif own is not None:
                counts.append(-(-extent // own[axis]))
            elif name is not None:
                counts.append(-(-extent // _whole(settings[name], 1, name, settings)))
            else:
                counts.append(extent)
        return counts[0], counts[1], counts[2]


@functools.lru_cache(maxsize=256)  # 2 us of each launch of a new size
def block_names(names: tuple[str, ...]) -> tuple[str | None, ...]:
    """Which parameters say the block's sizes, in any case: of x, y and z.

    Raises:
        InvalidInput: two say the same.

    >>> block_names(("VW", "BLOCK_SIZE_Y"))
    (None, 'BLOCK_SIZE_Y', None)
    """
    found: list[str | None] = []
    for wanted in BLOCK_NAMES:
        these = [name for name in names if name.lower() == wanted]
        if len(these) > 1:
            raise InvalidInput(
                f"parameters {' and '.join(these)} both say the size of the block",
                "rename one of them, or say block=",
            )
        found.append(these[0] if these else None)
    return tuple(found)


def size_given(given: object, what: str) -> Size:
    """A problem's size as a call gives it.

    Raises:
        InvalidInput: it is none.
    """
    one = isinstance(given, (int, np.integer)) and not isinstance(given, bool)
    parts = (given,) if one or getattr(given, "ndim", None) == 0 else given
    if isinstance(parts, Iterable) and not isinstance(parts, (str, bytes, Mapping)):
        sizes = tuple(parts)
        whole = all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in sizes)
        if whole and 1 <= len(sizes) <= 3 and all(n >= 0 for n in sizes):
            return tuple(map(int, sizes))
    raise InvalidInput(
        f"size= of {what} is {shown(given)}", "give one to three whole numbers of at least 0"
    )


def _takes(function: Callable[..., Any]) -> int:
    """Whether a function takes the parameters alone, or the size as well."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    needed = [
        one
        for one in parameters
        if one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    return 2 if len(needed) > 1 else 1


def _axes(given: object, names: Sequence[str], what: str) -> Axes | None:
    if given is None:
        return None
    parts = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if not 1 <= len(parts) <= 3:
        raise InvalidInput(f"{what} is {shown(given)}", "give one to three axes")
    return tuple(Formula.of(one, names, what) for one in parts)


def _divisors(given: object, names: Sequence[str], what: str) -> tuple[Formula, ...] | None:
    """What an axis is divided by, one after the other; nothing at all leaves it as it is."""
    if given is None:
        return None
    parts = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    return tuple(Formula.of(one, names, what) for one in parts)


def _divided_by(extent: int, divisors: Sequence[Formula], settings: Settings, size: Size) -> int:
    divisor: Any = 1
    try:
        for one in divisors:
            divisor *= _number(one.value(settings, size), one.what)
            if not divisor > 0:
                raise InvalidInput(
                    f"{one.what} divides by {shown(divisor)} under {_said(settings)}",
                    "let it give more than 0",
                )
        return -(-extent // divisor) if isinstance(divisor, int) else math.ceil(extent / divisor)
    except OverflowError:
        raise InvalidInput(
            f"{divisors[-1].what} leaves more blocks of {shown(extent)} than can be counted, "
            f"under {_said(settings)}",
            "let it give more",
        ) from None


def _all(axes: Axes, settings: Settings, size: Size, least: int) -> Size:
    """The sizes along all axes."""
    if len(axes) == 1 and axes[0].takes:
        found = axes[0].value(settings, size)
        parts = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        if not 1 <= len(parts) <= 3:
            raise InvalidInput(
                f"{axes[0].what} gave {shown(found)}", "give one to three whole numbers"
            )
        return tuple(_whole(one, least, axes[0].what, settings) for one in parts)
    return tuple(one.whole(settings, size, least) for one in axes)


def _three(sizes: Size) -> Dim3:
    x, y, z = (*sizes, 1, 1, 1)[:3]
    return x, y, z


def _whole(value: Any, least: int, what: str, settings: Settings) -> int:
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if not isinstance(number, int) or isinstance(number, bool) or number < least:
        raise InvalidInput(
            f"{what} is {shown(value)} under {_said(settings)}",
            f"let it give a whole number of at least {least}",
        )
    return number


def _counted(number: int) -> str:
    return f"{number:,}" if number < 1 << 64 else shown(number)


def _number(value: Any, what: str) -> int | float:
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise InvalidInput(f"{what} gave {shown(value)}", "let it give a number")
    return number


def _named(settings: Settings, size: Size, names: Iterable[str]) -> dict[str, Any]:
    """The values of an expression's names; parameters come first.

    Raises:
        KeyError: a call's size has no such axis.
    """
    known = {**dict(zip(SIZE_NAMES, size, strict=False)), **({"size": size[0]} if size else {})}
    return {name: settings[name] if name in settings else known[name] for name in names}


def _said(settings: Settings) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items()) or "its one config"


def _called(function: Callable[..., Any], given: tuple[Any, ...], what: str) -> Any:
    try:
        return function(*given)
    except Exception as error:
        raise InvalidInput(f"{what} raised {type(error).__name__}: {error}", "mend it") from error
