import os
from pathlib import Path

import platformdirs
import pytest

from vyre.errors import InvalidInput
from vyre.model import Mode
from vyre.settings import is_private, load, private_cache_dir

ADA, TEAM = 40_001, 40_100
as_root = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root can give files to other users"
)


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


def test_a_folder_of_a_user_that_is_not_there_is_no_folder_beside_the_program():
    assert load({"VYRE_CACHE_DIR": "~nobodyhasthisname/x"}).cache_dir == Path(
        "~nobodyhasthisname/x"
    )


def private(cache: Path, own: Path) -> Path | None:
    asked = load({"VYRE_CACHE_DIR": str(cache), "XDG_CACHE_HOME": str(own)})
    return private_cache_dir(asked)


def test_compiled_code_is_kept_in_the_cache_folder(tmp_path: Path):
    assert private(tmp_path / "a", tmp_path / "own") == tmp_path / "a"
    assert (tmp_path / "a").is_dir()


@as_root
@pytest.mark.parametrize(
    ("owner", "group", "mode"),
    [
        (0, TEAM, 0o2770),
        (0, TEAM, 0o775),
        (0, 0, 0o777),
        (0, 0, 0o1777),
        (ADA, ADA, 0o700),
        (ADA, TEAM, 0o2770),
    ],
)
def test_compiled_code_never_goes_where_others_can_write(
    tmp_path: Path, owner: int, group: int, mode: int
):
    team = tmp_path / "team"
    team.mkdir()
    os.chown(team, owner, group)
    team.chmod(mode)

    assert private(team, tmp_path / "own") == tmp_path / "own" / "vyre"
    # Below a sticky folder of root's, nobody can rename what is ours.
    below = team / "below" if mode == 0o1777 else tmp_path / "own" / "vyre"
    assert private(team / "below", tmp_path / "own") == below
    assert private(team, team) == (team / "vyre" if mode == 0o1777 else None)


@as_root
def test_a_link_is_as_private_as_what_it_leads_to(tmp_path: Path):
    team = tmp_path / "team"
    team.mkdir()
    team.chmod(0o777)
    (tmp_path / "link").symlink_to(team)
    (team / "back").symlink_to(tmp_path)

    assert not is_private(tmp_path / "link")
    assert is_private(team / "back")


def test_a_folder_that_is_not_there_is_not_private(tmp_path: Path):
    (tmp_path / "loop").symlink_to("loop")

    assert not is_private(tmp_path / "none")
    assert not is_private(tmp_path / "loop")


@pytest.mark.parametrize("folder", ["file", "file/below", "loop", "x" * 300])
def test_where_no_folder_can_be_made_the_users_own_is_used(tmp_path: Path, folder: str):
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")

    assert private(tmp_path / folder, tmp_path / "own") == tmp_path / "own" / "vyre"


def test_without_a_home_there_is_no_private_folder():
    asked = load({"VYRE_CACHE_DIR": "~nobodyhasthisname/x", "XDG_CACHE_HOME": "/proc/self"})

    assert private_cache_dir(asked) is None


@pytest.mark.parametrize(
    ("word", "policy"),
    [
        ("", "natural"),
        (" ", "natural"),
        ("sweep", "sweep"),
        (" Resize ", "resize"),
        ("SEED", "seed"),
    ],
)
def test_a_policy_is_read_whatever_its_case(word: str, policy: str):
    assert load({"VYRE_POLICY": word}).policy == policy


def test_any_other_policy_is_an_error_that_lists_the_words():
    with pytest.raises(InvalidInput) as caught:
        load({"VYRE_POLICY": "fast"})

    assert str(caught.value) == (
        "VYRE_POLICY is 'fast': no policy 'fast'\n"
        "Fix: use one of natural, seed, resize, sweep, fixed"
    )


def test_threads_are_a_number_or_as_many_as_there_are_cores():
    assert load({}).threads is None
    assert load({"VYRE_THREADS": " 1024 "}).threads == 1024
    assert load({"VYRE_THREADS": "1"}).threads == 1


@pytest.mark.parametrize("text", ["0", "1025", "-1", "two", "1.5", "²", "9" * 20])
def test_any_other_threads_are_an_error_that_says_which_can_be(text: str):
    with pytest.raises(InvalidInput) as caught:
        load({"VYRE_THREADS": text})

    assert str(caught.value) == (
        f"VYRE_THREADS is {text!r}, which is no number of threads\n"
        "Fix: use 1 to 1024, or unset it for as many as there are cores"
    )
