"""The only reader of the environment (VYRE_*)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from vyre.errors import InvalidInput
from vyre.model import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the environment asks for."""

    device: str | None = None
    cache_dir: Path
    mode: Mode = Mode.NATURAL_GRADIENT


def load(environment: Mapping[str, str] | None = None) -> Settings:
    """The settings of this process.

    `VYRE_DEVICE` names a device such as `opencl:0`; `VYRE_CACHE_DIR` a folder, else it is `vyre`
    in `XDG_CACHE_HOME`, or in the platform's own cache folder; `VYRE_AUTOTUNER` a mode.

    Raises:
        InvalidInput: a variable holds something that is not one of its words.
    """
    given = os.environ if environment is None else environment
    mode = given.get("VYRE_AUTOTUNER", "").strip()
    try:
        parsed = Mode.parse(mode) if mode else Mode.NATURAL_GRADIENT
    except InvalidInput as error:
        raise InvalidInput(f"VYRE_AUTOTUNER is {mode!r}: {error.problem}", error.fix) from None
    return Settings(
        device=given.get("VYRE_DEVICE", "").strip() or None,
        cache_dir=_cache_dir(given),
        mode=parsed,
    )


def _cache_dir(given: Mapping[str, str]) -> Path:
    """The folder to keep things in; not absolute where there is no home to keep it in."""
    folder = given.get("VYRE_CACHE_DIR", "").strip()
    if folder:
        return Path(os.path.expanduser(folder)).absolute()  # noqa: PTH111  # Path's raises without a home
    shared = given.get("XDG_CACHE_HOME", "").strip()
    if Path(shared).is_absolute():
        return Path(shared) / "vyre"
    if shared:  # to be ignored, says the XDG specification, which platformdirs does not do
        return Path(os.path.expanduser("~/.cache/vyre"))  # noqa: PTH111  # as above
    return platformdirs.user_cache_path("vyre", appauthor=False)


def shared_cache_dir() -> Path:
    """The user's cache folder, where libraries keep folders of their own."""
    return platformdirs.user_cache_path()


def preset(name: str, value: str) -> str:
    """Set a variable for a library that reads it when it loads, unless the user has; what holds."""
    return os.environ.setdefault(name, value)


def peek(name: str) -> str:
    """A variable of another library, as it stands; empty when unset."""
    return os.environ.get(name, "")


def for_child(changes: Mapping[str, str]) -> dict[str, str]:
    """The variables of a process started by this one: our own, with `changes`."""
    return {**os.environ, **changes}
