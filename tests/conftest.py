"""What all tests share: golden files, a cache folder of their own, and an OpenCL device."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import HealthCheck, settings

import vyre
from vyre.errors import InvalidInput, UnsupportedFeature

# What depends on the clock fails on a busy machine, and says nothing of the code.
settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("few", settings.get_profile("no clock"), max_examples=15)
settings.load_profile("no clock")

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files")


def pytest_configure(config):
    """No test reads or writes what a user has learned.

    Said before tests are collected: some ask for devices then, which keep their folder.
    """
    folder = tempfile.mkdtemp(prefix="vyre-tests-")
    os.environ["VYRE_CACHE_DIR"] = folder
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


@pytest.fixture(scope="session")
def opencl():
    """The first OpenCL device; where there is none, tests that take it are skipped, and say why."""
    try:
        return vyre.open("opencl")
    except (InvalidInput, UnsupportedFeature) as error:
        pytest.skip(error.problem)


@pytest.fixture
def golden(request):
    """Compare text with the golden file of that name, or rewrite it under --update-golden."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        assert path.exists(), f"no golden file {name}; run pytest --update-golden"
        assert text == path.read_text()

    return compare


@pytest.fixture
def lines_run() -> Callable[[Callable[[], object]], int]:
    """How many lines of Python run while something is done: work, measured without a clock."""

    def count(act: Callable[[], object]) -> int:
        total = 0

        def each(_frame: FrameType, event: str, _argument: object) -> Callable[..., object]:
            nonlocal total
            total += event == "line"
            return each

        before = sys.gettrace()
        sys.settrace(each)
        try:
            act()
        finally:
            sys.settrace(before)
        return total

    return count
