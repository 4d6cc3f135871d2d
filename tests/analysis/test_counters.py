"""Arrays that are only added to: a workgroup may add up on its own first."""

import re

import pytest

import vyre
from vyre import In, InOut, Out, f32, i32, ir, kernels, u32
from vyre.analysis import analyse
from vyre.analysis.facts import MOST_COUNTED, MOST_COUNTERS
from vyre.emit import CUDA, OPENCL, emit
from vyre.ir.expr import AtomicOp
from vyre.model import Code


def counters(kernel):
    return dict(analyse(kernel.program).counters)


def test_an_array_that_is_only_added_to_counts():
    assert counters(kernels.histogram) == {"bins": 256}


def test_signed_counters_count_too():
    @vyre.kernel
    def balance(x: In[i32], sums: InOut[i32, (8,)]):
        vyre.atomic_add(sums, u32(x[vyre.gid()]) % 8, x[vyre.gid()])

    assert counters(balance) == {"sums": 8}


def test_not_where_a_sum_before_is_used():
    @vyre.kernel
    def places(x: In[u32], at: Out[u32], sums: InOut[u32, (8,)]):
        i = vyre.gid()
        at[i] = vyre.atomic_add(sums, x[i] % 8, 1)

    assert counters(places) == {}


def test_not_where_it_is_read_or_changed_otherwise():
    @vyre.kernel
    def read(x: In[u32], seen: Out[u32], sums: InOut[u32, (8,)]):
        i = vyre.gid()
        vyre.atomic_add(sums, x[i] % 8, 1)
        seen[i] = sums[0]

    @vyre.kernel
    def least(x: In[u32], sums: InOut[u32, (8,)]):
        i = vyre.gid()
        vyre.atomic_add(sums, x[i] % 8, 1)
        vyre.atomic_min(sums, 0, x[i])

    assert counters(read) == counters(least) == {}


def test_not_for_floats_whose_sums_depend_on_the_order():
    @vyre.kernel
    def weigh(x: In[f32], sums: InOut[f32, (8,)]):
        vyre.atomic_add(sums, 0, x[vyre.gid()])

    assert counters(weigh) == {}


def test_not_for_what_is_too_long_or_of_any_length():
    many = MOST_COUNTERS + 1

    @vyre.kernel
    def long(x: In[u32], sums: InOut[u32, (many,)]):
        vyre.atomic_add(sums, x[vyre.gid()], 1)

    @vyre.kernel
    def open_ended(x: In[u32], sums: InOut[u32]):
        vyre.atomic_add(sums, x[vyre.gid()], 1)

    assert counters(long) == counters(open_ended) == {}


@pytest.mark.parametrize(
    ("dialect", "items", "near"), [(CUDA, 4, True), (CUDA, 1, False), (OPENCL, 4, False)]
)
def test_workgroups_add_up_where_it_pays(dialect, items, near):
    program = kernels.histogram.program
    text = emit(program, Code(items=items, checked=False), dialect, analyse(program)).text

    assert ("near_bins" in text) is near


@pytest.mark.parametrize("arrays", [1, 4, 5, 7, 20])
@pytest.mark.parametrize("length", [3, 1000, 2048])
def test_all_counters_together_fit_a_workgroup(arrays, length):
    names = [f"sums{number}" for number in range(arrays)]
    buffers = [ir.BufferDecl.read("x", 0, ir.DataType.U32)]
    buffers += [
        ir.BufferDecl.read_write(name, 1 + number, ir.DataType.U32).with_count(length)
        for number, name in enumerate(names)
    ]
    add = [
        ir.let(f"was_{name}", ir.atomic(AtomicOp.ADD, name, ir.load("x", ir.gid()), ir.u32(1)))
        for name in names
    ]
    program = ir.Program.wrapped(buffers, (64, 1, 1), add)

    facts = analyse(program)

    fitting = min(arrays, MOST_COUNTED // length)
    assert facts.counters == dict.fromkeys(names[:fitting], length)
    source = emit(program, Code(items=4), CUDA, facts).text
    declared = [int(size) for size in re.findall(r"__shared__ u32 \w+\[(\d+)\]", source)]
    assert len(declared) == fitting
    assert 4 * sum(declared) <= 32 << 10
