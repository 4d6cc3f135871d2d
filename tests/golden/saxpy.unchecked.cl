#pragma OPENCL FP_CONTRACT OFF
typedef uint u32;
typedef float f32;
typedef struct { u32 w[1]; } vyre_words1;

__kernel void vyre_kernel(
    __global const f32* p_x,
    __global const f32* p_y,
    __global f32* p_out,
    const f32 p_a,
    const vyre_words1 words)
{
    const u32 n_x = words.w[0];
    if ((u32)get_global_id(0) >= n_x) return;
    u32 v_i = (u32)get_global_id(0);
    p_out[v_i] = (p_a * p_x[v_i]) + p_y[v_i];
}
