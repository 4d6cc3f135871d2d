"""A share of the soak: generated programs, workgroups and functions on every processor."""

from dataclasses import replace
from random import Random

import pytest

from vyre.analysis.barriers import check_barriers
from vyre.ir.validate import check
from vyre.testing.function_cases import defined, function_case
from vyre.testing.groups import generate_group
from vyre.testing.launches import Subject, draw, runs_here
from vyre.testing.programs import generate

FEW = 10


def ways_of(cases):
    subjects = [Subject(replace(case, ulp={})) for case in cases]  # the bits of the definitions
    return [(subject, draw(subject, Random(seed))) for seed, subject in enumerate(subjects)]


def test_generated_programs_give_the_bits_of_the_reference(run_ways):
    run_ways(ways_of(generate(Random(seed), 16) for seed in range(FEW)))


def test_workgroups_give_the_bits_of_the_reference(run_ways):
    run_ways(ways_of(generate_group(Random(seed), 16) for seed in range(FEW)))


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_functions_give_the_bits_of_their_definitions(run_ways, dtype):
    known = [(op, kind) for op, kind in defined() if str(kind) == dtype]
    some = Random(dtype).sample(known, 3)

    run_ways(ways_of(function_case(op, kind, Random(7), 500) for op, kind in some))


def test_generated_workgroups_are_valid_and_reach_their_barriers_together():
    for seed in range(200):
        program = generate_group(Random(seed)).program
        check(program)
        check_barriers(program)


def test_a_processor_runs_what_its_flags_list():
    flags = "flags : sse4_2 popcnt avx2 fma f16c bmi2"

    assert runs_here("v2", flags)
    assert runs_here("v3", flags)
    assert not runs_here("v4", flags)
    assert not runs_here("aarch64", flags)
