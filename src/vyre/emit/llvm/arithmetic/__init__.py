"""What a program computes, as instructions of LLVM."""

from vyre.emit.llvm.arithmetic.conversions import cast, loaded, stored
from vyre.emit.llvm.arithmetic.division import quotient
from vyre.emit.llvm.arithmetic.fused import fma
from vyre.emit.llvm.arithmetic.halves import FROM_DOUBLE
from vyre.emit.llvm.arithmetic.instructions import Instructions
from vyre.emit.llvm.arithmetic.operators import binary, unary
from vyre.emit.llvm.arithmetic.real import extreme

__all__ = [
    "FROM_DOUBLE",
    "Instructions",
    "binary",
    "cast",
    "extreme",
    "fma",
    "loaded",
    "quotient",
    "stored",
    "unary",
]
