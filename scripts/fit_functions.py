"""Fits the polynomials of `vyre.ir.functions` with Sollya and prints them as Python tuples.

    python scripts/fit_functions.py            # every fit
    python scripts/fit_functions.py sin_f32    # the ones named

Coefficients come lowest power first. `error` is the largest relative error of the polynomial in
exact arithmetic, as a power of two.
"""

from __future__ import annotations

import struct
import subprocess
import sys
from dataclasses import dataclass
from shutil import which


@dataclass(frozen=True, slots=True)
class Fit:
    """A polynomial of some powers of x with coefficients of so many bits, near a function."""

    function: str
    powers: tuple[int, ...]
    bits: int
    low: str
    high: str
    fixed: str = "0"
    weight: str = ""  # of the error where it is not relative


def _odd(first: int, count: int) -> tuple[int, ...]:
    return tuple(range(first, first + 2 * count, 2))


def _run(first: int, count: int) -> tuple[int, ...]:
    return tuple(range(first, first + count))


_TINY = "1b-20"
_LN2_HALF = "0.34665"
_ERFCX = "(1+2*(4*(1+x)/(1-x)))*exp((4*(1+x)/(1-x))^2)*erfc(4*(1+x)/(1-x))"
_ROOTS = ("-0.2929", "0.41422")  # sqrt(1/2) - 1 and sqrt(2) - 1
_EIGHTH = "0.78545"  # pi / 4

FITS = {
    "exp_f32": Fit("exp(x)", _run(2, 5), 24, "-" + _LN2_HALF, _LN2_HALF, "1+x"),
    "exp_f64": Fit("exp(x)", _run(2, 10), 53, "-" + _LN2_HALF, _LN2_HALF, "1+x"),
    "expm1_f32": Fit("expm1(x)", _run(3, 5), 24, "-" + _LN2_HALF, _LN2_HALF, "x+x^2/2"),
    "expm1_f64": Fit("expm1(x)", _run(3, 10), 53, "-" + _LN2_HALF, _LN2_HALF, "x+x^2/2"),
    "exp2_f32": Fit("2^x", _run(1, 6), 24, "-0.5", "0.5", "1"),
    "log_f32": Fit("log1p(x)", _run(3, 9), 24, *_ROOTS, "x-x^2/2"),
    "sin_f32": Fit("sin(x)", _odd(3, 3), 24, _TINY, _EIGHTH, "x"),
    "cos_f32": Fit("cos(x)", (4, 6, 8), 24, _TINY, _EIGHTH, "1-x^2/2"),
    "sin_f64": Fit("sin(x)", _odd(3, 7), 53, _TINY, _EIGHTH, "x"),
    "cos_f64": Fit("cos(x)", _odd(4, 7), 53, _TINY, _EIGHTH, "1-x^2/2"),
    "tan_f32": Fit("tan(x)", _odd(3, 7), 24, _TINY, _EIGHTH, "x"),
    "tanh_f32": Fit("tanh(x)", _odd(3, 5), 24, _TINY, "0.625", "x"),
    "atan_f32": Fit("atan(x)", _odd(3, 9), 24, _TINY, "1", "x"),
    "asin_f32": Fit("asin(x)", _odd(3, 6), 24, _TINY, "0.5", "x"),
    "sinh_f32": Fit("sinh(x)", _odd(3, 3), 24, _TINY, _LN2_HALF, "x"),
    "cosh_f32": Fit("cosh(x)", (4, 6), 24, _TINY, _LN2_HALF, "1+x^2/2"),
    "erf_near_f32": Fit("erf(x)", _odd(1, 6), 24, _TINY, "0.9277", "x"),
    "erf_far_f32": Fit("log(erfc(x))+x", _run(1, 7), 24, "0.9277", "3.93", "0", "erfc(x)"),
    "exp2_f64": Fit("2^x", _run(1, 12), 53, "-0.5", "0.5", "1"),
    "log_f64": Fit("log1p(x)", _run(3, 20), 53, *_ROOTS, "x-x^2/2"),
    "log_atanh_f64": Fit("2*atanh(x)", _odd(3, 7), 53, _TINY, "0.17158", "2*x"),
    "tanh_f64": Fit("tanh(x)", _odd(3, 12), 53, _TINY, "0.625", "x"),
    "atan_f64": Fit("atan(x)", _odd(3, 21), 53, _TINY, "1", "x"),
    "asin_f64": Fit("asin(x)", _odd(3, 13), 53, _TINY, "0.5", "x"),
    "sinh_f64": Fit("sinh(x)", _odd(3, 6), 53, _TINY, _LN2_HALF, "x"),
    "cosh_f64": Fit("cosh(x)", _odd(4, 5), 53, _TINY, _LN2_HALF, "1+x^2/2"),
    "erf_f64": Fit("erf(x)", _odd(1, 12), 53, _TINY, "0.66", "x"),
    "erfcx_f32": Fit(_ERFCX, _run(0, 12), 24, "-1", "0.45", "1.25"),
    "erfcx_f64": Fit(_ERFCX, _run(0, 25), 53, "-1", "0.75", "1.25"),
    "log_tail_f64": Fit("2*atanh(x)", _odd(5, 8), 53, _TINY, "0.17158", "2*x+x^3*2/3"),
    "cbrt": Fit("x^(-1/3)", _run(0, 5), 24, "0.5", "1"),
    # For f32 functions that compute in f64: two bits beyond f32 are enough.
    "exp2_wide": Fit("2^x", _run(1, 7), 53, "-0.5", "0.5", "1"),
    "log_wide": Fit("2*atanh(x)", _odd(3, 5), 53, _TINY, "0.17158", "2*x"),
}

_SOLLYA = which("sollya") or "sollya"
_PROGRAM = """
prec=300!; display=dyadic!; verbosity=0!;
f = {function};
w = {weight};
r = [{low};{high}];
formats = [||];
for i in {powers} do formats = {bits} .: formats;
if ({weighted}) then {{
  p = remez(f*w, {powers}, r, w);
  q = 0;
  for i in {powers} do q = q + round(coeff(p, i), {bits}, RN)*x^i;
  p = q;
  e = dirtyinfnorm((p - f)*w, r);
}} else {{
  p = fpminimax(f, {powers}, formats, r, floating, relative, {fixed});
  e = dirtyinfnorm(p/f - 1, r);
}};
display=decimal!;
print("error", round(log2(e), 20, RN));
display=dyadic!;
for i in {powers} do print("c", coeff(p - ({fixed}), i));
quit;
"""


def run(fit: Fit) -> tuple[float, list[float]]:
    """The error of a fit as a power of two, and its coefficients."""
    powers = "[|" + ",".join(map(str, fit.powers)) + "|]"
    text = _PROGRAM.format(
        function=fit.function,
        weight=fit.weight or "1",
        weighted="true" if fit.weight else "false",
        low=fit.low,
        high=fit.high,
        powers=powers,
        bits=fit.bits,
        fixed=fit.fixed,
    )
    # A warning is an exit status too; what counts is whether there are coefficients.
    done = subprocess.run(  # noqa: S603  # what this script wrote
        [_SOLLYA], input=text, capture_output=True, text=True, check=False
    )
    error, found = 0.0, []
    for line in done.stdout.splitlines():
        kind, _, value = line.partition(" ")
        if kind == "error":
            error = float(value)
        elif kind == "c":
            mantissa, _, power = value.strip().partition("b")
            found.append(int(mantissa) * 2.0 ** int(power or 0))
    if len(found) != len(fit.powers):
        raise SystemExit(f"{fit} did not fit:\n{done.stdout}")
    return error, found


def spelled(value: float, bits: int) -> str:
    """The shortest decimal that is rounded to `value`."""
    if bits > 24:
        return repr(value)
    single = struct.pack("<f", value)
    tries = (f"{value:.{digits}g}" for digits in range(5, 18))
    return next(text for text in tries if struct.pack("<f", float(text)) == single)


def main(names: list[str]) -> None:
    for name in names or FITS:
        fit = FITS[name]
        error, found = run(fit)
        print(f"# {name}: {fit.function} on [{fit.low}, {fit.high}], error 2^{error:.1f}")
        print(f"{name.upper()} = (")
        for value in found:
            print(f"    {spelled(value, fit.bits)},")
        print(")")


if __name__ == "__main__":
    main(sys.argv[1:])
