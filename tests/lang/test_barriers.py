"""Kernels in which lanes wait for each other: what is accepted, and what is refused at its line."""

import numpy as np
import pytest

import vyre
from vyre import lang
from vyre.errors import LanguageError
from vyre.lang import In, Out, f32, u32

HEAD = """def kernel(x: In[f32], y: In[u32], z: InOut[f32], n: u32):
    tile = vyre.shared(f32, 64)
    cell = vyre.shared(u32, 4)
    i = vyre.gid()
    lane = vyre.local_id()
    group = vyre.workgroup_id()
"""
FIRST = HEAD.count("\n") + 1


def body(*lines: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in lines)


BETWEEN = "put the barrier outside of it, and keep inside what only some lanes do"
ROUNDS = (
    "let all lanes make the same rounds, by what they share (constants, scalars, sizes, "
    "workgroup_id), and put what only some do under an if without a barrier in it"
)
RETURNS = (
    "let every lane go on to the last barrier, and put what only some do under an if without a "
    "barrier in it"
)
BEYOND = "lanes beyond the last element load 0 and store nowhere"
UNSETTLED = "put a barrier between the line that reads cell and those that write it"

DIVERGENT = {
    # what, lines, the line of the barrier, why, the way out
    "a return of lanes beyond the array": (
        ["if i >= len(x):", "    return", "vyre.barrier()"],
        "some return at line 8, which goes by gid",
        f"leave that return out: {BEYOND}",
    ),
    "a return of lanes beyond the array, the other way round": (
        ["if not i < x.size:", "    return", "vyre.barrier()"],
        "some return at line 8, which goes by gid",
        f"leave that return out: {BEYOND}",
    ),
    "a condition that keeps lanes inside the array": (
        ["if i < len(x):", "    vyre.barrier()"],
        "it is inside the if of line 7, which goes by gid",
        f"leave the condition out: {BEYOND}",
    ),
    "a condition that keeps lanes inside the dispatch": (
        ["last = vyre.extent()", "if i < last:", "    vyre.barrier()"],
        "it is inside the if of line 8, which goes by gid",
        f"leave the condition out: {BEYOND}",
    ),
    "a return of lanes beyond a number": (
        ["if i >= n:", "    return", "vyre.barrier()"],
        "some return at line 8, which goes by gid",
        RETURNS,
    ),
    "a return by data": (
        ["if x[i] < 0:", "    return", "vyre.barrier()"],
        "some return at line 8, which goes by gid",
        RETURNS,
    ),
    "a return somewhere before": (
        ["if n > 2:", "    if lane == 3:", "        return", "s = x[i]", "vyre.barrier()"],
        "some return at line 9, which goes by local_id",
        RETURNS,
    ),
    "a return in a loop before": (
        ["for k in range(n):", "    if lane == k:", "        return", "vyre.barrier()"],
        "some return at line 9, which goes by local_id",
        RETURNS,
    ),
    "a return in a later round": (
        ["for k in range(4):", "    vyre.barrier()", "    if lane == k:", "        return"],
        "some return at line 10, which goes by local_id",
        RETURNS,
    ),
    "an if": (
        ["if lane < 3:", "    vyre.barrier()"],
        "it is inside the if of line 7, which goes by local_id",
        BETWEEN,
    ),
    "an else": (
        ["if lane < 3:", "    z[i] = 1", "else:", "    vyre.barrier()"],
        "it is inside the if of line 7, which goes by local_id",
        BETWEEN,
    ),
    "an if inside one that all take": (
        ["if n > 3:", "    if x[i] > 0:", "        vyre.barrier()"],
        "it is inside the if of line 8, which goes by gid",
        BETWEEN,
    ),
    "an if that all take inside one that some do": (
        ["if x[i] > 0:", "    if n > 3:", "        vyre.barrier()"],
        "it is inside the if of line 7, which goes by gid",
        BETWEEN,
    ),
    "and": (
        ["if n > 3 and x[i] > 0:", "    vyre.barrier()"],
        "it is inside the if of line 7, which goes by gid",
        BETWEEN,
    ),
    "a conditional": (
        ["s = 1 if lane > 3 else 2", "if s > 1:", "    vyre.barrier()"],
        "it is inside the if of line 8, which goes by local_id",
        BETWEEN,
    ),
    "select": (
        ["s = vyre.select(n > 3, 1.0, x[i])", "if s > 1:", "    vyre.barrier()"],
        "it is inside the if of line 8, which goes by gid",
        BETWEEN,
    ),
    "a number that branches give": (
        ["s = 0", "if lane > 3:", "    s = 1", "if s > 0:", "    vyre.barrier()"],
        "it is inside the if of line 10, which goes by local_id",
        BETWEEN,
    ),
    "a number that both branches give": (
        ["if lane > 3:", "    s = 1", "else:", "    s = 2", "if s > 1:", "    vyre.barrier()"],
        "it is inside the if of line 11, which goes by local_id",
        BETWEEN,
    ),
    "what an atomic returns": (
        ["s = vyre.atomic_add(cell, 0, 1)", "if s > 0:", "    vyre.barrier()"],
        "it is inside the if of line 8, which goes by what an atomic on cell returns",
        BETWEEN,
    ),
    "an atomic in a condition": (
        ["if n > 0 and vyre.atomic_add(cell, 0, 1) > 0:", "    vyre.barrier()"],
        "it is inside the if of line 7, which goes by what an atomic on cell returns",
        BETWEEN,
    ),
    "an array that the kernel writes": (
        ["z[i] = 1", "if z[0] > 0:", "    vyre.barrier()"],
        "it is inside the if of line 8, which goes by z, which the kernel writes",
        BETWEEN,
    ),
    "a loop of as many rounds as each lane likes": (
        ["for k in range(y[i]):", "    vyre.barrier()"],
        "it is inside the loop of line 7, whose rounds go by gid",
        ROUNDS,
    ),
    "a loop that starts where each lane likes": (
        ["for k in range(lane, 64):", "    vyre.barrier()"],
        "it is inside the loop of line 7, whose rounds go by local_id",
        ROUNDS,
    ),
    "a while loop": (
        ["s = y[i]", "while s > 0:", "    vyre.barrier()", "    s -= 1"],
        "it is inside the loop of line 8, whose rounds go by gid",
        ROUNDS,
    ),
    "a while loop whose condition varies from the second round on": (
        ["s = n", "while s > 0:", "    vyre.barrier()", "    s = y[i]"],
        "it is inside the loop of line 8, whose rounds go by gid",
        ROUNDS,
    ),
    "a number that varies from the second round on": (
        ["s = n", "for k in range(4):", "    if s > 2:", "        vyre.barrier()", "    s += lane"],
        "it is inside the if of line 9, which goes by local_id",
        BETWEEN,
    ),
    "numbers that hand it on from round to round": (
        [
            "a = n",
            "b = n",
            "c = n",
            "for k in range(4):",
            "    if a > 2:",
            "        vyre.barrier()",
            "    a = b",
            "    b = c",
            "    c = lane",
        ],
        "it is inside the if of line 11, which goes by local_id",
        BETWEEN,
    ),
    "a sum of a loop that lanes leave at their own time": (
        ["s = 0", "for k in range(y[i]):", "    s += 1", "if s > 2:", "    vyre.barrier()"],
        "it is inside the if of line 10, which goes by gid",
        BETWEEN,
    ),
    "a number of the round in which lanes broke out": (
        [
            "s = 0",
            "for k in range(9):",
            "    s = k",
            "    if k == lane:",
            "        break",
            "if s > 2:",
            "    vyre.barrier()",
        ],
        "it is inside the if of line 12, which goes by local_id",
        BETWEEN,
    ),
    "a number of the round that lanes skipped": (
        [
            "s = 0",
            "for k in range(9):",
            "    if s > 0:",
            "        vyre.barrier()",
            "    if lane == 0:",
            "        s = 1",
            "        continue",
            "    s = 0",
        ],
        "it is inside the if of line 9, which goes by local_id",
        BETWEEN,
    ),
    "a number from before they broke out": (
        [
            "s = n",
            "for k in range(9):",
            "    s = lane",
            "    if n > k:",
            "        break",
            "    s = n",
            "if s > 2:",
            "    vyre.barrier()",
        ],
        "it is inside the if of line 13, which goes by local_id",
        BETWEEN,
    ),
    "a return in a loop in an if": (
        [
            "if n > 2:",
            "    for k in range(n):",
            "        if lane == k:",
            "            return",
            "vyre.barrier()",
        ],
        "some return at line 10, which goes by local_id",
        RETURNS,
    ),
    "a break": (
        ["for k in range(4):", "    if y[i] > k:", "        break", "    vyre.barrier()"],
        "some leave the loop at line 9, which goes by gid",
        ROUNDS,
    ),
    "a break after the barrier": (
        ["for k in range(4):", "    vyre.barrier()", "    if y[i] > k:", "        break"],
        "some leave the loop at line 10, which goes by gid",
        ROUNDS,
    ),
    "a continue": (
        ["for k in range(4):", "    if y[i] > k:", "        continue", "    vyre.barrier()"],
        "some skip it at line 9, which goes by gid",
        ROUNDS,
    ),
    "workgroup memory at a place of one's own": (
        ["if cell[lane] > 0:", "    vyre.barrier()"],
        "it is inside the if of line 7, which goes by local_id",
        BETWEEN,
    ),
    "workgroup memory that is written before the next barrier": (
        ["if lane == 0:", "    cell[0] = y[i]", "if cell[0] > 0:", "    vyre.barrier()"],
        "it is inside the if of line 9, which goes by cell, which lanes write between the same two "
        "barriers",
        UNSETTLED,
    ),
    "workgroup memory that is written after it is read": (
        ["s = cell[0]", "cell[0] = 1", "if s > 0:", "    vyre.barrier()"],
        "it is inside the if of line 9, which goes by cell, which lanes write between the same two "
        "barriers",
        UNSETTLED,
    ),
    "workgroup memory that the next round writes": (
        [
            "for k in range(4):",
            "    vyre.barrier()",
            "    if cell[0] > 2:",
            "        break",
            "    vyre.atomic_add(cell, 0, 1)",
        ],
        "some leave the loop at line 10, which goes by cell, which lanes write between the same "
        "two barriers",
        UNSETTLED,
    ),
    "workgroup memory that only the next round writes": (
        [
            "for k in range(4):",
            "    vyre.atomic_add(cell, 0, 1)",
            "    vyre.barrier()",
            "    if cell[0] > 2:",
            "        break",
        ],
        "some leave the loop at line 11, which goes by cell, which lanes write between the same "
        "two barriers",
        UNSETTLED,
    ),
    "workgroup memory that the other branch writes": (
        [
            "s = 0",
            "if lane == 0:",
            "    s = cell[0]",
            "else:",
            "    cell[0] = 1",
            "if s > 0:",
            "    vyre.barrier()",
        ],
        "it is inside the if of line 12, which goes by local_id",
        BETWEEN,
    ),
}


@pytest.mark.parametrize("what", DIVERGENT)
def test_a_barrier_that_not_all_lanes_reach_is_refused_at_its_line(written, what):
    lines, why, fix = DIVERGENT[what]
    line = next(n for n, text in enumerate(lines, FIRST) if text.strip() == "vyre.barrier()")

    with pytest.raises(LanguageError) as refused:
        vyre.kernel(workgroup=64)(written(body(*lines)))

    assert str(refused.value) == (
        f"<cell 0>:{line}: not every lane of a workgroup reaches this barrier: {why}\n"
        f"    vyre.barrier()\n    ^^^^^^^^^^^^^^\nFix: {fix}"
    )


UNIFORM = {
    "nothing around it": ["vyre.barrier()"],
    "a constant": ["if 3 > 2:", "    vyre.barrier()"],
    "a scalar": ["if n > 2:", "    vyre.barrier()"],
    "a scalar and sizes": ["for k in range(n + len(x) + vyre.extent()):", "    vyre.barrier()"],
    "the workgroup": ["if group % 2 == 0:", "    vyre.barrier()"],
    "the size of the workgroup": ["if vyre.workgroup_size() > 32:", "    vyre.barrier()"],
    "a load at a uniform place": ["if x[group] > 0:", "    vyre.barrier()"],
    "a load at a place that is loaded": ["for k in range(y[y[group]]):", "    vyre.barrier()"],
    "a return of all": ["if n > 2:", "    return", "vyre.barrier()"],
    "a return after the last one": ["vyre.barrier()", "if i >= len(x):", "    return"],
    "a break of all": [
        "for k in range(n):",
        "    if y[k] > 2:",
        "        break",
        "    vyre.barrier()",
    ],
    "a continue of all": [
        "for k in range(n):",
        "    if k == 2:",
        "        continue",
        "    vyre.barrier()",
    ],
    "a break out of an inner loop": [
        "for k in range(n):",
        "    for j in range(4):",
        "        if lane == j:",
        "            break",
        "    vyre.barrier()",
    ],
    "a continue of an inner loop": [
        "for k in range(n):",
        "    for j in range(4):",
        "        if lane == j:",
        "            continue",
        "        z[i] = 1",
        "    vyre.barrier()",
    ],
    "lanes that meet again after an if": [
        "if lane < 3:",
        "    z[i] = 1",
        "else:",
        "    z[i] = 2",
        "vyre.barrier()",
    ],
    "lanes that meet again after a loop": [
        "for k in range(y[i]):",
        "    z[i] += 1",
        "vyre.barrier()",
    ],
    "a name that held something else before": [
        "s = u32(lane)",
        "z[i] = f32(s)",
        "s = n",
        "while s > 0:",
        "    vyre.barrier()",
        "    s -= 1",
    ],
    "a name that holds something else after": [
        "s = n",
        "if s > 2:",
        "    vyre.barrier()",
        "s = lane",
        "z[i] = f32(s)",
    ],
    "a name of another scope": [
        "for k in range(4):",
        "    s = lane",
        "    z[i] += f32(s)",
        "for k in range(4):",
        "    s = n",
        "    if s > 2:",
        "        vyre.barrier()",
    ],
    "a flag that is read between two barriers": [
        "going = True",
        "while going:",
        "    vyre.barrier()",
        "    if x[i] > 0:",
        "        cell[0] = 1",
        "    vyre.barrier()",
        "    going = cell[0] > 0",
        "    vyre.barrier()",
        "    cell[0] = 0",
    ],
    "what a reduction found": [
        "tile[lane] = x[i]",
        "vyre.barrier()",
        "stride = 32",
        "while stride > 0:",
        "    if lane < stride:",
        "        tile[lane] += tile[lane + stride]",
        "    vyre.barrier()",
        "    stride //= 2",
        "if tile[0] > 0:",
        "    vyre.barrier()",
    ],
}


@pytest.mark.parametrize("what", UNIFORM)
def test_a_barrier_that_all_lanes_reach_is_accepted(written, what):
    vyre.kernel(workgroup=64)(written(body(*UNIFORM[what])))


def test_along_an_axis_of_one_lane_all_agree(written):
    lines = ["row = vyre.gid(0)", "if row >= n:", "    return", "vyre.barrier()"]
    kernel = written(body(*lines).replace("i = vyre.gid()", "i = vyre.gid(1)"))

    vyre.kernel(workgroup=(1, 64))(kernel)
    with pytest.raises(LanguageError, match="some return at line 9, which goes by gid"):
        vyre.kernel(workgroup=(2, 32))(kernel)


def test_a_barrier_in_a_function_is_refused_at_its_own_line(written):
    function = (
        "@vyre.function\ndef wait(limit):\n    if vyre.local_id() < limit:\n"
        "        vyre.barrier()\n"
    )

    with pytest.raises(LanguageError) as refused:
        vyre.kernel(workgroup=64)(written(function + body("wait(3)")))

    assert str(refused.value) == (
        "<cell 0>:4: not every lane of a workgroup reaches this barrier: it is inside the if of "
        "line 3, which goes by local_id\n    vyre.barrier()\n    ^^^^^^^^^^^^^^\n"
        f"    called from <cell 0>:11\nFix: {BETWEEN}"
    )


def test_a_function_that_returns_early_lets_no_lane_go(written):
    function = (
        "@vyre.function\ndef wait(limit):\n    if vyre.local_id() < limit:\n        return\n"
        "    vyre.barrier()\n"
    )

    with pytest.raises(
        LanguageError, match="it is inside the if of line 3, which goes by local_id"
    ):
        vyre.kernel(workgroup=64)(written(function + body("wait(3)")))


MEETING = {
    "a neighbour's element": (
        ["tile[lane] = x[i]", "z[i] = tile[lane ^ 1]"],
        "lane 0 reads tile[1] here, which lane 1 writes at line 7, and no barrier is between them",
        "put a barrier between the two, where all lanes come by",
    ),
    "the element of the lane before": (
        ["tile[lane] = x[i]", "if lane > 0:", "    z[i] = tile[lane - 1]"],
        "lane 1 reads tile[0] here, which lane 0 writes at line 7, and no barrier is between them",
        "put a barrier between the two, where all lanes come by",
    ),
    "one lane writes and all read": (
        ["if lane == 0:", "    tile[5] = x[i]", "z[i] = tile[5]"],
        "lane 1 reads tile[5] here, which lane 0 writes at line 8, and no barrier is between them",
        "put a barrier between the two, where all lanes come by",
    ),
    "a write after a read": (
        ["s = tile[lane ^ 1]", "tile[lane] = s"],
        "lane 0 writes tile[0] here, which lane 1 reads at line 7, and no barrier is between them",
        "put a barrier between the two, where all lanes come by",
    ),
    "a read and a write in one line": (
        ["tile[lane] = tile[63 - lane]"],
        "lane 0 writes tile[0] here, which lane 63 reads here too, and no barrier is between them",
        "read into a variable, put a barrier after it, and write then",
    ),
    "all lanes write one element": (
        ["tile[0] = x[i]"],
        "lane 0 writes tile[0] here and lane 63 writes it here too, and nothing says which of them "
        "is last",
        "let one lane write it, under an if, or use an atomic",
    ),
    "two lanes write one element": (
        ["if lane == 3:", "    cell[0] = 1", "if lane == 4:", "    cell[0] = 2"],
        "lane 4 writes cell[0] here and lane 3 writes it at line 8, and nothing says which of them "
        "is last",
        "let one lane write it, under an if, or use an atomic",
    ),
    "a counter that is read at once": (
        ["vyre.atomic_add(cell, 0, 1)", "z[i] = f32(cell[0])"],
        "lane 0 reads cell[0] here, which lane 63 changes at line 7, and no barrier is between "
        "them",
        "put a barrier between the two, where all lanes come by",
    ),
    "a counter that is cleared at once": (
        ["if lane == 0:", "    cell[0] = 0", "vyre.atomic_add(cell, 0, 1)"],
        "lane 1 changes cell[0] here, which lane 0 writes at line 8, and no barrier is between "
        "them",
        "put a barrier between the two, where all lanes come by",
    ),
    "the round before": (
        [
            "for k in range(n):",
            "    tile[lane] = x[i + k]",
            "    vyre.barrier()",
            "    z[i] += tile[63 - lane]",
        ],
        "lane 0 writes tile[0] here, which lane 63 reads at line 10 in the round before, and no "
        "barrier is between them",
        "put a barrier at the end of the loop",
    ),
    "a reduction without barriers": (
        [
            "tile[lane] = x[i]",
            "vyre.barrier()",
            "s = 32",
            "while s > 0:",
            "    if lane < s:",
            "        tile[lane] += tile[lane + s]",
            "    s //= 2",
        ],
        "lane 0 reads tile[16] here, which lane 16 writes here too in the round before, and no "
        "barrier is between them",
        "put a barrier at the end of the loop",
    ),
    "a branch that all take": (
        ["if n > 3:", "    tile[lane] = x[i]", "    z[i] = tile[lane ^ 1]"],
        "lane 0 reads tile[1] here, which lane 1 writes at line 8, and no barrier is between them",
        "put a barrier between the two, where all lanes come by",
    ),
}


@pytest.mark.parametrize("what", MEETING)
def test_a_barrier_that_is_missing_for_certain_is_asked_for(written, what):
    lines, problem, fix = MEETING[what]

    with pytest.raises(LanguageError) as refused:
        vyre.kernel(workgroup=64)(written(body(*lines)))

    first, *_, last = str(refused.value).splitlines()
    assert first.partition(": ")[2] == problem
    assert last == f"Fix: {fix}"


APART = {
    "one's own element": ["tile[lane] = x[i]", "z[i] = tile[lane]"],
    "a barrier between": ["tile[lane] = x[i]", "vyre.barrier()", "z[i] = tile[lane ^ 1]"],
    "the same number from all": ["cell[0] = 7", "z[i] = f32(cell[0])"],
    "the same number from some": ["if x[i] > 0:", "    cell[0] = 1", "vyre.barrier()"],
    "the same number, written twice": ["cell[0] = 7", "cell[0] = n", "vyre.barrier()"],
    "the same number by its place": ["tile[lane // 2] = f32(lane // 2)", "vyre.barrier()"],
    "the same choice by its place": [
        "tile[lane // 2] = 1 if lane // 2 > 3 else 2",
        "vyre.barrier()",
    ],
    "the same element of an array": ["tile[lane // 2] = x[lane // 2]", "vyre.barrier()"],
    "one lane alone": ["if lane == 0:", "    cell[0] = y[i]", "    z[i] = f32(cell[0])"],
    "the same one lane": [
        "if lane == 0:",
        "    cell[0] = 1",
        "if lane == 0:",
        "    z[i] = f32(cell[0])",
    ],
    "elements beyond the memory": ["tile[lane + 64] = x[i]", "z[i] = tile[lane + 65]"],
    "two atomics": ["vyre.atomic_add(cell, 0, 1)", "vyre.atomic_max(cell, 0, lane)"],
    "another memory": ["tile[lane] = x[i]", "z[i] = f32(cell[0])"],
    "a side that is not taken": [
        "tile[lane] = x[i]",
        "z[i] = tile[lane] if lane < 64 else tile[0]",
    ],
    "a side of and that is not taken": [
        "cell[lane] = 1",
        "if lane > 99 and cell[0] > 0:",
        "    z[i] = 1",
    ],
    "a part each": [
        "tile[lane] = x[i]",
        "if lane < 32:",
        "    z[i] = tile[lane]",
        "else:",
        "    tile[lane] = 0",
    ],
    "lanes that nobody knows": ["if x[i] > 0:", "    tile[0] = x[i]", "z[i] = tile[0]"],
    "places that nobody knows": ["tile[y[i]] = x[i]", "z[i] = tile[lane]"],
}


@pytest.mark.parametrize("what", APART)
def test_what_may_be_right_is_not_called_a_missing_barrier(written, what):
    vyre.kernel(workgroup=64)(written(body(*APART[what])))


def test_memory_that_no_workgroup_has_is_refused_at_its_line_and_not_counted_through(written):
    with pytest.raises(LanguageError) as refused:
        vyre.kernel(workgroup=64)(written(body("large = vyre.shared(f32, 10**12)")))
    vyre.kernel(workgroup=64)(
        written(body("large = vyre.shared(f32, 10**7)", "large[lane] = x[i]", "z[i] = large[0]"))
    )

    assert "1,000,000,000,000 elements of workgroup memory; 16,777,216 allowed" in str(
        refused.value
    )


def test_a_workgroup_of_one_lane_meets_nobody(written):
    vyre.kernel(workgroup=1)(written(body("tile[0] = x[i]", "z[i] = tile[0]")))


@vyre.kernel(workgroup=(16, 16))
def tiled_product(a: In[f32, 2], b: In[f32, 2], out: Out[f32, 2]):
    left = vyre.shared(f32, 256)
    right = vyre.shared(f32, 256)
    i, j = vyre.gid(0), vyre.gid(1)
    y, x = vyre.local_id(0), vyre.local_id(1)
    total = 0
    for tile in range((a.shape[1] + 15) // 16):
        left[16 * y + x] = a[i, 16 * tile + x]
        right[16 * y + x] = b[16 * tile + y, j]
        vyre.barrier()
        for k in range(16):
            total += left[16 * y + k] * right[16 * k + x]
        vyre.barrier()
    out[i, j] = total


@vyre.kernel(workgroup=128)
def block_sums(x: In[u32], out: Out[u32]):
    cells = vyre.shared(u32, 128)
    lane = vyre.local_id()
    cells[lane] = x[vyre.gid()]
    vyre.barrier()
    stride = 64
    while stride > 0:
        if lane < stride:
            cells[lane] += cells[lane + stride]
        vyre.barrier()
        stride //= 2
    if lane == 0:
        out[vyre.workgroup_id()] = cells[0]


@vyre.kernel(workgroup=128)
def block_scan(x: In[u32], out: Out[u32]):
    cells = vyre.shared(u32, 128)
    lane = vyre.local_id()
    cells[lane] = x[vyre.gid()]
    vyre.barrier()
    offset = 1
    while offset < 128:
        value = cells[lane]
        if lane >= offset:
            value += cells[lane - offset]
        vyre.barrier()
        cells[lane] = value
        vyre.barrier()
        offset *= 2
    out[vyre.gid()] = cells[lane]


@vyre.kernel(workgroup=64)
def work_efficient_scan(x: In[u32], out: Out[u32]):
    cells = vyre.shared(u32, 128)
    lane = vyre.local_id()
    base = 128 * vyre.workgroup_id()
    cells[2 * lane] = x[base + 2 * lane]
    cells[2 * lane + 1] = x[base + 2 * lane + 1]
    offset = 1
    width = 64
    while width > 0:
        vyre.barrier()
        if lane < width:
            cells[offset * (2 * lane + 2) - 1] += cells[offset * (2 * lane + 1) - 1]
        offset *= 2
        width //= 2
    if lane == 0:
        cells[127] = 0
    width = 1
    while width < 128:
        offset //= 2
        vyre.barrier()
        if lane < width:
            left = offset * (2 * lane + 1) - 1
            right = offset * (2 * lane + 2) - 1
            before = cells[left]
            cells[left] = cells[right]
            cells[right] += before
        width *= 2
    vyre.barrier()
    out[base + 2 * lane] = cells[2 * lane]
    out[base + 2 * lane + 1] = cells[2 * lane + 1]


@pytest.fixture
def reference():
    return vyre.open("reference")


def test_the_usual_kernels_of_workgroups_are_accepted_and_right(reference):
    chance = np.random.default_rng(1)
    a, b = (chance.integers(0, 9, (40, 40)).astype(np.float32) for _ in range(2))
    x = chance.integers(0, 9, 256).astype(np.uint32)

    product = np.asarray(tiled_product(*(reference.array(m) for m in (a, b))))
    sums = reference.zeros(2, np.uint32)
    block_sums(reference.array(x), out=sums, shape=256)
    scanned = np.asarray(block_scan(reference.array(x)))
    exclusive = reference.zeros(256, np.uint32)
    work_efficient_scan(reference.array(x), out=exclusive, shape=128)

    assert (product == a @ b).all()
    assert np.asarray(sums).tolist() == x.reshape(2, 128).sum(1).tolist()
    assert (scanned.reshape(2, 128) == x.reshape(2, 128).cumsum(1)).all()
    assert (np.asarray(exclusive) + x == x.reshape(2, 128).cumsum(1).reshape(-1)).all()


def test_a_translation_knows_where_its_statements_are_written(written):
    found = lang.translate(written(body("vyre.barrier()", "z[i] = 1")), workgroup=64)
    *_, waits, stores = found.program.entry[0].body

    assert [found.places.of(node).line for node in (waits, stores)] == [7, 8]
    assert found.places.of(found.program.entry[0]) is None
