#pragma OPENCL FP_CONTRACT OFF
typedef uint u32;
typedef float f32;
typedef struct { u32 w[1]; } vyre_words1;

__kernel void vyre_kernel(
    __global f32* restrict p_out,
    const vyre_words1 words)
{
    const u32 len_out = words.w[0];
    __local f32 p_tile[64];
    const u32 lane = ((u32)get_local_id(2) * (u32)get_local_size(1) + (u32)get_local_id(1)) * (u32)get_local_size(0) + (u32)get_local_id(0);
    const u32 lanes = (u32)get_local_size(0) * (u32)get_local_size(1) * (u32)get_local_size(2);
    for (u32 at = lane; at < 64u; at += lanes) p_tile[at] = 0;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if ((u32)get_local_id(0) < 64u) p_tile[(u32)get_local_id(0)] = 1.0f;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if ((u32)get_global_id(0) < len_out) p_out[(u32)get_global_id(0)] = (63u - (u32)get_local_id(0)) < 64u ? p_tile[63u - (u32)get_local_id(0)] : 0;
}
