"""The C-like emitter: one readable kernel per program and code, the same for every dialect."""

from __future__ import annotations

from collections.abc import Iterator

from vyre.analysis import Facts
from vyre.emit.dialect import Dialect
from vyre.emit.helpers import F64
from vyre.emit.jam import Jam
from vyre.emit.lanes import returns_early
from vyre.emit.layout import arguments_of
from vyre.emit.names import Kind
from vyre.emit.source import Source
from vyre.emit.writer import Writer
from vyre.errors import InvalidInput, UnsupportedFeature
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import Id, IdKind
from vyre.ir.program import Program
from vyre.ir.walk import all_expressions
from vyre.model import Code, Order


def emit(
    program: Program, code: Code, dialect: Dialect, facts: Facts, entry: str = "vyre_kernel"
) -> Source:
    """The source of `program` compiled as `code` says, under the name `entry`.

    Raises:
        UnsupportedFeature: the program holds something that has no C, or works together in
            workgroups and so has one item per invocation.
        InvalidInput: the code's vectors do not fill its items.
    """
    if code.items % code.vector:
        raise InvalidInput(
            f"{code.items} items in vectors of {code.vector}", "use a multiple of the vector width"
        )
    if code.items > 1 and program.runs_whole_workgroups:
        raise UnsupportedFeature(
            f"{code.items} items for a program whose workgroups work together",
            "use one item per invocation",
        )
    return _Kernel(program, code, dialect, facts, entry).source()


class _Kernel:
    """One kernel around the statements that a writer writes."""

    def __init__(
        self, program: Program, code: Code, dialect: Dialect, facts: Facts, entry: str
    ) -> None:
        self.program, self.code, self.dialect, self.entry = program, code, dialect, entry
        self.writer = Writer(program, code, dialect, facts)
        self.parameters = dict(self.writer.pointers)
        # Adding up in a workgroup pays where each invocation has several items to add.
        alone = code.items > 1 and self.guarded == (0,) and not returns_early(program)
        self.counters = dict(facts.counters) if dialect.count_far and alone else {}
        for name in self.counters:
            self.writer.pointers[name] = self.writer.names.of(Kind.NEAR, name)

    def source(self) -> Source:
        writer = self.writer
        if self.code.items > 1:
            body = list(self.several_items())
        else:
            statements = [*self.shared_memory(), *writer.body(self.program.entry, {}, 1)]
            together = self.program.runs_whole_workgroups
            body = statements if together else [*self.guard(self.guarded), *statements]
        words = [
            f"    const u32 {name} = words.w[{position}];"
            for name, position in sorted(writer.words.items(), key=lambda item: item[1])
        ]
        arguments = arguments_of(self.program)
        parameters = [f"    {self.parameter(decl)}" for decl in arguments]
        parameters.append(f"    const {self.words_type} words")
        text = "\n".join(
            [
                f"{self.dialect.kernel} {self.entry}(",
                ",\n".join(parameters) + ")",
                "{",
                *words,
                *body,
                "}",
                "",
            ]
        )
        return Source(
            header=tuple(self.header()),
            helpers=writer.helpers.texts,
            body=text,
            entry=self.entry,
            dialect=self.dialect.name,
            layout=writer.layout,
            arguments=tuple(decl.name for decl in arguments),
            guarded=self.guarded,
        )

    @property
    def words_type(self) -> str:
        return f"vyre_words{self.writer.layout.count}"

    def header(self) -> Iterator[str]:
        writer = self.writer
        if self.dialect.contraction_off:
            yield self.dialect.contraction_off
        helpers = "".join(writer.helpers.texts.values())
        used = writer.types | {decl.element.computed for decl in self.program.buffers}
        if F64 in used and self.dialect.needs_f64:
            yield self.dialect.needs_f64
        for dtype, name in self.dialect.types.items():
            if dtype in used or str(dtype) in helpers:
                yield f"typedef {name} {dtype};"
        yield f"typedef struct {{ u32 w[{writer.layout.count}]; }} {self.words_type};"

    def guard(self, axes: tuple[int, ...]) -> Iterator[str]:
        """Ends the invocations that lie beyond the dispatch along `axes`."""
        outside = " || ".join(
            f"{self.writer.id(IdKind.INVOCATION, axis)} >= {self.writer.word_extent(axis)}"
            for axis in axes
        )
        if outside:
            yield f"    if ({outside}) return;"

    @property
    def guarded(self) -> tuple[int, ...]:
        """The axes along which the source checks the extent; along others a group has width 1."""
        used = {expr.axis for expr in all_expressions(self.program.entry) if isinstance(expr, Id)}
        wide = {axis for axis, size in enumerate(self.program.workgroup_size) if size > 1}
        return tuple(sorted({0} | used | wide))

    def parameter(self, decl: BufferDecl) -> str:
        name = self.parameters[decl.name]
        if decl.is_scalar_argument:
            return f"const {self.writer.stored(decl)} {name}"
        const = "" if decl.is_written else "const "
        pointer = self.dialect.pointer.format(const=const, type=self.writer.stored(decl))
        return f"{pointer} {name}"

    def shared_memory(self) -> Iterator[str]:
        """Declares workgroup memory and fills it with zeros, as it starts everywhere."""
        shared = [decl for decl in self.program.buffers if decl.is_shared]
        if not shared:
            return
        writer = self.writer
        for decl in shared:
            name = writer.pointers[decl.name]
            yield f"    {self.dialect.local} {writer.stored(decl)} {name}[{decl.count}];"
        yield from self.lanes()
        for decl in shared:
            name = writer.pointers[decl.name]
            yield f"    for (u32 at = lane; at < {decl.count}u; at += lanes) {name}[at] = 0;"
        yield f"    {self.dialect.barrier}"

    def lanes(self) -> Iterator[str]:
        """The invocation's place in its workgroup, and how many there are."""
        lane = [self.writer.id(IdKind.LOCAL, axis) for axis in range(3)]
        size = [self.writer.id(IdKind.WORKGROUP_SIZE, axis) for axis in range(3)]
        yield f"    const u32 lane = ({lane[2]} * {size[1]} + {lane[1]}) * {size[0]} + {lane[0]};"
        yield f"    const u32 lanes = {size[0]} * {size[1]} * {size[2]};"

    # -- counters that a workgroup adds up on its own before all see them

    def near_counters(self) -> Iterator[str]:
        """Declares a workgroup's own counters, at zero."""
        if not self.counters:
            return
        for name, count in self.counters.items():
            stored = self.writer.stored(self.writer.buffers[name])
            near = self.writer.pointers[name]
            yield f"    {self.dialect.local} {stored} {near}[{count}];"
        yield from self.lanes()
        for name, count in self.counters.items():
            near = self.writer.pointers[name]
            yield f"    for (u32 at = lane; at < {count}u; at += lanes) {near}[at] = 0;"
        yield f"    {self.dialect.barrier}"

    def counted(self) -> Iterator[str]:
        """Adds a workgroup's counters to everybody's."""
        if not self.counters:
            return
        yield f"    {self.dialect.barrier}"
        for name, count in self.counters.items():
            near, far = self.writer.pointers[name], self.parameters[name]
            add = self.dialect.count_far.format(at=f"{far} + at", value=f"{near}[at]")
            yield f"    for (u32 at = lane; at < {count}u; at += lanes)"
            yield f"        if ({near}[at] != 0) {add}"

    # -- several items per invocation

    def several_items(self) -> Iterator[str]:
        """A full tile runs its items together and unguarded; the last tile one by one.

        Positions are compared through what is left of the extent, because the end of the last tile
        can lie beyond 2^32.
        """
        writer = self.writer
        early = returns_early(self.program)
        items = self.code.items
        size, lane = writer.id(IdKind.WORKGROUP_SIZE, 0), writer.id(IdKind.LOCAL, 0)
        full = [] if early else list(self.full_tile(lane))
        last = list(self.one_by_one(lane, 1 if early else 2))
        yield from self.guard(tuple(axis for axis in self.guarded if axis > 0))
        yield f"    const u32 span = {size} * {items}u;"
        yield f"    const u32 tile = {writer.id(IdKind.WORKGROUP, 0)} * span;"
        yield f"    if (tile >= {writer.word_extent(0)}) return;"
        yield f"    const u32 left = {writer.word_extent(0)} - tile;"
        if early:
            yield from last
            return
        yield from self.near_counters()
        yield "    if (left >= span) {"
        yield from full
        yield "    } else {"
        yield from last
        yield "    }"
        yield from self.counted()

    def full_tile(self, lane: str) -> Iterator[str]:
        """The position of each item, then the statements for all of them side by side."""
        code, writer = self.code, self.writer
        size = writer.id(IdKind.WORKGROUP_SIZE, 0)
        names = tuple(f"pos{item}" for item in range(code.items))
        each = code.items if code.order is Order.BLOCKED else code.vector
        start = f"tile + {lane}" if each == 1 else f"tile + {lane} * {each}u"
        yield f"        const u32 {names[0]} = {start};"
        for item in range(1, code.items):
            block, within = divmod(item, code.vector)
            if code.order is Order.BLOCKED:
                place = f"{names[0]} + {item}u"
            elif within:
                place = f"{names[item - within]} + {within}u"
            else:
                place = f"{names[0]} + {size} * {block * code.vector}u"
            yield f"        const u32 {names[item]} = {place};"
        yield from Jam(writer, names).body(self.program.entry, {}, 2)

    def one_by_one(self, lane: str, level: int) -> Iterator[str]:
        """The items in a loop, those beyond the extent left out."""
        code, writer = self.code, self.writer
        pad = "    " * level
        early = returns_early(self.program)
        size = writer.id(IdKind.WORKGROUP_SIZE, 0)
        if code.order is Order.BLOCKED or code.items == code.vector:
            offset = f"{lane} * {code.items}u + item"
        elif code.vector == 1:
            offset = f"{lane} + item * {size}"
        else:
            width = f"{code.vector}u"
            offset = f"({lane} + item / {width} * {size}) * {width} + item % {width}"
        writer.position_text = "pos"
        writer.leave = "goto next;"
        yield f"{pad}for (u32 item = 0u; item < {code.items}u; ++item) {{"
        yield f"{pad}    const u32 offset = {offset};"
        yield f"{pad}    if (offset >= left) break;"
        yield f"{pad}    const u32 pos = tile + offset;"
        if early:
            yield f"{pad}    {{"
        yield from writer.body(self.program.entry, {}, level + (2 if early else 1))
        if early:
            yield f"{pad}    }}"
            yield f"{pad}    next: ;"
        yield f"{pad}}}"
