"""Run by a test under Numba's simulator: real kernels, under every block that is offered."""

import ctypes
import json
import sys
from dataclasses import replace

import numpy as np
from numba import cuda

import vyre.numba
from vyre.adapter.grids import Launch
from vyre.adapter.numba import device
from vyre.testing.foreign import Bench, learning


@cuda.jit(device=True)
def doubled(a):
    return 2 * a


@cuda.jit
def line(x, n):
    i = cuda.grid(1)
    if i < n:
        x[i] = doubled(x[i]) + i


@cuda.jit
def written_out(x, n):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < n:
        x[i] += 1 + i


@cuda.jit
def plane(x):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        x[i, j] += 10 * i + j


@cuda.jit
def cube(x):
    i, j, k = cuda.grid(3)
    if i < x.shape[0] and j < x.shape[1] and k < x.shape[2]:
        x[i, j, k] += 100 * i + 10 * j + k


@cuda.jit
def stepping(x, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        x[i] += i


@cuda.jit
def unguarded(x):
    x[cuda.grid(1)] += 1


@cuda.jit
def in_blocks(x, n):
    i = cuda.grid(1)
    if i < n:
        x[i] = cuda.threadIdx.x


CASES = {
    "line": (line, (3, 40), (100,), lambda n: (n,), {"size": lambda _, n: n}),
    "line, threads": (line, (3, 64), (192,), lambda n: (n,), {}),
    "written out": (written_out, (4, 32), (100,), lambda n: (n,), {"size": 100}),
    "plane": (plane, ((2, 3), (8, 8)), (13, 20), lambda *_: (), {"size": (13, 20)}),
    "plane, threads": (plane, ((2, 4), (32, 8)), (64, 32), lambda *_: (), {}),
    "cube": (cube, ((2, 2, 2), (4, 4, 2)), (7, 6, 4), lambda *_: (), {"size": (7, 6, 4)}),
    "stepping": (stepping, (2, 30), (100,), lambda n: (n,), {"grid": "stride"}),
    "stepping, threads": (stepping, (2, 32), (100,), lambda n: (n,), {}),
    "unguarded": (unguarded, (2, 64), (128,), lambda _: (), {}),
    "in blocks": (in_blocks, (2, 64), (128,), lambda n: (n,), {}),
}


def offered(kernel, configuration, shape, more, says):
    made = vyre.numba.tuned(kernel, **says)
    fresh = np.arange(np.prod(shape), dtype=np.int64).reshape(shape)
    wanted = fresh.copy()
    kernel[configuration](wanted, *more(*shape))
    assert (wanted != fresh).any()
    x = fresh.copy()
    made[configuration](x, *more(*shape))
    assert (x == wanted).all()
    (entry,) = set(made.calls._entries.values())
    found = []
    for config in entry.call.subject.question().candidates:
        x = fresh.copy()
        entry.made(config)(made[configuration].arguments((x, *more(*shape))), 0)
        assert (x == wanted).all(), config.text
        found.append(config.text)
    return found


def tasks():
    made, wanted = vyre.numba.tuned(line), np.arange(100)
    line[4, 32](wanted, 100)
    x = np.arange(100)
    made.forall(100)(x, 100)
    (entry,) = set(made.calls._entries.values())
    found = []
    for config in entry.call.subject.question().candidates:
        again = np.arange(100)
        entry.made(config)(made.forall(100).arguments((again, 100)), 0)
        assert (again == wanted).all(), config.text
        found.append(config.text)
    assert (x == wanted).all()
    return found


def tried():
    """A block that is named and gives something else, on copies in another process."""
    made, x = vyre.numba.tuned(in_blocks, (32, 128), check=True), np.zeros(128, np.int64)
    made[2, 64](x, 128)
    (entry,) = set(made.calls._entries.values())
    admitted = entry.made.admitted
    launch = Launch.of((2,), (64,))
    answers = {}
    for width in (64, 32):
        config = launch.config((width,))
        answer = admitted.trials.submit(admitted.default, config).wait(600)
        answers[config.text] = getattr(answer, "reason", "the same")
    assert x.tolist() == [*range(64), *range(64)]
    return answers


@cuda.jit
def astray(x, n):
    i = cuda.grid(1)
    if i < n:
        x[i] += 1
    if i == 0 and cuda.blockDim.x == 32:
        ctypes.memset(x.ctypes.data + x.nbytes, 7, 1)  # no index does so here


def beside():
    """A block that is named and writes beyond its array, on copies in another process."""
    made, x = vyre.numba.tuned(astray, (32, 128), check=True), np.zeros((2, 64), np.int8)[1]
    made[2, 32 * 2](x, 64)
    (entry,) = set(made.calls._entries.values())
    admitted = entry.made.admitted
    answer = admitted.trials.submit(admitted.default, Launch.of((2,), (64,)).config((32,)))
    return answer.wait(600).reason


@cuda.jit
def moved(x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = x[(i + 1) % n] + 1


def of_the_host():
    """An array of the host given twice: a launch brings it to the device twice."""
    made, x = vyre.numba.tuned(moved, (32, 128), check=True), np.arange(128)
    made[2, 64](x, x, 128)
    assert x.tolist() == [*range(2, 129), 1]
    (entry,) = set(made.calls._entries.values())
    taken = entry.made.variants.portable(made[2, 64].arguments((x, x, 128)))
    return [type(one).__name__ for one in taken.arguments]


if __name__ == "__main__":
    device._LIMITS = replace(device._LIMITS, max_threads=256)  # each is a thread of Python's
    with learning(Bench()):
        told = {name: offered(*case) for name, case in CASES.items()}
        told |= {one.__name__: one() for one in (tasks, tried, beside, of_the_host)}
        sys.stdout.write(json.dumps(told))
