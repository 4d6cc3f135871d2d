"""The only reader of the environment (VYRE_*)."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import platformdirs

from vyre.errors import InvalidInput
from vyre.model import Mode
from vyre.policy.table import DEFAULT_POLICY, policy_name

if sys.platform != "win32":
    import grp
    import pwd


MOST_THREADS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the environment asks for."""

    device: str | None = None
    cache_dir: Path
    own_dir: Path  # the user's own, where `cache_dir` is one that others use, too
    mode: Mode = Mode.NATURAL_GRADIENT
    policy: str = DEFAULT_POLICY
    threads: int | None = None  # that run kernels on the CPU; None: as many as it has cores for us


def load(environment: Mapping[str, str] | None = None) -> Settings:
    """The settings of this process.

    `VYRE_DEVICE` names a device such as `opencl:0`; `VYRE_CACHE_DIR` a folder, else it is `vyre`
    in `XDG_CACHE_HOME`, or in the platform's own cache folder; `VYRE_AUTOTUNER` a mode;
    `VYRE_POLICY` what a learner learns by; `VYRE_THREADS` how many threads run kernels on the CPU.

    Raises:
        InvalidInput: a variable holds something that is not one of its words.
    """
    given = os.environ if environment is None else environment
    mode = given.get("VYRE_AUTOTUNER", "").strip()
    try:
        parsed = Mode.parse(mode) if mode else Mode.NATURAL_GRADIENT
    except InvalidInput as error:
        raise InvalidInput(f"VYRE_AUTOTUNER is {mode!r}: {error.problem}", error.fix) from None
    policy = given.get("VYRE_POLICY", "").strip()
    try:
        named = policy_name(policy) if policy else DEFAULT_POLICY
    except InvalidInput as error:
        raise InvalidInput(f"VYRE_POLICY is {policy!r}: {error.problem}", error.fix) from None
    return Settings(
        policy=named,
        device=given.get("VYRE_DEVICE", "").strip() or None,
        cache_dir=_cache_dir(given),
        own_dir=_own_dir(given),
        mode=parsed,
        threads=_threads(given),
    )


def _threads(given: Mapping[str, str]) -> int | None:
    text = given.get("VYRE_THREADS", "").strip()
    if not text:
        return None
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
    if not 1 <= number <= MOST_THREADS:
        raise InvalidInput(
            f"VYRE_THREADS is {text!r}, which is no number of threads",
            fix=f"use 1 to {MOST_THREADS}, or unset it for as many as there are cores",
        )
    return number


def _cache_dir(given: Mapping[str, str]) -> Path:
    """The folder to keep things in; not absolute where there is no home to keep it in."""
    folder = given.get("VYRE_CACHE_DIR", "").strip()
    if not folder:
        return _own_dir(given)
    expanded = os.path.expanduser(folder)  # noqa: PTH111  # Path's raises without a home
    # A name that nobody has stays as it is: that is no folder beside the program.
    return Path(expanded) if expanded.startswith("~") else Path(expanded).absolute()


def _own_dir(given: Mapping[str, str]) -> Path:
    shared = given.get("XDG_CACHE_HOME", "").strip()
    if Path(shared).is_absolute():
        return Path(shared) / "vyre"
    if shared:  # to be ignored, says the XDG specification, which platformdirs does not do
        return Path(os.path.expanduser("~/.cache/vyre"))  # noqa: PTH111  # as above
    return platformdirs.user_cache_path("vyre", appauthor=False)


def shared_cache_dir() -> Path:
    """The user's cache folder, where libraries keep folders of their own."""
    return platformdirs.user_cache_path()


def private_cache_dir(asked: Settings) -> Path | None:
    """A folder for what is run as it is found there, such as compiled code; made if need be.

    It is the cache folder, unless others can write there: then it is the user's own. None where
    others can write there as well, or nothing can be written: then nothing should be kept.
    """
    for folder in dict.fromkeys((asked.cache_dir, asked.own_dir)):
        if not folder.is_absolute():
            continue
        with suppress(OSError, ValueError):
            folder.mkdir(parents=True, exist_ok=True)
            if is_private(folder) and os.access(folder, os.W_OK | os.X_OK):
                return folder
    return None


def is_private(folder: Path) -> bool:
    """Whether nobody but this user and root can change what is in a folder, or put another there.

    So it must be the user's, and neither it nor any folder above it may be open to others. One
    above it may if it is sticky, as `/tmp` is: nobody can rename there what is not theirs.
    """
    try:
        real = Path(os.path.realpath(folder, strict=True))
        return is_ours(real.lstat()) and all(_is_safe(one.lstat()) for one in real.parents)
    except OSError:
        return False


def is_ours(found: os.stat_result) -> bool:
    """Whether a file or folder is this user's, and nobody else can write to it."""
    return _is_ours(found) and not _is_open(found)


def user_id() -> int | None:
    """The number of the user that this process acts for; None where the system has none."""
    return None if sys.platform == "win32" else os.geteuid()


def _is_ours(found: os.stat_result) -> bool:
    return user_id() in (None, found.st_uid)


def _is_safe(above: os.stat_result) -> bool:
    trusted = _is_ours(above) or above.st_uid == 0
    return trusted and (not _is_open(above) or bool(above.st_mode & stat.S_ISVTX))


def _is_open(found: os.stat_result) -> bool:
    """Whether others may write; the group that has a user's name, and nobody else in it, may."""
    if sys.platform == "win32":
        return False  # it keeps the folders of users apart by other means
    if found.st_mode & stat.S_IWOTH:
        return True
    return bool(found.st_mode & stat.S_IWGRP) and not _is_own_group(found.st_gid, os.geteuid())


@cache
def _is_own_group(number: int, user_number: int) -> bool:
    if sys.platform == "win32":
        return False
    try:
        user, group = pwd.getpwuid(user_number).pw_name, grp.getgrgid(number)
    except KeyError:
        return False
    return group.gr_name == user and set(group.gr_mem) <= {user}


def preset(name: str, value: str) -> str:
    """Set a variable for a library that reads it when it loads, unless the user has; what holds."""
    return os.environ.setdefault(name, value)


def peek(name: str) -> str:
    """A variable of another library, as it stands; empty when unset."""
    return os.environ.get(name, "")


def environment() -> dict[str, str]:
    """The variables of this process."""
    return dict(os.environ)


def put_back(variables: Mapping[str, str]) -> None:
    """Let this process have these variables, and no other."""
    for name in os.environ.keys() - variables.keys():
        del os.environ[name]
    os.environ.update(variables)


def for_child(changes: Mapping[str, str]) -> dict[str, str]:
    """The variables of a process started by this one: our own, with `changes`."""
    return {**os.environ, **changes}
