"""The constants a program is specialised for, and the Rust crate's hashes over them."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from vyre.errors import InvalidInput
from vyre.ir import DataType, Program
from vyre.model import U32_MAX, Dim3
from vyre.store.fields import dim3, u32, u64

_U64_MAX = (1 << 64) - 1


class SpecKind(IntEnum):
    """The sort of a specialisation value; the value is its tag in the hash."""

    U32 = 0
    I32 = 1
    F32 = 2
    BOOL = 3
    DTYPE = 4


@dataclass(frozen=True, slots=True)
class SpecValue:
    """A constant that a program is specialised for, by its 32 bits.

    Two floats are the same value when their bits are, as in the hash: -0.0 is not 0.0.
    """

    kind: SpecKind
    bits: int

    def __post_init__(self) -> None:
        u32(f"bits of a {self.kind.name} value", self.bits)

    @classmethod
    def u32(cls, value: int) -> SpecValue:
        return cls(SpecKind.U32, value)

    @classmethod
    def i32(cls, value: int) -> SpecValue:
        if not -(1 << 31) <= value < 1 << 31:
            raise InvalidInput(
                f"i32 value {value} is outside -2**31 to 2**31 - 1", "use a value in that range"
            )
        return cls(SpecKind.I32, value & U32_MAX)

    @classmethod
    def f32(cls, value: float) -> SpecValue:
        try:
            packed = struct.pack("<f", value)
        except OverflowError:
            raise InvalidInput(
                f"f32 value {value} is beyond the largest f32",
                "use a value that an f32 can hold, or math.inf",
            ) from None
        return cls(SpecKind.F32, int.from_bytes(packed, "little"))

    @classmethod
    def boolean(cls, value: bool) -> SpecValue:
        return cls(SpecKind.BOOL, int(value))

    @classmethod
    def dtype(cls, value: DataType) -> SpecValue:
        """Take a plain type by its wire tag.

        Raises:
            InvalidInput: the type has an element or parameters, which the tag does not tell apart.

        """
        if value.element is not None or value.params:
            raise InvalidInput(
                f"type {value} is more than a tag, so its key would be shared with other types",
                "specialise for its element type and its numbers, one value each",
            )
        return cls(SpecKind.DTYPE, int(value.tag))

    def cache_hash(self) -> int:
        """Return what the value adds to a map's hash: its kind in the low byte, its bits above."""
        return self.kind | self.bits << 8


@dataclass(frozen=True, slots=True)
class SpecMap:
    """Named specialisation values, in the order of their names."""

    entries: tuple[tuple[str, SpecValue], ...] = ()

    def __post_init__(self) -> None:
        names = [name for name, _ in self.entries]
        if names != sorted(set(names)):
            raise InvalidInput(
                f"specialisation names {names} are not in order, each once",
                "build the map with SpecMap.of",
            )

    @classmethod
    def of(cls, values: Mapping[str, SpecValue]) -> SpecMap:
        return cls(tuple(sorted(values.items(), key=lambda entry: entry[0])))

    def cache_hash(self) -> int:
        """Hash each name and the eight bytes of its value, by 64-bit FNV-1a.

        >>> hex(SpecMap.of({"K": SpecValue.u32(1)}).cache_hash())
        '0xb4a95573d6942805'
        """
        state = 0xCBF29CE484222325
        for name, value in self.entries:
            for byte in name.encode() + value.cache_hash().to_bytes(8, "little"):
                state = (state ^ byte) * 0x100000001B3 & _U64_MAX
        return state


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecCacheKey:
    """A compiled variant: its source, its bindings, its workgroup and its constants."""

    shader_hash: int
    binding_sig: int
    workgroup_size: Dim3
    spec_hash: int

    def __post_init__(self) -> None:
        u64("shader_hash", self.shader_hash)
        u64("binding_sig", self.binding_sig)
        dim3("workgroup_size", self.workgroup_size)
        u64("spec_hash", self.spec_hash)

    @classmethod
    def of(
        cls, shader_hash: int, binding_sig: int, workgroup_size: Dim3, specs: SpecMap
    ) -> SpecCacheKey:
        return cls(
            shader_hash=shader_hash,
            binding_sig=binding_sig,
            workgroup_size=workgroup_size,
            spec_hash=specs.cache_hash(),
        )


def vsa_specialization_key(program: Program, spec_hash: int) -> int:
    """Join the fingerprint's first 64 bits, above, and the constants' hash, below."""
    u64("spec_hash", spec_hash)
    return int.from_bytes(program.fingerprint()[:8], "little") << 64 | spec_hash
