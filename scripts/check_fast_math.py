"""Checks a device's fast_math functions: --device cuda:0, --json FILE keeps the numbers.

Every function is called of elements, and of the same numbers as a loop's variable makes them, under
several codes: all must give the same bits. Then its distance from the exact value is measured over
the range that a bound is stated for, in units in the last place and absolutely. Ends with status 1
where bits or bounds do not hold.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import pi
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vyre
from vyre import ir
from vyre.ir import BufferDecl, DataType, Options, Program
from vyre.ir.expr import Binary, BinaryOp, Expr, Unary, UnaryOp
from vyre.model import Code
from vyre.runtime.devices.launcher import words_of

F32 = DataType.F32
Array = NDArray[Any]
Op = UnaryOp | BinaryOp
ROUNDS = 64
CODES = tuple(Code(unroll=unroll) for unroll in (1, 2, 4, 64))
COUNT = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What is stated of a function between two arguments: units, or a distance where `absolute`."""

    op: Op
    exact: Callable[..., Array]
    low: float
    high: float
    most: float
    absolute: bool = False


BOUNDS = (
    Bound(op=BinaryOp.DIV, exact=np.divide, low=2.0**-149, high=2.0**127, most=2),
    Bound(op=UnaryOp.RECIPROCAL, exact=np.reciprocal, low=2.0**-126, high=2.0**127, most=1),
    Bound(op=UnaryOp.SQRT, exact=np.sqrt, low=2.0**-149, high=2.0**127, most=2),
    Bound(
        op=UnaryOp.INVERSE_SQRT,
        exact=lambda x: 1 / np.sqrt(x),
        low=2.0**-149,
        high=2.0**127,
        most=3,
    ),
    Bound(op=UnaryOp.EXP2, exact=np.exp2, low=2.0**-20, high=127, most=2),
    Bound(op=UnaryOp.EXP, exact=np.exp, low=2.0**-20, high=88, most=106),
    Bound(op=UnaryOp.LOG2, exact=np.log2, low=2, high=2.0**127, most=3),
    Bound(op=UnaryOp.LOG, exact=np.log, low=2, high=2.0**127, most=3),
    Bound(op=UnaryOp.LOG10, exact=np.log10, low=2, high=2.0**127, most=3),
    Bound(op=UnaryOp.LOG2, exact=np.log2, low=0.5, high=2, most=2.0**-21.4, absolute=True),
    Bound(op=UnaryOp.LOG, exact=np.log, low=0.5, high=2, most=2.0**-21.4, absolute=True),
    Bound(op=UnaryOp.SIN, exact=np.sin, low=2.0**-20, high=pi, most=2.0**-20.9, absolute=True),
    Bound(op=UnaryOp.COS, exact=np.cos, low=2.0**-20, high=pi, most=2.0**-20.9, absolute=True),
    Bound(op=UnaryOp.TANH, exact=np.tanh, low=2.0**-20, high=20, most=2.0**13),
)
ALSO = (UnaryOp.TAN, BinaryOp.POW)  # composed of the others: their bits alone are compared


def applied(op: Op, a: Expr, b: Expr) -> Expr:
    return Unary(op, a) if isinstance(op, UnaryOp) else Binary(op, a, b)


def of_elements(op: Op) -> Program:
    value = applied(op, ir.load("x", ir.gid()), ir.load("y", ir.gid()))
    return Program.wrapped(
        [
            BufferDecl.read("x", 0, F32),
            BufferDecl.read("y", 1, F32),
            BufferDecl.write("out", 2, F32),
        ],
        (64, 1, 1),
        [ir.store("out", ir.gid(), value)],
        Options(fast_math=True),
    )


def of_rounds(op: Op) -> Program:
    """Each round of a loop stores the function of numbers that only its variable decides."""
    number = ir.cast(F32, ir.var("k")) * ir.f32(0.0625) + ir.f32(0.015625)
    body = [ir.store("out", ir.gid() * ROUNDS + ir.var("k"), applied(op, number, number))]
    program = Program.wrapped(
        [BufferDecl.write("out", 0, F32)], (1, 1, 1), [ir.loop("k", 0, ROUNDS, body)]
    )
    return replace(program, options=Options(fast_math=True))


def run(device: vyre.Device, program: Program, code: Code, extent: int, **arrays: Array) -> Array:
    """What one launch writes to `out`."""
    (binary,) = device.binaries([(program, code)])
    words = words_of(binary.layout, (extent, 1, 1), {n: a.shape for n, a in arrays.items()})
    width = program.workgroup_size[0]
    device.run(binary, (-(-extent // width), 1, 1), (width, 1, 1), arrays, program, words)
    return arrays["out"]


def folded(device: vyre.Device, op: Op) -> int:
    """How many results of a loop's numbers differ from those of elements, over all codes."""
    x = np.arange(ROUNDS, dtype=np.float32) * np.float32(0.0625) + np.float32(0.015625)
    want = run(device, of_elements(op), Code(), ROUNDS, x=x, y=x, out=np.zeros_like(x))
    wrong = 0
    for code in CODES:
        found = run(device, of_rounds(op), code, 1, out=np.zeros_like(x))
        wrong += int((found.view(np.uint32) != want.view(np.uint32)).sum())
    return wrong


def farthest(device: vyre.Device, bound: Bound) -> float:
    """The largest distance from the exact value that is found."""
    draw = np.random.default_rng(0)
    x, y = (
        np.exp2(draw.uniform(np.log2(bound.low), np.log2(bound.high), COUNT)).astype(np.float32)
        for _ in "xy"
    )
    found = run(device, of_elements(bound.op), Code(), COUNT, x=x, y=y, out=np.zeros_like(x))
    given = (x,) if isinstance(bound.op, UnaryOp) else (x, y)
    with np.errstate(all="ignore"):
        exact = bound.exact(*(one.astype(np.float64) for one in given))
        usual = np.isfinite(exact.astype(np.float32))
        apart = np.abs(found - exact)[usual]
        units = np.spacing(np.abs(exact[usual]).astype(np.float32))
    return float(np.max(apart if bound.absolute else apart / units))


def rows(device: vyre.Device) -> Iterator[dict[str, Any]]:
    for op in dict.fromkeys([*(bound.op for bound in BOUNDS), *ALSO]):
        yield {"op": op.name.lower(), "what": "other bits", "found": folded(device, op), "most": 0}
    for bound in BOUNDS:
        what = "apart" if bound.absolute else "units apart"
        yield {
            "op": bound.op.name.lower(),
            "what": f"{what}, {bound.low:.3g} to {bound.high:.3g}",
            "found": farthest(device, bound),
            "most": bound.most,
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    device = vyre.open(asked.device)
    found = list(rows(device))
    for row in found:
        mark = "" if row["found"] <= row["most"] else "  <- too much"
        print(f"{row['op']:13}{row['what']:34}{row['found']:<12.4g}of {row['most']:.4g}{mark}")
    if asked.json:
        asked.json.write_text(json.dumps({"device": device.info.model, "rows": found}, indent=1))
    return 1 if any(row["found"] > row["most"] for row in found) else 0


if __name__ == "__main__":
    sys.exit(main())
