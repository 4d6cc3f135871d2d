"""What a kernel brings to workgroup memory, and how its lanes read it there.

Every lane of a workgroup comes by every barrier, also those beyond the extent: they compute with
what they find, checked like everything else, and store nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vyre.analysis.facts import MemoryAccess
from vyre.emit.accesses import Spot, spot_of
from vyre.emit.chunks import Chunks, Rounds
from vyre.emit.filling import TILES, Filling, Shelf, times
from vyre.emit.here import Element, Here
from vyre.emit.items import Items
from vyre.emit.names import Kind
from vyre.emit.staging import ROUND, Stage, arranged
from vyre.emit.terms import Terms
from vyre.ir.expr import IdKind

_WORDS = {0: "column", 1: "line", 2: "plane"}  # what positions along an axis are called


@dataclass(frozen=True, slots=True)
class Loaded:
    """Lines that load elements, and where each of them is then."""

    lines: list[str]
    elements: dict[Element, str]
    is_end: bool = False  # whether only the lane at an end of several loads it


class Shelves:
    """Writes the kernel around statements whose reads go through workgroup memory."""

    def __init__(self, terms: Terms, found: Mapping[Spot, Stage]) -> None:
        assert terms.code.group is not None
        self.terms, self.code, self.group = terms, terms.code, terms.code.group
        self.items, self.filling, self.found = Items.of(self.code), Filling(terms), found
        self.by_stage = {stage: self._shelf(stage) for stage in dict.fromkeys(found.values())}

    def _shelf(self, stage: Stage) -> Shelf:
        names, decl = self.terms.names, self.terms.buffers[stage.buffer]
        return Shelf(
            arranged(stage, self.code),
            decl,
            names.fresh(Kind.NEAR, stage.buffer),
            names.fresh(Kind.AHEAD, stage.buffer),
            names.fresh(Kind.NOW, stage.buffer),
            names.fresh(Kind.BASE, stage.buffer),
        )

    def of(self, access: MemoryAccess) -> Stage | None:
        """The stage that an access reads, if it reads one."""
        return self.found.get(spot_of(access))

    def of_loop(self, counter: str | None) -> list[Shelf]:
        """What a loop's rounds read, by the name of its counter; None: what no loop's do."""
        return [shelf for stage, shelf in self.by_stage.items() if stage.loop == counter]

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
        terms = self.terms
        for shelf in self.by_stage.values():
            length = shelf.arrangement.halves * shelf.arrangement.length
            stored = terms.stored(shelf.decl)
            yield f"    {terms.dialect.aligned_local} {stored} {shelf.near}[{length}];"
        yield from self._positions()
        yield from self._limits()
        for shelf in self.by_stage.values():
            yield f"    const u32 {shelf.base} = {self._base(shelf)};"
        once = self.of_loop(None)
        for shelf in once:
            yield from self.filling.bring(shelf, "", "    ", self.filling.everyone)
        if once:
            yield f"    {terms.dialect.barrier}"

    def _positions(self) -> Iterator[str]:
        """A lane's number, where its tile begins, and where each of its items is."""
        terms, (x, y, _) = self.terms, self.group
        local = [terms.id(IdKind.LOCAL, axis) for axis in range(3)]
        yield f"    const u32 lane = ({local[2]} * {y}u + {local[1]}) * {x}u + {local[0]};"
        for axis, tile in TILES.items():
            size = self.group[axis] * self.items.counts[axis]
            yield f"    const u32 {tile} = {terms.id(IdKind.WORKGROUP, axis)} * {size}u;"
        lane = self._lane()
        for axis, names in self.here.positions.items():
            start = f"{TILES[axis]} + {lane[axis]}" if lane[axis] else TILES[axis]
            for item, name in enumerate(names):
                step = self._step(axis, item)
                yield f"    const u32 {name} = {start}{f' + {step}u' if step else ''};"

    def _limits(self) -> Iterator[str]:
        """Whether a lane has items of its own, and whether all of its tile is in the extent."""
        own = self.filling.everyone.lanes // (1 + self.code.loaders)
        yield f"    const bool mine = {f'lane < {own}u' if self.code.loaders else 'true'};"
        spans = [size * each for size, each in zip(self.group, self.items.counts, strict=True)]
        inside = [
            f"{self.terms.word_extent(axis)} - {TILES[axis]} >= {span}u"
            for axis, span in enumerate(spans)
            if span > 1
        ]
        whole = ["mine"] if self.code.fitted else ["mine", *inside]
        yield f"    const bool whole = {' && '.join(whole)};"

    def _lane(self) -> dict[int, str]:
        """Where a lane's first item is in its tile, by axis."""
        x, y = (self.terms.id(IdKind.LOCAL, axis) for axis in (0, 1))
        return {
            0: times(x, self.items.run) if self.group[0] > 1 else "",
            1: times(y, self.items.counts[1]) if self.group[1] > 1 else "",
            2: "",
        }

    def _step(self, axis: int, number: int) -> int:
        """How far an item is from the first along an axis."""
        return number if axis else self.items.step(number, self.group[0])

    def _base(self, shelf: Shelf) -> str:
        parts = [
            times(text, stride)
            for axis, text in self._lane().items()
            if text and (stride := shelf.arrangement.stride(axis))
        ]
        return " + ".join(parts) or "0u"

    # -- reading

    def loop(self, rounds: Rounds, here: Here) -> Iterator[str]:
        """A loop whose rounds read what is brought in chunks."""
        return Chunks(self.filling, self.of_loop(rounds.counter)).loop(rounds, here)

    def registers(self, stage: Stage, elements: dict[Element, int], here: Here) -> Loaded:
        """The lines that read elements of a stage, each by one of its items, and where they are."""
        terms, pad, shelf = self.terms, here.pad, self.by_stage[stage]
        dtype, width = terms.stored_type(shelf.decl), shelf.arrangement.read
        at = {element: self._offset(shelf, item) for element, item in elements.items()}
        groups: dict[int, list[Element]] = {}
        for element, offset in sorted(at.items(), key=lambda pair: pair[1]):
            groups.setdefault(offset // width, []).append(element)
        source, begin = self._source(shelf)
        lines: list[str] = []
        texts: dict[Element, str] = {}
        for some in groups.values():
            offset = at[some[0]]
            where = f"{source} + {begin}{f' + {offset}u' if offset else ''}"
            name = terms.names.fresh(Kind.ROW, stage.buffer)
            if width > 1 and len(some) == width:
                lines.append(pad + terms.dialect.load_vector(dtype, width, name, where))
                for number, element in enumerate(some):
                    texts[element] = terms.dialect.component(dtype, width, name, number)
                continue
            for element in some:
                name = terms.names.fresh(Kind.ROW, stage.buffer)
                offset = at[element]
                index = f"{begin}{f' + {offset}u' if offset else ''}"
                lines.append(f"{pad}const {terms.stored(shelf.decl)} {name} = {source}[{index}];")
                texts[element] = name
        return Loaded(lines, texts)

    def _offset(self, shelf: Shelf, item: int) -> int:
        """How far what an item reads lies from what a lane's first does."""
        steps = enumerate(self.items.place(item))
        return sum(self._step(axis, own) * shelf.arrangement.stride(axis) for axis, own in steps)

    def _source(self, shelf: Shelf) -> tuple[str, str]:
        """The memory that is read, and where a lane's own begin there, of round `q` in a loop."""
        if shelf.arrangement.stage.loop is None:
            return shelf.near, shelf.base
        stride = shelf.arrangement.stride(ROUND)
        return shelf.now, f"{shelf.base} + {f'q * {stride}u' if stride > 1 else 'q'}"
