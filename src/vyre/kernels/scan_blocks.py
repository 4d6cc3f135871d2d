"""The kernels of prefix sums, for each type: what blocks come to, and the sums in them."""

# The annotations here are kernel types, which vyre.lang reads and mypy cannot.
# mypy: ignore-errors

from dataclasses import dataclass
from functools import cache

import vyre.lang as vl
from vyre.ir.storage import STORAGE
from vyre.ir.types import DataType
from vyre.lang import In, Out, f32, f64, i32, i64, u32, u64
from vyre.runtime.call.kernel import Kernel
from vyre.runtime.call.making import kernel

GROUP = 32
"""Elements that are summed up in order, and groups of a block."""

BLOCK = GROUP * GROUP

PITCH = GROUP + 1
"""Elements of a line of workgroup memory: one more, so that lanes below each other meet nowhere."""

LANES = vl.among(64, 32, 128, 256)
"""Lanes of a workgroup: 32 for each block, whatever the number of blocks."""


TYPES = {STORAGE[dtype].name: dtype for dtype in (f32, f64, i32, u32, i64, u64)}
"""The types whose elements can be summed up, by the names that NumPy has for them."""


@dataclass(frozen=True, slots=True)
class Scans:
    """The kernels for one type."""

    dtype: DataType
    row_totals: Kernel
    row_sums: Kernel
    column_totals: Kernel
    column_sums: Kernel


@cache
def kernels_for(name: str) -> Scans:
    """The kernels for a type as NumPy calls it, made when they are first asked for.

    Those of rows are for lines along the last axis, those of columns for lines beside each other.
    """
    dtype = TYPES[name]

    @kernel(workgroup=LANES)
    def row_totals(x: In[dtype, 2], out: Out[dtype, 2]) -> None:
        """What each block of each row comes to."""
        tile = vl.shared(dtype, (vl.workgroup_size(1), PITCH))
        ends = vl.shared(dtype, vl.workgroup_size(1))
        row, at, here = vl.gid(0), vl.gid(1), vl.local_id(1)
        lane, block = at % GROUP, at // GROUP
        first = here - lane
        for k in range(GROUP):
            tile[first + k, lane] = x[row, block * BLOCK + k * GROUP + lane]
        vl.barrier()
        s = tile[here, 0]
        for k in range(1, GROUP):
            s += tile[here, k]
        ends[here] = s
        vl.barrier()
        if lane == 0:
            for k in range(1, GROUP):
                s += ends[first + k]
            out[row, block] = s

    @kernel(workgroup=LANES)
    def row_sums(x: In[dtype, 2], before: In[dtype, 2], out: Out[dtype, 2], shift: u32) -> None:
        """The sums of each row; `before` holds those of its blocks, up to each one."""
        tile = vl.shared(dtype, (vl.workgroup_size(1), PITCH))
        ends = vl.shared(dtype, vl.workgroup_size(1))
        starts = vl.shared(dtype, vl.workgroup_size(1))
        row, at, here = vl.gid(0), vl.gid(1), vl.local_id(1)
        lane, block = at % GROUP, at // GROUP
        first = here - lane
        for k in range(GROUP):
            tile[first + k, lane] = x[row, block * BLOCK + k * GROUP + lane]
        vl.barrier()
        s = tile[here, 0]
        for k in range(1, GROUP):
            s += tile[here, k]
            tile[here, k] = s
        ends[here] = s
        vl.barrier()
        start = ends[first]
        for k in range(1, GROUP):
            if k < lane:
                start += ends[first + k]
        starts[here] = start
        vl.barrier()
        base = before[row, block - 1]
        for k in range(GROUP):
            v = tile[first + k, lane]
            if k > 0:
                v = starts[first + k] + v
            if block > 0:
                v = base + v
            out[row, block * BLOCK + k * GROUP + lane + shift] = v
        if at < shift:
            out[row, at] = 0

    @kernel
    def column_totals(x: In[dtype, 3], out: Out[dtype, 3]) -> None:
        """What each block of each column comes to."""
        i, block, j = vl.gid(0), vl.gid(1), vl.gid(2)
        total = x[i, block * BLOCK, j]
        for k in range(1, GROUP):
            total += x[i, block * BLOCK + k, j]
        for group in range(1, GROUP):
            s = x[i, block * BLOCK + group * GROUP, j]
            for k in range(1, GROUP):
                s += x[i, block * BLOCK + group * GROUP + k, j]
            total += s
        out[i, block, j] = total

    @kernel(unique_writes="out")
    def column_sums(x: In[dtype, 3], before: In[dtype, 3], out: Out[dtype, 3], shift: u32) -> None:
        """The sums of each column; `before` holds those of its blocks, up to each one."""
        i, block, j = vl.gid(0), vl.gid(1), vl.gid(2)
        base = before[i, block - 1, j]
        start = x[i, block * BLOCK, j]
        for group in range(GROUP):
            at = block * BLOCK + group * GROUP
            if at < x.shape[1]:
                s = x[i, at, j]
                for k in range(GROUP):
                    if k > 0:
                        s += x[i, at + k, j]
                    v = s
                    if group > 0:
                        v = start + v
                    if block > 0:
                        v = base + v
                    out[i, at + k + shift, j] = v
                if group == 0:
                    start = s
                else:
                    start += s
        if block < shift:
            out[i, 0, j] = 0

    return Scans(dtype, row_totals, row_sums, column_totals, column_sums)
