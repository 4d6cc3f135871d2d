"""What a fast_math kernel calls on CUDA, and what stays exact."""

import inspect
import re

import numpy as np
import pytest

from vyre import ir
from vyre.analysis import analyse
from vyre.emit import CUDA, OPENCL, emit
from vyre.emit.approximate import approximate, normal, quicker_quotient
from vyre.emit.helpers import Helpers
from vyre.ir import BufferDecl, DataType, Options, Program
from vyre.ir.accuracy import ULP_BOUND
from vyre.ir.expr import Binary, BinaryOp, Lit, Unary, UnaryOp
from vyre.kernels import gelu, nbody
from vyre.lang import translate
from vyre.model import Code

F32, F64 = DataType.F32, DataType.F64
X = ir.load("x", ir.gid())
OWN = {
    UnaryOp.RECIPROCAL: "rcp.approx.f32",
    UnaryOp.SQRT: "sqrt.approx.f32",
    UnaryOp.INVERSE_SQRT: "rsqrt.approx.f32",
    UnaryOp.EXP2: "ex2.approx.f32",
    UnaryOp.LOG2: "lg2.approx.f32",
    UnaryOp.SIN: "sin.approx.f32",
    UnaryOp.COS: "cos.approx.f32",
    UnaryOp.TANH: "tanh.approx.f32",
    BinaryOp.DIV: "div.full.f32",
}
COMPOSED = {
    UnaryOp.EXP: {"ex2.approx.f32"},
    UnaryOp.LOG: {"lg2.approx.f32"},
    UnaryOp.LOG10: {"lg2.approx.f32"},
    UnaryOp.TAN: {"sin.approx.f32", "cos.approx.f32", "div.full.f32"},
    BinaryOp.POW: {"ex2.approx.f32", "lg2.approx.f32"},
}
WANTED = {op: {instruction} for op, instruction in OWN.items()} | COMPOSED


def applied(op, *values):
    return Unary(op, values[0]) if isinstance(op, UnaryOp) else Binary(op, *values[:2])


def program_of(op, dtype=F32, *, fast_math=True) -> Program:
    """`op` of elements, of a loop's variable and of a literal."""
    k, literal = ir.cast(dtype, ir.var("k")), ir.lit(dtype, 0.3)
    stores = [
        ir.store("out", ir.gid() * 2, applied(op, X, k)),
        ir.store("out", ir.gid() * 2 + 1, applied(op, k, literal + X)),
    ]
    return Program.wrapped(
        [BufferDecl.read("x", 0, dtype), BufferDecl.write("out", 1, dtype)],
        (64, 1, 1),
        [ir.loop("k", 0, 9, stores)],
        Options(fast_math=fast_math),
    )


def text_of(program, dialect=CUDA, code=None):
    return emit(program, code or Code(), dialect, analyse(program)).text


@pytest.mark.parametrize("op", WANTED, ids=lambda op: op.name.lower())
def test_a_function_is_made_of_the_devices_instructions(op):
    found = set(re.findall(r'asm\("(\S+) ', text_of(program_of(op))))

    assert found == WANTED[op]


@pytest.mark.parametrize("op", WANTED, ids=lambda op: op.name.lower())
@pytest.mark.parametrize(
    "code",
    [Code(unroll=4), Code(items=2), Code(items=2, checked=False)],
    ids=["unroll", "items", "unchecked"],
)
def test_what_may_be_constant_is_hidden_from_an_approximate_function(op, code):
    program = program_of(op)

    body = emit(program, code, CUDA, analyse(program)).body

    calls = re.findall(rf"\bfast_{op.name.lower()}_f32\((.*)\)", body)
    if isinstance(op, UnaryOp):  # of an element, and of a counter
        elements = [call for call in calls if "p_x[" in call or "row_x" in call]
        assert elements
        assert all(("hide_f32(" in call) == code.checked for call in elements)
        counters = [call for call in calls if call not in elements]
        assert counters
        assert all(call.startswith("hide_f32(") for call in counters)
    else:  # of both: all of it is hidden where part of it may be constant
        assert len(calls) >= 2
        assert all(call.startswith("hide_f32(") and call.count("hide_f32(") >= 2 for call in calls)


LEAST = 2.0**-126
V = ir.var("v")


@pytest.mark.parametrize(
    "value",
    [
        ir.f32(LEAST),
        ir.f32(float("inf")),
        ir.f32(1e-4) + X * X,
        X * X + ir.f32(1e-4),
        ir.unary(UnaryOp.ABS, X) + ir.f32(1),
        (X * X + V * V) + ir.f32(LEAST),
        ir.fma(X, X, ir.f32(LEAST)),
        ir.fma(X, X, ir.fma(V, V, ir.f32(1))),
        ir.fma(X, X, V * V) + ir.f32(1),
        ir.f32(1) + ir.f32(0.0),
    ],
    ids=str,
)
def test_a_sum_of_squares_and_a_normal_number_is_normal(value):
    assert normal(Helpers(CUDA), UnaryOp.INVERSE_SQRT, value) == "fast_inverse_sqrt_f32_normal"


@pytest.mark.parametrize(
    "value",
    [
        X,
        V,
        X * X,
        ir.f32(0.0),
        ir.f32(-1.0),
        ir.f32(float("nan")),
        ir.f32(2.0**-127),
        X + ir.f32(1),
        X * V + ir.f32(1),
        X * X - ir.f32(1),
        X * X + ir.f32(2.0**-127),
        X * X + ir.f32(-1.0),
        ir.f32(-1.0) + ir.f32(1.0),
        ir.fma(X, V, ir.f32(1)),
        ir.fma(X, X, ir.f32(0)),
        ir.fma(X, X, V),
        ir.unary(UnaryOp.ABS, X),
        ir.select(X < 1.0, ir.f32(1), ir.f32(2)),
    ],
    ids=str,
)
def test_what_may_be_subnormal_or_negative_is_not_taken_for_normal(value):
    assert normal(Helpers(CUDA), UnaryOp.INVERSE_SQRT, value) is None


def test_only_some_functions_have_a_way_for_normal_numbers_and_on_cuda_alone():
    value = X * X + ir.f32(1)
    ops = {op for op in UnaryOp if normal(Helpers(CUDA), op, value) is not None}

    assert ops == set(CUDA.approximate_normal)
    assert UnaryOp.INVERSE_SQRT in ops
    assert not any(normal(Helpers(OPENCL), op, value) for op in UnaryOp)


def test_a_normal_argument_is_hidden_where_it_may_be_constant():
    root = ir.unary(UnaryOp.INVERSE_SQRT, ir.f32(0.3) + ir.f32(0.4))
    program = Program.wrapped(
        [BufferDecl.write("out", 0, F32)],
        (64, 1, 1),
        [ir.store("out", ir.gid(), root)],
        Options(fast_math=True),
    )

    assert "fast_inverse_sqrt_f32_normal(hide_f32(0.3f + 0.4f, zero))" in text_of(program)


@pytest.mark.parametrize("op", [*WANTED, *ULP_BOUND], ids=lambda op: op.name.lower())
def test_nothing_is_approximate_without_fast_math_or_in_f64_or_elsewhere(op):
    assert "asm(" not in text_of(program_of(op, fast_math=False))
    assert "asm(" not in text_of(program_of(op, F64))
    assert "asm(" not in text_of(program_of(op), OPENCL)


OTHERS = [op for op in ULP_BOUND if op not in WANTED]


@pytest.mark.parametrize("op", OTHERS, ids=lambda op: op.name.lower())
def test_a_function_without_an_instruction_is_called_as_ever(op):
    body = re.compile(r"^extern .*", re.S | re.M)
    fast, exact = text_of(program_of(op)), text_of(program_of(op, fast_math=False))

    assert body.findall(fast) == body.findall(exact)


def test_whole_quotients_and_remainders_of_floats_stay_exact():
    for op in (BinaryOp.FLOOR_DIV, BinaryOp.FLOOR_MOD, BinaryOp.MOD):
        assert "asm(" not in text_of(program_of(op))


@pytest.mark.parametrize("kernel", [gelu, nbody], ids=lambda kernel: kernel.name)
def test_the_source_of_a_fast_kernel_is_as_reviewed(kernel, golden):
    fast = translate(inspect.unwrap(kernel), fast_math=True)

    golden(f"{kernel.name}.fast.cu", text_of(fast.program))


@pytest.mark.parametrize("divisor", [3.0, -0.7, 8.0, 2.0**-125, 1e37])
def test_a_literal_divides_by_its_inverse_within_two_units(divisor):
    x = np.random.default_rng(1).uniform(0.5, 2, 10_000).astype(np.float32)

    made = quicker_quotient(Binary(BinaryOp.DIV, X, ir.f32(divisor)))

    assert isinstance(made, Binary)
    assert made.op is BinaryOp.MUL
    assert isinstance(made.right, Lit)
    exact = x.astype(np.float64) / np.float32(divisor)
    units = np.abs(x * np.float32(made.right.value) - exact) / np.spacing(
        np.abs(exact).astype(np.float32)
    )
    assert units.max() <= (0.0 if divisor == 8.0 else 1.5)


@pytest.mark.parametrize("divisor", [0.0, -0.0, np.inf, np.nan, 2.0**-129, 2.0**127])
def test_a_literal_without_a_normal_inverse_divides_as_others_do(divisor):
    quotient = Binary(BinaryOp.DIV, X, ir.f32(divisor))

    assert quicker_quotient(quotient) is quotient


def test_one_over_a_number_is_its_reciprocal():
    assert quicker_quotient(Binary(BinaryOp.DIV, ir.f32(1), X)) == Unary(UnaryOp.RECIPROCAL, X)


def test_double_quotients_are_left_alone():
    quotient = Binary(BinaryOp.DIV, ir.f64(1), ir.f64(3))

    assert quicker_quotient(quotient) is quotient


class TestPower:
    """Its helper, with the C library's functions in the place of the instructions."""

    NAMES = """
    #define __float_as_uint as_uint
    #define __uint_as_float as_float
    #define fabsf fabs
    #define truncf trunc
    #define fast_exp2_f32 exp2
    #define fast_log2_f32 log2
    typedef float f32;
    typedef uint u32;
    """
    KERNEL = """
    __kernel void run(__global const float* a, __global const float* b, __global float* out)
    { size_t i = get_global_id(0); out[i] = fast_pow_f32(a[i], b[i]); }
    """
    NUMBERS = np.array(
        [0, 1, 2, 3, 0.5, 1.5, 2.5, 7, 1e-3, 255, 16777216, 1e30, np.inf, np.nan], np.float32
    )

    def test_it_is_ieee_754s_where_there_is_no_logarithm(self, opencl):
        cl = pytest.importorskip("pyopencl")
        helpers = Helpers(CUDA)
        approximate(helpers, BinaryOp.POW, F32)
        helper = helpers.texts["fast_pow_f32"].replace(CUDA.function, OPENCL.function)
        all_numbers = np.concatenate([self.NUMBERS, -self.NUMBERS])
        a, b = (np.ascontiguousarray(g.ravel()) for g in np.meshgrid(all_numbers, all_numbers))
        out = np.zeros_like(a)
        context, _ = opencl.backend._open()
        queue, flags = cl.CommandQueue(context), cl.mem_flags
        memory = [
            cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=one)
            for one in (a, b, out)
        ]
        built = cl.Program(context, self.NAMES + helper + self.KERNEL).build()
        cl.Kernel(built, "run")(queue, a.shape, None, *memory)
        cl.enqueue_copy(queue, out, memory[2])

        with np.errstate(all="ignore"):
            exact = np.power(a.astype(np.float64), b.astype(np.float64)).astype(np.float32)
        assert np.array_equal(np.isnan(out), np.isnan(exact))
        assert np.array_equal(np.signbit(out)[~np.isnan(out)], np.signbit(exact)[~np.isnan(out)])
        rare = ~np.isfinite(exact) | (exact == 0)
        assert np.array_equal(out[rare], exact[rare], equal_nan=True)
        usual = ~rare
        assert np.allclose(out[usual], exact[usual], rtol=1e-4)
