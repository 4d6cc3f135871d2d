"""A program as a module of LLVM IR: tasks of tiles, tiles of vectors, edges with masks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vyre.analysis import Facts
from vyre.analysis.aliasing import own_position
from vyre.analysis.reader import read
from vyre.analysis.teams import formed
from vyre.emit.layout import WordLayout, arguments_of
from vyre.emit.llvm.arithmetic import FROM_DOUBLE
from vyre.emit.llvm.builder import Parts, stored_type
from vyre.emit.llvm.definitions import define
from vyre.emit.llvm.features import Features
from vyre.emit.llvm.frame import Frame
from vyre.emit.llvm.group import groups
from vyre.emit.llvm.tile import tiles
from vyre.errors import InvalidInput, UnsupportedFeature
from vyre.ir.expr import Ordering
from vyre.ir.fold import LANES
from vyre.ir.node import Barrier, Loop, While
from vyre.ir.program import Program
from vyre.ir.walk import statements
from vyre.model import PARTS, Code

_ATTRIBUTES = (
    "attributes #0 = { nounwind "
    '"no-trapping-math"="true" "prefer-vector-width"="512" "min-legal-vector-width"="512" }'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """The text of one kernel, and what a launch must know of it."""

    text: str
    layout: WordLayout
    arguments: tuple[str, ...]  # buffers in the order of their places in a context
    frame: Frame
    is_plain: bool  # it loads and stores at one's own position, and nothing repeats
    guarded: tuple[int, ...] = (0, 1, 2)
    most_lanes: int = 0  # of a workgroup; 0 where that is any number


TEAM = LANES
"""Lanes of a processor's teams: what is wider would have to meet in memory."""

_OF_GPUS = ("items", "lines", "planes", "depth", "loaders", "fitted", "abreast")


def emit_llvm(program: Program, code: Code, features: Features, facts: Facts) -> Module:
    """The module of `program` compiled as `code` says.

    Raises:
        UnsupportedFeature: the program holds something that no device code here can do.
        InvalidInput: its lanes are no power of two.
    """
    for size, what in ((code.vector, "lanes"), (code.rows, "rows")):
        if size & (size - 1):
            raise InvalidInput(f"{size} {what} side by side", "use a power of two")
    others = [name for name in _OF_GPUS if getattr(code, name) != PARTS[name]]
    if others:
        said = ", ".join(f"{getattr(code, name)} {name}" for name in others)
        usual = ", ".join(f"{name}={PARTS[name]}" for name in others)
        fix = f"use {usual}" if code.lanes > 1 else "use Code(vector=..., rows=...)"
        raise UnsupportedFeature(f"{said} on a processor that has lanes", fix)
    if code.lanes not in (1, TEAM):
        raise UnsupportedFeature(
            f"teams of {code.lanes} lanes on a processor that has lanes", f"use Code(lanes={TEAM})"
        )
    if code.across and code.lanes == 1:
        raise UnsupportedFeature(
            "a row of positions along x for one lane of a processor that has more",
            f"use Code(lanes={TEAM}, across=True)",
        )
    frame = Frame.of(program)  # as it is called, with its reductions
    program, facts = formed(program, facts, code, rounds_in_order=True)
    frame = frame.of_form(program)
    if any(
        isinstance(node, Barrier) and node.ordering is Ordering.GRID_SYNC
        for node in statements(program.entry)
    ):
        raise UnsupportedFeature(
            "a barrier that waits for the whole grid", "end the kernel there and launch another"
        )
    for decl in program.buffers:
        if not decl.element.is_scalar:
            raise UnsupportedFeature(
                f"buffer {decl.name!r} of {decl.element}", "declare it with a scalar element type"
            )
    parts = Parts(features)
    make = groups if program.runs_whole_workgroups else tiles
    functions = list(make(program, code, facts, parts, frame))
    functions += define(parts)
    if parts.halves:
        functions.append(FROM_DOUBLE)
    text = "\n".join([*_head(program), *functions, *_tail(parts)])
    return Module(
        text=text,
        layout=frame.layout,
        arguments=tuple(decl.name for decl in arguments_of(program)),
        frame=frame,
        is_plain=code.lanes == 1 and _is_plain(program),
        most_lanes=parts.most_lanes,
    )


def _is_plain(program: Program) -> bool:
    """Whether a compiler has little to find: no loop, and no element that neighbours share."""
    if program.runs_whole_workgroups or any(
        isinstance(node, (Loop, While)) for node in statements(program.entry)
    ):
        return False
    return all(own_position(touch) is not None for touch in read(program).touches)


def _head(program: Program) -> Iterator[str]:
    """The names that an author gave, for a reader; code has names of its own."""
    for number, decl in enumerate(arguments_of(program)):
        yield f"; p{number} is {decl.name!a}, {stored_type(decl.element)}"
    yield "@zeros = internal constant [16 x i8] zeroinitializer, align 16"


def _tail(parts: Parts) -> Sequence[str]:
    return [*parts.declared, _ATTRIBUTES, *parts.notes, ""]
