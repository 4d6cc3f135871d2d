"""The kernels of the search for literal patterns: a two-byte filter, an exact comparison."""

# The annotations here are kernel types, which vyre.lang reads and mypy cannot.
# mypy: ignore-errors

from __future__ import annotations

import vyre.lang as vl
from vyre.lang import In, Out, u8, u16, u32
from vyre.runtime.call.making import kernel
from vyre.runtime.speculation.call import speculate


@kernel
def may_begin(text: In[u8], pairs: In[u32, (2048,)], next_pairs: In[u32, (2048,)], maybe: Out[u8]):
    """Whether some pattern has the two bytes here, and some the next two as its next."""
    i = vl.gid()
    pair = u32(text[i]) | u32(text[i + 1]) << 8
    if pairs[pair >> 5] >> (pair & 31) & 1 == 1:
        after = u32(text[i + 2]) | u32(text[i + 3]) << 8
        maybe[i] = u8(next_pairs[after >> 5] >> (after & 31) & 1)


@kernel
def longest_at(
    text: In[u8],
    first: In[u32, (65537,)],
    place: In[u32],
    size: In[u32],
    letters: In[u8],
    single: In[u16, (256,)],
    found: Out[u16],
):
    """The number of the longest pattern that stands here, counted from 1; 0 for none."""
    i = vl.gid()
    here = u32(text[i])
    pair = here | u32(text[i + 1]) << 8
    left = len(text) - i
    for p in range(first[pair], first[pair + 1]):
        n = size[p]
        at = place[p]
        k = u32(2)
        if n <= left:
            while k < n and text[i + k] == letters[at + k]:
                k += 1
            if k == n:
                found[i] = u16(p + 1)
                return
    found[i] = single[here]


scan = speculate(prefilter=may_begin, confirm=longest_at)
"""`scan(text, *literals.arrays)`: for each byte, the number of the longest pattern there."""
