"""The GPU suite's pure parts: what is kept, what it comes to, the tables."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def suite():
    """The modules of the benchmarks import each other by name, as scripts do."""
    before = sys.path[:]
    sys.path.insert(0, str(ROOT / "benchmarks"))
    yield {name: load(ROOT / "benchmarks" / f"gpu_{name}.py") for name in ("journal", "report")}
    sys.path[:] = before
    for name in ("gpu_cells", "gpu_journal"):
        sys.modules.pop(name, None)


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
    assert means["swept_fast"]["best_peer"] == pytest.approx(50 / 49, abs=1e-4)


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

    assert "| saxpy | 2^20 to 2^24 | 1.50x | 4.00x | 1.50x | 3.00x |  |" in lines
    assert "| all | all | 1.50x | 4.00x | 1.50x | 3.00x |  |" in lines
    assert lines[-1] == (
        "| a repeated call on torch tensors / cuda.core.launch | 1.30x | 1.20 to 1.40 |"
    )
