from pathlib import Path

import platformdirs
import pytest

from vyre.errors import InvalidInput
from vyre.model import Mode
from vyre.settings import load


def test_nothing_set_gives_the_defaults():
    found = load({})

    assert found.device is None
    assert found.mode is Mode.NATURAL_GRADIENT
    assert found.cache_dir == platformdirs.user_cache_path("vyre", appauthor=False)


def test_a_cache_folder_of_ones_own_wins():
    assert load({"VYRE_CACHE_DIR": "/a/b", "XDG_CACHE_HOME": "/c"}).cache_dir == Path("/a/b")
    assert load({"VYRE_CACHE_DIR": "~/x"}).cache_dir == Path.home() / "x"
    assert load({"VYRE_CACHE_DIR": "x"}).cache_dir == Path.cwd() / "x"


def test_the_cache_folder_is_in_that_of_xdg():
    assert load({"XDG_CACHE_HOME": "/c"}).cache_dir == Path("/c/vyre")


@pytest.mark.parametrize("value", ["", " ", "relative", "./x"])
def test_a_relative_xdg_folder_is_ignored(value: str):
    """The seed writes beside the program."""
    assert load({"XDG_CACHE_HOME": value}).cache_dir.is_absolute()


@pytest.mark.parametrize(
    ("word", "mode"),
    [
        ("on", Mode.ON),
        ("natural", Mode.NATURAL_GRADIENT),
        ("ng", Mode.NATURAL_GRADIENT),
        ("off", Mode.OFF),
        ("default", Mode.OFF),
        ("OFF", Mode.OFF),
        (" off ", Mode.OFF),
        ("", Mode.NATURAL_GRADIENT),
    ],
)
def test_a_mode_is_read_whatever_its_case(word: str, mode: Mode):
    """In the seed `OFF` and ` off` leave tuning on."""
    assert load({"VYRE_AUTOTUNER": word}).mode is mode


@pytest.mark.parametrize("word", ["0", "false", "yes"])
def test_any_other_mode_is_an_error_that_lists_the_words(word: str):
    with pytest.raises(InvalidInput) as caught:
        load({"VYRE_AUTOTUNER": word})

    assert str(caught.value) == (
        f"VYRE_AUTOTUNER is {word!r}: no mode {word!r}\n"
        "Fix: use one of on, natural, ng, off, default"
    )
