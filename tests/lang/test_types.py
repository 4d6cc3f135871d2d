"""How values get their types."""

import math
from collections.abc import Callable
from enum import IntEnum

import numpy as np
import pytest

from vyre import lang
from vyre.ir import DataType
from vyre.ir.expr import Lit
from vyre.ir.node import Let, Loop, Store
from vyre.ir.walk import all_expressions, statements
from vyre.lang import In, InOut, Out, f16, f32, f64, i32, u8, u32

Run = Callable[..., None]
Translate = Callable[..., lang.Translation]

SCALE = 3
HALF = np.float32(0.5)
FACTORS = (2, 5)


class Level(IntEnum):
    HIGH = 7


def bound(found: lang.Translation, name: str) -> object:
    return next(
        node.value
        for node in statements(found.program.entry)
        if isinstance(node, Let) and node.name == name
    )


def loop(found: lang.Translation) -> Loop:
    return next(node for node in statements(found.program.entry) if isinstance(node, Loop))


def test_a_literal_takes_the_type_of_the_other_side(run: Run):
    def kernel(x: In[f64], n: In[u8], out: Out[f64], small: Out[u8]):
        i = lang.gid()
        out[i] = 2 * x[i] + 0.1
        small[i] = n[i] + 200

    out, small = np.zeros(2), np.zeros(2, np.uint8)
    run(
        kernel,
        shape=2,
        x=np.array([1.0, 2.0]),
        n=np.array([1, 100], np.uint8),
        out=out,
        small=small,
    )

    assert out.tolist() == [2.1, 4.1]
    assert small.tolist() == [201, 44]


def test_a_variable_of_literals_takes_the_type_it_meets(translate: Translate):
    def kernel(x: In[f64], out: Out[f64]):
        s = 0
        for k in range(4):
            s += x[k]
        out[0] = s

    assert bound(translate(kernel), "s") == Lit.of(DataType.F64, 0.0)


def test_a_variable_derived_from_another_pulls_it_along(translate: Translate):
    def kernel(x: In[f64], out: Out[f64]):
        s = 1
        t = s + 2
        out[0] = t + x[0]

    found = translate(kernel)

    assert bound(found, "s") == Lit.of(DataType.F64, 1.0)


def test_a_whole_variable_becomes_a_float_where_it_meets_a_fraction(translate: Translate):
    def kernel(out: Out[f32]):
        s = 1
        t = s * 0.5
        out[0] = t

    assert bound(translate(kernel), "s") == Lit.of(DataType.F32, 1.0)


def test_a_variable_that_meets_no_type_is_i32_or_f32(translate: Translate):
    def kernel(out: Out[f32]):
        n = 3
        r = 0.5
        b = True
        if n > 2 and b:
            out[0] = f32(r)

    found = translate(kernel)

    assert bound(found, "n") == Lit.of(DataType.I32, 3)
    assert bound(found, "r") == Lit.of(DataType.F32, 0.5)
    assert bound(found, "b") == Lit.of(DataType.BOOL, True)


def test_a_range_counts_in_the_type_it_is_used_with(translate: Translate):
    def with_gid(x: In[f32], out: Out[f32]):
        i = lang.gid()
        s = 0
        for k in range(9):
            s += x[i + k]
        out[i] = s

    def alone(x: In[f32], out: Out[f32]):
        s = 0
        for k in range(9):
            s += x[k]
        out[0] = s

    assert loop(translate(with_gid)).stop == Lit.of(DataType.U32, 9)
    assert loop(translate(alone)).stop == Lit.of(DataType.I32, 9)


def test_two_loops_may_count_in_different_types_under_one_name(translate: Translate):
    def kernel(x: In[f32], n: In[i32], out: Out[f32]):
        i = lang.gid()
        s = 0
        for k in range(3):
            s += x[i + k]
        for k in range(-3, 0):
            s += f32(n[0] + k)
        out[i] = s

    found = translate(kernel)
    loops = [node for node in statements(found.program.entry) if isinstance(node, Loop)]

    assert [(node.var, str(node.start.dtype)) for node in loops] == [("k", "u32"), ("k", "i32")]


def test_a_stored_choice_of_literals_takes_the_element_type(run: Run):
    def kernel(x: In[f32], out: Out[u8]):
        i = lang.gid()
        out[i] = 1 if x[i] > 0 else 0

    out = np.zeros(3, np.uint8)
    run(kernel, shape=3, x=np.array([-1, 1, 2], np.float32), out=out)

    assert out.tolist() == [0, 1, 1]


def test_an_annotation_fixes_a_variables_type(run: Run):
    def kernel(x: In[f32], out: Out[f64]):
        s: f64 = 0
        for k in range(len(x)):
            s += f64(x[k])
        out[0] = s

    out = np.zeros(1)
    run(kernel, x=np.full(10, 0.1, np.float32), out=out)

    assert out[0] == np.full(10, 0.1, np.float32).astype(np.float64).cumsum()[-1]


def test_half_floats_are_computed_in_f32(run: Run):
    def kernel(x: In[f16], out: Out[f16]):
        i = lang.gid()
        v = x[i]
        out[i] = v * v + 0.1

    x = np.array([1.5, 100.0], np.float16)
    out = np.zeros(2, np.float16)
    run(kernel, shape=2, x=x, out=out)

    wide = x.astype(np.float32)
    assert out.tolist() == (wide * wide + np.float32(0.1)).astype(np.float16).tolist()


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("u32(-1)", 0xFFFF_FFFF),
        ("u32(f32(3.9))", 3),
        ("u32(1e20)", 0xFFFF_FFFF),
        ("u32(i8(200) + 0 < 0)", 1),
        ("u32(math.nan)", 0),
        ("u32(bool_(5))", 1),
        ("u32(f16(0.1) == 0.0999755859375)", 1),
        ("u32(bf16(1.00390625) == 1)", 1),
        ("u32(vyre.isinf(f32(10**400)) and vyre.isinf(f32(-(10**400))))", 1),
        ("u32(u8(x[0]))", 44),
        ("u32(f32(x[0]) / 7)", 42),
        ("u32(x[0] > 3)", 1),
    ],
)
def test_a_cast_converts_as_the_ir_says(
    call: str, expected: int, written: Callable[..., Callable[..., None]], run: Run
):
    kernel = written(f"def kernel(x: In[u32], out: Out[u32]):\n    out[0] = {call}\n", math=math)
    out = np.zeros(1, np.uint32)

    run(kernel, x=np.array([300], np.uint32), out=out)

    assert out[0] == expected


def test_numbers_from_around_the_kernel_are_literals(run: Run):
    near = 4

    def kernel(out: Out[f64]):
        out[0] = SCALE * near + HALF + Level.HIGH + math.tau + np.pi + FACTORS[1]

    out = np.zeros(1)
    run(kernel, out=out)

    assert out[0] == 3 * 4 + 0.5 + 7 + math.tau + math.pi + 5


def test_numbers_known_beforehand_are_computed_as_python_does(translate: Translate):
    def kernel(out: Out[f64]):
        out[0] = (7 // -2) % 5 + 2**10 / 3 - (1 << 4) * math.sqrt(2)

    found = translate(kernel)
    store = next(node for node in statements(found.program.entry) if isinstance(node, Store))

    assert store.value == Lit.of(DataType.F64, (7 // -2) % 5 + 2**10 / 3 - 16 * math.sqrt(2))


def test_a_constant_condition_leaves_the_other_branch_out(translate: Translate):
    debug = False

    def kernel(out: Out[f32]):
        if debug:
            out[0] = undefined  # noqa: F821  # never looked at
        elif SCALE == 3:
            out[0] = 1 if not debug else undefined  # noqa: F821  # never looked at

    nodes = [type(node).__name__ for node in statements(translate(kernel).program.entry)]

    assert nodes == ["Region", "Store"]


def test_lengths_and_shapes_are_numbers(run: Run):
    def kernel(x: In[f32, 2], w: In[f32, (2, 3)], v: In[f32], out: Out[u32]):
        out[0] = len(x)
        out[1] = x.shape[1]
        out[2] = x.size
        out[3] = len(v)
        out[4] = w.shape[1] + len(w) * w.ndim

    out = np.zeros(5, np.uint32)
    x = np.zeros((4, 6), np.float32)
    run(kernel, x=x, w=np.zeros((2, 3), np.float32), v=x.ravel()[:5].copy(), out=out)

    assert out.tolist() == [4, 6, 24, 5, 7]


def test_unsigned_division_is_the_plain_one(translate: Translate):
    def kernel(x: In[u32], n: In[i32], out: Out[u32], more: Out[i32]):
        out[0] = x[0] // 3 + x[0] % 3
        more[0] = n[0] // 3 + n[0] % 3

    ops = [
        expr.op.name
        for expr in all_expressions(translate(kernel).program.entry)
        if hasattr(expr, "op")
    ]

    assert ops == ["ADD", "DIV", "MOD", "ADD", "FLOOR_DIV", "FLOOR_MOD"]


def test_a_power_evaluates_its_base_once(translate: Translate):
    def kernel(c: InOut[u32], out: Out[u32]):
        out[0] = lang.atomic_add(c, 0, 1) ** 4

    names = [
        node.name for node in statements(translate(kernel).program.entry) if isinstance(node, Let)
    ]

    assert names == ["old_value", "square"]
