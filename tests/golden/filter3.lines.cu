typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef struct { u32 w[5]; } vyre_words5;

extern "C" __global__ void vyre_kernel(
    const f32* __restrict__ p_x,
    const f32* __restrict__ p_w,
    f32* __restrict__ p_out,
    const vyre_words5 words)
{
    const u32 n_x = words.w[0];
    const u32 n_y = words.w[1];
    const u32 dim0_x = words.w[2];
    const u32 dim1_x = words.w[3];
    const u32 dim1_out = words.w[4];
    const u32 tile = blockIdx.x * blockDim.x * 2u;
    if (tile >= n_x) return;
    const u32 left = n_x - tile;
    const u32 first_line = (blockIdx.y * blockDim.y + threadIdx.y) * 2u;
    if (first_line >= n_y) return;
    if (left > threadIdx.x * 2u + 1u && n_y - first_line >= 2u) {
        const u32 pos0 = tile + threadIdx.x * 2u;
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
        const f32* from_w = p_w + ((u64)2u * 3u + 2u);
        const f32* from_x = p_x + ((u64)((v0_i + 0u) - 1u) * dim1_x + ((v1_j + 2u) - 1u));
        const f32* from_x_2 = p_x + ((u64)((v0_i + 1u) - 1u) * dim1_x + ((v1_j + 2u) - 1u));
        const f32* from_x_3 = from_x_2 + dim1_x;
        const f32* from_x_4 = p_x + ((u64)((v1_i + 2u) - 1u) * dim1_x + ((v1_j + 2u) - 1u));
        const float2 row_w = *(const float2*)(from_w + (-8));
        const float2 row_w_2 = *(const float2*)(from_w + (-6));
        const float2 row_w_3 = *(const float2*)(from_w + (-4));
        const float2 row_w_4 = *(const float2*)(from_w + (-2));
        const f32 row_w_5 = from_w[0];
        const float2 row_x = ((v0_i + 0u) - 1u) < dim0_x ? *(const float2*)(from_x + (-2)) : make_float2(0, 0);
        const f32 row_x_2 = ((v0_i + 0u) - 1u) < dim0_x && ((v0_j + 0u) - 1u) < dim1_x ? from_x[-3] : 0;
        const f32 row_x_3 = ((v0_i + 0u) - 1u) < dim0_x && ((v1_j + 2u) - 1u) < dim1_x ? from_x[0] : 0;
        const float2 row_x_4 = *(const float2*)(from_x_2 + (-2));
        const f32 row_x_5 = ((v0_j + 0u) - 1u) < dim1_x ? from_x_2[-3] : 0;
        const f32 row_x_6 = ((v1_j + 2u) - 1u) < dim1_x ? from_x_2[0] : 0;
        const float2 row_x_7 = *(const float2*)(from_x_3 + (-2));
        const f32 row_x_8 = ((v0_j + 0u) - 1u) < dim1_x ? from_x_3[-3] : 0;
        const f32 row_x_9 = ((v1_j + 2u) - 1u) < dim1_x ? from_x_3[0] : 0;
        const float2 row_x_10 = ((v1_i + 2u) - 1u) < dim0_x ? *(const float2*)(from_x_4 + (-2)) : make_float2(0, 0);
        const f32 row_x_11 = ((v1_i + 2u) - 1u) < dim0_x && ((v0_j + 0u) - 1u) < dim1_x ? from_x_4[-3] : 0;
        const f32 row_x_12 = ((v1_i + 2u) - 1u) < dim0_x && ((v1_j + 2u) - 1u) < dim1_x ? from_x_4[0] : 0;
        v0_s = v0_s + (row_w.x * row_x_2);
        v1_s = v1_s + (row_w.x * row_x.x);
        v0_s = v0_s + (row_w.y * row_x.x);
        v1_s = v1_s + (row_w.y * row_x.y);
        v0_s = v0_s + (row_w_2.x * row_x.y);
        v1_s = v1_s + (row_w_2.x * row_x_3);
        v0_s = v0_s + (row_w_2.y * row_x_5);
        v1_s = v1_s + (row_w_2.y * row_x_4.x);
        v0_s = v0_s + (row_w_3.x * row_x_4.x);
        v1_s = v1_s + (row_w_3.x * row_x_4.y);
        v0_s = v0_s + (row_w_3.y * row_x_4.y);
        v1_s = v1_s + (row_w_3.y * row_x_6);
        v0_s = v0_s + (row_w_4.x * row_x_8);
        v1_s = v1_s + (row_w_4.x * row_x_7.x);
        v0_s = v0_s + (row_w_4.y * row_x_7.x);
        v1_s = v1_s + (row_w_4.y * row_x_7.y);
        v0_s = v0_s + (row_w_5 * row_x_7.y);
        v1_s = v1_s + (row_w_5 * row_x_9);
        {
            const f32 value_0 = v0_s;
            const f32 value_1 = v1_s;
            *(float2*)(p_out + (v0_i * dim1_out + v0_j)) = make_float2(value_0, value_1);
        }
        v2_s = v2_s + (row_w.x * row_x_5);
        v3_s = v3_s + (row_w.x * row_x_4.x);
        v2_s = v2_s + (row_w.y * row_x_4.x);
        v3_s = v3_s + (row_w.y * row_x_4.y);
        v2_s = v2_s + (row_w_2.x * row_x_4.y);
        v3_s = v3_s + (row_w_2.x * row_x_6);
        v2_s = v2_s + (row_w_2.y * row_x_8);
        v3_s = v3_s + (row_w_2.y * row_x_7.x);
        v2_s = v2_s + (row_w_3.x * row_x_7.x);
        v3_s = v3_s + (row_w_3.x * row_x_7.y);
        v2_s = v2_s + (row_w_3.y * row_x_7.y);
        v3_s = v3_s + (row_w_3.y * row_x_9);
        v2_s = v2_s + (row_w_4.x * row_x_11);
        v3_s = v3_s + (row_w_4.x * row_x_10.x);
        v2_s = v2_s + (row_w_4.y * row_x_10.x);
        v3_s = v3_s + (row_w_4.y * row_x_10.y);
        v2_s = v2_s + (row_w_5 * row_x_10.y);
        v3_s = v3_s + (row_w_5 * row_x_12);
        {
            const f32 value_2 = v2_s;
            const f32 value_3 = v3_s;
            *(float2*)(p_out + (v1_i * dim1_out + v0_j)) = make_float2(value_2, value_3);
        }
    } else {
        for (u32 line = first_line; line < n_y && line - first_line < 2u; ++line) {
            for (u32 item = 0u; item < 2u; ++item) {
                const u32 offset = threadIdx.x * 2u + item;
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
