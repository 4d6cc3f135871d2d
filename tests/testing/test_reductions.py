"""Reductions that are drawn: valid, of every kind, and the reference agrees with the model."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import given

import vyre
from vyre import ir
from vyre.backend import reference
from vyre.ir.node import If, Loop, Reduce, ReduceOp, While, Yield
from vyre.ir.unroll import written_out
from vyre.ir.walk import bodies, statements
from vyre.testing.compare import apart, codes_of, differences
from vyre.testing.programs import Case, generate, race_free
from vyre.testing.reductions import KINDS, Row, modelled, rows


@pytest.mark.parametrize("seed", range(8))
def test_the_reference_gives_the_models_bits(seed: int):
    """A share of what scripts/soak_reductions.py runs."""
    device = vyre.open("reference")
    cases = [modelled(row, Random(seed)) for row in rows(seed)]

    assert list(differences(device, cases, codes_of(device))) == []


def test_every_kind_is_drawn_for_every_seed():
    for seed in range(3):
        assert [(row.op, row.dtype) for row in rows(seed)] == list(KINDS)


def test_a_model_that_says_otherwise_is_a_difference():
    row = Row(op=ReduceOp.SUM, dtype=ir.DataType.U32, rounds=40, rows=3)
    case = modelled(row, Random(0))
    assert case.expected is not None
    wrong = case.expected["out"] + np.uint32([0, 1, 0])

    found = list(
        differences(
            vyre.open("reference"),
            [
                Case(
                    program=case.program,
                    arrays=case.arrays,
                    extent=case.extent,
                    expected={"out": wrong},
                )
            ],
        )
    )

    assert [(item.mismatch.buffer, item.mismatch.position) for item in found] == [("out", 1)]


def test_a_row_says_what_it_is():
    row = Row(op=ReduceOp.ARGMIN, dtype=ir.DataType.F32, rounds=33, rows=2, passes=0.7)

    assert str(row) == "argmin of f32, 2 rows of 33 rounds, 70% of them"


@given(race_free(reductions=True))
def test_a_program_with_reductions_is_valid_and_comes_back_from_its_bytes(case: Case):
    assert ir.validate(case.program) == ()
    assert any(isinstance(node, Reduce) for node in statements(case.program.entry))

    decoded = ir.from_wire(case.program.to_wire())

    assert decoded == case.program.canonical()
    assert decoded.fingerprint() == case.program.fingerprint()
    assert ir.validate(decoded) == ()


@given(race_free(reductions=True))
def test_a_program_that_is_written_out_or_canonical_computes_the_same(case: Case):
    expected = case.copies()
    reference.run(case.program, expected, case.extent)

    for program in (written_out(case.program), case.program.canonical()):
        ir.check(program)
        found = case.copies()
        reference.run(program, found, case.extent)
        for decl in case.program.buffers:
            assert not apart(decl.element, expected[decl.name], found[decl.name]).size


def test_what_is_drawn_has_reductions_in_all_places():
    drawn: Counter[str] = Counter()
    for seed in range(300):
        for node in statements(generate(Random(seed), reductions=True).program.entry):
            inside = [part for body in bodies(node) for part in statements(body)]
            if isinstance(node, Reduce):
                drawn[node.op.name] += 1
                drawn["nested"] += any(isinstance(part, Reduce) for part in inside)
                drawn["conditional"] += any(
                    isinstance(part, If) and any(isinstance(end, Yield) for end in part.then)
                    for part in inside
                )
                drawn["with a loop"] += any(isinstance(part, (Loop, While)) for part in inside)
            if isinstance(node, (Loop, While)):
                drawn["in a loop"] += any(isinstance(part, Reduce) for part in inside)

    wanted = {op.name for op in ReduceOp} | {"nested", "conditional", "with a loop", "in a loop"}
    assert {kind for kind, times in drawn.items() if times > 10} == wanted


def test_without_the_switch_nothing_else_is_drawn():
    """Seeds that were found and kept still mean what they meant."""
    programs = [generate(Random(seed)).program for seed in range(20)]

    assert not any(
        isinstance(node, (Reduce, Yield)) for made in programs for node in statements(made.entry)
    )
    digests = [made.fingerprint().hex()[:8] for made in programs[:4]]
    assert digests == ["39700ea9", "cf0bb559", "30d32e14", "d2c90b50"]
