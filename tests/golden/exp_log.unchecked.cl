#pragma OPENCL FP_CONTRACT OFF
typedef uint u32;
typedef float f32;
typedef struct { u32 w[2]; } vyre_words2;

static inline f32 hide_f32(f32 a, u32 zero) { return as_float(as_uint(a) ^ zero); }

__kernel void vyre_kernel(
    __global const f32* p_x,
    __global f32* p_out,
    const vyre_words2 words)
{
    const u32 n_x = words.w[0];
    const u32 zero = words.w[1];
    if ((u32)get_global_id(0) >= n_x) return;
    u32 v_i = (u32)get_global_id(0);
    p_out[v_i] = log(hide_f32(1.0f + exp(p_x[v_i]), zero));
}
