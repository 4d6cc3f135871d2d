"""Workgroups whose lanes agree on where they go: what is one for all of them is done once."""

import numpy as np
import pytest

from vyre.analysis.barriers import check_barriers
from vyre.ir.build import (
    assign,
    barrier,
    block,
    gid,
    if_,
    let,
    load,
    local_id,
    loop,
    region,
    return_,
    store,
    u32,
    var,
    while_,
    workgroup_id,
)
from vyre.ir.declare import BufferDecl
from vyre.ir.types import DataType
from vyre.model import Code
from vyre.testing.by_hand import RW, K, kernel

U32 = DataType.U32
CODES = (Code(vector=4), Code(vector=16))
MORE = assign("count", var("count") + 1)
FILL = [store("tile", local_id(), gid()), barrier()]
LAST = [*FILL, store("out", gid(), load("tile", local_id() ^ u32(1)) + var("count") * 1000)]
LEAVE = if_(workgroup_id(0).eq(1), [return_()])
BODIES = {
    "in a block": [let("count", u32(0)), block([MORE]), *LAST],
    "in a region": [let("count", u32(0)), region("part", [MORE]), *LAST],
    "in a block of a loop with a barrier": [
        let("count", u32(0)),
        loop("turn", 0, 3, [block([MORE]), *FILL, barrier()]),
        *LAST,
    ],
    "under a test that all pass, in a loop that some workgroups return from": [
        let("count", u32(0)),
        while_(var("count") < 3, [LEAVE, if_(load("k", 0) > 0, [MORE]), *FILL, barrier()]),
        *LAST,
    ],
    "in a loop without a barrier, before one": [
        let("count", u32(0)),
        loop("turn", 0, 5, [MORE, if_(workgroup_id(0).eq(2), [return_()])]),
        *LAST,
    ],
}


@pytest.mark.parametrize("where", BODIES)
@pytest.mark.parametrize("shape", [(64, 1, 1), (7, 3, 1)])
def test_a_name_that_is_one_for_all_lanes_changes_once(run_cases, where, shape):
    lanes = shape[0] * shape[1]
    case = kernel(
        BODIES[where],
        (3 * shape[0] - 1, shape[1], 1),
        shape,
        shared=[BufferDecl.workgroup("tile", lanes, U32)],
        out=(RW, U32, np.zeros(3 * lanes)),
        k=(K, U32, [3]),
    )
    check_barriers(case.program)

    run_cases([case], CODES)
