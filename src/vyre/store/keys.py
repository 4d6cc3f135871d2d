"""The Rust crate's keys and records, byte for byte: the names under which choices are exchanged.

They are kept so that files can be shared. They leave out what `Workload.key` names (the device's
model and driver, the compiler, the sizes of inputs), so nothing is remembered by them alone.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import IntEnum
from typing import Literal

import blake3

from vyre.errors import InvalidInput
from vyre.ir import DataType, Program
from vyre.model import U32_MAX, Dim3, Limits

_U64_MAX = (1 << 64) - 1
_TUNER_KEY = re.compile(r"v1-[0-9a-f]{64}")
_STORE_KEY = re.compile(r"[0-9a-f]{32}|[0-9a-f]{64}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

KeyVersion = Literal[1, 2]
"""The form of a launch key: 2 adds the threads that a unit of the device holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticProgramShape:
    """What is known of a dispatch before it runs."""

    workgroup_size: Dim3
    workgroup_count: Dim3 | None = None
    output_bytes: int = 0

    @classmethod
    def of(
        cls, program: Program, workgroup_count: Dim3 | None = None, output_bytes: int = 0
    ) -> StaticProgramShape:
        return cls(
            workgroup_size=program.workgroup_size,
            workgroup_count=workgroup_count,
            output_bytes=output_bytes,
        )


@dataclass(frozen=True, slots=True, order=True)
class TunerProgramKey:
    """The key of a `TunerCache` entry: a program and the static shape of its dispatch."""

    text: str

    def __post_init__(self) -> None:
        if not _TUNER_KEY.fullmatch(self.text):
            raise InvalidInput(
                f"tuner key {self.text!r} is not v1- and 64 lower-case hex digits",
                "make it with TunerProgramKey.from_program or TunerProgramKey.from_fingerprint",
            )

    @classmethod
    def from_program(cls, program: Program, shape: StaticProgramShape) -> TunerProgramKey:
        return cls.from_fingerprint(program.fingerprint(), shape)

    @classmethod
    def from_fingerprint(cls, fingerprint: bytes, shape: StaticProgramShape) -> TunerProgramKey:
        """Make the key of any program with this fingerprint.

        >>> str(TunerProgramKey.from_fingerprint(
        ...     bytes(32), StaticProgramShape(workgroup_size=(64, 1, 1))
        ... ))[:11]
        'v1-82f6c97a'
        """
        count = shape.workgroup_count
        return cls(
            "v1-"
            + _hex(
                b"vyre-driver-workgroup-tuner-v1\0program\0",
                _fingerprint(fingerprint),
                b"\0workgroup-size\0",
                _dim3("workgroup_size", shape.workgroup_size),
                b"\0workgroup-count\0",
                b"\0" if count is None else b"\1" + _dim3("workgroup_count", count),
                b"\0output-bytes\0",
                _u64("output_bytes", shape.output_bytes),
            )
        )

    def __str__(self) -> str:
        return self.text


def launch_feedback_key(
    fingerprint: bytes,
    declared: Dim3,
    element_count: int,
    limits: Limits,
    *,
    version: KeyVersion = 1,
) -> str:
    """Name the entry that keeps a launch's chosen width, `launch-v1-` or `launch-v2-`."""
    return f"launch-v{version}-" + _hex(
        f"vyre-natural-launch-feedback-v{_known(version)}\0".encode(),
        _fingerprint(fingerprint),
        _dim3("declared", declared),
        _u32("element_count", element_count),
        _limits(limits, version),
    )


def adapter_file_stem(backend: str, limits: Limits, *, version: KeyVersion = 1) -> str:
    """Name the file, without its ending, that keeps a device's launch choices."""
    return f"natural-launch-feedback-v{version}-" + _hex(
        f"vyre-natural-launch-adapter-v{_known(version)}\0".encode(),
        backend.encode(),
        _limits(limits, version),
    )


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
        _u32(f"bits of a {self.kind.name} value", self.bits)

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
        _u64("shader_hash", self.shader_hash)
        _u64("binding_sig", self.binding_sig)
        _dim3("workgroup_size", self.workgroup_size)
        _u64("spec_hash", self.spec_hash)

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
    _u64("spec_hash", spec_hash)
    return int.from_bytes(program.fingerprint()[:8], "little") << 64 | spec_hash


@dataclass(frozen=True, slots=True, order=True)
class AutotuneKey:
    """The key of an `AutotuneStore` record: 32 hex digits in schema 1, 64 in schema 2."""

    key_hex: str
    adapter_id: str

    def __post_init__(self) -> None:
        if not _STORE_KEY.fullmatch(self.key_hex):
            raise InvalidInput(
                f"autotune key {self.key_hex!r} is not 32 or 64 lower-case hex digits",
                "make it with AutotuneKey.of or AutotuneKey.exact",
            )

    @classmethod
    def of(cls, key: SpecCacheKey, adapter_id: str) -> AutotuneKey:
        """Fold as the crate does (schema 1); different variants may share a key, see `exact`."""
        x, y, z = key.workgroup_size
        first = key.spec_hash ^ (x ^ y << 16 ^ z << 32)
        second = key.shader_hash ^ key.binding_sig
        return cls((_u64("key", first) + _u64("key", second)).hex(), adapter_id)

    @classmethod
    def exact(cls, key: SpecCacheKey, adapter_id: str) -> AutotuneKey:
        """Digest every field (schema 2), so that two variants never share a key."""
        digest = _hex(
            b"vyre-autotune-key-v2\0",
            _u64("shader_hash", key.shader_hash),
            _u64("binding_sig", key.binding_sig),
            _dim3("workgroup_size", key.workgroup_size),
            _u64("spec_hash", key.spec_hash),
            adapter_id.encode(),
        )
        return cls(digest, adapter_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class AutotuneRecord:
    """What won a race of variants: its workgroup, unrolling and tile, and the day it did."""

    workgroup_size: Dim3
    unroll: int = 1
    tile: Dim3 = (0, 0, 0)  # all zeros: not tiled
    recorded_at: str = ""  # YYYY-MM-DD, or empty

    def __post_init__(self) -> None:
        _dim3("workgroup_size", self.workgroup_size)
        _u32("unroll", self.unroll)
        _dim3("tile", self.tile)
        if 0 in self.workgroup_size:
            raise InvalidInput(
                f"workgroup_size {self.workgroup_size} has an axis of 0",
                "give every axis at least 1",
            )
        if any(self.tile) and not all(self.tile):
            raise InvalidInput(
                f"tile {self.tile} has an axis of 0 beside others",
                "give every axis at least 1, or (0, 0, 0) for a variant that is not tiled",
            )
        if self.recorded_at and not _is_day(self.recorded_at):
            raise InvalidInput(
                f"recorded_at {self.recorded_at!r} is not a day",
                "write it as YYYY-MM-DD, or leave it empty",
            )


def _is_day(text: str) -> bool:
    if not _DAY.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _hex(*parts: bytes) -> str:
    return blake3.blake3(b"".join(parts)).hexdigest()


def _limits(limits: Limits, version: KeyVersion) -> bytes:
    """Write limits in the crate's order; what exceeds its 32 bits becomes their largest value."""
    words = [limits.max_threads, *limits.max_block, *limits.max_grid]
    if version == 2:
        words.append(limits.max_threads_per_unit)
    return b"".join(_u32("a device limit", min(word, U32_MAX)) for word in words)


def _known(version: int) -> int:
    if version not in (1, 2):
        raise InvalidInput(f"launch key version {version}; known: 1, 2", "use version=1")
    return version


def _fingerprint(fingerprint: bytes) -> bytes:
    if len(fingerprint) != 32:
        raise InvalidInput(
            f"a fingerprint of {len(fingerprint)} bytes; it has 32", "use Program.fingerprint()"
        )
    return fingerprint


def _dim3(name: str, axes: Dim3) -> bytes:
    if len(axes) != 3:
        raise InvalidInput(f"{name} {axes} has {len(axes)} axes", "give three, such as (64, 1, 1)")
    return b"".join(_u32(f"an axis of {name}", axis) for axis in axes)


def _u32(name: str, value: int) -> bytes:
    return _unsigned(name, value, 4)


def _u64(name: str, value: int) -> bytes:
    return _unsigned(name, value, 8)


def _unsigned(name: str, value: int, size: int) -> bytes:
    try:
        return value.to_bytes(size, "little")
    except OverflowError:
        raise InvalidInput(
            f"{name} is {value}; 0 to 2**{8 * size} - 1 allowed", "use a value in that range"
        ) from None
