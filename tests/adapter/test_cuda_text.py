"""Which sources of CUDA C++ are known not to depend on the block, and which are not."""

import pytest

from vyre.adapter.cuda_text import sign_in

PLACE = "blockIdx.x * blockDim.x + threadIdx.x"
FREE = [
    f"int i = {PLACE}; if (i < n) y[i] = x[i];",
    f"size_t i = (size_t){PLACE};",
    "const unsigned int i = threadIdx.x + blockIdx.x*blockDim.x, j = threadIdx.y + blockDim.y * "
    "blockIdx.y;",
    "int i = (blockIdx.x * blockDim.x) + threadIdx.x;",
    "long long i = ((long long)blockIdx.x) * blockDim.x + threadIdx.x;",
    "long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;",
    "int64_t i = int64_t(blockIdx.x) * int64_t(blockDim.x) + int64_t(threadIdx.x);",
    "size_t i = threadIdx.x + (size_t)blockDim.x * blockIdx.x;",
    "auto i = (size_t)(blockIdx.x * blockDim.x) + threadIdx.x;",
    f"y[{PLACE}] = 1;",
    f"y[{PLACE}] = 1; // threadIdx",
    f"/* __shared__ threadIdx */ y[{PLACE}] = 1;",
    f'printf("threadIdx %d // {{", 1); y[{PLACE}] = 1;',
    f"return {PLACE};",
    f"f({PLACE}, 2);",
    f"int i = {PLACE} - 1 << 2 & 31;",
    f"int i = n + {PLACE}; if (i < n) {{}}",
    f"bool b = n > {PLACE};",
    f"int i = a ? {PLACE} : 0;",
    "__launch_bounds__(256) int i = blockIdx.x * blockDim.x\n    + threadIdx.x;",
    "int i = blockIdx.x * \\\n blockDim.x + threadIdx.x;",
    f"#include <cuda_fp16.h>\n#define IDX ({PLACE})\nint i = IDX * 4;",
    f"#define MIN(a, b) ((a) < (b) ? (a) : (b))\nint i = {PLACE};",
    f"#define MIN(a, b) ((a) < (b) ? (a) : (b))\nint i = MIN(({PLACE}), 3);",
    f"#define N 100\n#if N > 3\nint i = {PLACE};\n#endif",
    f"int myblockIdx = 1; int i = {PLACE};",
    f"atomicAdd(&y[0], 1); int i = {PLACE};",
    f"__constant__ float c[3]; float a = __expf(c[0]) + {PLACE};",
    f"asmuch = volatile_ + clocks + {PLACE};",
]
STEPS = [
    f"for (int i = {PLACE}; i < n; i += blockDim.x * gridDim.x) y[i] = 1;",
    f"#define MIN(a, b) ((a) < (b) ? (a) : (b))\nint i = {PLACE}; for (; i < n; i += gridDim.x * "
    "blockDim.x) {}",
    "int n = 4 * gridDim.x * blockDim.x / 2;",
    "size_t step = (size_t)gridDim.y * blockDim.y;",
]
BOUND = [
    ("x[threadIdx.x]", "its source says threadIdx"),
    (f"int i = 2*{PLACE};", "its source says blockIdx"),
    (f"int i = {PLACE} * 4;", "its source says blockIdx"),
    (f"int i = {PLACE} / 32;", "its source says blockIdx"),
    (f"int i = {PLACE} % 32;", "its source says blockIdx"),
    (f"int i = n - {PLACE};", "its source says blockIdx"),
    (f"int i = ~{PLACE};", "its source says blockIdx"),
    (f"int i = !{PLACE};", "its source says blockIdx"),
    (f"int i = n * {PLACE};", "its source says blockIdx"),
    (f"int i = n / {PLACE};", "its source says blockIdx"),
    (f"int i = n % {PLACE};", "its source says blockIdx"),
    ("int i = threadIdx.x + blockIdx.x * blockDim.x * 4;", "its source says threadIdx"),
    ("int i = blockIdx.x * blockDim.y + threadIdx.x;", "its source says blockIdx"),
    ("int i = blockIdx.x * 256 + threadIdx.x;", "its source says blockIdx"),
    ("int b = blockIdx.x; int i = b * blockDim.x + threadIdx.x;", "its source says blockIdx"),
    (f"int i = (char){PLACE};", "its source says blockIdx"),
    ("int i = (short)(blockIdx.x * blockDim.x) + threadIdx.x;", "its source says blockIdx"),
    ("int i = blockIdx.x * blockDim.x + (char)threadIdx.x;", "its source says blockIdx"),
    (f"int i = {PLACE}x;", "its source says blockIdx"),
    (f"int i = s.{PLACE};", "its source says blockIdx"),
    (f"int i = p->{PLACE};", "its source says blockIdx"),
    (f"int i = foo::{PLACE};", "its source says blockIdx"),
    (f"int3 blockDim = a; int i = {PLACE};", "its source says blockDim"),
    (f"f(blockDim); int i = {PLACE};", "its source says blockDim"),
    (f"#define IDX {PLACE}\nint i = IDX * 4;", "its source says blockIdx"),
    ("#define T threadIdx\nint i = T.x;", "its source says threadIdx"),
    ("#define POS(a) (blockIdx.a * blockDim.a + threadIdx.a)\nPOS(x);", "its source says blockIdx"),
    (f"#define TWICE(x) x*2\nint i = 1 + TWICE({PLACE});", "its source says blockIdx"),
    (f"#define HALF(x) x/2\nint i = 1 + HALF(j = {PLACE});", "its source says blockIdx"),
    (f"#define size_t char\nint i = (size_t){PLACE};", "its source says #define size_t char"),
    (f"#define x y\nint i = {PLACE};", "its source says #define x y"),
    ("#undef threadIdx\n", "its source says threadIdx"),
    ("thread\\\nIdx.x", "its source says threadIdx"),
    ("n = 1'000; t = threadIdx.x; c = 'x';", "its source says threadIdx"),
    ('s = "//"; t = threadIdx.x;', "its source says threadIdx"),
    ('s = "/*"; t = threadIdx.x; s = "*/";', "its source says threadIdx"),
    ('s = R"(")"; t = threadIdx.x; s = "";', "its source says threadIdx"),
    ("c = '\"'; t = threadIdx.x; c = '\"';", "its source says threadIdx"),
    ("__shared__ float s[3];", "its source says __shared__"),
    ("extern __shared__ char s[];", "its source says __shared__"),
    ("__syncthreads();", "its source says __syncthreads"),
    ("__syncwarp();", "its source says __syncwarp"),
    ("__shfl_xor_sync(1, 2, 3);", "its source says __shfl_xor_sync"),
    ("__ballot_sync(1, 2);", "its source says __ballot_sync"),
    ("__reduce_add_sync(1, 2);", "its source says __reduce_add_sync"),
    ("__threadfence();", "its source says __threadfence"),
    ("warpSize", "its source says warpSize"),
    ("gridDim.x", "its source says gridDim"),
    ("__cluster_dims__(2, 1, 1)", "its source says __cluster_dims__"),
    ('asm("mov.u32 %0, %tid.x;" : "=r"(t));', "its source says asm"),
    ("__asm__ volatile", "its source says __asm__"),
    ("__nvvm_read_ptx_sreg_tid_x()", "its source says __nvvm_read_ptx_sreg_tid_x"),
    ("clock64()", "its source says clock64"),
    ("volatile int *p;", "its source says volatile"),
    ("f<<<1, 2>>>();", "its source says <<<"),
    ("namespace cg = cooperative_groups;", "its source says cooperative_groups"),
    ('#include "mine.h"\n', 'its source has #include "", which may hide anything'),
    (
        "#include <cooperative_groups.h>\n",
        "its source has #include <cooperative_groups.h>, which may hide anything",
    ),
    ("#include HEADER\n", "its source has #include HEADER, which may hide anything"),
    ("#define C(a, b) a##b\nC(thread, Idx).x", "its source has ##, which may hide anything"),
    ("#define C(a, b) a%:%:b\n", "its source has %:, which may hide anything"),
    ("\\u0074hreadIdx.x", "its source has \\, which may hide anything"),
]


@pytest.mark.parametrize("text", FREE)
def test_a_place_in_the_grid_depends_on_no_block(text):
    assert sign_in(text, steps=True) is None
    assert sign_in(text, steps=False) is None


@pytest.mark.parametrize("text", STEPS)
def test_the_threads_of_a_whole_grid_are_as_many_where_they_are_kept(text):
    assert sign_in(text, steps=True) is None
    assert sign_in(text, steps=False) in (
        "its source says blockDim",
        "its source says gridDim",
    )


@pytest.mark.parametrize(("text", "sign"), BOUND)
def test_whatever_else_is_asked_for_or_hidden_may(text, sign):
    assert sign_in(text, steps=True) == sign


@pytest.mark.parametrize(
    "text",
    [
        "int i = n / gridDim.x * blockDim.x;",
        "int i = n % gridDim.x * blockDim.x;",
        "int i = gridDim.x * blockDim.y;",
        "int i = gridDim.x + blockDim.x;",
        "#define INVERSE(x) 1 / x\nfloat f = INVERSE(n, gridDim.x * blockDim.x);",
    ],
)
def test_other_products_than_that_of_one_axis_may_depend_on_it(text):
    assert sign_in(text, steps=True) == "its source says gridDim"


@pytest.mark.parametrize(
    ("options", "sign"),
    [
        (("-DT=threadIdx",), "its source says threadIdx"),
        (("-D", "T=threadIdx"), "its source says threadIdx"),
        (("--define-macro=T=threadIdx",), "its source says threadIdx"),
        (("-DTWICE(x)=x*2",), "its source says blockIdx"),
        (("--pre-include=mine.h",), "its option --pre-include=mine.h may hide anything"),
        (("-include", "mine.h"), "its option -include may hide anything"),
        (("--options-file=o",), "its option --options-file=o may hide anything"),
        (("-I/x/include", "--std=c++17", "-DN=3", "--use_fast_math"), None),
    ],
)
def test_options_are_part_of_the_source(options, sign):
    assert sign_in(f"int i = 1 + ({PLACE}); f({PLACE});", options, steps=True) == sign
