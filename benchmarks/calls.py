"""What a call costs: the reference against NumPy, PoCL against plain pyopencl.

Each figure is a median of ratios over interleaved blocks in one process, with its 95 % interval,
and the A/A interval (the plain side against itself) beside it.
"""

import argparse
from collections.abc import Callable

import numpy as np
import pyopencl as cl
from measure import halves, interleave, ratio, save

import vyre
from vyre import kernels
from vyre.model import Code, Schedule

PLAIN = """
__kernel void saxpy(__global const float* x, __global const float* y, __global float* out,
                    const float a, const uint n)
{
    uint i = get_global_id(0);
    if (i < n) out[i] = a * x[i] + y[i];
}
"""


def compare(
    title: str, ours: Callable[[], object], plain: Callable[[], object], *, blocks: int, calls: int
) -> dict[str, object]:
    times = interleave({"ours": ours, "plain": plain}, blocks=blocks, calls=calls)
    found = {"what": title, **ratio(times["ours"], times["plain"]), "a_a": halves(times["plain"])}
    print(
        f"{title:<58} {found['ratio']:6.3f}x  [{found['low']:.3f}, {found['high']:.3f}]"
        f"  A/A [{found['a_a']['low']:.3f}, {found['a_a']['high']:.3f}]"
    )
    return found


def reference_against_numpy(n: int, blocks: int) -> dict[str, object]:
    device = vyre.open("reference")
    x, y = (np.random.default_rng(0).random(n, dtype=np.float32) for _ in range(2))
    a = np.float32(2.5)
    rx, ry, out = device.array(x), device.array(y), device.empty(n, np.float32)
    return compare(
        f"reference saxpy 2^{n.bit_length() - 1} / NumPy a * x + y",
        lambda: kernels.saxpy(rx, ry, a=2.5, out=out),
        lambda: a * x + y,
        blocks=blocks,
        calls=1,
    )


class Plain:
    """The same kernel by hand, on the same device and buffers, with its arguments set once."""

    def __init__(self, device: vyre.Device, n: int, *arrays: vyre.DeviceArray) -> None:
        context, self.queue = device.backend._open()
        program = cl.Program(context, PLAIN).build()
        self.kernel = cl.Kernel(program, "saxpy")
        memory = [array.memory for array in arrays]
        self.kernel.set_args(*memory, np.float32(2.5), np.uint32(n))
        self.size = -(-n // 64) * 64

    def run(self) -> None:
        cl.enqueue_nd_range_kernel(self.queue, self.kernel, (self.size,), (64,)).wait()


def pocl_against_plain(n: int, blocks: int, calls: int, title: str) -> dict[str, object]:
    device = vyre.open("opencl")
    random = np.random.default_rng(0)
    x, y, out = (device.array(random.random(n, dtype=np.float32)) for _ in range(3))
    plain = Plain(device, n, x, y, out)
    same = Schedule((64, 1, 1), Code(checked=False))

    def ours() -> None:
        kernels.saxpy(x, y, a=2.5, out=out, schedule=same if n > 1 else None)
        device.synchronize()

    return compare(title, ours, plain.run, blocks=blocks, calls=calls)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=60)
    blocks = parser.parse_args().blocks
    device = vyre.open("opencl")
    results = [
        reference_against_numpy(1 << 24, blocks),
        pocl_against_plain(1 << 24, blocks, 1, "PoCL saxpy 2^24 / the same in pyopencl"),
        pocl_against_plain(1, blocks, 100, "one element on resident arrays / enqueue and wait"),
    ]
    path = save("calls", results, device=f"{device.info.model}, {device.info.compiler}")
    print(f"saved to {path.name}")


if __name__ == "__main__":
    main()
