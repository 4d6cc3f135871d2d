"""What a definition is made of."""

import re
from pathlib import Path

import pytest

from vyre.ir.accuracy import ULP_BOUND
from vyre.ir.expr import Binary, BinaryOp, Bitcast, Cast, Fma, Lit, Select, Unary, UnaryOp, Var
from vyre.ir.functions import ULP, definition
from vyre.ir.node import Assign, If, Let, While
from vyre.ir.types import DataType
from vyre.ir.typing import Scope, type_of
from vyre.ir.walk import all_expressions, expressions, statements

EXACT = {BinaryOp.MOD, BinaryOp.FLOOR_MOD, BinaryOp.FLOOR_DIV, BinaryOp.COPYSIGN}
FLOATS = (DataType.F32, DataType.F64)
ALL = sorted(ULP, key=lambda key: (key[0].name, str(key[1])))


def named(key):
    return f"{key[0].name.lower()}-{key[1]}"


def test_every_function_that_devices_round_differently_is_defined_for_both_floats():
    assert set(ULP) == {(op, dtype) for op in set(ULP_BOUND) | EXACT for dtype in FLOATS}
    assert all(ULP[op, dtype] == 0 for op in EXACT for dtype in FLOATS)
    assert all(0.5 <= ULP[op, dtype] <= 2 for op in ULP_BOUND for dtype in FLOATS)


def test_what_every_device_rounds_alike_has_no_definition():
    for op in (UnaryOp.SQRT, UnaryOp.FLOOR, BinaryOp.ADD, BinaryOp.DIV):
        assert definition(op, DataType.F32) is None
    assert definition(BinaryOp.MOD, DataType.U32) is None


def test_a_definition_is_made_once():
    assert definition(UnaryOp.EXP, DataType.F32) is definition(UnaryOp.EXP, DataType.F32)


@pytest.mark.parametrize("key", ALL, ids=named)
def test_a_definition_has_no_memory_and_no_functions_inside(key):
    found = definition(*key)
    nodes, parts = list(statements(found.body)), list(all_expressions(found.body))

    assert {type(node) for node in nodes} <= {Let, Assign, If, While}
    assert {type(part) for part in parts} <= {Binary, Bitcast, Cast, Fma, Lit, Select, Unary, Var}
    assert not {part.op for part in parts if isinstance(part, Binary | Unary)} & set(ULP_BOUND)


@pytest.mark.parametrize("key", ALL, ids=named)
def test_every_part_of_a_definition_has_one_type(key):
    op, dtype = key
    found = definition(op, dtype)
    names = dict.fromkeys(found.parameters, dtype)
    problems = []

    def checked(expr):
        return type_of(expr, Scope(names, {}), problems.append)

    for node in statements(found.body):
        match node:
            case Let(name, value):
                assert name not in names
                names[name] = checked(value)
            case Assign(name, value):
                assert checked(value) == names[name]
            case If(cond, _, _) | While(cond, _):
                assert checked(cond) == DataType.BOOL

    assert checked(found.result) == dtype
    assert problems == []


@pytest.mark.parametrize("key", ALL, ids=named)
def test_no_statement_of_a_definition_is_idle(key):
    found = definition(*key)
    read = {part.name for part in all_expressions(found.body) if isinstance(part, Var)}
    read |= {part.name for part in expressions(found.result) if isinstance(part, Var)}
    bound = {node.name for node in found.body if isinstance(node, Let)}

    assert bound <= read


def test_only_what_is_rare_is_behind_a_branch():
    branching = {
        op.name
        for op, dtype in ULP
        if any(isinstance(node, If | While) for node in definition(op, dtype).body)
    }

    assert branching == {"SIN", "COS", "TAN", "MOD", "FLOOR_MOD", "FLOOR_DIV"}


def test_the_guide_states_the_bounds():
    guide = Path(__file__).parents[3] / "docs" / "guide" / "language.md"
    rows = re.findall(r"^\| (`.+?`) \| ([\d.]+) \| ([\d.]+) \| (\d+) \|$", guide.read_text(), re.M)
    stated = {
        name: (float(single), float(double), int(across))
        for names, single, double, across in rows
        for name in re.findall(r"`(\w+)`", names)
    }

    assert stated == {
        op.name.lower(): (ULP[op, DataType.F32], ULP[op, DataType.F64], bound)
        for op, bound in ULP_BOUND.items()
    }
