#pragma OPENCL FP_CONTRACT OFF
typedef uint u32;
typedef float f32;
typedef struct { u32 w[5]; } vyre_words5;

__kernel void vyre_kernel(
    __global const f32* restrict p_x,
    __global f32* restrict p_out,
    const vyre_words5 words)
{
    const u32 n_x = words.w[0];
    const u32 n_y = words.w[1];
    const u32 dim0_x = words.w[2];
    const u32 dim1_x = words.w[3];
    const u32 dim1_out = words.w[4];
    if ((u32)get_global_id(0) >= n_x || (u32)get_global_id(1) >= n_y) return;
    u32 v_i = (u32)get_global_id(1);
    u32 v_j = (u32)get_global_id(0);
    p_out[v_i * dim1_out + v_j] = 0.25f * (((((v_i - 1u) < dim0_x ? p_x[(v_i - 1u) * dim1_x + v_j] : 0) + ((v_i + 1u) < dim0_x ? p_x[(v_i + 1u) * dim1_x + v_j] : 0)) + ((v_j - 1u) < dim1_x ? p_x[v_i * dim1_x + (v_j - 1u)] : 0)) + ((v_j + 1u) < dim1_x ? p_x[v_i * dim1_x + (v_j + 1u)] : 0));
}
