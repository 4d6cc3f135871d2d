#pragma OPENCL FP_CONTRACT OFF
typedef uint u32;
typedef float f32;
typedef struct { u32 w[4]; } vyre_words4;

static inline f32 load_f32(__global const f32* p, u32 i, u32 n) { return i < n ? p[i] : 0; }

__kernel void vyre_kernel(
    __global const f32* restrict p_table,
    __global const u32* restrict p_index,
    __global f32* restrict p_out,
    const vyre_words4 words)
{
    const u32 len_table = words.w[0];
    const u32 len_index = words.w[1];
    const u32 len_out = words.w[2];
    const u32 n_x = words.w[3];
    if ((u32)get_global_id(0) >= n_x) return;
    u32 v_i = (u32)get_global_id(0);
    if (v_i < len_out) p_out[v_i] = load_f32(p_table, v_i < len_index ? p_index[v_i] : 0, len_table);
}
