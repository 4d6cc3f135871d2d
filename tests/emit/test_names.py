"""No name of an author's ever meets one of ours or a compiler's."""

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.analysis import analyse
from vyre.emit import CUDA, OPENCL, emit
from vyre.emit.names import Kind, Names
from vyre.model import Code, Order
from vyre.testing.names import HOSTILE, ODD, hostile_names, renamed, variables_of
from vyre.testing.programs import grow

CODES = (
    Code(),
    Code(checked=False),
    Code(items=3, order=Order.BLOCKED),
    Code(items=4, vector=2, checked=False),
    Code(items=4, vector=4, unroll=4, checked=False),
)
OURS = frozenset(f"{kind}" for kind in Kind)
WORD = re.compile(r"[A-Za-z_]\w*")


def words(program, code, dialect):
    return WORD.findall(emit(program, code, dialect, analyse(program)).text)


def is_authors(word):
    """Whether a word of a source stands for something that the program names."""
    kind, underscore, _ = word.partition("_")
    return bool(underscore) and re.sub(r"\d+$", "", kind) in OURS


@pytest.mark.parametrize("dialect", [OPENCL, CUDA], ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("code", CODES, ids=str)
def test_what_a_program_is_called_changes_names_in_its_source_and_nothing_else(code, dialect):
    for seed in range(12):
        program = grow(Random(seed)).program
        variables = hostile_names(Random(seed), variables_of(program))
        buffers = hostile_names(Random(seed + 1), (decl.name for decl in program.buffers))

        plain = words(program, code, dialect)
        other = words(renamed(program, variables, buffers), code, dialect)

        pairs = set(zip(plain, other, strict=True))
        assert len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(pairs)
        assert all(a == b or (is_authors(a) and is_authors(b)) for a, b in pairs)


@given(
    st.lists(st.tuples(st.sampled_from(Kind), st.text(max_size=60), st.none() | st.integers(0, 9)))
)
def test_two_names_are_alike_in_c_only_if_they_are_in_the_program(wanted):
    names = Names()

    given_names = {key: names.of(*key) for key in wanted}

    assert len(set(given_names.values())) == len(given_names)
    assert all(re.fullmatch(r"[a-z]+\d*_[A-Za-z0-9_]*", name) for name in given_names.values())
    assert {key: names.of(*key) for key in wanted} == given_names


def test_a_name_in_c_begins_with_its_kind_and_is_short():
    made = [Names().of(Kind.VARIABLE, name) for name in (*HOSTILE, *ODD)]

    assert all(name.startswith("v_") and name.isascii() and len(name) <= 64 for name in made)
