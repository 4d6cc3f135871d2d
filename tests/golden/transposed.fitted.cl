#pragma OPENCL FP_CONTRACT OFF
typedef uint u32;
typedef ulong u64;
typedef float f32;
typedef struct { u32 w[2]; } vyre_words2;

__kernel __attribute__((reqd_work_group_size(16, 16, 1))) void vyre_kernel(
    __global const f32* restrict p_x,
    __global f32* restrict p_out,
    const vyre_words2 words)
{
    const u32 dim1_x = words.w[0];
    const u32 dim1_out = words.w[1];
    __local __attribute__((aligned(16))) f32 near_x[1088];
    const u32 lane = ((u32)get_local_id(2) * 16u + (u32)get_local_id(1)) * 16u + (u32)get_local_id(0);
    const u32 tile_column = (u32)get_group_id(0) * 32u;
    const u32 tile_line = (u32)get_group_id(1) * 32u;
    const u32 tile_plane = (u32)get_group_id(2) * 1u;
    const u32 column0 = tile_column + (u32)get_local_id(0) * 2u;
    const u32 column1 = tile_column + (u32)get_local_id(0) * 2u + 1u;
    const u32 line0 = tile_line + (u32)get_local_id(1) * 2u;
    const u32 line1 = tile_line + (u32)get_local_id(1) * 2u + 1u;
    const u32 plane0 = tile_plane;
    const bool mine = true;
    const bool whole = mine;
    const u32 base_x = (u32)get_local_id(0) * 2u + (u32)get_local_id(1) * 2u * 34u;
    {
        const u32 c1 = (lane % 16u) * 2u;
        const u32 c0 = lane / 16u;
        const u32 e0 = tile_column + c0;
        const u32 e1 = tile_line + c1;
        __global const f32* from = p_x + ((u64)e0 * dim1_x + e1);
        __local f32* to = near_x + (c0 + c1 * 34u);
        #pragma unroll
        for (u32 turn = 0u; turn < 2u; ++turn) {
            const float2 found = e1 < dim1_x ? vload2(0, from + (u64)(turn * 16u) * dim1_x) : (float2)(0, 0);
            to[turn * 16u] = found.s0;
            to[turn * 16u + 34u] = found.s1;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    u32 v0_i = line0;
    u32 v1_i = line1;
    u32 v0_j = column0;
    u32 v1_j = column1;
    const float2 row_x = vload2(0, near_x + base_x);
    const float2 row_x_2 = vload2(0, near_x + base_x + 34u);
    {
        const f32 value_0 = row_x.s0;
        const f32 value_1 = row_x.s1;
        vstore2((float2)(value_0, value_1), 0, p_out + (v0_i * dim1_out + v0_j));
    }
    {
        const f32 value_2 = row_x_2.s0;
        const f32 value_3 = row_x_2.s1;
        vstore2((float2)(value_2, value_3), 0, p_out + (v1_i * dim1_out + v0_j));
    }
}
