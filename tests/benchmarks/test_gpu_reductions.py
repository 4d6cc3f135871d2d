"""The GPU suite of reductions without a GPU: its cells, its kernels, its limits and its table."""

import importlib
import json
import sys
from argparse import Namespace
from dataclasses import replace
from math import isqrt, prod
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from vyre.analysis import analyse
from vyre.backend.replayed import GPU, Replayed
from vyre.emit import CUDA, bundle, emit
from vyre.model import Code, Schedule
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.launcher import Launcher, Numbers

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    not (ROOT / "benchmarks").exists(), reason="benchmarks are not in a package"
)

H200 = replace(
    GPU,
    model="NVIDIA H200",
    limits=replace(GPU.limits, cache_bytes=60 << 20, group_bytes=48 << 10, lockstep=32),
)
SMALL = {"nbody_sums": 9, "nearest2": 12, "nearest4": 12}


class Tensor:
    """An array of a shape, and nothing in it."""

    def __init__(self, shape, dtype="torch.float32"):
        self.shape, self.dtype = tuple(shape), dtype

    def numel(self):
        return prod(self.shape)

    def element_size(self):
        return 4

    def view(self, dtype):
        return Tensor(self.shape, dtype)


class Shapes:
    """As much of torch as makes the arrays of cells, which hold nothing."""

    int32, uint32 = "torch.int32", "torch.uint32"

    def Generator(self, device):  # noqa: ARG002, N802  # torch's own names
        return SimpleNamespace(manual_seed=lambda seed: seed)

    def randn(self, shape, **_):
        return Tensor(shape)

    rand = randn

    def zeros(self, shape, **_):
        return Tensor((shape,) if isinstance(shape, int) else shape)


@pytest.fixture(scope="module")
def suite():
    """The modules of the benchmarks import each other by name, as scripts do."""
    before, known = sys.path[:], set(sys.modules)
    sys.path.insert(0, str(ROOT / "benchmarks"))
    names = ("gpu_kernels", "gpu_journal", "gpu_reduction_cells", "gpu_reduction_report")
    yield {name: importlib.import_module(name) for name in (*names, "gpu_reductions")}
    sys.path[:] = before
    for name in set(sys.modules) - known:
        if str(ROOT / "benchmarks") in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def cells(suite):
    powers = suite["gpu_reduction_cells"].POWERS
    return [(kernel, power) for kernel, some in powers.items() for power in some]


def record(kernel="total", size="2^28", *, moved=1 << 30, **us):
    place = {"part": "reductions", "kernel": kernel, "size": size}
    return {**place, "moved": moved, "us": us, "errors": {}}


def judged(suite, *records):
    return suite["gpu_reduction_report"].rows(records)


# -- limits


@pytest.mark.parametrize(
    ("size", "swept", "torch", "met"),
    [
        ("2^16", 2.0, 3.1, True),
        ("2^22", 2.0, 2.9, False),
        ("2^24", 20.0, 19.5, True),
        ("2^24", 20.0, 19.0, False),
    ],
)
def test_small_sums_are_to_be_half_as_fast_again_and_large_ones_as_fast(
    suite, size, swept, torch, met
):
    (row,) = judged(suite, record(size=size, vyre_swept=swept, torch_eager=torch))

    assert row["met"] is met
    assert row["ratio"] == round(torch / swept, 4)


@pytest.mark.parametrize(("swept", "met"), [(268.0, True), (269.0, False)])
def test_the_largest_sums_keep_up_with_memory_whatever_torch_does(suite, swept, met):
    (row,) = judged(suite, record(size="2^28", vyre_swept=swept, torch_eager=400.0))

    assert row["met"] is met
    assert row["tb_per_s"] == pytest.approx((1 << 30) / swept / 1e6, abs=1e-4)
    assert row["said"].startswith("at least 0.97 and 4 TB/s")


def test_a_cell_stands_beside_the_fastest_of_the_peers_that_its_limit_names(suite):
    us = {"vyre_swept": 20.0, "torch_eager": 30.0, "torch_compile": 19.5, "triton": 10.0}

    (row,) = judged(suite, record("row_totals", "2^24", **us))

    assert (row["peer"], row["ratio"], row["met"]) == ("torch_compile", 0.975, True)


def test_a_limit_is_not_met_while_a_peer_of_it_is_missing(suite):
    kept = record("row_softmax", "2^24", vyre_swept=1.0, torch_compile=9.0)

    (row,) = judged(suite, kept)

    assert row["met"] is False
    assert row["said"] == "at least 0.95, not measured: triton"
    report = suite["gpu_reduction_report"]
    (line,) = (one for one in report.table(report.result([kept])) if "MISSED" in one)
    assert line.endswith("MISSED: at least 0.95, not measured: triton")


def test_a_cell_without_a_limit_says_its_ratio_alone(suite):
    (row,) = judged(suite, record("dot", "2^26", vyre_swept=2.0, torch_eager=3.0))

    assert (row["ratio"], row["met"], row["said"]) == (1.5, None, "no limit")


def test_a_cell_that_failed_misses_its_limit_and_says_why(suite):
    failed = {"part": "reductions", "kernel": "total", "size": "2^16", "error": "WRONG by 3"}
    report = suite["gpu_reduction_report"]

    made = report.result([failed])

    assert made["missed"] == ["total 2^16: not measured"]
    assert "  total 2^16 cell: WRONG by 3" in report.table(made)


def test_every_limit_names_peers_that_are_measured(suite):
    of = suite["gpu_reduction_cells"]

    held = [(kernel, of.limit_of(kernel, power)) for kernel, power in cells(suite)]

    assert {kernel for kernel, limit in held if limit is None} == {
        *("dot", "peak", "matrix_vector", "column_means", "feature_means")
    }
    assert all(set(limit.peers) <= set(of.PEERS[kernel]) for kernel, limit in held if limit)


def test_the_table_of_all_cells_fits_a_screen_and_counts_what_is_met(suite):
    us = {f"vyre_{side}": 1234.5 for side in ("default", "guess", "swept", "best")}
    us |= dict.fromkeys(("torch_eager", "torch_compile", "triton", "cupy"), 2e4)
    machine = {"part": "machine", "device": "NVIDIA Fake", "date": "2026-11-18", "command": "run"}
    every = [record(kernel, f"2^{power}", **us) for kernel, power in cells(suite)]
    every[0]["errors"] = {"vyre_swept": "DeviceFailed: " + "no " * 90}
    report = suite["gpu_reduction_report"]

    made = report.result([machine, *every])
    lines = report.table(made)

    assert len(lines) <= 40
    assert max(map(len, lines)) <= report.WIDTH
    assert lines[0].startswith(f"{len(every)} cells of {len(every)}, NVIDIA Fake")
    assert sum("met: at least" in line for line in lines) == 17  # those of memory's speed are not
    assert sum("MISSED: at least" in line for line in lines) == 2
    assert "guess: 1.0 of the best time, at most 1.0 (total 2^16)" in lines
    assert lines[-1] == "limits met: 17 of 19"
    json.dumps(made, allow_nan=False)


def test_nothing_measured_is_a_table_too(suite):
    report = suite["gpu_reduction_report"]

    assert report.table(report.result([]))[-1] == "limits met: 0 of 0"


def test_what_is_kept_says_where_it_was_measured(suite, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(importlib.import_module("measure"), "RESULTS", tmp_path)
    journal = suite["gpu_journal"].Journal(tmp_path / "cells.jsonl")
    place = {"part": "machine", "device": "NVIDIA Fake", "date": "2026-11-18", "command": "run"}
    load = {"cores": 16, "quiet": True}
    journal.write({**place, "code": {"sources": "old"}})
    journal.write({**place, "code": {"sources": "new"}, "load": load})
    journal.write(record(size="2^16", vyre_swept=2.0, torch_eager=4.0))

    suite["gpu_reductions"].collect([tmp_path], write=True)

    kept = json.loads((tmp_path / "gpu_reductions.json").read_text())
    assert kept["code"] == {"sources": "new", "earlier": [{"sources": "old"}]}
    assert (kept["device"], kept["load"], kept["missed"]) == ("NVIDIA Fake", load, [])
    assert kept["results"][0]["ratio"] == 2.0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "limits met: 1 of 1",
        "saved to gpu_reductions.json",
    ]


# -- what is run


def test_a_run_goes_on_with_what_is_missing_and_compiles_ahead_for_what_takes_long(
    suite, tmp_path, monkeypatch
):
    script = suite["gpu_reductions"]
    monkeypatch.setattr(sys, "argv", ["gpu_reductions.py", "--out", str(tmp_path)])
    given = script.arguments()
    journal = suite["gpu_journal"].Journal(tmp_path / "cells.jsonl")
    journal.write(record("row_softmax", "2^24"))

    todo = script.to_prepare(cells(suite), journal)

    assert (given.leaders, given.limit, given.no_space) == (64, 500, False)
    assert ("layer_norm", 24) in todo
    assert ("row_softmax", 24) not in todo
    assert not [kernel for kernel, _ in todo if kernel in ("total", "dot", "peak")]


def test_arrays_are_of_the_sizes_that_cells_are_named_by(suite):
    of = suite["gpu_reduction_cells"]

    made = {place: of.make(Shapes(), *place) for place in cells(suite)}

    for (kernel, power), cell in made.items():
        read = cell.arrays[0]
        elements = read.shape[0] if kernel.startswith("nearest") else read.numel()
        assert elements == 1 << power
        assert cell.moved == 4 * sum(one.numel() for one in (*cell.arrays, *cell.outs))
    assert made["row_totals", 26].arrays[0].shape == (8192, 8192)
    assert made["nearest4", 20].arrays[0].shape == (1 << 20, 4)


def numbers_of(cell):
    """The launch of a cell, as its outputs say it."""
    (out, *_), arrays = cell.outs, (*cell.arrays, *cell.outs)
    extent = (*reversed(out.shape), 1, 1)[:3]
    return extent, [one.shape for one in arrays]


def launch_of(suite, kernel, power):
    """A kernel of the suite, and its launch on a mocked device."""
    of = suite["gpu_reduction_cells"]
    cell = of.make(Shapes(), kernel, power)
    extent, shapes = numbers_of(cell)
    made = suite["gpu_kernels"].kernel_of(kernel, kernel in of.FAST)
    names = [decl.name for decl in made.program.buffers if not decl.is_scalar_argument]
    numbers = Numbers(extent, dict(zip(names, shapes, strict=True)), {})
    return made, numbers


@pytest.mark.parametrize("fast_math", [False, True], ids=["exact", "fast"])
def test_every_kernel_compiles_under_schedules_of_an_h200(suite, fast_math):
    """Under a sixth of them: each takes a tenth of a second."""
    pytest.importorskip("cuda.bindings.nvrtc")
    nvrtc = importlib.import_module("vyre.backend.cuda.nvrtc")
    try:
        nvrtc.version()
    except RuntimeError:
        pytest.skip("NVRTC is not installed")
    of = suite["gpu_reduction_cells"]
    device = Device("replay:0", Replayed(lambda _: 1.0, info=H200))
    codes = {}
    for kernel, power in cells(suite):
        if (kernel in of.FAST) is fast_math:
            made, numbers = launch_of(suite, kernel, power)
            launcher = Launcher(made._translation, device)
            space = launcher.space(numbers, dict.fromkeys(numbers.shapes, 256))
            assert launcher.guess(space, numbers).ordered[0] in space.legal
            codes.setdefault(made.name, (made.program, {}))[1].update(dict.fromkeys(space.codes))

    for name, (program, some) in codes.items():
        facts = analyse(program)
        sources = [
            emit(program, code, CUDA, facts, f"form_{number}")
            for number, code in enumerate(list(some)[::6])
        ]
        found = nvrtc.compile(bundle(sources), nvrtc.options("sm_90"))

        assert isinstance(found, nvrtc.Cubin), (name, found)
        assert set(found.registers) == {source.entry for source in sources}


MODELS = {
    "total": lambda x: x.sum(),
    "peak": lambda x: x.max(),
    "row_totals": lambda x: x.sum(1),
    "column_means": lambda x: x.mean(0),
    "matrix_vector": lambda a, v: a @ v,
    "nearest_of": lambda p, c: ((p[:, None] - c) ** 2).sum(2).argmin(1),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_kernel_agrees_with_numpy(suite, name):
    kernel = suite["gpu_kernels"].REDUCTIONS[name]
    random = np.random.default_rng(0)
    shapes = {
        "total": [(5003,)],
        "peak": [(5003,)],
        "row_totals": [(70, 71)],
        "column_means": [(70, 71)],
        "matrix_vector": [(70, 71), (71,)],
        "nearest_of": [(301, 4), (64, 4)],
    }[name]
    given = [random.standard_normal(shape, dtype=np.float32) for shape in shapes]
    expected = np.atleast_1d(MODELS[name](*(one.astype(np.float64) for one in given)))

    found = kernel(*given, shape=None if name in ("total", "peak") else expected.shape)

    assert np.allclose(found, expected, rtol=3e-5, atol=1e-4)


def test_three_sums_are_what_n_bodies_come_to(suite):
    from vyre.kernels.samples import sample

    call = sample("nbody", 5003)

    found = suite["gpu_kernels"].REDUCTIONS["nbody_sums"](*call.arrays)

    for one, expected in zip(found, call.expected(), strict=True):
        assert np.allclose(one, expected, rtol=3e-5, atol=2e-5)


# -- with torch, where it is


@pytest.mark.parametrize("power", [12])
def test_torch_and_vyre_come_to_the_same_in_every_cell(suite, power):
    torch = pytest.importorskip("torch")
    peers = importlib.import_module("gpu_reduction_torch")
    of, same = suite["gpu_reduction_cells"], importlib.import_module("gpu_cells")
    for named in of.POWERS:
        kernel = of.written(named)
        cell = replace(of.make(torch, named, SMALL.get(named, power), "cpu"), kernel=kernel)
        right = of.expected(torch, cell)
        runs = [peers.eager(cell)] if "torch_eager" in of.PEERS[named] else []
        if kernel in peers.FORMULAS:
            more = cell.arrays[:3] if kernel == "nbody_sums" else ()
            formula, given = peers.FORMULAS[kernel], (*cell.arrays, *more, *cell.options.values())
            runs.append(lambda formula=formula, given=given: formula(*given))

        assert all(same.apart(cell, right, same.results(cell, run)) <= 1 for run in runs), named


# -- a cell from beginning to end, its sides made up

DEFAULT, GUESS, OTHER = (Schedule((n, 1, 1), Code(lanes=n)) for n in (256, 1024, 512))


class FakeTarget:
    """Vyre's side of a cell: schedules with names, and launches that do nothing."""

    def __init__(self, cell, *, fast_math=False):
        self.cell, self.fast_math = cell, fast_math
        self.space = SimpleNamespace(legal=(DEFAULT, GUESS, OTHER))
        self.default, self.guessed = DEFAULT, GUESS

    def run_of(self, schedule):
        return lambda: schedule

    def leaders(self, count):
        return list(self.space.legal[:count])

    def compiled(self, schedules, _compilers):
        return list(schedules)

    def measured(self, schedules, _limit_s, refused):
        for number, schedule in enumerate(schedules):
            if not refused(schedule, self.run_of(schedule)):
                yield SimpleNamespace(schedule=schedule, seconds=1e-6 * (3 - number))

    def swept(self, _budget_s):
        return OTHER


ON_DEVICE = (
    *("gpu_replay", "gpu_sides", "gpu_vyre"),
    *("gpu_device", "gpu_reduction_device", "gpu_work"),
)
"""Modules that load torch."""


@pytest.fixture
def device(suite, monkeypatch):  # noqa: ARG001  # its path
    """The module that measures a cell, with a torch that only waits."""
    pytest.importorskip("cuda.bindings")
    torch = ModuleType("torch")
    torch.cuda = SimpleNamespace(synchronize=lambda: None, empty_cache=lambda: None)
    added = SimpleNamespace(item=lambda: 1)
    torch.zeros = lambda *_, **__: SimpleNamespace(add_=lambda _: added)
    monkeypatch.setitem(sys.modules, "torch", torch)
    for name in ON_DEVICE:
        monkeypatch.delitem(sys.modules, name, raising=False)
    module = importlib.import_module("gpu_reduction_device")
    sides = sys.modules["gpu_sides"]
    monkeypatch.setattr(module, "Target", FakeTarget)
    monkeypatch.setattr(module.gpu_reduction_cells, "expected", lambda *_: "right")
    for one in (module, sides, sys.modules["gpu_device"]):
        monkeypatch.setattr(one, "results", lambda _, run: run())
        monkeypatch.setattr(one, "apart", lambda *_: 0.0)
    monkeypatch.setattr(sides, "fitted", lambda run: run())
    yield module
    for name in ON_DEVICE:
        sys.modules.pop(name, None)


US = {DEFAULT: 9.0, GUESS: 8.0, OTHER: 7.0, "eager": 14.0}


def measured(device, suite, monkeypatch, peers):
    monkeypatch.setattr(device, "peers", lambda _: peers)
    times = lambda graphs, *_: {side: [US[one] * 1e-6] * 5 for side, one in graphs.items()}  # noqa: E731
    monkeypatch.setattr(device, "interleaved", times)
    cell = suite["gpu_reduction_cells"].make(Shapes(), "total", 20)
    given = Namespace(cell_limit=60, leaders=64, no_space=False, space_limit=1, budget=1)
    return json.loads(json.dumps(device.reduction_cell(cell, given, {}, None)))


def test_a_cell_keeps_what_each_choice_and_each_peer_took(device, suite, monkeypatch):
    peer = ("torch_eager", "math", lambda _: lambda: "eager")

    kept = measured(device, suite, monkeypatch, [peer])

    assert kept["us"] == {
        "vyre_default": 9.0,
        "vyre_guess": 8.0,
        "vyre_swept": 7.0,
        "vyre_best": 7.0,
        "torch_eager": 14.0,
    }
    assert kept["errors"] == {}
    assert kept["texts"]["vyre_guess"] == GUESS.text
    place = {"part": "reductions", "kernel": "total", "size": "2^20"}
    (row,) = judged(suite, {**place, **kept})
    assert (row["ratio"], row["met"]) == (2.0, True)


def test_a_peer_that_breaks_costs_its_own_figure_alone(device, suite, monkeypatch):
    def broken(_module):
        raise ValueError("no such operator")

    monkeypatch.setattr(sys.modules["gpu_sides"].Sides, "still_works", lambda *_: None)

    kept = measured(device, suite, monkeypatch, [("torch_eager", "math", broken)])

    assert kept["errors"] == {"torch_eager": "ValueError: no such operator"}
    assert kept["us"]["vyre_swept"] == 7.0


def test_a_wrong_sum_is_no_cell(device, suite, monkeypatch):
    monkeypatch.setattr(device, "apart", lambda *_: 2.0)

    with pytest.raises(AssertionError, match="the default's result is 2 of the allowed distance"):
        measured(device, suite, monkeypatch, [])


def test_every_peer_of_every_cell_has_a_module_that_makes_it(device, suite):
    of = suite["gpu_reduction_cells"]
    for kernel, power in cells(suite):
        found = device.peers(of.make(Shapes(), kernel, power))

        assert [side for side, _, _ in found] == list(of.PEERS[kernel])
        for _, module, _ in found:
            assert (ROOT / "benchmarks" / f"{module}.py").is_file()


def test_a_process_measures_what_is_left_and_asks_for_another_where_it_broke(
    device,  # noqa: ARG001  # its torch
    suite,
    tmp_path,
):
    work = importlib.import_module("gpu_work")
    tainted = sys.modules["gpu_sides"].Tainted
    journal = suite["gpu_journal"].Journal(tmp_path / "cells.jsonl")
    journal.write(record("total", "2^16", vyre_swept=1.0))
    given, asked = Namespace(out=tmp_path), []

    def one(_kernel, power):
        asked.append(power)
        if power == 20:
            raise tainted("triton", "illegal address")
        if power == 18:
            raise AssertionError("wrong")
        return {"us": {"vyre_swept": 2.0}, "errors": {}}

    todo = [("total", power) for power in (16, 18, 20, 22)]
    first = work.cells(given, "reductions", float("inf"), journal, todo, one)
    rest = work.cells(given, "reductions", 0.0, journal, todo, one)

    assert (first, rest) == (work.AGAIN, 0)
    assert asked == [18, 20]
    place = {"part": "reductions", "kernel": "total", "size": "2^18"}
    assert journal.get(place)["error"] == "AssertionError: wrong"
    assert journal.broken("total") == {"triton": "it broke a process: illegal address"}


def test_rows_are_square(suite):
    of = suite["gpu_reduction_cells"]

    assert all(
        isqrt(1 << power) ** 2 == 1 << power
        for kernel in ("row_totals", "row_softmax", "layer_norm", "matrix_vector", "column_means")
        for power in of.POWERS[kernel]
    )
