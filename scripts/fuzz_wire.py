"""Feeds damaged programs to the decoder: each must decode, or be refused with a WireError.

    python scripts/fuzz_wire.py --count 100000 --seed 1

Bits flip, bytes come and go, programs are cut and joined; most of the time the digest is made to
match afterwards, so that the damage reaches the parser. What decodes must encode, and decode again
to the same program. The last line counts both outcomes; the exit status is 1 on any failure.
"""

from __future__ import annotations

import argparse
import resource
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from time import perf_counter

from vyre.errors import WireError
from vyre.ir import build as b
from vyre.ir.declare import Access, BufferDecl, Hints, Locality, MemoryKind, Options
from vyre.ir.decode import from_wire
from vyre.ir.encode import HEADER_BYTES, header
from vyre.ir.expr import (
    AtomicOp,
    BinaryOp,
    Expr,
    Lit,
    OpaqueExpr,
    Ordering,
    Subgroup,
    SubgroupOp,
    UnaryOp,
)
from vyre.ir.node import (
    AllGather,
    AllReduce,
    AsyncCopy,
    AsyncWait,
    Broadcast,
    CollectiveOp,
    IndirectDispatch,
    Node,
    OpaqueNode,
    ReduceOp,
    ReduceScatter,
    Resume,
    Trap,
)
from vyre.ir.program import Program
from vyre.ir.types import SCALARS, DataType, Tag

U32, F32 = DataType.U32, DataType.F32
TYPES = (
    *SCALARS,
    DataType.vec(F32, 4),
    DataType.array(12),
    DataType(Tag.HANDLE, None, (7,)),
    DataType(Tag.OPAQUE, None, (300,)),
    DataType(Tag.TENSOR_SHAPED, F32, (2, 3, 4)),
    DataType(Tag.SPARSE_CSR, DataType.vec(DataType.F16, 2)),
    DataType(Tag.SPARSE_BSR, F32, (8, 8)),
    DataType(Tag.DEVICE_MESH, None, (2, 4)),
    DataType(Tag.QUANTIZED, DataType.I8, (1, 2, 3, 4)),
    DataType.BYTES,
    DataType.NF4,
)


def programs() -> tuple[Program, ...]:
    """Programs that use every statement, expression, type and extension between them."""
    i = b.gid()
    x, out = BufferDecl.read("x", 0, F32), BufferDecl.write("out", 1, F32)
    arrays = (
        BufferDecl.read("m", 0, F32).with_shape(0, 0),
        BufferDecl.write("t", 1, F32).with_shape(4, 5, 6),
    )
    options = Options(fast_math=True, unique_writes=("out", "x"))
    typed = [
        BufferDecl.storage(f"b{k}", k, list(Access)[k % 5], dtype).with_count(k + 1)
        for k, dtype in enumerate(TYPES)
    ]
    hinted = BufferDecl(
        name="größe",
        binding=9,
        access=Access.READ_WRITE,
        kind=MemoryKind.PERSISTENT,
        element=U32,
        count=300,
        is_output=True,
        live_out=True,
        output_range=(4, 1200),
        hints=Hints(coalesce_axis=1, alignment=256, locality=Locality.RANDOM),
    )
    named = Program((hinted,), (8, 4, 2), (b.region("g", (), "from"),), "op.id", True)
    return (
        Program.empty(),
        named,
        Program.wrapped(typed, (1, 1, 1), [b.let("v", b.cast(kind, i)) for kind in TYPES]),
        Program.wrapped((x, out), (64, 1, 1), [b.store("out", i, b.load("x", i) * 2.5 + 1.0)]),
        Program.wrapped((x, out), (64, 1, 1), _control_flow(), options),
        Program.wrapped((x, out), (64, 1, 1), _reductions()),
        Program.wrapped((x, out), (64, 1, 1), [b.let("v", part) for part in _expressions()]),
        Program.wrapped(arrays, (8, 8, 1), _arrays()),
        Program.wrapped((x,), (1, 1, 1), _devices()),
        Program.wrapped(
            (x,), (1, 1, 1), [b.let(f"v{n}", lit) for n, lit in enumerate(_literals())]
        ),
        Program((), (1, 1, 1), (b.block([b.let("a", 1)]), b.return_(), b.break_())),
        Program.wrapped((out,), (1, 1, 1), [b.store("out", i, _sum(150))]),
        Program.wrapped((), (1, 1, 1), _nested(90)),
        Program.wrapped((x,) * 3, (1, 1, 1), [b.return_()] * 40),
    )


def _control_flow() -> list[Node]:
    inner = [b.if_(b.var("k").eq(3), [b.break_()], [b.continue_()])]
    return [
        b.let("s", 0.0),
        b.loop("k", 0, b.buf_len("x"), [b.assign("s", b.var("s") + b.load("x", b.var("k")))]),
        b.while_(b.var("s") < 10.0, [b.assign("s", b.var("s") + 1.0), *inner]),
        b.block([b.let("t", b.var("s")), b.barrier(Ordering.GRID_SYNC)]),
        b.block([b.barrier()]),
        b.store("out", b.gid(), b.var("s")),
    ]


def _reductions() -> list[Node]:
    value = b.load("x", b.var("k"))
    yields = [b.if_(value < 1.0, [b.yield_(value)], [b.yield_(b.var("t"))])]
    nested = b.reduce_(
        "t", ReduceOp.PROD, F32, "j", rounds=b.var("k"), body=[b.yield_(b.load("x", b.var("j")))]
    )
    return [
        b.reduce_(f"s{n}", op, dtype, "k", rounds=b.buf_len("x"), body=[nested, *yields])
        for n, (op, dtype) in enumerate(zip(ReduceOp, TYPES, strict=False))
    ]


def _expressions() -> list[Expr]:
    i, v = b.gid(), b.load("x", b.gid())
    cas = AtomicOp.COMPARE_EXCHANGE
    return [
        *(b.binary(op, i, b.var("w")) for op in BinaryOp),
        *(b.unary(op, v) for op in UnaryOp),
        *(b.atomic(op, "out", i, 1) for op in AtomicOp),
        b.atomic(cas, "out", i, 1, 2, ordering=Ordering.ACQ_REL),
        *(part(2) for part in (b.local_id, b.workgroup_id, b.workgroup_size, b.extent)),
        b.select(v < 1.0, v, b.fma(v, v, v)),
        b.bitcast(DataType.U32, v),
        b.call("vyre.math.clamp", v, 0.0, 1.0),
        Subgroup(SubgroupOp.ADD, (v,)),
        Subgroup(SubgroupOp.SHUFFLE, (v, i)),
        Subgroup(SubgroupOp.BALLOT, (v < 1.0,)),
        Subgroup(SubgroupOp.LOCAL_ID),
        Subgroup(SubgroupOp.SIZE),
        OpaqueExpr("someone.else", b"\x00\xff payload"),
    ]


def _arrays() -> list[Node]:
    at = b.flat_index("t", 1, b.gid(1), b.gid(0))
    return [b.store("t", at, b.load("m", b.flat_index("m", b.gid(1), b.buf_dim("m", 1))))]


def _devices() -> list[Node]:
    return [
        IndirectDispatch("x", 1 << 40),
        AsyncCopy(False, "x", "y", b.u32(0), b.buf_len("x"), "t"),
        AsyncCopy(True, "x", "y", b.u32(0), b.u32(4), "t"),
        AsyncWait("t"),
        Trap(b.u32(1), "t"),
        Resume("t"),
        AllReduce("x", CollectiveOp.SUM, 1),
        AllGather("x", "y", 2),
        ReduceScatter("x", "y", CollectiveOp.BIT_XOR, 3),
        Broadcast("x", 1, 4),
        OpaqueNode("someone.else", b"\x80\x00"),
    ]


def _literals() -> list[Expr]:
    numbers: list[Expr] = [Lit.of(dtype, 1) for dtype in SCALARS]
    return numbers + [Lit(F32, bits) for bits in (0, 1, 0x8000_0000, 0x7F80_0000, 0xFFC0_0001)]


def _sum(terms: int) -> Expr:
    total = b.load("x", 0)
    for k in range(1, terms):
        total = total + b.load("x", k)
    return total


def _nested(depth: int) -> list[Node]:
    body: list[Node] = [b.return_()]
    for _ in range(depth):
        body = [b.while_(True, [b.let("a", 1), *body])]
    return body


@dataclass(slots=True)
class Outcome:
    """What became of the inputs."""

    decoded: int = 0
    refused: int = 0
    slowest_ms: float = 0.0
    failures: list[str] = field(default_factory=list)


def fuzz(count: int, seed: int) -> Outcome:
    """The outcome of decoding `count` damaged programs."""
    rng = Random(seed)
    seeds = [program.to_wire() for program in programs()]
    outcome = Outcome()
    for _ in range(count):
        data = damage(rng, seeds)
        start = perf_counter()
        try:
            program = from_wire(data)
        except WireError:
            program = None
        except Exception:  # noqa: BLE001  # anything else is what this script looks for
            outcome.failures.append(f"{data.hex()}\n{traceback.format_exc()}")
            continue
        finally:
            outcome.slowest_ms = max(outcome.slowest_ms, (perf_counter() - start) * 1e3)
        if program is None:
            outcome.refused += 1
        elif comes_back(program):
            outcome.decoded += 1
        else:
            outcome.failures.append(f"{data.hex()}\ndoes not come back as it was")
    return outcome


def comes_back(program: Program) -> bool:
    """Whether `program` has bytes, and these are its own."""
    try:
        wire = program.to_wire()
        again = from_wire(wire)
    except WireError:
        return False
    return again == program.canonical() and again.to_wire() == wire


def damage(rng: Random, seeds: Sequence[bytes]) -> bytes:
    """One of `seeds` with one to three things wrong with it."""
    data = rng.choice(seeds)
    seal = rng.random() < 0.85
    out = bytearray(data[HEADER_BYTES:] if seal else data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(len(out) + 1)
        match rng.randrange(8):
            case 0 | 1 if at < len(out):
                out[at] ^= 1 << rng.randrange(8)
            case 2 if at < len(out):
                out[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            case 3:
                out[at : at + 4] = rng.choice((b"\xff" * 4, bytes(4), b"\xff\xff\xff\x7f"))
            case 4:
                del out[at:]
            case 5:
                out[at:at] = rng.randbytes(rng.randint(1, 12)) * rng.choice((1, 1, 1, 200))
            case 6:
                del out[at : at + rng.randint(1, 12)]
            case _:
                other = rng.choice(seeds)
                start = rng.randrange(len(other))
                piece = other[start : start + rng.randint(1, 200)]
                out[at : at + rng.choice((0, len(piece)))] = piece
    return header(out) + bytes(out) if seal else bytes(out)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    outcome = fuzz(args.count, args.seed)
    for failure in outcome.failures[:5]:
        print(failure)
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{outcome.decoded} decoded, {outcome.refused} refused")
    print(f"slowest decode {outcome.slowest_ms:.1f} ms, peak memory {peak_mib:.0f} MiB")
    failed = len(outcome.failures)
    print(f"{outcome.decoded + outcome.refused} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
