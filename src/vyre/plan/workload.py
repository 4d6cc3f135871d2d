"""What a choice is remembered for: a program, about this size, on this device."""

from __future__ import annotations

from collections.abc import Mapping

from vyre.analysis import Facts
from vyre.ir.program import Program
from vyre.model import STRUCTURE, DeviceInfo, Dim3, Workload

ALIGNED = 16
"""Bytes: what the widest access of a GPU needs of an array's first byte."""


def bucket(number: int) -> int:
    """Sizes within a factor of two share one; 0 has its own.

    >>> [bucket(n) for n in (0, 1, 2, 3, 4, 1023, 1024)]
    [0, 1, 2, 2, 3, 10, 11]
    """
    return number.bit_length()


def workload_of(
    program: Program,
    facts: Facts,
    info: DeviceInfo,
    extent: Dim3,
    lengths: Mapping[str, int],
    scalars: Mapping[str, int],
    alignment: Mapping[str, int],
    *,
    unchecked: bool,
    structure: str,
) -> Workload:
    """The workload of one launch.

    Its buckets are those of the extents, of each array's length by name, and of the scalars that
    reach a loop's bound, because these change how much there is to do.
    """
    # The structure follows from the fingerprint, so it tells no two workloads apart that were one.
    reaching = [bucket(abs(scalars[name])) for name in facts.loop_scalars if name in scalars]
    traits = [f"{STRUCTURE}{structure}", "unchecked" if unchecked else "checked"]
    if all(bytes_ >= ALIGNED for bytes_ in alignment.values()):
        traits.append("aligned")
    return Workload(
        fingerprint=program.fingerprint(),
        buckets=(
            *(bucket(n) for n in extent),
            *(bucket(lengths[name]) for name in sorted(lengths)),
            *reaching,
        ),
        traits=tuple(traits),
        device=info.identity,
        toolchain=info.toolchain,
    )
