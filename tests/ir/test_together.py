"""Reductions that one walk over their rounds computes."""

from __future__ import annotations

from vyre.ir import DataType, Node, ReduceOp, load, reduce_, store, u32, var, yield_
from vyre.ir.build import let
from vyre.ir.serial import Together, together

ROUNDS = u32(8)


def total(name: str, *body: Node, rounds=ROUNDS, counter: str = "k") -> Node:
    return reduce_(name, ReduceOp.SUM, DataType.U32, counter, rounds=rounds, body=body)


def named(nodes: list[Node]) -> list[list[str]]:
    """The reductions of each walk."""
    groups = [one for one in together(nodes) if isinstance(one, Together)]
    return [[reduction.name for reduction in group.reductions] for group in groups]


def test_reductions_over_the_same_rounds_are_walked_once_whatever_they_call_their_counter():
    plain = yield_(load("x", var("k")))
    other = total("b", yield_(load("y", var("j"))), counter="j")

    assert named([total("a", plain), total("b", plain)]) == [["a", "b"]]
    assert named([total("a", plain), other]) == [["a", "b"]]


def test_one_that_takes_what_another_came_to_comes_behind_it():
    first = total("a", yield_(load("x", var("k"))))
    by_name = total("b", yield_(load("x", var("j")) + var("mean")), counter="j")

    assert named([first, let("mean", var("a") + 1), by_name]) == [["a"], ["b"]]
    assert named([first, total("b", yield_(var("a")))]) == [["a"], ["b"]]


def test_one_that_reads_what_is_stored_before_it_comes_behind_the_store():
    first = total("a", yield_(load("x", var("k"))))
    again = total("b", yield_(load("y", var("k"))))
    kept = store("y", 0, var("a"))

    assert named([first, kept, again]) == [["a"], ["b"]]
    assert named([first, store("z", 0, var("a")), again]) == [["a", "b"]]


def test_what_stands_between_comes_behind_in_its_order():
    first = total("a", yield_(load("x", var("k"))))
    long = total("b", yield_(load("x", var("k"))), rounds=u32(9))
    last = total("c", yield_(load("x", var("k"))))
    between = [let("m", var("a")), long, store("z", 0, var("m"))]

    (group,) = together([first, *between, last])

    assert isinstance(group, Together)
    assert [reduction.name for reduction in group.reductions] == ["a", "c"]
    assert list(group.others) == between
