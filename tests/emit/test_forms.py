"""The sources of tiles: lines, windows, what goes through workgroup memory, wide elements."""

import inspect

import pytest

import vyre
from vyre import In, Out, f32, kernels, u8, u32
from vyre.analysis import analyse
from vyre.emit import CUDA, OPENCL, emit
from vyre.lang import translate
from vyre.model import Code, Schedule


@vyre.kernel
def filter3(x: In[f32, 2], w: In[f32, (3, 3)], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    s = 0.0
    for a in range(u32(3)):
        for b in range(u32(3)):
            s += w[a, b] * x[i + a - 1, j + b - 1]
    out[i, j] = s


@vyre.kernel
def product(a: In[f32, 2], b: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    s = 0.0
    for k in range(a.shape[1]):
        s += a[i, k] * b[k, j]
    out[i, j] = s


@vyre.kernel
def row_sums(x: In[f32, 2], out: Out[f32]):
    i = vyre.gid()
    s = 0.0
    for k in range(x.shape[1]):
        s += x[i, k]
    out[i] = s


@vyre.kernel
def transposed(x: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    out[i, j] = x[j, i]


@vyre.kernel
def gray(red: In[u8], green: In[u8], blue: In[u8], out: Out[u8]):
    i = vyre.gid()
    out[i] = u8((u32(red[i]) * 77 + u32(green[i]) * 150 + u32(blue[i]) * 29) >> 8)


fast_nbody = translate(inspect.unwrap(kernels.nbody), fast_math=True)

FORMS = {
    "stencil5.lines": (
        kernels.stencil5,
        Schedule((32, 8, 1), Code(items=4, vector=4, lines=2, checked=False)),
    ),
    "stencil5.fitted": (
        kernels.stencil5,
        Schedule((32, 8, 1), Code(items=4, vector=4, lines=2, checked=False, fitted=True)),
    ),
    "filter3.lines": (
        filter3,
        Schedule((32, 4, 1), Code(items=2, vector=2, lines=2, checked=False)),
    ),
    "product.staged": (
        product,
        Schedule((16, 16, 1), Code(items=4, vector=4, lines=2, depth=16, checked=False)),
    ),
    "row_sums.loaders": (
        row_sums,
        Schedule((8, 1, 1), Code(depth=64, loaders=31, checked=False)),
    ),
    "transposed.staged": (
        transposed,
        Schedule((32, 8, 1), Code(lines=4, depth=1, checked=False)),
    ),
    "transposed.fitted": (
        transposed,
        Schedule(
            (16, 16, 1), Code(items=2, vector=2, lines=2, depth=1, checked=False, fitted=True)
        ),
    ),
    "nbody.fast_staged": (fast_nbody, Schedule((64, 1, 1), Code(depth=64, checked=False))),
    "gray.vectors": (gray, Schedule((128, 1, 1), Code(items=16, vector=16, checked=False))),
}


@pytest.mark.parametrize("dialect", [OPENCL, CUDA], ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("form", FORMS)
def test_the_source_of_a_tile_is_as_reviewed(form, dialect, golden):
    kernel, schedule = FORMS[form]

    text = emit(kernel.program, schedule.code, dialect, analyse(kernel.program)).text

    golden(f"{form}.{'cl' if dialect is OPENCL else 'cu'}", text)
