"""Stores that no two invocations make alike, and the ones beside them that two do."""

import pytest

from vyre.ir.build import assign, buf_len, cast, gid, if_, let, load, select, store, u32, var
from vyre.ir.expr import Binary, BinaryOp
from vyre.ir.types import DataType

I = gid()  # noqa: E741  # as the kernels themselves write it
N = load("n", 0)


def put(index, value=I):
    return store("out", index, value)


def half(number):
    return number // u32(2)


def rest(number):
    return Binary(BinaryOp.MOD, number, u32(8))


@pytest.mark.parametrize(
    ("nodes", "good", "bad"),
    [
        ([put(I), put(I + buf_len("x"))], {"x": 50}, {"x": 49}),
        ([let("j", I), assign("j", var("j") * 2), put(var("j"))], {}, None),
        ([put((I // u32(8)) * 8 + rest(I))], {}, None),
        ([put(rest(I) * N + I // u32(8))], {"n": 7}, {"n": 6}),
        ([put(I ^ u32(5))], {}, None),
        ([put((I << u32(1)) | u32(1))], {}, None),
        ([put(cast(DataType.U64, I + 1))], {}, None),
        ([put(u32(0), load("x", 3))], {}, None),
        ([put(u32(0), N), if_(I.eq(2), [put(u32(1))]), if_(I.eq(3), [put(u32(2))])], {}, None),
        ([if_(half(N) > I, [put(I)], [put(I + half(N))])], {"n": 50}, None),
        ([let("j", I), if_(N < 9, [assign("j", u32(49) - I)]), put(var("j"))], {"n": 3}, None),
    ],
)
def test_invocations_that_stay_apart_are_free(facts, launch, nodes, good, bad):
    found = facts(*nodes)

    assert found.free
    assert found.free_for(launch(50, **good))
    assert bad is None or not found.free_for(launch(50, **bad))


@pytest.mark.parametrize(
    "nodes",
    [
        [put(I), put(I + buf_len("x") - 90)],
        [let("j", I), assign("j", half(var("j"))), put(var("j"))],
        [put((I // u32(8)) * 7 + rest(I))],
        [put(I | u32(1))],
        [put(cast(DataType.U8, I * 128))],
        [put(u32(0), load("x", I))],
        [put(u32(0), load("out", 3))],
        [put(u32(0), N), if_(I.eq(2), [put(u32(0))])],
        [if_(half(N) > I, [put(I)], [put(I - half(N))])],
        [put(select(I < 9, I, I - 9))],
        [if_(load("a", 0) < load("table", I), [put(u32(0), u32(1))], [put(u32(0), u32(2))])],
        [if_(load("a", 0) < load("table", I), [put(u32(0), N)], [put(u32(0), buf_len("x"))])],
    ],
)
def test_invocations_that_meet_are_not(facts, launch, nodes):
    assert not facts(*nodes).free_for(launch(50))


def test_an_index_that_wraps_around_at_2_to_the_32_is_not_free(facts, launch):
    odd = facts(put((I << u32(1)) | u32(1)))
    wide = facts(put(cast(DataType.U64, I + 1)))

    assert odd.free_for(launch(1 << 31))
    assert not odd.free_for(launch((1 << 31) + 1))
    assert wide.free_for(launch((1 << 32) - 1))
    assert facts(put(I), put(I + buf_len("x"))).free_for(launch(1 << 31, x=1 << 31))
    assert not facts(put(I), put(I + N)).free_for(launch(1 << 31, n=(1 << 31) + 1))
