"""How the work on a program grows: with its statements, whatever they share."""

from functools import partial

import pytest

from vyre import ir
from vyre.errors import WireError
from vyre.ir import BufferDecl, DataType, Program
from vyre.ir.structure import structural_hash
from vyre.ir.text import to_text
from vyre.ir.validate import check, validate
from vyre.ir.walk import MAX_DEPTH, MAX_PARTS, Size, size_of

BUFFERS = (BufferDecl.read("x", 0, DataType.U32), BufferDecl.write("out", 1, DataType.U32))


def program(*nodes: ir.Node) -> Program:
    return Program.wrapped(BUFFERS, (64, 1, 1), nodes)


def names(count: int) -> Program:
    lets = (ir.let(f"v{k}", ir.var(f"v{k - 1}") + ir.load("x", k)) for k in range(1, count))
    return program(ir.let("v0", ir.gid()), *lets)


def branches(count: int) -> Program:
    lets = (ir.let(f"v{k}", ir.load("x", k)) for k in range(count))
    ifs = (ir.if_(ir.gid().eq(k), [ir.store("out", k, ir.var(f"v{k}"))]) for k in range(count))
    return program(*lets, *ifs)


def loops(count: int) -> Program:
    inner = (ir.store("out", ir.var("k"), ir.load("x", ir.var("k"))),)
    return program(*(ir.loop("k", 0, 4, inner) for _ in range(count)))


def shared(levels: int) -> Program:
    """A tree of 2**levels leaves, made of three times as many objects as it has levels."""
    value = ir.var("a")
    for _ in range(levels):
        value = (value + 1) ^ (value + 2)
    return program(ir.let("a", ir.u32(1)), ir.let("b", value))


def shared_copies(levels: int) -> Program:
    *_, first = shared(levels).entry[0].body
    *_, second = shared(levels).entry[0].body
    return program(ir.let("a", ir.u32(1)), ir.let("b", first.value ^ second.value))


@pytest.mark.parametrize(
    "work",
    [check, structural_hash, to_text, lambda made: made.to_wire(), lambda made: made.canonical()],
)
@pytest.mark.parametrize("shape", [names, branches, loops])
def test_twice_the_statements_are_twice_the_work(lines_run, shape, work):
    small, large = shape(150), shape(300)

    less, more = (lines_run(partial(work, made)) for made in (small, large))

    assert more < 2.3 * less


def test_the_size_counts_levels_and_every_place_of_a_part():
    part = ir.var("a") + 1
    node = ir.if_(part < 2, [ir.let("b", part)])

    assert size_of([node]) == Size(depth=4, parts=10)
    assert size_of([node, ir.return_()]) == Size(depth=4, parts=11)
    assert size_of([]) == Size(depth=0, parts=0)


@pytest.mark.parametrize("shape", [shared, shared_copies])
def test_a_program_that_would_spell_out_as_too_much_is_refused_at_once(shape):
    made = shape(60)
    parts = size_of(made.entry).parts

    (found,) = validate(made)
    with pytest.raises(WireError) as refused:
        made.to_wire()

    assert (found.place, found.problem, found.fix) == (
        "entry",
        f"{parts} statements and expressions, shared ones counted wherever they stand; "
        f"{MAX_PARTS} allowed",
        "bind what is used again with let, and use loops",
    )
    assert str(refused.value) == (
        "more than 67108864 bytes; the wire format allows no more\n"
        "Fix: use loops, or split the program"
    )
    assert made.fingerprint() == shape(60).fingerprint() != shape(61).fingerprint()
    assert hash(made) == hash(shape(60))


def test_a_program_may_share_parts_as_long_as_it_is_not_too_much():
    check(shared(15))


def test_what_nests_far_too_deep_is_refused_and_never_a_recursion_error():
    value = ir.var("a")
    for _ in range(20_000):
        value = value + 1
    made = program(ir.let("a", ir.u32(1)), ir.let("b", value))

    (found,) = validate(made)

    assert found.problem == f"statements and expressions nest 20003 deep; {MAX_DEPTH} allowed"
    assert hash(made) == hash(made.fingerprint())
