"""The kernels of the search for neighbours: a distance in 8 bits, the exact one in f32."""

# The annotations here are kernel types, which vyre.lang reads and mypy cannot.
# mypy: ignore-errors

from __future__ import annotations

import vyre.lang as vl
from vyre.lang import In, Out, f32, i8, i32, u8
from vyre.runtime.call.making import kernel
from vyre.runtime.speculation.call import speculate


@kernel
def may_be_near(coarse: In[i8, 2], coarse_query: In[i8], maybe: Out[u8], most: i32):
    """Whether a point may be near, by coordinates in steps.

    Each side is off by half a step at most, so a difference of d steps is at least d - 1.
    """
    i = vl.gid()
    total = i32(0)
    for k in range(len(coarse_query)):
        d = vl.abs(i32(coarse[i, k]) - i32(coarse_query[k])) - 1
        if d > 0:
            total += d * d
    if total <= most:
        maybe[i] = 1


@kernel
def is_near(
    points: In[f32, 2], query: In[f32], near: Out[u8], squared: Out[f32], squared_radius: f32
):
    """Whether a point is near, and the square of its distance."""
    i = vl.gid()
    total = 0.0
    for k in range(len(query)):
        d = points[i, k] - query[k]
        total += d * d
    if total <= squared_radius:
        near[i] = 1
        squared[i] = total


nearby = speculate(prefilter=may_be_near, confirm=is_near)
"""Flags and squared distances of the points within a radius of a query."""
