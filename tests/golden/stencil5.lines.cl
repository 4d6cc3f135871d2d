#pragma OPENCL FP_CONTRACT OFF
typedef uint u32;
typedef ulong u64;
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
    const u32 tile = (u32)get_group_id(0) * (u32)get_local_size(0) * 4u;
    if (tile >= n_x) return;
    const u32 left = n_x - tile;
    const u32 first_line = (u32)get_global_id(1) * 2u;
    if (first_line >= n_y) return;
    if (left > (u32)get_local_id(0) * 4u + 3u && n_y - first_line >= 2u) {
        const u32 pos0 = tile + (u32)get_local_id(0) * 4u;
        const u32 pos1 = pos0 + 1u;
        const u32 pos2 = pos0 + 2u;
        const u32 pos3 = pos0 + 3u;
        const u32 line0 = first_line;
        const u32 line1 = first_line + 1u;
        u32 v0_i = line0;
        u32 v1_i = line1;
        u32 v0_j = pos0;
        u32 v1_j = pos1;
        u32 v2_j = pos2;
        u32 v3_j = pos3;
        __global const f32* from_x = p_x + ((u64)v0_i * dim1_x + (v3_j + 1u));
        __global const f32* from_x_2 = from_x + dim1_x;
        const float4 row_x = (v0_i - 1u) < dim0_x ? vload4(0, p_x + ((v0_i - 1u) * dim1_x + v0_j)) : (float4)(0, 0, 0, 0);
        const float4 row_x_2 = vload4(0, from_x + (-4));
        const f32 row_x_3 = (v0_j - 1u) < dim1_x ? from_x[-5] : 0;
        const f32 row_x_4 = (v3_j + 1u) < dim1_x ? from_x[0] : 0;
        const float4 row_x_5 = vload4(0, from_x_2 + (-4));
        const f32 row_x_6 = (v0_j - 1u) < dim1_x ? from_x_2[-5] : 0;
        const f32 row_x_7 = (v3_j + 1u) < dim1_x ? from_x_2[0] : 0;
        const float4 row_x_8 = (v1_i + 1u) < dim0_x ? vload4(0, p_x + ((v1_i + 1u) * dim1_x + v0_j)) : (float4)(0, 0, 0, 0);
        {
            const f32 value_0 = 0.25f * (((row_x.s0 + row_x_5.s0) + row_x_3) + row_x_2.s1);
            const f32 value_1 = 0.25f * (((row_x.s1 + row_x_5.s1) + row_x_2.s0) + row_x_2.s2);
            const f32 value_2 = 0.25f * (((row_x.s2 + row_x_5.s2) + row_x_2.s1) + row_x_2.s3);
            const f32 value_3 = 0.25f * (((row_x.s3 + row_x_5.s3) + row_x_2.s2) + row_x_4);
            vstore4((float4)(value_0, value_1, value_2, value_3), 0, p_out + (v0_i * dim1_out + v0_j));
        }
        {
            const f32 value_4 = 0.25f * (((row_x_2.s0 + row_x_8.s0) + row_x_6) + row_x_5.s1);
            const f32 value_5 = 0.25f * (((row_x_2.s1 + row_x_8.s1) + row_x_5.s0) + row_x_5.s2);
            const f32 value_6 = 0.25f * (((row_x_2.s2 + row_x_8.s2) + row_x_5.s1) + row_x_5.s3);
            const f32 value_7 = 0.25f * (((row_x_2.s3 + row_x_8.s3) + row_x_5.s2) + row_x_7);
            vstore4((float4)(value_4, value_5, value_6, value_7), 0, p_out + (v1_i * dim1_out + v0_j));
        }
    } else {
        for (u32 line = first_line; line < n_y && line - first_line < 2u; ++line) {
            for (u32 item = 0u; item < 4u; ++item) {
                const u32 offset = (u32)get_local_id(0) * 4u + item;
                if (offset >= left) break;
                const u32 pos = tile + offset;
                u32 v_i = line;
                u32 v_j = pos;
                p_out[v_i * dim1_out + v_j] = 0.25f * (((((v_i - 1u) < dim0_x ? p_x[(v_i - 1u) * dim1_x + v_j] : 0) + ((v_i + 1u) < dim0_x ? p_x[(v_i + 1u) * dim1_x + v_j] : 0)) + ((v_j - 1u) < dim1_x ? p_x[v_i * dim1_x + (v_j - 1u)] : 0)) + ((v_j + 1u) < dim1_x ? p_x[v_i * dim1_x + (v_j + 1u)] : 0));
            }
        }
    }
}
