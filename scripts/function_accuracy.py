"""How far the elementary functions are from exact: --function exp --dtype f32 --share 1/1.

f32 functions of one argument run over a share of all 2**32 arguments (--share 1/N: every N-th, N
made odd, begun at a place that --seed chooses) and are judged by f64 ones; others run over --count
drawn arguments and are judged by mpmath, which must be installed. --device NAME runs kernels on a
device instead of the reference; with --whole it runs all 2**32 arguments there, judged by the f64
functions of the device itself, in seconds. Prints the worst error in units of the last place with
its arguments, beside the bound that is stated; --json keeps it. Fails where a bound does not hold.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

import vyre
from vyre.ir.expr import UnaryOp
from vyre.ir.functions import ULP
from vyre.ir.types import DataType
from vyre.runtime.devices.device import Device
from vyre.testing import provenance
from vyre.testing.accuracy import DOUBLE, Array, Op, arguments, errors, evaluate, judged

CHUNK, WHOLE_CHUNK = 1 << 16, 1 << 24
DTYPES = {"f32": DataType.F32, "f64": DataType.F64}


@dataclass(frozen=True, slots=True)
class Worst:
    """The argument of a function at which it was furthest off."""

    function: str
    dtype: str
    arguments: int
    ulp: float
    bound: float
    at: tuple[str, ...]  # in hexadecimal, as floats print exactly


def every(share: Fraction, seed: int) -> Iterator[Array]:
    """A share of all f32, in order, a chunk at a time."""
    step = max(1, round(1 / share)) | 1  # an odd one meets every pattern of the last bits
    first = Random(seed).randrange(step)
    for start in range(first, 1 << 32, step * CHUNK):
        stop = min(start + step * CHUNK, 1 << 32)
        yield np.arange(start, stop, step, dtype=np.uint64).astype(np.uint32).view(np.float32)


def exact(op: Op, given: tuple[Array, ...]) -> list[Any]:
    """The values by mpmath, with enough digits for the largest angle."""
    import mpmath  # here, as only some functions need it

    mpmath.mp.prec = 160 if op.name not in ("SIN", "COS", "TAN") else 1300
    functions = {
        "EXP2": lambda x: mpmath.power(2, x),
        "LOG2": lambda x: mpmath.log(x) / mpmath.ln2,
        "CBRT": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
        "POW": mpmath.power,
    }
    function = functions.get(op.name) or getattr(mpmath, op.name.lower())
    each = zip(*(argument.tolist() for argument in given), strict=True)
    return [function(*map(mpmath.mpf, numbers)) for numbers in each]


def tame(op: Op, given: tuple[Array, ...]) -> Array:
    """Where the result is a finite number that is not 0: what mpmath can judge."""
    with np.errstate(all="ignore"):
        near = DOUBLE[op](*(argument.astype(np.float64) for argument in given))
    kept = np.isfinite(near) & (near != 0) & np.isreal(near)
    for argument in given:
        kept &= np.isfinite(argument)
    return kept


def distance(found: float, value: Any, dtype: DataType) -> float:
    """The error of one result in units of the last place."""
    import mpmath

    digits, least = (24, -149) if dtype == DataType.F32 else (53, -1074)
    most = 128 if dtype == DataType.F32 else 1024
    power = min(max(int(mpmath.frexp(value)[1]) - digits, least), most - digits)
    if np.isinf(found):
        beyond = mpmath.sign(found) * mpmath.mpf(2) ** most
        return 0.0 if abs(value) >= abs(beyond) else float(abs(beyond - value) / 2**power)
    return float(abs(mpmath.mpf(found) - value) / mpmath.mpf(2) ** power)


def exhaustive(op: Op, given: argparse.Namespace, device: Any, progress: Progress) -> Worst:
    share = Fraction(given.share)
    total = int((1 << 32) * share)
    task = progress.add_task(f"{op.name.lower()} f32", total=total)
    worst, at, done = -1.0, 0.0, 0
    for x in every(share, given.seed):
        found = evaluate(op, DataType.F32, x, device=device)
        with np.errstate(all="ignore"):
            away = errors(found, DOUBLE[op](x.astype(np.float64)))
        place = int(np.argmax(away))
        if away[place] > worst:
            worst, at = float(away[place]), float(x[place])
        done += x.size
        progress.advance(task, x.size)
    return Worst(op.name.lower(), "f32", done, worst, ULP[op, DataType.F32], (at.hex(),))


def whole(op: UnaryOp, device: Device, progress: Progress) -> Worst:
    task = progress.add_task(f"{op.name.lower()} f32", total=1 << 32)
    worst, at = -1.0, 0
    for first in range(0, 1 << 32, WHOLE_CHUNK):
        away = judged(op, first, WHOLE_CHUNK, device)
        place = int(np.argmax(away))
        if away[place] > worst:
            worst, at = float(away[place]), first + place
        progress.advance(task, WHOLE_CHUNK)
    argument = float(np.uint32(at).view(np.float32))
    return Worst(op.name.lower(), "f32", 1 << 32, worst, ULP[op, DataType.F32], (argument.hex(),))


def sampled(
    op: Op, dtype: DataType, given: argparse.Namespace, device: Any, progress: Progress
) -> Worst:
    name = str(dtype)
    task = progress.add_task(f"{op.name.lower()} {name}", total=given.count)
    rng = np.random.default_rng(given.seed)
    worst, at, done = -1.0, (), 0
    while done < given.count:
        drawn = arguments(op, dtype, min(3000, given.count - done + 2), rng)
        found = evaluate(op, dtype, *drawn, device=device)
        kept = tame(op, drawn)
        inside = tuple(argument[kept] for argument in drawn)
        for place, value in enumerate(exact(op, inside)):
            away = distance(float(found[kept][place]), value, dtype)
            if away > worst:
                worst, at = away, tuple(float(argument[place]).hex() for argument in inside)
        done += found.size
        progress.advance(task, found.size)
    return Worst(op.name.lower(), name, done, worst, ULP[op, dtype], at)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--function", action="append", help="all of them unless given")
    parser.add_argument("--dtype", choices=DTYPES, action="append")
    parser.add_argument("--share", default="1/1024", help="of all f32, as a fraction")
    parser.add_argument("--count", type=int, default=30_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", help="as vyre devices prints it; the reference unless given")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.whole:
        given.device, given.dtype = given.device or "cpu", ["f32"]
    device = vyre.open(given.device) if given.device else None
    names = given.function or [op.name.lower() for op in DOUBLE]
    console, found = Console(), []
    with Progress(console=console, transient=True) as progress:
        for op in (op for op in DOUBLE if op.name.lower() in names):
            if given.whole and not isinstance(op, UnaryOp):
                continue
            for name in given.dtype or DTYPES:
                if isinstance(op, UnaryOp) and given.whole:
                    result = whole(op, device, progress)
                elif isinstance(op, UnaryOp) and name == "f32":
                    result = exhaustive(op, given, device, progress)
                else:
                    result = sampled(op, DTYPES[name], given, device, progress)
                found.append(result)
                mark = "" if result.ulp <= result.bound else "  beyond its bound"
                console.print(
                    f"{result.function:6} {name} {result.ulp:7.4f} of {result.bound:4.2f} ulp over "
                    f"{result.arguments} arguments, worst at {', '.join(result.at)}{mark}",
                    soft_wrap=True,
                )
    if given.json:
        provenance.save(given.json, [asdict(result) for result in found])
    return 0 if all(result.ulp <= result.bound for result in found) else 1


if __name__ == "__main__":
    sys.exit(main())
