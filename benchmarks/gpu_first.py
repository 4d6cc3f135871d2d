"""How long the first dispatch of a new kernel takes, in a process whose cache holds nothing.

Printed as JSON: milliseconds from the call to its result, for the first kernel of the process and
for a second one; import, the context and the arrays are there before.
"""

import json
import time

import torch

import vyre
from vyre import In, Out, f32


@vyre.kernel
def first(x: In[f32], y: In[f32], out: Out[f32], a: f32):
    i = vyre.gid()
    out[i] = a * x[i] + y[i] * 3.25 + vyre.exp(x[i])


@vyre.kernel
def second(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    s = 0.0
    for k in range(5):
        s += x[i + k - 2] * 0.2
    out[i] = vyre.tanh(s)


def milliseconds(run) -> float:  # noqa: ANN001  # a kernel's call
    torch.cuda.synchronize()
    start = time.perf_counter()
    run()
    torch.cuda.synchronize()
    return round(1e3 * (time.perf_counter() - start), 3)


def main() -> None:
    x, y = torch.randn(2, 1 << 20, device="cuda")
    device = vyre.open("cuda")
    device.synchronize()
    print(
        json.dumps(
            {
                "first_ms": milliseconds(lambda: first(x, y, a=2.5)),
                "second_ms": milliseconds(lambda: second(x)),
                "again_ms": milliseconds(lambda: second(x)),
            }
        )
    )


if __name__ == "__main__":
    main()
