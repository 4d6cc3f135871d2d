"""The CPU suite: all sides of a kernel compute the same, and what the cells come to."""

import importlib
import importlib.util
import json
import sys
from math import erf, exp, log, sqrt
from pathlib import Path

import numpy as np
import pytest

from vyre.kernels.samples import sample

ROOT = Path(__file__).parents[2]
NAMES = ("cells", "work", "numpy", "numba", "measure", "report", "sides")
SIZES = {"nbody": (4, 20, 64), "product": (1, 5, 33)}  # of bodies and rows
TEN = ("saxpy", "gelu", "exp_log", "polynomial", "stencil9", "stencil5", "gather", "histogram")
TEN += ("mandelbrot", "nbody")
SIX = ("sobel", "black_scholes", "kmeans", "heat", "product", "csr")


@pytest.fixture(scope="module")
def suite():
    """The modules of the benchmarks import each other by name, as scripts do."""
    before = sys.path[:]
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        without = () if importlib.util.find_spec("numba") else ("numba",)
        found = {n: importlib.import_module(f"cpu_{n}") for n in NAMES if n not in without}
        yield found
    finally:
        sys.path[:] = before
        for name in NAMES:
            sys.modules.pop(f"cpu_{name}", None)


def cells_of(suite, kernel):
    sizes = SIZES.get(kernel, (64, 1000, 4096))
    return [suite["cells"].of_size(kernel, size) for size in sizes]


def by_vyre(suite, cell):
    cell.clear()
    out = {"out": cell.out} if cell.outs else {}
    suite["cells"].KERNELS[cell.kernel](*cell.inputs, **out, **cell.options)
    return suite["cells"].copied(cell.results)


def by_function(suite, side, cell):
    cell.clear()
    getattr(suite[side], cell.kernel)(*cell.arguments())
    return suite["cells"].copied(cell.results)


def around(x, *place):
    """An element, or 0 beyond the edges."""
    inside = all(0 <= at < size for at, size in zip(place, x.shape, strict=True))
    return float(x[place]) if inside else 0.0


def sobel(x):
    out = np.zeros(x.shape)
    for i, j in np.ndindex(*x.shape):
        at = np.array([[around(x, i + a, j + b) for b in (-1, 0, 1)] for a in (-1, 0, 1)])
        weights = np.array([1, 2, 1])
        gx = weights @ (at[:, 2] - at[:, 0])
        gy = weights @ (at[2] - at[0])
        out[i, j] = np.hypot(gx, gy)
    return (out,)


def black_scholes(price, strike, years, *, rate, volatility):
    calls, puts = [], []
    for s, x, t in zip(price.tolist(), strike.tolist(), years.tolist(), strict=True):
        d1 = (log(s / x) + (rate + volatility**2 / 2) * t) / (volatility * sqrt(t))
        d2 = d1 - volatility * sqrt(t)
        below1, below2 = (0.5 + 0.5 * erf(d / sqrt(2)) for d in (d1, d2))
        calls.append(s * below1 - x * exp(-rate * t) * below2)
        puts.append(x * exp(-rate * t) * (1 - below2) - s * (1 - below1))
    return np.array(calls), np.array(puts)


def kmeans(points, centres):
    distances = np.square(points[:, None].astype(np.float64) - centres).sum(2)
    return (distances.argmin(1),)


def heat(x, *, c):
    out = np.zeros(x.shape)
    for place in np.ndindex(*x.shape):
        total = 0.0
        for axis in range(3):
            for step in (-1, 1):
                there = list(place)
                there[axis] += step
                total += around(x, *there)
        out[place] = x[place] + c * (total - 6 * float(x[place]))
    return (out,)


def product(a, b):
    return (a.astype(np.float64) @ b.astype(np.float64),)


def csr(starts, columns, values, x):
    rows = zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    wide = values.astype(np.float64) * x[columns]
    return (np.array([wide[first:last].sum() for first, last in rows]),)


DEFINED = {f.__name__: f for f in (sobel, black_scholes, kmeans, heat, product, csr)}


@pytest.mark.parametrize("kernel", SIX)
def test_a_kernel_nobody_tuned_for_computes_what_its_name_says(suite, kernel):
    for cell in cells_of(suite, kernel):
        expected = DEFINED[kernel](*cell.inputs, **cell.options)

        assert suite["cells"].apart(expected, by_vyre(suite, cell)) <= 1, cell.size


@pytest.mark.parametrize("kernel", TEN)
def test_the_cells_of_bundled_kernels_are_their_samples(suite, kernel):
    cell = cells_of(suite, kernel)[1]
    given = sample(kernel, (20 // 4) ** 2 if kernel == "nbody" else 1000)

    assert suite["cells"].apart(given.expected(), by_vyre(suite, cell)) <= 1


@pytest.mark.parametrize("kernel", TEN + SIX)
@pytest.mark.parametrize("side", ["numpy", pytest.param("numba", marks=pytest.mark.slow)])
def test_a_peer_computes_what_vyre_does(suite, side, kernel):
    if side not in suite:
        pytest.skip("numba is an extra of the benchmarks")
    if not hasattr(suite[side], kernel):
        assert (side, kernel) in {("numpy", name) for name in ("mandelbrot", "nbody", "csr")}
        return
    for cell in cells_of(suite, kernel):
        found = by_function(suite, side, cell)

        assert suite["cells"].apart(by_vyre(suite, cell), found) <= 1, cell.size


@pytest.mark.slow
def test_numba_computes_in_single_precision(suite):
    if "numba" not in suite:
        pytest.skip("numba is an extra of the benchmarks")
    for kernel in TEN + SIX:
        cell = cells_of(suite, kernel)[0]
        by_function(suite, "numba", cell)

        code = "".join(getattr(suite["numba"], kernel).inspect_llvm().values())
        assert "fpext" not in code, kernel


def test_a_wrong_result_is_beyond_what_is_allowed(suite):
    right = np.ones(1000, np.float32)
    wrong, lost = right.copy(), right.copy()
    wrong[7] += 0.001
    lost[7] = np.nan

    apart = suite["cells"].apart
    assert apart((right,), (wrong,)) > 1
    assert apart((right,), (lost,)) > 1
    assert apart((right.astype(np.uint32),), (np.zeros(1000, np.uint32),)) > 1
    assert apart((right,), (right[:-1],)) > 1


def test_a_side_that_computes_something_else_is_refused_with_what_it_ran(suite):
    saxpy = suite["cells"].of_size("saxpy", 1000, "2^16")
    sides, side = suite["sides"].Sides(saxpy), suite["measure"].Side
    x, y, a, out = saxpy.arguments()
    sides.add("numpy", side(lambda: np.add(a * x, y, out=out)), lambda: saxpy.results)
    sides.schedules["vyre"] = "64, 4 items strided"

    with pytest.raises(suite["sides"].Wrong) as refused:
        sides.add("vyre", side(lambda: np.add(x[:9], y[:9], out=out[:9])), lambda: saxpy.results)
    assert str(refused.value) == (
        "saxpy 2^16: vyre by 64, 4 items strided is wrong, inf of the allowed distance off numpy"
    )
    assert set(sides.ready) == {"numpy"}


def test_what_is_updated_is_compared_by_what_a_call_adds(suite):
    cell = suite["cells"].of_size("histogram", 1000)
    sides, side = suite["sides"].Sides(cell), suite["measure"].Side
    data, bins = cell.inputs
    resident = bins + np.uint32(7)  # as on a device, which `clear` does not reach

    for name, counts in (("numpy", bins), ("pocl", resident)):
        run = side(lambda counts=counts: suite["numpy"].histogram(data, counts))
        sides.add(name, run, lambda counts=counts: (counts,))

    assert sides.off == {"numpy": 0.0, "pocl": 0.0}


def test_a_round_gives_each_side_a_block_after_what_it_needs(suite):
    seen = []
    sides = {
        name: suite["measure"].Side(lambda name=name: seen.append(name), lambda: seen.append("in"))
        for name in ("a", "b")
    }

    times = suite["measure"].interleaved(sides, until=0.0, least=3)

    assert {name: len(some) for name, some in times.items()} == {"a": 3, "b": 3}
    assert seen.count("in") == 2 * (3 + 1)  # once more each, to count what fits a block


def cell(kernel="saxpy", label="2^16", *, elementwise=True, code="new", **ratios):
    found = {
        name: {"ratio": middle, "low": 0.9 * middle, "high": 1.1 * middle}
        for name, middle in {"guess": 1.0, **ratios}.items()
    }
    return {
        "kernel": kernel,
        "label": label,
        "size": "65536 elements",
        "us": {"vyre": 12.5},
        "ratios": found,
        "a_a": {"ratio": 1.0, "low": 0.99, "high": 1.01},
        "elementwise": elementwise,
        "schedules": {"vyre": "64, 2 items strided"},
        "code": code,
    }


def test_means_are_over_the_cells_that_have_both_sides(suite):
    cells = [
        cell(numba=4.0, numpy=2.0),
        cell("gelu", numba=1.0, pocl=3.0, guess=1.21),
        cell("gather", numpy=50.0, elementwise=False),
    ]

    means = suite["report"].figures(cells)["geometric_means"]

    assert means == {"numba": 2.0, "pocl": 3.0, "numpy_elementwise": 2.0, "guess": 1.066}


def test_a_cell_misses_numbas_limit_only_with_its_whole_interval(suite):
    cells = [cell(numba=0.9), cell("gelu", numba=0.8), cell("heat", numba=2.0, numpy=1.4)]

    found = suite["report"].figures(cells)

    assert found["below_numba"] == ["gelu 2^16"]
    assert found["below_numpy"] == ["heat 2^16"]


def test_the_tables_fit_a_hundred_columns_and_mark_routines_of_numpy(suite):
    widest = dict.fromkeys(("numba", "numpy", "pocl", "guess"), 12345.6)
    cells = [cell("black_scholes", elementwise=False, **widest), cell("nbody", numba=0.049)]

    lines = suite["report"].table(cells)

    assert max(map(len, lines)) <= 100
    assert "12346* [11111, 13580]" in lines[2]
    assert lines[3].split()[2:] == ["12.5", "0.05", "[0.04,", "0.05]", "-", "-"]


def test_a_later_run_replaces_the_cells_it_measured_and_keeps_the_others(suite):
    before = [cell(code="old"), cell("gelu", code="old")]

    merged = suite["report"].merged(before, [cell()])

    assert {(one["kernel"], one["code"]) for one in merged} == {("saxpy", "new"), ("gelu", "old")}
    json.dumps(merged)


def test_cells_of_a_command_line_are_refused_by_name(suite):
    with pytest.raises(SystemExit, match=r"no size '2\^15'\nFix: use some of 2\^16"):
        suite["cells"].wanted("saxpy", "2^15")
