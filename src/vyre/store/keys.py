"""The Rust crate's keys, byte for byte: the names under which choices are exchanged.

They are kept so that files can be shared. They leave out what `Workload.key` names (the device's
model and driver, the compiler, the sizes of inputs), so nothing is remembered by them alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import blake3

from vyre.errors import InvalidInput
from vyre.ir import Program
from vyre.model import U32_MAX, Dim3, Limits
from vyre.store.fields import dim3, u32, u64
from vyre.store.specialization import SpecCacheKey

_TUNER_KEY = re.compile(r"v1-[0-9a-f]{64}")
_STORE_KEY = re.compile(r"[0-9a-f]{32}|[0-9a-f]{64}")

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
                dim3("workgroup_size", shape.workgroup_size),
                b"\0workgroup-count\0",
                b"\0" if count is None else b"\1" + dim3("workgroup_count", count),
                b"\0output-bytes\0",
                u64("output_bytes", shape.output_bytes),
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
        dim3("declared", declared),
        u32("element_count", element_count),
        _limits(limits, version),
    )


def adapter_file_stem(backend: str, limits: Limits, *, version: KeyVersion = 1) -> str:
    """Name the file, without its ending, that keeps a device's launch choices."""
    return f"natural-launch-feedback-v{version}-" + _hex(
        f"vyre-natural-launch-adapter-v{_known(version)}\0".encode(),
        backend.encode(),
        _limits(limits, version),
    )


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
        return cls((u64("key", first) + u64("key", second)).hex(), adapter_id)

    @classmethod
    def exact(cls, key: SpecCacheKey, adapter_id: str) -> AutotuneKey:
        """Digest every field (schema 2), so that two variants never share a key."""
        digest = _hex(
            b"vyre-autotune-key-v2\0",
            u64("shader_hash", key.shader_hash),
            u64("binding_sig", key.binding_sig),
            dim3("workgroup_size", key.workgroup_size),
            u64("spec_hash", key.spec_hash),
            adapter_id.encode(),
        )
        return cls(digest, adapter_id)


def _hex(*parts: bytes) -> str:
    return blake3.blake3(b"".join(parts)).hexdigest()


def _limits(limits: Limits, version: KeyVersion) -> bytes:
    """Write limits in the crate's order; what exceeds its 32 bits becomes their largest value."""
    words = [limits.max_threads, *limits.max_block, *limits.max_grid]
    if version == 2:
        words.append(limits.max_threads_per_unit)
    return b"".join(u32("a device limit", min(word, U32_MAX)) for word in words)


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
