"""How a workgroup's memory is filled: a lane brings a vector or an element in each of its turns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from vyre.analysis.forms import Poly, Symbol
from vyre.emit.operations import bare
from vyre.emit.staging import ROUND, Arrangement, lanes_of
from vyre.emit.terms import Terms
from vyre.ir.declare import BufferDecl

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


class Filling:
    """Writes how shelves are filled."""

    def __init__(self, terms: Terms) -> None:
        self.terms, self.code = terms, terms.code
        every, first, loaders = lanes_of(self.code)
        self.everyone, self.loaders = Team(every, 0), Team(loaders, first)

    def bring(self, shelf: Shelf, first: str, half: str, pad: str) -> Iterator[str]:
        """Load and put into a half of the shelf at once; all lanes do."""
        inner = pad + "        "
        yield from self._units(shelf, self.everyone, pad)
        yield from self._coordinates(shelf, self.everyone, inner)
        yield from self._elements(shelf, first, inner)
        yield f"{inner}const {self._type(shelf)} found = {self._load(shelf)};"
        yield from self._put(shelf, "found", half, inner)
        yield from (f"{pad}    }}", f"{pad}}}")

    def load_ahead(self, shelf: Shelf, first: str, pad: str) -> Iterator[str]:
        """Load what comes next into registers."""
        inner = pad + "        "
        yield from self._units(shelf, self.loaders, pad)
        yield from self._coordinates(shelf, self.loaders, inner)
        yield from self._elements(shelf, first, inner)
        yield f"{inner}{shelf.ahead}[turn] = {self._load(shelf)};"
        yield from (f"{pad}    }}", f"{pad}}}")

    def shelve(self, shelf: Shelf, half: str, pad: str) -> Iterator[str]:
        """Put what has come from registers into a half of the shelf."""
        inner = pad + "        "
        yield from self._units(shelf, self.loaders, pad)
        yield from self._coordinates(shelf, self.loaders, inner)
        yield from self._put(shelf, f"{shelf.ahead}[turn]", half, inner)
        yield from (f"{pad}    }}", f"{pad}}}")

    def ahead(self, shelf: Shelf, pad: str) -> str:
        """The registers of what is under way."""
        return f"{pad}{self._type(shelf)} {shelf.ahead}[{self._turns(shelf, self.loaders)}];"

    def _units_of(self, shelf: Shelf) -> int:
        return prod(shelf.arrangement.sizes) // shelf.arrangement.brought

    def _turns(self, shelf: Shelf, team: Team) -> int:
        return -(-self._units_of(shelf) // team.lanes)

    def _units(self, shelf: Shelf, team: Team, pad: str) -> Iterator[str]:
        """The head of a loop over what a lane brings: a vector, or an element, in each turn."""
        yield f"{pad}#pragma unroll"
        yield f"{pad}for (u32 turn = 0u; turn < {self._turns(shelf, team)}u; ++turn) {{"
        yield f"{pad}    const u32 unit = {team.number} + turn * {team.lanes}u;"
        units = self._units_of(shelf)
        yield f"{pad}    if (unit < {units}u) {{" if units % team.lanes else f"{pad}    {{"

    def _coordinates(self, shelf: Shelf, team: Team, pad: str) -> Iterator[str]:
        """Where a unit is in the tile."""
        sizes, width, lanes = shelf.arrangement.sizes, shelf.arrangement.brought, team.lanes
        last = len(sizes) - 1
        along = sizes[last] // width
        rest = "unit"
        # Where lanes fill whole rows, a lane stays in its column from turn to turn.
        stays = lanes % along == 0 and prod(sizes[:last]) == max(sizes[:last], default=1)
        for axis in reversed(range(len(sizes))):
            size = along if axis == last else sizes[axis]
            text = rest if axis == 0 else f"{rest} % {size}u"
            if sizes[axis] == 1:
                text = "0u"
            elif stays and axis == last:
                text = times(f"({team.number} % {size}u)", width)
            elif stays:
                text = f"{team.number} / {along}u + turn * {lanes // along}u"
            elif axis == last:
                text = times(f"({text})" if axis else text, width)
            yield f"{pad}const u32 c{axis} = {text};"
            if size > 1:
                rest = f"unit / {size}u" if rest == "unit" else f"{rest} / {size}u"

    def _elements(self, shelf: Shelf, first: str, pad: str) -> Iterator[str]:
        """Where a unit is in the array, of a chunk that begins with the round `first`."""
        stage = shelf.arrangement.stage
        for axis, move in enumerate(stage.moves):
            begin = {None: "", ROUND: first}.get(move, TILES.get(move or 0, ""))
            offset = self._number(stage.offsets[axis])
            parts = [part for part in (begin, offset, f"c{axis}") if part]
            yield f"{pad}const u32 e{axis} = {' + '.join(parts)};"

    def _load(self, shelf: Shelf) -> str:
        """The expression that loads a unit: 0 outside."""
        terms, found = self.terms, shelf.arrangement
        decl, width = shelf.decl, found.brought
        checks, at, length = [], "", ""
        for axis in range(len(found.sizes)):
            flat = len(found.sizes) == 1
            length = terms.word_length(decl) if flat else terms.word_dim(decl, axis)
            move, proved = found.stage.moves[axis], found.stage.proved[axis]
            follows = move not in (ROUND, None) and self.code.fitted and not self.code.checked
            if not (proved and follows and (width == 1 or axis < len(found.sizes) - 1)):
                checks.append(f"e{axis} < {length}")
                checks += [f"e{axis} < 0x80000000u"] if found.stage.signed[axis] else []
            at = f"({at} * {terms.word_dim(decl, axis)} + e{axis})" if axis else f"e{axis}"
        pointer, when = terms.pointers[decl.name], " && ".join(checks)
        if width == 1 and not checks:
            return f"{pointer}[{bare(at)}]"
        if width == 1:
            return f"{when} ? {pointer}[{bare(at)}] : ({terms.stored(decl)})0"
        last = f"e{len(found.sizes) - 1}"
        dtype = terms.stored_type(decl)
        vector, _ = terms.dialect.vector_type(dtype, width)
        values = (
            f"{length} - {last} > {k}u ? {pointer}[{bare(at)} + {k}u] : 0" for k in range(width)
        )
        at_an_end = terms.dialect.vector_of.format(vector=vector, values=", ".join(values))
        whole = terms.dialect.vector_value(dtype, width, f"{pointer} + ({bare(at)})", ())
        zeros = terms.dialect.vector_of.format(vector=vector, values=", ".join(["0"] * width))
        return f"!({when}) ? {zeros} : {length} - {last} >= {width}u ? {whole} : {at_an_end}"

    def _put(self, shelf: Shelf, value: str, half: str, pad: str) -> Iterator[str]:
        terms, found = self.terms, shelf.arrangement
        width = found.brought
        parts = [half] if half else []
        parts += [
            f"c{axis} * {stride}u" if stride > 1 else f"c{axis}"
            for axis, stride in enumerate(found.strides)
            if stride and found.sizes[axis] > 1
        ]
        slot = " + ".join(parts) or "0u"
        if width == 1:
            yield f"{pad}{shelf.near}[{slot}] = {value};"
            return
        dtype, step = terms.stored_type(shelf.decl), found.strides[-1]
        names = [terms.dialect.component(dtype, width, value, k) for k in range(width)]
        if step == 1:
            yield pad + terms.dialect.store_vector(dtype, f"{shelf.near} + {slot}", names)
            return
        for number, name in enumerate(names):
            more = f" + {number * step}u" if number else ""
            yield f"{pad}{shelf.near}[{slot}{more}] = {name};"

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


def times(text: str, factor: int) -> str:
    """A product, unless it is by 1."""
    return text if factor == 1 else f"{text} * {factor}u"
