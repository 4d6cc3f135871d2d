"""What the items of an invocation load: each element once, neighbours in vectors.

Items side by side read many of the same elements: the neighbours of a stencil, the weights of a
filter, a row of a product. By the form of its index an element is known wherever it is read, so it
is loaded by the first statement that needs it and stays in a register for the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from vyre.analysis.facts import MemoryAccess, Pattern
from vyre.analysis.forms import ONE, Gid, Linear, Poly
from vyre.emit.names import Kind
from vyre.emit.operations import bare
from vyre.emit.staged import Staged
from vyre.emit.staging import Stage
from vyre.emit.windows import window_of
from vyre.emit.writer import Writer
from vyre.ir.expr import Atomic, IdKind, Load, Var
from vyre.ir.node import Node, Store
from vyre.ir.types import DataType
from vyre.ir.walk import expressions, operands, statements

Scope = dict[str, DataType]
Key = tuple[object, ...]
"""An element, wherever it is read."""


@dataclass(frozen=True, slots=True)
class _Element:
    """An element to be loaded, by one of the items that need it."""

    load: Load
    item: int
    key: Key
    row: Key  # its row of the array
    column: int  # where it is there, from the column of the first item
    proved: int  # axes along which it needs no check
    in_vectors: bool
    access: MemoryAccess


MOST_EARLY = 64
"""Elements that are loaded for statements that follow: registers are needed for other things."""

_AHEAD = 64  # statements that are looked at

_NEAR = 1 << 16  # elements between two that one pointer serves


@dataclass(frozen=True, slots=True)
class _Base:
    """A pointer to an element of a row, and its column."""

    name: str
    column: int


class Loads:
    """Writes the loads of statements, for all items at once."""

    def __init__(self, writer: Writer, staged: Staged | None = None) -> None:
        self.writer, self.items, self.staged = writer, writer.items, staged
        # Beside what is staged, lanes beyond the extent load as well, one element at a time.
        plain = writer.terms.code.checked or staged is not None
        self.width = 1 if plain else writer.terms.code.vector
        self.known: dict[Key, str] = {}  # elements that are in registers, in the scope at hand

    def fetch(
        self,
        node: Node,
        coming: Iterable[Node],
        items: range,
        scope: Scope,
        pad: str,
    ) -> Iterator[str]:
        """Load what a statement's items need and what is not there yet.

        What the statements that follow need comes with it, as far as registers go, so that no load
        waits behind a store.
        """
        writer = self.writer
        writer.fetched.clear()
        found = [load for load in _loads(node) if self._is_followed(load, node)]
        wanted: dict[Key, _Element] = {}
        for element in self._elements(found, items):
            _want(wanted, element)
        rows = {element.row for element in wanted.values()}
        stored = set(written_in(node))
        for other in islice(coming, _AHEAD):
            writer.enter(other)
            more = [
                load
                for load in _loads(other)
                if load.buffer not in stored and self._may_come_early(load, other, scope)
            ]
            for element in self._elements(more, items):
                if element.row in rows or len(wanted) < MOST_EARLY:
                    _want(wanted, element)
            stored.update(written_in(other))
        writer.enter(node)
        for lines, registers in self._loaded(wanted, scope, pad):
            writer.enter(node)
            yield from lines
            self.known.update(registers)
        for load in found:
            for item in items:
                key = self._element(load, item).key
                writer.fetched[load.buffer, load.index, item] = self.known[key]
        writer.item = None

    def _is_followed(self, load: Load, node: Node) -> bool:
        decl = self.writer.terms.buffers[load.buffer]
        if decl.is_scalar_argument or decl.is_shared:
            return False
        if decl.is_written and any(isinstance(part, Atomic) for part in expressions(node)):
            return False
        access = self.writer.access(decl, load.index)
        return access is not None and all(isinstance(form, Linear) for form in access.forms)

    def _may_come_early(self, load: Load, node: Node, scope: Scope) -> bool:
        names = (part.name for part in expressions(load.index) if isinstance(part, Var))
        return self._is_followed(load, node) and all(name in scope for name in names)

    def forget(self, node: Node) -> None:
        """Elements of arrays that a statement writes may change by it."""
        written = set(written_in(node))
        if written:
            self.known = {key: text for key, text in self.known.items() if key[0] not in written}

    def _elements(self, loads: Iterable[Load], items: range) -> Iterator[_Element]:
        """What loads of the statement at hand need that is not there, by one item each."""
        for load in loads:
            axes, first = self._axes(load), self.items.place(items[0])
            for item in items:
                place = self.items.place(item)
                if any(place[axis] != first[axis] for axis in range(3) if axis not in axes):
                    continue  # it has the same one as another item
                element = self._element(load, item)
                if element.key not in self.known:
                    yield element

    def _axes(self, load: Load) -> frozenset[int]:
        return self.writer.differ.axes(load.index)

    def _access(self, load: Load) -> MemoryAccess:
        access = self.writer.access(self.writer.terms.buffers[load.buffer], load.index)
        assert access is not None
        return access

    def _element(self, load: Load, item: int) -> _Element:
        access, place = self._access(load), self.items.place(item)
        block, within = divmod(place[0], self.items.run)
        forms: list[tuple[object, Poly, DataType]] = []
        moves = False
        for form in access.forms:
            assert isinstance(form, Linear)
            gids, offset = form.gids(), form.offset
            for axis, step in enumerate((within, *place[1:])):
                if step and axis in gids:
                    offset = offset + gids[axis] * Poly.of(step)
            forms.append((frozenset(form.terms.items()), offset, form.dtype))
            moves = moves or 0 in gids
        own = (block,) if moves else ()
        terms, offset, dtype = forms[-1]
        symbols, column = split(offset)
        return _Element(
            load,
            item,
            key=(load.buffer, tuple(forms), own),
            row=(load.buffer, tuple(forms[:-1]), terms, symbols, dtype, own),
            column=column,
            proved=sum(item is not None for item in access.by_axis),
            in_vectors=self.width > 1 and in_vectors(access, self.width),
            access=access,
        )

    def _loaded(
        self, wanted: dict[Key, _Element], scope: Scope, pad: str
    ) -> Iterator[tuple[list[str], dict[Key, str]]]:
        """The lines that load elements, and where each of them is then."""
        near: dict[Stage, dict[Key, int]] = {}
        rows: dict[Key, list[_Element]] = {}
        for element in wanted.values():
            stage = None if self.staged is None else self.staged.of(element.access)
            if stage is not None:
                near.setdefault(stage, {})[element.key] = element.item
            else:
                rows.setdefault(element.row, []).append(element)
        for stage, elements in near.items():
            assert self.staged is not None
            yield self.staged.registers(stage, elements, pad)
        late: list[str] = []  # what lanes pass on comes after all loads: it waits for them
        for members in rows.values():
            yield from self._row(members, late, scope, pad)
        yield late, {}

    def _row(
        self, members: list[_Element], late: list[str], scope: Scope, pad: str
    ) -> Iterator[tuple[list[str], dict[Key, str]]]:
        """Elements of one row of an array, by how far they are from its column 0."""
        runs: dict[int, list[_Element]] = {}
        for element in members:
            runs.setdefault(element.column // self.width, []).append(element)
        few = max(2, self.width // 2)
        vectors = {
            run: len(some) >= few and all(element.in_vectors for element in some)
            for run, some in runs.items()
        }
        accesses = sum(1 if vectors[run] else len(some) for run, some in runs.items())
        base = None
        if accesses > 1 and self._may_point(members, scope):
            # From the last of them: where that is before the array, so are all others.
            last = max(members, key=lambda element: element.column)
            name = self.writer.terms.names.fresh(Kind.FROM, last.load.buffer)
            base = _Base(name, last.column)
            yield [self._pointer(last, name, scope, pad)], {}
        texts: dict[int, str] = {}
        alone: list[_Element] = []
        for run, some in runs.items():
            if vectors[run]:
                lines, found = self._vector(some, run * self.width, base, scope, pad)
                yield lines, found
                texts |= {element.column: found[element.key] for element in some}
            else:
                alone += some
        for element in alone:
            passed = self._passed_on(element, texts)
            if passed is None:
                yield self._single(element, base, scope, pad)
            else:
                now, then, found = self._from_a_lane(element, *passed, base, scope, pad)
                late.append(then)
                yield [now], found

    def _passed_on(self, element: _Element, texts: dict[int, str]) -> tuple[str, int] | None:
        """What a neighbouring lane has of this element, and the lane that has no neighbour."""
        writer, run = self.writer, self.items.run
        dtype = writer.terms.stored_type(writer.terms.buffers[element.load.buffer])
        if not writer.in_lockstep or dtype.bits != 32 or not element.in_vectors:
            return None
        dialect = writer.terms.dialect
        if element.column + run in texts and element.column < 0:
            return dialect.from_lane_below.format(value=texts[element.column + run]), 0
        if element.column - run in texts and element.column >= run:
            return dialect.from_lane_above.format(value=texts[element.column - run]), (
                dialect.lanes - 1
            )
        return None

    def _from_a_lane(
        self, element: _Element, passed: str, end: int, base: _Base | None, scope: Scope, pad: str
    ) -> tuple[str, str, dict[Key, str]]:
        """An element that a neighbour passes on; the lane at the end loads it."""
        writer = self.writer
        name = writer.terms.names.fresh(Kind.ROW, element.load.buffer)
        lane = f"({writer.terms.id(IdKind.LOCAL, 0)} & {writer.terms.dialect.lanes - 1}u)"
        stored = writer.terms.stored(writer.terms.buffers[element.load.buffer])
        own = writer.terms.names.fresh(Kind.ROW, element.load.buffer)
        text = self._text(element, base, scope, first=f"{lane} == {end}u")
        return (
            f"{pad}const {stored} {own} = {text};",
            f"{pad}const {stored} {name} = {passed};",
            {element.key: f"({lane} == {end}u ? {own} : {name})"},
        )

    def _may_point(self, members: list[_Element], scope: Scope) -> bool:
        """Whether the index of the last element cannot begin again at 0 where others are inside.

        Only positions, and a little more or less, are followed. Along one axis an index could begin
        again in an array of nearly 2**32 elements; a row of many is shorter.
        """
        decl = self.writer.terms.buffers[members[0].load.buffer]
        *outer, last = members[0].access.forms
        assert isinstance(last, Linear)
        plain = all(isinstance(v, Gid) and factor == ONE for v, factor in last.terms.items())
        if not plain or split(last.offset)[0].terms:
            return False
        if any(abs(element.column) > _NEAR for element in members):
            return False
        if outer:
            return True
        for element in members:
            self._turn_to(element)
            ((check, _),) = self.writer.by_axis(decl, element.load.index, scope)
            if check:
                return False
        return True

    def _pointer(self, element: _Element, name: str, scope: Scope, pad: str) -> str:
        """The line that says where an element is; others of its row cost no arithmetic then."""
        writer, load = self.writer, element.load
        decl = writer.terms.buffers[load.buffer]
        self._turn_to(element)
        *outer, (_, at) = writer.by_axis(decl, load.index, scope)
        above = ""
        for axis, (_, text) in enumerate(outer):
            above = f"({above} * {writer.terms.word_dim(decl, axis)} + {text})" if axis else text
        if outer:
            writer.terms.use(DataType.U64)
            at = f"((u64){above} * {writer.terms.word_dim(decl, len(outer))} + {at})"
        form = writer.terms.dialect.pointer.format(const="const ", type=writer.terms.stored(decl))
        return f"{pad}{form} {name} = {writer.terms.pointers[load.buffer]} + ({bare(at)});"

    def _turn_to(self, element: _Element) -> None:
        """Make an element's item and statement those at hand."""
        self.writer.item, self.writer.statement = element.item, element.access.statement

    def _single(
        self, element: _Element, base: _Base | None, scope: Scope, pad: str
    ) -> tuple[list[str], dict[Key, str]]:
        writer, load = self.writer, element.load
        decl = writer.terms.buffers[load.buffer]
        name = writer.terms.names.fresh(Kind.ROW, load.buffer)
        text = self._text(element, base, scope)
        return [f"{pad}const {writer.terms.stored(decl)} {name} = {text};"], {element.key: name}

    def _text(self, element: _Element, base: _Base | None, scope: Scope, *, first: str = "") -> str:
        """The expression that loads one element, if what is checked `first` holds."""
        writer, load = self.writer, element.load
        self._turn_to(element)
        decl = writer.terms.buffers[load.buffer]
        checks, at = writer.place(decl, load.index, scope)
        text = f"{writer.terms.pointers[load.buffer]}[{bare(at)}]"
        if base is not None:
            text = f"{base.name}[{element.column - base.column}]"
        checks = [first, *checks] if first else checks
        return f"{' && '.join(checks)} ? {text} : 0" if checks else text

    def _vector(
        self, members: list[_Element], start: int, base: _Base | None, scope: Scope, pad: str
    ) -> tuple[list[str], dict[Key, str]]:
        """Neighbours at once; what is not needed of them lies in the same vector of the array."""
        writer, width, dialect = self.writer, self.width, self.writer.terms.dialect
        first = max(members, key=_proved)
        back, load = first.column - start, first.load
        decl = writer.terms.buffers[load.buffer]
        dtype = writer.terms.stored_type(decl)
        self._turn_to(first)
        axes = list(writer.by_axis(decl, load.index, scope, back=back))
        _, at = writer.place(decl, load.index, scope, back=back)
        source = f"{writer.terms.pointers[load.buffer]} + {at}"
        if base is not None:
            source = f"{base.name} + ({start - base.column})"
        checks = [check for check, _ in axes if check]
        name = writer.terms.names.fresh(Kind.ROW, load.buffer)
        followed = writer.interior and window_of(first.access, len(axes) - 1) is not None
        whole = not axes[-1][0] and (len(members) == width or followed)
        if len(axes) > 1 or whole:
            # Along a row that is a whole number of vectors, one is inside or outside as a whole.
            parts = {
                e.key: dialect.component(dtype, width, name, e.column - start) for e in members
            }
            return [pad + dialect.load_vector(dtype, width, name, source, checks)], parts
        return self._at_an_end(members, name, source, axes[-1][1], base, scope, pad)

    def _at_an_end(
        self,
        members: list[_Element],
        name: str,
        source: str,
        at: str,
        base: _Base | None,
        scope: Scope,
        pad: str,
    ) -> tuple[list[str], dict[Key, str]]:
        """A vector that an array may end within: its elements are loaded one by one there."""
        writer, width = self.writer, self.width
        decl = writer.terms.buffers[members[0].load.buffer]
        dtype, stored = writer.terms.stored_type(decl), writer.terms.stored(decl)
        names = [writer.terms.names.fresh(Kind.ROW, decl.name) for _ in members]
        length = writer.terms.word_length(decl)
        parts = [
            writer.terms.dialect.component(dtype, width, name, e.column % width) for e in members
        ]
        lines = [
            f"{pad}{stored} {', '.join(names)};",
            f"{pad}if ({at} < {length} && {length} - {at} >= {width}u) {{",
            f"{pad}    " + writer.terms.dialect.load_vector(dtype, width, name, source, []),
            *(f"{pad}    {own} = {part};" for own, part in zip(names, parts, strict=True)),
            f"{pad}}} else {{",
        ]
        for own, element in zip(names, members, strict=True):
            lines.append(f"{pad}    {own} = {self._text(element, base, scope)};")
        lines.append(f"{pad}}}")
        keys = (element.key for element in members)
        return lines, dict(zip(keys, names, strict=True))


def _want(wanted: dict[Key, _Element], element: _Element) -> None:
    """Have an element loaded, in the way that needs the fewest checks."""
    wanted[element.key] = max(wanted.get(element.key, element), element, key=_proved)


def _proved(element: _Element) -> int:
    return element.proved


def _loads(node: Node) -> Iterator[Load]:
    for operand in operands(node):
        for part in expressions(operand):
            if isinstance(part, Load):
                yield part


def written_in(node: Node) -> Iterator[str]:
    """The arrays that a statement writes, and those inside it."""
    for inner in statements((node,)):
        if isinstance(inner, Store):
            yield inner.buffer
        for expr in expressions(inner):
            if isinstance(expr, Atomic):
                yield expr.buffer


def in_vectors(access: MemoryAccess, width: int) -> bool:
    """Whether neighbours of an access are neighbours in memory, in vectors of that width.

    What only a launch knows of it, such as the length of a row, is left to the launch.
    """
    *outer, last = access.forms
    if not isinstance(last, Linear) or access.pattern is not Pattern.CONTIGUOUS:
        return False
    if any(not isinstance(form, Linear) for form in outer):
        return False
    steps = (factor.constant for variable, factor in last.terms.items() if variable != Gid(0))
    return all(step is None or step % width == 0 for step in steps)


def split(poly: Poly) -> tuple[Poly, int]:
    """The symbols of a number, and the plain number that is added to them."""
    plain = sum(factor for symbols, factor in poly.terms if not symbols)
    return poly - Poly.of(plain), plain
