"""Programs whose author names workgroups: on the wire, in text, and for one of them."""

from dataclasses import replace

import pytest

from vyre.errors import InvalidInput, WireError
from vyre.ir.among import compiled_for, declared_for, program_for, size_in, workgroups_of
from vyre.ir.declare import BufferDecl, Named, Options
from vyre.ir.decode import from_wire
from vyre.ir.expr import Binary, BinaryOp, BufDim, BufLen, Id, IdKind, Lit, Load, Var
from vyre.ir.node import Let, Store
from vyre.ir.program import Program
from vyre.ir.structure import exact_hash
from vyre.ir.text import to_text
from vyre.ir.types import DataType
from vyre.ir.validate import validate

U32 = DataType.U32
SMALL, LARGE = (8, 2, 1), (16, 4, 1)
SIZE = Id(IdKind.WORKGROUP_SIZE, 0)


def named(*among: Named) -> Program:
    buffers = [
        BufferDecl.write("out", 0, U32),
        BufferDecl.workgroup("line", 8, U32),
        BufferDecl.workgroup("tile", 16, U32).with_shape(2, 8),
        BufferDecl.workgroup("fixed", 4, U32),
    ]
    body = [
        Let("n", Binary(BinaryOp.ADD, SIZE, BufLen("line"))),
        Store("tile", BufDim("tile", 1), BufDim("line", 0)),
        Store("out", Lit.of(U32, 0), BufLen("out")),
    ]
    return Program.wrapped(buffers, SMALL, body, Options(among=among))


FAMILY = named(
    Named(SMALL, (("line", (8,)), ("tile", (2, 8)))),
    Named(LARGE, (("line", (16,)), ("tile", (4, 16)))),
)


def test_it_is_written_and_read():
    assert validate(FAMILY) == ()
    assert from_wire(FAMILY.to_wire()) == FAMILY.canonical()
    assert from_wire(FAMILY.to_wire()).options == FAMILY.options
    assert FAMILY.fingerprint() != named().fingerprint()
    assert exact_hash(FAMILY) != exact_hash(named())


def test_its_text_names_them():
    first = to_text(FAMILY).splitlines()[0]

    assert first == (
        "program workgroup (8, 2, 1) among (8, 2, 1) with line[8] tile[2, 8], "
        "(16, 4, 1) with line[16] tile[4, 16]"
    )
    alone = to_text(named(Named(SMALL), Named(LARGE))).splitlines()[0]
    assert alone == "program workgroup (8, 2, 1) among (8, 2, 1), (16, 4, 1)"


def test_the_program_of_one_has_its_sizes_as_numbers():
    made = program_for(FAMILY, LARGE)

    assert made is program_for(FAMILY, LARGE) is compiled_for(FAMILY, LARGE)
    assert validate(made) == ()
    assert made.workgroup_size == LARGE
    assert made.options.among == ()
    assert made.buffer("tile").shape == (4, 16)
    assert (made.buffer("line").count, made.buffer("fixed").count) == (16, 4)
    sixteen = Lit.of(U32, 16)
    assert made.entry[0].body == (
        Let("n", Binary(BinaryOp.ADD, sixteen, sixteen)),
        Store("tile", sixteen, sixteen),
        Store("out", Lit.of(U32, 0), BufLen("out")),
    )


def test_what_is_declared_for_one_keeps_its_very_statements():
    assert declared_for(FAMILY, LARGE).entry is FAMILY.entry
    assert workgroups_of(FAMILY) == (SMALL, LARGE)
    assert workgroups_of(named()) == ()
    assert compiled_for(FAMILY, None) is FAMILY
    assert compiled_for(plain := named(), SMALL) is plain


def test_a_workgroup_that_is_not_named_is_refused():
    with pytest.raises(InvalidInput) as caught:
        program_for(FAMILY, (4, 4, 4))
    assert str(caught.value) == (
        "workgroup (4, 4, 4) of a program that is for (8, 2, 1), (16, 4, 1)\nFix: use one of these"
    )
    with pytest.raises(InvalidInput, match=r"that is for \(8, 2, 1\) alone"):
        declared_for(named(), LARGE)


@pytest.mark.parametrize(
    ("among", "problem"),
    [
        ((Named(LARGE), Named(SMALL)), "the first is not as the program declares it"),
        ((Named(SMALL, (("line", (9,)),)),), "the first is not as the program declares it"),
        ((Named(SMALL, (("out", (9,)),)),), "the first is not as the program declares it"),
        ((Named(SMALL), Named(SMALL)), "a workgroup that is named twice"),
        ((Named(SMALL), Named((0, 1, 1))), "workgroup (0, 1, 1)"),
        ((Named(SMALL), Named(LARGE, (("line", (9,)),))), "workgroups of different arrays"),
        (
            (Named(SMALL, (("line", (8,)),)), Named(LARGE, (("line", (0,)),))),
            "'line' of extents (0,)",
        ),
        ((Named(SMALL, (("line", (8,)),)), Named(LARGE, (("line", ()),))), "'line' of extents ()"),
    ],
)
def test_what_names_them_wrongly_is_a_problem(among, problem):
    assert problem in [one.problem for one in validate(named(*among))]


def test_a_damaged_record_is_refused():
    data = FAMILY.to_wire()
    one = (2).to_bytes(4, "little") + (8).to_bytes(4, "little")  # two are named, of which the first
    at = data.index(one)
    with pytest.raises(WireError):
        from_wire(data[:at] + bytes(4) + data[at + 4 :])
    rank = data.index(b"line\x01", at) + 4
    with pytest.raises(WireError):
        from_wire(data[:rank] + b"\x04" + data[rank + 1 :])


def test_sizes_are_reckoned_in_a_workgroup():
    shapes = {"tile": (2, 8)}
    twice = Binary(BinaryOp.MUL, SIZE, Lit.of(U32, 2))

    assert size_in(twice, LARGE) == 32
    assert size_in(BufLen("tile"), SMALL, shapes) == 16
    assert size_in(BufDim("tile", 1), SMALL, shapes) == 8
    assert size_in(Var("n"), SMALL, known={"n": twice}) == 16
    assert size_in(Var("n"), SMALL, known={"n": Var("n")}) is None
    assert size_in(Binary(BinaryOp.ADD, SIZE, Var("n")), SMALL) is None
    assert size_in(Load("tile", SIZE), SMALL, shapes) is None
    assert size_in(BufLen("out"), SMALL, shapes) is None


def test_the_same_numbers_are_another_program_where_none_are_named():
    assert replace(FAMILY, options=Options()) != FAMILY
