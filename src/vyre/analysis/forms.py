"""What is known of an index: a linear form over ids and loop counters, with symbolic numbers.

A symbol is a number that every invocation of a launch sees alike: an extent of the dispatch, the
length or extent of an array, a scalar argument. Proofs stay symbolic until a launch gives them
values, so that one analysis serves all sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, Self

from vyre.ir.declare import BufferDecl
from vyre.ir.types import DataType, int_range

MOST_TERMS = 64
MOST_SYMBOLS = 8
MOST_BITS = 256
"""How much of a form is followed. Squaring a number forty times would make one of 2**40 digits."""


class Computed(Protocol):
    """What a program computes, and no sum or product tells: a quotient, a remainder, a choice."""

    @property
    def scalars(self) -> frozenset[str]: ...
    @property
    def weight(self) -> int: ...
    def at(self, launch: Launch) -> int: ...
    def __lt__(self, other: Self, /) -> bool: ...


@dataclass(frozen=True, slots=True, order=True)
class Symbol:
    """A number known at launch: `extent` of an axis, `len` or `dim` of a buffer, or a `scalar`.

    One that is `made` of others is known with them.
    """

    kind: str
    name: str = ""
    axis: int = 0
    made: Computed | None = None

    def at(self, launch: Launch) -> int:
        return launch.value(self) if self.made is None else self.made.at(launch)

    @property
    def scalars(self) -> frozenset[str]:
        """The scalar arguments that it is, or is made of."""
        if self.made is not None:
            return self.made.scalars
        return frozenset((self.name,)) if self.kind == "scalar" else frozenset()

    def __str__(self) -> str:
        match self.kind:
            case "extent":
                return f"extent({self.axis})"
            case "len":
                return f"len({self.name})"
            case "dim":
                return f"{self.name}.shape[{self.axis}]"
            case _:
                return self.name


class Launch(Protocol):
    """The numbers of one launch."""

    def value(self, symbol: Symbol) -> int: ...


@dataclass(frozen=True, slots=True)
class Ordinary:
    """A launch as many others, over some axes: all its sizes are alike, and so are its arrays."""

    axes: frozenset[int] = frozenset(range(3))
    length: int = 64

    def value(self, symbol: Symbol) -> int:
        if symbol.kind == "extent" and symbol.axis not in self.axes:
            return 1
        return self.length if symbol.kind == "len" else 64


@dataclass(frozen=True, slots=True)
class Poly:
    """A whole-number polynomial: sorted (symbols, coefficient) terms, none of them 0."""

    terms: tuple[tuple[tuple[Symbol, ...], int], ...] = ()

    @classmethod
    def of(cls, value: int | Symbol) -> Poly:
        if isinstance(value, Symbol):
            return cls((((value,), 1),))
        return cls((((), value),)) if value else cls()

    @classmethod
    def _sum(cls, terms: Iterable[tuple[tuple[Symbol, ...], int]]) -> Poly:
        total: dict[tuple[Symbol, ...], int] = {}
        for symbols, factor in terms:
            total[symbols] = total.get(symbols, 0) + factor
        return cls(tuple(sorted((symbols, factor) for symbols, factor in total.items() if factor)))

    @property
    def is_small(self) -> bool:
        return len(self.terms) <= MOST_TERMS and all(
            len(symbols) <= MOST_SYMBOLS and factor.bit_length() <= MOST_BITS
            for symbols, factor in self.terms
        )

    @property
    def constant(self) -> int | None:
        """The number, if no symbol is in it."""
        match self.terms:
            case ():
                return 0
            case (((), value),):
                return value
            case _:
                return None

    def __add__(self, other: Poly) -> Poly:
        return Poly._sum((*self.terms, *other.terms))

    def __neg__(self) -> Poly:
        return Poly(tuple((symbols, -factor) for symbols, factor in self.terms))

    def __sub__(self, other: Poly) -> Poly:
        return self + -other

    def __mul__(self, other: Poly) -> Poly:
        return Poly._sum(
            (tuple(sorted(a + b)), x * y) for a, x in self.terms for b, y in other.terms
        )

    @property
    def scalars(self) -> frozenset[str]:
        """The scalar arguments that are in it."""
        symbols = {symbol for symbols, _ in self.terms for symbol in symbols}
        return frozenset[str]().union(*(symbol.scalars for symbol in symbols))

    @property
    def weight(self) -> int:
        """How much is computed for it, beside sums and products."""
        symbols = (symbol for symbols, _ in self.terms for symbol in symbols)
        return sum(symbol.made.weight for symbol in symbols if symbol.made is not None)

    def at(self, launch: Launch) -> int:
        """The number for one launch."""
        total = 0
        for symbols, factor in self.terms:
            for symbol in symbols:
                factor *= symbol.at(launch)
            total += factor
        return total

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        return " + ".join(
            "*".join([*(str(symbol) for symbol in symbols)] or [str(factor)])
            if factor == 1 or not symbols
            else "*".join([str(factor), *(str(symbol) for symbol in symbols)])
            for symbols, factor in self.terms
        )


ZERO, ONE = Poly(), Poly.of(1)


def length_of(decl: BufferDecl) -> Poly:
    """The number of a buffer's elements: declared, or known at launch."""
    return Poly.of(decl.count) if decl.count else Poly.of(Symbol("len", decl.name))


def extent_of(decl: BufferDecl, axis: int) -> Poly:
    """A buffer's extent along one axis: declared, or known at launch."""
    if decl.rank == 1:
        return length_of(decl)
    fixed = decl.shape[axis]
    return Poly.of(fixed) if fixed else Poly.of(Symbol("dim", decl.name, axis))


@dataclass(frozen=True, slots=True)
class Gid:
    """The invocation's position along one axis: from 0 to that extent."""

    axis: int


@dataclass(frozen=True, slots=True)
class Counter:
    """A loop's counter of type `dtype`: from `start` up to, not including, `stop`."""

    name: str
    start: Poly
    stop: Poly
    dtype: DataType

    def bounds(self, launch: Launch) -> tuple[int, int] | None:
        """Both ends for one launch; None where an end wrapped, so that its number is not known."""
        low, high = int_range(self.dtype)
        ends = self.start.at(launch), self.stop.at(launch)
        return ends if all(low <= end <= high for end in ends) else None


Variable = Gid | Counter | Computed


@dataclass(frozen=True, slots=True)
class Linear:
    """`offset + sum(factor * variable)`, in the wrapping integers of `dtype`."""

    terms: Mapping[Variable, Poly]
    offset: Poly
    dtype: DataType
    _hash: int | None = field(default=None, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        # Kept, because what is computed holds the forms it is computed of, and these others: 10
        # million hashes, and 10 s, of a kernel with three sums over one function.
        if self._hash is None:
            found = hash((frozenset(self.terms.items()), self.offset, self.dtype))
            object.__setattr__(self, "_hash", found)
        assert self._hash is not None
        return self._hash

    @classmethod
    def uniform(cls, value: Poly, dtype: DataType) -> Linear:
        return cls({}, value, dtype)

    @property
    def is_uniform(self) -> bool:
        return not self.terms

    @property
    def is_small(self) -> bool:
        """Whether it is worth following; sums and products of what is not would grow and grow."""
        return len(self.terms) <= MOST_TERMS and all(
            poly.is_small for poly in (*self.terms.values(), self.offset)
        )

    def combine(self, other: Linear, sign: int) -> Linear:
        terms = dict(self.terms)
        for variable, factor in other.terms.items():
            terms[variable] = terms.get(variable, ZERO) + (factor if sign > 0 else -factor)
        kept = {variable: factor for variable, factor in terms.items() if factor.terms}
        offset = self.offset + other.offset if sign > 0 else self.offset - other.offset
        return Linear(kept, offset, self.dtype)

    def times(self, factor: Poly) -> Linear:
        if not factor.terms:
            return Linear.uniform(ZERO, self.dtype)
        terms = {variable: known * factor for variable, known in self.terms.items()}
        return Linear(terms, self.offset * factor, self.dtype)

    @property
    def scalars(self) -> frozenset[str]:
        """The scalar arguments that are in it, or in a bound of its counters."""
        bounds = (poly for c in self.counters() for poly in (c.start, c.stop))
        made = (v.scalars for v in self.terms if not isinstance(v, (Gid, Counter)))
        return frozenset[str]().union(
            *(poly.scalars for poly in (*self.terms.values(), self.offset, *bounds)), *made
        )

    @property
    def weight(self) -> int:
        """How much is computed for it, beside sums and products."""
        made = (v.weight for v in self.terms if not isinstance(v, (Gid, Counter)))
        return sum(made) + sum(poly.weight for poly in (*self.terms.values(), self.offset))

    def number(self, launch: Launch) -> int:
        """The value for one launch of what all invocations see alike."""
        return wrapped(self.offset.at(launch), self.dtype)

    def gids(self) -> Mapping[int, Poly]:
        return {v.axis: factor for v, factor in self.terms.items() if isinstance(v, Gid)}

    def counters(self) -> Mapping[Counter, Poly]:
        return {v: factor for v, factor in self.terms.items() if isinstance(v, Counter)}

    def __str__(self) -> str:
        parts = [
            name if factor == ONE else f"({factor})*{name}"
            for variable, factor in self.terms.items()
            for name in [_name(variable)]
        ]
        if self.offset.terms or not parts:
            parts.append(str(self.offset))
        return " + ".join(parts)


def _name(variable: Variable) -> str:
    match variable:
        case Gid(axis):
            return f"gid({axis})"
        case Counter(name):
            return name
        case _:
            return str(variable)


def wrapped(value: int, dtype: DataType) -> int:
    """The value of `dtype` that a whole number becomes."""
    low, _ = int_range(dtype)
    return (value - low) % (1 << dtype.bits) + low


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value the analysis cannot follow; `uniform` when all invocations still agree on it."""

    uniform: bool = False


Form = Linear | Unknown
