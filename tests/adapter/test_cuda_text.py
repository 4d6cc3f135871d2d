"""Which sources of CUDA C++ are known not to depend on the block, and which are not."""

import pytest

from vyre.adapter.reading.cuda_text import sign_in

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
    f"int i = n + ({PLACE}); if (i < n) {{}}",
    f"float f = {PLACE} + 0.5f - 0.1f;",
    f"bool b = n > {PLACE};",
    f"bool b = n && {PLACE} | 3;",
    f"int i = a ? {PLACE} : 0;",
    "__launch_bounds__(256) int i = blockIdx.x * blockDim.x\n    + threadIdx.x;",
    "int i = blockIdx.x * \\\n blockDim.x + threadIdx.x;",
    f"#include <cuda_fp16.h>\n#define IDX ({PLACE})\nint i = IDX * 4;",
    f"#define MIN(a, b) ((a) < (b) ? (a) : (b))\nint i = {PLACE};",
    f"#define MIN(a, b) ((a) < (b) ? (a) : (b))\nint i = MIN(({PLACE}), 3);",
    f"#define N 100\n#if N > 3\nint i = {PLACE};\n#endif",
    f"int myblockIdx = 1; int i = {PLACE};",
    f"atomicAdd(&y[0], 1); int i = {PLACE};",
    f"__constant__ float c[3]; float a = __expf(c[0]) + ({PLACE});",
    f"asmuch = volatile_ + clocks + ({PLACE});",
    f"typedef unsigned long long uint64_t; typedef int int32_t;\nint32_t i = (int32_t){PLACE};",
    f"using size_t = unsigned long; using std::int64_t; size_t i = (int64_t){PLACE};",
    f"if (i < n) atomicAdd(&y[i], 1); else atomicMax(y, i); int i = {PLACE};",
    f"for (;;) {{ atomicOr(y, 1); break; }} int i = {PLACE};",
    f"#define ADD(a, ...) a __VA_ARGS__\nint i = {PLACE}; int j = 2 * (({PLACE}));",
    f"#define IDX() ({PLACE})\n#define TWICE(a) ((a) * 2)\nint i = TWICE({PLACE}) + IDX();",
    f"// it's\nint i = 1'000 + ({PLACE}); char c = '\"';",
    f"\r\nint i = {PLACE};\r\n",
    f"bool any = all; int i = {PLACE};",
]
STEPS = [
    f"for (int i = {PLACE}; i < n; i += blockDim.x * gridDim.x) y[i] = 1;",
    f"#define MIN(a, b) ((a) < (b) ? (a) : (b))\nint i = {PLACE}; for (; i < n; i += gridDim.x * "
    "blockDim.x) {}",
    "int n = gridDim.x * blockDim.x / 2;",
    "#define LOOP(i, n) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); \\\n"
    "i += blockDim.x * gridDim.x)\nLOOP(i, n) { y[i] = 1; }",
    "int n = (gridDim.x * blockDim.x) * 2;",
    "size_t step = (size_t)gridDim.y * blockDim.y;",
]
SHORT = "(int64_t)blockIdx.x * blockDim.x + threadIdx.x"
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
    # what stands beside a place is not what it seems
    (f"#define SCALE * 4\nint i = {PLACE} SCALE;", "its source says blockIdx"),
    (f"int i = a ? 1 : {PLACE} bitand 3;", "its source says blockIdx"),
    (f"float f = 0.1f + {PLACE};", "its source says blockIdx"),
    (f"float *p = x + {PLACE};", "its source says blockIdx"),
    (
        f"#if A\n#define T 2 *\n#endif\nint i =\n#if A\n2 *\n#else\n(\n#endif\n{PLACE}\n;",
        "its source says blockIdx",
    ),
    (
        "int i = static_cast<char>(blockIdx.x * blockDim.x) + threadIdx.x;",
        "its source says blockIdx",
    ),
    ("int i = half<int>(blockIdx.x) * blockDim.x + threadIdx.x;", "its source says blockIdx"),
    (f"#define G(x) x*2\n#define F() G\nint i = F()({PLACE});", "its source says blockIdx"),
    (
        f"#define G(x) x*2\n#define CALL(f, a) f a\nint i = CALL(G, ({PLACE}));",
        "its source says blockIdx",
    ),
    (
        f"#define IDX ({PLACE})\n#define G(x) x*2\n#define CALL(f, a) f a\nint i = CALL(G, IDX);",
        "its source says blockIdx",
    ),
    (f"#define ALL(...) 2 * __VA_ARGS__\nint i = ALL({PLACE});", "its source says blockIdx"),
    ("const unsigned *p = &threadIdx.x + blockIdx.x * blockDim.x;", "its source says threadIdx"),
    # names of what a place is made of
    (f"#define POS(x) ({PLACE})\nint i = POS(x * 4);", "its source says blockIdx"),
    (f"#define POS(size_t) ((size_t){PLACE})\n", "its source says blockIdx"),
    (f"#define int64_t short\nint i = {SHORT};", "its source says #define int64_t short"),
    (f"#define static_cast mine\nint i = {SHORT};", "its source says #define static_cast mine"),
    (f"#define return n *\nreturn {PLACE};", "its source says #define return n *"),
    (f"typedef short int64_t; int i = {SHORT};", "its source says what int64_t is"),
    (f"using int64_t = short; int i = {SHORT};", "its source says what int64_t is"),
    (f"struct int64_t {{}}; int i = {SHORT};", "its source says what int64_t is"),
    (
        f"template <typename int64_t> void f() {{ int i = {SHORT}; }}",
        "its source says what int64_t is",
    ),
    (
        "auto size_t = [](int a) { return a / 2; }; int i = (size_t)(blockIdx.x * blockDim.x) + "
        "threadIdx.x;",
        "its source says what size_t is",
    ),
    (
        "unsigned size_t(unsigned a); int i = (size_t)(blockIdx.x * blockDim.x) + threadIdx.x;",
        "its source says what size_t is",
    ),
    # other words for the same
    ("__cudaGet_threadIdx().x", "its source says __cudaGet_threadIdx"),
    ("__cudaGet_warpSize()", "its source says __cudaGet_warpSize"),
    ("ballot(1)", "its source says ballot"),
    ("any (1)", "its source says any"),
    ("syncthreads_count(1)", "its source says syncthreads_count"),
    ("__uni_sync(-1, 1)", "its source says __uni_sync"),
    ("__isCtaShared(p)", "its source says __isCtaShared"),
    ("__hmma_m16n16k16_ld_a(a, p, 16, 0)", "its source says __hmma_m16n16k16_ld_a"),
    ("_CCCL_PP_CAT(thread, Idx).x", "its source says _CCCL_PP_CAT"),
    ("__CONCAT(thread, Idx).x", "its source says __CONCAT"),
    (
        "#include <cuda_fp16.h>\n_NV_CONCAT_EVAL(thread, Idx).x",
        "its source says _NV_CONCAT_EVAL",
    ),
    (f"#include <stdint.h>\nint i = INT32_C({PLACE}) * 2;", "its source says INT32_C"),
    # a thread that waits for others, of which not all need be there
    ("while (atomicAdd(y, 0) < n);", "its source uses what atomicAdd returns"),
    ("do { k = atomicAdd(y, 0); } while (k < n);", "its source uses what atomicAdd returns"),
    ("f(n)atomicAdd(y, 0);", "its source uses what atomicAdd returns"),
    ("auto wait = atomicCAS;", "its source uses what atomicCAS returns"),
    ("#define GET(p) atomicAdd(p, 0)\n", "its source uses what atomicAdd returns"),
    ("while (__ldcv(y) < n);", "its source says __ldcv"),
    ("__nanosleep(100);", "its source says __nanosleep"),
    ("atomicAdd_block(y, 1);", "its source says atomicAdd_block"),
    ("cuda::thread_scope_block", "its source says thread_scope_block"),
    # what ends where it does not seem to
    ("// \r t = threadIdx.x;", "its source has the character '\\r', which may hide anything"),
    (
        f"#\fdefine x y\nint i = {PLACE};",
        "its source has the character '\\x0c', which may hide anything",
    ),
    (f"int i = 2 * // ??/\n 3; int j =\n {PLACE};", "its source has ??/, which may hide anything"),
    ('s = R"(")"; t = threadIdx.x; s = "";', 'its source has R", which may hide anything'),
    (
        "#if 0\ndon't /*\n#endif\nt = threadIdx.x; /* */",
        "its source has a quote that does not end in its line, which may hide anything",
    ),
    (
        '#if 0\n5" /*\n#endif\nt = threadIdx.x; /* */',
        "its source has a quote that does not end in its line, which may hide anything",
    ),
    ("#include_next <mine.h>\n", "its source has #include_next <mine.h>, which may hide anything"),
    ("#import <mine.h>\n", "its source has #import <mine.h>, which may hide anything"),
    (
        "#include <cuda/std/barrier>\n",
        "its source has #include <cuda/std/barrier>, which may hide anything",
    ),
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
        "#define INVERSE 1 /\nint i = INVERSE gridDim.x * blockDim.x;",
        "int i = sizeof gridDim.x * blockDim.x;",
        "int i = compl gridDim.x * blockDim.x;",
        "size_t i = -gridDim.x * (size_t)blockDim.x;",
        "int i = ~ +gridDim.x * blockDim.x;",
        "float f = 0.1f * gridDim.x * blockDim.x;",
        "#define INVERSE(x) 1 / x\nfloat f = INVERSE(gridDim.x * blockDim.x);",
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
        (("--use-pch=a.pch",), "its option --use-pch=a.pch may hide anything"),
        (("-pch",), "its option -pch may hide anything"),
        ((" -DT=threadIdx",), "its source says threadIdx"),
        (("-D", " T=threadIdx"), "its source says threadIdx"),
        (("-D'T=threadIdx'",), "its option -D'T=threadIdx' may hide anything"),
        (("-DT=\\",), "its option -DT=\\ may hide anything"),
        (("-DT=/*",), "its option -DT=/* may hide anything"),
        (("-Dx=y",), "its source says #define x y"),
        (("-Xcompiler=-DT=threadIdx",), "its option -Xcompiler=-DT=threadIdx may hide anything"),
        (("-Xptxas=-v", "-lineinfo", "-DDEBUG"), None),
        (("-I/x/include", "--std=c++17", "-DN=3", "--use_fast_math"), None),
    ],
)
def test_options_are_part_of_the_source(options, sign):
    assert sign_in(f"int i = 1 + ({PLACE}); f({PLACE});", options, steps=True) == sign


def test_a_loop_of_cupys_own_goes_on_by_the_threads_of_a_whole_grid():
    text = "#include <cupy/carray.cuh>\nCUPY_FOR(i, n) { y[i] = 1; }"

    assert sign_in(text, steps=True) is None
    assert sign_in(text, steps=False) == "its source says CUPY_FOR"
    assert sign_in("#define CUPY_FOR(i, n) if (1)\n", steps=True) == "its source says CUPY_FOR"


def test_a_quote_in_a_number_begins_a_text_in_an_old_standard():
    text = "#define N 1'0 /* '\nt = threadIdx.x; /* */"

    assert sign_in(text, ("--std=c++11",), steps=True) == (
        "its source has a quote in a number, which may hide anything"
    )
    assert sign_in(text, ("--std=c++17",), steps=True) is None  # where all of it is a comment
