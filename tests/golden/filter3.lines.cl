#pragma OPENCL FP_CONTRACT OFF
typedef uint u32;
typedef ulong u64;
typedef float f32;
typedef struct { u32 w[5]; } vyre_words5;

__kernel void vyre_kernel(
    __global const f32* restrict p_x,
    __global const f32* restrict p_w,
    __global f32* restrict p_out,
    const vyre_words5 words)
{
    const u32 n_x = words.w[0];
    const u32 n_y = words.w[1];
    const u32 dim0_x = words.w[2];
    const u32 dim1_x = words.w[3];
    const u32 dim1_out = words.w[4];
    const u32 tile = (u32)get_group_id(0) * (u32)get_local_size(0) * 2u;
    if (tile >= n_x) return;
    const u32 left = n_x - tile;
    const u32 first_line = (u32)get_global_id(1) * 2u;
    if (first_line >= n_y) return;
    if (left > (u32)get_local_id(0) * 2u + 1u && n_y - first_line >= 2u) {
        const u32 pos0 = tile + (u32)get_local_id(0) * 2u;
        const u32 pos1 = pos0 + 1u;
        const u32 line0 = first_line;
        const u32 line1 = first_line + 1u;
        u32 v0_i = line0;
        u32 v1_i = line1;
        u32 v0_j = pos0;
        u32 v1_j = pos1;
        f32 v0_s = 0.0f;
        f32 v1_s = 0.0f;
        f32 v2_s = 0.0f;
        f32 v3_s = 0.0f;
        __global const f32* from_w = p_w + ((u64)2u * 3u + 2u);
        __global const f32* from_x = p_x + ((u64)((v0_i + 0u) - 1u) * dim1_x + ((v1_j + 2u) - 1u));
        __global const f32* from_x_2 = p_x + ((u64)((v0_i + 1u) - 1u) * dim1_x + ((v1_j + 2u) - 1u));
        __global const f32* from_x_3 = from_x_2 + dim1_x;
        __global const f32* from_x_4 = p_x + ((u64)((v1_i + 2u) - 1u) * dim1_x + ((v1_j + 2u) - 1u));
        const float2 row_w = vload2(0, from_w + (-8));
        const float2 row_w_2 = vload2(0, from_w + (-6));
        const float2 row_w_3 = vload2(0, from_w + (-4));
        const float2 row_w_4 = vload2(0, from_w + (-2));
        const f32 row_w_5 = from_w[0];
        const float2 row_x = ((v0_i + 0u) - 1u) < dim0_x ? vload2(0, from_x + (-2)) : (float2)(0, 0);
        const f32 row_x_2 = ((v0_i + 0u) - 1u) < dim0_x && ((v0_j + 0u) - 1u) < dim1_x ? from_x[-3] : 0;
        const f32 row_x_3 = ((v0_i + 0u) - 1u) < dim0_x && ((v1_j + 2u) - 1u) < dim1_x ? from_x[0] : 0;
        const float2 row_x_4 = vload2(0, from_x_2 + (-2));
        const f32 row_x_5 = ((v0_j + 0u) - 1u) < dim1_x ? from_x_2[-3] : 0;
        const f32 row_x_6 = ((v1_j + 2u) - 1u) < dim1_x ? from_x_2[0] : 0;
        const float2 row_x_7 = vload2(0, from_x_3 + (-2));
        const f32 row_x_8 = ((v0_j + 0u) - 1u) < dim1_x ? from_x_3[-3] : 0;
        const f32 row_x_9 = ((v1_j + 2u) - 1u) < dim1_x ? from_x_3[0] : 0;
        const float2 row_x_10 = ((v1_i + 2u) - 1u) < dim0_x ? vload2(0, from_x_4 + (-2)) : (float2)(0, 0);
        const f32 row_x_11 = ((v1_i + 2u) - 1u) < dim0_x && ((v0_j + 0u) - 1u) < dim1_x ? from_x_4[-3] : 0;
        const f32 row_x_12 = ((v1_i + 2u) - 1u) < dim0_x && ((v1_j + 2u) - 1u) < dim1_x ? from_x_4[0] : 0;
        v0_s = v0_s + (row_w.s0 * row_x_2);
        v1_s = v1_s + (row_w.s0 * row_x.s0);
        v0_s = v0_s + (row_w.s1 * row_x.s0);
        v1_s = v1_s + (row_w.s1 * row_x.s1);
        v0_s = v0_s + (row_w_2.s0 * row_x.s1);
        v1_s = v1_s + (row_w_2.s0 * row_x_3);
        v0_s = v0_s + (row_w_2.s1 * row_x_5);
        v1_s = v1_s + (row_w_2.s1 * row_x_4.s0);
        v0_s = v0_s + (row_w_3.s0 * row_x_4.s0);
        v1_s = v1_s + (row_w_3.s0 * row_x_4.s1);
        v0_s = v0_s + (row_w_3.s1 * row_x_4.s1);
        v1_s = v1_s + (row_w_3.s1 * row_x_6);
        v0_s = v0_s + (row_w_4.s0 * row_x_8);
        v1_s = v1_s + (row_w_4.s0 * row_x_7.s0);
        v0_s = v0_s + (row_w_4.s1 * row_x_7.s0);
        v1_s = v1_s + (row_w_4.s1 * row_x_7.s1);
        v0_s = v0_s + (row_w_5 * row_x_7.s1);
        v1_s = v1_s + (row_w_5 * row_x_9);
        {
            const f32 value_0 = v0_s;
            const f32 value_1 = v1_s;
            vstore2((float2)(value_0, value_1), 0, p_out + (v0_i * dim1_out + v0_j));
        }
        v2_s = v2_s + (row_w.s0 * row_x_5);
        v3_s = v3_s + (row_w.s0 * row_x_4.s0);
        v2_s = v2_s + (row_w.s1 * row_x_4.s0);
        v3_s = v3_s + (row_w.s1 * row_x_4.s1);
        v2_s = v2_s + (row_w_2.s0 * row_x_4.s1);
        v3_s = v3_s + (row_w_2.s0 * row_x_6);
        v2_s = v2_s + (row_w_2.s1 * row_x_8);
        v3_s = v3_s + (row_w_2.s1 * row_x_7.s0);
        v2_s = v2_s + (row_w_3.s0 * row_x_7.s0);
        v3_s = v3_s + (row_w_3.s0 * row_x_7.s1);
        v2_s = v2_s + (row_w_3.s1 * row_x_7.s1);
        v3_s = v3_s + (row_w_3.s1 * row_x_9);
        v2_s = v2_s + (row_w_4.s0 * row_x_11);
        v3_s = v3_s + (row_w_4.s0 * row_x_10.s0);
        v2_s = v2_s + (row_w_4.s1 * row_x_10.s0);
        v3_s = v3_s + (row_w_4.s1 * row_x_10.s1);
        v2_s = v2_s + (row_w_5 * row_x_10.s1);
        v3_s = v3_s + (row_w_5 * row_x_12);
        {
            const f32 value_2 = v2_s;
            const f32 value_3 = v3_s;
            vstore2((float2)(value_2, value_3), 0, p_out + (v1_i * dim1_out + v0_j));
        }
    } else {
        for (u32 line = first_line; line < n_y && line - first_line < 2u; ++line) {
            for (u32 item = 0u; item < 2u; ++item) {
                const u32 offset = (u32)get_local_id(0) * 2u + item;
                if (offset >= left) break;
                const u32 pos = tile + offset;
                u32 v_i = line;
                u32 v_j = pos;
                f32 v_s = 0.0f;
                v_s = v_s + (p_w[0u * 3u + 0u] * (((v_i + 0u) - 1u) < dim0_x && ((v_j + 0u) - 1u) < dim1_x ? p_x[((v_i + 0u) - 1u) * dim1_x + ((v_j + 0u) - 1u)] : 0));
                v_s = v_s + (p_w[0u * 3u + 1u] * (((v_i + 0u) - 1u) < dim0_x ? p_x[((v_i + 0u) - 1u) * dim1_x + ((v_j + 1u) - 1u)] : 0));
                v_s = v_s + (p_w[0u * 3u + 2u] * (((v_i + 0u) - 1u) < dim0_x && ((v_j + 2u) - 1u) < dim1_x ? p_x[((v_i + 0u) - 1u) * dim1_x + ((v_j + 2u) - 1u)] : 0));
                v_s = v_s + (p_w[1u * 3u + 0u] * (((v_j + 0u) - 1u) < dim1_x ? p_x[((v_i + 1u) - 1u) * dim1_x + ((v_j + 0u) - 1u)] : 0));
                v_s = v_s + (p_w[1u * 3u + 1u] * p_x[((v_i + 1u) - 1u) * dim1_x + ((v_j + 1u) - 1u)]);
                v_s = v_s + (p_w[1u * 3u + 2u] * (((v_j + 2u) - 1u) < dim1_x ? p_x[((v_i + 1u) - 1u) * dim1_x + ((v_j + 2u) - 1u)] : 0));
                v_s = v_s + (p_w[2u * 3u + 0u] * (((v_i + 2u) - 1u) < dim0_x && ((v_j + 0u) - 1u) < dim1_x ? p_x[((v_i + 2u) - 1u) * dim1_x + ((v_j + 0u) - 1u)] : 0));
                v_s = v_s + (p_w[2u * 3u + 1u] * (((v_i + 2u) - 1u) < dim0_x ? p_x[((v_i + 2u) - 1u) * dim1_x + ((v_j + 1u) - 1u)] : 0));
                v_s = v_s + (p_w[2u * 3u + 2u] * (((v_i + 2u) - 1u) < dim0_x && ((v_j + 2u) - 1u) < dim1_x ? p_x[((v_i + 2u) - 1u) * dim1_x + ((v_j + 2u) - 1u)] : 0));
                p_out[v_i * dim1_out + v_j] = v_s;
            }
        }
    }
}
