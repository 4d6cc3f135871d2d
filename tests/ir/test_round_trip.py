"""Laws of the wire form over generated programs."""

from hypothesis import given

from vyre import ir
from vyre.ir.structure import structural_hash
from vyre.testing.programs import Case, race_free


@given(race_free())
def test_a_generated_program_is_valid(case: Case):
    assert ir.validate(case.program) == ()


@given(race_free())
def test_what_is_decoded_is_the_canonical_program(case: Case):
    decoded = ir.from_wire(case.program.to_wire())

    assert decoded == case.program.canonical()
    assert decoded.to_wire() == case.program.to_wire()
    assert decoded.fingerprint() == case.program.fingerprint()


@given(race_free())
def test_the_canonical_form_is_its_own_canonical_form(case: Case):
    canonical = case.program.canonical()

    assert canonical.canonical() == canonical


@given(race_free())
def test_the_structural_hash_does_not_see_the_workgroup(case: Case):
    other = case.program.with_workgroup_size((3, 1, 1))

    assert structural_hash(other) == structural_hash(case.program)
    assert other.fingerprint() != case.program.fingerprint()
