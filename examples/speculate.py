"""A cheap test before an expensive one: write both plainly, and let measured time choose."""

import numpy as np

import vyre
from vyre import In, Out, f32, u8, u32


@vyre.kernel
def outside(x: In[f32], y: In[f32], maybe: Out[u8]):
    """Points outside the main body of the set may escape; what is inside it never does."""
    i = vyre.gid()
    q = (x[i] - 0.25) * (x[i] - 0.25) + y[i] * y[i]
    if q * (q + (x[i] - 0.25)) > 0.25 * y[i] * y[i]:
        maybe[i] = 1


@vyre.kernel
def escape(x: In[f32], y: In[f32], rounds: Out[u32]):
    i = vyre.gid()
    a, b = 0.0, 0.0
    for n in range(200):
        a, b = a * a - b * b + x[i], 2 * a * b + y[i]
        if a * a + b * b > 4:
            rounds[i] = n + 1
            return


mandelbrot = vyre.speculate(prefilter=outside, confirm=escape)

y, x = np.mgrid[-1.2:1.2:200j, -2.2:0.8:250j].astype(np.float32)
x, y = x.reshape(-1).copy(), y.reshape(-1).copy()
rounds = mandelbrot(x, y, check=True)  # also proves the prefilter on these points
for way in vyre.Way:
    assert np.array_equal(mandelbrot(x, y, way=way), rounds), "every way gives the same bits"
for _ in range(40):
    mandelbrot(x, y)

for line in rounds.reshape(200, 250)[::10, ::4]:
    print("".join(" .:-=+*#%@"[min(9, n // 3)] if n else "@" for n in line))
print(mandelbrot.explain())
