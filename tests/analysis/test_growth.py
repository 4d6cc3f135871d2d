"""How the work of an analysis grows with the program: with its statements, and no faster."""

from functools import partial

import pytest

from vyre.analysis import analyse
from vyre.analysis.forms import Unknown
from vyre.analysis.reader import read
from vyre.ir import BufferDecl, DataType, ReduceOp
from vyre.ir.build import (
    assign,
    atomic,
    barrier,
    block,
    gid,
    if_,
    let,
    load,
    loop,
    reduce_,
    store,
    u32,
    var,
    yield_,
)
from vyre.ir.expr import AtomicOp

I = gid()  # noqa: E741  # as the kernels themselves write it


def stencil(count):
    sums = (assign("s", var("s") + load("x", I + k)) for k in range(count))
    return (let("s", load("x", I)), *sums, store("out", I, var("s")))


def names(count):
    return (
        let("v0", I),
        *(let(f"v{k}", var(f"v{k - 1}") * 3 + load("x", I)) for k in range(1, count)),
        store("out", I, var(f"v{count - 1}")),
    )


def stores(count):
    return tuple(store("out", I * count + k, load("x", I)) for k in range(count))


def branches(count):
    return (
        *(let(f"v{k}", load("x", I + k)) for k in range(count)),
        *(if_(load("x", I) < k, [store("out", I, var(f"v{k}"))]) for k in range(count)),
    )


def loops(count):
    return (
        let("s", u32(0)),
        *(
            loop("k", u32(0), u32(4), [assign("s", var("s") + load("x", I + k + var("k")))])
            for k in range(count)
        ),
        store("out", I, var("s")),
    )


def reductions(count):
    return tuple(
        block(
            [
                reduce_(
                    "s", ReduceOp.SUM, DataType.U32, "k", rounds=u32(99), body=[yield_(at + k)]
                ),
                store("out", I * count + k, var("s")),
            ]
        )
        for k in range(count)
        for at in [load("x", I + var("k"))]
    )


def atomics(count):
    return tuple(let(f"old{k}", atomic(AtomicOp.ADD, "out", I + k, u32(1))) for k in range(count))


def barriers(count):
    return (*stencil(count), *(barrier() for _ in range(count)))


def one_sum(count):
    total = load("x", I)
    for k in range(count // 2):
        total = total + load("x", I + k)
    return (store("out", I, total),)


SHAPES = (one_sum, stencil, names, stores, branches, loops, reductions, atomics, barriers)


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_statements_are_twice_the_work(program, lines_run, shape):
    small, large = program(*shape(150)), program(*shape(300))

    less, more = (lines_run(partial(analyse, made)) for made in (small, large))

    assert more < 2.3 * less


@pytest.mark.parametrize("start", [u32(3), load("n", 0), load("n", 0) + 1, I])
@pytest.mark.parametrize("step", [lambda v: v * v, lambda v: v * load("n", 0) + v, lambda v: v + v])
def test_a_number_multiplied_again_and_again_is_followed_only_so_far(program, start, step):
    lines = [let(f"v{k}", step(var(f"v{k - 1}"))) for k in range(1, 61)]
    made = program(let("v0", start), *lines, store("out", var("v60"), load("x", I)))

    (form,) = read(made).touches[-1].indices

    assert isinstance(form, Unknown) or form.is_small


def test_a_sum_of_many_scalars_is_followed_only_so_far(program):
    scalars = [BufferDecl.uniform(f"n{k}", 20 + k, DataType.U32).with_count(1) for k in range(99)]
    lines = [let(f"v{k + 1}", var(f"v{k}") + load(f"n{k}", 0)) for k in range(99)]
    last = store("out", I + var("v99"), load("x", I))

    made = program(let("v0", u32(0)), *lines, last, extra=tuple(scalars))

    assert read(made).touches[-1].indices == (Unknown(uniform=False),)
