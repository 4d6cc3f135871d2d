"""A kernel whose workgroups bring what they read to memory of their own, and then read it there.

Every lane of a workgroup comes by every barrier, also those beyond the extent: they compute with
what they find, checked like everything else, and store nothing. While one half of the memory is
read, the other is filled: by the lanes themselves, which keep what is under way in registers, or
by lanes that do nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vyre.analysis.facts import MemoryAccess
from vyre.emit.accesses import Spot, spot_of
from vyre.emit.filling import TILES, Filling, Place, times
from vyre.emit.here import Element, Here
from vyre.emit.items import Items
from vyre.emit.names import Kind
from vyre.emit.operations import bare
from vyre.emit.staging import ROUND, Stage, layout
from vyre.emit.terms import Terms
from vyre.ir.expr import IdKind
from vyre.ir.types import DataType

_UNROLLED = 1024
"""Statements that the rounds of a chunk may become, one after the other."""

_WORDS = {0: "column", 1: "line", 2: "plane"}


@dataclass(frozen=True, slots=True)
class Loaded:
    """Lines that load elements, and where each of them is then."""

    lines: list[str]
    elements: dict[Element, str]


class Staged:
    """Writes how stages are filled and read."""

    def __init__(self, terms: Terms, found: dict[Spot, Stage]) -> None:
        self.terms, self.code = terms, terms.code
        self.items = Items.of(self.code)
        self.filling = Filling(terms)
        self.every, self.first_loader = self.filling.every, self.filling.first_loader
        self.found = found
        self.places = {stage: self._place(stage) for stage in dict.fromkeys(found.values())}

    def _place(self, stage: Stage) -> Place:
        names, decl = self.terms.names, self.terms.buffers[stage.buffer]
        return Place(
            layout(stage, self.code),
            decl,
            names.fresh(Kind.NEAR, stage.buffer),
            names.fresh(Kind.AHEAD, stage.buffer),
            names.fresh(Kind.NOW, stage.buffer),
            names.fresh(Kind.BASE, stage.buffer),
        )

    def of(self, access: MemoryAccess) -> Stage | None:
        """The stage that an access reads, if it reads one."""
        return self.found.get(spot_of(access))

    def of_loop(self, counter: str) -> list[Place]:
        """What a loop's rounds read, by the name of its counter."""
        return [place for stage, place in self.places.items() if stage.loop == counter]

    # -- the kernel around the statements

    @property
    def here(self) -> Here:
        """Where statements stand behind the beginning."""
        return Here(
            items=self.items,
            positions={
                axis: tuple(f"{word}{item}" for item in range(self.items.counts[axis]))
                for axis, word in _WORDS.items()
            },
            beyond=bool(self.code.loaders) or not self.code.fitted,
        )

    def beginning(self) -> Iterator[str]:
        """Memory, positions, and what is brought before anything else."""
        terms, items, code = self.terms, self.items, self.code
        assert code.group is not None
        for place in self.places.values():
            length = place.layout.halves * place.layout.length
            stored = terms.stored(place.decl)
            yield f"    {terms.dialect.aligned_local} {stored} {place.near}[{length}];"
        local = [terms.id(IdKind.LOCAL, axis) for axis in range(3)]
        x, y, _ = code.group
        yield f"    const u32 lane = ({local[2]} * {y}u + {local[1]}) * {x}u + {local[0]};"
        for axis, tile in TILES.items():
            size = code.group[axis] * items.counts[axis]
            yield f"    const u32 {tile} = {terms.id(IdKind.WORKGROUP, axis)} * {size}u;"
        lane = self._lane()
        for axis, word in _WORDS.items():
            for item in range(items.counts[axis]):
                step = self._step(axis, item)
                start = f"{TILES[axis]} + {lane[axis]}" if lane[axis] else TILES[axis]
                more = f" + {step}u" if step else ""
                yield f"    const u32 {word}{item} = {start}{more};"
        own = self.every // (1 + code.loaders)
        yield f"    const bool mine = {f'lane < {own}u' if code.loaders else 'true'};"
        spans = [size * each for size, each in zip(code.group, items.counts, strict=True)]
        inside = [
            f"{terms.word_extent(axis)} - {TILES[axis]} >= {span}u"
            for axis, span in enumerate(spans)
            if span > 1
        ]
        whole = ["mine"] if code.fitted else ["mine", *inside]
        yield f"    const bool whole = {' && '.join(whole)};"
        for place in self.places.values():
            yield f"    const u32 {place.base} = {self._base(place)};"
        once = [place for stage, place in self.places.items() if stage.loop is None]
        for place in once:
            yield from self.filling.bring(place, "", "", "    ", by_all=True)
        if once:
            yield f"    {terms.dialect.barrier}"

    def _lane(self) -> dict[int, str]:
        """Where a lane's first item is in its tile, by axis."""
        local, code = self.terms.id, self.code
        assert code.group is not None
        run, lines = self.items.run, self.items.counts[1]
        return {
            0: times(local(IdKind.LOCAL, 0), run) if code.group[0] > 1 else "",
            1: times(local(IdKind.LOCAL, 1), lines) if code.group[1] > 1 else "",
            2: "",
        }

    def _step(self, axis: int, item: int) -> int:
        """How far an item is from the first along an axis."""
        assert self.code.group is not None
        if axis:
            return item
        block, within = divmod(item, self.items.run)
        return block * self.code.group[0] * self.items.run + within

    def _base(self, place: Place) -> str:
        parts = [
            times(text, stride)
            for axis, text in self._lane().items()
            if text and (stride := place.layout.stride(axis))
        ]
        return " + ".join(parts) or "0u"

    # -- reading

    def registers(self, stage: Stage, elements: dict[Element, int], here: Here) -> Loaded:
        """The lines that read elements of a stage, each by one of its items, and where they are."""
        terms, pad, place = self.terms, here.pad, self.places[stage]
        found = place.layout
        source = place.now if stage.loop is not None else place.near
        begin = place.base
        if stage.loop is not None:
            begin += f" + q * {found.stride(ROUND)}u" if found.stride(ROUND) > 1 else " + q"
        at = {}
        for element, item in elements.items():
            steps = zip(self.items.place(item), range(3), strict=True)
            at[element] = sum(self._step(axis, own) * found.stride(axis) for own, axis in steps)
        groups: dict[int, list[Element]] = {}
        for element, offset in sorted(at.items(), key=lambda pair: pair[1]):
            groups.setdefault(offset // found.read, []).append(element)
        dtype = terms.stored_type(place.decl)
        lines: list[str] = []
        texts: dict[Element, str] = {}
        for some in groups.values():
            offset = at[some[0]]
            where = f"{source} + {begin}{f' + {offset}u' if offset else ''}"
            name = terms.names.fresh(Kind.ROW, stage.buffer)
            if found.read > 1 and len(some) == found.read:
                lines.append(pad + terms.dialect.load_vector(dtype, found.read, name, where))
                for number, element in enumerate(some):
                    texts[element] = terms.dialect.component(dtype, found.read, name, number)
                continue
            for element in some:
                name = terms.names.fresh(Kind.ROW, stage.buffer)
                offset = at[element]
                index = f"{begin}{f' + {offset}u' if offset else ''}"
                lines.append(f"{pad}const {terms.stored(place.decl)} {name} = {source}[{index}];")
                texts[element] = name
        return Loaded(lines, texts)

    # -- loops

    def chunks(
        self, counter: str, dtype: DataType, start: str, stop: str, body: list[str], here: Here
    ) -> Iterator[str]:
        """A loop in chunks of rounds; `body` is one round, five levels further in, of round `q`."""
        terms, code, pad, level = self.terms, self.code, here.pad, here.level
        places, depth = self.of_loop(counter), code.depth
        t = terms.use(dtype)
        inner, deep = pad + "    ", pad + "        "
        yield f"{pad}{{"
        yield f"{inner}const {t} begin = {bare(start)}, end = {bare(stop)};"
        yield f"{inner}const u32 rounds = begin < end ? (u32)end - (u32)begin : 0u;"
        yield from (self.filling.ahead(place, inner) for place in places)
        for place in places:
            yield from self.filling.bring(place, "(u32)begin", "", inner, by_all=True)
        if code.loaders:
            yield f"{inner}if (lane >= {self.first_loader}u && rounds > {depth}u) {{"
            for place in places:
                yield from self.filling.fetch(place, f"((u32)begin + {depth}u)", inner + "    ")
            yield f"{inner}}}"
        yield f"{inner}{terms.dialect.barrier}"
        yield f"{inner}u32 side = 0u;"
        yield f"{inner}for (u32 done = 0u; done < rounds; side ^= 1u) {{"
        yield f"{deep}const u32 first = (u32)begin + done;"
        yield f"{deep}const u32 count = rounds - done < {depth}u ? rounds - done : {depth}u;"
        yield f"{deep}const bool more = rounds - done > {depth}u;"
        for place in places:
            stored = terms.stored(place.decl)
            form = terms.dialect.local_pointer.format(const="const ", type=stored)
            yield f"{deep}{form} {place.now} = {place.near} + side * {place.layout.length}u;"
        following = f"(first + {depth}u)"
        if code.loaders:
            # What was asked for a chunk ago has come; what is asked for now has a chunk's time.
            yield f"{deep}if (lane >= {self.first_loader}u) {{"
            yield f"{deep}    if (more) {{"
            for place in places:
                to = f"(side ^ 1u) * {place.layout.length}u"
                yield from self.filling.put(place, to, deep + "        ")
            yield f"{deep}    }}"
            yield f"{deep}    if (rounds - done > {2 * depth}u) {{"
            for place in places:
                yield from self.filling.fetch(place, f"(first + {2 * depth}u)", deep + "        ")
            yield f"{deep}    }}"
            yield f"{deep}}} else if (mine) {{"
            yield from self._rounds(counter, t, body, level + 3)
            yield f"{deep}}}"
        else:
            yield f"{deep}if (more) {{"
            for place in places:
                yield from self.filling.fetch(place, following, deep + "    ")
            yield f"{deep}}}"
            yield f"{deep}{{"
            yield from self._rounds(counter, t, body, level + 3)
            yield f"{deep}}}"
            yield f"{deep}if (more) {{"
            for place in places:
                to = f"(side ^ 1u) * {place.layout.length}u"
                yield from self.filling.put(place, to, deep + "    ")
            yield f"{deep}}}"
        yield f"{deep}{terms.dialect.barrier}"
        yield f"{deep}done += count;"
        yield f"{inner}}}"
        yield f"{pad}}}"

    def _rounds(self, counter: str, t: str, body: list[str], level: int) -> Iterator[str]:
        """The rounds of a chunk: of a whole one, whose number is known, and of the last."""
        pad, depth = "    " * level, self.code.depth
        name = self.terms.names.of(Kind.VARIABLE, counter)
        count = f"{pad}        const {t} {name} = ({t})(first + q);"
        most = 1 << max(_UNROLLED // max(len(body), 1), 1).bit_length() - 1
        unroll = self.code.unroll if self.code.unroll > 1 else min(depth, most)
        yield f"{pad}if (count == {depth}u) {{"
        yield f"{pad}    #pragma unroll {unroll}"
        yield f"{pad}    for (u32 q = 0u; q < {depth}u; ++q) {{"
        yield count
        yield from body
        yield f"{pad}    }}"
        yield f"{pad}}} else {{"
        yield f"{pad}    for (u32 q = 0u; q < count; ++q) {{"
        yield count
        yield from body
        yield f"{pad}    }}"
        yield f"{pad}}}"
