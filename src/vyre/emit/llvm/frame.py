"""What a launch hands to its tasks: one block of memory, and where in it everything lies."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from vyre.analysis.aliasing import may_share
from vyre.emit.layout import WordLayout, arguments_of
from vyre.emit.llvm.arithmetic import Instructions, loaded
from vyre.emit.llvm.builder import U32, Builder, stored_type
from vyre.emit.llvm.memory import Buffer, held_as
from vyre.emit.llvm.values import Shape, Value
from vyre.ir.program import Program
from vyre.model import U32_MAX

ENTRY = "vyre_task"
"""The function that a pool of threads calls: the context, and which workgroups to run."""

TASK = "ptr %frame, i64 %first, i64 %last"

WORKGROUP, GRID, ARGUMENTS = 0, 12, 32
"""Where the three sizes of a workgroup and of the grid lie, as u32, and the first argument."""


def _may_be_one(program: Program) -> frozenset[str]:
    """The buffers of which a caller may pass one array twice, to be read and to be written."""
    decls = arguments_of(program)
    return frozenset(
        name
        for source, target in product(decls, decls)
        if target.is_written and not source.is_written and not source.is_scalar_argument
        if any(may_share(program, rank, source.name, target.name) for rank in (1, 2, 3))
        for name in (source.name, target.name)
    )


@dataclass(frozen=True, slots=True)
class Frame:
    """The layout of a context: sizes, then eight bytes for each argument, then the words."""

    program: Program
    layout: WordLayout
    shared: frozenset[str]  # arrays that may be one

    @classmethod
    def of(cls, program: Program) -> Frame:
        return cls(program, WordLayout.of(program), _may_be_one(program))

    def of_form(self, program: Program) -> Frame:
        """The same for a form of the program, which may have arguments behind the others."""
        kept = (decl.name for decl in arguments_of(program) if decl.kept)
        return Frame(program, self.layout, self.shared.union(kept))

    @property
    def words(self) -> int:
        """Where the parameter words begin."""
        return ARGUMENTS + 8 * len(arguments_of(self.program))

    @property
    def size(self) -> int:
        return self.words + 4 * self.layout.count

    # -- parameters of the functions that tiles are split into

    @property
    def parameters(self) -> str:
        """Every argument, then the words.

        An array overlaps no other that is written, but for an input and an output that may be one
        array: of those no load may be moved behind a store.
        """
        found = []
        for number, decl in enumerate(arguments_of(self.program)):
            if decl.is_scalar_argument:
                found.append(f"{stored_type(decl.element)} %p{number}")
            else:
                only = "" if decl.is_written else "readonly "
                apart = "" if decl.name in self.shared else "noalias "
                found.append(f"ptr {apart}{only}%p{number}")
        return ", ".join([*found, "ptr noalias readonly %words", "ptr noalias readonly %frame"])

    @property
    def passed(self) -> str:
        """The same as the arguments of a call."""
        found = [
            f"{stored_type(decl.element) if decl.is_scalar_argument else 'ptr'} %p{number}"
            for number, decl in enumerate(arguments_of(self.program))
        ]
        return ", ".join([*found, "ptr %words", "ptr %frame"])

    def unpack(self, b: Builder) -> None:
        """Load the arguments from a context named `%frame`."""
        for number, decl in enumerate(arguments_of(self.program)):
            at = b.first(f"getelementptr i8, ptr %frame, i64 {ARGUMENTS + 8 * number}")
            kind = stored_type(decl.element) if decl.is_scalar_argument else "ptr"
            b.entry.append(f"  %p{number} = load {kind}, ptr {at}")
        b.entry.append(f"  %words = getelementptr i8, ptr %frame, i64 {self.words}")

    def size_of(self, b: Builder, offset: int, axis: int) -> str:
        """A size of the workgroup or of the grid."""
        at = b.first(f"getelementptr i8, ptr %frame, i64 {offset + 4 * axis}")
        return b.first(f"load i32, ptr {at}")

    # -- what bodies see

    def word(self, b: Builder, position: int) -> Value:
        at = b.first(f"getelementptr i32, ptr %words, i64 {position}")
        return Value(U32, Shape.UNIFORM, (b.first(f"load i32, ptr {at}"),))

    def buffers(self, b: Builder) -> dict[str, Buffer]:
        """The arrays by name, their sizes loaded where the function begins."""
        found = {}
        for number, decl in enumerate(arguments_of(self.program)):
            if decl.is_scalar_argument:
                continue
            count = U32_MAX if decl.kept else decl.count  # of that there is enough
            known = b.literal(U32, count) if count else None
            length = known or self.word(b, self.layout.length(decl.name))
            dims: tuple[Value, ...] = ()
            if decl.rank > 1:
                dims = tuple(
                    b.literal(U32, size) if size else self.word(b, self.layout.dim(decl.name, axis))
                    for axis, size in enumerate(decl.shape)
                )
            found[decl.name] = Buffer(decl, f"%p{number}", length, dims)
        return found

    def scalars(self, b: Builder) -> dict[str, Value]:
        """The scalar arguments as values, converted where the function begins."""
        do = Instructions(b.where_it_begins())
        return {
            decl.name: loaded(
                do, decl.element, Value(held_as(decl.element), Shape.UNIFORM, (f"%p{number}",))
            )
            for number, decl in enumerate(arguments_of(self.program))
            if decl.is_scalar_argument
        }

    def bounds(
        self,
        b: Builder,
        number: str,
        extents: list[str],
        moved: str = "0",
        *,
        lanes: int = 1,
        shares: int = 1,
    ) -> list[tuple[str, str]]:
        """From where to where a workgroup reaches along each axis, within the extent.

        All but the first begin and end `moved` positions further along x, where each takes `lanes`
        of a workgroup. Where several share a position, `number` counts them once.
        """
        left, found = number, []
        for axis in range(3):
            grid = b.op(f"zext i32 {self.size_of(b, GRID, axis)} to i64")
            if axis == 0 and shares > 1:
                grid = b.op(f"udiv i64 {grid}, {shares}")
            own = b.op(f"urem i64 {left}, {grid}") if axis < 2 else left
            left = b.op(f"udiv i64 {left}, {grid}") if axis < 2 else left
            size = b.op(f"zext i32 {self.size_of(b, WORKGROUP, axis)} to i64")
            if axis == 0 and lanes > 1:
                size = b.op(f"udiv i64 {size}, {lanes}")
            start = b.op(f"mul i64 {own}, {size}")
            end = b.op(f"add i64 {start}, {size}")
            if axis == 0 and moved != "0":
                by = b.op(f"zext i32 {moved} to i64")
                first = b.op(f"icmp eq i64 {own}, 0")
                start = b.op(f"select i1 {first}, i64 0, i64 {b.op(f'add i64 {start}, {by}')}")
                end = b.op(f"add i64 {end}, {by}")
            most = b.op(f"zext i32 {extents[axis]} to i64")
            if axis == 0 and moved != "0":
                start = b.call("i64", "llvm.umin.i64", ["i64", "i64"], [start, most])
            last = b.call("i64", "llvm.umin.i64", ["i64", "i64"], [end, most])
            found.append((b.op(f"trunc i64 {start} to i32"), b.op(f"trunc i64 {last} to i32")))
        return found
