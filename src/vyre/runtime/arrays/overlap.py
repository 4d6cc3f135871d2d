"""Arguments that share memory: kept where every invocation stays with its own element, else copied.

The result is always as if every input had been read before anything was written, as NumPy has it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vyre.analysis.aliasing import may_share
from vyre.errors import InvalidInput
from vyre.lang import Role, Translation
from vyre.runtime.arrays import foreign
from vyre.runtime.arrays.array import AnyArray, DeviceArray
from vyre.runtime.arrays.foreign import ForeignArray
from vyre.runtime.arrays.in_place import address_of


def copies_needed(kernel: Translation, arrays: Mapping[str, AnyArray]) -> tuple[str, ...]:
    """The inputs to copy, because what the call writes overlaps them.

    Raises:
        InvalidInput: two arrays that are both written overlap.
    """
    written = [
        p.name for p in kernel.params if p.role in (Role.OUT, Role.INOUT) and p.name in arrays
    ]
    read = [p.name for p in kernel.params if p.role is Role.IN]
    for number, first in enumerate(written):
        for second in written[number + 1 :]:
            if _overlap(arrays[first], arrays[second]):
                raise InvalidInput(
                    f"{first} and {second} of {kernel.name} are both written and share memory",
                    "pass arrays that do not overlap",
                )
    return tuple(
        name
        for name in read
        if any(
            _overlap(arrays[name], arrays[target]) and not _keeps(kernel, arrays, name, target)
            for target in written
        )
    )


def may_coincide(kernel: Translation, arrays: Mapping[str, AnyArray]) -> frozenset[tuple[str, str]]:
    """An input and what is written, where arrays of these shapes may be one and the same."""
    written = [p.name for p in kernel.params if p.role in (Role.OUT, Role.INOUT)]
    return frozenset(
        (p.name, target)
        for p in kernel.params
        for target in written
        if p.role is Role.IN
        and arrays[p.name].shape == arrays[target].shape
        and arrays[p.name].nbytes == arrays[target].nbytes
        and may_share(kernel.program, kernel.rank, p.name, target)
    )


def _keeps(kernel: Translation, arrays: Mapping[str, AnyArray], name: str, target: str) -> bool:
    """Whether two arguments may share: the identical range, touched at the identical index."""
    return _identical(arrays[name], arrays[target]) and may_share(
        kernel.program, kernel.rank, name, target
    )


def _overlap(a: AnyArray, b: AnyArray) -> bool:
    if isinstance(a, DeviceArray) or isinstance(b, DeviceArray):
        if not (isinstance(a, DeviceArray) and isinstance(b, DeviceArray)):
            return False
        if isinstance(a, ForeignArray) or isinstance(b, ForeignArray):
            return foreign.overlap(a, b)
        return a.memory is b.memory
    return bool(a.size and b.size and np.may_share_memory(a, b))


def _identical(a: AnyArray, b: AnyArray) -> bool:
    if isinstance(a, DeviceArray) and isinstance(b, DeviceArray):
        if isinstance(a, ForeignArray) or isinstance(b, ForeignArray):
            return foreign.identical(a, b)
        return True  # one allocation is one array
    if isinstance(a, DeviceArray) or isinstance(b, DeviceArray):
        return False
    return address_of(a) == address_of(b) and a.nbytes == b.nbytes and a.shape == b.shape
