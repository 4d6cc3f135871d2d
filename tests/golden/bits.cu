typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef float f32;
typedef double f64;
typedef struct { u32 w[5]; } vyre_words5;

static __device__ __forceinline__ f32 hide_f32(f32 a, u32 zero) { return __uint_as_float(__float_as_uint(a) ^ zero); }

static __device__ __forceinline__ f64 hide_f64(f64 a, u32 zero) { return __longlong_as_double(__double_as_longlong(a) ^ zero); }

static __device__ __forceinline__ i16 hide_i16(i16 a, u32 zero) { return (i16)(a ^ zero); }

extern "C" __global__ void vyre_kernel(
    f32* __restrict__ p_x,
    f64* __restrict__ p_y,
    u16* __restrict__ p_k,
    const vyre_words5 words)
{
    const u32 len_x = words.w[0];
    const u32 len_y = words.w[1];
    const u32 len_k = words.w[2];
    const u32 n_x = words.w[3];
    const u32 zero = words.w[4];
    if ((blockIdx.x * blockDim.x + threadIdx.x) >= n_x) return;
    u32 v_i = blockIdx.x * blockDim.x + threadIdx.x;
    f32 v_a = v_i < len_x ? p_x[v_i] : 0;
    f64 v_b = v_i < len_y ? p_y[v_i] : 0;
    v_a = log10f(hide_f32(v_a, zero));
    v_b = log10(hide_f64(v_b, zero));
    v_a = log1pf(hide_f32(v_a, zero));
    v_b = log1p(hide_f64(v_b, zero));
    v_a = expm1f(hide_f32(v_a, zero));
    v_b = expm1(hide_f64(v_b, zero));
    v_a = asinhf(hide_f32(v_a, zero));
    v_b = asinh(hide_f64(v_b, zero));
    v_a = acoshf(hide_f32(v_a, zero));
    v_b = acosh(hide_f64(v_b, zero));
    v_a = atanhf(hide_f32(v_a, zero));
    v_b = atanh(hide_f64(v_b, zero));
    v_a = cbrtf(hide_f32(v_a, zero));
    v_b = cbrt(hide_f64(v_b, zero));
    v_a = erff(hide_f32(v_a, zero));
    v_b = erf(hide_f64(v_b, zero));
    v_a = erfcf(hide_f32(v_a, zero));
    v_b = erfc(hide_f64(v_b, zero));
    v_a = hypotf(hide_f32(v_a, zero), hide_f32(v_a * v_a, zero));
    v_b = hypot(hide_f64(v_b, zero), hide_f64(v_b * v_b, zero));
    v_a = copysignf(v_a, v_a * v_a);
    v_b = copysign(v_b, v_b * v_b);
    v_a = fmodf(v_a, v_a * v_a);
    v_b = fmod(v_b, v_b * v_b);
    u32 v_n = (u32)__float_as_uint(v_a * v_a);
    if (v_i < len_x) p_x[v_i] = __uint_as_float((u32)(i32)__float_as_uint(v_a)) + __uint_as_float(v_n);
    if (v_i < len_y) p_y[v_i] = __longlong_as_double((u64)(i64)__double_as_longlong(v_b));
    if (v_i < len_k) p_k[v_i] = (u16)hide_i16((i16)(0 - (u32)hide_i16((i16)(v_i < len_k ? p_k[v_i] : 0), zero)), zero);
}
