"""Numbers as the Rust crate writes them: unsigned, little-endian, refused where they do not fit."""

from __future__ import annotations

from vyre.errors import InvalidInput
from vyre.model import Dim3


def dim3(name: str, axes: Dim3) -> bytes:
    """Write three 32-bit numbers."""
    if len(axes) != 3:
        raise InvalidInput(f"{name} {axes} has {len(axes)} axes", "give three, such as (64, 1, 1)")
    return b"".join(u32(f"an axis of {name}", axis) for axis in axes)


def u32(name: str, value: int) -> bytes:
    """Write a 32-bit number; `name` is for the message."""
    return _unsigned(name, value, 4)


def u64(name: str, value: int) -> bytes:
    """Write a 64-bit number; `name` is for the message."""
    return _unsigned(name, value, 8)


def _unsigned(name: str, value: int, size: int) -> bytes:
    try:
        return value.to_bytes(size, "little")
    except OverflowError:
        raise InvalidInput(
            f"{name} is {value}; 0 to 2**{8 * size} - 1 allowed", "use a value in that range"
        ) from None
