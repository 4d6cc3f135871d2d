#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef short i16;
typedef int i32;
typedef long i64;
typedef float f32;
typedef double f64;
typedef struct { u32 w[5]; } vyre_words5;

static inline f32 hide_f32(f32 a, u32 zero) { return as_float(as_uint(a) ^ zero); }

static inline f64 hide_f64(f64 a, u32 zero) { return as_double(as_ulong(a) ^ zero); }

static inline i16 hide_i16(i16 a, u32 zero) { return (i16)(a ^ zero); }

__kernel void vyre_kernel(
    __global f32* restrict p_x,
    __global f64* restrict p_y,
    __global u16* restrict p_k,
    const vyre_words5 words)
{
    const u32 len_x = words.w[0];
    const u32 len_y = words.w[1];
    const u32 len_k = words.w[2];
    const u32 n_x = words.w[3];
    const u32 zero = words.w[4];
    if ((u32)get_global_id(0) >= n_x) return;
    u32 v_i = (u32)get_global_id(0);
    f32 v_a = v_i < len_x ? p_x[v_i] : 0;
    f64 v_b = v_i < len_y ? p_y[v_i] : 0;
    v_a = log10(hide_f32(v_a, zero));
    v_b = log10(hide_f64(v_b, zero));
    v_a = log1p(hide_f32(v_a, zero));
    v_b = log1p(hide_f64(v_b, zero));
    v_a = expm1(hide_f32(v_a, zero));
    v_b = expm1(hide_f64(v_b, zero));
    v_a = asinh(hide_f32(v_a, zero));
    v_b = asinh(hide_f64(v_b, zero));
    v_a = acosh(hide_f32(v_a, zero));
    v_b = acosh(hide_f64(v_b, zero));
    v_a = atanh(hide_f32(v_a, zero));
    v_b = atanh(hide_f64(v_b, zero));
    v_a = cbrt(hide_f32(v_a, zero));
    v_b = cbrt(hide_f64(v_b, zero));
    v_a = erf(hide_f32(v_a, zero));
    v_b = erf(hide_f64(v_b, zero));
    v_a = erfc(hide_f32(v_a, zero));
    v_b = erfc(hide_f64(v_b, zero));
    v_a = hypot(hide_f32(v_a, zero), hide_f32(v_a * v_a, zero));
    v_b = hypot(hide_f64(v_b, zero), hide_f64(v_b * v_b, zero));
    v_a = copysign(v_a, v_a * v_a);
    v_b = copysign(v_b, v_b * v_b);
    v_a = fmod(hide_f32(v_a, zero), hide_f32(v_a * v_a, zero));
    v_b = fmod(hide_f64(v_b, zero), hide_f64(v_b * v_b, zero));
    u32 v_n = (u32)as_uint(v_a * v_a);
    if (v_i < len_x) p_x[v_i] = as_float((u32)(i32)as_uint(v_a)) + as_float(v_n);
    if (v_i < len_y) p_y[v_i] = as_double((u64)(i64)as_ulong(v_b));
    if (v_i < len_k) p_k[v_i] = (u16)hide_i16((i16)(0 - (u32)hide_i16((i16)(v_i < len_k ? p_k[v_i] : 0), zero)), zero);
}
