"""Walking programs: each part where it belongs, whatever is shared and however deep it is."""

from vyre import ir
from vyre.ir.walk import post_order


def test_children_come_before_parents_and_each_object_once():
    shared = ir.var("a") + 1
    node = ir.if_(shared < 2, [ir.let("b", shared)])

    found = list(post_order([node, node]))

    assert len(found) == len({id(item) for item in found}) == 7
    assert found[-1] is node
    assert found.index(shared) < found.index(ir.let("b", shared))
