"""How a workgroup's memory is filled: a lane brings a vector or an element in each of its turns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod

from vyre.analysis.forms import Poly, Symbol
from vyre.emit.operations import bare
from vyre.emit.staging import ROUND, Arrangement, lanes_of
from vyre.emit.terms import Terms
from vyre.ir.declare import BufferDecl
from vyre.ir.types import DataType

TILES = {0: "tile_column", 1: "tile_line", 2: "tile_plane"}
"""Where a workgroup's tile begins along each axis."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """What a stage has in the source: its memory, what is under way, and the half that is read."""

    arrangement: Arrangement
    decl: BufferDecl
    near: str
    ahead: str
    now: str
    base: str  # of a lane, in its half


@dataclass(frozen=True, slots=True)
class Team:
    """The lanes that bring something together: how many, and which is the first."""

    lanes: int
    first: int

    @property
    def number(self) -> str:
        """Which one of them a lane is."""
        return f"(lane - {self.first}u)" if self.first else "lane"


@dataclass(frozen=True, slots=True)
class _Turns:
    """The turns in which a team brings what an arrangement holds, a vector or an element in each.

    Where lanes fill whole rows, or a row is whole turns of them, a lane goes on by numbers that are
    known: what it loads, and where that goes, is found once for all of its turns. Not where an
    index may begin before 0: that is 4 thousand million rows further on.
    """

    arrangement: Arrangement
    team: Team
    steps: Mapping[int, str] | None  # how far a turn goes along each axis; None: each finds its own

    @classmethod
    def of(cls, arrangement: Arrangement, team: Team) -> _Turns:
        *outer, wide = arrangement.sizes
        along, lanes = wide // arrangement.brought, team.lanes
        last, tall = len(outer), max(outer, default=1)
        steps: dict[int, str] | None = {}
        if prod(outer) != tall or (lanes % along and along % lanes):
            steps = None
        elif tall > 1 and lanes % along == 0:
            steps = {outer.index(tall): f"turn * {lanes // along}u"}
        elif tall > 1 and along == lanes:
            steps = {outer.index(tall): "turn"}
        elif along > lanes:
            whole = along // lanes
            within = f"turn % {whole}u" if tall > 1 else "turn"
            steps = {last: f"{within} * {lanes * arrangement.brought}u"}
            if tall > 1:
                steps[outer.index(tall)] = f"turn / {whole}u"
        if steps and not all(arrangement.stage.begins_inside(axis) for axis in steps):
            steps = None
        return cls(arrangement, team, steps)

    @property
    def units(self) -> int:
        return prod(self.arrangement.sizes) // self.arrangement.brought

    @property
    def count(self) -> int:
        return -(-self.units // self.team.lanes)

    @property
    def unit(self) -> str:
        """Which of what is brought a lane brings."""
        return f"{self.team.number} + turn * {self.team.lanes}u"

    def places(self) -> Iterator[str]:
        """The lines that say where a unit is in the tile, or the first that a lane brings."""
        sizes, width = self.arrangement.sizes, self.arrangement.brought
        rest, among = (self.team.number, self.team.lanes) if self.steps is not None else ("unit", 0)
        last = len(sizes) - 1
        for axis in reversed(range(len(sizes))):
            size = sizes[axis] // (width if axis == last else 1)
            wraps = axis > 0 and (not among or among > size)
            text = f"{rest} % {size}u" if wraps else rest
            if sizes[axis] == 1:
                text = "0u"
            elif axis == last and width > 1:
                text = times(f"({text})" if wraps else text, width)
            yield f"const u32 c{axis} = {text};"
            if size > 1:
                rest, among = f"{rest} / {size}u", among // size
                if among == 1:
                    rest = "0u"

    def plus(self, axis: int) -> str:
        """What a turn adds to the place along an axis."""
        return (self.steps or {}).get(axis, "")


class Filling:
    """Writes how shelves are filled."""

    def __init__(self, terms: Terms) -> None:
        self.terms, self.code = terms, terms.code
        every, first, loaders = lanes_of(self.code)
        self.everyone, self.loaders = Team(every, 0), Team(loaders, first)

    def bring(self, shelf: Shelf, first: str, pad: str, team: Team) -> Iterator[str]:
        """Have a team load and put into the first half of the shelf at once."""
        turns = _Turns.of(shelf.arrangement, team)
        found = f"const {self._type(shelf)} found = {self._load(shelf, turns)};"
        begin = [*self._from(shelf, first), *self._to(shelf, "")]
        yield from _in_turn(turns, begin, [found, *self._put(shelf, turns, "found")], pad)

    def load_ahead(self, shelf: Shelf, first: str, pad: str) -> Iterator[str]:
        """Load what comes next into registers."""
        turns = _Turns.of(shelf.arrangement, self.loaders)
        found = f"{shelf.ahead}[turn] = {self._load(shelf, turns)};"
        yield from _in_turn(turns, list(self._from(shelf, first)), [found], pad)

    def shelve(self, shelf: Shelf, half: str, pad: str) -> Iterator[str]:
        """Put what has come from registers into a half of the shelf."""
        turns = _Turns.of(shelf.arrangement, self.loaders)
        lines = list(self._put(shelf, turns, f"{shelf.ahead}[turn]"))
        yield from _in_turn(turns, list(self._to(shelf, half)), lines, pad)

    def ahead(self, shelf: Shelf, pad: str) -> str:
        """The registers of what is under way."""
        turns = _Turns.of(shelf.arrangement, self.loaders)
        return f"{pad}{self._type(shelf)} {shelf.ahead}[{turns.count}];"

    def _from(self, shelf: Shelf, first: str) -> Iterator[str]:
        """Where a unit is in the array, of a chunk that begins with the round `first`."""
        terms, stage, decl = self.terms, shelf.arrangement.stage, shelf.decl
        at = ""
        for axis, move in enumerate(stage.moves):
            begin = {None: "", ROUND: first}.get(move, TILES.get(move or 0, ""))
            offset = self._number(stage.offsets[axis])
            parts = [part for part in (begin, offset, f"c{axis}") if part]
            yield f"const u32 e{axis} = {' + '.join(parts)};"
            wide = f"({terms.use(DataType.U64)})e{axis}"
            at = f"({at} * {terms.word_dim(decl, axis)} + e{axis})" if axis else wide
        form = terms.dialect.pointer.format(const="const ", type=terms.stored(decl))
        yield f"{form} from = {terms.pointers[decl.name]} + {at};"

    def _to(self, shelf: Shelf, half: str) -> Iterator[str]:
        """Where a unit goes in workgroup memory."""
        found = shelf.arrangement
        parts = [half] if half else []
        parts += [
            times(f"c{axis}", stride)
            for axis, stride in enumerate(found.strides)
            if stride and found.sizes[axis] > 1
        ]
        form = self.terms.dialect.local_pointer.format(const="", type=self.terms.stored(shelf.decl))
        yield f"{form} to = {shelf.near} + ({' + '.join(parts) or '0u'});"

    def _load(self, shelf: Shelf, turns: _Turns) -> str:
        """The expression that loads a unit: 0 outside."""
        terms, found, decl = self.terms, shelf.arrangement, shelf.decl
        width, last = found.brought, len(found.sizes) - 1
        checks, at, length, place = [], "", "", ""
        for axis in range(last + 1):
            length = terms.word_length(decl) if last == 0 else terms.word_dim(decl, axis)
            move, proved = found.stage.moves[axis], found.stage.proved[axis]
            plus = turns.plus(axis)
            place = f"e{axis} + {plus}" if plus else f"e{axis}"
            follows = move not in (ROUND, None) and self.code.fitted and not self.code.checked
            if not (proved and follows and (width == 1 or axis < last)):
                checks.append(f"e{axis} < {length}")
                checks += [f"{plus} < {length} - e{axis}"] if plus else []  # a sum could wrap
                checks += [f"{place} < 0x80000000u"] if found.stage.signed[axis] else []
            if axis:
                at = f"{at} * {terms.word_dim(decl, axis)}" if at else ""
            if plus:
                own = plus if axis == last else f"({terms.use(DataType.U64)})({plus})"
                at = f"({at} + {own})" if at else own
        when = " && ".join(checks)
        stored, dtype = terms.stored(decl), terms.stored_type(decl)
        if width == 1:
            value = f"from[{bare(at) or '0'}]"
            return f"{when} ? {value} : ({stored})0" if when else value
        whole = terms.dialect.vector_value(dtype, width, f"from + {at}" if at else "from", ())
        vector, _ = terms.dialect.vector_type(dtype, width)
        zeros = terms.dialect.vector_of.format(vector=vector, values=", ".join(["0"] * width))
        if last:  # a row is a whole number of vectors, which a launch sees to
            return f"{when} ? {whole} : {zeros}" if when else whole
        begin = f"{at} + " if at else ""
        values = (f"{length} - ({place}) > {k}u ? from[{begin}{k}u] : 0" for k in range(width))
        at_an_end = terms.dialect.vector_of.format(vector=vector, values=", ".join(values))
        return f"!({when}) ? {zeros} : {length} - ({place}) >= {width}u ? {whole} : {at_an_end}"

    def _put(self, shelf: Shelf, turns: _Turns, value: str) -> Iterator[str]:
        terms, found = self.terms, shelf.arrangement
        width = found.brought
        parts = [
            times(f"({plus})" if stride > 1 else plus, stride)
            for axis, stride in enumerate(found.strides)
            if stride and (plus := turns.plus(axis))
        ]
        slot = " + ".join(parts)
        if width == 1:
            yield f"to[{slot or '0'}] = {value};"
            return
        dtype, step = terms.stored_type(shelf.decl), found.strides[-1]
        names = [terms.dialect.component(dtype, width, value, k) for k in range(width)]
        if step == 1:
            yield terms.dialect.store_vector(dtype, f"to + {slot}" if slot else "to", names)
            return
        for number, name in enumerate(names):
            more = [*parts, *([f"{number * step}u"] if number else [])]
            yield f"to[{' + '.join(more) or '0'}] = {name};"

    def _type(self, shelf: Shelf) -> str:
        dtype, width = self.terms.stored_type(shelf.decl), shelf.arrangement.brought
        if width == 1:
            return self.terms.stored(shelf.decl)
        return self.terms.dialect.vector_type(dtype, width)[0]

    def _number(self, poly: Poly) -> str:
        """A number of the launch, in 32 bits that wrap; nothing for 0."""
        terms = []
        for symbols, factor in poly.terms:
            parts = [self._symbol(symbol) for symbol in symbols]
            if factor != 1 or not parts:
                parts.append(f"{factor % (1 << 32)}u")
            terms.append(" * ".join(parts))
        return " + ".join(terms)

    def _symbol(self, symbol: Symbol) -> str:
        terms = self.terms
        match symbol.kind:
            case "extent":
                return terms.word_extent(symbol.axis)
            case "len":
                return terms.word_length(terms.buffers[symbol.name])
            case "dim":
                return terms.word_dim(terms.buffers[symbol.name], symbol.axis)
            case _:
                return f"(u32){terms.pointers[symbol.name]}"


def _in_turn(turns: _Turns, begin: list[str], lines: list[str], pad: str) -> Iterator[str]:
    """A loop over the turns: what begins them is found once, where it may, and else in each."""
    once = turns.steps is not None
    begin = [*turns.places(), *begin]
    body = lines if once else [*begin, *lines]
    if turns.units % turns.team.lanes:
        unit = turns.unit if once else "unit"
        body = [f"if ({unit} < {turns.units}u) {{", *_indented(body), "}"]
    if not once:
        body = [f"const u32 unit = {turns.unit};", *body]
    loop = f"for (u32 turn = 0u; turn < {turns.count}u; ++turn) {{"
    whole = ["#pragma unroll", loop, *_indented(body), "}"]
    if once:
        whole = ["{", *_indented([*begin, *whole]), "}"]
    yield from (pad + line for line in whole)


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"    {line}" for line in lines)


def times(text: str, factor: int) -> str:
    """A product, unless it is by 1."""
    return text if factor == 1 else f"{text} * {factor}u"
