#pragma OPENCL FP_CONTRACT OFF
typedef uint u32;
typedef float f32;
typedef struct { u32 w[2]; } vyre_words2;

__kernel void vyre_kernel(
    __global const f32* restrict p_x,
    __global const f32* restrict p_w,
    __global f32* restrict p_out,
    const vyre_words2 words)
{
    const u32 len_x = words.w[0];
    const u32 n_x = words.w[1];
    if ((u32)get_global_id(0) >= n_x) return;
    u32 v_i = (u32)get_global_id(0);
    f32 v_s = 0.0f;
    for (u32 v_k = 0u; v_k < 9u; ++v_k) {
        v_s = v_s + (p_w[v_k] * (((v_i + v_k) - 4u) < len_x ? p_x[(v_i + v_k) - 4u] : 0));
    }
    p_out[v_i] = v_s;
}
