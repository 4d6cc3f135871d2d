"""A seeded share of the scripts that crash and fuzz the stores."""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

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
