"""Kernels of Numba's run for real, in its simulator: every block that is offered gives the same."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba.cuda")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def told():
    script = Path(__file__).parent / "simulated_kernels.py"
    ran = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return json.loads(ran.stdout)


def widths(texts):
    return [int(one.removeprefix("block=")) for one in texts]


def test_with_a_size_all_blocks_are_offered_and_give_the_same(told):
    assert widths(told["line"]) == [40, 32, 64, 128, 256]
    assert widths(told["written out"]) == [32, 64, 128, 256]
    assert len(told["plane"]) == 13
    assert len(told["cube"]) > 8


def test_without_one_those_that_keep_the_number_of_threads(told):
    assert widths(told["line, threads"]) == [64, 32]
    assert widths(told["unguarded"]) == [64, 32, 128]
    assert "block_x=64, block_y=1" in told["plane, threads"]
    assert "block_x=128, block_y=1" not in told["plane, threads"]


def test_a_stride_gives_the_same_under_any_number_of_threads(told):
    assert widths(told["stepping"]) == [30, 32, 64, 128, 256]
    assert widths(told["stepping, threads"]) == [32, 64]


def test_tasks_are_done_under_every_block(told):
    assert told["tasks"][0] == "block=driver"
    assert set(widths(told["tasks"][1:])) == {32, 64, 128, 256}


def test_a_kernel_that_asks_for_its_block_has_no_other(told):
    assert told["in blocks"] == ["block=64"]


def test_a_block_that_writes_beyond_an_array_is_found_out_on_copies(told):
    assert told["beside"] == (
        "it differs from block=64: the memory beside argument 0 has 1 of 8,192 elements that "
        "differ, such as 7 at 4096, where it should be 165"
    )


def test_a_block_that_is_named_and_gives_something_else_is_found_out_on_copies(told):
    assert told["tried"] == {
        "block=64": "the same",
        "block=32": "it differs from block=64: argument 0 has 64 of 128 elements that differ, "
        "such as 0 at 32, where it should be 32",
    }


def test_arrays_of_the_host_share_nothing_where_they_are_tried(told):
    assert told["of_the_host"] == ["ndarray", "ndarray", "int"]
