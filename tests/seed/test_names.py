"""Two houses: `dir(vyre)` is for whoever writes kernels, `vyre.seed` for the Rust crate's names."""

import re
from pathlib import Path
from types import ModuleType

import pytest

import vyre
from vyre import lang, seed

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "coming-from.md"
SECTION = PAGE.read_text().partition("\n## The Rust crate\n")[2].partition("\n## ")[0]
BOTH = {"DispatchConfig", "Mode"}  # a call takes them, whoever makes it


def test_whoever_writes_kernels_finds_at_most_forty_names():
    own = set(dir(vyre)) - set(lang.__all__)
    names = {name for name in own if not re.fullmatch("__.*__", name)}

    assert len({n for n in names if not isinstance(getattr(vyre, n), ModuleType)}) <= 40


def test_a_star_import_brings_nothing_that_dir_does_not_show():
    assert set(vyre.__all__) <= set(dir(vyre))
    assert len(vyre.__all__) == len(set(vyre.__all__))


def test_the_crates_names_are_in_their_own_house_alone():
    assert set(seed.__all__) & set(vyre.__all__) == BOTH
    assert sorted(seed.__all__, key=str.lower) == sorted(set(seed.__all__), key=str.lower)
    assert vyre.seed is seed


@pytest.mark.parametrize("name", seed.__all__)
def test_a_name_of_the_crate_is_there_and_in_the_guide(name):
    assert hasattr(seed, name)
    assert f"`{name}`" in SECTION
