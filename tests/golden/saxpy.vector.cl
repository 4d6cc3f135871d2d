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
    const u32 tile = (u32)get_group_id(0) * (u32)get_local_size(0) * 4u;
    if (tile >= n_x) return;
    const u32 left = n_x - tile;
    if (left > (u32)get_local_id(0) * 4u + 3u) {
        const u32 pos0 = tile + (u32)get_local_id(0) * 4u;
        const u32 pos1 = pos0 + 1u;
        const u32 pos2 = pos0 + 2u;
        const u32 pos3 = pos0 + 3u;
        u32 v0_i = pos0;
        u32 v1_i = pos1;
        u32 v2_i = pos2;
        u32 v3_i = pos3;
        const float4 row_x = vload4(0, p_x + v0_i);
        const float4 row_y = vload4(0, p_y + v0_i);
        {
            const f32 value_0 = (p_a * row_x.s0) + row_y.s0;
            const f32 value_1 = (p_a * row_x.s1) + row_y.s1;
            const f32 value_2 = (p_a * row_x.s2) + row_y.s2;
            const f32 value_3 = (p_a * row_x.s3) + row_y.s3;
            vstore4((float4)(value_0, value_1, value_2, value_3), 0, p_out + (v0_i));
        }
    } else {
        for (u32 item = 0u; item < 4u; ++item) {
            const u32 offset = (u32)get_local_id(0) * 4u + item;
            if (offset >= left) break;
            const u32 pos = tile + offset;
            u32 v_i = pos;
            p_out[v_i] = (p_a * p_x[v_i]) + p_y[v_i];
        }
    }
}
