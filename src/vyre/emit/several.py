"""Invocations of several items: whole tiles side by side, what is left of them one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vyre.emit.counters import Counters
from vyre.emit.here import Here
from vyre.emit.items import Items
from vyre.emit.jam import Jam
from vyre.emit.lanes import returns_early
from vyre.emit.windows import Window, is_worth_a_copy, windows
from vyre.emit.writer import Writer
from vyre.ir.expr import IdKind

_LINES = {1: "line", 2: "plane"}  # what items along an axis are called


class Several:
    """Writes the statements of a kernel for all items of an invocation."""

    def __init__(self, writer: Writer, counters: Counters) -> None:
        terms = writer.terms
        self.writer, self.terms, self.counters = writer, terms, counters
        self.program, self.code, self.dialect = terms.program, terms.code, terms.dialect
        self.items = Items.of(self.code)
        self.early = returns_early(self.program)
        self.lane, self.width = terms.id(IdKind.LOCAL, 0), terms.id(IdKind.WORKGROUP_SIZE, 0)
        self.held = 0  # registers that lines of items load into at once

    @property
    def tall(self) -> tuple[int, ...]:
        """The axes beside x along which there are several items."""
        return tuple(axis for axis in self.items.axes if axis > 0)

    @property
    def tile(self) -> str:
        """The line that says where a workgroup's tile begins along x."""
        group = self.terms.id(IdKind.WORKGROUP, 0)
        return f"    const u32 tile = {group} * {self.width} * {self.items.counts[0]}u;"

    def offset(self, number: int) -> str:
        """Where the item of a number along x lies, from the beginning of the workgroup's tile."""
        return self.items.offset(number, self.lane, self.width)

    def lines(self) -> Iterator[str]:
        """An invocation whose items are all inside runs them together; any other, one by one.

        Positions are compared through what is left of the extent, because the end of the last tile
        can lie beyond 2^32.
        """
        terms, items, early = self.terms, self.items, self.early
        if self.code.fitted and not early:
            yield from self.whole_tiles()
            return
        full = [] if early else list(self.together())
        last = list(self.one_by_one(1 if early else 2))
        single = (axis for axis in terms.guarded if axis > 0 and items.counts[axis] == 1)
        yield from self.writer.guard(tuple(single))
        yield self.tile
        yield f"    if (tile >= {terms.word_extent(0)}) return;"
        yield f"    const u32 left = {terms.word_extent(0)} - tile;"
        inside = [f"left > {self.offset(items.counts[0] - 1)}"]
        for axis in self.tall:
            first, count = f"first_{_LINES[axis]}", items.counts[axis]
            extent = terms.word_extent(axis)
            yield f"    const u32 {first} = {terms.id(IdKind.INVOCATION, axis)} * {count}u;"
            yield f"    if ({first} >= {extent}) return;"
            inside.append(f"{extent} - {first} >= {count}u")
        if early:
            yield from last
            return
        yield from self.counters.declared()
        yield f"    if ({' && '.join(inside)}) {{"
        yield from full
        yield "    } else {"
        yield from last
        yield "    }"
        yield from self.counters.added()

    def whole_tiles(self) -> Iterator[str]:
        """Where every tile is whole, nothing has to be compared with the extent."""
        terms, items = self.terms, self.items
        full = list(self.together(level=1))
        yield self.tile
        for axis in self.tall:
            first, count = f"first_{_LINES[axis]}", items.counts[axis]
            yield f"    const u32 {first} = {terms.id(IdKind.INVOCATION, axis)} * {count}u;"
        yield from self.counters.declared()
        yield from full
        yield from self.counters.added()

    def together(self, level: int = 2) -> Iterator[str]:
        """The position of each item, then the statements for all of them side by side."""
        writer, items = self.writer, self.items
        here = Here(level=level, items=items, positions=self.names)
        yield from self.positions(here.pad)
        found = windows(list(writer.accesses.by_spot.values()), items, self.code.vector)
        here = replace(here, in_lockstep=self.is_in_lockstep(found))
        if not self.code.checked and is_worth_a_copy(found, items):
            yield f"{here.pad}if ({' && '.join(self.interior(found))}) {{"
            yield from Jam(writer).lines(replace(here.deeper(), interior=True))
            yield f"{here.pad}}} else {{"
            yield from Jam(writer).lines(here.deeper())
            yield f"{here.pad}}}"
        else:
            jam = Jam(writer)
            yield from jam.lines(here)
            self.held = jam.loads.held if self.tall else 0

    @property
    def names(self) -> dict[int, tuple[str, ...]]:
        """What the positions of items are called along x, and along axes that have several."""
        words = {0: "pos", **{axis: _LINES[axis] for axis in self.tall}}
        counts = self.items.counts
        return {
            axis: tuple(f"{word}{item}" for item in range(counts[axis]))
            for axis, word in words.items()
        }

    def positions(self, pad: str) -> Iterator[str]:
        """Where each item is along each axis."""
        items, names = self.items, self.names
        first = names[0][0]
        yield f"{pad}const u32 {first} = tile + {self.offset(0)};"
        for item in range(1, items.counts[0]):
            block, within = items.block(item)
            if within:
                place = f"{names[0][item - within]} + {within}u"
            else:
                place = f"{first} + {self.width} * {block * items.run}u"
            yield f"{pad}const u32 {names[0][item]} = {place};"
        for axis in self.tall:
            for item, name in enumerate(names[axis]):
                begin = f"first_{_LINES[axis]}"
                yield f"{pad}const u32 {name} = {begin}{f' + {item}u' if item else ''};"

    def is_in_lockstep(self, found: list[Window]) -> bool:
        """Whether a warp is part of a row, and no border of an array parts its lanes."""
        group, lanes = self.code.group, self.dialect.lanes
        if not self.code.fitted or group is None or lanes == 0:
            return False
        return group[0] % lanes == 0 and all(window.position > 0 for window in found)

    def interior(self, found: list[Window]) -> Iterator[str]:
        """When everything that the items look at is inside its arrays."""
        terms = self.terms
        for window in found:
            decl = terms.buffers[window.buffer]
            whole = terms.word_length(decl)
            length = whole if window.flat else terms.word_dim(decl, window.axis)
            names = self.names.get(window.position)
            here = terms.id(IdKind.INVOCATION, window.position)
            first, last = (names[0], names[-1]) if names else (here, here)
            if window.below:
                yield f"{first} >= {window.below}u"
            yield f"{last} < {length} && {length} - {last} > {window.above}u"

    def one_by_one(self, level: int) -> Iterator[str]:
        """The items in loops, those beyond the extent left out."""
        code, terms, items, early = self.code, self.terms, self.items, self.early
        ends = []
        for axis in reversed(self.tall):
            pad = "    " * level
            at = _LINES[axis]
            first, count, end = f"first_{at}", items.counts[axis], terms.word_extent(axis)
            within = f"{at} < {end} && {at} - {first} < {count}u"
            yield f"{pad}for (u32 {at} = {first}; {within}; ++{at}) {{"
            ends.append(f"{pad}}}")
            level += 1
        pad = "    " * level
        yield f"{pad}for (u32 item = 0u; item < {code.items}u; ++item) {{"
        yield f"{pad}    const u32 offset = {items.offset_in_turn(self.lane, self.width)};"
        yield f"{pad}    if (offset >= left) break;"
        yield f"{pad}    const u32 pos = tile + offset;"
        if early:
            yield f"{pad}    {{"
        here = Here(
            level=level + (2 if early else 1),
            item=0,
            positions={0: ("pos",), **{axis: (_LINES[axis],) for axis in self.tall}},
            leave="goto next;",
        )
        yield from self.writer.body(self.program.entry, here)
        if early:
            yield f"{pad}    }}"
            yield f"{pad}    next: ;"
        yield f"{pad}}}"
        yield from reversed(ends)
