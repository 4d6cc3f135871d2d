"""How a workgroup's memory is filled: a lane brings a vector or an element in each of its turns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from vyre.analysis.forms import Poly, Symbol
from vyre.emit.operations import bare
from vyre.emit.staging import ROUND, Layout, lanes_of
from vyre.emit.terms import Terms
from vyre.ir.declare import BufferDecl

TILES = {0: "tile_column", 1: "tile_line", 2: "tile_plane"}
"""Where a workgroup's tile begins along each axis."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a stage is in the source: its memory, what is under way, and the half that is read."""

    layout: Layout
    decl: BufferDecl
    near: str
    ahead: str
    now: str
    base: str  # of a lane, in its half


class Filling:
    """Writes how stages are filled."""

    def __init__(self, terms: Terms) -> None:
        self.terms, self.code = terms, terms.code
        self.every, self.first_loader, self.loaders = lanes_of(self.code)

    def bring(
        self, place: Place, first: str, half: str, pad: str, *, by_all: bool = False
    ) -> Iterator[str]:
        """Load and put at once; `half` is where to."""
        yield from self._units(place, pad, by_all=by_all)
        inner = pad + "        "
        yield from self._coordinates(place, first, inner, by_all=by_all)
        yield f"{inner}const {self._type(place)} found = {self._load(place)};"
        yield from self._put(place, "found", half, inner)
        yield from (f"{pad}    }}", f"{pad}}}")

    def fetch(self, place: Place, first: str, pad: str) -> Iterator[str]:
        """Load what comes next into registers."""
        yield from self._units(place, pad)
        inner = pad + "        "
        yield from self._coordinates(place, first, inner)
        yield f"{inner}{place.ahead}[turn] = {self._load(place)};"
        yield from (f"{pad}    }}", f"{pad}}}")

    def put(self, place: Place, half: str, pad: str) -> Iterator[str]:
        """Put what has come from registers into memory."""
        yield from self._units(place, pad)
        inner = pad + "        "
        yield from self._coordinates(place, "", inner)
        yield from self._put(place, f"{place.ahead}[turn]", half, inner)
        yield from (f"{pad}    }}", f"{pad}}}")

    def ahead(self, place: Place, pad: str) -> str:
        """The registers of what is under way."""
        return f"{pad}{self._type(place)} {place.ahead}[{self._turns(place)}];"

    def _units_of(self, place: Place) -> int:
        sizes, total = place.layout.sizes, 1
        for size in sizes:
            total *= size
        return total // place.layout.brought

    def _turns(self, place: Place, lanes: int | None = None) -> int:
        return -(-self._units_of(place) // (lanes or self.loaders))

    def _units(self, place: Place, pad: str, *, by_all: bool = False) -> Iterator[str]:
        """The head of a loop over what a lane brings: a vector, or an element, in each turn."""
        lanes, first = (self.every, 0) if by_all else (self.loaders, self.first_loader)
        lane = f"(lane - {first}u)" if first else "lane"
        yield f"{pad}#pragma unroll"
        yield f"{pad}for (u32 turn = 0u; turn < {self._turns(place, lanes)}u; ++turn) {{"
        yield f"{pad}    const u32 unit = {lane} + turn * {lanes}u;"
        units = self._units_of(place)
        yield f"{pad}    if (unit < {units}u) {{" if units % lanes else f"{pad}    {{"

    def _coordinates(
        self, place: Place, first: str, pad: str, *, by_all: bool = False
    ) -> Iterator[str]:
        """Where a unit is in the tile, and, given the `first` round, in the array."""
        lanes, first_lane = (self.every, 0) if by_all else (self.loaders, self.first_loader)
        stage, sizes = place.layout.stage, place.layout.sizes
        last, width = len(sizes) - 1, place.layout.brought
        along = sizes[last] // width
        rest = "unit"
        # Where lanes fill whole rows, a lane stays in its column from turn to turn.
        own = f"(lane - {first_lane}u)" if first_lane else "lane"
        stays = lanes % along == 0 and prod(sizes[:last]) == max(sizes[:last], default=1)
        for axis in reversed(range(len(sizes))):
            size = along if axis == last else sizes[axis]
            text = rest if axis == 0 else f"{rest} % {size}u"
            if sizes[axis] == 1:
                text = "0u"
            elif stays and axis == last:
                text = times(f"({own} % {size}u)", width)
            elif stays:
                text = f"{own} / {along}u + turn * {lanes // along}u"
            elif axis == last:
                text = times(f"({text})" if axis else text, width)
            yield f"{pad}const u32 c{axis} = {text};"
            if size > 1:
                rest = f"unit / {size}u" if rest == "unit" else f"{rest} / {size}u"
        if first or stage.loop is None:
            for axis, move in enumerate(stage.moves):
                begin = {None: "", ROUND: first}.get(move, TILES.get(move or 0, ""))
                offset = self._number(stage.offsets[axis])
                parts = [part for part in (begin, offset, f"c{axis}") if part]
                yield f"{pad}const u32 e{axis} = {' + '.join(parts)};"

    def _load(self, place: Place) -> str:
        """The expression that loads a unit: 0 outside."""
        terms, found = self.terms, place.layout
        decl, width = place.decl, found.brought
        checks, at, length = [], "", ""
        for axis in range(len(found.sizes)):
            flat = len(found.sizes) == 1
            length = terms.word_length(decl) if flat else terms.word_dim(decl, axis)
            move, proved = found.stage.moves[axis], found.stage.proved[axis]
            follows = move not in (ROUND, None) and self.code.fitted and not self.code.checked
            if proved and follows and (width == 1 or axis < len(found.sizes) - 1):
                at = f"({at} * {terms.word_dim(decl, axis)} + e{axis})" if axis else f"e{axis}"
                continue
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

    def _put(self, place: Place, value: str, half: str, pad: str) -> Iterator[str]:
        terms, found = self.terms, place.layout
        width = found.brought
        parts = [half] if half else []
        parts += [
            f"c{axis} * {stride}u" if stride > 1 else f"c{axis}"
            for axis, stride in enumerate(found.strides)
            if stride and found.sizes[axis] > 1
        ]
        slot = " + ".join(parts) or "0u"
        if width == 1:
            yield f"{pad}{place.near}[{slot}] = {value};"
            return
        dtype, step = terms.stored_type(place.decl), found.strides[-1]
        names = [terms.dialect.component(dtype, width, value, k) for k in range(width)]
        if step == 1:
            yield pad + terms.dialect.store_vector(dtype, f"{place.near} + {slot}", names)
            return
        for number, name in enumerate(names):
            more = f" + {number * step}u" if number else ""
            yield f"{pad}{place.near}[{slot}{more}] = {name};"

    def _type(self, place: Place) -> str:
        dtype, width = self.terms.stored_type(place.decl), place.layout.brought
        if width == 1:
            return self.terms.stored(place.decl)
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
