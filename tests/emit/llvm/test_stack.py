"""What a workgroup that works together takes of a thread's stack is bounded."""

import pytest

from vyre import ir
from vyre.analysis import analyse
from vyre.emit.llvm import Features, emit_llvm
from vyre.errors import UnsupportedFeature
from vyre.ir import BufferDecl, DataType, Program
from vyre.model import Code

F64 = DataType.F64


def module(names=1, shared=64):
    """Of a program whose lanes keep so many names across a barrier."""
    kept = [ir.let(f"v{n}", ir.load("x", ir.gid() + ir.u32(n))) for n in range(names)]
    total = ir.load("line", ir.u32(0))
    for n in range(names):
        total = total + ir.var(f"v{n}")
    program = Program.wrapped(
        [
            BufferDecl.read("x", 0, F64),
            BufferDecl.write("out", 1, F64),
            BufferDecl.workgroup("line", shared, F64),
        ],
        (64, 1, 1),
        [*kept, ir.barrier(), ir.store("out", ir.gid(), total)],
    )
    return emit_llvm(program, Code(vector=8), Features(vector_bytes=32), analyse(program))


def test_few_names_leave_room_for_4096_lanes():
    assert module().most_lanes == 4096


def test_many_names_leave_room_for_fewer_lanes():
    assert 1 <= module(names=300).most_lanes < (2 << 20) // (300 * 8)


def test_workgroup_memory_takes_of_the_same_room():
    assert module(names=300, shared=1 << 17).most_lanes < module(names=300).most_lanes


def test_workgroup_memory_beyond_it_is_refused_before_a_thread_overflows():
    module(shared=1 << 17)
    with pytest.raises(UnsupportedFeature, match="1,048,584 bytes of workgroup memory"):
        module(shared=(1 << 17) + 1)
