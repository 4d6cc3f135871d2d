#pragma OPENCL FP_CONTRACT OFF
typedef uint u32;
typedef float f32;
typedef struct { u32 w[4]; } vyre_words4;

static inline f32 hide_f32(f32 a, u32 zero) { return as_float(as_uint(a) ^ zero); }

__kernel void vyre_kernel(
    __global const f32* p_x,
    __global f32* p_out,
    const vyre_words4 words)
{
    const u32 len_x = words.w[0];
    const u32 len_out = words.w[1];
    const u32 n_x = words.w[2];
    const u32 zero = words.w[3];
    if ((u32)get_global_id(0) >= n_x) return;
    u32 v_i = (u32)get_global_id(0);
    if (v_i < len_out) p_out[v_i] = log(hide_f32(1.0f + exp(hide_f32(v_i < len_x ? p_x[v_i] : 0, zero)), zero));
}
