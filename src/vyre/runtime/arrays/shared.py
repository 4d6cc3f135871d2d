"""Which devices use other libraries' memory where it is; told by the room of devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vyre.runtime.devices.device import Device

Find = Callable[[int], "Sequence[Device]"]


def _nobody(_dlpack_type: int) -> Sequence[Device]:
    return ()


_find: Find = _nobody


def share_with(find: Find) -> None:
    """Look for devices so from now on, by DLPack's type of device."""
    global _find  # a process has one set of devices
    _find = find


def devices_sharing(dlpack_type: int) -> Sequence[Device]:
    """The devices that use such memory where it is, by ordinal."""
    return _find(dlpack_type)
