"""What files of the Rust crate say of a program here: by which keys and adapters it is found.

The crate keys a launch by the program, the element count and the device's limits, and a tuner's
choice by the program and what is known of its dispatch. Both digests can be made again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from math import prod

from vyre.ir import Program
from vyre.model import U32_MAX, Decision, DeviceInfo, Dim3, Limits, Schedule, Workload
from vyre.plan.binding import BindingRole
from vyre.plan.geometry import infer_dispatch_grid_for_count
from vyre.store.exchange.bridge import cache_workload, record_workload
from vyre.store.keys import (
    AutotuneKey,
    KeyVersion,
    StaticProgramShape,
    TunerProgramKey,
    adapter_file_stem,
    launch_feedback_key,
)
from vyre.store.specialization import SpecCacheKey

_STEM = re.compile(r"natural-launch-feedback-v[12]-[0-9a-f]{64}")
_VERSIONS: tuple[KeyVersion, KeyVersion] = (2, 1)  # the one that says more first


def is_adapter_stem(text: str) -> bool:
    """Whether it is the name, without its ending, that the crate gives a device's launch file."""
    return _STEM.fullmatch(text) is not None


def adapters_of(info: DeviceInfo) -> tuple[str, ...]:
    """The adapters under which choices for a device may have been imported, the surest first."""
    return tuple(dict.fromkeys((*_own(info), *_stems(info, 2), *_stems(info, 1))))


def imported_workloads(
    program: Program,
    element_count: int,
    info: DeviceInfo,
    *,
    variants: Sequence[SpecCacheKey] = (),
) -> tuple[Workload, ...]:
    """What a program's dispatch on a device is remembered for by the crate, the surest first.

    Args:
        program: what is dispatched.
        element_count: how many elements it covers; the crate tells every count from every other.
        info: the device.
        variants: under which keys an autotune store has it. They come from the crate's own source
            of a kernel, which cannot be made here.
    """
    own = _own(info)
    found = [
        *_launches(program, element_count, info),
        *(cache_workload(key, name) for key in _tuner_keys(program, element_count) for name in own),
        *(
            record_workload(of(variant, name))
            for variant in variants
            for of in (AutotuneKey.exact, AutotuneKey.of)
            for name in adapters_of(info)
        ),
    ]
    return tuple(dict.fromkeys(found))


def imported_choice(
    lookup: Callable[[Workload], Decision | None],
    program: Program,
    element_count: int,
    info: DeviceInfo,
    *,
    variants: Sequence[SpecCacheKey] = (),
) -> Schedule | None:
    """What an imported file has a program launched with, where the device can; None without any.

    A tuner cache tells a workgroup alone, so the code is the plain one, with checks: who can prove
    them away leaves them out.

    Args:
        lookup: what is remembered for a workload, such as a store's `get`.
        program: what is dispatched.
        element_count: how many elements it covers.
        info: the device.
        variants: under which keys an autotune store has it.
    """
    for workload in imported_workloads(program, element_count, info, variants=variants):
        found = lookup(workload)
        if found is None or not isinstance(found.config, Schedule):
            continue
        if _fits(found.config.workgroup, info.limits):
            return found.config
    return None


def _own(info: DeviceInfo) -> tuple[str, str]:
    """The device's own names: what imports use, and what a person would write."""
    return (info.identity, info.model)


def _stems(info: DeviceInfo, version: KeyVersion) -> Iterator[str]:
    """The crate's names of a device's launch file; it spells some backends in capitals."""
    for backend in (info.backend.upper(), info.backend):
        yield adapter_file_stem(backend, info.limits, version=version)


def _launches(program: Program, count: int, info: DeviceInfo) -> Iterator[Workload]:
    if not 1 <= count <= U32_MAX or program.workgroup_size[1:] != (1, 1):
        return  # the crate tunes no other launch
    for version in _VERSIONS:
        key = launch_feedback_key(
            program.fingerprint(), program.workgroup_size, count, info.limits, version=version
        )
        for adapter in (*_stems(info, version), *_own(info)):
            yield cache_workload(key, adapter)


def _tuner_keys(program: Program, count: int) -> Iterator[str]:
    """The keys of a dispatch, by all that its caller may have known of it, the most first."""
    if not 1 <= count <= U32_MAX or min(program.workgroup_size) < 1:
        return
    grid = infer_dispatch_grid_for_count(count, program.workgroup_size)
    for output_bytes in (_output_bytes(program, count), 0):
        for groups in (grid, None):
            shape = StaticProgramShape.of(program, groups, output_bytes)
            yield TunerProgramKey.from_program(program, shape).text


def _output_bytes(program: Program, count: int) -> int:
    """The bytes of all outputs; one whose length is not declared has an element for each."""
    return sum(
        count * decl.element.min_bytes if decl.static_byte_len is None else decl.static_byte_len
        for decl in program.buffers
        if BindingRole.of(decl).gives_output
    )


def _fits(size: Dim3, limits: Limits) -> bool:
    sizes = (prod(size), *size)
    limited = zip(sizes, (limits.max_threads, *limits.max_block), strict=True)
    return all(most == 0 or one <= most for one, most in limited)
