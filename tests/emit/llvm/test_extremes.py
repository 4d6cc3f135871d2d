"""The smaller and larger of a float and a constant, on every processor: NaN and zeros included."""

import numpy as np
import pytest

from vyre.ir.build import binary, gid, lit, load, store
from vyre.ir.expr import BinaryOp
from vyre.ir.types import DataType
from vyre.model import Code
from vyre.testing.by_hand import R, W, kernel

HOSTILE = [0.0, -0.0, 1.0, -1.0, np.nan, -np.nan, np.inf, -np.inf, 1e-45, -1e-45, 3.5]


@pytest.mark.parametrize("dtype", [DataType.F32, DataType.F64], ids=str)
def test_a_constant_on_either_side_gives_the_references_bits(run_cases, dtype):
    cases = []
    for end in (0.0, -0.0, 1.0, float("nan"), float("inf")):
        body = []
        for op in (BinaryOp.MIN, BinaryOp.MAX):
            here, fixed = load("x", gid()), lit(dtype, end)
            body.append(store(f"{op.name}_right", gid(), binary(op, here, fixed)))
            body.append(store(f"{op.name}_left", gid(), binary(op, fixed, here)))
        outs = [f"{op}_{side}" for op in ("MIN", "MAX") for side in ("right", "left")]
        arrays = {name: (W, dtype, np.zeros(len(HOSTILE))) for name in outs}
        cases.append(kernel(body, (len(HOSTILE), 1, 1), x=(R, dtype, HOSTILE), **arrays))

    run_cases(cases, [Code(), Code(vector=4)])
