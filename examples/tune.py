"""Tune one kernel for one size, see what was chosen, and call it as before."""

import numpy as np

import vyre
from vyre import In, Out, f32


@vyre.kernel
def horner(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    s = x[i]
    for _ in range(64):
        s = s * x[i] + 0.5
    out[i] = s


x = np.linspace(-0.9, 0.9, 200_000, dtype=np.float32)
before = horner(x)

decision = horner.tune(x, budget_s=4)
after = horner(x)

print(f"{decision.reason}: workgroup {decision.schedule.workgroup}, {decision.schedule.code}")
print(decision.detail)
assert np.array_equal(before, after), "tuning never changes results"
