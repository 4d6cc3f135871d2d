"""A seeded share of the scripts that crash, damage, share and fuzz the stores."""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.slow

SCRIPTS = Path(__file__).parents[2] / "scripts"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_damaged_cache_files_give_entries_or_a_clear_error():
    outcome = load("fuzz_cache_files").fuzz(count=300, databases=20, seed=2)

    assert outcome.failures == []
    assert outcome.counts["loaded"] > 20
    assert outcome.counts["set aside, rows saved"] > 3


@pytest.mark.skipif(os.name != "posix", reason="kills with SIGKILL and limits files")
def test_crashes_and_races_lose_nothing():
    tallies = load("store_crash").run(writers=2, decisions=30, kills=2, seed=2)

    assert [str(tally) for tally in tallies if tally.failed] == []
    assert len(tallies) == 8


def test_a_repair_keeps_every_readable_row_and_is_needed_once():
    tally = load("store_repair").run(count=30, seed=2)

    assert tally.failures == []
    assert tally.counts["of them kept"] == tally.counts["readable rows"] > 10_000
    assert tally.counts["of those kept"] == tally.counts["written after the damage"] > 500
    assert tally.counts["repaired"] > 10
    assert tally.counts["wrong"] == tally.counts["found damaged again"] == 0


def test_what_is_written_while_a_store_is_repaired_is_kept():
    tally = load("store_repair").race(writers=2, decisions=60)

    assert tally.failures == []
    assert tally.counts["told to be kept meanwhile"] > 0
    assert tally.counts["repairs"] > 0


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root can act for two users"
)
def test_two_users_of_one_folder_lose_nothing_and_keep_nobody_out():
    tallies = load("store_two_users").run(decisions=20, some=2, seed=2)

    assert [str(tally) for tally in tallies if tally.failed] == []
    assert all(sum(tally.written.values()) == 80 for tally in tallies)


def test_no_row_of_another_breaks_a_command(monkeypatch):
    monkeypatch.setenv("VYRE_DEVICE", "reference")
    monkeypatch.setenv("VYRE_CACHE_DIR", os.environ["VYRE_CACHE_DIR"])

    tally = load("hostile_rows").run(count=12, seed=2)

    assert tally.failures == []
    assert tally.counts["good rows looked for"] > 50
    assert tally.counts["JSON texts"] > 50
