"""Program + code -> LLVM IR: an invocation is a lane of a vector."""

from vyre.emit.llvm.features import Features
from vyre.emit.llvm.frame import ENTRY
from vyre.emit.llvm.module import Module, emit_llvm
from vyre.emit.llvm.tile import loops_part, rows_side_by_side, stages

__all__ = [
    "ENTRY",
    "Features",
    "Module",
    "emit_llvm",
    "loops_part",
    "rows_side_by_side",
    "stages",
]
