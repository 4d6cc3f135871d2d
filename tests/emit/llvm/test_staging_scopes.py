"""Loads that a panel's rows share: each belongs to the loop it stands in, whatever names are."""

import numpy as np
import pytest

from vyre.ir.build import (
    assign,
    block,
    break_,
    f32,
    flat_index,
    gid,
    if_,
    let,
    load,
    loop,
    store,
    u32,
    var,
)
from vyre.ir.types import DataType
from vyre.model import Code, Order
from vyre.testing.by_hand import R, W, kernel
from vyre.testing.launches import Subject, Way

F32 = DataType.F32
ROWS, COLUMNS, MOST = 24, 21, 15
OUT = flat_index("out", gid(1), gid(0))
PRODUCT = assign(
    "s",
    var("s")
    + load("a", flat_index("a", gid(1), var("k"))) * load("b", flat_index("b", var("k"), gid(0))),
)
TWICE = assign("s", var("s") + load("b", flat_index("b", var("k"), gid(0))) * f32(2))


def case(*body):
    """Statements that add to `s`, over arrays that no counter leaves."""
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(ROWS, MOST)), rng.normal(size=(MOST, COLUMNS))
    nodes = [let("s", f32(0)), *body, store("out", OUT, var("s"))]
    out = np.zeros((ROWS, COLUMNS))
    return kernel(nodes, (COLUMNS, ROWS, 1), a=(R, F32, a), b=(R, F32, b), out=(W, F32, out))


@pytest.mark.parametrize(
    "body",
    [
        (loop("k", u32(0), u32(15), [PRODUCT]), loop("k", u32(0), u32(4), [PRODUCT])),
        (loop("k", u32(0), u32(4), [PRODUCT]), loop("k", u32(0), u32(15), [PRODUCT])),
        (loop("k", u32(0), u32(15), [PRODUCT]), loop("k", u32(7), u32(15), [TWICE])),
        (
            block([let("n", u32(15)), loop("k", u32(0), var("n"), [PRODUCT])]),
            block([let("n", u32(3)), loop("k", u32(0), var("n"), [TWICE])]),
        ),
        (
            loop("k", u32(0), u32(15), [PRODUCT]),
            loop("k", u32(0), u32(15), [PRODUCT, if_(var("s") > f32(1), [break_()])]),
        ),
    ],
    ids=["shorter", "longer", "later", "other ends of one name", "left by some"],
)
def test_loops_of_one_name_are_two_loops(run_ways, body):
    code = Code(vector=4, rows=2, order=Order.BLOCKED, staged=True, checked=False)

    run_ways([(Subject(case(*body)), Way(code, (COLUMNS, ROWS, 1)))])
