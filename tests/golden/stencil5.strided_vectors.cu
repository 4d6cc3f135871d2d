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
    if ((blockIdx.y * blockDim.y + threadIdx.y) >= n_y) return;
    const u32 tile = blockIdx.x * blockDim.x * 4u;
    if (tile >= n_x) return;
    const u32 left = n_x - tile;
    if (left > threadIdx.x * 2u + blockDim.x * 2u + 1u) {
        const u32 pos0 = tile + threadIdx.x * 2u;
        const u32 pos1 = pos0 + 1u;
        const u32 pos2 = pos0 + blockDim.x * 2u;
        const u32 pos3 = pos2 + 1u;
        u32 v_i = blockIdx.y * blockDim.y + threadIdx.y;
        u32 v0_j = pos0;
        u32 v1_j = pos1;
        u32 v2_j = pos2;
        u32 v3_j = pos3;
        const f32* from_x = p_x + ((u64)v_i * dim1_x + (v1_j + 1u));
        const f32* from_x_2 = p_x + ((u64)v_i * dim1_x + (v3_j + 1u));
        const float2 row_x = (v_i - 1u) < dim0_x ? *(const float2*)(p_x + ((v_i - 1u) * dim1_x + v0_j)) : make_float2(0, 0);
        const float2 row_x_2 = (v_i - 1u) < dim0_x ? *(const float2*)(p_x + ((v_i - 1u) * dim1_x + v2_j)) : make_float2(0, 0);
        const float2 row_x_3 = (v_i + 1u) < dim0_x ? *(const float2*)(p_x + ((v_i + 1u) * dim1_x + v0_j)) : make_float2(0, 0);
        const float2 row_x_4 = (v_i + 1u) < dim0_x ? *(const float2*)(p_x + ((v_i + 1u) * dim1_x + v2_j)) : make_float2(0, 0);
        const float2 row_x_5 = (v1_j - 1u) < dim1_x ? *(const float2*)(from_x + (-2)) : make_float2(0, 0);
        const f32 row_x_6 = (v0_j - 1u) < dim1_x ? from_x[-3] : 0;
        const f32 row_x_7 = (v1_j + 1u) < dim1_x ? from_x[0] : 0;
        const float2 row_x_8 = (v3_j - 1u) < dim1_x ? *(const float2*)(from_x_2 + (-2)) : make_float2(0, 0);
        const f32 row_x_9 = (v2_j - 1u) < dim1_x ? from_x_2[-3] : 0;
        const f32 row_x_10 = (v3_j + 1u) < dim1_x ? from_x_2[0] : 0;
        {
            const f32 value_0 = 0.25f * (((row_x.x + row_x_3.x) + row_x_6) + row_x_5.y);
            const f32 value_1 = 0.25f * (((row_x.y + row_x_3.y) + row_x_5.x) + row_x_7);
            const f32 value_2 = 0.25f * (((row_x_2.x + row_x_4.x) + row_x_9) + row_x_8.y);
            const f32 value_3 = 0.25f * (((row_x_2.y + row_x_4.y) + row_x_8.x) + row_x_10);
            *(float2*)(p_out + (v_i * dim1_out + v0_j)) = make_float2(value_0, value_1);
            *(float2*)(p_out + (v_i * dim1_out + v2_j)) = make_float2(value_2, value_3);
        }
    } else {
        for (u32 item = 0u; item < 4u; ++item) {
            const u32 offset = (threadIdx.x + item / 2u * blockDim.x) * 2u + item % 2u;
            if (offset >= left) break;
            const u32 pos = tile + offset;
            u32 v_i = blockIdx.y * blockDim.y + threadIdx.y;
            u32 v_j = pos;
            p_out[v_i * dim1_out + v_j] = 0.25f * (((((v_i - 1u) < dim0_x ? p_x[(v_i - 1u) * dim1_x + v_j] : 0) + ((v_i + 1u) < dim0_x ? p_x[(v_i + 1u) * dim1_x + v_j] : 0)) + ((v_j - 1u) < dim1_x ? p_x[v_i * dim1_x + (v_j - 1u)] : 0)) + ((v_j + 1u) < dim1_x ? p_x[v_i * dim1_x + (v_j + 1u)] : 0));
        }
    }
}
