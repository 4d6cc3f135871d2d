"""The terms of one kernel's text: arrays, numbers of the launch, ids and types, noted when used."""

from __future__ import annotations

from vyre.emit.dialect import Dialect
from vyre.emit.helpers import U32, Helpers
from vyre.emit.layout import WordLayout
from vyre.emit.names import Kind, Names
from vyre.errors import UnsupportedFeature
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import Array, Id, IdKind
from vyre.ir.program import Program
from vyre.ir.types import DataType
from vyre.ir.walk import all_expressions
from vyre.model import Code


class Terms:
    """What a text may name; what it did name is declared around it when it is complete."""

    def __init__(
        self, program: Program, code: Code, dialect: Dialect, layout: WordLayout | None = None
    ) -> None:
        self.program, self.code, self.dialect = program, code, dialect
        self.helpers = Helpers(dialect)
        self.layout = layout or WordLayout.of(program)
        self.buffers = {decl.name: decl for decl in program.buffers}
        self.names = Names()
        self.pointers = {
            decl.name: self.names.of(Kind.ARGUMENT, decl.name) for decl in program.buffers
        }
        self.words: dict[str, int] = {}  # names of parameter words asked for, with position
        self.types: set[DataType] = {U32}
        self.exchanges: dict[DataType, str] = {}  # workgroup memory by what it holds

    # -- types

    def stored(self, decl: BufferDecl) -> str:
        """The C type of an element in memory."""
        element = decl.element
        if not element.is_scalar:
            raise UnsupportedFeature(
                f"buffer {decl.name!r} holds {element}",
                "use a buffer of bool, integer or float elements",
            )
        if element.is_bool:
            return self.use(U32)
        if element.computed != element:
            return self.use(DataType.U16)
        return self.use(element)

    def stored_type(self, decl: BufferDecl) -> DataType:
        """The type that an element has in memory."""
        if decl.element.is_bool:
            return U32
        return decl.element if decl.element.computed == decl.element else DataType.U16

    def use(self, dtype: DataType) -> str:
        self.types.add(dtype)
        return "bool" if dtype.is_bool else str(dtype)

    # -- numbers of the launch

    def word(self, name: str, position: int) -> str:
        self.words[name] = position
        return name

    def word_extent(self, axis: int) -> str:
        return self.word(f"n_{'xyz'[axis]}", self.layout.extent(axis))

    def word_length(self, decl: BufferDecl) -> str:
        if decl.is_shared or decl.count:
            return f"{decl.count}u"
        name = self.names.of(Kind.LENGTH, decl.name)
        return self.word(name, self.layout.length(decl.name))

    def word_dim(self, decl: BufferDecl, axis: int) -> str:
        if decl.rank == 1:
            return self.word_length(decl)
        if decl.shape[axis]:
            return f"{decl.shape[axis]}u"
        name = self.names.of(Kind.DIM, decl.name, axis)
        return self.word(name, self.layout.dim(decl.name, axis))

    # -- tables

    def table(self, array: Array) -> tuple[str, DataType]:
        """The name of constants, which stand once beside the kernel, and the type they have."""
        name, stored = self.helpers.table(array)
        self.types |= {stored, array.dtype}
        return name, stored

    # -- ids

    def lane(self) -> str:
        """An invocation's number among the lanes of its team."""
        if self.code.abreast > 1:
            return f"({self.dialect.ids[IdKind.LOCAL][1]} & {self.code.lanes - 1}u)"
        return f"({self.dialect.ids[IdKind.LOCAL][0]} & {self.code.lanes - 1}u)"

    def member(self) -> str:
        """An invocation's number among those of its workgroup, all of which are of teams."""
        if self.code.abreast > 1:
            column, row, _ = self.dialect.ids[IdKind.LOCAL]
            return f"({row} * {self.code.abreast}u + {column})"
        return self.lane()

    def share(self) -> str:
        """A workgroup's number among those that share a result."""
        return f"({self.dialect.ids[IdKind.WORKGROUP][0]} % {self.code.shares}u)"

    def exchange(self, dtype: DataType) -> tuple[str, str]:
        """Workgroup memory through which the lanes of a team tell each other, and how they do."""
        name = self.exchanges.setdefault(dtype, f"exchange_{dtype}")
        return name, self.helpers.exchange(dtype)

    def id(self, kind: IdKind, axis: int) -> str:
        if self.code.abreast > 1 and kind is IdKind.INVOCATION and axis == 1:  # rows are lanes
            return self.dialect.ids[IdKind.WORKGROUP][axis]
        if self.code.lanes > 1 and kind is IdKind.INVOCATION and axis == 0:
            # Not all lanes of a launch have numbers: of teams there may be 2**32.
            group, size, own = (
                self.dialect.ids[one][axis]
                for one in (IdKind.WORKGROUP, IdKind.WORKGROUP_SIZE, IdKind.LOCAL)
            )
            lanes = f"{self.code.lanes}u"
            if self.code.shares > 1:  # a workgroup is one team, or several abreast
                group = f"({group} / {self.code.shares}u)"
            if self.code.abreast > 1:
                return f"({group} * {self.code.abreast}u + {own})"
            if self.code.shares > 1:
                return group
            number = f"({group} * ({size} / {lanes}) + {own} / {lanes})"
            return f"({number} * {self.code.items}u)" if self.code.items > 1 else number
        if self.code.group is not None and kind in (IdKind.WORKGROUP_SIZE, IdKind.INVOCATION):
            size = f"{self.code.group[axis]}u"
            if kind is IdKind.WORKGROUP_SIZE:
                return size
            ids = self.dialect.ids
            return f"({ids[IdKind.WORKGROUP][axis]} * {size} + {ids[IdKind.LOCAL][axis]})"
        text = self.dialect.ids[kind][axis]
        return f"({text})" if " " in text else text

    @property
    def guarded(self) -> tuple[int, ...]:
        """The axes along which the source checks the extent; along others a group has width 1."""
        used = {expr.axis for expr in all_expressions(self.program.entry) if isinstance(expr, Id)}
        wide = {axis for axis, size in enumerate(self.program.workgroup_size) if size > 1}
        return tuple(sorted({0} | used | wide))
