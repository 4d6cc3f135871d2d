"""Programs that race or depend on the launch shape are never taken for free."""

from math import prod
from random import Random

from hypothesis import given, settings

from vyre.analysis import analyse
from vyre.analysis.forms import Symbol
from vyre.ir.validate import validate
from vyre.testing.programs import generate
from vyre.testing.races import Racing, generate_racing, racing


class Numbers:
    def __init__(self, case) -> None:
        self.case = case

    def value(self, symbol: Symbol) -> int:
        match symbol.kind:
            case "extent":
                return self.case.extent[symbol.axis]
            case "len":
                return prod(self.case.arrays[symbol.name].shape)
            case "dim":
                return self.case.arrays[symbol.name].shape[symbol.axis]
            case _:
                return int(self.case.arrays[symbol.name][0])


def is_free(case) -> bool:
    return analyse(case.program).free_for(Numbers(case))


def test_every_kind_of_fault_is_refused():
    rng = Random(4)
    cases = [generate_racing(rng) for _ in range(800)]

    taken_for_free = {case.why for case in cases if is_free(case)}

    assert taken_for_free == set()
    assert len({case.why for case in cases}) > 55


@settings(max_examples=60)
@given(racing())
def test_a_faulty_program_is_refused(case: Racing):
    assert validate(case.program) == ()
    assert not is_free(case)


def test_the_programs_that_the_faults_are_planted_in_are_mostly_free():
    """Otherwise the refusals above would prove nothing."""
    rng = Random(5)
    cases = [generate(rng, 12) for _ in range(200)]

    assert sum(is_free(case) for case in cases) > 120


def test_the_same_state_gives_the_same_program():
    first, second = generate_racing(Random(9)), generate_racing(Random(9))

    assert (first.program, first.extent, first.why) == (second.program, second.extent, second.why)
