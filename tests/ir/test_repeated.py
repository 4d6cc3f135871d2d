"""Loads that rounds would do again, kept in an array: where, and with the same bits."""

from random import Random

import numpy as np
import pytest

import vyre
from vyre import In, Out, f32, u32
from vyre.analysis import analyse
from vyre.analysis.facts import in_order
from vyre.backend.reference import run
from vyre.ir.expr import Array
from vyre.ir.node import Let
from vyre.ir.repeated import MOST_ARRAYS, MOST_KEPT, keeping
from vyre.ir.serial import serial
from vyre.ir.validate import check
from vyre.testing import reducers
from vyre.testing.compare import apart
from vyre.testing.programs import generate


def kept(program):
    """How many loads are kept."""
    entry = keeping(program).program.entry
    return sum(isinstance(node, Let) and isinstance(node.value, Array) for node in entry)


@vyre.kernel
def beside(x: In[f32, 2], y: In[f32, 2], out: Out[u32]):
    i = vyre.gid()
    out[i] = vyre.argmin(
        sum(x[d, i] * y[c, d] for d in range(x.shape[0])) for c in range(y.shape[0])
    )


@vyre.kernel
def by_round(x: In[f32, 2], start: In[u32], out: Out[f32]):
    i = vyre.gid()
    out[i] = max(sum(x[c, d + i] for d in range(start[c])) for c in range(x.shape[0]))


@vyre.kernel
def of_many(a: In[f32, 2], b: In[f32, 2], c: In[f32, 2], y: In[f32, 2], out: Out[f32]):
    i = vyre.gid()
    out[i] = max(
        sum(
            a[i, d] + b[i, d] + c[i, d] + a[i, d + 1] + b[i, d + 1] + y[r, d]
            for d in range(a.shape[1])
        )
        for r in range(y.shape[0])
    )


@vyre.kernel
def written_out(x: In[f32, 2], y: In[f32, 2], out: Out[u32]):
    i = vyre.gid()
    out[i] = vyre.argmin(sum(x[i, d] * y[c, d] for d in range(3)) for c in range(y.shape[0]))


def test_what_each_centre_reads_of_a_point_is_kept():
    assert kept(reducers.nearest.program) == 1


@pytest.mark.parametrize("kernel", [reducers.dot, reducers.residual, beside, by_round, written_out])
def test_not_what_is_read_once_or_lies_side_by_side_or_changes_or_is_a_number(kernel):
    assert keeping(kernel.program).program is kernel.program


def test_so_many_and_no_more():
    assert kept(of_many.program) == MOST_ARRAYS


@pytest.mark.parametrize("centres", [0, 1, 5])
@pytest.mark.parametrize("axes", [0, 1, 16, MOST_KEPT, MOST_KEPT + 9])
def test_the_bits_stay(centres, axes):
    program = reducers.nearest.program
    rng = np.random.default_rng(axes)
    given = [decl.name for decl in program.buffers]
    arrays = {
        given[0]: rng.standard_normal((7, axes), dtype=np.float32),
        given[1]: rng.standard_normal((centres, axes), dtype=np.float32),
        given[2]: np.zeros(7, np.uint32),
    }
    found = {name: array.copy() for name, array in arrays.items()}
    made = keeping(program).program
    check(made)

    run(program, arrays, (7, 1, 1))
    run(made, found, (7, 1, 1))

    assert np.array_equal(arrays[given[2]], found[given[2]])


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_generated_programs_keep_their_bits(first):
    for seed in range(first, first + 20):
        case = generate(Random(seed), reductions=True)
        made = keeping(case.program).program
        if made is case.program:
            continue
        check(serial(made, in_order=True))
        wanted, found = case.copies(), case.copies()
        run(case.program, wanted, case.extent)
        run(made, found, case.extent)
        for decl in made.buffers:
            assert not apart(decl.element, wanted[decl.name], found[decl.name]).size, seed


def test_what_is_proved_of_such_loads_still_holds():
    program = reducers.nearest.program
    facts = analyse(program)
    _, proved = in_order(program, facts)

    assert all(access.in_bounds is not None for access in facts.accesses)
    assert all(access.in_bounds is not None for access in proved.accesses)
