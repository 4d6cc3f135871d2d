"""The C-like emitter: one readable kernel per program and code, the same for every dialect."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from math import prod

from vyre.analysis import Facts
from vyre.analysis.aliasing import may_share
from vyre.analysis.teams import formed, is_team
from vyre.emit.counters import Counters
from vyre.emit.dialect import Dialect
from vyre.emit.group_memory import zeroed
from vyre.emit.helpers import F64
from vyre.emit.here import Here
from vyre.emit.items import Items
from vyre.emit.jam import Jam
from vyre.emit.lanes import returns_early
from vyre.emit.layout import WordLayout, arguments_of
from vyre.emit.several import Several
from vyre.emit.shelves import Shelves
from vyre.emit.source import Source
from vyre.emit.staging import stages, why_no_stages
from vyre.emit.terms import Terms
from vyre.emit.writer import Writer
from vyre.errors import InvalidInput, UnsupportedFeature
from vyre.ir.declare import BufferDecl
from vyre.ir.fold import LANES
from vyre.ir.node import Store
from vyre.ir.program import Program
from vyre.ir.walk import statements
from vyre.model import PARTS, Code


def emit(
    program: Program, code: Code, dialect: Dialect, facts: Facts, entry: str = "vyre_kernel"
) -> Source:
    """The source of `program` compiled as `code` says, under the name `entry`.

    Raises:
        UnsupportedFeature: the program holds something that has no C, or works together in
            workgroups and so has one item per invocation.
        InvalidInput: the code's vectors do not fill its items.
    """
    if code.items % code.at_once or (code.vector > code.items and not code.depth):
        raise InvalidInput(
            f"{code.items} items in vectors of {code.vector}", "use a multiple of the vector width"
        )
    several = prod(code.items_by_axis)
    if several > 1 and program.runs_whole_workgroups:
        raise UnsupportedFeature(
            f"{several} items for a program whose workgroups work together",
            "use one item per invocation",
        )
    if code.streamed and (why_not := why_not_streamed(program, dialect)) is not None:
        raise UnsupportedFeature(f"streamed stores: {why_not}", "use streamed=False")
    whole = program
    if is_team(code):
        _refuse_beside_teams(code, dialect)
    program, facts = formed(program, facts, code)
    if (several > 1 or code.depth or code.fitted) and facts.written_out is not None:
        program, facts = facts.written_out
    if code.depth and not is_team(code):
        _refuse_depth(program, code, facts)
    return _Kernel(program, code, dialect, facts, entry, whole).source()


def why_not_streamed(program: Program, dialect: Dialect | None) -> str | None:
    """Why a code cannot tell caches what to do with what it stores."""
    if dialect is None or not dialect.stream:
        return "the device has no such stores"
    written = (node for node in statements(program.entry) if isinstance(node, Store))
    if all(program.buffer(node.buffer).is_shared for node in written):
        return "nothing is stored"
    return None


def resident(registers: int) -> int:
    """Threads that a multiprocessor should have room for, by what each holds at once; 0 for any.

    Measured on one H200: 5-point stencils and 3x3 filters of 1 to 4 columns by 1 to 8 lines, 2^18
    to 2^22, ran 1 to 30 % faster so than with what a compiler takes by itself.

    >>> resident(28), resident(41), resident(105)
    (0, 1024, 0)
    """
    return next((room for most, room in RESIDENT if registers <= most), 0)


RESIDENT = ((32, 0), (104, 1024))
"""Registers that a thread holds at once, at most, and threads that there is to be room for."""

_KEEPING = 1024
"""Threads that there is to be room for where each keeps rounds of its own."""

_BRINGING, _FEW = 1024, 4
"""The same where teams bring what they read together and have few results each: one of two
workgroups goes on while lanes of the other wait for each other."""

_MOST_BLOCKS = 32  # that a multiprocessor runs; compilers leave a larger number out


def _refuse_beside_teams(code: Code, dialect: Dialect) -> None:
    """Refuse what lanes that share an invocation cannot do beside it.

    Raises:
        UnsupportedFeature: the code asks for it.
    """
    others = ("vector", "lines", "planes", "loaders", "fitted", "staged")
    what, alone = f"teams of {code.lanes} lanes", f"Code(lanes={code.lanes})"
    if code.lanes == 1:
        what, alone = "rows that an invocation stands for", "Code(across=True)"
    for name in others:
        if getattr(code, name) != PARTS[name]:
            raise UnsupportedFeature(
                f"{name} {getattr(code, name)} beside {what}", f"use {alone} alone"
            )
    if code.depth and not dialect.from_lane:
        raise UnsupportedFeature(f"depth {code.depth} of a team in {dialect.name}", "use depth=0")
    if code.items > 1 and not dialect.from_lane:
        raise UnsupportedFeature(f"{code.items} items of a team in {dialect.name}", "use items=1")
    if not dialect.from_lane and code.lanes not in (1, LANES):
        raise UnsupportedFeature(
            f"teams of {code.lanes} lanes in {dialect.name}", f"use Code(lanes={LANES})"
        )
    if code.shares > 1 and not dialect.arrive:
        raise UnsupportedFeature(
            f"{code.shares} shares of a result in {dialect.name}, whose workgroups of one launch "
            "cannot tell that others have stored",
            "use shares=1",
        )


def _type_of(words: Mapping[str, int]) -> str:
    """The type of a parameter that holds so many words."""
    return f"vyre_words{len(words)}"


def _refuse_depth(program: Program, code: Code, facts: Facts) -> None:
    """Refuse to bring reads to workgroup memory where there are none that can be.

    Raises:
        UnsupportedFeature: there are none.
        InvalidInput: the code has no workgroup to lay memory out for.
    """
    why_not = why_no_stages(program, facts)
    if why_not is not None:
        raise UnsupportedFeature(f"depth {code.depth}: {why_not}", "use depth 0")
    if code.group is None:
        raise InvalidInput(
            f"depth {code.depth} of a code for no workgroup", "take the code of a schedule"
        )
    if code.group[2] > 1:
        raise UnsupportedFeature(
            f"depth {code.depth} for workgroups {code.group}, which are wider than 1 along z",
            "use a workgroup of one plane",
        )


class _Kernel:
    """One kernel around the statements that a writer writes."""

    def __init__(
        self,
        program: Program,
        code: Code,
        dialect: Dialect,
        facts: Facts,
        entry: str,
        whole: Program,
    ) -> None:
        self.program, self.code, self.dialect, self.entry = program, code, dialect, entry
        self.facts, self.whole = facts, whole  # as it is called, with its reductions
        self.items = Items.of(code)
        self.terms = Terms(program, code, dialect, WordLayout.of(whole))
        self.writer = Writer(self.terms, facts)
        self.parameters = dict(self.terms.pointers)
        # Adding up in a workgroup pays where each invocation has several items to add.
        alone = code.items > 1 and self.terms.guarded == (0,) and not returns_early(program)
        counted = facts.counters if dialect.count_far and alone else {}
        self.counters = Counters(self.terms, counted)
        self.held = 0  # registers that lines of items load into at once

    def source(self) -> Source:
        writer = self.writer
        if self.code.lanes > 1:
            body = list(self.in_teams())
        elif self.code.depth:
            body = list(self.through_workgroup_memory())
        elif len(self.items) > 1 or self.is_fitted_alone:
            several = Several(writer, self.counters)
            body = list(several.lines())
            self.held = several.held
        else:
            shared = {decl.name: decl.count for decl in self.program.buffers if decl.is_shared}
            statements = [*zeroed(self.terms, shared), *writer.body(self.program.entry, Here())]
            together = self.program.runs_whole_workgroups
            body = statements if together else [*writer.guard(self.terms.guarded), *statements]
        arguments = arguments_of(self.program)
        parameters = [f"    {self.parameter(decl)}" for decl in arguments]
        words = self.words(body)
        if words:
            parameters.append(f"    const {_type_of(words)} words")
        text = "\n".join(
            [
                f"{self.head} {self.entry}(",
                ",\n".join(parameters) + ")",
                "{",
                *(
                    f"    const u32 {name} = words.w[{number}];"
                    for number, name in enumerate(words)
                ),
                *body,
                "}",
                "",
            ]
        )
        return Source(
            header=tuple(self.header(words)),
            helpers=self.terms.helpers.texts,
            body=text,
            entry=self.entry,
            dialect=self.dialect.name,
            arguments=tuple(decl.name for decl in arguments),
            words=tuple(words.values()),
            guarded=self.terms.guarded,
        )

    def words(self, body: list[str]) -> dict[str, int]:
        """The places of the words that the text has kept: of what was tried, some is left."""
        kept = set(re.findall(r"\w+", "\n".join(body)))
        places = sorted(self.terms.words.items(), key=lambda item: item[1])
        return {name: place for name, place in places if name in kept}

    @property
    def is_fitted_alone(self) -> bool:
        """Whether one item, which nothing guards, has its loads brought forward as several have."""
        together = self.program.runs_whole_workgroups
        return self.code.fitted and not together and not returns_early(self.program)

    @property
    def head(self) -> str:
        """What stands before the kernel's name."""
        code = self.code
        if code.abreast > 1:
            x, y = code.abreast, code.lanes
            return self.dialect.kernel_for.format(x=x, y=y, z=1, bounds=f"{x * y}")
        if code.lanes > LANES:  # a team is a workgroup of its own
            lanes = code.lanes
            beside = _KEEPING // lanes if code.keeps else 0
            bounds = f"{lanes}, {beside}" if beside > 1 else f"{lanes}"
            return self.dialect.kernel_for.format(x=lanes, y=1, z=1, bounds=bounds)
        if code.group is None:
            return self.dialect.kernel
        x, y, z = code.group
        z *= 1 + code.loaders
        threads = x * y * z
        # A compiler that is told of threads alone keeps to few registers, and waits for loads.
        beside = resident(self.held + len(self.items)) // threads if self.held else 0
        if code.lanes > 1 and code.items <= _FEW:
            beside = _BRINGING // threads
        beside = min(beside, _MOST_BLOCKS)
        bounds = f"{threads}, {beside}" if beside > 1 else f"{threads}"
        return self.dialect.kernel_for.format(x=x, y=y, z=z, bounds=bounds)

    def header(self, words: Mapping[str, int]) -> Iterator[str]:
        if self.dialect.contraction_off:
            yield self.dialect.contraction_off
        helpers = "".join(self.terms.helpers.texts.values())
        used = self.terms.types | {decl.element.computed for decl in self.program.buffers}
        if F64 in used and self.dialect.needs_f64:
            yield self.dialect.needs_f64
        for dtype, name in self.dialect.types.items():
            if dtype in used or str(dtype) in helpers:
                yield f"typedef {name} {dtype};"
        if words:
            yield f"typedef struct {{ u32 w[{len(words)}]; }} {_type_of(words)};"

    def parameter(self, decl: BufferDecl) -> str:
        name = self.parameters[decl.name]
        if decl.is_scalar_argument:
            return f"const {self.terms.stored(decl)} {name}"
        const = "" if decl.is_written else "const "
        alone = not decl.kept and not self.may_share(decl)
        form = self.dialect.argument if alone else self.dialect.pointer
        return f"{form.format(const=const, type=self.terms.stored(decl))} {name}"

    def may_share(self, decl: BufferDecl) -> bool:
        """Whether a call may pass one array for this and for another argument."""
        written = [other.name for other in self.whole.buffers if other.is_written]
        reads = [other.name for other in self.whole.buffers if not other.is_written]
        pairs = product(reads, written)
        return any(
            decl.name in pair and may_share(self.whole, rank, *pair)
            for pair in pairs
            for rank in (1, 2, 3)
        )

    def in_teams(self) -> Iterator[str]:
        """Statements that all lanes of a team go through, or none where it stands beyond."""
        terms, local = self.terms, self.dialect.local
        shared = [decl for decl in self.program.buffers if decl.is_shared]
        for decl in shared:
            form = self.dialect.aligned_local if decl.kept else local  # by records
            yield f"    {form} {terms.stored(decl)} {terms.pointers[decl.name]}[{decl.count}];"
        statements = list(self.writer.body(self.program.entry, Here()))
        for dtype, name in terms.exchanges.items():
            yield f"    {local} {terms.use(dtype)} {name}[{self.code.lanes}];"
        yield from self.writer.guard(self.terms.guarded)
        yield from statements

    def through_workgroup_memory(self) -> Iterator[str]:
        """Statements for all items of all lanes, whose shared reads the workgroup brings."""
        shelves = Shelves(self.terms, stages(self.program, self.facts))
        yield from shelves.beginning()
        yield from Jam(self.writer, shelves).lines(shelves.here)
