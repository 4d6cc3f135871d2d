"""Names that an author may well use and that somebody else uses too.

Generated programs draw theirs from here: words of C, C++, OpenCL and CUDA, their macros, types and
functions, words of our own emitters and of Python, and letters that C does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from random import Random

from vyre.ir.expr import Atomic, BufDim, BufLen, Expr, FlatIndex, Load, Var
from vyre.ir.node import Assign, Let, Loop, Node, Reduce, Store
from vyre.ir.program import Program
from vyre.ir.walk import rebuild_node, statements

_C = """
    alignas alignof and and_eq asm atomic auto bitand bitor bool break case catch char class
    co_await compl concept const const_cast consteval constexpr constinit continue decltype default
    delete do
    double else enum explicit export extern false final float for friend goto if import inline int
    long main module mutable namespace new noexcept not nullptr operator or override private
    protected public register requires restrict return short signed sizeof static struct switch
    template this thread_local throw true try typedef typeid typename typeof union unsigned using
    virtual void volatile wchar_t while xor xor_eq _Bool _Static_assert
"""
_MACROS = """
    NULL EOF NAN INFINITY HUGE_VALF M_PI M_E M_PI_F FLT_MAX FLT_EPSILON DBL_MAX INT_MAX UINT_MAX
    CHAR_BIT MAXFLOAT assert errno offsetof va_arg CLK_LOCAL_MEM_FENCE CLK_GLOBAL_MEM_FENCE
    cl_khr_fp64 CL_VERSION_1_2 __OPENCL_VERSION__ __kernel __global __local __constant __private
    __CUDA_ARCH__ __CUDACC__ __global__ __device__ __host__ __shared__ __restrict__ __forceinline__
    __launch_bounds__ __LINE__ __FILE__ __func__ __attribute__ linux unix kernel global local
    constant read_only write_only read_write generic pipe uniform
"""
_TYPES = """
    uchar ushort uint ulong half quad complex float2 float4 uint4 char16 int3 image2d_t image1d_t
    image2d_array_t sampler_t event_t size_t ptrdiff_t intptr_t uintptr_t uint32_t int8_t dim3
    cudaStream_t cudaError_t bool2 half2 __half nv_bfloat16 queue_t clk_event_t
"""
_FUNCTIONS = """
    abs acos acosh asin asinh atan atan2 atanh cbrt ceil clamp clz copysign cos cosh cross degrees
    distance dot erf erfc exp exp2 expm1
    fabs fabsf fdim floor fma fmaf fmax fmin fmod frexp hypot isnan ldexp length lgamma log log10
    log1p log2
    logb mad max min mix modf mul_hi nan native_exp normalize popcount pow powf printf radians
    remainder rint rotate round rsqrt rsqrtf select sign sin sincos sinh smoothstep sqrt sqrtf step
    tan tanh tgamma trunc vload4 vstore4 as_float as_uint convert_int get_global_id get_local_id
    get_group_id get_local_size barrier mem_fence atomic_add atomic_cmpxchg atomicAdd atomicCAS
    prefetch shuffle async_work_group_copy threadIdx blockIdx blockDim gridDim warpSize
    __syncthreads __popc __float_as_uint make_float4 malloc memcpy free exit index y0 j1 gamma
"""
_OURS = """
    u8 u16 u32 u64 i8 i16 i32 i64 f16 f32 f64 bf16 load_f32 load_u32 load_wide_f32 min_f32 max_f32
    flat2 flat3 f32_from_f16 f16_from_f32 u32_from_f32 atomic_add_u32 exp_f32 inverse_sqrt_f32
    words w at value value_0 value_1 value_2 item left next offset span tile lane lanes pos pos0
    pos1 n_x n_y n_z len_x len_out dim0_x zero veil_f32 vyre vyre_kernel vyre_kernel_0 vyre_words5
    p v a b k q old seen p_x v_x v0_x v1_value end_k row0_x near_x p_value_0 v_ v0_ x_0 x_1 x_2
    goes goes_ begin end first done count more turn turns side rounds unit whole one found mine
    from to c0 c1 e0 e1 at_x row_x row_x_2 now_x ahead_x base_x from_x tile_column tile_line
    tile_plane column0 line line0 plane0 first_line hide_f32 fast_tanh_f32 old_value v_goes v0_goes
"""
_PYTHON = """
    self cls In Out InOut gid extent shared kernel None True False lambda def pass yield print range
    len sum type id dir vars list dict int float numpy np __name__ __init__ _ __ ___ out shape
    schedule config stream
"""
_LETTERS = ("λ", "größe", "名前", "π2", "Ωmega", "café", "ﬁ", "x́", "a" * 300, "ﾊﾝ")

OURS: tuple[str, ...] = tuple(_OURS.split())
"""What our emitters call something themselves, or give a kind to."""

HOSTILE: tuple[str, ...] = (
    tuple(
        dict.fromkeys(
            word
            for group in (_C, _MACROS, _TYPES, _FUNCTIONS, _OURS, _PYTHON)
            for word in group.split()
        )
    )
    + _LETTERS
)
"""Each an identifier of Python's by its letters; some are its keywords."""

ODD: tuple[str, ...] = (" ", "a b", "a-b", "a.b", "1", "9x", "*/", '"', "'", "\\", "\n", "\0", "%s")
"""What only a program built by hand or read from bytes can call something."""


def hostile_name(rng: Random, stem: str) -> str:
    """A name that others use, an odd one, or the tame `stem`."""
    kind = rng.random()
    if kind < 0.55:
        return rng.choice(HOSTILE)
    if kind < 0.65:
        return f"{rng.choice(HOSTILE)}_{rng.randrange(4)}"
    if kind < 0.7:
        return f"{stem}{rng.choice(ODD)}{rng.randrange(3)}"
    return stem


def renamed(program: Program, variables: Mapping[str, str], buffers: Mapping[str, str]) -> Program:
    """`program` with other names for its variables and buffers, by the maps; the same program."""

    def of_expr(expr: Expr) -> Expr:
        match expr:
            case Var(name):
                return Var(variables[name])
            case Load(buffer) | BufLen(buffer) | BufDim(buffer) | FlatIndex(buffer):
                return replace(expr, buffer=buffers[buffer])
            case Atomic(buffer=buffer):
                return replace(expr, buffer=buffers[buffer])
            case _:
                return expr

    def of_list(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        return tuple(map(of_node, nodes))

    def of_node(node: Node) -> Node:
        match node:
            case Let(name) | Assign(name):
                return replace(node, name=variables[name])
            case Loop(var):
                return replace(node, var=variables[var])
            case Reduce(name, var=var):
                return replace(node, name=variables[name], var=variables[var])
            case Store(buffer):
                return replace(node, buffer=buffers[buffer])
            case _:
                return node

    entry = of_list(tuple(rebuild_node(node, of_expr, of_list) for node in program.entry))
    declared = tuple(replace(decl, name=buffers[decl.name]) for decl in program.buffers)
    return replace(program, buffers=declared, entry=entry)


def hostile_names(rng: Random, names: Iterable[str]) -> dict[str, str]:
    """Another name for each of `names`, no two alike."""
    given: dict[str, str] = {}
    taken: set[str] = set()
    for stem in names:
        name = hostile_name(rng, stem)
        while name in taken:
            name = f"{hostile_name(rng, stem)}{rng.randrange(10)}"
        given[stem] = name
        taken.add(name)
    return given


def variables_of(program: Program) -> tuple[str, ...]:
    """Every name that a statement of `program` binds."""
    found: list[str] = []
    for node in statements(program.entry):
        match node:
            case Let(name) | Loop(name):
                found.append(name)
            case Reduce(name, var=var):
                found += [name, var]
            case _:
                pass
    return tuple(dict.fromkeys(found))
