"""The GPU suite's pure parts: what is kept, what it comes to, the tables."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from vyre.model import Code, Order, Schedule

ROOT = Path(__file__).parents[2]


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PURE = ("cells", "journal", "ratios", "report", "brief", "sources", "kernels")
"""The modules that need no GPU's libraries, each after those that it imports."""


@pytest.fixture(scope="module")
def suite():
    """The modules of the benchmarks import each other by name, as scripts do."""
    before, known = sys.path[:], set(sys.modules)
    sys.path.insert(0, str(ROOT / "benchmarks"))
    yield {name: importlib.import_module(f"gpu_{name}") for name in PURE}
    sys.path[:] = before
    for name in set(sys.modules) - known:
        if str(ROOT / "benchmarks") in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def journal(suite, tmp_path):
    return suite["journal"].Journal(tmp_path / "cells.jsonl")


DEFAULT = [256, 1, 1, 1, 1, 1, "strided", False]
WIDE = [512, 1, 1, 4, 4, 1, "strided", False]


def cell(kernel="saxpy", size="2^24", *, best=100.0, quick=(), errors=(), **us):
    return {
        "part": "device",
        "kernel": kernel,
        "size": size,
        "us": us,
        "space": {
            "legal": 2,
            "measured": 2,
            "best_us": best,
            "best": WIDE,
            "quick": [list(pair) for pair in quick],
        },
        "schedules": {"vyre_default": DEFAULT},
        "spread": {},
        "errors": dict(errors),
    }


def rows(suite, *records):
    report = suite["report"]
    return report.rows(report.merged(records))


def test_a_line_that_was_cut_short_costs_only_its_cell(journal):
    journal.write(cell())
    journal.write(cell(size="2^26"))
    text = journal.path.read_text()
    journal.path.write_text(text[:-20])

    assert [record["size"] for record in journal.all()] == ["2^24"]


def test_a_cell_that_failed_is_tried_again_by_a_later_run_but_not_by_this_one(suite, journal):
    place = {"part": "device", "kernel": "gelu", "size": "2^20"}
    journal.write({**place, "error": "lost"})
    later = suite["journal"].Journal(journal.path.parent / "later.jsonl", [journal.path])

    assert journal.has(place)
    assert not later.has(place)


def test_a_cell_that_was_measured_is_not_measured_again(suite, journal):
    journal.write(cell())
    later = suite["journal"].Journal(journal.path.parent / "later.jsonl", [journal.path])

    assert later.has(cell())


def test_an_error_takes_the_place_of_no_result(suite):
    failed = {"part": "device", "kernel": "saxpy", "size": "2^24", "error": "lost"}

    merged = suite["journal"].merged([cell(triton=1.0), failed])

    assert merged["device", "saxpy", "2^24"]["us"] == {"triton": 1.0}


def test_what_broke_two_kernels_is_left_out_of_all(journal):
    journal.write_broken("saxpy", "cupy", "no capture")
    journal.write_broken("gelu", "cupy", "no capture")
    journal.write_broken("gelu", "triton", "illegal address")

    assert set(journal.broken("gelu")) == {"cupy", "triton"}
    assert set(journal.broken("nbody")) == {"cupy"}


def test_a_geometric_mean_of_speeds_is_over_the_cells_that_have_both_sides(suite):
    found = rows(
        suite,
        cell(vyre_swept=100.0, vyre_default=200.0, triton=110.0, cupy=150.0),
        cell("gelu", vyre_swept=100.0, vyre_default=50.0, torch_eager=90.0),
    )

    numbers = suite["report"].figures(found, {}, {})

    means = numbers["geometric_means"]["swept"]
    assert means["vyre_default"] == 1.0
    assert means["cupy"] == 1.5
    assert means["best_peer"] == pytest.approx((1.1 * 0.9) ** 0.5, abs=1e-4)
    assert means["torch_compile"] is None


def test_peers_of_the_same_arithmetic_are_those_that_do_not_contract(suite):
    found = rows(
        suite, cell("polynomial", vyre_swept=100.0, triton=50.0, triton_exact=120.0, vyre_fast=49.0)
    )

    means = suite["report"].figures(found, {}, {})["geometric_means"]

    assert means["swept"]["best_peer"] == 0.5
    assert means["swept"]["same_arithmetic"] == 1.2


def test_freedoms_are_equal_for_fast_math_beside_peers_as_they_are(suite):
    us = {"vyre_exact": 100.0, "vyre_fast": 40.0, "triton": 50.0, "cupy_exact": 45.0}

    (row,) = rows(suite, cell("nbody", "2^14", **us))

    assert row["equal"] == {"ratio": 1.25, "peer": "triton"}
    assert row["exact"] == {"ratio": 0.45, "peer": "cupy_exact"}


def test_a_peer_that_adds_in_another_order_is_beside_the_exact_kernel_alone(suite):
    us = {"vyre_exact": 20.0, "vyre_fast": 20.0, "hand_made": 22.0, "torch_eager": 10.0}

    (row,) = rows(suite, cell("row_sums", **us))

    assert row["equal"] == {"ratio": 1.1, "peer": "hand_made"}
    assert row["exact"] == {"ratio": 0.5, "peer": "torch_eager"}


def test_a_cell_whose_fast_kernel_failed_has_no_equal_ratio(suite):
    (row,) = rows(suite, cell(vyre_exact=20.0, vyre_swept=20.0, triton=30.0))

    assert row["equal"]["ratio"] is None
    assert row["exact"]["ratio"] == 1.5


def test_each_kernel_tells_its_means_and_its_worst_cell(suite):
    found = rows(
        suite,
        cell(size="2^14", vyre_exact=2.0, vyre_fast=1.0, triton=1.0),
        cell(size="2^24", vyre_exact=1.0, vyre_fast=1.0, cupy=4.0),
        cell("gelu", "2^26", vyre_exact=1.0, vyre_fast=1.0, cupy=0.25),
    )

    ratios = suite["report"].figures(found, {}, {})["ratios"]

    assert ratios["saxpy"]["equal"] == {"mean": 2.0, "worst": ["saxpy", "2^14", 1.0, "triton"]}
    assert ratios["saxpy"]["exact"]["mean"] == pytest.approx(2**0.5, abs=1e-4)
    assert ratios["all"]["equal"]["worst"] == ["gelu", "2^26", 0.25, "cupy"]
    assert ratios["all"]["cells"] == 3


def test_single_comparisons_are_told_by_size(suite):
    found = rows(
        suite,
        cell("stencil5", "2^20", vyre_exact=2.0, vyre_fast=2.0, copy=1.0),
        cell("stencil5", "2^24", vyre_exact=2.0, vyre_fast=2.0, copy=1.9),
        cell("product", "2^22", vyre_exact=8.0, vyre_fast=5.0, torch_eager=4.0),
        cell("row_sums", "2^20", vyre_exact=2.0, vyre_fast=2.0, hand_made=3.0),
    )

    beside = suite["report"].figures(found, {}, {})["beside"]

    assert beside["stencil5 / copy, equal"] == {"2^20": 0.5, "2^24": 0.95}
    assert beside["product / torch_eager, equal"] == {"2^22": 0.8}
    assert beside["product / torch_eager, exact"] == {"2^22": 0.5}
    assert beside["row_sums / hand_made, exact"] == {"2^20": 1.5}


def test_the_short_table_of_all_cells_fits_a_screen(suite):
    us = {"vyre_exact": 1234.5, "vyre_fast": 1000.25, "vyre_swept": 1300.0, "triton": 999.0}
    us |= {"cupy": 1e5, "torch_eager": 2000.0, "torch_compile": 1111.0, "hand_made": 990.0}
    us |= {"copy": 900.0, "cupy_exact": 1500.0, "triton_exact": 1400.0}
    why = [("torch_compile", "InductorError: " + "it cannot be lowered " * 20)]
    every = [
        cell(kernel, f"2^{power}", errors=why, **us)
        for kernel, powers in suite["cells"].POWERS.items()
        for power in powers
    ]
    ratios = {f"way {n} / other": {"ratio": 1.0, "low": 0.9, "high": 1.1} for n in range(6)}
    machine = {"part": "machine", "device": "NVIDIA Fake", "date": "2026-11-15", "command": "run"}
    made = suite["report"].result([machine, *every, {"part": "launch", "ratios": ratios}])

    lines = suite["brief"].table(made)

    assert len(lines) <= 60
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith(f"{len(every)} cells of {len(every)}, NVIDIA Fake")
    assert any(line.startswith("transpose / a copy") and "0.90" in line for line in lines)
    assert any(line.startswith("2^14 to 2^20, equal: 0.99 (") for line in lines)
    assert "not measured" in lines[-11]


def test_the_short_table_of_nothing_says_so(suite):
    made = suite["report"].result([])

    assert suite["brief"].table(made)[0].startswith("0 cells of")


def test_the_quickest_is_timed_by_other_rounds_than_it_was_chosen_by(suite):  # noqa: ARG001  # its path
    picked = importlib.import_module("measure").picked

    assert picked({"lucky": [1.0, 9.0, 1.0, 9.0], "steady": [2.0] * 4}) == ("lucky", 9.0)
    assert picked({"once": [3.0]}) == ("once", 3.0)


def test_a_schedule_is_kept_as_a_row_and_read_back(suite):
    schedule = Schedule((32, 4, 1), Code(items=2, order=Order.BLOCKED, lines=4, depth=8, loaders=1))
    journal = suite["journal"]

    assert journal.unpacked(json.loads(json.dumps(journal.packed(schedule)))) == schedule
    assert journal.unpacked(DEFAULT) == Schedule((256, 1, 1), Code(checked=False))


def test_every_cell_has_a_kernel_exact_and_fast(suite):
    kernels = suite["kernels"]

    assert set(kernels.KERNELS) == set(suite["cells"].POWERS)
    for name in kernels.KERNELS:
        assert kernels.kernel_of(name, True) is kernels.kernel_of(name, True)
        assert kernels.kernel_of(name, True) is not kernels.kernel_of(name, False)


def test_the_filter_weighs_nine_neighbours_and_reads_nothing_beyond_the_edges(suite):
    rng = np.random.default_rng(0)
    x, w = rng.random((5, 7), np.float32), rng.random(9, np.float32)
    out = np.empty_like(x)

    suite["kernels"].filter3(x, w, out=out)

    around = np.pad(x, 1)
    parts = [w[3 * i + j] * around[i : i + 5, j : j + 7] for i in range(3) for j in range(3)]
    assert np.allclose(out, sum(parts), rtol=1e-6)


def test_brightness_is_weighed_in_more_than_bytes(suite):
    r, g, b = np.random.default_rng(0).integers(0, 256, (3, 300)).astype(np.uint8)
    out = np.empty_like(r)

    suite["kernels"].gray_u8(r, g, b, out=out)

    assert np.array_equal(out, (77 * r.astype(int) + 150 * g.astype(int) + 29 * b.astype(int)) >> 8)


def test_kernels_by_hand_compile_and_have_every_entry_that_is_launched(suite):
    pytest.importorskip("cuda.bindings.nvrtc")
    nvrtc = importlib.import_module("vyre.backend.cuda.nvrtc")
    try:
        nvrtc.version()
    except RuntimeError:
        pytest.skip("NVRTC is not installed")
    sources = suite["sources"]

    given = nvrtc.options("sm_90")
    copies, sums = nvrtc.compile(sources.COPY, given), nvrtc.compile(sources.ROW_SUMS, given)

    assert {entry for entry, *_ in sources.COPIES} <= copies.registers.keys()
    assert {f"sums_{r}_{w}_{n}" for r, w, n in sources.SUMS} == sums.registers.keys()
    assert all(rows % warps == 0 and width % 32 == 0 for rows, width, warps in sources.SUMS)


def test_leaving_the_live_part_out_keeps_the_others(suite, monkeypatch):  # noqa: ARG001  # its path
    gpu = importlib.import_module("gpu")
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--no-live", "--leaders", "9", "--out", "here"])

    given = gpu.arguments()

    assert given.parts == "device,launch,first"
    assert (given.leaders, given.no_space, given.budget) == (9, False, 3)


def test_what_was_learned_later_is_placed_by_the_quick_measurements(suite):
    learned = {"part": "live", "kernel": "saxpy", "size": "2^24", "schedule": DEFAULT}
    found = rows(
        suite, cell(best=100.0, quick=[(DEFAULT, 220.0), (WIDE, 110.0)], vyre_swept=101.0), learned
    )

    assert found[0]["live_over_best"] == 2.0
    assert found[0]["live_by_quick_measurements"]


def test_limits_are_told_by_cell_and_small_cells_need_only_match_the_default(suite):
    large = cell(best=100.0, vyre_swept=104.0, vyre_live=106.0, vyre_default=200.0, copy=90.0)
    small = cell("gelu", "2^14", best=2.0, vyre_swept=2.0, vyre_live=3.0, vyre_default=3.0)
    report = suite["report"]
    found = rows(suite, large, small)

    missed = report.misses(found, report.figures(found, {}, {}))

    assert "saxpy 2^24: swept is 1.04 of the best (limit 1.03)" in missed
    assert "saxpy 2^24: live is 1.06 of the best (limit 1.05)" in missed
    assert "saxpy 2^24: 0.8654 of the copy (limit 0.95)" in missed
    assert not [line for line in missed if line.startswith("gelu")]


def test_a_cell_without_results_shows_why_in_the_table(suite):
    failed = {"part": "device", "kernel": "nbody", "size": "2^12", "error": "out of memory"}
    report = suite["report"]

    lines = report.cell_table(rows(suite, failed, cell(triton=3.5)))

    assert lines[-1] == "    cell: out of memory"
    assert "3.50" in lines[1]


def test_the_result_tells_where_it_was_measured_and_loses_no_cell(suite):
    machine = {
        "part": "machine",
        "device": "NVIDIA Fake",
        "python": "3.12.1",
        "torch_cuda": "13.0",
        "versions": {"torch": "2.11.0"},
        "date": "2026-11-15",
        "command": "python benchmarks/gpu.py --out here",
    }

    made = suite["report"].result([machine, cell(vyre_swept=1.0), machine])

    assert made["machine"] == "NVIDIA Fake, Python 3.12.1"
    assert made["runs"] == ["python benchmarks/gpu.py --out here"]
    assert [(row["kernel"], row["size"]) for row in made["results"]] == [("saxpy", "2^24")]
    json.dumps(made)


def test_the_readme_table_of_the_gpu_is_made_of_the_saved_result(suite):
    made = suite["report"].result(
        [
            {"part": "machine", "device": "NVIDIA Fake", "date": "2026-11-15", "command": "run"},
            cell(size="2^20", vyre_swept=1.0, vyre_default=2.0, triton=1.5, torch_compile=3.0),
            cell(size="2^24", vyre_swept=1.0, vyre_default=8.0, triton=1.5, torch_compile=3.0),
            {
                "part": "launch",
                "ratios": {"call / cuda_core": {"ratio": 1.3, "low": 1.2, "high": 1.4}},
            },
        ]
    )

    lines = load(ROOT / "scripts" / "results_table.py").gpu_table(made)

    assert "| saxpy | 2^20 to 2^24 | 1.50x | 1.50x | 4.00x | 1.50x | 3.00x |  |" in lines
    assert "| all | all | 1.50x | 1.50x | 4.00x | 1.50x | 3.00x |  |" in lines
    assert lines[-1] == (
        "| a repeated call on torch tensors / cuda.core.launch | 1.30x | 1.20 to 1.40 |"
    )
