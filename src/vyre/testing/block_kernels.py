"""Kernels in CUDA C++ of which it is proved that no block size changes what a thread does, or not.

Each is the body of `extern "C" __global__ void NAME(const float *x, float *y, int n, int m)`, or a
whole text in which the kernel is called `K`.
"""

from __future__ import annotations

from collections.abc import Mapping

_I = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
_J = "int j = blockIdx.y * blockDim.y + threadIdx.y;"
_K = "int k = blockIdx.z * blockDim.z + threadIdx.z;"
_WHOLE = 'extern "C" __global__ void K'

PROVED: Mapping[str, str] = {
    # maps, and the forms in which a place is written
    "map": f"{_I} if (i < n) y[i] = 2 * x[i];",
    "unguarded": f"{_I} y[i] = x[i] + 1;",
    "other_order": "int i = threadIdx.x + blockDim.x * blockIdx.x; if (i < n) y[i] = x[i];",
    "unsigned": "unsigned i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i];",
    "wide": "size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i];",
    "wide_signed": "long long i = (long long)blockDim.x * blockIdx.x + threadIdx.x;"
    "if (i < n) y[i] = x[i];",
    "widened": "long long i = (int)(blockIdx.x * blockDim.x + threadIdx.x);"
    "if (i < n) y[i] = x[i];",
    "in_sixteen_bits": "unsigned short i = blockIdx.x * blockDim.x; i += threadIdx.x; y[i] = x[i];",
    "named_parts": "const int b = blockIdx.x, w = blockDim.x, t = threadIdx.x;"
    "const int i = b * w + t; if (i < n) y[i] = x[i];",
    "in_statements": "int i = blockIdx.x; i *= blockDim.x; i += threadIdx.x;"
    "if (i < n) y[i] = x[i];",
    "in_a_function": "__device__ int place() { return blockIdx.x * blockDim.x + threadIdx.x; }"
    f"{_WHOLE}(float *y, int n) {{ int i = place(); if (i < n) y[i] = i; }}",
    "twice_written": f"{_I} unsigned j = blockIdx.x * blockDim.x + threadIdx.x;"
    "if (i < n) y[i] = x[j] + j;",
    "early_return": f"{_I} if (i >= n) return; y[i] = x[i];",
    "offset": f"{_I} i += 7; if (i < n) y[i - 3] = x[i + 3];",
    "reversed": f"{_I} if (i < n) y[n - 1 - i] = x[i];",
    "gather": f"{_I} if (i < n) y[i] = x[(int)x[i]];",
    "scatter": f"{_I} if (i < n) y[(int)x[i]] = i;",
    "value_is_the_place": f"{_I} if (i < n) y[i] = i % m + i / m;",
    "selected": f"{_I} if (i < n) y[i] = i & 1 ? x[i] : -x[i];",
    "several_of_a_thread": f"{_I} for (int k = 0; k < 4; k++) if (4 * i + k < n) "
    "y[4 * i + k] = x[4 * i + k];",
    # two and three axes
    "two_axes": f"{_I} {_J} if (i < n && j < m) y[j * n + i] = x[j * n + i];",
    "transposed": f"{_I} {_J} if (i < n && j < m) y[i * m + j] = x[j * n + i];",
    "three_axes": f"{_I} {_J} {_K} if (i < n && j < m && k < 9) y[(k * m + j) * n + i] = "
    "x[(k * m + j) * n + i];",
    "two_axes_wide": "size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;"
    "size_t j = (size_t)blockIdx.y * blockDim.y + threadIdx.y;"
    "if (i < n && j < m) y[j * n + i] = x[j * n + i];",
    "row_and_place": f"{_J} int a = j * n + blockIdx.x * blockDim.x + threadIdx.x; y[a] = x[a];",
    "row_between": f"{_J} int a = blockIdx.x * blockDim.x + j * n + threadIdx.x; y[a] = x[a];",
    "added_to_the_thread": "int t = threadIdx.x + m; int i = blockIdx.x * blockDim.x + t - n;"
    "y[i] = x[i - 1];",
    "row_and_wide_place": f"{_J} size_t a = (size_t)j * n + (size_t)blockIdx.x * blockDim.x + "
    "threadIdx.x; y[a] = x[a];",
    "axis_y_alone": f"{_J} if (j < n) y[j] = x[j];",
    # stencils out of place
    "stencil": f"{_I} if (i > 0 && i < n - 1) y[i] = x[i - 1] - 2 * x[i] + x[i + 1];",
    "stencil_of_two_axes": f"{_I} {_J} if (i > 0 && j > 0 && i < n - 1 && j < m - 1) "
    "y[j * n + i] = .25f * (x[j * n + i - 1] + x[j * n + i + 1] + x[(j - 1) * n + i] + "
    "x[(j + 1) * n + i]);",
    "clamped": f"{_I} if (i < n) y[i] = x[max(i - 1, 0)] + x[min(i + 1, n - 1)];",
    # loops
    "row_sum": f"{_I} if (i < n) {{ float s = 0; for (int k = 0; k < m; k++) s += x[i * m + k]; "
    "y[i] = s; }",
    "matrix_product": f"{_I} {_J} if (i < n && j < n) {{ float s = 0; for (int k = 0; k < m; k++) "
    "s += x[j * m + k] * x[k * n + i]; y[j * n + i] = s; }",
    "while_loop": f"{_I} if (i < n) {{ int c = 0; float z = x[i]; while (z > 1 && c < m) "
    "{ z *= .5f; c++; } y[i] = c; }",
    "loop_to_the_place": f"{_I} if (i < n) {{ float s = 0; for (int k = 0; k < i; k++) s += x[k]; "
    "y[i] = s; }",
    "mandelbrot": f"{_I} {_J} if (i < n && j < m) {{ float a = 0, b = 0; int c = 0; while (a * a + "
    "b * b < 4 && c < 256) { float t = a * a - b * b + i; b = 2 * a * b + j; a = t; c++; } "
    "y[j * n + i] = c; }",
    "binary_search": f"{_I} if (i < n) {{ int l = 0, h = m; while (l < h) {{ int c = (l + h) / 2; "
    "if (x[c] < x[i]) l = c + 1; else h = c; } y[i] = l; }",
    # functions of math.h
    "sine": f"{_I} if (i < n) y[i] = sinf(x[i]) + cosf(x[i]);",
    "exponential": f"{_I} if (i < n) y[i] = expf(x[i]) + logf(x[i]) + tanhf(x[i]);",
    "roots": f"{_I} if (i < n) y[i] = sqrtf(x[i]) + rsqrtf(x[i]) + cbrtf(x[i]) + 1 / x[i];",
    "power": f"{_I} if (i < n) y[i] = powf(x[i], .3f) + fmodf(x[i], 3) + floorf(x[i]);",
    "fast_functions": f"{_I} if (i < n) y[i] = __sinf(x[i]) * __expf(x[i]) + __fdividef(x[i], 3);",
    "error_function": f"{_I} if (i < n) y[i] = erff(x[i]) + atan2f(x[i], 2) + lgammaf(x[i]);",
    "double": f"{_I} if (i < n) y[i] = exp((double)x[i]) + sqrt((double)x[i]);",
    "bits": f"{_I} if (i < n) y[i] = __popc(i) + __clz(i) + __brev(i) + __ffs(i) + "
    "__byte_perm(i, n, 0x1234) + __funnelshift_l(i, n, 3);",
    "random": f"{_I} if (i < n) {{ unsigned s = i * 747796405u + 2891336453u; s = ((s >> ((s >> "
    "28) + 4)) ^ s) * 277803737u; y[i] = (s >> 22) ^ s; }",
    "wide_numbers": f"{_I} if (i < n) y[i] = __umul64hi(i, n) + (long long)i * n / (m + 1) % 17;",
    # memory
    "struct": f"struct P {{ float a, b; int c; double d; }};{_WHOLE}(P p, const P *x, float *y) "
    f"{{ {_I} if (i < p.c) y[i] = p.a * x[i].b + p.d; }}",
    "vectors": f"{_WHOLE}(const float4 *x, float4 *y, int n) {{ {_I} if (i < n) {{ float4 v = "
    "x[i]; v.x += v.w; y[i] = v; } }",
    "pairs": f"{_WHOLE}(const double2 *x, double2 *y, int n) {{ {_I} if (i < n) y[i] = "
    "make_double2(x[i].y, x[i].x); }",
    "bytes": f"{_WHOLE}(const unsigned char *x, signed char *y, int n) {{ {_I} if (i < n) "
    "y[i] = x[i] >> 1; }",
    "shorts": f"{_WHOLE}(const short *x, unsigned short *y, int n) {{ {_I} if (i < n) "
    "y[i] = x[i] * 3; }",
    "restricted": f"{_WHOLE}(const float *__restrict__ x, float *__restrict__ y, int n) {{ {_I} "
    "if (i < n) y[i] = x[i] + x[i + 1]; }",
    "read_only": f"{_I} if (i < n) y[i] = __ldg(x + i);",
    "streamed": f"{_I} if (i < n) __stcs(y + i, __ldcs(x + i));",
    "in_place": f"{_I} if (i < n) y[i] *= 2;",
    "own_array": f"{_I} float a[8]; for (int k = 0; k < 8; k++) a[k] = x[8 * i + k]; float s = 0; "
    "for (int k = 0; k < n; k++) s += a[k & 7] * k; y[i] = s;",
    "constant_memory": f"__constant__ float W[9];{_WHOLE}(const float *x, float *y, int n) {{ {_I} "
    "if (i < n) y[i] = W[i % 9] * x[i]; }",
    "variable_of_the_device": f"__device__ float S = 3;{_WHOLE}(const float *x, float *y, int n) "
    f"{{ {_I} if (i < n) y[i] = S * x[i]; }}",
    "table": f"{_I} const float t[5] = {{1, 2, 4, 2, 1}}; if (i < n) y[i] = t[i % 5] * x[i];",
    "pointers": f"{_WHOLE}(float **x, float *y, int n) {{ {_I} if (i < n) y[i] = x[i][0]; }}",
    "template": "template <int N> __device__ float f(float a) { return a * N; }"
    f"{_WHOLE}(const float *x, float *y, int n) {{ {_I} if (i < n) y[i] = f<3>(x[i]); }}",
    "lambda": f"{_I} auto f = [=](float a) {{ return a * m; }}; if (i < n) y[i] = f(x[i]);",
    "switch": f"{_I} if (i >= n) return; float v; switch (i % 5) {{ case 0: v = 1; break; case 1: "
    "v = x[i]; break; case 3: v = sqrtf(n); break; default: v = i; } y[i] = v;",
    "nothing": "",
    "one_value_for_all": "y[0] = n;",
    "launch_bounds": f"{_WHOLE[:-1]}__launch_bounds__(256) K(const float *x, float *y, int n) "
    f"{{ {_I} if (i < n) y[i] = x[i]; }}",
    "inline_assembly": f"{_I} float v; asm(\"mul.f32 %0, %1, %1;\" : \"=f\"(v) : \"f\"(x[i])); "
    "if (i < n) y[i] = v;",
    "volatile_of_a_thread": f"{_I} if (i < n) y[i] = __float_as_int(x[i]) ^ 0x80000000;",
}  # fmt: skip
"""By name; none asks for the number of threads."""

PROVED_WITH_STEPS: Mapping[str, str] = {
    "stride": "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; "
    "i += blockDim.x * gridDim.x) y[i] = x[i];",
    "stride_other_order": "for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; "
    "i += gridDim.x * blockDim.x) y[i] = x[i];",
    "stride_wide": "for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; "
    "i += (size_t)gridDim.x * blockDim.x) y[i] = x[i];",
    "stride_of_two_axes": "for (int j = blockIdx.y * blockDim.y + threadIdx.y; j < m; "
    "j += blockDim.y * gridDim.y) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; "
    "i += blockDim.x * gridDim.x) y[j * n + i] = x[j * n + i];",
    "number_of_threads": f"{_I} y[i] = blockDim.x * gridDim.x;",
}
"""Where the number of threads along each axis stays."""

_T = "threadIdx.x"
_PLACE = "outside of a thread's place"

REFUSED: Mapping[str, tuple[str, str]] = {
    # what the device gives, by itself
    "thread": (f"y[{_T}] = x[{_T}];", _PLACE),
    "block": ("y[blockIdx.x] = x[blockIdx.x];", _PLACE),
    "width": (f"{_I} y[i] = blockDim.x;", _PLACE),
    "blocks": (f"{_I} y[i] = gridDim.x;", _PLACE),
    "thread_as_value": (f"{_I} y[i] = {_T};", _PLACE),
    "thread_in_a_condition": (f"{_I} if ({_T} == 0) y[i] = 1;", _PLACE),
    "block_in_a_condition": (f"{_I} if (blockIdx.x) y[i] = 1;", _PLACE),
    "width_in_a_condition": (f"{_I} if (blockDim.x > 64) y[i] = 1;", _PLACE),
    "loop_to_the_width": (f"{_I} float s = 0; for (int k = 0; k < blockDim.x; k++) s += x[k]; "
    "y[i] = s;", _PLACE),
    "loop_from_the_thread": (f"{_I} float s = 0; for (int k = {_T}; k < n; k++) s += x[k]; "
    "y[i] = s;", _PLACE),
    "stride_of_a_block": (f"float s = 0; for (int k = {_T}; k < n; k += blockDim.x) s += x[k]; "
    f"y[blockIdx.x * blockDim.x + {_T}] = s;", _PLACE),
    "row_of_a_block": (f"for (int k = {_T}; k < m; k += blockDim.x) y[blockIdx.x * m + k] = "
    "x[blockIdx.x * m + k];", _PLACE),
    # places that are none
    "literal_width": (f"int i = blockIdx.x * 256 + {_T}; if (i < n) y[i] = x[i];", _PLACE),
    "odd_width": (f"int i = blockIdx.x * 100 + {_T}; if (i < n) y[i] = x[i];", _PLACE),
    "width_of_an_argument": (f"int i = blockIdx.x * n + {_T}; y[i] = x[i];", _PLACE),
    "mixed_axes": ("int i = blockIdx.x * blockDim.x + threadIdx.y; y[i] = x[i];", _PLACE),
    "width_of_another_axis": (f"int i = blockIdx.x * blockDim.y + {_T}; y[i] = x[i];", _PLACE),
    "block_of_another_axis": (f"int i = blockIdx.y * blockDim.x + {_T}; y[i] = x[i];", _PLACE),
    "turned": (f"int i = {_T} * blockDim.x + blockIdx.x; y[i] = x[i];", _PLACE),
    "by_blocks": (f"int i = {_T} * gridDim.x + blockIdx.x; y[i] = x[i];", _PLACE),
    "less_the_thread": (f"int i = blockIdx.x * blockDim.x - {_T}; y[i & 255] = 1;", _PLACE),
    "or": (f"int i = blockIdx.x * blockDim.x | {_T}; y[i] = x[i];", _PLACE),
    "exclusive_or": (f"int i = blockIdx.x * blockDim.x ^ {_T}; y[i] = x[i];", _PLACE),
    "block_and_one": (f"int i = (blockIdx.x + 1) * blockDim.x + {_T}; y[i] = x[i];", _PLACE),
    "width_and_one": (f"int i = blockIdx.x * (blockDim.x + 1) + {_T}; y[i] = x[i];", _PLACE),
    "width_without_a_border": (f"int i = blockIdx.x * (blockDim.x - 2) + {_T}; y[i] = x[i];",
    _PLACE),
    "thread_and_one": (f"int i = blockIdx.x * blockDim.x + {_T} * 2; y[i] = x[i];", _PLACE),
    "two_of_a_thread": (f"int i = blockIdx.x * blockDim.x * 2 + {_T}; y[i] = x[i]; "
    "y[i + blockDim.x] = x[i];", _PLACE),
    "coarsened": (f"int i = blockIdx.x * (blockDim.x * 2) + {_T}; y[i] = x[i];", _PLACE),
    "shifted_block": (f"int i = (blockIdx.x >> 1) * blockDim.x + {_T}; y[i] = x[i];", _PLACE),
    "begins_of_blocks": (f"{_I} y[i] = x[blockIdx.x * blockDim.x];", _PLACE),
    "neighbour_in_a_block": (f"{_I} y[i] = {_T} + 1 < blockDim.x ? x[i + 1] : 0;", _PLACE),
    "last_of_a_block": (f"{_I} if ({_T} == blockDim.x - 1) y[i] = 1;", _PLACE),
    "mirrored_in_a_block": (f"y[blockIdx.x * blockDim.x + blockDim.x - 1 - {_T}] = x[0];", _PLACE),
    "block_divided": (f"{_I} y[i] = x[i / blockDim.x];", _PLACE),
    "block_remainder": (f"{_I} y[i] = x[i % blockDim.x];", _PLACE),
    "flat_of_two_axes": ("int i = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + "
    f"{_T}; y[i] = x[i];", _PLACE),
    "thread_of_a_block_of_two": (f"int i = threadIdx.y * blockDim.x + {_T}; y[i] = x[i];", _PLACE),
    "blocks_in_a_row": (f"int b = blockIdx.y * gridDim.x + blockIdx.x; y[b * blockDim.x + {_T}] = "
    "x[0];", _PLACE),
    "sum_of_two_places_less_one": (f"{_I} int j = i - {_T}; y[j] = x[i];", _PLACE),
    "one_axis_twice": (f"int i = blockIdx.x * blockDim.x + {_T} + {_T}; y[i] = x[i];", _PLACE),
    "in_floats": (f"float f = blockIdx.x * (float)blockDim.x + {_T}; y[(int)f] = x[(int)f];",
    _PLACE),
    "thread_in_eight_bits": (f"int i = blockIdx.x * blockDim.x + (unsigned char){_T}; y[i] = x[i];",
    _PLACE),
    "twenty_four_bits": (f"int i = __umul24(blockIdx.x, blockDim.x) + {_T}; y[i] = x[i];", _PLACE),
    # a product that is cut off, and then widened
    "cut_off_signed": (f"long long i = (long long)(int)(blockIdx.x * blockDim.x) + {_T}; "
    "y[i] = x[i];", _PLACE),
    "cut_off_unsigned": (f"unsigned long long i = (unsigned long long)(blockIdx.x * blockDim.x) + "
    f"{_T}; y[i] = x[i];", _PLACE),
    "cut_off_pointer": (f"float *p = y + (int)(blockIdx.x * blockDim.x); p[{_T}] = 1;", _PLACE),
    "summed_and_then_widened": (f"int t = {_T} + n; long long i = (long long)t + (long long)"
    "blockIdx.x * blockDim.x; y[i] = x[i];", _PLACE),
    "thread_taken_from_it": (f"{_J} int a = j * n - {_T} + blockIdx.x * blockDim.x; y[a & 255] = "
    "1;", _PLACE),
    "thread_taken_twice": (f"int a = m + {_T}; int b = n + {_T}; y[blockIdx.x * blockDim.x + a + b]"
    " = 1;", _PLACE),
    "blocks_taken_twice": (f"int a = m + blockIdx.x * blockDim.x; y[a * 2 + {_T}] = 1;", _PLACE),
    # threads that know of each other
    "shared": (f"__shared__ float s[64]; s[{_T} & 63] = x[0]; __syncthreads(); y[0] = s[3];",
    ".shared"),
    "shared_of_a_launch": (f"extern __shared__ float s[]; {_I} s[i] = x[i]; y[i] = s[i];",
    "shared"),
    "shared_by_places": (f"{_I} __shared__ float s[64]; s[i & 63] = x[i]; y[i] = s[i & 31];",
    ".shared"),
    "barrier": (f"{_I} y[i] = 1; __syncthreads(); y[i] = x[i];", "bar"),
    "barrier_that_counts": (f"{_I} y[i] = __syncthreads_count(x[i] > 0);", ""),
    "barrier_of_a_warp": (f"{_I} y[i] = 1; __syncwarp(); y[i] = 2;", "bar.warp.sync"),
    "shuffle": (f"{_I} y[i] = __shfl_down_sync(~0u, x[i], 1);", "shfl"),
    "ballot": (f"{_I} y[i] = __ballot_sync(~0u, x[i] > 0);", "vote"),
    "any": (f"{_I} y[i] = __any_sync(~0u, x[i] > 0);", "vote"),
    "match": (f"{_I} y[i] = __match_any_sync(~0u, i);", "match"),
    "active": (f"{_I} y[i] = __activemask();", "activemask"),
    "reduced": (f"{_I} y[i] = __reduce_add_sync(~0u, i);", "redux"),
    "lane": (f"{_I} int l; asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(l)); y[i] = l;", "%laneid"),
    "warp": (f"{_I} int l; asm(\"mov.u32 %0, %%warpid;\" : \"=r\"(l)); y[i] = l;", "%warpid"),
    "processor": (f"{_I} int l; asm(\"mov.u32 %0, %%smid;\" : \"=r\"(l)); y[i] = l;", "%smid"),
    "lanes_below": (f"{_I} int l; asm(\"mov.u32 %0, %%lanemask_lt;\" : \"=r\"(l)); y[i] = l;",
    "%lanemask_lt"),
    "width_of_a_warp": (f"{_I} int l; asm(\"mov.u32 %0, WARP_SZ;\" : \"=r\"(l)); y[i] = l;",
    "not known"),
    "thread_by_assembly": (f"{_I} int l; asm(\"mov.u32 %0, %%tid.x;\" : \"=r\"(l)); y[i] = l;",
    _PLACE),
    "clock": (f"{_I} y[i] = clock();", "%clock"),
    "long_clock": (f"{_I} y[i] = clock64();", "%clock64"),
    "timer": (f"{_I} long long l; asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(l)); "
    "y[i] = l;", "%globaltimer"),
    "sleep": (f"{_I} __nanosleep(100); y[i] = 1;", "nanosleep"),
    "atomic_add": (f"{_I} atomicAdd(y, x[i]);", "atom"),
    "atomic_add_of_own": (f"{_I} y[i] = atomicAdd(y + i, 1);", "atom"),
    "atomic_ticket": (f"{_I} y[atomicAdd((int *)x, 1)] = i;", "atom"),
    "atomic_swap": (f"{_I} atomicCAS((int *)y, i, n);", "atom"),
    "atomic_maximum": (f"{_I} atomicMax((int *)y, i);", "atom"),
    "atomic_of_a_block": (f"{_I} atomicAdd_block((int *)y, i);", "atom"),
    "fence": (f"{_I} y[i] = 1; __threadfence(); y[n] = 1;", "membar"),
    "fence_of_a_block": (f"{_I} y[i] = 1; __threadfence_block(); y[n] = 1;", "membar"),
    "volatile_load": (f"{_I} y[i] = *(volatile const float *)(x + i);", "ld.volatile"),
    "volatile_store": (f"{_I} *(volatile float *)(y + i) = 1;", "st.volatile"),
    "load_past_caches": (f"{_I} y[i] = __ldcv(x + i);", "ld"),
    "store_through": (f"{_I} __stwt(y + i, 1);", "st"),
    "acquire": (f"{_I} int l; asm volatile(\"ld.acquire.gpu.b32 %0, [%1];\" : \"=r\"(l) : "
    "\"l\"(x + i)); y[i] = l;", "ld.acquire"),
    "relaxed": (f"{_I} asm volatile(\"st.relaxed.gpu.b32 [%0], 1;\" :: \"l\"(y + i));",
    "st.relaxed"),
    # what is not part of it, or ends it
    "printed": (f"{_I} if (i == 3) printf(\"%d\", i);", "calls"),
    "allocated": (f"{_I} float *p = (float *)malloc(n); p[0] = x[i]; y[i] = p[n];", "calls"),
    "not_inlined": (f"__device__ __noinline__ float f(float a, int n) {{ for (; n; n--) a = "
    f"__sinf(a); return a; }}{_WHOLE}(const float *x, float *y, int n) {{ {_I} y[i] = f(x[i], n); "
    "}", "calls"),
    "function_that_asks": (f"__device__ __noinline__ int f() {{ return {_T}; }}{_WHOLE}(float *y) "
    f"{{ {_I} y[i] = f(); }}", "calls"),
    "by_pointer": ("__device__ float f(float a) { return a; } __device__ float g(float a) "
    f"{{ return -a; }}{_WHOLE}(const float *x, float *y, int n) {{ {_I} float (*h)(float) = "
    "n > 3 ? f : g; y[i] = h(x[i]); }", ""),
    "recursive": (f"__device__ int f(int n) {{ return n < 2 ? 1 : f(n - 1) + f(n - 2); }}{_WHOLE}"
    f"(float *y, int n) {{ {_I} y[i] = f(n); }}", "calls"),
    "power_of_doubles": (f"{_I} y[i] = pow((double)x[i], 3.1);", "calls"),
    "trap": (f"{_I} if (i > n) __trap(); y[i] = 1;", "trap"),
    "breakpoint": (f"{_I} if (i > n) __brkpt(); y[i] = 1;", "brkpt"),
    # memory of another kind
    "address_of_its_own": (f"{_I} float a[4]; a[i & 3] = 1; ((float **)y)[i] = &a[n & 3];",
    "a thread's own memory"),
    "is_it_shared": (f"{_I} int l; asm(\"{{ .reg .pred p; isspacep.shared p, %1; "
    "selp.u32 %0, 1, 0, p; }\" : \"=r\"(l) : \"l\"(x + i)); y[i] = l;", "isspacep"),
    "texture": (f"{_WHOLE}(cudaTextureObject_t t, float *y) {{ {_I} y[i] = tex1Dfetch<float>(t, i);"
    " }", "tex"),
    "surface": (f"{_WHOLE}(cudaSurfaceObject_t t) {{ {_I} surf1Dwrite(1.f, t, 4 * i); }}", "sust"),
    "prefetched": (f"{_I} asm(\"prefetch.global.L2 [%0];\" :: \"l\"(x + i)); y[i] = 1;",
    "prefetch"),
    "bounds_of_one_block": (f"{_WHOLE[:-1]}__block_size__((128, 1, 1)) K(float *y) {{ {_I} "
    "y[i] = 1; }", "its PTX has ."),
    "cluster": (f"{_WHOLE[:-1]}__cluster_dims__(2, 1, 1) K(float *y) {{ {_I} y[i] = 1; }}",
    "cluster"),
    "cluster_asked": (f"{_I} int l; asm(\"mov.u32 %0, %%cluster_ctarank;\" : \"=r\"(l)); y[i] = l;",
    "%cluster_ctarank"),
    "grid_number": (f"{_I} long long l; asm(\"mov.u64 %0, %%gridid;\" : \"=l\"(l)); y[i] = l;",
    "%gridid"),
    "dynamic_shared_size": (f"{_I} int l; asm(\"mov.u32 %0, %%dynamic_smem_size;\" : \"=r\"(l)); "
    "y[i] = l;", "%dynamic_smem_size"),
    "dependent_grids": (f"{_I} asm volatile(\"griddepcontrol.wait;\"); y[i] = 1;",
    "griddepcontrol"),
    "warp_elected": (f"{_I} int l; asm volatile(\"{{ .reg .pred p; elect.sync _|p, -1; "
    "selp.b32 %0, 1, 0, p; }\" : \"=r\"(l)); y[i] = l;", "elect"),
    "thread_under_a_condition": (f"{_I} int t = n > 3 ? {_T} : i; y[t] = 1;", ""),
    "width_hidden_in_memory": (f"{_I} float a[4] = {{0, 1, 2, 3}}; a[n & 3] = blockDim.x; "
    "y[i] = a[m & 3];", _PLACE),
    "thread_hidden_in_memory": (f"{_I} y[i] = 0; y[n] = {_T};", _PLACE),
}  # fmt: skip
"""By name, each with a part of the reason."""


def source(name: str, body: str) -> str:
    """The text of a kernel, which is called `k_` and its name there."""
    if "__global__" in body:
        return f"namespace of_{name} {{ {body} }}".replace(" K(", f" k_{name}(")
    return (
        f'extern "C" __global__ void k_{name}(const float *x, float *y, int n, int m) {{ {body} }}'
    )
