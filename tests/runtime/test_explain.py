"""What a kernel says of itself stays short, however it was called."""

import numpy as np
import pytest

import vyre
from vyre import In, Out, f32, u32


@vyre.kernel
def scaled(x: In[f32], out: Out[f32], n: u32):
    i = vyre.gid()
    out[i] = x[i] * f32(n)


@vyre.kernel
def rounds(x: In[f32], out: Out[f32], n: u32):
    i = vyre.gid()
    total = 0.0
    for _ in range(n):
        total = total + x[i]
    out[i] = total


@pytest.fixture
def device():
    return vyre.open("reference")


def test_calls_that_differ_in_a_number_alone_are_explained_as_one(device):
    x = device.zeros(4, np.float32)
    for n in range(1000):
        scaled(x, n=n)

    (one,) = scaled.explain().workloads

    assert one.dispatches == 1000
    assert len(str(scaled.explain()).splitlines()) < 20


def test_the_workloads_called_most_are_shown_and_the_rest_are_counted(device):
    for size in range(1, 101):
        x = device.zeros(size, np.float32)
        for _ in range(1 + (size % 10 == 0)):
            rounds(x, n=1)

    said = str(rounds.explain())

    assert len(rounds.explain().workloads) == 100
    shown = [line for line in said.splitlines() if line.endswith("elements on reference:0")]
    assert shown == [f"{size} elements on reference:0" for size in range(10, 90, 10)]
    assert said.endswith(
        "\nand 92 more, called 94 times; explain(...) with a call's arguments tells of that call "
        "alone, and .workloads holds them all"
    )
    html = rounds.explain()._repr_html_()
    assert html.count("elements on") == 8
    assert "and 92 more, called 94 times" in html


def test_a_call_s_own_explanation_is_of_that_call_alone(device):
    for size in (3, 3000):
        scaled(device.zeros(size, np.float32), n=1)

    said = str(scaled.explain(device.zeros(3000, np.float32), n=1))

    assert "3,000 elements" in said
    assert " 3 elements" not in said


@vyre.kernel
def is_set(x: In[f32], yes: Out[u32]):
    i = vyre.gid()
    yes[i] = u32(x[i] != 0.0)


@vyre.kernel
def negated(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    if x[i] != 0.0:
        out[i] = -x[i]


def test_a_speculation_explains_the_latest_sizes_and_counts_the_others(device):
    search = vyre.speculate(prefilter=is_set, confirm=negated)
    for power in range(11):
        search(device.zeros(1 << power, np.float32))

    lines = search.explain().splitlines()

    assert len(lines) == 9
    assert "over about 1,024 items" in lines[0]
    assert lines[-1] == "and 3 more sizes, called before these"


@vyre.kernel
def summed(x: In[f32, 2], out: Out[f32]):
    h, w = x.shape
    out[0] = sum(sum(x[i, j] for j in range(w)) for i in range(h))


def test_what_runs_once_is_explained_by_the_elements_that_it_goes_over(device):
    summed(device.zeros((30, 100), np.float32))
    vyre.kernels.dot(*[device.zeros(4_000, np.float32)] * 2)

    assert "\n30 x 100 elements on reference:0\n" in str(summed.explain())
    assert "\n4,000 elements on reference:0\n" in str(
        vyre.kernels.dot.explain(*[device.zeros(4_000, np.float32)] * 2)
    )


def test_one_element_is_one(device):
    scaled(device.zeros(1, np.float32), n=1)

    assert "\n1 element on reference:0\n" in str(scaled.explain(device.zeros(1, np.float32), n=1))
