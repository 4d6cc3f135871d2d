typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef struct { u32 w[5]; } vyre_words5;

extern "C" __global__ void vyre_kernel(
    const f32* __restrict__ p_x,
    f32* __restrict__ p_out,
    const vyre_words5 words)
{
    const u32 n_x = words.w[0];
    const u32 n_y = words.w[1];
    const u32 dim0_x = words.w[2];
    const u32 dim1_x = words.w[3];
    const u32 dim1_out = words.w[4];
    const u32 tile = blockIdx.x * blockDim.x * 4u;
    if (tile >= n_x) return;
    const u32 left = n_x - tile;
    const u32 first_line = (blockIdx.y * blockDim.y + threadIdx.y) * 2u;
    if (first_line >= n_y) return;
    if (left > threadIdx.x * 4u + 3u && n_y - first_line >= 2u) {
        const u32 pos0 = tile + threadIdx.x * 4u;
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
        const f32* from_x = p_x + ((u64)v0_i * dim1_x + (v3_j + 1u));
        const f32* from_x_2 = from_x + dim1_x;
        const float4 row_x = (v0_i - 1u) < dim0_x ? *(const float4*)(p_x + ((v0_i - 1u) * dim1_x + v0_j)) : make_float4(0, 0, 0, 0);
        const float4 row_x_2 = *(const float4*)(from_x + (-4));
        const f32 row_x_3 = (v0_j - 1u) < dim1_x ? from_x[-5] : 0;
        const f32 row_x_4 = (v3_j + 1u) < dim1_x ? from_x[0] : 0;
        const float4 row_x_5 = *(const float4*)(from_x_2 + (-4));
        const f32 row_x_6 = (v0_j - 1u) < dim1_x ? from_x_2[-5] : 0;
        const f32 row_x_7 = (v3_j + 1u) < dim1_x ? from_x_2[0] : 0;
        const float4 row_x_8 = (v1_i + 1u) < dim0_x ? *(const float4*)(p_x + ((v1_i + 1u) * dim1_x + v0_j)) : make_float4(0, 0, 0, 0);
        {
            const f32 value_0 = 0.25f * (((row_x.x + row_x_5.x) + row_x_3) + row_x_2.y);
            const f32 value_1 = 0.25f * (((row_x.y + row_x_5.y) + row_x_2.x) + row_x_2.z);
            const f32 value_2 = 0.25f * (((row_x.z + row_x_5.z) + row_x_2.y) + row_x_2.w);
            const f32 value_3 = 0.25f * (((row_x.w + row_x_5.w) + row_x_2.z) + row_x_4);
            *(float4*)(p_out + (v0_i * dim1_out + v0_j)) = make_float4(value_0, value_1, value_2, value_3);
        }
        {
            const f32 value_4 = 0.25f * (((row_x_2.x + row_x_8.x) + row_x_6) + row_x_5.y);
            const f32 value_5 = 0.25f * (((row_x_2.y + row_x_8.y) + row_x_5.x) + row_x_5.z);
            const f32 value_6 = 0.25f * (((row_x_2.z + row_x_8.z) + row_x_5.y) + row_x_5.w);
            const f32 value_7 = 0.25f * (((row_x_2.w + row_x_8.w) + row_x_5.z) + row_x_7);
            *(float4*)(p_out + (v1_i * dim1_out + v0_j)) = make_float4(value_4, value_5, value_6, value_7);
        }
    } else {
        for (u32 line = first_line; line < n_y && line - first_line < 2u; ++line) {
            for (u32 item = 0u; item < 4u; ++item) {
                const u32 offset = threadIdx.x * 4u + item;
                if (offset >= left) break;
                const u32 pos = tile + offset;
                u32 v_i = line;
                u32 v_j = pos;
                p_out[v_i * dim1_out + v_j] = 0.25f * (((((v_i - 1u) < dim0_x ? p_x[(v_i - 1u) * dim1_x + v_j] : 0) + ((v_i + 1u) < dim0_x ? p_x[(v_i + 1u) * dim1_x + v_j] : 0)) + ((v_j - 1u) < dim1_x ? p_x[v_i * dim1_x + (v_j - 1u)] : 0)) + ((v_j + 1u) < dim1_x ? p_x[v_i * dim1_x + (v_j + 1u)] : 0));
            }
        }
    }
}
