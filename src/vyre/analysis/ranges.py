"""Between which ends numbers lie at one place of a program, for one launch.

The numbers of a launch are known, so that all that is left open are positions, counters and what
memory holds. Sums of these are kept as sums: where a comparison tells something of `32 * t + l`, it
tells the same of `i * n + 32 * t + l`. A number counts as a sum only where it is sure not to have
wrapped around.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import Self

from vyre.analysis.forms import Counter, Gid, Launch, Linear, Symbol, Variable, wrapped
from vyre.analysis.made import Known, Made, Way
from vyre.ir.expr import BinaryOp, UnaryOp
from vyre.ir.types import DataType, int_range

MOST_STEPS = 48
"""How many ways to use what is known are tried for one bound."""

DEEPEST = 3
"""How many comparisons one bound may need."""

_ROUNDS = 4
"""How often ends are narrowed by what is known of sums."""

Ends = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Part:
    """The quotient or the remainder of a sum, divided by a number."""

    of: tuple[frozenset[tuple[Atom, int]], int]
    by: int
    is_rest: bool


Atom = Variable | Part


@dataclass(frozen=True, slots=True)
class Sum:
    """`plus + sum(factor * atom)`, in whole numbers."""

    terms: Mapping[Atom, int]
    plus: int

    @property
    def key(self) -> tuple[frozenset[tuple[Atom, int]], int]:
        return frozenset(self.terms.items()), self.plus

    def add(self, other: Sum, times: int = 1) -> Sum:
        terms = dict(self.terms)
        for atom, factor in other.terms.items():
            total = terms.get(atom, 0) + times * factor
            if total:
                terms[atom] = total
            else:
                terms.pop(atom, None)
        return Sum(terms, self.plus + times * other.plus)

    def times(self, factor: int) -> Sum:
        return Sum({atom: factor * own for atom, own in self.terms.items()}, factor * self.plus)

    def moved(self, by: int) -> Sum:
        return Sum(self.terms, self.plus + by)


class Ranges:
    """What is known where some comparisons hold, in one launch.

    `is_empty` says that no invocation comes there. What is asked of it must be of that place.
    """

    def __init__(self, launch: Launch, known: Iterable[Known] = ()) -> None:
        self.launch = launch
        self.is_empty = False
        self.ends: dict[Atom, Ends] = {}
        self.turned: dict[Atom, Sum] = {}  # what an exclusive or with a number was made of
        self._rules: list[Sum] = []  # sums that are at most 0
        self._sums: dict[Variable, Sum] = {}
        self._steps = 0
        self._learn(known)

    def assuming(self, known: Iterable[Known]) -> Self:
        """What is known where these hold as well."""
        other = type(self)(self.launch)
        other.is_empty = self.is_empty
        other.ends, other.turned = dict(self.ends), dict(self.turned)
        other._rules, other._sums = list(self._rules), dict(self._sums)
        other._learn(known)
        return other

    # -- numbers

    def exact(self, form: Linear) -> Sum | None:
        """The number that a form is, where it wraps around by no or by one known amount."""
        return self._fitted(self._raw(form), form.dtype)

    def range(self, form: Linear) -> Ends:
        """The ends of what a form can be."""
        found = self.exact(form)
        if found is None:
            return int_range(form.dtype)
        low, high = self.lower(found), self.upper(found)
        return low, max(low, high)  # below the lower end only where nobody comes

    def is_within(self, form: Linear, length: int) -> bool:
        """Whether a form is an index of `length` elements, wherever this is reached."""
        found = self.exact(form)
        if self.is_empty or any(map(self._never_runs, form.terms)):
            return True
        return (
            found is not None
            and self.lower(found, 0) >= 0
            and self.upper(found, length - 1) < length
        )

    def _never_runs(self, variable: Variable) -> bool:
        if not isinstance(variable, Counter):
            return False
        first, last = self._rounds_of(variable)
        return last < first

    def upper(self, sum_: Sum, enough: int | None = None) -> int:
        """A number that a sum does not exceed; the search ends at one that is `enough`."""
        best = self._box(sum_)
        if not self._rules or (enough is not None and best <= enough):
            return best
        self._steps = 0
        return self._search(sum_, best, enough, DEEPEST)

    def lower(self, sum_: Sum, enough: int | None = None) -> int:
        """A number that a sum does not go below."""
        return -self.upper(sum_.times(-1), None if enough is None else -enough)

    def _raw(self, form: Linear) -> Sum:
        """A form in whole numbers, up to multiples of what its type holds."""
        total = Sum({}, form.offset.at(self.launch))
        for variable, factor in form.terms.items():
            total = total.add(self._sum(variable), factor.at(self.launch))
        whole = 1 << form.dtype.bits
        terms: dict[Atom, int] = {}
        for atom, own in total.terms.items():
            near = (own + whole // 2 - 1) % whole - (whole // 2 - 1)
            if near:
                terms[atom] = near
        return Sum(terms, total.plus)

    def _fitted(self, sum_: Sum, dtype: DataType) -> Sum | None:
        """A sum that is congruent to a number of `dtype`, as that number."""
        (least, most), whole = int_range(dtype), 1 << dtype.bits
        low = self._box(sum_.times(-1)) * -1
        moved = sum_.moved(-((low - least) // whole * whole))
        if self.upper(moved, most) <= most:
            return moved
        # Ends that belong together may tell more than each by itself.
        low = self.lower(sum_)
        moved = sum_.moved(-((low - least) // whole * whole))
        return moved if self.upper(moved, most) <= most else None

    def _box(self, sum_: Sum) -> int:
        total = sum_.plus
        for atom, factor in sum_.terms.items():
            low, high = self.ends[atom]
            total += factor * (high if factor > 0 else low)
        return total

    def _search(self, sum_: Sum, best: int, enough: int | None, depth: int) -> int:
        for rule in self._rules:
            for atom, factor in rule.terms.items():
                own = sum_.terms.get(atom, 0)
                if own * factor <= 0:
                    continue
                self._steps += 1
                if self._steps > MOST_STEPS:
                    return best
                # What is at most 0 may be taken away, as often as it pays.
                share = Fraction(own, factor)
                scale = share.denominator
                rest = sum_.times(scale).add(rule, -share.numerator)
                best = min(best, self._box(rest) // scale)
                if depth > 1 and (enough is None or best > enough):
                    best = min(best, self._search(rest, best * scale, None, depth - 1) // scale)
                if enough is not None and best <= enough:
                    return best
        return best

    # -- what is known

    def _learn(self, known: Iterable[Known]) -> None:
        waiting = list(known)
        for _ in range(_ROUNDS):
            before, waiting = waiting, [one for one in waiting if not self._use(one)]
            if not waiting or len(waiting) == len(before):
                return

    def _use(self, known: Known) -> bool:
        """Narrow what numbers can be; False where that is not possible yet."""
        if known.is_uniform:
            self.is_empty |= not known.holds(self.launch)
            return True
        right = self.exact(known.right)
        left = self.exact(known.left)
        if left is None and right is not None and known.op in (BinaryOp.LT, BinaryOp.LE):
            left = self._not_below(known.left, self.upper(right))
        if left is None or right is None:
            return False
        apart = left.add(right, -1)
        match known.op:
            case BinaryOp.LT:
                self._rule(apart.moved(1))
            case BinaryOp.LE:
                self._rule(apart)
            case BinaryOp.EQ:
                self._rule(apart)
                self._rule(apart.times(-1))
            case _:
                low, high = self.lower(apart), self.upper(apart)
                if low == 0:
                    self._rule(apart.times(-1).moved(1))
                elif high == 0:
                    self._rule(apart.moved(1))
                elif low < 0 < high:
                    return False
        return True

    def _not_below(self, form: Linear, most: int) -> Sum | None:
        """A form that is at most `most`, and so is not what wrapped around below 0."""
        raw, whole = self._raw(form), 1 << form.dtype.bits
        low, high = self.lower(raw), self.upper(raw)
        if form.dtype.is_unsigned and low + whole > most and high < whole:
            self._rule(raw.times(-1))
            return raw
        return None

    def _rule(self, sum_: Sum) -> None:
        """Keep that a sum is at most 0."""
        self._rules.append(sum_)
        for _ in range(_ROUNDS):
            narrowed = sum(map(self._narrow, self._rules))
            if not narrowed or self.is_empty:
                return

    def _narrow(self, rule: Sum) -> bool:
        """Narrow the ends of a sum's atoms; whether any were."""
        least = -self._box(rule.times(-1))
        if least > 0:
            self.is_empty = True
            return False
        changed = False
        for atom, factor in rule.terms.items():
            low, high = self.ends[atom]
            # The others add up to at least `rest`, so that factor * atom <= -rest.
            rest = least - factor * (low if factor > 0 else high)
            if factor > 0:
                high = min(high, -rest // factor)
            else:
                low = max(low, -(-rest // -factor))
            if low > high:
                self.is_empty = True
                return False
            if (low, high) != self.ends[atom]:
                self.ends[atom], changed = (low, high), True
        return changed

    # -- what numbers are made of

    def _sum(self, variable: Variable) -> Sum:
        found = self._sums.get(variable)
        if found is None:
            match variable:
                case Gid(axis):
                    last = self.launch.value(Symbol("extent", axis=axis)) - 1
                    self.is_empty |= last < 0
                    found = self._atom(variable, (0, max(last, 0)))
                case Counter():
                    found = self._counter(variable)
                case _:
                    assert isinstance(variable, Made)
                    found = self._made(variable)
            self._sums[variable] = found
        return found

    def _atom(self, atom: Atom, ends: Ends) -> Sum:
        if ends[0] == ends[1]:
            return Sum({}, ends[0])
        self.ends.setdefault(atom, ends)
        return Sum({atom: 1}, 0)

    def _counter(self, counter: Counter) -> Sum:
        first, last = self._rounds_of(counter)
        return self._atom(counter, (first, max(first, last)))

    def _rounds_of(self, counter: Counter) -> Ends:
        """The counter in the first and in the last round; the last is below where there is none."""
        start, stop = counter.start.at(self.launch), counter.stop.at(self.launch)
        return wrapped(start, counter.dtype), wrapped(stop, counter.dtype) - 1

    def _made(self, made: Made) -> Sum:
        match made.how:
            case Way.ANY | Way.LOAD:
                return self._atom(made, int_range(made.dtype))
            case Way.CAST:
                return self._cast(made)
            case Way.SELECT:
                return self._choice(made)
            case UnaryOp():
                return self._absolute(made)
            case _:
                return self._operation(made)

    def _cast(self, made: Made) -> Sum:
        (operand,) = made.operands
        exact = self.exact(operand)
        if exact is not None:
            fitted = self._fitted(exact, made.dtype)
            return fitted or self._atom(made, int_range(made.dtype))
        (low, high), (least, most) = int_range(operand.dtype), int_range(made.dtype)
        return self._atom(made, (low, high) if least <= low and high <= most else (least, most))

    def _choice(self, made: Made) -> Sum:
        first, second = made.operands
        yes, no = self.assuming(made.known), self.assuming(made.otherwise)
        for taken, other, form in ((yes, no, first), (no, yes, second)):
            found = taken.exact(form) if other.is_empty else None
            if found is not None:
                for atom in found.terms:
                    self.ends.setdefault(atom, taken.ends[atom])
                return found
        a, b = yes.range(first), no.range(second)
        return self._atom(made, (min(a[0], b[0]), max(a[1], b[1])))

    def _absolute(self, made: Made) -> Sum:
        (operand,) = made.operands
        exact, (low, high) = self.exact(operand), self.range(operand)
        if exact is not None and low >= 0:
            return exact
        if low <= int_range(made.dtype)[0]:
            return self._atom(made, int_range(made.dtype))
        return self._atom(made, (0, max(-low, high)))

    def _operation(self, made: Made) -> Sum:
        left, right = made.operands
        a, b = self.range(left), self.range(right)
        exact = self._by_sums(made, self.exact(left), self.exact(right), a, b)
        if exact is not None:
            return exact
        least, most = int_range(made.dtype)
        ends = _ends(made.how, a, b) if a[0] >= 0 and b[0] >= 0 else None
        if made.how in (BinaryOp.MIN, BinaryOp.MAX):
            best = min if made.how is BinaryOp.MIN else max
            ends = best(a[0], b[0]), best(a[1], b[1])
        fits = ends is not None and least <= ends[0] and ends[1] <= most
        found = self._atom(made, ends if ends is not None and fits else (least, most))
        sign = {BinaryOp.MIN: 1, BinaryOp.MAX: -1}.get(made.how)  # type: ignore[arg-type]
        if sign is not None:
            for sum_ in (self.exact(left), self.exact(right)):
                if sum_ is not None:
                    self._rule(found.add(sum_, -1).times(sign))
        return found

    def _by_sums(
        self, made: Made, left: Sum | None, right: Sum | None, a: Ends, b: Ends
    ) -> Sum | None:
        """What an operator makes of two sums, where that is a sum."""
        number = b[0] if b[0] == b[1] else None
        how, bits = made.how, made.dtype.bits
        if left is None:
            return None
        floors = a[0] >= 0 or how in (BinaryOp.FLOOR_DIV, BinaryOp.FLOOR_MOD)
        match how:
            case BinaryOp.DIV | BinaryOp.FLOOR_DIV if number is not None and number > 0 and floors:
                return self._divided(left, number)[0]
            case BinaryOp.MOD | BinaryOp.FLOOR_MOD if number is not None and number > 0 and floors:
                return self._divided(left, number)[1]
            case BinaryOp.SHR if number is not None and a[0] >= 0:
                return self._divided(left, 1 << (number & (bits - 1)))[0]
            case BinaryOp.SHL if number is not None:
                return self._fitted(left.times(1 << (number & (bits - 1))), made.dtype)
            case BinaryOp.MUL if right is not None and not (left.terms and right.terms):
                times, by = (left, right.plus) if not right.terms else (right, left.plus)
                return self._fitted(times.times(by), made.dtype)
        if right is None:
            return None
        match how:
            case BinaryOp.MIN if a[1] <= b[0]:
                return left
            case BinaryOp.MIN if b[1] <= a[0]:
                return right
            case BinaryOp.MAX if a[0] >= b[1]:
                return left
            case BinaryOp.MAX if b[0] >= a[1]:
                return right
            case BinaryOp.SAT_SUB | BinaryOp.ABS_DIFF if a[0] >= b[1] and b[0] >= 0:
                return left.add(right, -1)
            case BinaryOp.BIT_AND | BinaryOp.BIT_OR | BinaryOp.BIT_XOR if a[0] >= 0 and b[0] >= 0:
                if a[0] == a[1]:
                    left, right, a, b = right, left, b, a
                return self._bits(made, left, right, a, b)
            case _:
                return None

    def _bits(self, made: Made, left: Sum, right: Sum, a: Ends, b: Ends) -> Sum | None:
        """Of numbers that are not negative; a constant is the second."""
        number = b[0] if b[0] == b[1] else None
        if made.how is BinaryOp.BIT_AND:
            if number is not None and number & (number + 1) == 0:
                return self._divided(left, number + 1)[1]
            cleared = 0 if number is None else (1 << made.dtype.bits) - number
            if cleared > 0 and cleared & (cleared - 1) == 0:
                return left.add(self._divided(left, cleared)[1], -1)
            return None
        if _zeros(left) > b[1] or _zeros(right) > a[1]:
            return left.add(right)  # no bit is set in both
        if number is not None and made.how is BinaryOp.BIT_XOR:
            self.turned[made] = left
        return None

    def _divided(self, sum_: Sum, by: int) -> tuple[Sum, Sum]:
        """Quotient and remainder, rounded down."""
        whole = {atom: own // by for atom, own in sum_.terms.items() if own % by == 0}
        rest = Sum({a: own for a, own in sum_.terms.items() if own % by}, sum_.plus % by)
        quotient = Sum(whole, sum_.plus // by)
        low, high = self.lower(rest), self.upper(rest)
        if low // by == high // by:
            return quotient.moved(low // by), rest.moved(-(low // by) * by)
        parts = [Part(rest.key, by, is_rest) for is_rest in (False, True)]
        is_new = parts[0] not in self.ends
        own = self._atom(parts[0], (low // by, high // by))
        left = self._atom(parts[1], (0, by - 1))
        if is_new:
            apart = own.times(by).add(left).add(rest, -1)
            self._rule(apart)
            self._rule(apart.times(-1))
        return quotient.add(own), left


def _zeros(sum_: Sum) -> int:
    """A power of two that divides a sum."""
    common = gcd(sum_.plus, *sum_.terms.values())
    return common & -common if common else 1 << 64


def _ends(how: object, a: Ends, b: Ends) -> Ends | None:
    """The ends of what an operator makes of numbers that are not negative."""
    most = max(a[1], b[1])
    match how:
        case BinaryOp.DIV | BinaryOp.FLOOR_DIV:
            return (a[0] // b[1] if b[0] else 0, a[1] // max(b[0], 1))
        case BinaryOp.MOD | BinaryOp.FLOOR_MOD:
            return 0, min(a[1], max(b[1] - 1, 0))
        case BinaryOp.SHR:
            return 0, a[1]
        case BinaryOp.BIT_AND:
            return 0, min(a[1], b[1])
        case BinaryOp.BIT_OR:
            return max(a[0], b[0]), (1 << most.bit_length()) - 1
        case BinaryOp.BIT_XOR:
            return 0, (1 << most.bit_length()) - 1
        case BinaryOp.MUL:
            return a[0] * b[0], a[1] * b[1]
        case BinaryOp.SAT_SUB:
            return max(a[0] - b[1], 0), max(a[1] - b[0], 0)
        case BinaryOp.ABS_DIFF:
            return 0, max(a[1] - b[0], b[1] - a[0])
        case _:
            return None


class Worlds:
    """A launch, and what was found out of its places."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self._values: dict[Symbol, int] = {}
        self._places: dict[tuple[Known, ...], Ranges] = {}

    def value(self, symbol: Symbol) -> int:
        found = self._values.get(symbol)
        if found is None:
            found = self._values[symbol] = self.launch.value(symbol)
        return found

    def where(self, known: tuple[Known, ...]) -> Ranges:
        """What is known where these comparisons hold."""
        found = self._places.get(known)
        if found is None:
            found = self._places[known] = Ranges(self, known)
        return found
