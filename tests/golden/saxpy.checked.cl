#pragma OPENCL FP_CONTRACT OFF
typedef uint u32;
typedef float f32;
typedef struct { u32 w[4]; } vyre_words4;

__kernel void vyre_kernel(
    __global const f32* p_x,
    __global const f32* p_y,
    __global f32* p_out,
    const f32 p_a,
    const vyre_words4 words)
{
    const u32 len_x = words.w[0];
    const u32 len_y = words.w[1];
    const u32 len_out = words.w[2];
    const u32 n_x = words.w[3];
    if ((u32)get_global_id(0) >= n_x) return;
    u32 v_i = (u32)get_global_id(0);
    if (v_i < len_out) p_out[v_i] = (p_a * (v_i < len_x ? p_x[v_i] : 0)) + (v_i < len_y ? p_y[v_i] : 0);
}
