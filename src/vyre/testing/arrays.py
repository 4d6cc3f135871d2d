"""Programs whose invocations have arrays of their own and look constants up."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from random import Random

from hypothesis import strategies as st

from vyre.ir.expr import Array, Binary, BinaryOp, Element, Expr, Lit, Put, Var
from vyre.ir.node import Assign, Let, Node
from vyre.ir.types import DataType
from vyre.testing.groups import _Group
from vyre.testing.names import hostile_names, renamed, variables_of
from vyre.testing.programs import COMPUTED, U32, Case, _Generator

_SHAPES = ((1,), (2,), (3,), (5,), (8,), (17,), (2, 3), (3, 1), (2, 2, 2))
_INDICES = (U32, U32, DataType.I32, DataType.U8, DataType.I64, DataType.U64)


def with_arrays(*, size: int = 24) -> st.SearchStrategy[Case]:
    """A strategy over race-free cases that use arrays of one invocation and tables."""
    return st.builds(generate_arrays, st.randoms(use_true_random=False), st.just(size))


def generate_arrays(rng: Random, size: int = 24, *, grouped: bool = False) -> Case:
    """One such case under names that others use too; the same state gives the same case.

    Where it is `grouped`, workgroups work together: arrays live from one barrier to the next.
    """
    case = (_Grouped if grouped else _Alone)(rng, size).case()
    program, names = case.program, Random(rng.getrandbits(32))
    variables = hostile_names(names, variables_of(program))
    buffers = hostile_names(names, (decl.name for decl in program.buffers))
    return replace(
        case,
        program=renamed(program, variables, buffers),
        arrays={buffers[name]: values for name, values in case.arrays.items()},
        ulp={buffers[name]: bound for name, bound in case.ulp.items()},
    )


class _Arrays(_Generator):
    """Adds declarations, changes and elements of arrays to what a program has."""

    def statement(self) -> Node:
        chance = self.rng.random()
        if chance < 0.15:
            self.left -= 1
            return self.new_array()
        held = self.arrays_here()
        if held and chance < 0.5:
            self.left -= 1
            name, dtype = self.rng.choice(held)
            if self.rng.random() < 0.1:
                return Assign(name, self.constants(dtype))
            value = self.expr(_element(dtype), 2)
            return Assign(name, Put(Var(name), self.indices(dtype.params), value))
        return super().statement()

    def new_array(self) -> Node:
        dtype = DataType.shaped(self.rng.choice(COMPUTED), self.rng.choice(_SHAPES))
        value = self.constants(dtype)
        name = self.new_name(dtype, "t")
        self.fixed.add(name)  # other statements give names one value, not one element
        return Let(name, value)

    def constants(self, dtype: DataType) -> Array:
        """Zeros, or zeros behind some other numbers."""
        element, shape = _element(dtype), dtype.params
        known = self.rng.choice((0, 0, self.rng.randint(0, prod(shape)), prod(shape)))
        bits = [self.literal_bits(element) if n < known else 0 for n in range(prod(shape))]
        values = [Lit(element, pattern).value for pattern in bits]
        return Array.of(element, shape, values)

    def literal_bits(self, dtype: DataType) -> int:
        if dtype.is_bool:
            return self.rng.getrandbits(1)
        if dtype.is_float:
            value = self.rng.choice((0.0, -0.0, 1.5, -2.25, 1e30, float("inf"), self.rng.random()))
            return Lit.of(dtype, value).bits
        return self.rng.getrandbits(dtype.bits)

    def arrays_here(self) -> list[tuple[str, DataType]]:
        named = [pair for scope in self.names for pair in scope.items()]
        return [(name, dtype) for name, dtype in named if dtype.is_shaped]

    def indices(self, shape: tuple[int, ...]) -> tuple[Expr, ...]:
        return tuple(self.index_along(extent) for extent in shape)

    def index_along(self, extent: int) -> Expr:
        """A literal inside or just outside, a small number, or any."""
        rng, dtype = self.rng, self.rng.choice(_INDICES)
        kind = rng.random()
        if kind < 0.3:
            return Lit.of(dtype, rng.randint(0, extent))
        found = self.expr(dtype, 1)
        if kind < 0.85:
            return Binary(BinaryOp.FLOOR_MOD, found, Lit.of(dtype, extent + rng.randint(0, 1)))
        return found + Lit.of(dtype, 0)  # no program may have a literal below 0 there

    def expr(self, dtype: DataType, depth: int) -> Expr:
        if depth > 0 and self.rng.random() < 0.2:
            held = [(name, t) for name, t in self.arrays_here() if t.element == dtype]
            if held and self.rng.random() < 0.8:
                name, whole = self.rng.choice(held)
                return Element(Var(name), self.indices(whole.params))
            if self.rng.random() < 0.3:
                whole = DataType.shaped(dtype, self.rng.choice(_SHAPES))
                return Element(self.constants(whole), self.indices(whole.params))
        return super().expr(dtype, depth)


class _Alone(_Arrays):
    """Invocations on their own."""


class _Grouped(_Arrays, _Group):
    """Workgroups that work together."""


def _element(dtype: DataType) -> DataType:
    assert dtype.element is not None, "an array has elements"
    return dtype.element
