"""How OpenCL C and CUDA C++ spell the same things: tables, not subclasses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from vyre.errors import UnsupportedFeature
from vyre.ir.accuracy import ULP_BOUND
from vyre.ir.expr import AtomicOp, BinaryOp, IdKind, UnaryOp
from vyre.ir.types import DataType

_NAMES: Mapping[UnaryOp | BinaryOp, str] = {
    UnaryOp.COS: "cos",
    UnaryOp.SIN: "sin",
    UnaryOp.TAN: "tan",
    UnaryOp.ACOS: "acos",
    UnaryOp.ASIN: "asin",
    UnaryOp.ATAN: "atan",
    UnaryOp.TANH: "tanh",
    UnaryOp.SINH: "sinh",
    UnaryOp.COSH: "cosh",
    UnaryOp.EXP: "exp",
    UnaryOp.EXP2: "exp2",
    UnaryOp.LOG: "log",
    UnaryOp.LOG2: "log2",
    UnaryOp.LOG10: "log10",
    UnaryOp.LOG1P: "log1p",
    UnaryOp.EXPM1: "expm1",
    UnaryOp.ASINH: "asinh",
    UnaryOp.ACOSH: "acosh",
    UnaryOp.ATANH: "atanh",
    UnaryOp.CBRT: "cbrt",
    UnaryOp.ERF: "erf",
    UnaryOp.ERFC: "erfc",
    UnaryOp.SQRT: "sqrt",
    UnaryOp.FLOOR: "floor",
    UnaryOp.CEIL: "ceil",
    UnaryOp.ROUND: "rint",
    UnaryOp.TRUNC: "trunc",
    UnaryOp.ABS: "fabs",
    BinaryOp.POW: "pow",
    BinaryOp.ATAN2: "atan2",
    BinaryOp.HYPOT: "hypot",
    BinaryOp.COPYSIGN: "copysign",
    BinaryOp.MOD: "fmod",
}

_ROUGH = frozenset(ULP_BOUND)

WARP = 32
"""Lanes of a GPU that run one instruction together."""

WIDTHS = (2, 4, 8, 16)
"""Elements of the vectors that every dialect has a type for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The spellings of one C-like language."""

    name: str
    contraction_off: str  # a line at the top of the source
    needs_f64: str  # a line at the top when doubles are used
    types: Mapping[DataType, str]  # what our type names stand for
    wide_suffix: str  # of a 64-bit literal, after "u" where unsigned
    kernel: str
    kernel_for: str  # one workgroup alone, with its sizes {x}, {y}, {z} and its {bounds}
    function: str
    pointer: str  # with {const} and {type}
    argument: str  # the same, to an array that no other argument overlaps
    local_pointer: str  # the same, to workgroup memory
    constants: str  # before the type of a table beside the kernel
    constant_pointer: str  # to one, with {type}
    local: str
    aligned_local: str  # so that vectors of 16 bytes can be read from it
    ids: Mapping[IdKind, tuple[str, str, str]]
    barrier: str
    meet: str  # the same of the lanes of a team's row
    float_functions: Mapping[UnaryOp | BinaryOp, str]
    double_functions: Mapping[UnaryOp | BinaryOp, str]
    extremes: Mapping[BinaryOp, str]  # instructions on f32 that order zeros and pass NaN over
    divides_slowly: (
        bool  # a quotient of f32 takes a dozen instructions, of which most are divisor's
    )
    inverse_sqrt: str  # of f32, at most 3 units in the last place away; empty where there is none
    approximate: Mapping[UnaryOp | BinaryOp, str]  # instructions on f32, for fast_math kernels
    approximate_normal: Mapping[UnaryOp | BinaryOp, str]  # the same, for no subnormal arguments
    folded: frozenset[UnaryOp | BinaryOp]  # a compiler's constants differ from what a device gives
    unwrapped: frozenset[DataType]  # a compiler takes -x and abs(x) of the lowest for positive
    fma: Mapping[DataType, str]
    bits_to_float: Mapping[DataType, str]
    float_to_bits: Mapping[DataType, str]
    mul_high: Mapping[DataType, str]
    popcount: Mapping[int, str]  # by width
    clz: Mapping[int, str]
    atomics: Mapping[
        tuple[AtomicOp, int], str
    ]  # by width; the others are built from compare_exchange
    compare_exchange: Mapping[int, str]
    lanes: int  # that run in lockstep and can pass numbers on; 0 where that is not known
    from_lane_below: str  # with {value}: what the lane before has; empty where there is no way
    from_lane_above: str
    from_lane: str  # with {value} and {lane}: what the lane has that differs in those bits
    from_one_lane: str  # with {value} and {lane}: what that one of those lanes has
    arrive: tuple[str, ...]  # a function's lines: whether this `lane`'s workgroup is the last of
    # `shares` to come by a `counter`, which sees what the others have stored; none: no way to tell
    vectors: Mapping[DataType, str]  # the stem of a vector type's name
    components: tuple[str, ...]
    vector_of: str  # with {vector} and {values}
    vector_load: str  # with {vector}, {width} and {at}
    vector_store: str  # with {vector}, {width}, {at} and {value}
    stream: (
        str  # stores a {value} {at} a pointer, for no cache to keep; empty where there is no way
    )
    count_far: str  # adds a workgroup's {value} {at} a counter; empty where that does not pay

    def load_vector(
        self, dtype: DataType, width: int, name: str, at: str, checks: Sequence[str] = ()
    ) -> str:
        """The line that loads `width` neighbours at once; zeros, where a check fails."""
        value = self.vector_value(dtype, width, at, checks)
        return f"const {self.vector_type(dtype, width)[0]} {name} = {value};"

    def vector_value(self, dtype: DataType, width: int, at: str, checks: Sequence[str]) -> str:
        """The expression of neighbours that are loaded at once; zeros, where a check fails."""
        vector, words = self.vector_type(dtype, width)
        value = self.vector_load.format(vector=vector, width=words, at=at)
        if not checks:
            return value
        zeros = self.vector_of.format(vector=vector, values=", ".join(["0"] * words))
        return f"{' && '.join(checks)} ? {value} : {zeros}"

    def store_vector(
        self, dtype: DataType, at: str, values: Sequence[str], *, streamed: bool = False
    ) -> str:
        """The line that stores neighbours at once."""
        vector, words = self.vector_type(dtype, len(values))
        if words < len(values):
            each = len(values) // words
            values = [_packed(dtype, values[k : k + each]) for k in range(0, len(values), each)]
        value = self.vector_of.format(vector=vector, values=", ".join(values))
        if streamed:
            return self.stream.format(at=f"({vector}*)({at})", value=value)
        return self.vector_store.format(vector=vector, width=words, at=at, value=value)

    def component(self, dtype: DataType, width: int, name: str, number: int) -> str:
        """One of the neighbours that a vector holds."""
        _, words = self.vector_type(dtype, width)
        if words == width:
            return f"{name}.{self.components[number]}"
        word, within = divmod(number, 32 // dtype.bits)
        word_text = f"{name}.{self.components[word]}"
        return (
            f"({dtype})({word_text} >> {within * dtype.bits}u)"
            if within
            else f"({dtype}){word_text}"
        )

    def vector_type(self, dtype: DataType, width: int) -> tuple[str, int]:
        """The type of a vector, and how many parts it has: narrow elements may share one.

        Raises:
            UnsupportedFeature: there is no such type.
        """
        most = len(self.components)
        if width in WIDTHS and width <= most:
            return f"{self.vectors[dtype]}{width}", width
        words = width * dtype.bits // 32
        if width in WIDTHS and words <= most:
            return f"{self.vectors[DataType.U32]}{words}", words
        fitting = [str(n) for n in WIDTHS if n <= most or n * dtype.bits // 32 <= most]
        raise UnsupportedFeature(
            f"vectors of {width} {dtype} in {self.name}",
            f"use Code(vector=1), or one of {', '.join(fitting)} elements",
        )


_OPENCL_TYPES = {
    DataType.U8: "uchar",
    DataType.U16: "ushort",
    DataType.U32: "uint",
    DataType.U64: "ulong",
    DataType.I8: "char",
    DataType.I16: "short",
    DataType.I32: "int",
    DataType.I64: "long",
    DataType.F32: "float",
    DataType.F64: "double",
}

OPENCL = Dialect(
    name="opencl",
    contraction_off="#pragma OPENCL FP_CONTRACT OFF",
    needs_f64="#pragma OPENCL EXTENSION cl_khr_fp64 : enable",
    types=_OPENCL_TYPES,
    wide_suffix="l",
    kernel="__kernel void",
    kernel_for="__kernel __attribute__((reqd_work_group_size({x}, {y}, {z}))) void",
    function="static inline",
    pointer="__global {const}{type}*",
    argument="__global {const}{type}* restrict",
    local_pointer="__local {const}{type}*",
    constants="__constant",
    constant_pointer="__constant {type}*",
    local="__local",
    aligned_local="__local __attribute__((aligned(16)))",
    ids={
        IdKind.INVOCATION: (
            "(u32)get_global_id(0)",
            "(u32)get_global_id(1)",
            "(u32)get_global_id(2)",
        ),
        IdKind.WORKGROUP: ("(u32)get_group_id(0)", "(u32)get_group_id(1)", "(u32)get_group_id(2)"),
        IdKind.LOCAL: ("(u32)get_local_id(0)", "(u32)get_local_id(1)", "(u32)get_local_id(2)"),
        IdKind.WORKGROUP_SIZE: (
            "(u32)get_local_size(0)",
            "(u32)get_local_size(1)",
            "(u32)get_local_size(2)",
        ),
    },
    barrier="barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    float_functions=_NAMES,
    double_functions=_NAMES,
    extremes={},  # what fmin gives of zeros is up to a driver
    divides_slowly=False,
    inverse_sqrt="",
    approximate={},  # native_* promise nothing
    approximate_normal={},
    # PoCL 3.0 makes anything of functions of a constant NaN: exp 3.8e22, tanh 0, floor 7e-310.
    folded=_ROUGH
    | {UnaryOp.FLOOR, UnaryOp.CEIL, UnaryOp.ROUND, UnaryOp.TRUNC}
    | {BinaryOp.MOD, BinaryOp.FLOOR_MOD, BinaryOp.FLOOR_DIV},
    unwrapped=frozenset((DataType.I16,)),  # of NVIDIA, whose OpenCL has CUDA's ptxas
    fma={DataType.F32: "fma", DataType.F64: "fma"},
    bits_to_float={DataType.F32: "as_float", DataType.F64: "as_double"},
    float_to_bits={DataType.F32: "as_uint", DataType.F64: "as_ulong"},
    mul_high={DataType.U64: "mul_hi", DataType.I64: "mul_hi"},
    popcount={32: "popcount", 64: "popcount"},
    clz={32: "clz", 64: "clz"},
    atomics={
        (AtomicOp.ADD, 32): "atomic_add",
        (AtomicOp.OR, 32): "atomic_or",
        (AtomicOp.AND, 32): "atomic_and",
        (AtomicOp.XOR, 32): "atomic_xor",
        (AtomicOp.MIN, 32): "atomic_min",
        (AtomicOp.MAX, 32): "atomic_max",
        (AtomicOp.EXCHANGE, 32): "atomic_xchg",
    },
    compare_exchange={32: "atomic_cmpxchg", 64: "atom_cmpxchg"},
    meet="barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",  # a row is a workgroup there
    lanes=0,
    from_lane_below="",
    from_lane_above="",
    from_lane="",
    from_one_lane="",
    arrive=(),
    vectors=_OPENCL_TYPES,
    components=tuple(f"s{position:x}" for position in range(16)),
    vector_of="({vector})({values})",
    vector_load="vload{width}(0, {at})",
    vector_store="vstore{width}({value}, 0, {at});",
    stream="",
    count_far="",
)

_AT_ONCE = (
    *(UnaryOp.SQRT, UnaryOp.FLOOR, UnaryOp.CEIL, UnaryOp.ROUND, UnaryOp.TRUNC, UnaryOp.ABS),
    BinaryOp.COPYSIGN,
)  # what processors have an instruction for, with the same bits as any other way

OPENCL_BY_CLANG = replace(
    OPENCL,
    float_functions={**_NAMES, **{op: f"__builtin_{_NAMES[op]}f" for op in _AT_ONCE}},
    double_functions={**_NAMES, **{op: f"__builtin_{_NAMES[op]}" for op in _AT_ONCE}},
    fma={DataType.F32: "__builtin_fmaf", DataType.F64: "__builtin_fma"},
)
"""For drivers of processors whose compiler is clang, as PoCL's is.

It makes instructions of its own names, and calls what OpenCL names one element at a time.
"""

# Without .ftz, which would make 0 of subnormal numbers; div.full is right for all divisors, which
# div.approx (__fdividef) is not from 2**126.
_PTX: Mapping[UnaryOp | BinaryOp, str] = {
    BinaryOp.DIV: "div.full.f32",
    UnaryOp.RECIPROCAL: "rcp.approx.f32",
    UnaryOp.SQRT: "sqrt.approx.f32",
    UnaryOp.INVERSE_SQRT: "rsqrt.approx.f32",
    UnaryOp.EXP2: "ex2.approx.f32",
    UnaryOp.LOG2: "lg2.approx.f32",
    UnaryOp.SIN: "sin.approx.f32",
    UnaryOp.COS: "cos.approx.f32",
    UnaryOp.TANH: "tanh.approx.f32",
}

CUDA = Dialect(
    name="cuda",
    contraction_off="",  # a compiler option there: --fmad=false
    needs_f64="",
    types={
        DataType.U8: "unsigned char",
        DataType.U16: "unsigned short",
        DataType.U32: "unsigned int",
        DataType.U64: "unsigned long long",
        DataType.I8: "signed char",
        DataType.I16: "short",
        DataType.I32: "int",
        DataType.I64: "long long",
        DataType.F32: "float",
        DataType.F64: "double",
    },
    wide_suffix="ll",
    kernel='extern "C" __global__ void',
    kernel_for='extern "C" __global__ void __launch_bounds__({bounds})',
    function="static __device__ __forceinline__",
    pointer="{const}{type}*",
    argument="{const}{type}* __restrict__",
    local_pointer="{const}{type}*",
    constants="static __device__ const",
    constant_pointer="const {type}*",
    local="__shared__",
    aligned_local="__shared__ __align__(16)",
    ids={
        IdKind.INVOCATION: (
            "blockIdx.x * blockDim.x + threadIdx.x",
            "blockIdx.y * blockDim.y + threadIdx.y",
            "blockIdx.z * blockDim.z + threadIdx.z",
        ),
        IdKind.WORKGROUP: ("blockIdx.x", "blockIdx.y", "blockIdx.z"),
        IdKind.LOCAL: ("threadIdx.x", "threadIdx.y", "threadIdx.z"),
        IdKind.WORKGROUP_SIZE: ("blockDim.x", "blockDim.y", "blockDim.z"),
    },
    barrier="__syncthreads();",
    meet="__syncwarp();",
    float_functions={op: f"{name}f" for op, name in _NAMES.items()},
    double_functions=_NAMES,
    extremes={BinaryOp.MIN: "min.f32", BinaryOp.MAX: "max.f32"},
    divides_slowly=True,
    inverse_sqrt="rsqrtf",
    approximate=_PTX,
    approximate_normal={
        UnaryOp.SQRT: "sqrt.approx.ftz.f32",
        UnaryOp.INVERSE_SQRT: "rsqrt.approx.ftz.f32",
    },
    # Of 64 constants ptxas 13 gives other bits than the hardware for 14 of exp2f, 7 of tanhf.
    folded=_ROUGH,
    # ptxas 13 leaves out that the result of neg.s16 and abs.s16 wraps when it is widened.
    unwrapped=frozenset((DataType.I16,)),
    fma={DataType.F32: "fmaf", DataType.F64: "fma"},
    bits_to_float={DataType.F32: "__uint_as_float", DataType.F64: "__longlong_as_double"},
    float_to_bits={DataType.F32: "__float_as_uint", DataType.F64: "__double_as_longlong"},
    mul_high={DataType.U64: "__umul64hi", DataType.I64: "__mul64hi"},
    popcount={32: "__popc", 64: "__popcll"},
    clz={32: "__clz", 64: "__clzll"},
    atomics={
        (AtomicOp.ADD, 32): "atomicAdd",
        (AtomicOp.OR, 32): "atomicOr",
        (AtomicOp.AND, 32): "atomicAnd",
        (AtomicOp.XOR, 32): "atomicXor",
        (AtomicOp.MIN, 32): "atomicMin",
        (AtomicOp.MAX, 32): "atomicMax",
        (AtomicOp.EXCHANGE, 32): "atomicExch",
    },
    compare_exchange={32: "atomicCAS", 64: "atomicCAS"},
    lanes=WARP,
    from_lane_below="__shfl_up_sync(0xffffffffu, {value}, 1)",
    from_lane_above="__shfl_down_sync(0xffffffffu, {value}, 1)",
    from_lane="__shfl_xor_sync(0xffffffffu, {value}, {lane})",
    from_one_lane="__shfl_sync(0xffffffffu, {value}, {lane})",
    arrive=(
        "__shared__ u32 before;",
        "__syncthreads();",  # what all have stored is behind the fences of one
        "if (lane == 0u) {",
        "    __threadfence();",
        "    before = atomicInc(counter, shares - 1u);",
        "    __threadfence();",
        "}",
        "__syncthreads();",
        "return before == shares - 1u;",
    ),
    vectors=_OPENCL_TYPES | {DataType.U64: "ulonglong", DataType.I64: "longlong"},
    components=("x", "y", "z", "w"),
    vector_of="make_{vector}({values})",
    vector_load="*(const {vector}*)({at})",
    vector_store="*({vector}*)({at}) = {value};",
    stream="__stcs({at}, {value});",
    count_far="atomicAdd({at}, {value});",
)


def _packed(dtype: DataType, values: Sequence[str]) -> str:
    """Narrow elements as one word, the first in its lowest bits."""
    bits = "unsigned char" if dtype.bits == 8 else "unsigned short"
    parts = [f"(u32)({bits}){value}" for value in values]
    shifted = (f"{part} << {number * dtype.bits}u" for number, part in enumerate(parts) if number)
    return " | ".join([parts[0], *shifted])
