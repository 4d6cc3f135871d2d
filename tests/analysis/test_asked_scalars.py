"""Which whole numbers a launch depends on: those that a proof or a count of rounds may ask for."""

from dataclasses import dataclass, field

import pytest

import vyre
from vyre import In, Out, f32, i32, kernels, u32
from vyre.analysis import analyse
from vyre.runtime.call.kernel import Kernel
from vyre.runtime.devices.launcher import Numbers


@vyre.kernel
def data(x: In[f32], out: Out[f32], k: i32, n: u32):
    i = vyre.gid()
    j = n * 3
    if x[i] > f32(k):
        out[i] = f32(k) + f32(j)


@vyre.kernel
def shifted(x: In[f32], out: Out[f32], k: u32, n: u32):
    i = vyre.gid()
    out[i] = x[i + k * 2] * f32(n)


@vyre.kernel
def by_a_name(x: In[f32], out: Out[f32], k: u32, n: u32):
    i = vyre.gid()
    at = i * n
    out[i] = x[at] + f32(k)


@vyre.kernel
def rounds(x: In[f32], out: Out[f32], k: u32, n: u32):
    i = vyre.gid()
    total = f32(0)
    last = n + 1
    for j in range(last):
        total = total + x[i] * f32(j + k)
    out[i] = total


@vyre.kernel
def looked_up(x: In[f32], out: Out[f32], k: u32, n: u32):
    i = vyre.gid()
    for j in range(4):
        out[i * 4 + u32(j)] = x[i] + f32(n)
    if i == k:
        out[i] = 1.0


@pytest.mark.parametrize(
    ("kernel", "asked"),
    [(data, ""), (shifted, "k"), (by_a_name, "n"), (rounds, "n"), (looked_up, "k")],
    ids=lambda value: getattr(value, "name", value),
)
def test_numbers_that_reach_no_index_and_no_loop_are_data(kernel, asked):
    assert analyse(kernel.program).asked_scalars == frozenset(asked)


@dataclass(frozen=True, slots=True)
class Noting(Numbers):
    """The numbers of a launch, and which scalars were asked for."""

    asked: set = field(default_factory=set)

    def value(self, symbol):
        if symbol.kind == "scalar":
            self.asked.add(symbol.name)
        return Numbers.value(self, symbol)


BUNDLED = [one for one in vars(kernels).values() if isinstance(one, Kernel)]


@pytest.mark.parametrize("place", ["reference", "cpu"])
@pytest.mark.parametrize(
    "kernel", [data, shifted, by_a_name, rounds, looked_up, *BUNDLED], ids=lambda one: one.name
)
def test_nothing_else_is_asked_for_on_the_way_to_a_launch(kernel, place):
    device = vyre.open(place)
    launcher = kernel._dispatcher.launcher(device)
    params = kernel._translation.params
    shapes = {p.name: p.shape if p.count else (8,) * p.rank for p in params if p.role != "scalar"}
    whole = {p.name: 2 for p in params if p.role == "scalar" and p.dtype.is_int}
    extent = (8, 8 if kernel._translation.rank > 1 else 1, 8 if kernel._translation.rank > 2 else 1)
    numbers = Noting(extent, shapes, whole)
    alignment = dict.fromkeys(shapes, 64)

    launcher.workload(numbers, alignment)
    space = launcher.space(numbers, alignment)
    for schedule in list(space.legal)[:8]:
        launcher.prepare(numbers, alignment, schedule)

    assert numbers.asked <= launcher.facts.asked_scalars
