"""Scale one array, add another: the smallest whole program."""

import numpy as np

import vyre
from vyre import In, Out, f32


@vyre.kernel
def saxpy(x: In[f32], y: In[f32], out: Out[f32], a: f32):
    i = vyre.gid()
    out[i] = a * x[i] + y[i]


x = np.linspace(0, 1, 1_000_003, dtype=np.float32)
y = np.ones_like(x)
result = saxpy(x, y, a=2.5)

assert np.array_equal(result, np.float32(2.5) * x + y)
print(f"saxpy over {x.size:,} elements agrees with NumPy bit for bit")
