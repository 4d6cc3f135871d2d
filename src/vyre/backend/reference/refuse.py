"""What the reference cannot run, said before anything has changed."""

from __future__ import annotations

from vyre.errors import UnsupportedFeature
from vyre.ir.declare import MemoryKind
from vyre.ir.expr import Atomic, AtomicOp, Binary, Call, Expr, OpaqueExpr, Subgroup, Unary
from vyre.ir.node import (
    AllGather,
    AllReduce,
    AsyncCopy,
    AsyncWait,
    Broadcast,
    IndirectDispatch,
    Node,
    OpaqueNode,
    ReduceScatter,
    Resume,
)
from vyre.ir.program import Program
from vyre.ir.typing import UNPACKS, WAVE
from vyre.ir.walk import expressions, statements


def refuse_unsupported(program: Program) -> None:
    """Nothing, or an error that names the first thing the reference cannot run.

    Raises:
        UnsupportedFeature: a buffer, a statement or an expression has no meaning here.
    """
    for decl in program.buffers:
        if not decl.element.is_scalar:
            raise _refusal(
                f"buffer {decl.name!r} of {decl.element}", "declare it with a scalar element type"
            )
        if decl.kind is MemoryKind.LOCAL and not decl.is_shared:
            raise _refusal(
                f"buffer {decl.name!r} in local memory", "use names bound with let instead"
            )
    for node in statements(program.entry):
        _check_statement(node)
        for expr in expressions(node):
            _check_expression(expr)


def _refusal(what: str, fix: str) -> UnsupportedFeature:
    return UnsupportedFeature(f"the reference cannot run {what}", fix)


def _check_statement(node: Node) -> None:
    match node:
        case IndirectDispatch():
            raise _refusal("an indirect dispatch", "read the counts on the host and dispatch those")
        case AsyncCopy(source=source, destination=destination):
            raise _refusal(
                f"an asynchronous copy from {source!r} to {destination!r}",
                "copy with loads and stores",
            )
        case AsyncWait(token):
            raise _refusal(f"a wait for copy {token!r}", "copy with loads and stores")
        case Resume(token):
            raise _refusal(f"resume {token!r}", "store an error code in a buffer and return")
        case AllReduce() | AllGather() | ReduceScatter() | Broadcast():
            raise _refusal(
                f"collective {type(node).__name__}", "combine the devices' buffers on the host"
            )
        case OpaqueNode(kind):
            raise _refusal(
                f"statement {kind!r} of an unknown extension", "rewrite it with known statements"
            )
        case _:
            return


def _check_expression(expr: Expr) -> None:
    match expr:
        case Call(op_id):
            raise _refusal(f"a call of {op_id!r}", "write out what it computes")
        case Subgroup(op):
            raise _refusal(
                f"subgroup operation {op.name.lower()}", "use workgroup memory and a barrier"
            )
        case Binary(op) if op in WAVE:
            raise _refusal(
                f"wave operation {op.name.lower()}", "use workgroup memory and a barrier"
            )
        case Unary(op) if op in UNPACKS:
            raise _refusal(f"{op.name.lower()}", "unpack with shifts and masks")
        case Atomic(op=AtomicOp.LRU_UPDATE, buffer=buffer):
            raise _refusal(f"atomic lru_update on {buffer!r}", "use compare_exchange")
        case OpaqueExpr(kind):
            raise _refusal(
                f"expression {kind!r} of an unknown extension", "rewrite it with known operators"
            )
        case _:
            return
