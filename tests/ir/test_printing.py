"""Statements that say something: validity, text and bytes."""

import numpy as np
import pytest

from vyre import ir
from vyre.errors import WireError
from vyre.ir import DataType
from vyre.ir.node import Print
from vyre.ir.printing import line, prints, speaks, traps
from vyre.ir.structure import structural_hash

ME = ir.gid()


def program(*nodes: ir.Node) -> ir.Program:
    return ir.Program.wrapped([], (64, 1, 1), nodes)


SAYS = ir.print_("at ", (ME, DataType.U32), (ME * 2, DataType.U32, "4d"), "!\n")


def test_texts_stand_around_values():
    assert isinstance(SAYS, Print)
    assert (SAYS.texts, SAYS.formats) == (("at ", "", "!\n"), ("", "4d"))
    assert line(SAYS, [np.uint32(3), np.uint32(6)]) == "at 3   6!\n"
    assert ir.to_text(program(SAYS, ir.trap("odd", 3))).endswith(
        "  print \"at {gid(0)}{gid(0) * 2u32:4d}!\\n\"\n  trap 'odd' at 3u32\n"
    )


def test_what_speaks_is_known():
    both = program(ir.if_(ME < 3, [SAYS]), ir.trap("odd"))

    assert speaks(both)
    assert (prints(both), traps(both)) == ((SAYS,), (ir.trap("odd"),))
    assert not speaks(program(ir.let("a", ME)))


def test_bytes_come_back_as_they_were():
    found = program(SAYS, ir.print_(), ir.trap("odd"))

    assert ir.from_wire(found.to_wire()) == found.canonical()
    assert ir.validate(found) == ()


def test_every_truncation_is_refused():
    data = program(SAYS).to_wire()

    for end in range(len(data)):
        with pytest.raises(WireError):
            ir.from_wire(data[:end])


def test_another_text_is_another_program_and_a_renamed_value_the_same_structure():
    def says(name: str, text: str) -> ir.Program:
        return program(ir.let(name, ME), ir.print_(text, (ir.var(name), DataType.U32)))

    assert says("a", "x").fingerprint() != says("a", "y").fingerprint()
    assert structural_hash(says("a", "x")) == structural_hash(says("b", "x"))


@pytest.mark.parametrize(
    ("node", "problem", "fix"),
    [
        (
            Print(("a",), (ME,), (DataType.U32,), ("",)),
            "1 texts, 1 types and 1 formats for 1 values",
            "give a type and a format for each value, and one more text",
        ),
        (
            ir.print_((ME, DataType.F32)),
            "a value is u32, printed as f32",
            "print it as u32",
        ),
        (
            ir.print_((ME, DataType.U32, "s")),
            "no u32 is shown by format 's'",
            "use a format of Python's",
        ),
        (
            ir.print_((ir.var("nobody"), DataType.U32)),
            "no name 'nobody' here",
            "bind it with let before this statement",
        ),
    ],
)
def test_what_is_wrong_with_a_print_is_said(node: ir.Node, problem: str, fix: str):
    (found,) = ir.validate(program(node))

    assert (found.problem, found.fix) == (problem, fix)
