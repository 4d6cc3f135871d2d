"""Whether a device computes what the reference computes: bit for bit, or within stated ULPs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vyre.backend import reference
from vyre.backend.base import Unbuilt
from vyre.ir.types import DataType
from vyre.model import Code, Order, Schedule
from vyre.plan.geometry import tile_grid
from vyre.plan.vectors import LaunchTraits, why_not_vectors
from vyre.runtime.arrays.in_place import WIDEST
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.launcher import Numbers, words_of
from vyre.testing.programs import ANYTHING, Case

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """One element that a device computed otherwise."""

    case: int
    code: Code
    mismatch: Mismatch


def apart(dtype: DataType, expected: Array, found: Array, ulp: int = 0) -> NDArray[np.intp]:
    """The positions, flat, at which two arrays of one buffer differ by more than `ulp`.

    NaN equals NaN, whatever its payload.
    """
    a, b = expected.reshape(-1), found.reshape(-1)
    if dtype == DataType.BF16:
        a, b = ((values.astype(np.uint32) << 16).view(np.float32) for values in (a, b))
    if not dtype.is_float:
        return np.flatnonzero(a != b)
    same_nan = np.isnan(a) & np.isnan(b)
    one_nan = np.isnan(a) != np.isnan(b)
    if ulp == 0:
        return np.flatnonzero((_bits(a) != _bits(b)) & ~same_nan)
    return np.flatnonzero((one_nan | (_ulps(a, b) > ulp)) & ~same_nan)


def _bits(values: Array) -> Array:
    return values.view(f"u{values.itemsize}")


def _ulps(a: Array, b: Array) -> NDArray[np.uint64]:
    """How many representable values apart two floats are; the two zeros are 0 apart."""
    sign = np.uint64(1 << (8 * a.itemsize - 1))
    x, y = _bits(a).astype(np.uint64), _bits(b).astype(np.uint64)
    size_x, size_y = x & (sign - np.uint64(1)), y & (sign - np.uint64(1))
    larger, smaller = np.maximum(size_x, size_y), np.minimum(size_x, size_y)
    apart_by: NDArray[np.uint64] = np.where(
        (x & sign) == (y & sign), larger - smaller, size_x + size_y
    )
    return apart_by


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first element of a buffer that is not as it should be."""

    buffer: str
    position: int
    expected: object
    found: object


class Judge:
    """Compares what the runs of one case wrote with the reference, and with each other.

    Functions may differ from the reference by a bound, but on one device no run from another.
    """

    def __init__(self, case: Case) -> None:
        self.case, self.expected = case, case.copies()
        if case.expected is None:
            reference.run(case.program, self.expected, case.extent)
        else:
            self.expected.update(case.expected)
        self._before: dict[str, Array] = {}

    def mismatches(self, found: Mapping[str, Array]) -> Iterator[Mismatch]:
        """What is wrong with the arrays of a run, at most one element of each."""
        for decl in self.case.program.buffers:
            if not decl.is_written:
                continue
            name, ulp = decl.name, self.case.ulp.get(decl.name, 0)
            sides = [(self.expected[name], ulp)] if ulp < ANYTHING else []
            sides += [(self._before.setdefault(name, found[name]), 0)] if ulp else []
            for want, bound in sides:
                for position in apart(decl.element, want, found[name], bound)[:1]:
                    yield Mismatch(
                        name, int(position), want.flat[position], found[name].flat[position]
                    )


def differences(
    device: Device, cases: Sequence[Case], codes: Iterable[Code] = (Code(),)
) -> Iterator[Difference]:
    """Run every case with every code on `device` and on the reference; yield what differs.

    All the programs are compiled in one build, because a build costs far more than a launch.
    """
    chosen = tuple(codes)
    wanted = [(case.program, code) for case in cases for code in chosen]
    built = iter(device.binaries(wanted))
    for number, case in enumerate(cases):
        judge = Judge(case)
        for code in chosen:
            binary = next(built)
            if isinstance(binary, Unbuilt):
                yield Difference(number, code, Mismatch("(build)", 0, "", binary.log))
                continue
            if not provable(device, case, code):
                continue
            found = case.copies()
            _launch(device, binary, case, code, found)
            for mismatch in judge.mismatches(found):
                yield Difference(number, code, mismatch)


def codes_of(device: Device) -> tuple[Code, ...]:
    """Codes that are compiled in different ways on a device."""
    if device.info.simd is None:
        return Code(), Code(checked=False)
    lanes = device.info.simd.lanes
    return (
        Code(),
        Code(vector=2 * lanes, checked=False, order=Order.BLOCKED, staged=True),
        Code(vector=lanes // 2, rows=4, unroll=4),
    )


def provable(device: Device, case: Case, code: Code) -> bool:
    """Whether a code may run this case: what it leaves out is proved, its vectors are aligned."""
    if code.checked:
        return True
    scalars = {
        decl.name: int(case.arrays[decl.name][0])
        for decl in case.program.buffers
        if decl.is_scalar_argument and decl.element.is_int
    }
    shapes = {name: array.shape for name, array in case.arrays.items()}
    facts, numbers = device.facts(case.program), Numbers(case.extent, shapes, scalars)
    aligned = LaunchTraits(dict.fromkeys(shapes, WIDEST))
    if not facts.unchecked_for(numbers):
        return False
    return device.info.simd is not None or (
        why_not_vectors(code, facts, case.program, numbers, device.info.kind, aligned) is None
    )


def _launch(device: Device, binary: Any, case: Case, code: Code, arrays: dict[str, Array]) -> None:
    workgroup = case.program.workgroup_size
    grid = tile_grid(case.extent, Schedule(workgroup, code))
    shapes = {name: array.shape for name, array in arrays.items()}
    words = words_of(binary.layout, case.extent, shapes)
    device.run(binary, grid, workgroup, arrays, case.program, words)
