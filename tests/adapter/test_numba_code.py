"""Which functions of Numba's are known not to depend on the block, and which are not."""

import enum
import math
from time import perf_counter

import numpy as np
import pytest

numba = pytest.importorskip("numba")
cuda = pytest.importorskip("numba.cuda")
import numba.cuda as aliased  # noqa: E402
from numba.cuda import blockDim, blockIdx, grid, threadIdx  # noqa: E402

from vyre.adapter.reading.numba_code import read  # noqa: E402

TABLE, RATE, SIZES = np.ones(3, np.float32), np.float32(0.5), (1, 2)


class Way(enum.IntEnum):
    UP = 1


@cuda.jit(device=True)
def root(a):
    return math.sqrt(a) + TABLE[0]


@cuda.jit(device=True)
def lane(a):
    return a + cuda.threadIdx.x


@cuda.jit(device=True)
def through(a):
    return lane(a)


def plain(a):
    return a


def place(x, n):
    i = cuda.grid(1)
    if i < n:
        x[i] = root(x[i]) * TABLE[0] + numba.float32(3) + np.float32(2) + RATE + SIZES[1]


def places(x, n):
    i, j = cuda.grid(2)
    x[i, j] = min(abs(n), len(x)) + Way.UP


def imported(x):
    x[grid(1)] = 1


def another_name(x):
    x[aliased.grid(1)] = 1


def the_whole_name(x):
    x[numba.cuda.grid(1)] = 1


def written_out(x, n):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    j = cuda.threadIdx.y + cuda.blockDim.y * cuda.blockIdx.y
    if i < n:
        x[i, 2 * (cuda.threadIdx.z + cuda.blockIdx.z * cuda.blockDim.z) + j] = 1


def written_out_of_what_was_imported(x):
    x[blockIdx.x * blockDim.x + threadIdx.x] = 1


def own_memory(x):
    held = cuda.local.array(3, numba.float32)
    held[0] = cuda.const.array_like(TABLE)[0]
    cuda.atomic.add(x, 0, cuda.popc(1) + cuda.fma(1.0, 2.0, held[0]))


def named_like(x, threadIdx):  # noqa: N803
    syncthreads = threadIdx  # cuda.threadIdx.x
    x[cuda.grid(1)] = syncthreads


def steps(x, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        x[i] = 1


def written_out_steps(x, n):
    for i in range(cuda.grid(1), n, cuda.gridDim.x * cuda.blockDim.x):
        x[i] = 1


@cuda.jit(device=True)
def of_a_number(a, *, more=3):
    return a + more


def a_number_by_default(x):
    x[cuda.grid(1)] = of_a_number(1)


def counts(x, n):
    cuda.atomic.add(x, 0, max(n, 1))
    if n:
        cuda.atomic.max(x, (0, 1), x[1])


FREE = (place, places, imported, another_name, the_whole_name, written_out)
FREE = (*FREE, written_out_of_what_was_imported, own_memory, named_like)
FREE = (*FREE, a_number_by_default, counts)


@pytest.mark.parametrize("function", FREE, ids=lambda one: one.__name__)
def test_a_place_in_the_grid_depends_on_no_block(function):
    assert read(function, steps=True).sign is None
    assert read(function, steps=False).sign is None


@pytest.mark.parametrize("function", [steps, written_out_steps], ids=lambda one: one.__name__)
def test_the_threads_of_a_whole_grid_are_as_many_where_they_are_kept(function):
    assert read(function, steps=True).sign is None
    assert read(function, steps=False).sign in ("it says cuda.gridsize", "it says cuda.gridDim.x")


def thread(x):
    x[cuda.threadIdx.x] = 1


def thread_imported(x):
    x[threadIdx.x] = 1


def thread_of_another_name(x):
    x[aliased.threadIdx.x] = 1


def thread_of_the_whole_name(x):
    x[numba.cuda.threadIdx.x] = 1


def coarsened(x):
    x[2 * cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x] = 1


def scaled(x):
    x[cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x * 4] = 1


def of_two_axes(x):
    x[cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.x] = 1


def of_a_literal(x):
    x[cuda.blockIdx.x * 256 + cuda.threadIdx.x] = 1


def through_names(x):
    b = cuda.blockIdx.x
    x[b * cuda.blockDim.x + cuda.threadIdx.x] = 1


def on_a_condition(x, n):
    x[(n if n else cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x] = 1


def the_module(x):
    c = cuda
    x[c.threadIdx.x] = 1


def got(x):
    x[getattr(cuda, "threadIdx").x] = 1  # noqa: B009


def memory(x):
    held = cuda.shared.array(3, numba.float32)
    x[cuda.grid(1)] = held[0]


def barrier(x):
    cuda.syncthreads()
    x[cuda.grid(1)] = 1


def warp(x):
    x[cuda.grid(1)] = cuda.shfl_sync(-1, 1, 0)


def lanes(x):
    x[cuda.grid(1)] = cuda.laneid


def groups(x):
    cuda.cg.this_grid().sync()
    x[cuda.grid(1)] = 1


def called(x):
    x[cuda.grid(1)] = lane(1)


def called_by_what_is_called(x):
    x[cuda.grid(1)] = through(1)


def plain_is_called(x):
    x[cuda.grid(1)] = plain(1)


def missing(x):
    x[cuda.grid(1)] = not_there(1)  # noqa: F821


def imports(x):
    from numba import cuda as inside

    x[inside.threadIdx.x] = 1


def inner(x):
    def thread():
        return cuda.threadIdx.x

    x[cuda.grid(1)] = thread()


@cuda.jit(device=True)
def by_default(a, of=cuda):
    return a + of.threadIdx.x


def the_module_by_default(x):
    x[cuda.grid(1)] = by_default(1)


def a_builtin_that_an_extension_may_know(x):
    x[cuda.grid(1)] = perf_counter()


def waits(x, n):
    cuda.atomic.add(x, 0, 1)
    while cuda.atomic.add(x, 0, 0) < n:
        pass


def waits_by_another_name(x, n):
    add = cuda.atomic.add
    while n > add(x, 0, 0):
        pass


def waits_for_either(x, n):
    cuda.atomic.add(x, 0, cuda.atomic.add(x, 1, 0) if n else 1)


BOUND = {
    the_module_by_default: "it uses by_default's default 0, the module numba.cuda, which cannot be "
    "read",
    a_builtin_that_an_extension_may_know: "it uses perf_counter, time.perf_counter, which cannot "
    "be read",
    waits: "it says cuda.atomic.add for what it returns",
    waits_by_another_name: "it says cuda.atomic.add for what it returns",
    waits_for_either: "it says cuda.atomic.add for what it returns",
    thread: "it says cuda.threadIdx.x",
    thread_imported: "it says cuda.threadIdx.x",
    thread_of_another_name: "it says cuda.threadIdx.x",
    thread_of_the_whole_name: "it says cuda.threadIdx.x",
    coarsened: "it says cuda.blockIdx.x",
    scaled: "it says cuda.blockIdx.x",
    of_two_axes: "it says cuda.blockIdx.x",
    of_a_literal: "it says cuda.blockIdx.x",
    through_names: "it says cuda.blockIdx.x",
    on_a_condition: "it says cuda.blockIdx.x",
    the_module: "it says cuda, by which anything of it may be meant",
    got: "it says cuda, by which anything of it may be meant",
    memory: "it says cuda.shared.array",
    barrier: "it says cuda.syncthreads",
    warp: "it says cuda.shfl_sync",
    lanes: "it says cuda.laneid",
    groups: "it says cuda.cg.this_grid",
    called: "it says cuda.threadIdx.x",
    called_by_what_is_called: "it says cuda.threadIdx.x",
    missing: "it says not_there, which is not there",
    imports: "it says import numba",
    inner: "it says cuda.threadIdx.x",
}


@pytest.mark.parametrize("function", BOUND, ids=lambda one: one.__name__)
def test_whatever_else_is_asked_for_or_cannot_be_read_may(function):
    assert read(function, steps=True).sign == BOUND[function]


def test_a_function_that_others_may_have_given_another_meaning_is_not_known():
    sign = read(plain_is_called, steps=True).sign

    assert sign == f"it uses plain, {__name__}.plain, which cannot be read"


def test_what_cannot_be_read_at_all_is_said():
    assert read(len, steps=True).sign == "it calls builtins.len, which cannot be read"


def test_what_a_compiler_makes_part_of_a_kernel_is_named():
    whole = read(place, steps=True).constants

    assert [one.partition(" = ")[0] for one in whole] == [
        "TABLE",
        "TABLE",
        "RATE",
        "SIZES[0]",
        "SIZES[1]",
    ]
    assert whole[0].startswith("TABLE = <f4 (3,) ")
    assert whole[-2:] == ("SIZES[0] = 1", "SIZES[1] = 2")


def test_what_a_closure_holds_is_read():
    def made(count, function):
        def kernel(x):
            x[cuda.grid(1)] = function(count)

        return kernel

    assert "count = 3" in read(made(3, root), steps=True).constants
    assert read(made(3, root), steps=True).sign is None
    assert read(made(3, lane), steps=True).sign == "it says cuda.threadIdx.x"


def test_a_function_that_stands_for_another_is_not_known():
    def stands(x):
        x[cuda.grid(1)] = 1

    stands.__numba__, stands.real = "real", thread

    said = f"it calls {__name__}.{stands.__qualname__}, which stands for another function"
    assert read(stands, steps=True).sign == said


def test_what_is_called_as_one_of_numbas_is_none_of_them():
    class Mine:
        __module__ = "numba.cuda.extending"
        __name__ = "popc"

    mine = Mine()

    def kernel(x):
        x[cuda.grid(1)] = mine(1)

    assert read(kernel, steps=True).sign == "it says cuda.extending.popc"
