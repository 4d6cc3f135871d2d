"""Tasks of a program whose workgroups work together."""

from __future__ import annotations

from collections.abc import Iterator

from vyre.analysis import Facts
from vyre.emit.llvm.builder import Builder, Parts
from vyre.emit.llvm.frame import ENTRY, GRID, TASK, WORKGROUP, Frame
from vyre.emit.llvm.group.phases import Group, shared_arrays
from vyre.emit.llvm.group.rounds import with_flags
from vyre.emit.llvm.interior import interior
from vyre.emit.llvm.shapes import counting, function
from vyre.errors import UnsupportedFeature
from vyre.ir.program import Program
from vyre.model import Code

MOST_LANES = 4096
"""Of a workgroup that works together."""

STACK_BYTES = 2 << 20
"""Of a thread's stack that a task may take: workgroup memory, and the names of its lanes."""


def groups(program: Program, code: Code, facts: Facts, parts: Parts, frame: Frame) -> Iterator[str]:
    """The functions of a program whose workgroups work together."""
    width = _width(program, code, parts)
    left = _beside_shared(program)
    known = interior(program, facts, checked=code.checked)
    flagged = with_flags(program)
    parts.most_lanes = MOST_LANES
    for in_rows in (True, False):
        group = Group(flagged, code, known, parts, frame, width, in_rows)
        yield group.function()
        parts.most_lanes = min(parts.most_lanes, left // group.lane_bytes - width)
    if parts.most_lanes < 1:
        raise UnsupportedFeature(
            f"{group.lane_bytes:,} bytes for each lane to keep from one barrier to the next, and "
            f"{left:,} for all of them",
            "keep fewer names, or less workgroup memory, across barriers",
        )
    yield _task(program, parts, frame, width)


def _beside_shared(program: Program) -> int:
    """What workgroup memory leaves of a task's stack."""
    taken = sum(count * _bits(kind) // 8 for _, count, kind in shared_arrays(program))
    if taken > STACK_BYTES // 2:
        raise UnsupportedFeature(
            f"{taken:,} bytes of workgroup memory; the processor has {STACK_BYTES // 2:,}",
            "use an array of the kernel for what does not fit a workgroup's memory",
        )
    return STACK_BYTES - taken


def _bits(kind: str) -> int:
    return int(kind[1:]) if kind[0] == "i" else {"float": 32, "double": 64}[kind]


def _width(program: Program, code: Code, parts: Parts) -> int:
    """Lanes at a time: as many as asked for, or fewer where a row of the workgroup has fewer."""
    width = max(code.vector, parts.features.lanes)
    across = program.workgroup_size[0]
    while width > 4 and across % width:
        width //= 2
    return width


def _task(program: Program, parts: Parts, frame: Frame, width: int) -> str:
    """Workgroups from `first` to before `last`, each with fresh workgroup memory."""
    b = Builder(parts, 1)
    frame.unpack(b)
    shared = shared_arrays(program)
    for number, (_, count, kind) in enumerate(shared):
        b.entry.append(f"  %s{number} = alloca [{count} x {kind}], align 64")
    across = frame.size_of(b, WORKGROUP, 0)
    grid = [frame.size_of(b, GRID, axis) for axis in range(3)]
    in_rows = b.op(f"icmp eq i32 {b.op(f'urem i32 {across}, {width}')}, 0")
    passed = ", ".join([frame.passed, *(f"ptr %s{n}" for n in range(len(shared)))])

    def group(number: str) -> None:
        for slot, (_, count, kind) in enumerate(shared):
            size = count * _bits(kind)
            b.call(
                "void",
                "llvm.memset.p0.i64",
                ["ptr", "i8", "i64", "i1"],
                [f"%s{slot}", "0", str(size // 8), "false"],
            )
        wide = [b.op(f"zext i32 {size} to i64") for size in grid]
        x = b.op(f"urem i64 {number}, {wide[0]}")
        rest = b.op(f"udiv i64 {number}, {wide[0]}")
        y, z = b.op(f"urem i64 {rest}, {wide[1]}"), b.op(f"udiv i64 {rest}, {wide[1]}")
        place = ", ".join(f"i32 {b.op(f'trunc i64 {at} to i32')}" for at in (x, y, z))
        yes, no, after = (b.name() for _ in range(3))
        b.branch(in_rows, yes, no)
        for label, name in ((yes, "rows"), (no, "any")):
            b.place(label)
            b.emit(f"call void @group_{name}({passed}, {place})")
            b.jump(after)
        b.place(after)

    counting(b, "%first", "%last", 1, group, kind="i64")
    return function(f"void @{ENTRY}", TASK, b)
