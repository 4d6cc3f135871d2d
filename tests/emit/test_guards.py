"""What a kernel's own conditions keep inside is accessed without a check, in every language."""

import re

import numpy as np
import pytest

import vyre
from vyre import In, Out, f32, u32
from vyre.analysis import analyse
from vyre.emit import CUDA, OPENCL, emit
from vyre.model import Code


@vyre.kernel
def filtered(x: In[f32, 2], out: Out[f32, 2]):
    r, c = vyre.gid(0), vyre.gid(1)
    h, w = x.shape[0], x.shape[1]
    if r > 0 and r < h - 1 and 0 < c < w - 1:
        s = f32(0)
        for d in range(3):
            for e in range(3):
                s += x[r + d - 1, c + e - 1]
        out[r, c] = s
    else:
        out[r, c] = x[r, c]


@vyre.kernel
def folded(x: In[f32, 2], out: Out[f32]):
    i = vyre.gid()
    rounds = x.shape[1]
    s = f32(0)
    for m in range((rounds + 1023) // 1024):
        for lane in range(32):
            for t in range(32):
                j = 1024 * m + 32 * t + lane
                if j < rounds:
                    s += x[i, j]
    out[i] = s


@vyre.kernel
def rows(x: In[f32], out: Out[f32], n: u32):
    i = vyre.gid()
    s = f32(0)
    for t in range((n + 31) // 32):
        for lane in range(32):
            j = 32 * t + lane
            if j < n:
                s += x[i * n + j]
    out[i] = s


@vyre.kernel
def bordered(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    if i == 0 or i + 1 >= len(x):
        return
    out[i] = x[i - 1] + x[i + 1]


@vyre.kernel
def clamped(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    left = i - 1 if i > 0 else 0
    out[i] = x[left] + x[min(i + 1, len(x) - 1)]


@vyre.kernel
def listed(x: In[f32], at: In[u32], out: Out[f32]):
    i = vyre.gid()
    j = at[i]
    found = f32(0)
    if j < len(x):
        found = x[j]
    out[i] = found


KERNELS = (filtered, folded, rows, bordered, clamped, listed)


@pytest.mark.parametrize("dialect", [OPENCL, CUDA], ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.program.fingerprint()[:4])
def test_what_a_condition_keeps_inside_has_no_check(kernel, dialect):
    program = kernel.program
    text = emit(program, Code(checked=False), dialect, analyse(program)).body

    assert re.findall(r"\? p_\w+\[|vyre_load", text) == []


def test_a_border_that_is_one_too_narrow_keeps_its_checks():
    @vyre.kernel
    def narrow(x: In[f32], out: Out[f32]):
        i = vyre.gid()
        if i + 1 >= len(x):
            return
        out[i] = x[i - 1] + x[i + 1]

    loads = [access for access in narrow.facts.accesses if access.kind == "load"]

    assert [access.in_bounds is None for access in loads] == [True, False]


@pytest.mark.parametrize("size", [1, 2, 31, 33])
def test_the_unchecked_code_gives_what_the_reference_gives(size):
    values = np.arange(size * (size + 1), dtype=np.float32)
    places = np.arange(size, dtype=np.uint32) * 3 % (size + 2)
    cases = (
        (filtered, (values.reshape(size, size + 1),), (size, size + 1), {}),
        (filtered, (values.reshape(size, size + 1),), (size + 2, size + 3), {}),
        (folded, (values.reshape(size, size + 1),), (size,), {}),
        (rows, (values,), (size,), {"n": size}),
        (rows, (values,), (size + 4,), {"n": size + 1}),
        (bordered, (values,), (size,), {}),
        (bordered, (values[:size],), (size + 40,), {}),
        (clamped, (values[:size],), (size + 1,), {}),
        (listed, (values[:size], places), (size,), {}),
    )
    for kernel, arrays, shape, scalars in cases:
        found = []
        for device in (vyre.open("reference"), vyre.open("cpu")):
            out = device.array(np.zeros(shape, np.float32))
            kernel(*map(device.array, arrays), out=out, **scalars)
            found.append(np.asarray(out))
        assert np.array_equal(*found)
